/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/issue: what goes out
 * when, and when it is done. */
#include <string.h>
#include "host/testworld.h"
#include "support/suite.h"

static struct wdl_target *locked(struct test_world *w, int rank)
{
    struct test_rank *o = &w->rank[0];
    TEST_DONE(w, wdl_win_lock(o->win, rank, 0, WDL_MODE_NOCHECK, &o->step));
    return wdl_target_find(o->win, rank);
}

static void unlock(struct test_world *w, int rank)
{
    struct test_rank *o = &w->rank[0];
    TEST_DONE(w, wdl_win_unlock(o->win, rank, &o->step));
}

/* MPI's order of accumulates: on an unordered network one at a time, unless the user waived it. */
START_TEST(accumulates_to_one_target_keep_their_order)
{
    for (int unordered = 0; unordered < 2; unordered++)
        for (int waived = 0; waived < 2; waived++) {
            struct test_world w;
            struct test_world_params p = {.ranks = 2,.unordered = unordered,
                .acc_unordered = waived,.delay_ns_max = 5000,.seed = 8,
                .combine = WDL_COMBINE_NEVER
            };
            int64_t value[10];
            int most = 0;
            test_world_open(&w, &p);
            struct wdl_target *t = locked(&w, 1);
            for (int i = 0; i < 10; i++) {
                value[i] = i + 1;
                test_op(&w, 0, test_acc(1, 0, WDL_ROP_REPLACE, TEST_I64, 1, &value[i], NULL));
                most = t->acc_in_flight > most ? t->acc_in_flight : most;
            }
            unlock(&w, 1);
            if (!unordered)
                ck_assert_int_eq(most, 0);      /* not counted: the network keeps the order */
            else if (waived)
                ck_assert_int_gt(most, 3);
            else
                ck_assert_int_eq(most, 1);
            if (!unordered || !waived)
                ck_assert_int_eq(*(int64_t *) (void *) w.rank[1].memory, 10);
            test_world_close(&w);
        }
}
END_TEST

/* Puts are not held back, neither for one another nor for an accumulate. */
START_TEST(puts_are_not_ordered)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 2,.unordered = 1,.delay_ns_max = 100000,
        .combine = WDL_COMBINE_NEVER
    };
    char data[8] = "";
    test_world_open(&w, &p);
    struct wdl_target *t = locked(&w, 1);
    test_op(&w, 0, test_acc(1, 0, WDL_ROP_SUM, TEST_I64, 1, data, NULL));
    for (int i = 1; i < 10; i++)
        test_op(&w, 0, test_put(1, 8 * i, data, 8));
    ck_assert(wdl_list_empty(&t->waiting));
    ck_assert_uint_eq(wdl_sim_counts(w.sim)->sent, 10);
    unlock(&w, 1);
    test_world_close(&w);
}
END_TEST

/* Nothing to do costs nothing: a silent window is in no list, and progress finds no event. */
START_TEST(a_window_without_work_is_not_visited)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 2 };
    char data[8] = "";
    test_world_open(&w, &p);
    struct test_rank *o = &w.rank[0];
    struct wdl_target *t = locked(&w, 1);
    test_op(&w, 0, test_put(1, 0, data, 8));
    test_world_settle(&w);
    ck_assert(wdl_list_empty(&o->rma->active));
    ck_assert_int_eq(wdl_rma_progress(o->rma), 0);
    ck_assert(t->dirty && !wdl_target_clean(t));
    ck_assert_int_eq(wdl_target_drain(t, 1), WDL_OK);   /* locally all is done */
    ck_assert_int_eq(wdl_target_drain(t, 0), WDL_AGAIN);        /* there it is being asked for */
    ck_assert(!wdl_list_empty(&o->rma->active));
    test_world_settle(&w);
    ck_assert_int_eq(wdl_target_drain(t, 0), WDL_OK);
    ck_assert(wdl_target_clean(t));
    test_world_settle(&w);
    ck_assert(wdl_list_empty(&o->rma->active));
    unlock(&w, 1);
    test_world_close(&w);
}
END_TEST

