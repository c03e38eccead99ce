/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * How fast long data comes within a node: fetched from its owner's memory by the system, or copied
 * by its owner to its staging and from there. Which is faster differs between machines, and on one
 * by where its processors are (measured, 64 KiB of two ranks: staged 3.1 us, and 4.8 to 25 where
 * they share no cache, fetched 7 and 7.5). Who reads takes the time; who owns the data decides, by
 * what the rank behind it says of its own times. (In RMA's trials, rma/trial.h, who decides takes
 * the time itself.)
 *
 * Invariants:
 *  1. A rank publishes what it has found beside its count of finished collectives, one word that
 *     nobody else writes. It is a hint: ranks that believe different things stage, or do not, each
 *     by itself, and a sheet tells which.
 *  2. Where nothing is known, or the host's clock does not tell, it is as its caller says.
 *  3. The other way is tried now and then: FOUR times on end, after SOON (or SOON_LONG), every
 *     SOON until something is known, then at distances that grow by four up to SELDOM (or
 *     SELDOM_LONG) while the same way is the faster one. From RARE on it is ROW times on end: what
 *     is fetched over and over, and has not been written since, comes from the reader's own cache,
 *     which the first ones of a row do not show (a broadcast of 64 KiB, 16 buffers in turn, far,
 *     Xeon of model 207: 7.6 us staged, 4.8 while it is fetched).
 *  4. Where a staging's ring was never in use, it tells nothing: its pages are made then. Nor do
 *     the first two that are read one way behind others.
 */
#ifndef WDL_MPID_COLL_RATE_H_INCLUDED
#define WDL_MPID_COLL_RATE_H_INCLUDED

#include "mpid/coll/coll_impl.h"

enum {
    WDL_RATE_LEAST = 16 << 10, /* less in one piece is not timed */
    WDL_RATE_FOUR = 4,
    WDL_RATE_ROW = 32, /* of trials that are RARE apart */
    WDL_RATE_RARE = 1024,
    WDL_RATE_SOON = 16,
    WDL_RATE_SOON_LONG = 4, /* of those that are long there are few */
    WDL_RATE_SELDOM = 4096,
    WDL_RATE_SELDOM_LONG = 256
};

enum wdl_rate_way { WDL_RATE_FETCHED, WDL_RATE_READ, WDL_RATE_FILLED };

/* For whom data is: each rank wants all of it, and reads while it is being filled; or a part of its
 * own, which is copied twice. What one of two gives and the other folds: all of that, whichever
 * way, is one time. And what is too long for the short ring (staging.h), which is in no cache; that
 * of an allreduce of two (parts.c), which is one time, too. Each use has its own times. */
enum wdl_rate_use {
    WDL_RATE_FOR_ALL,
    WDL_RATE_FOR_ONE,
    WDL_RATE_FOLDED,
    WDL_RATE_LONG_FOR_ALL,
    WDL_RATE_LONG_FOR_ONE,
    WDL_RATE_LONG_FOLDED,
    WDL_RATE_USES
};
/* What a collective on the node gives, or takes. */
enum wdl_rate_use wdl_rate_use(const struct wdl_run *run);

/* The host's clock; and so many bytes in one piece took so long. */
uint64_t wdl_rate_now(const struct wdl_team *team);
void wdl_rate_took(struct wdl_team *team, enum wdl_rate_use use, enum wdl_rate_way way,
                   size_t bytes, uint64_t ns);
/* Is data to be staged for the other ranks, this time? `otherwise`: if nobody knows. */
int wdl_rate_stages(struct wdl_team *team, enum wdl_rate_use use, int otherwise);
/* The same where nothing is tried, since nobody takes the time. */
int wdl_rate_prefers(const struct wdl_team *team, enum wdl_rate_use use, int otherwise);

#endif
