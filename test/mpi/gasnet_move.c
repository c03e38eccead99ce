/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Data movement of gasnet_coll.h against what each call says: every kind, basic and M, all nine
 * synchronization modes, SINGLE and LOCAL, every root, sizes around the engine's limits, blocking,
 * not blocking and aggregated, in teams; images 1, 2, 3, 1, ... of the nodes.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <gasnet_coll.h>
#include "alike.h"

enum { IMAGES_MAX = 3, PER_KIND = 2, KINDS = 5, TOGETHER = 4, LONGEST = 300000, APART = 128 };
enum kind { BROADCAST, SCATTER, GATHER, GATHER_ALL, EXCHANGE };

static const char *const kind_name[] = {"broadcast", "scatter", "gather", "gather_all", "exchange"};

static unsigned images_of(int node)
{
    return 1 + (unsigned) node % IMAGES_MAX;
}

/* A team as the tests see it. */
struct group {
    gasnet_team_handle_t team;
    int size, rank;
    unsigned images;
    int node[64]; /* rank -> node */
    unsigned first[65]; /* rank -> first image */
};

struct run { /* one operation */
    enum kind kind;
    int m; /* an address per image */
    unsigned root;
    size_t nbytes;
    int flags;
    unsigned stamp;
    int slot; /* of those at a time */
    char *src[IMAGES_MAX], *dst[IMAGES_MAX];
    void *src_list[64 * IMAGES_MAX], *dst_list[64 * IMAGES_MAX];
};

/* Byte k of the block that goes from unit `from` to unit `to` (0 where it is one for all). */
static char pattern(const struct run *r, unsigned from, unsigned to, size_t k)
{
    return (char) t_random(r->stamp + from * 977u + to, k);
}

static unsigned units(const struct run *r, const struct group *g)
{
    return r->m ? g->images : (unsigned) g->size;
}

static unsigned own_units(const struct run *r, const struct group *g)
{
    return r->m ? g->first[g->rank + 1] - g->first[g->rank] : 1;
}

static unsigned own_first(const struct run *r, const struct group *g)
{
    return r->m ? g->first[g->rank] : (unsigned) g->rank;
}

static int is_root(const struct run *r, const struct group *g)
{
    return r->root >= g->first[g->rank] && r->root < g->first[g->rank + 1];
}

/* Blocks of a source and of a destination. */
static unsigned src_blocks(const struct run *r, const struct group *g)
{
    return r->kind == SCATTER || r->kind == EXCHANGE ? units(r, g) : 1;
}

static unsigned dst_blocks(const struct run *r, const struct group *g)
{
    return r->kind == BROADCAST || r->kind == SCATTER ? 1 : units(r, g);
}

static char *memory; /* at one address on all nodes */

static size_t room(void)
{
    return (size_t) t_size * (IMAGES_MAX * LONGEST + APART);
}

/* Of an image of a rank: at the same place on all, but for what is listed. */
static char *place(const struct run *r, int dst, unsigned image, int rank)
{
    int listed = r->m && (dst ? r->kind != GATHER : r->kind >= GATHER);
    size_t slot = (size_t) (2 * r->slot + dst) * IMAGES_MAX + image;
    return memory + slot * room() + (size_t) (listed ? rank : 0) * APART;
}

static void list(struct run *r, const struct group *g, int rank, unsigned at)
{
    for (unsigned i = 0; i < (r->m ? g->first[rank + 1] - g->first[rank] : 1); i++) {
        r->src_list[at + i] = place(r, 0, i, rank);
        r->dst_list[at + i] = place(r, 1, i, rank);
    }
}

