/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The door below: what the core needs from a network. One `struct wdl_nm` is one process's endpoint
 * on one network. A netmod implements `struct wdl_nm_ops`; test/netmod/conformance.c is the suite
 * every netmod passes.
 *
 * Rules that hold for every entry:
 *  1. No re-entry. Messages and completions surface only inside poll(); no other entry calls back.
 *     Callbacks may call every entry except poll, arm and close.
 *  2. Nothing waits. An entry begins something and returns.
 *  3. Results of the starting entries (am, put, get, atomic, flush, tag_*):
 *       WDL_OK       done in the call; the caller's memory is free again; comp is not called
 *       WDL_PENDING  accepted; comp->fn is called exactly once, from poll; until then the caller
 *                    keeps the payload memory and *comp alive and, for sends, unchanged
 *       WDL_AGAIN    nothing happened, ask later; such refusals end by themselves once poll is
 *                    called
 *       an error     nothing happened and never will (peer gone, bad argument)
 *  4. Peers are small integers, 0 .. peers-1, given to open(); any other is WDL_ERR_ARG. A peer's
 *     address is asked from params->address_of on first use, once; the connection is opened then,
 *     and never before. flush() is no use: where nothing was begun, nothing is to be flushed. What
 *     address_of answers other than WDL_OK is the entry's result, and the next use asks again.
 *  5. One thread at a time (the caller serializes).
 */
#ifndef WDL_NETMOD_NETMOD_H_INCLUDED
#define WDL_NETMOD_NETMOD_H_INCLUDED

#include <stddef.h>
#include <stdint.h>
#include "base/status.h"

struct wdl_nm;
struct wdl_nm_mem;              /* local memory known to the network */
struct wdl_nm_rkey;             /* a peer's memory, as this process reaches it */
struct wdl_nm_msg;              /* a matched tagged message not yet received */
struct wdl_nm_type;             /* a non-contiguous layout for tagged messages */

/* Information about a finished tagged operation; bytes is 0 for everything else. */
struct wdl_nm_info {
    int status;                 /* WDL_OK, ERR_TRUNCATE, ERR_CANCELED, ERR_PEER, ... */
    uint64_t tag;               /* the sender's tag (receive, probe) */
    size_t bytes;               /* bytes of the message (receive, probe) */
};

/* A completion: owned by the caller, embedded in the caller's object. */
struct wdl_nm_comp {
    void (*fn) (struct wdl_nm_comp *comp, const struct wdl_nm_info *info);
    void *handle, *owner;       /* the netmod's own, while pending (tag_cancel uses them) */
};

struct wdl_nm_iov {
    const void *base;
    size_t bytes;
};

#define WDL_NM_IOV_MAX 8        /* pieces of one am() */
#define WDL_NM_HDR_BYTES_MAX 1024       /* its header; every netmod carries messages of this size */
#define WDL_NM_KEY_BYTES_MAX 512        /* a key of mem_key() */

/* A message has arrived from anyone. `data` is valid during the call only; the bytes are as they
 * came: check them. Return WDL_OK (consumed) or WDL_AGAIN (not now: the netmod keeps the message
 * and delivers it again from a later poll). Where get_ordering() is 1, what the same sender sent
 * after it stays behind it; what others sent may wait too, so refuse only for what comes back
 * without another message. */
typedef int (*wdl_nm_am_fn) (void *ctx, const void *data, size_t bytes);

/* A peer was lost (reported once per peer, from poll); operations to it have failed or will. */
typedef void (*wdl_nm_lost_fn) (void *ctx, int peer);

struct wdl_nm_params {
    int rank, peers;
    void *ctx;                  /* passed to the callbacks */
    wdl_nm_am_fn on_am;
    wdl_nm_lost_fn on_lost;     /* may be NULL */
    /* The address a peer published; the memory stays valid until close. */
    int (*address_of) (void *ctx, int peer, const void **addr_out, size_t *bytes_out);
    void *fabric;               /* sim: the shared fabric object; ucx: NULL */
    int local_peers;  /* processes expected on this node, for the network's sizing; 0 unknown */
};

/* Atomic operations a network may carry natively. */
enum wdl_nm_atomic { WDL_NM_ADD, WDL_NM_AND, WDL_NM_OR, WDL_NM_XOR, WDL_NM_SWAP, WDL_NM_CSWAP,
    WDL_NM_ATOMIC_COUNT
};

enum wdl_nm_domain {            /* what a native atomic is atomic against */
    WDL_NM_DOMAIN_NONE,         /* there are no native atomics */
    WDL_NM_DOMAIN_CPU,          /* CPU instructions on the same memory, and each other */
    WDL_NM_DOMAIN_NIC           /* each other only */
};

/* Bits: memory of mem_attach, of mem_alloc. */
enum { WDL_NM_ATTACHED = 1, WDL_NM_OWN = 2 };

