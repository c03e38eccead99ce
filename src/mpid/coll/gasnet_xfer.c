/* Part of Windlass. See COPYRIGHT in the top-level directory. Exchanges of parcels; data
 * movement with blocks of different sizes. */
#include "mpid/coll/gasnet_xfer.h"
#include <string.h>

int wdl_xfer_init(struct wdl_gas_op *op, struct wdl_xfer *xfer)
{
    size_t n = (size_t) op->team->size;
    size_t *lists = wdl_gas_op_memory(op, 4 * n * sizeof(*lists));
    if (!lists)
        return WDL_ERR_NOMEM;
    *xfer = (struct wdl_xfer){lists, lists + n, lists + 2 * n, lists + 3 * n};
    return WDL_OK;
}

size_t wdl_xfer_places(const size_t *bytes, size_t *at, int size)
{
    size_t sum = 0;
    for (int i = 0; i < size; i++) {
        at[i] = sum;
        sum += bytes[i];
    }
    return sum;
}

void wdl_xfer_args(const struct wdl_gas_op *op, const struct wdl_xfer *xfer, uint32_t flags,
                   struct wdl_coll_args *args_out)
{
    *args_out = (struct wdl_coll_args){.kind = WDL_COLL_EXCHANGE,
                                       .flags = flags,
                                       .variable = 1,
                                       .src_blocks = {xfer->out, xfer->out_at},
                                       .dst_blocks = {xfer->in, xfer->in_at},
                                       .local = (void *) (uintptr_t) op};
}

/* --- blocks of different sizes --- */

struct vary {
    int flags; /* the client's */
    const size_t *out, *out_at; /* what this node gives: of each block, or the one */
    const size_t *in, *in_at;
    size_t *sizes; /* LOCAL: to be heard from the others */
};

/* The client's places, or one block behind the other. NULL: out of memory. */
static const size_t *places(struct wdl_gas_op *op, const size_t *at, const size_t *bytes)
{
    size_t *room;
    if (at)
        return at;
    room = wdl_gas_op_memory(op, (size_t) op->team->size * sizeof(*room));
    if (room)
        (void) wdl_xfer_places(bytes, room, op->team->size);
    return room;
}

static int are_too_long(const struct wdl_gas_team *team, const size_t *bytes)
{
    size_t left = WDL_GAS_BYTES_MOST;
    int i = 0;
    for (; i < team->size && bytes[i] <= left; i++)
        left -= bytes[i];
    return i < team->size;
}

/* All of them must be where the flag says. */
static enum wdl_gas_error blocks_error(const struct wdl_gas_team *team, int flags, int flag,
                                       const void *base, const struct wdl_coll_blocks *blocks)
{
    for (int i = 0; i < team->size && flags & flag; i++)
        if (wdl_gas_outside(team, (const char *) base + blocks->at[i], blocks->bytes[i]))
            return WDL_GAS_ERR_SEGMENT;
    return WDL_GAS_FINE;
}

/* The root's are at `blocks`, ours is `bytes`. */
static enum wdl_gas_error rooted_error(const struct wdl_gas_op *op, int flags)
{
    const struct wdl_coll_args *a = &op->args;
    const struct wdl_gas_team *team = op->team;
    int scatters = a->kind == WDL_COLL_SCATTER, is_root = a->root == team->rank;
    enum wdl_gas_error error = scatters
                                   ? wdl_gas_segment_error(team, flags, NULL, 0, a->dst, a->bytes)
                                   : wdl_gas_segment_error(team, flags, a->src, a->bytes, NULL, 0);
    if (error || !is_root)
        return error;
    return scatters ? blocks_error(team, flags, WDL_GAS_SRC_IN_SEGMENT, a->src, &a->src_blocks)
                    : blocks_error(team, flags, WDL_GAS_DST_IN_SEGMENT, a->dst, &a->dst_blocks);
}

/* scatterv, gatherv: only the root needs all sizes. */
static wdl_gas_handle rooted_start(struct wdl_gas_team *team, enum wdl_coll_kind kind, size_t image,
                                   void *dst, const void *src, const size_t *at,
                                   const size_t *nbytes, int flags)
{
    wdl_gas_handle handle;
    struct wdl_gas_op *op = wdl_gas_op_new(team, flags, 0, 0, &handle);
    if (!op)
        return handle;
    op->args.kind = kind;
    op->args.root = wdl_gas_node_of(team, image);
    if (op->args.root < 0)
        return wdl_gas_op_fail(op, WDL_GAS_ERR_ROOT);
    op->args.src = src;
    op->args.dst = dst;
    op->args.variable = 1;
    op->args.bytes = nbytes[team->rank];
    if (wdl_gas_is_too_long(1, op->args.bytes) ||
        (op->args.root == team->rank && are_too_long(team, nbytes)))
        return wdl_gas_op_fail(op, WDL_GAS_ERR_SIZE);
    if (op->args.root == team->rank) {
        struct wdl_coll_blocks blocks = {nbytes, places(op, at, nbytes)};
        if (!blocks.at)
            return wdl_gas_op_fail(op, WDL_GAS_ERR_NOMEM);
        op->args.src_blocks = op->args.dst_blocks = blocks;
    }
    if (flags & WDL_COLL_SINGLE)
        op->args.flags |= WDL_COLL_SRC_GIVEN | WDL_COLL_DST_GIVEN;
    enum wdl_gas_error error = rooted_error(op, flags);
    return error ? wdl_gas_op_fail(op, error) : wdl_gas_op_start(op, flags);
}

