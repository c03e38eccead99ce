/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/handle: packets that are
 * none. What is malformed is said to be (and counted by proc), and nothing changes. */
#include <string.h>
#include "host/testworld.h"
#include "support/suite.h"

enum { RANKS = 3, PATTERN = 0x5a };

static void open_world(struct test_world *w, uint64_t seed)
{
    struct test_world_params p = {.ranks = RANKS,.seed = seed,.bounce_count = 16 };
    test_world_open(w, &p);
    for (int i = 0; i < RANKS; i++)
        memset(w->rank[i].memory, PATTERN, w->params.bytes);
}

static int is_pattern(const char *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (memory[i] != PATTERN)
            return 0;
    return 1;
}

/* Well-formed packets of every kind with their payloads. */
static struct wdl_pkt good_packet(struct test_world *w, int kind, size_t *payload_bytes)
{
    struct wdl_pkt pkt = test_packet(w, 1, (enum wdl_pkt_kind) kind);
    pkt.element = test_element(TEST_I64);
    pkt.bytes = 8;
    pkt.total = pkt.count = 8;
    pkt.op = 1;
    *payload_bytes = kind == WDL_PKT_PUT || kind == WDL_PKT_ACC || kind == WDL_PKT_GET_ACC ||
        kind == WDL_PKT_REPLY ? 8 : kind == WDL_PKT_CAS ? 16 : 0;
    if (kind == WDL_PKT_TYPE) {
        pkt.type = 1;
        *payload_bytes = 8;
    }
    return pkt;
}

START_TEST(truncated_packets_of_every_kind_are_malformed)
{
    struct test_world w;
    char message[sizeof(struct wdl_pkt) + 16] = "";
    for (int kind = 0; kind < WDL_PKT_KINDS; kind++) {
        size_t payload;
        open_world(&w, 1);
        struct wdl_pkt pkt = good_packet(&w, kind, &payload);
        memcpy(message, &pkt, sizeof(pkt));
        for (size_t bytes = 0; bytes < sizeof(pkt) + payload; bytes++)
            ck_assert_int_eq(wdl_rma_handle(w.rank[0].rma, 1, message, bytes), WDL_ERR_PROTO);
        ck_assert(is_pattern(w.rank[0].memory, 256));
        test_world_settle(&w);
        w.malformed = w.rank[1].proc->stats.malformed;  /* answers to what rank 1 never sent */
        test_world_close(&w);
    }
}
END_TEST

START_TEST(strangers_are_malformed)
{
    struct test_world w;
    for (int kind = 0; kind < 256; kind++) {
        size_t payload;
        open_world(&w, 1);
        struct wdl_pkt good = good_packet(&w, kind, &payload), bad = good;
        const uint32_t ids[] = { 0, 6, 8, 0x80000007u, UINT32_MAX };
        const uint32_t origins[] = { 0, 2, RANKS, 0x80000000u, UINT32_MAX };
        char zero[16] = "";
        int late = kind == WDL_PKT_FORGET || kind == WDL_PKT_EVICT;     /* the window may be gone */
        for (int i = 0; i < 5; i++) {
            bad.win = ids[i];
            ck_assert_int_eq(test_deliver(&w, 1, 0, &bad, zero, payload),
                             late ? WDL_OK : WDL_ERR_PROTO);
        }
        bad = good;
        for (int i = 0; i < 5; i++) {   /* none is the sender, rank 1 */
            bad.origin = origins[i];
            ck_assert_int_eq(test_deliver(&w, 1, 0, &bad, zero, payload), WDL_ERR_PROTO);
        }
        if (kind >= WDL_PKT_KINDS)
            ck_assert_int_eq(test_deliver(&w, 1, 0, &good, zero, payload), WDL_ERR_PROTO);
        ck_assert(is_pattern(w.rank[0].memory, 256));
        test_world_close(&w);
    }
}
END_TEST

/* Nothing has been asked: there is no answer to it. */
START_TEST(answers_to_nothing_are_malformed)
{
    struct test_world w;
    static const int answers[] = { WDL_PKT_REPLY, WDL_PKT_OP_ACK, WDL_PKT_TYPE_ACK, WDL_PKT_GRANT,
        WDL_PKT_UNLOCK_ACK, WDL_PKT_FLUSH_ACK, WDL_PKT_UNLOCK };
    open_world(&w, 1);
    for (int i = 0; i < 7; i++) {
        struct wdl_pkt pkt = test_packet(&w, 1, (enum wdl_pkt_kind) answers[i]);
        pkt.bytes = 8;
        for (uint64_t op = 0; op < 64; op++) {
            pkt.op = op % 2 ? op << 31 : op << 26;
            ck_assert_int_eq(test_deliver(&w, 1, 0, &pkt, "answers.", 8), WDL_ERR_PROTO);
        }
        pkt.op = UINT64_MAX;
        ck_assert_int_eq(test_deliver(&w, 1, 0, &pkt, "answers.", 8), WDL_ERR_PROTO);
    }
    test_world_close(&w);
}
END_TEST

