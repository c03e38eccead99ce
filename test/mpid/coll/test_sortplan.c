/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of coll/sortplan: whole sorts of all ranks in turn, messages in arrays, against qsort of
 * the whole array by (key, number).
 */
#include "mpid/coll/sortplan.h"
#include <stdlib.h>
#include <string.h>
#include "base/status.h"
#include "support/must.h"
#include "support/suite.h"

#define RANKS_MAX 17
#define COUNT_MAX 6000
#define BYTES_MAX 24
#define OFFERS_MAX (COUNT_MAX * 10)

/* A key is the first bytes of an element; the rest says which element it was. */
struct key {
    int calls, descending;
    size_t key_bytes;
};

static int compare(void *ctx, const void *a, const void *b)
{
    struct key *key = ctx;
    int sign = memcmp(a, b, key->key_bytes);
    key->calls++;
    return key->descending ? -sign : sign;
}

struct rank {
    char *data; /* by place */
    char *sorted; /* its elements, in order */
    int64_t *numbers;
    int64_t count;
    struct wdl_sortplan plan;
    struct wdl_sortplan_goal *goals;
    int64_t *counts;
};

static struct rank ranks[RANKS_MAX];
static char whole[COUNT_MAX * BYTES_MAX], expected[COUNT_MAX * BYTES_MAX];
static int order_of[COUNT_MAX];
static _Alignas(16) char records[OFFERS_MAX * 48];
static int64_t sums[OFFERS_MAX];
static struct wdl_sortplan_order *qsort_order;

static int by_key_and_number(const void *a, const void *b)
{
    int x = *(const int *) a, y = *(const int *) b;
    size_t bytes = qsort_order->bytes;
    int sign = qsort_order->compare(qsort_order->ctx, whole + (size_t) x * bytes,
                                    whole + (size_t) y * bytes);
    return sign ? sign : x - y;
}

/* The byte with this weight. */
static char byte_of(uint64_t number, size_t weight)
{
    return weight < sizeof(number) ? (char) (number >> 8 * weight) : 0;
}

/* An array with `values` different keys, and what its sort is. */
static void array_make(struct wdl_sortplan_order *order, int count, int values,
                       struct wdl_prng *prng)
{
    size_t bytes = order->bytes;
    struct key *key = order->ctx;
    for (int g = 0; g < count; g++) {
        char *at = whole + (size_t) g * bytes;
        uint64_t value = wdl_prng_below(prng, (uint64_t) values);
        for (size_t i = 0; i < bytes; i++)
            at[i] = i < key->key_bytes ? byte_of(value, key->key_bytes - 1 - i)
                                       : byte_of((uint64_t) g, i - key->key_bytes);
        order_of[g] = g;
    }
    qsort_order = order;
    qsort(order_of, (size_t) count, sizeof(int), by_key_and_number);
    for (int g = 0; g < count; g++)
        memcpy(expected + (size_t) g * bytes, whole + (size_t) order_of[g] * bytes, bytes);
}

static void *zeroed(int64_t count, size_t bytes)
{
    void *ptr = calloc((size_t) count + 1, bytes);
    must(ptr);
    return ptr;
}

static void rank_start(struct rank *rank, const struct wdl_sortplan_order *order,
                       const struct wdl_cyclic *layout, int me, const int64_t *goals, int count)
{
    size_t bytes = order->bytes;
    int64_t place;
    rank->count = wdl_cyclic_local(layout, me, &place);
    rank->sorted = zeroed(rank->count, bytes);
    rank->numbers = zeroed(rank->count, sizeof(int64_t));
    rank->goals = zeroed(count, sizeof(*rank->goals));
    rank->counts = zeroed(OFFERS_MAX, sizeof(int64_t));
    void *scratch = zeroed(rank->count, bytes), *numbers = zeroed(rank->count, sizeof(int64_t));
    for (int64_t i = 0; i < rank->count; i++) {
        rank->numbers[i] = wdl_cyclic_element(layout, me, i);
        memcpy(rank->sorted + (size_t) i * bytes, whole + (size_t) rank->numbers[i] * bytes, bytes);
    }
    wdl_sortplan_local(order, rank->sorted, rank->numbers, rank->count, scratch, numbers);
    free(scratch);
    free(numbers);
    for (int i = 0; i < count; i++)
        rank->goals[i].goal = goals[i];
    struct wdl_sortplan_run run = {rank->sorted, rank->numbers, rank->count};
    wdl_sortplan_init(&rank->plan, order, &run, layout->count, rank->goals, count, (uint64_t) me);
}

