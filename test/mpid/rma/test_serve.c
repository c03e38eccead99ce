/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/serve: what packets do
 * to this process's memory. Rank 1 is the origin, given packets by hand; rank 0 serves. */
#include <string.h>
#include "host/testworld.h"
#include "support/suite.h"

enum { BYTES = 256 };

static void open_world(struct test_world *w, int unordered, int64_t disp_unit)
{
    struct test_world_params p = {.ranks = 2,.unordered = unordered,.disp_unit = disp_unit };
    test_world_open(w, &p);
    for (int i = 0; i < BYTES; i++)
        w->rank[0].memory[i] = (char) i;
}

static struct wdl_pkt packet(struct test_world *w, enum wdl_pkt_kind kind, int64_t disp,
                             uint32_t bytes)
{
    struct wdl_pkt pkt = test_packet(w, 1, kind);
    pkt.disp = disp;
    pkt.total = pkt.bytes = bytes;
    pkt.count = bytes;
    pkt.element = test_element(TEST_I32);
    pkt.rop = WDL_ROP_SUM;
    return pkt;
}

static int is_untouched(const struct test_world *w)
{
    for (int i = 0; i < BYTES; i++)
        if (w->rank[0].memory[i] != (char) i)
            return 0;
    return 1;
}

/* What rank 0 last sent, as rank 1's handler would see it: the answers go to a module of the
 * test. */
struct answer {
    struct wdl_pkt pkt;
    char data[64];
    size_t bytes;
    int count;
};

static int take_answer(void *module, int src, const void *data, size_t bytes)
{
    struct answer *a = module;
    ck_assert_int_eq(src, 0);
    ck_assert_uint_ge(bytes, sizeof(a->pkt));
    memcpy(&a->pkt, data, sizeof(a->pkt));
    a->bytes = bytes - sizeof(a->pkt);
    ck_assert_uint_le(a->bytes, sizeof(a->data));
    memcpy(a->data, (const char *) data + sizeof(a->pkt), a->bytes);
    a->count++;
    return WDL_OK;
}

/* Deliver, and the answer if there is one. */
static int serve(struct test_world *w, const struct wdl_pkt *pkt, const void *payload, size_t bytes,
                 struct answer *answer)
{
    memset(answer, 0, sizeof(*answer));
    wdl_am_register(w->rank[1].proc, WDL_AM_RMA, take_answer, answer);
    int status = test_deliver(w, 1, 0, pkt, payload, bytes);
    test_world_settle(w);
    wdl_am_register(w->rank[1].proc, WDL_AM_RMA, wdl_rma_handle, w->rank[1].rma);
    return status;
}

START_TEST(each_kind_does_what_it_says)
{
    struct test_world w;
    struct answer a;
    for (int64_t unit = 1; unit <= 8; unit *= 2) {
        char *memory, both[8];
        int32_t value = 1000, old, want;
        open_world(&w, 0, unit);
        memory = w.rank[0].memory;
        struct wdl_pkt put = packet(&w, WDL_PKT_PUT, 16 / unit, 5);
        put.lo = 3;
        ck_assert_int_eq(serve(&w, &put, "abcde", 5, &a), WDL_OK);
        ck_assert_mem_eq(memory + 19, "abcde", 5);
        ck_assert_int_eq(memory[18], 18);
        ck_assert_int_eq(memory[24], 24);
        ck_assert_int_eq(a.count, 0);   /* an ordered network: no answer */
        put.flags = WDL_PKT_WANT_ACK;
        put.op = 12345;
        ck_assert_int_eq(serve(&w, &put, "abcde", 5, &a), WDL_OK);
        ck_assert_int_eq(a.pkt.kind, WDL_PKT_OP_ACK);
        ck_assert_uint_eq(a.pkt.op, 12345);
        ck_assert_int_eq(a.pkt.status, WDL_OK);
        struct wdl_pkt get = packet(&w, WDL_PKT_GET, 16 / unit, 7);
        get.offset = 2;         /* the stream's third byte on */
        ck_assert_int_eq(serve(&w, &get, NULL, 0, &a), WDL_OK);
        ck_assert_int_eq(a.pkt.kind, WDL_PKT_REPLY);
        ck_assert_uint_eq(a.pkt.offset, 2);
        ck_assert_uint_eq(a.bytes, 7);
        ck_assert_mem_eq(a.data, memory + 18, 7);
        memcpy(&want, memory + 64, 4);
        struct wdl_pkt acc = packet(&w, WDL_PKT_ACC, 64 / unit, 4);
        ck_assert_int_eq(serve(&w, &acc, &value, 4, &a), WDL_OK);
        want += value;
        ck_assert_mem_eq(memory + 64, &want, 4);
        acc.kind = WDL_PKT_GET_ACC;
        ck_assert_int_eq(serve(&w, &acc, &value, 4, &a), WDL_OK);
        ck_assert_mem_eq(a.data, &want, 4);
        want += value;
        ck_assert_mem_eq(memory + 64, &want, 4);
        acc.rop = WDL_ROP_NO_OP;
        ck_assert_int_eq(serve(&w, &acc, NULL, 0, &a), WDL_OK);
        ck_assert_mem_eq(a.data, &want, 4);
        for (int match = 0; match < 2; match++) {
            old = match ? want : want + 1;
            memcpy(both, &old, 4);
            memcpy(both + 4, &value, 4);
            struct wdl_pkt cas = packet(&w, WDL_PKT_CAS, 64 / unit, 4);
            ck_assert_int_eq(serve(&w, &cas, both, 8, &a), WDL_OK);
            ck_assert_mem_eq(a.data, &want, 4);
            ck_assert_mem_eq(memory + 64, match ? &value : &want, 4);
        }
        test_world_close(&w);
    }
}
END_TEST

