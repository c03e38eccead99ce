/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of netmod/sim: what the
 * simulated network promises its tests beyond netmod.h: the same run again, delays, refusals and
 * borrowed payloads as asked for, exact counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "netmod/bed.h"
#include "netmod/sim/sim_impl.h"
#include "support/must.h"
#include "support/suite.h"

static struct nm_way way(uint64_t seed, int ordered)
{
    return (struct nm_way){.name = "sim", .ops = &wdl_nm_sim_ops, .ordered = ordered, .seed = seed};
}

static int send(struct bed *bed, int from, int to, const void *data, size_t bytes)
{
    struct wdl_nm *nm = bed->rank[from].nm;
    return nm->ops->am(nm, to, data, bytes, NULL, 0, NULL);
}

static int poll(struct bed *bed, int rank)
{
    return bed->rank[rank].nm->ops->poll(bed->rank[rank].nm);
}

/* The number in the n-th message a rank has received. */
static int heard(const struct bed *bed, int rank, int n)
{
    int number;
    must_cmp(n, <, bed->rank[rank].logged);
    memcpy(&number, bed->rank[rank].log[n].data, sizeof(number));
    return number;
}

START_TEST(parameters_that_are_none_are_refused)
{
    const struct wdl_sim_params bad[] = {{.ranks = 0}, {.ranks = -1},
                                         {.ranks = 1, .am_bytes_max = 1},
                                         {.ranks = 1, .am_bytes_max = 1023}};
    for (int i = 0; i < 4; i++)
        ck_assert_ptr_null(wdl_sim_create(&bad[i]));
    struct wdl_sim_params least = {.ranks = 1, .am_bytes_max = 1024};
    struct wdl_sim *sim = wdl_sim_create(&least);
    ck_assert_ptr_nonnull(sim);
    ck_assert_uint_eq(wdl_sim_now(sim), 0);
    wdl_sim_destroy(sim);
}
END_TEST

START_TEST(a_place_in_the_fabric_is_taken_once)
{
    struct wdl_sim_params p = {.ranks = 2};
    struct wdl_sim *sim = wdl_sim_create(&p);
    const struct {
        void *fabric;
        int rank, peers, status;
    } rows[] = {{NULL, 0, 2, WDL_ERR_ARG}, {sim, -1, 2, WDL_ERR_ARG}, {sim, 2, 2, WDL_ERR_ARG},
                {sim, 0, 1, WDL_ERR_ARG}, {sim, 0, 3, WDL_ERR_ARG}, {sim, 1, 2, WDL_OK},
                {sim, 1, 2, WDL_ERR_ARG}};
    struct wdl_nm *nm, *opened = NULL;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct wdl_nm_params params = {.rank = rows[i].rank, .peers = rows[i].peers,
                                       .fabric = rows[i].fabric};
        char err[64] = "";
        ck_assert_int_eq(wdl_nm_sim_ops.open(&params, &nm, err, sizeof(err)), rows[i].status);
        ck_assert_int_eq(nm != NULL, rows[i].status == WDL_OK);
        ck_assert_int_eq(err[0] != 0, rows[i].status != WDL_OK);
        opened = nm ? nm : opened;
    }
    opened->ops->close(opened);
    struct wdl_nm_params again = {.rank = 1, .peers = 2, .fabric = sim};
    char err[64];
    ck_assert_int_eq(wdl_nm_sim_ops.open(&again, &nm, err, sizeof(err)), WDL_OK);
    nm->ops->close(nm);
    wdl_sim_destroy(sim);
}
END_TEST

START_TEST(it_says_what_it_is)
{
    for (int ordered = 0; ordered < 2; ordered++) {
        struct nm_way w = way(42, ordered);
        struct bed bed;
        char text[64], want[64];
        int fd = 7;
        bed_open(&bed, &w, 3);
        struct wdl_nm *nm = bed.rank[1].nm;
        const struct wdl_nm_caps *caps = nm->ops->caps(nm);
        ck_assert_int_eq(nm->ops->get_ordering(nm), ordered);
        snprintf(want, sizeof(want), "sim: 3 ranks, %sordered, seed 42", ordered ? "" : "un");
        nm->ops->describe(nm, text, sizeof(text));
        ck_assert_str_eq(text, want);
        ck_assert_uint_eq(caps->am_bytes_max, 4096);
        ck_assert(caps->has_rma && !caps->has_tag && !caps->has_wakeup);
        ck_assert_int_eq(nm->ops->arm(nm, &fd), WDL_ERR_UNSUPPORTED);
        ck_assert_int_eq(fd, -1);
        bed_close(&bed);
    }
}
END_TEST

