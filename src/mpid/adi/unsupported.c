/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What MPI has and this device does not yet: each a clear MPI error, never an assertion or a hang.
 */
#include "wdl_adi.h"


int MPID_Comm_failure_ack(MPIR_Comm * comm)
{
    int mpi_errno = MPI_SUCCESS;
    (void) comm;
    MPIR_ERR_SET(mpi_errno, MPI_ERR_UNSUPPORTED_OPERATION, "**wdl_nofail");
    return mpi_errno;
}

int MPID_Comm_failure_get_acked(MPIR_Comm * comm, MPIR_Group ** group)
{
    int mpi_errno = MPI_SUCCESS;
    (void) comm, (void) group;
    MPIR_ERR_SET(mpi_errno, MPI_ERR_UNSUPPORTED_OPERATION, "**wdl_nofail");
    return mpi_errno;
}

int MPID_Comm_get_all_failed_procs(MPIR_Comm * comm, MPIR_Group ** group, int tag)
{
    int mpi_errno = MPI_SUCCESS;
    (void) comm, (void) group, (void) tag;
    MPIR_ERR_SET(mpi_errno, MPI_ERR_UNSUPPORTED_OPERATION, "**wdl_nofail");
    return mpi_errno;
}

int MPID_Comm_revoke(MPIR_Comm * comm, int is_remote)
{
    int mpi_errno = MPI_SUCCESS;
    (void) comm, (void) is_remote;
    MPIR_ERR_SET(mpi_errno, MPI_ERR_UNSUPPORTED_OPERATION, "**wdl_nofail");
    return mpi_errno;
}

int MPID_Comm_spawn_multiple(int count, char *commands[], char **argvs[], const int maxprocs[],
                             MPIR_Info * infos[], int root, MPIR_Comm * comm,
                             MPIR_Comm ** intercomm, int errcodes[])
{
    int mpi_errno = MPI_SUCCESS;
    (void) count, (void) commands, (void) argvs, (void) maxprocs, (void) infos, (void) root;
    (void) comm, (void) intercomm, (void) errcodes;
    MPIR_ERR_SET(mpi_errno, MPI_ERR_SPAWN, "**wdl_nospawn");
    return mpi_errno;
}

int MPID_Open_port(MPIR_Info * info, char *port_name)
{
    int mpi_errno = MPI_SUCCESS;
    (void) info, (void) port_name;
    MPIR_ERR_SET(mpi_errno, MPI_ERR_PORT, "**wdl_noport");
    return mpi_errno;
}

int MPID_Close_port(const char *port_name)
{
    int mpi_errno = MPI_SUCCESS;
    (void) port_name;
    MPIR_ERR_SET(mpi_errno, MPI_ERR_PORT, "**wdl_noport");
    return mpi_errno;
}

int MPID_Comm_accept(const char *port_name, MPIR_Info * info, int root, MPIR_Comm * comm,
                     MPIR_Comm ** newcomm)
{
    int mpi_errno = MPI_SUCCESS;
    (void) port_name, (void) info, (void) root, (void) comm, (void) newcomm;
    MPIR_ERR_SET(mpi_errno, MPI_ERR_PORT, "**wdl_noport");
    return mpi_errno;
}

int MPID_Comm_connect(const char *port_name, MPIR_Info * info, int root, MPIR_Comm * comm,
                      MPIR_Comm ** newcomm)
{
    int mpi_errno = MPI_SUCCESS;
    (void) port_name, (void) info, (void) root, (void) comm, (void) newcomm;
    MPIR_ERR_SET(mpi_errno, MPI_ERR_PORT, "**wdl_noport");
    return mpi_errno;
}

int MPID_Psend_init(const void *buf, int partitions, MPI_Aint count, MPI_Datatype datatype,
                    int dest, int tag, MPIR_Comm * comm, MPIR_Info * info, MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS;
    (void) buf, (void) partitions, (void) count, (void) datatype, (void) dest, (void) tag;
    (void) comm, (void) info, (void) request;
    MPIR_ERR_SET(mpi_errno, MPI_ERR_UNSUPPORTED_OPERATION, "**wdl_nopart");
    return mpi_errno;
}

int MPID_Precv_init(void *buf, int partitions, MPI_Aint count, MPI_Datatype datatype, int source,
                    int tag, MPIR_Comm * comm, MPIR_Info * info, MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS;
    (void) buf, (void) partitions, (void) count, (void) datatype, (void) source, (void) tag;
    (void) comm, (void) info, (void) request;
    MPIR_ERR_SET(mpi_errno, MPI_ERR_UNSUPPORTED_OPERATION, "**wdl_nopart");
    return mpi_errno;
}

int MPID_Pready_range(int low, int high, MPIR_Request * request)
{
    int mpi_errno = MPI_SUCCESS;
    (void) low, (void) high, (void) request;
    MPIR_ERR_SET(mpi_errno, MPI_ERR_UNSUPPORTED_OPERATION, "**wdl_nopart");
    return mpi_errno;
}

int MPID_Pready_list(int length, int list[], MPIR_Request * request)
{
    int mpi_errno = MPI_SUCCESS;
    (void) length, (void) list, (void) request;
    MPIR_ERR_SET(mpi_errno, MPI_ERR_UNSUPPORTED_OPERATION, "**wdl_nopart");
    return mpi_errno;
}

int MPID_Parrived(MPIR_Request * request, int partition, int *flag)
{
    int mpi_errno = MPI_SUCCESS;
    (void) request, (void) partition, (void) flag;
    MPIR_ERR_SET(mpi_errno, MPI_ERR_UNSUPPORTED_OPERATION, "**wdl_nopart");
    return mpi_errno;
}
