/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Lock, unlock, flush of one target and of all (seed 001, LOCK-UNLOCK, LOCK_ALL-UNLOCK_ALL, FLUSH;
 * MPI-4, 12.5.3, 12.5.4). The lock request goes out with the first operation; at once where the
 * user could load and store the target's memory.
 *
 * Where the user says that operations of concurrent epochs never overlap (hints.nonoverlapping;
 * seed 004, NONOVERLAPPING) no lock keeps anybody out: all are taken as by NOCHECK, and shared.
 */
#include "base/line.h"
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

/* May a passive epoch at this rank (-1: at all) begin, or be widened? While this process has posted
 * nobody may lock it, itself neither (MPI-4, 12.5.3); what it does at others is its own affair. */
static int may_lock(const struct wdl_win *win, int rank, enum wdl_access_event event)
{
    int posted = win->epoch.expose_state != WDL_EXPOSE_NONE &&
        (rank < 0 || rank == win->params.rank);
    int fence = win->epoch.access_state == WDL_ACCESS_FENCE_GRANTED ||
        win->epoch.access_state == WDL_ACCESS_FENCE_ISSUED;
    return !win->params.hints.no_locks && wdl_epoch_allows(&win->epoch, event) &&
        !(fence && wdl_win_used(win)) && !posted;
}

/* Those we have overtaken come before we take a lock and hold none (grant.h). */
static int owes(struct wdl_win *win)
{
    return win->debts > 0 || (wdl_words_have_debts(win) && wdl_words_owe(win));
}

/* A lock that goes with its first operation is granted before the same thread's next one is asked
 * for: else processes that all take theirs in one order, and use them in several, could wait for
 * one another in a circle. Those of lock_all are then asked for by the window protocol. */
static int lock_called(struct wdl_win *win)
{
    struct wdl_rma *rma = win->rma;
    uint64_t caller = wdl_win_caller(win);
    struct wdl_list *node, *after;
    int status = WDL_OK;
    wdl_list_for_safe(node, after, &rma->called) {
        struct wdl_target *t = wdl_container_of(node, struct wdl_target, called.link);
        if (t->lock.state != WDL_LOCK_CALLED && t->lock.state != WDL_LOCK_ISSUED) {
            wdl_uncall(rma, &t->called);
        } else if (t->called.by == caller) {
            t->want_lock |= t->lock.state == WDL_LOCK_CALLED;
            wdl_win_activate(t->win);
            wdl_target_progress(t);
            status = WDL_AGAIN;
        }
    }
    wdl_list_for_safe(node, after, &rma->called_all) {
        struct wdl_win *all = wdl_container_of(node, struct wdl_win, all_called.link);
        if (all->epoch.access_state == WDL_ACCESS_LOCK_ALL_GRANTED) {
            wdl_uncall(rma, &all->all_called);
        } else if (all->all_called.by == caller) {
            if (all->epoch.access_state == WDL_ACCESS_LOCK_ALL_CALLED)
                wdl_lock_all_switch(all);
            status = WDL_AGAIN;
        }
    }
    return status;
}

static void lock_is_called(struct wdl_win *win, struct wdl_list *list, struct wdl_called *called)
{
    called->by = wdl_win_caller(win);
    wdl_list_push(list, &called->link);
    win->rma->ncalled++;
}

/* --- the held lock: no element, no message ---------------------------------------------------- */

static inline int can_hold(const struct wdl_win *win)
{
    return win->words == WDL_WORDS_NODE;
}

/* quick.sole is set, while nothing is open that it is said of. */
static inline void held_open(struct wdl_win *win, int rank, int unchecked,
                             enum wdl_access_state from)
{
    win->held_wanted = -1;
    win->quick.held = rank;
    win->held_unchecked = unchecked;
    wdl_epoch_access_from(&win->epoch, from, WDL_ACCESS_ON_LOCK);
    wdl_assert_cmp(win->quick.fence, ==, 0);
    win->quick.first = (uint32_t) rank;
    win->quick.count = win->quick.place != NULL;
}

static int held_lock(struct wdl_win *win, int rank, int exclusive, int assertion)
{
    int unchecked = (assertion & WDL_MODE_NOCHECK) != 0;
    if (!unchecked &&
        wdl_words_lock(win, rank, exclusive, win->locks_held > 0, &win->held_word) != WDL_OK) {
        win->held_wanted = rank;
        return WDL_AGAIN;
    }
    win->quick.fence = 0;       /* its epoch ends here */
    win->quick.sole = exclusive || win->params.hints.nonoverlapping;
    held_open(win, rank, unchecked, (enum wdl_access_state) win->epoch.access_state);
    return WDL_OK;
}

