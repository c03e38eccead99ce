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

static int may_ask(const struct wdl_win *win, const struct wdl_win_control *control,
                   uint64_t bytes)
{
    return pages_of(bytes) <= UINT32_MAX && !win->mailbox.joint_refused &&
           !wdl_joint_is_mutual(win) && wdl_mail_is_attended(control) &&
           !wdl_mail_is_crowded(win, control);
}

int wdl_joint_takes(const struct wdl_win *win, int rank, const struct wdl_win_control *control,
                    uint64_t bytes)
{
    return bytes >= WDL_JOINT_LEAST && win->mailbox.on && may_ask(win, control, bytes) &&
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

static void post(const struct wdl_win *win, struct wdl_mail *mail, int put, uint64_t at,
                 const char *here, uint64_t bytes)
{
    mail->origin = (uint32_t) win->params.rank;
    mail->kind = WDL_MAIL_JOINT;
    mail->rop = (uint8_t) put;
    mail->is_rows = 0;
    mail->disp = (int64_t) at;
    mail->joint = (struct wdl_mail_joint){.from = (uint64_t) (uintptr_t) here, .bytes = bytes};
    wdl_mail_set(mail, WDL_MAIL_POSTED);
}

/* Our parts are copied: has the target come for any? */
static void note_coming(struct wdl_win *win, int rank, const struct wdl_mail *mail)
{
    if (__atomic_load_n(&mail->joint.taken, __ATOMIC_RELAXED) >> ENDS != 0)
        wdl_mail_came(win, rank, WDL_MAIL_JOINTS);
    else
        wdl_mail_missed(win, rank, WDL_MAIL_JOINTS);
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
    post(win, mail, args->kind == WDL_RMA_PUT, at, (char *) args->origin.addr + args->origin.lo,
         args->remote.bytes);
    int status = copy(win, args, mail, at);
    note_coming(win, args->target, mail);
    if (wdl_joint_is_over(win, mail, &good))
        return good && status == WDL_OK ? WDL_OK : WDL_ERR_UNSUPPORTED;
    wdl_mail_under_way(win, mail, args);
    win->mailbox.began_ns = 0;  /* who asked (wdl_mail_not_handed) takes the time of our parts */
    win->mailbox.joint = status == WDL_OK ? WDL_JOINT_GOOD : WDL_JOINT_AGAIN;
    return WDL_OK;
}

/* --- the origin, on mapped memory ------------------------------------------------------------- */

enum { BOTH, ALONE };           /* the ways of a trial */

static void copy_alone(struct wdl_win *win, int put, int rank, char *at, char *here,
                       uint64_t bytes)
{
    if (put)
        wdl_quick_store_long(win, rank, at, here, bytes);
    else
        wdl_copy_long(here, at, bytes);
}

static struct wdl_trial *mapped_trial(struct wdl_win *win, int put, uint64_t bytes)
{
    int size = 63 - __builtin_clzll(bytes / WDL_JOINT_MAPPED);
    return &win->rma->mapped_trial[put][size < WDL_JOINT_SIZES ? size : WDL_JOINT_SIZES - 1];
}

/* If anybody wants to know. */
static void mapped_took(struct wdl_win *win, int put, uint64_t bytes, int way, uint64_t began_ns)
{
    if (began_ns)
        wdl_trial_took(mapped_trial(win, put, bytes), way, wdl_win_now_ns(win) - began_ns);
}

static int mapped_settle(struct wdl_win *win, int put, int rank, char *at, char *here,
                         uint64_t bytes)
{
    struct wdl_mailbox *box = &win->mailbox;
    int good;
    if (!wdl_joint_is_over(win, box->mapped, &good))
        return WDL_AGAIN;
    box->mapped = NULL;
    if (!good)
        copy_alone(win, put, rank, at, here, bytes);
    mapped_took(win, put, bytes, BOTH, box->mapped_ns);
    return WDL_OK;
}

static int mapped_by_both(struct wdl_win *win, struct wdl_mail *mail, int put, int rank, char *at,
                          char *here, uint64_t bytes)
{
    struct part part;
    struct wdl_win_control *control;
    const char *base = win->params.map(win->params.ctx, rank, &control);
    win->mailbox.mapped = mail;
    post(win, mail, put, (uint64_t) (at - base), here, bytes);
    while (take(&mail->joint.taken, bytes, 0, &part))
        copy_alone(win, put, rank, at + part.at, here + part.at, part.bytes);
    note_coming(win, rank, mail);
    return mapped_settle(win, put, rank, at, here, bytes);
}

/* Is the target to be asked? */
static int mapped_takes(struct wdl_win *win, int rank, const struct wdl_win_control *control,
                        const char *at, const char *here, uint64_t bytes)
{
    uintptr_t to = (uintptr_t) at, of = (uintptr_t) here;
    return !win->mailbox.mapped && may_ask(win, control, bytes) &&
           to - of >= bytes && of - to >= bytes &&
           wdl_mail_is_expected(win, rank, WDL_MAIL_JOINTS, control, bytes);
}

int wdl_joint_mapped(struct wdl_win *win, int put, int rank, char *at, void *local, uint64_t bytes,
                     size_t *begun)
{
    struct wdl_win_control *control = NULL;
    struct wdl_mail *mail;
    char *here = local;
    uint64_t began_ns = 0;
    int way = ALONE;
    if (*begun)
        return mapped_settle(win, put, rank, at, here, bytes);
    if (wdl_trial_is_settled(mapped_trial(win, put, bytes), ALONE)) {
        copy_alone(win, put, rank, at, here, bytes);
        return WDL_OK;
    }
    if (win->mailbox.has && win->params.copy_mapped && rank != win->params.rank)
        (void) win->params.map(win->params.ctx, rank, &control);
    if (control && mapped_takes(win, rank, control, at, here, bytes)) {
        struct wdl_trial *trial = mapped_trial(win, put, bytes);
        way = wdl_trial_way(trial);
        began_ns = trial->clock ? wdl_win_now_ns(win) : 0;
    }
    if (way == BOTH && (mail = wdl_mail_get(win, control)) != NULL) {
        win->mailbox.mapped_ns = began_ns;
        *begun = 1;
        return mapped_by_both(win, mail, put, rank, at, here, bytes);
    }
    if (control)
        wdl_mail_visit(win, control);
    copy_alone(win, put, rank, at, here, bytes);
    mapped_took(win, put, bytes, way, began_ns);
    return WDL_OK;
}

/* --- the target ------------------------------------------------------------------------------- */

wdl_copy_fn *wdl_joint_copier(const struct wdl_win *win)
{
    return win->params.copy_mapped ? win->params.copy_mapped : win->params.copy;
}

/* What is asked for, if it is ours: by its address, and mapped memory, whose address here its
 * origin does not know, by its place in the window. */
char *wdl_joint_memory(const struct wdl_win *win, uint64_t at, uint64_t bytes)
{
    const struct wdl_win_params *params = &win->params;
    if (!params->copy_mapped)
        return wdl_win_exposes(win, at, 0, (int64_t) bytes) ? (char *) (uintptr_t) at : NULL;
    return at <= params->bytes && bytes <= params->bytes - at ? (char *) params->base + at : NULL;
}

int wdl_joint_serve(const struct wdl_win *win, struct wdl_mail *mail, const struct wdl_mail *asked,
                    size_t *moved)
{
    uint64_t at = (uint64_t) asked->disp, bytes = asked->joint.bytes;
    char *memory;
    struct part part;
    if (!wdl_joint_copier(win) || asked->origin == (uint32_t) win->params.rank ||
        asked->origin >= (uint32_t) win->params.size)
        return WDL_ERR_PROTO;
    if (bytes == 0 || bytes > INT64_MAX || pages_of(bytes) > UINT32_MAX ||
        !(memory = wdl_joint_memory(win, at, bytes)))
        return WDL_ERR_RANGE;
    if (!take(&mail->joint.taken, bytes, 1, &part))
        return WDL_OK;
    struct wdl_piece here = {memory + part.at, part.bytes};
    struct wdl_piece there = {(char *) (uintptr_t) (asked->joint.from + part.at), part.bytes};
    int status = wdl_joint_copier(win)(win->params.ctx, (int) asked->origin, !asked->rop, &here, 1,
                                       &there, 1);
    *moved += part.bytes;
    return status == WDL_OK ? WDL_AGAIN : status;
}
