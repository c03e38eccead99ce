/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Ready flags that come early for roles without a cell: each is kept, without memory for it, and
 * none is refused; where there is no room for what one says, its data goes by messages.
 */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/early.h"
#include "mpid/coll/ranks.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS = 20, WINDOW = 8, BYTES = 3000, SPACES = 16, LATE = 3, ROUNDS = 5 };

static struct ranks r;
static struct wdl_team *teams[RANKS];
static struct wdl_coll_req reqs[RANKS * ROUNDS];

static void open_all(int n, struct wdl_sim_params sim, int places)
{
    struct wdl_coll_req open[RANKS] = {{0}};
    struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER};
    struct wdl_team_params params = {.id = 3, .window = WINDOW};
    sim.seed = 3;
    sim.ranks = n;
    sim.am_bytes_max = 1024;
    ranks_open(&r, &sim);
    for (int i = 0; i < n; i++)
        wdl_coll_limit(r.one[i].proc, &(struct wdl_coll_limits){1 << 16, places, 64, 0});
    ranks_team(&r, &params, teams);
    for (int barriers = 0; barriers < 4; barriers++) { /* and it is known where flags may be put */
        for (int i = 0; i < n; i++)
            must_cmp(wdl_coll_start(teams[i], &barrier, &open[i]), ==, WDL_OK);
        ranks_finish(&r, open, 1);
        while (!wdl_sim_quiescent(r.sim))
            ranks_step(&r);
    }
}

static void close_all(void)
{
    ranks_drop(&r, teams);
    ranks_close(&r);
}

/* As if it came to rank 0 from rank 1. */
static int flag_comes(uint32_t seq, uint32_t role, uint32_t what, uint64_t address, size_t bytes)
{
    struct {
        struct wdl_coll_pkt pkt;
        uint64_t offered;
    } p = {{3, seq, role, what, address}, 4096};
    return wdl_coll_handle(r.one[0].proc->coll, 1, &p, sizeof(p.pkt) + bytes);
}

START_TEST(each_flag_is_kept_once)
{
    struct wdl_sim_params sim = {.ordered = 1};
    open_all(RANKS, sim, 4);
    struct wdl_team *team = teams[0];
    struct wdl_early_flag flag;
    uint32_t seq = team->done, most = wdl_roles_bare_max(team), first = team->cell_roles;
    uint64_t early = wdl_coll_stats(r.one[0].proc)->early;
    r.one[0].host.fail_after = 1; /* there is no more memory for any of it */
    for (uint32_t role = first; role < first + most; role++)
        for (uint32_t slot = 0; slot < WINDOW; slot++) {
            must_cmp(flag_comes(seq + slot, role, WDL_PKT_DATA, 0, 1), ==, WDL_ERR_PROTO);
            must_cmp(flag_comes(seq + slot, role, WDL_PKT_DATA, 0, 0), ==, WDL_OK);
            must_cmp(flag_comes(seq + slot, role, WDL_PKT_DATA, 0, 0), ==, WDL_ERR_PROTO);
        }
    must_cmp(flag_comes(seq, first + most, WDL_PKT_DATA, 0, 0), ==, WDL_ERR_PROTO);
    must_cmp(flag_comes(seq, UINT32_MAX, WDL_PKT_DATA, 0, 0), ==, WDL_ERR_PROTO);
    must_cmp(wdl_coll_stats(r.one[0].proc)->early - early, ==, WINDOW * most);
    for (uint32_t slot = 0; slot < WINDOW; slot += 2)
        wdl_early_forget(team, seq + slot);
    for (uint32_t role = first; role < first + most; role++)
        for (uint32_t slot = 0; slot < WINDOW; slot++) {
            must_cmp(wdl_early_take(team, seq + slot, role, &flag), ==, (int) slot % 2);
            must_cmp(wdl_early_take(team, seq + slot, role, &flag), ==, 0);
        }
    r.one[0].host.fail_after = 0;
    close_all();
}
END_TEST

