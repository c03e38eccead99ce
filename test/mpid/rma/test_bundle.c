/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/bundle: bundles as a
 * stranger may send them, and their errors. (Their counts are test/cost's.) */
#include <string.h>
#include "host/testworld.h"
#include "support/suite.h"

/* Two puts of 8 bytes from rank 1 for rank 0. */
static size_t two_puts(struct test_world *w, char *to)
{
    size_t at = 0;
    for (int i = 0; i < 2; i++) {
        struct wdl_pkt part = test_packet(w, 1, WDL_PKT_PUT);
        part.type = WDL_PKT_CONTIG;
        part.disp = 8 * i;
        part.bytes = part.reserved = 8;
        part.total = 8;
        memcpy(to + at, &part, sizeof(part));
        memcpy(to + at + sizeof(part), "eight by", 8);
        at += sizeof(part) + 8;
    }
    return at;
}

START_TEST(a_bundle_is_checked_as_a_whole)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 2 };
    char payload[600];
    test_world_open(&w, &p);
    struct wdl_pkt pkt = test_packet(&w, 1, WDL_PKT_BUNDLE), part;
    size_t bytes = two_puts(&w, payload);
    for (size_t n = 0; n < bytes; n++)
        if (n != bytes / 2)     /* the first put alone */
            ck_assert_int_eq(test_deliver(&w, 1, 0, &pkt, payload, n), WDL_ERR_PROTO);
    for (int wrong = 0; wrong < 6; wrong++) {
        two_puts(&w, payload);
        memcpy(&part, payload + bytes / 2, sizeof(part));
        switch (wrong) {
            case 0: part.kind = WDL_PKT_BUNDLE; break;
            case 1: part.kind = WDL_PKT_LOCK; break;
            case 2: part.origin = 0; break;
            case 3: part.win++; break;
            case 4: part.flags = WDL_PKT_WITH_UNLOCK; break;
            default: part.kind = WDL_PKT_GET; part.bytes = 900; break;
        }
        memcpy(payload + bytes / 2, &part, sizeof(part));
        ck_assert_int_eq(test_deliver(&w, 1, 0, &pkt, payload, bytes), WDL_ERR_PROTO);
    }
    two_puts(&w, payload);
    pkt.flags = WDL_PKT_WITH_UNLOCK;    /* nobody holds the lock */
    ck_assert_int_eq(test_deliver(&w, 1, 0, &pkt, payload, bytes), WDL_ERR_PROTO);
    pkt.flags = WDL_PKT_WITH_LOCK | WDL_PKT_WITH_COMPLETE;      /* of different epochs */
    ck_assert_int_eq(test_deliver(&w, 1, 0, &pkt, payload, bytes), WDL_ERR_PROTO);
    pkt.flags = WDL_PKT_WITH_COMPLETE;
    w.rank[0].win->completed = 2;       /* as many as there are ranks */
    ck_assert_int_eq(test_deliver(&w, 1, 0, &pkt, payload, bytes), WDL_ERR_PROTO);
    memcpy(&part, payload, sizeof(part));
    part.flags = WDL_PKT_WITH_COMPLETE;
    ck_assert_int_eq(test_deliver(&w, 1, 0, &part, payload + sizeof(part), 8), WDL_ERR_PROTO);
    w.rank[0].win->completed = 0;
    ck_assert_int_eq(w.rank[0].memory[0], 0);
    pkt.flags = 0;
    ck_assert_int_eq(test_deliver(&w, 1, 0, &pkt, payload, bytes), WDL_OK);
    ck_assert_mem_eq(w.rank[0].memory, "eight byeight by", 16);
    test_world_close(&w);
}
END_TEST

/* The error is the operation's own, and so is the next one's success. */
START_TEST(a_type_nobody_has_sent_is_an_error_of_its_operation)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 2 };
    char payload[600];
    test_world_open(&w, &p);
    struct wdl_pkt pkt = test_packet(&w, 1, WDL_PKT_BUNDLE), part;
    size_t bytes = two_puts(&w, payload);
    memcpy(&part, payload, sizeof(part));
    part.type = 77;
    memcpy(payload, &part, sizeof(part));
    ck_assert_int_eq(test_deliver(&w, 1, 0, &pkt, payload, bytes), WDL_OK);
    ck_assert_int_eq(w.rank[0].memory[0], 0);
    ck_assert_mem_eq(w.rank[0].memory + 8, "eight by", 8);
    test_world_settle(&w);
    ck_assert_int_eq(wdl_win_take_error(w.rank[1].win), WDL_ERR_PROTO);
    test_world_close(&w);
}
END_TEST

