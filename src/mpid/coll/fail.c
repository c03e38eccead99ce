/* Part of Windlass. See COPYRIGHT in the top-level directory. Collectives whose ranks do not mean
 * the same (fail.h). */
#include "mpid/coll/fail.h"
#include <string.h>
#include "base/bits.h"
#include "mpid/coll/contact.h"
#include "mpid/coll/early.h"
#include "mpid/coll/flag.h"
#include "mpid/coll/node.h"

/* The first question is asked so long after the last move, the others less and less often. */
#define DOUBT_FIRST_NS 50000000u
#define DOUBT_LAST_NS 1000000000u

/* What ranks are told of each other's memory is a node's affair. */
uint32_t wdl_print_of(uint32_t row, const struct wdl_coll_args *args, int syncs)
{
    uint64_t words[4] = {row}, h = 0;
    if (args) {
        words[1] = args->flags & ~(uint32_t) (WDL_COLL_SRC_GIVEN | WDL_COLL_DST_GIVEN);
        words[2] = wdl_flow_of(args) == WDL_FLOW_ALL ? 0 : (uint64_t) args->root;
        words[3] = args->variable ? 0 : args->bytes;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        h = (h ^ words[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return (uint32_t) (h % ((1u << (WDL_PRINT_BITS - 1)) - 1) + 1) << 1 | (uint32_t) (syncs != 0);
}

/* 0 is not known. */
static int has_same_credit(uint32_t one, uint32_t other)
{
    return one == 0 || (one & 1) == (other & 1);
}

struct tail { /* of each packet */
    uint64_t stamp;
    uint64_t call; /* ASK: the number of the call it is about; 0: it has none */
};

static int say_of(struct wdl_coll *coll, struct tail tail, int peer, struct wdl_coll_pkt pkt,
                  enum wdl_pkt what, uint32_t print)
{
    struct {
        struct wdl_coll_pkt pkt;
        struct tail tail;
    } head = {pkt, tail};
    wdl_static_assert(sizeof(head) == sizeof(pkt) + sizeof(tail));
    head.pkt.what = what | print << WDL_PKT_BITS;
    int status = wdl_am_send(coll->proc, peer, WDL_AM_COLL, &head, sizeof(head), NULL, 0, NULL);
    return status == WDL_AGAIN ? WDL_AGAIN : WDL_OK; /* who is gone waits for nothing */
}

static int say(const struct wdl_team *team, int peer, struct wdl_coll_pkt pkt, enum wdl_pkt what,
               uint32_t print)
{
    return say_of(team->coll, (struct tail){team->stamp, 0}, peer, pkt, what, print);
}

static int peer_of(const struct wdl_team *team, int rank)
{
    return team->params.peer_of(team->params.ctx, rank);
}

/* --- what has failed -------------------------------------------------------------------------- */

static struct wdl_doom *doom_take(struct wdl_team *team, uint32_t seq)
{
    struct wdl_list *node;
    wdl_list_for (node, &team->dooms) {
        struct wdl_doom *d = wdl_container_of(node, struct wdl_doom, link);
        if (d->seq == seq) {
            wdl_list_remove(node);
            return d;
        }
    }
    return NULL;
}

/* The one there is, or new; NULL: memory is short. */
static struct wdl_doom *doom_get(struct wdl_team *team, uint32_t seq)
{
    const struct wdl_host *host = &team->coll->host;
    struct wdl_doom *d = doom_take(team, seq);
    if (!d)
        d = host->ops->alloc(host->ctx, sizeof(*d) + wdl_bits_bytes((size_t) team->size));
    if (!d)
        return NULL;
    wdl_list_init(&d->link);
    d->seq = seq;
    return d;
}

void wdl_team_dooms_free(struct wdl_team *team)
{
    const struct wdl_host *host = &team->coll->host;
    struct wdl_list *node;
    while ((node = wdl_list_pop(&team->dooms)) != NULL)
        host->ops->free(host->ctx, wdl_container_of(node, struct wdl_doom, link));
}

static void look_again(struct wdl_team *team)
{
    if (wdl_list_empty(&team->wait))
        wdl_list_push(&team->coll->waiting, &team->wait);
}

void wdl_team_close(struct wdl_team *team, int status)
{
    struct wdl_list *node;
    team->status = status;
    wdl_list_for (node, &team->running) {
        struct wdl_run *run = wdl_container_of(node, struct wdl_run, link);
        if (run->doom)
            run->doom->fail_told = 0; /* whoever has not begun it must not wait for its number */
    }
    look_again(team);
}

static int express_waits(struct wdl_run *run, struct wdl_car_run *c)
{
    (void) c;
    return run->doom ? WDL_AGAIN : WDL_OK;
}

/* Without memory for it nobody is told yet: who waits asks again. */
void wdl_run_fail(struct wdl_run *run)
{
    struct wdl_team *team = run->team;
    if (run->doom || (!run->graph && run->watch == express_waits)) /* over, and not looked at */
        return;
    run->doom = doom_get(team, run->seq);
    if (!run->doom)
        return;
    run->status = WDL_ERR_TRUNCATE;
    team->failing++;
    team->coll->stats.failed++;
    if (!run->graph) {
        run->watch = express_waits;
    } else {
        run->cars_left++;
        run->users_left += run->req != NULL;
    }
    look_again(team);
}

void wdl_run_look_up(struct wdl_run *run)
{
    struct wdl_list *node;
    wdl_list_for (node, &run->team->dooms)
        if (wdl_container_of(node, struct wdl_doom, link)->seq == run->seq) {
            wdl_run_fail(run);
            return;
        }
}

static int tell_all(struct wdl_team *team, uint32_t seq, uint32_t print, enum wdl_pkt what,
                    int *told)
{
    struct wdl_coll_pkt pkt = {team->params.id, seq, (uint32_t) team->rank, 0, 0};
    if (team->status != WDL_OK)
        print = 0;
    for (; *told < team->size; ++*told) {
        pkt.offset = (uint64_t) *told;
        if (*told != team->rank && say(team, peer_of(team, *told), pkt, what, print) == WDL_AGAIN)
            return WDL_AGAIN;
    }
    return WDL_OK;
}

/* What will not begin here. */
static int dooms_step(struct wdl_team *team)
{
    const struct wdl_host *host = &team->coll->host;
    struct wdl_list *node;
    int n = 0;
    for (; team->status != WDL_OK && (node = team->dooms.next) != &team->dooms; n++) {
        struct wdl_doom *d = wdl_container_of(node, struct wdl_doom, link);
        if (tell_all(team, d->seq, 0, WDL_PKT_OUT, &d->out_told) == WDL_AGAIN)
            break;
        wdl_list_remove(node);
        host->ops->free(host->ctx, d);
    }
    return n;
}

/* Others take it from who is out of the empty one that what is before it is finished there. */
static int owes_credit(const struct wdl_run *run)
{
    return run->graph->syncs == WDL_SYNCS_ALL && run->cars[0].state == WDL_CAR_WAITING;
}

/* Is it over? */
static int fail_step(struct wdl_run *run)
{
    struct wdl_team *team = run->team;
    struct wdl_doom *d = run->doom;
    if (tell_all(team, run->seq, run->print, WDL_PKT_FAIL, &d->fail_told) == WDL_AGAIN)
        return 0;
    if (run->graph && (owes_credit(run) || !wdl_run_drain(run)))
        return 0;
    if (d->out_told == 0 && wdl_contacts_settle(team) == WDL_AGAIN)
        return 0;
    run->status = WDL_ERR_TRUNCATE;
    return tell_all(team, run->seq, run->print, WDL_PKT_OUT, &d->out_told) == WDL_OK &&
           d->outs == team->size - 1;
}

static void fail_end(struct wdl_run *run)
{
    struct wdl_team *team = run->team;
    const struct wdl_host *host = &team->coll->host;
    host->ops->free(host->ctx, run->doom);
    run->doom = NULL;
    team->failing--;
    wdl_early_forget(team, run->seq);
    if (run->graph)
        wdl_run_release(run);
}

int wdl_team_fail_step(struct wdl_team *team)
{
    int n = dooms_step(team);
    team->coll->busy++;
    for (struct wdl_list *node = team->running.next; node != &team->running;) {
        struct wdl_run *run = wdl_container_of(node, struct wdl_run, link);
        node = node->next;
        if (!run->doom || !fail_step(run))
            continue;
        fail_end(run);
        n++;
        node = team->running.next; /* whatever the caller has done about it */
    }
    team->coll->busy--;
    return n;
}

/* --- what is heard ---------------------------------------------------------------------------- */

enum where { BEFORE, IN, BEHIND, NOWHERE };

/* How far are we with collective `seq`? */
static enum where where_is(const struct wdl_team *team, uint32_t seq)
{
    uint32_t slot = seq & ((uint32_t) team->window - 1);
    const struct wdl_run *run = team->slots[slot];
    if ((int32_t) (seq - team->done) < 0)
        return BEHIND;
    if (seq - team->done >= (uint32_t) team->window)
        return NOWHERE;
    if (run && run->seq == seq)
        return IN;
    return team->finished[slot] ? BEHIND : BEFORE;
}

static struct wdl_run *run_of(const struct wdl_team *team, uint32_t seq)
{
    return team->slots[seq & ((uint32_t) team->window - 1)];
}

/* What this rank meant by a collective that has begun; 0: that is not known. */
static uint32_t print_of(const struct wdl_team *team, uint32_t seq)
{
    return team->next - seq <= (uint32_t) team->numbers
               ? team->prints[seq & ((uint32_t) team->numbers - 1)]
               : 0;
}

/* Ranks have other numbers from `seq` on. What has begun behind it others may never begin, and when
 * they have ended the team nobody is left who would say so: it fails. */
static void close_behind(struct wdl_team *team, uint32_t seq)
{
    struct wdl_list *node;
    wdl_team_close(team, WDL_ERR_TRUNCATE);
    wdl_list_for (node, &team->running) {
        struct wdl_run *run = wdl_container_of(node, struct wdl_run, link);
        if ((int32_t) (run->seq - seq) > 0)
            wdl_run_fail(run);
    }
}

/* Who disagrees about credit has other numbers from here on; on a node nothing carries it. Who has
 * closed the team says no print. */
static void credit_compare(struct wdl_team *team, const struct wdl_coll_pkt *pkt, enum where where)
{
    uint32_t print = pkt->what >> WDL_PKT_BITS;
    int differs = !team->on_node && (where == IN || where == BEHIND) &&
                  !has_same_credit(print_of(team, pkt->seq), print);
    if (team->status == WDL_OK && (print == 0 || differs))
        close_behind(team, pkt->seq);
}

/* What we say of it to `pkt`, of which we may know no more than that. */
static uint32_t answer_of(const struct wdl_team *team, const struct wdl_coll_pkt *pkt)
{
    uint32_t print = print_of(team, pkt->seq);
    if (team->status != WDL_OK)
        return 0;
    return print ? print : pkt->what >> WDL_PKT_BITS;
}

static int fail_come(struct wdl_team *team, int src, const struct wdl_coll_pkt *pkt,
                     enum where where)
{
    struct wdl_coll_pkt out = {pkt->team, pkt->seq, (uint32_t) team->rank, 0, 0};
    credit_compare(team, pkt, where);
    if (where == IN) {
        wdl_run_fail(run_of(team, pkt->seq));
        return WDL_OK;
    }
    int answers = where == BEHIND || team->status != WDL_OK;
    if (answers && wdl_contact_settle(team, src) == WDL_AGAIN)
        return WDL_AGAIN;
    if (answers)
        return say(team, src, out, WDL_PKT_OUT, answer_of(team, pkt));
    struct wdl_doom *d = where == BEFORE ? doom_get(team, pkt->seq) : NULL;
    if (!d)
        return where == BEFORE ? WDL_AGAIN : WDL_ERR_PROTO;
    wdl_list_push(&team->dooms, &d->link);
    return WDL_OK;
}

/* For us it has failed in any case: to others `src` would have nothing to say. */
static int out_come(struct wdl_team *team, const struct wdl_coll_pkt *pkt, enum where where)
{
    struct wdl_doom *d = NULL;
    credit_compare(team, pkt, where);
    if (where == BEHIND)
        return WDL_OK;
    if (where == IN) {
        struct wdl_run *run = run_of(team, pkt->seq);
        wdl_run_fail(run);
        d = run->doom;
        if (run->args.wrong == WDL_COLL_WRONG_SEQUENCE && team->status == WDL_OK &&
            run->print != pkt->what >> WDL_PKT_BITS)
            close_behind(team, pkt->seq);
    } else if (team->status != WDL_OK) {
        return WDL_OK;
    } else if (where == BEFORE) {
        d = doom_get(team, pkt->seq);
        if (d)
            wdl_list_push(&team->dooms, &d->link);
    } else {
        return WDL_ERR_PROTO;
    }
    if (!d)
        return WDL_AGAIN;
    d->outs += !wdl_bits_have(d->out, pkt->role);
    wdl_bits_add(d->out, pkt->role);
    return WDL_OK;
}

/* Does this rank's graph send the asker what it waits for? To whom some of it goes it may not have
 * heard yet. */
static int gives(const struct wdl_run *run, int src, const struct wdl_coll_pkt *pkt)
{
    if (run->print != pkt->what >> WDL_PKT_BITS)
        return 0;
    if (pkt->role == WDL_ROLE_NONE)
        return 1;
    for (int i = 0; run->graph && i < run->graph->ncars; i++) {
        const struct wdl_car *car = &run->graph->cars[i];
        if (car->kind == WDL_CAR_SEND && car->peer == WDL_PEER_LATER)
            return 1;
        if (car->kind == WDL_CAR_SEND && car->role == pkt->role &&
            (car->late || car->bytes == pkt->offset) && peer_of(run->team, car->peer) == src)
            return 1;
    }
    return 0;
}

/* What begins next here is a part of a later call: that one has gone to another team. */
static int has_gone_by(const struct wdl_team *team, uint32_t call)
{
    const struct wdl_list *first = team->queue.next;
    uint32_t next = 0;
    if (first != &team->queue)
        next = wdl_container_of(first, struct wdl_coll_req, link)->args.call;
    else if (team->params.upcoming)
        next = team->params.upcoming(team->params.upcoming_ctx);
    return call && next && (int32_t) (next - call) > 0;
}

static int ask_come(struct wdl_team *team, int src, const struct wdl_coll_pkt *pkt,
                    enum where where, uint32_t call)
{
    struct wdl_coll_pkt answer = {pkt->team, pkt->seq, pkt->role, 0, 0};
    if (where == BEFORE && team->status == WDL_OK && has_gone_by(team, call))
        wdl_team_close(team, WDL_ERR_TRUNCATE);
    if (where == IN && !run_of(team, pkt->seq)->doom && !gives(run_of(team, pkt->seq), src, pkt))
        wdl_run_fail(run_of(team, pkt->seq));
    if (where == BEHIND && wdl_contact_settle(team, src) == WDL_AGAIN)
        return WDL_AGAIN;
    if (where == BEHIND)
        return say(team, src, answer, WDL_PKT_OVER, print_of(team, pkt->seq));
    if (where == IN || team->status == WDL_OK)
        return WDL_OK; /* we are in it, or late */
    answer.role = (uint32_t) team->rank;
    return say(team, src, answer, WDL_PKT_OUT, 0);
}

/* Has a RECV got all, be it that nobody has looked? */
static int is_there(const struct wdl_run *run, int i)
{
    const struct wdl_car *car = &run->graph->cars[i];
    return run->cars[i].state == WDL_CAR_COMPLETE || (car->shm && wdl_shm_load(run, car)) ||
           (wdl_flag_is_awaited(run, car) && wdl_flag_has_come(run, car));
}

/* Where messages keep their order, nothing comes any more from who has finished. */
static int over_come(struct wdl_team *team, int src, const struct wdl_coll_pkt *pkt,
                     enum where where)
{
    struct wdl_run *run = where == IN ? run_of(team, pkt->seq) : NULL;
    uint32_t print = pkt->what >> WDL_PKT_BITS;
    if (!run || run->doom)
        return WDL_OK;
    if (pkt->role == WDL_ROLE_NONE || !run->graph) {
        if (print != 0 && print != run->print)
            wdl_run_fail(run);
        return WDL_OK;
    }
    int i = pkt->role < run->graph->nroles ? run->graph->car_of_role[pkt->role] : WDL_CAR_NONE;
    if (i == WDL_CAR_NONE || peer_of(team, run->graph->cars[i].peer) != src)
        return WDL_ERR_PROTO;
    if (!is_there(run, i) && (print != run->print || team->coll->proc->ordered))
        wdl_run_fail(run);
    return WDL_OK;
}

void wdl_team_ended(const struct wdl_team *team)
{
    struct wdl_coll *coll = team->coll;
    if (team->params.upcoming)
        coll->past[coll->past_count++ % WDL_PAST_TEAMS] =
            (struct wdl_past){team->stamp, team->next, (uint32_t) team->rank};
    if (team->next - team->params.first_seq == 1) /* its first one alone, which has ended */
        return;
    struct wdl_ended *ended = &coll->ended[coll->ended_count++ % WDL_ENDED_TEAMS];
    ended->stamp = team->stamp;
    ended->next = team->next;
    for (uint32_t i = 1; i <= WDL_ENDED_PRINTS; i++)
        ended->print[(team->next - i) % WDL_ENDED_PRINTS] = print_of(team, team->next - i);
}

/* NULL: no team of that stamp has ended here, or it is not known any more. */
static const struct wdl_ended *ended_find(const struct wdl_coll *coll, uint64_t stamp)
{
    for (unsigned i = 1; i <= WDL_ENDED_TEAMS && i <= coll->ended_count; i++) {
        const struct wdl_ended *ended = &coll->ended[(coll->ended_count - i) % WDL_ENDED_TEAMS];
        if (ended->stamp == stamp)
            return ended;
    }
    return NULL;
}

/* What we meant by a collective of a team that is gone. After more teams that is not known, and as
 * good as what the other means. */
static uint32_t ended_print(const struct wdl_coll *coll, const struct wdl_coll_pkt *pkt,
                            uint64_t stamp)
{
    const struct wdl_ended *ended = ended_find(coll, stamp);
    uint32_t print = 0;
    if (ended && ended->next - pkt->seq - 1 < WDL_ENDED_PRINTS)
        print = ended->print[pkt->seq % WDL_ENDED_PRINTS];
    return print ? print : pkt->what >> WDL_PKT_BITS;
}

/* NULL: not known, or not of those whose calls have numbers. */
static const struct wdl_past *past_find(const struct wdl_coll *coll, uint64_t stamp)
{
    for (unsigned i = 1; i <= WDL_PAST_TEAMS && i <= coll->past_count; i++) {
        const struct wdl_past *past = &coll->past[(coll->past_count - i) % WDL_PAST_TEAMS];
        if (past->stamp == stamp)
            return past;
    }
    return NULL;
}

/* Our team of that stamp is gone, and all it did is finished. What it never began will not come. */
static int gone(struct wdl_coll *coll, int src, const struct wdl_coll_pkt *pkt, uint64_t stamp,
                enum wdl_pkt what)
{
    struct tail tail = {stamp, 0};
    const struct wdl_past *past = past_find(coll, stamp);
    if (what == WDL_PKT_ASK && past && (int32_t) (pkt->seq - past->next) >= 0) {
        struct wdl_coll_pkt never = {pkt->team, pkt->seq, past->rank, 0, 0};
        return say_of(coll, tail, src, never, WDL_PKT_OUT, 0);
    }
    if (what == WDL_PKT_ASK)
        return say_of(coll, tail, src, *pkt, WDL_PKT_OVER, ended_print(coll, pkt, stamp));
    if (what != WDL_PKT_FAIL)
        return WDL_OK;
    struct wdl_coll_pkt out = *pkt;
    out.role = (uint32_t) pkt->offset; /* our rank there */
    return say_of(coll, tail, src, out, WDL_PKT_OUT, pkt->what >> WDL_PKT_BITS);
}

static int is_rank(const struct wdl_team *team, uint32_t rank, int src)
{
    return rank < (uint32_t) team->size && peer_of(team, (int) rank) == src;
}

/* Is it said of another team of this id? While the stamp of this one is not known here or there, it
 * is if that has ended here, or `src` is not in this one. */
static int is_other(const struct wdl_team *team, int src, uint64_t stamp)
{
    uint32_t rank = 0;
    if (team->stamp && stamp)
        return stamp != team->stamp;
    while (rank < (uint32_t) team->size && !is_rank(team, rank, src))
        rank++;
    return rank == (uint32_t) team->size || ended_find(team->coll, stamp) ||
           past_find(team->coll, stamp);
}

int wdl_fail_handle(struct wdl_coll *coll, struct wdl_team *team, int src,
                    const struct wdl_coll_pkt *pkt, const void *data, size_t bytes)
{
    enum wdl_pkt what = (enum wdl_pkt)(pkt->what & ((1u << WDL_PKT_BITS) - 1));
    struct tail tail;
    if (bytes != sizeof(tail) || what > WDL_PKT_OUT)
        return WDL_ERR_PROTO;
    memcpy(&tail, data, sizeof(tail));
    if (!team || is_other(team, src, tail.stamp))
        return gone(coll, src, pkt, tail.stamp, what);
    enum where where = where_is(team, pkt->seq);
    int from_rank = what == WDL_PKT_FAIL || what == WDL_PKT_OUT;
    if (from_rank && !is_rank(team, pkt->role, src))
        return WDL_ERR_PROTO;
    switch (what) {
    case WDL_PKT_ASK:
        return ask_come(team, src, pkt, where, (uint32_t) tail.call);
    case WDL_PKT_OVER:
        return over_come(team, src, pkt, where);
    case WDL_PKT_FAIL:
        return fail_come(team, src, pkt, where);
    case WDL_PKT_OUT:
        return out_come(team, pkt, where);
    default:
        return WDL_ERR_PROTO;
    }
}

/* --- doubt ------------------------------------------------------------------------------------ */

static int ask(struct wdl_run *run, int rank, uint32_t role, uint64_t bytes)
{
    struct wdl_team *team = run->team;
    struct wdl_coll_pkt pkt = {team->params.id, run->seq, role, 0, bytes};
    struct tail tail = {team->stamp, run->args.call};
    team->coll->stats.asked++;
    return say_of(team->coll, tail, peer_of(team, rank), pkt, WDL_PKT_ASK, run->print);
}

/* A WATCH may wait for anybody on the node. */
static int ask_node(struct wdl_run *run)
{
    int status = WDL_OK;
    for (int i = 0; i < wdl_node_size(run) && status == WDL_OK; i++)
        if (i != wdl_node_place(run))
            status = ask(run, wdl_node_rank(run, i), WDL_ROLE_NONE, 0);
    return status;
}

/* Of what has failed: who is not out of it may have gone to another team. */
static void ask_doomed(struct wdl_run *run)
{
    const struct wdl_team *team = run->team;
    int status = WDL_OK;
    for (int i = 0; run->args.call && i < team->size && status == WDL_OK; i++)
        if (i != team->rank && !wdl_bits_have(run->doom->out, (unsigned) i))
            status = ask(run, i, WDL_ROLE_NONE, 0);
}

static void run_doubt(struct wdl_run *run)
{
    int watches = !run->graph, status = WDL_OK;
    if (run->doom) {
        ask_doomed(run);
        return;
    }
    for (int i = 0; run->graph && i < run->graph->ncars && status == WDL_OK; i++) {
        const struct wdl_car *car = &run->graph->cars[i];
        if (run->cars[i].state != WDL_CAR_ARMED)
            continue;
        if (car->kind == WDL_CAR_RECV)
            status = ask(run, car->peer, car->maybe ? WDL_ROLE_NONE : car->role, car->bytes);
        watches |= car->kind == WDL_CAR_WATCH;
    }
    if (watches && status == WDL_OK)
        (void) ask_node(run);
}

/* A team's first collective waits for ranks that have not made the team. */
static void teams_doubt(struct wdl_coll *coll)
{
    struct wdl_list *at, *node;
    for (int i = 0; i < WDL_COLL_BUCKETS; i++)
        wdl_list_for (at, &coll->teams[i]) {
            struct wdl_team *team = wdl_container_of(at, struct wdl_team, link);
            if (!team->open)
                continue;
            wdl_list_for (node, &team->running)
                run_doubt(wdl_container_of(node, struct wdl_run, link));
        }
}

uint64_t wdl_coll_moved(const struct wdl_proc *proc)
{
    static const struct wdl_coll_stats none;
    const struct wdl_coll *coll = proc->coll;
    const struct wdl_coll_stats *s = coll ? &coll->stats : &none;
    return s->started + s->finished + s->sent + s->stored + s->copied_bytes;
}

void wdl_coll_doubt(struct wdl_proc *proc)
{
    struct wdl_coll *coll = proc->coll;
    if (!coll || coll->busy)
        return;
    uint64_t now = proc->host.ops->now_ns(proc->host.ctx);
    uint64_t seen = wdl_coll_moved(proc);
    if (seen != coll->doubt_seen) {
        coll->doubt_seen = seen;
        coll->doubt_ns = DOUBT_FIRST_NS;
        coll->doubt_at = now + coll->doubt_ns;
    } else if (now >= coll->doubt_at) {
        teams_doubt(coll);
        coll->doubt_ns *= coll->doubt_ns < DOUBT_LAST_NS ? 2 : 1;
        coll->doubt_at = now + coll->doubt_ns;
    }
}
