/* Part of Windlass. See COPYRIGHT in the top-level directory. What others have handed over, at its
 * target (mailbox.h). A cell is written by another process: what it says is checked. */
#include <string.h>
#include "base/line.h"
#include "mpid/rma/accumulate.h"
#include "mpid/rma/joint.h"
#include "mpid/rma/kernel.h"
#include "mpid/rma/mail.h"
#include "mpid/rma/rows.h"
#include "mpid/rma/stream.h"

enum { LINE = sizeof(struct wdl_mail) };

char *wdl_mail_place(const struct wdl_win *win, int64_t disp, int64_t lo, int64_t hi)
{
    uint64_t at = (uint64_t) disp;
    if (win->params.flavor != WDL_WIN_DYNAMIC) {
        if (disp < 0 || __builtin_mul_overflow(at, (uint64_t) win->params.disp_unit, &at) ||
            at > win->params.bytes)
            return NULL;
        at += (uint64_t) (uintptr_t) win->params.base;
    }
    return wdl_win_exposes(win, at, lo, hi) ? (char *) (uintptr_t) at : NULL;
}

static char *place_of(const struct wdl_win *win, const struct wdl_mail *mail, int64_t lo,
                      int64_t hi)
{
    return wdl_mail_place(win, mail->disp, lo, hi);
}

/* Its blocks, if all of them are our memory. */
static int rows_of(const struct wdl_win *win, const struct wdl_mail *mail,
                   struct wdl_rows *rows_out)
{
    const struct wdl_mail_rows *rows = &mail->rows;
    int64_t last, hi;
    if (mail->bytes == 0 || (uint64_t) rows->bytes * rows->count != mail->bytes ||
        __builtin_mul_overflow(rows->stride, (int64_t) rows->count - 1, &last) ||
        __builtin_add_overflow(last > 0 ? last : 0, (int64_t) rows->bytes, &hi))
        return 0;
    char *at = place_of(win, mail, last < 0 ? last : 0, hi);
    *rows_out = (struct wdl_rows){at, rows->stride, rows->bytes, rows->count};
    return at != NULL;
}

int wdl_mail_element(const struct wdl_win *win, uint32_t host_type, struct wdl_element *el_out)
{
    const struct wdl_host *host = &win->proc->host;
    return !win->params.mapped_any && !win->net_sizes &&
           host->ops->element(host->ctx, host_type, el_out);
}

/* Elements of memory that no other process maps; data: of a long operation, and the answer's place.
 * *done: as in wdl_accumulate. */
static int update(const struct wdl_win *win, const struct wdl_mail *mail, char *at, char *data,
                  size_t *done)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_piece one = {at, mail->bytes};
    struct wdl_element el;
    struct wdl_domain domain;
    if (!wdl_mail_element(win, mail->host_type, &el) || mail->bytes == 0 ||
        mail->bytes % el.packed_bytes != 0 ||
        (wdl_kernel_has(&el) ? (uintptr_t) at % el.packed_bytes != 0 : mail->kind == WDL_RMA_CAS))
        return WDL_ERR_UNSUPPORTED;
    wdl_win_own_domain(win, &domain);
    if (mail->kind == WDL_RMA_CAS && mail->bytes == el.packed_bytes)
        return wdl_compare_swap(&domain, &el, at, mail->data, mail->data + mail->bytes, data);
    if (mail->kind == WDL_RMA_CAS || mail->rop >= WDL_ROP_COUNT ||
        !host->ops->op_valid(host->ctx, mail->host_type, mail->rop))
        return WDL_ERR_UNSUPPORTED;
    const char *in = mail->bytes > WDL_MAIL_BYTES ? data + wdl_mail_payload_at(mail) : mail->data;
    return wdl_accumulate(&domain, mail->rop, &el, &one, 1, in,
                          mail->kind == WDL_RMA_ACC ? NULL : data, done);
}

