/* Part of Windlass. See COPYRIGHT in the top-level directory. What the algorithms take by the
 * team's model. */
#include "mpid/coll/cost.h"
#include <math.h>
#include "mpid/coll/algo.h"
#include "mpid/coll/nodes.h"

struct wdl_cost wdl_cost_of(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    const struct wdl_coll_model *n = &team->params.model;
    return (struct wdl_cost){.team = team,
                             .args = args,
                             .span = &team->span,
                             .p = team->size,
                             .log = wdl_log2_up(team->size),
                             .m = (double) args->bytes,
                             .latency = n->latency,
                             .gap = n->gap,
                             .byte = n->byte,
                             .reduce = n->reduce,
                             .chunk = (double) team->coll->chunk_bytes,
                             .cell = (double) team->params.cell_bytes};
}

static double pieces(const struct wdl_cost *c, double bytes)
{
    return bytes > c->chunk ? (double) (uint64_t) ((bytes + c->chunk - 1) / c->chunk) : 1;
}

/* How long a message keeps a port, more than an empty one. */
static double more(const struct wdl_cost *c, double bytes)
{
    return bytes * c->byte + (pieces(c, bytes) - 1) * c->gap;
}

/* Pieces are alike. */
static double hop(const struct wdl_cost *c, double bytes)
{
    return c->latency + more(c, bytes);
}

/* For the first message: that its receiver is ready. Later ones hear of it in the meantime. */
static double ready(const struct wdl_cost *c, double bytes)
{
    return bytes > c->cell ? c->latency : 0;
}

static double latest(double a, double b)
{
    return a > b ? a : b;
}

/* As trees want it: below 2^50 ps, whatever a byte takes. */
static uint64_t ps_of(double ns)
{
    const double ns_max = 5e11;
    return (uint64_t) ((ns < ns_max ? ns : ns_max) * 1000) + 1;
}

static const struct wdl_span_tree *tree_of(const struct wdl_cost *c)
{
    return &c->span->tree[c->tree];
}

static double tree(const struct wdl_cost *c)
{
    return (double) tree_of(c)->ps / 1000;
}

/* --- rounds in which all ranks send and receive alike --- */

/* A rank: when what has come is folded; its ports. */
struct lane {
    double done, send_free, receive_free;
};

/* What a rank says to the senders of so many rounds goes out first. */
static struct lane lane_begin(const struct wdl_cost *c, int asked)
{
    double said = asked * c->gap;
    if (asked == 0)
        return (struct lane){0, 0, 0};
    return (struct lane){c->latency, said, c->latency + said};
}

/* So many pieces alike; returns when the last is there. */
static double lane_pieces(const struct wdl_cost *c, struct lane *l, double bytes, double count)
{
    double busy = c->gap + bytes * c->byte, others = (count - 1) * busy;
    double sent = latest(l->done, l->send_free);
    double come = latest(sent + c->latency + bytes * c->byte, l->receive_free) + others;
    l->send_free = sent + others + busy;
    l->receive_free = come + busy;
    return come;
}

static void lane_pass(const struct wdl_cost *c, struct lane *l, double bytes, double fold)
{
    double count = pieces(c, bytes);
    l->done = lane_pieces(c, l, bytes / count, count) + fold;
}

/* Rounds of the same vector. */
static double vectors(const struct wdl_cost *c, double bytes, int rounds)
{
    struct lane l = lane_begin(c, bytes > c->cell ? rounds : 0);
    for (int k = 0; k < rounds; k++)
        lane_pass(c, &l, bytes, bytes * c->reduce);
    return l.done;
}

/* --- the algorithms --------------------------------------------------------------------------- */

double wdl_cost_rounds(const struct wdl_cost *c)
{
    return (double) c->span->spread.time_ps / 1000;
}

/* No way along the tree has more hops and waits than the last child of the root has: each of them
 * takes longer by the data. */
static double along(const struct wdl_cost *c, double waits)
{
    double before = tree_of(c)->children - 1;
    return ready(c, c->m) + waits + before * more(c, c->m) + hop(c, c->m);
}

int wdl_cost_is_fitted(const struct wdl_cost *c)
{
    return c->tree == WDL_SPAN_OPTIMAL && c->m > c->cell && c->m <= c->chunk;
}

