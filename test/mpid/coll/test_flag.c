/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Flags that are put: where their words are, what goes as a put and what as a message on which
 * network, words that come one by one, and words that nobody should have written.
 */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/contact.h"
#include "mpid/coll/flag.h"
#include "mpid/coll/ranks.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS_MAX = 9, BYTES = 20000, ALL = RANKS_MAX * BYTES };

static struct ranks r;
static struct wdl_team *teams[RANKS_MAX];
static struct wdl_coll_req reqs[RANKS_MAX];
static char *src[RANKS_MAX], *dst[RANKS_MAX];

static void open_world(int n, struct wdl_sim_params sim)
{
    struct wdl_team_params params = {.id = 3, .window = 8, .first_seq = 0xfffffff0u};
    sim.seed = sim.seed ? sim.seed : 7;
    sim.ranks = n;
    sim.am_bytes_max = 1024;
    ranks_open(&r, &sim);
    ranks_team(&r, &params, teams);
    for (int i = 0; i < n; i++) {
        src[i] = calloc(1, ALL);
        dst[i] = calloc(1, ALL);
    }
}

static void close_world(void)
{
    ranks_drop(&r, teams);
    for (int i = 0; i < r.n; i++) {
        free(src[i]);
        free(dst[i]);
    }
    ranks_close(&r);
}

static void begin(int i, struct wdl_coll_args args)
{
    args.flags = WDL_COLL_MPI;
    args.src = src[i];
    args.dst = dst[i];
    ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
}

static void all(struct wdl_coll_args args)
{
    for (int i = 0; i < r.n; i++)
        begin(i, args);
    ranks_finish(&r, reqs, 1);
    for (int i = 0; i < r.n; i++)
        must_cmp(reqs[i].status, ==, WDL_OK);
    while (!wdl_sim_quiescent(r.sim))
        ranks_step(&r);
}

/* Until nobody asks any more where its flags go. */
static void settle(struct wdl_coll_args args)
{
    uint64_t asked;
    do {
        asked = ranks_stats(&r).questions;
        for (int again = 0; again < 4; again++) /* unordered, a key may be behind its place */
            all(args);
    } while (ranks_stats(&r).questions > asked);
}

static const struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER};

/* Each role of each slot has its own words. */
START_TEST(words)
{
    open_world(3, (struct wdl_sim_params){0});
    const struct wdl_team *team = teams[0];
    size_t bytes = wdl_flag_bytes(team), end = 0;
    uint32_t links = (uint32_t) team->links, wide = 0;
    uint64_t *memory = malloc(bytes);
    for (uint32_t slot = 0; slot < (uint32_t) team->window; slot++)
        for (uint32_t role = 0; role < team->cell_roles; role++) {
            must_cmp(wdl_flag_at(team, slot, role), ==, end);
            must_cmp(wdl_flag_at(team, slot + 4096, role), ==, end);
            int is_wide = role >= 2 * links && role < 4 * links; /* may say where, and how much */
            end += is_wide ? 32 : 8;
            wide += (uint32_t) is_wide;
        }
    must_cmp(end, ==, bytes);
    must_cmp(wide, ==, 2 * links * (uint32_t) team->window);
    wdl_flag_empty(team, memory);
    for (size_t i = 0; i < bytes / 8; i++) { /* no number of its slot */
        size_t slot = i / (bytes / 8 / (size_t) team->window);
        must_cmp((memory[i] >> 32) % (size_t) team->window, !=, slot);
    }
    free(memory);
    close_world();
}
END_TEST

/* As many as messages; and none is a message where the network puts by itself. */
START_TEST(flags_go_as_the_network_can)
{
    for (int n = 2; n <= RANKS_MAX; n++)
        for (int how = 0; how < 8; how++) {
            int native = how % 4 < 2;
            open_world(n, (struct wdl_sim_params){.ordered = how < 4,
                                                  .no_map = how % 4 == 1,
                                                  .rma_needs_target = how % 4 == 2,
                                                  .no_rma = how % 4 == 3,
                                                  .delay_ns_max = how < 4 ? 0 : 2000});
            settle(barrier);
            must((ranks_stats(&r).questions == 0) == (how % 4 == 3));
            for (int again = 0; again < 30; again++) {
                uint64_t sent = ranks_stats(&r).sent, put = ranks_stats(&r).put,
                         messages = wdl_sim_counts(r.sim)->sent;
                all(barrier);
                uint64_t flags = (uint64_t) (n * ranks_spread_steps(n));
                must_cmp(ranks_stats(&r).sent - sent, ==, flags);
                must_cmp(ranks_stats(&r).put - put, ==, native ? flags : 0);
                must_cmp(wdl_sim_counts(r.sim)->sent - messages, ==, native ? 0 : flags);
            }
            close_world();
        }
}
END_TEST

