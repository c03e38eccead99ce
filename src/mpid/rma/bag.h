/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Short accumulates on private memory of this node that follow one another, held back so that one
 * cell of the target's mailbox (mailbox.h) hands over many. Their displacements and operands lie in
 * the origin's own area; the target does them in their order. Where it does not come, or nobody
 * waits for it since processes outnumber processors, the origin does them itself, from outside
 * (outside.c), by the order of their addresses: one call of the system reads many, and one writes
 * them.
 *
 *     empty --take--> filling --run--> posted --target--> empty
 *     filling --run, is not waited for; posted --given up, or refused--> outside --run--> empty
 *
 * Invariants:
 *  1. A window has one bag. Its accumulates are of one target, element, length and operator.
 *  2. While it is not empty nothing else of the window is in the area (win->batched counts it), and
 *     every other operation on its target runs it first.
 *  3. What is in it was in bounds, and its target's lock was there, when it came; neither a lock
 *     nor an epoch ends before it is run.
 */
#ifndef WDL_MPID_RMA_BAG_H_INCLUDED
#define WDL_MPID_RMA_BAG_H_INCLUDED

#include "mpid/rma/control.h"
#include "mpid/rma/win.h"

struct wdl_target;

enum { WDL_BAG_EACH = 256,      /* bytes of an accumulate, at most */
    WDL_BAG_OPS = 204           /* accumulates, at most: of up to 32 bytes */
};

struct wdl_bag {
    int n;                      /* accumulates; 0: empty */
    int posted, outside, sorted;
    uint64_t stamp;             /* the window's, when the first one came */
    int first;                  /* outside: those before it are done */
    size_t done;                /* outside: bytes of that one */
    struct wdl_rma_args args;   /* of the first one */
    struct wdl_win_control *control;
    struct wdl_win_rank info;
};

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
/* Take one that follows others: WDL_OK, WDL_AGAIN, or ERR_UNSUPPORTED: it is to go another way.
 * t: the target's element, or NULL. */
int wdl_bag_op(struct wdl_win *win, const struct wdl_rma_args *args, struct wdl_target *t,
               struct wdl_win_control *control, const struct wdl_win_rank *info);
/* The short way of one that is like the last one: has it been taken? */
int wdl_bag_again(struct wdl_win *win, const struct wdl_rma_args *args);
/* Do what is in it, if it is of that rank (of any: rank < 0): WDL_OK or WDL_AGAIN. */
int wdl_bag_run(struct wdl_win *win, int rank);
/* What is posted has been done, or not (status). */
void wdl_bag_answered(struct wdl_win *win, int status);

#endif
