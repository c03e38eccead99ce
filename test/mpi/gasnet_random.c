/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * gasnet_random [SEED [ROUNDS]]: a random program of gasnet_coll.h. Every round draws a team, a
 * call or an aggregate of some, synchronization, scope, where memory is, sizes, and whether it is
 * waited for. Many are under way, and each node synchronizes them in an order and a way of its own.
 *
 * A mode is taken at its word. Before a node calls, its source is rubbish and its destination must
 * be untouched, but with IN_NOSYNC, where all is ready behind a barrier. A node looks at all of its
 * memory, and spoils it, as soon as it may: with OUT_MYSYNC when its handle is done, with
 * OUT_ALLSYNC when it hears that another node's is, with OUT_NOSYNC behind a barrier.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <gasnet.h>
#include <sched.h>
#include <unistd.h>
#include "alike.h"

enum { SLOTS = 12, TOGETHER = 4, TEAMS = 4, ROUNDS = 100, RANKS = 16, IMAGES = 3 };
enum {
    UNITS = RANKS * IMAGES,
    ROOM = 400000,
    GUARD = 64,
    ASIDE = 4096,
    RUBBISH = 0x33,
    SPOILT = 0x77
};
/* Of memory: the segment; other memory that is at one address everywhere; malloc's; a window's. */
enum place { SEGMENT, ALIKE, HEAP, WINDOW, PLACES };
enum side { SRC, DST };
#define SLOT_AT(slot, side) ((2 * (size_t) (slot) + (side)) * ROOM)
#define ARENA (SLOT_AT(SLOTS, 0) + (size_t) RANKS * ASIDE)

enum kind {
    BROADCAST,
    SCATTER,
    GATHER,
    GATHER_ALL,
    EXCHANGE,
    PERMUTE,
    REDUCE,
    REDUCE_ALL,
    SCAN,
    SORT, /* to here there are M forms of units that are images */
    PUT,
    GET,
    SCATTERV,
    GATHERV,
    GATHER_ALLV,
    EXCHANGEV,
    KINDS
};
static const char *const kind_name[] = {"broadcast", "scatter", "gather",      "gather_all",
                                        "exchange",  "permute", "reduce",      "reduce_all",
                                        "scan",      "sort",    "put",         "get",
                                        "scatterv",  "gatherv", "gather_allv", "exchangev"};

static struct group { /* a team as this node sees it */
    gasnet_team_handle_t team;
    int size, rank, node[RANKS], notified;
    size_t first[RANKS + 1]; /* image of each rank */
    uint64_t barriers;
} groups[TEAMS];

static char *base[PLACES][RANKS];
static gasnet_image_t images[RANKS];
static MPI_Win win;

struct deal { /* of an array to units */
    size_t blk, off;
};

struct lists { /* what calls name by reference */
    void *address[2][2 * UNITS];
    gasnet_node_t nodes[2 * RANKS], partners[RANKS];
    gasnet_image_t perm[UNITS];
    size_t sizes[RANKS], offset[2][RANKS];
};

enum state { DONE, STARTED, SYNCHRONIZED /* and nobody may look yet */ };

static struct op {
    uint64_t id, drawn, stamp;
    enum state state;
    int slot, kind, m, flags, in, out; /* in, out: of the whole aggregate */
    int fenced, early, spoilt, teller;
    int said[2], listed[2], unaligned; /* said: by all, of a segment */
    struct group *g;
    size_t root_image, units, own, own_first, n, count, each[2];
    int root; /* rank */
    size_t vector; /* of so many elements of n bytes; 0: an array of `count` elements */
    struct deal deal[2];
    int fn, same, spread, many, everybody;
    char *at[2], *want, *kept;
    size_t bytes[2];
    struct lists *lists;
    size_t come[RANKS];
    gasnet_coll_handle_t handle;
    struct op *last; /* of its aggregate */
    MPI_Request told[RANKS];
} ops[SLOTS];

static uint64_t ops_drawn;

/* The same for all of a team. */
static size_t draw(struct op *o, size_t below)
{
    return (size_t) (t_any(o->id << 20 | o->drawn++) % below);
}

static uint64_t of_pair(const struct op *o, int from, int to)
{
    return t_random(o->stamp ^ 0x1234567, (uint64_t) from << 20 | (uint64_t) to);
}

/* --- what is given ---------------------------------------------------------------------------- */

/* Bytes from `at` on of what a unit has at its source. */
static void given(const struct op *o, size_t unit, size_t at, size_t bytes, char *out)
{
    for (size_t k = at, end = at + bytes; k < end;) {
        uint64_t word = t_random(o->stamp, (uint64_t) unit << 40 | k / 8);
        size_t now = 8 - k % 8 < end - k ? 8 - k % 8 : end - k;
        memcpy(out, (const char *) &word + k % 8, now);
        out += now;
        k += now;
    }
}

static size_t stride(size_t each)
{
    return ((each + 15) & ~(size_t) 15) + GUARD;
}

static int is_rooted(const struct op *o, enum side side)
{
    return side == SRC ? o->kind == BROADCAST || o->kind == SCATTER || o->kind == SCATTERV
                       : o->kind == GATHER || o->kind == GATHERV || o->kind == REDUCE;
}

static int rank_of(const struct op *o, size_t unit)
{
    int rank = 0;
    while (o->m && o->g->first[rank + 1] <= unit)
        rank++;
    return o->m ? rank : (int) unit;
}

static size_t unit_of(const struct op *o, int rank)
{
    return o->m ? o->g->first[rank] : (size_t) rank;
}

static int is_alike(const struct op *o, enum side side)
{
    return (o->flags & GASNET_COLL_SINGLE) && !o->listed[side];
}

/* The beginning of what a rank of the team has for this. */
static char *memory_of(const struct op *o, enum side side, int rank)
{
    if (o->same)
        side = SRC;
    uint64_t dice = of_pair(o, is_alike(o, side) ? 1000 : rank, 2000 + (int) side);
    enum place place =
        o->said[side] ? SEGMENT : (enum place)(dice % (is_alike(o, side) ? 2 : PLACES));
    size_t skew = dice / 64 % 64;
    if (o->kind >= REDUCE && o->kind <= SORT && !o->unaligned)
        skew &= ~(size_t) 7;
    return base[place][o->g->node[rank]] + SLOT_AT(o->slot, side) + GUARD + skew;
}

static char *address(const struct op *o, enum side side, size_t unit)
{
    int rank = rank_of(o, unit);
    return memory_of(o, side, rank) + (unit - unit_of(o, rank)) * stride(o->each[side]);
}

