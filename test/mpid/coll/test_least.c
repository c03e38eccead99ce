/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The bound for what all must hear of all: against everything that a few ranks can do, and what the
 * engine's plans reach.
 */
#include "mpid/coll/least.h"
#include <stdlib.h>
#include "mpid/coll/pattern.h"
#include "mpid/coll/tree.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS_MAX = 7, MESSAGES_MAX = 64, TIME_MAX = 64 };

/* All that can happen, instant by instant: who may send tells somebody all it knows, or nobody.
 * When a message is received is decided as it is sent. */
struct world {
    int ranks, eel, gap, end, now;
    int reach[TIME_MAX]; /* of an optimal tree, by what time is left */
    unsigned knows[RANKS_MAX]; /* bits of ranks */
    int send_next[RANKS_MAX]; /* when it may */
    int silent[RANKS_MAX]; /* it might have sent: the same later would be worse */
    int named; /* as all begin: ranks beyond it have not been told anything, nor asked to tell */
    int count;
    struct message {
        int to, at;
        unsigned tells;
    } messages[MESSAGES_MAX];
};

static int later(int a, int b)
{
    return a > b ? a : b;
}

/* What is on its way to a rank, to be there by `at`. */
static unsigned will_know(const struct world *w, int rank, int at)
{
    unsigned knows = w->knows[rank];
    for (int i = 0; i < w->count; i++)
        if (w->messages[i].to == rank && w->messages[i].at <= at)
            knows |= w->messages[i].tells;
    return knows;
}

static int can_receive(const struct world *w, int rank, int at)
{
    for (int i = 0; i < w->count; i++)
        if (w->messages[i].to == rank && abs(w->messages[i].at - at) < w->gap)
            return 0;
    return 1;
}

/* Ranks that hear, of all that send as early as they can, from one that may send from then on. */
static int reach_from(const struct world *w, int then)
{
    return then < w->end ? w->reach[w->end - then] : 1;
}

/* How many can hear of `origin` from `rank`, itself included, by what is decided so far. */
static int most_from(const struct world *w, int rank, int origin)
{
    int may = later(w->now + w->silent[rank], w->send_next[rank]), most = 0;
    if (w->knows[rank] >> origin & 1)
        return reach_from(w, may);
    for (int i = 0; i < w->count; i++)
        if (w->messages[i].to == rank && w->messages[i].tells >> origin & 1)
            most = later(most, reach_from(w, later(w->messages[i].at, w->send_next[rank])));
    return most;
}

static int can_all_hear(const struct world *w)
{
    for (int origin = 0; origin < w->ranks; origin++) {
        int most = 0;
        for (int rank = 0; rank < w->ranks; rank++)
            most += most_from(w, rank, origin);
        if (most < w->ranks)
            return 0;
    }
    return 1;
}

static int all_know_all(const struct world *w)
{
    for (int rank = 0; rank < w->ranks; rank++)
        if (will_know(w, rank, w->end) != (1u << w->ranks) - 1)
            return 0;
    return 1;
}

static int ends_from(const struct world *w, int rank);

/* All that `rank` may do now. */
static int ends_by(const struct world *w, int rank)
{
    struct world next = *w;
    struct message *m = &next.messages[next.count++];
    int named = later(w->named, rank);
    must_cmp(next.count, <=, MESSAGES_MAX);
    next.send_next[rank] = w->now + w->gap;
    m->tells = w->knows[rank];
    for (m->to = 0; m->to < w->ranks && (w->now || m->to <= named + 1); m->to++)
        for (m->at = w->now + w->eel; m->at <= w->end; m->at++) {
            next.named = later(named, m->to);
            if (can_receive(w, m->to, m->at) && (m->tells & ~will_know(w, m->to, m->at)) &&
                ends_from(&next, rank + 1))
                return 1;
        }
    next = *w;
    next.silent[rank] = 1;
    next.named = named;
    return ends_from(&next, rank + 1);
}

