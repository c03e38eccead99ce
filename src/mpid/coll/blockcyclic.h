/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Block-cyclic arrays (seed 002, computational collectives): elements dealt to P ranks in blocks
 * of `blk`. Element g of the `count` elements an operation uses is at index g + off of the whole
 * array; its block is index / blk, that block's rank is block mod P, its row block div P. A rank
 * has its blocks one behind the other, so the element's place there is row * blk + index mod blk,
 * counted from the address that the rank gives for row 0.
 *
 * blk 0 is UPC's indefinite layout: everything on rank `off`, from place 0.
 *
 * Invariants:
 *  1. What a rank has of the elements is one run of places, in the order of elements.
 *  2. Two layouts of one count cut the elements into runs that stay together in both. The source's
 *     rank and the destination's enumerate their common runs in the same order, so a message
 *     between them needs no description.
 *
 * Pure functions: any thread may call them. Numbers are elements, never bytes.
 */
#ifndef WDL_MPID_COLL_BLOCKCYCLIC_H_INCLUDED
#define WDL_MPID_COLL_BLOCKCYCLIC_H_INCLUDED

#include <stdint.h>

struct wdl_cyclic {
    int ranks;
    int64_t blk;                /* > 0: an indefinite layout has become one of a large block */
    int64_t off;
    int64_t count;
};

/* ERR_ARG: a number is negative, no rank, an indefinite layout on a rank that is none, or places
 * beyond 2^62. */
int wdl_cyclic_init(struct wdl_cyclic *layout, int ranks, int64_t blk, int64_t off, int64_t count);

/* Where element g is; 0 <= g < count. */
int wdl_cyclic_rank(const struct wdl_cyclic *layout, int64_t g);
int64_t wdl_cyclic_place(const struct wdl_cyclic *layout, int64_t g);
/* How many of the elements before g are on the rank; 0 <= g <= count. */
int64_t wdl_cyclic_before(const struct wdl_cyclic *layout, int rank, int64_t g);
/* The rank's run of places: its elements and the first one's place (any, if there are none). */
int64_t wdl_cyclic_local(const struct wdl_cyclic *layout, int rank, int64_t *place_out);
/* Its i-th element, 0 <= i < local. */
int64_t wdl_cyclic_element(const struct wdl_cyclic *layout, int rank, int64_t i);

/* Elements that lie side by side in both layouts. */
struct wdl_cyclic_run {
    int64_t g, count;
    int from, to;               /* ranks */
    int64_t from_place, to_place;
};

/* A walk over one rank's runs in the order of elements. */
struct wdl_cyclic_walk {
    const struct wdl_cyclic *from, *to;
    int rank, at_from;          /* the runs from this rank, or those to it */
    int64_t next;               /* in elements of the rank's side: how many are behind us */
    int64_t local;              /* ... of how many */
};

enum wdl_cyclic_side { WDL_CYCLIC_FROM, WDL_CYCLIC_TO };
/* The layouts have the same ranks and count, and outlive the walk. Overall O(n / (P min(blk)))
 * steps for a rank whose own layout is not indefinite. */
void wdl_cyclic_walk(struct wdl_cyclic_walk *walk, const struct wdl_cyclic *from,
                     const struct wdl_cyclic *to, enum wdl_cyclic_side side, int rank);
/* 1 and a run, or 0: that was the last. */
int wdl_cyclic_next(struct wdl_cyclic_walk *walk, struct wdl_cyclic_run *run_out);

#endif
