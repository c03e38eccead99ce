/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * GASNet's collectives in simulated worlds: more ranks than there are links, messages late and out
 * of order, a network that refuses; against loops.
 */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/gasnet_ranks.h"
#include "support/suite.h"

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
    call = (struct call){.m = with_lists ? (int) draw(2) : 0, .flags = draw_flags(0)};
    size_t units = call.m ? first[r.n] : (size_t) r.n;
    call.root = draw(first[r.n]);
    call.n = 1 + draw(4 * units);
    call.from = deal(units);
    call.to = draw(2) ? deal(units) : call.from;
    gasnet_lists(call.m, call.flags);
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
    gasnet_all(fold_start);
    uint32_t sum = 0;
    for (size_t g = 0; g < call.n; g++) {
        uint32_t next = g ? gasnet_apply(call.op, sum, value[g]) : value[g];
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
    gasnet_all(sort_start);
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
    gasnet_all(permute_start);
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
    call.flags = draw_flags(WDL_COLL_LOCAL);
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
    gasnet_all(put_start);
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
    gasnet_all(vary_start);
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
        gasnet_open(&sim, seed % 3);
        for (int k = 0; k < 6; k++) {
            fold();
            sort();
            permute();
            put();
            vary();
        }
        gasnet_close();
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

WDL_SUITE("mpid/coll/gasnet_fold", few_ranks, more_ranks_than_links)
