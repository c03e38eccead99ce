/* Part of Windlass. See COPYRIGHT in the top-level directory. Scans of a node's ranks
 * (coll/node_scan.c), short ones, staged ones and those too long for that: the same bits, folded
 * from the lowest rank up, whoever comes first; who waits for whom. */
#include <string.h>
#include "mpid/coll/coll_impl.h"
#include "mpid/coll/ranks.h"
#include "support/suite.h"

enum { RANKS = 7, BOARD = 2048, SEEDS = 60 };
enum { STAGED = 40004, RING = 4 * 40960 }; /* two chunks; four, in whole pages, fill a ring */
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

/* Operands may change places; how often was the second one a rank's own source? */
static int put_to_fetched;

static void sum(void *ctx, const void *left, void *inout, size_t count)
{
    const float *l = left;
    float *io = inout;
    (void) ctx;
    for (int i = 0; i < RANKS; i++)
        put_to_fetched += l >= src[i] && l < src[i] + FLOATS;
    for (size_t i = 0; i < count; i++)
        io[i] = l[i] + io[i];
}

static const struct wdl_coll_op leaning = {.fn = lean, .elem_bytes = 4};
static const struct wdl_coll_op summing = {
    .fn = sum, .elem_bytes = 4, .commutes = WDL_COLL_COMMUTES};
static const struct wdl_coll_op *op = &leaning;

static void open_rings(uint64_t seed, size_t ring, size_t long_ring)
{
    struct wdl_sim_params sim = {.seed = seed, .ranks = RANKS, .am_bytes_max = 1024};
    struct wdl_team_params params = {
        .id = 3, .board_bytes = BOARD, .window = 16, .staging_bytes = ring};
    params.staging_long_bytes = long_ring;
    ranks_open(&r, &sim);
    ranks_team_nodes(&r, &params, RANKS, 1, teams);
    struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER, .flags = WDL_COLL_MPI};
    for (int i = 0; i < RANKS; i++)
        ck_assert_int_eq(wdl_coll_start(teams[i], &barrier, &reqs[i]), WDL_OK);
    ranks_finish(&r, reqs, 1); /* the team is open */
}

static void open_ring(uint64_t seed, size_t ring)
{
    open_rings(seed, ring, 0);
}

static void open_with(uint64_t seed)
{
    open_ring(seed, 0);
}

static void close_all(void)
{
    ranks_drop(&r, teams);
    ranks_close(&r);
}

static void fill(void)
{
    for (int i = 0; i < RANKS; i++)
        for (int k = 0; k < FLOATS; k++)
            src[i][k] = (float) ((k * 7919 + i * 104729) % 10007) / 3.0f * (i & 1 ? 1e4f : 1e-3f);
}

static void start_from(int rank, size_t bytes, int flags, const float *from)
{
    struct wdl_coll_args args = {.kind = WDL_COLL_SCAN,
                                 .flags = WDL_COLL_MPI | flags,
                                 .bytes = bytes,
                                 .src = from,
                                 .dst = dst[rank],
                                 .algorithm = "node",
                                 .op = *op};
    ck_assert_int_eq(wdl_coll_start(teams[rank], &args, &reqs[rank]), WDL_OK);
}

static void start(int rank, size_t bytes, int flags, int in_place)
{
    if (in_place)
        memcpy(dst[rank], src[rank], bytes);
    start_from(rank, bytes, flags, in_place ? dst[rank] : src[rank]);
}

/* The ranks come in any order, with any time between them. Returns whether in place. */
static int all(struct wdl_prng *prng, size_t bytes, int flags)
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
    return in_place;
}

