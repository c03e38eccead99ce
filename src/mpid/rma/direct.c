/* Part of Windlass. See COPYRIGHT in the top-level directory. Puts and gets by the network alone
 * (direct.h). */
#include "mpid/rma/win_impl.h"

enum { BLOCKS = 16 };           /* pieces of either side; more go by message */

struct side {                   /* of a transfer, from where it is to go on */
    struct wdl_piece piece[BLOCKS + 1];
    const struct wdl_key *key[BLOCKS];  /* the target's: of each piece */
    int n;
};

/* The pieces of a buffer's stream from `offset` on: WDL_OK, or ERR_UNSUPPORTED where there are
 * many. */
static int side_make(const struct wdl_host *host, const struct wdl_buf *buf, char *addr,
                     size_t offset, struct side *side)
{
    size_t bytes = buf->bytes - offset;
    side->n = 1;
    side->piece[0] = (struct wdl_piece){addr + buf->lo + offset, bytes};
    if (!buf->contig)
        side->n = host->ops->pieces(host->ctx, addr, buf->count, buf->type, offset, bytes,
                                    side->piece, BLOCKS + 1);
    return side->n <= BLOCKS ? WDL_OK : WDL_ERR_UNSUPPORTED;
}

static void step(struct wdl_piece **piece, size_t bytes)
{
    (*piece)->base += bytes;
    (*piece)->bytes -= bytes;
    *piece += (*piece)->bytes == 0;
}

void wdl_direct_began(struct wdl_target *t)
{
    struct wdl_direct *d = &t->direct;
    if (!d->begun || wdl_is_older(t->win->stamp, d->begun_stamp))
        d->begun_stamp = t->win->stamp;
    d->begun = 1;
}

static int transfer(struct wdl_target *t, const struct wdl_key *key, enum wdl_rma_kind kind,
                    char *here, char *there, size_t bytes, struct wdl_nm_comp *comp)
{
    struct wdl_nm *nm = t->win->proc->nm;
    int peer = t->win->params.peer_of(t->win->params.ctx, t->rank);
    uint64_t remote = (uint64_t) (uintptr_t) there;
    int put = kind == WDL_RMA_PUT;
    int status = put ? nm->ops->put(nm, peer, here, bytes, remote, key->rkey, comp) :
        nm->ops->get(nm, peer, here, bytes, remote, key->rkey, comp);
    /* a get that is done leaves nothing behind */
    if (status == WDL_PENDING || (put && status == WDL_OK))
        wdl_direct_began(t);
    return status;
}

static void request_done(struct wdl_nm_comp *comp, const struct wdl_nm_info *info)
{
    struct wdl_op *op = wdl_container_of(comp, struct wdl_op, comp);
    op->sending = 0;
    if (wdl_status_is_error(info->status))
        op->status = info->status;
    wdl_win_activate(op->win);
}

/* An operation with a request has an element of its own; one piece on both sides. */
static int begin_request(struct wdl_target *t, const struct wdl_key *key,
                         const struct wdl_rma_args *args, char *here, char *there)
{
    struct wdl_op *op = wdl_op_get(t);
    if (!op)
        return WDL_AGAIN;
    op->args = *args;
    op->args.origin.contig = op->args.result.contig = op->args.remote.contig = 1;
    op->total = op->next = op->done = args->remote.bytes;
    op->comp.fn = request_done;
    wdl_list_push(&t->issued, &op->node.link);
    int status = transfer(t, key, args->kind, here, there, op->total, &op->comp);
    if (status == WDL_AGAIN) {
        op->args.request = NULL;
        wdl_op_finish(op, WDL_OK);
        return WDL_AGAIN;
    }
    if (status == WDL_PENDING) {
        op->sending = 1;
        return WDL_OK;
    }
    if (wdl_status_is_error(status))
        op->args.request = NULL;        /* the caller's again */
    wdl_op_finish(op, WDL_OK);
    return status;
}

/* args->done: bytes that have begun. */
static int begin(struct wdl_target *t, struct wdl_rma_args *args, struct side *near,
                 struct side *far)
{
    struct wdl_piece *here = near->piece, *there = far->piece;
    while (args->done < args->remote.bytes) {
        size_t n = here->bytes < there->bytes ? here->bytes : there->bytes;
        const struct wdl_key *key = far->key[there - far->piece];
        int status = transfer(t, key, args->kind, here->base, there->base, n, NULL);
        if (status == WDL_AGAIN || wdl_status_is_error(status))
            return status;
        args->done += n;
        step(&here, n);
        step(&there, n);
    }
    return WDL_OK;
}

