/* Part of Windlass. See COPYRIGHT in the top-level directory. Long operations through a ring of
 * shared memory (stream.h). */
#include "mpid/rma/accumulate.h"
#include "mpid/rma/kernel.h"
#include "mpid/rma/mail.h"
#include "mpid/rma/rows.h"
#include "mpid/rma/stream.h"

enum {
    LEAST = WDL_MAIL_AREA + 1,
    LEAST_GET = WDL_MAIL_AREA / 2 + 1,  /* accumulates with results */
    FIRST_STEP = 65536, /* filled in before the target has come, and maybe in vain; a get's */
    STEP = 1 << 20,     /* at a time: see below */
    /* told of at a time; of what is SHORT, too, both sides are to work at once. An eighth of all,
     * so that they do; or a fourth, up to PART_FOURTH: each part is a line that changes hands. */
    PART_MIN = 8192, PART_MAX = 32768, SHORT = 8192, PART_SHORT = 2048, PART_FOURTH = 16384,
    LOOKS = 20          /* a target's, for more to come */
};

/* Two processes that fill a ring each and empty the other's do it by turns, as much as they can: a
 * line that the other processor has just written is slower to read than one that has left its
 * cache, by far where they share the next one. (Both put 1 MiB, sharing a cache: 51 us; 77 where 64
 * KiB are filled and emptied by turns.) So who has bytes of its own to fill in takes no more of the
 * other's than it finds.
 */
enum { WHAT_IS_THERE = -1 };    /* instead of a number of looks */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* A stream, as one of its sides sees it. */
struct side {
    struct wdl_stream *stream;
    uint64_t round;             /* bytes of the ring that it goes round in */
    uint64_t begin, bytes;      /* place of its first byte; how many */
    struct wdl_rows memory;     /* base NULL: what goes into the ring does not matter */
    struct wdl_bypass *bypass;  /* of this process */
};

/* Operands go round in whole elements. el: NULL: they are bytes. */
static uint64_t round_of(const struct wdl_element *el)
{
    return el ? WDL_STREAM_BYTES - WDL_STREAM_BYTES % el->packed_bytes : WDL_STREAM_BYTES;
}

/* Where that place is. */
static char *in_ring(const struct side *side, uint64_t place)
{
    return side->stream->ring + place % side->round;
}

/* So many from there on that both sides work at once, up to the ring's end. */
static uint64_t part_at(const struct side *side, uint64_t place, uint64_t bytes)
{
    uint64_t fewest = bytes > SHORT ? PART_MIN : PART_SHORT;
    uint64_t fourth = least(bytes / 4, PART_FOURTH), part = most(bytes / 8, fourth) / 64 * 64;
    part = least(most(part, fewest), PART_MAX);
    return least(part, side->round - place % side->round);
}

