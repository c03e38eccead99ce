/* Part of Windlass. See COPYRIGHT in the top-level directory. UCX netmod: tagged messages, which
 * UCX matches. */
#include "netmod/ucx/ucx_impl.h"
#include <string.h>

/* --- non-contiguous layouts: UCX asks for stretches of the packed stream --- */

struct type_state {
    struct wdl_list link;
    struct wdl_nm_type *type;
    void *buffer;
    size_t count;
    struct wdl_nm_comp *comp;   /* of a receive; NULL: of a send */
};

static void *state_start(void *context, void *buffer, size_t count)
{
    struct type_state *state = malloc(sizeof(*state));
    if (state) {
        state->type = context;
        state->buffer = buffer;
        state->count = count;
        state->comp = state->type->nm->receiving;
        wdl_list_push(&state->type->nm->states, &state->link);
    }
    return state;
}

static void *state_start_pack(void *context, const void *buffer, size_t count)
{
    return state_start(context, (void *) (uintptr_t) buffer, count);
}

static size_t state_packed_size(void *arg)
{
    struct type_state *s = arg;
    return s->type->ops->packed_bytes(s->type->ctx, s->buffer, s->count);
}

static size_t state_pack(void *arg, size_t offset, void *dest, size_t max)
{
    struct type_state *s = arg;
    return s->type->ops->pack(s->type->ctx, s->buffer, s->count, offset, dest, max);
}

static ucs_status_t state_unpack(void *arg, size_t offset, const void *src, size_t bytes)
{
    struct type_state *s = arg;
    size_t n = s->type->ops->unpack(s->type->ctx, s->buffer, s->count, offset, src, bytes);
    return n == bytes ? UCS_OK : UCS_ERR_MESSAGE_TRUNCATED;
}

static void state_finish(void *arg)
{
    struct type_state *s = arg;
    wdl_list_remove(&s->link);
    free(s);
}

/* UCX makes one when a receive is posted, and does not finish that of one that is cancelled. */
static void state_cancelled(struct ucx_nm *nm, const struct wdl_nm_comp *comp)
{
    struct wdl_list *link, *next;
    for (link = nm->states.next; link != &nm->states; link = next) {
        struct type_state *state = wdl_container_of(link, struct type_state, link);
        next = link->next;
        if (state->comp == comp)
            state_finish(state);
    }
}

int ucx_type_create(struct wdl_nm *base, const struct wdl_nm_type_ops *ops, void *type_ctx,
                    struct wdl_nm_type **type_out)
{
    static const ucp_generic_dt_ops_t generic = {
        .start_pack = state_start_pack,
        .start_unpack = state_start,
        .packed_size = state_packed_size,
        .pack = state_pack,
        .unpack = state_unpack,
        .finish = state_finish
    };
    struct wdl_nm_type *type = malloc(sizeof(*type));
    *type_out = NULL;
    if (!type)
        return WDL_ERR_NOMEM;
    type->nm = ucx_of(base);
    type->ops = ops;
    type->ctx = type_ctx;
    ucs_status_t ucs = ucp_dt_create_generic(&generic, type, &type->dt);
    if (ucs != UCS_OK) {
        free(type);
        return ucx_status(ucs);
    }
    wdl_list_push(&type->nm->types, &type->link);
    *type_out = type;
    return WDL_OK;
}

void ucx_type_destroy(struct wdl_nm *base, struct wdl_nm_type *type)
{
    (void) base;
    ucp_dt_destroy(type->dt);
    wdl_list_remove(&type->link);
    free(type);
}

static ucp_datatype_t buf_datatype(const struct wdl_nm_buf *buf)
{
    return buf->type ? buf->type->dt : ucp_dt_make_contig(1);
}

int ucx_tag_send(struct wdl_nm *base, int peer, uint64_t tag, const struct wdl_nm_buf *buf,
                 int flags, struct wdl_nm_comp *comp)
{
    ucp_ep_h ep;
    int status = ucx_ep(ucx_of(base), peer, &ep);
    if (status != WDL_OK)
        return status;
    if (flags & WDL_NM_TAG_NOW) {
        static const ucp_request_param_t now = {.op_attr_mask = UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL };
        if (buf->type)
            return WDL_AGAIN;
        return ucx_started(NULL, ucp_tag_send_nbx(ep, buf->addr, buf->count, tag, &now));
    }
    ucp_request_param_t param;
    ucx_param(&param, ucx_of(base), comp);
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    param.datatype = buf_datatype(buf);
    if (flags & WDL_NM_TAG_SYNC)
        return ucx_started(comp, ucp_tag_send_sync_nbx(ep, buf->addr, buf->count, tag, &param));
    return ucx_started(comp, ucp_tag_send_nbx(ep, buf->addr, buf->count, tag, &param));
}

