/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Keys of the direct path, and of lock words: asked for, answered, kept. Where a window has got
 * several keys of which none was of use it stops asking: the network needs the targets' processors
 * for such memory.
 */
#include "mpid/rma/win_impl.h"

/* keys in vain before a window gives up */
enum { KEYS_TRIED = 4 };

int wdl_keys_make(struct wdl_win *win, enum wdl_keys_of of)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_keys *keys = &win->keys[of];
    int most = win->rma->params.win_targets;
    int many = win->params.flavor == WDL_WIN_DYNAMIC;   /* of a rank, then */
    most = most < win->params.size || many ? most : win->params.size;
    keys->at = host->ops->alloc(host->ctx, (size_t) most * sizeof(keys->at[0]));
    if (!keys->at)
        return WDL_ERR_NOMEM;
    keys->count = most;
    return WDL_OK;
}

int wdl_keys_init(struct wdl_win *win)
{
    if (!win->params.direct || !win->proc->nm->ops->caps(win->proc->nm)->has_rma)
        return WDL_OK;
    int status = wdl_keys_make(win, WDL_KEYS_DATA);
    if (status == WDL_OK && win->params.flavor == WDL_WIN_DYNAMIC)
        status = wdl_lender_init(win);
    return status;
}

void wdl_key_close(struct wdl_win *win, struct wdl_key *key)
{
    struct wdl_nm *nm = win->proc->nm;
    if (key->rkey)
        nm->ops->rkey_close(nm, key->rkey);
    key->rkey = NULL;
}

void wdl_key_empty(struct wdl_win *win, struct wdl_key *key)
{
    wdl_key_close(win, key);
    key->phase = WDL_KEY_EMPTY;
}

void wdl_keys_drop(struct wdl_win *win, enum wdl_keys_of of)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_nm *nm = win->proc->nm;
    struct wdl_keys *keys = &win->keys[of];
    for (int i = 0; i < keys->count; i++)
        wdl_key_empty(win, &keys->at[i]);
    if (keys->at)
        host->ops->free(host->ctx, keys->at);
    if (keys->mem)
        nm->ops->mem_detach(nm, keys->mem);
    *keys = (struct wdl_keys) {.count = 0};
}

static struct wdl_key *key_place(const struct wdl_win *win, int rank, enum wdl_keys_of of)
{
    return &win->keys[of].at[rank % win->keys[of].count];
}

/* May the place be taken from the rank that has it? */
static int may_leave(const struct wdl_win *win, struct wdl_key *key, enum wdl_keys_of of)
{
    const struct wdl_target *t = wdl_target_find(win, key->rank);
    if (key->phase == WDL_KEY_EMPTY)
        return 1;
    if (key->phase == WDL_KEY_ASKED || ++key->rivals <= WDL_KEY_RIVALS)
        return 0;
    if (of == WDL_KEYS_WORDS && wdl_words_look_at(win, key->rank))
        return 0;
    return !t || !(of == WDL_KEYS_DATA ? wdl_direct_busy(t) : wdl_far_busy(&t->word.far));
}

int wdl_keys_in_vain(const struct wdl_keys *keys)
{
    return keys->useful == 0 && keys->useless >= KEYS_TRIED;
}

void wdl_key_ask(struct wdl_target *t, struct wdl_key *key, enum wdl_keys_of of, uint64_t addr)
{
    struct wdl_win *win = t->win;
    struct wdl_pkt pkt;
    if (wdl_keys_in_vain(&win->keys[of]))
        return;
    wdl_pkt_init(&pkt, win, WDL_PKT_KEY);
    pkt.type = of;
    pkt.disp = (int64_t) addr;
    if (wdl_pkt_send(win, t->rank, &pkt) != WDL_OK)
        return;                 /* the next operation asks again */
    *key = (struct wdl_key) {.rank = t->rank, .phase = WDL_KEY_ASKED, .from = addr};
    t->direct.key_due |= 1 << of;
    t->direct.key_stamp[of] = win->stamp;
}

/* What needs another rank's lock word has no other way: whose key has its place steps back for as
 * long as it is asked, and a little longer. One thread may look for its turn at a lock while
 * another gives back what the lock's holder waits for. */
static int steps_back(struct wdl_key *key, enum wdl_keys_of of)
{
    int turned_away = key->rivals > WDL_KEY_RIVALS;
    if (of == WDL_KEYS_WORDS && !turned_away)
        return 0;
    if (of == WDL_KEYS_WORDS && ++key->rivals <= 2 * WDL_KEY_RIVALS)
        return 1;
    key->rivals = 0;            /* the others have gone another way */
    return 0;
}

struct wdl_key *wdl_key_get(struct wdl_target *t, enum wdl_keys_of of)
{
    struct wdl_win *win = t->win;
    struct wdl_key *key = key_place(win, t->rank, of);
    if (key->rank == t->rank && key->phase == WDL_KEY_OPEN)
        return steps_back(key, of) ? NULL : key;
    if (key->rank != t->rank && may_leave(win, key, of))
        wdl_key_empty(win, key);
    if (key->phase == WDL_KEY_EMPTY)
        wdl_key_ask(t, key, of, 0);
    return NULL;
}

