/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of netmod/sim/sim_loggp: what a
 * message costs whom, to the nanosecond. */
#include <string.h>
#include "netmod/sim/sim_impl.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS = 3, HEADER = 8, O = 5, L = 100, G = 30 };

static struct wdl_sim *sim;
static struct wdl_nm *nm[RANKS];
static int heard[RANKS];

static int on_am(void *ctx, const void *data, size_t bytes)
{
    (void) data;
    (void) bytes;
    ++*(int *) ctx;
    return WDL_OK;
}

static int address_of(void *ctx, int peer, const void **address, size_t *bytes)
{
    (void) ctx;
    return nm[peer]->ops->address(nm[peer], address, bytes);
}

static void open_sim(uint64_t g)
{
    struct wdl_sim_params p = {.ranks = RANKS, .ordered = 1, .loggp = {O, L, g, 2000, HEADER}};
    char err[64];
    sim = wdl_sim_create(&p);
    for (int i = 0; i < RANKS; i++) {
        struct wdl_nm_params params = {.rank = i,
                                       .peers = RANKS,
                                       .fabric = sim,
                                       .on_am = on_am,
                                       .ctx = &heard[i],
                                       .address_of = address_of};
        heard[i] = 0;
        ck_assert_int_eq(wdl_nm_sim_ops.open(&params, &nm[i], err, sizeof(err)), WDL_OK);
    }
}

static void close_sim(void)
{
    wdl_sim_check(sim);
    for (int i = 0; i < RANKS; i++)
        nm[i]->ops->close(nm[i]);
    wdl_sim_destroy(sim);
}

static int send(int from, int to, size_t bytes)
{
    char data[1024] = "";
    struct wdl_nm_iov iov = {data, bytes};
    return nm[from]->ops->am(nm[from], to, data, HEADER, &iov, 1, NULL);
}

/* The next time that anything happens at `rank`, and its poll then. */
static uint64_t next(int rank)
{
    uint64_t at = wdl_sim_next(sim, rank);
    must(at != UINT64_MAX);
    if (at > wdl_sim_now(sim))
        wdl_sim_advance(sim, at - wdl_sim_now(sim));
    nm[rank]->ops->poll(nm[rank]);
    return at;
}

START_TEST(a_message_takes_o_L_o_and_its_bytes)
{
    for (size_t bytes = 0; bytes < 40; bytes += 13) {
        uint64_t wire = bytes ? 2 * (bytes - 1) : 0;
        open_sim(G);
        ck_assert_uint_eq(wdl_sim_next(sim, 1), UINT64_MAX);
        ck_assert_int_eq(send(0, 1, bytes), WDL_OK);
        ck_assert_uint_eq(next(1), O + wire + L); /* its processor begins */
        ck_assert_int_eq(heard[1], 0);
        ck_assert_uint_eq(next(1), O + wire + L + O);
        ck_assert_int_eq(heard[1], 1);
        ck_assert_uint_eq(wdl_sim_next(sim, 1), UINT64_MAX);
        close_sim();
    }
}
END_TEST

/* g and the bytes of the message before; where o is more than g, o. */
START_TEST(sends_keep_their_distance)
{
    for (int i = 0; i < 2; i++) {
        uint64_t gap = i ? O : G;
        open_sim(i ? 0 : G);
        ck_assert_int_eq(send(0, 1, 11), WDL_OK);
        ck_assert_int_eq(send(0, 2, 0), WDL_AGAIN);
        ck_assert_uint_eq(wdl_sim_next(sim, 0), gap + 20);
        wdl_sim_advance(sim, gap + 19);
        ck_assert_int_eq(send(0, 2, 0), WDL_AGAIN);
        wdl_sim_advance(sim, 1);
        ck_assert_int_eq(send(0, 2, 0), WDL_OK);
        ck_assert_uint_eq(wdl_sim_counts(sim)->refused, 2);
        nm[0]->ops->poll(nm[0]);
        ck_assert_uint_eq(wdl_sim_next(sim, 0), UINT64_MAX); /* nothing is refused any more */
        close_sim();
    }
}
END_TEST

START_TEST(receives_keep_their_distance)
{
    open_sim(G);
    ck_assert_int_eq(send(0, 2, 3), WDL_OK);
    wdl_sim_advance(sim, 4);
    ck_assert_int_eq(send(1, 2, 0), WDL_OK); /* both arrive at one time */
    ck_assert_uint_eq(next(2), O + 4 + L);
    ck_assert_uint_eq(next(2), O + 4 + L + O);
    ck_assert_int_eq(heard[2], 1);
    ck_assert_uint_eq(next(2), O + 4 + L + G + 4);
    ck_assert_uint_eq(next(2), O + 4 + L + G + 4 + O);
    ck_assert_int_eq(heard[2], 2);
    close_sim();
}
END_TEST

/* One thing at a time: who receives cannot send, who sends cannot receive. */
START_TEST(a_processor_does_one_thing_at_a_time)
{
    open_sim(G);
    ck_assert_int_eq(send(0, 1, 0), WDL_OK);
    ck_assert_uint_eq(next(1), O + L);
    ck_assert_int_eq(send(1, 2, 0), WDL_AGAIN);
    ck_assert_uint_eq(next(1), O + L + O);
    ck_assert_int_eq(send(1, 2, 0), WDL_OK);
    close_sim();

    open_sim(G);
    ck_assert_int_eq(send(0, 1, 0), WDL_OK);
    wdl_sim_advance(sim, O + L - 1);
    ck_assert_int_eq(send(1, 2, 0), WDL_OK);
    ck_assert_uint_eq(wdl_sim_next(sim, 1), O + L - 1 + O);
    ck_assert_uint_eq(next(1), O + L - 1 + O);
    ck_assert_uint_eq(next(1), O + L - 1 + O + O);
    ck_assert_int_eq(heard[1], 1);
    close_sim();
}
END_TEST

WDL_SUITE("netmod/sim/sim_loggp", a_message_takes_o_L_o_and_its_bytes, sends_keep_their_distance,
          receives_keep_their_distance, a_processor_does_one_thing_at_a_time)
