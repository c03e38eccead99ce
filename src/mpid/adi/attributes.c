/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * When attributes are deleted (attributes.h). MPICH asks one function, MPIR_Process.attr_free,
 * before it frees anything with attributes, and frees nothing where that returns an error: of a
 * communicator it takes the reference back itself, of a type it does not.
 */
#include "attributes.h"

_Thread_local int wdl_adi_within WDL_ADI_TLS;

/* For later, if it is what operations hold. */
static int leave(int handle)
{
    MPIR_Datatype *type;
    MPIR_Comm *comm;
    switch (HANDLE_GET_MPI_KIND(handle)) {
        case MPIR_DATATYPE:
            MPIR_Datatype_get_ptr(handle, type);
            MPIR_Object_set_ref(type, 1);
            type->dev.next_left = wdl_adi.left_types;
            wdl_adi.left_types = type;
            return 1;
        case MPIR_COMM:
            MPIR_Comm_get_ptr(handle, comm);
            comm->dev.next_left = wdl_adi.left_comms;
            wdl_adi.left_comms = comm;
            return 1;
        default:
            return 0;
    }
}

/* The first thing MPI_Finalize does, behind the end of the locking, is to delete the attributes of
 * MPI_COMM_SELF, whose functions may communicate. */
static int attributes_go(int handle, MPIR_Attribute **list)
{
    if (wdl_adi_within && leave(handle))
        return MPI_ERR_PENDING;
    wdl_adi_asynch_stop();
    wdl_adi.deleting++;
    int mpi_errno = MPIR_Attr_delete_list(handle, list);
    wdl_adi.deleting--;
    return mpi_errno;
}

void wdl_adi_attributes_init(void)
{
    MPIR_Process.attr_dup = MPIR_Attr_dup_list; /* MPICH sets both, unless this is set */
    MPIR_Process.attr_free = attributes_go;
}

/* The functions that this calls may call MPI, and come here again, as may other threads then. */
void wdl_adi_free_left(void)
{
    MPIR_Datatype *type;
    MPIR_Comm *comm;
    if (wdl_adi_within || wdl_adi.deleting)
        return;
    wdl_adi.deleting++;
    while ((type = wdl_adi.left_types)) {
        wdl_adi.left_types = type->dev.next_left;
        MPIR_Datatype_ptr_release(type);
    }
    while ((comm = wdl_adi.left_comms)) {
        wdl_adi.left_comms = comm->dev.next_left;
        MPIR_Comm_release(comm);
    }
    wdl_adi.deleting--;
}
