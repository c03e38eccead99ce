/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/accumulate. */
#include "mpid/rma/accumulate.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "support/must.h"
#include "support/suite.h"

/* The host knows one wide type, a pair of a double and an int, and how to take its maximum and its
 * sum. */
struct pair {
    double value;
    int index;
};

static int host_reduce(void *ctx, uint32_t type, enum wdl_rop op, const void *in, void *inout,
                       int64_t count)
{
    const struct pair *a = in;
    struct pair *b = inout;
    (void) ctx;
    (void) type;
    for (int64_t i = 0; i < count; i++) {
        if (op == WDL_ROP_SUM) {
            b[i].value += a[i].value;
            b[i].index += a[i].index;
        } else if (a[i].value > b[i].value) {
            b[i] = a[i];
        }
    }
    return WDL_OK;
}

static void host_heavy_barrier(void *ctx)
{
    (void) ctx;
    syscall(SYS_membarrier, 1 /* MEMBARRIER_CMD_GLOBAL */, 0, 0);
}

static const struct wdl_host_ops ops = {.reduce = host_reduce,.heavy_barrier = host_heavy_barrier };
static const struct wdl_host host = { &ops, NULL };

/* A domain of one process, or of two of which the other is idle. */
static struct wdl_domain domain(int shared, struct wdl_win_control *control, const void *base)
{
    static struct wdl_win_control none[2];
    return (struct wdl_domain){.host = &host,
                               .base = base,
                               .control = control,
                               .own = &none[0],
                               .node = none,
                               .node_count = shared ? 2 : 1};
}

/* The second of two processes, at the memory of the first. */
static struct wdl_domain domain_of_two(struct wdl_win_control control[2], const void *base)
{
    return (struct wdl_domain){.host = &host,
                               .base = base,
                               .control = &control[0],
                               .own = &control[1],
                               .node = control,
                               .node_count = 2};
}

static int accumulate(int shared, struct wdl_win_control *control, enum wdl_rop op,
                      const struct wdl_element *el, const struct wdl_piece *target, int npieces,
                      const void *in, void *out)
{
    size_t done = 0;
    struct wdl_domain d = domain(shared, control, target->base);
    return wdl_accumulate(&d, op, el, target, npieces, in, out, &done);
}

static int compare_swap(int shared, struct wdl_win_control *control, const struct wdl_element *el,
                        void *target, const void *compare, const void *value, void *result)
{
    struct wdl_domain d = domain(shared, control, target);
    return wdl_compare_swap(&d, el, target, compare, value, result);
}

static struct wdl_element element(enum wdl_basic basic, uint32_t packed, uint32_t extent)
{
    return (struct wdl_element) {.basic = (uint8_t) basic,.packed_bytes = packed,.extent = extent };
}

#define INTEGER_TEST(type, basic)                                                              \
    do {                                                                                       \
        struct wdl_element el = element(basic, sizeof(type), sizeof(type));                    \
        const struct { enum wdl_rop op; type want; } rows[] = {                                \
            {WDL_ROP_SUM, (type) (12 + 10)}, {WDL_ROP_PROD, (type) (12 * 10)}, {WDL_ROP_MIN, 10}, \
            {WDL_ROP_MAX, 12}, {WDL_ROP_LAND, 1}, {WDL_ROP_LOR, 1}, {WDL_ROP_LXOR, 0},          \
            {WDL_ROP_BAND, 12 & 10}, {WDL_ROP_BOR, 12 | 10}, {WDL_ROP_BXOR, 12 ^ 10},           \
            {WDL_ROP_REPLACE, 10}, {WDL_ROP_NO_OP, 12}                                          \
        };                                                                                     \
        for (unsigned i = 0; i < 2 * (sizeof(rows) / sizeof(rows[0])); i++) {                    \
            unsigned k = i / 2;                                                                \
            struct wdl_win_control control = { 0 };                                            \
            type target = 12, in = 10, old = 0;                                                \
            char stream[2 * sizeof(type) + 1];                                                 \
            struct wdl_piece piece = { (char *) &target, sizeof(target) };                     \
            memcpy(stream + 1, &in, sizeof(in));        /* a stream may be unaligned */        \
            ck_assert_int_eq(accumulate(i % 2, &control, rows[k].op, &el, &piece, 1,      \
                                            stream + 1, &old), WDL_OK);                        \
            ck_assert(target == rows[k].want);                                                 \
            ck_assert(old == 12);                                                              \
        }                                                                                      \
    } while (0)

START_TEST(integers)
{
    INTEGER_TEST(int8_t, WDL_BASIC_I8);
    INTEGER_TEST(uint8_t, WDL_BASIC_U8);
    INTEGER_TEST(int16_t, WDL_BASIC_I16);
    INTEGER_TEST(uint16_t, WDL_BASIC_U16);
    INTEGER_TEST(int32_t, WDL_BASIC_I32);
    INTEGER_TEST(uint32_t, WDL_BASIC_U32);
    INTEGER_TEST(int64_t, WDL_BASIC_I64);
    INTEGER_TEST(uint64_t, WDL_BASIC_U64);
}
END_TEST

START_TEST(sign_matters)
{
    struct wdl_win_control control = { 0 };
    int32_t s = -1, in = 1;
    uint32_t u = 0xffffffffu;
    struct wdl_piece ps = { (char *) &s, 4 }, pu = { (char *) &u, 4 };
    struct wdl_element es = element(WDL_BASIC_I32, 4, 4), eu = element(WDL_BASIC_U32, 4, 4);
    accumulate(1, &control, WDL_ROP_MAX, &es, &ps, 1, &in, NULL);
    accumulate(1, &control, WDL_ROP_MAX, &eu, &pu, 1, &in, NULL);
    ck_assert_int_eq(s, 1);
    ck_assert_uint_eq(u, 0xffffffffu);
}
END_TEST

START_TEST(floats_in_pieces)
{
    struct wdl_win_control control = { 0 };
    double target[4] = { 1, 2, 3, 4 }, in[3] = { 10, 20, 30 }, old[3];
    struct wdl_piece pieces[2] = { {(char *) &target[0], 16}, {(char *) &target[3], 8} };
    struct wdl_element el = element(WDL_BASIC_F64, 8, 8);
    ck_assert_int_eq(accumulate(1, &control, WDL_ROP_SUM, &el, pieces, 2, in, old), WDL_OK);
    ck_assert(target[0] == 11 && target[1] == 22 && target[2] == 3 && target[3] == 34);
    ck_assert(old[0] == 1 && old[1] == 2 && old[2] == 4);
}
END_TEST

