/* Part of Windlass. See COPYRIGHT in the top-level directory. Building graphs of CARs. */
#include "mpid/coll/car.h"
#include <string.h>
#include "base/assert.h"
#include "mpid/coll/nodes.h"

enum { FIRST_ROOM = 32, TMP_ALIGN = 64 };

void wdl_build_begin(struct wdl_build *b, struct wdl_team *team, const struct wdl_coll_args *args)
{
    memset(b, 0, sizeof(*b));
    b->team = team;
    b->args = args;
    wdl_build_flat(b);
}

void wdl_build_flat(struct wdl_build *b)
{
    b->rank = b->team->rank;
    b->size = b->team->size;
    b->root = b->args ? b->args->root : 0;
    b->span = &b->team->span;
    b->leader = NULL;
    b->from = (struct wdl_loc){WDL_BUF_SRC, 0};
    b->to = (struct wdl_loc){WDL_BUF_DST, 0};
}

static int team_rank(const struct wdl_build *b, int peer)
{
    wdl_assert_cmp(peer, !=, b->rank);
    wdl_assert_cmp(peer, <, b->size);
    if (!b->leader || peer == WDL_PEER_LATER)
        return peer;
    return peer == b->root ? b->head : b->leader[peer];
}

/* Room for one more element; a bigger piece replaces the old one. NULL: out of memory. */
static void *grow(struct wdl_build *b, void *old, int used, int *room, size_t element)
{
    struct wdl_store *store = &b->team->coll->store;
    if (used < *room)
        return old;
    int wanted = *room ? 2 * *room : FIRST_ROOM;
    void *memory = wdl_store_make(store, (size_t) wanted * element);
    if (!memory) {
        b->status = WDL_ERR_NOMEM;
        return NULL;
    }
    if (old) {
        memcpy(memory, old, (size_t) used * element);
        wdl_store_put(store, old);
    }
    *room = wanted;
    return memory;
}

static int car_new(struct wdl_build *b, const struct wdl_car *car)
{
    struct wdl_car *cars = grow(b, b->cars, b->ncars, &b->cars_room, sizeof(*cars));
    if (!cars)
        return WDL_CAR_NONE;
    b->cars = cars;
    cars[b->ncars] = *car;
    return b->ncars++;
}

static int is_left_out(const struct wdl_build *b, int peer)
{
    const struct wdl_nodes *nodes = b->team->nodes;
    return b->far && peer != WDL_PEER_LATER && nodes->node_of[peer] == nodes->mine;
}

int wdl_build_send(struct wdl_build *b, int peer, uint32_t role, struct wdl_loc a, size_t bytes)
{
    if (is_left_out(b, peer))
        return WDL_CAR_NONE;
    return car_new(b, &(struct wdl_car){.kind = WDL_CAR_SEND,
                                        .peer = team_rank(b, peer),
                                        .role = role,
                                        .a = a,
                                        .bytes = bytes});
}

int wdl_build_recv(struct wdl_build *b, int peer, uint32_t role, struct wdl_loc to, size_t bytes)
{
    if (is_left_out(b, peer))
        return WDL_CAR_NONE;
    return car_new(b, &(struct wdl_car){.kind = WDL_CAR_RECV,
                                        .peer = team_rank(b, peer),
                                        .role = role,
                                        .b = to,
                                        .bytes = bytes});
}

int wdl_build_copy(struct wdl_build *b, struct wdl_loc to, struct wdl_loc from, size_t bytes)
{
    return car_new(b, &(struct wdl_car){.kind = WDL_CAR_COPY, .a = from, .b = to, .bytes = bytes});
}

static int own_differs(struct wdl_run *run, int arg)
{
    (void) run;
    (void) arg;
    return WDL_ERR_TRUNCATE;
}

int wdl_build_own(struct wdl_build *b, struct wdl_loc to, size_t wanted, struct wdl_loc from,
                  size_t given)
{
    if (wanted != given)
        wdl_build_user(b, wdl_build_call(b, own_differs, 0, 0));
    return wdl_build_copy(b, to, from, given < wanted ? given : wanted);
}

int wdl_build_reduce(struct wdl_build *b, struct wdl_loc left, struct wdl_loc inout, size_t bytes)
{
    return car_new(
        b, &(struct wdl_car){.kind = WDL_CAR_REDUCE, .a = left, .b = inout, .bytes = bytes});
}