/* --- the seed decides ------------------------------------------------------------------------- */

enum { RUN_RANKS = 4, RUN_STEPS = 600 };

/* A number that a run's every result goes into, in order. */
static uint64_t run(uint64_t seed)
{
    struct nm_way w = way(seed, 0);
    struct bed bed;
    uint64_t digest = 0;
    w.delay_ns = 5000;
    w.refuse_permille = 300;
    w.pending_permille = 500;
    bed_open(&bed, &w, RUN_RANKS);
    wdl_prng_init(&bed.prng, 1); /* the script is the same for every seed */
    for (int i = 0; i < RUN_STEPS; i++) {
        int from = (int) wdl_prng_below(&bed.prng, RUN_RANKS);
        int to = (int) wdl_prng_below(&bed.prng, RUN_RANKS);
        digest = digest * 31 + (uint64_t) send(&bed, from, to, &i, sizeof(i));
        bed_poll(&bed);
    }
    while (!wdl_sim_quiescent(bed.sim))
        bed_poll(&bed);
    for (int rank = 0; rank < RUN_RANKS; rank++)
        for (int n = 0; n < bed.rank[rank].logged; n++)
            digest = digest * 31 + (uint64_t) heard(&bed, rank, n);
    bed_close(&bed);
    return digest;
}

START_TEST(the_same_seed_gives_the_same_run)
{
    uint64_t digest[8];
    for (uint64_t seed = 1; seed <= 8; seed++) {
        digest[seed - 1] = run(seed);
        ck_assert_uint_eq(digest[seed - 1], run(seed));
        for (uint64_t other = 1; other < seed; other++)
            ck_assert_uint_ne(digest[seed - 1], digest[other - 1]);
    }
}
END_TEST

START_TEST(a_message_takes_as_long_as_it_may)
{
    enum { N = 400, DELAY = 999 };
    struct nm_way w = way(5, 0);
    struct bed bed;
    int early = 0, late = 0;
    w.delay_ns = DELAY;
    bed_open(&bed, &w, 2);
    for (int i = 0; i < N; i++) {
        uint64_t sent = wdl_sim_now(bed.sim), took;
        ck_assert_int_eq(send(&bed, 0, 1, &i, sizeof(i)), WDL_OK);
        while (poll(&bed, 1) == 0)
            wdl_sim_advance(bed.sim, 1);
        took = wdl_sim_now(bed.sim) - sent;
        must_cmp(took, <=, DELAY);
        early += took < DELAY / 4;
        late += took > DELAY - DELAY / 4;
    }
    ck_assert(early > N / 8 && late > N / 8);
    bed_close(&bed);
}
END_TEST

/* On an unordered network messages do overtake each other. */
START_TEST(order_is_kept_where_it_is_promised)
{
    enum { N = 300 };
    for (int ordered = 0; ordered < 2; ordered++) {
        struct nm_way w = way(9, ordered);
        struct bed bed;
        int overtaken = 0;
        w.delay_ns = 50000;
        bed_open(&bed, &w, 2);
        for (int i = 0; i < N; i++)
            ck_assert_int_eq(send(&bed, 0, 1, &i, sizeof(i)), WDL_OK);
        BED_UNTIL(&bed, bed.rank[1].logged == N);
        for (int n = 1; n < N; n++)
            overtaken += heard(&bed, 1, n) < heard(&bed, 1, n - 1);
        ck_assert(ordered ? overtaken == 0 : overtaken > N / 8);
        bed_close(&bed);
    }
}
END_TEST

/* What the receiver refuses holds back its own sender's messages, where there is an order. */
START_TEST(a_refused_message_blocks_its_sender_alone)
{
    for (int ordered = 0; ordered < 2; ordered++) {
        struct nm_way w = way(3, ordered);
        struct bed bed;
        bed_open(&bed, &w, 3);
        for (int i = 0; i < 3; i++)
            ck_assert_int_eq(send(&bed, 0, 2, &i, sizeof(i)), WDL_OK);
        int stranger = 77;
        ck_assert_int_eq(send(&bed, 1, 2, &stranger, sizeof(stranger)), WDL_OK);
        bed.rank[2].refuse = 1;
        ck_assert_int_eq(poll(&bed, 2), ordered ? 1 : 3);
        ck_assert_uint_eq(wdl_sim_counts(bed.sim)->deferred, 1);
        ck_assert_int_eq(heard(&bed, 2, 0), ordered ? 77 : 1);
        ck_assert_int_eq(poll(&bed, 2), ordered ? 3 : 1);
        ck_assert_int_eq(heard(&bed, 2, ordered ? 1 : 3), 0);
        bed_close(&bed);
    }
}
END_TEST