/* A lock that nobody was asked for ends: what has been done comes before. */
static inline void unchecked_ends(struct wdl_win *win)
{
    if (wdl_quick_wants_sync(&win->quick))
        wdl_mem_sync(&win->quick); /* pairs with the peer's own synchronization */
    win->quick.stored = 0;
}

static inline __attribute__((always_inline)) void held_unlock(struct wdl_win *win)
{
    int rank = win->quick.held;
    win->quick.held = -1;
    win->quick.count = 0;
    if (!win->held_unchecked)
        /* a full barrier: MEM_SYNC; pairs with the next holder's entry */
        wdl_words_out_on_node(win, rank);
    else
        unchecked_ends(win);
    win->quick.stored = 0;
    if (win->locks_held == 0)
        wdl_epoch_access_from(&win->epoch, WDL_ACCESS_PER_TARGET, WDL_ACCESS_ON_LAST_UNLOCK);
}

/* Where not all memory is mapped something may be under way, and have an element. */
__attribute__((noinline))
static int held_finish(struct wdl_win *win)
{
    int rank = win->quick.held;
    if (wdl_win_settle(win, rank) != WDL_OK)
        return WDL_AGAIN;
    struct wdl_target *t = wdl_target_find(win, rank);
    if (t && !wdl_mail_waits(win, rank, wdl_target_drain(t, 0) == WDL_OK))
        return WDL_AGAIN;
    if (t)
        wdl_target_release(t);
    held_unlock(win);
    return wdl_win_take_error(win);
}

/* --- lock and unlock -------------------------------------------------------------------------- */

static int is_locked(struct wdl_win *win, int rank)
{
    const struct wdl_target *t = wdl_target_find(win, rank);
    return (t && t->lock.state != WDL_LOCK_IDLE) || win->quick.held == rank ||
           win->held_wanted == rank;
}

static int lock_begin(struct wdl_win *win, int rank, int exclusive, int assertion)
{
    struct wdl_target *t = wdl_target_get(win, rank);
    if (!t)
        return WDL_AGAIN;
    int status = wdl_epoch_access(&win->epoch, WDL_ACCESS_ON_LOCK);
    wdl_assert_cmp(status, ==, WDL_OK);
    wdl_win_quick_set(win);     /* a fence's epoch ends here */
    lock_take_row(t, assertion & WDL_MODE_NOCHECK ? WDL_LOCK_ON_NOCHECK : WDL_LOCK_ON_LOCK);
    t->lock.exclusive = exclusive;
    t->called.by = wdl_win_caller(win);
    t->want_lock = t->mapped || win->words != WDL_WORDS_NONE;
    if (t->lock.state == WDL_LOCK_CALLED && !t->want_lock)
        lock_is_called(win, &win->rma->called, &t->called);
    win->locked_targets++;
    win->locks_held++;
    return WDL_OK;
}

/* Its word cannot be had: as if it had not been asked for. */
static int lock_fails(struct wdl_target *t)
{
    struct wdl_win *win = t->win;
    int status = t->word.status;
    lock_take_row(t, WDL_LOCK_ON_DROP);
    t->word = (struct wdl_word) {.status = WDL_OK};
    t->evict = 1;               /* it leaves when the answer about its key is there */
    wdl_win_activate(win);
    win->locked_targets--;
    if (--win->locks_held == 0 && win->quick.held < 0) {
        int ended = wdl_epoch_access(&win->epoch, WDL_ACCESS_ON_LAST_UNLOCK);
        wdl_assert_cmp(ended, ==, WDL_OK);
    }
    return status;
}

/* 0: no epoch, no element, any rank can be the held lock, this one too, as nothing is posted. All
 * at once, since all of it is so as a rule. */
static inline int is_busy(const struct wdl_win *win, int locks_unlike)
{
    wdl_static_assert(WDL_ACCESS_NONE == 0 && WDL_EXPOSE_NONE == 0);
    int held = (int) win->words ^ WDL_WORDS_NODE, wanted = win->held_wanted ^ -1;
    int debts = win->word_debts.n | (win->word_debts.first ^ win->word_debts.last);
    return held | locks_unlike | win->epoch.access_state | win->epoch.expose_state |
           win->ntargets | wanted | debts;
}

