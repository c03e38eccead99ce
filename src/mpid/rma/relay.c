/* Part of Windlass. See COPYRIGHT in the top-level directory. Post and complete of large groups:
 * relay.h. */
#include <string.h>
#include "mpid/rma/win_impl.h"

int wdl_relay_above(const struct wdl_win *win)
{
    return win->params.attended && !win->params.node_whole ? win->rma->params.pscw_tree : 0;
}

struct wdl_relay *wdl_relay_make(struct wdl_win *win, const struct wdl_posted *post, int n)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_relay *relay =
        host->ops->alloc(host->ctx, sizeof(*relay) + (size_t) n * sizeof(relay->rank[0]));
    if (relay)
        relay->post = *post;
    return relay;
}

void wdl_relay_drop(struct wdl_win *win, struct wdl_relay *relay)
{
    const struct wdl_host *host = &win->proc->host;
    if (relay)
        host->ops->free(host->ctx, relay);
}

void wdl_relays_drop(struct wdl_win *win)
{
    struct wdl_list *node;
    while ((node = wdl_list_pop(&win->relays)) != NULL)
        wdl_relay_drop(win, wdl_container_of(node, struct wdl_relay, link));
    wdl_relay_drop(win, win->telling);
}

static int is_post(const struct wdl_relay *relay)
{
    return relay->post.rank >= 0;
}

/* How many of those left hear of it from the next one to be told, itself included. */
static int next_share(const struct wdl_win *win, const struct wdl_relay *relay)
{
    int room = 1 + (int) (win->rma->chunk_bytes / sizeof(uint32_t)), half = (relay->n + 1) / 2;
    return relay->flat ? 1 : half < room ? half : room;
}

/* Tell the last but share - 1 of those left, and leave these to it. */
static int tell_next(struct wdl_win *win, const struct wdl_relay *relay, int share)
{
    const int *head = relay->rank + relay->n - share;
    struct wdl_pkt pkt;
    wdl_pkt_init(&pkt, win, is_post(relay) ? WDL_PKT_POST : WDL_PKT_COMPLETE);
    pkt.lo = relay->post.rank;
    pkt.op = relay->post.number;
    pkt.count = 1;
    if (share == 1)
        return wdl_pkt_send(win, head[0], &pkt);
    struct wdl_bounce *bounce = wdl_bounce_get(win->proc);
    if (!bounce)
        return WDL_AGAIN;
    for (int i = 1; i < share; i++) {
        uint32_t rank = (uint32_t) head[i];
        memcpy((char *) bounce->data + (size_t) (i - 1) * sizeof(rank), &rank, sizeof(rank));
    }
    int status = wdl_bounce_send(bounce, win->params.peer_of(win->params.ctx, head[0]), WDL_AM_RMA,
                                 &pkt, sizeof(pkt), (size_t) (share - 1) * sizeof(uint32_t));
    if (status == WDL_OK)
        win->stats.messages++;
    else
        wdl_bounce_put(bounce);
    return status;
}

/* WDL_OK: all are told. A lost one is left out, not those it was to tell. */
static int relay_tell(struct wdl_win *win, struct wdl_relay *relay, int *sent)
{
    while (relay->n > 0) {
        int share = next_share(win, relay), status = tell_next(win, relay, share);
        if (status == WDL_AGAIN)
            return WDL_AGAIN;
        ++*sent;
        if (wdl_status_is_error(status)) {
            int *head = relay->rank + relay->n - share;
            wdl_win_fail(win, status);
            memmove(head, head + 1, (size_t) (share - 1) * sizeof(*head));
            relay->n--;
            continue;
        }
        relay->n -= share;
        relay->children++;
    }
    return WDL_OK;
}

/* To whom the post came from: so many have completed. The target itself hears of them as usual. */
static int send_up(struct wdl_win *win, const struct wdl_posted *post, int count)
{
    int to_target = post->parent == post->rank;
    struct wdl_pkt pkt;
    if (to_target && count == 0)
        return WDL_OK;          /* they have told it */
    wdl_pkt_init(&pkt, win, to_target ? WDL_PKT_COMPLETE : WDL_PKT_REPORT);
    pkt.lo = post->rank;
    pkt.op = post->number;
    pkt.count = count;
    int status = wdl_pkt_send(win, post->parent, &pkt);
    if (wdl_status_is_error(status))
        wdl_win_fail(win, status);
    return status == WDL_AGAIN ? WDL_AGAIN : WDL_OK;
}

