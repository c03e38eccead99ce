/* Part of Windlass. See COPYRIGHT in the top-level directory. UCX netmod: opening, endpoints,
 * polling, closing. */
#include "netmod/ucx/ucx_impl.h"
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <ucs/config/global_opts.h>

int ucx_status(ucs_status_t status)
{
    switch (status) {
        case UCS_OK:
            return WDL_OK;
        case UCS_INPROGRESS:
            return WDL_PENDING;
        case UCS_ERR_NO_RESOURCE:
        case UCS_ERR_NO_MESSAGE:
            return WDL_AGAIN;
        case UCS_ERR_NO_MEMORY:
            return WDL_ERR_NOMEM;
        case UCS_ERR_INVALID_PARAM:
        case UCS_ERR_INVALID_ADDR:
            return WDL_ERR_ARG;
        case UCS_ERR_UNSUPPORTED:
        case UCS_ERR_NOT_IMPLEMENTED:
            return WDL_ERR_UNSUPPORTED;
        case UCS_ERR_MESSAGE_TRUNCATED:
            return WDL_ERR_TRUNCATE;
        case UCS_ERR_CANCELED:
            return WDL_ERR_CANCELED;
        case UCS_ERR_UNREACHABLE:
        case UCS_ERR_ENDPOINT_TIMEOUT:
        case UCS_ERR_CONNECTION_RESET:
        case UCS_ERR_NOT_CONNECTED:
            return WDL_ERR_PEER;
        default:
            return WDL_ERR_OTHER;
    }
}

void ucx_complete(struct ucx_nm *nm, struct wdl_nm_comp *comp, const struct wdl_nm_info *info)
{
    struct ucx_late *late;
    comp->handle = NULL;
    if (nm->closing)
        return;
    if (ucx_may_call(nm)) {
        nm->in_core = 1;
        comp->fn(comp, info);
        nm->in_core = 0;
        return;
    }
    late = malloc(sizeof(*late));
    if (!late)
        abort();                /* a completion cannot be lost and cannot be refused */
    late->comp = comp;
    late->info = *info;
    wdl_list_push(&nm->late, &late->link);
}

static void forget_cb(void *request, ucs_status_t status, void *user_data)
{
    (void) status;              /* the flush that follows reports it */
    (void) user_data;
    ucp_request_free(request);
}

static void status_cb(void *request, ucs_status_t status, void *user_data)
{
    struct wdl_nm_comp *comp = user_data;
    struct wdl_nm_info info = {.status = ucx_status(status) };
    ucp_request_free(request);
    ucx_complete(comp->owner, comp, &info);
}

void ucx_param(ucp_request_param_t *param, struct ucx_nm *nm, struct wdl_nm_comp *comp)
{
    param->op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param->cb.send = comp ? status_cb : forget_cb;
    param->user_data = comp;
    if (comp)
        comp->owner = nm;
}

int ucx_ep_open(struct ucx_nm *nm, int peer, ucp_ep_h *ep_out)
{
    const void *address;
    size_t bytes;
    /* UCX over TCP crashes where a connection is opened while one the same peer has opened is being
     * read from: it takes the second for the first, and its buffer away */
    if (nm->progressing)
        return WDL_AGAIN;
    if (nm->lost[peer])
        return WDL_ERR_PEER;
    int status = nm->params.address_of(nm->params.ctx, peer, &address, &bytes);
    if (status != WDL_OK)
        return status;
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
        .address = address
    };
    ucs_status_t ucs = ucp_ep_create(nm->worker, &params, &nm->ep[peer]);
    if (ucs != UCS_OK) {
        nm->ep[peer] = NULL;
        status = ucx_status(ucs);
        if (status == WDL_ERR_PEER) { /* whoever waits for the peer must hear of it, too */
            nm->lost[peer] = UCX_LOST;
            nm->losses++;
        }
        return status;
    }
    *ep_out = nm->ep[peer];
    return WDL_OK;
}

/* UCX speaks up by itself; in an MPI program its complaints reach the user as MPI errors. The
 * user's setting wins. */
static void quiet(void)
{
    if (!getenv("UCX_LOG_LEVEL"))
        ucs_global_opts_set_value("LOG_LEVEL", "fatal");
}

