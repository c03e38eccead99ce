/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * reduce, reduce_all and scan of gasnet_coll.h against a loop: arrays dealt in any blocks from any
 * offset, to nodes and to images, sources and destinations alike or not; operators that commute, do
 * not, and may not even be grouped; vectors; all synchronization modes. The operator that does not
 * commute joins intervals that touch: a wrong order is an interval nobody asked for.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <gasnet_coll.h>
#include "alike.h"

enum { IMAGES_MAX = 3, UNITS_MAX = 64 * IMAGES_MAX };
enum op { SUM, JOIN, SERIAL, OPS };

struct elem { /* SUM: both are sums; JOIN: an interval; SERIAL: from the left */
    uint64_t a, b;
};

static const struct elem broken = {~0ull, ~0ull};

static struct elem apply(int op, struct elem x, struct elem y)
{
    switch (op) {
    case SUM:
        return (struct elem){x.a + y.a, x.b + y.b};
    case JOIN:
        return x.b == y.a && x.b != broken.a ? (struct elem){x.a, y.b} : broken;
    default:
        return (struct elem){x.a * 31 + y.a, x.b * 7 + y.b};
    }
}

static void fn(void *results, size_t result_count, const void *left_operands, size_t left_count,
               const void *right_operands, size_t elem_size, int flags, int arg)
{
    struct elem *r = results;
    const struct elem *x = left_operands, *y = right_operands;
    t_check(elem_size == sizeof *r && result_count == left_count, "sizes");
    t_check(!(flags & GASNET_COLL_NONASSOC) == (arg != SERIAL), "flags %x of %d", flags, arg);
    for (size_t i = 0; i < result_count; i++)
        r[i] = apply(arg, x[i], y[i]);
}

static gasnet_coll_fn_entry_t table[OPS] = {{fn, 0},
                                            {fn, GASNET_COLL_NONCOMM},
                                            {fn, GASNET_COLL_NONCOMM | GASNET_COLL_NONASSOC}};

static unsigned images_each; /* 0: 1, 2, 3, 1, ... */

static unsigned images_of(int node)
{
    return images_each ? images_each : 1 + (unsigned) node % IMAGES_MAX;
}

static unsigned first[65];

struct array { /* dealt to units */
    size_t blk, off, units;
};

static void where(const struct array *a, size_t g, size_t *unit, size_t *place)
{
    if (a->blk == 0) {
        *unit = a->off;
        *place = g;
        return;
    }
    size_t index = g + a->off, block = index / a->blk;
    *unit = block % a->units;
    *place = block / a->units * a->blk + index % a->blk;
}

struct run {
    int scan, m, all, op, exclusive, flags, same;
    size_t n, vector; /* vector > 0: ELEMENTWISE */
    struct array src, dst;
    unsigned root;
};

static struct elem value(const struct run *r, size_t g, size_t k)
{
    uint64_t x = t_random(r->n, g * 1000 + k);
    return r->op == JOIN ? (struct elem){g, g + 1} : (struct elem){x, x >> 3};
}

/* The expected prefixes with their own element, all `n * vector` of them. */
static struct elem *expected(const struct run *r, size_t n, size_t width)
{
    struct elem *e = t_alloc(n * width * sizeof *e);
    for (size_t k = 0; k < width; k++)
        for (size_t g = 0; g < n; g++) {
            struct elem v = value(r, g, k);
            e[g * width + k] = g ? apply(r->op, e[(g - 1) * width + k], v) : v;
        }
    return e;
}

static int equal(struct elem x, struct elem y)
{
    return x.a == y.a && x.b == y.b;
}

enum { ROOM = 4096 };

static struct elem *src_memory[IMAGES_MAX], *dst_memory[IMAGES_MAX];

static gasnet_coll_handle_t start(const struct run *r, void **src_list, void **dst_list)
{
    gasnet_team_handle_t t = GASNET_TEAM_ALL;
    size_t e = sizeof(struct elem), n = r->vector ? r->vector : r->n;
    size_t sb = r->vector ? 0 : r->src.blk, so = r->vector ? 0 : r->src.off;
    size_t db = r->vector ? 0 : r->dst.blk, d = r->vector ? 0 : r->dst.off;
    void *src = src_memory[0], *dst = dst_memory[0];
    size_t op = (size_t) r->op;
    if (r->scan)
        return r->m ? gasnet_coll_scanM_nb(t, dst_list, db, d, src_list, sb, so, e, n, op, r->op,
                                           r->flags)
                    : gasnet_coll_scan_nb(t, dst, db, d, src, sb, so, e, n, op, r->op, r->flags);
    if (r->all)
        return r->m
                   ? gasnet_coll_reduce_allM_nb(t, dst, src_list, sb, so, e, n, op, r->op, r->flags)
                   : gasnet_coll_reduce_all_nb(t, dst, src, sb, so, e, n, op, r->op, r->flags);
    return r->m ? gasnet_coll_reduceM_nb(t, r->root, dst, src_list, sb, so, e, n, op, r->op,
                                         r->flags)
                : gasnet_coll_reduce_nb(t, r->root, dst, src, sb, so, e, n, op, r->op, r->flags);
}

