/* Part of Windlass. See COPYRIGHT in the top-level directory. Rooms that the network changes. */
#include "mpid/rma/far.h"
#include "base/assert.h"
#include "base/list.h"
#include "base/status.h"

enum { IDLE, SENT, BACK };      /* phase */
enum { SWAPS = 2, PAUSE_MAX = 8 };

int wdl_far_busy(const struct wdl_far *far)
{
    return far->phase == SENT;
}

static void came_back(struct wdl_nm_comp *comp, const struct wdl_nm_info *info)
{
    struct wdl_far *far = wdl_container_of(comp, struct wdl_far, comp);
    far->phase = BACK;
    far->status = info->status;
}

/* WDL_OK: it is back already; WDL_AGAIN: it is on its way, or nothing was done. */
static int send(struct wdl_far *far, const struct wdl_far_word *word, enum wdl_far_act act,
                uint64_t value)
{
    enum wdl_nm_atomic op = act == WDL_FAR_SWAP ? WDL_NM_CSWAP : WDL_NM_ADD;
    far->act = (uint8_t) act;
    far->then = value;
    far->comp.fn = came_back;
    int status = word->nm->ops->atomic(word->nm, word->peer, op, sizeof(uint64_t), value, far->seen,
                                       &far->fetched, word->at, word->rkey, &far->comp);
    if (status == WDL_PENDING)
        far->phase = SENT;
    if (status != WDL_OK)
        return status == WDL_PENDING ? WDL_AGAIN : status;
    far->phase = BACK;
    far->status = WDL_OK;
    return WDL_OK;
}

/* Take what is back: WDL_OK, or its error. */
static int take(struct wdl_far *far)
{
    wdl_assert_cmp(far->phase, ==, BACK);
    far->phase = IDLE;
    return far->status;
}

/* An attempt is over. */
static int inside(struct wdl_far *far)
{
    far->seen = far->then;
    far->fresh = far->tries = 0;
    return WDL_OK;
}

/* An atomic of an attempt is back: WDL_OK: inside; WDL_AGAIN: go on. */
static int entering(struct wdl_far *far, uint32_t *ticket)
{
    int drawn = *ticket != 0;
    if (take(far) != WDL_OK)
        return far->status;
    if (far->act == WDL_FAR_SWAP && far->fetched == far->seen) {
        uint32_t next = wdl_room_drawn(far->seen);
        *ticket = drawn || wdl_room_ahead(far->seen, next) == 0 ? 0 : next;
        return inside(far);
    }
    far->tries += far->act == WDL_FAR_SWAP && !drawn && far->tries < SWAPS;
    far->seen = far->fetched;
    far->fresh = 1;
    if (far->act != WDL_FAR_DRAW)
        return WDL_AGAIN;
    far->seen += WDL_ROOM_ONE_TICKET;
    *ticket = wdl_room_drawn(far->fetched);
    return WDL_AGAIN;
}

/* The next atomic of an attempt. */
static int next(struct wdl_far *far, const struct wdl_far_word *word, enum wdl_room_kind kind,
                int join, uint32_t ticket)
{
    uint64_t then;
    int first = !far->fresh && far->tries == 0 && ticket == 0;
    if (!far->fresh && !first)
        return send(far, word, WDL_FAR_LOOK, 0);
    if (first)
        far->seen = wdl_room_quiet(*word->guess);
    enum wdl_room_move move = wdl_room_move(far->seen, kind, join, ticket, &then);
    if (move == WDL_ROOM_GO && (far->tries < SWAPS || join || ticket))
        return send(far, word, WDL_FAR_SWAP, then);
    if (move != WDL_ROOM_WAIT)
        return send(far, word, WDL_FAR_DRAW, WDL_ROOM_ONE_TICKET);
    int ahead = ticket ? wdl_room_ahead(far->seen, ticket) : 1;
    far->pause = ahead < PAUSE_MAX ? ahead : PAUSE_MAX;
    far->fresh = 0;
    return WDL_AGAIN;
}

int wdl_far_enter(struct wdl_far *far, const struct wdl_far_word *word, enum wdl_room_kind kind,
                  int join, uint32_t *ticket)
{
    int status = WDL_OK;
    while (status == WDL_OK) {
        if (far->phase == SENT)
            return WDL_AGAIN;
        if (far->phase == BACK) {
            status = entering(far, ticket);
            if (status != WDL_AGAIN)
                return status;
        }
        if (far->pause > 0) {
            far->pause--;
            return WDL_AGAIN;
        }
        status = next(far, word, kind, join, *ticket);
    }
    return status;
}

int wdl_far_leave(struct wdl_far *far, const struct wdl_far_word *word, enum wdl_room_kind kind)
{
    uint64_t one = wdl_room_one_holder(kind);
    int status = far->phase == IDLE ? send(far, word, WDL_FAR_LEAVE, 0 - one) : WDL_OK;
    if (far->phase == SENT || status != WDL_OK)
        return status == WDL_OK ? WDL_AGAIN : status;
    if (take(far) != WDL_OK)
        return far->status;
    *word->guess = far->seen = far->fetched - one;
    return wdl_room_holders(far->fetched, kind) > 0 ? WDL_OK : WDL_ERR_PROTO;
}

int wdl_far_look(struct wdl_far *far, const struct wdl_far_word *word)
{
    int status = far->phase == IDLE ? send(far, word, WDL_FAR_LOOK, 0) : WDL_OK;
    if (far->phase == SENT || status != WDL_OK)
        return status == WDL_OK ? WDL_AGAIN : status;
    if (take(far) != WDL_OK)
        return far->status;
    far->seen = far->fetched;
    return WDL_OK;
}
