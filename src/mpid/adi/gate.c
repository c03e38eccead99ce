/* Part of Windlass. See COPYRIGHT in the top-level directory. The gate between the program and the
 * progress thread: the ways that are seldom gone. */
#define _GNU_SOURCE
#include "gate.h"
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

struct wdl_gate wdl_gate = {.lock = PTHREAD_MUTEX_INITIALIZER};

static long membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0);
}

int wdl_gate_works(void)
{
    return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

static int is_thread(const struct wdl_gate *gate)
{
    return __atomic_load_n(&gate->inside, __ATOMIC_RELAXED) == pthread_self();
}

void wdl_gate_enter_locked(struct wdl_gate *gate)
{
    if (is_thread(gate))
        return;
    int in = __atomic_load_n(&gate->in, __ATOMIC_RELAXED);
    if (in > 0)                 /* the thread waits for that already */
        __atomic_store_n(&gate->in, in + 1, __ATOMIC_RELAXED);
    else if (gate->held > 0)
        gate->held++;
    else {
        __atomic_store_n(&gate->awaited, 1, __ATOMIC_RELAXED);
        (void) pthread_mutex_lock(&gate->lock);
        __atomic_store_n(&gate->awaited, 0, __ATOMIC_RELAXED);
        gate->held = 1;
    }
}

void wdl_gate_leave_locked(struct wdl_gate *gate)
{
    if (is_thread(gate))
        return;
    if (gate->held > 0 && --gate->held == 0)
        (void) pthread_mutex_unlock(&gate->lock);
}

void wdl_gate_quit(struct wdl_gate *gate)
{
    if (is_thread(gate))
        return;
    int held = gate->held;
    gate->held = 0;
    __atomic_store_n(&gate->in, 0, __ATOMIC_RELEASE);
    if (held > 0)
        (void) pthread_mutex_unlock(&gate->lock);
    wdl_gate_wake(gate);
}

void wdl_gate_wake(struct wdl_gate *gate)
{
    (void) syscall(SYS_futex, &gate->in, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Not by wdl_gate_leave: without `in`, which the thread may have cleared, that gives the lock
 * back. */
void wdl_gate_retreat(struct wdl_gate *gate)
{
    __atomic_store_n(&gate->in, 0, __ATOMIC_RELEASE);
    wdl_gate_wake(gate);
}

void wdl_gate_come(struct wdl_gate *gate)
{
    __atomic_store_n(&gate->wanted, 1, __ATOMIC_SEQ_CST);
    (void) membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    int in;
    while ((in = __atomic_load_n(&gate->in, __ATOMIC_ACQUIRE)) != 0)
        (void) syscall(SYS_futex, &gate->in, FUTEX_WAIT_PRIVATE, in, NULL, NULL, 0);
    (void) pthread_mutex_lock(&gate->lock);
    __atomic_store_n(&gate->inside, pthread_self(), __ATOMIC_RELAXED);
}

void wdl_gate_go(struct wdl_gate *gate)
{
    __atomic_store_n(&gate->inside, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&gate->wanted, 0, __ATOMIC_RELEASE);
    (void) pthread_mutex_unlock(&gate->lock);
}