static int in_segment(const struct op *o, enum side side)
{
    return o->at[side] >= base[SEGMENT][t_rank] && o->at[side] < base[SEGMENT][t_rank] + ARENA;
}

/* --- what must come --------------------------------------------------------------------------- */

static char *want_at(const struct op *o, size_t unit, size_t at)
{
    size_t k = unit - o->own_first;
    return unit < o->own_first || k >= o->own ? NULL
                                              : o->want + GUARD + k * stride(o->each[DST]) + at;
}

static void expect(const struct op *o, size_t to, size_t to_at, size_t from, size_t from_at,
                   size_t bytes)
{
    char *at = want_at(o, to, to_at);
    if (at)
        given(o, from, from_at, bytes, at);
}

static void perm_of(const struct op *o, gasnet_image_t *perm)
{
    for (size_t u = 0; u < o->units; u++)
        perm[u] = (gasnet_image_t) u;
    for (size_t u = o->units - 1; u > 0; u--) {
        size_t v = of_pair(o, (int) u, 3000) % (u + 1);
        gasnet_image_t swap = perm[u];
        perm[u] = perm[v];
        perm[v] = swap;
    }
}

static void expect_moves(const struct op *o)
{
    gasnet_image_t perm[UNITS];
    size_t n = o->n, root = unit_of(o, o->root);
    perm_of(o, perm);
    for (size_t u = 0; u < o->units; u++) {
        if (o->kind == BROADCAST)
            expect(o, u, 0, root, 0, n);
        else if (o->kind == SCATTER)
            expect(o, u, 0, root, u * n, n);
        else if (o->kind == GATHER)
            expect(o, root, u * n, u, 0, n);
        else if (o->kind == PERMUTE)
            expect(o, perm[u], 0, u, 0, n);
        for (size_t v = 0; v < o->units && (o->kind == GATHER_ALL || o->kind == EXCHANGE); v++)
            expect(o, u, v * n, v, o->kind == EXCHANGE ? u * n : 0, n);
    }
}

/* Blocks that i has for j (get: wants of it). */
static size_t blocks_of(const struct op *o, int i, int j)
{
    if (!o->many)
        return of_pair(o, i, 4000) % (uint64_t) o->g->size == (uint64_t) j;
    uint64_t dice = of_pair(o, i, j);
    return o->everybody ? 1 + dice % 2 : dice % 4 < 2 ? 0 : dice % 4 - 1;
}

/* How many are in front of them: with i, and with j. */
static size_t blocks_before(const struct op *o, int i, int j, int with_j)
{
    size_t before = 0;
    for (int k = 0; k < (with_j ? i : j); k++)
        before += with_j ? blocks_of(o, k, j) : blocks_of(o, i, k);
    return before;
}

static void expect_puts(const struct op *o)
{
    for (int i = 0; i < o->g->size; i++)
        for (int j = 0; j < o->g->size; j++) {
            size_t bytes = blocks_of(o, i, j) * o->n, here = blocks_before(o, i, j, 0) * o->n;
            size_t there = blocks_before(o, i, j, 1) * o->n;
            if (o->kind == PUT)
                expect(o, (size_t) j, there, (size_t) i, here, bytes);
            else
                expect(o, (size_t) i, here, (size_t) j, there, bytes);
        }
}

/* Of the block from i to j; where a node has but one it is its own. */
static size_t length_of(const struct op *o, int i, int j)
{
    if (o->kind == SCATTERV)
        i = 0;
    else if (o->kind != EXCHANGEV)
        j = 0;
    uint64_t dice = of_pair(o, i, j);
    return dice % 4 == 0 ? 0 : dice / 4 % (o->n + 1);
}

/* Where it begins: at i, among those to all (0 where there is but one), or at j. */
static size_t begin_of(const struct op *o, int i, int j, enum side side)
{
    size_t at = 0;
    if (side == SRC)
        for (int k = 0; k < j && (o->kind == SCATTERV || o->kind == EXCHANGEV); k++)
            at += length_of(o, i, k) + (o->spread ? 3 : 0);
    else
        for (int k = 0; k < i && o->kind != SCATTERV; k++)
            at += length_of(o, k, j) + (o->spread ? 5 : 0);
    return at;
}

static void expect_various(const struct op *o)
{
    for (int i = 0; i < o->g->size; i++)
        for (int j = 0; j < o->g->size; j++)
            if ((o->kind != SCATTERV || i == o->root) && (o->kind != GATHERV || j == o->root))
                expect(o, (size_t) j, begin_of(o, i, j, DST), (size_t) i, begin_of(o, i, j, SRC),
                       length_of(o, i, j));
}

/* --- computing: functions, arrays ------------------------------------------------------------- */

/* x -> a x + b, of pairs of words; the others are of bytes */
enum { COMPOSE, SUM, SERIAL, MIDDLE, FNS };

static void apply(int which, char *out, const char *left, const char *right, size_t bytes)
{
    for (size_t i = 0; which == COMPOSE && i < bytes; i += 8) {
        uint32_t x[2], y[2];
        memcpy(x, left + i, 8);
        memcpy(y, right + i, 8);
        y[1] += y[0] * x[1];
        y[0] *= x[0];
        memcpy(out + i, y, 8);
    }
    for (size_t i = 0; which != COMPOSE && i < bytes; i++) {
        unsigned x = (unsigned char) left[i], y = (unsigned char) right[i];
        out[i] = (char) (which == SUM ? x + y : which == SERIAL ? x * 31 + y : (x + y) * 3);
    }
}

static void fn(void *results, size_t result_count, const void *left, size_t left_count,
               const void *right, size_t elem_size, int flags, int arg);
static gasnet_coll_fn_entry_t table[FNS] = {{fn, GASNET_COLL_NONCOMM | GASNET_COLL_AMSAFE},
                                            {fn, 0},
                                            {fn, GASNET_COLL_NONCOMM | GASNET_COLL_NONASSOC},
                                            {fn, GASNET_COLL_NONASSOC}};

static void fn(void *results, size_t result_count, const void *left, size_t left_count,
               const void *right, size_t elem_size, int flags, int arg)
{
    t_check(result_count == left_count && (unsigned) flags == table[arg & 3].flags,
            "a function is called with %zu, %zu, flags %x, %d", result_count, left_count, flags,
            arg);
    apply(arg & 3, results, left, right, result_count * elem_size);
}

static int by_byte(const void *a, const void *b)
{
    return memcmp(a, b, 1);
}

static int by_word(const void *a, const void *b)
{
    return memcmp(a, b, 4);
}

