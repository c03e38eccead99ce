/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Data that moves before its other end has started the collective: with IN_NOSYNC, where all ranks
 * know where all destinations are (DST_KNOWN), into them; where they know the sources (SRC_KNOWN),
 * out of them. The definition lets it move as soon as anybody has called; so who gives waits for
 * nobody, and who fetches with OUT_NOSYNC neither.
 *
 * Invariants:
 *  1. Who gets something is told: by its giver's board, or by a message that may be there before it
 *     has started. Both are of the collective's slot, which is this collective's while anybody has
 *     not finished it (head of coll_impl.h); so a giver is at most a window ahead.
 *  2. What is fetched stays its owner's to leave alone until all have finished (OUT_NOSYNC), or
 *     until who fetches it says so.
 *  3. Nobody can compare lengths, or addresses, before data moves: ranks that do not agree find it
 *     out behind that: who gets what is put; of what is fetched, its giver (OUT_MYSYNC), or who
 *     looks at whom (OUT_ALLSYNC), or nobody (OUT_NOSYNC; fail.h).
 */
#ifndef WDL_MPID_COLL_AHEAD_H_INCLUDED
#define WDL_MPID_COLL_AHEAD_H_INCLUDED

#include "mpid/coll/algo.h"
#include "mpid/coll/direct.h"

enum wdl_ahead_way {
    WDL_AHEAD_NOT, /* a rank's memory is touched when it has started */
    WDL_AHEAD_PUT, /* who gives puts it there */
    WDL_AHEAD_GET /* who gets fetches it */
};

/* How the ranks of a node move it, or, with all of them there, those of a team. */
enum wdl_ahead_way wdl_ahead_way(const struct wdl_team *team, const struct wdl_coll_args *args);
/* Between ranks that send messages: is it put ahead? Where every other rank has a link of its own.
 */
int wdl_ahead_by_message(const struct wdl_team *team, const struct wdl_coll_args *args);

/* Where rank `from` has what goes to rank `to`, in its own source, and where that goes. */
struct wdl_ahead_part {
    size_t from, to;
};
/* Does it give it anything? */
int wdl_ahead_gives(const struct wdl_coll_args *args, int from, int to);
struct wdl_ahead_part wdl_ahead_part(const struct wdl_coll_args *args, int from, int to);
/* What a rank, the own one, gives to itself. */
void wdl_ahead_keep(const struct wdl_coll_args *args, int rank);
/* A rank's destination, or source. */
char *wdl_ahead_dst(const struct wdl_coll_args *args, int rank);
const char *wdl_ahead_src(const struct wdl_coll_args *args, int rank);
/* The memory that a SEND puts its data into ahead. */
struct wdl_stretch wdl_ahead_wanted(const struct wdl_car_run *c);

/* The part of a node's ranks, as a WATCH (node.h). */
int wdl_ahead_watch(struct wdl_run *run, struct wdl_car_run *c);
/* All kinds: on each node as wdl_all_node, between nodes each to each. */
void wdl_ahead_build(struct wdl_build *b);

#endif
