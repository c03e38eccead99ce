/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Ranks of a node of which one means another length, on both sides of what decides which way data
 * goes; every kind and root, whichever way each of them comes: nobody waits for ever, somebody is
 * told, nothing is read or written out of a rank's bounds, and what comes behind is right. Nobody
 * asks: what boards say is enough.
 */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/ranks.h"
#include "mpid/coll/rate.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS_MAX = 3, BOARD = 2048, RING = 128 << 10, ROOM = RING / 2, WORD = 8 };
enum { TOTAL = 3 * ROOM, UNTOUCHED = 0x77, GUARD = 64, PATIENCE = 300 };

static const size_t lengths[] = {WORD, 1000, 3000, 20 << 10, 40 << 10, ROOM + 800, 3 * ROOM + 8};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

static const struct call {
    enum wdl_coll_kind kind;
    uint32_t flags;
} calls[] = {{WDL_COLL_BROADCAST, 0},      {WDL_COLL_SCATTER, 0},
             {WDL_COLL_GATHER, 0},         {WDL_COLL_GATHER_ALL, 0},
             {WDL_COLL_EXCHANGE, 0},       {WDL_COLL_REDUCE, 0},
             {WDL_COLL_ALLREDUCE, 0},      {WDL_COLL_SCAN, 0},
             {WDL_COLL_REDUCE_SCATTER, 0}, {WDL_COLL_SCAN, WDL_COLL_EXCLUSIVE}};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

static struct ranks r;
static struct wdl_team *teams[RANKS_MAX];

/* A rank's part. */
static struct part {
    struct wdl_coll_args args;
    size_t lists[2][RANKS_MAX], room;
    char *src, *dst;
    struct wdl_run *lane;
    struct wdl_coll_req req;
    int status;
} part[RANKS_MAX];

/* Ranks that have found long data to be faster staged, or fetched, and try nothing else. */
static void teach(int staged)
{
    for (int i = 0; i < r.n; i++)
        for (int use = 0; use < WDL_RATE_USES; use++)
            for (int way = WDL_RATE_FETCHED; way <= WDL_RATE_FILLED; way++)
                for (int k = 0; k < 40; k++)
                    wdl_rate_took(teams[i], (enum wdl_rate_use) use, (enum wdl_rate_way) way,
                                  64 << 10, (way == WDL_RATE_FETCHED) == staged ? 9000 : 1000);
    for (int i = 0; i < r.n; i++)
        for (int use = 0; use < WDL_RATE_USES; use++) {
            (void) wdl_rate_stages(teams[i], (enum wdl_rate_use) use, 0);
            teams[i]->rate.of[use].next = UINT32_MAX / 2;
        }
}

static void begin(int i, int waits)
{
    struct part *p = &part[i];
    p->status = WDL_AGAIN;
    p->lane = waits ? wdl_coll_express(teams[i], &p->args) : NULL;
    if (!p->lane)
        must_cmp(wdl_coll_start(teams[i], &p->args, &p->req), ==, WDL_OK);
}

static void look(int i)
{
    struct part *p = &part[i];
    if (p->status != WDL_AGAIN)
        return;
    wdl_proc_progress(r.one[i].proc);
    if (p->lane)
        p->status = wdl_coll_express_look(p->lane);
    else if (p->req.done)
        p->status = p->req.status;
}

static void all_look(void)
{
    for (int i = 0; i < r.n; i++)
        look(i);
    wdl_sim_advance(r.sim, 1000);
}

/* Enough even where a rank goes on by a part at a time. */
static void all_end(void)
{
    int left = r.n;
    for (int n = 0; n < PATIENCE && left > 0; n++) {
        all_look();
        left = 0;
        for (int i = 0; i < r.n; i++)
            left += part[i].status == WDL_AGAIN;
    }
}

static void open_with(int n, int staged)
{
    struct wdl_sim_params sim = {.seed = 3, .ranks = n, .am_bytes_max = 1024};
    struct wdl_team_params params = {.id = 3, .staging_bytes = RING, .board_bytes = BOARD};
    ranks_open(&r, &sim);
    ranks_team_nodes(&r, &params, n, 1, teams);
    for (int i = 0; i < n; i++) {
        part[i].args =
            (struct wdl_coll_args){.kind = WDL_COLL_BARRIER, .flags = WDL_COLL_MPI};
        begin(i, 0);
    }
    all_end(); /* the team is open */
    teach(staged);
}

static void close_all(void)
{
    ranks_drop(&r, teams);
    ranks_close(&r);
}

static int gives_blocks(enum wdl_coll_kind kind)
{
    return kind == WDL_COLL_SCATTER || kind == WDL_COLL_EXCHANGE || kind == WDL_COLL_REDUCE_SCATTER;
}

/* Memory as long as a rank means, whose ends a checker sees, and of what comes some more. */
static void memory_make(int i)
{
    struct part *p = &part[i];
    const struct wdl_coll_args *a = &p->args;
    int gets_all = a->kind == WDL_COLL_GATHER || a->kind == WDL_COLL_GATHER_ALL ||
                   a->kind == WDL_COLL_EXCHANGE;
    int none = (a->kind == WDL_COLL_GATHER || a->kind == WDL_COLL_REDUCE) && i != a->root;
    size_t gives = a->variable ? TOTAL : a->bytes * (size_t) (gives_blocks(a->kind) ? r.n : 1);
    p->room = none ? 0 : a->bytes * (size_t) (gets_all ? r.n : 1);
    p->src = malloc(gives);
    p->dst = malloc(p->room + GUARD);
    memset(p->src, 1, gives);
    memset(p->dst, UNTOUCHED, p->room + GUARD);
    p->args.src = p->src;
    p->args.dst = p->dst;
}

