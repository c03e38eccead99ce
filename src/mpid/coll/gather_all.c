/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Gather to all: Bruck's doubling (ceil(log2 P) messages a rank) for small blocks, a ring (P - 1
 * messages, each block flowing on while it comes) for large ones.
 */
#include "mpid/coll/algo.h"

/* Blocks are collected in the order rank, rank + 1, ...; round k gets those of the rank 2^k
 * above. */
int wdl_bruck_collect(struct wdl_build *b, enum wdl_phase phase, struct wdl_loc from, size_t bytes,
                      size_t behind, size_t *at_out)
{
    size_t m = bytes, tmp = wdl_build_tmp(b, (size_t) b->size * m + behind);
    int done = wdl_build_copy(b, wdl_tmp(tmp), from, m);
    struct wdl_pattern_step step;
    for (int k = 0; wdl_pattern_disseminate(b->size, 2, b->rank, k, 0, &step); k++) {
        size_t at = tmp + (size_t) wdl_ring_distance(b, b->rank, step.recv_first) * m;
        int send =
            wdl_edge_send(b, phase, step.to, k, k, wdl_tmp(tmp), (size_t) step.send_count * m);
        int recv =
            wdl_edge_recv(b, phase, step.from, k, k, wdl_tmp(at), (size_t) step.recv_count * m);
        int join = wdl_build_join(b);
        wdl_build_order(b, done, send);
        wdl_build_order(b, done, join);
        wdl_build_order(b, recv, join);
        done = join;
    }
    *at_out = tmp;
    return done;
}

void wdl_gather_all_bruck(struct wdl_build *b)
{
    size_t m = b->args->bytes, all = (size_t) b->size * m, tmp;
    int done = wdl_bruck_collect(b, WDL_PHASE_DATA, wdl_src(0), m, 0, &tmp);
    size_t head = (size_t) (b->size - b->rank) * m;
    wdl_build_order(b, done, wdl_build_copy(b, wdl_dst((size_t) b->rank * m), wdl_tmp(tmp), head));
    if (all > head)
        wdl_build_order(b, done, wdl_build_copy(b, wdl_dst(0), wdl_tmp(tmp + head), all - head));
}

/* Step j gets the block of rank - j - 1 from the left and sends it to the right in step j + 1. */
void wdl_gather_all_ring(struct wdl_build *b)
{
    const struct wdl_coll_args *args = b->args;
    const struct wdl_coll_blocks *blocks = &args->dst_blocks;
    int size = b->size, right = (b->rank + 1) % size, left = (b->rank - 1 + size) % size;
    int go = WDL_CAR_NONE;
    int have = wdl_build_own(b, wdl_dst(wdl_block_at(args, blocks, b->rank)),
                             wdl_block_bytes(args, blocks, b->rank), wdl_src(0), args->bytes);
    if (size == 1)
        return;
    /* blocks of different sizes may be elsewhere on every rank: one address would not do */
    size_t all = args->variable ? 0 : (size_t) size * args->bytes;
    if (wdl_ready_wanted_bare(b, args->variable ? 0 : args->bytes)) {
        wdl_ready_send(b, left, wdl_role(b, WDL_PHASE_READY, 0), wdl_dst(0), all);
        go = wdl_ready_recv(b, right, wdl_role(b, WDL_PHASE_READY, 0));
    }
    for (int j = 0; j < size - 1; j++) {
        struct wdl_pattern_step step = wdl_pattern_ring(size, b->rank, j);
        int out = step.send_first, in = step.recv_first;
        size_t bytes = wdl_block_bytes(args, blocks, out);
        int send = wdl_build_send(b, right, wdl_role_bare(b, j),
                                  wdl_dst(wdl_block_at(args, blocks, out)), bytes);
        wdl_ready_for(b, go, send, wdl_block_at(args, blocks, out));
        wdl_build_stream(b, have, 0, send, 0, have == WDL_CAR_NONE ? 0 : b->cars[have].bytes);
        have = wdl_build_recv(b, left, wdl_role_bare(b, j), wdl_dst(wdl_block_at(args, blocks, in)),
                              wdl_block_bytes(args, blocks, in));
    }
}
