/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of rma/atomic: accumulates by the network's atomics: which they are, that their order is
 * kept, and that they lose nothing to those of the processors.
 */
#include <string.h>
#include "host/testworld.h"
#include "support/must.h"
#include "support/suite.h"

enum { BYTES = 4096, CPU = 1, NIC = 2 };

static void flush(struct test_world *w, int o, int t)
{
    TEST_DONE(w, wdl_win_flush(w->rank[o].win, t, 0, &w->rank[o].step));
}

/* Everybody may access everybody, and has the keys. */
static void open_world(struct test_world *w, struct test_world_params p)
{
    char byte = 0;
    p.ranks = p.ranks ? p.ranks : 2;
    p.direct = 1;
    p.atomics = p.atomics ? p.atomics : CPU;
    p.bytes = BYTES;
    test_world_open(w, &p);
    for (int o = 0; o < w->n; o++) {
        TEST_DONE(w, wdl_win_lock_all(w->rank[o].win, 0, &w->rank[o].step));
        for (int t = 0; t < w->n; t++)
            for (int i = 0; i < 2; i++) {
                test_op(w, o, test_put(t, BYTES - 1, &byte, 1));
                flush(w, o, t);
            }
    }
    test_world_messages(w);
}

static void close_world(struct test_world *w)
{
    for (int o = 0; o < w->n; o++)
        TEST_DONE(w, wdl_win_unlock_all(w->rank[o].win, &w->rank[o].step));
    test_world_close(w);
}

static uint64_t atomics(const struct test_world *w)
{
    return wdl_sim_counts(w->sim)->atomics;
}

/* By the network alone; then what is at `at` of rank 1. */
static void by_network(struct test_world *w, struct wdl_rma_args args, uint64_t n)
{
    uint64_t before = atomics(w);
    test_op(w, 0, args);
    flush(w, 0, 1);
    ck_assert_int_eq(test_world_messages(w), 0);
    ck_assert_uint_eq(atomics(w) - before, n);
}

static void by_message(struct test_world *w, struct wdl_rma_args args)
{
    uint64_t before = atomics(w);
    test_op(w, 0, args);
    flush(w, 0, 1);
    ck_assert_int_gt(test_world_messages(w), 0);
    ck_assert_uint_eq(atomics(w), before);
}

/* In the order of their atomics. */
static const enum wdl_rop rops[] = {WDL_ROP_SUM, WDL_ROP_BAND, WDL_ROP_BOR, WDL_ROP_BXOR,
                                    WDL_ROP_REPLACE};
enum { ROPS = 5 };

/* Both widths, signs, every operator there is an atomic for, fetching and not; as the host's own
 * reduction has it. What cannot fetch is left to the network where nobody wants it to. */
static void each_operator(uint32_t no_fetches)
{
    static const enum test_type types[] = {TEST_I32, TEST_I64};
    static const int64_t value[] = {-3, 0x123456789abcdef};
    struct test_world w;
    open_world(&w, (struct test_world_params){.unordered = 1, .no_fetches = no_fetches});
    const struct wdl_host_ops *ops = w.rank[0].host.host.ops;
    for (int i = 0; i < 2 * ROPS * 4; i++) {
        enum test_type type = types[i % 2];
        enum wdl_rop rop = rops[i / 2 % ROPS];
        size_t size = test_element(type).packed_bytes;
        int64_t there[2] = {0x7fffffff7ffffff0, -1}, want[2], got[2] = {0}, in[2];
        int fetch = i / 2 / ROPS % 2;
        in[0] = value[i / 4 / ROPS];
        in[1] = ~in[0];
        memcpy(w.rank[1].memory + 64, there, 16);
        memcpy(want, there, 16);
        ops->reduce(NULL, type, rop, in, want, 2);
        struct wdl_rma_args args = test_acc(1, 64, rop, type, 2, in, fetch ? got : NULL);
        if (fetch && no_fetches >> (i / 2 % ROPS) & 1)
            by_message(&w, args);
        else
            by_network(&w, args, 2);
        ck_assert_mem_eq(w.rank[1].memory + 64, want, 2 * size);
        ck_assert_mem_eq(w.rank[1].memory + 64 + 2 * size, (char *) there + 2 * size,
                         16 - 2 * size);
        if (fetch)
            ck_assert_mem_eq(got, there, 2 * size);
    }
    close_world(&w);
}

