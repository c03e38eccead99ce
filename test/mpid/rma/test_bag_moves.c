/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/bag: puts and gets. */
#include <string.h>
#include "mpid/rma/copybed.h"
#include "mpid/rma/win_impl.h"
#include "support/suite.h"

enum { LONGEST = WDL_BAG_EACH, PLACE = 320 };   /* bytes between places */

static char from[BYTES], to[BYTES];

static void open_as(struct bed *bed, int dynamic)
{
    bed_open_as(bed, (struct bed_kind){.mail = 1, .dynamic = dynamic});
    for (int i = 0; i < BYTES; i++)
        from[i] = (char) (i * 7 + i / 300 + 1);
    memset(to, 0, sizeof(to));
}

static void done_from_outside(struct bed *bed)
{
    int status = WDL_AGAIN;
    for (int looks = 0; status == WDL_AGAIN; looks++) {
        ck_assert_int_le(looks, WDL_MAIL_LOOKS + 2);
        status = bed_flush(bed, 1);
    }
    ck_assert_int_eq(status, WDL_OK);
}

static struct wdl_rma_args move_of(enum wdl_rma_kind kind, int64_t disp, char *local, size_t bytes)
{
    return kind == WDL_RMA_PUT ? test_put(1, disp, local, bytes) :
        test_get(1, disp, local, bytes);
}

/* One cell for all of them, whatever their lengths: no message, no call of the system. */
START_TEST(many_are_one_cell)
{
    static const size_t lengths[] = {8, 1, 7, 9, 15, 16, 17, 64, 63, 100, LONGEST};
    enum { N = sizeof(lengths) / sizeof(lengths[0]) };
    for (int dynamic = 0; dynamic < 2; dynamic++) {
        struct bed bed;
        open_as(&bed, dynamic);
        int64_t at = dynamic ? attach(&bed, 1, 0, N * PLACE) : 0, unit = dynamic ? 1 : UNIT;
        for (int64_t i = 0; i < N; i++)
            ck_assert_int_eq(operate(&bed, test_put(1, at + i * PLACE / unit, from + i,
                                                    lengths[i])), WDL_OK);
        ck_assert_uint_eq(bed_word(&bed, 1, 0), 0);
        bed_done_there(&bed, 1);
        for (int64_t i = 0; i < N; i++)
            ck_assert_int_eq(operate(&bed, test_get(1, at + i * PLACE / unit, to + i * PLACE,
                                                    lengths[i])), WDL_OK);
        ck_assert_int_eq(to[0], 0);
        bed_done_there(&bed, 1);
        for (size_t i = 0; i < N; i++) {
            const char *there = bed.w.rank[1].memory + i * PLACE;
            ck_assert_mem_eq(there, from + i, lengths[i]);
            ck_assert_mem_eq(to + i * PLACE, from + i, lengths[i]);
            for (size_t k = lengths[i]; k < PLACE; k++)
                ck_assert(there[k] == 0 && to[i * PLACE + k] == 0);
        }
        ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 2 * N);
        ck_assert_uint_eq(bed_stats(&bed).ops_message, 0);
        ck_assert_int_eq(mover.calls, 0);
        bed_close(&bed);
    }
}
END_TEST

/* The first of the next ones is held, too, since several followed one another before; also where
 * but the first of those came by the full path. */
START_TEST(several_are_expected_again)
{
    struct bed bed;
    open_as(&bed, 0);
    for (int turn = 0; turn < 4; turn++) {
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(operate(&bed, test_put(1, i, from + turn + i, 8)), WDL_OK);
            ck_assert_int_eq(bed.win[0]->mailbox.mail != NULL, turn == 0 && i == 0);
        }
        bed_done_there(&bed, 1);
    }
    ck_assert_mem_eq(bed.w.rank[1].memory + 16, from + 5, 8);
    bed_close(&bed);
}
END_TEST

/* What was put last stays. */
START_TEST(they_are_done_as_they_came)
{
    struct bed bed;
    open_as(&bed, 0);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(operate(&bed, test_put(1, 0, from + i, (size_t) (40 - i))), WDL_OK);
    bed_done_there(&bed, 1);
    for (int k = 0; k < 40; k++)
        ck_assert_int_eq(bed.w.rank[1].memory[k], from[k + (k < 20 ? 19 : 39 - k)]);
    bed_close(&bed);
}
END_TEST

