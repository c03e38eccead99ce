/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Which algorithm: one table, a test per row that says where it applies and a cost by the team's
 * model; the cheapest that applies is taken, by every rank alike. And the graphs: entry
 * synchronization, the algorithm's data, exit synchronization; kept by shape.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "mpid/coll/ahead.h"
#include "mpid/coll/cost.h"
#include "mpid/coll/fail.h"
#include "mpid/coll/levels.h"
#include "mpid/coll/node.h"
#include "mpid/coll/nodes.h"

enum { ROW_FIRST = 1 << 16, ROW_CREDIT }; /* rows of the empty collectives */
enum { HAS_BEFORE = 1 << 28, HAS_AFTER = 1 << 29 }; /* in a shape's flags */

struct row {
    enum wdl_coll_kind kind;
    const char *name;
    void (*build)(struct wdl_build *b);
    int (*applies)(const struct wdl_team *team, const struct wdl_coll_args *args);
    double (*cost)(const struct wdl_cost *c); /* ns; NULL: taken by name alone */
    int entry; /* stands on all having begun before data moves */
    int tree; /* of the span's: what data go along, if they go along one */
};

static int always(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    (void) team;
    (void) args;
    return 1;
}

/* Through memory in between, and so not where one copy can be saved. */
static int stages(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    int placed = (args->flags & WDL_COLL_PLACED) && args->bytes > team->coll->chunk_bytes;
    return !placed && !args->variable;
}

/* Every other rank has a link of its own. */
static int few(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    (void) args;
    return team->size < team->links;
}

static int few_or_sparse(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    return args->variable || few(team, args);
}

/* Everybody waits for everybody in any case: the entry's flags may be fewer than ready flags. */
static int dense(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    (void) team;
    return !args->variable;
}

/* All must be ready for it; and there is somebody. */
static int is_asked_for(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    return team->size > 1 && args->bytes > team->params.cell_bytes;
}

/* Shorter ones a tree reduces nearly as fast, and never slower for fewer ranks. */
static int is_long_and_commutes(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    int is_long = 2 * args->bytes > team->coll->chunk_bytes;
    return team->size > 1 && is_long && args->op.commutes;
}

/* Something for every rank to own. */
static int divisible(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    size_t unit = args->kind == WDL_COLL_BROADCAST ? 1 : args->op.elem_bytes;
    return args->bytes / unit >= (size_t) team->size;
}

/* Ranks may fold in different orders, and still all have the same bits. */
static int exact(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    (void) team;
    return args->op.commutes == WDL_COLL_EXACT;
}

/* Every rank has room for the data of all. */
static int all_fit(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    enum { MOST = 1 << 16 };
    return args->bytes <= MOST / (size_t) team->size;
}

/* All ranks are on this node, and what they show fits on a board or can be fetched. */
static int node(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    if (!team->on_node)
        return 0;
    if (wdl_ahead_way(team, args) != WDL_AHEAD_NOT)
        return 1;
    if (wdl_node_shown(team, args) <= team->params.board_bytes)
        return 1;
    /* all fold parts of long vectors, each when all have come: OUT_NOSYNC does not wait for that */
    int waits = (args->kind == WDL_COLL_REDUCE || args->kind == WDL_COLL_SCAN) &&
                (args->flags & WDL_COLL_OUT_NOSYNC) && !(args->flags & WDL_COLL_LEAVES);
    return team->params.shm->peek && !waits;
}

/* The blocks of a vector lie side by side, and somebody waits for each rank's. */
static int is_whole(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    const struct wdl_coll_blocks *blocks = &args->src_blocks;
    for (int r = 1; r < team->size && args->variable; r++)
        if (blocks->at[r] != blocks->at[r - 1] + blocks->bytes[r - 1])
            return 0;
    return args->variable ? blocks->at[0] == 0 : args->bytes > 0;
}

/* All ranks know the lengths of all, or they are one; and one copy cannot be saved. */
static int passes_on(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    if (args->variable)
        return args->kind == WDL_COLL_GATHER_ALL && !(args->flags & WDL_COLL_PLACED);
    return stages(team, args);
}

/* Several nodes, or domains of one, some with several ranks. Operands of a node are folded
 * together: an operator that does not commute wants them side by side, and so does who wants a part
 * of the ranks. */
