/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Ready flags that come early for roles without a cell: among many ranks there may be one from
 * every other, in each of a team's W slots. Inside the collectives.
 *
 * None is ever refused. The netmod would keep it, but on a network that keeps the order of messages
 * everything its sender sends behind it would wait, too, and may be what this rank needs to get as
 * far as to take the flag: an earlier collective's data, or what its program waits for outside of
 * collectives. So the room is there from the beginning, and it never runs out:
 *  1. A bit for each role and slot, made with the team. That is all there is to a flag but what its
 *     sender means by the collective, which must be the same for all flags of a slot.
 *  2. Where a flag says a place for data (direct.c), that is kept in a pool that all teams share.
 *     When it is dry the flag becomes a bit, and the data goes by messages as to memory that is not
 *     attached: later, but nobody waits for it.
 *
 * Teams that are too small for such roles have no bits, and take no such flag.
 */
#ifndef WDL_MPID_COLL_EARLY_H_INCLUDED
#define WDL_MPID_COLL_EARLY_H_INCLUDED

#include "mpid/coll/coll_impl.h"

/* What has come: a bit, or the flag as it was. */
struct wdl_early_flag {
    struct wdl_coll_pkt pkt;
    int src; /* -1: that was not kept, nor `pkt` */
    uint64_t offered;
};

/* The team's bits, and the pool, unless they are there. WDL_OK or ERR_NOMEM. */
int wdl_early_make(struct wdl_team *team);
void wdl_early_free(struct wdl_team *team);
void wdl_early_pool_free(struct wdl_coll *coll);
/* A flag for a role without a cell; offered: the bytes an OFFER tells of. WDL_OK or ERR_PROTO. */
int wdl_early_keep(struct wdl_team *team, const struct wdl_coll_pkt *pkt, int src,
                   uint64_t offered);
/* The flag of that role, if it has come: 1, and it is not here any more. */
int wdl_early_take(struct wdl_team *team, uint32_t seq, uint32_t role,
                   struct wdl_early_flag *flag_out);
/* Do all flags that have come for `seq` mean `print`, or say nothing of it? */
int wdl_early_means(const struct wdl_team *team, uint32_t seq, uint32_t print);
/* Nothing has come for it. */
void wdl_early_forget(struct wdl_team *team, uint32_t seq);

#endif
