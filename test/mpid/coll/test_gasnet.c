/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * GASNet's collectives in simulated worlds: more ranks than there are links, messages late and out
 * of order, a network that refuses; against loops. What aggregates cost; whom a late rank delays;
 * that every allocation comes home.
 */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/gasnet_core.h"
#include "mpid/coll/ranks.h"
#include "support/suite.h"

enum { RANKS_MAX = 33, IMAGES_MAX = 3, UNITS_MAX = RANKS_MAX * IMAGES_MAX, ROOM = 60000 };
enum { COMPOSE, SUM, SERIAL, FNS };

static struct ranks r;
static struct wdl_gas_team *team[RANKS_MAX];
static wdl_gas_handle handle[RANKS_MAX];
static size_t images[RANKS_MAX], first[RANKS_MAX + 1];
static char *src[RANKS_MAX][IMAGES_MAX], *dst[RANKS_MAX][IMAGES_MAX];
static struct wdl_prng prng;

/* --- operators: 32-bit words; COMPOSE: x -> a x + b of 16 bits --- */

static uint32_t apply(int op, uint32_t x, uint32_t y)
{
    uint32_t a = x & 0xffff, b = x >> 16, c = y & 0xffff, d = y >> 16;
    if (op == COMPOSE)
        return ((a * c) & 0xffff) | ((a * d + b) & 0xffff) << 16;
    return op == SUM ? x + y : x * 31 + (y ^ x >> 7);
}

static void fn(void *results, size_t result_count, const void *left_operands, size_t left_count,
               const void *right_operands, size_t elem_size, int flags, int arg)
{
    uint32_t *out = results;
    const uint32_t *x = left_operands, *y = right_operands;
    (void) flags;
    ck_assert_uint_eq(result_count, left_count);
    ck_assert_uint_eq(elem_size, sizeof(*out));
    for (size_t i = 0; i < result_count; i++)
        out[i] = apply(arg, x[i], y[i]);
}

static const struct wdl_gas_fn fns[FNS] = {{fn, WDL_GAS_NONCOMM},
                                           {fn, 0},
                                           {fn, WDL_GAS_NONCOMM | WDL_GAS_NONASSOC}};

/* --- the world --- */

static int same_peer(void *ctx, int rank)
{
    (void) ctx;
    return rank;
}

static void open_world(const struct wdl_sim_params *sim, size_t images_each)
{
    ranks_open(&r, sim);
    wdl_prng_init(&prng, sim->seed);
    for (int i = 0; i < r.n; i++) {
        images[i] = images_each ? images_each : 1 + (size_t) i % IMAGES_MAX;
        first[i + 1] = first[i] + images[i];
    }
    for (int i = 0; i < r.n; i++) {
        struct wdl_gas_params params = {.team = {.id = 100, .rank = i, .size = r.n},
                                        .images = images,
                                        .fns = fns,
                                        .fn_count = FNS};
        params.team.peer_of = same_peer;
        params.team.cell_bytes = 64;
        params.team.poison = 1;
        params.team.model = (struct wdl_coll_model){1000, 1000, 0.1, 0.25};
        ck_assert_int_eq(wdl_gas_init(r.one[i].proc, &params, &team[i]), WDL_OK);
        for (int k = 0; k < IMAGES_MAX; k++) {
            src[i][k] = calloc(1, ROOM);
            dst[i][k] = calloc(1, ROOM);
        }
    }
}

static void close_world(void)
{
    for (int i = 0; i < r.n; i++) {
        while (wdl_gas_team_destroy(team[i]) == WDL_AGAIN)
            ranks_step(&r);
        for (int k = 0; k < IMAGES_MAX; k++) {
            free(src[i][k]);
            free(dst[i][k]);
        }
    }
    ranks_close(&r);
}

static size_t draw(size_t below)
{
    return wdl_prng_below(&prng, below);
}

/* All handles synchronized, each as soon as it can be. */
static void finish(void)
{
    int left = r.n;
    for (long steps = 0; left > 0; steps++) {
        ck_assert_int_lt(steps, 3000000);
        int i = ranks_step(&r);
        enum wdl_gas_error error;
        if (handle[i] && wdl_gas_try_sync(handle[i], &error)) {
            ck_assert_int_eq(error, WDL_GAS_FINE);
            handle[i] = NULL;
            left--;
        }
    }
}

