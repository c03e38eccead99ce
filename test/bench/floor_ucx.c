/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What UCX's tags take without any MPI: a receive is posted, a message sent, the worker polled, and
 * that is all. Nothing that is matched by them can be faster. Two processes tell each other their
 * addresses in the memory they share.
 */
#define _GNU_SOURCE
#include "floor.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

enum { ADDRESS_MAX = 4096, BYTES_LAST = 4096 };

struct floor_ucx {
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_ep_h peer;
    int received;
};

struct address {                /* at the beginning of the shared bytes, one per process */
    atomic_size_t bytes;        /* 0: not there yet */
    char address[ADDRESS_MAX];
};

static void received(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info, void *arg)
{
    struct floor_ucx *ucx = arg;
    (void) info;
    ucp_request_free(request);
    if (status != UCS_OK)
        abort();
    ucx->received = 1;
}

static void wait_for(struct floor_ucx *ucx, ucs_status_ptr_t request)
{
    if (request == NULL)
        return;
    if (UCS_PTR_IS_ERR(request))
        abort();
    while (ucp_request_check_status(request) == UCS_INPROGRESS)
        ucp_worker_progress(ucx->worker);
    ucp_request_free(request);
}

static void out(const struct job *j)
{
    const ucp_request_param_t param = {.op_attr_mask = 0 };
    wait_for(j->ucx, ucp_tag_send_nbx(j->ucx->peer, j->private, (size_t) j->bytes, 1, &param));
}

static void in(const struct job *j)
{
    struct floor_ucx *ucx = j->ucx;
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
            UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
        .cb.recv = received,
        .user_data = ucx
    };
    ucx->received = 0;
    if (UCS_PTR_IS_ERR(ucp_tag_recv_nbx(ucx->worker, j->private, (size_t) j->bytes, 1,
                                        (ucp_tag_t) -1, &param)))
        abort();
    while (!ucx->received)
        ucp_worker_progress(ucx->worker);
}

static void round_trips(struct job *j, long n)
{
    for (long i = 0; i < n; i++) {
        out(j);
        in(j);
    }
}

static void answer(struct job *j)
{
    for (;;) {
        in(j);
        out(j);
    }
}

static int open_worker(struct floor_ucx *ucx)
{
    const ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES,
        .features = UCP_FEATURE_TAG
    };
    const ucp_worker_params_t single = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SINGLE
    };
    ucp_config_t *config;
    if (ucp_config_read(NULL, NULL, &config) != UCS_OK)
        return 1;
    ucs_status_t status = ucp_init(&params, config, &ucx->context);
    ucp_config_release(config);
    return status != UCS_OK || ucp_worker_create(ucx->context, &single, &ucx->worker) != UCS_OK;
}

/* Shows our address, and connects to the other process. */
static int meet(struct job *j, int rank)
{
    struct address *all = (void *) j->shared->bytes;
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS };
    ucp_address_t *address;
    size_t bytes;
    if (ucp_worker_get_address(j->ucx->worker, &address, &bytes) != UCS_OK || bytes > ADDRESS_MAX)
        return 1;
    memcpy(all[rank].address, address, bytes);
    ucp_worker_release_address(j->ucx->worker, address);
    atomic_store(&all[rank].bytes, bytes);
    for (long ms = 0; atomic_load(&all[1 - rank].bytes) == 0; ms++) {
        if (ms > 10000)
            return 1;
        usleep(1000);
    }
    params.address = (void *) all[1 - rank].address;
    return ucp_ep_create(j->ucx->worker, &params, &j->ucx->peer) != UCS_OK;
}

int floor_ucx_rows(struct job *j)
{
    struct floor_ucx ucx = { 0 };
    j->ucx = &ucx;
    memset(j->shared->bytes, 0, 2 * sizeof(struct address));
    for (j->bytes = 8; j->bytes <= BYTES_LAST; j->bytes *= 8) {
        pid_t partner = fork();
        if (partner < 0)
            return 1;
        if (partner == 0) {
            if (floor_pin(j, 1) && open_worker(&ucx) == 0 && meet(j, 1) == 0)
                answer(j);
            _exit(1);
        }
        floor_pin(j, 0);
        int failed = open_worker(&ucx) || meet(j, 0);
        if (!failed)
            floor_row(j, "ucx_tags", round_trips, 2);
        kill(partner, SIGKILL);
        waitpid(partner, NULL, 0);
        if (failed)
            return 1;
        memset(j->shared->bytes, 0, 2 * sizeof(struct address));
    }
    return 0;
}
