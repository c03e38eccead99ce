/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Accumulates, in two families. Elements with an atomic instruction are taken a stretch at a time:
 * the part of a piece within one region, short or bulk. All others are taken under the locks of
 * their stripes, a step of so many stripes at a time: between two steps others get at everything
 * (seed 004). Those in a row are reduced together.
 */
#include "mpid/rma/accumulate.h"
#include <string.h>
#include "base/assert.h"
#include "mpid/rma/kernel.h"
#include "mpid/rma/net.h"

enum { WIDE_BYTES_MAX = 64 };

/* --- elements without an instruction: reduced where they lie, or in an image of that --- */

struct cursor {                 /* a place in the pieces */
    const struct wdl_piece *piece;
    size_t used;                /* bytes of it that are behind us */
};

/* The next bytes, of so many that are missing: where they are, and how many. The cursor goes behind
 * them. */
static char *next_bytes(struct cursor *c, size_t missing, size_t *n_out)
{
    char *at = c->piece->base + c->used;
    size_t n = c->piece->bytes - c->used;
    *n_out = n < missing ? n : missing;
    c->used += *n_out;
    if (c->used == c->piece->bytes) {
        c->piece++;
        c->used = 0;
    }
    return at;
}

/* The next `bytes` into a packed stream. */
static void gather(struct cursor c, size_t bytes, char *packed)
{
    for (size_t done = 0, n; done < bytes; done += n) {
        const char *at = next_bytes(&c, bytes - done, &n);
        wdl_copy(packed + done, at, n);
    }
}

/* ... from there, to where they are, or so far away in an image of that. */
static void scatter(struct cursor c, size_t bytes, const char *packed, uintptr_t away)
{
    for (size_t done = 0, n; done < bytes; done += n) {
        uintptr_t at = (uintptr_t) next_bytes(&c, bytes - done, &n);
        wdl_copy((char *) (at + away), packed + done, n);
    }
}

/* ... from such an image, or to it. */
static void mirror(struct cursor c, size_t bytes, uintptr_t away, int to_image)
{
    for (size_t done = 0, n; done < bytes; done += n) {
        char *at = next_bytes(&c, bytes - done, &n), *image = (char *) ((uintptr_t) at + away);
        wdl_copy(to_image ? image : at, to_image ? at : image, n);
    }
}

/* Are the bytes from the cursor on, which goes behind them, an element's that begins at `at`? */
static int is_element(struct cursor *c, const struct wdl_element *el, const char *at)
{
    int is = 1;
    for (size_t done = 0, n; done < el->packed_bytes; done += n) {
        int behind = el->head > 0 && done >= el->head;  /* the gap */
        const char *byte = next_bytes(c, el->packed_bytes - done, &n);
        is &= byte == at + done + (behind ? el->extent - el->packed_bytes : 0) &&
            (behind || el->head == 0 || done + n <= el->head);
    }
    return is;
}

/* So many elements from the cursor on, of `most`, lie as in an array; 0: what is there is none, as
 * only another process's word can have it. */
static size_t row_of(struct cursor c, const struct wdl_element *el, size_t most)
{
    const char *first = c.piece->base + c.used;
    size_t n = (c.piece->bytes - c.used) / el->packed_bytes;
    if (n > 0 && wdl_is_without_gaps(el))
        return n < most ? n : most;
    for (n = 0; n < most && is_element(&c, el, first + n * el->extent); n++)
        ;
    return n;
}

/* Elements of such an array, so many of n as have been updated. */
static size_t row_locked(const struct wdl_host *host, const struct wdl_element *el,
                         enum wdl_rop op, struct cursor c, size_t n, const char *in, char *out)
{
    enum { ROW_BYTES = 1024 };
    _Alignas(WIDE_BYTES_MAX) char image[ROW_BYTES], operands[ROW_BYTES];
    char *at = c.piece->base + c.used;
    size_t bytes = n * el->packed_bytes, room = ROW_BYTES / el->extent;
    int moves = op >= WDL_ROP_REPLACE, stays = moves || wdl_is_laid_out(el, at);
    int reads = op != WDL_ROP_NO_OP, as_is = !reads || (wdl_is_without_gaps(el) &&
                                                        (moves || wdl_is_laid_out(el, in)) &&
                                                        (!out || wdl_are_apart(out, in, bytes)));
    if (n > room && !(stays && as_is)) {
        n = room;
        bytes = n * el->packed_bytes;
    }
    uintptr_t to_image = (uintptr_t) image - (uintptr_t) at,
        to_operands = (uintptr_t) operands - (uintptr_t) at;
    if (!as_is)
        scatter(c, bytes, in, to_operands);
    if (!stays)
        mirror(c, bytes, to_image, 1);
    if (out)
        gather(c, bytes, out);
    if (op == WDL_ROP_REPLACE && as_is)
        scatter(c, bytes, in, 0);
    else if (op == WDL_ROP_REPLACE)
        mirror(c, bytes, to_operands, 0);
    else if (reads)
        host->ops->reduce(host->ctx, el->host_type, op, as_is ? in : operands, stays ? at : image,
                          (int64_t) n);
    if (!stays)
        mirror(c, bytes, to_image, 0);
    return n;
}

