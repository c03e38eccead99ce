/* Part of Windlass. See COPYRIGHT in the top-level directory. Operations that follow one another
 * through a ring (train.h). */
#include <limits.h>
#include <string.h>
#include "base/copy.h"
#include "mpid/rma/accumulate.h"
#include "mpid/rma/kernel.h"
#include "mpid/rma/mail.h"
#include "mpid/rma/stream.h"

enum { LINE = sizeof(struct wdl_car), LOOKS = 20 };     /* a target's, for more to come */

wdl_static_assert(LINE == 64);
wdl_static_assert(WDL_STREAM_BYTES % LINE == 0);
/* a put, its cars, one that turns, and the next one's line */
wdl_static_assert(WDL_STREAM_BYTES >= WDL_TRAIN_PUT + WDL_TRAIN_PUT / WDL_TRAIN_CAR * LINE +
                  WDL_TRAIN_CAR + 2 * LINE);
wdl_static_assert(WDL_STREAM_BYTES >= 4 * WDL_TRAIN_FOLD_BYTES);
wdl_static_assert(WDL_TRAIN_FOLD_BYTES >= 3 * LINE + WDL_TRAIN_FOLD);
wdl_static_assert(WDL_TRAIN_FOLD <= WDL_TRAIN_CAR);
wdl_static_assert(WDL_TRAIN_PUT == WDL_TRAIN_COMPARED << WDL_TRAIN_TRIALS);

static struct wdl_car *car_at(struct wdl_stream *ring, uint64_t place)
{
    return (struct wdl_car *) (void *) (ring->ring + place % WDL_STREAM_BYTES);
}

static char *data_of(struct wdl_car *car)
{
    return (char *) (car + 1);
}

/* From a car to the one behind it. */
static uint64_t length_of(uint64_t bytes)
{
    return LINE + (bytes + LINE - 1) / LINE * LINE;
}

static uint64_t most_of(enum wdl_rma_kind kind)
{
    return kind == WDL_RMA_PUT ? WDL_TRAIN_PUT : WDL_TRAIN_FOLD;
}

static uint64_t left_at(uint64_t place)
{
    return WDL_STREAM_BYTES - place % WDL_STREAM_BYTES;
}

/* Of the places from the first one on, the line that says there is no more among them. */
static uint64_t limit_of(enum wdl_rma_kind kind)
{
    return kind == WDL_RMA_PUT ? WDL_TRAIN_BYTES : WDL_TRAIN_FOLD_BYTES;
}

/* Can there be a car there, and the line behind it, in one piece? */
static int fits_at(uint64_t place, uint64_t bytes)
{
    return bytes > 0 && bytes <= WDL_TRAIN_CAR && length_of(bytes) + LINE <= left_at(place);
}

/* How far the cars of an operation reach, of which all but the last are full: at most, since puts
 * may have to turn. */
static uint64_t reach_of(enum wdl_rma_kind kind, uint64_t bytes)
{
    uint64_t full = (bytes - 1) / WDL_TRAIN_CAR;
    return full * length_of(WDL_TRAIN_CAR) + length_of(bytes - full * WDL_TRAIN_CAR) +
           (kind == WDL_RMA_PUT ? length_of(WDL_TRAIN_CAR) : 0);
}

static void tell(struct wdl_car *car, uint64_t bytes)
{
    __atomic_store_n(&car->bytes, bytes, __ATOMIC_RELEASE);     /* pairs with told */
}

static uint64_t told(const struct wdl_car *car)
{
    return __atomic_load_n(&car->bytes, __ATOMIC_ACQUIRE);
}

/* --- the origin ------------------------------------------------------------------------------- */

static int is_long(enum wdl_rma_kind kind, uint64_t bytes)
{
    return (kind == WDL_RMA_PUT || kind == WDL_RMA_ACC) && bytes > WDL_BATCH_SHORT &&
           bytes <= most_of(kind);
}