int wdl_build_call(struct wdl_build *b, wdl_car_fn fn, int arg, int touches)
{
    return car_new(
        b, &(struct wdl_car){.kind = WDL_CAR_CALL, .fn = fn, .arg = arg, .touches = touches});
}

int wdl_build_watch(struct wdl_build *b, wdl_watch_fn watch, int touches)
{
    return car_new(b, &(struct wdl_car){.kind = WDL_CAR_WATCH, .watch = watch, .touches = touches});
}

int wdl_build_join(struct wdl_build *b)
{
    return car_new(b, &(struct wdl_car){.kind = WDL_CAR_JOIN});
}

int wdl_build_gate(struct wdl_build *b)
{
    return car_new(b, &(struct wdl_car){.kind = WDL_CAR_JOIN, .maybe = 1});
}

static void dep_new(struct wdl_build *b, const struct wdl_dep *dep)
{
    if (dep->before == WDL_CAR_NONE || dep->after == WDL_CAR_NONE)
        return;
    wdl_assert_cmp(dep->before, !=, dep->after);
    struct wdl_dep *deps = grow(b, b->deps, b->ndeps, &b->deps_room, sizeof(*deps));
    if (!deps)
        return;
    b->deps = deps;
    deps[b->ndeps++] = *dep;
}

void wdl_build_order(struct wdl_build *b, int before, int after)
{
    dep_new(b, &(struct wdl_dep){.before = before, .after = after});
}

void wdl_build_wake(struct wdl_build *b, int before, int after)
{
    dep_new(b, &(struct wdl_dep){.before = before, .after = after, .kind = WDL_EDGE_WAKE});
}

void wdl_build_stream(struct wdl_build *b, int before, size_t from, int after, size_t at,
                      size_t bytes)
{
    dep_new(b, &(struct wdl_dep){.before = before,
                                 .after = after,
                                 .kind = bytes > 0 ? WDL_EDGE_RANGE : WDL_EDGE_WHOLE,
                                 .at = at,
                                 .from = from,
                                 .bytes = bytes});
}

size_t wdl_build_tmp(struct wdl_build *b, size_t bytes)
{
    size_t at = b->tmp_bytes;
    b->tmp_bytes += (bytes + TMP_ALIGN - 1) & ~(size_t) (TMP_ALIGN - 1);
    return at;
}

void wdl_build_user(struct wdl_build *b, int car)
{
    if (car != WDL_CAR_NONE)
        b->cars[car].user = 1;
}

void wdl_build_touches(struct wdl_build *b, int car, int touches)
{
    if (car != WDL_CAR_NONE)
        b->cars[car].touches |= touches;
}

int wdl_car_touches(const struct wdl_car *car)
{
    int reads = car->a.buf == WDL_BUF_SRC || car->a.buf == WDL_BUF_DST;
    int writes = car->b.buf == WDL_BUF_SRC || car->b.buf == WDL_BUF_DST;
    return (reads ? 1 : 0) | (writes ? 2 : 0) | car->touches;
}

/* Sort the dependencies into each CAR's table and list of inputs. */
static void deps_place(struct wdl_build *b, struct wdl_graph *g)
{
    int edges = 0, inputs = 0;
    for (int i = 0; i < b->ndeps; i++) {
        g->cars[b->deps[i].before].edge_count++;
        if (b->deps[i].kind == WDL_EDGE_RANGE)
            g->cars[b->deps[i].after].input_count++;
        else if (b->deps[i].kind == WDL_EDGE_WHOLE)
            g->cars[b->deps[i].after].waits++;
    }
    for (int i = 0; i < g->ncars; i++) {
        struct wdl_car *car = &g->cars[i];
        car->edge = edges;
        car->input = inputs;
        edges += car->edge_count;
        inputs += car->input_count;
        car->edge_count = car->input_count = 0;
    }
    for (int i = 0; i < b->ndeps; i++) {
        const struct wdl_dep *d = &b->deps[i];
        struct wdl_car *before = &g->cars[d->before], *after = &g->cars[d->after];
        g->edges[before->edge + before->edge_count++] = (struct wdl_edge){d->after, d->kind};
        if (d->kind == WDL_EDGE_RANGE)
            g->inputs[after->input + after->input_count++] =
                (struct wdl_input){d->before, d->at, d->from, d->bytes};
    }
}