/* A packed pair has no gap; the target's has one after the int, between elements. */
START_TEST(pairs_under_region_locks)
{
    struct wdl_win_control control = { 0 };
    struct pair target[2] = { {.value = 1,.index = 7}, {.value = 5,.index = 8} };
    char stream[24], old[24];
    const double values[2] = { 3, 4 };
    const int indices[2] = { 70, 80 };
    struct wdl_piece pieces[2] = { {(char *) &target[0], 12}, {(char *) &target[1], 12} };
    struct wdl_element el = element(WDL_BASIC_WIDE, 12, sizeof(struct pair));
    for (int i = 0; i < 2; i++) {
        memcpy(stream + 12 * i, &values[i], 8);
        memcpy(stream + 12 * i + 8, &indices[i], 4);
    }
    ck_assert_int_eq(accumulate(1, &control, WDL_ROP_MAXLOC, &el, pieces, 2, stream, old), WDL_OK);
    ck_assert(target[0].value == 3 && target[0].index == 70);
    ck_assert(target[1].value == 5 && target[1].index == 8);
    int was;
    memcpy(&was, old + 8, 4);
    ck_assert_int_eq(was, 7);
    ck_assert_uint_eq(control.stripes, 0);
}
END_TEST

/* Bytes that are no element, far apart or where a gap is: refused behind what is one, and not
 * touched, nor is anything beside them. */
START_TEST(what_is_no_element_is_refused)
{
    enum { LD, PAIR, SHORT_PAIR, SHORT_PAIRS, KINDS };
    static _Alignas(16) char memory[8192], before[8192];
    char operands[64] = "", old[64];
    for (int kind = 0; kind < KINDS; kind++)
        for (int nodes = 1; nodes <= 2; nodes++) {
            struct wdl_win_control control[2] = {0};
            struct wdl_domain d = domain_of_two(control, memory);
            struct wdl_element el = kind == LD ? element(WDL_BASIC_WIDE, 16, 16) :
                kind == PAIR ? element(WDL_BASIC_WIDE, 12, 16) : element(WDL_BASIC_WIDE, 6, 8);
            struct wdl_piece piece[4] = {{memory, 8}, {memory + 4000, 8}};
            int npieces = 2;
            size_t done = 0, sound = 0;
            d.node_count = nodes;
            if (kind == PAIR) { /* its index is elsewhere */
                piece[0].bytes = 4;
                piece[1] = (struct wdl_piece){memory + 2000, 4};
                piece[2] = (struct wdl_piece){memory + 4000, 4};
                npieces = 3;
            } else if (kind == SHORT_PAIR) { /* ... where its gap is, in one piece */
                el.head = 2;
                piece[0].bytes = 6;
                npieces = 1;
            } else if (kind == SHORT_PAIRS) { /* ... of the second */
                el.head = 2;
                piece[0].bytes = 2;
                piece[1] = (struct wdl_piece){memory + 4, 6};
                piece[2] = (struct wdl_piece){memory + 10, 4};
                npieces = 3;
                sound = 6;
            }
            memset(memory, 0x5a, sizeof(memory));
            memcpy(before, memory, sizeof(before));
            ck_assert_int_eq(wdl_accumulate(&d, WDL_ROP_REPLACE, &el, piece, npieces, operands, old,
                                            &done), WDL_ERR_PROTO);
            ck_assert_uint_eq(done, sound);
            if (sound > 0) {
                memset(before, 0, 2);
                memset(before + 4, 0, 4);
            }
            ck_assert_mem_eq(memory, before, sizeof(before));
            ck_assert_uint_eq(control[0].stripes | control[1].stripes, 0);
        }
}
END_TEST

START_TEST(a_held_region_changes_nothing)
{
    struct wdl_win_control control = { 0 };
    struct pair target = {.value = 1,.index = 7 };
    char stream[12] = { 0 };
    struct wdl_piece piece = { (char *) &target, 12 };
    struct wdl_element el = element(WDL_BASIC_WIDE, 12, sizeof(struct pair));
    control.stripes = UINT64_MAX;
    ck_assert_int_eq(accumulate(1, &control, WDL_ROP_REPLACE, &el, &piece, 1, stream, NULL),
                     WDL_AGAIN);
    ck_assert(target.value == 1 && target.index == 7);
}
END_TEST

START_TEST(compare_and_swap)
{
    struct wdl_win_control control = { 0 };
    int64_t target = 5, compare = 4, value = 9, result = 0;
    struct wdl_element el = element(WDL_BASIC_I64, 8, 8);
    ck_assert_int_eq(compare_swap(1, &control, &el, &target, &compare, &value, &result), WDL_OK);
    ck_assert(target == 5 && result == 5);
    compare = 5;
    compare_swap(1, &control, &el, &target, &compare, &value, &result);
    ck_assert(target == 9 && result == 5);
}
END_TEST

/* No update is lost: many threads, each with a control block as a process has, on one array: short
 * updates of one element, bulk updates of many, some of them fetching, or of many pieces, rows, and
 * unaligned ones under element locks. */
enum { THREADS = 4, ROUNDS = 300, SHORTS = 40, CELLS = 32 * WDL_BULK_MIN };

struct storm {
    struct wdl_win_control control[THREADS];
    double cells[CELLS];
    char misaligned[16];
    int64_t count;
    int next;
};

static void insist(const struct wdl_domain *d, enum wdl_rop op, char *at, size_t bytes,
                   const void *in, void *out)
{
    struct wdl_element el = element(WDL_BASIC_F64, 8, 8);
    struct wdl_piece piece = { at, bytes };
    size_t done = 0;
    while (wdl_accumulate(d, op, &el, &piece, 1, in, out, &done) == WDL_AGAIN)
        sched_yield();
}

