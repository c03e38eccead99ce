/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The target's side of operations: put, get, accumulate and compare-and-swap packets applied to
 * this process's memory. Everything in a packet is checked before it is believed; nothing is
 * changed before an answer, where one is due, has its buffer, so that WDL_AGAIN is always safe.
 */
#include <string.h>
#include "base/copy.h"
#include "mpid/rma/accumulate.h"
#include "mpid/rma/win_impl.h"

/* An operation at its target, resolved. */
struct serve {
    struct wdl_win *win;
    const struct wdl_pkt *pkt;
    const char *payload;
    size_t bytes;               /* payload bytes */
    struct wdl_rtype *rtype;    /* the sender's type, or NULL */
    wdl_type type;              /* when !contig */
    int contig;
    char *addr;                 /* of the displacement; contiguous: of this packet's first byte */
    struct wdl_element element;
};

/* disp * disp_unit + base without overflow; dynamic windows take the displacement as the
 * address. */
static int target_address(const struct wdl_win *win, int64_t disp, uint64_t *addr_out)
{
    int64_t offset;
    if (win->params.flavor == WDL_WIN_DYNAMIC) {
        *addr_out = (uint64_t) disp;
        return WDL_OK;
    }
    if (disp < 0 || __builtin_mul_overflow(disp, win->params.disp_unit, &offset))
        return WDL_ERR_DISP;
    *addr_out = (uint64_t) (uintptr_t) win->params.base + (uint64_t) offset;
    return WDL_OK;
}

/* Contiguous: the stretch of this packet. */
static int serve_contig(struct serve *s, uint64_t addr)
{
    const struct wdl_pkt *pkt = s->pkt;
    int64_t from, to;
    if (pkt->offset > INT64_MAX || __builtin_add_overflow(pkt->lo, (int64_t) pkt->offset, &from) ||
        __builtin_add_overflow(from, (int64_t) pkt->bytes, &to))
        return WDL_ERR_RANGE;
    if (!wdl_win_exposes(s->win, addr, from, to))
        return WDL_ERR_RANGE;
    s->contig = 1;
    s->addr = (char *) (uintptr_t) (addr + (uint64_t) from);
    return WDL_OK;
}

static int serve_typed(struct serve *s, uint64_t addr)
{
    const struct wdl_pkt *pkt = s->pkt;
    const struct wdl_host *host = &s->win->proc->host;
    struct wdl_element element;
    int64_t lo, hi;
    size_t stream;
    if (pkt->type == WDL_PKT_PREDEFINED) {
        s->type = pkt->element.host_type;
        if (!host->ops->element(host->ctx, pkt->element.host_type, &element))
            return WDL_ERR_PROTO;
    } else {
        s->rtype = wdl_rtype_find(s->win, pkt->origin, pkt->type);
        if (s->rtype && s->rtype->refused)
            return WDL_ERR_LONG_TYPE;
        if (!s->rtype || !s->rtype->whole)
            return WDL_ERR_PROTO;
        s->type = s->rtype->type;
    }
    int status = pkt->count < 0 ? WDL_ERR_PROTO :
        host->ops->type_bounds(host->ctx, s->type, pkt->count, &lo, &hi, &stream);
    if (status != WDL_OK)
        return status;
    /* (what a shorter origin puts there is a part of it) */
    if (pkt->total > stream || pkt->offset > pkt->total || pkt->bytes > pkt->total - pkt->offset)
        return WDL_ERR_PROTO;
    if (!wdl_win_exposes(s->win, addr, lo, hi) &&
        !wdl_win_exposes_stream(s->win, addr, pkt->count, s->type, pkt->offset, pkt->bytes))
        return WDL_ERR_RANGE;
    s->addr = (char *) (uintptr_t) addr;
    return WDL_OK;
}

/* Everything that can be wrong with an operation packet, before anything is touched. */
static int serve_resolve(struct serve *s)
{
    const struct wdl_pkt *pkt = s->pkt;
    const struct wdl_host *host = &s->win->proc->host;
    uint64_t addr;
    if (pkt->bytes == 0 || pkt->bytes > s->win->rma->chunk_bytes)
        return WDL_ERR_PROTO;
    int status = target_address(s->win, pkt->disp, &addr);
    if (status != WDL_OK)
        return status;
    if (pkt->kind == WDL_PKT_ACC || pkt->kind == WDL_PKT_GET_ACC || pkt->kind == WDL_PKT_CAS) {
        if (!host->ops->element(host->ctx, pkt->element.host_type, &s->element) ||
            pkt->rop >= WDL_ROP_COUNT || pkt->bytes % s->element.packed_bytes)
            return WDL_ERR_PROTO;
        if (!host->ops->op_valid(host->ctx, pkt->element.host_type, pkt->rop))
            return WDL_ERR_OP;
        if (pkt->type != WDL_PKT_CONTIG && pkt->bytes > wdl_rma_typed_bytes(&s->element))
            return WDL_ERR_PROTO;
    }
    return pkt->type == WDL_PKT_CONTIG ? serve_contig(s, addr) : serve_typed(s, addr);
}

