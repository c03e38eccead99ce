/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Flags that are put: one word, or four, of 8 bytes in memory of the receiver's, instead of a
 * message. Same slots and roles as the cells of messages (cell.c), so that each word has one writer
 * per collective; its value is the collective's number, and what the writer means. Inside the
 * collectives.
 *
 * Invariants:
 *  1. A network puts 8 bytes whole, and no more: each word says itself whose it is, and a flag of
 *     several has come when all have.
 *  2. No order is asked of the network: what a flag says of data has been flushed before it is put.
 *  3. A word that has been read is made a number of no collective of its slot, so that a number
 *     which comes again, 2^32 collectives later, is not taken for it.
 */
#ifndef WDL_MPID_COLL_FLAG_H_INCLUDED
#define WDL_MPID_COLL_FLAG_H_INCLUDED

#include "mpid/coll/coll_impl.h"

/* Bytes of a team's words; from their beginning, the role's for this collective. Four words for a
 * ready flag's role, one for the others below team->cell_roles. */
size_t wdl_flag_bytes(const struct wdl_team *team);
size_t wdl_flag_at(const struct wdl_team *team, uint32_t seq, uint32_t role);
/* None of them is any collective's. */
void wdl_flag_empty(const struct wdl_team *team, uint64_t *words);

/* The flag of a SEND: DATA or PLACED, or OFFER with a place. WDL_OK: it is put; WDL_AGAIN;
 * ERR_UNSUPPORTED: not this way, it is a message; another error. */
int wdl_flag_put(struct wdl_car_run *c, enum wdl_pkt what, const struct wdl_offer *offer);
/* May what this RECV waits for be put? Has it come, then? */
int wdl_flag_is_awaited(const struct wdl_run *run, const struct wdl_car *car);
int wdl_flag_has_come(const struct wdl_run *run, const struct wdl_car *car);
/* It is taken; the CAR is in no list. The run, and with it the CAR, may be gone then. */
void wdl_flag_take(struct wdl_car_run *c);

#endif
