/* Part of Windlass. See COPYRIGHT in the top-level directory. First runs of the collectives:
 * results and message counts. */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/coll_impl.h"
#include "mpid/coll/ranks.h"
#include "support/suite.h"

static struct ranks r;
static struct wdl_team **teams;

static void open_world(int n, int ordered)
{
    struct wdl_sim_params sim = {.seed = 5, .ranks = n, .ordered = ordered, .am_bytes_max = 1024};
    struct wdl_team_params team = {.id = 3};
    ranks_open(&r, &sim);
    teams = calloc((size_t) n, sizeof(teams[0]));
    ranks_team(&r, &team, teams);
}

static void close_world(void)
{
    ranks_drop(&r, teams);
    free(teams);
    ranks_close(&r);
}

static uint64_t messages(void)
{
    return ranks_sent(&r);
}

START_TEST(a_barrier_costs_a_message_a_rank_and_step)
{
    for (int n = 1; n <= 20; n++) {
        open_world(n, 1);
        struct wdl_coll_req *reqs = calloc((size_t) n, sizeof(*reqs));
        struct wdl_coll_args args = {.kind = WDL_COLL_BARRIER};
        for (int round = 0; round < 100; round++) {
            uint64_t before = messages();
            for (int i = 0; i < n; i++)
                ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
            ranks_finish(&r, reqs, 1);
            if (round > 0) /* the first comes with the making of the team */
                ck_assert_uint_eq(messages() - before, (uint64_t) (n * ranks_spread_steps(n)));
        }
        free(reqs);
        close_world();
    }
}
END_TEST

START_TEST(a_broadcast_of_any_length_arrives)
{
    static const size_t lengths[] = {0, 1, 8, 256, 257, 959, 960, 961, 5000, 100000};
    for (int n = 1; n <= 9; n++)
        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
            size_t m = lengths[l];
            open_world(n, (int) l & 1);
            char *mem = calloc((size_t) n + 1, m + 1);
            struct wdl_coll_req *reqs = calloc((size_t) n, sizeof(*reqs));
            for (size_t k = 0; k < m; k++)
                mem[k] = (char) (k * 7 + 1);
            for (int i = 0; i < n; i++) {
                struct wdl_coll_args args = {.kind = WDL_COLL_BROADCAST,
                                             .flags = WDL_COLL_MPI,
                                             .root = n / 2,
                                             .src = mem,
                                             .dst = mem + (size_t) (i + 1) * m,
                                             .bytes = m};
                ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
            }
            ranks_finish(&r, reqs, 1);
            for (int i = 0; i < n; i++)
                ck_assert_int_eq(memcmp(mem, mem + (size_t) (i + 1) * m, m), 0);
            free(mem);
            free(reqs);
            close_world();
        }
}
END_TEST

static uint64_t built(int rank)
{
    return wdl_coll_stats(r.one[rank].proc)->graphs_built;
}

/* An exchange of blocks that vary, the v-th way; the graphs that rank 1 built for it. */
static uint64_t exchange_varied(int n, size_t v)
{
    enum { ROOM = 64 };
    char src[8][8 * ROOM], dst[8][8 * ROOM];
    size_t list[8][4][8];
    struct wdl_coll_req reqs[8] = {{0}};
    uint64_t before = built(1);
    memset(dst, 0, sizeof(dst));
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n; k++) {
            size_t out = ((size_t) (i * 3 + k * 5) + v) % 7,
                   in = ((size_t) (k * 3 + i * 5) + v) % 7;
            list[i][0][k] = out;
            list[i][2][k] = in;
            list[i][1][k] = list[i][3][k] = (size_t) k * ROOM;
            memset(src[i] + k * ROOM, i * 16 + k + 1, ROOM);
        }
        struct wdl_coll_args args = {.kind = WDL_COLL_EXCHANGE,
                                     .flags = WDL_COLL_MPI,
                                     .variable = 1,
                                     .src = src[i],
                                     .dst = dst[i],
                                     .src_blocks = {list[i][0], list[i][1]},
                                     .dst_blocks = {list[i][2], list[i][3]}};
        ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
    }
    ranks_finish(&r, reqs, 1);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (size_t at = 0; at < ROOM; at++)
                ck_assert_int_eq(dst[i][k * ROOM + (int) at],
                                 at < list[i][2][k] ? (char) (k * 16 + i + 1) : 0);
    return built(1) - before;
}

START_TEST(lists_that_come_again_build_no_graph)
{
    open_world(5, 1);
    for (size_t v = 0; v < WDL_COLL_VARIED_MAX; v++)
        ck_assert_uint_ge(exchange_varied(5, v), 1);
    uint64_t more = 0;
    for (int again = 0; again < 40; again++)
        more += exchange_varied(5, (size_t) again % WDL_COLL_VARIED_MAX);
    ck_assert_uint_le(more, 1); /* that of credit */
    ck_assert_uint_eq(exchange_varied(5, WDL_COLL_VARIED_MAX), 1); /* 0 was used longest ago */
    ck_assert_uint_eq(exchange_varied(5, 1), 0);
    ck_assert_uint_eq(exchange_varied(5, 0), 1);
    close_world();
}
END_TEST

