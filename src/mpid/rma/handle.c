/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Where RMA packets arrive: the window is found, the sender is checked, the packet goes to the part
 * it concerns. Handlers queue what they cause; they never step another machine.
 */
#include <string.h>
#include "mpid/rma/win_impl.h"

/* Done with all that came before: say so. */
static int handle_acknowledge(struct wdl_win *win, const struct wdl_pkt *pkt,
                              enum wdl_pkt_kind kind)
{
    struct wdl_bounce *bounce = wdl_bounce_get(win->proc);
    struct wdl_pkt ack;
    if (!bounce)
        return WDL_AGAIN;
    wdl_pkt_init(&ack, win, kind);
    ack.op = pkt->op;
    wdl_reply_send(win, (int) pkt->origin, bounce, &ack, 0);
    return WDL_OK;
}

static int handle_lock(struct wdl_win *win, const struct wdl_pkt *pkt)
{
    if (!wdl_grant_may_ask(&win->grant, win->params.size))
        return WDL_ERR_PROTO;
    int status = wdl_grant_request(&win->grant, (int) pkt->origin,
                                   (pkt->flags & WDL_PKT_EXCLUSIVE) != 0,
                                   (pkt->flags & WDL_PKT_JOIN) != 0);
    wdl_win_activate(win);
    /* no memory now: the request is to come again, since its sender waits for an answer */
    return status == WDL_ERR_NOMEM ? WDL_AGAIN : status;
}

static int handle_unlock(struct wdl_win *win, const struct wdl_pkt *pkt)
{
    if (!wdl_serve_is_held(win))
        return WDL_ERR_PROTO;
    int status = handle_acknowledge(win, pkt, WDL_PKT_UNLOCK_ACK);
    if (status == WDL_OK)
        wdl_serve_unlock(win);
    return status;
}

static int lock_granted(struct wdl_win *win, const struct wdl_pkt *pkt)
{
    struct wdl_target *t = wdl_target_find(win, (int) pkt->origin);
    int asked = t && wdl_lock_asked(&t->lock);
    int status = asked ? wdl_lock_step(&t->lock, WDL_LOCK_ON_GRANT) : wdl_lock_all_answer(win);
    if (status == WDL_OK && asked && win->epoch.access_state != WDL_ACCESS_PER_TARGET)
        wdl_mem_sync(&win->quick);      /* lock_all was over before; pairs with the last unlock's */
    if (status == WDL_OK && asked && (pkt->flags & WDL_PKT_AGAIN))
        wdl_combine_again(t);
    win->debts += status == WDL_OK && (pkt->flags & WDL_PKT_OVERTOOK);
    return status;
}

static int lock_released(struct wdl_win *win, int rank)
{
    struct wdl_target *t = wdl_target_find(win, rank);
    if (t && t->lock.state >= WDL_LOCK_RELEASING)
        return wdl_lock_step(&t->lock, WDL_LOCK_ON_ACK);
    return wdl_lock_all_answer(win);
}

static int flush_done(struct wdl_win *win, int rank)
{
    struct wdl_target *t = wdl_target_find(win, rank);
    if (!t || t->flush_acked == t->flush_sent)
        return WDL_ERR_PROTO;
    t->flush_acked++;
    if (t->flush_acked == t->flush_mark && t->flush_acked != t->flush_sent) {
        t->flush_mark = t->flush_sent;
        t->flush_stamp = t->flush_next_stamp;
    }
    return WDL_OK;
}

/* What an answer says besides. A whole epoch that is acknowledged has neither grant nor flush. */
static int handle_more(struct wdl_win *win, const struct wdl_pkt *pkt)
{
    int status = WDL_OK;
    wdl_win_activate(win);
    if (pkt->flags & WDL_PKT_WITH_UNLOCK) {
        status = lock_released(win, (int) pkt->origin);
        win->debts += status == WDL_OK && (pkt->flags & WDL_PKT_OVERTOOK);
        return status;
    }
    if (pkt->flags & WDL_PKT_WITH_LOCK)
        status = lock_granted(win, pkt);
    if (status == WDL_OK && (pkt->flags & WDL_PKT_WITH_FLUSH))
        status = flush_done(win, (int) pkt->origin);
    return status;
}

static int handle_settled(struct wdl_win *win)
{
    if (win->debts == 0)
        return WDL_ERR_PROTO;
    win->debts--;
    return WDL_OK;
}

static int handle_answer(struct wdl_win *win, const struct wdl_pkt *pkt, const char *payload,
                         size_t bytes)
{
    struct wdl_op *op = wdl_op_find(win, pkt->op);
    if (!op || op->target->rank != (int) pkt->origin)
        return WDL_ERR_PROTO;
    int status = wdl_op_answer(op, pkt, payload, bytes);
    wdl_win_activate(win);
    return status;
}

static int handle_error(struct wdl_win *win, const struct wdl_pkt *pkt)
{
    if (pkt->status >= WDL_STATUS_COUNT)
        return WDL_ERR_PROTO;
    wdl_win_fail(win, wdl_status_is_error(pkt->status) ? pkt->status : WDL_ERR_PROTO);
    wdl_types_distrust(win, (int) pkt->origin);
    return WDL_OK;
}

