/* Part of Windlass. See COPYRIGHT in the top-level directory. Graphs, carried out by their rules
 * alone (graphs.h). */
#include "mpid/coll/graphs.h"
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/ranks.h"
#include "support/must.h"
#include "support/suite.h"

enum { POISON = 0xa5 };

struct graphs_car { /* of one rank */
    int waits, complete;
    size_t done, arrived; /* leading bytes; in all */
    char *here; /* RECV: which bytes */
    int messages; /* RECV: have come; SEND: has gone */
};

struct graphs_message {
    int from, to;
    uint32_t role;
    size_t at, bytes, all; /* all: of the SEND */
    const struct wdl_car *send;
    char *data;
};

/* --- ranks and their memory ------------------------------------------------------------------- */

static char *random_bytes(struct graphs *g, size_t bytes)
{
    char *memory = malloc(bytes + 1);
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (char) wdl_prng_next(&g->prng);
    return memory;
}

void graphs_open(struct graphs *g, int n, size_t room, uint64_t seed)
{
    *g = (struct graphs){.n = n, .late = -1, .room = room};
    wdl_prng_init(&g->prng, seed);
    test_host_init(&g->host);
    g->coll = (struct wdl_coll){.host = g->host.host,
                                .chunk_bytes = GRAPHS_PACKET,
                                .model = {1000, 200, 0.1, 0.25, 0}};
    wdl_store_init(&g->coll.store, &g->coll.host);
    g->one = calloc((size_t) n, sizeof(g->one[0]));
    for (int i = 0; i < n; i++) {
        struct graphs_rank *r = &g->one[i];
        r->team = (struct wdl_team){
            .coll = &g->coll,
            .params = {.rank = i, .size = n, .window = 8, .cell_bytes = GRAPHS_CELL}};
        wdl_team_shape(&r->team);
        r->src = random_bytes(g, room);
        r->dst = malloc(room + 1);
        memset(r->dst, POISON, room);
        for (int k = 0; k < 4; k++)
            r->lists[k] = calloc((size_t) n, sizeof(size_t));
    }
}

static void run_free(struct graphs *g, struct graphs_rank *r)
{
    if (!r->graph)
        return;
    for (int i = 0; i < r->graph->ncars; i++)
        free(r->cars[i].here);
    free(r->cars);
    free(r->run->tmp);
    free(r->run);
    wdl_graph_free(&r->team, r->graph);
    r->graph = NULL;
    (void) g;
}

void graphs_close(struct graphs *g)
{
    for (int i = 0; i < g->n; i++) {
        run_free(g, &g->one[i]);
        free(g->one[i].src);
        free(g->one[i].dst);
        for (int k = 0; k < 4; k++)
            free(g->one[i].lists[k]);
    }
    free(g->one);
    free(g->messages);
    wdl_store_fini(&g->coll.store);
    must_cmp(g->host.live, ==, 0);
}

/* --- what a graph says of itself -------------------------------------------------------------- */

static const struct wdl_car *recv_of(const struct graphs *g, int to, uint32_t role)
{
    const struct wdl_graph *graph = g->one[to].graph;
    must_cmp(role, <, graph->nroles);
    must_cmp(graph->car_of_role[role], !=, WDL_CAR_NONE);
    return &graph->cars[graph->car_of_role[role]];
}

/* What a ready flag says of its memory is where the RECV has what is sent by it. */
static void ready_check(const struct graphs *g, int rank, const struct wdl_car *send,
                        const struct wdl_car *recv)
{
    const struct wdl_graph *graph = g->one[rank].graph, *there = g->one[send->peer].graph;
    const struct wdl_car *flag = &graph->cars[send->ready - 1], *offer = NULL;
    must(flag->kind == WDL_CAR_RECV && flag->asks && flag->peer == send->peer);
    for (int i = 0; i < there->ncars; i++) {
        const struct wdl_car *car = &there->cars[i];
        if (car->kind == WDL_CAR_SEND && car->peer == rank && car->role == flag->role)
            offer = car;
    }
    must(offer);
    if (!offer->offers || !offer->offered_bytes)
        return;
    must_cmp(offer->offered.buf, ==, recv->b.buf);
    must_cmp(offer->offered.at + send->place_at, ==, recv->b.at);
    must_cmp(send->place_at + send->bytes, <=, offer->offered_bytes);
}

