/* Part of Windlass. See COPYRIGHT in the top-level directory. Long copies by both processes
 * (joint.h). */
#include "mpid/rma/joint.h"
#include "mpid/rma/mail.h"
#include "mpid/rma/rows.h"

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

/* What mail->joint says, and is_rows. */
static void post(const struct wdl_win *win, struct wdl_mail *mail, int put, uint64_t at)
{
    mail->origin = (uint32_t) win->params.rank;
    mail->kind = WDL_MAIL_JOINT;
    mail->rop = (uint8_t) put;
    mail->disp = (int64_t) at;
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
    mail->is_rows = 0;
    mail->joint = (struct wdl_mail_joint){
        .from = (uint64_t) (uintptr_t) args->origin.addr + (uint64_t) args->origin.lo,
        .bytes = args->remote.bytes
    };
    post(win, mail, args->kind == WDL_RMA_PUT, at);
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

static uint64_t bytes_of(const struct wdl_joint *joint)
{
    return joint->far.bytes * joint->far.count;
}

/* From the first byte of any of them to the last one. */
static struct wdl_piece span_of(const struct wdl_rows *rows)
{
    int64_t last = (int64_t) (rows->count - 1) * rows->stride;
    return (struct wdl_piece){rows->base + (last < 0 ? last : 0),
                              (size_t) (last < 0 ? -last : last) + rows->bytes};
}

static int overlap(const struct wdl_rows *a, const struct wdl_rows *b)
{
    struct wdl_piece one = span_of(a), other = span_of(b);
    uintptr_t at = (uintptr_t) one.base, from = (uintptr_t) other.base;
    return at - from < other.bytes || from - at < one.bytes;
}

static void copy_alone(struct wdl_win *win, const struct wdl_joint *joint, uint64_t at,
                       uint64_t bytes)
{
    const struct wdl_rows *far = &joint->far, *near = &joint->near;
    if (far->count == 1 && joint->put)
        wdl_quick_store_long(win, joint->rank, far->base + at, near->base + at, bytes);
    else if (far->count == 1)
        wdl_copy_long(near->base + at, far->base + at, bytes);
    for (uint64_t done = 0; far->count > 1 && done < bytes;) {
        struct wdl_rows there = wdl_rows_part(far, at + done, bytes - done);
        struct wdl_rows here = wdl_rows_part(near, at + done, bytes - done);
        wdl_rows_copy(joint->put ? &there : &here, joint->put ? &here : &there);
        done += there.bytes * there.count;
    }
}

static struct wdl_trial *mapped_trial(struct wdl_win *win, const struct wdl_joint *joint)
{
    int size = 63 - __builtin_clzll(bytes_of(joint) / WDL_JOINT_MAPPED);
    return &win->rma->mapped_trial[joint->far.count > 1][joint->put]
        [size < WDL_JOINT_SIZES ? size : WDL_JOINT_SIZES - 1];
}

/* If anybody wants to know. */
static void mapped_took(struct wdl_win *win, const struct wdl_joint *joint, int way,
                        uint64_t began_ns)
{
    if (began_ns)
        wdl_trial_took(mapped_trial(win, joint), way, wdl_win_now_ns(win) - began_ns);
}

static int mapped_settle(struct wdl_win *win, const struct wdl_joint *joint)
{
    struct wdl_mailbox *box = &win->mailbox;
    int good;
    if (!wdl_joint_is_over(win, box->mapped, &good))
        return WDL_AGAIN;
    box->mapped = NULL;
    if (!good)
        copy_alone(win, joint, 0, bytes_of(joint));
    mapped_took(win, joint, BOTH, box->mapped_ns);
    return WDL_OK;
}

static int mapped_by_both(struct wdl_win *win, struct wdl_mail *mail,
                          const struct wdl_joint *joint)
{
    struct part part;
    struct wdl_win_control *control;
    const char *base = win->params.map(win->params.ctx, joint->rank, &control);
    win->mailbox.mapped = mail;
    mail->is_rows = joint->far.count > 1;
    mail->bytes = (uint32_t) joint->far.bytes;
    mail->joint = (struct wdl_mail_joint){.from = (uint64_t) (uintptr_t) joint->near.base,
                                          .bytes = bytes_of(joint),
                                          .stride = (int32_t) joint->far.stride,
                                          .from_stride = (int32_t) joint->near.stride};
    post(win, mail, joint->put, (uint64_t) (joint->far.base - base));
    while (take(&mail->joint.taken, bytes_of(joint), 0, &part))
        copy_alone(win, joint, part.at, part.bytes);
    note_coming(win, joint->rank, mail);
    return mapped_settle(win, joint);
}

/* Can a cell say where the blocks are? */
static int is_said(const struct wdl_rows *rows)
{
    return rows->count == 1 || (rows->bytes <= UINT32_MAX && rows->stride >= INT32_MIN &&
                                rows->stride <= INT32_MAX);
}

/* Is the target to be asked? */
static int mapped_takes(struct wdl_win *win, const struct wdl_joint *joint,
                        const struct wdl_win_control *control)
{
    return !win->mailbox.mapped && may_ask(win, control, bytes_of(joint)) &&
           is_said(&joint->far) && is_said(&joint->near) && !overlap(&joint->far, &joint->near) &&
           wdl_mail_is_expected(win, joint->rank, WDL_MAIL_JOINTS, control, bytes_of(joint));
}

int wdl_joint_blocks(struct wdl_win *win, const struct wdl_joint *joint, size_t *begun)
{
    struct wdl_win_control *control = NULL;
    struct wdl_mail *mail;
    uint64_t began_ns = 0;
    int way = ALONE;
    if (*begun)
        return mapped_settle(win, joint);
    if (wdl_trial_is_settled(mapped_trial(win, joint), ALONE)) {
        copy_alone(win, joint, 0, bytes_of(joint));
        return WDL_OK;
    }
    if (win->mailbox.has && win->params.copy_mapped && joint->rank != win->params.rank)
        (void) win->params.map(win->params.ctx, joint->rank, &control);
    if (control && mapped_takes(win, joint, control)) {
        struct wdl_trial *trial = mapped_trial(win, joint);
        way = wdl_trial_way(trial);
        began_ns = trial->clock ? wdl_win_now_ns(win) : 0;
    }
    if (way == BOTH && (mail = wdl_mail_get(win, control)) != NULL) {
        win->mailbox.mapped_ns = began_ns;
        *begun = 1;
        return mapped_by_both(win, mail, joint);
    }
    if (control)
        wdl_mail_visit(win, control);
    copy_alone(win, joint, 0, bytes_of(joint));
    mapped_took(win, joint, way, began_ns);
    return WDL_OK;
}

int wdl_joint_mapped(struct wdl_win *win, int put, int rank, char *at, void *local, size_t bytes,
                     size_t *begun)
{
    const struct wdl_joint joint = {put, rank, {at, 0, bytes, 1}, {local, 0, bytes, 1}};
    return wdl_joint_blocks(win, &joint, begun);
}

/* --- the target ------------------------------------------------------------------------------- */

wdl_copy_fn *wdl_joint_copier(const struct wdl_win *win, const struct wdl_mail *asked)
{
    if (asked->origin == (uint32_t) win->params.rank ||
        asked->origin >= (uint32_t) win->params.size)
        return NULL;
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

/* The blocks that are meant, or one piece: ours are where the cell says, in memory we have. 0: they
 * are not, or no blocks. (What it says of the origin's is the system's to judge.) */
static int blocks_of(const struct wdl_win *win, const struct wdl_mail *asked,
                     struct wdl_rows *here_out)
{
    const struct wdl_mail_joint *joint = &asked->joint;
    uint64_t block = asked->is_rows ? asked->bytes : joint->bytes;
    int64_t last;
    if (joint->bytes == 0 || joint->bytes > INT64_MAX || pages_of(joint->bytes) > UINT32_MAX ||
        block == 0 || joint->bytes % block != 0)
        return 0;
    int64_t count = (int64_t) (joint->bytes / block);
    if (__builtin_mul_overflow(count - 1, (int64_t) joint->stride, &last))
        return 0;
    uint64_t below = last < 0 ? 0 - (uint64_t) last : 0, above = last < 0 ? 0 : (uint64_t) last;
    char *memory = wdl_joint_memory(win, (uint64_t) asked->disp - below, below + above + block);
    if (!memory)
        return 0;
    *here_out = (struct wdl_rows){memory + below, joint->stride, block, (size_t) count};
    return 1;
}

/* The bytes [at, at + bytes) of them. */
static int copy_blocks(const struct wdl_win *win, const struct wdl_mail *asked,
                       const struct wdl_rows *here, uint64_t at, uint64_t bytes)
{
    enum { MOST = 64 };
    struct wdl_piece near[MOST], far[MOST];
    uint64_t stride = (uint64_t) (int64_t) asked->joint.from_stride;
    int status = WDL_OK;
    for (uint64_t done = 0; done < bytes && status == WDL_OK;) {
        int n = 0;
        for (; n < MOST && done < bytes; n++) {
            uint64_t row = (at + done) / here->bytes, inside = (at + done) % here->bytes;
            uint64_t there = asked->joint.from + row * stride + inside;
            size_t piece = least(here->bytes - inside, bytes - done);
            near[n] = (struct wdl_piece){here->base + (int64_t) row * here->stride + inside, piece};
            far[n] = (struct wdl_piece){(char *) (uintptr_t) there, piece};
            done += piece;
        }
        status = wdl_joint_copier(win, asked)(win->params.ctx, (int) asked->origin, !asked->rop,
                                              near, n, far, n);
    }
    return status;
}

int wdl_joint_serve(const struct wdl_win *win, struct wdl_mail *mail, const struct wdl_mail *asked,
                    size_t *moved)
{
    struct wdl_rows here;
    struct part part;
    if (!wdl_joint_copier(win, asked))
        return WDL_ERR_PROTO;
    if (!blocks_of(win, asked, &here))
        return WDL_ERR_RANGE;
    if (!take(&mail->joint.taken, asked->joint.bytes, 1, &part))
        return WDL_OK;
    int status = copy_blocks(win, asked, &here, part.at, part.bytes);
    *moved += part.bytes;
    return status == WDL_OK ? WDL_AGAIN : status;
}
