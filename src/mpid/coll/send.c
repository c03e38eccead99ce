/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * SENDs: a flag or a cell's worth is stored within the node; the rest goes by messages, or into
 * attached memory (direct.c) where the ready flag has said so, or ahead of it (ahead.h).
 */
#include <string.h>
#include "mpid/coll/ahead.h"
#include "mpid/coll/fail.h"
#include "mpid/coll/flag.h"
#include "mpid/coll/lend.h"

enum { INLINE_BYTES = 96 }; /* data that travels in the header's copy, without a completion */

static void send_done(struct wdl_nm_comp *comp, const struct wdl_nm_info *info)
{
    struct wdl_coll_send *send = wdl_container_of(comp, struct wdl_coll_send, comp);
    struct wdl_car_run *c = send->car;
    if (wdl_status_is_error(info->status))
        c->run->status = info->status;
    wdl_list_push_front(&c->run->team->coll->sends_free, &send->link);
    c->flight--;
    wdl_car_ready(c);
}

/* What a ready flag says of the memory it is for. */
static int offer_of(const struct wdl_car_run *c, const struct wdl_car *car,
                    struct wdl_offer *offer_out)
{
    const struct wdl_team *team = c->run->team;
    return wdl_direct_offer(team->coll, team->params.peer_of(team->params.ctx, car->peer),
                            wdl_run_at(c->run, car->offered), car->offered_bytes, offer_out);
}

/* Hand one piece to the network. */
static int send_piece(struct wdl_car_run *c, size_t bytes)
{
    const struct wdl_car *car = wdl_car_of(c);
    struct wdl_team *team = c->run->team;
    struct wdl_coll *coll = team->coll;
    struct {
        struct wdl_coll_pkt pkt;
        char data[INLINE_BYTES];
    } head = {{team->params.id, c->run->seq, car->role,
               WDL_PKT_DATA | c->run->print << WDL_PKT_BITS, c->done},
              {0}};
    const char *data = bytes ? wdl_run_at(c->run, car->a) + c->done : NULL;
    size_t own = bytes;
    int peer = team->params.peer_of(team->params.ctx, car->peer);
    int status = WDL_OK;
    struct wdl_offer offer = {0};
    if (car->offers)
        status = offer_of(c, car, &offer);
    if (status == WDL_OK && car->bytes == 0) {
        status = wdl_flag_put(c, offer.region ? WDL_PKT_OFFER : WDL_PKT_DATA, &offer);
        if (status != WDL_ERR_UNSUPPORTED)
            return status;
        status = WDL_OK;
    }
    if (status != WDL_OK)
        return status;
    if (offer.region) { /* a flag has no data of its own */
        head.pkt.what = WDL_PKT_OFFER | (uint32_t) offer.region << WDL_PKT_BITS;
        head.pkt.offset = offer.at;
        data = (const char *) &offer.bytes;
        bytes = sizeof(offer.bytes);
    }
    if (bytes <= INLINE_BYTES) {
        if (bytes)
            memcpy(head.data, data, bytes);
        status = wdl_am_send(coll->proc, peer, WDL_AM_COLL, &head, sizeof(head.pkt) + bytes, NULL,
                             0, NULL);
    } else {
        struct wdl_list *node = coll->sends_free.next;
        struct wdl_coll_send *send = wdl_container_of(node, struct wdl_coll_send, link);
        if (node == &coll->sends_free)
            return WDL_AGAIN;
        send->comp.fn = send_done;
        send->car = c;
        status = wdl_am_send(coll->proc, peer, WDL_AM_COLL, &head, sizeof(head.pkt), data, bytes,
                             &send->comp);
        if (status == WDL_PENDING) {
            wdl_list_remove(node);
            c->flight++;
        }
    }
    if (status == WDL_OK || status == WDL_PENDING) {
        coll->stats.sent++;
        coll->stats.sent_bytes += own;
    }
    return status;
}

/* WDL_OK: it has begun to go ahead, or its ready flag has come; WDL_PENDING: it waits for that, or
 * until it may; WDL_AGAIN. */
static int ahead_begin(struct wdl_car_run *c, const struct wdl_car *car)
{
    struct wdl_team *team = c->run->team;
    struct wdl_stretch wanted = wdl_ahead_wanted(c);
    if (c->run->cars[car->ready - 1].state == WDL_CAR_COMPLETE)
        return WDL_OK;
    if (c->step == WDL_AHEAD_REFUSED)
        return WDL_PENDING;
    int status = wdl_lend_find(team->coll, team->params.peer_of(team->params.ctx, car->peer),
                               &wanted, wdl_ahead_dst(&c->run->args, team->rank), &c->offer);
    if (status == WDL_OK)
        c->step = WDL_AHEAD_BEGUN;
    else if (status == WDL_PENDING)
        wdl_lend_wait(c);
    else if (status != WDL_AGAIN)
        c->step = WDL_AHEAD_REFUSED;
    return status == WDL_OK || status == WDL_AGAIN ? status : WDL_PENDING;
}

/* Pieces are alike but for the last, so that the receiver can count them. */
int wdl_send_step(struct wdl_car_run *c)
{
    const struct wdl_car *car = wdl_car_of(c);
    size_t limit = wdl_car_limit(c);
    int sent = c->arrived != 0; /* a flag has no bytes to tell that it went */
    if (car->shm) {
        struct wdl_offer offer;
        if (limit == car->bytes) {
            if (car->offers && offer_of(c, car, &offer) != WDL_OK)
                return WDL_AGAIN;
            wdl_shm_store(c->run, car,
                          car->offers ? (void *) &offer : wdl_run_at(c->run, car->a));
            wdl_car_complete(c); /* the run, and with it car, may be gone */
        }
        return WDL_OK;
    }
    const struct wdl_offer *to = car->ready ? &c->run->cars[car->ready - 1].offer : NULL;
    if (car->ahead && c->step != WDL_AHEAD_BEGUN) {
        int status = ahead_begin(c, car);
        if (status != WDL_OK)
            return status == WDL_PENDING ? WDL_OK : status;
    }
    int begun = c->step == WDL_AHEAD_BEGUN;
    if (begun)
        to = &c->offer;
    if (to && to->region && (begun || car->bytes > c->run->team->coll->chunk_bytes)) {
        if (to->bytes < car->bytes || to->bytes - car->bytes < car->place_at) {
            wdl_run_fail(c->run);
            return WDL_OK;
        }
        int status = wdl_direct_step(c, car, to, limit);
        if (status == WDL_AGAIN)
            return WDL_AGAIN;
        if (wdl_status_is_error(status) && status != WDL_ERR_UNSUPPORTED) {
            c->run->status = status;
            c->done = car->bytes;
        }
        if (status != WDL_ERR_UNSUPPORTED)
            limit = c->done; /* nothing is left for messages */
    }
    while (c->done < limit || (car->bytes == 0 && !sent)) {
        size_t bytes = limit - c->done;
        if (bytes > car->piece)
            bytes = car->piece;
        else if (limit < car->bytes && bytes < car->piece)
            break;
        int status = send_piece(c, bytes);
        if (status == WDL_AGAIN)
            return WDL_AGAIN;
        if (wdl_status_is_error(status)) {
            c->run->status = status;
            c->done = car->bytes;
            break;
        }
        c->done += bytes;
        sent = 1;
        c->arrived = 1;
    }
    if (c->done == car->bytes && c->flight == 0 && wdl_list_empty(&c->link))
        wdl_car_complete(c);
    return WDL_OK;
}
