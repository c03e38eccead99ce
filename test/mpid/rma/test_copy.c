/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of rma/copy: what is moved without the target's help, and what a dynamic window exposes.
 */
#include <stdlib.h>
#include <string.h>
#include "mpid/rma/copybed.h"
#include "support/suite.h"

START_TEST(needs_no_target)
{
    struct bed bed;
    char out[64], in[64] = {0};
    struct wdl_win_stats stats;
    struct test_request request = {0};
    bed_open(&bed, 0);
    for (int i = 0; i < 64; i++)
        out[i] = (char) (i + 1);
    struct wdl_rma_args put = test_put(1, 100, out, 64);
    put.request = &request;
    ck_assert_int_eq(operate(&bed, put), WDL_OK);
    ck_assert(request.done && request.status == WDL_OK);
    ck_assert_mem_eq(bed.w.rank[1].memory + 100 * UNIT, out, 64);
    ck_assert_int_eq(operate(&bed, test_get(1, 100, in, 64)), WDL_OK);
    ck_assert_mem_eq(in, out, 64);
    ck_assert_int_eq(put8(&bed, 1, BYTES / UNIT - 1), WDL_OK);
    ck_assert_int_eq(put8(&bed, 1, BYTES / UNIT), WDL_ERR_RANGE);
    wdl_win_stats_get(bed.win[0], &stats);
    ck_assert_uint_eq(stats.ops_copied, 3);
    ck_assert_int_eq(mover.calls, 3);
    bed_close(&bed);
}
END_TEST

/* A buffer of 6400 bytes: in one piece, in 6400, or in 100 of which the first is not at its
 * beginning. */
static struct wdl_buf buffer(struct test_host *host, const wdl_type *type, int layout, char *addr)
{
    return layout ? test_typed(host, addr, 100, type[layout]) : test_bytes(addr, 6400);
}

START_TEST(every_layout_agrees_with_packing)
{
    static const int blocks[1] = {64}, displs[1] = {40};
    static char here[BYTES], want[BYTES], stream[6400];
    struct bed bed;
    bed_open(&bed, 0);
    struct test_host *host = &bed.w.rank[0].host;
    const struct wdl_host_ops *ops = host->host.ops;
    wdl_type type[3] = {0, test_type_vector(host, TEST_U8, 64, 1, 2),
                        test_type_indexed(host, TEST_U8, 1, blocks, displs)};
    for (int i = 0; i < 3 * 3 * 2; i++) {
        int put = i % 2;
        char *there = bed.w.rank[2].memory, *to = put ? there : here;
        for (int k = 0; k < BYTES; k++) {
            here[k] = (char) (k * 7 + i);
            there[k] = (char) (k * 13 - i);
        }
        memcpy(want, to, BYTES);
        struct wdl_buf local = buffer(host, type, i / 2 % 3, here);
        struct wdl_buf remote = buffer(host, type, i / 6, there);
        struct wdl_buf from = put ? local : remote, at = put ? remote : local;
        ops->pack(host, from.addr, from.count, from.type, 0, stream, 6400);
        ops->unpack(host, want, at.count, at.type, 0, stream, 6400);
        struct wdl_rma_args args = test_get(2, 0, here, 6400);
        args.kind = put ? WDL_RMA_PUT : WDL_RMA_GET;
        args.origin = local;
        args.remote = remote;
        ck_assert_int_eq(operate(&bed, args), WDL_OK);
        ck_assert_mem_eq(to, want, BYTES);
    }
    test_type_end(host, type[1]);
    test_type_end(host, type[2]);
    bed_close(&bed);
}
END_TEST

START_TEST(failures_are_the_operations_own)
{
    struct bed bed;
    char data[64] = "";
    struct wdl_win_stats stats;
    struct test_request request = {0};
    bed_open(&bed, 0);
    struct wdl_rma_args put = test_put(1, 0, data, 64);
    put.request = &request;
    mover.fail_at = 1;
    ck_assert_int_eq(operate(&bed, put), WDL_ERR_RANGE);
    put.origin.bytes = 65;      /* longer than what is to be written */
    ck_assert_int_eq(operate(&bed, put), WDL_ERR_TRUNCATE);
    wdl_win_stats_get(bed.win[0], &stats);
    ck_assert_uint_eq(stats.ops_copied, 0);
    ck_assert_int_eq(request.done, 0);
    bed_close(&bed);
}
END_TEST

