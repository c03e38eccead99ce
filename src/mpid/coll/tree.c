/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Rooted trees. All of it rests on one question: a head with n ranks to serve, itself included,
 * has children of which sizes (struct split)? Places follow: the first child has the far end of
 * the run, the last one stands beside its parent.
 */
#include "mpid/coll/tree.h"
#include "base/assert.h"

/* The children's sizes of a head that serves n ranks, one after another. */
struct split {
    const struct wdl_tree_shape *shape;
    int n;
    int sent;                   /* children so far */
    uint64_t deadline_ps;       /* optimal: all must be reached by then */
    int64_t spare;              /* optimal: how many more could be reached by then */
    int weight;                 /* k-nomial: size of a full child on this level */
    int full, part;             /* k-nomial: full children left on this level; size of the other */
};

/* The children of a head as runs of places, from the far ends of the two sides inwards. */
struct layout {
    struct split split;
    int lo, hi;                 /* what is left on both sides: [lo, at) and (at, hi) */
    int at;                     /* the head */
    int both;                   /* a head in the middle; else at == lo */
};

/* C(a + b, b), or something not less than `limit`: whole at each step, and never falling. */
static unsigned __int128 choose(uint64_t a, uint64_t b, unsigned __int128 limit)
{
    uint64_t more = a > b ? a : b, less = a > b ? b : a;
    unsigned __int128 term = 1;
    for (uint64_t i = 1; i <= less && term < limit; i++)
        term = term * (more + i) / i;
    return term;
}

/* How many have so many links above them, whose places among their parents' children add up to
 * `steps` or less, each below `most`; counted up to `limit`. Where some links may have `most` and
 * more, those ways are left out; they are below 2^96 where the rest is no more than twice as many
 * as there can be ranks (shape_check). */
static int64_t at_depth(uint64_t depth, uint64_t steps, uint64_t most, int64_t limit)
{
    const unsigned __int128 never = (unsigned __int128) 1 << 100;
    __int128 sum = 0, chosen = 1;
    if (steps < most) {
        sum = (__int128) choose(steps, depth, (unsigned __int128) limit);
    } else if (steps >= depth * (most - 1)) {
        for (sum = 1; depth > 0 && sum < limit; depth--)
            sum *= most;
    } else {
        for (uint64_t i = 0; i <= depth && i * most <= steps; i++) {
            unsigned __int128 term = choose(steps - i * most, depth, never);
            wdl_assert(term < never);
            sum += chosen * (__int128) term;
            chosen = -chosen * (__int128) (depth - i) / (__int128) (i + 1);
        }
    }
    return sum < limit ? (int64_t) sum : limit;
}

/* Ranks reached by `time`, counted up to `limit`. */
static int64_t reach(const struct wdl_tree_shape *shape, uint64_t time_ps, int64_t limit)
{
    uint64_t most = shape->most ? (uint64_t) shape->most : UINT64_MAX;
    int64_t sum = 0;
    for (uint64_t depth = 0; depth * shape->eel_ps <= time_ps && sum < limit; depth++) {
        uint64_t steps = (time_ps - depth * shape->eel_ps) / shape->gap_ps;
        sum += at_depth(depth, steps, most, limit - sum);
    }
    return sum;
}

/* More than an optimal tree reaches by its deadline: whoever is reached then hears from one that
 * was reached before, who reaches nobody else at that time. */
static int64_t enough(int n)
{
    return 2 * (int64_t) n;
}

/* The number of ranks at least doubles in every max(eel, gap), with log2 n children. */
static uint64_t longest(const struct wdl_tree_shape *shape, int n)
{
    uint64_t step = shape->eel_ps > shape->gap_ps ? shape->eel_ps : shape->gap_ps, sum = 0;
    for (int64_t have = 1; have < n; have *= 2)
        sum += step;
    return sum;
}

