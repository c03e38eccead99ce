/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Accumulates on private memory of a process of this node that does not come to its mailbox
 * (mailbox.h): because it computes, or because so many share the processors that it would have to
 * be waited for. Nobody else maps the memory, but the system moves its bytes: the region is closed
 * in the target's control block, what is there is read, folded and written (domain.h). Done in the
 * call, and no message wakes anybody.
 *
 * For contiguous elements with an instruction, and, under the locks of the stripes they lie in, for
 * all that have none (pairs, long double, complex). In order: behind operations that went by
 * message it goes by message, too.
 */
#include "mpid/rma/accumulate.h"
#include "mpid/rma/kernel.h"
#include "mpid/rma/mail.h"

/* Short operations that follow one another are worth a call of the system together, or a message:
 * several, where the target comes at once, else many. */
static int is_alone(const struct wdl_win *win, const struct wdl_rma_args *args,
                    const struct wdl_win_control *control, const struct wdl_win_rank *info)
{
    const struct wdl_mailbox *box = &win->mailbox;
    int first = box->run < 2 && !box->follows;
    if (args->remote.bytes > WDL_BATCH_SHORT)
        return 1;
    if (first || wdl_bag_takes(win, args, control, info))
        return first;
    return wdl_mail_is_crowded(win, control) ||
           (wdl_mail_is_away(win, args->target) && box->run < WDL_MAIL_RUN);
}

/* Each piece that is written is looked up by the system, .13 us: many are a message. */
static int is_short_with_gaps(const struct wdl_rma_args *args)
{
    enum { ELEMENTS = 64 };
    return !wdl_kernel_has(&args->element) &&
           args->remote.bytes <= ELEMENTS * (uint64_t) args->element.packed_bytes;
}

static int fits(const struct wdl_win *win, const struct wdl_rma_args *args,
                const struct wdl_win_control *control, const struct wdl_win_rank *info)
{
    const struct wdl_buf *in = &args->origin, *out = &args->result;
    size_t bytes = args->remote.bytes;
    if (args->kind == WDL_RMA_CAS)
        return 1;
    return (args->remote.contig || is_short_with_gaps(args)) &&
           bytes % args->element.packed_bytes == 0 &&
           (args->op == WDL_ROP_NO_OP || in->bytes >= bytes) &&
           (args->kind == WDL_RMA_ACC || out->bytes >= bytes) &&
           is_alone(win, args, control, info);
}

/* Memory of that rank, whose addresses are its own. */
static struct wdl_domain domain_of(const struct wdl_win *win, int rank,
                                   struct wdl_win_control *control, const struct wdl_win_rank *info,
                                   const struct wdl_outside *outside)
{
    struct wdl_domain domain;
    wdl_win_domain(win, rank, (const char *) (uintptr_t) info->base, control, &domain);
    domain.outside = outside;
    return domain;
}

int wdl_outside_pieces(struct wdl_win *win, const struct wdl_rma_args *args,
                       struct wdl_win_control *control, const struct wdl_win_rank *info,
                       const struct wdl_piece *pieces, int npieces, const void *in, size_t *done)
{
    const struct wdl_outside outside = {win->params.copy, win->params.ctx, win->rma->stage};
    struct wdl_domain domain = domain_of(win, args->target, control, info, &outside);
    return wdl_accumulate(&domain, args->op, &args->element, pieces, npieces, in, NULL, done);
}

static int update(struct wdl_win *win, struct wdl_rma_args *args, struct wdl_target *t,
                  struct wdl_win_control *control, const struct wdl_win_rank *info)
{
    const struct wdl_outside outside = {win->params.copy, win->params.ctx, win->rma->stage};
    uint64_t at = wdl_rank_place(info, args->disp), from = at + (uint64_t) args->remote.lo;
    if (!win->params.copy || win->net_sizes ||
        (wdl_kernel_has(&args->element) && from % args->element.packed_bytes != 0))
        return WDL_ERR_UNSUPPORTED;
    /* what has begun this way goes on this way */
    if (args->done == 0 &&
        (!fits(win, args, control, info) || !wdl_target_is_quiet(win, t, args->target)))
        return WDL_ERR_UNSUPPORTED;
    if (wdl_batches_run(win, args->target) != WDL_OK)
        return WDL_AGAIN;
    int gaps = args->kind != WDL_RMA_CAS && !args->remote.contig;
    int status = wdl_copy_exposed(win, args->target, control, from,
                                  gaps ? (uint64_t) (args->remote.hi - args->remote.lo)
                                       : wdl_args_bytes(args));
    if (gaps && args->done == 0 && wdl_status_is_error(status))
        return WDL_ERR_UNSUPPORTED; /* perhaps only what is in a gap is not exposed */
    if (status != WDL_OK)
        return status;
    struct wdl_domain domain = domain_of(win, args->target, control, info, &outside);
    return wdl_update_op(win, args, (char *) (uintptr_t) at, &domain);
}

int wdl_outside_op(struct wdl_win *win, struct wdl_rma_args *args, struct wdl_target *t,
                   struct wdl_win_control *control, const struct wdl_win_rank *info)
{
    struct wdl_mailbox *box = &win->mailbox;
    if (!box->has && win->params.crowded && args->done == 0 &&
        args->remote.bytes <= WDL_BATCH_SHORT)
        box->run += box->run < WDL_MAIL_RUN;    /* no mailbox counts it */
    int status = wdl_mail_not_handed(win, update(win, args, t, control, info));
    if (status != WDL_OK)
        return status;
    wdl_mail_visit(win, control);
    wdl_train_count(win, args->target, args->kind, args->remote.bytes);
    win->stats.ops_copied++;
    win->quick.stored = 1;
    if (args->request) {
        const struct wdl_host *host = &win->proc->host;
        host->ops->request_complete(host->ctx, args->request, WDL_OK);
    }
    return WDL_OK;
}