/* --- others call while an operator runs --- */

enum { OP_RANKS = 5, OP_CALLS = 3, OP_WORDS_MAX = 2000 };

struct interrupted {
    struct wdl_team *other; /* in which a barrier begins meanwhile */
    struct wdl_coll_req barrier;
    int rank, calls, begun;
    struct wdl_coll_req reqs[OP_CALLS];
    uint32_t src[OP_CALLS][OP_WORDS_MAX], dst[OP_CALLS][OP_WORDS_MAX];
};

/* What other threads of the process may do. */
static void sum_interrupted(void *ctx, const void *left, void *inout, size_t count)
{
    static const struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER};
    struct interrupted *me = ctx;
    struct wdl_proc *proc = r.one[me->rank].proc;
    me->calls++;
    if (!me->begun) {
        me->begun = 1;
        ck_assert_int_eq(wdl_coll_start(me->other, &barrier, &me->barrier), WDL_OK);
    }
    int was = me->barrier.done;
    for (int i = 0; i < 3; i++) {
        wdl_sim_advance(r.sim, 100000);
        wdl_proc_progress(proc);
        wdl_coll_doubt(proc);
        ck_assert_int_eq(me->barrier.done, was);
    }
    ranks_sum(NULL, left, inout, count);
}

static void begin_interrupted(struct interrupted *me, size_t words)
{
    for (int c = 0; c < OP_CALLS; c++) {
        for (size_t k = 0; k < words; k++)
            me->src[c][k] = (uint32_t) (me->rank * 1000 + c * 100) + (uint32_t) k;
        struct wdl_coll_args args = {.kind = c == 0 ? WDL_COLL_REDUCE : WDL_COLL_ALLREDUCE,
                                     .flags = WDL_COLL_MPI,
                                     .src = me->src[c],
                                     .dst = me->dst[c],
                                     .bytes = 4 * words,
                                     .op = {sum_interrupted, me, 4, c % 2, NULL}};
        ck_assert_int_eq(wdl_coll_start(teams[me->rank], &args, &me->reqs[c]), WDL_OK);
    }
}

static void check_interrupted(const struct interrupted *me, size_t words)
{
    for (int c = me->rank ? 1 : 0; c < OP_CALLS; c++)
        for (size_t k = 0; k < words; k++) {
            uint32_t want = (uint32_t) (1000 * OP_RANKS * (OP_RANKS - 1) / 2 + OP_RANKS * c * 100) +
                            OP_RANKS * (uint32_t) k;
            ck_assert_uint_eq(me->dst[c][k], want);
        }
}

static int all_done(const struct interrupted *me)
{
    int done = me->begun ? me->barrier.done : 1;
    for (int c = 0; c < OP_CALLS; c++)
        done &= me->reqs[c].done;
    return done;
}

static void interrupt(int ordered, int one_node, size_t words)
{
    struct wdl_sim_params sim = {
        .seed = 5, .ranks = OP_RANKS, .ordered = ordered, .am_bytes_max = 1024};
    struct wdl_team_params team = {.id = 3}, other = {.id = 4};
    struct wdl_team *others[OP_RANKS];
    struct interrupted *all = calloc(OP_RANKS, sizeof(*all));
    int left = OP_RANKS, calls = 0;
    ranks_open(&r, &sim);
    teams = calloc(OP_RANKS, sizeof(teams[0]));
    if (one_node)
        ranks_team_nodes(&r, &team, OP_RANKS, 1, teams);
    else
        ranks_team(&r, &team, teams);
    ranks_team(&r, &other, others);
    for (int i = 0; i < OP_RANKS; i++) {
        all[i].rank = i;
        all[i].other = others[i];
        begin_interrupted(&all[i], words);
    }
    while (left > 0) {
        ranks_step(&r);
        left = 0;
        for (int i = 0; i < OP_RANKS; i++)
            left += !all_done(&all[i]);
        for (int i = 0; left == 0 && i < OP_RANKS; i++) /* who has folded nothing */
            if (!all[i].begun) {
                static const struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER};
                all[i].begun = left = 1;
                ck_assert_int_eq(wdl_coll_start(others[i], &barrier, &all[i].barrier), WDL_OK);
            }
    }
    for (int i = 0; i < OP_RANKS; i++) {
        check_interrupted(&all[i], words);
        calls += all[i].calls;
    }
    ck_assert_int_gt(calls, 0);
    ranks_drop(&r, others);
    free(all);
    close_world();
}

START_TEST(others_call_while_an_operator_runs)
{
    static const size_t words[] = {2, 100, OP_WORDS_MAX};
    for (int i = 0; i < 3; i++)
        for (int how = 0; how < 3; how++)
            interrupt(how & 1, how == 2, words[i]);
}
END_TEST

WDL_SUITE("mpid/coll/run", others_call_while_an_operator_runs, lists_that_come_again_build_no_graph,
          a_barrier_costs_a_message_a_rank_and_step, a_broadcast_of_any_length_arrives)
