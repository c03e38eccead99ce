/* Part of Windlass. See COPYRIGHT in the top-level directory. The shapes of trees and rounds by the
 * team's model; the ranks of a team by node (nodes.h). */
#include "mpid/coll/nodes.h"

/* --- spans ------------------------------------------------------------------------------------ */

/* The optimal tree, or a binomial one where its root would have too many children. */
static void tree_make(struct wdl_span *span, int children_max, uint64_t eel, uint64_t gap)
{
    struct wdl_tree_node root;
    span->tree = wdl_tree_optimal(span->size, eel, gap);
    wdl_tree_find(&span->tree, 0, 0, &root);
    if (root.children > children_max) {
        span->tree = wdl_tree_knomial(span->size, 2, eel, gap);
        wdl_tree_find(&span->tree, 0, 0, &root);
    }
    span->root_children = root.children;
    span->tree_ps = wdl_tree_time_ps(&span->tree, 0);
}

void wdl_span_make(const struct wdl_team *team, int size, int links, struct wdl_span *span_out)
{
    uint64_t eel = (uint64_t) (team->params.model.latency * 1000) + 1;
    uint64_t gap = (uint64_t) (team->params.model.gap * 1000) + 1;
    int children_max = links && links <= WDL_CHILDREN_MAX ? links - 1 : WDL_CHILDREN_MAX;
    span_out->size = size;
    tree_make(span_out, children_max, eel, gap);
    wdl_pattern_spread(size, eel, gap, &span_out->spread);
    if (links && span_out->spread.steps > links)
        wdl_pattern_spread(size, eel, eel, &span_out->spread);
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* The node of a rank that says `name`: mostly that of the rank below it. */
static int node_find(const struct wdl_team *team, const struct wdl_nodes *nodes, int rank, int name)
{
    const struct wdl_team_params *p = &team->params;
    int count = nodes->span.size, last = rank ? nodes->node_of[rank - 1] : 0;
    for (int i = 0; i < count && name >= 0; i++) {
        int node = (last + i) % count;
        if (p->node_of(p->opened_ctx, nodes->leader[node]) == name)
            return node;
    }
    return count;
}

/* Returns the most ranks on one node. */
static int nodes_fill(const struct wdl_team *team, struct wdl_nodes *nodes, int *ranks_on)
{
    const struct wdl_team_params *p = &team->params;
    nodes->in_order = 1;
    for (int r = 0; r < team->size; r++) {
        int node = node_find(team, nodes, r, p->node_of(p->opened_ctx, r));
        if (node == nodes->span.size)
            nodes->leader[nodes->span.size++] = r;
        else if (nodes->node_of[r - 1] != node)
            nodes->in_order = 0;
        nodes->node_of[r] = node;
        if (++ranks_on[node] > nodes->most)
            nodes->most = ranks_on[node];
    }
    return nodes->most;
}

static void members_find(const struct wdl_team *team, struct wdl_nodes *nodes)
{
    nodes->mine = nodes->node_of[team->rank];
    for (int r = 0; r < team->size; r++) {
        if (nodes->node_of[r] != nodes->mine)
            continue;
        if (r == team->rank)
            nodes->place = nodes->size;
        nodes->member[nodes->size++] = r;
    }
}

int wdl_nodes_make(const struct wdl_team *team, struct wdl_nodes **nodes_out)
{
    const struct wdl_host *host = &team->coll->host;
    size_t size = (size_t) team->size;
    *nodes_out = NULL;
    if (!team->params.node_of || team->size < 3)
        return WDL_OK;
    struct wdl_nodes *nodes = host->ops->alloc(host->ctx, sizeof(*nodes) + 3 * size * sizeof(int));
    if (!nodes)
        return WDL_ERR_NOMEM;
    nodes->leader = (int *) (nodes + 1);
    nodes->node_of = nodes->leader + size;
    nodes->member = nodes->node_of + size; /* at first: how many ranks each node has */
    int most = nodes_fill(team, nodes, nodes->member);
    if (most < 2 || nodes->span.size < 2) {
        host->ops->free(host->ctx, nodes);
        return WDL_OK;
    }
    members_find(team, nodes);
    wdl_span_make(team, nodes->span.size, team->links, &nodes->span);
    *nodes_out = nodes;
    return WDL_OK;
}
