/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Put and get on private memory of this node: the system moves the bytes without the target's help
 * (cross-memory attach; ARCHITECTURE.md, Copied). Done in the call; no operation element.
 * (Accumulates: outside.c.)
 *
 * The system looks up every piece of the target's memory, however short: 512 blocks of 8 bytes take
 * it as long as 1 MB in one piece. So a get whose pieces lie close reads what is between them, too,
 * and leaves it; and what else is in many short pieces, and no mailbox has taken, goes by message,
 * where somebody serves it.
 */
#include <string.h>
#include "mpid/rma/joint.h"
#include "mpid/rma/mail.h"
#include "mpid/rma/rows.h"
#include "mpid/rma/stream.h"

enum { SIDE = WDL_RMA_PIECES / 2 }; /* pieces of one side at a time */

/* Measured: a call costs 1.2 us, each piece of the target .33 us, 4 KiB in one piece .3 us; a
 * message and its answer 3 us, 20 where the target computes and its thread has to be woken. */
enum { GAP = 2048,              /* bytes that are read in vain to save a piece */
    MANY = 32,                  /* pieces that take longer than a message */
    SHORT = 1024                /* a piece; longer ones are no dearer than the messages' copies */
};

enum way { BY_PIECES, BY_SPAN, BY_MESSAGE };

/* A layout's first pieces, as many as matter; *bytes_out: in them. */
static size_t first_pieces(const struct wdl_win *win, const struct wdl_buf *remote,
                           size_t *bytes_out)
{
    const struct wdl_host *host = &win->proc->host;
    size_t look = remote->bytes < MANY * SHORT + 1 ? remote->bytes : MANY * SHORT + 1;
    struct wdl_piece first[MANY + 1];
    struct wdl_rows rows;
    *bytes_out = 0;
    if (wdl_rows_of(host, remote, win->rma->stage, remote->bytes, &rows)) {
        size_t n = (look - 1) / rows.bytes + 1;
        n = n < MANY + 1 ? n : MANY + 1;
        *bytes_out = n * rows.bytes < look ? n * rows.bytes : look;
        return n;
    }
    int n = host->ops->pieces(host->ctx, win->rma->stage, remote->count, remote->type, 0, look,
                              first, MANY + 1);
    for (int i = 0; i < n; i++)
        *bytes_out += first[i].bytes;
    return (size_t) n;
}

/* How an operation's bytes are moved. Judged by its first pieces and its extent. */
static enum way way_of(const struct wdl_win *win, const struct wdl_rma_args *args)
{
    const struct wdl_buf *remote = &args->remote;
    if (remote->contig)
        return BY_PIECES;
    size_t bytes, n = first_pieces(win, remote, &bytes);
    size_t span = (size_t) (remote->hi - remote->lo);
    if (bytes == 0)
        return BY_PIECES;
    if (args->kind == WDL_RMA_GET && n > 1 && span <= WDL_RMA_STAGE) {
        size_t pieces = remote->bytes * n / bytes;
        if (span <= remote->bytes + (pieces - 1) * GAP)
            return BY_SPAN;
    }
    return n > MANY && win->params.attended ? BY_MESSAGE : BY_PIECES;
}

int wdl_copy_takes(const struct wdl_win *win, const struct wdl_rma_args *args)
{
    return args->kind <= WDL_RMA_GET && way_of(win, args) != BY_MESSAGE;
}

/* The pieces of a buffer's stream from `offset` on, at most `bytes` of it; *bytes_out: how much. */
static int pieces_of(const struct wdl_host *host, const struct wdl_buf *buf, char *addr,
                     size_t offset, size_t bytes, struct wdl_piece *pieces, size_t *bytes_out)
{
    if (buf->contig) {
        pieces[0] = (struct wdl_piece){addr + buf->lo + offset, bytes};
        *bytes_out = bytes;
        return 1;
    }
    int n = host->ops->pieces(host->ctx, addr, buf->count, buf->type, offset, bytes, pieces, SIDE);
    *bytes_out = 0;
    for (int i = 0; i < n; i++)
        *bytes_out += pieces[i].bytes;
    return n;
}

/* Shorten the pieces to `bytes`; returns how many are left. */
static int pieces_cut(struct wdl_piece *pieces, int n, size_t bytes)
{
    for (int i = 0; i < n; i++) {
        if (pieces[i].bytes >= bytes) {
            pieces[i].bytes = bytes;
            return i + 1;
        }
        bytes -= pieces[i].bytes;
    }
    return n;
}

