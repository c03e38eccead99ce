/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/mapped: operations on
 * memory in this address space, by the full path and by the short way, against a shadow. */
#include <math.h>
#include <string.h>
#include "host/testworld.h"
#include "mpid/rma/accumulate.h"
#include "mpid/rma/win_impl.h"
#include "mpid/rma/word.h"
#include "support/suite.h"

enum { BYTES = 1 << 15, HALF = BYTES / 2 };

#define FENCE(w) TEST_ALL(w, wdl_win_fence(r->win, 0, &r->step))

/* sole: of a window where nobody else updates what anybody does. */
static void open_world_of(struct test_world *w, uint64_t seed, int sole)
{
    struct test_world_params p = {.ranks = 2,.node = 2,.bytes = BYTES,.seed = seed,
        .nonoverlapping = sole
    };
    test_world_open(w, &p);
    FENCE(w);
    test_world_messages(w);
}

static void open_world(struct test_world *w, uint64_t seed)
{
    open_world_of(w, seed, 0);
}

static void fill(struct test_world *w, void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((char *) data)[i] = (char) wdl_prng_below(&w->prng, 64);
}

/* A buffer of n 4-byte integers, contiguous or with gaps. */
static struct wdl_buf layout(struct test_world *w, void *addr, int n, wdl_type *type)
{
    if (*type)
        return test_typed(&w->rank[0].host, addr, n / 8, *type);
    return test_bytes(addr, 4 * (size_t) n);
}

/* The stream of a buffer, out of or into memory. */
static void stream_of(struct test_world *w, const struct wdl_buf *buf, char *at, char *stream,
                      int into)
{
    const struct wdl_host_ops *ops = w->rank[0].host.host.ops;
    wdl_type type = buf->contig ? TEST_U8 : buf->type;
    size_t n = into ? ops->unpack(NULL, at, buf->count, type, 0, stream, buf->bytes) :
        ops->pack(NULL, at, buf->count, type, 0, stream, buf->bytes);
    ck_assert_uint_eq(n, buf->bytes);
}

/* Every kind, each of its buffers contiguous or not: 2 x 2 x 2 layouts of random length. */
static void layouts(int sole)
{
    struct test_world w;
    static char shadow[BYTES], origin[BYTES], result[BYTES], in[HALF], old[HALF], got[HALF];
    open_world_of(&w, 11, sole);
    w.control[1].bulk[0] = (uint32_t) sole;     /* as if somebody else were in it */
    struct test_host *host = &w.rank[0].host;
    wdl_type gaps = test_type_vector(host, TEST_I32, 4, 2, 3);  /* 8 of 11 integers */
    char *memory = w.rank[1].memory;
    fill(&w, memory, BYTES);
    memcpy(shadow, memory, BYTES);
    for (int round = 0; round < 1200; round++) {
        int kind = (int) wdl_prng_below(&w.prng, WDL_RMA_CAS), shape = round % 8;
        int n = 8 * (1 + (int) wdl_prng_below(&w.prng, round % 10 ? 20 : 300));
        int64_t disp = 4 * (int64_t) wdl_prng_below(&w.prng, 400);
        wdl_type type[3] = { shape & 1 ? gaps : 0, shape & 2 ? gaps : 0, shape & 4 ? gaps : 0 };
        struct wdl_rma_args args = test_acc(1, disp, WDL_ROP_SUM, TEST_I32, n, origin, result);
        args.kind = (enum wdl_rma_kind) kind;
        args.op = wdl_prng_chance(&w.prng, 200) ? WDL_ROP_REPLACE : WDL_ROP_SUM;
        args.origin = layout(&w, origin, n, &type[0]);
        args.remote = layout(&w, NULL, n, &type[1]);
        if (kind == WDL_RMA_GET_ACC)
            args.result = layout(&w, result, n, &type[2]);
        fill(&w, origin, BYTES);
        stream_of(&w, &args.origin, origin, in, 0);
        stream_of(&w, &args.remote, shadow + disp, old, 0);
        test_op(&w, 0, args);
        if (kind == WDL_RMA_GET) {
            stream_of(&w, &args.origin, origin, got, 0);
            ck_assert_mem_eq(got, old, args.remote.bytes);
            continue;
        }
        if (kind == WDL_RMA_GET_ACC) {
            stream_of(&w, &args.result, result, got, 0);
            ck_assert_mem_eq(got, old, args.remote.bytes);
        }
        if (kind != WDL_RMA_PUT && args.op == WDL_ROP_SUM)
            for (int i = 0; i < n; i++) {
                int32_t a, b;
                memcpy(&a, in + 4 * i, 4);
                memcpy(&b, old + 4 * i, 4);
                a = (int32_t) ((uint32_t) a + (uint32_t) b);
                memcpy(in + 4 * i, &a, 4);
            }
        stream_of(&w, &args.remote, shadow + disp, in, 1);
        ck_assert_mem_eq(memory, shadow, BYTES);
    }
    ck_assert_int_eq(test_world_messages(&w), 0);
    w.control[1].bulk[0] = 0;
    FENCE(&w);
    test_type_end(host, gaps);
    test_world_close(&w);
}

START_TEST(every_kind_and_layout_agrees_with_the_shadow)
{
    layouts(0);
    layouts(1);
}
END_TEST

START_TEST(compare_and_swap_by_the_shadow)
{
    struct test_world w;
    open_world(&w, 12);
    for (int i = 0; i < 300; i++) {
        int64_t *cell = (int64_t *) (void *) w.rank[1].memory + i % 9, before = *cell;
        int64_t compare = wdl_prng_chance(&w.prng, 500) ? before : before + 1;
        int64_t value = (int64_t) wdl_prng_next(&w.prng), result = 0;
        test_op(&w, 0, test_cas(1, 8 * (i % 9), TEST_I64, &compare, &value, &result));
        ck_assert_int_eq(result, before);
        ck_assert_int_eq(*cell, compare == before ? value : before);
    }
    FENCE(&w);
    test_world_close(&w);
}
END_TEST

/* An accumulate that comes to a closed region says AGAIN, keeps what it did, and goes on from
 * there: every element is combined once, and the old values are as they were. */
