/* Part of Windlass. See COPYRIGHT in the top-level directory. Short operations handed over in
 * memory a node shares (mailbox.h). */
#include <string.h>
#include "mpid/rma/joint.h"
#include "mpid/rma/mail.h"
#include "mpid/rma/rows.h"
#include "mpid/rma/stream.h"

struct wdl_mail *wdl_mail_get(const struct wdl_win *win, struct wdl_win_control *control)
{
    struct wdl_mail *mail = &control->mail[win->params.node_index % WDL_WIN_MAILS];
    return wdl_mail_own(win) || wdl_mail_swap(mail, WDL_MAIL_FREE, WDL_MAIL_FILLING) ? mail : NULL;
}

/* The target's layout, if it is blocks evenly apart and the operation one for those. */
static int rows_of(const struct wdl_win *win, const struct wdl_rma_args *args,
                   struct wdl_rows *rows_out)
{
    const struct wdl_buf *remote = &args->remote;
    char *from = win->rma->stage;       /* any address */
    return args->kind <= WDL_RMA_ACC && args->op != WDL_ROP_NO_OP &&
           (remote->bytes > WDL_MAIL_BYTES || args->kind == WDL_RMA_ACC) &&
           remote->bytes <= WDL_MAIL_AREA &&
           wdl_rows_of(&win->proc->host, remote, from, remote->bytes, rows_out) &&
           rows_out->base == from &&
           (args->kind != WDL_RMA_ACC ||
            (!win->params.mapped_any && wdl_rows_have(rows_out, &args->element)));
}

/* Is all there is to it in one piece, or blocks evenly apart (*rows_out; else its count is 0), and
 * has room? */
static int fits(const struct wdl_win *win, const struct wdl_rma_args *args,
                struct wdl_rows *rows_out)
{
    static const size_t most[WDL_RMA_KINDS] = {
        [WDL_RMA_PUT] = WDL_MAIL_AREA, [WDL_RMA_GET] = WDL_MAIL_AREA, [WDL_RMA_ACC] = WDL_MAIL_AREA,
        [WDL_RMA_GET_ACC] = WDL_MAIL_AREA / 2, [WDL_RMA_CAS] = WDL_MAIL_BYTES / 2
    };
    const struct wdl_buf *remote = &args->remote, *in = &args->origin, *out = &args->result;
    size_t bytes = wdl_args_bytes(args);
    int reads = args->kind == WDL_RMA_GET_ACC || args->kind == WDL_RMA_CAS;
    rows_out->count = 0;
    if (!remote->contig)
        return in->bytes >= bytes && bytes <= win->rma->chunk_bytes &&
               !wdl_stream_blocks(win, args) && rows_of(win, args, rows_out);
    if (args->kind == WDL_RMA_GET_ACC && args->op == WDL_ROP_NO_OP)
        in = out;
    return bytes <= most[args->kind] && bytes <= win->rma->chunk_bytes && remote->lo == 0 &&
           in->contig && in->bytes >= bytes && (!reads || (out->contig && out->bytes >= bytes));
}

int wdl_mail_is_clear(const struct wdl_win *win, const struct wdl_target *t, int rank)
{
    return win->batched == 0 && wdl_target_is_quiet(win, t, rank);
}

static struct wdl_mail_past *past_of(struct wdl_mailbox *box, int rank, enum wdl_mail_use use)
{
    return &box->past[use][rank % WDL_MAIL_RANKS];
}

static enum wdl_mail_use use_of(int stream)
{
    return stream ? WDL_MAIL_STREAMS : WDL_MAIL_SHORTS;
}

/* Longer operations go to a target that is there by way of shared memory, or the system copies
 * them: twice and close, or once, with every page looked up. Which is faster differs between
 * machines. What would be a message instead is not compared: the target would do that, too. */
static int is_compared(const struct wdl_win *win, const struct wdl_rma_args *args)
{
    return args->kind <= WDL_RMA_GET_ACC && args->remote.bytes > WDL_BATCH_SHORT &&
           win->params.copy && (args->remote.contig || wdl_copy_takes(win, args));
}

