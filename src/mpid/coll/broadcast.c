/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Broadcast: down a tree, each rank passing on what has come so far; for more data, in blocks on a
 * circulant graph, all of whose ranks send and receive a block in every round (pattern.h), so that
 * little more than the data passes a port; or a scatter of the parts down the tree, and a ring that
 * gathers them.
 */
#include "mpid/coll/circulant.h"
#include "mpid/coll/cost.h"

/* The root's own copy of the data. */
static void own_copy(struct wdl_build *b)
{
    wdl_build_copy(b, b->to, b->from, b->args->bytes);
}

/* As far below the root as it is above, and the other way round. */
static int mirrored(const struct wdl_build *b, int rank)
{
    return (b->root + wdl_ring_distance(b, rank, b->root)) % b->size;
}

/* A fitted tree's children come up the ring, the first one first, as a circulant graph's do: of
 * ready flags that come at one instant, that of the child with most to pass on is to be heard
 * first. */
static void place_find(struct wdl_build *b, struct wdl_place *place_out)
{
    struct wdl_cost cost = wdl_cost_of_build(b);
    struct wdl_tree_node *node = &place_out->node;
    cost.tree = b->tree;
    if (!wdl_cost_is_fitted(&cost)) {
        wdl_place_find(b, b->root, b->rank, 0, place_out);
        return;
    }
    struct wdl_tree_shape shape = wdl_cost_fitted(&cost);
    b->in_order = 1;
    wdl_tree_find(&shape, b->root, mirrored(b, b->rank), node);
    (void) wdl_tree_children(&shape, b->root, node, place_out->child, WDL_CHILDREN_MAX);
    if (node->parent >= 0)
        node->parent = mirrored(b, node->parent);
    for (int i = 0; i < node->children; i++)
        place_out->child[i].rank = mirrored(b, place_out->child[i].rank);
}

void wdl_broadcast_tree(struct wdl_build *b)
{
    size_t bytes = b->args->bytes;
    int recv = WDL_CAR_NONE, is_root = b->rank == b->root;
    struct wdl_place place;
    place_find(b, &place);
    if (!is_root)
        recv = wdl_edge_recv(b, WDL_PHASE_DATA, place.node.parent, 0, 1 + place.node.link, b->to,
                             bytes);
    for (int i = 0; i < place.node.children; i++) {
        int send = wdl_edge_send(b, WDL_PHASE_DATA, place.child[i].rank, 0, 1 + i,
                                 is_root ? b->from : b->to, bytes);
        wdl_build_stream(b, recv, 0, send, 0, bytes);
    }
    if (is_root)
        own_copy(b);
}

/* Part of the data that starts at place `place`: parts differ by at most one byte. */
static size_t part_at(const struct wdl_build *b, int place)
{
    size_t each = b->args->bytes / (size_t) b->size, more = b->args->bytes % (size_t) b->size;
    return each * (size_t) place + ((size_t) place < more ? (size_t) place : more);
}

/* Distance from the root, and from one subtree's head. */
static int away(const struct wdl_build *b, int rank)
{
    return wdl_ring_distance(b, b->root, rank);
}

static int owns(const struct wdl_build *b, const struct wdl_tree_node *node, int part)
{
    return (part - away(b, node->rank) + b->size) % b->size < node->size;
}

/* Down the tree: this rank's subtree's parts, its own first, come to `own`; returns what brings
 * them. */
static int scatter(struct wdl_build *b, const struct wdl_place *place, struct wdl_loc own)
{
    b->in_order = 1; /* what is behind the scatter can wait for it */
    int recv = WDL_CAR_NONE, i = away(b, b->rank);
    size_t lo = part_at(b, i), all = part_at(b, i + place->node.size) - lo;
    if (place->node.parent >= 0)
        recv = wdl_edge_recv(b, WDL_PHASE_DATA, place->node.parent, 0, 1 + place->node.link, own,
                             all);
    for (int c = 0; c < place->node.children; c++) {
        const struct wdl_tree_child *child = &place->child[c];
        int first = away(b, child->rank);
        size_t at = part_at(b, first) - lo, bytes = part_at(b, first + child->size) - lo - at;
        int send = wdl_edge_send(b, WDL_PHASE_DATA, child->rank, 0, 1 + c, wdl_loc_at(own, at),
                                 bytes);
        wdl_build_stream(b, recv, at, send, 0, bytes);
    }
    return recv;
}

/* The ring: in step j this rank, i parts from the root, sends part i - j to the right, unless the
 * scatter has brought it there already, and gets part i - j - 1 from the left. `recv` is the
 * scatter's, of the bytes from `lo` on. */
