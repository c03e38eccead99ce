/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The device's part of a communicator: which peer (world rank) a rank is.
 *
 * Invariants:
 *  1. A map that a formula can say has no table: world, self, halves, strides and their duplicates
 *     cost no memory.
 *  2. Tables are immutable once built and counted: duplicates of a communicator share one.
 *  3. The part of a communicator that is not alive is all zero (MPICH has no creation hook).
 */
#ifndef WDL_COMM_H_INCLUDED
#define WDL_COMM_H_INCLUDED

struct MPIR_Comm;
struct wdl_adi_team;

struct wdl_rank_table {
    int refs;
    int peer[];
};

struct wdl_rank_map {
    struct wdl_rank_table *table;       /* NULL: peer = first + rank * stride */
    int first, stride;
    int size;
};

struct wdl_adi_comm {
    /* the ranks messages go to: the group, or an intercommunicator's remote group */
    struct wdl_rank_map map;
    struct wdl_rank_map local_map;      /* intercommunicators: the local group */
    int spread;  /* 0: not yet known; 1: all ranks are on this node; 2: they are not (comm.c) */
    unsigned schedules;  /* MPICH's since its last blocking collective, alike too (coll_mpi.c) */
    unsigned windows;           /* created so far, the same on all ranks: their numbers */
    struct wdl_adi_team *team;  /* its collectives' (coll_team.c), made on first use; or NULL */
    struct MPIR_Comm *next_left;        /* of those left (attributes.h) */
    void *spare;  /* memory of the last window freed, for the next one (win_shm.c), or NULL */
};

static inline int wdl_rank_map_peer(const struct wdl_rank_map *map, int rank)
{
    return map->table ? map->table->peer[rank] : map->first + rank * map->stride;
}

#endif
