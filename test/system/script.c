/* Part of Windlass. See COPYRIGHT in the top-level directory. The scripts of the simulated worlds,
 * and their shadows. */
#include <stdlib.h>
#include <string.h>
#include "base/assert.h"
#include "system/world.h"

static struct memo *memo_new(struct world *w)
{
    struct memo *m = calloc(1, sizeof(*m));
    wdl_assert(m);
    m->next = w->memos;
    w->memos = m;
    return m;
}

void *world_memory(struct world *w, size_t bytes)
{
    struct memo *m = memo_new(w);
    m->data = calloc(1, bytes ? bytes : 1);
    wdl_assert(m->data);
    return m->data;
}

size_t world_region(const struct world *w, int half, int k)
{
    return (size_t) (half * w->fan + k) * (size_t) w->options.region;
}

size_t world_cells(const struct world *w, int half)
{
    return world_region(w, 2, 0) + (size_t) half * CELLS;
}

size_t world_misc(const struct world *w)
{
    return world_cells(w, 2);
}

static int draw(struct world *w, int bound)
{
    return (int) wdl_prng_below(&w->prng, (uint64_t) bound);
}

static struct step *add(struct world *w, int o, enum step_kind kind)
{
    struct rank *r = &w->ranks[o];
    if (r->nsteps == r->room) {
        r->room = r->room ? 2 * r->room : 64;
        r->steps = realloc(r->steps, (size_t) r->room * sizeof(r->steps[0]));
        wdl_assert(r->steps);
    }
    struct step *s = &r->steps[r->nsteps++];
    memset(s, 0, sizeof(*s));
    s->kind = kind;
    return s;
}

static void add_all(struct world *w, enum step_kind kind, int flag)
{
    for (int o = 0; o < w->n; o++)
        add(w, o, kind)->flag = flag;
}

/* Nothing here stores into the own window: that may be said, and need not. */
static int nostore(struct world *w)
{
    return draw(w, 2) ? WDL_MODE_NOSTORE : 0;
}

/* On all ranks, some of which say besides that they have stored nothing. */
static void add_fences(struct world *w, int mode)
{
    for (int o = 0; o < w->n; o++)
        add(w, o, STEP_FENCE)->mode = mode | nostore(w);
}

static struct wdl_buf buf_of(struct world *w, void *addr, int64_t count, wdl_type type)
{
    const struct wdl_host_ops *ops = w->ranks[0].host.host.ops;
    struct wdl_buf buf = {.addr = addr,.count = count,.type = type };
    int status = ops->type_bounds(NULL, type, count, &buf.lo, &buf.hi, &buf.bytes);
    wdl_assert_cmp(status, ==, WDL_OK);
    buf.contig = (size_t) (buf.hi - buf.lo) == buf.bytes;
    return buf;
}

/* A type of rank o, the one it has made already or another one alike. */
static wdl_type vector(struct world *w, int o, enum test_type element, int blocks, int block,
                       int stride)
{
    const int shape[4] = {(int) element, blocks, block, stride};
    int again = wdl_prng_chance(&w->prng, 700);
    struct memo *m;
    for (m = w->ranks[o].types; m && again; m = m->type_next)
        if (memcmp(m->shape, shape, sizeof(shape)) == 0)
            return m->type;
    m = memo_new(w);
    m->type_next = w->ranks[o].types;
    w->ranks[o].types = m;
    m->host = &w->ranks[o].host;
    memcpy(m->shape, shape, sizeof(shape));
    m->type = test_type_vector(m->host, element, blocks, block, stride);
    return m->type;
}

static int neighbour(const struct world *w, int o, int k)
{
    return (o + 1 + k) % w->n;
}

static struct step *add_op(struct world *w, int o, enum wdl_rma_kind kind, int t, size_t at)
{
    struct step *s = add(w, o, STEP_OP);
    s->rank = t;
    s->args.kind = kind;
    s->args.target = t;
    s->args.disp = w->options.dynamic ? (int64_t) (uintptr_t) (w->ranks[t].memory + at) :
        (int64_t) at / w->disp_unit;
    s->args.origin.contig = s->args.result.contig = s->args.remote.contig = 1;
    if (wdl_prng_chance(&w->prng, 300))
        s->args.request = world_memory(w, sizeof(struct test_request));
    return s;
}

