/* Part of Windlass. See COPYRIGHT in the top-level directory. UCX netmod: registered memory, put,
 * get, atomics, flush. */
#include "netmod/ucx/ucx_impl.h"
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include "netmod/sum.h"

static int map(struct ucx_nm *nm, const ucp_mem_map_params_t *params, struct wdl_nm_mem **mem_out)
{
    struct wdl_nm_mem *mem = malloc(sizeof(*mem));
    *mem_out = NULL;
    if (!mem)
        return WDL_ERR_NOMEM;
    ucs_status_t ucs = ucp_mem_map(nm->context, params, &mem->memh);
    if (ucs != UCS_OK) {
        free(mem);              /* IO_ERROR: a device's registrations or our limits are used up */
        return ucs == UCS_ERR_IO_ERROR ? WDL_ERR_NOMEM : ucx_status(ucs);
    }
    mem->base = params->address;
    mem->bytes = params->length;
    wdl_list_push(&nm->mems, &mem->link);
    *mem_out = mem;
    return WDL_OK;
}

int ucx_mem_attach(struct wdl_nm *base, void *addr, size_t bytes, struct wdl_nm_mem **mem_out)
{
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address = addr,
        .length = bytes
    };
    return map(ucx_of(base), &params, mem_out);
}

/* Memory the machine has left; SIZE_MAX where it does not say. */
static size_t memory_left(void)
{
    unsigned long long left;
    size_t bytes = SIZE_MAX;
    char line[128];
    FILE *said = fopen("/proc/meminfo", "re");
    if (!said)
        return bytes;
    while (bytes == SIZE_MAX && fgets(line, sizeof(line), said))
        if (sscanf(line, "MemAvailable: %llu kB", &left) == 1)
            bytes = (size_t) left << 10;
    fclose(said);
    return bytes;
}

/* Is it there, with as much for others, who may be asking now? UCX's posix transport finds out by
 * writing, and fills /dev/shm and the machine's memory before it says no; beyond the limit on the
 * size of files it is a signal. A file system without bounds has 0 blocks. */
static int is_plenty(size_t bytes)
{
    enum { TIMES = 2 };
    struct statvfs fs;
    struct rlimit most;
    size_t left = memory_left();
    if (statvfs("/dev/shm", &fs) == 0 && fs.f_blocks > 0 &&
        (size_t) fs.f_bavail * fs.f_frsize < left)
        left = (size_t) fs.f_bavail * fs.f_frsize;
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < left)
        left = (size_t) most.rlim_cur;
    return bytes <= left / TIMES;
}

int ucx_mem_alloc(struct wdl_nm *base, size_t bytes, void **base_out, struct wdl_nm_mem **mem_out)
{
    ucp_mem_attr_t attr = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS };
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS,
        .length = bytes,
        .flags = UCP_MEM_MAP_ALLOCATE
    };
    *mem_out = NULL;
    int status = is_plenty(bytes) ? map(ucx_of(base), &params, mem_out) : WDL_ERR_NOMEM;
    if (status != WDL_OK)
        return status;
    ucs_status_t ucs = ucp_mem_query((*mem_out)->memh, &attr);
    if (ucs != UCS_OK) {
        ucx_mem_detach(base, *mem_out);
        *mem_out = NULL;
        return ucx_status(ucs);
    }
    *base_out = (*mem_out)->base = attr.address;
    return WDL_OK;
}

void ucx_mem_detach(struct wdl_nm *base, struct wdl_nm_mem *mem)
{
    wdl_list_remove(&mem->link);
    ucp_mem_unmap(ucx_of(base)->context, mem->memh);
    free(mem);
}

static uint64_t key_sum(const struct ucx_key *head, const void *rest)
{
    uint64_t sum = wdl_nm_sum(WDL_NM_SUM_BEGIN, head, offsetof(struct ucx_key, sum));
    return wdl_nm_sum(sum, rest, head->ucx_bytes);
}