enum { LOCK_BEGIN, LOCK_ELEMENT, LOCK_HELD };

/* What takes more than the quick lock is apart, so that what does not saves no registers; so it is
 * with unlock. */
__attribute__((noinline))
static int lock_on(struct wdl_win *win, int rank, int exclusive, int assertion, int *step)
{
    if (*step == LOCK_BEGIN) {
        if (rank < 0 || rank >= win->params.size)
            return WDL_ERR_RANK;
        if (win->params.hints.nonoverlapping) {
            assertion |= WDL_MODE_NOCHECK;
            exclusive = 0;      /* should it be taken after all (lock.h, CONVERT) */
        }
        if (!may_lock(win, rank, WDL_ACCESS_ON_LOCK) || is_locked(win, rank))
            return WDL_ERR_SYNC;
        if (!(assertion & WDL_MODE_NOCHECK) && win->locks_held == 0 && win->quick.held < 0 &&
            owes(win))
            return WDL_AGAIN;
        if (!(assertion & WDL_MODE_NOCHECK) && win->rma->ncalled > 0 &&
            lock_called(win) != WDL_OK)
            return WDL_AGAIN;
        int held = can_hold(win) && win->quick.held < 0 && win->held_wanted < 0 &&
                   !wdl_target_find(win, rank);
        int status = held ? WDL_OK : lock_begin(win, rank, exclusive, assertion);
        if (status != WDL_OK)
            return status;
        *step = held ? LOCK_HELD : LOCK_ELEMENT;
    }
    if (*step == LOCK_HELD) {
        if (held_lock(win, rank, exclusive, assertion) != WDL_OK)
            return WDL_AGAIN;
        *step = LOCK_BEGIN;
        /* taking the word was a full barrier, MEM_SYNC; NOCHECK: the user has synchronized */
        return WDL_OK;
    }
    struct wdl_target *t = wdl_target_find(win, rank);
    if (t && t->want_lock && !wdl_lock_open(&t->lock)) {
        wdl_target_progress(t);
        wdl_win_activate(win);
        return WDL_AGAIN;
    }
    *step = LOCK_BEGIN;
    if (t && wdl_status_is_error(t->word.status))
        return lock_fails(t);
    wdl_mem_sync(&win->quick);  /* pairs with the one of the last unlock */
    return WDL_OK;
}

/* Of a window whose locks keep nobody out; 0, too, where it is not one. */
__attribute__((noinline))
static int lock_nobody_out(struct wdl_win *win, int rank)
{
    if (!win->params.hints.nonoverlapping || is_busy(win, win->params.hints.no_locks) ||
        (unsigned) rank >= (unsigned) win->quick.size)
        return 0;
    win->quick.sole = 1;
    held_open(win, rank, 1, WDL_ACCESS_NONE);
    return 1;
}

wdl_line_begins
int wdl_win_lock_at_once(struct wdl_win *win, int rank, int exclusive, int nocheck)
{
    if (__builtin_expect(is_busy(win, win->params.hints.no_locks |
                                   win->params.hints.nonoverlapping), 0))
        return lock_nobody_out(win, rank);
    win->quick.sole = exclusive;
    if ((unsigned) rank >= (unsigned) win->quick.size ||
        (!nocheck && (win->rma->ncalled > 0 || !wdl_words_in_at_once(win, rank, exclusive))))
        return 0;
    held_open(win, rank, nocheck, WDL_ACCESS_NONE);
    return 1;
}

wdl_line_begins
int wdl_win_lock(struct wdl_win *win, int rank, int exclusive, int assertion, int *step)
{
    if (*step == LOCK_BEGIN &&
        wdl_win_lock_at_once(win, rank, exclusive, (assertion & WDL_MODE_NOCHECK) != 0))
        return WDL_OK;
    return lock_on(win, rank, exclusive, assertion, step);
}

/* The release is the last packet, or part of it (wdl_closing_flags). */
static void target_closes(struct wdl_target *t)
{
    wdl_mem_sync(&t->win->quick);       /* pairs with the next holder's in wdl_win_lock */
    t->want_unlock = t->win->words == WDL_WORDS_NONE && t->lock.state < WDL_LOCK_RELEASING;
    wdl_combine_tail(t);
}