/* n elements somewhere in `room` bytes: contiguous or strided, by the drawn bit. */
static struct wdl_buf layout(struct world *w, int o, void *addr, enum test_type element, int n,
                             int strided)
{
    if (!strided || n < 2)
        return buf_of(w, addr, n, element);
    int blocks = n > 48 ? 48 : n;
    while (n % blocks)
        blocks--;
    return buf_of(w, addr, 1, vector(w, o, element, blocks, n / blocks, 2 * (n / blocks)));
}

static void shadow_stream(struct world *w, int t, size_t at, const struct wdl_buf *remote,
                          char *stream, int out)
{
    const struct wdl_host_ops *ops = w->ranks[t].host.host.ops;
    char *addr = w->ranks[t].shadow + at;
    if (out)
        ops->pack(NULL, addr, remote->count, remote->type, 0, stream, remote->bytes);
    else
        ops->unpack(NULL, addr, remote->count, remote->type, 0, stream, remote->bytes);
}

/* A put or an accumulate of 4-byte integers by o into its region of its k-th neighbour, and in the
 * shadow. */
static void add_write(struct world *w, int o, int k, int half, enum wdl_rma_kind kind)
{
    int t = neighbour(w, o, k), all = w->options.region / 4, strided = draw(w, 2);
    int n = 1 + draw(w, strided ? all / 2 - 1 : all), from = draw(w, 2),
        slack = all - (strided ? 2 * n : n);
    size_t at = world_region(w, half, k) + 4u * (size_t) draw(w, slack / 2 + 1) / 8 * 8;
    struct step *s = add_op(w, o, kind, t, at);
    char *data = world_memory(w, 8u * (size_t) n + 8), *stream = world_memory(w, 4u * (size_t) n);
    char *old = world_memory(w, 4u * (size_t) n);
    for (int i = 0; i < 8 * n; i++)
        data[i] = (char) draw(w, 256);
    s->args.origin = layout(w, o, data, TEST_I32, n, from);
    s->args.remote = layout(w, o, NULL, TEST_I32, n, strided);
    s->args.element = test_element(TEST_I32);
    const struct wdl_host_ops *ops = w->ranks[o].host.host.ops;
    ops->pack(NULL, data, s->args.origin.count, s->args.origin.type, 0, stream, 4u * (size_t) n);
    shadow_stream(w, t, at, &s->args.remote, old, 1);
    if (kind == WDL_RMA_PUT) {
        shadow_stream(w, t, at, &s->args.remote, stream, 0);
        return;
    }
    static const enum wdl_rop rops[] = { WDL_ROP_SUM, WDL_ROP_REPLACE, WDL_ROP_MAX, WDL_ROP_BXOR,
        WDL_ROP_PROD, WDL_ROP_LAND
    };
    s->args.op = rops[draw(w, 6)];
    char *expect = NULL;
    if (kind == WDL_RMA_GET_ACC) {
        char *result = world_memory(w, 4u * (size_t) n);
        expect = world_memory(w, 4u * (size_t) n);
        memcpy(expect, old, 4u * (size_t) n);
        s->args.result = buf_of(w, result, n, TEST_I32);
    }
    ops->reduce(NULL, TEST_I32, s->args.op, stream, old, n);
    shadow_stream(w, t, at, &s->args.remote, old, 0);
    /* the check itself follows the synchronization: see add_checks */
    if (expect) {
        s->b = expect;
        s->a = s->args.result.addr;
        s->bytes = 4u * (size_t) n;
    }
}

/* A get by o from its region of the other half, which nobody writes now. */
static void add_read(struct world *w, int o, int k, int half)
{
    int t = neighbour(w, o, k), all = w->options.region / 4, strided = draw(w, 2);
    int n = 1 + draw(w, strided ? all / 2 - 1 : all);
    size_t at = world_region(w, half, k), bytes = 4u * (size_t) n;
    struct step *s = add_op(w, o, WDL_RMA_GET, t, at);
    s->a = world_memory(w, bytes);
    s->b = world_memory(w, bytes);
    s->bytes = bytes;
    s->args.origin = buf_of(w, s->a, n, TEST_I32);
    s->args.remote = layout(w, o, NULL, TEST_I32, n, strided);
    shadow_stream(w, t, at, &s->args.remote, s->b, 1);
}