/* The least time in which an optimal tree reaches n ranks. */
static uint64_t optimal_time(const struct wdl_tree_shape *shape, int n)
{
    uint64_t low = 0, high = longest(shape, n);
    while (low < high) {
        uint64_t mid = low + (high - low) / 2;
        if (reach(shape, mid, n) >= n)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

static void split_level(struct split *split, int n)
{
    split->full = n / split->weight - 1;
    split->part = n % split->weight;
}

static void split_init(struct split *split, const struct wdl_tree_shape *shape, int n)
{
    *split = (struct split) {.shape = shape,.n = n,.weight = 1 };
    if (shape->kind == WDL_TREE_OPTIMAL) {
        split->deadline_ps = optimal_time(shape, n);
        split->spare = reach(shape, split->deadline_ps, enough(n)) - n;
    } else if (shape->kind == WDL_TREE_KNOMIAL) {
        while ((int64_t) split->weight * shape->arity < n)
            split->weight *= shape->arity;
        split_level(split, n);
    }
}

/* Child i serves whom it can reach by the deadline. Whom nobody needs are leaves that would be
 * reached at the deadline itself; they are left out of the first children that have some. */
static int split_optimal(struct split *split)
{
    const struct wdl_tree_shape *shape = split->shape;
    uint64_t arrival = shape->eel_ps + (uint64_t) split->sent * shape->gap_ps;
    if (arrival > split->deadline_ps || (shape->most && split->sent == shape->most))
        return 0;
    uint64_t rest = split->deadline_ps - arrival;
    int64_t size = reach(shape, rest, enough(split->n));
    int64_t last = size - (rest ? reach(shape, rest - 1, enough(split->n)) : 0);
    int64_t less = last < split->spare ? last : split->spare;
    split->spare -= less;
    return (int) (size - less);
}

/* A level of weight w splits a run of up to arity * w ranks: the head keeps w for the levels
 * below. */
static int split_knomial(struct split *split)
{
    for (;;) {
        if (split->full > 0) {
            split->full--;
            return split->weight;
        }
        int part = split->part;
        split->part = 0;
        if (part)
            return part;
        if (split->weight == 1)
            return 0;
        int n = split->weight;
        split->weight /= split->shape->arity;
        split_level(split, n);
    }
}

/* The next child's size; 0: no more. */
static int split_next(struct split *split)
{
    int size = 0, n = split->n;
    switch (split->shape->kind) {
        case WDL_TREE_OPTIMAL:
            size = split_optimal(split);
            break;
        case WDL_TREE_KNOMIAL:
            size = split_knomial(split);
            break;
        case WDL_TREE_BINARY:
            size = split->sent == 0 ? n / 2 : split->sent == 1 ? (n - 1) / 2 : 0;
            break;
        case WDL_TREE_FLAT:
            size = split->sent < n - 1;
            break;
        case WDL_TREE_KIND_COUNT:
            wdl_assert(!"a kind of tree");
    }
    split->sent++;
    return size;
}

/* The next child of a head in the middle: the side that lacks most gets it, whole or in part. What
 * is left when the split has ended goes to one more child a side. */
static int layout_next_both(struct layout *lay, int *first_out)
{
    int left = lay->at - lay->lo, right = lay->hi - lay->at - 1;
    int need = left > right ? left : right;
    if (need == 0)
        return 0;
    int size = lay->split.shape->kind == WDL_TREE_BINARY ? need : split_next(&lay->split);
    if (size == 0 || size > need)
        size = need;
    if (left > right) {
        *first_out = lay->lo;
        lay->lo += size;
    } else {
        lay->hi -= size;
        *first_out = lay->hi;
    }
    return size;
}

static int layout_next(struct layout *lay, int *first_out)
{
    if (lay->both)
        return layout_next_both(lay, first_out);
    int size = split_next(&lay->split);
    lay->hi -= size;
    *first_out = lay->hi;
    wdl_assert_cmp(lay->hi, >, lay->lo);
    return size;
}

/* Does the split in hand serve both sides by its deadline? */
static int layout_fits(struct layout lay)
{
    int first, sent = 0;
    while (layout_next_both(&lay, &first) > 0)
        sent++;
    const struct wdl_tree_shape *shape = lay.split.shape;
    uint64_t last = shape->eel_ps + (uint64_t) (sent - 1) * shape->gap_ps;
    return last <= lay.split.deadline_ps && (!shape->most || sent <= shape->most);
}

/* Two sides may need more time than one run as long as both: the first that is found to do. */
static void layout_stretch(struct layout *lay)
{
    const struct wdl_tree_shape *shape = lay->split.shape;
    uint64_t low = lay->split.deadline_ps, high = low + longest(shape, lay->split.n);
    lay->split.spare = 0;
    while (low < high) {
        lay->split.deadline_ps = low + (high - low) / 2;
        if (layout_fits(*lay))
            high = lay->split.deadline_ps;
        else
            low = lay->split.deadline_ps + 1;
    }
    lay->split.deadline_ps = low;
}

static void layout_init(struct layout *lay, const struct wdl_tree_shape *shape, int first, int size,
                        int at)
{
    lay->lo = first;
    lay->hi = first + size;
    lay->at = at;
    lay->both = at != first;
    split_init(&lay->split, shape, size);
    if (lay->both && shape->kind == WDL_TREE_OPTIMAL)
        layout_stretch(lay);
}

static void shape_check(const struct wdl_tree_shape *shape, int root)
{
    wdl_assert_cmp(shape->ranks, >=, 1);
    wdl_assert(root >= 0 && root < shape->ranks);
    wdl_assert(shape->eel_ps > 0 && shape->eel_ps < (uint64_t) 1 << 50);
    wdl_assert(shape->gap_ps > 0 && shape->gap_ps < (uint64_t) 1 << 50);
    wdl_assert(shape->kind != WDL_TREE_KNOMIAL || shape->arity >= 2);
    wdl_assert(shape->most == 0 || shape->most >= 31 || shape->ranks <= 1 << shape->most);
}

static struct wdl_tree_shape shape_of(enum wdl_tree_kind kind, int ranks, uint64_t eel_ps,
                                      uint64_t gap_ps)
{
    return (struct wdl_tree_shape) {.kind = kind,.ranks = ranks,.eel_ps = eel_ps,.gap_ps = gap_ps };
}

struct wdl_tree_shape wdl_tree_optimal(int ranks, uint64_t eel_ps, uint64_t gap_ps)
{
    return shape_of(WDL_TREE_OPTIMAL, ranks, eel_ps, gap_ps);
}

struct wdl_tree_shape wdl_tree_binary(int ranks, uint64_t eel_ps, uint64_t gap_ps)
{
    return shape_of(WDL_TREE_BINARY, ranks, eel_ps, gap_ps);
}

struct wdl_tree_shape wdl_tree_flat(int ranks, uint64_t eel_ps, uint64_t gap_ps)
{
    return shape_of(WDL_TREE_FLAT, ranks, eel_ps, gap_ps);
}

struct wdl_tree_shape wdl_tree_knomial(int ranks, int arity, uint64_t eel_ps, uint64_t gap_ps)
{
    struct wdl_tree_shape shape = shape_of(WDL_TREE_KNOMIAL, ranks, eel_ps, gap_ps);
    shape.arity = arity;
    return shape;
}

/* Places are ranks in an ordered tree, distances from the root in the others. */
static int rank_of(const struct wdl_tree_shape *shape, int root, int place)
{
    return shape->ordered || place < shape->ranks - root ? place + (shape->ordered ? 0 : root)
        : place - (shape->ranks - root);
}

static int place_of(const struct wdl_tree_shape *shape, int root, int rank)
{
    if (shape->ordered)
        return rank;
    return rank >= root ? rank - root : rank + (shape->ranks - root);
}

/* The head's run in places; `at` is its place. */
static void layout_of(struct layout *lay, const struct wdl_tree_shape *shape, int root,
                      const struct wdl_tree_node *node)
{
    layout_init(lay, shape, place_of(shape, root, node->first), node->size,
                place_of(shape, root, node->rank));
}

void wdl_tree_find(const struct wdl_tree_shape *shape, int root, int rank,
                   struct wdl_tree_node *node_out)
{
    shape_check(shape, root);
    wdl_assert(rank >= 0 && rank < shape->ranks);
    int want = place_of(shape, root, rank), at = place_of(shape, root, root);
    int first = 0, size = shape->ranks, parent = -1, link = -1;
    struct layout lay;
    while (at != want) {
        int run = 0, length;
        layout_init(&lay, shape, first, size, at);
        for (link = 0; (length = layout_next(&lay, &run)) > 0; link++)
            if (want >= run && want < run + length)
                break;
        wdl_assert_cmp(length, >, 0);
        parent = at;
        at = first = run;
        size = length;
    }
    *node_out = (struct wdl_tree_node) {.rank = rank,.link = link,.size = size,
        .parent = parent < 0 ? -1 : rank_of(shape, root, parent),
        .first = rank_of(shape, root, first)
    };
    layout_init(&lay, shape, first, size, at);
    while (layout_next(&lay, &first) > 0)
        node_out->children++;
}

int wdl_tree_children(const struct wdl_tree_shape *shape, int root,
                      const struct wdl_tree_node *node, struct wdl_tree_child *children, int max)
{
    struct layout lay;
    int first, size;
    layout_of(&lay, shape, root, node);
    for (int i = 0; i < max && (size = layout_next(&lay, &first)) > 0; i++) {
        int rank = rank_of(shape, root, first);
        children[i] = (struct wdl_tree_child) {.rank = rank,.first = rank,.size = size };
    }
    return node->children;
}

/* A balanced binary tree has subtrees of two sizes on a level, n and n + 1: the times of both. */
static void binary_times(const struct wdl_tree_shape *shape, int n, uint64_t times_ps[2])
{
    if (n == 0) {
        times_ps[0] = times_ps[1] = 0;
        return;
    }
    int low = (n - 1) / 2;      /* sizes low and low + 1 are all that n and n + 1 split into */
    uint64_t below[2];
    binary_times(shape, low, below);
    for (int i = 0; i < 2; i++) {
        int more = (n + i) / 2, less = (n + i - 1) / 2;
        uint64_t far = more ? shape->eel_ps + below[more - low] : 0;
        uint64_t near = less ? shape->gap_ps + shape->eel_ps + below[less - low] : 0;
        times_ps[i] = far > near ? far : near;
    }
}

static uint64_t run_time(const struct wdl_tree_shape *shape, int n);

/* Among children of one size the last one is the latest; full ones differ from level to level
 * alone. */
static uint64_t knomial_time(const struct wdl_tree_shape *shape, int n)
{
    uint64_t full[32], latest = 0;      /* full[h]: of arity^h ranks */
    int height = 0;
    for (int64_t w = 1; w < n; w *= shape->arity, height++) {
        uint64_t sent = 0;
        full[height] = 0;
        for (int h = height - 1; h >= 0; h--) {
            sent += (uint64_t) (shape->arity - 1) * shape->gap_ps;
            uint64_t time = sent - shape->gap_ps + shape->eel_ps + full[h];
            full[height] = time > full[height] ? time : full[height];
        }
    }
    struct split split;
    split_init(&split, shape, n);
    for (uint64_t sent = 0;; sent += shape->gap_ps) {
        int size = split_next(&split), h = 0;
        int64_t w = 1;
        if (size == 0)
            return latest;
        for (; w < size; w *= shape->arity)
            h++;
        uint64_t time = sent + shape->eel_ps + (w == size ? full[h] : run_time(shape, size));
        latest = time > latest ? time : latest;
    }
}

/* A head at the beginning of its run of n ranks. */
static uint64_t run_time(const struct wdl_tree_shape *shape, int n)
{
    uint64_t times[2];
    if (n == 1)
        return 0;
    switch (shape->kind) {
        case WDL_TREE_OPTIMAL:
            return optimal_time(shape, n);
        case WDL_TREE_KNOMIAL:
            return knomial_time(shape, n);
        case WDL_TREE_BINARY:
            binary_times(shape, n, times);
            return times[0];
        case WDL_TREE_FLAT:
            return shape->eel_ps + (uint64_t) (n - 2) * shape->gap_ps;
        case WDL_TREE_KIND_COUNT:
            break;
    }
    wdl_assert(!"a kind of tree");
    return 0;
}

uint64_t wdl_tree_time_ps(const struct wdl_tree_shape *shape, int root)
{
    shape_check(shape, root);
    if (!shape->ordered || root == 0)
        return run_time(shape, shape->ranks);
    struct layout lay;
    uint64_t sent = 0, latest = 0;
    int first, size;
    layout_init(&lay, shape, 0, shape->ranks, root);
    for (; (size = layout_next(&lay, &first)) > 0; sent += shape->gap_ps) {
        uint64_t time = sent + shape->eel_ps + run_time(shape, size);
        latest = time > latest ? time : latest;
    }
    return latest;
}