/* n elements from the cursor on, which goes behind them; how many there were before something that
 * is none. */
static size_t elements_locked(const struct wdl_host *host, const struct wdl_element *el,
                              enum wdl_rop op, struct cursor *c, size_t n, const char *in,
                              char *out)
{
    size_t size = el->packed_bytes, i = 0;
    for (size_t row; i < n && (row = row_of(*c, el, n - i)) > 0; i += row) {
        row = row_locked(host, el, op, *c, row, in ? in + i * size : NULL,
                         out ? out + i * size : NULL);
        for (size_t done = 0, bytes; done < row * size; done += bytes)
            (void) next_bytes(c, row * size - done, &bytes);
    }
    return i;
}

/* Byte `done` of the pieces. */
static struct cursor cursor_at(const struct wdl_piece *piece, size_t done)
{
    while (done > 0 && done >= piece->bytes)
        done -= piece++->bytes;
    return (struct cursor) {piece, done};
}

static size_t bytes_of(const struct wdl_piece *piece, int npieces)
{
    size_t bytes = 0;
    for (int i = 0; i < npieces; i++)
        bytes += piece[i].bytes;
    return bytes;
}

/* The stripes of the element at the cursor, which goes behind it. */
static uint64_t element_stripes(struct cursor *c, const struct wdl_element *el)
{
    uint64_t set = 0;
    for (size_t done = 0, n; done < el->packed_bytes; done += n) {
        char *at = next_bytes(c, el->packed_bytes - done, &n);
        set |= wdl_stripes_of(at, n);
    }
    return set;
}

/* What is locked at a time: so much memory in a row (which is all stripes), or elements of so many
 * stripes. */
enum { STEP_BYTES = 8192, STEP_STRIPES = 32 };

/* How many elements from the cursor on are a step, of `most`, and their stripes. */
static size_t step_of(struct cursor c, const struct wdl_element *el, size_t most, uint64_t *set)
{
    size_t fit = STEP_BYTES / el->extent, row = row_of(c, el, fit < most ? fit : most), n = 0;
    if (row > 1) { /* without a look at each */
        *set = wdl_stripes_of(c.piece->base + c.used, row * el->extent);
        return row;
    }
    for (*set = 0; n < most; n++) {
        uint64_t with = *set | element_stripes(&c, el);
        if (n > 0 && with != *set && __builtin_popcountll(with) > STEP_STRIPES)
            break;
        *set = with;
    }
    return n;
}

/* Lock a step, or, where somebody has one of its stripes, the half of it, and so on: its elements;
 * 0: WDL_AGAIN. */
static size_t step_lock(const struct wdl_domain *d, struct cursor c, const struct wdl_element *el,
                        size_t most, uint64_t *set)
{
    size_t n = step_of(c, el, most, set);
    for (; n > 1; n = step_of(c, el, n / 2, set))
        if (wdl_stripes_lock_at_once(d->control, *set))
            return n;
    return wdl_stripes_lock(d->control, *set) == WDL_OK ? n : 0;
}

/* Others update what lies here under the same locks: those that map it, or from outside. From byte
 * *done on, which moves on with whole elements. */
static int accumulate_locked(const struct wdl_domain *d, enum wdl_rop op,
                             const struct wdl_element *el, const struct wdl_piece *target,
                             int npieces, const char *in, char *out, size_t *done)
{
    size_t bytes = bytes_of(target, npieces), size = el->packed_bytes;
    struct cursor c = cursor_at(target, *done);
    int shared = !wdl_domain_is_sole(d);
    wdl_assert(!d->outside);
    while (*done + size <= bytes) {
        uint64_t set = 0;
        size_t n = (bytes - *done) / size;
        if (shared && (n = step_lock(d, c, el, n, &set)) == 0)
            return WDL_AGAIN;
        size_t did = elements_locked(d->host, el, op, &c, n, in ? in + *done : NULL,
                                     out ? out + *done : NULL);
        if (shared)
            wdl_stripes_unlock(d->control, set);
        *done += did * size;
        if (did < n)
            return WDL_ERR_PROTO;
    }
    return WDL_OK;
}

void wdl_array_update(const struct wdl_host *host, enum wdl_rop op, const struct wdl_element *el,
                      char *target, const void *in, void *out, size_t n)
{
    const struct wdl_host_ops *ops = host->ops;
    int bytes = wdl_is_without_gaps(el);
    if (out && bytes)
        wdl_copy(out, target, n * el->extent);
    else if (out)
        ops->reduce(host->ctx, el->host_type, WDL_ROP_REPLACE, target, out, (int64_t) n);
    if (op == WDL_ROP_REPLACE && bytes)
        wdl_copy(target, in, n * el->extent);
    else if (op != WDL_ROP_NO_OP)
        ops->reduce(host->ctx, el->host_type, op, in, target, (int64_t) n);
}

