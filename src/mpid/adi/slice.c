/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * How long the kernel lets a thread run at a stretch where several want the processor (its slice,
 * Linux 6.12 and later, a few milliseconds unless asked for otherwise). A thread that wakes up runs
 * at once before those with longer slices, and else when their slice is over; and who gives the
 * processor away is set back by a slice of its own (Linux 6.18, 8 ranks on 2 processors beside two
 * programs of the lowest priority, a fence: 2900 to 3600 us, with slices of 100 us 500). So who
 * waits much asks for short ones.
 */
#define _GNU_SOURCE
#include "wdl_adi.h"
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

struct attributes {             /* the kernel's struct sched_attr, its first version */
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

void wdl_adi_slice_ask(int us)
{
    uint64_t ns = 1000ULL * (uint64_t) us;
    struct attributes now = { 0 }, wanted = {.size = sizeof wanted,.policy = SCHED_OTHER,
        .runtime = ns
    };
    if (us <= 0 || syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) ||
        now.policy != SCHED_OTHER || (now.runtime != 0 && now.runtime <= ns))
        return;
    wanted.nice = now.nice;
    (void) syscall(SYS_sched_setattr, 0, &wanted, 0);
}
