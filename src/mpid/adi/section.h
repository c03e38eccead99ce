/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * MPICH's global critical section, by its own mutex. MPICH's macros look at the mutex's owner
 * before they have it, by a plain load, which is a data race by the language's book: these do it
 * by an atomic one. Whose call is inside may enter again, unlike there: MPICH calls a user's error
 * handler within its lock, and that may call MPI. Where one waits so far inside, no other thread
 * gets in.
 */
#ifndef WDL_ADI_SECTION_H_INCLUDED
#define WDL_ADI_SECTION_H_INCLUDED

#include <sched.h>

static inline void wdl_section_enter(MPID_Thread_mutex_t *mutex)
{
    int err = 0;
    MPL_thread_id_t self;
    MPL_thread_self(&self);
    if (__atomic_load_n(&mutex->owner, __ATOMIC_RELAXED) == self) {
        mutex->count++;
        return;
    }
    MPID_Thread_mutex_lock(mutex, &err);
    (void) err;
    __atomic_store_n(&mutex->owner, self, __ATOMIC_RELAXED);
    mutex->count = 1;
}

static inline void wdl_section_leave(MPID_Thread_mutex_t *mutex)
{
    int err = 0;
    if (--mutex->count > 0)
        return;
    __atomic_store_n(&mutex->owner, 0, __ATOMIC_RELAXED);
    MPID_Thread_mutex_unlock(mutex, &err);
    (void) err;
}

/* However often this thread has entered. */
static inline void wdl_section_quit(MPID_Thread_mutex_t *mutex)
{
    MPL_thread_id_t self;
    MPL_thread_self(&self);
    if (__atomic_load_n(&mutex->owner, __ATOMIC_RELAXED) != self)
        return;
    mutex->count = 1;
    wdl_section_leave(mutex);
}

/* Threads that wait for the mutex get it, and this one the processor after them. */
static inline void wdl_section_yield(MPID_Thread_mutex_t *mutex)
{
    wdl_section_leave(mutex);
    sched_yield();
    wdl_section_enter(mutex);
}

#endif