struct wdl_tree_shape wdl_cost_fitted(const struct wdl_cost *c)
{
    double each = more(c, c->m);
    struct wdl_tree_shape shape =
        wdl_tree_optimal((int) c->p, ps_of(c->latency + each), ps_of(c->gap + each));
    int links = c->team->links;
    shape.most = links <= WDL_CHILDREN_MAX ? links - 1 : WDL_CHILDREN_MAX;
    return shape;
}

/* Children that an optimal tree's head has, if its ranks are all reached by then: at most. */
static double children_by(const struct wdl_tree_shape *shape, uint64_t time_ps)
{
    if (time_ps < shape->eel_ps)
        return 0;
    return (double) ((time_ps - shape->eel_ps) / shape->gap_ps) + 1;
}

/* The root's first child has most children, and their ready flags may keep its port busy when the
 * data come: so much longer. */
static double flags_after(const struct wdl_cost *c, struct wdl_tree_shape shape, uint64_t time_ps)
{
    double come = hop(c, c->m);
    struct wdl_tree_node root;
    struct wdl_tree_child first;
    if (shape.ranks < 2 || children_by(&shape, time_ps - shape.eel_ps) * c->gap <= come)
        return 0;
    wdl_tree_find(&shape, 0, 0, &root);
    (void) wdl_tree_children(&shape, 0, &root, &first, 1);
    shape.ranks = first.size;
    return latest(children_by(&shape, wdl_tree_time_ps(&shape, 0)) * c->gap - come, 0);
}

static double fitted(const struct wdl_cost *c)
{
    struct wdl_tree_shape shape = wdl_cost_fitted(c);
    uint64_t time_ps = wdl_tree_time_ps(&shape, 0);
    return c->latency + (double) time_ps / 1000 + flags_after(c, shape, time_ps);
}

/* The last ones asked for are kept. */
static double fitted_kept(const struct wdl_cost *c)
{
    struct wdl_coll *coll = c->team->coll;
    struct wdl_fitted *f = &coll->fitted[c->args->bytes / 64 % WDL_FITTED_KEPT];
    int links = c->team->links;
    if (f->p == c->p && f->m == c->m && f->latency == c->latency && f->gap == c->gap &&
        f->byte == c->byte && f->links == links)
        return f->ns;
    *f = (struct wdl_fitted){c->p, c->m, c->latency, c->gap, c->byte, links, fitted(c)};
    coll->fitted_found++;
    return f->ns;
}

/* Of children that say when they are ready, the first, which has most to pass on, may be the last
 * to be heard. */
double wdl_cost_broadcast_tree(const struct wdl_cost *c)
{
    if (wdl_cost_is_fitted(c))
        return fitted_kept(c);
    double before = tree_of(c)->children - 1, last = tree(c) - c->latency;
    double first = before * c->gap + (double) c->span->child[0].ps / 1000;
    return along(c, ready(c, c->m) > 0 ? latest(first, last) : last);
}

/* When all that has left the root for a child by `sent` is where it belongs: the child's port
 * passes on most of the last piece. */
static double child_done(const struct wdl_cost *c, int child, double sent)
{
    const struct wdl_span_child *of = &c->span->child[child];
    double below = c->m * (of->size - 1), piece = below < c->chunk ? below : c->chunk;
    return sent + c->latency + (double) of->ps / 1000 + more(c, piece);
}

/* A child is asked by the root while it gathers from others, a leaf is not. */
static double tree_up(const struct wdl_cost *c)
{
    double port = ready(c, c->m), last = 0;
    for (int i = 0; i < tree_of(c)->children; i++) {
        port += more(c, c->m * c->span->child[i].size);
        last = latest(last, child_done(c, i, port));
        port += c->gap;
    }
    return last;
}

/* The first child that is not done of those the root has heard by `port`, or the first to be heard;
 * -1: all are done. Later children are heard earlier. */
static int child_next(int children, const double *heard, const double *left, double port)
{
    int next = -1;
    for (int i = children - 1; i >= 0; i--)
        if (left[i] > 0 && (next < 0 || heard[i] <= port))
            next = i;
    return next;
}

/* Children who say when they are ready, those with most to pass on, may be heard in the reverse
 * order, as the network decides. The port takes a piece at a time. */