/* What a network can do. caps() answers for every peer and all attached memory, so it promises
 * what holds everywhere; rkey_caps() answers for the memory of one key, and promises no less. */
struct wdl_nm_caps {
    size_t am_bytes_max;        /* largest message of am(), header included; at least 1024 */
    size_t key_bytes_max;       /* mem_key never needs more; at most WDL_NM_KEY_BYTES_MAX */
    /* bit (1 << enum wdl_nm_atomic): native in this size, that is, done without the target's
     * processor. What is not native works too: the target's processor does it in its poll, with
     * CPU instructions, and so only while the target polls. */
    uint32_t atomic32, atomic64;
    uint32_t fetches;           /* bit (1 << enum wdl_nm_atomic): of the native ones, those that may
                                 * be asked for what was there before */
    enum wdl_nm_domain domain;  /* of the native ones */
    /* caps() alone: keys of such memory may have native atomics that it cannot promise, since it
     * depends on the peer. 0: rkey_caps() never says more. */
    int atomics_by_key;
    int rma_needs_target;       /* put, get and flush make progress only while the target polls */
    int has_rma;                /* put, get, atomic, flush, mem_*, rkey_*, map are there */
    int has_tag;                /* tag_* and type_* are there */
    int has_wakeup;             /* arm() is there */
};

/* Buffer of a tagged message: contiguous when type == NULL, else `count` elements of `type`. */
struct wdl_nm_buf {
    void *addr;
    size_t count;               /* bytes when type == NULL */
    struct wdl_nm_type *type;
};

/* How a non-contiguous layout is packed; offsets and lengths are bytes of the packed stream. */
struct wdl_nm_type_ops {
    size_t (*packed_bytes) (void *type_ctx, const void *addr, size_t count);
    /* copy `bytes` of the stream from `offset` out of / into the buffer; returns bytes done */
    size_t (*pack) (void *type_ctx, const void *addr, size_t count, size_t offset, void *dst,
                    size_t bytes);
    size_t (*unpack) (void *type_ctx, void *addr, size_t count, size_t offset, const void *src,
                      size_t bytes);
};

#define WDL_NM_TAG_SYNC 1       /* tag_send: complete only when matched */
/* tag_send: done in the call, or WDL_AGAIN where it could not be; comp is not used */
#define WDL_NM_TAG_NOW 2

struct wdl_nm_ops {
    const char *name;

    /* Open the endpoint. On error *nm_out is NULL and a line on what to do is in err (err_bytes
     * long). */
    int (*open) (const struct wdl_nm_params * params, struct wdl_nm ** nm_out, char *err,
                 size_t err_bytes);
    /* Close; messages and receives pending are dropped without completion, and memory, keys and
     * types that are still there are released. All processes close together: the caller has
     * flushed all puts, gets and atomics before, and synchronized. */
    void (*close) (struct wdl_nm * nm);
    /* This process's address; valid until close. */
    int (*address) (struct wdl_nm * nm, const void **addr_out, size_t * bytes_out);
    const struct wdl_nm_caps *(*caps) (struct wdl_nm * nm);
    /* 1: AMs to one peer arrive in the order of the calls; 0: no such promise (seed 001,
     * Ordering). */
    int (*get_ordering) (struct wdl_nm * nm);
    /* One line for people: the transports of the connections there are, by class of peer; those
     * with atomics of their own. */
    void (*describe) (struct wdl_nm * nm, char *text, size_t bytes);

    /* Deliver what has come and completed. Returns the number of events (0: nothing happened). */
    int (*poll) (struct wdl_nm * nm);
    /* Prepare to sleep: WDL_OK and a descriptor that becomes readable with the next event (of a
     * peer that this process has sent to before; another's first may go unnoticed: bound the
     * sleep), or WDL_AGAIN when something is there already (poll again). The descriptor belongs to
     * the netmod and stays the same. */
    int (*arm) (struct wdl_nm * nm, int *fd_out);

    /* Send hdr followed by the iov pieces (at most WDL_NM_IOV_MAX) as one message of at most
     * caps->am_bytes_max. hdr (at most WDL_NM_HDR_BYTES_MAX) is always copied before return;
     * payload memory follows rule 3. comp may be NULL when there is no payload. */
    int (*am) (struct wdl_nm * nm, int peer, const void *hdr, size_t hdr_bytes,
               const struct wdl_nm_iov * iov, int niov, struct wdl_nm_comp * comp);

