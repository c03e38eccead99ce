/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of rma/stream: blocks evenly apart through the ring, at the target, at the origin, at both;
 * what is between them nobody touches. What a layout holds is what the test host says.
 */
#include <string.h>
#include "base/prng.h"
#include "mpid/rma/copybed.h"
#include "mpid/rma/win_impl.h"
#include "support/suite.h"

enum { ROOM = 1 << 18, LEAST = WDL_MAIL_AREA + 1, BEFORE_END = WDL_STREAM_BYTES - 4096 };

struct shape {                  /* of bytes; count 1: in one piece */
    int block, stride, count;
};

static char mine[ROOM], want[ROOM], packed[ROOM];

/* Where the first block of one begins, so that all are in the room. */
static int first_of(const struct shape *s)
{
    return s->stride < 0 ? (s->count - 1) * -s->stride + 16 : 16;
}

static wdl_type type_of(struct bed *bed, const struct shape *s)
{
    return test_type_vector(&bed->w.rank[0].host, TEST_U8, s->count, s->block, s->stride);
}

static struct wdl_buf buffer(struct bed *bed, void *at, const struct shape *s, wdl_type type)
{
    return s->count > 1 ? test_typed(&bed->w.rank[0].host, at, 1, type) :
        test_bytes(at, (size_t) s->block);
}

/* The stream out of, or into, memory that is laid out so. */
static void stream_of(struct bed *bed, char *at, const struct shape *s, wdl_type type, char *stream,
                      int into)
{
    const struct wdl_host_ops *ops = bed->w.rank[0].host.host.ops;
    size_t bytes = (size_t) s->block * (size_t) s->count;
    if (into)
        ops->unpack(NULL, at, 1, type, 0, stream, bytes);
    else
        ops->pack(NULL, at, 1, type, 0, stream, bytes);
}

static void open(struct bed *bed, struct bed_kind kind)
{
    kind.mail = 1;
    kind.bytes = kind.bytes ? kind.bytes : ROOM;
    bed_open_as(bed, kind);
    mover.bed = bed;
    for (int i = 0; i < ROOM; i++)
        mine[i] = (char) (i * 7 + i / 4096 + 1);
    memset(bed->w.rank[1].memory, 3, kind.bytes);
}

static int flush(struct bed *bed)
{
    return bed_flush(bed, 1);
}

static struct wdl_mail *cell(struct bed *bed)
{
    return bed_cell(bed, 1);
}

static int serve_until_done(struct bed *bed)
{
    int served = 0;
    while (flush(bed) == WDL_AGAIN) {
        ck_assert_int_lt(served++, 100);
        ck_assert_int_eq(wdl_mailbox_serve(bed->win[1]), 1);
    }
    return served;
}

/* Nobody serves it. */
static void flush_until_done(struct bed *bed)
{
    for (int i = 0; flush(bed) == WDL_AGAIN; i++) {
        ck_assert_int_lt(i, 100 * WDL_MAIL_LOOKS);
        if (!bed->win[0]->mailbox.mail)
            test_world_turn(&bed->w);
    }
}

/* A put or get between such layouts; *want: what its destination is to hold afterwards. */
struct move {
    struct wdl_rma_args args;
    wdl_type there, here;
    char *to;
};

static struct move begin(struct bed *bed, int get, const struct shape *there,
                         const struct shape *here)
{
    struct move m = {.there = type_of(bed, there), .here = type_of(bed, here)};
    char *far = bed->w.rank[1].memory + first_of(there), *near = mine + first_of(here);
    m.args = test_put(1, first_of(there) / UNIT, NULL, 0);
    m.args.kind = get ? WDL_RMA_GET : WDL_RMA_PUT;
    far = bed->w.rank[1].memory + m.args.disp * UNIT;
    m.args.remote = buffer(bed, NULL, there, m.there);
    m.args.origin = buffer(bed, near, here, m.here);
    m.to = get ? mine : bed->w.rank[1].memory;
    memcpy(want, m.to, ROOM);
    if (get) {
        stream_of(bed, far, there, m.there, packed, 0);
        stream_of(bed, want + (near - mine), here, m.here, packed, 1);
    } else {
        stream_of(bed, near, here, m.here, packed, 0);
        stream_of(bed, want + m.args.disp * UNIT, there, m.there, packed, 1);
    }
    ck_assert_int_eq(operate(bed, m.args), WDL_OK);
    return m;
}

