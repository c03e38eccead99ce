/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Receiving: a tagged receive of the network, with wildcards as masks (pt2pt.h).
 */
#include "attributes.h"
#include "pt2pt.h"

int wdl_adi_status(MPI_Status * status, const struct wdl_nm_info *info)
{
    int mpi_errno = info->status == WDL_ERR_CANCELED ? MPI_SUCCESS : WDL_ADI_ERROR(info->status);
    if (status == MPI_STATUS_IGNORE)
        return mpi_errno;
    status->MPI_SOURCE = wdl_tag_rank(info->tag);
    status->MPI_TAG = wdl_tag_tag(info->tag);
    MPIR_STATUS_SET_COUNT(*status, (MPI_Count) info->bytes);
    MPIR_STATUS_SET_CANCEL_BIT(*status, info->status == WDL_ERR_CANCELED);
    return mpi_errno;
}

MPIR_Request *wdl_adi_request(MPIR_Request_kind_t kind, MPIR_Comm * comm)
{
    MPIR_Request *request = MPIR_Request_create_from_pool(kind, 0, 2);
    if (request) {
        request->comm = comm;
        MPIR_Comm_add_ref(comm);
        request->dev.held = MPI_DATATYPE_NULL;
    }
    return request;
}

void wdl_adi_request_hold(MPIR_Request * request, MPI_Datatype datatype)
{
    request->dev.held = datatype;
    MPIR_Datatype_add_ref_if_not_builtin(datatype);
}

void wdl_adi_request_drop(MPIR_Request * request)
{
    MPIR_Datatype_release_if_not_builtin(request->dev.held);
    MPIR_cc_set(&request->cc, 0);
    MPIR_Request_free(request);
    MPIR_Request_free(request);
}

static void recv_done(struct wdl_nm_comp *comp, const struct wdl_nm_info *info)
{
    MPIR_Request *request = wdl_container_of(comp, MPIR_Request, dev.comp);
    request->status.MPI_ERROR = wdl_adi_status(&request->status, info);
    wdl_adi_type_drop(request->dev.held);
    MPID_Request_complete(request);
}

/* Post a receive, or take a matched message: WDL_OK when it was done at once (info says how),
 * WDL_PENDING. */
static int post(MPIR_Request * request, const struct wdl_nm_buf *nmbuf, uint64_t tag, uint64_t mask,
                struct wdl_nm_info *info)
{
    struct wdl_nm *nm = wdl_adi.proc->nm;
    int status;
    request->dev.comp.fn = recv_done;
    if (request->dev.msg) {
        WDL_ADI_INSIST(status, nm->ops->tag_recv_msg(nm, request->dev.msg, nmbuf,
                                                     &request->dev.comp, info));
        request->dev.msg = NULL;
    } else {
        WDL_ADI_INSIST(status, nm->ops->tag_recv(nm, tag, mask, nmbuf, &request->dev.comp, info));
    }
    return status;
}

/* Done at once: the request says so, as if its completion had come. */
static void finish(MPIR_Request * request, const struct wdl_nm_info *info)
{
    recv_done(&request->dev.comp, info);
}