static void ring(struct wdl_build *b, const struct wdl_tree_node *node, int recv, size_t lo)
{
    int size = b->size, right = (b->rank + 1) % size, left = (b->rank - 1 + size) % size;
    int go = WDL_CAR_NONE, before = WDL_CAR_NONE, i = away(b, b->rank);
    struct wdl_place next;
    wdl_place_find(b, b->root, right, 0, &next);
    int asked = wdl_ready_wanted_bare(b, b->args->bytes);
    if (asked && node->size < size)
        wdl_ready_send(b, left, wdl_role(b, WDL_PHASE_READY2, 0), b->to, b->args->bytes);
    if (asked && next.node.size < size)
        go = wdl_ready_recv(b, right, wdl_role(b, WDL_PHASE_READY2, 0));
    for (int j = 0; j < size - 1; j++) {
        struct wdl_pattern_step step = wdl_pattern_ring(size, i, j);
        int out = step.send_first, in = step.recv_first;
        if (!owns(b, &next.node, out)) {
            size_t at = part_at(b, out), bytes = part_at(b, out + 1) - at;
            int send = wdl_build_send(b, right, wdl_role_bare(b, j),
                                      wdl_loc_at(i ? b->to : b->from, at), bytes);
            wdl_ready_for(b, go, send, at);
            if (owns(b, node, out))
                wdl_build_stream(b, recv, at - lo, send, 0, bytes);
            else
                wdl_build_stream(b, before, 0, send, 0, bytes);
        }
        if (!owns(b, node, in)) {
            size_t at = part_at(b, in), bytes = part_at(b, in + 1) - at;
            before =
                wdl_build_recv(b, left, wdl_role_bare(b, j), wdl_loc_at(b->to, at), bytes);
        }
    }
}

void wdl_broadcast_scatter_ring(struct wdl_build *b)
{
    int is_root = b->rank == b->root;
    size_t lo = part_at(b, away(b, b->rank));
    struct wdl_place place;
    wdl_place_find(b, b->root, b->rank, 0, &place);
    int recv = scatter(b, &place, is_root ? b->from : wdl_loc_at(b->to, lo));
    ring(b, &place.node, recv, lo);
    if (is_root)
        own_copy(b);
}

/* --- in blocks, on a circulant graph ---------------------------------------------------------- */

/* In the order of its steps: a block that leaves before its step, because its receiver's flag has
 * been heard first, keeps the port busy for the block that all wait for. */
static void root_waits(struct wdl_build *b, const struct wdl_circulant *c, int i, int send)
{
    for (int k = 0; k < i && k < c->pattern.rounds; k++)
        wdl_build_order(b, c->go[wdl_pattern_circulant_kind(&c->pattern, c->blocks, k)], send);
}

static void block_move(struct wdl_build *b, const struct wdl_circulant *c, int i,
                       int recv[WDL_CIRCULANT_BLOCKS_MAX])
{
    struct wdl_circulant_step s = wdl_circulant_step(b, c, i);
    int is_root = b->rank == b->root;
    if (s.out >= 0) {
        size_t at = wdl_circulant_at(b, c, s.out), bytes = wdl_circulant_at(b, c, s.out + 1) - at;
        struct wdl_loc from = wdl_loc_at(is_root ? b->from : b->to, at);
        int send = wdl_build_send(b, s.to, wdl_role_bare(b, s.out), from, bytes);
        wdl_ready_for(b, c->go[s.kind], send, at);
        if (is_root)
            root_waits(b, c, i, send);
        else
            wdl_build_stream(b, recv[s.out], 0, send, 0, bytes);
    }
    if (s.in >= 0) {
        size_t at = wdl_circulant_at(b, c, s.in), bytes = wdl_circulant_at(b, c, s.in + 1) - at;
        recv[s.in] = wdl_build_recv(b, s.from, wdl_role_bare(b, s.in), wdl_loc_at(b->to, at),
                                    bytes);
    }
}

void wdl_broadcast_circulant(struct wdl_build *b)
{
    int recv[WDL_CIRCULANT_BLOCKS_MAX];
    struct wdl_circulant c;
    wdl_circulant_find(b, &c);
    if (wdl_ready_wanted_bare(b, b->args->bytes)) {
        struct wdl_circulant_step s;
        for (int k = 0; k < c.pattern.rounds; k++)
            if (wdl_circulant_first(b, &c, k, WDL_CIRCULANT_IN, &s))
                wdl_ready_send(b, s.from, wdl_role(b, WDL_PHASE_READY, s.kind), b->to,
                               b->args->bytes);
        for (int k = 0; k < c.pattern.rounds; k++)
            if (wdl_circulant_first(b, &c, k, WDL_CIRCULANT_OUT, &s))
                c.go[s.kind] = wdl_ready_recv(b, s.to, wdl_role(b, WDL_PHASE_READY, s.kind));
    }
    for (int i = 0; i < c.steps; i++)
        block_move(b, &c, i, recv);
    if (b->rank == b->root)
        own_copy(b);
}