enum { FAULT_PAYLOAD, FAULTS = 13, FAULTS_ATOMIC = 17 };

/* Make one field wrong; the status it deserves. */
static int spoil(struct wdl_pkt *pkt, int fault)
{
    switch (fault) {
        case FAULT_PAYLOAD:     /* (it has a byte too many) */
            return WDL_ERR_PROTO;
        case 1:
            pkt->disp = -1;
            return WDL_ERR_DISP;
        case 2:
            pkt->disp = INT64_MAX;
            return WDL_ERR_DISP;
        case 3:
            pkt->disp = BYTES / 2 - 1;
            return WDL_ERR_RANGE;
        case 4:
            pkt->lo = -17;
            return WDL_ERR_RANGE;
        case 5:
            pkt->lo = INT64_MAX;
            return WDL_ERR_RANGE;
        case 6:
            pkt->offset = UINT64_MAX;
            return WDL_ERR_RANGE;
        case 7:
            pkt->offset = BYTES;
            return WDL_ERR_RANGE;
        case 8:
            pkt->bytes = 0;
            return WDL_ERR_PROTO;
        case 9:
            pkt->bytes = UINT32_MAX & ~3u;
            return WDL_ERR_PROTO;
        case 10:
            pkt->type = 99;     /* never sent */
            return WDL_ERR_PROTO;
        case 11:
        case 12:
            pkt->type = WDL_PKT_PREDEFINED;
            pkt->count = fault == 11 ? -1 : 0;
            return WDL_ERR_PROTO;
        case 13:
            pkt->element.host_type = 0;
            return WDL_ERR_PROTO;
        case 14:
            pkt->rop = WDL_ROP_COUNT;
            return WDL_ERR_PROTO;
        case 15:
            pkt->rop = WDL_ROP_MAXLOC;  /* of an integer */
            return WDL_ERR_OP;
        default:
            pkt->element = test_element(TEST_I64);      /* half of one */
            return WDL_ERR_PROTO;
    }
}

/* One wrong field: refused with the right reason, in the answer if one is due, else in a report;
 * no byte has changed. */
START_TEST(each_wrong_field_is_refused)
{
    struct test_world w;
    struct answer a;
    char payload[64] = "payload payload";
    open_world(&w, 0, 2);
    for (int kind = WDL_PKT_PUT; kind <= WDL_PKT_CAS; kind++) {
        size_t extra = kind == WDL_PKT_GET ? 0 : kind == WDL_PKT_CAS ? 8 : 4;
        int atomic = kind >= WDL_PKT_ACC;
        for (int fault = 0; fault < (atomic ? FAULTS_ATOMIC : FAULTS); fault++) {
            struct wdl_pkt pkt = packet(&w, (enum wdl_pkt_kind) kind, 8, 4);
            int want = spoil(&pkt, fault);
            size_t bytes = extra + (fault == FAULT_PAYLOAD);
            int status = serve(&w, &pkt, payload, bytes, &a);
            ck_assert_msg(status == (want == WDL_ERR_PROTO ? want : WDL_OK),
                          "kind %d fault %d: %s", kind, fault, wdl_status_name(status));
            ck_assert_int_eq(a.count, 1);
            ck_assert_msg(a.pkt.status == want, "kind %d fault %d: answer %s, not %s", kind, fault,
                          wdl_status_name(a.pkt.status), wdl_status_name(want));
            ck_assert_int_eq(a.pkt.kind, kind == WDL_PKT_PUT || kind == WDL_PKT_ACC ?
                             WDL_PKT_ERROR : WDL_PKT_REPLY);
            ck_assert_uint_eq(a.bytes, 0);
            ck_assert(is_untouched(&w));
        }
    }
    test_world_close(&w);
}
END_TEST

