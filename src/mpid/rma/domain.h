/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Who keeps updates of one rank's window memory apart, the same for every process of its node: an
 * origin that maps the memory and a target that serves a message go through here, so they mix.
 *
 * Elements with an atomic instruction (kernel.h) are updated in one of two ways.
 *   short   The atomic instruction. The updating process first announces which region of the memory
 *           it is in.
 *   bulk    A plain, vectorized loop over one region, which is then closed: no short update is
 *           in it. A few elements are the one or the other (crowd.h).
 * A bulk update closes its region, then waits until nobody announces it (it looks at those alone
 * that have announced a region of that rank's, `shorts`, and forgets now and then who does not any
 * more); a short one announces, then looks whether the region is closed. Each must see the other,
 * which takes a full barrier on both sides, and a short update does not want to pay for one. So the
 * memory begins in BULK_NEVER, where short updates have none; the first bulk update raises the mode
 * and asks the kernel to run a full barrier on every processor (host->heavy_barrier); in BULK_MODE
 * short updates have barriers of their own. Every so many of them a process looks whether there was
 * a bulk update since; if there was none for long, it closes all regions and lowers the mode again.
 * Each raise makes that twice as long, up to 32 looks. Where the host has no heavy barrier the mode
 * is BULK_ALWAYS. test/model/regions.pml has all of this.
 *
 * Everything else (wide types, unaligned elements) is updated under element locks: stripes of 64
 * bytes of address within a page, few at a time. They are the bits of one word: all that are wanted
 * are taken at once, or none, so that nobody waits with some in hand (which the ascending order of
 * seed 004 is for). A short update takes all there are, which is faster, unless it met somebody.
 *
 * Memory that no other process maps (`alone`) its own process updates plainly, having announced the
 * region. The others of its node come from outside: they close the region, or lock the stripes,
 * read, fold and write what they update by the host's copy (outside.c), and leave to its process
 * what lies crooked and has an instruction. Memory that has no other process on its node
 * (node_count 1), or that nobody else may update meanwhile (`sole`, sole.c), needs none of this.
 * Elements that the network updates, too, are updated by atomic instructions alone: it announces
 * nothing.
 *
 * Invariants:
 *  1. A process announces at most one region at a time, and none while it closes one.
 *  2. A closed region is opened by the process that closed it, before it returns to its caller.
 *  3. WDL_AGAIN: nothing has changed.
 */
#ifndef WDL_MPID_RMA_DOMAIN_H_INCLUDED
#define WDL_MPID_RMA_DOMAIN_H_INCLUDED

#include "host/host.h"
#include "mpid/rma/control.h"

enum wdl_bulk_mode { WDL_BULK_NEVER, WDL_BULK_RAISING, WDL_BULK_MODE, WDL_BULK_ALWAYS };
enum { WDL_BULK_LOOK = 1024 };  /* short updates with a barrier from one look to the next */
/* region r: the bytes [n * 64 KiB, (n + 1) * 64 KiB) from base with n % WDL_WIN_REGIONS == r */
#define WDL_REGION_BYTES 65536

struct wdl_outside {            /* memory that is not mapped here, through the host's copy */
    wdl_copy_fn *copy;          /* params.copy of a window (win.h) */
    void *ctx;
    char *stage;                /* WDL_REGION_BYTES, where it is folded */
};

struct wdl_domain {
    const struct wdl_host *host;
    int rank;                   /* whose memory it is */
    const char *base;           /* where it is mapped here, or there; regions count from it */
    struct wdl_win_control *control;    /* that rank's */
    struct wdl_win_control *own;        /* this process's */
    struct wdl_win_control *node;       /* all of the node's, an array */
    int node_count;
    int alone;                  /* only the rank's own process maps the memory */
    int sole;                   /* nobody else may update it meanwhile, nor the network */
    const struct wdl_outside *outside;  /* this is another one: all addresses are that one's */
    int network;                /* sizes of elements the network updates, too (net.h) */
    uint64_t granularity;       /* bytes closed by one update at most; 0: as many as a region has */
};

/* Does this process alone update the memory, but for the network? */
static inline int wdl_domain_is_sole(const struct wdl_domain *d)
{
    return d->sole || d->node_count == 1;
}

static inline int wdl_region_of(const struct wdl_domain *d, const char *at)
{
    return (int) (((uintptr_t) at - (uintptr_t) d->base) / WDL_REGION_BYTES % WDL_WIN_REGIONS);
}

/* What is announced of a region of a rank's; never 0. */
static inline uint32_t wdl_region_key(int rank, int region)
{
    return ((uint32_t) rank * WDL_WIN_REGIONS + (uint32_t) region) + 1;
}

/* Has there been no bulk update on that rank's memory for long? Then lower the mode. */
void wdl_bulk_look(struct wdl_win_control *control);

/* The bit of a process in `shorts`, by its place on the node; where there are more than 64 it is
 * that of others, too. */
