/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Simulated worlds of collectives: teams that overlap, each with the same list of collectives on
 * all its ranks, started as fast as a depth allows, on a network that delays, reorders and
 * refuses.
 *
 * The oracle knows, byte by byte, when memory may be touched. Sources hold garbage and
 * destinations poison until the IN mode lets data move; results are looked at the moment the OUT
 * mode says they are there, and what is free again is scribbled over at once. At the end nobody
 * has touched a scribble.
 */
#ifndef WDL_TEST_MPID_COLL_WORLD_H_INCLUDED
#define WDL_TEST_MPID_COLL_WORLD_H_INCLUDED

#include "mpid/coll/lies.h"
#include "mpid/coll/ranks.h"

enum { POISON = 0xa5, GARBAGE = 0x5a, SCRIBBLE = 0xc3 };

struct options {
    uint64_t seed;
    int ranks, ordered, refuse, delay, teams, ops, depth, window, bytes, kind, in, out, node;
    /* of ranks on one node: so many consecutive ranks of the world share a domain; 0: nobody knows
     * of domains; -1: any may share one */
    int domain;
    int attach; /* destinations; 1: the network puts; 2: memory is mapped */
    int pools; /* ranks_limit */
    int network; /* puts by itself; 1: where the target polls; 2: not at all */
    int lie;
    int turn; /* all kinds one after the other, but for reduce_scatter: for very many ranks */
    int without; /* ... and for this one; 0: no other */
};

struct side { /* one rank's part of one collective */
    struct op *op;
    int rank; /* in the team */
    char *src, *dst;
    size_t src_bytes, dst_bytes;
    struct wdl_coll_req req;
    struct wdl_run *express; /* or this, while it is under way */
    size_t *lists; /* src bytes, src at, dst bytes, dst at */
    int started, done, loose; /* loose: scribbled over, nobody may write any more */
};

struct op {
    struct world *w;
    struct group *group;
    int index, started, done, in_place, exact;
    struct wdl_coll_args args;
    size_t *counts; /* variable: [from * size + to], or [rank] */
    struct side *sides;
};

struct seat { /* whose view of the shared memory it is */
    struct group *group;
    int rank, node, domain, open; /* open: segments may be asked for */
    char *staging;
    size_t staging_bytes;
};

struct group {
    int size, index;
    int *members; /* rank of the world by team rank */
    int *rank_of; /* and back, -1 */
    struct wdl_team **teams; /* by team rank */
    struct wdl_coll_shm *shm; /* by team rank */
    struct seat *seats;
    char **segments;
};

struct world {
    struct options options;
    struct ranks ranks;
    struct wdl_prng prng;
    struct group *groups;
    struct op *ops;
    int *at, *out, *made; /* by rank: next op, running, teams made */
    struct side **express; /* by rank: who is in the express lane, one at a time */
    char failure[256];
};

/* oracle.c: make memory, say what must be where. */
void op_make(struct op *op);
void op_free(struct op *op);
/* A rank is about to start: prepare and check memory; the arguments to start with. */
void op_starting(struct side *s, struct wdl_coll_args *args);
/* A rank's request is done. */
void op_done(struct side *s);
/* At the end of the world. */
void op_final(struct op *op);
void world_fail(struct world *w, const struct op *op, int rank, const char *what, size_t byte);

#endif
