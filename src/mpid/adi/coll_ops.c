/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * MPI's operators and buffers in the words of the engine, which knows bytes and elements of a
 * fixed size.
 */
#include "coll.h"
#include "op.h"
#include "rma.h"

/* --- operators -------------------------------------------------------------------------------- */

enum { MANY = 32 };             /* elements that RMA's vector loops are worth it for */

/* The same loop for any address: where a maximum of equals comes from is the loop's to choose, and
 * must not be another one on another rank. */
static void by_kernel(const struct wdl_adi_op *op, const char *left, char *inout, size_t count)
{
    _Alignas(16) char block[512];
    const struct wdl_kernel_call call = {.element = op->element };
    size_t bytes = op->element->packed_bytes, all = count * bytes;
    if (((uintptr_t) inout & (bytes - 1)) == 0) {
        op->kernel(&call, inout, left, NULL, count);
        return;
    }
    for (size_t at = 0; at < all; at += sizeof block) {
        size_t n = all - at < sizeof block ? all - at : sizeof block;
        memcpy(block, inout + at, n);
        op->kernel(&call, block, left + at, NULL, n / bytes);
        memcpy(inout + at, block, n);
    }
}

static void apply(void *ctx, const void *left, void *inout, size_t count)
{
    const struct wdl_adi_op *op = ctx;
    MPI_Aint n = (MPI_Aint) count;
    MPI_Datatype type = op->type;
    if (op->kernel && count >= MANY)
        by_kernel(op, left, inout, count);
    else if (op->builtin)
        op->builtin((void *) (uintptr_t) left, inout, &n, &type);
    else
        MPIR_Reduce_local(left, inout, n, type, op->op);
}

/* Elements side by side without gaps between: the engine may cut the vector between any two. */
int wdl_adi_op_takes(MPI_Datatype type, size_t *bytes_out)
{
    MPIR_Datatype *dt;
    if (HANDLE_IS_BUILTIN(type)) {
        *bytes_out = (size_t) MPIR_Datatype_get_basic_size(type);
        return *bytes_out > 0;
    }
    MPIR_Datatype_get_ptr(type, dt);
    *bytes_out = (size_t) dt->extent;
    if (MPIR_DATATYPE_IS_PREDEFINED(type))      /* pairs: a gap inside travels with them */
        return 1;
    return dt->is_contig && dt->true_lb == 0 && dt->size == dt->extent && dt->size > 0;
}

static void op_make(MPI_Op op, MPI_Datatype type, struct wdl_adi_op *ctx,
                    struct wdl_coll_op *op_out)
{
    ctx->op = op;
    ctx->type = type;
    ctx->builtin = NULL;
    ctx->kernel = NULL;
    if (HANDLE_IS_BUILTIN(op) && !MPIR_Typerep_reduce_is_supported(op, type))
        ctx->builtin = MPIR_OP_HDL_TO_FN(op);
    enum wdl_rop rop = wdl_adi_rop(op);
    if (ctx->builtin && HANDLE_IS_BUILTIN(type) && rop < WDL_ROP_REPLACE) {
        ctx->element = wdl_adi_element_of(type);
        ctx->kernel = ctx->element ? wdl_kernel_typed(ctx->element, rop) : NULL;
    }
    op_out->fn = apply;
    op_out->ctx = ctx;
    op_out->commutes = MPIR_Op_is_commutative(op) ? WDL_COLL_COMMUTES : 0;
    if (ctx->kernel && ctx->element->basic < WDL_BASIC_F32)     /* integers */
        op_out->commutes = WDL_COLL_EXACT;
    (void) wdl_adi_op_takes(type, &op_out->elem_bytes);
}

const struct wdl_coll_op *wdl_adi_op_known(MPI_Op op, MPI_Datatype type)
{
    static struct wdl_adi_op last;
    static struct wdl_coll_op last_out;
    size_t bytes;
    if (last.op == op && last.type == type)
        return &last_out;
    if (!HANDLE_IS_BUILTIN(op) || !HANDLE_IS_BUILTIN(type) || !wdl_adi_op_takes(type, &bytes))
        return NULL;
    op_make(op, type, &last, &last_out);
    return &last_out;
}