static int levels(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    const struct wdl_nodes *nodes = team->nodes;
    int reduces = wdl_coll_reduces(args->kind);
    int parts = args->kind == WDL_COLL_SCAN || args->kind == WDL_COLL_REDUCE_SCATTER;
    if (!nodes || (reduces && (parts || !args->op.commutes) && !nodes->in_order))
        return 0;
    if (args->kind == WDL_COLL_REDUCE_SCATTER && !is_whole(team, args))
        return 0;
    if (args->kind >= WDL_COLL_SCATTER && !reduces && !passes_on(team, args))
        return 0;
    return !(args->flags & WDL_COLL_OUT_NOSYNC) ||
           wdl_levels_shown(team, args) <= team->params.board_bytes;
}

/* Blocks so short that the boards hold all that comes to a node for its ranks. */
static int levels_short(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    return levels(team, args) && wdl_levels_shown(team, args) <= team->params.board_bytes;
}

/* The ranks of a node have memory in common; who has a block for whom is not asked elsewhere. Not
 * where all could look at each other's. */
static int near(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    if (!team->nodes || team->on_node || (args->variable && team->nodes->most > WDL_NODE_RANKS_MAX))
        return 0;
    return !(args->flags & WDL_COLL_OUT_NOSYNC) ||
           wdl_node_shown(team, args) <= team->params.board_bytes;
}

static int near_few_or_sparse(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    return near(team, args) && few_or_sparse(team, args);
}

static int near_dense(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    return near(team, args) && dense(team, args);
}

static void custom(struct wdl_build *b)
{
    b->args->build(b);
}

/* Of blocks the flat tree is "direct". */
#define TREES(kind, build, applies, cost)                            \
    {kind, "binomial", build, applies, cost, 0, WDL_SPAN_BINOMIAL},  \
        {kind, "knomial", build, applies, cost, 0, WDL_SPAN_KNOMIAL}, \
        {kind, "binary", build, applies, cost, 0, WDL_SPAN_BINARY}

/* By kind, in its order. Levels are right behind what looks at all boards. Of several that are the
 * cheapest the first is taken. */
