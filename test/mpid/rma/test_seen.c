/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/seen: what is known of
 * attached memory is counted in copies by the system, and compared with a map of what is attached.
 */
#include <string.h>
#include "mpid/rma/copybed.h"
#include "support/must.h"
#include "support/suite.h"

enum { GRAIN = 16, HALF = GRAIN / 2 };  /* bytes from one region to the next, bytes of one */

static void open_for(struct bed *bed, int regions)
{
    bed_open_as(bed, (struct bed_kind){.dynamic = 1, .combine = WDL_COMBINE_NEVER,
                                       .bytes = (size_t) regions * GRAIN});
}

/* Region i of a rank; all of them, with gaps. */
static int64_t address(const struct bed *bed, int rank, int i)
{
    return (int64_t) (uintptr_t) bed->w.rank[rank].memory + i * GRAIN;
}

static void attach_all(struct bed *bed, int rank, int regions)
{
    for (int i = 0; i < regions; i++)
        attach(bed, rank, i * GRAIN, HALF);
}

static void detach(struct bed *bed, int rank, int i)
{
    void *at = (void *) (uintptr_t) address(bed, rank, i);
    must_cmp(wdl_win_detach(bed->win[rank], at), ==, WDL_OK);
}

/* Calls for a put to region i of a rank, which is attached. */
static int calls_for(struct bed *bed, int rank, int i)
{
    mover.calls = 0;
    must_cmp(put8(bed, rank, address(bed, rank, i)), ==, WDL_OK);
    return mover.calls;
}

static int log2_of(int n)
{
    int log = 0;
    while ((1 << log) < n)
        log++;
    return log;
}

/* --- what is known ---------------------------------------------------------------------------- */

/* Ranks may have the same addresses: region i of one of two, which the other does not have. */
static int64_t crossed(const struct bed *bed, int rank, int i)
{
    return address(bed, i % 2 ? 3 - rank : rank, i);
}

/* Among so many of two ranks in turn a put is one call of the system, that of its bytes. */
START_TEST(known_regions_cost_no_call)
{
    static const int counts[] = { 2, 9, 100, WDL_SEEN_MOST / 2 };
    for (int k = 0; k < 4; k++) {
        struct bed bed;
        int n = counts[k];
        open_for(&bed, n);
        for (int turn = 0; turn < 4; turn++)
            for (int i = 0; i < 2 * n; i++) {
                int rank = 1 + i % 2;
                int64_t at = crossed(&bed, rank, (i / 2 + turn * (i % 7)) % n);
                void *memory = (void *) (uintptr_t) at;
                if (turn == 0)
                    must_cmp(wdl_win_attach(bed.win[rank], memory, HALF), ==, WDL_OK);
                mover.calls = 0;
                ck_assert_int_eq(put8(&bed, rank, at), WDL_OK);
                ck_assert_int_eq(mover.calls, turn == 0 ? 2 : 1);
                ck_assert_int_eq(put8(&bed, 3 - rank, at), WDL_ERR_RANGE);
            }
        bed_close(&bed);
    }
}
END_TEST

/* ... by the short way, too, which what has gone does not take. */
START_TEST(the_short_way_knows_several)
{
    enum { N = 20, LONG = WDL_BATCH_SHORT + 1, APART = LONG + GRAIN };
    struct bed bed;
    char out[LONG];
    int64_t at[N];
    open_for(&bed, N * APART / GRAIN);
    for (int i = 0; i < N; i++) {
        at[i] = attach(&bed, 1, i * APART, LONG);
        ck_assert_int_eq(operate(&bed, test_put(1, at[i], out, LONG)), WDL_OK);
    }
    mover.calls = 0;
    for (int i = 0; i < 3 * N; i++)
        ck_assert_int_eq(wdl_rma_again(bed.win[0], WDL_RMA_PUT, 1, at[i * 7 % N], out, LONG), 1);
    ck_assert_int_eq(mover.calls, 3 * N);
    for (int i = 0; i < N; i++) {
        must_cmp(wdl_win_detach(bed.win[1], (void *) (uintptr_t) at[i]), ==, WDL_OK);
        ck_assert_int_eq(wdl_rma_again(bed.win[0], WDL_RMA_PUT, 1, at[i], out, LONG), 0);
    }
    ck_assert_int_eq(mover.calls, 3 * N);
    bed_close(&bed);
}
END_TEST

