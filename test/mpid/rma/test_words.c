/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/words: locks by words,
 * in shared memory and at the network. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "host/testworld.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS = 5, SHARED = 0, ALONE = 1 };

/* Where the words are: in memory all share; at the network, and pairs of ranks use the processor on
 * their own; at the network alone. */
enum { NODE, MIXED, NETWORK, PLACES };
enum { TURNS = 60 };            /* in which everything comes back that is under way */

/* Five ranks; word[p][t] is process p's attempt at target t. */
struct node {
    struct test_world w;
    int place;
    struct wdl_word word[RANKS][RANKS];
};

static void node_open_with(struct node *n, int place, struct test_world_params p)
{
    static const int words[] = {WDL_WORDS_NODE, WDL_WORDS_MIXED, WDL_WORDS_NETWORK};
    memset(n, 0, sizeof(*n));
    p.ranks = RANKS;
    p.node = place == NODE ? RANKS : 2;
    p.direct = place != NODE;
    p.atomics = place;
    n->place = place;
    test_world_open(&n->w, &p);
    for (int i = 0; i < RANKS; i++)
        ck_assert_int_eq(n->w.rank[i].win->words, words[place]);
}

static void node_open(struct node *n, int place)
{
    node_open_with(n, place, (struct test_world_params){.ranks = RANKS});
}

static void node_close(struct node *n)
{
    for (int i = 0; i < RANKS; i++) {
        const struct wdl_win *win = n->w.rank[i].win;
        ck_assert_uint_eq(n->w.control[i].lock & 0xffffffff, 0); /* nobody inside */
        ck_assert_uint_eq(n->w.control[i].gate & 0xffffffff, 0);
        ck_assert(win->gate_users == 0 && !win->gate_in && win->gate_ticket == 0);
    }
    if (n->place == NODE)
        ck_assert_int_eq(test_world_messages(&n->w), 0);
    test_world_close(&n->w);
}

/* The result of expr once nothing of it is under way. */
#define SETTLED(n, expr)                                                                       \
    ({                                                                                         \
        int settled_ = (expr);                                                                 \
        for (int turn_ = 0; settled_ == WDL_AGAIN && (n)->place && turn_ < TURNS; turn_++) {   \
            test_world_turn(&(n)->w);                                                          \
            settled_ = (expr);                                                                 \
        }                                                                                      \
        settled_;                                                                              \
    })

static int try_word(struct node *n, int who, int target, int alone, int join)
{
    struct wdl_win *win = n->w.rank[who].win;
    if (n->place != NODE)
        must(wdl_target_get(win, target) != NULL);
    return wdl_words_lock(win, target, alone, join, &n->word[who][target]);
}

static int take(struct node *n, int who, int target, int alone, int join)
{
    return SETTLED(n, try_word(n, who, target, alone, join));
}

static int try_give(struct node *n, int who, int target)
{
    return wdl_words_unlock(n->w.rank[who].win, target, &n->word[who][target]);
}

static void give(struct node *n, int who, int target)
{
    must_cmp(SETTLED(n, try_give(n, who, target)), ==, WDL_OK);
}

static int take_all(struct node *n, int who)
{
    return SETTLED(n, wdl_words_lock_all(n->w.rank[who].win));
}

static int try_give_all(struct node *n, int who)
{
    return wdl_words_unlock_all(n->w.rank[who].win);
}

static void give_all(struct node *n, int who)
{
    must_cmp(SETTLED(n, try_give_all(n, who)), ==, WDL_OK);
}

static int at_once(struct node *n, int who, int target)
{
    return wdl_words_in_at_once(n->w.rank[who].win, target, ALONE);
}

static uint64_t at_gate(const struct node *n)
{
    return n->w.control[0].gate & 0xffffffff;
}

/* Within a node, until somebody has called lock_all, an exclusive lock that is had at once is one
 * word. The first lock_all waits for those, and lets nobody else by meanwhile but them; then all
 * pass the gate. */
