/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Reduce and scatter: every rank sends each other its block of the vector and folds what comes for
 * itself, from the highest rank to the lowest: the order is kept, and no byte travels twice.
 */
#include "mpid/coll/algo.h"

/* What rank r has for us, in the run's own memory. */
static struct wdl_loc come(size_t m, int r)
{
    return wdl_tmp((size_t) r * m);
}

static int block_send(struct wdl_build *b, int d)
{
    const struct wdl_coll_args *args = b->args;
    int up = (b->rank + d) % b->size;
    size_t bytes = wdl_block_bytes(args, &args->src_blocks, up);
    struct wdl_loc from = wdl_src(wdl_block_at(args, &args->src_blocks, up));
    if (args->variable && !bytes)
        return WDL_CAR_NONE;
    return wdl_pair_send(b, up, d, from, bytes);
}

static int block_get(struct wdl_build *b, int from)
{
    const struct wdl_coll_args *args = b->args;
    if (args->variable && !args->bytes)
        return WDL_CAR_NONE;
    if (from != b->rank)
        return wdl_pair_recv(b, from, wdl_ring_distance(b, from, b->rank), come(args->bytes, from),
                             args->bytes);
    return wdl_build_copy(b, come(args->bytes, from),
                          wdl_src(wdl_block_at(args, &args->src_blocks, from)), args->bytes);
}

void wdl_reduce_scatter_pairwise(struct wdl_build *b)
{
    size_t m = b->args->bytes;
    struct wdl_loc sum = come(m, b->size - 1);
    size_t tmp = wdl_build_tmp(b, (size_t) b->size * m);
    wdl_assert_cmp(tmp, ==, 0);
    int done = block_get(b, b->size - 1);
    for (int r = b->size - 2; r >= 0; r--) {
        int fold = wdl_build_reduce(b, come(m, r), sum, m);
        wdl_build_stream(b, done, 0, fold, 0, m);
        wdl_build_stream(b, block_get(b, r), 0, fold, 0, m);
        done = fold;
    }
    int end = wdl_build_copy(b, wdl_dst(0), sum, m);
    wdl_build_stream(b, done, 0, end, 0, m);
    for (int d = 1; d < b->size; d++) /* in place, the result lies where others' blocks do */
        wdl_build_order(b, block_send(b, d), end);
}