static int mode(int scope)
{
    int flags = WDL_COLL_IN_NOSYNC << draw(3) | WDL_COLL_OUT_NOSYNC << draw(3);
    return flags | (scope ? scope : draw(2) ? WDL_COLL_SINGLE : WDL_COLL_LOCAL);
}

/* The lists of each rank's units: of its own, or all with the own ones in their places. */
static void *src_list[RANKS_MAX][UNITS_MAX], *dst_list[RANKS_MAX][UNITS_MAX];

static void lists(int m, int flags)
{
    for (int i = 0; i < r.n; i++) {
        size_t at = m && (flags & WDL_COLL_SINGLE) ? first[i] : 0;
        for (size_t k = 0; k < (m ? images[i] : 1); k++) {
            src_list[i][at + k] = src[i][k];
            dst_list[i][at + k] = dst[i][k];
        }
    }
}

static char *unit_memory(char *memory[][IMAGES_MAX], int m, size_t unit)
{
    int node = 0;
    if (!m)
        return memory[unit][0];
    while (first[node + 1] <= unit)
        node++;
    return memory[node][unit - first[node]];
}

/* Start on the ranks in any order, with progress in between. */
static int order[RANKS_MAX];

static void shuffle(void)
{
    for (int i = 0; i < r.n; i++)
        order[i] = i;
    for (int i = r.n - 1; i > 0; i--) {
        int j = (int) draw((size_t) i + 1), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
}

/* The ranks begin in any order, with progress in between. */
static void all_start(void (*start)(int i))
{
    shuffle();
    for (int k = 0; k < r.n; k++) {
        start(order[k]);
        for (size_t steps = draw(20); steps > 0; steps--)
            ranks_step(&r);
    }
    finish();
}

struct deal {
    size_t blk, off, units;
};

static struct deal deal(size_t units)
{
    struct deal d = {draw(4), 0, units};
    d.off = draw(d.blk ? 2 * d.blk * units : units);
    return d;
}

static uint32_t *at(char *memory[][IMAGES_MAX], int m, const struct deal *d, size_t g)
{
    size_t index = g + d->off, block = d->blk ? index / d->blk : 0;
    size_t unit = d->blk ? block % d->units : d->off;
    size_t place = d->blk ? block / d->units * d->blk + index % d->blk : g;
    return (uint32_t *) (void *) unit_memory(memory, m, unit) + place;
}

/* What all ranks are told. */
static struct call {
    int m, flags, op, scan, everywhere, gets, kind;
    size_t n, root, bytes;
    struct deal from, to;
} call;

/* --- reduce, scan, sort --- */

static void fold_start(int i)
{
    const struct call *c = &call;
    struct wdl_gas_array s = {src[i][0], c->from.blk, c->from.off};
    struct wdl_gas_array d = {dst[i][0], c->to.blk, c->to.off};
    void *const *sl = c->m ? src_list[i] : NULL, *const *dl = c->m ? dst_list[i] : NULL;
    size_t image = c->everywhere ? WDL_GAS_EVERYWHERE : c->root, f = (size_t) c->op;
    handle[i] =
        c->scan ? wdl_gas_scanM_nb(team[i], dl, d, sl, s, 4, c->n, f, c->op, c->flags)
                : wdl_gas_reduceM_nb(team[i], image, d.base, sl, s, 4, c->n, f, c->op, c->flags);
}

static void drawn(int with_lists)
{
    call = (struct call){.m = with_lists ? (int) draw(2) : 0, .flags = mode(0)};
    size_t units = call.m ? first[r.n] : (size_t) r.n;
    call.root = draw(first[r.n]);
    call.n = 1 + draw(4 * units);
    call.from = deal(units);
    call.to = draw(2) ? deal(units) : call.from;
    lists(call.m, call.flags);
}

static void fold(void)
{
    static uint32_t value[4 * UNITS_MAX + 1];
    drawn(1);
    call.scan = (int) draw(2);
    call.op = (int) draw(FNS);
    call.everywhere = (int) draw(2);
    int exclusive = call.scan && draw(2);
    call.flags |= exclusive ? WDL_COLL_EXCLUSIVE : 0;
    for (size_t g = 0; g < call.n; g++) {
        value[g] = (uint32_t) draw(1u << 30) * 4 + 1;
        *at(src, call.m, &call.from, g) = value[g];
        *at(dst, call.m, &call.to, g) = 12345;
    }
    all_start(fold_start);
    uint32_t sum = 0;
    for (size_t g = 0; g < call.n; g++) {
        uint32_t next = g ? apply(call.op, sum, value[g]) : value[g];
        if (call.scan)
            ck_assert_uint_eq(*at(dst, call.m, &call.to, g), !exclusive ? next : g ? sum : 12345);
        sum = next;
    }
    for (int i = 0; i < r.n && !call.scan; i++)
        if (call.everywhere || (call.root >= first[i] && call.root < first[i + 1]))
            ck_assert_uint_eq(*(uint32_t *) (void *) dst[i][0], sum);
}

static int by_high_bits(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *) a >> 12, y = *(const uint32_t *) b >> 12;
    return x < y ? -1 : x > y;
}

