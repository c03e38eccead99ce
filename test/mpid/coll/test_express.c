/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of coll/express: the lane
 * beside requests, in any order; when it is closed; that it costs nothing but stores. */
#include <string.h>
#include "mpid/coll/coll_impl.h"
#include "mpid/coll/ranks.h"
#include "support/suite.h"

enum { RANKS = 5, WORDS = 32, BYTES = 4 * WORDS, BOARD = 2048, WINDOW = 16, ROUNDS = 400 };

static struct ranks r;
static struct wdl_team *teams[RANKS];
static struct wdl_coll_req reqs[RANKS];
static struct wdl_run *lane[RANKS];
static uint32_t src[RANKS][RANKS * WORDS], dst[RANKS][RANKS * WORDS];

static const enum wdl_coll_kind kinds[] = {
    WDL_COLL_BARRIER, WDL_COLL_BROADCAST, WDL_COLL_SCATTER,   WDL_COLL_GATHER, WDL_COLL_GATHER_ALL,
    WDL_COLL_EXCHANGE, WDL_COLL_REDUCE,   WDL_COLL_ALLREDUCE, WDL_COLL_SCAN};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void open_node(uint64_t seed)
{
    struct wdl_sim_params sim = {.seed = seed, .ranks = RANKS, .am_bytes_max = 1024};
    struct wdl_team_params params = {.id = 3, .board_bytes = BOARD, .window = WINDOW};
    ranks_open(&r, &sim);
    ranks_team_nodes(&r, &params, RANKS, 1, teams);
    struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER, .flags = WDL_COLL_MPI};
    for (int i = 0; i < RANKS; i++)
        ck_assert_int_eq(wdl_coll_start(teams[i], &barrier, &reqs[i]), WDL_OK);
    ranks_finish(&r, reqs, 1);
}

static void close_node(void)
{
    ranks_drop(&r, teams);
    ranks_close(&r);
}

static uint32_t all_syncs; /* IN_ALLSYNC, OUT_ALLSYNC: in place of MYSYNC */

static uint32_t flags_of(void)
{
    uint32_t in = all_syncs & WDL_COLL_IN_ALLSYNC ? 0 : WDL_COLL_IN_MYSYNC;
    uint32_t out = all_syncs & WDL_COLL_OUT_ALLSYNC ? 0 : WDL_COLL_OUT_MYSYNC;
    return all_syncs | in | out | WDL_COLL_LOCAL;
}

static struct wdl_coll_args args_of(enum wdl_coll_kind kind, int rank, int root, size_t bytes)
{
    int has_source = kind != WDL_COLL_BARRIER && (kind > WDL_COLL_SCATTER || rank == root);
    return (struct wdl_coll_args){.kind = kind,
                                  .flags = flags_of(),
                                  .root = root,
                                  .bytes = kind == WDL_COLL_BARRIER ? 0 : bytes,
                                  .src = has_source ? src[rank] : NULL,
                                  .dst = dst[rank],
                                  .op = {.fn = ranks_sum, .elem_bytes = 4, .commutes = 1}};
}

static uint32_t word(int rank, size_t i)
{
    return src[rank][i];
}

/* Word i of what rank `me` gets; 0 where that is nothing. */
static uint32_t wanted(enum wdl_coll_kind kind, int me, int root, size_t i)
{
    int block = (int) (i / WORDS), first = i < WORDS, last = kind == WDL_COLL_SCAN ? me : RANKS - 1;
    size_t in = i % WORDS;
    uint32_t sum = 0;
    switch (kind) {
    case WDL_COLL_BARRIER:
        return 0;
    case WDL_COLL_BROADCAST:
        return first ? word(root, i) : 0;
    case WDL_COLL_SCATTER:
        return first ? word(root, (size_t) me * WORDS + i) : 0;
    case WDL_COLL_GATHER:
    case WDL_COLL_GATHER_ALL:
        return kind == WDL_COLL_GATHER && me != root ? 0 : word(block, in);
    case WDL_COLL_EXCHANGE:
        return word(block, (size_t) me * WORDS + in);
    default:
        for (int k = 0; k <= last; k++)
            sum += word(k, in);
        return !first || (kind == WDL_COLL_REDUCE && me != root) ? 0 : sum;
    }
}

