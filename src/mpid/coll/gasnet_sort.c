/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * GASNet's sort, in stages. The array is dealt into one block a node; each sorts its own; rounds
 * (sortplan.h) find where each node's sorted run is to be cut; the parts go where they belong and
 * are merged; the array is dealt as the client wants it. Stable, and the same for every number of
 * nodes.
 *
 *   IN        elements into one block a node
 *   COUNTS    how many offers each node makes   \
 *   OFFERS    the offers                         > until all cuts are known
 *   SUMS      how many elements are up to each  /
 *   SIZES     of the parts
 *   PARTS     the parts
 *   OUT       elements to their places
 */
#include <string.h>
#include "mpid/coll/gasnet_deal.h"
#include "mpid/coll/gasnet_xfer.h"
#include "mpid/coll/sortplan.h"

enum step { IN, COUNTS, OFFERS, SUMS, SIZES, PARTS, OUT, END };

struct sort {
    enum step step;
    struct wdl_sortplan_order order;
    int (*compare)(const void *a, const void *b);
    struct wdl_sortplan plan;
    struct wdl_sortplan_goal *goals;
    struct wdl_deal in, out;
    void *block; /* of the deals a list of one: this node's one block */
    int64_t local; /* elements in it */
    char *data, *other; /* the block, and as much room */
    int64_t *numbers, *other_numbers;
    int64_t *offers; /* of each node; then the parts' sizes, out and in */
    char *records, *all; /* own offers, and everybody's */
    int64_t *counts, *sums;
    int64_t all_count;
    struct wdl_xfer xfer;
};

static int compare(void *ctx, const void *a, const void *b)
{
    return ((struct sort *) ctx)->compare(a, b);
}

/* --- dealing --- */

static void in_build(struct wdl_build *b)
{
    wdl_deal_build(b, WDL_DEAL_IN, WDL_PHASE_OUT2, 0, WDL_CAR_NONE);
}

static void out_build(struct wdl_build *b)
{
    wdl_deal_build(b, WDL_DEAL_OUT, WDL_PHASE_OUT2, 0, WDL_CAR_NONE);
}

static int deal_go(struct wdl_gas_op *op, void (*build)(struct wdl_build *b), int first, int last)
{
    struct wdl_coll_args args = {.kind = WDL_COLL_CUSTOM,
                                 .flags = wdl_gas_stage_flags(op, first, last),
                                 .build = build,
                                 .flow = WDL_FLOW_ALL,
                                 .local = op};
    return last ? wdl_gas_stage_last(op, &args) : wdl_gas_stage_start(op, &args, &op->req);
}

/* --- the rounds --- */

static int gather_go(struct wdl_gas_op *op, const void *src, void *dst, size_t bytes)
{
    struct wdl_coll_args args = {
        .kind = WDL_COLL_GATHER_ALL, .flags = WDL_COLL_MPI, .src = src, .dst = dst, .bytes = bytes};
    return wdl_gas_stage_start(op, &args, &op->req);
}

static int counts_go(struct wdl_gas_op *op)
{
    struct sort *s = op->own;
    int rank = op->team->rank;
    s->offers[rank] = wdl_sortplan_offer(&s->plan, s->records);
    return gather_go(op, &s->offers[rank], s->offers, sizeof(int64_t));
}

/* Memory for all offers of this round; that of the last one goes with the operation. */
static int offers_go(struct wdl_gas_op *op)
{
    struct sort *s = op->own;
    size_t record = wdl_sortplan_record_bytes(&s->order);
    s->all_count = 0;
    for (int i = 0; i < op->team->size; i++) {
        s->xfer.in[i] = (size_t) s->offers[i] * record;
        s->all_count += s->offers[i];
    }
    (void) wdl_xfer_places(s->xfer.in, s->xfer.in_at, op->team->size);
    s->all = wdl_gas_op_memory(op, (size_t) s->all_count * (record + 2 * sizeof(int64_t)));
    if (!s->all)
        return WDL_ERR_NOMEM;
    s->counts = (int64_t *) (void *) (s->all + (size_t) s->all_count * record);
    s->sums = s->counts + s->all_count;
    struct wdl_coll_args args = {.kind = WDL_COLL_GATHER_ALL,
                                 .flags = WDL_COLL_MPI,
                                 .src = s->records,
                                 .dst = s->all,
                                 .bytes = s->xfer.in[op->team->rank],
                                 .variable = 1,
                                 .dst_blocks = {s->xfer.in, s->xfer.in_at}};
    return wdl_gas_stage_start(op, &args, &op->req);
}

static void add(void *ctx, const void *left, void *inout, size_t count)
{
    const int64_t *a = left;
    int64_t *b = inout;
    (void) ctx;
    for (size_t i = 0; i < count; i++)
        b[i] += a[i];
}

static int sums_go(struct wdl_gas_op *op)
{
    struct sort *s = op->own;
    wdl_sortplan_count(&s->plan, s->all, s->all_count, s->counts);
    struct wdl_coll_args args = {.kind = WDL_COLL_ALLREDUCE,
                                 .flags = WDL_COLL_MPI,
                                 .src = s->counts,
                                 .dst = s->sums,
                                 .bytes = (size_t) s->all_count * sizeof(int64_t),
                                 .op = {add, NULL, sizeof(int64_t), 1, NULL}};
    return wdl_gas_stage_start(op, &args, &op->req);
}

