/* Part of Windlass. See COPYRIGHT in the top-level directory. One MPI process: opening, dispatch,
 * progress, closing. */
#include "mpid/proc/proc.h"
#include <string.h>
#include "base/assert.h"
#include "base/bits.h"

enum { BOUNCE_COUNT = 64 };

wdl_static_assert(sizeof(struct wdl_am_hdr) == 8);

/* The netmod's callback: a message came. What is no message of ours is counted and dropped. */
static int proc_on_am(void *ctx, const void *data, size_t bytes)
{
    struct wdl_proc *proc = ctx;
    struct wdl_am_hdr hdr;
    if (bytes < sizeof(hdr)) {
        proc->stats.malformed++;
        return WDL_OK;
    }
    memcpy(&hdr, data, sizeof(hdr));
    if (hdr.magic != WDL_AM_MAGIC || hdr.id >= WDL_AM_COUNT || hdr.src >= (uint32_t) proc->peers ||
        !proc->am[hdr.id].fn) {
        proc->stats.malformed++;
        return WDL_OK;
    }
    int status = proc->am[hdr.id].fn(proc->am[hdr.id].module, (int) hdr.src,
                                     (const char *) data + sizeof(hdr), bytes - sizeof(hdr));
    if (status == WDL_AGAIN) {
        proc->stats.am_deferred++;
        return WDL_AGAIN;
    }
    proc->stats.am_received++;
    if (wdl_status_is_error(status))
        proc->stats.malformed++;
    return WDL_OK;
}

static void proc_on_lost(void *ctx, int peer)
{
    struct wdl_proc *proc = ctx;
    const struct wdl_host *host = &proc->host;
    if (!proc->lost)
        proc->lost = host->ops->alloc(host->ctx, wdl_bits_bytes((size_t) proc->peers));
    if (wdl_bits_have(proc->lost, (unsigned) peer))
        return;
    if (proc->lost)
        wdl_bits_add(proc->lost, (unsigned) peer);
    proc->lost_peers++;
    host->ops->peer_lost(host->ctx, peer);
}

static int proc_address_of(void *ctx, int peer, const void **addr_out, size_t *bytes_out)
{
    struct wdl_proc *proc = ctx;
    return proc->host.ops->address_of(proc->host.ctx, peer, addr_out, bytes_out);
}

/* A bounce buffer left the process: it goes home. */
static void bounce_sent(struct wdl_nm_comp *comp, const struct wdl_nm_info *info)
{
    (void) info;                /* a lost peer is reported by on_lost */
    wdl_bounce_put(wdl_container_of(comp, struct wdl_bounce, comp));
}

static int bounces_make(struct wdl_proc *proc, int count)
{
    const struct wdl_host *host = &proc->host;
    size_t data = (proc->am_payload_max + 63) & ~(size_t) 63;
    char *memory = host->ops->alloc(host->ctx, (size_t) count * (sizeof(struct wdl_bounce) + data));
    if (!memory)
        return WDL_ERR_NOMEM;
    proc->bounce_all = (struct wdl_bounce *) (void *) memory;
    proc->bounce_count = count;
    for (int i = 0; i < count; i++) {
        struct wdl_bounce *bounce = &proc->bounce_all[i];
        bounce->comp.fn = bounce_sent;
        bounce->proc = proc;
        bounce->data = memory + (size_t) count * sizeof(*bounce) + (size_t) i * data;
        wdl_list_push(&proc->bounce_free, &bounce->link);
    }
    return WDL_OK;
}

int wdl_proc_create(const struct wdl_proc_params *params, struct wdl_proc **proc_out, char *err,
                    size_t err_bytes)
{
    const struct wdl_host *host = &params->host;
    struct wdl_proc *proc = host->ops->alloc(host->ctx, sizeof(*proc));
    *proc_out = NULL;
    if (!proc) {
        snprintf(err, err_bytes, "out of memory");
        return WDL_ERR_NOMEM;
    }
    proc->host = params->host;
    proc->rank = params->rank;
    proc->peers = params->peers;
    wdl_list_init(&proc->bounce_free);
    struct wdl_nm_params nm = {
        .rank = params->rank,.peers = params->peers,.ctx = proc,.on_am = proc_on_am,
        .on_lost = proc_on_lost,.address_of = proc_address_of,.fabric = params->fabric,
        .local_peers = params->local_peers
    };
    int status = params->netmod->open(&nm, &proc->nm, err, err_bytes);
    if (status == WDL_OK) {
        proc->ordered = proc->nm->ops->get_ordering(proc->nm);
        proc->am_payload_max =
            proc->nm->ops->caps(proc->nm)->am_bytes_max - sizeof(struct wdl_am_hdr);
        status = bounces_make(proc, params->bounce_count ? params->bounce_count : BOUNCE_COUNT);
        if (status != WDL_OK) {
            proc->nm->ops->close(proc->nm);
            snprintf(err, err_bytes, "out of memory for message buffers");
        }
    }
    if (status != WDL_OK) {
        host->ops->free(host->ctx, proc);
        return status;
    }
    *proc_out = proc;
    return WDL_OK;
}