START_TEST(the_gate_is_for_lock_all)
{
    struct node n;
    node_open(&n, NODE);
    ck_assert_int_eq(at_once(&n, 0, 3), 1);
    ck_assert_int_eq(at_once(&n, 1, 4), 1);
    ck_assert_int_eq(at_once(&n, 2, 3), 0);
    ck_assert_uint_eq(n.w.control[0].gate, 0);
    ck_assert_int_eq(n.w.rank[0].win->gate_users, 0);
    ck_assert_int_eq(take(&n, 2, 3, ALONE, 0), WDL_AGAIN);      /* who waits has passed it */
    ck_assert_int_eq(take(&n, 3, 4, SHARED, 0), WDL_AGAIN);
    ck_assert_uint_eq(at_gate(&n), 1 << 16);
    give(&n, 0, 3);
    ck_assert_uint_eq(at_gate(&n), 1 << 16);
    ck_assert_int_eq(take(&n, 2, 3, ALONE, 0), WDL_OK);
    give(&n, 2, 3);
    ck_assert_uint_eq(at_gate(&n), 0);
    for (int again = 0; again < 3; again++)
        ck_assert_int_eq(take_all(&n, 4), WDL_AGAIN);   /* rank 4's lock is process 1's */
    ck_assert_int_eq(at_once(&n, 0, 2), 0);
    ck_assert_int_eq(take(&n, 0, 2, ALONE, 0), WDL_AGAIN);      /* behind lock_all */
    ck_assert_int_eq(take(&n, 1, 2, ALONE, 1), WDL_OK); /* who is inside joins */
    ck_assert_uint_eq(at_gate(&n), 1 << 16);
    ck_assert_int_eq(take_all(&n, 4), WDL_AGAIN);
    give(&n, 1, 2);
    ck_assert_uint_eq(at_gate(&n), 0);
    ck_assert_int_eq(take_all(&n, 4), WDL_AGAIN);
    give(&n, 1, 4);
    ck_assert_int_eq(take_all(&n, 4), WDL_OK);
    ck_assert_int_eq(take(&n, 0, 2, ALONE, 0), WDL_AGAIN);
    give_all(&n, 4);
    ck_assert_int_eq(take(&n, 0, 2, ALONE, 0), WDL_OK);
    ck_assert_int_eq(take(&n, 3, 4, SHARED, 0), WDL_OK);
    give(&n, 0, 2);
    give(&n, 3, 4);
    for (int i = 0; i < WDL_GATE_PASSES; i++) {         /* now all pass, for a while */
        ck_assert_int_eq(at_once(&n, 0, 3), 1);
        ck_assert_uint_eq(at_gate(&n), 1 << 16);
        if (i < 10) {
            ck_assert_int_eq(take_all(&n, 2), WDL_AGAIN);
            ck_assert_int_eq(at_once(&n, 1, 4), 0);
        }
        give(&n, 0, 3);
        if (i < 10) {
            ck_assert_int_eq(take_all(&n, 2), WDL_OK);
            give_all(&n, 2);
        }
    }
    ck_assert_int_eq(at_once(&n, 0, 3), 1);
    ck_assert_uint_eq(at_gate(&n), 0);
    ck_assert_int_eq(take_all(&n, 2), WDL_AGAIN);       /* it is the first one, once more */
    give(&n, 0, 3);
    ck_assert_int_eq(take_all(&n, 2), WDL_OK);
    ck_assert_int_eq(at_once(&n, 0, 3), 0);
    give_all(&n, 2);
    node_close(&n);
}
END_TEST

/* Two call lock_all while somebody is inside past the gate; the use is forgotten before the slower
 * one, which has seen him leave, goes in; and he is inside again. */
START_TEST(a_look_from_before_it_was_forgotten_says_nothing)
{
    struct node n;
    node_open(&n, NODE);
    ck_assert_int_eq(at_once(&n, 0, 0), 1);
    ck_assert_int_eq(at_once(&n, 1, 4), 1);
    ck_assert_int_eq(take_all(&n, 2), WDL_AGAIN);
    give(&n, 0, 0);
    ck_assert_int_eq(take_all(&n, 2), WDL_AGAIN);       /* ranks 0 to 3 have been looked at */
    ck_assert_int_eq(n.w.rank[2].win->gate_looked, 4);
    give(&n, 1, 4);
    ck_assert_int_eq(take_all(&n, 3), WDL_AGAIN);       /* nobody is inside; process 2 is first */
    ck_assert_int_eq(n.w.control[0].gate_mode, WDL_GATE_MINDED);
    n.w.control[0].gate_mode += WDL_GATE_MODES - WDL_GATE_MINDED;       /* forgotten */
    ck_assert_int_eq(at_once(&n, 0, 0), 1);
    ck_assert_int_eq(take_all(&n, 2), WDL_AGAIN);
    ck_assert_int_eq(n.w.rank[2].win->gate_looked, 0);
    ck_assert_int_eq(take_all(&n, 3), WDL_AGAIN);
    give(&n, 0, 0);
    ck_assert_int_eq(take_all(&n, 2), WDL_OK);
    ck_assert_int_eq(take_all(&n, 3), WDL_OK);
    give_all(&n, 2);
    give_all(&n, 3);
    node_close(&n);
}
END_TEST

