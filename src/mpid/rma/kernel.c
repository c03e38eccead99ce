/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The loops are made by macros so that each is compiled for its own type.
 */
#include "mpid/rma/kernel.h"
#include <string.h>
#include "base/assert.h"
#include "base/copy.h"

enum { BLOCK_BYTES = 64 };      /* of a plain block: eight doubles are one */
enum { RUN_BLOCKS = 8 };        /* of one inner loop, where that is worth it */
enum { PART_BYTES = 256 };      /* that are kept aside at once */
/* Old values at a time: then they are still in the nearest cache. */
enum { COPIED_BYTES = 8192, ASIDE_BYTES = 1024 };

/* Floating-point results depend neither on which operand is which nor on the loop: one NaN stands
 * for all, and where an operand is one so is the result; -0 is less than +0. Minima and maxima do
 * not depend on how they are grouped either. What is no more than `in` has a sign where that has
 * one, what is no less has none where that has none: so are zeros told apart, which compare equal.
 * `in`, `old` or both a NaN: the comparison leaves `old`. */
#define FLOAT_RULES(suffix, type, bits)                                                        \
static inline bits bits_of_##suffix(type x)                                                    \
{                                                                                              \
    bits as_bits;                                                                              \
    memcpy(&as_bits, &x, sizeof(x));                                                           \
    return as_bits;                                                                            \
}                                                                                              \
static inline type suffix##_of(bits as_bits)                                                   \
{                                                                                              \
    type x;                                                                                    \
    memcpy(&x, &as_bits, sizeof(x));                                                           \
    return x;                                                                                  \
}                                                                                              \
static inline type least_##suffix(type old, type in)                                           \
{                                                                                              \
    const bits sign = (bits) 1 << (8 * sizeof(bits) - 1);                                      \
    type least = in < old ? in : old;                                                          \
    bits as_bits = bits_of_##suffix(least) | (bits_of_##suffix(in) & sign);                    \
    return isunordered(in, least) ? (type) NAN : suffix##_of(as_bits);                         \
}                                                                                              \
static inline type most_##suffix(type old, type in)                                            \
{                                                                                              \
    const bits others = (bits) -1 >> 1;                                                        \
    type most = in > old ? in : old;                                                           \
    bits as_bits = bits_of_##suffix(most) & (bits_of_##suffix(in) | others);                   \
    return isunordered(in, most) ? (type) NAN : suffix##_of(as_bits);                          \
}
FLOAT_RULES(f32, float, uint32_t)
FLOAT_RULES(f64, double, uint64_t)

/* old = *target; *target = expression of (old, in); out = old. A compare-exchange loop works on the
 * bits. */
#define CAS_LOOP(name, type, bits, expression)                                                 \
static void name##_atomic(const struct wdl_kernel_call *call, char *target, const char *from,  \
                          char *out, size_t n)                                                 \
{                                                                                              \
    (void) call;                                                                               \
    for (size_t i = 0; i < n; i++) {                                                           \
        type old, in, new;                                                                     \
        bits old_bits, new_bits, *at = (bits *) (void *) target + i;                           \
        memcpy(&in, from + i * sizeof(in), sizeof(in));                                        \
        old_bits = __atomic_load_n(at, __ATOMIC_RELAXED);                                      \
        do {                                                                                   \
            memcpy(&old, &old_bits, sizeof(old));                                              \
            new = (type) (expression);                                                         \
            memcpy(&new_bits, &new, sizeof(new));                                              \
        } while (!__atomic_compare_exchange_n(at, &old_bits, new_bits, 0, __ATOMIC_SEQ_CST,    \
                                              __ATOMIC_RELAXED));                              \
        if (out)                                                                               \
            memcpy(out + i * sizeof(old_bits), &old_bits, sizeof(old_bits));                   \
    }                                                                                          \
}

