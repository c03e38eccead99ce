/* Part of Windlass. See COPYRIGHT in the top-level directory. Derived layouts of targets, described
 * once (types.h). */
#include <string.h>
#include "mpid/rma/win_impl.h"

static int table_size(const struct wdl_win *win)
{
    return win->rma->params.win_types;
}

static void *link_move_last(struct wdl_list *list, struct wdl_list *link, void *it)
{
    wdl_list_remove(link);
    wdl_list_push(list, link);
    return it;
}

/* --- origin ----------------------------------------------------------------------------------- */

static void told_drop(struct wdl_win *win, struct wdl_told *told)
{
    const struct wdl_host *host = &win->proc->host;
    wdl_list_remove(&told->link);
    win->ntold -= !told->once;
    host->ops->type_drop(host->ctx, told->type);
    if (told->flat)
        host->ops->free(host->ctx, told->flat);
    host->ops->free(host->ctx, told);
}

static int told_may_go(const struct wdl_told *told)
{
    return told->leaving && told->users == 0;
}

/* A word about a type; 0: not now. A lost peer needs none. */
static int type_tell(struct wdl_win *win, int rank, enum wdl_pkt_kind kind, uint32_t id)
{
    struct wdl_pkt pkt;
    wdl_pkt_init(&pkt, win, kind);
    pkt.type = id;
    return wdl_pkt_send(win, rank, &pkt) != WDL_AGAIN;
}

/* 1: it is gone. */
static int told_go(struct wdl_win *win, struct wdl_told *told)
{
    if (told->next > 0 && !type_tell(win, told->rank, WDL_PKT_FORGET, told->id))
        return 0;
    told_drop(win, told);
    return 1;
}

static struct wdl_told *told_find(const struct wdl_win *win, int rank, wdl_type type)
{
    struct wdl_list *node;
    wdl_list_for(node, &win->told) {
        struct wdl_told *told = wdl_container_of(node, struct wdl_told, link);
        if (told->type == type && told->rank == rank && !told->once && !told->leaving)
            return told;
    }
    return NULL;
}

/* Is there a place in the table? The one that has not been used for longest makes room. */
static int told_room(struct wdl_win *win)
{
    struct wdl_list *node;
    if (win->ntold < table_size(win))
        return 1;
    wdl_list_for(node, &win->told) {
        struct wdl_told *told = wdl_container_of(node, struct wdl_told, link);
        if (told->users > 0 || told->once)
            continue;
        told->leaving = 1;
        return told_go(win, told);
    }
    return 0;
}

struct wdl_told *wdl_type_use(struct wdl_win *win, int rank, wdl_type type)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_told *told = told_find(win, rank, type);
    if (told) {
        told->users++;
        return link_move_last(&win->told, &told->link, told);
    }
    int once = !told_room(win);
    told = host->ops->alloc(host->ctx, sizeof(*told));
    if (!told)
        return NULL;
    do
        win->rma->next_type++;
    while (win->rma->next_type == WDL_PKT_CONTIG || win->rma->next_type == WDL_PKT_PREDEFINED);
    told->id = win->rma->next_type;
    told->rank = rank;
    told->type = type;
    told->once = once;
    told->users = 1;
    host->ops->type_hold(host->ctx, type);
    wdl_list_push(&win->told, &told->link);
    win->ntold += !once;
    return told;
}

void wdl_type_used(struct wdl_win *win, struct wdl_told *told, int status)
{
    wdl_assert_cmp(told->users, >, 0);
    told->users--;
    if (told->once) {
        told_drop(win, told);
        return;
    }
    /* whether the target has it is not sure then */
    if (wdl_status_is_error(status))
        told->leaving = 1;
    if (told->leaving)
        wdl_win_activate(win);
}

static int told_flatten(struct wdl_win *win, struct wdl_told *told)
{
    const struct wdl_host *host = &win->proc->host;
    size_t bytes = host->ops->flat_bytes(host->ctx, told->type);
    told->flat = host->ops->alloc(host->ctx, bytes);
    if (!told->flat)
        return WDL_ERR_NOMEM;
    int status = host->ops->flatten(host->ctx, told->type, told->flat, bytes);
    if (status == WDL_OK) {
        told->bytes = bytes;
    } else {                    /* whoever uses it next is told, too */
        host->ops->free(host->ctx, told->flat);
        told->flat = NULL;
    }
    return status;
}