START_TEST(an_interrupted_accumulate_goes_on_where_it_was)
{
    /* elements; where the first is; which is the first one of the second region */
    enum { N = 12288, FIRST = 100, EDGE = WDL_REGION_BYTES / 8 - FIRST };
    static int64_t in[2 * N], old[2 * N], other[2 * N];
    for (int gaps = 0; gaps < 2; gaps++) {
        struct test_world w;
        struct test_world_params p = {.ranks = 2,.node = 2,.bytes = 8 * (N + FIRST) };
        test_world_open(&w, &p);
        FENCE(&w);
        struct test_host *host = &w.rank[0].host;
        int64_t *memory = (int64_t *) (void *) w.rank[1].memory + FIRST;
        wdl_type type = test_type_vector(host, TEST_I64, 64, 1, 2);
        struct wdl_rma_args acc = test_acc(1, 8 * FIRST, WDL_ROP_SUM, TEST_I64, N, in,
                                            old);
        if (gaps) {
            acc.origin = test_typed(host, in, N / 64, type);
            acc.result = test_typed(host, old, N / 64, type);
        }
        for (int i = 0; i < N; i++) {
            memory[i] = 3 * i;
            in[gaps ? i / 64 * 127 + i % 64 * 2 : i] = i + 1;
        }
        w.control[1].bulk_mode = WDL_BULK_MODE;
        w.control[1].bulk[1] = 1;       /* somebody else's */
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(wdl_rma_op(w.rank[0].win, &acc), WDL_AGAIN);
            ck_assert_uint_eq(acc.done, 8 * EDGE);
            ck_assert_int_eq(memory[EDGE - 1], 4 * EDGE - 3);
            ck_assert_int_eq(memory[EDGE], 3 * EDGE);
        }
        /* the short way declines what is in two regions, and what is in the closed one */
        ck_assert_int_eq(wdl_win_accumulate_short(w.rank[0].win, 1, 8 * (FIRST + EDGE - 1), 2,
                                                  WDL_ROP_SUM, &acc.element, in, NULL), WDL_AGAIN);
        for (int n = 1; n <= 2 * WDL_BULK_MIN; n *= 2) {
            int status = wdl_win_accumulate_short(w.rank[0].win, 1, 8 * (FIRST + EDGE), (size_t) n,
                                                  WDL_ROP_SUM, &acc.element, in, NULL);
            ck_assert_int_eq(status, WDL_AGAIN);
            ck_assert_int_eq(memory[EDGE], 3 * EDGE);
            ck_assert_uint_eq(w.control[1].bulk[1], 1);
        }
        /* another operation meanwhile, with the same scratch memory */
        struct wdl_rma_args fetch = test_acc(1, 0, WDL_ROP_NO_OP, TEST_I64, 512, NULL, other);
        fetch.result = test_typed(host, other, 8, type);
        test_op(&w, 0, fetch);
        w.control[1].bulk[1] = 0;
        ck_assert_int_eq(wdl_rma_op(w.rank[0].win, &acc), WDL_OK);
        for (int i = 0; i < N; i++) {
            ck_assert_int_eq(memory[i], 4 * i + 1);
            ck_assert_int_eq(old[gaps ? i / 64 * 127 + i % 64 * 2 : i], 3 * i);
        }
        FENCE(&w);
        test_type_end(host, type);
        test_world_close(&w);
    }
}
END_TEST

/* So does one of elements without an instruction, whose stripes are locked a few at a time. */
START_TEST(an_interrupted_wide_accumulate_goes_on_where_it_was)
{
    enum { N = 1024 };          /* elements of 16 bytes: four pages */
    static long double in[2 * N], old[2 * N];
    for (int gaps = 0; gaps < 2; gaps++) {
        struct test_world w;
        struct test_world_params p = {.ranks = 2,.node = 2,.bytes = sizeof(*in) * N };
        test_world_open(&w, &p);
        FENCE(&w);
        struct test_host *host = &w.rank[0].host;
        long double *memory = (long double *) (void *) w.rank[1].memory;
        wdl_type type = test_type_vector(host, TEST_LD, 64, 1, 2);
        struct wdl_rma_args acc = test_acc(1, 0, WDL_ROP_SUM, TEST_LD, N, in, old);
        if (gaps) {
            acc.origin = test_typed(host, in, N / 64, type);
            acc.result = test_typed(host, old, N / 64, type);
        }
        for (int i = 0; i < N; i++) {
            memory[i] = 3 * i;
            in[gaps ? i / 64 * 127 + i % 64 * 2 : i] = i + 1;
        }
        int far = (int) ((uintptr_t) &memory[N / 8] / 64 % WDL_WIN_STRIPES);
        /* somebody else's: an eighth on, and a page later again */
        w.control[1].stripes = (uint64_t) 1 << far;
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(wdl_rma_op(w.rank[0].win, &acc), WDL_AGAIN);
            ck_assert_uint_gt(acc.done, 0);
            ck_assert_uint_le(acc.done, sizeof(*in) * N / 8);
            ck_assert(memory[acc.done / sizeof(*in) - 1] == 4 * (acc.done / sizeof(*in)) - 3);
            ck_assert(memory[acc.done / sizeof(*in)] == 3 * (acc.done / sizeof(*in)));
        }
        w.control[1].stripes = 0;
        ck_assert_int_eq(wdl_rma_op(w.rank[0].win, &acc), WDL_OK);
        for (int i = 0; i < N; i++) {
            ck_assert(memory[i] == 4 * i + 1);
            ck_assert(old[gaps ? i / 64 * 127 + i % 64 * 2 : i] == 3 * i);
        }
        FENCE(&w);
        test_type_end(host, type);
        test_world_close(&w);
    }
}
END_TEST

/* Arrays of pairs on all sides, longer than a step; now and then a stripe is somebody else's. The
 * gaps stay as they are on both sides. */