/* Every other cell, a piece each. */
static void insist_pieces(const struct wdl_domain *d, double *cells, const void *in)
{
    struct wdl_element el = element(WDL_BASIC_F64, 8, 8);
    struct wdl_piece piece[CELLS / 2];
    size_t done = 0;
    for (int i = 0; i < CELLS / 2; i++)
        piece[i] = (struct wdl_piece){(char *) &cells[2 * i], 8};
    while (wdl_accumulate(d, WDL_ROP_SUM, &el, piece, CELLS / 2, in, NULL, &done) == WDL_AGAIN)
        sched_yield();
}

static void insist_rows(const struct wdl_domain *d, double *cells, const double *in)
{
    struct wdl_element el = element(WDL_BASIC_F64, 8, 8);
    struct wdl_rows to = {(char *) cells, 16, 8, CELLS / 2};
    struct wdl_rows from = {(char *) (uintptr_t) in, 8, 8, CELLS / 2};
    size_t done = 0;
    while (wdl_accumulate_rows(d, WDL_ROP_SUM, &el, &to, &from, &done) == WDL_AGAIN)
        sched_yield();
}

static void *storm_thread(void *arg)
{
    struct storm *storm = arg;
    int me = __atomic_fetch_add(&storm->next, 1, __ATOMIC_SEQ_CST);
    struct wdl_domain d = {.host = &host,
                           .base = (char *) storm->cells,
                           .control = &storm->control[0],
                           .own = &storm->control[me],
                           .node = storm->control,
                           .node_count = THREADS};
    double one[CELLS], old[CELLS];
    for (int i = 0; i < CELLS; i++)
        one[i] = 1;
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < SHORTS; k++)
            insist(&d, WDL_ROP_SUM, (char *) &storm->cells[(i + k) % CELLS], 8, one, NULL);
        insist(&d, WDL_ROP_SUM, (char *) storm->cells, sizeof(storm->cells), one,
               i % 2 ? old : NULL);
        insist_pieces(&d, storm->cells, one);
        insist_rows(&d, storm->cells, one);
        insist(&d, WDL_ROP_SUM, storm->misaligned + 1, 8, one, NULL);
    }
    return NULL;
}

/* It is over; *sum_out: of its cells. */
static struct storm *storm_of(void *(*fn)(void *), double *sum_out)
{
    pthread_t thread[THREADS];
    struct storm *storm = calloc(1, sizeof(*storm));
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, fn, storm);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    *sum_out = 0;
    for (int i = 0; i < CELLS; i++)
        *sum_out += storm->cells[i];
    return storm;
}

START_TEST(storm)
{
    double sum, crooked;
    struct storm *storm = storm_of(storm_thread, &sum);
    memcpy(&crooked, storm->misaligned + 1, 8);
    ck_assert(sum == (double) THREADS * ROUNDS * (SHORTS + CELLS + CELLS / 2 + CELLS / 2));
    ck_assert(crooked == (double) THREADS * ROUNDS);
    free(storm);
}
END_TEST

/* --- memory that only its own process maps ---------------------------------------------------- */

static int outside_copies; /* or -1: the memory cannot be reached */

static int outside_copy(void *ctx, int rank, int to_rank, struct wdl_piece *local, int nlocal,
                        struct wdl_piece *remote, int nremote)
{
    (void) ctx;
    must_cmp(rank, ==, 0);
    if (__atomic_load_n(&outside_copies, __ATOMIC_RELAXED) < 0)
        return WDL_ERR_RANGE;
    __atomic_fetch_add(&outside_copies, 1, __ATOMIC_RELAXED);
    if (to_rank)
        sched_yield();  /* others would come between reading and writing */
    for (int i = 0, k = 0; i < nremote || k < nlocal;) { /* the lists are used up */
        must(i < nremote && k < nlocal);
        size_t n = local[k].bytes < remote[i].bytes ? local[k].bytes : remote[i].bytes;
        memcpy(to_rank ? remote[i].base : local[k].base, to_rank ? local[k].base : remote[i].base,
               n);
        remote[i] = (struct wdl_piece){remote[i].base + n, remote[i].bytes - n};
        local[k] = (struct wdl_piece){local[k].base + n, local[k].bytes - n};
        i += remote[i].bytes == 0;
        k += local[k].bytes == 0;
    }
    return WDL_OK;
}

/* Its own process, rank 0, or one that comes from outside. */
static struct wdl_domain domain_alone(struct wdl_win_control *control, int n, int me,
                                      const void *base, const struct wdl_outside *outside)
{
    return (struct wdl_domain){.host = &host,
                               .base = base,
                               .control = &control[0],
                               .own = &control[me],
                               .node = control,
                               .node_count = n,
                               .alone = 1,
                               .outside = me > 0 ? outside : NULL};
}

/* What the cell holds is known from the swaps alone: a look at it would be an access of its own. */
static void increments(const struct wdl_domain *d, int64_t *cell, int n)
{
    struct wdl_element el = element(WDL_BASIC_I64, 8, 8);
    int64_t old = 0;
    for (int done = 0; done < n;) {
        int64_t new = old + 1, was;
        int status = wdl_compare_swap(d, &el, cell, &old, &new, &was);
        must(status == WDL_OK || status == WDL_AGAIN);
        if (status != WDL_OK)
            continue;
        done += was == old;
        old = was == old ? new : was;
    }
}

static void *alone_thread(void *arg)
{
    struct storm *storm = arg;
    int me = __atomic_fetch_add(&storm->next, 1, __ATOMIC_SEQ_CST);
    char *stage = malloc(WDL_REGION_BYTES);
    const struct wdl_outside outside = {outside_copy, NULL, stage};
    struct wdl_domain d = domain_alone(storm->control, THREADS, me, storm->cells, &outside);
    double one[CELLS], old[CELLS];
    for (int i = 0; i < CELLS; i++)
        one[i] = 1;
    for (int i = 0; i < ROUNDS / 4; i++) {
        for (int k = 0; k < SHORTS; k++)
            insist(&d, WDL_ROP_SUM, (char *) &storm->cells[(i + k) % CELLS], 8, one,
                   k % 2 ? old : NULL);
        insist(&d, WDL_ROP_SUM, (char *) storm->cells, sizeof(storm->cells), one,
               i % 2 ? old : NULL);
        insist_pieces(&d, storm->cells, one);
        if (me == 0)
            insist_rows(&d, storm->cells, one);
        increments(&d, &storm->count, 2);
    }
    free(stage);
    return NULL;
}