/* The same as step_lock, of an array. */
static size_t array_lock(const struct wdl_domain *d, const char *at, const struct wdl_element *el,
                         size_t most, uint64_t *set)
{
    size_t n = STEP_BYTES / el->extent;
    for (n = n < most ? n : most; n > 0; n /= 2) {
        *set = wdl_stripes_of(at, n * el->extent);
        if (wdl_stripes_lock_at_once(d->control, *set))
            return n;
    }
    return wdl_stripes_lock(d->control, *set) == WDL_OK;
}

int wdl_accumulate_array(const struct wdl_domain *d, enum wdl_rop op, const struct wdl_element *el,
                         char *target, const char *in, char *out, size_t n, size_t *done)
{
    uint64_t set = 0;
    int shared = !wdl_domain_is_sole(d);
    wdl_assert(!d->outside && !wdl_kernel_has(el));
    for (size_t i = *done / el->packed_bytes, step; i < n; i += step) {
        size_t at = i * el->extent;
        step = shared ? array_lock(d, target + at, el, n - i, &set) : n - i;
        if (step == 0)
            return WDL_AGAIN;
        wdl_array_update(d->host, op, el, target + at, in ? in + at : NULL, out ? out + at : NULL,
                         step);
        if (shared)
            wdl_stripes_unlock(d->control, set);
        *done += step * el->packed_bytes;
    }
    return WDL_OK;
}

/* Memory that is not mapped here: so many elements at a time are read, each laid out in the stage
 * as it is there, reduced, and written. */
enum { OUTSIDE_PIECES = 256 };

struct batch {
    struct wdl_piece here[OUTSIDE_PIECES], there[OUTSIDE_PIECES];
    int n;
    size_t elements;
    uint64_t stripes;
};

static void batch_piece(struct batch *b, char *here, char *there, size_t bytes)
{
    int last = b->n - 1;
    if (b->n > 0 && b->here[last].base + b->here[last].bytes == here &&
        b->there[last].base + b->there[last].bytes == there) {
        b->here[last].bytes += bytes;
        b->there[last].bytes += bytes;
    } else {
        b->here[b->n] = (struct wdl_piece) {here, bytes};
        b->there[b->n++] = (struct wdl_piece) {there, bytes};
    }
    b->stripes |= wdl_stripes_of(there, bytes);
}

/* One element more: the cursor goes behind it. */
static void batch_element(struct batch *b, struct cursor *c, const struct wdl_element *el,
                          char *here)
{
    char *base = c->piece->base + c->used;
    for (size_t done = 0; done < el->packed_bytes;) {
        size_t n;
        char *at = next_bytes(c, el->packed_bytes - done, &n);
        batch_piece(b, here + (at - base), at, n);
        done += n;
    }
    b->elements++;
}

/* As many of `most` elements as find room, an element has WIDE_BYTES_MAX pieces at most. */
static void batch_fill(struct batch *b, struct cursor *c, const struct wdl_element *el, size_t most,
                       char *stage)
{
    b->n = 0;
    b->elements = 0;
    b->stripes = 0;
    while (b->elements < most && b->n + WIDE_BYTES_MAX <= OUTSIDE_PIECES &&
           (b->elements + 1) * el->extent <= WDL_REGION_BYTES)
        batch_element(b, c, el, stage + b->elements * el->extent);
}

/* Are the pieces as far apart here as there, forward? Then what is between them may be read, too:
 * the system looks up every piece. */
static int is_stretch(const struct batch *b)
{
    for (int i = 1; i < b->n; i++)
        if (b->here[i].base < b->here[i - 1].base + b->here[i - 1].bytes ||
            b->here[i].base - b->here[0].base != b->there[i].base - b->there[0].base)
            return 0;
    return 1;
}

static int batch_copy(const struct wdl_domain *d, int to_rank, const struct batch *b)
{
    struct wdl_piece here[OUTSIDE_PIECES], there[OUTSIDE_PIECES];      /* they are used up */
    int n = !to_rank && is_stretch(b) ? 1 : b->n;
    memcpy(here, b->here, (size_t) n * sizeof here[0]);
    memcpy(there, b->there, (size_t) n * sizeof there[0]);
    if (n < b->n) {
        const struct wdl_piece *last = &b->here[b->n - 1];
        here[0].bytes = there[0].bytes = (size_t) (last->base - here[0].base) + last->bytes;
    }
    return d->outside->copy(d->outside->ctx, d->rank, to_rank, here, n, there, n);
}

static int batch_update(const struct wdl_domain *d, enum wdl_rop op, const struct wdl_element *el,
                        const struct batch *b, const char *in, char *out)
{
    struct cursor c = {b->here, 0};
    int status = batch_copy(d, 0, b);
    if (status == WDL_OK &&
        elements_locked(d->host, el, op, &c, b->elements, in, out) < b->elements)
        status = WDL_ERR_PROTO;
    if (status == WDL_OK && op != WDL_ROP_NO_OP)
        status = batch_copy(d, 1, b);
    return status;
}

