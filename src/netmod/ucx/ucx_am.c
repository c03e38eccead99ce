/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * UCX netmod: active messages, always eager, so that they keep their order on one lane and arrive
 * whole. Small ones are copied together; larger ones go as an iov of header and pieces, which UCX
 * packs.
 */
#include "netmod/ucx/ucx_impl.h"
#include <string.h>

static ucs_status_t am_keep(struct ucx_nm *nm, void *data, size_t bytes, int persistent)
{
    struct ucx_am_kept *kept = malloc(sizeof(*kept));
    if (!kept)
        abort();                /* a received message can be neither refused nor lost */
    kept->data = data;
    kept->bytes = bytes;
    kept->ours = !persistent;
    if (!persistent) {
        kept->data = malloc(bytes ? bytes : 1);
        if (!kept->data)
            abort();
        memcpy(kept->data, data, bytes);
    }
    wdl_list_push(&nm->kept, &kept->link);
    return persistent ? UCS_INPROGRESS : UCS_OK;
}

static int am_deliver(struct ucx_nm *nm, const void *data, size_t bytes)
{
    nm->in_core = 1;
    int status = nm->params.on_am(nm->params.ctx, data, bytes);
    nm->in_core = 0;
    return status;
}

static ucs_status_t am_received(void *arg, const void *header, size_t header_length, void *data,
                                size_t length, const ucp_am_recv_param_t *param)
{
    struct ucx_nm *nm = arg;
    int persistent = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
    (void) header;
    (void) header_length;
    if (nm->closing || (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV))
        return UCS_OK;          /* dropped, or not one of ours: we never send by rendezvous */
    if (!wdl_list_empty(&nm->kept) || !ucx_may_call(nm))
        return am_keep(nm, data, length, persistent);
    if (am_deliver(nm, data, length) == WDL_AGAIN)
        return am_keep(nm, data, length, persistent);
    return UCS_OK;
}

static void am_kept_free(struct ucx_nm *nm, struct ucx_am_kept *kept)
{
    if (kept->ours)
        free(kept->data);
    else
        ucp_am_data_release(nm->worker, kept->data);
    free(kept);
}

/* What was kept before this call; what a callback adds waits for the next poll. */
int ucx_am_redeliver(struct ucx_nm *nm)
{
    struct wdl_list *last = nm->kept.prev, *node;
    int n = 0;
    do {
        node = nm->kept.next;
        struct ucx_am_kept *kept = wdl_container_of(node, struct ucx_am_kept, link);
        if (am_deliver(nm, kept->data, kept->bytes) == WDL_AGAIN)
            break;
        wdl_list_remove(&kept->link);
        am_kept_free(nm, kept);
        n++;
    } while (node != last);
    return n;
}

int ucx_am_init(struct ucx_nm *nm)
{
    ucp_am_handler_param_t param = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
            UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = UCX_AM_ID,
        .cb = am_received,
        .arg = nm
    };
    return ucx_status(ucp_worker_set_am_recv_handler(nm->worker, &param));
}

void ucx_am_release(struct ucx_nm *nm)
{
    struct wdl_list *node;
    while ((node = wdl_list_pop(&nm->kept)) != NULL)
        am_kept_free(nm, wdl_container_of(node, struct ucx_am_kept, link));
}

/* Descriptors of messages in flight are kept for reuse: in a steady state nothing is allocated. */
static struct ucx_am_send *send_get(struct ucx_nm *nm)
{
    struct wdl_list *node = wdl_list_pop(&nm->sends_free);
    struct ucx_am_send *send = node ? wdl_container_of(node, struct ucx_am_send, link)
                                    : malloc(sizeof(*send));
    if (send)
        wdl_list_push(&nm->sends_busy, &send->link);
    return send;
}

static void send_put(struct ucx_am_send *send)
{
    wdl_list_remove(&send->link);
    wdl_list_push_front(&send->nm->sends_free, &send->link);
}