/* Of another kind, or a get with a request: what is in it first. */
START_TEST(what_is_different_waits_for_it)
{
    static uint64_t one = 1, old;
    enum { OTHER, ACC, FETCH, LONG, REQUEST, KINDS };
    for (int what = 0; what < 2 * KINDS; what++) {
        enum wdl_rma_kind kind = what < KINDS ? WDL_RMA_PUT : WDL_RMA_GET,
            other = what < KINDS ? WDL_RMA_GET : WDL_RMA_PUT;
        struct bed bed;
        struct test_request request = {0};
        open_as(&bed, 0);
        memset(bed.w.rank[1].memory, 9, 64);
        for (int i = 0; i < 3; i++)
            ck_assert_int_eq(operate(&bed, move_of(kind, i, kind == WDL_RMA_PUT ? from + 8 * i :
                                                   to + 8 * i, 8)), WDL_OK);
        struct wdl_rma_args args = what % KINDS == OTHER ?
            move_of(other, 0, kind == WDL_RMA_PUT ? to : from, 8) :
            what % KINDS == ACC ? test_acc(1, 0, WDL_ROP_REPLACE, TEST_U64, 1, &one, NULL) :
            what % KINDS == FETCH ? test_acc(1, 0, WDL_ROP_REPLACE, TEST_U64, 1, &one, &old) :
            what % KINDS == LONG ? test_put(1, 0, from + 100, LONGEST + 1) :
            test_get(1, 0, to + 100, 8);
        args.request = what % KINDS == REQUEST ? &request : NULL;
        ck_assert_int_eq(operate(&bed, args), WDL_AGAIN);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        if (kind == WDL_RMA_PUT)
            ck_assert_mem_eq(bed.w.rank[1].memory, from, 24);
        ck_assert_int_eq(operate(&bed, args), WDL_OK);
        for (int i = 0; i < 24 && kind == WDL_RMA_GET; i++)
            ck_assert_int_eq(to[i], 9);
        for (int i = 0; bed_flush(&bed, 1) == WDL_AGAIN; i++) {
            ck_assert_int_lt(i, 2 * WDL_MAIL_LOOKS);
            (void) wdl_mailbox_serve(bed.win[1]);
            test_world_turn(&bed.w);    /* one may be a message */
        }
        if (args.kind == WDL_RMA_PUT)
            ck_assert_mem_eq(bed.w.rank[1].memory, args.origin.addr, args.origin.bytes);
        if (args.kind == WDL_RMA_GET)
            ck_assert_mem_eq(args.origin.addr, bed.w.rank[1].memory, 8);
        if (args.kind >= WDL_RMA_ACC)
            ck_assert_uint_eq(bed_word(&bed, 1, 0), 1);
        ck_assert_int_eq(request.done, args.request != NULL);
        bed_end(&bed);
    }
}
END_TEST

/* A put with a request is one of them, and complete when its data are. */
START_TEST(with_a_request_it_is_complete)
{
    struct bed bed;
    open_as(&bed, 0);
    for (int i = 0; i < 6; i++) {
        struct test_request request = {0};
        char data[9];
        memcpy(data, from + i * 9, 9);
        struct wdl_rma_args put = test_put(1, 3 * i, i > 2 ? data : from + i * 9, 9);
        put.request = i > 2 ? &request : NULL;
        if (i == 5)
            ck_assert_int_eq(wdl_rma_rput_again(bed.win[0], 1, 3 * i, data, 9), 1);
        else
            ck_assert_int_eq(operate(&bed, put), WDL_OK);
        ck_assert_int_eq(request.done, i == 3 || i == 4);
        memset(data, 0, 9);
    }
    ck_assert_int_eq(wdl_rma_rput_again(bed.win[0], 2, 0, from, 9), 0);
    ck_assert_int_eq(wdl_rma_rput_again(bed.win[0], 1, 0, from, LONGEST + 1), 0);
    bed_done_there(&bed, 1);
    for (int i = 0; i < 6; i++)
        ck_assert_mem_eq(bed.w.rank[1].memory + 24 * i, from + i * 9, 9);
    ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 6);
    ck_assert_int_eq(mover.calls, 0);
    bed_close(&bed);
}
END_TEST