START_TEST(answers_are_checked)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 2 };
    char payload[600];
    test_world_open(&w, &p);
    struct wdl_pkt pkt = test_packet(&w, 1, WDL_PKT_ANSWERS);
    size_t bytes = two_puts(&w, payload);
    ck_assert_int_eq(test_deliver(&w, 1, 0, &pkt, payload, bytes), WDL_ERR_PROTO);
    ck_assert_int_eq(test_deliver(&w, 1, 0, &pkt, payload, 7), WDL_ERR_PROTO);
    static const int flags[] = { WDL_PKT_WITH_LOCK, WDL_PKT_WITH_UNLOCK, WDL_PKT_WITH_FLUSH };
    for (int i = 0; i < 3; i++) {
        pkt.flags = (uint8_t) flags[i];
        ck_assert_int_eq(test_deliver(&w, 1, 0, &pkt, NULL, 0), WDL_ERR_PROTO);
        pkt.flags |= WDL_PKT_OVERTOOK;
        ck_assert_int_eq(test_deliver(&w, 1, 0, &pkt, NULL, 0), WDL_ERR_PROTO);
    }
    ck_assert_int_eq(w.rank[0].win->debts, 0);
    test_world_close(&w);
}
END_TEST

/* What is out of the window fails alone, and is the error of the call that closes the epoch. */
START_TEST(an_operation_that_fails_does_not_stop_the_others)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        struct test_world_params p = {.ranks = 2,.unordered = unordered,
            .combine = WDL_COMBINE_ALWAYS
        };
        char data[8] = "is there", back[8] = "not read";
        test_world_open(&w, &p);
        struct test_rank *o = &w.rank[0];
        w.rank[1].win->params.bytes = 16;
        TEST_DONE(&w, wdl_win_lock(o->win, 1, 1, 0, &o->step));
        test_op(&w, 0, test_put(1, 0, data, 8));
        test_op(&w, 0, test_put(1, 16, data, 8));
        test_op(&w, 0, test_get(1, 64, back, 8));
        test_op(&w, 0, test_put(1, 8, data, 8));
        ck_assert_int_eq(TEST_WAIT(&w, wdl_win_unlock(o->win, 1, &o->step)), WDL_ERR_RANGE);
        ck_assert_int_eq(test_world_messages(&w), 2);
        ck_assert_mem_eq(w.rank[1].memory, "is thereis there\0\0\0\0\0\0\0\0", 24);
        ck_assert_mem_eq(back, "not read", 8);
        test_world_close(&w);
    }
}
END_TEST

/* The element's lock is held by another process when the bundle comes: it goes on where it was. */
START_TEST(a_bundle_goes_on_where_it_was)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 3,.node = 2,.combine = WDL_COMBINE_ALWAYS };
    long double one[2] = { 1, 2 }, old[2];
    test_world_open(&w, &p);
    struct test_rank *o = &w.rank[2];
    uint64_t *stripes = &w.control[1].stripes;
    TEST_DONE(&w, wdl_win_lock(o->win, 1, 1, 0, &o->step));
    for (int i = 0; i < 2; i++)
        test_op(&w, 2, test_acc(1, 32 + 16 * i, WDL_ROP_SUM, TEST_LD, 1, &one[i], &old[i]));
    ck_assert_int_eq(wdl_win_unlock(o->win, 1, &o->step), WDL_AGAIN);
    *stripes = UINT64_MAX;
    for (int i = 0; i < 50; i++)
        test_world_turn(&w);
    ck_assert_int_eq(wdl_win_unlock(o->win, 1, &o->step), WDL_AGAIN);
    *stripes = 0;
    TEST_DONE(&w, wdl_win_unlock(o->win, 1, &o->step));
    ck_assert_int_eq(test_world_messages(&w), 2);
    for (int i = 0; i < 2; i++) {
        long double sum;
        memcpy(&sum, w.rank[1].memory + 32 + 16 * i, sizeof(sum));
        ck_assert(sum == one[i]);       /* added once */
        ck_assert(old[i] == 0);
    }
    test_world_close(&w);
}
END_TEST

WDL_SUITE("rma/bundle", a_bundle_is_checked_as_a_whole,
          a_type_nobody_has_sent_is_an_error_of_its_operation, answers_are_checked,
          an_operation_that_fails_does_not_stop_the_others, a_bundle_goes_on_where_it_was)