/* UCX would queue messages for a peer that does not poll until memory is exhausted. Past
 * QUEUED_MOST of all together, one with QUEUED_FEW waiting gets no more: it keeps no other peer
 * from its answers. Most are copied, 2 KiB of descriptor each. */
enum { QUEUED_MOST = 1024, QUEUED_FEW = 16 };

static int is_full(const struct ucx_nm *nm, int peer)
{
    return nm->queued >= QUEUED_MOST && nm->queued_to[peer] >= QUEUED_FEW;
}

static void am_sent(void *request, ucs_status_t status, void *user_data)
{
    struct ucx_am_send *send = user_data;
    struct wdl_nm_comp *comp = send->comp;
    struct ucx_nm *nm = send->nm;
    nm->queued--;
    nm->queued_to[send->peer]--;
    send_put(send);
    ucp_request_free(request);
    if (comp) {
        struct wdl_nm_info info = {.status = ucx_status(status) };
        ucx_complete(nm, comp, &info);
    }
}

static size_t send_fill(struct ucx_am_send *send, const void *hdr, size_t hdr_bytes, size_t bytes,
                        const struct wdl_nm_iov *iov, int niov, ucp_request_param_t *param,
                        const void **buffer)
{
    if (hdr_bytes)
        memcpy(send->small, hdr, hdr_bytes);
    if (bytes <= UCX_AM_SMALL) {
        size_t at = hdr_bytes;
        for (int i = 0; i < niov; at += iov[i].bytes, i++)
            if (iov[i].bytes)
                memcpy(send->small + at, iov[i].base, iov[i].bytes);
        *buffer = send->small;
        return bytes;
    }
    send->iov[0].buffer = send->small;
    send->iov[0].length = hdr_bytes;
    for (int i = 0; i < niov; i++) {
        send->iov[i + 1].buffer = (void *) (uintptr_t) iov[i].base;
        send->iov[i + 1].length = iov[i].bytes;
    }
    param->op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    param->datatype = ucp_dt_make_iov();
    *buffer = send->iov;
    return (size_t) niov + 1;
}

int ucx_am(struct wdl_nm *base, int peer, const void *hdr, size_t hdr_bytes,
           const struct wdl_nm_iov *iov, int niov, struct wdl_nm_comp *comp)
{
    struct ucx_nm *nm = ucx_of(base);
    const void *buffer;
    ucp_ep_h ep;
    size_t bytes = hdr_bytes;
    if (niov < 0 || niov > WDL_NM_IOV_MAX || hdr_bytes > WDL_NM_HDR_BYTES_MAX)
        return WDL_ERR_ARG;
    for (int i = 0; i < niov; i++)
        bytes += iov[i].bytes;
    if (bytes > UCX_AM_BYTES_MAX)
        return WDL_ERR_ARG;
    int status = ucx_ep(nm, peer, &ep);
    if (status != WDL_OK)
        return status;
    if (is_full(nm, peer))
        return WDL_AGAIN;
    struct ucx_am_send *send = send_get(nm);
    if (!send)
        return WDL_ERR_NOMEM;
    send->nm = nm;
    send->peer = peer;
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
            UCP_OP_ATTR_FIELD_FLAGS,
        .flags = UCP_AM_SEND_FLAG_EAGER,
        .cb.send = am_sent,
        .user_data = send
    };
    size_t count = send_fill(send, hdr, hdr_bytes, bytes, iov, niov, &param, &buffer);
    int copied = buffer == send->small;
    send->comp = copied ? NULL : comp;
    status = ucx_started(NULL, ucp_am_send_nbx(ep, UCX_AM_ID, NULL, 0, buffer, count, &param));
    if (status == WDL_PENDING) {
        nm->queued++;
        nm->queued_to[peer]++;
        return copied ? WDL_OK : WDL_PENDING;
    }
    send_put(send);
    return status;
}
