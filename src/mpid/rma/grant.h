/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The target's side of its lock: a queue of requests, first come first served, shared or exclusive.
 *
 * One exception: a process that holds locks of other targets, or may come to (lock_all takes its
 * own one target after the other), would wait behind an exclusive request that may wait for these.
 * A joining request is therefore granted as soon as the lock is held shared, before what waits.
 *
 * Fair all the same: who has overtaken owes a debt, which is settled when all it has overtaken are
 * granted, and nobody with a debt takes a lock who holds none (passive.c). So a request is
 * overtaken by each other rank while that holds locks without a break, and not again
 * (test/model/lock_message.pml: lock_all). Fewer overtakings are not to be had: two who go on
 * holding, each its lock, and take the other's again and again, would wait for each other.
 *
 * Memory grows with the number of requests waiting and of debts at one time, of which each rank has
 * at most one each, and shrinks with it; a few need none (array.h). It never grows with the size of
 * the window's group as such. That those who wait are remembered here, and not refused for later,
 * is for fairness: who is refused has no place in the queue, and its network would hold back, with
 * the request, the release behind it that others wait for.
 *
 * Invariants: exclusive => holders == 1; announced <= granted <= length; requests before `granted`
 * hold the lock; a debt's `ahead` <= length - granted, 0 where it is settled.
 */
#ifndef WDL_MPID_RMA_GRANT_H_INCLUDED
#define WDL_MPID_RMA_GRANT_H_INCLUDED

#include "mpid/rma/array.h"

/* requests, and debts, that need no memory */
enum { WDL_GRANT_FEW = 16 };

struct wdl_grant_request {
    int rank;
    int exclusive;
    int join;                   /* shared, by a process that may hold other targets' locks */
    int overtook;               /* granted before others, to whom the rank has a debt */
    int again;                  /* it came with operations that could not be kept */
    void *stash;                /* it came with operations: they are here (bundle.c) */
};

struct wdl_grant_debt {
    int rank;
    int ahead;                  /* requests it has overtaken that still wait */
};

struct wdl_grant {
    /* struct wdl_grant_request; [0, granted): granted, to be announced; then the waiting ones */
    struct wdl_array queue;
    int length, granted;
    int holders, exclusive;
    int joins;                  /* waiting requests that may overtake */
    struct wdl_array debt;      /* struct wdl_grant_debt */
    int debts;
    struct wdl_grant_request few[WDL_GRANT_FEW];
    struct wdl_grant_debt few_debts[WDL_GRANT_FEW];
};

/* The host outlives it; the queue stays where it is. */
void wdl_grant_init(struct wdl_grant *grant, const struct wdl_host *host);
void wdl_grant_fini(struct wdl_grant *grant);
/* WDL_OK or ERR_NOMEM. */
int wdl_grant_request(struct wdl_grant *grant, int rank, int exclusive, int join);
int wdl_grant_queue(struct wdl_grant *grant, const struct wdl_grant_request *request);
/* May another request come? A rank has one at a time, and one debt at most. */
int wdl_grant_may_ask(const struct wdl_grant *grant, int ranks);
/* Take the lock at once, where nobody holds it otherwise nor waits: 1, or 0 and nothing changed. */
int wdl_grant_take(struct wdl_grant *grant, int exclusive);
/* One holder leaves: WDL_OK, or ERR_PROTO when there is none. */
int wdl_grant_release(struct wdl_grant *grant);
/* The next request to announce, or NULL; announced() takes it out. */
const struct wdl_grant_request *wdl_grant_next(const struct wdl_grant *grant);
void wdl_grant_announced(struct wdl_grant *grant);
/* A rank whose debt is settled, to be told so, or -1; told() forgets the debt. */
int wdl_grant_settled(const struct wdl_grant *grant);
void wdl_grant_told(struct wdl_grant *grant, int rank);
void wdl_grant_check(const struct wdl_grant *grant);

#endif
