/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Derived layouts of targets on the message path. The origin describes one (flattened) to a target
 * once, ahead of the first operation that uses it, and names it by a number from then on; the
 * target keeps it. Both keep so many a window (params.win_types).
 *
 *   origin                             target
 *   TYPE, operations          ->       kept
 *                             <-       EVICT: it has too many
 *   FORGET, behind the last   ->       dropped
 *   operation that uses it
 *
 * FORGET is the lazy acknowledgement of seed 004: the origin alone knows when all that uses a type
 * has been sent, so nothing is dropped at a target, and no type freed at an origin, before. An
 * origin whose own table is full sends it unasked; where all of the table is in use it marks a TYPE
 * as ONCE, and the target drops that with the end of its operation.
 *
 * Invariants:
 *  1. A type in the origin's table is held: its name is not given to another type.
 *  2. A number is never used again for another type of a window.
 *  3. FORGET and EVICT may come too late to find anything, also their window: then all is well.
 */
#ifndef WDL_MPID_RMA_TYPES_H_INCLUDED
#define WDL_MPID_RMA_TYPES_H_INCLUDED

#include "base/list.h"
#include "mpid/rma/wire.h"

struct wdl_op;
struct wdl_win;

/* Origin: a type that has been, or is being, described to a target. */
struct wdl_told {
    struct wdl_list link;       /* in its window; the one used last is last */
    int rank;
    uint32_t id;                /* in packets */
    wdl_type type;
    int users;                  /* operations that are not over */
    int once;                   /* not in the table: for one operation */
    int leaving;                /* for no further operation; FORGET follows the last one */
    char *flat;                 /* while being sent */
    size_t bytes, next;         /* of the description: all, sent */
    int waiting;                /* for TYPE_ACK */
};

/* Target: a type described by an origin. */
struct wdl_rtype {
    struct wdl_list link;       /* in its window; the one used last is last */
    uint32_t origin, id;
    size_t total, received;     /* of the description */
    uint64_t stream_done;       /* once: bytes of the operation served */
    int whole, once;
    int refused;                /* the description is too long: nothing of it is kept */
    int asked;                  /* EVICT has been sent */
    wdl_type type;
    char *flat;
};

/* --- origin --- */
/* For one more operation on the rank; NULL: no memory. */
struct wdl_told *wdl_type_use(struct wdl_win *win, int rank, wdl_type type);
/* The operation is over. */
void wdl_type_used(struct wdl_win *win, struct wdl_told *told, int status);
/* Describe the operation's type, if that has not been done, a packet a call. WDL_OK: the operation
 * may follow; WDL_PENDING: the packet has gone. */
int wdl_type_send(struct wdl_op *op);
/* The target has it, or will have it before what is sent from now on, and keeps it. */
int wdl_type_is_there(const struct wdl_told *told);
/* A TYPE_ACK came. */
void wdl_type_there(struct wdl_op *op, const struct wdl_pkt *pkt);
/* An EVICT came. */
int wdl_type_evicted(struct wdl_win *win, const struct wdl_pkt *pkt);
/* An operation failed at that rank, nobody knows which: describe all types again. */
void wdl_types_distrust(struct wdl_win *win, int rank);

/* --- target --- */
/* A TYPE, a FORGET came. */
int wdl_serve_type(struct wdl_win *win, const struct wdl_pkt *pkt, const char *payload,
                   size_t bytes);
int wdl_serve_forget(struct wdl_win *win, const struct wdl_pkt *pkt);
/* What a packet's operation uses, or NULL; so many bytes of the operation have been served. */
struct wdl_rtype *wdl_rtype_find(struct wdl_win *win, uint32_t origin, uint32_t id);
void wdl_rtype_served(struct wdl_win *win, struct wdl_rtype *r, const struct wdl_pkt *pkt);

/* --- both --- */
int wdl_types_progress(struct wdl_win *win);
int wdl_types_have_work(const struct wdl_win *win);
void wdl_types_drop(struct wdl_win *win);

#endif
