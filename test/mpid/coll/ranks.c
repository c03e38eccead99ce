/* Part of Windlass. See COPYRIGHT in the top-level directory. Ranks with collectives on a
 * simulated network. */
#include "mpid/coll/ranks.h"
#include <stdlib.h>
#include <string.h>
#include "base/assert.h"
#include "mpid/coll/pattern.h"

static const void *address(void *ctx, int peer, size_t *bytes_out)
{
    struct ranks *r = ctx;
    const void *addr = NULL;
    r->one[peer].proc->nm->ops->address(r->one[peer].proc->nm, &addr, bytes_out);
    return addr;
}

void ranks_open(struct ranks *r, const struct wdl_sim_params *sim)
{
    char err[128];
    r->n = sim->ranks;
    r->domain_ranks = 0;
    r->sim = wdl_sim_create(sim);
    r->one = calloc((size_t) r->n, sizeof(r->one[0]));
    wdl_assert(r->sim && r->one);
    wdl_prng_init(&r->prng, sim->seed);
    for (int i = 0; i < r->n; i++) {
        struct ranks_one *one = &r->one[i];
        test_host_init(&one->host);
        one->host.address = address;
        one->host.address_ctx = r;
        struct wdl_proc_params params = {.host = one->host.host,
                                         .netmod = &wdl_nm_sim_ops,
                                         .fabric = r->sim,
                                         .rank = i,
                                         .peers = r->n,
                                         .bounce_count = 2};
        int status = wdl_proc_create(&params, &one->proc, err, sizeof(err));
        wdl_assert_cmp(status, ==, WDL_OK);
        status = wdl_coll_init(one->proc);
        wdl_assert_cmp(status, ==, WDL_OK);
    }
}

void ranks_limit(struct ranks *r, int pools)
{
    static const struct wdl_coll_limits limits[] = {{0, 0, 1 << 16, 0},
                                                    {4096, 2, 1 << 16, 4096}};
    for (int i = 0; i < r->n && pools; i++)
        wdl_coll_limit(r->one[i].proc, &limits[pools - 1]);
}

void ranks_close(struct ranks *r)
{
    while (!wdl_sim_quiescent(r->sim))
        ranks_step(r);
    for (int i = 0; i < r->n; i++) {
        wdl_assert_cmp(wdl_coll_stats(r->one[i].proc)->live, ==, 0);
        wdl_assert_cmp(r->one[i].proc->stats.malformed, ==, 0);
        wdl_coll_fini(r->one[i].proc);
        wdl_proc_destroy(r->one[i].proc);
        wdl_assert_cmp(r->one[i].host.live, ==, 0);
    }
    wdl_sim_destroy(r->sim);
    for (int i = 0; i < r->n; i++) {
        free(r->one[i].segment);
        free(r->one[i].staging);
        free(r->one[i].staging_long);
    }
    free(r->one);
}

static int same_peer(void *ctx, int rank)
{
    (void) ctx;
    return rank;
}

void ranks_team(struct ranks *r, const struct wdl_team_params *params, struct wdl_team **teams)
{
    for (int i = 0; i < r->n; i++) {
        struct wdl_team_params p = *params;
        p.rank = i;
        p.size = r->n;
        p.peer_of = same_peer;
        int status = wdl_team_create(r->one[i].proc, &p, &teams[i]);
        wdl_assert_cmp(status, ==, WDL_OK);
    }
}

static int node_of(void *ctx, int rank)
{
    return rank / ((const struct ranks *) ctx)->node_ranks;
}

static int domain_of(void *ctx, int rank)
{
    return rank / ((const struct ranks *) ctx)->domain_ranks;
}

static void *segment(void *ctx, int rank)
{
    const struct ranks_one *one = ctx;
    int own = (int) (one - one->all->one);
    if (rank == one->all->lacks - 1)
        return NULL;
    return node_of(one->all, own) == node_of(one->all, rank) ? one->all->one[rank].segment : NULL;
}