START_TEST(arrays_of_pairs_are_updated_where_they_lie)
{
    enum { N = 1500 };
    struct test_world w;
    struct test_world_params p = {.ranks = 2,.node = 2,.bytes = N * sizeof(struct test_double_int)};
    static struct test_double_int in[N], out[N], before[N], want[N], old[N];
    struct test_double_int *memory;
    struct wdl_prng prng;
    int refused = 0;
    wdl_prng_init(&prng, 5);
    test_world_open(&w, &p);
    FENCE(&w);
    memory = (struct test_double_int *) (void *) w.rank[1].memory;
    const struct wdl_host *host = &w.rank[0].host.host;
    for (int round = 0; round < 60; round++) {
        int n = 1 + (int) wdl_prng_below(&prng, N), fetches = round % 2, in_place = round % 7 == 0;
        int first = (int) wdl_prng_below(&prng, (uint64_t) (N - n + 1));
        enum wdl_rop op = round % 5 == 1 ? WDL_ROP_NO_OP : round % 3 ? WDL_ROP_MINLOC :
            WDL_ROP_REPLACE;
        for (int i = 0; i < N; i++) {
            memset(&in[i], 0x11, sizeof(in[i]));
            memset(&memory[i], 0x22, sizeof(memory[i]));
            in[i].value = (double) wdl_prng_below(&prng, 3);
            memory[i].value = (double) wdl_prng_below(&prng, 3);
            in[i].index = (int) wdl_prng_below(&prng, 100);
            memory[i].index = (int) wdl_prng_below(&prng, 100);
        }
        struct test_double_int *result = in_place ? in : out;
        memset(out, 0x77, sizeof(out));
        memcpy(old, result, sizeof(old));
        memcpy(before, memory, sizeof(before));
        memcpy(want, before, sizeof(want));
        host->ops->reduce(NULL, TEST_DOUBLE_INT, op, in, want + first, n);
        if (fetches)
            host->ops->reduce(NULL, TEST_DOUBLE_INT, WDL_ROP_REPLACE, before + first, old, n);
        struct wdl_rma_args acc = test_acc(1, first * (int) sizeof(*in), op, TEST_DOUBLE_INT, n, in,
                                           fetches ? result : NULL);
        acc.origin = test_typed(&w.rank[0].host, in, n, TEST_DOUBLE_INT);
        acc.remote = test_typed(&w.rank[0].host, NULL, n, TEST_DOUBLE_INT);
        if (fetches)
            acc.result = test_typed(&w.rank[0].host, result, n, TEST_DOUBLE_INT);
        w.control[1].stripes = round % 3 ? (uint64_t) 1 << wdl_prng_below(&prng, 64) : 0;
        int status = wdl_rma_op(w.rank[0].win, &acc);
        ck_assert(status == WDL_OK || (status == WDL_AGAIN && w.control[1].stripes));
        size_t done = acc.done / acc.element.packed_bytes;
        if (status == WDL_AGAIN) { /* as far as it goes */
            char *at = (char *) (memory + (size_t) first + done);
            ck_assert((wdl_stripes_of(at, sizeof(*in)) & w.control[1].stripes) != 0);
            ck_assert_mem_eq(at, before + (size_t) first + done,
                             sizeof(*in) * (N - (size_t) first - done));
            w.control[1].stripes = 0;
            ck_assert_int_eq(wdl_rma_op(w.rank[0].win, &acc), WDL_OK);
            refused++;
        }
        ck_assert_uint_eq(w.control[1].stripes & (w.control[1].stripes - 1), 0);
        ck_assert_mem_eq(memory, want, sizeof(want));
        ck_assert_mem_eq(result, old, sizeof(old));
    }
    ck_assert_int_gt(refused, 20);
    w.control[1].stripes = 0;
    FENCE(&w);
    test_world_close(&w);
}
END_TEST

/* The same where one side is no array: its pairs lie one behind the other without gaps, or where
 * the host would not have them. */
START_TEST(pairs_need_not_be_an_array_on_all_sides)
{
    enum { N = 30, PACKED = 12 * N, ORIGIN = 0, RESULT, TARGET, CROOKED, CROOKED_TARGET, SIDES };
    /* far apart, whatever is made of their lengths */
    static struct test_double_int in[20 * N], out[20 * N], crooked[N + 1];
    for (int side = 0; side < SIDES; side++) {
        struct test_world w;
        struct test_world_params p = {.ranks = 2,.node = 2,
            .bytes = (N + 1) * sizeof(struct test_double_int)};
        struct test_double_int there[N];
        _Alignas(16) char packed[PACKED];
        test_world_open(&w, &p);
        FENCE(&w);
        struct test_host *host = &w.rank[0].host;
        const struct wdl_host_ops *ops = host->host.ops;
        char *memory = w.rank[1].memory;
        for (int i = 0; i < N; i++) {
            in[i] = (struct test_double_int){i % 3 + 1, 100 + i};
            there[i] = (struct test_double_int){2, 200 + i};
        }
        struct wdl_rma_args acc = test_acc(1, 0, WDL_ROP_MAXLOC, TEST_DOUBLE_INT, N, in, out);
        acc.origin = test_typed(host, in, N, TEST_DOUBLE_INT);
        acc.result = test_typed(host, out, N, TEST_DOUBLE_INT);
        acc.remote = test_typed(host, NULL, N, TEST_DOUBLE_INT);
        if (side == CROOKED_TARGET) {
            acc.disp = 4;
            memory += 4;
        }
        memcpy(memory, there, sizeof(there));
        if (side == CROOKED) {
            memcpy((char *) crooked + 4, in, N * sizeof(in[0]));
            acc.origin = test_typed(host, (char *) crooked + 4, N, TEST_DOUBLE_INT);
        } else if (side == ORIGIN) {
            ops->pack(host, in, N, TEST_DOUBLE_INT, 0, packed, PACKED);
            acc.origin = test_bytes(packed, PACKED);
        } else if (side == RESULT) {
            acc.result = test_bytes(packed, PACKED);
        } else if (side == TARGET) {
            ops->pack(host, there, N, TEST_DOUBLE_INT, 0, memory, PACKED);
            acc.remote = test_bytes(NULL, PACKED);
        }
        ck_assert_int_eq(wdl_rma_op(w.rank[0].win, &acc), WDL_OK);
        if (side == RESULT)
            ops->unpack(host, out, N, TEST_DOUBLE_INT, 0, packed, PACKED);
        if (side == TARGET)
            ops->unpack(host, there, N, TEST_DOUBLE_INT, 0, memory, PACKED);
        else
            memcpy(there, memory, sizeof(there));
        for (int i = 0; i < N; i++) {
            ck_assert(there[i].value == (i % 3 == 2 ? 3 : 2));
            ck_assert_int_eq(there[i].index, i % 3 == 0 ? 200 + i : 100 + i);
            ck_assert(out[i].value == 2);
            ck_assert_int_eq(out[i].index, 200 + i);
        }
        FENCE(&w);
        test_world_close(&w);
    }
}
END_TEST

/* Vectors over several regions, one of which is closed for a while; each element once, the gaps
 * never. */
START_TEST(blocks_evenly_apart)
{
    enum { N = 4 * WDL_REGION_BYTES / 8 };
    static int64_t in[N], want[N];
    struct test_world w;
    struct test_world_params p = {.ranks = 2, .node = 2, .bytes = 8 * N, .seed = 17};
    int stopped = 0;
    test_world_open(&w, &p);
    FENCE(&w);
    struct test_host *host = &w.rank[0].host;
    int64_t *memory = (int64_t *) (void *) w.rank[1].memory;
    w.control[1].bulk_mode = WDL_BULK_MODE;
    for (int i = 0; i < N; i++)
        in[i] = i + 1;
    for (int round = 0; round < 200; round++) {
        int block = 1 + (int) wdl_prng_below(&w.prng, 3), from = 0;
        int stride = block + 1 + (int) wdl_prng_below(&w.prng, 50);
        int count = 2 + (int) wdl_prng_below(&w.prng, 500), at = round % 50;
        int apart = block + (int) wdl_prng_below(&w.prng, 3); /* the operands; block: not at all */
        wdl_type type = test_type_vector(host, TEST_I64, count, block, stride);
        wdl_type theirs = test_type_vector(host, TEST_I64, count, block, apart);
        enum wdl_rop op = round % 7 ? WDL_ROP_SUM : WDL_ROP_REPLACE;
        struct wdl_rma_args acc = test_acc(1, 8 * at, op, TEST_I64, count * block, in, NULL);
        acc.remote = test_typed(host, NULL, 1, type);
        if (apart > block)
            acc.origin = test_typed(host, in, 1, theirs);
        memcpy(want, memory, sizeof(want));
        for (int i = 0; i < count; i++, from += apart)
            for (int k = 0; k < block; k++) {
                int64_t *to = &want[at + i * stride + k];
                *to = (op == WDL_ROP_SUM ? *to : 0) + in[from + k];
            }
        w.control[1].bulk[1] = round % 3 == 0;  /* somebody else's */
        int status = wdl_rma_op(w.rank[0].win, &acc);
        if (w.control[1].bulk[1] && at + stride * count > N / 4 + stride) {
            ck_assert_int_eq(status, WDL_AGAIN);
            ck_assert_uint_lt(acc.done, acc.remote.bytes);
            stopped++;
        }
        w.control[1].bulk[1] = 0;
        if (status == WDL_AGAIN)
            status = wdl_rma_op(w.rank[0].win, &acc);
        ck_assert_int_eq(status, WDL_OK);
        ck_assert_mem_eq(memory, want, sizeof(want));
        test_type_end(host, type);
        test_type_end(host, theirs);
    }
    ck_assert_int_gt(stopped, 5);
    FENCE(&w);
    test_world_close(&w);
}
END_TEST

