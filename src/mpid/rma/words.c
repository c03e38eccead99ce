/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Locks by words (ARCHITECTURE.md, By words): a room (room.h) in each rank's control block, and a
 * gate in rank 0's, so that lock_all is one word and the target's processor is never asked. Their
 * cost does not depend on P.
 *
 *             gate     the rank's word
 *   lock_all  SHARED   -
 *   exclusive OTHERS   ALONE
 *   shared    -        SHARED
 *
 * Where all ranks are on one node an exclusive lock that can be had at once does not pass the gate
 * unless somebody uses lock_all: it is UNGATED at the rank's word. Who calls lock_all first says so
 * at the gate, draws its ticket, and looks at each rank's word until nobody is inside who has not
 * passed; only then it goes in. (Not inside, it is in the way of nobody who is UNGATED and wants
 * another lock: that one joins.) Later ones do not look. After WDL_GATE_PASSES exclusive locks of a
 * process, or as many as there are ranks, it is as if nobody had called it: so the looks are at
 * most one for each of these.
 *
 * A process goes through the gate once for all its exclusive locks. One that holds a lock already
 * joins (room.h). Whom it overtakes is remembered: at up to WDL_WORD_DEBTS words the last ticket
 * drawn, beyond that the range of places, each of which it then looks at, one after the other, and
 * waits there for all it finds: more than it owes, but in memory that does not grow with the number
 * of locks, and none of them is served later for that.
 *
 * Where all ranks are on one node the words are in memory they share. Otherwise a word is changed
 * by the network's atomics (far.h), and, where these respect the processor's (WDL_WORDS_MIXED), by
 * the processors of its own node, too. Going out is waited for there: nothing else keeps this
 * process's next atomic on the word behind it.
 */
#include <string.h>
#include "base/line.h"
#include "mpid/rma/win_impl.h"

struct place {                  /* of a word */
    int number;                 /* as in struct wdl_word_debt */
    uint64_t *here;             /* NULL: it is there */
    struct wdl_far_word there;
};

/* --- whom this process has overtaken ---------------------------------------------------------- */

static int gate_place(const struct wdl_win *win)
{
    return win->params.size;
}

static void debt_note(struct wdl_win *win, int place, uint32_t *ticket)
{
    struct wdl_word_debts *d = &win->word_debts;
    int i = 0;
    d->stale |= d->looking == place + 1;
    while (i < d->n && d->at[i].place != place)
        i++;
    if (i < WDL_WORD_DEBTS) {
        d->n += i == d->n;
        d->at[i] = (struct wdl_word_debt) {place, *ticket};
    } else if (d->first == d->last) {
        d->first = place;
        d->last = place + 1;
        d->ticket = 0;
    } else {
        d->ticket = place <= d->first ? 0 : d->ticket;
        d->first = place < d->first ? place : d->first;
        d->last = place < d->last ? d->last : place + 1;
    }
    *ticket = 0;
}

/* As wdl_room_enter. */
static inline int enter(struct wdl_win *win, int place, uint64_t *word, enum wdl_room_kind kind,
                        int join, uint32_t *ticket)
{
    int status = wdl_room_enter(word, kind, join, ticket);
    if (join && status == WDL_OK && *ticket != 0)
        debt_note(win, place, ticket);
    return status;
}

/* --- words of one node, where nothing has to be found ----------------------------------------- */

static int node_lock(struct wdl_win *win, int rank, int alone, int join, struct wdl_word *w)
{
    struct wdl_win_control *node = win->params.node;
    if (!alone)
        return enter(win, rank, &node[rank].lock, WDL_ROOM_SHARED, join, &w->ticket);
    if (!w->at_gate) {
        w->at_gate = 1;
        win->gate_users++;
    }
    if (win->gate_in != WDL_GATE_IN) {
        if (enter(win, gate_place(win), &node[0].gate, WDL_ROOM_OTHERS, join, &win->gate_ticket) !=
            WDL_OK)
            return WDL_AGAIN;
        win->gate_in = WDL_GATE_IN;
    }
    int status = enter(win, rank, &node[rank].lock, WDL_ROOM_ALONE, join, &w->ticket);
    if (status == WDL_OK)
        w->at_gate = 0;
    return status;
}

