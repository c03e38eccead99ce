/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Who may put flags where: what the first contacts cost, teams that come and go, limits, memory
 * that is short or not to be attached, and what bytes from the wire must satisfy.
 */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/contact.h"
#include "mpid/coll/flag.h"
#include "mpid/coll/ranks.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS_MAX = 100, TEAMS = 12 };

static struct ranks r;
static struct wdl_team *teams[TEAMS][RANKS_MAX];
static struct wdl_coll_req reqs[RANKS_MAX];

static void open_world(int n, struct wdl_sim_params sim)
{
    sim.seed = 7;
    sim.ranks = n;
    sim.am_bytes_max = 1024;
    ranks_open(&r, &sim);
}

static void team(int k)
{
    struct wdl_team_params params = {.id = 3 + (uint32_t) k, .window = 8};
    ranks_team(&r, &params, teams[k]);
}

static void rest(void)
{
    while (!wdl_sim_quiescent(r.sim))
        ranks_step(&r);
}

static void all(int k, struct wdl_coll_args args)
{
    args.flags = WDL_COLL_MPI;
    for (int i = 0; i < r.n; i++)
        ck_assert_int_eq(wdl_coll_start(teams[k][i], &args, &reqs[i]), WDL_OK);
    ranks_finish(&r, reqs, 1);
    for (int i = 0; i < r.n; i++)
        must_cmp(reqs[i].status, ==, WDL_OK);
    rest();
}

static const struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER};

/* Flags of a barrier that are put. */
static uint64_t barrier_puts(int k)
{
    uint64_t put = ranks_stats(&r).put;
    all(k, barrier);
    return ranks_stats(&r).put - put;
}

/* A question and its answer for each that flags go to, besides the flag; and nothing any more. The
 * key only once for memory that several teams share: the second and the third do. */
START_TEST(the_first_flag_asks)
{
    enum { N = 8 };
    open_world(N, (struct wdl_sim_params){.ordered = 1});
    uint64_t pairs = (uint64_t) (N * ranks_spread_steps(N));
    for (int k = 0; k < 3; k++) {
        team(k);
        rest();
        uint64_t sent = wdl_sim_counts(r.sim)->sent;
        must_cmp(barrier_puts(k), ==, 0);
        must_cmp(wdl_sim_counts(r.sim)->sent - sent, ==, (k == 2 ? 3 : 4) * pairs);
        must_cmp(ranks_stats(&r).questions, ==, (uint64_t) (k + 1) * pairs);
        sent = wdl_sim_counts(r.sim)->sent;
        must_cmp(barrier_puts(k), ==, pairs);
        must_cmp(wdl_sim_counts(r.sim)->sent, ==, sent);
    }
    for (int k = 0; k < 3; k++)
        ranks_drop(&r, teams[k]);
    ranks_close(&r);
}
END_TEST

/* As a team may leave its words where ranks were mistaken: each slot's first number. */
static void words_leave(const struct wdl_team *team)
{
    size_t slot_words = wdl_flag_bytes(team) / 8 / (size_t) team->window;
    for (size_t i = 0; i < slot_words * (size_t) team->window; i++)
        team->flags->words[i] = (uint64_t) (i / slot_words) << 32;
}

/* Memory that a team has had is another's, who finds nothing there; what has been attached is
 * enough. */
START_TEST(teams_come_and_go)
{
    size_t bytes[2][4], most = 0;
    int live[4];
    open_world(4, (struct wdl_sim_params){.ordered = 1, .attach_max = 1});
    for (int round = 0; round < 6; round++) {
        team(0);
        all(0, barrier);
        must_cmp(barrier_puts(0), >, 0);
        for (int i = 0; i < 4; i++)
            words_leave(teams[0][i]);
        ranks_drop(&r, teams[0]);
        rest();
        for (int i = 0; i < 4; i++) {
            bytes[round > 1][i] = r.one[i].host.bytes;
            most = bytes[1][i] > most && round > 1 ? bytes[1][i] : most;
            if (round == 1)
                live[i] = r.one[i].host.live;
            if (round > 1)
                must_cmp(r.one[i].host.live, ==, live[i]);
        }
    }
    for (int i = 0; i < 4; i++)
        must_cmp(bytes[0][i], ==, bytes[1][i]);
    ranks_close(&r);
}
END_TEST

/* Many at a time share what is attached. */
START_TEST(teams_share)
{
    enum { REGIONS = 4 };
    open_world(3, (struct wdl_sim_params){.ordered = 1, .attach_max = REGIONS});
    for (int k = 0; k < TEAMS; k++) {
        team(k);
        all(k, barrier);
        must_cmp(barrier_puts(k), ==, (uint64_t) (3 * ranks_spread_steps(3)));
    }
    for (int k = 0; k < TEAMS; k++) /* whatever the others have put meanwhile */
        must_cmp(barrier_puts(k), ==, (uint64_t) (3 * ranks_spread_steps(3)));
    for (int k = 0; k < TEAMS; k++)
        ranks_drop(&r, teams[k]);
    ranks_close(&r);
}
END_TEST