static void info_fill(struct wdl_nm_info *out, ucs_status_t status, const ucp_tag_recv_info_t *info)
{
    out->status = ucx_status(status);
    out->tag = info ? info->sender_tag : 0;
    out->bytes = info ? info->length : 0;
}

/* Of a receive that is done in the call UCX does not always say what was received (of some in
 * several pieces and of those cut short it does not, UCP_OP_ATTR_FIELD_RECV_INFO or not), unless it
 * is told to call back even then: the callback knows from `receiving` that it runs inside the call,
 * and leaves the information there. */
static void recv_cb(void *request, ucs_status_t status, const ucp_tag_recv_info_t *tag_info,
                    void *user_data)
{
    struct wdl_nm_comp *comp = user_data;
    struct ucx_nm *nm = comp->owner;
    struct wdl_nm_info info;
    info_fill(&info, status, tag_info);
    if (status == UCS_ERR_CANCELED)
        state_cancelled(nm, comp);
    ucp_request_free(request);
    if (nm->receiving == comp) {
        nm->received = info;
        nm->receiving = NULL;
    } else {
        ucx_complete(nm, comp, &info);
    }
}

static void recv_param(ucp_request_param_t *param, struct ucx_nm *nm, const struct wdl_nm_buf *buf,
                       struct wdl_nm_comp *comp)
{
    param->op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
        UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    param->cb.recv = recv_cb;
    param->user_data = comp;
    param->datatype = buf_datatype(buf);
    comp->owner = nm;
    nm->receiving = comp;
}

static int recv_started(struct ucx_nm *nm, struct wdl_nm_comp *comp, ucs_status_ptr_t request,
                        struct wdl_nm_info *info_out)
{
    int done = nm->receiving == NULL;
    nm->receiving = NULL;
    if (done) {
        *info_out = nm->received;
        return WDL_OK;
    }
    return ucx_started(comp, request);
}

int ucx_tag_recv(struct wdl_nm *base, uint64_t tag, uint64_t mask, const struct wdl_nm_buf *buf,
                 struct wdl_nm_comp *comp, struct wdl_nm_info *info_out)
{
    struct ucx_nm *nm = ucx_of(base);
    ucp_request_param_t param;
    recv_param(&param, nm, buf, comp);
    return recv_started(nm, comp, ucp_tag_recv_nbx(nm->worker, buf->addr, buf->count, tag, mask,
                                                   &param), info_out);
}

int ucx_tag_probe(struct wdl_nm *base, uint64_t tag, uint64_t mask, struct wdl_nm_info *info_out,
                  struct wdl_nm_msg **msg_out)
{
    ucp_tag_recv_info_t info;
    ucp_tag_message_h msg =
        ucp_tag_probe_nb(ucx_of(base)->worker, tag, mask, msg_out != NULL, &info);
    if (!msg)
        return WDL_AGAIN;
    info_fill(info_out, UCS_OK, &info);
    if (msg_out)
        *msg_out = (struct wdl_nm_msg *) msg;
    return WDL_OK;
}

int ucx_tag_recv_msg(struct wdl_nm *base, struct wdl_nm_msg *msg, const struct wdl_nm_buf *buf,
                     struct wdl_nm_comp *comp, struct wdl_nm_info *info_out)
{
    struct ucx_nm *nm = ucx_of(base);
    ucp_request_param_t param;
    recv_param(&param, nm, buf, comp);
    return recv_started(nm, comp, ucp_tag_msg_recv_nbx(nm->worker, buf->addr, buf->count,
                                                       (ucp_tag_message_h) msg, &param), info_out);
}

void ucx_tag_cancel(struct wdl_nm *base, struct wdl_nm_comp *comp)
{
    if (comp->handle)
        ucp_request_cancel(ucx_of(base)->worker, comp->handle);
}
