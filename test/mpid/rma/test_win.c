/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/win: the module and its
 * windows, from creation to freeing, and what the checker notices. */
#include <string.h>
#include "host/testworld.h"
#include "support/suite.h"

static void open_world(struct test_world *w, int ranks, int node)
{
    struct test_world_params p = {.ranks = ranks, .node = node};
    test_world_open(w, &p);
}

static struct wdl_win *another(struct test_world *w, int rank, uint32_t id)
{
    struct wdl_win_params params = test_win_params(&w->rank[rank]);
    struct wdl_win *win;
    params.id = id;
    ck_assert_int_eq(wdl_win_create(w->rank[rank].proc, &params, &win), WDL_OK);
    return win;
}

/* --- the module ------------------------------------------------------------------------------- */

/* A process without the module. */
struct bare {
    struct wdl_sim *sim;
    struct test_host host;
    struct wdl_proc *proc;
};

static void bare_open(struct bare *b)
{
    struct wdl_sim_params sim = {.ranks = 1, .ordered = 1};
    char err[128];
    test_host_init(&b->host);
    b->sim = wdl_sim_create(&sim);
    struct wdl_proc_params p = {.host = b->host.host, .netmod = &wdl_nm_sim_ops, .fabric = b->sim,
                                .peers = 1};
    ck_assert_int_eq(wdl_proc_create(&p, &b->proc, err, sizeof(err)), WDL_OK);
}

static void bare_close(struct bare *b)
{
    wdl_proc_destroy(b->proc);
    wdl_sim_destroy(b->sim);
    ck_assert_int_eq(b->host.live, 0);
}

START_TEST(sizes_are_the_users_or_the_defaults)
{
    static const struct wdl_rma_params rows[][2] = {
        {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {4096, 1024, 256, 64, 64, 64 << 20, 4096, 32, 32, 32}},
        {{-1, -2, -3, -4, -5, -6, -7, -8, -9, -10},
         {4096, 1024, 256, 64, 64, 64 << 20, 4096, 32, 32, 32}},
        {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}
    };
    for (int i = 0; i < 3; i++) {
        struct bare b;
        bare_open(&b);
        ck_assert_int_eq(wdl_rma_init(b.proc, &rows[i][0]), WDL_OK);
        const struct wdl_rma *rma = b.proc->rma;
        const struct wdl_rma_params *got = &rma->params, *want = &rows[i][1];
        ck_assert_int_eq(got->global_ops, want->global_ops);
        ck_assert_int_eq(got->global_targets, want->global_targets);
        ck_assert_int_eq(got->win_ops, want->win_ops);
        ck_assert_int_eq(got->win_targets, want->win_targets);
        ck_assert_int_eq(got->win_slots, want->win_slots);
        ck_assert_int_eq(got->type_bytes_max, want->type_bytes_max);
        ck_assert_int_eq(got->short_bytes, want->short_bytes);
        ck_assert_int_eq(rma->stashes.count, want->stashes);
        ck_assert_int_eq(got->win_types, want->win_types);
        ck_assert_int_eq(got->pscw_tree, want->pscw_tree);
        ck_assert_int_eq(rma->ops.count, want->global_ops);
        ck_assert_int_eq(rma->targets.count, want->global_targets);
        ck_assert_uint_le(rma->chunk_bytes + sizeof(struct wdl_pkt), b.proc->am_payload_max);
        wdl_rma_fini(b.proc);
        ck_assert_ptr_null(b.proc->rma);
        bare_close(&b);
    }
}
END_TEST

