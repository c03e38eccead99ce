/* Part of Windlass. See COPYRIGHT in the top-level directory. Short accumulates handed over
 * together (bag.h). */
#include <string.h>
#include "mpid/rma/kernel.h"
#include "mpid/rma/mail.h"

static void bag_empty(struct wdl_win *win)
{
    win->mailbox.bag.n = 0;
    win->batched--;
    win->rma->batched--;
}

/* Is it one for a bag? */
static int is_for_it(const struct wdl_rma_args *args)
{
    size_t bytes = args->remote.bytes, each = args->element.packed_bytes;
    return args->kind == WDL_RMA_ACC && args->op != WDL_ROP_NO_OP && !args->request &&
           args->remote.contig && args->origin.contig && args->remote.lo == 0 &&
           bytes <= WDL_BAG_EACH && args->origin.bytes >= bytes &&
           wdl_kernel_has(&args->element) && bytes % each == 0;
}

/* Is its place aligned and, where that can be known, exposed? */
static int has_place(const struct wdl_rma_args *args, const struct wdl_win_rank *info)
{
    uint64_t at;
    if (info->bytes == UINT64_MAX)      /* dynamic: the target knows */
        return (uint64_t) args->disp % args->element.packed_bytes == 0;
    return wdl_rank_holds(info, args->disp, args->remote.bytes, &at) &&
           (info->base + at) % args->element.packed_bytes == 0;
}

static void bag_add(struct wdl_win *win, const struct wdl_rma_args *args)
{
    struct wdl_bag *bag = &win->mailbox.bag;
    char *area = wdl_mail_control(win)->area.data;
    size_t bytes = args->remote.bytes;
    memcpy(area + (size_t) bag->n * sizeof(args->disp), &args->disp, sizeof(args->disp));
    memcpy(wdl_bag_operands(area) + (size_t) bag->n * bytes,
           (const char *) args->origin.addr + args->origin.lo, bytes);
    bag->n++;
    win->stats.ops_mailed++;
}

int wdl_bag_again(struct wdl_win *win, const struct wdl_rma_args *args)
{
    struct wdl_bag *bag = &win->mailbox.bag;
    const struct wdl_rma_args *first = &bag->args;
    if (bag->n == 0 || bag->n == WDL_BAG_OPS || bag->posted || bag->outside ||
        args->target != first->target || args->op != first->op ||
        args->element.host_type != first->element.host_type ||
        args->remote.bytes != first->remote.bytes || !is_for_it(args) ||
        !has_place(args, &bag->info))
        return 0;
    bag_add(win, args);
    return 1;
}

int wdl_bag_op(struct wdl_win *win, const struct wdl_rma_args *args, struct wdl_target *t,
               struct wdl_win_control *control, const struct wdl_win_rank *info)
{
    struct wdl_bag *bag = &win->mailbox.bag;
    int open = wdl_mail_control(win)->mail_open &&
               __atomic_load_n(&control->mail_open, __ATOMIC_RELAXED);
    if (!open || !is_for_it(args) || !has_place(args, info) || !win->params.copy ||
        win->params.crowded || win->params.mapped_any || win->net_sizes ||
        win->params.combine == WDL_COMBINE_NEVER || wdl_mail_is_away(win, args->target) ||
        (bag->n > 0 && bag->args.target != args->target))
        return WDL_ERR_UNSUPPORTED;
    if (wdl_bag_again(win, args))
        return WDL_OK;          /* the one before it was the first */
    if (wdl_bag_run(win, -1) != WDL_OK)
        return WDL_AGAIN;
    if (!wdl_mail_is_clear(win, t, args->target))
        return WDL_ERR_UNSUPPORTED;
    *bag = (struct wdl_bag){.args = *args, .control = control, .info = *info};
    win->batched++;
    win->rma->batched++;
    bag_add(win, args);
    return WDL_OK;
}

/* One after the other, by this process. */
static int run_outside(struct wdl_win *win)
{
    struct wdl_bag *bag = &win->mailbox.bag;
    char *area = wdl_mail_control(win)->area.data;
    char operands[WDL_BAG_EACH];
    for (; bag->first < bag->n; bag->first++) {
        struct wdl_rma_args one = bag->args;
        size_t bytes = one.remote.bytes;
        memcpy(&one.disp, area + (size_t) bag->first * sizeof(one.disp), sizeof(one.disp));
        memcpy(operands, wdl_bag_operands(area) + (size_t) bag->first * bytes, bytes);
        one.origin.addr = operands;
        one.origin.lo = 0;
        one.done = bag->done;
        int status = wdl_outside_update(win, &one, bag->control, &bag->info);
        bag->done = status == WDL_AGAIN ? one.done : 0;
        if (status == WDL_AGAIN)
            return WDL_AGAIN;
        if (status != WDL_OK)
            wdl_win_fail(win, status);
        win->stats.ops_mailed--;
        win->stats.ops_copied++;
    }
    bag_empty(win);
    return WDL_OK;
}

static int bag_post(struct wdl_win *win)
{
    struct wdl_bag *bag = &win->mailbox.bag;
    struct wdl_mail *mail = wdl_mail_get(win, bag->control);
    if (!mail)
        return 0;
    mail->origin = (uint32_t) win->params.rank;
    mail->kind = WDL_MAIL_BAG;
    mail->rop = (uint8_t) bag->args.op;
    mail->host_type = bag->args.element.host_type;
    mail->is_rows = 0;
    mail->bytes = (uint32_t) bag->args.remote.bytes;
    mail->rows.count = (uint32_t) bag->n;
    bag->posted = 1;
    wdl_mail_post(win, mail, &bag->args);
    return 1;
}

int wdl_bag_run(struct wdl_win *win, int rank)
{
    struct wdl_bag *bag = &win->mailbox.bag;
    if (bag->n == 0 || (rank >= 0 && bag->args.target != rank))
        return WDL_OK;
    if (!bag->posted && !bag->outside && !bag_post(win))
        bag->outside = 1;
    if (bag->posted && wdl_mailbox_settle(win) != WDL_OK)
        return WDL_AGAIN;
    return bag->outside ? run_outside(win) : WDL_OK;
}

void wdl_bag_answered(struct wdl_win *win, int status)
{
    struct wdl_bag *bag = &win->mailbox.bag;
    bag->posted = 0;
    bag->outside = status != WDL_OK;    /* what is wrong is found there */
    if (status == WDL_OK)
        bag_empty(win);
}
