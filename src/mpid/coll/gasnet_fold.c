/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * GASNet's reduce and scan, each one graph: the elements are brought into a layout of nodes, unless
 * the client's is one; the prefix algorithm or a tree over runs of nodes (prefix.h); the way out.
 *
 *   several images a node, as many on all   the node's images side by side: nothing travels for it
 *   ..., different numbers                  one block a node
 *   operators that may not be grouped       all elements on one node
 *   reduce by an operator that commutes     one fold a node, instead of one a block
 *
 * ELEMENTWISE is an array whose elements are the vectors, one a unit. Where the team's nodes share
 * one node of the machine the engine folds them as its own (node.h), without messages.
 */
#include <string.h>
#include "mpid/coll/gasnet_deal.h"
#include "mpid/coll/gasnet_impl.h"
#include "mpid/coll/prefix.h"

enum { SCRATCH = 1024, FLAGS = WDL_GAS_ELEMENTWISE | WDL_GAS_UNALIGNED };

struct join { /* in a reduce: [lo, mid) and [mid, hi) become one */
    int lo, mid, hi;
    size_t left, inout; /* in the run's memory */
};

struct fold {
    struct wdl_gas_apply client; /* its elements; room for at least one of the array */
    int exclusive, everywhere, serial, scan;
    size_t inner; /* of the client's elements in one of the array */
    struct wdl_cyclic node; /* the layout of nodes */
    struct wdl_prefix prefix; /* over it, or over one element a node */
    struct wdl_deal in, out;
    int move_in, move_out, single_sum; /* one fold a node */
    size_t data, sums, before, carry, result; /* in the run's memory */
    size_t sent[64], come[64]; /* of the rounds */
    struct join joins[WDL_CHILDREN_MAX];
    int njoins;
};

static struct fold *fold_of(struct wdl_run *run)
{
    return ((struct wdl_gas_op *) run->args.local)->own;
}

/* The function writes into memory that is none of its operands'. */
void wdl_gas_apply(void *ctx, const void *left, void *inout, size_t elems)
{
    const struct wdl_gas_apply *a = ctx;
    for (size_t at = 0, n; at < elems; at += n) {
        n = elems - at < a->room_elems ? elems - at : a->room_elems;
        char *to = (char *) inout + at * a->elem_bytes;
        wdl_gas_apply_apart(ctx, (const char *) left + at * a->elem_bytes, to, a->room, n);
        memcpy(to, a->room, n * a->elem_bytes);
    }
}

void wdl_gas_apply_apart(void *ctx, const void *left, const void *right, void *result, size_t elems)
{
    const struct wdl_gas_apply *a = ctx;
    a->fn->fn(result, elems, left, elems, right, a->elem_bytes, (int) a->fn->flags, a->arg);
}

/* ... on those of the array. */
static void apply(void *ctx, const void *left, void *inout, size_t count)
{
    struct fold *f = ctx;
    wdl_gas_apply(&f->client, left, inout, count * f->inner);
}

/* --- local work --- */

/* Where the node would have place 0 of the elements. */
static char *base(struct wdl_run *run, const struct fold *f)
{
    int64_t place;
    if (!f->move_in)
        return f->in.from.list[0];
    (void) wdl_cyclic_local(&f->node, run->team->rank, &place);
    return run->tmp + f->data - (size_t) place * f->prefix.op.bytes;
}

/* From the left, one after the other. */
static void fold_serially(struct fold *f, const char *at, int64_t count, char *sum)
{
    size_t bytes = f->prefix.op.bytes;
    memcpy(sum, at, bytes);
    for (int64_t i = 1; i < count; i++) {
        const char *right = at + (size_t) i * bytes;
        wdl_gas_apply_apart(&f->client, sum, right, f->client.room, f->inner);
        memcpy(sum, f->client.room, bytes);
    }
}