static void pairs_check(const struct graphs *g)
{
    size_t sends = 0, recvs = 0;
    for (int rank = 0; rank < g->n; rank++) {
        const struct wdl_graph *graph = g->one[rank].graph;
        for (int i = 0; i < graph->ncars; i++) {
            const struct wdl_car *car = &graph->cars[i];
            recvs += car->kind == WDL_CAR_RECV;
            if (car->kind != WDL_CAR_SEND)
                continue;
            const struct wdl_car *recv = recv_of(g, car->peer, car->role);
            must_cmp(recv->peer, ==, rank);
            must_cmp(recv->bytes, ==, car->bytes);
            if (car->ready)
                ready_check(g, rank, car, recv);
            sends++;
        }
    }
    must_cmp(sends, ==, recvs);
}

/* --- steps ------------------------------------------------------------------------------------ */

static int is_armed(const struct graphs_rank *r, int i)
{
    return r->begun && r->cars[i].waits == 0;
}

static void complete(struct graphs_rank *r, int i)
{
    const struct wdl_car *car = &r->graph->cars[i];
    must(!r->cars[i].complete);
    r->cars[i].complete = 1;
    r->users_left -= car->user;
    for (int k = 0; k < car->edge_count; k++) {
        const struct wdl_edge *edge = &r->graph->edges[car->edge + k];
        if (edge->kind == WDL_EDGE_WHOLE)
            r->cars[edge->car].waits--;
    }
}

static size_t limit_of(const struct graphs_rank *r, int i)
{
    const struct wdl_car *car = &r->graph->cars[i];
    size_t limit = car->bytes;
    for (int k = 0; k < car->input_count; k++) {
        const struct wdl_input *in = &r->graph->inputs[car->input + k];
        size_t have = r->cars[in->car].done;
        have = have > in->from ? have - in->from : 0;
        if (have < in->bytes && in->at + have < limit)
            limit = in->at + have;
    }
    return limit;
}

static void message_new(struct graphs *g, int from, const struct wdl_car *send, size_t at,
                        size_t bytes)
{
    struct graphs_rank *r = &g->one[from];
    if (g->nmessages == g->messages_room) {
        g->messages_room = 2 * g->messages_room + 64;
        g->messages = realloc(g->messages, g->messages_room * sizeof(g->messages[0]));
    }
    struct graphs_message m = {from, send->peer, send->role, at, bytes, send->bytes, send,
                               malloc(bytes + 1)};
    if (bytes)
        memcpy(m.data, wdl_run_at(r->run, send->a) + at, bytes);
    g->messages[g->nmessages++] = m;
    if (at == 0) {
        r->sent += send->bytes > 0;
        r->flags += send->bytes == 0;
    }
    r->sent_bytes += bytes;
}

/* Some of the bytes that may be moved; whole elements. 0: none yet. */
static size_t some(struct graphs *g, size_t from, size_t limit, size_t unit)
{
    size_t units = (limit - from) / unit;
    return units ? unit * (1 + (size_t) wdl_prng_below(&g->prng, units)) : 0;
}

static int step_send(struct graphs *g, int rank, int i)
{
    struct graphs_rank *r = &g->one[rank];
    struct graphs_car *c = &r->cars[i];
    const struct wdl_car *car = &r->graph->cars[i];
    size_t limit = limit_of(r, i), bytes;
    if (car->bytes <= GRAPHS_CELL) { /* whole */
        if (limit < car->bytes)
            return 0;
        bytes = car->bytes;
    } else {
        bytes = some(g, c->done, limit, 1);
        if (!bytes)
            return 0;
    }
    message_new(g, rank, car, c->done, bytes);
    c->done += bytes;
    if (c->done == car->bytes)
        complete(r, i);
    return 1;
}

