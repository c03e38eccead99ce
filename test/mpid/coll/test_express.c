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
static size_t words = WORDS; /* of a block: more than a line takes, but where a test says so */
static uint32_t src[RANKS][RANKS * WORDS], dst[RANKS][RANKS * WORDS];

static const enum wdl_coll_kind kinds[] = {
    WDL_COLL_BARRIER, WDL_COLL_BROADCAST, WDL_COLL_SCATTER,   WDL_COLL_GATHER, WDL_COLL_GATHER_ALL,
    WDL_COLL_EXCHANGE, WDL_COLL_REDUCE,   WDL_COLL_ALLREDUCE, WDL_COLL_SCAN,
    WDL_COLL_REDUCE_SCATTER};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void open_node(uint64_t seed)
{
    struct wdl_sim_params sim = {.seed = seed, .ranks = RANKS, .am_bytes_max = 1024};
    struct wdl_team_params params = {.id = 3, .board_bytes = BOARD, .window = WINDOW};
    params.staging_bytes = 256 << 10;
    struct wdl_coll_site site = {.nodes = 1, .board_bytes = BOARD, .fetches = 1};
    ranks_open(&r, &sim);
    ranks_team_nodes(&r, &params, RANKS, 1, teams);
    for (int i = 0; i < RANKS; i++)
        wdl_coll_site_set(r.one[i].proc, &site);
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
    int block = (int) (i / words), first = i < words, last = kind == WDL_COLL_SCAN ? me : RANKS - 1;
    size_t in = i % words;
    uint32_t sum = 0;
    if (kind == WDL_COLL_REDUCE_SCATTER)
        in += (size_t) me * words;
    switch (kind) {
    case WDL_COLL_BARRIER:
        return 0;
    case WDL_COLL_BROADCAST:
        return first ? word(root, i) : 0;
    case WDL_COLL_SCATTER:
        return first ? word(root, (size_t) me * words + i) : 0;
    case WDL_COLL_GATHER:
    case WDL_COLL_GATHER_ALL:
        return kind == WDL_COLL_GATHER && me != root ? 0 : word(block, in);
    case WDL_COLL_EXCHANGE:
        return word(block, (size_t) me * words + in);
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
    call.op = wdl_coll_reduces(kind) ? &sum : NULL;
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
        int status = WDL_ERR_ARG;
        if (tries && wdl_prng_chance(prng, 500))
            status = short_one(kind, i, root, 4 * words, waits);
        if (status == WDL_OK) {
            if (kind == WDL_COLL_BROADCAST && i == root)
                memcpy(dst[i], src[i], 4 * words); /* as the others' */
            state[i] = 2;
            left--;
            went_at_once++;
        } else if (state[i] == 0 && status != WDL_AGAIN) {
            struct wdl_coll_args args = args_of(kind, i, root, 4 * words);
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
        for (size_t k = 0; k < RANKS * words; k++) {
            int is_source = kind == WDL_COLL_BROADCAST && i == root;
            ck_assert_uint_eq(dst[i][k], is_source && k >= words ? 0 : wanted(kind, i, root, k));
        }
}

START_TEST(ranks_come_by_either_way)
{
    struct wdl_prng prng;
    wdl_prng_init(&prng, 11);
    open_node(1);
    for (int round = 0; round < 2 * ROUNDS; round++) {
        words = round % 2 ? WORDS : 4; /* a line, of all five blocks, too */
        collective(&prng, kinds[wdl_prng_below(&prng, KINDS)], (int) wdl_prng_below(&prng, RANKS),
                   round % 3 == 0);
    }
    ck_assert_int_gt(went_at_once, ROUNDS / 2);
    for (int round = 0; round < 2 * ROUNDS; round++) {
        words = round % 2 ? WORDS : 4;
        static const uint32_t all[] = {WDL_COLL_IN_ALLSYNC, WDL_COLL_OUT_ALLSYNC,
                                       WDL_COLL_IN_ALLSYNC | WDL_COLL_OUT_ALLSYNC};
        all_syncs = all[wdl_prng_below(&prng, 3)];
        collective(&prng, kinds[1 + wdl_prng_below(&prng, KINDS - 1)],
                   (int) wdl_prng_below(&prng, RANKS), round % 3 == 0);
        all_syncs = 0;
    }
    words = WORDS;
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

/* A root goes as far ahead as there are lines for little, or boards for more, and on when half of
 * them are free. */
static void go_ahead(size_t bytes, int most)
{
    open_node(5);
    int n = most - (int) (teams[0]->next - teams[0]->low);
    ck_assert_int_gt(n, most / 2);
    ck_assert_int_eq(at_once(1, 0, bytes), WDL_ERR_OP);
    for (int rank = 0; rank < RANKS; rank++) {
        for (int i = 0; i < n; i++) {
            src[0][0] = (uint32_t) i + 7;
            dst[rank][0] = 0;
            ck_assert_int_eq(at_once(rank, 0, bytes), WDL_OK);
            ck_assert(rank == 0 || dst[rank][0] == (uint32_t) i + 7);
            wdl_team_check(teams[rank]);
            if (rank == RANKS - 1 && i == n / 4)
                ck_assert_int_eq(at_once(0, 0, bytes), WDL_AGAIN);
        }
        if (rank < RANKS - 1)
            ck_assert_int_eq(at_once(0, 0, bytes), WDL_AGAIN);
    }
    ck_assert_int_eq(at_once(0, 0, bytes), WDL_OK);
    for (int rank = 1; rank < RANKS; rank++)
        ck_assert_int_eq(at_once(rank, 0, bytes), WDL_OK);
    close_node();
}

START_TEST(a_root_waits_for_nobody)
{
    open_node(5);
    int numbers = teams[0]->numbers;
    close_node();
    ck_assert_int_gt(numbers, 4 * WINDOW);
    go_ahead(WDL_COLL_LINE_BYTES, numbers);
    go_ahead(WDL_COLL_LINE_BYTES + 1, WINDOW);
}
END_TEST

/* The same of what is gathered: who gives little is as far ahead of its root, and then by no other
 * way until there is room for that. */
START_TEST(who_gives_waits_for_nobody)
{
    static const enum wdl_coll_kind up[] = {WDL_COLL_GATHER, WDL_COLL_REDUCE};
    for (int k = 0; k < 2; k++) {
        open_node(9);
        int most = teams[0]->numbers - (int) (teams[0]->next - teams[0]->low);
        for (int i = 0; i < most; i++)
            for (int rank = 1; rank < RANKS; rank++) {
                src[rank][0] = (uint32_t) (i * RANKS + rank);
                ck_assert_int_eq(short_one(up[k], rank, 0, 8, 1), WDL_OK);
            }
        struct wdl_coll_args args = args_of(up[k], 1, 0, 8);
        ck_assert_int_eq(short_one(up[k], 1, 0, 8, 1), WDL_AGAIN);
        ck_assert_ptr_null(wdl_coll_express(teams[1], &args));
        for (int i = 0; i < most; i++) {
            ck_assert_int_eq(short_one(up[k], 0, 0, 8, 1), WDL_OK);
            uint32_t sum = src[0][0];
            for (int rank = 1; rank < RANKS; rank++) {
                uint32_t given = (uint32_t) (i * RANKS + rank);
                sum += given;
                if (up[k] == WDL_COLL_GATHER)
                    ck_assert_uint_eq(dst[0][2 * rank], given);
            }
            if (up[k] == WDL_COLL_REDUCE)
                ck_assert_uint_eq(dst[0][0], sum);
        }
        ck_assert_int_eq(short_one(up[k], 1, 0, 8, 1), WDL_OK);
        close_node();
    }
}
END_TEST

/* --- blocks that vary --- */

enum { BLOCK_MOST = 3000 };

struct varied {
    size_t bytes[RANKS][RANKS]; /* from a rank to a rank */
    size_t src_at[RANKS][RANKS], dst_at[RANKS][RANKS];
    size_t given[RANKS][RANKS], got[RANKS][RANKS];
    unsigned char src[RANKS][RANKS * BLOCK_MOST], dst[RANKS][RANKS * BLOCK_MOST];
};
static struct varied v;

static int gives(enum wdl_coll_kind kind, int from, int to, int root)
{
    return kind == WDL_COLL_SCATTER ? from == root : kind == WDL_COLL_GATHER ? to == root : 1;
}

/* All little, so that lines do; or a mix. What is gathered to all is the same for all. */
static void vary(struct wdl_prng *prng, enum wdl_coll_kind kind)
{
    static const size_t most[] = {16, 112, 400, BLOCK_MOST};
    size_t up_to = most[wdl_prng_below(prng, 4)];
    memset(v.dst, 0, sizeof(v.dst));
    for (int i = 0; i < RANKS; i++) {
        for (size_t k = 0; k < sizeof(v.src[i]); k++)
            v.src[i][k] = (unsigned char) wdl_prng_below(prng, 256);
        for (int j = 0; j < RANKS; j++) {
            size_t n = wdl_prng_chance(prng, 200) ? 0 : wdl_prng_below(prng, up_to + 1);
            v.bytes[i][j] = kind == WDL_COLL_GATHER_ALL && j > 0 ? v.bytes[i][0] : n;
        }
    }
    for (int i = 0; i < RANKS; i++)
        for (int j = 0; j < RANKS; j++) {
            v.given[i][j] = v.bytes[i][j];
            v.got[i][j] = v.bytes[j][i];
            v.src_at[i][j] = (size_t) (kind == WDL_COLL_GATHER || kind == WDL_COLL_GATHER_ALL
                                           ? 0
                                           : (RANKS - 1 - j) * BLOCK_MOST);
            v.dst_at[i][j] = (size_t) (kind == WDL_COLL_SCATTER ? 0 : j * BLOCK_MOST);
        }
}

static struct wdl_coll_args varied_args(enum wdl_coll_kind kind, int i, int root)
{
    struct wdl_coll_args args = {
        .kind = kind, .flags = WDL_COLL_MPI, .root = root, .variable = 1};
    args.src = v.src[i];
    args.dst = v.dst[i];
    args.bytes = kind == WDL_COLL_SCATTER ? v.bytes[root][i] :
        kind == WDL_COLL_EXCHANGE         ? v.bytes[i][i]
                                          : v.bytes[i][root];
    if (kind == WDL_COLL_EXCHANGE || (kind == WDL_COLL_SCATTER && i == root))
        args.src_blocks = (struct wdl_coll_blocks){.bytes = v.given[i], .at = v.src_at[i]};
    if (kind != WDL_COLL_SCATTER && (kind != WDL_COLL_GATHER || i == root))
        args.dst_blocks = (struct wdl_coll_blocks){.bytes = v.got[i], .at = v.dst_at[i]};
    return args;
}

static int varied_at_once(const struct wdl_coll_args *args, int i, int looks)
{
    struct wdl_coll_short call = {.kind = args->kind,
                                  .root = args->root,
                                  .looks = looks,
                                  .src = args->src,
                                  .dst = args->dst,
                                  .bytes = args->bytes,
                                  .op = args->op.fn ? &args->op : NULL,
                                  .variable = 1,
                                  .src_blocks = args->src_blocks,
                                  .dst_blocks = args->dst_blocks};
    return wdl_coll_at_once(teams[i], &call);
}

static void varied_check(enum wdl_coll_kind kind, int root)
{
    for (int i = 0; i < RANKS; i++)
        for (int j = 0; j < RANKS; j++) {
            size_t bytes = gives(kind, j, i, root) ? v.bytes[j][i] : 0;
            const unsigned char *got = v.dst[i] + v.dst_at[i][j];
            if (kind == WDL_COLL_SCATTER && j != root)
                continue;
            ck_assert(memcmp(got, v.src[j] + v.src_at[j][i], bytes) == 0);
            for (size_t k = bytes; k < BLOCK_MOST; k++) /* and no more */
                ck_assert_uint_eq(got[k], 0);
        }
}

/* Rank i of one collective: what comes next, after it has tried at once, or has not (ERR_OP).
 * state: 0: not begun, 1: under way, 2: over, which it then returns. */
static int goes_on(struct wdl_prng *prng, int i, int *state, int status,
                   const struct wdl_coll_args *args)
{
    if (*state == 0 && status == WDL_ERR_OP) {
        lane[i] = wdl_prng_chance(prng, 500) ? wdl_coll_express(teams[i], args) : NULL;
        if (!lane[i])
            ck_assert_int_eq(wdl_coll_start(teams[i], args, &reqs[i]), WDL_OK);
        *state = 1;
    } else if (status == WDL_OK || (*state == 1 && is_over(i))) {
        *state = 2;
        return 1;
    } else {
        wdl_proc_progress(r.one[i].proc);
    }
    return 0;
}

START_TEST(blocks_that_vary_come_by_any_way)
{
    static const enum wdl_coll_kind varying[] = {WDL_COLL_SCATTER, WDL_COLL_GATHER,
                                                 WDL_COLL_GATHER_ALL, WDL_COLL_EXCHANGE};
    struct wdl_prng prng;
    int went[4] = {0};
    wdl_prng_init(&prng, 15);
    open_node(10);
    for (int round = 0; round < ROUNDS; round++) {
        int k = (int) wdl_prng_below(&prng, 4), root = (int) wdl_prng_below(&prng, RANKS);
        int state[RANKS] = {0}, left = RANKS;
        enum wdl_coll_kind kind = varying[k];
        vary(&prng, kind);
        while (left > 0) {
            int i = (int) wdl_prng_below(&prng, RANKS), status = WDL_ERR_OP;
            struct wdl_coll_args args = varied_args(kind, i, root);
            if (state[i] == 0 && wdl_prng_chance(&prng, 700))
                status = varied_at_once(&args, i, 1);
            went[k] += status == WDL_OK;
            left -= goes_on(&prng, i, &state[i], status, &args);
        }
        varied_check(kind, root);
    }
    for (int k = 0; k < 4; k++)
        ck_assert_int_gt(went[k], ROUNDS / 20);
    close_node();
}
END_TEST

/* A vector whose parts vary, some of which may be empty: reduced, and its parts are each one's. */
START_TEST(parts_that_vary_come_by_any_way)
{
    struct wdl_prng prng;
    int went = 0;
    wdl_prng_init(&prng, 18);
    open_node(13);
    for (int round = 0; round < ROUNDS; round++) {
        size_t bytes[RANKS], at[RANKS], all = 0;
        int state[RANKS] = {0}, left = RANKS;
        fill(&prng);
        for (int i = 0; i < RANKS; i++) {
            bytes[i] = 4 * wdl_prng_below(&prng, WORDS);
            at[i] = all;
            all += bytes[i];
        }
        while (left > 0) {
            int i = (int) wdl_prng_below(&prng, RANKS), status = WDL_ERR_OP;
            struct wdl_coll_args args = args_of(WDL_COLL_REDUCE_SCATTER, i, 0, bytes[i]);
            args.variable = 1;
            args.src_blocks = (struct wdl_coll_blocks){.bytes = bytes, .at = at};
            if (state[i] == 0 && wdl_prng_chance(&prng, 700))
                status = varied_at_once(&args, i, 1);
            went += status == WDL_OK;
            left -= goes_on(&prng, i, &state[i], status, &args);
        }
        for (int i = 0; i < RANKS; i++)
            for (size_t k = 0; k < RANKS * WORDS; k++) {
                uint32_t want = 0;
                for (int from = 0; from < RANKS && 4 * k < bytes[i]; from++)
                    want += src[from][at[i] / 4 + k];
                ck_assert_uint_eq(dst[i][k], want);
            }
    }
    ck_assert_int_gt(went, ROUNDS / 4);
    close_node();
}
END_TEST

/* Little of them takes a line, more a board; what fits neither is staged: no call of the system
 * for any. Who only gives is through at once. */
START_TEST(blocks_that_vary_are_not_fetched)
{
    static const size_t up_to[] = {16, 300, BLOCK_MOST};
    open_node(11);
    for (int k = 0; k < 3; k++)
        for (int scatters = 0; scatters < 2; scatters++) {
            enum wdl_coll_kind kind = scatters ? WDL_COLL_SCATTER : WDL_COLL_EXCHANGE;
            struct wdl_prng prng;
            wdl_prng_init(&prng, 16);
            vary(&prng, kind);
            for (int i = 0; i < RANKS; i++)
                for (int j = 0; j < RANKS; j++)
                    v.bytes[i][j] = v.given[i][j] = v.got[j][i] = up_to[k] - (size_t) (i + j);
            for (int i = 0; i < RANKS; i++) {
                struct wdl_coll_args args = varied_args(kind, i, 0);
                uint64_t placed = wdl_coll_stats(r.one[i].proc)->placed_bytes;
                int is_last = i == RANKS - 1, is_once = k < 2 && (scatters || is_last);
                ck_assert_int_eq(varied_at_once(&args, i, 1), is_once ? WDL_OK : WDL_ERR_OP);
                if (is_once)
                    reqs[i] = (struct wdl_coll_req){.done = 1};
                else
                    ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
                ck_assert_uint_eq(wdl_coll_stats(r.one[i].proc)->placed_bytes, placed);
            }
            uint64_t placed[RANKS];
            for (int i = 0; i < RANKS; i++)
                placed[i] = wdl_coll_stats(r.one[i].proc)->placed_bytes;
            ranks_finish(&r, reqs, 1);
            for (int i = 0; i < RANKS; i++)
                ck_assert_uint_eq(wdl_coll_stats(r.one[i].proc)->placed_bytes, placed[i]);
            varied_check(kind, 0);
        }
    close_node();
}
END_TEST

/* Another length than its owner gives, on a line or not, is an error, and none is where one thinks
 * of a line and the other of a board. */
START_TEST(another_length_of_a_block_is_an_error)
{
    static const enum wdl_coll_kind varying[] = {WDL_COLL_SCATTER, WDL_COLL_GATHER,
                                                 WDL_COLL_EXCHANGE};
    static const size_t wrong[] = {12, 300, BLOCK_MOST};
    for (int k = 0; k < 9; k++) {
        struct wdl_prng prng;
        wdl_prng_init(&prng, 17);
        open_node(12);
        enum wdl_coll_kind kind = varying[k % 3];
        vary(&prng, kind);
        for (int i = 0; i < RANKS; i++)
            for (int j = 0; j < RANKS; j++)
                v.bytes[i][j] = v.given[i][j] = v.got[j][i] = 8;
        if (kind == WDL_COLL_GATHER || kind == WDL_COLL_EXCHANGE)
            v.got[0][1] = wrong[k / 3]; /* of what rank 1 gives to rank 0 */
        else
            v.given[0][1] = wrong[k / 3];
        for (int i = 0; i < RANKS; i++) {
            struct wdl_coll_args args = varied_args(kind, i, 0);
            int status = varied_at_once(&args, i, 1);
            reqs[i] = (struct wdl_coll_req){.done = status == WDL_OK, .status = WDL_OK};
            if (status != WDL_OK)
                ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
        }
        for (int i = 0; i < 100 * RANKS; i++) {
            ranks_doubt(&r, i % RANKS);
            ranks_step(&r);
        }
        ranks_finish(&r, reqs, 1);
        int who = kind == WDL_COLL_SCATTER; /* sees it */
        ck_assert_int_eq(reqs[who].status, WDL_ERR_TRUNCATE);
        close_node();
    }
}
END_TEST

/* Who comes shows first, whether it waits, by the lane, or not, by a request, and the last to come
 * takes all at once. Nothing is shown twice. */
START_TEST(the_last_to_come_takes_all)
{
    static const enum wdl_coll_kind all[] = {WDL_COLL_GATHER_ALL, WDL_COLL_EXCHANGE,
                                             WDL_COLL_ALLREDUCE, WDL_COLL_REDUCE_SCATTER};
    struct wdl_prng prng;
    wdl_prng_init(&prng, 13);
    open_node(7);
    for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
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
          who_gives_waits_for_nobody, blocks_that_vary_come_by_any_way,
          parts_that_vary_come_by_any_way,
          blocks_that_vary_are_not_fetched, another_length_of_a_block_is_an_error,
          the_last_to_come_takes_all, who_only_gives_is_done, what_a_root_did_not_mean_is_noticed)