/* One like the last one, to the same rank, takes a short way, and does as much; what is different
 * does not, and is judged as ever. */
START_TEST(one_like_the_last_takes_the_short_way)
{
    enum { N = 1024 };
    static char out[N], in[N];
    for (int dynamic = 0; dynamic < 2; dynamic++) {
        struct bed bed;
        bed_open(&bed, dynamic);
        struct wdl_win *win = bed.win[0];
        ck_assert_int_eq(win->epoch.access_state, WDL_ACCESS_LOCK_ALL_GRANTED);
        int64_t at = dynamic ? attach(&bed, 1, 0, 2 * N) : 0, unit = dynamic ? 1 : UNIT;
        struct wdl_rma_args put = test_put(1, at, out, N), get = test_get(1, at + N / unit, in, N);
        for (int i = 0; i < N; i++)
            out[i] = (char) (i + 1);
        struct wdl_rma_args to_nobody = put;
        to_nobody.target = win->near.rank;
        ck_assert_int_eq(wdl_copy_again(win, &to_nobody), 0); /* there is no last one */
        ck_assert_int_eq(wdl_copy_again(win, &put), 0);
        ck_assert_int_eq(operate(&bed, put), WDL_OK);
        memset(out, 7, N);
        ck_assert_int_eq(wdl_copy_again(win, &put), 1);
        ck_assert_mem_eq(bed.w.rank[1].memory, out, N);
        memset(bed.w.rank[1].memory + N, 9, N);
        ck_assert_int_eq(wdl_copy_again(win, &get), 1);
        ck_assert_mem_eq(in, bed.w.rank[1].memory + N, N);
        ck_assert_int_eq(win->quick.stored, 1);
        ck_assert_uint_eq(bed_stats(&bed).ops_copied, 3);
        memset(out, 5, N);      /* the same without a record of it */
        ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_PUT, 1, at, out, N), 1);
        ck_assert_mem_eq(bed.w.rank[1].memory, out, N);
        memset(bed.w.rank[1].memory + N, 3, N);
        ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_GET, 1, at + N / unit, in, N), 1);
        ck_assert_mem_eq(in, bed.w.rank[1].memory + N, N);
        ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_PUT, 2, at, out, N), 0);
        ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_PUT, 1, at - 1, out, N), 0);
        ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_PUT, 1, at, out, 0), 0);
        ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_PUT, 1, at, out, WDL_BATCH_SHORT), 0);
        ck_assert_uint_eq(bed_stats(&bed).ops_copied, 5);
        mover.calls = 0;
        mover.fail_at = 1;      /* what fails goes as ever */
        ck_assert_int_eq(operate(&bed, put), WDL_OK);
        ck_assert_int_eq(mover.calls, 2);
        struct test_request request = {0};
        struct wdl_rma_args other[] = {put, put, put, put, put, put};
        other[0].request = &request;
        other[1].remote = other[1].origin = test_bytes(out, WDL_BATCH_SHORT);
        other[2].origin.bytes = N - 1;
        other[3].disp = at + (dynamic ? N + 1 : BYTES / UNIT - 1);
        other[4].disp = at - 1;
        other[5].remote.contig = 0;
        for (int i = 0; i < 6; i++)
            ck_assert_int_eq(wdl_copy_again(win, &other[i]), 0);
        for (int i = 3; i < 5; i++)
            ck_assert(wdl_status_is_error(operate(&bed, other[i])));
        win->epoch.access_state = WDL_ACCESS_NONE;
        ck_assert_int_eq(wdl_copy_again(win, &put), 0);
        ck_assert_int_eq(operate(&bed, put), WDL_ERR_SYNC);
        win->epoch.access_state = WDL_ACCESS_LOCK_ALL_GRANTED;
        if (dynamic) {
            ck_assert_int_eq(wdl_win_detach(bed.win[1], bed.w.rank[1].memory), WDL_OK);
            ck_assert_int_eq(wdl_copy_again(win, &put), 0);
            ck_assert_int_eq(operate(&bed, put), WDL_ERR_RANGE);
        }
        bed_close(&bed);
    }
}
END_TEST

