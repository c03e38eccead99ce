/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Post, start, complete, wait (seed 001; MPI-4, 12.5.2). Post sends a packet to each origin,
 * complete one to each target: O(k) for groups of k. What complete has to say is part of the last
 * operation's last packet, which waits for it (combine.c), and what is not known to have happened
 * went before it in order. Start only notes the group, unless the program can store there itself;
 * an operation waits for its own target's post. Posts that come before their start are remembered
 * by rank, at most one per rank. Large groups are told along trees (relay.h).
 *
 * Within a node, post is a store into a free place of the origin's control block (a packet, should
 * all be taken), complete an addition to a counter in the target's, unless packets of operations
 * are still on their way to it, or the only put is handed over, which says so itself (mailbox.h).
 * Both are MEM_SYNC and PROC_SYNC in one (seed 001, RMA + Shared Memory): with another barrier
 * before them every put's stores would be waited for twice. What is told by a packet is told behind
 * a barrier.
 */
#include <stdlib.h>
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

static const struct wdl_posted nobodys = {.rank = -1,.parent = -1 };

/* A post that nobody has passed on. */
static struct wdl_posted by_itself(int rank)
{
    return (struct wdl_posted) {.rank = rank,.parent = rank };
}

static int has_posted(const struct wdl_win *win, int at)
{
    return win->start_posted[at].rank >= 0;
}

static void posted_note(struct wdl_win *win, int at, struct wdl_posted post)
{
    win->start_posted[at] = post;
    win->start_due--;
    win->start_shared -= post.alone;
}

int wdl_pscw_in_access(const struct wdl_win *win)
{
    return win->epoch.access_state == WDL_ACCESS_PSCW_ISSUED ||
        win->epoch.access_state == WDL_ACCESS_PSCW_GRANTED;
}

int wdl_pscw_posted(struct wdl_win *win, const struct wdl_posted *post)
{
    int at = wdl_pscw_in_access(win) ? group_index(win, post->rank) : -1;
    wdl_mem_sync(&win->quick);  /* pairs with the one of whoever posts */
    if (at >= 0 && !has_posted(win, at)) {
        posted_note(win, at, *post);
        return WDL_OK;
    }
    if (win->posted_n >= win->params.size)
        return WDL_ERR_PROTO;
    if (wdl_array_grow(&win->posted, win->posted_n) != WDL_OK)
        return WDL_AGAIN;
    struct wdl_posted *posted = win->posted.items;
    posted[win->posted_n++] = *post;
    return WDL_OK;
}

/* What is to be told to others is begun once this rank knows it. */
static int then_relay(struct wdl_win *win, struct wdl_relay *relay, int status)
{
    if (status != WDL_OK)
        wdl_relay_drop(win, relay);
    else if (relay)
        wdl_relay_begin(win, relay);
    return status;
}

int wdl_pscw_post_came(struct wdl_win *win, const struct wdl_pkt *pkt, const char *payload,
                       size_t bytes)
{
    struct wdl_posted post = by_itself((int) pkt->origin);
    struct wdl_relay *relay;
    if (pkt->op > 0 && (pkt->op > UINT32_MAX || pkt->lo < 0 || pkt->lo >= win->params.size ||
                        pkt->lo == win->params.rank))
        return WDL_ERR_PROTO;
    if (pkt->op > 0) {
        post.rank = (int) pkt->lo;
        post.number = (uint32_t) pkt->op;
    } else if (bytes > 0)
        return WDL_ERR_PROTO;
    else
        post.alone = (pkt->flags & WDL_PKT_ALONE) != 0;
    int status = wdl_relay_read(win, &post, payload, bytes, &relay);
    return status != WDL_OK ? status : then_relay(win, relay, wdl_pscw_posted(win, &post));
}

int wdl_pscw_complete_came(struct wdl_win *win, const struct wdl_pkt *pkt, const char *payload,
                           size_t bytes)
{
    struct wdl_relay *relay;
    if (bytes > 0 && pkt->count != 1)
        return WDL_ERR_PROTO;
    int status = wdl_relay_read(win, &nobodys, payload, bytes, &relay);
    return status != WDL_OK ? status
                            : then_relay(win, relay, wdl_pscw_completed(win, pkt->count));
}

