/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What the upper layer of MPICH calls for one-sided communication. Part of mpidpost.h.
 */
#ifndef MPIDPOST_RMA_H_INCLUDED
#define MPIDPOST_RMA_H_INCLUDED

/* windows */
int MPID_Win_create(void *base, MPI_Aint size, MPI_Aint disp_unit, MPIR_Info * info,
                    MPIR_Comm * comm, MPIR_Win ** win);
int MPID_Win_allocate(MPI_Aint size, MPI_Aint disp_unit, MPIR_Info * info, MPIR_Comm * comm,
                      void *baseptr, MPIR_Win ** win);
int MPID_Win_allocate_shared(MPI_Aint size, MPI_Aint disp_unit, MPIR_Info * info, MPIR_Comm * comm,
                             void **baseptr, MPIR_Win ** win);
int MPID_Win_create_dynamic(MPIR_Info * info, MPIR_Comm * comm, MPIR_Win ** win);
int MPID_Win_free(MPIR_Win ** win);
int MPID_Win_set_info(MPIR_Win * win, MPIR_Info * info);
int MPID_Win_get_info(MPIR_Win * win, MPIR_Info ** info);
int MPID_Win_shared_query(MPIR_Win * win, int rank, MPI_Aint * size, int *disp_unit, void *baseptr);
int MPID_Win_attach(MPIR_Win * win, void *base, MPI_Aint size);
int MPID_Win_detach(MPIR_Win * win, const void *base);

/* operations: origin, target, window */
#define WDL_RMA_ORIGIN const void *origin, MPI_Aint origin_count, MPI_Datatype origin_type
#define WDL_RMA_RESULT void *result, MPI_Aint result_count, MPI_Datatype result_type
#define WDL_RMA_TARGET int target_rank, MPI_Aint target_disp, MPI_Aint target_count, \
    MPI_Datatype target_type
int MPID_Put(WDL_RMA_ORIGIN, WDL_RMA_TARGET, MPIR_Win * win);
int MPID_Get(WDL_RMA_RESULT, WDL_RMA_TARGET, MPIR_Win * win);
int MPID_Accumulate(WDL_RMA_ORIGIN, WDL_RMA_TARGET, MPI_Op op, MPIR_Win * win);
int MPID_Get_accumulate(WDL_RMA_ORIGIN, WDL_RMA_RESULT, WDL_RMA_TARGET, MPI_Op op, MPIR_Win * win);
int MPID_Fetch_and_op(const void *origin, void *result, MPI_Datatype type, int target_rank,
                      MPI_Aint target_disp, MPI_Op op, MPIR_Win * win);
int MPID_Compare_and_swap(const void *origin, const void *compare, void *result, MPI_Datatype type,
                          int target_rank, MPI_Aint target_disp, MPIR_Win * win);
int MPID_Rput(WDL_RMA_ORIGIN, WDL_RMA_TARGET, MPIR_Win * win, MPIR_Request ** request);
int MPID_Rget(WDL_RMA_RESULT, WDL_RMA_TARGET, MPIR_Win * win, MPIR_Request ** request);
int MPID_Raccumulate(WDL_RMA_ORIGIN, WDL_RMA_TARGET, MPI_Op op, MPIR_Win * win,
                     MPIR_Request ** request);
int MPID_Rget_accumulate(WDL_RMA_ORIGIN, WDL_RMA_RESULT, WDL_RMA_TARGET, MPI_Op op, MPIR_Win * win,
                         MPIR_Request ** request);

/* synchronization */
int MPID_Win_fence(int assert, MPIR_Win * win);
int MPID_Win_post(MPIR_Group * group, int assert, MPIR_Win * win);
int MPID_Win_start(MPIR_Group * group, int assert, MPIR_Win * win);
int MPID_Win_complete(MPIR_Win * win);
int MPID_Win_wait(MPIR_Win * win);
int MPID_Win_test(MPIR_Win * win, int *flag);
int MPID_Win_lock(int lock_type, int rank, int assert, MPIR_Win * win);
int MPID_Win_unlock(int rank, MPIR_Win * win);
int MPID_Win_lock_all(int assert, MPIR_Win * win);
int MPID_Win_unlock_all(MPIR_Win * win);
int MPID_Win_flush(int rank, MPIR_Win * win);
int MPID_Win_flush_all(MPIR_Win * win);
int MPID_Win_flush_local(int rank, MPIR_Win * win);
int MPID_Win_flush_local_all(MPIR_Win * win);
int MPID_Win_sync(MPIR_Win * win);

#endif
