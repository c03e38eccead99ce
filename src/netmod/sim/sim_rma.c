/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The simulated network's put, get, atomic and flush: done on the target's memory in poll of the
 * initiator, late. A put leaves its source first (completion) and arrives later; only flush says
 * that it has arrived.
 */
#include <stdlib.h>
#include <string.h>
#include "base/assert.h"
#include "netmod/sim/sim_impl.h"

/* --- beginning -------------------------------------------------------------------------------- */

static int rma_refuse(struct sim_nm *nm)
{
    int ops_max = nm->sim->params.ops_max;
    if (ops_max && nm->ops_count >= ops_max) {
        nm->sim->counts.refused++;
        return WDL_AGAIN;
    }
    return sim_refuse(nm);
}

static int rma_new(struct wdl_nm *base, enum sim_kind kind, int peer, uint64_t remote, size_t bytes,
                   struct wdl_nm_rkey *rkey, struct wdl_nm_comp *comp, struct sim_op **op_out)
{
    struct sim_nm *nm = (struct sim_nm *) base;
    *op_out = NULL;
    if (!sim_in_key(rkey, peer, remote, bytes))
        return WDL_ERR_ARG;
    int status = sim_connect(nm, peer);
    if (status == WDL_OK)
        status = rma_refuse(nm);
    if (status != WDL_OK)
        return status;
    *op_out = sim_op_new(nm, kind, peer, comp);
    if (!*op_out)
        return WDL_ERR_NOMEM;
    (*op_out)->remote = (char *) (uintptr_t) remote;
    (*op_out)->bytes = bytes;
    (*op_out)->rkey = rkey;
    rkey->in_flight++;
    return WDL_PENDING;
}

static int is_timed(const struct sim_op *op, const struct sim_nm *nm)
{
    return op->kind == SIM_PUT && nm->sim->params.loggp.l_ns > 0;
}

int sim_put(struct wdl_nm *base, int peer, const void *src, size_t bytes, uint64_t remote,
            struct wdl_nm_rkey *rkey, struct wdl_nm_comp *comp)
{
    struct sim_nm *nm = (struct sim_nm *) base;
    struct sim_op *op;
    uint64_t due = 0;
    int status = rma_new(base, SIM_PUT, peer, remote, bytes, rkey, comp, &op);
    if (!op)
        return status;
    op->src = src;
    op->staged = malloc(bytes ? bytes : 1);
    if (!op->staged)
        status = WDL_ERR_NOMEM;
    else if (is_timed(op, nm) && !sim_loggp_send(nm, bytes, &due))
        status = WDL_AGAIN;
    else if (is_timed(op, nm))
        status = sim_carry(nm, op, due);
    if (status != WDL_PENDING && status != WDL_OK) {
        sim_op_end(nm, op);
        return status;
    }
    nm->sim->counts.puts++;
    return WDL_PENDING;
}

int sim_get(struct wdl_nm *base, int peer, void *dst, size_t bytes, uint64_t remote,
            struct wdl_nm_rkey *rkey, struct wdl_nm_comp *comp)
{
    struct sim_op *op;
    int status = rma_new(base, SIM_GET, peer, remote, bytes, rkey, comp, &op);
    if (!op)
        return status;
    op->local = dst;
    ((struct sim_nm *) base)->sim->counts.gets++;
    return status;
}

int sim_atomic(struct wdl_nm *base, int peer, enum wdl_nm_atomic atomic, size_t size,
               uint64_t value, uint64_t compare, void *fetched, uint64_t remote,
               struct wdl_nm_rkey *rkey, struct wdl_nm_comp *comp)
{
    struct sim_op *op;
    if ((unsigned) atomic >= WDL_NM_ATOMIC_COUNT || (size != 4 && size != 8) || remote % size ||
        (atomic == WDL_NM_CSWAP && !fetched))
        return WDL_ERR_ARG;
    int status = rma_new(base, SIM_ATOMIC, peer, remote, size, rkey, comp, &op);
    if (!op)
        return status;
    op->atomic = atomic;
    op->value = value;
    op->compare = size == 4 ? (uint32_t) compare : compare;
    op->local = fetched;
    ((struct sim_nm *) base)->sim->counts.atomics++;
    return status;
}

