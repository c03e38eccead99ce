/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The fence's nonblocking barrier (seed 001, IBARRIER). A rank that has left barrier s knows that
 * all have entered it, so nobody is ever more than one ahead of another.
 *   messages   dissemination, ceil(log2 P) packets each; two sets of arrival marks, by the parity
 *              of s, are enough
 *   node       the same on words of shared memory, where a round is one store
 *   crowded    one counter, where processes outnumber processors: every round would cost each of
 *              them a turn
 * Words hold the sequence number and are never reset.
 */
#include <string.h>
#include "mpid/rma/win_impl.h"

void wdl_barrier_begin(struct wdl_win *win)
{
    struct wdl_barrier *b = &win->barrier;
    wdl_assert(!b->running);
    b->sequence++;
    b->round = b->sent = 0;
    b->running = win->params.size > 1;
    /* MEM_SYNC before PROC_SYNC (seed 001, FENCE); pairs with the one in progress */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    win->quick.stored = 0;
    if (b->running && !win->params.node_whole)
        wdl_win_activate(win);
}

/* Everybody adds one to the counter; the last one lets all go. */
static int crowded_progress(struct wdl_win *win)
{
    struct wdl_barrier *b = &win->barrier;
    struct wdl_win_control *first = &win->params.node[0];
    if (!b->sent) {
        uint64_t all = (uint64_t) win->params.size * b->sequence;
        b->sent = 1;
        if (__atomic_add_fetch(&first->arrived, 1, __ATOMIC_SEQ_CST) == all)
            /* pairs with the load below */
            __atomic_store_n(&first->phase, b->sequence, __ATOMIC_RELEASE);
    }
    if (__atomic_load_n(&first->phase, __ATOMIC_ACQUIRE) < b->sequence)
        return WDL_AGAIN;
    b->running = 0;
    return WDL_OK;
}

static int node_progress(struct wdl_win *win)
{
    struct wdl_barrier *b = &win->barrier;
    struct wdl_win_control *node = win->params.node;
    int size = win->params.size, rank = win->params.rank;
    while (b->running) {
        if (!b->sent) {
            int to = (int) (((int64_t) rank + ((int64_t) 1 << b->round)) % size);
            /* pairs with the load below */
            __atomic_store_n(&node[to].cell[b->round].sequence, b->sequence, __ATOMIC_RELEASE);
            b->sent = 1;
        }
        if (__atomic_load_n(&node[rank].cell[b->round].sequence, __ATOMIC_ACQUIRE) < b->sequence)
            return WDL_AGAIN;
        b->sent = 0;
        b->round++;
        b->running = ((int64_t) 1 << b->round) < size;
    }
    return WDL_OK;
}

static int message_progress(struct wdl_win *win)
{
    struct wdl_barrier *b = &win->barrier;
    uint8_t *arrived = b->arrived[b->sequence & 1];
    int size = win->params.size;
    while (b->running) {
        if (!b->sent) {
            struct wdl_pkt pkt;
            wdl_pkt_init(&pkt, win, WDL_PKT_BARRIER);
            pkt.op = b->sequence;
            pkt.count = b->round;
            int64_t to = ((int64_t) win->params.rank + ((int64_t) 1 << b->round)) % size;
            int status = wdl_pkt_send(win, (int) to, &pkt);
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

int wdl_barrier_progress(struct wdl_win *win)
{
    int status = WDL_OK;
    if (!win->barrier.running)
        return WDL_OK;
    if (!win->params.node_whole)
        status = message_progress(win);
    else
        status = win->params.crowded ? crowded_progress(win) : node_progress(win);
    if (status == WDL_OK)
        /* MEM_SYNC after PROC_SYNC; pairs with the one in begin */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return status;
}

int wdl_barrier_arrive(struct wdl_win *win, uint64_t sequence, int64_t round)
{
    struct wdl_barrier *b = &win->barrier;
    uint64_t next = b->sequence + 1;
    if (sequence != next && !(b->running && sequence == b->sequence))
        return WDL_ERR_PROTO;
    if (round < 0 || round >= 32 || (int64_t) 1 << round >= win->params.size ||
        b->arrived[sequence & 1][round])
        return WDL_ERR_PROTO;
    b->arrived[sequence & 1][round] = 1;
    wdl_win_activate(win);
    return WDL_OK;
}