static void prepare(struct run *r, const struct group *g)
{
    int rooted_src = r->kind == BROADCAST || r->kind == SCATTER;
    unsigned first = own_first(r, g);
    for (unsigned i = 0; i < IMAGES_MAX; i++) {
        r->src[i] = place(r, 0, i, g->rank);
        r->dst[i] = place(r, 1, i, g->rank);
        memset(r->dst[i], 0x5a, dst_blocks(r, g) * r->nbytes);
        unsigned from = rooted_src ? 0 : first + i;
        for (unsigned to = 0; to < src_blocks(r, g); to++)
            for (size_t k = 0; k < r->nbytes; k++)
                r->src[i][to * r->nbytes + k] = pattern(r, from, to, k);
    }
    memset(r->src_list, 0, sizeof r->src_list);
    memset(r->dst_list, 0, sizeof r->dst_list);
    if (r->flags & GASNET_COLL_LOCAL)
        list(r, g, g->rank, 0);
    for (int rank = 0; rank < g->size && r->flags & GASNET_COLL_SINGLE; rank++)
        list(r, g, rank, r->m ? g->first[rank] : (unsigned) rank);
}

static gasnet_coll_handle_t start(struct run *r, const struct group *g)
{
    gasnet_team_handle_t t = g->team;
    void *src = r->src[0], *dst = r->dst[0];
    size_t n = r->nbytes;
    int f = r->flags;
    switch (r->kind) {
    case BROADCAST:
        return r->m ? gasnet_coll_broadcastM_nb(t, r->dst_list, r->root, src, n, f)
                    : gasnet_coll_broadcast_nb(t, dst, r->root, src, n, f);
    case SCATTER:
        return r->m ? gasnet_coll_scatterM_nb(t, r->dst_list, r->root, src, n, f)
                    : gasnet_coll_scatter_nb(t, dst, r->root, src, n, f);
    case GATHER:
        return r->m ? gasnet_coll_gatherM_nb(t, r->root, dst, r->src_list, n, f)
                    : gasnet_coll_gather_nb(t, r->root, dst, src, n, f);
    case GATHER_ALL:
        return r->m ? gasnet_coll_gather_allM_nb(t, r->dst_list, r->src_list, n, f)
                    : gasnet_coll_gather_all_nb(t, dst, src, n, f);
    default:
        return r->m ? gasnet_coll_exchangeM_nb(t, r->dst_list, r->src_list, n, f)
                    : gasnet_coll_exchange_nb(t, dst, src, n, f);
    }
}

static void run_blocking(struct run *r, const struct group *g)
{
    gasnet_team_handle_t t = g->team;
    void *src = r->src[0], *dst = r->dst[0];
    size_t n = r->nbytes;
    int f = r->flags;
    switch (r->kind) {
    case BROADCAST:
        r->m ? gasnet_coll_broadcastM(t, r->dst_list, r->root, src, n, f)
             : gasnet_coll_broadcast(t, dst, r->root, src, n, f);
        break;
    case SCATTER:
        r->m ? gasnet_coll_scatterM(t, r->dst_list, r->root, src, n, f)
             : gasnet_coll_scatter(t, dst, r->root, src, n, f);
        break;
    case GATHER:
        r->m ? gasnet_coll_gatherM(t, r->root, dst, r->src_list, n, f)
             : gasnet_coll_gather(t, r->root, dst, src, n, f);
        break;
    case GATHER_ALL:
        r->m ? gasnet_coll_gather_allM(t, r->dst_list, r->src_list, n, f)
             : gasnet_coll_gather_all(t, dst, src, n, f);
        break;
    default:
        r->m ? gasnet_coll_exchangeM(t, r->dst_list, r->src_list, n, f)
             : gasnet_coll_exchange(t, dst, src, n, f);
    }
}

static int has_dst(const struct run *r, const struct group *g)
{
    return r->kind != GATHER || is_root(r, g);
}

