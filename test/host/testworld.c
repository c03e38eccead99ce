/* Part of Windlass. See COPYRIGHT in the top-level directory. A small world for unit tests. */
#include "host/testworld.h"
#include <stdlib.h>
#include <string.h>

static int peer_of(void *ctx, int rank)
{
    const struct test_rank *r = ctx;
    wdl_assert_cmp(rank, >=, 0);        /* nobody asks for a rank there is not */
    wdl_assert_cmp(rank, <, r->world->n);
    return rank;
}

static int first_of(void *ctx, int node)
{
    const struct test_rank *r = ctx;
    wdl_assert_cmp(r->rank % r->world->params.node, ==, 0);     /* others do not ask */
    wdl_assert_cmp(node, !=, r->rank / r->world->params.node);
    return node * r->world->params.node;
}

static void rank_info(void *ctx, int rank, struct wdl_win_rank *info)
{
    const struct test_world_params *p = &((struct test_rank *) ctx)->world->params;
    (void) rank;
    info->bytes = p->dynamic ? UINT64_MAX : p->bytes;
    info->disp_unit = p->dynamic ? 1 : p->disp_unit;
}

static void *map(void *ctx, int rank, struct wdl_win_control **control_out)
{
    struct test_rank *r = ctx;
    struct test_world *w = r->world;
    *control_out = NULL;
    if (rank / w->params.node != r->rank / w->params.node)
        return NULL;
    *control_out = &w->control[rank];
    return (w->params.own || w->params.dynamic) && rank != r->rank ? NULL : w->rank[rank].memory;
}

static const void *address(void *ctx, int peer, size_t *bytes_out)
{
    struct test_world *w = ctx;
    const void *addr = NULL;
    w->rank[peer].proc->nm->ops->address(w->rank[peer].proc->nm, &addr, bytes_out);
    return addr;
}

struct wdl_win_params test_win_params(struct test_rank *r)
{
    struct test_world *w = r->world;
    const struct test_world_params *p = &w->params;
    int first = r->rank / p->node * p->node, whole = p->node >= w->n + p->absent;
    struct wdl_win_params win = {.id = 7,.rank = r->rank,
        .size = w->n + p->absent,.ctx = r
    };
    win.flavor = p->dynamic ? WDL_WIN_DYNAMIC : p->own ? WDL_WIN_CREATE : WDL_WIN_ALLOCATE;
    win.flavor = p->shared ? WDL_WIN_SHARED : win.flavor;
    win.base = p->dynamic ? NULL : r->memory;
    win.bytes = p->dynamic ? 0 : p->bytes;
    win.disp_unit = p->dynamic ? 1 : p->disp_unit;
    win.peer_of = peer_of;
    win.rank_info = rank_info;
    win.map = map;
    win.mapped_any = p->node > 1 && w->n > 1 && !p->own && !p->dynamic;
    win.node = &w->control[first];
    win.node_index = r->rank - first;
    win.node_count = w->n - first < p->node ? w->n - first : p->node;
    win.node_whole = whole;
    win.crowded = p->crowded;
    win.attended = p->attended;
    if (p->levels && !whole) {
        win.nodes = (w->n + p->node - 1) / p->node;
        win.node_number = r->rank / p->node;
        win.first_of = first_of;
    }
    win.place = whole && !p->own && !p->no_place && !p->dynamic ? w->place : NULL;
    win.place_base = w->memory;
    win.hints.no_locks = p->no_locks;
    win.hints.nonoverlapping = p->nonoverlapping;
    win.direct = p->direct;
    win.atomics = !p->no_atomics;
    win.hints.acc_unordered = p->acc_unordered;
    win.hints.combine = p->combine;
    return win;
}

static void rank_open(struct test_world *w, int i)
{
    struct test_rank *r = &w->rank[i];
    const struct test_world_params *p = &w->params;
    char err[128];
    r->world = w;
    r->rank = i;
    test_host_init(&r->host);
    r->host.address = address;
    r->host.address_ctx = w;
    struct wdl_proc_params proc = {.host = r->host.host,.netmod = &wdl_nm_sim_ops,
        .fabric = w->sim,.rank = i,.peers = w->n + p->absent,.bounce_count = p->bounce_count
    };
    int status = wdl_proc_create(&proc, &r->proc, err, sizeof(err));
    wdl_assert_cmp(status, ==, WDL_OK);
    status = wdl_rma_init(r->proc, &p->rma);
    wdl_assert_cmp(status, ==, WDL_OK);
    r->rma = r->proc->rma;
    r->memory = w->memory + (size_t) i * p->bytes;
    w->place[i] = (struct wdl_win_place) { (uint64_t) i * p->bytes, p->bytes, p->disp_unit, i };
    struct wdl_win_params win = test_win_params(r);
    status = wdl_win_create(r->proc, &win, &r->win);
    wdl_assert_cmp(status, ==, WDL_OK);
}

enum wdl_sim_atomics test_atomics(int atomics)
{
    return atomics == 0 ? WDL_SIM_ATOMICS_TARGET :
        atomics == 1 ? WDL_SIM_ATOMICS_CPU : WDL_SIM_ATOMICS_NIC;
}

