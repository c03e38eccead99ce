/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Lock, unlock, flush of one target and of all (seed 001, LOCK-UNLOCK, LOCK_ALL-UNLOCK_ALL, FLUSH; MPI-4, 12.5.3, 12.5.4).
 * The lock request goes out with the first operation; at once where the user could load and store the target's memory.
 */
#include "mpid/rma/win_impl.h"

static int is_passive(const struct wdl_win *win)
{
    return win->epoch.access_state >= WDL_ACCESS_LOCK_ALL_CALLED;
}

static int is_lock_all(const struct wdl_win *win)
{
    return is_passive(win) && win->epoch.access_state != WDL_ACCESS_PER_TARGET;
}

static void lock_take_row(struct wdl_target *t, enum wdl_lock_event event)
{
    int status = wdl_lock_step(&t->lock, event);
    wdl_assert_cmp(status, ==, WDL_OK);
}

static int lock_begin(struct wdl_win *win, int rank, int exclusive, int assertion)
{
    struct wdl_target *t = wdl_target_find(win, rank);
    if (rank < 0 || rank >= win->params.size)
        return WDL_ERR_RANK;
    if (win->params.no_locks || !wdl_epoch_allows(&win->epoch, WDL_ACCESS_ON_LOCK) ||
        win->fence_ops > 0 || win->epoch.expose_state != WDL_EXPOSE_NONE)
        return WDL_ERR_SYNC;
    if (t && t->lock.state != WDL_LOCK_IDLE)
        return WDL_ERR_SYNC;
    t = wdl_target_get(win, rank);
    if (!t)
        return WDL_AGAIN;
    int status = wdl_epoch_access(&win->epoch, WDL_ACCESS_ON_LOCK);
    wdl_assert_cmp(status, ==, WDL_OK);
    lock_take_row(t, assertion & WDL_MODE_NOCHECK ? WDL_LOCK_ON_NOCHECK : WDL_LOCK_ON_LOCK);
    t->lock.exclusive = exclusive;
    t->want_lock = t->path == WDL_PATH_MAPPED;
    win->locked_targets++;
    win->locks_held++;
    return WDL_OK;
}

int wdl_win_lock(struct wdl_win *win, int rank, int exclusive, int assertion, int *step)
{
    if (*step == 0) {
        int status = lock_begin(win, rank, exclusive, assertion);
        if (status != WDL_OK)
            return status;
        *step = 1;
    }
    struct wdl_target *t = wdl_target_find(win, rank);
    if (t && t->want_lock && !wdl_lock_open(&t->lock)) {
        wdl_target_progress(t);
        wdl_win_activate(win);
        return WDL_AGAIN;
    }
    *step = 0;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);    /* MEM_SYNC; pairs with the one of the last unlock */
    return WDL_OK;
}

/* Close one locked target: WDL_OK when its element is gone. */
static int target_unlock(struct wdl_target *t)
{
    struct wdl_win *win = t->win;
    if (t->lock.state == WDL_LOCK_CALLED && !t->want_lock && wdl_list_empty(&t->waiting))
        lock_take_row(t, WDL_LOCK_ON_DROP);
    if (t->lock.state == WDL_LOCK_CALLED || t->lock.state == WDL_LOCK_ISSUED) {
        wdl_target_drain(t, 1);
        return WDL_AGAIN;
    }
    if (t->lock.state == WDL_LOCK_UNCHECKED) {
        if (wdl_target_drain(t, 0) != WDL_OK)
            return WDL_AGAIN;
        lock_take_row(t, WDL_LOCK_ON_DROP);
    }
    if (t->lock.state == WDL_LOCK_GRANTED) {
        struct wdl_pkt pkt;
        wdl_target_drain(t, win->proc->ordered);
        if (!wdl_list_empty(&t->waiting) ||
            (!win->proc->ordered && !wdl_list_empty(&t->issued)))
            return WDL_AGAIN;
        __atomic_thread_fence(__ATOMIC_SEQ_CST);        /* MEM_SYNC; pairs with the next holder's in wdl_win_lock */
        wdl_pkt_init(&pkt, win, WDL_PKT_UNLOCK);
        if (wdl_pkt_send(win, t->rank, &pkt) != WDL_OK)
            return WDL_AGAIN;
        lock_take_row(t, WDL_LOCK_ON_RELEASE);
        t->dirty = 0;           /* the release's acknowledgement says it too */
    }
    if (t->lock.state == WDL_LOCK_RELEASING) {
        wdl_target_drain(t, 1);
        return WDL_AGAIN;
    }
    if (wdl_target_drain(t, 0) != WDL_OK)
        return WDL_AGAIN;
    win->locked_targets--;
    wdl_target_release(t);
    return WDL_OK;
}

/* The locked target's element, made again if it was evicted. */
static int locked_target(struct wdl_win *win, int rank, struct wdl_target **t_out)
{
    struct wdl_target *t = wdl_target_find(win, rank);
    *t_out = t;
    if (t && t->lock.state != WDL_LOCK_IDLE) {
        t->evict = 0;
        return WDL_OK;
    }
    if (win->locked_targets >= win->locks_held)
        return WDL_ERR_SYNC;
    t = wdl_target_get(win, rank);
    if (!t)
        return WDL_AGAIN;
    lock_take_row(t, WDL_LOCK_ON_ASSUME);
    win->locked_targets++;
    *t_out = t;
    return WDL_OK;
}