static ucs_status_t context_open(struct ucx_nm *nm)
{
    ucp_config_t *config;
    ucs_status_t ucs = ucp_config_read(NULL, NULL, &config);
    if (ucs != UCS_OK)
        return ucs;
    /* the mere presence of a device must not take the processor's atomics away */
    if (!getenv("UCX_ATOMIC_MODE"))
        ucp_config_modify(config, "ATOMIC_MODE", "cpu");
    /* Programs over tcp crashed inside UCX 1.13, as if a receive buffer were given back twice, and
     * seemed to do so less without tcp's own puts. The cause is not known. */
    if (!getenv("UCX_TCP_PUT_ENABLE"))
        ucp_config_modify(config, "PUT_ENABLE", "n"); /* of tcp alone */
    /* By tcp a message is written in pieces of at most the first, and read in such of the second:
     * a call of the system each. UCX's own are 8 and 64 KiB: 64 KiB 22 us, so 9, 4 MiB 720 and
     * 430. Larger ones gain nothing. Only a connection with something in it holds a buffer. */
    if (!getenv("UCX_TCP_TX_SEG_SIZE"))
        ucp_config_modify(config, "TX_SEG_SIZE", "64k");
    if (!getenv("UCX_TCP_RX_SEG_SIZE"))
        ucp_config_modify(config, "RX_SEG_SIZE", "512k");
    /* When it is opened, each shared-memory transport makes 512 buffers of 8 KiB, and writes to
     * half of their pages; 64 are in use at first. More are made when they are needed. */
    if (!getenv("UCX_MM_RX_BUFS_GROW") && !getenv("UCX_POSIX_RX_BUFS_GROW") &&
        !getenv("UCX_SYSV_RX_BUFS_GROW"))
        ucp_config_modify(config, "MM_RX_BUFS_GROW", "128");
    ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS |
            UCP_PARAM_FIELD_ESTIMATED_NUM_PPN | UCP_PARAM_FIELD_MT_WORKERS_SHARED,
        .features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_AMO32 |
            UCP_FEATURE_AMO64 | UCP_FEATURE_WAKEUP,
        .estimated_num_eps = (size_t) nm->params.peers,
        .estimated_num_ppn = (size_t) (nm->params.local_peers > 0 ? nm->params.local_peers : 1),
        .mt_workers_shared = 0
    };
    ucs = ucp_init(&params, config, &nm->context);
    ucp_config_release(config);
    return ucs;
}

static ucs_status_t worker_open(struct ucx_nm *nm)
{
    /* No thread mode of UCX: the core serializes. */
    ucp_worker_params_t params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED
    };
    ucs_status_t ucs = ucp_worker_create(nm->context, &params, &nm->worker);
    if (ucs == UCS_OK)
        ucs = ucp_worker_get_address(nm->worker, &nm->address, &nm->address_bytes);
    if (ucs == UCS_OK)
        ucs = ucp_worker_get_efd(nm->worker, &nm->fd);
    return ucs;
}

/* Eager messages travel over one lane unless the user asked for more: then they may overtake each
 * other. */
static int lanes_ordered(void)
{
    const char *lanes = getenv("UCX_MAX_EAGER_LANES");
    if (!lanes)
        lanes = getenv("UCX_MAX_EAGER_RAILS");
    return !lanes || atoi(lanes) <= 1;
}

void ucx_list_free(struct wdl_list *list)
{
    struct wdl_list *node;
    while ((node = wdl_list_pop(list)) != NULL)
        free(node);
}

/* Descriptors go after the worker, which may report on them until it is gone; memory goes before
 * the context that knows it. */
static void ucx_drop(struct ucx_nm *nm)
{
    nm->closing = 1;
    if (nm->address)
        ucp_worker_release_address(nm->worker, nm->address);
    if (nm->worker)
        ucp_worker_destroy(nm->worker);
    while (!wdl_list_empty(&nm->mems))
        ucx_mem_detach(&nm->base, wdl_container_of(nm->mems.next, struct wdl_nm_mem, link));
    while (!wdl_list_empty(&nm->types))
        ucx_type_destroy(&nm->base, wdl_container_of(nm->types.next, struct wdl_nm_type, link));
    if (nm->context)
        ucp_cleanup(nm->context);
    ucx_list_free(&nm->states);
    ucx_list_free(&nm->sends_busy);
    ucx_list_free(&nm->sends_free);
    ucx_list_free(&nm->atomics_busy);
    ucx_list_free(&nm->atomics_free);
    ucx_list_free(&nm->late);
    free(nm->ep);
    free(nm->queued_to);
    free(nm->lost);
    free(nm);
}