/* From byte *done on, which moves on with whole elements. */
static int accumulate_outside(const struct wdl_domain *d, enum wdl_rop op,
                              const struct wdl_element *el, const struct wdl_piece *target,
                              int npieces, const char *in, char *out, size_t *done)
{
    struct cursor c = cursor_at(target, *done);
    size_t bytes = bytes_of(target, npieces);
    struct batch b;
    while (*done + el->packed_bytes <= bytes) {
        batch_fill(&b, &c, el, (bytes - *done) / el->packed_bytes, d->outside->stage);
        if (wdl_stripes_lock(d->control, b.stripes) != WDL_OK)
            return WDL_AGAIN;
        int status = batch_update(d, op, el, &b, in ? in + *done : NULL, out ? out + *done : NULL);
        wdl_stripes_unlock(d->control, b.stripes);
        if (status != WDL_OK)
            return status;
        *done += b.elements * el->packed_bytes;
    }
    return WDL_OK;
}

/* --- elements with an instruction ------------------------------------------------------------- */

static int is_aligned(const struct wdl_element *el, const void *target)
{
    return ((uintptr_t) target & (el->packed_bytes - 1)) == 0;
}

/* Plain loops in a region: where nobody else maps it others need only see that we are in it, and
 * nobody where there are none. */
static int plain_begin(const struct wdl_domain *d, int region)
{
    if (wdl_domain_is_sole(d))
        return WDL_OK;
    return d->alone ? wdl_domain_short_begin(d, region) :
        wdl_bulk_begin(d, region);
}

static void plain_end(const struct wdl_domain *d, int region)
{
    if (wdl_domain_is_sole(d))
        return;
    if (d->alone)
        wdl_short_end(d->own);
    else
        wdl_bulk_end(d, region);
}

static int outside_copy(const struct wdl_domain *d, int to_rank, char *here, char *there,
                        size_t bytes)
{
    struct wdl_piece local = {here, bytes}, remote = {there, bytes};
    return d->outside->copy(d->outside->ctx, d->rank, to_rank, &local, 1, &remote, 1);
}

/* Memory that is not mapped here, where nobody else updates it. */
static int update_outside(const struct wdl_domain *d, const struct wdl_kernel *kernel,
                          const struct wdl_kernel_call *call, char *target, const char *in,
                          char *out, size_t n)
{
    int status = WDL_OK;
    char *stage = d->outside->stage;
    size_t bytes = n * call->element->packed_bytes;
    if (call->op != WDL_ROP_REPLACE || out)
        status = outside_copy(d, 0, stage, target, bytes);
    if (status == WDL_OK) {
        kernel->plain(call, stage, in, out, n);
        if (call->op != WDL_ROP_NO_OP)
            status = outside_copy(d, 1, stage, target, bytes);
    }
    return status;
}

/* One stretch of it within one region. */
static int stretch_outside(const struct wdl_domain *d, const struct wdl_kernel *kernel,
                           const struct wdl_kernel_call *call, char *target, const char *in,
                           char *out, size_t n)
{
    int region = wdl_region_of(d, target);
    if (wdl_bulk_begin(d, region) != WDL_OK)
        return WDL_AGAIN;
    int status = update_outside(d, kernel, call, target, in, out, n);
    wdl_bulk_end(d, region);
    return status;
}

/* One stretch within one region. */
static int stretch_update(const struct wdl_domain *d, const struct wdl_kernel *kernel,
                          const struct wdl_kernel_call *call, char *target, const char *in,
                          char *out, size_t n)
{
    int region = wdl_region_of(d, target), network = wdl_net_has(d->network, call->element);
    if (wdl_domain_is_sole(d) && !network) {
        kernel->plain(call, target, in, out, n);
        return WDL_OK;
    }
    if (d->outside)
        return stretch_outside(d, kernel, call, target, in, out, n);
    if ((d->alone || wdl_is_bulk(call->element, call->op, n, d->granularity)) && !network) {
        if (plain_begin(d, region) != WDL_OK)
            return WDL_AGAIN;
        kernel->plain(call, target, in, out, n);
        plain_end(d, region);
        return WDL_OK;
    }
    if (wdl_domain_short_begin(d, region) != WDL_OK)
        return WDL_AGAIN;
    kernel->atomic(call, target, in, out, n);
    wdl_short_end(d->own);
    return WDL_OK;
}

/* One alone, as most operations are. */
static int element_update(const struct wdl_domain *d, const struct wdl_kernel *kernel,
                          const struct wdl_kernel_call *call, char *target, const char *in,
                          char *out, size_t *done)
{
    int status = stretch_update(d, kernel, call, target, in, out, 1);
    if (status == WDL_OK)
        *done = call->element->packed_bytes;
    return status;
}

/* Bytes from `at` to the end of its region, whole elements (regions are multiples of every
 * element's size). */
static size_t region_left(const struct wdl_domain *d, const char *at)
{
    return WDL_REGION_BYTES - ((uintptr_t) at - (uintptr_t) d->base) % WDL_REGION_BYTES;
}

/* How many bytes may be closed at a time: whole elements. */
static uint64_t closed_most(const struct wdl_domain *d, const struct wdl_kernel_call *call)
{
    uint64_t size = call->element->packed_bytes;        /* a power of two */
    if (d->granularity == 0 || wdl_is_one_thing(call->element, call->op, 2))
        return UINT64_MAX;
    return (d->granularity + size - 1) & ~(size - 1);
}

