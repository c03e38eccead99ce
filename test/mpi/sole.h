/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What rma_sole and thread_sole share: a window where everything is counted up by accumulates, of
 * those that are alone at their target and of those that are not, at the same places.
 */
#ifndef SOLE_H_INCLUDED
#define SOLE_H_INCLUDED

#include "testing.h"

/* What one add_all counts up: few doubles, a long, one by compare-and-swap, an element without an
 * instruction, many doubles, longer than a region. Where they are; bytes of all. */
enum { FEW = 40, MANY = 9000, COUNTER = 8 * FEW, SWAPPED = COUNTER + 8, WIDE = SWAPPED + 8,
    LARGE = WIDE + 16, CELLS = LARGE + 8 * MANY };

static double ones[MANY];

static inline void ones_fill(void)
{
    for (int i = 0; i < MANY; i++)
        ones[i] = 1;
}

/* All but the swap, which needs a flush: in every epoch. old: room for FEW of this thread's. */
static inline void add_plain(const struct t_win *w, int target, MPI_Aint at, double *old)
{
    static const long one = 1;
    static const long double wide = 1;
    at += w->at[target];
    MPI_Accumulate(ones, FEW, MPI_DOUBLE, target, at, FEW, MPI_DOUBLE, MPI_SUM, w->win);
    MPI_Get_accumulate(ones, FEW / 2, MPI_DOUBLE, old, FEW / 2, MPI_DOUBLE, target, at, FEW / 2,
                       MPI_DOUBLE, MPI_SUM, w->win);
    MPI_Accumulate(&one, 1, MPI_LONG, target, at + COUNTER, 1, MPI_LONG, MPI_SUM, w->win);
    MPI_Accumulate(&wide, 1, MPI_LONG_DOUBLE, target, at + WIDE, 1, MPI_LONG_DOUBLE, MPI_SUM,
                   w->win);
    MPI_Accumulate(ones, MANY, MPI_DOUBLE, target, at + LARGE, MANY, MPI_DOUBLE, MPI_SUM, w->win);
}

/* In a passive epoch. */
static inline void add_all(const struct t_win *w, int target, MPI_Aint at, double *old)
{
    static const long one = 1;
    long ticket, was = 0, found;
    add_plain(w, target, at, old);
    MPI_Fetch_and_op(&one, &ticket, MPI_LONG, target, w->at[target] + at + COUNTER, MPI_SUM,
                     w->win);
    MPI_Win_flush(target, w->win);
    for (;; was = found) {
        long then = was + 1;
        MPI_Compare_and_swap(&then, &was, &found, MPI_LONG, target, w->at[target] + at + SWAPPED,
                             w->win);
        MPI_Win_flush(target, w->win);
        if (found == was)
            return;
    }
}

/* Has this been counted at our own memory: so many add_plains, so many of them with the rest? */
static inline void check_counts(const struct t_win *w, MPI_Aint at, int plain, int whole)
{
    const char *base = w->base + at;
    double few[FEW], many[MANY];
    long counter, swapped;
    long double wide;
    MPI_Win_lock(MPI_LOCK_SHARED, w->rank, 0, w->win);
    memcpy(few, base, sizeof few);
    memcpy(&counter, base + COUNTER, sizeof counter);
    memcpy(&swapped, base + SWAPPED, sizeof swapped);
    memcpy(&wide, base + WIDE, sizeof wide);
    memcpy(many, base + LARGE, sizeof many);
    MPI_Win_unlock(w->rank, w->win);
    for (int i = 0; i < FEW; i++)
        t_check(few[i] == (i < FEW / 2 ? 2 : 1) * plain, "%d of few: %g of %d", i, few[i], plain);
    t_check(counter == plain + whole, "counted: %ld instead of %d", counter, plain + whole);
    t_check(swapped == whole, "swapped: %ld instead of %d", swapped, whole);
    t_check(wide == plain, "wide: %Lg instead of %d", wide, plain);
    for (int i = 0; i < MANY; i++)
        t_check(many[i] == plain, "%d of many: %g instead of %d", i, many[i], plain);
}

#endif
