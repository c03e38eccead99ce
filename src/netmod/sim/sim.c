/* Part of Windlass. See COPYRIGHT in the top-level directory. The simulated network: fabric,
 * endpoints, messages, poll. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/assert.h"
#include "netmod/sim/sim_impl.h"

enum { SIM_ADDRESS = 0x51a00000, AM_BYTES = 4096, AM_BYTES_MIN = 1024 };

struct wdl_sim *wdl_sim_create(const struct wdl_sim_params *params)
{
    struct wdl_sim *sim;
    if (params->ranks < 1 || (params->am_bytes_max && params->am_bytes_max < AM_BYTES_MIN) ||
        (params->key_bytes && params->key_bytes < sim_key_bytes()) ||
        params->key_bytes > WDL_NM_KEY_BYTES_MAX)
        return NULL;
    sim = calloc(1, sizeof(*sim));
    if (!sim)
        return NULL;
    sim->nms = calloc((size_t) params->ranks, sizeof(sim->nms[0]));
    if (!sim->nms) {
        free(sim);
        return NULL;
    }
    sim->params = *params;
    if (!sim->params.am_bytes_max)
        sim->params.am_bytes_max = AM_BYTES;
    if (!sim->params.key_bytes)
        sim->params.key_bytes = sim_key_bytes();
    if (sim->params.rma_needs_target)
        sim->params.atomics = WDL_SIM_ATOMICS_TARGET;
    wdl_prng_init(&sim->prng, params->seed);
    return sim;
}

void wdl_sim_destroy(struct wdl_sim *sim)
{
    wdl_assert_cmp(sim->open, ==, 0);
    wdl_sim_check(sim);
    free(sim->nms);
    free(sim);
}

uint64_t wdl_sim_now(const struct wdl_sim *sim)
{
    return sim->now;
}

void wdl_sim_advance(struct wdl_sim *sim, uint64_t ns)
{
    sim->now += ns;
}

void wdl_sim_heal(struct wdl_sim *sim)
{
    sim->params.refuse_permille = 0;
}

const struct wdl_sim_counts *wdl_sim_counts(const struct wdl_sim *sim)
{
    return &sim->counts;
}

int wdl_sim_quiescent(const struct wdl_sim *sim)
{
    return sim->msgs_in_flight == 0 && sim->ops_in_flight == 0;
}

void wdl_sim_check(const struct wdl_sim *sim)
{
    const struct wdl_sim_counts *c = &sim->counts;
    wdl_assert_cmp(c->sent, ==, c->delivered + c->dropped + sim->msgs_in_flight);
    wdl_assert_cmp(c->bytes_sent, ==, c->bytes_delivered + c->bytes_dropped + sim->bytes_in_flight);
}

uint64_t sim_due(struct wdl_sim *sim)
{
    return sim->now + wdl_prng_below(&sim->prng, sim->params.delay_ns_max + 1);
}

int sim_connect(struct sim_nm *nm, int peer)
{
    if (peer < 0 || peer >= nm->params.peers)
        return WDL_ERR_ARG;
    if (!nm->connected[peer]) {
        const void *address;
        uint32_t value;
        size_t bytes;
        int status = nm->params.address_of(nm->params.ctx, peer, &address, &bytes);
        if (status != WDL_OK)
            return status;
        if (bytes != sizeof(value))
            return WDL_ERR_ARG;
        memcpy(&value, address, sizeof(value));
        if (value != SIM_ADDRESS + (uint32_t) peer)
            return WDL_ERR_ARG;
        nm->connected[peer] = 1;
    }
    if (!nm->sim->nms[peer])
        return WDL_ERR_PEER;
    return WDL_OK;
}

int sim_begin(struct sim_nm *nm, int peer)
{
    int status = sim_connect(nm, peer);
    return status == WDL_OK ? sim_refuse(nm) : status;
}

int sim_refuse(struct sim_nm *nm)
{
    if (wdl_prng_chance(&nm->sim->prng, nm->sim->params.refuse_permille)) {
        nm->sim->counts.refused++;
        return WDL_AGAIN;
    }
    return WDL_OK;
}

struct sim_op *sim_op_new(struct sim_nm *nm, enum sim_kind kind, int peer, struct wdl_nm_comp *comp)
{
    struct sim_op *op = calloc(1, sizeof(*op));
    if (!op)
        return NULL;
    op->kind = kind;
    op->peer = peer;
    op->comp = comp;
    op->due = sim_due(nm->sim);
    op->apply_due = op->due + sim_due(nm->sim) - nm->sim->now;
    wdl_list_push(&nm->ops, &op->link);
    nm->ops_count++;
    nm->sim->ops_in_flight++;
    return op;
}

void sim_op_end(struct sim_nm *nm, struct sim_op *op)
{
    wdl_list_remove(&op->link);
    sim_rma_forget(nm, op);
    nm->ops_count--;
    nm->sim->ops_in_flight--;
    free(op->staged);
    free(op);
}

void sim_caps_fill(struct wdl_nm_caps *caps, const struct wdl_sim_params *params,
                   enum wdl_sim_atomics atomics)
{
    int native = !params->no_rma && atomics != WDL_SIM_ATOMICS_TARGET;
    caps->am_bytes_max = params->am_bytes_max;
    caps->key_bytes_max = params->key_bytes;
    caps->atomic32 = caps->atomic64 = native ? (1u << WDL_NM_ATOMIC_COUNT) - 1 : 0;
    caps->fetches = ~params->no_fetches & ((1u << WDL_NM_ATOMIC_COUNT) - 1);
    caps->domain = !native ? WDL_NM_DOMAIN_NONE
        : atomics == WDL_SIM_ATOMICS_NIC ? WDL_NM_DOMAIN_NIC : WDL_NM_DOMAIN_CPU;
    caps->rma_needs_target = params->rma_needs_target;
    caps->has_rma = !params->no_rma;
}

/* What holds for all peers; by_key: nothing. */
static void caps_promise(struct wdl_nm_caps *caps, const struct wdl_sim_params *params)
{
    int by_key = params->by_key && !params->no_rma;
    sim_caps_fill(caps, params, by_key ? WDL_SIM_ATOMICS_TARGET : params->atomics);
    caps->rma_needs_target |= by_key;
    caps->atomics_by_key = by_key ? WDL_NM_ATTACHED | WDL_NM_OWN : 0;
}