/* --- where the words are ---------------------------------------------------------------------- */

/* Rank 0's words have the key every rank has got at creation. WDL_OK, WDL_AGAIN or an error. */
static int first_find(struct wdl_win *win, int gate, struct place *p)
{
    struct wdl_nm *nm = win->proc->nm;
    const struct wdl_net_offer *offer = win->gate_offer;
    int peer = win->params.peer_of(win->params.ctx, 0), status = WDL_OK;
    if (!win->gate_rkey) {
        status = nm->ops->rkey_open(nm, peer, offer->key, offer->bytes, &win->gate_rkey);
        if (status == WDL_OK)
            status = wdl_net_key_holds(win, win->gate_rkey);
        if (status != WDL_OK && win->gate_rkey)
            nm->ops->rkey_close(nm, win->gate_rkey);
        if (status != WDL_OK)
            win->gate_rkey = NULL;
    }
    p->there = (struct wdl_far_word) {nm, peer, win->gate_rkey,
        offer->base + (gate ? WDL_NET_GATE_AT : 0), &win->first_guess[gate]};
    return status;
}

static struct wdl_win_control *control_here(const struct wdl_win *win, int rank)
{
    struct wdl_win_control *control = NULL;
    if (win->words == WDL_WORDS_MIXED)
        (void) win->params.map(win->params.ctx, rank, &control);
    return control;
}

static int gate_find(struct wdl_win *win, struct place *p)
{
    struct wdl_win_control *control = control_here(win, 0);
    p->number = gate_place(win);
    p->here = control ? &control->gate : NULL;
    return control ? WDL_OK : first_find(win, 1, p);
}

static int lock_find(struct wdl_win *win, int rank, struct place *p)
{
    struct wdl_win_control *control = control_here(win, rank);
    p->number = rank;
    p->here = control ? &control->lock : NULL;
    if (control)
        return WDL_OK;
    if (rank == 0)
        return first_find(win, 0, p);
    struct wdl_target *t = wdl_target_find(win, rank);
    struct wdl_key *key = wdl_key_get(t, WDL_KEYS_WORDS);
    if (!key) {
        int why = wdl_key_is_useless(t, WDL_KEYS_WORDS);
        return why == WDL_OK ? WDL_AGAIN : why == WDL_ERR_ATOMICS ? why : WDL_ERR_OTHER;
    }
    p->there = (struct wdl_far_word) {win->proc->nm,
        win->params.peer_of(win->params.ctx, rank), key->rkey, key->base, &key->guess};
    return WDL_OK;
}

/* Both are full barriers, MEM_SYNC, as the processor's instructions are, and the network's are not;
 * the one who goes out pairs with the next one inside. */
static int room_in(struct wdl_win *win, const struct place *p, struct wdl_far *far,
                   enum wdl_room_kind kind, int join, uint32_t *ticket)
{
    if (p->here)
        return enter(win, p->number, p->here, kind, join, ticket);
    int status = wdl_far_enter(far, &p->there, kind, join, ticket);
    if (status == WDL_OK)
        wdl_mem_sync(&win->quick);
    if (status == WDL_OK && *ticket != 0)
        debt_note(win, p->number, ticket);
    return status;
}

static int room_out(struct wdl_win *win, const struct place *p, struct wdl_far *far,
                    enum wdl_room_kind kind)
{
    if (!p->here) {
        wdl_mem_sync(&win->quick);
        return wdl_far_leave(far, &p->there, kind);
    }
    wdl_room_leave(p->here, kind);
    return WDL_OK;
}