/* What is there before UCX is; NULL: memory is short. */
static struct ucx_nm *ucx_make(const struct wdl_nm_params *params)
{
    struct ucx_nm *nm = calloc(1, sizeof(*nm));
    if (!nm)
        return NULL;
    nm->base.ops = &wdl_nm_ucx_ops;
    nm->params = *params;
    struct wdl_list *lists[] = {
        &nm->sends_free, &nm->sends_busy, &nm->atomics_free, &nm->atomics_busy, &nm->kept,
        &nm->late, &nm->mems, &nm->rkeys, &nm->types, &nm->states
    };
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        wdl_list_init(lists[i]);
    nm->ep = calloc((size_t) params->peers, sizeof(*nm->ep));
    nm->queued_to = calloc((size_t) params->peers, sizeof(*nm->queued_to));
    nm->lost = calloc((size_t) params->peers, sizeof(*nm->lost));
    if (nm->ep && nm->queued_to && nm->lost)
        return nm;
    ucx_drop(nm);
    return NULL;
}

/* What UCX needs from the start. Its files of shared memory are as long as it likes: beyond the
 * limit on the size of files each is an error to it, and a signal to this thread, which ends
 * here. */
static ucs_status_t start(struct ucx_nm *nm, int *limited_out)
{
    static const struct timespec at_once = {0, 0};
    sigset_t too_long, before, waiting;
    sigemptyset(&too_long);
    sigaddset(&too_long, SIGXFSZ);
    sigpending(&waiting);
    pthread_sigmask(SIG_BLOCK, &too_long, &before);
    ucs_status_t ucs = context_open(nm);
    if (ucs == UCS_OK)
        ucs = worker_open(nm);
    if (ucs == UCS_OK && ucx_am_init(nm) != WDL_OK)
        ucs = UCS_ERR_NO_RESOURCE;
    *limited_out = !sigismember(&waiting, SIGXFSZ) &&
                   sigtimedwait(&too_long, NULL, &at_once) == SIGXFSZ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ucs;
}

/* Fewer open files than UCX wants for a start? */
static int files_are_few(long *files_out)
{
    enum { FEW = 128 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= FEW)
        return 0;
    *files_out = (long) limit.rlim_cur;
    return 1;
}

