/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The mapped path: the target's memory is in this address space. Loads, stores and CPU atomics;
 * done in the call; no operation element.
 */
#include <string.h>
#include "base/copy.h"
#include "base/line.h"
#include "mpid/rma/accumulate.h"
#include "mpid/rma/crowd.h"
#include "mpid/rma/joint.h"
#include "mpid/rma/kernel.h"
#include "mpid/rma/rows.h"
#include "mpid/rma/win_impl.h"
#include "mpid/rma/word.h"

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

/* Are both such blocks, or one those and the other bytes in a row? */
static int as_rows(const struct wdl_host *host, const struct wdl_buf *from, const void *from_addr,
                   const struct wdl_buf *to, void *to_addr, size_t bytes, struct wdl_rows *src,
                   struct wdl_rows *dst)
{
    int from_rows = wdl_rows_of(host, from, from_addr, bytes, src);
    int to_rows = wdl_rows_of(host, to, to_addr, bytes, dst);
    if (from->contig && to_rows)
        *src = wdl_rows_packed((char *) (uintptr_t) from_addr + from->lo, dst);
    else if (to->contig && from_rows)
        *dst = wdl_rows_packed((char *) to_addr + to->lo, src);
    else
        return from_rows && to_rows && src->bytes == dst->bytes;
    return 1;
}

void wdl_mapped_copy(struct wdl_rma *rma, const struct wdl_buf *from, const void *from_addr,
                     const struct wdl_buf *to, void *to_addr, size_t bytes)
{
    const struct wdl_host *host = &rma->proc->host;
    const char *src = (const char *) from_addr + from->lo;
    char *dst = (char *) to_addr + to->lo;
    struct wdl_rows src_rows, dst_rows;
    if (from->contig && to->contig)
        wdl_copy(dst, src, bytes);
    else if (as_rows(host, from, from_addr, to, to_addr, bytes, &src_rows, &dst_rows))
        wdl_rows_copy(&dst_rows, &src_rows);
    else if (from->contig)
        host->ops->unpack(host->ctx, to_addr, to->count, to->type, 0, src, bytes);
    else if (to->contig)
        host->ops->pack(host->ctx, from_addr, from->count, from->type, 0, dst, bytes);
    else
        copy_typed(rma, from, from_addr, to, to_addr, bytes);
}

/* One stretch [offset, offset + n) of an accumulate, from its byte *done on; the scratch buffer
 * holds what has to be packed or unpacked. */
