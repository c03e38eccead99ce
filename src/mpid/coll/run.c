/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Running graphs: the one loop that steps the CARs of all runs of all teams. A CAR enters the
 * ready list when the last of its completion edges comes, and again whenever a producer of its
 * bytes gets further.
 */
#include <string.h>
#include "base/copy.h"
#include "mpid/coll/board.h"
#include "mpid/coll/direct.h"
#include "mpid/coll/fail.h"
#include "mpid/coll/flag.h"

char *wdl_run_at(const struct wdl_run *run, struct wdl_loc loc)
{
    switch (loc.buf) {
    case WDL_BUF_SRC:
        return (char *) (uintptr_t) run->args.src + loc.at;
    case WDL_BUF_DST:
        return (char *) run->args.dst + loc.at;
    case WDL_BUF_TMP:
        return run->tmp + loc.at;
    case WDL_BUF_AT:
        return (char *) (uintptr_t) loc.at;
    default:
        return NULL;
    }
}

void wdl_car_ready(struct wdl_car_run *c)
{
    if (wdl_list_empty(&c->link))
        wdl_list_push(&c->run->team->coll->ready, &c->link);
}

void wdl_car_wake(struct wdl_car_run *c)
{
    wdl_list_remove(&c->link);
    wdl_car_ready(c);
}

static void req_done(struct wdl_coll *coll, struct wdl_coll_req *req)
{
    req->done = 1;
    wdl_coll_live_add(coll, -1);
    if (req->fn)
        req->fn(req);
}

void wdl_req_end(struct wdl_coll *coll, struct wdl_coll_req *req, int status)
{
    req->status = status;
    if (coll->aside && (req->args.own & WDL_COLL_OWN_END))
        wdl_list_push(&coll->own_ends, &req->link);
    else
        req_done(coll, req);
}

static void req_end(struct wdl_run *run)
{
    struct wdl_coll_req *req = run->req;
    run->req = NULL;
    if (!req)
        return;
    run->team->coll->stats.finished++;
    wdl_req_end(run->team->coll, req, run->status);
}

/* Teams that wait for a run look again. */
static void dry_kick(struct wdl_coll *coll)
{
    struct wdl_list *node;
    while ((node = wdl_list_pop(&coll->dry)) != NULL)
        wdl_team_kick(wdl_container_of(node, struct wdl_team, dry));
}

/* The run has nothing left: its slot is free, it goes back to the graph or the pool. */
static void run_end(struct wdl_run *run)
{
    struct wdl_team *team = run->team;
    struct wdl_coll *coll = team->coll;
    struct wdl_graph *g = run->graph;
    wdl_assert_cmp(run->users_left, ==, 0);
    wdl_list_remove(&run->link);
    if (run->held && run->args.release)
        run->args.release(run->args.local);
    wdl_team_finished(run);
    wdl_store_put(&coll->store, run->apart); /* of one that has failed */
    run->apart = NULL;
    g->running--;
    coll->stats.running--;
    if (run->own)
        wdl_list_push_front(&g->idle, &run->link);
    else
        wdl_store_put(&coll->runs, run);
    dry_kick(coll);
    if (!g->kept && !g->running)
        wdl_graph_free(team, g);
}

static void car_arm(struct wdl_run *run, int i)
{
    struct wdl_car_run *c = &run->cars[i];
    wdl_assert_cmp(c->state, ==, WDL_CAR_WAITING);
    c->state = WDL_CAR_ARMED;
    const struct wdl_car *car = &run->graph->cars[i];
    if (car->kind == WDL_CAR_WATCH || (car->kind == WDL_CAR_RECV && car->shm))
        wdl_list_push(&run->team->coll->polled, &c->link);
    else if (car->kind == WDL_CAR_JOIN && car->maybe)
        return;
    else if (car->kind != WDL_CAR_RECV)
        wdl_car_ready(c);
    else if (!wdl_cell_take(run, i) && wdl_flag_is_awaited(run, car))
        wdl_list_push(&run->team->coll->polled, &c->link);
}

void wdl_run_go(struct wdl_run *run)
{
    wdl_assert_cmp(run->cars[0].waits, ==, 1);
    run->cars[0].waits = 0;
    car_arm(run, 0);
}

