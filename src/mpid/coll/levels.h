/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Collectives in two levels, for teams of several nodes of which some have several ranks (nodes.h):
 * within a node by boards, as node.c does them, and between one rank of each node, its head, by the
 * algorithms of one level. The head is the node's lowest rank, or the root.
 *
 * A head's graph: a WATCH that hears from its node, what the algorithm builds between heads, a
 * WATCH that shows its node the result; the others' graphs are the other sides of these. A WATCH
 * has its node's head in `peer`, and `a` and `b` as other CARs have.
 */
#ifndef WDL_MPID_COLL_LEVELS_H_INCLUDED
#define WDL_MPID_COLL_LEVELS_H_INCLUDED

#include "mpid/coll/cost.h"
#include "mpid/coll/node.h"

/* --- levels.c --- */

/* The head of the own node; is it this rank? */
int wdl_levels_head(const struct wdl_build *b);
int wdl_levels_is_head(const struct wdl_build *b);
/* From here on, until wdl_build_flat, the build is between the heads of the nodes. */
void wdl_levels_climb(struct wdl_build *b);
/* A WATCH; the request waits for it as for any CAR that reads `from` and writes `to`, and if it
 * folds in any case. */
int wdl_levels_watch(struct wdl_build *b, wdl_watch_fn fn, struct wdl_loc from, struct wdl_loc to);
/* Bytes a rank would have to have room for on its board, as wdl_node_shown: what it shows at first,
 * and what its head is to show behind that. */
size_t wdl_levels_shown(const struct wdl_team *team, const struct wdl_coll_args *args);
static inline void wdl_levels_begin(struct wdl_run *run)
{
    run->shown = wdl_levels_shown(run->team, &run->args);
}
/* The node's vectors, folded to `to` at the head. Parts of long ones are folded in memory that the
 * run has first of all. */
void wdl_levels_fold_room(struct wdl_build *b);
int wdl_levels_fold(struct wdl_build *b, struct wdl_loc to);
/* The CARs from `first` on were built for the user's memory: theirs is `from` and `to`. Those that
 * read the first go behind `before`, those that write the second in front of `after`. */
void wdl_levels_place(struct wdl_build *b, int first, struct wdl_loc from, struct wdl_loc to,
                      int before, int after);
/* Of the CARs `first` .. `last` - 1: those that send or fold go behind `before`; `after` goes
 * behind those that write the result. */
void wdl_levels_embed(struct wdl_build *b, int first, int last, int before, int after);

/* The flags of algo.h: in each node to its head, and from it, on the board's `place`, to which each
 * rank posts once; among heads as among the ranks of a team. The request waits for none of them. */
int wdl_levels_up(struct wdl_build *b, enum wdl_phase phase, enum wdl_place_on_board place,
                  int after);
int wdl_levels_down(struct wdl_build *b, enum wdl_phase phase, enum wdl_place_on_board place,
                    int after);
int wdl_levels_all(struct wdl_build *b, enum wdl_phase phase, enum wdl_place_on_board place,
                   int after);

/* What its head shows the node, last of all: a rank that does not lead takes it by `take`; the head
 * keeps it until those who fetch it have. */
int wdl_levels_take(struct wdl_run *run, struct wdl_car_run *c,
                    int (*take)(struct wdl_run *run, int head));
int wdl_levels_keep(struct wdl_run *run, struct wdl_car_run *c);

/* A node without others than its head needs nothing within. */
static inline int wdl_levels_alone(const struct wdl_build *b)
{
    return b->team->nodes->size == 1;
}

static inline int wdl_levels_leads(const struct wdl_run *run, const struct wdl_car_run *c)
{
    return wdl_car_of(c)->peer == run->team->rank;
}

/* --- levels_gather.c --- */

/* Where the blocks of a node begin in what is collected; behind the last one: all of it. */
size_t wdl_levels_at(const struct wdl_build *b, int node);
/* The blocks of the node come to its head: to their places, where `to` is the user's memory, or one
 * behind another. */
int wdl_levels_collect(struct wdl_build *b, struct wdl_loc to);
/* ... one behind another at a head who only passes them on: its own is copied at once, so that its
 * memory is not in use until all others have come. */
int wdl_levels_collect_apart(struct wdl_build *b, struct wdl_loc row);

/* --- levels_blocks.c, levels_exchange.c --- */

double wdl_cost_levels_tree(const struct wdl_cost *c);
double wdl_cost_levels_exchange(const struct wdl_cost *c);
double wdl_cost_near(const struct wdl_cost *c);
double wdl_cost_near_pairwise(const struct wdl_cost *c);
double wdl_cost_near_entry(const struct wdl_cost *c);

/* --- levels_fold.c --- */

/* What a head shows second is so far behind what it has shown at first. */
size_t wdl_levels_behind(size_t bytes);
double wdl_cost_levels_scan(const struct wdl_cost *c);
double wdl_cost_levels_reduce_scatter(const struct wdl_cost *c);

#endif
