/* Part of Windlass. See COPYRIGHT in the top-level directory. The arithmetic of a sort. */
#include "mpid/coll/sortplan.h"
#include <string.h>
#include "base/assert.h"

static const char *element(const struct wdl_sortplan_order *order, const void *data, int64_t i)
{
    return (const char *) data + (size_t) i * order->bytes;
}

/* By (key, number). */
static int before(const struct wdl_sortplan_order *order, const void *a, int64_t a_number,
                  const void *b, int64_t b_number)
{
    int sign = order->compare(order->ctx, a, b);
    return sign ? sign < 0 : a_number < b_number;
}

/* Merge the runs [lo, mid) and [mid, hi); the left one has the smaller numbers. */
static void merge_two(const struct wdl_sortplan_order *order, const char *data,
                      const int64_t *numbers, int64_t lo, int64_t mid, int64_t hi, char *data_out,
                      int64_t *numbers_out)
{
    int64_t a = lo, b = mid;
    size_t bytes = order->bytes;
    for (int64_t out = lo; out < hi; out++) {
        int right = a == mid || (b < hi && order->compare(order->ctx, element(order, data, b),
                                                          element(order, data, a)) < 0);
        int64_t from = right ? b++ : a++;
        memcpy(data_out + (size_t) out * bytes, data + (size_t) from * bytes, bytes);
        numbers_out[out] = numbers[from];
    }
}

void wdl_sortplan_local(const struct wdl_sortplan_order *order, void *data, int64_t *numbers,
                        int64_t count, void *data_scratch, int64_t *numbers_scratch)
{
    char *from = data, *to = data_scratch;
    int64_t *from_numbers = numbers, *to_numbers = numbers_scratch;
    for (int64_t width = 1; width < count; width *= 2) {
        for (int64_t lo = 0; lo < count; lo += 2 * width) {
            int64_t mid = lo + width < count ? lo + width : count;
            int64_t hi = mid + width < count ? mid + width : count;
            merge_two(order, from, from_numbers, lo, mid, hi, to, to_numbers);
        }
        char *data_swap = from;
        from = to, to = data_swap;
        int64_t *numbers_swap = from_numbers;
        from_numbers = to_numbers, to_numbers = numbers_swap;
    }
    if (from != data) {
        memcpy(data, from, (size_t) count * order->bytes);
        memcpy(numbers, from_numbers, (size_t) count * sizeof(*numbers));
    }
}

int64_t wdl_sortplan_goals(const struct wdl_cyclic *layout, int64_t *goals_out, int64_t max)
{
    int64_t found = 0;
    for (int64_t g = layout->blk - layout->off % layout->blk; g < layout->count;
         g += layout->blk, found++)
        if (found < max)
            goals_out[found] = g;
    return found;
}

static void goal_check(const struct wdl_sortplan *plan, const struct wdl_sortplan_goal *goal)
{
    wdl_assert(goal->lo >= 0 && goal->lo <= goal->hi && goal->hi <= plan->run.count);
    wdl_assert(goal->below <= goal->goal && goal->goal <= goal->above);
    wdl_assert_cmp(goal->hi - goal->lo, <=, goal->above - goal->below);
}

static int solved(const struct wdl_sortplan_goal *goal)
{
    return goal->below == goal->above;
}

/* A bound that is the goal is the answer. */
static void settle(struct wdl_sortplan *plan, struct wdl_sortplan_goal *goal)
{
    if (goal->below == goal->goal) {
        goal->hi = goal->lo;
        goal->above = goal->below;
    } else if (goal->above == goal->goal) {
        goal->lo = goal->hi;
        goal->below = goal->above;
    }
    plan->unsolved -= solved(goal);
    goal_check(plan, goal);
}

void wdl_sortplan_init(struct wdl_sortplan *plan, const struct wdl_sortplan_order *order,
                       const struct wdl_sortplan_run *run, int64_t total,
                       struct wdl_sortplan_goal *goals, int count, uint64_t seed)
{
    *plan = (struct wdl_sortplan){
        .order = *order, .run = *run, .goals = goals, .count = count, .unsolved = count};
    wdl_prng_init(&plan->prng, seed);
    for (int i = 0; i < count; i++) {
        wdl_assert_cmp(goals[i].goal, >=, i ? goals[i - 1].goal : 0);
        wdl_assert_cmp(goals[i].goal, <=, total);
        goals[i] =
            (struct wdl_sortplan_goal){.goal = goals[i].goal, .hi = run->count, .above = total};
        settle(plan, &goals[i]);
    }
}

int wdl_sortplan_done(const struct wdl_sortplan *plan)
{
    return plan->unsolved == 0;
}

/* The number is at a multiple of 8, the next record at one of 16: as aligned as elements need. */
static size_t number_at(const struct wdl_sortplan_order *order)
{
    return (order->bytes + 7) / 8 * 8;
}

size_t wdl_sortplan_record_bytes(const struct wdl_sortplan_order *order)
{
    return (number_at(order) + 8 + 15) / 16 * 16;
}

int64_t wdl_sortplan_offers_max(const struct wdl_sortplan *plan)
{
    return (int64_t) plan->count * (WDL_SORTPLAN_OFFERS + 1);
}

/* Every step-th element of the range from a random one on. Goals that share a range share offers.
 */
