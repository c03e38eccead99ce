/* Part of Windlass. See COPYRIGHT in the top-level directory. The origin's lock: lookups in the table of lock.h. */
#include "mpid/rma/lock.h"
#include "base/status.h"

static const struct {
    int from, event, to;
} lock_rows[] = {
#define LOCK_ROW(from, event, to) {WDL_LOCK_##from, WDL_LOCK_ON_##event, WDL_LOCK_##to},
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
    for (unsigned i = 0; i < sizeof(lock_rows) / sizeof(lock_rows[0]); i++) {
        if (lock_rows[i].from == lock->state && lock_rows[i].event == (int) event) {
            lock->state = lock_rows[i].to;
            return WDL_OK;
        }
    }
    return WDL_ERR_SYNC;
}

int wdl_lock_open(const struct wdl_lock *lock)
{
    return lock->state == WDL_LOCK_GRANTED || lock->state == WDL_LOCK_UNCHECKED;
}
