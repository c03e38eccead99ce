/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Memory others write directly. A ready flag for memory that is attached says its region, and where
 * in it; the sender then puts the data there, or copies it where the memory is mapped, and says so
 * by a message without data. The key goes ahead, once to each rank that needs it; where it is
 * slower than the flag, the sender waits for it.
 *
 * Invariants:
 *  1. A region's number is not used again, so a key that outlives its region is never asked for.
 *  2. What PLACED says is there is there: the put has been flushed.
 *  3. One piece of a SEND is on its way at a time: as much as has come so far, so that data flows
 *     through a tree.
 */
#include <string.h>
#include "base/bits.h"
#include "base/copy.h"
#include "mpid/coll/direct.h"
#include "mpid/coll/flag.h"
#include "mpid/coll/lend.h"

/* keys in vain before flags stay messages */
enum { KEYS_TRIED = 4 };

/* --- regions --- */

static const struct wdl_nm_ops *net(const struct wdl_coll *coll)
{
    return coll->proc->nm->ops;
}

struct wdl_region *wdl_region_make(struct wdl_coll *coll, void *base, size_t bytes)
{
    const struct wdl_host *host = &coll->host;
    struct wdl_region *region = host->ops->alloc(host->ctx, sizeof(*region));
    if (!region)
        return NULL;
    *region = (struct wdl_region){.base = base, .bytes = bytes};
    do
        region->id = ++coll->region_id & WDL_REGION_ID_MAX;
    while (region->id == 0);
    wdl_list_init(&region->link);
    return region;
}

uint32_t wdl_region_id(const struct wdl_region *region)
{
    return region->id;
}

int wdl_coll_attach(struct wdl_proc *proc, void *base, size_t bytes)
{
    struct wdl_coll *coll = proc->coll;
    if (!bytes || !net(coll)->caps(proc->nm)->has_rma)
        return WDL_OK;
    struct wdl_region *region = wdl_region_make(coll, base, bytes);
    if (!region)
        return WDL_ERR_NOMEM;
    wdl_list_push_front(&coll->regions, &region->link);
    return WDL_OK;
}

void wdl_region_free(struct wdl_coll *coll, struct wdl_region *region)
{
    const struct wdl_host *host = &coll->host;
    wdl_list_remove(&region->link);
    if (region->mem)
        net(coll)->mem_detach(coll->proc->nm, region->mem);
    host->ops->free(host->ctx, region->told);
    host->ops->free(host->ctx, region->lent);
    host->ops->free(host->ctx, region);
}

/* Those who have the key are told that it is for nothing. Who may use it at any time answers. */
static int region_forget(struct wdl_coll *coll, struct wdl_region *region)
{
    struct wdl_coll_pkt pkt = {.what = WDL_PKT_FORGET | region->id << WDL_PKT_BITS};
    region->leaving = 1;
    for (int peer = 0; region->told && peer < coll->proc->peers; peer++) {
        if (!wdl_bits_have(region->told, (unsigned) peer))
            continue;
        pkt.offset = (uint64_t) wdl_bits_have(region->lent, (unsigned) peer);
        int status = wdl_am_send(coll->proc, peer, WDL_AM_COLL, &pkt, sizeof(pkt), NULL, 0, NULL);
        if (status == WDL_AGAIN)
            return status;
        wdl_bits_drop(region->told, (unsigned) peer);
        if (status != WDL_OK) /* a lost peer returns nothing */
            wdl_bits_drop(region->lent, (unsigned) peer);
    }
    return wdl_lend_count(coll, region) ? WDL_AGAIN : WDL_OK;
}

int wdl_coll_detach(struct wdl_proc *proc, void *base, size_t bytes)
{
    struct wdl_coll *coll = proc->coll;
    struct wdl_list *node;
    wdl_list_for (node, &coll->regions) {
        struct wdl_region *region = wdl_container_of(node, struct wdl_region, link);
        if (region->base != base || region->bytes != bytes)
            continue;
        int status = region_forget(coll, region);
        if (status == WDL_OK)
            wdl_region_free(coll, region);
        return status;
    }
    return WDL_OK;
}

void wdl_key_free(struct wdl_coll *coll, struct wdl_key *key)
{
    wdl_list_remove(&key->link);
    if (key->rkey)
        net(coll)->rkey_close(coll->proc->nm, key->rkey);
    wdl_store_put(&coll->store, key);
}