START_TEST(each_is_what_the_host_would_do)
{
    each_operator(0);
    each_operator(1u << WDL_NM_AND | 1u << WDL_NM_OR | 1u << WDL_NM_XOR);
}
END_TEST

START_TEST(reading_and_comparing)
{
    struct test_world w;
    open_world(&w, (struct test_world_params){.delay_ns_max = 3000});
    for (int wide = 0; wide < 2; wide++) {
        enum test_type type = wide ? TEST_I64 : TEST_I32;
        int64_t old = -5, other = 12, new = 77, got = 0;
        size_t size = test_element(type).packed_bytes;
        memcpy(w.rank[1].memory, &old, 8);
        by_network(&w, test_acc(1, 0, WDL_ROP_NO_OP, type, 1, NULL, &got), 1);
        ck_assert_mem_eq(&got, &old, size);
        by_network(&w, test_cas(1, 0, type, &other, &new, &got), 1);
        ck_assert_mem_eq(&got, &old, size);
        ck_assert_mem_eq(w.rank[1].memory, &old, 8);
        by_network(&w, test_cas(1, 0, type, &old, &new, &got), 1);
        ck_assert_mem_eq(&got, &old, size);
        ck_assert_mem_eq(w.rank[1].memory, &new, size);
    }
    close_world(&w);
}
END_TEST

START_TEST(the_rest_is_the_targets_work)
{
    struct test_world w;
    int64_t in[16] = {1}, got[16];
    struct test_request request = {0};
    open_world(&w, (struct test_world_params){.ranks = 2});
    by_network(&w, test_acc(1, 0, WDL_ROP_SUM, TEST_I64, 8, in, NULL), 8);
    by_message(&w, test_acc(1, 0, WDL_ROP_SUM, TEST_I64, 9, in, NULL));
    by_message(&w, test_acc(1, 0, WDL_ROP_MAX, TEST_I64, 1, in, NULL));
    by_message(&w, test_acc(1, 0, WDL_ROP_PROD, TEST_I32, 1, in, NULL));
    by_message(&w, test_acc(1, 0, WDL_ROP_SUM, TEST_F64, 1, in, got));
    by_message(&w, test_acc(1, 4, WDL_ROP_SUM, TEST_I64, 1, in, NULL));
    by_message(&w, test_acc(1, 2, WDL_ROP_SUM, TEST_I32, 1, in, got));
    struct wdl_rma_args args = test_acc(1, 0, WDL_ROP_SUM, TEST_I32, 4, in, NULL);
    wdl_type vector = test_type_vector(&w.rank[0].host, TEST_I32, 4, 1, 2);
    args.remote = test_typed(&w.rank[0].host, NULL, 1, vector);
    by_message(&w, args);
    args = test_acc(1, 0, WDL_ROP_SUM, TEST_I64, 1, in, got);
    args.request = &request;
    by_message(&w, args);
    ck_assert_int_eq(request.done, 1);
    request.done = 0;
    args = test_acc(1, 0, WDL_ROP_SUM, TEST_I64, 2, in, NULL);
    args.request = &request;
    by_network(&w, args, 2);
    ck_assert_int_eq(request.done, 1);
    test_type_end(&w.rank[0].host, vector);
    close_world(&w);
}
END_TEST