START_TEST(what_a_flag_says_is_kept_where_there_is_room)
{
    enum { PLACES = 4 };
    struct wdl_sim_params sim = {.ordered = 1};
    open_all(RANKS, sim, PLACES);
    struct wdl_team *team = teams[0];
    struct wdl_early_flag flag;
    uint32_t seq = team->done, first = team->cell_roles;
    for (int again = 0; again < 3; again++) {
        for (uint32_t k = 0; k < 2 * PLACES; k++) {
            must_cmp(flag_comes(seq, first + k, WDL_PKT_OFFER, 0x1000 + k, 8), ==, WDL_OK);
            must_cmp(flag_comes(seq, first + k, WDL_PKT_OFFER, 0x1000 + k, 8), ==, WDL_ERR_PROTO);
        }
        const struct wdl_coll_stats *stats = wdl_coll_stats(r.one[0].proc);
        must_cmp(stats->early_high, ==, PLACES);
        must_cmp(stats->early_unplaced, ==, (again + 1) * PLACES);
        for (uint32_t k = 2 * PLACES; k-- > 0;) {
            must_cmp(wdl_early_take(team, seq, first + k, &flag), ==, 1);
            must_cmp(flag.src, ==, k < PLACES ? 1 : -1);
            if (k < PLACES) {
                must_cmp(flag.pkt.offset, ==, 0x1000 + k);
                must_cmp(flag.offered, ==, 4096);
            }
        }
    }
    for (uint32_t k = 0; k < PLACES; k++)
        must_cmp(flag_comes(seq, first + k, WDL_PKT_OFFER, 0x1000 + k, 8), ==, WDL_OK);
    wdl_early_forget(team, seq);
    must_cmp(((struct wdl_coll *) r.one[0].proc->coll)->early.in_use, ==, 0);
    close_all();
}
END_TEST

START_TEST(all_flags_must_mean_the_same)
{
    struct wdl_sim_params sim = {.ordered = 1};
    enum { ONE = 7 << WDL_PKT_BITS, OTHER = 8 << WDL_PKT_BITS };
    open_all(RANKS, sim, 4);
    struct wdl_team *team = teams[0];
    uint32_t seq = team->done, role = team->cell_roles;
    must(wdl_early_means(team, seq, 7)); /* nobody has said anything */
    must_cmp(flag_comes(seq, role, WDL_PKT_OFFER | OTHER, 0x1000, 8), ==, WDL_OK); /* a region's */
    must(wdl_early_means(team, seq, 7));
    must_cmp(flag_comes(seq, role + 1, WDL_PKT_DATA | ONE, 0, 0), ==, WDL_OK);
    must(wdl_early_means(team, seq, 7) && !wdl_early_means(team, seq, 8));
    must_cmp(flag_comes(seq, role + 2, WDL_PKT_DATA | OTHER, 0, 0), ==, WDL_OK);
    must(!wdl_early_means(team, seq, 7) && !wdl_early_means(team, seq, 8));
    must_cmp(flag_comes(seq + WINDOW - 1, role, WDL_PKT_DATA | OTHER, 0, 0), ==, WDL_OK);
    must(wdl_early_means(team, seq + WINDOW - 1, 8));
    wdl_early_forget(team, seq);
    wdl_early_forget(team, seq + WINDOW - 1);
    must(wdl_early_means(team, seq, 7));
    close_all();
}
END_TEST

START_TEST(few_ranks_have_no_such_roles)
{
    struct wdl_sim_params sim = {.ordered = 1};
    open_all(3, sim, 4);
    must(teams[0]->early == NULL);
    must_cmp(flag_comes(teams[0]->done, teams[0]->cell_roles, WDL_PKT_DATA, 0, 0), ==,
             WDL_ERR_PROTO);
    close_all();
}
END_TEST

