/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What the point-to-point files share: buffers for the network, and requests that wait for it.
 */
#ifndef WDL_ADI_PT2PT_H_INCLUDED
#define WDL_ADI_PT2PT_H_INCLUDED

#include "wdl_adi.h"

/* type.c: the buffer of a derived type. */
int wdl_adi_buf_derived(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                        struct wdl_nm_buf *out, MPI_Datatype * held_out);
/* The buffer as the network wants it. *held_out is the datatype to be held until the network is
 * done with it, or MPI_DATATYPE_NULL. WDL_OK or an error. */
static inline int wdl_adi_buf(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                              struct wdl_nm_buf *out, MPI_Datatype * held_out)
{
    if (!HANDLE_IS_BUILTIN(datatype))
        return wdl_adi_buf_derived(buf, count, datatype, out, held_out);
    out->addr = (void *) (uintptr_t) buf;
    out->count = (size_t) (MPIR_Datatype_get_basic_size(datatype) * count);
    out->type = NULL;
    *held_out = MPI_DATATYPE_NULL;
    return WDL_OK;
}

/* recv.c: a status from what the network says; returns an MPI error code. */
int wdl_adi_status(MPI_Status * status, const struct wdl_nm_info *info);
/* The tag and mask that a receive or probe of these arguments matches. Of the MPI tag the two error
 * bits are never compared, and MPI_ANY_TAG leaves the collectives' bit to be compared, so that it
 * matches no collective's message. */
static inline void wdl_adi_match(int rank, int tag, const MPIR_Comm *comm, int context_offset,
                                 uint64_t *tag_out, uint64_t *mask_out)
{
    uint64_t mask = ~(uint64_t) 0;
    mask &= ~(uint64_t) (MPIR_TAG_ERROR_BIT | MPIR_TAG_PROC_FAILURE_BIT);
    if (tag == MPI_ANY_TAG) {
        mask &= ~(uint64_t) MPIR_TAG_USABLE_BITS;
        tag = 0;
    }
    if (rank == MPI_ANY_SOURCE) {
        mask &= ~WDL_TAG_RANK_MASK;
        rank = 0;
    }
    *tag_out = wdl_tag_make((MPIR_Context_id_t) (comm->recvcontext_id + context_offset), rank, tag);
    *mask_out = mask;
}
/* A request for an operation given to the network: two references, comm held. */
MPIR_Request *wdl_adi_request(MPIR_Request_kind_t kind, MPIR_Comm * comm);
void wdl_adi_request_hold(MPIR_Request * request, MPI_Datatype datatype);
/* The operation was over at once, or could not be begun: drop the request. */
void wdl_adi_request_drop(MPIR_Request * request);

/* Ask again while the network refuses: refusals end once it is polled (netmod.h, rule 3). */
#define WDL_ADI_INSIST(status, call)                                                           \
    while (((status) = (call)) == WDL_AGAIN)                                                   \
        wdl_proc_progress(wdl_adi.proc)

#endif
