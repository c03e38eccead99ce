/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/accumulate. */
#include "mpid/rma/accumulate.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "support/suite.h"

/* The host knows one wide type, a pair of a double and an int, and how to take its maximum and its sum. */
struct pair {
    double value;
    int index;
};

static int host_reduce(void *ctx, uint32_t type, enum wdl_rop op, const void *in, void *inout, int64_t count)
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

static const struct wdl_host_ops ops = {.reduce = host_reduce };
static const struct wdl_host host = { &ops, NULL };

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
        for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {                        \
            struct wdl_win_control control = { 0 };                                            \
            type target = 12, in = 10, old = 0;                                                \
            char stream[2 * sizeof(type) + 1];                                                 \
            struct wdl_piece piece = { (char *) &target, sizeof(target) };                     \
            memcpy(stream + 1, &in, sizeof(in));        /* a stream may be unaligned */        \
            ck_assert_int_eq(wdl_accumulate(&host, &control, rows[i].op, &el, &piece, 1, stream + 1, \
                                            &old), WDL_OK);                                    \
            ck_assert(target == rows[i].want);                                                 \
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
    wdl_accumulate(&host, &control, WDL_ROP_MAX, &es, &ps, 1, &in, NULL);
    wdl_accumulate(&host, &control, WDL_ROP_MAX, &eu, &pu, 1, &in, NULL);
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
    ck_assert_int_eq(wdl_accumulate(&host, &control, WDL_ROP_SUM, &el, pieces, 2, in, old), WDL_OK);
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
    ck_assert_int_eq(wdl_accumulate(&host, &control, WDL_ROP_MAXLOC, &el, pieces, 2, stream, old), WDL_OK);
    ck_assert(target[0].value == 3 && target[0].index == 70);
    ck_assert(target[1].value == 5 && target[1].index == 8);
    int was;
    memcpy(&was, old + 8, 4);
    ck_assert_int_eq(was, 7);
    for (int i = 0; i < WDL_WIN_STRIPES; i++)
        ck_assert_uint_eq(control.stripe[i], 0);
}
END_TEST

START_TEST(a_held_region_changes_nothing)
{
    struct wdl_win_control control = { 0 };
    struct pair target = {.value = 1,.index = 7 };
    char stream[12] = { 0 };
    struct wdl_piece piece = { (char *) &target, 12 };
    struct wdl_element el = element(WDL_BASIC_WIDE, 12, sizeof(struct pair));
    for (int i = 0; i < WDL_WIN_STRIPES; i++)
        control.stripe[i] = 1;
    ck_assert_int_eq(wdl_accumulate(&host, &control, WDL_ROP_REPLACE, &el, &piece, 1, stream, NULL), WDL_AGAIN);
    ck_assert(target.value == 1 && target.index == 7);
}
END_TEST

START_TEST(compare_and_swap)
{
    struct wdl_win_control control = { 0 };
    int64_t target = 5, compare = 4, value = 9, result = 0;
    struct wdl_element el = element(WDL_BASIC_I64, 8, 8);
    ck_assert_int_eq(wdl_compare_swap(&host, &control, &el, &target, &compare, &value, &result), WDL_OK);
    ck_assert(target == 5 && result == 5);
    compare = 5;
    wdl_compare_swap(&host, &control, &el, &target, &compare, &value, &result);
    ck_assert(target == 9 && result == 5);
}
END_TEST

/* No update is lost: many threads on one location, by instruction and by region lock. */
enum { THREADS = 4, UPDATES = 20000 };

struct storm {
    struct wdl_win_control control;
    double sum;
    char padding[7];
    char misaligned[16];
};

static void *storm_thread(void *arg)
{
    struct storm *storm = arg;
    double one = 1;
    struct wdl_piece aligned = { (char *) &storm->sum, 8 }, crooked = { storm->misaligned + 1, 8 };
    struct wdl_element el = element(WDL_BASIC_F64, 8, 8);
    for (int i = 0; i < UPDATES; i++) {
        wdl_accumulate(&host, &storm->control, WDL_ROP_SUM, &el, &aligned, 1, &one, NULL);
        while (wdl_accumulate(&host, &storm->control, WDL_ROP_REPLACE, &el, &crooked, 1, &one, NULL) == WDL_AGAIN);
    }
    return NULL;
}

START_TEST(storm)
{
    pthread_t thread[THREADS];
    struct storm *storm = calloc(1, sizeof(*storm));
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, storm_thread, storm);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    ck_assert(storm->sum == (double) THREADS * UPDATES);
    free(storm);
}
END_TEST

WDL_SUITE("rma/accumulate", integers, sign_matters, floats_in_pieces, pairs_under_region_locks,
          a_held_region_changes_nothing, compare_and_swap, storm)
