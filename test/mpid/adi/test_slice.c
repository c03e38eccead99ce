/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of adi/slice, each in a process of its own, as all tests are here: by a kernel of the
 * test's, which knows slices or does not, and by the machine's, which may be of either kind.
 */
#define _GNU_SOURCE
#include "wdl_adi.h"
#include <dlfcn.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "support/suite.h"

struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

/* In place of the machine's, if `kind` says so: Linux before 6.12, from then on, or one that
 * refuses to change anything. A slice is of 0.1 ms at least. */
static struct {
    enum { MACHINE, WITHOUT_SLICES, WITH_SLICES, REFUSES } kind;
    struct attributes thread;
    int asked; /* to change it, so often; and the slice that was wanted last */
    uint64_t wanted;
} kernel;

static long kernel_set(const struct attributes *attr)
{
    kernel.asked++;
    kernel.wanted = attr->runtime;
    if (kernel.kind == REFUSES)
        return -1;
    kernel.thread = *attr;
    if (kernel.kind == WITHOUT_SLICES)
        kernel.thread.runtime = 0;
    else if (attr->runtime < 100000)
        kernel.thread.runtime = 100000;
    return 0;
}

/* The C library's, to the program. */
long syscall(long number, ...)
{
    static long (*real)(long number, ...);
    long arg[4];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 4; i++)
        arg[i] = va_arg(list, long);
    va_end(list);
    if (kernel.kind != MACHINE && number == SYS_sched_getattr) {
        memcpy((void *) arg[1], &kernel.thread, sizeof(kernel.thread));
        return 0;
    }
    if (kernel.kind != MACHINE && number == SYS_sched_setattr)
        return kernel_set((const void *) arg[1]);
    if (!real)
        *(void **) &real = dlsym(RTLD_NEXT, "syscall");
    return real(number, arg[0], arg[1], arg[2], arg[3]);
}

START_TEST(a_kernel_with_slices)
{
    kernel.kind = WITH_SLICES;
    kernel.thread = (struct attributes){.policy = SCHED_OTHER, .nice = 3, .runtime = 2800000};
    wdl_adi_slice_ask(0);
    wdl_adi_slice_ask(-1);
    wdl_adi_slice_ask(2800);
    wdl_adi_slice_ask(5000); /* never a longer one */
    ck_assert_int_eq(kernel.asked, 0);
    wdl_adi_slice_ask(1000);
    ck_assert_int_eq(kernel.asked, 1);
    ck_assert_uint_eq(kernel.thread.runtime, 1000000);
    wdl_adi_slice_ask(100);
    ck_assert_int_eq(kernel.asked, 2);
    ck_assert_uint_eq(kernel.thread.runtime, 100000);
    wdl_adi_slice_ask(200);
    wdl_adi_slice_ask(100);
    ck_assert_int_eq(kernel.asked, 2);
    ck_assert_int_eq(kernel.thread.nice, 3);
    ck_assert_uint_eq(kernel.thread.policy, SCHED_OTHER);
    ck_assert_uint_eq(kernel.thread.flags, 0);
    kernel.thread.policy = SCHED_FIFO;
    wdl_adi_slice_ask(50);
    ck_assert_int_eq(kernel.asked, 2);
}
END_TEST

/* It is asked in vain, and the thread stays as it is; by one that refuses, too. */
START_TEST(kernels_without)
{
    for (int refuses = 0; refuses < 2; refuses++) {
        kernel.kind = refuses ? REFUSES : WITHOUT_SLICES;
        kernel.thread = (struct attributes){.policy = SCHED_OTHER, .nice = -5};
        kernel.asked = 0;
        wdl_adi_slice_ask(100);
        ck_assert_int_eq(kernel.asked, 1);
        ck_assert_uint_eq(kernel.wanted, 100000);
        ck_assert_uint_eq(kernel.thread.runtime, 0);
        ck_assert_int_eq(kernel.thread.nice, -5);
    }
}
END_TEST

/* Of this thread: its slice (0 where the kernel does not tell), and its nice value. */
static uint64_t slice_ns(int *nice_out)
{
    struct attributes attr = {0};
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

WDL_SUITE("mpid/adi/slice", a_kernel_with_slices, kernels_without,
          a_shorter_slice_and_nothing_else, threads_of_another_policy_are_left_alone)
