/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of coll/parts: long data of two
 * ranks through room that is used round and round. */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/parts.h"
#include "mpid/coll/rate.h"
#include "mpid/coll/ranks.h"
#include "support/suite.h"

enum { RANKS = 2, BOARD = 2048, RING = 128 << 10, ROOM = RING / 2, MOST = 3 * ROOM + 12345 };

static struct ranks r;
static struct wdl_team *teams[RANKS];
static struct wdl_coll_req reqs[RANKS];
static struct wdl_run *lane[RANKS];
static char *src[RANKS], *dst[RANKS];

static const enum wdl_coll_kind kinds[] = {WDL_COLL_BROADCAST, WDL_COLL_SCATTER, WDL_COLL_GATHER,
                                           WDL_COLL_GATHER_ALL, WDL_COLL_EXCHANGE};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), FIRST_OF_BOTH = 3 };

/* A rank whose data is faster staged, or not, as the other one finds; and it does not try what is
 * slower. */
static void teach(int rank, int staged)
{
    for (int use = 0; use < WDL_RATE_USES; use++) {
        for (int way = WDL_RATE_FETCHED; way <= WDL_RATE_FILLED; way++)
            for (int k = 0; k < 40; k++)
                wdl_rate_took(teams[1 - rank], (enum wdl_rate_use) use, (enum wdl_rate_way) way,
                              64 << 10, (way == WDL_RATE_FETCHED) == staged ? 9000 : 1000);
        (void) wdl_rate_stages(teams[rank], (enum wdl_rate_use) use, 0);
        teams[rank]->rate.of[use].next = UINT32_MAX / 2;
    }
}

static void open_with(int staged)
{
    struct wdl_sim_params sim = {.seed = 3, .ranks = RANKS, .am_bytes_max = 1024};
    struct wdl_team_params params = {.id = 3, .staging_bytes = RING, .board_bytes = BOARD};
    struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER, .flags = WDL_COLL_MPI};
    ranks_open(&r, &sim);
    ranks_team_nodes(&r, &params, RANKS, 1, teams);
    for (int i = 0; i < RANKS; i++) {
        src[i] = malloc(RANKS * MOST);
        dst[i] = malloc(RANKS * MOST);
        ck_assert_int_eq(wdl_coll_start(teams[i], &barrier, &reqs[i]), WDL_OK);
    }
    ranks_finish(&r, reqs, 1); /* the team is open */
    for (int i = 0; i < RANKS; i++)
        teach(i, staged);
}

static void close_all(void)
{
    ranks_drop(&r, teams);
    ranks_close(&r);
    for (int i = 0; i < RANKS; i++) {
        free(src[i]);
        free(dst[i]);
    }
}

static char byte_of(int rank, size_t at)
{
    return (char) (at * 7 + at / 251 + (size_t) rank * 101);
}

static void begin(int rank, enum wdl_coll_kind kind, int root, size_t bytes)
{
    struct wdl_coll_args args = {.kind = kind,
                                 .flags = WDL_COLL_MPI,
                                 .root = root,
                                 .bytes = bytes,
                                 .src = src[rank],
                                 .dst = dst[rank]};
    for (size_t at = 0; at < RANKS * MOST; at++)
        src[rank][at] = byte_of(rank, at);
    memset(dst[rank], 0, RANKS * MOST);
    lane[rank] = wdl_coll_express(teams[rank], &args);
    ck_assert_ptr_nonnull(lane[rank]);
}

static struct wdl_sheet *sheet(int rank)
{
    return (struct wdl_sheet *) (void *) wdl_board_sheet(lane[rank], rank);
}

/* One look; what the other has taken may be seen late by who gives. */
static int look(int rank, int late)
{
    struct wdl_sheet *other = sheet(1 - rank);
    size_t taken = other->taken;
    int is_late = late && wdl_board_seen(lane[1 - rank], 1 - rank, WDL_BOARD_LAST) &&
                  !wdl_board_seen(lane[1 - rank], 1 - rank, WDL_BOARD_DONE);
    other->taken = is_late ? 0 : taken;
    int status = wdl_coll_express_look(lane[rank]);
    other->taken = taken;
    return status;
}

/* By turns, so often one after the other, or as if one saw most things late (often < 0); the
 * statuses. */
