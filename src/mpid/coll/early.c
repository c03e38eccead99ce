/* Part of Windlass. See COPYRIGHT in the top-level directory. Ready flags that come early for roles
 * without a cell (early.h). */
#include "mpid/coll/early.h"
#include <string.h>

struct wdl_early_slot {
    uint32_t seq; /* whose the bits are */
    uint32_t print; /* what the first flag's sender means by it; 0: none has said so */
    int differ; /* another means another */
    int left; /* bits */
    uint64_t bits[]; /* by role, from the first one without a cell on */
};

struct place { /* a flag that says where its data may go */
    struct wdl_pool_node node;
    struct wdl_early_flag flag;
};

/* Has the team ranks for which there are no cells? */
static int has_bare_roles(const struct wdl_team *team)
{
    return team->size >= team->links;
}

static size_t slot_bytes(const struct wdl_team *team)
{
    size_t words = (wdl_roles_bare_max(team) + 63) / 64;
    return sizeof(struct wdl_early_slot) + words * sizeof(uint64_t);
}

static struct wdl_early_slot *slot_of(const struct wdl_team *team, uint32_t seq)
{
    size_t slot = seq & ((uint32_t) team->window - 1);
    return (struct wdl_early_slot *) (void *) (team->early + slot * slot_bytes(team));
}

static int pool_make(struct wdl_coll *coll)
{
    const struct wdl_host *host = &coll->host;
    int count = coll->limits.early_places;
    if (coll->early_memory || count == 0)
        return WDL_OK;
    coll->early_memory = host->ops->alloc(host->ctx, (size_t) count * sizeof(struct place));
    if (!coll->early_memory)
        return WDL_ERR_NOMEM;
    wdl_pool_init(&coll->early, 0, coll->early_memory, sizeof(struct place), count);
    return WDL_OK;
}

int wdl_early_make(struct wdl_team *team)
{
    const struct wdl_host *host = &team->coll->host;
    for (int i = 0; i < WDL_EARLY_BUCKETS; i++)
        wdl_list_init(&team->early_places[i]);
    if (!has_bare_roles(team))
        return WDL_OK;
    team->early = host->ops->alloc(host->ctx, (size_t) team->window * slot_bytes(team));
    return team->early ? pool_make(team->coll) : WDL_ERR_NOMEM;
}

void wdl_early_free(struct wdl_team *team)
{
    const struct wdl_host *host = &team->coll->host;
    struct wdl_list *node;
    for (int i = 0; i < WDL_EARLY_BUCKETS && team->early; i++) /* some only after an error */
        while ((node = wdl_list_pop(&team->early_places[i])) != NULL)
            wdl_pool_put(wdl_container_of(node, struct wdl_pool_node, link));
    host->ops->free(host->ctx, team->early);
}

void wdl_early_pool_free(struct wdl_coll *coll)
{
    if (coll->early_memory)
        wdl_pool_fini(&coll->early);
    coll->host.ops->free(coll->host.ctx, coll->early_memory);
}

static struct place *place_find(const struct wdl_team *team, uint32_t seq, uint32_t role)
{
    const struct wdl_list *bucket = &team->early_places[role % WDL_EARLY_BUCKETS];
    struct wdl_list *link;
    wdl_list_for (link, bucket) {
        struct place *place = wdl_container_of(link, struct place, node.link);
        if (place->flag.pkt.seq == seq && place->flag.pkt.role == role)
            return place;
    }
    return NULL;
}

static int is_offer(const struct wdl_coll_pkt *pkt)
{
    return (pkt->what & ((1u << WDL_PKT_BITS) - 1)) == WDL_PKT_OFFER;
}

/* Without a place left for it in the pool its data goes by messages. */
static void place_keep(struct wdl_team *team, const struct wdl_coll_pkt *pkt, int src,
                       uint64_t offered)
{
    struct wdl_coll *coll = team->coll;
    struct place *place = coll->early_memory ? wdl_pool_get(&coll->early) : NULL;
    if (!place) {
        coll->stats.early_unplaced++;
        return;
    }
    place->flag = (struct wdl_early_flag){*pkt, src, offered};
    wdl_list_push(&team->early_places[pkt->role % WDL_EARLY_BUCKETS], &place->node.link);
    coll->stats.early_high = (uint64_t) coll->early.high;
}

static void slot_begin(struct wdl_team *team, struct wdl_early_slot *slot, uint32_t seq)
{
    if (slot->seq == seq)
        return;
    if (slot->left) /* only after an error */
        memset(slot, 0, slot_bytes(team));
    slot->seq = seq;
    slot->print = 0;
    slot->differ = 0;
}

int wdl_early_keep(struct wdl_team *team, const struct wdl_coll_pkt *pkt, int src, uint64_t offered)
{
    uint32_t at = pkt->role - team->cell_roles, print = pkt->what >> WDL_PKT_BITS;
    uint64_t bit = (uint64_t) 1 << at % 64;
    if (!team->early || at >= wdl_roles_bare_max(team))
        return WDL_ERR_PROTO;
    struct wdl_early_slot *slot = slot_of(team, pkt->seq);
    slot_begin(team, slot, pkt->seq);
    if (slot->bits[at / 64] & bit)
        return WDL_ERR_PROTO;
    slot->bits[at / 64] |= bit;
    slot->left++;
    if (is_offer(pkt)) {
        place_keep(team, pkt, src, offered);
    } else {
        slot->differ |= slot->print && slot->print != print;
        slot->print = print;
    }
    team->coll->stats.early++;
    return WDL_OK;
}

int wdl_early_take(struct wdl_team *team, uint32_t seq, uint32_t role,
                   struct wdl_early_flag *flag_out)
{
    uint32_t at = role - team->cell_roles;
    uint64_t bit = (uint64_t) 1 << at % 64;
    if (!team->early || at >= wdl_roles_bare_max(team))
        return 0;
    struct wdl_early_slot *slot = slot_of(team, seq);
    if (slot->seq != seq || !(slot->bits[at / 64] & bit))
        return 0;
    slot->bits[at / 64] &= ~bit;
    slot->left--;
    *flag_out = (struct wdl_early_flag){.src = -1};
    struct place *place = place_find(team, seq, role);
    if (place) {
        *flag_out = place->flag;
        wdl_list_remove(&place->node.link);
        wdl_pool_put(place);
    }
    return 1;
}

int wdl_early_means(const struct wdl_team *team, uint32_t seq, uint32_t print)
{
    const struct wdl_early_slot *slot = team->early ? slot_of(team, seq) : NULL;
    return !slot || slot->seq != seq || slot->print == 0 || (slot->print == print && !slot->differ);
}

void wdl_early_forget(struct wdl_team *team, uint32_t seq)
{
    struct wdl_list *link, *after;
    if (!team->early)
        return;
    if (slot_of(team, seq)->seq == seq)
        memset(slot_of(team, seq), 0, slot_bytes(team));
    for (int i = 0; i < WDL_EARLY_BUCKETS; i++)
        wdl_list_for_safe (link, after, &team->early_places[i]) {
            struct place *place = wdl_container_of(link, struct place, node.link);
            if (place->flag.pkt.seq != seq)
                continue;
            wdl_list_remove(link);
            wdl_pool_put(place);
        }
}