static struct wdl_trial *trial_at(const struct wdl_win *win, int contig, enum wdl_rma_kind kind,
                                  uint64_t bytes)
{
    uint64_t n = bytes / WDL_BATCH_SHORT;
    int size = n > 1 ? 63 - __builtin_clzll(n) : 0;
    if (size > WDL_MAIL_SIZES - 1)
        size = WDL_MAIL_SIZES - 1;
    int alone = kind <= WDL_RMA_GET && bytes >= WDL_JOINT_LEAST && wdl_joint_is_mutual(win);
    return &win->rma->trial[!contig ? 1 : alone ? 2 : 0][kind][size];
}

void wdl_mail_trials_init(struct wdl_rma *rma)
{
    struct wdl_trial *all = &rma->trial[0][0][0], *end = all + sizeof(rma->trial) / sizeof(*all);
    for (struct wdl_trial *trial = all; trial < end; trial++) {
        size_t bytes = (size_t) WDL_BATCH_SHORT << (trial - all) % WDL_MAIL_SIZES;
        if (bytes > WDL_MAIL_AREA && bytes < WDL_STREAM_BYTES)
            trial->runs[WDL_MAIL_HANDED] = (uint16_t) (WDL_STREAM_BYTES / bytes);
    }
}

static struct wdl_trial *trial_of(const struct wdl_win *win, const struct wdl_rma_args *args)
{
    return trial_at(win, args->remote.contig && args->origin.contig, args->kind,
                    args->remote.bytes);
}

void wdl_mail_prompt(const struct wdl_win *win, const struct wdl_mail *mail)
{
    int streams = mail->kind == WDL_MAIL_STREAM;
    int puts = streams ? mail->rop != 0 : mail->kind == WDL_RMA_PUT;
    uint64_t bytes = streams ? mail->stream.bytes : mail->bytes;
    if (mail->is_rows || bytes <= WDL_BATCH_SHORT || (!streams && mail->kind > WDL_RMA_GET))
        return;
    struct wdl_trial *trial = trial_at(win, 1, puts ? WDL_RMA_PUT : WDL_RMA_GET, bytes);
    if (trial->best == WDL_MAIL_SYSTEM)
        wdl_trial_prompt(trial);
}

/* Who did not come is not asked before it has looked at its mail again. One that looks now and then
 * is asked seldom: it may be gone before it is waited for. */
static int is_expected(struct wdl_mail_past *past, const struct wdl_win_control *control,
                       uint64_t stream)
{
    uint64_t weight = 1 + stream / 16384;       /* the longer it takes, the less asking costs */
    int ask = past->pass < weight;
    past->pass = (uint8_t) (ask ? 0 : past->pass - weight);
    if (past->missed == 0)
        return ask;
    uint32_t before = past->looks;
    past->looks = __atomic_load_n(&control->looks, __ATOMIC_RELAXED);
    return ask && past->looks != before;
}

int wdl_mail_expected(struct wdl_win *win, const struct wdl_rma_args *args,
                      const struct wdl_win_control *control, uint64_t stream)
{
    struct wdl_mail_past *past = past_of(&win->mailbox, args->target, use_of(stream > 0));
    if (is_expected(past, control, stream))
        return 1;
    if (is_compared(win, args))
        wdl_trial_defer(trial_of(win, args));
    return 0;
}

void wdl_mail_visit(struct wdl_win *win, struct wdl_win_control *control)
{
    enum { SELDOM = 32 };
    if (wdl_mail_is_crowded(win, control) && ++win->mailbox.unseen % SELDOM != 0)
        return;
    struct wdl_mail *mail = &control->mail[win->params.node_index % WDL_WIN_MAILS];
    if (win->mailbox.has && wdl_mail_own(win) && mail != win->mailbox.mail)
        __atomic_store_n(&mail->visits, (uint8_t) (mail->visits + 1), __ATOMIC_RELAXED);
}

int wdl_mail_is_away(const struct wdl_win *win, int rank)
{
    return win->mailbox.past[WDL_MAIL_SHORTS][rank % WDL_MAIL_RANKS].missed > 0;
}

int wdl_mail_is_expected(struct wdl_win *win, int rank, enum wdl_mail_use use,
                         const struct wdl_win_control *control, uint64_t bytes)
{
    return is_expected(past_of(&win->mailbox, rank, use), control, bytes);
}

void wdl_mail_came(struct wdl_win *win, int rank, enum wdl_mail_use use)
{
    past_of(&win->mailbox, rank, use)->missed = 0;
}

