/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The short way to mapped memory: what an operation or a flush needs when the target's memory is in
 * this address space and the epoch is open, and nothing else. Whatever is unusual makes it decline,
 * and the full path (wdl_rma_op) decides.
 *
 * Invariants. Changes of the epoch keep them (wdl_win_quick_set):
 *  1. No rank is admitted that the full path would refuse or ask to wait.
 *  2. `sole`: nobody else updates what is open (sole.c).
 */
#ifndef WDL_MPID_RMA_QUICK_H_INCLUDED
#define WDL_MPID_RMA_QUICK_H_INCLUDED

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/copy.h"

struct wdl_win;
struct wdl_win_control;

/* Where a rank's memory is, from the start of what is mapped; one table a node, in memory it
 * shares. */
struct wdl_win_place {
    uint64_t offset, bytes;
    int64_t disp_unit;
    int64_t rank;
};

struct wdl_win_quick {          /* the first member of every struct wdl_win */
    uint32_t first, count;      /* so many ranks from there on are open */
    int fence;                  /* or a start: flushes and operations with a request are mistakes */
    int sole;                   /* nobody else updates them; nor what is held (below) */
    int size;
    char *base;
    const struct wdl_win_place *place;
    struct wdl_win_control *node, *own; /* the node's blocks, and of them the own one; */
    uint64_t own_bit;           /* its wdl_short_bit */
    uint64_t ops;               /* operations on mapped memory, ever */
    int stored;                 /* stores were made that no full barrier is behind */
    int held;                   /* the rank whose lock is held without an element; -1: none */
    unsigned syncs;             /* wdl_mem_sync, ever */
};

/* MEM_SYNC (seed 001, RMA + Shared Memory): a full barrier of the processor's. Counted, so that a
 * test notices where one is missing that no processor here misses. */
static inline void wdl_mem_sync(struct wdl_win_quick *q)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    q->syncs++;
}

/* Is one wanted behind what was done? Where the processor keeps all else in order (TSO), stores
 * alone may still be on their way when a load behind them is made. */
static inline int wdl_quick_wants_sync(const struct wdl_win_quick *q)
{
#if defined(__x86_64__) || defined(__i386__)
    return q->stored;
#else
    (void) q;
    return 1;
#endif
}

static inline struct wdl_win_quick *wdl_win_quick(struct wdl_win *win)
{
    return (struct wdl_win_quick *) (void *) win;
}

static inline int wdl_quick_admits(const struct wdl_win_quick *q, int rank)
{
    return (uint32_t) rank - q->first < q->count;
}

static inline int wdl_quick_is_held(const struct wdl_win_quick *q, int rank)
{
    return rank >= 0 && q->held == rank;
}

/* Is this rank's the held lock, and all memory mapped? Then wdl_win_unlock_held gives it back. */
static inline int wdl_quick_holds(const struct wdl_win_quick *q, int rank)
{
    return wdl_quick_is_held(q, rank) && q->place;
}

/* From now on these are open. */
static inline void wdl_quick_open(struct wdl_win_quick *q, int first, int count, int fence,
                                  int sole)
{
    q->first = (uint32_t) first;
    q->count = (uint32_t) count;
    q->fence = fence;
    q->sole = sole;
}

/* Is the short way open for `bytes` at displacement disp of that rank? *at_out: where in its
 * memory. (Below 0 a place is beyond every end, without a sign.) */
static inline int wdl_quick_within(const struct wdl_win_quick *q, int rank, int64_t disp,
                                   uint64_t bytes, int64_t *at_out)
{
    if (!wdl_quick_admits(q, rank))
        return 0;
    const struct wdl_win_place *place = &q->place[rank];
    return !__builtin_mul_overflow(disp, place->disp_unit, at_out) &&
           (uint64_t) *at_out <= place->bytes && bytes <= place->bytes - (uint64_t) *at_out;
}

/* The same; then it is counted as an operation; *at_out: their address. */
static inline int wdl_quick_reach(struct wdl_win_quick *q, int rank, int64_t disp, uint64_t bytes,
                                  char **at_out)
{
    int64_t at;
    if (!wdl_quick_within(q, rank, disp, bytes, &at))
        return 0;
    q->ops++;
    *at_out = q->base + q->place[rank].offset + at;
    return 1;
}

/* What a put writes there; the long ones are apart (mapped.c). */
void wdl_quick_store_long(struct wdl_win *win, int rank, char *at, const void *from, size_t bytes);

static inline void wdl_quick_store(struct wdl_win *win, int rank, char *at, const void *from,
                                   size_t bytes)
{
    if (__builtin_expect(bytes < WDL_COPY_SHORT, 1))
        wdl_copy_short(at, from, bytes);
    else
        wdl_quick_store_long(win, rank, at, from, bytes);
}

/* Flush of one rank: 1 when it is done (everything was done when its call returned), 0: take the
 * full path. */
static inline int wdl_quick_flush(struct wdl_win_quick *q, int rank)
{
    if (!wdl_quick_admits(q, rank) || q->fence)
        return 0;
    if (wdl_quick_wants_sync(q)) {
        wdl_mem_sync(q);        /* seed 001, FLUSH; pairs with the peer's own synchronization */
        q->stored = 0;
    }
    return 1;
}

#endif