static int accumulate_step(struct wdl_win *win, const struct wdl_rma_args *args, char *base,
                           const struct wdl_domain *domain, size_t offset, size_t n, size_t *done)
{
    struct wdl_rma *rma = win->rma;
    const struct wdl_host *host = &win->proc->host;
    struct wdl_piece one = { base + args->remote.lo + offset, n }, *pieces = &one;
    const char *in = NULL;
    char *out = NULL;
    int npieces = 1;
    if (!args->remote.contig) {
        pieces = rma->pieces;
        npieces = host->ops->pieces(host->ctx, base, args->remote.count, args->remote.type, offset,
                                    n, pieces, WDL_RMA_PIECES);
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
    size_t before = *done;
    int status = wdl_accumulate(domain, args->op, &args->element, pieces, npieces, in, out, done);
    if (status == WDL_OK)
        *done = n;
    if (out && !args->result.contig && *done > before)
        host->ops->unpack(host->ctx, args->result.addr, args->result.count, args->result.type,
                          offset + before, out + before, *done - before);
    return status;
}

/* Are both sides of an accumulate blocks evenly apart (wdl_accumulate_rows)? */
static int is_rows(const struct wdl_host *host, const struct wdl_rma_args *args, char *base,
                   struct wdl_rows *target, struct wdl_rows *in)
{
    const struct wdl_buf *remote = &args->remote, *origin = &args->origin;
    if (args->kind != WDL_RMA_ACC || args->op == WDL_ROP_NO_OP ||
        !wdl_rows_of(host, remote, base, remote->bytes, target))
        return 0;
    if (origin->contig)
        *in = wdl_rows_packed((char *) origin->addr + origin->lo, target);
    else if (!wdl_rows_of(host, origin, origin->addr, remote->bytes, in))
        return 0;
    return in->bytes == target->bytes && in->count == target->count && in->stride >= 0 &&
           wdl_rows_have(target, &args->element);
}

static size_t elements(const struct wdl_rma_args *args)
{
    return args->remote.bytes / args->element.packed_bytes;
}

/* Are all sides of an accumulate arrays of elements that no instruction updates? */
static int is_array(const struct wdl_rma_args *args, const char *base)
{
    wdl_type type = args->element.host_type;
    int gets = args->kind == WDL_RMA_GET_ACC;
    return !wdl_kernel_has(&args->element) && args->remote.type == type &&
        (args->op == WDL_ROP_NO_OP || args->origin.type == type) &&
        (!gets || args->result.type == type) &&
        wdl_are_arrays(&args->element, args->op, base, args->origin.addr,
                       gets ? args->result.addr : NULL, elements(args));
}

/* args->done: bytes of whole steps that are done, and bytes within the step under way. */
static int accumulate(struct wdl_win *win, struct wdl_rma_args *args, char *base,
                      const struct wdl_domain *domain)
{
    size_t step = WDL_RMA_PIECES - WDL_RMA_PIECES % args->element.packed_bytes;
    struct wdl_rows target, in;
    if (!domain->outside && is_array(args, base))
        return wdl_accumulate_array(domain, args->op, &args->element, base, args->origin.addr,
                                    args->kind == WDL_RMA_GET_ACC ? args->result.addr : NULL,
                                    elements(args), &args->done);
    if (!domain->outside && is_rows(&win->proc->host, args, base, &target, &in))
        return wdl_accumulate_rows(domain, args->op, &args->element, &target, &in, &args->done);
    int plain = args->remote.contig && args->origin.contig &&
        (args->kind == WDL_RMA_ACC || args->result.contig);
    if (plain)
        step = args->remote.bytes;
    while (args->done < args->remote.bytes) {
        size_t inside = args->done % step, offset = args->done - inside;
        size_t n = args->remote.bytes - offset < step ? args->remote.bytes - offset : step;
        int status = accumulate_step(win, args, base, domain, offset, n, &inside);
        args->done = offset + inside;
        if (status != WDL_OK)
            return status;
    }
    return WDL_OK;
}

int wdl_update_op(struct wdl_win *win, struct wdl_rma_args *args, char *at,
                  const struct wdl_domain *domain)
{
    if (args->kind != WDL_RMA_CAS)
        return accumulate(win, args, at, domain);
    return wdl_compare_swap(domain, &args->element, at + args->remote.lo, args->compare,
                            args->origin.addr, args->result.addr);
}

/* A long one in blocks of which the target may do a part (joint.h). */
static int blocks_by_target(struct wdl_win *win, struct wdl_rma_args *args, char *at)
{
    const struct wdl_buf *local = &args->origin, *remote = &args->remote;
    struct wdl_joint joint = {.put = args->kind == WDL_RMA_PUT, .rank = args->target};
    if (remote->bytes < WDL_JOINT_MAPPED ||
        !as_rows(&win->proc->host, remote, at, local, local->addr, remote->bytes, &joint.far,
                 &joint.near) || joint.far.bytes < WDL_JOINT_BLOCK)
        return WDL_ERR_UNSUPPORTED;
    return wdl_joint_blocks(win, &joint, &args->done);
}

/* One of which the target may do all, or a part: WDL_ERR_UNSUPPORTED: it is none. */
static int by_target(struct wdl_win *win, struct wdl_rma_args *args, char *at)
{
    const struct wdl_buf *local = &args->origin, *remote = &args->remote;
    int put = args->kind == WDL_RMA_PUT;
    if (args->kind > WDL_RMA_GET)
        return WDL_ERR_UNSUPPORTED;
    if (!remote->contig || !local->contig)
        return blocks_by_target(win, args, at);
    char *here = (char *) local->addr + local->lo;
    if (put && args->done == 0 && remote->bytes >= WDL_PULL_MAPPED &&
        wdl_pull_mapped(win, args->target, at + remote->lo, here, remote->bytes))
        return WDL_OK;
    return remote->bytes < WDL_JOINT_MAPPED ? WDL_ERR_UNSUPPORTED :
        wdl_joint_mapped(win, put, args->target, at + remote->lo, here, remote->bytes, &args->done);
}

static void put(struct wdl_win *win, const struct wdl_rma_args *args, char *at)
{
    const struct wdl_buf *from = &args->origin, *to = &args->remote;
    if (from->contig && to->contig)
        wdl_quick_store(win, args->target, at + to->lo, (const char *) from->addr + from->lo,
                        to->bytes);
    else
        wdl_mapped_copy(win->rma, from, from->addr, to, at, to->bytes);
}

int wdl_mapped_op(struct wdl_win *win, struct wdl_rma_args *args, char *base,
                  struct wdl_win_control *control, int64_t disp_unit)
{
    struct wdl_domain domain;
    /* a dynamic window's base is no address, and its displacements are */
    char *at = (char *) ((uintptr_t) base + (uintptr_t) (args->disp * disp_unit));
    int status = by_target(win, args, at);
    if (status != WDL_ERR_UNSUPPORTED)
        return status;
    switch (args->kind) {
        case WDL_RMA_PUT:
            put(win, args, at);
            return WDL_OK;
        case WDL_RMA_GET:
            wdl_mapped_copy(win->rma, &args->remote, at, &args->origin, args->origin.addr,
                            args->remote.bytes);
            return WDL_OK;
        default:
            wdl_win_domain(win, args->target, base, control, &domain);
            if (wdl_win_is_sole(win, args->target)) {
                domain.sole = 1;
                domain.network = 0;
            }
            win->quick.stored |= args->op != WDL_ROP_NO_OP;
            return wdl_update_op(win, args, at, &domain);
    }
}

/* --- the short way ---------------------------------------------------------------------------- */

/* What overlaps (the origin may be a window's memory, too) goes as memmove does it. */
void wdl_quick_store_long(struct wdl_win *win, int rank, char *at, const void *from, size_t bytes)
{
    uintptr_t to = (uintptr_t) at, of = (uintptr_t) from;
    if (bytes < WDL_COPY_LONG || to - of < bytes || of - to < bytes)
        wdl_copy_long(at, from, bytes);
    else
        wdl_bypass_copy(wdl_bypass_for(win, rank), at, from, bytes);
}

/* Aligned elements within one region: their address and the region; or NULL where the full path is
 * to decide. */
static inline char *region_reach(struct wdl_win *win, int rank, int64_t disp, size_t bytes,
                                 const struct wdl_element *el, int *region_out)
{
    struct wdl_win_quick *q = &win->quick;
    char *at;
    if (!wdl_kernel_has(el) || !wdl_quick_reach(q, rank, disp, bytes, &at))
        return NULL;
    uintptr_t from = (uintptr_t) (at - q->base) - q->place[rank].offset,
              region = from / WDL_REGION_BYTES;
    *region_out = (int) (region % WDL_WIN_REGIONS);
    if (((uintptr_t) at & (el->packed_bytes - 1)) == 0 &&
        region == (from + bytes - 1) / WDL_REGION_BYTES)
        return at;
    q->ops--;
    return NULL;
}

/* Begin a short update: its address, or NULL. */
wdl_line_begins
static inline char *short_begin(struct wdl_win *win, int rank, int64_t disp, size_t bytes,
                         const struct wdl_element *el)
{
    int region;
    char *at = region_reach(win, rank, disp, bytes, el, &region);
    if (at && wdl_short_begin(win->quick.own, win->quick.own_bit,
                              &win->params.node[rank], rank, region) != WDL_OK) {
        win->quick.ops--;
        at = NULL;
    }
    return at;
}

/* The plain loop of this type, which is not WIDE, and operator: as a rule they are those of the
 * last time. */
static inline wdl_kernel_fn plain_loop(struct wdl_rma *rma, const struct wdl_element *el,
                                       enum wdl_rop op)
{
    struct wdl_last_loop *last = &rma->last_loop;
    if (last->basic != el->basic || last->op != op)
        *last = (struct wdl_last_loop) {el->basic, op, wdl_kernel_find(el, op)->plain};
    return last->plain;
}

/* Doubles, two at a time. out may be NULL. */
__attribute__((always_inline))
static inline void add_doubles(char *at, const char *in, char *out, size_t count)
{
    typedef double pair __attribute__((vector_size(2 * sizeof(double))));
    pair sum, term;
    double last, last_term;
    const char *end = in + count / 2 * sizeof(pair);
    for (; in < end; in += sizeof(pair), at += sizeof(pair)) {
        memcpy(&sum, at, sizeof(sum));
        memcpy(&term, in, sizeof(term));
        if (out) {
            memcpy(out, &sum, sizeof(sum));
            out += sizeof(sum);
        }
        sum += term;
        if (__builtin_expect(isunordered(sum[0], sum[1]), 0))
            sum = (pair){wdl_one_nan_f64(sum[0]), wdl_one_nan_f64(sum[1])};
        memcpy(at, &sum, sizeof(sum));
    }
    if (count % 2) {
        memcpy(&last, at, sizeof(last));
        memcpy(&last_term, in, sizeof(last_term));
        if (out)
            memcpy(out, &last, sizeof(last));
        last = wdl_one_nan_f64(last + last_term);
        memcpy(at, &last, sizeof(last));
    }
}

/* Sums of a few doubles without a call; 0: they are something else. */
static inline int add_few_doubles(const struct wdl_element *el, enum wdl_rop op, char *at,
                                  const char *in, char *out, size_t count)
{
    if (op != WDL_ROP_SUM || el->basic != WDL_BASIC_F64 || count > WDL_DOUBLES_MAX)
        return 0;
    if (out)
        add_doubles(at, in, out, count);
    else
        add_doubles(at, in, NULL, count);
    return 1;
}

/* Few elements, by atomic instructions. Apart: what has to be saved for one way is not for the
 * other. */
__attribute__((noinline))
static int few_update(struct wdl_win *win, int rank, int64_t disp, size_t count, enum wdl_rop op,
                      const struct wdl_element *el, const void *in, void *out)
{
    char *at = short_begin(win, rank, disp, count * el->packed_bytes, el);
    if (!at)
        return WDL_AGAIN;
    const struct wdl_kernel_call call = { &win->proc->host, el, op };
    wdl_kernel_atomic(el, op) (&call, at, in, out, count);
    wdl_short_end(win->quick.own);
    return WDL_OK;
}

/* Can they be updated short as well as by closing their region? */
static inline int is_few(const struct wdl_element *el, enum wdl_rop op, size_t count)
{
    return count <= WDL_CROWD_FEW && !wdl_is_one_thing(el, op, count);
}

/* Does the host have that operator of this type? As a rule they are those of the last time. */
static inline int host_has(struct wdl_win *win, const struct wdl_element *el, enum wdl_rop op)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_last_op *last = &win->rma->last_op, this = {el->host_type, op + 1};
    if (last->host_type == this.host_type && last->op == this.op)
        return 1;
    if (!host->ops->op_valid(host->ctx, el->host_type, op))
        return 0;
    *last = this;
    return 1;
}

