/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The host table of the core: what MPICH is to it. Datatypes are MPICH's engine's, operators
 * MPICH's functions.
 */
#include "attributes.h"
#include "rma.h"
#include "op.h"
#include "mpir_op_util.h"
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_WINDLASS_FAIL_ALLOCATION
      category    : WINDLASS
      type        : int
      default     : 0
      class       : none
      verbosity   : MPI_T_VERBOSITY_MPIDEV_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        For tests: n > 0 refuses the n-th allocation of memory the device makes from now on. 0:
        none.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

void *wdl_adi_alloc(size_t bytes)
{
    if (MPIR_CVAR_WINDLASS_FAIL_ALLOCATION > 0 && --MPIR_CVAR_WINDLASS_FAIL_ALLOCATION == 0)
        return NULL;
    return MPL_calloc(1, bytes, MPL_MEM_OTHER);
}

static void *host_alloc(void *ctx, size_t bytes)
{
    (void) ctx;
    return wdl_adi_alloc(bytes);
}

static void host_free(void *ctx, void *ptr)
{
    (void) ctx;
    MPL_free(ptr);
}

static uint64_t host_now_ns(void *ctx)
{
    struct timespec now;
    (void) ctx;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

/* --- barriers on all processors: membarrier(2) ------------------------------------------------ */

static int membarrier(int command)
{
    return (int) syscall(SYS_membarrier, command, 0, 0);
}

int wdl_adi_heavy_barrier_init(void)
{
    return membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
}

static void host_heavy_barrier(void *ctx)
{
    (void) ctx;
    membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

static uint64_t host_thread(void *ctx)
{
    (void) ctx;
    return MPIR_ThreadInfo.thread_provided == MPI_THREAD_MULTIPLE ? (uint64_t) pthread_self() : 0;
}

/* --- layouts ---------------------------------------------------------------------------------- */

static size_t host_pack(void *ctx, const void *addr, int64_t count, wdl_type type, size_t offset,
                        void *dst, size_t bytes)
{
    MPI_Aint done = 0;
    (void) ctx;
    MPIR_Typerep_pack(addr, count, (MPI_Datatype) type, (MPI_Aint) offset, dst, (MPI_Aint) bytes,
                      &done);
    return (size_t) done;
}

static size_t host_unpack(void *ctx, void *addr, int64_t count, wdl_type type, size_t offset,
                          const void *src, size_t bytes)
{
    MPI_Aint done = 0;
    (void) ctx;
    MPIR_Typerep_unpack(src, (MPI_Aint) bytes, addr, count, (MPI_Datatype) type, (MPI_Aint) offset,
                        &done);
    return (size_t) done;
}

/* Each call of MPICH begins at the stream's first piece: as few of them as possible. */
static int host_pieces(void *ctx, const void *addr, int64_t count, wdl_type type, size_t offset,
                       size_t bytes, struct wdl_piece *pieces, int max)
{
    struct iovec *iov = (struct iovec *) (void *) pieces;
    int n = 0;
    (void) ctx;
    while (bytes > 0 && n < max) {
        MPI_Aint got, got_bytes;
        MPIR_Typerep_to_iov(addr, count, (MPI_Datatype) type, (MPI_Aint) offset, iov + n, max - n,
                            (MPI_Aint) bytes, &got, &got_bytes);
        if (got == 0 || got_bytes == 0)
            break;
        n += (int) got;
        offset += (size_t) got_bytes;
        bytes -= (size_t) got_bytes;
    }
    return n;
}

static int is_pair(MPI_Datatype type)
{
    return !HANDLE_IS_BUILTIN(type) && type != MPI_DATATYPE_NULL &&
           MPIR_DATATYPE_IS_PREDEFINED(type);
}

/* Vectors of builtin types, and pairs with a gap behind their index. */
static int host_rows(void *ctx, const void *addr, int64_t count, wdl_type type,
                     struct wdl_rows *rows_out)
{
    MPIR_Datatype *dt;
    MPI_Datatype *types;
    MPI_Aint *aints, *counts;
    int *ints;
    (void) ctx;
    if (HANDLE_IS_BUILTIN((MPI_Datatype) type))
        return 0;
    MPIR_Datatype_get_ptr((MPI_Datatype) type, dt);
    if (is_pair((MPI_Datatype) type)) {
        *rows_out = (struct wdl_rows) {.base = (char *) (uintptr_t) addr,.stride = dt->extent,
                                       .bytes = (size_t) dt->size,.count = (size_t) count };
        return count > 0 && dt->true_lb == 0 && dt->true_ub == dt->size;
    }
    if (count != 1)
        return 0;
    MPIR_Datatype_contents *contents = dt->contents;
    if (!contents || contents->nr_counts > 0 ||
        (contents->combiner != MPI_COMBINER_VECTOR && contents->combiner != MPI_COMBINER_HVECTOR))
        return 0;
    MPIR_Datatype_access_contents(contents, &ints, &aints, &counts, &types);
    if (!HANDLE_IS_BUILTIN(types[0]))
        return 0;
    int64_t size = MPIR_Datatype_get_basic_size(types[0]);
    int64_t stride = contents->combiner == MPI_COMBINER_VECTOR ? ints[2] * size : aints[0];
    *rows_out = (struct wdl_rows) {.base = (char *) (uintptr_t) addr,.stride = stride,
                                   .bytes = (size_t) (ints[1] * size),.count = (size_t) ints[0] };
    return dt->size > 0 && dt->size == (int64_t) ints[0] * ints[1] * size;
}

static size_t host_flat_bytes(void *ctx, wdl_type type)
{
    int bytes;
    MPIR_Datatype *dt;
    (void) ctx;
    MPIR_Datatype_get_ptr((MPI_Datatype) type, dt);
    MPIR_Typerep_flatten_size(dt, &bytes);
    return (size_t) bytes;
}

static int host_flatten(void *ctx, wdl_type type, void *dst, size_t bytes)
{
    MPIR_Datatype *dt;
    (void) ctx;
    (void) bytes;
    MPIR_Datatype_get_ptr((MPI_Datatype) type, dt);
    return MPIR_Typerep_flatten(dt, dst) == MPI_SUCCESS ? WDL_OK : WDL_ERR_TYPE;
}

/* What stands in front of a flattened type; its reader believes all of it, so the numbers are
 * checked here first. */
struct flat_head {
    MPI_Aint size, extent, ub, lb, true_ub, true_lb;
    int is_contig, basic_type;
    MPI_Aint blocks;
    MPI_Aint loop_bytes;        /* of the description that follows, to the end */
    void *loop_at;              /* where it was at the sender */
};

static int flat_is_possible(const void *src, size_t bytes)
{
    struct flat_head head;
    struct wdl_element element;
    if (bytes <= sizeof head)
        return 0;
    memcpy(&head, src, sizeof head);
    if (head.loop_bytes <= 0 || (size_t) head.loop_bytes != bytes - sizeof head)
        return 0;
    if (head.size < 0 || head.blocks < 0 || head.true_ub < head.true_lb)
        return 0;
    return head.basic_type == MPI_DATATYPE_NULL || wdl_adi_element(head.basic_type, &element);
}

static int host_unflatten(void *ctx, const void *src, size_t bytes, wdl_type * type_out)
{
    (void) ctx;
    if (!flat_is_possible(src, bytes))
        return WDL_ERR_PROTO;
    MPIR_Datatype *dt = (MPIR_Datatype *) MPIR_Handle_obj_alloc(&MPIR_Datatype_mem);
    if (!dt)
        return WDL_ERR_NOMEM;
    MPIR_Object_set_ref(dt, 1);
    if (MPIR_Typerep_unflatten(dt, (void *) (uintptr_t) src) != MPI_SUCCESS) {
        MPIR_Handle_obj_free(&MPIR_Datatype_mem, dt);
        return WDL_ERR_PROTO;
    }
    dt->dev.nm_type = NULL;
    *type_out = (wdl_type) dt->handle;
    return WDL_OK;
}

static void host_type_free(void *ctx, wdl_type type)
{
    MPIR_Datatype *dt;
    (void) ctx;
    MPIR_Datatype_get_ptr((MPI_Datatype) type, dt);
    MPIR_Datatype_ptr_release(dt);
}

static void host_type_hold(void *ctx, wdl_type type)
{
    (void) ctx;
    MPIR_Datatype_add_ref_if_not_builtin((MPI_Datatype) type);
}

static void host_type_drop(void *ctx, wdl_type type)
{
    (void) ctx;
    wdl_adi_type_drop((MPI_Datatype) type);
}

static int host_type_bounds(void *ctx, wdl_type type, int64_t count, int64_t * lo_out,
                            int64_t * hi_out, size_t * stream_bytes_out)
{
    MPIR_Datatype *dt;
    int64_t last, stream;
    (void) ctx;
    if (HANDLE_IS_BUILTIN((MPI_Datatype) type)) {
        int64_t size = MPIR_Datatype_get_basic_size((MPI_Datatype) type);
        if (__builtin_mul_overflow(size, count, &stream))
            return WDL_ERR_PROTO;
        *lo_out = 0;
        *hi_out = stream;
        *stream_bytes_out = (size_t) stream;
        return WDL_OK;
    }
    MPIR_Datatype_get_ptr((MPI_Datatype) type, dt);
    if (__builtin_mul_overflow((int64_t) dt->size, count, &stream) ||
        __builtin_mul_overflow((int64_t) dt->extent, count > 0 ? count - 1 : 0, &last))
        return WDL_ERR_PROTO;
    if (__builtin_add_overflow((int64_t) dt->true_lb, last < 0 ? last : 0, lo_out) ||
        __builtin_add_overflow((int64_t) dt->true_ub, last > 0 ? last : 0, hi_out))
        return WDL_ERR_PROTO;
    *stream_bytes_out = (size_t) stream;
    return WDL_OK;
}

/* --- elements and operators ------------------------------------------------------------------- */

/* by index of a builtin type; filled once at start */
static uint8_t basic_of[MPIR_DATATYPE_N_BUILTIN];
struct wdl_element wdl_adi_builtin[256];
enum { PAIRS = 5 };
static struct wdl_element pair[PAIRS];

static void mark(enum wdl_basic basic4[4], MPI_Datatype type)
{
    if (type == MPI_DATATYPE_NULL || !HANDLE_IS_BUILTIN(type))
        return;
    MPI_Aint size = MPIR_Datatype_get_basic_size(type);
    int width = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : -1;
    if (width >= 0)
        basic_of[type & 0xff] = (uint8_t) basic4[width];
}

void wdl_adi_elements_init(void)
{
    enum wdl_basic integer[4] = { WDL_BASIC_I8, WDL_BASIC_I16, WDL_BASIC_I32, WDL_BASIC_I64 };
    enum wdl_basic natural[4] = { WDL_BASIC_U8, WDL_BASIC_U16, WDL_BASIC_U32, WDL_BASIC_U64 };
    enum wdl_basic real[4] = { WDL_BASIC_BITS, WDL_BASIC_BITS, WDL_BASIC_F32, WDL_BASIC_F64 };
    enum wdl_basic bits[4] = { WDL_BASIC_BITS, WDL_BASIC_BITS, WDL_BASIC_BITS, WDL_BASIC_BITS };
    const MPI_Datatype integers[] = {
        MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_INT8_T, MPI_INT16_T,
        MPI_INT32_T, MPI_INT64_T, MPI_AINT, MPI_OFFSET, MPI_COUNT, MPI_INTEGER, MPI_INTEGER1,
        MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8
    };
    const MPI_Datatype naturals[] = {
        MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG,
        MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T
    };
    const MPI_Datatype reals[] = {
        MPI_FLOAT, MPI_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8
    };
    const MPI_Datatype pairs[PAIRS] = {
        MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_SHORT_INT, MPI_LONG_DOUBLE_INT
    };
    for (int i = 0; i < MPIR_DATATYPE_N_BUILTIN; i++) {
        basic_of[i] = WDL_BASIC_WIDE;
        mark(bits, MPIR_Datatype_builtin[i].handle);
    }
    mark(CHAR_MIN < 0 ? integer : natural, MPI_CHAR);   /* MPICH counts with it */
    for (unsigned i = 0; i < sizeof integers / sizeof integers[0]; i++)
        mark(integer, integers[i]);
    for (unsigned i = 0; i < sizeof naturals / sizeof naturals[0]; i++)
        mark(natural, naturals[i]);
    for (unsigned i = 0; i < sizeof reals / sizeof reals[0]; i++)
        mark(real, reals[i]);
    for (int i = 0; i < MPIR_DATATYPE_N_BUILTIN; i++) {
        MPI_Datatype type = MPIR_Datatype_builtin[i].handle;
        if (type != MPI_DATATYPE_NULL && !wdl_adi_element(type, &wdl_adi_builtin[type & 0xff]))
            wdl_adi_builtin[type & 0xff].host_type = 0;
    }
    for (unsigned i = 0; i < PAIRS; i++)
        if (is_pair(pairs[i]))
            wdl_adi_element(pairs[i], &pair[i]);
}

const struct wdl_element *wdl_adi_element_of_pair(MPI_Datatype type)
{
    for (int i = 0; i < PAIRS; i++)
        if (pair[i].host_type == (uint32_t) type)
            return &pair[i];
    return NULL;
}

int wdl_adi_element(MPI_Datatype type, struct wdl_element *out)
{
    memset(out, 0, sizeof *out);
    out->host_type = (uint32_t) type;
    if (is_pair(type)) {
        MPIR_Datatype *dt;
        MPIR_Datatype_get_ptr(type, dt);
        out->packed_bytes = (uint32_t) dt->size;
        out->extent = (uint32_t) dt->extent;
        out->head = (uint8_t) (dt->true_ub == dt->size ? 0 : dt->size - (MPI_Aint) sizeof(int));
        out->basic = dt->size == dt->extent && dt->size == 8 ? WDL_BASIC_BITS : WDL_BASIC_WIDE;
        return 1;
    }
    if (!HANDLE_IS_BUILTIN(type) || HANDLE_GET_MPI_KIND(type) != MPIR_DATATYPE ||
        (type & 0xff) >= MPIR_DATATYPE_N_BUILTIN ||
        MPIR_Datatype_builtin[type & 0xff].handle != type)
        return 0;
    MPI_Aint size = MPIR_Datatype_get_basic_size(type);
    if (size <= 0 || size > 64)
        return 0;
    out->packed_bytes = out->extent = (uint32_t) size;
    out->basic = basic_of[type & 0xff];
    return 1;
}

static int host_element(void *ctx, uint32_t host_type, struct wdl_element *element_out)
{
    (void) ctx;
    return wdl_adi_element((MPI_Datatype) host_type, element_out);
}

static int is_floating(MPI_Datatype type)
{
    switch (type) {
#undef MPIR_OP_TYPE_MACRO
#define MPIR_OP_TYPE_MACRO(type, c_type, name) case type:
        MPIR_OP_TYPE_GROUP(FLOATING_POINT)
        MPIR_OP_TYPE_GROUP(FLOATING_POINT_EXTRA)
        return 1;
    default:
        return 0;
    }
}

/* MPICH's checks let these operators through on floating types, on which its functions end the
 * process. MPI knows them on C integers and logicals (MPI-4, 6.9.2); MPI_LXOR, which MPICH has on
 * floating types in reductions, stays there. */
static int land_check(MPI_Datatype type)
{
    /* its error for a type on which it knows no logical operator */
    return MPIR_LAND_check_dtype(is_floating(type) ? MPI_BYTE : type);
}

static int lor_check(MPI_Datatype type)
{
    return MPIR_LOR_check_dtype(is_floating(type) ? MPI_BYTE : type);
}

void wdl_adi_ops_init(void)
{
    MPIR_OP_HDL_TO_DTYPE_FN(MPI_LAND) = land_check;
    MPIR_OP_HDL_TO_DTYPE_FN(MPI_LOR) = lor_check;
    wdl_adi_op_init();
}

static int host_op_valid(void *ctx, uint32_t host_type, enum wdl_rop op)
{
    (void) ctx;
    if (op == WDL_ROP_REPLACE || op == WDL_ROP_NO_OP)
        return 1;
    if (op == WDL_ROP_LXOR && is_floating((MPI_Datatype) host_type))
        return 0;
    return wdl_adi_op_valid(op, (MPI_Datatype) host_type);
}

static void host_request_complete(void *ctx, void *request, int status)
{
    MPIR_Request *req = request;
    (void) ctx;
    req->status.MPI_ERROR = WDL_ADI_ERROR(status);
    MPID_Request_complete(req);
}

const struct wdl_host_ops wdl_adi_host_ops = {
    .alloc = host_alloc,
    .free = host_free,
    .now_ns = host_now_ns,
    .pack = host_pack,
    .unpack = host_unpack,
    .pieces = host_pieces,
    .rows = host_rows,
    .flat_bytes = host_flat_bytes,
    .flatten = host_flatten,
    .unflatten = host_unflatten,
    .type_free = host_type_free,
    .type_hold = host_type_hold,
    .type_drop = host_type_drop,
    .type_bounds = host_type_bounds,
    .reduce = wdl_adi_op_reduce,
    .element = host_element,
    .heavy_barrier = host_heavy_barrier,
    .thread = host_thread,
    .op_valid = host_op_valid,
    .request_complete = host_request_complete,
    .address_of = wdl_adi_address_of,
    .peer_lost = wdl_adi_peer_lost,
};
