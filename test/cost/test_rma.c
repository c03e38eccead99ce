/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Exact numbers of messages of one-sided calls, on windows whose ranks share no memory: both
 * directions, everything included.
 */
#include "host/testworld.h"
#include "support/suite.h"

static struct wdl_rma_args operation(int kind, char *data, int64_t *result)
{
    static const int64_t zero;
    switch (kind) {
        case 0: return test_put(1, 0, data, 8);
        case 1: return test_get(1, 0, data, 8);
        case 2: return test_acc(1, 0, WDL_ROP_SUM, TEST_I64, 1, data, NULL);
        case 3: return test_acc(1, 0, WDL_ROP_SUM, TEST_I64, 1, data, result);
        default: return test_cas(1, 0, TEST_I64, &zero, data, result);
    }
}

static void open_world(struct test_world *w, int ranks, int unordered, enum wdl_combine combine)
{
    struct test_world_params p = {.ranks = ranks,.unordered = unordered,.combine = combine,
        .bytes = 4096
    };
    test_world_open(w, &p);
}

static void lock(struct test_world *w, int o, int t, int exclusive)
{
    TEST_DONE(w, wdl_win_lock(w->rank[o].win, t, exclusive, 0, &w->rank[o].step));
}

static void unlock(struct test_world *w, int o, int t)
{
    TEST_DONE(w, wdl_win_unlock(w->rank[o].win, t, &w->rank[o].step));
}

static void flush(struct test_world *w, int o, int t)
{
    TEST_DONE(w, wdl_win_flush(w->rank[o].win, t, 0, &w->rank[o].step));
}

/* Lock, one short operation, unlock: there and back, whatever it is. */
START_TEST(a_short_epoch_costs_two_messages)
{
    for (int i = 0; i < 2 * 3 * 5 * 2; i++) {
        struct test_world w;
        char data[8] = "eight b";
        int64_t result;
        open_world(&w, 2, i % 2, (enum wdl_combine) (i / 2 % 3));
        lock(&w, 0, 1, i / 6 % 2);
        test_op(&w, 0, operation(i / 12, data, &result));
        ck_assert_int_eq(test_world_messages(&w), 0);
        unlock(&w, 0, 1);
        ck_assert_int_eq(test_world_messages(&w), 2);
        test_world_close(&w);
    }
}
END_TEST

START_TEST(an_unused_lock_costs_nothing_and_nocheck_two_messages)
{
    struct test_world w;
    char data[8] = "";
    open_world(&w, 2, 0, WDL_COMBINE_ALWAYS);
    lock(&w, 0, 1, 1);
    unlock(&w, 0, 1);
    ck_assert_int_eq(test_world_messages(&w), 0);
    TEST_DONE(&w, wdl_win_lock(w.rank[0].win, 1, 0, WDL_MODE_NOCHECK, &w.rank[0].step));
    test_op(&w, 0, test_put(1, 0, data, 8));
    unlock(&w, 0, 1);
    ck_assert_int_eq(test_world_messages(&w), 2);       /* put and flush; its answer */
    test_world_close(&w);
}
END_TEST

/* 1,024 bytes of message: nine puts of 8 bytes with their packets. */
START_TEST(short_operations_share_messages)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        char data[64][8];
        memset(data, 7, sizeof(data));
        open_world(&w, 2, unordered, WDL_COMBINE_ALWAYS);
        lock(&w, 0, 1, 1);
        for (int i = 0; i < 9; i++)
            test_op(&w, 0, test_put(1, 8 * i, data[i], 8));
        unlock(&w, 0, 1);
        ck_assert_int_eq(test_world_messages(&w), 2);
        ck_assert_mem_eq(w.rank[1].memory, data, 72);
        lock(&w, 0, 1, 1);
        test_op(&w, 0, test_put(1, 0, data[0], 8));
        flush(&w, 0, 1);
        ck_assert_int_eq(test_world_messages(&w), 2);   /* lock, put and flush; granted and done */
        for (int i = 0; i < 12; i++)
            test_op(&w, 0, test_put(1, 8 * i, data[i], 8));
        flush(&w, 0, 1);
        /* unordered: each of the two is acknowledged */
        ck_assert_int_eq(test_world_messages(&w), unordered ? 4 : 3);
        unlock(&w, 0, 1);
        ck_assert_int_eq(test_world_messages(&w), 2);
        test_world_close(&w);
    }
}
END_TEST