/* An array's elements, or vectors, one a unit, in bytes. */
static size_t elements(const struct op *o)
{
    return o->vector ? o->units : o->count;
}

static size_t width(const struct op *o)
{
    return o->vector ? o->vector * o->n : o->n;
}

static void where(const struct op *o, enum side side, size_t g, size_t *unit, size_t *at)
{
    const struct deal *d = &o->deal[side];
    size_t index = g + d->off, block = d->blk ? index / d->blk : 0;
    *unit = d->blk ? block % o->units : d->off;
    *at = (d->blk ? block / o->units * d->blk + index % d->blk : g) * width(o);
}

static void element(const struct op *o, size_t g, char *out)
{
    given(o, UNITS, g * width(o), width(o), out);
    if (o->kind == SORT && o->fn == SUM)
        out[0] &= 3; /* many are equal */
}

static char *sorted; /* qsort's comparison knows no more */
static size_t sorted_width, sorted_key;

static int by_key_and_place(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
    int order = memcmp(sorted + x * sorted_width, sorted + y * sorted_width, sorted_key);
    return order ? order : x < y ? -1 : x > y;
}

static void expect_sorted(const struct op *o, char *all)
{
    size_t count = o->count, unit, at;
    uint32_t *order = t_alloc(count * sizeof *order);
    sorted = all;
    sorted_width = o->n;
    sorted_key = o->fn == SUM ? 1 : 4;
    for (size_t g = 0; g < count; g++)
        order[g] = (uint32_t) g;
    qsort(order, count, sizeof *order, by_key_and_place);
    for (size_t g = 0; g < count; g++) {
        where(o, DST, g, &unit, &at);
        char *to = want_at(o, unit, at);
        if (to)
            memcpy(to, all + order[g] * o->n, o->n);
    }
    free(order);
}

static void expect_computed(const struct op *o)
{
    size_t count = elements(o), w = width(o), unit, at;
    char *all = t_alloc(count * w), *sum = t_alloc(w);
    for (size_t g = 0; g < count; g++)
        element(o, g, all + g * w);
    memcpy(sum, all, w);
    for (size_t g = 0; g < count && o->kind != SORT; g++) {
        where(o, DST, g, &unit, &at);
        char *to = o->kind == SCAN ? want_at(o, unit, at) : NULL;
        int exclusive = (o->flags & GASNET_COLL_SCAN_EXCLUSIVE) != 0;
        if (to && exclusive && g)
            memcpy(to, sum, w);
        if (g)
            apply(o->fn, sum, sum, all + g * w, w);
        if (to && !exclusive)
            memcpy(to, sum, w);
    }
    if (o->kind == SORT)
        expect_sorted(o, all);
    if (o->kind == REDUCE_ALL || (o->kind == REDUCE && o->root == o->g->rank))
        memcpy(want_at(o, o->own_first, 0), sum, w);
    free(all);
    free(sum);
}

/* --- drawing an operation --------------------------------------------------------------------- */

static size_t size_drawn(struct op *o, size_t most)
{
    static const size_t limits[] = {16, 16, 16, 300, 300, 4000, 40000, 200000};
    size_t limit = limits[draw(o, 8)], size = draw(o, 8) ? 1 + draw(o, limit) : 8;
    return size < most ? size : most;
}

static size_t places(const struct op *o, const struct deal *d)
{
    if (o->vector)
        return 1;
    return d->blk ? ((elements(o) + d->off) / (d->blk * o->units) + 1) * d->blk : elements(o);
}

static void array_draw(struct op *o)
{
    static const size_t blocks[] = {0, 1, 2, 3, 7, 60};
    size_t most = (ROOM - 20000) / IMAGES;
    o->fn = (int) draw(o, FNS);
    o->n = 1 + draw(o, 24);
    if ((o->kind == SORT && o->n < 4) || draw(o, 2))
        o->n = 4 << draw(o, 2);
    if (o->kind != SORT && o->fn == COMPOSE)
        o->n = 8 * (1 + draw(o, 2));
    o->count = size_drawn(o, (o->kind == SORT ? most / 2 : most / 4) / o->n);
    for (int side = 0; side < 2; side++) {
        o->deal[side].blk = blocks[draw(o, 6)];
        o->deal[side].off =
            draw(o, o->deal[side].blk ? 2 * o->deal[side].blk * o->units : o->units);
    }
    if (draw(o, 2))
        o->deal[DST] = o->deal[SRC];
    if (o->kind != SORT && draw(o, 3) == 0) {
        o->vector = size_drawn(o, most / o->n);
        o->deal[SRC] = o->deal[DST] = (struct deal){1, 0};
        o->flags |= GASNET_COLL_ELEMENTWISE;
    }
    if ((o->unaligned = draw(o, 3) == 0))
        o->flags |= GASNET_COLL_UNALIGNED;
    if (o->kind == SCAN && draw(o, 2))
        o->flags |= GASNET_COLL_SCAN_EXCLUSIVE;
    o->same = o->kind >= SCAN && o->deal[SRC].blk == o->deal[DST].blk &&
              o->deal[SRC].off == o->deal[DST].off && draw(o, 2);
    o->each[SRC] = places(o, &o->deal[SRC]) * width(o);
    o->each[DST] = o->kind >= SCAN ? places(o, &o->deal[DST]) * width(o) : width(o);
}

static void sizes_draw(struct op *o)
{
    size_t u = o->units, blocks = 1, gap = 0, most;
    if (o->kind == PUT || o->kind == GET)
        blocks = 2 * u;
    else if (o->kind >= SCATTERV) {
        blocks = u;
        gap = 5 * u;
    } else if (o->kind >= SCATTER && o->kind <= EXCHANGE)
        blocks = u;
    most = ((ROOM - 1024 - gap) / (o->m ? IMAGES : 1) - 128) / blocks;
    o->n = size_drawn(o, most);
    o->many = (int) draw(o, 2);
    o->everybody = o->many && draw(o, 4) == 0;
    o->spread = (int) draw(o, 2);
    o->each[SRC] = (o->kind == GATHER || o->kind == GATHER_ALL ? 1 : blocks) * o->n + gap;
    o->each[DST] = (o->kind == SCATTER ? 1 : blocks) * o->n + gap;
}