static void finish(int first, int often, int *status)
{
    int left = RANKS, turns = often < 0 ? 1 : often;
    status[0] = status[1] = WDL_AGAIN;
    for (int looks = 0; left > 0; looks++) {
        int i = (looks / turns + first) % RANKS;
        ck_assert_int_lt(looks, 10000);
        if (status[i] != WDL_AGAIN)
            continue;
        status[i] = look(i, often < 0 && i == first && left == RANKS && looks / 2 % 8 != 7);
        left -= status[i] != WDL_AGAIN;
    }
}

/* What came where, by the definitions of MPI. */
static void check(enum wdl_coll_kind kind, int me, int root, size_t bytes)
{
    int from_all = kind >= WDL_COLL_GATHER;
    int blocks = kind == WDL_COLL_SCATTER || kind == WDL_COLL_EXCHANGE;
    if (kind == WDL_COLL_GATHER && me != root) /* it has no destination */
        from_all = bytes = 0;
    for (int k = 0; k < RANKS; k++) {
        int from = from_all ? k : root;
        size_t at = blocks ? (size_t) me * bytes : 0;
        for (size_t i = 0; i < bytes && (from_all || k == 0); i++)
            ck_assert_int_eq(dst[me][(size_t) k * bytes + i], byte_of(from, at + i));
    }
    size_t end = (from_all ? RANKS : 1) * bytes;
    ck_assert_int_eq(dst[me][end < RANKS * MOST ? end : 0], end < RANKS * MOST ? 0 : dst[me][0]);
}

static uint64_t fetched(void)
{
    return wdl_coll_stats(r.one[0].proc)->placed_bytes +
           wdl_coll_stats(r.one[1].proc)->placed_bytes;
}

/* None of it by the system; into the room and out of it, once each. */
START_TEST(all_kinds_and_lengths)
{
    static const size_t lengths[] = {ROOM + 1, ROOM + 4096, 2 * ROOM, 2 * ROOM + 77, MOST};
    for (int k = 0; k < KINDS; k++) {
        enum wdl_coll_kind kind = kinds[k];
        int both = kind == WDL_COLL_GATHER_ALL || kind == WDL_COLL_EXCHANGE, status[RANKS];
        open_with(1);
        for (size_t n = 0; n < sizeof(lengths) / sizeof(lengths[0]); n++)
            for (int way = 0; way < 4; way++) {
                int root = way & 1, first = way >> 1, often = 1 + (int) n % 3;
                uint64_t copied = wdl_coll_stats(r.one[0].proc)->copied_bytes +
                                  wdl_coll_stats(r.one[1].proc)->copied_bytes;
                for (int i = 0; i < RANKS; i++)
                    begin(i, kind, root, lengths[n]);
                finish(first, often, status);
                for (int i = 0; i < RANKS; i++) {
                    ck_assert_int_eq(status[i], WDL_OK);
                    check(kind, i, root, lengths[n]);
                }
                ck_assert_uint_eq(wdl_coll_stats(r.one[0].proc)->copied_bytes +
                                      wdl_coll_stats(r.one[1].proc)->copied_bytes - copied,
                                  (both ? 4 : 2) * lengths[n]);
            }
        ck_assert_uint_eq(fetched(), 0);
        close_all();
    }
}
END_TEST

/* One's data may be faster by the system, or find no room: each goes its own way. */
START_TEST(only_one_goes_by_parts)
{
    int status[RANKS];
    for (int who = 0; who < RANKS; who++) {
        open_with(1);
        teach(who, 0);
        for (int k = FIRST_OF_BOTH; k < KINDS; k++) {
            uint64_t before = fetched();
            for (int i = 0; i < RANKS; i++)
                begin(i, kinds[k], 0, MOST);
            finish(who, 1, status);
            for (int i = 0; i < RANKS; i++) {
                ck_assert_int_eq(status[i], WDL_OK);
                check(kinds[k], i, 0, MOST);
            }
            ck_assert_uint_eq(fetched() - before, MOST);
        }
        close_all();
    }
}
END_TEST

/* What is faster by the system goes that way, and so does what is begun and left, since the two
 * would need each other again and again. */