/* The same of blocks evenly apart. */
static int update_rows(const struct wdl_win *win, const struct wdl_mail *mail,
                       const struct wdl_rows *rows, const struct wdl_rows *in, size_t *done)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_element el;
    struct wdl_domain domain;
    if (!wdl_mail_element(win, mail->host_type, &el) || mail->rop >= WDL_ROP_COUNT ||
        mail->rop == WDL_ROP_NO_OP || !host->ops->op_valid(host->ctx, mail->host_type, mail->rop) ||
        !wdl_rows_have(rows, &el))
        return WDL_ERR_UNSUPPORTED;
    wdl_win_own_domain(win, &domain);
    return wdl_accumulate_rows(&domain, mail->rop, &el, rows, in, done);
}

/* Blocks evenly apart: WDL_OK, WDL_AGAIN, or that it is to be done another way. */
static int serve_rows(const struct wdl_win *win, const struct wdl_mail *mail, char *data,
                      size_t *done)
{
    struct wdl_rows rows;
    if (!rows_of(win, mail, &rows))
        return WDL_ERR_UNSUPPORTED;
    const struct wdl_rows packed = wdl_rows_packed(data, &rows);
    switch (mail->kind) {
        case WDL_RMA_PUT:
            wdl_rows_copy(&rows, &packed);
            return WDL_OK;
        case WDL_RMA_GET:
            wdl_rows_copy(&packed, &rows);
            return WDL_OK;
        case WDL_RMA_ACC:
            return update_rows(win, mail, &rows, &packed, done);
        default:
            return WDL_ERR_UNSUPPORTED;
    }
}

/* The places of a bag's accumulates from the first on: all, or how many there are. */
static size_t bag_places(const struct wdl_win *win, const char *area, size_t each, size_t n,
                         const struct wdl_element *el, struct wdl_piece *places)
{
    for (size_t i = 0; i < n; i++) {
        int64_t disp;
        memcpy(&disp, area + i * sizeof(disp), sizeof(disp));
        char *at = wdl_mail_place(win, disp, 0, (int64_t) each);
        if (!at || (uintptr_t) at % el->packed_bytes != 0)
            return i;
        places[i] = (struct wdl_piece){at, each};
    }
    return n;
}

/* Accumulates of mail->bytes each (bag.h). *done: bytes of them all. */
static int serve_bag(const struct wdl_win *win, const struct wdl_mail *mail, char *area,
                     size_t *done)
{
    const struct wdl_host *host = &win->proc->host;
    size_t each = mail->bytes, n = mail->rows.count;
    struct wdl_piece places[WDL_BAG_OPS];
    struct wdl_element el;
    struct wdl_domain domain;
    if (each == 0 || each > WDL_BAG_EACH || n == 0 || n > wdl_bag_most(each) ||
        !wdl_mail_element(win, mail->host_type, &el) || !wdl_kernel_has(&el) ||
        each % el.packed_bytes != 0 || mail->rop >= WDL_ROP_COUNT || mail->rop == WDL_ROP_NO_OP ||
        !host->ops->op_valid(host->ctx, mail->host_type, mail->rop))
        return WDL_ERR_UNSUPPORTED;
    /* all or none; where some are done, all were there before */
    if (bag_places(win, area, each, n, &el, places) < n)
        return *done == 0 ? WDL_ERR_UNSUPPORTED : WDL_ERR_PROTO;
    wdl_win_own_domain(win, &domain);
    return wdl_accumulate(&domain, mail->rop, &el, places, (int) n, wdl_bag_operands(area), NULL,
                          done);
}

