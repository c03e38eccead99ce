/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Who alone may update (seed 004, passive target accumulate with an exclusive lock; a post to one
 * origin is "equivalent to a win lock exclusive") updates mapped memory by plain loads and stores:
 * it announces and closes no region, locks no element, and asks for no atomic instruction.
 *
 * Alone is an origin at a target
 *   - whose lock it holds exclusively, or need not ask for (NOCHECK: the user says that nobody
 *     holds or asks for one that conflicts);
 *   - that has posted to it and to nobody else, and has said so with its post; a start by NOCHECK
 *     has heard of no post;
 *   - of a window whose operations of concurrent epochs never overlap, by the user's word
 *     (hints.nonoverlapping): there everybody is.
 *
 * What keeps others away meanwhile:
 *   - Another origin's epoch. Before a lock is granted, and before a target can post again, all
 *     that others did there is done: an unlock, and a complete with its wait, end behind it, by
 *     whatever path it went. Word and message that let this process in are acquired behind a
 *     barrier of whoever went out, so that its plain stores and ours are in order, too; and what
 *     is stored here comes before the barrier with which this process goes out (a lock of NOCHECK
 *     has one of its own, `stored`, as for a put).
 *   - The target's own program. It may touch the memory under its own lock alone, and not at all
 *     while it is exposed (MPI-4, 12.7). Its own updates need a lock, or a post to itself.
 *   - This process's own operations of another path: mapped memory has none, all are done in their
 *     calls. Of a dynamic window another thread may have sent one by message before the memory was
 *     mapped: while something is on its way to the target nobody is alone there.
 *   - This process's other threads, and the progress thread: they are inside the device one at a
 *     time, and an update here is done in one call, from which nobody comes back to go on.
 *   - A lock_all, or a shared lock, of one's own says nothing about others.
 */
#include "mpid/rma/win_impl.h"

static int holds_alone(const struct wdl_win *win, int rank)
{
    if (wdl_quick_is_held(&win->quick, rank))
        return win->quick.sole;
    const struct wdl_target *t = wdl_target_find(win, rank);
    return t && t->lock.exclusive && wdl_lock_open(&t->lock);
}

static int epoch_is_sole(const struct wdl_win *win, int rank)
{
    if (win->params.hints.nonoverlapping)
        return 1;
    if (wdl_pscw_in_access(win))
        return wdl_pscw_is_alone(win, rank);
    return win->epoch.access_state == WDL_ACCESS_PER_TARGET && holds_alone(win, rank);
}

int wdl_win_is_sole(const struct wdl_win *win, int rank)
{
    if (!epoch_is_sole(win, rank))
        return 0;
    return !win->params.reach ||
           (!wdl_mailbox_under_way(win) &&
            wdl_target_is_quiet(win, NULL, rank));
}
