/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/types: derived types of
 * targets are described once, forgotten behind what uses them, and their tables hold. */
#include <string.h>
#include "host/testworld.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS = 3, BYTES = 2048, COUNT = 8 };

static void open_world(struct test_world *w, int unordered, int types)
{
    struct test_world_params p = {.ranks = RANKS, .unordered = unordered, .bytes = BYTES,
                                  .seed = 11, .rma = {.win_types = types}};
    if (unordered) {
        p.delay_ns_max = 5000;
        p.refuse_permille = 200;
    }
    test_world_open(w, &p);
    TEST_DONE(w, wdl_win_lock_all(w->rank[0].win, 0, &w->rank[0].step));
}

static void close_world(struct test_world *w)
{
    TEST_DONE(w, wdl_win_unlock_all(w->rank[0].win, &w->rank[0].step));
    test_world_close(w);
}

/* COUNT bytes, `stride` apart. */
static wdl_type strided(struct test_world *w, int stride)
{
    return test_type_vector(&w->rank[0].host, TEST_U8, COUNT, 1, stride);
}

static struct wdl_rma_args put_typed(struct test_world *w, int target, int64_t disp,
                                     const char *from, wdl_type type)
{
    struct wdl_rma_args args = test_put(target, disp, from, COUNT);
    args.remote = test_typed(&w->rank[0].host, NULL, 1, type);
    return args;
}

static int flush(struct test_world *w, int target)
{
    int status = TEST_WAIT(w, wdl_win_flush(w->rank[0].win, target, 0, &w->rank[0].step));
    test_world_settle(w);
    return status;
}

/* A put of bytes nobody has put before, and a look at where they are. */
static void use(struct test_world *w, int target, wdl_type type, int stride)
{
    static unsigned char last;
    char from[COUNT];
    for (int i = 0; i < COUNT; i++)
        from[i] = (char) ++last;
    test_op(w, 0, put_typed(w, target, stride, from, type));
    must_cmp(flush(w, target), ==, WDL_OK);
    for (int i = 0; i < COUNT; i++)
        must_cmp(w->rank[target].memory[stride + i * stride], ==, from[i]);
}

static int length(const struct wdl_list *list)
{
    const struct wdl_list *node;
    int n = 0;
    wdl_list_for(node, list)
        n++;
    return n;
}

/* Types rank 0 has described, and those kept at a rank. */
static int told(const struct test_world *w)
{
    return length(&w->rank[0].win->told);
}

static int kept(const struct test_world *w, int rank)
{
    must_cmp(length(&w->rank[rank].win->rtypes), ==, w->rank[rank].win->rtypes_kept);
    return w->rank[rank].win->rtypes_kept;
}

static uint64_t messages(const struct test_world *w)
{
    return w->rank[0].win->stats.messages;
}

START_TEST(a_type_is_described_to_a_target_once)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        open_world(&w, unordered, 0);
        wdl_type type = strided(&w, 3), other = strided(&w, 5);
        use(&w, 1, type, 3);
        uint64_t first = messages(&w);
        use(&w, 1, type, 3);
        uint64_t each = messages(&w) - first;
        for (int i = 0; i < 5; i++)
            use(&w, 1, type, 3);
        ck_assert_uint_eq(messages(&w) - first, 6 * each);
        ck_assert_int_eq(told(&w), 1);
        use(&w, 2, type, 3);
        use(&w, 1, other, 5);
        ck_assert_int_eq(told(&w), 3);
        ck_assert_int_eq(kept(&w, 1), 2);
        ck_assert_int_eq(kept(&w, 2), 1);
        test_type_end(&w.rank[0].host, type);
        test_type_end(&w.rank[0].host, other);
        close_world(&w);
    }
}
END_TEST

