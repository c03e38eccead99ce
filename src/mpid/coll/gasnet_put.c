/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * put and get with partner lists (seed 000): each node says to which nodes it goes, and which nodes
 * come to it, so that all synchronization is between the two. Addresses are always the remote
 * node's: they travel with the data (put), or ahead of it (get).
 *
 *   put     parcel = address, block                   one stage
 *   putM    how many blocks; parcel of so many        two
 *   get     address; block                            two
 *   getM    how many; addresses; blocks               three
 */
#include <string.h>
#include "mpid/coll/gasnet_xfer.h"

struct put {
    struct wdl_xfer xfer;
    int gets, many; /* which of the four; 0 or 1 */
    const uint32_t *nodes; /* the other end of each block */
    size_t count;
    const uint32_t *partners; /* who comes here; NULL: all */
    size_t partner_count;
    uint32_t node; /* what `nodes` and the lists point to if not many */
    void *dst, *src;
    uint64_t *to, *from; /* blocks to each node, and from each */
    char *out, *in;
};

static uint32_t partner(const struct put *p, size_t i)
{
    return p->partners ? p->partners[i] : (uint32_t) i;
}

/* The parcels of a stage: so much a block that this node asks for or gives, and so much ahead. */
static int parcels(struct wdl_gas_op *op, const uint64_t *out, size_t out_each, const uint64_t *in,
                   size_t in_each)
{
    struct put *p = op->own;
    int size = op->team->size;
    for (int i = 0; i < size; i++) {
        p->xfer.out[i] = out[i] * out_each;
        p->xfer.in[i] = in[i] * in_each;
    }
    size_t all_out = wdl_xfer_places(p->xfer.out, p->xfer.out_at, size);
    size_t all_in = wdl_xfer_places(p->xfer.in, p->xfer.in_at, size);
    p->out = wdl_gas_op_memory(op, all_out + all_in);
    p->in = p->out + all_out;
    return p->out ? WDL_OK : WDL_ERR_NOMEM;
}

static int parcels_go(struct wdl_gas_op *op, int first, int last, void (*before)(void *),
                      void (*after)(void *))
{
    struct put *p = op->own;
    struct wdl_coll_args args;
    wdl_xfer_args(op, &p->xfer, wdl_gas_stage_flags(op, first, last), &args);
    args.src = p->out;
    args.dst = p->in;
    args.before = before;
    args.after = after;
    return last ? wdl_gas_stage_last(op, &args) : wdl_gas_stage_start(op, &args, &op->req);
}

/* Visit the own blocks by node: `done` counts those of a node behind us. */
static uint64_t *counters(struct wdl_gas_op *op)
{
    struct put *p = op->own;
    uint64_t *done = p->from + op->team->size;
    memset(done, 0, (size_t) op->team->size * sizeof(*done));
    return done;
}

/* --- put --- */

static void put_pack(void *local)
{
    struct wdl_gas_op *op = local;
    struct put *p = op->own;
    uint64_t *done = counters(op);
    for (size_t i = 0; i < p->count; i++) {
        uint32_t node = p->nodes[i];
        uint64_t address = (uint64_t) (uintptr_t) op->dst[i];
        char *to = p->out + p->xfer.out_at[node] + done[node]++ * (8 + op->nbytes);
        memcpy(to, &address, 8);
        memcpy(to + 8, op->src[i], op->nbytes);
    }
}

static void put_unpack(void *local)
{
    struct wdl_gas_op *op = local;
    struct put *p = op->own;
    for (int node = 0; node < op->team->size; node++)
        for (uint64_t i = 0; i < p->from[node]; i++) {
            const char *from = p->in + p->xfer.in_at[node] + i * (8 + op->nbytes);
            uint64_t address;
            memcpy(&address, from, 8);
            memcpy((void *) (uintptr_t) address, from + 8, op->nbytes);
        }
}

/* --- get --- */

static void ask_pack(void *local)
{
    struct wdl_gas_op *op = local;
    struct put *p = op->own;
    uint64_t *done = counters(op);
    for (size_t i = 0; i < p->count; i++) {
        uint64_t address = (uint64_t) (uintptr_t) op->src[i];
        uint32_t node = p->nodes[i];
        memcpy(p->out + p->xfer.out_at[node] + done[node]++ * 8, &address, 8);
    }
}

/* p->src is where the addresses asked for came to, node by node. */
static void answer_pack(void *local)
{
    struct wdl_gas_op *op = local;
    struct put *p = op->own;
    const char *asked = p->src;
    char *to = p->out;
    for (int node = 0; node < op->team->size; node++)
        for (uint64_t i = 0; i < p->from[node]; i++, asked += 8, to += op->nbytes) {
            uint64_t address;
            memcpy(&address, asked, 8);
            memcpy(to, (const void *) (uintptr_t) address, op->nbytes);
        }
}