START_TEST(a_flush_travels_with_the_last_operation)
{
    struct test_world w;
    char data[8] = "flushed", back[8];
    int64_t result;
    open_world(&w, 2, 0, WDL_COMBINE_ALWAYS);
    lock(&w, 0, 1, 0);
    test_op(&w, 0, test_put(1, 0, data, 8));
    flush(&w, 0, 1);
    test_world_messages(&w);
    for (int kind = 0; kind < 5; kind++) {
        test_op(&w, 0, operation(kind, data, &result));
        flush(&w, 0, 1);
        ck_assert_int_eq(test_world_messages(&w), 2);
    }
    test_op(&w, 0, test_put(1, 8, data, 8));
    test_op(&w, 0, test_get(1, 16, back, 8));
    flush(&w, 0, 1);
    ck_assert_int_eq(test_world_messages(&w), 2);
    flush(&w, 0, 1);
    ck_assert_int_eq(test_world_messages(&w), 0);
    test_op(&w, 0, test_put(1, 8, data, 8));
    unlock(&w, 0, 1);
    ck_assert_int_eq(test_world_messages(&w), 2);
    test_world_close(&w);
}
END_TEST

/* What is not short waits for its lock, and has the unlock with it; a get goes to the tail, where
 * its reply is the acknowledgement. */
START_TEST(long_operations_are_followed_by_nothing)
{
    struct test_world w;
    static char data[2000], back[8];
    open_world(&w, 2, 0, WDL_COMBINE_AUTO);
    lock(&w, 0, 1, 1);
    test_op(&w, 0, test_put(1, 0, data, 600));
    unlock(&w, 0, 1);
    ck_assert_int_eq(test_world_messages(&w), 2);       /* it is short */
    w.rank[0].win->rma->params.short_bytes = 256;
    lock(&w, 0, 1, 1);
    test_op(&w, 0, test_put(1, 0, data, 600));
    unlock(&w, 0, 1);
    ck_assert_int_eq(test_world_messages(&w), 4);       /* LOCK, GRANT, PUT, UNLOCK_ACK */
    lock(&w, 0, 1, 1);
    test_op(&w, 0, test_put(1, 0, data, 2000));
    unlock(&w, 0, 1);
    ck_assert_int_eq(test_world_messages(&w), 6);       /* in three packets */
    lock(&w, 0, 1, 1);
    test_op(&w, 0, test_get(1, 2000, back, 8));
    test_op(&w, 0, test_put(1, 0, data, 600));
    unlock(&w, 0, 1);
    ck_assert_int_eq(test_world_messages(&w), 5);       /* LOCK, GRANT, PUT, GET, REPLY */
    test_world_close(&w);
}
END_TEST

static void hint(struct test_world *w, struct wdl_win_hints hints)
{
    for (int i = 0; i < w->n; i++)
        wdl_win_hints_set(w->rank[i].win, &hints);
}

/* A flush that need not hear from the target asks it nothing, and is over while the target does
 * not look; the data is there after the unlock, which waits. */