START_TEST(storm_from_outside)
{
    double sum;
    outside_copies = 0;
    struct storm *storm = storm_of(alone_thread, &sum);
    ck_assert(sum == (double) (ROUNDS / 4) * (THREADS * (SHORTS + CELLS + CELLS / 2) + CELLS / 2));
    ck_assert_int_eq(storm->count, THREADS * (ROUNDS / 4) * 2);
    ck_assert_int_eq(storm->control[0].announced, 0);
    free(storm);
}
END_TEST

/* What is read, folded and written: a replacement without old values is only written, a fetch only
 * read, a comparison that fails not written. */
START_TEST(copies_from_outside)
{
    enum { N = 2 * WDL_REGION_BYTES / 8 };
    struct wdl_win_control control[2] = {0};
    int64_t *target = calloc(N, 8), *in = calloc(N, 8), *old = calloc(N, 8), was;
    char *stage = malloc(WDL_REGION_BYTES);
    const struct wdl_outside outside = {outside_copy, NULL, stage};
    struct wdl_domain d = domain_alone(control, 2, 1, target, &outside);
    struct wdl_element el = element(WDL_BASIC_I64, 8, 8);
    struct wdl_piece all = {(char *) target, N * 8};
    for (int i = 0; i < N; i++)
        in[i] = i + 1;
    for (int step = 0; step < 4; step++) {
        static const enum wdl_rop op[] = {WDL_ROP_REPLACE, WDL_ROP_SUM, WDL_ROP_NO_OP,
                                          WDL_ROP_REPLACE};
        static const int copies[] = {1, 2, 1, 2};
        size_t done = 0;
        outside_copies = 0;
        ck_assert_int_eq(wdl_accumulate(&d, op[step], &el, &all, 1,
                                        op[step] == WDL_ROP_NO_OP ? NULL : in,
                                        step > 1 ? old : NULL, &done), WDL_OK);
        ck_assert_int_eq(outside_copies, 2 * copies[step]);     /* two regions */
        for (int i = 0; i < N; i++) {
            ck_assert_int_eq(target[i], (step == 1 || step == 2 ? 2 : 1) * (i + 1));
            ck_assert_int_eq(old[i], step > 1 ? 2 * (i + 1) : 0);
        }
    }
    for (int fits = 0; fits < 2; fits++) {
        int64_t compare = fits ? 4 : 5, value = 77;
        outside_copies = 0;
        ck_assert_int_eq(wdl_compare_swap(&d, &el, &target[3], &compare, &value, &was), WDL_OK);
        ck_assert_int_eq(outside_copies, 1 + fits);
        ck_assert_int_eq(was, 4);
        ck_assert_int_eq(target[3], fits ? 77 : 4);
    }
    /* its process is there: later; the memory is gone: an error, and nothing stays closed */
    size_t done = 0;
    ck_assert_int_eq(wdl_short_begin(&control[0], wdl_short_bit(0), &control[0], 0, 0), WDL_OK);
    ck_assert_int_eq(wdl_accumulate(&d, WDL_ROP_SUM, &el, &all, 1, in, NULL, &done), WDL_AGAIN);
    ck_assert_int_eq(wdl_compare_swap(&d, &el, target, in, in, &was), WDL_AGAIN);
    ck_assert_uint_eq(done, 0);
    wdl_short_end(&control[0]);
    outside_copies = -1;
    ck_assert_int_eq(wdl_accumulate(&d, WDL_ROP_SUM, &el, &all, 1, in, NULL, &done), WDL_ERR_RANGE);
    ck_assert_int_eq(wdl_compare_swap(&d, &el, target, in, in, &was), WDL_ERR_RANGE);
    for (int i = 0; i < WDL_WIN_REGIONS; i++)
        ck_assert_int_eq(control[0].bulk[i], 0);
    free(target);
    free(in);
    free(old);
    free(stage);
}
END_TEST

/* --- ... of elements without an instruction --- */

enum { PAIRS = 24 };
struct pair_storm {
    struct wdl_win_control control[THREADS];
    struct pair cells[PAIRS];
    int next;
};

/* Packed pairs, and where they are in memory: between an int and the next pair there is a gap. */
static void pairs_of(struct pair *cells, int n, char *stream, struct wdl_piece *pieces)
{
    const struct pair one = {.value = 1, .index = 1};
    for (int i = 0; i < n; i++) {
        memcpy(stream + 12 * i, &one, 12);
        pieces[i] = (struct wdl_piece){(char *) &cells[i], 12};
    }
}

static void *pair_thread(void *arg)
{
    struct pair_storm *storm = arg;
    int me = __atomic_fetch_add(&storm->next, 1, __ATOMIC_SEQ_CST);
    char *stage = malloc(WDL_REGION_BYTES), stream[12 * PAIRS], old[12 * PAIRS];
    const struct wdl_outside outside = {outside_copy, NULL, stage};
    struct wdl_domain d = domain_alone(storm->control, THREADS, me, storm->cells, &outside);
    struct wdl_element el = element(WDL_BASIC_WIDE, 12, sizeof(struct pair));
    struct wdl_piece pieces[PAIRS];
    pairs_of(storm->cells, PAIRS, stream, pieces);
    for (int i = 0; i < ROUNDS / 4; i++) {
        size_t done = 0;
        int first = i % PAIRS;
        while (wdl_accumulate(&d, WDL_ROP_SUM, &el, pieces + first, PAIRS - first, stream,
                              i % 2 ? old : NULL, &done) == WDL_AGAIN)
            sched_yield();
    }
    free(stage);
    return NULL;
}

