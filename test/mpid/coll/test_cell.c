/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Cells: what comes before it is awaited is kept, once, where it fits, and is used when its
 * collective begins; what can be none is refused. (Bytes from the wire in general: test_team.)
 */
#include <string.h>
#include "mpid/coll/algo.h"
#include "mpid/coll/ranks.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS = 3, WINDOW = 8, CELL = 64 };

static struct ranks r;
static struct wdl_team *teams[RANKS];
static struct wdl_coll_req reqs[RANKS];

static void all(struct wdl_coll_args *args)
{
    for (int i = 0; i < RANKS; i++)
        ck_assert_int_eq(wdl_coll_start(teams[i], args, &reqs[i]), WDL_OK);
    ranks_finish(&r, reqs, 1);
}

static void open_all(void)
{
    struct wdl_sim_params sim = {
        .seed = 3, .ranks = RANKS, .am_bytes_max = 1024, .no_rma = 1};
    struct wdl_team_params params = {
        .id = 3, .window = WINDOW, .cell_bytes = CELL, .poison = 1};
    ranks_open(&r, &sim);
    ranks_team(&r, &params, teams);
    all(&(struct wdl_coll_args){.kind = WDL_COLL_BARRIER});
    while (!wdl_sim_quiescent(r.sim))
        ranks_step(&r);
}

static void close_all(void)
{
    ranks_drop(&r, teams);
    ranks_close(&r);
}

static struct packet {
    struct wdl_coll_pkt pkt;
    char data[512];
} packet_of(uint32_t seq, uint32_t role, uint32_t what, uint64_t offset, char value)
{
    struct packet p = {{3, seq, role, what, offset}, {0}};
    memset(p.data, value, sizeof(p.data));
    return p;
}

/* As if it came to rank 0 from rank 1. */
static int comes(const struct packet *p, size_t bytes)
{
    return wdl_coll_handle(r.one[0].proc->coll, 1, p, sizeof(p->pkt) + bytes);
}

static int role_comes(uint32_t seq, uint32_t role, size_t bytes)
{
    struct packet p = packet_of(seq, role, WDL_PKT_DATA, 0, 'x');
    return comes(&p, bytes);
}

static int same_peer(void *ctx, int rank)
{
    (void) ctx;
    return rank;
}

static void make(struct wdl_team **team_out, int rank, int k)
{
    struct wdl_team_params params = {
        .id = 10 + (uint32_t) k, .rank = rank, .size = RANKS, .peer_of = same_peer};
    must_cmp(wdl_team_create(r.one[rank].proc, &params, team_out), ==, WDL_OK);
}

START_TEST(each_role_of_each_slot_keeps_one)
{
    open_all();
    struct wdl_team *team = teams[0];
    uint64_t early = wdl_coll_stats(r.one[0].proc)->early;
    uint32_t kept = 0;
    for (uint32_t slot = 0; slot < WINDOW; slot++) {
        uint32_t seq = team->done + slot;
        for (uint32_t role = 0; role < team->cell_roles; role++) {
            size_t most = role < team->data_roles ? CELL : 0;
            must_cmp(role_comes(seq, role, most + 1), ==, WDL_ERR_PROTO);
            must_cmp(role_comes(seq, role, most), ==, WDL_OK);
            must_cmp(role_comes(seq, role, most), ==, WDL_ERR_PROTO); /* there is one */
            kept++;
        }
    }
    must_cmp(wdl_coll_stats(r.one[0].proc)->early - early, ==, kept);
    must_cmp(role_comes(team->done + WINDOW, 0, 0), ==, WDL_ERR_PROTO);
    must_cmp(role_comes(team->done - 1, 0, 0), ==, WDL_ERR_PROTO);
    wdl_cells_free(team); /* they are nobody's: begin with new ones */
    must_cmp(wdl_cells_make(team), ==, WDL_OK);
    close_all();
}
END_TEST