/* --- the parts --- */

/* Elements of the own run that go to node i are [cut(i), cut(i + 1)). */
static int64_t cut(const struct sort *s, int i)
{
    return i == 0 ? 0 : i <= s->plan.count ? s->goals[i - 1].lo : s->local;
}

static int sizes_go(struct wdl_gas_op *op)
{
    struct sort *s = op->own;
    int64_t *out = s->offers, *in = s->offers + op->team->size;
    for (int i = 0; i < op->team->size; i++)
        out[i] = cut(s, i + 1) - cut(s, i);
    struct wdl_coll_args args = {.kind = WDL_COLL_EXCHANGE,
                                 .flags = WDL_COLL_MPI,
                                 .src = out,
                                 .dst = in,
                                 .bytes = sizeof(int64_t)};
    return wdl_gas_stage_start(op, &args, &op->req);
}

static int parts_go(struct wdl_gas_op *op)
{
    struct sort *s = op->own;
    struct wdl_coll_args args;
    int size = op->team->size;
    for (int i = 0; i < size; i++) {
        s->xfer.out[i] = (size_t) s->offers[i] * s->order.bytes;
        s->xfer.in[i] = (size_t) s->offers[size + i] * s->order.bytes;
    }
    (void) wdl_xfer_places(s->xfer.out, s->xfer.out_at, size);
    size_t in = wdl_xfer_places(s->xfer.in, s->xfer.in_at, size);
    wdl_assert_cmp(in, ==, (size_t) s->local * s->order.bytes);
    wdl_xfer_args(op, &s->xfer, WDL_COLL_MPI, &args);
    args.src = s->data;
    args.dst = s->other;
    return wdl_gas_stage_start(op, &args, &op->req);
}

/* The parts come in the order of nodes, which is that of equal elements. */
static int merge(struct wdl_gas_op *op)
{
    struct sort *s = op->own;
    int size = op->team->size;
    struct wdl_sortplan_run *runs =
        wdl_gas_op_memory(op, (size_t) size * (sizeof(*runs) + sizeof(int)));
    if (!runs)
        return WDL_ERR_NOMEM;
    int *heap = (int *) (void *) (runs + size);
    int64_t at = 0;
    for (int i = 0; i < size; i++) {
        runs[i] = (struct wdl_sortplan_run){s->other + s->xfer.in_at[i], s->numbers + at,
                                            s->offers[size + i]};
        at += s->offers[size + i];
    }
    for (int64_t i = 0; i < s->local; i++)
        s->numbers[i] = i;
    wdl_sortplan_merge(&s->order, runs, size, s->data, s->other_numbers, heap);
    return WDL_OK;
}

/* --- stages --- */

/* The node's elements are there: sorted, and what to ask for. */
static int plan(struct wdl_gas_op *op)
{
    struct sort *s = op->own;
    struct wdl_gas_team *team = op->team;
    const struct wdl_cyclic *node = &s->in.to.layout;
    for (int64_t i = 0; i < s->local; i++)
        s->numbers[i] = node->blk * team->rank + i;
    wdl_sortplan_local(&s->order, s->data, s->numbers, s->local, s->other, s->other_numbers);
    int64_t *goals = s->offers; /* room for two a node */
    int count = (int) wdl_sortplan_goals(node, goals, team->size);
    s->goals = wdl_gas_op_memory(op, ((size_t) count + 1) * sizeof(s->goals[0]));
    if (!s->goals)
        return WDL_ERR_NOMEM;
    for (int i = 0; i < count; i++)
        s->goals[i].goal = goals[i];
    struct wdl_sortplan_run run = {s->data, s->numbers, s->local};
    wdl_sortplan_init(&s->plan, &s->order, &run, node->count, s->goals, count,
                      (uint64_t) team->rank);
    s->records = wdl_gas_op_memory(op, (size_t) wdl_sortplan_offers_max(&s->plan) *
                                           wdl_sortplan_record_bytes(&s->order));
    return s->records ? WDL_OK : WDL_ERR_NOMEM;
}

static int step_go(struct wdl_gas_op *op)
{
    switch (((struct sort *) op->own)->step) {
    case IN:
        return deal_go(op, in_build, 1, 0);
    case COUNTS:
        return counts_go(op);
    case OFFERS:
        return offers_go(op);
    case SUMS:
        return sums_go(op);
    case SIZES:
        return sizes_go(op);
    case PARTS:
        return parts_go(op);
    case OUT:
        return deal_go(op, out_build, 0, 1);
    default:
        return WDL_GAS_END;
    }
}