/* One whose request was complete when it was in a cell, and that is called back, keeps its data. */
START_TEST(what_is_called_back_keeps_its_data)
{
    for (size_t bytes = 8; bytes <= 104; bytes += 96) { /* in the cell, in the area */
        struct bed bed;
        struct test_request request = {0};
        char data[104];
        open_as(&bed, 0);
        memcpy(data, from, bytes);
        struct wdl_rma_args put = test_put(1, 5, data, bytes);
        put.request = &request;
        ck_assert_int_eq(operate(&bed, put), WDL_OK);
        ck_assert(bed.win[0]->mailbox.mail && request.done);
        memset(data, 0, bytes);
        for (int i = 0; i < 3; i++)
            ck_assert_int_eq(operate(&bed, test_put(1, 20 + i, from + i, 8)), WDL_OK);
        for (int i = 0; bed_flush(&bed, 1) == WDL_AGAIN; i++) {
            ck_assert_int_lt(i, 3);
            (void) wdl_mailbox_serve(bed.win[1]);
        }
        ck_assert_mem_eq(bed.w.rank[1].memory + 5 * UNIT, from, bytes);
        for (int i = 0; i < 3; i++)
            ck_assert_mem_eq(bed.w.rank[1].memory + (20 + i) * UNIT, from + i, 8);
        bed_close(&bed);
    }
}
END_TEST

/* So many of each length as fit are one cell, and the next one waits for it. */
START_TEST(longer_ones_are_fewer)
{
    static const size_t lengths[] = {1, 8, 9, 64, 200, LONGEST};
    for (size_t k = 0; k < 2 * sizeof(lengths) / sizeof(lengths[0]); k++) {
        enum wdl_rma_kind kind = k % 2 ? WDL_RMA_GET : WDL_RMA_PUT;
        size_t bytes = lengths[k / 2], most = WDL_MAIL_AREA / wdl_bag_length(bytes), n = 0;
        struct bed bed;
        open_as(&bed, 0);
        most = most < WDL_BAG_MOVES ? most : WDL_BAG_MOVES;
        while (n < 1000 && operate(&bed, move_of(kind, (int64_t) n * 8, to + n * 64, bytes)) ==
               WDL_OK)
            n++;
        ck_assert_uint_eq(n, most);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        ck_assert_int_eq(operate(&bed, move_of(kind, 0, to, bytes)), WDL_OK);
        ck_assert_int_eq(wdl_win_settle(bed.win[0], 1), WDL_AGAIN);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        ck_assert_int_eq(wdl_win_settle(bed.win[0], 1), WDL_OK);
        ck_assert_uint_eq(bed_stats(&bed).ops_mailed, most + 1);
        ck_assert_int_eq(mover.calls, 0);
        bed_close(&bed);
    }
}
END_TEST

/* For another target meanwhile by the system, and each rank's in their order. */
START_TEST(others_are_not_kept_waiting)
{
    for (int kind = WDL_RMA_PUT; kind <= WDL_RMA_GET; kind++) {
        struct bed bed;
        open_as(&bed, 0);
        for (int i = 0; i < 12; i++) {
            struct wdl_rma_args args = move_of((enum wdl_rma_kind) kind, i / 2,
                                               (kind == WDL_RMA_PUT ? from : to) + 8 * i, 8);
            args.target = 1 + i % 2;
            for (int r = 1; r < 3 && kind == WDL_RMA_GET; r++)
                memcpy(bed.w.rank[r].memory + i / 2 * 8, from + (i / 2 * 2 + r - 1) * 8, 8);
            ck_assert_int_eq(operate(&bed, args), WDL_OK);
        }
        ck_assert_int_eq(wdl_win_flush(bed.win[0], -1, 0, &bed.step), WDL_AGAIN);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[2]), 0);
        ck_assert_int_eq(wdl_win_flush(bed.win[0], -1, 0, &bed.step), WDL_OK);
        for (int i = 0; i < 12; i++)
            ck_assert_mem_eq(kind == WDL_RMA_PUT ? bed.w.rank[1 + i % 2].memory + i / 2 * 8 :
                             to + 8 * i, from + 8 * i, 8);
        ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 6);
        ck_assert_uint_eq(bed_stats(&bed).ops_copied, 6);
        ck_assert_int_eq(mover.calls, 1);
        bed_close(&bed);
    }
}
END_TEST