void wdl_proc_destroy(struct wdl_proc *proc)
{
    struct wdl_host host = proc->host;
    for (int id = 0; id < WDL_AM_COUNT; id++)
        wdl_assert(!proc->step[id].fn);
    /* To a lost peer a message may be under way for ever; the network drops it when it closes. */
    if (proc->lost_peers == 0)
        wdl_assert_cmp(proc->bounce_out, ==, 0);
    proc->nm->ops->close(proc->nm);
    host.ops->free(host.ctx, proc->bounce_all);
    if (proc->lost)
        host.ops->free(host.ctx, proc->lost);
    host.ops->free(host.ctx, proc);
}

static int modules_step(struct wdl_proc *proc)
{
    int n = 0;
    for (int id = 0; id < WDL_AM_COUNT; id++)
        if (proc->step[id].fn)
            n += proc->step[id].fn(proc->step[id].module);
    return n;
}

int wdl_proc_progress(struct wdl_proc *proc)
{
    int n = proc->nm->ops->poll(proc->nm);
    return n + modules_step(proc);
}

int wdl_proc_look(struct wdl_proc *proc)
{
    int n = proc->nm->ops->poll(proc->nm);
    return n > 0 ? n + modules_step(proc) : 0;
}

void wdl_am_register(struct wdl_proc *proc, enum wdl_am_id id, wdl_am_fn fn, void *module)
{
    wdl_assert_cmp(id, <, WDL_AM_COUNT);
    proc->am[id].fn = fn;
    proc->am[id].module = module;
}

void wdl_step_register(struct wdl_proc *proc, enum wdl_am_id id, wdl_step_fn fn, void *module)
{
    wdl_assert_cmp(id, <, WDL_AM_COUNT);
    wdl_assert(!fn || !proc->step[id].fn);
    proc->step[id].fn = fn;
    proc->step[id].module = module;
}

/* Send hdr behind the message header; hdr is small: both are copied into one piece on the stack. */
int wdl_am_send(struct wdl_proc *proc, int peer, enum wdl_am_id id, const void *hdr,
                size_t hdr_bytes, const void *payload, size_t payload_bytes,
                struct wdl_nm_comp *comp)
{
    char head[sizeof(struct wdl_am_hdr) + 120];
    struct wdl_am_hdr am = { WDL_AM_MAGIC, (uint16_t) id, (uint32_t) proc->rank };
    struct wdl_nm_iov iov = { payload, payload_bytes };
    wdl_assert_cmp(hdr_bytes, <=, sizeof(head) - sizeof(am));
    wdl_assert_cmp(hdr_bytes + payload_bytes, <=, proc->am_payload_max);
    memcpy(head, &am, sizeof(am));
    if (hdr_bytes)
        memcpy(head + sizeof(am), hdr, hdr_bytes);
    int status = proc->nm->ops->am(proc->nm, peer, head, sizeof(am) + hdr_bytes, &iov,
                                   payload_bytes > 0, comp);
    if (status == WDL_OK || status == WDL_PENDING) {
        proc->stats.am_sent++;
        proc->stats.am_bytes_sent += hdr_bytes + payload_bytes;
    }
    return status;
}

struct wdl_bounce *wdl_bounce_get(struct wdl_proc *proc)
{
    struct wdl_list *node = wdl_list_pop(&proc->bounce_free);
    if (!node)
        return NULL;
    proc->bounce_out++;
    return wdl_container_of(node, struct wdl_bounce, link);
}

void wdl_bounce_put(struct wdl_bounce *bounce)
{
    wdl_assert_cmp(bounce->proc->bounce_out, >, 0);
    bounce->proc->bounce_out--;
    wdl_list_push_front(&bounce->proc->bounce_free, &bounce->link);
}

int wdl_bounce_send(struct wdl_bounce *bounce, int peer, enum wdl_am_id id, const void *hdr,
                    size_t hdr_bytes, size_t payload_bytes)
{
    int status = wdl_am_send(bounce->proc, peer, id, hdr, hdr_bytes, bounce->data, payload_bytes,
                             &bounce->comp);
    if (status == WDL_OK)
        wdl_bounce_put(bounce);
    return status == WDL_PENDING ? WDL_OK : status;
}
