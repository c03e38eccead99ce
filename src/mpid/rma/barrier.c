/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The fence's nonblocking barrier (seed 001, IBARRIER). A rank that has left barrier s knows that
 * all have entered it, so nobody is ever more than one ahead of another. One that begins while
 * another runs is queued; all of them have to end.
 *   messages   dissemination, ceil(log2 P) packets each; two sets of arrival marks, by the parity
 *              of s, are enough
 *   node       words of shared memory (proc/meet.h): by looks, among many by rounds, but where
 *              processes outnumber processors, and every round would cost each of them a turn
 *   levels     several nodes: each node's first rank sees in words that all of it have come, says
 *              so in a word, meets those of the other nodes by messages, and says in another word
 *              that all are there. Whoever begins such a barrier waits in the call for its own node
 *              at least (wdl_barrier_near): what is left then needs nobody but the first ranks,
 *              whom messages wake.
 */
#include <string.h>
#include "mpid/rma/win_impl.h"

static void enter(struct wdl_win *win)
{
    struct wdl_barrier *b = &win->barrier;
    b->sequence++;
    b->round = b->sent = b->seen = b->node_here = b->near = 0;
    b->running = win->params.size > 1;
}

void wdl_barrier_begin(struct wdl_win *win, int nostore, int unread)
{
    struct wdl_barrier *b = &win->barrier;
    if (!nostore || win->quick.stored)
        /* before PROC_SYNC (seed 001, FENCE); pairs with the one in progress */
        wdl_mem_sync(&win->quick);
    win->quick.stored = 0;
    b->unread = unread;
    if (b->running)
        b->queued++;
    else
        enter(win);
    if (b->running && !win->params.node_whole)
        wdl_win_activate(win);
}

static struct wdl_meet_word *words_of(const void *node, int rank)
{
    return ((struct wdl_win_control *) (uintptr_t) node)[rank].meeting;
}

static int looks(struct wdl_win *win)
{
    struct wdl_barrier *b = &win->barrier;
    if (!b->sent)
        wdl_meet_come(words_of(win->params.node, win->params.rank), b->sequence);
    b->sent = 1;
    return wdl_meet_look(words_of, win->params.node, win->params.rank, win->params.size,
                         b->sequence, &b->round);
}

static int node_progress(struct wdl_win *win)
{
    struct wdl_barrier *b = &win->barrier;
    int size = win->params.size;
    b->running = size <= WDL_MEET_LOOKS_MAX || win->params.crowded
        ? !looks(win)
        : !wdl_meet_rounds(words_of, win->params.node, win->params.rank, size, b->sequence,
                           &b->round, &b->sent);
    return b->running ? WDL_AGAIN : WDL_OK;
}

/* Those who meet by messages: how many, this rank's number, and the peer who has another. */
static int messengers(const struct wdl_win *win)
{
    return win->params.nodes > 1 ? win->params.nodes : win->params.size;
}

static int messenger(const struct wdl_win *win)
{
    return win->params.nodes > 1 ? win->params.node_number : win->params.rank;
}

static int messenger_peer(const struct wdl_win *win, int number)
{
    const struct wdl_win_params *params = &win->params;
    return params->nodes > 1 ? params->first_of(params->ctx, number)
                             : params->peer_of(params->ctx, number);
}

static int message_progress(struct wdl_win *win)
{
    struct wdl_barrier *b = &win->barrier;
    uint8_t *arrived = b->arrived[b->sequence & 1];
    int size = messengers(win);
    while (b->running) {
        if (!b->sent) {
            struct wdl_pkt pkt;
            wdl_pkt_init(&pkt, win, WDL_PKT_BARRIER);
            pkt.op = b->sequence;
            pkt.count = b->round;
            int64_t to = ((int64_t) messenger(win) + ((int64_t) 1 << b->round)) % size;
            int status = wdl_pkt_send_peer(win, messenger_peer(win, (int) to), &pkt);
            if (status == WDL_AGAIN)
                return WDL_AGAIN;
            if (wdl_status_is_error(status))
                wdl_win_fail(win, status);
            b->sent = 1;
        }
        if (!arrived[b->round])
            return WDL_AGAIN;
        b->sent = 0;
        b->round++;
        if (((int64_t) 1 << b->round) >= size) {
            memset(arrived, 0, sizeof(b->arrived[0]));
            b->running = 0;
        }
    }
    return WDL_OK;
}

