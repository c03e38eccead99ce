/* Part of Windlass. See COPYRIGHT in the top-level directory. Long data of a node's ranks through
 * memory they share: who copies how much, who waits for whom, and what happens without room. */
#include <stdlib.h>
#include <string.h>
#include "base/copy.h"
#include "mpid/coll/ranks.h"
#include "mpid/coll/staging.h"
#include "support/suite.h"

/* Longer than a board; four of them fill a ring, of which one may have half. */
enum { RANKS = 4, BOARD = 2048, LONG = 8192, RING = 4 * LONG };

static struct ranks r;
static struct wdl_team *teams[RANKS];
static struct wdl_coll_req reqs[RANKS];
static char *src[RANKS], *dst[RANKS];

static size_t long_ring; /* if not 0 */
static size_t board = BOARD;

static void open_with(size_t ring)
{
    struct wdl_sim_params sim = {.seed = 3, .ranks = RANKS, .am_bytes_max = 1024};
    struct wdl_team_params params = {.id = 3, .staging_bytes = ring, .board_bytes = board};
    params.staging_long_bytes = long_ring;
    ranks_open(&r, &sim);
    ranks_team_nodes(&r, &params, RANKS, 1, teams);
    struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER, .flags = WDL_COLL_MPI};
    for (int i = 0; i < RANKS; i++) {
        src[i] = calloc(RANKS, LONG * 4);
        dst[i] = calloc(RANKS, LONG * 4);
        ck_assert_int_eq(wdl_coll_start(teams[i], &barrier, &reqs[i]), WDL_OK);
    }
    ranks_finish(&r, reqs, 1); /* the team is open */
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

static void add(void *ctx, const void *left, void *inout, size_t count)
{
    const float *l = left;
    float *io = inout;
    (void) ctx;
    for (size_t i = 0; i < count; i++)
        io[i] = l[i] + io[i];
}

static int in_place;

static void start(int rank, enum wdl_coll_kind kind, int root, size_t bytes)
{
    struct wdl_coll_args args = {.kind = kind,
                                 .flags = WDL_COLL_MPI,
                                 .root = root,
                                 .bytes = bytes,
                                 .src = in_place ? dst[rank] : src[rank],
                                 .dst = dst[rank],
                                 .op = {.fn = add, .elem_bytes = 4, .commutes = 1}};
    ck_assert_int_eq(wdl_coll_start(teams[rank], &args, &reqs[rank]), WDL_OK);
}

static void all(enum wdl_coll_kind kind, int root, size_t bytes)
{
    for (int i = 0; i < RANKS; i++)
        start(i, kind, root, bytes);
    ranks_finish(&r, reqs, 1);
    for (int i = 0; i < RANKS; i++)
        ck_assert_int_eq(reqs[i].status, WDL_OK);
}

static uint64_t copied(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < RANKS; i++)
        sum += wdl_coll_stats(r.one[i].proc)->copied_bytes;
    return sum;
}

/* From and to private memory, by the system. */
static uint64_t fetched(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < RANKS; i++)
        sum += wdl_coll_stats(r.one[i].proc)->placed_bytes;
    return sum;
}

static void fill(void)
{
    for (int i = 0; i < RANKS; i++)
        for (size_t k = 0; k < LONG; k++)
            ((float *) (void *) src[i])[k] =
                (float) ((k * 7919 + (size_t) i * 104729) % 10007) / 3.0f * (i & 1 ? 1e4f : 1e-3f);
}

START_TEST(data_for_many_is_copied_once_and_taken_by_each)
{
    open_with(RING);
    fill();
    uint64_t before = copied();
    all(WDL_COLL_BROADCAST, 1, LONG);
    ck_assert_uint_eq(copied() - before, LONG * RANKS);
    for (int i = 0; i < RANKS; i++)
        ck_assert_mem_eq(dst[i], src[1], LONG);
    before = copied();
    all(WDL_COLL_GATHER_ALL, 0, LONG);
    ck_assert_uint_eq(copied() - before, LONG * RANKS * RANKS);
    for (int i = 0; i < RANKS; i++)
        for (int k = 0; k < RANKS; k++)
            ck_assert_mem_eq(dst[i] + k * LONG, src[k], LONG);
    ck_assert_uint_eq(fetched(), 0);
    close_all();
}
END_TEST