static void verify(const struct run *r, const struct group *g)
{
    unsigned own = r->kind == GATHER ? 1 : own_units(r, g), first = own_first(r, g);
    size_t wrong = 0;
    for (unsigned i = 0; i < own && has_dst(r, g); i++)
        for (unsigned b = 0; b < dst_blocks(r, g); b++)
            for (size_t k = 0; k < r->nbytes; k++) {
                unsigned from = r->kind == BROADCAST || r->kind == SCATTER ? 0 : b;
                unsigned to = r->kind == SCATTER || r->kind == EXCHANGE ? first + i : 0;
                wrong += r->dst[i][b * r->nbytes + k] != pattern(r, from, to, k);
            }
    t_check(wrong == 0, "%s%s of %zu bytes, root %u of %u, flags %x: %zu bytes are wrong",
            kind_name[r->kind], r->m ? "M" : "", r->nbytes, r->root, g->images, r->flags, wrong);
}

static unsigned stamps = 1000;

static struct run choose(const struct group *g, enum kind kind, int m, int mode, size_t nbytes)
{
    struct run r = {.kind = kind, .m = m, .nbytes = nbytes, .stamp = stamps};
    r.flags = GASNET_COLL_IN_NOSYNC << mode / 3 | GASNET_COLL_OUT_NOSYNC << mode % 3;
    r.flags |= stamps & 1 ? GASNET_COLL_SINGLE : GASNET_COLL_LOCAL;
    r.root = (unsigned) (t_random(5, stamps) % g->images);
    stamps += 131071;
    return r;
}

static size_t size_of(int which)
{
    static const size_t size[] = {1, 7, 64, 256, 257, 3000, 40000, LONGEST};
    return size[which % (int) (sizeof size / sizeof size[0])];
}

/* A verified operation of a mode weaker than OUT_MYSYNC is read after the barrier; one weaker than
 * IN_ALLSYNC has its memory ready in front of one. */
static void fence(const struct group *g)
{
    int result = gasnet_coll_barrier(g->team, 0, GASNET_BARRIERFLAG_ANONYMOUS);
    t_check(result == GASNET_OK, "barrier: %d", result);
}

static void alone(const struct group *g)
{
    int which = 0;
    for (int kind = 0; kind < KINDS; kind++)
        for (int m = 0; m < 2; m++)
            for (int mode = 0; mode < 9; mode++, which++) {
                struct run r = choose(g, (enum kind) kind, m, mode, size_of(which));
                prepare(&r, g);
                fence(g);
                if (which & 1) {
                    gasnet_coll_wait_sync(start(&r, g));
                } else {
                    run_blocking(&r, g);
                }
                if (mode % 3 == 0)
                    fence(g);
                verify(&r, g);
                fence(g);
            }
}

/* Several at a time, as handles or as one aggregate. */
static void together(const struct group *g, int aggregate)
{
    for (int round = 0; round < 30; round++) {
        struct run runs[TOGETHER];
        gasnet_coll_handle_t handles[TOGETHER];
        for (int i = 0; i < TOGETHER; i++) {
            unsigned x = (unsigned) (t_random(9, stamps) % 1000);
            int kind = aggregate && round % 2 ? round % KINDS : (int) x % KINDS;
            runs[i] = choose(g, (enum kind) kind, (int) (x / 5 % 2), (int) (x / 10 % 9),
                             size_of((int) x / 90));
            if (aggregate && i < TOGETHER - 1)
                runs[i].flags |= GASNET_COLL_AGGREGATE;
            runs[i].slot = i;
            prepare(&runs[i], g);
        }
        fence(g);
        for (int i = 0; i < TOGETHER; i++)
            handles[i] = start(&runs[i], g);
        if (aggregate) {
            gasnet_coll_wait_sync(handles[TOGETHER - 1]);
        } else if (round % 3 == 0) {
            for (int left = TOGETHER; left > 0; left--)
                gasnet_coll_wait_sync_some(handles, TOGETHER);
            gasnet_coll_wait_sync_all(handles, TOGETHER);
        } else if (round % 3 == 1) {
            while (gasnet_coll_try_sync_all(handles, TOGETHER) != GASNET_OK)
                ;
        } else {
            for (int i = TOGETHER - 1; i >= 0; i--)
                while (gasnet_coll_try_sync(handles[i]) != GASNET_OK)
                    ;
        }
        fence(g);
        for (int i = 0; i < TOGETHER; i++)
            verify(&runs[i], g);
    }
}

