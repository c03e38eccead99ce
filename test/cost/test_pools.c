/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What collectives take of the host's memory, counted: nothing once a shape is known, however many
 * are outstanding; no more than a bound; and with the least of it everything still ends.
 */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/coll_impl.h"
#include "mpid/coll/ranks.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS = 4, MANY = 64, QUEUED = 65535, LONG = 40000, WINDOW = 64 };

static struct ranks r;
static struct wdl_team *teams[RANKS];
static char *src[RANKS], *dst[RANKS];
static struct wdl_coll_req *reqs;
static int in_place;

/* Who shares a node: nobody, all, two by two. */
enum where { APART, TOGETHER, PAIRS, WHERES };

static void open_ranks(enum where where, int ordered, size_t run_bytes)
{
    struct wdl_sim_params sim = {.seed = 7, .ranks = RANKS, .ordered = ordered};
    struct wdl_team_params params = {.id = 1, .window = WINDOW, .staging_bytes = 1 << 20};
    ranks_open(&r, &sim);
    for (int i = 0; i < RANKS; i++) {
        wdl_coll_limit(r.one[i].proc, &(struct wdl_coll_limits){run_bytes, 0, 64, 0});
        src[i] = calloc(RANKS, LONG);
        dst[i] = calloc(RANKS, LONG);
    }
    if (where == APART)
        ranks_team(&r, &params, teams);
    else
        ranks_team_nodes(&r, &params, where == PAIRS ? 2 : RANKS, 1, teams);
    reqs = calloc((size_t) RANKS * QUEUED, sizeof(reqs[0]));
}

static void close_ranks(void)
{
    ranks_drop(&r, teams);
    for (int i = 0; i < RANKS; i++) {
        free(src[i]);
        free(dst[i]);
    }
    free(reqs);
    ranks_close(&r);
}

/* The kinds, those with roots or of blocks that vary more than once. */
enum { CALLS = 2 * WDL_COLL_CUSTOM };

static int call_of(int call, size_t bytes, struct wdl_coll_args *args)
{
    static size_t lists[LONG + 1][2][RANKS]; /* whoever is queued reads them later */
    size_t *lengths = lists[bytes][0], *places = lists[bytes][1];
    enum wdl_coll_kind kind = (enum wdl_coll_kind)(call % WDL_COLL_CUSTOM);
    int other = call >= WDL_COLL_CUSTOM;
    *args = (struct wdl_coll_args){
        .kind = kind,
        .flags = WDL_COLL_MPI,
        .bytes = bytes,
        .op = {ranks_compose, NULL, 4, 0, NULL}};
    for (int i = 0; i < RANKS; i++) {
        lengths[i] = bytes;
        places[i] = (size_t) i * bytes;
    }
    switch (kind) {
    case WDL_COLL_BROADCAST:
    case WDL_COLL_REDUCE:
        args->root = other;
        return 1;
    case WDL_COLL_SCATTER:
    case WDL_COLL_GATHER:
    case WDL_COLL_GATHER_ALL:
    case WDL_COLL_EXCHANGE:
    case WDL_COLL_REDUCE_SCATTER:
        args->variable = other;
        if (other)
            args->src_blocks = args->dst_blocks = (struct wdl_coll_blocks){lengths, places};
        return 1;
    case WDL_COLL_SCAN:
        args->flags |= other ? WDL_COLL_EXCLUSIVE : 0;
        return 1;
    default:
        return !other;
    }
}

/* So many at a time, begun by one rank after the other. */
static void collectives(const struct wdl_coll_args *args, int count)
{
    memset(reqs, 0, (size_t) (RANKS * count) * sizeof(reqs[0]));
    for (int i = 0; i < RANKS; i++)
        for (int k = 0; k < count; k++) {
            struct wdl_coll_args mine = *args;
            mine.src = in_place ? dst[i] : src[i];
            mine.dst = dst[i];
            must_cmp(wdl_coll_start(teams[i], &mine, &reqs[i * count + k]), ==, WDL_OK);
        }
    ranks_finish(&r, reqs, count);
    for (int k = 0; k < RANKS * count; k++)
        must_cmp(reqs[k].status, ==, WDL_OK);
}

static uint64_t allocations(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < RANKS; i++)
        sum += r.one[i].host.allocations;
    return sum;
}