int wdl_direct_lock_ready(struct wdl_target *t, const struct wdl_rma_args *args)
{
    if (t->lock.state == WDL_LOCK_IDLE || wdl_lock_open(&t->lock))
        return WDL_OK;
    if (args->remote.bytes <= t->win->rma->chunk_bytes)
        return WDL_ERR_UNSUPPORTED;
    t->want_lock = 1;
    wdl_target_progress(t);
    wdl_win_activate(t->win);
    return WDL_AGAIN;
}

/* The target's pieces and their keys: WDL_OK, or ERR_UNSUPPORTED where there are many, or one has
 * no key. */
static int far_make(struct wdl_target *t, const struct wdl_rma_args *args,
                    const struct wdl_win_rank *info, struct side *far)
{
    const struct wdl_win *win = t->win;
    const struct wdl_host *host = &win->proc->host;
    int dynamic = win->params.flavor == WDL_WIN_DYNAMIC;
    const struct wdl_key *key = dynamic ? NULL : wdl_key_get(t, WDL_KEYS_DATA);
    if (!key && !dynamic)
        return WDL_ERR_UNSUPPORTED;
    uint64_t at = (key ? key->base : 0) + (uint64_t) (args->disp * info->disp_unit);
    int status = side_make(host, &args->remote, (char *) (uintptr_t) at, args->done, far);
    for (int i = 0; i < far->n && status == WDL_OK; i++) {
        const struct wdl_piece *piece = &far->piece[i];
        far->key[i] = dynamic ? wdl_borrow_get(t, (uintptr_t) piece->base, piece->bytes) : key;
        status = far->key[i] ? WDL_OK : WDL_ERR_UNSUPPORTED;
    }
    return status;
}

int wdl_direct_op(struct wdl_win *win, struct wdl_rma_args *args, struct wdl_target *t,
                  const struct wdl_win_rank *info)
{
    const struct wdl_host *host = &win->proc->host;
    struct side near, far;
    if (!win->keys[WDL_KEYS_DATA].at || args->origin.bytes < args->remote.bytes)
        return WDL_ERR_UNSUPPORTED;
    if (!t)
        t = wdl_target_get(win, args->target);
    if (!t)
        return WDL_AGAIN;
    int status = far_make(t, args, info, &far);
    if (status == WDL_OK)
        status = wdl_direct_lock_ready(t, args);
    if (status == WDL_OK)
        status = side_make(host, &args->origin, args->origin.addr, args->done, &near);
    if (status == WDL_OK && args->request && (near.n > 1 || far.n > 1))
        status = WDL_ERR_UNSUPPORTED;
    if (status != WDL_OK)
        return status;
    t->evict = 0;
    status = args->request ?
        begin_request(t, far.key[0], args, near.piece[0].base, far.piece[0].base) :
        begin(t, args, &near, &far);
    if (status == WDL_OK)
        win->stats.ops_direct++;
    return status;
}

/* --- completion ------------------------------------------------------------------------------- */

int wdl_direct_busy(const struct wdl_target *t)
{
    const struct wdl_list *node;
    if (t->direct.begun || t->direct.flushing)
        return 1;
    wdl_list_for(node, &t->issued) {
        const struct wdl_op *op = wdl_container_of(node, struct wdl_op, node.link);
        if (op->comp.fn == request_done)
            return 1;
    }
    return 0;
}

/* A flush is over: what began after it goes on. */
static void flush_over(struct wdl_direct *d)
{
    d->flushing = 0;
    d->flushed = d->flush;
    if (!d->begun)
        d->lo = d->hi = 0;
}

static void flushed(struct wdl_nm_comp *comp, const struct wdl_nm_info *info)
{
    struct wdl_direct *direct = wdl_container_of(comp, struct wdl_direct, comp);
    struct wdl_target *t = wdl_container_of(direct, struct wdl_target, direct);
    flush_over(direct);
    if (wdl_status_is_error(info->status))
        wdl_win_fail(t->win, info->status);
    wdl_win_activate(t->win);
}

int wdl_direct_has_work(const struct wdl_target *t)
{
    return t->direct.begun && !t->direct.flushing &&
        (t->direct.want || t->want_unlock || t->evict);
}

int wdl_direct_progress(struct wdl_target *t)
{
    struct wdl_nm *nm = t->win->proc->nm;
    if (!wdl_direct_has_work(t))
        return 0;
    t->direct.comp.fn = flushed;
    int status = nm->ops->flush(nm, t->win->params.peer_of(t->win->params.ctx, t->rank),
                                &t->direct.comp);
    if (status == WDL_AGAIN)
        return 0;
    t->direct.begun = t->direct.want = 0;
    t->direct.flushing = 1;
    t->direct.flushing_stamp = t->direct.begun_stamp;
    t->direct.flush = ++t->win->flushes;
    if (status != WDL_PENDING)
        flush_over(&t->direct);
    if (wdl_status_is_error(status))
        wdl_win_fail(t->win, status);
    return 1;
}