int sim_flush(struct wdl_nm *base, int peer, struct wdl_nm_comp *comp)
{
    struct sim_nm *nm = (struct sim_nm *) base;
    if (peer < -1 || peer >= nm->params.peers)
        return WDL_ERR_ARG;
    if (nm->sim->params.no_rma)
        return WDL_ERR_UNSUPPORTED;
    if (peer >= 0 && !nm->connected[peer])
        return WDL_OK;
    int status = rma_refuse(nm);
    if (status != WDL_OK)
        return status;
    if (!sim_op_new(nm, SIM_FLUSH, peer, comp))
        return WDL_ERR_NOMEM;
    nm->sim->counts.flushes++;
    return WDL_PENDING;
}

/* --- atomics ---------------------------------------------------------------------------------- */

enum wdl_sim_atomics sim_atomics(const struct wdl_sim *sim, int rank, int peer)
{
    const struct wdl_sim_params *p = &sim->params;
    int odd = p->odd - 1, to = p->odd_to - 1;
    int is_odd = (rank == odd && (to < 0 || peer == to)) || (peer == odd && (to < 0 || rank == to));
    return is_odd ? p->odd_atomics : p->atomics;
}

static uint64_t atomic_value(const struct sim_op *op, uint64_t old, uint32_t no_fetches)
{
    if (op->local && no_fetches >> op->atomic & 1)
        return old;
    switch (op->atomic) {
        case WDL_NM_ADD:
            return old + op->value;
        case WDL_NM_AND:
            return old & op->value;
        case WDL_NM_OR:
            return old | op->value;
        case WDL_NM_XOR:
            return old ^ op->value;
        case WDL_NM_SWAP:
            return op->value;
        default:
            return old == op->compare ? op->value : old;
    }
}

static void atomic_read(struct sim_op *op, uint32_t no_fetches)
{
    uint32_t old32;
    if (op->bytes == 8) {
        memcpy(&op->old, op->remote, 8);
    } else {
        memcpy(&old32, op->remote, 4);
        op->old = old32;
    }
    op->new = atomic_value(op, op->old, no_fetches);
}

static void atomic_write(const struct sim_op *op)
{
    uint32_t new32 = (uint32_t) op->new;
    if (op->bytes == 8)
        memcpy(op->remote, &op->new, 8);
    else
        memcpy(op->remote, &new32, 4);
}

static void atomic_answer(const struct sim_op *op)
{
    uint32_t old32 = (uint32_t) op->old;
    if (op->local && op->bytes == 8)
        memcpy(op->local, &op->old, 8);
    else if (op->local)
        memcpy(op->local, &old32, 4);
}

/* Is the target's NIC free for another atomic? It ends the one it has by itself. */
static int nic_free(struct sim_nm *target)
{
    struct sim_op *op = target->nic;
    if (!op)
        return 1;
    if (op->apply_due > target->sim->now)
        return 0;
    atomic_write(op);
    op->nic = SIM_NIC_AFTER;
    target->nic = NULL;
    return 1;
}

/* Returns 1 when it is done. */
static int atomic_step(struct sim_op *op, struct sim_nm *target, int rank)
{
    enum wdl_sim_atomics atomics = sim_atomics(target->sim, rank, op->peer);
    int native = atomics != WDL_SIM_ATOMICS_TARGET;
    uint32_t no_fetches = native ? target->sim->params.no_fetches : 0;
    if (atomics != WDL_SIM_ATOMICS_NIC) {
        atomic_read(op, no_fetches);
        atomic_write(op);
        op->nic = SIM_NIC_AFTER;
    } else if (op->nic == SIM_NIC_BEFORE && nic_free(target)) {
        atomic_read(op, no_fetches);
        op->nic = SIM_NIC_BETWEEN;
        target->nic = op;
    }
    if (op->nic == SIM_NIC_BETWEEN)
        (void) nic_free(target);
    if (op->nic != SIM_NIC_AFTER)
        return 0;
    atomic_answer(op);
    return 1;
}

/* --- progress --------------------------------------------------------------------------------- */

void sim_rma_forget(struct sim_nm *nm, struct sim_op *op)
{
    struct sim_nm *target = op->rkey ? nm->sim->nms[op->peer] : NULL;
    if (op->rkey)
        op->rkey->in_flight--;
    if (target && target->nic == op)
        target->nic = NULL;
}

