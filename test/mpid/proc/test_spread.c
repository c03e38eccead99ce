/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of proc/spread.h: any number of
 * processes on any processors, some asleep, that look in any order. */
#include "mpid/proc/spread.h"
#include <string.h>
#include "base/prng.h"
#include "support/must.h"
#include "support/suite.h"

enum { PROCESSES = 40, WORDS = WDL_SPREAD_PROCESSORS / 64, CASES = 2000 };

struct node {
    struct wdl_spread_place places[PROCESSES];
    int n, processors, at[PROCESSES], asleep[PROCESSES];
    uint64_t may_use[WORDS];
};

static void show(struct node *node, int i, int processor)
{
    node->at[i] = processor;
    wdl_spread_show(node->places, i, processor);
}

static int waiting_on(const struct node *node, int processor)
{
    int n = 0;
    for (int i = 0; i < node->n; i++)
        n += !node->asleep[i] && node->at[i] == processor;
    return n;
}

static int may_use(const struct node *node, int processor)
{
    return node->may_use[processor / 64] >> processor % 64 & 1;
}

static void any_node(struct node *node, struct wdl_prng *prng)
{
    memset(node, 0, sizeof(*node));
    node->n = 1 + (int) wdl_prng_below(prng, PROCESSES);
    node->processors = 1 + (int) wdl_prng_below(prng, 9);
    for (int p = 0; p < node->processors; p++)
        if (wdl_prng_below(prng, 5))
            node->may_use[p / 64] |= 1ULL << p % 64;
    for (int i = 0; i < node->n; i++) {
        show(node, i, (int) wdl_prng_below(prng, (uint64_t) node->processors));
        node->asleep[i] = !wdl_prng_below(prng, 4);
        if (node->asleep[i])
            wdl_spread_hide(node->places, i);
    }
}

static void least_and_most(const struct node *node, int *least, int *most)
{
    *least = PROCESSES;
    *most = 0;
    for (int p = 0; p < node->processors; p++) {
        int n = waiting_on(node, p);
        if (n > *most)
            *most = n;
        if (may_use(node, p) && n < *least)
            *least = n;
    }
}

static int goes_to(const struct node *node, int i, uint64_t turn)
{
    return node->asleep[i] ? WDL_SPREAD_EVEN
                           : wdl_spread_to(node->places, node->n, i, node->may_use, turn);
}

/* Somebody who would go, whoever's turn it is, from a random one on; -1: nobody. */
static int who_goes(const struct node *node, struct wdl_prng *prng, int *to_out)
{
    int first = (int) wdl_prng_below(prng, (uint64_t) node->n);
    for (int k = 0; k < node->n; k++)
        for (uint64_t turn = 0; turn < PROCESSES; turn++) {
            int i = (first + k) % node->n;
            *to_out = goes_to(node, i, turn);
            if (*to_out >= 0)
                return i;
        }
    return -1;
}

/* Every move makes the difference smaller, so there is an end of it. */
START_TEST(all_are_spread)
{
    struct wdl_prng prng;
    wdl_prng_init(&prng, 7);
    for (int c = 0; c < CASES; c++) {
        struct node node;
        int moves = 0, least, most, to, i;
        any_node(&node, &prng);
        while ((i = who_goes(&node, &prng, &to)) >= 0) {
            must(may_use(&node, to));
            must_cmp(waiting_on(&node, to) + 2, <=, waiting_on(&node, node.at[i]));
            show(&node, i, to);
            must_cmp(++moves, <=, PROCESSES);
        }
        least_and_most(&node, &least, &most);
        must(least == PROCESSES || most <= least + 1);
    }
}
END_TEST

/* Where all look at once, one goes, whose turn it is; the others of its processor know that it is
 * uneven. Everyone gets a turn. */
