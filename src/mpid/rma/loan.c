/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Keys of this rank's attached memory: given to who asks, and recalled when a region is detached
 * (loan.h). The table of those who may have keys does not grow with the number of ranks: when it is
 * full, others are refused and go by message.
 */
#include "mpid/rma/win_impl.h"

int wdl_lender_init(struct wdl_win *win)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_lender *lender = &win->lender;
    int count = win->keys[WDL_KEYS_DATA].count;
    wdl_list_init(&lender->loans);
    wdl_list_init(&lender->recalls);
    lender->count = count < WDL_LOAN_HOLDERS ? count : WDL_LOAN_HOLDERS;
    lender->holders = host->ops->alloc(host->ctx, (size_t) lender->count * sizeof(int));
    if (!lender->holders)
        return WDL_ERR_NOMEM;
    for (int i = 0; i < lender->count; i++)
        lender->holders[i] = -1;
    return WDL_OK;
}

static void loan_drop(struct wdl_win *win, struct wdl_loan *loan)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_nm *nm = win->proc->nm;
    wdl_list_remove(&loan->link);
    nm->ops->mem_detach(nm, loan->mem);
    host->ops->free(host->ctx, loan);
}

void wdl_lender_drop(struct wdl_win *win)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_lender *lender = &win->lender;
    struct wdl_list *lists[] = {&lender->loans, &lender->recalls};
    if (!lender->holders)
        return;
    for (int i = 0; i < 2; i++)
        while (!wdl_list_empty(lists[i]))
            loan_drop(win, wdl_container_of(lists[i]->next, struct wdl_loan, link));
    host->ops->free(host->ctx, lender->holders);
    lender->holders = NULL;
}

/* --- who has keys ----------------------------------------------------------------------------- */

static uint64_t held_of(const struct wdl_list *loans)
{
    const struct wdl_list *node;
    uint64_t held = 0;
    wdl_list_for(node, loans)
        held |= wdl_container_of(node, struct wdl_loan, link)->holders;
    return held;
}

/* A place whose rank has no key, or -1. */
static int place_free(const struct wdl_lender *lender)
{
    uint64_t held = held_of(&lender->loans) | held_of(&lender->recalls);
    for (int i = 0; i < lender->count; i++)
        if (!(held >> i & 1))
            return i;
    return -1;
}

/* The rank's place, a new one if need be; -1: there is none. */
static int place_of(struct wdl_lender *lender, int rank)
{
    int i;
    for (i = 0; i < lender->count; i++)
        if (lender->holders[i] == rank)
            return i;
    i = place_free(lender);
    if (i >= 0)
        lender->holders[i] = rank;
    return i;
}

/* --- giving ----------------------------------------------------------------------------------- */

static int loan_make(struct wdl_win *win, struct wdl_region *region)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_nm *nm = win->proc->nm;
    struct wdl_loan *loan = host->ops->alloc(host->ctx, sizeof(*loan));
    if (!loan)
        return WDL_ERR_NOMEM;
    int status = nm->ops->mem_attach(nm, (void *) (uintptr_t) region->base, region->bytes,
                                     &loan->mem);
    if (status != WDL_OK) {
        host->ops->free(host->ctx, loan);
        return status;
    }
    loan->base = region->base;
    loan->serial = ++win->lender.serial;
    loan->holders = loan->told = 0;
    wdl_list_push(&win->lender.loans, &loan->link);
    region->loan = loan;
    return WDL_OK;
}

/* WDL_OK and *bytes of the region's key, noted as given; or why not. */
static int key_give(struct wdl_win *win, struct wdl_region *region, int rank, void *key,
                    size_t *bytes)
{
    struct wdl_nm *nm = win->proc->nm;
    struct wdl_lender *lender = &win->lender;
    int place = lender->holders ? place_of(lender, rank) : -1;
    int status = place >= 0 ? WDL_OK : WDL_ERR_UNSUPPORTED;
    if (status == WDL_OK && !region->loan)
        status = loan_make(win, region);
    if (status == WDL_OK)
        status = nm->ops->mem_key(nm, region->loan->mem, key, bytes);
    if (status == WDL_OK)
        region->loan->holders |= (uint64_t) 1 << place;
    return status;
}

void wdl_loan_give(struct wdl_win *win, const struct wdl_pkt *pkt, struct wdl_pkt *answer,
                   void *key, size_t *bytes)
{
    struct wdl_region *region = wdl_win_region(win, (uint64_t) pkt->disp);
    if (!region || key_give(win, region, (int) pkt->origin, key, bytes) != WDL_OK)
        *bytes = 0;
    if (!region)
        return;
    answer->offset = region->base;
    answer->total = region->bytes;
    if (*bytes > 0)
        answer->op = region->loan->serial;
}

/* --- recalling -------------------------------------------------------------------------------- */

void wdl_loan_end(struct wdl_win *win, struct wdl_loan *loan)
{
    wdl_list_remove(&loan->link);
    wdl_list_push(&win->lender.recalls, &loan->link);
}

struct wdl_loan *wdl_loan_ending(const struct wdl_win *win, uint64_t base)
{
    struct wdl_list *node;
    if (!win->lender.holders)
        return NULL;
    wdl_list_for(node, &win->lender.recalls) {
        struct wdl_loan *loan = wdl_container_of(node, struct wdl_loan, link);
        if (loan->base == base)
            return loan;
    }
    return NULL;
}

int wdl_loan_recall(struct wdl_win *win, struct wdl_loan *loan)
{
    for (int i = 0; i < win->lender.count; i++) {
        uint64_t bit = (uint64_t) 1 << i;
        struct wdl_pkt pkt;
        if (!(loan->holders & ~loan->told & bit))
            continue;
        wdl_pkt_init(&pkt, win, WDL_PKT_RECALL);
        pkt.op = loan->serial;
        int status = wdl_pkt_send(win, win->lender.holders[i], &pkt);
        if (status == WDL_AGAIN)
            return WDL_AGAIN;
        if (wdl_status_is_error(status))
            loan->holders &= ~bit;      /* a lost peer uses no key */
        else
            loan->told |= bit;
    }
    if (loan->holders)
        return WDL_AGAIN;
    loan_drop(win, loan);
    return WDL_OK;
}

int wdl_loan_returned(struct wdl_win *win, const struct wdl_pkt *pkt)
{
    const struct wdl_lender *lender = &win->lender;
    struct wdl_list *node;
    if (!lender->holders)
        return WDL_ERR_PROTO;
    wdl_list_for(node, &lender->recalls) {
        struct wdl_loan *loan = wdl_container_of(node, struct wdl_loan, link);
        for (int i = 0; i < lender->count && loan->serial == pkt->op; i++) {
            uint64_t bit = (uint64_t) 1 << i;
            if (lender->holders[i] != (int) pkt->origin || !(loan->holders & loan->told & bit))
                continue;
            loan->holders &= ~bit;
            return WDL_OK;
        }
    }
    return WDL_ERR_PROTO;
}
