/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * put and get with partner lists (seed 000): each node says to which nodes it goes, and which nodes
 * come to it, so that all synchronization is between the two. Addresses are always the remote
 * node's: they travel with the data (put), or ahead of it (get).
 *
 * What not both know beforehand, how many blocks or where a long one is, is a graph in which each
 * partner is served by itself: putM, get and getM, and put of a long block (gasnet_pair.c). A put
 * of a short one is a stage, in which a parcel, address and block, goes to each node.
 */
#include <string.h>
#include "mpid/coll/gasnet_put.h"

static uint32_t partner(const struct wdl_put *p, size_t i)
{
    return p->partners ? p->partners[i] : (uint32_t) i;
}

/* Visit the own blocks by node: `done` counts those of a node behind us. */
static uint64_t *counters(struct wdl_gas_op *op)
{
    struct wdl_put *p = op->own;
    uint64_t *done = p->from + op->team->size;
    memset(done, 0, (size_t) op->team->size * sizeof(*done));
    return done;
}

/* --- put --- */

static void put_pack(void *local)
{
    struct wdl_gas_op *op = local;
    struct wdl_put *p = op->own;
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
    struct wdl_put *p = op->own;
    for (int node = 0; node < op->team->size; node++)
        for (uint64_t i = 0; i < p->from[node]; i++) {
            const char *from = p->in + p->xfer.in_at[node] + i * (8 + op->nbytes);
            uint64_t address;
            memcpy(&address, from, 8);
            memcpy((void *) (uintptr_t) address, from + 8, op->nbytes);
        }
}

/* --- addresses --- */

void wdl_put_addresses(struct wdl_gas_op *op, void *const *list, uint64_t *out)
{
    struct wdl_put *p = op->own;
    uint64_t *next = counters(op), sum = 0;
    for (int node = 0; node < op->team->size; node++) {
        next[node] = sum;
        sum += p->to[node];
    }
    for (size_t i = 0; i < p->count; i++)
        out[next[p->nodes[i]]++] = (uint64_t) (uintptr_t) list[i];
}

/* --- the stage --- */

/* Who gets nothing waits for nothing that comes. */
static int parcels_go(struct wdl_gas_op *op)
{
    struct wdl_put *p = op->own;
    struct wdl_coll_args args;
    int size = op->team->size;
    for (int i = 0; i < size; i++) {
        p->xfer.out[i] = p->to[i] * (8 + op->nbytes);
        p->xfer.in[i] = p->from[i] * (8 + op->nbytes);
    }
    size_t out = wdl_xfer_places(p->xfer.out, p->xfer.out_at, size);
    size_t in = wdl_xfer_places(p->xfer.in, p->xfer.in_at, size);
    p->out = wdl_gas_op_memory(op, out + in);
    if (!p->out)
        return WDL_ERR_NOMEM;
    p->in = p->out + out;
    wdl_xfer_args(op, &p->xfer, wdl_gas_stage_flags(op, 1, 1), &args);
    args.src = p->out;
    args.dst = p->in;
    args.before = put_pack;
    args.after = put_unpack;
    return wdl_gas_stage_last(op, &args);
}

/* --- the calls --- */

/* Of the memory only this node's own is known to be in a segment or not. */
static enum wdl_gas_error put_plan(struct wdl_gas_op *op, int flags)
{
    struct wdl_put *p = op->own;
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
    return wdl_gas_lists_error(op->team, flags, p->count, p->gets ? NULL : op->src, op->nbytes,
                               p->gets ? op->dst : NULL, op->nbytes);
}

wdl_gas_handle wdl_gas_put_nb(struct wdl_gas_team *team, const struct wdl_gas_put *call, int flags)
{
    wdl_gas_handle handle;
    int staged = !call->gets && !call->many && call->nbytes <= WDL_PUT_LONG;
    struct wdl_gas_op *op = wdl_gas_op_new(team, flags, 0, staged, &handle);
    struct wdl_put *p = op ? wdl_gas_op_memory(op, sizeof(*p)) : NULL;
    if (!op)
        return handle;
    if (!p)
        return wdl_gas_op_fail(op, WDL_GAS_ERR_NOMEM);
    *p = (struct wdl_put){.gets = call->gets,
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
    if (error)
        return wdl_gas_op_fail(op, error);
    return staged ? wdl_gas_op_stages(op, flags, parcels_go) : wdl_put_pairs_start(op, flags);
}