int wdl_win_unlock(struct wdl_win *win, int rank, int *step)
{
    struct wdl_target *t;
    if (rank < 0 || rank >= win->params.size)
        return WDL_ERR_RANK;
    if (win->epoch.access_state != WDL_ACCESS_PER_TARGET)
        return WDL_ERR_SYNC;
    if (*step == 0) {
        int status = locked_target(win, rank, &t);
        if (status != WDL_OK)
            return status;
        *step = 1;
    }
    t = wdl_target_find(win, rank);
    /* acknowledged: the element is idle, and closes here */
    if (target_unlock(t) != WDL_OK)
        return WDL_AGAIN;
    *step = 0;
    if (--win->locks_held == 0) {
        int status = wdl_epoch_access(&win->epoch, WDL_ACCESS_ON_LAST_UNLOCK);
        wdl_assert_cmp(status, ==, WDL_OK);
    }
    return wdl_win_take_error(win);
}

int wdl_win_lock_all(struct wdl_win *win, int assertion, int *step)
{
    int nocheck = (assertion & WDL_MODE_NOCHECK) != 0;
    (void) step;
    if (win->params.no_locks || win->fence_ops > 0 || win->epoch.expose_state != WDL_EXPOSE_NONE)
        return WDL_ERR_SYNC;
    int status = wdl_epoch_access(&win->epoch,
                                  nocheck ? WDL_ACCESS_ON_LOCK_ALL_NOCHECK : WDL_ACCESS_ON_LOCK_ALL);
    if (status != WDL_OK)
        return status;
    win->all_nocheck = nocheck;
    win->all_next = win->all_due = 0;
    return WDL_OK;
}

/* Elements are only caches under the window protocol: their locks are counted window-wide. */
static void forget_targets(struct wdl_win *win)
{
    struct wdl_list *node, *after;
    wdl_list_for_safe(node, after, &win->targets) {
        struct wdl_target *t = wdl_container_of(node, struct wdl_target, link);
        if (t->lock.state == WDL_LOCK_GRANTED)
            lock_take_row(t, WDL_LOCK_ON_EVICT);
        wdl_target_release(t);
    }
    win->locked_targets = 0;
}

enum { UNLOCK_ALL_BEGIN, UNLOCK_ALL_TARGETS, UNLOCK_ALL_WINDOW };

static int unlock_all_targets(struct wdl_win *win)
{
    int status = WDL_OK;
    struct wdl_list *node, *after;
    wdl_list_for_safe(node, after, &win->targets)
        if (target_unlock(wdl_container_of(node, struct wdl_target, link)) != WDL_OK)
            status = WDL_AGAIN;
    return status;
}

static int unlock_all_window(struct wdl_win *win)
{
    while (!win->all_nocheck && win->all_next < win->params.size) {
        struct wdl_pkt pkt;
        wdl_pkt_init(&pkt, win, WDL_PKT_UNLOCK);
        if (wdl_pkt_send(win, win->all_next, &pkt) != WDL_OK)
            return WDL_AGAIN;
        win->all_next++;
        win->all_due++;
    }
    return win->all_due > 0 ? WDL_AGAIN : WDL_OK;
}

int wdl_win_unlock_all(struct wdl_win *win, int *step)
{
    if (!is_lock_all(win))
        return WDL_ERR_SYNC;
    if (win->epoch.access_state == WDL_ACCESS_LOCK_ALL_ISSUED)
        return WDL_AGAIN;
    if (*step == UNLOCK_ALL_BEGIN)
        *step = win->epoch.access_state == WDL_ACCESS_LOCK_ALL_CALLED ? UNLOCK_ALL_TARGETS :
            UNLOCK_ALL_WINDOW;
    if (*step == UNLOCK_ALL_TARGETS && unlock_all_targets(win) != WDL_OK)
        return WDL_AGAIN;
    if (*step == UNLOCK_ALL_WINDOW) {
        if (win->ntargets > 0) {
            if (wdl_win_drain(win, 0) != WDL_OK)
                return WDL_AGAIN;
            forget_targets(win);
            win->all_next = win->all_due = 0;
        }
        if (unlock_all_window(win) != WDL_OK)
            return WDL_AGAIN;
        win->all_next = 0;
    }
    *step = UNLOCK_ALL_BEGIN;
    int status = wdl_epoch_access(&win->epoch, WDL_ACCESS_ON_UNLOCK_ALL);
    wdl_assert_cmp(status, ==, WDL_OK);
    return wdl_win_take_error(win);
}

int wdl_win_flush(struct wdl_win *win, int rank, int local, int *step)
{
    (void) step;
    if (!is_passive(win))
        return WDL_ERR_SYNC;
    if (rank >= win->params.size)
        return WDL_ERR_RANK;
    if (rank < 0) {
        if (wdl_win_drain(win, local) != WDL_OK)
            return WDL_AGAIN;
    } else {
        struct wdl_target *t = wdl_target_find(win, rank);
        if (!t && win->epoch.access_state == WDL_ACCESS_PER_TARGET &&
            win->locked_targets >= win->locks_held)
            return WDL_ERR_SYNC;
        if (t && wdl_target_drain(t, local) != WDL_OK)
            return WDL_AGAIN;
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);    /* MEM_SYNC (seed 001, FLUSH); pairs with the peer's own synchronization */
    return wdl_win_take_error(win);
}