START_TEST(what_does_not_go_by_parts)
{
    int status[RANKS];
    open_with(0);
    for (int i = 0; i < RANKS; i++)
        begin(i, WDL_COLL_GATHER_ALL, 0, MOST);
    finish(0, 1, status);
    ck_assert_uint_eq(fetched(), 2 * MOST);
    close_all();
    open_with(1);
    for (int i = 0; i < RANKS; i++) {
        struct wdl_coll_args args = {.kind = WDL_COLL_GATHER_ALL,
                                     .flags = WDL_COLL_MPI,
                                     .bytes = MOST,
                                     .src = src[i],
                                     .dst = dst[i]};
        ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
    }
    ranks_finish(&r, reqs, 1);
    ck_assert_uint_eq(fetched(), 2 * MOST);
    close_all();
}
END_TEST

/* Ranks that do not agree on the length: who gets something hears of it, and neither waits for the
 * other. */
START_TEST(lengths_that_differ)
{
    int status[RANKS];
    for (int k = 0; k < KINDS; k++)
        for (int less = 0; less < RANKS; less++) {
            open_with(1);
            for (int i = 0; i < RANKS; i++)
                begin(i, kinds[k], 0, i == less ? MOST - 4096 : MOST);
            finish(less, 1, status);
            int up = kinds[k] == WDL_COLL_GATHER, down = kinds[k] < WDL_COLL_GATHER;
            ck_assert_int_eq(status[0], down ? WDL_OK : WDL_ERR_TRUNCATE);
            ck_assert_int_eq(status[1], up ? WDL_OK : WDL_ERR_TRUNCATE);
            close_all();
        }
}
END_TEST

/* What another process has written is not believed. */
START_TEST(nonsense_on_a_sheet_is_an_error)
{
    for (int what = 0; what < 3; what++) {
        open_with(1);
        for (int i = 0; i < RANKS; i++)
            begin(i, WDL_COLL_BROADCAST, 0, MOST);
        ck_assert_int_eq(wdl_coll_express_look(lane[0]), WDL_AGAIN);
        if (what == 0)
            sheet(0)->filled = MOST + 1;
        else if (what == 1)
            sheet(0)->filled = sheet(0)->ring + 1;
        else
            r.one[0].staging_bytes = 0; /* what the card says is none of it */
        int status = wdl_coll_express_look(lane[1]);
        ck_assert_int_eq(status, WDL_ERR_PROTO);
        r.one[0].staging_bytes = RING;
        while ((status = wdl_coll_express_look(lane[0])) == WDL_AGAIN)
            ;
        ck_assert_int_eq(status, WDL_OK); /* the other wants no more of it */
        close_all();
    }
}
END_TEST

/* --- reductions --- */

/* 3 left + right: operands do not change places. */
static void fold(void *ctx, const void *left, void *right, size_t n)
{
    (void) ctx;
    for (size_t i = 0; i < n; i++)
        ((uint64_t *) right)[i] += 3 * ((const uint64_t *) left)[i];
}

static void fold_apart(void *ctx, const void *left, const void *right, void *to, size_t n)
{
    (void) ctx;
    for (size_t i = 0; i < n; i++)
        ((uint64_t *) to)[i] = 3 * ((const uint64_t *) left)[i] + ((const uint64_t *) right)[i];
}

static uint64_t word_of(int rank, size_t at)
{
    return at * 2654435761u + (uint64_t) rank;
}

enum { APART = 1, IN_PLACE = 2, VARIANTS = 4, WORD = sizeof(uint64_t) };

/* root: whose result it is; FOR_ALL: everybody's; each one's prefix, with its own operand or
 * without; each one's half. */
enum { FOR_ALL = RANKS, SCANNED, BEFORE, SCATTERED, ROOTS };

static enum wdl_coll_kind kind_of(int root)
{
    return root < FOR_ALL    ? WDL_COLL_REDUCE
           : root == FOR_ALL ? WDL_COLL_ALLREDUCE
           : root < SCATTERED ? WDL_COLL_SCAN
                              : WDL_COLL_REDUCE_SCATTER;
}

static struct wdl_coll_args reduction(int rank, int root, size_t bytes, int variant)
{
    struct wdl_coll_args args = {.kind = kind_of(root),
                                 .flags = WDL_COLL_MPI | (root == BEFORE ? WDL_COLL_EXCLUSIVE : 0),
                                 .root = root < RANKS ? root : 0,
                                 .bytes = bytes,
                                 .src = src[rank],
                                 .dst = dst[rank],
                                 .op = {.fn = fold,
                                        .elem_bytes = WORD,
                                        .apart = variant & APART ? fold_apart : NULL}};
    if ((root >= FOR_ALL || rank == root) && variant & IN_PLACE)
        args.src = dst[rank];
    memset(dst[rank], 0, RANKS * MOST);
    for (size_t i = 0; i < (root == SCATTERED ? RANKS * bytes : MOST) / WORD; i++)
        ((uint64_t *) (uintptr_t) args.src)[i] = word_of(rank, i);
    return args;
}