static double tree_down(const struct wdl_cost *c)
{
    double port = 0, last = 0, heard[WDL_CHILDREN_MAX], left[WDL_CHILDREN_MAX];
    int children = tree_of(c)->children, asked = 0, next;
    for (int i = children - 1; i >= 0; i--) {
        double bytes = c->m * c->span->child[i].size;
        left[i] = pieces(c, bytes);
        heard[i] = ready(c, bytes) > 0 ? c->latency + asked++ * c->gap : 0;
    }
    while ((next = child_next(children, heard, left, port)) >= 0) {
        double bytes = c->m * c->span->child[next].size;
        double now = heard[0] <= port ? left[next] : 1;
        left[next] -= now;
        port = latest(port, heard[next]) + now * (c->gap + bytes / pieces(c, bytes) * c->byte);
        if (left[next] <= 0)
            last = latest(last, child_done(c, next, port - c->gap));
    }
    return last;
}

double wdl_cost_tree(const struct wdl_cost *c)
{
    return c->args->kind == WDL_COLL_GATHER ? tree_up(c) : tree_down(c);
}

/* The parts go down the tree, and then round the ring: whole ones, or piece by piece. */
double wdl_cost_broadcast_ring(const struct wdl_cost *c)
{
    struct wdl_cost parts = *c;
    double part = c->m / c->p, piece = part < c->chunk ? part : c->chunk;
    double step = latest(c->gap + hop(c, part) - c->latency, hop(c, piece));
    parts.m = part;
    return wdl_cost_tree(&parts) + c->latency + (c->p - 1) * step;
}

/* A packet of all that is broadcast, or reduced. Flags may keep the port of the rank above the root
 * busy, too; what is late there is made up for in part, since it is not on all the longest ways. */
static double one_packet(const struct wdl_cost *c)
{
    double each = more(c, c->m), late = latest((c->log - 1) * c->gap - hop(c, c->m), 0);
    uint64_t time_ps =
        wdl_pattern_circulant_one(c->span->size, c->span->one_size, ps_of(c->latency + each),
                                  ps_of(c->gap + each));
    return (double) time_ps / 1000 + (wdl_coll_reduces(c->args->kind) ? 0 : late / 2);
}

/* Of so many blocks or rounds some wait: not for long, for who has lost a round goes with the
 * next. */
static double some_wait(double count, double wait, double most)
{
    return count * wait / 3 < most ? count * wait / 3 : most;
}

/* Of a block of several pieces, all but one are passed on while others come: two or three blocks
 * have few hops that wait. */
static double waits_of_pieces(const struct wdl_cost *c, int blocks, int hops, double turn)
{
    double wait = latest(c->latency, c->gap) - c->gap, count = pieces(c, c->m / blocks);
    double first = latest(wait, hops * (wait - turn + turn / count)), later = blocks - c->log;
    if (blocks == 1 || hops == 1)
        return first;
    if (count > 2)
        return first + (later > 0 ? (hops - 2) * wait * 2 / 3 : 0);
    return first + wait + (later > 0 ? some_wait(later / 2, wait, hops * turn / 2) : 0);
}

/* What a broadcast's hops take more than its rounds: the last one waits at each hop of the longest
 * way, and has waited for some before it. */
static double waits(const struct wdl_cost *c, int blocks, double turn)
{
    int hops = blocks > 1 ? c->span->circulant_hops : c->span->one_hops;
    double wait = latest(c->latency, c->gap) - c->gap;
    if (c->m / blocks > c->chunk)
        return waits_of_pieces(c, blocks, hops, turn);
    return (1 + hops) * wait + some_wait(blocks, wait, hops * turn / 2);
}

/* The same backwards: the last one waits at each hop, and for some before it. */
static double waits_back(const struct wdl_cost *c, int blocks)
{
    double wait = latest(c->latency, c->gap) - c->gap;
    return (blocks > 1 ? 1 + c->span->circulant_hops + blocks / 3.0 : c->span->one_hops) * wait;
}

/* A walk finds it among a few ranks, of blocks of one packet. */
static double walked(const struct wdl_cost *c, int i, double turn)
{
    double wait = latest(c->latency, c->gap) - c->gap;
    struct wdl_blocktime *kept = &c->team->coll->blocktime;
    return wdl_blocktime(kept, c->span->size, i, wait / turn, c->gap / turn) * turn;
}

/* One block goes the shortest way. Of several, one follows the other as the ports let it, once
 * these have passed a ready flag for each round. What takes longer than `most` takes at least as
 * long as is said. */
