/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What the algorithms share: roles, trees, edges with and without a ready flag, entry and exit
 * synchronization; and the functions select.c lists. An algorithm builds one rank's graph and does
 * nothing else.
 *
 * Roles: a phase has team->links roles. In a tree, link 0 comes from the parent and link 1 + i
 * from child i; in rounds, link k from the rank that far below, or above, that round k is with (its
 * ready flag from that far on the other side): 2^k in Bruck's, hop[k] in flags of all to all
 * (wdl_pattern_spread), halves of P round a circle. Roles from cell_roles on have no cell: for
 * flags, and for messages to a rank that is known to have begun.
 */
#ifndef WDL_MPID_COLL_ALGO_H_INCLUDED
#define WDL_MPID_COLL_ALGO_H_INCLUDED

#include "mpid/coll/coll_impl.h"

/* Two with room for data, their ready flags, flags of entry and exit synchronization. */
enum wdl_phase {
    WDL_PHASE_DATA,
    WDL_PHASE_DATA2,
    WDL_PHASE_READY,
    WDL_PHASE_READY2,
    WDL_PHASE_IN,
    WDL_PHASE_IN2,
    WDL_PHASE_OUT,
    WDL_PHASE_OUT2,
    WDL_PHASE_COUNT
};

uint32_t wdl_role(const struct wdl_build *b, enum wdl_phase phase, int link);
uint32_t wdl_role_bare(const struct wdl_build *b, int index);
/* Of the ready flag for what goes to wdl_role_bare(b, index), between two ranks that are d apart: a
 * link of `phase` where there are as many. */
uint32_t wdl_role_ready(const struct wdl_build *b, enum wdl_phase phase, int index, int d);

static inline struct wdl_loc wdl_nowhere(void)
{
    return (struct wdl_loc){WDL_BUF_NONE, 0};
}

/* A rank's place in the tree for `root`, and its children in sending order. Subtrees are runs
 * of consecutive ranks that begin at their head (tree.h); with `ordered`, runs do not wrap. */
struct wdl_place {
    struct wdl_tree_node node;
    struct wdl_tree_child child[WDL_CHILDREN_MAX];
};
void wdl_place_find(const struct wdl_build *b, int root, int rank, int ordered,
                    struct wdl_place *place_out);
/* How many ranks behind `from`, round the ring. */
int wdl_ring_distance(const struct wdl_build *b, int from, int to);

int wdl_log2_up(int n);

/* The two sides of a ready flag: for bytes that go `to`; for a SEND, to the place `at` in what has
 * been said to be ready. */
void wdl_ready_send(struct wdl_build *b, int peer, uint32_t role, struct wdl_loc to, size_t bytes);
int wdl_ready_recv(struct wdl_build *b, int peer, uint32_t role);
void wdl_ready_for(struct wdl_build *b, int ready, int send, size_t at);
/* Do so many bytes wait for a ready flag? If there is a cell for them; and if there is none. Those
 * of several packets do in any case: the flag may say where they go. */
int wdl_ready_wanted(const struct wdl_build *b, size_t bytes);
int wdl_ready_wanted_bare(const struct wdl_build *b, size_t bytes);

/* One side each of data from one rank to another. link_there: the role at the other rank;
 * link_here: at this one. The RECV must have no prerequisites. */
int wdl_edge_send(struct wdl_build *b, enum wdl_phase phase, int peer, int link_there,
                  int link_here, struct wdl_loc from, size_t bytes);
int wdl_edge_recv(struct wdl_build *b, enum wdl_phase phase, int peer, int link_here,
                  int link_there, struct wdl_loc to, size_t bytes);

/* The same from one rank to that d above it, for pairwise exchange. Many ranks, of which not all
 * are known to have begun: a ready flag for each block, whatever its size. */
int wdl_pair_send(struct wdl_build *b, int up, int d, struct wdl_loc from, size_t bytes);
int wdl_pair_recv(struct wdl_build *b, int down, int d, struct wdl_loc to, size_t bytes);

/* Flags: this rank adds its own when `after` (or CAR_NONE) is complete. The CAR returned completes
 * when those of the subtree (up), the root (down), or everybody (all) have been added. */
int wdl_sync_up(struct wdl_build *b, enum wdl_phase phase, int root, int after);
int wdl_sync_down(struct wdl_build *b, enum wdl_phase phase, int root, int after);
int wdl_sync_all(struct wdl_build *b, enum wdl_phase phase, int after);

/* Bruck's gathering (gather_all.c), by roles of `phase`: all ranks' `bytes`, in own memory at
 * *at_out, this rank's first, with room for `behind` more. They are there when the CAR returned
 * is complete; sends of them may still be under way. */
int wdl_bruck_collect(struct wdl_build *b, enum wdl_phase phase, struct wdl_loc from, size_t bytes,
                      size_t behind, size_t *at_out);

enum wdl_flow wdl_flow_of(const struct wdl_coll_args *args);

size_t wdl_block_bytes(const struct wdl_coll_args *args, const struct wdl_coll_blocks *blocks,
                       int rank);
size_t wdl_block_at(const struct wdl_coll_args *args, const struct wdl_coll_blocks *blocks,
                    int rank);

/* The algorithms: add one rank's CARs for the data. */
void wdl_barrier_dissemination(struct wdl_build *b);
void wdl_broadcast_tree(struct wdl_build *b);
void wdl_broadcast_scatter_ring(struct wdl_build *b);
void wdl_broadcast_circulant(struct wdl_build *b);
void wdl_scatter_tree(struct wdl_build *b);
void wdl_scatter_direct(struct wdl_build *b);
void wdl_gather_tree(struct wdl_build *b);
void wdl_gather_direct(struct wdl_build *b);
void wdl_gather_all_bruck(struct wdl_build *b);
void wdl_gather_all_ring(struct wdl_build *b);
void wdl_exchange_bruck(struct wdl_build *b);
void wdl_exchange_pairwise(struct wdl_build *b);
void wdl_reduce_tree(struct wdl_build *b);
void wdl_reduce_circulant(struct wdl_build *b);
void wdl_allreduce_gathered(struct wdl_build *b);
void wdl_allreduce_census(struct wdl_build *b);
void wdl_allreduce_doubling(struct wdl_build *b);
void wdl_allreduce_halving(struct wdl_build *b);
void wdl_scan_doubling(struct wdl_build *b);
void wdl_reduce_scatter_pairwise(struct wdl_build *b);

/* node.c: all kinds, all ranks on one node */
void wdl_all_node(struct wdl_build *b);

/* levels*.c: within nodes, and between one rank of each */
void wdl_levels_barrier(struct wdl_build *b);
void wdl_levels_broadcast(struct wdl_build *b);
void wdl_levels_reduce(struct wdl_build *b);
void wdl_levels_allreduce(struct wdl_build *b);
void wdl_levels_gather_all(struct wdl_build *b);
void wdl_levels_scan(struct wdl_build *b);
void wdl_levels_reduce_scatter(struct wdl_build *b);
void wdl_levels_gather(struct wdl_build *b);
void wdl_levels_scatter(struct wdl_build *b);
void wdl_levels_exchange(struct wdl_build *b);

/* levels_blocks.c: between the ranks of a node through memory, between all others straight */
void wdl_near_gather(struct wdl_build *b);
void wdl_near_scatter(struct wdl_build *b);
void wdl_near_exchange(struct wdl_build *b);

#endif