void wdl_direct_fini(struct wdl_coll *coll)
{
    wdl_lend_fini(coll);
    while (!wdl_list_empty(&coll->regions))
        wdl_region_free(coll, wdl_container_of(coll->regions.next, struct wdl_region, link));
    for (int i = 0; i < WDL_COLL_BUCKETS; i++)
        while (!wdl_list_empty(&coll->keys[i]))
            wdl_key_free(coll, wdl_container_of(coll->keys[i].next, struct wdl_key, link));
}

struct wdl_region *wdl_region_of(struct wdl_coll *coll, const char *at, size_t bytes)
{
    struct wdl_list *node;
    wdl_list_for (node, &coll->regions) {
        struct wdl_region *region = wdl_container_of(node, struct wdl_region, link);
        if (at >= region->base && bytes <= region->bytes &&
            at <= region->base + (region->bytes - bytes))
            return region;
    }
    return NULL;
}

int wdl_region_peers(const struct wdl_coll *coll, unsigned char **set)
{
    const struct wdl_host *host = &coll->host;
    if (!*set)
        *set = host->ops->alloc(host->ctx, wdl_bits_bytes((size_t) coll->proc->peers));
    return *set != NULL;
}

int wdl_region_say(struct wdl_coll *coll, struct wdl_region *region, int peer, enum wdl_pkt what)
{
    struct wdl_nm *nm = coll->proc->nm;
    struct {
        struct wdl_coll_pkt pkt;
        struct wdl_key_text text;
        char key[WDL_NM_KEY_BYTES_MAX];
    } head;
    size_t bytes = sizeof(head.key);
    if (!wdl_region_peers(coll, &region->told))
        return WDL_ERR_NOMEM;
    if (!region->mem && net(coll)->mem_attach(nm, region->base, region->bytes, &region->mem))
        region->useless = 1;
    if (region->useless || net(coll)->mem_key(nm, region->mem, head.key, &bytes) != WDL_OK) {
        region->useless = 1;
        return WDL_ERR_UNSUPPORTED;
    }
    head.pkt = (struct wdl_coll_pkt){.what = what | region->id << WDL_PKT_BITS,
                                     .offset = (uint64_t) (uintptr_t) region->base};
    head.text = (struct wdl_key_text){region->bytes};
    int status = wdl_am_send(coll->proc, peer, WDL_AM_COLL, &head,
                             sizeof(head.pkt) + sizeof(head.text) + bytes, NULL, 0, NULL);
    if (status == WDL_OK)
        wdl_bits_add(region->told, (unsigned) peer);
    return status;
}

int wdl_region_tell(struct wdl_coll *coll, struct wdl_region *region, int peer)
{
    if (wdl_bits_have(region->told, (unsigned) peer))
        return WDL_OK;
    return wdl_region_say(coll, region, peer, WDL_PKT_KEY);
}

int wdl_direct_offer(struct wdl_coll *coll, int peer, const char *at, size_t bytes,
                     struct wdl_offer *offer_out)
{
    *offer_out = (struct wdl_offer){0};
    if (bytes <= coll->chunk_bytes || wdl_list_empty(&coll->regions))
        return WDL_OK;
    struct wdl_region *region = wdl_region_of(coll, at, bytes);
    if (!region || region->useless)
        return WDL_OK;
    int status = wdl_region_tell(coll, region, peer);
    if (status == WDL_OK)
        *offer_out = (struct wdl_offer){(uint64_t) (at - region->base), region->id, bytes};
    return status == WDL_AGAIN ? WDL_AGAIN : WDL_OK; /* without a region it goes by messages */
}

/* --- keys --- */

static struct wdl_list *bucket_of(struct wdl_coll *coll, int peer)
{
    return &coll->keys[peer % WDL_COLL_BUCKETS];
}

struct wdl_key *wdl_key_find(struct wdl_coll *coll, int peer, uint32_t id)
{
    struct wdl_list *node;
    wdl_list_for (node, bucket_of(coll, peer)) {
        struct wdl_key *key = wdl_container_of(node, struct wdl_key, link);
        if (key->peer == peer && key->id == id)
            return key;
    }
    return NULL;
}

const struct wdl_key *wdl_key_lent(struct wdl_coll *coll, int peer,
                                   const struct wdl_stretch *wanted)
{
    struct wdl_list *node;
    wdl_list_for (node, bucket_of(coll, peer)) {
        const struct wdl_key *key = wdl_container_of(node, struct wdl_key, link);
        if (key->peer == peer && key->lent && wanted->address >= key->base &&
            wanted->bytes <= key->bytes &&
            wanted->address - key->base <= key->bytes - wanted->bytes)
            return key;
    }
    return NULL;
}