START_TEST(shared_locks_meet_each_other_and_lock_all)
{
    for (int place = NODE; place < PLACES; place++) {
        struct node n;
        node_open(&n, place);
        for (int who = 0; who < RANKS - 1; who++)
            ck_assert_int_eq(take(&n, who, 2, SHARED, 0), WDL_OK);
        ck_assert_uint_eq(n.w.control[0].gate, 0); /* they do not pass the gate */
        ck_assert_int_eq(take_all(&n, 4), WDL_OK);
        ck_assert_int_eq(take(&n, 4, 2, SHARED, 0), WDL_OK);
        give(&n, 4, 2);
        give_all(&n, 4);
        for (int who = 0; who < RANKS - 1; who++)
            give(&n, who, 2);
        node_close(&n);
    }
}
END_TEST

START_TEST(an_exclusive_lock_is_alone_on_its_rank)
{
    for (int place = NODE; place < PLACES; place++) {
        struct node n;
        node_open(&n, place);
        ck_assert_int_eq(take(&n, 0, 3, ALONE, 0), WDL_OK);
        ck_assert_int_eq(take(&n, 1, 3, ALONE, 0), WDL_AGAIN);
        ck_assert_int_eq(take(&n, 2, 3, SHARED, 0), WDL_AGAIN);
        ck_assert_int_eq(take(&n, 2, 1, ALONE, 0), WDL_OK); /* on another rank: at the same time */
        ck_assert_int_eq(take(&n, 4, 4, SHARED, 0), WDL_OK);
        give(&n, 0, 3);
        ck_assert_int_eq(take(&n, 2, 3, SHARED, 0), WDL_AGAIN); /* first come, first served */
        ck_assert_int_eq(take(&n, 1, 3, ALONE, 0), WDL_OK);
        ck_assert_int_eq(take(&n, 2, 3, SHARED, 0), WDL_AGAIN);
        give(&n, 1, 3);
        ck_assert_int_eq(take(&n, 2, 3, SHARED, 0), WDL_OK);
        give(&n, 2, 3);
        give(&n, 2, 1);
        give(&n, 4, 4);
        node_close(&n);
    }
}
END_TEST

START_TEST(lock_all_and_exclusive_locks_exclude_each_other)
{
    for (int place = NODE; place < PLACES; place++) {
        struct node n;
        node_open(&n, place);
        ck_assert_int_eq(take_all(&n, 0), WDL_OK);
        ck_assert_int_eq(take_all(&n, 1), WDL_OK);
        ck_assert_int_eq(take(&n, 2, 4, ALONE, 0), WDL_AGAIN);
        ck_assert_int_eq(take_all(&n, 3), WDL_AGAIN); /* behind the exclusive one */
        give_all(&n, 0);
        ck_assert_int_eq(take(&n, 2, 4, ALONE, 0), WDL_AGAIN);
        give_all(&n, 1);
        ck_assert_int_eq(take_all(&n, 3), WDL_AGAIN);
        ck_assert_int_eq(take(&n, 2, 4, ALONE, 0), WDL_OK);
        ck_assert_int_eq(take_all(&n, 3), WDL_AGAIN);
        give(&n, 2, 4);
        ck_assert_int_eq(take_all(&n, 3), WDL_OK);
        give_all(&n, 3);
        node_close(&n);
    }
}
END_TEST

/* All exclusive locks of a process are one at the gate, and the last to go leaves it; an attempt
 * counts once, however often it is made. */
