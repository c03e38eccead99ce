/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * GASNet's plain calls: blocking ones among nodes of one machine, of one block or vector a node.
 * They need no operation: they go by the engine's short ways (express.c), as MPI's do. Other nodes
 * may come by either way.
 */
#include <string.h>
#include "mpid/coll/algo.h"
#include "mpid/coll/gasnet_impl.h"
#include "mpid/coll/node.h"

/* What is a mistake, or has to be looked for in a segment, is not for here. */
static int has_plain_flags(const struct wdl_gas_team *team, const struct wdl_gas_plain *call)
{
    uint32_t scope = WDL_COLL_SINGLE | WDL_COLL_LOCAL, flags = (uint32_t) call->flags;
    uint32_t folds = wdl_coll_reduces(call->kind) ? WDL_GAS_ELEMENTWISE : 0;
    uint32_t more = call->kind == WDL_COLL_SCAN ? WDL_COLL_EXCLUSIVE : 0;
    uint32_t known = WDL_COLL_IN | WDL_COLL_OUT | scope | folds | more;
    return wdl_list_empty(&team->open) && !(flags & ~known) && (flags & folds) == folds &&
           wdl_coll_one_of(flags, WDL_COLL_IN) && wdl_coll_one_of(flags, WDL_COLL_OUT) &&
           wdl_coll_one_of(flags, scope);
}

/* Is there such a function, for such elements? */
static int has_plain_function(const struct wdl_gas_team *team, const struct wdl_gas_plain *call,
                              int root, struct wdl_gas_going *going)
{
    int writes = call->kind != WDL_COLL_REDUCE || root == team->rank;
    if (call->func >= team->gas->fn_count || call->elem_bytes == 0 ||
        call->elem_bytes > sizeof(going->results) ||
        wdl_gas_misaligned(call->src, call->elem_bytes, 0) ||
        (writes && wdl_gas_misaligned(call->dst, call->elem_bytes, 0)))
        return 0;
    const struct wdl_gas_fn *fn = &team->gas->fns[call->func];
    going->client = (struct wdl_gas_apply){fn, call->arg, call->elem_bytes, going->results,
                                           sizeof(going->results) / call->elem_bytes};
    going->op = (struct wdl_coll_op){wdl_gas_apply, &going->client, call->elem_bytes, 0,
                                     wdl_gas_apply_apart};
    return fn->fn && !(fn->flags & WDL_GAS_NONASSOC);
}

/* As wdl_gas_alike has it of the same call. */
static uint32_t alike(const struct wdl_gas_team *team, const struct wdl_gas_plain *call,
                      const struct wdl_coll_args *args)
{
    uint32_t sum = 0;
    if (!(call->flags & WDL_COLL_SINGLE))
        return 0;
    if (wdl_flow_of(args) != WDL_FLOW_DOWN)
        sum = wdl_alike_add(sum, wdl_stands_for(&team->params, call->src));
    if (wdl_flow_of(args) != WDL_FLOW_UP)
        sum = wdl_alike_add(sum, wdl_stands_for(&team->params, call->dst));
    return sum;
}

static int at_once(struct wdl_team *team, const struct wdl_gas_plain *call,
                   const struct wdl_coll_args *args, int looks, const struct wdl_gas_going *going)
{
    const struct wdl_coll_op *op = wdl_coll_reduces(call->kind) ? &going->op : NULL;
    int root = args->root, is_root = team->rank == root;
    int exclusive = (call->flags & WDL_COLL_EXCLUSIVE) != 0;
    if (call->kind == WDL_COLL_SCAN)
        return wdl_coll_scan_at_once(
            team, &(struct wdl_coll_scan){call->src, call->dst, call->bytes, args->alike, exclusive,
                                          looks, op});
    int status = wdl_coll_at_once(team, &(struct wdl_coll_short){.kind = call->kind,
                                                                 .root = root,
                                                                 .looks = looks,
                                                                 .src = call->src,
                                                                 .dst = call->dst,
                                                                 .bytes = call->bytes,
                                                                 .alike = args->alike,
                                                                 .op = op});
    int keeps = call->kind == WDL_COLL_BROADCAST && is_root && call->dst && call->dst != call->src;
    if (status == WDL_OK && keeps)
        memcpy(call->dst, call->src, call->bytes);
    return status;
}

/* The lane's modes: NOSYNC waits no less than MYSYNC where who gives need not wait. */
static uint32_t lane_flags(uint32_t flags)
{
    uint32_t in = flags & WDL_COLL_IN_ALLSYNC ? WDL_COLL_IN_ALLSYNC : WDL_COLL_IN_MYSYNC;
    uint32_t out = flags & WDL_COLL_OUT_ALLSYNC ? WDL_COLL_OUT_ALLSYNC : WDL_COLL_OUT_MYSYNC;
    return in | out | WDL_COLL_LOCAL | (flags & WDL_COLL_EXCLUSIVE);
}

int wdl_gas_plain(struct wdl_gas_team *team, const struct wdl_gas_plain *call, int looks,
                  struct wdl_gas_going *going)
{
    struct wdl_team *outer = team->outer.team;
    int folds = wdl_coll_reduces(call->kind);
    int root = wdl_coll_is_rooted(call->kind) ? wdl_gas_node_of(team, call->image) : 0;
    if (!outer->express || call->bytes == 0 || root < 0 ||
        wdl_gas_is_too_long((size_t) team->size, call->bytes) || !has_plain_flags(team, call) ||
        (folds && !has_plain_function(team, call, root, going)))
        return WDL_ERR_OP;
    int all = call->flags & (WDL_COLL_IN_ALLSYNC | WDL_COLL_OUT_ALLSYNC);
    struct wdl_coll_args args = {.kind = call->kind,
                                 .flags = lane_flags((uint32_t) call->flags),
                                 .root = root,
                                 .src = call->src,
                                 .dst = call->dst,
                                 .bytes = call->bytes};
    args.alike = alike(team, call, &args);
    int is_short = wdl_node_shown(outer, &args) <= outer->params.board_bytes;
    if (!is_short && (folds || (call->flags & WDL_COLL_OUT_NOSYNC)))
        return WDL_ERR_OP; /* who gives would wait for others */
    if (is_short && !all && at_once(outer, call, &args, looks, going) == WDL_OK) {
        team->calls++;
        return WDL_OK;
    }
    args.call = team->calls + 1;
    if (folds)
        args.op = going->op;
    if (call->flags & WDL_COLL_SINGLE)
        args.flags |= WDL_COLL_SRC_GIVEN | WDL_COLL_DST_GIVEN;
    going->lane = wdl_coll_express(outer, &args);
    team->calls += going->lane != NULL;
    return going->lane ? WDL_AGAIN : WDL_ERR_OP;
}