/* Add a small number to one of the cells everyone adds to. */
static void add_sum(struct world *w, int o, int t, int half)
{
    static const enum test_type types[] = { TEST_I64, TEST_F64, TEST_LD, TEST_I32 };
    int cell = draw(w, 4), value = draw(w, 100);
    size_t at = world_cells(w, half) + (size_t) cell * CELL;
    struct step *s = add_op(w, o, WDL_RMA_ACC, t, at);
    char *data = world_memory(w, CELL);
    if (cell == 0)
        memcpy(data, &(int64_t) { value }, 8);
    else if (cell == 1)
        memcpy(data, &(double) { value }, 8);
    else if (cell == 2)
        memcpy(data, &(long double) { value }, sizeof(long double));
    else
        memcpy(data, &value, 4);
    s->args.origin = buf_of(w, data, 1, types[cell]);
    s->args.remote = buf_of(w, NULL, 1, types[cell]);
    s->args.element = test_element(types[cell]);
    s->args.op = WDL_ROP_SUM;
    w->ranks[0].host.host.ops->reduce(NULL, types[cell], WDL_ROP_SUM, data, w->ranks[t].shadow + at,
                                      1);
}

/* What the operations since step `from` must have given, once they are complete. */
static void add_checks(struct world *w, int o, int from)
{
    int to = w->ranks[o].nsteps;
    for (int i = from; i < to; i++) {
        struct step op = w->ranks[o].steps[i];
        if (op.kind != STEP_OP)
            continue;
        if (op.args.request)
            add(w, o, STEP_REQUEST)->a = op.args.request;
        if (op.bytes) {
            struct step *s = add(w, o, STEP_EQUAL);
            s->a = op.a;
            s->b = op.b;
            s->bytes = op.bytes;
        }
    }
}

static void equal_memory(struct world *w, int o, int t, size_t at, size_t bytes)
{
    struct step *s = add(w, o, STEP_EQUAL);
    s->a = w->ranks[t].memory + at;
    s->b = world_memory(w, bytes);
    s->bytes = bytes;
    memcpy(s->b, w->ranks[t].shadow + at, bytes);
}

/* Two puts of one epoch must not overlap: on an unordered network the last one is not the last to
 * arrive. */
static void one_put_each(struct world *w, int o, int half, int reads)
{
    for (int k = 0; k < w->fan; k++) {
        int what = draw(w, 3);
        if (what == 0)
            add_write(w, o, k, half, WDL_RMA_PUT);
        for (int i = 0; what == 1 && i < 3; i++)
            add_write(w, o, k, half, draw(w, 2) ? WDL_RMA_ACC : WDL_RMA_GET_ACC);
        if (reads && draw(w, 2))
            add_read(w, o, k, !half);
        if (draw(w, 2))
            add_sum(w, o, neighbour(w, o, k), half);
    }
}

static void check_half(struct world *w, int t, int half)
{
    size_t cells = world_cells(w, half);
    equal_memory(w, t, t, world_region(w, half, 0), (size_t) (w->fan * w->options.region));
    equal_memory(w, t, t, cells, 2 * CELL);
    equal_memory(w, t, t, cells + 2 * CELL, 10);  /* the value bytes of an 80-bit long double */
    equal_memory(w, t, t, cells + 3 * CELL, 4);
}

static void script_active(struct world *w, int pscw)
{
    int *from = world_memory(w, (size_t) w->n * sizeof(int));
    if (!pscw)
        add_fences(w, draw(w, 2) ? WDL_MODE_NOPRECEDE : 0);
    for (int e = 0; e < w->options.epochs; e++) {
        int last = e == w->options.epochs - 1;
        /* who starts so knows that all have posted */
        int nocheck = pscw && wdl_prng_chance(&w->prng, 300) ? WDL_MODE_NOCHECK : 0;
        for (int o = 0; o < w->n; o++) {
            if (pscw) {
                struct step *post = add(w, o, STEP_POST);
                post->mode = nocheck | nostore(w);
                for (int k = 0; k < w->fan; k++)
                    post->group[post->n++] = (o - 1 - k + 2 * FAN_MAX * w->n) % w->n;
                if (nocheck)
                    add(w, o, STEP_BARRIER);
                struct step *start = add(w, o, STEP_START);
                start->mode = nocheck;
                for (int k = 0; k < w->fan; k++)
                    start->group[start->n++] = neighbour(w, o, k);
            }
            from[o] = w->ranks[o].nsteps;
            one_put_each(w, o, e & 1, e > 0);
        }
        for (int o = 0; o < w->n; o++) {
            if (pscw) {
                add(w, o, STEP_COMPLETE);
                add(w, o, STEP_WAIT);
            } else
                add(w, o, STEP_FENCE)->mode = (last ? WDL_MODE_NOSUCCEED : 0) | nostore(w);
            add_checks(w, o, from[o]);
            check_half(w, o, e & 1);
        }
    }
}