/* Blocks that are short: who gives them waits for nobody. */
START_TEST(what_one_alone_wants_is_staged_if_it_is_short)
{
    enum { SHORT = 8192, OTHERS = RANKS - 1 };
    open_with(64 * LONG);
    fill();
    uint64_t before = copied();
    start(1, WDL_COLL_SCATTER, 1, SHORT);
    wdl_proc_progress(r.one[1].proc);
    ck_assert_int_eq(reqs[1].done, 1);
    for (int i = 0; i < RANKS; i++)
        if (i != 1)
            start(i, WDL_COLL_SCATTER, 1, SHORT);
    ranks_finish(&r, reqs, 1);
    ck_assert_uint_eq(copied() - before, 2 * SHORT * OTHERS);
    for (int i = 0; i < RANKS; i++)
        ck_assert_mem_eq(dst[i], src[1] + i * SHORT, SHORT);
    before = copied();
    all(WDL_COLL_EXCHANGE, 0, SHORT);
    ck_assert_uint_eq(copied() - before, 2 * SHORT * OTHERS * RANKS);
    for (int i = 0; i < RANKS; i++)
        for (int k = 0; k < RANKS; k++)
            ck_assert_mem_eq(dst[i] + k * SHORT, src[k] + i * SHORT, SHORT);
    ck_assert_uint_eq(fetched(), 0);
    close_all();
}
END_TEST

START_TEST(what_one_alone_wants_is_fetched_if_it_is_long)
{
    enum { MORE = LONG + 8 };
    open_with(64 * LONG);
    uint64_t before = copied();
    all(WDL_COLL_SCATTER, 1, MORE);
    ck_assert_uint_eq(fetched(), MORE * (RANKS - 1));
    ck_assert_uint_eq(copied() - before, 0);
    close_all();
}
END_TEST

/* Each gives to all: staged, as far as a ring takes it, until times say otherwise. */
START_TEST(what_all_give_to_all_is_staged)
{
    enum { MORE = LONG + 8, OTHERS = RANKS - 1 };
    for (int fits = 0; fits < 2; fits++) {
        open_with(fits ? 2 * RANKS * MORE : RANKS * MORE);
        uint64_t before = copied();
        fill();
        all(WDL_COLL_EXCHANGE, 0, MORE);
        ck_assert_uint_eq(fetched(), fits ? 0 : MORE * OTHERS * RANKS);
        ck_assert_uint_eq(copied() - before, fits ? 2 * MORE * OTHERS * RANKS : 0);
        for (int i = 0; i < RANKS; i++)
            for (int k = 0; k < RANKS; k++)
                ck_assert_mem_eq(dst[i] + k * MORE, src[k] + i * MORE, MORE);
        close_all();
    }
}
END_TEST

/* Neither copy, of what lies as most does, is one that is slow (base/copy.h). */
START_TEST(what_is_staged_lies_in_the_middle_of_a_page)
{
    open_with(64 * LONG);
    for (int k = 0; k < 12; k++) {
        struct wdl_coll_args args = {
            .kind = WDL_COLL_BROADCAST, .flags = WDL_COLL_MPI, .bytes = LONG, .src = src[0]};
        memset(src[0], 'A' + k, LONG);
        reqs[0].fn = NULL;
        ck_assert_int_eq(wdl_coll_start(teams[0], &args, &reqs[0]), WDL_OK);
        wdl_proc_progress(r.one[0].proc);
        ck_assert_int_eq(reqs[0].done, 1);
        const char *at = memchr(r.one[0].staging, 'A' + k, 64 * LONG);
        ck_assert(at && (size_t) (at - r.one[0].staging) % WDL_COPY_PAGE == WDL_COPY_PAGE / 2);
        for (int i = 1; i < RANKS; i++)
            start(i, WDL_COLL_BROADCAST, 0, LONG);
        ranks_finish(&r, reqs, 1);
    }
    close_all();
}
END_TEST

