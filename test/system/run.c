/* Part of Windlass. See COPYRIGHT in the top-level directory. Running a simulated world: one event
 * at a time, then look. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/assert.h"
#include "mpid/rma/win_impl.h"
#include "system/world.h"

static int fail(struct world *w, int o, const char *format, ...)
{
    va_list list;
    int n = snprintf(w->failure, sizeof(w->failure), "rank %d step %d: ", o, w->ranks[o].at);
    va_start(list, format);
    vsnprintf(w->failure + n, sizeof(w->failure) - (size_t) n, format, list);
    va_end(list);
    return WDL_ERR_OTHER;
}

static int barrier(struct world *w, struct rank *r)
{
    if (!r->arrived) {
        r->arrived = 1;
        w->barriers_open++;
    }
    /* the last to arrive lets all go: each passes when its own flag is taken down */
    if (w->barriers_open < w->n && r->arrived != 2)
        return WDL_AGAIN;
    if (w->barriers_open == w->n) {
        for (int i = 0; i < w->n; i++)
            w->ranks[i].arrived = 2;
        w->barriers_open = 0;
    }
    r->arrived = 0;
    return WDL_OK;
}

static int enter(struct world *w, int o, const struct step *s)
{
    struct rank *t = &w->ranks[s->rank];
    if (s->flag)
        t->exclusive++;
    else
        t->shared++;
    if (t->exclusive > 1 || (t->exclusive && t->shared))
        return fail(w, o, "lock of %d has %d exclusive and %d shared holders", s->rank,
                    t->exclusive, t->shared);
    return WDL_OK;
}

static int take_ticket(struct world *w, int o, const struct step *s)
{
    struct rank *t = &w->ranks[s->rank];
    int64_t ticket;
    memcpy(&ticket, s->a, 8);
    if (!t->ticket_seen)
        t->ticket_seen = world_memory(w, (size_t) t->tickets);
    if (ticket < 0 || ticket >= t->tickets || t->ticket_seen[ticket])
        return fail(w, o, "ticket %lld of %d is not new", (long long) ticket, s->rank);
    t->ticket_seen[ticket] = 1;
    return WDL_OK;
}

/* Types that are held though no operation uses them: those its targets know. */
static int types_held(const struct rank *r)
{
    const struct wdl_list *node;
    int n = r->host.holds;
    wdl_list_for(node, &r->win->told)
        n--;
    return n;
}

static int final(struct world *w, int o)
{
    struct rank *r = &w->ranks[o];
    int64_t want[] = { r->counter, r->sum, r->tickets, r->swaps }, have;
    for (int i = 0; i < 4; i++) {
        memcpy(&have, r->memory + world_misc(w) + (size_t) i * CELL, 8);
        if (have != want[i])
            return fail(w, o, "misc cell %d is %lld, not %lld", i, (long long) have,
                        (long long) want[i]);
    }
    if (r->exclusive || r->shared || types_held(r))
        return fail(w, o, "%d exclusive, %d shared holders, %d types held at the end", r->exclusive,
                    r->shared, types_held(r));
    return WDL_OK;
}

static int equal(struct world *w, int o, const struct step *s)
{
    const unsigned char *a = s->a, *b = s->b;
    for (size_t i = 0; i < s->bytes; i++)
        if (a[i] != b[i])
            return fail(w, o, "byte %zu of %zu is %02x, not %02x", i, s->bytes, a[i], b[i]);
    return WDL_OK;
}

/* What is attached again is another region, at the same address. */
static int reattach(struct world *w, int o, int region)
{
    struct rank *r = &w->ranks[o];
    char *base;
    size_t bytes = world_attached(w, o, region, &base);
    int status = wdl_win_detach(r->win, base);
    return status == WDL_OK ? wdl_win_attach(r->win, base, bytes) : status;
}

static int step_own(struct world *w, int o, const struct step *s)
{
    switch (s->kind) {
        case STEP_ENTER:
            return enter(w, o, s);
        case STEP_LEAVE:
            if (s->flag)
                w->ranks[s->rank].exclusive--;
            else
                w->ranks[s->rank].shared--;
            return WDL_OK;
        case STEP_NEXT: {
            int64_t value;
            memcpy(&value, s->b, 8);
            value++;
            memcpy(s->a, &value, 8);
            return WDL_OK;
        }
        case STEP_TICKET:
            return take_ticket(w, o, s);
        case STEP_CAS:
            w->ranks[s->rank].swaps += memcmp(s->a, s->b, 8) == 0;
            return WDL_OK;
        case STEP_BARRIER:
            return barrier(w, &w->ranks[o]);
        case STEP_EQUAL:
            return equal(w, o, s);
        case STEP_REQUEST: {
            const struct test_request *request = s->a;
            if (!request->done || request->status != WDL_OK)
                return fail(w, o, "request done %d status %s", request->done,
                            wdl_status_name(request->status));
            return WDL_OK;
        }
        case STEP_REATTACH:
            return reattach(w, o, s->flag);
        default:
            return final(w, o);
    }
}

