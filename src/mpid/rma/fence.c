/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * MPI_Win_fence (seed 001, Algorithm For FENCE; MPI-4, 12.5.1).
 *   NOPRECEDE: there is nothing to complete. Where the barrier takes messages it is started and
 *              left running: operations that go by message are queued until it is over. The call
 *              waits for its own node, where the barrier knows nodes (seed 001: "perform a local
 *              BARRIER"), and operations within it begin at once. Where it does not, and memory is
 *              mapped, the call waits for all.
 *   NOSUCCEED: the epoch ends here.
 *   NOSTORE:   nothing of the own memory is to be exposed: no MEM_SYNC before the barrier, unless
 *              operations have stored to mapped memory.
 *   NOPUT:     nothing of the own memory will have changed at the next fence: no MEM_SYNC after its
 *              barrier, if the epoch ends there.
 * Other threads may issue operations all the while (seed 001, RMA + Threads): a fence completes
 * what was there when it came, and what comes beside it is of the next epoch.
 */
#include "mpid/rma/win_impl.h"

enum { FENCE_BEGIN, FENCE_SETTLE, FENCE_DRAIN, FENCE_BARRIER, FENCE_WAIT };

/* Steps the epoch, if nobody else has: another thread's operation may have found the barrier over,
 * its MPI_Win_start the epoch open. */
static void fence_step(struct wdl_win *win, enum wdl_access_event event)
{
    if (win->epoch.access_state == WDL_ACCESS_FENCE_ISSUED ||
        (event == WDL_ACCESS_ON_FENCE_LAST &&
         win->epoch.access_state == WDL_ACCESS_FENCE_GRANTED)) {
        int status = wdl_epoch_access(&win->epoch, event);
        wdl_assert_cmp(status, ==, WDL_OK);
    }
}

static int fence_end(struct wdl_win *win, int assertion, int *step)
{
    wdl_pulls_end(win);
    if (assertion & WDL_MODE_NOSUCCEED)
        fence_step(win, WDL_ACCESS_ON_FENCE_LAST);
    wdl_win_quick_set(win);
    *step = FENCE_BEGIN;
    return wdl_win_take_error(win);
}

/* Everything is done at its target: the elements go back (CLEANUP of seed 001). */
static void fence_release_targets(struct wdl_win *win)
{
    struct wdl_list *node, *after;
    wdl_list_for_safe(node, after, &win->targets) {
        struct wdl_target *t = wdl_container_of(node, struct wdl_target, link);
        if (wdl_target_clean(t))
            wdl_target_release(t);
    }
}

/* Whom the call has to wait for. */
static int fence_wait(struct wdl_win *win, int assertion)
{
    const struct wdl_win_params *params = &win->params;
    if (!(assertion & WDL_MODE_NOPRECEDE) || params->node_whole)
        return wdl_barrier_progress(win);
    if (params->nodes > 1 || params->mapped_any)
        return wdl_barrier_near(win);
    (void) wdl_barrier_progress(win);
    return WDL_OK;
}

int wdl_win_fence(struct wdl_win *win, int assertion, int *step)
{
    if (*step == FENCE_BEGIN) {
        int new = 0;
        win->fence_stamp = wdl_win_stamp_of(win, &new);
        *step = FENCE_SETTLE;
    }
    int status = wdl_win_settle_before(win, -1, win->fence_stamp);
    if (status != WDL_OK)
        return status;
    if (*step == FENCE_SETTLE) {
        if (!wdl_epoch_allows(&win->epoch, WDL_ACCESS_ON_FENCE) ||
            win->epoch.expose_state != WDL_EXPOSE_NONE) {
            *step = FENCE_BEGIN;
            return WDL_ERR_SYNC;
        }
        *step = FENCE_DRAIN;
    }
    if (*step == FENCE_DRAIN) {
        if (!(assertion & WDL_MODE_NOPRECEDE) &&
            wdl_win_drain_before(win, win->fence_stamp, 0) != WDL_OK)
            return WDL_AGAIN;
        *step = FENCE_BARRIER;
    }
    if (*step == FENCE_BARRIER) {
        if (!(assertion & WDL_MODE_NOPRECEDE))
            fence_release_targets(win);
        status = wdl_epoch_access(&win->epoch, WDL_ACCESS_ON_FENCE);
        wdl_assert_cmp(status, ==, WDL_OK);
        win->ops_at_fence = wdl_win_ops(win);
        wdl_win_quick_set(win);
        wdl_pulls_rule(win);
        wdl_barrier_begin(win, assertion & WDL_MODE_NOSTORE,
                          win->noput && (assertion & WDL_MODE_NOSUCCEED));
        win->noput = assertion & WDL_MODE_NOPUT;
        *step = FENCE_WAIT;
    }
    if (fence_wait(win, assertion) != WDL_OK)
        return WDL_AGAIN;
    if (!win->barrier.running && !(assertion & WDL_MODE_NOSUCCEED))
        fence_step(win, WDL_ACCESS_ON_FENCE_DONE);
    return fence_end(win, assertion, step);
}
