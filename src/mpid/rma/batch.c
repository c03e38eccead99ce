/* Part of Windlass. See COPYRIGHT in the top-level directory. Short puts and gets in one call of
 * the system (batch.h). */
#include <string.h>
#include "mpid/rma/win_impl.h"

static void batch_empty(struct wdl_batch *b)
{
    b->win->batched--;
    b->win->rma->batched--;
    b->win = NULL;
}

int wdl_pieces_add(struct wdl_piece *pieces, int n, const struct wdl_piece *piece)
{
    if (n > 0 && pieces[n - 1].base + pieces[n - 1].bytes == piece->base) {
        pieces[n - 1].bytes += piece->bytes;
        return n;
    }
    pieces[n] = *piece;
    return n + 1;
}

static int run_together(struct wdl_batch *b)
{
    struct wdl_win *win = b->win;
    struct wdl_piece here[WDL_BATCH_OPS], there[WDL_BATCH_OPS];
    int nhere = 0, nthere = 0;
    for (int i = b->first; i < b->n; i++) {
        nhere = wdl_pieces_add(here, nhere, &b->here[i]);
        nthere = wdl_pieces_add(there, nthere, &b->there[i]);
    }
    return win->params.copy(win->params.ctx, b->rank, b->put, here, nhere, there, nthere);
}

/* One after the other, so that one that fails is the only one. */
static int run_singly(struct wdl_batch *b)
{
    struct wdl_win *win = b->win;
    for (; b->first < b->n; b->first++) {
        struct wdl_piece here = b->here[b->first], there = b->there[b->first];
        int status = wdl_copy_exposed(win, b->rank, b->control, (uint64_t) (uintptr_t) there.base,
                                      there.bytes);
        if (status == WDL_OK)
            status = win->params.copy(win->params.ctx, b->rank, b->put, &here, 1, &there, 1);
        if (status == WDL_AGAIN)
            return WDL_AGAIN;
        if (status != WDL_OK)
            wdl_win_fail(win, status);
    }
    return WDL_OK;
}

static uint64_t regions_gone(const struct wdl_win_control *control)
{
    return __atomic_load_n(&control->regions_gone, __ATOMIC_ACQUIRE);
}

static int batch_run(struct wdl_batch *b)
{
    wdl_mail_visit(b->win, b->control);
    /* what was attached when an operation came may have gone */
    if (b->first > 0 || regions_gone(b->control) != b->gone || run_together(b) != WDL_OK) {
        if (run_singly(b) != WDL_OK)
            return WDL_AGAIN;
    }
    batch_empty(b);
    return WDL_OK;
}

int wdl_batch_takes(const struct wdl_win *win, const struct wdl_rma_args *args)
{
    size_t most = args->request ? WDL_BATCH_LONG : WDL_BATCH_SHORT;
    return args->remote.bytes <= most && args->origin.contig && args->remote.contig &&
           args->origin.bytes >= args->remote.bytes &&
           (!args->request || args->kind == WDL_RMA_PUT) &&
           win->params.hints.combine != WDL_COMBINE_NEVER;
}

static int has_room(const struct wdl_batch *b, int put, size_t bytes)
{
    return b->put == put && b->n < WDL_BATCH_OPS && b->gone == regions_gone(b->control) &&
           (!put || b->used + bytes <= sizeof(b->data));
}

/* Is it the same place as the last one's? Then a put takes the place of that one. */
static int is_last(const struct wdl_batch *b, const char *there, size_t bytes)
{
    return b->n > b->first && b->there[b->n - 1].base == there &&
           b->there[b->n - 1].bytes == bytes;
}

static int add(struct wdl_batch *b, int put, uint64_t at, void *local, size_t bytes)
{
    char *there = (char *) (uintptr_t) at, *from = local;
    if (!has_room(b, put, bytes))
        return 0;
    if (b->put && is_last(b, there, bytes)) {
        memcpy(b->here[b->n - 1].base, from, bytes);
        return 1;
    }
    if (b->put) {
        from = memcpy(b->data + b->used, from, bytes);
        b->used += bytes;
    }
    b->here[b->n] = (struct wdl_piece){from, bytes};
    b->there[b->n] = (struct wdl_piece){there, bytes};
    b->n++;
    return 1;
}

int wdl_batch_again(struct wdl_win *win, int rank, int put, uint64_t there, void *local,
                    size_t bytes)
{
    for (struct wdl_batch *b = win->rma->batch; b < win->rma->batch + WDL_BATCHES; b++)
        if (b->win == win && b->rank == rank)
            return add(b, put, there, local, bytes);
    return 0;
}

/* The target's batch; else an empty one; else another target's, which is run for it. NULL: not now.
 */
static struct wdl_batch *batch_find(struct wdl_win *win, int rank)
{
    struct wdl_rma *rma = win->rma;
    struct wdl_batch *empty = NULL;
    for (int i = 0; i < WDL_BATCHES; i++) {
        struct wdl_batch *b = &rma->batch[i];
        if (b->win == win && b->rank == rank)
            return b;
        if (!b->win)
            empty = b;
    }
    if (empty)
        return empty;
    struct wdl_batch *b = &rma->batch[rma->next_batch++ % WDL_BATCHES];
    return batch_run(b) == WDL_OK ? b : NULL;
}

int wdl_batch_op(struct wdl_win *win, const struct wdl_rma_args *args,
                 struct wdl_win_control *control, uint64_t at)
{
    size_t bytes = args->remote.bytes;
    uint64_t there = at + (uint64_t) args->remote.lo;
    char *local = (char *) args->origin.addr + args->origin.lo;
    if (!wdl_batch_takes(win, args))
        return WDL_ERR_UNSUPPORTED;
    struct wdl_batch *b = batch_find(win, args->target);
    int put = args->kind == WDL_RMA_PUT;
    if (b && b->win && !has_room(b, put, bytes) && batch_run(b) != WDL_OK)
        b = NULL;
    if (!b)
        return WDL_AGAIN;
    if (!b->win) {
        b->win = win;
        b->rank = args->target;
        b->put = put;
        b->first = b->n = 0;
        b->used = 0;
        b->control = control;
        b->gone = regions_gone(control);
        win->batched++;
        win->rma->batched++;
    }
    return add(b, put, there, local, bytes) ? WDL_OK : WDL_AGAIN;
}

int wdl_batches_run_now(struct wdl_win *win, int rank, uint64_t stamp)
{
    int older = wdl_is_older(win->mailbox.bag.stamp, stamp);
    int status = older ? wdl_bag_run(win, rank) : WDL_OK;
    if (win->pulls.n > 0 && wdl_pulls_run(win, rank, stamp) != WDL_OK)
        status = WDL_AGAIN;
    for (int i = 0; i < WDL_BATCHES && win->batched > 0; i++) {
        struct wdl_batch *b = &win->rma->batch[i];
        if (b->win == win && (rank < 0 || b->rank == rank) && batch_run(b) != WDL_OK)
            status = WDL_AGAIN;
    }
    return status;
}

int wdl_batches_progress(struct wdl_rma *rma)
{
    int n = rma->bagged && wdl_bag_run(rma->bagged, -1) == WDL_OK;
    for (int i = 0; i < WDL_MAIL_WINDOWS && rma->batched > 0; i++)
        if (rma->mailed[i] && rma->mailed[i]->mailbox.bag.n > 0)
            n += wdl_bag_run(rma->mailed[i], -1) == WDL_OK;
    for (int i = 0; i < WDL_BATCHES && rma->batched > 0; i++)
        n += rma->batch[i].win && batch_run(&rma->batch[i]) == WDL_OK;
    return n;
}