static void begin_reduction(int root, size_t bytes, int variant)
{
    for (int i = 0; i < RANKS; i++) {
        struct wdl_coll_args args = reduction(i, root, bytes, variant);
        lane[i] = wdl_coll_express(teams[i], &args);
        ck_assert_ptr_nonnull(lane[i]);
    }
}

static uint64_t result_of(int root, int rank, size_t i)
{
    uint64_t both = 3 * word_of(0, i) + word_of(1, i);
    return root < SCANNED ? both : rank == 0 || root == BEFORE ? word_of(0, i) : both;
}

static void check_reduction(int root, size_t bytes)
{
    for (int k = 0; k < RANKS; k++) {
        const uint64_t *at = (const uint64_t *) dst[k];
        int has = root >= FOR_ALL || k == root;
        size_t mine = root == SCATTERED ? (size_t) k * bytes / WORD : 0;
        if (root == BEFORE && k == 0) /* nothing comes here */
            continue;
        for (size_t i = 0; i < (has ? bytes : MOST) / WORD; i++)
            ck_assert_uint_eq(at[i], !has                ? 0
                                     : root == SCATTERED ? result_of(FOR_ALL, k, mine + i)
                                                         : result_of(root, k, i));
    }
}

/* What is not the root's goes in parts, and is folded where it is; in order, wherever the root is,
 * and where its result lies over its operand, too; for all, both give, and for each a half; to a
 * scan the lower one. One that finds no room is fetched from. */
START_TEST(reductions)
{
    static const size_t lengths[] = {ROOM + WORD, 2 * ROOM, 2 * ROOM + 77 * WORD,
                                     MOST / WORD * WORD};
    enum { WAYS = 2 * ROOTS * VARIANTS };
    int status[RANKS];
    for (int room = 0; room < 4; room++) {      /* bit i: rank i finds some */
        open_with(1);
        for (int i = 0; i < RANKS; i++)
            if (!(room >> i & 1))
                r.one[i].shm.staging = NULL;
        for (size_t n = 0; n < sizeof(lengths) / sizeof(lengths[0]); n++)
            for (int way = 0; way < 2 * WAYS; way++) {
                int first = way & 1, root = way / 2 % ROOTS;
                int variant = way / 2 / ROOTS % VARIANTS;
                int by_parts = root == FOR_ALL || root == SCATTERED ? room == 3
                               : root > FOR_ALL                     ? room & 1
                                                                    : room >> (1 - root) & 1;
                uint64_t before = fetched();
                begin_reduction(root, lengths[n], variant);
                finish(first, way < WAYS ? 1 + (int) n % 3 : -1, status);
                ck_assert(status[0] == WDL_OK && status[1] == WDL_OK);
                check_reduction(root, lengths[n]);
                ck_assert_int_eq(fetched() == before, by_parts);
            }
        close_all();
    }
}
END_TEST

/* Short enough to be staged whole: so does what the root does not have. */
START_TEST(a_short_reduction)
{
    enum { SHORT = 40 << 10 };
    open_with(1);
    for (int way = 0; way < RANKS * VARIANTS; way++) {
        int root = way % RANKS, status[RANKS];
        begin_reduction(root, SHORT, way / RANKS);
        finish(1 - root, 1, status);
        ck_assert(wdl_parts_are_given(sheet(1 - root)) && !wdl_parts_are_given(sheet(root)));
        ck_assert(status[0] == WDL_OK && status[1] == WDL_OK);
        check_reduction(root, SHORT);
    }
    ck_assert_uint_eq(fetched(), 0);
    close_all();
}
END_TEST

/* ... or, where that is faster or nothing is known, nobody stages anything: the root folds two
 * thirds, and the other the rest, which it puts where the result is. */