/* Atomics that do not respect the processors' are for locks only; so it is where there are none. */
START_TEST(only_what_the_processors_respect)
{
    for (int i = 0; i < 2; i++) {
        struct test_world w;
        int64_t one = 1, got;
        test_world_open(&w, &(struct test_world_params){.ranks = 2,.direct = 1,
                                                        .atomics = i ? NIC : 0});
        for (int k = 0; k < 3; k++) {
            TEST_DONE(&w, wdl_win_lock_all(w.rank[0].win, WDL_MODE_NOCHECK, &w.rank[0].step));
            by_message(&w, test_acc(1, 0, WDL_ROP_SUM, TEST_I64, 1, &one, &got));
            TEST_DONE(&w, wdl_win_unlock_all(w.rank[0].win, &w.rank[0].step));
        }
        test_world_close(&w);
    }
}
END_TEST

/* --- order ------------------------------------------------------------------------------------ */

/* How many atomics these two have begun before anybody has made progress. */
static int at_once(struct test_world *w, struct wdl_rma_args first, struct wdl_rma_args second)
{
    uint64_t before = atomics(w);
    ck_assert_int_eq(wdl_rma_op(w->rank[0].win, &first), WDL_OK);
    int status = wdl_rma_op(w->rank[0].win, &second);
    int n = (int) (atomics(w) - before);
    if (status == WDL_AGAIN)
        test_op(w, 0, second);
    flush(w, 0, 1);
    return n;
}

START_TEST(only_what_could_be_seen_waits)
{
    int64_t one = 1, got[2];
    for (int waived = 0; waived < 2; waived++) {
        struct test_world w;
        open_world(&w, (struct test_world_params){.acc_unordered = waived,.delay_ns_max = 3000});
        struct wdl_rma_args sum = test_acc(1, 8, WDL_ROP_SUM, TEST_I64, 1, &one, NULL);
        struct wdl_rma_args fetch = test_acc(1, 8, WDL_ROP_SUM, TEST_I64, 1, &one, got);
        struct wdl_rma_args either = test_acc(1, 8, WDL_ROP_BOR, TEST_I64, 1, &one, NULL);
        struct wdl_rma_args put = test_acc(1, 8, WDL_ROP_REPLACE, TEST_I64, 1, &one, NULL);
        struct wdl_rma_args swap = test_cas(1, 8, TEST_I64, &one, &one, got);
        struct wdl_rma_args apart = test_acc(1, 16, WDL_ROP_REPLACE, TEST_I64, 1, &one, got + 1);
        struct wdl_rma_args half = test_acc(1, 12, WDL_ROP_SUM, TEST_I32, 1, &one, NULL);
        int together = 1 + waived;
        ck_assert_int_eq(at_once(&w, sum, sum), 2);
        ck_assert_int_eq(at_once(&w, sum, fetch), together);
        ck_assert_int_eq(at_once(&w, fetch, sum), together);
        ck_assert_int_eq(at_once(&w, fetch, fetch), together);
        ck_assert_int_eq(at_once(&w, sum, either), together);
        ck_assert_int_eq(at_once(&w, put, put), together);
        ck_assert_int_eq(at_once(&w, swap, sum), together);
        ck_assert_int_eq(at_once(&w, fetch, half), together);
        ck_assert_int_eq(at_once(&w, fetch, apart), 2);
        ck_assert_int_eq(at_once(&w, apart, put), 2);
        close_world(&w);
    }
}
END_TEST

/* What begins while a flush is under way is not part of it. */
START_TEST(a_flush_is_of_what_came_before)
{
    struct test_world w;
    int64_t one = 1, got;
    open_world(&w, (struct test_world_params){.delay_ns_max = 3000});
    struct wdl_win *win = w.rank[0].win;
    struct wdl_rma_args fetch = test_acc(1, 8, WDL_ROP_SUM, TEST_I64, 1, &one, &got);
    struct wdl_rma_args more = fetch;
    struct wdl_rma_args apart = test_acc(1, 64, WDL_ROP_SUM, TEST_I64, 1, &one, NULL);
    struct wdl_rma_args again = test_acc(1, 64, WDL_ROP_REPLACE, TEST_I64, 1, &one, NULL);
    ck_assert_int_eq(wdl_rma_op(win, &fetch), WDL_OK);
    ck_assert_int_eq(wdl_rma_op(win, &more), WDL_AGAIN);
    ck_assert_int_eq(wdl_rma_op(win, &apart), WDL_OK);
    const struct wdl_target *t = wdl_target_find(win, 1);
    for (int turns = 0; t->direct.flushing; turns++) {
        ck_assert_int_lt(turns, 1000);
        test_world_turn(&w);
    }
    ck_assert_int_eq(wdl_rma_op(win, &again), WDL_AGAIN);
    test_op(&w, 0, again);
    close_world(&w);
}
END_TEST

