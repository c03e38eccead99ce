/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/kernel: every loop
 * against wide arithmetic, whatever the length, the alignment and the place of the old values. */
#include "mpid/rma/kernel.h"
#include <math.h>
#include <pthread.h>
#include <string.h>
#include "base/assert.h"
#include "base/prng.h"
#include "host/testhost.h"
#include "support/must.h"
#include "support/suite.h"

enum { N_MAX = 1100, ROOM = N_MAX * 8 + 16, GUARD = 0x5a };

static int is_float(enum test_type type)
{
    return type == TEST_F32 || type == TEST_F64;
}

/* An element as a number, and back. Integers fit into 128 bits with all their products, and the
 * floats of these tests are small whole numbers: neither rounds. */
static __int128 number_of(enum test_type type, const char *at)
{
    union {
        int8_t i8; uint8_t u8; int16_t i16; uint16_t u16; int32_t i32; uint32_t u32; int64_t i64;
        uint64_t u64; float f32; double f64;
    } v;
    memcpy(&v, at, test_element(type).packed_bytes);
    switch (type) {
        case TEST_I8: return v.i8;
        case TEST_U8: return v.u8;
        case TEST_I16: return v.i16;
        case TEST_U16: return v.u16;
        case TEST_I32: return v.i32;
        case TEST_U32: return v.u32;
        case TEST_I64: return v.i64;
        case TEST_U64: return v.u64;
        case TEST_F32: return (__int128) v.f32;
        default: return (__int128) v.f64;
    }
}

static void number_to(enum test_type type, char *at, __int128 number)
{
    float f32 = (float) number;
    double f64 = (double) number;
    const void *from = type == TEST_F32 ? &f32 : type == TEST_F64 ? &f64 : (void *) &number;
    memcpy(at, from, test_element(type).packed_bytes); /* integers: the low bytes come first */
}

static __int128 combined(enum wdl_rop op, __int128 old, __int128 in)
{
    switch (op) {
        case WDL_ROP_SUM: return old + in;
        case WDL_ROP_PROD: return (__int128) ((unsigned __int128) old * (unsigned __int128) in);
        case WDL_ROP_MIN: return old < in ? old : in;
        case WDL_ROP_MAX: return old < in ? in : old;
        case WDL_ROP_LAND: return old != 0 && in != 0;
        case WDL_ROP_LOR: return old != 0 || in != 0;
        case WDL_ROP_LXOR: return (old != 0) != (in != 0);
        case WDL_ROP_BAND: return old & in;
        case WDL_ROP_BOR: return old | in;
        case WDL_ROP_BXOR: return old ^ in;
        case WDL_ROP_REPLACE: return in;
        default: return old;
    }
}

static void fill(struct wdl_prng *prng, enum test_type type, char *at, int n)
{
    for (int i = 0; i < n; i++, at += test_element(type).packed_bytes) {
        uint64_t bits = wdl_prng_next(prng);
        int64_t small = (int64_t) (bits % 4001) - 2000;
        /* every fourth is 0, so that the logical operators see both */
        __int128 number = wdl_prng_chance(prng, 250) ? 0 : is_float(type) ? small : (__int128) bits;
        number_to(type, at, number);
    }
}

enum { OUT_NONE, OUT_APART, OUT_IS_IN, OUTS };

