/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/op_issue: an operation's
 * packets and their answers. */
#include <stdlib.h>
#include <string.h>
#include "host/testworld.h"
#include "support/suite.h"

enum { BYTES = 8192, HEADER = sizeof(struct wdl_am_hdr) + sizeof(struct wdl_pkt) };

#define FENCE(w) TEST_ALL(w, wdl_win_fence(r->win, 0, &r->step))

static void open_world(struct test_world *w, int unordered, int pending)
{
    struct test_world_params p = {.ranks = 2,.unordered = unordered,.bytes = BYTES,
        .pending_permille = pending,.delay_ns_max = (uint64_t) (pending ? 3000 : 0),.seed = 3,
        .combine = WDL_COMBINE_NEVER
    };
    test_world_open(w, &p);
    FENCE(w);
    test_world_messages(w);
    test_world_bytes(w);
}

static void fill(struct test_world *w, char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = (char) wdl_prng_next(&w->prng);
}

/* Large data goes in chunks: as few packets as can be, and not a byte more than data and
 * headers. */
START_TEST(data_is_cut_into_chunks)
{
    struct test_world w;
    static char data[BYTES], back[BYTES];
    open_world(&w, 0, 0);
    size_t chunk = w.rank[0].rma->chunk_bytes;
    ck_assert_uint_le(chunk + HEADER, w.params.am_bytes_max);
    ck_assert_uint_gt(chunk + HEADER + 64, w.params.am_bytes_max);
    const size_t sizes[] = { 1, 8, chunk - 1, chunk, chunk + 1, 3 * chunk, 3 * chunk + 5, BYTES };
    for (int i = 0; i < 8; i++) {
        size_t n = sizes[i];
        int packets = (int) ((n + chunk - 1) / chunk);
        fill(&w, data, n);
        test_op(&w, 0, test_put(1, 0, data, n));
        ck_assert_int_eq(test_world_messages(&w), packets);
        ck_assert_int_eq(test_world_bytes(&w), packets * HEADER + (int) n);
        ck_assert_mem_eq(w.rank[1].memory, data, n);
        test_op(&w, 0, test_get(1, 0, back, n));        /* questions without data, and answers */
        ck_assert_int_eq(test_world_messages(&w), 2 * packets);
        ck_assert_int_eq(test_world_bytes(&w), 2 * packets * HEADER + (int) n);
        ck_assert_mem_eq(back, data, n);
    }
    FENCE(&w);
    test_world_close(&w);
}
END_TEST

/* Accumulates are cut between elements, whatever their size. */
START_TEST(accumulates_are_cut_between_elements)
{
    struct test_world w;
    static struct test_double_int in[200], out[200];
    static long double wide[200];
    open_world(&w, 0, 0);
    size_t chunk = w.rank[0].rma->chunk_bytes - w.rank[0].rma->chunk_bytes % 12;
    char stream[12 * 200], old[12 * 200];
    for (int i = 0; i < 200; i++) {
        in[i] = (struct test_double_int) { i % 7, i };
        memcpy(stream + 12 * i, &in[i], 12);
    }
    struct wdl_rma_args acc = test_acc(1, 0, WDL_ROP_MAXLOC, TEST_DOUBLE_INT, 200, stream, old);
    acc.remote = test_typed(&w.rank[0].host, NULL, 200, TEST_DOUBLE_INT);
    test_op(&w, 0, acc);
    ck_assert_int_eq(test_world_messages(&w), 2 * (int) ((sizeof(stream) + chunk - 1) / chunk));
    memcpy(out, w.rank[1].memory, sizeof(out));
    for (int i = 0; i < 200; i++) {
        /* the larger value; of equal ones the smaller index; the memory was zero */
        ck_assert(out[i].value == in[i].value);
        ck_assert_int_eq(out[i].index, in[i].value > 0 ? in[i].index : 0);
    }
    for (size_t i = 0; i < sizeof(old); i++)
        ck_assert_int_eq(old[i], 0);
    memset(w.rank[1].memory, 0, BYTES);
    for (int i = 0; i < 200; i++)
        wide[i] = i;
    for (int twice = 0; twice < 2; twice++)
        test_op(&w, 0, test_acc(1, 0, WDL_ROP_SUM, TEST_LD, 200, wide, NULL));
    FENCE(&w);
    for (int i = 0; i < 200; i++)
        ck_assert(((long double *) (void *) w.rank[1].memory)[i] == 2 * (long double) i);
    test_world_close(&w);
}
END_TEST

/* On a derived type of the target, too, as many elements as a packet holds, up to as many as the
 * target knows pieces. */
