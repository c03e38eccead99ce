/* Part of Windlass. See COPYRIGHT in the top-level directory. Who may put flags where
 * (contact.h). */
#include "mpid/coll/contact.h"
#include "mpid/coll/direct.h"
#include "mpid/coll/flag.h"

enum { LINE = 64, SLAB_BYTES_MAX = 1 << 20 };

struct wdl_slab { /* memory for the words of teams */
    struct wdl_list link;
    struct wdl_region *region;
    void *memory;
    char *base; /* in it, aligned */
    size_t bytes, used;
};

struct wdl_share { /* of a slab; used again for another team */
    struct wdl_list link; /* coll->shares while it is nobody's, or alone */
    struct wdl_slab *slab;
    char *at;
    size_t bytes;
};

/* --- words ------------------------------------------------------------------------------------ */

/* Twice as long as the last one, up to a limit: a program with one team takes what one needs. */
static struct wdl_slab *slab_new(struct wdl_coll *coll, size_t bytes)
{
    const struct wdl_host *host = &coll->host;
    size_t wanted = 0;
    if (!wdl_list_empty(&coll->slabs))
        wanted = 2 * wdl_container_of(coll->slabs.next, struct wdl_slab, link)->bytes;
    if (wanted > SLAB_BYTES_MAX)
        wanted = SLAB_BYTES_MAX;
    if (wanted < bytes)
        wanted = bytes;
    struct wdl_slab *slab = host->ops->alloc(host->ctx, sizeof(*slab));
    void *memory = slab ? host->ops->alloc(host->ctx, wanted + LINE) : NULL;
    char *base = memory ? (char *) (((uintptr_t) memory + LINE - 1) & ~(uintptr_t) (LINE - 1)) : 0;
    struct wdl_region *region = base ? wdl_region_make(coll, base, wanted) : NULL;
    if (!region) {
        host->ops->free(host->ctx, memory);
        host->ops->free(host->ctx, slab);
        return NULL;
    }
    *slab = (struct wdl_slab){.region = region, .memory = memory, .base = base, .bytes = wanted};
    wdl_list_push_front(&coll->slabs, &slab->link);
    return slab;
}

static struct wdl_share *share_new(struct wdl_coll *coll, size_t bytes)
{
    const struct wdl_host *host = &coll->host;
    struct wdl_slab *slab = NULL;
    if (!wdl_list_empty(&coll->slabs))
        slab = wdl_container_of(coll->slabs.next, struct wdl_slab, link);
    if (!slab || slab->bytes - slab->used < bytes)
        slab = slab_new(coll, bytes);
    struct wdl_share *share = slab ? host->ops->alloc(host->ctx, sizeof(*share)) : NULL;
    if (!share)
        return NULL;
    *share = (struct wdl_share){.slab = slab, .at = slab->base + slab->used, .bytes = bytes};
    slab->used += bytes;
    wdl_list_init(&share->link);
    return share;
}

static struct wdl_share *share_get(struct wdl_coll *coll, size_t bytes)
{
    struct wdl_list *node;
    bytes = (bytes + LINE - 1) & ~(size_t) (LINE - 1);
    wdl_list_for (node, &coll->shares) {
        struct wdl_share *share = wdl_container_of(node, struct wdl_share, link);
        if (share->bytes >= bytes) {
            wdl_list_remove(node);
            return share;
        }
    }
    return share_new(coll, bytes);
}

/* 0: there are none. */
static int words_make(struct wdl_team *team)
{
    struct wdl_flags *flags = team->flags;
    if (flags->share)
        return 1;
    flags->share = share_get(team->coll, wdl_flag_bytes(team));
    if (!flags->share)
        return 0;
    flags->words = (uint64_t *) (void *) flags->share->at;
    wdl_flag_empty(team, flags->words);
    return 1;
}

/* --- contacts --------------------------------------------------------------------------------- */

static struct wdl_list *bucket_of(const struct wdl_team *team, int rank)
{
    return &team->flags->contacts[rank % WDL_CONTACT_BUCKETS];
}

struct wdl_contact *wdl_contact_find(const struct wdl_team *team, int rank)
{
    struct wdl_list *node;
    if (!team->flags)
        return NULL;
    wdl_list_for (node, bucket_of(team, rank)) {
        struct wdl_contact *x = wdl_container_of(node, struct wdl_contact, link);
        if (x->rank == rank)
            return x;
    }
    return NULL;
}