/* vectors: of the plain loop; -1: the atomic one. */
static void run_one(struct wdl_prng *prng, enum test_type type, enum wdl_rop op, int vectors, int n,
                    int outs)
{
    struct wdl_element el = test_element(type);
    struct wdl_kernel_call call = {NULL, &el, op};
    int plain = vectors >= 0;
    const struct wdl_kernel *kernel = wdl_kernel_of(&el, op, plain ? vectors : WDL_VECTORS_ANY);
    size_t bytes = (size_t) n * el.packed_bytes;
    _Alignas(8) char target[ROOM];
    char old[ROOM], in[ROOM], stream[ROOM], out[ROOM];
    memset(target, GUARD, sizeof(target));
    memset(stream, GUARD, sizeof(stream));
    memset(out, GUARD, sizeof(out));
    fill(prng, type, target + 8, n);
    fill(prng, type, in, n);
    memcpy(old, target + 8, bytes);
    memcpy(stream + 1, in, bytes); /* packed streams begin anywhere */
    char *to = outs == OUT_NONE ? NULL : outs == OUT_APART ? out + 3 : stream + 1;
    const char *from = op == WDL_ROP_NO_OP && outs != OUT_IS_IN ? NULL : stream + 1;
    (plain ? kernel->plain : kernel->atomic)(&call, target + 8, from, to, (size_t) n);
    for (int i = 0; i < n; i++) {
        char want[8];
        size_t at = (size_t) i * el.packed_bytes;
        number_to(type, want, combined(op, number_of(type, old + at), number_of(type, in + at)));
        must(number_of(type, target + 8 + at) == number_of(type, want)); /* 0 may have a sign */
    }
    must(!to || memcmp(to, old, bytes) == 0);
    must(to == stream + 1 || memcmp(stream + 1, in, bytes) == 0);
    must_cmp(target[7], ==, GUARD);
    must_cmp(target[8 + bytes], ==, GUARD);
    must_cmp(stream[0], ==, GUARD);
    must_cmp(stream[1 + bytes], ==, GUARD);
    must_cmp(out[2], ==, GUARD);
    must_cmp(out[outs == OUT_APART ? 3 + bytes : 3], ==, GUARD);
}