void wdl_mail_missed(struct wdl_win *win, int rank, enum wdl_mail_use use)
{
    struct wdl_mail_past *past = past_of(&win->mailbox, rank, use);
    struct wdl_win_control *control = NULL;
    past->missed += past->missed < WDL_MAIL_MISSED;
    past->pass = (uint8_t) ((1 << past->missed) - 1);
    (void) win->params.map(win->params.ctx, rank, &control);
    if (control)
        past->looks = __atomic_load_n(&control->looks, __ATOMIC_RELAXED);
}

int wdl_mail_waits(struct wdl_win *win, int rank, int drained)
{
    struct wdl_mailbox *box = &win->mailbox;
    if (drained)
        box->waits = 0;
    else if (box->on && ++box->waits == WDL_MAIL_WAITS)
        wdl_mail_missed(win, rank, WDL_MAIL_SHORTS);
    return drained;
}

/* Our area as a buffer in one piece. */
static struct wdl_buf area_of(const struct wdl_win *win, size_t bytes)
{
    return (struct wdl_buf){.addr = wdl_mail_control(win)->area.data, .bytes = bytes, .contig = 1,
                            .hi = (int64_t) bytes};
}

static void fill(const struct wdl_win *win, struct wdl_mail *mail, const struct wdl_rma_args *args,
                 const struct wdl_rows *rows)
{
    const struct wdl_buf *from = &args->origin;
    size_t n = args->element.packed_bytes;
    mail->origin = (uint32_t) win->params.rank;
    mail->kind = (uint8_t) args->kind;
    mail->rop = (uint8_t) args->op;
    mail->bytes = (uint32_t) wdl_args_bytes(args);
    mail->host_type = args->element.host_type;
    mail->disp = args->disp;
    mail->is_rows = rows->count > 0;
    if (rows->count > 0) {
        mail->rows = (struct wdl_mail_rows){rows->stride, (uint32_t) rows->bytes,
                                            (uint32_t) rows->count};
        if (args->kind != WDL_RMA_GET) {
            struct wdl_buf area = area_of(win, mail->bytes);
            wdl_mapped_copy(win->rma, from, from->addr, &area, area.addr, mail->bytes);
        }
    } else if (args->kind == WDL_RMA_CAS) {
        memcpy(mail->data, args->compare, n);
        memcpy(mail->data + n, from->addr, n);
    } else if (wdl_mail_payload(mail) > 0) {
        char *data = wdl_mail_data(mail, mail->bytes, wdl_mail_control(win));
        wdl_bypass_copy(wdl_bypass_for(win, args->target), data + wdl_mail_payload_at(mail),
                        (const char *) from->addr + from->lo, wdl_mail_payload(mail));
    }
}

/* Is the system faster, but not by much, for what could be the epoch's last if it was handed over?
 * (As such it is not timed, since nobody waits for it.) */
static int had_better_be_last(const struct wdl_win *win, const struct wdl_rma_args *args,
                              const struct wdl_trial *trial)
{
    const uint32_t *ns = trial->ns;
    return args->kind == WDL_RMA_PUT && !trial->clock && trial->best == WDL_MAIL_SYSTEM &&
           ns[WDL_MAIL_SYSTEM] > ns[WDL_MAIL_HANDED] / 4 * 3 &&
           win->params.hints.combine != WDL_COMBINE_NEVER && wdl_pscw_is_only(win, args->target);
}

int wdl_mail_is_faster(struct wdl_win *win, const struct wdl_rma_args *args)
{
    win->rma->timed = NULL;
    win->rma->began_ns = 0;
    if (!is_compared(win, args))
        return 1;
    struct wdl_trial *trial = trial_of(win, args);
    int way = wdl_trial_way(trial);
    win->rma->began_ns = trial->clock ? wdl_win_now_ns(win) : 0;
    if (way == WDL_MAIL_HANDED || had_better_be_last(win, args, trial))
        return 1;
    win->rma->timed = trial;
    return 0;
}

/* Has it not come of late, nor looked since? */
static int is_away(const struct wdl_mail_past *past, const struct wdl_win_control *control)
{
    return past->missed > 0 && past->looks == __atomic_load_n(&control->looks, __ATOMIC_RELAXED);
}