/* Everything below has completed, and this rank. */
static int is_whole(const struct wdl_relay *relay)
{
    return relay->n == 0 && relay->own && relay->reports == relay->children;
}

static int is_answered(const struct wdl_relay *relay)
{
    return is_post(relay) && relay->post.parent >= 0;
}

void wdl_relay_begin(struct wdl_win *win, struct wdl_relay *relay)
{
    wdl_list_push(&win->relays, &relay->link);
    wdl_win_activate(win);
}

int wdl_relay_read(struct wdl_win *win, const struct wdl_posted *post, const char *payload,
                   size_t bytes, struct wdl_relay **out)
{
    size_t n = bytes / sizeof(uint32_t);
    *out = NULL;
    if (bytes % sizeof(uint32_t) || n >= (size_t) win->params.size)
        return WDL_ERR_PROTO;
    if (n == 0)
        return WDL_OK;
    struct wdl_relay *relay = wdl_relay_make(win, post, (int) n);
    if (!relay)
        return WDL_AGAIN;
    for (; relay->n < (int) n; relay->n++) {
        uint32_t rank;
        memcpy(&rank, payload + (size_t) relay->n * sizeof(rank), sizeof(rank));
        if (rank >= (uint32_t) win->params.size || (int) rank == win->params.rank ||
            (int) rank == post->rank) {
            wdl_relay_drop(win, relay);
            return WDL_ERR_PROTO;
        }
        relay->rank[relay->n] = (int) rank;
    }
    *out = relay;
    return WDL_OK;
}

static struct wdl_relay *relay_find(const struct wdl_win *win, int rank, uint32_t number)
{
    struct wdl_list *node;
    wdl_list_for(node, &win->relays) {
        struct wdl_relay *relay = wdl_container_of(node, struct wdl_relay, link);
        if (is_answered(relay) && relay->post.rank == rank && relay->post.number == number)
            return relay;
    }
    return NULL;
}

int wdl_relay_completed(struct wdl_win *win, const struct wdl_posted *post, int told)
{
    struct wdl_relay *relay = relay_find(win, post->rank, post->number);
    if (!relay)
        return send_up(win, post, !told);
    relay->own = 1;
    relay->count += !told;
    wdl_win_activate(win);
    return WDL_OK;
}

int wdl_relay_reported(struct wdl_win *win, const struct wdl_pkt *pkt)
{
    struct wdl_relay *relay = pkt->lo >= 0 && pkt->lo < win->params.size && pkt->op <= UINT32_MAX
                                  ? relay_find(win, (int) pkt->lo, (uint32_t) pkt->op)
                                  : NULL;
    if (!relay || relay->reports >= relay->children || pkt->count < 0 ||
        pkt->count > win->params.size - relay->count)
        return WDL_ERR_PROTO;
    relay->reports++;
    relay->count += (int) pkt->count;
    wdl_win_activate(win);
    return WDL_OK;
}

int wdl_relays_have_work(const struct wdl_win *win)
{
    struct wdl_list *node;
    wdl_list_for(node, &win->relays) {
        const struct wdl_relay *relay = wdl_container_of(node, struct wdl_relay, link);
        if (relay->n > 0 || !is_answered(relay) || is_whole(relay))
            return 1;
    }
    return 0;
}

int wdl_relays_progress(struct wdl_win *win)
{
    int n = 0;
    struct wdl_list *node, *after;
    wdl_list_for_safe(node, after, &win->relays) {
        struct wdl_relay *relay = wdl_container_of(node, struct wdl_relay, link);
        if (relay_tell(win, relay, &n) != WDL_OK || (is_answered(relay) && !is_whole(relay)))
            continue;
        if (is_answered(relay) && send_up(win, &relay->post, relay->count) != WDL_OK)
            continue;
        wdl_list_remove(&relay->link);
        wdl_relay_drop(win, relay);
        n++;
    }
    return n;
}
