/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Bounded overtaking, as an observer sees it. While a rank waits for another one's lock, each third
 * rank gets in before it, by a lock asked for later, only while that holds locks without a break
 * (by message: or is about to); and it takes none again who holds none and has so overtaken one who
 * still waits. By words, of a rank or of the gate, nobody who holds none gets in before one who has
 * a ticket.
 */
#include <stdlib.h>
#include <string.h>
#include "base/assert.h"
#include "mpid/rma/win_impl.h"
#include "system/world.h"

struct wait {                   /* of one rank at the target */
    uint64_t since;             /* the event that saw it first; 0: it does not wait */
    uint64_t *by;               /* by rank: when that began to hold locks that overtook; 0: none */
};

static void wait_set(struct world *w, struct wait *wait, int waiting)
{
    if (waiting == (wait->since > 0))
        return;
    wait->since = waiting ? w->events : 0;
    if (wait->by)
        memset(wait->by, 0, (size_t) w->n * sizeof(wait->by[0]));
}

static void overtaken(struct world *w, struct wait *wait, int o)
{
    if (!wait->by)
        wait->by = world_memory(w, (size_t) w->n * sizeof(wait->by[0]));
    wait->by[o] = w->ranks[o].begun;
    w->ranks[o].overtook = 1;
}

static int is_overtaken(const struct wait *wait, int o)
{
    return wait->since > 0 && wait->by && wait->by[o] > 0;
}

static struct wait *waits_of(struct world *w, int rank)
{
    struct wait **waits = rank < 0 ? &w->gate_waits : &w->ranks[rank].waits;
    if (!*waits)
        *waits = world_memory(w, (size_t) w->n * sizeof(**waits));
    return *waits;
}

static int is_waiting(const struct rank *t, int rank)
{
    const struct wdl_grant *grant = t->win ? &t->win->grant : NULL;
    for (int i = grant ? grant->granted : 0; grant && i < grant->length; i++)
        if (((const struct wdl_grant_request *) grant->queue.items)[i].rank == rank)
            return 1;
    return 0;
}

/* --- by words --------------------------------------------------------------------------------- */

static void look_at_words(struct world *w, int o)
{
    const struct wdl_win *win = w->ranks[o].win;
    const struct wdl_list *node;
    wait_set(w, &waits_of(w, -1)[o], win->gate_ticket != 0);
    if (win->held_wanted >= 0)
        wait_set(w, &waits_of(w, win->held_wanted)[o], win->held_word.ticket != 0);
    wdl_list_for(node, &win->targets) {
        const struct wdl_target *t = wdl_container_of(node, struct wdl_target, link);
        wait_set(w, &waits_of(w, t->rank)[o], t->word.ticket != 0);
    }
}

static uint32_t ticket_of(const struct wdl_win *win, int rank)
{
    const struct wdl_target *t;
    if (rank < 0)
        return win->gate_ticket;
    if (win->held_wanted == rank)
        return win->held_word.ticket;
    t = wdl_target_find(win, rank);
    return t ? t->word.ticket : 0;
}

/* Does i wait at the gate (rank < 0) or a rank's room? Who has been served is inside, though it may
 * not know yet. */
static int waits_by_word(const struct world *w, int i, int rank)
{
    uint64_t word = rank < 0 ? w->control[0].gate : w->control[rank].lock;
    uint32_t ticket = w->ranks[i].win ? ticket_of(w->ranks[i].win, rank) : 0;
    return ticket != 0 && wdl_room_ahead(word, ticket) <= 0x7fff;
}

static int unfair(struct world *w, int o, int i, int rank, const char *how)
{
    snprintf(w->failure, sizeof(w->failure), "rank %d has overtaken %d at room %d%s", o, i, rank,
             how);
    return WDL_ERR_OTHER;
}

/* Does o come in before somebody who waits there since before it asked? Who holds another lock
 * may. */
static int overtakes(struct world *w, int o, int rank, int joins)
{
    struct wait *waits = waits_of(w, rank);
    const struct rank *r = &w->ranks[o];
    for (int i = 0; i < w->n; i++) {
        if (i == o || waits[i].since == 0 || waits[i].since >= r->asked ||
            !waits_by_word(w, i, rank))
            continue;
        if (!joins)
            return unfair(w, o, i, rank, " and held no lock");
        overtaken(w, &waits[i], o);
        w->joined[0]++;
    }
    return WDL_OK;
}

/* --- both ------------------------------------------------------------------------------------- */

void fair_look(struct world *w, int target)
{
    struct rank *t = &w->ranks[target];
    w->events++;
    if (t->win && t->win->words != WDL_WORDS_NONE) {
        look_at_words(w, target);
        return;
    }
    if (t->win && t->win->grant.length == 0 && !t->waited)
        return;
    t->waited = 0;
    for (int i = 0; i < w->n; i++) {
        int waiting = is_waiting(t, i);
        t->waited += waiting;
        wait_set(w, &waits_of(w, target)[i], waiting);
    }
}

/* Whoever o has overtaken has got in. */
static int owes_nobody(struct world *w, int o)
{
    for (int t = 0; t < w->n && w->ranks[o].overtook; t++) {
        const struct wait *waits = w->ranks[t].waits;
        int words = w->ranks[o].win->words != WDL_WORDS_NONE;
        for (int i = 0; waits && (words || w->ranks[t].waited > 0) && i < w->n; i++)
            if (is_overtaken(&waits[i], o) && (!words || waits_by_word(w, i, t)))
                return unfair(w, o, i, t, ", who still waits");
    }
    w->ranks[o].overtook = 0;
    return WDL_OK;
}

int fair_begin(struct world *w, int o, const struct step *s)
{
    struct rank *r = &w->ranks[o];
    int status = WDL_OK, joins = r->nheld > 0, words = r->win->words != WDL_WORDS_NONE;
    r->held[r->nheld++] = (struct lock_asked) {
        .rank = s->kind == STEP_LOCK ? s->rank : -1,.asked = r->asked
    };
    if (!joins)
        r->begun = r->asked;    /* where the lock is taken in the call, that was long ago */
    if (s->mode & WDL_MODE_NOCHECK)
        return WDL_OK;
    if (!joins)
        status = owes_nobody(w, o);
    if (words && s->kind == STEP_LOCK && status == WDL_OK) {
        wait_set(w, &waits_of(w, s->rank)[o], 0);
        status = overtakes(w, o, s->rank, joins && !s->flag);
    }
    if (words && status == WDL_OK && (s->kind == STEP_LOCK_ALL || s->flag))
        status = overtakes(w, o, -1, 0);
    return status;
}

void fair_end(struct world *w, int o, const struct step *s)
{
    struct rank *r = &w->ranks[o];
    int i = r->nheld > 1 && r->held[1].rank == s->rank;
    wdl_assert_cmp(r->nheld, >, 0);
    r->held[i] = r->held[--r->nheld];
}

int fair_inside(struct world *w, int o, int target)
{
    struct rank *t = &w->ranks[target], *r = &w->ranks[o];
    int k = r->nheld > 1 && r->held[1].rank == target;
    if (r->win->words != WDL_WORDS_NONE)
        return WDL_OK;
    for (int i = 0; t->waited > 0 && i < w->n; i++) {
        struct wait *wait = &t->waits[i];
        if (i == o || wait->since == 0 || wait->since >= r->held[k].asked)
            continue;
        if (is_overtaken(wait, o) && wait->by[o] != r->begun)
            return unfair(w, o, i, target, " twice");
        overtaken(w, wait, o);
        w->joined[1] += r->nheld > 1;
    }
    return WDL_OK;
}
