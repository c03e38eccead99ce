/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * One MPI process: its host, its netmod, its active-message dispatch, its bounce buffers and its
 * progress. Everything the core knows hangs off `struct wdl_proc`, so that thousands of them live
 * in one test process.
 *
 * Invariants:
 *  1. Message handlers run only inside wdl_proc_progress and wdl_proc_look.
 *  2. Every bounce buffer is in the free list or in flight; wdl_proc_destroy proves that all came
 *     home.
 *  3. A handler that returns WDL_AGAIN has changed nothing.
 *
 * One thread at a time; the caller serializes.
 */
#ifndef WDL_MPID_PROC_PROC_H_INCLUDED
#define WDL_MPID_PROC_PROC_H_INCLUDED

#include "base/list.h"
#include "host/host.h"
#include "netmod/netmod.h"

/* one per module that talks */
enum wdl_am_id { WDL_AM_RMA = 1, WDL_AM_COLL, WDL_AM_TEST, WDL_AM_COUNT };

/* In front of every active message. */
struct wdl_am_hdr {
    uint16_t magic;             /* WDL_AM_MAGIC */
    uint16_t id;                /* enum wdl_am_id */
    uint32_t src;               /* sender's peer number; checked by the receiver */
};
#define WDL_AM_MAGIC 0x57d1

/* A message for module `id`; data (8-byte alignment not promised) is valid during the call only.
 * WDL_OK, WDL_AGAIN (nothing changed, deliver again), or an error (counted in malformed). */
typedef int (*wdl_am_fn) (void *module, int src, const void *data, size_t bytes);
/* Steps a module's own work; returns the number of things done. */
typedef int (*wdl_step_fn) (void *module);

struct wdl_proc_stats {
    uint64_t am_sent, am_bytes_sent, am_received, am_deferred, malformed;
};

struct wdl_proc_params {
    struct wdl_host host;
    const struct wdl_nm_ops *netmod;
    void *fabric;               /* sim only */
    int rank, peers, local_peers;
    int bounce_count;  /* bounce buffers, each of the netmod's largest message; 0: default 64 */
};

struct wdl_bounce {             /* staging memory of one message in flight */
    struct wdl_nm_comp comp;
    struct wdl_list link;
    struct wdl_proc *proc;
    char *data;                 /* am_payload_max bytes */
    int peer;                   /* for the module that queues it: where it goes */
    size_t bytes;               /* and how much of it */
};

struct wdl_proc {
    struct wdl_host host;
    struct wdl_nm *nm;
    int rank, peers;
    size_t am_payload_max;      /* largest module message: header and payload, without wdl_am_hdr */
    int ordered;                /* get_ordering */
    struct wdl_am_entry {
        wdl_am_fn fn;
        void *module;
    } am[WDL_AM_COUNT];
    struct wdl_step_entry {
        wdl_step_fn fn;         /* NULL: the module is not there */
        void *module;
    } step[WDL_AM_COUNT];       /* by enum wdl_am_id; stepped in that order */
    struct wdl_list bounce_free;
    struct wdl_bounce *bounce_all;
    int bounce_count, bounce_out;
    struct wdl_proc_stats stats;
    int lost_peers;             /* how many peers have been lost */
    unsigned char *lost;        /* bit per peer, NULL until the first loss */
    void *rma;                  /* struct wdl_rma *, set by wdl_rma_init */
    void *coll;                 /* struct wdl_coll *, set by wdl_coll_init */
};

/* Open the process on its netmod. On error *proc_out is NULL and err (err_bytes long) says what to
 * do. */
int wdl_proc_create(const struct wdl_proc_params *params, struct wdl_proc **proc_out, char *err,
                    size_t err_bytes);
/* Close. All processes do this together, after a barrier; nothing may be in flight. */
void wdl_proc_destroy(struct wdl_proc *proc);

/* Poll the network and step the modules once; returns the number of events (0: nothing to do). */
int wdl_proc_progress(struct wdl_proc *proc);
/* The same, but the modules are stepped only where the network brought something: for a loop that
 * waits, and in between does the other. */
int wdl_proc_look(struct wdl_proc *proc);

void wdl_am_register(struct wdl_proc *proc, enum wdl_am_id id, wdl_am_fn fn, void *module);
/* What wdl_proc_progress steps for module `id`; fn NULL takes it out. */
void wdl_step_register(struct wdl_proc *proc, enum wdl_am_id id, wdl_step_fn fn, void *module);

/* Send hdr + payload (payload may be NULL) to peer's module `id`. Results as in netmod.h rule 3. */
int wdl_am_send(struct wdl_proc *proc, int peer, enum wdl_am_id id, const void *hdr,
                size_t hdr_bytes, const void *payload, size_t payload_bytes,
                struct wdl_nm_comp *comp);

/* Staging memory for one payload of at most am_payload_max bytes, or NULL under pressure. */
struct wdl_bounce *wdl_bounce_get(struct wdl_proc *proc);
void wdl_bounce_put(struct wdl_bounce *bounce);
/* Send from a bounce buffer, which goes home by itself once the network is done with it. On
 * WDL_AGAIN and on errors the caller still owns it; WDL_OK otherwise. */
int wdl_bounce_send(struct wdl_bounce *bounce, int peer, enum wdl_am_id id, const void *hdr,
                    size_t hdr_bytes, size_t payload_bytes);

#endif
