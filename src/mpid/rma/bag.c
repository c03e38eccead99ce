/* Part of Windlass. See COPYRIGHT in the top-level directory. Short operations handed over
 * together (bag.h). */
#include <string.h>
#include "base/line.h"
#include "mpid/rma/kernel.h"
#include "mpid/rma/mail.h"

static void bag_empty(struct wdl_win *win)
{
    win->mailbox.bag.n = 0;
    win->batched--;
    win->rma->batched--;
    if (win->rma->bagged == win)
        win->rma->bagged = NULL;
    if (win->rma->getting == win)
        win->rma->getting = NULL;
}

/* Is it one for a bag? */
static int is_for_it(const struct wdl_rma_args *args)
{
    size_t bytes = args->remote.bytes, each = args->element.packed_bytes;
    return args->kind == WDL_RMA_ACC && args->op != WDL_ROP_NO_OP && !args->request &&
           args->remote.contig && args->origin.contig && args->remote.lo == 0 && bytes > 0 &&
           bytes <= WDL_BAG_EACH && args->origin.bytes == bytes &&
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

/* Another one follows (wdl_win_settle_before). */
static void added(struct wdl_win *win)
{
    struct wdl_mailbox *box = &win->mailbox;
    if (++box->bag.n > 1 && box->run < 2)
        box->run = 2;
    win->stats.ops_mailed++;
}

/* The target has read these lines since they were written last: they are asked for some
 * accumulates before theirs. */
static void bag_add(struct wdl_win *win, const struct wdl_rma_args *args)
{
    enum { AHEAD = 512, PLACES_AHEAD = 128 };
    struct wdl_bag *bag = &win->mailbox.bag;
    char *area = wdl_mail_control(win)->area.data;
    size_t bytes = args->remote.bytes;
    char *place = area + (size_t) bag->n * sizeof(args->disp);
    char *operand = wdl_bag_operands(area) + (size_t) bag->n * bytes;
    wdl_line_wanted(place + PLACES_AHEAD);
    wdl_line_wanted(operand + AHEAD);
    memcpy(place, &args->disp, sizeof(args->disp));
    memcpy(operand, (const char *) args->origin.addr + args->origin.lo, bytes);
    added(win);
}

int wdl_bag_again(struct wdl_win *win, const struct wdl_rma_args *args)
{
    struct wdl_bag *bag = &win->mailbox.bag;
    const struct wdl_rma_args *first = &bag->args;
    if (bag->n == 0 || first->kind != WDL_RMA_ACC ||
        (size_t) bag->n == wdl_bag_most(first->remote.bytes) || bag->posted || bag->outside ||
        args->target != first->target || args->op != first->op ||
        args->element.host_type != first->element.host_type ||
        args->remote.bytes != first->remote.bytes || !is_for_it(args) ||
        !has_place(args, &bag->info))
        return 0;
    bag_add(win, args);
    return 1;
}

/* May it be held, for a mailbox or, where nobody is waited for, from outside? */
static int is_open(const struct wdl_win *win, const struct wdl_win_control *control)
{
    if (wdl_mail_is_crowded(win, control))
        return win->mailbox.has || !win->rma->bagged || win->rma->bagged == win;
    return win->mailbox.has && wdl_mail_is_attended(control);
}

int wdl_bag_takes(const struct wdl_win *win, const struct wdl_rma_args *args,
                  const struct wdl_win_control *control, const struct wdl_win_rank *info)
{
    const struct wdl_bag *bag = &win->mailbox.bag;
    return is_open(win, control) && is_for_it(args) && win->params.copy &&
           has_place(args, info) && !win->params.mapped_any && !win->net_sizes &&
           win->params.hints.combine != WDL_COMBINE_NEVER &&
           (bag->n == 0 || bag->args.target == args->target);
}

/* It is no longer empty. */
static void bag_begin(struct wdl_win *win, const struct wdl_rma_args *args,
                      struct wdl_win_control *control, const struct wdl_win_rank *info)
{
    win->mailbox.bag = (struct wdl_bag){.stamp = win->stamp, .args = *args, .control = control,
                                        .info = *info};
    win->batched++;
    win->rma->batched++;
    if (!win->mailbox.has)
        win->rma->bagged = win;
}

int wdl_bag_op(struct wdl_win *win, const struct wdl_rma_args *args, struct wdl_target *t,
               struct wdl_win_control *control, const struct wdl_win_rank *info)
{
    if (!wdl_bag_takes(win, args, control, info))
        return WDL_ERR_UNSUPPORTED;
    if (wdl_bag_again(win, args))
        return WDL_OK;          /* the one before it was the first */
    if (wdl_batches_run(win, -1) != WDL_OK)
        return WDL_AGAIN;
    if (!wdl_mail_is_clear(win, t, args->target))
        return WDL_ERR_UNSUPPORTED;
    bag_begin(win, args, control, info);
    bag_add(win, args);
    return WDL_OK;
}

/* --- puts and gets ---------------------------------------------------------------------------- */

wdl_static_assert(WDL_BAG_MOVES * (sizeof(struct wdl_bag_move) + 8) <= WDL_MAIL_AREA);

static void move_add(struct wdl_win *win, int64_t disp, void *local, uint64_t bytes)
{
    struct wdl_bag *bag = &win->mailbox.bag;
    const struct wdl_bag_move move = {disp, bytes};
    char *at = wdl_mail_control(win)->area.data + bag->used;
    wdl_line_wanted(at + WDL_BAG_AHEAD);
    memcpy(at, &move, sizeof(move));
    if (bag->args.kind == WDL_RMA_PUT)
        wdl_bag_copy(at + sizeof(move), local, bytes);
    else
        win->rma->got[bag->n] = (struct wdl_piece){local, bytes};
    bag->used += wdl_bag_length(bytes);
    added(win);
}

/* Is it short, exposed, as far as can be known here, and is there room? */
static int can_move(const struct wdl_bag *bag, int64_t disp, uint64_t bytes)
{
    uint64_t at;
    return bytes > 0 && bytes <= WDL_BAG_EACH && bag->n < WDL_BAG_MOVES &&
           bag->used + wdl_bag_length(bytes) <= WDL_MAIL_AREA &&
           (bag->info.bytes == UINT64_MAX || wdl_rank_holds(&bag->info, disp, bytes, &at));
}

int wdl_bag_moves(struct wdl_win *win, enum wdl_rma_kind kind, int rank, int64_t disp, void *local,
                  uint64_t bytes)
{
    struct wdl_bag *bag = &win->mailbox.bag;
    if (bag->args.kind != kind || bag->args.target != rank || bag->posted || bag->outside ||
        !can_move(bag, disp, bytes))
        return 0;
    move_add(win, disp, local, bytes);
    return 1;
}

/* What has been called back from a cell, and its user's buffer given back (mailbox.c), is in the
 * area, where the bag would write over it. */
static int is_in_area(const struct wdl_win *win, const void *local)
{
    return (uintptr_t) local - (uintptr_t) wdl_mail_control(win)->area.data < WDL_MAIL_AREA;
}

int wdl_bag_move_op(struct wdl_win *win, const struct wdl_rma_args *args, struct wdl_target *t,
                    struct wdl_win_control *control, const struct wdl_win_rank *info)
{
    struct wdl_bag *bag = &win->mailbox.bag;
    uint64_t bytes = args->remote.bytes;
    char *local = (char *) args->origin.addr + args->origin.lo;
    if (args->request || bytes > WDL_BAG_EACH || args->remote.lo != 0 ||
        !wdl_batch_takes(win, args) || !win->mailbox.has || !wdl_mail_is_attended(control) ||
        wdl_mail_is_away(win, args->target) || is_in_area(win, local))
        return WDL_ERR_UNSUPPORTED;
    if (bag->n > 0 && wdl_bag_moves(win, args->kind, args->target, args->disp, local, bytes))
        return WDL_OK;          /* the one before it was the first */
    if (bag->n > 0 && bag->args.target == args->target && wdl_bag_run(win, -1) != WDL_OK)
        return WDL_AGAIN;       /* it is full, or of another kind */
    if (!wdl_mail_is_clear(win, t, args->target) ||
        (args->kind == WDL_RMA_GET && win->rma->getting))
        return WDL_ERR_UNSUPPORTED;
    bag_begin(win, args, control, info);
    if (args->kind == WDL_RMA_GET)
        win->rma->getting = win;
    move_add(win, args->disp, local, bytes);
    return WDL_OK;
}

/* Results that the target has brought: their lengths are ours. */
static void results_take(struct wdl_win *win)
{
    const struct wdl_bag *bag = &win->mailbox.bag;
    const char *at = wdl_mail_control(win)->area.data;
    for (const struct wdl_piece *to = win->rma->got; to < win->rma->got + bag->n; to++) {
        wdl_bag_copy(to->base, at + sizeof(struct wdl_bag_move), to->bytes);
        at += wdl_bag_length(to->bytes);
    }
}

/* --- by this process, from outside ------------------------------------------------------------ */

wdl_static_assert(WDL_BAG_OPS <= UINT8_MAX);    /* order_of */

static int64_t disp_of(const char *area, int i)
{
    int64_t disp;
    memcpy(&disp, area + (size_t) i * sizeof(disp), sizeof(disp));
    return disp;
}

static char *place_of(const struct wdl_bag *bag, int64_t disp)
{
    return (char *) (uintptr_t) wdl_rank_place(&bag->info, disp);
}

/* Their order by address, those of one place as they came. 0: it is that already, or some lie one
 * over another, which are to stay as they came. */
static int order_of(const struct wdl_bag *bag, const char *area, uint8_t *order)
{
    int moved = 0;
    for (int i = 0; i < bag->n; i++) {
        int64_t disp = disp_of(area, i);
        int k = i;
        for (; k > 0 && disp_of(area, order[k - 1]) > disp; k--)
            order[k] = order[k - 1];
        order[k] = (uint8_t) i;
        moved |= k < i;
    }
    for (int i = 1; i < bag->n && moved; i++) {
        char *at = place_of(bag, disp_of(area, order[i])),
             *before = place_of(bag, disp_of(area, order[i - 1]));
        if (at != before && at < before + bag->args.remote.bytes)
            return 0;
    }
    return moved;
}

static void sort(struct wdl_win *win, char *area)
{
    struct wdl_bag *bag = &win->mailbox.bag;
    uint8_t order[WDL_BAG_OPS];
    size_t bytes = bag->args.remote.bytes, operands = (size_t) bag->n * bytes;
    int64_t disp[WDL_BAG_OPS];
    bag->sorted = 1;
    if (!order_of(bag, area, order))
        return;
    for (int i = 0; i < bag->n; i++) {
        disp[i] = disp_of(area, order[i]);
        memcpy(win->rma->stage + (size_t) i * bytes, wdl_bag_operands(area) + order[i] * bytes,
               bytes);
    }
    memcpy(area, disp, (size_t) bag->n * sizeof(disp[0]));
    memcpy(wdl_bag_operands(area), win->rma->stage, operands);
}

/* The places of those from the first on that are exposed; or why the first is not. */
static int places_of(struct wdl_win *win, const char *area, struct wdl_piece *places, int *n_out)
{
    struct wdl_bag *bag = &win->mailbox.bag;
    size_t bytes = bag->args.remote.bytes;
    int n = 0, status = WDL_OK;
    for (; bag->first + n < bag->n; n++) {
        char *at = place_of(bag, disp_of(area, bag->first + n));
        status = wdl_copy_exposed(win, bag->args.target, bag->control, (uintptr_t) at, bytes);
        if (status != WDL_OK)
            break;
        places[n] = (struct wdl_piece){at, bytes};
    }
    *n_out = n;
    return n > 0 ? WDL_OK : status;
}

/* So many more of them have been done. */
static void went(struct wdl_win *win, int n)
{
    win->mailbox.bag.first += n;
    win->stats.ops_mailed -= (uint64_t) n;
    win->stats.ops_copied += (uint64_t) n;
}

/* From the first on, together as far as they are exposed. What cannot be reached fails alone. */
static int run_outside(struct wdl_win *win)
{
    struct wdl_bag *bag = &win->mailbox.bag;
    struct wdl_piece places[WDL_BAG_OPS];
    char *area = wdl_mail_control(win)->area.data;
    size_t bytes = bag->args.remote.bytes;
    if (!bag->sorted)
        sort(win, area);
    win->quick.stored = 1;
    while (bag->first < bag->n) {
        int n, status = places_of(win, area, places, &n);
        if (status == WDL_OK)
            status = wdl_outside_pieces(win, &bag->args, bag->control, &bag->info, places, n,
                                        wdl_bag_operands(area) + (size_t) bag->first * bytes,
                                        &bag->done);
        went(win, (int) (bag->done / bytes));
        bag->done %= bytes;
        if (status == WDL_AGAIN)
            return WDL_AGAIN;
        if (status == WDL_OK)
            continue;
        wdl_win_fail(win, status);
        bag->done = 0;
        went(win, 1);
    }
    bag_empty(win);
    return WDL_OK;
}

/* The next one, as it was put in: the node shares the area. */
static int is_sound(const struct wdl_win *win, const struct wdl_bag_move *move)
{
    const struct wdl_bag *bag = &win->mailbox.bag;
    uint64_t at;
    return move->bytes <= WDL_BAG_EACH && wdl_bag_length(move->bytes) <= bag->used - bag->done &&
           (bag->args.kind == WDL_RMA_PUT || move->bytes == win->rma->got[bag->first].bytes) &&
           (bag->info.bytes == UINT64_MAX ||
            wdl_rank_holds(&bag->info, move->disp, move->bytes, &at));
}

/* Puts and gets that are not handed over are a batch's. A failure is that of one. */
static int moves_outside(struct wdl_win *win)
{
    struct wdl_bag *bag = &win->mailbox.bag;
    struct wdl_rma_args args = bag->args;
    int puts = args.kind == WDL_RMA_PUT;
    for (; bag->first < bag->n; went(win, 1)) {
        struct wdl_bag_move move;
        char *at = wdl_mail_control(win)->area.data + bag->done;
        memcpy(&move, at, sizeof(move));
        if (!is_sound(win, &move)) {
            wdl_win_fail(win, WDL_ERR_PROTO);
            break;
        }
        void *local = puts ? at + sizeof(move) : win->rma->got[bag->first].base;
        uint64_t there = (uint64_t) (uintptr_t) place_of(bag, move.disp);
        args.remote = (struct wdl_buf){.bytes = move.bytes, .contig = 1};
        args.origin = (struct wdl_buf){.addr = local, .bytes = move.bytes, .contig = 1};
        int status = wdl_copy_exposed(win, args.target, bag->control, there, move.bytes);
        if (status == WDL_OK)
            status = wdl_batch_op(win, &args, bag->control, there);
        if (status == WDL_AGAIN)
            return WDL_AGAIN;
        if (status != WDL_OK)
            wdl_win_fail(win, status);
        win->quick.stored |= puts;
        bag->done += wdl_bag_length(move.bytes);
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
    int moves = bag->args.kind != WDL_RMA_ACC;
    mail->kind = moves ? WDL_MAIL_BAG_MOVES : WDL_MAIL_BAG;
    mail->rop = moves ? bag->args.kind == WDL_RMA_PUT : (uint8_t) bag->args.op;
    mail->host_type = bag->args.element.host_type;
    mail->is_rows = 0;
    mail->bytes = (uint32_t) (moves ? bag->used : bag->args.remote.bytes);
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
    if (!bag->posted && wdl_mailbox_under_way(win)) /* a long one for another rank has the cells */
        return WDL_AGAIN;
    int waits = !wdl_mail_is_crowded(win, bag->control) && !wdl_mail_is_away(win, bag->args.target);
    if (!bag->posted && !bag->outside && !(waits && bag_post(win)))
        bag->outside = 1;
    if (bag->posted && wdl_mailbox_settle(win) != WDL_OK)
        return WDL_AGAIN;
    if (!bag->outside)
        return WDL_OK;
    return bag->args.kind == WDL_RMA_ACC ? run_outside(win) : moves_outside(win);
}

void wdl_bag_answered(struct wdl_win *win, int status)
{
    struct wdl_bag *bag = &win->mailbox.bag;
    bag->posted = 0;
    bag->outside = status != WDL_OK;    /* what is wrong is found there */
    if (status == WDL_OK && bag->args.kind == WDL_RMA_GET)
        results_take(win);
    if (status == WDL_OK)
        bag_empty(win);
}