/* `first` at a time tell all there is to know, and so do as many as want credit of the empty ones
 * that bring it. */
static void then_nothing(const struct wdl_coll_args *args, int first, int count)
{
    static const struct wdl_coll_args word = {.kind = WDL_COLL_BROADCAST,
                                              .flags = WDL_COLL_MPI,
                                              .bytes = 4};
    collectives(&word, WINDOW / 2);
    collectives(args, first);
    while (!wdl_sim_quiescent(r.sim)) /* ranks tell each other where flags may be put */
        ranks_step(&r);
    uint64_t before = allocations();
    collectives(args, count);
    if (allocations() != before)
        ck_abort_msg("%s of %zu bytes, %d at a time: %d allocations",
                     wdl_coll_kind_name(args->kind), args->bytes, count,
                     (int) (allocations() - before));
}

/* Where a prefix or a fold may not be where it belongs yet, and staging is full, each that is under
 * way takes room of its own: as many as there have been need no more. */
static int wants_room(const struct wdl_coll_args *args)
{
    return args->bytes == LONG && ((args->flags & WDL_COLL_EXCLUSIVE) || in_place);
}

static int may_be_in_place(const struct wdl_coll_args *args)
{
    return args->kind == WDL_COLL_ALLREDUCE || args->kind == WDL_COLL_SCAN ||
           args->kind == WDL_COLL_REDUCE_SCATTER;
}

/* Of each size there are as many runs as the limit says, and never as many as a window; what else
 * is kept when nothing is under way are the graphs, with a run each. */
static void bounds_hold(void)
{
    for (int i = 0; i < RANKS; i++) /* credit, which goes when all before it is finished */
        while (wdl_coll_stats(r.one[i].proc)->running > 0)
            ranks_step(&r);
    for (int i = 0; i < RANKS; i++) {
        const struct wdl_coll *coll = r.one[i].proc->coll;
        size_t each = 64, kept = 0;
        for (int size = 0; size < WDL_STORE_SIZES; size++) {
            const struct wdl_store_size *s = &coll->runs.size[size];
            each = size == 0 ? 64 : size % 2 ? each / 2 * 3 : each / 3 * 4;
            must_cmp(s->count * each, <=, coll->limits.run_bytes);
            must_cmp(s->count, <, WINDOW);
            must_cmp(s->used, ==, 0);
        }
        struct wdl_list *node;
        wdl_list_for (node, &teams[i]->graphs)
            kept++;
        must_cmp(kept, <=, WDL_COLL_GRAPHS_MAX);
        must_cmp(wdl_coll_stats(r.one[i].proc)->running, ==, 0);
        must_cmp(coll->store.large_idle, <=, WDL_STORE_IDLE);
    }
}

START_TEST(nothing_once_a_shape_is_known)
{
    static const size_t bytes[] = {8, 600, LONG};
    for (enum where where = APART; where < WHERES; where++) {
        struct wdl_coll_args args;
        open_ranks(where, 1, 128 << 10);
        for (int call = 0; call < CALLS; call++)
            for (int b = 0; b < 3; b++) {
                if (!call_of(call, bytes[b], &args))
                    continue;
                for (in_place = 0; in_place <= may_be_in_place(&args); in_place++)
                    then_nothing(&args, wants_room(&args) ? MANY : 1, MANY);
                in_place = 0;
            }
        must_cmp(wdl_coll_stats(r.one[0].proc)->running_high, <=, WINDOW);
        bounds_hold();
        close_ranks();
    }
}
END_TEST

START_TEST(nothing_for_what_is_queued)
{
    for (enum where where = APART; where < WHERES; where++) {
        struct wdl_coll_args args;
        open_ranks(where, 1, 128 << 10);
        must(call_of(WDL_COLL_BROADCAST, 8, &args));
        then_nothing(&args, 1, QUEUED);
        must(call_of(WDL_COLL_ALLREDUCE, 600, &args));
        then_nothing(&args, 1, QUEUED);
        close_ranks();
    }
}
END_TEST

/* Two teams whose collectives half the ranks begin in one order and half in the other, each with
 * no more runs than one of a graph: what one team waits for is never the other's to give. */
