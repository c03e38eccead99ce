/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The operation table (seed 001): slots, target elements, operation elements, and where they come
 * from.
 */
#include <string.h>
#include "mpid/rma/win_impl.h"

static struct wdl_list *target_slot(const struct wdl_win *win, int rank)
{
    return &win->slots[rank % win->nslots];
}

struct wdl_target *wdl_target_find(const struct wdl_win *win, int rank)
{
    if (win->ntargets == 0)
        return NULL;
    struct wdl_list *node, *slot = target_slot(win, rank);
    wdl_list_for(node, slot) {
        struct wdl_target *t = wdl_container_of(node, struct wdl_target, node.link);
        if (t->rank == rank)
            return t;
    }
    return NULL;
}

int wdl_target_clean(const struct wdl_target *t)
{
    return wdl_list_empty(&t->waiting) && wdl_list_empty(&t->issued) && !t->dirty &&
        t->flush_sent == t->flush_acked && !t->direct.key_due && !t->direct.begun &&
        !t->direct.flushing;
}

int wdl_target_waits(const struct wdl_target *t, uint64_t stamp)
{
    const struct wdl_list *node;
    wdl_list_for(node, &t->waiting)
        if (wdl_is_older(wdl_container_of(node, struct wdl_op, node.link)->stamp, stamp))
            return 1;
    return 0;
}

/* An operation elsewhere vouches for itself alone. */
static int list_has(const struct wdl_list *list, uint64_t stamp, int local)
{
    const struct wdl_list *node;
    wdl_list_for(node, list) {
        const struct wdl_op *op = wdl_container_of(node, struct wdl_op, node.link);
        if (wdl_is_older(local ? op->stamp : op->vouches, stamp))
            return 1;
    }
    return 0;
}

/* Is the target being asked whether something older is done, or has that to be asked? */
static int is_unanswered(const struct wdl_target *t, uint64_t stamp)
{
    return (t->dirty && wdl_is_older(t->dirty_stamp, stamp)) ||
        (t->flush_acked != t->flush_sent && wdl_is_older(t->flush_stamp, stamp)) ||
        (t->flush_mark != t->flush_sent && wdl_is_older(t->flush_next_stamp, stamp));
}

static int is_key_due(const struct wdl_direct *d, uint64_t stamp)
{
    for (int of = 0; of < WDL_KEYS_KINDS && d->key_due; of++)
        if ((d->key_due & 1 << of) && wdl_is_older(d->key_stamp[of], stamp))
            return 1;
    return 0;
}

int wdl_target_is_done(const struct wdl_target *t, uint64_t stamp, int local)
{
    const struct wdl_direct *d = &t->direct;
    return !list_has(&t->waiting, stamp, local) && !list_has(&t->issued, stamp, local) &&
        !(d->begun && wdl_is_older(d->begun_stamp, stamp)) &&
        !(d->flushing && wdl_is_older(d->flushing_stamp, stamp)) &&
        (local || (!is_unanswered(t, stamp) && !is_key_due(d, stamp)));
}

int wdl_target_is_quiet(const struct wdl_win *win, const struct wdl_target *t, int rank)
{
    if (t && !wdl_lock_open(&t->lock))
        return 0;
    if (!t)
        t = wdl_target_find(win, rank);
    return !t || wdl_target_clean(t);
}

uint64_t wdl_win_caller(const struct wdl_win *win)
{
    const struct wdl_host *host = &win->proc->host;
    return host->ops->thread ? host->ops->thread(host->ctx) : 0;
}

static int is_awaited(const struct wdl_target *t)
{
    return t->lock.state == WDL_LOCK_CALLED || wdl_lock_asked(&t->lock);
}

/* Does it wait for a lock that another thread has called? Who holds that lock may itself wait for
 * what the caller is about to do: nothing of this target's is waited for. */
static int is_anothers(const struct wdl_target *t, uint64_t caller)
{
    return t->called.by != caller && t->called.by != 0 && is_awaited(t);
}