static void op_draw(struct op *o, int slot, struct group *g)
{
    *o = (struct op){.id = ++ops_drawn, .slot = slot, .g = g, .teller = -1};
    o->stamp = t_any(o->id << 20 | 0xfffff);
    o->kind = (int) draw(o, KINDS);
    o->m = o->kind <= SORT && draw(o, 2);
    o->units = o->m ? g->first[g->size] : (size_t) g->size;
    o->own_first = unit_of(o, g->rank);
    o->own = o->m ? g->first[g->rank + 1] - g->first[g->rank] : 1;
    o->root_image = draw(o, g->first[g->size]);
    while (g->first[o->root + 1] <= o->root_image)
        o->root++;
    o->in = GASNET_COLL_IN_NOSYNC << draw(o, 3);
    o->out = GASNET_COLL_OUT_NOSYNC << draw(o, 3);
    o->flags =
        draw(o, 2) && o->kind != PUT && o->kind != GET ? GASNET_COLL_SINGLE : GASNET_COLL_LOCAL;
    o->flags |= o->in | o->out;
    if (o->kind >= REDUCE && o->kind <= SORT)
        array_draw(o);
    else
        sizes_draw(o);
    for (int side = 0; side < 2; side++) {
        int computed = o->kind == REDUCE || o->kind == REDUCE_ALL;
        o->listed[side] = o->m && !is_rooted(o, (enum side) side) && !(computed && side == DST);
        o->said[side] = draw(o, 3) == 0;
    }
    o->said[DST] |= o->same && o->said[SRC];
    o->said[SRC] |= o->same && o->said[DST];
    if (draw(o, 3) == 0)
        o->teller = (int) draw(o, (size_t) g->size);
}

/* Of a node of its own: LOCAL, and the memory happens to be there. */
static int own_flags(const struct op *o)
{
    static const int flag[2] = {GASNET_COLL_SRC_IN_SEGMENT, GASNET_COLL_DST_IN_SEGMENT};
    int flags = o->flags;
    for (int side = 0; side < 2; side++)
        if (o->said[side] || ((o->flags & GASNET_COLL_LOCAL) && o->kind != PUT && o->kind != GET &&
                              in_segment(o, (enum side) side) && t_below(2)))
            flags |= flag[side];
    return flags;
}

/* --- memory before and after ------------------------------------------------------------------ */

static char before(const struct op *o, size_t k)
{
    return (char) (o->stamp + k * 7 + k / 251);
}

static void say(const struct op *o, const char *what, size_t byte)
{
    t_fault("op %llu, %s%s, flags %x (%x), team of %d, root %zu, n %zu, count %zu, deals %zu+%zu "
            "%zu+%zu, fn %d: %s, byte %zu of %zu",
            (unsigned long long) o->id, kind_name[o->kind],
            o->m || (o->many && (o->kind == PUT || o->kind == GET)) ? "M" : "", (unsigned) o->flags,
            (unsigned) (o->in | o->out), o->g->size, o->root_image, o->n, o->count,
            o->deal[SRC].blk, o->deal[SRC].off, o->deal[DST].blk, o->deal[DST].off, o->fn, what,
            byte, strstr(what, "source") ? o->bytes[SRC] : o->bytes[DST]);
}

static void compare(const struct op *o, enum side side, const char *want, const char *what)
{
    const char *got = o->at[side] - GUARD;
    if (memcmp(got, want, o->bytes[side]) == 0)
        return;
    for (size_t k = 0; k < o->bytes[side]; k++)
        if (got[k] != want[k]) {
            say(o, what, k);
            return;
        }
}

/* Nobody has written where he may not any more. */
static void check_spoilt(const struct op *o)
{
    for (int side = 0; side < 2 && o->spoilt; side++)
        for (size_t k = 0; k < o->bytes[side]; k++)
            if (o->at[side][k - GUARD] != (side == SRC ? RUBBISH : SPOILT) &&
                !(o->same && side == SRC)) {
                say(o, side == SRC ? "source written too late" : "written too late", k);
                break;
            }
}

/* Before the node calls, and before it is ready. */
static void memory_draw(struct op *o)
{
    for (int side = 0; side < 2; side++) {
        o->bytes[side] = o->own * stride(o->each[side]) + 2 * GUARD;
        o->at[side] = memory_of(o, (enum side) side, o->g->rank);
    }
    o->kept = t_alloc(o->bytes[SRC]);
    o->want = t_alloc(o->bytes[DST]);
    o->lists = t_alloc(sizeof *o->lists);
    memset(o->at[SRC] - GUARD, RUBBISH, o->bytes[SRC]);
    for (size_t k = 0; k < o->bytes[DST]; k++)
        o->want[k] = before(o, k);
    memcpy(o->at[DST] - GUARD, o->want, o->bytes[DST]);
}

static void ready(struct op *o)
{
    size_t unit, at, first = o->own_first;
    compare(o, DST, o->want, "written before the node has called");
    memset(o->kept, RUBBISH, o->bytes[SRC]);
    for (size_t i = 0; i < o->own; i++)
        given(o, first + i, 0, o->each[SRC], o->kept + GUARD + i * stride(o->each[SRC]));
    if (o->kind >= REDUCE && o->kind <= SORT)
        for (size_t g = 0; g < elements(o); g++) {
            where(o, SRC, g, &unit, &at);
            if (unit >= first && unit < first + o->own)
                element(o, g, o->kept + GUARD + (unit - first) * stride(o->each[SRC]) + at);
        }
    memcpy(o->at[SRC] - GUARD, o->kept, o->bytes[SRC]);
    if (o->same)
        memcpy(o->want, o->kept, o->bytes[DST]);
    if (o->kind >= REDUCE && o->kind <= SORT)
        expect_computed(o);
    else if (o->kind >= SCATTERV)
        expect_various(o);
    else if (o->kind >= PUT)
        expect_puts(o);
    else
        expect_moves(o);
}

/* What the node has, gets and gave, which are its own again. */
static void verify(struct op *o)
{
    compare(o, DST, o->want, "wrong");
    if (!o->same)
        compare(o, SRC, o->kept, "the source has changed");
    for (int i = 0; i < o->g->size && (o->kind == GATHER_ALLV || o->kind == EXCHANGEV); i++)
        if (o->come[i] != length_of(o, i, o->g->rank))
            say(o, "a wrong size", (size_t) i);
    memset(o->at[SRC] - GUARD, RUBBISH, o->bytes[SRC]);
    memset(o->at[DST] - GUARD, SPOILT, o->bytes[DST]);
    o->spoilt = 1;
    free(o->want);
    free(o->kept);
}

/* --- calling ---------------------------------------------------------------------------------- */

static void *nowhere(void)
{
    return (void *) (uintptr_t) 0x11;
}

