/* Part of Windlass. See COPYRIGHT in the top-level directory. Memory in common
 * (gasnet_memory.h). */
#include "mpid/coll/gasnet_memory.h"
#include <stdlib.h>
#include <string.h>
#include "base/assert.h"

struct staging { /* a rank's */
    char *base;
    size_t bytes;
};

/* Of one team of the engine's: made by the first of its ranks that asks, gone with the last. */
struct gasnet_segments {
    struct gasnet_segments *next;
    struct gasnet_memory *memory;
    uint32_t id;
    int users, size;
    int *peer; /* by rank */
    char *base;
    size_t bytes; /* of a segment */
    struct staging *staging; /* by rank */
};

struct share { /* a rank's */
    struct gasnet_segments *s;
    int rank;
    struct wdl_coll_shm shm;
};

static int node_of(void *ctx, int rank)
{
    const struct gasnet_segments *s = ((const struct share *) ctx)->s;
    return s->peer[rank] / s->memory->each;
}

static int domain_of(void *ctx, int rank)
{
    const struct gasnet_segments *s = ((const struct share *) ctx)->s;
    return s->peer[rank] / s->memory->domain;
}

static void *segment(void *ctx, int rank)
{
    const struct share *share = ctx;
    return node_of(ctx, rank) == node_of(ctx, share->rank)
               ? share->s->base + (size_t) rank * share->s->bytes
               : NULL;
}

static const char *alike(const struct share *share, int rank, const void *there)
{
    const struct gasnet_segments *s = share->s;
    const struct gasnet_memory *m = s->memory;
    return m->alike ? m->alike(m->ctx, s->peer[share->rank], s->peer[rank], there) : there;
}

static int peek(void *ctx, int rank, const void *there, void *here, size_t bytes)
{
    wdl_assert(segment(ctx, rank));
    memcpy(here, alike(ctx, rank, there), bytes);
    return WDL_OK;
}

static int poke(void *ctx, int rank, const void *here, void *there, size_t bytes)
{
    wdl_assert(segment(ctx, rank));
    memcpy((char *) (uintptr_t) alike(ctx, rank, there), here, bytes);
    return WDL_OK;
}

/* A rank's number as the card. */
enum { STAGING_CARD = 1 << 24 };

static void *staging(void *ctx, size_t bytes, uint64_t *card_out)
{
    struct share *share = ctx;
    struct staging *own = &share->s->staging[share->rank];
    wdl_assert(!own->base);
    *own = (struct staging){aligned_alloc(64, bytes), bytes};
    *card_out = STAGING_CARD * (uint64_t) (share->rank + 1);
    return own->base;
}

static void *staging_of(void *ctx, int rank, uint64_t card, size_t bytes)
{
    const struct staging *of = &((const struct share *) ctx)->s->staging[rank];
    uint64_t at = card - STAGING_CARD * (uint64_t) (rank + 1);
    wdl_assert(segment(ctx, rank));
    return of->base && at <= of->bytes && bytes <= of->bytes - at ? of->base + at : NULL;
}

/* Teams that know nothing of each other may have one id. */
static struct gasnet_segments *segments_of(struct gasnet_memory *m,
                                           const struct wdl_team_params *params)
{
    int lead = params->peer_of(params->ctx, 0);
    for (struct gasnet_segments *s = m->all; s; s = s->next)
        if (s->id == params->id && s->peer[0] == lead)
            return s;
    struct gasnet_segments *s = calloc(1, sizeof(*s));
    *s = (struct gasnet_segments){m->all, m, params->id, 0, params->size, NULL, NULL, 0, NULL};
    s->staging = calloc((size_t) s->size, sizeof(s->staging[0]));
    s->peer = calloc((size_t) s->size, sizeof(s->peer[0]));
    s->bytes = (wdl_coll_shm_bytes(m->proc, params) + 63) & ~(size_t) 63;
    s->base = aligned_alloc(64, (size_t) s->size * s->bytes);
    memset(s->base, 0, (size_t) s->size * s->bytes);
    for (int i = 0; i < s->size; i++)
        s->peer[i] = params->peer_of(params->ctx, i);
    m->all = s;
    return s;
}

static int share_make(void *ctx, struct wdl_team_params *params, void **share_out)
{
    struct share *share = calloc(1, sizeof(*share));
    share->s = segments_of(ctx, params);
    share->s->users++;
    share->rank = params->rank;
    share->shm =
        (struct wdl_coll_shm){.segment = segment, .peek = peek, .poke = poke, .ctx = share};
    if (params->staging_bytes) {
        share->shm.staging = staging;
        share->shm.staging_of = staging_of;
    }
    params->shm = &share->shm;
    params->node_of = node_of;
    params->domain_of = share->s->memory->domain ? domain_of : NULL;
    params->opened_ctx = share;
    *share_out = share;
    return WDL_OK;
}

static void leave(void *ctx, void *left)
{
    struct gasnet_memory *m = ctx;
    struct share *share = left;
    struct gasnet_segments *s = share->s, **at = &m->all;
    free(share);
    if (--s->users > 0)
        return;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    for (int i = 0; i < s->size; i++)
        free(s->staging[i].base);
    free(s->staging);
    free(s->peer);
    free(s->base);
    free(s);
}

struct wdl_gas_memory gasnet_memory(struct gasnet_memory *m)
{
    return (struct wdl_gas_memory){share_make, leave, leave, m};
}

void gasnet_memory_look(const struct gasnet_memory *m, void (*fn)(const char *at, size_t bytes))
{
    for (const struct gasnet_segments *s = m->all; s; s = s->next)
        fn(s->base, (size_t) s->size * s->bytes);
}