static int step_bytes(struct graphs *g, int rank, int i)
{
    struct graphs_rank *r = &g->one[rank];
    struct graphs_car *c = &r->cars[i];
    const struct wdl_car *car = &r->graph->cars[i];
    const struct wdl_coll_op *op = &r->run->args.op;
    size_t limit = limit_of(r, i), unit = car->kind == WDL_CAR_REDUCE ? op->elem_bytes : 1;
    size_t bytes = some(g, c->done, limit, unit);
    if (!bytes && c->done < car->bytes)
        return 0;
    char *a = wdl_run_at(r->run, car->a), *b = wdl_run_at(r->run, car->b);
    if (bytes && car->kind == WDL_CAR_REDUCE)
        op->fn(op->ctx, a + c->done, b + c->done, bytes / unit);
    else if (bytes && a != b)
        memcpy(b + c->done, a + c->done, bytes);
    c->done += bytes;
    if (c->done == car->bytes)
        complete(r, i);
    return 1;
}

/* Has anything been done? */
static int step(struct graphs *g, int rank, int i)
{
    struct graphs_rank *r = &g->one[rank];
    struct graphs_car *c = &r->cars[i];
    const struct wdl_car *car = &r->graph->cars[i];
    if (c->complete || !is_armed(r, i))
        return 0;
    switch (car->kind) {
    case WDL_CAR_SEND:
        return step_send(g, rank, i);
    case WDL_CAR_RECV:
        if (c->arrived < car->bytes || !c->messages)
            return 0;
        complete(r, i);
        return 1;
    case WDL_CAR_COPY:
    case WDL_CAR_REDUCE:
        return step_bytes(g, rank, i);
    case WDL_CAR_CALL:
        must_cmp(car->fn(r->run, car->arg), ==, WDL_OK);
        complete(r, i);
        return 1;
    default:
        must_cmp(car->kind, ==, WDL_CAR_JOIN);
        complete(r, i);
        return 1;
    }
}

/* A message comes. One that may wait in a cell does, until its RECV is armed. */
static int deliver(struct graphs *g, size_t which)
{
    struct graphs_message m = g->messages[which];
    struct graphs_rank *r = &g->one[m.to];
    int i = r->graph->car_of_role[m.role];
    struct graphs_car *c = &r->cars[i];
    if (!is_armed(r, i)) {
        must_cmp(m.all, <=, m.role < r->team.data_roles ? GRAPHS_CELL : 0);
        return 0;
    }
    const struct wdl_car *car = &r->graph->cars[i];
    for (size_t k = m.at; k < m.at + m.bytes; k++) {
        must(!c->here[k]);
        c->here[k] = 1;
    }
    if (m.bytes)
        memcpy(wdl_run_at(r->run, car->b) + m.at, m.data, m.bytes);
    c->arrived += m.bytes;
    c->messages++;
    r->got_bytes += m.bytes;
    while (c->done < car->bytes && c->here[c->done])
        c->done++;
    free(m.data);
    g->messages[which] = g->messages[--g->nmessages];
    return 1;
}

/* --- to the end ------------------------------------------------------------------------------- */

static void begin(struct graphs *g, struct graphs_rank *r, void (*build)(struct wdl_build *b),
                  const struct wdl_coll_args *all)
{
    struct wdl_coll_args args = *all;
    struct wdl_build b;
    args.src = r->src;
    args.dst = g->in_place ? r->src : r->dst;
    if (r->local)
        args.local = r->local;
    if (args.variable) {
        args.bytes = r->own;
        args.src_blocks = (struct wdl_coll_blocks){r->lists[0], r->lists[1]};
        args.dst_blocks = (struct wdl_coll_blocks){r->lists[2], r->lists[3]};
    }
    run_free(g, r);
    wdl_build_begin(&b, &r->team, &args);
    b.armed = g->armed;
    b.tree = g->tree;
    build(&b);
    r->graph = wdl_build_end(&b);
    must(r->graph);
    r->run = calloc(1, sizeof(*r->run));
    r->run->team = &r->team;
    r->run->graph = r->graph;
    r->run->args = args;
    r->run->tmp = malloc(r->graph->tmp_bytes + 1);
    memset(r->run->tmp, POISON, r->graph->tmp_bytes);
    r->cars = calloc((size_t) r->graph->ncars + 1, sizeof(r->cars[0]));
    for (int i = 0; i < r->graph->ncars; i++) {
        r->cars[i].waits = r->graph->cars[i].waits;
        r->cars[i].here = calloc(1, r->graph->cars[i].bytes + 1);
    }
    r->begun = g->armed;
    r->users_left = r->graph->nusers;
    r->sent = r->sent_bytes = r->flags = r->got_bytes = 0;
    r->done_early = 0;
}

