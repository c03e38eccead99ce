/* Part of Windlass. See COPYRIGHT in the top-level directory. What the network's atomics do for a
 * window: the offer, and what has been agreed (net.h). */
#include "mpid/rma/win_impl.h"

enum { WORDS_BYTES = 128 };     /* lock and gate, each with its cache line */

wdl_static_assert(offsetof(struct wdl_win_control, gate) -
                      offsetof(struct wdl_win_control, lock) == WDL_NET_GATE_AT);

uint64_t *wdl_net_words(const struct wdl_win *win)
{
    return &win->params.node[win->params.node_index].lock;
}

/* The key of our words: WDL_OK or an error. */
static int words_offer(struct wdl_win *win, struct wdl_net_offer *offer)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_nm *nm = win->proc->nm;
    struct wdl_keys *keys = &win->keys[WDL_KEYS_WORDS];
    offer->base = (uint64_t) (uintptr_t) wdl_net_words(win);
    offer->bytes = sizeof(offer->key);
    win->gate_offer = host->ops->alloc(host->ctx, sizeof(*win->gate_offer));
    int status = win->gate_offer ? wdl_keys_make(win, WDL_KEYS_WORDS) : WDL_ERR_NOMEM;
    if (status == WDL_OK)
        status = nm->ops->mem_attach(nm, wdl_net_words(win), WORDS_BYTES, &keys->mem);
    if (status == WDL_OK)
        status = nm->ops->mem_key(nm, keys->mem, offer->key, &offer->bytes);
    return status;
}

/* Of the elements whose updates may be the network's. */
static int sizes_of(const struct wdl_win *win, const int *lacks)
{
    if (lacks[WDL_NET_NOT_COHERENT] || !win->keys[WDL_KEYS_DATA].at ||
        win->params.flavor == WDL_WIN_DYNAMIC)
        return 0;
    return (lacks[WDL_NET_NO_32] ? 0 : 4) | (lacks[WDL_NET_NO_64] ? 0 : 8);
}

void wdl_win_net_offer(struct wdl_win *win, struct wdl_net_offer *offer)
{
    const struct wdl_nm_caps *caps = win->proc->nm->ops->caps(win->proc->nm);
    const uint32_t all = (1u << WDL_NM_ATOMIC_COUNT) - 1;
    int native = win->params.direct && caps->has_rma && caps->domain != WDL_NM_DOMAIN_NONE;
    *offer = (struct wdl_net_offer) {.bytes = 0};
    offer->lacks[WDL_NET_NOT_COHERENT] = caps->domain != WDL_NM_DOMAIN_CPU;
    offer->lacks[WDL_NET_NO_32] = !native || caps->atomic32 != all;
    offer->lacks[WDL_NET_NO_64] = !native || caps->atomic64 != all;
    win->net_sizes = sizes_of(win, offer->lacks);       /* from now on, for others may begin */
    offer->lacks[WDL_NET_NO_WORDS] =
        offer->lacks[WDL_NET_NO_64] || win->params.node_whole || win->params.hints.no_locks ||
        words_offer(win, offer) != WDL_OK;
}

void wdl_win_net_begin(struct wdl_win *win, const int *lacks, const struct wdl_net_offer *first)
{
    wdl_assert_cmp(win->epoch.access_state, ==, WDL_ACCESS_NONE);
    win->net_sizes = sizes_of(win, lacks);
    if (lacks[WDL_NET_NO_WORDS]) {
        wdl_net_drop(win);
        return;
    }
    *win->gate_offer = *first;
    win->words = lacks[WDL_NET_NOT_COHERENT] ? WDL_WORDS_NETWORK : WDL_WORDS_MIXED;
}

void wdl_net_drop(struct wdl_win *win)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_nm *nm = win->proc->nm;
    wdl_assert(!wdl_far_busy(&win->gate_far) && !wdl_far_busy(&win->word_debts.far));
    if (win->gate_rkey)
        nm->ops->rkey_close(nm, win->gate_rkey);
    if (win->gate_offer)
        host->ops->free(host->ctx, win->gate_offer);
    win->gate_rkey = NULL;
    win->gate_offer = NULL;
    wdl_keys_drop(win, WDL_KEYS_WORDS);
}
