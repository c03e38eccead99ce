/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The collectives' packet: a piece of the data (perhaps none: a flag) for one role of one
 * collective. No address is in it: the receiver's graph knows where the role's data goes. Of memory
 * that is attached (direct.c) the ready flag says the region and the place in it; where the region
 * begins, and its key, go ahead of that, once.
 */
#ifndef WDL_MPID_COLL_WIRE_H_INCLUDED
#define WDL_MPID_COLL_WIRE_H_INCLUDED

#include <stdint.h>
#include "base/assert.h"

struct wdl_coll_pkt {
    uint32_t team, seq, role;
    /* enum wdl_pkt; above it OFFER, KEY, FORGET, LENT, RETURN, THERE: the region's number, the
     * others: the print */
    uint32_t what;
    /* of this piece in the role's data; OFFER, THERE: in the region; KEY, LENT: where the region
     * begins; BORROW: 0; ASK: the bytes of the role's data; FAIL: the rank that is told */
    uint64_t offset;
};
/* X(name): a piece of data or a flag; a ready flag with a place, and behind the packet how much
 * may be put there; a piece that has been put in its place: its length is behind the packet; the
 * key of a region; it is no more. (With 1 as the offset: its loan is over, too.) Is there a region
 * that I have not borrowed yet, of as many bytes as the number behind the packet says, or more,
 * best the one that `role` others were attached before (lend.h)? Yes, with the key, or no, without;
 * it is back. Of a team (contact.h), the role is the sender's rank: where may I put my flags? (With
 * 1 as the offset: I shall not.) There; seq is the question's number, not a collective's. Of a
 * collective (fail.h): who sends me that role's data, or with WDL_ROLE_NONE, are you in it? I have
 * finished it; it has failed; I am out of it: for the two the role is the sender's rank. Behind
 * these four is the team's stamp, 8 bytes, and as many for the number of the call that a question's
 * collective is a part of, or 0. */
#define WDL_PKTS(X)                                                                     \
    X(DATA)                                                                             \
    X(OFFER)                                                                            \
    X(PLACED)                                                                           \
    X(KEY)                                                                              \
    X(FORGET)                                                                           \
    X(BORROW) X(LENT) X(RETURN)                                                         \
    X(WHERE)                                                                            \
    X(THERE) X(ASK) X(OVER) X(FAIL) X(OUT)
enum wdl_pkt {
#define WDL_PKT_ENUM(name) WDL_PKT_##name,
    WDL_PKTS(WDL_PKT_ENUM)
#undef WDL_PKT_ENUM
};
enum { WDL_PKT_BITS = 8, WDL_REGION_ID_MAX = 0xffffff };
#define WDL_ROLE_NONE UINT32_MAX
wdl_static_assert(sizeof(struct wdl_coll_pkt) == 24);

/* A flag that is put (flag.h): in the upper half of each word the collective's number. In the lower
 * half of the first, what the packet would have; of the others of a ready flag with a place: its
 * lower and upper half, and how much may be put there. */
enum { WDL_FLAG_WORD, WDL_FLAG_LOW, WDL_FLAG_HIGH, WDL_FLAG_BYTES, WDL_FLAG_WORDS };

#endif