int wdl_mail_is_in_vain(struct wdl_win *win, int rank, const struct wdl_win_control *control)
{
    struct wdl_mailbox *box = &win->mailbox;
    struct wdl_mail_past *past = past_of(box, rank, WDL_MAIL_SHORTS);
    if (!box->on || box->run > 0 || box->follows ||
        win->params.hints.combine == WDL_COMBINE_ALWAYS)
        return 0;
    if (!wdl_mail_is_crowded(win, control) && !is_away(past, control))
        return 0;
    past->pass = (uint8_t) (past->pass - (past->pass > 0));
    box->run = 1;
    win->rma->timed = NULL;
    return 1;
}

int wdl_mail_is_away_as_before(const struct wdl_win *win, int rank, enum wdl_mail_use use,
                               const struct wdl_win_control *control)
{
    return is_away(&win->mailbox.past[use][rank % WDL_MAIL_RANKS], control);
}

int wdl_mail_is_still_away(struct wdl_win *win, int rank, const struct wdl_win_control *control,
                           enum wdl_rma_kind kind, uint64_t bytes)
{
    uint64_t stream = bytes > WDL_MAIL_AREA ? bytes : 0;
    struct wdl_mail_past *past = past_of(&win->mailbox, rank, use_of(stream > 0));
    if (!is_away(past, control))
        return 0;
    (void) is_expected(past, control, stream);  /* it is not */
    wdl_trial_defer(trial_at(win, 1, kind, bytes));
    return 1;
}

int wdl_mail_stands_back(struct wdl_win *win, const struct wdl_win_control *control,
                         enum wdl_rma_kind kind, uint64_t bytes)
{
    win->rma->timed = NULL;
    if (!win->mailbox.on || wdl_mail_is_crowded(win, control))
        return 1;
    struct wdl_trial *trial = trial_at(win, 1, kind, bytes);
    if (wdl_trial_is_settled(trial, WDL_MAIL_SYSTEM))
        return 1;
    if (wdl_trial_next(trial) != WDL_MAIL_SYSTEM)
        return 0;
    (void) wdl_trial_way(trial);
    if (trial->clock) {
        win->rma->timed = trial;
        win->rma->began_ns = wdl_win_now_ns(win);
    }
    return 1;
}

int wdl_mail_not_handed(struct wdl_win *win, int status)
{
    struct wdl_mailbox *box = &win->mailbox;
    struct wdl_trial *trial = win->rma->timed;
    win->rma->timed = NULL;
    if (!trial || !win->rma->began_ns || status != WDL_OK)
        return status;
    uint64_t ns = wdl_win_now_ns(win) - win->rma->began_ns;
    if (box->row_clock && trial == box->row_system) {
        box->row_timed = trial;
        box->row_ns = ns;
    } else {
        wdl_trial_took(trial, WDL_MAIL_SYSTEM, ns);
    }
    return status;
}

/* It is in a cell no longer. */
static void leave(struct wdl_win *win)
{
    win->mailbox.mail = NULL;
    win->mailbox.joint = WDL_JOINT_NONE;
    if (win->mailbox.stream)
        win->rma->streaming = 0;
    win->mailbox.stream = NULL;
}

/* The operation under way is over. */
static void finish(struct wdl_win *win, int status)
{
    struct wdl_mailbox *box = &win->mailbox;
    const struct wdl_host *host = &win->proc->host;
    leave(win);
    box->withdrawn = 0;
    if (box->tells)
        __atomic_fetch_add(&box->tells->completed, 1,
                           __ATOMIC_SEQ_CST);   /* pairs with the load in wdl_win_wait */
    box->tells = NULL;
    wdl_args_types(&box->args, host->ops->type_drop, host->ctx);
    if (box->args.request)
        host->ops->request_complete(host->ctx, box->args.request, status);
    else if (wdl_status_is_error(status))
        wdl_win_fail(win, status);
}

/* Is what is under way a put that lies in the ring as it is, for whoever copies it; and of this
 * epoch, not the last one of an earlier one? */
static int is_in_ring(const struct wdl_win *win)
{
    const struct wdl_mailbox *box = &win->mailbox;
    return box->stream && !box->tells && box->args.kind == WDL_RMA_PUT && box->args.remote.contig &&
           win->params.copy && win->params.hints.combine != WDL_COMBINE_NEVER &&
           wdl_stream_kept(win);
}

