/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * MPI's operators on floating-point types, in place of MPICH's. Those take one operand or the other
 * where zeros of different signs or NaNs meet, so that two ranks which fold the same from two sides
 * get different bits. These have the rules of rma/kernel.c: float and double by its loops, other
 * types here. Of a pair the number has these rules, too; the index is the least of those whose
 * numbers are equal (MPI-4, 6.9.4), or both NaNs.
 */
#include "op.h"
#include <math.h>
#include "mpir_op_util.h"
#include "rma.h"

/* --- by the loops ----------------------------------------------------------------------------- */

void wdl_adi_op_loop(const struct wdl_element *element, wdl_kernel_fn kernel, const char *left,
                     char *inout, size_t count)
{
    _Alignas(16) char block[512];
    const struct wdl_kernel_call call = {.element = element };
    size_t bytes = element->packed_bytes, all = count * bytes;
    if (((uintptr_t) inout & (bytes - 1)) == 0) {
        kernel(&call, inout, left, NULL, count);
        return;
    }
    for (size_t at = 0; at < all; at += sizeof block) {
        size_t n = all - at < sizeof block ? all - at : sizeof block;
        memcpy(block, inout + at, n);
        kernel(&call, block, left + at, NULL, n / bytes);
        memcpy(inout + at, block, n);
    }
}

/* Bytes of each of the two numbers a complex one is made of; 0: it is none. */
static size_t complex_half(MPI_Datatype type)
{
    switch (type) {
#undef MPIR_OP_TYPE_MACRO
#define MPIR_OP_TYPE_MACRO(mpi_type, c_type, name) case mpi_type: return sizeof(c_type) / 2;
        MPIR_OP_TYPE_GROUP(COMPLEX)
        MPIR_OP_TYPE_GROUP(COMPLEX_EXTRA)
    default:
        return 0;
    }
}

/* By operator, and by the last byte of a builtin type; fn NULL: there is none. */
static struct loop {
    MPI_Datatype type;
    wdl_kernel_fn fn;
    const struct wdl_element *element;
    int each;                   /* of them are one of the type's */
} loops[WDL_ROP_MAX + 1][256];

/* Complex numbers are added half by half. */
static void loops_find(enum wdl_rop rop, MPI_Datatype type)
{
    size_t half = rop == WDL_ROP_SUM ? complex_half(type) : 0;
    const struct wdl_element *el = wdl_adi_element_of(half == sizeof(float) ? MPI_FLOAT :
                                                      half == sizeof(double) ? MPI_DOUBLE : type);
    if (el && (el->basic == WDL_BASIC_F32 || el->basic == WDL_BASIC_F64))
        loops[rop][type & 0xff] = (struct loop){
            .type = type, .fn = wdl_kernel_typed(el, rop), .element = el, .each = half ? 2 : 1};
}

static inline int by_loop(enum wdl_rop rop, const void *in, void *inout, MPI_Aint len,
                          MPI_Datatype type)
{
    const struct loop *loop = &loops[rop][type & 0xff];
    if (loop->type != type || !loop->fn)
        return 0;
    size_t n = (size_t) len * (size_t) loop->each;
    const struct wdl_kernel_call call = {.element = loop->element };
    if (__builtin_expect(((uintptr_t) inout & (loop->element->packed_bytes - 1)) == 0, 1))
        loop->fn(&call, inout, in, NULL, n);
    else
        wdl_adi_op_loop(loop->element, loop->fn, in, inout, n);
    return 1;
}

/* --- other types ------------------------------------------------------------------------------ */

#define IS_NAN(x) isunordered(x, x)
#define IS_LESS(a, b) ((a) < (b) || ((a) <= (b) && __builtin_signbit(a)))
#define IS_MORE(a, b) ((a) > (b) || ((a) >= (b) && !__builtin_signbit(a)))
#define EXTREME(c_type, is_beyond, a, b)                                                       \
    (isunordered(a, b) ? (c_type) NAN : is_beyond(b, a) ? (b) : (a))
/* By what is wanted, the most or the least. */
#define IS_BEYOND(a, b) (most ? IS_MORE(a, b) : IS_LESS(a, b))