static struct step *add_misc(struct world *w, int o, enum wdl_rma_kind kind, int t, int cell,
                             void *origin, void *result, enum wdl_rop op)
{
    struct step *s = add_op(w, o, kind, t, world_misc(w) + (size_t) cell);
    s->args.origin = buf_of(w, origin, 1, TEST_I64);
    s->args.result = buf_of(w, result, 1, TEST_I64);
    s->args.remote = buf_of(w, NULL, 1, TEST_I64);
    s->args.element = test_element(TEST_I64);
    s->args.op = op;
    return s;
}

static struct step *add_target(struct world *w, int o, enum step_kind kind, int t, int flag)
{
    struct step *s = add(w, o, kind);
    s->rank = t;
    s->flag = flag;
    return s;
}

static void add_next(struct world *w, int o, int64_t *to, int64_t *from)
{
    struct step *s = add(w, o, STEP_NEXT);
    s->a = to;
    s->b = from;
}

static void lock_exclusive(struct world *w, int o, int t)
{
    int64_t *seen = world_memory(w, 8), *next = world_memory(w, 8);
    add_target(w, o, STEP_LOCK, t, 1);
    add_misc(w, o, WDL_RMA_GET, t, MISC_COUNTER, seen, NULL, WDL_ROP_NO_OP);
    add_target(w, o, STEP_FLUSH, t, 0);
    add_target(w, o, STEP_ENTER, t, 1);
    add_next(w, o, next, seen);
    add_misc(w, o, WDL_RMA_PUT, t, MISC_COUNTER, next, NULL, WDL_ROP_NO_OP);
    add_target(w, o, STEP_LEAVE, t, 1);
    add_target(w, o, STEP_UNLOCK, t, 0);
    w->ranks[t].counter++;
}

static void add_atomics(struct world *w, int o, int t)
{
    int64_t *one = world_memory(w, 8), *ticket = world_memory(w, 8), *seen = world_memory(w, 8);
    int64_t *next = world_memory(w, 8), *got = world_memory(w, 8);
    *one = 1;
    add_misc(w, o, WDL_RMA_GET_ACC, t, MISC_TICKET, one, ticket, WDL_ROP_SUM);
    add_misc(w, o, WDL_RMA_ACC, t, MISC_SUM, one, NULL, WDL_ROP_SUM);
    add_misc(w, o, WDL_RMA_GET_ACC, t, MISC_CAS, one, seen, WDL_ROP_NO_OP);
    add_target(w, o, STEP_FLUSH, draw(w, 2) ? t : -1, draw(w, 2));
    add_next(w, o, next, seen);
    add_misc(w, o, WDL_RMA_CAS, t, MISC_CAS, next, got, WDL_ROP_NO_OP)->args.compare = seen;
    add_target(w, o, STEP_FLUSH, t, 0);
    struct step *s = add(w, o, STEP_TICKET);
    s->rank = t;
    s->a = ticket;
    s = add(w, o, STEP_CAS);
    s->rank = t;
    s->a = got;
    s->b = seen;
    w->ranks[t].tickets++;
    w->ranks[t].sum++;
}

/* Write, synchronize, look at the target's memory. */
static void add_write_and_look(struct world *w, int o, int k, int half, int flush)
{
    int t = neighbour(w, o, k), from = w->ranks[o].nsteps;
    add_write(w, o, k, half, draw(w, 2) ? WDL_RMA_PUT : WDL_RMA_GET_ACC);
    add_target(w, o, flush ? STEP_FLUSH : STEP_UNLOCK, t, 0);
    add_checks(w, o, from);
    equal_memory(w, o, t, world_region(w, half, k), (size_t) w->options.region);
}

/* Nobody else holds what is locked so, or wants it: between barriers each rank locks another one,
 * or all lock all. */
static void locks_unchecked(struct world *w)
{
    int k = draw(w, w->fan);
    add_all(w, STEP_BARRIER, 0);
    for (int o = 0; o < w->n; o++) {
        add_target(w, o, STEP_LOCK, neighbour(w, o, k), draw(w, 2))->mode = WDL_MODE_NOCHECK;
        add_write_and_look(w, o, k, 0, 0);
    }
    add_all(w, STEP_BARRIER, 0);
}

