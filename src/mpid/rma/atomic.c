/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Accumulates by the network's atomics (net.h): a few elements, each one atomic, counted and
 * completed like puts (direct.h). Whatever else is asked for is the target's work, and may be at
 * any time: the network's atomics respect the processor's.
 *
 * The network keeps no order. Accumulates of one origin on one place are to keep theirs, unless
 * the user waived it (accumulate_ordering): so those by message are through before the first
 * atomic, and what touches an element with an atomic under way waits for a flush, except where the
 * order cannot be seen: the same operator that commutes with itself, and nothing fetched.
 */
#include <string.h>
#include "mpid/rma/win_impl.h"

enum { ELEMENTS = 8 };          /* more go by message */

struct job {                    /* an operation as the network sees it */
    enum wdl_nm_atomic op;
    size_t size;                /* of an element */
    const char *value, *compare;
    char *fetched;              /* or NULL */
};

/* Operator by operator; WDL_NM_ATOMIC_COUNT: the network has none. */
static enum wdl_nm_atomic atomic_of(const struct wdl_rma_args *args)
{
    if (args->kind == WDL_RMA_CAS)
        return WDL_NM_CSWAP;
    switch (args->op) {
        case WDL_ROP_SUM:
            return WDL_NM_ADD;
        case WDL_ROP_BAND:
            return WDL_NM_AND;
        case WDL_ROP_BOR:
            return WDL_NM_OR;
        case WDL_ROP_BXOR:
            return WDL_NM_XOR;
        case WDL_ROP_REPLACE:
            return WDL_NM_SWAP;
        case WDL_ROP_NO_OP:     /* an addition of nothing */
            return args->kind == WDL_RMA_GET_ACC ? WDL_NM_ADD : WDL_NM_ATOMIC_COUNT;
        default:
            return WDL_NM_ATOMIC_COUNT;
    }
}

static int may_fetch(const struct wdl_win *win, enum wdl_nm_atomic op)
{
    struct wdl_nm *nm = win->proc->nm;
    return nm->ops->caps(nm)->fetches >> op & 1;
}

/* Is it one for the network? Fills *job. */
static int job_make(const struct wdl_win *win, const struct wdl_rma_args *args, struct job *job)
{
    int fetches = args->kind != WDL_RMA_ACC, cas = args->kind == WDL_RMA_CAS;
    int gives = args->op != WDL_ROP_NO_OP || cas;
    job->op = atomic_of(args);
    job->size = args->element.packed_bytes;
    if (!wdl_net_has(win->net_sizes, &args->element) || job->op == WDL_NM_ATOMIC_COUNT ||
        (fetches && !may_fetch(win, job->op)) ||
        wdl_args_bytes(args) > ELEMENTS * job->size || !args->remote.contig ||
        (gives && !args->origin.contig) || (fetches && !args->result.contig) ||
        (fetches && args->request))
        return 0;
    job->value = gives ? (const char *) args->origin.addr + args->origin.lo : NULL;
    job->compare = cas ? args->compare : NULL;
    job->fetched = fetches ? (char *) args->result.addr + args->result.lo : NULL;
    return 1;
}

static uint64_t element(const char *from, size_t size)
{
    uint32_t small;
    uint64_t value = 0;
    if (!from)
        return 0;
    if (size == sizeof(value)) {
        memcpy(&value, from, sizeof(value));
        return value;
    }
    memcpy(&small, from, sizeof(small));
    return small;
}

/* --- order ------------------------------------------------------------------------------------ */

/* All atomics under way are this one, and in whichever order they come nobody sees it. */
static int commutes(const struct wdl_direct *d, const struct job *job)
{
    return job && !job->fetched && d->atomic == (int) job->op;
}

/* Is there anything under way that is older than the operation? */
static int follows_older(const struct wdl_direct *d, uint64_t stamp)
{
    return d->hi > d->lo && ((d->begun && wdl_is_older(d->begun_stamp, stamp)) ||
                             (d->flushing && wdl_is_older(d->flushing_stamp, stamp)));
}

/* May an accumulate of [lo, hi) of the target's memory follow those under way? job: by the network.
 * WDL_OK, or WDL_AGAIN: a flush has been asked for. */
static int may_follow(struct wdl_target *t, const struct job *job, struct wdl_rma_args *args,
                      int64_t lo, int64_t hi)
{
    struct wdl_direct *d = &t->direct;
    if (t->win->params.hints.acc_unordered || d->hi <= d->lo || hi <= d->lo || lo >= d->hi ||
        commutes(d, job))
        return WDL_OK;
    uint64_t stamp = wdl_win_stamp_of(t->win, &args->step);
    d->want |= d->begun && wdl_is_older(d->begun_stamp, stamp);
    wdl_target_progress(t);
    wdl_win_activate(t->win);
    return follows_older(d, stamp) ? WDL_AGAIN : WDL_OK;
}