static int left(const struct graphs *g)
{
    int n = (int) g->nmessages;
    for (int rank = 0; rank < g->n; rank++)
        for (int i = 0; i < g->one[rank].graph->ncars; i++)
            n += !g->one[rank].cars[i].complete;
    return n;
}

/* Once round all ranks, CARs and messages, each from somewhere on, at some of them. */
static int sweep(struct graphs *g)
{
    int moved = 0;
    size_t first = g->nmessages ? (size_t) wdl_prng_below(&g->prng, g->nmessages) : 0;
    for (size_t k = 0; k < g->nmessages; k++)
        if (wdl_prng_chance(&g->prng, 600))
            moved += deliver(g, (first + k) % g->nmessages);
    for (int k = 0, start = (int) wdl_prng_below(&g->prng, (uint64_t) g->n); k < g->n; k++) {
        int rank = (start + k) % g->n;
        struct graphs_rank *r = &g->one[rank];
        if (!r->begun && rank != g->late && wdl_prng_chance(&g->prng, 300)) {
            r->begun = 1;
            moved++;
        }
        for (int i = 0, n = r->graph->ncars, at = n ? (int) wdl_prng_below(&g->prng, (uint64_t) n)
                                                    : 0;
             i < n; i++)
            if (wdl_prng_chance(&g->prng, 600))
                moved += step(g, rank, (at + i) % n);
    }
    return moved;
}

static int all_begun(const struct graphs *g)
{
    for (int rank = 0; rank < g->n; rank++)
        if (!g->one[rank].begun && rank != g->late)
            return 0;
    return 1;
}

void graphs_run(struct graphs *g, void (*build)(struct wdl_build *b),
                const struct wdl_coll_args *args)
{
    enum { QUIET = 40 }; /* sweeps without a step: a chance of 0.4^40 that there was one */
    for (int rank = 0; rank < g->n; rank++)
        begin(g, &g->one[rank], build, args);
    pairs_check(g);
    for (int quiet = 0; left(g) > 0;) {
        quiet = sweep(g) ? 0 : quiet + 1;
        if (quiet < QUIET || !all_begun(g))
            continue;
        must(g->late >= 0 && !g->one[g->late].begun); /* else ranks wait for ever */
        for (int rank = 0; rank < g->n; rank++)
            g->one[rank].done_early = rank != g->late && g->one[rank].users_left == 0;
        g->one[g->late].begun = 1;
        quiet = 0;
    }
}

char *graphs_result(const struct graphs *g, int rank)
{
    return g->in_place ? g->one[rank].src : g->one[rank].dst;
}

uint64_t graphs_sent(const struct graphs *g)
{
    uint64_t all = 0;
    for (int i = 0; i < g->n; i++)
        all += g->one[i].sent;
    return all;
}

uint64_t graphs_sent_bytes(const struct graphs *g)
{
    uint64_t all = 0;
    for (int i = 0; i < g->n; i++)
        all += g->one[i].sent_bytes;
    return all;
}

uint64_t graphs_flags(const struct graphs *g)
{
    uint64_t all = 0;
    for (int i = 0; i < g->n; i++)
        all += g->one[i].flags;
    return all;
}

/* --- operators -------------------------------------------------------------------------------- */

struct wdl_coll_op graphs_sum(void)
{
    return (struct wdl_coll_op){.fn = ranks_sum, .elem_bytes = 4, .commutes = WDL_COLL_EXACT};
}

struct wdl_coll_op graphs_compose(void)
{
    return (struct wdl_coll_op){.fn = ranks_compose, .elem_bytes = 4};
}

void graphs_fold(const struct graphs *g, const struct wdl_coll_op *op, int first, int last,
                 size_t at, size_t bytes, char *out)
{
    memcpy(out, g->one[last].src + at, bytes);
    for (int rank = last - 1; rank >= first; rank--)
        op->fn(op->ctx, g->one[rank].src + at, out, bytes / op->elem_bytes);
}