static int do_sums(struct wdl_run *run, int arg)
{
    struct fold *f = fold_of(run);
    int64_t place, local = wdl_cyclic_local(&f->node, run->team->rank, &place);
    size_t bytes = f->prefix.op.bytes;
    (void) arg;
    if (!f->single_sum && !f->serial)
        wdl_prefix_blocks(&f->prefix, base(run, f), run->tmp + f->sums);
    if (local == 0 || !(f->single_sum || (f->serial && !f->scan)))
        return WDL_OK;
    int64_t row = 0, rows = wdl_cyclic_local(&f->prefix.layout, run->team->rank, &row);
    if (f->serial) /* all of it is one block of row 0 */
        row = 0;
    wdl_assert_cmp(rows, >, 0);
    fold_serially(f, base(run, f) + (size_t) place * bytes, local,
                  run->tmp + f->sums + (size_t) row * bytes);
    return WDL_OK;
}

static int do_send(struct wdl_run *run, int round)
{
    struct fold *f = fold_of(run);
    wdl_prefix_send(&f->prefix, round, run->tmp + f->before, run->tmp + f->sums,
                    run->tmp + f->sent[round]);
    return WDL_OK;
}

static int do_take(struct wdl_run *run, int round)
{
    struct fold *f = fold_of(run);
    wdl_prefix_take(&f->prefix, round, run->tmp + f->come[round], run->tmp + f->before);
    return WDL_OK;
}

static int do_scan(struct wdl_run *run, int arg)
{
    struct fold *f = fold_of(run);
    char *from = base(run, f), *to = f->move_out ? from : f->out.to.list[0];
    int64_t place, local = wdl_cyclic_local(&f->node, run->team->rank, &place);
    (void) arg;
    if (f->move_out && !f->move_in) { /* the source stays as it is */
        to = run->tmp + f->data - (size_t) place * f->prefix.op.bytes;
        if (f->exclusive && local > 0) /* the first one's destination is not written */
            memcpy(run->tmp + f->data, from + (size_t) place * f->prefix.op.bytes,
                   f->prefix.op.bytes);
    }
    wdl_prefix_finish(&f->prefix, run->tmp + f->sums, run->tmp + f->before, run->tmp + f->carry);
    wdl_prefix_scan(&f->prefix, f->exclusive, from, run->tmp + f->before, to, run->tmp + f->carry);
    return WDL_OK;
}

static int do_join(struct wdl_run *run, int i)
{
    struct fold *f = fold_of(run);
    const struct join *j = &f->joins[i];
    wdl_prefix_join(&f->prefix, j->lo, j->mid, j->hi, run->tmp + j->left, run->tmp + j->inout);
    return WDL_OK;
}

/* arg: where the folds of the whole are in the run's memory, in units of 64 bytes. */
static int do_result(struct wdl_run *run, int arg)
{
    struct fold *f = fold_of(run);
    void *to = f->everywhere ? run->tmp + f->result : run->args.dst;
    (void) wdl_prefix_fold_rows(&f->prefix, run->tmp + (size_t) arg * 64, to);
    return WDL_OK;
}

/* --- the graphs --- */

/* The elements in the layout of nodes, and the fold of each block. */
static int sums_build(struct wdl_build *b, struct fold *f)
{
    int64_t place;
    int done = WDL_CAR_NONE;
    size_t bytes = f->prefix.op.bytes;
    if (f->move_in || f->move_out) {
        int64_t local = wdl_cyclic_local(&f->node, b->rank, &place);
        f->data = wdl_build_tmp(b, (size_t) local * bytes);
        f->in.to.tmp = f->out.from.tmp = f->data;
    }
    f->sums = wdl_build_tmp(b, (size_t) f->prefix.rows * bytes);
    if (f->move_in)
        done = wdl_deal_build(b, WDL_DEAL_IN, WDL_PHASE_OUT2, 0, done);
    int sums = wdl_build_call(b, do_sums, 0, f->move_in ? 0 : 1);
    wdl_build_order(b, done, sums);
    return sums;
}