/* More bytes of this CAR are there: tell those that read them. */
static void car_progress(struct wdl_car_run *c)
{
    const struct wdl_car *car = wdl_car_of(c);
    struct wdl_run *run = c->run;
    for (int i = 0; i < car->edge_count; i++) {
        const struct wdl_edge *e = &run->graph->edges[car->edge + i];
        if (e->kind == WDL_EDGE_RANGE && run->cars[e->car].state == WDL_CAR_ARMED)
            wdl_car_ready(&run->cars[e->car]);
    }
}

void wdl_car_complete(struct wdl_car_run *c)
{
    const struct wdl_car *car = wdl_car_of(c);
    struct wdl_run *run = c->run;
    wdl_assert_cmp(c->state, ==, WDL_CAR_ARMED);
    wdl_assert(wdl_list_empty(&c->link));
    c->state = WDL_CAR_COMPLETE;
    c->done = car->bytes;
    car_progress(c);
    for (int i = 0; i < car->edge_count; i++) {
        const struct wdl_edge *e = &run->graph->edges[car->edge + i];
        if (e->kind == WDL_EDGE_WHOLE && --run->cars[e->car].waits == 0)
            car_arm(run, e->car);
        if (e->kind == WDL_EDGE_WAKE && run->cars[e->car].state == WDL_CAR_ARMED)
            wdl_car_wake(&run->cars[e->car]);
    }
    if (car->user && --run->users_left == 0)
        req_end(run);
    /* arming may have completed others: whoever takes the last one out ends the run */
    if (--run->cars_left == 0)
        run_end(run);
}

void wdl_car_give_up(struct wdl_run *run, int i)
{
    struct wdl_car_run *c = &run->cars[i];
    wdl_assert(run->graph->cars[i].maybe);
    if (c->state != WDL_CAR_ARMED)
        return;
    wdl_assert_cmp(c->arrived, ==, 0);
    wdl_list_remove(&c->link);
    wdl_car_complete(c);
}

int wdl_run_drain(struct wdl_run *run)
{
    int left = 0;
    for (int more = 1; more;) {
        more = left = 0;
        for (int i = 0; i < run->graph->ncars; i++) {
            struct wdl_car_run *c = &run->cars[i];
            if (c->state != WDL_CAR_ARMED)
                continue;
            if (wdl_direct_settle(c) == WDL_AGAIN) {
                left = 1;
                continue;
            }
            wdl_list_remove(&c->link);
            wdl_car_complete(c);
            more = 1;
        }
    }
    return !left;
}

void wdl_run_release(struct wdl_run *run)
{
    if (run->req && --run->users_left == 0)
        req_end(run);
    if (--run->cars_left == 0)
        run_end(run);
}

size_t wdl_car_limit(const struct wdl_car_run *c)
{
    const struct wdl_car *car = wdl_car_of(c);
    size_t limit = car->bytes;
    for (int i = 0; i < car->input_count; i++) {
        const struct wdl_input *in = &c->run->graph->inputs[car->input + i];
        size_t have = c->run->cars[in->car].done;
        have = have > in->from ? have - in->from : 0;
        if (have < in->bytes && in->at + have < limit)
            limit = in->at + have;
    }
    return limit;
}

static void step_bytes(struct wdl_car_run *c)
{
    const struct wdl_car *car = wdl_car_of(c);
    struct wdl_run *run = c->run;
    const struct wdl_coll_op *op = &run->args.op;
    size_t limit = wdl_car_limit(c), from = c->done;
    char *a = wdl_run_at(run, car->a), *b = wdl_run_at(run, car->b);
    if (car->kind == WDL_CAR_REDUCE && limit < car->bytes)
        limit -= limit % op->elem_bytes;
    if (limit > from) {
        if (car->kind == WDL_CAR_REDUCE)
            op->fn(op->ctx, a + from, b + from, (limit - from) / op->elem_bytes);
        else if (a != b)
            wdl_copy(b + from, a + from, limit - from);
        c->done = limit;
        if (limit < car->bytes)
            car_progress(c);
    }
    if (c->done == car->bytes)
        wdl_car_complete(c);
}