/* The answers to a bundle's operations. */
static int handle_answers(struct wdl_win *win, const struct wdl_pkt *pkt, const char *payload,
                          size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        struct wdl_pkt part;
        if (bytes - at < sizeof(part))
            return WDL_ERR_PROTO;
        memcpy(&part, payload + at, sizeof(part));
        at += sizeof(part);
        if (part.reserved > bytes - at || part.origin != pkt->origin || part.flags)
            return WDL_ERR_PROTO;
        int status = WDL_ERR_PROTO;
        if (part.kind == WDL_PKT_REPLY || part.kind == WDL_PKT_OP_ACK)
            status = handle_answer(win, &part, payload + at, part.reserved);
        else if (part.kind == WDL_PKT_ERROR)
            status = handle_error(win, &part);
        if (status != WDL_OK)
            return status;
        at += part.reserved;
    }
    return WDL_OK;
}

/* An answer, whose flags count only where it is one. */
static int is_answer(const struct wdl_pkt *pkt)
{
    return pkt->kind >= WDL_PKT_REPLY && pkt->kind != WDL_PKT_GRANT && pkt->kind != WDL_PKT_SETTLED;
}

/* Of a loan whose key is not here there is nothing to wait for. */
static int handle_recall(struct wdl_win *win, const struct wdl_pkt *pkt)
{
    int status = wdl_borrow_recalled(win, pkt);
    return status == WDL_ERR_UNSUPPORTED ? handle_acknowledge(win, pkt, WDL_PKT_RETURNED) : status;
}

static int handle_win(struct wdl_win *win, const struct wdl_pkt *pkt, const char *payload,
                      size_t bytes)
{
    switch (pkt->kind) {
        case WDL_PKT_PUT:
        case WDL_PKT_GET:
        case WDL_PKT_ACC:
        case WDL_PKT_GET_ACC:
        case WDL_PKT_CAS:
            return wdl_serve_op(win, pkt, payload, bytes);
        case WDL_PKT_TYPE:
            return wdl_serve_type(win, pkt, payload, bytes);
        case WDL_PKT_FORGET:
            return wdl_serve_forget(win, pkt);
        case WDL_PKT_EVICT:
            return wdl_type_evicted(win, pkt);
        case WDL_PKT_LOCK:
            return handle_lock(win, pkt);
        case WDL_PKT_UNLOCK:
            return handle_unlock(win, pkt);
        case WDL_PKT_FLUSH:
            return handle_acknowledge(win, pkt, WDL_PKT_FLUSH_ACK);
        case WDL_PKT_POST:
            return wdl_pscw_post_came(win, pkt, payload, bytes);
        case WDL_PKT_COMPLETE:
            return wdl_pscw_complete_came(win, pkt, payload, bytes);
        case WDL_PKT_REPORT:
            return wdl_relay_reported(win, pkt);
        case WDL_PKT_BARRIER:
            return wdl_barrier_arrive(win, pkt->op, pkt->count);
        case WDL_PKT_BUNDLE:
            return wdl_serve_bundle(win, pkt, payload, bytes);
        case WDL_PKT_KEY:
            return wdl_key_asked(win, pkt);
        case WDL_PKT_KEY_REPLY:
            return wdl_key_answered(win, pkt, payload, bytes);
        case WDL_PKT_RECALL:
            return handle_recall(win, pkt);
        case WDL_PKT_RETURNED:
            return wdl_loan_returned(win, pkt);
        case WDL_PKT_REPLY:
        case WDL_PKT_OP_ACK:
        case WDL_PKT_TYPE_ACK:
            return handle_answer(win, pkt, payload, bytes);
        case WDL_PKT_ANSWERS:
            return handle_answers(win, pkt, payload, bytes);
        case WDL_PKT_GRANT:
            wdl_win_activate(win);
            return lock_granted(win, pkt);
        case WDL_PKT_SETTLED:
            return handle_settled(win);
        case WDL_PKT_UNLOCK_ACK:
            return pkt->flags ? WDL_OK : lock_released(win, (int) pkt->origin);
        case WDL_PKT_FLUSH_ACK:
            return pkt->flags ? WDL_OK : flush_done(win, (int) pkt->origin);
        case WDL_PKT_ERROR:
            return handle_error(win, pkt);
        default:
            return WDL_ERR_PROTO;
    }
}

int wdl_rma_handle(void *module, int src, const void *data, size_t bytes)
{
    struct wdl_rma *rma = module;
    struct wdl_pkt pkt;
    if (bytes < sizeof(pkt))
        return WDL_ERR_PROTO;
    memcpy(&pkt, data, sizeof(pkt));
    struct wdl_win *win = wdl_win_find(rma->proc, pkt.win);
    if (!win && (pkt.kind == WDL_PKT_FORGET || pkt.kind == WDL_PKT_EVICT))
        return WDL_OK;          /* the types went with the window */
    if (!win || pkt.origin >= (uint32_t) win->params.size ||
        win->params.peer_of(win->params.ctx, (int) pkt.origin) != src)
        return WDL_ERR_PROTO;
    int status = handle_win(win, &pkt, (const char *) data + sizeof(pkt), bytes - sizeof(pkt));
    if (status == WDL_OK && is_answer(&pkt) && pkt.flags)
        status = handle_more(win, &pkt);
    return status;
}
