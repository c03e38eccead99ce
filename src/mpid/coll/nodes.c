/* Part of Windlass. See COPYRIGHT in the top-level directory. The shapes of trees and rounds by the
 * team's model; the ranks of a team by node (nodes.h). */
#include "mpid/coll/nodes.h"
#include <string.h>
#include "mpid/coll/cost.h"

/* --- spans ------------------------------------------------------------------------------------ */

/* Nobody asks of the optimal tree, whose shape hangs on the times. */
static int steps_of(const struct wdl_tree_shape *shape)
{
    struct wdl_tree_shape steps = *shape;
    steps.eel_ps = steps.gap_ps = 1;
    return shape->kind == WDL_TREE_OPTIMAL ? 0 : (int) wdl_tree_time_ps(&steps, 0);
}

/* Their places are from `first` on; returns what is behind them. */
static int children_find(struct wdl_span *span, struct wdl_span_tree *tree, int first)
{
    struct wdl_tree_node root;
    struct wdl_tree_child child[WDL_CHILDREN_MAX];
    struct wdl_tree_shape below = tree->shape;
    wdl_tree_find(&tree->shape, 0, 0, &root);
    wdl_assert_cmp(first + root.children, <=, WDL_SPAN_CHILDREN);
    (void) wdl_tree_children(&tree->shape, 0, &root, child, WDL_CHILDREN_MAX);
    for (int i = 0; i < root.children; i++) {
        struct wdl_span_child *of = &span->child[first + i];
        below.ranks = of->size = child[i].size;
        of->steps = steps_of(&below);
        of->ps = wdl_tree_time_ps(&below, 0);
    }
    tree->children = root.children;
    tree->first = first;
    return first + root.children;
}

static void trees_make(struct wdl_span *span, int children_max, uint64_t eel, uint64_t gap)
{
    struct wdl_span_tree *tree = span->tree;
    int n = span->size, next = 0;
    tree[WDL_SPAN_OPTIMAL].shape = wdl_tree_optimal(n, eel, gap);
    tree[WDL_SPAN_OPTIMAL].shape.most = children_max;
    tree[WDL_SPAN_BINOMIAL].shape = wdl_tree_knomial(n, 2, eel, gap);
    tree[WDL_SPAN_KNOMIAL].shape = wdl_tree_knomial(n, WDL_SPAN_ARITY, eel, gap);
    tree[WDL_SPAN_BINARY].shape = wdl_tree_binary(n, eel, gap);
    tree[WDL_SPAN_FLAT].shape = wdl_tree_flat(n, eel, gap);
    for (int k = 0; k < WDL_SPAN_TREES; k++) {
        tree[k].steps = steps_of(&tree[k].shape);
        tree[k].ps = wdl_tree_time_ps(&tree[k].shape, 0);
        if (k == WDL_SPAN_FLAT)
            tree[k].children = n - 1;
        else
            next = children_find(span, &tree[k], next);
    }
}

void wdl_span_shape(double latency, double gap_ns, int size, int links, struct wdl_span *span_out)
{
    uint64_t eel = (uint64_t) (latency * 1000) + 1;
    uint64_t gap = (uint64_t) (gap_ns * 1000) + 1;
    int children_max = links && links <= WDL_CHILDREN_MAX ? links - 1 : WDL_CHILDREN_MAX;
    span_out->size = size;
    trees_make(span_out, children_max, eel, gap);
    wdl_pattern_spread(size, eel, gap, &span_out->spread);
    if (links && span_out->spread.steps > links)
        wdl_pattern_spread(size, eel, eel, &span_out->spread);
    span_out->circulant_hops = wdl_pattern_circulant_hops(size);
    span_out->one_size = wdl_pattern_circulant_size(size, eel, gap);
    span_out->one_rounds = wdl_pattern_rounds(span_out->one_size, 2);
    span_out->one_hops = wdl_pattern_circulant_hops(span_out->one_size);
}

void wdl_span_find(struct wdl_coll *coll, double latency, double gap, int size, int links,
                   struct wdl_span *span_out)
{
    struct wdl_span_kept *kept = coll->spans;
    for (; kept < coll->spans + WDL_SPANS_KEPT; kept++)
        if (kept->span.size == size && kept->links == links && kept->latency == latency &&
            kept->gap == gap) {
            *span_out = kept->span;
            return;
        }
    wdl_span_shape(latency, gap, size, links, span_out);
    coll->spans_found++;
    coll->spans[coll->next_span++ % WDL_SPANS_KEPT] =
        (struct wdl_span_kept){latency, gap, links, *span_out};
}

void wdl_span_make(const struct wdl_team *team, int size, int links, struct wdl_span *span_out)
{
    wdl_span_find(team->coll, team->params.model.latency, team->params.model.gap, size, links,
                  span_out);
}

