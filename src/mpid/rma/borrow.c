/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Keys of other ranks' attached memory, in the window's table of keys (loan.h). A key may have any
 * place. Where the table is full, the one leaves that others have wanted the place of most often
 * since it was used.
 */
#include "mpid/rma/win_impl.h"

enum { REFUSAL_BELIEVED = 256 };        /* operations before a region is asked for again */

static int has_memory(const struct wdl_key *key)
{
    return key->phase == WDL_KEY_OPEN || key->phase == WDL_KEY_USELESS ||
           key->phase == WDL_KEY_RECALLED;
}

/* The place with the region that holds the rank's address, or NULL. What was found last is looked
 * at first. */
static struct wdl_key *find_region(struct wdl_keys *keys, int rank, uint64_t addr)
{
    for (int n = 0, i = keys->last; n < keys->count; n++, i = i + 1 < keys->count ? i + 1 : 0) {
        struct wdl_key *key = &keys->at[i];
        if (key->rank == rank && has_memory(key) && addr - key->from < key->bytes) {
            keys->last = i;
            return key;
        }
    }
    return NULL;
}

static struct wdl_key *find_serial(const struct wdl_keys *keys, int rank, uint64_t serial)
{
    for (int i = 0; i < keys->count; i++)
        if (keys->at[i].rank == rank && has_memory(&keys->at[i]) && keys->at[i].serial == serial)
            return &keys->at[i];
    return NULL;
}

/* What the rank has been asked for; it is one at a time. */
static struct wdl_key *find_asked(const struct wdl_keys *keys, int rank)
{
    for (int i = 0; i < keys->count; i++)
        if (keys->at[i].rank == rank && keys->at[i].phase == WDL_KEY_ASKED)
            return &keys->at[i];
    return NULL;
}

static int is_idle(const struct wdl_win *win, const struct wdl_key *key)
{
    const struct wdl_target *t = wdl_target_find(win, key->rank);
    return key->phase == WDL_KEY_USELESS || !t || !wdl_direct_busy(t);
}

/* A place for another key, or NULL. */
static struct wdl_key *place_make(struct wdl_win *win)
{
    struct wdl_keys *keys = &win->keys[WDL_KEYS_DATA];
    struct wdl_key *best = NULL;
    for (int i = 0; i < keys->count; i++) {
        struct wdl_key *key = &keys->at[i];
        if (key->phase == WDL_KEY_EMPTY)
            return key;
        if (key->phase == WDL_KEY_ASKED || key->phase == WDL_KEY_RECALLED)
            continue;
        key->rivals++;
        if (key->rivals > WDL_KEY_RIVALS && (!best || key->rivals > best->rivals) &&
            is_idle(win, key))
            best = key;
    }
    if (best)
        wdl_key_empty(win, best);
    return best;
}

static void ask(struct wdl_target *t, uint64_t addr)
{
    const struct wdl_keys *keys = &t->win->keys[WDL_KEYS_DATA];
    if ((t->direct.key_due & 1 << WDL_KEYS_DATA) || wdl_keys_in_vain(keys))
        return;
    struct wdl_key *key = place_make(t->win);
    if (key)
        wdl_key_ask(t, key, WDL_KEYS_DATA, addr);
}

struct wdl_key *wdl_borrow_get(struct wdl_target *t, uint64_t addr, uint64_t bytes)
{
    struct wdl_win *win = t->win;
    struct wdl_key *key = find_region(&win->keys[WDL_KEYS_DATA], t->rank, addr);
    if (!key) {
        ask(t, addr);
        return NULL;
    }
    if (key->phase == WDL_KEY_OPEN && bytes <= key->bytes - (addr - key->from)) {
        key->rivals = 0;
        return key;
    }
    if (key->phase == WDL_KEY_USELESS && ++key->refused > REFUSAL_BELIEVED)
        wdl_key_empty(win, key);
    return NULL;
}

/* --- answers ---------------------------------------------------------------------------------- */

int wdl_borrow_answered(struct wdl_target *t, const struct wdl_pkt *pkt, const char *payload,
                        size_t bytes)
{
    struct wdl_win *win = t->win;
    struct wdl_key *key = find_asked(&win->keys[WDL_KEYS_DATA], t->rank);
    int there = pkt->total > 0;         /* else it is not attached */
    int valid = there ? key->from - pkt->offset < pkt->total : bytes == 0;
    int status = there && bytes > 0 ? WDL_OK : WDL_ERR_UNSUPPORTED;
    if (status == WDL_OK && valid && !key->spoiled)
        status = wdl_key_open(win, key, WDL_KEYS_DATA, payload, bytes);
    if (status == WDL_AGAIN)
        return WDL_AGAIN;
    valid = valid && status != WDL_ERR_ARG;
    t->direct.key_due &= ~(1 << WDL_KEYS_DATA);
    wdl_win_activate(win);
    if (!there || !valid || key->spoiled) {
        wdl_key_empty(win, key);
        return valid ? WDL_OK : WDL_ERR_PROTO;
    }
    key->phase = status == WDL_OK ? WDL_KEY_OPEN : WDL_KEY_USELESS;
    key->from = pkt->offset;
    key->bytes = pkt->total;
    key->serial = pkt->op;
    return WDL_OK;
}

/* --- recalls ---------------------------------------------------------------------------------- */

int wdl_borrow_recalled(struct wdl_win *win, const struct wdl_pkt *pkt)
{
    struct wdl_keys *keys = &win->keys[WDL_KEYS_DATA];
    int rank = (int) pkt->origin;
    if (!win->lender.holders || pkt->op == 0)
        return WDL_ERR_PROTO;
    struct wdl_key *key = find_serial(keys, rank, pkt->op), *asked = find_asked(keys, rank);
    if (key && key->phase == WDL_KEY_RECALLED)
        return WDL_ERR_PROTO;
    if (key && key->phase == WDL_KEY_OPEN) {
        key->phase = WDL_KEY_RECALLED;
        key->after = win->flushes;
        win->recalled++;
        wdl_win_activate(win);
        return WDL_OK;
    }
    if (key)
        wdl_key_empty(win, key);
    else if (asked)
        asked->spoiled = 1;             /* loan.h, 4 */
    return WDL_ERR_UNSUPPORTED;
}

/* May something begun with the key still be under way? */
static int in_use(const struct wdl_target *t, const struct wdl_key *key)
{
    return (t->direct.begun || t->direct.flushing) && t->direct.flushed <= key->after;
}

int wdl_borrow_progress(struct wdl_win *win)
{
    struct wdl_keys *keys = &win->keys[WDL_KEYS_DATA];
    int returned = 0;
    for (int i = 0; i < keys->count && win->recalled > 0; i++) {
        struct wdl_key *key = &keys->at[i];
        struct wdl_pkt pkt;
        if (key->phase != WDL_KEY_RECALLED)
            continue;
        struct wdl_target *t = wdl_target_find(win, key->rank);
        if (t && in_use(t, key)) {
            t->direct.want |= t->direct.begun;
            continue;
        }
        wdl_key_close(win, key);
        wdl_pkt_init(&pkt, win, WDL_PKT_RETURNED);
        pkt.op = key->serial;
        if (wdl_pkt_send(win, key->rank, &pkt) == WDL_AGAIN)
            continue;
        wdl_key_empty(win, key);
        win->recalled--;
        returned++;
    }
    return returned;
}