/* So does one with a request that would not wait for others, and it is done. */
START_TEST(one_with_a_request_takes_the_short_way)
{
    enum { N = WDL_BATCH_LONG + 1 };
    static char out[N];
    for (int dynamic = 0; dynamic < 2; dynamic++) {
        struct bed bed;
        struct test_request request = {0};
        bed_open(&bed, dynamic);
        int64_t at = dynamic ? attach(&bed, 1, 0, N) : 0;
        struct wdl_rma_args put = test_put(1, at, out, N), less = test_put(1, at, out, N - 1);
        ck_assert_int_eq(operate(&bed, put), WDL_OK);
        memset(out, 3 + dynamic, N);
        put.request = less.request = &request;
        ck_assert_int_eq(wdl_copy_again(bed.win[0], &less), 0);
        ck_assert(!request.done);
        ck_assert_int_eq(wdl_copy_again(bed.win[0], &put), 1);
        ck_assert(request.done && request.status == WDL_OK);
        ck_assert_mem_eq(bed.w.rank[1].memory, out, N);
        bed_close(&bed);
    }
}
END_TEST

/* --- dynamic windows -------------------------------------------------------------------------- */

/* Memory is exposed to the byte; its list is read once while it is attached. */
START_TEST(what_is_attached_is_exposed)
{
    struct bed bed;
    bed_open(&bed, 1);
    int64_t at = (int64_t) (uintptr_t) bed.w.rank[1].memory;
    ck_assert_int_eq(put8(&bed, 1, at), WDL_ERR_RANGE);
    attach(&bed, 1, 1024, 64);
    for (int offset = 1024 - 9; offset <= 1024 + 64; offset++) {
        int inside = offset >= 1024 && offset + 8 <= 1024 + 64;
        ck_assert_int_eq(put8(&bed, 1, at + offset), inside ? WDL_OK : WDL_ERR_RANGE);
    }
    mover.calls = 0;
    ck_assert_int_eq(put8(&bed, 1, at + 1024), WDL_OK);
    ck_assert_int_eq(mover.calls, 1); /* the bytes alone, though others have been refused since */
    ck_assert_int_eq(put8(&bed, 1, at + 1024 + 56), WDL_OK);
    ck_assert_int_eq(mover.calls, 2);
    ck_assert_int_eq(put8(&bed, 1, at + 1024 + 57), WDL_ERR_RANGE); /* known, but too long */
    ck_assert_int_eq(put8(&bed, 1, at + 1024 - 1), WDL_ERR_RANGE);
    ck_assert_int_eq(put8(&bed, 1, at + 1024), WDL_OK);
    ck_assert_int_eq(wdl_win_detach(bed.win[1], bed.w.rank[1].memory + 1024), WDL_OK);
    ck_assert_int_eq(put8(&bed, 1, at + 1024), WDL_ERR_RANGE);
    bed_close(&bed);
}
END_TEST

START_TEST(neighbours_that_touch_are_one_stretch)
{
    struct bed bed;
    char *big = malloc(BYTES);
    bed_open(&bed, 1);
    int64_t at = (int64_t) (uintptr_t) bed.w.rank[1].memory;
    for (int i = 40; i > 0; i--) /* a gap before the last */
        attach(&bed, 1, i * 64 + (i == 40), 64);
    mover.calls = 0;
    ck_assert_int_eq(put8(&bed, 1, at + 40 * 64 + 1), WDL_OK);
    ck_assert_int_eq(mover.calls, 2); /* the list, and the bytes */
    mover.calls = 0;
    memset(big, 7, BYTES);
    ck_assert_int_eq(operate(&bed, test_put(1, at + 64, big, 39 * 64)), WDL_OK);
    ck_assert_int_eq(mover.calls, 3); /* the first of them, the others, and the bytes */
    ck_assert_int_eq(bed.w.rank[1].memory[63], 0);
    ck_assert_int_eq(bed.w.rank[1].memory[64], 7);
    ck_assert_int_eq(bed.w.rank[1].memory[40 * 64 - 1], 7);
    ck_assert_int_eq(operate(&bed, test_put(1, at + 64, big, 39 * 64 + 1)), WDL_ERR_RANGE);
    ck_assert_int_eq(operate(&bed, test_put(1, at + 63, big, 39 * 64)), WDL_ERR_RANGE);
    /* all of them are known */
    ck_assert_int_eq(put8(&bed, 1, at + 64), WDL_OK);
    mover.calls = 0;
    ck_assert_int_eq(put8(&bed, 1, at + 64 + 60), WDL_OK);
    ck_assert_int_eq(mover.calls, 1);
    ck_assert_int_eq(put8(&bed, 1, at + 64 + 8), WDL_OK);
    ck_assert_int_eq(mover.calls, 2);
    free(big);
    bed_close(&bed);
}
END_TEST

