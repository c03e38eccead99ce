/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Threads and critical sections: MPICH's own fallback implementation under the names the upper
 * layer uses; but its global section is the gate's (gate.h) where that is on, and section.h's
 * elsewhere.
 */
#ifndef MPID_THREAD_H_INCLUDED
#define MPID_THREAD_H_INCLUDED

#include "mpidu_thread_fallback.h"
#include "../gate.h"

typedef MPIDU_Thread_mutex_t MPID_Thread_mutex_t;
typedef MPIDU_Thread_cond_t MPID_Thread_cond_t;
typedef MPIDU_Thread_id_t MPID_Thread_id_t;
typedef MPIDU_Thread_func_t MPID_Thread_func_t;

#define MPID_Thread_mutex_create MPIDU_Thread_mutex_create
#define MPID_Thread_mutex_destroy MPIDU_Thread_mutex_destroy
#define MPID_Thread_mutex_lock(mutex, err) MPIDU_Thread_mutex_lock(mutex, err, MPL_THREAD_PRIO_HIGH)
#define MPID_Thread_mutex_unlock MPIDU_Thread_mutex_unlock

#ifdef MPICH_IS_THREADED
#include "../section.h"
#endif

#if defined(MPICH_IS_THREADED) && MPICH_THREAD_GRANULARITY == MPICH_THREAD_GRANULARITY__GLOBAL
#define WDL_CS_GLOBAL(what, mutex)                                                                 \
    do {                                                                                           \
        if (MPIR_ThreadInfo.isThreaded && wdl_gate.on)                                             \
            wdl_gate_##what(&wdl_gate);                                                            \
        else if (MPIR_ThreadInfo.isThreaded)                                                       \
            wdl_section_##what(&(mutex));                                                          \
    } while (0)
#define WDL_CS_ENTER_GLOBAL(mutex) WDL_CS_GLOBAL(enter, mutex)
#define WDL_CS_EXIT_GLOBAL(mutex) WDL_CS_GLOBAL(leave, mutex)
#define WDL_CS_YIELD_GLOBAL(mutex) WDL_CS_GLOBAL(yield, mutex)
#define WDL_CS_ENTER_VCI(mutex) MPIDU_THREAD_CS_ENTER(VCI, mutex)
#define WDL_CS_EXIT_VCI(mutex) MPIDU_THREAD_CS_EXIT(VCI, mutex)
#define WDL_CS_YIELD_VCI(mutex) MPIDU_THREAD_CS_YIELD(VCI, mutex)
#define WDL_CS_ENTER_POBJ(mutex) MPIDU_THREAD_CS_ENTER(POBJ, mutex)
#define WDL_CS_EXIT_POBJ(mutex) MPIDU_THREAD_CS_EXIT(POBJ, mutex)
#define WDL_CS_YIELD_POBJ(mutex) MPIDU_THREAD_CS_YIELD(POBJ, mutex)
#define MPID_THREAD_CS_ENTER(name, mutex) WDL_CS_ENTER_##name(mutex)
#define MPID_THREAD_CS_EXIT(name, mutex) WDL_CS_EXIT_##name(mutex)
#define MPID_THREAD_CS_YIELD(name, mutex) WDL_CS_YIELD_##name(mutex)
#else
#define MPID_THREAD_CS_ENTER MPIDU_THREAD_CS_ENTER
#define MPID_THREAD_CS_EXIT MPIDU_THREAD_CS_EXIT
#define MPID_THREAD_CS_YIELD MPIDU_THREAD_CS_YIELD
#endif
#define MPID_THREAD_ASSERT_IN_CS MPIDU_THREAD_ASSERT_IN_CS

#define MPID_Thread_init MPIDU_Thread_init
#define MPID_Thread_finalize MPIDU_Thread_finalize
#define MPID_Thread_create MPIDU_Thread_create
#define MPID_Thread_exit MPIDU_Thread_exit
#define MPID_Thread_self MPIDU_Thread_self
#define MPID_Thread_join MPIDU_Thread_join
#define MPID_Thread_same MPIDU_Thread_same
#define MPID_Thread_yield MPIDU_Thread_yield

#define MPID_Thread_cond_create MPIDU_Thread_cond_create
#define MPID_Thread_cond_destroy MPIDU_Thread_cond_destroy
#define MPID_Thread_cond_wait MPIDU_Thread_cond_wait
#define MPID_Thread_cond_broadcast MPIDU_Thread_cond_broadcast
#define MPID_Thread_cond_signal MPIDU_Thread_cond_signal

#endif