static void describe(struct group *g, gasnet_team_handle_t team)
{
    g->team = team;
    g->size = (int) gasnet_coll_team_size(team);
    g->rank = (int) gasnet_coll_team_rank(team);
    g->first[0] = 0;
    for (int i = 0; i < g->size; i++) {
        g->node[i] = (int) gasnet_coll_team_rank2node(team, (gasnet_node_t) i);
        g->first[i + 1] = g->first[i] + images_of(g->node[i]);
        t_check((int) gasnet_coll_team_node2rank(team, (gasnet_node_t) g->node[i]) == i,
                "node %d is not rank %d", g->node[i], i);
    }
    g->images = g->first[g->size];
    t_check(g->images == gasnet_coll_team_images(team), "images: %u", g->images);
}

static void barriers(const struct group *g)
{
    for (int i = 0; i < 20; i++) {
        int result;
        gasnet_coll_barrier_notify(g->team, i, 0);
        if (i & 1)
            result = gasnet_coll_barrier_wait(g->team, i, 0);
        else
            while ((result = gasnet_coll_barrier_try(g->team, i, 0)) == GASNET_ERR_NOT_READY)
                ;
        t_check(result == GASNET_OK, "barrier %d: %d", i, result);
    }
    for (int i = 0; i < 4; i++) { /* another id, another flag */
        int id = i & 1 ? 7 : 8, flags = i & 1 ? GASNET_BARRIERFLAG_ANONYMOUS : 0, result;
        gasnet_coll_barrier_notify(g->team, 7, 0);
        if (i & 2)
            result = gasnet_coll_barrier_wait(g->team, id, flags);
        else
            while ((result = gasnet_coll_barrier_try(g->team, id, flags)) == GASNET_ERR_NOT_READY)
                ;
        t_check(result == GASNET_ERR_BARRIER_MISMATCH, "ended as another, %d: %d", i, result);
    }
    int result = gasnet_coll_barrier(g->team, g->rank == 0, 0);
    t_check(result == (g->size > 1 ? GASNET_ERR_BARRIER_MISMATCH : GASNET_OK), "mismatch: %d",
            result);
    result = gasnet_coll_barrier(g->team, g->rank, g->rank ? GASNET_BARRIERFLAG_ANONYMOUS : 0);
    t_check(result == GASNET_OK, "one that is named: %d", result);
}

int main(int argc, char **argv)
{
    gasnet_image_t images[64];
    struct group world, half;
    t_begin(&argc, &argv);
    for (int i = 0; i < t_size && i < 64; i++)
        images[i] = images_of(i);
    gasnet_coll_init(images, 0, NULL, 0, 0);
    memory = t_alike(2 * TOGETHER * IMAGES_MAX * room());
    describe(&world, GASNET_TEAM_ALL);
    t_check(world.rank == t_rank && world.size == t_size, "a node is not a rank");
    barriers(&world);
    alone(&world);
    together(&world, 0);
    together(&world, 1);
    /* the last node first, some from 2^31 on; a team of one where there are three */
    unsigned color = (unsigned) t_rank % 2;
    gasnet_node_t relrank = 0x80000000u + (gasnet_node_t) (t_size / 2 - t_rank);
    gasnet_team_handle_t team = gasnet_coll_team_split(GASNET_TEAM_ALL, color, relrank, 0);
    describe(&half, team);
    t_check(half.size == (t_size + (color == 0)) / 2, "half of %d: %d", t_size, half.size);
    t_check(half.rank == (half.size - 1) - t_rank / 2, "rank %d of %d", half.rank, half.size);
    barriers(&half);
    together(&half, 0);
    together(&half, 1);
    together(&world, 1);
    gasnet_coll_team_free(team);
    return t_end();
}
