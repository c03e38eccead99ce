/* Part of Windlass. See COPYRIGHT in the top-level directory. Dealing an array anew. */
#include "mpid/coll/gasnet_deal.h"
#include <string.h>

static int unit_first(const struct wdl_deal_side *side, int node)
{
    return side->first ? (int) side->first[node] : node;
}

static int node_of(const struct wdl_deal *deal, const struct wdl_deal_side *side, int unit)
{
    int lo = 0, hi = deal->size;
    if (!side->first)
        return unit;
    while (hi - lo > 1) {
        int mid = lo + (hi - lo) / 2;
        if (side->first[mid] <= (size_t) unit)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* --- a walk over what this node has on one side, in the order of elements --- */

struct piece {
    int unit; /* own, from 0 */
    int64_t g, place, count;
    int node; /* on the other side */
};

static int64_t block_rest(const struct wdl_cyclic *layout, int64_t g)
{
    return layout->blk - (g + layout->off) % layout->blk;
}

/* The element at a place of a unit, as wdl_cyclic_element has it. */
static int64_t element_at(const struct wdl_cyclic *layout, int unit, int64_t place)
{
    int64_t row = place / layout->blk;
    return (row * layout->ranks + unit) * layout->blk + (place - row * layout->blk) - layout->off;
}

static void walk_begin(struct wdl_deal *deal, const struct wdl_deal_side *own)
{
    int first = unit_first(own, deal->rank), end = unit_first(own, deal->rank + 1);
    deal->local = deal->next + (end - first);
    deal->place = deal->local + (end - first);
    for (int unit = 0; unit < end - first; unit++) {
        deal->next[unit] = 0;
        deal->local[unit] = wdl_cyclic_local(&own->layout, first + unit, &deal->place[unit]);
    }
    memset(deal->fill, 0, (size_t) deal->size * sizeof(deal->fill[0]));
}

static int walk_next(struct wdl_deal *deal, const struct wdl_deal_side *own,
                     const struct wdl_deal_side *other, struct piece *piece_out)
{
    int first = unit_first(own, deal->rank), end = unit_first(own, deal->rank + 1), best = -1;
    int64_t best_g = 0;
    for (int unit = 0; unit < end - first; unit++) {
        if (deal->next[unit] == deal->local[unit])
            continue;
        int64_t g = element_at(&own->layout, first + unit, deal->place[unit] + deal->next[unit]);
        if (best >= 0 && g > best_g)
            continue;
        best = unit;
        best_g = g;
    }
    if (best < 0)
        return 0;
    int64_t place = deal->place[best] + deal->next[best];
    int64_t left = deal->local[best] - deal->next[best];
    int64_t a = block_rest(&own->layout, best_g), b = block_rest(&other->layout, best_g);
    int64_t count = a < b ? a : b;
    count = count < left ? count : left;
    deal->next[best] += count;
    *piece_out = (struct piece){best, best_g, place, count,
                                node_of(deal, other, wdl_cyclic_rank(&other->layout, best_g))};
    return 1;
}

/* --- the plan --- */

size_t wdl_deal_words(int size, size_t units)
{
    return 5 * (size_t) size + 3 * units;
}

static void parcels(struct wdl_deal *deal, const struct wdl_deal_side *own,
                    const struct wdl_deal_side *other, int64_t *counts, int64_t *at)
{
    struct piece piece;
    int64_t sum = 0;
    walk_begin(deal, own);
    while (walk_next(deal, own, other, &piece))
        counts[piece.node] += piece.count;
    for (int i = 0; i < deal->size; i++) {
        at[i] = sum;
        sum += counts[i];
    }
}

static void deal_plan(struct wdl_deal *deal, int64_t *words)
{
    size_t n = (size_t) deal->size;
    deal->out = words;
    deal->out_at = words + n;
    deal->in = words + 2 * n;
    deal->in_at = words + 3 * n;
    deal->fill = words + 4 * n;
    deal->next = words + 5 * n;
    parcels(deal, &deal->from, &deal->to, deal->out, deal->out_at);
    parcels(deal, &deal->to, &deal->from, deal->in, deal->in_at);
    wdl_assert_cmp(deal->out[deal->rank], ==, deal->in[deal->rank]);
}

/* --- arrays of GASNet's calls --- */

int wdl_deal_side(struct wdl_deal_side *side, const struct wdl_gas_team *team,
                  const struct wdl_gas_array *array, void *const *list, void **room, size_t count,
                  int flags)
{
    size_t at = flags & WDL_COLL_SINGLE ? team->first[team->rank] : 0;
    int units = list ? (int) wdl_gas_images(team) : team->size;
    room[0] = array->base;
    if (list)
        memcpy(room, list + at, wdl_gas_images_of(team, team->rank) * sizeof(room[0]));
    side->first = list ? team->first : NULL;
    side->list = room;
    return wdl_cyclic_init(&side->layout, units, (int64_t) array->blk, (int64_t) array->offset,
                           (int64_t) count);
}

enum wdl_gas_error wdl_deal_error(const struct wdl_gas_team *team, const struct wdl_deal_side *side,
                                  size_t bytes, size_t elem, int flags, int in_segment)
{
    int first = unit_first(side, team->rank), end = unit_first(side, team->rank + 1);
    for (int unit = first; unit < end; unit++) {
        const char *base = side->list[unit - first];
        int64_t place, local = wdl_cyclic_local(&side->layout, unit, &place);
        if (local == 0)
            continue;
        if (wdl_gas_misaligned(base, elem, flags))
            return WDL_GAS_ERR_ALIGNMENT;
        if (in_segment &&
            wdl_gas_outside(team, base + (size_t) place * bytes, (size_t) local * bytes))
            return WDL_GAS_ERR_SEGMENT;
    }
    return WDL_GAS_FINE;
}

void wdl_deal_init(struct wdl_gas_op *op, enum wdl_deal_which which, struct wdl_deal *deal,
                   size_t bytes, int64_t *words)
{
    op->deals[which] = deal;
    deal->bytes = bytes;
    deal->rank = op->team->rank;
    deal->size = op->team->size;
    deal_plan(deal, words);
}

/* --- the work --- */

static char *address(const struct wdl_deal *deal, const struct wdl_deal_side *side, int unit,
                     int64_t place, char *tmp)
{
    int64_t skip;
    if (side->list)
        return (char *) side->list[unit] + (size_t) place * deal->bytes;
    (void) wdl_cyclic_local(&side->layout, deal->rank, &skip);
    return tmp + side->tmp + (size_t) (place - skip) * deal->bytes;
}

static void deal_pack(struct wdl_deal *deal, char *tmp)
{
    struct piece piece;
    walk_begin(deal, &deal->from);
    while (walk_next(deal, &deal->from, &deal->to, &piece)) {
        int64_t at = deal->out_at[piece.node] + deal->fill[piece.node];
        memcpy(tmp + deal->out_tmp + (size_t) at * deal->bytes,
               address(deal, &deal->from, piece.unit, piece.place, tmp),
               (size_t) piece.count * deal->bytes);
        deal->fill[piece.node] += piece.count;
    }
}

/* What stays here is in the parcel that went out. */
static void deal_unpack(struct wdl_deal *deal, char *tmp)
{
    struct piece piece;
    walk_begin(deal, &deal->to);
    while (walk_next(deal, &deal->to, &deal->from, &piece)) {
        int own = piece.node == deal->rank;
        int64_t at = (own ? deal->out_at : deal->in_at)[piece.node] + deal->fill[piece.node];
        int64_t left = deal->leave_first && piece.g == 0;
        memcpy(address(deal, &deal->to, piece.unit, piece.place + left, tmp),
               tmp + (own ? deal->out_tmp : deal->in_tmp) + (size_t) (at + left) * deal->bytes,
               (size_t) (piece.count - left) * deal->bytes);
        deal->fill[piece.node] += piece.count;
    }
}

static size_t total(const struct wdl_deal *deal, const int64_t *counts, const int64_t *at)
{
    int last = deal->size - 1;
    return (size_t) (at[last] + counts[last]) * deal->bytes;
}

static struct wdl_deal *deal_of(const struct wdl_coll_args *args, int which)
{
    return ((const struct wdl_gas_op *) args->local)->deals[which];
}

static int do_pack(struct wdl_run *run, int which)
{
    deal_pack(deal_of(&run->args, which), run->tmp);
    return WDL_OK;
}

static int do_unpack(struct wdl_run *run, int which)
{
    deal_unpack(deal_of(&run->args, which), run->tmp);
    return WDL_OK;
}

int wdl_deal_build(struct wdl_build *b, enum wdl_deal_which which, enum wdl_phase ready, int bare,
                   int after)
{
    struct wdl_deal *deal = deal_of(b->args, which);
    deal->out_tmp = wdl_build_tmp(b, total(deal, deal->out, deal->out_at));
    deal->in_tmp = wdl_build_tmp(b, total(deal, deal->in, deal->in_at));
    int packed = wdl_build_call(b, do_pack, which, deal->from.list ? 1 : 0);
    int unpacked = wdl_build_call(b, do_unpack, which, deal->to.list ? 2 : 0);
    wdl_build_order(b, after, packed);
    wdl_build_order(b, packed, unpacked);
    for (int d = 1; d < b->size; d++) {
        int up = (b->rank + d) % b->size, down = (b->rank - d + b->size) % b->size;
        uint32_t role = wdl_role_bare(b, bare + d);
        if (deal->in[down]) {
            struct wdl_loc to = wdl_tmp(deal->in_tmp + (size_t) deal->in_at[down] * deal->bytes);
            wdl_build_order(
                b, wdl_build_recv(b, down, role, to, (size_t) deal->in[down] * deal->bytes),
                unpacked);
            if (!b->armed)
                wdl_build_send(b, down, wdl_role_ready(b, ready, bare + d, d), wdl_nowhere(), 0);
        }
        if (deal->out[up]) {
            struct wdl_loc from = wdl_tmp(deal->out_tmp + (size_t) deal->out_at[up] * deal->bytes);
            int send = wdl_build_send(b, up, role, from, (size_t) deal->out[up] * deal->bytes);
            wdl_build_order(b, packed, send);
            if (!b->armed)
                wdl_build_order(b,
                                wdl_build_recv(b, up, wdl_role_ready(b, ready, bare + d, d),
                                               wdl_nowhere(), 0),
                                send);
        }
    }
    return unpacked;
}