static struct wdl_flags *flags_make(struct wdl_team *team)
{
    const struct wdl_host *host = &team->coll->host;
    struct wdl_flags *flags = team->flags;
    if (flags)
        return flags;
    team->flags = flags = host->ops->alloc(host->ctx, sizeof(*flags));
    for (int i = 0; flags && i < WDL_CONTACT_BUCKETS; i++)
        wdl_list_init(&flags->contacts[i]);
    return flags;
}

/* The one there is, or new; NULL: there are enough, or memory is short. */
static struct wdl_contact *contact_get(struct wdl_team *team, int rank)
{
    const struct wdl_host *host = &team->coll->host;
    struct wdl_contact *x = wdl_contact_find(team, rank);
    if (x || !flags_make(team) || team->flags->count == WDL_CONTACTS_LINK * team->links)
        return x;
    x = host->ops->alloc(host->ctx, sizeof(*x));
    if (!x)
        return NULL;
    *x = (struct wdl_contact){.rank = rank, .peer = team->params.peer_of(team->params.ctx, rank)};
    wdl_list_push(bucket_of(team, rank), &x->link);
    team->flags->count++;
    return x;
}

static int say(struct wdl_team *team, int peer, struct wdl_coll_pkt pkt, enum wdl_pkt what,
               uint32_t region)
{
    pkt.team = team->params.id;
    pkt.role = (uint32_t) team->rank;
    pkt.what = what | region << WDL_PKT_BITS;
    return wdl_am_send(team->coll->proc, peer, WDL_AM_COLL, &pkt, sizeof(pkt), NULL, 0, NULL);
}

/* Before all have made the team there is nobody to ask. */
static void ask(struct wdl_team *team, struct wdl_contact *x)
{
    uint32_t number = (uint32_t) team->coll->stats.questions + 1;
    struct wdl_coll_pkt pkt = {.seq = number};
    if (say(team, x->peer, pkt, WDL_PKT_WHERE, 0) != WDL_OK)
        return;
    team->coll->stats.questions++;
    x->asked = number;
    x->phase = WDL_CONTACT_ASKED;
}

void wdl_contact_close(struct wdl_team *team, struct wdl_contact *x)
{
    struct wdl_coll_pkt pkt = {.offset = 1};
    if (say(team, x->peer, pkt, WDL_PKT_WHERE, 0) != WDL_AGAIN)
        x->phase = WDL_CONTACT_CLOSED;
}

struct wdl_contact *wdl_contact_to(struct wdl_team *team, int rank)
{
    struct wdl_contact *x = wdl_contact_find(team, rank);
    if (x && x->phase == WDL_CONTACT_OPEN)
        return x;
    if (team->open && wdl_direct_may_put(team->coll))
        x = contact_get(team, rank);
    if (x && x->phase == WDL_CONTACT_NEW && wdl_direct_may_put(team->coll))
        ask(team, x);
    return NULL;
}

static int is_rank(const struct wdl_team *team, uint32_t rank, int src)
{
    return rank < (uint32_t) team->size && rank != (uint32_t) team->rank &&
           team->params.peer_of(team->params.ctx, (int) rank) == src;
}

/* Whatever flags of this rank's are waited for already may come as words. */
static void look_out(struct wdl_team *team, int rank)
{
    struct wdl_list *node;
    wdl_list_for (node, &team->running) {
        struct wdl_run *run = wdl_container_of(node, struct wdl_run, link);
        for (int i = 0; run->graph && i < run->graph->ncars; i++) {
            struct wdl_car_run *c = &run->cars[i];
            if (c->state == WDL_CAR_ARMED && run->graph->cars[i].peer == rank &&
                wdl_flag_is_awaited(run, &run->graph->cars[i]) && wdl_list_empty(&c->link))
                wdl_list_push(&team->coll->polled, &c->link);
        }
    }
}

static struct wdl_region *region_of(const struct wdl_team *team)
{
    return team->flags->share->slab->region;
}