int wdl_mailbox_may_be_last(const struct wdl_win *win)
{
    return win->mailbox.holds || (!win->mailbox.began_ns && is_in_ring(win));
}

int wdl_mailbox_last(struct wdl_win *win, struct wdl_win_control *control)
{
    struct wdl_mailbox *box = &win->mailbox;
    if (box->holds) {
        box->holds = 0;
        wdl_mail_set(box->mail, WDL_MAIL_LAST);
    } else if (!wdl_mail_swap(box->mail, WDL_MAIL_POSTED, WDL_MAIL_LAST) &&
               !wdl_mail_swap(box->mail, WDL_MAIL_TAKEN, WDL_MAIL_TAKEN_LAST)) {
        return 0;
    }
    box->tells = control;
    box->began_ns = 0;          /* it is seen to be over at any time */
    box->looks = 0;
    return 1;
}

/* A last one by the system: its epoch is over, and the user's buffer his again. */
static int copy_kept(struct wdl_win *win)
{
    const struct wdl_mailbox *box = &win->mailbox;
    const struct wdl_rma_args *args = &box->args;
    uint64_t bytes = args->remote.bytes;
    struct wdl_win_rank info;
    win->params.rank_info(win->params.ctx, args->target, &info);
    uint64_t at = wdl_rank_place(&info, args->disp) + (uint64_t) args->remote.lo;
    char *from = box->stream ? wdl_stream_kept(win) :
        wdl_mail_data(box->mail, bytes, wdl_mail_control(win));
    struct wdl_piece here = {from, bytes}, there = {(char *) (uintptr_t) at, bytes};
    int status = wdl_copy_exposed(win, args->target, box->tells, at, bytes);
    return status != WDL_OK ? status :
        win->params.copy(win->params.ctx, args->target, 1, &here, 1, &there, 1);
}

/* Its target has no way into the ring. */
static void last_refused(struct wdl_win *win)
{
    int status = copy_kept(win);
    if (status == WDL_AGAIN)
        return;                 /* to be looked at again */
    wdl_mail_give_back(win, win->mailbox.mail);
    wdl_mail_missed(win, win->mailbox.args.target, WDL_MAIL_STREAMS);
    win->stats.ops_copied++;
    finish(win, status);
}

static void answered(struct wdl_win *win)
{
    struct wdl_mailbox *box = &win->mailbox;
    struct wdl_mail *mail = box->mail;
    const struct wdl_rma_args *args = &box->args;
    const struct wdl_buf *into = args->kind == WDL_RMA_GET ? &args->origin : &args->result;
    int status = mail->status < WDL_STATUS_COUNT ? mail->status : WDL_ERR_PROTO;
    if (status == WDL_ERR_UNSUPPORTED && box->tells && box->stream) {
        last_refused(win);
        return;
    }
    if (status == WDL_OK)
        box->tells = NULL;      /* it has counted it */
    if (box->bag.posted) {
        past_of(box, args->target, WDL_MAIL_SHORTS)->missed = 0;
        wdl_mail_give_back(win, mail);
        leave(win);
        wdl_bag_answered(win, status);
        return;
    }
    if (box->train.ring) {
        past_of(box, args->target, WDL_MAIL_SHORTS)->missed = 0;
        wdl_mail_give_back(win, mail);
        leave(win);
        box->withdrawn = !wdl_train_answered(win);
        if (!box->withdrawn)
            finish(win, WDL_OK);
        return;
    }
    int stream = box->stream != NULL, rows = !stream && mail->is_rows;
    size_t bytes = wdl_args_bytes(args);
    if (stream && status == WDL_OK && !wdl_stream_is_through(win))
        status = WDL_ERR_PROTO;
    if (status == WDL_OK && stream && args->kind == WDL_RMA_GET_ACC)
        wdl_stream_move(win);   /* the last results */
    if (status == WDL_OK && rows && args->kind == WDL_RMA_GET) {
        struct wdl_buf area = area_of(win, bytes);
        wdl_mapped_copy(win->rma, &area, area.addr, into, into->addr, bytes);
    } else if (status == WDL_OK && !stream && args->kind != WDL_RMA_PUT &&
               args->kind != WDL_RMA_ACC) {
        memcpy((char *) into->addr + into->lo, wdl_mail_data(mail, bytes, wdl_mail_control(win)),
               bytes);
    }
    wdl_mail_give_back(win, mail);
    if (status != WDL_OK && !box->tells && (rows || (stream && !wdl_stream_has_folded(win)))) {
        /* what is wrong is found the other way */
        if (stream)
            wdl_mail_missed(win, args->target, WDL_MAIL_STREAMS);
        leave(win);
        box->withdrawn = 1;
        return;
    }
    past_of(box, args->target, use_of(stream))->missed = 0;
    if (box->began_ns)
        wdl_trial_took(trial_of(win, args), WDL_MAIL_HANDED, wdl_win_now_ns(win) - box->began_ns);
    win->stats.ops_mailed++;
    finish(win, status);
}

