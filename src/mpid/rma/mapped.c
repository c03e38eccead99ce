/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The mapped path: the target's memory is in this address space. Loads, stores and CPU atomics; done in the call; no
 * operation element.
 */
#include <string.h>
#include "mpid/rma/accumulate.h"
#include "mpid/rma/win_impl.h"

/* One derived layout against another, through the scratch buffer. */
static void copy_typed(struct wdl_rma *rma, const struct wdl_buf *from, const void *from_addr,
                       const struct wdl_buf *to, void *to_addr, size_t bytes)
{
    const struct wdl_host *host = &rma->proc->host;
    for (size_t offset = 0; offset < bytes;) {
        size_t n = bytes - offset < rma->chunk_bytes ? bytes - offset : rma->chunk_bytes;
        n = host->ops->pack(host->ctx, from_addr, from->count, from->type, offset, rma->scratch, n);
        wdl_assert_cmp(n, >, 0);
        host->ops->unpack(host->ctx, to_addr, to->count, to->type, offset, rma->scratch, n);
        offset += n;
    }
}

static void copy(struct wdl_rma *rma, const struct wdl_buf *from, const void *from_addr,
                 const struct wdl_buf *to, void *to_addr, size_t bytes)
{
    const struct wdl_host *host = &rma->proc->host;
    const char *src = (const char *) from_addr + from->lo;
    char *dst = (char *) to_addr + to->lo;
    if (from->contig && to->contig)
        memmove(dst, src, bytes);
    else if (from->contig)
        host->ops->unpack(host->ctx, to_addr, to->count, to->type, 0, src, bytes);
    else if (to->contig)
        host->ops->pack(host->ctx, from_addr, from->count, from->type, 0, dst, bytes);
    else
        copy_typed(rma, from, from_addr, to, to_addr, bytes);
}

/* One stretch [offset, offset + n) of an accumulate; the scratch buffer holds what has to be packed or unpacked. */
static int accumulate_step(struct wdl_win *win, const struct wdl_rma_args *args, char *base,
                           struct wdl_win_control *control, size_t offset, size_t n)
{
    struct wdl_rma *rma = win->rma;
    const struct wdl_host *host = &win->proc->host;
    struct wdl_piece one = { base + args->remote.lo + offset, n }, *pieces = &one;
    const char *in = NULL;
    char *out = NULL;
    int npieces = 1;
    if (!args->remote.contig) {
        pieces = rma->pieces;
        npieces = host->ops->pieces(host->ctx, base, args->remote.count, args->remote.type, offset, n,
                                    pieces, WDL_RMA_PIECES);
    }
    if (args->op != WDL_ROP_NO_OP && args->origin.contig) {
        in = (const char *) args->origin.addr + args->origin.lo + offset;
    } else if (args->op != WDL_ROP_NO_OP) {
        host->ops->pack(host->ctx, args->origin.addr, args->origin.count, args->origin.type, offset,
                        rma->scratch, n);
        in = rma->scratch;
    }
    if (args->kind == WDL_RMA_GET_ACC)
        out = args->result.contig ? (char *) args->result.addr + args->result.lo + offset :
            rma->scratch + WDL_RMA_PIECES;
    int status = wdl_accumulate(host, control, args->op, &args->element, pieces, npieces, in, out);
    if (status == WDL_OK && out && !args->result.contig)
        host->ops->unpack(host->ctx, args->result.addr, args->result.count, args->result.type, offset,
                          out, n);
    return status;
}

static int accumulate(struct wdl_win *win, const struct wdl_rma_args *args, char *base,
                      struct wdl_win_control *control)
{
    size_t step = WDL_RMA_PIECES - WDL_RMA_PIECES % args->element.packed_bytes;
    int plain = args->remote.contig && args->origin.contig &&
        (args->kind == WDL_RMA_ACC || args->result.contig);
    if (plain)
        step = args->remote.bytes;
    for (size_t offset = 0; offset < args->remote.bytes;) {
        size_t n = args->remote.bytes - offset < step ? args->remote.bytes - offset : step;
        int status = accumulate_step(win, args, base, control, offset, n);
        /* Refused at the start: the caller comes back. Later, what is done cannot be undone: try again at once; a
         * region lock is held by a running process for the time of one such step. */
        if (status == WDL_AGAIN && offset == 0)
            return WDL_AGAIN;
        if (status == WDL_OK)
            offset += n;
    }
    return WDL_OK;
}

int wdl_mapped_op(struct wdl_win *win, const struct wdl_rma_args *args, char *base,
                  struct wdl_win_control *control, int64_t disp_unit)
{
    const struct wdl_host *host = &win->proc->host;
    char *at = base + args->disp * disp_unit;
    switch (args->kind) {
        case WDL_RMA_PUT:
            copy(win->rma, &args->origin, args->origin.addr, &args->remote, at, args->remote.bytes);
            return WDL_OK;
        case WDL_RMA_GET:
            copy(win->rma, &args->remote, at, &args->origin, args->origin.addr, args->remote.bytes);
            return WDL_OK;
        case WDL_RMA_CAS:
            return wdl_compare_swap(host, control, &args->element, at + args->remote.lo, args->compare,
                                    args->origin.addr, args->result.addr);
        default:
            return accumulate(win, args, at, control);
    }
}
