/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/epoch and rma/lock: the
 * tables. */
#include "base/status.h"
#include "mpid/rma/epoch.h"
#include "mpid/rma/lock.h"
#include "support/suite.h"

static void expect(struct wdl_epoch *epoch, enum wdl_access_event event, int status, int state)
{
    ck_assert_int_eq(wdl_epoch_allows(epoch, event), status == WDL_OK);
    ck_assert_int_eq(wdl_epoch_access(epoch, event), status);
    ck_assert_int_eq(epoch->access_state, state);
}

START_TEST(fence_leads_to_other_epochs)
{
    struct wdl_epoch e;
    wdl_epoch_init(&e);
    expect(&e, WDL_ACCESS_ON_FENCE_DONE, WDL_ERR_SYNC, WDL_ACCESS_NONE);
    expect(&e, WDL_ACCESS_ON_FENCE, WDL_OK, WDL_ACCESS_FENCE_ISSUED);
    expect(&e, WDL_ACCESS_ON_FENCE_DONE, WDL_OK, WDL_ACCESS_FENCE_GRANTED);
    expect(&e, WDL_ACCESS_ON_LOCK, WDL_OK, WDL_ACCESS_PER_TARGET);
    expect(&e, WDL_ACCESS_ON_FENCE, WDL_ERR_SYNC, WDL_ACCESS_PER_TARGET);
    expect(&e, WDL_ACCESS_ON_LOCK_ALL, WDL_ERR_SYNC, WDL_ACCESS_PER_TARGET);
    expect(&e, WDL_ACCESS_ON_LAST_UNLOCK, WDL_OK, WDL_ACCESS_NONE);
}
END_TEST

START_TEST(lock_all_changes_protocol_once)
{
    struct wdl_epoch e;
    wdl_epoch_init(&e);
    expect(&e, WDL_ACCESS_ON_LOCK_ALL, WDL_OK, WDL_ACCESS_LOCK_ALL_CALLED);
    expect(&e, WDL_ACCESS_ON_LOCK, WDL_ERR_SYNC, WDL_ACCESS_LOCK_ALL_CALLED);
    expect(&e, WDL_ACCESS_ON_EXHAUSTED, WDL_OK, WDL_ACCESS_LOCK_ALL_ISSUED);
    expect(&e, WDL_ACCESS_ON_EXHAUSTED, WDL_ERR_SYNC, WDL_ACCESS_LOCK_ALL_ISSUED);
    expect(&e, WDL_ACCESS_ON_UNLOCK_ALL, WDL_ERR_SYNC, WDL_ACCESS_LOCK_ALL_ISSUED);
    expect(&e, WDL_ACCESS_ON_ALL_GRANTED, WDL_OK, WDL_ACCESS_LOCK_ALL_GRANTED);
    expect(&e, WDL_ACCESS_ON_UNLOCK_ALL, WDL_OK, WDL_ACCESS_NONE);
}
END_TEST

START_TEST(every_state_can_be_left)
{
    for (int s = 0; s < WDL_ACCESS_STATE_COUNT; s++) {
        int ways = 0;
        for (int v = 0; v < WDL_ACCESS_EVENT_COUNT; v++) {
            struct wdl_epoch e = {.access_state = s };
            ways +=
                wdl_epoch_access(&e, (enum wdl_access_event) v) == WDL_OK && e.access_state != s;
        }
        ck_assert_msg(ways > 0, "%s cannot be left", wdl_epoch_access_name(s));
    }
    ck_assert_str_eq(wdl_epoch_access_name(WDL_ACCESS_STATE_COUNT), "?");
}
END_TEST

START_TEST(exposure_is_posted_once)
{
    struct wdl_epoch e;
    wdl_epoch_init(&e);
    ck_assert_int_eq(wdl_epoch_expose(&e, WDL_EXPOSE_ON_WAIT), WDL_ERR_SYNC);
    ck_assert_int_eq(wdl_epoch_expose(&e, WDL_EXPOSE_ON_POST), WDL_OK);
    ck_assert_int_eq(wdl_epoch_expose(&e, WDL_EXPOSE_ON_POST), WDL_ERR_SYNC);
    ck_assert_int_eq(wdl_epoch_expose(&e, WDL_EXPOSE_ON_WAIT), WDL_OK);
}
END_TEST

START_TEST(a_lock_is_open_only_when_held)
{
    struct wdl_lock lock;
    wdl_lock_init(&lock);
    ck_assert(!wdl_lock_open(&lock));
    ck_assert_int_eq(wdl_lock_step(&lock, WDL_LOCK_ON_GRANT), WDL_ERR_SYNC);
    ck_assert_int_eq(wdl_lock_step(&lock, WDL_LOCK_ON_LOCK), WDL_OK);
    ck_assert_int_eq(wdl_lock_step(&lock, WDL_LOCK_ON_ISSUE), WDL_OK);
    ck_assert(!wdl_lock_open(&lock));
    ck_assert_int_eq(wdl_lock_step(&lock, WDL_LOCK_ON_GRANT), WDL_OK);
    ck_assert(wdl_lock_open(&lock));
    ck_assert_int_eq(wdl_lock_step(&lock, WDL_LOCK_ON_RELEASE), WDL_OK);
    ck_assert(!wdl_lock_open(&lock));
    ck_assert_int_eq(wdl_lock_step(&lock, WDL_LOCK_ON_ACK), WDL_OK);
    ck_assert_int_eq(lock.state, WDL_LOCK_IDLE);
}
END_TEST

START_TEST(an_unchecked_lock_becomes_real)
{
    struct wdl_lock lock;
    wdl_lock_init(&lock);
    ck_assert_int_eq(wdl_lock_step(&lock, WDL_LOCK_ON_NOCHECK), WDL_OK);
    ck_assert(wdl_lock_open(&lock));
    ck_assert_int_eq(wdl_lock_step(&lock, WDL_LOCK_ON_EVICT), WDL_ERR_SYNC);
    ck_assert_int_eq(wdl_lock_step(&lock, WDL_LOCK_ON_CONVERT), WDL_OK);
    ck_assert_int_eq(lock.state, WDL_LOCK_CALLED);
}
END_TEST

WDL_SUITE("rma/epoch", fence_leads_to_other_epochs, lock_all_changes_protocol_once,
          every_state_can_be_left, exposure_is_posted_once, a_lock_is_open_only_when_held,
          an_unchecked_lock_becomes_real)
