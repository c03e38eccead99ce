/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The collectives' packet: a piece of the data (perhaps none: a flag) for one role of one
 * collective. No address is in it: the receiver's graph knows where the role's data goes.
 */
#ifndef WDL_MPID_COLL_WIRE_H_INCLUDED
#define WDL_MPID_COLL_WIRE_H_INCLUDED

#include <stdint.h>
#include "base/assert.h"

struct wdl_coll_pkt {
    uint32_t team, seq, role;
    uint32_t pad;
    uint64_t offset; /* of this piece in the role's data */
};
wdl_static_assert(sizeof(struct wdl_coll_pkt) == 24);

#endif
