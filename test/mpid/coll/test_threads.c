/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Cells, boards, staging and the private memory that neighbours fetch from, with a thread as each
 * process of a node: every kind of collective, short and long, by boards and by cells, with and
 * without the express lane. Results are compared here; whether each load may see its store is for
 * the thread sanitizer to judge (maint/check --setup tsan).
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/ranks.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS = 4, WORDS_MAX = 20000, ROUNDS = 60 };

struct player {
    pthread_t id;
    int rank;
    struct wdl_proc *proc;
    struct wdl_team *team;
    int cells; /* not by boards */
    uint32_t src[RANKS * WORDS_MAX], dst[RANKS * WORDS_MAX];
};

/* Word k that a rank contributes. */
static uint32_t word(int rank, size_t k, int round)
{
    return (uint32_t) rank * 1000003u + (uint32_t) k * 7u + (uint32_t) round;
}

/* What word k of a rank's destination is to be; 1: it is to be something. */
static int expected(const struct wdl_coll_args *args, int rank, size_t k, int round, uint32_t *out)
{
    size_t words = args->bytes / 4;
    *out = 0;
    switch (args->kind) {
        case WDL_COLL_BROADCAST:
            *out = word(args->root, k, round);
            return k < words && rank != args->root;
        case WDL_COLL_GATHER_ALL:
            *out = words ? word((int) (k / words), k % words, round) : 0;
            return 1;
        case WDL_COLL_EXCHANGE:
            *out = words ? word((int) (k / words), (size_t) rank * words + k % words, round) : 0;
            return 1;
        case WDL_COLL_GATHER:
            *out = words ? word((int) (k / words), k % words, round) : 0;
            return rank == args->root;
        case WDL_COLL_REDUCE:
        case WDL_COLL_ALLREDUCE:
            for (int r = 0; r < RANKS; r++)
                *out += word(r, k, round);
            return k < words && (args->kind != WDL_COLL_REDUCE || rank == args->root);
        case WDL_COLL_SCAN:
            for (int r = 0; r <= rank; r++)
                *out += word(r, k, round);
            return k < words;
        default:
            return 0;
    }
}

/* Other short ones: by who waits, and by who goes on. */
static int short_at_once(struct player *p, const struct wdl_coll_args *args, int waits)
{
    int gets = args->kind == WDL_COLL_BROADCAST && args->root != p->rank;
    int folds = wdl_coll_reduces(args->kind);
    const struct wdl_coll_short call = {.kind = args->kind,
                                        .root = args->root,
                                        .looks = waits ? 60 : 1,
                                        .src = gets ? args->dst : args->src,
                                        .dst = args->dst,
                                        .bytes = args->bytes,
                                        .op = folds ? &args->op : NULL};
    int may = args->kind == WDL_COLL_BROADCAST || args->kind == WDL_COLL_REDUCE ||
        args->kind == WDL_COLL_ALLREDUCE || args->kind == WDL_COLL_GATHER_ALL ||
        args->kind == WDL_COLL_EXCHANGE || args->kind == WDL_COLL_GATHER;
    return may && !args->algorithm && wdl_coll_at_once(p->team, &call) == WDL_OK;
}

static int at_once(struct player *p, const struct wdl_coll_args *args)
{
    const struct wdl_coll_scan scan = {.src = args->src,
                                       .dst = args->dst,
                                       .bytes = args->bytes,
                                       .looks = 60,
                                       .op = &args->op};
    int status = WDL_ERR_OP;
    if (args->kind != WDL_COLL_SCAN || args->algorithm)
        return 0;
    while ((status = wdl_coll_scan_at_once(p->team, &scan)) == WDL_AGAIN) {
        wdl_coll_progress(p->proc);
        sched_yield();
    }
    return status == WDL_OK;
}

