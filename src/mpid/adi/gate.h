/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What keeps the program and the progress thread apart, at next to no cost for the program: while
 * the thread does not want to be inside, the program only says that it is (`in`), by a plain store,
 * and looks at `wanted`. The thread, which comes seldom, pays: it says so, has the kernel make
 * every processor that runs this process see it (membarrier), and waits for the program to be
 * outside; until it has gone the program takes a lock. One thread of the program at a time: not for
 * MPI_THREAD_MULTIPLE, where MPICH's mutex stays.
 *
 * Invariants: who is inside has `in` set, or holds the lock. The thread is inside only with
 * `wanted` set, `in` clear since then, and the lock. After it has set `wanted` and the kernel's
 * barrier, the program either sees `wanted` as it enters, or the thread sees `in`.
 *
 * The program may enter while it is inside: MPICH calls a user's error handler within its lock,
 * and that may call MPI. `in` and `held` count how often, by which way; who has entered by either
 * is inside until both are 0. A call that is not inside may leave: the gate came into use within
 * it, by such a handler. And calls that are inside may never leave: it went out of use, or the
 * handler did not return. wdl_gate_quit leaves for all of them.
 *
 * The thread may come by the program's side while it is inside (a user's function called by it,
 * around which MPICH leaves its lock): there that does nothing, but that it may clear an `in` of
 * which the program is about to retreat.
 */
#ifndef WDL_ADI_GATE_H_INCLUDED
#define WDL_ADI_GATE_H_INCLUDED

#include <pthread.h>

struct wdl_gate {
    int on; /* else MPICH's mutex does it; the user's to set, while there is no thread */
    int in; /* so often the program is inside, without the lock */
    int wanted; /* the thread is inside, or about to be */
    int held; /* so often the program is inside, with the lock */
    int awaited; /* the program waits for the lock */
    pthread_t inside; /* the thread, if it is; else 0 */
    pthread_mutex_t lock;
};

extern struct wdl_gate wdl_gate; /* the process's */

/* Has the kernel such a barrier, for this process? */
int wdl_gate_works(void);

/* The thread's side. Who is inside for long asks whether the program waits, and goes for a while
 * if it does: the lock is nobody's next, and who comes again at once has it, as a rule. */
void wdl_gate_come(struct wdl_gate *gate);
void wdl_gate_go(struct wdl_gate *gate);
static inline int wdl_gate_is_awaited(const struct wdl_gate *gate)
{
    return __atomic_load_n(&gate->awaited, __ATOMIC_RELAXED);
}

void wdl_gate_enter_locked(struct wdl_gate *gate);
void wdl_gate_leave_locked(struct wdl_gate *gate);
/* All of the program's calls that are inside leave, by this. */
void wdl_gate_quit(struct wdl_gate *gate);
/* The program has left, and the thread may sleep until it has. */
void wdl_gate_wake(struct wdl_gate *gate);
/* The program was about to enter, and has seen that the thread wants to be, or is, inside. */
void wdl_gate_retreat(struct wdl_gate *gate);

/* The program's side. */
static inline void wdl_gate_leave(struct wdl_gate *gate)
{
    int in = __atomic_load_n(&gate->in, __ATOMIC_RELAXED);
    if (__builtin_expect(!in, 0)) {
        wdl_gate_leave_locked(gate);
        return;
    }
    __atomic_store_n(&gate->in, in - 1, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(__atomic_load_n(&gate->wanted, __ATOMIC_RELAXED), 0))
        wdl_gate_wake(gate);
}

static inline void wdl_gate_enter(struct wdl_gate *gate)
{
    if (__builtin_expect(!__atomic_load_n(&gate->wanted, __ATOMIC_RELAXED), 1)) {
        int in = __atomic_load_n(&gate->in, __ATOMIC_RELAXED);
        __atomic_store_n(&gate->in, in + 1, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        if (__builtin_expect(!__atomic_load_n(&gate->wanted, __ATOMIC_ACQUIRE) || in > 0, 1))
            return;
        wdl_gate_retreat(gate);
    }
    wdl_gate_enter_locked(gate);
}

/* Lets the thread in, if it waits for that. */
static inline void wdl_gate_yield(struct wdl_gate *gate)
{
    if (__builtin_expect(gate->held || __atomic_load_n(&gate->wanted, __ATOMIC_RELAXED), 0)) {
        wdl_gate_leave(gate);
        wdl_gate_enter(gate);
    }
}

#endif