START_TEST(an_answer_counts_from_its_target_alone)
{
    struct test_world w;
    char data[8] = "";
    open_world(&w, 1);
    struct test_rank *o = &w.rank[0];
    TEST_DONE(&w, wdl_win_lock(o->win, 1, 0, 0, &o->step));
    test_op(&w, 0, test_get(1, 0, data, 8));
    struct wdl_target *t = wdl_target_find(o->win, 1);
    struct wdl_op *op = wdl_container_of(t->waiting.next, struct wdl_op, node.link);
    struct wdl_pkt grant = test_packet(&w, 2, WDL_PKT_GRANT);
    ck_assert_int_eq(t->lock.state, WDL_LOCK_CALLED);   /* the operation waits for company */
    t->want_lock = t->push = 1;
    wdl_target_progress(t);
    ck_assert_int_eq(test_deliver(&w, 2, 0, &grant, NULL, 0), WDL_ERR_PROTO);
    ck_assert_int_eq(t->lock.state, WDL_LOCK_ISSUED);
    grant = test_packet(&w, 1, WDL_PKT_GRANT);
    ck_assert_int_eq(test_deliver(&w, 1, 0, &grant, NULL, 0), WDL_OK);
    ck_assert_int_eq(t->lock.state, WDL_LOCK_GRANTED);
    ck_assert_int_eq(test_deliver(&w, 1, 0, &grant, NULL, 0), WDL_ERR_PROTO);
    wdl_target_progress(t);
    struct wdl_pkt reply = test_packet(&w, 2, WDL_PKT_REPLY);
    reply.op = wdl_op_ref(op);
    reply.bytes = 8;
    ck_assert_int_eq(test_deliver(&w, 2, 0, &reply, "stranger", 8), WDL_ERR_PROTO);
    struct wdl_pkt flushed = test_packet(&w, 1, WDL_PKT_FLUSH_ACK);
    ck_assert_int_eq(test_deliver(&w, 1, 0, &flushed, NULL, 0), WDL_ERR_PROTO);
    test_world_settle(&w);
    w.malformed = 1;            /* the true grant comes second */
    TEST_DONE(&w, wdl_win_unlock(o->win, 1, &o->step));
    ck_assert(is_pattern(data, 8));
    test_world_close(&w);
}
END_TEST

START_TEST(an_error_report_is_the_next_synchronizations_result)
{
    struct test_world w;
    open_world(&w, 1);
    struct test_rank *o = &w.rank[0];
    struct wdl_pkt pkt = test_packet(&w, 1, WDL_PKT_ERROR);
    for (int status = 0; status < 256; status++) {
        pkt.status = (uint8_t) status;
        int known = status < WDL_STATUS_COUNT;
        ck_assert_int_eq(test_deliver(&w, 1, 0, &pkt, NULL, 0), known ? WDL_OK : WDL_ERR_PROTO);
        int want = !known ? WDL_OK : wdl_status_is_error(status) ? status : WDL_ERR_PROTO;
        ck_assert_int_eq(wdl_win_take_error(o->win), want);
    }
    test_world_close(&w);
}
END_TEST

/* A few lock requests need no memory; one that finds none comes again; there are not more requests
 * than ranks. */
START_TEST(lock_requests_are_bounded)
{
    enum { ALL = 2 * WDL_GRANT_FEW };
    struct test_world w;
    test_world_open(&w, &(struct test_world_params) {.ranks = RANKS,.absent = ALL - RANKS });
    struct test_rank *t = &w.rank[0];
    struct wdl_pkt lock = test_packet(&w, 1, WDL_PKT_LOCK), unlock = lock;
    unlock.kind = WDL_PKT_UNLOCK;
    lock.flags = WDL_PKT_EXCLUSIVE;
    t->host.fail_after = 1;
    for (int i = 0; i < WDL_GRANT_FEW; i++)
        ck_assert_int_eq(test_deliver(&w, 1, 0, &lock, NULL, 0), WDL_OK);
    ck_assert_int_eq(test_deliver(&w, 1, 0, &lock, NULL, 0), WDL_AGAIN);
    ck_assert_int_eq(t->win->grant.length, WDL_GRANT_FEW);
    t->host.fail_after = 0;
    for (int i = WDL_GRANT_FEW; i < ALL; i++)
        ck_assert_int_eq(test_deliver(&w, 1, 0, &lock, NULL, 0), WDL_OK);
    ck_assert_int_eq(test_deliver(&w, 1, 0, &lock, NULL, 0), WDL_ERR_PROTO);
    ck_assert_int_eq(test_deliver(&w, 1, 0, &unlock, NULL, 0), WDL_ERR_PROTO);  /* not told yet */
    for (int i = 0; i < ALL; i++) {
        test_world_settle(&w);
        ck_assert_int_eq(test_deliver(&w, 1, 0, &unlock, NULL, 0), WDL_OK);
    }
    ck_assert_int_eq(test_deliver(&w, 1, 0, &unlock, NULL, 0), WDL_ERR_PROTO);
    test_world_settle(&w);
    w.malformed = 2 * ALL;    /* grants and acknowledgements nobody waits for */
    test_world_close(&w);
}
END_TEST

