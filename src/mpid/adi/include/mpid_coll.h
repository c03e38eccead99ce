/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Collectives. What the device does itself is in coll_mpi.c, persistent ones are in coll_persist.c;
 * the other entries simply are the upper layer's implementation: MPICH's algorithms over our
 * point-to-point. (Never MPIR_<Coll> itself: that one calls the device.)
 */
#ifndef MPID_COLL_H_INCLUDED
#define MPID_COLL_H_INCLUDED

#include "wdl_coll_calls.h"

#define WDL_COLL_PROTOTYPES(Name, name, params, args, mpi, kept)                               \
    int MPID_##Name(WDL_COLL_LIST params MPIR_Comm * comm, MPIR_Errflag_t * errflag);          \
    int MPID_I##name(WDL_COLL_LIST params MPIR_Comm * comm, MPIR_Request ** request);          \
    int MPID_##Name##_init(WDL_COLL_LIST params MPIR_Comm * comm, MPIR_Info * info,            \
                           MPIR_Request ** request);
WDL_COLL_CALLS(WDL_COLL_PROTOTYPES)

/* What MPICH 4.0.2's MPI_Allgatherv and MPI_Iallgatherv are told: they would copy the block of one
 * process themselves, to the buffer's beginning, wherever it is to go. */
static inline int wdl_coll_comm_size(const MPIR_Comm *comm, const char *caller)
{
    int is_wrong = !strcmp(caller, "internal_Allgatherv") ||
        !strcmp(caller, "internal_Allgatherv_c") || !strcmp(caller, "internal_Iallgatherv") ||
        !strcmp(caller, "internal_Iallgatherv_c");
    return is_wrong ? -1 : comm->local_size;
}
#undef MPIR_Comm_size
#define MPIR_Comm_size(comm) wdl_coll_comm_size(comm, __func__)

/* blocking */
#define MPID_Alltoallw MPIR_Alltoallw_impl
#define MPID_Neighbor_allgather MPIR_Neighbor_allgather_impl
#define MPID_Neighbor_allgatherv MPIR_Neighbor_allgatherv_impl
#define MPID_Neighbor_alltoall MPIR_Neighbor_alltoall_impl
#define MPID_Neighbor_alltoallv MPIR_Neighbor_alltoallv_impl
#define MPID_Neighbor_alltoallw MPIR_Neighbor_alltoallw_impl

/* nonblocking */
int MPID_Ialltoallw(WDL_COLL_WEC_P MPIR_Comm * comm, MPIR_Request ** request);
#define MPID_Ineighbor_allgather MPIR_Ineighbor_allgather_impl
#define MPID_Ineighbor_allgatherv MPIR_Ineighbor_allgatherv_impl
#define MPID_Ineighbor_alltoall MPIR_Ineighbor_alltoall_impl
#define MPID_Ineighbor_alltoallv MPIR_Ineighbor_alltoallv_impl
#define MPID_Ineighbor_alltoallw MPIR_Ineighbor_alltoallw_impl

/* persistent; MPID_Startall starts them */
#define WDL_COLL_PROTOTYPE_INIT(Name, name, params, args, mpi, kept)                           \
    int MPID_##Name##_init(WDL_COLL_LIST params MPIR_Comm * comm, MPIR_Info * info,            \
                           MPIR_Request ** request);
WDL_COLL_OTHERS(WDL_COLL_PROTOTYPE_INIT)

#endif
