/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Inside the UCX netmod: one context, one worker, endpoints opened on first use.
 *
 * Invariants:
 *  1. The core's callbacks run only inside ucx_poll and never inside each other: UCX reports from
 *     inside other calls too (a cancelled receive, everything a process sends to itself), and that
 *     waits in `late` and `kept`.
 *  2. Messages the core refused (WDL_AGAIN) are in `kept`, in order; nothing that came later passes
 *     them.
 *  3. What we allocate for UCX to hold is in a list of struct ucx_nm until UCX gives it back, so
 *     that closing in the middle of anything leaks nothing.
 *  4. Messages that UCX has accepted and not sent are bounded: `queued` of them and `queued_to` a
 *     peer (ucx_am.c). A peer that does not poll costs no more memory than that.
 */
#ifndef WDL_NETMOD_UCX_UCX_IMPL_H_INCLUDED
#define WDL_NETMOD_UCX_UCX_IMPL_H_INCLUDED

#include <ucp/api/ucp.h>
#include "base/assert.h"
#include "base/list.h"
#include "netmod/netmod.h"

#define UCX_AM_ID 7             /* the one UCX active-message id; the core has its own ids inside */
#define UCX_AM_BYTES_MAX (64 * 1024 + 512)
#define UCX_AM_SMALL 2048       /* messages copied whole rather than sent from pieces */
#define UCX_KEY_MAGIC 0x57d15eedu

wdl_static_assert(UCX_AM_SMALL >= WDL_NM_HDR_BYTES_MAX);

struct ucx_nm;

struct ucx_am_send {            /* one message being sent */
    struct wdl_list link;
    struct ucx_nm *nm;
    struct wdl_nm_comp *comp;   /* the core's, or NULL */
    int peer;
    ucp_dt_iov_t iov[WDL_NM_IOV_MAX + 1];
    char small[UCX_AM_SMALL];
};

struct ucx_am_kept {            /* a message refused by the core */
    struct wdl_list link;
    void *data;
    size_t bytes;
    int ours;                   /* data is our copy; else UCX's, to be released */
};

struct ucx_atomic {             /* one atomic: UCX reads and writes here until it is done */
    struct wdl_list link;
    struct ucx_nm *nm;
    struct wdl_nm_comp *comp;
    uint64_t operand, reply;
    void *fetched;              /* where the core wants the reply, or NULL */
    size_t size;
};

struct ucx_late {               /* a completion to be reported from the next poll */
    struct wdl_list link;
    struct wdl_nm_comp *comp;
    struct wdl_nm_info info;
};

enum ucx_lost { UCX_THERE, UCX_LOST, UCX_LOST_SAID };

struct ucx_nm {
    struct wdl_nm base;
    struct wdl_nm_params params;
    struct wdl_nm_caps caps;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address;
    size_t address_bytes;
    ucp_ep_h *ep;               /* by peer, NULL until used */
    unsigned char *lost;        /* by peer: enum ucx_lost */
    int losses;                 /* that the core has yet to hear of */
    unsigned queued, *queued_to;        /* messages that wait in UCX; by peer */
    struct wdl_list sends_free, sends_busy, atomics_free, atomics_busy;
    struct wdl_list kept, late;
    struct wdl_list mems, rkeys, types, states;         /* what the core has made here */
    struct wdl_nm_comp *receiving;      /* the receive being posted; NULL again once it is done */
    struct wdl_nm_info received;
    int rma_used;               /* there may be something to flush */
    int progressing;            /* UCX is */
    int polling, ordered, fd;
    int in_core;                /* a callback of the core is running */
    int closing;                /* nothing is reported any more */
};

struct wdl_nm_mem {
    struct wdl_list link;
    ucp_mem_h memh;
    void *base;
    size_t bytes;
};

struct ucx_key {                /* a key on the wire: this, then UCX's */
    uint32_t magic, owner;
    uint64_t base, bytes;       /* of the memory */
    uint64_t ucx_bytes;
    uint64_t sum;               /* of all the others, UCX's included; last */
};

struct wdl_nm_rkey {
    struct wdl_list link;
    ucp_rkey_h rkey;
    uint64_t base, bytes;
    int peer;
};

struct wdl_nm_type {
    struct wdl_list link;
    struct ucx_nm *nm;
    const struct wdl_nm_type_ops *ops;
    void *ctx;
    ucp_datatype_t dt;
};

static inline struct ucx_nm *ucx_of(struct wdl_nm *nm)
{
    return (struct ucx_nm *) (void *) nm;
}