/* --- refusals and borrowed payloads ----------------------------------------------------------- */

START_TEST(refusals_are_as_frequent_as_asked)
{
    enum { N = 10000 };
    for (int permille = 0; permille <= 1000; permille += 250) {
        struct nm_way w = way(1, 1);
        struct bed bed;
        int refused = 0;
        w.refuse_permille = permille;
        bed_open(&bed, &w, 2);
        for (int i = 0; i < N; i++) {
            int status = send(&bed, 0, 1, &i, sizeof(i));
            must(status == WDL_OK || status == WDL_AGAIN);
            refused += status == WDL_AGAIN;
            poll(&bed, 1);
        }
        ck_assert_int_le(abs(refused - N * permille / 1000), N / 50);
        const struct wdl_sim_counts *counts = wdl_sim_counts(bed.sim);
        ck_assert_uint_eq(counts->refused, (uint64_t) refused);
        ck_assert_uint_eq(counts->sent, (uint64_t) (N - refused));
        ck_assert_int_eq(bed.rank[1].logged, N - refused);
        wdl_sim_heal(bed.sim);
        for (int i = 0; i < 100; i++)
            ck_assert_int_eq(send(&bed, 0, 1, &i, sizeof(i)), WDL_OK);
        bed_close(&bed);
    }
}
END_TEST

/* A sender that touches its payload too early is found out: the bytes are read late. */
START_TEST(a_borrowed_payload_is_read_late)
{
    struct nm_way w = way(2, 1);
    struct bed bed;
    char payload[2][4] = {"abc", "def"};
    struct wdl_nm_iov iov[2] = {{payload[0], 3}, {payload[1], 3}};
    w.pending_permille = 1000;
    w.delay_ns = 3000;
    bed_open(&bed, &w, 2);
    struct wdl_nm *nm = bed.rank[0].nm;
    for (int i = 0; i < 50; i++) {
        struct bed_comp c = bed_comp();
        char head[3] = "hd";
        memcpy(payload[0], "abc", 3);
        ck_assert_int_eq(nm->ops->am(nm, 1, head, 2, iov, 2, &c.comp), WDL_PENDING);
        memcpy(head, "no", 2);      /* copied in the call */
        memcpy(payload[0], "ABC", 3);
        BED_UNTIL(&bed, c.called);
        memcpy(payload[0], "?!?", 3); /* and the caller's again */
        BED_UNTIL(&bed, bed.rank[1].logged > i);
        ck_assert_int_eq(c.called, 1);
        ck_assert_int_eq(c.info.status, WDL_OK);
        ck_assert_uint_eq(c.info.bytes, 0);
        ck_assert_uint_eq(bed.rank[1].log[i].bytes, 8);
        ck_assert_mem_eq(bed.rank[1].log[i].data, "hdABCdef", 8);
    }
    bed_close(&bed);
}
END_TEST

START_TEST(nothing_is_borrowed_without_payload_or_completion)
{
    struct nm_way w = way(2, 1);
    struct bed bed;
    struct wdl_nm_iov iov = {"payload", 7};
    struct bed_comp c = bed_comp();
    w.pending_permille = 1000;
    bed_open(&bed, &w, 2);
    struct wdl_nm *nm = bed.rank[0].nm;
    ck_assert_int_eq(nm->ops->am(nm, 1, "head", 4, &iov, 1, NULL), WDL_OK);
    ck_assert_int_eq(nm->ops->am(nm, 1, "head", 4, NULL, 0, &c.comp), WDL_OK);
    iov.bytes = 0;
    ck_assert_int_eq(nm->ops->am(nm, 1, "head", 4, &iov, 1, &c.comp), WDL_OK);
    ck_assert_int_eq(nm->ops->am(nm, 1, NULL, 0, NULL, 0, NULL), WDL_OK);
    BED_UNTIL(&bed, bed.rank[1].logged == 4);
    ck_assert_uint_eq(bed.rank[1].log[0].bytes, 11);
    ck_assert_uint_eq(bed.rank[1].log[3].bytes, 0);
    ck_assert_int_eq(c.called, 0);
    bed_close(&bed);
}
END_TEST

/* --- mistakes and ends ------------------------------------------------------------------------ */