static void end(struct bed *bed, struct move *m)
{
    ck_assert_mem_eq(m->to, want, ROOM);
    test_type_end(&bed->w.rank[0].host, m->there);
    test_type_end(&bed->w.rank[0].host, m->here);
}

/* Blocks longer and shorter than what goes at a time, and than a line; of other lengths on the
 * other side; backwards; the ring's end among them. */
static const struct {
    struct shape there, here;
} pairs[] = {
    {{9, 11, 1000}, {9000, 9000, 1}},       {{9, 11, 1000}, {90, 100, 100}},
    {{16, 40, 640}, {16, 32, 640}},         {{63, 64, 600}, {37800, 37800, 1}},
    {{64, 96, 500}, {64, 70, 500}},         {{65, 1000, 200}, {13, 20, 1000}},
    {{1000, -1024, 60}, {60, 61, 1000}},    {{1000, 1001, 60}, {1000, -1200, 60}},
    {{20011, 20480, 4}, {80044, 80044, 1}}, {{80020, 80020, 1}, {4001, 4100, 20}},
    {{4096, 5000, 20}, {20480, 21000, 4}},  {{70000, 70010, 2}, {70000, 80000, 2}},
};
enum { PAIRS = sizeof(pairs) / sizeof(pairs[0]) };

START_TEST(both_ways)
{
    for (int i = 0; i < 2 * PAIRS; i++) {
        struct bed bed;
        open(&bed, (struct bed_kind){0});
        bed_ring[0].filled = i % 2 ? BEFORE_END : 0;
        for (int get = 0; get < 2; get++) {
            struct move m = begin(&bed, get, &pairs[i / 2].there, &pairs[i / 2].here);
            ck_assert(bed.win[0]->mailbox.stream == &bed_ring[0]);
            ck_assert_int_le(serve_until_done(&bed), 3);
            end(&bed, &m);
            memset(bed.w.rank[1].memory, 5 + i, ROOM / 2);
        }
        ck_assert_int_eq(mover.calls, 0);
        ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 2);
        ck_assert_uint_eq(bed_stats(&bed).ops_copied, 0);
        bed_close(&bed);
    }
}
END_TEST

/* What the host does not know to be such blocks is the system's. */
START_TEST(others_are_not)
{
    static const int lengths[] = {4000, 4001, 4002}, displs[] = {0, 5000, 10000};
    struct bed bed;
    open(&bed, (struct bed_kind){0});
    struct test_host *host = &bed.w.rank[0].host;
    wdl_type type = test_type_indexed(host, TEST_U8, 3, lengths, displs);
    for (int side = 0; side < 2; side++) {
        struct wdl_rma_args put = test_put(1, 0, mine, 12003);
        struct wdl_buf *buf = side ? &put.origin : &put.remote;
        *buf = test_typed(host, side ? mine : NULL, 1, type);
        ck_assert_int_eq(operate(&bed, put), WDL_OK);
        ck_assert(!bed.win[0]->mailbox.mail);
        ck_assert_int_eq(mover.calls, 1 + side);
    }
    test_type_end(host, type);
    bed_close(&bed);
}
END_TEST

/* The target leaves MPI in the middle, or never comes: all of it is done again. */
START_TEST(one_that_leaves)
{
    static const struct shape there = {3001, 3100, 40}, here = {15005, 16000, 8};
    for (int i = 0; i < 4; i++) {
        struct bed bed;
        open(&bed, (struct bed_kind){0});
        struct move m = begin(&bed, i % 2, &there, &here);
        ck_assert(bed.win[0]->mailbox.stream);
        if (i / 2)
            ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        if (i == 3)
            ck_assert_int_eq(flush(&bed), WDL_AGAIN);
        flush_until_done(&bed);
        ck_assert_int_ge(mover.calls, 1);
        ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 0);
        ck_assert_int_eq(bed.win[0]->rma->streaming, 0);
        end(&bed, &m);
        bed_close(&bed);
    }
}
END_TEST