void wdl_mail_post(struct wdl_win *win, struct wdl_mail *mail, const struct wdl_rma_args *args)
{
    if (mail)
        wdl_mail_set(mail, WDL_MAIL_POSTED);
    else
        win->mailbox.withdrawn = 1;
    wdl_mail_under_way(win, mail, args);
}

void wdl_mail_under_way(struct wdl_win *win, struct wdl_mail *mail,
                        const struct wdl_rma_args *args)
{
    struct wdl_mailbox *box = &win->mailbox;
    const struct wdl_host *host = &win->proc->host;
    wdl_args_types(args, host->ops->type_hold, host->ctx);
    box->mail = mail;
    box->args = *args;
    box->stamp = box->bag.posted ? box->bag.stamp : win->stamp;
    box->looks = 0;
    box->began_ns = win->rma->began_ns && is_compared(win, args) ? win->rma->began_ns : 0;
}

/* 1: it is withdrawn, 0: it has been taken. */
static int withdraw(struct wdl_win *win)
{
    struct wdl_mailbox *box = &win->mailbox;
    /* only a look, while its target is at it: that wants the line, too */
    if (wdl_mail_look(box->mail) != WDL_MAIL_POSTED ||
        !wdl_mail_swap(box->mail, WDL_MAIL_POSTED, WDL_MAIL_FREE))
        return 0;
    leave(win);
    if (box->bag.posted)
        wdl_bag_answered(win, WDL_ERR_UNSUPPORTED);
    else
        box->withdrawn = 1;
    return 1;
}

/* What was withdrawn goes the way it would have gone. */
static int begin_again(struct wdl_win *win)
{
    struct wdl_mailbox *box = &win->mailbox;
    int on = box->on;
    if (box->train.ring) {
        if (wdl_train_rest(win) != WDL_OK)
            return WDL_AGAIN;
        finish(win, WDL_OK);
        return WDL_OK;
    }
    uint64_t stamp = win->stamp;
    box->on = 0;
    win->stamp = box->stamp;    /* it was issued then */
    int status = wdl_rma_op(win, &box->args);
    win->stamp = stamp;
    box->on = on;
    if (status == WDL_AGAIN)
        return WDL_AGAIN;
    if (status == WDL_OK)
        box->args.request = NULL; /* whoever has taken it completes it */
    finish(win, status);
    return WDL_OK;
}

/* A stream's target may be filling in one of its own; one that has begun is dear to begin again. */
static int looks_enough(const struct wdl_mailbox *box)
{
    if (!box->stream)
        return WDL_MAIL_LOOKS;
    return box->seen != box->begin ? 8 * WDL_MAIL_LOOKS : wdl_mail_patience(box->args.remote.bytes);
}

/* Both have taken all there was. */
static void joint_settle(struct wdl_win *win)
{
    struct wdl_mailbox *box = &win->mailbox;
    int was_good = box->joint == WDL_JOINT_GOOD, good;
    if (!wdl_joint_is_over(win, box->mail, &good))
        return;
    leave(win);
    box->withdrawn = !was_good || !good;        /* what is wrong is found the other way */
    if (box->withdrawn)
        return;
    win->stats.ops_copied++;
    finish(win, WDL_OK);
}

/* One whose target has not come. What the system refuses waits for it. */
static void copy_last(struct wdl_win *win)
{
    struct wdl_mailbox *box = &win->mailbox;
    struct wdl_mail *mail = box->mail;
    if (wdl_mail_look(mail) != WDL_MAIL_LAST ||
        !wdl_mail_swap(mail, WDL_MAIL_LAST, WDL_MAIL_FILLING))
        return;
    int status = copy_kept(win);
    if (status == WDL_AGAIN || status == WDL_ERR_UNSUPPORTED) {
        wdl_mail_set(mail, WDL_MAIL_LAST);
        box->looks = 0;
        return;
    }
    wdl_mail_set(mail, WDL_MAIL_FREE);
    wdl_mail_missed(win, box->args.target, use_of(box->stream != NULL));
    win->stats.ops_copied++;
    finish(win, status);
}

