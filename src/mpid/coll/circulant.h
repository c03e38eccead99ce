/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * One rank's steps of a collective in blocks on a circulant graph (pattern.h): broadcast, and the
 * same backwards, reduce.
 */
#ifndef WDL_MPID_COLL_CIRCULANT_H_INCLUDED
#define WDL_MPID_COLL_CIRCULANT_H_INCLUDED

#include "mpid/coll/algo.h"
#include "mpid/coll/pattern.h"

struct wdl_circulant {
    struct wdl_pattern_circulant pattern;
    int blocks, steps, size; /* size: the graph's */
    int go[WDL_PATTERN_CIRCULANT_MAX]; /* by kind: the ready flag from the other end, or CAR_NONE */
};

/* A broadcast's: the block that goes to, and comes from, the rank of that kind; -1: none. */
struct wdl_circulant_step {
    int kind, out, to, in, from;
};

/* In as many blocks as it is fastest, whole elements. */
void wdl_circulant_find(struct wdl_build *b, struct wdl_circulant *circulant_out);
/* Where a block begins in the data. */
size_t wdl_circulant_at(const struct wdl_build *b, const struct wdl_circulant *c, int block);
struct wdl_circulant_step wdl_circulant_step(const struct wdl_build *b,
                                             const struct wdl_circulant *c, int i);
/* The first step of the kind of step k in which a block goes out, or comes in. 0: there is none. */
enum wdl_circulant_way { WDL_CIRCULANT_OUT, WDL_CIRCULANT_IN };
int wdl_circulant_first(const struct wdl_build *b, const struct wdl_circulant *c, int k,
                        enum wdl_circulant_way way, struct wdl_circulant_step *step_out);

#endif