static void fill(struct wdl_prng *prng)
{
    memset(dst, 0, sizeof(dst));
    for (int i = 0; i < RANKS; i++)
        for (size_t k = 0; k < RANKS * WORDS; k++)
            src[i][k] = (uint32_t) wdl_prng_below(prng, 1000) + 1;
}

static int is_over(int i)
{
    if (!lane[i])
        return reqs[i].done;
    int status = wdl_coll_express_look(lane[i]);
    ck_assert(status == WDL_AGAIN || status == WDL_OK);
    return status == WDL_OK;
}

/* One at once: WDL_OK: done. */
static int short_one(enum wdl_coll_kind kind, int rank, int root, size_t bytes, int waits)
{
    static const struct wdl_coll_op sum = {.fn = ranks_sum, .elem_bytes = 4, .commutes = 1};
    int is_data = kind == WDL_COLL_BROADCAST && rank != root;
    struct wdl_coll_short call = {.kind = kind, .root = root, .bytes = bytes};
    call.looks = waits ? 60 : 1;
    call.src = is_data ? dst[rank] : src[rank];
    call.dst = dst[rank];
    call.op = kind == WDL_COLL_REDUCE || kind == WDL_COLL_ALLREDUCE ? &sum : NULL;
    return wdl_coll_at_once(teams[rank], &call);
}

static int at_once(int rank, int root, size_t bytes)
{
    return short_one(WDL_COLL_BROADCAST, rank, root, bytes, 1);
}

static int can_be_at_once(enum wdl_coll_kind kind)
{
    return kind != WDL_COLL_SCAN;
}

static int went_at_once; /* of all collectives, by how many ranks */

/* Each rank by any way, or all by the lane; in any order, with looks and progress in between. */
static void collective(struct wdl_prng *prng, enum wdl_coll_kind kind, int root, int all_express)
{
    int state[RANKS] = {0}, left = RANKS; /* 0: not begun, 1: under way, 2: over */
    fill(prng);
    while (left > 0) {
        int i = (int) wdl_prng_below(prng, RANKS), waits = wdl_prng_chance(prng, 500);
        int tries = can_be_at_once(kind) && state[i] == 0 && !all_express && !all_syncs;
        int status = tries && wdl_prng_chance(prng, 500) ? short_one(kind, i, root, BYTES, waits)
                                                         : WDL_ERR_ARG;
        if (status == WDL_OK) {
            if (kind == WDL_COLL_BROADCAST && i == root)
                memcpy(dst[i], src[i], BYTES); /* as the others' */
            state[i] = 2;
            left--;
            went_at_once++;
        } else if (state[i] == 0 && status != WDL_AGAIN) {
            struct wdl_coll_args args = args_of(kind, i, root, BYTES);
            lane[i] = all_express || wdl_prng_chance(prng, 500) ? wdl_coll_express(teams[i], &args)
                                                            : NULL;
            ck_assert(lane[i] || !all_express);
            if (!lane[i])
                ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
            state[i] = 1;
        } else if (state[i] == 1 && is_over(i)) {
            state[i] = 2;
            left--;
            for (int k = 0; k < RANKS && all_syncs & WDL_COLL_OUT_ALLSYNC; k++)
                ck_assert_int_ne(state[k], 0);
        } else {
            wdl_proc_progress(r.one[i].proc);
        }
    }
    for (int i = 0; i < RANKS; i++)
        for (size_t k = 0; k < RANKS * WORDS; k++) {
            int is_source = kind == WDL_COLL_BROADCAST && i == root;
            ck_assert_uint_eq(dst[i][k], is_source && k >= WORDS ? 0 : wanted(kind, i, root, k));
        }
}