static void scan_build(struct wdl_build *b)
{
    struct fold *f = ((struct wdl_gas_op *) b->args->local)->own;
    size_t bytes = f->prefix.op.bytes, vector = (size_t) f->prefix.rows * bytes;
    int done = sums_build(b, f);
    f->before = wdl_build_tmp(b, vector);
    f->carry = wdl_build_tmp(b, bytes);
    for (int k = 0; k < f->prefix.rounds; k++) {
        struct wdl_prefix_round r;
        int pack = WDL_CAR_NONE;
        wdl_prefix_round(&f->prefix, k, &r);
        if (r.send_rows) {
            f->sent[k] = wdl_build_tmp(b, vector);
            pack = wdl_build_call(b, do_send, k, 0);
            wdl_build_order(b, done, pack);
            wdl_build_order(b, pack,
                            wdl_edge_send(b, WDL_PHASE_DATA, r.to, k, k, wdl_tmp(f->sent[k]),
                                          (size_t) r.send_rows * bytes));
        }
        if (r.recv_rows) {
            f->come[k] = wdl_build_tmp(b, vector);
            int take = wdl_build_call(b, do_take, k, 0);
            wdl_build_order(b,
                            wdl_edge_recv(b, WDL_PHASE_DATA, r.from, k, k, wdl_tmp(f->come[k]),
                                          (size_t) r.recv_rows * bytes),
                            take);
            wdl_build_order(b, done, take);
            wdl_build_order(b, pack, take);
            done = take;
        } else if (r.send_rows) {
            done = pack;
        }
    }
    int scan = wdl_build_call(b, do_scan, 0, (f->move_in ? 0 : 1) | (f->move_out ? 0 : 2));
    wdl_build_order(b, done, scan);
    if (f->move_out)
        wdl_deal_build(b, WDL_DEAL_OUT, WDL_PHASE_IN2, b->size, scan);
}

/* A child's folds joined to those of the run of nodes [*lo, *hi). */
static int join_build(struct wdl_build *b, struct fold *f, const struct wdl_tree_child *child,
                      int link, int *lo, int *hi, size_t *at, int done)
{
    size_t bytes = f->prefix.op.bytes;
    int above = child->first > b->rank, end = child->first + child->size, recv = WDL_CAR_NONE;
    int64_t first, rows = wdl_prefix_rows(&f->prefix, child->first, end, &first);
    size_t come = wdl_build_tmp(b, (size_t) f->prefix.rows * bytes);
    if (rows)
        recv = wdl_edge_recv(b, WDL_PHASE_DATA, child->rank, link, 0,
                             wdl_tmp(come + (size_t) first * bytes), (size_t) rows * bytes);
    wdl_assert_cmp(above ? child->first : end, ==, above ? *hi : *lo);
    struct join *j = &f->joins[f->njoins];
    *j = (struct join){above ? *lo : child->first, above ? child->first : *lo, above ? end : *hi,
                       above ? *at : come, above ? come : *at};
    int join = wdl_build_call(b, do_join, f->njoins++, 0);
    wdl_build_order(b, recv, join);
    wdl_build_order(b, done, join);
    *lo = j->lo;
    *hi = j->hi;
    *at = j->inout;
    return join;
}

/* The result goes down again. */
static void spread_build(struct wdl_build *b, struct fold *f, const struct wdl_place *place,
                         int result)
{
    size_t bytes = f->prefix.op.bytes;
    int done = result;
    if (place->node.parent >= 0)
        done = wdl_edge_recv(b, WDL_PHASE_DATA2, place->node.parent, 0, 1 + place->node.link,
                             wdl_tmp(f->result), bytes);
    for (int i = 0; i < place->node.children; i++)
        wdl_build_order(b, done,
                        wdl_edge_send(b, WDL_PHASE_DATA2, place->child[i].rank, 0, 1 + i,
                                      wdl_tmp(f->result), bytes));
    wdl_build_order(b, done, wdl_build_copy(b, wdl_dst(0), wdl_tmp(f->result), bytes));
}

static void reduce_build(struct wdl_build *b)
{
    struct fold *f = ((struct wdl_gas_op *) b->args->local)->own;
    struct wdl_place place;
    size_t bytes = f->prefix.op.bytes;
    int done = sums_build(b, f), lo = b->rank, hi = b->rank + 1;
    size_t at = f->sums;
    f->njoins = 0;
    f->result = wdl_build_tmp(b, bytes);
    wdl_place_find(b, b->args->root, b->rank, 1, &place);
    for (int i = place.node.children - 1; i >= 0; i--)
        done = join_build(b, f, &place.child[i], 1 + i, &lo, &hi, &at, done);
    if (place.node.parent >= 0) {
        int64_t first, rows = wdl_prefix_rows(&f->prefix, lo, hi, &first);
        if (rows)
            wdl_build_order(b, done,
                            wdl_edge_send(b, WDL_PHASE_DATA, place.node.parent, 1 + place.node.link,
                                          0, wdl_tmp(at + (size_t) first * bytes),
                                          (size_t) rows * bytes));
    } else {
        int result = wdl_build_call(b, do_result, (int) (at / 64), f->everywhere ? 0 : 2);
        wdl_build_order(b, done, result);
        done = result;
    }
    if (f->everywhere)
        spread_build(b, f, &place, done);
}