/* What is attached, wherever, leaves what is known; so does what else is detached. */
START_TEST(other_regions_come_and_go)
{
    enum { N = 200 };
    struct bed bed;
    open_for(&bed, N);
    attach(&bed, 1, 100 * GRAIN, HALF);
    attach(&bed, 1, 50 * GRAIN, HALF);
    ck_assert_int_eq(calls_for(&bed, 1, 100), 2);
    ck_assert_int_eq(calls_for(&bed, 1, 50), 2);
    for (int i = 0; i < N; i++) {
        if (i == 50 || i == 100)
            continue;
        attach(&bed, 1, i * GRAIN, HALF);
        ck_assert_int_eq(calls_for(&bed, 1, 50), 1);
        detach(&bed, 1, i);
        if (i % (WDL_WIN_GONE - 1) == 0)
            ck_assert_int_eq(calls_for(&bed, 1, 100), 1);
    }
    bed_close(&bed);
}
END_TEST

/* --- what has gone ---------------------------------------------------------------------------- */

/* The next put is refused, and touches nothing; the others' cost nothing. */
START_TEST(what_was_detached_is_not_known)
{
    enum { N = 20 };
    struct bed bed;
    const char out[HALF] = "gone";
    open_for(&bed, N);
    attach_all(&bed, 1, N);
    for (int i = 0; i < N; i++)
        calls_for(&bed, 1, i);
    for (int i = 0; i < N; i++) {
        int gone = i * 7 % N;
        detach(&bed, 1, gone);
        ck_assert_int_eq(operate(&bed, test_put(1, address(&bed, 1, gone), out, HALF)),
                         WDL_ERR_RANGE);
        ck_assert_str_eq(bed.w.rank[1].memory + gone * GRAIN, "windlas");
        for (int k = i + 1; k < N; k++)
            ck_assert_int_eq(calls_for(&bed, 1, k * 7 % N), 1);
    }
    bed_close(&bed);
}
END_TEST

/* Whoever looks after any number of detaches knows what they were, or looks again. */
START_TEST(any_number_is_detached_meanwhile)
{
    enum { N = 3 * WDL_WIN_GONE };
    for (int first = 0; first < 2; first++)
        for (int n = 0; n < N - 1; n++) {
            struct bed bed;
            open_for(&bed, N);
            attach_all(&bed, 1, N);
            calls_for(&bed, 1, 0);
            calls_for(&bed, 1, N - 1);
            if (first)          /* the oldest of them is one that is known */
                detach(&bed, 1, 0);
            for (int i = 1; i <= n; i++)
                detach(&bed, 1, i % N);
            ck_assert_int_eq(calls_for(&bed, 1, N - 1), first + n < WDL_WIN_GONE ? 1 : 2);
            ck_assert_int_eq(put8(&bed, 1, address(&bed, 1, 0)), first ? WDL_ERR_RANGE : WDL_OK);
            bed_close(&bed);
        }
}
END_TEST

/* What is attached where something was is what it is now. */
START_TEST(what_comes_back_is_another)
{
    struct bed bed;
    open_for(&bed, 8);
    attach(&bed, 1, 0, 4 * GRAIN);
    ck_assert_int_eq(put8(&bed, 1, address(&bed, 1, 3)), WDL_OK);
    detach(&bed, 1, 0);
    attach(&bed, 1, 0, 3 * GRAIN);
    ck_assert_int_eq(put8(&bed, 1, address(&bed, 1, 3)), WDL_ERR_RANGE);
    ck_assert_int_eq(put8(&bed, 1, address(&bed, 1, 2)), WDL_OK);
    detach(&bed, 1, 0);
    attach(&bed, 1, 0, 2 * GRAIN);
    attach(&bed, 1, 2 * GRAIN, 2 * GRAIN);
    mover.calls = 0;
    ck_assert_int_eq(put8(&bed, 1, address(&bed, 1, 2) - 4), WDL_OK); /* a part of each */
    ck_assert_int_eq(mover.calls, 3);
    ck_assert_int_eq(calls_for(&bed, 1, 1), 1);
    ck_assert_int_eq(calls_for(&bed, 1, 3), 1);
    detach(&bed, 1, 0);
    detach(&bed, 1, 2);
    /* one that begins below what is known, but has gone */
    attach(&bed, 1, GRAIN, 3 * GRAIN);
    attach(&bed, 2, 0, GRAIN);
    ck_assert_int_eq(calls_for(&bed, 1, 1), 2);
    ck_assert_int_eq(calls_for(&bed, 2, 0), 2);
    ck_assert_int_eq(calls_for(&bed, 1, 3), 2);
    ck_assert_int_eq(calls_for(&bed, 2, 0), 1);
    ck_assert_int_eq(calls_for(&bed, 1, 3), 1);
    bed_close(&bed);
}
END_TEST