/* Is it to be left to the program? */
static int is_own(const struct wdl_car_run *c)
{
    enum wdl_car_kind kind = wdl_car_of(c)->kind;
    return c->run->team->coll->aside && (c->run->args.own & WDL_COLL_OWN_WORK) &&
           (kind == WDL_CAR_REDUCE || kind == WDL_CAR_CALL || kind == WDL_CAR_WATCH);
}

/* It has come. */
static int own_step(struct wdl_coll *coll)
{
    struct wdl_list *node;
    int n = 0;
    if (coll->aside)
        return 0;
    while ((node = wdl_list_pop(&coll->own_cars)) != NULL)
        wdl_list_push(&coll->ready, node);
    for (; (node = wdl_list_pop(&coll->own_ends)) != NULL; n++)
        req_done(coll, wdl_container_of(node, struct wdl_coll_req, link));
    return n;
}

void wdl_coll_aside(struct wdl_proc *proc, int aside)
{
    struct wdl_coll *coll = proc->coll;
    if (coll)
        coll->aside = aside;
}

/* One step of one CAR; WDL_AGAIN: the network refused. */
static int car_step(struct wdl_car_run *c)
{
    const struct wdl_car *car = wdl_car_of(c);
    if (c->state != WDL_CAR_ARMED)
        return WDL_OK;
    switch (car->kind) {
    case WDL_CAR_SEND:
        return wdl_send_step(c);
    case WDL_CAR_COPY:
    case WDL_CAR_REDUCE:
        step_bytes(c);
        return WDL_OK;
    case WDL_CAR_CALL: {
        int status = car->fn(c->run, car->arg);
        if (wdl_status_is_error(status))
            c->run->status = status;
        wdl_car_complete(c);
        return WDL_OK;
    }
    default:
        wdl_assert_cmp(car->kind, ==, WDL_CAR_JOIN);
        wdl_car_complete(c);
        return WDL_OK;
    }
}

/* Where all look at all boards, these say who agrees (node.h); who sees his node's alone tells. */
static void look_failed(struct wdl_run *run)
{
    if (wdl_status_is_error(run->status) && run->nodes)
        wdl_run_fail(run);
}

/* Has what a polled CAR looks out for come? Counts what a WATCH has done on the way. Of what has
 * failed nothing is passed on. */
static int polled_look(struct wdl_car_run *c, int *events)
{
    const struct wdl_car *car = wdl_car_of(c);
    if (c->run->doom || is_own(c))
        return 0;
    if (car->kind == WDL_CAR_RECV)
        return car->shm ? wdl_shm_load(c->run, car) != NULL : wdl_flag_has_come(c->run, car);
    int step = c->step, next = c->next;
    int status = car->watch(c->run, c);
    if (status == WDL_AGAIN) {
        if (c->step == step && c->next == next)
            return 0;
        ++*events;
        look_failed(c->run);
        return 0;
    }
    if (wdl_status_is_error(status))
        c->run->status = status;
    look_failed(c->run);
    return !c->run->doom;
}

/* RECVs whose shared cell or words have been written, and WATCHes that are done. */
static int polled_step(struct wdl_coll *coll)
{
    int n = wdl_teams_look(coll);
    struct wdl_list *node = coll->polled.next, come;
    wdl_list_init(&come);
    while (node != &coll->polled) {
        struct wdl_car_run *c = wdl_container_of(node, struct wdl_car_run, link);
        node = node->next;
        if (polled_look(c, &n)) {
            wdl_list_remove(&c->link);
            wdl_list_push(&come, &c->link);
            n++;
        }
    }
    while ((node = wdl_list_pop(&come)) != NULL) {
        struct wdl_car_run *c = wdl_container_of(node, struct wdl_car_run, link);
        const struct wdl_car *car = wdl_car_of(c);
        if (car->kind == WDL_CAR_WATCH) {
            wdl_car_complete(c);
            continue;
        }
        if (!car->shm) {
            wdl_flag_take(c);
            continue;
        }
        const void *data = wdl_shm_load(c->run, car);
        if (!wdl_shm_fits(c->run, car)) {
            wdl_run_fail(c->run);
            continue;
        }
        if (car->asks)
            memcpy(&c->offer, data, sizeof(c->offer));
        int status = wdl_run_deliver(c->run, (int) (c - c->run->cars), 0, data, car->bytes);
        wdl_assert_cmp(status, ==, WDL_OK);
    }
    return n;
}

