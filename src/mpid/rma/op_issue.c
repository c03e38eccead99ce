/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The origin's side of one operation on the message path: its type (when the target's layout is
 * derived), its packets, a chunk at a time, and the answers. Large data is pipelined in chunks both
 * ways, packed a chunk at a time, never whole (seed 001, Datatype In RMA, 4).
 */
#include <string.h>
#include "mpid/rma/win_impl.h"

enum { LINE = 64 };

/* A payload handed to the network directly from the user's buffer has left it. */
static void op_sent(struct wdl_nm_comp *comp, const struct wdl_nm_info *info)
{
    struct wdl_op *op = wdl_container_of(comp, struct wdl_op, comp);
    op->sending = 0;
    if (wdl_status_is_error(info->status) && op->status == WDL_OK)
        op->status = info->status;
    wdl_win_activate(op->win);
}

static int op_is_acc(const struct wdl_op *op)
{
    return op->args.kind == WDL_RMA_ACC || op->args.kind == WDL_RMA_GET_ACC ||
        op->args.kind == WDL_RMA_CAS;
}

/* No element is longer than a line. */
size_t wdl_op_chunk(const struct wdl_op *op)
{
    size_t max = op->win->rma->chunk_bytes;
    uint64_t piece = op->win->params.hints.piece_bytes;
    if (piece > 0 && piece < max)
        max = piece < LINE ? LINE : (size_t) piece & ~(size_t) (LINE - 1);
    if (!op_is_acc(op))
        return max;
    size_t typed = wdl_rma_typed_bytes(&op->args.element);
    if (op->type != WDL_PKT_CONTIG && max > typed)
        max = typed;
    return max - max % op->args.element.packed_bytes;
}

/* Send a packet with payload bytes [offset, offset + bytes) of the origin's stream. */
static int op_send_stream(struct wdl_op *op, const struct wdl_pkt *pkt, size_t offset, size_t bytes)
{
    struct wdl_win *win = op->win;
    const struct wdl_host *host = &win->proc->host;
    const struct wdl_buf *buf = &op->args.origin;
    int peer = win->params.peer_of(win->params.ctx, op->target->rank);
    int status;

    if (buf->contig) {
        if (op->sending)
            return WDL_AGAIN;
        status = wdl_am_send(win->proc, peer, WDL_AM_RMA, pkt, sizeof(*pkt),
                             (const char *) buf->addr + buf->lo + offset, bytes, &op->comp);
        op->sending = status == WDL_PENDING;
    } else {
        struct wdl_bounce *bounce = wdl_bounce_get(win->proc);
        if (!bounce)
            return WDL_AGAIN;
        size_t n = host->ops->pack(host->ctx, buf->addr, buf->count, buf->type, offset,
                                   bounce->data, bytes);
        if (n != bytes) {
            wdl_bounce_put(bounce);
            return WDL_ERR_TYPE;
        }
        status = wdl_bounce_send(bounce, peer, WDL_AM_RMA, pkt, sizeof(*pkt), bytes);
        if (status == WDL_AGAIN || wdl_status_is_error(status))
            wdl_bounce_put(bounce);
    }
    return status == WDL_PENDING ? WDL_OK : status;
}

void wdl_op_fill(const struct wdl_op *op, struct wdl_pkt *pkt, size_t bytes)
{
    static const uint8_t kind[WDL_RMA_KINDS] = {
        [WDL_RMA_PUT] = WDL_PKT_PUT, [WDL_RMA_GET] = WDL_PKT_GET, [WDL_RMA_ACC] = WDL_PKT_ACC,
        [WDL_RMA_GET_ACC] = WDL_PKT_GET_ACC, [WDL_RMA_CAS] = WDL_PKT_CAS
    };
    const struct wdl_rma_args *args = &op->args;
    wdl_pkt_init(pkt, op->win, kind[args->kind]);
    pkt->rop = (uint8_t) args->op;
    pkt->type = op->type;
    pkt->op = wdl_op_ref(op);
    pkt->disp = args->disp;
    pkt->lo = args->remote.lo;
    pkt->count = args->remote.count;
    pkt->offset = op->next;
    pkt->total = op->total;
    pkt->bytes = (uint32_t) bytes;
    pkt->element = args->element;
    if (op->type == WDL_PKT_PREDEFINED)
        pkt->element.host_type = (uint32_t) args->remote.type;
    if (!op->win->proc->ordered && (args->kind == WDL_RMA_PUT || args->kind == WDL_RMA_ACC))
        pkt->flags |= WDL_PKT_WANT_ACK;
}

int wdl_op_reads(const struct wdl_op *op)
{
    return op->args.kind != WDL_RMA_PUT && op->args.kind != WDL_RMA_ACC;
}

size_t wdl_op_payload_bytes(const struct wdl_op *op)
{
    if (op->args.kind == WDL_RMA_CAS)
        return 2 * op->total;
    return op->args.kind == WDL_RMA_GET ||
        (op->args.kind == WDL_RMA_GET_ACC && op->args.op == WDL_ROP_NO_OP) ? 0 : op->total;
}