/* --- what is not known ------------------------------------------------------------------------ */

/* A search is short, whatever is looked for: what is attached, and what lies between. */
START_TEST(a_search_reads_few_regions)
{
    static const int counts[] = { 1, 2, 127, 128, 129, 1000, 8192, 16384, 16385, 40000 };
    enum { TRIES = 300, ONE_READ = 14 };        /* so many it takes, in logarithms */
    for (int k = 0; k < 10; k++) {
        int n = counts[k], log = log2_of(n), reads = 1 + (log > ONE_READ ? log - ONE_READ : 0);
        struct bed bed;
        open_for(&bed, n);
        attach_all(&bed, 1, n);
        for (int try = 0; try < TRIES; try++) {
            int i = (int) wdl_prng_below(&bed.w.prng, (uint64_t) n);
            bed.win[0]->seen.n = 0;     /* nothing is known */
            mover.read = 0;
            ck_assert_int_le(calls_for(&bed, 1, i), reads + 1);
            ck_assert_uint_le(mover.read, (size_t) (1 + 10 * log) * sizeof(struct wdl_region));
            mover.calls = 0;
            ck_assert_int_eq(put8(&bed, 1, address(&bed, 1, i) + HALF), WDL_ERR_RANGE);
            ck_assert_int_le(mover.calls, reads);
        }
        bed_close(&bed);
    }
}
END_TEST

/* More than there is room for: one takes the place of any other, so that going round and round
 * finds most. */
START_TEST(there_is_room_for_so_many)
{
    enum { N = WDL_SEEN_MOST + WDL_SEEN_MOST / 8, TURNS = 8 };
    struct bed bed;
    int known = 0;
    open_for(&bed, N);
    attach_all(&bed, 1, N);
    size_t bytes = bed_stats(&bed).bytes, host = bed.w.rank[0].host.bytes;
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < N; i++)
            known += calls_for(&bed, 1, i) == 1;
    ck_assert_int_eq(bed.win[0]->seen.n, WDL_SEEN_MOST);
    ck_assert_int_gt(known, N * TURNS / 2);
    ck_assert_uint_eq(bed_stats(&bed).bytes - bytes,
                      WDL_SEEN_MOST * sizeof(struct wdl_seen_region));
    ck_assert_uint_eq(bed.w.rank[0].host.bytes - host,
                      WDL_SEEN_MOST * sizeof(struct wdl_seen_region));
    wdl_win_check(bed.win[0]);
    bed_close(&bed);
}
END_TEST

/* Without memory a few are known. */
START_TEST(without_memory_a_few_are_known)
{
    enum { N = 100 };
    struct bed bed;
    open_for(&bed, N);
    attach_all(&bed, 1, N);
    bed.w.rank[0].host.fail_after = 1;
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(calls_for(&bed, 1, i), 2);
    ck_assert_int_eq(bed.win[0]->seen.n, WDL_SEEN_FEW);
    ck_assert_int_eq(calls_for(&bed, 1, N - 1), 1);
    bed.w.rank[0].host.fail_after = 0;
    bed_close(&bed);
}
END_TEST

/* --- against a map ---------------------------------------------------------------------------- */

enum { SLOTS = 900, SLOT = 8, LONGEST = 4 };    /* of a rank; bytes; slots of a region */

struct map {
    struct {
        char owned[SLOTS];
        int slots_at[SLOTS];    /* of the region that begins there */
    } of[RANKS];
    char shadow[RANKS][SLOTS * SLOT];
    struct wdl_prng prng;
    /* the operation under way; was its memory exposed, or not, at any time; have lists changed */
    int rank, from, slots, was, was_not, changed;
};
static struct map map;

static int is_owned(int rank, int from, int slots)
{
    for (int i = from; i < from + slots; i++)
        if (!map.of[rank].owned[i])
            return 0;
    return 1;
}

static void note(void)
{
    int owned = is_owned(map.rank, map.from, map.slots);
    map.was |= owned;
    map.was_not |= !owned;
}