/* Other threads issue all the while, by message, or by the network at the same place: an accumulate
 * waits for what came before it, and for nothing else. */
START_TEST(who_goes_on_issuing_holds_nobody_up)
{
    enum { TURNS = 1000 };
    for (int network = 0; network < 2; network++) {
        struct test_world w;
        int64_t one = 1, got = 0, other = 0;
        int16_t small = 1;
        int turns = 0, issued = 0;
        open_world(&w, (struct test_world_params){.delay_ns_max = 3000});
        struct wdl_rma_args theirs = test_acc(1, 64, WDL_ROP_SUM, TEST_I64, 1, &one, &other);
        if (!network)
            theirs = test_acc(1, 512, WDL_ROP_SUM, TEST_I16, 1, &small, NULL);
        struct wdl_rma_args next = theirs;
        struct wdl_rma_args ours = test_acc(1, 64, WDL_ROP_SUM, TEST_I64, 1, &one, &got);
        test_op(&w, 0, theirs);
        while (wdl_rma_op(w.rank[0].win, &ours) == WDL_AGAIN && turns++ < TURNS) {
            test_world_turn(&w);
            if (wdl_rma_op(w.rank[0].win, &next) == WDL_OK) {
                next = theirs;
                issued++;
            }
        }
        ck_assert_int_gt(issued, 0);
        ck_assert_int_lt(turns, TURNS);
        flush(&w, 0, 1);
        ck_assert_int_eq(memcmp(w.rank[1].memory + 64, &(int64_t){1 + network * (1 + issued)}, 8),
                         0);
        ck_assert_int_ge(got, network);
        close_world(&w);
    }
}
END_TEST

/* Whatever way each takes, a place has seen them in the order of the calls. */
START_TEST(random_updates_of_one_origin)
{
    enum { UPDATES = 400, PLACES = 12 };
    for (int world = 0; world < 12; world++) {
        struct test_world w;
        int32_t shadow[PLACES] = {0}, in[UPDATES][PLACES], got[UPDATES][PLACES];
        int32_t want[UPDATES][PLACES];
        int sizes[UPDATES];
        open_world(&w, (struct test_world_params){.unordered = world % 2,
            .delay_ns_max = world / 2 % 2 * 5000,.refuse_permille = world / 4 * 200,
            .ops_max = world / 4,.seed = (uint64_t) world});
        const struct wdl_host_ops *ops = w.rank[0].host.host.ops;
        uint64_t before = atomics(&w);
        for (int i = 0; i < UPDATES; i++) {
            int at = (int) wdl_prng_below(&w.prng, PLACES);
            int n = 1 + (int) wdl_prng_below(&w.prng, (uint64_t) (PLACES - at));
            int fetch = (int) wdl_prng_below(&w.prng, 2), kind = (int) wdl_prng_below(&w.prng, 8);
            enum wdl_rop rop = kind < ROPS ? rops[kind] : kind < 7 ? WDL_ROP_SUM : WDL_ROP_MAX;
            n = wdl_prng_below(&w.prng, 3) ? 1 : n;
            for (int k = 0; k < n; k++)
                in[i][k] = (int32_t) wdl_prng_below(&w.prng, 1u << 31);
            sizes[i] = fetch ? n * 4 : 0;
            memcpy(want[i], shadow + at, (size_t) n * 4);
            ops->reduce(NULL, TEST_I32, rop, in[i], shadow + at, n);
            test_op(&w, 0, test_acc(1, 4 * at, rop, TEST_I32, n, in[i], fetch ? got[i] : NULL));
            if (wdl_prng_below(&w.prng, 10) == 0)
                flush(&w, 0, 1);
        }
        flush(&w, 0, 1);
        must(memcmp(w.rank[1].memory, shadow, sizeof(shadow)) == 0);
        for (int i = 0; i < UPDATES; i++)
            must(memcmp(got[i], want[i], (size_t) sizes[i]) == 0);
        ck_assert_uint_gt(atomics(&w) - before, UPDATES / 2);
        close_world(&w);
    }
}
END_TEST