START_TEST(who_has_staged_waits_for_nobody)
{
    open_with(RING);
    fill();
    for (int i = 0; i < 2; i++) { /* half of the ring; its source is its own again at once */
        start(0, WDL_COLL_BROADCAST, 0, LONG);
        wdl_proc_progress(r.one[0].proc);
        ck_assert_int_eq(reqs[0].done, 1);
        memset(src[0], 'a' + i, LONG);
    }
    for (int i = 0; i < 2; i++)
        for (int k = 1; k < RANKS; k++) {
            start(k, WDL_COLL_BROADCAST, 0, LONG);
            while (!reqs[k].done)
                wdl_proc_progress(r.one[k].proc);
            ck_assert_int_eq(dst[k][LONG - 1] == 'a', i);
        }
    ck_assert_uint_eq(fetched(), 0);
    close_all();
}
END_TEST

START_TEST(without_room_data_stays_in_its_place)
{
    struct wdl_coll_req more[5];
    open_with(RING);
    for (int i = 0; i < 5; i++) { /* four fill the ring; the last waits to be fetched from */
        struct wdl_coll_args args = {
            .kind = WDL_COLL_BROADCAST, .flags = WDL_COLL_MPI, .bytes = LONG, .src = src[0]};
        memset(src[0], 'a' + i, LONG);
        more[i].fn = NULL;
        ck_assert_int_eq(wdl_coll_start(teams[0], &args, &more[i]), WDL_OK);
        wdl_proc_progress(r.one[0].proc);
        ck_assert_int_eq(more[i].done, i < 4);
    }
    for (int i = 0; i < 5; i++)
        for (int k = 1; k < RANKS; k++) {
            start(k, WDL_COLL_BROADCAST, 0, LONG);
            while (!reqs[k].done)
                wdl_proc_progress(r.one[k].proc);
            ck_assert_int_eq(dst[k][LONG - 1], 'a' + i);
        }
    wdl_proc_progress(r.one[0].proc);
    ck_assert_int_eq(more[4].done, 1);
    ck_assert_uint_eq(fetched(), LONG * (RANKS - 1));
    all(WDL_COLL_BROADCAST, 0, LONG); /* all have finished: it is empty again */
    all(WDL_COLL_BROADCAST, 0, RING / 2);
    ck_assert_uint_eq(fetched(), LONG * (RANKS - 1));
    all(WDL_COLL_BROADCAST, 0, RING / 2 + 64); /* more than one may have */
    ck_assert_uint_eq(fetched(), (LONG + RING / 2 + 64) * (RANKS - 1));
    close_all();
}
END_TEST

/* More than half the ring, up to half of another; operands, too. */
START_TEST(what_is_longer_has_a_ring_of_its_own)
{
    enum { MORE = RING / 2 + 64, MOST = 2 * RING };
    long_ring = 2 * MOST;
    open_with(RING);
    fill();
    all(WDL_COLL_BROADCAST, 0, LONG);
    ck_assert_ptr_null(r.one[0].staging_long); /* until it is wanted */
    uint64_t before = copied();
    all(WDL_COLL_BROADCAST, 0, MORE);
    ck_assert_uint_eq(copied() - before, MORE * RANKS);
    ck_assert_ptr_nonnull(r.one[0].staging_long);
    ck_assert_ptr_null(r.one[1].staging_long);
    all(WDL_COLL_GATHER_ALL, 0, MORE);
    for (int i = 0; i < RANKS; i++)
        for (int k = 0; k < RANKS; k++)
            ck_assert_mem_eq(dst[i] + k * MORE, src[k], MORE);
    for (int i = 0; i < 2; i++) { /* both rings at a time; who gives waits for nobody */
        start(0, WDL_COLL_BROADCAST, 0, i ? LONG : MOST);
        wdl_proc_progress(r.one[0].proc);
        ck_assert_int_eq(reqs[0].done, 1);
    }
    for (int i = 0; i < 2; i++)
        for (int k = 1; k < RANKS; k++) {
            memset(dst[k], 0, MOST);
            start(k, WDL_COLL_BROADCAST, 0, i ? LONG : MOST);
            while (!reqs[k].done)
                wdl_proc_progress(r.one[k].proc);
            ck_assert_mem_eq(dst[k], src[0], i ? LONG : MOST);
        }
    ck_assert_uint_eq(fetched(), 0);
    all(WDL_COLL_BROADCAST, 0, MOST + 64);
    ck_assert_uint_eq(fetched(), (MOST + 64) * (RANKS - 1));
    close_all();
    for (int scan = 0; scan < 2; scan++) {
        open_with(RING);
        for (int i = 0; i < RANKS; i++) /* sums are exact */
            for (int k = 0; k < MORE / (int) sizeof(float); k++)
                ((float *) (void *) src[i])[k] = (float) ((k * 7919 + i * 1009) % 10007);
        all(scan ? WDL_COLL_SCAN : WDL_COLL_ALLREDUCE, 0, MORE);
        ck_assert_uint_eq(fetched(), 0);
        ck_assert_uint_eq(r.one[0].staging_bytes, long_ring + WDL_COPY_PAGE);
        for (int i = RANKS - 2; i >= 0; i--)
            add(NULL, src[i], src[RANKS - 1], MORE / sizeof(float));
        ck_assert_mem_eq(dst[RANKS - 1], src[RANKS - 1], MORE);
        ck_assert_int_eq(memcmp(dst[0], src[RANKS - 1], MORE) == 0, !scan);
        close_all();
    }
    long_ring = 0;
}
END_TEST