/* A long one for another target goes through the ring meanwhile, whoever looks in between. */
START_TEST(a_long_one_for_another_is_left_alone)
{
    enum { LONG = BYTES / 2 };
    for (int kind = WDL_RMA_PUT; kind <= WDL_RMA_GET; kind++) {
        struct bed bed;
        open_as(&bed, 0);
        memcpy(bed.w.rank[2].memory, from, kind == WDL_RMA_GET ? LONG : 0);
        for (int i = 0; i < 3; i++)
            ck_assert_int_eq(operate(&bed, test_put(1, i, from + 8 * i, 8)), WDL_OK);
        for (int i = 0; bed.win[0]->mailbox.mail; i++) {    /* the first one, alone */
            ck_assert_int_lt(i, 10);
            (void) wdl_mailbox_serve(bed.win[1]);
            (void) wdl_mailboxes_progress(bed.win[0]->rma);
        }
        struct wdl_rma_args args = move_of((enum wdl_rma_kind) kind, 0,
                                           kind == WDL_RMA_PUT ? from : to, LONG);
        args.target = 2;
        ck_assert_int_eq(operate(&bed, args), WDL_OK);
        ck_assert_ptr_eq(bed.win[0]->mailbox.mail, bed_cell(&bed, 2));
        ck_assert_int_eq(wdl_batches_progress(bed.win[0]->rma), 0);
        ck_assert_ptr_eq(bed.win[0]->mailbox.mail, bed_cell(&bed, 2));
        for (int i = 0; wdl_win_flush(bed.win[0], -1, 0, &bed.step) == WDL_AGAIN; i++) {
            ck_assert_int_lt(i, 100);
            (void) wdl_batches_progress(bed.win[0]->rma);
            (void) wdl_mailbox_serve(bed.win[1 + i % 2]);
        }
        ck_assert_mem_eq(bed.w.rank[1].memory, from, 24);
        ck_assert_mem_eq(kind == WDL_RMA_PUT ? bed.w.rank[2].memory : to, from, LONG);
        ck_assert_int_eq(bed.win[0]->batched, 0);
        bed_close(&bed);
    }
}
END_TEST

/* Nobody takes it: the system does, 64 in a call; and who did not come is not waited for again. */
START_TEST(what_nobody_takes_the_system_does)
{
    enum { N = 100 };
    for (int kind = WDL_RMA_PUT; kind <= WDL_RMA_GET; kind++) {
        struct bed bed;
        open_as(&bed, 0);
        for (int turn = 0; turn < 3; turn++) {
            mover.calls = 0;
            for (int i = 0; i < N; i++) {
                char *there = bed.w.rank[1].memory + i * 24;
                if (kind == WDL_RMA_GET)
                    memcpy(there, from + turn + i * 24, 9);
                ck_assert_int_eq(operate(&bed, move_of((enum wdl_rma_kind) kind, 3 * i,
                                                       kind == WDL_RMA_PUT ? from + turn + i * 24 :
                                                       to + i * 24, 9)), WDL_OK);
            }
            if (turn == 0)
                done_from_outside(&bed);
            else
                ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
            ck_assert_int_eq(mover.calls, 2);
            ck_assert(!bed.win[0]->rma->getting);
            for (int i = 0; i < N; i++)
                ck_assert_mem_eq(kind == WDL_RMA_PUT ? bed.w.rank[1].memory + i * 24 :
                                 to + i * 24, from + turn + i * 24, 9);
            ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 0);
            ck_assert_uint_eq(bed_stats(&bed).ops_copied, (uint64_t) N * ((unsigned) turn + 1));
        }
        bed_close(&bed);
    }
}
END_TEST