static int sim_open(const struct wdl_nm_params *params, struct wdl_nm **nm_out, char *err,
                    size_t err_bytes)
{
    struct wdl_sim *sim = params->fabric;
    *nm_out = NULL;
    if (!sim || params->rank < 0 || params->rank >= sim->params.ranks ||
        params->peers != sim->params.ranks || sim->nms[params->rank]) {
        snprintf(err, err_bytes, "sim: no such free place in the fabric");
        return WDL_ERR_ARG;
    }
    struct sim_nm *nm = calloc(1, sizeof(*nm));
    if (nm) {
        nm->blocked = calloc((size_t) params->peers, sizeof(nm->blocked[0]));
        nm->connected = calloc((size_t) params->peers, 1);
    }
    if (!nm || !nm->blocked || !nm->connected) {
        if (nm) {
            free(nm->blocked);
            free(nm->connected);
        }
        free(nm);
        snprintf(err, err_bytes, "out of memory");
        return WDL_ERR_NOMEM;
    }
    nm->nm.ops = &wdl_nm_sim_ops;
    nm->sim = sim;
    nm->params = *params;
    nm->address = SIM_ADDRESS + (uint32_t) params->rank;
    caps_promise(&nm->caps, &sim->params);
    wdl_list_init(&nm->inbox);
    wdl_list_init(&nm->ops);
    wdl_list_init(&nm->mems);
    wdl_list_init(&nm->rkeys);
    sim->nms[params->rank] = nm;
    sim->open++;
    *nm_out = &nm->nm;
    return WDL_OK;
}

static void msg_end(struct wdl_sim *sim, struct sim_msg *msg)
{
    if (msg->put) {
        msg->put->carrier = NULL;
        msg->put->due = sim->now;       /* its initiator ends it in its next poll */
        wdl_list_remove(&msg->link);
        free(msg);
        return;
    }
    if (msg->op)
        msg->op->msg = NULL;
    wdl_list_remove(&msg->link);
    sim->msgs_in_flight--;
    sim->bytes_in_flight -= msg->bytes;
    free(msg);
}

static void msg_drop(struct wdl_sim *sim, struct sim_msg *msg)
{
    sim->counts.dropped += !msg->put;
    sim->counts.bytes_dropped += msg->put ? 0 : msg->bytes;
    msg_end(sim, msg);
}