/* Whichever allocation fails: an error, and nothing stays behind. */
START_TEST(memory_that_runs_out_is_an_error)
{
    struct wdl_rma_params rma = {.global_ops = 2};
    struct bare b;
    int status = WDL_ERR_NOMEM, failures = 0;
    bare_open(&b);
    for (int live = b.host.live; status != WDL_OK; failures += status != WDL_OK) {
        b.host.fail_after = failures + 1;
        status = wdl_rma_init(b.proc, &rma);
        b.host.fail_after = 0;
        ck_assert(status == WDL_OK || status == WDL_ERR_NOMEM);
        ck_assert(status == WDL_OK || (b.host.live == live && !b.proc->rma));
    }
    ck_assert_int_eq(failures, 6); /* the module, two scratch areas, three pools */
    wdl_rma_fini(b.proc);
    bare_close(&b);

    struct test_world w;
    struct wdl_win *win = NULL;
    open_world(&w, 2, 1);
    struct wdl_win_params params = test_win_params(&w.rank[0]);
    params.id = 8;
    int live = w.rank[0].host.live;
    for (status = WDL_ERR_NOMEM, failures = 0; status != WDL_OK; failures += status != WDL_OK) {
        w.rank[0].host.fail_after = failures + 1;
        status = wdl_win_create(w.rank[0].proc, &params, &win);
        w.rank[0].host.fail_after = 0;
        ck_assert(status == WDL_OK || status == WDL_ERR_NOMEM);
        ck_assert_int_eq(win != NULL, status == WDL_OK);
        ck_assert(status == WDL_OK || w.rank[0].host.live == live);
        ck_assert_ptr_eq(wdl_win_find(w.rank[0].proc, 8), win);
    }
    ck_assert_int_eq(failures, 4); /* the window, its slots, two pools */
    ck_assert_int_eq(wdl_win_free(win), WDL_OK);
    test_world_close(&w);
}
END_TEST

static void end_module(void *arg)
{
    wdl_rma_fini(((struct test_world *) arg)->rank[0].proc);
}

START_TEST(the_module_outlives_its_windows)
{
    struct test_world w;
    open_world(&w, 1, 1);
    ck_assert(wdl_suite_aborts(end_module, &w));
    ck_assert_int_eq(wdl_win_free(w.rank[0].win), WDL_OK);
    w.rank[0].win = NULL;
    ck_assert(!wdl_suite_aborts(end_module, &w));
    test_world_close(&w);
}
END_TEST

/* --- windows ---------------------------------------------------------------------------------- */

START_TEST(windows_are_found_by_their_number)
{
    struct test_world w;
    struct wdl_win *win[4];
    open_world(&w, 2, 1);
    struct wdl_proc *proc = w.rank[0].proc;
    for (uint32_t i = 0; i < 4; i++)
        win[i] = another(&w, 0, 100 + i);
    ck_assert_ptr_eq(wdl_win_find(proc, 7), w.rank[0].win);
    for (uint32_t i = 0; i < 4; i++) {
        ck_assert_ptr_eq(wdl_win_find(proc, 100 + i), win[i]);
        ck_assert_ptr_null(wdl_win_find(w.rank[1].proc, 100 + i));
    }
    ck_assert_ptr_null(wdl_win_find(proc, 104));
    for (uint32_t i = 4; i-- > 0;) {
        ck_assert_int_eq(wdl_win_free(win[i]), WDL_OK);
        ck_assert_ptr_null(wdl_win_find(proc, 100 + i));
    }
    test_world_close(&w);
}
END_TEST

/* One after the other as they were made, whichever of them are gone. */
START_TEST(windows_are_visited_in_order)
{
    struct test_world w;
    open_world(&w, 1, 1);
    struct wdl_proc *proc = w.rank[0].proc;
    struct wdl_win *first = w.rank[0].win, *second = another(&w, 0, 102), *third;
    third = another(&w, 0, 101);
    ck_assert_ptr_eq(wdl_win_after(proc, NULL), first);
    ck_assert_ptr_eq(wdl_win_after(proc, first), second);
    ck_assert_ptr_eq(wdl_win_after(proc, second), third);
    ck_assert_ptr_null(wdl_win_after(proc, third));
    ck_assert_int_eq(wdl_win_free(second), WDL_OK);
    ck_assert_ptr_eq(wdl_win_after(proc, first), third);
    ck_assert_int_eq(wdl_win_free(third), WDL_OK);
    ck_assert_ptr_null(wdl_win_after(proc, first));
    ck_assert_ptr_eq(wdl_win_ctx(first), test_win_params(&w.rank[0]).ctx);
    ck_assert_int_eq(wdl_win_free(first), WDL_OK);
    w.rank[0].win = NULL;
    ck_assert_ptr_null(wdl_win_after(proc, NULL));
    test_world_close(&w);
}
END_TEST

