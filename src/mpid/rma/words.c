/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Locks by words (design 3.4), for windows whose ranks are all on one node: a room (room.h) in each
 * rank's control block, and a gate in rank 0's, so that lock_all is one word and the target's
 * processor is never asked. Constant cost in P.
 *
 *             gate     the rank's word
 *   lock_all  SHARED   -
 *   exclusive OTHERS   ALONE
 *   shared    -        SHARED
 *
 * A process goes through the gate once for all its exclusive locks. One that holds a lock already
 * joins (room.h).
 */
#include "mpid/rma/win_impl.h"

static uint64_t *lock_word(const struct wdl_win *win, int rank)
{
    return &win->params.node[rank].lock;
}

static uint64_t *gate_word(const struct wdl_win *win)
{
    return &win->params.node[0].gate;
}

int wdl_words_lock(struct wdl_win *win, int rank, int alone, int join, struct wdl_word *w)
{
    if (!alone)
        return wdl_room_enter(lock_word(win, rank), WDL_ROOM_SHARED, join, &w->ticket);
    if (!w->at_gate) {
        w->at_gate = 1;
        win->gate_users++;
    }
    if (!win->gate_in) {
        if (wdl_room_enter(gate_word(win), WDL_ROOM_OTHERS, join, &win->gate_ticket) != WDL_OK)
            return WDL_AGAIN;
        win->gate_in = 1;
    }
    int status = wdl_room_enter(lock_word(win, rank), WDL_ROOM_ALONE, join, &w->ticket);
    if (status == WDL_OK)
        w->at_gate = 0;
    return status;
}

void wdl_words_unlock(struct wdl_win *win, int rank)
{
    uint64_t *word = lock_word(win, rank);
    enum wdl_room_kind kind = wdl_room_kind_inside(word);
    wdl_room_leave(word, kind);
    if (kind != WDL_ROOM_ALONE)
        return;
    wdl_assert_cmp(win->gate_users, >, 0);
    if (--win->gate_users == 0) {
        win->gate_in = 0;
        wdl_room_leave(gate_word(win), WDL_ROOM_OTHERS);
    }
}

int wdl_words_lock_all(struct wdl_win *win)
{
    return wdl_room_enter(gate_word(win), WDL_ROOM_SHARED, 0, &win->gate_ticket);
}

void wdl_words_unlock_all(struct wdl_win *win)
{
    wdl_room_leave(gate_word(win), WDL_ROOM_SHARED);
}
