/* Part of Windlass. See COPYRIGHT in the top-level directory. What the RMA files of the device
 * share. */
#ifndef WDL_ADI_RMA_H_INCLUDED
#define WDL_ADI_RMA_H_INCLUDED

#include "wdl_adi.h"
#include "mpid/rma/win.h"

/* host.c: the core's view of a predefined type; 0 when it is none. */
int wdl_adi_element(MPI_Datatype type, struct wdl_element *out);
/* The same for builtin types (HANDLE_IS_BUILTIN), by their last byte; NULL for what is no such
 * type. */
extern struct wdl_element wdl_adi_builtin[];
static inline const struct wdl_element *wdl_adi_element_of(MPI_Datatype type)
{
    const struct wdl_element *el = &wdl_adi_builtin[type & 0xff];
    return el->host_type == (uint32_t) type ? el : NULL;
}
/* Those of pairs that are no builtin types; NULL for what is none. */
const struct wdl_element *wdl_adi_element_of_pair(MPI_Datatype type);
void wdl_adi_elements_init(void);
/* Has MPICH refuse MPI_LAND and MPI_LOR on floating types, in reductions too. */
void wdl_adi_ops_init(void);

/* A window in the making. Creation is collective: whatever goes wrong on one rank is noted in its
 * status, everyone goes on to the end, and there all learn of it. */
struct wdl_adi_making {
    MPIR_Comm *comm;
    int status;
    uint64_t id;
    MPI_Aint bytes, disp_unit;  /* of this rank */
    void *base;                 /* the user's memory, or NULL */
    int data;                   /* memory is to be provided, */
    int contiguous;             /* without gaps between ranks; agreed by segment_create, */
    size_t alignment;           /* aligned so for each, */
    int lone;  /* each process's own, not shared; agreed by segment_create, which fills base */
    int dynamic;
    int share;                  /* the user's memory is to be shared; agreed by segment_create */
};

/* The window's memory is the segment's. */
static inline int wdl_adi_is_provided(const MPIR_Win * win)
{
    return (win->create_flavor == MPI_WIN_FLAVOR_ALLOCATE && !win->dev.segment.own) ||
           win->create_flavor == MPI_WIN_FLAVOR_SHARED;
}

/* copy.c: the core's params.copy, for ctx an MPIR_Win, and whether the system permits it. */
int wdl_adi_copy(void *ctx, int rank, int to_rank, struct wdl_piece *local, int nlocal,
                 struct wdl_piece *remote, int nremote);
int wdl_adi_copy_permitted(const MPIR_Win * win);

/* win_share.c. wanted: do the info key and the setting ask for it? window: collective over m->comm
 * where m->share; win may be NULL; shared.on says whether it was done. */
int wdl_adi_share_wanted(const MPIR_Win * win);
int wdl_adi_share_window(struct wdl_adi_making *m, MPIR_Win * win);
/* Of dynamic windows that are shared: attach, with a status; release what was detached. */
int wdl_adi_share_attach(MPIR_Win * win, void *base, MPI_Aint size);
void wdl_adi_share_detached(MPIR_Win * win, const void *base);
/* The core's params.reach. */
void *wdl_adi_share_reach(void *ctx, int rank, const struct wdl_region *region);
/* All that the window has here is shared. */
int wdl_adi_is_shared(const MPIR_Win * win);
void wdl_adi_share_free(MPIR_Win * win);
/* Bytes that it all takes here, the shared pages aside. */
size_t wdl_adi_share_memory(const MPIR_Win *win);

/* win.c: what is known of a rank of the window (ctx). */
void wdl_adi_rank_info(void *ctx, int rank, struct wdl_win_rank *out);

/* asynch.c: the progress thread works while a window wants it; at the end it is gone. */
int wdl_adi_asynch_wanted(const MPIR_Win * win);
void wdl_adi_asynch_hold(MPIR_Win * win);
void wdl_adi_asynch_release(MPIR_Win * win);
void wdl_adi_asynch_end(void);

/* stream.c: the core's params.stream, for ctx an MPIR_Win. */
struct wdl_stream *wdl_adi_stream(void *ctx, int rank, uint64_t *id);