int MPID_Irecv(void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
               MPIR_Comm * comm, int context_offset, MPIR_Request ** request)
{
    struct wdl_nm_buf nmbuf;
    struct wdl_nm_info info;
    MPI_Datatype held;
    uint64_t nmtag, mask;
    int mpi_errno = MPI_SUCCESS;
    WDL_ADI_CHECK(wdl_adi_buf(buf, count, datatype, &nmbuf, &held), mpi_errno);
    MPIR_Request *req = wdl_adi_request(MPIR_REQUEST_KIND__RECV, comm);
    MPIR_ERR_CHKANDSTMT(req == NULL, mpi_errno, MPIX_ERR_NOREQ, goto fn_fail, "**nomemreq");
    wdl_adi_request_hold(req, held);
    wdl_adi_match(rank, tag, comm, context_offset, &nmtag, &mask);
    int status = post(req, &nmbuf, nmtag, mask, &info);
    if (wdl_status_is_error(status)) {
        wdl_adi_request_drop(req);
        WDL_ADI_CHECK(status, mpi_errno);
    }
    if (status == WDL_OK)
        finish(req, &info);
    *request = req;
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* A receive that is waited for in the call: it needs no request. */
struct waited {
    struct wdl_nm_comp comp;
    struct wdl_nm_info info;
    int done;
};

static void waited_done(struct wdl_nm_comp *comp, const struct wdl_nm_info *info)
{
    struct waited *waited = wdl_container_of(comp, struct waited, comp);
    waited->info = *info;
    waited->done = 1;
}

static int wait_done(struct waited *waited)
{
    int mpi_errno = wdl_adi_wait(&waited->done);
    if (!waited->done) {        /* the network must not keep what is on our stack */
        struct wdl_nm *nm = wdl_adi.proc->nm;
        nm->ops->tag_cancel(nm, &waited->comp);
        while (!waited->done)
            wdl_proc_progress(wdl_adi.proc);
    }
    return mpi_errno;
}

int MPID_Recv(void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
              MPIR_Comm * comm, int context_offset, MPI_Status * status, MPIR_Request ** request)
{
    struct wdl_nm *nm = wdl_adi.proc->nm;
    struct waited waited = {.comp.fn = waited_done };
    struct wdl_nm_buf nmbuf;
    MPI_Datatype held;
    uint64_t nmtag, mask;
    int mpi_errno = MPI_SUCCESS, started;
    *request = NULL;
    WDL_ADI_CHECK(wdl_adi_buf(buf, count, datatype, &nmbuf, &held), mpi_errno);
    wdl_adi_match(rank, tag, comm, context_offset, &nmtag, &mask);
    WDL_ADI_INSIST(started, nm->ops->tag_recv(nm, nmtag, mask, &nmbuf, &waited.comp,
                                              &waited.info));
    if (started == WDL_PENDING) {
        MPIR_Datatype_add_ref_if_not_builtin(held);
        mpi_errno = wait_done(&waited);
        MPIR_Datatype_release_if_not_builtin(held);
        MPIR_ERR_CHECK(mpi_errno);
    } else {
        WDL_ADI_CHECK(started, mpi_errno);
    }
    mpi_errno = wdl_adi_status(status, &waited.info);
    /* MPICH's collectives read the field that MPI_Recv leaves alone (MPI-4, 3.2.5) */
    if (context_offset != MPIR_CONTEXT_INTRA_PT2PT && status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = mpi_errno;
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Imrecv(void *buf, MPI_Aint count, MPI_Datatype datatype, MPIR_Request * message,
                MPIR_Request ** request)
{
    struct wdl_nm_buf nmbuf;
    struct wdl_nm_info info;
    MPI_Datatype held;
    int mpi_errno = MPI_SUCCESS;
    if (message == NULL) {      /* MPI_MESSAGE_NO_PROC */
        *request = MPIR_Request_create_null_recv();
        return MPI_SUCCESS;
    }
    WDL_ADI_CHECK(wdl_adi_buf(buf, count, datatype, &nmbuf, &held), mpi_errno);
    message->kind = MPIR_REQUEST_KIND__RECV;
    MPIR_Request_add_ref(message);      /* the network's */
    wdl_adi_request_hold(message, held);
    int status = post(message, &nmbuf, 0, 0, &info);
    if (wdl_status_is_error(status)) {
        info = message->dev.info;
        info.status = status;
        status = WDL_OK;
    }
    if (status == WDL_OK)
        finish(message, &info);
    *request = message;
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Mrecv(void *buf, MPI_Aint count, MPI_Datatype datatype, MPIR_Request * message,
               MPI_Status * status, MPIR_Request ** request)
{
    if (message == NULL) {
        MPIR_Status_set_procnull(status);
        *request = NULL;
        return MPI_SUCCESS;
    }
    return MPID_Imrecv(buf, count, datatype, message, request);
}

int MPID_Cancel_recv(MPIR_Request * request)
{
    struct wdl_nm *nm = wdl_adi.proc->nm;
    if (!MPIR_Request_is_complete(request))
        nm->ops->tag_cancel(nm, &request->dev.comp);
    return MPI_SUCCESS;
}
