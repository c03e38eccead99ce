/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A team's ranks by node, where they are on several and some share one: each node has a head, and
 * the heads alone send messages (levels.c).
 *
 * Of a team whose ranks are all on one node the domains are its nodes: parts of the node that its
 * ranks keep to, within which they are nearest to each other (domain_of of the team's parameters).
 * Then one rank of each alone stores into, or sends to, another domain.
 *
 * Invariants:
 *  1. All ranks of a team find the same nodes. They are numbered by their lowest ranks, which are
 *     their leaders: where the ranks of every node are consecutive, the order of nodes is that of
 *     ranks.
 *  2. The ranks of a node can copy from and to each other's memory. Whose memory is not shared, or
 *     cannot be copied, is a node of its own.
 *  3. A domain has at most WDL_NODE_RANKS_MAX ranks: one of more counts as several, equal ones.
 *  4. So few ranks that all could look at all boards have domains only where a barrier is sooner
 *     over by them (cost.c), or levels are asked for by name: else they have the express lane.
 */
#ifndef WDL_MPID_COLL_NODES_H_INCLUDED
#define WDL_MPID_COLL_NODES_H_INCLUDED

#include "mpid/coll/coll_impl.h"

struct wdl_nodes {
    struct wdl_span span; /* of the heads */
    int most; /* ranks on the node that has most */
    int in_order; /* the ranks of every node are consecutive */
    int domains; /* of one node */
    int mine, place, size; /* the own node, our place in it, its ranks */
    int *leader; /* by node */
    int *node_of; /* by rank */
    int *order; /* all ranks, node after node, ascending in each */
    int *first; /* by node: where its ranks begin there; behind the last node: all */
    int *member; /* of order: the ranks of the own node */
};

/* The trees among `size` ranks, where what is said is heard after `latency`, and something else can
 * be said after `gap`, nanoseconds: no more links than `links`, if not 0. */
void wdl_span_shape(double latency, double gap, int size, int links, struct wdl_span *span_out);
/* The same, kept for the next time. */
void wdl_span_find(struct wdl_coll *coll, double latency, double gap, int size, int links,
                   struct wdl_span *span_out);
/* ... by the model of the team. */
void wdl_span_make(const struct wdl_team *team, int size, int links, struct wdl_span *span_out);
/* Has each child in this tree of the team's a link of its own, whatever the root? */
int wdl_span_has_links(const struct wdl_team *team, int tree, int ordered);

/* The nodes of a team that is open, by what params.node_of says, or the domains of its node; NULL
 * in *nodes_out where there is but one, or none with two ranks. WDL_OK or ERR_NOMEM. */
int wdl_nodes_make(const struct wdl_team *team, struct wdl_nodes **nodes_out);

#endif
