/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Ranks of one node, each with a source, a destination and a request; one collective at a time.
 */
#ifndef WDL_TEST_MPID_COLL_ONENODE_H_INCLUDED
#define WDL_TEST_MPID_COLL_ONENODE_H_INCLUDED

#include "mpid/coll/graphs.h"
#include "mpid/coll/ranks.h"

enum { ONENODE_MAX = 9, ONENODE_BOARD = 512, ONENODE_LONG = 5000, ONENODE_ROOM = 300032 };

struct onenode {
    struct ranks r;
    struct wdl_team *teams[ONENODE_MAX];
    struct wdl_coll_req reqs[ONENODE_MAX];
    /* ONENODE_ROOM bytes, for blocks of ONENODE_LONG or a vector. */
    char *src[ONENODE_MAX], *dst[ONENODE_MAX];
    char *kept[ONENODE_MAX], *got[ONENODE_MAX]; /* what the sources were; results */
    size_t lists[ONENODE_MAX][4][ONENODE_MAX]; /* src bytes, src at, dst bytes, dst at */
    int in_place;
};

/* peeks: ranks see each other's memory; staging: bytes, or 0. */
void onenode_open(struct onenode *o, int n, int peeks, size_t staging);
void onenode_close(struct onenode *o);
/* New random sources; destinations zeroed. */
void onenode_fill(struct onenode *o);
/* Rank i begins; args without memory, and with args->variable its lists and its own bytes. */
void onenode_begin(struct onenode *o, int i, const struct wdl_coll_args *args);
/* All begin, and end with WDL_OK, without a message. Until the last is done, memory of those that
 * are is scribbled over. */
void onenode_all(struct onenode *o, const struct wdl_coll_args *args);
/* Progress on all, until nobody can get any further. */
void onenode_settle(struct onenode *o);

#endif
