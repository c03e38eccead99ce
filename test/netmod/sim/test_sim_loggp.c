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

/* As a message of its bytes, of which a header's are free; nobody is told. */
START_TEST(a_put_takes_what_a_message_does)
{
    for (size_t bytes = 8; bytes < 40; bytes += 8) {
        uint64_t wire = bytes > HEADER ? 2 * (bytes - HEADER - 1) : 0, local[5] = {1, 2, 3, 4, 5},
                 remote[5] = {0};
        struct wdl_nm_mem *mem;
        struct wdl_nm_rkey *rkey;
        char key[WDL_NM_KEY_BYTES_MAX];
        size_t key_bytes = sizeof(key);
        open_sim(G);
        const struct wdl_nm_ops *ops = nm[0]->ops;
        ck_assert_int_eq(ops->mem_attach(nm[1], remote, sizeof(remote), &mem), WDL_OK);
        ck_assert_int_eq(ops->mem_key(nm[1], mem, key, &key_bytes), WDL_OK);
        ck_assert_int_eq(ops->rkey_open(nm[0], 1, key, key_bytes, &rkey), WDL_OK);
        uint64_t to = (uint64_t) (uintptr_t) remote;
        ck_assert_int_eq(ops->put(nm[0], 1, local, bytes, to, rkey, NULL), WDL_PENDING);
        ck_assert_int_eq(ops->put(nm[0], 1, local, bytes, to, rkey, NULL), WDL_AGAIN);
        ck_assert_int_eq(send(0, 2, 0), WDL_AGAIN);
        ops->poll(nm[0]);
        ck_assert_uint_eq(wdl_sim_next(sim, 0), UINT64_MAX); /* it is on its way */
        ck_assert_uint_eq(next(1), O + wire + L);
        must_cmp(remote[0], ==, 0);
        ck_assert_uint_eq(next(1), O + wire + L + O);
        must_cmp(remote[0], ==, 1);
        must_cmp(heard[1], ==, 0);
        ck_assert_uint_eq(next(0), O + wire + L + O);
        must(wdl_sim_quiescent(sim));
        must_cmp(wdl_sim_counts(sim)->puts, ==, 1);
        must_cmp(wdl_sim_counts(sim)->sent, ==, 0);
        close_sim();
    }
}
END_TEST

/* Who is asked while it cannot send answers when it can. */
static int answers(void *ctx, const void *data, size_t bytes)
{
    (void) data;
    (void) bytes;
    int status = send(1, 0, 0);
    *(int *) ctx += status == WDL_OK;
    return status;
}

START_TEST(an_answer_waits_for_the_port)
{
    open_sim(G);
    struct sim_nm *one = (struct sim_nm *) nm[1];
    one->params.on_am = answers;
    ck_assert_int_eq(send(0, 1, 0), WDL_OK);
    wdl_sim_advance(sim, O + L - 1);
    ck_assert_int_eq(send(1, 2, 0), WDL_OK); /* its port is busy for a while */
    uint64_t at = 0;
    for (int polls = 0; heard[1] == 0; polls++) {
        must_cmp(polls, <, 5);
        at = next(1);
    }
    ck_assert_uint_eq(at, O + L - 1 + G);
    close_sim();
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

WDL_SUITE("netmod/sim/sim_loggp", a_message_takes_o_L_o_and_its_bytes,
          a_put_takes_what_a_message_does, an_answer_waits_for_the_port, sends_keep_their_distance,
          receives_keep_their_distance, a_processor_does_one_thing_at_a_time)
