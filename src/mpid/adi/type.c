/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Datatypes of messages: contiguous ones are an address and a length; others are packed and
 * unpacked by MPICH's engine, a stretch at a time, as the network asks for it.
 */
#include "pt2pt.h"

static MPI_Datatype type_handle(void *type_ctx)
{
    return (MPI_Datatype) (intptr_t) type_ctx;
}

static size_t type_packed_bytes(void *type_ctx, const void *addr, size_t count)
{
    MPI_Aint size;
    (void) addr;
    MPIR_Datatype_get_size_macro(type_handle(type_ctx), size);
    return (size_t) size *count;
}

static size_t type_pack(void *type_ctx, const void *addr, size_t count, size_t offset, void *dst,
                        size_t bytes)
{
    MPI_Aint done = 0;
    MPIR_Typerep_pack(addr, (MPI_Aint) count, type_handle(type_ctx), (MPI_Aint) offset, dst,
                      (MPI_Aint) bytes, &done);
    return (size_t) done;
}

static size_t type_unpack(void *type_ctx, void *addr, size_t count, size_t offset, const void *src,
                          size_t bytes)
{
    MPI_Aint done = 0;
    MPIR_Typerep_unpack(src, (MPI_Aint) bytes, addr, (MPI_Aint) count, type_handle(type_ctx),
                        (MPI_Aint) offset, &done);
    return (size_t) done;
}

static const struct wdl_nm_type_ops type_ops = {
    .packed_bytes = type_packed_bytes,
    .pack = type_pack,
    .unpack = type_unpack,
};

int wdl_adi_buf_derived(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                        struct wdl_nm_buf *out, MPI_Datatype * held_out)
{
    struct wdl_nm *nm = wdl_adi.proc->nm;
    MPIR_Datatype *type;
    MPIR_Datatype_get_ptr(datatype, type);
    int contig = type->is_contig;
    MPI_Aint bytes = type->size * count;
    *held_out = MPI_DATATYPE_NULL;
    out->addr = (char *) (uintptr_t) buf + (contig ? type->true_lb : 0);
    out->count = (size_t) bytes;
    out->type = NULL;
    if (contig || bytes == 0)
        return WDL_OK;
    if (!type->dev.nm_type) {
        int status =
            nm->ops->type_create(nm, &type_ops, (void *) (intptr_t) datatype, &type->dev.nm_type);
        if (status != WDL_OK)
            return status;
    }
    out->count = (size_t) count;
    out->type = type->dev.nm_type;
    *held_out = datatype;
    return WDL_OK;
}

int MPID_Type_commit_hook(MPIR_Datatype * type)
{
    type->dev.nm_type = NULL;
    return MPI_SUCCESS;
}

int MPID_Type_free_hook(MPIR_Datatype * type)
{
    if (type->is_committed && type->dev.nm_type && wdl_adi.proc)
        wdl_adi.proc->nm->ops->type_destroy(wdl_adi.proc->nm, type->dev.nm_type);
    return MPI_SUCCESS;
}
