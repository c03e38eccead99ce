/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * ISSUE, CLEANUP and MAKE_RMA_PROGRESS of seed 001, for one target, one window, all active windows;
 * and draining, on which every closing synchronization stands.
 *
 * Issuing goes round the targets of a window, a message each. The list of targets is the order: who
 * has sent goes behind all others, who was refused stays where it is. So where buffers are few, or
 * the network takes little, nobody sends twice while somebody else could send once. So it is with
 * windows, a pass each.
 */
#include "mpid/rma/win_impl.h"

void wdl_win_activate(struct wdl_win *win)
{
    if (wdl_list_empty(&win->active_link))
        wdl_list_push(&win->rma->active, &win->active_link);
}

void wdl_win_fail(struct wdl_win *win, int status)
{
    if (win->error == WDL_OK)
        win->error = status;
}

int wdl_win_take_error(struct wdl_win *win)
{
    int status = win->error;
    win->error = WDL_OK;
    return status;
}

static int op_waits_for_answer(const struct wdl_op *op)
{
    if (op->args.kind == WDL_RMA_PUT || op->args.kind == WDL_RMA_ACC)
        return !op->win->proc->ordered;
    return 1;
}

static int op_over(const struct wdl_op *op)
{
    /* what went with the request for the lock may have to go again */
    if (op->sending || wdl_lock_asked(&op->target->lock))
        return 0;
    if (wdl_status_is_error(op->status) && op->next < op->total)
        return op->done == op->next || !op_waits_for_answer(op);
    return op->next == op->total && (op->done == op->total || !op_waits_for_answer(op));
}

/* CLEANUP: finished operations leave. */
static int target_cleanup(struct wdl_target *t)
{
    int n = 0;
    struct wdl_list *node, *after;
    wdl_list_for_safe(node, after, &t->issued) {
        struct wdl_op *op = wdl_container_of(node, struct wdl_op, node.link);
        if (!op_over(op))
            continue;
        if (!t->win->proc->ordered && op->args.kind >= WDL_RMA_ACC)
            t->acc_in_flight--;
        wdl_op_finish(op, WDL_OK);
        n++;
    }
    return n;
}

/* An unordered network could overtake one accumulate with the next: one at a time, unless the user
 * waived the order. */
static int op_must_hold(const struct wdl_op *op)
{
    return !op->win->proc->ordered && !op->win->params.hints.acc_unordered &&
        op->args.kind >= WDL_RMA_ACC && op->target->acc_in_flight > 0;
}

void wdl_target_dirtied(struct wdl_target *t, uint64_t stamp)
{
    if (!t->dirty || wdl_is_older(stamp, t->dirty_stamp))
        t->dirty_stamp = stamp;
    t->dirty = 1;
}

void wdl_target_asked(struct wdl_target *t)
{
    int first = t->flush_acked == t->flush_sent, next = t->flush_mark == t->flush_sent;
    t->flush_sent++;
    if (first) {
        t->flush_mark = t->flush_sent;
        t->flush_stamp = t->dirty_stamp;
    } else if (next || wdl_is_older(t->dirty_stamp, t->flush_next_stamp)) {
        t->flush_next_stamp = t->dirty_stamp;
    }
    t->want_flush = t->dirty = 0;
}

/* Has all been sent that it is to be about? What has come behind a flush it does not wait for. */
static int flush_is_due(const struct wdl_target *t)
{
    if (!t->dirty)
        return 0;
    if (t->want_flush && wdl_is_older(t->dirty_stamp, t->want_stamp) &&
        !wdl_target_waits(t, t->want_stamp))
        return 1;
    return t->evict && wdl_list_empty(&t->waiting);
}

static int target_issue_flush(struct wdl_target *t)
{
    struct wdl_pkt pkt;
    wdl_pkt_init(&pkt, t->win, WDL_PKT_FLUSH);
    if (wdl_pkt_send(t->win, t->rank, &pkt) != WDL_OK)
        return 0;
    wdl_target_asked(t);
    return 1;
}