/* Of n bytes to be updated in one region, how many before others get at it again. */
static size_t granule(const struct wdl_domain *d, const struct wdl_kernel_call *call, size_t n)
{
    uint64_t most = closed_most(d, call);
    size_t elements = n / call->element->packed_bytes;
    return n > most && wdl_is_bulk(call->element, call->op, elements, d->granularity) ?
        (size_t) most : n;
}

/* Bytes that are replaced or read are one update, also where a border between regions is among
 * them: both are closed. */
static int lies_across(const struct wdl_domain *d, const struct wdl_kernel_call *call,
                       const char *at, size_t bytes)
{
    return call->element->packed_bytes == 1 && !wdl_domain_is_sole(d) &&
           bytes > region_left(d, at) &&
           bytes <= WDL_REGION_BYTES &&
           (call->op == WDL_ROP_REPLACE || call->op == WDL_ROP_NO_OP);
}

static int across_update(const struct wdl_domain *d, const struct wdl_kernel *kernel,
                         const struct wdl_kernel_call *call, char *at, const char *in, char *out,
                         size_t bytes)
{
    int first = wdl_region_of(d, at), second = wdl_region_of(d, at + bytes - 1), status = WDL_OK;
    if (wdl_bulk_begin(d, first) != WDL_OK)
        return WDL_AGAIN;
    if (wdl_bulk_begin(d, second) != WDL_OK) {
        wdl_bulk_end(d, first);
        return WDL_AGAIN;
    }
    if (d->outside)
        status = update_outside(d, kernel, call, at, in, out, bytes);
    else
        kernel->plain(call, at, in, out, bytes);
    wdl_bulk_end(d, second);
    wdl_bulk_end(d, first);
    return status;
}

/* One piece from byte `from` on; *done moves with it. */
static int piece_update(const struct wdl_domain *d, const struct wdl_kernel *kernel,
                        const struct wdl_kernel_call *call, const struct wdl_piece *piece,
                        size_t from, const char *in, char *out, size_t *done)
{
    if (!is_aligned(call->element, piece->base)) {
        struct wdl_piece rest = { piece->base + from, piece->bytes - from };
        size_t part = 0;
        int status = accumulate_locked(d, call->op, call->element, &rest, 1, in ? in + *done : NULL,
                                       out ? out + *done : NULL, &part);
        *done += part;
        return status;
    }
    while (from < piece->bytes) {
        char *at = piece->base + from, *old = out ? out + *done : NULL;
        const char *operands = in ? in + *done : NULL;
        size_t bytes = piece->bytes - from, left = region_left(d, at);
        int across = lies_across(d, call, at, bytes), status;
        if (bytes > left && !across)
            bytes = left - left % call->element->packed_bytes;
        /* the base is less aligned than the element, which lies across the border */
        if (bytes == 0)
            bytes = call->element->packed_bytes;
        if (!across)
            bytes = granule(d, call, bytes);
        if (across)
            status = across_update(d, kernel, call, at, operands, old, bytes);
        else
            status = stretch_update(d, kernel, call, at, operands, old,
                                    bytes / call->element->packed_bytes);
        if (status != WDL_OK)
            return status;
        from += bytes;
        *done += bytes;
    }
    return WDL_OK;
}

/* Processes that update the same long piece at the same time begin each elsewhere, at the region
 * that is as far on as the process is among those of its node: else all would begin by waiting for
 * the first region (seed 004, start offsets by rank). Bytes from the piece's begin, 0: at that. */
static size_t start_of(const struct wdl_domain *d, const struct wdl_kernel_call *call,
                       const struct wdl_piece *piece)
{
    size_t left = region_left(d, piece->base), index = (size_t) (d->own - d->node);
    if (wdl_domain_is_sole(d) || d->outside || piece->bytes <= 2 * WDL_REGION_BYTES ||
        !is_aligned(call->element, piece->base) || left % call->element->packed_bytes != 0 ||
        wdl_is_one_thing(call->element, call->op, 2))
        return 0;
    size_t regions = (piece->bytes - left) / WDL_REGION_BYTES + 1; /* borders in the piece */
    size_t first = index * regions / (size_t) d->node_count;
    return first == 0 ? 0 : left + (first - 1) * WDL_REGION_BYTES;
}

/* From byte `start` to the end, then from the begin; *done counts in that order. */
static int turned_update(const struct wdl_domain *d, const struct wdl_kernel *kernel,
                         const struct wdl_kernel_call *call, const struct wdl_piece *piece,
                         size_t start, const char *in, char *out, size_t *done)
{
    size_t tail = piece->bytes - start;
    while (*done < piece->bytes) {
        int head = *done >= tail;
        size_t before = head ? tail : 0, at = head ? 0 : start, part = *done - before;
        struct wdl_piece now = {piece->base + at, head ? start : tail};
        int status = piece_update(d, kernel, call, &now, part, in ? in + at : NULL,
                                  out ? out + at : NULL, &part);
        *done = before + part;
        if (status != WDL_OK)
            return status;
    }
    return WDL_OK;
}

/* Pieces from the first on that lie in one region, whole and aligned, if they are worth closing it;
 * or 0. */