static double circulant(const struct wdl_cost *c, int i, double most)
{
    int blocks = wdl_blocktime_number(i);
    double turn = c->gap + more(c, c->m / blocks);
    if (blocks == 1 && c->m <= c->chunk)
        return c->latency + one_packet(c);
    double flags = blocks > 1 ? latest(c->latency, c->log * c->gap - turn + c->gap) : c->latency;
    double rounds = blocks > 1 ? blocks - 1 + c->log : c->span->one_rounds;
    double least = flags + rounds * turn;
    if (least > most)
        return least;
    if (wdl_coll_reduces(c->args->kind))
        return least + waits_back(c, blocks);
    if (c->m / blocks <= c->chunk && c->span->size > 1 &&
        c->span->size <= WDL_BLOCKTIME_RANKS_MAX)
        return walked(c, i, turn);
    return least + waits(c, blocks, turn);
}

/* What is fastest; returns how long it takes. */
static double circulant_best(const struct wdl_cost *c, int *blocks_out)
{
    double units = wdl_coll_reduces(c->args->kind) ? c->m / (double) c->args->op.elem_bytes : c->m;
    double best = circulant(c, 0, HUGE_VAL);
    *blocks_out = 1;
    for (int i = 1; i < WDL_BLOCKTIME_NUMBERS && wdl_blocktime_number(i) <= units; i++) {
        double cost = circulant(c, i, best);
        if (cost < best) {
            *blocks_out = wdl_blocktime_number(i);
            best = cost;
        }
    }
    return best;
}

int wdl_cost_circulant_blocks(const struct wdl_cost *c)
{
    int blocks;
    (void) circulant_best(c, &blocks);
    return blocks;
}

double wdl_cost_broadcast_circulant(const struct wdl_cost *c)
{
    int blocks;
    return circulant_best(c, &blocks);
}

/* What comes is folded before the next, or before it is sent on. */
double wdl_cost_reduce_tree(const struct wdl_cost *c)
{
    return along(c, tree(c) - c->latency) + tree_of(c)->children * c->m * c->reduce;
}

/* Of any tree: what has been folded goes on, a piece after the other; or the root's port is the
 * last to be done, which takes what its children send one behind the other. */
double wdl_cost_reduce_by_name(const struct wdl_cost *c)
{
    const struct wdl_span_tree *t = tree_of(c);
    int flat = c->tree == WDL_SPAN_FLAT;
    double piece = c->m / pieces(c, c->m), step = more(c, piece) + piece * c->reduce;
    double all = more(c, c->m) + c->m * c->reduce;
    double last = tree(c) - c->latency + (t->steps - 1) * step + all;
    for (int i = flat ? t->children - 1 : 0; i < t->children; i++) {
        const struct wdl_span_child *of = &c->span->child[flat ? 0 : t->first + i];
        double come = flat ? 0 : (double) of->ps / 1000 + of->steps * step;
        last = latest(last, come + i * c->gap + (i + 1) * all);
    }
    return ready(c, c->m) + c->latency + last;
}

double wdl_cost_reduce_circulant(const struct wdl_cost *c)
{
    int blocks;
    double cost = circulant_best(c, &blocks);
    return cost + (blocks - 1 + c->log) * c->m / blocks * c->reduce;
}

static double direct(const struct wdl_cost *c)
{
    return c->latency + (c->p - 2) * c->gap + (c->p - 1) * more(c, c->m) + c->m * c->reduce;
}

/* Has every other rank a link of its own? */
static int few(const struct wdl_cost *c)
{
    return c->p < c->team->links;
}

/* Ready flags and data flow one behind the other. */
double wdl_cost_direct(const struct wdl_cost *c)
{
    return direct(c) + (few(c) ? ready(c, c->m) : c->latency);
}

static double asked_by_all(const struct wdl_cost *c)
{
    return c->latency + (c->p - 2) * c->gap;
}

/* Ready flags and data pass the same ports, in any order: those who wait for them wait twice. */
double wdl_cost_pairwise(const struct wdl_cost *c)
{
    return direct(c) + (few(c) && c->m <= c->cell ? 0 : 2 * asked_by_all(c));
}

/* Flags of all to all, in two levels. */
static double levels_meet(const struct wdl_nodes *nodes)
{
    return (double) nodes->span.spread.time_ps / 1000 + wdl_cost_within(nodes->most, 0);
}

static double entry(const struct wdl_cost *c)
{
    return c->team->nodes ? levels_meet(c->team->nodes) : wdl_cost_rounds(c);
}

double wdl_cost_pairwise_entry(const struct wdl_cost *c)
{
    return entry(c) + direct(c) + (c->m > c->chunk ? asked_by_all(c) : 0);
}