#define NANS_UNITE(c_type, count)                                                              \
    do {                                                                                       \
        c_type *number = inout;                                                                \
        for (MPI_Aint i = 0; i < (count); i++)                                                 \
            if (IS_NAN(number[i]))                                                             \
                number[i] = (c_type) NAN;                                                      \
    } while (0)

/* Of the results of a product of complex numbers. */
static void nans_unite(void *inout, MPI_Aint len, MPI_Datatype type)
{
    switch (complex_half(type)) {
        case 0:
            break;
        case sizeof(float):
            NANS_UNITE(float, 2 * len);
            break;
        case sizeof(double):
            NANS_UNITE(double, 2 * len);
            break;
        default:
            NANS_UNITE(long double, 2 * len);
    }
}

#define SUM_OR_PRODUCT(c_type, count)                                                          \
    do {                                                                                       \
        c_type *a = inout;                                                                     \
        const c_type *b = in;                                                                  \
        for (MPI_Aint i = 0; i < (count); i++) {                                               \
            c_type x = (c_type) (product ? a[i] * b[i] : a[i] + b[i]);                         \
            if (__builtin_expect(IS_NAN(x), 0))                                                \
                x = (c_type) NAN;                                                              \
            a[i] = x;                                                                          \
        }                                                                                      \
    } while (0)

/* Complex numbers, too, are added half by half. 0: no such type. */
__attribute__((always_inline))
static inline int sum_or_product(int product, const void *in, void *inout, MPI_Aint len,
                                 MPI_Datatype type)
{
    switch (type) {
#undef MPIR_OP_TYPE_MACRO
#define MPIR_OP_TYPE_MACRO(mpi_type, c_type, name)                                             \
    case mpi_type:                                                                             \
        SUM_OR_PRODUCT(c_type, len);                                                           \
        return 1;
        MPIR_OP_TYPE_GROUP(FLOATING_POINT)
        MPIR_OP_TYPE_GROUP(FLOATING_POINT_EXTRA)
    default:
        break;
    }
    if (product || complex_half(type) != sizeof(long double))
        return 0;
    SUM_OR_PRODUCT(long double, 2 * len);
    return 1;
}

/* 0: no such type. */
static int extremes(int most, const void *in, void *inout, MPI_Aint len, MPI_Datatype type)
{
    switch (type) {
#undef MPIR_OP_TYPE_MACRO
#define MPIR_OP_TYPE_MACRO(mpi_type, c_type, name)                                             \
    case mpi_type: {                                                                           \
        c_type *a = inout;                                                                     \
        const c_type *b = in;                                                                  \
        for (MPI_Aint i = 0; i < len; i++)                                                     \
            a[i] = EXTREME(c_type, IS_BEYOND, a[i], b[i]);                                     \
        return 1;                                                                              \
    }
        MPIR_OP_TYPE_GROUP(FLOATING_POINT)
        MPIR_OP_TYPE_GROUP(FLOATING_POINT_EXTRA)
    default:
        return 0;
    }
}

/* --- pairs ------------------------------------------------------------------------------------ */

#define PAIR_POINTERS(c_type, index_type)                                                      \
    struct pair {                                                                              \
        c_type number;                                                                         \
        index_type index;                                                                      \
    } *a = inout;                                                                              \
    const struct pair *b = in

/* As a rule what is there stays: a few at a time, with one branch. (With one for each 64 KiB took
 * 1.3 or 2.2 us, by where the compiler had put it.) Numbers that are equal and have not the same
 * bits are zeros of different signs, or, of types with bits that mean nothing, may be. */