static void fold_up(size_t bytes)
{
    memcpy(wanted[0], src[0], bytes);
    for (int i = 1; i < RANKS; i++) {
        memcpy(wanted[i], src[i], bytes);
        op->fn(NULL, wanted[i - 1], wanted[i], bytes / 4);
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

/* Where operands may change places, what is too long to be staged is fetched to where the result
 * goes; neither a scan in place nor an exclusive one is, whose operands are there. */
START_TEST(long_ones_are_fetched_straight)
{
    static const size_t lengths[] = {1 << 17, (1 << 17) + 4, LONG};
    struct wdl_prng prng;
    fill();
    wdl_prng_init(&prng, 11);
    op = &summing;
    for (uint64_t seed = 1; seed <= SEEDS / 4; seed++) {
        open_ring(seed, 1 << 18);
        for (int i = 0; i < 3; i++)
            for (int exclusive = 0; exclusive < 2; exclusive++) {
                size_t bytes = lengths[i];
                fold_up(bytes);
                put_to_fetched = 0;
                int in_place = all(&prng, bytes, exclusive ? WDL_COLL_EXCLUSIVE : 0);
                ck_assert_int_eq(put_to_fetched > 0, i > 0 && !exclusive && !in_place);
                for (int rank = exclusive; rank < RANKS; rank++)
                    ck_assert_mem_eq(dst[rank], wanted[rank - exclusive], bytes);
            }
        close_all();
    }
    op = &leaning;
}
END_TEST

/* How many ranks were done while the one above computed with their prefix? */
static int done_meanwhile;

static void sum_late(void *ctx, const void *left, void *inout, size_t count)
{
    int above = 1;
    while (above < RANKS && left != src[above])
        above++;
    for (int i = 0; above < RANKS && i < 100; i++)
        (void) wdl_coll_progress(r.one[above - 1].proc);
    done_meanwhile += above < RANKS && reqs[above - 1].done;
    sum(ctx, left, inout, count);
}

/* A rank whose prefix is fetched has its memory back when it has been read. */
START_TEST(who_has_been_read_is_done)
{
    static const struct wdl_coll_op late = {
        .fn = sum_late, .elem_bytes = 4, .commutes = WDL_COLL_COMMUTES};
    const size_t bytes = (1 << 17) + 4; /* one part */
    fill();
    op = &summing;
    fold_up(bytes);
    op = &late;
    open_ring(1, 1 << 18);
    done_meanwhile = 0;
    for (int i = 0; i < RANKS; i++)
        start(i, bytes, 0, 0);
    ranks_finish(&r, reqs, 1);
    ck_assert_int_eq(done_meanwhile, RANKS - 1);
    for (int i = 0; i < RANKS; i++)
        ck_assert_mem_eq(dst[i], wanted[i], bytes);
    close_all();
    op = &leaning;
}
END_TEST

/* Some ranks scan in place, and some do not; who is done goes on, and its memory is something else
 * then. */
START_TEST(who_is_done_is_not_read_any_more)
{
    static float given[RANKS][FLOATS], got[RANKS][FLOATS];
    const size_t bytes = 1 << 18;
    struct wdl_prng prng;
    fill();
    wdl_prng_init(&prng, 12);
    op = &summing;
    fold_up(bytes);
    for (uint64_t seed = 1; seed <= SEEDS / 2; seed++) {
        int left[RANKS] = {0}, nleft = 0;
        open_ring(seed, 1 << 18);
        for (int come = 0; nleft < RANKS; ranks_step(&r)) {
            if (come < RANKS && wdl_prng_chance(&prng, 300)) {
                int in_place = wdl_prng_chance(&prng, 500);
                float *from = in_place ? dst[come] : given[come];
                memcpy(from, src[come], bytes);
                start_from(come++, bytes, 0, from);
            }
            for (int i = 0; i < come; i++)
                if (reqs[i].done && !left[i]) {
                    ck_assert_int_eq(reqs[i].status, WDL_OK);
                    memcpy(got[i], dst[i], bytes);
                    memset(dst[i], 0x55, bytes);
                    memset(given[i], 0x55, bytes);
                    left[i] = 1;
                    nleft++;
                }
        }
        for (int i = 0; i < RANKS; i++)
            ck_assert_mem_eq(got[i], wanted[i], bytes);
        close_all();
    }
    op = &leaning;
}
END_TEST

/* --- at once --- */

static int waits = 1; /* who comes at once, for the rank below */

static int at_once(int rank, size_t bytes, int exclusive, void *to)
{
    return wdl_coll_scan_at_once(teams[rank], &(struct wdl_coll_scan){.src = src[rank],
                                                                      .dst = to,
                                                                      .bytes = bytes,
                                                                      .exclusive = exclusive,
                                                                      .looks = waits ? 60 : 1,
                                                                      .op = &leaning});
}

/* Each goes as far ahead of the others as there are lines, and on when half of them are free. */
START_TEST(at_once_waits_for_the_rank_below_alone)
{
    fill();
    open_with(1);
    int ahead = teams[0]->numbers - (int) (teams[0]->next - teams[0]->low);
    ck_assert_int_gt(ahead, teams[0]->window);
    fold_up(8);
    ck_assert_int_eq(at_once(1, 8, 0, dst[1]), WDL_ERR_OP);
    for (int rank = 0; rank < RANKS; rank++) {
        for (int i = 0; i < ahead; i++) {
            memset(dst[rank], 0, 8);
            ck_assert_int_eq(at_once(rank, 8, 0, dst[rank]), WDL_OK);
            ck_assert_mem_eq(dst[rank], wanted[rank], 8);
            ck_assert(rank == 0 || i == ahead - 1 || at_once(0, 8, 0, dst[0]) == WDL_AGAIN ||
                      rank == RANKS - 1);
            if (rank == RANKS - 1 && i == ahead / 4)
                ck_assert_int_eq(at_once(0, 8, 0, dst[0]), WDL_AGAIN);
            wdl_team_check(teams[rank]);
        }
        ck_assert_int_eq(at_once(rank, 8, 0, dst[rank]),
                         rank == RANKS - 1 ? WDL_ERR_OP : WDL_AGAIN);
    }
    ck_assert_int_eq(at_once(0, 8, 0, dst[0]), WDL_OK);
    for (int rank = 1; rank < RANKS; rank++)
        ck_assert_int_eq(at_once(rank, 8, 0, dst[rank]), WDL_OK);
    close_all();
}
END_TEST

/* Everyone by requests or at once, where that is possible; many on end, of all lengths. */
START_TEST(at_once_and_by_requests_are_one)
{
    enum { MANY = 300 };
    static const size_t lengths[] = {4, 8, 48, 64, 112, 116};
    struct wdl_prng prng;
    fill();
    wdl_prng_init(&prng, 8);
    for (uint64_t seed = 1; seed <= 6; seed++) {
        int begun[RANKS] = {0}, left = RANKS * MANY, swift = 0;
        open_with(seed);
        while (left > 0) {
            int rank = (int) wdl_prng_below(&prng, RANKS), k = begun[rank];
            size_t bytes = lengths[k % 6];
            int exclusive = k / 6 % 2, status = WDL_ERR_OP;
            ranks_step(&r);
            if (k == MANY || (k > 0 && !reqs[rank].done))
                continue;
            if (wdl_prng_chance(&prng, 800)) {
                memset(dst[rank], 0, bytes);
                waits = wdl_prng_chance(&prng, 500);
                status = at_once(rank, bytes, exclusive, dst[rank]);
                if (status == WDL_AGAIN && waits)
                    continue;
                swift += status == WDL_OK;
            }
            if (status != WDL_OK)
                start(rank, bytes, exclusive ? WDL_COLL_EXCLUSIVE : 0, 0);
            else
                reqs[rank] = (struct wdl_coll_req){.done = 1};
            for (int i = 0; i < 1000 * RANKS && !reqs[rank].done && rank == 0; i++)
                ranks_step(&r);
            fold_up(bytes);
            if (reqs[rank].done && rank >= exclusive)
                ck_assert_mem_eq(dst[rank], wanted[rank - exclusive], bytes);
            begun[rank]++;
            left--;
        }
        ranks_finish(&r, reqs, 1);
        ck_assert_int_gt(swift, RANKS * MANY / 8);
        waits = 1;
        close_all();
    }
}
END_TEST

/* Who is through at once is no reason to wait for ever; others are told by its line. */
START_TEST(another_length_than_at_once_is_noticed)
{
    static const size_t others[] = {12, 116, BOARD, LONG};
    open_with(1);
    ck_assert_int_eq(at_once(0, 12, 0, dst[0]), WDL_OK);
    ck_assert_int_eq(at_once(1, 8, 0, dst[1]), WDL_ERR_OP);
    close_all();
    for (int i = 0; i < 4 * (RANKS - 1); i++) {
        int odd = i % (RANKS - 1) + 1;
        fill();
        open_with((uint64_t) i + 1);
        for (int rank = 0; rank < RANKS; rank++) {
            reqs[rank] = (struct wdl_coll_req){.done = 1};
            int status = rank == odd ? WDL_ERR_OP : at_once(rank, 8, 0, dst[rank]);
            ck_assert_int_eq(status, rank < odd ? WDL_OK : WDL_ERR_OP);
            if (status != WDL_OK)
                start(rank, rank == odd ? others[i / (RANKS - 1)] : 8, 0, 0);
        }
        ranks_finish(&r, reqs, 1);
        for (int rank = odd; rank < RANKS; rank++)
            ck_assert_int_eq(reqs[rank].status, WDL_ERR_TRUNCATE);
        close_all();
    }
}
END_TEST

/* However far ahead who was through at once is by then. */
START_TEST(another_kind_than_at_once_is_found_by_asking)
{
    struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER, .flags = WDL_COLL_MPI};
    fill();
    open_with(1);
    for (int i = 0; i < teams[0]->numbers - 8; i++)
        ck_assert_int_eq(at_once(0, 8, 0, dst[0]), WDL_OK);
    reqs[0] = (struct wdl_coll_req){.done = 1};
    for (int i = 1; i < RANKS; i++)
        ck_assert_int_eq(wdl_coll_start(teams[i], &barrier, &reqs[i]), WDL_OK);
    for (int i = 0; i < 100 * RANKS; i++) {
        ranks_doubt(&r, i % RANKS);
        ranks_step(&r);
    }
    ranks_finish(&r, reqs, 1);
    for (int i = 1; i < RANKS; i++)
        ck_assert_int_eq(reqs[i].status, WDL_ERR_TRUNCATE);
    close_all();
}
END_TEST

/* --- staged --- */

/* With room, without, and without staging. */
START_TEST(staged_ones_follow_the_rank_below)
{
    static const size_t rings[] = {RING, 2 * 40064, 0};
    struct wdl_prng prng;
    fill();
    fold_up(STAGED);
    wdl_prng_init(&prng, 9);
    for (uint64_t seed = 1; seed <= SEEDS / 2; seed++) {
        open_ring(seed, rings[seed % 3]);
        for (int i = 0; i < 12; i++) {
            int exclusive = i % 2;
            all(&prng, STAGED, exclusive ? WDL_COLL_EXCLUSIVE : 0);
            for (int rank = exclusive; rank < RANKS; rank++)
                ck_assert_mem_eq(dst[rank], wanted[rank - exclusive], STAGED);
        }
        close_all();
    }
}
END_TEST

/* Nobody waits for those above; one after the other, while there is room: in the ring that takes
 * them. */
START_TEST(staged_ones_wait_for_nobody_above)
{
    enum { ON_END = 4 };
    fill();
    fold_up(STAGED);
    for (int is_long = 0; is_long < 2; is_long++) {
        open_rings(1, is_long ? 40960 : RING, is_long ? RING : 0);
        for (int come = 0; come < RANKS; come++)
            for (int k = 0; k < ON_END; k++) {
                start(come, STAGED, k % 2 ? WDL_COLL_EXCLUSIVE : 0, 0);
                for (int i = 0; i < 100 * RANKS && !reqs[come].done; i++)
                    ranks_step(&r);
                ck_assert_int_eq(reqs[come].done, 1);
                ck_assert_int_eq(reqs[come].status, WDL_OK);
                if (come >= k % 2)
                    ck_assert_mem_eq(dst[come], wanted[come - k % 2], STAGED);
            }
        for (int i = 0; i < RANKS; i++)
            ck_assert_uint_eq(wdl_coll_stats(r.one[i].proc)->placed_bytes, 0);
        close_all();
    }
}
END_TEST

static void go_alone(int rank)
{
    start(rank, STAGED, 0, 0);
    for (int i = 0; i < 100 * RANKS && !reqs[rank].done; i++)
        ranks_step(&r);
    ck_assert_int_eq(reqs[rank].done, 1);
    ck_assert_int_eq(reqs[rank].status, WDL_OK);
}

/* Room comes back when the rank above has read, though the others have not come. */
START_TEST(what_the_rank_above_has_read_is_free)
{
    enum { FULL = 4 };
    fill();
    open_ring(1, RING);
    for (int rank = 0; rank < 2; rank++)
        for (int k = 0; k < FULL; k++)
            go_alone(rank);
    for (int k = 0; k < FULL; k++)
        go_alone(0);
    for (int i = 0; i < RANKS; i++)
        ck_assert_uint_eq(wdl_coll_stats(r.one[i].proc)->placed_bytes, 0);
    close_all();
}
END_TEST

START_TEST(another_length_of_a_staged_one_is_noticed)
{
    static const size_t others[] = {8, BOARD, STAGED - 4, LONG};
    for (int i = 0; i < 4 * RANKS; i++) {
        int odd = i % RANKS;
        fill();
        open_ring((uint64_t) odd + 1, RING);
        for (int rank = 0; rank < RANKS; rank++)
            start(rank, rank == odd ? others[i / RANKS] : STAGED, 0, 0);
        ranks_finish(&r, reqs, 1);
        for (int rank = 0; rank < RANKS; rank++)
            if (rank != odd)
                ck_assert_int_eq(reqs[rank].status, rank < odd ? WDL_OK : WDL_ERR_TRUNCATE);
        close_all();
    }
}
END_TEST

WDL_SUITE("mpid/coll/scan", the_same_bits_whoever_comes_first, longer_ones_are_the_same_each_time,
          another_length_is_noticed, long_ones_follow_the_rank_below, long_ones_do_not_wait_for_all,
          another_length_of_a_long_one_is_noticed, long_ones_are_fetched_straight,
          who_has_been_read_is_done, who_is_done_is_not_read_any_more,
          at_once_waits_for_the_rank_below_alone,
          at_once_and_by_requests_are_one, another_length_than_at_once_is_noticed,
          another_kind_than_at_once_is_found_by_asking, staged_ones_follow_the_rank_below,
          staged_ones_wait_for_nobody_above, what_the_rank_above_has_read_is_free,
          another_length_of_a_staged_one_is_noticed)
