/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Epoch states of a window (seed 001, Epoch States): an access machine and an exposure machine,
 * each a table of rows. wdl_epoch_access, or _access_from where the row is known to be there, and
 * wdl_epoch_expose are the only writers. A missing row is the user's error: ERR_SYNC.
 */
#ifndef WDL_MPID_RMA_EPOCH_H_INCLUDED
#define WDL_MPID_RMA_EPOCH_H_INCLUDED

#include <stdint.h>
#include "base/assert.h"
#include "base/status.h"

#define WDL_ACCESS_STATES(X)                                                                   \
    X(NONE) X(FENCE_ISSUED) X(FENCE_GRANTED) X(PSCW_ISSUED) X(PSCW_GRANTED) X(LOCK_ALL_CALLED)  \
    X(LOCK_ALL_ISSUED) X(LOCK_ALL_GRANTED) X(PER_TARGET)

#define WDL_ACCESS_EVENTS(X)                                                                   \
    X(FENCE) X(FENCE_DONE) X(FENCE_LAST) X(START) X(STARTED) X(COMPLETE) X(LOCK) X(LAST_UNLOCK) \
    X(LOCK_ALL) X(LOCK_ALL_NOCHECK) X(EXHAUSTED) X(ALL_GRANTED) X(UNLOCK_ALL)

/*    from              event             to */
#define WDL_ACCESS_ROWS(X)                                                                     \
    X(NONE,             FENCE,            FENCE_ISSUED)                                        \
    X(FENCE_ISSUED,     FENCE,            FENCE_ISSUED)                                        \
    X(FENCE_GRANTED,    FENCE,            FENCE_ISSUED)                                        \
    X(FENCE_ISSUED,     FENCE_DONE,       FENCE_GRANTED)                                       \
    X(FENCE_ISSUED,     FENCE_LAST,       NONE)                                                \
    X(FENCE_GRANTED,    FENCE_LAST,       NONE)                                                \
    X(NONE,             START,            PSCW_ISSUED)                                         \
    X(FENCE_ISSUED,     START,            PSCW_ISSUED)                                         \
    X(FENCE_GRANTED,    START,            PSCW_ISSUED)                                         \
    X(PSCW_ISSUED,      STARTED,          PSCW_GRANTED)                                        \
    X(PSCW_ISSUED,      COMPLETE,         NONE)                                                \
    X(PSCW_GRANTED,     COMPLETE,         NONE)                                                \
    X(NONE,             LOCK,             PER_TARGET)                                          \
    X(FENCE_ISSUED,     LOCK,             PER_TARGET)                                          \
    X(FENCE_GRANTED,    LOCK,             PER_TARGET)                                          \
    X(PER_TARGET,       LOCK,             PER_TARGET)                                          \
    X(PER_TARGET,       LAST_UNLOCK,      NONE)                                                \
    X(NONE,             LOCK_ALL,         LOCK_ALL_CALLED)                                     \
    X(FENCE_ISSUED,     LOCK_ALL,         LOCK_ALL_CALLED)                                     \
    X(FENCE_GRANTED,    LOCK_ALL,         LOCK_ALL_CALLED)                                     \
    X(NONE,             LOCK_ALL_NOCHECK, LOCK_ALL_GRANTED)                                    \
    X(FENCE_ISSUED,     LOCK_ALL_NOCHECK, LOCK_ALL_GRANTED)                                    \
    X(FENCE_GRANTED,    LOCK_ALL_NOCHECK, LOCK_ALL_GRANTED)                                    \
    X(LOCK_ALL_CALLED,  EXHAUSTED,        LOCK_ALL_ISSUED)                                     \
    X(LOCK_ALL_ISSUED,  ALL_GRANTED,      LOCK_ALL_GRANTED)                                    \
    X(LOCK_ALL_CALLED,  UNLOCK_ALL,       NONE)                                                \
    X(LOCK_ALL_GRANTED, UNLOCK_ALL,       NONE)

enum wdl_access_state {
#define WDL_ACCESS_STATE(s) WDL_ACCESS_##s,
    WDL_ACCESS_STATES(WDL_ACCESS_STATE)
#undef WDL_ACCESS_STATE
    WDL_ACCESS_STATE_COUNT
};
enum wdl_access_event {
#define WDL_ACCESS_EVENT(e) WDL_ACCESS_ON_##e,
    WDL_ACCESS_EVENTS(WDL_ACCESS_EVENT)
#undef WDL_ACCESS_EVENT
    WDL_ACCESS_EVENT_COUNT
};

/*    from     event  to */
#define WDL_EXPOSE_ROWS(X)                                                                     \
    X(NONE,    POST,  POSTED)                                                                  \
    X(POSTED,  WAIT,  NONE)
enum wdl_expose_state { WDL_EXPOSE_NONE, WDL_EXPOSE_POSTED };
enum wdl_expose_event { WDL_EXPOSE_ON_POST, WDL_EXPOSE_ON_WAIT };

struct wdl_epoch {
    int access_state, expose_state;
};

void wdl_epoch_init(struct wdl_epoch *epoch);
/* The rows turned into a look-up: by state and event, one more than the state it leads to; 0: there
 * is no row. Here, so that a caller who knows the state knows the answer. */
static const uint8_t wdl_access_to[WDL_ACCESS_STATE_COUNT][WDL_ACCESS_EVENT_COUNT] = {
#define WDL_ACCESS_ROW(from, event, to) \
    [WDL_ACCESS_##from][WDL_ACCESS_ON_##event] = 1 + WDL_ACCESS_##to,
    WDL_ACCESS_ROWS(WDL_ACCESS_ROW)
#undef WDL_ACCESS_ROW
};

/* Take the row: WDL_OK, or ERR_SYNC and nothing changed. */
static inline int wdl_epoch_access(struct wdl_epoch *epoch, enum wdl_access_event event)
{
    int to = wdl_access_to[epoch->access_state][event];
    if (to == 0)
        return WDL_ERR_SYNC;
    epoch->access_state = to - 1;
    return WDL_OK;
}

/* The same where the state is known, and there is a row. */
static inline void wdl_epoch_access_from(struct wdl_epoch *epoch, enum wdl_access_state from,
                                         enum wdl_access_event event)
{
    wdl_assert_cmp(epoch->access_state, ==, (int) from);
    wdl_assert_cmp(wdl_access_to[from][event], >, 0);
    epoch->access_state = wdl_access_to[from][event] - 1;
}

/* Is there a row for this event? */
static inline int wdl_epoch_allows(const struct wdl_epoch *epoch, enum wdl_access_event event)
{
    return wdl_access_to[epoch->access_state][event] > 0;
}

int wdl_epoch_expose(struct wdl_epoch *epoch, enum wdl_expose_event event);
/* Is the access epoch one of active targets (fence, start)? */
static inline int wdl_epoch_is_active(const struct wdl_epoch *epoch)
{
    int state = epoch->access_state;
    return state >= WDL_ACCESS_FENCE_ISSUED && state <= WDL_ACCESS_PSCW_GRANTED;
}

const char *wdl_epoch_access_name(int state);
/* For people: what accesses are allowed now. */
const char *wdl_epoch_access_text(int state);

#endif