START_TEST(a_short_reduction_by_both)
{
    enum { SHORT = 40 << 10, THIRD = SHORT / WORD / 3 * WORD };
    for (int known = 0; known < 2; known++)
        for (int way = 0; way < RANKS * VARIANTS; way++) {
            int root = way % RANKS, status[RANKS];
            open_with(0);
            for (int i = 0; i < RANKS && !known; i++) {
                memset(&teams[i]->rate, 0, sizeof(teams[i]->rate));
                wdl_shm_say_rate(teams[i], 0);
            }
            begin_reduction(root, SHORT, way / RANKS);
            finish(1 - root, 1, status);
            ck_assert(status[0] == WDL_OK && status[1] == WDL_OK);
            ck_assert(!sheet(root)->staged && !sheet(1 - root)->staged);
            check_reduction(root, SHORT);
            ck_assert_uint_eq(wdl_coll_stats(r.one[root].proc)->placed_bytes, SHORT - THIRD);
            ck_assert_uint_eq(wdl_coll_stats(r.one[1 - root].proc)->placed_bytes, 2 * THIRD);
            close_all();
        }
}
END_TEST

static uint64_t ticks(void *ctx)
{
    static uint64_t looks;
    (void) ctx;
    return 1000 * ++looks;
}

static const uint32_t *ns_of(int rank)
{
    return teams[rank]->rate.of[WDL_RATE_FOLDED].ns;
}

/* Ranks know nothing of ways, but have a clock, which is `ops`'s. */
static void know_nothing(struct wdl_host_ops *ops)
{
    *ops = *r.one[0].host.host.ops;
    ops->now_ns = ticks;
    for (int i = 0; i < RANKS; i++) {
        memset(&teams[i]->rate, 0, sizeof(teams[i]->rate));
        wdl_shm_say_rate(teams[i], 0);
        r.one[i].proc->host.ops = ops;
    }
}

/* The root of a caller that waits takes the time of both ways, and nothing is tried where nobody
 * takes it. */
START_TEST(the_root_takes_the_time)
{
    enum { SHORT = 40 << 10, TRIES = 2 * WDL_RATE_SOON };
    struct wdl_host_ops ops;
    int status[RANKS];
    open_with(0);
    know_nothing(&ops);
    for (int k = 0; k < TRIES; k++) { /* none waits: nothing is tried */
        for (int i = 0; i < RANKS; i++) {
            struct wdl_coll_args args = reduction(i, 1, SHORT, 0);
            ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
        }
        ranks_finish(&r, reqs, 1);
        ck_assert_uint_eq(teams[0]->rate.of[WDL_RATE_FOLDED].asked, 0);
    }
    ck_assert(ns_of(1)[WDL_RATE_FETCHED] == 0 && ns_of(1)[WDL_RATE_READ] == 0);
    for (int k = 0; k < TRIES; k++) {
        begin_reduction(1, SHORT, 0);
        finish(0, 1, status);
        ck_assert(status[0] == WDL_OK && status[1] == WDL_OK);
    }
    ck_assert_uint_eq(teams[0]->rate.of[WDL_RATE_FOLDED].asked, TRIES);
    ck_assert_uint_gt(ns_of(1)[WDL_RATE_FETCHED], 0);
    ck_assert_uint_gt(ns_of(1)[WDL_RATE_READ], 0);
    ck_assert(ns_of(0)[WDL_RATE_FETCHED] == 0 && ns_of(0)[WDL_RATE_READ] == 0);
    close_all();
}
END_TEST

/* Of an allreduce both do, all of it whichever way; and the faster way is taken, by however
 * little. */
START_TEST(both_take_the_time)
{
    enum { LONG = 2 * ROOM, TRIES = 4 * WDL_RATE_SOON };
    struct wdl_host_ops ops;
    int status[RANKS];
    open_with(0);
    know_nothing(&ops);
    for (int k = 0; k < TRIES; k++) {
        begin_reduction(FOR_ALL, LONG, 0);
        finish(0, 1, status);
        ck_assert(status[0] == WDL_OK && status[1] == WDL_OK);
    }
    for (int i = 0; i < RANKS; i++) {
        const uint32_t *ns = teams[i]->rate.of[WDL_RATE_LONG_FOLDED].ns;
        ck_assert_uint_gt(ns[WDL_RATE_FETCHED], 0);
        ck_assert_uint_gt(ns[WDL_RATE_READ], 0);
    }
    for (int faster = 0; faster < 2; faster++) {
        for (int way = WDL_RATE_FETCHED; way <= WDL_RATE_READ; way++)
            for (int k = 0; k < 40; k++)
                wdl_rate_took(teams[1], WDL_RATE_LONG_FOLDED, (enum wdl_rate_way) way, 64 << 10,
                              way == WDL_RATE_FETCHED ? 10000 : faster ? 9900 : 10100);
        ck_assert_int_eq(wdl_rate_prefers(teams[0], WDL_RATE_LONG_FOLDED, !faster), faster);
    }
    close_all();
}
END_TEST

