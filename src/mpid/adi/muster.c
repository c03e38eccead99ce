/* Part of Windlass. See COPYRIGHT in the top-level directory. Waiting for all of a node
 * (muster.h). */
#define _GNU_SOURCE
#include "muster.h"
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

void wdl_muster_all(struct wdl_muster *muster, int n)
{
    /* the round cannot end before this process has come */
    uint32_t round = __atomic_load_n(&muster->round, __ATOMIC_RELAXED);
    if (__atomic_add_fetch(&muster->come, 1, __ATOMIC_ACQ_REL) < (uint32_t) n) {
        /* pairs with the store below */
        while (__atomic_load_n(&muster->round, __ATOMIC_ACQUIRE) == round)
            (void) syscall(SYS_futex, &muster->round, FUTEX_WAIT, round, NULL, NULL, 0);
        return;
    }
    __atomic_store_n(&muster->come, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&muster->round, round + 1, __ATOMIC_RELEASE);
    (void) syscall(SYS_futex, &muster->round, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