static void sim_close(struct wdl_nm *base)
{
    struct sim_nm *nm = (struct sim_nm *) base;
    struct wdl_list *node, *after;
    wdl_list_for_safe(node, after, &nm->ops) {
        struct sim_op *op = wdl_container_of(node, struct sim_op, link);
        if (op->msg)            /* its payload is still the caller's */
            msg_drop(nm->sim, op->msg);
        if (op->carrier)
            msg_drop(nm->sim, op->carrier);
        sim_op_end(nm, op);
    }
    wdl_list_for_safe(node, after, &nm->inbox)
        msg_drop(nm->sim, wdl_container_of(node, struct sim_msg, link));
    sim_mem_close(nm);
    nm->sim->nms[nm->params.rank] = NULL;
    nm->sim->open--;
    free(nm->blocked);
    free(nm->connected);
    free(nm);
}

static int sim_address(struct wdl_nm *base, const void **addr_out, size_t *bytes_out)
{
    struct sim_nm *nm = (struct sim_nm *) base;
    *addr_out = &nm->address;
    *bytes_out = sizeof(nm->address);
    return WDL_OK;
}

static const struct wdl_nm_caps *sim_caps(struct wdl_nm *base)
{
    return &((struct sim_nm *) base)->caps;
}

static int sim_get_ordering(struct wdl_nm *base)
{
    return ((struct sim_nm *) base)->sim->params.ordered;
}

static void sim_describe(struct wdl_nm *base, char *text, size_t bytes)
{
    struct wdl_sim *sim = ((struct sim_nm *) base)->sim;
    snprintf(text, bytes, "sim: %d ranks, %sordered, seed %llu", sim->params.ranks,
             sim->params.ordered ? "" : "un", (unsigned long long) sim->params.seed);
}

/* Copy the borrowed payload: the sender may have its memory back. */
static void msg_fill(struct sim_msg *msg)
{
    struct sim_op *op = msg->op;
    if (!op)
        return;
    for (int i = 0; i < op->niov; i++) {
        if (op->iov[i].bytes)
            memcpy(msg->data + msg->filled, op->iov[i].base, op->iov[i].bytes);
        msg->filled += op->iov[i].bytes;
    }
    wdl_assert_cmp(msg->filled, ==, msg->bytes);
    op->msg = NULL;
    msg->op = NULL;
}

static int sim_am(struct wdl_nm *base, int peer, const void *hdr, size_t hdr_bytes,
                  const struct wdl_nm_iov *iov, int niov, struct wdl_nm_comp *comp)
{
    struct sim_nm *nm = (struct sim_nm *) base;
    struct wdl_sim *sim = nm->sim;
    size_t bytes = hdr_bytes;
    if (niov < 0 || niov > WDL_NM_IOV_MAX || hdr_bytes > WDL_NM_HDR_BYTES_MAX)
        return WDL_ERR_ARG;
    for (int i = 0; i < niov; i++)
        bytes += iov[i].bytes;
    if (bytes > nm->caps.am_bytes_max)
        return WDL_ERR_ARG;
    uint64_t due = 0;
    int status = sim_begin(nm, peer);
    if (status != WDL_OK)
        return status;
    if (sim->params.loggp.l_ns && !sim_loggp_send(nm, bytes, &due))
        return WDL_AGAIN;
    struct sim_msg *msg = malloc(sizeof(*msg) + bytes);
    int borrow =
        comp && bytes > hdr_bytes && wdl_prng_chance(&sim->prng, sim->params.pending_permille);
    struct sim_op *op = msg && borrow ? sim_op_new(nm, SIM_AM, peer, comp) : NULL;
    if (!msg || (borrow && !op)) {
        free(msg);
        return WDL_ERR_NOMEM;
    }
    struct sim_op now = {.niov = niov,.msg = msg };
    msg->put = NULL;
    msg->src = nm->params.rank;
    msg->due = sim->params.loggp.l_ns ? due : sim_due(sim);
    msg->begun = msg->deferred = 0;
    msg->bytes = bytes;
    msg->filled = hdr_bytes;
    if (hdr_bytes)
        memcpy(msg->data, hdr, hdr_bytes);
    msg->op = op ? op : &now;
    msg->op->msg = msg;
    msg->op->niov = niov;
    for (int i = 0; i < niov; i++)
        msg->op->iov[i] = iov[i];
    if (!op)
        msg_fill(msg);
    wdl_list_push(&sim->nms[peer]->inbox, &msg->link);
    sim->msgs_in_flight++;
    sim->bytes_in_flight += bytes;
    sim->counts.sent++;
    sim->counts.bytes_sent += bytes;
    return op ? WDL_PENDING : WDL_OK;
}