int wdl_op_payload(const struct wdl_op *op, char *to)
{
    const struct wdl_host *host = &op->win->proc->host;
    const struct wdl_buf *buf = &op->args.origin;
    size_t bytes = wdl_op_payload_bytes(op), n = op->total;
    if (op->args.kind == WDL_RMA_CAS) {
        memcpy(to, op->args.compare, n);
        memcpy(to + n, buf->addr, n);
    } else if (bytes > 0 && buf->contig) {
        memcpy(to, (const char *) buf->addr + buf->lo, bytes);
    } else if (bytes > 0) {
        n = host->ops->pack(host->ctx, buf->addr, buf->count, buf->type, 0, to, bytes);
        return n == bytes ? WDL_OK : WDL_ERR_TYPE;
    }
    return WDL_OK;
}

static int op_issue_cas(struct wdl_op *op, int flags)
{
    struct wdl_pkt pkt;
    struct wdl_bounce *bounce = wdl_bounce_get(op->win->proc);
    size_t n = op->args.element.packed_bytes;
    if (!bounce)
        return WDL_AGAIN;
    wdl_op_fill(op, &pkt, n);
    pkt.flags |= (uint8_t) flags;
    wdl_op_payload(op, bounce->data);
    int status =
        wdl_bounce_send(bounce, op->win->params.peer_of(op->win->params.ctx, op->target->rank),
                        WDL_AM_RMA, &pkt, sizeof(pkt), 2 * n);
    if (status == WDL_AGAIN || wdl_status_is_error(status)) {
        wdl_bounce_put(bounce);
        return status;
    }
    return WDL_OK;
}

static int op_issue_chunk(struct wdl_op *op, size_t bytes, int flags)
{
    struct wdl_pkt pkt;
    if (op->args.kind == WDL_RMA_CAS)
        return op_issue_cas(op, flags);
    wdl_op_fill(op, &pkt, bytes);
    pkt.flags |= (uint8_t) flags;
    if (wdl_op_payload_bytes(op) == 0) {
        int peer = op->win->params.peer_of(op->win->params.ctx, op->target->rank);
        return wdl_am_send(op->win->proc, peer, WDL_AM_RMA, &pkt, sizeof(pkt), NULL, 0, NULL);
    }
    return op_send_stream(op, &pkt, op->next, bytes);
}

/* A packet has gone on an ordered network: the reply to a read says that all before it is done. */
static void op_counts(struct wdl_op *op)
{
    struct wdl_target *t = op->target;
    if (!wdl_op_reads(op)) {
        wdl_target_dirtied(t, op->stamp);
        return;
    }
    if (t->dirty && wdl_is_older(t->dirty_stamp, op->vouches))
        op->vouches = t->dirty_stamp;
    t->dirty = 0;
}

int wdl_op_issue(struct wdl_op *op)
{
    size_t chunk = wdl_op_chunk(op);
    op->comp.fn = op_sent;
    int status = op->told ? wdl_type_send(op) : WDL_OK;
    if (status != WDL_OK)
        return status;
    size_t bytes = op->total - op->next < chunk ? op->total - op->next : chunk;
    int last = op->next + bytes == op->total;
    int whole = op->win->proc->ordered || op->next == 0;
    if (last && wdl_combine_holds_last(op))
        return WDL_AGAIN;
    int flags = last && whole ? wdl_closing_flags(op->target, 1) : 0;
    if (wdl_op_reads(op))
        flags &= ~WDL_PKT_WITH_FLUSH;
    status = op_issue_chunk(op, bytes, flags);
    if (status != WDL_OK)
        return status;
    op->next += bytes;
    op->win->stats.messages++;
    if (op->win->proc->ordered)
        op_counts(op);
    wdl_closing_sent(op->target, flags);
    return last ? WDL_OK : WDL_PENDING;
}

int wdl_op_answer(struct wdl_op *op, const struct wdl_pkt *pkt, const char *payload, size_t bytes)
{
    const struct wdl_host *host = &op->win->proc->host;
    const struct wdl_rma_args *args = &op->args;
    const struct wdl_buf *into = args->kind == WDL_RMA_GET ? &args->origin : &args->result;
    size_t n = pkt->bytes;

    if (pkt->kind == WDL_PKT_TYPE_ACK) {
        if (!op->told)
            return WDL_ERR_PROTO;
        wdl_type_there(op, pkt);
        return WDL_OK;
    }
    int reads = args->kind != WDL_RMA_PUT && args->kind != WDL_RMA_ACC;
    if (n == 0 || n > op->next - op->done || pkt->offset > op->total - n)
        return WDL_ERR_PROTO;
    if (pkt->status >= WDL_STATUS_COUNT || reads != (pkt->kind == WDL_PKT_REPLY))
        return WDL_ERR_PROTO;
    if (wdl_status_is_error(pkt->status)) {
        op->status = pkt->status;
    } else if (reads) {
        if (bytes != n)
            return WDL_ERR_PROTO;
        if (into->contig)
            memcpy((char *) into->addr + into->lo + pkt->offset, payload, n);
        else
            host->ops->unpack(host->ctx, into->addr, into->count, into->type, pkt->offset, payload,
                              n);
    }
    op->done += n;
    return WDL_OK;
}