/* Lock what an element without an instruction, or an array of them, lies in: the stripes to unlock;
 * 0: somebody has one. */
static inline uint64_t wide_lock(struct wdl_win *win, struct wdl_win_control *control,
                                 const char *at, size_t bytes)
{
    if (!wdl_crowd_is(&win->wide_crowd)) {
        if (wdl_stripes_lock_at_once(control, WDL_STRIPES_ALL)) {
            wdl_crowd_met_nobody(&win->wide_crowd);
            return WDL_STRIPES_ALL;
        }
        wdl_crowd_met(&win->wide_crowd);
    }
    uint64_t set = wdl_stripes_of(at, bytes);
    return wdl_stripes_lock_at_once(control, set) ? set : 0;
}

wdl_line_begins
int wdl_win_accumulate_wide(struct wdl_win *win, int rank, int64_t disp, size_t count,
                            enum wdl_rop op, const struct wdl_element *el, const void *in,
                            void *out)
{
    enum { WIDE_BYTES = 4096 };
    struct wdl_win_quick *q = &win->quick;
    struct wdl_win_control *control = &win->params.node[rank];
    size_t bytes = count * el->extent;
    uint64_t set = 0;
    char *at;
    if (count - 1 >= WIDE_BYTES || bytes > WIDE_BYTES || !host_has(win, el, op) ||
        !wdl_quick_reach(q, rank, disp, bytes, &at))
        return WDL_AGAIN;
    /* before the lock, for what is loaded behind it waits for it */
    const struct wdl_host host = win->proc->host;
    int (*reduce) (void *ctx, uint32_t host_type, enum wdl_rop op, const void *in, void *inout,
                   int64_t count) = host.ops->reduce;
    uint32_t type = el->host_type;
    if (!wdl_are_arrays(el, op, at, in, out, count) ||
        (!q->sole && (set = wide_lock(win, control, at, bytes)) == 0)) {
        q->ops--;
        return WDL_AGAIN;
    }
    if (__builtin_expect(!out && op < WDL_ROP_REPLACE, 1))
        reduce(host.ctx, type, op, in, at, (int64_t) count);
    else
        wdl_array_update(&win->proc->host, op, el, at, in, out, count);
    q->stored = 1;              /* what unlocks them all is no barrier */
    if (set != 0)
        wdl_stripes_unlock(control, set);
    return WDL_OK;
}