/* The processor has an instruction for it. */
#define FETCH_LOOP(name, bits, builtin)                                                        \
static void name##_atomic(const struct wdl_kernel_call *call, char *target, const char *from,  \
                          char *out, size_t n)                                                 \
{                                                                                              \
    (void) call;                                                                               \
    for (size_t i = 0; i < n; i++) {                                                           \
        bits in, old;                                                                          \
        memcpy(&in, from + i * sizeof(in), sizeof(in));                                        \
        old = builtin((bits *) (void *) target + i, in, __ATOMIC_SEQ_CST);                     \
        if (out)                                                                               \
            memcpy(out + i * sizeof(old), &old, sizeof(old));                                  \
    }                                                                                          \
}

/* Arithmetic of several instructions wants longer inner loops in front of the others. */
#define NO_RUNS(type, expression)
#define RUNS(type, expression)                                                                 \
    for (; blocks >= RUN_BLOCKS; blocks -= RUN_BLOCKS) {                                       \
        UNROLLED                                                                               \
        for (size_t j = 0; j < RUN_BLOCKS * BLOCK_BYTES / sizeof(type); j++) {                 \
            type old = to[j], in = by[j];                                                      \
            to[j] = (type) (expression);                                                       \
        }                                                                                      \
        to += RUN_BLOCKS * BLOCK_BYTES / sizeof(type);                                         \
        by += RUN_BLOCKS * BLOCK_BYTES / sizeof(type);                                         \
    }
#if defined(__clang__) /* it does so unasked */
#define UNROLLED
#else
#define UNROLLED _Pragma("GCC unroll 4")
#endif

/* Two parameters that do not overlap, and an inner loop of known length, are the form compilers
 * turn into vector instructions at every level of optimization. Old values are copied before; where
 * out is in, that copy waits in local memory. */
#define PLAIN_FORMS(name, form, attribute, runs, type, expression)                             \
typedef type __attribute__((aligned(1), may_alias)) name##_##form##_loose;                     \
typedef type __attribute__((may_alias)) name##_##form##_exact;                                 \
attribute __attribute__((noinline))                                                            \
static void name##_##form##_straight(name##_##form##_exact *restrict to,                       \
                                     const name##_##form##_loose *restrict by, size_t blocks)  \
{                                                                                              \
    runs(type, expression)                                                                     \
    for (; blocks > 0; blocks--) {                                                             \
        for (size_t j = 0; j < BLOCK_BYTES / sizeof(type); j++) {                              \
            type old = to[j], in = by[j];                                                      \
            to[j] = (type) (expression);                                                       \
        }                                                                                      \
        to += BLOCK_BYTES / sizeof(type);                                                      \
        by += BLOCK_BYTES / sizeof(type);                                                      \
    }                                                                                          \
}                                                                                              \
attribute                                                                                      \
static void name##_##form(const struct wdl_kernel_call *call, char *target, const char *from,  \
                          char *out, size_t n)                                                 \
{                                                                                              \
    const size_t block = BLOCK_BYTES / sizeof(type);                                           \
    (void) call;                                                                               \
    char aside[ASIDE_BYTES];                                                                   \
    while (n >= block) {                                                                       \
        size_t bytes = n / block * BLOCK_BYTES;                                                \
        int apart = out && wdl_are_apart(out, from, n * sizeof(type));                         \
        if (out) {                                                                             \
            size_t most = apart ? COPIED_BYTES : ASIDE_BYTES;                                  \
            bytes = bytes < most ? bytes : most;                                               \
            memcpy(apart ? out : aside, target, bytes);                                        \
        }                                                                                      \
        name##_##form##_straight((name##_##form##_exact *) (void *) target,                    \
                                 (const name##_##form##_loose *) (const void *) from,          \
                                 bytes / BLOCK_BYTES);                                         \
        if (out) {                                                                             \
            if (!apart)                                                                        \
                memcpy(out, aside, bytes);                                                     \
            out += bytes;                                                                      \
        }                                                                                      \
        target += bytes;                                                                       \
        from += bytes;                                                                         \
        n -= bytes / sizeof(type);                                                             \
    }                                                                                          \
    for (size_t j = 0; j < n; j++) {                                                           \
        type old, in;                                                                          \
        memcpy(&old, target + j * sizeof(type), sizeof(type));                                 \
        memcpy(&in, from + j * sizeof(type), sizeof(type));                                    \
        if (out)                                                                               \
            memcpy(out + j * sizeof(type), &old, sizeof(type));                                \
        old = (type) (expression);                                                             \
        memcpy(target + j * sizeof(type), &old, sizeof(type));                                 \
    }                                                                                          \
}