/* Memory in one piece, as one block. */
static struct wdl_rows one_block(uint64_t at, uint64_t bytes)
{
    return (struct wdl_rows){(char *) (uintptr_t) at, (int64_t) bytes, bytes, 1};
}

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
static int fill(const struct side *side, uint64_t freed, uint64_t step)
{
    struct wdl_stream *s = side->stream;
    uint64_t at = own_count(&s->filled), done = at - side->begin;
    if (done > side->bytes)
        return WDL_ERR_PROTO;
    uint64_t upto = least(done + step, side->bytes);
    while (done < upto) {
        uint64_t n = least(part_at(side, at, side->bytes), upto - done);
        if (at + n - freed > side->round)
            return WDL_AGAIN;
        if (side->memory.base)
            wdl_rows_pack(&side->memory, done, in_ring(side, at), n, side->bypass);
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

/* Operands to blocks, or to a part of one; with old values to so many blocks, which *part is then.
 */
static uint64_t fold_part(const struct way *way, struct wdl_rows *part, char *from)
{
    enum { BLOCKS = 32 };
    const struct wdl_kernel_call *call = way->fold;
    size_t done = 0;
    if (way->gets || part->count == 1) {
        struct wdl_piece piece[BLOCKS];
        part->count = part->count < BLOCKS ? part->count : BLOCKS;
        for (size_t i = 0; i < part->count; i++)
            piece[i] = (struct wdl_piece){part->base + (int64_t) i * part->stride, part->bytes};
        (void) wdl_accumulate(way->domain, call->op, call->element, piece, (int) part->count, from,
                              way->gets ? from : NULL, &done);
    } else {
        const struct wdl_rows in = wdl_rows_packed(from, part);
        (void) wdl_accumulate_rows(way->domain, call->op, call->element, part, &in, &done);
    }
    return done;
}

/* The stream's bytes from `at` on. How many were taken: fewer where somebody else is in that
 * memory. */
static uint64_t take(const struct way *way, const struct wdl_rows *to, uint64_t at, char *from,
                     uint64_t bytes)
{
    if (!way->fold) {
        wdl_rows_unpack(to, at, from, bytes);
        return bytes;
    }
    for (uint64_t done = 0; done < bytes;) {
        struct wdl_rows part = wdl_rows_part(to, at + done, bytes - done);
        uint64_t taken = fold_part(way, &part, from + done);
        done += taken;
        if (taken < part.bytes * part.count)
            return done;
    }
    return bytes;
}

/* Out of the ring, whole elements: WDL_OK: all bytes are, AGAIN: so many looks found nothing, or
 * what was there has been taken. */
static int empty(const struct side *side, const struct way *way, int looks)
{
    struct wdl_stream *s = side->stream;
    uint64_t at = own_count(&s->emptied), done = at - side->begin;
    uint64_t unit = way->fold ? way->fold->element->packed_bytes : 1;
    uint64_t filled = other_count(&s->filled);
    if (done > side->bytes)
        return WDL_ERR_PROTO;
    while (done < side->bytes) {
        filled = looks == WHAT_IS_THERE ? filled : other_count(&s->filled);
        uint64_t there = filled - at;
        if (there < unit && looks-- > 0)
            continue;
        if (there < unit)
            return WDL_AGAIN;
        if (there > least(side->round, side->bytes - done))
            return WDL_ERR_PROTO;
        uint64_t n = least(part_at(side, at, PART_MAX * 8), there) / unit * unit;
        if (n == 0)     /* an element would lie on both sides of the ring's end */
            return WDL_ERR_PROTO;
        uint64_t taken = take(way, &side->memory, done, in_ring(side, at), n);
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
           args->remote.bytes >= shortest;
}

/* From how many bytes on. */
static size_t shortest_of(const struct wdl_rma_args *args)
{
    return args->kind == WDL_RMA_GET && !args->remote.contig ? WDL_STREAM_BLOCKS : LEAST;
}

int wdl_stream_blocks(const struct wdl_win *win, const struct wdl_rma_args *args)
{
    return args->kind == WDL_RMA_GET && !args->remote.contig && win->params.copy &&
           is_for_it(win, args, WDL_STREAM_BLOCKS);
}

/* What a stream is between, as blocks. */
struct ends {
    struct wdl_rows there, here, results;       /* as in the mailbox */
};

/* Are the first bytes of that buffer, which is at `at`, such blocks? */
static int blocks_of(const struct wdl_win *win, const struct wdl_buf *buf, uint64_t at,
                     uint64_t bytes, struct wdl_rows *rows_out)
{
    if (!buf->contig)
        return wdl_rows_of(&win->proc->host, buf, (void *) (uintptr_t) at, bytes, rows_out);
    *rows_out = one_block(at + (uint64_t) buf->lo, bytes);
    return buf->bytes >= bytes;
}

static int own_blocks_of(const struct wdl_win *win, const struct wdl_buf *buf, uint64_t bytes,
                         struct wdl_rows *rows_out)
{
    return blocks_of(win, buf, (uint64_t) (uintptr_t) buf->addr, bytes, rows_out);
}

/* The target refuses blocks unless it exposes what lies between them, too. */
static int is_exposed(struct wdl_win *win, const struct wdl_rma_args *args,
                      const struct wdl_win_control *control, uint64_t at)
{
    const struct wdl_buf *remote = &args->remote;
    return remote->contig || wdl_copy_exposed(win, args->target, control,
                                              at + (uint64_t) remote->lo,
                                              (uint64_t) (remote->hi - remote->lo)) == WDL_OK;
}

/* Can it go between these, `at` being the target's address? */
static int ends_of(struct wdl_win *win, const struct wdl_rma_args *args,
                   const struct wdl_win_control *control, uint64_t at, struct ends *ends)
{
    uint64_t bytes = args->remote.bytes;
    *ends = (struct ends){0};
    return blocks_of(win, &args->remote, at, bytes, &ends->there) &&
           (ends->there.count == 1 || ends->there.bytes <= UINT32_MAX) &&
           ((args->kind >= WDL_RMA_ACC && args->op == WDL_ROP_NO_OP) ||
            own_blocks_of(win, &args->origin, bytes, &ends->here)) &&
           (args->kind != WDL_RMA_GET_ACC ||
            own_blocks_of(win, &args->result, bytes, &ends->results)) &&
           is_exposed(win, args, control, at);
}

/* The process's own ring, and how others name it. */
struct ring {
    struct wdl_stream *stream;
    uint64_t id;
};

static int find_ring(const struct wdl_win *win, struct ring *ring)
{
    const struct wdl_win_params *params = &win->params;
    ring->stream = params->stream(params->ctx, params->rank, &ring->id);
    return ring->stream != NULL;
}

/* Of operands at a line, and where an element begins. */
static uint64_t next_place(const struct wdl_stream *s, const struct wdl_element *el)
{
    uint64_t at = own_count(&s->filled);
    if (!el)
        return wdl_copy_place(at);
    uint64_t step = 64 % el->packed_bytes != 0 ? 64 * (uint64_t) el->packed_bytes : 64;
    return (at + step - 1) / step * step;
}

/* The elements of an operation that folds. */
static const struct wdl_element *folded(const struct wdl_rma_args *args)
{
    return args->kind >= WDL_RMA_ACC ? &args->element : NULL;
}

/* Fill in a cell, and post it. */
static void post(struct wdl_win *win, const struct wdl_rma_args *args, struct wdl_mail *mail,
                 const struct ring *ring, const struct ends *ends)
{
    struct wdl_mailbox *box = &win->mailbox;
    uint64_t begin = next_place(ring->stream, folded(args));
    tell(&ring->stream->emptied, begin);
    tell(&ring->stream->filled, begin);
    mail->origin = (uint32_t) win->params.rank;
    mail->kind = args->kind >= WDL_RMA_ACC ? WDL_MAIL_FOLD : WDL_MAIL_STREAM;
    mail->rop = args->kind >= WDL_RMA_ACC ? (uint8_t) args->op : args->kind == WDL_RMA_PUT;
    mail->gets = args->kind == WDL_RMA_GET_ACC;
    mail->is_rows = ends->there.count > 1;
    mail->bytes = mail->is_rows ? (uint32_t) ends->there.bytes : 0;
    mail->host_type = args->element.host_type;
    mail->disp = (int64_t) (uintptr_t) ends->there.base;
    mail->stream = (struct wdl_mail_stream){.id = ring->id, .begin = begin,
                                            .bytes = args->remote.bytes,
                                            .stride = ends->there.stride};
    wdl_mail_post(win, mail, args);
    box->stream = ring->stream;
    box->here = ends->here;
    box->results = ends->results;
    box->begin = box->seen = begin;
    win->rma->streaming = 1;
    wdl_stream_move(win);
}

/* Is the target to be asked? */
static int is_expected(struct wdl_win *win, const struct wdl_rma_args *args,
                       const struct wdl_win_control *control)
{
    return wdl_mail_is_attended(control) &&
           wdl_mail_expected(win, args, control, args->remote.bytes);
}

/* Is it to go through the ring? Places never used before have no memory yet on either side: what
 * goes there says nothing of those behind it, and makes them ready. */
static int is_faster(struct wdl_win *win, const struct wdl_rma_args *args, const struct ring *ring)
{
    win->rma->timed = NULL;
    win->rma->began_ns = 0;
    return own_count(&ring->stream->filled) < WDL_STREAM_BYTES || wdl_mail_is_faster(win, args);
}

int wdl_stream_op(struct wdl_win *win, const struct wdl_rma_args *args,
                  struct wdl_win_control *control, uint64_t at)
{
    struct wdl_mail *mail;
    struct ring ring;
    struct ends ends;
    /* rma->timed: behind others, for which the system is faster than a train */
    if (!is_for_it(win, args, shortest_of(args)) || win->rma->timed ||
        !ends_of(win, args, control, at, &ends) || !is_expected(win, args, control) ||
        !find_ring(win, &ring) || !is_faster(win, args, &ring) ||
        (mail = wdl_mail_get(win, control)) == NULL)
        return WDL_ERR_UNSUPPORTED;
    post(win, args, mail, &ring, &ends);
    return WDL_OK;
}

/* Blocks that the target can fold. */
static int can_fold(const struct wdl_rma_args *args, const struct ends *ends)
{
    return ends->there.count == 1 || wdl_rows_have(&ends->there, &args->element);
}

int wdl_stream_fold(struct wdl_win *win, const struct wdl_rma_args *args, struct wdl_target *t,
                    struct wdl_win_control *control)
{
    struct wdl_mail *mail;
    struct ring ring;
    struct ends ends;
    struct wdl_win_rank info;
    int gets = args->kind == WDL_RMA_GET_ACC;
    if ((args->kind != WDL_RMA_ACC && !gets) || !is_for_it(win, args, gets ? LEAST_GET : LEAST) ||
        !win->params.copy || win->params.mapped_any || win->net_sizes)
        return WDL_ERR_UNSUPPORTED;
    win->params.rank_info(win->params.ctx, args->target, &info);
    uint64_t at = wdl_rank_place(&info, args->disp);
    if (!ends_of(win, args, control, at, &ends) || !can_fold(args, &ends) ||
        !wdl_mail_is_clear(win, t, args->target) || !is_expected(win, args, control) ||
        !find_ring(win, &ring) || !is_faster(win, args, &ring) ||
        (mail = wdl_mail_get(win, control)) == NULL)
        return WDL_ERR_UNSUPPORTED;
    post(win, args, mail, &ring, &ends);
    return WDL_OK;
}

/* Old values that are there go to their buffer, and make room. */
static void results_take(struct wdl_win *win, const struct side *side)
{
    struct wdl_mailbox *box = &win->mailbox;
    uint64_t there = other_count(&box->stream->emptied) - box->begin;
    uint64_t done = box->seen - box->begin, bytes = box->args.remote.bytes;
    while (done < there && there <= bytes) {
        uint64_t n = least(part_at(side, box->seen, PART_MAX * 8), there - done);
        wdl_rows_unpack(&box->results, done, in_ring(side, box->seen), n);
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
    const struct side side =
        {s, round_of(folded(args)), box->begin, args->remote.bytes, box->here,
         wdl_bypass_for(win, args->target)};
    uint64_t seen = box->seen, filled;
    if (args->kind == WDL_RMA_GET)
        (void) empty(&side, &(struct way){0}, 0);
    if (args->kind == WDL_RMA_GET_ACC)
        results_take(win, &side);
    else
        box->seen = other_count(&s->emptied);
    /* one step before the target has come; but it is to find all operands that have room */
    do {
        filled = own_count(&s->filled);
        if (args->kind != WDL_RMA_GET && (folds || box->seen != side.begin || filled == side.begin))
            (void) fill(&side, box->seen, box->seen == side.begin ? FIRST_STEP : STEP);
    } while (folds && own_count(&s->filled) != filled);
    return box->seen != seen;
}

int wdl_stream_is_through(const struct wdl_win *win)
{
    const struct wdl_mailbox *box = &win->mailbox;
    return other_count(&box->stream->emptied) - box->begin == box->args.remote.bytes;
}

char *wdl_stream_kept(const struct wdl_win *win)
{
    const struct wdl_mailbox *box = &win->mailbox;
    uint64_t bytes = box->args.remote.bytes, at = box->begin % WDL_STREAM_BYTES;
    int all = own_count(&box->stream->filled) - box->begin == bytes;
    return all && at + bytes <= WDL_STREAM_BYTES ? box->stream->ring + at : NULL;
}

int wdl_stream_has_folded(const struct wdl_win *win)
{
    const struct wdl_mailbox *box = &win->mailbox;
    return box->args.kind >= WDL_RMA_ACC &&
           other_count(&box->stream->emptied) != box->begin;
}

/* --- the target ------------------------------------------------------------------------------- */

/* An accumulate's operands. Once some are folded the origin cannot have it back. */
static int fold(const struct wdl_win *win, const struct wdl_mail *asked, struct side *side,
                int looks)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_element el;
    if (!wdl_mail_element(win, asked->host_type, &el) || asked->rop >= WDL_ROP_COUNT ||
        !host->ops->op_valid(host->ctx, asked->host_type, asked->rop) ||
        !wdl_rows_have(&side->memory, &el) || side->begin % el.packed_bytes != 0)
        return WDL_ERR_UNSUPPORTED;
    side->round = round_of(&el);
    const struct wdl_kernel_call call = {host, &el, asked->rop};
    struct wdl_domain domain;
    wdl_win_own_domain(win, &domain);
    return empty(side, &(struct way){&call, asked->gets != 0, &domain}, looks);
}

/* Its blocks, if all of them are our memory. */
static int blocks_asked(const struct wdl_win *win, const struct wdl_mail *asked,
                        struct wdl_rows *rows_out)
{
    uint64_t at = (uint64_t) asked->disp, bytes = asked->stream.bytes, each = asked->bytes;
    int64_t stride = asked->stream.stride, last, hi;
    *rows_out = one_block(at, bytes);
    if (asked->is_rows && (each == 0 || bytes % each != 0))
        return WDL_ERR_PROTO;
    if (asked->is_rows)
        *rows_out = (struct wdl_rows){rows_out->base, stride, each, bytes / each};
    if (bytes == 0 || bytes > INT64_MAX ||
        __builtin_mul_overflow(rows_out->stride, (int64_t) rows_out->count - 1, &last) ||
        __builtin_add_overflow(last > 0 ? last : 0, (int64_t) rows_out->bytes, &hi))
        return WDL_ERR_PROTO;
    return wdl_win_exposes(win, at, last < 0 ? last : 0, hi) ? WDL_OK : WDL_ERR_RANGE;
}

/* Has this process to fill in bytes of its own? */
static int is_filling(const struct wdl_win *win)
{
    const struct wdl_mailbox *box = &win->mailbox;
    return box->stream && box->args.kind != WDL_RMA_GET &&
           own_count(&box->stream->filled) - box->begin < box->args.remote.bytes;
}

int wdl_stream_serve(struct wdl_win *win, const struct wdl_mail *asked, size_t *moved)
{
    uint64_t id = asked->stream.id;
    struct wdl_rows memory;
    if (!win->params.stream || asked->origin == (uint32_t) win->params.rank ||
        asked->origin >= (uint32_t) win->params.size)
        return WDL_ERR_PROTO;
    int status = blocks_asked(win, asked, &memory);
    if (status != WDL_OK)
        return status;
    struct wdl_stream *s = win->params.stream(win->params.ctx, (int) asked->origin, &id);
    if (!s)
        return WDL_ERR_UNSUPPORTED;
    struct side side =
        {s, round_of(NULL), asked->stream.begin, asked->stream.bytes, memory,
         wdl_bypass_for(win, (int) asked->origin)};
    int folds = asked->kind == WDL_MAIL_FOLD, empties = folds || asked->rop;
    const uint64_t *count = empties ? &s->emptied : &s->filled;
    uint64_t before = own_count(count);
    int looks = is_filling(win) ? WHAT_IS_THERE : LOOKS;
    status = folds ? fold(win, asked, &side, looks) :
        empties ? empty(&side, &(struct way){0}, looks) :
        fill(&side, other_count(&s->emptied), FIRST_STEP);
    *moved += (size_t) (own_count(count) - before);
    return status;
}