/* Several elements whose region has not been closed. Many the full path waits for, and raises the
 * mode for. */
__attribute__((noinline))
static int not_closed(struct wdl_win *win, int rank, int64_t disp, size_t count, enum wdl_rop op,
                      const struct wdl_element *el, const void *in, void *out)
{
    struct wdl_win_control *control = &win->params.node[rank];
    struct wdl_domain domain;
    int raised = wdl_bulk_is_raised(control, win->params.node_count);
    if (raised)
        wdl_crowd_met(&win->crowd);
    if (!is_few(el, op, count) || (!raised && count >= WDL_BULK_MIN))
        return WDL_AGAIN;
    if (!raised && wdl_crowd_raises(&win->crowd, count, win->quick.ops + 1)) {
        const char *base = win->quick.base + win->quick.place[rank].offset;
        wdl_win_domain(win, rank, base, control, &domain);
        wdl_bulk_raise(&domain, 0);
    }
    return few_update(win, rank, disp, count, op, el, in, out);
}

/* Those that have announced are met, for to look at them is what costs; and forgotten, so that it
 * shows whether they still do. */
__attribute__((noinline))
static void others_met(struct wdl_win *win, struct wdl_win_control *control, int held)
{
    wdl_shorts_forget(control, win->params.node, win->params.node_count, held);
    wdl_crowd_met(&win->crowd);
}

