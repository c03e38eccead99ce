/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * acc_types [FLAVOUR] [N]: accumulates of every predefined type of MPI (of every N-th), Fortran's,
 * C++'s and optional ones included, where this MPI has them, with every operator that is legal for
 * it, from all ranks at one location in a window of the flavour.
 *
 * Rank r adds K times the same element; operands are chosen so that the result is exact in every
 * type and does not depend on the order, and it is computed by a serial loop in the type itself.
 * MPI_Accumulate, MPI_Get_accumulate and MPI_Fetch_and_op take part in turns, on three elements
 * that begin at an odd multiple of the type's size. The old values that MPI_SUM of ones brings
 * back must be a permutation of 0, 1, 2, ...
 */
#include "testing.h"
#include <complex.h>
#include <stdbool.h>
#include <wchar.h>

enum { TURNS = 4, ELEMENTS = 3, CALLS = 3, MANY = 700, BYTES_MAX = 64 };
/* PLAIN: no arithmetic, MPI_REPLACE and MPI_NO_OP alone */
enum kind { INTEGER, FLOATING, COMPLEX, LOGICAL, BYTE, PLAIN, PAIR };

/* Fortran's REAL*16 */
#ifdef __SIZEOF_FLOAT128__
__extension__ typedef __float128 real16;
#else
typedef long double real16;
#endif

/* How a type is computed with: one entry per C type. */
struct arith {
    void (*set)(void *to, int value);
    void (*apply)(MPI_Op op, const void *by, void *to);
    int (*differ)(const void *a, const void *b); /* compares values, not padding */
};

/* clang-format off: one column of backslashes, one entry a type */
#define COMMON(name, T)                                    \
    static void name##_set(void *to, int value)            \
    {                                                      \
        *(T *) to = (T) value;                             \
    }                                                      \
    static int name##_differ(const void *a, const void *b) \
    {                                                      \
        return *(const T *) a != *(const T *) b;           \
    }

#define ORDERED(op, a, b)   \
    if (op == MPI_MIN)      \
        b = a < b ? a : b;  \
    else if (op == MPI_MAX) \
        b = a > b ? a : b;

#define FIELD(op, T, a, b)      \
    if (op == MPI_SUM)          \
        b = (T) (b + a);        \
    else if (op == MPI_PROD)    \
        b = (T) (b * a);        \
    else if (op == MPI_REPLACE) \
        b = a;

#define LOGIC(op, T, a, b)   \
    if (op == MPI_LAND)      \
        b = (T) (b && a);    \
    else if (op == MPI_LOR)  \
        b = (T) (b || a);    \
    else if (op == MPI_LXOR) \
        b = (T) (!b != !a);

#define BITS(op, T, a, b)    \
    if (op == MPI_BAND)      \
        b = (T) (b & a);     \
    else if (op == MPI_BOR)  \
        b = (T) (b | a);     \
    else if (op == MPI_BXOR) \
        b = (T) (b ^ a);