START_TEST(a_process_passes_the_gate_once)
{
    for (int place = NODE; place < PLACES; place++) {
        struct node n;
        node_open(&n, place);
        ck_assert_int_eq(take(&n, 1, 0, SHARED, 0), WDL_OK);
        for (int i = 0; i < 10; i++)
            ck_assert_int_eq(take(&n, 0, 0, ALONE, 0), WDL_AGAIN);
        ck_assert_int_eq(take(&n, 0, 3, ALONE, 0), WDL_OK);
        ck_assert_int_eq(n.w.rank[0].win->gate_users, 2); /* one held, one wanted */
        ck_assert_int_eq(take_all(&n, 2), WDL_AGAIN);
        give(&n, 0, 3);
        ck_assert_int_eq(take_all(&n, 2), WDL_AGAIN); /* for the one that is wanted */
        give(&n, 1, 0);
        ck_assert_int_eq(take(&n, 0, 0, ALONE, 0), WDL_OK);
        ck_assert_int_eq(take(&n, 0, 4, ALONE, 1), WDL_OK);
        give(&n, 0, 0);
        ck_assert_int_eq(take_all(&n, 2), WDL_AGAIN);
        give(&n, 0, 4);
        ck_assert_int_eq(take_all(&n, 2), WDL_OK);
        give_all(&n, 2);
        node_close(&n);
    }
}
END_TEST

/* Who holds a lock already does not wait behind those who may be waiting for it. */
START_TEST(a_holder_joins)
{
    for (int i = 0; i < 2 * PLACES; i++) {
        int join = i % 2, want = join ? WDL_OK : WDL_AGAIN;
        struct node n;
        node_open(&n, i / 2);
        /* at a rank's word: process 2 waits there for process 0 */
        ck_assert_int_eq(take(&n, 0, 1, SHARED, 0), WDL_OK);
        ck_assert_int_eq(take(&n, 1, 0, SHARED, 0), WDL_OK);
        ck_assert_int_eq(take(&n, 2, 1, ALONE, 0), WDL_AGAIN);
        ck_assert_int_eq(take(&n, 1, 1, SHARED, join), want);
        /* at the gate: process 3's lock_all waits there for process 2 */
        ck_assert_int_eq(take_all(&n, 3), WDL_AGAIN);
        ck_assert_int_eq(take(&n, 1, 4, ALONE, join), want);
        if (join) {
            give(&n, 1, 4);
            give(&n, 1, 1);
        }
        give(&n, 0, 1);
        ck_assert_int_eq(take(&n, 2, 1, ALONE, 0), WDL_OK);
        give(&n, 2, 1);
        ck_assert_int_eq(take_all(&n, 3), WDL_OK);
        give_all(&n, 3);
        give(&n, 1, 0);
        if (!join) {            /* what is still wanted */
            ck_assert_int_eq(take(&n, 1, 1, SHARED, 0), WDL_OK);
            ck_assert_int_eq(take(&n, 1, 4, ALONE, 0), WDL_OK);
            give(&n, 1, 1);
            give(&n, 1, 4);
        }
        node_close(&n);
    }
}
END_TEST

/* Who has joined before others owes it to them, at each word, until they have come in. */
START_TEST(who_joins_owes_those_overtaken)
{
    struct node n;
    node_open(&n, NODE);
    struct wdl_win *win = n.w.rank[1].win;
    ck_assert_int_eq(take(&n, 0, 1, SHARED, 0), WDL_OK);
    ck_assert_int_eq(take(&n, 0, 2, SHARED, 1), WDL_OK);
    ck_assert(!wdl_words_owe(n.w.rank[0].win)); /* nobody waits there */
    ck_assert_int_eq(take(&n, 1, 0, SHARED, 0), WDL_OK);
    ck_assert_int_eq(take(&n, 2, 1, ALONE, 0), WDL_AGAIN);
    for (int again = 0; again < 3; again++) { /* at one word: one debt */
        ck_assert_int_eq(take(&n, 1, 1, SHARED, 1), WDL_OK);
        ck_assert_uint_eq(n.word[1][1].ticket, 0);
        ck_assert_int_eq(win->word_debts.n, 1);
        give(&n, 1, 1);
    }
    ck_assert_int_eq(take_all(&n, 3), WDL_AGAIN); /* at the gate, for process 2 */
    ck_assert_int_eq(take(&n, 1, 4, ALONE, 1), WDL_OK);
    ck_assert_int_eq(win->word_debts.n, 2);
    give(&n, 1, 4);
    ck_assert(wdl_words_owe(win));
    give(&n, 1, 0);
    give(&n, 0, 2);
    give(&n, 0, 1);
    ck_assert_int_eq(take(&n, 2, 1, ALONE, 0), WDL_OK);
    ck_assert(wdl_words_owe(win));
    ck_assert_int_eq(win->word_debts.n, 1);
    give(&n, 2, 1);
    ck_assert_int_eq(take_all(&n, 3), WDL_OK);
    ck_assert(!wdl_words_owe(win));
    give_all(&n, 3);
    node_close(&n);
}
END_TEST

