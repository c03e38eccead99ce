/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * put and get with partner lists: what the calls (gasnet_put.c) hand to the graph (gasnet_pair.c).
 */
#ifndef WDL_MPID_COLL_GASNET_PUT_H_INCLUDED
#define WDL_MPID_COLL_GASNET_PUT_H_INCLUDED

#include "mpid/coll/gasnet_impl.h"

enum { WDL_PUT_LONG = 16384 }; /* bytes of a block to where two copies take less than a message */

struct wdl_put_pair;

struct wdl_put {
    int gets, many; /* which of the four; 0 or 1 */
    const uint32_t *nodes; /* the other end of each block */
    size_t count;
    const uint32_t *partners; /* who comes here; NULL: all */
    size_t partner_count;
    uint32_t node; /* what `nodes` and the lists point to if not many */
    void *dst, *src;
    uint64_t *to, *from; /* blocks to each node; whether any come from each */
    uint64_t *here, *there; /* addresses of the own blocks, node by node ... */
    struct wdl_put_pair *pairs; /* ... and what there is with each node */
};

/* gasnet_pair.c: one graph, in which each partner is served by itself. */
wdl_gas_handle wdl_put_pairs_start(struct wdl_gas_op *op, int flags);

#endif
