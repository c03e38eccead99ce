/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The door of every operation: may it be done now (epoch, lock), is it in bounds, and by which
 * path.
 */
#include <string.h>
#include "mpid/rma/stream.h"
#include "mpid/rma/win_impl.h"

/* The target element of a passive-target operation, or why there is none. */
static int passive_target(struct wdl_win *win, int rank, struct wdl_target **t_out)
{
    struct wdl_target *t = wdl_target_find(win, rank);
    int state = win->epoch.access_state;
    *t_out = t;
    if (win->quick.place && state == WDL_ACCESS_LOCK_ALL_GRANTED)
        return WDL_OK;          /* nothing to keep: all is done in the call */
    if (win->quick.held == rank) {
        *t_out = NULL;          /* who needs one makes an element, as in an active target epoch */
        return WDL_OK;
    }
    if (t && t->lock.state >= WDL_LOCK_RELEASING)
        return WDL_ERR_SYNC;
    if (t && t->lock.state != WDL_LOCK_IDLE) {
        t->evict = 0;
        return WDL_OK;
    }
    if (state == WDL_ACCESS_LOCK_ALL_ISSUED)
        return WDL_AGAIN;
    if (state == WDL_ACCESS_PER_TARGET && win->locked_targets >= win->locks_held)
        return WDL_ERR_SYNC;    /* nothing was evicted: this target was never locked */
    if (!t)
        t = wdl_target_get(win, rank);
    if (!t)
        return WDL_AGAIN;
    int status = wdl_lock_step(&t->lock, state == WDL_ACCESS_LOCK_ALL_CALLED ? WDL_LOCK_ON_LOCK :
                               WDL_LOCK_ON_ASSUME);
    wdl_assert_cmp(status, ==, WDL_OK);
    win->locked_targets++;
    *t_out = t;
    return WDL_OK;
}

static int is_of_node(const struct wdl_win *win, int rank)
{
    struct wdl_win_control *control;
    (void) win->params.map(win->params.ctx, rank, &control);
    return control != NULL;
}

int wdl_target_exposed(struct wdl_win *win, int rank)
{
    switch (win->epoch.access_state) {
        case WDL_ACCESS_FENCE_ISSUED:
            return is_of_node(win, rank) ? wdl_barrier_near(win) : wdl_barrier_progress(win);
        case WDL_ACCESS_PSCW_ISSUED:
        case WDL_ACCESS_PSCW_GRANTED:
            return wdl_pscw_may_access(win, rank);
        default:
            return WDL_OK;
    }
}

/* May this process access that rank now? Fills *t_out where the epoch is passive. WDL_AGAIN: not
 * yet, in an active one. */
static int op_admit(struct wdl_win *win, int rank, struct wdl_target **t_out)
{
    int status;
    *t_out = NULL;
    switch (win->epoch.access_state) {
        case WDL_ACCESS_FENCE_GRANTED:
            return WDL_OK;
        case WDL_ACCESS_FENCE_ISSUED:
            if (wdl_target_exposed(win, rank) != WDL_OK)
                return WDL_AGAIN;
            if (win->barrier.running)
                return WDL_OK;
            status = wdl_epoch_access(&win->epoch, WDL_ACCESS_ON_FENCE_DONE);
            wdl_assert_cmp(status, ==, WDL_OK);
            wdl_win_quick_set(win);
            return WDL_OK;
        case WDL_ACCESS_PSCW_ISSUED:
        case WDL_ACCESS_PSCW_GRANTED:
            return wdl_pscw_may_access(win, rank);
        case WDL_ACCESS_NONE:
            return WDL_ERR_SYNC;
        default:
            return passive_target(win, rank, t_out);
    }
}

/* The bounds that can be known here. */
static int op_in_bounds(const struct wdl_rma_args *args, const struct wdl_win_rank *info)
{
    int64_t at, lo, hi;
    if (info->bytes == UINT64_MAX)
        return WDL_OK;          /* dynamic: the target knows */
    if (args->disp < 0)
        return WDL_ERR_DISP;
    if (__builtin_mul_overflow(args->disp, info->disp_unit, &at) ||
        __builtin_add_overflow(at, args->remote.lo, &lo) ||
        __builtin_add_overflow(at, args->remote.hi, &hi))
        return WDL_ERR_RANGE;
    if (args->remote.bytes > 0 && (lo < 0 || hi < lo || (uint64_t) hi > info->bytes))
        return WDL_ERR_RANGE;
    return WDL_OK;
}

