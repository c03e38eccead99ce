/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/sole: who alone
 * may update, and what that spares. (What must not be taken for it: test_threads, and rma_sole of
 * test/mpi.) */
#include <string.h>
#include "host/testworld.h"
#include "mpid/rma/accumulate.h"
#include "support/suite.h"

enum { RANKS = 4, REGIONS = WDL_WIN_REGIONS, BYTES = REGIONS * WDL_REGION_BYTES,
    LONG = 20000                /* doubles, of three regions */
};

/* Rank 0's and 1's memory is mapped in all of them; locks are words, or messages. */
static const struct test_world_params kinds[] = {
    {.node = RANKS }, {.node = RANKS,.no_place = 1 }, {.node = 2 }, {.node = 2,.unordered = 1 }
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void open_kind(struct test_world *w, int kind, int nonoverlapping)
{
    struct test_world_params p = kinds[kind];
    p.ranks = RANKS;
    p.bytes = BYTES;
    p.nonoverlapping = nonoverlapping;
    p.combine = WDL_COMBINE_ALWAYS;
    test_world_open(w, &p);
}

/* Is rank 0 alone at a rank, and does the short way know it? */
static void check_alone(const struct test_world *w, int rank, int alone)
{
    struct wdl_win *win = w->rank[0].win;
    ck_assert_int_eq(wdl_win_is_sole(win, rank), alone);
    if (wdl_quick_admits(&win->quick, rank))
        ck_assert_int_eq(win->quick.sole != 0, alone);
}

static void check_nobody(const struct test_world *w)
{
    for (int rank = 0; rank < RANKS; rank++)
        check_alone(w, rank, 0);
}

#define LOCK(w, t, exclusive, assertion, step)                                                 \
    TEST_DONE(w, wdl_win_lock((w)->rank[0].win, t, exclusive, assertion, step))
#define UNLOCK(w, t, step) TEST_DONE(w, wdl_win_unlock((w)->rank[0].win, t, step))

START_TEST(the_holder_of_an_exclusive_lock)
{
    struct test_world w;
    for (int kind = 0; kind < KINDS; kind++) {
        int step = 0;
        open_kind(&w, kind, 0);
        check_nobody(&w);
        for (int i = 0; i < 8; i++) {
            int t = i % 2, exclusive = i / 2 % 2;
            LOCK(&w, t, exclusive, i / 4 ? WDL_MODE_NOCHECK : 0, &step);
            check_alone(&w, t, exclusive);
            check_alone(&w, !t, 0);
            UNLOCK(&w, t, &step);
            check_nobody(&w);
        }
        for (int i = 0; i < 2; i++) {   /* of two, each its own way */
            LOCK(&w, 0, i, 0, &step);
            LOCK(&w, 1, !i, 0, &step);
            check_alone(&w, 0, i);
            check_alone(&w, 1, !i);
            UNLOCK(&w, 0, &step);
            check_alone(&w, 0, 0);
            check_alone(&w, 1, !i);
            UNLOCK(&w, 1, &step);
        }
        test_world_close(&w);
    }
}
END_TEST

START_TEST(nobody_where_others_may_be)
{
    struct test_world w;
    for (int kind = 0; kind < KINDS; kind++) {
        struct test_rank *o = &w.rank[0];
        open_kind(&w, kind, 0);
        for (int nocheck = 0; nocheck < 2; nocheck++) {
            TEST_DONE(&w, wdl_win_lock_all(o->win, nocheck ? WDL_MODE_NOCHECK : 0, &o->step));
            check_nobody(&w);
            TEST_DONE(&w, wdl_win_unlock_all(o->win, &o->step));
        }
        TEST_ALL(&w, wdl_win_fence(r->win, 0, &r->step));
        check_nobody(&w);
        TEST_ALL(&w, wdl_win_fence(r->win, WDL_MODE_NOSUCCEED, &r->step));
        test_world_close(&w);
    }
}
END_TEST

/* An element that has left while the lock stayed does not know which kind it is. */
START_TEST(nobody_where_the_lock_is_not_known)
{
    struct test_world w;
    int step = 0;
    open_kind(&w, 2, 0);
    LOCK(&w, 1, 1, 0, &step);
    struct wdl_lock *lock = &wdl_target_find(w.rank[0].win, 1)->lock;
    check_alone(&w, 1, 1);
    ck_assert_int_eq(wdl_lock_step(lock, WDL_LOCK_ON_EVICT), WDL_OK);
    ck_assert_int_eq(wdl_lock_step(lock, WDL_LOCK_ON_ASSUME), WDL_OK);
    check_alone(&w, 1, 0);
    UNLOCK(&w, 1, &step);
    test_world_close(&w);
}
END_TEST

static void post(struct test_world *w, int t, const int *group, int n)
{
    struct test_rank *r = &w->rank[t];
    TEST_DONE(w, wdl_win_post(r->win, group, n, 0, &r->step));
}

/* Rank 0 completes, and these wait. */
static void complete(struct test_world *w, int targets)
{
    TEST_DONE(w, wdl_win_complete(w->rank[0].win, &w->rank[0].step));
    for (int t = 1; t <= targets; t++)
        TEST_DONE(w, wdl_win_wait(w->rank[t].win, &w->rank[t].step));
}

/* The target has posted to this rank alone, and has said so: in a word, or in a packet, before the
 * start or after it. */
START_TEST(the_only_one_of_a_post)
{
    struct test_world w;
    const int both[] = {0, 3}, targets[] = {1, 2};
    for (int kind = 0; kind < KINDS; kind++)
        for (int way = 0; way < 8; way++) {
            int by_packet = way & 1, early = way & 2, alone = way & 4, n = alone ? 1 : 2;
            open_kind(&w, kind, 0);
            struct test_rank *o = &w.rank[0];
            for (int i = 0; by_packet && i < WDL_WIN_POSTS; i++)
                w.control[0].posted[i] = 4;     /* rank 3's, as it were */
            if (early)
                post(&w, 1, both, n);
            test_world_settle(&w);
            TEST_DONE(&w, wdl_win_start(o->win, targets, 1, 0, &o->step));
            if (!early) {
                check_nobody(&w);
                post(&w, 1, both, n);
                test_world_settle(&w);
            }
            test_op(&w, 0, test_put(1, 0, "posted", 6));
            check_alone(&w, 1, alone != 0);
            check_alone(&w, 2, 0);
            for (int i = 0; by_packet && i < WDL_WIN_POSTS; i++)
                w.control[0].posted[i] = 0;
            if (!alone) {       /* the other one */
                struct test_rank *other = &w.rank[3];
                TEST_DONE(&w, wdl_win_start(other->win, targets, 1, 0, &other->step));
                TEST_DONE(&w, wdl_win_complete(other->win, &other->step));
            }
            complete(&w, 1);
            check_nobody(&w);
            test_world_close(&w);
        }
}
END_TEST

/* The short way is one for all of the group: where one of it is another's, too, it is not taken for
 * alone anywhere. NOCHECK has heard of no post. */
START_TEST(each_target_of_a_start)
{
    struct test_world w;
    const int both[] = {0, 3}, targets[] = {1, 2};
    for (int shared = 0; shared < 2; shared++) {
        open_kind(&w, 0, 0);
        struct test_rank *o = &w.rank[0], *other = &w.rank[3];
        post(&w, 1, both, 1);
        post(&w, 2, both, 1 + shared);
        TEST_DONE(&w, wdl_win_start(o->win, targets, 2, 0, &o->step));
        test_op(&w, 0, test_put(1, 0, "posted", 6));
        ck_assert_int_eq(wdl_win_is_sole(o->win, 1), 1);
        ck_assert_int_eq(wdl_win_is_sole(o->win, 2), !shared);
        ck_assert_uint_eq(o->win->quick.count, 2);
        ck_assert_int_eq(o->win->quick.sole, !shared);
        if (shared) {
            TEST_DONE(&w, wdl_win_start(other->win, targets + 1, 1, 0, &other->step));
            TEST_DONE(&w, wdl_win_complete(other->win, &other->step));
        }
        complete(&w, 2);
        test_world_close(&w);
    }
    open_kind(&w, 0, 0);
    struct test_rank *o = &w.rank[0], *t = &w.rank[1];
    TEST_DONE(&w, wdl_win_post(t->win, both, 1, WDL_MODE_NOCHECK, &t->step));
    TEST_DONE(&w, wdl_win_start(o->win, targets, 1, WDL_MODE_NOCHECK, &o->step));
    ck_assert_uint_eq(o->win->quick.count, 1);
    check_alone(&w, 1, 0);
    complete(&w, 1);
    test_world_close(&w);
}
END_TEST

static void *no_reach(void *ctx, int rank, const struct wdl_region *region)
{
    (void) ctx;
    (void) rank;
    (void) region;
    return NULL;
}

/* Memory that may have been out of reach a moment ago: not while something is on its way. */
START_TEST(not_beside_operations_of_ones_own)
{
    struct test_world w;
    int step = 0;
    open_kind(&w, 2, 0);
    struct wdl_win *win = w.rank[0].win;
    win->params.reach = no_reach;
    LOCK(&w, 1, 1, 0, &step);
    struct wdl_target *t = wdl_target_find(win, 1);
    check_alone(&w, 1, 1);
    t->dirty = 1;
    check_alone(&w, 1, 0);
    win->params.reach = NULL;
    check_alone(&w, 1, 1);
    t->dirty = 0;
    UNLOCK(&w, 1, &step);
    test_world_close(&w);
}
END_TEST

/* The user's word, from the beginning or later. */
START_TEST(everybody_where_nothing_overlaps)
{
    struct test_world w;
    for (int kind = 0; kind < KINDS; kind++) {
        int step = 0;
        open_kind(&w, kind, 1);
        struct wdl_win *win = w.rank[0].win;
        LOCK(&w, 1, 0, 0, &step);
        check_alone(&w, 1, 1);
        UNLOCK(&w, 1, &step);
        TEST_DONE(&w, wdl_win_lock_all(win, 0, &step));
        check_alone(&w, 1, 1);
        for (int said = 0; said < 3; said++) {
            struct wdl_win_hints hints = win->params.hints;
            hints.nonoverlapping = said & 1;
            wdl_win_hints_set(win, &hints);
            check_alone(&w, 1, said & 1);
        }
        TEST_DONE(&w, wdl_win_unlock_all(win, &step));
        TEST_ALL(&w, wdl_win_fence(r->win, 0, &r->step));
        check_alone(&w, 1, 0);
        TEST_ALL(&w, wdl_win_fence(r->win, WDL_MODE_NOSUCCEED, &r->step));
        test_world_close(&w);
    }
}
END_TEST

/* --- what it spares --------------------------------------------------------------------------- */

static double many[LONG], old[LONG];
static int64_t one = 1, zero, got;
static long double wide = 1;
static char bytes[1000];
static wdl_type gaps;

/* One of each kind; at the end, one that there is not. */
static int operation(struct test_world *w, int kind, struct wdl_rma_args *args)
{
    switch (kind) {
        case 0: *args = test_acc(1, 0, WDL_ROP_SUM, TEST_F64, 1, many, NULL); return 1;
        case 1: *args = test_acc(1, 0, WDL_ROP_SUM, TEST_F64, 1, many, old); return 1;
        case 2: *args = test_acc(1, 0, WDL_ROP_BXOR, TEST_I64, 3, many, NULL); return 1;
        case 3: *args = test_acc(1, 0, WDL_ROP_SUM, TEST_F64, 9, many, NULL); return 1;
        case 4: *args = test_acc(1, 64, WDL_ROP_PROD, TEST_F64, 1000, many, old); return 1;
        case 5: *args = test_acc(1, 128, WDL_ROP_SUM, TEST_F64, LONG, many, NULL); return 1;
        case 6: *args = test_cas(1, 0, TEST_I64, &zero, &one, &got); return 1;
        case 7: *args = test_acc(1, 0, WDL_ROP_SUM, TEST_LD, 1, &wide, NULL); return 1;
        case 8: *args = test_acc(1, 4, WDL_ROP_SUM, TEST_I64, 1, &one, NULL); return 1;
        case 9: *args = test_acc(1, WDL_REGION_BYTES - 500, WDL_ROP_REPLACE, TEST_U8, 1000, bytes,
                                 NULL);
            return 1;
        case 10: *args = test_cas(1, 4, TEST_I64, &zero, &one, &got); return 1;
        case 11: *args = test_acc(1, 0, WDL_ROP_SUM, TEST_I32, 64, many, NULL);
            args->remote = test_typed(&w->rank[0].host, NULL, 8, gaps);
            return 1;
        case 12: *args = test_acc(1, 0, WDL_ROP_SUM, TEST_I32, 64, many, old);
            args->remote = test_typed(&w->rank[0].host, NULL, 8, gaps);
            return 1;
        default: return 0;
    }
}

/* Every region and stripe of rank 1's is somebody's for good, as it were; or is not. */
static void occupy(struct test_world *w, int taken)
{
    struct wdl_win_control *c = &w->control[1];
    c->bulk_mode = taken ? WDL_BULK_MODE : WDL_BULK_NEVER;
    for (int i = 0; i < WDL_WIN_REGIONS; i++)
        c->bulk[i] = (uint32_t) taken;
    c->stripes = taken ? UINT64_MAX : 0;
}

/* Who is alone asks for none of that, and who is not for all. Afterwards nobody can tell that there
 * was an update. */
START_TEST(nothing_is_announced_closed_or_locked)
{
    struct test_world w;
    for (int kind = 0; kind < KINDS; kind++)
        for (int alone = 0; alone < 2; alone++) {
            struct wdl_rma_args args;
            struct wdl_win_control before;
            int step = 0;
            open_kind(&w, kind, 0);
            gaps = test_type_vector(&w.rank[0].host, TEST_I32, 4, 2, 3);
            struct wdl_win *win = w.rank[0].win;
            LOCK(&w, 1, alone, 0, &step);
            occupy(&w, 1);
            before = w.control[1];
            for (int i = 0; operation(&w, i, &args); i++) {
                ck_assert_int_eq(wdl_rma_op(win, &args), alone ? WDL_OK : WDL_AGAIN);
                ck_assert_uint_eq(args.done, alone && i != 6 && i != 10 ? args.done : 0);
            }
            before.shorts = alone ? 0 : before.shorts;
            ck_assert_uint_eq(w.control[1].stripes, before.stripes);
            ck_assert_mem_eq(w.control[1].bulk, before.bulk, sizeof(before.bulk));
            ck_assert_uint_eq(w.control[1].shorts != 0, !alone);
            ck_assert_uint_eq(w.control[1].bulk_mode, WDL_BULK_MODE);
            ck_assert_uint_eq(w.control[0].announced, 0);
            occupy(&w, 0);
            UNLOCK(&w, 1, &step);
            test_type_end(&w.rank[0].host, gaps);
            test_world_close(&w);
        }
}
END_TEST

/* What is stored plainly comes before a flush, and before the end of a lock that nobody was asked
 * for; a read is no store. */
START_TEST(stores_come_before_the_end)
{
    struct test_world w;
    for (int kind = 0; kind < KINDS; kind++)
        for (int way = 0; way < 8; way++) {
            int flush = way & 1, reads = way & 2, all = way & 4, step = 0, stored = !reads;
            open_kind(&w, kind, all != 0);
            struct wdl_win *win = w.rank[0].win;
            if (all)
                TEST_DONE(&w, wdl_win_lock_all(win, 0, &step));
            else
                LOCK(&w, 1, 1, WDL_MODE_NOCHECK, &step);
            ck_assert(!win->quick.stored);
            test_op(&w, 0, test_acc(1, 0, reads ? WDL_ROP_NO_OP : WDL_ROP_SUM, TEST_F64, 1, many,
                                    old));
            ck_assert_int_eq(win->quick.stored, stored);
            unsigned syncs = win->quick.syncs;
            if (flush) {
                TEST_DONE(&w, wdl_win_flush(win, 1, 0, &step));
                ck_assert(!win->quick.stored && win->quick.syncs >= syncs + (unsigned) stored);
                syncs = win->quick.syncs;
                stored = 0;
            }
            if (all)
                TEST_DONE(&w, wdl_win_unlock_all(win, &step));
            else
                UNLOCK(&w, 1, &step);
            ck_assert(!win->quick.stored);
            ck_assert_uint_eq(win->quick.syncs - syncs, stored || (all && kind >= 2));
            test_world_close(&w);
        }
}
END_TEST

/* --- locks that keep nobody out --------------------------------------------------------------- */

/* All ranks have rank 1's lock exclusively, and lock_all, at a time; no word changes, and no
 * message goes but what operations need. */
START_TEST(locks_that_keep_nobody_out)
{
    struct test_world w;
    for (int kind = 0; kind < KINDS; kind++) {
        int64_t value[RANKS] = {1, 2, 3, 4}, sum;
        open_kind(&w, kind, 1);
        test_world_messages(&w);
        for (int i = 0; i < RANKS; i++) {
            struct test_rank *r = &w.rank[i];
            ck_assert_int_eq(i == 3 ? wdl_win_lock_all(r->win, 0, &r->step)
                                    : wdl_win_lock(r->win, 1, 1, 0, &r->step), WDL_OK);
            ck_assert_int_eq(r->step, 0);
        }
        ck_assert_int_eq(test_world_messages(&w), 0);
        for (int i = 0; i < RANKS; i++)
            test_op(&w, i, test_acc(1, 8 * i, WDL_ROP_SUM, TEST_I64, 1, &value[i], NULL));
        for (int i = 0; i < RANKS; i++)
            ck_assert_uint_eq(w.control[i].lock | w.control[i].gate | w.control[i].gate_mode, 0);
        TEST_ALL(&w, r->rank == 3 ? wdl_win_unlock_all(r->win, &r->step)
                                  : wdl_win_unlock(r->win, 1, &r->step));
        /* two ranks by message: the operation with its flush, and its answer */
        ck_assert_int_eq(test_world_messages(&w), kind < 2 ? 0 : 4);
        for (int i = 0; i < RANKS; i++) {
            memcpy(&sum, w.rank[1].memory + 8 * i, 8);
            ck_assert_int_eq(sum, value[i]);
        }
        test_world_close(&w);
    }
}
END_TEST

/* What keeps nobody out keeps nobody out when it is taken after all, for want of elements. */
START_TEST(a_converted_lock_keeps_nobody_out)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 4,.node = 1,.nonoverlapping = 1,
        .rma = {.global_targets = 1,.win_targets = 1}
    };
    char data[8] = "shared.";
    test_world_open(&w, &p);
    int steps[4][4] = { {0} };
    for (int o = 0; o < 2; o++)
        for (int t = 0; t < 4; t++) {
            TEST_DONE(&w, wdl_win_lock(w.rank[o].win, t, 1, 0, &steps[o][t]));
            test_op(&w, o, test_put(t, 8 * o, data, 8));
        }
    for (int o = 0; o < 2; o++)
        for (int t = 0; t < 4; t++)
            TEST_DONE(&w, wdl_win_unlock(w.rank[o].win, t, &steps[o][t]));
    for (int o = 0; o < 2; o++)
        for (int t = 0; t < 4; t++)
            ck_assert_mem_eq(w.rank[t].memory + 8 * o, data, 8);
    test_world_close(&w);
}
END_TEST

