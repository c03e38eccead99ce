/* Part of Windlass. See COPYRIGHT in the top-level directory. Sending packets and answers. */
#include <string.h>
#include "mpid/rma/win_impl.h"

void wdl_pkt_init(struct wdl_pkt *pkt, const struct wdl_win *win, enum wdl_pkt_kind kind)
{
    memset(pkt, 0, sizeof(*pkt));
    pkt->kind = (uint8_t) kind;
    pkt->win = win->params.id;
    pkt->origin = (uint32_t) win->params.rank;
}

int wdl_pkt_send(struct wdl_win *win, int rank, const struct wdl_pkt *pkt)
{
    return wdl_pkt_send_peer(win, win->params.peer_of(win->params.ctx, rank), pkt);
}

int wdl_pkt_send_peer(struct wdl_win *win, int peer, const struct wdl_pkt *pkt)
{
    int status = wdl_am_send(win->proc, peer, WDL_AM_RMA, pkt, sizeof(*pkt), NULL, 0, NULL);
    wdl_assert_cmp(status, !=, WDL_PENDING);    /* there is no payload to wait for */
    if (status == WDL_OK)
        win->stats.messages++;
    return status;
}

static int reply_try(struct wdl_rma *rma, struct wdl_bounce *bounce)
{
    (void) rma;
    return wdl_bounce_send(bounce, bounce->peer, WDL_AM_RMA, NULL, 0, bounce->bytes);
}

/* One attempt; 1 when the bounce is off our hands. A lost peer gets no answer: that loss is
 * reported elsewhere. */
static int reply_settled(struct wdl_rma *rma, struct wdl_bounce *bounce)
{
    int status = reply_try(rma, bounce);
    if (status == WDL_AGAIN)
        return 0;
    if (wdl_status_is_error(status))
        wdl_bounce_put(bounce);
    return 1;
}

void wdl_reply_send(struct wdl_win *win, int rank, struct wdl_bounce *bounce,
                    const struct wdl_pkt *pkt, size_t payload_bytes)
{
    memcpy(bounce->data, pkt, sizeof(*pkt));
    bounce->peer = win->params.peer_of(win->params.ctx, rank);
    bounce->bytes = sizeof(*pkt) + payload_bytes;
    win->stats.messages++;
    if (!wdl_list_empty(&win->rma->replies) || !reply_settled(win->rma, bounce))
        wdl_list_push(&win->rma->replies, &bounce->link);
}

int wdl_replies_progress(struct wdl_rma *rma)
{
    int n = 0;
    while (!wdl_list_empty(&rma->replies)) {
        struct wdl_bounce *bounce = wdl_container_of(rma->replies.next, struct wdl_bounce, link);
        wdl_list_remove(&bounce->link);
        if (!reply_settled(rma, bounce)) {
            wdl_list_push_front(&rma->replies, &bounce->link);
            break;
        }
        n++;
    }
    return n;
}