enum { MANY = WDL_WORD_DEBTS + 5 };

static int lock_call(struct test_world *w, int who, int target, int exclusive)
{
    struct test_rank *r = &w->rank[who];
    int status = WDL_AGAIN;
    for (int turn = 0; status == WDL_AGAIN && turn < TURNS; turn++) {
        status = wdl_win_lock(r->win, target, exclusive, 0, &r->step);
        test_world_turn(w);
    }
    return status;
}

static void unlock_call(struct test_world *w, int who, int target)
{
    TEST_DONE(w, wdl_win_unlock(w->rank[who].win, target, &w->rank[who].step));
}

/* At more words than are remembered one by one, too, and where the network has to be asked. `last`
 * is let in after all the others. */
START_TEST(who_joins_at_many_words_owes_all_of_them)
{
    enum { HOLDER = MANY, JOINER = MANY + 1, ALL = MANY + 2 };
    for (int place = NODE; place < PLACES; place++)
        for (int last = 1; last < MANY; last += place == NODE ? 1 : 5) {
            struct test_world w;
            struct test_world_params p = {.ranks = ALL,.node = place == NODE ? ALL : 3,
                .direct = place != NODE,.atomics = place,.rma = {.win_targets = MANY}};
            test_world_open(&w, &p);
            for (int t = 0; t < MANY; t++)      /* no wait yet; all may wait for rank 0's holder */
                ck_assert_int_eq(lock_call(&w, HOLDER, t, SHARED), WDL_OK);
            for (int t = 1; t < MANY; t++)
                ck_assert_int_eq(lock_call(&w, t, t, ALONE), WDL_AGAIN);
            for (int t = 0; t < MANY; t++)
                ck_assert_int_eq(lock_call(&w, JOINER, t, SHARED), WDL_OK);
            for (int t = 0; t < MANY; t++)
                unlock_call(&w, JOINER, t);
            for (int t = 1; t < MANY; t++) {
                if (t == last)
                    continue;
                unlock_call(&w, HOLDER, t);
                ck_assert_int_eq(lock_call(&w, t, t, ALONE), WDL_OK);
                unlock_call(&w, t, t);
            }
            ck_assert_int_eq(lock_call(&w, JOINER, 0, SHARED), WDL_AGAIN);
            unlock_call(&w, HOLDER, last);
            if (place == NODE)  /* elsewhere it comes in by any progress */
                ck_assert_int_eq(lock_call(&w, JOINER, 0, SHARED), WDL_AGAIN);
            ck_assert_int_eq(lock_call(&w, last, last, ALONE), WDL_OK);
            TEST_DONE(&w, wdl_win_lock(w.rank[JOINER].win, 0, 0, 0, &w.rank[JOINER].step));
            ck_assert(!wdl_words_have_debts(w.rank[JOINER].win));
            unlock_call(&w, JOINER, 0);
            unlock_call(&w, last, last);
            unlock_call(&w, HOLDER, 0);
            test_world_close(&w);
        }
}
END_TEST

/* Another thread overtakes while the network looks: what the look has seen is too old then. The
 * window is not freed while it looks. */
START_TEST(a_look_from_before_says_nothing)
{
    struct node n;
    node_open(&n, NETWORK);
    struct wdl_win *win = n.w.rank[1].win;
    ck_assert_int_eq(take(&n, 0, 3, SHARED, 0), WDL_OK);
    ck_assert_int_eq(take(&n, 1, 4, SHARED, 0), WDL_OK);
    ck_assert_int_eq(take(&n, 2, 3, ALONE, 0), WDL_AGAIN);
    ck_assert_int_eq(take(&n, 1, 3, SHARED, 1), WDL_OK);
    give(&n, 1, 3);
    ck_assert(wdl_words_owe(win) && wdl_words_look_at(win, 3));
    ck_assert_int_eq(take(&n, 4, 3, ALONE, 0), WDL_AGAIN);
    ck_assert_int_eq(take(&n, 1, 3, SHARED, 1), WDL_OK);
    give(&n, 1, 3);
    give(&n, 1, 4);
    for (int turn = 0; turn < TURNS; turn++) {
        ck_assert(wdl_words_owe(win));
        test_world_turn(&n.w);
    }
    give(&n, 0, 3);
    ck_assert_int_eq(take(&n, 2, 3, ALONE, 0), WDL_OK);
    give(&n, 2, 3);
    for (int turn = 0; turn < TURNS; turn++) {
        ck_assert(wdl_words_owe(win));
        test_world_turn(&n.w);
    }
    ck_assert_int_eq(take(&n, 4, 3, ALONE, 0), WDL_OK);
    give(&n, 4, 3);
    while (!wdl_far_busy(&win->word_debts.far) && wdl_words_owe(win))
        ;
    ck_assert(wdl_far_busy(&win->word_debts.far));
    ck_assert_int_eq(wdl_win_free(win), WDL_AGAIN);
    node_close(&n);
}
END_TEST