START_TEST(a_flush_without_rma_done_is_a_local_one)
{
    static char data[2000];
    memset(data, 'd', sizeof(data));
    for (int quiet = 0; quiet < 2; quiet++)
        for (int all = 0; all < 2; all++) {
            struct test_world w;
            open_world(&w, 2, 0, WDL_COMBINE_NEVER);
            hint(&w, (struct wdl_win_hints) {.combine = WDL_COMBINE_NEVER,.no_done = quiet});
            lock(&w, 0, 1, 0);
            test_op(&w, 0, test_put(1, 0, data, 8));
            flush(&w, 0, 1);    /* the lock is ours */
            test_world_messages(&w);
            test_op(&w, 0, test_put(1, 0, data, 2000));
            int status = WDL_AGAIN;
            for (int turn = 0; turn < 100 && status == WDL_AGAIN; turn++) {
                status = wdl_win_flush(w.rank[0].win, all ? -1 : 1, 0, &w.rank[0].step);
                wdl_proc_progress(w.rank[0].proc);
            }
            ck_assert_int_eq(status, quiet ? WDL_OK : WDL_AGAIN);
            flush(&w, 0, 1);
            ck_assert_int_eq(test_world_messages(&w), quiet ? 3 : 3 + 2); /* flush, done */
            unlock(&w, 0, 1);
            ck_assert_int_eq(test_world_messages(&w), 2);
            ck_assert_mem_eq(w.rank[1].memory, data, 2000);
            test_world_close(&w);
        }
}
END_TEST

/* Pieces of as many bytes as asked for, whole lines, one at least; both ways. */
START_TEST(long_operations_in_shorter_pieces)
{
    static const struct {
        uint64_t asked;
        int pieces;
    } rows[] = {
        {0, 3}, {1 << 20, 3}, {767, 3}, {700, 4}, {512, 4}, {511, 5}, {128, 16}, {64, 32}, {1, 32}
    };
    static char data[2000], back[2000];
    for (int i = 0; i < 2000; i++)
        data[i] = (char) (i * 7 + i / 200);
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct test_world w;
        int n = rows[k].pieces;
        open_world(&w, 2, 0, WDL_COMBINE_AUTO);
        hint(&w, (struct wdl_win_hints) {.piece_bytes = rows[k].asked});
        lock(&w, 0, 1, 1);
        test_op(&w, 0, test_put(1, 0, data, 2000));
        unlock(&w, 0, 1);
        ck_assert_int_eq(test_world_messages(&w), 2 + n + 1);
        ck_assert_mem_eq(w.rank[1].memory, data, 2000);
        lock(&w, 0, 1, 1);
        test_op(&w, 0, test_get(1, 0, back, 2000));
        unlock(&w, 0, 1);
        ck_assert_int_eq(test_world_messages(&w), 2 + 2 * n);
        ck_assert_mem_eq(back, data, 2000);
        test_world_close(&w);
    }
}
END_TEST

START_TEST(a_bundle_waits_for_its_lock_at_the_target)
{
    struct test_world w;
    char data[3][8] = { "holder", "second", "third" };
    struct test_world_params p = {.ranks = 4,.rma = {.stashes = 1} };
    test_world_open(&w, &p);
    lock(&w, 1, 0, 1);
    test_op(&w, 1, test_put(0, 0, data[0], 8));
    flush(&w, 1, 0);
    for (int o = 2; o < 4; o++) {
        lock(&w, o, 0, 1);
        test_op(&w, o, test_put(0, 8 * (o - 1), data[o - 1], 8));
        ck_assert_int_eq(wdl_win_unlock(w.rank[o].win, 0, &w.rank[o].step), WDL_AGAIN);
        test_world_settle(&w);
    }
    ck_assert_int_eq(wdl_win_unlock(w.rank[2].win, 0, &w.rank[2].step), WDL_AGAIN);
    test_world_messages(&w);
    unlock(&w, 1, 0);
    /* one waited with its operation: its answer; the other has it sent again: GRANT, PUT, ACK */
    unlock(&w, 2, 0);
    unlock(&w, 3, 0);
    ck_assert_int_eq(test_world_messages(&w), 2 + 1 + 3);
    for (int i = 0; i < 3; i++)
        ck_assert_mem_eq(w.rank[0].memory + 8 * i, data[i], 8);
    test_world_close(&w);
}
END_TEST

