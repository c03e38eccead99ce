/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * An exchange of parcels whose sizes both ends know: what put, get, permute and the calls with
 * variable contributions are made of. A parcel of no bytes is no message.
 */
#ifndef WDL_MPID_COLL_GASNET_XFER_H_INCLUDED
#define WDL_MPID_COLL_GASNET_XFER_H_INCLUDED

#include "mpid/coll/gasnet_impl.h"

struct wdl_xfer {
    size_t *out, *out_at, *in, *in_at; /* bytes and places of the parcels, by node */
};

/* Room for the lists, all zero. WDL_OK or ERR_NOMEM. */
int wdl_xfer_init(struct wdl_gas_op *op, struct wdl_xfer *xfer);
/* Places one behind the other; the sum. */
size_t wdl_xfer_places(const size_t *bytes, size_t *at, int size);
/* The collective's arguments, with these flags; src, dst and local work are to be set. */
void wdl_xfer_args(const struct wdl_gas_op *op, const struct wdl_xfer *xfer, uint32_t flags,
                   struct wdl_coll_args *args_out);

#endif