int sim_carry(struct sim_nm *nm, struct sim_op *put, uint64_t due)
{
    struct sim_msg *msg = calloc(1, sizeof(*msg));
    if (!msg)
        return WDL_ERR_NOMEM;
    msg->put = put;
    msg->src = nm->params.rank;
    msg->due = due;
    msg->bytes = put->bytes;
    put->carrier = msg;
    wdl_list_push(&nm->sim->nms[put->peer]->inbox, &msg->link);
    return WDL_OK;
}

/* A message not due, or refused by the receiver, holds back those behind it from the same source
 * where the network is ordered. Returns 1 if it was delivered. */
static int msg_deliver(struct sim_nm *nm, struct sim_msg *msg)
{
    struct wdl_sim *sim = nm->sim;
    int status = WDL_AGAIN;
    if (msg->put && sim_loggp_receive(nm, msg)) {
        sim_put_arrive(nm, msg->put);
        msg_end(sim, msg);
        return 0;
    }
    msg->deferred = !msg->put && nm->blocked[msg->src] == nm->polls;
    if (msg->put || msg->deferred)
        return 0;
    if (sim->params.loggp.l_ns ? sim_loggp_receive(nm, msg) : msg->due <= sim->now) {
        msg_fill(msg);
        status = nm->params.on_am(nm->params.ctx, msg->data, msg->bytes);
        msg->deferred = status == WDL_AGAIN;
        sim->counts.deferred += status == WDL_AGAIN;
    }
    if (status == WDL_AGAIN) {
        if (sim->params.ordered)
            nm->blocked[msg->src] = nm->polls;
        return 0;
    }
    sim->counts.delivered++;
    sim->counts.bytes_delivered += msg->bytes;
    msg_end(sim, msg);
    return 1;
}

/* Step an operation; returns 1 if its completion was called. */
static int op_step(struct sim_nm *nm, struct sim_op *op)
{
    if (op->due > nm->sim->now)
        return 0;
    if (op->kind != SIM_AM)
        return sim_rma_step(nm, op);
    struct wdl_nm_info info = { WDL_OK, 0, 0 };
    if (op->msg)
        msg_fill(op->msg);
    op->comp->fn(op->comp, &info);
    sim_op_end(nm, op);
    return 1;
}

/* What is there now: what a callback begins waits for the next poll, so that a poll ends. */
static int poll_list(struct sim_nm *nm, struct wdl_list *list, int is_inbox)
{
    struct wdl_list *last = list->prev, *node = list, *after = list->next;
    int events = 0;
    while (node != last) {
        node = after;
        after = node->next;
        if (is_inbox)
            events += msg_deliver(nm, wdl_container_of(node, struct sim_msg, link));
        else
            events += op_step(nm, wdl_container_of(node, struct sim_op, link));
    }
    return events;
}

static int sim_poll(struct wdl_nm *base)
{
    struct sim_nm *nm = (struct sim_nm *) base;
    wdl_assert(!nm->polling);   /* rule 1 */
    nm->polling = 1;
    nm->wants_to_send = 0;
    nm->polls++;
    int events = poll_list(nm, &nm->inbox, 1) + poll_list(nm, &nm->ops, 0);
    nm->polling = 0;
    return events;
}

static int sim_arm(struct wdl_nm *nm, int *fd_out)
{
    (void) nm;
    *fd_out = -1;
    return WDL_ERR_UNSUPPORTED;
}

const struct wdl_nm_ops wdl_nm_sim_ops = {
    .name = "sim",.open = sim_open,.close = sim_close,.address = sim_address,.caps = sim_caps,
    .get_ordering = sim_get_ordering,.describe = sim_describe,.poll = sim_poll,.arm = sim_arm,
    .am = sim_am,.mem_attach = sim_mem_attach,.mem_alloc = sim_mem_alloc,
    .mem_detach = sim_mem_detach,.mem_key = sim_mem_key,
    .rkey_open = sim_rkey_open,.rkey_close = sim_rkey_close,
    .rkey_caps = sim_rkey_caps,.map = sim_map,.put = sim_put,
    .get = sim_get,.atomic = sim_atomic,.flush = sim_flush
};