START_TEST(lock_all_costs_two_messages_for_each_target_used)
{
    for (int k = 0; k < TEST_RANKS_MAX; k++) {
        struct test_world w;
        char data[8] = "for all";
        open_world(&w, TEST_RANKS_MAX, k % 2, WDL_COMBINE_AUTO);
        struct test_rank *o = &w.rank[0];
        TEST_DONE(&w, wdl_win_lock_all(o->win, 0, &o->step));
        for (int t = 1; t <= k; t++)
            test_op(&w, 0, test_put(t, 0, data, 8));
        TEST_DONE(&w, wdl_win_unlock_all(o->win, &o->step));
        ck_assert_int_eq(test_world_messages(&w), 2 * k);
        test_world_close(&w);
    }
}
END_TEST

/* Two target elements, eight ranks: a lock and its grant, a release and its answer for each rank.
 * The first two puts come with the lock requests, the third by itself: that it is done the answer
 * to its release says. */
START_TEST(lock_all_under_the_window_protocol)
{
    struct test_world w;
    char data[8] = "window";
    struct test_world_params p = {.ranks = TEST_RANKS_MAX,
        .rma = {.win_targets = 1,.global_targets = 1}
    };
    test_world_open(&w, &p);
    struct test_rank *o = &w.rank[0];
    TEST_DONE(&w, wdl_win_lock_all(o->win, 0, &o->step));
    for (int t = 1; t <= 3; t++) {
        struct wdl_rma_args put = test_put(t, 0, data, 8);
        TEST_DONE(&w, wdl_rma_op(o->win, &put));
    }
    TEST_DONE(&w, wdl_win_unlock_all(o->win, &o->step));
    ck_assert_int_eq(test_world_messages(&w), 4 * TEST_RANKS_MAX + 1);
    test_world_close(&w);
}
END_TEST

/* By words no rank's processor is asked, whatever the number of ranks. */
START_TEST(locks_by_words_cost_no_message)
{
    for (int ranks = 2; ranks <= TEST_RANKS_ROOM; ranks += 19) {
        struct test_world w;
        struct test_world_params p = {.ranks = ranks,.node = ranks };
        char data[8] = "words";
        test_world_open(&w, &p);
        struct test_rank *o = &w.rank[0];
        TEST_DONE(&w, wdl_win_lock_all(o->win, 0, &o->step));
        for (int t = 0; t < ranks; t++)
            test_op(&w, 0, test_put(t, 0, data, 8));
        TEST_DONE(&w, wdl_win_unlock_all(o->win, &o->step));
        lock(&w, 0, 1, 1);
        test_op(&w, 0, test_put(1, 0, data, 8));
        unlock(&w, 0, 1);
        ck_assert_int_eq(test_world_messages(&w), 0);
        test_world_close(&w);
    }
}
END_TEST

/* Atomics of the network since the last question. */
static int atomics(struct test_world *w, int *before)
{
    int all = (int) wdl_sim_counts(w->sim)->atomics, n = all - *before;
    *before = all;
    return n;
}

/* Where the network cannot say what it has, a process's first window asks: a question and an answer
 * of each rank, who is asked by no more than a node's ranks. The next window asks nobody, nor does
 * one whose network says that there is nothing to be had. */
START_TEST(creation_asks_a_neighbour_once)
{
    for (int i = 0; i < 4 * 3 * 3; i++) {
        struct test_world w;
        int node = 1 + i / 4 % 3, by_key = i % 4 > 0;
        struct test_world_params p = {.ranks = 4 + i / 12 * 18,.node = node,.direct = 1,
            .by_key = by_key,.atomics = i % 4 - by_key
        };
        struct wdl_win *win[TEST_RANKS_ROOM];
        test_world_open(&w, &p);
        ck_assert_int_eq(test_world_messages(&w), by_key ? 2 * w.n : 0);
        for (int r = 0; r < w.n; r++) {
            uint64_t sent = w.rank[r].proc->stats.am_sent;
            ck_assert_int_le(sent, 1 + node);
            ck_assert_int_eq(sent > 0, by_key);
            if (w.n % node == 0)
                ck_assert_uint_eq(sent, by_key ? 2 : 0);
            struct wdl_win_params params = test_win_params(&w.rank[r]);
            params.id = 8;
            ck_assert_int_eq(wdl_win_create(w.rank[r].proc, &params, &win[r]), WDL_OK);
        }
        test_net_agree(w.sim, win, w.n);
        ck_assert_int_eq(test_world_messages(&w), 0);
        for (int r = 0; r < w.n; r++)
            ck_assert_int_eq(wdl_win_free(win[r]), WDL_OK);
        test_world_close(&w);
    }
}
END_TEST