/* What is known is known of one rank, at one state of its list. */
START_TEST(what_is_known_of_one_rank_says_nothing_of_another)
{
    struct bed bed;
    bed_open(&bed, 1);
    int64_t one = attach(&bed, 1, 0, 64), two = attach(&bed, 2, 0, 64);
    ck_assert_uint_eq(bed.w.control[1].regions_version, bed.w.control[2].regions_version);
    ck_assert_int_eq(put8(&bed, 1, one), WDL_OK);
    ck_assert_int_eq(put8(&bed, 2, one), WDL_ERR_RANGE);
    ck_assert_int_eq(put8(&bed, 1, two), WDL_ERR_RANGE);
    ck_assert_int_eq(put8(&bed, 2, two), WDL_OK);
    bed_close(&bed);
}
END_TEST

/* The bytes a layout touches, not where its displacement points, are looked up. */
START_TEST(a_layout_may_begin_elsewhere)
{
    static const int blocks[1] = {8}, displs[1] = {32};
    struct bed bed;
    bed_open(&bed, 1);
    struct test_host *host = &bed.w.rank[0].host;
    wdl_type type = test_type_indexed(host, TEST_U8, 1, blocks, displs);
    int64_t at = attach(&bed, 1, 64, 8);
    for (int i = 0; i < 3 * 2; i++) {
        int offset = i / 2 - 33;
        struct wdl_rma_args put = test_put(1, at + offset, "windlas", 8);
        put.remote = test_typed(host, NULL, 1, type);
        put.remote.contig = i % 2;
        memset(bed.w.rank[1].memory + 64, 0, 8);
        ck_assert_int_eq(operate(&bed, put), offset == -32 ? WDL_OK : WDL_ERR_RANGE);
        ck_assert_str_eq(bed.w.rank[1].memory + 64, offset == -32 ? "windlas" : "");
    }
    test_type_end(host, type);
    bed_close(&bed);
}
END_TEST

/* What lies between a layout's pieces need not be attached; each piece must be. */
START_TEST(holes_of_a_layout_need_no_memory)
{
    enum { PIECES = 40, STRIDE = 96 };
    struct bed bed;
    char out[8 * PIECES];
    bed_open(&bed, 1);
    struct test_host *host = &bed.w.rank[0].host;
    wdl_type type = test_type_vector(host, TEST_U8, PIECES, 8, STRIDE);
    int64_t at = (int64_t) (uintptr_t) bed.w.rank[1].memory;
    for (int i = 0; i < PIECES; i++)
        attach(&bed, 1, (i * 7 % PIECES) * STRIDE, 8);
    memset(out, 7, sizeof(out));
    struct wdl_rma_args put = test_put(1, at, out, sizeof(out));
    put.remote = test_typed(host, NULL, 1, type);
    ck_assert_int_eq(operate(&bed, put), WDL_OK);
    for (int i = 0; i < PIECES * STRIDE; i++)
        ck_assert_int_eq(bed.w.rank[1].memory[i], i % STRIDE < 8 ? 7 : 0);
    memset(out, 8, sizeof(out));
    put.disp = at + 1;
    ck_assert_int_eq(operate(&bed, put), WDL_ERR_RANGE);
    put.disp = at;
    ck_assert_int_eq(wdl_win_detach(bed.win[1], bed.w.rank[1].memory + 39 * STRIDE), WDL_OK);
    ck_assert_int_eq(operate(&bed, put), WDL_ERR_RANGE);
    for (int i = 0; i < PIECES * STRIDE; i++)       /* refused as a whole */
        ck_assert_int_eq(bed.w.rank[1].memory[i], i % STRIDE < 8 ? 7 : 0);
    test_type_end(host, type);
    bed_close(&bed);
}
END_TEST