static void note(struct wdl_target *t, const struct job *job, int64_t lo, int64_t hi)
{
    struct wdl_direct *d = &t->direct;
    int none = d->hi <= d->lo;
    if (job->fetched || job->op >= WDL_NM_SWAP || (!none && d->atomic != (int) job->op))
        d->atomic = -1;
    else
        d->atomic = (int) job->op;
    d->lo = none || lo < d->lo ? lo : d->lo;
    d->hi = none || hi > d->hi ? hi : d->hi;
    wdl_direct_began(t);
}

/* --- the operation ---------------------------------------------------------------------------- */

/* args->done: bytes of elements that have begun. */
static int begin(struct wdl_target *t, const struct wdl_key *key, struct wdl_rma_args *args,
                 const struct job *job, int64_t at)
{
    struct wdl_nm *nm = t->win->proc->nm;
    int peer = t->win->params.peer_of(t->win->params.ctx, t->rank);
    while (args->done < wdl_args_bytes(args)) {
        size_t i = args->done;
        uint64_t remote = key->base + (uint64_t) at + i;
        int status = nm->ops->atomic(nm, peer, job->op, job->size,
                                     element(job->value ? job->value + i : NULL, job->size),
                                     element(job->compare, job->size),
                                     job->fetched ? job->fetched + i : NULL, remote, key->rkey,
                                     NULL);
        if (status == WDL_AGAIN || wdl_status_is_error(status))
            return status;
        note(t, job, at + (int64_t) i, at + (int64_t) (i + job->size));
        args->done += job->size;
    }
    return WDL_OK;
}

/* The key, where the operation may go by the network now: WDL_OK; WDL_AGAIN; ERR_UNSUPPORTED: by
 * message. */
static int way(struct wdl_target *t, struct wdl_rma_args *args, const struct job *job,
               int64_t at, const struct wdl_key **key_out)
{
    const struct wdl_key *key = *key_out = wdl_key_get(t, WDL_KEYS_DATA);
    if (args->done > 0)         /* the rest goes as the beginning went */
        return key ? WDL_OK : wdl_key_is_useless(t, WDL_KEYS_DATA) ? WDL_ERR_OTHER : WDL_AGAIN;
    if (!key || !((size_t) key->sizes & job->size) || (key->base + (uint64_t) at) % job->size != 0)
        return WDL_ERR_UNSUPPORTED;
    int status = wdl_direct_lock_ready(t, args);
    if (status == WDL_OK && !t->win->params.hints.acc_unordered &&
        (!wdl_list_empty(&t->waiting) || !wdl_list_empty(&t->issued) || t->dirty ||
         t->flush_sent != t->flush_acked))
        status = wdl_target_drain_before(t, wdl_win_stamp_of(t->win, &args->step), 0);
    return status;
}

int wdl_atomic_op(struct wdl_win *win, struct wdl_rma_args *args, struct wdl_target *t,
                  const struct wdl_win_rank *info)
{
    const struct wdl_host *host = &win->proc->host;
    const struct wdl_key *key = NULL;
    struct job job;
    int64_t from = args->disp * info->disp_unit, at = from + args->remote.lo;
    if (!win->net_sizes)
        return WDL_ERR_UNSUPPORTED;
    if (!t)
        t = wdl_target_get(win, args->target);
    if (!t)
        return WDL_AGAIN;
    int mine = job_make(win, args, &job);
    int status = mine ? way(t, args, &job, at, &key) : WDL_ERR_UNSUPPORTED;
    if (status != WDL_OK && status != WDL_ERR_UNSUPPORTED)
        return status;
    mine = status == WDL_OK;
    int64_t end = args->kind == WDL_RMA_CAS ? at + args->element.packed_bytes :
        from + args->remote.hi;
    if (args->done == 0 && may_follow(t, mine ? &job : NULL, args, at, end) != WDL_OK)
        return WDL_AGAIN;
    if (!mine)
        return WDL_ERR_UNSUPPORTED;
    t->evict = 0;
    status = begin(t, key, args, &job, at);
    if (status != WDL_OK)
        return status;
    win->stats.ops_direct++;
    if (args->request)
        host->ops->request_complete(host->ctx, args->request, WDL_OK);
    return WDL_OK;
}
