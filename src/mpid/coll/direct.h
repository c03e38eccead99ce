/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Memory others write directly: what ready flags say of it, keys, and SENDs that go there. Inside
 * the collectives.
 */
#ifndef WDL_MPID_COLL_DIRECT_H_INCLUDED
#define WDL_MPID_COLL_DIRECT_H_INCLUDED

#include "mpid/coll/coll_impl.h"

void wdl_direct_fini(struct wdl_coll *coll);
/* What to say to `peer` of memory that it is to fill. WDL_OK or WDL_AGAIN. */
int wdl_direct_offer(struct wdl_coll *coll, int peer, const char *at, size_t bytes,
                     struct wdl_offer *offer_out);
/* A key has come: WDL_OK, WDL_AGAIN, ERR_PROTO; or is no more. */
int wdl_direct_key(struct wdl_coll *coll, int src, const struct wdl_coll_pkt *pkt, const void *data,
                   size_t bytes);
void wdl_direct_forget(struct wdl_coll *coll, int src, const struct wdl_coll_pkt *pkt);
/* A SEND whose bytes up to `limit` are there goes on, and c->done with it: WDL_OK, WDL_AGAIN, an
 * error; ERR_UNSUPPORTED: by messages. */
int wdl_direct_step(struct wdl_car_run *c, const struct wdl_car *car, const struct wdl_offer *offer,
                    size_t limit);
/* Nothing of it is on its way any more: WDL_OK, or WDL_AGAIN. */
int wdl_direct_settle(struct wdl_car_run *c);

#endif