static uint64_t some(struct wdl_prng *prng)
{
    static const uint64_t nice[] = { 0, 1, 2, 7, 8, 16, 255, 256, 257, 1u << 31, UINT32_MAX,
        INT64_MAX, (uint64_t) INT64_MAX + 1, UINT64_MAX, UINT64_MAX - 7 };
    return wdl_prng_chance(prng, 600) ? nice[wdl_prng_below(prng, 15)] : wdl_prng_next(prng);
}

static void scramble(struct test_world *w, struct wdl_pkt *pkt)
{
    struct wdl_prng *p = &w->prng;
    int fields = 1 + (int) wdl_prng_below(p, 4);
    while (fields-- > 0)
        switch (wdl_prng_below(p, 13)) {
            case 0: pkt->flags = (uint8_t) some(p); break;
            case 1: pkt->rop = (uint8_t) some(p); break;
            case 2: pkt->status = (uint8_t) some(p); break;
            case 3: pkt->type = (uint32_t) some(p); break;
            case 4: pkt->op = some(p); break;
            case 5: pkt->disp = (int64_t) some(p); break;
            case 6: pkt->lo = (int64_t) some(p); break;
            case 7: pkt->count = (int64_t) some(p); break;
            case 8: pkt->offset = some(p); break;
            case 9: pkt->total = some(p); break;
            case 10: pkt->bytes = (uint32_t) some(p); break;
            case 11: pkt->element.host_type = (uint32_t) some(p); break;
            default: pkt->element.packed_bytes = (uint32_t) some(p); break;
        }
}

/* Any bytes at all, in any state of the window: never a crash, never a byte outside the window. */
START_TEST(no_packet_does_harm)
{
    struct test_world w;
    uint64_t good = 0, bad = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        char payload[600], seen[8] = "";
        int n = 1, step = 0;
        open_world(&w, seed);
        struct test_rank *t = &w.rank[0];
        if (seed % 3 == 0)
            TEST_ALL(&w, wdl_win_fence(r->win, 0, &r->step));
        if (seed % 3 == 1) {
            TEST_DONE(&w, wdl_win_post(t->win, &n, 0, 0, &step));
            TEST_DONE(&w, wdl_win_start(t->win, &n, 0, 0, &step));
        }
        for (int i = 0; i < 400; i++) {
            size_t bytes;
            struct wdl_pkt pkt = good_packet(&w, (int) wdl_prng_below(&w.prng, 20), &bytes);
            if (pkt.kind == WDL_PKT_ERROR)
                continue;       /* always believed: the window would report it */
            scramble(&w, &pkt);
            if (wdl_prng_chance(&w.prng, 300))
                bytes = wdl_prng_below(&w.prng, sizeof(payload));
            for (size_t k = 0; k < bytes; k++)
                payload[k] = (char) wdl_prng_next(&w.prng);
            int status = test_deliver(&w, 1, 0, &pkt, payload, bytes);
            good += status == WDL_OK;
            bad += status == WDL_ERR_PROTO;
            wdl_win_check(t->win);
            if (i % 4 == 0)
                test_world_turn(&w);
        }
        ck_assert(is_pattern(w.rank[1].memory, 2 * 256));
        if (seed % 3 == 1) {
            TEST_DONE(&w, wdl_win_complete(t->win, &step));
            TEST_DONE(&w, wdl_win_wait(t->win, &step));
        }
        test_world_settle(&w);
        for (int i = 0; i < RANKS; i++)
            wdl_win_take_error(w.rank[i].win);
        if (seed % 3 == 0)      /* and it still works */
            test_op(&w, 2, test_get(0, 0, seen, 8));
        if (seed % 3 == 0)
            TEST_ALL(&w, wdl_win_fence(r->win, 0, &r->step));
        ck_assert_mem_eq(seen, seed % 3 == 0 ? t->memory : "\0\0\0\0\0\0\0", 8);
        test_world_settle(&w);
        for (int i = 0; i < RANKS; i++)
            w.malformed += w.rank[i].proc->stats.malformed;
        test_world_close(&w);
    }
    ck_assert_uint_gt(good, 3000);
    ck_assert_uint_gt(bad, 3000);
}
END_TEST

WDL_SUITE("rma/handle", truncated_packets_of_every_kind_are_malformed, strangers_are_malformed,
          answers_to_nothing_are_malformed, an_answer_counts_from_its_target_alone,
          an_error_report_is_the_next_synchronizations_result, lock_requests_are_bounded,
          no_packet_does_harm)
