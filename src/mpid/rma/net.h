/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What the network's atomics do for a window that spans nodes. It must be the same on every rank,
 * so it is agreed when the window is created: each rank makes an offer, which says what its network
 * lacks; what one lacks all do without. Of rank 0 everybody gets the key of its lock words, among
 * which is the window's gate (words.c).
 *
 * Where a network cannot tell before it knows the peer (caps.atomics_by_key) keys are asked. Each
 * rank fetches the key of the lock words of a rank on another node, whom no more than a node's
 * ranks choose, and looks at what it says, and at its own: two messages. What was found holds for
 * all further windows of the process with such memory. It is a guess about the other ranks: a key
 * of lock words that says something else is an error of the lock (ERR_ATOMICS), since others may
 * be using the word in the way that was agreed. One of data is not used, which is always right.
 *
 *   the network's atomics           locks                        accumulates
 *   none, or the target's work      by message                   the target's work
 *   not the same everywhere         by message                   the target's work
 *   against each other only         words, network alone         the target's work
 *   against the processor's, too    words, of a node's own       a few integers (atomic.c);
 *                                   ranks by the processor       else the target's work
 *
 * A target's own process and its node's always use the processor's atomics. Where the network's
 * respect these, everybody may choose for each operation; where they do not, an update that was not
 * theirs could be lost, so nobody uses the network's. An element the network may update is updated
 * by nothing but atomics: not in bulk (domain.h), nor plainly by a process alone on its node.
 */
#ifndef WDL_MPID_RMA_NET_H_INCLUDED
#define WDL_MPID_RMA_NET_H_INCLUDED

#include "host/host.h"
#include "netmod/netmod.h"

/* Each 1 or 0; all ranks' largest is the window's. NOT_COHERENT, NOT_APART: the atomics are not
 * the processor's domain, not the network's own; UNKNOWN: keys are to be asked. */
enum wdl_net_lack { WDL_NET_NO_WORDS, WDL_NET_NOT_COHERENT, WDL_NET_NOT_APART, WDL_NET_NO_32,
    WDL_NET_NO_64, WDL_NET_UNKNOWN, WDL_NET_LACKS
};

struct wdl_net_offer {
    int lacks[WDL_NET_LACKS];
    uint64_t base;              /* of the rank's lock words */
    size_t bytes;               /* of their key */
    char key[WDL_NM_KEY_BYTES_MAX];
};

/* Do those who lack so much need to ask keys; can they have lock words? */
static inline int wdl_net_asks(const int *lacks)
{
    return lacks[WDL_NET_UNKNOWN] && !lacks[WDL_NET_NO_WORDS];
}

static inline int wdl_net_has_words(const int *lacks)
{
    return !lacks[WDL_NET_NO_WORDS] &&
           !(lacks[WDL_NET_NOT_COHERENT] && lacks[WDL_NET_NOT_APART]);
}

/* Are such elements updated by the network? sizes: of those that are, 4 | 8. */
static inline int wdl_net_has(int sizes, const struct wdl_element *el)
{
    return el->basic >= WDL_BASIC_I32 && el->basic <= WDL_BASIC_U64 &&
           el->extent == el->packed_bytes && ((uint32_t) sizes & el->packed_bytes);
}

#define WDL_NET_GATE_AT 64      /* the gate's place, from the lock word */

#endif