double wdl_cost_bruck(const struct wdl_cost *c)
{
    int size = (int) c->p, asked = 0;
    for (int have = 1; have < size; have *= 2)
        asked += c->m * (size - have < have ? size - have : have) > c->cell;
    struct lane l = lane_begin(c, asked);
    for (int have = 1; have < size; have *= 2)
        lane_pass(c, &l, c->m * (size - have < have ? size - have : have), 0);
    return l.done;
}

double wdl_cost_gathered(const struct wdl_cost *c)
{
    return wdl_cost_bruck(c) + (c->p - 1) * c->m * c->reduce;
}

double wdl_cost_ring(const struct wdl_cost *c)
{
    return c->latency + (c->p - 1) * hop(c, c->m);
}

/* Blocks of which the distance has bit k. */
static double parcel(const struct wdl_cost *c, int k)
{
    int size = (int) c->p, rest = size % (2 << k) - (1 << k);
    return c->m * ((size >> (k + 1) << k) + (rest > 0 ? rest : 0));
}

double wdl_cost_exchange_bruck(const struct wdl_cost *c)
{
    int rounds = (int) c->log, asked = 0;
    for (int k = 0; k < rounds; k++)
        asked += parcel(c, k) > c->cell;
    struct lane l = lane_begin(c, asked);
    for (int k = 0; k < rounds; k++)
        lane_pass(c, &l, parcel(c, k), 0);
    return l.done;
}

double wdl_cost_vector(const struct wdl_cost *c)
{
    return vectors(c, c->m, (int) c->log);
}

/* Two folds a round, one behind the other. */
double wdl_cost_census(const struct wdl_cost *c)
{
    return wdl_cost_vector(c) + c->log * c->m * c->reduce;
}

/* Those who work in pairs, of ranks beyond a power of two: these give before, and are given to
 * behind. */
static int is_beyond(const struct wdl_cost *c)
{
    return c->span->size & (c->span->size - 1);
}

static int pair_rounds(const struct wdl_cost *c)
{
    return is_beyond(c) ? (int) c->log - 1 : (int) c->log;
}

static double beyond(const struct wdl_cost *c)
{
    return is_beyond(c) ? 2 * hop(c, c->m) + c->m * c->reduce : 0;
}

double wdl_cost_doubling(const struct wdl_cost *c)
{
    /* who has no neighbour to hear first sends at once, and shares the port with him */
    double shared = is_beyond(c) ? more(c, c->m) : 0;
    return beyond(c) + shared + vectors(c, c->m, pair_rounds(c));
}

/* Round a circle, or in pairs: parts of the vector, and the same way back. */
double wdl_cost_halving(const struct wdl_cost *c)
{
    int circle = c->args->op.commutes, all = circle ? c->span->size : 1 << pair_rounds(c);
    double part = c->m / all, sent[32];
    int rounds = 0, asked = 0;
    for (int parts = all; parts > 1; parts -= parts / 2, rounds++) {
        sent[rounds] = part * (parts / 2);
        asked += sent[rounds] > c->cell;
    }
    struct lane l = lane_begin(c, asked);
    for (int k = 0; k < rounds; k++)
        lane_pass(c, &l, sent[k], sent[k] * c->reduce);
    for (int k = rounds - 1; k >= 0; k--)
        lane_pass(c, &l, sent[k], 0);
    return l.done + (circle ? 0 : beyond(c));
}

/* --- two levels ------------------------------------------------------------------------------- */

double wdl_cost_across(const struct wdl_team *team)
{
    enum { ACROSS = 300 }; /* what is far apart takes, where nobody has measured it */
    return team->params.model.across > 0 ? team->params.model.across : ACROSS;
}

/* What fits a cell is stored for a head on the same node; the rest goes by messages there, too. */
struct wdl_cost wdl_cost_between(const struct wdl_cost *c, double bytes)
{
    struct wdl_cost between = *c;
    const struct wdl_nodes *nodes = c->team->nodes;
    between.span = &nodes->span;
    between.p = between.span->size;
    between.log = wdl_log2_up(between.span->size);
    between.m = bytes;
    if (nodes->domains && bytes <= c->cell) {
        between.latency = wdl_cost_across(c->team);
        between.gap = wdl_cost_within(1, 0);
    }
    return between;
}