/* Operations that follow one another without a synchronization share the description. */
START_TEST(one_description_serves_all_that_is_under_way)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        char from[6][COUNT];
        open_world(&w, unordered, 0);
        wdl_type type = strided(&w, 2);
        for (int i = 0; i < 6; i++) {
            memset(from[i], i + 1, COUNT);
            test_op(&w, 0, put_typed(&w, 1, 16 * i, from[i], type));
        }
        ck_assert_int_eq(flush(&w, 1), WDL_OK);
        for (int i = 0; i < 6 * COUNT; i++)
            ck_assert_int_eq(w.rank[1].memory[2 * i], i / COUNT + 1);
        ck_assert_int_eq(kept(&w, 1), 1);
        test_type_end(&w.rank[0].host, type);
        close_world(&w);
    }
}
END_TEST

/* The origin's table is full: what was not used for longest is forgotten on both sides. */
START_TEST(an_origin_forgets)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        wdl_type type[4];
        open_world(&w, unordered, 2);
        for (int i = 0; i < 4; i++)
            type[i] = strided(&w, 2 + i);
        for (int i = 0; i < 40; i++) {
            use(&w, 1 + i % 2, type[i / 2 % 4], 2 + i / 2 % 4);
            ck_assert_int_le(told(&w), 2);
            ck_assert_int_le(kept(&w, 1) + kept(&w, 2), 2);
        }
        for (int i = 0; i < 4; i++)
            test_type_end(&w.rank[0].host, type[i]);
        close_world(&w);
    }
}
END_TEST

/* The target's table is full: it asks, and is told when nothing uses the type any more. */
START_TEST(a_target_is_rid_of_what_is_too_much)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        wdl_type type[4];
        open_world(&w, unordered, 8);
        w.rank[1].rma->params.win_types = 1;
        for (int i = 0; i < 4; i++)
            type[i] = strided(&w, 2 + i);
        for (int i = 0; i < 20; i++) {
            use(&w, 1, type[i % 4], 2 + i % 4);
            ck_assert_int_eq(kept(&w, 1), 1);
            ck_assert_int_eq(told(&w), 1);
            ck_assert_int_eq(w.rank[1].win->rtypes_asked, 0);
        }
        for (int i = 0; i < 4; i++)
            test_type_end(&w.rank[0].host, type[i]);
        close_world(&w);
    }
}
END_TEST

/* All of the origin's table is in use: a type goes along for one operation. */
START_TEST(a_full_table_stops_nobody)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        wdl_type type[3];
        char from[3][COUNT];
        struct test_rank *other;
        open_world(&w, unordered, 1);
        other = &w.rank[2];
        TEST_DONE(&w, wdl_win_unlock_all(w.rank[0].win, &w.rank[0].step));
        TEST_DONE(&w, wdl_win_lock(other->win, 1, 1, 0, &other->step));
        test_op(&w, 2, test_put(1, 0, "x", 1));
        TEST_DONE(&w, wdl_win_flush(other->win, 1, 0, &other->step));
        TEST_DONE(&w, wdl_win_lock(w.rank[0].win, 1, 0, 0, &w.rank[0].step));
        for (int i = 0; i < 3; i++) {
            type[i] = strided(&w, 2);
            memset(from[i], i + 1, COUNT);
            test_op(&w, 0, put_typed(&w, 1, 16 * i, from[i], type[i]));
        }
        ck_assert_int_eq(told(&w), 3);
        ck_assert_int_eq(w.rank[0].win->ntold, 1);
        TEST_DONE(&w, wdl_win_unlock(other->win, 1, &other->step));
        ck_assert_int_eq(flush(&w, 1), WDL_OK);
        for (int i = 0; i < 3 * COUNT; i++)
            ck_assert_int_eq(w.rank[1].memory[2 * i], i / COUNT + 1);
        ck_assert_int_eq(told(&w), 1);
        ck_assert_int_eq(kept(&w, 1), 1);
        TEST_DONE(&w, wdl_win_unlock(w.rank[0].win, 1, &w.rank[0].step));
        for (int i = 0; i < 3; i++)
            test_type_end(&w.rank[0].host, type[i]);
        test_world_close(&w);
    }
}
END_TEST

/* The user frees its types: they live on in the table, and another type is another type. */
START_TEST(freed_types_are_held)
{
    struct test_world w;
    open_world(&w, 0, 4);
    for (int i = 0; i < 30; i++) {
        wdl_type type = strided(&w, 2 + i % 7);
        use(&w, 1, type, 2 + i % 7);
        test_type_end(&w.rank[0].host, type);
        ck_assert_int_le(w.rank[0].host.holds, 4);
    }
    close_world(&w);            /* sees that all are gone */
}
END_TEST