/* An address as it is named in a call. */
static void *named(const struct op *o, enum side side)
{
    if (!is_rooted(o, side) || o->g->rank == o->root)
        return o->at[side];
    return o->flags & GASNET_COLL_SINGLE ? memory_of(o, side, o->root) : nowhere();
}

static void lists_fill(struct op *o, size_t *listed, size_t *partners)
{
    struct lists *l = o->lists;
    int p = o->g->size, me = o->g->rank, single = (o->flags & GASNET_COLL_SINGLE) != 0;
    memset(l, 0xa5, sizeof *l);
    if (o->m)
        for (int side = 0; side < 2; side++)
            for (size_t u = 0; u < o->units && o->listed[side]; u++)
                if (single || (u >= o->own_first && u < o->own_first + o->own))
                    l->address[side][single ? u : u - o->own_first] =
                        address(o, (enum side) side, u);
    if (o->kind == PERMUTE) {
        gasnet_image_t perm[UNITS];
        perm_of(o, perm);
        memcpy(l->perm, perm + (single ? 0 : o->own_first),
               (single ? o->units : o->own) * sizeof *perm);
    }
    *listed = *partners = 0;
    for (int j = 0; j < p && (o->kind == PUT || o->kind == GET); j++) {
        enum side far = o->kind == PUT ? DST : SRC;
        for (size_t k = 0; k < blocks_of(o, me, j); k++, ++*listed) {
            l->nodes[*listed] = (gasnet_node_t) j;
            l->address[!far][*listed] = o->at[!far] + *listed * o->n;
            l->address[far][*listed] =
                memory_of(o, far, j) + (blocks_before(o, me, j, 1) + k) * o->n;
        }
        if (blocks_of(o, j, me))
            l->partners[(*partners)++] = (gasnet_node_t) j;
    }
    for (int i = 0; i < p && o->kind >= SCATTERV; i++) {
        int at_root = me == o->root || single || o->kind > GATHERV;
        if (at_root || i == me)
            l->sizes[i] = o->kind == GATHERV    ? length_of(o, i, 0)
                          : o->kind == SCATTERV ? length_of(o, 0, i)
                                                : length_of(o, me, i);
        l->offset[SRC][i] = begin_of(o, me, i, SRC);
        l->offset[DST][i] = begin_of(o, i, me, DST);
        o->come[i] = single || (o->kind == GATHER_ALLV && i == me) ? length_of(o, i, me) : 12345;
    }
}