/* Whom the request waits for: OUT_NOSYNC, only what writes here (the writes of all ranks together
 * are all data movement); otherwise all that touches memory here. What the builder marked counts
 * in any case, and what uses the operator, whose context is the caller's again when the request is
 * done. */
static void users_mark(struct wdl_build *b, struct wdl_graph *g)
{
    int wanted = b->args && (b->args->flags & WDL_COLL_OUT_NOSYNC) ? 2 : 3;
    for (int i = 0; i < g->ncars; i++) {
        if (wdl_car_touches(&g->cars[i]) & wanted || g->cars[i].kind == WDL_CAR_REDUCE)
            g->cars[i].user = 1;
        g->nusers += g->cars[i].user;
    }
}

/* As few packets as there can be, alike: a short one behind a long one waits at its receiver's port
 * until that is through. */
size_t wdl_car_piece(const struct wdl_team *team, size_t bytes)
{
    enum { LINE = 64 };
    size_t chunk = team->coll->chunk_bytes;
    if (bytes <= chunk)
        return chunk;
    size_t pieces = (bytes + chunk - 1) / chunk, piece = (bytes + pieces - 1) / pieces;
    return (piece + LINE - 1) / LINE * LINE; /* chunk is whole lines */
}

size_t wdl_car_map_words(const struct wdl_team *team, size_t bytes)
{
    size_t piece = wdl_car_piece(team, bytes);
    return bytes > team->coll->chunk_bytes ? ((bytes + piece - 1) / piece + 63) / 64 : 0;
}

static void role_place(struct wdl_graph *g, int i)
{
    wdl_assert_cmp(g->car_of_role[g->cars[i].role], ==, WDL_CAR_NONE);
    g->car_of_role[g->cars[i].role] = i;
}

static void roles_place(struct wdl_build *b, struct wdl_graph *g)
{
    for (uint32_t r = 0; r < g->nroles; r++)
        g->car_of_role[r] = WDL_CAR_NONE;
    for (int i = 0; i < g->ncars; i++) {
        struct wdl_car *car = &g->cars[i];
        car->piece = wdl_car_piece(b->team, car->bytes);
        if (car->kind != WDL_CAR_RECV)
            continue;
        if (car->peer != WDL_PEER_LATER)
            role_place(g, i);
        car->chunk_map = g->map_words;
        g->map_words += wdl_car_map_words(b->team, car->bytes);
    }
}

static uint32_t roles_count(const struct wdl_build *b)
{
    uint32_t n = 0;
    for (int i = 0; i < b->ncars; i++) {
        const struct wdl_car *car = &b->cars[i];
        uint32_t end = car->role + (car->peer == WDL_PEER_LATER ? (uint32_t) b->size : 1);
        if (car->kind == WDL_CAR_RECV && end > n)
            n = end;
    }
    return n;
}

struct wdl_graph *wdl_build_end(struct wdl_build *b)
{
    struct wdl_store *store = &b->team->coll->store;
    uint32_t nroles = roles_count(b);
    size_t cars = (size_t) b->ncars * sizeof(struct wdl_car);
    size_t inputs = (size_t) b->ndeps * sizeof(struct wdl_input);
    size_t edges = (size_t) b->ndeps * sizeof(struct wdl_edge);
    struct wdl_graph *g = NULL;
    if (b->status == WDL_OK)
        g = wdl_store_make(store, sizeof(*g) + cars + inputs + edges + nroles * sizeof(int32_t));
    if (g) {
        memset(g, 0, sizeof(*g));
        g->cars = (struct wdl_car *) (g + 1);
        g->inputs = (struct wdl_input *) (void *) ((char *) g->cars + cars);
        g->edges = (struct wdl_edge *) (void *) ((char *) g->inputs + inputs);
        g->car_of_role = (int32_t *) (void *) ((char *) g->edges + edges);
        g->ncars = b->ncars;
        g->nroles = nroles;
        g->in_order = b->in_order;
        g->tmp_bytes = b->tmp_bytes;
        if (cars)
            memcpy(g->cars, b->cars, cars);
        for (int i = 0; i < g->ncars; i++)
            if (g->cars[i].peer != WDL_PEER_LATER)
                g->cars[i].shm = wdl_shm_cell_of(b->team, &g->cars[i]);
        wdl_list_init(&g->link);
        wdl_list_init(&g->idle);
        deps_place(b, g);
        roles_place(b, g);
        users_mark(b, g);
        b->team->coll->stats.graphs_built++;
    }
    wdl_store_put(store, b->cars);
    wdl_store_put(store, b->deps);
    b->cars = NULL;
    b->deps = NULL;
    return g;
}

