/* Part of Windlass. See COPYRIGHT in the top-level directory. Block-cyclic arrays. */
#include "mpid/coll/blockcyclic.h"
#include "base/assert.h"
#include "base/status.h"

#define PLACES_MAX ((int64_t) 1 << 62)

int wdl_cyclic_init(struct wdl_cyclic *layout, int ranks, int64_t blk, int64_t off, int64_t count)
{
    int64_t cycle, end;
    if (ranks < 1 || blk < 0 || off < 0 || count < 0 || (blk == 0 && off >= ranks))
        return WDL_ERR_ARG;
    if (blk == 0) {             /* one block for all, in row 0 */
        blk = count ? count : 1;
        if (__builtin_mul_overflow(off, blk, &off))
            return WDL_ERR_ARG;
    }
    if (__builtin_mul_overflow(blk, (int64_t) ranks, &cycle) || cycle > PLACES_MAX ||
        __builtin_add_overflow(off, count, &end) || end > PLACES_MAX)
        return WDL_ERR_ARG;
    *layout = (struct wdl_cyclic) {.ranks = ranks,.blk = blk,.off = off,.count = count };
    return WDL_OK;
}

/* How many of the array's first `index` elements are on the rank: also the place of the next one.
 */
static int64_t places_before(const struct wdl_cyclic *layout, int rank, int64_t index)
{
    int64_t cycle = layout->blk * layout->ranks;
    int64_t part = index % cycle - rank * layout->blk;
    if (part < 0)
        part = 0;
    if (part > layout->blk)
        part = layout->blk;
    return index / cycle * layout->blk + part;
}

/* The array's index of a place on the rank. */
static int64_t index_of(const struct wdl_cyclic *layout, int rank, int64_t place)
{
    return (place / layout->blk * layout->ranks + rank) * layout->blk + place % layout->blk;
}

int wdl_cyclic_rank(const struct wdl_cyclic *layout, int64_t g)
{
    wdl_assert(g >= 0 && g < layout->count);
    return (int) ((g + layout->off) / layout->blk % layout->ranks);
}

int64_t wdl_cyclic_place(const struct wdl_cyclic *layout, int64_t g)
{
    wdl_assert(g >= 0 && g < layout->count);
    int64_t index = g + layout->off;
    return index / layout->blk / layout->ranks * layout->blk + index % layout->blk;
}

int64_t wdl_cyclic_before(const struct wdl_cyclic *layout, int rank, int64_t g)
{
    wdl_assert(g >= 0 && g <= layout->count);
    return places_before(layout, rank, layout->off + g) - places_before(layout, rank, layout->off);
}

int64_t wdl_cyclic_local(const struct wdl_cyclic *layout, int rank, int64_t *place_out)
{
    wdl_assert(rank >= 0 && rank < layout->ranks);
    *place_out = places_before(layout, rank, layout->off);
    return wdl_cyclic_before(layout, rank, layout->count);
}

int64_t wdl_cyclic_element(const struct wdl_cyclic *layout, int rank, int64_t i)
{
    int64_t first, local = wdl_cyclic_local(layout, rank, &first);
    wdl_assert(i >= 0 && i < local);
    return index_of(layout, rank, first + i) - layout->off;
}

void wdl_cyclic_walk(struct wdl_cyclic_walk *walk, const struct wdl_cyclic *from,
                     const struct wdl_cyclic *to, enum wdl_cyclic_side side, int rank)
{
    int64_t place;
    wdl_assert_cmp(from->ranks, ==, to->ranks);
    wdl_assert_cmp(from->count, ==, to->count);
    *walk = (struct wdl_cyclic_walk) {.from = from,.to = to,.rank = rank,
        .at_from = side == WDL_CYCLIC_FROM
    };
    walk->local = wdl_cyclic_local(walk->at_from ? from : to, rank, &place);
}

/* Elements from g to the end of its block. */
static int64_t block_rest(const struct wdl_cyclic *layout, int64_t g)
{
    return layout->blk - (g + layout->off) % layout->blk;
}

int wdl_cyclic_next(struct wdl_cyclic_walk *walk, struct wdl_cyclic_run *run_out)
{
    const struct wdl_cyclic *from = walk->from, *to = walk->to;
    int64_t left = walk->local - walk->next;
    if (left == 0)
        return 0;
    int64_t g = wdl_cyclic_element(walk->at_from ? from : to, walk->rank, walk->next);
    int64_t a = block_rest(from, g), b = block_rest(to, g), count = a < b ? a : b;
    *run_out = (struct wdl_cyclic_run) {.g = g,.count = count < left ? count : left,
        .from = wdl_cyclic_rank(from, g),.to = wdl_cyclic_rank(to, g),
        .from_place = wdl_cyclic_place(from, g),.to_place = wdl_cyclic_place(to, g)
    };
    walk->next += run_out->count;
    return 1;
}