/* How willing a target is to leave, higher is better: seed 001 asks for granted before issued
 * before called. */
static int victim_merit(const struct wdl_target *t)
{
    if (t->closing)
        return -1;              /* it leaves by itself, as the thread that unlocks it goes on */
    switch (t->lock.state) {
        case WDL_LOCK_IDLE:
        case WDL_LOCK_GRANTED:
            return wdl_target_clean(t) ? 4 : 3;
        case WDL_LOCK_UNCHECKED:
            return 2;
        case WDL_LOCK_ISSUED:
            return 1;
        case WDL_LOCK_CALLED:
            return 0;
        default:
            return -1;          /* RELEASING leaves by itself */
    }
}

/* Pools are dry: choose who is to leave (seed 001, CLEANUP_WIN_AGGRESSIVE). Under the per-target
 * protocol of lock_all a freed element would lose the only record of its lock: the window protocol
 * takes over first. 0: nobody can leave but those who wait for other threads' locks. */
static int target_evict_one(struct wdl_win *win)
{
    uint64_t caller = wdl_win_caller(win);
    struct wdl_target *victim = NULL;
    struct wdl_list *node;
    int others = 0, mine = 0;
    win->stats.pool_waits++;
    if (win->epoch.access_state == WDL_ACCESS_LOCK_ALL_CALLED)
        wdl_lock_all_switch(win);
    if (win->epoch.access_state == WDL_ACCESS_LOCK_ALL_ISSUED)
        return 1;
    wdl_list_for(node, &win->targets) {
        struct wdl_target *t = wdl_container_of(node, struct wdl_target, link);
        if (is_anothers(t, caller)) {
            others = 1;
            continue;
        }
        mine = 1;
        if (t->evict)
            return 1;
        if (!victim || victim_merit(t) > victim_merit(victim))
            victim = t;
    }
    if (!victim || victim_merit(victim) < 0)
        return mine || !others;
    victim->evict = 1;
    victim->want_lock = 1;
    if (victim->lock.state == WDL_LOCK_UNCHECKED) {
        int status = wdl_lock_step(&victim->lock, WDL_LOCK_ON_CONVERT);
        wdl_assert_cmp(status, ==, WDL_OK);
    }
    wdl_win_activate(win);
    return 1;
}

/* One that is in no pool: at most one for each thread that has called a lock. */
static struct wdl_target *target_extra(const struct wdl_win *win)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_target *t = host->ops->alloc(host->ctx, sizeof(*t));
    if (t)
        t->node.home = NULL;
    return t;
}

struct wdl_target *wdl_target_get(struct wdl_win *win, int rank)
{
    struct wdl_target *t = wdl_target_find(win, rank);
    if (t) {
        t->evict = 0;
        return t;
    }
    t = wdl_pool_get(&win->local_targets);
    if (!t)
        t = wdl_pool_get(&win->rma->targets);
    if (!t && !target_evict_one(win))
        t = target_extra(win);
    if (!t)
        return NULL;
    struct wdl_pool_node node = t->node;
    struct wdl_win_control *control;
    memset(t, 0, sizeof(*t));
    t->node = node;
    t->win = win;
    t->rank = rank;
    t->mapped = win->params.map(win->params.ctx, rank, &control) != NULL;
    wdl_lock_init(&t->lock);
    wdl_list_init(&t->waiting);
    wdl_list_init(&t->issued);
    wdl_list_init(&t->called.link);
    wdl_list_push(target_slot(win, rank), &t->node.link);
    wdl_list_push(&win->targets, &t->link);
    if (++win->ntargets > win->stats.targets_high)
        win->stats.targets_high = win->ntargets;
    win->rma->ntargets++;
    return t;
}

void wdl_uncall(struct wdl_rma *rma, struct wdl_called *called)
{
    rma->ncalled -= !wdl_list_empty(&called->link);
    wdl_list_remove(&called->link);
}