static int peek(void *ctx, int rank, const void *there, void *here, size_t bytes)
{
    wdl_assert(segment(ctx, rank));
    memcpy(here, there, bytes);
    return WDL_OK;
}

static int poke(void *ctx, int rank, const void *here, void *there, size_t bytes)
{
    return peek(ctx, rank, here, there, bytes);
}

/* A rank's number as the card, and which of its two it is. */
enum { STAGING_CARD = 1 << 24, STAGING_LONG = 1 << 23 };

static void *staging(void *ctx, size_t bytes, uint64_t *card_out)
{
    struct ranks_one *one = ctx;
    char *memory = aligned_alloc(64, bytes);
    *card_out = STAGING_CARD * (uint64_t) (one - one->all->one + 1);
    wdl_assert(!one->staging || !one->staging_long);
    if (one->staging) {
        *card_out += STAGING_LONG;
        one->staging_long = memory;
        one->staging_long_bytes = bytes;
    } else {
        one->staging = memory;
        one->staging_bytes = bytes;
    }
    return memory;
}

static void *staging_of(void *ctx, int rank, uint64_t card, size_t bytes)
{
    const struct ranks_one *one = &((const struct ranks_one *) ctx)->all->one[rank];
    uint64_t at = card - STAGING_CARD * (uint64_t) (rank + 1);
    wdl_assert(segment(ctx, rank));
    int is_long = at >= STAGING_LONG;
    char *memory = is_long ? one->staging_long : one->staging;
    size_t all = is_long ? one->staging_long_bytes : one->staging_bytes;
    at -= is_long ? STAGING_LONG : 0;
    return memory && at <= all && bytes <= all - at ? memory + at : NULL;
}

void ranks_prefer_levels(struct ranks *r, int all)
{
    static const char every[] = "barrier:levels,broadcast:levels,scatter:levels,gather:levels,"
                                "gather_all:levels,exchange:levels,reduce:levels,"
                                "allreduce:levels,reduce_scatter:levels,scan:levels";
    char err[128];
    for (int i = 0; i < r->n; i++) {
        int status = wdl_coll_prefer(r->one[i].proc, all ? every : "scan:levels", err, sizeof(err));
        wdl_assert_cmp(status, ==, WDL_OK);
    }
}

void ranks_nodes(struct ranks *r, struct wdl_team_params *params, int each, int peeks)
{
    r->node_ranks = each;
    params->size = r->n;
    params->peer_of = same_peer;
    params->node_of = peeks ? node_of : NULL;
    params->domain_of = r->domain_ranks ? domain_of : NULL;
    params->opened_ctx = r;
    for (int i = 0; i < r->n; i++) {
        struct ranks_one *one = &r->one[i];
        size_t bytes = (wdl_coll_shm_bytes(one->proc, params) + 63) & ~(size_t) 63;
        one->all = r;
        one->segment = aligned_alloc(64, bytes);
        memset(one->segment, 0, bytes);
        one->shm = (struct wdl_coll_shm){.segment = segment, .ctx = one};
        if (peeks) {
            one->shm.peek = peek;
            one->shm.poke = poke;
        }
        if (params->staging_bytes) {
            one->shm.staging = staging;
            one->shm.staging_of = staging_of;
        }
    }
}

void ranks_team_nodes(struct ranks *r, const struct wdl_team_params *params, int each, int peeks,
                      struct wdl_team **teams)
{
    struct wdl_team_params p = *params;
    ranks_nodes(r, &p, each, peeks);
    for (int i = 0; i < r->n; i++) {
        p.rank = i;
        p.shm = &r->one[i].shm;
        int status = wdl_team_create(r->one[i].proc, &p, &teams[i]);
        wdl_assert_cmp(status, ==, WDL_OK);
    }
}

void ranks_doubt(struct ranks *r, int rank)
{
    enum { LONG_NS = 400000000 };
    r->one[rank].host.now_ns += LONG_NS;
    wdl_coll_doubt(r->one[rank].proc);
}

