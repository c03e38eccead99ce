/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Short operations to one target in one message, with the request for its lock and with what closes
 * the epoch (seed 001, Performance optimizations 1 and 2).
 *
 * What may wait for company:
 *   one short operation under a lock not asked for yet, until the next call for its target
 *   in an active target epoch, what a target has not got yet: short operations, as many as fit in a
 *   message, and the last packet of a long one, if no other follows it. No target looks at its
 *   memory before the epoch is over, and what ends it (COMPLETE, FLUSH) travels with that. Seed
 *   001 queues operations up to PIGGYBACK_THRESHOLD, whatever their length; to let all of a long
 *   one but a packet go costs no message more, and only that packet is late
 *   several, when operations follow one another (or the window's mode says so): `hold` remembers
 *   whether the last operation was followed by the next call at once
 * Nothing else is held back that is not short; nothing that has a request, or does not fit in a
 * message together; nor, outside active epochs, for longer than HELD_NS, where the mode is
 * automatic and the target's lock was not asked for by name; nor when elements run short.
 *
 * On an unordered network nothing may be said in a packet that others of its operation could come
 * after: there the last of several does not wait.
 */
#include <string.h>
#include "mpid/rma/win_impl.h"

enum { FOLLOWS_NS = 5000, HELD_NS = 20000 };

/* Another call has come: did it follow the last operation at once? */
static void judge(struct wdl_win *win, uint64_t now)
{
    if (win->op_ns > 0)
        win->hold = now - win->op_ns <= FOLLOWS_NS;
}

void wdl_win_hints_set(struct wdl_win *win, const struct wdl_win_hints *hints)
{
    struct wdl_list *node;
    if (win->params.hints.nonoverlapping)
        win->quick.sole = 0;    /* whoever was alone by the user's word alone; others may be, too */
    win->params.hints = *hints;
    wdl_win_quick_set(win);
    wdl_list_for(node, &win->targets)   /* what is short is counted anew */
        wdl_combine_left(wdl_container_of(node, struct wdl_target, link));
    wdl_win_activate(win);
}

void wdl_combine_op(struct wdl_target *t)
{
    struct wdl_win *win = t->win;
    uint64_t now = wdl_win_now_ns(win) + 1;     /* 0 says that there is none */
    judge(win, now);
    win->op_ns = now;
    if (t->waiting.next == t->waiting.prev) {
        t->held_ns = now;
        t->push = 0;
    }
}

void wdl_combine_sync(struct wdl_target *t)
{
    struct wdl_win *win = t->win;
    if (win->op_ns > 0)
        judge(win, wdl_win_now_ns(win) + 1);
    win->op_ns = 0;
    t->push = 1;
}

/* Not what takes several packets, of which some may have gone, however long the user calls
 * short. */
static int is_short(const struct wdl_op *op)
{
    return op->next == 0 && op->total <= (size_t) op->win->rma->params.short_bytes &&
        op->total <= wdl_op_chunk(op) && (!op->told || wdl_type_is_there(op->told));
}

/* Does one more fit? */
static int joins(struct wdl_target *t, const struct wdl_op *op)
{
    struct wdl_together *g = &t->together;
    size_t there = g->there + sizeof(struct wdl_pkt) + wdl_op_payload_bytes(op);
    size_t back = g->back + sizeof(struct wdl_pkt) + (wdl_op_reads(op) ? op->total : 0);
    size_t room = t->win->rma->chunk_bytes;
    int acc = g->accumulates + (op->args.kind >= WDL_RMA_ACC);
    /* unordered network: one message with accumulates at a time */
    if (!is_short(op) || there > room || back > room ||
        (acc > 0 && t->acc_in_flight > 0 && !t->win->params.hints.acc_unordered))
        return 0;
    g->there = there;
    g->back = back;
    g->accumulates = acc;
    g->requests += op->args.request != NULL;
    g->n++;
    return 1;
}

int wdl_combine_count(struct wdl_target *t)
{
    struct wdl_together *g = &t->together;
    if (!g->last || !t->win->proc->ordered)     /* acknowledgements change what fits */
        *g = (struct wdl_together){.last = &t->waiting};
    while (!g->ended && g->last->next != &t->waiting) {
        g->ended = !joins(t, wdl_container_of(g->last->next, struct wdl_op, node.link));
        if (!g->ended)
            g->last = g->last->next;
    }
    return g->n;
}

/* Does somebody wait for what waits here? */
static int is_pressed(const struct wdl_target *t)
{
    return t->push || t->want_lock || t->want_flush || t->want_unlock || t->evict;
}

int wdl_combine_holds(struct wdl_target *t)
{
    const struct wdl_win *win = t->win;
    if (is_pressed(t) || wdl_combine_count(t) == 0 || t->together.ended ||
        t->together.requests > 0)
        return 0;
    int first = t->together.n == 1 && t->lock.state == WDL_LOCK_CALLED;
    if (first && win->epoch.access_state == WDL_ACCESS_PER_TARGET)
        return 1;
    if (win->params.hints.combine != WDL_COMBINE_AUTO)
        return win->params.hints.combine == WDL_COMBINE_ALWAYS;
    if (wdl_epoch_is_active(&win->epoch))
        return 1;
    return (first || win->hold) && wdl_win_now_ns(win) + 1 - t->held_ns < HELD_NS;
}

int wdl_combine_holds_last(const struct wdl_op *op)
{
    const struct wdl_target *t = op->target;
    const struct wdl_win *win = t->win;
    return wdl_epoch_is_active(&win->epoch) && !is_pressed(t) && !op->args.request &&
           op->node.link.next == &t->waiting && (win->proc->ordered || op->next == 0) &&
           win->params.hints.combine != WDL_COMBINE_NEVER;
}

void wdl_combine_tail(struct wdl_target *t)
{
    struct wdl_list *node;
    if (wdl_list_empty(&t->waiting) || !t->win->proc->ordered ||
        wdl_op_reads(wdl_container_of(t->waiting.prev, struct wdl_op, node.link)))
        return;
    wdl_list_for(node, &t->waiting) {
        struct wdl_op *op = wdl_container_of(node, struct wdl_op, node.link);
        if (op->args.kind != WDL_RMA_GET || op->next > 0 || op->moved)
            continue;
        op->moved = 1;          /* others may come behind it for ever */
        wdl_list_remove(node);
        wdl_list_push(&t->waiting, node);
        wdl_combine_left(t);
        return;
    }
}

/* The operations' packets and payloads, one behind the other. */
static int bundle_fill(const struct wdl_target *t, int count, char *to, size_t *bytes_out)
{
    struct wdl_list *node;
    size_t at = 0;
    wdl_list_for(node, &t->waiting) {
        const struct wdl_op *op = wdl_container_of(node, struct wdl_op, node.link);
        struct wdl_pkt pkt;
        if (count-- == 0)
            break;
        wdl_assert_cmp(op->next, ==, 0);
        wdl_assert_cmp(op->total, <=, wdl_op_chunk(op));
        wdl_op_fill(op, &pkt, op->total);
        pkt.reserved = (uint32_t) wdl_op_payload_bytes(op);
        memcpy(to + at, &pkt, sizeof(pkt));
        if (wdl_op_payload(op, to + at + sizeof(pkt)) != WDL_OK)
            return WDL_ERR_TYPE;
        at += sizeof(pkt) + pkt.reserved;
    }
    *bytes_out = at;
    return WDL_OK;
}

/* Of the oldest operation of those, and of what was sent before and not asked about. */
static uint64_t bundle_stamp(const struct wdl_target *t, int count)
{
    uint64_t stamp = t->dirty ? t->dirty_stamp : wdl_win_next_stamp(t->win);
    struct wdl_list *node;
    wdl_list_for(node, &t->waiting) {
        const struct wdl_op *op = wdl_container_of(node, struct wdl_op, node.link);
        if (count-- == 0)
            break;
        if (wdl_is_older(op->stamp, stamp))
            stamp = op->stamp;
    }
    return stamp;
}

/* They are with the target, or refused with an error. An ordered network's answer to one, if there
 * is one, tells of the end of all. */
static void bundle_sent(struct wdl_target *t, int count, int status, uint64_t stamp)
{
    int ordered = t->win->proc->ordered;
    wdl_combine_left(t);
    while (count-- > 0) {
        struct wdl_list *node = wdl_list_pop(&t->waiting);
        struct wdl_op *op = wdl_container_of(node, struct wdl_op, node.link);
        wdl_list_push(&t->issued, node);
        if (!ordered && op->args.kind >= WDL_RMA_ACC)
            t->acc_in_flight++;
        if (ordered)
            op->vouches = stamp;
        if (status != WDL_OK)
            op->status = status;
        else
            op->next = op->total;
    }
}

static int bundle_reads(const struct wdl_target *t, int count)
{
    struct wdl_list *node;
    wdl_list_for(node, &t->waiting) {
        if (count-- == 0)
            break;
        if (wdl_op_reads(wdl_container_of(node, struct wdl_op, node.link)))
            return 1;
    }
    return 0;
}

int wdl_combine_send(struct wdl_target *t, int count, int flags)
{
    struct wdl_win *win = t->win;
    struct wdl_bounce *bounce = wdl_bounce_get(win->proc);
    int reads = bundle_reads(t, count), ordered = win->proc->ordered;
    struct wdl_pkt pkt;
    size_t bytes = 0;
    if (!bounce)
        return WDL_AGAIN;
    flags |= wdl_closing_flags(t, count);
    int answered = reads || (flags & WDL_PKT_WITH_LOCK);        /* when all of it is done */
    if (answered)
        flags &= ~WDL_PKT_WITH_FLUSH;
    wdl_pkt_init(&pkt, win, WDL_PKT_BUNDLE);
    pkt.flags = (uint8_t) flags;
    pkt.op = wdl_op_ref(wdl_container_of(t->waiting.next, struct wdl_op, node.link));
    pkt.count = count;
    int status = bundle_fill(t, count, bounce->data, &bytes);
    if (status == WDL_OK)
        status = wdl_bounce_send(bounce, win->params.peer_of(win->params.ctx, t->rank), WDL_AM_RMA,
                                 &pkt, sizeof(pkt), bytes);
    if (status == WDL_AGAIN || wdl_status_is_error(status))
        wdl_bounce_put(bounce);
    if (status == WDL_AGAIN)
        return WDL_AGAIN;
    uint64_t stamp = bundle_stamp(t, count);
    bundle_sent(t, count, status, stamp);
    if (status != WDL_OK)
        return status;
    win->stats.messages++;
    t->held_ns = win->op_ns;
    if (ordered && answered)
        t->dirty = 0;
    else if (ordered)
        wdl_target_dirtied(t, stamp);
    t->asked = flags;
    wdl_closing_sent(t, flags);
    return WDL_OK;
}

void wdl_combine_again(struct wdl_target *t)
{
    wdl_combine_left(t);
    while (!wdl_list_empty(&t->issued)) {
        struct wdl_list *node = t->issued.prev;
        struct wdl_op *op = wdl_container_of(node, struct wdl_op, node.link);
        wdl_list_remove(node);
        wdl_list_push_front(&t->waiting, node);
        op->next = 0;
        if (!t->win->proc->ordered && op->args.kind >= WDL_RMA_ACC)
            t->acc_in_flight--;
    }
    t->want_unlock |= (t->asked & WDL_PKT_WITH_UNLOCK) != 0;
    t->push = 1;
}

int wdl_closing_flags(const struct wdl_target *t, int count)
{
    int ordered = t->win->proc->ordered;
    int may = t->lock.state == WDL_LOCK_GRANTED || t->lock.state == WDL_LOCK_CALLED;
    struct wdl_list *node;
    wdl_list_for(node, &t->waiting)
        if (count-- == 0)
            return 0;
    /* unordered network: the packet may be there before those that are not acknowledged */
    if (!ordered && !wdl_list_empty(&t->issued))
        return 0;
    if (t->want_unlock && may && !wdl_direct_busy(t))
        return WDL_PKT_WITH_UNLOCK;
    if (t->want_complete && !wdl_direct_busy(t))
        return WDL_PKT_WITH_COMPLETE;
    return ordered && (t->want_flush || t->evict) ? WDL_PKT_WITH_FLUSH : 0;
}

void wdl_closing_sent(struct wdl_target *t, int flags)
{
    if (flags & WDL_PKT_WITH_FLUSH)
        wdl_target_asked(t);
    if (flags & WDL_PKT_WITH_UNLOCK)
        t->want_unlock = t->dirty = 0;
    if (flags & WDL_PKT_WITH_COMPLETE) {
        t->want_complete = 0;
        t->completed = 1;
    }
    if (flags & (WDL_PKT_WITH_UNLOCK | WDL_PKT_WITH_LOCK)) {
        int whole = (flags & WDL_PKT_WITH_LOCK) && (flags & WDL_PKT_WITH_UNLOCK);
        int status = wdl_lock_step(&t->lock, whole ? WDL_LOCK_ON_PASS :
                                   flags & WDL_PKT_WITH_LOCK ? WDL_LOCK_ON_ISSUE :
                                   WDL_LOCK_ON_RELEASE);
        wdl_assert_cmp(status, ==, WDL_OK);
    }
}