/* A cell that lies: nothing is touched, and the origin does it another way. */
START_TEST(lies_are_refused)
{
    static const struct shape there = {100, 128, 500}, here = {50000, 50000, 1};
    for (int what = 0; what < 9; what++) {
        struct bed bed;
        open(&bed, (struct bed_kind){0});
        struct move m = begin(&bed, 0, &there, &here);
        struct wdl_mail *mail = cell(&bed);
        ck_assert(mail->is_rows && mail->bytes == 100 && mail->stream.stride == 128);
        mail->bytes = what == 0 ? 0 : what == 1 ? 99 : mail->bytes;
        mail->stream.stride = what == 2 ? INT64_MAX / 2 : what == 3 ? INT64_MIN / 2 :
            what == 4 ? ROOM / 499 + 1 : what == 5 ? -128 : what == 7 ? 0 : mail->stream.stride;
        mail->stream.bytes = what == 6 ? 0 : what == 7 ? (uint64_t) INT64_MAX / 100 * 100 + 100 :
            mail->stream.bytes;
        mail->disp += what == 8 ? ROOM - 499 * 128 - 100 - 16 + 1 : 0;
        memset(want, 3, ROOM);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        ck_assert_int_eq(mail->state, WDL_MAIL_DONE);
        ck_assert_int_eq(mail->status, what < 4 || what == 6 || what == 7 ? WDL_ERR_PROTO :
                         WDL_ERR_RANGE);
        ck_assert_mem_eq(bed.w.rank[1].memory, want, ROOM);
        ck_assert_uint_eq(bed_ring[0].emptied, wdl_copy_place(0));
        ck_assert_int_eq(flush(&bed), WDL_OK);
        ck_assert_int_eq(mover.calls, 1);
        for (int i = 0; i < 500; i++)
            memcpy(want + 16 + i * 128, mine + 16 + i * 100, 100);
        ck_assert_mem_eq(m.to, want, ROOM);
        test_type_end(&bed.w.rank[0].host, m.there);
        test_type_end(&bed.w.rank[0].host, m.here);
        bed_close(&bed);
    }
}
END_TEST

/* Up to the last byte of the window, and no further. */
START_TEST(to_the_end_of_the_window)
{
    struct bed bed;
    open(&bed, (struct bed_kind){0});
    struct test_host *host = &bed.w.rank[0].host;
    wdl_type type = test_type_vector(host, TEST_U8, 2, 8000, ROOM - 8000);
    struct wdl_rma_args put = test_put(1, 0, mine, 16000);
    put.remote = test_typed(host, NULL, 1, type);
    ck_assert_int_eq(operate(&bed, put), WDL_OK);
    serve_until_done(&bed);
    ck_assert_mem_eq(bed.w.rank[1].memory, mine, 8000);
    ck_assert_mem_eq(bed.w.rank[1].memory + ROOM - 8000, mine + 8000, 8000);
    put.disp = 1;
    ck_assert_int_eq(operate(&bed, put), WDL_ERR_RANGE);
    ck_assert_int_eq(mover.calls, 0);
    test_type_end(host, type);
    bed_close(&bed);
}
END_TEST

