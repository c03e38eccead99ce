/* Part of Windlass. See COPYRIGHT in the top-level directory. What the network's atomics do for a
 * window: the offer, and what has been agreed (net.h). */
#include <string.h>
#include "mpid/rma/win_impl.h"

enum { WORDS_BYTES = 128 };     /* lock and gate, each with its cache line */

wdl_static_assert(offsetof(struct wdl_win_control, gate) -
                      offsetof(struct wdl_win_control, lock) == WDL_NET_GATE_AT);

uint64_t *wdl_net_words(const struct wdl_win *win)
{
    return &win->quick.own->lock;
}

/* The key of our words: WDL_OK or an error. */
static int words_offer(struct wdl_win *win, struct wdl_net_offer *offer)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_nm *nm = win->proc->nm;
    struct wdl_keys *keys = &win->keys[WDL_KEYS_WORDS];
    struct wdl_nm_mem *mem = win->params.node_mem;
    offer->base = (uint64_t) (uintptr_t) wdl_net_words(win);
    offer->bytes = sizeof(offer->key);
    win->gate_offer = host->ops->alloc(host->ctx, sizeof(*win->gate_offer));
    int status = win->gate_offer ? wdl_keys_make(win, WDL_KEYS_WORDS) : WDL_ERR_NOMEM;
    if (status == WDL_OK && !mem) {
        status = nm->ops->mem_attach(nm, wdl_net_words(win), WORDS_BYTES, &keys->mem);
        mem = keys->mem;
    }
    if (status == WDL_OK)
        status = nm->ops->mem_key(nm, mem, offer->key, &offer->bytes);
    return status;
}

/* --- what is lacking -------------------------------------------------------------------------- */

static const uint32_t every_atomic = (1u << WDL_NM_ATOMIC_COUNT) - 1;

int wdl_net_sizes(const struct wdl_nm_caps *caps)
{
    if (caps->domain != WDL_NM_DOMAIN_CPU)
        return 0;
    return (caps->atomic32 == every_atomic ? 4 : 0) | (caps->atomic64 == every_atomic ? 8 : 0);
}

/* Whoever has such atomics lacks this besides. */
static void lacks_add(int *lacks, const struct wdl_nm_caps *caps)
{
    int none = caps->domain == WDL_NM_DOMAIN_NONE;
    lacks[WDL_NET_NOT_COHERENT] |= caps->domain != WDL_NM_DOMAIN_CPU;
    lacks[WDL_NET_NOT_APART] |= caps->domain != WDL_NM_DOMAIN_NIC;
    lacks[WDL_NET_NO_32] |= none || caps->atomic32 != every_atomic;
    lacks[WDL_NET_NO_64] |= none || caps->atomic64 != every_atomic;
}

static struct wdl_net_known *known_of(const struct wdl_win *win)
{
    return &win->rma->net_known[win->params.node_mem != NULL];
}

/* Of the elements whose updates may be the network's. */
static int sizes_of(const struct wdl_win *win, const int *lacks)
{
    if (lacks[WDL_NET_NOT_COHERENT] || !win->keys[WDL_KEYS_DATA].at ||
        win->params.flavor == WDL_WIN_DYNAMIC)
        return 0;
    return (lacks[WDL_NET_NO_32] ? 0 : 4) | (lacks[WDL_NET_NO_64] ? 0 : 8);
}

/* --- the offer -------------------------------------------------------------------------------- */

/* What is known without asking. */
static void lacks_begin(const struct wdl_win *win, int *lacks)
{
    static const struct wdl_nm_caps none = {.domain = WDL_NM_DOMAIN_NONE };
    const struct wdl_nm_caps *caps = win->proc->nm->ops->caps(win->proc->nm);
    const struct wdl_net_known *known = known_of(win);
    int kind = win->params.node_mem ? WDL_NM_OWN : WDL_NM_ATTACHED;
    int wanted = win->params.direct && win->params.atomics && caps->has_rma;
    int by_key = wanted && caps->domain == WDL_NM_DOMAIN_NONE && (caps->atomics_by_key & kind);
    if (by_key && known->asked)
        memcpy(lacks, known->lacks, sizeof(known->lacks));
    else
        lacks_add(lacks, wanted ? caps : &none);
    lacks[WDL_NET_UNKNOWN] = by_key && !known->asked;
}

