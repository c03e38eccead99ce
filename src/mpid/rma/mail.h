/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A cell (mailbox.h), as its origin (mailbox.c) and its target (mailserve.c) see it: its state, and
 * where what belongs to it lies.
 */
#ifndef WDL_MPID_RMA_MAIL_H_INCLUDED
#define WDL_MPID_RMA_MAIL_H_INCLUDED

#include "mpid/rma/win_impl.h"

static inline uint32_t wdl_mail_look(const struct wdl_mail *mail)
{
    return __atomic_load_n(&mail->state, __ATOMIC_ACQUIRE); /* pairs with _set */
}

static inline void wdl_mail_set(struct wdl_mail *mail, enum wdl_mail_state state)
{
    __atomic_store_n(&mail->state, (uint32_t) state, __ATOMIC_RELEASE);
}

static inline int wdl_mail_swap(struct wdl_mail *mail, enum wdl_mail_state from,
                                enum wdl_mail_state to)
{
    uint32_t expected = (uint32_t) from;
    return __atomic_compare_exchange_n(&mail->state, &expected, (uint32_t) to, 0, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

/* Does the rank whose control block this is look at its mail? */
static inline int wdl_mail_is_attended(const struct wdl_win_control *control)
{
    return __atomic_load_n(&control->mail_open, __ATOMIC_RELAXED) != 0;
}

/* Where processes take turns at processors nobody is asked who does not: whoever would take what is
 * handed over wants a processor, and who would wait gives one away. */
static inline int wdl_mail_is_crowded(const struct wdl_win *win,
                                      const struct wdl_win_control *control)
{
    return win->params.crowded && !(win->mailbox.has && wdl_mail_is_attended(control));
}

/* Looks for a target that may be at something as long itself. */
static inline int wdl_mail_patience(uint64_t bytes)
{
    return WDL_MAIL_LOOKS + (int) ((bytes < 65536 ? bytes : 65536) / 256);
}

/* Has each rank of the node a cell of its own? */
static inline int wdl_mail_own(const struct wdl_win *win)
{
    return win->params.node_count <= WDL_WIN_MAILS;
}

/* Its origin is done with one that has been answered: the next may have it. */
static inline void wdl_mail_give_back(const struct wdl_win *win, struct wdl_mail *mail)
{
    if (!wdl_mail_own(win))
        wdl_mail_set(mail, WDL_MAIL_FREE);
}

/* Where the data of an operation are, its answer's, and, behind those, what goes with one that has
 * an answer besides. */
static inline char *wdl_mail_data(struct wdl_mail *mail, size_t bytes,
                                  struct wdl_win_control *origin)
{
    return bytes <= WDL_MAIL_BYTES ? mail->data : origin->area.data;
}

static inline size_t wdl_mail_payload_at(const struct wdl_mail *mail)
{
    return mail->kind == WDL_RMA_GET_ACC && mail->bytes > WDL_MAIL_BYTES ? WDL_MAIL_AREA / 2 : 0;
}

static inline size_t wdl_mail_payload(const struct wdl_mail *mail)
{
    int none = mail->kind == WDL_RMA_GET ||
               (mail->kind == WDL_RMA_GET_ACC && mail->rop == WDL_ROP_NO_OP);
    return none ? 0 : mail->kind == WDL_RMA_CAS ? 2 * (size_t) mail->bytes : mail->bytes;
}

/* So many lines of an area at most its target asks for beforehand: what lies there comes one cache
 * miss after the cell's own, with which it can come at once. More come at full rate, and to have
 * some of them early delays the others. (Two processors that share no cache, put and flush of 64
 * bytes 0.79 us, so 0.53; of 1 KiB 0.83, and 0.89 if one line is asked for.) Its origin, for whose
 * get the target is to write there, does not: both would take the line from each other all the time
 * (get and flush of 64 bytes 0.62 us, and 0.77). */
enum { WDL_MAIL_AHEAD = 2 };

static inline struct wdl_win_control *wdl_mail_control(const struct wdl_win *win)
{
    return &win->params.node[win->params.node_index];
}

/* That has been handed over to us by one who looks at its mail meanwhile: our trial of what is like
 * it is told, if it is a put or a get in one piece. */
void wdl_mail_prompt(const struct wdl_win *win, const struct wdl_mail *mail);

#endif
