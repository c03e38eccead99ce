/* Part of Windlass. See COPYRIGHT in the top-level directory. UCX netmod: registered memory, put,
 * get, atomics, flush. */
#include "netmod/ucx/ucx_impl.h"
#include <string.h>

int ucx_mem_attach(struct wdl_nm *base, void *addr, size_t bytes, struct wdl_nm_mem **mem_out)
{
    struct wdl_nm_mem *mem = malloc(sizeof(*mem));
    *mem_out = NULL;
    if (!mem)
        return WDL_ERR_NOMEM;
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address = addr,
        .length = bytes
    };
    ucs_status_t ucs = ucp_mem_map(ucx_of(base)->context, &params, &mem->memh);
    if (ucs != UCS_OK) {
        free(mem);
        return ucx_status(ucs);
    }
    *mem_out = mem;
    return WDL_OK;
}

void ucx_mem_detach(struct wdl_nm *base, struct wdl_nm_mem *mem)
{
    ucp_mem_unmap(ucx_of(base)->context, mem->memh);
    free(mem);
}

int ucx_mem_key(struct wdl_nm *base, struct wdl_nm_mem *mem, void *key, size_t *bytes)
{
    void *packed;
    size_t n;
    ucs_status_t ucs = ucp_rkey_pack(ucx_of(base)->context, mem->memh, &packed, &n);
    if (ucs != UCS_OK)
        return ucx_status(ucs);
    int fits = n <= *bytes;
    if (fits)
        memcpy(key, packed, n);
    *bytes = n;
    ucp_rkey_buffer_release(packed);
    return fits ? WDL_OK : WDL_ERR_ARG;
}

int ucx_rkey_open(struct wdl_nm *base, int peer, const void *key, size_t bytes,
                  struct wdl_nm_rkey **rkey_out)
{
    ucp_ep_h ep;
    (void) bytes;
    *rkey_out = NULL;
    int status = ucx_ep(ucx_of(base), peer, &ep);
    if (status != WDL_OK)
        return status;
    struct wdl_nm_rkey *rkey = malloc(sizeof(*rkey));
    if (!rkey)
        return WDL_ERR_NOMEM;
    ucs_status_t ucs = ucp_ep_rkey_unpack(ep, key, &rkey->rkey);
    if (ucs != UCS_OK) {
        free(rkey);
        return ucx_status(ucs);
    }
    *rkey_out = rkey;
    return WDL_OK;
}

void ucx_rkey_close(struct wdl_nm *base, struct wdl_nm_rkey *rkey)
{
    (void) base;
    ucp_rkey_destroy(rkey->rkey);
    free(rkey);
}

int ucx_map(struct wdl_nm *base, struct wdl_nm_rkey *rkey, uint64_t remote, void **ptr_out)
{
    (void) base;
    return ucp_rkey_ptr(rkey->rkey, remote, ptr_out) == UCS_OK ? WDL_OK : WDL_ERR_UNSUPPORTED;
}

static ucp_request_param_t param_for(struct wdl_nm_comp *comp)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = ucx_send_cb,
        .user_data = comp
    };
    return param;
}

int ucx_put(struct wdl_nm *base, int peer, const void *src, size_t bytes, uint64_t remote,
            struct wdl_nm_rkey *rkey, struct wdl_nm_comp *comp)
{
    ucp_ep_h ep;
    ucp_request_param_t param = param_for(comp);
    int status = ucx_ep(ucx_of(base), peer, &ep);
    if (status != WDL_OK)
        return status;
    return ucx_started(comp, ucp_put_nbx(ep, src, bytes, remote, rkey->rkey, &param));
}

int ucx_get(struct wdl_nm *base, int peer, void *dst, size_t bytes, uint64_t remote,
            struct wdl_nm_rkey *rkey, struct wdl_nm_comp *comp)
{
    ucp_ep_h ep;
    ucp_request_param_t param = param_for(comp);
    int status = ucx_ep(ucx_of(base), peer, &ep);
    if (status != WDL_OK)
        return status;
    return ucx_started(comp, ucp_get_nbx(ep, dst, bytes, remote, rkey->rkey, &param));
}

/* UCX reads the operand until completion: it lives beside the completion's request until then. */
struct ucx_atomic {
    uint64_t operand[2];
    uint64_t ignored;
    struct wdl_nm_comp *comp;
};

static void atomic_cb(void *request, ucs_status_t status, void *user_data)
{
    struct ucx_atomic *a = user_data;
    struct wdl_nm_info info = {.status = ucx_status(status) };
    struct wdl_nm_comp *comp = a->comp;
    free(a);
    ucp_request_free(request);
    comp->handle = NULL;
    comp->fn(comp, &info);
}

int ucx_atomic(struct wdl_nm *base, int peer, enum wdl_nm_atomic op, size_t size, uint64_t value,
               uint64_t compare, void *fetched, uint64_t remote, struct wdl_nm_rkey *rkey,
               struct wdl_nm_comp *comp)
{
    static const ucp_atomic_op_t ops[WDL_NM_ATOMIC_COUNT] = {
        [WDL_NM_ADD] = UCP_ATOMIC_OP_ADD, [WDL_NM_AND] = UCP_ATOMIC_OP_AND,
        [WDL_NM_OR] = UCP_ATOMIC_OP_OR, [WDL_NM_XOR] = UCP_ATOMIC_OP_XOR,
        [WDL_NM_SWAP] = UCP_ATOMIC_OP_SWAP, [WDL_NM_CSWAP] = UCP_ATOMIC_OP_CSWAP
    };
    ucp_ep_h ep;
    int status = ucx_ep(ucx_of(base), peer, &ep);
    if (status != WDL_OK)
        return status;
    struct ucx_atomic *a = malloc(sizeof(*a));
    if (!a)
        return WDL_ERR_NOMEM;
    a->comp = comp;
    a->operand[0] = op == WDL_NM_CSWAP ? compare : value;
    void *reply = fetched;
    if (!fetched && op == WDL_NM_SWAP)
        reply = &a->ignored;
    if (op == WDL_NM_CSWAP)     /* the reply buffer brings the new value and takes the old one */
        memcpy(fetched, &value, size);
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
            UCP_OP_ATTR_FIELD_DATATYPE,
        .cb.send = atomic_cb,
        .user_data = a,
        .datatype = ucp_dt_make_contig(size)
    };
    if (reply) {
        param.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
        param.reply_buffer = reply;
    }
    status = ucx_started(comp,
                         ucp_atomic_op_nbx(ep, ops[op], a->operand, 1, remote, rkey->rkey, &param));
    if (status != WDL_PENDING)
        free(a);
    return status;
}

int ucx_flush(struct wdl_nm *base, int peer, struct wdl_nm_comp *comp)
{
    struct ucx_nm *nm = ucx_of(base);
    ucp_request_param_t param = param_for(comp);
    ucp_ep_h ep;
    if (peer < 0)
        return ucx_started(comp, ucp_worker_flush_nbx(nm->worker, &param));
    int status = ucx_ep(nm, peer, &ep);
    if (status != WDL_OK)
        return status;
    return ucx_started(comp, ucp_ep_flush_nbx(ep, &param));
}
