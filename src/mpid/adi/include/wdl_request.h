/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The device's part of a request and of a datatype.
 */
#ifndef WDL_REQUEST_H_INCLUDED
#define WDL_REQUEST_H_INCLUDED

#include "netmod/netmod.h"

struct MPIR_Datatype;

/* The arguments of a persistent send or receive, used at every start. */
struct wdl_adi_persist {
    void *buf;
    MPI_Aint count;
    MPI_Datatype datatype;      /* held while the request lives */
    int rank, tag, context_offset;
    int mode;                   /* enum in persist.c */
};

struct wdl_adi_request {
    struct wdl_nm_comp comp;    /* the network's completion of this request */
    MPI_Datatype held;          /* datatype in use by the network, or MPI_DATATYPE_NULL */
    union {
        struct wdl_nm_msg *msg; /* a matched message waiting for its receive */
        void *coll;             /* a persistent collective's arguments (coll_persist.c) */
    };
    struct wdl_nm_info info;    /* and what is known of it */
    struct wdl_adi_persist persist;
};

struct wdl_adi_datatype {
    struct wdl_nm_type *nm_type;  /* the layout as the network knows it; NULL until first used */
    struct MPIR_Datatype *next_left;    /* of those left (attributes.h) */
};

#endif
