/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A team's ranks by node, where they are on several and some share one: each node has a head, and
 * the heads alone send messages (levels.c).
 *
 * Invariants:
 *  1. All ranks of a team find the same nodes. They are numbered by their lowest ranks, which are
 *     their leaders: where the ranks of every node are consecutive, the order of nodes is that of
 *     ranks.
 *  2. The ranks of a node can copy from and to each other's memory. Whose memory is not shared, or
 *     cannot be copied, is a node of its own.
 */
#ifndef WDL_MPID_COLL_NODES_H_INCLUDED
#define WDL_MPID_COLL_NODES_H_INCLUDED

#include "mpid/coll/coll_impl.h"

struct wdl_nodes {
    struct wdl_span span; /* of the heads */
    int most; /* ranks on the node that has most */
    int in_order; /* the ranks of every node are consecutive */
    int mine, place, size; /* the own node, our place in it, its ranks */
    int *leader; /* by node */
    int *node_of; /* by rank */
    int *order; /* all ranks, node after node, ascending in each */
    int *first; /* by node: where its ranks begin there; behind the last node: all */
    int *member; /* of order: the ranks of the own node */
};

/* The trees among `size` ranks: no more links than `links`, if not 0. */
void wdl_span_make(const struct wdl_team *team, int size, int links, struct wdl_span *span_out);

/* The nodes of a team that is open, by what params.node_of says; NULL in *nodes_out where there is
 * but one, or none with two ranks. WDL_OK or ERR_NOMEM. */
int wdl_nodes_make(const struct wdl_team *team, struct wdl_nodes **nodes_out);

#endif