void wdl_target_release(struct wdl_target *t)
{
    wdl_assert(wdl_target_clean(t));
    wdl_assert_cmp(t->lock.state, ==, WDL_LOCK_IDLE);
    const struct wdl_host *host = &t->win->proc->host;
    t->win->ntargets--;
    t->win->rma->ntargets--;
    wdl_uncall(t->win->rma, &t->called);
    wdl_list_remove(&t->node.link);
    wdl_list_remove(&t->link);
    if (t->node.home)
        wdl_pool_put(t);
    else
        host->ops->free(host->ctx, t);
}

int wdl_rma_waits(const struct wdl_proc *proc)
{
    const struct wdl_rma *rma = proc->rma;
    return rma && (rma->ntargets > 0 || wdl_mailboxes_wait(rma));
}

/* Several threads: the window's last element is for operations whose lock is held. Else those that
 * wait for one thread's lock could have all of them, while another thread, which needs one, holds
 * what the holder of that lock waits for. */
static int op_is_kept(struct wdl_target *t)
{
    const struct wdl_pool *ops = &t->win->ops;
    if (t->called.by == 0 || !is_awaited(t) || ops->count - ops->in_use > 1)
        return 0;
    t->want_lock = 1;           /* it may go without any operation */
    return 1;
}

struct wdl_op *wdl_op_get(struct wdl_target *t)
{
    struct wdl_win *win = t->win;
    struct wdl_op *op = op_is_kept(t) ? NULL : wdl_pool_get(&win->ops);
    if (!op)
        op = wdl_pool_get(&win->rma->ops);
    if (!op) {
        /* nothing is held back any longer that only the user could release */
        wdl_rma_push(win->rma);
        win->stats.pool_waits++;
        wdl_win_activate(win);
        return NULL;
    }
    op->win = win;
    op->target = t;
    op->total = op->next = op->done = 0;
    op->stamp = op->vouches = win->stamp;
    op->moved = 0;
    op->told = NULL;
    op->sending = 0;
    op->status = WDL_OK;
    wdl_list_init(&op->node.link);
    if (win->ops.in_use > win->stats.ops_high)
        win->stats.ops_high = win->ops.in_use;
    return op;
}

void wdl_args_types(const struct wdl_rma_args *args, void (*fn) (void *ctx, wdl_type type),
                    void *ctx)
{
    if (!args->origin.contig)
        fn(ctx, args->origin.type);
    if (!args->result.contig)
        fn(ctx, args->result.type);
    if (!args->remote.contig)
        fn(ctx, args->remote.type);
}

void wdl_op_finish(struct wdl_op *op, int status)
{
    struct wdl_win *win = op->win;
    const struct wdl_host *host = &win->proc->host;
    const struct wdl_rma_args args = op->args;
    struct wdl_told *told = op->told;
    if (status == WDL_OK)
        status = op->status;
    /* it is over before anybody is told */
    wdl_list_remove(&op->node.link);
    wdl_pool_put(op);
    if (wdl_status_is_error(status) && !args.request)
        wdl_win_fail(win, status);
    if (args.request)
        host->ops->request_complete(host->ctx, args.request, status);
    if (told)
        wdl_type_used(win, told, status);
    wdl_args_types(&args, host->ops->type_drop, host->ctx);
    /* the element may have been what its target waited for */
    wdl_win_activate(win);
}

uint64_t wdl_op_ref(const struct wdl_op *op)
{
    uint64_t global = op->node.home == &op->win->rma->ops;
    return (uint64_t) op->node.generation << 32 | global << 31 | op->node.index;
}

struct wdl_op *wdl_op_find(struct wdl_win *win, uint64_t ref)
{
    const struct wdl_pool *pool = ref >> 31 & 1 ? &win->rma->ops : &win->ops;
    struct wdl_op *op = wdl_pool_find(pool, (uint32_t) ref & 0x7fffffffu, (uint32_t) (ref >> 32));
    return op && op->win == win ? op : NULL;
}
