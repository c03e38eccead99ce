/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Bounded overtaking, as an observer sees it: while a rank waits in the queue of another one's
 * lock, each third rank gets in at most once with an epoch begun later.
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
        if (grant->queue[i].rank == rank)
            return 1;
    return 0;
}

void fair_look(struct world *w, int target)
{
    struct rank *t = &w->ranks[target];
    w->events++;
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

void fair_begin(struct world *w, int o)
{
    w->ranks[o].begun = w->events;
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
