/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Reduce and scatter: every rank sends each other its block of the vector and folds what comes for
 * itself, from the highest rank to the lowest: the order is kept, and no byte travels twice.
 */
#include "mpid/coll/algo.h"

static int block_send(struct wdl_build *b, int d)
{
    const struct wdl_coll_args *args = b->args;
    int up = wdl_pattern_pairwise(b->size, b->rank, d - 1).to;
    size_t bytes = wdl_block_bytes(args, &args->src_blocks, up);
    struct wdl_loc from = wdl_src(wdl_block_at(args, &args->src_blocks, up));
    if (args->variable && !bytes)
        return WDL_CAR_NONE;
    return wdl_pair_send(b, up, d, from, bytes);
}

/* What `from` has for us. */
static int block_get(struct wdl_build *b, int from, struct wdl_loc to)
{
    const struct wdl_coll_args *args = b->args;
    if (args->variable && !args->bytes)
        return WDL_CAR_NONE;
    if (from != b->rank)
        return wdl_pair_recv(b, from, wdl_ring_distance(b, from, b->rank), to, args->bytes);
    return wdl_build_copy(b, to, wdl_src(wdl_block_at(args, &args->src_blocks, from)),
                          args->bytes);
}

void wdl_reduce_scatter_pairwise(struct wdl_build *b)
{
    size_t m = b->args->bytes;
    struct wdl_loc come = wdl_tmp(wdl_build_tmp(b, (size_t) b->size * m)); /* by rank */
    struct wdl_loc sum = wdl_loc_at(come, (size_t) (b->size - 1) * m);
    int done = block_get(b, b->size - 1, sum);
    for (int r = b->size - 2; r >= 0; r--) {
        struct wdl_loc left = wdl_loc_at(come, (size_t) r * m);
        int fold = wdl_build_reduce(b, left, sum, m);
        wdl_build_stream(b, done, 0, fold, 0, m);
        wdl_build_stream(b, block_get(b, r, left), 0, fold, 0, m);
        done = fold;
    }
    int end = wdl_build_copy(b, wdl_dst(0), sum, m);
    wdl_build_stream(b, done, 0, end, 0, m);
    for (int d = 1; d < b->size; d++) /* in place, the result lies where others' blocks do */
        wdl_build_order(b, block_send(b, d), end);
}
