/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Making an intercommunicator: the two leaders swap their groups (as world ranks) and tell their
 * own.
 */
#include "wdl_adi.h"

#define EXCHANGE_TAG (0 | MPIR_TAG_COLL_BIT)
#define OVERLAP -1  /* instead of the remote group's size: the groups have a process in common */

static int groups_overlap(const uint64_t * a, int a_size, const uint64_t * b, int b_size)
{
    unsigned char *seen = MPL_calloc(1, (size_t) MPIR_Process.size, MPL_MEM_COMM);
    if (!seen)
        return 0;               /* a check of the user's arguments, not more */
    int found = 0;
    for (int i = 0; i < a_size; i++)
        seen[a[i]] = 1;
    for (int i = 0; i < b_size && !found; i++)
        found = seen[b[i]];
    MPL_free(seen);
    return found;
}

static int swap_leaders(MPIR_Comm * local_comm, MPIR_Comm * peer_comm, int remote_leader,
                        int info[2], uint64_t ** lpids_out)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    int size = local_comm->local_size, remote_size = 0;
    uint64_t *mine = NULL, *theirs = NULL;

    mpi_errno = MPIC_Sendrecv(&size, 1, MPI_INT, remote_leader, EXCHANGE_TAG, &remote_size, 1,
                              MPI_INT, remote_leader, EXCHANGE_TAG, peer_comm, MPI_STATUS_IGNORE,
                              &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    mine = MPL_malloc((size_t) size * sizeof *mine, MPL_MEM_COMM);
    theirs = MPL_malloc((size_t) remote_size * sizeof *theirs, MPL_MEM_COMM);
    MPIR_ERR_CHKANDJUMP(!mine || !theirs, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    for (int i = 0; i < size; i++)
        mine[i] = (uint64_t) wdl_adi_peer(local_comm, i);
    mpi_errno = MPIC_Sendrecv(mine, size, MPI_UINT64_T, remote_leader, EXCHANGE_TAG, theirs,
                              remote_size, MPI_UINT64_T, remote_leader, EXCHANGE_TAG, peer_comm,
                              MPI_STATUS_IGNORE, &errflag);
    MPIR_ERR_CHECK(mpi_errno);

    info[0] = groups_overlap(mine, size, theirs, remote_size) ? OVERLAP : remote_size;
    info[1] = mine[0] < theirs[0];      /* any rule will do that both leaders see the same way */
    *lpids_out = theirs;
    MPL_free(mine);
  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(mine);
    MPL_free(theirs);
    goto fn_exit;
}

int MPID_Intercomm_exchange_map(MPIR_Comm * local_comm, int local_leader, MPIR_Comm * peer_comm,
                                int remote_leader, int *remote_size, uint64_t ** remote_lpids,
                                int *is_low_group)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    int info[2] = { 0, 0 };
    int leader = local_comm->rank == local_leader;

    *remote_lpids = NULL;
    if (leader) {
        mpi_errno = swap_leaders(local_comm, peer_comm, remote_leader, info, remote_lpids);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = MPIR_Bcast_allcomm_auto(info, 2, MPI_INT, local_leader, local_comm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(info[0] == OVERLAP, mpi_errno, MPI_ERR_COMM, "**wdl_overlap");
    *remote_size = info[0];
    *is_low_group = info[1];
    if (!leader) {
        *remote_lpids = MPL_malloc((size_t) info[0] * sizeof(uint64_t), MPL_MEM_COMM);
        MPIR_ERR_CHKANDJUMP(!*remote_lpids, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    }
    mpi_errno = MPIR_Bcast_allcomm_auto(*remote_lpids, info[0], MPI_UINT64_T, local_leader,
                                        local_comm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(*remote_lpids);
    *remote_lpids = NULL;
    goto fn_exit;
}

int MPID_Create_intercomm_from_lpids(MPIR_Comm * newcomm, int size, const uint64_t lpids[])
{
    int *peers = MPL_malloc((size_t) size * sizeof *peers, MPL_MEM_COMM);
    if (!peers)
        return WDL_ADI_ERROR(WDL_ERR_NOMEM);
    for (int i = 0; i < size; i++)
        peers[i] = (int) lpids[i];
    int status = wdl_rank_map_build(&newcomm->dev.map, peers, size);
    MPL_free(peers);
    return WDL_ADI_ERROR(status);
}
