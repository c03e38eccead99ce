/* Part of Windlass. See COPYRIGHT in the top-level directory. Attached memory that others may write
 * at any time (lend.h). */
#include "mpid/coll/lend.h"
#include <string.h>
#include "base/bits.h"
#include "mpid/coll/ahead.h"

struct wdl_loan_question { /* on its way */
    struct wdl_list link;
    int peer;
    struct wdl_stretch wanted;
    uint32_t recalled; /* this region has been called back; 0: none */
};

static const struct wdl_nm_ops *net(const struct wdl_coll *coll)
{
    return coll->proc->nm->ops;
}

static int say(struct wdl_coll *coll, int peer, enum wdl_pkt what, uint32_t region)
{
    struct wdl_coll_pkt pkt = {.what = what | region << WDL_PKT_BITS};
    int status = wdl_am_send(coll->proc, peer, WDL_AM_COLL, &pkt, sizeof(pkt), NULL, 0, NULL);
    return status == WDL_AGAIN ? WDL_AGAIN : WDL_OK; /* who is gone waits for nothing */
}

/* --- who lends -------------------------------------------------------------------------------- */

int wdl_lend_count(const struct wdl_coll *coll, const struct wdl_region *region)
{
    const struct wdl_proc *proc = coll->proc;
    int count = 0;
    for (unsigned peer = 0; region->lent && peer < (unsigned) proc->peers; peer++)
        count += wdl_bits_have(region->lent, peer) && !wdl_bits_have(proc->lost, peer);
    return count;
}

/* WDL_OK, WDL_AGAIN, or an error: not this one. */
static int lend(struct wdl_coll *coll, struct wdl_region *region, int src, uint64_t wanted)
{
    if (region->leaving || region->useless || region->bytes < wanted ||
        wdl_bits_have(region->lent, (unsigned) src))
        return WDL_ERR_UNSUPPORTED;
    if (!wdl_region_peers(coll, &region->lent))
        return WDL_ERR_NOMEM;
    int status = wdl_region_say(coll, region, src, WDL_PKT_LENT);
    if (status == WDL_OK)
        wdl_bits_add(region->lent, (unsigned) src);
    return status;
}

/* The region that so many were attached before; NULL: there is none. */
static struct wdl_region *region_at(const struct wdl_coll *coll, uint32_t place)
{
    const struct wdl_list *node = coll->regions.prev;
    while (node != &coll->regions && place-- > 0)
        node = node->prev;
    return node == &coll->regions ? NULL : wdl_container_of(node, struct wdl_region, link);
}

int wdl_lend_asked(struct wdl_coll *coll, int src, const struct wdl_coll_pkt *pkt,
                   const void *data, size_t bytes)
{
    uint64_t wanted;
    struct wdl_list *node;
    if (bytes != sizeof(wanted) || pkt->offset)
        return WDL_ERR_PROTO;
    memcpy(&wanted, data, sizeof(wanted));
    struct wdl_region *like = region_at(coll, pkt->role);
    int status = like ? lend(coll, like, src, wanted) : WDL_ERR_UNSUPPORTED;
    wdl_list_for (node, &coll->regions) {
        if (status == WDL_OK || status == WDL_AGAIN)
            return status;
        status = lend(coll, wdl_container_of(node, struct wdl_region, link), src, wanted);
    }
    return status == WDL_OK || status == WDL_AGAIN ? status : say(coll, src, WDL_PKT_LENT, 0);
}

int wdl_lend_returned(struct wdl_coll *coll, int src, const struct wdl_coll_pkt *pkt)
{
    struct wdl_list *node;
    wdl_list_for (node, &coll->regions) {
        struct wdl_region *region = wdl_container_of(node, struct wdl_region, link);
        if (region->id != pkt->what >> WDL_PKT_BITS || !wdl_bits_have(region->lent, (unsigned) src))
            continue;
        wdl_bits_drop(region->lent, (unsigned) src);
        return WDL_OK;
    }
    return WDL_ERR_PROTO;
}

/* --- who borrows ------------------------------------------------------------------------------ */

static struct wdl_loan_question *question_to(const struct wdl_coll *coll, int peer)
{
    struct wdl_list *node;
    wdl_list_for (node, &coll->questions) {
        struct wdl_loan_question *q = wdl_container_of(node, struct wdl_loan_question, link);
        if (q->peer == peer)
            return q;
    }
    return NULL;
}