START_TEST(messages_have_limits)
{
    struct nm_way w = way(1, 1);
    struct bed bed;
    static char data[4096];
    struct wdl_nm_iov iov[9];
    bed_open(&bed, &w, 2);
    struct wdl_nm *nm = bed.rank[0].nm;
    for (int i = 0; i < 9; i++)
        iov[i] = (struct wdl_nm_iov){data, 500};
    ck_assert_int_eq(nm->ops->am(nm, 1, data, 96, iov, 8, NULL), WDL_OK); /* 4096 */
    ck_assert_int_eq(nm->ops->am(nm, 1, data, 97, iov, 8, NULL), WDL_ERR_ARG);
    iov[0].bytes = 0;
    ck_assert_int_eq(nm->ops->am(nm, 1, data, 0, iov, 9, NULL), WDL_ERR_ARG); /* one too many */
    ck_assert_int_eq(nm->ops->am(nm, 1, data, 0, iov, -1, NULL), WDL_ERR_ARG);
    ck_assert_int_eq(send(&bed, 0, 2, data, 4), WDL_ERR_ARG);
    ck_assert_int_eq(send(&bed, 0, -1, data, 4), WDL_ERR_ARG);
    ck_assert_uint_eq(wdl_sim_counts(bed.sim)->sent, 1);
    ck_assert_uint_eq(wdl_sim_counts(bed.sim)->bytes_sent, 4096);
    BED_UNTIL(&bed, bed.rank[1].logged == 1);
    bed_close(&bed);
}
END_TEST

struct liar {                   /* a host that gives wrong addresses */
    int status;
    size_t bytes;
    uint32_t value;
};

static int wrong_address(void *ctx, int peer, const void **addr_out, size_t *bytes_out)
{
    struct liar *liar = ctx;
    (void) peer;
    *addr_out = &liar->value;
    *bytes_out = liar->bytes;
    return liar->status;
}

START_TEST(wrong_addresses_are_noticed)
{
    struct wdl_sim_params p = {.ranks = 1};
    struct wdl_sim *sim = wdl_sim_create(&p);
    struct liar liar = {WDL_OK, sizeof(uint32_t), 0};
    struct wdl_nm_params params = {.peers = 1, .fabric = sim, .ctx = &liar,
                                   .address_of = wrong_address};
    struct wdl_nm *nm;
    const void *address;
    char err[64];
    size_t bytes;
    ck_assert_int_eq(wdl_nm_sim_ops.open(&params, &nm, err, sizeof(err)), WDL_OK);
    ck_assert_int_eq(nm->ops->address(nm, &address, &bytes), WDL_OK);
    ck_assert_uint_eq(bytes, sizeof(liar.value));
    ck_assert_int_eq(nm->ops->am(nm, 0, "x", 1, NULL, 0, NULL), WDL_ERR_ARG);
    memcpy(&liar.value, address, bytes);
    liar.bytes = 3;
    ck_assert_int_eq(nm->ops->am(nm, 0, "x", 1, NULL, 0, NULL), WDL_ERR_ARG);
    liar = (struct liar){WDL_ERR_NOMEM, bytes, liar.value};
    ck_assert_int_eq(nm->ops->am(nm, 0, "x", 1, NULL, 0, NULL), WDL_ERR_NOMEM);
    liar.status = WDL_OK;
    ck_assert_int_eq(nm->ops->am(nm, 0, "x", 1, NULL, 0, NULL), WDL_OK);
    nm->ops->close(nm);
    ck_assert_uint_eq(wdl_sim_counts(sim)->dropped, 1);
    wdl_sim_destroy(sim);
}
END_TEST