static int copy_stream(struct wdl_win *win, const struct wdl_rma_args *args, uint64_t at)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_piece *local = win->rma->pieces, *remote = local + SIDE;
    char *there = (char *) (uintptr_t) at;
    for (size_t offset = 0; offset < args->remote.bytes;) {
        size_t far, near;
        int nremote = pieces_of(host, &args->remote, there, offset, args->remote.bytes - offset,
                                remote, &far);
        int nlocal = pieces_of(host, &args->origin, args->origin.addr, offset, far, local, &near);
        if (near == 0)
            return WDL_ERR_TYPE;
        int status = win->params.copy(win->params.ctx, args->target, args->kind == WDL_RMA_PUT,
                                      local, nlocal, remote, pieces_cut(remote, nremote, near));
        if (status != WDL_OK)
            return status;
        offset += near;
    }
    return WDL_OK;
}

/* A get of pieces that lie close: all from the first to the last of them. */
static int copy_span(struct wdl_win *win, const struct wdl_rma_args *args, uint64_t at)
{
    const struct wdl_buf *remote = &args->remote;
    size_t span = (size_t) (remote->hi - remote->lo);
    char *stage = win->rma->stage;
    struct wdl_piece here = {stage, span};
    struct wdl_piece there = {(char *) (uintptr_t) (at + (uint64_t) remote->lo), span};
    int status = win->params.copy(win->params.ctx, args->target, 0, &here, 1, &there, 1);
    if (status == WDL_OK)
        wdl_mapped_copy(win->rma, remote, (void *) ((uintptr_t) stage - (uintptr_t) remote->lo),
                        &args->origin, args->origin.addr, remote->bytes);
    return status;
}

/* What lies between the pieces of a layout need not be attached. */
static int pieces_exposed(struct wdl_win *win, const struct wdl_rma_args *args,
                          const struct wdl_win_control *control)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_piece *pieces = win->rma->pieces;
    char *there = (char *) (uintptr_t) args->disp;
    size_t got;
    for (size_t offset = 0; offset < args->remote.bytes; offset += got) {
        int n = pieces_of(host, &args->remote, there, offset, args->remote.bytes - offset, pieces,
                          &got);
        for (int i = 0; i < n; i++) {
            int status = wdl_seen_exposed(win, args->target, control,
                                          (uint64_t) (uintptr_t) pieces[i].base, pieces[i].bytes);
            if (status != WDL_OK)
                return status;
        }
        if (got == 0)
            return WDL_ERR_TYPE;
    }
    return WDL_OK;
}

static int target_exposes(struct wdl_win *win, const struct wdl_rma_args *args,
                          const struct wdl_win_control *control)
{
    uint64_t from = (uint64_t) args->disp + (uint64_t) args->remote.lo;
    uint64_t bytes = (uint64_t) (args->remote.hi - args->remote.lo);
    int status = wdl_seen_exposed(win, args->target, control, from, bytes);
    if (status == WDL_ERR_RANGE && !args->remote.contig)
        status = pieces_exposed(win, args, control);
    return status;
}

int wdl_copy_exposed(struct wdl_win *win, int rank, const struct wdl_win_control *control,
                     uint64_t from, uint64_t bytes)
{
    if (win->params.flavor != WDL_WIN_DYNAMIC)
        return WDL_OK;
    return wdl_seen_exposed(win, rank, control, from, bytes);
}

int wdl_copy_reach(struct wdl_win *win, const struct wdl_rma_args *args,
                   const struct wdl_win_control *control, int *mapped_out, uintptr_t *shift_out)
{
    uint64_t from = (uint64_t) args->disp + (uint64_t) args->remote.lo;
    uint64_t bytes = (uint64_t) (args->remote.hi - args->remote.lo);
    *mapped_out = 0;
    int status = wdl_seen_exposed(win, args->target, control, from, bytes);
    if (status != WDL_OK) /* what is wrong is found by the path it takes instead */
        return status == WDL_AGAIN ? WDL_AGAIN : WDL_OK;
    const struct wdl_region *region = wdl_seen_find(win, args->target, control, from);
    /* one that goes on in a neighbour is not in one piece here */
    if (!region || region->offer == 0 || bytes > region->bytes - (from - region->base))
        return WDL_OK;
    const void *at = win->params.reach(win->params.ctx, args->target, region);
    *mapped_out = at != NULL;
    *shift_out = (uintptr_t) at - (uintptr_t) region->base;
    return WDL_OK;
}

