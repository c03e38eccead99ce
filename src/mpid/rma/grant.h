/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The target's side of its lock: a queue of requests, first come first served, shared or exclusive.
 * Fair: a request is overtaken by nobody who came later, so the number of grants before one's own
 * is bounded by the requests before it.
 *
 * One exception: lock_all takes its locks one target after the other, so two of them could each
 * hold a shared lock and wait elsewhere behind an exclusive request that waits for the other. A
 * joining request is therefore granted as soon as the lock is held shared, before exclusive
 * requests that wait.
 *
 * The queue's memory grows with the number of requests waiting at one time, which is at most one
 * per rank; never with the size of the window's group as such.
 *
 * Invariants: exclusive => holders == 1; announced <= granted <= length; requests before `granted`
 * hold the lock.
 */
#ifndef WDL_MPID_RMA_GRANT_H_INCLUDED
#define WDL_MPID_RMA_GRANT_H_INCLUDED

#include "host/host.h"

struct wdl_grant_request {
    int rank;
    int exclusive;
    int join;                   /* shared, by a process that may hold other targets' locks */
};

struct wdl_grant {
    /* [0, granted): granted, to be announced; then the waiting ones */
    struct wdl_grant_request *queue;
    int length, room, granted;
    int holders, exclusive;
};

void wdl_grant_init(struct wdl_grant *grant);
void wdl_grant_fini(struct wdl_grant *grant, const struct wdl_host *host);
/* WDL_OK or ERR_NOMEM. */
int wdl_grant_request(struct wdl_grant *grant, const struct wdl_host *host, int rank, int exclusive,
                      int join);
/* One holder leaves: WDL_OK, or ERR_PROTO when there is none. */
int wdl_grant_release(struct wdl_grant *grant);
/* The next request to announce, or NULL; announced() takes it out. */
const struct wdl_grant_request *wdl_grant_next(const struct wdl_grant *grant);
void wdl_grant_announced(struct wdl_grant *grant);
void wdl_grant_check(const struct wdl_grant *grant);

#endif