/* A list that is being changed is not believed, and one that cannot be read exposes nothing. */
START_TEST(a_changing_list_is_read_again)
{
    struct bed bed;
    bed_open(&bed, 1);
    uint64_t *version = &bed.w.control[1].regions_version;
    int64_t at = attach(&bed, 1, 0, 64);
    ++*version;
    ck_assert_int_eq(put8(&bed, 1, at), WDL_AGAIN);
    ++*version;
    mover.meanwhile = version;
    ck_assert_int_eq(put8(&bed, 1, at), WDL_AGAIN);
    ck_assert_int_eq(bed.w.rank[1].memory[0], 0);
    mover.calls = 0;
    mover.fail_at = 1;
    ck_assert_int_eq(put8(&bed, 1, at), WDL_ERR_RANGE);
    ck_assert_int_eq(mover.calls, 1);
    ck_assert_int_eq(put8(&bed, 1, at), WDL_OK);
    ck_assert_int_eq(mover.calls, 3);
    *version += 2;              /* changed since, but nothing was detached */
    ck_assert_int_eq(put8(&bed, 1, at), WDL_OK);
    ck_assert_int_eq(mover.calls, 4);
    bed.w.control[1].regions_gone += WDL_WIN_GONE;      /* anything may have been */
    ck_assert_int_eq(put8(&bed, 1, at), WDL_OK);
    ck_assert_int_eq(mover.calls, 6);
    bed_close(&bed);
}
END_TEST

/* --- memory that is offered ------------------------------------------------------------------- */

static int64_t offer(struct bed *bed, int rank, int offset, int bytes, uint64_t serial)
{
    struct wdl_region region = {.bytes = (uint64_t) bytes, .offer = 99, .serial = serial};
    region.base = (uint64_t) (uintptr_t) bed->w.rank[rank].memory + (uint64_t) offset;
    ck_assert_int_eq(wdl_win_attach_region(bed->win[rank], &region), WDL_OK);
    return (int64_t) region.base;
}

/* Where it is mapped it is loaded and stored to; where it is not, everything is as if it were not
 * offered. */
START_TEST(what_is_offered_is_mapped)
{
    struct bed bed;
    struct wdl_win_stats stats;
    uint64_t one = 1, old = 9;
    bed_open(&bed, 2);
    int64_t at = offer(&bed, 1, 0, 64, 5), beside = attach(&bed, 1, 64, 64);
    ck_assert_int_eq(put8(&bed, 1, at + 56), WDL_OK);
    ck_assert_str_eq(view.memory + 56, "windlas");
    ck_assert_int_eq(bed.w.rank[1].memory[56], 0);
    ck_assert_int_eq(view.rank, 1);
    ck_assert_uint_eq(view.serial, 5);
    ck_assert_int_eq(mover.calls, 1); /* the list */
    struct wdl_rma_args acc = test_acc(1, at, WDL_ROP_SUM, TEST_U64, 1, &one, &old);
    ck_assert_int_eq(operate(&bed, acc), WDL_OK);
    ck_assert_int_eq(operate(&bed, acc), WDL_OK);
    ck_assert_uint_eq(old, 1);
    ck_assert_int_eq(view.memory[0], 2);
    ck_assert_int_eq(mover.calls, 1);
    wdl_win_stats_get(bed.win[0], &stats);
    ck_assert_uint_eq(stats.ops_mapped, 3);
    view.calls = 0;
    ck_assert_int_eq(put8(&bed, 1, beside), WDL_OK); /* not offered */
    ck_assert_str_eq(bed.w.rank[1].memory + 64, "windlas");
    ck_assert_int_eq(put8(&bed, 1, at + 60), WDL_OK); /* not all of it */
    ck_assert_str_eq(bed.w.rank[1].memory + 60, "windlas");
    ck_assert_int_eq(put8(&bed, 1, beside + 57), WDL_ERR_RANGE);
    ck_assert_int_eq(view.calls, 0);
    view.refuse = 1;
    ck_assert_int_eq(put8(&bed, 1, at), WDL_OK);
    ck_assert_str_eq(bed.w.rank[1].memory, "windlas");
    wdl_win_stats_get(bed.win[0], &stats);
    ck_assert_uint_eq(stats.ops_copied, 3);
    ck_assert_int_eq(wdl_win_detach(bed.win[1], (void *) (uintptr_t) at), WDL_OK);
    view.refuse = 0;
    ck_assert_int_eq(put8(&bed, 1, at), WDL_ERR_RANGE);
    bed_close(&bed);
}
END_TEST