/* --- the calls --- */

struct want { /* what a call says */
    struct wdl_gas_array dst, src;
    void *to; /* a reduce's dst, of the root alone or with SINGLE */
    void *const *dst_list, *const *src_list; /* M; else NULL */
    size_t elem, count, func;
    int arg, flags, scan;
};

static enum wdl_gas_error want_error(const struct wdl_gas_team *team, const struct want *w)
{
    if (w->elem == 0 || w->count == 0 || w->elem > PTRDIFF_MAX / w->count)
        return WDL_GAS_ERR_SIZE;
    if (w->func >= team->gas->fn_count || !team->gas->fns[w->func].fn)
        return WDL_GAS_ERR_FUNCTION;
    if (!w->scan && wdl_gas_misaligned(w->dst.base, w->elem, w->flags))
        return WDL_GAS_ERR_ALIGNMENT;
    if ((w->flags & WDL_GAS_ELEMENTWISE) &&
        (w->src.blk || w->src.offset || w->dst.blk || w->dst.offset))
        return WDL_GAS_ERR_LAYOUT;
    return WDL_GAS_FINE;
}

/* Vectors are an array of one element a unit. */
static int side_init(struct wdl_deal_side *side, const struct wdl_gas_team *team,
                     const struct wdl_gas_array *array, void *const *list, void **room,
                     const struct want *w)
{
    struct wdl_gas_array vectors = {array->base, 1, 0};
    int elementwise = (w->flags & WDL_GAS_ELEMENTWISE) != 0;
    size_t units = list ? wdl_gas_images(team) : (size_t) team->size;
    return wdl_deal_side(side, team, elementwise ? &vectors : array, list, room,
                         elementwise ? units : w->count, w->flags);
}

/* The layout of nodes that the work is done in. */
static int node_layout(struct fold *f, const struct wdl_gas_team *team, const struct want *w,
                       int root)
{
    const struct wdl_cyclic *from = &f->in.from.layout;
    int64_t count = from->count, size = team->size;
    int64_t units = f->in.from.first ? (int64_t) team->each : 1;
    (void) w;
    if (f->serial)
        return wdl_cyclic_init(&f->node, team->size, 0, root, count);
    if (units > 0) /* all nodes have as many */
        return wdl_cyclic_init(&f->node, team->size, units * from->blk, from->off, count);
    return wdl_cyclic_init(&f->node, team->size, (count + size - 1) / size, 0, count);
}

static int same_layout(const struct wdl_cyclic *a, const struct wdl_cyclic *b)
{
    return a->ranks == b->ranks && a->blk == b->blk && a->off == b->off;
}

/* A reduce whose operator commutes: one element a node, from the node of the first one on. */
static void prefix_over(struct fold *f, const struct wdl_gas_team *team, size_t bytes)
{
    struct wdl_prefix_op op = {apply, f, bytes};
    struct wdl_cyclic one = f->node;
    f->single_sum = !f->scan && !f->serial && !(f->client.fn->flags & WDL_GAS_NONCOMM);
    if (f->single_sum) {
        int64_t blocks =
            (f->node.off + f->node.count - 1) / f->node.blk - f->node.off / f->node.blk;
        int64_t nodes = blocks + 1 < team->size ? blocks + 1 : team->size;
        int status = wdl_cyclic_init(&one, team->size, 1, wdl_cyclic_rank(&f->node, 0), nodes);
        wdl_assert_cmp(status, ==, WDL_OK);
    }
    wdl_prefix_init(&f->prefix, &one, team->rank, &op);
}

