/* Part of Windlass. See COPYRIGHT in the top-level directory. Long copies by both processes
 * (joint.h). */
#include "mpid/rma/joint.h"
#include "mpid/rma/mail.h"

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* --- parts ------------------------------------------------------------------------------------ */

/* Of a copy of so many bytes: pages taken from the beginning, and, in the upper half of the word,
 * from the end. */
enum { ENDS = 32 };

static uint64_t pages_of(uint64_t bytes)
{
    return (bytes + WDL_JOINT_PAGE - 1) / WDL_JOINT_PAGE;
}

struct part {
    uint64_t at, bytes;
};

/* Half of what is left, or all of it: it is little, or the other side has not come. */
static uint64_t pages_to_take(uint64_t left, int is_target, int alone)
{
    uint64_t half = left / 2, fewest = WDL_JOINT_PART / WDL_JOINT_PAGE;
    uint64_t n = least(left, half > fewest ? half : fewest);
    return alone ? left : is_target ? least(n, WDL_JOINT_MOST / WDL_JOINT_PAGE) : n;
}

/* Take a part: 0: nothing is left. What the word says is the other process's, too. */
static int take(uint64_t *word, uint64_t bytes, int is_target, struct part *part)
{
    uint64_t all = pages_of(bytes), was = __atomic_load_n(word, __ATOMIC_RELAXED), now, n;
    uint64_t front, back;
    do {
        front = was & UINT32_MAX;
        back = was >> ENDS;
        if (front + back >= all)
            return 0;
        n = pages_to_take(all - front - back, is_target, !is_target && front > 0 && back == 0);
        now = is_target ? was + (n << ENDS) : was + n;
        /* says nothing of the memory: that is known by the cell's state */
    } while (!__atomic_compare_exchange_n(word, &was, now, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    part->at = (is_target ? all - back - n : front) * WDL_JOINT_PAGE;
    part->bytes = least(n * WDL_JOINT_PAGE, bytes - part->at);
    return 1;
}

/* --- the origin ------------------------------------------------------------------------------- */

/* Where ranks expose memory while they access others' each is likely to have copies of its own:
 * one that comes late to another's takes parts whose lines are in the wrong cache. (Both put 256
 * KiB and fence: 11.6 us, 14.3 so.) */
int wdl_joint_is_mutual(const struct wdl_win *win)
{
    int state = win->epoch.access_state;
    return state == WDL_ACCESS_FENCE_ISSUED || state == WDL_ACCESS_FENCE_GRANTED ||
           win->epoch.expose_state != WDL_EXPOSE_NONE;
}

int wdl_joint_takes(const struct wdl_win *win, int rank, const struct wdl_win_control *control,
                    uint64_t bytes)
{
    return bytes >= WDL_JOINT_LEAST && pages_of(bytes) <= UINT32_MAX && win->mailbox.on &&
           !win->mailbox.joint_refused && !wdl_joint_is_mutual(win) &&
           wdl_mail_is_attended(control) && !wdl_mail_is_crowded(win, control) &&
           !wdl_mail_is_away_as_before(win, rank, WDL_MAIL_JOINTS, control);
}

static int fits(const struct wdl_rma_args *args)
{
    return args->origin.contig && args->remote.contig && args->origin.bytes >= args->remote.bytes;
}

/* Our parts, until nothing is left. */
static int copy(struct wdl_win *win, const struct wdl_rma_args *args, struct wdl_mail *mail,
                uint64_t at)
{
    char *here = (char *) args->origin.addr + args->origin.lo;
    struct part part;
    int status = WDL_OK;
    while (status == WDL_OK && take(&mail->joint.taken, args->remote.bytes, 0, &part)) {
        struct wdl_piece near = {here + part.at, part.bytes};
        struct wdl_piece far = {(char *) (uintptr_t) (at + part.at), part.bytes};
        status = win->params.copy(win->params.ctx, args->target, args->kind == WDL_RMA_PUT, &near,
                                  1, &far, 1);
    }
    return status;
}

static void fill(const struct wdl_win *win, struct wdl_mail *mail, const struct wdl_rma_args *args,
                 uint64_t at)
{
    mail->origin = (uint32_t) win->params.rank;
    mail->kind = WDL_MAIL_JOINT;
    mail->rop = args->kind == WDL_RMA_PUT;
    mail->is_rows = 0;
    mail->disp = (int64_t) at;
    mail->joint = (struct wdl_mail_joint){
        .from = (uint64_t) (uintptr_t) args->origin.addr + (uint64_t) args->origin.lo,
        .bytes = args->remote.bytes
    };
}

int wdl_joint_is_over(struct wdl_win *win, struct wdl_mail *mail, int *good)
{
    *good = 1;
    if (wdl_mail_swap(mail, WDL_MAIL_POSTED, WDL_MAIL_FREE))
        return 1;
    if (wdl_mail_look(mail) != WDL_MAIL_DONE)
        return 0;
    *good = mail->status == WDL_OK;
    win->mailbox.joint_refused |= !*good;
    wdl_mail_give_back(win, mail);
    return 1;
}

int wdl_joint_op(struct wdl_win *win, const struct wdl_rma_args *args,
                 struct wdl_win_control *control, uint64_t at)
{
    struct wdl_mail *mail;
    int good;
    if (!fits(args) || !wdl_joint_takes(win, args->target, control, args->remote.bytes) ||
        wdl_mailbox_under_way(win) ||
        !wdl_mail_is_expected(win, args->target, WDL_MAIL_JOINTS, control, args->remote.bytes) ||
        (mail = wdl_mail_get(win, control)) == NULL)
        return WDL_ERR_UNSUPPORTED;
    at += (uint64_t) args->remote.lo;
    fill(win, mail, args, at);
    wdl_mail_set(mail, WDL_MAIL_POSTED);
    int status = copy(win, args, mail, at);
    int came = __atomic_load_n(&mail->joint.taken, __ATOMIC_RELAXED) >> ENDS != 0;
    if (came)
        wdl_mail_came(win, args->target, WDL_MAIL_JOINTS);
    else
        wdl_mail_missed(win, args->target, WDL_MAIL_JOINTS);
    if (wdl_joint_is_over(win, mail, &good))
        return good && status == WDL_OK ? WDL_OK : WDL_ERR_UNSUPPORTED;
    wdl_mail_under_way(win, mail, args);
    win->mailbox.began_ns = 0;  /* who asked (wdl_mail_not_handed) takes the time of our parts */
    win->mailbox.joint = status == WDL_OK ? WDL_JOINT_GOOD : WDL_JOINT_AGAIN;
    return WDL_OK;
}

/* --- the target ------------------------------------------------------------------------------- */

int wdl_joint_serve(const struct wdl_win *win, struct wdl_mail *mail, const struct wdl_mail *asked,
                    size_t *moved)
{
    uint64_t at = (uint64_t) asked->disp, bytes = asked->joint.bytes;
    struct part part;
    if (!win->params.copy || asked->origin == (uint32_t) win->params.rank ||
        asked->origin >= (uint32_t) win->params.size)
        return WDL_ERR_PROTO;
    if (bytes == 0 || bytes > INT64_MAX || pages_of(bytes) > UINT32_MAX ||
        !wdl_win_exposes(win, at, 0, (int64_t) bytes))
        return WDL_ERR_RANGE;
    if (!take(&mail->joint.taken, bytes, 1, &part))
        return WDL_OK;
    struct wdl_piece here = {(char *) (uintptr_t) (at + part.at), part.bytes};
    struct wdl_piece there = {(char *) (uintptr_t) (asked->joint.from + part.at), part.bytes};
    int status = win->params.copy(win->params.ctx, (int) asked->origin, !asked->rop, &here, 1,
                                  &there, 1);
    *moved += part.bytes;
    return status == WDL_OK ? WDL_AGAIN : status;
}
