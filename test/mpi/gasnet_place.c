/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * permute, put and get with partner lists, the calls with blocks of different sizes, and sort, of
 * gasnet_coll.h, against what each says, with random shapes, in all synchronization modes.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <gasnet_coll.h>
#include "alike.h"

enum { IMAGES_MAX = 3, UNITS_MAX = 64 * IMAGES_MAX, ROOM = 200000 };

static unsigned images_of(int node)
{
    return 1 + (unsigned) node % IMAGES_MAX;
}

static unsigned first[65];
static uint64_t drawn; /* the same on all ranks */

static size_t draw(size_t below)
{
    return t_random(17, drawn++) % below;
}

static char pattern(uint64_t stamp, uint64_t from, uint64_t to, size_t k)
{
    return (char) t_random(stamp * 1000003 + from * 1009 + to, k);
}

static void fill(char *at, uint64_t stamp, uint64_t from, uint64_t to, size_t bytes)
{
    for (size_t k = 0; k < bytes; k++)
        at[k] = pattern(stamp, from, to, k);
}

static size_t wrong(const char *at, uint64_t stamp, uint64_t from, uint64_t to, size_t bytes)
{
    size_t n = 0;
    for (size_t k = 0; k < bytes; k++)
        n += at[k] != pattern(stamp, from, to, k);
    return n;
}

static int mode(int scope)
{
    int flags = GASNET_COLL_IN_NOSYNC << draw(3) | GASNET_COLL_OUT_NOSYNC << draw(3);
    return flags | (scope ? scope : draw(2) ? GASNET_COLL_SINGLE : GASNET_COLL_LOCAL);
}

