/* Part of Windlass. See COPYRIGHT in the top-level directory. What a collective must do to
 * memory, and when. */
#include <stdlib.h>
#include <string.h>
#include "base/assert.h"
#include "mpid/coll/world.h"

void world_fail(struct world *w, const struct op *op, int rank, const char *what, size_t byte)
{
    if (w->failure[0])
        return;
    snprintf(w->failure, sizeof(w->failure),
             "op %d %s%s%s flags %x root %d bytes %zu team %d of %d, rank %d: %s, byte %zu",
             op->index, wdl_coll_kind_name(op->args.kind), op->args.variable ? " variable" : "",
             op->in_place ? " in place" : "", op->args.flags, op->args.root, op->args.bytes,
             op->group->index, op->group->size, rank, what, byte);
}

static size_t count_of(const struct op *op, int from, int to)
{
    if (!op->args.variable)
        return op->args.bytes;
    return op->args.kind == WDL_COLL_EXCHANGE
               ? op->counts[from * op->group->size + to]
               : op->counts[op->args.kind == WDL_COLL_SCATTER ||
                                    op->args.kind == WDL_COLL_REDUCE_SCATTER
                                ? to
                                : from];
}

/* Byte i of what rank `from` gives to rank `to`. */
static char byte_of(const struct op *op, int from, int to, size_t i)
{
    uint64_t x = (uint64_t) op->index * 1000003 + (uint64_t) from * 7919 + i * 131;
    if (op->args.kind == WDL_COLL_SCATTER || op->args.kind == WDL_COLL_EXCHANGE ||
        op->args.kind == WDL_COLL_REDUCE_SCATTER)
        x += (uint64_t) to * 104729;
    x ^= x >> 13;
    x *= 0x9e3779b97f4a7c15u;
    return (char) (x >> 56);
}

static int reduces(const struct op *op)
{
    return wdl_coll_reduces(op->args.kind);
}

static int is_root(const struct side *s)
{
    return s->rank == s->op->args.root;
}

/* Blocks of the side's source or destination: who the other is, and where. */
static int side_blocks(const struct side *s, int dst)
{
    switch (s->op->args.kind) {
    case WDL_COLL_SCATTER:
        return !dst && is_root(s);
    case WDL_COLL_GATHER:
        return dst && is_root(s);
    case WDL_COLL_GATHER_ALL:
        return dst;
    case WDL_COLL_REDUCE_SCATTER:
        return !dst;
    case WDL_COLL_EXCHANGE:
        return 1;
    default:
        return 0;
    }
}

static int side_uses(const struct side *s, int dst)
{
    switch (s->op->args.kind) {
    case WDL_COLL_BARRIER:
        return 0;
    case WDL_COLL_BROADCAST:
    case WDL_COLL_SCATTER:
        return dst || is_root(s);
    case WDL_COLL_GATHER:
    case WDL_COLL_REDUCE:
        return !dst || is_root(s);
    case WDL_COLL_SCAN:
        return !dst || s->rank > 0 || !(s->op->args.flags & WDL_COLL_EXCLUSIVE);
    default:
        return 1;
    }
}

static size_t block_bytes(const struct side *s, int dst, int other)
{
    return dst ? count_of(s->op, other, s->rank) : count_of(s->op, s->rank, other);
}

static size_t block_at(const struct side *s, int dst, int other)
{
    return s->op->args.variable ? s->lists[(dst ? 3 : 1) * s->op->group->size + other]
                                : (size_t) other * s->op->args.bytes;
}

static size_t side_make(struct side *s, int dst)
{
    int size = s->op->group->size;
    size_t all = 0;
    if (!side_uses(s, dst))
        return 0;
    if (!side_blocks(s, dst))
        return block_bytes(s, dst,
                           dst && s->op->args.kind != WDL_COLL_SCATTER &&
                                   s->op->args.kind != WDL_COLL_REDUCE_SCATTER
                               ? s->op->args.root
                               : s->rank);
    for (int r = 0; r < size; r++) {
        size_t n = block_bytes(s, dst, r);
        if (s->op->args.variable) {
            s->lists[(dst ? 2 : 0) * size + r] = n;
            s->lists[(dst ? 3 : 1) * size + r] = all;
            all += (size_t) (r % 3) * (reduces(s->op) ? s->op->args.op.elem_bytes : 1); /* gaps */
        }
        all += n;
    }
    return all;
}

void op_make(struct op *op)
{
    int size = op->group->size;
    op->sides = calloc((size_t) size, sizeof(op->sides[0]));
    for (int r = 0; r < size; r++) {
        struct side *s = &op->sides[r];
        s->op = op;
        s->rank = r;
        s->lists = op->args.variable ? calloc((size_t) (4 * size), sizeof(size_t)) : NULL;
        s->src_bytes = side_make(s, 0);
        s->dst_bytes = side_make(s, 1);
        size_t more = s->src_bytes > s->dst_bytes ? s->src_bytes : s->dst_bytes;
        s->dst = malloc(more + 64);
        s->src = op->in_place && s->dst_bytes ? s->dst : malloc(more + 64);
        memset(s->dst, POISON, more + 64);
        memset(s->src, op->in_place ? POISON : GARBAGE, more + 64);
    }
}

void op_free(struct op *op)
{
    for (int r = 0; r < op->group->size; r++) {
        struct side *s = &op->sides[r];
        if (s->src != s->dst)
            free(s->src);
        free(s->dst);
        free(s->lists);
    }
    free(op->sides);
    free(op->counts);
}

static char *source(const struct side *s)
{
    if (s->src == s->dst && s->op->args.kind == WDL_COLL_GATHER_ALL)
        return s->dst + block_at(s, 1, s->rank);
    return s->src;
}