#define INTEGER_ARITH(name, T)                                                                    \
    COMMON(name, T)                                                                               \
    static void name##_apply(MPI_Op op, const void *by, void *to)                                 \
    {                                                                                             \
        T a = *(const T *) by, b = *(T *) to;                                                     \
        FIELD(op, T, a, b) ORDERED(op, a, b) LOGIC(op, T, a, b) BITS(op, T, a, b) * (T *) to = b; \
    }                                                                                             \
    static const struct arith name = {name##_set, name##_apply, name##_differ};

#define LOGICAL_ARITH(name, T)                                    \
    COMMON(name, T)                                               \
    static void name##_apply(MPI_Op op, const void *by, void *to) \
    {                                                             \
        T a = *(const T *) by, b = *(T *) to;                     \
        LOGIC(op, T, a, b)                                        \
        *(T *) to = op == MPI_REPLACE ? a : b;                    \
    }                                                             \
    static const struct arith name = {name##_set, name##_apply, name##_differ};

#define FLOATING_ARITH(name, T)                                   \
    COMMON(name, T)                                               \
    static void name##_apply(MPI_Op op, const void *by, void *to) \
    {                                                             \
        T a = *(const T *) by, b = *(T *) to;                     \
        FIELD(op, T, a, b) ORDERED(op, a, b) * (T *) to = b;      \
    }                                                             \
    static const struct arith name = {name##_set, name##_apply, name##_differ};

#define COMPLEX_ARITH(name, T)                                    \
    static void name##_set(void *to, int value)                   \
    {                                                             \
        *(T *) to = (T) (value + value * I);                      \
    }                                                             \
    static int name##_differ(const void *a, const void *b)        \
    {                                                             \
        return *(const T *) a != *(const T *) b;                  \
    }                                                             \
    static void name##_apply(MPI_Op op, const void *by, void *to) \
    {                                                             \
        T a = *(const T *) by, b = *(T *) to;                     \
        FIELD(op, T, a, b)                                        \
        *(T *) to = b;                                            \
    }                                                             \
    static const struct arith name = {name##_set, name##_apply, name##_differ};

#define PAIR_ARITH(name, T, A)                                                         \
    struct pair_##name {                                                               \
        T value;                                                                       \
        A at;                                                                          \
    };                                                                                 \
    static void name##_set(void *to, int value)                                        \
    {                                                                                  \
        struct pair_##name *p = to;                                                    \
        p->value = (T) (value / 4); /* several share a value: the lower index wins */  \
        p->at = 100 - value;                                                           \
    }                                                                                  \
    static int name##_differ(const void *a, const void *b)                             \
    {                                                                                  \
        const struct pair_##name *p = a, *q = b;                                       \
        return p->value != q->value || p->at != q->at;                                 \
    }                                                                                  \
    static void name##_apply(MPI_Op op, const void *by, void *to)                      \
    {                                                                                  \
        const struct pair_##name *a = by;                                              \
        struct pair_##name *b = to;                                                    \
        int tie = a->value == b->value && a->at < b->at;                               \
        if ((op == MPI_MINLOC && (a->value < b->value || tie)) ||                      \
            (op == MPI_MAXLOC && (a->value > b->value || tie)) || op == MPI_REPLACE) { \
            b->value = a->value;                                                       \
            b->at = a->at;                                                             \
        }                                                                              \
    }                                                                                  \
    static const struct arith name = {name##_set, name##_apply, name##_differ};

INTEGER_ARITH(i8, int8_t)
INTEGER_ARITH(i16, int16_t)
INTEGER_ARITH(i32, int32_t)
INTEGER_ARITH(i64, int64_t)
INTEGER_ARITH(u8, uint8_t)
INTEGER_ARITH(u16, uint16_t)
INTEGER_ARITH(u32, uint32_t)
INTEGER_ARITH(u64, uint64_t)
LOGICAL_ARITH(boolean, bool)
LOGICAL_ARITH(logical, MPI_Fint)
FLOATING_ARITH(f32, float)
FLOATING_ARITH(f64, double)
FLOATING_ARITH(fld, long double)
FLOATING_ARITH(f128, real16)
COMPLEX_ARITH(c32, float complex)
COMPLEX_ARITH(c64, double complex)
COMPLEX_ARITH(cld, long double complex)
PAIR_ARITH(p_float, float, int)
PAIR_ARITH(p_double, double, int)
PAIR_ARITH(p_long, long, int)
PAIR_ARITH(p_int, int, int)
PAIR_ARITH(p_short, short, int)
PAIR_ARITH(p_ld, long double, int)
PAIR_ARITH(p_reals, float, float)
PAIR_ARITH(p_doubles, double, double)
PAIR_ARITH(p_integers, MPI_Fint, MPI_Fint)

/* clang-format on */

struct type {
    const char *name;
    MPI_Datatype type;
    enum kind kind;
    const struct arith *arith;
    size_t bytes; /* of the C type, padding included */
};

/* By size: MPI_LONG and its like, whose C type has another name than intN_t. */
static const struct arith *by_size(size_t bytes, int is_signed)
{
    switch (bytes) {
    case 1:
        return is_signed ? &i8 : &u8;
    case 2:
        return is_signed ? &i16 : &u16;
    case 4:
        return is_signed ? &i32 : &u32;
    default:
        return is_signed ? &i64 : &u64;
    }
}

/* clang-format off */
#define SIGNED(t, C) { #t, t, INTEGER, NULL, sizeof(C) },
#define UNSIGNED(t, C) { #t, t, INTEGER, NULL, sizeof(C) | 0x100 },
#define OTHER(t, kind, arith, C) { #t, t, kind, &arith, sizeof(C) },
/* clang-format on */

static struct t_win w;
static char *own; /* the start of my window */

/* Which operators does MPI-4, section 6.9.2, allow for a kind? */
static int is_legal(MPI_Op op, enum kind kind)
{
    if (op == MPI_REPLACE || op == MPI_NO_OP)
        return 1;
    if (op == MPI_SUM || op == MPI_PROD)
        return kind == INTEGER || kind == FLOATING || kind == COMPLEX;
    if (op == MPI_MIN || op == MPI_MAX)
        return kind == INTEGER || kind == FLOATING;
    if (op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR)
        return kind == INTEGER || kind == LOGICAL;
    if (op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR)
        return kind == INTEGER || kind == BYTE;
    return kind == PAIR;
}

/* What rank r gives in its k-th turn, so that results are exact in 8 bits: products stay within
 * 16. */
static int operand(MPI_Op op, int r, int k)
{
    if (op == MPI_SUM)
        return 1;
    if (op == MPI_PROD)
        return r < 4 && k == 0 ? 2 : 1;
    if (op == MPI_REPLACE)
        return 77;
    if (op == MPI_BAND)
        return 0x7f & ~(1 << (r + k) % 3);
    if (op == MPI_BOR || op == MPI_BXOR)
        return 1 << (r * 2 + k) % 7;
    if (op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR)
        return (r + k) % 3 == 1 || op == MPI_LAND;
    return (r * 7 + k * 3) % 40 + 1; /* minima, maxima */
}

static int initial(MPI_Op op)
{
    return op == MPI_PROD || op == MPI_LAND || op == MPI_REPLACE ? 1
           : op == MPI_BAND                                      ? 0x7f
           : op == MPI_MIN || op == MPI_MINLOC                   ? 90
           : op == MPI_NO_OP                                     ? 5
                                                                 : 0;
}

static void element(const struct type *t, void *to, MPI_Op op, int r, int k)
{
    memset(to, 0, t->bytes);
    t->arith->set(to,
                  t->kind == COMPLEX && op == MPI_PROD ? operand(op, r, k) / 2 : operand(op, r, k));
}

/* One turn of one rank by one of the three calls; `old` receives what was there before. */
static void turn(const struct type *t, MPI_Op op, int call, int k, char *from, char *old)
{
    MPI_Aint at = w.at[0] + (MPI_Aint) t->bytes;
    for (int i = 0; i < ELEMENTS; i++)
        element(t, from + (size_t) i * t->bytes, op, w.rank, k);
    if (call == 0 && op != MPI_NO_OP) {
        MPI_Accumulate(from, ELEMENTS, t->type, 0, at, ELEMENTS, t->type, op, w.win);
    } else if (call == 1) {
        MPI_Get_accumulate(from, ELEMENTS, t->type, old, ELEMENTS, t->type, 0, at, ELEMENTS,
                           t->type, op, w.win);
    } else {
        for (int i = 0; i < ELEMENTS; i++)
            MPI_Fetch_and_op(from + (size_t) i * t->bytes, old + (size_t) i * t->bytes, t->type, 0,
                             at + i * (MPI_Aint) t->bytes, op, w.win);
    }
    MPI_Win_flush(0, w.win);
}

static void result_check(const struct type *t, MPI_Op op, const char *name)
{
    char want[BYTES_MAX] __attribute__((aligned(16))) = {0},
                         by[BYTES_MAX] __attribute__((aligned(16)));
    t->arith->set(want, initial(op));
    for (int r = 0; r < w.size; r++)
        for (int k = 0; k < TURNS * CALLS; k++) {
            if (op == MPI_NO_OP)
                continue;
            element(t, by, op, r, k / CALLS);
            t->arith->apply(op, by, want);
        }
    for (int i = 0; i < ELEMENTS + 2; i++) {
        char have[BYTES_MAX] __attribute__((aligned(16))) = {0}, untouched[BYTES_MAX] = {0};
        memcpy(have, own + (size_t) i * t->bytes, t->bytes);
        if (i == 0 || i == ELEMENTS + 1)
            t_check(memcmp(have, untouched, t->bytes) == 0, "%s, %s: touched beside the target",
                    t->name, name);
        else
            t_check(!t->arith->differ(have, want), "%s, %s: element %d is wrong", t->name, name,
                    i - 1);
    }
}

/* All the old values of ones summed up, of all ranks: each of 0 .. n-1 once, if only fetching
 * calls took part. */
static void olds_check(const struct type *t, const int *seen, int n)
{
    int *all = t_alloc(sizeof *all * (size_t) n);
    MPI_Allreduce(seen, all, n, MPI_INT, MPI_SUM, w.comm);
    for (int i = 0; i < n; i++)
        t_check(all[i] == ELEMENTS, "%s, sum: the old value %d came %d times", t->name, i, all[i]);
    free(all);
}

static void window_set(const struct type *t, int value)
{
    if (w.rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win);
        memset(own, 0, (ELEMENTS + 2) * t->bytes);
        for (int i = 1; value && i <= ELEMENTS; i++)
            t->arith->set(own + (size_t) i * t->bytes, value);
        MPI_Win_unlock(0, w.win);
    }
    MPI_Barrier(w.comm);
}

static void run(const struct type *t, MPI_Op op, const char *name)
{
    char from[ELEMENTS * BYTES_MAX] __attribute__((aligned(16))),
        old[ELEMENTS * BYTES_MAX] __attribute__((aligned(16)));
    window_set(t, initial(op));
    MPI_Win_lock_all(0, w.win);
    for (int k = 0; k < TURNS * CALLS; k++)
        turn(t, op, k % CALLS, k / CALLS, from, old);
    if (op == MPI_NO_OP || op == MPI_REPLACE) {
        char want[BYTES_MAX] __attribute__((aligned(16)));
        memset(want, 0, sizeof want);
        t->arith->set(want, op == MPI_NO_OP ? initial(op) : 77);
        for (int i = 0; i < ELEMENTS; i++)
            t_check(!t->arith->differ(old + (size_t) i * t->bytes, want),
                    "%s, %s: brought another value", t->name, name);
    }
    MPI_Win_unlock_all(w.win);
    MPI_Barrier(w.comm);
    if (w.rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win);
        result_check(t, op, name);
        MPI_Win_unlock(0, w.win);
    }
}

/* Sums of ones by fetching calls alone. */
static void run_olds(const struct type *t)
{
    char from[ELEMENTS * BYTES_MAX] __attribute__((aligned(16))),
        old[ELEMENTS * BYTES_MAX] __attribute__((aligned(16)));
    char value[BYTES_MAX] __attribute__((aligned(16)));
    int turns = 5, n = turns * w.size;
    int *seen = calloc((size_t) n, sizeof *seen);
    window_set(t, 0);
    MPI_Win_lock_all(0, w.win);
    for (int k = 0; k < turns; k++) {
        turn(t, MPI_SUM, 1 + (k + w.rank) % 2, 1, from, old);
        for (int i = 0; i < ELEMENTS; i++)
            for (int v = 0; v < n; v++) {
                memset(value, 0, sizeof value);
                t->arith->set(value, v);
                seen[v] += !t->arith->differ(value, old + (size_t) i * t->bytes);
            }
    }
    MPI_Win_unlock_all(w.win);
    olds_check(t, seen, n);
    free(seen);
}

/* Many sums of ones without waiting in between: nothing is lost (small types wrap around). */
static void run_many(const struct type *t)
{
    char from[ELEMENTS * BYTES_MAX] __attribute__((aligned(16))),
        old[ELEMENTS * BYTES_MAX] __attribute__((aligned(16)));
    char want[BYTES_MAX] __attribute__((aligned(16))) = {0};
    MPI_Aint at = w.at[0] + (MPI_Aint) t->bytes;
    window_set(t, 0);
    for (int i = 0; i < ELEMENTS; i++)
        element(t, from + (size_t) i * t->bytes, MPI_SUM, 0, 0);
    MPI_Win_lock_all(0, w.win);
    for (int k = 0; k < MANY; k++) {
        MPI_Accumulate(from, ELEMENTS, t->type, 0, at, ELEMENTS, t->type, MPI_SUM, w.win);
        if (k % 64 == 63) {
            MPI_Get_accumulate(NULL, 0, t->type, old, ELEMENTS, t->type, 0, at, ELEMENTS, t->type,
                               MPI_NO_OP, w.win);
            MPI_Win_flush(0, w.win);
        }
    }
    MPI_Win_unlock_all(w.win);
    MPI_Barrier(w.comm);
    t->arith->set(want, MANY * w.size);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win);
    for (int i = 1; w.rank == 0 && i <= ELEMENTS; i++)
        t_check(!t->arith->differ(own + (size_t) i * t->bytes, want),
                "%s: %d sums, and updates were lost", t->name, MANY * w.size);
    MPI_Win_unlock(0, w.win);
}

/* Compare-and-swap: rank after rank increments; the values pass through 0, 1, 2, ... whoever
 * does it. */
static void run_cas(const struct type *t)
{
    char now[BYTES_MAX] __attribute__((aligned(16))), next[BYTES_MAX] __attribute__((aligned(16)));
    char old[BYTES_MAX] __attribute__((aligned(16)));
    int limit = t->kind == LOGICAL ? 1 : 100, swaps = 0, all;
    MPI_Aint at = w.at[0] + (MPI_Aint) t->bytes;
    window_set(t, 0);
    MPI_Win_lock_all(0, w.win);
    for (int v = 0; v < limit;) {
        memset(now, 0, sizeof now);
        memset(next, 0, sizeof next);
        t->arith->set(now, v);
        t->arith->set(next, v + 1);
        MPI_Compare_and_swap(next, now, old, t->type, 0, at, w.win);
        MPI_Win_flush(0, w.win);
        if (t->arith->differ(old, now)) {
            for (v = 0; v < limit && (t->arith->set(now, v), t->arith->differ(old, now)); v++)
                ;
        } else {
            swaps++;
            v++;
        }
    }
    MPI_Win_unlock_all(w.win);
    MPI_Allreduce(&swaps, &all, 1, MPI_INT, MPI_SUM, w.comm);
    t_check(all == limit, "%s, compare_and_swap: %d swaps succeeded instead of %d", t->name, all,
            limit);
}

static void run_flavour(const struct type *types, int n, int step, enum t_flavour flavour)
{
    static const struct {
        const char *name;
        MPI_Op op;
    } ops[] = {
        {"sum", MPI_SUM},         {"prod", MPI_PROD},     {"min", MPI_MIN},
        {"max", MPI_MAX},         {"land", MPI_LAND},     {"lor", MPI_LOR},
        {"lxor", MPI_LXOR},       {"band", MPI_BAND},     {"bor", MPI_BOR},
        {"bxor", MPI_BXOR},       {"minloc", MPI_MINLOC}, {"maxloc", MPI_MAXLOC},
        {"replace", MPI_REPLACE}, {"no_op", MPI_NO_OP},
    };
    w = t_win_make(MPI_COMM_WORLD, flavour, (ELEMENTS + 2) * BYTES_MAX, 1);
    own = w.base;
    for (int i = 0; i < n; i += step) {
        struct type t = types[i];
        if (t.type == MPI_DATATYPE_NULL) /* Fortran's, in an MPI without Fortran */
            continue;
        if (!t.arith)
            t.arith = by_size(t.bytes & 0xff, !(t.bytes & 0x100));
        t.bytes &= 0xff;
        for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
            if (is_legal(ops[k].op, t.kind))
                run(&t, ops[k].op, ops[k].name);
        if (t.kind == INTEGER || t.kind == FLOATING || t.kind == COMPLEX)
            run_olds(&t), run_many(&t);
        if (t.kind == INTEGER || t.kind == LOGICAL || t.kind == BYTE)
            run_cas(&t);
    }
    t_win_free(&w);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    /* clang-format off */
    const struct type types[] = {
        SIGNED(MPI_SIGNED_CHAR, char) SIGNED(MPI_SHORT, short) SIGNED(MPI_INT, int)
        SIGNED(MPI_LONG, long) SIGNED(MPI_LONG_LONG, long long) SIGNED(MPI_INT8_T, int8_t)
        SIGNED(MPI_INT16_T, int16_t) SIGNED(MPI_INT32_T, int32_t) SIGNED(MPI_INT64_T, int64_t)
        SIGNED(MPI_AINT, MPI_Aint) SIGNED(MPI_OFFSET, MPI_Offset) SIGNED(MPI_COUNT, MPI_Count)
        UNSIGNED(MPI_UNSIGNED_CHAR, char) UNSIGNED(MPI_UNSIGNED_SHORT, short)
        UNSIGNED(MPI_UNSIGNED, int)
        UNSIGNED(MPI_UNSIGNED_LONG, long) UNSIGNED(MPI_UNSIGNED_LONG_LONG, long long)
        UNSIGNED(MPI_UINT8_T, int8_t) UNSIGNED(MPI_UINT16_T, int16_t)
        UNSIGNED(MPI_UINT32_T, int32_t)
        UNSIGNED(MPI_UINT64_T, int64_t)
        OTHER(MPI_FLOAT, FLOATING, f32, float) OTHER(MPI_DOUBLE, FLOATING, f64, double)
        OTHER(MPI_LONG_DOUBLE, FLOATING, fld, long double) OTHER(MPI_C_BOOL, LOGICAL, boolean, bool)
        OTHER(MPI_C_FLOAT_COMPLEX, COMPLEX, c32, float complex)
        OTHER(MPI_C_DOUBLE_COMPLEX, COMPLEX, c64, double complex)
        OTHER(MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX, cld, long double complex)
        OTHER(MPI_BYTE, BYTE, u8, char) OTHER(MPI_CHAR, PLAIN, i8, char)
        OTHER(MPI_WCHAR, PLAIN, i32, wchar_t)
        SIGNED(MPI_INTEGER, MPI_Fint) OTHER(MPI_REAL, FLOATING, f32, float)
        OTHER(MPI_DOUBLE_PRECISION, FLOATING, f64, double)
        OTHER(MPI_COMPLEX, COMPLEX, c32, float complex)
        OTHER(MPI_FLOAT_INT, PAIR, p_float, struct pair_p_float)
        OTHER(MPI_DOUBLE_INT, PAIR, p_double, struct pair_p_double)
        OTHER(MPI_LONG_INT, PAIR, p_long, struct pair_p_long)
        OTHER(MPI_2INT, PAIR, p_int, struct pair_p_int)
        OTHER(MPI_SHORT_INT, PAIR, p_short, struct pair_p_short)
        OTHER(MPI_LONG_DOUBLE_INT, PAIR, p_ld, struct pair_p_ld)
        OTHER(MPI_LOGICAL, LOGICAL, logical, MPI_Fint) OTHER(MPI_CHARACTER, PLAIN, i8, char)
        OTHER(MPI_PACKED, PLAIN, u8, char)
        OTHER(MPI_DOUBLE_COMPLEX, COMPLEX, c64, double complex)
        OTHER(MPI_2REAL, PAIR, p_reals, struct pair_p_reals)
        OTHER(MPI_2DOUBLE_PRECISION, PAIR, p_doubles, struct pair_p_doubles)
        OTHER(MPI_2INTEGER, PAIR, p_integers, struct pair_p_integers)
        SIGNED(MPI_INTEGER1, int8_t) SIGNED(MPI_INTEGER2, int16_t) SIGNED(MPI_INTEGER4, int32_t)
        SIGNED(MPI_INTEGER8, int64_t)
        OTHER(MPI_REAL4, FLOATING, f32, float) OTHER(MPI_REAL8, FLOATING, f64, double)
        OTHER(MPI_REAL16, FLOATING, f128, real16)
        OTHER(MPI_COMPLEX8, COMPLEX, c32, float complex)
        OTHER(MPI_COMPLEX16, COMPLEX, c64, double complex)
        /* MPICH knows no arithmetic of it */
        OTHER(MPI_COMPLEX32, PLAIN, cld, long double complex)
        OTHER(MPI_CXX_BOOL, LOGICAL, boolean, bool)
        OTHER(MPI_CXX_FLOAT_COMPLEX, COMPLEX, c32, float complex)
        OTHER(MPI_CXX_DOUBLE_COMPLEX, COMPLEX, c64, double complex)
        OTHER(MPI_CXX_LONG_DOUBLE_COMPLEX, COMPLEX, cld, long double complex)
    };
    /* clang-format on */
    enum t_flavour flavour = t_flavour_of(argc, argv);
    int step = argc > 2 && atoi(argv[2]) > 0 ? atoi(argv[2]) : 1;
    run_flavour(types, (int) (sizeof types / sizeof *types), step, flavour);
    return t_end();
}