int ucx_mem_key(struct wdl_nm *base, struct wdl_nm_mem *mem, void *key, size_t *bytes)
{
    void *packed;
    size_t n;
    ucs_status_t ucs = ucp_rkey_pack(ucx_of(base)->context, mem->memh, &packed, &n);
    if (ucs != UCS_OK)
        return ucx_status(ucs);
    struct ucx_key head = {
        .magic = UCX_KEY_MAGIC, .owner = (uint32_t) ucx_of(base)->params.rank,
        .base = (uint64_t) (uintptr_t) mem->base, .bytes = mem->bytes, .ucx_bytes = n
    };
    int fits = sizeof(head) + n <= *bytes, allowed = sizeof(head) + n <= WDL_NM_KEY_BYTES_MAX;
    if (fits && allowed) {
        head.sum = key_sum(&head, packed);
        memcpy(key, &head, sizeof(head));
        memcpy((char *) key + sizeof(head), packed, n);
    }
    *bytes = sizeof(head) + n;
    ucp_rkey_buffer_release(packed);
    return !allowed ? WDL_ERR_UNSUPPORTED : fits ? WDL_OK : WDL_ERR_ARG;
}

/* UCX believes every key it is given, and reads as far as the key says. */
static int key_check(struct ucx_key *head, const void *key, size_t bytes, int peer)
{
    if (bytes < sizeof(*head))
        return WDL_ERR_ARG;
    memcpy(head, key, sizeof(*head));
    if (head->magic != UCX_KEY_MAGIC || head->owner != (uint32_t) peer ||
        head->ucx_bytes != bytes - sizeof(*head))
        return WDL_ERR_ARG;
    return head->sum == key_sum(head, (const char *) key + sizeof(*head)) ? WDL_OK : WDL_ERR_ARG;
}

int ucx_rkey_open(struct wdl_nm *base, int peer, const void *key, size_t bytes,
                  struct wdl_nm_rkey **rkey_out)
{
    struct ucx_key head;
    ucp_ep_h ep;
    *rkey_out = NULL;
    int status = key_check(&head, key, bytes, peer);
    if (status == WDL_OK)
        status = ucx_ep(ucx_of(base), peer, &ep);
    if (status != WDL_OK)
        return status;
    struct wdl_nm_rkey *rkey = malloc(sizeof(*rkey));
    if (!rkey)
        return WDL_ERR_NOMEM;
    rkey->peer = peer;
    rkey->base = head.base;
    rkey->bytes = head.bytes;
    ucs_status_t ucs =
        ucp_ep_rkey_unpack(ep, (const char *) key + sizeof(head), &rkey->rkey);
    if (ucs != UCS_OK) {
        free(rkey);
        return ucx_status(ucs);
    }
    wdl_list_push(&ucx_of(base)->rkeys, &rkey->link);
    *rkey_out = rkey;
    return WDL_OK;
}

void ucx_rkey_close(struct wdl_nm *base, struct wdl_nm_rkey *rkey)
{
    (void) base;
    ucp_rkey_destroy(rkey->rkey);
    wdl_list_remove(&rkey->link);
    free(rkey);
}

static int in_key(const struct wdl_nm_rkey *rkey, int peer, uint64_t remote, size_t bytes)
{
    return rkey->peer == peer && remote >= rkey->base && bytes <= rkey->bytes &&
        remote - rkey->base <= rkey->bytes - bytes;
}

int ucx_map(struct wdl_nm *base, struct wdl_nm_rkey *rkey, uint64_t remote, void **ptr_out)
{
    (void) base;
    *ptr_out = NULL;
    if (!in_key(rkey, rkey->peer, remote, 0))
        return WDL_ERR_ARG;
    return ucp_rkey_ptr(rkey->rkey, remote, ptr_out) == UCS_OK ? WDL_OK : WDL_ERR_UNSUPPORTED;
}

/* The key's endpoint is there: it was opened for the key. */
int ucx_put(struct wdl_nm *base, int peer, const void *src, size_t bytes, uint64_t remote,
            struct wdl_nm_rkey *rkey, struct wdl_nm_comp *comp)
{
    ucp_request_param_t param;
    ucx_param(&param, ucx_of(base), comp);
    if (!in_key(rkey, peer, remote, bytes))
        return WDL_ERR_ARG;
    ucx_of(base)->rma_used = 1;
    return ucx_started(comp, ucp_put_nbx(ucx_of(base)->ep[peer], src, bytes, remote, rkey->rkey,
                                         &param));
}

