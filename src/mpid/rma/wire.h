/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The RMA packet, the one wire format of this module. It follows struct wdl_am_hdr; the payload
 * follows it. All processes of a job share byte order and layout. Every field is checked by the
 * receiver (handle.c).
 *
 *   kind      payload                         answered by
 *   PUT       bytes of the stream             (unordered network: OP_ACK)
 *   GET       -                               REPLY with the bytes
 *   ACC       bytes of the stream             (unordered network: OP_ACK)
 *   GET_ACC   bytes of the stream, or none    REPLY with the old bytes
 *   CAS       compare, value                  REPLY with the old element
 *   TYPE      a stretch of a flattened type   (unordered network: TYPE_ACK when whole)
 *   LOCK      -                               GRANT, when its turn comes
 *             (a lock_all's that has overtaken: later SETTLED, grant.h)
 *   UNLOCK    -                               UNLOCK_ACK
 *   BUNDLE    operations, each a packet and    ANSWERS: what they are answered by, in one message
 *             its payload (`reserved` bytes)
 *   FLUSH     -                               FLUSH_ACK (all that came before is done)
 *   KEY       -                               KEY_REPLY: base in `offset`, the network's key of
 *                                             what `type` (enum wdl_keys_of) says, or nothing.
 *                                             Dynamic window: of the region at `disp`, `total`
 *                                             bytes (0: none there); its loan's number in `op`
 *   RECALL    -                               RETURNED, when the loan's key is not in use (loan.h)
 *   POST      ranks to pass it on to          nothing (`op` not 0: by REPORT, relay.h)
 *             (post number `op` of rank `lo`)
 *   COMPLETE  ranks to pass it on to          nothing
 *             (of `count` ranks)
 *   REPORT    -                               nothing: `count` of those who heard of post `op` of
 *                                             rank `lo` from the sender, and it, have completed
 *   BARRIER   -                               nothing
 *   EVICT     -                               FORGET, sooner or later: of a type (types.h)
 *   FORGET    -                               nothing
 *   ERROR     -                               nothing: an operation without answer failed at
 *                                             the target
 *
 * The last packet to a target may say more than its operation (seed 001, piggybacking):
 * WITH_UNLOCK, WITH_FLUSH and WITH_COMPLETE on an operation or a bundle, WITH_LOCK on a bundle. The
 * operation's answer, an UNLOCK_ACK or a FLUSH_ACK says by the same flags what has been done;
 * nothing answers a COMPLETE.
 */
#ifndef WDL_MPID_RMA_WIRE_H_INCLUDED
#define WDL_MPID_RMA_WIRE_H_INCLUDED

#include <stddef.h>
#include "base/assert.h"
#include "host/host.h"

#define WDL_PKT_TABLE(X)                                                                       \
    X(PUT) X(GET) X(ACC) X(GET_ACC) X(CAS) X(TYPE) X(LOCK) X(UNLOCK) X(FLUSH) X(POST) X(COMPLETE) \
    X(REPORT) X(BARRIER) X(BUNDLE) X(KEY) X(FORGET) X(EVICT) X(RECALL) X(RETURNED) X(REPLY)    \
    X(OP_ACK) X(TYPE_ACK) X(ANSWERS) X(GRANT) X(SETTLED) X(UNLOCK_ACK) X(FLUSH_ACK)            \
    X(KEY_REPLY) X(ERROR)

enum wdl_pkt_kind {
#define WDL_PKT_ENUM(name) WDL_PKT_##name,
    WDL_PKT_TABLE(WDL_PKT_ENUM)
#undef WDL_PKT_ENUM
    WDL_PKT_KINDS
};

enum {                          /* flags */
    WDL_PKT_EXCLUSIVE = 1,      /* LOCK */
    WDL_PKT_ONCE = 1,           /* TYPE: for one operation */
    WDL_PKT_ALONE = 1,          /* POST: to nobody else */
    WDL_PKT_WANT_ACK = 2,       /* PUT, ACC, TYPE: answer when done */
    WDL_PKT_JOIN = 4,           /* LOCK: its sender may hold other targets' locks (grant.h) */
    WDL_PKT_OVERTOOK = 8,       /* GRANT: others waited; SETTLED follows when they are granted */
    WDL_PKT_WITH_COMPLETE = 8,  /* operation, bundle without WITH_LOCK */
    WDL_PKT_WITH_LOCK = 16,
    WDL_PKT_WITH_UNLOCK = 32,
    WDL_PKT_WITH_FLUSH = 64,
    WDL_PKT_AGAIN = 128         /* GRANT: the bundle that asked was not kept, send it again */
};

#define WDL_PKT_CONTIG 0u               /* type: one contiguous stretch */
#define WDL_PKT_PREDEFINED 0xffffffffu  /* type: the predefined type element.host_type */

struct wdl_pkt {
    uint8_t kind, flags, rop, status;
    uint32_t win;
    uint32_t origin;            /* window rank of the sender */
    /* WDL_PKT_CONTIG, WDL_PKT_PREDEFINED, or the sender's number of a type it has sent */
    uint32_t type;
    uint64_t op;  /* the origin's operation, returned in answers; BARRIER: the sequence number */
    int64_t disp;               /* in the target's displacement units */
    int64_t lo;                 /* contiguous: first byte, from the displacement */
    /* elements of the type at the target; BARRIER: the round; COMPLETE, REPORT: of ranks */
    int64_t count;
    uint64_t offset;            /* of this packet's bytes in the operation's (or type's) stream */
    uint64_t total;             /* bytes of that stream */
    uint32_t bytes;             /* of the stream that this packet is about */
    uint32_t reserved;          /* in a bundle or its answers: bytes of payload behind the packet */
    struct wdl_element element;
};

wdl_static_assert(sizeof(struct wdl_element) == 16);
wdl_static_assert(sizeof(struct wdl_pkt) == 88);
wdl_static_assert(offsetof(struct wdl_pkt, op) == 16);
wdl_static_assert(offsetof(struct wdl_pkt, element) == 72);

#endif
