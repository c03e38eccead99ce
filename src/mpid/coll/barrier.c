/* Part of Windlass. See COPYRIGHT in the top-level directory. Barrier: everyone hears of
 * everyone as fast as the model allows (wdl_pattern_spread). */
#include "mpid/coll/algo.h"

void wdl_barrier_dissemination(struct wdl_build *b)
{
    wdl_build_user(b, wdl_sync_all(b, WDL_PHASE_IN, WDL_CAR_NONE));
}