/* Where what is between the blocks is not attached the target need not be asked. */
START_TEST(attached_memory)
{
    struct bed bed;
    open(&bed, (struct bed_kind){.dynamic = 1});
    struct test_host *host = &bed.w.rank[0].host;
    wdl_type type = test_type_vector(host, TEST_U8, 2, 8000, 10000);
    int64_t there = attach(&bed, 1, 8, 18000), apart = attach(&bed, 1, 20000, 8000);
    struct wdl_rma_args put = test_put(1, there, mine, 16000);
    put.remote = test_typed(host, NULL, 1, type);
    ck_assert_int_eq(operate(&bed, put), WDL_OK);
    ck_assert(bed.win[0]->mailbox.stream);
    serve_until_done(&bed);
    ck_assert_mem_eq(bed.w.rank[1].memory + 8 + 10000, mine + 8000, 8000);
    ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 1);
    (void) attach(&bed, 1, 30000, 8000);
    put.disp = apart;
    ck_assert_int_eq(operate(&bed, put), WDL_OK);
    ck_assert(!bed.win[0]->mailbox.mail);
    ck_assert_int_eq(bed.win[0]->mailbox.past[1][1].missed, 0);
    ck_assert_mem_eq(bed.w.rank[1].memory + 30000, mine + 8000, 8000);
    ck_assert_int_eq(bed.w.rank[1].memory[28000], 3);
    /* detached meanwhile */
    put.disp = there;
    ck_assert_int_eq(operate(&bed, put), WDL_OK);
    TEST_DONE(&bed.w, wdl_win_detach(bed.win[1], (void *) (uintptr_t) there));
    memset(bed.w.rank[1].memory, 3, ROOM);
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
    ck_assert_int_eq(cell(&bed)->status, WDL_ERR_RANGE);
    ck_assert_int_eq(bed.w.rank[1].memory[8], 3);
    ck_assert_int_eq(flush(&bed), WDL_ERR_RANGE);
    test_type_end(host, type);
    bed_close(&bed);
}
END_TEST

/* --- accumulates ------------------------------------------------------------------------------ */

enum { DOUBLES = ROOM / 8, MOST = 560000 };

static double add[MOST], old[MOST], memory_is[MOST];

/* Element i of a layout of doubles, from the first on. */
static int place(const struct shape *s, int i)
{
    return i / s->block * s->stride + i % s->block;
}

/* An accumulate between such layouts of doubles, with a result if `out`; to memory that is what
 * memory_is says, and to that, too. */
static struct wdl_rma_args accumulate(struct bed *bed, const struct shape *there,
                                      const struct shape *here, const struct shape *out,
                                      wdl_type *types)
{
    struct test_host *host = &bed->w.rank[0].host;
    const struct shape *shapes[] = {there, here, out};
    int n = there->block * there->count;
    struct wdl_rma_args args = test_acc(1, 1, WDL_ROP_SUM, TEST_F64, n, add, out ? old : NULL);
    struct wdl_buf *bufs[] = {&args.remote, &args.origin, &args.result};
    for (int i = 0; i < 3; i++) {
        types[i] = 0;
        if (!shapes[i] || shapes[i]->count == 1)
            continue;
        types[i] = test_type_vector(host, TEST_F64, shapes[i]->count, shapes[i]->block,
                                    shapes[i]->stride);
        *bufs[i] = test_typed(host, bufs[i]->addr, 1, types[i]);
    }
    for (int i = 0; i < n; i++)
        memory_is[1 + place(there, i)] += add[place(here, i)];
    return args;
}

static void types_end(struct bed *bed, const wdl_type *types)
{
    for (int i = 0; i < 3; i++)
        if (types[i])
            test_type_end(&bed->w.rank[0].host, types[i]);
}

static void fill_doubles(struct bed *bed, int n)
{
    for (int i = 0; i < n; i++) {
        add[i] = i % 1000 + 1;
        old[i] = -1;
        memory_is[i] = 3 * i;
    }
    memcpy(bed->w.rank[1].memory, memory_is, 8 * (size_t) n);
}

static void are_there(struct bed *bed, int n)
{
    ck_assert_mem_eq(bed->w.rank[1].memory, memory_is, 8 * (size_t) n);
}

/* How many results are not what was there before, or lie between those. */
static int wrong_results(const struct shape *there, const struct shape *out)
{
    int wrong = 0, at = 0;
    for (int k = 0; k < there->block * there->count; k++, at++) {
        for (; at < place(out, k); at++)
            wrong += old[at] != -1;
        wrong += old[at] != 3 * (1 + place(there, k));
    }
    return wrong;
}