/* The next message of what waits: how many operations it is of, 0: none goes. */
static int target_issue_op(struct wdl_target *t)
{
    struct wdl_op *op = wdl_container_of(t->waiting.next, struct wdl_op, node.link);
    if (flush_is_due(t))        /* before what is newer */
        return target_issue_flush(t);
    if (op->next == 0 && op_must_hold(op))
        return 0;
    int together = wdl_combine_count(t);
    if (together > 1)
        return wdl_combine_send(t, together, 0) == WDL_AGAIN ? 0 : together;
    int status = wdl_op_issue(op);
    if (status == WDL_AGAIN || status == WDL_PENDING)
        return status == WDL_PENDING;
    if (wdl_status_is_error(status))
        op->status = status;
    wdl_list_remove(&op->node.link);
    wdl_combine_left(t);
    wdl_list_push(&t->issued, &op->node.link);
    if (!t->win->proc->ordered && op->args.kind >= WDL_RMA_ACC)
        t->acc_in_flight++;
    return 1;
}

/* Locks by words: there is no request, only the attempt. */
static int target_take_word(struct wdl_target *t)
{
    struct wdl_win *win = t->win;
    int join = win->locks_held > 1 || win->quick.held >= 0;
    int status = wdl_words_lock(win, t->rank, t->lock.exclusive, join, &t->word);
    if (wdl_status_is_error(status))
        t->want_lock = 0;       /* whoever waits for it is told (wdl_win_lock) */
    if (status != WDL_OK)
        return 0;
    t->want_lock = 0;           /* what comes may be combined */
    status = wdl_lock_step(&t->lock, WDL_LOCK_ON_ISSUE);
    wdl_assert_cmp(status, ==, WDL_OK);
    status = wdl_lock_step(&t->lock, WDL_LOCK_ON_GRANT);
    wdl_assert_cmp(status, ==, WDL_OK);
    return 1;
}

/* All that waits fits in one message, and nothing is on its way that could be sent twice. */
static int goes_with_lock(struct wdl_target *t)
{
    int n = wdl_combine_count(t);
    return !t->together.ended && wdl_list_empty(&t->issued) ? n : 0;
}

/* Does a shared lock of the same thread's wait in its turn? */
static int waits_in_turn(const struct wdl_win *win, uint64_t caller)
{
    struct wdl_list *node;
    wdl_list_for(node, &win->targets) {
        const struct wdl_target *t = wdl_container_of(node, struct wdl_target, link);
        if (t->in_turn && wdl_lock_asked(&t->lock) && t->called.by == caller)
            return 1;
    }
    return 0;
}

/* The flags of a request for the lock; -1: not now. Who holds a lock, or may before this one is
 * granted, joins (grant.h): each lock of a lock_all, the first one too. Of single locks the first
 * one is taken in turn, and no other before it is granted. */
static int lock_flags(struct wdl_target *t)
{
    const struct wdl_win *win = t->win;
    int all = win->epoch.access_state != WDL_ACCESS_PER_TARGET, others = win->locks_held > 1;
    t->in_turn = 0;
    if (all)
        return WDL_PKT_JOIN;
    if (others && waits_in_turn(win, t->called.by))
        return -1;
    if (t->lock.exclusive)
        return WDL_PKT_EXCLUSIVE;
    t->in_turn = !others;
    return others ? WDL_PKT_JOIN : 0;
}

/* The lock request goes out when somebody needs the lock; with the operations where they are
 * short. */
