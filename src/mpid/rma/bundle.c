/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Bundles at the target: several operations in one message, perhaps with the request for the lock
 * they need and its release (wire.h). Where the lock is not free the bundle is kept in a stash
 * until its turn comes. Where there is no stash the request alone is queued, and the grant tells
 * the origin to send the operations again.
 */
#include <string.h>
#include "mpid/rma/win_impl.h"

int wdl_serve_is_held(const struct wdl_win *win)
{
    return win->grant.holders - win->grant.granted > 0;
}

void wdl_serve_unlock(struct wdl_win *win)
{
    /* the releasing origin's stores are ordered before the next holder's by the packets
     * themselves */
    wdl_mem_sync(&win->quick);
    int status = wdl_grant_release(&win->grant);
    wdl_assert_cmp(status, ==, WDL_OK);
    wdl_win_activate(win);
}

int wdl_serve_may_close(const struct wdl_win *win, const struct wdl_pkt *pkt)
{
    return (!(pkt->flags & WDL_PKT_WITH_UNLOCK) || wdl_serve_is_held(win)) &&
           (!(pkt->flags & WDL_PKT_WITH_COMPLETE) || wdl_pscw_may_complete(win));
}

void wdl_serve_close(struct wdl_win *win, const struct wdl_pkt *pkt)
{
    if (pkt->flags & WDL_PKT_WITH_UNLOCK)
        wdl_serve_unlock(win);
    if (!(pkt->flags & WDL_PKT_WITH_COMPLETE))
        return;
    int status = wdl_pscw_completed(win, 1);
    wdl_assert_cmp(status, ==, WDL_OK); /* wdl_serve_may_close */
}

static int is_operation(const struct wdl_pkt *pkt)
{
    return pkt->kind == WDL_PKT_PUT || pkt->kind == WDL_PKT_GET || pkt->kind == WDL_PKT_ACC ||
        pkt->kind == WDL_PKT_GET_ACC || pkt->kind == WDL_PKT_CAS;
}

/* Whole packets of operations from the bundle's sender, whose answers fit in one message. */
static int bundle_valid(const struct wdl_win *win, const struct wdl_pkt *pkt, const char *payload,
                        size_t bytes)
{
    size_t back = 0, at = 0;
    while (at < bytes) {
        struct wdl_pkt part;
        if (bytes - at < sizeof(part))
            return 0;
        memcpy(&part, payload + at, sizeof(part));
        at += sizeof(part);
        if (part.reserved > bytes - at || part.bytes > win->rma->chunk_bytes)
            return 0;
        at += part.reserved;
        back += wdl_serve_room(&part);
        if (!is_operation(&part) || part.win != pkt->win || part.origin != pkt->origin ||
            (part.flags & ~WDL_PKT_WANT_ACK) || back > win->rma->chunk_bytes)
            return 0;
    }
    return bytes > 0;
}

/* Serve what is left of it: WDL_OK or WDL_AGAIN. What is wrong with an operation is its answer. */
static int bundle_pass(struct wdl_win *win, const char *payload, size_t bytes,
                       struct wdl_pass *pass)
{
    while (pass->at < bytes) {
        struct wdl_pkt part;
        size_t used;
        memcpy(&part, payload + pass->at, sizeof(part));
        int status = wdl_serve_part(win, &part, payload + pass->at + sizeof(part), part.reserved,
                                    pass->answer->data + sizeof(struct wdl_pkt) + pass->filled,
                                    &used, &pass->done);
        if (status == WDL_AGAIN)
            return WDL_AGAIN;
        pass->filled += used;
        pass->at += sizeof(part) + part.reserved;
        pass->done = 0;
    }
    return WDL_OK;
}

/* Say what has been done; nothing where nobody waits for a word. */
static void bundle_answer(struct wdl_win *win, const struct wdl_pkt *pkt,
                          const struct wdl_pass *pass, int more)
{
    struct wdl_pkt answer;
    more |= pkt->flags & (WDL_PKT_WITH_LOCK | WDL_PKT_WITH_UNLOCK | WDL_PKT_WITH_FLUSH);
    if (!more && pass->filled == 0) {
        wdl_bounce_put(pass->answer);
        return;
    }
    wdl_pkt_init(&answer, win, WDL_PKT_ANSWERS);
    answer.flags = (uint8_t) more;
    wdl_reply_send(win, (int) pkt->origin, pass->answer, &answer, pass->filled);
}

