/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * How long a cache line takes from rank 0 to rank 1 or back, between what is timed. On a virtual
 * machine that depends on where its processors happen to be, for seconds or minutes: what was timed
 * meanwhile compares with nothing that was timed before.
 *
 * 1. No rank waits for the other longer than PROBE_US: one that has no processor is not measured.
 * 2. Turns are numbered through all probes, and rank 0 ends each with its last number, also one it
 *    gave up: the next takes nothing for its own that is left from it.
 * 3. The smallest of several averages is taken: who loses its processor meanwhile only adds.
 * 4. With more ranks than processors the two have one each meanwhile, and the others sleep.
 */
#ifndef WDL_BENCH_PROBE_H_INCLUDED
#define WDL_BENCH_PROBE_H_INCLUDED

#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "meet.h"

enum { PROBE_GROUPS = 10, PROBE_TRIPS = 20, PROBE_US = 50000, PROBE_LOOKS = 1000 };

struct probe {                  /* shared by all ranks */
    struct meeting asleep;      /* crowded: where the others wait */
    struct probe_side {         /* of ranks 0 and 1 */
        _Alignas(128) atomic_long turn; /* what the rank said last */
        long last;              /* its own: the number the probe before ended with */
    } sides[2];
};

/* More ranks than processors. */
static inline int probe_crowded(int size)
{
    return size > sysconf(_SC_NPROCESSORS_ONLN);
}

/* All ranks. NULL where nothing is to be probed: one rank, one processor, no memory. */
static inline struct probe *probe_begin(int rank, int size)
{
    if (size < 2 || sysconf(_SC_NPROCESSORS_ONLN) < 2)
        return NULL;
    return meeting_memory(rank, sizeof(struct probe));
}

static inline void probe_end(struct probe *p)
{
    if (p)
        munmap(p, sizeof *p);
}

static inline double probe_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double) now.tv_sec + 1e-3 * (double) now.tv_nsec;
}

/* What the side says, from `least` on; -1 if it is silent until `end`. The clock is read rarely:
 * it takes longer than a hand-over. */
static inline long probe_hear(struct probe_side *side, long least, double end)
{
    long turn, looks = 0;
    while ((turn = atomic_load_explicit(&side->turn, memory_order_acquire)) < least)
        if (++looks % PROBE_LOOKS == 0 && probe_now_us() > end)
            return -1;
    return turn;
}

static inline void probe_say(struct probe_side *side, long turn)
{
    atomic_store_explicit(&side->turn, turn, memory_order_release);
}

/* Rank 0: microseconds of one hand-over, or -1 if rank 1 did not answer. */
static inline double probe_ask(struct probe *p, long turn, long last, double end)
{
    double least = -1;
    while (turn < last) {
        double begin = probe_now_us(), took;
        for (int i = 0; i < PROBE_TRIPS; i++) {
            probe_say(&p->sides[0], ++turn);
            if (probe_hear(&p->sides[1], turn, end) < 0) {
                probe_say(&p->sides[0], last);
                return least;
            }
        }
        took = (probe_now_us() - begin) / (2 * PROBE_TRIPS);
        least = least < 0 || took < least ? took : least;
    }
    return least;
}

/* Rank 1. */
static inline void probe_answer(struct probe *p, long turn, long last, double end)
{
    while (turn < last && (turn = probe_hear(&p->sides[0], turn + 1, end)) >= 0)
        probe_say(&p->sides[1], turn);
}

/* Ranks 0 and 1, where every rank has a processor. Rank 0: microseconds of one hand-over, or -1. */
static inline double probe_both(struct probe *p, int rank)
{
    double end = probe_now_us() + PROBE_US;
    long turn = p->sides[rank].last;
    p->sides[rank].last += PROBE_GROUPS * PROBE_TRIPS;
    if (rank == 0)
        return probe_ask(p, turn, p->sides[0].last, end);
    probe_answer(p, turn, p->sides[1].last, end);
    return -1;
}

/* Processors, a bit each. By the system's calls: the C library's want _GNU_SOURCE of who includes
 * this. */
struct probe_may {
    unsigned char bits[128];
};

/* This process is to have the rank-th of the processors it may have, alone. */
static inline void probe_pin(const struct probe_may *may, int rank)
{
    struct probe_may one = { {0} };
    size_t i = 0;
    while (i < 8 * sizeof may->bits && (!(may->bits[i / 8] >> i % 8 & 1) || rank-- > 0))
        i++;
    if (i < 8 * sizeof may->bits) {
        one.bits[i / 8] = (unsigned char) (1 << i % 8);
        syscall(SYS_sched_setaffinity, 0, sizeof one, &one);
    }
}

/* All ranks, which have just met. Rank 0: microseconds of one hand-over, or -1. */
static inline double probe_take(struct probe *p, int rank, int size)
{
    double us = -1;
    struct probe_may may = { {0} };
    if (!probe_crowded(size))
        return rank < 2 ? probe_both(p, rank) : -1;
    if (rank < 2 && syscall(SYS_sched_getaffinity, 0, sizeof may, &may) > 0) {
        probe_pin(&may, rank);
        us = probe_both(p, rank);
        syscall(SYS_sched_setaffinity, 0, sizeof may, &may);
    }
    meeting_wait(&p->asleep, size);
    return us;
}

#endif
