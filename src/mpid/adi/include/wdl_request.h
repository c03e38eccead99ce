/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The device's part of a request and of a datatype.
 */
#ifndef WDL_REQUEST_H_INCLUDED
#define WDL_REQUEST_H_INCLUDED

#include "netmod/netmod.h"

struct wdl_adi_request {
    struct wdl_nm_comp comp;    /* the network's completion of this request */
};

struct wdl_adi_datatype {
    struct wdl_nm_type *nm_type;        /* the layout as the network knows it; NULL until first used */
};

#endif
