/* Part of Windlass. See COPYRIGHT in the top-level directory. Short operations handed over in
 * memory a node shares (mailbox.h). */
#include <string.h>
#include "mpid/rma/accumulate.h"
#include "mpid/rma/kernel.h"
#include "mpid/rma/stream.h"
#include "mpid/rma/win_impl.h"

/* --- the origin ------------------------------------------------------------------------------- */

static uint32_t state_of(const struct wdl_mail *mail)
{
    return __atomic_load_n(&mail->state, __ATOMIC_ACQUIRE); /* pairs with mail_put */
}

static void mail_put(struct wdl_mail *mail, enum wdl_mail_state state)
{
    __atomic_store_n(&mail->state, (uint32_t) state, __ATOMIC_RELEASE);
}

static int mail_swap(struct wdl_mail *mail, enum wdl_mail_state from, enum wdl_mail_state to)
{
    uint32_t expected = (uint32_t) from;
    return __atomic_compare_exchange_n(&mail->state, &expected, (uint32_t) to, 0, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

static int own_cells(const struct wdl_win *win)
{
    return win->params.node_count <= WDL_WIN_MAILS;
}

struct wdl_mail *wdl_mail_get(const struct wdl_win *win, struct wdl_win_control *control)
{
    struct wdl_mail *mail = &control->mail[win->params.node_index % WDL_WIN_MAILS];
    return own_cells(win) || mail_swap(mail, WDL_MAIL_FREE, WDL_MAIL_FILLING) ? mail : NULL;
}

/* Is all there is to it in one piece, and has room? */
static int fits(const struct wdl_win *win, const struct wdl_rma_args *args)
{
    static const size_t most[WDL_RMA_KINDS] = {
        [WDL_RMA_PUT] = WDL_MAIL_AREA, [WDL_RMA_GET] = WDL_MAIL_AREA, [WDL_RMA_ACC] = WDL_MAIL_AREA,
        [WDL_RMA_GET_ACC] = WDL_MAIL_AREA / 2, [WDL_RMA_CAS] = WDL_MAIL_BYTES / 2
    };
    const struct wdl_buf *remote = &args->remote, *in = &args->origin, *out = &args->result;
    size_t bytes = wdl_args_bytes(args);
    int reads = args->kind == WDL_RMA_GET_ACC || args->kind == WDL_RMA_CAS;
    if (args->kind == WDL_RMA_GET_ACC && args->op == WDL_ROP_NO_OP)
        in = out;
    return bytes <= most[args->kind] && bytes <= win->rma->chunk_bytes && remote->contig &&
           remote->lo == 0 && in->contig && in->bytes >= bytes &&
           (!reads || (out->contig && out->bytes >= bytes));
}

/* Where the data of an operation are, its answer's, and, behind those, what goes with one that has
 * an answer besides. */
static char *data_of(struct wdl_mail *mail, size_t bytes, struct wdl_win_control *origin)
{
    return bytes <= WDL_MAIL_BYTES ? mail->data : origin->area.data;
}

static size_t payload_at(const struct wdl_mail *mail)
{
    return mail->kind == WDL_RMA_GET_ACC && mail->bytes > WDL_MAIL_BYTES ? WDL_MAIL_AREA / 2 : 0;
}

static size_t payload_of(const struct wdl_mail *mail)
{
    int none = mail->kind == WDL_RMA_GET ||
               (mail->kind == WDL_RMA_GET_ACC && mail->rop == WDL_ROP_NO_OP);
    return none ? 0 : mail->kind == WDL_RMA_CAS ? 2 * (size_t) mail->bytes : mail->bytes;
}

int wdl_mail_is_clear(const struct wdl_win *win, const struct wdl_target *t, int rank)
{
    return win->batched == 0 && wdl_target_is_quiet(win, t, rank);
}

static struct wdl_mail_past *past_of(struct wdl_mailbox *box, int rank, int stream)
{
    return &box->past[stream][rank % WDL_MAIL_RANKS];
}

int wdl_mail_expected(struct wdl_win *win, int rank, uint64_t stream)
{
    struct wdl_mail_past *past = past_of(&win->mailbox, rank, stream > 0);
    uint64_t weight = 1 + stream / 16384;       /* what takes long loses little by asking */
    int ask = past->pass < weight;
    past->pass = (uint8_t) (ask ? 0 : past->pass - weight);
    return ask;
}

void wdl_mail_visit(const struct wdl_win *win, struct wdl_win_control *control)
{
    struct wdl_mail *mail = &control->mail[win->params.node_index % WDL_WIN_MAILS];
    if (win->mailbox.on && own_cells(win) && mail != win->mailbox.mail)
        __atomic_store_n(&mail->visits, (uint8_t) (mail->visits + 1), __ATOMIC_RELAXED);
}

int wdl_mail_is_away(const struct wdl_win *win, int rank)
{
    return win->mailbox.past[0][rank % WDL_MAIL_RANKS].missed > 0;
}

/* The target did not come. */
static void missed(struct wdl_mailbox *box, int rank, int stream)
{
    struct wdl_mail_past *past = past_of(box, rank, stream);
    past->missed += past->missed < WDL_MAIL_MISSED;
    past->pass = (uint8_t) ((1 << past->missed) - 1);
}

int wdl_mail_waits(struct wdl_win *win, int rank, int drained)
{
    struct wdl_mailbox *box = &win->mailbox;
    if (drained)
        box->waits = 0;
    else if (box->on && ++box->waits == WDL_MAIL_WAITS)
        missed(box, rank, 0);
    return drained;
}

static struct wdl_win_control *own_control(const struct wdl_win *win)
{
    return &win->params.node[win->params.node_index];
}

static void fill(const struct wdl_win *win, struct wdl_mail *mail, const struct wdl_rma_args *args)
{
    const struct wdl_buf *from = &args->origin;
    size_t n = args->element.packed_bytes;
    mail->origin = (uint32_t) win->params.rank;
    mail->kind = (uint8_t) args->kind;
    mail->rop = (uint8_t) args->op;
    mail->bytes = (uint32_t) wdl_args_bytes(args);
    mail->host_type = args->element.host_type;
    mail->disp = args->disp;
    if (args->kind == WDL_RMA_CAS) {
        memcpy(mail->data, args->compare, n);
        memcpy(mail->data + n, from->addr, n);
    } else if (payload_of(mail) > 0) {
        memcpy(data_of(mail, mail->bytes, own_control(win)) + payload_at(mail),
               (const char *) from->addr + from->lo, payload_of(mail));
    }
}

/* Longer operations go to a target that is there by way of shared memory, or the system copies
 * them: twice and close, or once, with every page looked up. Which is faster differs between
 * machines. */
enum { MAIL, SYSTEM };

static int is_compared(const struct wdl_win *win, const struct wdl_rma_args *args)
{
    return args->kind <= WDL_RMA_GET_ACC && args->remote.bytes > WDL_BATCH_SHORT &&
           win->params.copy;
}

static struct wdl_trial *trial_of(const struct wdl_win *win, const struct wdl_rma_args *args)
{
    uint64_t n = args->remote.bytes / WDL_BATCH_SHORT;
    int size = n > 1 ? 63 - __builtin_clzll(n) : 0;
    if (size > WDL_MAIL_SIZES - 1)
        size = WDL_MAIL_SIZES - 1;
    return &win->rma->trial[args->kind][size];
}

static uint64_t now_ns(const struct wdl_win *win)
{
    const struct wdl_host *host = &win->proc->host;
    return host->ops->now_ns(host->ctx);
}

int wdl_mail_is_faster(struct wdl_win *win, const struct wdl_rma_args *args)
{
    win->rma->timed = NULL;
    win->rma->began_ns = 0;
    /* whoever would take it wants a processor, and who would wait gives one away */
    if (win->params.crowded && args->kind <= WDL_RMA_GET && win->params.copy)
        return 0;
    if (!is_compared(win, args))
        return 1;
    struct wdl_trial *trial = trial_of(win, args);
    int way = wdl_trial_way(trial);
    win->rma->began_ns = trial->clock ? now_ns(win) : 0;
    if (way == MAIL)
        return 1;
    win->rma->timed = trial;
    return 0;
}

int wdl_mail_not_handed(struct wdl_win *win, int status)
{
    struct wdl_trial *trial = win->rma->timed;
    win->rma->timed = NULL;
    if (trial && win->rma->began_ns && status == WDL_OK)
        wdl_trial_took(trial, SYSTEM, now_ns(win) - win->rma->began_ns);
    return status;
}

/* It is in a cell no longer. */
static void leave(struct wdl_win *win)
{
    win->mailbox.mail = NULL;
    if (win->mailbox.stream)
        win->rma->streaming = 0;
    win->mailbox.stream = NULL;
}

/* The operation under way is over. */
static void finish(struct wdl_win *win, int status)
{
    struct wdl_mailbox *box = &win->mailbox;
    const struct wdl_host *host = &win->proc->host;
    leave(win);
    box->withdrawn = 0;
    if (box->args.request)
        host->ops->request_complete(host->ctx, box->args.request, status);
    else if (wdl_status_is_error(status))
        wdl_win_fail(win, status);
}

static void answered(struct wdl_win *win)
{
    struct wdl_mailbox *box = &win->mailbox;
    struct wdl_mail *mail = box->mail;
    const struct wdl_rma_args *args = &box->args;
    const struct wdl_buf *into = args->kind == WDL_RMA_GET ? &args->origin : &args->result;
    int status = mail->status < WDL_STATUS_COUNT ? mail->status : WDL_ERR_PROTO;
    int stream = box->stream != NULL;
    size_t bytes = wdl_args_bytes(args);
    if (stream && status == WDL_OK && !wdl_stream_is_through(win))
        status = WDL_ERR_PROTO;
    if (status == WDL_OK && stream && args->kind == WDL_RMA_GET_ACC)
        wdl_stream_move(win);   /* the last results */
    if (status == WDL_OK && !stream && args->kind != WDL_RMA_PUT && args->kind != WDL_RMA_ACC)
        memcpy((char *) into->addr + into->lo, data_of(mail, bytes, own_control(win)), bytes);
    if (!own_cells(win))
        mail_put(mail, WDL_MAIL_FREE);
    if (stream && status != WDL_OK && !wdl_stream_has_folded(win)) {
        /* what is wrong is found the other way */
        missed(box, args->target, 1);
        leave(win);
        box->withdrawn = 1;
        return;
    }
    past_of(box, args->target, stream)->missed = 0;
    if (box->began_ns)
        wdl_trial_took(trial_of(win, args), MAIL, now_ns(win) - box->began_ns);
    win->stats.ops_mailed++;
    finish(win, status);
}

void wdl_mail_post(struct wdl_win *win, struct wdl_mail *mail, const struct wdl_rma_args *args)
{
    struct wdl_mailbox *box = &win->mailbox;
    mail_put(mail, WDL_MAIL_POSTED);
    box->mail = mail;
    box->args = *args;
    box->looks = 0;
    box->began_ns = is_compared(win, args) ? win->rma->began_ns : 0;
}

/* 1: it is withdrawn, 0: it has been taken. */
static int withdraw(struct wdl_win *win)
{
    struct wdl_mailbox *box = &win->mailbox;
    if (!mail_swap(box->mail, WDL_MAIL_POSTED, WDL_MAIL_FREE))
        return 0;
    leave(win);
    box->withdrawn = 1;
    return 1;
}

/* What was withdrawn goes the way it would have gone. */
static int begin_again(struct wdl_win *win)
{
    struct wdl_mailbox *box = &win->mailbox;
    int on = box->on;
    box->on = 0;
    int status = wdl_rma_op(win, &box->args);
    box->on = on;
    if (status == WDL_AGAIN)
        return WDL_AGAIN;
    if (status == WDL_OK)
        box->args.request = NULL; /* whoever has taken it completes it */
    finish(win, status);
    return WDL_OK;
}

/* A stream's target may be filling in one of its own; one that has begun is dear to begin again. */
static int looks_enough(const struct wdl_mailbox *box)
{
    uint64_t bytes = box->args.remote.bytes;
    if (!box->stream)
        return WDL_MAIL_LOOKS;
    if (box->seen != box->begin)
        return 8 * WDL_MAIL_LOOKS;
    return WDL_MAIL_LOOKS + (int) ((bytes < 65536 ? bytes : 65536) / 256);
}

/* Nobody has come for a long time. */
static void give_up(struct wdl_win *win)
{
    int stream = win->mailbox.stream != NULL;
    if (withdraw(win))
        missed(&win->mailbox, win->mailbox.args.target, stream);
}

int wdl_mailbox_settle(struct wdl_win *win)
{
    struct wdl_mailbox *box = &win->mailbox;
    int done = box->mail && state_of(box->mail) == WDL_MAIL_DONE;
    if (box->stream && wdl_stream_move(win))
        box->looks = 0;
    if (done)
        answered(win);
    else if (box->mail && ++box->looks >= looks_enough(box))
        give_up(win);
    if (box->withdrawn)
        return begin_again(win);
    return box->mail ? WDL_AGAIN : WDL_OK;
}

/* Does it gain by company: a call of the system, or a message, for many? */
static int is_better_together(const struct wdl_rma_args *args)
{
    return wdl_args_bytes(args) <= WDL_BATCH_SHORT;
}

int wdl_mailbox_clear(struct wdl_win *win, const struct wdl_rma_args *next)
{
    struct wdl_mailbox *box = &win->mailbox;
    int status = wdl_mailbox_settle(win);
    /* one that does not come is asked seldom, and then waited for */
    if (status != WDL_AGAIN || !box->mail || !is_better_together(&box->args) ||
        wdl_mail_is_away(win, box->args.target) || !withdraw(win))
        return status;
    if (is_better_together(next) && box->run < 2)
        box->run = 2;           /* not alone */
    return begin_again(win);
}

/* A put's data have left the user's buffer; if it is withdrawn they are copied from our area. */
static void done_locally(struct wdl_win *win)
{
    struct wdl_mailbox *box = &win->mailbox;
    const struct wdl_host *host = &win->proc->host;
    char *kept = own_control(win)->area.data;
    size_t bytes = box->args.remote.bytes;
    if (bytes <= WDL_MAIL_BYTES)
        memcpy(kept, (const char *) box->args.origin.addr + box->args.origin.lo, bytes);
    box->args.origin.addr = kept - box->args.origin.lo;
    host->ops->request_complete(host->ctx, box->args.request, WDL_OK);
    box->args.request = NULL;
}

int wdl_mailbox_op(struct wdl_win *win, const struct wdl_rma_args *args, struct wdl_target *t,
                   struct wdl_win_control *control)
{
    struct wdl_mailbox *box = &win->mailbox;
    struct wdl_mail *mail;
    int together = is_better_together(args);
    int several = box->run > 0 || (box->follows && !wdl_mail_is_away(win, args->target));
    win->rma->timed = NULL;
    win->rma->began_ns = 0;     /* what is not asked about is not timed */
    box->run += together && box->run < WDL_MAIL_RUN;
    int held = !together && args->request && args->kind <= WDL_RMA_GET && win->params.copy &&
               wdl_batch_takes(win, args);
    if ((together && several) || held ||
        !__atomic_load_n(&control->mail_open, __ATOMIC_RELAXED) ||
        (args->kind >= WDL_RMA_ACC && win->net_sizes) || !fits(win, args) ||
        !wdl_mail_is_clear(win, t, args->target) || !wdl_mail_expected(win, args->target, 0) ||
        !wdl_mail_is_faster(win, args))
        return WDL_ERR_UNSUPPORTED;
    mail = wdl_mail_get(win, control);
    if (!mail)
        return WDL_ERR_UNSUPPORTED;
    fill(win, mail, args);
    wdl_mail_post(win, mail, args);
    if (args->request && args->kind == WDL_RMA_PUT && win->params.copy)
        done_locally(win);
    return WDL_OK;
}

/* --- the target ------------------------------------------------------------------------------- */

/* Where `bytes` of our memory are, or NULL: the whole path says why not. */
static char *place_of(const struct wdl_win *win, const struct wdl_mail *mail)
{
    uint64_t at;
    if (win->params.flavor == WDL_WIN_DYNAMIC || mail->disp < 0 ||
        __builtin_mul_overflow((uint64_t) mail->disp, (uint64_t) win->params.disp_unit, &at) ||
        at > win->params.bytes || mail->bytes > win->params.bytes - at)
        return NULL;
    return (char *) win->params.base + at;
}

int wdl_mail_element(const struct wdl_win *win, uint32_t host_type, struct wdl_element *el_out)
{
    const struct wdl_host *host = &win->proc->host;
    return !win->params.mapped_any && !win->net_sizes &&
           host->ops->element(host->ctx, host_type, el_out) && wdl_kernel_has(el_out);
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
        mail->bytes % el.packed_bytes != 0 || (uintptr_t) at % el.packed_bytes != 0)
        return WDL_ERR_UNSUPPORTED;
    wdl_win_domain(win, win->params.rank, win->params.base, own_control(win), &domain);
    if (mail->kind == WDL_RMA_CAS && mail->bytes == el.packed_bytes)
        return wdl_compare_swap(&domain, &el, at, mail->data, mail->data + mail->bytes, data);
    if (mail->kind == WDL_RMA_CAS || mail->rop >= WDL_ROP_COUNT ||
        !host->ops->op_valid(host->ctx, mail->host_type, mail->rop))
        return WDL_ERR_UNSUPPORTED;
    const char *in = mail->bytes > WDL_MAIL_BYTES ? data + payload_at(mail) : mail->data;
    return wdl_accumulate(&domain, mail->rop, &el, &one, 1, in,
                          mail->kind == WDL_RMA_ACC ? NULL : data, done);
}

/* What most operations are, without a packet: WDL_OK, WDL_AGAIN, or ERR_UNSUPPORTED. */
static int serve_short(const struct wdl_win *win, const struct wdl_mail *mail, char *data,
                       size_t *done)
{
    char *at = place_of(win, mail);
    if (!at)
        return WDL_ERR_UNSUPPORTED;
    switch (mail->kind) {
        case WDL_RMA_PUT:
            memcpy(at, data, mail->bytes);
            return WDL_OK;
        case WDL_RMA_GET:
            memcpy(data, at, mail->bytes);
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
    int status = wdl_serve_part(win, &pkt, payload, payload_of(mail), room, &used, done);
    if (status == WDL_OK && used > 0) {
        memcpy(&answer, room, sizeof(answer));
        status = answer.status;
    }
    return status;
}

/* Do what is in a cell that is ours: WDL_AGAIN, or what its status is to be. */
static int serve(struct wdl_win *win, struct wdl_mail *mail, size_t *done)
{
    struct wdl_mail asked;
    struct wdl_win_control *origin = NULL;
    char room[sizeof(struct wdl_pkt) + WDL_MAIL_BYTES];
    /* the sender could still write to it, and does to the state */
    memcpy(&asked.origin, &mail->origin, sizeof(asked) - offsetof(struct wdl_mail, origin));
    if (asked.kind == WDL_MAIL_STREAM || asked.kind == WDL_MAIL_FOLD)
        return wdl_stream_serve(win, &asked, done);
    if (asked.kind >= WDL_RMA_KINDS || asked.origin >= (uint32_t) win->params.size ||
        asked.bytes > WDL_MAIL_AREA || payload_at(&asked) + payload_of(&asked) > WDL_MAIL_AREA ||
        (asked.kind == WDL_RMA_CAS && asked.bytes > WDL_MAIL_BYTES / 2))
        return WDL_ERR_PROTO;
    (void) win->params.map(win->params.ctx, (int) asked.origin, &origin);
    if (!origin)
        return WDL_ERR_PROTO;
    char *data = data_of(mail, asked.bytes, origin);
    size_t before = *done;
    int status = serve_short(win, &asked, data, done);
    if (status != WDL_ERR_UNSUPPORTED)
        return status;
    if (data != mail->data)
        return serve_whole(win, &asked, data + payload_at(&asked), data - sizeof(struct wdl_pkt),
                           done);
    status = serve_whole(win, &asked, asked.data, room, done);
    /* what is done of one that goes on later: its old values take the operands' places */
    size_t upto = status == WDL_OK ? asked.bytes : status == WDL_AGAIN ? *done : before;
    if (asked.kind != WDL_RMA_PUT && asked.kind != WDL_RMA_ACC)
        memcpy(data + before, room + sizeof(struct wdl_pkt) + before, upto - before);
    return status;
}

static int cells_of(const struct wdl_win *win)
{
    return own_cells(win) ? win->params.node_count : WDL_WIN_MAILS;
}

int wdl_mailbox_serve(struct wdl_win *win)
{
    struct wdl_win_control *own = own_control(win);
    int n = 0, cells = cells_of(win);
    for (int i = 0; i < cells; i++) {
        struct wdl_mail *mail = &own->mail[i];
        uint32_t state = state_of(mail);
        if (state == WDL_MAIL_POSTED && mail_swap(mail, WDL_MAIL_POSTED, WDL_MAIL_TAKEN)) {
            win->mailbox.served[i] = 0;
            state = WDL_MAIL_TAKEN;
        }
        size_t before = win->mailbox.served[i];
        int status = state == WDL_MAIL_TAKEN ? serve(win, mail, &win->mailbox.served[i]) :
            WDL_AGAIN;
        if (status == WDL_AGAIN && state == WDL_MAIL_TAKEN && mail->kind >= WDL_MAIL_STREAM) {
            n += win->mailbox.served[i] > before;
            if (mail->kind == WDL_MAIL_STREAM || win->mailbox.served[i] == 0)
                mail_put(mail, WDL_MAIL_POSTED);
        }
        if (status == WDL_AGAIN)
            continue;
        mail->status = (uint8_t) status;
        mail_put(mail, WDL_MAIL_DONE);
        n++;
    }
    return n;
}

/* Has anything gone past us? */
static int visited(struct wdl_win *win)
{
    int n = 0, cells = cells_of(win);
    for (int i = 0; i < cells; i++) {
        uint8_t visits = __atomic_load_n(&own_control(win)->mail[i].visits, __ATOMIC_RELAXED);
        n |= visits != win->mailbox.visits[i];
        win->mailbox.visits[i] = visits;
    }
    return n;
}

/* --- both ------------------------------------------------------------------------------------- */

void wdl_mailbox_open(struct wdl_win *win)
{
    struct wdl_rma *rma = win->rma;
    struct wdl_win_control *own = own_control(win);
    if (!win->params.mail || win->params.node_count < 2)
        return;
    for (int i = 0; i < WDL_MAIL_WINDOWS && !win->mailbox.on; i++) {
        if (rma->mailed[i])
            continue;
        rma->mailed[i] = win;
        rma->nmailed++;
        win->mailbox.on = 1;
        __atomic_store_n(&own->mail_open, 1, __ATOMIC_RELAXED);
    }
}

void wdl_mailbox_close(struct wdl_win *win)
{
    struct wdl_rma *rma = win->rma;
    for (int i = 0; i < WDL_MAIL_WINDOWS; i++)
        if (rma->mailed[i] == win) {
            rma->mailed[i] = NULL;
            rma->nmailed--;
        }
}

int wdl_mailboxes_progress(struct wdl_rma *rma)
{
    int n = 0;
    for (int i = 0; i < WDL_MAIL_WINDOWS; i++) {
        struct wdl_win *win = rma->mailed[i];
        if (!win)
            continue;
        n += wdl_mailbox_serve(win) + visited(win);
        if (wdl_mailbox_under_way(win))
            n += wdl_mailbox_settle(win) == WDL_OK;
    }
    return n;
}

int wdl_rma_by_memory(const struct wdl_proc *proc)
{
    const struct wdl_rma *rma = proc->rma;
    return rma && rma->nmailed > 0;
}

int wdl_win_is_handed(const struct wdl_win *win)
{
    return win->mailbox.mail != NULL;
}