/* A small group needs no more slots and elements than it has ranks. */
START_TEST(a_window_is_no_larger_than_its_group)
{
    for (int ranks = 1; ranks <= TEST_RANKS_MAX; ranks++) {
        struct test_world w;
        struct test_world_params p = {.ranks = ranks, .rma = {.win_slots = 5, .win_targets = 3}};
        test_world_open(&w, &p);
        const struct wdl_win *win = w.rank[0].win;
        ck_assert_int_eq(win->nslots, ranks < 5 ? ranks : 5);
        ck_assert_int_eq(win->local_targets.count, ranks < 3 ? ranks : 3);
        ck_assert_int_eq(win->ops.count, 16);
        test_world_close(&w);
    }
}
END_TEST

static void no_barrier(void *ctx)
{
    (void) ctx;
}

/* Without a heavy barrier short updates have barriers of their own from the beginning
 * (domain.h). */
START_TEST(a_host_without_heavy_barrier_begins_in_bulk_mode)
{
    static struct wdl_host_ops with;
    struct test_world w;
    open_world(&w, 2, 2);
    struct wdl_proc *proc = w.rank[1].proc;
    const struct wdl_host_ops *without = proc->host.ops;
    with = *without;
    with.heavy_barrier = no_barrier;
    proc->host.ops = &with;
    w.control[0].bulk_mode = w.control[1].bulk_mode = WDL_BULK_NEVER;
    ck_assert_int_eq(wdl_win_free(another(&w, 1, 8)), WDL_OK);
    ck_assert_uint_eq(w.control[1].bulk_mode, WDL_BULK_NEVER);
    proc->host.ops = without;
    ck_assert_int_eq(wdl_win_free(another(&w, 1, 8)), WDL_OK);
    ck_assert_uint_eq(w.control[1].bulk_mode, WDL_BULK_ALWAYS);
    ck_assert_uint_eq(w.control[0].bulk_mode, WDL_BULK_NEVER); /* its own block, no other */
    test_world_close(&w);
}
END_TEST

/* --- freeing ---------------------------------------------------------------------------------- */

static void not_free(struct test_rank *r)
{
    ck_assert_int_eq(wdl_win_may_free(r->win), WDL_ERR_SYNC);
    ck_assert_int_eq(wdl_win_free(r->win), WDL_ERR_SYNC);
    ck_assert_ptr_eq(wdl_win_find(r->proc, 7), r->win);
}

START_TEST(a_window_in_an_epoch_is_not_freed)
{
    struct test_world w;
    char data[8] = "";
    int group = 1, self = 0;
    open_world(&w, 2, 1);
    struct test_rank *o = &w.rank[0], *t = &w.rank[1];
    TEST_DONE(&w, wdl_win_lock(o->win, 1, 0, 0, &o->step));
    not_free(o);
    TEST_DONE(&w, wdl_win_unlock(o->win, 1, &o->step));
    TEST_DONE(&w, wdl_win_lock_all(o->win, 0, &o->step));
    not_free(o);
    TEST_DONE(&w, wdl_win_unlock_all(o->win, &o->step));
    TEST_DONE(&w, wdl_win_post(t->win, &self, 1, 0, &t->step));
    not_free(t);
    TEST_DONE(&w, wdl_win_start(o->win, &group, 1, 0, &o->step));
    not_free(o);
    TEST_DONE(&w, wdl_win_complete(o->win, &o->step));
    TEST_DONE(&w, wdl_win_wait(t->win, &t->step));
    TEST_ALL(&w, wdl_win_fence(r->win, 0, &r->step));
    ck_assert_int_eq(wdl_win_may_free(o->win), WDL_OK); /* a fence that nothing followed */
    test_op(&w, 0, test_put(1, 0, data, 8));
    not_free(o);
    ck_assert_int_eq(wdl_win_may_free(t->win), WDL_OK);
    TEST_ALL(&w, wdl_win_fence(r->win, WDL_MODE_NOSUCCEED, &r->step));
    ck_assert_int_eq(wdl_win_may_free(o->win), WDL_OK);
    test_world_close(&w);
}
END_TEST