/* At the network they cost an atomic in and one out, exclusive ones two, whatever the number of
 * ranks; the first lock of a rank asks for the key of its word, unless it has been asked already
 * for what its key says. */
START_TEST(locks_by_words_at_the_network)
{
    for (int i = 0; i < 2 * 3 * 2; i++) {
        struct test_world w;
        int by_key = i / 6;
        struct test_world_params p = {.ranks = 2 + i / 2 % 3 * 19,.direct = 1,.atomics = 1 + i % 2,
            .combine = WDL_COMBINE_ALWAYS,.by_key = by_key
        };
        char data[8] = "far off";
        int before = 0;
        test_world_open(&w, &p);
        test_world_messages(&w);
        struct test_rank *o = &w.rank[0];
        struct test_rank *last = &w.rank[w.n - 1];
        TEST_DONE(&w, wdl_win_lock_all(last->win, 0, &last->step));
        ck_assert_int_eq(atomics(&w, &before), 1);
        TEST_DONE(&w, wdl_win_unlock_all(last->win, &last->step));
        ck_assert_int_eq(atomics(&w, &before), 1);
        ck_assert_int_eq(test_world_messages(&w), 0);
        lock(&w, 0, 1, 0);
        test_op(&w, 0, test_put(1, 0, data, 8));
        unlock(&w, 0, 1);
        /* two keys, or one; put and flush, its answer */
        ck_assert_int_eq(test_world_messages(&w), 2 * (2 - by_key) + 2);
        ck_assert_int_eq(atomics(&w, &before), 2);
        for (int exclusive = 0; exclusive < 2; exclusive++) {
            uint64_t puts = wdl_sim_counts(w.sim)->puts, flushes = wdl_sim_counts(w.sim)->flushes;
            int gate = exclusive && i % 2;      /* rank 0's own: else the processor's */
            lock(&w, 0, 1, exclusive);
            ck_assert_int_eq(atomics(&w, &before), 1 + gate);
            test_op(&w, 0, test_put(1, 0, data, 8));
            unlock(&w, 0, 1);
            ck_assert_int_eq(atomics(&w, &before), 1 + gate);
            ck_assert_uint_eq(wdl_sim_counts(w.sim)->puts, puts + 1);
            ck_assert_uint_eq(wdl_sim_counts(w.sim)->flushes, flushes + 1);
        }
        TEST_DONE(&w, wdl_win_lock(o->win, 1, 1, WDL_MODE_NOCHECK, &o->step));
        test_op(&w, 0, test_put(1, 0, data, 8));
        unlock(&w, 0, 1);
        ck_assert_int_eq(test_world_messages(&w) + atomics(&w, &before), 0);
        test_world_close(&w);
    }
}
END_TEST

/* ceil(log2 P) messages of each rank, and for an operation itself and an answer. */
START_TEST(a_fence_costs_its_barrier)
{
    for (int ranks = 1; ranks <= TEST_RANKS_MAX; ranks++) {
        struct test_world w;
        int rounds = 0;
        char data[8] = "fenced";
        while (1 << rounds < ranks)
            rounds++;
        open_world(&w, ranks, 0, WDL_COMBINE_ALWAYS);
        for (int i = 0; i < 2; i++) {
            TEST_ALL(&w, wdl_win_fence(r->win, 0, &r->step));
            ck_assert_int_eq(test_world_messages(&w), rounds * ranks);
        }
        for (int i = 0; i < 5 && ranks > 1; i++)
            test_op(&w, 0, test_put(1, 8 * i, data, 8));
        TEST_ALL(&w, wdl_win_fence(r->win, WDL_MODE_NOSUCCEED, &r->step));
        ck_assert_int_eq(test_world_messages(&w), rounds * ranks + 2 * (ranks > 1));
        test_world_close(&w);
    }
}
END_TEST