static int serve_payload_fits(const struct serve *s)
{
    switch (s->pkt->kind) {
        case WDL_PKT_PUT:
        case WDL_PKT_ACC:
            return s->bytes == s->pkt->bytes;
        case WDL_PKT_GET:
            return s->bytes == 0;
        case WDL_PKT_GET_ACC:
            return s->bytes == (s->pkt->rop == WDL_ROP_NO_OP ? 0 : s->pkt->bytes);
        default:
            return s->bytes == 2 * (size_t) s->pkt->bytes &&
                s->pkt->bytes == s->element.packed_bytes;
    }
}

static int serve_accumulate(struct serve *s, const struct wdl_domain *domain, void *out,
                            size_t *done)
{
    const struct wdl_host *host = &s->win->proc->host;
    struct wdl_piece one = { s->addr, s->pkt->bytes }, *pieces = &one;
    int n = 1;
    if (!s->contig) {
        size_t bytes = 0;
        pieces = s->win->rma->pieces;
        n = host->ops->pieces(host->ctx, s->addr, s->pkt->count, s->type, s->pkt->offset,
                              s->pkt->bytes, pieces, WDL_RMA_PIECES);
        for (int i = 0; i < n; i++)
            bytes += pieces[i].bytes;
        if (bytes < s->pkt->bytes)      /* the type has smaller blocks than such elements */
            return WDL_ERR_PROTO;
    }
    return wdl_accumulate(domain, s->pkt->rop, &s->element, pieces, n, s->bytes ? s->payload : NULL,
                          out, done);
}

/* Apply; out is the answer's room or NULL. *done: as in wdl_accumulate. */
static int serve_apply(struct serve *s, char *out, size_t *done)
{
    const struct wdl_host *host = &s->win->proc->host;
    const struct wdl_pkt *pkt = s->pkt;
    struct wdl_win_control *control;
    struct wdl_domain domain;
    char *base = s->win->params.map(s->win->params.ctx, s->win->params.rank, &control);
    if (s->win->params.flavor == WDL_WIN_DYNAMIC)
        base = NULL; /* as for those who map it: regions count from address 0 */
    wdl_win_domain(s->win, s->win->params.rank, base, control, &domain);
    switch (pkt->kind) {
        case WDL_PKT_PUT:
            if (s->contig)
                wdl_copy(s->addr, s->payload, s->bytes);
            else
                host->ops->unpack(host->ctx, s->addr, pkt->count, s->type, pkt->offset, s->payload,
                                  s->bytes);
            return WDL_OK;
        case WDL_PKT_GET:
            if (s->contig)
                wdl_copy(out, s->addr, pkt->bytes);
            else
                host->ops->pack(host->ctx, s->addr, pkt->count, s->type, pkt->offset, out,
                                pkt->bytes);
            return WDL_OK;
        case WDL_PKT_CAS:
            return wdl_compare_swap(&domain, &s->element, s->addr, s->payload,
                                    s->payload + pkt->bytes, out);
        default:
            return serve_accumulate(s, &domain, out, done);
    }
}

/* --- a half done message: the network delivers it again before any other (netmod.h,
 * wdl_nm_am_fn) --- */

int wdl_resume_take(struct wdl_resume *resume, const struct wdl_pkt *pkt, struct wdl_pass *pass_out)
{
    if (!resume->waiting || resume->win != pkt->win || resume->origin != pkt->origin ||
        resume->op != pkt->op || resume->offset != pkt->offset)
        return 0;
    resume->waiting = 0;
    *pass_out = resume->pass;
    return 1;
}

void wdl_resume_keep(struct wdl_resume *resume, const struct wdl_pkt *pkt,
                     const struct wdl_pass *pass)
{
    *resume = (struct wdl_resume) {.pass = *pass,.op = pkt->op,.offset = pkt->offset,
        .win = pkt->win,.origin = pkt->origin,.waiting = 1 };
}

static int is_reading(const struct wdl_pkt *pkt)
{
    return pkt->kind == WDL_PKT_GET || pkt->kind == WDL_PKT_GET_ACC || pkt->kind == WDL_PKT_CAS;
}

static int is_answered(const struct wdl_pkt *pkt)
{
    return is_reading(pkt) || (pkt->flags & WDL_PKT_WANT_ACK);
}