static const struct {
    struct shape there, here;
} folds[] = {
    {{1, 2, 2000}, {2000, 2000, 1}},   {{1, 3, 2000}, {1, 2, 2000}},
    {{3, 4, 500}, {1500, 1500, 1}},    {{3, 4, 500}, {5, 7, 300}},
    {{130, 131, 60}, {60, 70, 130}},   {{5000, 5100, 3}, {1000, 1001, 15}},
    {{9000, 9000, 1}, {9, 12, 1000}}
};
enum { FOLDS = sizeof(folds) / sizeof(folds[0]) };

/* Without results, with some in one piece, or as the operands are; and those alone, which have no
 * operands. */
START_TEST(accumulates)
{
    for (int i = 0; i < 4 * FOLDS; i++) {
        struct bed bed;
        wdl_type types[3];
        const struct shape *there = &folds[i / 4].there, *here = &folds[i / 4].here;
        const struct shape whole = {there->block * there->count, 0, 1};
        const struct shape *out = i % 4 == 0 ? NULL : i % 4 == 1 ? &whole : here;
        open(&bed, (struct bed_kind){0});
        fill_doubles(&bed, DOUBLES);
        bed_ring[0].filled = i % 2 ? BEFORE_END : 0;
        struct wdl_rma_args args = accumulate(&bed, there, here, out, types);
        if (i % 4 == 3) {
            args.op = WDL_ROP_NO_OP;
            args.origin = test_bytes(NULL, 0);
            fill_doubles(&bed, DOUBLES);
        }
        ck_assert_int_eq(operate(&bed, args), WDL_OK);
        ck_assert(bed.win[0]->mailbox.stream);
        ck_assert_int_eq(serve_until_done(&bed), 1);
        are_there(&bed, DOUBLES);
        ck_assert_int_eq(out ? wrong_results(there, out) : 0, 0);
        ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 1);
        ck_assert_int_eq(mover.calls, 0);
        types_end(&bed, types);
        bed_close(&bed);
    }
}
END_TEST

/* Somebody else is in the second of the memory's regions: it goes on where it was, and each element
 * is updated once. */
START_TEST(accumulates_half_done)
{
    static const struct shape there = {100, 130, 100}, here = {10000, 0, 1};
    for (int gets = 0; gets < 2; gets++) {
        struct bed bed;
        wdl_type types[3];
        open(&bed, (struct bed_kind){0});
        fill_doubles(&bed, DOUBLES);
        struct wdl_rma_args args = accumulate(&bed, &there, &here, gets ? &here : NULL, types);
        struct wdl_win_control *control = &bed.w.control[1];
        ck_assert_int_eq(operate(&bed, args), WDL_OK);
        control->bulk_mode = WDL_BULK_ALWAYS;
        control->bulk[1] = 1;
        for (int looks = 0; looks < 3; looks++) {
            wdl_mailbox_serve(bed.win[1]);
            ck_assert_int_eq(flush(&bed), WDL_AGAIN);
        }
        uint64_t done = bed_ring[0].emptied;
        ck_assert(done > 0 && done < args.remote.bytes);
        ck_assert_int_eq(cell(&bed)->state, WDL_MAIL_TAKEN);
        control->bulk[1] = 0;
        ck_assert_int_eq(serve_until_done(&bed), 1);
        are_there(&bed, DOUBLES);
        ck_assert_int_eq(gets ? wrong_results(&there, &here) : 0, 0);
        ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 1);
        types_end(&bed, types);
        bed_close(&bed);
    }
}
END_TEST

