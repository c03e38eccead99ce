/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Rooted trees over P ranks, as pure arithmetic: every rank finds its own place in O(depth *
 * degree) steps and no memory, for any root. Times are integer picoseconds under LogP as seed 002
 * uses it: a message sent at t is in its receiver's hands at t + eel, and its sender may send
 * again at t + gap.
 *
 * The LogP-optimal tree is Karp's greedy one: whoever can deliver first, sends. It is not built
 * with a heap, for its sizes have a closed form: N(t), the number of ranks reached by time t, is
 * the sum over depths a of C(floor((t - a eel) / gap) + a, a). A rank with n ranks to serve finds
 * the least D with N(D) >= n, and its child i serves N(D - eel - i gap) of them. The tests hold
 * the heap against it. The same goes where nobody may have more than a number of children (`most`):
 * then the a links to a rank have less than that number of steps each, and those that have more are
 * left out of each term by inclusion and exclusion.
 *
 * Invariants:
 *  1. A subtree is a run of consecutive ranks (modulo P, unless ordered) which starts at its head.
 *     Only the root of an ordered tree may stand in the middle of its run: 0 .. P-1.
 *  2. Children come in sending order. In the reverse of it, in which a reduction hears from them,
 *     each child's run touches what its parent has already. In an ordered tree: fold at the right
 *     end when child->first is greater than the parent's rank, else at the left, and the order of
 *     ranks is kept.
 *  3. `ordered` trees never wrap: with them a reduction need not commute, whatever the root.
 *
 * Pure functions: any thread may call them.
 */
#ifndef WDL_MPID_COLL_TREE_H_INCLUDED
#define WDL_MPID_COLL_TREE_H_INCLUDED

#include <stdint.h>

enum wdl_tree_kind {
    WDL_TREE_OPTIMAL,           /* for this eel and gap */
    WDL_TREE_KNOMIAL,           /* of `arity`; 2: binomial */
    WDL_TREE_BINARY,            /* balanced, two children */
    WDL_TREE_FLAT,
    WDL_TREE_KIND_COUNT
};

struct wdl_tree_shape {
    enum wdl_tree_kind kind;
    int ranks;                  /* P >= 1 */
    int arity;                  /* of a k-nomial tree, at least 2; others ignore it */
    int most;  /* optimal: children a rank may have, at least log2 P; 0: any number */
    int ordered;                /* runs of ranks do not wrap */
    uint64_t eel_ps;            /* end-to-end latency of a message, > 0 and < 2^50 */
    uint64_t gap_ps;            /* between two sends of one rank, > 0 and < 2^50 */
};

struct wdl_tree_node {
    int rank;
    int parent;                 /* rank, -1 at the root */
    int link;                   /* which of its parent's children it is, in sending order; -1 */
    int first, size;            /* the subtree's run: `size` ranks from rank `first` on, modulo P */
    int children;
};

struct wdl_tree_child {
    int rank;
    int first, size;            /* as in wdl_tree_node */
};

/* Shapes with names. */
struct wdl_tree_shape wdl_tree_optimal(int ranks, uint64_t eel_ps, uint64_t gap_ps);
struct wdl_tree_shape wdl_tree_knomial(int ranks, int arity, uint64_t eel_ps, uint64_t gap_ps);
struct wdl_tree_shape wdl_tree_binary(int ranks, uint64_t eel_ps, uint64_t gap_ps);
struct wdl_tree_shape wdl_tree_flat(int ranks, uint64_t eel_ps, uint64_t gap_ps);

/* Where `rank` stands in the tree that starts at `root`. */
void wdl_tree_find(const struct wdl_tree_shape *shape, int root, int rank,
                   struct wdl_tree_node *node_out);
/* Its children in sending order: fills at most `max` and returns node->children. */
int wdl_tree_children(const struct wdl_tree_shape *shape, int root,
                      const struct wdl_tree_node *node, struct wdl_tree_child *children, int max);
/* When a broadcast from `root` has reached everyone, in ps. A reduction takes as long, in the other
 * direction. The root matters to ordered trees only. O(log P) but for flat and ordered trees:
 * O(degree log P). */
uint64_t wdl_tree_time_ps(const struct wdl_tree_shape *shape, int root);

#endif
