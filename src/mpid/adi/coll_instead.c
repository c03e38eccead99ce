/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Collectives that MPICH 4.0.2 gets wrong and the engine does not carry out, by schedules of ours.
 */
#include "coll.h"

int wdl_adi_count_error(MPI_Aint count)
{
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_COUNT, "**countneg", "**countneg %d", (int) count);
}

/* The other group's rank 0 receives, and tells its group. (MPICH has that group's rank do it that
 * the root has in its own.) */
static int bcast_between(const struct wdl_adi_mpi *m, MPIR_Sched_t s)
{
    MPIR_Comm *comm = m->comm;
    int mpi_errno = MPI_SUCCESS;
    if (m->root == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if (m->root == MPI_ROOT)
        return MPIR_Sched_send(m->recvbuf, m->recvcount, m->recvtype, 0, comm, s);
    if (comm->rank == 0) {
        mpi_errno = MPIR_Sched_recv(m->recvbuf, m->recvcount, m->recvtype, m->root, comm, s);
        if (mpi_errno == MPI_SUCCESS)
            mpi_errno = MPIR_Sched_barrier(s);
    }
    if (mpi_errno == MPI_SUCCESS && !comm->local_comm)
        mpi_errno = MPII_Setup_intercomm_localcomm(comm);
    return mpi_errno ? mpi_errno :
        MPIR_Ibcast_intra_sched_auto(m->recvbuf, m->recvcount, m->recvtype, 0, comm->local_comm, s);
}

int wdl_adi_bcast_between(const struct wdl_adi_mpi *m, MPIR_Request ** request)
{
    MPIR_Sched_t s;
    int tag, mpi_errno = MPIR_Sched_create(&s, MPIR_SCHED_KIND_REGULAR);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Sched_next_tag(m->comm, &tag);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Sched_set_tag(s, tag);
    mpi_errno = bcast_between(m, s);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Sched_start(s, m->comm, request);
    MPIR_ERR_CHECK(mpi_errno);
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* --- MPI_Ialltoallw in place ------------------------------------------------------------------ */

static MPI_Aint bytes_of(MPI_Aint count, MPI_Datatype type)
{
    MPI_Aint size;
    MPIR_Datatype_get_size_macro(type, size);
    return count * size;
}

/* One partner after the other, in the order of ranks: so each meeting of two is the next of both,
 * sooner or later. What comes waits as bytes until the block has been sent. (MPICH's usual schedule
 * takes the length of what comes from the type of the own block. Its other one makes room for
 * extents, which may be negative, or longer than an int.) */
static int exchange_in_place(void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                             const MPI_Datatype recvtypes[], MPIR_Comm * comm,
                             MPIR_TSP_sched_t sched)
{
    int tag, last = -1, mpi_errno = MPIR_Sched_next_tag(comm, &tag);
    MPI_Aint most = 0;
    for (int i = 0; i < comm->local_size; i++)
        most = MPL_MAX(most, bytes_of(recvcounts[i], recvtypes[i]));
    char *came = MPIR_TSP_sched_malloc((size_t) most, sched);
    if (most > 0 && !came)
        return wdl_adi_coll_result(comm, WDL_ERR_NOMEM);
    for (int i = 0; i < comm->local_size && mpi_errno == MPI_SUCCESS; i++) {
        char *block = (char *) recvbuf + rdispls[i];
        MPI_Aint bytes = bytes_of(recvcounts[i], recvtypes[i]);
        int done[2];
        if (i == comm->rank)
            continue;
        mpi_errno = MPIR_TSP_sched_isend(block, recvcounts[i], recvtypes[i], i, tag, comm, sched,
                                         last >= 0, &last, &done[0]);
        if (mpi_errno == MPI_SUCCESS)
            mpi_errno = MPIR_TSP_sched_irecv(came, bytes, MPI_BYTE, i, tag, comm, sched, last >= 0,
                                             &last, &done[1]);
        if (mpi_errno == MPI_SUCCESS)
            mpi_errno = MPIR_TSP_sched_localcopy(came, bytes, MPI_BYTE, block, recvcounts[i],
                                                 recvtypes[i], sched, 2, done, &last);
    }
    return mpi_errno;
}

int MPID_Ialltoallw(WDL_COLL_WEC_P MPIR_Comm *comm, MPIR_Request **request)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_TSP_sched_t sched;
    if (sendbuf != MPI_IN_PLACE || comm->comm_kind != MPIR_COMM_KIND__INTRACOMM)
        return MPIR_Ialltoallw_impl(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                                    rdispls, recvtypes, comm, request);
    mpi_errno = MPIR_TSP_sched_create(&sched, false);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = exchange_in_place(recvbuf, recvcounts, rdispls, recvtypes, comm, sched);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_TSP_sched_start(sched, comm, request);
    MPIR_ERR_CHECK(mpi_errno);
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