/* win_shm.c: collective over m->comm. An MPI error is one of communication; everything else goes
 * to m->status. */
int wdl_adi_segment_create(struct wdl_adi_making *m, struct wdl_adi_segment *segment);
/* Everyone has opened it. */
void wdl_adi_segment_opened(struct wdl_adi_segment *segment);
/* Unmap, or keep for the communicator's next window. */
void wdl_adi_segment_free(MPIR_Comm * comm, struct wdl_adi_segment *segment);
/* The member with this rank, or -1. */
int wdl_adi_segment_member(const struct wdl_adi_segment *segment, int rank);
/* The same status on every rank: an error code if any rank has one. */
int wdl_adi_agree(MPIR_Comm * comm, int status, int *agreed_out);
/* The same of n numbers: the largest of all ranks. */
int wdl_adi_agree_all(MPIR_Comm * comm, const int *own, int *agreed_out, int n);

/* errors.c: the same as WDL_ADI_ERROR, with words about the window where they help. */
int wdl_adi_win_error(const MPIR_Win * win, int status, const char *fcname, int line);
int wdl_adi_range_error(const struct wdl_rma_args *args, const struct wdl_win_rank *there,
                        const char *fcname, int line);
static inline int wdl_adi_win_code(const MPIR_Win * win, int status, const char *fcname, int line)
{
    return likely(status == WDL_OK) ? MPI_SUCCESS : wdl_adi_win_error(win, status, fcname, line);
}

#define WDL_ADI_WIN_ERROR(win, status) wdl_adi_win_code((win), (status), __func__, __LINE__)

/* Wait for a call on a window: where its ranks share a node, a store of another process ends it;
 * where some of them do, it may. ON: it has been called once, with this status. OPS: what it waits
 * for is likelier to be operations' end, of which the network tells, unless they were handed over
 * in memory. */
#define WDL_WIN_WAIT_ON_(win, status, expr, mpi_errno, memory)                                 \
    WDL_ADI_WAIT_ON_(status, expr, mpi_errno,                                                  \
                     (win)->dev.segment.whole ? (memory) :                                     \
                     (win)->dev.segment.members > 1 ? WDL_ADI_BY_MEMORY_DEAR :                 \
                     WDL_ADI_BY_NETWORK,                                                       \
                     WDL_ADI_WIN_ERROR(win, wdl_status_))
#define WDL_WIN_WAIT(win, expr, mpi_errno)                                                     \
    WDL_WIN_WAIT_ON_(win, expr, expr, mpi_errno, WDL_ADI_BY_MEMORY)
#define WDL_WIN_WAIT_ON(win, status, expr, mpi_errno)                                          \
    WDL_WIN_WAIT_ON_(win, status, expr, mpi_errno, WDL_ADI_BY_MEMORY)
#define WDL_WIN_WAIT_ON_OPS(win, status, expr, mpi_errno)                                      \
    WDL_WIN_WAIT_ON_(win, status, expr, mpi_errno,                                             \
                     wdl_win_is_handed((win)->dev.wdl) ? WDL_ADI_BY_MEMORY :                   \
                     WDL_ADI_BY_MEMORY_DEAR)

/* pvar.c: the performance variables are there from now on. */
void wdl_adi_pvars_init(void);

/* win_info.c; set gives a status. */
int wdl_adi_info_set(MPIR_Win * win, MPIR_Info * info);
struct wdl_win_hints wdl_adi_info_hints(const MPIR_Win *win);
int wdl_adi_info_is(const MPIR_Win * win, const char *key, const char *value);
uint64_t wdl_adi_info_bytes(const MPIR_Win *win, const char *key);      /* 0: not given */
/* What mpi_minimum_memory_alignment says; 1: nothing, or no power of two. */
size_t wdl_adi_info_alignment(const MPIR_Info *info);
size_t wdl_adi_info_memory(const MPIR_Win *win);        /* bytes that the values given take */
const char *wdl_adi_info_value(const MPIR_Win * win, const char *key);
void wdl_adi_info_free(MPIR_Win * win);

#endif
