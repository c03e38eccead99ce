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

/* What the engine has packed, some elements at a time where the user's operator can see them. */
static void by_spread(const struct wdl_adi_op *op, const char *left, char *inout, size_t count)
{
    const struct wdl_adi_spread *s = &op->spread;
    for (size_t bytes; count > 0; count -= bytes / s->packed, left += bytes, inout += bytes) {
        MPI_Aint n = count < s->most ? (MPI_Aint) count : (MPI_Aint) s->most, done;
        bytes = (size_t) n * s->packed;
        MPIR_Typerep_unpack(left, (MPI_Aint) bytes, s->left, n, op->type, 0, &done);
        MPIR_Typerep_unpack(inout, (MPI_Aint) bytes, s->inout, n, op->type, 0, &done);
        MPIR_Reduce_local(s->left, s->inout, n, op->type, op->op);
        MPIR_Typerep_pack(s->inout, n, op->type, 0, inout, (MPI_Aint) bytes, &done);
    }
}

static void apply(void *ctx, const void *left, void *inout, size_t count)
{
    const struct wdl_adi_op *op = ctx;
    MPI_Aint n = (MPI_Aint) count;
    MPI_Datatype type = op->type;
    if (op->spread.memory)
        by_spread(op, left, inout, count);
    else if (op->kernel && count >= op->many)
        wdl_adi_op_loop(op->element, op->kernel, left, inout, count);
    else if (op->builtin)
        op->builtin((void *) (uintptr_t) left, inout, &n, &type);
    else
        MPIR_Reduce_local(left, inout, n, type, op->op);
}

int wdl_adi_op_gaps(MPI_Datatype type)
{
    MPIR_Datatype *dt;
    if (HANDLE_IS_BUILTIN(type))
        return 0;
    MPIR_Datatype_get_ptr(type, dt);
    return !dt->is_contig || dt->true_lb != 0 || dt->size != dt->extent;
}

/* Elements side by side without gaps between are reduced where they are: the engine may cut the
 * vector between any two. Others are packed for it, but for pairs, whose gap travels with them. */
int wdl_adi_op_packs(MPI_Datatype type)
{
    return wdl_adi_op_gaps(type) && !MPIR_DATATYPE_IS_PREDEFINED(type);
}

size_t wdl_adi_op_element(MPI_Datatype type)
{
    MPIR_Datatype *dt;
    if (HANDLE_IS_BUILTIN(type))
        return (size_t) MPIR_Datatype_get_basic_size(type);
    MPIR_Datatype_get_ptr(type, dt);
    return (size_t) (MPIR_DATATYPE_IS_PREDEFINED(type) ? dt->extent : dt->size);
}

/* Both operands lie as the user's own would: elements at the type's extent, or one at a time where
 * they go backwards; displacement 0 at the alignment of malloc, wherever that is. */
int wdl_adi_op_spread(struct wdl_adi_op *op)
{
    enum { ALIGNMENT = 64, SPREAD_BYTES = 32 << 10 };
    struct wdl_adi_spread *s = &op->spread;
    MPIR_Datatype *dt;
    MPIR_Datatype_get_ptr(op->type, dt);
    MPI_Aint low = dt->true_lb & -(MPI_Aint) ALIGNMENT, one = dt->true_ub - low;
    MPI_Aint most = dt->extent > 0 && one < SPREAD_BYTES ?
        (SPREAD_BYTES - one) / dt->extent + 1 : 1;
    MPI_Aint room = one + (most - 1) * dt->extent + ALIGNMENT - 1;
    room &= -(MPI_Aint) ALIGNMENT;
    s->packed = (size_t) dt->size;
    s->most = (size_t) most;
    s->memory = MPL_calloc(2, (size_t) room, MPL_MEM_COLL);
    s->left = (char *) ((uintptr_t) s->memory - (uintptr_t) low);
    s->inout = (char *) ((uintptr_t) s->left + (uintptr_t) room);
    return s->memory ? WDL_OK : WDL_ERR_NOMEM;
}

static void op_make(MPI_Op op, MPI_Datatype type, struct wdl_adi_op *ctx,
                    struct wdl_coll_op *op_out)
{
    ctx->op = op;
    ctx->type = type;
    ctx->builtin = NULL;
    ctx->kernel = NULL;
    ctx->spread.memory = NULL;
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
    int is_integer = ctx->kernel && ctx->element->basic < WDL_BASIC_F32;
    ctx->many = is_integer ? MANY : 1;  /* of floats MPICH's table has the same loops (op.c) */
    if (is_integer)
        op_out->commutes = WDL_COLL_EXACT;
    op_out->elem_bytes = wdl_adi_op_element(type);
}

const struct wdl_coll_op *wdl_adi_op_known(MPI_Op op, MPI_Datatype type)
{
    static struct wdl_adi_op last;
    static struct wdl_coll_op last_out;
    if (last.op == op && last.type == type)
        return &last_out;
    if (!HANDLE_IS_BUILTIN(op) || !HANDLE_IS_BUILTIN(type) || wdl_adi_op_element(type) == 0)
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