#define STAYS(i) (most ? b[i].number < a[i].number : b[i].number > a[i].number)
#define PAIRS(mpi_type, c_type, index_type)                                                    \
    case mpi_type: {                                                                           \
        enum { FEW = 4 };                                                                      \
        PAIR_POINTERS(c_type, index_type);                                                     \
        for (MPI_Aint at = 0; at < len; at += FEW) {                                           \
            MPI_Aint end = len - at < FEW ? len : at + FEW;                                    \
            if (end - at == FEW &&                                                             \
                (STAYS(at) & STAYS(at + 1) & STAYS(at + 2) & STAYS(at + 3)))                   \
                continue;                                                                      \
            for (MPI_Aint i = at; i < end; i++) {                                              \
                c_type x = a[i].number, y = b[i].number;                                       \
                if (most ? y < x : y > x)                                                      \
                    continue;                                                                  \
                if (most ? y > x : y < x) {                                                    \
                    a[i].number = y;                                                           \
                    a[i].index = b[i].index;                                                   \
                    continue;                                                                  \
                }                                                                              \
                int before = b[i].index < a[i].index;                                          \
                if (__builtin_expect(isunordered(x, y), 0)) {                                  \
                    if (!IS_NAN(x) || (IS_NAN(y) && before))                                   \
                        a[i].index = b[i].index;                                               \
                    a[i].number = (c_type) NAN;                                                \
                    continue;                                                                  \
                }                                                                              \
                int unlike = memcmp(&a[i].number, &b[i].number, sizeof(c_type)) != 0;          \
                if (__builtin_expect(before | unlike, 0)) {                                    \
                    a[i].index = before ? b[i].index : a[i].index;                             \
                    a[i].number = EXTREME(c_type, IS_BEYOND, x, y);                            \
                }                                                                              \
            }                                                                                  \
        }                                                                                      \
        return 1;                                                                              \
    }

/* 0: no such type. */
__attribute__((always_inline))
static inline int extreme_pairs(int most, const void *in, void *inout, MPI_Aint len,
                                MPI_Datatype type)
{
    switch (type) {
        PAIRS(MPI_FLOAT_INT, float, int)
        PAIRS(MPI_DOUBLE_INT, double, int)
#if defined(HAVE_LONG_DOUBLE)
        PAIRS(MPI_LONG_DOUBLE_INT, long double, int)
#endif
#if defined(HAVE_FORTRAN_BINDING) && !defined(HAVE_NO_FORTRAN_MPI_TYPES_IN_C)
        PAIRS(MPI_2REAL, MPIR_FC_REAL_CTYPE, MPIR_FC_REAL_CTYPE)
        PAIRS(MPI_2DOUBLE_PRECISION, MPIR_FC_DOUBLE_CTYPE, MPIR_FC_DOUBLE_CTYPE)
#endif
    default:
        return 0;
    }
}

/* What is between number and index is nobody's. 0: no such type. */
#define PAIR_COPIES(mpi_type, c_type)                                                          \
    case mpi_type: {                                                                           \
        PAIR_POINTERS(c_type, int);                                                            \
        for (MPI_Aint i = 0; i < len; i++) {                                                   \
            a[i].number = b[i].number;                                                         \
            a[i].index = b[i].index;                                                           \
        }                                                                                      \
        return 1;                                                                              \
    }
static int copy_pairs(const void *in, void *inout, MPI_Aint len, MPI_Datatype type)
{
    switch (type) {
        PAIR_COPIES(MPI_DOUBLE_INT, double)
        PAIR_COPIES(MPI_LONG_INT, long)
        PAIR_COPIES(MPI_SHORT_INT, short)
#if defined(HAVE_LONG_DOUBLE)
        PAIR_COPIES(MPI_LONG_DOUBLE_INT, long double)
#endif
    default:
        return 0;
    }
}

/* --- MPICH's table ---------------------------------------------------------------------------- */

static void min(void *in, void *inout, MPI_Aint * len, MPI_Datatype * type)
{
    if (!by_loop(WDL_ROP_MIN, in, inout, *len, *type) && !extremes(0, in, inout, *len, *type))
        MPIR_MINF(in, inout, len, type);
}

static void max(void *in, void *inout, MPI_Aint * len, MPI_Datatype * type)
{
    if (!by_loop(WDL_ROP_MAX, in, inout, *len, *type) && !extremes(1, in, inout, *len, *type))
        MPIR_MAXF(in, inout, len, type);
}

