/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Memory others write directly: what ready flags say of it, keys, and SENDs that go there. Inside
 * the collectives.
 */
#ifndef WDL_MPID_COLL_DIRECT_H_INCLUDED
#define WDL_MPID_COLL_DIRECT_H_INCLUDED

#include "mpid/coll/coll_impl.h"

void wdl_direct_fini(struct wdl_coll *coll);

/* Memory of the engine's own that others write: a region in no list, NULL when memory is short. The
 * caller frees it, and keeps it until nobody writes there any more. */
struct wdl_region *wdl_region_make(struct wdl_coll *coll, void *base, size_t bytes);
void wdl_region_free(struct wdl_coll *coll, struct wdl_region *region);
/* Its number, not 0. */
uint32_t wdl_region_id(const struct wdl_region *region);
/* Its key, to a rank that has not got it yet. WDL_OK, WDL_AGAIN, or an error: it is of no use. */
int wdl_region_tell(struct wdl_coll *coll, struct wdl_region *region, int peer);

/* Is it worth while to ask for a key? Not where several were of no use, and none of any. */
int wdl_direct_may_put(const struct wdl_coll *coll);
/* A few bytes to a place in another's region. As the network's put; ERR_UNSUPPORTED: its key has
 * not come yet; ERR_OP: the network would need the target's processor. */
int wdl_direct_put(struct wdl_coll *coll, int peer, const struct wdl_offer *to, const void *data,
                   struct wdl_nm_comp *comp);

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