/* Only data from its beginning, a ready flag that says how much, and that all is in its place. */
START_TEST(what_can_not_be_early)
{
    open_all();
    uint32_t seq = teams[0]->done;
    struct packet middle = packet_of(seq, 0, WDL_PKT_DATA, 8, 0),
                  placed = packet_of(seq, 0, WDL_PKT_PLACED, 0, 0),
                  part = packet_of(seq, 0, WDL_PKT_PLACED, 8, 0),
                  flag = packet_of(seq, teams[0]->data_roles, WDL_PKT_PLACED, 0, 0),
                  offer = packet_of(seq, teams[0]->data_roles, WDL_PKT_OFFER, 4096, 0);
    must_cmp(comes(&middle, 8), ==, WDL_ERR_PROTO);
    must_cmp(comes(&placed, 7), ==, WDL_ERR_PROTO);
    must_cmp(comes(&part, 8), ==, WDL_ERR_PROTO);
    must_cmp(comes(&flag, 8), ==, WDL_ERR_PROTO);
    must_cmp(comes(&placed, 8), ==, WDL_OK);
    must_cmp(comes(&offer, 0), ==, WDL_ERR_PROTO);
    must_cmp(comes(&offer, 7), ==, WDL_ERR_PROTO);
    must_cmp(comes(&offer, 8), ==, WDL_OK);
    for (size_t bytes = 0; bytes < sizeof(middle.pkt); bytes++)
        must_cmp(wdl_coll_handle(r.one[0].proc->coll, 1, &middle, bytes), ==, WDL_ERR_PROTO);
    wdl_cells_free(teams[0]);
    must_cmp(wdl_cells_make(teams[0]), ==, WDL_OK);
    close_all();
}
END_TEST

/* Data that came first is what the collective has, whoever begins when. */
START_TEST(what_came_early_is_used)
{
    char word[RANKS][CELL];
    open_all();
    for (int again = 0; again < 3 * WINDOW; again++) {
        uint64_t early = wdl_coll_stats(r.one[0].proc)->early;
        struct wdl_coll_args args = {
            .kind = WDL_COLL_BROADCAST, .flags = WDL_COLL_MPI, .root = 1, .bytes = CELL};
        memset(word, 0, sizeof(word));
        memset(word[1], 'a' + again, CELL);
        for (int k = 0; k < RANKS; k++) {
            int i = (k + 1) % RANKS; /* 1, 2, 0 */
            args.src = args.dst = word[i];
            ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
            for (int turn = 0; turn < 200; turn++)
                ranks_step(&r);
        }
        ranks_finish(&r, reqs, 1);
        for (int i = 0; i < RANKS; i++)
            must(memcmp(word[i], word[1], CELL) == 0);
        must_cmp(wdl_coll_stats(r.one[0].proc)->early - early, >=, 1);
    }
    close_all();
}
END_TEST

/* What comes for teams that are not made here is refused beyond the limit, and nothing is lost: the
 * teams open once they are made, in the order of their messages or another. */
START_TEST(few_strays_at_a_time)
{
    enum { TEAMS = 6 };
    for (int limit = 1; limit <= 4; limit++)
        for (int ordered = 0; ordered < 2; ordered++) {
            struct wdl_sim_params sim = {.seed = 5 + (uint64_t) limit, .ranks = RANKS};
            struct wdl_team *several[TEAMS][RANKS];
            sim.ordered = ordered;
            ranks_open(&r, &sim);
            wdl_coll_limit(r.one[0].proc, &(struct wdl_coll_limits){1 << 16, 0, limit, 0});
            for (int k = 0; k < TEAMS; k++)
                for (int i = 1; i < RANKS; i++)
                    make(&several[k][i], i, k);
            for (int turn = 0; turn < 500; turn++)
                ranks_step(&r);
            must_cmp(wdl_sim_counts(r.sim)->deferred, >, 0);
            must_cmp(((struct wdl_coll *) r.one[0].proc->coll)->nstrays, ==, limit);
            for (int k = 0; k < TEAMS; k++) {
                make(&several[k][0], 0, k * 5 % TEAMS);
                for (int turn = 0; turn < 50; turn++)
                    ranks_step(&r);
            }
            for (int k = 0; k < TEAMS; k++)
                for (int i = 0; i < RANKS; i++)
                    while (wdl_team_destroy(several[k][i]) == WDL_AGAIN)
                        ranks_step(&r);
            ranks_close(&r);
        }
}
END_TEST

/* Some have left a team and made another of its number, which others are still in: what comes for
 * the new one waits until they have left, too, and is not taken for the old one's. */
START_TEST(a_number_is_used_again)
{
    for (int ordered = 0; ordered < 2; ordered++) {
        struct wdl_sim_params sim = {.seed = 2, .ranks = RANKS, .ordered = ordered};
        struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER};
        sim.delay_ns_max = 500;
        ranks_open(&r, &sim);
        for (int i = 0; i < RANKS; i++)
            make(&teams[i], i, 0);
        for (int again = 0; again < 10; again++) {
            int late = again % RANKS;
            all(&barrier);
            for (int k = 0; k <= RANKS; k++) {
                int i = (late + k) % RANKS; /* the late one at the end */
                if (k == 0)
                    continue;
                while (wdl_team_destroy(teams[i]) == WDL_AGAIN)
                    ranks_step(&r);
                make(&teams[i], i, 0);
                for (int turn = 0; turn < 100; turn++)
                    ranks_step(&r);
                if (k == RANKS - 1)
                    must_cmp(((struct wdl_coll *) r.one[late].proc->coll)->nstrays, >, 0);
            }
            must_cmp(((struct wdl_coll *) r.one[late].proc->coll)->nstrays, ==, 0);
        }
        all(&barrier);
        close_all();
    }
}
END_TEST