static void rank_end(struct rank *rank)
{
    free(rank->data);
    free(rank->sorted);
    free(rank->numbers);
    free(rank->goals);
    free(rank->counts);
    memset(rank, 0, sizeof(*rank));
}

/* Rounds until all is known; returns how many. */
static int rounds_run(int p, const struct wdl_sortplan_order *order)
{
    int rounds = 0;
    size_t record = wdl_sortplan_record_bytes(order);
    for (; !wdl_sortplan_done(&ranks[0].plan); rounds++) {
        int64_t offers = 0;
        for (int i = 0; i < p; i++) {
            must(!wdl_sortplan_done(&ranks[i].plan));
            must_cmp(offers + wdl_sortplan_offers_max(&ranks[i].plan), <=, OFFERS_MAX);
            int64_t made = wdl_sortplan_offer(&ranks[i].plan, records + (size_t) offers * record);
            must_cmp(made, <=, wdl_sortplan_offers_max(&ranks[i].plan));
            offers += made;
        }
        memset(sums, 0, sizeof(sums[0]) * (size_t) offers);
        for (int i = 0; i < p; i++) {
            wdl_sortplan_count(&ranks[i].plan, records, offers, ranks[i].counts);
            for (int64_t j = 0; j < offers; j++)
                sums[j] += ranks[i].counts[j];
        }
        for (int i = 0; i < p; i++) {
            static int64_t copy[OFFERS_MAX];
            memcpy(copy, sums, sizeof(sums[0]) * (size_t) offers);
            wdl_sortplan_narrow(&ranks[i].plan, ranks[i].counts, copy, offers);
        }
        must_cmp(rounds, <, 40);
    }
    for (int i = 0; i < p; i++)
        must(wdl_sortplan_done(&ranks[i].plan));
    return rounds;
}

/* Part `part` of all ranks is elements [g, g + count) of the result. */
static void part_check(int p, const struct wdl_sortplan_order *order, int part, int parts,
                       int64_t g, int64_t count)
{
    struct wdl_sortplan_run runs[RANKS_MAX];
    int heap[RANKS_MAX];
    char *out = zeroed(count, order->bytes);
    int64_t *numbers = zeroed(count, sizeof(int64_t)), sum = 0;
    for (int i = 0; i < p; i++) {
        int64_t lo = part ? ranks[i].goals[part - 1].lo : 0;
        int64_t hi = part < parts - 1 ? ranks[i].goals[part].lo : ranks[i].count;
        must_cmp(lo, <=, hi);
        runs[i] = (struct wdl_sortplan_run){.data = ranks[i].sorted + (size_t) lo * order->bytes,
                                            .numbers = ranks[i].numbers + lo,
                                            .count = hi - lo};
        sum += hi - lo;
    }
    must_cmp(sum, ==, count);
    wdl_sortplan_merge(order, runs, p, out, numbers, heap);
    must(memcmp(out, expected + (size_t) g * order->bytes, (size_t) count * order->bytes) == 0);
    for (int64_t i = 0; i < count; i++)
        must_cmp(numbers[i], ==, order_of[g + i]);
    free(out);
    free(numbers);
}

/* A whole sort: from layout `from`, with the boundaries of layout `to` as goals. Returns rounds. */
static int check_sort(const struct wdl_cyclic *from, const struct wdl_cyclic *to,
                      const struct wdl_sortplan_order *order)
{
    static int64_t goals[COUNT_MAX];
    int count = (int) wdl_sortplan_goals(to, goals, COUNT_MAX);
    for (int i = 0; i < from->ranks; i++)
        rank_start(&ranks[i], order, from, i, goals, count);
    int rounds = rounds_run(from->ranks, order);
    for (int part = 0; part <= count && to->count > 0; part++) {
        int64_t lo = part ? goals[part - 1] : 0, hi = part < count ? goals[part] : to->count;
        /* a part is a block: its elements are side by side at its owner's */
        must_cmp(wdl_cyclic_rank(to, lo), ==, wdl_cyclic_rank(to, hi - 1));
        must_cmp(wdl_cyclic_place(to, hi - 1), ==, wdl_cyclic_place(to, lo) + hi - 1 - lo);
        part_check(from->ranks, order, part, count + 1, lo, hi - lo);
    }
    for (int i = 0; i < from->ranks; i++)
        rank_end(&ranks[i]);
    return rounds;
}

static void layout_make(struct wdl_cyclic *layout, int p, int count, struct wdl_prng *prng)
{
    int blk = (int) wdl_prng_below(prng, (uint64_t) (count / p + 3));
    int off = (int) wdl_prng_below(prng, (uint64_t) (blk ? 2 * blk * p : p));
    must_cmp(wdl_cyclic_init(layout, p, blk, off, count), ==, WDL_OK);
}

