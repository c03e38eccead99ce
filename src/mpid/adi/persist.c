/* Part of Windlass. See COPYRIGHT in the top-level directory. Persistent requests: arguments kept,
 * started again and again. */
#include "pt2pt.h"

enum { MODE_SEND, MODE_SSEND, MODE_RSEND, MODE_BSEND, MODE_RECV };

static int persist_make(int mode, const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank,
                        int tag, MPIR_Comm * comm, int context_offset, MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *req = MPIR_Request_create(mode == MODE_RECV ? MPIR_REQUEST_KIND__PREQUEST_RECV :
                                            MPIR_REQUEST_KIND__PREQUEST_SEND);
    MPIR_ERR_CHKANDSTMT(req == NULL, mpi_errno, MPIX_ERR_NOREQ, goto fn_fail, "**nomemreq");
    req->comm = comm;
    MPIR_Comm_add_ref(comm);
    req->dev.persist = (struct wdl_adi_persist) {
        .buf = (void *) (uintptr_t) buf,.count = count,.datatype = datatype,.rank = rank,.tag = tag,
        .context_offset = context_offset,.mode = mode
    };
    MPIR_Datatype_add_ref_if_not_builtin(datatype);
    req->u.persist.real_request = NULL;
    MPIR_cc_set(req->cc_ptr, 0);
    *request = req;
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Send_init(WDL_SEND_PARAMS)
{
    return persist_make(MODE_SEND, buf, count, datatype, rank, tag, comm, context_offset, request);
}

int MPID_Ssend_init(WDL_SEND_PARAMS)
{
    return persist_make(MODE_SSEND, buf, count, datatype, rank, tag, comm, context_offset, request);
}

int MPID_Rsend_init(WDL_SEND_PARAMS)
{
    return persist_make(MODE_RSEND, buf, count, datatype, rank, tag, comm, context_offset, request);
}

int MPID_Bsend_init(WDL_SEND_PARAMS)
{
    if (count > INT_MAX)        /* MPICH's buffered sends count by ints */
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                    MPI_ERR_COUNT, "**count", NULL);
    return persist_make(MODE_BSEND, buf, count, datatype, rank, tag, comm, context_offset, request);
}

int MPID_Recv_init(void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                   MPIR_Comm * comm, int context_offset, MPIR_Request ** request)
{
    return persist_make(MODE_RECV, buf, count, datatype, rank, tag, comm, context_offset, request);
}

void wdl_adi_persist_free(MPIR_Request * request)
{
    MPIR_Datatype_release_if_not_builtin(request->dev.persist.datatype);
}

static int persist_begin(MPIR_Request * req, MPIR_Request ** real)
{
    const struct wdl_adi_persist *p = &req->dev.persist;
    if (p->rank == MPI_PROC_NULL) {
        *real = p->mode == MODE_RECV ? MPIR_Request_create_null_recv() :
            MPIR_Request_create_complete(MPIR_REQUEST_KIND__SEND);
        return MPI_SUCCESS;
    }
    switch (p->mode) {
        case MODE_RECV:
            return MPID_Irecv(p->buf, p->count, p->datatype, p->rank, p->tag, req->comm,
                              p->context_offset, real);
        case MODE_SSEND:
            return MPID_Issend(p->buf, p->count, p->datatype, p->rank, p->tag, req->comm,
                               p->context_offset, real);
        case MODE_BSEND:
            return MPIR_Bsend_isend(p->buf, (int) p->count, p->datatype, p->rank, p->tag, req->comm,
                                    real);
        default:
            return MPID_Isend(p->buf, p->count, p->datatype, p->rank, p->tag, req->comm,
                              p->context_offset, real);
    }
}

static void persist_start(MPIR_Request * req)
{
    MPIR_Request *real = NULL;
    req->status.MPI_ERROR = persist_begin(req, &real);
    req->u.persist.real_request = real;
    if (req->status.MPI_ERROR == MPI_SUCCESS && req->dev.persist.mode != MODE_BSEND) {
        req->cc_ptr = &real->cc;
    } else {
        /* failed, or buffered and so complete for the user */
        if (req->status.MPI_ERROR != MPI_SUCCESS)
            req->u.persist.real_request = NULL;
        req->cc_ptr = &req->cc;
        MPIR_cc_set(&req->cc, 0);
    }
}

int MPID_Startall(int count, MPIR_Request * requests[])
{
    int mpi_errno = MPI_SUCCESS;
    for (int i = 0; i < count && mpi_errno == MPI_SUCCESS; i++) {
        switch (requests[i]->kind) {
            case MPIR_REQUEST_KIND__PREQUEST_SEND:
            case MPIR_REQUEST_KIND__PREQUEST_RECV:
                persist_start(requests[i]);
                break;
            case MPIR_REQUEST_KIND__PREQUEST_COLL:
                mpi_errno = wdl_adi_persist_coll_start(requests[i]);
                break;
            default:
                mpi_errno = WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
        }
    }
    return mpi_errno;
}