/* A put or an accumulate of such length. */
static int is_for_one(const struct wdl_rma_args *args)
{
    uint64_t bytes = args->remote.bytes;
    return (!args->request || args->kind == WDL_RMA_PUT) && args->remote.contig &&
           args->origin.contig && args->remote.lo == 0 && args->origin.bytes == bytes &&
           (args->kind == WDL_RMA_PUT ||
            (args->op != WDL_ROP_NO_OP && wdl_kernel_has(&args->element) &&
             bytes % args->element.packed_bytes == 0));
}

/* Is what it touches exposed, as far as can be known here, and are its elements aligned? unit: of
 * those, or 1. */
static int has_place(const struct wdl_win_rank *info, int64_t disp, uint64_t bytes, uint64_t unit)
{
    uint64_t at;
    return (info->bytes == UINT64_MAX || wdl_rank_holds(info, disp, bytes, &at)) &&
           wdl_rank_place(info, disp) % unit == 0;
}

static uint64_t unit_of(const struct wdl_rma_args *args)
{
    return args->kind == WDL_RMA_PUT ? 1 : args->element.packed_bytes;
}

/* A car more, for which there is room. */
static void add_car(struct wdl_win *win, int64_t disp, uint64_t offset, const char *from,
                    uint64_t bytes)
{
    struct wdl_train *train = &win->mailbox.train;
    struct wdl_car *turn = fits_at(train->at, bytes) ? NULL : car_at(train->ring, train->at);
    train->at += turn ? left_at(train->at) : 0;
    struct wdl_car *car = car_at(train->ring, train->at);
    train->at += length_of(bytes);
    tell(car_at(train->ring, train->at), 0);
    if (train->past)
        wdl_bypass_stores(data_of(car), from, bytes);
    else
        wdl_bypass_copy(wdl_bypass_for(win, win->mailbox.args.target), data_of(car), from, bytes);
    car->disp = disp;
    car->offset = offset;
    tell(car, bytes);
    if (turn)
        tell(turn, WDL_CAR_TURN);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* An operation more, of which so much is there. */
static void add(struct wdl_win *win, int64_t disp, const char *from, uint64_t done, uint64_t bytes)
{
    for (uint64_t n; done < bytes; done += n) {
        n = least(bytes - done, WDL_TRAIN_CAR);
        add_car(win, disp, done, from + done, n);
    }
    win->mailbox.train.n++;
    win->stats.ops_mailed++;
}

/* The same; its data have left the user's buffer then. */
static void add_of(struct wdl_win *win, const struct wdl_rma_args *args, uint64_t done)
{
    const struct wdl_host *host = &win->proc->host;
    add(win, args->disp, (const char *) args->origin.addr + args->origin.lo, done,
        args->remote.bytes);
    if (args->request)
        host->ops->request_complete(host->ctx, args->request, WDL_OK);
}

/* How far the target has come, which its own word says. */
static uint64_t target_at(const struct wdl_train *train)
{
    return __atomic_load_n(&train->ring->emptied, __ATOMIC_ACQUIRE);    /* pairs with did */
}

/* Is there room so far behind the last car, by what the target has done? */
static int has_room(struct wdl_train *train, uint64_t reach)
{
    uint64_t most = WDL_STREAM_BYTES - LINE;
    uint64_t end = train->at - train->begin + reach;
    if (end - train->seen > most) {
        uint32_t seen = (uint32_t) (target_at(train) - train->begin);
        train->looks = seen == train->seen ? train->looks + 1 : 0;
        train->seen = seen;
    }
    return end - train->seen <= most;
}

/* Where there is room, can it be the next one? */
static int can_follow(const struct wdl_win *win, int rank, int64_t disp, uint64_t bytes,
                      uint64_t unit)
{
    const struct wdl_mailbox *box = &win->mailbox;
    const struct wdl_train *train = &box->train;
    enum wdl_rma_kind kind = box->args.kind;
    return train->ring && !train->closed && train->n < train->most && rank == box->args.target &&
           bytes > 0 && bytes <= most_of(kind) && has_place(&train->info, disp, bytes, unit) &&
           train->at - train->begin + reach_of(kind, bytes) <= limit_of(kind) - LINE;
}

int wdl_train_put(struct wdl_win *win, int rank, int64_t disp, const void *local, uint64_t bytes)
{
    if (win->mailbox.args.kind != WDL_RMA_PUT || !can_follow(win, rank, disp, bytes, 1) ||
        !has_room(&win->mailbox.train, reach_of(WDL_RMA_PUT, bytes)))
        return 0;
    add(win, disp, local, 0, bytes);
    win->mailbox.row = 2;
    return 1;
}

int wdl_train_again(struct wdl_win *win, const struct wdl_rma_args *args)
{
    const struct wdl_rma_args *first = &win->mailbox.args;
    struct wdl_train *train = &win->mailbox.train;
    uint64_t bytes = args->remote.bytes;
    if (args->kind != first->kind || !is_for_one(args) ||
        !can_follow(win, args->target, args->disp, bytes, unit_of(args)) ||
        (args->kind == WDL_RMA_ACC &&
         (args->op != first->op || args->element.host_type != first->element.host_type)))
        return WDL_ERR_UNSUPPORTED;
    if (!has_room(train, reach_of(args->kind, bytes))) {
        train->waits = train->looks < (uint32_t) wdl_mail_patience(bytes);
        return train->waits ? WDL_AGAIN : WDL_ERR_UNSUPPORTED;
    }
    add_of(win, args, 0);
    train->waits = 0;
    win->mailbox.row = 2;
    return WDL_OK;
}

int wdl_train_wanted(const struct wdl_win *win, int rank, const struct wdl_win_control *control,
                     enum wdl_rma_kind kind, uint64_t bytes)
{
    const struct wdl_mailbox *box = &win->mailbox;
    return box->on && is_long(kind, bytes) && !wdl_mail_is_crowded(win, control) &&
           win->params.hints.combine != WDL_COMBINE_NEVER &&
           (box->row_follows || (box->row > 0 && box->row_rank == rank));
}

void wdl_train_count(struct wdl_win *win, int rank, enum wdl_rma_kind kind, uint64_t bytes)
{
    struct wdl_mailbox *box = &win->mailbox;
    /* what was withdrawn, and goes another way now, was counted when it was posted */
    if (box->withdrawn || !is_long(kind, bytes))
        return;
    box->row = box->row > 0 && box->row_rank == rank ? 2 : 1;
    box->row_rank = rank;
}

/* Do the words say whose ring it is, and is it free? */
static struct wdl_stream *free_ring(const struct wdl_win *win, uint64_t *id)
{
    const struct wdl_win_params *params = &win->params;
    return params->stream && !win->rma->streaming ?
        params->stream(params->ctx, params->rank, id) : NULL;
}

/* Accumulates in one piece. */
static uint64_t begin_of(const struct wdl_stream *ring, enum wdl_rma_kind kind)
{
    uint64_t at = (__atomic_load_n(&ring->filled, __ATOMIC_RELAXED) + LINE - 1) / LINE * LINE;
    return kind == WDL_RMA_ACC && left_at(at) < WDL_TRAIN_FOLD_BYTES ? at + left_at(at) : at;
}

static void announce(const struct wdl_win *win, const struct wdl_rma_args *args,
                     struct wdl_mail *mail, uint64_t id)
{
    mail->origin = (uint32_t) win->params.rank;
    mail->kind = args->kind == WDL_RMA_PUT ? WDL_MAIL_TRAIN : WDL_MAIL_TRAIN_FOLD;
    mail->rop = (uint8_t) args->op;
    mail->host_type = args->element.host_type;
    mail->stream = (struct wdl_mail_stream){.id = id, .begin = win->mailbox.train.begin};
}

/* Has the window trains for such operations, and does the target look at its mail? */
static int can_be(const struct wdl_win *win, const struct wdl_rma_args *args,
                  const struct wdl_win_control *control)
{
    return win->params.copy &&
           (args->kind == WDL_RMA_PUT || (!win->params.mapped_any && !win->net_sizes)) &&
           wdl_mail_is_attended(control);
}

/* The trial of operations like this one; NULL: what is not long takes the system longer in any
 * case. */
static struct wdl_trial *trial_of(const struct wdl_win *win, const struct wdl_rma_args *args)
{
    uint64_t over = (args->remote.bytes - 1) / WDL_TRAIN_COMPARED;
    int kind = args->kind == WDL_RMA_ACC ? WDL_TRAIN_ACCS :
        args->request ? WDL_TRAIN_RPUTS : WDL_TRAIN_PUTS;
    return over == 0 ? NULL : &win->rma->train_trial[kind][63 - __builtin_clzll(over)];
}

/* Which way is one to go whose target is there? The trial, and now, where time is taken, or 0, are
 * in win->rma (wdl_mail_not_handed). A ring that is new says nothing (wdl_stream_op). */
static enum wdl_mail_way way_of(struct wdl_win *win, const struct wdl_rma_args *args,
                                const struct wdl_stream *ring)
{
    struct wdl_mailbox *box = &win->mailbox;
    struct wdl_trial *trial = trial_of(win, args);
    if (!trial || begin_of(ring, args->kind) < WDL_STREAM_BYTES)
        return WDL_MAIL_HANDED;
    if (box->row_timed)
        wdl_trial_took(box->row_timed, WDL_MAIL_SYSTEM, box->row_ns);
    box->row_timed = NULL;
    enum wdl_mail_way way = (enum wdl_mail_way) wdl_trial_way(trial);
    win->rma->timed = trial;
    win->rma->began_ns = trial->clock ? wdl_win_now_ns(win) : 0;
    box->row_system = way == WDL_MAIL_SYSTEM ? trial : NULL;
    box->row_system_left = args->request ? WDL_TRAIN_REQUESTS - 1 : WDL_TRAIN_UNASKED;
    box->row_clock = args->request && way == WDL_MAIL_SYSTEM && trial->clock;
    return way;
}

/* How many operations is a train to take? With requests nobody may ever end it by a
 * synchronization: where that is not known to be the faster way, no more than tell. */
static unsigned most_for(const struct wdl_train *train, const struct wdl_rma_args *args)
{
    const struct wdl_trial *trial = args->request && !train->row ? train->trial : NULL;
    int known = !trial || (trial->every > 0 && trial->best == WDL_MAIL_HANDED);
    return known ? UINT_MAX : WDL_TRAIN_REQUESTS;
}

/* Are those of a train that are too short for that to be written past the caches? Of longer ones
 * each tells by itself (base/bypass.h), of these all together do. */
static int way_past(struct wdl_win *win, const struct wdl_rma_args *args)
{
    unsigned peer = (unsigned) args->target % WDL_RMA_BYPASSES;
    struct wdl_trial *trial = &win->rma->row_trial[peer][args->kind == WDL_RMA_ACC];
    int past = wdl_trial_way(trial);
    win->rma->timed = trial;
    win->rma->began_ns = trial->clock ? wdl_win_now_ns(win) : 0;
    return past;
}

/* Is it to go as the one before it went, which was the system's way? The trial is asked once for
 * all that follow one another, or many: the memory is in the cache of whoever wrote there last, and
 * comes to the other one's only with all of them. And a look at the target would be at a line that
 * it writes. For fewer of those with requests, each of which is waited for: the last of them tells
 * how long one takes when the memory has come. */
static int is_systems_too(struct wdl_win *win, const struct wdl_rma_args *args)
{
    struct wdl_trial *trial = win->mailbox.row_system;
    if (!trial || trial != trial_of(win, args) || win->mailbox.row_system_left-- == 0)
        return 0;
    win->rma->timed = trial;
    win->rma->began_ns = win->mailbox.row_clock ? wdl_win_now_ns(win) : 0;
    trial->clock = 0;
    return 1;
}

enum wdl_train_way wdl_train_op(struct wdl_win *win, const struct wdl_rma_args *args,
                                struct wdl_target *t, struct wdl_win_control *control,
                                const struct wdl_win_rank *info)
{
    struct wdl_mail *mail = NULL;
    struct wdl_stream *ring;
    uint64_t id, bytes = args->remote.bytes;
    if (!wdl_train_wanted(win, args->target, control, args->kind, bytes) || !is_for_one(args) ||
        (args->request && bytes <= WDL_BATCH_LONG) || !can_be(win, args, control) ||
        !has_place(info, args->disp, bytes, unit_of(args)) ||
        !wdl_mail_is_clear(win, t, args->target))
        return WDL_TRAIN_NONE;
    if (is_systems_too(win, args))
        return WDL_TRAIN_SYSTEM;
    if ((ring = free_ring(win, &id)) == NULL)
        return WDL_TRAIN_NONE;
    win->rma->began_ns = 0;
    if (wdl_mail_expected(win, args, control, 0)) {
        if (way_of(win, args, ring) == WDL_MAIL_SYSTEM)
            return WDL_TRAIN_SYSTEM;
        mail = wdl_mail_get(win, control);
    }
    if (!mail && bytes > WDL_MAIL_AREA)
        return WDL_TRAIN_NONE;
    uint64_t begin = begin_of(ring, args->kind);
    int row = mail && begin >= WDL_STREAM_BYTES && !trial_of(win, args);
    int past = row && way_past(win, args);
    win->mailbox.train = (struct wdl_train){.ring = ring, .begin = begin, .at = begin,
                                            .row = (uint8_t) row, .past = (uint8_t) past,
                                            .control = control, .info = *info,
                                            .trial = win->rma->timed, .passed = begin,
                                            .began_ns = win->rma->began_ns};
    win->mailbox.train.most = most_for(&win->mailbox.train, args);
    __atomic_store_n(&ring->emptied, begin, __ATOMIC_RELAXED);
    win->rma->streaming = 1;
    wdl_train_count(win, args->target, args->kind, bytes);
    if (mail)
        announce(win, args, mail, id);
    win->rma->timed = NULL;
    win->rma->began_ns = 0;
    /* the target does the first car while the others come */
    uint64_t first = least(bytes, WDL_TRAIN_CAR);
    win->mailbox.args.target = args->target;
    add_car(win, args->disp, 0, (const char *) args->origin.addr + args->origin.lo, first);
    wdl_mail_post(win, mail, args);
    win->mailbox.args.request = NULL;
    add_of(win, args, first);
    return WDL_TRAIN_TAKEN;
}

void wdl_train_close(struct wdl_win *win)
{
    struct wdl_train *train = &win->mailbox.train;
    if (train->closed)
        return;
    train->closed = 1;
    train->waits = 0;
    tell(car_at(train->ring, train->at), WDL_CAR_END);
}

/* (Its word is in a line that it writes: not at each look.) */
int wdl_train_goes_on(struct wdl_win *win)
{
    struct wdl_train *train = &win->mailbox.train;
    uint64_t at = target_at(train), before = train->passed;
    train->passed = at;
    return at != before;
}

static void over(struct wdl_win *win)
{
    struct wdl_train *train = &win->mailbox.train;
    __atomic_store_n(&train->ring->filled, train->at + LINE, __ATOMIC_RELAXED);
    train->ring = NULL;
    win->rma->streaming = 0;
}

int wdl_train_answered(struct wdl_win *win)
{
    struct wdl_train *train = &win->mailbox.train;
    if (target_at(train) != train->at)
        return 0;
    if (train->began_ns && (!train->row || train->n >= WDL_TRAIN_ROW))
        wdl_trial_took(train->trial, train->row ? train->past : WDL_MAIL_HANDED,
                       (wdl_win_now_ns(win) - train->began_ns) / train->n);
    over(win);
    return 1;
}

/* --- its rest, from outside ------------------------------------------------------------------- */

enum { GROUP = 64 };

/* Some of them that are done together. */
struct group {
    int n;
    struct wdl_piece here[GROUP], there[GROUP];
};

/* The car of ours that is there, or where it turns to, which *place is then; NULL: somebody has
 * written to our ring. */
static struct wdl_car *car_of(const struct wdl_train *train, uint64_t *place, uint64_t *bytes_out)
{
    struct wdl_car *car = car_at(train->ring, *place);
    if (told(car) == WDL_CAR_TURN && left_at(*place) < train->at - *place) {
        *place += left_at(*place);
        car = car_at(train->ring, *place);
    }
    *bytes_out = told(car);
    return fits_at(*place, *bytes_out) && length_of(*bytes_out) <= train->at - *place ? car : NULL;
}

/* The first n of the rest are over. An operation that the target has begun stays one handed over.
 */
static void went(struct wdl_win *win, int n)
{
    struct wdl_train *train = &win->mailbox.train;
    uint64_t bytes;
    for (; n > 0; n--) {
        const struct wdl_car *car = car_of(train, &train->rest, &bytes);
        win->stats.ops_mailed -= (uint64_t) (car->offset == 0);
        win->stats.ops_copied += (uint64_t) (car->offset == 0);
        train->rest += length_of(bytes);
    }
}

/* The first ones, as far as they are exposed; or why the first is not. */
static int group_of(struct wdl_win *win, struct group *g)
{
    struct wdl_train *train = &win->mailbox.train;
    uint64_t place = train->rest, bytes;
    int status = WDL_OK, most = train->singly ? 1 : GROUP;
    for (g->n = 0; g->n < most && place < train->at; g->n++, place += length_of(bytes)) {
        struct wdl_car *car = car_of(train, &place, &bytes);
        uint64_t at = car ? wdl_rank_place(&train->info, car->disp) + car->offset : 0;
        status = car ? wdl_copy_exposed(win, win->mailbox.args.target, train->control, at, bytes) :
            WDL_ERR_PROTO;
        if (status != WDL_OK)
            break;
        g->here[g->n] = (struct wdl_piece){data_of(car), bytes};
        g->there[g->n] = (struct wdl_piece){(char *) (uintptr_t) at, bytes};
    }
    return g->n > 0 ? WDL_OK : status;
}

/* One that fails is to be the only one. */
static int put_group(struct wdl_win *win, struct group *g)
{
    int n = 0;
    struct wdl_piece there[GROUP];
    for (int i = 0; i < g->n; i++)
        n = wdl_pieces_add(there, n, &g->there[i]);
    int status = win->params.copy(win->params.ctx, win->mailbox.args.target, 1, g->here, g->n,
                                  there, n);
    if (status == WDL_OK)
        went(win, g->n);
    else if (status != WDL_AGAIN && g->n > 1)
        win->mailbox.train.singly = 1;
    else
        return status;
    return WDL_OK;
}

/* Their operands one behind the other are in a part of the ring where the train is not. */
static int fold_group(struct wdl_win *win, struct group *g)
{
    struct wdl_train *train = &win->mailbox.train;
    uint64_t part = WDL_TRAIN_FOLD_BYTES, other = (train->begin + 2 * part) & -part;
    char *in = train->ring->ring + other % WDL_STREAM_BYTES, *to = in;
    for (int i = 0; i < g->n; to += g->there[i].bytes, i++)
        memcpy(to, g->here[i].base, g->here[i].bytes);
    int status = wdl_outside_pieces(win, &win->mailbox.args, train->control, &train->info, g->there,
                                    g->n, in, &train->done), n = 0;
    for (; n < g->n && train->done >= g->here[n].bytes; n++)
        train->done -= g->here[n].bytes;
    went(win, n);
    return status;
}

/* Behind what the target has done, as it says: WDL_OK, or ERR_PROTO: that is nowhere. */
static int rest_begin(struct wdl_train *train)
{
    uint64_t upto = target_at(train);
    int is_there = upto % LINE == 0 && upto - train->begin <= train->at - train->begin;
    train->rest = is_there ? upto : train->at;
    train->resting = 1;
    return is_there ? WDL_OK : WDL_ERR_PROTO;
}

int wdl_train_rest(struct wdl_win *win)
{
    struct wdl_train *train = &win->mailbox.train;
    struct group g;
    if (!train->resting && rest_begin(train) != WDL_OK)
        wdl_win_fail(win, WDL_ERR_PROTO);
    wdl_mail_visit(win, train->control);
    while (train->rest < train->at) {
        int status = group_of(win, &g);
        win->quick.stored = 1;
        if (status == WDL_OK)
            status = win->mailbox.args.kind == WDL_RMA_PUT ? put_group(win, &g) :
                fold_group(win, &g);
        if (status == WDL_AGAIN)
            return WDL_AGAIN;
        if (status == WDL_OK)
            continue;
        wdl_win_fail(win, status);
        train->done = 0;
        uint64_t place = train->rest, bytes;
        if (!car_of(train, &place, &bytes))
            break;
        went(win, 1);
    }
    over(win);
    return WDL_OK;
}

/* --- the target ------------------------------------------------------------------------------- */

struct folding {
    struct wdl_element el;
    struct wdl_domain domain;
    int folds, op;
};

static int folding_of(const struct wdl_win *win, const struct wdl_mail *asked, struct folding *f)
{
    const struct wdl_host *host = &win->proc->host;
    f->folds = asked->kind == WDL_MAIL_TRAIN_FOLD;
    f->op = asked->rop;
    if (!f->folds)
        return WDL_OK;
    wdl_win_own_domain(win, &f->domain);
    return wdl_mail_element(win, asked->host_type, &f->el) && wdl_kernel_has(&f->el) &&
           f->op < WDL_ROP_COUNT && f->op != WDL_ROP_NO_OP &&
           host->ops->op_valid(host->ctx, asked->host_type, f->op) ?
        WDL_OK : WDL_ERR_UNSUPPORTED;
}

/* What is in a car that has come. */
static int do_asked(const struct wdl_win *win, const struct folding *f, struct wdl_car *car,
                    uint64_t bytes, size_t *done)
{
    uint64_t offset = car->offset;
    if (offset > WDL_TRAIN_PUT)
        return WDL_ERR_PROTO;
    char *at = wdl_mail_place(win, car->disp, (int64_t) offset, (int64_t) (offset + bytes));
    if (!at)
        return WDL_ERR_UNSUPPORTED;
    struct wdl_piece place = {at + offset, bytes};
    if (!f->folds) {
        wdl_copy(place.base, data_of(car), bytes);
        return WDL_OK;
    }
    if (bytes % f->el.packed_bytes != 0 || (uintptr_t) place.base % f->el.packed_bytes != 0)
        return WDL_ERR_UNSUPPORTED;
    return wdl_accumulate(&f->domain, f->op, &f->el, &place, 1, data_of(car), NULL, done);
}

int wdl_train_serve(struct wdl_win *win, const struct wdl_mail *asked, size_t *done, int *moved)
{
    uint64_t id = asked->stream.id, begin = asked->stream.begin;
    enum wdl_rma_kind kind = asked->kind == WDL_MAIL_TRAIN ? WDL_RMA_PUT : WDL_RMA_ACC;
    uint64_t passed = 0;
    struct folding f;
    if (!win->params.stream || asked->origin == (uint32_t) win->params.rank ||
        asked->origin >= (uint32_t) win->params.size ||
        (kind == WDL_RMA_ACC && left_at(begin) < WDL_TRAIN_FOLD_BYTES))
        return WDL_ERR_PROTO;
    struct wdl_stream *s = win->params.stream(win->params.ctx, (int) asked->origin, &id);
    int status = s ? folding_of(win, asked, &f) : WDL_ERR_UNSUPPORTED;
    uint64_t at = s ? __atomic_load_n(&s->emptied, __ATOMIC_RELAXED) : 0;
    for (int looks = LOOKS; status == WDL_OK;) {
        if (at % LINE != 0 || at - begin > limit_of(kind) - LINE)
            return WDL_ERR_PROTO;
        if (passed >= WDL_STREAM_BYTES)
            return WDL_AGAIN;   /* there are others */
        struct wdl_car *car = car_at(s, at);
        uint64_t bytes = told(car);
        if (bytes == WDL_CAR_END)
            return WDL_OK;
        if (bytes == 0 && looks-- > 0)
            continue;
        if (bytes == 0)
            return WDL_AGAIN;
        uint64_t length = left_at(at);
        if (bytes != WDL_CAR_TURN || f.folds) {
            if (!fits_at(at, bytes))
                return WDL_ERR_PROTO;
            status = do_asked(win, &f, car, bytes, done);
            if (status != WDL_OK)
                return status;
            *done = 0;
            *moved += 1;
            length = length_of(bytes);
        }
        passed += length;
        at += length;
        __atomic_store_n(&s->emptied, at, __ATOMIC_RELEASE);    /* did: pairs with target_at */
    }
    return status;
}
