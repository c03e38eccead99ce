/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Sending. Every mode is a tagged send of the network; synchronous modes complete when matched,
 * ready is standard. Called with ranks that exist: MPI_PROC_NULL is the bindings' business.
 */
#include "attributes.h"
#include "pt2pt.h"

static void send_done(struct wdl_nm_comp *comp, const struct wdl_nm_info *info)
{
    MPIR_Request *request = wdl_container_of(comp, MPIR_Request, dev.comp);
    request->status.MPI_ERROR = WDL_ADI_ERROR(info->status);
    wdl_adi_type_drop(request->dev.held);
    MPID_Request_complete(request);
}

enum { SHORT_BYTES = 1024 };

static int isend(const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                 MPIR_Comm * comm, int context_offset, int flags, MPIR_Request ** request)
{
    struct wdl_nm *nm = wdl_adi.proc->nm;
    struct wdl_nm_buf nmbuf;
    MPI_Datatype held;
    int mpi_errno = MPI_SUCCESS;
    int status = wdl_adi_buf(buf, count, datatype, &nmbuf, &held);
    WDL_ADI_CHECK(status, mpi_errno);
    uint64_t nmtag =
        wdl_tag_make((MPIR_Context_id_t) (comm->context_id + context_offset), comm->rank, tag);
    /* most short messages are gone when the call returns: they need no request */
    if (flags == 0 && nmbuf.count <= SHORT_BYTES && !nmbuf.type &&
        nm->ops->tag_send(nm, wdl_adi_peer(comm, rank), nmtag, &nmbuf, WDL_NM_TAG_NOW,
                          NULL) == WDL_OK) {
        *request = NULL;
        return MPI_SUCCESS;
    }
    MPIR_Request *req = wdl_adi_request(MPIR_REQUEST_KIND__SEND, comm);
    MPIR_ERR_CHKANDSTMT(req == NULL, mpi_errno, MPIX_ERR_NOREQ, goto fn_fail, "**nomemreq");
    req->dev.comp.fn = send_done;
    wdl_adi_request_hold(req, held);
    WDL_ADI_INSIST(status, nm->ops->tag_send(nm, wdl_adi_peer(comm, rank), nmtag, &nmbuf, flags,
                                             &req->dev.comp));
    if (status != WDL_PENDING) {
        wdl_adi_request_drop(req);
        WDL_ADI_CHECK(status, mpi_errno);
        req = NULL;
    }
    *request = req;
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Nonblocking calls hand out a request even when all is over. */
static int isend_request(const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                         MPIR_Comm * comm, int context_offset, int flags, MPIR_Request ** request)
{
    int mpi_errno = isend(buf, count, datatype, rank, tag, comm, context_offset, flags, request);
    if (mpi_errno == MPI_SUCCESS && *request == NULL)
        *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__SEND);
    return mpi_errno;
}

static int tag_with_errors(int tag, MPIR_Errflag_t errflag)
{
    if (errflag == MPIR_ERR_PROC_FAILED)
        MPIR_TAG_SET_PROC_FAILURE_BIT(tag);
    else if (errflag != MPIR_ERR_NONE)
        MPIR_TAG_SET_ERROR_BIT(tag);
    return tag;
}

/* Blocking: of many that are over at once, some look at the network, as no wait does for them. */
static int send_now(const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                    MPIR_Comm * comm, int context_offset, MPIR_Request ** request)
{
    int mpi_errno = isend(buf, count, datatype, rank, tag, comm, context_offset, 0, request);
    return mpi_errno == MPI_SUCCESS && *request == NULL ? wdl_adi_look_around() : mpi_errno;
}

int MPID_Send(WDL_SEND_PARAMS)
{
    return send_now(buf, count, datatype, rank, tag, comm, context_offset, request);
}

int MPID_Ssend(WDL_SEND_PARAMS)
{
    return isend(buf, count, datatype, rank, tag, comm, context_offset, WDL_NM_TAG_SYNC, request);
}

int MPID_Rsend(WDL_SEND_PARAMS)
{
    return send_now(buf, count, datatype, rank, tag, comm, context_offset, request);
}

int MPID_Isend(WDL_SEND_PARAMS)
{
    return isend_request(buf, count, datatype, rank, tag, comm, context_offset, 0, request);
}

int MPID_Issend(WDL_SEND_PARAMS)
{
    return isend_request(buf, count, datatype, rank, tag, comm, context_offset, WDL_NM_TAG_SYNC,
                         request);
}

int MPID_Irsend(WDL_SEND_PARAMS)
{
    return isend_request(buf, count, datatype, rank, tag, comm, context_offset, 0, request);
}

int MPID_Send_coll(WDL_SEND_PARAMS, MPIR_Errflag_t * errflag)
{
    return send_now(buf, count, datatype, rank, tag_with_errors(tag, *errflag), comm,
                    context_offset, request);
}

int MPID_Isend_coll(WDL_SEND_PARAMS, MPIR_Errflag_t * errflag)
{
    return isend_request(buf, count, datatype, rank, tag_with_errors(tag, *errflag), comm,
                         context_offset, 0, request);
}

/* A send given to the network cannot be taken back (MPI-4, 3.8.4 lets a cancel fail): it completes
 * normally. */
int MPID_Cancel_send(MPIR_Request * request)
{
    (void) request;
    return MPI_SUCCESS;
}