/* The others hear that there is no place, and do not ask again. */
START_TEST(no_more_is_attached)
{
    struct wdl_nm_mem *mem;
    static char taken[64];
    open_world(3, (struct wdl_sim_params){.ordered = 1, .attach_max = 1});
    struct wdl_nm *nm = r.one[1].proc->nm;
    must_cmp(nm->ops->mem_attach(nm, taken, sizeof(taken), &mem), ==, WDL_OK);
    team(0);
    all(0, barrier);
    uint64_t questions = ranks_stats(&r).questions, steps = (uint64_t) ranks_spread_steps(3);
    for (int again = 0; again < 5; again++)
        must_cmp(barrier_puts(0), ==, 2 * steps);
    must_cmp(ranks_stats(&r).questions, ==, questions);
    ranks_drop(&r, teams[0]);
    nm->ops->mem_detach(nm, mem);
    ranks_close(&r);
}
END_TEST

/* No rank asks. */
static void nobody_asks(int nobody)
{
    for (int i = 0; i < r.n; i++)
        ((struct wdl_coll *) r.one[i].proc->coll)->keys_useless = nobody ? 4 : 0;
}

/* Who has no memory for it goes on by messages, and may have some later. */
START_TEST(no_memory)
{
    for (int allowed = 1; allowed < 8; allowed++) {
        struct wdl_coll_args known = {.kind = WDL_COLL_BARRIER, .flags = WDL_COLL_MPI};
        open_world(3, (struct wdl_sim_params){.ordered = 1});
        team(0);
        nobody_asks(1);
        all(0, barrier);
        nobody_asks(0);
        r.one[0].host.fail_after = allowed + 1;
        for (int i = 0; i < 3; i++)
            ck_assert_int_eq(wdl_coll_start(teams[0][i], &known, &reqs[i]), WDL_OK);
        for (int turn = 0; turn < 200; turn++) /* a key may wait for it, with all behind it */
            ranks_step(&r);
        r.one[0].host.fail_after = 0;
        ranks_finish(&r, reqs, 1);
        for (int again = 0; again < 3; again++)
            all(0, barrier);
        ranks_drop(&r, teams[0]);
        ranks_close(&r);
    }
}
END_TEST

/* Partners may be all ranks, contacts are not: the other's flags are messages. */
START_TEST(contacts_are_few)
{
    enum { N = 100 };
    open_world(N, (struct wdl_sim_params){.ordered = 1});
    team(0);
    rest();
    int limit = WDL_CONTACTS_LINK * teams[0][0]->links;
    must_cmp(limit, <, N - 1);
    for (int again = 0; again < 2; again++) {
        for (int i = 1; i < N; i++)
            must(!wdl_contact_to(teams[0][0], i) == (!again || i > limit));
        for (int i = 1; i < N; i++) /* and those that others ask for */
            (void) wdl_contact_to(teams[0][i], 0);
        rest();
        must_cmp(teams[0][0]->flags->count, ==, limit);
    }
    all(0, barrier);
    ranks_drop(&r, teams[0]);
    ranks_close(&r);
}
END_TEST

/* Where keys are of no use for four, the fifth is not asked. */
START_TEST(who_gets_none_of_use_stops_asking)
{
    enum { N = 64 };
    open_world(N, (struct wdl_sim_params){.ordered = 1, .rma_needs_target = 1});
    team(0);
    for (int again = 0; again < 6; again++)
        must_cmp(barrier_puts(0), ==, 0);
    uint64_t questions = ranks_stats(&r).questions;
    must_cmp(questions, <=, (uint64_t) (N * ranks_spread_steps(N)));
    for (int i = 0; i < N; i++) /* nor does anybody look at its words in vain */
        for (int k = 0; k < N; k++) {
            const struct wdl_contact *x = wdl_contact_find(teams[0][i], k);
            must(!x || !x->told);
        }
    team(1);
    for (int again = 0; again < 3; again++)
        all(1, barrier);
    must_cmp(ranks_stats(&r).questions, ==, questions);
    ranks_drop(&r, teams[0]);
    ranks_drop(&r, teams[1]);
    ranks_close(&r);
}
END_TEST