int ranks_step(struct ranks *r)
{
    int i = (int) wdl_prng_below(&r->prng, (uint64_t) r->n);
    r->aside = r->steps++ % 3 == 1;
    wdl_coll_aside(r->one[i].proc, r->aside);
    wdl_proc_progress(r->one[i].proc);
    wdl_coll_aside(r->one[i].proc, 0);
    r->aside = 0;
    wdl_sim_check(r->sim);
    wdl_sim_advance(r->sim, wdl_prng_below(&r->prng, (uint64_t) (2000 / r->n + 2)));
    return i;
}

int ranks_finish(struct ranks *r, struct wdl_coll_req *reqs, int count)
{
    int done = 0;
    for (int rounds = 0; rounds < 1000000; rounds++) {
        while (done < r->n * count && reqs[done].done)
            done++;
        if (done == r->n * count)
            return rounds;
        for (int i = 0; i < r->n; i++)
            wdl_proc_progress(r->one[i].proc);
        wdl_sim_advance(r->sim, 1);
    }
    wdl_assert(!"a collective hangs");
    return -1;
}

uint64_t ranks_sent(const struct ranks *r)
{
    return wdl_sim_counts(r->sim)->sent + wdl_sim_counts(r->sim)->puts;
}

struct wdl_coll_stats ranks_stats(const struct ranks *r)
{
    struct wdl_coll_stats sum = {0};
    for (int i = 0; i < r->n; i++) {
        const struct wdl_coll_stats *one = wdl_coll_stats(r->one[i].proc);
        sum.sent += one->sent;
        sum.put += one->put;
        sum.questions += one->questions;
        sum.copied_bytes += one->copied_bytes;
        sum.placed_bytes += one->placed_bytes;
    }
    return sum;
}

int ranks_spread_steps(int n)
{
    struct wdl_pattern_spread spread;
    wdl_pattern_spread(n, 1500001, 400001, &spread);
    return spread.steps;
}

/* All that can move at this instant; returns when something can move next. */
static uint64_t instant(struct ranks *r)
{
    uint64_t now = wdl_sim_now(r->sim), next = UINT64_MAX;
    int moved = 1;
    for (int tries = 0; moved; tries++) {
        wdl_assert_cmp(tries, <, 1000);
        moved = 0;
        next = UINT64_MAX;
        for (int i = 0; i < r->n; i++) {
            uint64_t at = wdl_sim_next(r->sim, i);
            if (at <= now) {
                wdl_proc_progress(r->one[i].proc);
                moved = 1;
            } else if (at < next) {
                next = at;
            }
        }
    }
    return next;
}

uint64_t ranks_timed(struct ranks *r, const struct wdl_coll_req *reqs)
{
    uint64_t began = wdl_sim_now(r->sim), last = began;
    int done = reqs ? 0 : r->n;
    for (;;) {
        uint64_t next = instant(r);
        for (; done < r->n && reqs[done].done; done++)
            last = wdl_sim_now(r->sim);
        if (next == UINT64_MAX)
            break;
        wdl_sim_advance(r->sim, next - wdl_sim_now(r->sim));
    }
    wdl_assert_cmp(done, ==, r->n);
    return last - began;
}

void ranks_drop(struct ranks *r, struct wdl_team **teams)
{
    for (int i = 0; i < r->n; i++)
        while (wdl_team_destroy(teams[i]) == WDL_AGAIN)
            ranks_step(r);
}

void ranks_compose(void *ctx, const void *left, void *inout, size_t count)
{
    const uint16_t *l = left;
    uint16_t *r = inout;
    (void) ctx;
    for (size_t i = 0; i < count; i++, l += 2, r += 2) {
        uint32_t k = l[0];
        uint16_t a = (uint16_t) (k * r[0]), b = (uint16_t) (k * r[1] + l[1]);
        r[0] = a;
        r[1] = b;
    }
}

void ranks_sum(void *ctx, const void *left, void *inout, size_t count)
{
    const uint32_t *l = left;
    uint32_t *r = inout;
    (void) ctx;
    for (size_t i = 0; i < count; i++)
        r[i] += l[i];
}