/* One place for keys: another rank's does not take it from a look that is under way. */
START_TEST(a_look_keeps_its_key)
{
    struct node n;
    node_open_with(&n, NETWORK, (struct test_world_params){.rma = {.win_targets = 1}});
    struct wdl_win *win = n.w.rank[1].win;
    ck_assert_int_eq(take(&n, 0, 3, SHARED, 0), WDL_OK);
    ck_assert_int_eq(take(&n, 2, 3, ALONE, 0), WDL_AGAIN);
    ck_assert_int_eq(take(&n, 1, 3, SHARED, 1), WDL_OK);
    give(&n, 1, 3);
    ck_assert(wdl_words_owe(win) && wdl_words_look_at(win, 3));
    for (int i = 0; i < 2 * WDL_KEY_RIVALS; i++)
        ck_assert_int_eq(try_word(&n, 1, 4, SHARED, 0), WDL_AGAIN);
    ck_assert_int_eq(win->keys[WDL_KEYS_WORDS].at[0].rank, 3);
    test_world_settle(&n.w);
    ck_assert(wdl_words_owe(win));
    test_world_settle(&n.w);
    ck_assert(wdl_words_owe(win));
    give(&n, 0, 3);
    ck_assert_int_eq(take(&n, 2, 3, ALONE, 0), WDL_OK);
    give(&n, 2, 3);
    ck_assert(!SETTLED(&n, wdl_words_owe(win) ? WDL_AGAIN : WDL_OK));
    ck_assert_int_eq(take(&n, 1, 4, SHARED, 0), WDL_OK);
    give(&n, 1, 4);
    node_close(&n);
}
END_TEST

static void give_what_nobody_has(void *arg)
{
    give(arg, 0, 1);
}

static void give_all_of_nobody(void *arg)
{
    give_all(arg, 0);
}

START_TEST(only_what_is_held_can_be_given)
{
    struct node n;
    node_open(&n, NODE);
    ck_assert(wdl_suite_aborts(give_what_nobody_has, &n));
    ck_assert(wdl_suite_aborts(give_all_of_nobody, &n));
    node_close(&n);
    node_open(&n, NETWORK); /* another process's memory: it may hold anything */
    must(wdl_target_get(n.w.rank[0].win, 1) != NULL);
    ck_assert_int_eq(SETTLED(&n, try_give(&n, 0, 1)), WDL_ERR_PROTO);
    ck_assert_int_eq(SETTLED(&n, try_give_all(&n, 0)), WDL_ERR_PROTO);
    test_world_close(&n.w);
}
END_TEST

/* Two that lost the race for the word do not lose it for ever: a ticket is drawn without one. */
START_TEST(an_attempt_costs_so_many_atomics)
{
    struct node n;
    node_open(&n, NETWORK);
    const struct wdl_sim_counts *counts = wdl_sim_counts(n.w.sim);
    ck_assert_int_eq(take(&n, 0, 3, SHARED, 0), WDL_OK);
    ck_assert_uint_eq(counts->atomics, 1);
    give(&n, 0, 3);
    ck_assert_uint_eq(counts->atomics, 2);
    ck_assert_int_eq(take(&n, 0, 3, ALONE, 0), WDL_OK); /* and the gate */
    ck_assert_uint_eq(counts->atomics, 4);
    give(&n, 0, 3);
    ck_assert_uint_eq(counts->atomics, 6);
    /* behind others: a swap, a ticket, looks; then the swap that takes it in */
    ck_assert_int_eq(take(&n, 0, 3, ALONE, 0), WDL_OK);
    ck_assert_int_eq(try_word(&n, 1, 3, SHARED, 0), WDL_AGAIN);
    for (int i = 0; i < TURNS && !n.word[1][3].ticket; i++) {
        test_world_turn(&n.w);
        try_word(&n, 1, 3, SHARED, 0);
    }
    ck_assert_uint_eq(counts->atomics, 8 + 2);
    give(&n, 0, 3);
    ck_assert_int_eq(take(&n, 1, 3, SHARED, 0), WDL_OK);
    ck_assert_uint_eq(counts->atomics, 10 + 2 + 2);
    give(&n, 1, 3);
    /* the word has tickets in it now: who has not seen them guesses wrong once */
    ck_assert_int_eq(take(&n, 1, 3, SHARED, 0), WDL_OK);
    ck_assert_uint_eq(counts->atomics, 15 + 1);
    ck_assert_int_eq(take(&n, 2, 3, SHARED, 0), WDL_OK);
    ck_assert_uint_eq(counts->atomics, 16 + 2);
    give(&n, 1, 3);
    give(&n, 2, 3);
    node_close(&n);
}
END_TEST

