/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Bounded overtaking, as an observer sees it. Locks by message: while a rank waits in the queue of
 * another one's lock, each third rank gets in at most once with an epoch asked for later. Locks by
 * words: nobody who asks later gets in before one who has a ticket, for a rank's word or for the
 * gate. (Who holds a lock already would; no script asks for two.)
 */
#include <stdlib.h>
#include <string.h>
#include "base/assert.h"
#include "mpid/rma/win_impl.h"
#include "system/world.h"

struct wait {                   /* of one rank at the target */
    uint64_t since;             /* the event that saw it first; 0: it does not wait */
    uint64_t *by;               /* by rank: the epoch that has overtaken it, 0: none */
};

static int is_waiting(const struct rank *t, int rank)
{
    const struct wdl_grant *grant = t->win ? &t->win->grant : NULL;
    for (int i = grant ? grant->granted : 0; grant && i < grant->length; i++)
        if (((const struct wdl_grant_request *) grant->queue.items)[i].rank == rank)
            return 1;
    return 0;
}

/* --- by words --------------------------------------------------------------------------------- */

static void set_since(struct world *w, uint64_t **since, int o, int waiting)
{
    if (!*since && waiting)
        *since = world_memory(w, (size_t) w->n * sizeof(**since));
    if (*since && waiting != ((*since)[o] > 0))
        (*since)[o] = waiting ? w->events : 0;
}

static void look_at_words(struct world *w, int o)
{
    const struct wdl_win *win = w->ranks[o].win;
    const struct wdl_list *node;
    set_since(w, &w->gate_since, o, win->gate_ticket != 0);
    if (win->held_wanted >= 0)
        set_since(w, &w->ranks[win->held_wanted].since, o, win->held_word.ticket != 0);
    wdl_list_for(node, &win->targets) {
        const struct wdl_target *t = wdl_container_of(node, struct wdl_target, link);
        set_since(w, &w->ranks[t->rank].since, o, t->word.ticket != 0);
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

/* Does o come in, through the gate (rank < 0) or into a rank's room, before somebody who waits
 * there since before it asked? Who has been served is inside, though it may not know yet. */
static int overtakes(struct world *w, int o, int rank)
{
    const uint64_t *since = rank < 0 ? w->gate_since : w->ranks[rank].since;
    uint64_t word = rank < 0 ? w->control[0].gate : w->control[rank].lock;
    for (int i = 0; since && i < w->n; i++) {
        if (i == o || since[i] == 0 || since[i] >= w->ranks[o].asked || !w->ranks[i].win)
            continue;
        uint32_t ticket = ticket_of(w->ranks[i].win, rank);
        if (ticket == 0 || wdl_room_ahead(word, ticket) > 0x7fff)
            continue;
        snprintf(w->failure, sizeof(w->failure), "rank %d has overtaken %d at room %d", o, i, rank);
        return WDL_ERR_OTHER;
    }
    return WDL_OK;
}

/* --- both ------------------------------------------------------------------------------------- */

void fair_look(struct world *w, int target)
{
    struct rank *t = &w->ranks[target];
    w->events++;
    if (t->win && t->win->words != WDL_WORDS_NONE)
        look_at_words(w, target);
    if (!t->waits)
        t->waits = world_memory(w, (size_t) w->n * sizeof(t->waits[0]));
    if (t->win && t->win->grant.length == 0 && !t->waited)
        return;
    t->waited = 0;
    for (int i = 0; i < w->n; i++) {
        struct wait *wait = &t->waits[i];
        int waiting = is_waiting(t, i);
        t->waited += waiting;
        if (waiting == (wait->since > 0))
            continue;
        wait->since = waiting ? w->events : 0;
        if (!wait->by)
            wait->by = world_memory(w, (size_t) w->n * sizeof(wait->by[0]));
        memset(wait->by, 0, (size_t) w->n * sizeof(wait->by[0]));
    }
}

int fair_begin(struct world *w, int o, const struct step *s)
{
    struct rank *r = &w->ranks[o];
    int status = WDL_OK;
    r->begun = r->asked;        /* where the lock is taken in the call, that was long ago */
    if (r->win->words == WDL_WORDS_NONE)
        return WDL_OK;
    if (s->kind == STEP_LOCK) {
        set_since(w, &w->ranks[s->rank].since, o, 0);
        status = overtakes(w, o, s->rank);
    }
    if (status == WDL_OK && (s->kind == STEP_LOCK_ALL || s->flag))
        status = overtakes(w, o, -1);
    return status;
}

int fair_inside(struct world *w, int o, int target)
{
    struct rank *t = &w->ranks[target];
    uint64_t epoch = w->ranks[o].begun;
    for (int i = 0; t->waited > 0 && i < w->n; i++) {
        struct wait *wait = &t->waits[i];
        if (i == o || wait->since == 0 || wait->since >= epoch)
            continue;
        if (wait->by[o] > 0 && wait->by[o] != epoch) {
            snprintf(w->failure, sizeof(w->failure), "rank %d has overtaken %d at %d twice", o, i,
                     target);
            return WDL_ERR_OTHER;
        }
        wait->by[o] = epoch;
    }
    return WDL_OK;
}
