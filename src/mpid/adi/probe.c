/* Part of Windlass. See COPYRIGHT in the top-level directory. Probing: the network's own look at
 * what has arrived. */
#include "pt2pt.h"

/* One look, after some progress: a message may be there already without having been polled in. */
static int look(int rank, int tag, MPIR_Comm * comm, int context_offset, struct wdl_nm_info *info,
                struct wdl_nm_msg **msg)
{
    struct wdl_nm *nm = wdl_adi.proc->nm;
    uint64_t nmtag, mask;
    wdl_adi_match(rank, tag, comm, context_offset, &nmtag, &mask);
    return nm->ops->tag_probe(nm, nmtag, mask, info, msg);
}

int MPID_Probe(int rank, int tag, MPIR_Comm * comm, int context_offset, MPI_Status * status)
{
    struct wdl_nm_info info;
    int mpi_errno = MPI_SUCCESS;
    WDL_ADI_WAIT(look(rank, tag, comm, context_offset, &info, NULL), mpi_errno);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = wdl_adi_status(status, &info);
    return mpi_errno;
}

int MPID_Iprobe(int rank, int tag, MPIR_Comm * comm, int context_offset, int *flag,
                MPI_Status * status)
{
    struct wdl_nm_info info;
    int mpi_errno = MPI_SUCCESS;
    int result = look(rank, tag, comm, context_offset, &info, NULL);
    if (result == WDL_AGAIN) {
        mpi_errno = MPID_Progress_test(NULL);
        result = look(rank, tag, comm, context_offset, &info, NULL);
    }
    *flag = result == WDL_OK;
    return *flag ? wdl_adi_status(status, &info) : mpi_errno;
}

/* The message found, as a request of kind MPROBE. */
static int matched(MPIR_Comm * comm, struct wdl_nm_msg *msg, const struct wdl_nm_info *info,
                   MPIR_Request ** message, MPI_Status * status)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *req = MPIR_Request_create(MPIR_REQUEST_KIND__MPROBE);
    MPIR_ERR_CHKANDSTMT(req == NULL, mpi_errno, MPIX_ERR_NOREQ, goto fn_fail, "**nomemreq");
    req->comm = comm;
    MPIR_Comm_add_ref(comm);
    req->dev.held = MPI_DATATYPE_NULL;
    req->dev.msg = msg;
    req->dev.info = *info;
    wdl_adi_status(&req->status, info);
    *message = req;
    mpi_errno = wdl_adi_status(status, info);
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Mprobe(int rank, int tag, MPIR_Comm * comm, int context_offset, MPIR_Request ** message,
                MPI_Status * status)
{
    struct wdl_nm_info info;
    struct wdl_nm_msg *msg;
    int mpi_errno = MPI_SUCCESS;
    WDL_ADI_WAIT(look(rank, tag, comm, context_offset, &info, &msg), mpi_errno);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = matched(comm, msg, &info, message, status);
    return mpi_errno;
}

int MPID_Improbe(int rank, int tag, MPIR_Comm * comm, int context_offset, int *flag,
                 MPIR_Request ** message, MPI_Status * status)
{
    struct wdl_nm_info info;
    struct wdl_nm_msg *msg;
    int mpi_errno = MPI_SUCCESS;
    int result = look(rank, tag, comm, context_offset, &info, &msg);
    if (result == WDL_AGAIN) {
        mpi_errno = MPID_Progress_test(NULL);
        result = look(rank, tag, comm, context_offset, &info, &msg);
    }
    *flag = result == WDL_OK;
    return *flag ? matched(comm, msg, &info, message, status) : mpi_errno;
}