/* One whose memory is not attached: it alone fails, at the synchronization. */
START_TEST(one_that_fails_is_the_only_one)
{
    for (int kind = WDL_RMA_PUT; kind <= WDL_RMA_GET; kind++) {
        struct bed bed;
        open_as(&bed, 1);
        int64_t at = attach(&bed, 1, 0, 16);
        memcpy(bed.w.rank[1].memory, from, kind == WDL_RMA_GET ? 24 : 0);
        for (int i = 2; i >= 0; i--)
            ck_assert_int_eq(operate(&bed, move_of((enum wdl_rma_kind) kind, at + 8 * i,
                                                   kind == WDL_RMA_PUT ? from + 8 * i : to + 8 * i,
                                                   8)), WDL_OK);
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_AGAIN);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_ERR_RANGE);
        const char *got = kind == WDL_RMA_PUT ? bed.w.rank[1].memory : to;
        ck_assert_mem_eq(got, from, 16);
        ck_assert_mem_eq(got + 16, (char[8]){0}, 8);
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
        bed_close(&bed);
    }
}
END_TEST

/* A cell, or an area, says anything: nothing beyond the window or the area is touched, and the
 * origin does it itself; it goes by its own lengths. */
START_TEST(nonsense_is_refused)
{
    enum { LONGER, ENDLESS, FAR, NEGATIVE, CUT, LONG_CELL, KINDS };
    for (int what = 0; what < 2 * KINDS; what++) {
        int puts = what < KINDS;
        struct bed bed;
        open_as(&bed, 0);
        memcpy(bed.w.rank[1].memory, from, puts ? 0 : 24);
        for (int i = 0; i < 3; i++)
            ck_assert_int_eq(operate(&bed, puts ? test_put(1, i, from + 8 * i, 8) :
                                     test_get(1, i, to + 8 * i, 8)), WDL_OK);
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_AGAIN);
        struct wdl_mail *mail = bed_cell(&bed, 1);
        char *last = bed.w.control[0].area.data + 2 * wdl_bag_length(8);
        struct wdl_bag_move move;
        memcpy(&move, last, sizeof(move));
        const struct wdl_bag_move known = move;
        move.bytes = what % KINDS == LONGER ? 9 : what % KINDS == ENDLESS ? UINT64_MAX : move.bytes;
        move.disp = what % KINDS == FAR ? BYTES / UNIT : what % KINDS == NEGATIVE ? -1 : move.disp;
        mail->bytes -= what % KINDS == CUT ? 9 : 0;
        mail->bytes = what % KINDS == LONG_CELL ? WDL_MAIL_AREA + 1 : mail->bytes;
        memcpy(last, &move, sizeof(move));
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        ck_assert_int_ne(mail->status, WDL_OK);
        memcpy(last, &known, sizeof(known));
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
        ck_assert_mem_eq(puts ? bed.w.rank[1].memory : to, from, 24);
        ck_assert_mem_eq((puts ? bed.w.rank[1].memory : to) + 24, (char[8]){0}, 8);
        ck_assert_int_eq(mover.calls, 1);
        bed_close(&bed);
    }
}
END_TEST

/* What has been written to the area meanwhile is not believed by the origin either. */
START_TEST(nonsense_of_its_own_is_refused)
{
    enum { LONGER, ENDLESS, FAR, KINDS };
    for (int what = 0; what < 2 * KINDS; what++) {
        int puts = what < KINDS;
        struct bed bed;
        open_as(&bed, 0);
        memcpy(bed.w.rank[1].memory, from, puts ? 0 : 24);
        for (int i = 0; i < 3; i++)
            ck_assert_int_eq(operate(&bed, puts ? test_put(1, i, from + 8 * i, 8) :
                                     test_get(1, i, to + 8 * i, 8)), WDL_OK);
        char *last = bed.w.control[0].area.data + 2 * wdl_bag_length(8);
        struct wdl_bag_move move = {2, 8};
        ck_assert_mem_eq(last, &move, sizeof(move));
        move.bytes = what % KINDS == LONGER ? 9 : what % KINDS == ENDLESS ? UINT64_MAX : 8;
        move.disp = what % KINDS == FAR ? BYTES / UNIT : 2;
        memcpy(last, &move, sizeof(move));
        int status = WDL_AGAIN;
        for (int i = 0; status == WDL_AGAIN; i++) {
            ck_assert_int_lt(i, 2 * WDL_MAIL_LOOKS);
            status = bed_flush(&bed, 1);
        }
        ck_assert_int_eq(status, WDL_ERR_PROTO);
        ck_assert_int_eq(bed.win[0]->batched, 0);
        ck_assert_mem_eq(puts ? bed.w.rank[1].memory : to, from, 16);
        ck_assert_mem_eq((puts ? bed.w.rank[1].memory : to) + 16, (char[16]){0}, puts ? 16 : 8);
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
        bed_close(&bed);
    }
}
END_TEST