static void answer_unpack(void *local)
{
    struct wdl_gas_op *op = local;
    struct put *p = op->own;
    uint64_t *done = counters(op);
    for (size_t i = 0; i < p->count; i++) {
        uint32_t node = p->nodes[i];
        memcpy(op->dst[i], p->in + p->xfer.in_at[node] + done[node]++ * op->nbytes, op->nbytes);
    }
}

/* --- stages --- */

/* How many blocks: a number each way between partners. */
static int counts_go(struct wdl_gas_op *op)
{
    struct put *p = op->own;
    struct wdl_coll_args args;
    for (size_t i = 0; i < p->partner_count; i++)
        p->xfer.in[partner(p, i)] = sizeof(uint64_t);
    for (int i = 0; i < op->team->size; i++) {
        p->xfer.out[i] = p->to[i] ? sizeof(uint64_t) : 0;
        p->xfer.out_at[i] = p->xfer.in_at[i] = (size_t) i * sizeof(uint64_t);
    }
    wdl_xfer_args(op, &p->xfer, wdl_gas_stage_flags(op, 1, 0), &args);
    args.src = p->to;
    args.dst = p->from;
    return wdl_gas_stage_start(op, &args, &op->req);
}

static int blocks_go(struct wdl_gas_op *op, int step)
{
    struct put *p = op->own;
    int first = step == 0 && !p->many;
    if (!p->gets)
        return parcels(op, p->to, 8 + op->nbytes, p->from, 8 + op->nbytes) == WDL_OK
                   ? parcels_go(op, first, 1, put_pack, put_unpack)
                   : WDL_ERR_NOMEM;
    if (step == 0)
        return parcels(op, p->to, 8, p->from, 8) == WDL_OK
                   ? parcels_go(op, first, 0, ask_pack, NULL)
                   : WDL_ERR_NOMEM;
    p->src = p->in;
    return parcels(op, p->from, op->nbytes, p->to, op->nbytes) == WDL_OK
               ? parcels_go(op, 0, 1, answer_pack, answer_unpack)
               : WDL_ERR_NOMEM;
}

static int put_next(struct wdl_gas_op *op)
{
    struct put *p = op->own;
    if (p->many && op->stage == 0)
        return counts_go(op);
    return blocks_go(op, op->stage - p->many);
}

/* --- the calls --- */

/* Of the memory only this node's own is known to be in a segment or not. */
static enum wdl_gas_error put_plan(struct wdl_gas_op *op, int flags)
{
    struct put *p = op->own;
    uint32_t size = (uint32_t) op->team->size;
    if (op->nbytes == 0)
        return WDL_GAS_ERR_SIZE;
    if (op->args.flags & WDL_COLL_SINGLE)
        return WDL_GAS_ERR_ADDRESSES;
    if (!p->partners && p->partner_count && p->partner_count != size)
        return WDL_GAS_ERR_NODES;
    p->to = wdl_gas_op_memory(op, 3 * (size_t) size * sizeof(uint64_t));
    if (!p->to || wdl_xfer_init(op, &p->xfer) != WDL_OK)
        return WDL_GAS_ERR_NOMEM;
    p->from = p->to + size;
    for (size_t i = 0; i < p->count; i++) {
        if (p->nodes[i] >= size)
            return WDL_GAS_ERR_NODES;
        p->to[p->nodes[i]]++;
    }
    for (size_t i = 0; i < p->partner_count; i++) {
        if (partner(p, i) >= size || p->from[partner(p, i)]++)
            return WDL_GAS_ERR_NODES;
    }
    enum wdl_gas_error error =
        wdl_gas_lists_error(op->team, flags, p->count, p->gets ? NULL : op->src, op->nbytes,
                            p->gets ? op->dst : NULL, op->nbytes);
    if (error)
        return error;
    if (p->many) /* to be heard */
        memset(p->from, 0, (size_t) size * sizeof(uint64_t));
    return WDL_GAS_FINE;
}

wdl_gas_handle wdl_gas_put_nb(struct wdl_gas_team *team, const struct wdl_gas_put *call, int flags)
{
    wdl_gas_handle handle;
    struct wdl_gas_op *op = wdl_gas_op_new(team, flags, 0, 1, &handle);
    struct put *p = op ? wdl_gas_op_memory(op, sizeof(*p)) : NULL;
    if (!op)
        return handle;
    if (!p)
        return wdl_gas_op_fail(op, WDL_GAS_ERR_NOMEM);
    *p = (struct put){.gets = call->gets,
                      .many = call->many,
                      .nodes = call->nodes,
                      .count = call->count,
                      .partners = call->partners,
                      .partner_count = call->partner_count,
                      .node = call->node,
                      .dst = call->dst,
                      .src = call->src};
    op->own = p;
    op->nbytes = call->nbytes;
    op->dst = call->dst_list;
    op->src = call->src_list;
    if (!call->many) {
        p->nodes = &p->node;
        p->count = 1;
        op->dst = &p->dst;
        op->src = &p->src;
    }
    enum wdl_gas_error error = put_plan(op, flags);
    return error ? wdl_gas_op_fail(op, error) : wdl_gas_op_stages(op, flags, put_next);
}
