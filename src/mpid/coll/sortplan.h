/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The arithmetic of a distributed sort. Elements are ordered by (key, number): the caller's
 * comparison, and between equal keys the element's number in the array before the sort. So no two
 * elements are equal, the sort is stable, its result the same for every P, and duplicates cost no
 * balance.
 *
 *  1. wdl_sortplan_local sorts what a rank has.
 *  2. A plan finds, for goals t_1 < t_2 < ..., how many of each rank's elements are among the t_i
 *     smallest of all, exactly. A round: every rank offers some of its elements; the caller
 *     gathers the offers to all; every rank counts its elements up to each offer; the caller adds
 *     the counts up over all ranks; every rank narrows its ranges. The number of offers is about
 *     OFFERS a goal whatever P is, and what is in doubt shrinks by about a third of that factor a
 *     round.
 *  3. Parts go to their ranks; wdl_sortplan_merge makes one run of those that come.
 *
 * With the block boundaries of the target layout as goals (wdl_sortplan_goals) every element moves
 * once, to its place; with those of a blocked layout twice (then blockcyclic.h).
 *
 * Invariants of a goal: lo <= hi are counts of this rank; summed over all ranks they are below <=
 * goal <= above, and all ranks know these sums. Solved: lo == hi == the answer, below == above ==
 * goal.
 *
 * The caller owns all memory and moves all messages. Nothing waits. One thread at a time per plan.
 */
#ifndef WDL_MPID_COLL_SORTPLAN_H_INCLUDED
#define WDL_MPID_COLL_SORTPLAN_H_INCLUDED

#include <stddef.h>
#include "base/prng.h"
#include "mpid/coll/blockcyclic.h"

#define WDL_SORTPLAN_OFFERS 8

struct wdl_sortplan_order {
    int (*compare)(void *ctx, const void *a, const void *b); /* < 0, 0, > 0 */
    void *ctx;
    size_t bytes; /* of an element, > 0 */
};

/* A run of elements in order, and their numbers. */
struct wdl_sortplan_run {
    const void *data;
    const int64_t *numbers;
    int64_t count;
};

struct wdl_sortplan_goal {
    int64_t goal;
    int64_t lo, hi; /* this rank's */
    int64_t below, above; /* of all ranks */
};

struct wdl_sortplan {
    struct wdl_sortplan_order order;
    struct wdl_sortplan_run run; /* what this rank has, sorted */
    struct wdl_sortplan_goal *goals; /* ascending */
    int count, unsolved;
    struct wdl_prng prng;
};

/* Sort `count` elements and number them: the i-th of them was element numbers[i]. numbers must
 * ascend. The two scratch arrays are as large as data and numbers. */
void wdl_sortplan_local(const struct wdl_sortplan_order *order, void *data, int64_t *numbers,
                        int64_t count, void *data_scratch, int64_t *numbers_scratch);

/* The block boundaries of a layout, 0 and count not among them: fills at most `max`, returns how
 * many there are. Part i, between boundary i - 1 and i, is the i-th block that has elements. */
int64_t wdl_sortplan_goals(const struct wdl_cyclic *layout, int64_t *goals_out, int64_t max);

/* `goals` is the caller's, with `goal` set in each, ascending, 0 <= goal <= total, and lives as
 * long as the plan, like the run. total: elements of all ranks. seed: any; better not the same on
 * all ranks. */
void wdl_sortplan_init(struct wdl_sortplan *plan, const struct wdl_sortplan_order *order,
                       const struct wdl_sortplan_run *run, int64_t total,
                       struct wdl_sortplan_goal *goals, int count, uint64_t seed);
/* All goals are solved: on every rank in the same round. */
int wdl_sortplan_done(const struct wdl_sortplan *plan);

/* An offer as it travels: the element, then its number. Records begin at multiples of 16 bytes. */
size_t wdl_sortplan_record_bytes(const struct wdl_sortplan_order *order);
/* No round has more offers from one rank than this. */
int64_t wdl_sortplan_offers_max(const struct wdl_sortplan *plan);
/* This rank's offers for the round, into room for so many records; returns their number. */
int64_t wdl_sortplan_offer(struct wdl_sortplan *plan, void *records_out);
/* counts_out[i] = this rank's elements up to, and with, record i. The records of all ranks, in the
 * same order on every rank; records that are no elements of any rank do no harm to memory. */
void wdl_sortplan_count(const struct wdl_sortplan *plan, const void *records, int64_t count,
                        int64_t *counts_out);
/* sums[i] = counts[i] added up over all ranks. Both arrays are put into another order. */
void wdl_sortplan_narrow(struct wdl_sortplan *plan, int64_t *counts, int64_t *sums, int64_t count);

/* One run of `k` runs in order. heap: room for k indices. */
void wdl_sortplan_merge(const struct wdl_sortplan_order *order, struct wdl_sortplan_run *runs,
                        int k, void *data_out, int64_t *numbers_out, int *heap);

#endif
