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

struct wdl_nm_mem {
    char *base;
    size_t bytes;
};

struct sim_key {
    uint64_t base, bytes, rank;
};

struct wdl_nm_rkey {
    struct sim_key key;
};

int sim_mem_attach(struct wdl_nm *nm, void *base, size_t bytes, struct wdl_nm_mem **mem_out)
{
    struct wdl_nm_mem *mem = malloc(sizeof(*mem));
    (void) nm;
    *mem_out = mem;
    if (!mem)
        return WDL_ERR_NOMEM;
    *mem = (struct wdl_nm_mem) { base, bytes };
    return WDL_OK;
}

void sim_mem_detach(struct wdl_nm *nm, struct wdl_nm_mem *mem)
{
    (void) nm;
    free(mem);
}

int sim_mem_key(struct wdl_nm *base, struct wdl_nm_mem *mem, void *key, size_t *bytes)
{
    struct sim_nm *nm = (struct sim_nm *) base;
    struct sim_key k = { (uint64_t) (uintptr_t) mem->base, mem->bytes, (uint64_t) nm->params.rank };
    if (*bytes < sizeof(k))
        return WDL_ERR_ARG;
    memcpy(key, &k, sizeof(k));
    *bytes = sizeof(k);
    return WDL_OK;
}

int sim_rkey_open(struct wdl_nm *nm, int peer, const void *key, size_t bytes,
                  struct wdl_nm_rkey **rkey_out)
{
    struct wdl_nm_rkey *rkey;
    struct sim_key k;
    (void) nm;
    *rkey_out = NULL;
    if (bytes < sizeof(k))
        return WDL_ERR_ARG;
    memcpy(&k, key, sizeof(k));
    if (k.rank != (uint64_t) peer)
        return WDL_ERR_ARG;
    rkey = malloc(sizeof(*rkey));
    if (!rkey)
        return WDL_ERR_NOMEM;
    rkey->key = k;
    *rkey_out = rkey;
    return WDL_OK;
}

void sim_rkey_close(struct wdl_nm *nm, struct wdl_nm_rkey *rkey)
{
    (void) nm;
    free(rkey);
}

static int in_key(const struct wdl_nm_rkey *rkey, uint64_t remote, size_t bytes)
{
    const struct sim_key *k = &rkey->key;
    return remote >= k->base && bytes <= k->bytes && remote - k->base <= k->bytes - bytes;
}

int sim_map(struct wdl_nm *nm, struct wdl_nm_rkey *rkey, uint64_t remote, void **ptr_out)
{
    (void) nm;
    *ptr_out = NULL;
    if (!in_key(rkey, remote, 0))
        return WDL_ERR_ARG;
    *ptr_out = (void *) (uintptr_t) remote;
    return WDL_OK;
}

static int rma_new(struct wdl_nm *base, enum sim_kind kind, int peer, uint64_t remote, size_t bytes,
                   struct wdl_nm_rkey *rkey, struct wdl_nm_comp *comp, struct sim_op **op_out)
{
    struct sim_nm *nm = (struct sim_nm *) base;
    *op_out = NULL;
    if (!in_key(rkey, remote, bytes) || rkey->key.rank != (uint64_t) peer)
        return WDL_ERR_ARG;
    int status = sim_begin(nm, peer);
    if (status != WDL_OK)
        return status;
    *op_out = sim_op_new(nm, kind, peer, comp);
    if (!*op_out)
        return WDL_ERR_NOMEM;
    (*op_out)->remote = (char *) (uintptr_t) remote;
    (*op_out)->bytes = bytes;
    return WDL_PENDING;
}

int sim_put(struct wdl_nm *base, int peer, const void *src, size_t bytes, uint64_t remote,
            struct wdl_nm_rkey *rkey, struct wdl_nm_comp *comp)
{
    struct sim_op *op;
    int status = rma_new(base, SIM_PUT, peer, remote, bytes, rkey, comp, &op);
    if (!op)
        return status;
    op->staged = malloc(bytes ? bytes : 1);
    if (!op->staged) {
        sim_op_end((struct sim_nm *) base, op);
        return WDL_ERR_NOMEM;
    }
    op->src = src;
    ((struct sim_nm *) base)->sim->counts.puts++;
    return status;
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
    if ((size != 4 && size != 8) || remote % size || (atomic == WDL_NM_CSWAP && !fetched))
        return WDL_ERR_ARG;
    int status = rma_new(base, SIM_ATOMIC, peer, remote, size, rkey, comp, &op);
    if (!op)
        return status;
    op->atomic = atomic;
    op->value = value;
    op->compare = compare;
    op->local = fetched;
    ((struct sim_nm *) base)->sim->counts.atomics++;
    return status;
}

int sim_flush(struct wdl_nm *base, int peer, struct wdl_nm_comp *comp)
{
    struct sim_nm *nm = (struct sim_nm *) base;
    int status = sim_begin(nm, peer < 0 ? nm->params.rank : peer);
    if (status != WDL_OK)
        return status;
    if (!sim_op_new(nm, SIM_FLUSH, peer, comp))
        return WDL_ERR_NOMEM;
    nm->sim->counts.flushes++;
    return WDL_PENDING;
}

static uint64_t atomic_value(const struct sim_op *op, uint64_t old)
{
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

static void atomic_do(struct sim_op *op)
{
    if (op->bytes == 8) {
        uint64_t old, new;
        memcpy(&old, op->remote, 8);
        new = atomic_value(op, old);
        memcpy(op->remote, &new, 8);
        if (op->local)
            memcpy(op->local, &old, 8);
    } else {
        uint32_t old, new;
        op->compare = (uint32_t) op->compare;
        memcpy(&old, op->remote, 4);
        new = (uint32_t) atomic_value(op, old);
        memcpy(op->remote, &new, 4);
        if (op->local)
            memcpy(op->local, &old, 4);
    }
}

/* Is a put or atomic begun before this flush still on its way? */
static int flush_waits(const struct sim_nm *nm, const struct sim_op *flush)
{
    const struct wdl_list *node;
    for (node = nm->ops.next; node != &flush->link; node = node->next) {
        const struct sim_op *op = wdl_container_of(node, struct sim_op, link);
        if ((op->kind == SIM_PUT || op->kind == SIM_ATOMIC) &&
            (flush->peer < 0 || op->peer == flush->peer))
            return 1;
    }
    return 0;
}

int sim_rma_step(struct sim_nm *nm, struct sim_op *op)
{
    struct wdl_nm_info info = { WDL_OK, 0, 0 };
    struct wdl_nm_comp *comp = op->comp;
    if (op->kind == SIM_FLUSH && flush_waits(nm, op))
        return 0;
    if (op->kind == SIM_GET && op->bytes)
        memcpy(op->local, op->remote, op->bytes);
    if (op->kind == SIM_ATOMIC)
        atomic_do(op);
    if (op->kind == SIM_PUT) {
        if (comp && op->bytes)
            memcpy(op->staged, op->src, op->bytes);
        if (op->apply_due <= nm->sim->now) {
            if (op->bytes)
                memcpy(op->remote, op->staged, op->bytes);
            free(op->staged);
            op->staged = NULL;
        }
    }
    if (!comp)
        return 0;
    op->comp = NULL;
    comp->fn(comp, &info);
    return 1;
}
