/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * put and get with partner lists (seed 000): each node says to which nodes it goes, and which nodes
 * come to it, so that all synchronization is between the two. Addresses are always the remote
 * node's: they travel with the data, or ahead of it (get, and long blocks).
 */
#include "mpid/coll/gasnet_put.h"

static uint32_t partner(const struct wdl_put *p, size_t i)
{
    return p->partners ? p->partners[i] : (uint32_t) i;
}

/* Of the memory only this node's own is known to be in a segment or not. */
static enum wdl_gas_error put_plan(struct wdl_gas_op *op, int flags)
{
    struct wdl_put *p = op->own;
    uint32_t size = (uint32_t) op->team->size;
    if (op->nbytes == 0 || wdl_gas_is_too_long(p->count ? p->count : 1, op->nbytes))
        return WDL_GAS_ERR_SIZE;
    if (op->args.flags & WDL_COLL_SINGLE)
        return WDL_GAS_ERR_ADDRESSES;
    if (!p->partners && p->partner_count && p->partner_count != size)
        return WDL_GAS_ERR_NODES;
    p->to = wdl_gas_op_memory(op, 2 * (size_t) size * sizeof(uint64_t));
    if (!p->to)
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
    struct wdl_gas_op *op = wdl_gas_op_new(team, flags, 0, 0, &handle);
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
    if (!error &&
        wdl_put_pairs(op, p->gets ? op->dst : op->src, p->gets ? op->src : op->dst) != WDL_OK)
        error = WDL_GAS_ERR_NOMEM;
    return error ? wdl_gas_op_fail(op, error) : wdl_gas_op_start(op, flags);
}