/* An accumulate that goes by message is done before one behind it touches what is mapped. */
START_TEST(an_accumulate_waits_for_those_by_message)
{
    struct bed bed;
    uint64_t one = 1, old = 0, seven = 7;
    struct wdl_win_stats stats;
    bed_open(&bed, 2);
    int64_t at = offer(&bed, 1, 0, 64, 1), border = at + 56;
    attach(&bed, 1, 64, 64);
    ck_assert_int_eq(operate(&bed, crooked(test_acc(1, border, WDL_ROP_SUM, TEST_U64, 1, &seven,
                                                    NULL))), WDL_OK);
    struct wdl_rma_args acc = test_acc(1, border, WDL_ROP_SUM, TEST_U64, 1, &one, &old);
    ck_assert_int_eq(operate(&bed, acc), WDL_AGAIN);
    ck_assert_int_eq(put8(&bed, 1, at), WDL_OK); /* puts need not wait */
    ck_assert_int_eq(view.memory[56], 0);
    TEST_DONE(&bed.w, operate(&bed, acc));
    ck_assert_int_eq(view.memory[56], 1);
    ck_assert_mem_eq(bed.w.rank[1].memory + 60, &seven, 8);
    wdl_win_stats_get(bed.win[0], &stats);
    ck_assert_uint_eq(stats.ops_message, 1);
    bed_end(&bed);
}
END_TEST

/* ... but for no others that come meanwhile. */
START_TEST(an_accumulate_waits_for_those_before_it_alone)
{
    enum { TURNS = 300 };
    struct bed bed;
    uint64_t one = 1, seven = 7;
    int turns = 0;
    bed_open(&bed, 2);
    int64_t at = offer(&bed, 1, 0, 64, 1), border = at + 56;
    attach(&bed, 1, 64, 64);
    struct wdl_rma_args by_message = crooked(test_acc(1, border, WDL_ROP_SUM, TEST_U64, 1, &seven,
                                                      NULL));
    struct wdl_rma_args acc = test_acc(1, at, WDL_ROP_SUM, TEST_U64, 1, &one, NULL);
    ck_assert_int_eq(operate(&bed, by_message), WDL_OK);
    while (wdl_rma_op(bed.win[0], &acc) == WDL_AGAIN && turns++ < TURNS) {
        test_world_turn(&bed.w);
        ck_assert_int_eq(operate(&bed, by_message), WDL_OK);
    }
    ck_assert_int_gt(turns, 0);
    ck_assert_int_lt(turns, TURNS);
    ck_assert_int_eq(view.memory[0], 1);
    bed_end(&bed);
}
END_TEST

WDL_SUITE("rma/copy", needs_no_target, every_layout_agrees_with_packing,
          failures_are_the_operations_own, one_like_the_last_takes_the_short_way,
          one_with_a_request_takes_the_short_way,
          what_is_attached_is_exposed,
          neighbours_that_touch_are_one_stretch, what_is_known_of_one_rank_says_nothing_of_another,
          a_layout_may_begin_elsewhere, holes_of_a_layout_need_no_memory,
          a_changing_list_is_read_again, what_is_offered_is_mapped,
          an_accumulate_waits_for_those_by_message, an_accumulate_waits_for_those_before_it_alone)