static void mean(int i, const struct call *call, int root, size_t bytes)
{
    part[i].args = (struct wdl_coll_args){.kind = call->kind,
                                          .flags = WDL_COLL_MPI | call->flags,
                                          .root = root,
                                          .bytes = bytes,
                                          .op = {.fn = ranks_sum, .elem_bytes = 4, .commutes = 1}};
    memory_make(i);
}

/* A vector of TOTAL bytes, of which the first rank gets so many, and the others as many each. */
static void mean_parts(int i, size_t firsts)
{
    struct part *p = &part[i];
    size_t others = (TOTAL - firsts) / (size_t) (r.n - 1) / WORD * WORD, at = 0;
    for (int k = 0; k < r.n; k++) {
        p->lists[0][k] = k == 0 ? firsts : k < r.n - 1 ? others : TOTAL - at;
        p->lists[1][k] = at;
        at += p->lists[0][k];
    }
    p->args = (struct wdl_coll_args){.kind = WDL_COLL_REDUCE_SCATTER,
                                     .flags = WDL_COLL_MPI,
                                     .bytes = p->lists[0][i],
                                     .op = {.fn = ranks_sum, .elem_bytes = 4, .commutes = 1}};
    if (firsts * (size_t) r.n != TOTAL) {
        p->args.variable = 1;
        p->args.src_blocks = (struct wdl_coll_blocks){p->lists[0], p->lists[1]};
    }
    memory_make(i);
}

/* All begin, `first` some time before the others; who waits comes by the express lane where it can:
 * a bit a rank. How many are told. */
static int differ(const char *what, int first, int waits)
{
    int told = 0;
    begin(first, waits >> first & 1);
    for (int n = 0; n < 5; n++)
        look(first);
    for (int i = 0; i < r.n; i++)
        if (i != first)
            begin(i, waits >> i & 1);
    all_end();
    for (int i = 0; i < r.n; i++) {
        struct part *p = &part[i];
        ck_assert_msg(p->status == WDL_OK || p->status == WDL_ERR_TRUNCATE,
                      "%s, %zu and %zu bytes, root %d, first %d, waiting %d: rank %d of %d: %s",
                      what, part[0].args.bytes, part[1].args.bytes, p->args.root, first, waits, i,
                      r.n, wdl_status_name(p->status));
        told += p->status != WDL_OK;
        for (int at = 0; at < GUARD; at++)
            must_cmp(p->dst[p->room + (size_t) at], ==, UNTOUCHED);
        free(p->src);
        free(p->dst);
    }
    return told;
}

static void all_is_well(void)
{
    for (int i = 0; i < r.n; i++) {
        mean(i, &calls[0], 0, 100);
        begin(i, i & 1);
    }
    all_end();
    for (int i = 0; i < r.n; i++) {
        must_cmp(part[i].status, ==, WDL_OK);
        must_cmp(part[i].dst[99], ==, 1);
        free(part[i].src);
        free(part[i].dst);
    }
}

static void pairs_of(const struct call *call, int root, int odd, int variant)
{
    for (int most = 0; most < LENGTHS; most++)
        for (int ones = 0; ones < LENGTHS; ones++) {
            for (int i = 0; i < r.n; i++)
                mean(i, call, root, lengths[i == odd ? ones : most]);
            int told = differ(wdl_coll_kind_name(call->kind), variant % r.n, variant / r.n);
            must_cmp(told > 0, ==, most != ones);
            all_is_well();
        }
}

/* Every kind and root, every rank that may be mistaken, the first or not, waiting or not. */
static void pairs(int n)
{
    for (int k = 0; k < CALLS; k++)
        for (int staged = 0; staged < 2; staged++) {
            open_with(n, staged);
            for (int root = 0; root < (wdl_coll_is_rooted(calls[k].kind) ? n : 1); root++)
                for (int odd = n == 2; odd < n; odd++)
                    for (int variant = 0; variant < n << n; variant++)
                        pairs_of(&calls[k], root, odd, variant);
            close_all();
        }
}

START_TEST(of_two)
{
    pairs(2);
}
END_TEST

/* Nobody needs another more than once there. */
START_TEST(of_three)
{
    static const struct call *const some[] = {&calls[1], &calls[2], &calls[5], &calls[7]};
    for (size_t k = 0; k < sizeof(some) / sizeof(some[0]); k++) {
        open_with(3, 1);
        for (int root = 0; root < 3; root++)
            for (int variant = 0; variant < 6; variant++)
                pairs_of(some[k], root, variant / 2, variant % 3 + 3 * (variant / 3 * 7));
        close_all();
    }
}
END_TEST

/* The vector is as long for all, but not what of it is whose: nobody waits for ever for what the
 * other does not give. */
START_TEST(other_parts_of_a_vector)
{
    static const size_t firsts[] = {TOTAL / 2, WORD, TOTAL / 4, TOTAL - 1000};
    for (int staged = 0; staged < 2; staged++)
        for (int way = 0; way < 4 * 4 * 8; way++) {
            int one = way / 8 % 4, other = way / 32;
            open_with(2, staged);
            mean_parts(0, firsts[one]);
            mean_parts(1, firsts[other]);
            int told = differ("parts", way & 1, way / 2 & 3);
            must(told == 0 || one != other);
            all_is_well();
            close_all();
        }
}
END_TEST

WDL_SUITE("mpid/coll/lengths", of_two, of_three, other_parts_of_a_vector)
