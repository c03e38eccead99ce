/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Attached memory: what goes into it is copied by nobody, counted in bytes; regions come and go;
 * what bytes from the wire must satisfy.
 */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/direct.h"
#include "mpid/coll/ranks.h"
#include "support/suite.h"

enum { RANKS = 8, BYTES = 20000, ALL = RANKS * BYTES };

static struct ranks r;
static struct wdl_team *teams[RANKS];
static struct wdl_coll_req reqs[RANKS];
static char *src[RANKS], *dst[RANKS];

static void open_world(struct wdl_sim_params sim)
{
    struct wdl_team_params team = {.id = 3};
    sim.seed = 7;
    sim.ranks = RANKS;
    sim.am_bytes_max = 1024;
    ranks_open(&r, &sim);
    ranks_team(&r, &team, teams);
    for (int i = 0; i < RANKS; i++) {
        src[i] = malloc(ALL);
        dst[i] = malloc(ALL);
    }
}

static void attach(size_t bytes)
{
    for (int i = 0; i < RANKS; i++)
        ck_assert_int_eq(wdl_coll_attach(r.one[i].proc, dst[i], bytes), WDL_OK);
}

static void detach(size_t bytes)
{
    for (int i = 0; i < RANKS; i++)
        while (wdl_coll_detach(r.one[i].proc, dst[i], bytes) == WDL_AGAIN)
            ranks_step(&r);
}

static void close_world(void)
{
    ranks_drop(&r, teams);
    for (int i = 0; i < RANKS; i++) {
        free(src[i]);
        free(dst[i]);
    }
    ranks_close(&r); /* asserts that every allocation has come home, and no malformed packet came */
}

static void totals(uint64_t *copied_out, uint64_t *placed_out)
{
    *copied_out = ranks_stats(&r).copied_bytes;
    *placed_out = ranks_stats(&r).placed_bytes;
}

/* Block k of what rank i gives. */
static char value(int i, int k, int round)
{
    return (char) (i * 37 + k * 11 + round);
}

static const struct move {
    enum wdl_coll_kind kind;
    const char *algorithm;
    int blocks; /* that travel, whoever carries them how often */
} moves[] = {{WDL_COLL_BROADCAST, "tree", RANKS - 1},
             {WDL_COLL_SCATTER, "direct", RANKS - 1},
             {WDL_COLL_GATHER, "direct", RANKS - 1},
             {WDL_COLL_GATHER_ALL, "ring", RANKS *(RANKS - 1)},
             {WDL_COLL_EXCHANGE, "pairwise", RANKS *(RANKS - 1)},
             {WDL_COLL_BROADCAST, "scatter_ring", 0}};

static void check(const struct move *move, int round)
{
    int root = 3;
    for (int i = 0; i < RANKS; i++)
        for (int k = 0; k < RANKS; k++) {
            int from = k, block = 0, has = 1;
            if (move->kind == WDL_COLL_EXCHANGE)
                block = i;
            else if (move->kind == WDL_COLL_GATHER)
                has = i == root;
            else if (move->kind != WDL_COLL_GATHER_ALL)
                has = k == 0, from = root, block = move->kind == WDL_COLL_SCATTER ? i : 0;
            for (int b = 0; b < BYTES && has; b += 997)
                ck_assert_int_eq(dst[i][k * BYTES + b], value(from, block, round));
        }
}

/* Moves; the bytes that were copied out of messages, and those put in their places. */
static void run(const struct move *move, uint32_t flags, uint64_t *copied_out, uint64_t *placed_out)
{
    static int round;
    uint64_t copied, placed;
    round++;
    totals(&copied, &placed);
    for (int i = 0; i < RANKS; i++) {
        struct wdl_coll_args args = {.kind = move->kind,
                                     .flags = flags,
                                     .algorithm = move->algorithm,
                                     .root = 3,
                                     .bytes = BYTES,
                                     .src = src[i],
                                     .dst = dst[i]};
        for (int k = 0; k < RANKS; k++)
            memset(src[i] + k * BYTES, value(i, k, round), BYTES);
        memset(dst[i], 0, ALL);
        ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
    }
    ranks_finish(&r, reqs, 1);
    check(move, round);
    totals(copied_out, placed_out);
    *copied_out -= copied;
    *placed_out -= placed;
}

static void moves_count(int attached, const char *what)
{
    static const uint32_t in[] = {WDL_COLL_IN_NOSYNC, WDL_COLL_IN_MYSYNC, WDL_COLL_IN_ALLSYNC};
    for (size_t k = 0; k < 3 * sizeof(moves) / sizeof(moves[0]); k++) {
        const struct move *move = &moves[k / 3];
        uint64_t copied, placed, all = (uint64_t) move->blocks * BYTES;
        run(move, in[k % 3] | WDL_COLL_OUT_MYSYNC | WDL_COLL_LOCAL, &copied, &placed);
        ck_assert_msg((attached ? copied : placed) == 0, "%s: %s %s: %d bytes", what,
                      wdl_coll_kind_name(move->kind), move->algorithm, (int) copied);
        if (move->blocks)
            ck_assert_uint_eq(attached ? placed : copied, all);
        else
            ck_assert_uint_ge(attached ? placed : copied, (RANKS - 1) * BYTES);
    }
}

