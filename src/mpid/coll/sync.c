/* Part of Windlass. See COPYRIGHT in the top-level directory. Roles, trees, edges,
 * synchronization by flags. */
#include "mpid/coll/algo.h"
#include "mpid/coll/pattern.h"

uint32_t wdl_role(const struct wdl_build *b, enum wdl_phase phase, int link)
{
    wdl_assert_cmp(link, <, b->team->links);
    return (uint32_t) ((int) phase * b->team->links + link);
}

uint32_t wdl_role_bare(const struct wdl_build *b, int index)
{
    return b->team->cell_roles + (uint32_t) index;
}

uint32_t wdl_role_ready(const struct wdl_build *b, enum wdl_phase phase, int index, int d)
{
    return b->size < b->team->links ? wdl_role(b, phase, d) : wdl_role_bare(b, 2 * b->size + index);
}

int wdl_log2_up(int n)
{
    return wdl_pattern_rounds(n, 2);
}

void wdl_place_find(const struct wdl_build *b, int root, int rank, int ordered,
                    struct wdl_place *place_out)
{
    struct wdl_tree_shape shape = b->span->tree[b->tree].shape;
    shape.ordered = ordered;
    wdl_tree_find(&shape, root, rank, &place_out->node);
    wdl_assert_cmp(place_out->node.children, <=, WDL_CHILDREN_MAX);
    (void) wdl_tree_children(&shape, root, &place_out->node, place_out->child, WDL_CHILDREN_MAX);
}

int wdl_ring_distance(const struct wdl_build *b, int from, int to)
{
    return (to - from + b->size) % b->size;
}

int wdl_ready_wanted(const struct wdl_build *b, size_t bytes)
{
    return bytes > (b->armed ? b->team->coll->chunk_bytes : b->team->params.cell_bytes);
}

int wdl_ready_wanted_bare(const struct wdl_build *b, size_t bytes)
{
    return !b->armed || bytes > b->team->coll->chunk_bytes;
}

void wdl_ready_send(struct wdl_build *b, int peer, uint32_t role, struct wdl_loc to, size_t bytes)
{
    int send = wdl_build_send(b, peer, role, wdl_nowhere(), 0);
    if (send == WDL_CAR_NONE)
        return;
    b->cars[send].offers = 1;
    b->cars[send].offered = to;
    b->cars[send].offered_bytes = bytes;
}

int wdl_ready_recv(struct wdl_build *b, int peer, uint32_t role)
{
    int recv = wdl_build_recv(b, peer, role, wdl_nowhere(), 0);
    if (recv != WDL_CAR_NONE)
        b->cars[recv].asks = 1;
    return recv;
}

void wdl_ready_for(struct wdl_build *b, int ready, int send, size_t at)
{
    wdl_build_order(b, ready, send);
    if (ready == WDL_CAR_NONE || send == WDL_CAR_NONE)
        return;
    b->cars[send].ready = ready + 1;
    b->cars[send].place_at = at;
}

int wdl_edge_send(struct wdl_build *b, enum wdl_phase phase, int peer, int link_there,
                  int link_here, struct wdl_loc from, size_t bytes)
{
    int send = wdl_build_send(b, peer, wdl_role(b, phase, link_there), from, bytes);
    if (wdl_ready_wanted(b, bytes))
        wdl_ready_for(b, wdl_ready_recv(b, peer, wdl_role(b, phase + WDL_PHASE_READY, link_here)),
                      send, 0);
    return send;
}

int wdl_edge_recv(struct wdl_build *b, enum wdl_phase phase, int peer, int link_here,
                  int link_there, struct wdl_loc to, size_t bytes)
{
    if (wdl_ready_wanted(b, bytes))
        wdl_ready_send(b, peer, wdl_role(b, phase + WDL_PHASE_READY, link_there), to, bytes);
    return wdl_build_recv(b, peer, wdl_role(b, phase, link_here), to, bytes);
}

int wdl_sync_up(struct wdl_build *b, enum wdl_phase phase, int root, int after)
{
    struct wdl_place place;
    int join = wdl_build_join(b), parent;
    wdl_place_find(b, root, b->rank, 0, &place);
    parent = place.node.parent;
    wdl_build_order(b, after, join);
    for (int i = 0; i < place.node.children; i++) {
        uint32_t role = wdl_role(b, phase, 1 + i);
        wdl_build_order(b, wdl_build_recv(b, place.child[i].rank, role, wdl_nowhere(), 0), join);
    }
    if (parent >= 0) {
        uint32_t role = wdl_role(b, phase, 1 + place.node.link);
        wdl_build_order(b, join, wdl_build_send(b, parent, role, wdl_nowhere(), 0));
    }
    return join;
}

int wdl_sync_down(struct wdl_build *b, enum wdl_phase phase, int root, int after)
{
    struct wdl_place place;
    uint32_t role = wdl_role(b, phase, 0);
    int come = after;
    wdl_place_find(b, root, b->rank, 0, &place);
    if (place.node.parent >= 0)
        come = wdl_build_recv(b, place.node.parent, role, wdl_nowhere(), 0);
    for (int i = 0; i < place.node.children; i++)
        wdl_build_order(b, come, wdl_build_send(b, place.child[i].rank, role, wdl_nowhere(), 0));
    return come;
}

int wdl_sync_all(struct wdl_build *b, enum wdl_phase phase, int after)
{
    const struct wdl_pattern_spread *spread = &b->span->spread;
    int heard[WDL_PATTERN_SPREAD_MAX + 1] = {after}; /* by the number of steps */
    if (spread->steps == 0 && after == WDL_CAR_NONE)
        return wdl_build_join(b);
    for (int k = 0; k < spread->steps; k++) {
        int up = (int) (((int64_t) b->rank + spread->hop[k]) % b->size);
        int send = wdl_build_send(b, up, wdl_role(b, phase, k), wdl_nowhere(), 0);
        int recv = wdl_build_recv(b, (b->rank - spread->hop[k] + b->size) % b->size,
                                  wdl_role(b, phase, k), wdl_nowhere(), 0);
        wdl_build_order(b, heard[spread->after[k]], send);
        heard[k + 1] = wdl_build_join(b);
        wdl_build_order(b, heard[k], heard[k + 1]);
        wdl_build_order(b, recv, heard[k + 1]);
    }
    return heard[spread->steps];
}

enum wdl_flow wdl_flow_of(const struct wdl_coll_args *args)
{
    switch (args->kind) {
    case WDL_COLL_BROADCAST:
    case WDL_COLL_SCATTER:
        return WDL_FLOW_DOWN;
    case WDL_COLL_GATHER:
    case WDL_COLL_REDUCE:
        return WDL_FLOW_UP;
    case WDL_COLL_CUSTOM:
        return args->flow;
    default:
        return WDL_FLOW_ALL;
    }
}

size_t wdl_block_bytes(const struct wdl_coll_args *args, const struct wdl_coll_blocks *blocks,
                       int rank)
{
    return args->variable ? blocks->bytes[rank] : args->bytes;
}

size_t wdl_block_at(const struct wdl_coll_args *args, const struct wdl_coll_blocks *blocks,
                    int rank)
{
    return args->variable ? blocks->at[rank] : (size_t) rank * args->bytes;
}
