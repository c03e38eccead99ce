/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The 64-bit tag of a point-to-point message:
 *
 *     63        48 47             28 27            0
 *    | context id | sender's rank   | MPI tag       |
 *
 * The sender's rank is its rank in the communicator (in an intercommunicator: in its own group). Of
 * the MPI tag's bits the three upper ones are MPICH's (two error bits, the collectives' bit), so
 * MPI_TAG_UB is 2^25 - 1. A rank that does not fit is refused when its communicator is made
 * (check_limits in comm.c), never cut off.
 */
#ifndef WDL_TAG_H_INCLUDED
#define WDL_TAG_H_INCLUDED

#include <stdint.h>
#include "base/assert.h"

#define WDL_TAG_BITS 28
#define WDL_TAG_RANK_BITS 20
#define WDL_TAG_CONTEXT_BITS 16

#define WDL_TAG_RANK_SHIFT WDL_TAG_BITS
#define WDL_TAG_CONTEXT_SHIFT (WDL_TAG_BITS + WDL_TAG_RANK_BITS)

/* Of the device's own messages: a communicator's may be in use by a process that has not ended.
 * This one MPICH keeps for processes that are spawned, of which there are none. */
#define WDL_TAG_CONTEXT_OWN MPIR_CONTEXT_DYNAMIC_PROC_MASK

#define WDL_TAG_MASK ((UINT64_C(1) << WDL_TAG_BITS) - 1)
#define WDL_TAG_RANK_MASK (((UINT64_C(1) << WDL_TAG_RANK_BITS) - 1) << WDL_TAG_RANK_SHIFT)
#define WDL_TAG_CONTEXT_MASK (((UINT64_C(1) << WDL_TAG_CONTEXT_BITS) - 1) << WDL_TAG_CONTEXT_SHIFT)

wdl_static_assert(WDL_TAG_CONTEXT_SHIFT + WDL_TAG_CONTEXT_BITS == 64);
wdl_static_assert(sizeof(MPIR_Context_id_t) * 8 <= WDL_TAG_CONTEXT_BITS);
wdl_static_assert(WDL_TAG_BITS <= MPIR_TAG_BITS_DEFAULT);
wdl_static_assert((WDL_TAG_MASK ^ WDL_TAG_RANK_MASK ^ WDL_TAG_CONTEXT_MASK) == UINT64_MAX);

static inline uint64_t wdl_tag_make(MPIR_Context_id_t context_id, int rank, int tag)
{
    return ((uint64_t) context_id << WDL_TAG_CONTEXT_SHIFT) |
           ((uint64_t) rank << WDL_TAG_RANK_SHIFT) | (uint64_t) tag;
}

static inline int wdl_tag_rank(uint64_t tag)
{
    return (int) ((tag & WDL_TAG_RANK_MASK) >> WDL_TAG_RANK_SHIFT);
}

/* The MPI tag, error bits included. */
static inline int wdl_tag_tag(uint64_t tag)
{
    return (int) (tag & WDL_TAG_MASK);
}

#endif
