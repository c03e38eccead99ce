/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Memory in common for GASNet's teams in a simulated world: peers `each` * i up to `each` * (i + 1)
 * are a node, whose ranks look into each other's memory.
 */
#ifndef WDL_TEST_MPID_COLL_GASNET_MEMORY_H_INCLUDED
#define WDL_TEST_MPID_COLL_GASNET_MEMORY_H_INCLUDED

#include "mpid/coll/gasnet_core.h"

struct gasnet_memory {
    /* With SINGLE an address without a list is right on every node, which no address in one process
     * can be: it is the caller's. Where `there`, in memory of peer `own`, is in that of `peer`, or
     * `there`; or NULL: all are as they are. */
    const char *(*alike)(void *ctx, int own, int peer, const char *there);
    void *ctx;
    struct wdl_proc *proc; /* any of the world's */
    int each;
    int domain; /* peers of each domain within a node; 0: nobody knows of any */
    struct gasnet_segments *all; /* of the engine's teams there are; begins as NULL */
};

/* What wdl_gas_init is told. */
struct wdl_gas_memory gasnet_memory(struct gasnet_memory *m);
/* All that the ranks show each other. */
void gasnet_memory_look(const struct gasnet_memory *m, void (*fn)(const char *at, size_t bytes));

#endif