static void sort_start(int i)
{
    const struct call *c = &call;
    struct wdl_gas_array s = {src[i][0], c->from.blk, c->from.off};
    struct wdl_gas_array d = {dst[i][0], c->to.blk, c->to.off};
    handle[i] = wdl_gas_sortM_nb(team[i], c->m ? dst_list[i] : NULL, d, c->m ? src_list[i] : NULL,
                                 s, 4, c->n, by_high_bits, c->flags);
}

/* The low bits say where an element was: equal ones keep their order. */
static void sort(void)
{
    static uint32_t value[4 * UNITS_MAX + 1];
    drawn(1);
    size_t keys = 1 + draw(50);
    for (size_t g = 0; g < call.n; g++) {
        value[g] = (uint32_t) (draw(keys) << 12 | g);
        *at(src, call.m, &call.from, g) = value[g];
    }
    for (size_t g = 1; g < call.n; g++)
        for (size_t k = g; k > 0 && value[k] < value[k - 1]; k--) {
            uint32_t swap = value[k];
            value[k] = value[k - 1];
            value[k - 1] = swap;
        }
    all_start(sort_start);
    for (size_t g = 0; g < call.n; g++)
        ck_assert_uint_eq(*at(dst, call.m, &call.to, g), value[g]);
}

/* --- permute, put, get --- */

static uint32_t perm[UNITS_MAX];

static void permute_start(int i)
{
    const uint32_t *mine =
        call.flags & WDL_COLL_SINGLE ? perm : perm + (call.m ? first[i] : (size_t) i);
    handle[i] = wdl_gas_permuteM_nb(team[i], dst[i][0], call.m ? dst_list[i] : NULL, src[i][0],
                                    call.m ? src_list[i] : NULL, mine, call.bytes, call.flags);
}

static void permute(void)
{
    drawn(1);
    size_t units = call.from.units;
    call.bytes = draw(2) ? 4 : 300;
    for (size_t u = 0; u < units; u++) {
        perm[u] = (uint32_t) u;
        memset(unit_memory(src, call.m, u), (int) (u * 3 + call.n), call.bytes);
    }
    for (size_t u = units - 1; u > 0; u--) {
        size_t v = draw(u + 1);
        uint32_t swap = perm[u];
        perm[u] = perm[v];
        perm[v] = swap;
    }
    all_start(permute_start);
    for (size_t u = 0; u < units; u++)
        for (size_t k = 0; k < call.bytes; k++)
            ck_assert_int_eq(unit_memory(dst, call.m, perm[u])[k], (char) (u * 3 + call.n));
}

/* count[i][j]: blocks between i, who asks, and j, whose memory is named. */
static unsigned count[RANKS_MAX][RANKS_MAX];
static uint32_t nodes[RANKS_MAX][4 * RANKS_MAX], partners[RANKS_MAX][RANKS_MAX];
static void *here[RANKS_MAX][4 * RANKS_MAX], *there[RANKS_MAX][4 * RANKS_MAX];

static void put_start(int i)
{
    struct wdl_gas_put put = {.gets = call.gets, .many = 1, .nodes = nodes[i]};
    for (int j = 0; j < r.n; j++) {
        put.count += count[i][j];
        if (count[j][i])
            partners[i][put.partner_count++] = (uint32_t) j;
    }
    put.dst_list = call.gets ? here[i] : there[i];
    put.src_list = call.gets ? there[i] : here[i];
    put.partners = partners[i];
    put.nbytes = call.bytes;
    handle[i] = wdl_gas_put_nb(team[i], &put, call.flags);
}