/* What was done to a target leaves with the flush that the fence asks for, the last packet of what
 * is long; a read's reply needs none. */
START_TEST(a_fence_travels_with_the_last_operation)
{
    static char data[2000];
    int64_t result;
    for (int kind = 0; kind < 7; kind++) {
        struct test_world w;
        open_world(&w, 2, 0, WDL_COMBINE_AUTO);
        for (int e = 0; e < 3; e++) {
            TEST_ALL(&w, wdl_win_fence(r->win, 0, &r->step));
            test_world_messages(&w);
            test_op(&w, 0, kind < 5 ? operation(kind, data, &result) :
                    test_put(1, 0, data, kind == 5 ? 600 : 2000));
            w.rank[0].host.now_ns += 1000000;
            ck_assert_int_eq(test_world_messages(&w), kind == 6 ? 2 : 0);
            TEST_ALL(&w, wdl_win_fence(r->win, 0, &r->step));
            ck_assert_int_eq(test_world_messages(&w), 2 + 2);   /* it, its answer; the barrier */
        }
        test_world_close(&w);
    }
}
END_TEST

/* Ranks of a node come to it in memory, whatever the window's memory: ceil(log2 N) messages of each
 * of N nodes, and nothing of the others. */
START_TEST(a_fence_of_several_nodes_costs_their_barrier)
{
    for (int node = 2; node <= 4; node++)
        for (int kind = 0; kind < 3; kind++)
            for (int ranks = node + 1; ranks <= TEST_RANKS_MAX; ranks++) {
                struct test_world w;
                struct test_world_params p = {.ranks = ranks,.node = node,.levels = 1,
                                              .own = kind == 1,.dynamic = kind == 2 };
                int nodes = (ranks + node - 1) / node, rounds = 0;
                while (1 << rounds < nodes)
                    rounds++;
                test_world_open(&w, &p);
                for (int i = 0; i < 4; i++) {
                    int flags = i % 2 ? 0 : WDL_MODE_NOPRECEDE;
                    TEST_ALL(&w, wdl_win_fence(r->win, flags, &r->step));
                    ck_assert_int_eq(test_world_messages(&w), rounds * nodes);
                }
                test_world_close(&w);
            }
}
END_TEST

/* The network does it alone: no message, whatever the size; the first contact asks for the key. */
START_TEST(the_direct_path_costs_no_message)
{
    static char data[2000];
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        struct test_world_params p = {.ranks = 2,.unordered = unordered,.direct = 1,.bytes = 4096,
            .combine = WDL_COMBINE_ALWAYS
        };
        test_world_open(&w, &p);
        lock(&w, 0, 1, 0);
        test_op(&w, 0, test_put(1, 0, data, 8));
        flush(&w, 0, 1);
        /* question and answer; lock, put and flush in one message, and its answer */
        ck_assert_int_eq(test_world_messages(&w), 4);
        for (size_t bytes = 8; bytes <= sizeof(data); bytes *= 5) {
            test_op(&w, 0, test_put(1, 0, data, bytes));
            flush(&w, 0, 1);
            test_op(&w, 0, test_get(1, 0, data, bytes));
            flush(&w, 0, 1);
            ck_assert_int_eq(test_world_messages(&w), 0);
        }
        test_op(&w, 0, test_put(1, 0, data, 8));
        unlock(&w, 0, 1);
        ck_assert_int_eq(test_world_messages(&w), 2);   /* the lock is the target's work */
        TEST_ALL(&w, wdl_win_fence(r->win, 0, &r->step));
        test_world_messages(&w);
        test_op(&w, 0, test_put(1, 0, data, sizeof(data)));
        TEST_ALL(&w, wdl_win_fence(r->win, WDL_MODE_NOSUCCEED, &r->step));
        ck_assert_int_eq(test_world_messages(&w), 2);   /* its barrier */
        test_world_close(&w);
    }
}
END_TEST