static void fence(void)
{
    gasnet_coll_barrier(GASNET_TEAM_ALL, 0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static void verify(const struct run *r, const struct elem *e, size_t n, size_t width)
{
    size_t own_first = r->m ? first[t_rank] : (size_t) t_rank, unit, place, wrong = 0;
    size_t own = r->m ? images_of(t_rank) : 1;
    if (!r->scan) {
        int here = r->all || (r->root >= first[t_rank] && r->root < first[t_rank + 1]);
        for (size_t k = 0; k < width && here; k++)
            wrong += !equal(dst_memory[0][k], e[(n - 1) * width + k]);
    }
    for (size_t g = 0; g < n && r->scan; g++) {
        where(&r->dst, g, &unit, &place);
        if (unit < own_first || unit >= own_first + own)
            continue;
        for (size_t k = 0; k < width; k++) {
            struct elem got = dst_memory[unit - own_first][place * width + k], want;
            if (!r->exclusive)
                want = e[g * width + k];
            else if (g)
                want = e[(g - 1) * width + k];
            else
                want = r->same ? value(r, 0, k) : (struct elem){77, 88};
            wrong += !equal(got, want);
        }
    }
    t_check(wrong == 0,
            "%s%s: op %d, n %zu, vector %zu, src %zu+%zu, dst %zu+%zu, root %u, exclusive %d, in "
            "place %d, flags %x: %zu wrong",
            r->scan  ? "scan"
            : r->all ? "reduce_all"
                     : "reduce",
            r->m ? "M" : "", r->op, r->n, r->vector, r->src.blk, r->src.off, r->dst.blk, r->dst.off,
            r->root, r->exclusive, r->same, r->flags, wrong);
}

static void run_one(struct run *r)
{
    size_t n = r->vector ? r->src.units : r->n, width = r->vector ? r->vector : 1, unit, place;
    size_t own_first = r->m ? first[t_rank] : (size_t) t_rank, own = r->m ? images_of(t_rank) : 1;
    void *src_list[UNITS_MAX] = {0}, *dst_list[UNITS_MAX] = {0};
    struct elem *e = expected(r, n, width), *dst_room[IMAGES_MAX];
    memcpy(dst_room, dst_memory, sizeof dst_room);
    if (r->same)
        memcpy(dst_memory, src_memory, sizeof dst_room);
    for (int i = 0; i < IMAGES_MAX; i++)
        for (size_t k = 0; k < ROOM; k++)
            dst_memory[i][k] = (struct elem){77, 88};
    for (size_t g = 0; g < n; g++) {
        where(&r->src, g, &unit, &place);
        if (unit >= own_first && unit < own_first + own)
            for (size_t k = 0; k < width; k++)
                src_memory[unit - own_first][place * width + k] = value(r, g, k);
    }
    int single = r->flags & GASNET_COLL_SINGLE; /* alike on all nodes */
    for (int node = 0; node < t_size && r->m; node++)
        for (size_t i = 0; i < images_of(node) && (single || node == t_rank); i++) {
            src_list[(single ? first[node] : 0) + i] = src_memory[i];
            dst_list[(single ? first[node] : 0) + i] = dst_memory[i];
        }
    fence();
    gasnet_coll_wait_sync(start(r, src_list, dst_list));
    if (r->flags & GASNET_COLL_OUT_NOSYNC)
        fence();
    verify(r, e, n, width);
    fence();
    memcpy(dst_memory, dst_room, sizeof dst_room);
    free(e);
}

static size_t draw(uint64_t *k, size_t below)
{
    return t_random(3, (*k)++) % below;
}

static struct array deal(uint64_t *k, size_t units)
{
    struct array a = {draw(k, 6), 0, units};
    if (a.blk == 5)
        a.blk = 40;
    a.off = draw(k, a.blk ? 2 * a.blk * units + 1 : units);
    return a;
}

static void runs(int count, uint64_t seed)
{
    uint64_t k = seed * 1000000;
    for (int i = 0; i < count; i++) {
        struct run r = {.m = (int) draw(&k, 2)};
        size_t units = r.m ? first[t_size] : (size_t) t_size;
        r.scan = (int) draw(&k, 2);
        r.all = (int) draw(&k, 2);
        r.op = (int) draw(&k, OPS);
        r.n = 1 + draw(&k, 100);
        r.root = (unsigned) draw(&k, first[t_size]);
        r.src = deal(&k, units);
        r.dst = draw(&k, 2) ? deal(&k, units) : r.src;
        r.exclusive = r.scan && draw(&k, 3) == 0;
        r.same = r.scan && r.dst.blk == r.src.blk && r.dst.off == r.src.off && draw(&k, 2);
        if (draw(&k, 5) == 0) {
            r.vector = 1 + draw(&k, 300);
            r.src = r.dst = (struct array){1, 0, units};
            r.flags = GASNET_COLL_ELEMENTWISE;
        }
        r.flags |= GASNET_COLL_IN_NOSYNC << draw(&k, 3) | GASNET_COLL_OUT_NOSYNC << draw(&k, 3);
        r.flags |= draw(&k, 2) ? GASNET_COLL_SINGLE : GASNET_COLL_LOCAL;
        r.flags |= r.exclusive ? GASNET_COLL_SCAN_EXCLUSIVE : 0;
        run_one(&r);
    }
}

int main(int argc, char **argv)
{
    gasnet_image_t images[64];
    t_begin(&argc, &argv);
    images_each = argc > 1 ? (unsigned) atoi(argv[1]) : 0;
    for (int i = 0; i < t_size && i < 64; i++) {
        images[i] = images_of(i);
        first[i + 1] = first[i] + images[i];
    }
    size_t all = 2 * (size_t) IMAGES_MAX * ROOM * sizeof(struct elem);
    struct elem *memory = (struct elem *) (void *) t_alike(all);
    for (int i = 0; i < IMAGES_MAX; i++) {
        src_memory[i] = memory + 2 * i * ROOM;
        dst_memory[i] = memory + (2 * i + 1) * ROOM;
    }
    gasnet_coll_init(images, 0, table, OPS, 0);
    runs(400, 1);
    munmap(memory, all);
    return t_end();
}
