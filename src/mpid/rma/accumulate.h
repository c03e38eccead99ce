/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Atomic updates of window memory, the same for every caller: an origin that maps the memory and a target that serves a
 * message execute the same instructions, so they mix. No state, no waiting.
 *
 * Domain rule, a function of the element type and the address alone:
 *  1. Elements of 1, 2, 4 or 8 bytes at naturally aligned addresses: CPU atomics (a fetch-op instruction, or a
 *     compare-exchange loop, calling host->reduce where only the host knows the operator).
 *  2. Everything else: region locks (control->stripe), taken in ascending order, all or none.
 */
#ifndef WDL_MPID_RMA_ACCUMULATE_H_INCLUDED
#define WDL_MPID_RMA_ACCUMULATE_H_INCLUDED

#include "host/host.h"
#include "mpid/rma/win.h"

/* Apply the packed elements `in` (NULL for WDL_ROP_NO_OP) to the target memory `target[0..npieces)`, given in stream
 * order; the pieces' bytes sum to a multiple of el->packed_bytes. out (may be NULL) receives the old values, packed.
 * in and out may be unaligned; out may equal in. WDL_OK, or WDL_AGAIN: a region lock is held, nothing has changed. */
int wdl_accumulate(const struct wdl_host *host, struct wdl_win_control *control, enum wdl_rop op,
                   const struct wdl_element *el, const struct wdl_piece *target, int npieces,
                   const void *in, void *out);

/* If the element at target equals *compare it becomes *value; *result is the old value. Results as above. */
int wdl_compare_swap(const struct wdl_host *host, struct wdl_win_control *control,
                     const struct wdl_element *el, void *target, const void *compare,
                     const void *value, void *result);

#endif