void wdl_win_net_offer(struct wdl_win *win, struct wdl_net_offer *offer)
{
    int *lacks = offer->lacks;
    *offer = (struct wdl_net_offer) {.bytes = 0};
    lacks_begin(win, lacks);
    win->net_sizes = sizes_of(win, lacks);      /* from now on, for others may begin */
    lacks[WDL_NET_NO_WORDS] = (lacks[WDL_NET_NO_64] && !lacks[WDL_NET_UNKNOWN]) ||
        win->params.node_whole || win->params.hints.no_locks || words_offer(win, offer) != WDL_OK;
}

/* --- asking keys ------------------------------------------------------------------------------ */

/* The next rank on another node, from a node's length on: where nodes are alike and follow one
 * another it is each time another one's. */
static int neighbour(const struct wdl_win *win)
{
    const struct wdl_win_params *params = &win->params;
    struct wdl_win_control *control;
    int rank = (params->rank + params->node_count) % params->size;
    for (int seen = 1;; seen++) {
        (void) params->map(params->ctx, rank, &control);
        if (!control)
            return rank;
        wdl_assert_cmp(seen, <, params->size);
        rank = (rank + 1) % params->size;
    }
}

static void lacks_of_key(const struct wdl_win *win, struct wdl_nm_rkey *rkey, int *lacks)
{
    struct wdl_nm_caps caps = {.domain = WDL_NM_DOMAIN_NONE };
    struct wdl_nm *nm = win->proc->nm;
    if (rkey)
        nm->ops->rkey_caps(nm, rkey, &caps);
    lacks_add(lacks, &caps);
}

/* This process changes its own words by the network too, where that is apart from the processor:
 * both must be the same device's work. */
static void lacks_of_own(const struct wdl_win *win, const struct wdl_net_offer *offer, int *lacks)
{
    struct wdl_nm *nm = win->proc->nm;
    struct wdl_nm_rkey *rkey = NULL;
    int peer = win->params.peer_of(win->params.ctx, win->params.rank);
    if (lacks[WDL_NET_NOT_APART])
        return;
    (void) nm->ops->rkey_open(nm, peer, offer->key, offer->bytes, &rkey);
    lacks_of_key(win, rkey, lacks);
    if (rkey)
        nm->ops->rkey_close(nm, rkey);
}

int wdl_win_net_ask(struct wdl_win *win, struct wdl_net_offer *offer)
{
    struct wdl_net_known *known = known_of(win);
    struct wdl_target *t = wdl_target_get(win, neighbour(win));
    struct wdl_key *key = t ? wdl_key_get(t, WDL_KEYS_WORDS) : NULL;
    if (!t || (!key && !wdl_key_is_useless(t, WDL_KEYS_WORDS)))
        return WDL_AGAIN;
    lacks_of_key(win, key ? key->rkey : NULL, known->lacks);
    lacks_of_own(win, offer, known->lacks);
    known->asked = 1;
    wdl_target_release(t);
    memcpy(offer->lacks, known->lacks, sizeof(known->lacks));
    offer->lacks[WDL_NET_NO_WORDS] = known->lacks[WDL_NET_NO_64];
    win->net_sizes = sizes_of(win, known->lacks);
    return WDL_OK;
}

int wdl_net_key_holds(const struct wdl_win *win, struct wdl_nm_rkey *rkey)
{
    struct wdl_nm *nm = win->proc->nm;
    struct wdl_nm_caps caps;
    if (win->words != WDL_WORDS_NETWORK && win->words != WDL_WORDS_MIXED)
        return WDL_OK;          /* nothing has been agreed yet */
    nm->ops->rkey_caps(nm, rkey, &caps);
    int domain = win->words == WDL_WORDS_MIXED ? WDL_NM_DOMAIN_CPU : WDL_NM_DOMAIN_NIC;
    return (int) caps.domain == domain && caps.atomic64 == every_atomic ? WDL_OK :
        WDL_ERR_ATOMICS;
}

/* --- what has been agreed --------------------------------------------------------------------- */

void wdl_win_net_begin(struct wdl_win *win, const int *lacks, const struct wdl_net_offer *first)
{
    wdl_assert_cmp(win->epoch.access_state, ==, WDL_ACCESS_NONE);
    wdl_assert(!wdl_net_asks(lacks));
    win->net_sizes = sizes_of(win, lacks);
    if (!wdl_net_has_words(lacks)) {
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