/* Puts or gets, one behind the other in mail->bytes of the area (bag.h). */
static int serve_moves(const struct wdl_win *win, const struct wdl_mail *mail, char *area)
{
    uint64_t used = mail->bytes, at = 0;
    while (at < used) {
        struct wdl_bag_move move;
        char *data = area + at + sizeof(move);
        __builtin_prefetch(area + at + WDL_BAG_AHEAD);
        if (used - at < sizeof(move))
            return WDL_ERR_UNSUPPORTED;
        memcpy(&move, area + at, sizeof(move));
        if (move.bytes > WDL_BAG_EACH || wdl_bag_length(move.bytes) > used - at)
            return WDL_ERR_UNSUPPORTED;
        char *there = wdl_mail_place(win, move.disp, 0, (int64_t) move.bytes);
        if (!there)
            return WDL_ERR_UNSUPPORTED;
        wdl_bag_copy(mail->rop ? there : data, mail->rop ? data : there, move.bytes);
        at += wdl_bag_length(move.bytes);
    }
    return WDL_OK;
}

/* What most operations are, without a packet: WDL_OK, WDL_AGAIN, or ERR_UNSUPPORTED. */
static int serve_short(const struct wdl_win *win, const struct wdl_mail *mail, char *data,
                       size_t *done)
{
    char *at = place_of(win, mail, 0, mail->bytes);
    if (!at)
        return WDL_ERR_UNSUPPORTED;
    switch (mail->kind) {
        case WDL_RMA_PUT:
            memcpy(at, data, mail->bytes);
            return WDL_OK;
        case WDL_RMA_GET:
            wdl_bypass_copy(wdl_bypass_for(win, (int) mail->origin), data, at, mail->bytes);
            return WDL_OK;
        case WDL_RMA_ACC:
        case WDL_RMA_GET_ACC:
        case WDL_RMA_CAS:
            return update(win, mail, at, data, done);
        default:
            return WDL_ERR_UNSUPPORTED;
    }
}

/* What a message would have said. */
static void packet_of(const struct wdl_win *win, const struct wdl_mail *mail, struct wdl_pkt *pkt)
{
    static const uint8_t kind[WDL_RMA_KINDS] = {
        [WDL_RMA_PUT] = WDL_PKT_PUT, [WDL_RMA_GET] = WDL_PKT_GET, [WDL_RMA_ACC] = WDL_PKT_ACC,
        [WDL_RMA_GET_ACC] = WDL_PKT_GET_ACC, [WDL_RMA_CAS] = WDL_PKT_CAS
    };
    wdl_pkt_init(pkt, win, kind[mail->kind]);
    pkt->origin = mail->origin;
    pkt->rop = mail->rop;
    pkt->type = WDL_PKT_CONTIG;
    pkt->disp = mail->disp;
    pkt->bytes = mail->bytes;
    pkt->total = mail->bytes;
    pkt->element.host_type = mail->host_type;
}

/* As a message: the packet's answer goes in front of the data's place. */
static int serve_whole(struct wdl_win *win, const struct wdl_mail *mail, const char *payload,
                       char *room, size_t *done)
{
    struct wdl_pkt pkt, answer;
    size_t used = 0;
    packet_of(win, mail, &pkt);
    int status = wdl_serve_part(win, &pkt, payload, wdl_mail_payload(mail), room, &used, done);
    if (status == WDL_OK && used > 0) {
        memcpy(&answer, room, sizeof(answer));
        status = answer.status;
    }
    return status;
}

/* The same, in the cell or in the area. What is done of one that goes on later: its old values take
 * the operands' places. */
static int serve_packet(struct wdl_win *win, const struct wdl_mail *asked, char *data, int in_cell,
                        size_t *done)
{
    char room[sizeof(struct wdl_pkt) + WDL_MAIL_BYTES];
    size_t before = *done;
    if (!in_cell)
        return serve_whole(win, asked, data + wdl_mail_payload_at(asked),
                           data - sizeof(struct wdl_pkt), done);
    int status = serve_whole(win, asked, asked->data, room, done);
    size_t upto = status == WDL_OK ? asked->bytes : status == WDL_AGAIN ? *done : before;
    if (asked->kind != WDL_RMA_PUT && asked->kind != WDL_RMA_ACC)
        memcpy(data + before, room + sizeof(struct wdl_pkt) + before, upto - before);
    return status;
}