START_TEST(ranks_come_by_either_way)
{
    struct wdl_prng prng;
    wdl_prng_init(&prng, 11);
    open_node(1);
    for (int round = 0; round < ROUNDS; round++)
        collective(&prng, kinds[wdl_prng_below(&prng, KINDS)], (int) wdl_prng_below(&prng, RANKS),
                   round % 3 == 0);
    ck_assert_int_gt(went_at_once, ROUNDS / 4);
    for (int round = 0; round < ROUNDS; round++) {
        static const uint32_t all[] = {WDL_COLL_IN_ALLSYNC, WDL_COLL_OUT_ALLSYNC,
                                       WDL_COLL_IN_ALLSYNC | WDL_COLL_OUT_ALLSYNC};
        all_syncs = all[wdl_prng_below(&prng, 3)];
        collective(&prng, kinds[1 + wdl_prng_below(&prng, KINDS - 1)],
                   (int) wdl_prng_below(&prng, RANKS), round % 3 == 0);
        all_syncs = 0;
    }
    close_node();
}
END_TEST

START_TEST(the_lane_takes_no_memory_and_no_message)
{
    struct wdl_prng prng;
    wdl_prng_init(&prng, 12);
    open_node(2);
    uint64_t sent = wdl_sim_counts(r.sim)->sent;
    uint64_t made[RANKS];
    int live[RANKS];
    for (int i = 0; i < RANKS; i++) {
        live[i] = r.one[i].host.live;
        made[i] = wdl_coll_stats(r.one[i].proc)->runs_made;
    }
    for (int k = 0; k < KINDS; k++)
        for (int n = 0; n < 3 * WINDOW; n++)
            collective(&prng, kinds[k], n % RANKS, 1);
    for (int i = 0; i < RANKS; i++) {
        ck_assert_int_eq(r.one[i].host.live, live[i]);
        ck_assert_uint_eq(wdl_coll_stats(r.one[i].proc)->runs_made, made[i]);
    }
    ck_assert_uint_eq(wdl_sim_counts(r.sim)->sent, sent);
    close_node();
}
END_TEST

static void no_work(void *local)
{
    (void) local;
}

/* Nothing has happened where it is closed: the number is still to be had by a request. */
START_TEST(when_it_is_closed)
{
    open_node(3);
    struct wdl_coll_args good = args_of(WDL_COLL_ALLREDUCE, 0, 0, BYTES);
    struct wdl_coll_args other[] = {good, good, good, good, good, good};
    other[0].flags = WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_NOSYNC | WDL_COLL_LOCAL;
    other[1].before = no_work;
    other[2].after = no_work;
    other[3].release = no_work;
    other[4].algorithm = "node";
    other[5].bytes = BOARD + 4; /* a long fold */
    for (size_t k = 0; k < sizeof(other) / sizeof(other[0]); k++)
        ck_assert_ptr_null(wdl_coll_express(teams[0], &other[k]));
    uint32_t next = teams[0]->next;
    lane[0] = wdl_coll_express(teams[0], &good);
    ck_assert_ptr_nonnull(lane[0]);
    ck_assert_uint_eq(teams[0]->next, next + 1);
    ck_assert_ptr_null(wdl_coll_express(teams[0], &good)); /* one at a time */
    static struct wdl_coll_req second[RANKS];
    ck_assert_int_eq(wdl_coll_start(teams[0], &good, &second[0]), WDL_OK);
    for (int i = 1; i < RANKS; i++) {
        struct wdl_coll_args args = args_of(WDL_COLL_ALLREDUCE, i, 0, BYTES);
        ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
        ck_assert_ptr_null(wdl_coll_express(teams[i], &args)); /* something is under way */
        ck_assert_int_eq(wdl_coll_start(teams[i], &args, &second[i]), WDL_OK);
    }
    while (wdl_coll_express_look(lane[0]) == WDL_AGAIN)
        ranks_step(&r);
    reqs[0].done = 1;
    ranks_finish(&r, reqs, 1);
    ranks_finish(&r, second, 1);
    close_node();
}
END_TEST