static const struct row rows[] = {
    {WDL_COLL_BARRIER, "node", wdl_all_node, node, wdl_cost_node, 0, 0},
    {WDL_COLL_BARRIER, "levels", wdl_levels_barrier, levels, wdl_cost_levels, 0, 0},
    {WDL_COLL_BARRIER, "dissemination", wdl_barrier_dissemination, always, wdl_cost_rounds, 0, 0},
    {WDL_COLL_BROADCAST, "node", wdl_all_node, node, wdl_cost_node, 0, 0},
    {WDL_COLL_BROADCAST, "levels", wdl_levels_broadcast, levels, wdl_cost_levels, 0, 0},
    {WDL_COLL_BROADCAST, "ahead", wdl_ahead_build, wdl_ahead_by_message, wdl_cost_pairwise, 0, 0},
    {WDL_COLL_BROADCAST, "tree", wdl_broadcast_tree, always, wdl_cost_broadcast_tree, 0, 0},
    {WDL_COLL_BROADCAST, "scatter_ring", wdl_broadcast_scatter_ring, divisible,
     wdl_cost_broadcast_ring, 0, 0},
    {WDL_COLL_BROADCAST, "circulant", wdl_broadcast_circulant, is_asked_for,
     wdl_cost_broadcast_circulant, 0, 0},
    TREES(WDL_COLL_BROADCAST, wdl_broadcast_tree, always, NULL),
    {WDL_COLL_BROADCAST, "flat", wdl_broadcast_tree, always, NULL, 0, WDL_SPAN_FLAT},
    {WDL_COLL_SCATTER, "node", wdl_all_node, node, wdl_cost_node, 0, 0},
    {WDL_COLL_SCATTER, "levels", wdl_levels_scatter, levels, wdl_cost_levels_tree, 0, 0},
    {WDL_COLL_SCATTER, "ahead", wdl_ahead_build, wdl_ahead_by_message, wdl_cost_pairwise, 0, 0},
    {WDL_COLL_SCATTER, "near", wdl_near_scatter, near, wdl_cost_near, 0, 0},
    {WDL_COLL_SCATTER, "tree", wdl_scatter_tree, stages, wdl_cost_tree, 0, 0},
    {WDL_COLL_SCATTER, "direct", wdl_scatter_direct, always, wdl_cost_direct, 0, 0},
    TREES(WDL_COLL_SCATTER, wdl_scatter_tree, stages, NULL),
    {WDL_COLL_GATHER, "node", wdl_all_node, node, wdl_cost_node, 0, 0},
    {WDL_COLL_GATHER, "levels", wdl_levels_gather, levels, wdl_cost_levels_tree, 0, 0},
    {WDL_COLL_GATHER, "ahead", wdl_ahead_build, wdl_ahead_by_message, wdl_cost_pairwise, 0, 0},
    {WDL_COLL_GATHER, "near", wdl_near_gather, near, wdl_cost_near, 0, 0},
    {WDL_COLL_GATHER, "tree", wdl_gather_tree, stages, wdl_cost_tree, 0, 0},
    {WDL_COLL_GATHER, "direct", wdl_gather_direct, always, wdl_cost_direct, 0, 0},
    TREES(WDL_COLL_GATHER, wdl_gather_tree, stages, NULL),
    {WDL_COLL_GATHER_ALL, "node", wdl_all_node, node, wdl_cost_node, 0, 0},
    {WDL_COLL_GATHER_ALL, "levels", wdl_levels_gather_all, levels, wdl_cost_levels, 0, 0},
    {WDL_COLL_GATHER_ALL, "ahead", wdl_ahead_build, wdl_ahead_by_message, wdl_cost_pairwise, 0, 0},
    {WDL_COLL_GATHER_ALL, "bruck", wdl_gather_all_bruck, stages, wdl_cost_bruck, 0, 0},
    {WDL_COLL_GATHER_ALL, "ring", wdl_gather_all_ring, always, wdl_cost_ring, 0, 0},
    {WDL_COLL_EXCHANGE, "node", wdl_all_node, node, wdl_cost_node, 0, 0},
    {WDL_COLL_EXCHANGE, "levels", wdl_levels_exchange, levels_short,
     wdl_cost_levels_exchange, 0, 0},
    {WDL_COLL_EXCHANGE, "ahead", wdl_ahead_build, wdl_ahead_by_message, wdl_cost_pairwise, 0, 0},
    {WDL_COLL_EXCHANGE, "near", wdl_near_exchange, near_few_or_sparse,
     wdl_cost_near_pairwise, 0, 0},
    {WDL_COLL_EXCHANGE, "near_entry", wdl_near_exchange, near_dense, wdl_cost_near_entry, 1, 0},
    {WDL_COLL_EXCHANGE, "bruck", wdl_exchange_bruck, stages, wdl_cost_exchange_bruck, 0, 0},
    {WDL_COLL_EXCHANGE, "pairwise", wdl_exchange_pairwise, few_or_sparse, wdl_cost_pairwise, 0, 0},
    {WDL_COLL_EXCHANGE, "pairwise_entry", wdl_exchange_pairwise, dense,
     wdl_cost_pairwise_entry, 1, 0},
    {WDL_COLL_REDUCE, "node", wdl_all_node, node, wdl_cost_node, 0, 0},
    {WDL_COLL_REDUCE, "levels", wdl_levels_reduce, levels, wdl_cost_levels, 0, 0},
    {WDL_COLL_REDUCE, "tree", wdl_reduce_tree, always, wdl_cost_reduce_tree, 0, 0},
    {WDL_COLL_REDUCE, "circulant", wdl_reduce_circulant, is_long_and_commutes,
     wdl_cost_reduce_circulant, 0, 0},
    TREES(WDL_COLL_REDUCE, wdl_reduce_tree, always, wdl_cost_reduce_by_name),
    {WDL_COLL_REDUCE, "flat", wdl_reduce_tree, always, wdl_cost_reduce_by_name, 0,
     WDL_SPAN_FLAT},
    {WDL_COLL_ALLREDUCE, "node", wdl_all_node, node, wdl_cost_node, 0, 0},
    {WDL_COLL_ALLREDUCE, "levels", wdl_levels_allreduce, levels, wdl_cost_levels, 0, 0},
    {WDL_COLL_ALLREDUCE, "gathered", wdl_allreduce_gathered, all_fit, wdl_cost_gathered, 0, 0},
    {WDL_COLL_ALLREDUCE, "doubling", wdl_allreduce_doubling, always, wdl_cost_doubling, 0, 0},
    {WDL_COLL_ALLREDUCE, "census", wdl_allreduce_census, exact, wdl_cost_census, 0, 0},
    {WDL_COLL_ALLREDUCE, "halving", wdl_allreduce_halving, divisible, wdl_cost_halving, 0, 0},
    {WDL_COLL_SCAN, "node", wdl_all_node, node, wdl_cost_node, 0, 0},
    {WDL_COLL_SCAN, "levels", wdl_levels_scan, levels, wdl_cost_levels_scan, 0, 0},
    {WDL_COLL_SCAN, "doubling", wdl_scan_doubling, always, wdl_cost_vector, 0, 0},
    {WDL_COLL_REDUCE_SCATTER, "node", wdl_all_node, node, wdl_cost_node, 0, 0},
    {WDL_COLL_REDUCE_SCATTER, "levels", wdl_levels_reduce_scatter, levels,
     wdl_cost_levels_reduce_scatter, 0, 0},
    {WDL_COLL_REDUCE_SCATTER, "pairwise", wdl_reduce_scatter_pairwise, few_or_sparse,
     wdl_cost_pairwise, 0, 0},
    {WDL_COLL_REDUCE_SCATTER, "pairwise_entry", wdl_reduce_scatter_pairwise, dense,
     wdl_cost_pairwise_entry, 1, 0},
    {WDL_COLL_CUSTOM, "custom", custom, always, wdl_cost_rounds, 0, 0},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static int args_check(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    int reduces = wdl_coll_reduces(args->kind);
    int blocks = !reduces || args->kind == WDL_COLL_REDUCE_SCATTER;
    if ((int) args->kind < 0 || args->kind >= WDL_COLL_KIND_COUNT)
        return WDL_ERR_ARG;
    if (args->kind == WDL_COLL_BARRIER)
        return WDL_OK;
    if (!wdl_coll_one_of(args->flags, WDL_COLL_IN) || !wdl_coll_one_of(args->flags, WDL_COLL_OUT) ||
        !wdl_coll_one_of(args->flags, WDL_COLL_SINGLE | WDL_COLL_LOCAL))
        return WDL_ERR_ARG;
    if (wdl_flow_of(args) != WDL_FLOW_ALL && (args->root < 0 || args->root >= team->size))
        return WDL_ERR_RANK;
    if (reduces && !args->op.fn)
        return WDL_ERR_OP;
    if (reduces && (args->op.elem_bytes == 0 || args->bytes % args->op.elem_bytes))
        return WDL_ERR_ARG;
    if ((args->kind == WDL_COLL_BROADCAST || !blocks) && args->variable)
        return WDL_ERR_ARG;
    if ((args->kind == WDL_COLL_CUSTOM) != (args->build != NULL))
        return WDL_ERR_ARG;
    return WDL_OK;
}

/* Whatever it is preferred by, a row that does not apply is not taken. */
static int is_preferred(const struct wdl_team *team, const struct wdl_coll_args *args,
                        const struct row *row)
{
    const char *name = team->coll->preferred[args->kind];
    return name && !args->algorithm && strcmp(name, row->name) == 0;
}

/* The trees by name: where they are asked for, and by the model in what nothing but a tree does, a
 * long reduction that keeps the order of its operands. No tree is faster than the optimal one with
 * little data; much that has no order, a circulant graph takes better than any; and between the two
 * they would gain less than the formulas are wrong by. */
static int is_open(const struct wdl_team *team, const struct wdl_coll_args *args,
                   const struct row *row)
{
    if (row->tree == WDL_SPAN_OPTIMAL)
        return 1;
    int ordered = row->cost && !args->op.commutes;
    int may = args->algorithm || is_preferred(team, args, row) ||
              (ordered && args->bytes > team->params.cell_bytes);
    return may && wdl_span_has_links(team, row->tree, ordered);
}

/* Weaker than any other: it is not for its cost that it is taken. */
static int is_ahead(const struct wdl_team *team, const struct wdl_coll_args *args,
                    const struct row *row)
{
    return row->build == wdl_ahead_build && !args->algorithm &&
           !team->coll->preferred[args->kind];
}

static int first_row(enum wdl_coll_kind kind)
{
    int low = 0, high = ROWS;
    while (low < high) {
        int middle = (low + high) / 2;
        if (rows[middle].kind < kind)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Where all look at all boards, and nothing else is asked for, only the same in two levels may be
 * faster; -1: it is not so. */
static int boards_row(const struct wdl_team *team, const struct wdl_coll_args *args, int first)
{
    const struct row *row = &rows[first];
    if (row->build != wdl_all_node || args->algorithm || team->coll->preferred[args->kind] ||
        !row->applies(team, args))
        return -1;
    if (!team->nodes || args->variable || wdl_ahead_way(team, args) != WDL_AHEAD_NOT ||
        !row[1].applies(team, args))
        return first;
    struct wdl_cost c = wdl_cost_of(team, args);
    return row[1].cost(&c) < row->cost(&c) ? first + 1 : first;
}

int wdl_select_row(const struct wdl_team *team, const struct wdl_coll_args *args, int *status_out)
{
    *status_out = args_check(team, args);
    if (*status_out != WDL_OK)
        return -1;
    int first = first_row(args->kind), chosen = boards_row(team, args, first);
    if (chosen >= 0)
        return chosen;
    struct wdl_cost c = wdl_cost_of(team, args);
    double best = 0;
    for (int i = first; i < ROWS && rows[i].kind == args->kind; i++) {
        const struct row *row = &rows[i];
        if (args->algorithm && strcmp(args->algorithm, row->name) != 0)
            continue;
        if (!is_open(team, args, row) || !row->applies(team, args))
            continue;
        if (args->algorithm || is_preferred(team, args, row) || is_ahead(team, args, row))
            return i;
        c.tree = row->tree;
        double cost = row->cost(&c);
        if (chosen < 0 || cost < best) {
            chosen = i;
            best = cost;
        }
        if (args->variable && !team->coll->preferred[args->kind])
            break; /* sizes that not all ranks know may not decide */
    }
    if (chosen < 0)
        *status_out = WDL_ERR_ARG;
    return chosen;
}

void wdl_select_place(const struct wdl_team *team, struct wdl_coll_args *args)
{
    struct wdl_coll_args here = *args;
    if (args->kind != WDL_COLL_CUSTOM || !args->on_node || !team->on_node)
        return;
    here.kind = args->on_node;
    here.build = NULL;
    if ((args->flags & WDL_COLL_LEAVES) && team->nodes &&
        wdl_node_shown(team, &here) > team->params.board_bytes)
        return; /* in levels all fold parts */
    if (node(team, &here))
        *args = here;
}

/* The row's own name for what has `bytes` letters at `word`, kind:row; or NULL. */
static const char *row_named(const char *word, size_t bytes, int *kind_out)
{
    for (int i = 0; i < ROWS; i++) {
        const char *kind = wdl_coll_kind_name(rows[i].kind);
        size_t length = strlen(kind);
        if (bytes != length + 1 + strlen(rows[i].name) || strncasecmp(word, kind, length) ||
            word[length] != ':' || memcmp(word + length + 1, rows[i].name, bytes - length - 1))
            continue;
        *kind_out = (int) rows[i].kind;
        return rows[i].name;
    }
    return NULL;
}

int wdl_coll_prefer(struct wdl_proc *proc, const char *text, char *err, size_t err_bytes)
{
    struct wdl_coll *coll = proc->coll;
    const char *preferred[WDL_COLL_KIND_COUNT];
    memcpy(preferred, coll->preferred, sizeof(preferred));
    for (const char *at = text; *at; at += *at == ',') {
        size_t bytes = strcspn(at, ",");
        int kind = 0;
        const char *name = row_named(at, bytes, &kind);
        if (!name) {
            snprintf(err, err_bytes, "%.*s: no such algorithm", (int) bytes, at);
            return WDL_ERR_ARG;
        }
        preferred[kind] = name;
        at += bytes;
    }
    memcpy(coll->preferred, preferred, sizeof(preferred));
    return WDL_OK;
}

int wdl_select_wants_levels(const struct wdl_team *team, const struct wdl_nodes *domains)
{
    for (int kind = 0; kind < WDL_COLL_KIND_COUNT; kind++)
        if (team->coll->preferred[kind] && strcmp(team->coll->preferred[kind], "levels") == 0)
            return 1;
    return wdl_cost_prefers_levels(team, domains);
}

int wdl_select_syncs(int row, const struct wdl_coll_args *args)
{
    enum wdl_flow flow = wdl_flow_of(args);
    if (args->kind == WDL_COLL_BARRIER || args->kind == WDL_COLL_ALLREDUCE ||
        args->kind == WDL_COLL_GATHER_ALL)
        return 1;
    if ((args->kind == WDL_COLL_EXCHANGE || args->kind == WDL_COLL_REDUCE_SCATTER) &&
        !args->variable)
        return 1;
    if (args->flags & WDL_COLL_OUT_ALLSYNC)
        return 1;
    /* downwards the news travels with the data, and an empty block does not travel */
    return ((args->flags & WDL_COLL_IN_ALLSYNC) || rows[row].entry) &&
           !(flow == WDL_FLOW_DOWN && args->variable);
}

/* --- graphs --- */

/* Do all ranks look at all boards? */
static int is_of_all(int row)
{
    return rows[row].build == wdl_all_node;
}

static enum wdl_place_on_board place_of(enum wdl_phase phase)
{
    return phase < WDL_PHASE_OUT ? WDL_BOARD_IN : WDL_BOARD_OUT;
}

/* Flags among all ranks, or in two levels where the team has nodes. */
static int flags_up(struct wdl_build *b, int levels, enum wdl_phase phase, int root, int after)
{
    return levels ? wdl_levels_up(b, phase, place_of(phase), after)
                  : wdl_sync_up(b, phase, root, after);
}

static int flags_down(struct wdl_build *b, int levels, enum wdl_phase phase, int root, int after)
{
    return levels ? wdl_levels_down(b, phase, place_of(phase), after)
                  : wdl_sync_down(b, phase, root, after);
}

static int flags_all(struct wdl_build *b, int levels, enum wdl_phase phase, int after)
{
    return levels ? wdl_levels_all(b, phase, place_of(phase), after)
                  : wdl_sync_all(b, phase, after);
}

static int entry_build(struct wdl_build *b, int row, enum wdl_flow flow, int root)
{
    int levels = b->team->nodes != NULL;
    b->armed = 1;
    if (is_of_all(row))
        return wdl_build_watch(b, wdl_node_entry, 0);
    if (flow == WDL_FLOW_ALL)
        return flags_all(b, levels, WDL_PHASE_IN, WDL_CAR_NONE);
    int up = flags_up(b, levels, WDL_PHASE_IN, root, WDL_CAR_NONE);
    if (flow == WDL_FLOW_UP)
        return flags_down(b, levels, WDL_PHASE_IN2, root, up);
    /* downwards, what moves here has come from the root: it is late enough by itself */
    return b->rank == root ? up : WDL_CAR_NONE;
}

static void exit_build(struct wdl_build *b, int row, enum wdl_flow flow, int root, int first)
{
    int levels = b->team->nodes != NULL;
    int all = wdl_build_join(b), last = all;
    for (int i = first; i < all; i++)
        if (wdl_car_touches(&b->cars[i]))
            wdl_build_order(b, i, all);
    if (is_of_all(row)) {
        last = wdl_build_watch(b, wdl_node_exit, 0);
        wdl_build_order(b, all, last);
    } else if (flow == WDL_FLOW_ALL) {
        last = flags_all(b, levels, WDL_PHASE_OUT, all);
    } else {
        if (flow == WDL_FLOW_DOWN)
            last = flags_up(b, levels, WDL_PHASE_OUT, root, all);
        last = flags_down(b, levels, WDL_PHASE_OUT2, root, last);
    }
    wdl_build_user(b, last);
}

static int call_before(struct wdl_run *run, int arg)
{
    (void) arg;
    run->args.before(run->args.local);
    return WDL_OK;
}

static int call_after(struct wdl_run *run, int arg)
{
    (void) arg;
    run->args.after(run->args.local);
    return WDL_OK;
}

/* The local work: in front of what reads the source, behind what writes the destination. */
static void hooks_build(struct wdl_build *b, int first)
{
    int last = b->ncars, before = WDL_CAR_NONE, after = WDL_CAR_NONE;
    if (b->args->before)
        before = wdl_build_call(b, call_before, 0, 1);
    if (b->args->after)
        after = wdl_build_call(b, call_after, 0, 2);
    for (int i = first; i < last; i++) {
        if (wdl_car_touches(&b->cars[i]) & 1)
            wdl_build_order(b, before, i);
        if (wdl_car_touches(&b->cars[i]) & 2)
            wdl_build_order(b, i, after);
    }
    wdl_build_order(b, before, after);
}

static struct wdl_graph *graph_build(struct wdl_team *team, const struct wdl_coll_args *args,
                                     int row)
{
    struct wdl_build b;
    enum wdl_flow flow = wdl_flow_of(args);
    int synced = args->kind != WDL_COLL_BARRIER, entered = WDL_CAR_NONE;
    wdl_build_begin(&b, team, args);
    if (synced && (rows[row].entry || (args->flags & WDL_COLL_IN_ALLSYNC)))
        entered = entry_build(&b, row, flow, args->root);
    int first = b.ncars;
    b.tree = rows[row].tree;
    rows[row].build(&b);
    b.tree = WDL_SPAN_OPTIMAL; /* flags' */
    hooks_build(&b, first);
    for (int i = first, n = b.ncars; i < n; i++)
        if (wdl_car_touches(&b.cars[i]) && b.cars[i].kind != WDL_CAR_RECV)
            wdl_build_order(&b, entered, i);
    if (synced && (args->flags & WDL_COLL_OUT_ALLSYNC))
        exit_build(&b, row, flow, args->root, first);
    return wdl_build_end(&b);
}

/* --- the cache -------------------------------------------------------------------------------- */

/* The lists of blocks that vary, one behind the other; returns which there are. */
enum { LISTS = 4 };

static size_t lists_of(const struct wdl_coll_args *args, const size_t *list[LISTS])
{
    const size_t *all[LISTS] = {args->src_blocks.bytes, args->src_blocks.at, args->dst_blocks.bytes,
                                args->dst_blocks.at};
    size_t which = 0;
    for (int i = 0; i < LISTS; i++) {
        list[i] = args->variable ? all[i] : NULL;
        which |= (size_t) (list[i] != NULL) << i;
    }
    return which;
}

/* Not 0 where there are any. */
static uint64_t lists_sum(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    const size_t *list[LISTS];
    uint64_t sum = lists_of(args, list);
    for (int i = 0; i < LISTS; i++)
        for (int r = 0; list[i] && r < team->size; r++)
            sum = (sum ^ list[i][r]) * 0x100000001b3u;
    return args->variable ? sum | 1 : 0;
}

static int lists_are(const struct wdl_graph *g, const struct wdl_team *team,
                     const struct wdl_coll_args *args)
{
    const size_t *list[LISTS], *kept = g->lists + 1;
    size_t bytes = (size_t) team->size * sizeof(kept[0]);
    if (g->lists[0] != lists_of(args, list))
        return 0;
    for (int i = 0; i < LISTS; i++) {
        if (!list[i])
            continue;
        if (memcmp(kept, list[i], bytes) != 0)
            return 0;
        kept += team->size;
    }
    return 1;
}

/* NULL: no memory. */
static size_t *lists_copy(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    const size_t *list[LISTS];
    size_t n = (size_t) team->size, which = lists_of(args, list);
    size_t *copy = wdl_store_make(&team->coll->store, (1 + LISTS * n) * sizeof(copy[0])),
           *at = copy;
    if (!copy)
        return NULL;
    *at++ = which;
    for (int i = 0; i < LISTS; i++)
        if (list[i]) {
            memcpy(at, list[i], n * sizeof(at[0]));
            at += n;
        }
    return copy;
}

/* args: NULL for the empty collective. */
static struct wdl_graph *graph_find(struct wdl_team *team, const struct wdl_shape *shape,
                                    const struct wdl_coll_args *args)
{
    struct wdl_list *node;
    wdl_list_for (node, &team->graphs) {
        struct wdl_graph *g = wdl_container_of(node, struct wdl_graph, link);
        if (memcmp(&g->shape, shape, sizeof(*shape)) == 0 &&
            (!g->lists || lists_are(g, team, args))) {
            wdl_list_remove(node);
            wdl_list_push_front(&team->graphs, node);
            return g;
        }
    }
    return NULL;
}

/* The one used longest ago that nobody runs leaves; of those of blocks that vary, or of all. */
static void graph_drop(struct wdl_team *team, int varied)
{
    for (struct wdl_list *node = team->graphs.prev; node != &team->graphs; node = node->prev) {
        struct wdl_graph *old = wdl_container_of(node, struct wdl_graph, link);
        if (old->running || (varied && !old->lists))
            continue;
        team->ngraphs--;
        team->nvaried -= old->lists != NULL;
        wdl_graph_free(team, old);
        return;
    }
}

/* Into the cache. */
static void graph_keep(struct wdl_team *team, struct wdl_graph *g, const struct wdl_shape *shape)
{
    g->shape = *shape;
    g->kept = 1;
    if (g->lists && team->nvaried >= WDL_COLL_VARIED_MAX)
        graph_drop(team, 1);
    if (team->ngraphs >= WDL_COLL_GRAPHS_MAX)
        graph_drop(team, 0);
    wdl_list_push_front(&team->graphs, &g->link);
    team->ngraphs++;
    team->nvaried += g->lists != NULL;
}

/* All ranks of the team look at each other's boards. */
struct wdl_graph *wdl_select_graph(struct wdl_team *team, const struct wdl_coll_args *args, int row)
{
    struct wdl_shape shape;
    memset(&shape, 0, sizeof(shape));
    shape.row = (uint32_t) row;
    shape.flags = args->flags | (args->before ? HAS_BEFORE : 0) | (args->after ? HAS_AFTER : 0);
    shape.root = args->root;
    shape.commutes = args->op.commutes;
    shape.bytes = args->bytes;
    shape.elem_bytes = args->op.elem_bytes;
    shape.lists = lists_sum(team, args);
    int once = args->kind == WDL_COLL_CUSTOM;
    struct wdl_graph *g = once ? NULL : graph_find(team, &shape, args);
    if (g)
        return g;
    g = graph_build(team, args, row);
    if (!g)
        return NULL;
    g->syncs = wdl_select_syncs(row, args);
    g->nodes = is_of_all(row) ? NULL : team->nodes;
    g->print = is_of_all(row) ? wdl_print_on_node(args->kind, args->root, args->flags)
                              : wdl_print_of((uint32_t) row, args, g->syncs);
    if (!once && args->variable)
        g->lists = lists_copy(team, args);
    if (!once && (g->lists || !args->variable))
        graph_keep(team, g, &shape);
    return g;
}

void wdl_select_once(struct wdl_team *team, struct wdl_graph *g)
{
    wdl_list_remove(&g->link);
    g->kept = 0;
    team->ngraphs--;
}

struct wdl_graph *wdl_select_credit(struct wdl_team *team, int first)
{
    struct wdl_shape shape;
    struct wdl_build b;
    memset(&shape, 0, sizeof(shape));
    shape.row = first ? ROW_FIRST : ROW_CREDIT;
    struct wdl_graph *g = graph_find(team, &shape, NULL);
    if (g)
        return g;
    struct wdl_coll_args cards = wdl_team_cards_args(team);
    wdl_build_begin(&b, team, first && team->cards ? &cards : NULL);
    int ready = first ? WDL_CAR_NONE : wdl_build_join(&b);
    if (ready != WDL_CAR_NONE)
        b.cars[ready].waits = 1; /* wdl_run_go */
    if (b.args)
        wdl_gather_all_bruck(&b);
    else if (team->nodes)
        (void) wdl_levels_all(&b, WDL_PHASE_IN, WDL_BOARD_DATA, ready);
    else if (first)
        (void) wdl_sync_all(&b, WDL_PHASE_IN, ready);
    else
        (void) wdl_sync_down(&b, WDL_PHASE_IN2, 0, wdl_sync_up(&b, WDL_PHASE_IN, 0, ready));
    g = wdl_build_end(&b);
    if (g) {
        g->syncs = first ? WDL_SYNCS : WDL_SYNCS_ALL;
        g->nodes = team->nodes;
        g->print = wdl_print_of(shape.row, NULL, 1);
        graph_keep(team, g, &shape);
    }
    return g;
}

const char *wdl_coll_kind_name(enum wdl_coll_kind kind)
{
    static const char *const name[] = {
#define WDL_COLL_KIND_NAME(name) #name,
        WDL_COLL_KINDS(WDL_COLL_KIND_NAME)
#undef WDL_COLL_KIND_NAME
    };
    return (int) kind >= 0 && kind < WDL_COLL_KIND_COUNT ? name[kind] : "unknown";
}