/* Nobody has come for a long time. */
static void give_up(struct wdl_win *win)
{
    struct wdl_mailbox *box = &win->mailbox;
    int stream = box->stream != NULL;
    if (box->train.ring && wdl_train_goes_on(win)) {
        box->looks = 0;
        return;
    }
    if (box->tells) {
        copy_last(win);
        return;
    }
    if (withdraw(win))
        wdl_mail_missed(win, box->args.target, use_of(stream));
}

int wdl_mailbox_settle(struct wdl_win *win)
{
    struct wdl_mailbox *box = &win->mailbox;
    if (box->train.ring)
        wdl_train_close(win);
    if (box->joint != WDL_JOINT_NONE) {
        joint_settle(win);
    } else {
        if (box->holds)
            wdl_mail_set(box->mail, WDL_MAIL_POSTED);
        box->holds = 0;
        int done = box->mail && wdl_mail_look(box->mail) == WDL_MAIL_DONE;
        if (box->stream && wdl_stream_move(win))
            box->looks = 0;
        if (done)
            answered(win);
        else if (box->mail && ++box->looks >= looks_enough(box))
            give_up(win);
    }
    if (box->withdrawn)
        return begin_again(win);
    return box->mail ? WDL_AGAIN : WDL_OK;
}

/* Does it gain by company: a call of the system, or a message, for many? */
static int is_better_together(const struct wdl_rma_args *args)
{
    return wdl_args_bytes(args) <= WDL_BATCH_SHORT;
}

int wdl_mailbox_clear(struct wdl_win *win, const struct wdl_rma_args *next)
{
    struct wdl_mailbox *box = &win->mailbox;
    int status = wdl_mailbox_settle(win);
    /* one that does not come is asked seldom, and then waited for */
    if (status != WDL_AGAIN || !box->mail || box->bag.posted || !is_better_together(&box->args) ||
        wdl_mail_is_away(win, box->args.target) || !withdraw(win))
        return status;
    if (is_better_together(next) && box->run < 2)
        box->run = 2;           /* not alone */
    return begin_again(win);
}

/* A put's data have left the user's buffer; if it is withdrawn they are copied from our area. */
static void done_locally(struct wdl_win *win)
{
    struct wdl_mailbox *box = &win->mailbox;
    const struct wdl_host *host = &win->proc->host;
    struct wdl_buf kept = area_of(win, box->args.remote.bytes), *origin = &box->args.origin;
    if (kept.bytes <= WDL_MAIL_BYTES)
        memcpy(kept.addr, (const char *) origin->addr + origin->lo, kept.bytes);
    *origin = kept;
    host->ops->request_complete(host->ctx, box->args.request, WDL_OK);
    box->args.request = NULL;
}

/* Is it to wait for MPI_Win_complete, and to say that it was all? */
static int may_be_last(const struct wdl_win *win, const struct wdl_rma_args *args,
                       const struct wdl_rows *rows)
{
    return args->kind == WDL_RMA_PUT && rows->count == 0 && win->params.copy &&
           win->params.hints.combine != WDL_COMBINE_NEVER && wdl_pscw_is_only(win, args->target);
}