/* Fill op->own; the client's addresses are in op->src and op->dst, lists of the own units. */
static enum wdl_gas_error fold_plan(struct wdl_gas_op *op, const struct want *w, int root)
{
    struct wdl_gas_team *team = op->team;
    const struct wdl_gas_fn *fn = &team->gas->fns[w->func];
    size_t inner = w->flags & WDL_GAS_ELEMENTWISE ? w->count : 1, bytes = inner * w->elem;
    size_t own = wdl_gas_images_of(team, team->rank), words = wdl_deal_words(team->size, own);
    size_t scratch = (bytes > SCRATCH ? bytes : SCRATCH) + 63;
    size_t lists = 2 * own * sizeof(void *);
    char *memory =
        wdl_gas_op_memory(op, sizeof(struct fold) + 2 * words * 8 + lists + 64 + scratch);
    if (!memory)
        return WDL_GAS_ERR_NOMEM;
    struct fold *f = op->own = (void *) memory;
    int64_t *numbers = (int64_t *) (void *) (memory + ((sizeof(*f) + 7) & ~(size_t) 7));
    void **list = (void **) (numbers + 2 * words);
    char *room = (char *) (((uintptr_t) (list + 2 * own) + 63) & ~(uintptr_t) 63);
    f->client = (struct wdl_gas_apply){fn, w->arg, w->elem, room,
                                       (bytes > SCRATCH ? bytes : SCRATCH) / w->elem};
    op->args.own = fn->flags & WDL_GAS_AMSAFE ? 0 : WDL_COLL_OWN_WORK;
    f->inner = inner;
    f->scan = w->scan;
    f->exclusive = (w->flags & WDL_COLL_EXCLUSIVE) != 0;
    f->serial = (fn->flags & WDL_GAS_NONASSOC) != 0;
    if (side_init(&f->in.from, team, &w->src, w->src_list, list, w) != WDL_OK ||
        node_layout(f, team, w, root) != WDL_OK ||
        (w->scan && side_init(&f->out.to, team, &w->dst, w->dst_list, list + own, w) != WDL_OK))
        return WDL_GAS_ERR_LAYOUT;
    int plain = !w->src_list || team->each == 1;
    f->move_in = !plain || !same_layout(&f->in.from.layout, &f->node);
    f->in.to.layout = f->out.from.layout = f->node;
    prefix_over(f, team, bytes);
    if (f->move_in)
        wdl_deal_init(op, WDL_DEAL_IN, &f->in, bytes, numbers);
    plain = !w->dst_list || team->each == 1;
    f->move_out = w->scan && (!plain || !same_layout(&f->out.to.layout, &f->node));
    f->out.leave_first = f->exclusive;
    if (f->move_out)
        wdl_deal_init(op, WDL_DEAL_OUT, &f->out, bytes, numbers + words);
    int in_src = w->flags & WDL_GAS_SRC_IN_SEGMENT, in_dst = w->flags & WDL_GAS_DST_IN_SEGMENT;
    enum wdl_gas_error error = wdl_deal_error(team, &f->in.from, bytes, w->elem, w->flags, in_src);
    if (!error && w->scan)
        error = wdl_deal_error(team, &f->out.to, bytes, w->elem, w->flags, in_dst);
    if (!error && !w->scan && w->dst.base && in_dst && wdl_gas_outside(team, w->dst.base, bytes))
        error = WDL_GAS_ERR_SEGMENT;
    return error;
}

/* Each unit has an element of a vector; of an array it may have none, and any address. */
static void vectors_alike(struct wdl_gas_op *op, const struct want *w, int everywhere)
{
    if (!(w->flags & WDL_GAS_ELEMENTWISE))
        return;
    wdl_gas_alike(op, w->src_list, w->src.base);
    if (w->scan || everywhere)
        wdl_gas_alike(op, w->dst_list, w->dst.base);
}

/* Vectors of nodes are what the engine's own kinds fold, if they may be grouped. WDL_OK or
 * ERR_NOMEM. */
