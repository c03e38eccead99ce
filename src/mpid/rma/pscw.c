/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Post, start, complete, wait (seed 001; MPI-4, 12.5.2). Post sends a packet to each origin,
 * complete one to each target: O(k) for groups of k. What complete has to say is part of the last
 * operation's packet where there is one still to be sent, and what is not known to have happened
 * went before it in order. Start only notes the group; an operation waits for its own target's
 * post. Posts that come before their start are remembered by rank, at most one per rank.
 *
 * Where all ranks are on one node, post is a store into a free place of the origin's control block
 * (a packet, should all be taken), complete an addition to a counter in the target's.
 */
#include <string.h>
#include "mpid/rma/win_impl.h"

/* Index of rank in the sorted access group, or -1. */
static int group_index(const struct wdl_win *win, int rank)
{
    int lo = 0, hi = win->start_n - 1;
    while (lo <= hi) {
        int mid = (lo + hi) / 2;
        if (win->start_group[mid] == rank)
            return mid;
        if (win->start_group[mid] < rank)
            lo = mid + 1;
        else
            hi = mid - 1;
    }
    return -1;
}

int wdl_pscw_in_access(const struct wdl_win *win)
{
    return win->epoch.access_state == WDL_ACCESS_PSCW_ISSUED ||
        win->epoch.access_state == WDL_ACCESS_PSCW_GRANTED;
}

int wdl_pscw_posted(struct wdl_win *win, int rank)
{
    const struct wdl_host *host = &win->proc->host;
    int at = wdl_pscw_in_access(win) ? group_index(win, rank) : -1;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);    /* pairs with the one in wdl_win_post */
    if (at >= 0 && !win->start_posted[at]) {
        win->start_posted[at] = 1;
        return WDL_OK;
    }
    if (win->posted_n >= win->params.size)
        return WDL_ERR_PROTO;
    if (win->posted_n == win->posted_room) {
        int room = win->posted_room ? 2 * win->posted_room : 8;
        int *posted = host->ops->alloc(host->ctx, (size_t) room * sizeof(*posted));
        if (!posted)
            return WDL_AGAIN;
        if (win->posted) {
            memcpy(posted, win->posted, (size_t) win->posted_n * sizeof(*posted));
            host->ops->free(host->ctx, win->posted);
        }
        win->posted = posted;
        win->posted_room = room;
    }
    win->posted[win->posted_n++] = rank;
    return WDL_OK;
}

int wdl_pscw_may_complete(const struct wdl_win *win)
{
    return win->completed < win->params.size;
}

int wdl_pscw_completed(struct wdl_win *win)
{
    if (!wdl_pscw_may_complete(win))
        return WDL_ERR_PROTO;
    win->completed++;
    return WDL_OK;
}

