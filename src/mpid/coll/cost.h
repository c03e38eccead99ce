/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What the algorithms of select.c's table take by the team's model, in ns: as near to the truth on
 * an idle LogGP network as a formula is, so that the cheapest by them is no slower for less data or
 * fewer ranks. test_simtime holds them to simulated time.
 */
#ifndef WDL_MPID_COLL_COST_H_INCLUDED
#define WDL_MPID_COLL_COST_H_INCLUDED

#include "mpid/coll/coll_impl.h"

struct wdl_nodes;

struct wdl_cost {
    const struct wdl_team *team;
    const struct wdl_coll_args *args;
    const struct wdl_span *span; /* of those who send */
    double p, log, m; /* how many they are, ceil(log2 p), args->bytes */
    double latency, gap, byte, reduce;
    double chunk, cell; /* bytes of a packet's data; that nobody must be ready for */
    int tree; /* of the span's; but in reduce_by_name the optimal one */
};

struct wdl_cost wdl_cost_of(const struct wdl_team *team, const struct wdl_coll_args *args);

/* All ranks look at all boards. Where they are in one domain nothing is faster: 0. */
double wdl_cost_node(const struct wdl_cost *c);
double wdl_cost_rounds(const struct wdl_cost *c);
double wdl_cost_broadcast_tree(const struct wdl_cost *c);
/* Is the tree that data are broadcast along the fastest for messages of their length, not the
 * span's, which is the fastest for little data? Where they are one message, longer than a cell. */
int wdl_cost_is_fitted(const struct wdl_cost *c);
struct wdl_tree_shape wdl_cost_fitted(const struct wdl_cost *c);
double wdl_cost_broadcast_ring(const struct wdl_cost *c);
double wdl_cost_broadcast_circulant(const struct wdl_cost *c);
double wdl_cost_reduce_tree(const struct wdl_cost *c);
double wdl_cost_reduce_by_name(const struct wdl_cost *c);
double wdl_cost_reduce_circulant(const struct wdl_cost *c);
/* In how many blocks, at most WDL_CIRCULANT_BLOCKS_MAX. */
int wdl_cost_circulant_blocks(const struct wdl_cost *c);
double wdl_cost_tree(const struct wdl_cost *c);
double wdl_cost_direct(const struct wdl_cost *c);
double wdl_cost_pairwise(const struct wdl_cost *c);
double wdl_cost_pairwise_entry(const struct wdl_cost *c);
double wdl_cost_bruck(const struct wdl_cost *c);
double wdl_cost_gathered(const struct wdl_cost *c);
double wdl_cost_ring(const struct wdl_cost *c);
double wdl_cost_exchange_bruck(const struct wdl_cost *c);
double wdl_cost_vector(const struct wdl_cost *c);
double wdl_cost_census(const struct wdl_cost *c);
double wdl_cost_doubling(const struct wdl_cost *c);
double wdl_cost_halving(const struct wdl_cost *c);

/* Time within a node: until one sees what so many others have stored; so many bytes. */
static inline double wdl_cost_within(double others, double bytes)
{
    return others * 100 + bytes * 0.1;
}

/* ... and from one domain of a node to another. */
double wdl_cost_across(const struct wdl_team *team);

/* The same between the heads of a team's nodes (nodes.h), of whom each has so many bytes for
 * another; what is done within the nodes, and all of a collective that is done in these two
 * steps. */
struct wdl_cost wdl_cost_between(const struct wdl_cost *c, double bytes);
/* Of those among whom `b` builds, ranks or heads. */
struct wdl_cost wdl_cost_of_build(const struct wdl_build *b);
double wdl_cost_levels(const struct wdl_cost *c);
/* Of ranks that could all look at all boards: is a barrier sooner over in two levels, though there
 * is no express lane for that? */
int wdl_cost_prefers_levels(const struct wdl_team *team, const struct wdl_nodes *domains);
/* Which of the two is right between the heads. */
int wdl_cost_prefers_parts(const struct wdl_cost *between);

#endif