int wdl_key_is_useless(const struct wdl_target *t, enum wdl_keys_of of)
{
    const struct wdl_key *key = key_place(t->win, t->rank, of);
    return key->rank == t->rank && key->phase == WDL_KEY_USELESS ? key->why : WDL_OK;
}

/* --- the target ------------------------------------------------------------------------------- */

/* This process's own key: WDL_OK and *bytes of it, 0: there is none to give. *base: of its
 * memory. */
static void own_key(struct wdl_win *win, enum wdl_keys_of of, uint64_t *base, void *key,
                    size_t *bytes)
{
    struct wdl_nm *nm = win->proc->nm;
    struct wdl_keys *keys = &win->keys[of];
    const struct wdl_win_params *params = &win->params;
    struct wdl_nm_mem *given = of == WDL_KEYS_DATA ? params->mem : params->node_mem;
    struct wdl_nm_mem *mem = given ? given : keys->mem;
    void *memory = of == WDL_KEYS_DATA ? params->base : wdl_net_words(win);
    int status = keys->at && (mem || params->bytes > 0) ? WDL_OK : WDL_ERR_UNSUPPORTED;
    if (status == WDL_OK && !mem) {     /* that of words came with the table (net.c) */
        status = nm->ops->mem_attach(nm, memory, params->bytes, &keys->mem);
        mem = keys->mem;
    }
    if (status == WDL_OK)
        status = nm->ops->mem_key(nm, mem, key, bytes);
    if (status != WDL_OK)
        *bytes = 0;
    *base = (uint64_t) (uintptr_t) memory;
}

int wdl_key_asked(struct wdl_win *win, const struct wdl_pkt *pkt)
{
    struct wdl_pkt answer;
    size_t bytes = WDL_NM_KEY_BYTES_MAX;
    if (pkt->type >= WDL_KEYS_KINDS)
        return WDL_ERR_PROTO;
    struct wdl_bounce *bounce = wdl_bounce_get(win->proc);
    if (!bounce)
        return WDL_AGAIN;
    wdl_assert_cmp(win->rma->chunk_bytes, >=, bytes);
    wdl_pkt_init(&answer, win, WDL_PKT_KEY_REPLY);
    char *key = bounce->data + sizeof(answer);
    if (pkt->type == WDL_KEYS_DATA && win->params.flavor == WDL_WIN_DYNAMIC)
        wdl_loan_give(win, pkt, &answer, key, &bytes);
    else
        own_key(win, (enum wdl_keys_of) pkt->type, &answer.offset, key, &bytes);
    answer.type = pkt->type;
    answer.bytes = (uint32_t) bytes;
    wdl_reply_send(win, (int) pkt->origin, bounce, &answer, bytes);
    return WDL_OK;
}

/* --- the answer ------------------------------------------------------------------------------- */

int wdl_key_open(struct wdl_win *win, struct wdl_key *key, enum wdl_keys_of of, const char *bytes,
                 size_t n)
{
    struct wdl_nm *nm = win->proc->nm;
    struct wdl_keys *keys = &win->keys[of];
    struct wdl_nm_caps caps;
    int status = nm->ops->rkey_open(nm, win->params.peer_of(win->params.ctx, key->rank), bytes, n,
                                    &key->rkey);
    if (status == WDL_OK && of == WDL_KEYS_WORDS) {
        status = wdl_net_key_holds(win, key->rkey);
    } else if (status == WDL_OK) {
        nm->ops->rkey_caps(nm, key->rkey, &caps);
        key->sizes = wdl_net_sizes(&caps);
        keys->useful += !caps.rma_needs_target;
        keys->useless += caps.rma_needs_target;
        status = caps.rma_needs_target ? WDL_ERR_UNSUPPORTED : WDL_OK;
    }
    if (status != WDL_OK)
        wdl_key_close(win, key);
    return status;
}

int wdl_key_answered(struct wdl_win *win, const struct wdl_pkt *pkt, const char *payload,
                     size_t bytes)
{
    struct wdl_target *t = wdl_target_find(win, (int) pkt->origin);
    enum wdl_keys_of of = (enum wdl_keys_of) pkt->type;
    if (pkt->type >= WDL_KEYS_KINDS || !t || !(t->direct.key_due & 1 << of) || pkt->bytes != bytes)
        return WDL_ERR_PROTO;
    if (of == WDL_KEYS_DATA && win->params.flavor == WDL_WIN_DYNAMIC)
        return wdl_borrow_answered(t, pkt, payload, bytes);
    struct wdl_key *key = key_place(win, t->rank, of);
    int status = bytes > 0 ? wdl_key_open(win, key, of, payload, bytes) : WDL_ERR_UNSUPPORTED;
    if (status == WDL_AGAIN)
        return WDL_AGAIN;
    key->base = pkt->offset;
    key->phase = status == WDL_OK ? WDL_KEY_OPEN : WDL_KEY_USELESS;
    key->why = status;
    t->direct.key_due &= ~(1 << of);
    wdl_win_activate(win);
    return status == WDL_ERR_ARG ? WDL_ERR_PROTO : WDL_OK;
}