int wdl_direct_key(struct wdl_coll *coll, int src, const struct wdl_coll_pkt *pkt, const void *data,
                   size_t bytes)
{
    struct wdl_nm *nm = coll->proc->nm;
    struct wdl_key_text text;
    void *mapped;
    uint32_t id = pkt->what >> WDL_PKT_BITS;
    int lent = (pkt->what & ((1u << WDL_PKT_BITS) - 1)) == WDL_PKT_LENT;
    struct wdl_key *key = wdl_key_find(coll, src, id);
    if (bytes <= sizeof(text) || (key && key->lent == lent))
        return WDL_ERR_PROTO;
    if (key) { /* the same, as told and as lent */
        key->lent = 1;
        return WDL_OK;
    }
    memcpy(&text, data, sizeof(text));
    key = wdl_store_make(&coll->store, sizeof(*key));
    if (!key)
        return WDL_AGAIN;
    *key = (struct wdl_key){.id = id, .peer = src, .base = pkt->offset, .bytes = text.bytes,
                            .lent = lent};
    if (net(coll)->rkey_open(nm, src, (const char *) data + sizeof(text), bytes - sizeof(text),
                             &key->rkey) != WDL_OK)
        key->rkey = NULL;
    else if (net(coll)->map(nm, key->rkey, key->base, &mapped) == WDL_OK)
        key->mapped = mapped;
    wdl_list_push_front(bucket_of(coll, src), &key->link);
    return WDL_OK;
}

int wdl_direct_forget(struct wdl_coll *coll, int src, const struct wdl_coll_pkt *pkt)
{
    uint32_t id = pkt->what >> WDL_PKT_BITS;
    if (pkt->offset)
        return wdl_lend_recalled(coll, src, id);
    struct wdl_key *key = wdl_key_find(coll, src, id);
    if (key)
        wdl_key_free(coll, key);
    return WDL_OK;
}

int wdl_direct_may_put(const struct wdl_coll *coll)
{
    return net(coll)->caps(coll->proc->nm)->has_rma &&
           (coll->keys_useful || coll->keys_useless < KEYS_TRIED);
}

static int is_native(struct wdl_coll *coll, struct wdl_key *key)
{
    struct wdl_nm_caps caps;
    if (!key->asked && key->rkey) {
        net(coll)->rkey_caps(coll->proc->nm, key->rkey, &caps);
        key->native = !caps.rma_needs_target;
    }
    if (!key->asked) {
        key->asked = 1;
        coll->keys_useful += key->native;
        coll->keys_useless += !key->native;
    }
    return key->native;
}

static int has(const struct wdl_key *key, const struct wdl_offer *to)
{
    return to->at <= key->bytes && to->bytes <= key->bytes - to->at;
}

int wdl_direct_put(struct wdl_coll *coll, int peer, const struct wdl_offer *to, const void *data,
                   struct wdl_nm_comp *comp)
{
    struct wdl_key *key = wdl_key_find(coll, peer, to->region);
    if (!key)
        return WDL_ERR_UNSUPPORTED;
    if (!is_native(coll, key))
        return WDL_ERR_OP;
    if (!has(key, to))
        return WDL_ERR_ARG;
    return net(coll)->put(coll->proc->nm, peer, data, to->bytes, key->base + to->at, key->rkey,
                          comp);
}

/* --- sending --- */

static void flushed(struct wdl_nm_comp *comp, const struct wdl_nm_info *info)
{
    struct wdl_coll_send *send = wdl_container_of(comp, struct wdl_coll_send, comp);
    struct wdl_car_run *c = send->car;
    int broken = wdl_status_is_error(info->status);
    if (broken)
        c->run->status = info->status;
    wdl_list_push_front(&c->run->team->coll->sends_free, &send->link);
    c->flight--;
    c->stage = broken ? WDL_DIRECT_BROKEN : WDL_DIRECT_THERE;
    wdl_car_ready(c);
}