static int pieces_together(const struct wdl_domain *d, const struct wdl_kernel_call *call,
                           const struct wdl_piece *piece, int npieces)
{
    size_t bytes = 0, size = call->element->packed_bytes;      /* a power of two */
    int n = 0, region = wdl_region_of(d, piece->base);
    if (npieces == 1 || d->outside || wdl_net_has(d->network, call->element))
        return 0;
    for (; n < npieces; n++) {
        const struct wdl_piece *p = &piece[n];
        if (!is_aligned(call->element, p->base) || (p->bytes & (size - 1)) != 0 ||
            wdl_region_of(d, p->base) != region || p->bytes > region_left(d, p->base) ||
            bytes + p->bytes > closed_most(d, call))
            break;
        bytes += p->bytes;
    }
    return n > 1 && wdl_is_bulk(call->element, call->op, bytes / size, d->granularity) ? n : 0;
}

/* Pieces of memory that is not mapped here, from the first on, that lie in one region, whole,
 * aligned and one behind the other: one call reads them, and one writes them; or 0. */
static int pieces_outside(const struct wdl_domain *d, const struct wdl_kernel_call *call,
                          const struct wdl_piece *piece, int npieces)
{
    size_t size = call->element->packed_bytes, left = region_left(d, piece->base);
    const char *begin = piece->base;
    int n = 0;
    if (!d->outside || wdl_domain_is_sole(d) || wdl_net_has(d->network, call->element))
        return 0;
    for (; n < npieces && n < OUTSIDE_PIECES; n++) {
        const struct wdl_piece *p = &piece[n];
        if (!is_aligned(call->element, p->base) || (p->bytes & (size - 1)) != 0 ||
            (n > 0 && p->base < p[-1].base + p[-1].bytes) ||
            (size_t) (p->base - begin) + p->bytes > left)
            break;
    }
    return n > 1 ? n : 0;
}

static int outside_copies(const struct wdl_domain *d, int to_rank, char *here, size_t bytes,
                          const struct wdl_piece *piece, int npieces)
{
    struct wdl_piece local = {here, bytes}, remote[OUTSIDE_PIECES];
    int n = 0;                  /* the system looks up each piece's page: neighbours are one */
    for (int i = 0; i < npieces; i++)
        if (n > 0 && piece[i].base == remote[n - 1].base + remote[n - 1].bytes)
            remote[n - 1].bytes += piece[i].bytes;
        else
            remote[n++] = piece[i];
    return d->outside->copy(d->outside->ctx, d->rank, to_rank, &local, 1, remote, n);
}

/* They are read together, or else one by one, up to the one that cannot be. */
static int outside_read(const struct wdl_domain *d, const struct wdl_piece *piece, int *npieces,
                        size_t *bytes)
{
    char *stage = d->outside->stage;
    if (outside_copies(d, 0, stage, *bytes, piece, *npieces) == WDL_OK)
        return WDL_OK;
    *bytes = 0;
    for (int i = 0; i < *npieces; i++) {
        int status = outside_copy(d, 0, stage + *bytes, piece[i].base, piece[i].bytes);
        if (status != WDL_OK) {
            *npieces = i;
            return status;
        }
        *bytes += piece[i].bytes;
    }
    return WDL_OK;
}

/* ... and written; *done counts what is. */
static int outside_write(const struct wdl_domain *d, const struct wdl_piece *piece, int npieces,
                         size_t bytes, size_t *done)
{
    char *stage = d->outside->stage;
    if (outside_copies(d, 1, stage, bytes, piece, npieces) == WDL_OK) {
        *done += bytes;
        return WDL_OK;
    }
    for (int i = 0; i < npieces; i++) {
        int status = outside_copy(d, 1, stage, piece[i].base, piece[i].bytes);
        if (status != WDL_OK)
            return status;
        stage += piece[i].bytes;
        *done += piece[i].bytes;
    }
    return WDL_OK;
}

/* On an error *done is where the piece begins that cannot be reached. */
static int pieces_update_outside(const struct wdl_domain *d, const struct wdl_kernel *kernel,
                                 const struct wdl_kernel_call *call, const struct wdl_piece *piece,
                                 int npieces, const char *in, char *out, size_t *done)
{
    int region = wdl_region_of(d, piece->base), status = WDL_OK, written = WDL_OK;
    size_t bytes = 0;
    for (int i = 0; i < npieces; i++)
        bytes += piece[i].bytes;
    if (wdl_bulk_begin(d, region) != WDL_OK)
        return WDL_AGAIN;
    if (call->op != WDL_ROP_REPLACE || out)
        status = outside_read(d, piece, &npieces, &bytes);
    kernel->plain(call, d->outside->stage, in ? in + *done : NULL, out ? out + *done : NULL,
                  bytes / call->element->packed_bytes);
    if (call->op == WDL_ROP_NO_OP)
        *done += bytes;
    else if (npieces > 0)
        written = outside_write(d, piece, npieces, bytes, done);
    wdl_bulk_end(d, region);
    return written == WDL_OK ? status : written;
}