/* Words of a rank: it has come; of the first one: its node has; all have. */
enum { COME, NODE_HERE, ALL_HERE };

static int levels_progress(struct wdl_win *win)
{
    struct wdl_barrier *b = &win->barrier;
    const struct wdl_win_params *params = &win->params;
    struct wdl_meet_word *own = words_of(params->node, params->node_index);
    struct wdl_meet_word *first = words_of(params->node, 0);
    if (params->node_index > 0) {
        if (!b->sent)
            wdl_meet_come(&own[COME], b->sequence);
        b->sent = 1;
        /* pairs with the store in wdl_meet_come */
        b->running = __atomic_load_n(&first[ALL_HERE].number, __ATOMIC_ACQUIRE) < b->sequence;
        return b->running ? WDL_AGAIN : WDL_OK;
    }
    if (!b->node_here && !wdl_meet_look(words_of, params->node, 0, params->node_count, b->sequence,
                                        &b->seen))
        return WDL_AGAIN;
    if (!b->node_here)
        wdl_meet_come(&first[NODE_HERE], b->sequence);
    b->node_here = 1;
    int status = message_progress(win);
    if (status == WDL_OK)
        wdl_meet_come(&first[ALL_HERE], b->sequence);
    return status;
}

int wdl_barrier_progress(struct wdl_win *win)
{
    struct wdl_barrier *b = &win->barrier;
    while (b->running) {
        int status = win->params.node_whole  ? node_progress(win)
                     : win->params.nodes > 1 ? levels_progress(win)
                                             : message_progress(win);
        if (status != WDL_OK)
            return status;
        if (b->queued > 0) {
            b->queued--;
            enter(win);
        } else if (!b->unread) {
            wdl_mem_sync(&win->quick); /* after PROC_SYNC; pairs with the one in begin */
        }
    }
    return WDL_OK;
}

/* Levels, the last barrier that has begun: has our own node come to it? */
static int node_is_here(const struct wdl_win *win)
{
    const struct wdl_barrier *b = &win->barrier;
    if (win->params.nodes <= 1 || b->queued > 0)
        return 0;
    if (b->near)
        return 1;
    if (win->params.node_index == 0)
        return b->node_here;
    /* pairs with the store in wdl_meet_come */
    return __atomic_load_n(&words_of(win->params.node, 0)[NODE_HERE].number, __ATOMIC_ACQUIRE) >=
           b->sequence;
}

int wdl_barrier_near(struct wdl_win *win)
{
    struct wdl_barrier *b = &win->barrier;
    if (wdl_barrier_progress(win) == WDL_OK)
        return WDL_OK;
    if (!node_is_here(win))
        return WDL_AGAIN;
    int knew = b->near;
    b->near = 1;
    if (!knew && !b->unread)
        wdl_mem_sync(&win->quick); /* after PROC_SYNC; pairs with the one in begin */
    return WDL_OK;
}

int wdl_barrier_arrive(struct wdl_win *win, uint64_t sequence, int64_t round)
{
    struct wdl_barrier *b = &win->barrier;
    uint64_t next = b->sequence + 1;
    if (sequence != next && !(b->running && sequence == b->sequence))
        return WDL_ERR_PROTO;
    if (round < 0 || round >= 32 || (int64_t) 1 << round >= messengers(win) ||
        (win->params.nodes > 1 && win->params.node_index > 0) ||
        b->arrived[sequence & 1][round])
        return WDL_ERR_PROTO;
    b->arrived[sequence & 1][round] = 1;
    wdl_win_activate(win);
    return WDL_OK;
}