/* All ranks' largest, as MPI_Allreduce would have it. */
static void largest(const struct wdl_net_offer *offer, int ranks, int *lacks)
{
    memset(lacks, 0, WDL_NET_LACKS * sizeof(lacks[0]));
    for (int i = 0; i < ranks; i++)
        for (int j = 0; j < WDL_NET_LACKS; j++)
            lacks[j] |= offer[i].lacks[j];
}

static void ask(struct wdl_sim *sim, struct wdl_win *const *win, int ranks,
                struct wdl_net_offer *offer)
{
    int left = ranks, turns = 0;
    unsigned char *over = calloc((size_t) ranks, 1);
    wdl_assert(over);
    while (left > 0) {
        wdl_assert_cmp(turns++, <, TEST_TURNS_MAX);
        for (int i = 0; i < ranks; i++) {
            if (!over[i] && wdl_win_net_ask(win[i], &offer[i]) == WDL_OK) {
                over[i] = 1;
                left--;
            }
            wdl_proc_progress(win[i]->proc);
        }
        wdl_sim_advance(sim, 500);
    }
    free(over);
}

void test_net_agree(struct wdl_sim *sim, struct wdl_win *const *win, int ranks)
{
    struct wdl_net_offer *offer = calloc((size_t) ranks, sizeof(*offer));
    int lacks[WDL_NET_LACKS];
    wdl_assert(offer);
    for (int i = 0; i < ranks; i++)
        wdl_win_net_offer(win[i], &offer[i]);
    largest(offer, ranks, lacks);
    if (wdl_net_asks(lacks)) {
        ask(sim, win, ranks, offer);
        largest(offer, ranks, lacks);
    }
    for (int i = 0; i < ranks; i++)
        wdl_win_net_begin(win[i], lacks, &offer[0]);
    free(offer);
}

static void agree(struct test_world *w)
{
    struct wdl_win *win[TEST_RANKS_ROOM];
    for (int i = 0; i < w->n; i++)
        win[i] = w->rank[i].win;
    test_net_agree(w->sim, win, w->n);
}

static int or_default(int value, int standard)
{
    return value ? value : standard;
}

void test_world_open(struct test_world *w, const struct test_world_params *params)
{
    memset(w, 0, sizeof(*w));
    w->params = *params;
    struct test_world_params *p = &w->params;
    p->node = or_default(p->node, 1);
    p->bytes = p->bytes ? p->bytes : 256;
    p->disp_unit = p->disp_unit ? p->disp_unit : 1;
    p->bounce_count = or_default(p->bounce_count, 8);
    p->am_bytes_max = p->am_bytes_max ? p->am_bytes_max : 1024;
    p->rma.global_ops = or_default(p->rma.global_ops, 16);
    p->rma.global_targets = or_default(p->rma.global_targets, 16);
    p->rma.win_ops = or_default(p->rma.win_ops, 16);
    p->rma.win_targets = or_default(p->rma.win_targets, 16);
    p->rma.win_slots = or_default(p->rma.win_slots, 4);
    w->n = p->ranks;
    wdl_assert_cmp(w->n, <=, TEST_RANKS_ROOM);
    struct wdl_sim_params sim = {.seed = p->seed,.ranks = p->ranks + p->absent,
        .ordered = !p->unordered,
        .delay_ns_max = p->delay_ns_max,.refuse_permille = p->refuse_permille,
        .pending_permille = p->pending_permille,.am_bytes_max = p->am_bytes_max,
        .rma_needs_target = p->needs_target,.ops_max = p->ops_max,
        .attach_max = p->attach_max,
        .atomics = test_atomics(p->atomics),.by_key = p->by_key,.no_fetches = p->no_fetches,
        .odd = p->odd,.odd_to = p->odd_to,.odd_atomics = test_atomics(p->odd_atomics)
    };
    wdl_prng_init(&w->prng, p->seed);
    w->sim = wdl_sim_create(&sim);
    w->control = aligned_alloc(64, (size_t) w->n * sizeof(w->control[0]));
    w->memory = aligned_alloc(64, ((size_t) w->n * p->bytes + 63) & ~(size_t) 63);
    wdl_assert(w->sim && w->control && w->memory);
    memset(w->control, 0, (size_t) w->n * sizeof(w->control[0]));
    memset(w->memory, 0, (size_t) w->n * p->bytes);
    for (int i = 0; i < w->n; i++)
        rank_open(w, i);
    if (p->direct)
        agree(w);
}

static int turn(struct test_world *w)
{
    int events = 0;
    for (int i = 0; i < w->n; i++) {
        events += wdl_proc_progress(w->rank[i].proc);
        if (w->rank[i].win)
            wdl_win_check(w->rank[i].win);
    }
    wdl_sim_check(w->sim);
    wdl_sim_advance(w->sim, 1 + wdl_prng_below(&w->prng, 1000));
    return events;
}

void test_world_turn(struct test_world *w)
{
    turn(w);
}