int64_t wdl_sortplan_offer(struct wdl_sortplan *plan, void *records_out)
{
    const struct wdl_sortplan_order *order = &plan->order;
    size_t record = wdl_sortplan_record_bytes(order);
    int64_t made = 0;
    for (int i = 0, next; i < plan->count; i = next) {
        const struct wdl_sortplan_goal *goal = &plan->goals[i];
        for (next = i + 1; next < plan->count && plan->goals[next].below == goal->below &&
                           plan->goals[next].above == goal->above;
             next++)
            ;
        if (solved(goal))
            continue;
        int64_t wanted = (int64_t) (next - i) * WDL_SORTPLAN_OFFERS;
        int64_t step = (goal->above - goal->below - 1) / wanted + 1;
        int64_t at = goal->lo + (int64_t) wdl_prng_below(&plan->prng, (uint64_t) step);
        for (; at < goal->hi; at += step, made++) {
            char *to = (char *) records_out + (size_t) made * record;
            memset(to, 0, record);
            memcpy(to, element(order, plan->run.data, at), order->bytes);
            memcpy(to + number_at(order), &plan->run.numbers[at], sizeof(int64_t));
        }
    }
    return made;
}

void wdl_sortplan_count(const struct wdl_sortplan *plan, const void *records, int64_t count,
                        int64_t *counts_out)
{
    const struct wdl_sortplan_order *order = &plan->order;
    size_t record = wdl_sortplan_record_bytes(order);
    for (int64_t i = 0; i < count; i++) {
        const char *offer = (const char *) records + (size_t) i * record;
        int64_t number, lo = 0, hi = plan->run.count;
        memcpy(&number, offer + number_at(order), sizeof(number));
        while (lo < hi) { /* elements before lo are up to the offer, from hi on beyond it */
            int64_t mid = lo + (hi - lo) / 2;
            if (before(order, offer, number, element(order, plan->run.data, mid),
                       plan->run.numbers[mid]))
                hi = mid;
            else
                lo = mid + 1;
        }
        counts_out[i] = lo;
    }
}

static void sift(int64_t *counts, int64_t *sums, int64_t at, int64_t count)
{
    for (int64_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && sums[child + 1] > sums[child])
            child++;
        if (sums[at] >= sums[child])
            return;
        int64_t sum = sums[at], own = counts[at];
        sums[at] = sums[child], counts[at] = counts[child];
        sums[child] = sum, counts[child] = own;
    }
}

/* By sums; a heap sort, in place. */
static void sort_offers(int64_t *counts, int64_t *sums, int64_t count)
{
    for (int64_t i = count / 2 - 1; i >= 0; i--)
        sift(counts, sums, i, count);
    for (int64_t end = count - 1; end > 0; end--) {
        int64_t sum = sums[0], own = counts[0];
        sums[0] = sums[end], counts[0] = counts[end];
        sums[end] = sum, counts[end] = own;
        sift(counts, sums, 0, end);
    }
}

void wdl_sortplan_narrow(struct wdl_sortplan *plan, int64_t *counts, int64_t *sums, int64_t count)
{
    int64_t at = 0; /* offers before it are below the goal, or are it */
    sort_offers(counts, sums, count);
    for (int i = 0; i < plan->count; i++) {
        struct wdl_sortplan_goal *goal = &plan->goals[i];
        if (solved(goal))
            continue;
        while (at < count && sums[at] <= goal->goal)
            at++;
        if (at > 0 && sums[at - 1] > goal->below) {
            goal->below = sums[at - 1];
            goal->lo = counts[at - 1];
        }
        if (at < count && sums[at] < goal->above) {
            goal->above = sums[at];
            goal->hi = counts[at];
        }
        settle(plan, goal);
    }
}

static int run_before(const struct wdl_sortplan_order *order, const struct wdl_sortplan_run *runs,
                      int a, int b)
{
    return before(order, runs[a].data, runs[a].numbers[0], runs[b].data, runs[b].numbers[0]);
}

static void sift_runs(const struct wdl_sortplan_order *order, const struct wdl_sortplan_run *runs,
                      int *heap, int at, int count)
{
    for (int child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && run_before(order, runs, heap[child + 1], heap[child]))
            child++;
        if (!run_before(order, runs, heap[child], heap[at]))
            return;
        int run = heap[at];
        heap[at] = heap[child];
        heap[child] = run;
    }
}

void wdl_sortplan_merge(const struct wdl_sortplan_order *order, struct wdl_sortplan_run *runs,
                        int k, void *data_out, int64_t *numbers_out, int *heap)
{
    int live = 0;
    char *out = data_out;
    for (int i = 0; i < k; i++)
        if (runs[i].count > 0)
            heap[live++] = i;
    for (int i = live / 2 - 1; i >= 0; i--)
        sift_runs(order, runs, heap, i, live);
    while (live > 0) {
        struct wdl_sortplan_run *run = &runs[heap[0]];
        memcpy(out, run->data, order->bytes);
        out += order->bytes;
        *numbers_out++ = *run->numbers++;
        run->data = element(order, run->data, 1);
        if (--run->count == 0)
            heap[0] = heap[--live];
        sift_runs(order, runs, heap, 0, live);
    }
}