START_TEST(every_loop_agrees_with_wide_arithmetic)
{
    static const int lengths[] = {0, 1, 2, 7, 8, 9, 31, 32, 33, 64, N_MAX};
    struct wdl_prng prng;
    wdl_prng_init(&prng, 11);
    for (int type = TEST_I8; type <= TEST_F64; type++)
        for (int op = 0; op < WDL_ROP_COUNT; op++) {
            int bits_only = op >= WDL_ROP_LAND && op <= WDL_ROP_BXOR && is_float(type);
            if (bits_only || op == WDL_ROP_MINLOC || op == WDL_ROP_MAXLOC)
                continue;
            for (int vectors = -1; vectors <= (int) wdl_kernel_vectors(); vectors++)
                for (unsigned l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
                    for (int outs = 0; outs < OUTS; outs++)
                        run_one(&prng, type, op, vectors, lengths[l], outs);
        }
}
END_TEST

/* What only the host computes has none. */
START_TEST(a_loop_of_the_type_is_found_or_none)
{
    for (int type = TEST_I8; type <= TEST_F64; type++)
        for (int op = 0; op < WDL_ROP_REPLACE; op++) {
            struct wdl_element el = test_element(type);
            int none = op == WDL_ROP_MINLOC || op == WDL_ROP_MAXLOC ||
                       (op >= WDL_ROP_LAND && op <= WDL_ROP_BXOR && is_float(type));
            wdl_kernel_fn fn = wdl_kernel_typed(&el, op);
            ck_assert(none ? fn == NULL : fn == wdl_kernel_find(&el, op)->plain);
        }
    struct wdl_element wide = {.basic = WDL_BASIC_WIDE, .packed_bytes = 16, .extent = 16};
    ck_assert(wdl_kernel_typed(&wide, WDL_ROP_SUM) == NULL);
}
END_TEST

/* Infinities, zeros with a sign, what is hardly a number, and NaNs: quiet and signaling, with bits
 * of their own. */
enum { ODD = 14, PAIRS = ODD * ODD, TRIPLES = ODD * PAIRS };

static void odd_number(enum test_type type, int i, char *at)
{
    static const double odd[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, 1.7e308, -1e-40, 3e38};
    static const uint64_t f64[] = {1, 0x7ff8000000000000, 0xfff8000000000001, 0x7ff0000000000002,
                                   0xffffffffffffffff};
    static const uint32_t f32[] = {1, 0x7fc00000, 0xffc00001, 0x7f800002, 0xffffffff};
    enum { VALUES = sizeof(odd) / sizeof(odd[0]) };
    wdl_static_assert(VALUES + sizeof(f64) / sizeof(f64[0]) == ODD);
    int is_wide = type == TEST_F64;
    float narrow = i < VALUES ? (float) odd[i] : 0;
    const void *from = i < VALUES ? (is_wide ? (const void *) &odd[i] : &narrow)
                                  : (is_wide ? (const void *) &f64[i - VALUES] : &f32[i - VALUES]);
    memcpy(at, from, test_element(type).packed_bytes);
}

static int cannot_be_ordered(enum test_type type, const char *at)
{
    union {
        float f32;
        double f64;
    } v;
    memcpy(&v, at, test_element(type).packed_bytes);
    return type == TEST_F64 ? isnan(v.f64) : isnan(v.f32);
}

/* Which of two has less, so that -0 has less than +0? Bits as whole numbers with a sign say it. */
static int64_t rank_of(enum test_type type, const char *at)
{
    int64_t bits = 0;
    int32_t narrow;
    memcpy(&bits, at, test_element(type).packed_bytes);
    memcpy(&narrow, at, sizeof(narrow));
    if (type == TEST_F32)
        return narrow < 0 ? -(int64_t) (narrow & INT32_MAX) - 1 : narrow;
    return bits < 0 ? -(bits & INT64_MAX) - 1 : bits;
}

/* By every form; vectors: of the plain loop; -1: the atomic one, -2: rows. */
static void combine_odd(enum test_type type, enum wdl_rop op, int vectors, char *target,
                        const char *in, size_t n)
{
    struct wdl_element el = test_element(type);
    struct wdl_kernel_call call = {NULL, &el, op};
    const struct wdl_kernel *kernel = wdl_kernel_of(&el, op, vectors < 0 ? 0 : vectors);
    if (vectors == -2)
        kernel->rows(target, el.packed_bytes, in, el.packed_bytes, n);
    else
        (vectors == -1 ? kernel->atomic : kernel->plain)(&call, target, in, NULL, n);
}

/* The i-th of all pairs and triples; which: of the two or three. */
static void odd_fill(enum test_type type, char *at, int n, int which)
{
    static const int every[] = {1, ODD, PAIRS};
    for (int i = 0; i < n; i++, at += test_element(type).packed_bytes)
        odd_number(type, i / every[which] % ODD, at);
}

/* Neither the form, nor the place in the vector, nor which operand is which changes a bit; minima
 * and maxima are what they are said to be. */
START_TEST(odd_floats_may_change_places)
{
    static _Alignas(8) char a[PAIRS * 8], b[PAIRS * 8], x[PAIRS * 8], y[PAIRS * 8];
    for (int type = TEST_F32; type <= TEST_F64; type++)
        for (int op = WDL_ROP_SUM; op <= WDL_ROP_MAX; op++) {
            size_t bytes = test_element(type).packed_bytes;
            odd_fill(type, a, PAIRS, 0);
            odd_fill(type, b, PAIRS, 1);
            memcpy(y, a, sizeof(y));
            combine_odd(type, op, -1, y, b, PAIRS);
            for (size_t i = 0; i < PAIRS * bytes; i += bytes) {
                int none = cannot_be_ordered(type, a + i) || cannot_be_ordered(type, b + i);
                must(!none || cannot_be_ordered(type, y + i));
                int is_min = op == WDL_ROP_MIN, less = rank_of(type, a + i) < rank_of(type, b + i);
                must(none || op < WDL_ROP_MIN ||
                     memcmp(y + i, (less == is_min ? a : b) + i, bytes) == 0);
            }
            for (int vectors = -2; vectors <= (int) wdl_kernel_vectors(); vectors++) {
                memcpy(x, b, sizeof(x));
                combine_odd(type, op, vectors, x, a, PAIRS);
                must(memcmp(x, y, PAIRS * bytes) == 0);
                memcpy(x, b, sizeof(x));
                for (size_t i = 0; i < PAIRS * bytes; i += bytes)
                    combine_odd(type, op, vectors, x + i, a + i, 1);
                must(memcmp(x, y, PAIRS * bytes) == 0);
            }
        }
}
END_TEST

START_TEST(least_and_most_may_be_grouped)
{
    static _Alignas(8) char a[TRIPLES * 8], b[TRIPLES * 8], c[TRIPLES * 8], x[TRIPLES * 8];
    for (int type = TEST_F32; type <= TEST_F64; type++)
        for (int op = WDL_ROP_MIN; op <= WDL_ROP_MAX; op++)
            for (int vectors = -2; vectors <= (int) wdl_kernel_vectors(); vectors++) {
                size_t all = TRIPLES * test_element(type).packed_bytes;
                odd_fill(type, a, TRIPLES, 0);
                odd_fill(type, b, TRIPLES, 1);
                odd_fill(type, c, TRIPLES, 2);
                memcpy(x, b, all);
                combine_odd(type, op, vectors, x, a, TRIPLES); /* (a, b), c */
                combine_odd(type, op, vectors, x, c, TRIPLES);
                combine_odd(type, op, vectors, c, b, TRIPLES); /* a, (b, c) */
                combine_odd(type, op, vectors, c, a, TRIPLES);
                must(memcmp(x, c, all) == 0);
            }
}
END_TEST

struct recorder {               /* a host whose operator is inout += 3 * in */
    uint32_t host_type;
    enum wdl_rop op;
    uint32_t bytes;
    int64_t elements;
    int calls;
};

static int record(void *ctx, uint32_t host_type, enum wdl_rop op, const void *in, void *inout,
                  int64_t count)
{
    struct recorder *r = ctx;
    must_cmp(host_type, ==, r->host_type);
    must_cmp(op, ==, r->op);
    must_cmp((uintptr_t) in % r->bytes, ==, 0);
    must_cmp((uintptr_t) inout % r->bytes, ==, 0);
    for (int64_t i = 0; i < count; i++) {
        uint64_t a = 0, b = 0;
        memcpy(&a, (const char *) in + (size_t) i * r->bytes, r->bytes);
        memcpy(&b, (char *) inout + (size_t) i * r->bytes, r->bytes);
        b += 3 * a;
        memcpy((char *) inout + (size_t) i * r->bytes, &b, r->bytes);
    }
    r->elements += count;
    r->calls++;
    return WDL_OK;
}

static const struct wdl_host_ops recorder_ops = {.reduce = record};

/* The host gets aligned operands and the operator's own name, every element once. */
START_TEST(what_has_no_loop_goes_to_the_host)
{
    static const struct {
        enum wdl_basic basic;
        uint32_t bytes;
        enum wdl_rop op;
    } rows[] = {
        {WDL_BASIC_BITS, 1, WDL_ROP_LAND}, {WDL_BASIC_BITS, 2, WDL_ROP_SUM},
        {WDL_BASIC_BITS, 4, WDL_ROP_MAXLOC}, {WDL_BASIC_BITS, 8, WDL_ROP_BXOR},
        {WDL_BASIC_I32, 4, WDL_ROP_MINLOC}, {WDL_BASIC_F32, 4, WDL_ROP_LAND},
        {WDL_BASIC_F64, 8, WDL_ROP_BOR}
    };
    for (unsigned k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
        for (int plain = 0; plain < 2; plain++) {
            struct wdl_element el = {.basic = (uint8_t) rows[k].basic, .host_type = 77 + k,
                                     .packed_bytes = rows[k].bytes, .extent = rows[k].bytes};
            struct recorder r = {.host_type = el.host_type, .op = rows[k].op,
                                 .bytes = rows[k].bytes};
            struct wdl_host host = {&recorder_ops, &r};
            struct wdl_kernel_call call = {&host, &el, rows[k].op};
            const struct wdl_kernel *kernel = wdl_kernel_find(&el, rows[k].op);
            uint64_t target[N_MAX] = {0};
            char stream[ROOM], old[ROOM];
            memset(target, 5, sizeof(target));
            memset(stream, 1, sizeof(stream));
            (plain ? kernel->plain : kernel->atomic)(&call, (char *) target, stream + 1, old + 1,
                                                     N_MAX);
            must_cmp(r.elements, ==, N_MAX);
            must(plain ? r.calls < N_MAX : r.calls == N_MAX);
            for (size_t i = 0; i < sizeof(target); i++) {
                int inside = i < (size_t) N_MAX * el.packed_bytes;
                must_cmp(((char *) target)[i], ==, inside ? 8 : 5);
                must(!inside || old[1 + i] == 5);
            }
        }
}
END_TEST

START_TEST(loops_are_for_elements_a_register_holds)
{
    for (int basic = 0; basic < WDL_BASIC_COUNT; basic++)
        for (uint32_t bytes = 0; bytes <= 17; bytes++)
            for (uint32_t gap = 0; gap < 2; gap++) {
                struct wdl_element el = {.basic = (uint8_t) basic, .packed_bytes = bytes,
                                         .extent = bytes + gap};
                int width = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
                int named = basic != WDL_BASIC_NONE && basic != WDL_BASIC_WIDE;
                must_cmp(wdl_kernel_has(&el), ==, width && named && !gap);
            }
    struct wdl_element stranger = {.basic = 255, .packed_bytes = 4, .extent = 4};
    ck_assert(!wdl_kernel_has(&stranger));
}
END_TEST

START_TEST(compare_and_swap_of_each_width)
{
    for (uint32_t bytes = 1; bytes <= 8; bytes *= 2)
        for (int equal = 0; equal < 2; equal++)
            for (uint32_t odd = 0; odd < bytes; odd++) { /* which byte differs */
                _Alignas(8) unsigned char target[16];
                unsigned char compare[9], value[9], result[10], want[16];
                memset(target, 1, sizeof(target));
                memset(compare, 1, sizeof(compare));
                memset(value, 2, sizeof(value));
                memset(result, 3, sizeof(result));
                memcpy(want, target, sizeof(want));
                compare[1 + odd] = equal ? 1 : 0x81;
                if (equal)
                    memset(want, 2, bytes);
                wdl_kernel_compare_swap(bytes, (char *) target, compare + 1, value + 1, result + 1);
                must(memcmp(target, want, sizeof(want)) == 0);
                for (uint32_t i = 0; i < 9; i++)
                    must_cmp(result[1 + i], ==, i < bytes ? 1 : 3);
            }
}
END_TEST

/* --- several threads on the same elements ----------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 200000, SPOTS = 5 };

struct storm {
    _Alignas(8) char target[SPOTS * 8];
    enum test_type type;
    pthread_barrier_t start;    /* all at once */
    uint32_t counter;           /* by compare and swap */
    uint32_t claimed;           /* what went in and came out by swaps, as a sum */
    uint32_t swapped;
};

static void *storm_thread(void *arg)
{
    struct storm *s = arg;
    struct wdl_element el = test_element(s->type), word = test_element(TEST_U32);
    struct wdl_kernel_call sum = {NULL, &el, WDL_ROP_SUM}, swap = {NULL, &word, WDL_ROP_REPLACE};
    char ones[SPOTS * 8];
    uint32_t moved = 0;
    for (int i = 0; i < SPOTS; i++)
        number_to(s->type, ones + (size_t) i * el.packed_bytes, 1);
    pthread_barrier_wait(&s->start);
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        uint32_t old, seen, next;
        wdl_kernel_find(&el, WDL_ROP_SUM)->atomic(&sum, s->target, ones, NULL, SPOTS);
        wdl_kernel_find(&word, WDL_ROP_REPLACE)
            ->atomic(&swap, (char *) &s->swapped, (const char *) &i, (char *) &old, 1);
        moved += i - old;
        seen = __atomic_load_n(&s->counter, __ATOMIC_RELAXED);
        do {
            old = seen;
            next = old + 1;
            wdl_kernel_compare_swap(4, (char *) &s->counter, &old, &next, &seen);
        } while (seen != old);
    }
    __atomic_fetch_add(&s->claimed, moved, __ATOMIC_SEQ_CST);
    return NULL;
}