/* Operands may go backwards; they take the whole way. */
START_TEST(blocks_of_operands_going_backwards)
{
    enum { N = 16 };
    int64_t in[2 * N];
    struct test_world w;
    struct test_world_params p = {.ranks = 2, .node = 2, .bytes = 16 * N, .seed = 18};
    test_world_open(&w, &p);
    FENCE(&w);
    struct test_host *host = &w.rank[0].host;
    int64_t *memory = (int64_t *) (void *) w.rank[1].memory;
    for (int i = 0; i < 2 * N; i++)
        in[i] = i;
    wdl_type type = test_type_vector(host, TEST_I64, N, 1, 2);
    wdl_type theirs = test_type_vector(host, TEST_I64, N, 1, -2);
    struct wdl_rma_args acc = test_acc(1, 0, WDL_ROP_REPLACE, TEST_I64, N, in, NULL);
    acc.remote = test_typed(host, NULL, 1, type);
    acc.origin = test_typed(host, &in[2 * N - 1], 1, theirs);
    ck_assert_int_eq(wdl_rma_op(w.rank[0].win, &acc), WDL_OK);
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(memory[2 * i], 2 * N - 1 - 2 * i);
    test_type_end(host, type);
    test_type_end(host, theirs);
    FENCE(&w);
    test_world_close(&w);
}
END_TEST

/* --- the short way ---------------------------------------------------------------------------- */

/* Sums of a few doubles, writes and reads by the ways that are theirs. */
static int add_short(struct wdl_win *win, int rank, int64_t disp, size_t count, enum wdl_rop op,
                     const struct wdl_element *el, const void *in, void *out)
{
    if (op == WDL_ROP_SUM && el->basic == WDL_BASIC_F64 && !out && count > 1 &&
        count <= WDL_DOUBLES_MAX)
        return wdl_win_sum_doubles(win, rank, disp, count, in);
    if (op == WDL_ROP_REPLACE && !out)
        return wdl_win_replace(win, rank, disp, count, el, in);
    if (op == WDL_ROP_NO_OP && out)
        return wdl_win_read(win, rank, disp, count, el, out);
    return wdl_win_accumulate_short(win, rank, disp, count, op, el, in, out);
}

/* What the host makes of n elements at `to`. The bytes of a long double that are no part of its
 * number may be any: they are made those at `like`. */
static void reduce_there(const struct wdl_host *host, const struct wdl_element *el,
                         enum wdl_rop op, const char *in, char *to, const char *like, size_t n)
{
    enum { LD_BYTES = 10 };
    _Alignas(16) char cells[80 * 16];
    memcpy(cells, to, n * el->extent);
    ck_assert_int_eq(host->ops->reduce(host->ctx, el->host_type, op, in, cells, (int64_t) n),
                     WDL_OK);
    if (op == WDL_ROP_REPLACE && el->extent == el->packed_bytes)
        memcpy(cells, in, n * el->extent);
    for (size_t i = 0; el->host_type == TEST_LD && i < n; i++)
        memcpy(cells + i * el->extent + LD_BYTES, like + i * el->extent + LD_BYTES,
               el->extent - LD_BYTES);
    memcpy(to, cells, n * el->extent);
}

/* It does what the full path does, or declines and does nothing. */
static void short_way(int sole)
{
    struct test_world w;
    int taken = 0, bulk = 0, declined = 0, wide = 0, beside = 0;
    open_world_of(&w, 14, sole);
    struct wdl_win *win = w.rank[0].win;
    char *memory = w.rank[1].memory;
    int64_t many[WDL_BULK_MIN] = {0};   /* they raise the mode */
    struct wdl_rma_args acc = test_acc(1, 0, WDL_ROP_SUM, TEST_I64, WDL_BULK_MIN, many, NULL);
    ck_assert_int_eq(wdl_rma_op(win, &acc), WDL_OK);
    for (int round = 0; round < 4000; round++) {
        enum test_type type = (enum test_type) (1 + wdl_prng_below(&w.prng, TEST_TYPE_COUNT - 1));
        enum wdl_rop op = (enum wdl_rop) wdl_prng_below(&w.prng, WDL_ROP_COUNT);
        int sums = round % 5 == 0, fetches = round % 3 != 0;
        struct wdl_element el = test_element(sums ? TEST_F64 : type);
        op = sums ? WDL_ROP_SUM : op;
        size_t count = wdl_prng_below(&w.prng, round % 4 ? 8 : sums ? 24 : 80);
        int64_t disp = (int64_t) wdl_prng_below(&w.prng, round % 16 ? 2000 : BYTES + 8);
        int rank = round % 32 ? 1 : (int) wdl_prng_below(&w.prng, 5) - 1;
        _Alignas(16) char in[80 * 16], out[80 * 16], old[80 * 16], before[BYTES], want[BYTES];
        disp = round % 8 ? disp / 16 * 16 : disp;
        fill(&w, in, sizeof(in));
        fill(&w, memory, BYTES);
        memcpy(before, memory, BYTES);
        memcpy(want, memory, BYTES);
        memset(out, 0x77, sizeof(out));
        memset(old, 0x77, sizeof(old));
        uint64_t ops = win->quick.ops;
        win->crowd.left = round % 7 == 0;
        w.control[1].bulk_by = 0;
        uint64_t held = round % 3 ? 0 : wdl_prng_next(&w.prng) & wdl_prng_next(&w.prng);
        w.control[1].stripes = held;    /* somebody else's */
        win->quick.stored = 0;
        int status = (round % 2 ? add_short : wdl_win_accumulate_short)(win, rank, disp, count, op,
                                                                       &el, in,
                                                                       fetches ? out : NULL);
        if (status != WDL_OK) {
            ck_assert_int_eq(status, WDL_AGAIN);
            if (rank == 1)
                ck_assert_mem_eq(memory, before, BYTES);
            ck_assert_uint_eq(win->quick.ops, ops);
            ck_assert_uint_eq(w.control[0].announced, 0);
            ck_assert_uint_eq(w.control[1].stripes, held);
            declined++;
            continue;
        }
        ck_assert_uint_gt(count, 0);
        ck_assert_uint_eq(w.control[rank].bulk[0], 0);
        ck_assert_uint_eq(w.control[1].stripes, held);
        ck_assert(!sole || win->quick.stored);
        ck_assert(!sole || w.control[1].bulk_by == 0);  /* nothing is closed */
        ck_assert(rank == 0 || rank == 1);
        ck_assert_uint_eq(win->quick.ops, ops + 1);
        if (rank == 0)
            continue;
        if (op != WDL_ROP_NO_OP)
            reduce_there(&w.rank[0].host.host, &el, op, in, want + disp, memory + disp, count);
        if (fetches)
            reduce_there(&w.rank[0].host.host, &el, WDL_ROP_REPLACE, before + disp, old, out,
                         count);
        ck_assert_mem_eq(out, old, sizeof(out));        /* what is in gaps, too */
        ck_assert_mem_eq(memory, want, BYTES);
        taken++;
        if (!wdl_kernel_has(&el)) {
            uint64_t wanted = wdl_stripes_of(memory + disp, count * el.extent);
            ck_assert(sole || (held & wanted) == 0);
            wide++;
            beside += held != 0;
        }
        bulk += count >= WDL_BULK_MIN;
    }
    ck_assert_int_gt(taken, 700);
    ck_assert_int_gt(bulk, 40);
    ck_assert_int_gt(declined, 700);
    ck_assert_int_gt(wide, 100);
    ck_assert_int_gt(beside, 10);
    w.control[1].stripes = 0;
    FENCE(&w);
    test_world_close(&w);
}

