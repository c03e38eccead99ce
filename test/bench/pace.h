/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * How fast the processor computes, right before and behind what is timed. A virtual machine's
 * processor may be one of two threads of a core, and who knows what runs on the other: while
 * something does, everything takes half as long again or twice, for milliseconds to seconds.
 *
 * 1. The piece of computing wants as many of a core's units at once as it can: then it is the other
 *    thread that is felt, as by what is timed.
 * 2. The smallest of several is taken: who loses its processor meanwhile only adds.
 * 3. It is one function that begins a cache line and ends in it. (Four copies of the loop in two
 *    programs, as the compiler had laid them: from 1.4 to 3.2 us.)
 */
#ifndef WDL_BENCH_PACE_H_INCLUDED
#define WDL_BENCH_PACE_H_INCLUDED

#include <stdint.h>
#include <time.h>

enum { PACE_TRIES = 3, PACE_STEPS = 4000 };

/* Four chains of which no step waits for another chain's; the compiler folds none. */
__attribute__ ((noinline, aligned(64), unused))
static void pace_compute(void)
{
    uint64_t a = 1, b = 2, c = 3, d = 4;
    for (int i = 0; i < PACE_STEPS; i++) {
        a += 1;
        b ^= 3;
        c += 5;
        d ^= 7;
        __asm__ volatile ("":"+r" (a), "+r"(b), "+r"(c), "+r"(d));
    }
}

/* Microseconds of that: some 1 to 5. */
static inline double pace_take(void)
{
    double least = 0;
    for (int i = 0; i < PACE_TRIES; i++) {
        struct timespec begin, end;
        double took;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        pace_compute();
        clock_gettime(CLOCK_MONOTONIC, &end);
        took = 1e6 * (double) (end.tv_sec - begin.tv_sec) +
            1e-3 * (double) (end.tv_nsec - begin.tv_nsec);
        least = i == 0 || took < least ? took : least;
    }
    return least;
}

/* The slower of two. */
static inline double pace_slower(double one, double other)
{
    return one > other ? one : other;
}

#endif
