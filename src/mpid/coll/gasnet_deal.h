/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Dealing the elements of an array anew: from one block-cyclic layout (blockcyclic.h) to another,
 * as a part of a graph. A layout's units are nodes, or images of which a node has several; each
 * side of a move is in the units' own memory or in that of the run.
 *
 * A parcel goes from each node to each other that has to do with it, its elements in the order of
 * the array; both ends compute what is in it. Memory is the caller's, wdl_deal_words() numbers.
 */
#ifndef WDL_MPID_COLL_GASNET_DEAL_H_INCLUDED
#define WDL_MPID_COLL_GASNET_DEAL_H_INCLUDED

#include "mpid/coll/algo.h"
#include "mpid/coll/blockcyclic.h"
#include "mpid/coll/gasnet_impl.h"

struct wdl_deal_side {
    struct wdl_cyclic layout;
    const size_t *first; /* node -> its first unit; NULL: units are nodes */
    void *const *list; /* where each own unit has place 0; NULL: in the run's memory */
    size_t tmp; /* there: where the first element of this node is */
};

struct wdl_deal {
    struct wdl_deal_side from, to;
    size_t bytes; /* of an element */
    int rank, size;
    int leave_first; /* the first element's destination is not written */
    int64_t *out, *out_at, *in, *in_at; /* elements of the parcels, by node */
    /* of a walk: by node; by own unit, elements behind us, all, and the first one's place */
    int64_t *fill, *next, *local, *place;
    size_t out_tmp, in_tmp; /* the parcels in the run's memory */
};

size_t wdl_deal_words(int size, size_t units);

/* An operation may have one on the way in and one on the way out. */
enum wdl_deal_which { WDL_DEAL_IN, WDL_DEAL_OUT };
/* A client's array as a side. `room`: for its own list, with an address for each unit of this
 * node's, since it may be read when the call is done and the client's list is gone. WDL_OK, or what
 * the layout lacks. */
int wdl_deal_side(struct wdl_deal_side *side, const struct wdl_gas_team *team,
                  const struct wdl_gas_array *array, void *const *list, void **room, size_t count,
                  int flags);
/* Is this node's part of it aligned for elements of `elem` bytes, as the flags want it, and, if it
 * has to be, in the segment? The address of a unit without an element is not looked at. */
enum wdl_gas_error wdl_deal_error(const struct wdl_gas_team *team, const struct wdl_deal_side *side,
                                  size_t bytes, size_t elem, int flags, int in_segment);
/* Plan it as this one of the operation's; its sides are set. */
void wdl_deal_init(struct wdl_gas_op *op, enum wdl_deal_which which, struct wdl_deal *deal,
                   size_t bytes, int64_t *words);
/* Adds the move, which begins behind `after`; the CAR behind which all is there. Parcels have bare
 * roles from `bare` on, one a rank; where their ready flags have links, those of phase `ready`. */
int wdl_deal_build(struct wdl_build *b, enum wdl_deal_which which, enum wdl_phase ready, int bare,
                   int after);

#endif