/* The hint may come while a lock is waited for: it is had as it was asked for. */
START_TEST(a_lock_under_way_stays_what_it_is)
{
    struct test_world w;
    open_kind(&w, 0, 0);
    struct test_rank *o = &w.rank[0], *other = &w.rank[2];
    TEST_DONE(&w, wdl_win_lock(other->win, 1, 1, 0, &other->step));
    ck_assert_int_eq(wdl_win_lock(o->win, 1, 1, 0, &o->step), WDL_AGAIN);
    for (int i = 0; i < RANKS; i++) {
        struct wdl_win_hints hints = w.rank[i].win->params.hints;
        hints.nonoverlapping = 1;
        wdl_win_hints_set(w.rank[i].win, &hints);
    }
    ck_assert_int_eq(wdl_win_lock(o->win, 1, 1, 0, &o->step), WDL_AGAIN);
    TEST_DONE(&w, wdl_win_unlock(other->win, 1, &other->step));
    TEST_DONE(&w, wdl_win_lock(o->win, 1, 1, 0, &o->step));
    ck_assert_uint_ne(w.control[1].lock & 0xffffffff, 0);
    TEST_DONE(&w, wdl_win_unlock(o->win, 1, &o->step));
    ck_assert_uint_eq(w.control[1].lock, wdl_room_quiet(w.control[1].lock));
    test_world_close(&w);
}
END_TEST

WDL_SUITE("rma/sole", the_holder_of_an_exclusive_lock, nobody_where_others_may_be,
          nobody_where_the_lock_is_not_known, the_only_one_of_a_post, each_target_of_a_start,
          not_beside_operations_of_ones_own, everybody_where_nothing_overlaps,
          nothing_is_announced_closed_or_locked, stores_come_before_the_end,
          locks_that_keep_nobody_out, a_converted_lock_keeps_nobody_out,
          a_lock_under_way_stays_what_it_is)
