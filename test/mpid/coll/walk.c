/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A walk through the graphs of all ranks in LogGP's time. The engine chooses the algorithm and
 * builds the graphs, as on a rank of its own; they are kept in little memory and stepped in the
 * order run.c has: what has come is delivered, then what is ready is done, in turn.
 */
#include <stdlib.h>
#include <string.h>
#include "base/assert.h"
#include "host/testhost.h"
#include "mpid/coll/cost.h"
#include "mpid/coll/nodes.h"
#include "mpid/coll/simtime.h"

enum { NONE = -1 };

struct step { /* a CAR */
    unsigned char kind, user, come; /* come: the message is here */
    int32_t waits, edge, edges; /* edges: how many, from w->edges[edge] on */
    int32_t peer, next; /* next: in its rank's list */
    uint32_t role, bytes;
};

struct message {
    uint64_t due;
    uint32_t role, bytes;
    int32_t next; /* in its receiver's inbox, in sending order */
    int begun;
};

struct place { /* a rank */
    int32_t first, count; /* its steps */
    int32_t searched; /* for the step of the last message */
    int32_t ready, ready_last, stalled, stalled_last, inbox, inbox_last;
    int users, in_order;
    uint64_t processor_free, send_free, receive_free, wake;
};

struct event {
    uint64_t at;
    int32_t rank;
};

struct walk {
    const struct wdl_sim_loggp *p;
    int ranks;
    struct place *places;
    struct step *steps;
    int32_t *edges;
    size_t nsteps, steps_room, nedges, edges_room;
    struct message *messages;
    size_t nmessages, messages_room;
    int32_t message_free;
    struct event *heap;
    size_t nheap, heap_room;
    uint64_t now, end, sent;
};

static void *more(void *old, size_t used, size_t *room, size_t element)
{
    if (used < *room)
        return old;
    *room = *room ? 2 * *room : 1024;
    void *memory = realloc(old, *room * element);
    wdl_assert(memory);
    return memory;
}

/* --- the graphs --- */

static void keep(struct walk *w, int rank, const struct wdl_graph *g)
{
    struct place *place = &w->places[rank];
    *place = (struct place){.first = (int32_t) w->nsteps,
                            .count = g->ncars,
                            .searched = (int32_t) w->nsteps,
                            .ready = NONE,
                            .stalled = NONE,
                            .inbox = NONE,
                            .users = g->nusers,
                            .in_order = g->in_order,
                            .wake = UINT64_MAX};
    for (int i = 0; i < g->ncars; i++) {
        const struct wdl_car *car = &g->cars[i];
        w->steps = more(w->steps, w->nsteps, &w->steps_room, sizeof(w->steps[0]));
        struct step *s = &w->steps[w->nsteps++];
        *s = (struct step){.kind = (unsigned char) car->kind,
                           .user = (unsigned char) car->user,
                           .waits = car->waits + car->input_count,
                           .edge = (int32_t) w->nedges,
                           .edges = car->edge_count,
                           .peer = car->peer,
                           .next = NONE,
                           .role = car->role,
                           .bytes = (uint32_t) car->bytes};
        for (int k = 0; k < car->edge_count; k++) {
            w->edges = more(w->edges, w->nedges, &w->edges_room, sizeof(w->edges[0]));
            w->edges[w->nedges++] = place->first + g->edges[car->edge + k].car;
        }
    }
}

/* Pieces flow through a graph one after another: that is not followed here. */
static int too_long(const struct wdl_graph *g)
{
    for (int i = 0; i < g->ncars; i++)
        if (g->cars[i].kind == WDL_CAR_SEND && g->cars[i].bytes > SIMTIME_PACKET)
            return 1;
    return 0;
}

static uint64_t sends_of(const struct wdl_graph *g)
{
    uint64_t n = 0;
    for (int i = 0; i < g->ncars; i++)
        n += g->cars[i].kind == WDL_CAR_SEND;
    return n;
}

static int node_of(void *ctx, int rank)
{
    const struct simtime_call *call = ctx;
    return call->domains ? 0 : rank / call->node;
}

static int domain_of(void *ctx, int rank)
{
    const struct simtime_call *call = ctx;
    return rank / call->node;
}

static void nodes_find(struct wdl_team *team, const struct simtime_call *call)
{
    int status = WDL_OK;
    if (call->node)
        status = wdl_nodes_make(team, &team->nodes);
    wdl_assert_cmp(status, ==, WDL_OK);
}

