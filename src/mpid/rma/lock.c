/* Part of Windlass. See COPYRIGHT in the top-level directory. The origin's lock: lookups in the
 * table of lock.h. */
#include "mpid/rma/lock.h"
#include <stdint.h>
#include "base/status.h"

/* The table turned into a look-up: by state and event, one more than the state it leads to; 0:
 * there is no row. */
static const uint8_t lock_to[WDL_LOCK_STATE_COUNT][WDL_LOCK_EVENT_COUNT] = {
#define LOCK_ROW(from, event, to) [WDL_LOCK_##from][WDL_LOCK_ON_##event] = 1 + WDL_LOCK_##to,
    WDL_LOCK_ROWS(LOCK_ROW)
#undef LOCK_ROW
};

void wdl_lock_init(struct wdl_lock *lock)
{
    lock->state = WDL_LOCK_IDLE;
    lock->exclusive = 0;
}

int wdl_lock_step(struct wdl_lock *lock, enum wdl_lock_event event)
{
    int to = lock_to[lock->state][event];
    if (to == 0)
        return WDL_ERR_SYNC;
    lock->state = to - 1;
    if (lock->state == WDL_LOCK_IDLE)
        lock->exclusive = 0;
    return WDL_OK;
}

int wdl_lock_open(const struct wdl_lock *lock)
{
    return lock->state == WDL_LOCK_GRANTED || lock->state == WDL_LOCK_UNCHECKED;
}

int wdl_lock_asked(const struct wdl_lock *lock)
{
    return lock->state == WDL_LOCK_ISSUED || lock->state == WDL_LOCK_PASSING;
}