/* An element that was evicted while its lock was held does not know the lock's kind. */
START_TEST(the_word_says_what_is_to_be_given_back)
{
    for (int i = 0; i < 2 * PLACES; i++) {
        struct node n;
        node_open(&n, i / 2);
        ck_assert_int_eq(take(&n, 0, 3, i % 2, 0), WDL_OK);
        n.word[0][3] = (struct wdl_word) {.ticket = 0};
        give(&n, 0, 3);
        node_close(&n);
    }
}
END_TEST

/* --- random visitors -------------------------------------------------------------------------- */

enum { ALL = 2, VISITS = 400 };

struct visitor {
    int target, kind, inside, leaving, asking, tried, left;
};

static int compatible(const struct visitor *a, const struct visitor *b)
{
    if (a->kind == ALL || b->kind == ALL)
        return a->kind != ALONE && b->kind != ALONE;
    return a->target != b->target || (a->kind == SHARED && b->kind == SHARED);
}

static int visitor_step(struct node *n, int who, struct visitor *v)
{
    if (v->inside || v->leaving) {
        v->inside = 0;
        v->leaving = 1;
        int given = v->kind == ALL ? try_give_all(n, who) : try_give(n, who, v->target);
        if (given == WDL_AGAIN)
            return 0;
        *v = (struct visitor){.left = v->left - 1};
        return 1;
    }
    if (!v->asking) {
        v->kind = (int) wdl_prng_below(&n->w.prng, 3);
        v->target = (int) wdl_prng_below(&n->w.prng, RANKS);
        v->asking = 1;
    }
    if (n->place == NODE && v->kind != ALL && !v->tried)
        v->inside = wdl_words_in_at_once(n->w.rank[who].win, v->target, v->kind);
    v->tried = 1;
    if (!v->inside)
        v->inside = (v->kind == ALL ? wdl_words_lock_all(n->w.rank[who].win) :
                     try_word(n, who, v->target, v->kind, 0)) == WDL_OK;
    return v->inside;
}

/* Whatever the order of their attempts: those inside agree with each other, and nobody waits for
 * ever. How often several are. */
static int visit(struct node *n, int visits)
{
    struct visitor v[RANKS] = {{0}};
    int left = RANKS, idle = 0, together = 0;
    for (int i = 0; i < RANKS; i++)
        v[i].left = visits;
    while (left > 0) {
        int who = (int) wdl_prng_below(&n->w.prng, RANKS), inside = 0;
        if (n->place != NODE)
            test_world_turn(&n->w);
        if (v[who].left == 0)
            continue;
        idle = visitor_step(n, who, &v[who]) ? 0 : idle + 1;
        must_cmp(idle, <, 2000);
        left -= v[who].left == 0;
        for (int a = 0; a < RANKS; a++) {
            inside += v[a].inside;
            for (int b = 0; b < a; b++)
                must(!v[a].inside || !v[b].inside || compatible(&v[a], &v[b]));
        }
        together += inside > 1;
    }
    return together;
}

START_TEST(random_visitors)
{
    for (int i = 0; i < PLACES + 4; i++) {
        struct node n;
        struct test_world_params p = {.seed = (uint64_t) i};
        if (i >= PLACES)
            p = (struct test_world_params) {.seed = (uint64_t) i,.delay_ns_max = 3000,
                .refuse_permille = 200,.unordered = i % 2,.ops_max = i / 2 % 2,
                .by_key = i > PLACES + 1};
        node_open_with(&n, i < PLACES ? i : 1 + i % 2, p);
        ck_assert_int_gt(visit(&n, VISITS), VISITS / 4);        /* they do meet where they may */
        node_close(&n);
    }
}
END_TEST

