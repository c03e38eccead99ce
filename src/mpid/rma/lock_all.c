/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The window protocol of lock_all (seed 001): when target elements run out under the per-target
 * protocol, the lock of every target that has none yet is requested, a bounded number at a time and
 * without an element, until all are held.
 */
#include "mpid/rma/win_impl.h"

enum { LOCK_ALL_DUE_MAX = 16 };

void wdl_lock_all_switch(struct wdl_win *win)
{
    struct wdl_list *node;
    int status = wdl_epoch_access(&win->epoch, WDL_ACCESS_ON_EXHAUSTED);
    wdl_assert_cmp(status, ==, WDL_OK);
    win->all_next = win->all_due = 0;
    wdl_list_for(node, &win->targets) {
        struct wdl_target *t = wdl_container_of(node, struct wdl_target, link);
        if (t->lock.state == WDL_LOCK_CALLED)
            t->want_lock = 1;
    }
    wdl_win_activate(win);
}

/* Every element's own lock has been granted. */
static int elements_granted(const struct wdl_win *win)
{
    struct wdl_list *node;
    wdl_list_for(node, &win->targets) {
        const struct wdl_target *t = wdl_container_of(node, struct wdl_target, link);
        if (t->lock.state != WDL_LOCK_GRANTED)
            return 0;
    }
    return 1;
}

int wdl_lock_all_progress(struct wdl_win *win)
{
    int n = 0;
    for (; win->all_next < win->params.size && win->all_due < LOCK_ALL_DUE_MAX; win->all_next++) {
        struct wdl_pkt pkt;
        const struct wdl_target *t = wdl_target_find(win, win->all_next);
        if (t && t->lock.state != WDL_LOCK_IDLE)
            continue;
        wdl_pkt_init(&pkt, win, WDL_PKT_LOCK);
        pkt.flags = WDL_PKT_JOIN;
        if (wdl_pkt_send(win, win->all_next, &pkt) != WDL_OK)
            return n;
        win->all_due++;
        n++;
    }
    if (win->all_next == win->params.size && win->all_due == 0 && elements_granted(win)) {
        int status = wdl_epoch_access(&win->epoch, WDL_ACCESS_ON_ALL_GRANTED);
        wdl_assert_cmp(status, ==, WDL_OK);
        wdl_mem_sync(&win->quick);      /* pairs with the one of each rank's last unlock */
        win->all_next = 0;
        n++;
    }
    return n;
}

int wdl_lock_all_answer(struct wdl_win *win)
{
    if (win->all_due <= 0)
        return WDL_ERR_PROTO;
    win->all_due--;
    wdl_win_activate(win);
    return WDL_OK;
}