/* Close one locked target: WDL_OK when its element is gone. */
static int target_unlock(struct wdl_target *t)
{
    struct wdl_win *win = t->win;
    int words = win->words != WDL_WORDS_NONE;
    if (t->lock.state == WDL_LOCK_CALLED && !t->want_lock && wdl_list_empty(&t->waiting))
        lock_take_row(t, WDL_LOCK_ON_DROP);
    if (t->lock.state == WDL_LOCK_UNCHECKED || (t->lock.state == WDL_LOCK_GRANTED && words)) {
        if (wdl_target_drain(t, 0) != WDL_OK)
            return WDL_AGAIN;
    }
    if (t->lock.state == WDL_LOCK_UNCHECKED) {
        unchecked_ends(win);
        lock_take_row(t, WDL_LOCK_ON_DROP);
    }
    if (t->lock.state == WDL_LOCK_GRANTED && words)
        lock_take_row(t, WDL_LOCK_ON_RELEASE);
    if (t->lock.state == WDL_LOCK_RELEASING && words) {
        int status = wdl_words_unlock(win, t->rank, &t->word);  /* a full barrier, as below */
        if (status == WDL_AGAIN)
            return WDL_AGAIN;
        if (status != WDL_OK)
            wdl_win_fail(win, status);
        lock_take_row(t, WDL_LOCK_ON_ACK);
    }
    if (t->lock.state != WDL_LOCK_IDLE) {
        target_closes(t);
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

__attribute__((noinline))
static int unlock_on(struct wdl_win *win, int rank, int *step)
{
    struct wdl_target *t;
    if (rank < 0 || rank >= win->params.size)
        return WDL_ERR_RANK;
    if (win->epoch.access_state != WDL_ACCESS_PER_TARGET)
        return WDL_ERR_SYNC;
    if (wdl_win_settle(win, rank) != WDL_OK)
        return WDL_AGAIN;
    if (*step == 0) {
        int status = locked_target(win, rank, &t);
        if (status != WDL_OK)
            return status;
        t->closing = 1;         /* other threads may need an element meanwhile */
        *step = 1;
    }
    t = wdl_target_find(win, rank);
    /* acknowledged: the element is idle, and closes here */
    if (target_unlock(t) != WDL_OK)
        return WDL_AGAIN;
    *step = 0;
    if (--win->locks_held == 0 && win->quick.held < 0) {
        int status = wdl_epoch_access(&win->epoch, WDL_ACCESS_ON_LAST_UNLOCK);
        wdl_assert_cmp(status, ==, WDL_OK);
    }
    return wdl_win_take_error(win);
}

wdl_line_begins
int wdl_win_unlock_held(struct wdl_win *win)
{
    held_unlock(win);
    return WDL_OK;
}

wdl_line_begins
int wdl_win_unlock(struct wdl_win *win, int rank, int *step)
{
    if (wdl_quick_holds(&win->quick, rank))
        return wdl_win_unlock_held(win);
    return wdl_quick_is_held(&win->quick, rank) ? held_finish(win) : unlock_on(win, rank, step);
}

__attribute__((noinline))
static int lock_all_on(struct wdl_win *win, int assertion, int *step)
{
    int words = win->words != WDL_WORDS_NONE;
    int nocheck = (assertion & WDL_MODE_NOCHECK) != 0 ||
        (*step == 0 && win->params.hints.nonoverlapping);
    if (*step == 0 && !may_lock(win, -1, WDL_ACCESS_ON_LOCK_ALL))
        return WDL_ERR_SYNC;
    if (*step == 0 && !nocheck && (owes(win) || (win->rma->ncalled > 0 && lock_called(win))))
        return WDL_AGAIN;
    *step = 1;
    int status = words && !nocheck ? wdl_words_lock_all(win) : WDL_OK;
    if (status == WDL_AGAIN)
        return WDL_AGAIN;
    *step = 0;
    if (status != WDL_OK)
        return status;
    /* taking the word was MEM_SYNC (words.c); locks by message have theirs when they are granted
     * (lock_granted, wdl_lock_all_progress) */
    if (nocheck && win->words != WDL_WORDS_NODE)
        wdl_mem_sync(&win->quick);      /* as lock_on has it; pairs with the user's own */
    status = wdl_epoch_access(&win->epoch, nocheck || words ? WDL_ACCESS_ON_LOCK_ALL_NOCHECK :
                                  WDL_ACCESS_ON_LOCK_ALL);
    if (status != WDL_OK)
        return status;
    win->all_nocheck = nocheck;
    win->all_next = win->all_due = 0;
    if (!nocheck && !words)
        lock_is_called(win, &win->rma->called_all, &win->all_called);
    wdl_win_quick_set(win);
    return WDL_OK;
}

/* All of it, where the node's ranks share their words, nothing else is open and nobody is in the
 * way: 1; 0: nothing has changed. */
static inline int lock_all_at_once(struct wdl_win *win, int assertion)
{
    struct wdl_win_control *first = &win->params.node[0];
    int unlike = win->params.hints.no_locks | win->params.hints.nonoverlapping |
                 (assertion & WDL_MODE_NOCHECK);
    if (is_busy(win, unlike) || win->rma->ncalled > 0 || win->gate_ticket != 0 ||
        !wdl_words_all_in_at_once(first))
        return 0;
    wdl_epoch_access_from(&win->epoch, WDL_ACCESS_NONE, WDL_ACCESS_ON_LOCK_ALL_NOCHECK);
    win->all_nocheck = 0;
    wdl_quick_open(&win->quick, 0, win->quick.place ? win->params.size : 0, 0, 0);
    return 1;
}

wdl_line_begins
int wdl_win_lock_all(struct wdl_win *win, int assertion, int *step)
{
    if (*step == 0 && __builtin_expect(lock_all_at_once(win, assertion), 1))
        return WDL_OK;
    return lock_all_on(win, assertion, step);
}

/* Elements are only caches under the window protocol: their locks are counted window-wide. All has
 * been drained, or is done at its target, which has answered UNLOCK behind it. */
static int forget_targets(struct wdl_win *win)
{
    struct wdl_list *node, *after;
    wdl_list_for_safe(node, after, &win->targets) {
        struct wdl_target *t = wdl_container_of(node, struct wdl_target, link);
        if (t->flush_sent != t->flush_acked || t->direct.key_due)
            return WDL_AGAIN;
        t->dirty = 0;
        if (t->lock.state == WDL_LOCK_GRANTED)
            lock_take_row(t, WDL_LOCK_ON_EVICT);
        wdl_target_release(t);
    }
    win->locked_targets = 0;
    return WDL_OK;
}

enum { UNLOCK_ALL_BEGIN, UNLOCK_ALL_TARGETS, UNLOCK_ALL_DRAIN, UNLOCK_ALL_WINDOW };

/* What waits at several targets goes in turn. */
static int unlock_all_targets(struct wdl_win *win)
{
    int status = WDL_OK, waits = 0;
    struct wdl_list *node, *after;
    wdl_list_for(node, &win->targets) {
        struct wdl_target *t = wdl_container_of(node, struct wdl_target, link);
        if (wdl_list_empty(&t->waiting))
            continue;
        target_closes(t);
        waits = 1;
    }
    if (waits)
        wdl_win_drain(win, 1);
    /* one that sends now is looked at again, behind the others (issue.c) */
    wdl_list_for_safe(node, after, &win->targets)
        if (target_unlock(wdl_container_of(node, struct wdl_target, link)) != WDL_OK)
            status = WDL_AGAIN;
    return status;
}

static int unlock_all_window(struct wdl_win *win)
{
    if (win->words != WDL_WORDS_NONE && win->all_nocheck) {
        unchecked_ends(win);
        return WDL_OK;
    }
    if (win->words != WDL_WORDS_NONE) {
        /* a full barrier: MEM_SYNC; pairs with the next holder's entry */
        int status = wdl_words_unlock_all(win);
        if (wdl_status_is_error(status))
            wdl_win_fail(win, status);
        return status == WDL_AGAIN ? WDL_AGAIN : WDL_OK;
    }
    if (win->all_next == 0) {
        wdl_mem_sync(&win->quick); /* pairs with the next holder's in wdl_win_lock */
        win->quick.stored = 0;
    }
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

/* Does UNLOCK go to every target behind its operations, and is answered after them? */
static int unlock_all_follows(const struct wdl_win *win)
{
    return win->proc->ordered && win->words == WDL_WORDS_NONE && !win->all_nocheck;
}

/* Has nothing but its word to be given back, once what is handed over or held is done? */
static inline int is_all_at_once(const struct wdl_win *win)
{
    int words = (int) win->words ^ WDL_WORDS_NODE,
        state = win->epoch.access_state ^ WDL_ACCESS_LOCK_ALL_GRANTED;
    return (words | state | win->all_nocheck | win->ntargets) == 0;
}

__attribute__((noinline))
static int unlock_all_on(struct wdl_win *win, int *step)
{
    if (!is_lock_all(win))
        return WDL_ERR_SYNC;
    if (win->epoch.access_state == WDL_ACCESS_LOCK_ALL_ISSUED)
        return WDL_AGAIN;
    if (wdl_win_settle(win, -1) != WDL_OK)
        return WDL_AGAIN;
    if (*step == UNLOCK_ALL_BEGIN)
        *step = win->epoch.access_state == WDL_ACCESS_LOCK_ALL_CALLED ? UNLOCK_ALL_TARGETS :
            UNLOCK_ALL_DRAIN;
    if (*step == UNLOCK_ALL_TARGETS && unlock_all_targets(win) != WDL_OK)
        return WDL_AGAIN;
    if (*step == UNLOCK_ALL_DRAIN) {
        if (win->ntargets > 0) {
            if (wdl_win_drain(win, unlock_all_follows(win)) != WDL_OK ||
                (!unlock_all_follows(win) && forget_targets(win) != WDL_OK))
                return WDL_AGAIN;
            win->all_next = win->all_due = 0;
        }
        *step = UNLOCK_ALL_WINDOW;
    }
    if (*step == UNLOCK_ALL_WINDOW) { /* words are given back once */
        if (unlock_all_window(win) != WDL_OK ||
            (unlock_all_follows(win) && forget_targets(win) != WDL_OK))
            return WDL_AGAIN;
        win->all_next = 0;
    }
    *step = UNLOCK_ALL_BEGIN;
    win->quick.count = 0;
    wdl_uncall(win->rma, &win->all_called);
    int status = wdl_epoch_access(&win->epoch, WDL_ACCESS_ON_UNLOCK_ALL);
    wdl_assert_cmp(status, ==, WDL_OK);
    return wdl_win_take_error(win);
}

wdl_line_begins
int wdl_win_unlock_all(struct wdl_win *win, int *step)
{
    if (*step != UNLOCK_ALL_BEGIN || !is_all_at_once(win))
        return unlock_all_on(win, step);
    /* what is mapped is done in its call */
    if (!win->quick.place && wdl_win_settle(win, -1) != WDL_OK)
        return WDL_AGAIN;
    wdl_words_all_out_on_node(win); /* MEM_SYNC, as below */
    win->quick.count = 0;
    wdl_epoch_access_from(&win->epoch, WDL_ACCESS_LOCK_ALL_GRANTED, WDL_ACCESS_ON_UNLOCK_ALL);
    return wdl_win_take_error(win);
}

/* What is older than this: WDL_OK or an error when it is over. */
static int flush_before(struct wdl_win *win, int rank, int local, uint64_t stamp)
{
    if (wdl_win_settle_before(win, rank, stamp) != WDL_OK)
        return WDL_AGAIN;
    if (rank < 0) {
        if (wdl_win_drain_before(win, stamp, local) != WDL_OK)
            return WDL_AGAIN;
    } else {
        struct wdl_target *t = wdl_target_find(win, rank);
        if (!t && win->epoch.access_state == WDL_ACCESS_PER_TARGET && win->quick.held != rank &&
            win->locked_targets >= win->locks_held)
            return WDL_ERR_SYNC;
        if (t && !wdl_mail_waits(win, rank, wdl_target_drain_before(t, stamp, local) == WDL_OK))
            return WDL_AGAIN;
    }
    win->quick.stored = 0;
    wdl_mem_sync(&win->quick);  /* seed 001, FLUSH; pairs with the peer's own synchronization */
    return wdl_win_take_error(win);
}

/* Other threads may issue operations all the while, and flush, too: whose progress completes one's
 * operations does not matter (seed 001, RMA + Threads). */
wdl_line_begins
int wdl_win_flush(struct wdl_win *win, int rank, int local, int *step)
{
    if (!is_passive(win))
        return WDL_ERR_SYNC;
    if (rank >= win->params.size)
        return WDL_ERR_RANK;
    int status = flush_before(win, rank, local | win->params.hints.no_done,
                              wdl_win_stamp_of(win, step));
    if (status != WDL_AGAIN)
        *step = 0;
    return status;
}