/* The lock is not free: into the queue with it. */
static int bundle_queue(struct wdl_win *win, const struct wdl_pkt *pkt, const char *payload,
                        size_t bytes)
{
    struct wdl_stash *stash = bytes <= WDL_STASH_BYTES ? wdl_pool_get(&win->rma->stashes) : NULL;
    int exclusive = (pkt->flags & WDL_PKT_EXCLUSIVE) != 0;
    struct wdl_grant_request request = {.rank = (int) pkt->origin,.exclusive = exclusive,
        .join = !exclusive && (pkt->flags & WDL_PKT_JOIN),.again = !stash,.stash = stash
    };
    if (stash) {
        stash->pkt = *pkt;
        stash->pass = (struct wdl_pass) {.answer = NULL };
        stash->bytes = bytes;
        memcpy(stash->payload, payload, bytes);
    }
    int status = wdl_grant_queue(&win->grant, &request);
    if (status != WDL_OK && stash)
        wdl_pool_put(stash);
    wdl_win_activate(win);
    /* no memory now: it is to come again, since its sender waits for an answer */
    return status == WDL_ERR_NOMEM ? WDL_AGAIN : status;
}

int wdl_serve_bundle(struct wdl_win *win, const struct wdl_pkt *pkt, const char *payload,
                     size_t bytes)
{
    struct wdl_pass pass = {.answer = NULL };
    int lock = pkt->flags & WDL_PKT_WITH_LOCK;
    if (!wdl_resume_take(&win->rma->resume, pkt, &pass)) {
        if (!bundle_valid(win, pkt, payload, bytes) ||
            (lock && (pkt->flags & WDL_PKT_WITH_COMPLETE)) ||
            (lock && !wdl_grant_may_ask(&win->grant, win->params.size)) ||
            (!lock && !wdl_serve_may_close(win, pkt)))
            return WDL_ERR_PROTO;
        pass.answer = wdl_bounce_get(win->proc);
        if (!pass.answer)
            return WDL_AGAIN;
        if (lock && !wdl_grant_take(&win->grant, (pkt->flags & WDL_PKT_EXCLUSIVE) != 0)) {
            wdl_bounce_put(pass.answer);
            return bundle_queue(win, pkt, payload, bytes);
        }
    }
    if (bundle_pass(win, payload, bytes, &pass) != WDL_OK) {
        wdl_resume_keep(&win->rma->resume, pkt, &pass);
        return WDL_AGAIN;
    }
    bundle_answer(win, pkt, &pass, 0);
    wdl_serve_close(win, pkt);
    return WDL_OK;
}

int wdl_stash_serve(struct wdl_win *win)
{
    const struct wdl_grant_request *next = wdl_grant_next(&win->grant);
    struct wdl_stash *stash = next->stash;
    int overtook = next->overtook, unlock = stash->pkt.flags & WDL_PKT_WITH_UNLOCK;
    if (!stash->pass.answer)
        stash->pass.answer = wdl_bounce_get(win->proc);
    if (!stash->pass.answer ||
        bundle_pass(win, stash->payload, stash->bytes, &stash->pass) != WDL_OK)
        return WDL_AGAIN;
    bundle_answer(win, &stash->pkt, &stash->pass, overtook ? WDL_PKT_OVERTOOK : 0);
    wdl_pool_put(stash);
    wdl_grant_announced(&win->grant);
    if (unlock)
        wdl_serve_unlock(win);
    return WDL_OK;
}

void wdl_stashes_drop(struct wdl_win *win)
{
    const struct wdl_grant_request *queue = win->grant.queue.items;
    for (int i = 0; i < win->grant.length; i++) {
        struct wdl_stash *stash = queue[i].stash;
        if (stash && stash->pass.answer)
            wdl_bounce_put(stash->pass.answer);
        if (stash)
            wdl_pool_put(stash);
    }
}