/* A length of its own is an error on both sides of it, by either way. */
START_TEST(another_length_is_an_error)
{
    for (int odd = 0; odd < RANKS; odd++) {
        open_node(4);
        int statuses[RANKS], left = RANKS;
        for (int i = 0; i < RANKS; i++) {
            struct wdl_coll_args args =
                args_of(WDL_COLL_ALLREDUCE, i, 0, i == odd ? BYTES - 4 : BYTES);
            lane[i] = wdl_coll_express(teams[i], &args);
            ck_assert_ptr_nonnull(lane[i]);
            statuses[i] = WDL_AGAIN;
        }
        while (left > 0)
            for (int i = 0; i < RANKS; i++) {
                if (statuses[i] != WDL_AGAIN)
                    continue;
                statuses[i] = wdl_coll_express_look(lane[i]);
                left -= statuses[i] != WDL_AGAIN;
                wdl_proc_progress(r.one[i].proc);
            }
        for (int i = 0; i < RANKS; i++)
            ck_assert_int_eq(statuses[i], WDL_ERR_TRUNCATE);
        close_node();
    }
}
END_TEST

/* A root goes as far ahead as there are boards, and on when half of them are free. */
START_TEST(a_root_waits_for_nobody)
{
    open_node(5);
    int n = WINDOW - (int) (teams[0]->next - teams[0]->low);
    ck_assert_int_gt(n, WINDOW / 2);
    ck_assert_int_eq(at_once(1, 0, 8), WDL_ERR_OP);
    for (int rank = 0; rank < RANKS; rank++) {
        for (int i = 0; i < n; i++) {
            src[0][0] = (uint32_t) i + 7;
            dst[rank][0] = 0;
            ck_assert_int_eq(at_once(rank, 0, 8), WDL_OK);
            ck_assert(rank == 0 || dst[rank][0] == (uint32_t) i + 7);
            wdl_team_check(teams[rank]);
            if (rank == RANKS - 1 && i == n / 4)
                ck_assert_int_eq(at_once(0, 0, 8), WDL_AGAIN);
        }
        if (rank < RANKS - 1)
            ck_assert_int_eq(at_once(0, 0, 8), WDL_AGAIN);
    }
    ck_assert_int_eq(at_once(0, 0, 8), WDL_OK);
    for (int rank = 1; rank < RANKS; rank++)
        ck_assert_int_eq(at_once(rank, 0, 8), WDL_OK);
    close_node();
}
END_TEST

/* Who comes shows first, whether it waits, by the lane, or not, by a request, and the last to come
 * takes all at once. Nothing is shown twice. */
START_TEST(the_last_to_come_takes_all)
{
    static const enum wdl_coll_kind all[] = {WDL_COLL_GATHER_ALL, WDL_COLL_EXCHANGE,
                                             WDL_COLL_ALLREDUCE};
    struct wdl_prng prng;
    wdl_prng_init(&prng, 13);
    open_node(7);
    for (size_t k = 0; k < 3; k++) {
        fill(&prng);
        uint64_t stored[RANKS];
        for (int i = 0; i < RANKS; i++)
            stored[i] = wdl_coll_stats(r.one[i].proc)->stored;
        for (int i = 0; i < RANKS - 1; i++) {
            struct wdl_coll_args args = args_of(all[k], i, 0, BYTES);
            int waits = i % 2;
            ck_assert_int_eq(short_one(all[k], i, 0, BYTES, waits), WDL_ERR_OP);
            ck_assert_uint_eq(wdl_coll_stats(r.one[i].proc)->stored, stored[i] + 1);
            lane[i] = waits ? wdl_coll_express(teams[i], &args) : NULL;
            if (!waits)
                ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
            ck_assert(!is_over(i));
        }
        ck_assert_int_eq(short_one(all[k], RANKS - 1, 0, BYTES, k % 2), WDL_OK);
        for (int i = 0; i < RANKS; i++) {
            wdl_proc_progress(r.one[i].proc);
            ck_assert(i == RANKS - 1 || is_over(i));
            for (size_t j = 0; j < RANKS * WORDS; j++)
                ck_assert_uint_eq(dst[i][j], wanted(all[k], i, 0, j));
            ck_assert_uint_ge(wdl_coll_stats(r.one[i].proc)->stored, stored[i] + 1);
            ck_assert_uint_le(wdl_coll_stats(r.one[i].proc)->stored,
                              stored[i] + 1 + (all[k] == WDL_COLL_EXCHANGE));
        }
    }
    close_node();
}
END_TEST