/* What only writes or only reads is a copy. */
static inline int copied(enum wdl_rop op, char *at, const void *in, void *out, size_t bytes)
{
    const void *from = op == WDL_ROP_REPLACE ? in : at;
    void *to = op == WDL_ROP_REPLACE ? at : out;
    if ((op != WDL_ROP_REPLACE || out) && (op != WDL_ROP_NO_OP || !out))
        return 0;
    if (__builtin_expect(bytes < WDL_COPY_SHORT, 1))
        wdl_copy_short(to, from, bytes);
    else
        wdl_copy_long(to, from, bytes);
    return 1;
}

/* Several elements, within one region. Inlined for what is known of them. */
__attribute__((always_inline))
static inline int bulk_update_of(struct wdl_win *win, int rank, int64_t disp, size_t count,
                                 enum wdl_rop op, const struct wdl_element *el, const void *in,
                                 void *out)
{
    const struct wdl_win_params *params = &win->params;
    int region;
    uint64_t most = params->hints.acc_granularity, bytes = count * el->packed_bytes;
    if (__builtin_expect(most > 0, 0) && bytes > most && !wdl_is_one_thing(el, op, count))
        return WDL_AGAIN;       /* in parts */
    char *at = region_reach(win, rank, disp, bytes, el, &region);
    if (!at)
        return WDL_AGAIN;
    struct wdl_win_control *control = &params->node[rank];
    uint64_t others;
    wdl_assert_cmp(win->quick.own->announced, ==, 0);
    if (!wdl_bulk_begin_at_once(control, params->node, params->node_count, params->node_index, rank,
                                region, &others)) {
        win->quick.ops--;
        return not_closed(win, rank, disp, count, op, el, in, out);
    }
    if (__builtin_expect(others != 0, 0) && is_few(el, op, count))
        others_met(win, control, region);
    else
        wdl_crowd_closed(&win->crowd, control, params->node_index);
    win->quick.stored |= op != WDL_ROP_NO_OP;   /* what opens the region again is no barrier */
    if (!copied(op, at, in, out, bytes) && !add_few_doubles(el, op, at, in, out, count)) {
        const struct wdl_kernel_call call = { &win->proc->host, el, op };
        plain_loop(win->rma, el, op)(&call, at, in, out, count);
    }
    wdl_bulk_end_at(control, region);
    return WDL_OK;
}