wdl_gas_handle wdl_gas_scatterv_nb(struct wdl_gas_team *team, void *dst, size_t srcimage,
                                   const void *src, const size_t *src_at, const size_t *nbytes,
                                   int flags)
{
    return rooted_start(team, WDL_COLL_SCATTER, srcimage, dst, src, src_at, nbytes, flags);
}

wdl_gas_handle wdl_gas_gatherv_nb(struct wdl_gas_team *team, size_t dstimage, void *dst,
                                  const size_t *dst_at, const void *src, const size_t *nbytes,
                                  int flags)
{
    return rooted_start(team, WDL_COLL_GATHER, dstimage, dst, src, dst_at, nbytes, flags);
}

/* What this node gives. */
static enum wdl_gas_error vary_src(struct wdl_gas_op *op)
{
    struct vary *v = op->own;
    struct wdl_coll_args *a = &op->args;
    if (!v->out) {
        a->bytes = v->in[op->team->rank];
        if (wdl_gas_is_too_long(1, a->bytes))
            return WDL_GAS_ERR_SIZE;
        return wdl_gas_segment_error(op->team, v->flags, a->src, a->bytes, NULL, 0);
    }
    if (are_too_long(op->team, v->out))
        return WDL_GAS_ERR_SIZE;
    a->src_blocks = (struct wdl_coll_blocks){v->out, places(op, v->out_at, v->out)};
    if (!a->src_blocks.at)
        return WDL_GAS_ERR_NOMEM;
    return blocks_error(op->team, v->flags, WDL_GAS_SRC_IN_SEGMENT, a->src, &a->src_blocks);
}

/* What it gets, all sizes known. */
static enum wdl_gas_error vary_dst(struct wdl_gas_op *op)
{
    struct vary *v = op->own;
    struct wdl_coll_args *a = &op->args;
    if (are_too_long(op->team, v->in))
        return WDL_GAS_ERR_SIZE;
    a->dst_blocks = (struct wdl_coll_blocks){v->in, places(op, v->in_at, v->in)};
    if (!a->dst_blocks.at)
        return WDL_GAS_ERR_NOMEM;
    return blocks_error(op->team, v->flags, WDL_GAS_DST_IN_SEGMENT, a->dst, &a->dst_blocks);
}

static int vary_next(struct wdl_gas_op *op)
{
    struct vary *v = op->own;
    if (op->stage == 0) {
        struct wdl_coll_args args = {.kind = op->args.kind,
                                     .flags = WDL_COLL_MPI,
                                     .src = v->out ? v->out : v->sizes + op->team->rank,
                                     .dst = v->sizes,
                                     .bytes = sizeof(size_t)};
        return wdl_gas_stage_start(op, &args, &op->req);
    }
    enum wdl_gas_error error = vary_dst(op);
    op->args.flags = wdl_gas_stage_flags(op, 0, 1);
    return error ? wdl_gas_stage_fail(op, error) : wdl_gas_stage_last(op, &op->args);
}

static wdl_gas_handle vary_start(struct wdl_gas_team *team, enum wdl_coll_kind kind, void *dst,
                                 const void *src, const struct vary *vary, int flags)
{
    wdl_gas_handle handle;
    struct wdl_gas_op *op = wdl_gas_op_new(team, flags, 0, flags & WDL_COLL_LOCAL, &handle);
    struct vary *v = op ? wdl_gas_op_memory(op, sizeof(*v)) : NULL;
    if (!op)
        return handle;
    if (!v)
        return wdl_gas_op_fail(op, WDL_GAS_ERR_NOMEM);
    *v = *vary;
    v->flags = flags;
    op->own = v;
    op->args.kind = kind;
    op->args.src = src;
    op->args.dst = dst;
    op->args.variable = 1;
    if (flags & WDL_COLL_SINGLE)
        op->args.flags |= WDL_COLL_SRC_GIVEN | WDL_COLL_DST_GIVEN;
    int hears = flags & WDL_COLL_LOCAL; /* the sizes of what it gets */
    enum wdl_gas_error error = vary_src(op);
    if (!error && !hears)
        error = vary_dst(op);
    if (error)
        return wdl_gas_op_fail(op, error);
    return hears ? wdl_gas_op_stages(op, flags, vary_next) : wdl_gas_op_start(op, flags);
}

wdl_gas_handle wdl_gas_gather_allv_nb(struct wdl_gas_team *team, void *dst, const size_t *dst_at,
                                      const void *src, size_t *nbytes, int flags)
{
    struct vary v = {.in = nbytes, .in_at = dst_at, .sizes = nbytes};
    return vary_start(team, WDL_COLL_GATHER_ALL, dst, src, &v, flags);
}

wdl_gas_handle wdl_gas_exchangev_nb(struct wdl_gas_team *team, void *dst, const size_t *dst_at,
                                    size_t *dst_bytes, const void *src, const size_t *src_at,
                                    const size_t *src_bytes, int flags)
{
    struct vary v = {.out = src_bytes,
                     .out_at = src_at,
                     .in = dst_bytes,
                     .in_at = dst_at,
                     .sizes = dst_bytes};
    return vary_start(team, WDL_COLL_EXCHANGE, dst, src, &v, flags);
}