static void lock_all_unchecked(struct world *w)
{
    add_all(w, STEP_BARRIER, 0);
    for (int o = 0; o < w->n; o++) {
        add(w, o, STEP_LOCK_ALL)->mode = WDL_MODE_NOCHECK;
        add_write_and_look(w, o, draw(w, w->fan), 0, 1);
        add_atomics(w, o, draw(w, w->n));
        add(w, o, STEP_UNLOCK_ALL);
    }
    add_all(w, STEP_BARRIER, 0);
}

/* Several ranks want the same few, some two of them at a time, and that shared; the others one, for
 * themselves. */
static void script_two(struct world *w)
{
    int few = w->n < 4 ? w->n : 4;
    for (int o = 0; o < w->n; o++)
        for (int e = 0; e < 3 * w->options.epochs; e++) {
            int both[2] = { draw(w, few), draw(w, few) };
            if (both[0] == both[1] || draw(w, 3) == 0) {
                lock_exclusive(w, o, both[0]);
                continue;
            }
            for (int i = 0; i < 2; i++) {
                add_target(w, o, STEP_LOCK, both[i], 0);
                add_atomics(w, o, both[i]);
                add_target(w, o, STEP_ENTER, both[i], 0);
            }
            for (int i = 0, first = draw(w, 2); i < 2; i++) {
                add_target(w, o, STEP_LEAVE, both[i ^ first], 0);
                add_target(w, o, STEP_UNLOCK, both[i ^ first], 0);
            }
        }
}

static void script_lock(struct world *w)
{
    if (draw(w, 2))
        locks_unchecked(w);
    for (int o = 0; o < w->n; o++)
        for (int e = 0; e < w->options.epochs; e++) {
            int k = draw(w, w->fan), t = neighbour(w, o, k), what = draw(w, 4);
            if (what == 0) {
                lock_exclusive(w, o, t);
                continue;
            }
            add_target(w, o, STEP_LOCK, t, what == 1);
            if (what == 3) {
                add_atomics(w, o, t);
                add_target(w, o, STEP_ENTER, t, 0);
                add_target(w, o, STEP_LEAVE, t, 0);
                add_target(w, o, STEP_UNLOCK, t, 0);
            } else
                add_write_and_look(w, o, k, e & 1, 0);
        }
}

static void script_lock_all(struct world *w)
{
    if (draw(w, 2))
        lock_all_unchecked(w);
    for (int o = 0; o < w->n; o++)
        for (int e = 0; e < w->options.epochs; e++) {
            add(w, o, STEP_LOCK_ALL);
            for (int i = draw(w, 4); i > 0; i--) {
                if (draw(w, 2))
                    add_atomics(w, o, draw(w, w->n));
                else
                    add_write_and_look(w, o, draw(w, w->fan), e & 1, 1);
            }
            add(w, o, STEP_UNLOCK_ALL);
            if (draw(w, 2))
                lock_exclusive(w, o, draw(w, w->n));
        }
}

/* Some ranks lock all again and again and access the first two, which the others want for
 * themselves. */
static void script_stream(struct world *w)
{
    for (int o = 0; o < w->n; o++)
        for (int e = 0; e < 4 * w->options.epochs; e++) {
            int t = draw(w, w->n < 2 ? w->n : 2);
            if (o % 3 == 2) {
                lock_exclusive(w, o, t);
                continue;
            }
            add(w, o, STEP_LOCK_ALL);
            add_atomics(w, o, t);
            if (w->n > 1)
                add_atomics(w, o, !t);
            add(w, o, STEP_UNLOCK_ALL);
        }
}

static void script_one(struct world *w, char script)
{
    if (script == 'f' || script == 'p')
        script_active(w, script == 'p');
    else if (script == 'l')
        script_lock(w);
    else if (script == 's')
        script_stream(w);
    else if (script == 'd')
        script_two(w);
    else
        script_lock_all(w);
    add_all(w, STEP_BARRIER, 0);
    for (int k = 0; k < w->options.dynamic; k++)
        add_all(w, STEP_REATTACH, draw(w, w->options.dynamic));
    if (w->options.dynamic)
        add_all(w, STEP_BARRIER, 0);
}

void script_make(struct world *w)
{
    if (w->options.script == 'm')
        for (const char *s = "lfap"; *s; s++)
            script_one(w, *s);
    else
        script_one(w, w->options.script);
    add_all(w, STEP_FINAL, 0);
    add_all(w, STEP_BARRIER, 0);
    add_all(w, STEP_FREE, 0);
}