START_TEST(accumulates_on_derived_types_are_in_long_packets)
{
    enum { N = WDL_RMA_PIECES - 96, PACKET = 64 << 10 };
    static int64_t sums[N];
    static struct test_double_int pairs[N];
    struct test_world w;
    struct test_world_params p = {
        .ranks = 2,.bytes = 1 << 18,.am_bytes_max = PACKET,.seed = 3,.combine = WDL_COMBINE_NEVER };
    for (int gaps = 0; gaps < 2; gaps++) {
        test_world_open(&w, &p);
        FENCE(&w);
        enum test_type element = gaps ? TEST_DOUBLE_INT : TEST_I64;
        wdl_type type = gaps ? element : test_type_vector(&w.rank[0].host, element, N, 1, 2);
        struct wdl_rma_args acc = test_acc(1, 0, gaps ? WDL_ROP_MAXLOC : WDL_ROP_SUM, element, N,
                                           gaps ? (void *) pairs : sums, NULL);
        acc.remote = test_typed(&w.rank[0].host, NULL, gaps ? N : 1, type);
        for (int i = 0; i < N; i++)
            sums[i] = i + 1;
        test_op(&w, 0, acc);    /* the type goes ahead, and is acknowledged */
        FENCE(&w);
        test_world_messages(&w);
        test_op(&w, 0, acc);
        ck_assert_int_eq(test_world_messages(&w), 1);
        FENCE(&w);
        for (int i = 0; i < N && !gaps; i++)
            ck_assert_int_eq(((int64_t *) (void *) w.rank[1].memory)[2 * i], 2 * (i + 1));
        if (!gaps)
            test_type_end(&w.rank[0].host, type);
        test_world_close(&w);
    }
}
END_TEST

/* A type of smaller blocks than the elements it is said to hold: more pieces than the target knows.
 * Nothing is updated in part. */
START_TEST(a_type_of_smaller_blocks_than_elements_is_refused)
{
    enum { BLOCKS = 4000, N = 2 * BLOCKS / 8, PACKET = 64 << 10 };
    static int64_t sums[N];
    struct test_world w;
    struct test_world_params p = {
        .ranks = 2,.bytes = 1 << 15,.am_bytes_max = PACKET,.seed = 3,.combine = WDL_COMBINE_NEVER };
    test_world_open(&w, &p);
    FENCE(&w);
    wdl_type type = test_type_vector(&w.rank[0].host, TEST_U8, BLOCKS, 1, 2);
    struct wdl_rma_args acc = test_acc(1, 0, WDL_ROP_REPLACE, TEST_I64, N, sums, NULL);
    acc.remote = test_typed(&w.rank[0].host, NULL, 2, type);
    memset(sums, 1, sizeof(sums));
    test_op(&w, 0, acc);
    FENCE(&w);
    for (int i = 0; i < 1 << 15; i++)
        ck_assert_int_eq(w.rank[1].memory[i], 0);
    w.malformed = 1;
    ck_assert_int_eq((int) w.rank[1].proc->stats.malformed, 1);
    test_type_end(&w.rank[0].host, type);
    test_world_close(&w);
}
END_TEST

/* The target's derived type travels ahead of its operation, once, in stretches if it is long. */
START_TEST(a_type_travels_ahead_once)
{
    struct test_world w;
    static char data[BYTES];
    for (int unordered = 0; unordered < 2; unordered++)
        for (int blocks = 2; blocks <= 64; blocks *= 2) {
            open_world(&w, unordered, 0);
            struct test_host *host = &w.rank[0].host;
            int live = w.rank[1].host.live;
            wdl_type type = test_type_vector(host, TEST_U8, blocks, 30, 50);
            size_t chunk = w.rank[0].rma->chunk_bytes, n = 30 * (size_t) blocks * 2;
            int stretches = (int) ((host->host.ops->flat_bytes(host, type) + chunk - 1) / chunk);
            int packets = (int) ((n + chunk - 1) / chunk);
            struct wdl_rma_args put = test_put(1, 3, data, n);
            put.remote = test_typed(host, NULL, 2, type);
            fill(&w, data, n);
            test_op(&w, 0, put);
            FENCE(&w);
            /* the fence's barrier, and a flush or acknowledgements */
            int extra = 2 + (unordered ? packets + 1 : 2);
            ck_assert_int_eq(test_world_messages(&w), stretches + packets + extra);
            for (size_t i = 0; i < n; i++) {
                size_t element = i / (30 * (size_t) blocks), inside = i % (30 * (size_t) blocks);
                size_t extent = 50 * (size_t) (blocks - 1) + 30;
                ck_assert_int_eq(w.rank[1].memory[3 + element * extent + inside / 30 * 50 +
                                                  inside % 30], data[i]);
            }
            ck_assert_int_eq(w.rank[1].host.live, live + 2);    /* it is kept there */
            ck_assert_int_eq(host->holds, 1);
            test_type_end(host, type);
            test_world_close(&w);
        }
}
END_TEST

/* While the network still reads the user's buffer the operation is not complete. */
START_TEST(a_borrowed_buffer_is_read_before_local_completion)
{
    struct test_world w;
    char data[64], want[BYTES];
    int waits = 0;
    open_world(&w, 0, 900);
    struct test_rank *o = &w.rank[0];
    FENCE(&w);
    TEST_DONE(&w, wdl_win_lock(o->win, 1, 0, 0, &o->step));
    for (int i = 0; i < BYTES; i += 64) {
        fill(&w, data, sizeof(data));
        memcpy(want + i, data, sizeof(data));
        test_op(&w, 0, test_put(1, i, data, sizeof(data)));
        while (wdl_win_flush(o->win, 1, 1, &o->step) == WDL_AGAIN) {
            waits++;
            test_world_turn(&w);
        }
        memset(data, 0, sizeof(data));  /* ours again */
    }
    TEST_DONE(&w, wdl_win_unlock(o->win, 1, &o->step));
    ck_assert_mem_eq(w.rank[1].memory, want, BYTES);
    ck_assert_int_gt(waits, 10);
    test_world_close(&w);
}
END_TEST

