/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Short accumulates, puts or gets on private memory of this node that follow one another, held back
 * so that one cell of the target's mailbox (mailbox.h) hands over many. What they are lies in the
 * origin's own area: all displacements of accumulates, and behind those the operands; displacement
 * and length of each put or get, and behind those its data, or room for them. The target does them
 * in their order. Where it does not come, or nobody waits for it since processes outnumber
 * processors, the origin does accumulates itself, from outside (outside.c), by the order of their
 * addresses: one call of the system reads many, and one writes them. Puts and gets are then a batch
 * (batch.h).
 *
 *     empty --take--> filling --run--> posted --target--> empty
 *     filling --run, is not waited for; posted --given up, or refused--> outside --run--> empty
 *
 * Invariants:
 *  1. A window has one bag. Its operations are of one target and kind, accumulates of one element,
 *     length and operator. A process has one bag of gets: where their results go is in rma->got.
 *  2. While it is not empty nothing else of the window is in the area (win->batched counts it), and
 *     every other operation on its target runs it first.
 *  3. What is in it was in bounds, and its target's lock was there, when it came; neither a lock
 *     nor an epoch ends before it is run.
 */
#ifndef WDL_MPID_RMA_BAG_H_INCLUDED
#define WDL_MPID_RMA_BAG_H_INCLUDED

#include <string.h>
#include "base/copy.h"
#include "mpid/rma/control.h"
#include "mpid/rma/win.h"

struct wdl_target;

enum { WDL_BAG_EACH = 256,      /* bytes of an operation, at most */
    WDL_BAG_OPS = 204,          /* accumulates, at most: of up to 32 bytes */
    WDL_BAG_MOVES = 341,        /* puts, or gets, at most: of up to 8 bytes */
    /* Bytes by which their lines are asked for ahead. (64 puts of 64 bytes, two processors that do
     * not share a cache: 5.2 us, 4.7 so.) */
    WDL_BAG_AHEAD = 1024
};

struct wdl_bag {
    int n;                      /* operations; 0: empty */
    size_t used;                /* puts and gets: bytes of the area */
    int posted, outside, sorted;
    uint64_t stamp;             /* the window's, when the first one came */
    int first;                  /* outside: those before it are done */
    size_t done;                /* outside: bytes of that one; or of the area */
    struct wdl_rma_args args;   /* of the first one */
    struct wdl_win_control *control;
    struct wdl_win_rank info;
};

/* In an area: a put or a get, in front of its data, which end with a whole word. */
struct wdl_bag_move {
    int64_t disp;
    uint64_t bytes;
};

static inline uint64_t wdl_bag_length(uint64_t bytes)
{
    return sizeof(struct wdl_bag_move) + (bytes + 7) / 8 * 8;
}

/* The data of one, most of which are words. */
static inline void wdl_bag_copy(void *to, const void *from, size_t bytes)
{
    if (bytes == sizeof(uint64_t))
        memcpy(to, from, sizeof(uint64_t));
    else
        wdl_copy_short(to, from, bytes);
}

/* In an area: the displacements, then the operands. */
static inline char *wdl_bag_operands(char *area)
{
    return area + WDL_BAG_OPS * sizeof(int64_t);
}

/* So many of that length there is room for. */
static inline size_t wdl_bag_most(size_t each)
{
    size_t fit = (WDL_MAIL_AREA - WDL_BAG_OPS * sizeof(int64_t)) / each;
    return fit < WDL_BAG_OPS ? fit : WDL_BAG_OPS;
}

/* Is it one for the bag, as that is now? */
int wdl_bag_takes(const struct wdl_win *win, const struct wdl_rma_args *args,
                  const struct wdl_win_control *control, const struct wdl_win_rank *info);
/* Take one: WDL_OK, WDL_AGAIN, or ERR_UNSUPPORTED: it is to go another way.
 * t: the target's element, or NULL. */
int wdl_bag_op(struct wdl_win *win, const struct wdl_rma_args *args, struct wdl_target *t,
               struct wdl_win_control *control, const struct wdl_win_rank *info);
/* The short way of one that is like the last one: has it been taken? */
int wdl_bag_again(struct wdl_win *win, const struct wdl_rma_args *args);
/* The same of a put or a get in one piece. */
int wdl_bag_moves(struct wdl_win *win, enum wdl_rma_kind kind, int rank, int64_t disp, void *local,
                  uint64_t bytes);
/* The same as _op for one that would else be in a batch. */
int wdl_bag_move_op(struct wdl_win *win, const struct wdl_rma_args *args, struct wdl_target *t,
                    struct wdl_win_control *control, const struct wdl_win_rank *info);
/* Do what is in it, if it is of that rank (of any: rank < 0): WDL_OK or WDL_AGAIN. */
int wdl_bag_run(struct wdl_win *win, int rank);
/* What is posted has been done, or not (status). */
void wdl_bag_answered(struct wdl_win *win, int status);

#endif