/* A drain of many targets is a flush to each, begun together. */
START_TEST(a_drain_asks_all_targets_at_once)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 8,.combine = WDL_COMBINE_NEVER };
    char data[8] = "";
    test_world_open(&w, &p);
    struct wdl_win *win = w.rank[0].win;
    for (int t = 1; t < 8; t++) {
        locked(&w, t);
        test_op(&w, 0, test_put(t, 0, data, 8));
    }
    uint64_t sent = wdl_sim_counts(w.sim)->sent;
    ck_assert_uint_eq(sent, 7);
    ck_assert_int_eq(wdl_win_drain(win, 0), WDL_AGAIN);
    ck_assert_uint_eq(wdl_sim_counts(w.sim)->sent, sent + 7);
    ck_assert_int_eq(wdl_win_drain(win, 0), WDL_AGAIN);
    ck_assert_uint_eq(wdl_sim_counts(w.sim)->sent, sent + 7);   /* once */
    TEST_DONE(&w, wdl_win_drain(win, 0));
    for (int t = 1; t < 8; t++)
        unlock(&w, t);
    test_world_close(&w);
}
END_TEST

/* --- in turn ---------------------------------------------------------------------------------- */

enum { TARGETS = 3, EACH = 32, LENGTH = 96 };

/* Bytes of operations on the rank that have not been sent. */
static size_t unsent(const struct wdl_win *win, int rank)
{
    const struct wdl_target *t = wdl_target_find(win, rank);
    const struct wdl_list *node;
    size_t bytes = 0;
    if (!t)
        return 0;
    wdl_list_for(node, &t->waiting) {
        const struct wdl_op *op = wdl_container_of(node, struct wdl_op, node.link);
        bytes += op->total - op->next;
    }
    return bytes;
}

/* All have as much to send: nobody is ahead by more than a message. Returns what is left. */
static size_t insist_on_turns(struct test_world *w, size_t message)
{
    size_t least = SIZE_MAX, most = 0;
    for (int t = 1; t <= TARGETS; t++) {
        size_t bytes = unsent(w->rank[0].win, t);
        least = bytes < least ? bytes : least;
        most = bytes > most ? bytes : most;
    }
    ck_assert_uint_le(most - least, message);
    return most;
}

/* Every buffer is away until its message is there. */
static void open_short_of_buffers(struct test_world *w, int buffers, enum wdl_combine combine)
{
    struct test_world_params p = {.ranks = 1 + TARGETS,.bounce_count = buffers,
        .pending_permille = 1000,.delay_ns_max = 3000,.combine = combine,.bytes = EACH * LENGTH,
        .rma = {.win_ops = TARGETS * EACH }
    };
    test_world_open(w, &p);
}

static size_t bundle_bytes(const struct test_world *w)
{
    size_t bytes = w->rank[0].rma->chunk_bytes / (LENGTH + sizeof(struct wdl_pkt)) * LENGTH;
    ck_assert_uint_lt(6 * bytes, EACH * LENGTH);
    return bytes;
}