/* Both sides take turns; what has begun is not withdrawn. */
START_TEST(accumulates_longer_than_the_ring)
{
    static const struct shape there = {5001, 5500, 100}, whole = {500100, 0, 1},
        part = {1667, 1670, 300};
    for (int way = 0; way < 2; way++) {
        struct bed bed;
        wdl_type types[3];
        open(&bed, (struct bed_kind){.bytes = 8 * MOST});
        fill_doubles(&bed, MOST);
        bed_ring[0].filled = way ? BEFORE_END : 0;
        struct wdl_rma_args args = accumulate(&bed, &there, way ? &whole : &part,
                                              way ? &part : NULL, types);
        ck_assert_int_eq(operate(&bed, args), WDL_OK);
        ck_assert(bed.win[0]->mailbox.stream);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        ck_assert_int_eq(cell(&bed)->state, WDL_MAIL_TAKEN);
        for (int i = 0; i < 20 * WDL_MAIL_LOOKS && way == 0; i++)
            ck_assert_int_eq(wdl_mailbox_settle(bed.win[0]), WDL_AGAIN);
        ck_assert_int_ge(serve_until_done(&bed), 1);
        are_there(&bed, MOST);
        ck_assert_int_eq(way ? wrong_results(&there, &part) : 0, 0);
        ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 1);
        types_end(&bed, types);
        bed_close(&bed);
    }
}
END_TEST

/* What the target does not fold in place, and cells that lie: by message. */
START_TEST(accumulates_refused)
{
    static const struct shape there = {3, 4, 500}, here = {1500, 0, 1};
    for (int what = 0; what < 8; what++) {
        struct bed bed;
        wdl_type types[3];
        open(&bed, (struct bed_kind){0});
        fill_doubles(&bed, DOUBLES);
        struct wdl_rma_args args = accumulate(&bed, &there, &here, NULL, types);
        ck_assert_int_eq(operate(&bed, args), WDL_OK);
        struct wdl_mail *mail = cell(&bed);
        ck_assert(mail->is_rows && bed.win[0]->mailbox.stream);
        mail->host_type = what == 0 ? 0xdead : mail->host_type;
        mail->rop = what == 1 ? WDL_ROP_COUNT : mail->rop;
        mail->stream.stride = what == 2 ? 16 : what == 3 ? 33 : what == 4 ? -32 :
            mail->stream.stride;
        mail->bytes = what == 5 ? 12 : mail->bytes;
        mail->disp += what == 4 ? 500 * 32 : what == 6 ? 4 : what == 7 ? ROOM - 499 * 32 : 0;
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        ck_assert_int_eq(mail->state, WDL_MAIL_DONE);
        ck_assert_int_eq(mail->status, what == 7 ? WDL_ERR_RANGE : WDL_ERR_UNSUPPORTED);
        ck_assert_uint_eq(bed_ring[0].emptied, 0);
        flush_until_done(&bed);
        are_there(&bed, DOUBLES);
        ck_assert_uint_eq(bed_stats(&bed).ops_message, 1);
        types_end(&bed, types);
        bed_end(&bed);
    }
}
END_TEST

/* Blocks that lie backwards, or crooked, are not handed over. */
START_TEST(accumulates_not_in_place)
{
    struct bed bed;
    wdl_type types[3];
    open(&bed, (struct bed_kind){0});
    fill_doubles(&bed, DOUBLES);
    const struct shape there = {3, 4, 500}, here = {1500, 0, 1};
    struct wdl_rma_args args = accumulate(&bed, &there, &here, NULL, types);
    types_end(&bed, types);
    types[0] = test_type_vector(&bed.w.rank[0].host, TEST_F64, 500, 3, -4);
    args.remote = test_typed(&bed.w.rank[0].host, NULL, 1, types[0]);
    args.disp = 1 + 4 * 499;
    ck_assert_int_eq(operate(&bed, args), WDL_OK);
    ck_assert(!bed.win[0]->mailbox.mail);
    flush_until_done(&bed);
    for (int i = 0; i < 1500; i++) {
        double now;
        memcpy(&now, bed.w.rank[1].memory + 8 * (1 + 4 * (499 - i / 3) + i % 3), sizeof(now));
        ck_assert(now == 3 * (1 + 4 * (499 - i / 3) + i % 3) + add[i]);
    }
    test_type_end(&bed.w.rank[0].host, types[0]);
    bed_end(&bed);
}
END_TEST

/* --- which way -------------------------------------------------------------------------------- */