int ucx_get(struct wdl_nm *base, int peer, void *dst, size_t bytes, uint64_t remote,
            struct wdl_nm_rkey *rkey, struct wdl_nm_comp *comp)
{
    ucp_request_param_t param;
    ucx_param(&param, ucx_of(base), comp);
    if (!in_key(rkey, peer, remote, bytes))
        return WDL_ERR_ARG;
    ucx_of(base)->rma_used = 1;
    return ucx_started(comp, ucp_get_nbx(ucx_of(base)->ep[peer], dst, bytes, remote, rkey->rkey,
                                         &param));
}

/* UCX reads the operand and writes the reply until completion. Descriptors are kept for reuse. */
static struct ucx_atomic *atomic_get(struct ucx_nm *nm)
{
    struct wdl_list *node = wdl_list_pop(&nm->atomics_free);
    struct ucx_atomic *a = node ? wdl_container_of(node, struct ucx_atomic, link)
                                : malloc(sizeof(*a));
    if (a) {
        a->nm = nm;
        wdl_list_push(&nm->atomics_busy, &a->link);
    }
    return a;
}

static void atomic_put(struct ucx_atomic *a, int status)
{
    if (status == WDL_OK && a->fetched)
        memcpy(a->fetched, &a->reply, a->size);
    wdl_list_remove(&a->link);
    wdl_list_push_front(&a->nm->atomics_free, &a->link);
}

static void operand_set(uint64_t *to, uint64_t value, size_t size)
{
    uint32_t value32 = (uint32_t) value;
    memcpy(to, size == 4 ? (void *) &value32 : (void *) &value, size);
}

static void atomic_cb(void *request, ucs_status_t status, void *user_data)
{
    struct ucx_atomic *a = user_data;
    struct wdl_nm_info info = {.status = ucx_status(status) };
    ucp_request_free(request);
    atomic_put(a, info.status);
    if (a->comp)
        ucx_complete(a->nm, a->comp, &info);
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
    struct ucx_nm *nm = ucx_of(base);
    if ((unsigned) op >= WDL_NM_ATOMIC_COUNT || (size != 4 && size != 8) || remote % size ||
        (op == WDL_NM_CSWAP && !fetched) || !in_key(rkey, peer, remote, size))
        return WDL_ERR_ARG;
    struct ucx_atomic *a = atomic_get(nm);
    if (!a)
        return WDL_ERR_NOMEM;
    nm->rma_used = 1;
    a->comp = comp;
    a->fetched = fetched;
    a->size = size;
    operand_set(&a->operand, op == WDL_NM_CSWAP ? compare : value, size);
    /* CSWAP: the reply buffer brings the new value and takes the old one */
    operand_set(&a->reply, value, size);
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
            UCP_OP_ATTR_FIELD_DATATYPE,
        .cb.send = atomic_cb,
        .user_data = a,
        .datatype = ucp_dt_make_contig(size)
    };
    if (fetched || op == WDL_NM_SWAP) {
        param.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
        param.reply_buffer = &a->reply;
    }
    int status = ucx_started(comp, ucp_atomic_op_nbx(nm->ep[peer], ops[op], &a->operand, 1, remote,
                                                     rkey->rkey, &param));
    if (status != WDL_PENDING)
        atomic_put(a, status);
    return status;
}

int ucx_flush(struct wdl_nm *base, int peer, struct wdl_nm_comp *comp)
{
    struct ucx_nm *nm = ucx_of(base);
    ucp_request_param_t param;
    ucx_param(&param, nm, comp);
    if (peer < -1 || peer >= nm->params.peers)
        return WDL_ERR_ARG;
    /* A flush makes UCX wire up in full every endpoint there is; over TCP a peer that has sent
     * nothing to us crashes when that reaches it behind a message of ours in one read. */
    if (!nm->rma_used)
        return WDL_OK;
    if (peer < 0)
        return ucx_started(comp, ucp_worker_flush_nbx(nm->worker, &param));
    if (!nm->ep[peer])
        return WDL_OK;
    return ucx_started(comp, ucp_ep_flush_nbx(nm->ep[peer], &param));
}