/* Pieces from the first on that are single elements evenly apart, forward. */
static int pieces_run(const struct wdl_piece *piece, int npieces, size_t size, size_t *stride_out)
{
    int n = 1;
    if (npieces < 2 || piece[0].bytes != size || piece[1].base <= piece[0].base)
        return 0;
    *stride_out = (size_t) (piece[1].base - piece[0].base);
    while (n < npieces && piece[n].bytes == size &&
           piece[n].base == piece[n - 1].base + *stride_out)
        n++;
    return n;
}

static int pieces_update(const struct wdl_domain *d, const struct wdl_kernel *kernel,
                         const struct wdl_kernel_call *call, const struct wdl_piece *piece,
                         int npieces, const char *in, char *out, size_t *done)
{
    int region = wdl_region_of(d, piece->base);
    if (plain_begin(d, region) != WDL_OK)
        return WDL_AGAIN;
    size_t size = call->element->packed_bytes, stride = 0;
    for (int i = 0, run; i < npieces; i++) {
        run = out || !kernel->rows ? 0 : pieces_run(piece + i, npieces - i, size, &stride);
        if (run > 1) {
            kernel->rows(piece[i].base, stride, in + *done, size, (size_t) run);
            *done += (size_t) run * size;
            i += run - 1;
            continue;
        }
        kernel->plain(call, piece[i].base, in ? in + *done : NULL, out ? out + *done : NULL,
                      piece[i].bytes / size);
        *done += piece[i].bytes;
    }
    plain_end(d, region);
    return WDL_OK;
}

int wdl_accumulate(const struct wdl_domain *d, enum wdl_rop op, const struct wdl_element *el,
                   const struct wdl_piece *target, int npieces, const void *in, void *out,
                   size_t *done)
{
    wdl_assert_cmp(el->extent, <=, WIDE_BYTES_MAX);
    wdl_assert(in || op == WDL_ROP_NO_OP);
    if (!wdl_kernel_has(el) && d->outside)
        return accumulate_outside(d, op, el, target, npieces, in, out, done);
    if (!wdl_kernel_has(el))
        return accumulate_locked(d, op, el, target, npieces, in, out, done);
    const struct wdl_kernel *kernel = wdl_kernel_find(el, op);
    const struct wdl_kernel_call call = { d->host, el, op };
    if (npieces == 1 && target->bytes == el->packed_bytes && *done == 0 &&
        is_aligned(el, target->base))
        return element_update(d, kernel, &call, target->base, in, out, done);
    size_t before = 0;          /* bytes of the stream before this piece */
    size_t start = npieces == 1 ? start_of(d, &call, target) : 0;
    if (start > 0)
        return turned_update(d, kernel, &call, target, start, in, out, done);
    for (int i = 0; i < npieces; i++) {
        int whole = before == *done, status = WDL_OK;
        int together = whole ? pieces_together(d, &call, target + i, npieces - i) : 0;
        int outside = whole ? pieces_outside(d, &call, target + i, npieces - i) : 0;
        if (outside) {
            status = pieces_update_outside(d, kernel, &call, target + i, outside, in, out, done);
            together = outside;
        } else if (together)
            status = pieces_update(d, kernel, &call, target + i, together, in, out, done);
        else if (before + target[i].bytes > *done)
            status = piece_update(d, kernel, &call, &target[i], *done - before, in, out, done);
        if (status != WDL_OK)
            return status;
        before = together ? *done : before + target[i].bytes;
        i += together ? together - 1 : 0;
    }
    return WDL_OK;
}

/* --- blocks evenly apart ---------------------------------------------------------------------- */

/* Blocks from this one on that one closing is worth: within a region, whole; or 0. */
static size_t rows_together(const struct wdl_domain *d, const struct wdl_kernel_call *call,
                            const struct wdl_rows *target, size_t row)
{
    size_t n = target->count - row, stride = (size_t) target->stride,
           left = region_left(d, target->base + row * stride);
    if (wdl_domain_is_sole(d))
        return n;
    if (left < target->bytes)
        return 0;
    if (n > (left - target->bytes) / stride + 1)
        n = (left - target->bytes) / stride + 1;
    if (n * target->bytes > closed_most(d, call))
        n = closed_most(d, call) / target->bytes;
    return n > 0 && wdl_is_bulk(call->element, call->op,
                                n * target->bytes / call->element->packed_bytes, d->granularity) ?
        n : 0;
}

static int rows_update(const struct wdl_domain *d, const struct wdl_kernel *kernel,
                       const struct wdl_kernel_call *call, const struct wdl_rows *target,
                       const struct wdl_rows *in, size_t row, size_t n)
{
    size_t stride = (size_t) target->stride, each = target->bytes / call->element->packed_bytes;
    char *at = target->base + row * stride;
    const char *from = in->base + (int64_t) row * in->stride;
    int region = wdl_region_of(d, at);
    if (plain_begin(d, region) != WDL_OK)
        return WDL_AGAIN;
    if (each == 1 && kernel->rows)
        kernel->rows(at, stride, from, (size_t) in->stride, n);
    else
        for (size_t i = 0; i < n; i++)
            kernel->plain(call, at + i * stride, from + (int64_t) i * in->stride, NULL, each);
    plain_end(d, region);
    return WDL_OK;
}