/* --- together --------------------------------------------------------------------------------- */

/* The rank itself, its neighbour, others by network and by message: nothing is lost. In the last
 * worlds the network is another between ranks 4 and 1, of whom neither has asked the other, and the
 * key says so: those updates go by message. */
START_TEST(all_ways_mix)
{
    enum { RANKS = 6, ROUNDS = 60, N = 10 };
    for (int world = 0; world < 4 * 4; world++) {
        struct test_world w;
        int64_t one[N], sum[N] = {0};
        struct test_world_params p = {.ranks = RANKS,.node = 2,.unordered = world % 2,
            .delay_ns_max = 3000,.refuse_permille = world / 2 % 2 * 200,
            .seed = (uint64_t) world,.by_key = world >= 4};
        if (world >= 8) {
            p.odd = 1 + 4;
            p.odd_to = 1 + 1;
            p.odd_atomics = world >= 12 ? NIC : 0;
        }
        open_world(&w, p);
        ck_assert_int_eq(w.rank[1].win->net_sizes, 4 + 8);
        for (int k = 0; k < N; k++)
            one[k] = 1;
        for (int i = 0; i < ROUNDS * RANKS; i++) {
            int o = (int) wdl_prng_below(&w.prng, RANKS), n = 1 + i % N;
            test_op(&w, o, test_acc(1, 0, WDL_ROP_SUM, TEST_I64, n, one, NULL));
            for (int k = 0; k < n; k++)
                sum[k]++;
        }
        for (int o = 0; o < RANKS; o++)
            flush(&w, o, 1);
        ck_assert_mem_eq(w.rank[1].memory, sum, sizeof(sum));
        for (int o = 4; o < 6; o++) {
            uint64_t before = atomics(&w);
            test_op(&w, o, test_acc(1, 0, WDL_ROP_SUM, TEST_I64, 1, one, NULL));
            flush(&w, o, 1);
            ck_assert_uint_eq(atomics(&w) - before, o == 5 || world < 8);
        }
        close_world(&w);
    }
}
END_TEST

/* Values whose sums and products no type rounds, or exceeds, however they are grouped. */
static void draw_operands(struct wdl_prng *prng, enum test_type type, enum wdl_rop rop, int n,
                          char *out)
{
    size_t each = test_element(type).packed_bytes;
    int counts = rop == WDL_ROP_SUM || rop == WDL_ROP_PROD;
    for (int i = 0; i < n; i++, out += each) {
        int64_t value = (int64_t) wdl_prng_next(prng), one = value % 2 ? -1 : 1;
        if (counts || type >= TEST_F32)
            value = rop == WDL_ROP_PROD ? one : value % 2;
        double wide = (double) value;
        float narrow = (float) value;
        memcpy(out, type == TEST_F64 ? (void *) &wide : type == TEST_F32 ? (void *) &narrow :
               (void *) &value, each);  /* of a whole number its low bytes */
    }
}

/* Every type of up to 8 bytes, and every operator in whose result no order is seen: by ranks of the
 * node, by the network and by messages at once, and nothing is lost. */
