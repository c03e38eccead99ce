/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The device's part in the life of a request.
 */
#include "attributes.h"

void MPID_Request_create_hook(MPIR_Request * request)
{
    /* every request is made here: only what is read without having been written */
    request->dev.comp.handle = NULL;
    request->dev.comp.owner = NULL;
    request->dev.held = MPI_DATATYPE_NULL;
    request->dev.msg = NULL;
}

/* Called at every release of a reference, also on MPICH's shared completed requests: nothing may be
 * changed here. */
void MPID_Request_free_hook(MPIR_Request * request)
{
    (void) request;
}

void MPID_Request_destroy_hook(MPIR_Request * request)
{
    if (request->kind == MPIR_REQUEST_KIND__PREQUEST_COLL && request->dev.coll)
        wdl_adi_persist_coll_free(request);
}

int MPID_Request_complete(MPIR_Request * request)
{
    int incomplete;
    MPIR_cc_decr(request->cc_ptr, &incomplete);
    if (!incomplete) {
        if (request->completion_notification)
            MPIR_cc_dec(request->completion_notification);
        wdl_adi_within++;
        MPIR_Request_free(request);     /* the device's reference */
        wdl_adi_within--;
    }
    return MPI_SUCCESS;
}
