/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Data of two ranks of a node that is too long for staging (staging.h), in parts: its owner fills
 * room there as far as the other has emptied it, round and round. Both need each other more than
 * once, so only those do who have nothing else to do: their callers wait (express.c). To a
 * reduction the one that is not its root gives so, and the root folds what is there; to a scan the
 * lower one; both to one for all, and the other's part to one that is scattered.
 *
 * Invariants:
 *  1. sheet->filled bytes have been put in, ever, of which the last sheet->ring are there. The
 *     other rank counts what it has taken on its own sheet; that counts once it has posted LAST.
 *  2. Who has posted DONE takes nothing any more, wherever it is: nobody fills in for it. So does
 *     who takes nothing since it means another length; or, of a vector that is scattered, whose
 *     boards say how long all of it is, other parts: the sheet says how much is given.
 */
#ifndef WDL_MPID_COLL_PARTS_H_INCLUDED
#define WDL_MPID_COLL_PARTS_H_INCLUDED

#include "mpid/coll/board.h"

/* Does this rank's data go in parts? If so there is room, and its sheet says so, but for DATA's
 * flag. */
int wdl_parts_begin(struct wdl_run *run, struct wdl_sheet *sheet);
/* Fill in what has room: WDL_OK: all has been, or goes another way; or WDL_AGAIN. Of what is
 * gathered to all the own block is copied to its place meanwhile. */
int wdl_parts_fill(struct wdl_run *run);
/* Is it a reduction of two whose data goes in parts where callers wait? */
int wdl_parts_would_fold(const struct wdl_run *run);
/* What a rank gives us so, as far as it is there: WDL_OK, WDL_AGAIN, ERR_PROTO; ERR_TRUNCATE: it
 * gives another number of bytes, none has been taken. */
int wdl_parts_take(struct wdl_run *run, int rank, char *here, size_t bytes);
/* What there is of that and has not been taken, in one piece, whole elements where it is a
 * reduction's: WDL_OK (*bytes_out 0: all has been taken), WDL_AGAIN, or an error as above. Its room
 * is free once it has been taken. */
int wdl_parts_look(struct wdl_run *run, int rank, size_t bytes, const char **there_out,
                   size_t *bytes_out);
void wdl_parts_took(struct wdl_run *run, size_t bytes);
/* Does that rank's sheet say that it gives in parts? */
static inline int wdl_parts_are_given(const struct wdl_sheet *sheet)
{
    return sheet->staged != 0 && sheet->ring > 0;
}

#endif