static uint64_t copy_takes;

static void time_passes(struct bed *bed, int call)
{
    (void) call;
    bed->w.rank[0].host.now_ns += copy_takes;
}

/* Of so many puts, how many did not go through the ring, where that takes so long, and the system
 * so long. */
static int gone_otherwise(struct bed *bed, const struct shape *there, int puts, uint64_t ring,
                          uint64_t system)
{
    int handed = 0;
    wdl_type type = type_of(bed, there);
    struct wdl_rma_args put = test_put(1, 0, mine, (size_t) (there->block * there->count));
    put.remote = buffer(bed, NULL, there, type);
    copy_takes = system;
    mover.during = time_passes;
    for (int i = 0; i < puts; i++) {
        ck_assert_int_eq(operate(bed, put), WDL_OK);
        int mailed = bed->win[0]->mailbox.mail != NULL;
        bed->w.rank[0].host.now_ns += mailed ? ring : 0;
        handed += mailed;
        if (mailed)
            serve_until_done(bed);
        else
            flush_until_done(bed);
    }
    mover.during = NULL;
    test_type_end(&bed->w.rank[0].host, type);
    return puts - handed;
}

/* What the system would copy is tried both ways; what would be a message goes to a target that is
 * there, however slow it is: the same target would take the message. */
START_TEST(the_faster_way)
{
    static const struct shape few = {3000, 3100, 8}, many = {300, 310, 80},
        few_short = {100, 110, 5}, many_short = {8, 16, 64};
    for (int attended = 0; attended < 2; attended++) {
        struct bed bed;
        open(&bed, (struct bed_kind){.attended = attended});
        bed_ring[0].filled = WDL_STREAM_BYTES;
        ck_assert_int_gt(gone_otherwise(&bed, &few, 200, 9000, 4000), 150);
        ck_assert_int_lt(gone_otherwise(&bed, &few, 2000, 4000, 20000), 700);
        memset(bed.win[0]->rma->trial, 0, sizeof(bed.win[0]->rma->trial));
        ck_assert_int_gt(gone_otherwise(&bed, &few_short, 200, 2000, 1000), 150);
        memset(bed.win[0]->rma->trial, 0, sizeof(bed.win[0]->rma->trial));
        int others = gone_otherwise(&bed, &many, 200, 9000, 4000) +
            gone_otherwise(&bed, &many_short, 200, 9000, 4000);
        if (attended)
            ck_assert_int_eq(others, 0);
        else
            ck_assert_int_gt(others, 300);
        bed_end(&bed);
    }
}
END_TEST

/* Layouts of their own have times of their own: what blocks take does not say what one piece
 * does. */
START_TEST(blocks_are_timed_apart)
{
    static const struct shape blocks = {3000, 3100, 8}, whole = {24000, 24000, 1};
    struct bed bed;
    open(&bed, (struct bed_kind){0});
    bed_ring[0].filled = WDL_STREAM_BYTES;
    ck_assert_int_gt(gone_otherwise(&bed, &blocks, 200, 9000, 4000), 150);
    ck_assert_int_lt(gone_otherwise(&bed, &whole, 200, 2000, 4000), 20);
    struct move m = begin(&bed, 0, &whole, &blocks);
    ck_assert(!bed.win[0]->mailbox.mail);
    end(&bed, &m);
    bed_close(&bed);
}
END_TEST

/* --- in any order ----------------------------------------------------------------------------- */

/* Blocks of at least LEAST bytes and at most `most` with what is between them; sometimes one. */
static struct shape draw(struct wdl_prng *dice, int most)
{
    struct shape s;
    s.block = 1 + (int) wdl_prng_below(dice, wdl_prng_chance(dice, 500) ? 200 : 12000);
    s.stride = s.block + (int) wdl_prng_below(dice, 50);
    int fewest = (LEAST + s.block - 1) / s.block, room = most / s.stride;
    room = room < 1000 ? room : 1000;
    s.count = fewest < room ? fewest + (int) wdl_prng_below(dice, (uint64_t) (room - fewest)) : 0;
    if (s.count < 2)
        return (struct shape){LEAST + s.block, 0, 1};
    return s;
}