START_TEST(all_ways_mix_of_every_type_and_operator)
{
    enum { RANKS = 6, OPS = 60, N = 4, MIXES = 4, EACH = 8 };
    static char in[OPS][N * EACH], want[N * EACH];
    int done = 0;
    for (int k = 0; k < (TEST_F64 - TEST_I8 + 1) * WDL_ROP_COUNT * MIXES; k++) {
        enum test_type type = (enum test_type) (TEST_I8 + k / MIXES / WDL_ROP_COUNT);
        enum wdl_rop rop = (enum wdl_rop) (k / MIXES % WDL_ROP_COUNT);
        struct test_world w;
        if (rop == WDL_ROP_REPLACE || rop == WDL_ROP_NO_OP)
            continue;
        open_world(&w, (struct test_world_params){
            .ranks = RANKS, .node = 2, .unordered = k % 2, .delay_ns_max = 3000, .by_key = 1,
            .seed = (uint64_t) k, .odd = 1 + 4, .odd_to = 1 + 1,
            .odd_atomics = k % MIXES / 2 ? NIC : 0});
        const struct wdl_host_ops *ops = w.rank[0].host.host.ops;
        if (ops->op_valid(NULL, type, rop)) {
            draw_operands(&w.prng, type, rop, N, want);
            memcpy(w.rank[1].memory, want, sizeof(want));
            for (int i = 0; i < OPS; i++) {
                int o = (int) wdl_prng_below(&w.prng, RANKS), n = 1 + i % N;
                draw_operands(&w.prng, type, rop, n, in[i]);
                ops->reduce(NULL, type, rop, in[i], want, n);
                test_op(&w, o, test_acc(1, 0, rop, type, n, in[i], NULL));
            }
            for (int o = 0; o < RANKS; o++)
                flush(&w, o, 1);
            ck_assert_mem_eq(w.rank[1].memory, want, N * test_element(type).packed_bytes);
            done++;
        }
        close_world(&w);
    }
    ck_assert_int_eq(done, MIXES * (8 * 10 + 2 * 4));   /* whole numbers, and real ones */
}
END_TEST

/* Nobody closes a region, since the network would not see it; elements it does not update may be
 * updated so: that waits while another process has announced an update there. */
START_TEST(no_bulk_beside_the_network)
{
    static int64_t many[200];
    for (int network = 0; network < 2; network++) {
        struct test_world w;
        test_world_open(&w, &(struct test_world_params){.ranks = 3,.node = 2,.direct = network,
                                                        .atomics = CPU,.bytes = BYTES});
        TEST_DONE(&w, wdl_win_lock_all(w.rank[0].win, WDL_MODE_NOCHECK, &w.rank[0].step));
        struct wdl_rma_args sum = test_acc(1, 0, WDL_ROP_SUM, TEST_I64, 200, many, NULL);
        struct wdl_rma_args real = test_acc(1, 0, WDL_ROP_SUM, TEST_F64, 200, many, NULL);
        ck_assert_int_eq(wdl_short_begin(&w.control[1], wdl_short_bit(1), &w.control[1], 1, 0),
                         WDL_OK);
        ck_assert_int_eq(wdl_rma_op(w.rank[0].win, &sum), network ? WDL_OK : WDL_AGAIN);
        ck_assert_int_eq(wdl_rma_op(w.rank[0].win, &real), WDL_AGAIN);
        wdl_short_end(&w.control[1]);
        ck_assert_int_eq(wdl_rma_op(w.rank[0].win, &real), WDL_OK);
        TEST_DONE(&w, wdl_win_unlock_all(w.rank[0].win, &w.rank[0].step));
        test_world_close(&w);
    }
}
END_TEST

WDL_SUITE("rma/atomic", each_is_what_the_host_would_do, reading_and_comparing,
          the_rest_is_the_targets_work, only_what_the_processors_respect,
          only_what_could_be_seen_waits, a_flush_is_of_what_came_before,
          who_goes_on_issuing_holds_nobody_up,
          random_updates_of_one_origin, all_ways_mix, all_ways_mix_of_every_type_and_operator,
          no_bulk_beside_the_network)