/* Who waits for flags that may be put looks at its memory often; who gets messages does not. */
START_TEST(who_waits_by_memory)
{
    for (int needs_target = 0; needs_target < 2; needs_target++) {
        open_world(3, (struct wdl_sim_params){.ordered = 1, .rma_needs_target = needs_target});
        team(0);
        for (int again = 0; again < 3; again++)
            all(0, barrier);
        for (int i = 0; i < 3; i++) {
            must(!wdl_coll_by_memory(r.one[i].proc));
            ck_assert_int_eq(wdl_coll_start(teams[0][i], &barrier, &reqs[i]), WDL_OK);
            must(wdl_coll_by_memory(r.one[i].proc) == !needs_target);
        }
        ranks_finish(&r, reqs, 1);
        ranks_drop(&r, teams[0]);
        ranks_close(&r);
    }
}
END_TEST

/* As if it came to rank 0 from rank 1. */
static int comes(const struct wdl_coll_pkt *pkt, size_t bytes)
{
    return wdl_coll_handle(r.one[0].proc->coll, 1, pkt, bytes);
}

START_TEST(packets_are_checked)
{
    struct {
        struct wdl_coll_pkt pkt;
        char more[8];
    } p = {{.team = 3, .role = 1}, {0}};
    open_world(3, (struct wdl_sim_params){.ordered = 1});
    team(0);
    rest();
    for (uint32_t what = WDL_PKT_WHERE; what <= WDL_PKT_THERE; what++) {
        p.pkt.what = what;
        must_cmp(comes(&p.pkt, sizeof(p)), ==, WDL_ERR_PROTO); /* more than there is to say */
        for (uint32_t role = 0; role < 5; role++) {
            p.pkt.role = role; /* whose is it? */
            if (role != 1)
                must_cmp(comes(&p.pkt, sizeof(p.pkt)), ==, WDL_ERR_PROTO);
        }
        p.pkt.role = 1;
        p.pkt.team = 77; /* has ended */
        must_cmp(comes(&p.pkt, sizeof(p.pkt)), ==, WDL_OK);
        p.pkt.team = 3;
    }
    p.pkt.what = WDL_PKT_WHERE;
    p.pkt.offset = 2;
    must_cmp(comes(&p.pkt, sizeof(p.pkt)), ==, WDL_ERR_PROTO);
    p.pkt.what = WDL_PKT_THERE;
    p.pkt.offset = 4;
    must_cmp(comes(&p.pkt, sizeof(p.pkt)), ==, WDL_ERR_PROTO);
    p.pkt.offset = 8; /* nobody has asked */
    must_cmp(comes(&p.pkt, sizeof(p.pkt)), ==, WDL_OK);
    must(!wdl_contact_find(teams[0][0], 1));
    ranks_drop(&r, teams[0]);
    ranks_close(&r);
}
END_TEST

/* A place that is none of its owner's: nothing is put there. */
START_TEST(a_place_that_is_none)
{
    open_world(2, (struct wdl_sim_params){.ordered = 1});
    team(0);
    all(0, barrier);
    all(0, barrier);
    struct wdl_contact *x = wdl_contact_find(teams[0][0], 1);
    must_cmp(x->phase, ==, WDL_CONTACT_OPEN);
    x->at += (uint64_t) 1 << 40;
    must_cmp(barrier_puts(0), ==, 1);
    must_cmp(x->phase, ==, WDL_CONTACT_CLOSED);
    must_cmp(barrier_puts(0), ==, 1);
    ranks_drop(&r, teams[0]);
    ranks_close(&r);
}
END_TEST

/* An answer to a question of another team of that name. */
START_TEST(an_old_answer)
{
    open_world(2, (struct wdl_sim_params){.ordered = 1});
    team(0);
    rest();
    struct wdl_coll_args args = barrier;
    ck_assert_int_eq(wdl_coll_start(teams[0][0], &args, &reqs[0]), WDL_OK);
    struct wdl_contact *x = wdl_contact_find(teams[0][0], 1);
    must_cmp(x->phase, ==, WDL_CONTACT_ASKED);
    struct wdl_coll_pkt pkt = {.team = 3,
                               .role = 1,
                               .seq = x->asked - 1,
                               .offset = 64,
                               .what = WDL_PKT_THERE | 9 << WDL_PKT_BITS};
    must_cmp(comes(&pkt, sizeof(pkt)), ==, WDL_OK);
    must_cmp(x->phase, ==, WDL_CONTACT_ASKED);
    ck_assert_int_eq(wdl_coll_start(teams[0][1], &args, &reqs[1]), WDL_OK);
    ranks_finish(&r, reqs, 1);
    ranks_drop(&r, teams[0]);
    ranks_close(&r);
}
END_TEST

WDL_SUITE("coll/contact", the_first_flag_asks, teams_come_and_go, teams_share, no_more_is_attached,
          no_memory, contacts_are_few, who_gets_none_of_use_stops_asking, who_waits_by_memory,
          packets_are_checked, a_place_that_is_none, an_old_answer)