/* Every poll of every wait asks. */
static int is_idle(const struct wdl_coll *coll)
{
    return wdl_list_empty(&coll->polled) && wdl_list_empty(&coll->waiting) &&
           wdl_list_empty(&coll->ready) && wdl_list_empty(&coll->stalled) &&
           wdl_list_empty(&coll->kicks) && wdl_list_empty(&coll->late) &&
           wdl_list_empty(&coll->own_cars) && wdl_list_empty(&coll->own_ends);
}

/* The graph's order says which of these goes first. Where all take turns, or the last to be ready
 * is the first to go, all are late. */
static int in_order(const struct wdl_car_run *c)
{
    const struct wdl_car *car = wdl_car_of(c);
    return car->kind == WDL_CAR_SEND && (car->bytes > car->piece || c->run->graph->in_order);
}

static int goes_before(const struct wdl_list *node, const struct wdl_car_run *c)
{
    const struct wdl_car_run *other = wdl_container_of(node, struct wdl_car_run, link);
    return other->run == c->run && other < c && in_order(other);
}

/* What has become ready since others were refused goes before them, but in order. */
static void stalled_again(struct wdl_coll *coll)
{
    struct wdl_list ordered, *node;
    if (wdl_list_empty(&coll->stalled))
        return;
    wdl_list_init(&ordered);
    for (node = coll->ready.next; node != &coll->ready;) {
        struct wdl_car_run *c = wdl_container_of(node, struct wdl_car_run, link);
        node = node->next;
        if (in_order(c)) {
            wdl_list_remove(&c->link);
            wdl_list_push(&ordered, &c->link);
        }
    }
    while ((node = wdl_list_pop(&ordered)) != NULL) {
        struct wdl_list *before = coll->stalled.prev;
        while (before != &coll->stalled &&
               !goes_before(before, wdl_container_of(node, struct wdl_car_run, link)))
            before = before->prev;
        wdl_list_push_front(before, node);
    }
    while ((node = wdl_list_pop(&coll->stalled)) != NULL)
        wdl_list_push(&coll->ready, node);
}

int wdl_coll_step(void *arg)
{
    struct wdl_coll *coll = arg;
    struct wdl_list *node;
    if (is_idle(coll) || coll->busy)
        return 0;
    coll->busy++;
    int n = own_step(coll) + wdl_coll_late_give(coll) + polled_step(coll);
    stalled_again(coll);
    for (;;) {
        node = wdl_list_pop(&coll->ready);
        if (node) {
            struct wdl_car_run *c = wdl_container_of(node, struct wdl_car_run, link);
            if (is_own(c))
                wdl_list_push(&coll->own_cars, &c->link);
            else if (car_step(c) == WDL_AGAIN)
                wdl_list_push(&coll->stalled, &c->link);
            else
                n++;
            continue;
        }
        node = wdl_list_pop(&coll->kicks);
        if (!node) {
            int more = polled_step(coll) + wdl_coll_late_give(coll);
            n += more;
            if (more)
                continue;
            coll->busy--;
            return n;
        }
        wdl_team_start_queued(wdl_container_of(node, struct wdl_team, kick));
    }
}

int wdl_coll_progress(struct wdl_proc *proc)
{
    return wdl_coll_step(proc->coll);
}

uint64_t wdl_coll_live(const struct wdl_proc *proc)
{
    const struct wdl_coll *coll = proc->coll;
    return coll ? __atomic_load_n(&coll->stats.live, __ATOMIC_RELAXED) : 0;
}

int wdl_coll_by_memory(struct wdl_proc *proc)
{
    const struct wdl_coll *coll = proc->coll;
    return coll && (!wdl_list_empty(&coll->polled) || !wdl_list_empty(&coll->waiting));
}

/* --- receiving --- */