static int graphs_keep(struct walk *w, const struct simtime_network *network,
                       const struct simtime_call *call, uint64_t messages_max)
{
    struct test_host host;
    test_host_init(&host);
    struct wdl_coll coll = {.host = host.host, .chunk_bytes = SIMTIME_PACKET};
    struct wdl_team team = {.coll = &coll,
                            .params = {.size = w->ranks,
                                       .window = 8,
                                       .model = simtime_model(network),
                                       .node_of = node_of,
                                       .domain_of = domain_of,
                                       .opened_ctx = (void *) (uintptr_t) call}};
    struct wdl_coll_args args = simtime_args(call);
    char somewhere[2];
    uint64_t sends = 0;
    int status, possible = 1;
    wdl_store_init(&coll.store, &coll.host);
    team.params.model.across = wdl_cost_within(1, 0); /* trees are those of rounds */
    args.src = somewhere;
    args.dst = somewhere + 1;
    wdl_team_shape(&team);
    wdl_list_init(&team.graphs);
    for (int rank = 0; rank < w->ranks && possible; rank++) {
        team.rank = rank;
        nodes_find(&team, call);
        int row = wdl_select_row(&team, &args, &status);
        wdl_assert_cmp(row, >=, 0);
        struct wdl_graph *g = wdl_select_graph(&team, &args, row);
        wdl_assert(g);
        sends += sends_of(g);
        possible = !too_long(g) && sends <= messages_max;
        if (possible)
            keep(w, rank, g);
        wdl_graph_free(&team, g);
        team.ngraphs = 0;
        host.host.ops->free(host.host.ctx, team.nodes);
    }
    wdl_store_fini(&coll.store);
    return possible;
}

/* --- events: when a rank has something to do; at one instant, in the order of ranks --- */

static int before(const struct event *a, const struct event *b)
{
    return a->at < b->at || (a->at == b->at && a->rank < b->rank);
}