static int target_issue_lock(struct wdl_target *t)
{
    struct wdl_pkt pkt;
    if (!t->want_lock && wdl_list_empty(&t->waiting))
        return 0;
    if (t->win->words != WDL_WORDS_NONE)
        return target_take_word(t);
    if (wdl_combine_holds(t))
        return 0;
    int flags = lock_flags(t);
    if (flags < 0)
        return 0;
    int together = goes_with_lock(t);
    if (together > 0)
        return wdl_combine_send(t, together, flags | WDL_PKT_WITH_LOCK) != WDL_AGAIN;
    wdl_pkt_init(&pkt, t->win, WDL_PKT_LOCK);
    pkt.flags = (uint8_t) flags;
    int status = wdl_pkt_send(t->win, t->rank, &pkt);
    if (wdl_status_is_error(status))
        wdl_win_fail(t->win, status);
    if (status != WDL_OK)
        return 0;
    status = wdl_lock_step(&t->lock, WDL_LOCK_ON_ISSUE);
    wdl_assert_cmp(status, ==, WDL_OK);
    return 1;
}

/* The lock goes back where it could not travel with an operation. */
static int target_issue_unlock(struct wdl_target *t)
{
    struct wdl_pkt pkt;
    if (!t->want_unlock || t->lock.state != WDL_LOCK_GRANTED || !wdl_list_empty(&t->waiting) ||
        wdl_direct_busy(t) || (!t->win->proc->ordered && !wdl_list_empty(&t->issued)))
        return 0;
    wdl_pkt_init(&pkt, t->win, WDL_PKT_UNLOCK);
    if (wdl_pkt_send(t->win, t->rank, &pkt) != WDL_OK)
        return 0;
    wdl_closing_sent(t, WDL_PKT_WITH_UNLOCK);
    return 1;
}

/* A victim that has become clean leaves; its lock stays with the target. */
static int target_leave(struct wdl_target *t)
{
    if (!t->evict || !wdl_target_clean(t))
        return 0;
    if (t->lock.state == WDL_LOCK_GRANTED) {
        int status = wdl_lock_step(&t->lock, WDL_LOCK_ON_EVICT);
        wdl_assert_cmp(status, ==, WDL_OK);
        t->win->locked_targets--;
    }
    if (t->lock.state != WDL_LOCK_IDLE)
        return 0;
    wdl_target_release(t);
    return 1;
}

static int issue_one(struct wdl_target *t)
{
    if (t->lock.state == WDL_LOCK_CALLED)
        return target_issue_lock(t);
    if (wdl_list_empty(&t->waiting) || wdl_lock_asked(&t->lock) ||
        wdl_target_exposed(t->win, t->rank) != WDL_OK || wdl_combine_holds(t))
        return 0;
    return target_issue_op(t);
}

/* ISSUE: one message, and behind the others with it; 0: none goes. */
static int target_issue(struct wdl_target *t)
{
    int n = issue_one(t);
    if (n > 0) {
        wdl_list_remove(&t->link);
        wdl_list_push(&t->win->targets, &t->link);
    }
    return n;
}

/* What there is to do behind that. */
static int target_follow(struct wdl_target *t)
{
    int n = target_cleanup(t);
    if (flush_is_due(t))
        n += target_issue_flush(t);
    n += wdl_direct_progress(t);
    n += target_issue_unlock(t);
    return n + target_leave(t);
}

int wdl_target_progress(struct wdl_target *t)
{
    int n = 0, sent;
    while ((sent = target_issue(t)) > 0)
        n += sent;
    return n + target_follow(t);
}

/* ISSUE for all targets: whoever has sent comes again, behind the others, until nothing goes. */
static int win_issue(struct wdl_win *win)
{
    struct wdl_list *node = win->targets.next;
    int n = 0;
    while (node != &win->targets) {
        struct wdl_list *after = node->next;
        int sent = target_issue(wdl_container_of(node, struct wdl_target, link));
        n += sent;
        node = sent > 0 && after == &win->targets ? node : after;       /* the last one goes on */
    }
    return n;
}