void wdl_adi_op_make(MPI_Op op, MPI_Datatype type, struct wdl_adi_op *ctx,
                     struct wdl_coll_op *op_out)
{
    const struct wdl_coll_op *known = wdl_adi_op_known(op, type);
    if (!known) {
        op_make(op, type, ctx, op_out);
        return;
    }
    *ctx = *(const struct wdl_adi_op *) known->ctx;
    *op_out = *known;
    op_out->ctx = ctx;
}

/* --- buffers ---------------------------------------------------------------------------------- */

struct layout {
    size_t size;
    MPI_Aint extent, true_lb;
    int contig;
};

static struct layout layout_of(MPI_Datatype type)
{
    MPIR_Datatype *dt;
    if (HANDLE_IS_BUILTIN(type)) {
        MPI_Aint size = MPIR_Datatype_get_basic_size(type);
        return (struct layout) {.size = (size_t) size,.extent = size,.contig = 1 };
    }
    MPIR_Datatype_get_ptr(type, dt);
    return (struct layout) {.size = (size_t) dt->size,.extent = dt->extent,.true_lb = dt->true_lb,
        .contig = dt->is_contig
    };
}

/* The user's block i, and its elements. */
static char *block_of(const struct wdl_adi_data *data, int i, MPI_Aint extent, MPI_Aint *count_out)
{
    *count_out = data->counts ? data->counts[i] : data->count;
    return (char *) data->user + (data->counts ? data->displs[i] : i * data->count) * extent;
}

static void blocks_move(const struct wdl_adi_data *data, const struct layout *l, int out)
{
    char *at = data->copy;
    for (int i = 0; i < data->blocks; i++) {
        MPI_Aint count, done;
        char *user = block_of(data, i, l->extent, &count);
        MPI_Aint bytes = (MPI_Aint) l->size * count;
        if (bytes == 0)
            continue;
        if (out)
            MPIR_Typerep_unpack(at, bytes, user, count, data->type, 0, &done);
        else
            MPIR_Typerep_pack(user, count, data->type, 0, at, bytes, &done);
        at += bytes;
    }
}

/* Where varying blocks are, in the user's memory or one behind the other in ours. The caller's
 * lists may be gone when a nonblocking call ends. */
static int lists_make(struct wdl_adi_data *data, const struct layout *l,
                      struct wdl_coll_blocks *blocks_out)
{
    size_t at = 0, n = (size_t) data->blocks;
    MPI_Aint *counts, *displs;
    data->lists = MPL_malloc(4 * n * sizeof data->lists[0], MPL_MEM_COLL);
    if (!data->lists)
        return WDL_ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        data->lists[i] = (size_t) data->counts[i] * l->size;
        data->lists[n + i] = data->copy ? at : (size_t) (data->displs[i] * l->extent);
        at += data->lists[i];
    }
    blocks_out->bytes = data->lists;
    blocks_out->at = data->lists + n;
    counts = (MPI_Aint *) (void *) (data->lists + 2 * n);
    displs = counts + n;
    memcpy(counts, data->counts, n * sizeof counts[0]);
    memcpy(displs, data->displs, n * sizeof displs[0]);
    data->counts = counts;
    data->displs = displs;
    return WDL_OK;
}

int wdl_adi_data_open(struct wdl_adi_data *data, int how, struct wdl_coll_blocks *blocks_out)
{
    struct layout l = layout_of(data->type);
    data->at = (char *) data->user + l.true_lb;
    if (!l.contig || (how & WDL_ADI_APART)) {
        size_t bytes = 0;
        for (int i = 0; i < data->blocks; i++)
            bytes += (size_t) (data->counts ? data->counts[i] : data->count) * l.size;
        data->at = data->copy = MPL_malloc(bytes ? bytes : 1, MPL_MEM_COLL);
        if (!data->copy)
            return WDL_ERR_NOMEM;
        if (how & WDL_ADI_FILL)
            blocks_move(data, &l, 0);
    }
    return data->counts ? lists_make(data, &l, blocks_out) : WDL_OK;
}

void wdl_adi_data_close(struct wdl_adi_data *data, int store)
{
    if (data->copy && store) {
        struct layout l = layout_of(data->type);
        blocks_move(data, &l, 1);
    }
    MPL_free(data->copy);
    MPL_free(data->lists);
}