/* The next stretch of the description. */
static int told_send(struct wdl_win *win, struct wdl_told *told, const struct wdl_op *op)
{
    struct wdl_bounce *bounce = wdl_bounce_get(win->proc);
    struct wdl_pkt pkt;
    size_t n = told->bytes - told->next;
    if (!bounce)
        return WDL_AGAIN;
    if (n > win->rma->chunk_bytes)
        n = win->rma->chunk_bytes;
    wdl_pkt_init(&pkt, win, WDL_PKT_TYPE);
    pkt.type = told->id;
    pkt.op = wdl_op_ref(op);
    pkt.flags = (uint8_t) ((win->proc->ordered ? 0 : WDL_PKT_WANT_ACK) |
                           (told->once ? WDL_PKT_ONCE : 0));
    pkt.offset = told->next;
    pkt.total = told->bytes;
    pkt.bytes = (uint32_t) n;
    memcpy(bounce->data, told->flat + told->next, n);
    int status = wdl_bounce_send(bounce, win->params.peer_of(win->params.ctx, told->rank),
                                 WDL_AM_RMA, &pkt, sizeof(pkt), n);
    if (status == WDL_AGAIN || wdl_status_is_error(status)) {
        wdl_bounce_put(bounce);
        return status;
    }
    win->stats.messages++;
    told->next += n;
    told->waiting = !win->proc->ordered;
    return WDL_OK;
}

int wdl_type_send(struct wdl_op *op)
{
    struct wdl_told *told = op->told;
    const struct wdl_host *host = &op->win->proc->host;
    int status = WDL_OK;
    if (op->next == 0 && wdl_status_is_error(op->status))
        return op->status;      /* the target could not take the type */
    if (!told->flat && told->bytes == 0)
        status = told_flatten(op->win, told);
    if (status == WDL_OK && told->next < told->bytes) {
        status = told_send(op->win, told, op);
        return status == WDL_OK ? WDL_PENDING : status;
    }
    if (status != WDL_OK)
        return status;
    if (told->flat)
        host->ops->free(host->ctx, told->flat);
    told->flat = NULL;
    return told->waiting ? WDL_AGAIN : WDL_OK;
}

int wdl_type_is_there(const struct wdl_told *told)
{
    return !told->once && told->bytes > 0 && told->next == told->bytes && !told->waiting;
}

void wdl_type_there(struct wdl_op *op, const struct wdl_pkt *pkt)
{
    op->told->waiting = 0;
    if (pkt->status < WDL_STATUS_COUNT && wdl_status_is_error(pkt->status))
        op->status = pkt->status;
}

int wdl_type_evicted(struct wdl_win *win, const struct wdl_pkt *pkt)
{
    struct wdl_list *node;
    wdl_list_for(node, &win->told) {
        struct wdl_told *told = wdl_container_of(node, struct wdl_told, link);
        if (told->id == pkt->type && told->rank == (int) pkt->origin && !told->once)
            told->leaving = 1;
    }
    wdl_win_activate(win);
    return WDL_OK;
}

void wdl_types_distrust(struct wdl_win *win, int rank)
{
    struct wdl_list *node;
    wdl_list_for(node, &win->told) {
        struct wdl_told *told = wdl_container_of(node, struct wdl_told, link);
        told->leaving |= told->rank == rank;
    }
    wdl_win_activate(win);
}

/* --- target ----------------------------------------------------------------------------------- */

static struct wdl_rtype *rtype_find(const struct wdl_win *win, uint32_t origin, uint32_t id)
{
    struct wdl_list *node;
    wdl_list_for(node, &win->rtypes) {
        struct wdl_rtype *r = wdl_container_of(node, struct wdl_rtype, link);
        if (r->origin == origin && r->id == id)
            return r;
    }
    return NULL;
}

struct wdl_rtype *wdl_rtype_find(struct wdl_win *win, uint32_t origin, uint32_t id)
{
    struct wdl_rtype *r = rtype_find(win, origin, id);
    return r ? link_move_last(&win->rtypes, &r->link, r) : NULL;
}

static void rtype_drop(struct wdl_win *win, struct wdl_rtype *r)
{
    const struct wdl_host *host = &win->proc->host;
    wdl_list_remove(&r->link);
    win->rtypes_kept -= !r->once;
    win->rtypes_asked -= r->asked;
    if (r->whole)
        host->ops->type_free(host->ctx, r->type);
    if (r->flat)
        host->ops->free(host->ctx, r->flat);
    host->ops->free(host->ctx, r);
}

static struct wdl_rtype *rtype_begin(struct wdl_win *win, const struct wdl_pkt *pkt)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_rtype *r = host->ops->alloc(host->ctx, sizeof(*r));
    if (!r)
        return NULL;
    r->refused = pkt->total > (uint64_t) win->rma->params.type_bytes_max;
    r->flat = r->refused ? NULL : host->ops->alloc(host->ctx, pkt->total);
    if (!r->flat && !r->refused) {
        host->ops->free(host->ctx, r);
        return NULL;
    }
    r->origin = pkt->origin;
    r->id = pkt->type;
    r->total = pkt->total;
    r->once = (pkt->flags & WDL_PKT_ONCE) != 0;
    win->rtypes_kept += !r->once;
    wdl_list_push(&win->rtypes, &r->link);
    wdl_win_activate(win);      /* there may be too many */
    return r;
}