/* Is the epoch open for that rank, with nothing to wait for? Of what is not sure the full path
 * knows. */
static int admits(const struct wdl_win *win, int rank)
{
    switch (win->epoch.access_state) {
        case WDL_ACCESS_FENCE_GRANTED:
        case WDL_ACCESS_LOCK_ALL_GRANTED:
            return 1;
        case WDL_ACCESS_PER_TARGET:
            return win->quick.held == rank;
        default:
            return 0;
    }
}

/* Where [lo, lo + bytes) from a displacement on is in the process copied to last, if all of
 * it is exposed there; else 0. */
static uint64_t known_place(struct wdl_win *win, int64_t disp, int64_t lo, uint64_t bytes)
{
    const struct wdl_near *near = &win->near;
    uint64_t at;
    if (win->params.flavor != WDL_WIN_DYNAMIC)
        return lo == 0 && wdl_rank_holds(&near->info, disp, bytes, &at) ? near->info.base + at : 0;
    at = (uint64_t) disp + (uint64_t) lo;
    const struct wdl_region *region = wdl_seen_find(win, near->rank, near->control, at);
    return region && region->offer == 0 && bytes <= region->bytes - (at - region->base) ? at : 0;
}

/* Is it held with those of its rank? (Neither a lock nor an epoch ends before they are done.) */
static int held_again(struct wdl_win *win, enum wdl_rma_kind kind, int rank, int64_t disp,
                      int64_t lo, void *local, uint64_t bytes)
{
    uint64_t at;
    if (win->near.rank != rank || !win->near.control ||
        wdl_mailbox_under_way(win) || win->pulls.n > 0 || bytes == 0 ||
        win->params.hints.combine == WDL_COMBINE_NEVER ||
        (at = known_place(win, disp, lo, bytes)) == 0 ||
        !wdl_batch_again(win, rank, kind == WDL_RMA_PUT, at, local, bytes))
        return 0;
    if (win->mailbox.on && win->mailbox.run < 2)
        win->mailbox.run = 2;
    wdl_train_count(win, rank, kind, bytes);
    win->stats.ops_copied++;
    win->quick.stored |= kind == WDL_RMA_PUT;
    return 1;
}

/* Does it go as the last one, held with it or copied by the system, and does nothing have to be
 * done before? Then that is done. */
static inline int again(struct wdl_win *win, enum wdl_rma_kind kind, int rank, int64_t disp,
                        int64_t lo, void *local, uint64_t bytes)
{
    int put = kind == WDL_RMA_PUT;
    uint64_t at;
    if (win->mailbox.train.ring)
        return put && lo == 0 && wdl_train_put(win, rank, disp, local, bytes);
    if (win->mailbox.bag.n > 0)
        return lo == 0 && wdl_bag_moves(win, kind, rank, disp, local, bytes);
    if (win->batched > 0)
        return bytes <= WDL_BATCH_SHORT && held_again(win, kind, rank, disp, lo, local, bytes);
    if (win->near.rank != rank || !win->near.control || bytes == 0 ||
        wdl_mailbox_under_way(win) || !admits(win, rank) ||
        (put && wdl_pull_takes(win, bytes)) || (at = known_place(win, disp, lo, bytes)) == 0 ||
        wdl_joint_takes(win, rank, win->near.control, bytes) ||
        (put && wdl_train_wanted(win, rank, win->near.control, kind, bytes) &&
         !(bytes > WDL_MAIL_AREA &&
           wdl_mail_is_away_as_before(win, rank, WDL_MAIL_SHORTS, win->near.control))) ||
        !(bytes > WDL_BATCH_SHORT ?
          wdl_mail_stands_back(win, win->near.control, kind, bytes) ||
          wdl_mail_is_still_away(win, rank, win->near.control, kind, bytes) :
          wdl_mail_is_in_vain(win, rank, win->near.control)))
        return 0;
    struct wdl_piece here = {local, bytes}, there = {(char *) (uintptr_t) at, bytes};
    if (win->params.copy(win->params.ctx, rank, put, &here, 1, &there, 1) != WDL_OK)
        return 0;               /* what is wrong the full path finds again */
    if (win->rma->timed || bytes >= WDL_MAIL_VISIT || wdl_mail_is_crowded(win, win->near.control)) {
        wdl_mail_visit(win, win->near.control);
        (void) wdl_mail_not_handed(win, WDL_OK);
    }
    wdl_train_count(win, rank, kind, bytes);
    win->stats.ops_copied++;
    win->quick.stored |= put;
    return 1;
}