static void wake_at(struct walk *w, int rank, uint64_t at)
{
    struct place *place = &w->places[rank];
    if (at >= place->wake)
        return;
    place->wake = at;
    w->heap = more(w->heap, w->nheap, &w->heap_room, sizeof(w->heap[0]));
    struct event e = {at, rank};
    size_t i = w->nheap++;
    for (; i > 0 && before(&e, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = e;
}

static struct event event_pop(struct walk *w)
{
    struct event top = w->heap[0], last = w->heap[--w->nheap];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < w->nheap; i = child) {
        if (child + 1 < w->nheap && before(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!before(&w->heap[child], &last))
            break;
        w->heap[i] = w->heap[child];
    }
    w->heap[i] = last;
    return top;
}

/* --- steps --- */

static void push(struct walk *w, int32_t *first, int32_t *last, int32_t step)
{
    w->steps[step].next = NONE;
    if (*first == NONE)
        *first = step;
    else
        w->steps[*last].next = step;
    *last = step;
}

static void arm(struct walk *w, struct place *place, int32_t step);

static void complete(struct walk *w, struct place *place, int32_t step)
{
    const struct step s = w->steps[step];
    for (int32_t k = 0; k < s.edges; k++) {
        int32_t after = w->edges[s.edge + k];
        if (--w->steps[after].waits == 0)
            arm(w, place, after);
    }
    if (s.user && --place->users == 0)
        w->end = w->now;
}

static void arm(struct walk *w, struct place *place, int32_t step)
{
    if (w->steps[step].kind != WDL_CAR_RECV)
        push(w, &place->ready, &place->ready_last, step);
    else if (w->steps[step].come)
        complete(w, place, step);
}

static uint64_t gap(const struct walk *w)
{
    return w->p->g_ns > w->p->o_ns ? w->p->g_ns : w->p->o_ns;
}

static uint64_t wire(const struct walk *w, uint32_t bytes)
{
    return bytes ? (bytes - 1) * w->p->byte_ps / 1000 : 0;
}

static int32_t message_new(struct walk *w)
{
    int32_t i = w->message_free;
    if (i != NONE) {
        w->message_free = w->messages[i].next;
        return i;
    }
    w->messages = more(w->messages, w->nmessages, &w->messages_room, sizeof(w->messages[0]));
    return (int32_t) w->nmessages++;
}

static uint64_t receive_at(const struct place *place, const struct message *m)
{
    uint64_t at = m->due > place->processor_free ? m->due : place->processor_free;
    return place->receive_free > at ? place->receive_free : at;
}

/* 0: not now */
static int send_now(struct walk *w, struct place *place, const struct step *s)
{
    if (w->now < place->processor_free || w->now < place->send_free)
        return 0;
    int32_t i = message_new(w);
    struct place *to = &w->places[s->peer];
    place->processor_free = w->now + w->p->o_ns;
    place->send_free = w->now + gap(w) + wire(w, s->bytes);
    w->messages[i] = (struct message){.due = w->now + w->p->o_ns + wire(w, s->bytes) + w->p->l_ns,
                                      .role = s->role,
                                      .bytes = s->bytes,
                                      .next = NONE};
    if (to->inbox == NONE)
        to->inbox = i;
    else
        w->messages[to->inbox_last].next = i;
    to->inbox_last = i;
    w->sent++;
    wake_at(w, s->peer, receive_at(to, &w->messages[i]));
    return 1;
}

/* What has become ready since, in the order of the graph. */
static void order(struct walk *w, struct place *place)
{
    int32_t i = place->ready, next;
    for (place->ready = NONE; i != NONE; i = next) {
        int32_t *link = &place->stalled;
        next = w->steps[i].next;
        if (w->steps[i].kind != WDL_CAR_SEND) {
            push(w, &place->ready, &place->ready_last, i);
            continue;
        }
        for (int32_t k = place->stalled; k != NONE; k = w->steps[k].next)
            link = k < i ? &w->steps[k].next : link;
        if (*link == NONE)
            place->stalled_last = i;
        w->steps[i].next = *link;
        *link = i;
    }
}

static void steps_do(struct walk *w, struct place *place)
{
    if (place->stalled != NONE && place->in_order)
        order(w, place);
    if (place->stalled != NONE) {
        if (place->ready == NONE)
            place->ready = place->stalled;
        else
            w->steps[place->ready_last].next = place->stalled;
        place->ready_last = place->stalled_last;
        place->stalled = NONE;
    }
    while (place->ready != NONE) {
        int32_t i = place->ready;
        place->ready = w->steps[i].next;
        if (w->steps[i].kind == WDL_CAR_SEND && !send_now(w, place, &w->steps[i]))
            push(w, &place->stalled, &place->stalled_last, i);
        else
            complete(w, place, i);
    }
}

/* Messages come nearly in the order of their steps: the search goes on where the last one ended. */
static void deliver(struct walk *w, struct place *place, uint32_t role)
{
    int32_t i = place->searched, end = place->first + place->count;
    while (w->steps[i].kind != WDL_CAR_RECV || w->steps[i].role != role || w->steps[i].come) {
        i = i + 1 < end ? i + 1 : place->first;
        wdl_assert_cmp(i, !=, place->searched);
    }
    place->searched = i;
    w->steps[i].come = 1;
    if (w->steps[i].waits == 0)
        complete(w, place, i);
}

static void inbox_look(struct walk *w, struct place *place)
{
    int32_t *link = &place->inbox, passed = NONE;
    for (int32_t i; (i = *link) != NONE;) {
        struct message *m = &w->messages[i];
        if (!m->begun && w->now >= receive_at(place, m)) {
            m->begun = 1;
            m->due = w->now + w->p->o_ns;
            place->processor_free = m->due;
            place->receive_free = w->now + gap(w) + wire(w, m->bytes);
        }
        if (!m->begun || w->now < m->due) {
            passed = i;
            link = &m->next;
            continue;
        }
        *link = m->next;
        if (place->inbox_last == i)
            place->inbox_last = passed;
        m->next = w->message_free;
        w->message_free = i;
        deliver(w, place, m->role);
    }
}

static void wake(struct walk *w, int rank)
{
    struct place *place = &w->places[rank];
    place->wake = UINT64_MAX;
    inbox_look(w, place);
    steps_do(w, place);
    for (int32_t i = place->inbox; i != NONE; i = w->messages[i].next) {
        const struct message *m = &w->messages[i];
        wake_at(w, rank, m->begun ? m->due : receive_at(place, m));
    }
    if (place->stalled != NONE)
        wake_at(w, rank,
                place->processor_free > place->send_free ? place->processor_free
                                                         : place->send_free);
}

int simtime_walk(const struct simtime_network *network, int ranks, const struct simtime_call *call,
                 uint64_t messages_max, struct simtime_result *result_out)
{
    struct walk w = {.p = &network->loggp, .ranks = ranks, .message_free = NONE, .now = 1};
    w.places = calloc((size_t) ranks, sizeof(w.places[0]));
    wdl_assert(w.places);
    int possible = graphs_keep(&w, network, call, messages_max);
    for (int r = 0; r < ranks && possible; r++) {
        struct place *place = &w.places[r];
        w.end = w.now;
        for (int32_t i = place->first; i < place->first + place->count; i++)
            if (w.steps[i].waits == 0)
                arm(&w, place, i);
        wake_at(&w, r, w.now);
    }
    while (possible && w.nheap) {
        struct event e = event_pop(&w);
        if (w.places[e.rank].wake != e.at)
            continue; /* it has been woken earlier since */
        w.now = e.at;
        wake(&w, e.rank);
    }
    for (int r = 0; r < ranks && possible; r++)
        wdl_assert_cmp(w.places[r].users, ==, 0);
    *result_out = (struct simtime_result){w.end - 1, w.sent, 0};
    free(w.places);
    free(w.steps);
    free(w.edges);
    free(w.messages);
    free(w.heap);
    return possible;
}