#define ROWS_LOOP(name, type, expression)                                                      \
static void name##_rows(char *target, size_t stride, const char *from, size_t from_stride,     \
                        size_t n)                                                              \
{                                                                                              \
    for (; n > 0; n--) {                                                                       \
        type old, in;                                                                          \
        memcpy(&old, target, sizeof(type));                                                    \
        memcpy(&in, from, sizeof(type));                                                       \
        old = (type) (expression);                                                             \
        memcpy(target, &old, sizeof(type));                                                    \
        target += stride;                                                                      \
        from += from_stride;                                                                   \
    }                                                                                          \
}

#define PLAIN_LOOP(name, runs, type, expression)                                               \
    PLAIN_FORMS(name, plain, , runs, type, expression)                                         \
    ROWS_LOOP(name, type, expression)

/* The same for processors with wider vectors than every one of this architecture has. The widest
 * are for those that do not run slower for it: all that have VBMI2, too. */
#if defined(__x86_64__)
#define WIDE_LOOP(name, runs, type, expression)                                                \
    PLAIN_FORMS(name, wide, __attribute__((target("avx2"))), runs, type, expression)           \
    PLAIN_FORMS(name, widest, __attribute__((target("avx512f,avx512vl,avx512dq"))), runs,      \
                type, expression)