    /* --- caps->has_rma (else ERR_UNSUPPORTED). Only the target's memory is attached; what put,
     *     get and atomic read and write here is any memory. Who opens keeps: the opener of a key
     *     closes it, and the owner detaches, when every operation on it is done, puts and atomics
     *     by a flush. Taking it away earlier is the caller's mistake: no netmod waits. --- */
    /* ERR_NOMEM when the network will not take more; what is attached stays so. */
    int (*mem_attach) (struct wdl_nm * nm, void *base, size_t bytes, struct wdl_nm_mem ** mem_out);
    /* The same with memory of the network's own, of any content: some reach no other by themselves
     * (UCX's shared memory). It goes with mem_detach. ERR_NOMEM, with nothing taken meanwhile, also
     * where others would be left with little: memory of another kind may be had then. */
    int (*mem_alloc) (struct wdl_nm * nm, size_t bytes, void **base_out,
                      struct wdl_nm_mem ** mem_out);
    void (*mem_detach) (struct wdl_nm * nm, struct wdl_nm_mem * mem);
    /* The key a peer needs; *bytes: in: room, out: needed (ERR_ARG when the room is too small). */
    int (*mem_key) (struct wdl_nm * nm, struct wdl_nm_mem * mem, void *key, size_t * bytes);
    /* ERR_ARG for what is no key of this peer: the bytes are checked. */
    int (*rkey_open) (struct wdl_nm * nm, int peer, const void *key, size_t bytes,
                      struct wdl_nm_rkey ** rkey_out);
    void (*rkey_close) (struct wdl_nm * nm, struct wdl_nm_rkey * rkey);
    /* Costs some microseconds: ask once a key. */
    void (*rkey_caps) (struct wdl_nm * nm, struct wdl_nm_rkey * rkey,
                       struct wdl_nm_caps * caps_out);
    /* A load/store pointer to the peer's memory, or ERR_UNSUPPORTED. */
    int (*map) (struct wdl_nm * nm, struct wdl_nm_rkey * rkey, uint64_t remote, void **ptr_out);
    /* put, get, atomic: ERR_ARG where a byte is not the key's, or the key not the peer's. There is
     * no order between them but by flush. A put's completion frees the source; only a flush says
     * that the bytes have arrived. comp may be NULL where the caller will flush: then the memory
     * here is the netmod's until the flush is done, and WDL_PENDING is followed by nothing. */
    int (*put) (struct wdl_nm * nm, int peer, const void *src, size_t bytes, uint64_t remote,
                struct wdl_nm_rkey * rkey, struct wdl_nm_comp * comp);
    int (*get) (struct wdl_nm * nm, int peer, void *dst, size_t bytes, uint64_t remote,
                struct wdl_nm_rkey * rkey, struct wdl_nm_comp * comp);
    /* size is 4 or 8, remote a multiple of it. fetched may be NULL except for CSWAP, and must be
     * where the atomic is native and not of caps.fetches; value and compare are read in the call,
     * and *fetched is written with the completion. */
    int (*atomic) (struct wdl_nm * nm, int peer, enum wdl_nm_atomic op, size_t size, uint64_t value,
                   uint64_t compare, void *fetched, uint64_t remote, struct wdl_nm_rkey * rkey,
                   struct wdl_nm_comp * comp);
    /* All puts, gets and atomics to peer (-1: to every peer) begun before are done, here and at the
     * target. */
    int (*flush) (struct wdl_nm * nm, int peer, struct wdl_nm_comp * comp);

    /* --- caps->has_tag --- */
    int (*type_create) (struct wdl_nm * nm, const struct wdl_nm_type_ops * ops, void *type_ctx,
                        struct wdl_nm_type ** type_out);
    void (*type_destroy) (struct wdl_nm * nm, struct wdl_nm_type * type);
    int (*tag_send) (struct wdl_nm * nm, int peer, uint64_t tag, const struct wdl_nm_buf * buf,
                     int flags, struct wdl_nm_comp * comp);
    /* WDL_OK here fills *info_out instead of calling comp. */
    int (*tag_recv) (struct wdl_nm * nm, uint64_t tag, uint64_t mask, const struct wdl_nm_buf * buf,
                     struct wdl_nm_comp * comp, struct wdl_nm_info * info_out);
    /* Is a message there? WDL_OK (info filled; *msg_out too when msg_out != NULL, and the message
     * is then taken out of matching until tag_recv_msg) or WDL_AGAIN. */
    int (*tag_probe)(struct wdl_nm *nm, uint64_t tag, uint64_t mask, struct wdl_nm_info *info_out,
                     struct wdl_nm_msg **msg_out);
    int (*tag_recv_msg) (struct wdl_nm * nm, struct wdl_nm_msg * msg, const struct wdl_nm_buf * buf,
                         struct wdl_nm_comp * comp, struct wdl_nm_info * info_out);
    /* Ask to cancel a pending receive; its comp is still called once, with ERR_CANCELED or its
     * result. */
    void (*tag_cancel) (struct wdl_nm * nm, struct wdl_nm_comp * comp);
};

struct wdl_nm {                 /* first member of every netmod's own structure */
    const struct wdl_nm_ops *ops;
};

/* The netmods there are; NULL-terminated tables are defined where they are linked. */
extern const struct wdl_nm_ops wdl_nm_ucx_ops;
extern const struct wdl_nm_ops wdl_nm_sim_ops;

#endif