/* Two that put to and get from each other and look when they please: as if one after the other. */
START_TEST(any_order_of_looks)
{
    enum { OPS = 300, HALF = ROOM / 2 };
    static char near[2][ROOM], wanted[2][ROOM];
    struct bed bed;
    struct wdl_prng dice;
    int step = 0, streamed = 0;
    open(&bed, (struct bed_kind){0});
    wdl_prng_init(&dice, 21);
    ck_assert_int_eq(wdl_win_lock_all(bed.win[1], 0, &step), WDL_OK);
    for (int i = 0; i < OPS; i++) {
        int done[2] = {0, 0}, get[2];
        wdl_type there[2], here[2];
        for (int r = 0; r < 2; r++) {
            struct shape far = draw(&dice, HALF), own = far;
            own.stride += (int) wdl_prng_below(&dice, 9);
            if (wdl_prng_chance(&dice, 300) || own.stride * own.count > ROOM)
                own = (struct shape){far.block * far.count, 0, 1};
            get[r] = (int) wdl_prng_below(&dice, 2);
            memset(near[r], i + r, ROOM);
            char *memory = bed.w.rank[!r].memory + r * HALF;
            memset(memory, i + r + 99, HALF);
            there[r] = type_of(&bed, &far);
            here[r] = type_of(&bed, &own);
            for (int k = 0; k < far.block * far.count; k++)
                packed[k] = (char) (k * 3 + i);
            stream_of(&bed, get[r] ? memory : near[r], get[r] ? &far : &own,
                      get[r] ? there[r] : here[r], packed, 1);
            memcpy(wanted[r], get[r] ? near[r] : memory, get[r] ? ROOM : HALF);
            stream_of(&bed, wanted[r], get[r] ? &own : &far, get[r] ? here[r] : there[r], packed,
                      1);
            struct wdl_rma_args args = test_put(!r, r * HALF / UNIT, NULL, 0);
            args.kind = get[r] ? WDL_RMA_GET : WDL_RMA_PUT;
            args.remote = buffer(&bed, NULL, &far, there[r]);
            args.origin = buffer(&bed, near[r], &own, here[r]);
            ck_assert_int_eq(wdl_rma_op(bed.win[r], &args), WDL_OK);
            streamed += bed.win[r]->mailbox.stream != NULL;
        }
        while (!done[0] || !done[1]) {
            int r = (int) wdl_prng_below(&dice, 2), looks = 1 + (int) wdl_prng_below(&dice, 900);
            for (int j = 0; j < looks && !done[r]; j++)
                done[r] = wdl_win_flush(bed.win[r], !r, 0, r ? &step : &bed.step) == WDL_OK;
            if (wdl_prng_chance(&dice, 500))
                wdl_mailbox_serve(bed.win[r]);
        }
        for (int r = 0; r < 2; r++) {
            ck_assert_mem_eq(get[r] ? near[r] : bed.w.rank[!r].memory + r * HALF, wanted[r],
                             get[r] ? ROOM : HALF);
            test_type_end(&bed.w.rank[0].host, there[r]);
            test_type_end(&bed.w.rank[0].host, here[r]);
        }
    }
    ck_assert_int_gt(streamed, OPS / 4);
    ck_assert_uint_gt(bed_stats(&bed).ops_mailed, OPS / 10);
    ck_assert_int_gt(mover.calls, OPS / 10);
    TEST_DONE(&bed.w, wdl_win_unlock_all(bed.win[1], &step));
    bed_close(&bed);
}
END_TEST

WDL_SUITE("rma/stream, blocks", both_ways, others_are_not, one_that_leaves, lies_are_refused,
          to_the_end_of_the_window, attached_memory, accumulates, accumulates_half_done,
          accumulates_longer_than_the_ring, accumulates_refused, accumulates_not_in_place,
          the_faster_way, blocks_are_timed_apart, any_order_of_looks)