/* What the target could not take is described again for the next operation. */
START_TEST(a_failure_is_forgotten)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        open_world(&w, unordered, 0);
        wdl_type type = strided(&w, 3), good = strided(&w, 2);
        use(&w, 1, good, 2);
        test_type_end(&w.rank[0].host, good);
        w.rank[1].host.fail_after = 1;
        test_op(&w, 0, put_typed(&w, 1, 0, "nothing", type));
        ck_assert(wdl_status_is_error(flush(&w, 1)));
        w.rank[1].host.fail_after = 0;
        w.malformed = w.rank[1].proc->stats.malformed;
        use(&w, 1, type, 3);
        test_type_end(&w.rank[0].host, type);
        close_world(&w);
    }
}
END_TEST

/* One that is longer than the target takes: whoever uses it is told so, and nothing of it is
 * kept; others are as ever. */
START_TEST(a_description_may_be_too_long)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        open_world(&w, unordered, 2);
        struct test_host *host = &w.rank[0].host;
        struct test_request request;
        char data[4 * COUNT];
        wdl_type good = strided(&w, 3), type = test_type_vector(host, TEST_U8, 4 * COUNT, 1, 2);
        size_t flat = host->host.ops->flat_bytes(NULL, type);
        w.rank[1].rma->params.type_bytes_max = (int) flat - 1;
        for (int i = 0; i < 6; i++) {
            struct wdl_rma_args args = put_typed(&w, 1, 0, "nothing", type);
            args.kind = i % 2 ? WDL_RMA_GET : WDL_RMA_PUT;
            if (i % 2)
                args.origin = test_bytes(memset(data, 7, sizeof data), sizeof data);
            request = (struct test_request) { 0 };
            args.request = i % 3 ? &request : NULL;
            test_op(&w, 0, args);
            int status = flush(&w, 1);
            ck_assert(!args.request || request.done);
            ck_assert_int_eq(status != WDL_OK ? status : request.status, WDL_ERR_LONG_TYPE);
            ck_assert(i % 2 == 0 || data[0] == 7);
            use(&w, 1, good, 3);
            ck_assert_int_le(told(&w), 2);
        }
        ck_assert_uint_eq(w.rank[1].proc->stats.malformed, 0);
        test_type_end(host, type);
        test_type_end(host, good);
        close_world(&w);
    }
}
END_TEST

START_TEST(words_that_come_too_late_do_nothing)
{
    struct test_world w;
    open_world(&w, 0, 0);
    wdl_type type = strided(&w, 3);
    use(&w, 1, type, 3);
    for (int kind = 0; kind < 2; kind++) {
        struct wdl_pkt pkt = test_packet(&w, 1, kind ? WDL_PKT_FORGET : WDL_PKT_EVICT);
        pkt.type = 12345;
        ck_assert_int_eq(test_deliver(&w, 1, 0, &pkt, NULL, 0), WDL_OK);
        pkt.win = 12345;
        ck_assert_int_eq(test_deliver(&w, 1, 0, &pkt, NULL, 0), WDL_OK);
    }
    /* and nobody forgets another's */
    struct wdl_pkt pkt = test_packet(&w, 2, WDL_PKT_FORGET);
    pkt.type = w.rank[0].rma->next_type;
    ck_assert_int_eq(test_deliver(&w, 2, 1, &pkt, NULL, 0), WDL_OK);
    test_world_settle(&w);
    ck_assert_int_eq(kept(&w, 1), 1);
    use(&w, 1, type, 3);
    test_type_end(&w.rank[0].host, type);
    close_world(&w);
}
END_TEST

WDL_SUITE("rma/types", a_type_is_described_to_a_target_once,
          one_description_serves_all_that_is_under_way, an_origin_forgets,
          a_target_is_rid_of_what_is_too_much, a_full_table_stops_nobody, freed_types_are_held,
          a_failure_is_forgotten, a_description_may_be_too_long,
          words_that_come_too_late_do_nothing)