static int ucx_open(const struct wdl_nm_params *params, struct wdl_nm **nm_out, char *err,
                    size_t err_bytes)
{
    struct ucx_nm *nm = ucx_make(params);
    *nm_out = NULL;
    if (!nm) {
        snprintf(err, err_bytes, "out of memory");
        return WDL_ERR_NOMEM;
    }
    quiet();
    int limited;
    ucs_status_t ucs = start(nm, &limited);
    if (ucs != UCS_OK) {
        const char *tls = getenv("UCX_TLS");
        long files;
        if (limited)
            snprintf(err, err_bytes,
                     "UCX cannot be started: the limit on the size of files is too low for the "
                     "memory that it shares: raise it (ulimit -f)");
        else if (ucs == UCS_ERR_NO_RESOURCE || ucs == UCS_ERR_NO_MEMORY)
            snprintf(err, err_bytes, "UCX cannot be started: %s. Is there room in /dev/shm?",
                     ucs_status_string(ucs));
        else if (files_are_few(&files))
            snprintf(err, err_bytes,
                     "UCX cannot be started: %s. A process may have %ld files open: raise that "
                     "(ulimit -n)", ucs_status_string(ucs), files);
        else
            snprintf(err, err_bytes,
                     "UCX cannot be started: %s. UCX_TLS is %s%s%s: unset it, or name transports "
                     "that `ucx_info -d` lists",
                     ucs_status_string(ucs), tls ? "'" : "not set", tls ? tls : "",
                     tls ? "'" : "");
        ucx_drop(nm);
        return ucx_status(ucs) == WDL_AGAIN ? WDL_ERR_OTHER : ucx_status(ucs);
    }
    nm->ordered = lanes_ordered();
    nm->caps.am_bytes_max = UCX_AM_BYTES_MAX;
    nm->caps.key_bytes_max = WDL_NM_KEY_BYTES_MAX;
    /* what holds everywhere, which is little: rkey_caps knows more about each memory */
    nm->caps.domain = WDL_NM_DOMAIN_NONE;
    nm->caps.rma_needs_target = 1;
    /* UCX 1.13 over shared memory (uct_sm_ep_atomic64_fetch): AND and OR that fetch leave the word
     * as it is, XOR clears it */
    nm->caps.fetches = 1u << WDL_NM_ADD | 1u << WDL_NM_SWAP | 1u << WDL_NM_CSWAP;
    nm->caps.atomics_by_key = ucx_atomics_by_key(nm);
    nm->caps.has_rma = nm->caps.has_tag = nm->caps.has_wakeup = 1;
    *nm_out = &nm->base;
    return WDL_OK;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

/* Endpoints are closed in the orderly way, which sends what is still in them; a peer that is gone
 * must not hold us. */
static void endpoints_close(struct ucx_nm *nm)
{
    uint64_t end = now_ns() + 2000000000u;
    for (int peer = 0; peer < nm->params.peers; peer++) {
        ucp_request_param_t none = {.op_attr_mask = 0 };
        if (!nm->ep[peer])
            continue;
        ucs_status_ptr_t request = ucp_ep_close_nbx(nm->ep[peer], &none);
        if (!UCS_PTR_IS_PTR(request))
            continue;
        while (ucp_request_check_status(request) == UCS_INPROGRESS && now_ns() < end)
            ucp_worker_progress(nm->worker);
        ucp_request_free(request);
    }
}

static void ucx_close(struct wdl_nm *base)
{
    struct ucx_nm *nm = ucx_of(base);
    nm->closing = 1;
    endpoints_close(nm);
    while (!wdl_list_empty(&nm->rkeys))
        ucx_rkey_close(base, wdl_container_of(nm->rkeys.next, struct wdl_nm_rkey, link));
    ucx_am_release(nm);
    ucx_drop(nm);
}

static int ucx_address(struct wdl_nm *base, const void **addr_out, size_t *bytes_out)
{
    *addr_out = ucx_of(base)->address;
    *bytes_out = ucx_of(base)->address_bytes;
    return WDL_OK;
}

static const struct wdl_nm_caps *ucx_caps(struct wdl_nm *base)
{
    return &ucx_of(base)->caps;
}

static int ucx_get_ordering(struct wdl_nm *base)
{
    return ucx_of(base)->ordered;
}

/* What there is now; what a callback adds waits for the next poll. */
static int late_deliver(struct ucx_nm *nm)
{
    struct wdl_list *last = nm->late.prev, *node;
    int n = 0;
    do {
        node = wdl_list_pop(&nm->late);
        struct ucx_late *late = wdl_container_of(node, struct ucx_late, link);
        ucx_complete(nm, late->comp, &late->info);
        free(late);
        n++;
    } while (node != last);
    return n;
}

static int losses_say(struct ucx_nm *nm)
{
    int n = 0;
    for (int peer = 0; peer < nm->params.peers && nm->losses > 0; peer++) {
        if (nm->lost[peer] != UCX_LOST)
            continue;
        nm->lost[peer] = UCX_LOST_SAID;
        nm->losses--;
        n++;
        nm->in_core = 1;
        if (nm->params.on_lost)
            nm->params.on_lost(nm->params.ctx, peer);
        nm->in_core = 0;
    }
    return n;
}

static int ucx_poll(struct wdl_nm *base)
{
    struct ucx_nm *nm = ucx_of(base);
    int n = 0;
    wdl_assert(!nm->polling);
    nm->polling = 1;
    if (nm->losses > 0)
        n += losses_say(nm);
    if (!wdl_list_empty(&nm->late))
        n += late_deliver(nm);
    if (!wdl_list_empty(&nm->kept))
        n += ucx_am_redeliver(nm);
    nm->progressing = 1;
    n += (int) ucp_worker_progress(nm->worker);
    nm->progressing = 0;
    nm->polling = 0;
    return n;
}

static int ucx_arm(struct wdl_nm *base, int *fd_out)
{
    struct ucx_nm *nm = ucx_of(base);
    if (!wdl_list_empty(&nm->late) || !wdl_list_empty(&nm->kept) || nm->losses > 0)
        return WDL_AGAIN;
    ucs_status_t ucs = ucp_worker_arm(nm->worker);
    *fd_out = nm->fd;
    return ucs == UCS_OK ? WDL_OK : WDL_AGAIN;
}

const struct wdl_nm_ops wdl_nm_ucx_ops = {
    .name = "ucx",
    .open = ucx_open,
    .close = ucx_close,
    .address = ucx_address,
    .caps = ucx_caps,
    .get_ordering = ucx_get_ordering,
    .describe = ucx_describe,
    .poll = ucx_poll,
    .arm = ucx_arm,
    .am = ucx_am,
    .mem_attach = ucx_mem_attach,
    .mem_alloc = ucx_mem_alloc,
    .mem_detach = ucx_mem_detach,
    .mem_key = ucx_mem_key,
    .rkey_open = ucx_rkey_open,
    .rkey_close = ucx_rkey_close,
    .rkey_caps = ucx_rkey_caps,
    .map = ucx_map,
    .put = ucx_put,
    .get = ucx_get,
    .atomic = ucx_atomic,
    .flush = ucx_flush,
    .type_create = ucx_type_create,
    .type_destroy = ucx_type_destroy,
    .tag_send = ucx_tag_send,
    .tag_recv = ucx_tag_recv,
    .tag_probe = ucx_tag_probe,
    .tag_recv_msg = ucx_tag_recv_msg,
    .tag_cancel = ucx_tag_cancel,
};