/* Attached memory: the first contact with a region asks for its key, detach recalls it; between
 * them, in whatever epochs, nothing. */
START_TEST(attached_memory_is_reached_without_messages)
{
    static char data[2000];
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        struct test_world_params p = {.ranks = 2,.unordered = unordered,.direct = 1,.bytes = 4096,
            .combine = WDL_COMBINE_ALWAYS,.dynamic = 1
        };
        test_world_open(&w, &p);
        char *base = w.rank[1].memory;
        int64_t at = (int64_t) (uintptr_t) base;
        TEST_DONE(&w, wdl_win_attach(w.rank[1].win, base, 4096));
        for (int e = 0; e < 3; e++) {
            TEST_DONE(&w, wdl_win_lock_all(w.rank[0].win, WDL_MODE_NOCHECK, &w.rank[0].step));
            for (size_t bytes = 8; bytes <= sizeof(data); bytes *= 5) {
                test_op(&w, 0, test_put(1, at, data, bytes));
                test_op(&w, 0, test_get(1, at + 2000, data, bytes));
                flush(&w, 0, 1);
                /* question and answer; put, get and flush in one message, and its answer */
                ck_assert_int_eq(test_world_messages(&w), e == 0 && bytes == 8 ? 4 : 0);
            }
            TEST_DONE(&w, wdl_win_unlock_all(w.rank[0].win, &w.rank[0].step));
            ck_assert_int_eq(test_world_messages(&w), 0);
        }
        TEST_DONE(&w, wdl_win_detach(w.rank[1].win, base));
        ck_assert_int_eq(test_world_messages(&w), 2);
        test_world_close(&w);
    }
}
END_TEST

/* A few integers cost as many atomics; more, and other types, a message and its answer. */
START_TEST(atomics_cost_no_message)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        struct test_world_params p = {.ranks = 2,.unordered = unordered,.direct = 1,.atomics = 1,
            .combine = WDL_COMBINE_ALWAYS
        };
        int64_t data[9] = {1}, result[9];
        int before = 0;
        test_world_open(&w, &p);
        lock(&w, 0, 1, 0);
        test_op(&w, 0, test_put(1, 0, data, 8));
        unlock(&w, 0, 1);
        test_world_messages(&w);
        atomics(&w, &before);
        for (int kind = 2; kind < 5; kind++) {
            uint64_t flushes = wdl_sim_counts(w.sim)->flushes;
            lock(&w, 0, 1, 0);
            test_op(&w, 0, operation(kind, (char *) data, result));
            unlock(&w, 0, 1);
            ck_assert_int_eq(atomics(&w, &before), 1 + 1 + 1);
            ck_assert_uint_eq(wdl_sim_counts(w.sim)->flushes, flushes + 1);
            ck_assert_int_eq(test_world_messages(&w), 0);
        }
        lock(&w, 0, 1, 0);
        test_op(&w, 0, test_acc(1, 0, WDL_ROP_SUM, TEST_I64, 8, data, result));
        flush(&w, 0, 1);
        ck_assert_int_eq(atomics(&w, &before), 1 + 8);
        ck_assert_int_eq(test_world_messages(&w), 0);
        test_op(&w, 0, test_acc(1, 0, WDL_ROP_SUM, TEST_I64, 9, data, result));
        test_op(&w, 0, test_acc(1, 0, WDL_ROP_SUM, TEST_F64, 1, data, NULL));
        unlock(&w, 0, 1);
        ck_assert_int_eq(test_world_messages(&w), 2);
        ck_assert_int_eq(atomics(&w, &before), 1);
        test_world_close(&w);
    }
}
END_TEST