/* Apart, so that one element saves no registers for it. */
__attribute__((noinline))
static int bulk_update(struct wdl_win *win, int rank, int64_t disp, size_t count, enum wdl_rop op,
                       const struct wdl_element *el, const void *in, void *out)
{
    return bulk_update_of(win, rank, disp, count, op, el, in, out);
}

/* Is there a loop of the type's own for the operator, or one for all of its width? */
static inline int is_plain_op(const struct wdl_element *el, enum wdl_rop op)
{
    if (el->basic >= WDL_BASIC_I8 && el->basic <= WDL_BASIC_U64)
        return op != WDL_ROP_MINLOC && op != WDL_ROP_MAXLOC;
    return el->basic != WDL_BASIC_WIDE &&
        (op == WDL_ROP_REPLACE || op == WDL_ROP_NO_OP ||
         (op <= WDL_ROP_MAX && (el->basic == WDL_BASIC_F32 || el->basic == WDL_BASIC_F64)));
}

/* Is their region to be closed for several elements, as in wdl_is_bulk, but from two on? */
static inline int closes(const struct wdl_win *win, const struct wdl_element *el, enum wdl_rop op,
                         size_t count)
{
    uint64_t most = win->params.hints.acc_granularity;
    return count > 1 && (__builtin_expect(most == 0, 1) ||
                         most >= WDL_BULK_MIN * el->packed_bytes ||
                         wdl_is_one_thing(el, op, count));
}

/* Where nobody else updates: apart, and asked for first, so that others pay for one look alone.
 * Aligned elements, wherever regions end; or NULL. */
static inline char *sole_reach(struct wdl_win *win, int rank, int64_t disp, size_t bytes,
                               const struct wdl_element *el)
{
    struct wdl_win_quick *q = &win->quick;
    char *at;
    if (!wdl_kernel_has(el) || !wdl_quick_reach(q, rank, disp, bytes, &at))
        return NULL;
    if (((uintptr_t) at & (el->packed_bytes - 1)) == 0)
        return at;
    q->ops--;
    return NULL;
}

/* What is longer than a region takes the full path, where it is counted as long. */
__attribute__((noinline))
static int sole_accumulate(struct wdl_win *win, int rank, int64_t disp, size_t count,
                           enum wdl_rop op, const struct wdl_element *el, const void *in, void *out)
{
    if (count * el->packed_bytes > WDL_REGION_BYTES)
        return WDL_AGAIN;
    char *at = sole_reach(win, rank, disp, count * el->packed_bytes, el);
    if (!at)
        return WDL_AGAIN;
    win->quick.stored = 1;
    if (!add_few_doubles(el, op, at, in, out, count)) {
        const struct wdl_kernel_call call = { &win->proc->host, el, op };
        plain_loop(win->rma, el, op)(&call, at, in, out, count);
    }
    return WDL_OK;
}

static inline uint64_t add_plainly(int basic, uint64_t *word, const void *in)
{
    uint64_t old = *word, term;
    memcpy(&term, in, sizeof(term));
    if (basic == WDL_BASIC_F64) {
        double sum, by;
        memcpy(&sum, &old, sizeof(sum));
        memcpy(&by, &term, sizeof(by));
        sum = wdl_one_nan_f64(sum + by);
        memcpy(word, &sum, sizeof(sum));
    } else
        *word = old + term;
    return old;
}

__attribute__((noinline))
static int sole_update_one(struct wdl_win *win, int rank, int64_t disp, enum wdl_rop op,
                           const struct wdl_element *el, const void *in, void *out)
{
    if (__builtin_expect(op != WDL_ROP_SUM || !wdl_word_is_summed(el), 0))
        return wdl_win_accumulate_short(win, rank, disp, 1, op, el, in, out);
    char *at = sole_reach(win, rank, disp, el->packed_bytes, el);
    if (!at)
        return WDL_AGAIN;
    win->quick.stored = 1;
    uint64_t old = add_plainly(el->basic, (uint64_t *) (void *) at, in);
    if (out)
        memcpy(out, &old, sizeof(old));
    return WDL_OK;
}

__attribute__((noinline))
static int sole_swap(struct wdl_win *win, int rank, int64_t disp, const struct wdl_element *el,
                     const void *compare, const void *value, void *result)
{
    char *at = sole_reach(win, rank, disp, el->packed_bytes, el);
    if (!at)
        return WDL_AGAIN;
    win->quick.stored = 1;
    wdl_kernel_swap_plain(el->packed_bytes, at, compare, value, result);
    return WDL_OK;
}