/* Is a put or atomic begun before this flush still on its way? */
static int flush_waits(const struct sim_nm *nm, const struct sim_op *flush)
{
    const struct wdl_list *node;
    for (node = nm->ops.next; node != &flush->link; node = node->next) {
        const struct sim_op *op = wdl_container_of(node, struct sim_op, link);
        if (op->rkey && (flush->peer < 0 || op->peer == flush->peer))
            return 1;
    }
    return 0;
}

/* Has the target, where it is needed, polled since the operation came to it? */
static int target_served(struct sim_op *op, const struct sim_nm *target, int rank)
{
    const struct wdl_sim *sim = target->sim;
    if (!sim->params.rma_needs_target &&
        !(op->kind == SIM_ATOMIC && sim_atomics(sim, rank, op->peer) == WDL_SIM_ATOMICS_TARGET))
        return 1;
    if (!op->target_polls)
        op->target_polls = target->polls + 1;
    return target->polls >= op->target_polls;
}

/* The next word of it; returns 1 when all are there. */
static int word_apply(struct sim_op *op, struct wdl_sim *sim)
{
    size_t words = op->bytes / sizeof(uint64_t);
    if (!sim->params.torn || words < 2 || op->bytes % sizeof(uint64_t)) {
        if (op->bytes)
            memcpy(op->remote, op->staged, op->bytes);
        return 1;
    }
    if (op->words_come == 0)
        op->first_word = (size_t) wdl_prng_below(&sim->prng, words);
    size_t at = (op->first_word + op->words_come++) % words * sizeof(uint64_t);
    memcpy(op->remote + at, op->staged + at, sizeof(uint64_t));
    return op->words_come == words;
}

void sim_put_arrive(struct sim_nm *target, struct sim_op *op)
{
    if (op->src && op->bytes)
        memcpy(op->staged, op->src, op->bytes);
    op->src = NULL;
    wdl_assert(sim_is_attached(target, op->rkey->key.id));
    if (op->bytes)
        memcpy(op->remote, op->staged, op->bytes);
}

/* What the rank's operation does at the target. Returns 1 when it is done. */
static int op_apply(struct sim_op *op, struct sim_nm *target, int rank)
{
    if (op->kind == SIM_PUT && op->apply_due > target->sim->now)
        return 0;
    if (!target_served(op, target, rank))
        return 0;
    wdl_assert(sim_is_attached(target, op->rkey->key.id));      /* netmod.h: not before a flush */
    if (op->kind == SIM_ATOMIC)
        return atomic_step(op, target, rank);
    if (op->kind == SIM_PUT)
        return is_timed(op, target) || word_apply(op, target->sim);
    if (op->kind == SIM_GET && op->bytes)
        memcpy(op->local, op->remote, op->bytes);
    return 1;
}

static int op_end(struct sim_nm *nm, struct sim_op *op, int status)
{
    struct wdl_nm_info info = { status, 0, 0 };
    struct wdl_nm_comp *comp = op->comp;
    sim_op_end(nm, op);
    if (comp)
        comp->fn(comp, &info);
    return comp != NULL;
}

int sim_rma_step(struct sim_nm *nm, struct sim_op *op)
{
    struct sim_nm *target = op->peer < 0 ? nm : nm->sim->nms[op->peer];
    if (!target)
        return op_end(nm, op, WDL_ERR_PEER);
    if (op->kind == SIM_FLUSH)
        return flush_waits(nm, op) ? 0 : op_end(nm, op, WDL_OK);
    if (op->kind == SIM_PUT && op->src) {
        if (op->bytes)
            memcpy(op->staged, op->src, op->bytes);
        op->src = NULL;
    }
    if (!op->carrier && op_apply(op, target, nm->params.rank))
        return op_end(nm, op, WDL_OK);
    if (op->carrier)
        op->due = UINT64_MAX; /* when it is there */
    if (op->kind != SIM_PUT || !op->comp)
        return 0;
    struct wdl_nm_info info = { WDL_OK, 0, 0 };
    struct wdl_nm_comp *comp = op->comp;
    op->comp = NULL;            /* the source is the caller's again; the put is on its way */
    comp->fn(comp, &info);
    return 1;
}
