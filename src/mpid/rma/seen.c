/* Part of Windlass. See COPYRIGHT in the top-level directory. Attached memory of other processes,
 * as an origin knows it (seen.h). */
#include <string.h>
#include "mpid/rma/win_impl.h"

enum { PART = 128 };            /* regions read at a time: 5 KiB take .5 us, a call more 1.7 */

static struct wdl_seen_region *entries_of(const struct wdl_win *win)
{
    return win->seen.regions.items;
}

void wdl_seen_init(struct wdl_win *win)
{
    struct wdl_seen *seen = &win->seen;
    wdl_array_init(&seen->regions, &win->proc->host, seen->few, WDL_SEEN_FEW,
                   sizeof(seen->few[0]));
}

void wdl_seen_fini(struct wdl_win *win)
{
    wdl_array_fini(&win->seen.regions);
}

void wdl_seen_check(const struct wdl_win *win)
{
    const struct wdl_seen *seen = &win->seen;
    const struct wdl_seen_region *at = entries_of(win);
    wdl_assert_cmp(seen->n, <=, seen->regions.room);
    wdl_assert_cmp(seen->n, <=, WDL_SEEN_MOST);
    for (int i = 1; i < seen->n; i++) {
        wdl_assert_cmp(at[i - 1].rank, <=, at[i].rank);
        if (at[i - 1].rank == at[i].rank)
            wdl_assert_cmp(at[i - 1].region.base, <, at[i].region.base);
    }
}

/* --- the table -------------------------------------------------------------------------------- */