/* The first operation brings the type's description along; those after it name it. */
START_TEST(a_type_is_described_once)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        char data[64] = "";
        int sent[3], bytes[3];
        open_world(&w, 2, unordered, WDL_COMBINE_AUTO);
        struct wdl_host *host = &w.rank[0].host.host;
        wdl_type type = test_type_vector(&w.rank[0].host, TEST_U8, 32, 2, 3);
        int description = (int) host->ops->flat_bytes(host->ctx, type);
        int packet = (int) (sizeof(struct wdl_am_hdr) + sizeof(struct wdl_pkt));
        lock(&w, 0, 1, 1);
        test_op(&w, 0, test_put(1, 0, data, 1));
        flush(&w, 0, 1);
        test_world_messages(&w);
        test_world_bytes(&w);
        for (int i = 0; i < 3; i++) {
            struct wdl_rma_args put = test_put(1, 0, data, sizeof(data));
            put.remote = test_typed(&w.rank[0].host, NULL, 1, type);
            test_op(&w, 0, put);
            flush(&w, 0, 1);
            sent[i] = test_world_messages(&w);
            bytes[i] = test_world_bytes(&w);
        }
        /* the flush travels with what waits for company, as a described type may; the description
         * is acknowledged on an unordered network */
        ck_assert_int_eq(sent[0], 3 + unordered);
        ck_assert_int_eq(sent[1], 2);
        ck_assert_int_eq(sent[2], 2);
        ck_assert_int_eq(bytes[0] - bytes[1], packet + description + unordered * packet);
        ck_assert_int_eq(bytes[2], bytes[1]);
        for (int i = 0; i < 3; i++) {
            struct wdl_rma_args put = test_put(1, 0, data, sizeof(data));
            put.remote = test_typed(&w.rank[0].host, NULL, 1, type);
            test_op(&w, 0, put);
        }
        flush(&w, 0, 1);
        ck_assert_int_eq(test_world_messages(&w), 2);
        unlock(&w, 0, 1);
        test_type_end(&w.rank[0].host, type);
        test_world_close(&w);
    }
}
END_TEST

/* The first lock that an operation on a type needs is asked for behind the type's description. On
 * an unordered network the operation is not short until that is acknowledged, and the lock is asked
 * for meanwhile; the unlock is part of it either way. */
START_TEST(the_first_operation_on_a_type_ends_with_unlock)
{
    for (int i = 0; i < 2 * 3; i++) {
        struct test_world w;
        static char data[64];
        memset(data, 't', sizeof(data));
        open_world(&w, 2, i % 2, (enum wdl_combine) (i / 2));
        wdl_type type = test_type_vector(&w.rank[0].host, TEST_U8, 32, 2, 3);
        for (int e = 0; e < 3; e++) {
            struct wdl_rma_args put = test_put(1, 0, data, sizeof(data));
            put.remote = test_typed(&w.rank[0].host, NULL, 1, type);
            lock(&w, 0, 1, 1);
            test_op(&w, 0, put);
            unlock(&w, 0, 1);
            ck_assert_int_eq(test_world_messages(&w), e > 0 ? 2 : i % 2 ? 6 : 3);
            ck_assert_mem_eq(w.rank[1].memory + 3 * 31, data, 2);
        }
        test_type_end(&w.rank[0].host, type);
        test_world_close(&w);
    }
}
END_TEST

WDL_SUITE("cost/rma", a_short_epoch_costs_two_messages,
          an_unused_lock_costs_nothing_and_nocheck_two_messages, short_operations_share_messages,
          a_flush_travels_with_the_last_operation, long_operations_are_followed_by_nothing,
          a_flush_without_rma_done_is_a_local_one, long_operations_in_shorter_pieces,
          a_bundle_waits_for_its_lock_at_the_target,
          lock_all_costs_two_messages_for_each_target_used, lock_all_under_the_window_protocol,
          locks_by_words_cost_no_message, creation_asks_a_neighbour_once,
          locks_by_words_at_the_network, a_fence_costs_its_barrier,
          a_fence_travels_with_the_last_operation, a_fence_of_several_nodes_costs_their_barrier,
          the_direct_path_costs_no_message, attached_memory_is_reached_without_messages,
          atomics_cost_no_message, a_type_is_described_once,
          the_first_operation_on_a_type_ends_with_unlock)