/* --- while an operator runs --- */

enum { WORDS = 2000, ASKING = 'q', ANSWER = 'a' };

static struct caller { /* a rank's operator */
    int rank, answers;
} callers[RANKS];

static int test_handle(void *module, int src, const void *data, size_t bytes)
{
    struct caller *caller = module;
    char what = *(const char *) data, answer = ANSWER;
    must_cmp(bytes, ==, 1);
    if (what == ASKING)
        return wdl_am_send(r.one[caller->rank].proc, src, WDL_AM_TEST, &answer, 1, NULL, 0, NULL);
    caller->answers++;
    return WDL_OK;
}

/* What an operator does that reads memory of another rank's: it waits for an answer, which is
 * behind what else that has sent. */
static void sum_that_asks(void *ctx, const void *left, void *inout, size_t count)
{
    struct caller *caller = ctx;
    char question = ASKING;
    int before = caller->answers, asked = 0;
    for (int turn = 0; caller->answers == before; turn++) {
        must_cmp(turn, <, 5000);
        if (!asked)
            asked = wdl_am_send(r.one[caller->rank].proc, (caller->rank + 1) % RANKS, WDL_AM_TEST,
                                &question, 1, NULL, 0, NULL) == WDL_OK;
        for (int i = 0; i < RANKS; i++)
            wdl_proc_progress(r.one[i].proc);
        wdl_sim_advance(r.sim, 50);
    }
    ranks_sum(NULL, left, inout, count);
}

static void sums_that_ask(enum wdl_coll_kind kind, size_t words)
{
    static uint32_t src[RANKS][WORDS], dst[RANKS][WORDS];
    for (int i = 0; i < RANKS; i++) {
        struct wdl_coll_args args = {.kind = kind,
                                     .flags = WDL_COLL_MPI,
                                     .src = src[i],
                                     .dst = dst[i],
                                     .bytes = 4 * words,
                                     .op = {sum_that_asks, &callers[i], 4, 1, NULL}};
        for (size_t k = 0; k < words; k++)
            src[i][k] = (uint32_t) k * 3 + (uint32_t) i;
        ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
    }
    ranks_finish(&r, reqs, 1);
    for (int i = 0; i < RANKS; i++)
        for (size_t k = 0; k < words; k++) {
            uint32_t n = kind == WDL_COLL_SCAN ? (uint32_t) i + 1 : RANKS;
            must_cmp(dst[i][k], ==, n * (uint32_t) k * 3 + n * (n - 1) / 2);
        }
}

/* It goes on, however much comes that it does not wait for; and that is not lost. */
START_TEST(an_operator_may_wait_for_messages)
{
    for (int ordered = 0; ordered < 2; ordered++)
        for (int network = 0; network < 2; network++) {
            struct wdl_sim_params sim = {.seed = 8, .ranks = RANKS, .am_bytes_max = 1024};
            struct wdl_team_params params = {.id = 3, .window = WINDOW, .cell_bytes = CELL};
            sim.ordered = ordered;
            sim.no_rma = network;
            ranks_open(&r, &sim);
            for (int i = 0; i < RANKS; i++) {
                callers[i] = (struct caller){.rank = i};
                wdl_am_register(r.one[i].proc, WDL_AM_TEST, test_handle, &callers[i]);
            }
            ranks_team(&r, &params, teams);
            for (int again = 0; again < 3; again++) {
                sums_that_ask(WDL_COLL_ALLREDUCE, 1);
                sums_that_ask(WDL_COLL_ALLREDUCE, WORDS);
                sums_that_ask(WDL_COLL_SCAN, 1);
                sums_that_ask(WDL_COLL_SCAN, WORDS);
            }
            close_all();
        }
}
END_TEST

WDL_SUITE("coll/cell", each_role_of_each_slot_keeps_one, what_can_not_be_early,
          what_came_early_is_used, few_strays_at_a_time, a_number_is_used_again,
          an_operator_may_wait_for_messages)