/* Whole pieces but for the last one, each once: mark them. */
static int pieces_come(struct wdl_run *run, int i, uint64_t offset, uint64_t bytes)
{
    const struct wdl_car *car = &run->graph->cars[i];
    size_t piece = car->piece, *done = &run->cars[i].done;
    uint64_t *map = car->map ? car->map : run->maps + car->chunk_map;
    size_t last = (car->bytes - 1) / piece;
    if (offset % piece || bytes == 0 || (offset + bytes != car->bytes && bytes % piece))
        return WDL_ERR_PROTO;
    for (size_t n = offset / piece; n * piece < offset + bytes; n++) {
        if (map[n / 64] >> (n % 64) & 1)
            return WDL_ERR_PROTO;
        map[n / 64] |= (uint64_t) 1 << (n % 64);
    }
    for (size_t n = *done / piece; n <= last && (map[n / 64] >> (n % 64) & 1); n++)
        *done = n == last ? car->bytes : (n + 1) * piece;
    return WDL_OK;
}

static void bytes_come(struct wdl_run *run, int i, size_t bytes)
{
    struct wdl_car_run *c = &run->cars[i];
    c->arrived += bytes;
    if (c->arrived == run->graph->cars[i].bytes) {
        wdl_list_remove(&c->link); /* where it could have been put, too */
        wdl_car_complete(c);
    } else {
        car_progress(c);
    }
}

int wdl_run_deliver(struct wdl_run *run, int i, uint64_t offset, const void *data, size_t bytes)
{
    const struct wdl_car *car = &run->graph->cars[i];
    size_t chunk = run->team->coll->chunk_bytes;
    if (offset > car->bytes || bytes > car->bytes - offset)
        return WDL_ERR_PROTO;
    if (car->bytes > chunk) {
        if (bytes > chunk || pieces_come(run, i, offset, bytes) != WDL_OK)
            return WDL_ERR_PROTO;
    } else if (bytes != car->bytes) {
        return WDL_ERR_PROTO;
    } else {
        run->cars[i].done = bytes;
    }
    if (bytes)
        wdl_copy(wdl_run_at(run, car->b) + offset, data, bytes);
    run->team->coll->stats.copied_bytes += bytes;
    bytes_come(run, i, bytes);
    return WDL_OK;
}

int wdl_run_placed(struct wdl_run *run, int i, uint64_t offset, uint64_t bytes)
{
    const struct wdl_car *car = &run->graph->cars[i];
    int one_piece = car->bytes <= run->team->coll->chunk_bytes;
    if (one_piece && car->ahead && offset == 0 && bytes == car->bytes) {
        run->cars[i].done = car->bytes;
        bytes_come(run, i, bytes);
        return WDL_OK;
    }
    if (one_piece || offset > car->bytes || bytes > car->bytes - offset ||
        pieces_come(run, i, offset, bytes) != WDL_OK)
        return WDL_ERR_PROTO;
    bytes_come(run, i, bytes);
    return WDL_OK;
}

/* --- starting --- */

enum { TMP_ALIGN = 64 };

static size_t head_bytes(const struct wdl_graph *g)
{
    return sizeof(struct wdl_run) + (size_t) g->ncars * sizeof(struct wdl_car_run) +
           g->map_words * sizeof(uint64_t);
}

static size_t run_bytes(const struct wdl_graph *g)
{
    return head_bytes(g) + (g->tmp_bytes ? g->tmp_bytes + TMP_ALIGN : 0);
}

/* What is the same whenever it is used. */
static struct wdl_run *run_form(struct wdl_team *team, struct wdl_graph *g, struct wdl_run *run,
                                int own)
{
    if (!run)
        return NULL;
    size_t head = head_bytes(g);
    memset(run, 0, sizeof(*run));
    wdl_list_init(&run->link);
    run->own = own;
    run->graph = g;
    run->nodes = g->nodes;
    run->team = team;
    run->maps = (uint64_t *) (void *) &run->cars[g->ncars];
    run->tmp = (char *) (((uintptr_t) run + head + TMP_ALIGN - 1) & ~(uintptr_t) (TMP_ALIGN - 1));
    for (int i = 0; i < g->ncars; i++) {
        run->cars[i].run = run;
        wdl_list_init(&run->cars[i].link);
    }
    team->coll->stats.runs_made++;
    return run;
}