START_TEST(what_goes_into_attached_memory_is_not_copied)
{
    static const char *const names[] = {"mapped", "put", "put when the target polls", "late"};
    for (int how = 0; how < 4; how++) {
        open_world((struct wdl_sim_params){.no_map = how > 0,
                                           .rma_needs_target = how == 2,
                                           .ordered = how != 3,
                                           .delay_ns_max = how == 3 ? 3000 : 0,
                                           .refuse_permille = how == 3 ? 200 : 0});
        moves_count(0, "not attached");
        attach(ALL);
        moves_count(1, names[how]);
        ck_assert((wdl_sim_counts(r.sim)->puts > ranks_stats(&r).put) == (how > 0));
        close_world();
    }
}
END_TEST

START_TEST(a_network_that_only_sends_copies)
{
    open_world((struct wdl_sim_params){.no_rma = 1});
    attach(ALL);
    moves_count(0, "no put");
    close_world();
}
END_TEST

START_TEST(a_region_must_hold_all_of_it)
{
    open_world((struct wdl_sim_params){.no_map = 1});
    attach(BYTES / RANKS - 1);
    moves_count(0, "a byte is outside");
    close_world();
}
END_TEST

START_TEST(regions_come_and_go)
{
    open_world((struct wdl_sim_params){.no_map = 1, .delay_ns_max = 2000});
    for (int k = 0; k < 3; k++) {
        attach(ALL);
        moves_count(1, "attached again");
        detach(ALL);
        moves_count(0, "detached");
    }
    close_world();
}
END_TEST

/* Two at one address, of which the one goes that is meant. */
START_TEST(a_region_is_its_length_too)
{
    for (int first = 0; first < 2; first++) {
        open_world((struct wdl_sim_params){.no_map = 1, .delay_ns_max = 2000});
        attach(first ? ALL : BYTES);
        attach(first ? BYTES : ALL);
        detach(ALL / 2); /* there is none */
        moves_count(1, "both attached");
        detach(BYTES);
        moves_count(1, "the short one detached");
        detach(ALL);
        moves_count(0, "both detached");
        close_world();
    }
}
END_TEST

/* What is said about memory that is not there, or in a wrong way. */
START_TEST(packets_are_checked)
{
    struct {
        struct wdl_coll_pkt pkt;
        uint64_t bytes;
        char key[16];
    } bad = {{.team = 3, .seq = 1}, 100, "nonsense"};
    open_world((struct wdl_sim_params){.no_map = 1});
    void *coll = r.one[0].proc->coll;
    for (int what = WDL_PKT_PLACED; what <= WDL_PKT_OUT; what++) {
        bad.pkt.what = (uint32_t) what | 5 << WDL_PKT_BITS;
        int status = wdl_coll_handle(coll, 1, &bad, sizeof(bad));
        if (what == WDL_PKT_KEY) /* kept, as one that is of no use, and not twice */
            ck_assert_int_eq(status, WDL_OK);
        else if (what != WDL_PKT_FORGET)
            ck_assert_int_eq(status, WDL_ERR_PROTO);
    }
    bad.pkt.what = WDL_PKT_KEY;
    ck_assert_int_eq(wdl_coll_handle(coll, 1, &bad, sizeof(bad.pkt) + 8), WDL_ERR_PROTO);
    close_world();
}
END_TEST

/* A ready flag's place that its region does not have; where the memory is mapped nobody else would
 * see it. */
START_TEST(a_place_beyond_the_region)
{
    static const struct wdl_offer beyond[] = {
        {ALL - 7, 0, 8}, {ALL, 0, 8}, {0, 0, ALL + 1}, {UINT64_MAX - 3, 0, 8}, {8, 0, UINT64_MAX}};
    for (int no_map = 0; no_map < 2; no_map++) {
        open_world((struct wdl_sim_params){.no_map = no_map});
        attach(ALL);
        moves_count(1, "keys for all");
        struct wdl_coll *coll = r.one[0].proc->coll;
        struct wdl_run one = {.team = teams[0]};
        struct wdl_car car = {.peer = 1, .bytes = 8};
        const struct wdl_key *key = wdl_key_find(coll, 1, 1);
        ck_assert(key && key->bytes == ALL);
        for (size_t k = 0; k < sizeof(beyond) / sizeof(beyond[0]); k++) {
            struct wdl_car_run c = {.run = &one};
            struct wdl_offer offer = beyond[k];
            uint64_t puts = wdl_sim_counts(r.sim)->puts;
            offer.region = key->id;
            ck_assert_int_eq(wdl_direct_step(&c, &car, &offer, 8), WDL_ERR_PROTO);
            ck_assert_int_eq(wdl_direct_put(coll, 1, &offer, src[0], NULL), WDL_ERR_ARG);
            ck_assert(c.done == 0 && wdl_sim_counts(r.sim)->puts == puts);
        }
        close_world();
    }
}
END_TEST

WDL_SUITE("mpid/coll/direct", what_goes_into_attached_memory_is_not_copied,
          a_network_that_only_sends_copies, a_region_must_hold_all_of_it, regions_come_and_go,
          a_region_is_its_length_too, packets_are_checked, a_place_beyond_the_region)