int wdl_mailbox_op(struct wdl_win *win, const struct wdl_rma_args *args, struct wdl_target *t,
                   struct wdl_win_control *control)
{
    struct wdl_mailbox *box = &win->mailbox;
    struct wdl_mail *mail;
    struct wdl_rows rows;
    int together = is_better_together(args);
    int several = box->run > 0 || (box->follows && !wdl_mail_is_away(win, args->target));
    win->rma->timed = NULL;
    win->rma->began_ns = 0;     /* what is not asked about is not timed */
    box->run += together && box->run < WDL_MAIL_RUN;
    int held = !together && args->request && args->kind <= WDL_RMA_GET && win->params.copy &&
               wdl_batch_takes(win, args);
    if ((together && several) || held || !wdl_mail_is_attended(control) ||
        (args->kind >= WDL_RMA_ACC && win->net_sizes) || !fits(win, args, &rows) ||
        !wdl_mail_is_clear(win, t, args->target) || !wdl_mail_expected(win, args, control, 0) ||
        !wdl_mail_is_faster(win, args))
        return WDL_ERR_UNSUPPORTED;
    mail = wdl_mail_get(win, control);
    if (!mail)
        return WDL_ERR_UNSUPPORTED;
    fill(win, mail, args, &rows);
    box->holds = may_be_last(win, args, &rows);
    if (box->holds)
        wdl_mail_under_way(win, mail, args);
    else
        wdl_mail_post(win, mail, args);
    wdl_train_count(win, args->target, args->kind, args->remote.bytes);
    /* blocks that are withdrawn may wait for a message, and then for the user's buffer */
    if (args->request && args->kind == WDL_RMA_PUT && win->params.copy && rows.count == 0)
        done_locally(win);
    return WDL_OK;
}

/* --- windows ---------------------------------------------------------------------------------- */

void wdl_mailbox_open(struct wdl_win *win)
{
    struct wdl_rma *rma = win->rma;
    struct wdl_win_control *own = wdl_mail_control(win);
    int first = win->params.mail ? 0 : WDL_MAIL_WINDOWS;
    if ((!win->params.mail && !win->params.copy_mapped) || win->params.node_count < 2)
        return;
    for (int i = first; i < first + WDL_MAIL_WINDOWS && !win->mailbox.has; i++) {
        if (rma->mailed[i])
            continue;
        rma->mailed[i] = win;
        rma->nmailed[!win->params.mail]++;
        win->mailbox.has = 1;
        win->mailbox.on = win->params.mail;
        __atomic_store_n(&own->mail_open, !win->params.crowded, __ATOMIC_RELAXED);
    }
}

void wdl_rma_attend(const struct wdl_proc *proc, int attends)
{
    struct wdl_rma *rma = proc->rma;
    for (int i = 0; rma && i < WDL_MAIL_ALL; i++)
        if (rma->mailed[i])
            __atomic_store_n(&wdl_mail_control(rma->mailed[i])->mail_open, (uint64_t) attends,
                             __ATOMIC_RELAXED);
}

void wdl_rma_aside(const struct wdl_proc *proc, int aside)
{
    struct wdl_rma *rma = proc->rma;
    if (rma)
        rma->aside = aside;
}

void wdl_mailbox_close(struct wdl_win *win)
{
    struct wdl_rma *rma = win->rma;
    for (int i = 0; i < WDL_MAIL_ALL; i++)
        if (rma->mailed[i] == win) {
            rma->mailed[i] = NULL;
            rma->nmailed[i >= WDL_MAIL_WINDOWS]--;
        }
}

int wdl_mailboxes_progress(struct wdl_rma *rma)
{
    int n = 0;
    for (int i = 0; i < WDL_MAIL_ALL; i++) {
        struct wdl_win *win = rma->mailed[i];
        if (!win)
            continue;
        n += wdl_mailbox_serve(win) + (rma->aside ? 0 : wdl_mailbox_visited(win));
        if (wdl_mailbox_under_way(win) && !win->mailbox.train.waits)
            n += wdl_mailbox_settle(win) == WDL_OK;
    }
    return n;
}

int wdl_mailboxes_wait(const struct wdl_rma *rma)
{
    for (int i = 0; i < WDL_MAIL_ALL; i++)
        if (rma->mailed[i] && wdl_mailbox_under_way(rma->mailed[i]))
            return 1;
    return 0;
}

int wdl_rma_by_memory(const struct wdl_proc *proc)
{
    const struct wdl_rma *rma = proc->rma;
    return rma && rma->nmailed[0] > 0;
}

int wdl_win_is_handed(const struct wdl_win *win)
{
    return win->mailbox.mail != NULL;
}

/* Measured: data beside the cell take their time anyhow. */
int wdl_win_rests(const struct wdl_win *win)
{
    const struct wdl_mailbox *box = &win->mailbox;
    if (!box->mail || box->bag.posted)
        return 0;
    if (box->args.kind == WDL_RMA_GET)
        return 1;
    return wdl_args_bytes(&box->args) > WDL_MAIL_BYTES ? 0 : box->args.kind == WDL_RMA_PUT ? 1 : 2;
}