/* Blocks that are short are always staged. The others are some behind. */
START_TEST(as_much_of_a_ring_is_used_as_it_takes)
{
    enum { WHOLE = 64 * LONG, FIRST = 256 << 10, ROUND = FIRST / LONG / RANKS, MANY = 18 * ROUND };
    enum { BEHIND = 3, PLACE = FIRST + 2 * LONG };
    open_with(WHOLE);
    all(WDL_COLL_SCATTER, 0, LONG);
    memset(r.one[0].staging, 'x', WHOLE);
    for (int i = 0; i < MANY + BEHIND; i++) {
        if (i < MANY) {
            memset(src[0], i % 100, RANKS * LONG);
            start(0, WDL_COLL_SCATTER, 0, LONG);
            wdl_proc_progress(r.one[0].proc);
            ck_assert_int_eq(reqs[0].done, 1);
        }
        for (int k = 1; k < RANKS && i >= BEHIND; k++) {
            start(k, WDL_COLL_SCATTER, 0, LONG);
            while (!reqs[k].done)
                wdl_proc_progress(r.one[k].proc);
            ck_assert_int_eq(dst[k][0], (i - BEHIND) % 100);
            ck_assert_int_eq(dst[k][LONG - 1], (i - BEHIND) % 100);
        }
        if (i < 15 * ROUND)
            ck_assert_int_eq(r.one[0].staging[PLACE], 'x');
    }
    ck_assert_int_ne(r.one[0].staging[PLACE], 'x');
    ck_assert_uint_eq(fetched(), 0);
    close_all();
}
END_TEST

/* Floating-point sums depend on their order. */
static void results_of(size_t ring, char *out)
{
    open_with(ring);
    fill();
    static const enum wdl_coll_kind kinds[] = {WDL_COLL_SCAN, WDL_COLL_ALLREDUCE, WDL_COLL_REDUCE};
    for (int k = 0; k < 3; k++) {
        all(kinds[k], 2, 4 * LONG);
        for (int i = 0; i < RANKS; i++, out += 4 * LONG)
            if (kinds[k] != WDL_COLL_REDUCE || i == 2)
                memcpy(out, dst[i], 4 * LONG);
    }
    if (ring > RING)
        ck_assert_uint_eq(fetched(), 0);
    close_all();
}

START_TEST(results_have_the_same_bits_with_room_and_without)
{
    size_t bytes = (size_t) 3 * RANKS * 4 * LONG;
    char *with = calloc(1, bytes), *without = calloc(1, bytes);
    results_of(16 * LONG, with);
    results_of(0, without);
    ck_assert_mem_eq(with, without, bytes);
    free(with);
    free(without);
}
END_TEST

/* A reduction's root alone reads little data; of more, everybody folds a part. */
START_TEST(operands_are_folded_where_they_are_staged)
{
    open_with(64 * LONG);
    fill();
    uint64_t before = copied();
    all(WDL_COLL_REDUCE, 2, LONG);
    ck_assert_uint_eq(copied() - before, LONG * (RANKS - 1)); /* in; none out */
    ck_assert_uint_eq(fetched(), 0);
    before = copied();
    all(WDL_COLL_ALLREDUCE, 0, 4 * LONG);
    /* but for the own part, in; all but that of the result, out */
    ck_assert_uint_eq(copied() - before, 2 * 4 * LONG * (RANKS - 1));
    ck_assert_uint_eq(fetched(), 0);
    close_all();
}
END_TEST