void test_world_settle(struct test_world *w)
{
    for (int silent = 0, turns = 0; silent < 3; turns++) {
        wdl_assert_cmp(turns, <, TEST_TURNS_MAX);
        silent = turn(w) == 0 && wdl_sim_quiescent(w->sim) ? silent + 1 : 0;
    }
}

int test_world_messages(struct test_world *w)
{
    test_world_settle(w);
    uint64_t before = w->sent;
    w->sent = wdl_sim_counts(w->sim)->sent;
    return (int) (w->sent - before);
}

int test_world_bytes(struct test_world *w)
{
    test_world_settle(w);
    uint64_t before = w->bytes_sent;
    w->bytes_sent = wdl_sim_counts(w->sim)->bytes_sent;
    return (int) (w->bytes_sent - before);
}

void test_world_close(struct test_world *w)
{
    uint64_t malformed = 0;
    test_world_settle(w);
    for (int i = 0; i < w->n; i++) {
        struct test_rank *r = &w->rank[i];
        int status = r->win ? TEST_WAIT(w, wdl_win_free(r->win)) : WDL_OK;
        wdl_assert_cmp(status, ==, WDL_OK);
        r->win = NULL;
    }
    test_world_settle(w);
    for (int i = 0; i < w->n; i++) {
        struct test_rank *r = &w->rank[i];
        malformed += r->proc->stats.malformed;
        wdl_assert_cmp(r->proc->bounce_out, ==, 0);
        wdl_rma_fini(r->proc);
        wdl_proc_destroy(r->proc);
    }
    for (int i = 0; i < w->n; i++) {
        wdl_assert_cmp(w->rank[i].host.live, ==, 0);
        wdl_assert_cmp(w->rank[i].host.holds, ==, 0);
    }
    wdl_assert_cmp(malformed, ==, w->malformed);
    wdl_sim_destroy(w->sim);
    free(w->control);
    free(w->memory);
}

/* --- operations ------------------------------------------------------------------------------- */

struct wdl_buf test_bytes(const void *addr, size_t bytes)
{
    return (struct wdl_buf) {.addr = (void *) (uintptr_t) addr,.count = (int64_t) bytes,
        .type = TEST_U8,.bytes = bytes,.contig = 1,.hi = (int64_t) bytes
    };
}

struct wdl_buf test_typed(struct test_host *host, const void *addr, int64_t count, wdl_type type)
{
    struct wdl_buf buf = {.addr = (void *) (uintptr_t) addr,.count = count,.type = type };
    int status = host->host.ops->type_bounds(host, type, count, &buf.lo, &buf.hi, &buf.bytes);
    wdl_assert_cmp(status, ==, WDL_OK);
    return buf;
}

struct wdl_rma_args test_put(int target, int64_t disp, const void *from, size_t bytes)
{
    return (struct wdl_rma_args) {.kind = WDL_RMA_PUT,.target = target,.disp = disp,
        .origin = test_bytes(from, bytes),.result = test_bytes(NULL, 0),
        .remote = test_bytes(NULL, bytes)
    };
}

struct wdl_rma_args test_get(int target, int64_t disp, void *to, size_t bytes)
{
    struct wdl_rma_args args = test_put(target, disp, to, bytes);
    args.kind = WDL_RMA_GET;
    return args;
}

struct wdl_rma_args test_acc(int target, int64_t disp, enum wdl_rop op, enum test_type type, int n,
                             const void *from, void *result)
{
    size_t bytes = (size_t) n * test_element(type).packed_bytes;
    struct wdl_rma_args args = test_put(target, disp, from, bytes);
    args.kind = result ? WDL_RMA_GET_ACC : WDL_RMA_ACC;
    args.result = test_bytes(result, result ? bytes : 0);
    args.op = op;
    args.element = test_element(type);
    return args;
}

struct wdl_rma_args test_cas(int target, int64_t disp, enum test_type type, const void *compare,
                             const void *value, void *result)
{
    struct wdl_rma_args args = test_acc(target, disp, WDL_ROP_REPLACE, type, 1, value, result);
    args.kind = WDL_RMA_CAS;
    args.compare = compare;
    return args;
}

void test_op(struct test_world *w, int o, struct wdl_rma_args args)
{
    int status = TEST_WAIT(w, wdl_rma_op(w->rank[o].win, &args));
    wdl_assert_cmp(status, ==, WDL_OK);
}

struct wdl_pkt test_packet(struct test_world *w, int from, enum wdl_pkt_kind kind)
{
    struct wdl_pkt pkt;
    wdl_pkt_init(&pkt, w->rank[from].win, kind);
    return pkt;
}

int test_deliver(struct test_world *w, int from, int to, const struct wdl_pkt *pkt,
                 const void *payload, size_t bytes)
{
    char message[8192];
    wdl_assert_cmp(sizeof(*pkt) + bytes, <=, sizeof(message));
    memcpy(message, pkt, sizeof(*pkt));
    if (bytes)
        memcpy(message + sizeof(*pkt), payload, bytes);
    return wdl_rma_handle(w->rank[to].rma, from, message, sizeof(*pkt) + bytes);
}
