/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What MPICH's own structures must know of the device: included before them. The rest is in
 * mpidpost.h.
 */
#ifndef MPIDPRE_H_INCLUDED
#define MPIDPRE_H_INCLUDED

#include "mpid_thread.h"
#include "mpid_sched.h"
#include "wdl_comm.h"
#include "wdl_request.h"
#include "wdl_win.h"

/* One wait of one caller: how patient it has been (progress.c). */
typedef struct {
    unsigned polls;  /* fruitless polls since the wait began or something last happened */
    unsigned naps;              /* sleeps since then */
    unsigned looks;             /* at the network alone */
    unsigned unarmed;           /* how often on end it would not be slept on */
    unsigned long long idle_since_ns;   /* when yielding began; 0: not yet */
    unsigned long long moved;   /* what collectives had moved then (wdl_coll_moved) */
    int by_memory;  /* the condition can be met by a store of another process: sleep shortly */
    int waits;                  /* MPICH's loop tests for progress, but its caller waits */
} MPID_Progress_state;

#define MPID_DEV_REQUEST_DECL struct wdl_adi_request dev;
#define MPID_DEV_COMM_DECL struct wdl_adi_comm dev;
#define MPID_DEV_WIN_DECL struct wdl_adi_win dev;
#define MPID_DEV_DATATYPE_DECL struct wdl_adi_datatype dev;

/* Used by inline functions of mpir_request.h. */
struct MPIR_Request;
void MPID_Request_create_hook(struct MPIR_Request *request);
void MPID_Request_free_hook(struct MPIR_Request *request);
void MPID_Request_destroy_hook(struct MPIR_Request *request);

#endif