/* --- letting those by who were overtaken ------------------------------------------------------ */

/* The element by which a rank's key is asked for. */
static int debt_find(struct wdl_win *win, int place, struct place *p)
{
    if (place == gate_place(win))
        return gate_find(win, p);
    if (place > 0 && !control_here(win, place) && !wdl_target_get(win, place))
        return WDL_AGAIN;
    return lock_find(win, place, p);
}

/* The word as it is now: WDL_OK, WDL_AGAIN or an error of the network. */
static int debt_look(struct wdl_win *win, int place, uint64_t *now_out)
{
    struct wdl_word_debts *d = &win->word_debts;
    const struct wdl_win_control *node = win->params.node;
    struct place p;
    if (win->words == WDL_WORDS_NODE) {
        const uint64_t *word =
            place == gate_place(win) ? &node[0].gate : &node[place].lock;
        *now_out = __atomic_load_n(word, __ATOMIC_RELAXED);
        return WDL_OK;
    }
    int status = debt_find(win, place, &p);
    if (status == WDL_OK && p.here) {
        *now_out = __atomic_load_n(p.here, __ATOMIC_RELAXED);
        return WDL_OK;
    }
    if (status == WDL_OK) {
        status = wdl_far_look(&d->far, &p.there);
        d->looking = wdl_far_busy(&d->far) ? place + 1 : 0;
        *now_out = d->far.seen;
    }
    struct wdl_target *t = status == WDL_AGAIN ? NULL : wdl_target_find(win, place);
    if (t && t->lock.state == WDL_LOCK_IDLE) {
        t->evict = 1;           /* it may leave */
        wdl_win_activate(win);
    }
    return status;
}

/* Are those let by who were overtaken at this place, which is the first one? `known`: the word
 * is. */
static int debt_settle(struct wdl_word_debts *d, int known, uint64_t now)
{
    uint32_t *ticket = d->n > 0 ? &d->at[0].ticket : &d->ticket;
    if (*ticket == 0)
        *ticket = wdl_room_drawn(now);
    if (known && wdl_room_owes(now, *ticket))
        return 0;
    if (d->n > 0) {
        d->n--;
        memmove(&d->at[0], &d->at[1], (size_t) d->n * sizeof(d->at[0]));
    } else {
        d->first++;
        d->ticket = 0;
    }
    return 1;
}

int wdl_words_owe(struct wdl_win *win)
{
    struct wdl_word_debts *d = &win->word_debts;
    while (wdl_words_have_debts(win)) {
        uint64_t now = 0;
        int place = d->looking ? d->looking - 1 : d->n > 0 ? d->at[0].place : d->first;
        int status = debt_look(win, place, &now);
        if (status == WDL_AGAIN)
            return 1;
        int stale = d->stale || place != (d->n > 0 ? d->at[0].place : d->first);
        d->stale = 0;
        /* whose word cannot be had waits for ever, for all we can do */
        if (!stale && !debt_settle(d, status == WDL_OK, now))
            return 1;
    }
    return 0;
}

int wdl_words_look_at(const struct wdl_win *win, int rank)
{
    return win->word_debts.looking == rank + 1;
}

/* --- the gate --------------------------------------------------------------------------------- */

/* The last exclusive lock has gone: WDL_OK when the gate is left. */
static int gate_left(struct wdl_win *win)
{
    struct place p;
    int status = WDL_OK;
    if (win->gate_in == WDL_GATE_LEAVING) {
        status = gate_find(win, &p);
        if (status == WDL_OK)
            status = room_out(win, &p, &win->gate_far, WDL_ROOM_OTHERS);
        if (status != WDL_AGAIN)
            win->gate_in = WDL_GATE_OUT;
    }
    return status;
}

