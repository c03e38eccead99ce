/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Long puts and gets on memory of this node, in one piece, that both processes copy. A target that
 * is in MPI has a processor with nothing to do: it takes parts from the end while the origin takes
 * parts from the beginning, until they meet. The system copies for the target, and on private
 * memory for the origin, too (copy.c). (Put of 1 MiB to a target that waits: on private memory 55
 * us, by both 24; on mapped memory 37, by both 19.)
 *
 * The origin posts what there is to copy in a cell of the target's (mailbox.h), and copies. Both
 * take parts with one word in the cell, so that each byte is moved by one of them. It is over when
 * nothing is left to take and the target is at no part: with luck in the call that began it, and
 * else it is what is under way in the mailbox. A target that does not come costs a second call of
 * the system: what is left when half is copied, and nobody has come, is one part. It is asked again
 * when it has looked at its cells.
 *
 * On mapped memory it may be blocks, too, evenly apart on either side (rows.h; 2 MiB in blocks of 4
 * KiB: 171 us, by both 94). There all is over when the call returns: it waits for the target's last
 * part. By both or by the origin alone is what took less time (trial.h). The cells of such windows
 * are for that and for pull.h alone; who waits for a message looks at them no more often than at
 * everything else (wdl_rma_by_memory).
 *
 * Invariants:
 *  1. The target is in that memory while the cell is TAKEN, at most for one part: between parts it
 *     gives the cell back, POSTED, and whoever then finds nothing left ends it.
 *  2. What goes wrong on either side is done again by the origin, all of it, and fails there. Where
 *     a target could not copy (it may not, or not that memory) none of the window's is asked again.
 */
#ifndef WDL_MPID_RMA_JOINT_H_INCLUDED
#define WDL_MPID_RMA_JOINT_H_INCLUDED

#include "mpid/rma/win.h"

struct wdl_mail;
struct wdl_win_control;

enum { WDL_JOINT_LEAST = 1 << 16,       /* bytes */
    WDL_JOINT_PAGE = 4096, WDL_JOINT_PART = 1 << 15,    /* parts are of whole pages; at least */
    WDL_JOINT_MOST = 1 << 18,   /* a target's, which is in MPI for something else */
    WDL_JOINT_MAPPED = 1 << 19, /* bytes on mapped memory, and of each block, of several */
    WDL_JOINT_BLOCK = 1 << 10
};

/* How one that is under way ends (struct wdl_mailbox). */
enum wdl_joint_end { WDL_JOINT_NONE, WDL_JOINT_GOOD, WDL_JOINT_AGAIN };

/* Do others probably copy while we do? Then nobody is asked. */
int wdl_joint_is_mutual(const struct wdl_win *win);
/* Is an operation of such length perhaps one for both? */
int wdl_joint_takes(const struct wdl_win *win, int rank, const struct wdl_win_control *control,
                    uint64_t bytes);
/* Begin one, `at` being the target's address: WDL_OK: it is done, or under way; ERR_UNSUPPORTED: it
 * is none for that, or went wrong. */
int wdl_joint_op(struct wdl_win *win, const struct wdl_rma_args *args,
                 struct wdl_win_control *control, uint64_t at);
/* One on mapped memory, of WDL_JOINT_MAPPED bytes or more: blocks of one length, one if it is in
 * one piece, as many on either side, `far` being the target's, here. */
struct wdl_joint {
    int put, rank;
    struct wdl_rows far, near;
};
/* It, whoever copies it. *begun: 0 at first, kept by the caller. WDL_OK: it is done; WDL_AGAIN: the
 * target is at its last part. */
int wdl_joint_blocks(struct wdl_win *win, const struct wdl_joint *joint, size_t *begun);
/* The same in one piece. */
int wdl_joint_mapped(struct wdl_win *win, int put, int rank, char *at, void *local, size_t bytes,
                     size_t *begun);
/* Nothing is left to take: is the target at no part any more? Then the cell is free. *good: has it
 * not failed? */
int wdl_joint_is_over(struct wdl_win *win, struct wdl_mail *mail, int *good);
/* At the target, for a copy of a cell: what copies for it, or NULL: not with such an origin; its
 * memory that an origin means, or NULL: it has none there. (An origin gives private memory's
 * address, and of mapped memory, which is elsewhere here, the place in the window.) */
wdl_copy_fn *wdl_joint_copier(const struct wdl_win *win, const struct wdl_mail *asked);
char *wdl_joint_memory(const struct wdl_win *win, uint64_t at, uint64_t bytes);
/* At the target, for a cell and a copy of it: WDL_OK: nothing is left, WDL_AGAIN: a part has been
 * copied, or an error. *moved: bytes, in all. */
int wdl_joint_serve(const struct wdl_win *win, struct wdl_mail *mail, const struct wdl_mail *asked,
                    size_t *moved);

#endif