/* How many regions were attached before the one that has it. */
static uint32_t place_of(struct wdl_coll *coll, const char *at, size_t bytes)
{
    const struct wdl_region *region = at ? wdl_region_of(coll, at, bytes) : NULL;
    uint32_t place = 0;
    if (!region)
        return WDL_ROLE_NONE;
    for (const struct wdl_list *node = region->link.next; node != &coll->regions; node = node->next)
        place++;
    return place;
}

static int ask(struct wdl_coll *coll, int peer, const struct wdl_stretch *wanted, const char *like)
{
    struct {
        struct wdl_coll_pkt pkt;
        uint64_t bytes;
    } head = {{.what = WDL_PKT_BORROW, .role = place_of(coll, like, wanted->bytes)}, wanted->bytes};
    struct wdl_loan_question *q = wdl_store_make(&coll->store, sizeof(*q));
    if (!q)
        return WDL_AGAIN;
    int status =
        wdl_am_send(coll->proc, peer, WDL_AM_COLL, &head, sizeof(head), NULL, 0, NULL);
    if (status != WDL_OK) {
        wdl_store_put(&coll->store, q);
        return status == WDL_AGAIN ? WDL_AGAIN : WDL_ERR_UNSUPPORTED;
    }
    *q = (struct wdl_loan_question){.peer = peer, .wanted = *wanted};
    wdl_list_push(&coll->questions, &q->link);
    return WDL_PENDING;
}

int wdl_lend_find(struct wdl_coll *coll, int peer, const struct wdl_stretch *wanted,
                  const char *like, struct wdl_offer *offer_out)
{
    const struct wdl_key *key = wdl_key_lent(coll, peer, wanted);
    if (key) {
        *offer_out = (struct wdl_offer){wanted->address - key->base, key->id, wanted->bytes};
        return key->rkey ? WDL_OK : WDL_ERR_UNSUPPORTED;
    }
    if (!net(coll)->caps(coll->proc->nm)->has_rma)
        return WDL_ERR_UNSUPPORTED;
    return question_to(coll, peer) ? WDL_PENDING : ask(coll, peer, wanted, like);
}

void wdl_lend_wait(struct wdl_car_run *c)
{
    wdl_list_push(&c->run->team->coll->unlent, &c->link);
}

/* Those that wait look again; of those that have asked for what there is not, `refused` hear it. */
static void wake(struct wdl_coll *coll, const struct wdl_loan_question *q, int refused)
{
    struct wdl_list *node, *after;
    wdl_list_for_safe (node, after, &coll->unlent) {
        struct wdl_car_run *c = wdl_container_of(node, struct wdl_car_run, link);
        const struct wdl_team *team = c->run->team;
        if (team->params.peer_of(team->params.ctx, wdl_car_of(c)->peer) != q->peer)
            continue;
        if (refused && wdl_ahead_wanted(c).address == q->wanted.address)
            c->step = WDL_AHEAD_REFUSED;
        wdl_car_wake(c);
    }
}

int wdl_lend_answered(struct wdl_coll *coll, int src, const struct wdl_coll_pkt *pkt,
                      const void *data, size_t bytes)
{
    uint32_t id = pkt->what >> WDL_PKT_BITS;
    struct wdl_loan_question *q = question_to(coll, src);
    int back = q && id && q->recalled == id;
    int status = WDL_OK;
    if (!q)
        return WDL_ERR_PROTO;
    if (back)
        status = say(coll, src, WDL_PKT_RETURN, id);
    else if (id)
        status = wdl_direct_key(coll, src, pkt, data, bytes);
    if (status != WDL_OK)
        return status;
    wdl_list_remove(&q->link);
    wake(coll, q, back || !id);
    wdl_store_put(&coll->store, q);
    return WDL_OK;
}

int wdl_lend_recalled(struct wdl_coll *coll, int src, uint32_t id)
{
    struct wdl_key *key = wdl_key_find(coll, src, id);
    struct wdl_loan_question *q = question_to(coll, src);
    int lent = key && key->lent;
    if (lent && say(coll, src, WDL_PKT_RETURN, id) == WDL_AGAIN)
        return WDL_AGAIN;
    if (key)
        wdl_key_free(coll, key);
    if (!lent && q)
        q->recalled = id; /* its loan is on its way */
    return lent || q ? WDL_OK : WDL_ERR_PROTO;
}

void wdl_lend_fini(struct wdl_coll *coll)
{
    struct wdl_list *node;
    wdl_assert(wdl_list_empty(&coll->unlent));
    while ((node = wdl_list_pop(&coll->questions)) != NULL)
        wdl_store_put(&coll->store, wdl_container_of(node, struct wdl_loan_question, link));
}