/* What has gaps at the origin needs a buffer: short ones, in bundles, and a long one, in chunks. */
START_TEST(issuing_goes_round)
{
    static char data[2 * EACH * LENGTH];
    memset(data, 1, sizeof(data));
    for (int buffers = 1; buffers <= TARGETS + 1; buffers++)
        for (int is_long = 0; is_long < 2; is_long++) {
            struct test_world w;
            int n = is_long ? 1 : EACH, length = EACH * LENGTH / n;
            open_short_of_buffers(&w, buffers, WDL_COMBINE_NEVER);
            struct test_rank *o = &w.rank[0];
            wdl_type type = test_type_vector(&o->host, TEST_U8, length, 1, 2);
            TEST_ALL(&w, wdl_win_fence(r->win, WDL_MODE_NOPRECEDE, &r->step));
            TEST_DONE(&w, wdl_win_fence(o->win, WDL_MODE_NOPRECEDE, &o->step)); /* it holds up */
            for (int i = 0; i < n; i++)
                for (int t = TARGETS; t > 0; t--) {
                    struct wdl_rma_args put = test_put(t, i * length, NULL, (size_t) length);
                    put.origin = test_typed(&o->host, data, 1, type);
                    test_op(&w, 0, put);
                }
            size_t message = is_long ? o->rma->chunk_bytes : bundle_bytes(&w);
            size_t left = insist_on_turns(&w, 0);
            ck_assert_uint_eq(left, EACH * LENGTH);
            for (int rank = 1; rank <= TARGETS; rank++)
                TEST_DONE(&w, wdl_win_fence(w.rank[rank].win, WDL_MODE_NOPRECEDE,
                                            &w.rank[rank].step));
            for (int turns = 0; left > 0; turns++) {
                ck_assert_int_lt(turns, TEST_TURNS_MAX);
                test_world_turn(&w);
                left = insist_on_turns(&w, message);
            }
            TEST_ALL(&w, wdl_win_fence(r->win, 0, &r->step));
            for (int t = 1; t <= TARGETS; t++)
                ck_assert_mem_eq(w.rank[t].memory, data, EACH * LENGTH);
            test_type_end(&o->host, type);
            test_world_close(&w);
        }
}
END_TEST

/* A turn in which rank 0 gets its buffers back, and issues nothing. */
static void turn_without_issuing(struct test_world *w)
{
    struct wdl_nm *nm = w->rank[0].proc->nm;
    nm->ops->poll(nm);
    for (int i = 1; i < w->n; i++)
        wdl_proc_progress(w->rank[i].proc);
    wdl_sim_advance(w->sim, 1000);
}

/* Bundles need buffers, too. The call that closes all targets takes turns itself. */
START_TEST(closing_goes_round)
{
    enum { FLUSH, UNLOCK_ALL, CLOSES };
    static char data[LENGTH];
    for (int closes = 0; closes < CLOSES; closes++)
        for (int buffers = 1; buffers <= TARGETS + 1; buffers++) {
            struct test_world w;
            open_short_of_buffers(&w, buffers, WDL_COMBINE_ALWAYS);
            struct test_rank *o = &w.rank[0];
            TEST_DONE(&w, wdl_win_lock_all(o->win, 0, &o->step));
            for (int t = 1; t <= TARGETS; t++) {        /* the locks are there */
                test_op(&w, 0, test_put(t, 0, data, LENGTH));
                TEST_DONE(&w, wdl_win_flush(o->win, t, 0, &o->step));
            }
            test_world_settle(&w);
            size_t bundle = bundle_bytes(&w), left = 0;
            for (int i = 0; i < TARGETS * EACH; i++)
                test_op(&w, 0, test_put(1 + i % TARGETS, i / TARGETS * LENGTH, data, LENGTH));
            int status = WDL_AGAIN;
            for (int turns = 0; status == WDL_AGAIN; turns++) {
                ck_assert_int_lt(turns, TEST_TURNS_MAX);
                status = closes == FLUSH ? wdl_win_flush(o->win, -1, 0, &o->step) :
                    wdl_win_unlock_all(o->win, &o->step);
                left = insist_on_turns(&w, bundle);
                turn_without_issuing(&w);
            }
            ck_assert_int_eq(status, WDL_OK);
            ck_assert_uint_eq(left, 0);
            if (closes == FLUSH)
                TEST_DONE(&w, wdl_win_unlock_all(o->win, &o->step));
            test_world_close(&w);
        }
}
END_TEST

START_TEST(the_first_failure_is_kept_until_it_is_taken)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 1 };
    test_world_open(&w, &p);
    struct wdl_win *win = w.rank[0].win;
    ck_assert_int_eq(wdl_win_take_error(win), WDL_OK);
    wdl_win_fail(win, WDL_ERR_RANGE);
    wdl_win_fail(win, WDL_ERR_OP);
    ck_assert_int_eq(wdl_win_take_error(win), WDL_ERR_RANGE);
    ck_assert_int_eq(wdl_win_take_error(win), WDL_OK);
    test_world_close(&w);
}
END_TEST