/* The same of a put whose request is complete when its data are held. */
static inline int rput_again(struct wdl_win *win, int rank, int64_t disp, int64_t lo, void *local,
                             uint64_t bytes)
{
    if (win->mailbox.bag.n > 0)
        return lo == 0 && wdl_bag_moves(win, WDL_RMA_PUT, rank, disp, local, bytes);
    return win->batched > 0 && held_again(win, WDL_RMA_PUT, rank, disp, lo, local, bytes);
}

int wdl_copy_again(struct wdl_win *win, const struct wdl_rma_args *args)
{
    const struct wdl_host *host = &win->proc->host;
    const struct wdl_buf *remote = &args->remote, *origin = &args->origin;
    if (!remote->contig || !origin->contig || origin->bytes != remote->bytes ||
        remote->bytes == 0 || (args->request && wdl_epoch_is_active(&win->epoch)))
        return 0;
    char *local = (char *) origin->addr + origin->lo;
    int may_wait = args->request && remote->bytes <= WDL_BATCH_LONG; /* for others (batch.h) */
    if (may_wait && args->kind == WDL_RMA_GET)
        return 0;
    if (may_wait ? !rput_again(win, args->target, args->disp, remote->lo, local, remote->bytes) :
        !again(win, args->kind, args->target, args->disp, remote->lo, local, remote->bytes))
        return 0;
    if (args->request)
        host->ops->request_complete(host->ctx, args->request, WDL_OK);
    return 1;
}

int wdl_rma_again(struct wdl_win *win, enum wdl_rma_kind kind, int rank, int64_t disp, void *local,
                  uint64_t bytes)
{
    return again(win, kind, rank, disp, 0, local, bytes);
}

int wdl_rma_rput_again(struct wdl_win *win, int rank, int64_t disp, void *local, uint64_t bytes)
{
    return bytes <= WDL_BATCH_LONG && !wdl_epoch_is_active(&win->epoch) &&
           !win->mailbox.train.ring && rput_again(win, rank, disp, 0, local, bytes);
}

int wdl_copy_op(struct wdl_win *win, const struct wdl_rma_args *args,
                struct wdl_win_control *control, const struct wdl_win_rank *info)
{
    uint64_t at = (uint64_t) args->disp;
    int status = WDL_OK;
    if (wdl_bag_run(win, args->target) != WDL_OK)
        return WDL_AGAIN;
    if (win->params.flavor == WDL_WIN_DYNAMIC)
        status = target_exposes(win, args, control);
    else
        at = wdl_rank_place(info, args->disp);
    if (win->near.rank != args->target || !win->near.control)
        win->near = (struct wdl_near){args->target, control, *info};
    if (status == WDL_OK)
        status = wdl_batch_op(win, args, control, at);
    if (status != WDL_ERR_UNSUPPORTED)
        return status;
    if (wdl_batches_run(win, args->target) != WDL_OK)
        return WDL_AGAIN;
    status = wdl_stream_op(win, args, control, at);
    if (status != WDL_ERR_UNSUPPORTED)
        return status;
    if (wdl_joint_op(win, args, control, at) == WDL_OK) {
        wdl_mail_visit(win, control);
        return wdl_mail_not_handed(win, WDL_OK);
    }
    const struct wdl_trial *trial = win->rma->timed;
    if (!trial || trial->clock || args->remote.bytes >= WDL_MAIL_VISIT)
        wdl_mail_visit(win, control);
    switch (way_of(win, args)) {
        case BY_MESSAGE:
            return wdl_mail_not_handed(win, WDL_ERR_UNSUPPORTED);
        case BY_SPAN:
            status = copy_span(win, args, at);
            /* what lies between the pieces need not be memory at all */
            status = status == WDL_ERR_RANGE ? copy_stream(win, args, at) : status;
            return wdl_mail_not_handed(win, status);
        default:
            return wdl_mail_not_handed(win, copy_stream(win, args, at));
    }
}