static void put(void)
{
    size_t remote[RANKS_MAX] = {0};
    drawn(0);
    call.flags = mode(WDL_COLL_LOCAL);
    call.gets = (int) draw(2);
    call.bytes = draw(2) ? 4 : 200;
    for (int i = 0; i < r.n; i++) {
        size_t own = 0;
        for (int j = 0; j < r.n; j++) {
            count[i][j] = draw(8) ? 0 : (unsigned) draw(4);
            for (unsigned k = 0; k < count[i][j]; k++, own++) {
                char *mine = (call.gets ? dst : src)[i][0] + own * call.bytes;
                char *yours = (call.gets ? src : dst)[j][0] + remote[j]++ * call.bytes;
                nodes[i][own] = (uint32_t) j;
                here[i][own] = mine;
                there[i][own] = yours;
                memset(call.gets ? yours : mine, (int) (i * 5 + (int) own), call.bytes);
            }
        }
    }
    all_start(put_start);
    for (int i = 0; i < r.n; i++) {
        size_t own = 0;
        for (int j = 0; j < r.n; j++)
            for (unsigned k = 0; k < count[i][j]; k++, own++)
                for (size_t b = 0; b < call.bytes; b++)
                    ck_assert_int_eq(((char *) (call.gets ? here : there)[i][own])[b],
                                     (char) (i * 5 + (int) own));
    }
}

/* --- blocks of different sizes, all kinds of moves --- */

static size_t out_bytes[RANKS_MAX][RANKS_MAX], in_bytes[RANKS_MAX][RANKS_MAX];

static void vary_start(int i)
{
    const struct call *c = &call;
    if (c->kind == 0)
        handle[i] = wdl_gas_scatterv_nb(team[i], dst[i][0], c->root, src[i][0], NULL, out_bytes[0],
                                        c->flags);
    else if (c->kind == 1)
        handle[i] = wdl_gas_gatherv_nb(team[i], c->root, dst[i][0], NULL, src[i][0], out_bytes[0],
                                       c->flags);
    else if (c->kind == 2)
        handle[i] =
            wdl_gas_gather_allv_nb(team[i], dst[i][0], NULL, src[i][0], in_bytes[i], c->flags);
    else
        handle[i] = wdl_gas_exchangev_nb(team[i], dst[i][0], NULL, in_bytes[i], src[i][0], NULL,
                                         out_bytes[i], c->flags);
}

/* Block from i to j, in exchangev; else the one block of i, or for it. */
static size_t block(int i, int j)
{
    return call.kind == 3 ? out_bytes[i][j] : out_bytes[0][call.kind == 0 ? j : i];
}

static void vary(void)
{
    drawn(0);
    call.kind = (int) draw(4);
    for (int i = 0; i < r.n; i++)
        for (int j = 0; j < r.n; j++)
            out_bytes[i][j] = draw(3) ? draw(200) : 0;
    for (int i = 0; i < r.n; i++) {
        size_t sum = 0;
        for (int j = 0; j < r.n; j++) {
            int known = (call.flags & WDL_COLL_SINGLE) || (call.kind == 2 && i == j);
            in_bytes[i][j] = known ? block(j, i) : 777;
            if (call.kind == 0 || call.kind == 3) {
                memset(src[i][0] + sum, call.kind ? i * 3 + j : j, block(i, j));
                sum += block(i, j);
            }
        }
        if (call.kind == 1 || call.kind == 2)
            memset(src[i][0], i * 3, block(i, 0));
    }
    all_start(vary_start);
    for (int i = 0; i < r.n; i++) {
        size_t sum = 0;
        int root = call.root >= first[i] && call.root < first[i + 1];
        for (int j = 0; j < r.n && (call.kind != 1 || root); j++) {
            if (call.kind == 0 && j > 0)
                break;
            int value = call.kind == 0 ? i : call.kind == 3 ? j * 3 + i : j * 3;
            for (size_t b = 0; b < block(j, i); b++)
                ck_assert_int_eq(dst[i][0][sum + b], (char) value);
            sum += block(j, i);
            if (call.kind >= 2)
                ck_assert_uint_eq(in_bytes[i][j], block(j, i));
        }
    }
}

