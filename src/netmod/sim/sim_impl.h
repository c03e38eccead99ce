/* Part of Windlass. See COPYRIGHT in the top-level directory. What the simulated network's files
 * share. */
#ifndef WDL_NETMOD_SIM_SIM_IMPL_H_INCLUDED
#define WDL_NETMOD_SIM_SIM_IMPL_H_INCLUDED

#include "base/list.h"
#include "base/prng.h"
#include "netmod/sim/sim.h"

#define SIM_IOV_MAX 8

struct sim_op;

struct sim_msg {                /* in the inbox of its receiver */
    struct wdl_list link;
    int src;
    uint64_t due;
    struct sim_op *op;          /* the sender's, while the payload is still borrowed */
    size_t filled;              /* bytes of data that are there already */
    size_t bytes;
    char data[];
};

enum sim_kind { SIM_AM, SIM_PUT, SIM_GET, SIM_ATOMIC, SIM_FLUSH };

struct sim_op {                 /* in the list of its initiator, in order of the calls */
    struct wdl_list link;
    enum sim_kind kind;
    int peer;
    uint64_t due, apply_due;    /* of the completion; of a put's arrival */
    struct wdl_nm_comp *comp;   /* NULL once called */
    struct sim_msg *msg;        /* AM: not delivered yet */
    struct wdl_nm_iov iov[SIM_IOV_MAX];
    int niov;
    enum wdl_nm_atomic atomic;
    void *local;                /* GET, ATOMIC: where the result goes */
    const void *src;            /* PUT: source, until copied */
    char *remote;
    size_t bytes;
    uint64_t value, compare;
    char *staged;               /* PUT: the bytes on their way */
};

struct sim_nm {
    struct wdl_nm nm;
    struct wdl_sim *sim;
    struct wdl_nm_params params;
    struct wdl_nm_caps caps;
    struct wdl_list inbox, ops;
    uint64_t *blocked;          /* by source: the poll in which its messages wait behind one */
    uint64_t polls;
    unsigned char *connected;
    int polling;
    uint32_t address;
};

struct wdl_sim {
    struct wdl_sim_params params;
    struct wdl_prng prng;
    uint64_t now;
    struct sim_nm **nms;
    int open;
    uint64_t msgs_in_flight, bytes_in_flight, ops_in_flight;
    struct wdl_sim_counts counts;
};

/* sim.c */
/* Checks peer, connects it, and draws a refusal: WDL_OK to go on. */
int sim_begin(struct sim_nm *nm, int peer);
uint64_t sim_due(struct wdl_sim *sim);
struct sim_op *sim_op_new(struct sim_nm *nm, enum sim_kind kind, int peer,
                          struct wdl_nm_comp *comp);
void sim_op_end(struct sim_nm *nm, struct sim_op *op);

/* sim_rma.c */
int sim_mem_attach(struct wdl_nm *nm, void *base, size_t bytes, struct wdl_nm_mem **mem_out);
void sim_mem_detach(struct wdl_nm *nm, struct wdl_nm_mem *mem);
int sim_mem_key(struct wdl_nm *nm, struct wdl_nm_mem *mem, void *key, size_t *bytes);
int sim_rkey_open(struct wdl_nm *nm, int peer, const void *key, size_t bytes,
                  struct wdl_nm_rkey **rkey_out);
void sim_rkey_close(struct wdl_nm *nm, struct wdl_nm_rkey *rkey);
int sim_map(struct wdl_nm *nm, struct wdl_nm_rkey *rkey, uint64_t remote, void **ptr_out);
int sim_put(struct wdl_nm *nm, int peer, const void *src, size_t bytes, uint64_t remote,
            struct wdl_nm_rkey *rkey, struct wdl_nm_comp *comp);
int sim_get(struct wdl_nm *nm, int peer, void *dst, size_t bytes, uint64_t remote,
            struct wdl_nm_rkey *rkey, struct wdl_nm_comp *comp);
int sim_atomic(struct wdl_nm *nm, int peer, enum wdl_nm_atomic op, size_t size, uint64_t value,
               uint64_t compare, void *fetched, uint64_t remote, struct wdl_nm_rkey *rkey,
               struct wdl_nm_comp *comp);
int sim_flush(struct wdl_nm *nm, int peer, struct wdl_nm_comp *comp);
/* Step one operation that is not an AM; returns 1 if its completion was called. */
int sim_rma_step(struct sim_nm *nm, struct sim_op *op);

#endif