#define HAS_WIDE() __builtin_cpu_supports("avx2")
#define HAS_WIDEST()                                                                           \
    (__builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vl") &&            \
     __builtin_cpu_supports("avx512dq"))
#define FORM(name, form) name##_##form
#else
#define WIDE_LOOP(name, runs, type, expression)
#define HAS_WIDE() 0
#define HAS_WIDEST() 0
#define FORM(name, form) name##_plain
#endif

#define BY_COMPARE(name, runs, type, bits, expression)                                         \
    CAS_LOOP(name, type, bits, expression)                                                     \
    PLAIN_LOOP(name, runs, type, expression)
#define BY_FETCH(name, bits, builtin, expression)                                              \
    FETCH_LOOP(name, bits, builtin)                                                            \
    PLAIN_LOOP(name, NO_RUNS, bits, expression)

/* Integers wrap around in their unsigned form, so that no sum is undefined. */
#define INTEGER_LOOPS(suffix, type, bits)                                                      \
    BY_FETCH(sum_##suffix, bits, __atomic_fetch_add, (bits) (old + in))                        \
    BY_FETCH(band_##suffix, bits, __atomic_fetch_and, old & in)                                \
    BY_FETCH(bor_##suffix, bits, __atomic_fetch_or, old | in)                                  \
    BY_FETCH(bxor_##suffix, bits, __atomic_fetch_xor, old ^ in)                                \
    BY_COMPARE(prod_##suffix, NO_RUNS, type, bits, (bits) (1ull * (bits) old * (bits) in))     \
    BY_COMPARE(min_##suffix, NO_RUNS, type, bits, in < old ? in : old)                         \
    BY_COMPARE(max_##suffix, NO_RUNS, type, bits, in > old ? in : old)                         \
    BY_COMPARE(land_##suffix, NO_RUNS, type, bits, old && in)                                  \
    BY_COMPARE(lor_##suffix, NO_RUNS, type, bits, old || in)                                   \
    BY_COMPARE(lxor_##suffix, NO_RUNS, type, bits, !old != !in)
#define FLOAT_LOOPS(suffix, type, bits)                                                        \
    BY_COMPARE(sum_##suffix, RUNS, type, bits, wdl_one_nan_##suffix(old + in))                 \
    BY_COMPARE(prod_##suffix, RUNS, type, bits, wdl_one_nan_##suffix(old * in))                \
    BY_COMPARE(min_##suffix, RUNS, type, bits, least_##suffix(old, in))                        \
    BY_COMPARE(max_##suffix, RUNS, type, bits, most_##suffix(old, in))

/* Reading is an update that changes nothing. */
#define LOAD_LOOP(name, bits)                                                                  \
static void name##_atomic(const struct wdl_kernel_call *call, char *target, const char *from,  \
                          char *out, size_t n)                                                 \
{                                                                                              \
    (void) call;                                                                               \
    (void) from;                                                                               \
    for (size_t i = 0; out && i < n; i++) {                                                    \
        bits old = __atomic_load_n((bits *) (void *) target + i, __ATOMIC_SEQ_CST);            \
        memcpy(out + i * sizeof(old), &old, sizeof(old));                                      \
    }                                                                                          \
}

/* An operator only the host knows, on bits of this width. */
#define HOST_LOOP(name, bits)                                                                  \
static void name##_atomic(const struct wdl_kernel_call *call, char *target, const char *from,  \
                          char *out, size_t n)                                                 \
{                                                                                              \
    const struct wdl_host *host = call->host;                                                  \
    for (size_t i = 0; i < n; i++) {                                                           \
        bits in, old, new, *at = (bits *) (void *) target + i;                                 \
        memcpy(&in, from + i * sizeof(in), sizeof(in));                                        \
        old = __atomic_load_n(at, __ATOMIC_RELAXED);                                           \
        do {                                                                                   \
            new = old;                                                                         \
            host->ops->reduce(host->ctx, call->element->host_type, call->op, &in, &new, 1);    \
        } while (!__atomic_compare_exchange_n(at, &old, new, 0, __ATOMIC_SEQ_CST,              \
                                              __ATOMIC_RELAXED));                              \
        if (out)                                                                               \
            memcpy(out + i * sizeof(old), &old, sizeof(old));                                  \
    }                                                                                          \
}

#define WIDTH_LOOPS(suffix, bits)                                                              \
    FETCH_LOOP(swap_##suffix, bits, __atomic_exchange_n)                                       \
    LOAD_LOOP(load_##suffix, bits)                                                             \
    HOST_LOOP(host_##suffix, bits)

INTEGER_LOOPS(i8, int8_t, uint8_t)
INTEGER_LOOPS(u8, uint8_t, uint8_t)
INTEGER_LOOPS(i16, int16_t, uint16_t)
INTEGER_LOOPS(u16, uint16_t, uint16_t)
INTEGER_LOOPS(i32, int32_t, uint32_t)
INTEGER_LOOPS(u32, uint32_t, uint32_t)
INTEGER_LOOPS(i64, int64_t, uint64_t)
INTEGER_LOOPS(u64, uint64_t, uint64_t)
FLOAT_LOOPS(f32, float, uint32_t)
FLOAT_LOOPS(f64, double, uint64_t)
/* Arithmetic is what long accumulates are made of, and has no instruction in every vector. */
#define WIDE_EXTREME_LOOPS(suffix, type)                                                       \
    WIDE_LOOP(min_##suffix, NO_RUNS, type, in < old ? in : old)                                \
    WIDE_LOOP(max_##suffix, NO_RUNS, type, in > old ? in : old)
#define WIDE_INTEGER_LOOPS(signed_suffix, signed_type, suffix, type)                           \
    WIDE_LOOP(sum_##suffix, NO_RUNS, type, (type) (old + in))                                  \
    WIDE_LOOP(prod_##suffix, NO_RUNS, type, (type) (1u * old * in))                            \
    WIDE_EXTREME_LOOPS(suffix, type)                                                           \
    WIDE_EXTREME_LOOPS(signed_suffix, signed_type)
#define WIDE_FLOAT_LOOPS(suffix, type)                                                         \
    WIDE_LOOP(sum_##suffix, RUNS, type, wdl_one_nan_##suffix(old + in))                        \
    WIDE_LOOP(prod_##suffix, RUNS, type, wdl_one_nan_##suffix(old * in))                       \
    WIDE_LOOP(min_##suffix, RUNS, type, least_##suffix(old, in))                               \
    WIDE_LOOP(max_##suffix, RUNS, type, most_##suffix(old, in))
WIDE_INTEGER_LOOPS(i8, int8_t, u8, uint8_t)
WIDE_INTEGER_LOOPS(i16, int16_t, u16, uint16_t)
WIDE_INTEGER_LOOPS(i32, int32_t, u32, uint32_t)
WIDE_INTEGER_LOOPS(i64, int64_t, u64, uint64_t)
WIDE_FLOAT_LOOPS(f32, float)
WIDE_FLOAT_LOOPS(f64, double)
WIDTH_LOOPS(8, uint8_t)
WIDTH_LOOPS(16, uint16_t)
WIDTH_LOOPS(32, uint32_t)
WIDTH_LOOPS(64, uint64_t)

/* Plain forms that are the same for every width. Old values go out a cache's worth at a time, or,
 * where out and in share memory, after the new ones have been kept aside. */
static void swap_plain(const struct wdl_kernel_call *call, char *target, const char *in, char *out,
                       size_t n)
{
    size_t bytes = n * call->element->packed_bytes, most = bytes;
    char aside[ASIDE_BYTES];
    int apart = !out || wdl_are_apart(out, in, bytes);
    if (out)
        most = apart ? COPIED_BYTES : ASIDE_BYTES;
    for (size_t at = 0; at < bytes; at += most) {
        size_t part = bytes - at < most ? bytes - at : most;
        const char *from = in + at;
        if (!apart)
            from = memcpy(aside, in + at, part);
        if (out)
            wdl_copy(out + at, target + at, part);
        wdl_copy(target + at, from, part);
    }
}

static void load_plain(const struct wdl_kernel_call *call, char *target, const char *in, char *out,
                       size_t n)
{
    (void) in;
    if (out)
        wdl_copy(out, target, n * call->element->packed_bytes);
}

static void host_plain(const struct wdl_kernel_call *call, char *target, const char *in, char *out,
                       size_t n)
{
    const struct wdl_host *host = call->host;
    size_t bytes = n * call->element->packed_bytes;
    if (!out && ((uintptr_t) in & (call->element->packed_bytes - 1)) == 0) {
        host->ops->reduce(host->ctx, call->element->host_type, call->op, in, target, (int64_t) n);
        return;
    }
    _Alignas(16) char block[PART_BYTES];
    for (size_t at = 0; at < bytes; at += sizeof(block)) {
        size_t part = bytes - at < sizeof(block) ? bytes - at : sizeof(block);
        memcpy(block, in + at, part);
        if (out)
            memcpy(out + at, target + at, part);
        host->ops->reduce(host->ctx, call->element->host_type, call->op, block, target + at,
                          (int64_t) (part / call->element->packed_bytes));
    }
}

#define INTEGER_ROW(K, s)                                                                      \
    {[WDL_ROP_SUM] = K(sum_##s), [WDL_ROP_PROD] = K(prod_##s), [WDL_ROP_MIN] = K(min_##s),     \
     [WDL_ROP_MAX] = K(max_##s), [WDL_ROP_LAND] = K(land_##s), [WDL_ROP_LOR] = K(lor_##s),     \
     [WDL_ROP_LXOR] = K(lxor_##s), [WDL_ROP_BAND] = K(band_##s), [WDL_ROP_BOR] = K(bor_##s),   \
     [WDL_ROP_BXOR] = K(bxor_##s)}
#define FLOAT_ROW(K, s)                                                                        \
    {[WDL_ROP_SUM] = K(sum_##s), [WDL_ROP_PROD] = K(prod_##s), [WDL_ROP_MIN] = K(min_##s),     \
     [WDL_ROP_MAX] = K(max_##s)}
#define KERNEL(name) {name##_atomic, name##_plain, name##_rows}
#define FORM_KERNEL(name, form) {name##_atomic, FORM(name, form), name##_rows}
/* Sums and products of signed integers are the unsigned ones'. */
#define FORM_ROW(s, unsigned_s, form)                                                          \
    {[WDL_ROP_SUM] = FORM_KERNEL(sum_##unsigned_s, form),                                      \
     [WDL_ROP_PROD] = FORM_KERNEL(prod_##unsigned_s, form),                                    \
     [WDL_ROP_MIN] = FORM_KERNEL(min_##s, form), [WDL_ROP_MAX] = FORM_KERNEL(max_##s, form)}
#define FORM_TABLE(form)                                                                       \
    {[WDL_BASIC_I8] = FORM_ROW(i8, u8, form), [WDL_BASIC_U8] = FORM_ROW(u8, u8, form),         \
     [WDL_BASIC_I16] = FORM_ROW(i16, u16, form), [WDL_BASIC_U16] = FORM_ROW(u16, u16, form),   \
     [WDL_BASIC_I32] = FORM_ROW(i32, u32, form), [WDL_BASIC_U32] = FORM_ROW(u32, u32, form),   \
     [WDL_BASIC_I64] = FORM_ROW(i64, u64, form), [WDL_BASIC_U64] = FORM_ROW(u64, u64, form),   \
     [WDL_BASIC_F32] = FORM_ROW(f32, f32, form), [WDL_BASIC_F64] = FORM_ROW(f64, f64, form)}

static const struct wdl_kernel typed[WDL_BASIC_COUNT][WDL_ROP_COUNT] = {
    [WDL_BASIC_I8] = INTEGER_ROW(KERNEL, i8), [WDL_BASIC_U8] = INTEGER_ROW(KERNEL, u8),
    [WDL_BASIC_I16] = INTEGER_ROW(KERNEL, i16), [WDL_BASIC_U16] = INTEGER_ROW(KERNEL, u16),
    [WDL_BASIC_I32] = INTEGER_ROW(KERNEL, i32), [WDL_BASIC_U32] = INTEGER_ROW(KERNEL, u32),
    [WDL_BASIC_I64] = INTEGER_ROW(KERNEL, i64), [WDL_BASIC_U64] = INTEGER_ROW(KERNEL, u64),
    [WDL_BASIC_F32] = FLOAT_ROW(KERNEL, f32), [WDL_BASIC_F64] = FLOAT_ROW(KERNEL, f64)
};

static const struct wdl_kernel wide[][WDL_BASIC_COUNT][WDL_ROP_COUNT] = {
    [WDL_VECTORS_WIDE] = FORM_TABLE(wide), [WDL_VECTORS_WIDEST] = FORM_TABLE(widest)
};

enum { SWAP, LOAD, HOST };
#define WIDTH_KERNELS(s)                                                                       \
    {{swap_##s##_atomic, swap_plain, NULL}, {load_##s##_atomic, load_plain, NULL},             \
     {host_##s##_atomic, host_plain, NULL}}
static const struct wdl_kernel by_width[4][3] = {       /* by log2 of the width */
    WIDTH_KERNELS(8), WIDTH_KERNELS(16), WIDTH_KERNELS(32), WIDTH_KERNELS(64)
};

static int width_index(size_t bytes)
{
    return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : -1;
}

/* Of an operator the type has no loop of its own for. */
static int other_loop(enum wdl_rop op)
{
    return op == WDL_ROP_REPLACE ? SWAP : op == WDL_ROP_NO_OP ? LOAD : HOST;
}

wdl_static_assert((int) WDL_BASIC_WIDE + 1 == (int) WDL_BASIC_COUNT);

wdl_kernel_fn wdl_kernel_atomic(const struct wdl_element *element, enum wdl_rop op)
{
    if (typed[element->basic][op].atomic)
        return typed[element->basic][op].atomic;
    return by_width[width_index(element->packed_bytes)][other_loop(op)].atomic;
}

wdl_kernel_fn wdl_kernel_typed(const struct wdl_element *element, enum wdl_rop op)
{
    if (!wdl_kernel_has(element) || !typed[element->basic][op].plain)
        return NULL;
    return wdl_kernel_find(element, op)->plain;
}

enum wdl_vectors wdl_kernel_vectors(void)
{
    return HAS_WIDEST() ? WDL_VECTORS_WIDEST : HAS_WIDE() ? WDL_VECTORS_WIDE : WDL_VECTORS_ANY;
}

const struct wdl_kernel *wdl_kernel_of(const struct wdl_element *element, enum wdl_rop op,
                                       enum wdl_vectors vectors)
{
    wdl_assert(wdl_kernel_has(element));
    wdl_assert_cmp(op, <, WDL_ROP_COUNT);
    if (wide[vectors][element->basic][op].plain)
        return &wide[vectors][element->basic][op];
    if (typed[element->basic][op].plain)
        return &typed[element->basic][op];
    return &by_width[width_index(element->packed_bytes)][other_loop(op)];
}

const struct wdl_kernel *wdl_kernel_find(const struct wdl_element *element, enum wdl_rop op)
{
    return wdl_kernel_of(element, op, wdl_kernel_vectors());
}

#define COMPARE_SWAP(name, bits)                                                               \
static void name(char *target, const void *compare, const void *value, void *result)           \
{                                                                                              \
    bits expected, wanted;                                                                     \
    memcpy(&expected, compare, sizeof(expected));                                              \
    memcpy(&wanted, value, sizeof(wanted));                                                    \
    __atomic_compare_exchange_n((bits *) (void *) target, &expected, wanted, 0, __ATOMIC_SEQ_CST, \
                                __ATOMIC_SEQ_CST);                                             \
    memcpy(result, &expected, sizeof(expected));                                               \
}
COMPARE_SWAP(compare_swap_8, uint8_t)
COMPARE_SWAP(compare_swap_16, uint16_t)
COMPARE_SWAP(compare_swap_32, uint32_t)
COMPARE_SWAP(compare_swap_64, uint64_t)

#define SWAP_PLAIN(name, bits)                                                                 \
static void name(char *target, const void *compare, const void *value, void *result)           \
{                                                                                              \
    bits old, expected, wanted;                                                                \
    memcpy(&old, target, sizeof(old));                                                         \
    memcpy(&expected, compare, sizeof(expected));                                              \
    memcpy(&wanted, value, sizeof(wanted));                                                    \
    if (old == expected)                                                                       \
        memcpy(target, &wanted, sizeof(wanted));                                               \
    memcpy(result, &old, sizeof(old));                                                         \
}
SWAP_PLAIN(swap_plain_8, uint8_t)
SWAP_PLAIN(swap_plain_16, uint16_t)
SWAP_PLAIN(swap_plain_32, uint32_t)
SWAP_PLAIN(swap_plain_64, uint64_t)

void wdl_kernel_compare_swap(size_t bytes, char *target, const void *compare, const void *value,
                             void *result)
{
    static void (*const swap[4]) (char *, const void *, const void *, void *) = {
        compare_swap_8, compare_swap_16, compare_swap_32, compare_swap_64
    };
    swap[width_index(bytes)] (target, compare, value, result);
}

void wdl_kernel_swap_plain(size_t bytes, char *target, const void *compare, const void *value,
                           void *result)
{
    static void (*const swap[4]) (char *, const void *, const void *, void *) = {
        swap_plain_8, swap_plain_16, swap_plain_32, swap_plain_64
    };
    swap[width_index(bytes)] (target, compare, value, result);
}