#define CALL(name, ...)                                       \
    (later ? gasnet_coll_##name##_nb(o->g->team, __VA_ARGS__) \
           : (gasnet_coll_##name(o->g->team, __VA_ARGS__), GASNET_COLL_INVALID_HANDLE))

static gasnet_coll_handle_t call_moves(struct op *o, int later, int f, void *dst, void *src)
{
    void **dl = o->lists->address[DST], **sl = o->lists->address[SRC];
    gasnet_image_t root = (gasnet_image_t) o->root_image, *perm = o->lists->perm;
    switch (o->kind) {
    case BROADCAST:
        return o->m ? CALL(broadcastM, dl, root, src, o->n, f)
                    : CALL(broadcast, dst, root, src, o->n, f);
    case SCATTER:
        return o->m ? CALL(scatterM, dl, root, src, o->n, f)
                    : CALL(scatter, dst, root, src, o->n, f);
    case GATHER:
        return o->m ? CALL(gatherM, root, dst, sl, o->n, f) : CALL(gather, root, dst, src, o->n, f);
    case GATHER_ALL:
        return o->m ? CALL(gather_allM, dl, sl, o->n, f) : CALL(gather_all, dst, src, o->n, f);
    case EXCHANGE:
        return o->m ? CALL(exchangeM, dl, sl, o->n, f) : CALL(exchange, dst, src, o->n, f);
    default:
        return o->m ? CALL(permuteM, dl, sl, perm, o->n, f)
                    : CALL(permute, dst, src, perm, o->n, f);
    }
}

static gasnet_coll_handle_t call_computing(struct op *o, int later, int f, void *dst, void *src)
{
    void **dl = o->lists->address[DST], **sl = o->lists->address[SRC];
    gasnet_image_t root = (gasnet_image_t) o->root_image;
    size_t sb = o->deal[SRC].blk, so = o->deal[SRC].off, db = o->deal[DST].blk,
           d = o->deal[DST].off;
    size_t n = o->n, count = o->vector ? o->vector : o->count, func = (size_t) o->fn;
    int arg = (int) (o->id << 2) | o->fn;
    if (o->vector)
        sb = db = 0;
    switch (o->kind) {
    case REDUCE:
        return o->m ? CALL(reduceM, root, dst, sl, sb, so, n, count, func, arg, f)
                    : CALL(reduce, root, dst, src, sb, so, n, count, func, arg, f);
    case REDUCE_ALL:
        return o->m ? CALL(reduce_allM, dst, sl, sb, so, n, count, func, arg, f)
                    : CALL(reduce_all, dst, src, sb, so, n, count, func, arg, f);
    case SCAN:
        return o->m ? CALL(scanM, dl, db, d, sl, sb, so, n, count, func, arg, f)
                    : CALL(scan, dst, db, d, src, sb, so, n, count, func, arg, f);
    default: {
        int (*order)(const void *, const void *) = o->fn == SUM ? by_byte : by_word;
        return o->m ? CALL(sortM, dl, db, d, sl, sb, so, n, count, order, f)
                    : CALL(sort, dst, db, d, src, sb, so, n, count, order, f);
    }
    }
}

static gasnet_coll_handle_t call(struct op *o, int later, int f)
{
    struct lists *l = o->lists;
    void *dst = named(o, DST), *src = named(o, SRC), **dl = l->address[DST], **sl = l->address[SRC];
    gasnet_image_t root = (gasnet_image_t) o->root_image;
    size_t listed, partners, *so = o->spread ? l->offset[SRC] : NULL;
    size_t *d = o->spread ? l->offset[DST] : NULL;
    lists_fill(o, &listed, &partners);
    const gasnet_node_t *from = o->everybody && of_pair(o, 0, 5000) % 2 ? NULL : l->partners;
    switch (o->kind) {
    case PUT:
        return o->many ? CALL(putM, l->nodes, dl, sl, listed, from, partners, o->n, f)
                       : CALL(put, l->nodes[0], dl[0], sl[0], from, partners, o->n, f);
    case GET:
        return o->many ? CALL(getM, dl, l->nodes, sl, listed, from, partners, o->n, f)
                       : CALL(get, dl[0], l->nodes[0], sl[0], from, partners, o->n, f);
    case SCATTERV:
        return CALL(scatterv, dst, root, src, so, l->sizes, f);
    case GATHERV:
        return CALL(gatherv, root, dst, d, src, l->sizes, f);
    case GATHER_ALLV:
        return CALL(gather_allv, dst, d, src, o->come, f);
    case EXCHANGEV:
        return CALL(exchangev, dst, d, o->come, src, so, l->sizes, f);
    default:
        return o->kind < REDUCE ? call_moves(o, later, f, dst, src)
                                : call_computing(o, later, f, dst, src);
    }
}

static void linger(void)
{
    uint64_t dice = t_below(16);
    if (dice < 4)
        for (volatile uint64_t i = t_below(3000); i > 0; i--)
            ;
    else if (dice == 4)
        usleep((useconds_t) t_below(200));
    else if (dice == 5)
        sched_yield();
    else if (dice == 6)
        gasnet_AMPoll();
}

/* --- synchronizing ---------------------------------------------------------------------------- */

static int tag_of(const struct op *o)
{
    return 100 + (int) (o->id % 30000);
}

static void op_done(struct op *o)
{
    int me = o->g->rank;
    memset(o->lists, 0x5a, sizeof *o->lists);
    free(o->lists);
    o->state = o->out == GASNET_COLL_OUT_NOSYNC ? SYNCHRONIZED : DONE;
    if (o->state == DONE && !o->early)
        verify(o);
    for (int i = 0; i < o->g->size && o->teller == me; i++)
        if (i != me)
            MPI_Isend(NULL, 0, MPI_BYTE, o->g->node[i], tag_of(o), MPI_COMM_WORLD, &o->told[i]);
}

static void all_done(struct op *last)
{
    for (int i = 0; i < SLOTS; i++)
        if (ops[i].last == last && ops[i].state == STARTED)
            op_done(&ops[i]);
}

/* Another node's handle is done: so is what this node has in it. */
static void hear(struct op *o)
{
    int there = 0;
    if (o->state != STARTED || o->early || o->teller < 0 || o->teller == o->g->rank)
        return;
    MPI_Test(&o->told[0], &there, MPI_STATUS_IGNORE);
    if (there) {
        verify(o);
        o->early = 1;
    }
}

static int running(struct op **list, gasnet_coll_handle_t *handles, int some)
{
    int n = 0;
    for (int i = 0; i < SLOTS; i++) {
        struct op *o = &ops[i];
        hear(o);
        if (o->state == STARTED && o->last == o && o->handle != GASNET_COLL_INVALID_HANDLE &&
            (!some || t_below(2))) {
            list[n] = o;
            handles[n++] = o->handle;
        }
        if (some && t_below(8) == 0) {
            list[n] = NULL;
            handles[n++] = GASNET_COLL_INVALID_HANDLE;
        }
    }
    return n;
}

/* Some way of synchronizing some handles; `wait`: it may wait, for any. */
static void synchronize(int wait, int some)
{
    struct op *list[2 * SLOTS];
    gasnet_coll_handle_t handles[2 * SLOTS];
    int n = running(list, handles, some), result = GASNET_OK, dead = 0, live = 0,
        way = (int) t_below(3);
    for (int i = 0; i < n; i++)
        live += list[i] != NULL;
    if (!live)
        return;
    if (way == 0 && wait)
        gasnet_coll_wait_sync_all(handles, (size_t) n);
    else if (way == 0)
        result = gasnet_coll_try_sync_all(handles, (size_t) n);
    else if (way == 1 && wait)
        gasnet_coll_wait_sync_some(handles, (size_t) n);
    else if (way == 1)
        result = gasnet_coll_try_sync_some(handles, (size_t) n);
    else {
        int k = (int) t_below((uint64_t) n);
        if (wait)
            gasnet_coll_wait_sync(handles[k]);
        else
            result = gasnet_coll_try_sync(handles[k]);
        if (result == GASNET_OK)
            handles[k] = GASNET_COLL_INVALID_HANDLE;
    }
    for (int i = 0; i < n; i++)
        if (list[i] && handles[i] == GASNET_COLL_INVALID_HANDLE) {
            all_done(list[i]);
            dead++;
        }
    t_check(result == GASNET_OK || result == GASNET_ERR_NOT_READY, "a result of %d", result);
    t_check(way != 0 || (result == GASNET_OK) == (dead == live), "all: %d of %d, %d", dead, live,
            result);
    t_check(way != 1 || (result == GASNET_OK) == (dead > 0), "some: %d of %d, %d", dead, live,
            result);
}

static void finish(struct op *o)
{
    while (o->state == STARTED) {
        linger();
        synchronize(t_below(4) == 0, t_below(4) != 0);
        if (o->state == STARTED && t_below(4) == 0) {
            hear(o);
            gasnet_coll_wait_sync(o->last->handle);
            all_done(o->last);
        }
    }
}

/* What one node tells others, or hears; nobody waits for it before all are through. */
static void told_wait(struct op *o)
{
    for (int i = 0; i < RANKS && o->teller >= 0; i++)
        MPI_Wait(&o->told[i], MPI_STATUS_IGNORE);
}

/* --- barriers --------------------------------------------------------------------------------- */

struct meeting {
    int id, flags, result, basic; /* basic: gasnet.h's, which are others than the team's */
};

/* What each says to a team's next barrier, and what comes of it. */
static struct meeting meeting(struct group *g)
{
    uint64_t k = t_any((uint64_t) 1 << 60 | (uint64_t) (g - groups) << 40 | g->barriers++);
    struct meeting own = {0};
    int id = 0, named = 0, mismatch = 0;
    for (int i = 0; i < g->size; i++) {
        uint64_t dice = t_random(k, (uint64_t) i);
        struct meeting his = {(int) (k % 1000), 0, 0, 0};
        if (k / 1000 % 4 == 0 && dice % 8 == 0)
            his.id++;
        if (dice / 8 % 4 == 0)
            his.flags = GASNET_BARRIERFLAG_ANONYMOUS;
        else if (k / 1000 % 16 == 0 && dice / 32 % 8 == 0)
            his.flags = GASNET_BARRIERFLAG_MISMATCH;
        if (his.flags == GASNET_BARRIERFLAG_MISMATCH)
            mismatch = 1;
        if (!his.flags) {
            mismatch |= named && id != his.id;
            named = 1;
            id = his.id;
        }
        if (i == g->rank)
            own = his;
    }
    own.basic = g == groups && k / 64000 % 2;
    own.result = mismatch ? GASNET_ERR_BARRIER_MISMATCH : GASNET_OK;
    return own;
}

static struct meeting now[TEAMS];

static void barrier_end(struct group *g)
{
    struct meeting *m = &now[g - groups];
    int result = GASNET_ERR_NOT_READY, basic = m->basic;
    linger();
    if (t_below(2))
        result = basic ? gasnet_barrier_wait(m->id, m->flags)
                       : gasnet_coll_barrier_wait(g->team, m->id, m->flags);
    while (result == GASNET_ERR_NOT_READY)
        result = basic ? gasnet_barrier_try(m->id, m->flags)
                       : gasnet_coll_barrier_try(g->team, m->id, m->flags);
    t_check(result == m->result, "barrier %llu of team %d: %d instead of %d",
            (unsigned long long) g->barriers, (int) (g - groups), result, m->result);
    g->notified = 0;
}

static void barrier_begin(struct group *g)
{
    if (g->notified)
        barrier_end(g);
    now[g - groups] = meeting(g);
    struct meeting *m = &now[g - groups];
    if (m->basic)
        gasnet_barrier_notify(m->id, m->flags);
    else
        gasnet_coll_barrier_notify(g->team, m->id, m->flags);
    g->notified = 1;
}

static void barrier(struct group *g)
{
    uint64_t dice = t_all_below(3);
    if (dice == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        return;
    }
    if (dice == 1 && !g->notified) {
        struct meeting m = meeting(g);
        int result = gasnet_coll_barrier(g->team, m.id, m.flags);
        t_check(result == m.result, "a barrier: %d instead of %d", result, m.result);
        return;
    }
    barrier_begin(g);
    barrier_end(g);
}

/* Behind it everyone may look at what OUT_NOSYNC has left open. */
static void fence(void)
{
    for (int i = 0; i < SLOTS; i++)
        if (ops[i].out == GASNET_COLL_OUT_NOSYNC && !ops[i].fenced)
            finish(&ops[i]);
    barrier(&groups[0]);
    for (int i = 0; i < SLOTS; i++)
        if (ops[i].out == GASNET_COLL_OUT_NOSYNC && !ops[i].fenced) {
            ops[i].fenced = 1;
            ops[i].state = DONE;
            verify(&ops[i]);
        }
}

/* --- a round ---------------------------------------------------------------------------------- */

/* All nodes let go of the operation that a slot had. */
static void slot_clear(struct op *o)
{
    if (!o->id)
        return;
    if (o->out == GASNET_COLL_OUT_NOSYNC && !o->fenced)
        fence();
    finish(o);
    told_wait(o);
    check_spoilt(o);
}

static void start(struct op *o, int later, int more)
{
    if (o->in != GASNET_COLL_IN_NOSYNC) {
        linger();
        ready(o);
    }
    linger();
    for (int i = 0; i < RANKS; i++)
        o->told[i] = MPI_REQUEST_NULL;
    if (o->out != GASNET_COLL_OUT_ALLSYNC)
        o->teller = -1;
    if (o->teller >= 0 && o->teller != o->g->rank)
        MPI_Irecv(NULL, 0, MPI_BYTE, o->g->node[o->teller], tag_of(o), MPI_COMM_WORLD, &o->told[0]);
    o->state = STARTED;
    o->handle = call(o, later, own_flags(o) | (more ? GASNET_COLL_AGGREGATE : 0));
    t_check(!more || o->handle == GASNET_COLL_INVALID_HANDLE,
            "a member of an aggregate has a handle");
    if (!more && o->handle == GASNET_COLL_INVALID_HANDLE)
        all_done(o);
}

/* One operation, or an aggregate, and maybe one of another team before that has ended. */
static void operate(void)
{
    struct op *o[TOGETHER + 1];
    int n = t_all_below(4) ? 1 : 2 + (int) t_all_below(TOGETHER - 1), at = (int) t_all_below(SLOTS);
    int team = (int) t_all_below(TEAMS), other = (team + 1 + (int) t_all_below(TEAMS - 1)) % TEAMS;
    int later = t_all_below(4) > 0, between = n > 1 ? (int) t_all_below(4) : 0,
        other_later = t_all_below(2) > 0;
    int step = t_all_below(2) ? 1 : 5, all = n + (between == 1), any = 0, in = 0, out = 0;
    for (int i = 0; i < all; i++)
        slot_clear(o[i] = &ops[(at + i * step) % SLOTS]);
    for (int i = 0; i < all; i++) {
        op_draw(o[i], (at + i * step) % SLOTS, &groups[i < n ? team : other]);
        o[i]->last = i < n ? o[n - 1] : o[i];
        in |= i < n ? o[i]->in : 0;
        out |= i < n ? o[i]->out : 0;
    }
    for (int i = 0; i < n; i++) { /* the strongest */
        o[i]->in = in >= GASNET_COLL_IN_ALLSYNC  ? GASNET_COLL_IN_ALLSYNC
                   : in >= GASNET_COLL_IN_MYSYNC ? GASNET_COLL_IN_MYSYNC
                                                 : GASNET_COLL_IN_NOSYNC;
        o[i]->out = out >= GASNET_COLL_OUT_ALLSYNC  ? GASNET_COLL_OUT_ALLSYNC
                    : out >= GASNET_COLL_OUT_MYSYNC ? GASNET_COLL_OUT_MYSYNC
                                                    : GASNET_COLL_OUT_NOSYNC;
    }
    for (int i = 0; i < all; i++) {
        memory_draw(o[i]);
        if (o[i]->in == GASNET_COLL_IN_NOSYNC) {
            ready(o[i]);
            any |= i < n ? 1 : 2;
        }
    }
    if (any)
        barrier(any == 1 ? &groups[team] : &groups[0]);
    for (int i = 0; i < n; i++) {
        start(o[i], later || i < n - 1, i < n - 1);
        if (i == 0 && between == 1)
            start(o[n], other_later, 0);
        if (i == 0 && between == 2)
            barrier(&groups[team]);
    }
}

/* --- others' calls in between ----------------------------------------------------------------- */

static MPI_Request mail[2];
static char letters[2][5000];
static int written;

static void mpi_between(void)
{
    int next = (t_rank + 1) % t_size, last = (t_rank + t_size - 1) % t_size,
        bytes = (int) t_all_below(5000);
    size_t aside = SLOT_AT(SLOTS, 0) + (size_t) t_rank * ASIDE, k = 1 + t_all_below(ASIDE);
    int64_t one = t_rank, sum;
    char out[ASIDE], in[ASIDE] = {0};
    memset(out, (int) t_below(256), sizeof out);
    switch (t_all_below(5)) {
    case 0:
        MPI_Allreduce(&one, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        t_check(sum == (int64_t) t_size * (t_size - 1) / 2, "MPI_Allreduce: %lld", (long long) sum);
        break;
    case 1: /* a letter that is on its way until the next one is written */
        MPI_Waitall(2, mail, MPI_STATUSES_IGNORE);
        memset(letters[0], t_rank, sizeof letters[0]);
        t_check(!written++ || letters[1][0] == last, "a letter of %d", letters[1][0]);
        letters[1][0] = (char) -1;
        MPI_Irecv(letters[1], bytes + 1, MPI_BYTE, last, 1, MPI_COMM_WORLD, &mail[0]);
        MPI_Isend(letters[0], bytes + 1, MPI_BYTE, next, 1, MPI_COMM_WORLD, &mail[1]);
        break;
    case 2:
        MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
        MPI_Put(out, (int) k, MPI_BYTE, next, (MPI_Aint) aside, (int) k, MPI_BYTE, win);
        MPI_Win_flush(next, win);
        MPI_Get(in, (int) k, MPI_BYTE, next, (MPI_Aint) aside, (int) k, MPI_BYTE, win);
        MPI_Win_unlock(next, win);
        t_check(memcmp(in, out, k) == 0, "MPI_Put and MPI_Get of %zu bytes", k);
        break;
    case 3: {
        char *there = base[SEGMENT][next] + aside;
        gasnet_handle_t handle = gasnet_put_nb_bulk((gasnet_node_t) next, there, out, k);
        linger();
        synchronize(0, 1);
        gasnet_wait_syncnb(handle);
        handle = gasnet_get_nb_bulk(in, (gasnet_node_t) next, there, k);
        gasnet_wait_syncnb_all(&handle, 1);
        t_check(memcmp(in, out, k) == 0, "gasnet_put and gasnet_get of %zu bytes", k);
        break;
    }
    default: {
        struct group *g = &groups[t_all_below(TEAMS)];
        if (g->notified)
            barrier_end(g);
        else
            barrier_begin(g);
    }
    }
}

/* --- teams ------------------------------------------------------------------------------------ */

static void split(int which, int first_time)
{
    struct group *g = &groups[which];
    uint64_t stamp = t_all_below((uint64_t) 1 << 40), colors = 1 + t_all_below(3), ranks[RANKS];
    uint64_t color = t_random(stamp, (uint64_t) t_rank) % colors;
    for (int i = 0; i < SLOTS && !first_time; i++) {
        slot_clear(&ops[i]);
        ops[i] = (struct op){0};
    }
    if (g->notified)
        barrier_end(g);
    if (!first_time)
        gasnet_coll_team_free(g->team);
    for (int i = 0; i < t_size; i++)
        ranks[i] = t_random(stamp + 1, (uint64_t) i) % 4;
    *g = (struct group){.barriers = g->barriers};
    g->team = gasnet_coll_team_split(GASNET_TEAM_ALL, (gasnet_node_t) color,
                                     (gasnet_node_t) ranks[t_rank], 0);
    for (uint64_t rank = 0; rank < 4; rank++)
        for (int i = 0; i < t_size; i++)
            if (ranks[i] == rank && t_random(stamp, (uint64_t) i) % colors == color) {
                if (i == t_rank)
                    g->rank = g->size;
                g->first[g->size + 1] = g->first[g->size] + images[i];
                g->node[g->size++] = i;
            }
    t_check((int) gasnet_coll_team_size(g->team) == g->size &&
                (int) gasnet_coll_team_rank(g->team) == g->rank &&
                gasnet_coll_team_images(g->team) == g->first[g->size],
            "a team is not as it should be");
    for (int i = 0; i < g->size; i++)
        t_check((int) gasnet_coll_team_rank2node(g->team, (gasnet_node_t) i) == g->node[i],
                "rank %d's node", i);
}

static void on_error(void *arg, int code, const char *text)
{
    (void) arg;
    t_fault("error %d: %s", code, text);
}

static void begin(void)
{
    gasnet_seginfo_t segments[RANKS];
    size_t bytes = (ARENA + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
    char *own[PLACES];
    int several = t_all_below(2) > 0;
    if (gasnet_init(NULL, NULL) != GASNET_OK || gasnet_attach(NULL, 0, bytes, 0) != GASNET_OK ||
        gasnet_getSegmentInfo(segments, RANKS) != GASNET_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < t_size; i++)
        images[i] = 1 + (gasnet_image_t) (several ? t_all_below(IMAGES) : 0);
    gasnet_coll_init(several ? images : NULL, 0, table, FNS, 0);
    gasnet_coll_team_on_error(GASNET_TEAM_ALL, on_error, NULL);
    own[SEGMENT] = segments[t_rank].addr;
    own[ALIKE] = t_alike(bytes);
    own[HEAP] = t_alloc(bytes);
    MPI_Win_allocate((MPI_Aint) bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own[WINDOW], &win);
    for (int place = 0; place < PLACES; place++)
        MPI_Allgather(&own[place], sizeof(char *), MPI_BYTE, base[place], sizeof(char *), MPI_BYTE,
                      MPI_COMM_WORLD);
    struct group *all = &groups[0];
    *all = (struct group){.team = GASNET_TEAM_ALL, .size = t_size, .rank = t_rank};
    for (int i = 0; i < t_size; i++) {
        all->node[i] = i;
        all->first[i + 1] = all->first[i] + images[i];
    }
    for (int i = 1; i < TEAMS; i++)
        split(i, 1);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    t_seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    int rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
    if (t_size > RANKS) {
        t_fault("at most %d ranks can be had", RANKS);
        return t_end();
    }
    mail[0] = mail[1] = MPI_REQUEST_NULL;
    begin();
    for (int round = 0; round < rounds; round++) {
        operate();
        if (t_all_below(4) == 0)
            mpi_between();
        if (t_all_below(40) == 0)
            split(1 + (int) t_all_below(TEAMS - 1), 0);
        if (t_below(2))
            synchronize(t_below(3) == 0, t_below(4) != 0);
    }
    for (int i = 0; i < SLOTS; i++)
        slot_clear(&ops[i]);
    for (int i = 0; i < TEAMS; i++)
        if (groups[i].notified)
            barrier_end(&groups[i]);
    MPI_Waitall(2, mail, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    munmap(base[ALIKE][t_rank], (ARENA + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE);
    free(base[HEAP][t_rank]);
    return t_end();
}