/* The last stretch has come: make the type. */
static int rtype_finish(struct wdl_win *win, struct wdl_rtype *r)
{
    const struct wdl_host *host = &win->proc->host;
    if (r->refused)
        return WDL_ERR_LONG_TYPE;
    int status = host->ops->unflatten(host->ctx, r->flat, r->total, &r->type);
    host->ops->free(host->ctx, r->flat);
    r->flat = NULL;
    r->whole = status == WDL_OK;
    if (status != WDL_OK)
        rtype_drop(win, r);
    return status;
}

static int type_valid(const struct wdl_pkt *pkt, const struct wdl_rtype *r, size_t bytes)
{
    if (bytes != pkt->bytes || bytes == 0 || pkt->offset > pkt->total ||
        bytes > pkt->total - pkt->offset)
        return 0;
    if (pkt->type == WDL_PKT_CONTIG || pkt->type == WDL_PKT_PREDEFINED)
        return 0;
    return !r || (r->total == pkt->total && !r->whole && bytes <= r->total - r->received);
}

int wdl_serve_type(struct wdl_win *win, const struct wdl_pkt *pkt, const char *payload,
                   size_t bytes)
{
    struct wdl_rtype *r = rtype_find(win, pkt->origin, pkt->type);
    struct wdl_bounce *bounce = NULL;
    if (!type_valid(pkt, r, bytes))
        return WDL_ERR_PROTO;
    if (pkt->flags & WDL_PKT_WANT_ACK) {
        bounce = wdl_bounce_get(win->proc);
        if (!bounce)
            return WDL_AGAIN;
    }
    if (!r)
        r = rtype_begin(win, pkt);
    int status = r ? WDL_OK : WDL_ERR_NOMEM;
    int whole = 0;
    if (r) {
        if (!r->refused)
            memcpy(r->flat + pkt->offset, payload, bytes);
        r->received += bytes;
        whole = r->received == r->total;
        if (whole)
            status = rtype_finish(win, r);
    }
    if (bounce && (whole || status != WDL_OK)) {
        struct wdl_pkt ack;
        wdl_pkt_init(&ack, win, WDL_PKT_TYPE_ACK);
        ack.op = pkt->op;
        ack.status = (uint8_t) status;
        wdl_reply_send(win, (int) pkt->origin, bounce, &ack, 0);
    } else if (bounce) {
        wdl_bounce_put(bounce);
    }
    /* whoever uses it is told */
    return status == WDL_ERR_LONG_TYPE ? WDL_OK : status;
}

int wdl_serve_forget(struct wdl_win *win, const struct wdl_pkt *pkt)
{
    struct wdl_rtype *r = rtype_find(win, pkt->origin, pkt->type);
    if (r)
        rtype_drop(win, r);
    return WDL_OK;
}

void wdl_rtype_served(struct wdl_win *win, struct wdl_rtype *r, const struct wdl_pkt *pkt)
{
    if (!r || !r->once)
        return;
    r->stream_done += pkt->bytes;
    if (r->stream_done >= pkt->total)
        rtype_drop(win, r);
}

/* Whom to ask: the type not used for longest. Where as many as the table holds have been asked for
 * already, and their origins are silent, the newest: its origin is awake. */
static struct wdl_rtype *rtype_victim(const struct wdl_win *win)
{
    struct wdl_rtype *victim = NULL;
    struct wdl_list *node;
    wdl_list_for(node, &win->rtypes) {
        struct wdl_rtype *r = wdl_container_of(node, struct wdl_rtype, link);
        if (r->asked || r->once)
            continue;
        victim = r;
        if (win->rtypes_asked < table_size(win))
            break;
    }
    return victim;
}

static int too_many(const struct wdl_win *win)
{
    return win->rtypes_kept - win->rtypes_asked > table_size(win);
}

/* --- both ------------------------------------------------------------------------------------- */

int wdl_types_progress(struct wdl_win *win)
{
    struct wdl_list *node, *after;
    int n = 0;
    wdl_list_for_safe(node, after, &win->told) {
        struct wdl_told *told = wdl_container_of(node, struct wdl_told, link);
        n += told_may_go(told) && told_go(win, told);
    }
    for (; too_many(win); n++) {
        struct wdl_rtype *r = rtype_victim(win);
        if (!type_tell(win, (int) r->origin, WDL_PKT_EVICT, r->id))
            break;
        r->asked = 1;
        win->rtypes_asked++;
    }
    return n;
}

int wdl_types_have_work(const struct wdl_win *win)
{
    struct wdl_list *node;
    wdl_list_for(node, &win->told)
        if (told_may_go(wdl_container_of(node, struct wdl_told, link)))
            return 1;
    return too_many(win);
}

void wdl_types_drop(struct wdl_win *win)
{
    while (!wdl_list_empty(&win->told))
        told_drop(win, wdl_container_of(win->told.next, struct wdl_told, link));
    while (!wdl_list_empty(&win->rtypes))
        rtype_drop(win, wdl_container_of(win->rtypes.next, struct wdl_rtype, link));
}