/* Exchanges, to attached memory, for which some come late. (Where all are known to give something
 * to all, they meet first.) */
static void exchange(int ordered, int places, uint64_t *placed_out)
{
    struct wdl_sim_params sim = {.ordered = ordered,
                                 .delay_ns_max = 100,
                                 .refuse_permille = 50,
                                 .rma_needs_target = 1}; /* flags are messages */
    static char src[RANKS][RANKS * BYTES], dst[RANKS][ROUNDS][RANKS * BYTES];
    size_t bytes[RANKS], at[RANKS];
    open_all(RANKS, sim, places);
    uint64_t deferred = wdl_sim_counts(r.sim)->deferred;
    for (int i = 0; i < RANKS; i++) {
        bytes[i] = BYTES;
        at[i] = (size_t) i * BYTES;
    }
    for (int i = 0; i < RANKS; i++)
        must_cmp(wdl_coll_attach(r.one[i].proc, dst[i], sizeof(dst[i])), ==, WDL_OK);
    for (int k = 0; k < RANKS; k++) {
        int i = (k + LATE) % RANKS; /* the last LATE hear of all others first */
        for (int to = 0; to < RANKS; to++)
            memset(src[i] + to * BYTES, 1 + i * 7 + to, BYTES);
        memset(dst[i], 0, sizeof(dst[i]));
        for (int round = 0; round < ROUNDS; round++) {
            struct wdl_coll_args args = {.kind = WDL_COLL_EXCHANGE,
                                         .flags = WDL_COLL_MPI,
                                         .algorithm = "pairwise",
                                         .variable = 1,
                                         .src_blocks = {bytes, at},
                                         .dst_blocks = {bytes, at},
                                         .src = src[i],
                                         .dst = dst[i][round]};
            must_cmp(wdl_coll_start(teams[i], &args, &reqs[i * ROUNDS + round]), ==, WDL_OK);
        }
        for (int turn = 0; turn < 2000 && k >= RANKS - LATE - 1; turn++)
            ranks_step(&r);
    }
    ranks_finish(&r, reqs, ROUNDS);
    *placed_out = 0;
    for (int i = 0; i < RANKS; i++) {
        const struct wdl_coll_stats *stats = wdl_coll_stats(r.one[i].proc);
        for (int round = 0; round < ROUNDS; round++)
            for (int from = 0; from < RANKS; from++)
                for (int b = 0; b < BYTES; b += 599)
                    must_cmp((unsigned char) dst[i][round][from * BYTES + b], ==,
                             (unsigned char) (1 + from * 7 + i));
        *placed_out += stats->placed_bytes;
        must_cmp(stats->early_high, <=, places);
        if (i < LATE)
            must_cmp(stats->early_unplaced > 0, ==, places < RANKS);
    }
    must_cmp(wdl_sim_counts(r.sim)->deferred, ==, deferred); /* nothing is left to the network */
    for (int i = 0; i < RANKS; i++)
        while (wdl_coll_detach(r.one[i].proc, dst[i], sizeof(dst[i])) == WDL_AGAIN)
            ranks_step(&r);
    close_all();
}

START_TEST(data_goes_by_messages_where_there_is_no_room)
{
    static const int places[] = {0, 1, SPACES, 1000};
    for (int ordered = 0; ordered < 2; ordered++) {
        uint64_t placed, before = 0, all = (uint64_t) RANKS * (RANKS - 1) * BYTES * ROUNDS;
        for (int i = 0; i < 4; i++) {
            exchange(ordered, places[i], &placed);
            must_cmp(placed, >=, before);
            must(i < 3 ? placed < all : placed == all);
            before = placed;
        }
    }
}
END_TEST

WDL_SUITE("coll/early", each_flag_is_kept_once, what_a_flag_says_is_kept_where_there_is_room,
          all_flags_must_mean_the_same, few_ranks_have_no_such_roles,
          data_goes_by_messages_where_there_is_no_room)
