/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * permute. With SINGLE all know all of it, and what is left is an exchange. With LOCAL a node knows
 * what it gives, and that each of its units gets one block: so it puts (gasnet_pair.c), and is
 * through when its units are full, whoever has not begun. To be through for good, and to see what
 * is no permutation, each must know who does not come: to which nodes, or units, each gives is
 * gathered beside it, for which nobody waits. Where all are waited for in any case, or the cells of
 * few are too short to say that, all of it is gathered first.
 */
#include <string.h>
#include "mpid/coll/algo.h"
#include "mpid/coll/gasnet_put.h"
#include "mpid/coll/gasnet_xfer.h"

/* --- permute: the i-th unit's block goes to unit perm[i] --- */

struct permute {
    struct wdl_xfer xfer;
    const uint32_t *perm; /* of all units */
    uint32_t *gathered;
    void *src, *dst; /* lists of one, of the basic form */
    int units_are_nodes;
};

struct turn {
    struct wdl_put put; /* first: the operation's own is that */
    struct wdl_put_turn turn;
    struct permute permute;
    uint32_t *units; /* to which the own blocks go */
    void **blocks;
};

static struct permute *permute_of(const struct wdl_gas_op *op)
{
    return &((struct turn *) op->own)->permute;
}

static size_t unit_first(const struct wdl_gas_team *team, const struct permute *p, int node)
{
    return p->units_are_nodes ? (size_t) node : team->first[node];
}

static int unit_node(const struct wdl_gas_team *team, const struct permute *p, size_t unit)
{
    return p->units_are_nodes ? (int) unit : wdl_gas_node_of(team, unit);
}

/* Each unit once? The lists of the exchange are still zero: they serve as marks. */
static int is_permutation(const struct wdl_gas_team *team, const struct permute *p,
                          unsigned char *marks)
{
    size_t n = unit_first(team, p, team->size);
    for (size_t i = 0; i < n; i++)
        if (p->perm[i] >= n || marks[p->perm[i]]++)
            return 0;
    return 1;
}

/* Blocks from the own units by receiver, in the order of senders. */
static void permute_pack(void *local)
{
    struct wdl_gas_op *op = local;
    struct permute *p = permute_of(op);
    struct wdl_gas_team *team = op->team;
    size_t first = unit_first(team, p, team->rank), end = unit_first(team, p, team->rank + 1);
    char *out = (char *) (uintptr_t) op->args.src;
    for (int node = 0; node < team->size; node++)
        for (size_t i = first; i < end; i++)
            if (unit_node(team, p, p->perm[i]) == node) {
                memcpy(out, op->src[i - first], op->nbytes);
                out += op->nbytes;
            }
}

static void permute_unpack(void *local)
{
    struct wdl_gas_op *op = local;
    struct permute *p = permute_of(op);
    struct wdl_gas_team *team = op->team;
    size_t first = unit_first(team, p, team->rank), end = unit_first(team, p, team->rank + 1);
    const char *in = op->args.dst;
    for (size_t i = 0; i < unit_first(team, p, team->size); i++)
        if (p->perm[i] >= first && p->perm[i] < end) {
            memcpy(op->dst[p->perm[i] - first], in, op->nbytes);
            in += op->nbytes;
        }
}

/* SINGLE. Where nodes have several units, or perhaps, their blocks are packed: only they know
 * where. */
static int permute_give(struct wdl_gas_op *op)
{
    const struct permute *p = permute_of(op);
    size_t at = p->units_are_nodes ? 0 : op->team->first[op->team->rank];
    void *const *srclist = p->units_are_nodes ? NULL : op->src - at;
    void *const *dstlist = p->units_are_nodes ? NULL : op->dst - at;
    wdl_gas_alike(op, srclist, p->src);
    wdl_gas_alike(op, dstlist, p->dst);
    return wdl_gas_give(op, srclist, dstlist, WDL_GAS_ONE_IMAGE,
                        WDL_COLL_SRC_GIVEN | WDL_COLL_DST_GIVEN);
}