/* What others still wait for is sent first. */
START_TEST(a_window_with_something_to_send_is_freed_later)
{
    enum { BARRIER, ANSWER, GRANT, KINDS };
    for (int kind = 0; kind < KINDS; kind++) {
        struct test_world w;
        struct test_world_params p = {.ranks = 2, .refuse_permille = 1000};
        test_world_open(&w, &p);
        struct test_rank *o = &w.rank[0];
        struct wdl_pkt pkt = test_packet(&w, 1, kind == GRANT ? WDL_PKT_LOCK : WDL_PKT_FLUSH);
        if (kind == BARRIER)
            TEST_DONE(&w, wdl_win_fence(o->win, WDL_MODE_NOPRECEDE, &o->step));
        else
            ck_assert_int_eq(test_deliver(&w, 1, 0, &pkt, NULL, 0), WDL_OK);
        for (int i = 0; i < 5; i++) {
            ck_assert_int_eq(wdl_win_may_free(o->win), WDL_OK);
            ck_assert_int_eq(wdl_win_free(o->win), WDL_AGAIN);
            test_world_turn(&w);
        }
        wdl_sim_heal(w.sim);
        if (kind == BARRIER)
            TEST_DONE(&w, wdl_win_fence(w.rank[1].win, WDL_MODE_NOPRECEDE, &w.rank[1].step));
        else
            w.malformed = 1; /* rank 1 never asked */
        ck_assert_int_eq(test_world_messages(&w), kind == BARRIER ? 2 : 1);
        test_world_close(&w);
    }
}
END_TEST

/* Operations before a fence that the user says nothing precedes: its promise is broken, and still
 * the window outlives them. */
START_TEST(a_window_outlives_its_operations)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        struct test_world_params p = {.ranks = 2, .unordered = unordered, .delay_ns_max = 5000};
        char data[8] = "promise";
        test_world_open(&w, &p);
        struct test_rank *o = &w.rank[0];
        struct wdl_win *win = another(&w, 0, 8), *there = another(&w, 1, 8);
        int step[2] = {0, 0};
        TEST_DONE(&w, wdl_win_fence(win, WDL_MODE_NOPRECEDE, &step[0]));
        TEST_DONE(&w, wdl_win_fence(there, WDL_MODE_NOPRECEDE, &step[1]));
        struct wdl_rma_args put = test_put(1, 0, data, 8);
        TEST_DONE(&w, wdl_rma_op(win, &put));
        TEST_DONE(&w, wdl_win_fence(win, WDL_MODE_NOPRECEDE, &step[0]));
        TEST_DONE(&w, wdl_win_fence(there, WDL_MODE_NOPRECEDE, &step[1]));
        ck_assert_int_eq(win->ntargets, 1);
        ck_assert_int_eq(wdl_win_free(win), WDL_AGAIN);
        TEST_DONE(&w, wdl_win_free(win));
        ck_assert_mem_eq(w.rank[1].memory, data, 8);
        ck_assert(wdl_list_empty(&o->rma->active));
        TEST_DONE(&w, wdl_win_free(there));
        test_world_close(&w);
    }
}
END_TEST

START_TEST(a_freed_window_is_visited_no_more)
{
    struct test_world w;
    open_world(&w, 2, 1);
    struct wdl_win *win = another(&w, 0, 8);
    wdl_win_activate(win);
    ck_assert(!wdl_list_empty(&w.rank[0].rma->active));
    ck_assert_int_eq(wdl_win_free(win), WDL_OK);
    ck_assert(wdl_list_empty(&w.rank[0].rma->active));
    test_world_close(&w);
}
END_TEST

/* --- what the short way may do (quick.h) ------------------------------------------------------ */

START_TEST(the_short_way_is_open_where_the_full_path_is)
{
    struct test_world w;
    open_world(&w, 4, 4);
    struct wdl_win *win = w.rank[0].win;
    const struct wdl_win_place *place = win->quick.place;
    ck_assert_ptr_nonnull(place);
    for (int state = 0; state < WDL_ACCESS_STATE_COUNT; state++)
        for (int held = -1; held < 4; held++)
            for (int mapped = 0; mapped < 2; mapped++) {
                int fence = state == WDL_ACCESS_FENCE_GRANTED && mapped;
                int all = mapped && (fence || state == WDL_ACCESS_LOCK_ALL_GRANTED);
                int one = mapped && state == WDL_ACCESS_PER_TARGET && held >= 0;
                win->epoch.access_state = state;
                win->quick.held = held;
                win->quick.place = mapped ? place : NULL;
                wdl_quick_open(&win->quick, 99, 99, 99, 1);
                wdl_win_quick_set(win);
                ck_assert_int_eq(win->quick.fence, fence);
                for (int rank = -2; rank < 6; rank++)
                    ck_assert_int_eq(wdl_quick_admits(&win->quick, rank),
                                     rank >= 0 && rank < 4 && (all || (one && rank == held)));
            }
    win->quick.place = place;
    win->quick.held = -1;
    wdl_epoch_init(&win->epoch);
    test_world_close(&w);
}
END_TEST

