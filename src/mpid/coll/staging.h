/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Staging: memory of a rank that the ranks of its node can look at, for what is too long for a
 * board: its owner copies it there, once, and all who need it take it from there, while it is being
 * filled. Fetching it from its owner's private memory is the system's work, page by page.
 *
 * Invariants:
 *  1. It is a ring, of which a part is in use that grows; a second, longer one is made for what is
 *     longer than half the first. A collective takes its bytes in one piece, behind those taken
 *     last or at the beginning; they are given back when all ranks who may read them have finished
 *     it (coll_impl.h): its owner waits for nobody.
 *  2. Who finds no room, or has no such memory, shows where its data is. Each rank decides by
 *     itself; its sheet tells.
 *  3. Bytes [0, sheet->filled) may be read, and do not change until they are given back; but a
 *     part that nobody else reads is its owner's, who may show a result there, by another flag.
 */
#ifndef WDL_MPID_COLL_STAGING_H_INCLUDED
#define WDL_MPID_COLL_STAGING_H_INCLUDED

#include "mpid/coll/board.h"

/* Does the collective give more than the short ring takes at a time; does one of the rings take
 * that, or is it of two, where it may go in parts? */
int wdl_staging_is_long(const struct wdl_run *run);
int wdl_staging_could(const struct wdl_run *run);
/* Room for so many bytes at run->staged, and what tells others where that is. NULL: there is
 * none. */
char *wdl_staging_take(struct wdl_run *run, size_t bytes, uint64_t *card_out);
/* ... where one rank alone reads it. */
char *wdl_staging_take_for(struct wdl_run *run, size_t bytes, int reader, uint64_t *card_out);
/* Copy there what is at `from`, but for [hole, hole_end), which nobody else reads; who reads the
 * own sheet is told how far it is. */
void wdl_staging_fill(struct wdl_run *run, struct wdl_sheet *sheet, const char *from, size_t bytes,
                      size_t hole, size_t hole_end);
/* ... part by part, `all` bytes in the end: the next one, behind the `at` bytes before it. */
void wdl_staging_fill_part(struct wdl_run *run, struct wdl_sheet *sheet, size_t all, size_t at,
                           const char *from, size_t bytes);
/* What a rank has staged, of which we want so many leading bytes; NULL: its sheet says nonsense. */
char *wdl_staging_of(const struct wdl_run *run, int rank, const struct wdl_sheet *sheet,
                     size_t bytes);
/* Bytes [at, at + bytes) of it: WDL_OK, ERR_PROTO; or WDL_AGAIN: not all are there yet, and the
 * same is to be asked for again. */
int wdl_staging_read(struct wdl_run *run, int rank, const struct wdl_sheet *sheet, size_t at,
                     char *here, size_t bytes);
/* The team is destroyed. */
void wdl_staging_free(struct wdl_team *team);

#endif
