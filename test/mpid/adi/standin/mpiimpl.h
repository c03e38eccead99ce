/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What the device's headers and asynch.c need of MPICH, and no more, for tests that compile a file
 * of the device without MPICH. The names are MPICH's; what they mean is said where it matters: the
 * global lock is held around every call while MPIR_ThreadInfo.isThreaded, and has an owner.
 */
#ifndef MPIIMPL_H_INCLUDED
#define MPIIMPL_H_INCLUDED

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include "wdl_comm.h"
#include "wdl_win.h"

#define MPICH_IS_THREADED 1

typedef int MPI_Datatype;
typedef long MPI_Aint;
typedef uint16_t MPIR_Context_id_t;
enum { MPI_SUCCESS, MPIR_TAG_BITS_DEFAULT = 28 };
enum { MPI_WIN_FLAVOR_CREATE = 1, MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_DYNAMIC,
    MPI_WIN_FLAVOR_SHARED
};
enum { MPIR_CVAR_WINDLASS_PROGRESS_THREAD_auto, MPIR_CVAR_WINDLASS_PROGRESS_THREAD_on,
    MPIR_CVAR_WINDLASS_PROGRESS_THREAD_off
};
extern int MPIR_CVAR_WINDLASS_PROGRESS_THREAD;

typedef struct MPIR_Request MPIR_Request;
typedef struct MPIR_Info MPIR_Info;
typedef struct {
    int local_size;
    struct wdl_adi_comm dev;
} MPIR_Comm;
typedef struct {
    int create_flavor;
    MPIR_Comm *comm_ptr;
    struct wdl_adi_win dev;
} MPIR_Win;

typedef struct {
    pthread_mutex_t mutex;
    pthread_t owner;
    int count;
} MPID_Thread_mutex_t;
extern MPID_Thread_mutex_t MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX;
extern struct MPIR_Process {
    int local_rank;
} MPIR_Process;
extern struct MPIR_ThreadInfo {
    int isThreaded;
} MPIR_ThreadInfo;

#define MPID_Thread_mutex_lock(lock, err) (*(err) = pthread_mutex_lock(&(lock)->mutex))
#define MPID_Thread_mutex_unlock(lock, err) (*(err) = pthread_mutex_unlock(&(lock)->mutex))
#define MPL_thread_self(self) (*(self) = pthread_self())
#define MPL_free free
#define MPIR_Assert(condition) ((condition) ? (void) 0 : abort())
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define MPL_thread_id_t pthread_t

#include "section.h"

#endif
