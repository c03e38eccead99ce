/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A room (room.h) in another process's memory, entered and left by the network's atomics: by the
 * rules of room.h, a step at a time. A look is an addition of nothing, since no other read is sure
 * to see what the network's atomics have done.
 *
 *   SWAP   compare-and-swap, from the word as it was seen, or is guessed to be when it is quiet:
 *          whoever comes to a quiet room is inside with one atomic
 *   DRAW   where two swaps were in vain, or others are before us: a ticket is an addition, which
 *          cannot be in vain. So nobody loses the race for the word for ever: once a ticket's turn
 *          has come, a swap fails only because of those who draw or leave, each of them once.
 *   LOOK   with a ticket: as long as others are before us; the more of them, the later
 *   LEAVE  a subtraction
 */
#ifndef WDL_MPID_RMA_FAR_H_INCLUDED
#define WDL_MPID_RMA_FAR_H_INCLUDED

#include "mpid/rma/room.h"
#include "netmod/netmod.h"

enum wdl_far_act { WDL_FAR_SWAP, WDL_FAR_DRAW, WDL_FAR_LOOK, WDL_FAR_LEAVE };

struct wdl_far {                /* one process's dealings with one word; zero at first */
    struct wdl_nm_comp comp;
    uint64_t seen;              /* the word, as it was seen last */
    uint64_t then;              /* SWAP: what it is to become */
    uint64_t fetched;
    int status;                 /* of the atomic that has come back */
    uint8_t phase;              /* with the network, or back from it, or neither */
    uint8_t act;                /* enum wdl_far_act */
    uint8_t fresh;              /* seen since the last pause */
    uint8_t tries;              /* swaps of this attempt that were in vain */
    int pause;                  /* calls to let pass before the next look */
};

struct wdl_far_word {           /* where it is */
    struct wdl_nm *nm;
    int peer;
    struct wdl_nm_rkey *rkey;
    uint64_t at;
    uint64_t *guess;            /* as it was left last, kept between attempts */
};

/* Each is called again while it answers WDL_AGAIN; other errors are the network's. */
/* As wdl_room_enter. */
int wdl_far_enter(struct wdl_far *far, const struct wdl_far_word *word, enum wdl_room_kind kind,
                  int join, uint32_t *ticket);
/* WDL_OK: it has been done there. ERR_PROTO: there was no such holder. */
int wdl_far_leave(struct wdl_far *far, const struct wdl_far_word *word, enum wdl_room_kind kind);
/* WDL_OK: far->seen. */
int wdl_far_look(struct wdl_far *far, const struct wdl_far_word *word);
/* Is the network at work on it? Then the key stays open, and *far where it is. */
int wdl_far_busy(const struct wdl_far *far);

#endif