static void source_fill(struct side *s)
{
    int n = side_blocks(s, 0) ? s->op->group->size : 1;
    if (!side_uses(s, 0))
        return;
    for (int r = 0; r < n; r++) {
        char *at = source(s) + (side_blocks(s, 0) ? block_at(s, 0, r) : 0);
        size_t bytes = block_bytes(s, 0, side_blocks(s, 0) ? r : s->rank);
        for (size_t i = 0; i < bytes; i++)
            at[i] = byte_of(s->op, s->rank, r, i);
    }
}

/* The fold of what ranks first .. last have for rank `to`, from the left. */
static void fold(const struct op *op, int first, int last, int to, char *out)
{
    size_t m = count_of(op, first, to);
    char *left = malloc(m + 1), *right = malloc(m + 1);
    for (size_t i = 0; i < m; i++)
        left[i] = byte_of(op, first, to, i);
    for (int r = first + 1; r <= last; r++) {
        for (size_t i = 0; i < m; i++)
            right[i] = byte_of(op, r, to, i);
        op->args.op.fn(NULL, left, right, m / op->args.op.elem_bytes);
        memcpy(left, right, m);
    }
    memcpy(out, left, m);
    free(left);
    free(right);
}

/* The whole destination as it must be, gaps and all. */
static void destination_want(const struct side *s, char *want)
{
    const struct op *op = s->op;
    memset(want, POISON, s->dst_bytes);
    if (!side_uses(s, 1))
        return;
    if (reduces(op)) {
        int last = op->args.kind != WDL_COLL_SCAN        ? op->group->size - 1
                   : op->args.flags & WDL_COLL_EXCLUSIVE ? s->rank - 1
                                                         : s->rank;
        fold(op, 0, last, s->rank, want);
    } else if (!side_blocks(s, 1)) {
        for (size_t i = 0; i < s->dst_bytes; i++)
            want[i] = byte_of(op, op->args.root, s->rank, i);
    } else {
        for (int r = 0; r < op->group->size; r++)
            for (size_t i = 0, n = block_bytes(s, 1, r); i < n; i++)
                want[block_at(s, 1, r) + i] = byte_of(op, r, s->rank, i);
    }
}

static void destination_check(struct side *s)
{
    char *want = malloc(s->dst_bytes + 1);
    destination_want(s, want);
    for (size_t i = 0; i < s->dst_bytes; i++)
        if (s->dst[i] != want[i]) {
            world_fail(s->op->w, s->op, s->rank, "wrong result", i);
            break;
        }
    free(want);
}

static void poison_check(struct side *s)
{
    for (size_t i = 0; i < s->dst_bytes && s->src != s->dst; i++)
        if ((unsigned char) s->dst[i] != POISON) {
            world_fail(s->op->w, s->op, s->rank, "written before the entry synchronization", i);
            return;
        }
}

static void scribble(struct side *s)
{
    s->loose = 1;
    if (s->src_bytes)
        memset(source(s), SCRIBBLE, s->src_bytes);
    memset(s->dst, SCRIBBLE, s->dst_bytes);
}

void op_starting(struct side *s, struct wdl_coll_args *args)
{
    struct op *op = s->op;
    int in = op->args.flags & WDL_COLL_IN, size = op->group->size;
    *args = op->args;
    args->src = source(s);
    args->dst = s->dst;
    if (op->args.variable) {
        args->src_blocks = (struct wdl_coll_blocks){s->lists, s->lists + size};
        args->dst_blocks = (struct wdl_coll_blocks){s->lists + 2 * size, s->lists + 3 * size};
        args->bytes = count_of(op, s->rank, s->rank);
    }
    if (in == WDL_COLL_IN_NOSYNC && op->started == 0)
        for (int r = 0; r < size; r++)
            source_fill(&op->sides[r]);
    if (in == WDL_COLL_IN_MYSYNC) {
        poison_check(s);
        source_fill(s);
    }
    s->started = 1;
    if (++op->started == size && in == WDL_COLL_IN_ALLSYNC)
        for (int r = 0; r < size; r++) {
            poison_check(&op->sides[r]);
            source_fill(&op->sides[r]);
        }
    args->flags = (uint32_t) lie_told(op->w->options.lie, (int) args->flags);
}

void op_done(struct side *s)
{
    struct op *op = s->op;
    int out = op->args.flags & WDL_COLL_OUT, size = op->group->size;
    if (s->req.status != WDL_OK)
        world_fail(op->w, op, s->rank, wdl_status_name(s->req.status), 0);
    if (s->done++)
        world_fail(op->w, op, s->rank, "done twice", 0);
    op->done++;
    if (op->args.kind == WDL_COLL_BARRIER && op->started < size)
        world_fail(op->w, op, s->rank, "left a barrier not all had entered", 0);
    if (out == WDL_COLL_OUT_MYSYNC) {
        destination_check(s);
        scribble(s);
    }
    int all = out == WDL_COLL_OUT_ALLSYNC ? op->done == 1 : op->done == size;
    for (int r = 0; r < size && all && out != WDL_COLL_OUT_MYSYNC; r++) {
        destination_check(&op->sides[r]);
        scribble(&op->sides[r]);
    }
}

void op_final(struct op *op)
{
    for (int r = 0; r < op->group->size; r++) {
        struct side *s = &op->sides[r];
        if (s->done != 1)
            world_fail(op->w, op, r, "not done", 0);
        for (size_t i = 0; i < s->dst_bytes; i++)
            if ((unsigned char) s->dst[i] != SCRIBBLE) {
                world_fail(op->w, op, r, "written after the exit synchronization", i);
                break;
            }
    }
}