static int op_valid(const struct wdl_win *win, const struct wdl_rma_args *args)
{
    const struct wdl_host *host = &win->proc->host;
    if (args->target < 0 || args->target >= win->params.size)
        return WDL_ERR_RANK;
    if (args->kind == WDL_RMA_PUT || args->kind == WDL_RMA_GET)
        return WDL_OK;
    if (args->element.packed_bytes == 0)
        return WDL_ERR_TYPE;
    if (args->kind != WDL_RMA_CAS &&
        !host->ops->op_valid(host->ctx, args->element.host_type, args->op))
        return WDL_ERR_OP;
    return WDL_OK;
}

/* Is there room for what comes (MPI-4, 12.3: as for a send and its receive)? A put or an accumulate
 * may fill a part of the target's layout, and a get a part of its result; what is combined with
 * something that is fetched is as long as that. */
static int op_fits(struct wdl_rma_args *args)
{
    size_t origin = args->origin.bytes, remote = args->remote.bytes;
    if (remote > INT64_MAX)
        return WDL_ERR_RANGE;
    switch (args->kind) {
        case WDL_RMA_PUT:
        case WDL_RMA_ACC:
            if (origin < remote && args->kind == WDL_RMA_ACC && origin % args->element.packed_bytes)
                return WDL_ERR_TYPE;
            if (origin < remote)
                args->remote.bytes = origin;
            return origin > remote ? WDL_ERR_TRUNCATE : WDL_OK;
        case WDL_RMA_GET:
            return origin < remote ? WDL_ERR_TRUNCATE : WDL_OK;
        case WDL_RMA_GET_ACC:
            if (args->op != WDL_ROP_NO_OP && origin != remote)
                return origin > remote ? WDL_ERR_TRUNCATE : WDL_ERR_TYPE;
            return args->result.bytes < remote ? WDL_ERR_TRUNCATE : WDL_OK;
        default:
            return WDL_OK;
    }
}

/* How the target's layout is named in packets: WDL_OK or ERR_NOMEM. */
static int op_name_type(struct wdl_op *op)
{
    const struct wdl_host *host = &op->win->proc->host;
    const struct wdl_buf *remote = &op->args.remote;
    struct wdl_element element;
    if (remote->contig) {
        op->type = WDL_PKT_CONTIG;
    } else if (remote->type <= UINT32_MAX &&
               host->ops->element(host->ctx, (uint32_t) remote->type, &element)) {
        op->type = WDL_PKT_PREDEFINED;
    } else {
        op->told = wdl_type_use(op->win, op->args.target, remote->type);
        if (!op->told)
            return WDL_ERR_NOMEM;
        op->type = op->told->id;
    }
    return WDL_OK;
}

/* The message path: into the table, and out of it at once where the lock is there. */
static int op_enqueue(struct wdl_win *win, const struct wdl_rma_args *args, struct wdl_target *t)
{
    const struct wdl_host *host = &win->proc->host;
    if (!t)
        t = wdl_target_get(win, args->target);
    if (!t)
        return WDL_AGAIN;
    struct wdl_op *op = wdl_op_get(t);
    if (!op)
        return WDL_AGAIN;
    op->args = *args;
    op->total = wdl_args_bytes(args);
    if (op_name_type(op) != WDL_OK) {
        wdl_pool_put(op);
        return WDL_ERR_NOMEM;
    }
    wdl_args_types(args, host->ops->type_hold, host->ctx);
    wdl_list_push(&t->waiting, &op->node.link);
    win->stats.ops_message++;
    t->evict = 0;
    /* the description of its type need not wait for the lock; what is not sent now is later */
    while (op->told && wdl_type_send(op) == WDL_PENDING)
        ;
    wdl_combine_op(t);
    wdl_target_progress(t);
    wdl_win_activate(win);
    return WDL_OK;
}