/* Does what it says fit in a cell and an area? */
static int is_sound(const struct wdl_win *win, const struct wdl_mail *asked)
{
    return asked->origin < (uint32_t) win->params.size &&
           (asked->kind < WDL_RMA_KINDS || asked->kind == WDL_MAIL_BAG ||
            asked->kind == WDL_MAIL_BAG_MOVES) &&
           asked->bytes <= WDL_MAIL_AREA &&
           wdl_mail_payload_at(asked) + wdl_mail_payload(asked) <= WDL_MAIL_AREA &&
           (asked->kind != WDL_RMA_CAS || asked->bytes <= WDL_MAIL_BYTES / 2);
}

/* Do what is in a cell that is ours: WDL_AGAIN, or what its status is to be. */
static int serve(struct wdl_win *win, struct wdl_mail *mail, size_t *done, int *moved)
{
    struct wdl_mail asked;
    struct wdl_win_control *origin = NULL;
    /* the sender could still write to it, and does to the state */
    memcpy(&asked.origin, &mail->origin, sizeof(asked) - offsetof(struct wdl_mail, origin));
    if (asked.kind == WDL_MAIL_STREAM || asked.kind == WDL_MAIL_FOLD)
        return wdl_stream_serve(win, &asked, done);
    if (asked.kind == WDL_MAIL_TRAIN || asked.kind == WDL_MAIL_TRAIN_FOLD)
        return wdl_train_serve(win, &asked, done, moved);
    if (asked.kind == WDL_MAIL_JOINT)
        return wdl_joint_serve(win, mail, &asked, done);
    if (asked.kind == WDL_MAIL_PULL)
        return wdl_pull_serve(win, &asked);
    if (!is_sound(win, &asked))
        return WDL_ERR_PROTO;
    (void) win->params.map(win->params.ctx, (int) asked.origin, &origin);
    if (!origin)
        return WDL_ERR_PROTO;
    if (asked.kind == WDL_MAIL_BAG)
        return serve_bag(win, &asked, origin->area.data, done);
    if (asked.kind == WDL_MAIL_BAG_MOVES)
        return serve_moves(win, &asked, origin->area.data);
    if (asked.is_rows)
        return serve_rows(win, &asked, origin->area.data, done);
    char *data = wdl_mail_data(mail, asked.bytes, origin);
    int status = serve_short(win, &asked, data, done);
    return status == WDL_ERR_UNSUPPORTED ?
        serve_packet(win, &asked, data, data == mail->data, done) : status;
}

static int cells_of(const struct wdl_win *win)
{
    return wdl_mail_own(win) ? win->params.node_count : WDL_WIN_MAILS;
}

/* The next one there may be as long: ask for what lies beside it between looks. */
static void expect_alike(struct wdl_win *win, int i, const struct wdl_mail *mail)
{
    int beside = mail->kind < WDL_RMA_KINDS || mail->kind == WDL_MAIL_BAG_MOVES;
    uint32_t bytes = mail->bytes, lines = bytes / LINE + (bytes % LINE != 0);
    if (!beside || !wdl_mail_own(win) || bytes <= WDL_MAIL_BYTES || lines > WDL_MAIL_AHEAD)
        lines = 0;
    win->mailbox.ahead[i] = (struct wdl_mail_ahead){
        .lines = (uint8_t) lines,
        .operands = (uint8_t) (mail->kind == WDL_RMA_GET_ACC ? lines : 0)};
}

static void ask_for_lines(const struct wdl_win *win, int i)
{
    const struct wdl_mail_ahead *ahead = &win->mailbox.ahead[i];
    const char *data = win->params.node[i].area.data;
    for (int k = 0; k < ahead->lines; k++)
        wdl_line_wanted(data + k * LINE);
    for (int k = 0; k < ahead->operands; k++)
        wdl_line_wanted(data + WDL_MAIL_AREA / 2 + k * LINE);
}

/* One that is TAKEN is DONE, or POSTED again: as the last of its epoch, if that has been said when
 * it was handed over, or, of a stream, meanwhile. */