/* A word about a lock of this process; 0: not now. A lost peer needs none. */
static int tell(struct wdl_win *win, int rank, enum wdl_pkt_kind kind, int flags)
{
    struct wdl_pkt pkt;
    wdl_pkt_init(&pkt, win, kind);
    pkt.flags = (uint8_t) flags;
    return wdl_pkt_send(win, rank, &pkt) != WDL_AGAIN;
}

/* Locks granted by this process and debts settled, to be told to those concerned. */
static int grants_announce(struct wdl_win *win)
{
    int n = 0, rank;
    const struct wdl_grant_request *next;
    for (; (next = wdl_grant_next(&win->grant)) != NULL; n++) {
        int flags = (next->overtook ? WDL_PKT_OVERTOOK : 0) | (next->again ? WDL_PKT_AGAIN : 0);
        int stashed = next->stash != NULL;
        if (stashed ? wdl_stash_serve(win) != WDL_OK :
            !tell(win, next->rank, WDL_PKT_GRANT, flags))
            return n;
        if (!stashed)
            wdl_grant_announced(&win->grant);
    }
    for (; (rank = wdl_grant_settled(&win->grant)) >= 0; n++) {
        if (!tell(win, rank, WDL_PKT_SETTLED, 0))
            return n;
        wdl_grant_told(&win->grant, rank);
    }
    return n;
}

static int win_has_work(const struct wdl_win *win)
{
    struct wdl_list *node;
    if (win->barrier.running || wdl_grant_next(&win->grant) || wdl_grant_settled(&win->grant) >= 0)
        return 1;
    if (win->epoch.access_state == WDL_ACCESS_LOCK_ALL_ISSUED || wdl_types_have_work(win) ||
        win->recalled > 0 || wdl_relays_have_work(win))
        return 1;
    wdl_list_for(node, &win->targets) {
        const struct wdl_target *t = wdl_container_of(node, struct wdl_target, link);
        int blocked = wdl_lock_asked(&t->lock);
        if ((!wdl_list_empty(&t->waiting) && !blocked) || t->evict || t->want_unlock ||
            (t->want_flush && t->dirty) || wdl_direct_has_work(t) ||
            (t->want_lock && t->lock.state == WDL_LOCK_CALLED))
            return 1;
    }
    return 0;
}

int wdl_win_progress(struct wdl_win *win)
{
    struct wdl_list *node, *after;
    int n = win_issue(win);
    wdl_list_for_safe(node, after, &win->targets)
        n += target_follow(wdl_container_of(node, struct wdl_target, link));
    if (win->barrier.running) {
        int sent = win->barrier.round * 2 + win->barrier.sent;
        wdl_barrier_progress(win);
        n += win->barrier.round * 2 + win->barrier.sent != sent;
    }
    n += grants_announce(win);
    n += wdl_types_progress(win);
    n += wdl_borrow_progress(win);
    n += wdl_relays_progress(win);
    if (win->epoch.access_state == WDL_ACCESS_LOCK_ALL_ISSUED)
        n += wdl_lock_all_progress(win);
    return n;
}

/* One pass over those active now; what becomes active meanwhile waits for the next pass. Windows
 * that could do nothing stay before those that did something. */
static int active_progress(struct wdl_rma *rma)
{
    struct wdl_list round, still, *node;
    int n = 0;
    wdl_list_init(&round);
    wdl_list_init(&still);
    while ((node = wdl_list_pop(&rma->active)) != NULL)
        wdl_list_push(&round, node);
    while ((node = wdl_list_pop(&round)) != NULL) {
        struct wdl_win *win = wdl_container_of(node, struct wdl_win, active_link);
        int moved = wdl_win_progress(win);
        n += moved;
        if (!win_has_work(win))
            continue;
        wdl_list_remove(node);          /* it may have been activated */
        wdl_list_push(moved > 0 ? &rma->active : &still, node);
    }
    while (!wdl_list_empty(&still)) {
        node = still.prev;
        wdl_list_remove(node);
        wdl_list_push_front(&rma->active, node);
    }
    return n;
}

