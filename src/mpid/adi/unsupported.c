/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What MPI has and this device does not yet: each a clear MPI error, never an assertion or a hang.
 */
#include "wdl_adi.h"

#define NOT_SUPPORTED(class, message) \
    MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, class, message, 0)

int MPID_Comm_failure_ack(MPIR_Comm * comm)
{
    (void) comm;
    return NOT_SUPPORTED(MPI_ERR_UNSUPPORTED_OPERATION, "**wdl_nofail");
}

int MPID_Comm_failure_get_acked(MPIR_Comm * comm, MPIR_Group ** group)
{
    (void) comm, (void) group;
    return NOT_SUPPORTED(MPI_ERR_UNSUPPORTED_OPERATION, "**wdl_nofail");
}

int MPID_Comm_get_all_failed_procs(MPIR_Comm * comm, MPIR_Group ** group, int tag)
{
    (void) comm, (void) group, (void) tag;
    return NOT_SUPPORTED(MPI_ERR_UNSUPPORTED_OPERATION, "**wdl_nofail");
}

int MPID_Comm_revoke(MPIR_Comm * comm, int is_remote)
{
    (void) comm, (void) is_remote;
    return NOT_SUPPORTED(MPI_ERR_UNSUPPORTED_OPERATION, "**wdl_nofail");
}

int MPID_Comm_spawn_multiple(int count, char *commands[], char **argvs[], const int maxprocs[],
                             MPIR_Info * infos[], int root, MPIR_Comm * comm,
                             MPIR_Comm ** intercomm, int errcodes[])
{
    (void) count, (void) commands, (void) argvs, (void) maxprocs, (void) infos, (void) root;
    (void) comm, (void) intercomm, (void) errcodes;
    return NOT_SUPPORTED(MPI_ERR_SPAWN, "**wdl_nospawn");
}

int MPID_Open_port(MPIR_Info * info, char *port_name)
{
    (void) info, (void) port_name;
    return NOT_SUPPORTED(MPI_ERR_PORT, "**wdl_noport");
}

int MPID_Close_port(const char *port_name)
{
    (void) port_name;
    return NOT_SUPPORTED(MPI_ERR_PORT, "**wdl_noport");
}

int MPID_Comm_accept(const char *port_name, MPIR_Info * info, int root, MPIR_Comm * comm,
                     MPIR_Comm ** newcomm)
{
    (void) port_name, (void) info, (void) root, (void) comm, (void) newcomm;
    return NOT_SUPPORTED(MPI_ERR_PORT, "**wdl_noport");
}

int MPID_Comm_connect(const char *port_name, MPIR_Info * info, int root, MPIR_Comm * comm,
                      MPIR_Comm ** newcomm)
{
    (void) port_name, (void) info, (void) root, (void) comm, (void) newcomm;
    return NOT_SUPPORTED(MPI_ERR_PORT, "**wdl_noport");
}

int MPID_Psend_init(const void *buf, int partitions, MPI_Aint count, MPI_Datatype datatype,
                    int dest, int tag, MPIR_Comm * comm, MPIR_Info * info, MPIR_Request ** request)
{
    (void) buf, (void) partitions, (void) count, (void) datatype, (void) dest, (void) tag;
    (void) comm, (void) info, (void) request;
    return NOT_SUPPORTED(MPI_ERR_UNSUPPORTED_OPERATION, "**wdl_nopart");
}

int MPID_Precv_init(void *buf, int partitions, MPI_Aint count, MPI_Datatype datatype, int source,
                    int tag, MPIR_Comm * comm, MPIR_Info * info, MPIR_Request ** request)
{
    (void) buf, (void) partitions, (void) count, (void) datatype, (void) source, (void) tag;
    (void) comm, (void) info, (void) request;
    return NOT_SUPPORTED(MPI_ERR_UNSUPPORTED_OPERATION, "**wdl_nopart");
}

int MPID_Pready_range(int low, int high, MPIR_Request * request)
{
    (void) low, (void) high, (void) request;
    return NOT_SUPPORTED(MPI_ERR_UNSUPPORTED_OPERATION, "**wdl_nopart");
}

int MPID_Pready_list(int length, int list[], MPIR_Request * request)
{
    (void) length, (void) list, (void) request;
    return NOT_SUPPORTED(MPI_ERR_UNSUPPORTED_OPERATION, "**wdl_nopart");
}

int MPID_Parrived(MPIR_Request * request, int partition, int *flag)
{
    (void) request, (void) partition, (void) flag;
    return NOT_SUPPORTED(MPI_ERR_UNSUPPORTED_OPERATION, "**wdl_nopart");
}
