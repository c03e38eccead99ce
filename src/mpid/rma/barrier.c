/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The fence's nonblocking barrier (seed 001, IBARRIER): dissemination over the ranks of the window, ceil(log2 P) packets
 * each. A rank that has left barrier s knows that all have entered it, so nobody is ever more than one ahead, and two
 * sets of arrival marks, by the parity of s, are enough.
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
    __atomic_thread_fence(__ATOMIC_SEQ_CST);    /* MEM_SYNC before PROC_SYNC (seed 001, FENCE); pairs with the one in progress */
    if (b->running)
        wdl_win_activate(win);
}

int wdl_barrier_progress(struct wdl_win *win)
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
    __atomic_thread_fence(__ATOMIC_SEQ_CST);    /* MEM_SYNC after PROC_SYNC; pairs with the one in begin */
    return WDL_OK;
}

int wdl_barrier_arrive(struct wdl_win *win, uint64_t sequence, int64_t round)
{
    struct wdl_barrier *b = &win->barrier;
    uint64_t next = b->sequence + 1;
    if (sequence != next && !(b->running && sequence == b->sequence))
        return WDL_ERR_PROTO;
    if (round < 0 || round >= 32 || b->arrived[sequence & 1][round])
        return WDL_ERR_PROTO;
    b->arrived[sequence & 1][round] = 1;
    wdl_win_activate(win);
    return WDL_OK;
}
