/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Keys of the direct path: asked for, answered, kept. Where a window has got several keys of which
 * none was of use it stops asking: the network needs the targets' processors for such memory.
 */
#include "mpid/rma/win_impl.h"

/* keys in vain before a window gives up; how often a rank may be turned away from a place */
enum { KEYS_TRIED = 4, RIVALS = 8 };

int wdl_keys_init(struct wdl_win *win)
{
    const struct wdl_host *host = &win->proc->host;
    int most = win->rma->params.win_targets;
    if (!win->params.direct || !win->proc->nm->ops->caps(win->proc->nm)->has_rma ||
        win->params.flavor == WDL_WIN_DYNAMIC)
        return WDL_OK;
    most = most < win->params.size ? most : win->params.size;
    win->keys = host->ops->alloc(host->ctx, (size_t) most * sizeof(win->keys[0]));
    if (!win->keys)
        return WDL_ERR_NOMEM;
    win->nkeys = most;
    return WDL_OK;
}

static void key_empty(struct wdl_win *win, struct wdl_key *key)
{
    struct wdl_nm *nm = win->proc->nm;
    if (key->phase == WDL_KEY_OPEN)
        nm->ops->rkey_close(nm, key->rkey);
    key->phase = WDL_KEY_EMPTY;
    key->rkey = NULL;
}

void wdl_keys_fini(struct wdl_win *win)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_nm *nm = win->proc->nm;
    for (int i = 0; i < win->nkeys; i++)
        key_empty(win, &win->keys[i]);
    if (win->keys)
        host->ops->free(host->ctx, win->keys);
    win->keys = NULL;
    win->nkeys = 0;
    if (win->mem)
        nm->ops->mem_detach(nm, win->mem);
    win->mem = NULL;
}

static struct wdl_key *key_place(const struct wdl_win *win, int rank)
{
    return &win->keys[rank % win->nkeys];
}

/* May the place be taken from the rank that has it? */
static int may_leave(const struct wdl_win *win, struct wdl_key *key)
{
    const struct wdl_target *t = wdl_target_find(win, key->rank);
    if (key->phase == WDL_KEY_EMPTY)
        return 1;
    return key->phase != WDL_KEY_ASKED && ++key->rivals > RIVALS && !(t && wdl_direct_busy(t));
}

static void key_ask(struct wdl_target *t, struct wdl_key *key)
{
    struct wdl_win *win = t->win;
    struct wdl_pkt pkt;
    if (win->keys_useful == 0 && win->keys_useless >= KEYS_TRIED)
        return;
    wdl_pkt_init(&pkt, win, WDL_PKT_KEY);
    if (wdl_pkt_send(win, t->rank, &pkt) != WDL_OK)
        return;                 /* the next operation asks again */
    key->rank = t->rank;
    key->rivals = 0;
    key->phase = WDL_KEY_ASKED;
    t->direct.key_due = 1;
}

struct wdl_key *wdl_key_get(struct wdl_target *t)
{
    struct wdl_win *win = t->win;
    struct wdl_key *key = key_place(win, t->rank);
    if (key->rank == t->rank && key->phase == WDL_KEY_OPEN) {
        key->rivals = 0;
        return key;
    }
    if (key->rank != t->rank && may_leave(win, key))
        key_empty(win, key);
    if (key->phase == WDL_KEY_EMPTY)
        key_ask(t, key);
    return NULL;
}

/* --- the target ------------------------------------------------------------------------------- */

/* This process's own key: WDL_OK and *bytes of it, 0: there is none to give. */
static void own_key(struct wdl_win *win, void *key, size_t *bytes)
{
    struct wdl_nm *nm = win->proc->nm;
    int status = win->keys && win->params.bytes > 0 ? WDL_OK : WDL_ERR_UNSUPPORTED;
    if (status == WDL_OK && !win->mem && !win->params.mem)
        status = nm->ops->mem_attach(nm, win->params.base, win->params.bytes, &win->mem);
    if (status == WDL_OK)
        status = nm->ops->mem_key(nm, win->params.mem ? win->params.mem : win->mem, key, bytes);
    if (status != WDL_OK)
        *bytes = 0;
}

int wdl_key_asked(struct wdl_win *win, const struct wdl_pkt *pkt)
{
    struct wdl_bounce *bounce = wdl_bounce_get(win->proc);
    struct wdl_pkt answer;
    size_t bytes = WDL_NM_KEY_BYTES_MAX;
    if (!bounce)
        return WDL_AGAIN;
    wdl_assert_cmp(win->rma->chunk_bytes, >=, bytes);
    wdl_pkt_init(&answer, win, WDL_PKT_KEY_REPLY);
    own_key(win, bounce->data + sizeof(answer), &bytes);
    answer.offset = (uint64_t) (uintptr_t) win->params.base;
    answer.bytes = (uint32_t) bytes;
    wdl_reply_send(win, (int) pkt->origin, bounce, &answer, bytes);
    return WDL_OK;
}

/* --- the answer ------------------------------------------------------------------------------- */

/* Open it: WDL_OK, WDL_AGAIN, or an error where it is of no use. */
static int key_open(struct wdl_win *win, struct wdl_key *key, const char *bytes, size_t n)
{
    struct wdl_nm *nm = win->proc->nm;
    struct wdl_nm_caps caps;
    int status = nm->ops->rkey_open(nm, win->params.peer_of(win->params.ctx, key->rank), bytes, n,
                                    &key->rkey);
    if (status != WDL_OK)
        return status;
    nm->ops->rkey_caps(nm, key->rkey, &caps);
    win->keys_useful += !caps.rma_needs_target;
    win->keys_useless += caps.rma_needs_target;
    if (!caps.rma_needs_target)
        return WDL_OK;
    nm->ops->rkey_close(nm, key->rkey);
    key->rkey = NULL;
    return WDL_ERR_UNSUPPORTED;
}

int wdl_key_answered(struct wdl_win *win, const struct wdl_pkt *pkt, const char *payload,
                     size_t bytes)
{
    struct wdl_target *t = wdl_target_find(win, (int) pkt->origin);
    if (!t || !t->direct.key_due || pkt->bytes != bytes)
        return WDL_ERR_PROTO;
    struct wdl_key *key = key_place(win, t->rank);
    int status = bytes > 0 ? key_open(win, key, payload, bytes) : WDL_ERR_UNSUPPORTED;
    if (status == WDL_AGAIN)
        return WDL_AGAIN;
    key->base = pkt->offset;
    key->phase = status == WDL_OK ? WDL_KEY_OPEN : WDL_KEY_USELESS;
    t->direct.key_due = 0;
    wdl_win_activate(win);
    return status == WDL_ERR_ARG ? WDL_ERR_PROTO : WDL_OK;
}
