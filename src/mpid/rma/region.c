/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What memory of this process a window exposes: its one block, or a dynamic window's attached
 * regions, sorted by address.
 */
#include <string.h>
#include "mpid/rma/win_impl.h"

/* The first region that begins above addr. */
static int region_above(const struct wdl_win *win, uint64_t addr)
{
    int lo = 0, hi = win->nregions;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (win->regions[mid].base > addr)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

struct wdl_region *wdl_win_region(const struct wdl_win *win, uint64_t addr)
{
    int i = region_above(win, addr);
    return i > 0 && addr - win->regions[i - 1].base < win->regions[i - 1].bytes ?
        &win->regions[i - 1] : NULL;
}

static int block_holds(uint64_t base, uint64_t bytes, uint64_t from, uint64_t n)
{
    return from >= base && n <= bytes && from - base <= bytes - n;
}

int wdl_win_exposes(const struct wdl_win *win, uint64_t addr, int64_t lo, int64_t hi)
{
    uint64_t from = addr + (uint64_t) lo, n = (uint64_t) hi - (uint64_t) lo;
    if (hi <= lo)
        return hi == lo;
    if (win->params.flavor != WDL_WIN_DYNAMIC)
        return block_holds((uint64_t) (uintptr_t) win->params.base, win->params.bytes, from, n);
    int i = region_above(win, from);
    if (i > 0 && block_holds(win->regions[i - 1].base, win->regions[i - 1].bytes, from, n))
        return 1;
    /* neighbours that touch are one stretch of memory */
    for (i = i > 0 ? i - 1 : 0; i < win->nregions; i++) {
        const struct wdl_region *r = &win->regions[i];
        if (r->bytes == 0)
            continue;
        if (from < r->base || from - r->base >= r->bytes)
            return 0;
        uint64_t here = r->bytes - (from - r->base);
        if (here >= n)
            return 1;
        from += here;
        n -= here;
    }
    return 0;
}

int wdl_win_exposes_stream(struct wdl_win *win, uint64_t addr, int64_t count, wdl_type type,
                           uint64_t offset, uint64_t bytes)
{
    const struct wdl_host *host = &win->proc->host;
    struct wdl_piece *pieces = win->rma->pieces;
    while (bytes > 0) {
        int n = host->ops->pieces(host->ctx, (void *) (uintptr_t) addr, count, type, offset, bytes,
                                  pieces, WDL_RMA_PIECES);
        if (n == 0)
            return 0;
        for (int i = 0; i < n; i++) {
            if (!wdl_win_exposes(win, (uint64_t) (uintptr_t) pieces[i].base, 0,
                                 (int64_t) pieces[i].bytes))
                return 0;
            offset += pieces[i].bytes;
            bytes -= pieces[i].bytes;
        }
    }
    return 1;
}

static int regions_grow(struct wdl_win *win)
{
    const struct wdl_host *host = &win->proc->host;
    int room = win->regions_room ? 2 * win->regions_room : 8;
    struct wdl_region *regions = host->ops->alloc(host->ctx, (size_t) room * sizeof(*regions));
    if (!regions)
        return WDL_ERR_NOMEM;
    if (win->regions) {
        memcpy(regions, win->regions, (size_t) win->nregions * sizeof(*regions));
        host->ops->free(host->ctx, win->regions);
    }
    win->regions = regions;
    win->regions_room = room;
    return WDL_OK;
}

/* The list is about to change: tell those who read it (seen.h). */
static void change_begin(struct wdl_win *win)
{
    struct wdl_win_control *own = win->quick.own;
    __atomic_store_n(&own->regions_version, own->regions_version + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);    /* pairs with the fences in has_gone and look */
}

/* The region at base is leaving. */
static void note_gone(struct wdl_win *win, uint64_t base)
{
    struct wdl_win_control *own = win->quick.own;
    uint64_t gone = own->regions_gone;
    __atomic_store_n(&own->gone_base[gone % WDL_WIN_GONE], base, __ATOMIC_RELAXED);
    /* pairs with the first load in has_gone */
    __atomic_store_n(&own->regions_gone, gone + 1, __ATOMIC_RELEASE);
}

/* It has changed, from the region at `from` on. */
static void change_end(struct wdl_win *win, int from)
{
    struct wdl_win_control *own = win->quick.own;
    uint64_t count = (uint64_t) win->nregions, step = wdl_marks_step(count);
    uint64_t first = step == wdl_marks_step(own->regions_count) ? (uint64_t) from / step : 0;
    for (uint64_t i = first; i * step < count; i++)
        __atomic_store_n(&own->regions_mark[i], win->regions[i * step].base, __ATOMIC_RELAXED);
    __atomic_store_n(&own->regions_at, (uint64_t) (uintptr_t) win->regions, __ATOMIC_RELAXED);
    __atomic_store_n(&own->regions_count, count, __ATOMIC_RELAXED);
    /* pairs with the first load in look */
    __atomic_store_n(&own->regions_version, own->regions_version + 1, __ATOMIC_RELEASE);
}

int wdl_win_attach(struct wdl_win *win, void *base, uint64_t bytes)
{
    const struct wdl_region region = {.base = (uint64_t) (uintptr_t) base, .bytes = bytes};
    return wdl_win_attach_region(win, &region);
}

int wdl_win_attach_region(struct wdl_win *win, const struct wdl_region *region)
{
    uint64_t from = region->base, bytes = region->bytes;
    if (win->params.flavor != WDL_WIN_DYNAMIC)
        return WDL_ERR_ARG;
    if (bytes > UINT64_MAX - from)
        return WDL_ERR_ATTACH;
    int i = region_above(win, from);
    if (i > 0 && win->regions[i - 1].base + win->regions[i - 1].bytes > from)
        return WDL_ERR_ATTACH;
    if (i < win->nregions && from + bytes > win->regions[i].base)
        return WDL_ERR_ATTACH;
    change_begin(win);
    int status = win->nregions == win->regions_room ? regions_grow(win) : WDL_OK;
    if (status != WDL_OK) {
        change_end(win, win->nregions);
        return status;
    }
    memmove(&win->regions[i + 1], &win->regions[i],
            (size_t) (win->nregions - i) * sizeof(win->regions[0]));
    win->regions[i] = *region;
    win->regions[i].loan = NULL;
    win->nregions++;
    change_end(win, i);
    return WDL_OK;
}

int wdl_win_detach(struct wdl_win *win, const void *base)
{
    uint64_t from = (uint64_t) (uintptr_t) base;
    struct wdl_loan *loan = wdl_loan_ending(win, from);
    if (loan)
        return wdl_loan_recall(win, loan);
    int i = region_above(win, from);
    if (i == 0 || win->regions[i - 1].base != from) /* else the host has not told of zero bytes */
        return wdl_win_region(win, from) ? WDL_ERR_ARG : WDL_OK;
    loan = win->regions[i - 1].loan;
    change_begin(win);
    note_gone(win, from);
    win->nregions--;
    memmove(&win->regions[i - 1], &win->regions[i],
            (size_t) (win->nregions - (i - 1)) * sizeof(win->regions[0]));
    change_end(win, i - 1);
    if (!loan)
        return WDL_OK;
    wdl_loan_end(win, loan);
    return wdl_loan_recall(win, loan);
}