/* ucx.c */
int ucx_status(ucs_status_t status);
/* The first use of a peer: WDL_OK, WDL_AGAIN (from within a callback) or an error. */
int ucx_ep_open(struct ucx_nm *nm, int peer, ucp_ep_h *ep_out);
static inline int ucx_ep(struct ucx_nm *nm, int peer, ucp_ep_h *ep_out)
{
    if (peer < 0 || peer >= nm->params.peers)
        return WDL_ERR_ARG;
    *ep_out = nm->ep[peer];
    return *ep_out ? WDL_OK : ucx_ep_open(nm, peer, ep_out);
}
/* Report a completion from inside poll, or keep it for the next one. */
void ucx_complete(struct ucx_nm *nm, struct wdl_nm_comp *comp, const struct wdl_nm_info *info);
/* May the core be called now? */
static inline int ucx_may_call(const struct ucx_nm *nm)
{
    return nm->polling && !nm->in_core && !nm->closing;
}
/* The parameters of everything that is completed by its status alone. They are filled in place (a
 * copy would wait for what has just been stored); UCX looks at no others than it is told to. */
void ucx_param(ucp_request_param_t *param, struct ucx_nm *nm, struct wdl_nm_comp *comp);
/* The result of a starting call: comp is called later when UCX returned a request. */
static inline int ucx_started(struct wdl_nm_comp *comp, ucs_status_ptr_t request)
{
    if (request == NULL)
        return WDL_OK;
    if (UCS_PTR_IS_ERR(request))
        return ucx_status(UCS_PTR_STATUS(request));
    if (comp)
        comp->handle = request;
    return WDL_PENDING;
}
/* Free the objects of a list that have `link` as their first member. */
void ucx_list_free(struct wdl_list *list);

/* ucx_am.c */
int ucx_am_init(struct ucx_nm *nm);
void ucx_am_release(struct ucx_nm *nm);         /* before the worker goes: UCX's own buffers */
int ucx_am(struct wdl_nm *nm, int peer, const void *hdr, size_t hdr_bytes,
           const struct wdl_nm_iov *iov, int niov, struct wdl_nm_comp *comp);
int ucx_am_redeliver(struct ucx_nm *nm);

/* ucx_rma.c */
int ucx_mem_attach(struct wdl_nm *nm, void *base, size_t bytes, struct wdl_nm_mem **mem_out);
int ucx_mem_alloc(struct wdl_nm *nm, size_t bytes, void **base_out, struct wdl_nm_mem **mem_out);
void ucx_mem_detach(struct wdl_nm *nm, struct wdl_nm_mem *mem);
int ucx_mem_key(struct wdl_nm *nm, struct wdl_nm_mem *mem, void *key, size_t *bytes);
int ucx_rkey_open(struct wdl_nm *nm, int peer, const void *key, size_t bytes,
                  struct wdl_nm_rkey **rkey_out);
void ucx_rkey_close(struct wdl_nm *nm, struct wdl_nm_rkey *rkey);
int ucx_map(struct wdl_nm *nm, struct wdl_nm_rkey *rkey, uint64_t remote, void **ptr_out);
int ucx_put(struct wdl_nm *nm, int peer, const void *src, size_t bytes, uint64_t remote,
            struct wdl_nm_rkey *rkey, struct wdl_nm_comp *comp);
int ucx_get(struct wdl_nm *nm, int peer, void *dst, size_t bytes, uint64_t remote,
            struct wdl_nm_rkey *rkey, struct wdl_nm_comp *comp);
int ucx_atomic(struct wdl_nm *nm, int peer, enum wdl_nm_atomic op, size_t size, uint64_t value,
               uint64_t compare, void *fetched, uint64_t remote, struct wdl_nm_rkey *rkey,
               struct wdl_nm_comp *comp);
int ucx_flush(struct wdl_nm *nm, int peer, struct wdl_nm_comp *comp);

/* ucx_info.c */
/* caps.atomics_by_key, once there is a worker. */
int ucx_atomics_by_key(struct ucx_nm *nm);
void ucx_describe(struct wdl_nm *nm, char *text, size_t bytes);
void ucx_rkey_caps(struct wdl_nm *nm, struct wdl_nm_rkey *rkey, struct wdl_nm_caps *caps_out);

/* ucx_tag.c */
int ucx_type_create(struct wdl_nm *nm, const struct wdl_nm_type_ops *ops, void *type_ctx,
                    struct wdl_nm_type **type_out);
void ucx_type_destroy(struct wdl_nm *nm, struct wdl_nm_type *type);
int ucx_tag_send(struct wdl_nm *nm, int peer, uint64_t tag, const struct wdl_nm_buf *buf, int flags,
                 struct wdl_nm_comp *comp);
int ucx_tag_recv(struct wdl_nm *nm, uint64_t tag, uint64_t mask, const struct wdl_nm_buf *buf,
                 struct wdl_nm_comp *comp, struct wdl_nm_info *info_out);
int ucx_tag_probe(struct wdl_nm *nm, uint64_t tag, uint64_t mask, struct wdl_nm_info *info_out,
                  struct wdl_nm_msg **msg_out);
int ucx_tag_recv_msg(struct wdl_nm *nm, struct wdl_nm_msg *msg, const struct wdl_nm_buf *buf,
                     struct wdl_nm_comp *comp, struct wdl_nm_info *info_out);
void ucx_tag_cancel(struct wdl_nm *nm, struct wdl_nm_comp *comp);

#endif
