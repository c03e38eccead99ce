/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Exchange: Bruck's (ceil(log2 P) messages a rank, each of half the blocks) for small blocks; for
 * larger ones every rank sends to rank + 1, rank + 2, ... so that each receives once in every
 * step.
 */
#include <string.h>
#include "mpid/coll/algo.h"

enum { SENDING = 8 }; /* ranks one sends to at a time, if all are known to be there */

/* Memory of a Bruck run: the blocks by distance, then a parcel out and one in per round. */
struct bruck {
    size_t m, blocks, parcels, parcel;
};

static struct bruck bruck_of(size_t m, int size)
{
    size_t all = ((size_t) size * m + 63) & ~(size_t) 63,
           parcel = (((size_t) size + 1) / 2 * m + 63) & ~(size_t) 63;
    return (struct bruck){m, 0, all, parcel};
}

/* The blocks whose distance still to go has bit k travel in round k. */
static int bruck_pack(struct wdl_run *run, int k)
{
    struct bruck s = bruck_of(run->args.bytes, run->team->size);
    char *out = run->tmp + s.parcels + (size_t) (2 * k) * s.parcel;
    for (int i = 0, d, n; (n = wdl_pattern_bruck_run(run->team->size, 2, k, 0, i, &d)) > 0; i++) {
        memcpy(out, run->tmp + (size_t) d * s.m, (size_t) n * s.m);
        out += (size_t) n * s.m;
    }
    return WDL_OK;
}

static int bruck_unpack(struct wdl_run *run, int k)
{
    struct bruck s = bruck_of(run->args.bytes, run->team->size);
    const char *in = run->tmp + s.parcels + (size_t) (2 * k + 1) * s.parcel;
    for (int i = 0, d, n; (n = wdl_pattern_bruck_run(run->team->size, 2, k, 0, i, &d)) > 0; i++) {
        memcpy(run->tmp + (size_t) d * s.m, in, (size_t) n * s.m);
        in += (size_t) n * s.m;
    }
    return WDL_OK;
}

/* Distance d: first what this rank sends that far up, in the end what came from that far below. */
static int bruck_first(struct wdl_run *run, int arg)
{
    size_t m = run->args.bytes;
    int size = run->team->size, rank = run->team->rank;
    (void) arg;
    for (int d = 0; d < size; d++)
        memcpy(run->tmp + (size_t) d * m,
               (const char *) run->args.src + (size_t) ((rank + d) % size) * m, m);
    return WDL_OK;
}

static int bruck_last(struct wdl_run *run, int arg)
{
    size_t m = run->args.bytes;
    int size = run->team->size, rank = run->team->rank;
    (void) arg;
    for (int d = 0; d < size; d++)
        memcpy((char *) run->args.dst + (size_t) ((rank - d + size) % size) * m,
               run->tmp + (size_t) d * m, m);
    return WDL_OK;
}

void wdl_exchange_bruck(struct wdl_build *b)
{
    struct bruck s = bruck_of(b->args->bytes, b->size);
    int rounds = wdl_log2_up(b->size);
    size_t tmp = wdl_build_tmp(b, s.parcels + (size_t) (2 * rounds) * s.parcel);
    wdl_assert_cmp(tmp, ==, 0);
    int done = wdl_build_call(b, bruck_first, 0, 1);
    for (int k = 0; k < rounds; k++) {
        struct wdl_pattern_step step;
        size_t bytes = (size_t) wdl_pattern_bruck(b->size, 2, b->rank, k, 0, &step) * s.m;
        size_t out = s.parcels + (size_t) (2 * k) * s.parcel;
        int pack = wdl_build_call(b, bruck_pack, k, 0),
            unpack = wdl_build_call(b, bruck_unpack, k, 0);
        wdl_build_order(b, done, pack);
        int send = wdl_edge_send(b, WDL_PHASE_DATA, step.to, k, k, wdl_tmp(out), bytes);
        wdl_build_order(b, pack, send);
        wdl_build_order(b, pack, unpack);
        int recv =
            wdl_edge_recv(b, WDL_PHASE_DATA, step.from, k, k, wdl_tmp(out + s.parcel), bytes);
        wdl_build_order(b, recv, unpack);
        done = unpack;
    }
    wdl_build_order(b, done, wdl_build_call(b, bruck_last, 0, 2));
}

int wdl_pair_send(struct wdl_build *b, int up, int d, struct wdl_loc from, size_t bytes)
{
    if (b->size < b->team->links)
        return wdl_edge_send(b, WDL_PHASE_DATA, up, d, d, from, bytes);
    int send = wdl_build_send(b, up, wdl_role_bare(b, d), from, bytes);
    if (wdl_ready_wanted_bare(b, bytes))
        wdl_ready_for(b, wdl_ready_recv(b, up, wdl_role_ready(b, WDL_PHASE_READY, d, d)), send, 0);
    return send;
}

int wdl_pair_recv(struct wdl_build *b, int down, int d, struct wdl_loc to, size_t bytes)
{
    if (b->size < b->team->links)
        return wdl_edge_recv(b, WDL_PHASE_DATA, down, d, d, to, bytes);
    if (wdl_ready_wanted_bare(b, bytes))
        wdl_ready_send(b, down, wdl_role_ready(b, WDL_PHASE_READY, d, d), to, bytes);
    return wdl_build_recv(b, down, wdl_role_bare(b, d), to, bytes);
}

void wdl_exchange_pairwise(struct wdl_build *b)
{
    const struct wdl_coll_args *args = b->args;
    int sends[SENDING];
    for (int i = 0; i < SENDING; i++)
        sends[i] = WDL_CAR_NONE;
    wdl_build_own(b, wdl_dst(wdl_block_at(args, &args->dst_blocks, b->rank)),
                  wdl_block_bytes(args, &args->dst_blocks, b->rank),
                  wdl_src(wdl_block_at(args, &args->src_blocks, b->rank)),
                  wdl_block_bytes(args, &args->src_blocks, b->rank));
    for (int d = 1; d < b->size; d++) {
        struct wdl_pattern_step step = wdl_pattern_pairwise(b->size, b->rank, d - 1);
        int up = step.to, down = step.from;
        size_t out = wdl_block_bytes(args, &args->src_blocks, up),
               in = wdl_block_bytes(args, &args->dst_blocks, down);
        struct wdl_loc from = wdl_src(wdl_block_at(args, &args->src_blocks, up));
        struct wdl_loc to = wdl_dst(wdl_block_at(args, &args->dst_blocks, down));
        if (!args->variable || out) {
            int send = wdl_pair_send(b, up, d, from, out);
            if (b->armed) { /* else nobody waits but for the rank it sends to */
                wdl_build_order(b, sends[d % SENDING], send);
                sends[d % SENDING] = send;
            }
        }
        if (!args->variable || in)
            (void) wdl_pair_recv(b, down, d, to, in);
    }
}
