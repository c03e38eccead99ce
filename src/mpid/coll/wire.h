/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The collectives' packet: a piece of the data (perhaps none: a flag) for one role of one
 * collective. No address is in it: the receiver's graph knows where the role's data goes. But for
 * memory that is attached (direct.c): its address goes with the ready flag, its key ahead of it.
 */
#ifndef WDL_MPID_COLL_WIRE_H_INCLUDED
#define WDL_MPID_COLL_WIRE_H_INCLUDED

#include <stdint.h>
#include "base/assert.h"

struct wdl_coll_pkt {
    uint32_t team, seq, role;
    uint32_t what; /* enum wdl_pkt; OFFER, KEY, FORGET: and the region's number above it */
    uint64_t offset; /* of this piece in the role's data; OFFER: the address; KEY: the region's */
};
/* X(name): a piece of data or a flag; a ready flag with an address; a piece that has been put in
 * its place: its length is behind the packet; the key of a region; it is no more. */
#define WDL_PKTS(X) X(DATA) X(OFFER) X(PLACED) X(KEY) X(FORGET)
enum wdl_pkt {
#define WDL_PKT_ENUM(name) WDL_PKT_##name,
    WDL_PKTS(WDL_PKT_ENUM)
#undef WDL_PKT_ENUM
};
enum { WDL_PKT_BITS = 8, WDL_REGION_ID_MAX = 0xffffff };
wdl_static_assert(sizeof(struct wdl_coll_pkt) == 24);

#endif