struct wdl_cost wdl_cost_of_build(const struct wdl_build *b)
{
    struct wdl_cost cost = wdl_cost_of(b->team, b->args);
    return b->span == cost.span ? cost : wdl_cost_between(&cost, cost.m);
}

/* The boards a rank looks at: the first of another domain is a way of its own, the others come one
 * behind the other as they do from near. */
static double looks(const struct wdl_cost *c, const struct wdl_nodes *domains)
{
    enum wdl_coll_kind kind = c->args->kind;
    int one = kind == WDL_COLL_BROADCAST || kind == WDL_COLL_SCATTER;
    int vector = wdl_coll_reduces(kind) && kind != WDL_COLL_REDUCE_SCATTER;
    double boards = one ? 1 : c->p - 1, bytes = boards * c->m;
    if (!domains)
        return 0;
    if (vector && c->m > (double) c->team->params.board_bytes)
        bytes = 2 * c->m; /* all fold parts of it, or it is passed on from rank to rank */
    return wdl_cost_within(boards - 1, bytes) + wdl_cost_across(c->team) +
           (wdl_coll_reduces(kind) ? bytes * c->reduce : 0);
}

double wdl_cost_node(const struct wdl_cost *c)
{
    return looks(c, c->team->nodes);
}

int wdl_cost_prefers_levels(const struct wdl_team *team, const struct wdl_nodes *domains)
{
    enum { GRAPH = 500 }; /* not measured: what a request and its graph take, at most */
    struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER};
    struct wdl_cost c = wdl_cost_of(team, &barrier);
    return levels_meet(domains) + GRAPH < looks(&c, domains);
}

/* The vector in parts is worth it: enough of them, and cheaper. */
int wdl_cost_prefers_parts(const struct wdl_cost *b)
{
    double unit = wdl_coll_reduces(b->args->kind) ? (double) b->args->op.elem_bytes : 1;
    if (b->m / unit < b->p)
        return 0;
    switch (b->args->kind) {
    case WDL_COLL_BROADCAST:
        return wdl_cost_broadcast_circulant(b) < wdl_cost_broadcast_tree(b);
    case WDL_COLL_REDUCE:
        return b->args->op.commutes && wdl_cost_reduce_circulant(b) < wdl_cost_reduce_tree(b);
    default:
        return wdl_cost_halving(b) < wdl_cost_doubling(b);
    }
}

static double between_heads(const struct wdl_cost *b)
{
    int parts = b->args->kind != WDL_COLL_BARRIER && wdl_cost_prefers_parts(b);
    switch (b->args->kind) {
    case WDL_COLL_BARRIER:
        return wdl_cost_rounds(b);
    case WDL_COLL_ALLREDUCE:
        return parts ? wdl_cost_halving(b) : wdl_cost_doubling(b);
    case WDL_COLL_REDUCE:
        return parts ? wdl_cost_reduce_circulant(b) : wdl_cost_reduce_tree(b);
    default:
        return parts ? wdl_cost_broadcast_circulant(b) : wdl_cost_broadcast_tree(b);
    }
}

/* What is shown on boards its reader folds alone; of what is not, every rank folds a part. */
static double fold_in_node(const struct wdl_cost *c)
{
    double others = c->team->nodes->most - 1, bytes = c->m * others, posts = others;
    if (c->m > (double) c->team->params.board_bytes) {
        bytes /= others + 1;
        posts *= 2;
    }
    return wdl_cost_within(posts, bytes) + bytes * c->reduce;
}

/* A node's blocks go round as one; its head takes them one by one, the others all at once. */
static double cost_gather(const struct wdl_cost *c)
{
    double others = c->team->nodes->most - 1;
    struct wdl_cost between = wdl_cost_between(c, c->m * (others + 1));
    return wdl_cost_ring(&between) + wdl_cost_within(others + 1, c->m * (others + c->p));
}

double wdl_cost_levels(const struct wdl_cost *c)
{
    struct wdl_cost between = wdl_cost_between(c, c->m);
    if (c->args->kind == WDL_COLL_GATHER_ALL)
        return cost_gather(c);
    double cost = between_heads(&between), others = c->team->nodes->most - 1;
    if (c->args->kind == WDL_COLL_BARRIER)
        return cost + wdl_cost_within(others + 1, 0);
    if (c->args->kind != WDL_COLL_BROADCAST)
        cost += fold_in_node(c);
    if (c->args->kind != WDL_COLL_REDUCE)
        cost += wdl_cost_within(1, c->m);
    return cost;
}
