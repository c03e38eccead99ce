/* Part of Windlass. See COPYRIGHT in the top-level directory. What the simulated network's files
 * share. */
#ifndef WDL_NETMOD_SIM_SIM_IMPL_H_INCLUDED
#define WDL_NETMOD_SIM_SIM_IMPL_H_INCLUDED

#include "base/list.h"
#include "base/prng.h"
#include "netmod/sim/sim.h"

struct sim_op;

struct sim_msg {                /* in the inbox of its receiver */
    struct wdl_list link;
    int src;
    uint64_t due;
    struct sim_op *op;          /* the sender's, while the payload is still borrowed */
    struct sim_op *put;         /* LogGP: it is that put, and no message */
    int begun;                  /* LogGP: the receiver's processor has it until `due` */
    int deferred;               /* answered AGAIN when it was last delivered, or behind that */
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
    struct wdl_nm_iov iov[WDL_NM_IOV_MAX];
    int niov;
    enum wdl_nm_atomic atomic;
    void *local;                /* GET, ATOMIC: where the result goes */
    const void *src;            /* PUT: source, until copied */
    char *remote;
    size_t bytes;
    uint64_t value, compare;
    char *staged;               /* PUT: the bytes on their way */
    size_t words_come, first_word;      /* PUT: where it is torn */
    struct sim_msg *carrier;    /* PUT, LogGP: in the target's inbox */
    uint64_t target_polls;      /* waits for the target: its polls when this was due, + 1 */
    struct wdl_nm_rkey *rkey;   /* counted there */
    uint64_t old, new;          /* ATOMIC of a NIC: what it read and is to write */
    enum { SIM_NIC_BEFORE, SIM_NIC_BETWEEN, SIM_NIC_AFTER } nic;
};

struct wdl_nm_mem {             /* a region */
    struct wdl_list link;
    struct sim_nm *nm;
    char *base;
    size_t bytes;
    uint64_t id;
    void *owned;                /* of mem_alloc; or NULL */
};

struct sim_key {                /* a key on the wire, and bytes behind it as the parameters say */
    uint64_t id, base, bytes, rank;
    uint64_t sum;               /* of all other bytes; last */
};

struct wdl_nm_rkey {
    struct wdl_list link;
    struct sim_key key;
    int in_flight;              /* operations on it */
};

struct sim_nm {
    struct wdl_nm nm;
    struct wdl_sim *sim;
    struct wdl_nm_params params;
    struct wdl_nm_caps caps;
    struct wdl_list inbox, ops, mems, rkeys;
    uint64_t *blocked;          /* by source: the poll in which its messages wait behind one */
    uint64_t polls;
    unsigned char *connected;
    int polling;
    int ops_count, mems_count;
    struct sim_op *nic;         /* the atomic between its two halves here, of whatever rank */
    uint32_t address;
    uint64_t processor_free, send_free, receive_free;   /* LogGP */
    int wants_to_send;          /* LogGP: has been refused since its last poll */
};

struct wdl_sim {
    struct wdl_sim_params params;
    struct wdl_prng prng;
    uint64_t now;
    struct sim_nm **nms;
    int open;
    uint64_t mem_id;            /* of the region attached last, of all ranks */
    uint64_t msgs_in_flight, bytes_in_flight, ops_in_flight;
    struct wdl_sim_counts counts;
};

/* sim.c */
/* Checks peer and connects it: WDL_OK to go on. */
int sim_connect(struct sim_nm *nm, int peer);
/* The same, and draws a refusal. */
int sim_begin(struct sim_nm *nm, int peer);
/* Draws a refusal: WDL_OK or WDL_AGAIN. */
int sim_refuse(struct sim_nm *nm);
uint64_t sim_due(struct wdl_sim *sim);
struct sim_op *sim_op_new(struct sim_nm *nm, enum sim_kind kind, int peer,
                          struct wdl_nm_comp *comp);
void sim_op_end(struct sim_nm *nm, struct sim_op *op);

/* What the network does for such atomics, where it makes no secret of it. */
void sim_caps_fill(struct wdl_nm_caps *caps, const struct wdl_sim_params *params,
                   enum wdl_sim_atomics atomics);

/* sim_loggp.c */
/* May the rank begin to send now? Then *due_out is when the message reaches its receiver. */
int sim_loggp_send(struct sim_nm *nm, size_t bytes, uint64_t *due_out);
/* Is the receiver through with it? If not, it begins when it can. */
int sim_loggp_receive(struct sim_nm *nm, struct sim_msg *msg);

/* sim_mem.c */
int sim_mem_attach(struct wdl_nm *nm, void *base, size_t bytes, struct wdl_nm_mem **mem_out);
int sim_mem_alloc(struct wdl_nm *nm, size_t bytes, void **base_out, struct wdl_nm_mem **mem_out);
void sim_mem_detach(struct wdl_nm *nm, struct wdl_nm_mem *mem);
int sim_mem_key(struct wdl_nm *nm, struct wdl_nm_mem *mem, void *key, size_t *bytes);
int sim_rkey_open(struct wdl_nm *nm, int peer, const void *key, size_t bytes,
                  struct wdl_nm_rkey **rkey_out);
void sim_rkey_close(struct wdl_nm *nm, struct wdl_nm_rkey *rkey);
void sim_rkey_caps(struct wdl_nm *nm, struct wdl_nm_rkey *rkey, struct wdl_nm_caps *caps_out);
int sim_map(struct wdl_nm *nm, struct wdl_nm_rkey *rkey, uint64_t remote, void **ptr_out);
size_t sim_key_bytes(void);     /* the least a key can have */
/* Is this the peer's key, and the stretch within its memory? */
int sim_in_key(const struct wdl_nm_rkey *rkey, int peer, uint64_t remote, size_t bytes);
int sim_is_attached(const struct sim_nm *owner, uint64_t id);
void sim_mem_close(struct sim_nm *nm);  /* release the memory and keys that are still there */

/* sim.c: a put on its way, there at `due` */
int sim_carry(struct sim_nm *nm, struct sim_op *put, uint64_t due);

/* sim_rma.c */
/* How atomics between these two are done. */
enum wdl_sim_atomics sim_atomics(const struct wdl_sim *sim, int rank, int peer);
/* A put that was carried is there. */
void sim_put_arrive(struct sim_nm *target, struct sim_op *put);
int sim_put(struct wdl_nm *nm, int peer, const void *src, size_t bytes, uint64_t remote,
            struct wdl_nm_rkey *rkey, struct wdl_nm_comp *comp);
int sim_get(struct wdl_nm *nm, int peer, void *dst, size_t bytes, uint64_t remote,
            struct wdl_nm_rkey *rkey, struct wdl_nm_comp *comp);
int sim_atomic(struct wdl_nm *nm, int peer, enum wdl_nm_atomic op, size_t size, uint64_t value,
               uint64_t compare, void *fetched, uint64_t remote, struct wdl_nm_rkey *rkey,
               struct wdl_nm_comp *comp);
int sim_flush(struct wdl_nm *nm, int peer, struct wdl_nm_comp *comp);
/* An operation ends, done or not: what knows of it forgets it. */
void sim_rma_forget(struct sim_nm *nm, struct sim_op *op);
/* Step one operation that is not an AM; returns 1 if its completion was called. */
int sim_rma_step(struct sim_nm *nm, struct sim_op *op);

#endif