START_TEST(the_short_way_agrees_or_declines)
{
    short_way(0);
    short_way(1);
}
END_TEST

static struct {
    const struct wdl_host_ops *ops;
    const struct wdl_win_control *control;
    uint64_t stripes;
} spied;

static int spy_reduce(void *ctx, uint32_t host_type, enum wdl_rop op, const void *in, void *inout,
                      int64_t count)
{
    spied.stripes = spied.control->stripes;
    return spied.ops->reduce(ctx, host_type, op, in, inout, count);
}

/* What is locked while one element without an instruction is updated. */
static uint64_t stripes_meanwhile(struct test_world *w, int64_t disp)
{
    struct wdl_win *win = w->rank[0].win;
    struct wdl_element el = test_element(TEST_LD);
    _Alignas(16) char in[16] = {0};
    spied.stripes = 0;
    ck_assert_int_eq(wdl_win_accumulate_wide(win, 1, disp, 1, WDL_ROP_SUM, &el, in, NULL), WDL_OK);
    return spied.stripes;
}

/* All there are, unless somebody else had one: then its own, and for some updates more. */
START_TEST(the_short_way_locks_all_stripes_or_its_own)
{
    enum { DISP = 64, TIMES = 3 };
    struct test_world w;
    open_world(&w, 15);
    struct wdl_host_ops spy = *(spied.ops = w.rank[0].win->proc->host.ops);
    spy.reduce = spy_reduce;
    w.rank[0].win->proc->host.ops = &spy;
    spied.control = &w.control[1];
    uint64_t own = wdl_stripes_of((char *) w.rank[1].memory + DISP, 16), span = WDL_CROWD_LEAST;
    for (int time = 0; time < 2 * TIMES; time++, span *= 2) {
        ck_assert_uint_eq(stripes_meanwhile(&w, DISP), WDL_STRIPES_ALL);
        if (time == TIMES) {    /* met nobody for long: it begins at first again */
            for (int i = 0; i < WDL_CROWD_ALONE; i++)
                ck_assert_uint_eq(stripes_meanwhile(&w, DISP), WDL_STRIPES_ALL);
            span = WDL_CROWD_LEAST;
        }
        w.control[1].stripes = ~own;
        ck_assert_uint_eq(stripes_meanwhile(&w, DISP), WDL_STRIPES_ALL);
        ck_assert_uint_eq(w.control[1].stripes, ~own);
        w.control[1].stripes = 0;
        for (uint64_t i = 0; i < span; i++)
            ck_assert_uint_eq(stripes_meanwhile(&w, DISP), own);
    }
    ck_assert_uint_eq(stripes_meanwhile(&w, DISP), WDL_STRIPES_ALL);
    ck_assert_uint_eq(w.control[1].stripes, 0);
    w.rank[0].win->proc->host.ops = spied.ops;
    FENCE(&w);
    test_world_close(&w);
}
END_TEST

/* One NaN stands for all, by whichever loop: of one double, of few, of many. */
START_TEST(the_short_way_knows_one_nan)
{
    static const uint64_t some[] = {0xfff8000000000001, 0x7ff8000000000123, 0x7ff0000000000077};
    static const size_t counts[] = {1, 7, 8, 9, 16, 40};
    const double nan = (double) NAN;
    const struct wdl_element el = test_element(TEST_F64);
    uint64_t in[40], one;
    memcpy(&one, &nan, sizeof(one));
    for (int sole = 0; sole < 2; sole++) {
        struct test_world w;
        open_world_of(&w, 17, sole);
        struct wdl_win *win = w.rank[0].win;
        uint64_t *cell = (uint64_t *) (void *) w.rank[1].memory;
        for (int i = 0; i < 36; i++) {
            size_t n = counts[i / 3 % 6];
            memset(cell, 0, sizeof(in));
            for (size_t k = 0; k < n; k++)
                in[k] = some[i % 3];
            int status = n == 1 ? wdl_win_update_one(win, 1, 0, WDL_ROP_SUM, &el, in, NULL) :
                (i < 18 ? add_short : wdl_win_accumulate_short)(win, 1, 0, n, WDL_ROP_SUM, &el, in,
                                                                NULL);
            ck_assert_int_eq(status, WDL_OK);
            for (size_t k = 0; k < n; k++)
                ck_assert_uint_eq(cell[k], one);
        }
        FENCE(&w);
        test_world_close(&w);
    }
}
END_TEST

/* What a word is not, and what takes more than a look, is left to the full path, and nothing stays
 * announced. */
