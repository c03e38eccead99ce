/* Part of Windlass. See COPYRIGHT in the top-level directory. Bells (bell.h). */
#define _GNU_SOURCE
#include "bell.h"
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Between processes: no private futex. */
int wdl_bell_doze(struct wdl_bell *bell, long us, const int *stop)
{
    struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    /* pairs with the exchange in wdl_bell_ring: one of the two sees what the other has written */
    __atomic_store_n(&bell->dozes, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(stop, __ATOMIC_SEQ_CST))
        (void) syscall(SYS_futex, &bell->dozes, FUTEX_WAIT, 1, &time, NULL, 0);
    return __atomic_exchange_n(&bell->dozes, 0, __ATOMIC_SEQ_CST) == 0;
}

void wdl_bell_ring(struct wdl_bell *bell)
{
    if (__atomic_exchange_n(&bell->dozes, 0, __ATOMIC_SEQ_CST) == 1)
        (void) syscall(SYS_futex, &bell->dozes, FUTEX_WAKE, 1, NULL, NULL, 0);
}

int wdl_bells_look(struct wdl_bell *bells, int n, int mine, struct wdl_bell_look *looks,
                   uint64_t now_ns, uint64_t after_ns)
{
    int rung = 0;
    for (int i = 0; i < n; i++) {
        if (i == mine || !__atomic_load_n(&bells[i].dozes, __ATOMIC_RELAXED))
            continue;
        uint32_t polls = __atomic_load_n(&bells[i].polls, __ATOMIC_RELAXED);
        if (polls != looks[i].polls || looks[i].since_ns == 0) {
            looks[i] = (struct wdl_bell_look){polls, now_ns};
        } else if (now_ns - looks[i].since_ns >= after_ns) {
            wdl_bell_ring(&bells[i]);
            rung++;
        }
    }
    return rung;
}