/* Every poll of every wait asks. */
int wdl_rma_progress(void *module)
{
    struct wdl_rma *rma = module;
    int n = wdl_list_empty(&rma->replies) ? 0 : wdl_replies_progress(rma);
    if (rma->nmailed[0] + rma->nmailed[1] > 0)
        n += wdl_mailboxes_progress(rma);
    if (rma->batched > 0)
        n += wdl_batches_progress(rma);
    return wdl_list_empty(&rma->active) ? n : n + active_progress(rma);
}

void wdl_rma_push(struct wdl_rma *rma)
{
    struct wdl_list *at, *node;
    wdl_list_for(at, &rma->wins) {
        struct wdl_win *win = wdl_container_of(at, struct wdl_win, link);
        wdl_list_for(node, &win->targets)
            wdl_container_of(node, struct wdl_target, link)->push = 1;
        wdl_win_activate(win);
    }
}

/* Is there something to be sent, or to be asked about, that is older? */
static int has_unasked(const struct wdl_target *t, uint64_t stamp)
{
    return (t->dirty && wdl_is_older(t->dirty_stamp, stamp)) || wdl_target_waits(t, stamp);
}

/* Has what somebody wanted been asked for, or become known by another answer? */
static void target_unwant(struct wdl_target *t)
{
    if (t->want_flush && !has_unasked(t, t->want_stamp))
        t->want_flush = 0;
}

/* Somebody waits for what is older. Of several who do the first one is to be served first. */
static void target_want(struct wdl_target *t, uint64_t stamp, int local)
{
    int unasked = has_unasked(t, stamp);
    if (!t->push && unasked)
        wdl_combine_sync(t);
    if (!local)
        wdl_combine_tail(t);
    target_unwant(t);
    if (!local && unasked && (!t->want_flush || wdl_is_older(stamp, t->want_stamp))) {
        t->want_flush = 1;
        t->want_stamp = stamp;
    }
    if (t->direct.begun && wdl_is_older(t->direct.begun_stamp, stamp))
        t->direct.want = 1;
}

/* Is there anything to wait for at all? */
static int drain_begin(struct wdl_target *t, uint64_t stamp, int local)
{
    t->evict = 0;               /* it must not leave under the caller's feet */
    if (wdl_target_clean(t) && !t->want_lock && !t->want_unlock) {
        t->want_flush = 0;
        return 0;
    }
    target_want(t, stamp, local);
    return 1;
}

static int drain_end(struct wdl_target *t, uint64_t stamp, int local)
{
    target_unwant(t);
    if (wdl_target_is_done(t, stamp, local))
        return WDL_OK;
    wdl_win_activate(t->win);
    return WDL_AGAIN;
}

int wdl_target_drain_before(struct wdl_target *t, uint64_t stamp, int local)
{
    if (!drain_begin(t, stamp, local))
        return WDL_OK;
    wdl_target_progress(t);
    return drain_end(t, stamp, local);
}

int wdl_target_drain(struct wdl_target *t, int local)
{
    return wdl_target_drain_before(t, wdl_win_next_stamp(t->win), local);
}

int wdl_win_drain_before(struct wdl_win *win, uint64_t stamp, int local)
{
    struct wdl_list *node;
    int any = 0, status = WDL_OK;
    wdl_list_for(node, &win->targets)
        any |= drain_begin(wdl_container_of(node, struct wdl_target, link), stamp, local);
    if (!any)
        return WDL_OK;
    win_issue(win);
    wdl_list_for(node, &win->targets) {
        struct wdl_target *t = wdl_container_of(node, struct wdl_target, link);
        target_follow(t);
        if (drain_end(t, stamp, local) != WDL_OK)
            status = WDL_AGAIN;
    }
    return status;
}

int wdl_win_drain(struct wdl_win *win, int local)
{
    return wdl_win_drain_before(win, wdl_win_next_stamp(win), local);
}