int wdl_pscw_may_complete(const struct wdl_win *win)
{
    return win->completed < win->params.size;
}

int wdl_pscw_completed(struct wdl_win *win, int64_t count)
{
    if (count < 1 || count > win->params.size - win->completed)
        return WDL_ERR_PROTO;
    win->completed += (int) count;
    return WDL_OK;
}

/* The block of a rank of this node, or NULL. */
static struct wdl_win_control *block_of(const struct wdl_win *win, int rank)
{
    struct wdl_win_control *control;
    if (win->params.node_whole)
        return &win->params.node[rank];
    (void) win->params.map(win->params.ctx, rank, &control);
    return control;
}

/* Leave word in the origin's block: 1 if there was room. */
static int post_by_word(const struct wdl_win *win, int rank, int alone)
{
    struct wdl_win_control *control = block_of(win, rank);
    uint32_t word = ((uint32_t) win->params.rank + 1) | (alone ? WDL_POSTED_ALONE : 0);
    for (int i = 0; control && i < WDL_WIN_POSTS; i++) {
        uint32_t nobody = 0;
        if (__atomic_load_n(&control->posted[i], __ATOMIC_RELAXED) == 0 &&
            __atomic_compare_exchange_n(&control->posted[i], &nobody, word, 0,
                                        /* pairs with the load in take_words */
                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            return 1;
    }
    return 0;
}

/* By tree: 1 if the group is large, and there is memory for it. */
static int post_by_tree(struct wdl_win *win, const int *group, int n)
{
    int above = wdl_relay_above(win);
    struct wdl_posted own = {.rank = win->params.rank,.parent = -1,.number = win->post_number + 1 };
    if (own.number == 0)
        own.number = 1;
    struct wdl_relay *relay = above > 0 && n > above ? wdl_relay_make(win, &own, n) : NULL;
    if (!relay)
        return 0;
    wdl_mem_sync(&win->quick);  /* pairs with the one in wdl_pscw_posted */
    /* this rank passes nothing on: its children would answer the target */
    int with_self = 0;
    for (int i = 0; i < n; i++)
        with_self |= group[i] == own.rank;
    struct wdl_posted self = by_itself(own.rank);
    if (with_self && wdl_pscw_posted(win, &self) != WDL_OK) {
        wdl_relay_drop(win, relay);
        return 0;
    }
    for (int i = 0; i < n; i++)
        if (group[i] != own.rank && !post_by_word(win, group[i], 0))
            relay->rank[relay->n++] = group[i];
    win->post_number = own.number;
    wdl_relay_begin(win, relay);
    wdl_win_progress(win);
    return 1;
}

static int post_send(struct wdl_win *win, int rank, int alone)
{
    struct wdl_pkt pkt;
    wdl_pkt_init(&pkt, win, WDL_PKT_POST);
    pkt.flags = alone ? WDL_PKT_ALONE : 0;
    wdl_mem_sync(&win->quick);  /* pairs with the one in wdl_pscw_posted */
    return wdl_pkt_send(win, rank, &pkt);
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
        if ((assertion & (WDL_MODE_NOCHECK | WDL_MODE_NOSTORE)) == WDL_MODE_NOCHECK)
            wdl_mem_sync(&win->quick);  /* pairs with the user's, who says so */
        win->post_noput = (assertion & WDL_MODE_NOPUT) != 0;
        if ((assertion & WDL_MODE_NOCHECK) || post_by_tree(win, group, n))
            *step = n + 1;
    }
    while (*step <= n) {
        int status = post_by_word(win, group[*step - 1], n == 1) ? WDL_OK :
            post_send(win, group[*step - 1], n == 1);
        if (status == WDL_AGAIN)
            return WDL_AGAIN;
        if (wdl_status_is_error(status))
            wdl_win_fail(win, status);
        ++*step;
    }
    *step = 0;
    return WDL_OK;
}

static int by_number(const void *a, const void *b)
{
    const int *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void sort_ranks(int *ranks, int n)
{
    for (int i = 1; i < n; i++)
        if (ranks[i - 1] > ranks[i]) {
            qsort(ranks, (size_t) n, sizeof(*ranks), by_number);
            return;
        }
}

static void take_early_posts(struct wdl_win *win)
{
    struct wdl_posted *posted = win->posted.items;
    int kept = 0;
    for (int i = 0; i < win->posted_n; i++) {
        int at = group_index(win, posted[i].rank);
        if (at >= 0 && !has_posted(win, at))
            posted_note(win, at, posted[i]);
        else
            posted[kept++] = posted[i];
    }
    win->posted_n = kept;
    wdl_array_trim(&win->posted, kept);
}

/* Posts left in this rank's block by members of the access group; others stay for a later start.
 * Their places are given back when their ranks have heard of complete: the line is in another cache
 * now, and what they are to be told would wait for it. */
static void take_words(struct wdl_win *win)
{
    struct wdl_win_control *own = win->quick.own;
    for (int i = 0; i < WDL_WIN_POSTS; i++) {
        /* pairs with the exchange in post_by_word */
        uint32_t word = __atomic_load_n(&own->posted[i], __ATOMIC_ACQUIRE);
        if (word == 0 || (win->posts_taken & 1u << i))
            continue;
        struct wdl_posted post = by_itself((int) (word & ~WDL_POSTED_ALONE) - 1);
        int at = group_index(win, post.rank);
        if (at < 0 || has_posted(win, at))
            continue;
        post.alone = (word & WDL_POSTED_ALONE) != 0;
        posted_note(win, at, post);
        win->posts_taken |= 1u << i;
    }
}

static void give_places_back(struct wdl_win *win)
{
    struct wdl_win_control *own = win->quick.own;
    for (; win->posts_taken; win->posts_taken &= win->posts_taken - 1)
        __atomic_store_n(&own->posted[__builtin_ctz(win->posts_taken)], 0, __ATOMIC_RELEASE);
}

/* All of the group may be accessed: no operation asks for its own target any longer. */
static void started(struct wdl_win *win)
{
    if (win->start_due > 0 || win->epoch.access_state != WDL_ACCESS_PSCW_ISSUED)
        return;
    wdl_epoch_access_from(&win->epoch, WDL_ACCESS_PSCW_ISSUED, WDL_ACCESS_ON_STARTED);
    wdl_win_quick_set(win);
}

/* The program's own loads and stores, on a window of MPI_Win_allocate_shared, cannot be held back:
 * start waits for those it could reach so (seed 001, PSCW, (2)). Oneself may post later. */
static int stores_ready(struct wdl_win *win, int *step)
{
    *step = win->params.flavor == WDL_WIN_SHARED;
    if (*step == 0)
        return WDL_OK;
    take_words(win);
    for (int i = 0; i < win->start_n; i++)
        if (!has_posted(win, i) && win->start_group[i] != win->params.rank)
            return WDL_AGAIN;
    /* after PROC_SYNC (seed 001, WIN_START); pairs with the one of whoever posts */
    wdl_mem_sync(&win->quick);
    *step = 0;
    return WDL_OK;
}

/* For a group of n, kept for the next one. */
static int start_has_room(struct wdl_win *win, int n)
{
    const struct wdl_host *host = &win->proc->host;
    if (n < win->start_room)
        return 1;
    size_t room = (size_t) n + 1;
    int *ranks = host->ops->alloc(host->ctx, room * sizeof(*ranks));
    struct wdl_posted *posted = host->ops->alloc(host->ctx, room * sizeof(*posted));
    void *old[] = {ranks, posted};
    if (ranks && posted) {
        old[0] = win->start_group;
        old[1] = win->start_posted;
        win->start_group = ranks;
        win->start_posted = posted;
        win->start_room = n + 1;
    }
    for (int i = 0; i < 2; i++)
        if (old[i])
            host->ops->free(host->ctx, old[i]);
    return n < win->start_room;
}

int wdl_win_start(struct wdl_win *win, const int *group, int n, int assertion, int *step)
{
    if (*step > 0)
        return stores_ready(win, step);
    if (!wdl_epoch_allows(&win->epoch, WDL_ACCESS_ON_START) ||
        (win->epoch.access_state != WDL_ACCESS_NONE && wdl_win_used(win)))
        return WDL_ERR_SYNC;
    if (!start_has_room(win, n))
        return WDL_ERR_NOMEM;
    memcpy(win->start_group, group, (size_t) n * sizeof(*group));
    sort_ranks(win->start_group, n);
    win->start_n = n;
    win->start_due = assertion & WDL_MODE_NOCHECK ? 0 : n;
    win->start_shared = n;
    win->complete_next = 0;
    for (int i = 0; i < n; i++)
        win->start_posted[i] =
            assertion & WDL_MODE_NOCHECK ? by_itself(win->start_group[i]) : nobodys;
    if (!(assertion & WDL_MODE_NOCHECK))
        take_early_posts(win);
    int status = wdl_epoch_access(&win->epoch, WDL_ACCESS_ON_START);
    wdl_assert_cmp(status, ==, WDL_OK);
    wdl_win_quick_set(win);
    started(win);
    return stores_ready(win, step);
}

int wdl_pscw_may_access(struct wdl_win *win, int rank)
{
    int at = group_index(win, rank);
    if (at < 0)
        return WDL_ERR_SYNC;
    if (win->start_due > 0)
        take_words(win);
    started(win);
    return has_posted(win, at) ? WDL_OK : WDL_AGAIN;
}

int wdl_pscw_is_alone(const struct wdl_win *win, int rank)
{
    int at = group_index(win, rank);
    return at >= 0 && has_posted(win, at) && win->start_posted[at].alone;
}

int wdl_pscw_is_only(const struct wdl_win *win, int rank)
{
    return win->start_n == 1 && wdl_pscw_in_access(win) && win->start_group[0] == rank &&
           win->start_posted[0].number == 0 && block_of(win, rank) != NULL;
}

/* COMPLETE in a packet of its own. */
static int complete_send(struct wdl_win *win, int rank)
{
    struct wdl_pkt pkt;
    wdl_pkt_init(&pkt, win, WDL_PKT_COMPLETE);
    pkt.count = 1;
    int status = wdl_pkt_send(win, rank, &pkt);
    if (wdl_status_is_error(status))
        wdl_win_fail(win, status);
    return status == WDL_AGAIN ? WDL_AGAIN : WDL_OK;
}

/* Nothing that a COMPLETE of another sender could overtake. */
static int is_quiet(const struct wdl_target *t)
{
    return !t || (!t->completed && wdl_target_clean(t));
}

/* The member at `at` of the access group hears of it: from here, along the tree of its post, or
 * along ours. */
static int complete_tell(struct wdl_win *win, int at)
{
    const struct wdl_posted *post = &win->start_posted[at];
    int rank = win->start_group[at], by_tree = post->number != 0, status = WDL_OK;
    struct wdl_target *t = wdl_target_find(win, rank);
    int quiet = is_quiet(t);
    struct wdl_win_control *control = quiet && !by_tree ? block_of(win, rank) : NULL;
    if (control) {
        __atomic_fetch_add(&control->completed, 1,
                           __ATOMIC_SEQ_CST);   /* pairs with the load in wdl_win_wait */
        return WDL_OK;
    }
    wdl_mem_sync(&win->quick);  /* pairs with the one in wdl_win_wait */
    if (quiet && !by_tree && win->telling) {
        win->telling->rank[win->telling->n++] = rank;
        return WDL_OK;
    }
    if ((!quiet || !by_tree) && !(t && t->completed))
        status = complete_send(win, rank);
    if (status != WDL_OK || !by_tree)
        return status;
    if (!quiet)
        t->completed = 1;
    return wdl_relay_completed(win, post, !quiet);
}

/* Before the first member of a large group. */
static void tell_by_tree(struct wdl_win *win)
{
    int above = wdl_relay_above(win);
    if (above > 0 && win->start_n > above && win->complete_next == 0 && !win->telling)
        win->telling = wdl_relay_make(win, &nobodys, win->start_n);
}

/* After the last one. */
static void tree_begin(struct wdl_win *win)
{
    struct wdl_relay *relay = win->telling;
    win->telling = NULL;
    if (!relay)
        return;
    relay->flat = relay->n <= wdl_relay_above(win);
    wdl_relay_begin(win, relay);
    wdl_win_progress(win);
}

/* All that was done to each target, and that this is all: WDL_OK when it is said. */
static int completes_send(struct wdl_win *win)
{
    struct wdl_list *node;
    if (!wdl_list_empty(&win->targets)) /* what is said behind operations; as in complete_tell */
        wdl_mem_sync(&win->quick);
    wdl_list_for(node, &win->targets) {
        struct wdl_target *t = wdl_container_of(node, struct wdl_target, link);
        t->want_complete = !t->completed && !win->params.node_whole;
    }
    /* ordered network: COMPLETE travels behind the operations; otherwise, and where it is no
     * message, they must be acknowledged */
    if (wdl_win_drain(win, win->proc->ordered && !win->params.node_whole) != WDL_OK)
        return WDL_AGAIN;
    tell_by_tree(win);
    for (; win->complete_next < win->start_n; win->complete_next++)
        if (complete_tell(win, win->complete_next) != WDL_OK)
            return WDL_AGAIN;
    tree_begin(win);
    return WDL_OK;
}

/* All that is under way is a put that says itself that it is the last one (mailbox.h). */
static int complete_by_last(struct wdl_win *win)
{
    struct wdl_mailbox *box = &win->mailbox;
    if (!wdl_mailbox_may_be_last(win) || win->batched > 0 || !wdl_list_empty(&win->targets) ||
        !wdl_pscw_is_only(win, box->args.target))
        return 0;               /* without a barrier: this is asked between the parts of a copy */
    wdl_mem_sync(&win->quick);  /* as in complete_tell */
    if (!wdl_mailbox_last(win, block_of(win, win->start_group[0])))
        return 0;
    wdl_mailbox_rows_end(box);
    win->complete_next = 1;
    return 1;
}

int wdl_win_complete(struct wdl_win *win, int *step)
{
    if (!wdl_pscw_in_access(win))
        return WDL_ERR_SYNC;
    if (!complete_by_last(win) && wdl_win_settle(win, -1) != WDL_OK)
        return WDL_AGAIN;
    /* every operation was admitted after its target's post; a COMPLETE must not come before the
     * POST it answers */
    if (win->start_due > 0)
        take_words(win);
    if (win->start_due > 0)
        return WDL_AGAIN;
    if (completes_send(win) != WDL_OK)
        return WDL_AGAIN;
    while (!wdl_list_empty(&win->targets)) {
        struct wdl_target *t = wdl_container_of(win->targets.next, struct wdl_target, link);
        if (t->flush_sent != t->flush_acked || t->direct.key_due)
            return WDL_AGAIN;
        t->dirty = 0;           /* the target's wait closes over what COMPLETE follows */
        wdl_target_release(t);
    }
    give_places_back(win);
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
    if (win->mailbox.has)
        wdl_mailbox_serve(win);
    /* pairs with the addition in complete_tell */
    uint32_t all =
        __atomic_load_n(&win->quick.own->completed, __ATOMIC_ACQUIRE);
    win->completed += (int) (all - win->completed_seen);
    win->completed_seen = all;
    if (win->completed < win->exposed_n)
        return WDL_AGAIN;
    win->completed -= win->exposed_n;
    win->exposed_n = 0;
    if (!win->post_noput)
        wdl_mem_sync(&win->quick);      /* pairs with the one in complete_tell */
    return wdl_epoch_expose(&win->epoch, WDL_EXPOSE_ON_WAIT);
}