START_TEST(pairs_from_outside)
{
    pthread_t thread[THREADS];
    struct pair_storm *storm = calloc(1, sizeof(*storm));
    int want = 0;
    outside_copies = 0;
    memset(storm->cells, 0, sizeof(storm->cells));
    for (int k = 0; k < PAIRS; k++)
        memset((char *) &storm->cells[k] + 12, 0x5a, 4);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, pair_thread, storm);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int k = 0; k < PAIRS; k++) {
        for (int i = k; i < ROUNDS / 4; i += PAIRS)
            want += THREADS; /* where a round began with this one, or with one before it */
        ck_assert(storm->cells[k].value == want);
        ck_assert_int_eq(storm->cells[k].index, want);
        ck_assert_mem_eq((char *) &storm->cells[k] + 12, "\x5a\x5a\x5a\x5a", 4);
    }
    ck_assert_uint_eq(storm->control[0].stripes, 0);
    free(storm);
}
END_TEST

/* So many at a time; where a stripe is held it goes on from there; what cannot be reached is an
 * error, and no stripe stays locked. */
START_TEST(pairs_from_outside_go_on)
{
    enum { N = 600, AT_ONCE = 193 };
    _Alignas(4096) static struct pair cells[N];
    static char stream[12 * N], old[12 * N], stage[WDL_REGION_BYTES];
    static struct wdl_piece pieces[N];
    struct wdl_win_control control[2] = {0};
    const struct wdl_outside outside = {outside_copy, NULL, stage};
    struct wdl_domain d = domain_alone(control, 2, 1, cells, &outside);
    struct wdl_element el = element(WDL_BASIC_WIDE, 12, sizeof(struct pair));
    size_t done = 0;
    pairs_of(cells, N, stream, pieces);
    for (int i = 0; i < N; i++)
        cells[i].index = i;
    control[0].stripes = (uint64_t) 1 << 60; /* behind the first ones */
    outside_copies = 0;
    for (int tries = 0; tries < 3; tries++)
        ck_assert_int_eq(wdl_accumulate(&d, WDL_ROP_SUM, &el, pieces, N, stream, old, &done),
                         WDL_AGAIN);
    ck_assert_uint_eq(done, 12 * AT_ONCE);
    ck_assert_int_eq(outside_copies, 2);
    control[0].stripes = 0;
    ck_assert_int_eq(wdl_accumulate(&d, WDL_ROP_SUM, &el, pieces, N, stream, old, &done), WDL_OK);
    ck_assert_int_eq(outside_copies, 2 * ((N + AT_ONCE - 1) / AT_ONCE));
    for (int i = 0, was; i < N; i++) {
        memcpy(&was, old + 12 * i + 8, 4);
        ck_assert_int_eq(was, i);
        ck_assert_int_eq(cells[i].index, i + 1);
        ck_assert(cells[i].value == 1);
    }
    done = 0;
    ck_assert_int_eq(wdl_accumulate(&d, WDL_ROP_NO_OP, &el, pieces, 2, NULL, old, &done), WDL_OK);
    ck_assert_mem_eq(old, &cells[0], 12);
    ck_assert_mem_eq(old + 12, &cells[1], 12);
    outside_copies = -1;
    done = 0;
    ck_assert_int_eq(wdl_accumulate(&d, WDL_ROP_SUM, &el, pieces, N, stream, old, &done),
                     WDL_ERR_RANGE);
    ck_assert_uint_eq(done, 0);
    ck_assert_uint_eq(control[0].stripes, 0);
}
END_TEST

/* A closed region refuses a long accumulate in its middle; it goes on from there. Each process of
 * the node begins at a region of its own, and goes round. The piece begins with a region, or some
 * elements before the next one. */
START_TEST(resumes)
{
    enum { REGIONS = 3, EACH = WDL_REGION_BYTES / 8, N = REGIONS * EACH };
    struct wdl_element el = element(WDL_BASIC_F64, 8, 8);
    double *target = malloc(N * 8), *in = malloc(N * 8), *old = malloc(N * 8);
    for (int i = 0; i < N; i++)
        in[i] = i;
    for (int who = 0; who < REGIONS; who++)
        for (int few = 0; few < 3; few++) {
            struct wdl_win_control control[REGIONS] = {0};
            struct wdl_domain d = domain_of_two(control, target);
            int first = few ? EACH - few : 0, third = (who + 2) % REGIONS;
            struct wdl_piece piece = {(char *) &target[first], (size_t) (N - first) * 8};
            size_t done = 0, region0 = few ? (size_t) few * 8 : WDL_REGION_BYTES;
            d.own = &control[who];
            d.node_count = REGIONS;
            for (int i = 0; i < N; i++) {
                target[i] = -1;
                old[i] = 7;
            }
            control[0].bulk[third] = 1;
            ck_assert_int_eq(wdl_accumulate(&d, WDL_ROP_SUM, &el, &piece, 1, &in[first],
                                            &old[first], &done),
                             WDL_AGAIN);
            ck_assert_uint_eq(done, WDL_REGION_BYTES + (third == 0 ? WDL_REGION_BYTES : region0));
            ck_assert(target[third * EACH + EACH - 1] == -1);
            control[0].bulk[third] = 0;
            ck_assert_int_eq(wdl_accumulate(&d, WDL_ROP_SUM, &el, &piece, 1, &in[first],
                                            &old[first], &done),
                             WDL_OK);
            ck_assert_uint_eq(done, piece.bytes);
            for (int i = 0; i < N; i++) {
                ck_assert(target[i] == (i < first ? -1 : i - 1));
                ck_assert(old[i] == (i < first ? 7 : -1));
            }
        }
    free(target);
    free(in);
    free(old);
}
END_TEST

