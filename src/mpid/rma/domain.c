/* Part of Windlass. See COPYRIGHT in the top-level directory. Closing regions for bulk updates;
 * element locks. */
#include "base/relax.h"
#include "mpid/rma/domain.h"

enum { TRIES = 500 };           /* looks at a word before the caller is sent away */
/* looks without a bulk update after which the mode is lowered; the first may follow one closely */
enum { PATIENCE_MIN = 2, PATIENCE_MAX = 32 };

/* Take a word that is 0 when free. */
static int word_take(uint32_t *word)
{
    for (int i = 0; i < TRIES; i++) {
        if (__atomic_load_n(word, __ATOMIC_RELAXED) == 0 &&
            /* pairs with word_give; a bulk update's also with the fence in wdl_short_begin */
            __atomic_exchange_n(word, 1, __ATOMIC_SEQ_CST) == 0)
            return WDL_OK;
        wdl_relax();
    }
    return WDL_AGAIN;
}

static void word_give(uint32_t *word)
{
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);        /* pairs with the exchange in word_take */
}

/* Follows the exchange in word_take as the load of a short update follows its fence: one of the two
 * sees the other. */
static int region_is_quiet(const struct wdl_domain *d, uint32_t key)
{
    int place = (int) (d->own - d->node);
    for (int tries = TRIES; tries > 0; tries--) {
        uint64_t shorts = wdl_shorts_of(d->control, d->node_count, place);
        if (wdl_shorts_are_elsewhere(shorts, d->node, d->node_count, key))
            return 1;
        wdl_relax();
    }
    return 0;
}

/* Counts that nobody relies on: they decide when the mode is lowered. */
static uint32_t count_read(const uint32_t *count)
{
    return __atomic_load_n(count, __ATOMIC_RELAXED);
}

static void count_write(uint32_t *count, uint32_t value)
{
    __atomic_store_n(count, value, __ATOMIC_RELAXED);
}

/* Short updates announce without a barrier until the mode is raised; the heavy barrier is theirs.
 * The caller holds a region: nobody lowers the mode. */
static void mode_raise(const struct wdl_domain *d)
{
    struct wdl_win_control *c = d->control;
    uint32_t *mode = &c->bulk_mode, patience = count_read(&c->bulk_patience);
    count_write(&c->bulk_looks, 0);
    if (__atomic_load_n(mode, __ATOMIC_ACQUIRE) >= WDL_BULK_MODE)  /* pairs with the store below */
        return;
    __atomic_store_n(mode, WDL_BULK_RAISING, __ATOMIC_SEQ_CST);
    d->host->ops->heavy_barrier(d->host->ctx);
    __atomic_store_n(mode, WDL_BULK_MODE, __ATOMIC_RELEASE);
    if (patience < PATIENCE_MAX)
        count_write(&c->bulk_patience, patience == 0 ? PATIENCE_MIN : 2 * patience);
}

enum { ALL_REGIONS = (1 << WDL_WIN_REGIONS) - 1 };

/* Close all regions but those held, up to the first that is somebody else's: the set of those that
 * are the caller's now. */
static uint32_t regions_close(struct wdl_win_control *control, uint32_t held)
{
    for (int region = 0; region < WDL_WIN_REGIONS; region++) {
        uint32_t *word = &control->bulk[region];
        if (held >> region & 1)
            continue;
        if (__atomic_load_n(word, __ATOMIC_RELAXED) != 0 ||
            __atomic_exchange_n(word, 1, __ATOMIC_SEQ_CST) != 0)        /* pairs with word_give */
            break;
        held |= 1u << region;
    }
    return held;
}

static void regions_open(struct wdl_win_control *control, uint32_t closed)
{
    for (int region = 0; region < WDL_WIN_REGIONS; region++)
        if (closed >> region & 1)
            word_give(&control->bulk[region]);
}

/* With all regions closed there is no bulk update; whoever closes one afterwards has the new mode
 * with it, and raises it again. A short update that saw the old mode has announced itself by a
 * barrier. */
static void mode_lower(struct wdl_win_control *control)
{
    uint32_t closed = regions_close(control, 0);
    if (closed == ALL_REGIONS &&
        __atomic_load_n(&control->bulk_mode, __ATOMIC_RELAXED) == WDL_BULK_MODE)
        /* pairs with wdl_short_begin */
        __atomic_store_n(&control->bulk_mode, WDL_BULK_NEVER, __ATOMIC_RELEASE);
    regions_open(control, closed);
}

/* Has one of those with that bit announced anything? */
static int announces(const struct wdl_win_control *node, int node_count, int bit)
{
    for (int i = bit; i < node_count; i += 64)
        if (__atomic_load_n(&node[i].announced, __ATOMIC_SEQ_CST) != 0)
            return 1;
    return 0;
}

/* Who announces as its bit goes sees that it has gone, or is seen here and has it back before any
 * region is opened. */
static void shorts_forget(struct wdl_win_control *control, const struct wdl_win_control *node,
                          int node_count)
{
    uint64_t shorts = __atomic_load_n(&control->shorts, __ATOMIC_RELAXED), gone = 0;
    for (uint64_t left = shorts; left != 0; left &= left - 1)
        if (!announces(node, node_count, __builtin_ctzll(left)))
            gone |= left & -left;
    /* pairs with the fence in wdl_short_begin */
    __atomic_fetch_and(&control->shorts, ~gone, __ATOMIC_SEQ_CST);
    for (; gone != 0; gone &= gone - 1)
        if (announces(node, node_count, __builtin_ctzll(gone)))
            __atomic_fetch_or(&control->shorts, gone & -gone, __ATOMIC_SEQ_CST);
}

void wdl_shorts_forget(struct wdl_win_control *control, const struct wdl_win_control *node,
                       int node_count, int held)
{
    uint32_t own = 1u << held, closed = regions_close(control, own);
    if (closed == ALL_REGIONS)
        shorts_forget(control, node, node_count);
    regions_open(control, closed & ~own);
}

void wdl_bulk_look(struct wdl_win_control *control)
{
    uint32_t looks = count_read(&control->bulk_looks) + 1;
    count_write(&control->bulk_looks, looks);
    if (looks >= count_read(&control->bulk_patience) &&
        __atomic_load_n(&control->bulk_mode, __ATOMIC_RELAXED) == WDL_BULK_MODE)
        mode_lower(control);
}

int wdl_bulk_begin(const struct wdl_domain *d, int region)
{
    uint32_t key = wdl_region_key(d->rank, region);
    wdl_assert_cmp(d->own->announced, ==, 0);
    if (word_take(&d->control->bulk[region]) != WDL_OK)
        return WDL_AGAIN;
    mode_raise(d);
    if (region_is_quiet(d, key))
        return WDL_OK;
    word_give(&d->control->bulk[region]);
    return WDL_AGAIN;
}

void wdl_bulk_raise(const struct wdl_domain *d, int region)
{
    if (wdl_bulk_begin(d, region) == WDL_OK)
        wdl_bulk_end(d, region);
}

void wdl_bulk_end(const struct wdl_domain *d, int region)
{
    wdl_bulk_end_at(d->control, region);
}

int wdl_stripes_lock(struct wdl_win_control *control, uint64_t set)
{
    for (int i = 0; i < TRIES; i++) {
        if (wdl_stripes_lock_at_once(control, set))
            return WDL_OK;
        wdl_relax();
    }
    return WDL_AGAIN;
}