/* The exchange, once all know the whole permutation. */
static enum wdl_gas_error permute_plan(struct wdl_gas_op *op, uint32_t flags)
{
    struct permute *p = permute_of(op);
    struct wdl_gas_team *team = op->team;
    size_t first = unit_first(team, p, team->rank), end = unit_first(team, p, team->rank + 1);
    size_t n = unit_first(team, p, team->size);
    unsigned char *marks = wdl_gas_op_memory(op, n);
    if (!marks || wdl_xfer_init(op, &p->xfer) != WDL_OK)
        return WDL_GAS_ERR_NOMEM;
    if (!is_permutation(team, p, marks))
        return WDL_GAS_ERR_NODES;
    for (size_t i = 0; i < n; i++) {
        int from = unit_node(team, p, i), to = unit_node(team, p, p->perm[i]);
        p->xfer.out[to] += from == team->rank ? op->nbytes : 0;
        p->xfer.in[from] += to == team->rank ? op->nbytes : 0;
    }
    (void) wdl_xfer_places(p->xfer.out, p->xfer.out_at, team->size);
    (void) wdl_xfer_places(p->xfer.in, p->xfer.in_at, team->size);
    wdl_xfer_args(op, &p->xfer, flags, &op->args);
    if ((flags & WDL_COLL_SINGLE) && permute_give(op) != WDL_OK)
        return WDL_GAS_ERR_NOMEM;
    if (end - first == 1) { /* one block: from its place to its place */
        op->args.src = op->src[0];
        op->args.dst = op->dst[0];
        return WDL_GAS_FINE;
    }
    char *memory = wdl_gas_op_memory(op, 2 * (end - first) * op->nbytes);
    if (!memory)
        return WDL_GAS_ERR_NOMEM;
    op->args.src = memory;
    op->args.dst = memory + (end - first) * op->nbytes;
    op->args.before = permute_pack;
    op->args.after = permute_unpack;
    return WDL_GAS_FINE;
}

/* All units' numbers from all nodes. */
static int hear_args(struct wdl_gas_op *op, struct permute *p, struct wdl_coll_args *args)
{
    struct wdl_gas_team *team = op->team;
    size_t own = unit_first(team, p, team->rank + 1) - unit_first(team, p, team->rank);
    *args = (struct wdl_coll_args){.kind = WDL_COLL_GATHER_ALL,
                                   .flags = WDL_COLL_MPI,
                                   .variable = !p->units_are_nodes && !team->each,
                                   .src = p->perm,
                                   .dst = p->gathered,
                                   .bytes = own * sizeof(uint32_t)};
    if (!args->variable)
        return WDL_OK;
    if (wdl_xfer_init(op, &p->xfer) != WDL_OK)
        return WDL_ERR_NOMEM;
    for (int i = 0; i < team->size; i++)
        p->xfer.in[i] = (unit_first(team, p, i + 1) - unit_first(team, p, i)) * sizeof(uint32_t);
    (void) wdl_xfer_places(p->xfer.in, p->xfer.in_at, team->size);
    args->dst_blocks = (struct wdl_coll_blocks){p->xfer.in, p->xfer.in_at};
    return WDL_OK;
}

/* LOCAL: hear what the others know first; so all have begun when data moves. */
static int permute_next(struct wdl_gas_op *op)
{
    struct permute *p = permute_of(op);
    struct wdl_coll_args args;
    if (op->stage == 0) {
        int status = hear_args(op, p, &args);
        return status == WDL_OK ? wdl_gas_stage_start(op, &args, &op->req) : status;
    }
    p->perm = p->gathered;
    op->error = permute_plan(op, wdl_gas_stage_flags(op, 0, 1));
    return op->error ? WDL_GAS_END : wdl_gas_stage_last(op, &op->args);
}

/* --- LOCAL, and nobody need have begun but who has something for us --- */

char *wdl_put_turn_fill(struct wdl_gas_op *op, uint64_t unit)
{
    const struct wdl_put *p = op->own;
    struct wdl_put_turn *turn = p->turn;
    if (unit < turn->first || unit - turn->first >= turn->count || turn->filled[unit - turn->first])
        return NULL;
    turn->filled[unit - turn->first] = 1;
    return op->dst[unit - turn->first];
}

static struct wdl_put *put_of(const struct wdl_run *run)
{
    return ((struct wdl_gas_op *) run->args.local)->own;
}

