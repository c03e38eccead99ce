/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * put and get with partner lists (seed 000): each node says to which nodes it goes, and which nodes
 * come to it, so that all synchronization is between the two. Addresses are always the remote
 * node's: they travel with the data (put), or ahead of it (get).
 *
 * What knows no length beforehand is a graph in which each partner is served by itself: putM,
 * get and getM (gasnet_pair.c). The others go in stages:
 *
 *   put     parcel = address, block                   one
 *
 * and long blocks, for which the addresses go ahead, so that they go from their places to their
 * places:
 *
 *   put, get     address; block                       two
 *   putM, getM   how many; addresses; blocks          three
 */
#include <string.h>
#include "mpid/coll/gasnet_put.h"

enum { LONG = 16384 }; /* bytes of a block from where on two copies take longer than a message */

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

/* --- addresses ahead --- */

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

static void ask_pack(void *local)
{
    struct wdl_gas_op *op = local;
    struct wdl_put *p = op->own;
    wdl_put_addresses(op, p->gets ? op->src : op->dst, (uint64_t *) (void *) p->out);
}

/* Between the places of several blocks of a node and where they lie packed. */
static void blocks_copy(struct wdl_gas_op *op, const struct wdl_put_blocks *b, int gives)
{
    const uint64_t *address = b->address;
    char *packed = b->packed;
    for (int node = 0; node < op->team->size; address += b->count[node++])
        for (uint64_t i = 0; i < b->count[node] && b->count[node] > 1; i++, packed += op->nbytes) {
            void *place = (void *) (uintptr_t) address[i];
            memcpy(gives ? packed : place, gives ? place : packed, op->nbytes);
        }
}

static void blocks_pack(void *local)
{
    struct wdl_gas_op *op = local;
    blocks_copy(op, &((struct wdl_put *) op->own)->give, 1);
}

static void blocks_unpack(void *local)
{
    struct wdl_gas_op *op = local;
    blocks_copy(op, &((struct wdl_put *) op->own)->take, 0);
}

/* The lists of what goes between this node and each; *base_out: what the places count from. */
static int blocks_lie(struct wdl_gas_op *op, struct wdl_put_blocks *b, size_t *bytes, size_t *at,
                      void **base_out)
{
    int size = op->team->size;
    const uint64_t *address = b->address;
    uintptr_t low = UINTPTR_MAX;
    size_t packed = 0;
    for (int i = 0; i < size; i++) {
        bytes[i] = b->count[i] * op->nbytes;
        packed += b->count[i] > 1 ? bytes[i] : 0;
    }
    char *next = b->packed = wdl_gas_op_memory(op, packed);
    if (!next)
        return WDL_ERR_NOMEM;
    for (int i = 0; i < size; address += b->count[i++]) {
        at[i] = b->count[i] > 1 ? (uintptr_t) next : b->count[i] ? address[0] : UINTPTR_MAX;
        next += b->count[i] > 1 ? bytes[i] : 0;
        low = at[i] < low ? at[i] : low;
    }
    for (int i = 0; i < size; i++)
        at[i] = b->count[i] ? at[i] - low : 0;
    *base_out = low == UINTPTR_MAX ? NULL : (void *) low;
    return WDL_OK;
}

/* --- stages --- */

/* How many blocks: a number each way between partners. */
static int counts_go(struct wdl_gas_op *op)
{
    struct wdl_put *p = op->own;
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

/* p->in: the addresses the others have sent. */
static int blocks_go(struct wdl_gas_op *op)
{
    struct wdl_put *p = op->own;
    struct wdl_coll_args args;
    void *src, *dst;
    uint64_t *own = wdl_gas_op_memory(op, p->count * sizeof(*own));
    if (!own)
        return WDL_ERR_NOMEM;
    wdl_put_addresses(op, p->gets ? op->dst : op->src, own);
    struct wdl_put_blocks here = {p->to, own, NULL};
    struct wdl_put_blocks told = {p->from, (const uint64_t *) (const void *) p->in, NULL};
    p->give = p->gets ? told : here;
    p->take = p->gets ? here : told;
    if (blocks_lie(op, &p->give, p->xfer.out, p->xfer.out_at, &src) != WDL_OK ||
        blocks_lie(op, &p->take, p->xfer.in, p->xfer.in_at, &dst) != WDL_OK)
        return WDL_ERR_NOMEM;
    wdl_xfer_args(op, &p->xfer, wdl_gas_stage_flags(op, 0, 1), &args);
    args.src = src;
    args.dst = dst;
    args.before = blocks_pack;
    args.after = blocks_unpack;
    return wdl_gas_stage_last(op, &args);
}

/* Addresses, or parcels: as much for each block, whoever has it. */
static int parcels_go(struct wdl_gas_op *op)
{
    struct wdl_put *p = op->own;
    struct wdl_coll_args args;
    int size = op->team->size;
    size_t each = p->ahead ? 8 : 8 + op->nbytes;
    for (int i = 0; i < size; i++) {
        p->xfer.out[i] = p->to[i] * each;
        p->xfer.in[i] = p->from[i] * each;
    }
    size_t out = wdl_xfer_places(p->xfer.out, p->xfer.out_at, size);
    size_t in = wdl_xfer_places(p->xfer.in, p->xfer.in_at, size);
    p->out = wdl_gas_op_memory(op, out + in);
    if (!p->out)
        return WDL_ERR_NOMEM;
    p->in = p->out + out;
    wdl_xfer_args(op, &p->xfer, wdl_gas_stage_flags(op, !p->many, !p->ahead), &args);
    args.src = p->out;
    args.dst = p->in;
    args.before = p->ahead ? ask_pack : put_pack;
    args.after = p->ahead ? NULL : put_unpack;
    return p->ahead ? wdl_gas_stage_start(op, &args, &op->req) : wdl_gas_stage_last(op, &args);
}

static int put_next(struct wdl_gas_op *op)
{
    struct wdl_put *p = op->own;
    if (p->many && op->stage == 0)
        return counts_go(op);
    return op->stage == p->many ? parcels_go(op) : blocks_go(op);
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
    enum wdl_gas_error error =
        wdl_gas_lists_error(op->team, flags, p->count, p->gets ? NULL : op->src, op->nbytes,
                            p->gets ? op->dst : NULL, op->nbytes);
    if (error)
        return error;
    if (p->many && op->staged) /* to be heard */
        memset(p->from, 0, (size_t) size * sizeof(uint64_t));
    return WDL_GAS_FINE;
}

wdl_gas_handle wdl_gas_put_nb(struct wdl_gas_team *team, const struct wdl_gas_put *call, int flags)
{
    wdl_gas_handle handle;
    int stages = call->nbytes > LONG || !(call->gets || call->many);
    struct wdl_gas_op *op = wdl_gas_op_new(team, flags, 0, stages, &handle);
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
    p->ahead = call->gets || call->nbytes > LONG;
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
    return stages ? wdl_gas_op_stages(op, flags, put_next) : wdl_put_pairs_start(op, flags);
}
