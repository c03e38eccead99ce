/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Long puts and gets on private memory of this node, handed over like short ones (mailbox.h): the
 * bytes go through a ring of shared memory that belongs to the origin's process, one side filling
 * it while the other empties it. The system, which could copy without the target, has to look up
 * every page, and took up to four times as long on one machine, and half as long on another. Which
 * it is shows by trying (trial.h).
 *
 * The cell says where a stream begins and what memory of the target's it is for; both sides count
 * bytes in the ring's head. A target that has caught up gives the cell back as POSTED, so that the
 * origin can withdraw a stream from a target that has gone on computing; what was withdrawn is
 * done again, all of it, the way it would have gone.
 *
 * Either side's memory is one piece, or blocks of one length evenly apart (rows.h), whatever the
 * other's is: bytes are packed into the ring, and unpacked out of it, a part at a time.
 *
 * A long accumulate's operands go the same way, and are folded out of the ring; old values take
 * their places there, and room is made when the origin has taken those. Once some are folded the
 * target keeps the cell until all are.
 */
#ifndef WDL_MPID_RMA_STREAM_H_INCLUDED
#define WDL_MPID_RMA_STREAM_H_INCLUDED

#include "mpid/rma/win.h"

struct wdl_mail;
struct wdl_target;

/* Measured: a ring that does not fit in the second cache passes on twice to four times as many
 * bytes a second as one that does: what one processor has written and still holds the other gets
 * slowly. */
enum { WDL_STREAM_BYTES = 1 << 21 };
/* Blocks that are fetched go through it from so many bytes on, though they would fit in the
 * origin's area: one side unpacks them while the other packs the next. (512 of 8 bytes, two
 * processors that share a cache: 1.43 us in the area, 1.14 so.) */
enum { WDL_STREAM_BLOCKS = 2048 };

struct wdl_stream {             /* zeroed at its making; shared by the processes of a node */
    /* bytes ever, by who fills and by who empties; place in the ring: % WDL_STREAM_BYTES, or, of
     * operands, % as many of those as are whole elements */
    uint64_t filled, filled_pad[7];
    uint64_t emptied, emptied_pad[7];
    char head_pad[4096 - 2 * 64];
    char ring[WDL_STREAM_BYTES];
};

/* Begin a put or get, `at` being the target's address: WDL_OK (it is under way), or
 * ERR_UNSUPPORTED: it is none for that. Until every place of the ring has been used none is timed
 * (trial.h). */
int wdl_stream_op(struct wdl_win *win, const struct wdl_rma_args *args,
                  struct wdl_win_control *control, uint64_t at);
/* Is it a get of blocks that goes so, though the origin's area has room for them? */
int wdl_stream_blocks(const struct wdl_win *win, const struct wdl_rma_args *args);
/* The same as wdl_stream_op for an accumulate; t: the target's element, or NULL. */
int wdl_stream_fold(struct wdl_win *win, const struct wdl_rma_args *args, struct wdl_target *t,
                    struct wdl_win_control *control);
/* The origin's part of the one under way, as far as it can be done: has either side moved bytes? */
int wdl_stream_move(struct wdl_win *win);
/* Has the target begun to fold an accumulate? It cannot be done again then. */
int wdl_stream_has_folded(const struct wdl_win *win);
/* Have all bytes come out of the ring? */
int wdl_stream_is_through(const struct wdl_win *win);
/* A put's bytes, if all of them are in the ring, in one piece; else NULL. */
char *wdl_stream_kept(const struct wdl_win *win);
/* The target's part of what is in a cell (a copy of it), as far as it can be done: WDL_OK: all of
 * it, WDL_AGAIN or an error; *moved: bytes since it was taken. */
int wdl_stream_serve(struct wdl_win *win, const struct wdl_mail *asked, size_t *moved);

#endif