/* A ready flag says where, the data is put there, a flag says so: no message at all. */
START_TEST(what_is_placed_needs_no_message)
{
    static const struct wdl_coll_args moves[] = {
        {.kind = WDL_COLL_SCATTER, .algorithm = "direct", .root = 1, .bytes = BYTES},
        {.kind = WDL_COLL_GATHER, .algorithm = "direct", .root = 1, .bytes = BYTES},
        {.kind = WDL_COLL_EXCHANGE, .algorithm = "pairwise", .bytes = BYTES}};
    enum { N = 6 };
    for (int how = 0; how < 4; how++)
        for (size_t k = 0; k < sizeof(moves) / sizeof(moves[0]); k++) {
            open_world(N, (struct wdl_sim_params){.no_map = 1,
                                                  .ordered = how % 2,
                                                  .torn = how >= 2,
                                                  .delay_ns_max = how % 2 ? 0 : 1000});
            for (int i = 0; i < N; i++)
                must_cmp(wdl_coll_attach(r.one[i].proc, dst[i], ALL), ==, WDL_OK);
            settle(moves[k]);
            settle(barrier);
            uint64_t messages = wdl_sim_counts(r.sim)->sent;
            for (int round = 0; round < 3; round++) {
                for (int i = 0; i < N; i++)
                    memset(src[i], 'a' + 7 * round + i, ALL);
                all(moves[k]);
                int from = moves[k].kind == WDL_COLL_SCATTER ? 1 : N - 1, to = 1;
                must_cmp(dst[to][0], ==, 'a' + 7 * round + (from == 1 ? 1 : 0));
                must_cmp(dst[to][from == 1 ? BYTES - 1 : N * BYTES - 1], ==,
                         'a' + 7 * round + from);
                all(barrier);
            }
            must_cmp(wdl_sim_counts(r.sim)->sent, ==, messages);
            close_world();
        }
}
END_TEST

static uint64_t *word_at(int rank, uint32_t role)
{
    const struct wdl_team *team = teams[rank];
    return team->flags->words + wdl_flag_at(team, team->next, role) / sizeof(uint64_t);
}

/* A flag of somebody who means something else: the collective fails, and the next is right. */
START_TEST(another_print_fails)
{
    open_world(4, (struct wdl_sim_params){.ordered = 1});
    settle(barrier);
    uint32_t seq = teams[2]->next, role = (uint32_t) (4 * teams[2]->links);
    *word_at(2, role) = (uint64_t) seq << 32 | 0x1234u << WDL_PKT_BITS | WDL_PKT_DATA;
    for (int i = 0; i < 4; i++)
        begin(i, barrier);
    ranks_finish(&r, reqs, 1);
    must_cmp(reqs[2].status, ==, WDL_ERR_TRUNCATE);
    for (int i = 0; i < 4; i++) /* who has told that it is out of it has flushed its flags */
        for (int k = 0; k < 4; k++) {
            const struct wdl_contact *x = wdl_contact_find(teams[i], k);
            must(!x || !(x->dirty || x->flushing));
        }
    all(barrier);
    for (int i = 0; i < 4; i++)
        r.one[i].proc->stats.malformed = 0; /* what came for who had ended */
    close_world();
}
END_TEST