static void go_through(struct player *p, const struct wdl_coll_args *args, int by_request)
{
    if ((!by_request && at_once(p, args)) || short_at_once(p, args, !by_request))
        return;
    struct wdl_coll_req req = {.done = 0};
    struct wdl_run *run = by_request ? NULL : wdl_coll_express(p->team, args);
    int status;
    if (run) {
        while ((status = wdl_coll_express_look(run)) == WDL_AGAIN) {
            wdl_coll_progress(p->proc);
            sched_yield();
        }
    } else {
        must_cmp(wdl_coll_start(p->team, args, &req), ==, WDL_OK);
        while (!req.done) {
            wdl_coll_progress(p->proc);
            sched_yield();
        }
        status = req.status;
    }
    must_cmp(status, ==, WDL_OK);
}

static void *play(void *arg)
{
    static const struct {
        enum wdl_coll_kind kind;
        const char *by_cells;
    } kinds[] = {{WDL_COLL_BARRIER, "dissemination"}, {WDL_COLL_BROADCAST, "tree"},
                 {WDL_COLL_GATHER_ALL, "bruck"},      {WDL_COLL_EXCHANGE, "bruck"},
                 {WDL_COLL_ALLREDUCE, "doubling"},    {WDL_COLL_SCAN, "doubling"},
                 {WDL_COLL_GATHER, "tree"},           {WDL_COLL_REDUCE, "tree"}};
    static const size_t words[] = {1, 60, 600, WORDS_MAX};
    enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), SIZES = sizeof(words) / sizeof(words[0]) };
    struct player *p = arg;
    for (int round = 0; round < ROUNDS * KINDS; round++) {
        int k = round % KINDS;
        size_t n = words[round / KINDS % (p->cells ? 2 : SIZES)]; /* what fits in a cell */
        int leaves = kinds[k].kind == WDL_COLL_REDUCE && n == WORDS_MAX;
        struct wdl_coll_args args = {.kind = kinds[k].kind,
                                     .flags = WDL_COLL_MPI | (leaves ? WDL_COLL_LEAVES : 0u),
                                     .root = round / KINDS % RANKS, .src = p->src, .dst = p->dst,
                                     .bytes = 4 * n, .op = {ranks_sum, NULL, 4, 1, NULL},
                                     .algorithm = p->cells ? kinds[k].by_cells : NULL};
        for (size_t i = 0; i < RANKS * n; i++)
            p->src[i] = word(p->rank, i, round);
        memset(p->dst, 0, RANKS * args.bytes);
        go_through(p, &args, round / 5 % 2);
        for (size_t i = 0; i < RANKS * n; i++) {
            uint32_t want;
            if (expected(&args, p->rank, i, round, &want))
                must_cmp(p->dst[i], ==, want);
        }
    }
    while (wdl_team_destroy(p->team) == WDL_AGAIN) {
        wdl_coll_progress(p->proc);
        sched_yield();
    }
    return NULL;
}

static void run(int cells, size_t staging_bytes)
{
    struct ranks r;
    struct wdl_team *teams[RANKS];
    const struct wdl_sim_params sim = {.seed = 4, .ranks = RANKS, .ordered = 1};
    struct wdl_team_params params = {.id = 9, .window = 8, .cell_bytes = 1024,
                                     .staging_bytes = staging_bytes};
    struct player *players = calloc(RANKS, sizeof(players[0]));
    ranks_open(&r, &sim);
    ranks_team_nodes(&r, &params, RANKS, 1, teams);
    for (int i = 0; i < RANKS; i++) {
        struct player *p = &players[i];
        p->rank = i;
        p->proc = r.one[i].proc;
        p->team = teams[i];
        p->cells = cells;
        ck_assert_int_eq(pthread_create(&p->id, NULL, play, p), 0);
    }
    for (int i = 0; i < RANKS; i++)
        ck_assert_int_eq(pthread_join(players[i].id, NULL), 0);
    ck_assert_uint_eq(wdl_sim_counts(r.sim)->sent, 0); /* the network was nobody's to touch */
    ranks_close(&r);
    free(players);
}

START_TEST(by_boards)
{
    run(0, 0);
}
END_TEST

START_TEST(by_boards_and_staging)
{
    run(0, 256 << 10);
}
END_TEST

START_TEST(by_cells)
{
    run(1, 0);
}
END_TEST

WDL_SUITE("coll/threads", by_boards, by_boards_and_staging, by_cells)