/* The first lock_all comes early, and there are many first ones. */
START_TEST(random_visitors_of_new_windows)
{
    enum { WINDOWS = 200, FEW = 3 };
    int together = 0;
    for (int i = 0; i < WINDOWS; i++) {
        struct node n;
        node_open_with(&n, NODE, (struct test_world_params){.seed = 100 + (uint64_t) i});
        together += visit(&n, FEW);
        node_close(&n);
    }
    ck_assert_int_gt(together, WINDOWS * FEW / 4);
}
END_TEST

/* --- threads as processes --------------------------------------------------------------------- */

enum { STORMS = 100, STORM_LOCKS = 600, STORM_RANKS = 3 };

static struct wdl_win_control storm_control[STORM_RANKS];
static long storm_counter[STORM_RANKS];

static void storm_begin(struct wdl_win *win)
{
    *win = (struct wdl_win){.words = WDL_WORDS_NODE, .params = {.size = STORM_RANKS,
                                                                .node = storm_control}};
}

/* Ranks 0 and 1: exclusive locks, at once where they can be had. */
static void *storm_locks(void *arg)
{
    struct wdl_win win;
    int me = (int) (intptr_t) arg;
    storm_begin(&win);
    for (int i = 0; i < STORM_LOCKS; i++) {
        struct wdl_word word = {.ticket = 0};
        int target = (i + me) % STORM_RANKS;
        if (!wdl_words_in_at_once(&win, target, ALONE))
            while (wdl_words_lock(&win, target, ALONE, 0, &word) != WDL_OK)
                sched_yield();
        long was = storm_counter[target];       /* what the locks protect */
        if (i % 8 == 0)
            sched_yield();
        storm_counter[target] = was + 1;
        wdl_words_out_on_node(&win, target);
    }
    return NULL;
}

static long storm_sum(void)
{
    long sum = 0;
    for (int rank = 0; rank < STORM_RANKS; rank++)
        sum += storm_counter[rank];
    return sum;
}

/* The first to call lock_all, in the middle of that. While it is inside, nobody adds. */
static void *storm_lock_all(void *arg)
{
    struct wdl_win win;
    storm_begin(&win);
    for (int i = 0; i < 20 * ((int) (intptr_t) arg % 7); i++)
        sched_yield();
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 100; k++)
            sched_yield();
        while (wdl_words_lock_all(&win) != WDL_OK)
            sched_yield();
        long seen = storm_sum();
        sched_yield();
        if (storm_sum() != seen)
            abort();
        wdl_words_unlock_all(&win);
    }
    return NULL;
}

START_TEST(storm)
{
    for (int i = 0; i < STORMS; i++) {
        pthread_t locks[2], all;
        memset(storm_control, 0, sizeof(storm_control));
        memset(storm_counter, 0, sizeof(storm_counter));
        for (intptr_t k = 0; k < 2; k++)
            pthread_create(&locks[k], NULL, storm_locks, (void *) k);
        pthread_create(&all, NULL, storm_lock_all, (void *) (intptr_t) i);
        for (int k = 0; k < 2; k++)
            pthread_join(locks[k], NULL);
        pthread_join(all, NULL);
        ck_assert_int_eq(storm_sum(), 2 * STORM_LOCKS);
        ck_assert_uint_eq(storm_control[0].gate & 0xffffffff, 0);
        ck_assert_uint_ge(storm_control[0].gate_mode, WDL_GATE_MINDED);
    }
}
END_TEST

WDL_SUITE("rma/words", the_gate_is_for_lock_all,
          a_look_from_before_it_was_forgotten_says_nothing,
          shared_locks_meet_each_other_and_lock_all,
          an_exclusive_lock_is_alone_on_its_rank, lock_all_and_exclusive_locks_exclude_each_other,
          a_process_passes_the_gate_once, a_holder_joins, who_joins_owes_those_overtaken,
          who_joins_at_many_words_owes_all_of_them, a_look_from_before_says_nothing,
          a_look_keeps_its_key, only_what_is_held_can_be_given, an_attempt_costs_so_many_atomics,
          the_word_says_what_is_to_be_given_back, random_visitors,
          random_visitors_of_new_windows, storm)