/* A type the target has no memory for ends its operation with that error: nobody waits for ever. */
START_TEST(a_type_that_finds_no_memory_ends_the_operation)
{
    struct test_world w;
    static char data[2000];
    for (int unordered = 0; unordered < 2; unordered++) {
        open_world(&w, unordered, 0);
        struct test_rank *o = &w.rank[0];
        wdl_type type = test_type_vector(&o->host, TEST_U8, 64, 8, 16); /* more than one stretch */
        struct test_request request = { 0 };
        struct wdl_rma_args put = test_put(1, 0, data, 512);
        put.remote = test_typed(&o->host, NULL, 1, type);
        put.request = &request;
        memset(data, 1, sizeof(data));
        w.rank[1].host.fail_after = 1;
        test_op(&w, 0, put);
        test_world_settle(&w);
        w.rank[1].host.fail_after = 0;
        int status[2] = { WDL_AGAIN, WDL_AGAIN }, turns = 0;
        while (status[0] == WDL_AGAIN || status[1] == WDL_AGAIN) {
            for (int i = 0; i < 2; i++)
                if (status[i] == WDL_AGAIN)
                    status[i] = wdl_win_fence(w.rank[i].win, 0, &w.rank[i].step);
            ck_assert_int_lt(turns++, 1000);
            test_world_turn(&w);
        }
        ck_assert(request.done);
        if (unordered)          /* the acknowledgement said why */
            ck_assert_int_eq(request.status, WDL_ERR_NOMEM);
        else
            ck_assert_int_eq(status[0], WDL_ERR_PROTO);
        ck_assert_int_eq(w.rank[1].memory[0], 0);
        w.malformed = w.rank[1].proc->stats.malformed;  /* what had no memory, and what followed */
        test_type_end(&o->host, type);
        test_world_close(&w);
    }
}
END_TEST

START_TEST(answers_that_do_not_fit_are_malformed)
{
    struct test_world w;
    char back[8] = "own";
    for (int kind = WDL_RMA_PUT; kind <= WDL_RMA_GET; kind++) {
        struct wdl_rma_args args = test_put(1, 0, back, 8);
        args.kind = (enum wdl_rma_kind) kind;
        open_world(&w, 1, 0);
        test_op(&w, 0, args);
        struct wdl_target *t = wdl_target_find(w.rank[0].win, 1);
        struct wdl_op *op = wdl_container_of(t->issued.next, struct wdl_op, node.link);
        struct wdl_pkt good = test_packet(&w, 1, kind == WDL_RMA_GET ? WDL_PKT_REPLY :
                                          WDL_PKT_OP_ACK);
        good.op = wdl_op_ref(op);
        good.bytes = 8;
        for (int fault = 0; fault < 8; fault++) {
            struct wdl_pkt bad = good;
            size_t bytes = kind == WDL_RMA_GET ? 8 : 0;
            if (fault == 0)
                bad.bytes = 0;
            else if (fault == 1)
                bad.bytes = 9;
            else if (fault == 2)
                bad.offset = 1;
            else if (fault == 3)
                bad.offset = UINT64_MAX;
            else if (fault == 4)
                bad.status = WDL_STATUS_COUNT;
            else if (fault == 5)
                bad.kind = kind == WDL_RMA_GET ? WDL_PKT_OP_ACK : WDL_PKT_REPLY;
            else if (fault == 6)
                bad.op += (uint64_t) 2 << 32;   /* another generation */
            else if (kind == WDL_RMA_GET)
                bytes = 7;
            else
                break;
            ck_assert_int_eq(wdl_rma_handle(w.rank[0].rma, 1, &bad, sizeof(bad) - 1),
                             WDL_ERR_PROTO);
            ck_assert_int_eq(test_deliver(&w, 1, 0, &bad, "malicious", bytes), WDL_ERR_PROTO);
            ck_assert_uint_eq(op->done, 0);
            ck_assert_str_eq(back, "own");
        }
        FENCE(&w);              /* the true answer comes */
        ck_assert_int_eq(back[0], kind == WDL_RMA_GET ? 0 : 'o');
        test_world_close(&w);
    }
}
END_TEST

WDL_SUITE("rma/op_issue", data_is_cut_into_chunks, accumulates_are_cut_between_elements,
          accumulates_on_derived_types_are_in_long_packets,
          a_type_of_smaller_blocks_than_elements_is_refused,
          a_type_travels_ahead_once, a_borrowed_buffer_is_read_before_local_completion,
          a_type_that_finds_no_memory_ends_the_operation, answers_that_do_not_fit_are_malformed)