/* Results go where they were asked for, and no further, whatever the target says they are. */
START_TEST(results_have_the_length_asked_for)
{
    struct bed bed;
    open_as(&bed, 0);
    memcpy(bed.w.rank[1].memory, from, 24);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(operate(&bed, test_get(1, i, to + 8 * i, 8)), WDL_OK);
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_AGAIN);
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
    for (size_t i = 0; i < 3; i++)
        memcpy(bed.w.control[0].area.data + i * wdl_bag_length(8),
               &(struct wdl_bag_move){0, UINT64_MAX}, sizeof(struct wdl_bag_move));
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
    ck_assert_mem_eq(to, from, 24);
    ck_assert_mem_eq(to + 24, (char[8]){0}, 8);
    bed_close(&bed);
}
END_TEST

/* A process remembers where the results of one bag go: another window's gets are the system's. */
START_TEST(gets_of_one_window_at_a_time)
{
    struct bed bed;
    open_as(&bed, 0);
    struct wdl_rma *rma = bed.win[0]->rma;
    memcpy(bed.w.rank[1].memory, from, 24);
    rma->getting = bed.win[2];
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(operate(&bed, test_get(1, i, to + 8 * i, 8)), WDL_OK);
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
    ck_assert_ptr_eq(rma->getting, bed.win[2]);
    rma->getting = NULL;
    ck_assert_mem_eq(to, from, 24);
    ck_assert_int_eq(mover.calls, 1);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(operate(&bed, test_get(1, i, to + 8 * i, 8)), WDL_OK);
    ck_assert_ptr_eq(rma->getting, bed.win[0]);
    bed_done_there(&bed, 1);
    ck_assert_ptr_null(rma->getting);
    ck_assert_int_eq(mover.calls, 1);
    bed_close(&bed);
}
END_TEST

/* None where each is to be sent at once, for processes for whom nobody waits, or without a mailbox.
 */
START_TEST(where_there_is_none)
{
    enum { EAGER, CROWDED, CLOSED, NO_MAIL, KINDS };
    for (int what = 0; what < KINDS; what++) {
        struct bed bed;
        open_as(&bed, 0);
        struct wdl_win *win = bed.win[0];
        const int has = win->mailbox.has;
        win->params.hints.combine = what == EAGER ? WDL_COMBINE_NEVER : WDL_COMBINE_AUTO;
        win->params.crowded = what == CROWDED;
        win->mailbox.has = win->mailbox.on = what == NO_MAIL ? 0 : has;
        bed.w.control[1].mail_open = what != CLOSED && what != CROWDED;
        for (int i = 0; i < 4; i++)
            ck_assert_int_eq(operate(&bed, test_put(1, i, from + 8 * i, 8)), WDL_OK);
        ck_assert_int_eq(win->mailbox.bag.n, 0);
        done_from_outside(&bed);
        win->mailbox.has = win->mailbox.on = has;
        ck_assert_mem_eq(bed.w.rank[1].memory, from, 32);
        bed_close(&bed);
    }
}
END_TEST

WDL_SUITE("rma/bag_moves", many_are_one_cell, several_are_expected_again,
          they_are_done_as_they_came, what_is_different_waits_for_it,
          with_a_request_it_is_complete, what_is_called_back_keeps_its_data, longer_ones_are_fewer,
          others_are_not_kept_waiting, a_long_one_for_another_is_left_alone,
          what_nobody_takes_the_system_does, one_that_fails_is_the_only_one, nonsense_is_refused,
          nonsense_of_its_own_is_refused, results_have_the_length_asked_for,
          gets_of_one_window_at_a_time, where_there_is_none)