/* How many entries are of ranks below this one, or of its regions that begin at or below addr. */
static int entries_to(const struct wdl_win *win, int rank, uint64_t addr)
{
    const struct wdl_seen_region *at = entries_of(win);
    int lo = 0, hi = win->seen.n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (at[mid].rank < rank || (at[mid].rank == rank && at[mid].region.base <= addr))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static int region_holds(const struct wdl_region *region, uint64_t addr)
{
    return addr >= region->base && addr - region->base < region->bytes;
}

/* Entry i leaves. */
static void entry_drop(struct wdl_win *win, int i)
{
    struct wdl_seen_region *at = entries_of(win);
    win->seen.n--;
    memmove(&at[i], &at[i + 1], (size_t) (win->seen.n - i) * sizeof(at[0]));
}

/* A place for one more at i, in order; returns where it is: an entry before it may have left. */
static int entry_insert(struct wdl_win *win, int i)
{
    struct wdl_seen *seen = &win->seen;
    int room = seen->regions.room;
    if (seen->n == room &&
        (room >= WDL_SEEN_MOST || wdl_array_grow(&seen->regions, seen->n) != WDL_OK)) {
        struct wdl_seen_region *at = entries_of(win);
        seen->draw = seen->draw * 1664525 + 1013904223;
        int victim = (int) ((uint64_t) seen->draw * (uint64_t) seen->n >> 32);
        i -= victim < i;
        if (victim < i)
            memmove(&at[victim], &at[victim + 1], (size_t) (i - victim) * sizeof(at[0]));
        else
            memmove(&at[i + 1], &at[i], (size_t) (victim - i) * sizeof(at[0]));
        return i;
    }
    struct wdl_seen_region *at = entries_of(win);
    memmove(&at[i + 1], &at[i], (size_t) (seen->n - i) * sizeof(at[0]));
    seen->n++;
    return i;
}

static void keep(struct wdl_win *win, int rank, uint64_t gone, const struct wdl_region *region)
{
    int i = entries_to(win, rank, region->base);
    const struct wdl_seen_region *below = i > 0 ? &entries_of(win)[i - 1] : NULL;
    if (below && below->rank == rank && below->region.base == region->base)
        i--;
    else
        i = entry_insert(win, i);
    entries_of(win)[i] = (struct wdl_seen_region){rank, gone, *region};
    win->seen.last = i;
}

/* Has the region been detached since it was seen? */
static int has_gone(const struct wdl_win_control *control, struct wdl_seen_region *entry)
{
    /* pairs with note_gone in region.c */
    uint64_t now = __atomic_load_n(&control->regions_gone, __ATOMIC_ACQUIRE);
    if (entry->gone == now)
        return 0;
    int gone = now - entry->gone >= WDL_WIN_GONE;
    for (uint64_t i = entry->gone; i != now && !gone; i++)
        gone = entry->region.base ==
            __atomic_load_n(&control->gone_base[i % WDL_WIN_GONE], __ATOMIC_RELAXED);
    /* have they been written over meanwhile? pairs with change_begin in region.c */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    gone |= __atomic_load_n(&control->regions_gone, __ATOMIC_RELAXED) - entry->gone >= WDL_WIN_GONE;
    if (!gone)
        entry->gone = now;
    return gone;
}

const struct wdl_region *wdl_seen_find(struct wdl_win *win, int rank,
                                       const struct wdl_win_control *control, uint64_t addr)
{
    struct wdl_seen_region *at = entries_of(win);
    int i = win->seen.last;
    if (i >= win->seen.n || at[i].rank != rank || !region_holds(&at[i].region, addr)) {
        i = entries_to(win, rank, addr) - 1;
        if (i < 0 || at[i].rank != rank)
            return NULL;
    }
    if (has_gone(control, &at[i])) {
        entry_drop(win, i);
        return NULL;
    }
    win->seen.last = i;
    return region_holds(&at[i].region, addr) ? &at[i].region : NULL;
}

/* --- the list --------------------------------------------------------------------------------- */

struct list {                   /* as its process says */
    uint64_t at, count;
};

static int read_list(struct wdl_win *win, int rank, uint64_t at, void *to, size_t bytes)
{
    struct wdl_piece here = {to, bytes}, there = {(char *) (uintptr_t) at, bytes};
    return win->params.copy(win->params.ctx, rank, 0, &here, 1, &there, 1) == WDL_OK;
}

/* By the marks alone: the last region that begins at or below addr is in [*lo, *hi); 0: there is
 * none. */
static int marked(const struct wdl_win_control *control, uint64_t count, uint64_t addr,
                  uint64_t *lo_out, uint64_t *hi_out)
{
    uint64_t step = wdl_marks_step(count), lo = 0, hi = (count + step - 1) / step;
    while (lo < hi) {
        uint64_t mid = (lo + hi) / 2;
        if (__atomic_load_n(&control->regions_mark[mid], __ATOMIC_RELAXED) <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    *hi_out = lo * step < count ? lo * step : count;
    *lo_out = lo > 0 ? (lo - 1) * step : 0;
    return lo > 0;
}

/* Regions from the last one on that begins at or below addr, or from a little before it; at most
 * PART. more: those behind it are wanted, too. Returns how many; 0: there is none, or they cannot
 * be read. */
static int read_part(struct wdl_win *win, int rank, const struct wdl_win_control *control,
                     struct list list, uint64_t addr, int more, struct wdl_region *part)
{
    const uint64_t bytes = sizeof(part[0]);
    uint64_t lo, hi;
    if (!marked(control, list.count, addr, &lo, &hi))
        return 0;
    while (hi - lo > PART) {
        uint64_t mid = lo + (hi - lo) / 2, base;
        if (!read_list(win, rank, list.at + mid * bytes + offsetof(struct wdl_region, base), &base,
                       sizeof(base)))
            return 0;
        if (base <= addr)
            lo = mid;
        else
            hi = mid;
    }
    if (more)
        hi = list.count - lo < PART ? list.count : lo + PART;
    return read_list(win, rank, list.at + lo * bytes, part, (size_t) ((hi - lo) * bytes)) ?
        (int) (hi - lo) : 0;
}

/* One look at the list: as much of [*to, from + bytes) as is attached in a row is kept, and *to
 * moves behind it. WDL_OK: something is; ERR_RANGE; or WDL_AGAIN where the list changed. */
static int look(struct wdl_win *win, int rank, const struct wdl_win_control *control,
                uint64_t from, uint64_t bytes, uint64_t *to)
{
    struct wdl_region part[PART];
    uint64_t version = __atomic_load_n(&control->regions_version, __ATOMIC_ACQUIRE), begin = *to;
    /* they may change meanwhile: the version tells, afterwards */
    uint64_t gone = __atomic_load_n(&control->regions_gone, __ATOMIC_RELAXED);
    struct list list = {__atomic_load_n(&control->regions_at, __ATOMIC_RELAXED),
                        __atomic_load_n(&control->regions_count, __ATOMIC_RELAXED)};
    if (version % 2)
        return WDL_AGAIN;
    /* one that goes on in a neighbour often goes on in others */
    int n = read_part(win, rank, control, list, begin, begin != from, part);
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* pairs with the stores in region.c */
    if (__atomic_load_n(&control->regions_version, __ATOMIC_RELAXED) != version)
        return WDL_AGAIN;
    for (int i = 0; i < n && (*to == begin || *to - from < bytes); i++) {
        if (!region_holds(&part[i], *to))
            continue;
        keep(win, rank, gone, &part[i]);
        *to = part[i].base + part[i].bytes;
    }
    return *to == begin ? WDL_ERR_RANGE : WDL_OK;
}

int wdl_seen_exposed(struct wdl_win *win, int rank, const struct wdl_win_control *control,
                     uint64_t from, uint64_t bytes)
{
    uint64_t to = from;
    do {
        const struct wdl_region *known = wdl_seen_find(win, rank, control, to);
        int status = known ? WDL_OK : look(win, rank, control, from, bytes, &to);
        if (status != WDL_OK)
            return status;
        if (known)
            to = known->base + known->bytes;
    } while (to - from < bytes);
    return WDL_OK;
}