static int serve_prepare(struct serve *s)
{
    int status = serve_resolve(s);
    return status == WDL_OK && !serve_payload_fits(s) ? WDL_ERR_PROTO : status;
}

/* Apply what was prepared with this status; the answer, or the error where none is due, goes to
 * room. */
static int serve_finish(struct serve *s, int status, char *room, size_t *used, size_t *done)
{
    const struct wdl_pkt *pkt = s->pkt;
    struct wdl_pkt answer;
    *used = 0;
    if (status == WDL_OK)
        status = serve_apply(s, room ? room + sizeof(answer) : NULL, done);
    if (status == WDL_AGAIN)
        return WDL_AGAIN;
    if (room && (is_answered(pkt) || status != WDL_OK)) {
        wdl_pkt_init(&answer, s->win, is_reading(pkt) ? WDL_PKT_REPLY :
                     is_answered(pkt) ? WDL_PKT_OP_ACK : WDL_PKT_ERROR);
        answer.op = pkt->op;
        answer.offset = pkt->offset;
        answer.bytes = pkt->bytes;
        answer.status = (uint8_t) status;
        answer.reserved = is_reading(pkt) && status == WDL_OK ? pkt->bytes : 0;
        memcpy(room, &answer, sizeof(answer));
        *used = sizeof(answer) + answer.reserved;
    }
    /* served, or refused for good, before its type was looked at */
    if (!s->rtype && pkt->type != WDL_PKT_CONTIG && pkt->type != WDL_PKT_PREDEFINED)
        s->rtype = wdl_rtype_find(s->win, pkt->origin, pkt->type);
    wdl_rtype_served(s->win, s->rtype, pkt);
    return status == WDL_ERR_PROTO ? WDL_ERR_PROTO : WDL_OK;
}

int wdl_serve_part(struct wdl_win *win, const struct wdl_pkt *pkt, const char *payload,
                   size_t bytes, char *room, size_t *used, size_t *done)
{
    struct serve s = {.win = win,.pkt = pkt,.payload = payload,.bytes = bytes };
    return serve_finish(&s, serve_prepare(&s), room, used, done);
}

size_t wdl_serve_room(const struct wdl_pkt *pkt)
{
    return sizeof(*pkt) + (is_reading(pkt) ? pkt->bytes : 0);
}

/* Send the answer that lies in the bounce buffer, with what else the packet asked for. */
static void serve_answer(struct wdl_win *win, const struct wdl_pkt *pkt, struct wdl_bounce *bounce,
                         size_t used)
{
    int more = pkt->flags & (WDL_PKT_WITH_UNLOCK | WDL_PKT_WITH_FLUSH);
    struct wdl_pkt answer;
    if (used > 0) {
        memcpy(&answer, bounce->data, sizeof(answer));
    } else {
        wdl_pkt_init(&answer, win,
                     more & WDL_PKT_WITH_UNLOCK ? WDL_PKT_UNLOCK_ACK : WDL_PKT_FLUSH_ACK);
        answer.op = pkt->op;
    }
    answer.flags = (uint8_t) more;
    wdl_reply_send(win, (int) pkt->origin, bounce, &answer, answer.reserved);
}

int wdl_serve_op(struct wdl_win *win, const struct wdl_pkt *pkt, const char *payload, size_t bytes)
{
    struct serve s = {.win = win,.pkt = pkt,.payload = payload,.bytes = bytes };
    int more = pkt->flags & (WDL_PKT_WITH_UNLOCK | WDL_PKT_WITH_FLUSH);
    struct wdl_pass pass = {.answer = NULL };
    size_t used;
    if (!wdl_serve_may_close(win, pkt))
        return WDL_ERR_PROTO;
    int status = serve_prepare(&s);
    if (!wdl_resume_take(&win->rma->resume, pkt, &pass) &&
        (is_answered(pkt) || more || wdl_status_is_error(status))) {
        pass.answer = wdl_bounce_get(win->proc);
        if (!pass.answer)
            return WDL_AGAIN;
    }
    status = serve_finish(&s, status, pass.answer ? pass.answer->data : NULL, &used, &pass.done);
    if (status == WDL_AGAIN && pass.done > 0) {
        wdl_resume_keep(&win->rma->resume, pkt, &pass);
        return WDL_AGAIN;
    }
    if (pass.answer && (status == WDL_AGAIN || (used == 0 && !more)))
        wdl_bounce_put(pass.answer);
    else if (pass.answer)
        serve_answer(win, pkt, pass.answer, used);
    if (status != WDL_AGAIN)
        wdl_serve_close(win, pkt);
    return status;
}