START_TEST(the_least_is_enough)
{
    enum { EACH = 200 };
    for (int ordered = 0; ordered < 2; ordered++)
        for (size_t run_bytes = 0; run_bytes <= 4096; run_bytes += 2048) {
            struct wdl_team *others[RANKS];
            struct wdl_team_params params = {.id = 2, .window = 8};
            struct wdl_coll_args args;
            open_ranks(APART, ordered, run_bytes);
            ranks_team(&r, &params, others);
            memset(reqs, 0, 2 * RANKS * EACH * sizeof(reqs[0]));
            for (int i = 0; i < RANKS; i++)
                for (int k = 0; k < 2 * EACH; k++) {
                    struct wdl_team *team = (k < EACH) == i % 2 ? others[i] : teams[i];
                    int call = k % EACH % (2 * WDL_COLL_CUSTOM);
                    if (!call_of(call, k % EACH % 7 ? 600 : 5000, &args))
                        (void) call_of(WDL_COLL_ALLREDUCE, 600, &args);
                    args.src = src[i];
                    args.dst = dst[i];
                    must_cmp(wdl_coll_start(team, &args, &reqs[i * 2 * EACH + k]), ==, WDL_OK);
                }
            ranks_finish(&r, reqs, 2 * EACH);
            for (int k = 0; k < RANKS * 2 * EACH; k++)
                must_cmp(reqs[k].status, ==, WDL_OK);
            for (int i = 0; i < RANKS; i++) {
                must_cmp(wdl_coll_stats(r.one[i].proc)->run_waits, >, 0);
                must_cmp(wdl_coll_stats(r.one[i].proc)->running, ==, 0);
            }
            ranks_drop(&r, others);
            close_ranks();
        }
}
END_TEST

static uint64_t running(int rank)
{
    return wdl_coll_stats(r.one[rank].proc)->running;
}

static void settle(void)
{
    for (int turn = 0; turn < 1000; turn++)
        ranks_step(&r);
}

/* Rank 0 begins, the others are late; one run beside the graphs' own. */
START_TEST(what_a_team_gives_back_another_takes)
{
    enum { EACH = 3 };
    struct wdl_team *others[RANKS], **both[2] = {teams, others};
    struct wdl_team_params params = {.id = 2, .window = 8};
    struct wdl_coll_req rq[2][RANKS][EACH] = {{{{0}}}};
    struct wdl_coll_args args = {.kind = WDL_COLL_BARRIER, .flags = WDL_COLL_MPI};
    open_ranks(APART, 1, 2048); /* of a block of 1536 bytes */
    ranks_team(&r, &params, others);
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < RANKS; i++)
            must_cmp(wdl_coll_start(both[t][i], &args, &rq[t][i][0]), ==, WDL_OK);
    }
    settle();
    must_cmp(running(0), ==, 0);
    for (int t = 0; t < 2; t++)
        for (int k = 0; k < EACH; k++) {
            memset(&rq[t][0][k], 0, sizeof(rq[t][0][k]));
            must_cmp(wdl_coll_start(both[t][0], &args, &rq[t][0][k]), ==, WDL_OK);
        }
    must_cmp(running(0), ==, 3); /* two of the first team's, one of the second's */
    for (int i = 1; i < RANKS; i++)
        for (int k = 0; k < EACH; k++) {
            memset(&rq[0][i][k], 0, sizeof(rq[0][i][k]));
            must_cmp(wdl_coll_start(teams[i], &args, &rq[0][i][k]), ==, WDL_OK);
        }
    settle();
    for (int k = 0; k < EACH; k++)
        must_cmp(rq[0][0][k].done, ==, 1);
    must_cmp(running(0), ==, 2); /* of the second's, which has not got any further */
    for (int i = 1; i < RANKS; i++)
        for (int k = 0; k < EACH; k++) {
            memset(&rq[1][i][k], 0, sizeof(rq[1][i][k]));
            must_cmp(wdl_coll_start(others[i], &args, &rq[1][i][k]), ==, WDL_OK);
        }
    settle();
    for (int k = 0; k < EACH; k++)
        must_cmp(rq[1][0][k].done, ==, 1);
    ranks_drop(&r, others);
    close_ranks();
}
END_TEST

WDL_SUITE("cost/pools", nothing_once_a_shape_is_known, nothing_for_what_is_queued,
          the_least_is_enough, what_a_team_gives_back_another_takes)