START_TEST(a_word_is_updated_or_declined)
{
    struct test_world w;
    uint64_t *word, one = 1, nine = 9;
    double half = 0.5, sum;
    const struct wdl_element whole = test_element(TEST_I64), real = test_element(TEST_F64);
    open_world(&w, 16);
    struct wdl_win_quick *q = wdl_win_quick(w.rank[0].win);
    uint64_t *cell = (uint64_t *) (void *) w.rank[1].memory;
    ck_assert(wdl_word_is(&whole) && wdl_word_is_summed(&whole) && wdl_word_is_summed(&real));
    ck_assert(!wdl_word_is_summed(&(struct wdl_element) {.basic = WDL_BASIC_I32}));
    w.control[1].bulk_mode = WDL_BULK_NEVER;    /* as where the host has a heavy barrier */
    /* the first has to be noted, which the full path does */
    ck_assert(!wdl_word_begin(q, 1, 0, &word) && q->own->announced == 0);
    ck_assert_int_eq(wdl_win_update_one(w.rank[0].win, 1, 0, WDL_ROP_SUM, &whole, &one, NULL),
                     WDL_OK);
    uint64_t ops = q->ops;
    ck_assert(wdl_word_begin(q, 1, 0, &word) && word == cell);
    ck_assert(q->own->announced == wdl_region_key(1, 0) && q->ops == ops + 1);
    ck_assert(wdl_word_add(word, &whole, &nine) == 1 && *cell == 10);
    ck_assert(wdl_word_swap(word, &one, &nine) == 10 && *cell == 10);
    one = 10;
    ck_assert(wdl_word_swap(word, &one, &nine) == 10 && *cell == 9);
    wdl_word_end(q);
    ck_assert(q->own->announced == 0);
    cell[1] = 0;
    ck_assert(wdl_word_begin(q, 1, 8, &word) && wdl_word_add(word, &real, &half) == 0);
    memcpy(&sum, word, sizeof(sum));
    ck_assert(sum == half);
    wdl_word_end(q);
    ops = q->ops;
    ck_assert(!wdl_word_begin(q, 1, 4, &word) && !wdl_word_begin(q, 1, BYTES - 4, &word) &&
              !wdl_word_begin(q, 1, BYTES, &word) && !wdl_word_begin(q, 1, -8, &word) &&
              !wdl_word_begin(q, 2, 0, &word) && !wdl_word_begin(q, -1, 0, &word));
    q->sole = 1;
    ck_assert(!wdl_word_begin(q, 1, 0, &word));
    q->sole = 0;
    /* where it pays for a barrier: not in a closed region, nor where it is to look behind it */
    w.control[1].bulk_mode = WDL_BULK_MODE;
    w.control[1].bulk[0] = 1;
    q->own->fenced = 7;
    ck_assert(!wdl_word_begin(q, 1, 0, &word) && q->own->fenced == 7);
    w.control[1].bulk[0] = 0;
    q->own->fenced = WDL_BULK_LOOK - 1;
    ck_assert(!wdl_word_begin(q, 1, 0, &word) && q->own->fenced == WDL_BULK_LOOK - 1);
    ck_assert(q->own->announced == 0 && q->ops == ops);
    q->own->fenced = 7;
    uint64_t noted = w.control[1].shorts;
    w.control[1].shorts = 0;
    ck_assert(!wdl_word_begin(q, 1, 0, &word) && q->own->fenced == 7);
    w.control[1].shorts = noted;
    ck_assert(wdl_word_begin(q, 1, 0, &word) && q->own->fenced == 8 && q->ops == ops + 1);
    ck_assert(q->own->announced == wdl_region_key(1, 0));
    wdl_word_end(q);
    w.control[1].bulk_mode = WDL_BULK_NEVER;
    FENCE(&w);
    test_world_close(&w);
}
END_TEST

/* n doubles that are added, and what they were, by a short way; with the region closed, or not:
 * then they are announced, and a barrier is counted. */
enum { ANNOUNCED, CLOSED, UNSAID, DECLINED };       /* unsaid: closed, but not its last closer */
enum { SUMS, FETCHES, DOUBLES, CALLS };

static int way_of(struct test_world *w, size_t n, int call)
{
    int fetches = call == FETCHES;
    const struct wdl_element el = test_element(TEST_F64);
    double in[40], was[40], now[40], *memory = (double *) (void *) w->rank[1].memory;
    struct wdl_win *win = w->rank[0].win;
    uint32_t fenced = w->control[0].fenced, looks = w->control[1].bulk_looks;
    uint64_t ops = win->quick.ops;
    for (size_t i = 0; i < n; i++) {
        in[i] = 1 + (double) i;
        was[i] = now[i] = memory[i];
    }
    void *out = fetches ? was : NULL;
    memset(was, 0, fetches ? sizeof(was) : 0);
    w->control[1].bulk_by = 0;
    int status = n == 1 ? wdl_win_update_one(win, 1, 0, WDL_ROP_SUM, &el, in, out) :
        (call == DOUBLES ? add_short : wdl_win_accumulate_short)(win, 1, 0, n, WDL_ROP_SUM, &el, in,
                                                                 out);
    ck_assert_uint_eq(win->quick.ops, ops + (status == WDL_OK));
    ck_assert_uint_eq(w->control[0].announced, 0);
    for (size_t i = 0; i < n; i++)
        ck_assert(memory[i] == (status == WDL_OK ? now[i] + in[i] : now[i]));
    if (status != WDL_OK)
        return DECLINED;
    for (size_t i = 0; i < n; i++)
        ck_assert(was[i] == now[i]);
    int said = w->control[1].bulk_by == 1, closed = w->control[0].fenced == fenced;
    ck_assert_uint_eq(w->control[1].bulk[0], 0);
    if (w->control[1].bulk_mode < WDL_BULK_MODE)        /* then nothing is counted */
        return said ? CLOSED : ANNOUNCED;
    ck_assert_uint_eq(w->control[0].fenced, fenced + !closed);
    ck_assert_uint_eq(w->control[1].bulk_looks, closed ? 0 : looks);
    return said ? CLOSED : closed ? UNSAID : ANNOUNCED;
}