static int flush(struct wdl_car_run *c, int peer)
{
    struct wdl_coll *coll = c->run->team->coll;
    struct wdl_list *node = coll->sends_free.next;
    struct wdl_coll_send *send = wdl_container_of(node, struct wdl_coll_send, link);
    if (node == &coll->sends_free)
        return WDL_AGAIN;
    send->comp.fn = flushed;
    send->car = c;
    int status = net(coll)->flush(coll->proc->nm, peer, &send->comp);
    if (status == WDL_PENDING) {
        wdl_list_remove(node);
        c->flight++;
    } else if (status == WDL_OK) {
        c->stage = WDL_DIRECT_THERE;
    }
    return status;
}

/* Begin the piece that is there to go. */
static int place(struct wdl_car_run *c, int peer, const struct wdl_key *key, uint64_t at,
                 const char *data)
{
    struct wdl_coll *coll = c->run->team->coll;
    if (key->mapped) {
        wdl_copy(key->mapped + at, data, c->piece);
        c->stage = WDL_DIRECT_THERE;
        return WDL_OK;
    }
    int status =
        net(coll)->put(coll->proc->nm, peer, data, c->piece, key->base + at, key->rkey, NULL);
    if (status == WDL_OK || status == WDL_PENDING)
        c->stage = WDL_DIRECT_PUT;
    return status;
}

int wdl_direct_settle(struct wdl_car_run *c)
{
    struct wdl_team *team = c->run->team;
    if (c->stage == WDL_DIRECT_PUT && c->flight == 0 &&
        wdl_status_is_error(flush(c, team->params.peer_of(team->params.ctx, wdl_car_of(c)->peer))))
        c->stage = WDL_DIRECT_BROKEN;
    return c->flight == 0 && c->stage != WDL_DIRECT_PUT ? WDL_OK : WDL_AGAIN;
}

/* That all of it is there is a flag; more is to be said of a part. */
static int tell_by_put(struct wdl_car_run *c, const struct wdl_car *car)
{
    if (c->piece < car->bytes)
        return WDL_ERR_UNSUPPORTED;
    return wdl_flag_put(c, WDL_PKT_PLACED, NULL);
}

static int tell_by_message(struct wdl_car_run *c, int peer, const struct wdl_car *car)
{
    struct wdl_team *team = c->run->team;
    struct {
        struct wdl_coll_pkt pkt;
        uint64_t bytes;
    } head = {{team->params.id, c->run->seq, car->role,
                WDL_PKT_PLACED | c->run->print << WDL_PKT_BITS, c->done},
               c->piece};
    int status =
        wdl_am_send(team->coll->proc, peer, WDL_AM_COLL, &head, sizeof(head), NULL, 0, NULL);
    team->coll->stats.sent += status == WDL_OK;
    return status;
}

static int tell(struct wdl_car_run *c, int peer, const struct wdl_car *car)
{
    int status = tell_by_put(c, car);
    if (status == WDL_ERR_UNSUPPORTED)
        status = tell_by_message(c, peer, car);
    if (status == WDL_OK) {
        c->run->team->coll->stats.placed_bytes += c->piece;
        c->done += c->piece;
        c->stage = WDL_DIRECT_IDLE;
    }
    return status;
}

int wdl_direct_step(struct wdl_car_run *c, const struct wdl_car *car, const struct wdl_offer *offer,
                    size_t limit)
{
    struct wdl_team *team = c->run->team;
    int peer = team->params.peer_of(team->params.ctx, car->peer), status = WDL_OK;
    const struct wdl_key *key = wdl_key_find(team->coll, peer, offer->region);
    if (!key)
        return WDL_AGAIN; /* it is on its way */
    if (!key->rkey)
        return WDL_ERR_UNSUPPORTED;
    if (!has(key, offer))
        return WDL_ERR_PROTO;
    while (c->flight == 0 && (status == WDL_OK || status == WDL_PENDING)) {
        size_t left = limit - c->done;
        if (c->stage == WDL_DIRECT_BROKEN)
            return c->run->status;
        if (c->stage == WDL_DIRECT_IDLE) {
            if (limit < car->bytes) /* whole pieces, so that the receiver can count them */
                left -= left % car->piece;
            if (left == 0)
                return WDL_OK;
            c->piece = left;
            status = place(c, peer, key, offer->at + car->place_at + c->done,
                           wdl_run_at(c->run, car->a) + c->done);
        } else if (c->stage == WDL_DIRECT_PUT) {
            status = flush(c, peer);
        } else {
            status = tell(c, peer, car);
        }
    }
    return status == WDL_PENDING ? WDL_OK : status;
}