/* Something is attached or detached. */
static void change(struct bed *bed)
{
    int rank = 1 + (int) wdl_prng_below(&map.prng, RANKS - 1);
    int from = (int) wdl_prng_below(&map.prng, SLOTS - LONGEST);
    int slots = 1 + (int) wdl_prng_below(&map.prng, LONGEST), free = 1;
    char *at = bed->w.rank[rank].memory + from * SLOT;
    for (int i = from; i < from + slots; i++)
        free = free && !map.of[rank].owned[i];
    map.changed = 1;
    if (map.of[rank].slots_at[from]) {
        must_cmp(wdl_win_detach(bed->win[rank], at), ==, WDL_OK);
        memset(map.of[rank].owned + from, 0, (size_t) map.of[rank].slots_at[from]);
        map.of[rank].slots_at[from] = 0;
    } else if (free) {
        must_cmp(wdl_win_attach(bed->win[rank], at, (uint64_t) (slots * SLOT)), ==, WDL_OK);
        memset(map.of[rank].owned + from, 1, (size_t) slots);
        map.of[rank].slots_at[from] = slots;
    }
    note();
}

static void change_during(struct bed *bed, int call)
{
    (void) call;
    while (wdl_prng_chance(&map.prng, 300))
        change(bed);
}

static void put_somewhere(struct bed *bed)
{
    char out[(LONGEST + 3) * SLOT];
    map.rank = 1 + (int) wdl_prng_below(&map.prng, RANKS - 1);
    map.from = (int) wdl_prng_below(&map.prng, SLOTS - LONGEST - 3);
    map.slots = 1 + (int) wdl_prng_below(&map.prng, LONGEST + 2);
    map.was = map.was_not = map.changed = 0;
    note();
    size_t bytes = (size_t) (map.slots * SLOT);
    int64_t at = (int64_t) (uintptr_t) bed->w.rank[map.rank].memory + map.from * SLOT;
    memset(out, (int) wdl_prng_next(&map.prng), sizeof(out));
    int status = WDL_OK;
    if (!wdl_rma_again(bed->win[0], WDL_RMA_PUT, map.rank, at, out, bytes))
        status = operate(bed, test_put(map.rank, at, out, bytes));
    if (status == WDL_OK) {
        ck_assert(map.was);
        memcpy(map.shadow[map.rank] + map.from * SLOT, out, bytes);
    } else {
        ck_assert(status == WDL_ERR_RANGE ? map.was_not : status == WDL_AGAIN && map.changed);
    }
}

START_TEST(exactly_what_is_attached_is_exposed)
{
    enum { ROUNDS = 40000 };
    static struct bed bed;
    bed_open_as(&bed, (struct bed_kind){.dynamic = 1, .combine = WDL_COMBINE_NEVER,
                                        .bytes = SLOTS * SLOT});
    memset(&map, 0, sizeof(map));
    wdl_prng_init(&map.prng, 77);
    for (int rank = 1; rank < RANKS; rank++) {  /* the lists do not move later on */
        for (int i = 0; i < SLOTS; i++)
            attach(&bed, rank, i * SLOT, SLOT);
        for (int i = 0; i < SLOTS; i++)
            must_cmp(wdl_win_detach(bed.win[rank], bed.w.rank[rank].memory + i * SLOT), ==, WDL_OK);
    }
    mover.bed = &bed;
    for (int i = 0; i < ROUNDS; i++) {
        for (int n = (int) wdl_prng_below(&map.prng, i % 100 == 0 ? 40 : 3); n > 0; n--)
            change(&bed);
        mover.during = i / 64 % 2 ? change_during : NULL;
        put_somewhere(&bed);
        if (i % 64 == 0)
            wdl_win_check(bed.win[0]);
    }
    for (int rank = 1; rank < RANKS; rank++)
        ck_assert_mem_eq(bed.w.rank[rank].memory, map.shadow[rank], SLOTS * SLOT);
    bed_close(&bed);
}
END_TEST

WDL_SUITE("rma/seen", known_regions_cost_no_call, the_short_way_knows_several,
          other_regions_come_and_go, what_was_detached_is_not_known,
          any_number_is_detached_meanwhile, what_comes_back_is_another, a_search_reads_few_regions,
          there_is_room_for_so_many, without_memory_a_few_are_known,
          exactly_what_is_attached_is_exposed)
