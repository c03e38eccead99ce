/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Placeholder until send.c, recv.c, probe.c, persist.c and type.c are there.
 */
#include "wdl_adi.h"

int MPID_Send(WDL_SEND_PARAMS)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Ssend(WDL_SEND_PARAMS)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Rsend(WDL_SEND_PARAMS)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Isend(WDL_SEND_PARAMS)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Issend(WDL_SEND_PARAMS)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Irsend(WDL_SEND_PARAMS)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Send_coll(WDL_SEND_PARAMS, MPIR_Errflag_t *errflag)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Isend_coll(WDL_SEND_PARAMS, MPIR_Errflag_t *errflag)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Cancel_send(MPIR_Request *request)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Recv(void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag, MPIR_Comm *comm, int context_offset, MPI_Status *status, MPIR_Request ** request)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Irecv(void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag, MPIR_Comm *comm, int context_offset, MPIR_Request ** request)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Mrecv(void *buf, MPI_Aint count, MPI_Datatype datatype, MPIR_Request *message, MPI_Status *status, MPIR_Request ** request)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Imrecv(void *buf, MPI_Aint count, MPI_Datatype datatype, MPIR_Request *message, MPIR_Request ** request)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Cancel_recv(MPIR_Request *request)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Probe(int rank, int tag, MPIR_Comm *comm, int context_offset, MPI_Status *status)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Iprobe(int rank, int tag, MPIR_Comm *comm, int context_offset, int *flag, MPI_Status *status)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Mprobe(int rank, int tag, MPIR_Comm *comm, int context_offset, MPIR_Request ** message, MPI_Status *status)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Improbe(int rank, int tag, MPIR_Comm *comm, int context_offset, int *flag, MPIR_Request ** message, MPI_Status *status)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Send_init(WDL_SEND_PARAMS)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Ssend_init(WDL_SEND_PARAMS)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Rsend_init(WDL_SEND_PARAMS)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Bsend_init(WDL_SEND_PARAMS)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Recv_init(void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag, MPIR_Comm *comm, int context_offset, MPIR_Request ** request)
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Startall(int count, MPIR_Request *requests[])
{
    return WDL_ADI_ERROR(WDL_ERR_UNSUPPORTED);
}

int MPID_Type_commit_hook(MPIR_Datatype *type)
{
    return MPI_SUCCESS;
}

int MPID_Type_free_hook(MPIR_Datatype *type)
{
    return MPI_SUCCESS;
}