static void sum(void *in, void *inout, MPI_Aint * len, MPI_Datatype * type)
{
    if (!by_loop(WDL_ROP_SUM, in, inout, *len, *type) &&
        !sum_or_product(0, in, inout, *len, *type))
        MPIR_SUM(in, inout, len, type);
}

static void prod(void *in, void *inout, MPI_Aint * len, MPI_Datatype * type)
{
    if (by_loop(WDL_ROP_PROD, in, inout, *len, *type) ||
        sum_or_product(1, in, inout, *len, *type))
        return;
    MPIR_PROD(in, inout, len, type);
    nans_unite(inout, *len, *type);
}

static void minloc(void *in, void *inout, MPI_Aint * len, MPI_Datatype * type)
{
    if (!extreme_pairs(0, in, inout, *len, *type))
        MPIR_MINLOC(in, inout, len, type);
}

static void maxloc(void *in, void *inout, MPI_Aint * len, MPI_Datatype * type)
{
    if (!extreme_pairs(1, in, inout, *len, *type))
        MPIR_MAXLOC(in, inout, len, type);
}

static void replace(void *in, void *inout, MPI_Aint * len, MPI_Datatype * type)
{
    if (!copy_pairs(in, inout, *len, *type))
        MPIR_REPLACE(in, inout, len, type);
}

static MPI_Op handle_of(enum wdl_rop rop)
{
    static const MPI_Op handle[WDL_ROP_COUNT] = {
        [WDL_ROP_SUM] = MPI_SUM, [WDL_ROP_PROD] = MPI_PROD, [WDL_ROP_MIN] = MPI_MIN,
        [WDL_ROP_MAX] = MPI_MAX, [WDL_ROP_LAND] = MPI_LAND, [WDL_ROP_LOR] = MPI_LOR,
        [WDL_ROP_LXOR] = MPI_LXOR, [WDL_ROP_BAND] = MPI_BAND, [WDL_ROP_BOR] = MPI_BOR,
        [WDL_ROP_BXOR] = MPI_BXOR, [WDL_ROP_MINLOC] = MPI_MINLOC, [WDL_ROP_MAXLOC] = MPI_MAXLOC,
        [WDL_ROP_REPLACE] = MPI_REPLACE, [WDL_ROP_NO_OP] = MPI_NO_OP
    };
    return handle[rop];
}

int wdl_adi_op_valid(enum wdl_rop rop, MPI_Datatype type)
{
    return (*MPIR_OP_HDL_TO_DTYPE_FN(handle_of(rop))) (type) == MPI_SUCCESS;
}

int wdl_adi_op_reduce(void *ctx, uint32_t host_type, enum wdl_rop rop, const void *in, void *inout,
                      int64_t count)
{
    MPI_Datatype type = (MPI_Datatype) host_type;
    MPI_Aint len = count;
    (void) ctx;
    if (rop > WDL_ROP_MAX || !by_loop(rop, in, inout, len, type))
        (*MPIR_OP_HDL_TO_FN(handle_of(rop))) ((void *) (uintptr_t) in, inout, &len, &type);
    return WDL_OK;
}

void wdl_adi_op_init(void)
{
    for (int i = 0; i < MPIR_DATATYPE_N_BUILTIN; i++)
        for (int rop = WDL_ROP_SUM; rop <= WDL_ROP_MAX; rop++)
            if (MPIR_Datatype_builtin[i].handle != MPI_DATATYPE_NULL)
                loops_find((enum wdl_rop) rop, MPIR_Datatype_builtin[i].handle);
    MPIR_OP_HDL_TO_FN(MPI_MIN) = min;
    MPIR_OP_HDL_TO_FN(MPI_MAX) = max;
    MPIR_OP_HDL_TO_FN(MPI_SUM) = sum;
    MPIR_OP_HDL_TO_FN(MPI_PROD) = prod;
    MPIR_OP_HDL_TO_FN(MPI_REPLACE) = replace;
    MPIR_OP_HDL_TO_FN(MPI_MINLOC) = minloc;
    MPIR_OP_HDL_TO_FN(MPI_MAXLOC) = maxloc;
}