/* Of elements without an instruction: so many blocks at a time, their operands in a row. */
static int rows_locked(const struct wdl_domain *d, enum wdl_rop op, const struct wdl_element *el,
                       const struct wdl_rows *target, const struct wdl_rows *in, size_t *done)
{
    enum { BLOCKS = 64, OPERANDS = 1024 };
    char operands[OPERANDS];
    struct wdl_piece piece[BLOCKS];
    size_t each = target->bytes, most = BLOCKS;
    int in_a_row = in->stride == (int64_t) each, status = WDL_OK;
    if (!in_a_row && most * each > OPERANDS)
        most = OPERANDS / each;
    while (status == WDL_OK && *done < target->count * each) {
        size_t row = *done / each, inside = *done % each, left = target->count - row;
        size_t n = inside > 0 || most == 0 ? 1 : left < most ? left : most;
        char *at = target->base + (int64_t) row * target->stride;
        const char *from = in->base + (int64_t) row * in->stride;
        for (size_t i = 0; i < n; i++)
            piece[i] = (struct wdl_piece){at + (int64_t) i * target->stride, each};
        if (!in_a_row && n > 1) {
            for (size_t i = 0; i < n; i++)
                memcpy(operands + i * each, from + (int64_t) i * in->stride, each);
            from = operands;
        }
        status = accumulate_locked(d, op, el, piece, (int) n, from, NULL, &inside);
        *done = row * each + inside;
    }
    return status;
}

int wdl_accumulate_rows(const struct wdl_domain *d, enum wdl_rop op, const struct wdl_element *el,
                        const struct wdl_rows *target, const struct wdl_rows *in, size_t *done)
{
    wdl_assert_cmp(target->stride, >=, (int64_t) target->bytes);
    if (!wdl_kernel_has(el))
        return rows_locked(d, op, el, target, in, done);
    const struct wdl_kernel *kernel = wdl_kernel_find(el, op);
    const struct wdl_kernel_call call = {d->host, el, op};
    int network = wdl_net_has(d->network, el);
    wdl_assert(is_aligned(el, target->base) && target->bytes % el->packed_bytes == 0);
    while (*done < target->count * target->bytes) {
        size_t row = *done / target->bytes, inside = *done % target->bytes;
        size_t n = inside || network ? 0 : rows_together(d, &call, target, row);
        struct wdl_piece one = {target->base + (int64_t) row * target->stride, target->bytes};
        int status = n ? rows_update(d, kernel, &call, target, in, row, n) :
            piece_update(d, kernel, &call, &one, inside, in->base + (int64_t) row * in->stride,
                         NULL, &inside);
        if (n && status == WDL_OK)
            inside = n * target->bytes;
        *done = row * target->bytes + inside;
        if (status != WDL_OK)
            return status;
    }
    return WDL_OK;
}

/* --- compare and swap ------------------------------------------------------------------------- */

static void swap_where_equal(const struct wdl_element *el, void *target, const void *compare,
                             const void *value, void *result)
{
    int equal = memcmp(target, compare, el->packed_bytes) == 0;
    memcpy(result, target, el->packed_bytes);
    if (equal)
        memcpy(target, value, el->packed_bytes);
}

/* The same from outside. */
static int swap_outside(const struct wdl_domain *d, const struct wdl_element *el, void *target,
                        const void *compare, const void *value, void *result)
{
    _Alignas(8) char now[8], before[8];
    int region = wdl_region_of(d, target);
    wdl_assert(wdl_kernel_has(el) && is_aligned(el, target));
    if (wdl_bulk_begin(d, region) != WDL_OK)
        return WDL_AGAIN;
    int status = outside_copy(d, 0, now, target, el->packed_bytes);
    if (status == WDL_OK) {
        swap_where_equal(el, now, compare, value, before);
        if (memcmp(before, compare, el->packed_bytes) == 0)
            status = outside_copy(d, 1, now, target, el->packed_bytes);
    }
    wdl_bulk_end(d, region);
    if (status == WDL_OK)
        memcpy(result, before, el->packed_bytes);
    return status;
}

int wdl_compare_swap(const struct wdl_domain *d, const struct wdl_element *el, void *target,
                     const void *compare, const void *value, void *result)
{
    if (wdl_domain_is_sole(d) && !wdl_net_has(d->network, el)) {
        swap_where_equal(el, target, compare, value, result);
        return WDL_OK;
    }
    if (d->outside)
        return swap_outside(d, el, target, compare, value, result);
    if (wdl_kernel_has(el) && is_aligned(el, target)) {
        if (wdl_domain_short_begin(d, wdl_region_of(d, target)) != WDL_OK)
            return WDL_AGAIN;
        wdl_kernel_compare_swap(el->packed_bytes, target, compare, value, result);
        wdl_short_end(d->own);
        return WDL_OK;
    }
    uint64_t set = wdl_stripes_of(target, el->packed_bytes);
    if (wdl_stripes_lock(d->control, set) != WDL_OK)
        return WDL_AGAIN;
    swap_where_equal(el, target, compare, value, result);
    wdl_stripes_unlock(d->control, set);
    return WDL_OK;
}