/* Closing a receiver drops what was for it; closing a sender drops what it still owned. */
START_TEST(what_is_dropped_is_counted)
{
    for (int first = 0; first < 2; first++) {
        struct nm_way w = way(6, 1);
        struct bed bed;
        struct bed_comp c = bed_comp();
        struct wdl_nm_iov iov = {"payload", 7};
        w.pending_permille = 1000;
        bed_open(&bed, &w, 2);
        const struct wdl_sim_counts *counts = wdl_sim_counts(bed.sim);
        struct wdl_nm *nm = bed.rank[0].nm, *end = bed.rank[first].nm;
        ck_assert_int_eq(nm->ops->am(nm, 1, "copied", 6, NULL, 0, NULL), WDL_OK);
        ck_assert_int_eq(nm->ops->am(nm, 1, "head", 4, &iov, 1, &c.comp), WDL_PENDING);
        ck_assert(!wdl_sim_quiescent(bed.sim));
        end->ops->close(end);
        wdl_sim_check(bed.sim);
        ck_assert_uint_eq(counts->dropped, first ? 2 : 1);
        ck_assert_uint_eq(counts->bytes_dropped, first ? 17 : 11);
        if (first)
            ck_assert_int_eq(send(&bed, 0, 1, "x", 1), WDL_ERR_PEER);
        poll(&bed, 1 - first);
        ck_assert_int_eq(bed.rank[1].logged, !first);
        ck_assert_int_eq(c.called, first); /* the sender may have its payload back */
        ck_assert(wdl_sim_quiescent(bed.sim));
        struct wdl_nm_params back = {.rank = first, .peers = 2, .fabric = bed.sim};
        char err[64];
        ck_assert_int_eq(wdl_nm_sim_ops.open(&back, &bed.rank[first].nm, err, sizeof(err)), WDL_OK);
        bed_close(&bed);
    }
}
END_TEST

/* --- callbacks -------------------------------------------------------------------------------- */

struct echo {                   /* answers itself so many times */
    struct wdl_nm *nm;
    int left, again;
};

static int echo(void *ctx, const void *data, size_t bytes)
{
    struct echo *e = ctx;
    if (e->again)
        e->nm->ops->poll(e->nm);
    if (e->left-- > 0)
        must_cmp(e->nm->ops->am(e->nm, 0, data, bytes, NULL, 0, NULL), ==, WDL_OK);
    return WDL_OK;
}

static int echo_address(void *ctx, int peer, const void **addr_out, size_t *bytes_out)
{
    struct wdl_nm *nm = ((struct echo *) ctx)->nm;
    (void) peer;
    return nm->ops->address(nm, addr_out, bytes_out);
}

static void poll_once(void *nm)
{
    ((struct wdl_nm *) nm)->ops->poll(nm);
}

static void destroy(void *sim)
{
    wdl_sim_destroy(sim);
}

static void check(void *sim)
{
    wdl_sim_check(sim);
}

START_TEST(callbacks_may_send_but_not_poll)
{
    struct wdl_sim_params p = {.ranks = 1, .ordered = 1};
    struct wdl_sim *sim = wdl_sim_create(&p);
    struct echo e = {.left = 5};
    struct wdl_nm_params params = {.peers = 1, .fabric = sim, .ctx = &e, .on_am = echo,
                                   .address_of = echo_address};
    char err[64];
    int events = 0;
    ck_assert_int_eq(wdl_nm_sim_ops.open(&params, &e.nm, err, sizeof(err)), WDL_OK);
    ck_assert(wdl_suite_aborts(destroy, sim)); /* a rank is open */
    ck_assert_int_eq(e.nm->ops->am(e.nm, 0, "x", 1, NULL, 0, NULL), WDL_OK);
    while (!wdl_sim_quiescent(sim))
        events += e.nm->ops->poll(e.nm);
    ck_assert_int_eq(events, 6);
    ck_assert_int_eq(e.left, -1);
    e.again = 1;
    ck_assert_int_eq(e.nm->ops->am(e.nm, 0, "x", 1, NULL, 0, NULL), WDL_OK);
    ck_assert(wdl_suite_aborts(poll_once, e.nm));
    e.again = 0;
    ck_assert(!wdl_suite_aborts(poll_once, e.nm));
    ck_assert(!wdl_suite_aborts(check, sim));
    sim->msgs_in_flight++; /* one that nobody sent */
    ck_assert(wdl_suite_aborts(check, sim));
    sim->msgs_in_flight--;
    sim->bytes_in_flight--;
    ck_assert(wdl_suite_aborts(check, sim));
    sim->bytes_in_flight++;
    e.nm->ops->close(e.nm);
    wdl_sim_destroy(sim);
}
END_TEST

WDL_SUITE("netmod/sim/sim", parameters_that_are_none_are_refused,
          a_place_in_the_fabric_is_taken_once, it_says_what_it_is, the_same_seed_gives_the_same_run,
          a_message_takes_as_long_as_it_may, order_is_kept_where_it_is_promised,
          a_refused_message_blocks_its_sender_alone, refusals_are_as_frequent_as_asked,
          a_borrowed_payload_is_read_late, nothing_is_borrowed_without_payload_or_completion,
          messages_have_limits, wrong_addresses_are_noticed, what_is_dropped_is_counted,
          callbacks_may_send_but_not_poll)
