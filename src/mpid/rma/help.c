/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Long puts and gets on private memory of this node, copied by both sides: most of what such a copy
 * takes is the system's looking up of pages, which two processors do in half the time. The origin
 * posts in the target's mailbox (mailbox.h) what is to be copied, and begins; a target that is in
 * MPI takes it and helps. Both take the next part from a counter in the cell. When none is left and
 * the target has not come, the origin has done it all, and withdraws the call for help; otherwise
 * the copy is over when the target has shown that its last part is.
 */
#include <string.h>
#include "mpid/rma/win_impl.h"

/* Measured: a call of the system costs 1.2 us, 4 KiB .3 us. */
enum { LEAST = 32768, PART = 131072, PAGE = 4096 };

/* Parts until there is none. `here` is this side's memory, rank and `there` the other side's.
 * *left: all bytes, then those that are not this side's. */
static int copy_parts(struct wdl_win *win, struct wdl_mail_help *help, int rank, int to_rank,
                      char *here, char *there, uint64_t part, uint64_t *left)
{
    uint64_t bytes = *left;
    int status = WDL_OK;
    while (status == WDL_OK) {
        uint64_t from = part * __atomic_fetch_add(&help->next, 1, __ATOMIC_RELAXED);
        if (from >= bytes)
            break;
        uint64_t n = bytes - from < part ? bytes - from : part;
        struct wdl_piece mine = {here + from, n}, theirs = {there + from, n};
        status = win->params.copy(win->params.ctx, rank, to_rank, &mine, 1, &theirs, 1);
        *left -= n;
    }
    if (status != WDL_OK)       /* the other side need not go on */
        __atomic_store_n(&help->next, bytes / part + 1, __ATOMIC_RELAXED);
    return status;
}

/* Two parts for the shortest; whole pages. */
static uint64_t part_of(uint64_t bytes)
{
    uint64_t half = (bytes / 2 + PAGE - 1) / PAGE * PAGE;
    return half < PART ? half : PART;
}

int wdl_help_op(struct wdl_win *win, const struct wdl_rma_args *args,
                struct wdl_win_control *control, uint64_t at)
{
    struct wdl_mailbox *box = &win->mailbox;
    uint64_t bytes = args->remote.bytes, part = part_of(bytes);
    char *here = (char *) args->origin.addr + args->origin.lo;
    char *there = (char *) (uintptr_t) (at + (uint64_t) args->remote.lo);
    struct wdl_mail *mail;
    if (!box->on || bytes < LEAST || !args->origin.contig || !args->remote.contig ||
        !__atomic_load_n(&control->mail_open, __ATOMIC_RELAXED) ||
        !wdl_mail_expected(win, args->target, 1) ||
        (mail = wdl_mail_get(win, control)) == NULL)
        return WDL_ERR_UNSUPPORTED;
    mail->origin = (uint32_t) win->params.rank;
    mail->kind = WDL_MAIL_HELP;
    mail->rop = args->kind == WDL_RMA_PUT;
    mail->disp = (int64_t) (uintptr_t) there;
    mail->help = (struct wdl_mail_help){.at = (uint64_t) (uintptr_t) here, .bytes = bytes,
                                        .part = part};
    wdl_mail_post(win, mail, args);
    box->help = 1;
    box->status = copy_parts(win, &mail->help, args->target, args->kind == WDL_RMA_PUT, here,
                             there, part, &bytes);
    if (bytes == 0)             /* of no use, and perhaps dear */
        wdl_mail_missed(win);
    box->late = bytes == 0;
    if (!wdl_mail_withdraw(win))
        return WDL_OK;          /* the target is at it: settled as what is handed over */
    box->withdrawn = 0;
    return box->status;
}

int wdl_help_serve(struct wdl_win *win, struct wdl_mail *mail)
{
    struct wdl_mail_help asked = {.at = mail->help.at, .bytes = mail->help.bytes,
                                  .part = mail->help.part};
    uint64_t at = (uint64_t) mail->disp;
    uint32_t origin = mail->origin;
    if (!win->params.copy || origin >= (uint32_t) win->params.size || asked.part == 0 ||
        asked.bytes > INT64_MAX)
        return WDL_ERR_PROTO;
    if (!wdl_win_exposes(win, at, 0, (int64_t) asked.bytes))
        return WDL_ERR_RANGE;
    return copy_parts(win, &mail->help, (int) origin, !mail->rop, (char *) (uintptr_t) at,
                      (char *) (uintptr_t) asked.at, asked.part, &asked.bytes);
}