/* What a root puts on its board for itself alone says nothing of others' caches. */
START_TEST(copies_that_nobody_else_reads_tell_nothing)
{
    board = 2 * LONG;
    open_with(RING);
    all(WDL_COLL_REDUCE, 2, LONG);
    for (int i = 0; i < RANKS; i++)
        ck_assert_uint_eq(teams[i]->bypass.copies, i != 2);
    close_all();
    board = BOARD;
}
END_TEST

/* Have the others their result when a rank has shown its operand, and does not come back? */
static int without_a_rank(int who, size_t bytes)
{
    int done = 1;
    start(who, WDL_COLL_ALLREDUCE, 0, bytes);
    for (int i = 0; i < RANKS; i++)
        if (i != who)
            start(i, WDL_COLL_ALLREDUCE, 0, bytes);
    for (int k = 0; k < 100; k++)
        for (int i = 0; i < RANKS; i++)
            if (i != who)
                wdl_proc_progress(r.one[i].proc);
    for (int i = 0; i < RANKS; i++)
        done &= i == who || reqs[i].done;
    ranks_finish(&r, reqs, 1);
    return done;
}

/* Where processes take turns at processors everyone folds everything, so that nobody needs anyone
 * twice: staged or fetched, in place or not, the same bits as by parts. */
START_TEST(who_takes_turns_is_needed_once)
{
    static char parts[RANKS][LONG];
    for (int way = 0; way < 8; way++) {
        int crowded = way & 1, rings = way >> 1 & 1;
        in_place = way >> 2;
        open_with(rings ? 64 * LONG : 0);
        fill();
        for (int i = 0; i < RANKS; i++) {
            r.one[i].shm.crowded = crowded;
            memcpy(dst[i], src[i], LONG);
        }
        uint64_t before = copied();
        int done = without_a_rank(way % RANKS, LONG);
        ck_assert_int_eq(done, crowded && rings); /* what is fetched must stay meanwhile */
        if (crowded)
            ck_assert_uint_eq(copied() - before, rings ? LONG * RANKS : 0);
        for (int i = 0; i < RANKS; i++) {
            if (way == 0)
                memcpy(parts[i], dst[i], LONG);
            ck_assert_mem_eq(dst[i], parts[i], LONG);
        }
        /* much goes by parts there, too */
        ck_assert_int_eq(without_a_rank(0, 4 * LONG), 0);
        close_all();
    }
    in_place = 0;
}
END_TEST

START_TEST(nonsense_on_a_sheet_is_an_error)
{
    open_with(RING);
    start(0, WDL_COLL_BROADCAST, 0, LONG);
    wdl_proc_progress(r.one[0].proc);
    r.one[0].staging_bytes = 0; /* what the card says is none of it */
    start(1, WDL_COLL_BROADCAST, 0, LONG);
    wdl_proc_progress(r.one[1].proc);
    ck_assert_int_eq(reqs[1].done, 1);
    ck_assert_int_eq(reqs[1].status, WDL_ERR_PROTO);
    r.one[0].staging_bytes = RING;
    for (int i = 2; i < RANKS; i++)
        start(i, WDL_COLL_BROADCAST, 0, LONG);
    ranks_finish(&r, reqs, 1);
    close_all();
}
END_TEST

WDL_SUITE("mpid/coll/staging", as_much_of_a_ring_is_used_as_it_takes,
          data_for_many_is_copied_once_and_taken_by_each,
          what_one_alone_wants_is_staged_if_it_is_short,
          what_one_alone_wants_is_fetched_if_it_is_long, what_all_give_to_all_is_staged,
          what_is_staged_lies_in_the_middle_of_a_page,
          who_has_staged_waits_for_nobody,
          without_room_data_stays_in_its_place, what_is_longer_has_a_ring_of_its_own,
          results_have_the_same_bits_with_room_and_without,
          operands_are_folded_where_they_are_staged,
          copies_that_nobody_else_reads_tell_nothing, who_takes_turns_is_needed_once,
          nonsense_on_a_sheet_is_an_error)