/* A mapped target's lock must be held before its memory is touched. */
static int mapped_ready(struct wdl_win *win, struct wdl_target *t)
{
    if (!t || wdl_lock_open(&t->lock))
        return WDL_OK;
    t->want_lock = 1;
    wdl_win_activate(win);
    return WDL_AGAIN;
}

/* Done in the call, like a mapped one, or held. */
static int op_copy(struct wdl_win *win, struct wdl_rma_args *args, struct wdl_target *t,
                   struct wdl_win_control *control, const struct wdl_win_rank *info, int ready)
{
    const struct wdl_host *host = &win->proc->host;
    int status = ready == WDL_OK ? wdl_bag_move_op(win, args, t, control, info) : ready;
    if (status != WDL_ERR_UNSUPPORTED)
        return status;
    status = wdl_copy_op(win, args, control, info);
    if (status != WDL_OK)
        return status;
    wdl_train_count(win, args->target, args->kind, args->remote.bytes);
    win->stats.ops_copied += !win->mailbox.mail;        /* else it may still go another way */
    win->quick.stored |= args->kind == WDL_RMA_PUT;
    if (args->request && !win->mailbox.mail)   /* or its target is still at it */
        host->ops->request_complete(host->ctx, args->request, WDL_OK);
    return WDL_OK;
}

/* Does our own dynamic window expose what the operation touches? */
static int own_exposed(struct wdl_win *win, const struct wdl_rma_args *args)
{
    const struct wdl_buf *remote = &args->remote;
    uint64_t addr = (uint64_t) args->disp;
    return wdl_win_exposes(win, addr, remote->lo, remote->hi) ||
        (!remote->contig &&
         wdl_win_exposes_stream(win, addr, remote->count, remote->type, 0, remote->bytes));
}

/* A dynamic window's target: *mapped: what the operation touches is mapped here, *base_out: our
 * address of its address 0. An accumulate waits for those that went by message: their places may be
 * its own. */
static int reach(struct wdl_win *win, struct wdl_rma_args *args,
                 const struct wdl_win_control *control, int *mapped, char **base_out)
{
    uintptr_t shift = 0;
    int status = wdl_copy_reach(win, args, control, mapped, &shift);
    if (status != WDL_OK || !*mapped)
        return status;
    *base_out = (char *) shift;
    struct wdl_target *t = wdl_target_find(win, args->target);
    if (args->kind > WDL_RMA_GET && t)
        status = wdl_target_drain_before(t, wdl_win_stamp_of(win, &args->step), 0);
    return status;
}

/* On memory that is mapped at base. */
static int op_mapped(struct wdl_win *win, struct wdl_rma_args *args, char *base,
                     struct wdl_win_control *control, int64_t disp_unit)
{
    const struct wdl_host *host = &win->proc->host;
    int status = wdl_mapped_op(win, args, base, control, disp_unit);
    if (status != WDL_OK)
        return status;
    win->quick.ops++;
    win->quick.stored |= args->kind == WDL_RMA_PUT;
    if (args->request)
        host->ops->request_complete(host->ctx, args->request, WDL_OK);
    return WDL_OK;
}

/* What comes before its target takes it is queued (seed 001, RMA_OP in FENCE_ISSUED), if it goes by
 * message; not what the network could do alone, without the target's processor, a little later. */
static int network_alone(const struct wdl_win *win, const struct wdl_rma_args *args)
{
    return args->kind <= WDL_RMA_GET ? win->keys[WDL_KEYS_DATA].at != NULL : win->net_sizes != 0;
}

/* A read that meets no update is a get. (Where it is only known that none is under way at the same
 * place those of this process may be: what is mapped is done when it is begun.) */
static void read_plainly(const struct wdl_win *win, struct wdl_rma_args *args, int mapped)
{
    const struct wdl_win_hints *hints = &win->params.hints;
    if (args->kind == WDL_RMA_GET_ACC && args->op == WDL_ROP_NO_OP && args->done == 0 &&
        (hints->acc_reads || (mapped && hints->acc_same))) {
        args->kind = WDL_RMA_GET;
        args->origin = args->result;
    }
}

