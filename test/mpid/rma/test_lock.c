/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/lock: the table. */
#include "base/status.h"
#include "mpid/rma/lock.h"
#include "support/suite.h"

/* The table once more, as a drawing: a state a line, an event a column; '.' is no row. */
static const char *const drawing[WDL_LOCK_STATE_COUNT] = {
    /*                      LOCK NOCHECK ASSUME ISSUE GRANT CONVERT DROP RELEASE ACK EVICT PASS */
    [WDL_LOCK_IDLE] =      "C    U       G      .     .     .       .    .       .   .     .",
    [WDL_LOCK_CALLED] =    ".    .       .      I     .     .       -    .       .   .     P",
    [WDL_LOCK_ISSUED] =    ".    .       .      .     G     .       .    .       .   .     .",
    [WDL_LOCK_GRANTED] =   ".    .       .      .     .     .       .    R       .   -     .",
    [WDL_LOCK_UNCHECKED] = ".    .       .      .     .     C       -    .       .   .     .",
    [WDL_LOCK_RELEASING] = ".    .       .      .     .     .       .    .       -   .     .",
    [WDL_LOCK_PASSING] =   ".    .       .      .     G     .       .    .       -   .     ."
};

static int drawn(int state, int event)
{
    static const char letters[WDL_LOCK_STATE_COUNT] = "-CIGURP";
    const char *at = drawing[state];
    for (int i = 0; *at; at++)
        if (*at != ' ' && i++ == event) {
            for (int to = 0; to < WDL_LOCK_STATE_COUNT; to++)
                if (letters[to] == *at)
                    return to;
            return -1;
        }
    return -2;
}

START_TEST(every_row_and_every_missing_row)
{
    int rows = 0;
    for (int state = 0; state < WDL_LOCK_STATE_COUNT; state++)
        for (int event = 0; event < WDL_LOCK_EVENT_COUNT; event++) {
            struct wdl_lock lock = {.state = state,.exclusive = 1 };
            int to = drawn(state, event), want = to >= 0 ? WDL_OK : WDL_ERR_SYNC;
            ck_assert_int_ne(to, -2);
            ck_assert_int_eq(wdl_lock_step(&lock, (enum wdl_lock_event) event), want);
            ck_assert_int_eq(lock.state, to >= 0 ? to : state);
            ck_assert_int_eq(lock.exclusive, to != WDL_LOCK_IDLE);
            rows += to >= 0;
        }
    ck_assert_int_eq(rows, 14);
}
END_TEST

START_TEST(operations_pass_only_while_it_is_held)
{
    for (int state = 0; state < WDL_LOCK_STATE_COUNT; state++) {
        struct wdl_lock lock = {.state = state };
        ck_assert_int_eq(wdl_lock_open(&lock) != 0,
                         state == WDL_LOCK_GRANTED || state == WDL_LOCK_UNCHECKED);
        ck_assert_int_eq(wdl_lock_asked(&lock) != 0,
                         state == WDL_LOCK_ISSUED || state == WDL_LOCK_PASSING);
    }
}
END_TEST

START_TEST(a_new_lock_is_idle_and_shared)
{
    struct wdl_lock lock = {.state = WDL_LOCK_GRANTED,.exclusive = 1 };
    wdl_lock_init(&lock);
    ck_assert_int_eq(lock.state, WDL_LOCK_IDLE);
    ck_assert_int_eq(lock.exclusive, 0);
}
END_TEST

WDL_SUITE("rma/lock", every_row_and_every_missing_row, operations_pass_only_while_it_is_held,
          a_new_lock_is_idle_and_shared)
