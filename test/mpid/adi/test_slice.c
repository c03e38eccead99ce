/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of adi/slice, each in a process
 * of its own, as all tests are here. */
#define _GNU_SOURCE
#include "wdl_adi.h"
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "support/suite.h"

/* Of this thread: its slice (0 where the kernel does not tell), and its nice value. */
static uint64_t slice_ns(int *nice_out)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attr = {0};
    ck_assert_int_eq(syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0), 0);
    *nice_out = attr.nice;
    return attr.runtime;
}

START_TEST(a_shorter_slice_and_nothing_else)
{
    int nice_before, nice_after;
    ck_assert_int_ne(nice(3), -1);
    uint64_t before = slice_ns(&nice_before);
    wdl_adi_slice_ask(0);
    ck_assert_uint_eq(slice_ns(&nice_after), before);
    wdl_adi_slice_ask(-1);
    ck_assert_uint_eq(slice_ns(&nice_after), before);
    wdl_adi_slice_ask(100);
    ck_assert_uint_eq(slice_ns(&nice_after), before == 0 ? 0 : 100000);
    ck_assert_int_eq(nice_after, nice_before);
    wdl_adi_slice_ask(200); /* never a longer one */
    ck_assert_uint_eq(slice_ns(&nice_after), before == 0 ? 0 : 100000);
}
END_TEST

START_TEST(threads_of_another_policy_are_left_alone)
{
    struct sched_param none = {0};
    ck_assert_int_eq(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    wdl_adi_slice_ask(100);
    ck_assert_int_eq(sched_getscheduler(0), SCHED_BATCH);
}
END_TEST

WDL_SUITE("mpid/adi/slice", a_shorter_slice_and_nothing_else,
          threads_of_another_policy_are_left_alone)
