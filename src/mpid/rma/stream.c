/* Part of Windlass. See COPYRIGHT in the top-level directory. Long operations through a ring of
 * shared memory (stream.h). */
#include "base/copy.h"
#include "mpid/rma/accumulate.h"
#include "mpid/rma/kernel.h"
#include "mpid/rma/stream.h"
#include "mpid/rma/win_impl.h"

enum {
    LEAST = WDL_MAIL_AREA + 1,
    LEAST_GET = WDL_MAIL_AREA / 2 + 1,  /* accumulates with results */
    STEP = 65536,       /* filled in at a time: who fills may have one to empty, too */
    PART_MIN = 4096, PART_MAX = 16384,  /* told of at a time */
    LOOKS = 20          /* a target's, for more to come */
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* So many from there on that both sides work at once, up to the ring's end. */
static uint64_t part_at(uint64_t place, uint64_t bytes)
{
    uint64_t part = bytes / 8 / 64 * 64;
    part = part < PART_MIN ? PART_MIN : least(part, PART_MAX);
    return least(part, WDL_STREAM_BYTES - place % WDL_STREAM_BYTES);
}

/* A stream, as one of its sides sees it. */
struct side {
    struct wdl_stream *stream;
    uint64_t begin, bytes;      /* place of its first byte; how many */
    char *memory;               /* NULL: what goes into the ring does not matter */
};

static uint64_t own_count(const uint64_t *count)
{
    return __atomic_load_n(count, __ATOMIC_RELAXED);
}

static uint64_t other_count(const uint64_t *count)
{
    return __atomic_load_n(count, __ATOMIC_ACQUIRE);    /* pairs with tell */
}

static void tell(uint64_t *count, uint64_t value)
{
    __atomic_store_n(count, value, __ATOMIC_RELEASE);
}

/* A step into the ring, which is free up to the place `freed`: WDL_OK: all bytes are there, AGAIN:
 * not yet. */
static int fill(const struct side *side, uint64_t freed)
{
    struct wdl_stream *s = side->stream;
    uint64_t at = own_count(&s->filled), done = at - side->begin;
    if (done > side->bytes)
        return WDL_ERR_PROTO;
    uint64_t upto = least(done + STEP, side->bytes);
    while (done < upto) {
        uint64_t n = least(part_at(at, side->bytes), upto - done);
        if (at + n - freed > WDL_STREAM_BYTES)
            return WDL_AGAIN;
        if (side->memory)
            wdl_copy_wide(s->ring + at % WDL_STREAM_BYTES, side->memory + done, n);
        at += n;
        done += n;
        tell(&s->filled, at);
    }
    return done < side->bytes ? WDL_AGAIN : WDL_OK;
}

/* How bytes come out of the ring: into memory, or to the elements that are there, old values to
 * take the operands' places if `gets`. */
struct way {
    const struct wdl_kernel_call *fold; /* NULL: into memory */
    int gets;
    const struct wdl_domain *domain;    /* of that memory */
};

/* How many were taken: fewer where somebody else is in that memory. */
static uint64_t take(const struct way *way, char *to, char *from, uint64_t bytes)
{
    const struct wdl_kernel_call *call = way->fold;
    struct wdl_piece one = {to, bytes};
    size_t done = 0;
    if (!call) {
        wdl_copy_wide(to, from, bytes);
        return bytes;
    }
    (void) wdl_accumulate(way->domain, call->op, call->element, &one, 1, from,
                          way->gets ? from : NULL, &done);
    return done;
}

/* Out of the ring, whole elements: WDL_OK: all bytes are, AGAIN: so many looks found nothing. */
static int empty(const struct side *side, const struct way *way, int looks)
{
    struct wdl_stream *s = side->stream;
    uint64_t at = own_count(&s->emptied), done = at - side->begin;
    uint64_t unit = way->fold ? way->fold->element->packed_bytes : 1;
    if (done > side->bytes)
        return WDL_ERR_PROTO;
    while (done < side->bytes) {
        uint64_t there = other_count(&s->filled) - at;
        if (there < unit && looks-- > 0)
            continue;
        if (there < unit)
            return WDL_AGAIN;
        if (there > least(WDL_STREAM_BYTES, side->bytes - done))
            return WDL_ERR_PROTO;
        uint64_t n = least(part_at(at, PART_MAX * 8), there) / unit * unit;
        if (n == 0)     /* an element would lie on both sides of the ring's end */
            return WDL_ERR_PROTO;
        uint64_t taken = take(way, side->memory + done, s->ring + at % WDL_STREAM_BYTES, n);
        at += taken;
        done += taken;
        tell(&s->emptied, at);
        if (taken < n)
            return WDL_AGAIN;
    }
    return WDL_OK;
}

/* --- the origin ------------------------------------------------------------------------------- */

static int is_for_it(const struct wdl_win *win, const struct wdl_rma_args *args, size_t shortest)
{
    return win->mailbox.on && win->params.stream && !win->rma->streaming &&
           args->remote.bytes >= shortest && args->remote.contig;
}

/* Is there a buffer for an accumulate's operands, in one piece, and for its result? */
static int has_buffers(const struct wdl_rma_args *args)
{
    const struct wdl_buf *in = &args->origin, *out = &args->result;
    size_t bytes = args->remote.bytes;
    if (args->kind == WDL_RMA_GET_ACC && (!out->contig || out->bytes < bytes))
        return 0;
    return args->op == WDL_ROP_NO_OP || (in->contig && in->bytes >= bytes);
}

static uint64_t next_place(const struct wdl_stream *s)
{
    return (own_count(&s->filled) + 63) / 64 * 64;
}

/* at: the target's address. */
static void post(struct wdl_win *win, const struct wdl_rma_args *args, struct wdl_mail *mail,
                 struct wdl_stream *stream, uint64_t at)
{
    struct wdl_mailbox *box = &win->mailbox;
    uint64_t begin = mail->stream.begin;
    tell(&stream->emptied, begin);
    tell(&stream->filled, begin);
    mail->origin = (uint32_t) win->params.rank;
    mail->is_rows = 0;
    mail->host_type = args->element.host_type;
    mail->disp = (int64_t) (at + (uint64_t) args->remote.lo);
    wdl_mail_post(win, mail, args);
    box->stream = stream;
    box->begin = box->seen = begin;
    win->rma->streaming = 1;
}

/* Is the target to be asked? */
static int is_expected(struct wdl_win *win, const struct wdl_rma_args *args,
                       const struct wdl_win_control *control)
{
    return __atomic_load_n(&control->mail_open, __ATOMIC_RELAXED) &&
           wdl_mail_expected(win, args, control, args->remote.bytes);
}

/* Its cell and our ring. */
static struct wdl_mail *begin_at(struct wdl_win *win, struct wdl_win_control *control,
                                 struct wdl_stream **stream_out, uint64_t *id_out)
{
    const struct wdl_win_params *params = &win->params;
    *stream_out = params->stream(params->ctx, params->rank, id_out);
    return *stream_out ? wdl_mail_get(win, control) : NULL;
}

int wdl_stream_op(struct wdl_win *win, const struct wdl_rma_args *args,
                  struct wdl_win_control *control, uint64_t at)
{
    struct wdl_stream *stream;
    struct wdl_mail *mail;
    uint64_t id;
    if (!is_for_it(win, args, LEAST) || !args->origin.contig || !is_expected(win, args, control) ||
        !wdl_mail_is_faster(win, args) || (mail = begin_at(win, control, &stream, &id)) == NULL)
        return WDL_ERR_UNSUPPORTED;
    uint64_t begin = next_place(stream);
    mail->kind = WDL_MAIL_STREAM;
    mail->rop = args->kind == WDL_RMA_PUT;
    mail->stream = (struct wdl_mail_stream){.id = id, .begin = begin, .bytes = args->remote.bytes};
    post(win, args, mail, stream, at);
    wdl_stream_move(win);
    return WDL_OK;
}

int wdl_stream_fold(struct wdl_win *win, const struct wdl_rma_args *args, struct wdl_target *t,
                    struct wdl_win_control *control)
{
    struct wdl_stream *stream;
    struct wdl_mail *mail;
    struct wdl_win_rank info;
    uint64_t id, bytes = args->remote.bytes;
    int gets = args->kind == WDL_RMA_GET_ACC;
    if ((args->kind != WDL_RMA_ACC && !gets) || !is_for_it(win, args, gets ? LEAST_GET : LEAST) ||
        !has_buffers(args) || !win->params.copy || win->params.mapped_any || win->net_sizes ||
        !wdl_kernel_has(&args->element) ||
        !wdl_mail_is_clear(win, t, args->target) || !is_expected(win, args, control) ||
        (mail = begin_at(win, control, &stream, &id)) == NULL)
        return WDL_ERR_UNSUPPORTED;
    uint64_t begin = next_place(stream);
    win->params.rank_info(win->params.ctx, args->target, &info);
    mail->kind = WDL_MAIL_FOLD;
    mail->rop = (uint8_t) args->op;
    mail->bytes = (uint32_t) gets;
    mail->stream = (struct wdl_mail_stream){.id = id, .begin = begin, .bytes = bytes};
    post(win, args, mail, stream, info.base + (uint64_t) (args->disp * info.disp_unit));
    wdl_stream_move(win);
    return WDL_OK;
}

/* Old values that are there go to their buffer, and make room. */
static void results_take(struct wdl_win *win)
{
    struct wdl_mailbox *box = &win->mailbox;
    const struct wdl_buf *out = &box->args.result;
    uint64_t there = other_count(&box->stream->emptied) - box->begin;
    uint64_t done = box->seen - box->begin, bytes = box->args.remote.bytes;
    while (done < there && there <= bytes) {
        uint64_t n = least(part_at(box->seen, PART_MAX * 8), there - done);
        wdl_copy_wide((char *) out->addr + out->lo + done,
                      box->stream->ring + box->seen % WDL_STREAM_BYTES, n);
        box->seen += n;
        done += n;
    }
}

int wdl_stream_move(struct wdl_win *win)
{
    struct wdl_mailbox *box = &win->mailbox;
    const struct wdl_rma_args *args = &box->args;
    struct wdl_stream *s = box->stream;
    int folds = args->kind >= WDL_RMA_ACC;
    const struct side side = {s, box->begin, args->remote.bytes,
                              folds && args->op == WDL_ROP_NO_OP ?
                                  NULL : (char *) args->origin.addr + args->origin.lo};
    uint64_t seen = box->seen, filled;
    if (args->kind == WDL_RMA_GET)
        (void) empty(&side, &(struct way){0}, 0);
    if (args->kind == WDL_RMA_GET_ACC)
        results_take(win);
    else
        box->seen = other_count(&s->emptied);
    /* one step before the target has come; but it is to find all operands that have room */
    do {
        filled = own_count(&s->filled);
        if (args->kind != WDL_RMA_GET && (folds || box->seen != side.begin || filled == side.begin))
            (void) fill(&side, box->seen);
    } while (folds && own_count(&s->filled) != filled);
    return box->seen != seen;
}

int wdl_stream_is_through(const struct wdl_win *win)
{
    const struct wdl_mailbox *box = &win->mailbox;
    return other_count(&box->stream->emptied) - box->begin == box->args.remote.bytes;
}

int wdl_stream_has_folded(const struct wdl_win *win)
{
    const struct wdl_mailbox *box = &win->mailbox;
    return box->args.kind >= WDL_RMA_ACC &&
           other_count(&box->stream->emptied) != box->begin;
}

/* --- the target ------------------------------------------------------------------------------- */

/* An accumulate's operands. Once some are folded the origin cannot have it back. */
static int fold(const struct wdl_win *win, const struct wdl_mail *asked, const struct side *side)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_element el;
    if (!wdl_mail_element(win, asked->host_type, &el) || asked->rop >= WDL_ROP_COUNT ||
        !host->ops->op_valid(host->ctx, asked->host_type, asked->rop) ||
        side->bytes % el.packed_bytes != 0 || (uintptr_t) side->memory % el.packed_bytes != 0 ||
        side->begin % el.packed_bytes != 0)
        return WDL_ERR_UNSUPPORTED;
    const struct wdl_kernel_call call = {host, &el, asked->rop};
    struct wdl_domain domain;
    wdl_win_own_domain(win, &domain);
    return empty(side, &(struct way){&call, asked->bytes != 0, &domain}, LOOKS);
}

int wdl_stream_serve(struct wdl_win *win, const struct wdl_mail *asked, size_t *moved)
{
    uint64_t at = (uint64_t) asked->disp, id = asked->stream.id;
    if (!win->params.stream || asked->origin == (uint32_t) win->params.rank ||
        asked->origin >= (uint32_t) win->params.size || asked->stream.bytes > INT64_MAX)
        return WDL_ERR_PROTO;
    if (!wdl_win_exposes(win, at, 0, (int64_t) asked->stream.bytes))
        return WDL_ERR_RANGE;
    struct wdl_stream *s = win->params.stream(win->params.ctx, (int) asked->origin, &id);
    if (!s)
        return WDL_ERR_UNSUPPORTED;
    const struct side side = {s, asked->stream.begin, asked->stream.bytes, (char *) (uintptr_t) at};
    int folds = asked->kind == WDL_MAIL_FOLD, empties = folds || asked->rop;
    const uint64_t *count = empties ? &s->emptied : &s->filled;
    uint64_t before = own_count(count);
    int status = folds ? fold(win, asked, &side) : empties ? empty(&side, &(struct way){0}, LOOKS) :
        fill(&side, other_count(&s->emptied));
    *moved += (size_t) (own_count(count) - before);
    return status;
}
