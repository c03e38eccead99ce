/* Part of Windlass. See COPYRIGHT in the top-level directory. Ranks of one node (onenode.h). */
#include "mpid/coll/onenode.h"
#include <stdlib.h>
#include <string.h>
#include "support/must.h"

void onenode_open(struct onenode *o, int n, int peeks, size_t staging)
{
    struct wdl_sim_params sim = {.seed = 3, .ranks = n, .am_bytes_max = 1024};
    struct wdl_team_params params = {
        .id = 3, .board_bytes = ONENODE_BOARD, .staging_bytes = staging};
    struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER, .flags = WDL_COLL_MPI};
    memset(o, 0, sizeof(*o));
    ranks_open(&o->r, &sim);
    ranks_team_nodes(&o->r, &params, n, peeks, o->teams);
    for (int i = 0; i < n; i++) {
        o->src[i] = calloc(1, ONENODE_ROOM);
        o->dst[i] = calloc(1, ONENODE_ROOM);
        o->kept[i] = calloc(1, ONENODE_ROOM);
        o->got[i] = calloc(1, ONENODE_ROOM);
        must_cmp(wdl_coll_start(o->teams[i], &barrier, &o->reqs[i]), ==, WDL_OK);
    }
    ranks_finish(&o->r, o->reqs, 1); /* the team is open */
    onenode_settle(o);
}

void onenode_close(struct onenode *o)
{
    int n = o->r.n;
    ranks_drop(&o->r, o->teams);
    ranks_close(&o->r);
    for (int i = 0; i < n; i++) {
        free(o->src[i]);
        free(o->dst[i]);
        free(o->kept[i]);
        free(o->got[i]);
    }
}

void onenode_fill(struct onenode *o)
{
    for (int i = 0; i < o->r.n; i++) {
        char *memory = o->in_place ? o->dst[i] : o->src[i];
        memset(o->dst[i], 0, ONENODE_ROOM);
        for (size_t k = 0; k < ONENODE_ROOM; k += sizeof(uint64_t))
            *(uint64_t *) (void *) (memory + k) = wdl_prng_next(&o->r.prng);
        memcpy(o->kept[i], memory, ONENODE_ROOM);
    }
}

void onenode_begin(struct onenode *o, int i, const struct wdl_coll_args *args)
{
    struct wdl_coll_args mine = *args;
    mine.flags |= args->flags & WDL_COLL_OUT ? WDL_COLL_IN_MYSYNC | WDL_COLL_LOCAL : WDL_COLL_MPI;
    mine.algorithm = "node";
    mine.src = o->in_place ? o->dst[i] : o->src[i];
    mine.dst = o->dst[i];
    if (args->variable) {
        size_t (*l)[ONENODE_MAX] = o->lists[i];
        mine.src_blocks = (struct wdl_coll_blocks){l[0], l[1]};
        mine.dst_blocks = (struct wdl_coll_blocks){l[2], l[3]};
        mine.bytes = args->kind == WDL_COLL_SCATTER ? l[2][i] : l[0][i];
    }
    o->reqs[i].done = 0;
    must_cmp(wdl_coll_start(o->teams[i], &mine, &o->reqs[i]), ==, WDL_OK);
}

void onenode_settle(struct onenode *o)
{
    enum { TURNS = 300 };
    for (int k = 0; k < TURNS * o->r.n; k++)
        (void) ranks_step(&o->r);
}

static void finish(struct onenode *o)
{
    enum { SCRIBBLE = 0xc3, ROUNDS = 100000 };
    int left = o->r.n, rounds = 0;
    char seen[ONENODE_MAX] = {0};
    for (int i = 0; left; i = (i + 1) % o->r.n) {
        must_cmp(rounds++, <, ROUNDS);
        wdl_proc_progress(o->r.one[i].proc);
        if (seen[i] || !o->reqs[i].done)
            continue;
        seen[i] = 1;
        left--;
        memcpy(o->got[i], o->dst[i], ONENODE_ROOM);
        memset(o->src[i], SCRIBBLE, ONENODE_ROOM);
        memset(o->dst[i], SCRIBBLE, ONENODE_ROOM);
    }
    for (int i = 0; i < o->r.n; i++)
        memcpy(o->dst[i], o->got[i], ONENODE_ROOM);
}

void onenode_all(struct onenode *o, const struct wdl_coll_args *args)
{
    uint64_t sent = ranks_sent(&o->r);
    int first = (int) wdl_prng_below(&o->r.prng, (uint64_t) o->r.n);
    for (int k = 0; k < o->r.n; k++) {
        onenode_begin(o, (first + k) % o->r.n, args);
        (void) ranks_step(&o->r);
    }
    finish(o);
    for (int i = 0; i < o->r.n; i++)
        must_cmp(o->reqs[i].status, ==, WDL_OK);
    must_cmp(ranks_sent(&o->r), ==, sent);
}