/* Without a buffer for the answer nothing happens, and the message is to come again. */
START_TEST(no_answer_no_change)
{
    struct test_world w;
    struct answer a;
    struct wdl_bounce *taken[16];
    int n = 0;
    int32_t value = 7;
    open_world(&w, 0, 1);
    while ((taken[n] = wdl_bounce_get(w.rank[0].proc)) != NULL)
        n++;
    struct wdl_pkt acc = packet(&w, WDL_PKT_GET_ACC, 0, 4), put = packet(&w, WDL_PKT_PUT, 0, 4);
    put.flags = WDL_PKT_WANT_ACK;
    ck_assert_int_eq(serve(&w, &acc, &value, 4, &a), WDL_AGAIN);
    ck_assert_int_eq(serve(&w, &put, &value, 4, &a), WDL_AGAIN);
    put.disp = -1;              /* the refusal is an answer too */
    ck_assert_int_eq(serve(&w, &put, &value, 4, &a), WDL_AGAIN);
    ck_assert(is_untouched(&w));
    while (n > 0)
        wdl_bounce_put(taken[--n]);
    ck_assert_int_eq(serve(&w, &acc, &value, 4, &a), WDL_OK);
    ck_assert(!is_untouched(&w));
    test_world_close(&w);
}
END_TEST

/* One of elements without an instruction locks them a few at a time: where another process of the
 * node is at some of them it goes on from there, each is updated once, and one answer says so. */
START_TEST(a_long_wide_accumulate_goes_on_where_it_was)
{
    enum { N = 256, SIZE = sizeof(long double), HELD = 40 };
    struct test_world w;
    struct answer a;
    static long double in[N];
    test_world_open(&w, &(struct test_world_params) {.ranks = 2,.node = 2,.bytes = N * SIZE,
                    .am_bytes_max = 2 * N * SIZE });
    long double *memory = (long double *) (void *) w.rank[0].memory;
    struct wdl_pkt acc = packet(&w, WDL_PKT_ACC, 0, N * SIZE);
    acc.element = test_element(TEST_LD);
    acc.flags = WDL_PKT_WANT_ACK;
    acc.type = WDL_PKT_CONTIG;
    for (int i = 0; i < N; i++)
        in[i] = i + 1;
    uintptr_t held = (uintptr_t) memory / 64 + HELD;    /* the lines are as many as the stripes */
    w.control[0].stripes = (uint64_t) 1 << held % WDL_WIN_STRIPES;
    for (int tries = 0; tries < 3; tries++) {
        ck_assert_int_eq(serve(&w, &acc, in, N * SIZE, &a), WDL_AGAIN);
        ck_assert_int_eq(a.count, 0);
        ck_assert(memory[0] == 1);
        ck_assert(memory[HELD * 64 / SIZE] == 0);
    }
    w.control[0].stripes = 0;
    ck_assert_int_eq(serve(&w, &acc, in, N * SIZE, &a), WDL_OK);
    ck_assert_int_eq(a.count, 1);
    ck_assert_int_eq(a.pkt.kind, WDL_PKT_OP_ACK);
    for (int i = 0; i < N; i++)
        ck_assert(memory[i] == i + 1);
    test_world_close(&w);
}
END_TEST

/* --- types ------------------------------------------------------------------------------------ */

static struct wdl_pkt type_packet(struct test_world *w, uint32_t id, uint64_t offset,
                                  uint32_t bytes, uint64_t total)
{
    struct wdl_pkt pkt = packet(w, WDL_PKT_TYPE, 0, bytes);
    pkt.type = id;
    pkt.offset = offset;
    pkt.total = total;
    return pkt;
}

/* A type comes in stretches, in any order; its operation's stream in stretches too; where it is for
 * one operation, the last byte served takes the type away. */
