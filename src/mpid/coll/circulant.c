/* Part of Windlass. See COPYRIGHT in the top-level directory. One rank's steps on a circulant
 * graph. */
#include "mpid/coll/circulant.h"
#include "mpid/coll/cost.h"

void wdl_circulant_find(struct wdl_build *b, struct wdl_circulant *circulant_out)
{
    struct wdl_circulant *c = circulant_out;
    struct wdl_cost cost = wdl_cost_of_build(b);
    c->blocks = wdl_cost_circulant_blocks(&cost);
    c->size = c->blocks > 1 ? b->size : b->span->one_size;
    wdl_pattern_circulant(c->size, wdl_ring_distance(b, b->root, b->rank), &c->pattern);
    c->steps = c->blocks - 1 + c->pattern.rounds;
    for (int k = 0; k < c->pattern.rounds; k++)
        c->go[k] = WDL_CAR_NONE;
    b->in_order = 1;
}

size_t wdl_circulant_at(const struct wdl_build *b, const struct wdl_circulant *c, int block)
{
    size_t unit = wdl_coll_reduces(b->args->kind) ? b->args->op.elem_bytes : 1;
    size_t n = (size_t) c->blocks, at = (size_t) block, count = b->args->bytes / unit;
    return (count / n * at + count % n * at / n) * unit;
}

/* The rank so far above; -1: it is the root, or the graph's alone. */
static int above(const struct wdl_build *b, const struct wdl_circulant *c, int skip)
{
    int64_t place = ((int64_t) wdl_ring_distance(b, b->root, b->rank) + skip) % c->size;
    return place == 0 || place >= b->size ? -1 : (int) ((b->root + place) % b->size);
}

struct wdl_circulant_step wdl_circulant_step(const struct wdl_build *b,
                                             const struct wdl_circulant *c, int i)
{
    const struct wdl_pattern_circulant *p = &c->pattern;
    int kind = wdl_pattern_circulant_kind(p, c->blocks, i);
    struct wdl_circulant_step s = {.kind = kind, .out = -1, .in = -1, .from = -1};
    s.to = above(b, c, p->skip[kind]);
    if (s.to >= 0)
        s.out = wdl_pattern_circulant_block(p, p->send, c->blocks, i);
    if (b->rank != b->root)
        s.in = wdl_pattern_circulant_block(p, p->recv, c->blocks, i);
    if (s.in >= 0) /* one block comes from a rank below, others from all sides */
        s.from = (b->rank - p->skip[kind] + b->size) % b->size;
    return s;
}

int wdl_circulant_first(const struct wdl_build *b, const struct wdl_circulant *c, int k,
                        enum wdl_circulant_way way, struct wdl_circulant_step *step_out)
{
    for (int i = k; i < c->steps; i += c->pattern.rounds) {
        *step_out = wdl_circulant_step(b, c, i);
        if ((way == WDL_CIRCULANT_IN ? step_out->in : step_out->out) >= 0)
            return 1;
    }
    return 0;
}