/* What is no flag at all is counted, and the flag that comes then is taken. */
START_TEST(no_flag_at_all)
{
    static const uint32_t bad[] = {WDL_PKT_PLACED, WDL_PKT_OFFER, WDL_PKT_KEY, 0xff};
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        open_world(2, (struct wdl_sim_params){.ordered = 1});
        settle(barrier);
        uint32_t role = (uint32_t) (4 * teams[0]->links);
        begin(0, barrier);
        uint32_t print = teams[0]->slots[teams[0]->done % 8]->print;
        teams[0]->next--; /* of the one that has begun */
        *word_at(0, role) = (uint64_t) teams[0]->next << 32 | print << WDL_PKT_BITS | bad[k];
        teams[0]->next++;
        wdl_proc_progress(r.one[0].proc);
        must_cmp(r.one[0].proc->stats.malformed, ==, 1);
        must_cmp(reqs[0].done, ==, 0);
        wdl_proc_progress(r.one[0].proc);
        must_cmp(r.one[0].proc->stats.malformed, ==, 1);
        begin(1, barrier);
        ranks_finish(&r, reqs, 1);
        must_cmp(reqs[0].status, ==, WDL_OK);
        r.one[0].proc->stats.malformed = 0;
        close_world();
    }
}
END_TEST

/* Nothing that has been read is left to be taken for a flag when its number comes again. */
START_TEST(what_is_read_is_gone)
{
    open_world(5, (struct wdl_sim_params){.no_map = 1, .ordered = 1});
    for (int i = 0; i < 5; i++)
        must_cmp(wdl_coll_attach(r.one[i].proc, dst[i], ALL), ==, WDL_OK);
    struct wdl_coll_args move = {.kind = WDL_COLL_EXCHANGE,
                                 .algorithm = "pairwise",
                                 .bytes = BYTES};
    settle(move);
    settle(barrier);
    for (int i = 0; i < 5; i++) {
        const struct wdl_team *team = teams[i];
        size_t words = wdl_flag_bytes(team) / 8, slot_words = words / 8;
        for (size_t k = 0; k < words; k++)
            must_cmp((team->flags->words[k] >> 32) % 8, !=, k / slot_words);
    }
    close_world();
}
END_TEST

/* Who has finished says so when its flags are there: else the one it has put might come behind the
 * answer, and would be missed. */
START_TEST(who_has_finished_has_flushed)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct wdl_coll_args word = {.kind = WDL_COLL_BROADCAST, .algorithm = "tree"};
        open_world(2, (struct wdl_sim_params){.seed = seed, .ordered = 1, .delay_ns_max = 3000});
        settle(barrier);
        settle(word);
        all(barrier); /* credit: what comes next can begin */
        uint64_t put = ranks_stats(&r).put;
        begin(0, word);
        begin(1, word);
        must_cmp(reqs[0].done, ==, 1);
        must_cmp(ranks_stats(&r).put - put, ==, 1);
        ranks_doubt(&r, 1);
        ranks_doubt(&r, 1);
        must_cmp(wdl_coll_stats(r.one[1].proc)->asked, ==, 1);
        ranks_finish(&r, reqs, 1);
        must_cmp(reqs[1].status, ==, WDL_OK);
        must_cmp(wdl_coll_stats(r.one[1].proc)->failed, ==, 0);
        close_world();
    }
}
END_TEST

/* A team goes when its last flags are there, be it that nobody here waits for them. */
START_TEST(a_team_ends_flushed)
{
    struct wdl_coll_args word = {.kind = WDL_COLL_BROADCAST, .algorithm = "tree"};
    open_world(2, (struct wdl_sim_params){.ordered = 1, .delay_ns_max = 2000});
    settle(barrier);
    settle(word);
    all(barrier);
    begin(0, word);
    must_cmp(reqs[0].done, ==, 1);
    must_cmp(wdl_team_destroy(teams[0]), ==, WDL_AGAIN);
    uint64_t flushes = wdl_sim_counts(r.sim)->flushes;
    must_cmp(flushes, >, 0);
    must_cmp(wdl_team_destroy(teams[0]), ==, WDL_AGAIN);
    must_cmp(wdl_sim_counts(r.sim)->flushes, ==, flushes); /* one is enough */
    begin(1, word);
    ranks_finish(&r, reqs, 1);
    close_world();
}
END_TEST

WDL_SUITE("coll/flag", words, flags_go_as_the_network_can, what_is_placed_needs_no_message,
          another_print_fails, no_flag_at_all, what_is_read_is_gone, who_has_finished_has_flushed,
          a_team_ends_flushed)