int wdl_span_has_links(const struct wdl_team *team, int tree, int ordered)
{
    int children = team->span.tree[tree].children;
    if (tree == WDL_SPAN_OPTIMAL)
        return 1; /* the links are made for it */
    if (ordered) /* a root that stands among its ranks has one more on either side */
        children += 2;
    if (children >= team->size)
        children = team->size - 1;
    return children < team->links && children <= WDL_CHILDREN_MAX;
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* The node of a rank that says `name[rank]`: mostly that of the rank below it. */
static int node_find(const struct wdl_nodes *nodes, const int *name, int rank)
{
    int count = nodes->span.size, last = rank ? nodes->node_of[rank - 1] : 0;
    for (int i = 0; i < count && name[rank] >= 0; i++) {
        int node = (last + i) % count;
        if (name[nodes->leader[node]] == name[rank])
            return node;
    }
    return count;
}

/* first[node + 1]: how many ranks it has, for the time being. */
static void nodes_fill(const struct wdl_team *team, struct wdl_nodes *nodes, const int *name)
{
    nodes->in_order = 1;
    nodes->span.size = nodes->most = 0;
    memset(nodes->first, 0, ((size_t) team->size + 1) * sizeof(nodes->first[0]));
    for (int r = 0; r < team->size; r++) {
        int node = node_find(nodes, name, r);
        if (node == nodes->span.size)
            nodes->leader[nodes->span.size++] = r;
        else if (nodes->node_of[r - 1] != node)
            nodes->in_order = 0;
        nodes->node_of[r] = node;
        if (++nodes->first[node + 1] > nodes->most)
            nodes->most = nodes->first[node + 1];
    }
}

/* A domain of too many becomes several: each rank's name says which part, too. */
static void names_part(const struct wdl_team *team, struct wdl_nodes *nodes, int *name)
{
    int *before = nodes->leader; /* of its domain, as far as we have come */
    memset(before, 0, (size_t) nodes->span.size * sizeof(before[0]));
    for (int r = 0; r < team->size; r++) {
        int node = nodes->node_of[r], count = nodes->first[node + 1];
        int parts = (count + WDL_NODE_RANKS_MAX - 1) / WDL_NODE_RANKS_MAX;
        name[r] = node * team->size + before[node]++ * parts / count;
    }
}

/* All are on one node. Where one may be anywhere there are no domains. */
static void domains_fill(const struct wdl_team *team, struct wdl_nodes *nodes, int *name)
{
    const struct wdl_team_params *p = &team->params;
    for (int r = 0; r < team->size; r++) {
        name[r] = p->domain_of(p->opened_ctx, r);
        if (name[r] < 0)
            return;
    }
    nodes->domains = 1;
    nodes_fill(team, nodes, name);
    if (nodes->most > WDL_NODE_RANKS_MAX) {
        names_part(team, nodes, name);
        nodes_fill(team, nodes, name);
    }
}

static void fill(const struct wdl_team *team, struct wdl_nodes *nodes)
{
    const struct wdl_team_params *p = &team->params;
    int *name = nodes->order; /* until that is known */
    for (int r = 0; r < team->size; r++)
        name[r] = p->node_of(p->opened_ctx, r);
    nodes_fill(team, nodes, name);
    if (nodes->span.size == 1 && p->domain_of)
        domains_fill(team, nodes, name);
}

/* Counts become places; each node's moves on with its ranks, and is where the next one's begins. */
static void order_find(const struct wdl_team *team, struct wdl_nodes *nodes)
{
    int count = nodes->span.size, *first = nodes->first;
    for (int node = 1; node <= count; node++)
        first[node] += first[node - 1];
    for (int r = 0; r < team->size; r++)
        nodes->order[first[nodes->node_of[r]]++] = r;
    for (int node = count; node > 0; node--)
        first[node] = first[node - 1];
    first[0] = 0;
    nodes->mine = nodes->node_of[team->rank];
    nodes->size = first[nodes->mine + 1] - first[nodes->mine];
    nodes->member = nodes->order + first[nodes->mine];
    while (nodes->member[nodes->place] != team->rank)
        nodes->place++;
}

static void heads_shape(const struct wdl_team *team, struct wdl_nodes *nodes)
{
    if (nodes->domains)
        wdl_span_find(team->coll, wdl_cost_across(team), wdl_cost_within(1, 0), nodes->span.size,
                      team->links, &nodes->span);
    else
        wdl_span_make(team, nodes->span.size, team->links, &nodes->span);
}

int wdl_nodes_make(const struct wdl_team *team, struct wdl_nodes **nodes_out)
{
    const struct wdl_host *host = &team->coll->host;
    size_t size = (size_t) team->size;
    *nodes_out = NULL;
    if (!team->params.node_of || team->size < 3 || (team->on_node && !team->params.domain_of))
        return WDL_OK;
    struct wdl_nodes *nodes =
        host->ops->alloc(host->ctx, sizeof(*nodes) + (4 * size + 1) * sizeof(int));
    if (!nodes)
        return WDL_ERR_NOMEM;
    nodes->leader = (int *) (nodes + 1);
    nodes->node_of = nodes->leader + size;
    nodes->order = nodes->node_of + size;
    nodes->first = nodes->order + size;
    fill(team, nodes);
    if (nodes->most >= 2 && nodes->span.size >= 2) {
        order_find(team, nodes);
        heads_shape(team, nodes);
        if (!team->on_node || wdl_select_wants_levels(team, nodes)) {
            *nodes_out = nodes;
            return WDL_OK;
        }
    }
    host->ops->free(host->ctx, nodes);
    return WDL_OK;
}
