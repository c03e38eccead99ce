/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A team's memory within its node: a block of each rank's part of the arena (coll_shm.c), found by
 * what the ranks' cards say once the team's first collective has told them. A second block, for
 * long data, follows when it is first wanted.
 *
 * A rank without memory to give is reached by messages; no other rank is affected.
 */
#include "coll.h"

struct wdl_adi_share {
    struct wdl_coll_shm shm;
    int (*peer_of)(void *ctx, int rank);
    void *ctx;
    struct wdl_arena_block *block;      /* the own one; NULL: none */
    uint64_t card;
    int size, users;
    char *fetches;              /* by rank: can its memory be looked at by its node? */
    char *segment[];            /* by rank; NULL: none that we can address */
};

/* On a card, whose blocks begin at multiples of more: this node's processes can fetch. */
enum { FETCHES = 1 };

static int peer_of(const struct wdl_adi_share *share, int rank)
{
    return share->peer_of(share->ctx, rank);
}

static int is_near(const struct wdl_adi_share *share, int rank)
{
    const int *node = MPIR_Process.node_map;
    return node[peer_of(share, rank)] == node[MPIR_Process.rank];
}

/* --- what the engine asks --------------------------------------------------------------------- */

static void *segment(void *ctx, int rank)
{
    return ((struct wdl_adi_share *) ctx)->segment[rank];
}

static int peek(void *ctx, int rank, const void *there, void *here, size_t bytes)
{
    return wdl_adi_copy_one(peer_of(ctx, rank), 0, here, (void *) (uintptr_t) there, bytes);
}

static int poke(void *ctx, int rank, const void *here, void *there, size_t bytes)
{
    return wdl_adi_copy_one(peer_of(ctx, rank), 1, (void *) (uintptr_t) here, there, bytes);
}

static void *staging(void *ctx, size_t bytes, uint64_t * card_out)
{
    struct wdl_adi_share *share = ctx;
    *card_out = 0;
    if (!share->block || !wdl_arena_take_more(bytes, share->block, card_out))
        return NULL;
    return wdl_arena_at(MPIR_Process.rank, *card_out);
}

static void *staging_of(void *ctx, int rank, uint64_t card, size_t bytes)
{
    return wdl_arena_holds(card, bytes) ? wdl_arena_at(peer_of(ctx, rank), card) : NULL;
}

static void opened(void *ctx, const uint64_t *cards)
{
    struct wdl_adi_share *share = ctx;
    for (int i = 0; i < share->size; i++) {
        share->fetches[i] = cards[i] & FETCHES;
        if (is_near(share, i))
            share->segment[i] = wdl_arena_at(peer_of(share, i), cards[i] & ~(uint64_t) FETCHES);
    }
}

static int node_of(void *ctx, int rank)
{
    const struct wdl_adi_share *share = ctx;
    return share->fetches[rank] ? MPIR_Process.node_map[peer_of(share, rank)] : -1;
}

static int domain_of(void *ctx, int rank)
{
    return wdl_domain_of(peer_of(ctx, rank));
}

/* --- begin and end ---------------------------------------------------------------------------- */

struct wdl_adi_share *wdl_adi_share_make(struct wdl_team_params *params)
{
    size_t size = (size_t) params->size;
    struct wdl_adi_share *share =
        MPL_calloc(1, sizeof *share + size * (sizeof share->segment[0] + 1), MPL_MEM_COLL);
    if (!share)
        return NULL;
    share->fetches = (char *) (share->segment + size);
    share->peer_of = params->peer_of;
    share->ctx = params->ctx;
    share->size = params->size;
    share->shm = (struct wdl_coll_shm) {
        .segment = segment,.staging = staging,.staging_of = staging_of,.ctx = share,
        .crowded = wdl_adi.crowded };
    if (wdl_arena_fetches()) {
        share->shm.peek = peek;
        share->shm.poke = poke;
    }
    for (int i = 0; i < share->size; i++)
        share->users += is_near(share, i);
    params->board_bytes = WDL_ADI_BOARD;
    params->staging_long_bytes = WDL_ADI_STAGING_LONG;
    params->opened = opened;
    params->node_of = node_of;
    params->domain_of = wdl_domain_of(MPIR_Process.rank) < 0 ? NULL : domain_of;
    params->opened_ctx = share;
    if (share->users > 1) {
        params->shm = &share->shm;
        share->block = wdl_arena_take(wdl_coll_shm_bytes(wdl_adi.proc, params), share->users,
                                      &params->card);
    }
    share->card = params->card;
    if (params->card && wdl_arena_fetches())
        params->card |= FETCHES;
    return share;
}

void wdl_adi_share_leave(struct wdl_adi_share *share, size_t from, size_t to)
{
    for (int i = 0; i < share->size; i++)
        if (share->segment[i])
            wdl_arena_leave(share->segment[i], from, to);
    MPL_free(share);
}

void wdl_adi_share_drop(struct wdl_adi_share *share)
{
    for (int i = 0; i < share->users && share->card; i++)
        wdl_arena_leave(wdl_arena_at(MPIR_Process.rank, share->card), 0, 0);
    MPL_free(share);
}