/* Whatever way an operation takes, it has used the epoch. */
START_TEST(every_path_counts_as_use)
{
    for (int node = 1; node <= 2; node++) {
        struct test_world w;
        char data[8] = "";
        open_world(&w, 2, node);
        struct test_rank *o = &w.rank[0];
        TEST_ALL(&w, wdl_win_fence(r->win, 0, &r->step));
        for (uint64_t n = 1; n <= 3; n++) {
            struct wdl_win_stats stats;
            uint64_t before = wdl_win_ops(o->win);
            ck_assert(!wdl_win_used(o->win));
            test_op(&w, 0, test_put(1, 0, data, 8));
            ck_assert(wdl_win_used(o->win) && !wdl_win_used(w.rank[1].win));
            ck_assert_uint_eq(wdl_win_ops(o->win), before + 1);
            wdl_win_stats_get(o->win, &stats);
            ck_assert_uint_eq(stats.ops_mapped, node > 1 ? n : 0);
            ck_assert_uint_eq(stats.ops_message, node > 1 ? 0 : n);
            TEST_ALL(&w, wdl_win_fence(r->win, 0, &r->step));
        }
        uint64_t before = wdl_win_ops(o->win);
        o->win->stats.ops_copied += 5; /* as copy.c's are counted */
        ck_assert_uint_eq(wdl_win_ops(o->win), before + 5);
        o->win->stats.ops_copied -= 5;
        test_world_close(&w);
    }
}
END_TEST

START_TEST(a_domain_is_shared_where_the_memory_is)
{
    static const enum wdl_win_flavor flavors[] = {WDL_WIN_CREATE, WDL_WIN_ALLOCATE, WDL_WIN_SHARED,
                                                  WDL_WIN_DYNAMIC};
    struct test_world w;
    open_world(&w, 6, 3);
    struct wdl_win *win = w.rank[4].win;
    for (int i = 0; i < 8; i++) {
        struct wdl_domain d;
        win->params.flavor = flavors[i / 2];
        win->params.mapped_any = i % 2; /* memory of any flavour may be */
        wdl_win_domain(win, 3, w.rank[3].memory, &w.control[3], &d);
        ck_assert_int_eq(d.node_count, 3);
        ck_assert_int_eq(d.alone, i % 2 == 0);
        ck_assert(!d.outside);
        ck_assert(d.rank == 3 && d.base == w.rank[3].memory && d.control == &w.control[3]);
        ck_assert(d.own == &w.control[4] && d.node == &w.control[3]);
    }
    win->params.flavor = WDL_WIN_ALLOCATE;
    test_world_close(&w);
}
END_TEST

/* --- synchronization and texts ---------------------------------------------------------------- */

/* It comes after a fence's barrier that was left running, and costs a barrier of its own. */
START_TEST(a_barrier_waits_for_everyone)
{
    struct test_world w;
    open_world(&w, 4, 1);
    TEST_ALL(&w, wdl_win_fence(r->win, WDL_MODE_NOPRECEDE, &r->step));
    for (int last = 0; last < 4; last++) {
        for (int i = 0; i < 4; i++)
            ck_assert(i == last ||
                      wdl_win_barrier(w.rank[i].win, &w.rank[i].step) == WDL_AGAIN);
        test_world_settle(&w);
        for (int i = 0; i < 4; i++)
            ck_assert(i == last ||
                      wdl_win_barrier(w.rank[i].win, &w.rank[i].step) == WDL_AGAIN);
        TEST_ALL(&w, wdl_win_barrier(r->win, &r->step));
        for (int i = 0; i < 4; i++)
            ck_assert_int_eq(w.rank[i].step, 0);
        ck_assert_int_eq(test_world_messages(&w), 4 * 2 * (last == 0 ? 2 : 1));
    }
    ck_assert_int_eq(wdl_win_sync(w.rank[0].win), WDL_OK);
    test_world_close(&w);
}
END_TEST