static int ends_from(const struct world *w, int rank)
{
    struct world next;
    if (!can_all_hear(w))
        return 0;
    for (; rank < w->ranks; rank++)
        if (!w->silent[rank] && w->send_next[rank] <= w->now)
            return ends_by(w, rank);
    if (all_know_all(w))
        return 1;
    if (w->now == w->end)
        return 0;
    next = *w;
    next.now++;
    for (int i = 0; i < w->count; i++)
        if (w->messages[i].at == next.now) {
            next.knows[w->messages[i].to] |= w->messages[i].tells;
            next.silent[w->messages[i].to] = 0;
        }
    return ends_from(&next, 0);
}

static int can_all_know_by(int ranks, int eel, int gap, uint64_t end)
{
    struct world w = {.ranks = ranks, .eel = eel, .gap = gap, .end = (int) end};
    must_cmp(w.end, <, TIME_MAX);
    for (int t = 0; t <= w.end; t++)
        w.reach[t] = t < eel ? 1 : w.reach[t - eel] + (t < gap ? 1 : w.reach[t - gap]);
    for (int r = 0; r < ranks; r++)
        w.knows[r] = 1u << r;
    return ends_from(&w, 0);
}

/* Networks where it is more than an optimal tree takes: so many of those tried. */
static int tighter_than_tree(int ranks)
{
    int tighter = 0;
    for (int eel = 1; eel <= 8; eel++)
        for (int gap = 1; gap <= 2 * eel && gap <= 8; gap++) {
            uint64_t least = least_all(ranks, (uint64_t) eel, (uint64_t) gap);
            struct wdl_tree_shape tree = wdl_tree_optimal(ranks, (uint64_t) eel, (uint64_t) gap);
            tighter += least > wdl_tree_time_ps(&tree, 0);
            must(!can_all_know_by(ranks, eel, gap, least - 1));
            if (ranks <= 4) /* it is the optimum */
                must(can_all_know_by(ranks, eel, gap, least));
        }
    return tighter;
}

START_TEST(nothing_is_faster)
{
    static const int tighter[RANKS_MAX + 1] = {0, 0, 0, 16, 0, 16, 0, 28}; /* of 52 */
    for (int ranks = 2; ranks <= RANKS_MAX; ranks++)
        must_cmp(tighter_than_tree(ranks), ==, tighter[ranks]);
}
END_TEST

START_TEST(between_the_tree_and_the_plans)
{
    static const uint64_t nets[][2] = {{7000, 6000}, {10000, 3500}, {190000, 24000}, {1500, 400},
                                       {1, 1},       {2, 1},        {9, 1},          {3, 8}};
    for (unsigned n = 0; n < sizeof(nets) / sizeof(nets[0]); n++)
        for (int ranks = 1; ranks <= 300; ranks++) {
            uint64_t least = least_all(ranks, nets[n][0], nets[n][1]);
            struct wdl_tree_shape tree = wdl_tree_optimal(ranks, nets[n][0], nets[n][1]);
            struct wdl_pattern_spread spread;
            wdl_pattern_spread(ranks, nets[n][0], nets[n][1], &spread);
            must_cmp(least, >=, wdl_tree_time_ps(&tree, 0));
            must_cmp(least, <=, spread.time_ps);
        }
}
END_TEST

/* On seed 002's gm, where an optimal tree takes 49 and 68. Of 129 ranks' trees nothing may be left
 * out in 49: each sends at 0, 6, .. 42, so what comes at 7 waits until 12. */
START_TEST(known)
{
    must_cmp(least_all(8, 7000, 6000), ==, 21000);
    must_cmp(least_all(128, 7000, 6000), ==, 49000);
    must_cmp(least_all(129, 7000, 6000), ==, 50000);
    must_cmp(least_all(1025, 7000, 6000), ==, 69000);
    must_cmp(least_all(65536, 1, 1), ==, 16);
}
END_TEST

WDL_SUITE("mpid/coll/least", nothing_is_faster, between_the_tree_and_the_plans, known)