/* Several windows, one module: each makes progress. */
START_TEST(all_windows_make_progress)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 2 };
    struct wdl_win *win[2][4];
    int step[2] = { 0, 0 };
    test_world_open(&w, &p);
    for (int i = 0; i < 2; i++)
        for (uint32_t k = 0; k < 4; k++) {
            struct wdl_win_params params = test_win_params(&w.rank[i]);
            params.id = 100 + k;
            ck_assert_int_eq(wdl_win_create(w.rank[i].proc, &params, &win[i][k]), WDL_OK);
        }
    for (int k = 0; k < 4; k++)         /* left running: only progress can end them */
        for (int i = 0; i < 2; i++)
            TEST_DONE(&w, wdl_win_fence(win[i][k], WDL_MODE_NOPRECEDE, &step[i]));
    test_world_settle(&w);
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 2; i++) {
            ck_assert(!win[i][k]->barrier.running);
            ck_assert_int_eq(wdl_win_free(win[i][k]), WDL_OK);
        }
    test_world_close(&w);
}
END_TEST

/* ... in turn, where buffers are few. */
START_TEST(windows_go_round)
{
    enum { WINDOWS = 3 };
    struct test_world w;
    static char data[2 * EACH * LENGTH];
    struct wdl_win *win[2][WINDOWS];
    size_t left = EACH * LENGTH;
    int step = 0;
    memset(data, 1, sizeof(data));
    open_short_of_buffers(&w, 1, WDL_COMBINE_NEVER);
    struct test_host *host = &w.rank[0].host;
    wdl_type type = test_type_vector(host, TEST_U8, EACH * LENGTH, 1, 2);
    for (int i = 0; i < 2; i++)
        for (uint32_t k = 0; k < WINDOWS; k++) {
            struct wdl_win_params params = test_win_params(&w.rank[i]);
            params.id = 100 + k;
            ck_assert_int_eq(wdl_win_create(w.rank[i].proc, &params, &win[i][k]), WDL_OK);
        }
    struct wdl_bounce *bounce = wdl_bounce_get(w.rank[0].proc);
    for (int k = 0; k < WINDOWS; k++) {
        struct wdl_rma_args put = test_put(1, 0, NULL, EACH * LENGTH);
        put.origin = test_typed(host, data, 1, type);
        TEST_DONE(&w, wdl_win_lock(win[0][k], 1, 0, WDL_MODE_NOCHECK, &step));
        ck_assert_int_eq(wdl_rma_op(win[0][k], &put), WDL_OK);
    }
    wdl_bounce_put(bounce);
    for (int turns = 0; left > 0; turns++) {
        size_t least = left;
        left = 0;
        for (int k = 0; k < WINDOWS; k++) {
            size_t bytes = unsent(win[0][k], 1);
            least = bytes < least ? bytes : least;
            left = bytes > left ? bytes : left;
        }
        ck_assert_uint_le(left - least, w.rank[0].rma->chunk_bytes);
        ck_assert_int_lt(turns, TEST_TURNS_MAX);
        test_world_turn(&w);
    }
    for (int k = 0; k < WINDOWS; k++)
        TEST_DONE(&w, wdl_win_unlock(win[0][k], 1, &step));
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < WINDOWS; k++)
            ck_assert_int_eq(wdl_win_free(win[i][k]), WDL_OK);
    test_type_end(host, type);
    test_world_close(&w);
}
END_TEST

WDL_SUITE("rma/issue", accumulates_to_one_target_keep_their_order, puts_are_not_ordered,
          a_window_without_work_is_not_visited, a_drain_asks_all_targets_at_once,
          issuing_goes_round, closing_goes_round, the_first_failure_is_kept_until_it_is_taken,
          all_windows_make_progress, windows_go_round)