static int place_on_node(struct wdl_gas_op *op, const struct want *w, int everywhere)
{
    struct wdl_coll_args *args = &op->args;
    struct fold *f = op->own;
    int plain = (w->flags & WDL_GAS_ELEMENTWISE) && !f->move_in && !f->move_out && !f->serial;
    if (!plain)
        return WDL_OK;
    args->on_node = w->scan ? WDL_COLL_SCAN : everywhere ? WDL_COLL_ALLREDUCE : WDL_COLL_REDUCE;
    args->src = f->in.from.list[0];
    if (w->scan)
        args->dst = f->out.to.list[0];
    args->bytes = w->elem * w->count;
    args->flags |= (uint32_t) w->flags & WDL_COLL_EXCLUSIVE;
    int all_there = (args->flags & WDL_COLL_IN_ALLSYNC) && (args->flags & WDL_COLL_OUT_MYSYNC);
    int is_long = args->bytes > op->team->outer.team->params.board_bytes;
    if (is_long && !everywhere && !all_there && !(args->flags & WDL_COLL_OUT_ALLSYNC))
        args->flags |= WDL_COLL_LEAVES;
    args->op = (struct wdl_coll_op){wdl_gas_apply, &f->client, w->elem,
                                    f->client.fn->flags & WDL_GAS_NONCOMM ? 0 : WDL_COLL_COMMUTES,
                                    wdl_gas_apply_apart};
    if (!(w->flags & WDL_COLL_SINGLE))
        return WDL_OK;
    if (!w->scan)
        args->dst = w->to;
    return wdl_gas_give(op, w->src_list, w->dst_list, WDL_GAS_FIRST_IMAGE,
                        WDL_COLL_SRC_GIVEN | WDL_COLL_DST_GIVEN);
}

static wdl_gas_handle fold_start(struct wdl_gas_op *op, const struct want *w, int root,
                                 int everywhere)
{
    enum wdl_gas_error error = want_error(op->team, w);
    op->args.kind = WDL_COLL_CUSTOM;
    op->args.build = w->scan ? scan_build : reduce_build;
    op->args.flow = w->scan || everywhere ? WDL_FLOW_ALL : WDL_FLOW_UP;
    op->args.root = root;
    op->args.dst = w->dst.base;
    if (!error)
        error = fold_plan(op, w, root);
    if (error)
        return wdl_gas_op_fail(op, error);
    ((struct fold *) op->own)->everywhere = everywhere;
    vectors_alike(op, w, everywhere);
    if (place_on_node(op, w, everywhere) != WDL_OK)
        return wdl_gas_op_fail(op, WDL_GAS_ERR_NOMEM);
    return wdl_gas_op_start(op, w->flags);
}

wdl_gas_handle wdl_gas_reduceM_nb(struct wdl_gas_team *team, size_t dstimage, void *dst,
                                  void *const srclist[], struct wdl_gas_array src, size_t elem_size,
                                  size_t elem_count, size_t func, int func_arg, int flags)
{
    struct want w = {.dst = {dst, 0, 0},
                     .src = src,
                     .to = dst,
                     .src_list = srclist,
                     .elem = elem_size,
                     .count = elem_count,
                     .func = func,
                     .arg = func_arg,
                     .flags = flags};
    wdl_gas_handle handle;
    int everywhere = dstimage == WDL_GAS_EVERYWHERE;
    int root = everywhere ? 0 : wdl_gas_node_of(team, dstimage);
    struct wdl_gas_op *op = wdl_gas_op_new(team, flags, FLAGS, 0, &handle);
    if (!op)
        return handle;
    if (root < 0)
        return wdl_gas_op_fail(op, WDL_GAS_ERR_ROOT);
    if (!everywhere && team->rank != root)
        w.dst.base = NULL;
    return fold_start(op, &w, root, everywhere);
}

wdl_gas_handle wdl_gas_scanM_nb(struct wdl_gas_team *team, void *const dstlist[],
                                struct wdl_gas_array dst, void *const srclist[],
                                struct wdl_gas_array src, size_t elem_size, size_t elem_count,
                                size_t func, int func_arg, int flags)
{
    struct want w = {.dst = dst,
                     .src = src,
                     .dst_list = dstlist,
                     .src_list = srclist,
                     .elem = elem_size,
                     .count = elem_count,
                     .func = func,
                     .arg = func_arg,
                     .flags = flags,
                     .scan = 1};
    wdl_gas_handle handle;
    struct wdl_gas_op *op = wdl_gas_op_new(team, flags, FLAGS | WDL_COLL_EXCLUSIVE, 0, &handle);
    return op ? fold_start(op, &w, 0, 0) : handle;
}