static void goes_to(struct wdl_win *win, int i, enum wdl_mail_state state)
{
    struct wdl_win_control *own = wdl_mail_control(win);
    struct wdl_mail *mail = &own->mail[i];
    int last = win->mailbox.lasts[i];
    if (!last && mail->kind == WDL_MAIL_STREAM) {
        if (wdl_mail_swap(mail, WDL_MAIL_TAKEN, state))
            return;
        last = 1;
    }
    win->mailbox.lasts[i] = 0;
    if (last && state == WDL_MAIL_DONE && mail->status == WDL_OK)
        __atomic_fetch_add(&own->completed, 1,
                           __ATOMIC_RELEASE);   /* pairs with the load in wdl_win_wait */
    wdl_mail_set(mail, last && state == WDL_MAIL_POSTED ? WDL_MAIL_LAST : state);
}

/* One in which something is: 1: that is done, or a part of it. Apart, so that a look at cells where
 * nothing is saves no registers. */
__attribute__((noinline))
static int serve_cell(struct wdl_win *win, int i, enum wdl_mail_state state)
{
    struct wdl_mail *mail = &wdl_mail_control(win)->mail[i];
    if (state != WDL_MAIL_TAKEN && wdl_mail_swap(mail, state, WDL_MAIL_TAKEN)) {
        win->mailbox.served[i] = 0;
        win->mailbox.lasts[i] = state == WDL_MAIL_LAST;
        state = WDL_MAIL_TAKEN;
        wdl_mail_prompt(win, mail);
    }
    if (state != WDL_MAIL_TAKEN)
        return 0;
    size_t before = win->mailbox.served[i];
    int moved = 0, status = serve(win, mail, &win->mailbox.served[i], &moved);
    if (status == WDL_AGAIN) {
        if (mail->kind < WDL_MAIL_STREAM)
            return 0;
        moved += win->mailbox.served[i] > before;
        if (mail->kind == WDL_MAIL_STREAM || mail->kind == WDL_MAIL_JOINT ||
            win->mailbox.served[i] == 0)
            goes_to(win, i, WDL_MAIL_POSTED);
        return moved;
    }
    expect_alike(win, i, mail);
    mail->status = (uint8_t) status;
    goes_to(win, i, WDL_MAIL_DONE);
    return 1;
}

static int wants_service(uint32_t state)
{
    return state == WDL_MAIL_POSTED || state == WDL_MAIL_TAKEN || state == WDL_MAIL_LAST;
}

/* From cell i on. Apart from the looking, which saves no registers so. */
__attribute__((noinline))
static int serve_from(struct wdl_win *win, int i)
{
    int n = 0, cells = cells_of(win);
    for (; i < cells; i++) {
        uint32_t state = wdl_mail_look(&wdl_mail_control(win)->mail[i]);
        if (wants_service(state))
            n += serve_cell(win, i, (enum wdl_mail_state) state);
        else if (win->mailbox.ahead[i].lines > 0)
            ask_for_lines(win, i);
    }
    return n;
}

wdl_line_begins
int wdl_mailbox_serve(struct wdl_win *win)
{
    struct wdl_win_control *own = wdl_mail_control(win);
    int cells = cells_of(win);
    if (!win->rma->aside)
        __atomic_store_n(&own->looks, own->looks + 1, __ATOMIC_RELAXED);
    for (int i = 0; i < cells; i++)
        if (wants_service(wdl_mail_look(&own->mail[i])) || win->mailbox.ahead[i].lines > 0)
            return serve_from(win, i);
    return 0;
}

int wdl_mailbox_visited(struct wdl_win *win)
{
    int n = 0, cells = cells_of(win);
    for (int i = 0; i < cells; i++) {
        uint8_t visits = __atomic_load_n(&wdl_mail_control(win)->mail[i].visits, __ATOMIC_RELAXED);
        n |= visits != win->mailbox.visits[i];
        win->mailbox.visits[i] = visits;
    }
    return n;
}