int wdl_win_accumulate_short(struct wdl_win *win, int rank, int64_t disp, size_t count,
                             enum wdl_rop op, const struct wdl_element *el, const void *in,
                             void *out)
{
    if (count - 1 >= WDL_REGION_BYTES)
        return WDL_AGAIN;
    if (!is_plain_op(el, op) && !wdl_kernel_has(el))
        return wdl_win_accumulate_wide(win, rank, disp, count, op, el, in, out);
    if (!is_plain_op(el, op) && !host_has(win, el, op))
        return WDL_AGAIN;
    if (__builtin_expect(win->quick.sole, 0))
        return sole_accumulate(win, rank, disp, count, op, el, in, out);
    if (closes(win, el, op, count) && !(wdl_crowd_is(&win->crowd) && is_few(el, op, count)))
        return bulk_update(win, rank, disp, count, op, el, in, out);
    return few_update(win, rank, disp, count, op, el, in, out);
}

/* Several elements that are written or read, by a copy. */
__attribute__((always_inline))
static inline int copy_closed(struct wdl_win *win, int rank, int64_t disp, size_t count,
                              enum wdl_rop op, const struct wdl_element *el, const void *in,
                              void *out)
{
    if (__builtin_expect(win->quick.sole || win->crowd.left != 0 ||
                             win->params.hints.acc_granularity != 0 || count < 2 ||
                             count > WDL_REGION_BYTES, 0))
        return wdl_win_accumulate_short(win, rank, disp, count, op, el, in, out);
    return bulk_update_of(win, rank, disp, count, op, el, in, out);
}

wdl_line_begins
int wdl_win_replace(struct wdl_win *win, int rank, int64_t disp, size_t count,
                    const struct wdl_element *el, const void *in)
{
    return copy_closed(win, rank, disp, count, WDL_ROP_REPLACE, el, in, NULL);
}

wdl_line_begins
int wdl_win_read(struct wdl_win *win, int rank, int64_t disp, size_t count,
                 const struct wdl_element *el, void *out)
{
    return copy_closed(win, rank, disp, count, WDL_ROP_NO_OP, el, NULL, out);
}

wdl_line_begins
int wdl_win_sum_doubles(struct wdl_win *win, int rank, int64_t disp, size_t count, const void *in)
{
    static const struct wdl_element doubles = {
        .basic = WDL_BASIC_F64, .packed_bytes = sizeof(double), .extent = sizeof(double)};
    if (__builtin_expect(win->quick.sole || win->crowd.left != 0 ||
                             win->params.hints.acc_granularity != 0, 0))
        return wdl_win_accumulate_short(win, rank, disp, count, WDL_ROP_SUM, &doubles, in,
                                        NULL);
    return bulk_update_of(win, rank, disp, count, WDL_ROP_SUM, &doubles, in, NULL);
}

wdl_line_begins
int wdl_win_update_one(struct wdl_win *win, int rank, int64_t disp, enum wdl_rop op,
                       const struct wdl_element *el, const void *in, void *out)
{
    if (__builtin_expect(win->quick.sole, 0))
        return sole_update_one(win, rank, disp, op, el, in, out);
    if (__builtin_expect(op != WDL_ROP_SUM || !wdl_word_is_summed(el), 0))
        return wdl_win_accumulate_short(win, rank, disp, 1, op, el, in, out);
    char *at = short_begin(win, rank, disp, el->packed_bytes, el);
    if (!at)
        return WDL_AGAIN;
    uint64_t old = wdl_word_add((uint64_t *) (void *) at, el, in);
    if (out)
        memcpy(out, &old, sizeof(old));
    wdl_short_end(win->quick.own);
    return WDL_OK;
}

int wdl_win_swap_short(struct wdl_win *win, int rank, int64_t disp, const struct wdl_element *el,
                       const void *compare, const void *value, void *result)
{
    if (__builtin_expect(win->quick.sole, 0))
        return sole_swap(win, rank, disp, el, compare, value, result);
    char *at = short_begin(win, rank, disp, el->packed_bytes, el);
    if (!at)
        return WDL_AGAIN;
    wdl_kernel_compare_swap(el->packed_bytes, at, compare, value, result);
    wdl_short_end(win->quick.own);
    return WDL_OK;
}