/* Has its target been asked to do it? */
static int is_handed(struct wdl_win *win, const struct wdl_rma_args *args, struct wdl_target *t,
                     struct wdl_win_control *control, const struct wdl_win_rank *info)
{
    if (wdl_pull_op(win, args, control, info) == WDL_OK)
        return 1;
    enum wdl_train_way way = wdl_train_op(win, args, t, control, info);
    return way == WDL_TRAIN_TAKEN ||
           (way == WDL_TRAIN_NONE && (wdl_mailbox_op(win, args, t, control) == WDL_OK ||
                                      wdl_stream_fold(win, args, t, control) == WDL_OK));
}

int wdl_rma_op(struct wdl_win *win, struct wdl_rma_args *args)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_win_control *control = NULL;
    struct wdl_win_rank info;
    struct wdl_target *t;
    read_plainly(win, args, win->quick.place != NULL);
    /* what goes as the last one did, and has not begun another way */
    int status = args->done > 0 ? WDL_ERR_UNSUPPORTED :
        win->mailbox.train.ring ? wdl_train_again(win, args) :
        (args->kind <= WDL_RMA_GET ? wdl_copy_again(win, args) : wdl_bag_again(win, args)) ?
        WDL_OK : WDL_ERR_UNSUPPORTED;
    if (status != WDL_ERR_UNSUPPORTED)
        return status;
    status = op_valid(win, args);
    if (status == WDL_OK)
        status = op_fits(args);
    if (status != WDL_OK)
        return status;
    /* before there is an element for this target: what is under way to another may need the last
     * one, and would have it made room for in vain */
    if (win->mailbox.on && wdl_mailbox_under_way(win) && wdl_mailbox_clear(win, args) != WDL_OK)
        return WDL_AGAIN;
    if (win->pulls.n > 0 && wdl_pulls_admit(win, args->target) != WDL_OK)
        return WDL_AGAIN;
    status = op_admit(win, args->target, &t);
    int later = status == WDL_AGAIN && wdl_win_is_active(win);
    if (status != WDL_OK && !later)
        return status;
    win->params.rank_info(win->params.ctx, args->target, &info);
    status = op_in_bounds(args, &info);
    if (status != WDL_OK)
        return status;
    if (args->kind != WDL_RMA_CAS && args->remote.bytes == 0) {
        win->quick.ops++;
        if (args->request)
            host->ops->request_complete(host->ctx, args->request, WDL_OK);
        return WDL_OK;
    }
    char *base = win->params.map(win->params.ctx, args->target, &control);
    if (later)
        return control || network_alone(win, args) ? WDL_AGAIN : op_enqueue(win, args, t);
    int mapped = base != NULL, dynamic = win->params.flavor == WDL_WIN_DYNAMIC;
    if (base && dynamic) {
        mapped = own_exposed(win, args);
        if (!mapped)
            return WDL_ERR_RANGE;
        base = NULL;
    } else if (!base && control && win->params.reach) {
        status = reach(win, args, control, &mapped, &base);
        if (status != WDL_OK)
            return status;
    }
    if (win->mailbox.on && control && !mapped && args->done == 0 &&
        is_handed(win, args, t, control, &info))
        return WDL_OK;
    int copied = !mapped && control && win->params.copy && args->kind <= WDL_RMA_GET;
    if (!mapped && control && args->kind >= WDL_RMA_ACC) {
        status = wdl_outside_op(win, args, t, control, &info);
        if (status == WDL_ERR_UNSUPPORTED && args->done == 0)
            status = wdl_bag_op(win, args, t, control, &info);
        if (status != WDL_ERR_UNSUPPORTED)
            return status;
    }
    if (!copied && wdl_batches_run(win, args->target) != WDL_OK)
        return WDL_AGAIN;
    if (!mapped && !copied) {
        status = args->kind <= WDL_RMA_GET ? wdl_direct_op(win, args, t, &info) :
            wdl_atomic_op(win, args, t, &info);
        return status == WDL_ERR_UNSUPPORTED ? op_enqueue(win, args, t) : status;
    }
    status = mapped_ready(win, t);
    if (copied) {
        status = op_copy(win, args, t, control, &info, status);
        return status == WDL_ERR_UNSUPPORTED ? op_enqueue(win, args, t) : status;
    }
    return status == WDL_OK ? op_mapped(win, args, base, control, info.disp_unit) : status;
}