static int gate_enter(struct wdl_win *win, enum wdl_room_kind kind, int join)
{
    struct place p;
    int status = gate_left(win);
    if (status == WDL_OK)
        status = gate_find(win, &p);
    if (status != WDL_OK)
        return status;
    return room_in(win, &p, &win->gate_far, kind, join, &win->gate_ticket);
}

static int gate_pass(struct wdl_win *win, int join)
{
    if (win->gate_in == WDL_GATE_IN)
        return WDL_OK;
    int status = gate_enter(win, WDL_ROOM_OTHERS, join);
    if (status == WDL_OK)
        win->gate_in = WDL_GATE_IN;
    return status;
}

/* --- locks ------------------------------------------------------------------------------------ */

static void gate_user_goes(struct wdl_win *win)
{
    wdl_assert_cmp(win->gate_users, >, 0);
    if (--win->gate_users == 0 && win->gate_in == WDL_GATE_IN)
        win->gate_in = WDL_GATE_LEAVING;
}

/* The word cannot be had: the error, when the gate is left. */
static int lock_fails(struct wdl_win *win, struct wdl_word *w, int status)
{
    if (w->at_gate)
        gate_user_goes(win);
    w->at_gate = 0;
    w->status = status;
    return gate_left(win) == WDL_AGAIN ? WDL_AGAIN : status;
}

int wdl_words_lock(struct wdl_win *win, int rank, int alone, int join, struct wdl_word *w)
{
    if (win->words == WDL_WORDS_NODE)
        return node_lock(win, rank, alone, join, w);
    if (w->status != WDL_OK)
        return lock_fails(win, w, w->status);
    enum wdl_room_kind kind = alone ? WDL_ROOM_ALONE : WDL_ROOM_SHARED;
    struct place p;
    int found = lock_find(win, rank, &p);       /* a key may come while we are at the gate */
    if (alone && !w->at_gate) {
        w->at_gate = 1;
        win->gate_users++;
    }
    int status = alone ? gate_pass(win, join) : WDL_OK;
    if (status == WDL_OK)
        status = found;
    if (status == WDL_OK)
        status = room_in(win, &p, &w->far, kind, join, &w->ticket);
    if (status != WDL_OK)
        return status == WDL_AGAIN ? WDL_AGAIN : lock_fails(win, w, status);
    w->at_gate = 0;
    w->known = 1;
    w->kind = kind;
    return WDL_OK;
}

/* As what are we inside? An element that has been evicted has forgotten it. */
static int kind_find(const struct place *p, struct wdl_word *w)
{
    int status = WDL_OK;
    if (p->here) {
        w->kind = wdl_room_kind_inside(p->here);
    } else if (!w->known) {
        status = wdl_far_look(&w->far, &p->there);
        w->kind = wdl_room_holders(w->far.seen, WDL_ROOM_ALONE) ? WDL_ROOM_ALONE :
            WDL_ROOM_SHARED;
    }
    w->known = status == WDL_OK;
    return status;
}

static int word_leave(struct wdl_win *win, int rank, struct wdl_word *w)
{
    struct place p;
    int status = lock_find(win, rank, &p);
    if (status == WDL_OK && w->leaving == WDL_WORD_IN) {
        status = kind_find(&p, w);
        if (status == WDL_OK && w->kind == WDL_ROOM_ALONE)
            gate_user_goes(win);
        if (status == WDL_OK)
            w->leaving = WDL_WORD_LEAVING;
    }
    return status == WDL_OK ? room_out(win, &p, &w->far, w->kind) : status;
}

int wdl_words_unlock(struct wdl_win *win, int rank, struct wdl_word *w)
{
    if (win->words == WDL_WORDS_NODE) {
        wdl_words_out_on_node(win, rank);
        return WDL_OK;
    }
    int status = w->leaving == WDL_WORD_OUT ? w->status : word_leave(win, rank, w);
    if (status != WDL_AGAIN) {
        w->leaving = WDL_WORD_OUT;
        w->status = status;
    }
    if (w->leaving == WDL_WORD_IN)
        return WDL_AGAIN;
    /* both words at the same time: whoever comes through the gate finds the rank's taken */
    int gate = w->kind == WDL_ROOM_ALONE ? gate_left(win) : WDL_OK;
    if (w->leaving != WDL_WORD_OUT || gate == WDL_AGAIN)
        return WDL_AGAIN;
    w->leaving = WDL_WORD_IN;
    w->known = 0;
    w->status = WDL_OK;
    return status != WDL_OK ? status : gate;
}