START_TEST(one_leaves_at_a_time)
{
    struct wdl_prng prng;
    wdl_prng_init(&prng, 8);
    for (int c = 0; c < CASES; c++) {
        struct node node;
        int turns[PROCESSES] = {0}, uneven[9] = {0};
        any_node(&node, &prng);
        int first = (int) wdl_prng_below(&prng, 1000), least, most;
        least_and_most(&node, &least, &most);
        for (int turn = first; turn < first + PROCESSES; turn++) {
            int leave[9] = {0};
            for (int i = 0; i < node.n; i++) {
                int to = goes_to(&node, i, (uint64_t) turn);
                if (to >= 0)
                    must_cmp(leave[node.at[i]]++, ==, 0);
                turns[i] += to >= 0;
                uneven[node.at[i]] |= to != WDL_SPREAD_EVEN;
            }
        }
        for (int i = 0; i < node.n; i++) {
            int is_uneven = least + 2 <= waiting_on(&node, node.at[i]);
            must_cmp(uneven[node.at[i]], ==, is_uneven && waiting_on(&node, node.at[i]) > 0);
            must_cmp(turns[i] > 0, ==, is_uneven && !node.asleep[i]);
        }
    }
}
END_TEST

START_TEST(who_is_not_there_stays)
{
    struct node node = {.n = 3, .may_use = {3}};
    for (int i = 0; i < 3; i++)
        show(&node, i, 0);
    must_cmp(wdl_spread_to(node.places, 3, 0, node.may_use, 2), ==, WDL_SPREAD_LATER);
    must_cmp(wdl_spread_to(node.places, 3, 2, node.may_use, 2), ==, 1);
    wdl_spread_hide(node.places, 2);
    must_cmp(wdl_spread_to(node.places, 3, 2, node.may_use, 0), ==, WDL_SPREAD_EVEN);
    must_cmp(wdl_spread_to(node.places, 3, 1, node.may_use, 0), ==, WDL_SPREAD_LATER);
    must_cmp(wdl_spread_to(node.places, 3, 1, node.may_use, 1), ==, 1);
    node.may_use[0] = 1;
    must_cmp(wdl_spread_to(node.places, 3, 1, node.may_use, 1), ==, WDL_SPREAD_EVEN);
    node.places[1].waits = WDL_SPREAD_PROCESSORS + 1; /* more than there are */
    must_cmp(wdl_spread_to(node.places, 3, 1, node.may_use, 1), ==, WDL_SPREAD_EVEN);
    node.places[1].waits = -5;
    must_cmp(wdl_spread_to(node.places, 3, 1, node.may_use, 1), ==, WDL_SPREAD_EVEN);
}
END_TEST

/* One look that says so is not enough, nor are five within a millisecond; one that says no takes
 * back what those before it said, and one that says that it is another's turn does not. */
START_TEST(who_goes_has_looked_several_times)
{
    struct wdl_spread_looks looks = {0};
    uint64_t now = 77 * WDL_SPREAD_LOOK_NS;
    must(wdl_spread_is_due(&looks, now));
    for (int i = 0; i < 100; i++)
        must(!wdl_spread_is_due(&looks, now + (uint64_t) i * (WDL_SPREAD_LOOK_NS / 100)));
    for (int i = 1; i <= 3 * WDL_SPREAD_LOOKS; i++) {
        now += WDL_SPREAD_LOOK_NS;
        must(wdl_spread_is_due(&looks, now));
        must_cmp(wdl_spread_goes(&looks, 1), ==, i % WDL_SPREAD_LOOKS == 0);
    }
    for (int i = 1; i <= 100; i++)
        must(!wdl_spread_goes(&looks, i % WDL_SPREAD_LOOKS == 0 ? WDL_SPREAD_EVEN : 0));
    for (int i = 1; i <= 100; i++)
        must(!wdl_spread_goes(&looks, WDL_SPREAD_LATER));
    must(wdl_spread_goes(&looks, 1));
    must(!wdl_spread_goes(&looks, 1));
}
END_TEST

WDL_SUITE("proc/spread", all_are_spread, one_leaves_at_a_time, who_is_not_there_stays,
          who_goes_has_looked_several_times)
