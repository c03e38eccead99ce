/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/send: packets and
 * answers. */
#include <string.h>
#include "host/testworld.h"
#include "support/suite.h"

START_TEST(a_packet_is_blank_but_for_its_sender)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 3 };
    test_world_open(&w, &p);
    for (int kind = 0; kind < WDL_PKT_KINDS; kind++) {
        struct wdl_pkt pkt, want;
        memset(&pkt, 0xff, sizeof(pkt));
        memset(&want, 0, sizeof(want));
        wdl_pkt_init(&pkt, w.rank[2].win, (enum wdl_pkt_kind) kind);
        want.kind = (uint8_t) kind;
        want.win = 7;
        want.origin = 2;
        ck_assert_mem_eq(&pkt, &want, sizeof(pkt));
    }
    test_world_close(&w);
}
END_TEST

START_TEST(a_refused_packet_is_not_counted)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 2,.refuse_permille = 500,.seed = 9 };
    int taken = 0, refused = 0;
    test_world_open(&w, &p);
    struct wdl_win *win = w.rank[0].win;
    struct wdl_pkt pkt = test_packet(&w, 0, WDL_PKT_FLUSH);
    for (int i = 0; i < 200; i++) {
        int status = wdl_pkt_send(win, 1, &pkt);
        ck_assert(status == WDL_OK || status == WDL_AGAIN);
        taken += status == WDL_OK;
        refused += status == WDL_AGAIN;
    }
    ck_assert_int_gt(refused, 50);
    ck_assert_uint_eq(win->stats.messages, (uint64_t) taken);
    ck_assert_uint_eq(wdl_sim_counts(w.sim)->sent, (uint64_t) taken);
    test_world_settle(&w);
    w.malformed = (uint64_t) taken;     /* acknowledgements of flushes nobody knows of */
    test_world_close(&w);
}
END_TEST

struct heard {
    uint64_t op[64];
    int n;
};

static int hear(void *module, int src, const void *data, size_t bytes)
{
    struct heard *heard = module;
    struct wdl_pkt pkt;
    ck_assert_int_eq(src, 0);
    ck_assert_uint_eq(bytes, sizeof(pkt) + 5);
    memcpy(&pkt, data, sizeof(pkt));
    ck_assert_mem_eq((const char *) data + sizeof(pkt), "bytes", 5);
    heard->op[heard->n++] = pkt.op;
    return WDL_OK;
}

/* Answers are never refused: they wait in their order, and all buffers come home. */
START_TEST(answers_leave_in_order_however_often_they_are_refused)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 2,.refuse_permille = 800,.pending_permille = 500,
        .seed = 4,.bounce_count = 6
    };
    struct heard heard = {.n = 0 };
    int sent = 0, waited = 0;
    test_world_open(&w, &p);
    wdl_am_register(w.rank[1].proc, WDL_AM_RMA, hear, &heard);
    for (int turns = 0; sent < 60 || heard.n < 60; turns++) {
        struct wdl_bounce *bounce = sent < 60 ? wdl_bounce_get(w.rank[0].proc) : NULL;
        ck_assert_int_lt(turns, 5000);
        if (bounce) {
            struct wdl_pkt pkt = test_packet(&w, 0, WDL_PKT_REPLY);
            pkt.op = (uint64_t) sent++;
            memcpy(bounce->data + sizeof(pkt), "bytes", 5);
            wdl_reply_send(w.rank[0].win, 1, bounce, &pkt, 5);
            waited += !wdl_list_empty(&w.rank[0].rma->replies);
        } else {
            test_world_turn(&w);
        }
    }
    for (int i = 0; i < 60; i++)
        ck_assert_uint_eq(heard.op[i], (uint64_t) i);
    ck_assert_int_gt(waited, 10);
    ck_assert_uint_eq(w.rank[0].win->stats.messages, 60);
    wdl_am_register(w.rank[1].proc, WDL_AM_RMA, wdl_rma_handle, w.rank[1].rma);
    test_world_close(&w);
}
END_TEST

/* An answer to a peer that is gone: the buffer comes home, those behind it go on. */
START_TEST(an_answer_to_a_lost_peer_is_dropped)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 3 };
    test_world_open(&w, &p);
    TEST_ALL(&w, wdl_win_barrier(r->win, &r->step));    /* everyone is connected */
    test_world_settle(&w);
    struct test_rank *gone = &w.rank[2];
    ck_assert_int_eq(wdl_win_free(gone->win), WDL_OK);
    wdl_rma_fini(gone->proc);
    wdl_proc_destroy(gone->proc);
    w.n = 2;
    struct wdl_bounce *bounce = wdl_bounce_get(w.rank[0].proc);
    struct wdl_pkt pkt = test_packet(&w, 0, WDL_PKT_REPLY);
    w.n = 3;
    wdl_reply_send(w.rank[0].win, 2, bounce, &pkt, 0);
    w.n = 2;
    ck_assert_int_eq(w.rank[0].proc->bounce_out, 0);
    ck_assert(wdl_list_empty(&w.rank[0].rma->replies));
    test_world_close(&w);
}
END_TEST

WDL_SUITE("rma/send", a_packet_is_blank_but_for_its_sender, a_refused_packet_is_not_counted,
          answers_leave_in_order_however_often_they_are_refused,
          an_answer_to_a_lost_peer_is_dropped)