void wdl_words_forget(struct wdl_win *win)
{
    uint32_t *mode = &win->params.node[0].gate_mode, now = __atomic_load_n(mode, __ATOMIC_RELAXED);
    if (win->gate_passes < win->params.size)
        return;
    win->gate_passes = 0;
    if (now % WDL_GATE_MODES == WDL_GATE_MINDED)        /* UNUSED, once more */
        (void) __atomic_compare_exchange_n(mode, &now, now - WDL_GATE_MINDED + WDL_GATE_MODES, 0,
                                           __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* WDL_OK when nobody is inside a room of the node who has not passed the gate, nor will be before
 * lock_all's use is forgotten. */
__attribute__((noinline))
static int gate_mind(struct wdl_win *win)
{
    struct wdl_win_control *node = win->params.node;
    for (;;) {
        uint32_t now = __atomic_load_n(&node[0].gate_mode, __ATOMIC_SEQ_CST), then = now + 1;
        if (now % WDL_GATE_MODES == WDL_GATE_MINDED)
            return WDL_OK;
        if (now % WDL_GATE_MODES == WDL_GATE_UNUSED) {  /* pairs with wdl_words_in_ungated */
            (void) __atomic_compare_exchange_n(&node[0].gate_mode, &now, then, 0, __ATOMIC_SEQ_CST,
                                               __ATOMIC_SEQ_CST);
            continue;
        }
        if (win->gate_seen != now) {
            win->gate_seen = now;
            win->gate_looked = 0;
            win->gate_ticket = win->gate_ticket ? win->gate_ticket : wdl_room_draw(&node[0].gate);
        }
        for (; win->gate_looked < win->params.size; win->gate_looked++)
            if (wdl_room_is_ungated(&node[win->gate_looked].lock))
                return WDL_AGAIN;
        /* unless others have meanwhile, and it has been forgotten again */
        (void) __atomic_compare_exchange_n(&node[0].gate_mode, &now, then, 0, __ATOMIC_SEQ_CST,
                                           __ATOMIC_SEQ_CST);
    }
}

static int node_lock_all(struct wdl_win *win)
{
    struct wdl_win_control *node = win->params.node;
    for (;;) {
        if (!wdl_gate_is(&node[0], WDL_GATE_MINDED) && gate_mind(win) != WDL_OK)
            return WDL_AGAIN;
        int status = wdl_room_enter(&node[0].gate, WDL_ROOM_SHARED, 0, &win->gate_ticket);
        /* still? Who forgets it is inside, as we are from now on (pairs with wdl_words_forget) */
        if (status != WDL_OK || wdl_gate_is(&node[0], WDL_GATE_MINDED))
            return status;
        wdl_room_leave(&node[0].gate, WDL_ROOM_SHARED);
    }
}

wdl_line_begins
int wdl_words_lock_all(struct wdl_win *win)
{
    return win->words == WDL_WORDS_NODE ? node_lock_all(win) : gate_enter(win, WDL_ROOM_SHARED, 0);
}

wdl_line_begins
int wdl_words_unlock_all(struct wdl_win *win)
{
    struct place p;
    if (win->words == WDL_WORDS_NODE) {
        wdl_words_all_out_on_node(win);
        return WDL_OK;
    }
    int status = gate_find(win, &p);
    return status == WDL_OK ? room_out(win, &p, &win->gate_far, WDL_ROOM_SHARED) : status;
}
