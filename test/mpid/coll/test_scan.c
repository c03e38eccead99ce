/* Part of Windlass. See COPYRIGHT in the top-level directory. Scans of a node's ranks
 * (coll/node_scan.c), short ones and those too long to be staged: the same bits, folded from the
 * lowest rank up, whoever comes first. */
#include <string.h>
#include "mpid/coll/ranks.h"
#include "support/suite.h"

enum { RANKS = 7, BOARD = 2048, SEEDS = 60 };
enum { LONG = 600004, FLOATS = LONG / 4 }; /* three parts */

static struct ranks r;
static struct wdl_team *teams[RANKS];
static struct wdl_coll_req reqs[RANKS];
static float src[RANKS][FLOATS], dst[RANKS][FLOATS], wanted[RANKS][FLOATS];

/* Rounds, and what is on the left counts for more. */
static void lean(void *ctx, const void *left, void *inout, size_t count)
{
    const float *l = left;
    float *io = inout;
    (void) ctx;
    for (size_t i = 0; i < count; i++)
        io[i] = 1.25f * l[i] + io[i];
}

static void open_with(uint64_t seed)
{
    struct wdl_sim_params sim = {.seed = seed, .ranks = RANKS, .am_bytes_max = 1024};
    struct wdl_team_params params = {.id = 3, .board_bytes = BOARD};
    ranks_open(&r, &sim);
    ranks_team_nodes(&r, &params, RANKS, 1, teams);
    struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER, .flags = WDL_COLL_MPI};
    for (int i = 0; i < RANKS; i++)
        ck_assert_int_eq(wdl_coll_start(teams[i], &barrier, &reqs[i]), WDL_OK);
    ranks_finish(&r, reqs, 1); /* the team is open */
}

static void fill(void)
{
    for (int i = 0; i < RANKS; i++)
        for (int k = 0; k < FLOATS; k++)
            src[i][k] = (float) ((k * 7919 + i * 104729) % 10007) / 3.0f * (i & 1 ? 1e4f : 1e-3f);
}

static void start(int rank, size_t bytes, int flags, int in_place)
{
    struct wdl_coll_args args = {.kind = WDL_COLL_SCAN,
                                 .flags = WDL_COLL_MPI | flags,
                                 .bytes = bytes,
                                 .src = src[rank],
                                 .dst = dst[rank],
                                 .algorithm = "node",
                                 .op = {.fn = lean, .elem_bytes = 4}};
    if (in_place) {
        memcpy(dst[rank], src[rank], bytes);
        args.src = dst[rank];
    }
    ck_assert_int_eq(wdl_coll_start(teams[rank], &args, &reqs[rank]), WDL_OK);
}

/* The ranks come in any order, with any time between them. */
static void all(struct wdl_prng *prng, size_t bytes, int flags)
{
    int order[RANKS], in_place = wdl_prng_chance(prng, 500);
    for (int i = 0; i < RANKS; i++) {
        int k = (int) wdl_prng_below(prng, (uint64_t) i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (int i = 0; i < RANKS; i++)
        memset(dst[i], 0, bytes);
    for (int i = 0; i < RANKS; i++) {
        start(order[i], bytes, flags, in_place);
        for (uint64_t steps = wdl_prng_below(prng, 12); steps > 0; steps--)
            ranks_step(&r);
    }
    ranks_finish(&r, reqs, 1);
    for (int i = 0; i < RANKS; i++)
        ck_assert_int_eq(reqs[i].status, WDL_OK);
}

static void fold_up(size_t bytes)
{
    memcpy(wanted[0], src[0], bytes);
    for (int i = 1; i < RANKS; i++) {
        memcpy(wanted[i], src[i], bytes);
        lean(NULL, wanted[i - 1], wanted[i], bytes / 4);
    }
}

START_TEST(the_same_bits_whoever_comes_first)
{
    static const size_t lengths[] = {4, 48, 52, 400, 1024};
    struct wdl_prng prng;
    fill();
    wdl_prng_init(&prng, 5);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        open_with(seed);
        for (int i = 0; i < 2 * (int) (sizeof(lengths) / sizeof(lengths[0])); i++) {
            size_t bytes = lengths[i / 2];
            int exclusive = i % 2;
            all(&prng, bytes, exclusive ? WDL_COLL_EXCLUSIVE : 0);
            fold_up(bytes);
            for (int rank = exclusive; rank < RANKS; rank++)
                ck_assert_mem_eq(dst[rank], wanted[rank - exclusive], bytes);
        }
        ranks_drop(&r, teams);
        ranks_close(&r);
    }
}
END_TEST

/* Two of it do not fit the board. */
START_TEST(longer_ones_are_the_same_each_time)
{
    static char first[2][RANKS][BOARD];
    struct wdl_prng prng;
    fill();
    wdl_prng_init(&prng, 6);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        open_with(seed);
        for (int i = 0; i < 2; i++) {
            size_t bytes = i ? BOARD : 1028;
            all(&prng, bytes, 0);
            for (int rank = 0; rank < RANKS; rank++) {
                if (seed == 1)
                    memcpy(first[i][rank], dst[rank], bytes);
                ck_assert_mem_eq(dst[rank], first[i][rank], bytes);
            }
        }
        ranks_drop(&r, teams);
        ranks_close(&r);
    }
}
END_TEST

