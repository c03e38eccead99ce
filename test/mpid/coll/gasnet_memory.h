/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Memory in common for GASNet's teams in a simulated world: peers `each` * i up to `each` * (i + 1)
 * are a node, whose ranks look into each other's memory.
 */
#ifndef WDL_TEST_MPID_COLL_GASNET_MEMORY_H_INCLUDED
#define WDL_TEST_MPID_COLL_GASNET_MEMORY_H_INCLUDED

#include "mpid/coll/gasnet_core.h"

struct gasnet_memory {
    struct wdl_proc *proc; /* any of the world's */
    int each;
    struct gasnet_segments *all; /* of the engine's teams there are; begins as NULL */
};

/* What wdl_gas_init is told. */
struct wdl_gas_memory gasnet_memory(struct gasnet_memory *m);

#endif