/* Pieces close their region once, and need not end with it. */
START_TEST(pieces_of_a_region_together)
{
    enum { N = 4 * WDL_BULK_MIN, FIRST = WDL_REGION_BYTES / 8 - N };
    struct wdl_win_control control[2] = {0};
    double *target = calloc(2, WDL_REGION_BYTES), in[N], old[N];
    struct wdl_domain d = domain_of_two(control, target);
    struct wdl_element el = element(WDL_BASIC_F64, 8, 8);
    struct wdl_piece piece[N];
    size_t done = 0;
    for (int i = 0; i < N; i++) { /* the second half is in the next region */
        in[i] = i + 1;
        piece[i] = (struct wdl_piece){(char *) &target[FIRST + 2 * i], 8};
    }
    /* too few */
    ck_assert_int_eq(wdl_accumulate(&d, WDL_ROP_SUM, &el, piece, WDL_BULK_MIN - 1, in, NULL, &done),
                     WDL_OK);
    ck_assert_int_eq(control[0].bulk_mode, WDL_BULK_NEVER);
    done = 0;
    control[0].bulk[1] = 1;
    ck_assert_int_eq(wdl_accumulate(&d, WDL_ROP_SUM, &el, piece, N, in, old, &done), WDL_AGAIN);
    ck_assert_uint_eq(done, N / 2 * 8);
    ck_assert_int_eq(control[0].bulk_mode, WDL_BULK_MODE);
    ck_assert_int_eq(control[0].bulk[0], 0);
    control[0].bulk[1] = 0;
    ck_assert_int_eq(wdl_accumulate(&d, WDL_ROP_SUM, &el, piece, N, in, old, &done), WDL_OK);
    for (int i = 0; i < N; i++) {
        double before = i < WDL_BULK_MIN - 1 ? in[i] : 0;
        ck_assert(target[FIRST + 2 * i] == before + in[i] && target[FIRST + 2 * i + 1] == 0);
        ck_assert(old[i] == before);
    }
    free(target);
}
END_TEST

/* How many elements at a time an operator of the host's gets, in whose region nobody else is. */
static int64_t most_at_a_time;

static int host_and(void *ctx, uint32_t type, enum wdl_rop op, const void *in, void *inout,
                    int64_t count)
{
    const double *a = in;
    double *b = inout;
    (void) ctx;
    (void) type;
    ck_assert_int_eq(op, WDL_ROP_LAND);
    most_at_a_time = count > most_at_a_time ? count : most_at_a_time;
    for (int64_t i = 0; i < count; i++)
        b[i] = a[i] != 0 && b[i] != 0;
    return WDL_OK;
}

/* In a row, in pieces and in rows: bytes that may be closed at a time, elements updated at a time,
 * and whether any region is closed at all. */
START_TEST(granularity)
{
    enum { N = 64, EACH = 2 };
    static const struct wdl_host_ops and_ops = {.reduce = host_and,
                                                .heavy_barrier = host_heavy_barrier};
    static const struct wdl_host and_host = {&and_ops, NULL};
    static const struct {
        uint64_t bytes;
        int64_t in_a_row, apart;
        int closes;
    } want[] = {{0, N, EACH, 1},         {1, 1, 1, 0},           {8, 1, 1, 0},
                {63, 1, 1, 0},           {64, 8, EACH, 1},       {100, 13, EACH, 1},
                {8 * N - 8, N - 1, EACH, 1}, {8 * N, N, EACH, 1}, {INT64_MAX, N, EACH, 1}};
    static double target[2 * N], in[N];
    struct wdl_element el = element(WDL_BASIC_F64, 8, 8);
    for (int i = 0; i < N; i++)
        in[i] = i % 3;
    for (size_t w = 0; w < sizeof want / sizeof want[0]; w++)
        for (int form = 0; form < 3; form++) {
            struct wdl_win_control control[2] = {0};
            struct wdl_domain d = domain_of_two(control, target);
            struct wdl_piece piece[N / EACH] = {{(char *) target, sizeof in}};
            struct wdl_rows rows = {(char *) target, 16 * EACH, 8 * EACH, N / EACH},
                            from = {(char *) in, 8 * EACH, 8 * EACH, N / EACH};
            size_t done = 0;
            int apart = form > 0;
            d.host = &and_host;
            d.granularity = want[w].bytes;
            for (int i = 0; i < 2 * N; i++)
                target[i] = 1;
            for (int i = 0; apart && i < N / EACH; i++)
                piece[i] = (struct wdl_piece){(char *) &target[2 * EACH * i], 8 * EACH};
            most_at_a_time = 0;
            int status = form == 2 ?
                wdl_accumulate_rows(&d, WDL_ROP_LAND, &el, &rows, &from, &done) :
                wdl_accumulate(&d, WDL_ROP_LAND, &el, piece, apart ? N / EACH : 1, in, NULL, &done);
            ck_assert_int_eq(status, WDL_OK);
            ck_assert_uint_eq(done, sizeof in);
            ck_assert_int_eq(most_at_a_time, apart ? want[w].apart : want[w].in_a_row);
            ck_assert_int_eq(control[0].bulk_mode != WDL_BULK_NEVER, want[w].closes);
            for (int i = 0; i < N; i++) {
                int at = apart ? i / EACH * 2 * EACH + i % EACH : i;
                ck_assert(target[at] == (i % 3 != 0));
            }
        }
}
END_TEST

/* While one process replaces a structure byte by byte nobody reads it, and the other way round. */
START_TEST(bytes_of_a_structure_stay_together)
{
    struct wdl_win_control control[2] = { 0 };
    char target[16] = "fifteen letters", other[16] = "those of others", old[16] = "";
    struct wdl_domain d = {.host = &host,
                           .base = target,
                           .control = &control[0],
                           .own = &control[1],
                           .node = control,
                           .node_count = 2};
    struct wdl_element byte = element(WDL_BASIC_U8, 1, 1);
    struct wdl_piece all = {target, sizeof(target)}, first = {target, 1};
    size_t done = 0;
    int region = wdl_region_of(&d, target); /* somebody is in it */
    ck_assert_int_eq(wdl_short_begin(&control[0], wdl_short_bit(0), &control[0], 0, region),
                     WDL_OK);
    ck_assert_int_eq(wdl_accumulate(&d, WDL_ROP_REPLACE, &byte, &all, 1, other, NULL, &done),
                     WDL_AGAIN);
    ck_assert_int_eq(wdl_accumulate(&d, WDL_ROP_NO_OP, &byte, &all, 1, NULL, old, &done),
                     WDL_AGAIN);
    ck_assert_uint_eq(done, 0);
    ck_assert_str_eq(target, "fifteen letters");
    ck_assert_int_eq(wdl_accumulate(&d, WDL_ROP_REPLACE, &byte, &first, 1, "F", NULL, &done),
                     WDL_OK);
    wdl_short_end(&control[0]);
    done = 0;
    ck_assert_int_eq(wdl_accumulate(&d, WDL_ROP_REPLACE, &byte, &all, 1, other, old, &done),
                     WDL_OK);
    ck_assert_str_eq(old, "Fifteen letters");
    ck_assert_str_eq(target, other);
}
END_TEST