/* Who means another length hears of it, and so does who is told its prefix; nobody waits. */
START_TEST(another_length_is_noticed)
{
    for (int odd = 0; odd < RANKS; odd++) {
        fill();
        open_with((uint64_t) odd + 1);
        for (int i = 0; i < RANKS; i++)
            start(i, i == odd ? 12 : 8, 0, 0);
        ranks_finish(&r, reqs, 1);
        for (int i = 0; i < RANKS; i++)
            ck_assert_int_eq(reqs[i].status, i < odd || i == 0 ? WDL_OK : WDL_ERR_TRUNCATE);
        ranks_drop(&r, teams);
        ranks_close(&r);
    }
}
END_TEST

START_TEST(long_ones_follow_the_rank_below)
{
    struct wdl_prng prng;
    fill();
    fold_up(LONG);
    wdl_prng_init(&prng, 7);
    for (uint64_t seed = 1; seed <= SEEDS / 4; seed++) {
        open_with(seed);
        for (int i = 0; i < 4; i++) {
            int exclusive = i % 2;
            all(&prng, LONG, exclusive ? WDL_COLL_EXCLUSIVE : 0);
            for (int rank = exclusive; rank < RANKS; rank++)
                ck_assert_mem_eq(dst[rank], wanted[rank - exclusive], LONG);
        }
        ranks_drop(&r, teams);
        ranks_close(&r);
    }
}
END_TEST

/* Nobody waits for those above but the next one, who reads its result. */
START_TEST(long_ones_do_not_wait_for_all)
{
    fill();
    open_with(1);
    for (int come = 0; come < RANKS; come++) {
        start(come, LONG, 0, 0);
        for (int i = 0; i < 100 * RANKS; i++)
            ranks_step(&r);
        for (int i = 0; i <= come; i++)
            ck_assert_int_eq(reqs[i].done, i < come || come == RANKS - 1);
    }
    ranks_finish(&r, reqs, 1);
    ranks_drop(&r, teams);
    ranks_close(&r);
}
END_TEST

START_TEST(another_length_of_a_long_one_is_noticed)
{
    static const size_t others[] = {8, 1 << 17, LONG - 4};
    for (int i = 0; i < 3 * RANKS; i++) {
        int odd = i % RANKS;
        fill();
        open_with((uint64_t) odd + 1);
        for (int rank = 0; rank < RANKS; rank++)
            start(rank, rank == odd ? others[i / RANKS] : LONG, 0, 0);
        ranks_finish(&r, reqs, 1);
        for (int rank = 0; rank < RANKS; rank++)
            if (rank != odd || i / RANKS == 2)
                ck_assert_int_eq(reqs[rank].status,
                                 rank < odd - 1 ? WDL_OK : WDL_ERR_TRUNCATE);
        ranks_drop(&r, teams);
        ranks_close(&r);
    }
}
END_TEST

WDL_SUITE("mpid/coll/scan", the_same_bits_whoever_comes_first, longer_ones_are_the_same_each_time,
          another_length_is_noticed, long_ones_follow_the_rank_below, long_ones_do_not_wait_for_all,
          another_length_of_a_long_one_is_noticed)