static inline uint64_t wdl_short_bit(int place)
{
    return 1ULL << (place % 64);
}

static inline int wdl_short_is_noted(const struct wdl_win_control *control, uint64_t bit)
{
    return __builtin_expect((__atomic_load_n(&control->shorts, __ATOMIC_RELAXED) & bit) != 0, 1);
}
/* A process that has announced a region for the first time, or has been forgotten: sets its bit.
 * Returns whether the mode is BULK_NEVER, seen behind that. (A call would have its callers save
 * registers, a nanosecond.) */
static inline int wdl_short_note(struct wdl_win_control *control, uint64_t bit)
{
    /* pairs with the load in wdl_shorts_of: who does not see this has closed its region, or raises
     * the mode, before, which is seen behind the fence */
    __atomic_fetch_or(&control->shorts, bit, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return __atomic_load_n(&control->bulk_mode, __ATOMIC_ACQUIRE) == WDL_BULK_NEVER;
}

/* Begin a short update in a region of `rank`, whose block is control; bit: the own one. WDL_OK, or
 * WDL_AGAIN where it is closed. */
__attribute__((always_inline))
static inline int wdl_short_begin(struct wdl_win_control *own, uint64_t bit,
                                  struct wdl_win_control *control, int rank, int region)
{
    uint32_t key = wdl_region_key(rank, region);
    wdl_assert_cmp(own->announced, ==, 0);
    __atomic_store_n(&own->announced, key, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    /* pairs with mode_lower: with it come the bulk updates there were */
    if (__atomic_load_n(&control->bulk_mode, __ATOMIC_ACQUIRE) == WDL_BULK_NEVER) {
        /* the raiser's heavy barrier makes the announcement visible to it */
        if (wdl_short_is_noted(control, bit) || wdl_short_note(control, bit))
            return WDL_OK;
    } else {
        /* pairs with the exchange of wdl_bulk_begin */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (!wdl_short_is_noted(control, bit) && wdl_short_note(control, bit))
            return WDL_OK;
    }
    /* pairs with wdl_bulk_end */
    if (__atomic_load_n(&control->bulk[region], __ATOMIC_ACQUIRE) == 0) {
        if (++own->fenced % WDL_BULK_LOOK == 0)
            wdl_bulk_look(control);
        return WDL_OK;
    }
    __atomic_store_n(&own->announced, 0, __ATOMIC_RELEASE);
    return WDL_AGAIN;
}

/* The same where nothing is to be done but that; 0: wdl_short_begin decides. (No call is in here:
 * it would have the callers save registers.) */
static inline int wdl_short_begin_free(struct wdl_win_control *own, uint64_t bit,
                                       struct wdl_win_control *control, int rank, int region)
{
    uint32_t fenced = own->fenced;
    __atomic_store_n(&own->announced, wdl_region_key(rank, region), __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    /* all as in wdl_short_begin */
    if (__builtin_expect(__atomic_load_n(&control->bulk_mode, __ATOMIC_ACQUIRE) == WDL_BULK_NEVER,
                         1)) {
        if (wdl_short_is_noted(control, bit))
            return 1;
    } else if (++fenced % WDL_BULK_LOOK != 0) {
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (wdl_short_is_noted(control, bit) &&
            __atomic_load_n(&control->bulk[region], __ATOMIC_ACQUIRE) == 0) {
            own->fenced = fenced;
            return 1;
        }
    }
    __atomic_store_n(&own->announced, 0, __ATOMIC_RELEASE);
    return 0;
}

static inline int wdl_domain_short_begin(const struct wdl_domain *d, int region)
{
    return wdl_short_begin(d->own, wdl_short_bit((int) (d->own - d->node)), d->control, d->rank,
                           region);
}

static inline void wdl_short_end(struct wdl_win_control *own)
{
    /* pairs with the load in wdl_shorts_are_elsewhere */
    __atomic_store_n(&own->announced, 0, __ATOMIC_RELEASE);
}

/* Open a region that this process has closed. */
static inline void wdl_bulk_end_at(struct wdl_win_control *control, int region)
{
    /* pairs with whoever closes it next */
    __atomic_store_n(&control->bulk[region], 0, __ATOMIC_RELEASE);
}
/* Who has announced a region of control's. place: who asks, on the node; it announces none
 * (invariant 1), and where its bit is its own it is left out. */
static inline uint64_t wdl_shorts_of(const struct wdl_win_control *control, int node_count,
                                     int place)
{
    uint64_t own = node_count <= 64 ? wdl_short_bit(place) : 0;
    return __atomic_load_n(&control->shorts, __ATOMIC_SEQ_CST) & ~own;
}

/* Is none of them in this region? */
static inline int wdl_shorts_are_elsewhere(uint64_t shorts, const struct wdl_win_control *node,
                                           int node_count, uint32_t key)
{
    int elsewhere = 1;
    for (; shorts != 0; shorts &= shorts - 1)
        for (int i = __builtin_ctzll(shorts); i < node_count; i += 64)
            /* pairs with wdl_short_end */
            elsewhere &= __atomic_load_n(&node[i].announced, __ATOMIC_SEQ_CST) != key;
    return elsewhere;
}

/* Where bulk updates have looked at others so often, who announces nothing is looked at no more,
 * until it does. The caller holds `held`; all other regions are closed meanwhile, and where one is
 * somebody else's nobody is forgotten. */
enum { WDL_SHORTS_SEEN = 256 };
void wdl_shorts_forget(struct wdl_win_control *control, const struct wdl_win_control *node,
                       int node_count, int held);
static inline int wdl_shorts_are_many(struct wdl_win_control *control)
{
    /* nobody relies on it */
    uint32_t seen = __atomic_load_n(&control->shorts_seen, __ATOMIC_RELAXED) + 1;
    __atomic_store_n(&control->shorts_seen, seen, __ATOMIC_RELAXED);
    return seen % WDL_SHORTS_SEEN == 0;
}

/* Close a region: WDL_OK, or WDL_AGAIN where somebody is in it. */
int wdl_bulk_begin(const struct wdl_domain *d, int region);
/* Is the mode raised, or is there nobody to whom it matters? Sure once a region is held. */
static inline int wdl_bulk_is_raised(const struct wdl_win_control *control, int node_count)
{
    return __builtin_expect(__atomic_load_n(&control->bulk_mode, __ATOMIC_ACQUIRE) >= WDL_BULK_MODE,
                            1) || node_count == 1;
}
/* The same of the rank whose block is control, where the mode is raised and nobody is in the way:
 * 1; 0: nothing has changed. node: all blocks of the node; place: this process's.
 * *shorts_out: who else has announced a region of that rank's of late. */
__attribute__((always_inline))
static inline int wdl_bulk_begin_at_once(struct wdl_win_control *control,
                                         const struct wdl_win_control *node, int node_count,
                                         int place, int rank, int region,
                                         uint64_t *shorts_out)
{
    uint32_t key = wdl_region_key(rank, region), *word = &control->bulk[region];
    if (!wdl_bulk_is_raised(control, node_count) || __atomic_load_n(word, __ATOMIC_RELAXED) != 0 ||
        /* pairs with wdl_bulk_end, and with the fence in wdl_short_begin */
        __atomic_exchange_n(word, 1, __ATOMIC_SEQ_CST) != 0)
        return 0;
    uint64_t shorts = *shorts_out = wdl_shorts_of(control, node_count, place);
    int quiet = wdl_bulk_is_raised(control, node_count) &&
        wdl_shorts_are_elsewhere(shorts, node, node_count, key);
    if (!quiet) {
        wdl_bulk_end_at(control, region);
        return 0;
    }
    __atomic_store_n(&control->bulk_looks, 0, __ATOMIC_RELAXED);
    if (__builtin_expect(shorts && wdl_shorts_are_many(control), 0) && node_count > 1)
        wdl_shorts_forget(control, node, node_count, region);
    return 1;
}
void wdl_bulk_end(const struct wdl_domain *d, int region);
/* Raise the mode, if the region can be closed for it. */
void wdl_bulk_raise(const struct wdl_domain *d, int region);

/* The stripes of some bytes, as a set; to be united over all that is updated together. */
#define WDL_STRIPES_ALL UINT64_MAX
static inline uint64_t wdl_stripes_of(const char *from, size_t bytes)
{
    uintptr_t first = (uintptr_t) from >> 6, last = ((uintptr_t) from + bytes - 1) >> 6;
    uint64_t set = (uint64_t) 1 << (first % WDL_WIN_STRIPES);
    if (last - first >= WDL_WIN_STRIPES - 1)
        return WDL_STRIPES_ALL;
    while (first++ < last)
        set |= (uint64_t) 1 << (first % WDL_WIN_STRIPES);
    return set;
}
/* Lock all of a set, if nobody is in the way: 1; 0: nothing has changed. */
static inline int wdl_stripes_lock_at_once(struct wdl_win_control *control, uint64_t set)
{
    uint64_t held = __atomic_load_n(&control->stripes, __ATOMIC_RELAXED);
    while ((held & set) == 0)
        /* pairs with wdl_stripes_unlock */
        if (__atomic_compare_exchange_n(&control->stripes, &held, held | set, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED))
            return 1;
    return 0;
}
/* Lock all of a set, or none: WDL_OK or WDL_AGAIN. */
int wdl_stripes_lock(struct wdl_win_control *control, uint64_t set);
/* Who has all of them changes the word alone, which saves an atomic instruction. */
static inline void wdl_stripes_unlock(struct wdl_win_control *control, uint64_t set)
{
    /* both pair with wdl_stripes_lock_at_once */
    if (set == WDL_STRIPES_ALL)
        __atomic_store_n(&control->stripes, 0, __ATOMIC_RELEASE);
    else
        __atomic_fetch_and(&control->stripes, ~set, __ATOMIC_RELEASE);
}

#endif