START_TEST(epochs_have_texts)
{
    struct test_world w;
    open_world(&w, 1, 1);
    struct wdl_win *win = w.rank[0].win;
    for (int state = 0; state < WDL_ACCESS_STATE_COUNT; state++) {
        char closed[200], exposed[200], cut[9];
        win->epoch = (struct wdl_epoch){.access_state = state};
        wdl_win_epoch_text(win, closed, sizeof(closed));
        wdl_win_epoch_text(win, cut, sizeof(cut));
        int active = state >= WDL_ACCESS_FENCE_ISSUED && state <= WDL_ACCESS_PSCW_GRANTED;
        ck_assert_int_eq(wdl_win_is_active(win), active);
        win->epoch.expose_state = WDL_EXPOSE_POSTED;
        wdl_win_epoch_text(win, exposed, sizeof(exposed));
        ck_assert_str_eq(closed, wdl_epoch_access_text(state));
        ck_assert_int_eq(strncmp(cut, closed, 8), 0);
        ck_assert_uint_eq(strlen(cut), 8);
        ck_assert_int_eq(strncmp(exposed, closed, strlen(closed)), 0);
        ck_assert_ptr_nonnull(strstr(exposed, "MPI_Win_post"));
    }
    wdl_epoch_init(&win->epoch);
    test_world_close(&w);
}
END_TEST

/* --- the checker ------------------------------------------------------------------------------ */

static void check(void *win)
{
    wdl_win_check(win);
}

#define NOTICED(win, place, wrong)                                                             \
    do {                                                                                       \
        __typeof__(place) right_ = (place);                                                    \
        (place) = (wrong);                                                                     \
        ck_assert_msg(wdl_suite_aborts(check, win), "not noticed: %s", #place " = " #wrong);   \
        (place) = right_;                                                                      \
        ck_assert(!wdl_suite_aborts(check, win));                                              \
    } while (0)

START_TEST(the_checker_notices)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 3, .unordered = 1, .delay_ns_max = 1000000};
    char data[8] = "";
    test_world_open(&w, &p);
    struct test_rank *o = &w.rank[0];
    struct wdl_win *win = o->win;
    TEST_DONE(&w, wdl_win_lock(win, 1, 0, 0, &o->step));
    struct wdl_target *t = wdl_target_find(win, 1);
    test_op(&w, 0, test_put(1, 0, data, 8)); /* waits for the lock */
    struct wdl_op *op = wdl_container_of(t->waiting.next, struct wdl_op, node.link);
    NOTICED(win, t->rank, -1);
    NOTICED(win, t->rank, 3);
    NOTICED(win, t->rank, 2); /* not the one its slot says */
    NOTICED(win, t->win, NULL);
    NOTICED(win, t->flush_acked, t->flush_sent + 1);
    NOTICED(win, op->target, NULL);
    NOTICED(win, op->next, op->total + 1);
    NOTICED(win, op->done, op->next + 1);
    NOTICED(win, win->ntargets, 0);
    NOTICED(win, win->ntargets, 2);
    NOTICED(win, win->locked_targets, 0);
    NOTICED(win, win->locks_held, 0);
    NOTICED(win, win->grant.holders, -1);
    NOTICED(win, win->ops.in_use, 0);
    NOTICED(win, win->local_targets.in_use, 0);
    ck_assert_int_eq(wdl_combine_count(t), 1);
    NOTICED(win, t->together.n, 2);
    NOTICED(win, t->together.last, &t->issued);
    wdl_list_remove(&op->node.link);
    wdl_combine_left(t);
    wdl_list_push(&t->issued, &op->node.link);
    NOTICED(win, op->target, NULL);
    NOTICED(win, op->done, op->next + 1);
    wdl_list_remove(&op->node.link);
    wdl_list_push(&t->waiting, &op->node.link);
    TEST_DONE(&w, wdl_win_unlock(win, 1, &o->step));
    test_world_close(&w);
}
END_TEST

WDL_SUITE("rma/win", sizes_are_the_users_or_the_defaults, memory_that_runs_out_is_an_error,
          the_module_outlives_its_windows, windows_are_found_by_their_number,
          windows_are_visited_in_order, a_window_is_no_larger_than_its_group,
          a_host_without_heavy_barrier_begins_in_bulk_mode, a_window_in_an_epoch_is_not_freed,
          a_window_with_something_to_send_is_freed_later,
          a_window_outlives_its_operations, a_freed_window_is_visited_no_more,
          the_short_way_is_open_where_the_full_path_is, every_path_counts_as_use,
          a_domain_is_shared_where_the_memory_is, a_barrier_waits_for_everyone, epochs_have_texts,
          the_checker_notices)