/* Who has found that fetching is faster has an allreduce fetched: half of it, and half of the
 * result; not what one alone is to have. */
START_TEST(what_is_faster_fetched)
{
    enum { N = MOST / WORD * WORD };
    open_with(0);
    for (int root = 0; root <= FOR_ALL; root++) {
        uint64_t before = fetched();
        int status[RANKS];
        begin_reduction(root, N, 0);
        finish(0, 1, status);
        ck_assert(status[0] == WDL_OK && status[1] == WDL_OK);
        check_reduction(root, N);
        ck_assert_uint_eq(fetched() - before, root == FOR_ALL ? 2 * N : 0);
    }
    close_all();
}
END_TEST

/* Where nothing can be staged the root folds two thirds: who has no result puts the rest there. */
START_TEST(the_root_folds_more)
{
    for (int root = 0; root < RANKS; root++) {
        enum { N = MOST / WORD };
        int status[RANKS];
        open_with(1);
        for (int i = 0; i < RANKS; i++)
            r.one[i].shm.staging = NULL;
        begin_reduction(root, N * WORD, 0);
        finish(0, 1, status);
        check_reduction(root, N * WORD);
        ck_assert_uint_eq(wdl_coll_stats(r.one[root].proc)->placed_bytes, (N - N / 3) * WORD);
        ck_assert_uint_eq(wdl_coll_stats(r.one[1 - root].proc)->placed_bytes, 2 * (N / 3) * WORD);
        close_all();
    }
}
END_TEST

/* Not those of elements that would lie on both sides of the room's end, nor what is begun and
 * left. */
START_TEST(reductions_that_do_not)
{
    for (int left = 0; left < 2; left++) {
        open_with(1);
        for (int i = 0; i < RANKS; i++) {
            struct wdl_coll_args args = reduction(i, left ? FOR_ALL : 0, MOST / 24 * 24, 0);
            args.op.elem_bytes = left ? WORD : 24;
            if (!left)
                ck_assert_ptr_null(wdl_coll_express(teams[i], &args));
            ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
        }
        ranks_finish(&r, reqs, 1);
        ck_assert_uint_gt(fetched(), 0);
        close_all();
    }
}
END_TEST

/* The root hears of lengths that differ; what its giver's sheet says is not believed; and neither
 * waits for the other. */
START_TEST(reductions_go_wrong)
{
    for (int what = 0; what < 4; what++)
        for (int root = 0; root < RANKS; root++) {
            int giver = 1 - root, status = WDL_AGAIN;
            open_with(1);
            for (int i = 0; i < RANKS; i++) {
                size_t less = what == 0 && i == root ? 4096 : what == 1 && i == giver ? 4096 : 0;
                struct wdl_coll_args args = reduction(i, root, MOST / WORD * WORD - less, 0);
                lane[i] = wdl_coll_express(teams[i], &args);
                ck_assert_ptr_nonnull(lane[i]);
            }
            ck_assert_int_eq(wdl_coll_express_look(lane[giver]), WDL_AGAIN);
            if (what == 2)
                sheet(giver)->filled = MOST + 1;
            else if (what == 3)
                r.one[giver].staging_bytes = 0;
            for (int looks = 0; looks < 100 && status == WDL_AGAIN; looks++)
                status = wdl_coll_express_look(lane[root]);
            ck_assert_int_eq(status, what < 2 ? WDL_ERR_TRUNCATE : WDL_ERR_PROTO);
            r.one[giver].staging_bytes = RING;
            int looks = 0;
            while (wdl_coll_express_look(lane[giver]) == WDL_AGAIN)
                ck_assert_int_lt(looks++, 100);
            close_all();
        }
}
END_TEST

WDL_SUITE("mpid/coll/parts", all_kinds_and_lengths, only_one_goes_by_parts,
          what_does_not_go_by_parts, lengths_that_differ, nonsense_on_a_sheet_is_an_error,
          reductions, a_short_reduction, a_short_reduction_by_both,
          the_root_takes_the_time, both_take_the_time, what_is_faster_fetched, the_root_folds_more,
          reductions_that_do_not, reductions_go_wrong)