static void worlds(uint64_t seeds, const int *sizes, int count_of_sizes)
{
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct wdl_sim_params sim = {.seed = seed,
                                     .ranks = sizes[seed % (uint64_t) count_of_sizes],
                                     .ordered = seed % 2 != 0,
                                     .delay_ns_max = seed % 3 * 2000,
                                     .refuse_permille = seed % 4 == 0 ? 100 : 0,
                                     .pending_permille = 300,
                                     .am_bytes_max = 1024};
        open_world(&sim, seed % 3);
        for (int k = 0; k < 6; k++) {
            fold();
            sort();
            permute();
            put();
            vary();
        }
        close_world();
    }
}

START_TEST(few_ranks)
{
    worlds(12, (int[]){1, 2, 3, 4, 5, 7}, 6);
}
END_TEST

START_TEST(more_ranks_than_links)
{
    worlds(4, (int[]){16, 19, 24, 33}, 4);
}
END_TEST

/* --- aggregates --- */

static uint64_t quiet(void)
{
    while (!wdl_sim_quiescent(r.sim))
        ranks_step(&r);
    for (int k = 0; k < 30 * r.n; k++)
        ranks_step(&r);
    return wdl_sim_counts(r.sim)->sent;
}

static uint64_t broadcasts(int n, int together)
{
    int flags = WDL_COLL_IN_ALLSYNC | WDL_COLL_OUT_ALLSYNC | WDL_COLL_LOCAL;
    wdl_gas_handle all[RANKS_MAX][8];
    uint64_t before = quiet();
    enum wdl_gas_error error;
    for (int i = 0; i < r.n; i++)
        for (int k = 0; k < n; k++) {
            src[0][0][k] = (char) (k + 1);
            all[i][k] =
                wdl_gas_broadcast_nb(team[i], dst[i][0] + k, 0, src[0][0] + k, 1,
                                     flags | (together && k < n - 1 ? WDL_GAS_AGGREGATE : 0));
            ck_assert(!together || k == n - 1 || !all[i][k]);
        }
    for (int i = 0; i < r.n; i++)
        for (int k = 0; k < n; k++)
            while (!wdl_gas_try_sync(all[i][k], &error))
                ranks_step(&r);
    for (int i = 0; i < r.n; i++)
        for (int k = 0; k < n; k++)
            ck_assert_int_eq(dst[i][0][k], k + 1);
    return quiet() - before;
}

/* k broadcasts that synchronize all: 4 messages a rank but one each (up, down, up, down); as an
 * aggregate, two barriers and one broadcast whatever k is. */
START_TEST(an_aggregate_synchronizes_once)
{
    struct wdl_sim_params sim = {.seed = 3, .ranks = 8, .ordered = 1, .am_bytes_max = 1024};
    open_world(&sim, 1);
    (void) broadcasts(1, 0);
    (void) broadcasts(8, 1);
    ck_assert_uint_eq(broadcasts(8, 0), 8 * 4 * 7);
    ck_assert_uint_eq(broadcasts(8, 1), 2 * 8 * 3 + 7);
    close_world();
}
END_TEST

/* --- whom a late rank delays --- */

static int done_without(int late, void (*start)(int i))
{
    int done = 0;
    enum wdl_gas_error error;
    for (int i = 0; i < r.n; i++)
        if (i != late)
            start(i);
    for (int k = 0; k < 400 * r.n; k++)
        ranks_step(&r);
    for (int i = 0; i < r.n; i++)
        if (i != late && wdl_gas_try_sync(handle[i], &error)) {
            handle[i] = NULL;
            done++;
        }
    start(late);
    for (int i = 0; i < r.n; i++)
        while (handle[i] && !wdl_gas_try_sync(handle[i], &error))
            ranks_step(&r);
    memset(handle, 0, sizeof(handle));
    return done;
}

/* An element a rank, to rank 0 */
static void reduce_start(int i)
{
    struct wdl_gas_array s = {src[i][0], 1, 0};
    handle[i] =
        wdl_gas_reduceM_nb(team[i], 0, dst[i][0], NULL, s, 4, (size_t) r.n, SUM, SUM, call.flags);
}