START_TEST(few_close_their_region)
{
    struct test_world w;
    open_world(&w, 18);
    struct wdl_win *win = w.rank[0].win;
    struct wdl_win_control *own = &w.control[0], *theirs = &w.control[1];
    for (size_t n = 2; n <= 40; n += n < 20 ? 1 : 20)
        for (int call = 0; call < CALLS; call++) {
            int many = n > WDL_CROWD_FEW;
            memset(w.rank[1].memory, 0, BYTES);
            win->crowd = (struct wdl_crowd){0};
            theirs->bulk_mode = WDL_BULK_MODE;
            theirs->bulk_looks = 1;
            own->fenced = 0;
            ck_assert_int_eq(way_of(&w, n, call), CLOSED);
            /* somebody is in the region */
            w.control[1].announced = wdl_region_key(1, 0);
            theirs->shorts = wdl_short_bit(1);
            ck_assert_int_eq(way_of(&w, n, call), many ? DECLINED : ANNOUNCED);
            ck_assert_uint_eq(win->crowd.left, WDL_CROWD_LEAST);
            w.control[1].announced = 0;
            win->crowd.left = 1;
            ck_assert_int_eq(way_of(&w, n, call), many ? CLOSED : ANNOUNCED);
            /* somebody was, who is forgotten; the next ones go the other way, for a while */
            win->crowd = (struct wdl_crowd){0};
            theirs->shorts = wdl_short_bit(1) | wdl_short_bit(0);
            w.control[1].announced = wdl_region_key(1, 1);
            ck_assert_int_eq(way_of(&w, n, call), many ? CLOSED : UNSAID);
            ck_assert_uint_eq(theirs->shorts & wdl_short_bit(1), wdl_short_bit(1));
            ck_assert_uint_eq(win->crowd.left, many ? 0 : WDL_CROWD_LEAST);
            w.control[1].announced = 0;
            win->crowd = (struct wdl_crowd){0};
            ck_assert_int_eq(way_of(&w, n, call), many ? CLOSED : UNSAID);
            ck_assert_int_eq((theirs->shorts & wdl_short_bit(1)) == 0, !many);
            theirs->shorts = 0;
            win->crowd = (struct wdl_crowd){0};
            ck_assert_int_eq(way_of(&w, n, call), CLOSED);
            /* it is closed */
            theirs->bulk[0] = 1;
            ck_assert_int_eq(way_of(&w, n, call), DECLINED);
            theirs->bulk[0] = 0;
            win->crowd.left = 0;
            /* the user wants fewer closed at a time */
            win->params.hints.acc_granularity = 56;
            ck_assert_int_eq(way_of(&w, n, call), ANNOUNCED);
            win->params.hints.acc_granularity = 64;
            ck_assert_int_eq(way_of(&w, n, call), n > 8 ? DECLINED : CLOSED);
            win->params.hints.acc_granularity = 0;
            /* many want it raised */
            theirs->bulk_mode = WDL_BULK_NEVER;
            ck_assert_int_eq(way_of(&w, n, call), n < WDL_BULK_MIN ? ANNOUNCED : DECLINED);
        }
    FENCE(&w);
    test_world_close(&w);
}
END_TEST

/* Where one element after the other is updated the mode is lowered. */
START_TEST(single_ones_lower_the_mode)
{
    struct test_world w;
    const struct wdl_element el = test_element(TEST_I64);
    const int64_t one = 1;
    open_world(&w, 21);
    struct wdl_win_control *theirs = &w.control[1];
    theirs->bulk_mode = WDL_BULK_MODE;
    theirs->bulk_patience = 3;
    memset(w.rank[1].memory, 0, BYTES);
    int i = 0;
    for (; i < 10 * WDL_BULK_LOOK && theirs->bulk_mode == WDL_BULK_MODE; i++)
        ck_assert_int_eq(wdl_win_update_one(w.rank[0].win, 1, 0, WDL_ROP_SUM, &el, &one, NULL),
                         WDL_OK);
    ck_assert_int_eq(i, 3 * WDL_BULK_LOOK);
    ck_assert_int_eq(*(int64_t *) (void *) w.rank[1].memory, i);
    FENCE(&w);
    test_world_close(&w);
}
END_TEST

/* What is replaced as bytes is one thing, half of which nobody is to see. */
START_TEST(one_thing_is_replaced_at_once)
{
    struct test_world w;
    const struct wdl_element el = test_element(TEST_U8);
    const char in[16] = "something";
    open_world(&w, 20);
    struct wdl_win *win = w.rank[0].win;
    w.control[1].bulk_mode = WDL_BULK_MODE;
    for (size_t n = 2; n <= sizeof(in); n++)
        for (int fewer = 0; fewer < 2; fewer++) {
            win->params.hints.acc_granularity = fewer;
            win->crowd.left = 1;
            w.control[1].bulk_by = 0;
            ck_assert_int_eq(wdl_win_accumulate_short(win, 1, 0, n, WDL_ROP_REPLACE, &el, in, NULL),
                             WDL_OK);
            ck_assert_uint_eq(w.control[1].bulk_by, 1);
            w.control[1].announced = wdl_region_key(1, 0);
            w.control[1].shorts = wdl_short_bit(1);
            ck_assert_int_eq(wdl_win_accumulate_short(win, 1, 0, n, WDL_ROP_REPLACE, &el, in, NULL),
                             WDL_AGAIN);
            w.control[1].announced = 0;
        }
    FENCE(&w);
    test_world_close(&w);
}
END_TEST

static int heavy_barriers;

static void heavy_barrier(void *ctx)
{
    (void) ctx;
    heavy_barriers++;
}

/* By and by few elements raise the mode, too; operations of one element, which lose by it, keep
 * them from that. */
START_TEST(few_raise_the_mode)
{
    for (int ones = 0; ones <= 8; ones++) {
        struct test_world w;
        open_world(&w, 19);
        struct wdl_win *win = w.rank[0].win;
        struct wdl_host_ops ops = *win->proc->host.ops;
        ops.heavy_barrier = heavy_barrier;
        win->proc->host.ops = &ops;
        w.control[1].bulk_mode = WDL_BULK_NEVER;
        heavy_barriers = 0;
        win->crowd = (struct wdl_crowd){.ops = win->quick.ops};
        int i = 0;
        for (; i < 3000 && w.control[1].bulk_mode == WDL_BULK_NEVER; i++) {
            ck_assert_int_eq(way_of(&w, 5, i % 2 ? DOUBLES : SUMS), ANNOUNCED);
            for (int k = 0; k < ones; k++)
                way_of(&w, 1, SUMS);
        }
        ck_assert_int_eq(heavy_barriers, ones <= 2);
        int looks = WDL_CROWD_RAISE / 4 / WDL_CROWD_SAMPLE;
        ck_assert_int_eq(i, ones <= 2 ? (looks - 1) * WDL_CROWD_SAMPLE + 1 : 3000);
        ck_assert_int_eq(way_of(&w, 5, SUMS), ones <= 2 ? CLOSED : ANNOUNCED);
        FENCE(&w);
        test_world_close(&w);
    }
}
END_TEST