void wdl_graph_free(struct wdl_team *team, struct wdl_graph *graph)
{
    struct wdl_store *store = &team->coll->store;
    struct wdl_list *node;
    wdl_assert_cmp(graph->running, ==, 0);
    while ((node = wdl_list_pop(&graph->idle)) != NULL)
        wdl_store_put(store, wdl_container_of(node, struct wdl_run, link));
    wdl_list_remove(&graph->link);
    wdl_store_put(store, graph->lists);
    wdl_store_put(store, graph);
}

/* --- lengths and ranks that come late ---
 *
 * Of a message whose length its graph's builder does not know, since what comes first says so, the
 * CAR is built empty, and has its length and its place from a CALL that it depends on. So it is
 * where the graph is used once, and its table the run's own. */

static int late(struct wdl_build *b, int car)
{
    if (car != WDL_CAR_NONE)
        b->cars[car].late = 1;
    return car;
}

int wdl_build_send_late(struct wdl_build *b, int peer, uint32_t role)
{
    return late(b, wdl_build_send(b, peer, role, (struct wdl_loc){WDL_BUF_NONE, 0}, 0));
}

int wdl_build_recv_late(struct wdl_build *b, int peer, uint32_t role)
{
    return late(b, wdl_build_recv(b, peer, role, (struct wdl_loc){WDL_BUF_NONE, 0}, 0));
}

int wdl_build_offer_late(struct wdl_build *b, int peer, uint32_t role)
{
    int car = late(b, wdl_build_send(b, peer, role, (struct wdl_loc){WDL_BUF_NONE, 0}, 0));
    if (car != WDL_CAR_NONE)
        b->cars[car].offers = 1;
    return car;
}

static struct wdl_car *waiting(struct wdl_run *run, int i)
{
    wdl_assert(!run->graph->kept);
    wdl_assert_cmp(run->graph->running, ==, 1);
    wdl_assert_cmp(run->cars[i].state, ==, WDL_CAR_WAITING);
    return &run->graph->cars[i];
}

void wdl_car_size(struct wdl_run *run, int i, void *at, size_t bytes, uint64_t *map)
{
    struct wdl_car *car = waiting(run, i);
    wdl_assert(car->late);
    car->late = 0;
    car->a = car->b = wdl_at(at);
    car->bytes = bytes;
    car->piece = wdl_car_piece(run->team, bytes);
    car->map = map;
    car->shm = wdl_shm_cell_of(run->team, car);
}

void wdl_car_offer(struct wdl_run *run, int i, void *at, size_t bytes)
{
    struct wdl_car *car = waiting(run, i);
    wdl_assert(car->late && car->offers);
    car->late = 0;
    car->offered = wdl_at(at);
    car->offered_bytes = bytes;
}

int wdl_build_recv_maybe(struct wdl_build *b, int peer, uint32_t role, struct wdl_loc to,
                         size_t bytes)
{
    int car = wdl_build_recv(b, peer, role, to, bytes);
    if (car != WDL_CAR_NONE)
        b->cars[car].maybe = 1;
    return car;
}

void wdl_car_peer(struct wdl_run *run, int i, int peer, uint32_t roles)
{
    struct wdl_car *car = waiting(run, i);
    if (car->kind == WDL_CAR_CALL)
        car->arg = peer;
    if (car->kind != WDL_CAR_SEND && car->kind != WDL_CAR_RECV)
        return;
    wdl_assert_cmp(car->peer, ==, WDL_PEER_LATER);
    car->peer = peer;
    car->role += roles;
    car->shm = wdl_shm_cell_of(run->team, car);
    if (car->kind == WDL_CAR_RECV)
        role_place(run->graph, i);
}

/* A meeting point: what depends on it goes on. */
void wdl_car_drop(struct wdl_run *run, int i)
{
    struct wdl_car *car = waiting(run, i);
    car->kind = WDL_CAR_JOIN;
    car->late = car->maybe = 0;
}