static int do_own(struct wdl_run *run, int rank)
{
    struct wdl_gas_op *op = run->args.local;
    struct turn *t = op->own;
    for (size_t i = 0; i < t->put.count; i++) {
        int own = t->put.nodes[i] == (uint32_t) rank;
        char *to = own ? wdl_put_turn_fill(op, t->units[i]) : NULL;
        if (to && to != t->blocks[i])
            memcpy(to, t->blocks[i], op->nbytes);
        t->turn.got += to != NULL;
    }
    return WDL_OK;
}

/* No unit waits any more, whoever has not begun; or all have come, and what they give is no
 * permutation. */
static int watch_units(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_put_turn *turn = put_of(run)->turn;
    (void) c;
    if (turn->got < turn->count && turn->left > 0)
        return WDL_AGAIN;
    if (turn->got < turn->count)
        ((struct wdl_gas_op *) run->args.local)->error = WDL_GAS_ERR_NODES;
    return WDL_OK;
}

/* What one has said: does it come here? */
static int comes(const struct wdl_put_turn *turn, const char *said, int rank)
{
    uint16_t mask;
    uint32_t unit;
    if (!turn->units) {
        memcpy(&mask, said, sizeof(mask));
        return mask >> rank & 1;
    }
    for (size_t at = 0; at < turn->said_bytes; at += sizeof(unit)) {
        memcpy(&unit, said + at, sizeof(unit));
        if (unit >= turn->first && unit - turn->first < turn->count)
            return 1;
    }
    return 0;
}

/* Who does not come is waited for no more. */
static int do_heard(struct wdl_run *run, int rank)
{
    struct wdl_put_turn *turn = put_of(run)->turn;
    for (int k = 1; k < run->team->size; k++) {
        if (comes(turn, run->tmp + turn->heard_at + (size_t) k * turn->said_bytes, rank))
            continue;
        turn->left--;
        wdl_put_absent(run, (rank + k) % run->team->size);
    }
    wdl_put_known(run);
    return WDL_OK;
}

void wdl_put_turn_build(struct wdl_build *b)
{
    struct wdl_put_turn *turn =
        ((struct wdl_put *) ((struct wdl_gas_op *) b->args->local)->own)->turn;
    int own = wdl_build_call(b, do_own, b->rank, 1);
    wdl_build_order(b, own, wdl_build_watch(b, watch_units, 2));
    void *said = turn->units ? (void *) turn->units : (void *) &turn->mask;
    int all = wdl_bruck_collect(b, WDL_PHASE_DATA2, wdl_at(said), turn->said_bytes, 0,
                                &turn->heard_at);
    wdl_build_order(b, all, wdl_build_call(b, do_heard, b->rank, 0));
}

/* What goes to no unit of anybody's goes nowhere: those it should go to see it. */
static int turn_lists(struct wdl_gas_op *op, struct turn *t)
{
    struct wdl_gas_team *team = op->team;
    const struct permute *p = &t->permute;
    size_t n = unit_first(team, p, team->size), own = t->turn.count, size = (size_t) team->size;
    uint32_t *numbers = wdl_gas_op_memory(op, 2 * own * sizeof(*numbers));
    void **blocks = wdl_gas_op_memory(op, 2 * own * sizeof(*blocks));
    t->put.to = wdl_gas_op_memory(op, 2 * size * sizeof(*t->put.to));
    t->turn.filled = wdl_gas_op_memory(op, own);
    if (!numbers || !blocks || !t->put.to || !t->turn.filled)
        return WDL_ERR_NOMEM;
    t->put.from = t->put.to + size;
    for (size_t i = 0; i < size; i++)
        t->put.from[i] = i != (size_t) team->rank;
    for (size_t i = 0; i < own; i++) {
        if (p->perm[i] >= n)
            continue;
        size_t k = t->put.count++;
        numbers[k] = (uint32_t) unit_node(team, p, p->perm[i]);
        numbers[own + k] = p->perm[i];
        blocks[k] = op->src[i];
        blocks[own + k] = (void *) (uintptr_t) p->perm[i];
        t->put.to[numbers[k]]++;
        t->turn.mask |= (uint16_t) (numbers[k] < 16 ? 1 << numbers[k] : 0);
    }
    t->put.nodes = numbers;
    t->units = numbers + own;
    t->blocks = blocks;
    return wdl_put_pairs(op, blocks, blocks + own);
}

