/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The simulated network's memory: regions and keys. A key names the region by a number that no
 * other region ever has, so that a key which outlives its region is known for one.
 */
#include <stdlib.h>
#include <string.h>
#include "base/assert.h"
#include "netmod/sim/sim_impl.h"
#include "netmod/sum.h"

size_t sim_key_bytes(void)
{
    return sizeof(struct sim_key);
}

int sim_mem_attach(struct wdl_nm *base, void *addr, size_t bytes, struct wdl_nm_mem **mem_out)
{
    struct sim_nm *nm = (struct sim_nm *) base;
    const struct wdl_sim_params *params = &nm->sim->params;
    *mem_out = NULL;
    if (params->no_rma)
        return WDL_ERR_UNSUPPORTED;
    struct wdl_nm_mem *mem = malloc(sizeof(*mem));
    if (!mem || (params->attach_max && nm->mems_count >= params->attach_max)) {
        free(mem);
        return WDL_ERR_NOMEM;
    }
    *mem = (struct wdl_nm_mem) {.nm = nm,.base = addr,.bytes = bytes,.id = ++nm->sim->mem_id };
    wdl_list_push(&nm->mems, &mem->link);
    nm->mems_count++;
    *mem_out = mem;
    return WDL_OK;
}

int sim_mem_alloc(struct wdl_nm *base, size_t bytes, void **base_out, struct wdl_nm_mem **mem_out)
{
    void *memory = malloc(bytes);
    int status = memory ? sim_mem_attach(base, memory, bytes, mem_out) : WDL_ERR_NOMEM;
    if (status != WDL_OK) {
        *mem_out = NULL;
        free(memory);
        return status;
    }
    memset(memory, 0xcd, bytes);
    (*mem_out)->owned = memory;
    *base_out = memory;
    return WDL_OK;
}

void sim_mem_detach(struct wdl_nm *base, struct wdl_nm_mem *mem)
{
    struct sim_nm *nm = (struct sim_nm *) base;
    wdl_assert(mem->nm == nm);
    wdl_list_remove(&mem->link);
    nm->mems_count--;
    free(mem->owned);
    free(mem);
}

/* Bytes behind struct sim_key make the key as long as the parameters want it. */
static uint64_t key_sum(const struct sim_key *key, const char *rest, size_t bytes)
{
    uint64_t sum = wdl_nm_sum(WDL_NM_SUM_BEGIN, key, offsetof(struct sim_key, sum));
    return wdl_nm_sum(sum, rest, bytes);
}

int sim_mem_key(struct wdl_nm *base, struct wdl_nm_mem *mem, void *key, size_t *bytes)
{
    struct sim_nm *nm = (struct sim_nm *) base;
    size_t needed = nm->sim->params.key_bytes, rest = needed - sizeof(struct sim_key);
    struct sim_key k = { mem->id, (uint64_t) (uintptr_t) mem->base, mem->bytes,
        (uint64_t) nm->params.rank, 0
    };
    int fits = needed <= *bytes;
    *bytes = needed;
    if (!fits)
        return WDL_ERR_ARG;
    char *after = (char *) key + sizeof(k);
    memset(after, 0x5a, rest);
    k.sum = key_sum(&k, after, rest);
    memcpy(key, &k, sizeof(k));
    return WDL_OK;
}

int sim_rkey_open(struct wdl_nm *base, int peer, const void *key, size_t bytes,
                  struct wdl_nm_rkey **rkey_out)
{
    struct sim_nm *nm = (struct sim_nm *) base;
    struct wdl_nm_rkey *rkey;
    struct sim_key k;
    *rkey_out = NULL;
    if (nm->sim->params.no_rma)
        return WDL_ERR_UNSUPPORTED;
    if (bytes != nm->sim->params.key_bytes || peer < 0)
        return WDL_ERR_ARG;
    memcpy(&k, key, sizeof(k));
    if (k.rank != (uint64_t) peer ||
        k.sum != key_sum(&k, (const char *) key + sizeof(k), bytes - sizeof(k)))
        return WDL_ERR_ARG;
    int status = sim_connect(nm, peer);
    if (status != WDL_OK)
        return status;
    rkey = malloc(sizeof(*rkey));
    if (!rkey)
        return WDL_ERR_NOMEM;
    rkey->key = k;
    rkey->in_flight = 0;
    wdl_list_push(&nm->rkeys, &rkey->link);
    *rkey_out = rkey;
    return WDL_OK;
}

void sim_rkey_close(struct wdl_nm *nm, struct wdl_nm_rkey *rkey)
{
    (void) nm;
    wdl_assert_cmp(rkey->in_flight, ==, 0);     /* netmod.h: not before a flush */
    wdl_list_remove(&rkey->link);
    free(rkey);
}

void sim_rkey_caps(struct wdl_nm *nm, struct wdl_nm_rkey *rkey, struct wdl_nm_caps *caps_out)
{
    const struct sim_nm *own = (const struct sim_nm *) nm;
    const struct wdl_sim *sim = own->sim;
    *caps_out = own->caps;
    sim_caps_fill(caps_out, &sim->params, sim_atomics(sim, own->params.rank, (int) rkey->key.rank));
    caps_out->atomics_by_key = 0;
}

int sim_in_key(const struct wdl_nm_rkey *rkey, int peer, uint64_t remote, size_t bytes)
{
    const struct sim_key *k = &rkey->key;
    return k->rank == (uint64_t) peer && remote >= k->base && bytes <= k->bytes &&
        remote - k->base <= k->bytes - bytes;
}

int sim_is_attached(const struct sim_nm *owner, uint64_t id)
{
    const struct wdl_list *node;
    wdl_list_for(node, &owner->mems) {
        if (wdl_container_of(node, struct wdl_nm_mem, link)->id == id)
            return 1;
    }
    return 0;
}

int sim_map(struct wdl_nm *base, struct wdl_nm_rkey *rkey, uint64_t remote, void **ptr_out)
{
    struct sim_nm *nm = (struct sim_nm *) base;
    *ptr_out = NULL;
    if (!sim_in_key(rkey, (int) rkey->key.rank, remote, 0))
        return WDL_ERR_ARG;
    if (nm->sim->params.no_map)
        return WDL_ERR_UNSUPPORTED;
    *ptr_out = (void *) (uintptr_t) remote;
    return WDL_OK;
}

void sim_mem_close(struct sim_nm *nm)
{
    while (!wdl_list_empty(&nm->mems))
        sim_mem_detach(&nm->nm, wdl_container_of(nm->mems.next, struct wdl_nm_mem, link));
    while (!wdl_list_empty(&nm->rkeys))
        sim_rkey_close(&nm->nm, wdl_container_of(nm->rkeys.next, struct wdl_nm_rkey, link));
}
