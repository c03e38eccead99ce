/* Part of Windlass. See COPYRIGHT in the top-level directory. Epoch states: lookups in the tables
 * of epoch.h. */
#include "mpid/rma/epoch.h"

/* As wdl_access_to. */
static const uint8_t expose_to[2][2] = {
#define EXPOSE_ROW(from, event, to) \
    [WDL_EXPOSE_##from][WDL_EXPOSE_ON_##event] = 1 + WDL_EXPOSE_##to,
    WDL_EXPOSE_ROWS(EXPOSE_ROW)
#undef EXPOSE_ROW
};

void wdl_epoch_init(struct wdl_epoch *epoch)
{
    epoch->access_state = WDL_ACCESS_NONE;
    epoch->expose_state = WDL_EXPOSE_NONE;
}

int wdl_epoch_expose(struct wdl_epoch *epoch, enum wdl_expose_event event)
{
    int to = expose_to[epoch->expose_state][event];
    if (to == 0)
        return WDL_ERR_SYNC;
    epoch->expose_state = to - 1;
    return WDL_OK;
}

const char *wdl_epoch_access_name(int state)
{
    static const char *const name[] = {
#define ACCESS_NAME(s) #s,
        WDL_ACCESS_STATES(ACCESS_NAME)
#undef ACCESS_NAME
    };
    return state >= 0 && state < WDL_ACCESS_STATE_COUNT ? name[state] : "?";
}

const char *wdl_epoch_access_text(int state)
{
    switch (state) {
        case WDL_ACCESS_NONE:
            return "no access epoch is open (MPI_Win_fence, _start, _lock and _lock_all open one)";
        case WDL_ACCESS_FENCE_ISSUED:
        case WDL_ACCESS_FENCE_GRANTED:
            return "the access epoch is MPI_Win_fence's";
        case WDL_ACCESS_PSCW_ISSUED:
        case WDL_ACCESS_PSCW_GRANTED:
            return "the access epoch is MPI_Win_start's, for the processes of its group";
        case WDL_ACCESS_PER_TARGET:
            return "the access epoch is MPI_Win_lock's, for the processes locked";
        default:
            return "the access epoch is MPI_Win_lock_all's";
    }
}