START_TEST(atomic_loops_lose_no_update)
{
    for (int type = TEST_I8; type <= TEST_F64; type++) {
        struct storm s = {.type = type};
        struct wdl_element el = test_element(type);
        pthread_t thread[THREADS];
        char want[8];
        ck_assert_int_eq(pthread_barrier_init(&s.start, NULL, THREADS), 0);
        for (int i = 0; i < THREADS; i++)
            ck_assert_int_eq(pthread_create(&thread[i], NULL, storm_thread, &s), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
        pthread_barrier_destroy(&s.start);
        number_to(type, want, THREADS * ROUNDS); /* narrow ones have wrapped around */
        for (int i = 0; i < SPOTS; i++)
            ck_assert_mem_eq(s.target + (size_t) i * el.packed_bytes, want, el.packed_bytes);
        ck_assert_uint_eq(s.counter, THREADS * ROUNDS);
        ck_assert_uint_eq(s.claimed, s.swapped); /* all that went in came out, but the last */
    }
}
END_TEST

WDL_SUITE("rma/kernel", every_loop_agrees_with_wide_arithmetic,
          a_loop_of_the_type_is_found_or_none, odd_floats_may_change_places,
          least_and_most_may_be_grouped, what_has_no_loop_goes_to_the_host,
          loops_are_for_elements_a_register_holds, compare_and_swap_of_each_width,
          atomic_loops_lose_no_update)