/* Leave word in the origin's block: 1 if there was room. */
static int post_by_word(const struct wdl_win *win, int rank)
{
    struct wdl_win_control *control = &win->params.node[rank];
    for (int i = 0; win->params.node_whole && i < WDL_WIN_POSTS; i++) {
        uint32_t nobody = 0;
        if (__atomic_load_n(&control->posted[i], __ATOMIC_RELAXED) == 0 &&
            __atomic_compare_exchange_n(&control->posted[i], &nobody,
                                        (uint32_t) win->params.rank + 1, 0,
                                        /* pairs with the load in take_words */
                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            return 1;
    }
    return 0;
}

int wdl_win_post(struct wdl_win *win, const int *group, int n, int assertion, int *step)
{
    if (*step == 0) {
        int fence = win->epoch.access_state == WDL_ACCESS_FENCE_GRANTED ||
            win->epoch.access_state == WDL_ACCESS_FENCE_ISSUED;
        if (fence && wdl_win_used(win))
            return WDL_ERR_SYNC;
        int status = wdl_epoch_expose(&win->epoch, WDL_EXPOSE_ON_POST);
        if (status != WDL_OK)
            return status;
        win->exposed_n = n;
        *step = 1;
        __atomic_thread_fence(__ATOMIC_SEQ_CST);        /* pairs with the one in wdl_pscw_posted */
    }
    if (assertion & WDL_MODE_NOCHECK)
        *step = n + 1;
    while (*step <= n) {
        struct wdl_pkt pkt;
        wdl_pkt_init(&pkt, win, WDL_PKT_POST);
        int status = post_by_word(win, group[*step - 1])
                         ? WDL_OK
                         : wdl_pkt_send(win, group[*step - 1], &pkt);
        if (status == WDL_AGAIN)
            return WDL_AGAIN;
        if (wdl_status_is_error(status))
            wdl_win_fail(win, status);
        ++*step;
    }
    *step = 0;
    return WDL_OK;
}

static void sort_ranks(int *ranks, int n)
{
    /* groups are small or already sorted: insertion */
    for (int i = 1; i < n; i++) {
        int r = ranks[i], j = i;
        for (; j > 0 && ranks[j - 1] > r; j--)
            ranks[j] = ranks[j - 1];
        ranks[j] = r;
    }
}

static void take_early_posts(struct wdl_win *win)
{
    int kept = 0;
    for (int i = 0; i < win->posted_n; i++) {
        int at = group_index(win, win->posted[i]);
        if (at >= 0 && !win->start_posted[at])
            win->start_posted[at] = 1;
        else
            win->posted[kept++] = win->posted[i];
    }
    win->posted_n = kept;
}

int wdl_win_start(struct wdl_win *win, const int *group, int n, int assertion, int *step)
{
    const struct wdl_host *host = &win->proc->host;
    (void) step;
    if (!wdl_epoch_allows(&win->epoch, WDL_ACCESS_ON_START) ||
        (win->epoch.access_state != WDL_ACCESS_NONE && wdl_win_used(win)))
        return WDL_ERR_SYNC;
    size_t room = n > 0 ? (size_t) n : 1;
    int *ranks = host->ops->alloc(host->ctx, room * sizeof(*ranks));
    uint8_t *posted = host->ops->alloc(host->ctx, room);
    if (!ranks || !posted) {
        if (ranks)
            host->ops->free(host->ctx, ranks);
        if (posted)
            host->ops->free(host->ctx, posted);
        return WDL_ERR_NOMEM;
    }
    memcpy(ranks, group, (size_t) n * sizeof(*ranks));
    sort_ranks(ranks, n);
    win->start_group = ranks;
    win->start_posted = posted;
    win->start_n = n;
    win->complete_next = 0;
    if (assertion & WDL_MODE_NOCHECK)
        memset(posted, 1, room);
    else
        take_early_posts(win);
    int status = wdl_epoch_access(&win->epoch, WDL_ACCESS_ON_START);
    wdl_win_quick_set(win);
    return status;
}

/* Posts left in this rank's block by members of the access group; others stay for a later start. */
static void take_words(struct wdl_win *win)
{
    struct wdl_win_control *own = win->params.node;
    if (!win->params.node_whole)
        return;
    own += win->params.node_index;
    for (int i = 0; i < WDL_WIN_POSTS; i++) {
        /* pairs with the exchange in post_by_word */
        uint32_t rank = __atomic_load_n(&own->posted[i], __ATOMIC_ACQUIRE);
        int at = rank ? group_index(win, (int) rank - 1) : -1;
        if (at < 0 || win->start_posted[at])
            continue;
        win->start_posted[at] = 1;
        __atomic_store_n(&own->posted[i], 0, __ATOMIC_RELEASE);
    }
}

static int all_posted(const struct wdl_win *win)
{
    for (int i = 0; i < win->start_n; i++)
        if (!win->start_posted[i])
            return 0;
    return 1;
}

int wdl_pscw_may_access(struct wdl_win *win, int rank)
{
    int at = group_index(win, rank);
    if (at < 0)
        return WDL_ERR_SYNC;
    if (!win->start_posted[at])
        take_words(win);
    return win->start_posted[at] ? WDL_OK : WDL_AGAIN;
}

/* All that was done to each target, and that this is all: WDL_OK when it is said. */
static int completes_send(struct wdl_win *win)
{
    struct wdl_list *node;
    wdl_list_for(node, &win->targets) {
        struct wdl_target *t = wdl_container_of(node, struct wdl_target, link);
        t->want_complete = !t->completed && !win->params.node_whole;
    }
    /* ordered network: COMPLETE travels behind the operations; otherwise, and where it is no
     * message, they must be acknowledged */
    if (wdl_win_drain(win, win->proc->ordered && !win->params.node_whole) != WDL_OK)
        return WDL_AGAIN;
    for (; win->complete_next < win->start_n; win->complete_next++) {
        int rank = win->start_group[win->complete_next];
        const struct wdl_target *t = wdl_target_find(win, rank);
        struct wdl_pkt pkt;
        if (win->params.node_whole) {
            __atomic_fetch_add(&win->params.node[rank].completed, 1,
                               __ATOMIC_SEQ_CST);       /* pairs with the load in wdl_win_wait */
            continue;
        }
        if (t && t->completed)
            continue;
        wdl_pkt_init(&pkt, win, WDL_PKT_COMPLETE);
        int status = wdl_pkt_send(win, rank, &pkt);
        if (status == WDL_AGAIN)
            return WDL_AGAIN;
        if (wdl_status_is_error(status))
            wdl_win_fail(win, status);
    }
    return WDL_OK;
}

int wdl_win_complete(struct wdl_win *win, int *step)
{
    if (!wdl_pscw_in_access(win))
        return WDL_ERR_SYNC;
    if (wdl_win_settle(win, -1) != WDL_OK)
        return WDL_AGAIN;
    /* every operation was admitted after its target's post; a COMPLETE must not come before the
     * POST it answers */
    if (!all_posted(win))
        take_words(win);
    if (!all_posted(win))
        return WDL_AGAIN;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);    /* pairs with the one in wdl_win_wait */
    if (completes_send(win) != WDL_OK)
        return WDL_AGAIN;
    while (!wdl_list_empty(&win->targets)) {
        struct wdl_target *t = wdl_container_of(win->targets.next, struct wdl_target, link);
        if (t->flush_sent != t->flush_acked || t->direct.key_due)
            return WDL_AGAIN;
        t->dirty = 0;           /* the target's wait closes over what COMPLETE follows */
        wdl_target_release(t);
    }
    const struct wdl_host *host = &win->proc->host;
    host->ops->free(host->ctx, win->start_group);
    host->ops->free(host->ctx, win->start_posted);
    win->start_group = NULL;
    win->start_posted = NULL;
    win->start_n = 0;
    *step = 0;
    int status = wdl_epoch_access(&win->epoch, WDL_ACCESS_ON_COMPLETE);
    wdl_assert_cmp(status, ==, WDL_OK);
    wdl_win_quick_set(win);
    return wdl_win_take_error(win);
}

int wdl_win_wait(struct wdl_win *win, int *step)
{
    (void) step;
    if (win->epoch.expose_state != WDL_EXPOSE_POSTED)
        return WDL_ERR_SYNC;
    if (win->mailbox.on)
        wdl_mailbox_serve(win);
    if (win->params.node_whole) {
        uint32_t all =
            __atomic_load_n(&win->params.node[win->params.node_index].completed, __ATOMIC_ACQUIRE);
        win->completed += (int) (all - win->completed_seen);
        win->completed_seen = all;
    }
    if (win->completed < win->exposed_n)
        return WDL_AGAIN;
    win->completed -= win->exposed_n;
    win->exposed_n = 0;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);    /* pairs with the one in wdl_win_complete */
    return wdl_epoch_expose(&win->epoch, WDL_EXPOSE_ON_WAIT);
}