/* As a host does: puts and gets of one piece go the short way where it is open. */
static int operation(struct rank *r, struct step *s)
{
    struct wdl_win_quick *quick = wdl_win_quick(r->win);
    struct wdl_rma_args *args = &s->args;
    char *local = (char *) args->origin.addr + args->origin.lo, *at;
    int plain = (args->kind == WDL_RMA_PUT || args->kind == WDL_RMA_GET) &&
        args->origin.contig && args->remote.contig && args->remote.lo == 0 && !args->request;
    if (!plain ||
        !wdl_quick_reach(quick, args->target, args->disp, args->remote.bytes, &at))
        return wdl_rma_op(r->win, args);
    if (args->kind == WDL_RMA_PUT)
        memcpy(at, local, args->remote.bytes);
    else
        memcpy(local, at, args->remote.bytes);
    quick->stored |= args->kind == WDL_RMA_PUT;
    return WDL_OK;
}

static int step_do(struct world *w, int o, struct step *s)
{
    struct rank *r = &w->ranks[o];
    int *at = &r->call_step;
    switch (s->kind) {
        case STEP_FENCE:
            return wdl_win_fence(r->win, s->mode, at);
        case STEP_POST:
            return wdl_win_post(r->win, s->group, s->n, s->mode, at);
        case STEP_START:
            return wdl_win_start(r->win, s->group, s->n, s->mode, at);
        case STEP_COMPLETE:
            return wdl_win_complete(r->win, at);
        case STEP_WAIT:
            return wdl_win_wait(r->win, at);
        case STEP_LOCK:
            return wdl_win_lock(r->win, s->rank, s->flag, s->mode, at);
        case STEP_UNLOCK:
            return wdl_win_unlock(r->win, s->rank, at);
        case STEP_LOCK_ALL:
            return wdl_win_lock_all(r->win, s->mode, at);
        case STEP_UNLOCK_ALL:
            return wdl_win_unlock_all(r->win, at);
        case STEP_FLUSH:
            return wdl_win_flush(r->win, s->rank, s->flag, at);
        case STEP_OP:
            return operation(r, s);
        case STEP_FREE: {
            struct wdl_win_stats stats;
            wdl_win_stats_get(r->win, &stats);
            int status = wdl_win_free(r->win);
            w->mailed += status == WDL_OK ? stats.ops_mailed : 0;
            if (status == WDL_OK)
                r->win = NULL;
            return status;
        }
        default:
            return step_own(w, o, s);
    }
}

/* One event on one rank; WDL_OK, or an error with w->failure set. */
static int event(struct world *w, int o)
{
    struct rank *r = &w->ranks[o];
    r->host.now_ns = wdl_sim_now(w->sim);
    int moved = wdl_proc_progress(r->proc);
    if (r->at < r->nsteps) {
        struct step *s = &r->steps[r->at];
        r->asked = r->asked ? r->asked : w->events + 1;
        int status = step_do(w, o, s);
        if (wdl_status_is_error(status)) {
            if (!w->failure[0])
                fail(w, o, "kind %d: %s", s->kind, wdl_status_name(status));
            return status;
        }
        if (status == WDL_OK) {
            r->call_step = 0;
            r->at++;
            moved = 1;
        }
        if (status == WDL_OK && s->kind == STEP_FLUSH && !s->flag && s->rank >= 0 &&
            fair_inside(w, o, s->rank) != WDL_OK)
            return WDL_ERR_OTHER;
        if (status == WDL_OK && (s->kind == STEP_LOCK || s->kind == STEP_LOCK_ALL) &&
            fair_begin(w, o, s) != WDL_OK)
            return WDL_ERR_OTHER;
        if (status == WDL_OK && (s->kind == STEP_UNLOCK || s->kind == STEP_UNLOCK_ALL))
            fair_end(w, o, s);
        r->asked = status == WDL_OK ? 0 : r->asked;
    }
    fair_look(w, o);
    if (r->win && (moved || w->n < 8))
        wdl_win_check(r->win);
    wdl_sim_check(w->sim);
    wdl_sim_advance(w->sim, wdl_prng_below(&w->prng, (uint64_t) (2000 / w->n + 2)));
    return WDL_OK;
}

int world_run(struct world *w)
{
    uint64_t limit = 200000;
    int done = 0;
    for (int o = 0; o < w->n; o++)
        limit += (uint64_t) w->ranks[o].nsteps * 400 + 20000;
    while (done < w->n || !wdl_sim_quiescent(w->sim)) {
        int o = (int) wdl_prng_below(&w->prng, (uint64_t) w->n);
        int before = w->ranks[o].at == w->ranks[o].nsteps;
        if (limit-- == 0) {
            for (o = 0; o < w->n - 1 && w->ranks[o].at == w->ranks[o].nsteps; o++) ;
            fail(w, o, "stuck, step kind %d, %d ranks done", w->ranks[o].at < w->ranks[o].nsteps ?
                 (int) w->ranks[o].steps[w->ranks[o].at].kind : -1, done);
            return 1;
        }
        if (event(w, o) != WDL_OK)
            return 1;
        done += !before && w->ranks[o].at == w->ranks[o].nsteps;
    }
    return 0;
}