/* Also where it lies in two regions: in memory that is mapped, by its own process, from outside. */
START_TEST(bytes_of_a_structure_across_a_border)
{
    static char stage[WDL_REGION_BYTES];
    enum { MAPPED, OWN, OUTSIDE, KINDS };
    char *memory = calloc(3, WDL_REGION_BYTES);
    const struct wdl_outside outside = {outside_copy, NULL, stage};
    struct wdl_element byte = element(WDL_BASIC_U8, 1, 1);
    for (int kind = 0; kind < KINDS; kind++)
        for (int held = 0; held < 2; held++) {
            struct wdl_win_control control[2] = {0};
            char old[16] = "";
            struct wdl_domain d = kind == MAPPED ? domain_of_two(control, memory) :
                domain_alone(control, 2, kind == OUTSIDE, memory, &outside);
            struct wdl_piece all = {memory + WDL_REGION_BYTES - 8, 16};
            size_t done = 0;
            memcpy(all.base, "fifteen letters", 16);
            control[0].bulk[held] = 1;  /* somebody is in one of them */
            ck_assert_int_eq(wdl_accumulate(&d, WDL_ROP_REPLACE, &byte, &all, 1,
                                            "those of others", NULL, &done), WDL_AGAIN);
            ck_assert_int_eq(wdl_accumulate(&d, WDL_ROP_NO_OP, &byte, &all, 1, NULL, old, &done),
                             WDL_AGAIN);
            ck_assert_uint_eq(done, 0);
            ck_assert_str_eq(all.base, "fifteen letters");
            ck_assert_int_eq(control[0].bulk[!held], 0);
            control[0].bulk[held] = 0;
            ck_assert_int_eq(wdl_accumulate(&d, WDL_ROP_REPLACE, &byte, &all, 1,
                                            "those of others", old, &done), WDL_OK);
            ck_assert_uint_eq(done, 16);
            ck_assert_str_eq(old, "fifteen letters");
            ck_assert_str_eq(all.base, "those of others");
            ck_assert(control[0].bulk[0] == 0 && control[0].bulk[1] == 0);
        }
    free(memory);
}
END_TEST

/* --- beside the network, which announces nothing and takes no locks --- */

enum { FAR_CELLS = 2 * WDL_BULK_MIN };

struct far {
    int64_t cells[FAR_CELLS], rounds;
    int stop;
};

static void *network_thread(void *arg)
{
    struct far *far = arg;
    for (; !__atomic_load_n(&far->stop, __ATOMIC_RELAXED); far->rounds++)
        for (int k = 0; k < FAR_CELLS; k++)
            __atomic_fetch_add(&far->cells[k], 1, __ATOMIC_RELAXED);
    return NULL;
}

static int64_t increment(const struct wdl_domain *d, const struct wdl_element *el, int64_t *cell)
{
    int64_t old = __atomic_load_n(cell, __ATOMIC_RELAXED), new = old + 1, was;
    must_cmp(wdl_compare_swap(d, el, cell, &old, &new, &was), ==, WDL_OK);
    return was == old;
}

START_TEST(what_the_network_updates_too)
{
    for (int i = 0; i < 4; i++) {
        struct wdl_win_control control[2] = {0};
        struct wdl_element el = element(WDL_BASIC_I64, 8, 8);
        struct far far = {.rounds = 0};
        int64_t ones[FAR_CELLS], sum = 0, want = 0;
        struct wdl_piece piece = {(char *) far.cells, sizeof(far.cells)};
        struct wdl_domain d = {.host = &host,
                               .base = (char *) far.cells,
                               .control = &control[0],
                               .own = &control[1],
                               .node = control,
                               .node_count = 1 + i % 2,
                               .network = 8};
        pthread_t thread;
        for (int k = 0; k < FAR_CELLS; k++)
            ones[k] = 1;
        pthread_create(&thread, NULL, network_thread, &far);
        for (clock_t end = clock() + CLOCKS_PER_SEC / 20; clock() < end;)
            for (int round = 0; round < 1000; round++) {
                size_t done = 0;
                if (i / 2 == 0) {
                    must_cmp(wdl_accumulate(&d, WDL_ROP_SUM, &el, &piece, 1, ones, NULL, &done),
                             ==, WDL_OK);
                    want += FAR_CELLS;
                } else {
                    want += increment(&d, &el, &far.cells[round % FAR_CELLS]);
                }
            }
        __atomic_store_n(&far.stop, 1, __ATOMIC_RELAXED);
        pthread_join(thread, NULL);
        for (int k = 0; k < FAR_CELLS; k++)
            sum += far.cells[k];
        ck_assert_int_eq(sum, want + far.rounds * FAR_CELLS);
    }
}
END_TEST

/* --- in steps --------------------------------------------------------------------------------- */

/* Of three pages. */
enum { STEP_BYTES = 3 * 4096, STEP_STRIPES = 32 };

struct stepping {
    struct wdl_win_control control[2];
    int foreign;                /* a lock that somebody holds, or -1 */
    int most, updates;          /* others held at a time; the other process's updates */
    int64_t together;           /* elements at a time */
    char *others;               /* a page that it updates */
};

/* A type that is so many integers, so far from one element to the next. */
static uint32_t stepping_type(const struct wdl_element *el)
{
    return el->packed_bytes / 4 << 8 | el->extent / 4;
}

/* Sums of the integers there are in an element. Another process updates what is not locked. */
static int stepping_reduce(void *ctx, uint32_t type, enum wdl_rop op, const void *in, void *inout,
                           int64_t count)
{
    struct stepping *s = ctx;
    const struct wdl_element el = element(WDL_BASIC_WIDE, 16, 16);
    struct wdl_domain d = domain_of_two(s->control, s->others);
    const int32_t *a = in;
    int32_t *b = inout;
    uint64_t held = s->control[0].stripes;
    ck_assert_int_eq(op, WDL_ROP_SUM);
    for (uint32_t i = 0; i < count * (type & 0xff); i++)
        if (i % (type & 0xff) < type >> 8)
            b[i] += a[i];
    int most = __builtin_popcountll(held) - (s->foreign >= 0);
    s->most = most > s->most ? most : s->most;
    s->together = count > s->together ? count : s->together;
    if (held == UINT64_MAX)
        return WDL_OK;
    s->updates++;
    size_t done = 0;
    struct wdl_piece piece = {s->others + 64 * __builtin_ctzll(~held), 16};
    ck_assert_int_eq(wdl_accumulate(&d, WDL_ROP_REPLACE, &el, &piece, 1, "fifteen letters", NULL,
                                    &done), WDL_OK);
    return WDL_OK;
}