/* What is said to all beside it. Of many nodes each says all of its numbers. */
static int turn_says(struct wdl_gas_op *op, struct turn *t)
{
    const struct wdl_gas_team *team = op->team;
    const struct permute *p = &t->permute;
    size_t most = 0, own = t->turn.count;
    t->turn.said_bytes = sizeof(t->turn.mask);
    if (wdl_put_coming(team) == WDL_PUT_BY_CELLS)
        return WDL_OK;
    for (int i = 0; i < team->size; i++) {
        size_t count = unit_first(team, p, i + 1) - unit_first(team, p, i);
        most = count > most ? count : most;
    }
    t->turn.said_bytes = most * sizeof(uint32_t);
    t->turn.units = wdl_gas_op_memory(op, t->turn.said_bytes);
    if (!t->turn.units)
        return WDL_ERR_NOMEM;
    memset(t->turn.units, 0xff, t->turn.said_bytes);
    memcpy(t->turn.units, p->perm, own * sizeof(uint32_t));
    return WDL_OK;
}

static wdl_gas_handle turn_start(struct wdl_gas_op *op, struct turn *t, int flags)
{
    const struct wdl_gas_team *team = op->team;
    t->put.many = 1;
    t->put.turn = &t->turn;
    t->turn.first = unit_first(team, &t->permute, team->rank);
    t->turn.count = unit_first(team, &t->permute, team->rank + 1) - t->turn.first;
    t->turn.left = team->size - 1;
    int made = turn_says(op, t) == WDL_OK && turn_lists(op, t) == WDL_OK;
    return made ? wdl_gas_op_start(op, flags) : wdl_gas_op_fail(op, WDL_GAS_ERR_NOMEM);
}

/* Where one that has not begun must not delay others than those it gives to. */
static int takes_turns(const struct wdl_gas_team *team, int flags)
{
    int all = flags & (WDL_COLL_IN_ALLSYNC | WDL_COLL_OUT_ALLSYNC);
    return (flags & WDL_COLL_LOCAL) && !all && wdl_put_coming(team) != WDL_PUT_NOT;
}

wdl_gas_handle wdl_gas_permuteM_nb(struct wdl_gas_team *team, void *dst, void *const dstlist[],
                                   void *src, void *const srclist[], const uint32_t *perm,
                                   size_t nbytes, int flags)
{
    wdl_gas_handle handle;
    int turns = takes_turns(team, flags), staged = (flags & WDL_COLL_LOCAL) && !turns;
    struct wdl_gas_op *op = wdl_gas_op_new(team, flags, 0, staged, &handle);
    if (!op)
        return handle;
    if (nbytes == 0)
        return wdl_gas_op_fail(op, WDL_GAS_ERR_SIZE);
    struct turn *t = op->own = wdl_gas_op_memory(op, sizeof(*t));
    if (!t)
        return wdl_gas_op_fail(op, WDL_GAS_ERR_NOMEM);
    struct permute *p = &t->permute;
    size_t at = flags & WDL_COLL_SINGLE ? team->first[team->rank] : 0;
    p->src = src;
    p->dst = dst;
    p->units_are_nodes = !srclist;
    op->src = srclist ? srclist + at : &p->src;
    op->dst = dstlist ? dstlist + at : &p->dst;
    op->nbytes = nbytes;
    p->perm = perm;
    size_t own = unit_first(team, p, team->rank + 1) - unit_first(team, p, team->rank);
    if (wdl_gas_is_too_long(own, nbytes))
        return wdl_gas_op_fail(op, WDL_GAS_ERR_SIZE);
    enum wdl_gas_error error =
        wdl_gas_lists_error(team, flags, own, op->src, nbytes, op->dst, nbytes);
    if (error)
        return wdl_gas_op_fail(op, error);
    if (turns)
        return turn_start(op, t, flags);
    if (flags & WDL_COLL_LOCAL) {
        p->gathered = wdl_gas_op_memory(op, unit_first(team, p, team->size) * sizeof(uint32_t));
        if (!p->gathered)
            return wdl_gas_op_fail(op, WDL_GAS_ERR_NOMEM);
        return wdl_gas_op_stages(op, flags, permute_next);
    }
    error = permute_plan(op, op->args.flags);
    return error ? wdl_gas_op_fail(op, error) : wdl_gas_op_start(op, flags);
}
