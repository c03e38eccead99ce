/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The origin's side of one lock on one target: a table of rows; wdl_lock_step is the only writer of
 * the state.
 *
 *   LOCK     the user called lock: nothing is sent yet        ISSUE    the LOCK packet went
 *   NOCHECK  the user promised that nobody conflicts          GRANT    the target granted it
 *   ASSUME   the element was evicted while locked, and is here again
 *   CONVERT  a NOCHECK lock is taken for real, so that its element may be evicted
 *   DROP     ended without a packet (never issued, or NOCHECK)
 *   RELEASE  the UNLOCK packet went                           ACK      the target has released it
 *   PASS     a message with the whole epoch went: lock, operations, unlock; where the target cannot
 *            keep it until its turn comes, the answer is a GRANT
 *   EVICT    the element leaves while the lock stays
 */
#ifndef WDL_MPID_RMA_LOCK_H_INCLUDED
#define WDL_MPID_RMA_LOCK_H_INCLUDED

#define WDL_LOCK_STATES(X) X(IDLE) X(CALLED) X(ISSUED) X(GRANTED) X(UNCHECKED) X(RELEASING) \
    X(PASSING)
#define WDL_LOCK_EVENTS(X)                                                                     \
    X(LOCK) X(NOCHECK) X(ASSUME) X(ISSUE) X(GRANT) X(CONVERT) X(DROP) X(RELEASE) X(ACK) X(EVICT) \
    X(PASS)

/*    from       event     to */
#define WDL_LOCK_ROWS(X)                                                                       \
    X(IDLE,      LOCK,     CALLED)                                                             \
    X(IDLE,      NOCHECK,  UNCHECKED)                                                          \
    X(IDLE,      ASSUME,   GRANTED)                                                            \
    X(CALLED,    ISSUE,    ISSUED)                                                             \
    X(CALLED,    DROP,     IDLE)                                                               \
    X(ISSUED,    GRANT,    GRANTED)                                                            \
    X(UNCHECKED, CONVERT,  CALLED)                                                             \
    X(UNCHECKED, DROP,     IDLE)                                                               \
    X(GRANTED,   RELEASE,  RELEASING)                                                          \
    X(GRANTED,   EVICT,    IDLE)                                                               \
    X(RELEASING, ACK,      IDLE)                                                               \
    X(CALLED,    PASS,     PASSING)                                                            \
    X(PASSING,   ACK,      IDLE)                                                               \
    X(PASSING,   GRANT,    GRANTED)

enum wdl_lock_state {
#define WDL_LOCK_STATE(s) WDL_LOCK_##s,
    WDL_LOCK_STATES(WDL_LOCK_STATE)
#undef WDL_LOCK_STATE
    WDL_LOCK_STATE_COUNT
};
enum wdl_lock_event {
#define WDL_LOCK_EVENT(e) WDL_LOCK_ON_##e,
    WDL_LOCK_EVENTS(WDL_LOCK_EVENT)
#undef WDL_LOCK_EVENT
    WDL_LOCK_EVENT_COUNT
};

struct wdl_lock {
    int state;
    int exclusive;              /* 0 where that is not known (ASSUME), and in IDLE */
};

void wdl_lock_init(struct wdl_lock *lock);
/* Take the row for this event: WDL_OK, or ERR_SYNC and nothing changed. */
int wdl_lock_step(struct wdl_lock *lock, enum wdl_lock_event event);
/* May operations be sent? */
int wdl_lock_open(const struct wdl_lock *lock);
/* Has the lock been asked for, and perhaps more with it, without an answer yet? */
int wdl_lock_asked(const struct wdl_lock *lock);

#endif