static void neighbour_start(int i)
{
    uint32_t partner = (uint32_t) ((i + r.n - 1) % r.n);
    struct wdl_gas_put put = {.node = (uint32_t) ((i + 1) % r.n),
                              .dst = dst[(i + 1) % r.n][0],
                              .src = src[i][0],
                              .partners = &partner,
                              .partner_count = 1,
                              .nbytes = 4};
    handle[i] = wdl_gas_put_nb(team[i], &put, call.flags);
}

START_TEST(a_late_rank_delays_whom_it_must)
{
    struct wdl_sim_params sim = {.seed = 4, .ranks = 8, .ordered = 1, .am_bytes_max = 1024};
    int late = 7, weak = WDL_COLL_IN_NOSYNC | WDL_COLL_OUT_NOSYNC | WDL_COLL_LOCAL;
    int mine = WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_MYSYNC | WDL_COLL_LOCAL;
    open_world(&sim, 1);
    (void) broadcasts(1, 0);
    call.flags = weak;
    ck_assert_int_eq(done_without(late, reduce_start), 6); /* all but the root */
    call.flags = WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_ALLSYNC | WDL_COLL_LOCAL;
    ck_assert_int_eq(done_without(late, reduce_start), 0);
    call.flags = WDL_COLL_IN_ALLSYNC | WDL_COLL_OUT_MYSYNC | WDL_COLL_LOCAL;
    ck_assert_int_eq(done_without(late, reduce_start), 0);
    call.flags = mine; /* rank 0 waits for what rank 7 puts there */
    ck_assert_int_eq(done_without(late, neighbour_start), 6);
    close_world();
}
END_TEST

/* --- handles, teams --- */

START_TEST(dead_handles_are_told)
{
    struct wdl_sim_params sim = {.seed = 4, .ranks = 1, .ordered = 1, .am_bytes_max = 1024};
    enum wdl_gas_error error;
    open_world(&sim, 1);
    wdl_gas_handle h = wdl_gas_barrier_nb(team[0]);
    while (!wdl_gas_try_sync(h, &error))
        ranks_step(&r);
    ck_assert_int_eq(error, WDL_GAS_FINE);
    ck_assert_int_eq(wdl_gas_try_sync(h, &error), 1);
    ck_assert_int_eq(error, WDL_GAS_ERR_HANDLE);
    wdl_gas_handle other = wdl_gas_barrier_nb(team[0]); /* in the same memory */
    ck_assert_int_eq(wdl_gas_try_sync(h, &error), 1);
    ck_assert_int_eq(error, WDL_GAS_ERR_HANDLE);
    while (!wdl_gas_try_sync(other, &error))
        ranks_step(&r);
    ck_assert_int_eq(wdl_gas_try_sync(NULL, &error), 1);
    close_world();
}
END_TEST

START_TEST(teams_of_teams)
{
    struct wdl_sim_params sim = {.seed = 8, .ranks = 9, .delay_ns_max = 3000, .am_bytes_max = 1024};
    struct wdl_gas_team *part[RANKS_MAX];
    open_world(&sim, 0);
    for (int i = 0; i < r.n; i++)
        handle[i] = wdl_gas_team_split_nb(team[i], i % 3, r.n - i, &part[i]);
    finish();
    for (int i = 0; i < r.n; i++) {
        ck_assert_int_eq(wdl_gas_team_size(part[i]), 3);
        ck_assert_int_eq(wdl_gas_team_rank(part[i]), 2 - i / 3);
        ck_assert_int_eq(wdl_gas_team_peer(part[i], 0), 6 + i % 3);
        memset(src[i][0], i, 8);
        handle[i] = wdl_gas_gather_all_nb(part[i], dst[i][0], src[i][0], 8, WDL_COLL_MPI);
    }
    finish();
    for (int i = 0; i < r.n; i++)
        for (int k = 0; k < 3; k++)
            ck_assert_int_eq(dst[i][0][8 * k], wdl_gas_team_peer(part[i], k));
    for (int i = 0; i < r.n; i++)
        while (wdl_gas_team_destroy(part[i]) == WDL_AGAIN)
            ranks_step(&r);
    close_world();
}
END_TEST

WDL_SUITE("mpid/coll/gasnet", few_ranks, more_ranks_than_links, an_aggregate_synchronizes_once,
          a_late_rank_delays_whom_it_must, dead_handles_are_told, teams_of_teams)