static int own_make(struct wdl_team *team, struct wdl_graph *g)
{
    struct wdl_run *run = run_form(team, g, wdl_store_make(&team->coll->store, run_bytes(g)), 1);
    if (!run)
        return WDL_ERR_NOMEM;
    wdl_list_push_front(&g->idle, &run->link);
    return WDL_OK;
}

/* So that several can be under way. A run too long for the pool has a second of its kind beside it,
 * which goes when the graph does. Without memory for them there are fewer at a time. */
static void more_make(struct wdl_team *team, struct wdl_graph *g)
{
    struct wdl_coll *coll = team->coll;
    size_t bytes = run_bytes(g), block = wdl_store_block_bytes(bytes), count = 0;
    size_t limit = coll->limits.run_bytes, most = (size_t) team->window - 1;
    if (block <= WDL_STORE_SMALL)
        count = limit / block;
    if (count > 0)
        (void) wdl_store_reserve(&coll->runs, bytes, (int) (count < most ? count : most));
    else if (limit > 0)
        (void) own_make(team, g);
}

/* When the graph is begun for the first time: a run of its own, so that it always can be. */
static int provide(struct wdl_team *team, struct wdl_graph *g, int has_req)
{
    if (g->running > 0 || !wdl_list_empty(&g->idle))
        return WDL_OK;
    if (own_make(team, g) != WDL_OK)
        return WDL_ERR_NOMEM;
    if (g->kept && has_req)
        more_make(team, g);
    if (g->syncs == WDL_SYNCS_ALL) /* of the empty ones a window has two */
        (void) own_make(team, g);
    return WDL_OK;
}

static struct wdl_run *run_take(struct wdl_team *team, struct wdl_graph *g)
{
    struct wdl_list *node = wdl_list_pop(&g->idle);
    if (node)
        return wdl_container_of(node, struct wdl_run, link);
    wdl_assert_cmp(g->running, >, 0); /* so that one will be free again */
    return run_form(team, g, wdl_store_get(&team->coll->runs, run_bytes(g)), 0);
}

int wdl_run_start(struct wdl_team *team, struct wdl_graph *g, struct wdl_coll_req *req,
                  uint32_t seq)
{
    if (provide(team, g, req != NULL) != WDL_OK)
        return WDL_ERR_NOMEM;
    struct wdl_run *run = run_take(team, g);
    struct wdl_coll_stats *stats = &team->coll->stats;
    uint32_t slot = seq % (uint32_t) team->window;
    if (!run)
        return WDL_AGAIN;
    run->req = req;
    run->held = req != NULL;
    run->seq = seq;
    run->print = wdl_print_with(g->print, req ? req->args.alike : 0);
    team->prints[seq & ((uint32_t) team->numbers - 1)] = run->print;
    run->doom = NULL;
    run->staged = NULL;
    run->taken = 0;
    run->stamp = ++team->started;
    run->status = WDL_OK;
    run->cars_left = g->ncars;
    run->users_left = g->nusers;
    if (req)
        run->args = req->args;
    else
        run->args = wdl_team_cards_args(team);
    if (team->node)
        wdl_board_open(run);
    if (g->map_words)
        memset(run->maps, 0, g->map_words * sizeof(uint64_t));
    for (int i = 0; i < g->ncars; i++) {
        struct wdl_car_run *c = &run->cars[i];
        c->state = WDL_CAR_WAITING;
        c->waits = g->cars[i].waits;
        c->flight = 0;
        c->done = c->arrived = 0;
        c->step = c->next = 0;
        c->stage = WDL_DIRECT_IDLE;
        c->offer.region = 0;
    }
    g->running++;
    wdl_list_push(&team->running, &run->link);
    wdl_assert(!team->slots[slot]);
    team->slots[slot] = run;
    stats->started++;
    if (++stats->running > stats->running_high)
        stats->running_high = stats->running;
    run->cars_left++; /* held until all that can begin has */
    for (int i = 0; i < g->ncars; i++)
        if (g->cars[i].waits == 0)
            car_arm(run, i);
    if (run->users_left == 0)
        req_end(run);
    wdl_run_look_doomed(run);
    if (run->args.wrong)
        wdl_run_fail(run);
    if (--run->cars_left == 0)
        run_end(run);
    return WDL_OK;
}
