/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Memory others write directly: what ready flags say of it, keys, and SENDs that go there. Inside
 * the collectives.
 */
#ifndef WDL_MPID_COLL_DIRECT_H_INCLUDED
#define WDL_MPID_COLL_DIRECT_H_INCLUDED

#include "mpid/coll/coll_impl.h"

struct wdl_region { /* of this process */
    struct wdl_list link;
    uint32_t id;
    char *base;
    size_t bytes;
    struct wdl_nm_mem *mem; /* NULL: nobody has been told of it */
    int useless; /* the network does not take it */
    unsigned char *told, *lent; /* peers (base/bits.h) that have the key, may use it (lend.h) */
    int leaving; /* it is being detached: it is lent to nobody any more */
};

struct wdl_key { /* of another's region */
    struct wdl_list link;
    uint32_t id;
    int peer;
    uint64_t base, bytes;
    struct wdl_nm_rkey *rkey; /* NULL: it cannot be used */
    int asked, native; /* once it is known: without the target's processor */
    char *mapped; /* or NULL */
    int lent; /* it may be used at any time */
};

struct wdl_stretch { /* of a peer's memory */
    uint64_t address, bytes;
};

struct wdl_key_text { /* behind a KEY's packet, then the key */
    uint64_t bytes;
};

void wdl_direct_fini(struct wdl_coll *coll);

/* Memory of the engine's own that others write: a region in no list, NULL when memory is short. The
 * caller frees it, and keeps it until nobody writes there any more. */
struct wdl_region *wdl_region_make(struct wdl_coll *coll, void *base, size_t bytes);
void wdl_region_free(struct wdl_coll *coll, struct wdl_region *region);
/* Its number, not 0. */
uint32_t wdl_region_id(const struct wdl_region *region);
/* Its key, to a rank that has not got it yet. WDL_OK, WDL_AGAIN, or an error: it is of no use. */
int wdl_region_tell(struct wdl_coll *coll, struct wdl_region *region, int peer);
/* A set of peers is there: made if it is not; 0: memory is short. */
int wdl_region_peers(const struct wdl_coll *coll, unsigned char **set);
/* Its key by this packet, KEY or LENT, whether it has got it or not. */
int wdl_region_say(struct wdl_coll *coll, struct wdl_region *region, int peer, enum wdl_pkt what);
/* The region attached last that has so many bytes from there; NULL: none. */
struct wdl_region *wdl_region_of(struct wdl_coll *coll, const char *at, size_t bytes);
/* A peer's key by its number; one that is lent, for what is wanted. NULL: there is none. */
struct wdl_key *wdl_key_find(struct wdl_coll *coll, int peer, uint32_t id);
const struct wdl_key *wdl_key_lent(struct wdl_coll *coll, int peer,
                                   const struct wdl_stretch *wanted);
void wdl_key_free(struct wdl_coll *coll, struct wdl_key *key);

/* Is it worth while to ask for a key? Not where several were of no use, and none of any. */
int wdl_direct_may_put(const struct wdl_coll *coll);
/* A few bytes to a place in another's region. As the network's put; ERR_UNSUPPORTED: its key has
 * not come yet; ERR_OP: the network would need the target's processor; ERR_ARG: it has no such
 * place. */
int wdl_direct_put(struct wdl_coll *coll, int peer, const struct wdl_offer *to, const void *data,
                   struct wdl_nm_comp *comp);

/* What to say to `peer` of memory that it is to fill. WDL_OK or WDL_AGAIN. */
int wdl_direct_offer(struct wdl_coll *coll, int peer, const char *at, size_t bytes,
                     struct wdl_offer *offer_out);
/* A key has come, or is no more: WDL_OK, WDL_AGAIN, ERR_PROTO. */
int wdl_direct_key(struct wdl_coll *coll, int src, const struct wdl_coll_pkt *pkt, const void *data,
                   size_t bytes);
int wdl_direct_forget(struct wdl_coll *coll, int src, const struct wdl_coll_pkt *pkt);
/* A SEND whose bytes up to `limit` are there goes on, and c->done with it: WDL_OK, WDL_AGAIN, an
 * error; ERR_UNSUPPORTED: by messages; ERR_PROTO: the region is not as long as was said. */
int wdl_direct_step(struct wdl_car_run *c, const struct wdl_car *car, const struct wdl_offer *offer,
                    size_t limit);
/* Nothing of it is on its way any more: WDL_OK, or WDL_AGAIN. */
int wdl_direct_settle(struct wdl_car_run *c);

#endif