static void fence(void)
{
    gasnet_coll_barrier(GASNET_TEAM_ALL, 0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static void wait_for(gasnet_coll_handle_t handle, int flags)
{
    gasnet_coll_wait_sync(handle);
    if (flags & GASNET_COLL_OUT_NOSYNC)
        fence();
}

static size_t size_drawn(void)
{
    static const size_t size[] = {1, 8, 100, 257, 5000, 40000};
    return size[draw(sizeof size / sizeof size[0])];
}

static char *src, *dst; /* alike on all nodes */

/* An address for each image: of the own ones, or of all. */
static void lists(int flags, size_t each, char *from, void **src_list, char *to, void **dst_list)
{
    int single = flags & GASNET_COLL_SINGLE;
    for (int node = 0; node < t_size; node++)
        for (size_t i = 0; i < images_of(node) && (single || node == t_rank); i++) {
            src_list[(single ? first[node] : 0) + i] = from + i * each;
            dst_list[(single ? first[node] : 0) + i] = to + i * each;
        }
}

/* --- permute --- */

static void permute(void)
{
    gasnet_image_t perm[UNITS_MAX];
    int m = (int) draw(2), flags = mode(0);
    unsigned units = m ? first[t_size] : (unsigned) t_size;
    unsigned own_first = m ? first[t_rank] : (unsigned) t_rank, own = m ? images_of(t_rank) : 1;
    size_t n = size_drawn();
    uint64_t stamp = drawn;
    void *src_list[UNITS_MAX] = {0}, *dst_list[UNITS_MAX] = {0};
    for (unsigned i = 0; i < units; i++)
        perm[i] = i;
    for (unsigned i = units - 1; i > 0; i--) {
        unsigned j = (unsigned) draw(i + 1), swap = perm[i];
        perm[i] = perm[j];
        perm[j] = swap;
    }
    lists(flags, n, src, src_list, dst, dst_list);
    for (unsigned i = 0; i < own; i++)
        fill(src + i * n, stamp, own_first + i, 0, n);
    memset(dst, 0, ROOM);
    const gasnet_image_t *mine = flags & GASNET_COLL_SINGLE ? perm : perm + own_first;
    fence();
    wait_for(m ? gasnet_coll_permuteM_nb(GASNET_TEAM_ALL, dst_list, src_list, mine, n, flags)
               : gasnet_coll_permute_nb(GASNET_TEAM_ALL, dst, src, mine, n, flags),
             flags);
    for (unsigned i = 0; i < units; i++)
        if (perm[i] >= own_first && perm[i] < own_first + own)
            t_check(!wrong(dst + (perm[i] - own_first) * n, stamp, i, 0, n),
                    "permute%s of %zu bytes, flags %x: image %u to %u", m ? "M" : "", n, flags, i,
                    perm[i]);
}

/* --- put, get --- */

/* Every rank knows every rank's list: how many blocks rank i has for, or wants of, rank j. */
static void put(void)
{
    static gasnet_node_t partners[64], nodes[64 * 4];
    static void *dst_list[64 * 4], *src_list[64 * 4];
    unsigned count[64][64], arrive[64], at[64];
    uint64_t address[64];
    int gets = (int) draw(2), many = (int) draw(2), flags = mode(GASNET_COLL_LOCAL);
    int everybody = many && draw(4) == 0;
    size_t n = draw(3) ? 1 + draw(300) : 5000, own = 0, partner_count = 0, listed = 0;
    uint64_t stamp = drawn, base = (uint64_t) (uintptr_t) (gets ? src : dst);
    MPI_Allgather(&base, 1, MPI_UINT64_T, address, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    memset(arrive, 0, sizeof arrive);
    memset(at, 0, sizeof at);
    for (int i = 0; i < t_size; i++) {
        unsigned one = (unsigned) draw((size_t) t_size);
        for (int j = 0; j < t_size; j++) {
            count[i][j] = many ? (unsigned) (draw(3) ? 0 : draw(4)) : one == (unsigned) j;
            if (everybody && !count[i][j])
                count[i][j] = 1;
        }
    }
    /* where in the remote memory the blocks of rank i begin */
    for (int j = 0; j < t_size; j++)
        for (int i = 0; i < t_size; i++) {
            if (i == t_rank)
                at[j] = arrive[j];
            arrive[j] += count[i][j];
        }
    for (int i = 0; i < t_size; i++)
        if (count[i][t_rank])
            partners[partner_count++] = (gasnet_node_t) i;
    memset(dst, 0, ROOM);
    size_t room = ROOM / n;
    for (int j = 0; j < t_size; j++)
        for (unsigned k = 0; k < count[t_rank][j] && own < room; k++, own++) {
            char *remote = (char *) (uintptr_t) address[j] + (at[j] + k) * n;
            nodes[own] = (gasnet_node_t) j;
            dst_list[own] = gets ? dst + own * n : remote;
            src_list[own] = gets ? remote : src + own * n;
            if (!gets)
                fill(src + own * n, stamp, (unsigned) t_rank, (unsigned) j * 100 + k, n);
        }
    for (int i = 0; i < t_size; i++)
        for (unsigned k = 0; k < count[i][t_rank]; k++, listed++)
            if (gets)
                fill(src + listed * n, stamp, (unsigned) i, (unsigned) t_rank * 100 + k, n);
    gasnet_team_handle_t t = GASNET_TEAM_ALL;
    const gasnet_node_t *list = everybody ? NULL : partners;
    fence();
    if (many)
        wait_for(gets ? gasnet_coll_getM_nb(t, dst_list, nodes, src_list, own, list, partner_count,
                                            n, flags)
                      : gasnet_coll_putM_nb(t, nodes, dst_list, src_list, own, list, partner_count,
                                            n, flags),
                 flags);
    else
        wait_for(gets ? gasnet_coll_get_nb(t, dst_list[0], nodes[0], src_list[0], list,
                                           partner_count, n, flags)
                      : gasnet_coll_put_nb(t, nodes[0], dst_list[0], src_list[0], list,
                                           partner_count, n, flags),
                 flags);
    size_t bad = 0, block = 0;
    for (int other = 0; other < t_size; other++)
        for (unsigned k = 0; k < (gets ? count[t_rank][other] : count[other][t_rank]); k++, block++)
            bad += gets ? wrong(dst + block * n, stamp, (unsigned) t_rank,
                                (unsigned) other * 100 + k, n)
                        : wrong(dst + block * n, stamp, (unsigned) other,
                                (unsigned) t_rank * 100 + k, n);
    t_check(bad == 0, "%s%s of %zu bytes, flags %x: %zu bytes are wrong", gets ? "get" : "put",
            many ? "M" : "", n, flags, bad);
}

/* --- blocks of different sizes --- */

static void vary(void)
{
    static const char *const name[] = {"scatterv", "gatherv", "gather_allv", "exchangev"};
    size_t bytes[64][64], out[64], in[64], out_at[64], in_at[64], got[64];
    int kind = (int) draw(4), flags = mode(0), spread = (int) draw(2);
    unsigned image = (unsigned) draw(first[t_size]), root = 0;
    uint64_t stamp = drawn;
    size_t sum_out = 0, sum_in = 0, bad = 0;
    while (first[root + 1] <= image)
        root++;
    for (int i = 0; i < t_size; i++)
        for (int j = 0; j < t_size; j++)
            bytes[i][j] = draw(3) ? draw(700) : 0;
    int gives = kind == 3 || kind != 0 || (int) root == t_rank;
    for (int i = 0; i < t_size; i++) {
        /* scatterv, gatherv, gather_allv: bytes[0][i] is of block i */
        out[i] = kind == 3 ? bytes[t_rank][i] : bytes[0][i];
        in[i] = kind == 3 ? bytes[i][t_rank] : bytes[0][i];
        out_at[i] = sum_out;
        in_at[i] = sum_in;
        sum_out += out[i] + (spread ? 3 : 0);
        sum_in += in[i] + (spread ? 5 : 0);
        if (gives && (kind == 0 || kind == 3))
            fill(src + out_at[i], stamp, kind ? (unsigned) t_rank : 0, (unsigned) i, out[i]);
    }
    if (kind == 1 || kind == 2)
        fill(src, stamp, (unsigned) t_rank, 0, bytes[0][t_rank]);
    memset(dst, 0, ROOM);
    memcpy(got, in, sizeof got);
    if (flags & GASNET_COLL_LOCAL)
        for (int i = 0; i < t_size; i++)
            got[i] = kind == 3 || (kind == 2 && i != t_rank) ? 12345 : got[i];
    gasnet_team_handle_t t = GASNET_TEAM_ALL;
    const size_t *oa = spread ? out_at : NULL, *ia = spread ? in_at : NULL;
    fence();
    wait_for(kind == 0   ? gasnet_coll_scatterv_nb(t, dst, image, src, oa, out, flags)
             : kind == 1 ? gasnet_coll_gatherv_nb(t, image, dst, ia, src, in, flags)
             : kind == 2 ? gasnet_coll_gather_allv_nb(t, dst, ia, src, got, flags)
                         : gasnet_coll_exchangev_nb(t, dst, ia, got, src, oa, out, flags),
             flags);
    if (kind == 0)
        bad = wrong(dst, stamp, 0, (unsigned) t_rank, out[t_rank]);
    for (int i = 0; i < t_size && kind > 0; i++) {
        if (kind != 1 || (int) root == t_rank)
            bad += wrong(dst + in_at[i], stamp, (unsigned) i, kind == 3 ? (unsigned) t_rank : 0,
                         in[i]);
        bad += kind > 1 && got[i] != in[i];
    }
    t_check(bad == 0, "%s, root %u, flags %x: %zu are wrong", name[kind], root, flags, bad);
}

/* --- sort --- */

struct deal {
    size_t blk, off, units;
};

static void where(const struct deal *d, size_t g, size_t *unit, size_t *place)
{
    size_t index = g + d->off, block = d->blk ? index / d->blk : 0;
    *unit = d->blk ? block % d->units : d->off;
    *place = d->blk ? block / d->units * d->blk + index % d->blk : g;
}

static struct deal deal(size_t units)
{
    struct deal d = {draw(5), 0, units};
    if (d.blk == 4)
        d.blk = 60;
    d.off = draw(d.blk ? 2 * d.blk * units + 1 : units);
    return d;
}

static size_t key_bytes, elem_bytes;

static int by_key(const void *a, const void *b)
{
    return memcmp(a, b, key_bytes);
}

/* An element: a key, of few values or of many, and a number that says where it was. */
static void element(char *at, uint64_t stamp, size_t g, int few)
{
    uint64_t key = t_random(stamp, g);
    memset(at, 0, elem_bytes);
    if (few)
        key %= 3;
    memcpy(at, &key, key_bytes);
    for (size_t i = key_bytes; i < elem_bytes && i < key_bytes + 2; i++)
        at[i] = (char) (g >> 8 * (i - key_bytes));
}

static void sort(void)
{
    int m = (int) draw(2), flags = mode(0), few = (int) draw(2);
    size_t units = m ? first[t_size] : (size_t) t_size, n = 1 + draw(draw(2) ? 3 : 400);
    size_t own_first = m ? first[t_rank] : (size_t) t_rank, own = m ? images_of(t_rank) : 1;
    struct deal from = deal(units), to = draw(2) ? deal(units) : from;
    int same = from.blk == to.blk && from.off == to.off && draw(2);
    uint64_t stamp = drawn;
    void *src_list[UNITS_MAX] = {0}, *dst_list[UNITS_MAX] = {0};
    size_t unit, place, each = ROOM / IMAGES_MAX, bad = 0;
    char *into = same ? src : dst;
    key_bytes = 1 + draw(8);
    elem_bytes = key_bytes + 2 + draw(6);
    char *all = t_alloc(n * elem_bytes), *swap = t_alloc(elem_bytes);
    for (size_t g = 0; g < n; g++) {
        element(all + g * elem_bytes, stamp, g, few);
        where(&from, g, &unit, &place);
        if (unit >= own_first && unit < own_first + own)
            memcpy(src + (unit - own_first) * each + place * elem_bytes, all + g * elem_bytes,
                   elem_bytes);
    }
    for (size_t i = 1; i < n; i++) /* by insertion: stable */
        for (size_t j = i; j > 0; j--) {
            char *x = all + (j - 1) * elem_bytes, *y = x + elem_bytes;
            if (by_key(x, y) <= 0)
                break;
            memcpy(swap, x, elem_bytes);
            memcpy(x, y, elem_bytes);
            memcpy(y, swap, elem_bytes);
        }
    lists(flags, each, src, src_list, into, dst_list);
    fence();
    wait_for(m ? gasnet_coll_sortM_nb(GASNET_TEAM_ALL, dst_list, to.blk, to.off, src_list, from.blk,
                                      from.off, elem_bytes, n, by_key, flags)
               : gasnet_coll_sort_nb(GASNET_TEAM_ALL, into, to.blk, to.off, src, from.blk, from.off,
                                     elem_bytes, n, by_key, flags),
             flags);
    for (size_t g = 0; g < n; g++) {
        where(&to, g, &unit, &place);
        if (unit >= own_first && unit < own_first + own)
            bad += memcmp(into + (unit - own_first) * each + place * elem_bytes,
                          all + g * elem_bytes, elem_bytes) != 0;
    }
    t_check(bad == 0,
            "sort%s of %zu elements of %zu bytes, %zu+%zu to %zu+%zu, flags %x: %zu wrong",
            m ? "M" : "", n, elem_bytes, from.blk, from.off, to.blk, to.off, flags, bad);
    free(all);
    free(swap);
}

int main(int argc, char **argv)
{
    gasnet_image_t images[64];
    t_begin(&argc, &argv);
    for (int i = 0; i < t_size && i < 64; i++) {
        images[i] = images_of(i);
        first[i + 1] = first[i] + images[i];
    }
    src = t_alike(2 * ROOM);
    dst = src + ROOM;
    gasnet_coll_init(images, 0, NULL, 0, 0);
    for (int i = 0; i < 40; i++) {
        permute();
        fence();
        put();
        fence();
        vary();
        fence();
        sort();
        fence();
    }
    munmap(src, 2 * ROOM);
    return t_end();
}