START_TEST(the_short_swap_declines_what_is_unusual)
{
    struct test_world w;
    open_world(&w, 15);
    struct wdl_win *win = w.rank[0].win;
    int64_t *cell = (int64_t *) (void *) w.rank[1].memory, compare = 0, value = 9, result = 1;
    struct wdl_element el = test_element(TEST_I64), wide = test_element(TEST_LD);
    ck_assert_int_eq(wdl_win_swap_short(win, 1, 0, &el, &compare, &value, &result), WDL_OK);
    ck_assert(*cell == 9 && result == 0);
    ck_assert_int_eq(wdl_win_swap_short(win, 1, 0, &el, &compare, &value, &result), WDL_OK);
    ck_assert(*cell == 9 && result == 9);
    ck_assert_int_eq(wdl_win_swap_short(win, 1, 4, &el, &compare, &value, &result), WDL_AGAIN);
    ck_assert_int_eq(wdl_win_swap_short(win, 1, BYTES - 4, &el, &compare, &value, &result),
                     WDL_AGAIN);
    ck_assert_int_eq(wdl_win_swap_short(win, 1, 16, &wide, &compare, &value, &result), WDL_AGAIN);
    ck_assert_int_eq(wdl_win_swap_short(win, 2, 0, &el, &compare, &value, &result), WDL_AGAIN);
    /* a bulk update has the region */
    w.control[1].bulk_mode = WDL_BULK_MODE;
    w.control[1].bulk[0] = 1;
    ck_assert_int_eq(wdl_win_swap_short(win, 1, 0, &el, &compare, &value, &result), WDL_AGAIN);
    w.control[1].bulk[0] = 0;
    TEST_ALL(&w, wdl_win_fence(r->win, WDL_MODE_NOSUCCEED, &r->step));
    ck_assert_int_eq(wdl_win_swap_short(win, 1, 0, &el, &compare, &value, &result), WDL_AGAIN);
    test_world_close(&w);
}
END_TEST

/* Of every width, by plain loads and stores. */
START_TEST(the_short_swap_where_nobody_else_updates)
{
    struct test_world w;
    static const enum test_type types[] = {TEST_U8, TEST_U16, TEST_U32, TEST_U64};
    open_world_of(&w, 16, 1);
    struct wdl_win *win = w.rank[0].win;
    char *memory = w.rank[1].memory;
    for (int i = 0; i < 4; i++) {
        const struct wdl_element el = test_element(types[i]), wide = test_element(TEST_LD);
        uint64_t have = 0x0807060504030201, want, other = 0x1817161514131211, result = 0;
        const size_t bytes = el.packed_bytes;
        memcpy(memory + 8, &have, 8);
        memcpy(&want, memory + 8, 8);
        ck_assert_int_eq(wdl_win_swap_short(win, 1, 8, &el, &other, &have, &result), WDL_OK);
        ck_assert_mem_eq(memory + 8, &want, 8);
        ck_assert_mem_eq(&result, &have, bytes);
        ck_assert_int_eq(wdl_win_swap_short(win, 1, 8, &el, &have, &other, &result), WDL_OK);
        memcpy(&want, &other, bytes);
        ck_assert_mem_eq(memory + 8, &want, 8);
        ck_assert_mem_eq(&result, &have, bytes);
        uint64_t ops = win->quick.ops;
        ck_assert_int_eq(wdl_win_swap_short(win, 1, BYTES, &el, &have, &other, &result), WDL_AGAIN);
        ck_assert_int_eq(wdl_win_swap_short(win, 2, 8, &el, &have, &other, &result), WDL_AGAIN);
        ck_assert_int_eq(wdl_win_swap_short(win, 1, 16, &wide, &have, &other, &result), WDL_AGAIN);
        if (bytes > 1)
            ck_assert_int_eq(wdl_win_swap_short(win, 1, 9, &el, &have, &other, &result), WDL_AGAIN);
        ck_assert_uint_eq(win->quick.ops, ops);
    }
    ck_assert_uint_eq(w.control[1].shorts, 0);
    FENCE(&w);
    test_world_close(&w);
}
END_TEST

/* Long puts are copies that their target reads: each has its turn in what is known of that rank. */
START_TEST(long_puts_are_copies_for_that_rank)
{
    struct test_world w;
    static char origin[BYTES];
    open_world(&w, 12);
    const struct wdl_bypass *bypass = w.rank[0].win->rma->bypass;
    fill(&w, origin, BYTES);
    for (int full = 0; full < 2; full++)
        for (int target = 0; target < 2; target++)
            for (int i = -1; i < 2; i++) {
                uint32_t before[2] = {bypass[0].copies, bypass[1].copies};
                size_t bytes = (size_t) (WDL_COPY_LONG + i);
                char *at = w.rank[target].memory + 3;
                if (full)
                    test_op(&w, 0, test_put(target, 3, origin + 1 + i, bytes));
                else
                    wdl_quick_store(w.rank[0].win, target, at, origin + 1 + i, bytes);
                ck_assert_mem_eq(at, origin + 1 + i, bytes);
                ck_assert_uint_eq(bypass[target].copies, before[target] + (i >= 0));
                ck_assert_uint_eq(bypass[!target].copies, before[!target]);
            }
    TEST_ALL(&w, wdl_win_fence(r->win, WDL_MODE_NOSUCCEED, &r->step));
    test_world_close(&w);
}
END_TEST

START_TEST(what_overlaps_is_moved)
{
    enum { FAR = WDL_COPY_LONG * 2 };
    static const int shifts[] = {-FAR, -FAR + 1, -4096, -64, -1, 0, 1, 64, 4096, FAR - 1, FAR};
    struct test_world w;
    static char shadow[BYTES];
    open_world(&w, 13);
    const struct wdl_bypass *bypass = w.rank[0].win->rma->bypass;
    char *from = w.rank[1].memory + BYTES / 2 - FAR / 2;
    for (size_t i = 0; i < sizeof shifts / sizeof shifts[0]; i++) {
        uint32_t before = bypass[1].copies;
        int apart = shifts[i] == FAR || shifts[i] == -FAR;
        fill(&w, w.rank[1].memory, BYTES);
        memcpy(shadow, w.rank[1].memory, BYTES);
        memmove(shadow + (from - w.rank[1].memory) + shifts[i],
                shadow + (from - w.rank[1].memory), FAR);
        wdl_quick_store(w.rank[0].win, 1, from + shifts[i], from, FAR);
        ck_assert_mem_eq(w.rank[1].memory, shadow, BYTES);
        ck_assert_uint_eq(bypass[1].copies, before + (uint32_t) apart);
    }
    TEST_ALL(&w, wdl_win_fence(r->win, WDL_MODE_NOSUCCEED, &r->step));
    test_world_close(&w);
}
END_TEST

WDL_SUITE("rma/mapped", every_kind_and_layout_agrees_with_the_shadow,
          compare_and_swap_by_the_shadow, an_interrupted_accumulate_goes_on_where_it_was,
          an_interrupted_wide_accumulate_goes_on_where_it_was,
          arrays_of_pairs_are_updated_where_they_lie,
          pairs_need_not_be_an_array_on_all_sides,
          blocks_evenly_apart, blocks_of_operands_going_backwards,
          the_short_way_agrees_or_declines, the_short_way_locks_all_stripes_or_its_own,
          the_short_way_knows_one_nan, a_word_is_updated_or_declined, few_close_their_region,
          single_ones_lower_the_mode, one_thing_is_replaced_at_once, few_raise_the_mode,
          the_short_swap_declines_what_is_unusual,
          the_short_swap_where_nobody_else_updates, long_puts_are_copies_for_that_rank,
          what_overlaps_is_moved)