int wdl_contact_asked(struct wdl_team *team, int src, const struct wdl_coll_pkt *pkt)
{
    struct wdl_coll_pkt answer = {.seq = pkt->seq};
    uint32_t region = 0;
    if (!is_rank(team, pkt->role, src) || pkt->offset > 1)
        return WDL_ERR_PROTO;
    struct wdl_contact *x = contact_get(team, (int) pkt->role);
    if (pkt->offset) {
        if (x)
            x->told = 0;
        return WDL_OK;
    }
    if (x && words_make(team)) {
        int status = wdl_region_tell(team->coll, region_of(team), src);
        if (status == WDL_AGAIN)
            return WDL_AGAIN;
        if (status == WDL_OK) {
            region = wdl_region_id(region_of(team));
            answer.offset = (uint64_t) ((char *) team->flags->words - region_of(team)->base);
        }
    }
    if (say(team, src, answer, WDL_PKT_THERE, region) == WDL_AGAIN)
        return WDL_AGAIN;
    if (region && !x->told) {
        x->told = 1;
        look_out(team, x->rank);
    }
    return WDL_OK;
}

/* Behind a team that has ended, another of its name may not know the question. */
int wdl_contact_answered(struct wdl_team *team, int src, const struct wdl_coll_pkt *pkt)
{
    if (!is_rank(team, pkt->role, src) || pkt->offset % sizeof(uint64_t))
        return WDL_ERR_PROTO;
    struct wdl_contact *x = wdl_contact_find(team, (int) pkt->role);
    if (!x || x->phase != WDL_CONTACT_ASKED || x->asked != pkt->seq)
        return WDL_OK;
    x->region = pkt->what >> WDL_PKT_BITS;
    x->at = pkt->offset;
    x->phase = x->region ? WDL_CONTACT_OPEN : WDL_CONTACT_CLOSED;
    return WDL_OK;
}

/* --- settling --------------------------------------------------------------------------------- */

/* A peer that is lost gets nothing any more. */
static void flushed(struct wdl_nm_comp *comp, const struct wdl_nm_info *info)
{
    (void) info;
    wdl_container_of(comp, struct wdl_contact, comp)->flushing = 0;
}

static int settle(struct wdl_team *team, struct wdl_contact *x)
{
    struct wdl_nm *nm = team->coll->proc->nm;
    if (x->dirty && !x->flushing) {
        x->comp.fn = flushed;
        int status = nm->ops->flush(nm, x->peer, &x->comp);
        x->flushing = status == WDL_PENDING;
        x->dirty = status == WDL_AGAIN;
    }
    return x->dirty || x->flushing ? WDL_AGAIN : WDL_OK;
}

int wdl_contact_settle(struct wdl_team *team, int peer)
{
    int status = WDL_OK;
    for (int i = 0; team->flags && i < WDL_CONTACT_BUCKETS; i++) {
        struct wdl_list *node;
        wdl_list_for (node, &team->flags->contacts[i]) {
            struct wdl_contact *x = wdl_container_of(node, struct wdl_contact, link);
            if ((peer < 0 || x->peer == peer) && settle(team, x) == WDL_AGAIN)
                status = WDL_AGAIN;
        }
    }
    return status;
}

int wdl_contacts_settle(struct wdl_team *team)
{
    return wdl_contact_settle(team, -1);
}

/* --- ends ------------------------------------------------------------------------------------- */

void wdl_contacts_free(struct wdl_team *team)
{
    const struct wdl_host *host = &team->coll->host;
    struct wdl_flags *flags = team->flags;
    for (int i = 0; flags && i < WDL_CONTACT_BUCKETS; i++) {
        struct wdl_list *node;
        while ((node = wdl_list_pop(&flags->contacts[i])) != NULL) {
            struct wdl_contact *x = wdl_container_of(node, struct wdl_contact, link);
            wdl_assert(!x->dirty && !x->flushing);
            host->ops->free(host->ctx, x);
        }
    }
    if (flags && flags->share)
        wdl_list_push(&team->coll->shares, &flags->share->link);
    host->ops->free(host->ctx, flags);
    team->flags = NULL;
}

void wdl_contact_fini(struct wdl_coll *coll)
{
    const struct wdl_host *host = &coll->host;
    struct wdl_list *node;
    while ((node = wdl_list_pop(&coll->shares)) != NULL)
        host->ops->free(host->ctx, wdl_container_of(node, struct wdl_share, link));
    while ((node = wdl_list_pop(&coll->slabs)) != NULL) {
        struct wdl_slab *slab = wdl_container_of(node, struct wdl_slab, link);
        wdl_region_free(coll, slab->region);
        host->ops->free(host->ctx, slab->memory);
        host->ops->free(host->ctx, slab);
    }
}
