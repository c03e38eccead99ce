/* Part of Windlass. See COPYRIGHT in the top-level directory. Barrier: dissemination, ceil(log2
 * P) flags a rank. */
#include "mpid/coll/algo.h"

void wdl_barrier_dissemination(struct wdl_build *b)
{
    wdl_build_user(b, wdl_sync_all(b, WDL_PHASE_IN, WDL_CAR_NONE));
}