START_TEST(small_arrays)
{
    static const size_t sizes[] = {1, 2, 3, 5, 8, 12, 16, 24};
    struct wdl_prng prng;
    wdl_prng_init(&prng, 1);
    for (int i = 0; i < 1500; i++) {
        struct wdl_cyclic from, to;
        int p = 1 + i % RANKS_MAX, count = (int) wdl_prng_below(&prng, i % 3 ? 80 : (uint64_t) p);
        struct key key = {.descending = i % 2};
        struct wdl_sortplan_order order = {compare, &key, sizes[i % 8]};
        key.key_bytes = order.bytes > 2 ? order.bytes - 2 : order.bytes;
        array_make(&order, count, 1 + (int) wdl_prng_below(&prng, i % 5 ? 300 : 3), &prng);
        layout_make(&from, p, count, &prng);
        layout_make(&to, p, count, &prng);
        check_sort(&from, &to, &order);
        must(count < 2 || key.calls > 0);
    }
}
END_TEST

START_TEST(large_arrays)
{
    struct wdl_prng prng;
    wdl_prng_init(&prng, 2);
    for (int i = 0; i < 40; i++) {
        struct wdl_cyclic from, to;
        int p = 2 + i % (RANKS_MAX - 1), count = COUNT_MAX - (int) wdl_prng_below(&prng, 50);
        struct key key = {.key_bytes = 3};
        struct wdl_sortplan_order order = {compare, &key, 5};
        array_make(&order, count, i % 2 ? 4 : 1 << 20, &prng);
        layout_make(&from, p, count, &prng);
        must_cmp(wdl_cyclic_init(&to, p, (count + p - 1) / p, 0, count), ==, WDL_OK);
        /* 6000 elements, 8 offers a goal: a few rounds, duplicates or not */
        must_cmp(check_sort(&from, &to, &order), <=, 9);
    }
}
END_TEST

/* All equal, and sorted already, and backwards: nothing special. */
START_TEST(plain_arrays)
{
    struct wdl_prng prng;
    wdl_prng_init(&prng, 3);
    for (int values = 1; values <= 2; values++)
        for (int p = 1; p <= RANKS_MAX; p += 4) {
            struct wdl_cyclic layout;
            struct key key = {.key_bytes = 1, .descending = p % 2};
            struct wdl_sortplan_order order = {compare, &key, 3};
            array_make(&order, 1000, values, &prng);
            must_cmp(wdl_cyclic_init(&layout, p, 7, 3, 1000), ==, WDL_OK);
            check_sort(&layout, &layout, &order);
            for (int i = 0; i < 2; i++) {
                memcpy(whole, expected, 1000 * order.bytes);
                key.descending ^= i;
                for (int g = 0; g < 1000; g++)
                    order_of[g] = g;
                qsort(order_of, 1000, sizeof(int), by_key_and_number);
                for (int g = 0; g < 1000; g++)
                    memcpy(expected + g * 3, whole + order_of[g] * 3, 3);
                check_sort(&layout, &layout, &order);
            }
        }
}
END_TEST

/* Offers are about OFFERS a goal in all, whatever the number of ranks. */
START_TEST(few_offers)
{
    struct wdl_prng prng;
    struct key key = {.key_bytes = 3};
    struct wdl_sortplan_order order = {compare, &key, 8};
    wdl_prng_init(&prng, 4);
    array_make(&order, COUNT_MAX, 1 << 24, &prng);
    for (int p = 2; p <= RANKS_MAX; p++) {
        struct wdl_cyclic layout;
        int64_t goals[RANKS_MAX], offers = 0;
        must_cmp(wdl_cyclic_init(&layout, p, (COUNT_MAX + p - 1) / p, 0, COUNT_MAX), ==, WDL_OK);
        int count = (int) wdl_sortplan_goals(&layout, goals, RANKS_MAX);
        must_cmp(count, ==, p - 1);
        for (int i = 0; i < p; i++) {
            rank_start(&ranks[i], &order, &layout, i, goals, count);
            offers += wdl_sortplan_offer(&ranks[i].plan, records);
        }
        must_cmp(offers, <=, (WDL_SORTPLAN_OFFERS + 2) * count + p);
        must_cmp(offers, >=, WDL_SORTPLAN_OFFERS * count - p);
        for (int i = 0; i < p; i++)
            rank_end(&ranks[i]);
    }
}
END_TEST

WDL_SUITE("coll/sortplan", small_arrays, large_arrays, plain_arrays, few_offers)