/* What a step has brought; then the next. */
static int sort_next(struct wdl_gas_op *op)
{
    struct sort *s = op->own;
    int status = WDL_OK;
    if (op->stage == 0)
        return step_go(op);
    if (s->step == IN)
        status = plan(op);
    else if (s->step == PARTS)
        status = merge(op);
    if (s->step == SUMS)
        wdl_sortplan_narrow(&s->plan, s->counts, s->sums, s->all_count);
    if (s->step == IN || s->step == SUMS)
        s->step = status == WDL_OK && wdl_sortplan_done(&s->plan) ? SIZES : COUNTS;
    else
        s->step++;
    return status == WDL_OK ? step_go(op) : status;
}

/* --- the call --- */

/* What all nodes must say alike; nothing of it need show in what they send each other. */
static uint32_t alike(const struct sort *s)
{
    const struct wdl_cyclic *from = &s->in.from.layout, *to = &s->out.to.layout;
    size_t words[] = {s->order.bytes,      (size_t) from->count, (size_t) from->blk,
                      (size_t) from->off,  (size_t) to->blk,     (size_t) to->off,
                      (size_t) from->ranks, (size_t) to->ranks};
    uint32_t sum = 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        sum = wdl_alike_add(sum, (const void *) (uintptr_t) words[i]);
    return sum;
}

static enum wdl_gas_error room(struct wdl_gas_op *op, struct sort *s)
{
    size_t n = (size_t) s->local + 1, size = (size_t) op->team->size;
    size_t words = wdl_deal_words(op->team->size, wdl_gas_images_of(op->team, op->team->rank));
    int64_t *numbers = wdl_gas_op_memory(op, (2 * n + 2 * size + 2 * words) * sizeof(*numbers));
    s->data = wdl_gas_op_memory(op, n * s->order.bytes);
    s->other = wdl_gas_op_memory(op, n * s->order.bytes);
    if (!numbers || !s->data || !s->other || wdl_xfer_init(op, &s->xfer) != WDL_OK)
        return WDL_GAS_ERR_NOMEM;
    s->numbers = numbers;
    s->other_numbers = numbers + n;
    s->offers = numbers + 2 * n;
    s->block = s->data;
    wdl_deal_init(op, WDL_DEAL_IN, &s->in, s->order.bytes, s->offers + 2 * size);
    wdl_deal_init(op, WDL_DEAL_OUT, &s->out, s->order.bytes, s->offers + 2 * size + words);
    return WDL_GAS_FINE;
}

wdl_gas_handle wdl_gas_sortM_nb(struct wdl_gas_team *team, void *const dstlist[],
                                struct wdl_gas_array dst, void *const srclist[],
                                struct wdl_gas_array src, size_t elem_size, size_t elem_count,
                                int (*fn)(const void *a, const void *b), int flags)
{
    wdl_gas_handle handle;
    struct wdl_gas_op *op = wdl_gas_op_new(team, flags, WDL_GAS_UNALIGNED, 1, &handle);
    struct sort *s = op ? wdl_gas_op_memory(op, sizeof(*s)) : NULL;
    if (!op)
        return handle;
    if (!s)
        return wdl_gas_op_fail(op, WDL_GAS_ERR_NOMEM);
    if (elem_size == 0 || elem_count == 0 || elem_size > PTRDIFF_MAX / elem_count)
        return wdl_gas_op_fail(op, WDL_GAS_ERR_SIZE);
    if (!fn)
        return wdl_gas_op_fail(op, WDL_GAS_ERR_FUNCTION);
    op->own = s;
    op->args.own = WDL_COLL_OWN_END;
    s->compare = fn;
    s->order = (struct wdl_sortplan_order){compare, s, elem_size};
    size_t each = (elem_count + (size_t) team->size - 1) / (size_t) team->size;
    struct wdl_gas_array node = {NULL, each, 0};
    size_t own = wdl_gas_images_of(team, team->rank);
    void **list = wdl_gas_op_memory(op, 2 * own * sizeof(*list));
    if (!list)
        return wdl_gas_op_fail(op, WDL_GAS_ERR_NOMEM);
    if (wdl_deal_side(&s->in.from, team, &src, srclist, list, elem_count, flags) != WDL_OK ||
        wdl_deal_side(&s->in.to, team, &node, NULL, &s->block, elem_count, flags) != WDL_OK ||
        wdl_deal_side(&s->out.to, team, &dst, dstlist, list + own, elem_count, flags) != WDL_OK)
        return wdl_gas_op_fail(op, WDL_GAS_ERR_LAYOUT);
    s->out.from = s->in.to;
    op->args.alike = alike(s);
    /* elements of a list may be anything, strings too: only whole arrays are looked at */
    int any = WDL_GAS_UNALIGNED;
    enum wdl_gas_error error =
        wdl_deal_error(team, &s->in.from, elem_size, elem_size, srclist ? any : flags,
                       flags & WDL_GAS_SRC_IN_SEGMENT);
    if (!error)
        error = wdl_deal_error(team, &s->out.to, elem_size, elem_size, dstlist ? any : flags,
                               flags & WDL_GAS_DST_IN_SEGMENT);
    int64_t place;
    s->local = wdl_cyclic_local(&s->in.to.layout, team->rank, &place);
    if (!error)
        error = room(op, s);
    return error ? wdl_gas_op_fail(op, error) : wdl_gas_op_stages(op, flags, sort_next);
}