START_TEST(a_type_for_one_operation_lives_until_its_stream_is_served)
{
    struct test_world w;
    struct answer a;
    char flat[256], stream[12] = "abcdefghijk";
    for (int backwards = 0; backwards < 2; backwards++) {
        open_world(&w, 0, 1);
        struct test_host *host = &w.rank[0].host;
        wdl_type type = test_type_vector(host, TEST_U8, 3, 4, 10);      /* 4 of every 10 bytes */
        size_t total = host->host.ops->flat_bytes(host, type);
        ck_assert_int_eq(host->host.ops->flatten(host, type, flat, total), WDL_OK);
        int live = host->live;
        for (size_t i = 0; i < total; i++) {
            size_t at = backwards ? total - 1 - i : i;
            struct wdl_pkt t = type_packet(&w, 5, at, 1, total);
            t.flags = WDL_PKT_ONCE;
            ck_assert_int_eq(serve(&w, &t, flat + at, 1, &a), WDL_OK);
        }
        for (uint32_t at = 0; at < 12; at += 3) {
            struct wdl_pkt put = packet(&w, WDL_PKT_PUT, 100, 3);
            put.type = 5;
            put.count = 1;
            put.total = 12;
            put.offset = at;
            ck_assert_int_gt(host->live, live);
            ck_assert_int_eq(serve(&w, &put, stream + at, 3, &a), WDL_OK);
        }
        ck_assert_int_eq(host->live, live);     /* it is gone */
        for (int i = 0; i < 12; i++)
            ck_assert_int_eq(w.rank[0].memory[100 + i / 4 * 10 + i % 4], stream[i]);
        ck_assert_int_eq(w.rank[0].memory[104], 104);
        test_type_end(host, type);
        test_world_close(&w);
    }
}
END_TEST

START_TEST(types_that_are_none_are_refused)
{
    struct test_world w;
    struct answer a;
    char flat[200] = "no type at all";
    open_world(&w, 1, 1);
    int live = w.rank[0].host.live;
    const struct {
        uint32_t id, bytes, payload;
        uint64_t offset, total;
    } bad[] = { {5, 0, 0, 0, 64}, {5, 8, 7, 0, 64}, {5, 8, 8, 57, 64}, {5, 8, 8, UINT64_MAX, 64},
        {5, 8, 8, 0, 7}, {5, 8, 8, 0, 0},
        {WDL_PKT_CONTIG, 8, 8, 0, 64}, {WDL_PKT_PREDEFINED, 8, 8, 0, 64} };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct wdl_pkt t = type_packet(&w, bad[i].id, bad[i].offset, bad[i].bytes, bad[i].total);
        ck_assert_int_eq(serve(&w, &t, flat, bad[i].payload, &a), WDL_ERR_PROTO);
        ck_assert_int_eq(w.rank[0].host.live, live);
    }
    /* whole, but no type: answered, and nothing stays */
    struct wdl_pkt t = type_packet(&w, 5, 0, 64, 64);
    t.flags = WDL_PKT_WANT_ACK;
    t.op = 99;
    ck_assert_int_eq(serve(&w, &t, flat, 64, &a), WDL_ERR_PROTO);
    ck_assert_int_eq(a.pkt.kind, WDL_PKT_TYPE_ACK);
    ck_assert_int_eq(a.pkt.status, WDL_ERR_PROTO);
    ck_assert_uint_eq(a.pkt.op, 99);
    ck_assert_int_eq(w.rank[0].host.live, live);
    /* no memory for it: answered too, its sender waits */
    for (int left = 1; left <= 2; left++) {
        w.rank[0].host.fail_after = left;
        ck_assert_int_eq(serve(&w, &t, flat, 32, &a), WDL_ERR_PROTO);
        t.bytes = 32;
        ck_assert_int_eq(serve(&w, &t, flat, 32, &a), WDL_ERR_NOMEM);
        t.bytes = 64;
        ck_assert_int_eq(a.pkt.status, WDL_ERR_NOMEM);
        ck_assert_int_eq(w.rank[0].host.live, live);
    }
    w.rank[0].host.fail_after = 0;
    /* a type that changes its length on the way; more bytes than there are; half a type stays */
    t = type_packet(&w, 6, 0, 32, 64);
    ck_assert_int_eq(serve(&w, &t, flat, 32, &a), WDL_OK);
    t.total = 65;
    ck_assert_int_eq(serve(&w, &t, flat, 32, &a), WDL_ERR_PROTO);
    t = type_packet(&w, 6, 0, 33, 64);
    ck_assert_int_eq(serve(&w, &t, flat, 33, &a), WDL_ERR_PROTO);
    struct wdl_pkt put = packet(&w, WDL_PKT_PUT, 0, 4);
    put.type = 6;
    ck_assert_int_eq(serve(&w, &put, flat, 4, &a), WDL_ERR_PROTO);
    ck_assert(is_untouched(&w));
    test_world_close(&w);       /* and is dropped with the window */
}
END_TEST

WDL_SUITE("rma/serve", each_kind_does_what_it_says, each_wrong_field_is_refused,
          no_answer_no_change, a_long_wide_accumulate_goes_on_where_it_was,
          a_type_for_one_operation_lives_until_its_stream_is_served,
          types_that_are_none_are_refused)