/* n elements each `stride` from the one before it; in one piece if that is their length. */
static int stepping_pieces(char *at, size_t bytes, size_t stride, int n, struct wdl_piece *piece)
{
    if (stride == bytes) {
        piece[0] = (struct wdl_piece){at, bytes * (size_t) n};
        return 1;
    }
    for (int i = 0; i < n; i++)
        piece[i] = (struct wdl_piece){at + (size_t) i * stride, bytes};
    return n;
}

/* Long ones of elements that have no instruction lock a few stripes at a time, or a few KiB: others
 * update what is not among them meanwhile. Where one is somebody else's they go as near as they
 * can, and on from there. Those that lie as in an array are reduced together, where they lie, if
 * they and the operands lie as the host wants them, or a KiB at a time. */
START_TEST(long_ones_go_in_steps)
{
    static const struct {
        enum wdl_basic basic;
        uint32_t bytes, extent;
        size_t from, stride;
        int64_t together, by_images;
        int most;
    } kinds[] = {
        {WDL_BASIC_WIDE, 16, 16, 0, 16, 512, 64, 64}, {WDL_BASIC_WIDE, 16, 16, 8, 16, 64, 64, 64},
        {WDL_BASIC_WIDE, 12, 16, 0, 16, 64, 64, 64},
        {WDL_BASIC_WIDE, 16, 16, 56, 64, 1, 1, STEP_STRIPES},   /* each in two lines */
        {WDL_BASIC_I64, 8, 8, 1, 8, 128, 128, 64}       /* crooked */
    };
    enum { OLD_NONE, OLD_APART, OLD_IN_PLACE, OLD_NONE_CROOKED, OLDS };
    const struct wdl_host_ops stepping_ops = {.reduce = stepping_reduce,
        .heavy_barrier = host_heavy_barrier};
    struct wdl_piece *piece = malloc(STEP_BYTES / 8 * sizeof(*piece));
    char *memory = aligned_alloc(4096, STEP_BYTES + 4096), *others = aligned_alloc(4096, 4096);
    int32_t *operands = malloc(STEP_BYTES + 4), *apart = malloc(STEP_BYTES), was;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        for (int olds = 0; olds < OLDS; olds++) {
            struct stepping s = {.foreign = olds == OLD_NONE ? 50 : 40,.others = others};
            int32_t *in = operands + (olds == OLD_NONE_CROOKED);
            struct wdl_host stepping_host = {&stepping_ops, &s};
            struct wdl_element el = element(kinds[k].basic, kinds[k].bytes, kinds[k].extent);
            size_t each = el.packed_bytes, done = 0;
            int n = STEP_BYTES / (int) kinds[k].stride, tries = 0, middle;
            struct wdl_domain d = domain_of_two(s.control, memory);
            d.host = &stepping_host;
            d.own = &s.control[0];
            el.host_type = stepping_type(&el);
            memset(memory, 0, STEP_BYTES + 4096);
            int32_t *old = olds == OLD_APART ? apart : olds == OLD_IN_PLACE ? in : NULL;
            memset(apart, 0xff, STEP_BYTES);
            for (size_t i = 0; i < (size_t) n * each / 4; i++)
                in[i] = (int32_t) i;
            int npieces = stepping_pieces(memory + kinds[k].from, each, kinds[k].stride, n, piece);
            for (; tries < 2; tries++) { /* before and behind it */
                size_t before = done;
                s.control[0].stripes = (uint64_t) 1 << s.foreign;
                ck_assert_int_eq(wdl_accumulate(&d, WDL_ROP_SUM, &el, piece, npieces, in, old,
                                                &done), WDL_AGAIN);
                ck_assert_uint_eq(done % each, 0);
                ck_assert(tries ? done == before : done >= each * 16);
                size_t reached = kinds[k].from + done / each * kinds[k].stride;
                ck_assert_uint_le(reached, 64 * s.foreign);
                ck_assert_uint_gt(reached + kinds[k].stride, 64 * s.foreign);
                middle = (int) (done / each);
                memcpy(&was, memory + kinds[k].from + (size_t) middle * kinds[k].stride, 4);
                ck_assert_int_eq(was, 0);
            }
            s.control[0].stripes = 0;
            s.foreign = -1;
            ck_assert_int_eq(wdl_accumulate(&d, WDL_ROP_SUM, &el, piece, npieces, in, old, &done),
                             WDL_OK);
            ck_assert_uint_eq(done, (size_t) n * each);
            ck_assert_int_eq(s.most, kinds[k].most);
            ck_assert_int_gt(s.updates, 0);
            ck_assert_int_eq(s.together,
                             olds >= OLD_IN_PLACE ? kinds[k].by_images : kinds[k].together);
            for (size_t i = 0; i < (size_t) n * each / 4; i++) {
                size_t at = i / (each / 4) * kinds[k].stride + i % (each / 4) * 4;
                memcpy(&was, memory + kinds[k].from + at, 4);
                ck_assert_int_eq(was, (int32_t) i);
                ck_assert_int_eq(old ? old[i] : in[i] - (int32_t) i, 0);
            }
            ck_assert_uint_eq(s.control[0].stripes, 0);
        }
    free(piece);
    free(memory);
    free(others);
    free(operands);
    free(apart);
}
END_TEST

WDL_SUITE("rma/accumulate", integers, sign_matters, floats_in_pieces, pairs_under_region_locks,
          what_is_no_element_is_refused,
          a_held_region_changes_nothing, compare_and_swap, storm,
          storm_from_outside, copies_from_outside, pairs_from_outside, pairs_from_outside_go_on,
          resumes,
          pieces_of_a_region_together,
          granularity, bytes_of_a_structure_stay_together, bytes_of_a_structure_across_a_border,
          what_the_network_updates_too, long_ones_go_in_steps)