/* A rank of a reduce that only gives is done; its root once all have given. In place, too, and only
 * then the root copies what it has itself. */
START_TEST(who_only_gives_is_done)
{
    static const struct wdl_coll_op sum = {.fn = ranks_sum, .elem_bytes = 4, .commutes = 1};
    struct wdl_prng prng;
    wdl_prng_init(&prng, 14);
    open_node(8);
    for (int way = 0; way < 2 * RANKS; way++) {
        int root = way / 2, in_place = way % 2;
        fill(&prng);
        memcpy(dst[root], src[root], BYTES);
        struct wdl_coll_short call = {.kind = WDL_COLL_REDUCE, .root = root, .bytes = BYTES};
        call.src = in_place ? dst[root] : src[root];
        call.dst = dst[root];
        call.op = &sum;
        for (int i = 0; i < RANKS; i++) {
            if (i == root)
                continue;
            ck_assert_int_eq(wdl_coll_at_once(teams[root], &call), WDL_ERR_OP);
            ck_assert_int_eq(short_one(WDL_COLL_REDUCE, i, root, BYTES, i % 2), WDL_OK);
        }
        uint64_t before = wdl_coll_stats(r.one[root].proc)->copied_bytes;
        ck_assert_int_eq(wdl_coll_at_once(teams[root], &call), WDL_OK);
        ck_assert_uint_eq(wdl_coll_stats(r.one[root].proc)->copied_bytes - before,
                          in_place ? BYTES : 0);
        for (size_t k = 0; k < WORDS; k++)
            ck_assert_uint_eq(dst[root][k], wanted(WDL_COLL_REDUCE, root, root, k));
    }
    close_node();
}
END_TEST

/* Another length or another kind than that of a root that is through is an error; of another root
 * nothing is taken from it. */
START_TEST(what_a_root_did_not_mean_is_noticed)
{
    for (int what = 0; what < 3; what++) {
        open_node(6);
        ck_assert_int_eq(at_once(0, 0, 12), WDL_OK);
        ck_assert_int_eq(at_once(1, what == 1 ? 2 : 0, what == 0 ? 8 : 12),
                         what == 2 ? WDL_OK : WDL_ERR_OP);
        reqs[0] = reqs[1] = (struct wdl_coll_req){.done = 1};
        for (int i = what == 2 ? 2 : 1; i < RANKS; i++) {
            struct wdl_coll_args args = args_of(WDL_COLL_BROADCAST, i, what == 1 ? 2 : 0, 8);
            if (what == 2)
                args = args_of(WDL_COLL_ALLREDUCE, i, 0, 12);
            ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
        }
        for (int i = 0; i < 100 * RANKS; i++) {
            ranks_doubt(&r, i % RANKS);
            ranks_step(&r);
        }
        ranks_finish(&r, reqs, 1);
        for (int i = what == 2 ? 2 : 1; i < RANKS; i++)
            /* those with another root need nothing of this one */
            ck_assert_int_eq(reqs[i].status, what == 1 ? WDL_OK : WDL_ERR_TRUNCATE);
        close_node();
    }
}
END_TEST

WDL_SUITE("mpid/coll/express", ranks_come_by_either_way, the_lane_takes_no_memory_and_no_message,
          when_it_is_closed, another_length_is_an_error, a_root_waits_for_nobody,
          the_last_to_come_takes_all, who_only_gives_is_done, what_a_root_did_not_mean_is_noticed)
