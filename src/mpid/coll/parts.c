/* Part of Windlass. See COPYRIGHT in the top-level directory. Long data in parts (parts.h). */
#include "mpid/coll/parts.h"
#include <string.h>
#include "base/copy.h"
#include "mpid/coll/rate.h"
#include "mpid/coll/staging.h"

enum {
    PART = 8 << 10, /* told of at a time */
    LOOKS = 40 /* for more to come, before the caller looks at what else there is */
};

static struct wdl_sheet *sheet_of(const struct wdl_run *run, int rank)
{
    return (struct wdl_sheet *) (void *) wdl_board_sheet(run, rank);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Is there a block for each of the two? */
static int has_blocks(const struct wdl_coll_args *args)
{
    return args->kind == WDL_COLL_SCATTER || args->kind == WDL_COLL_EXCHANGE ||
           args->kind == WDL_COLL_REDUCE_SCATTER;
}

/* What this rank gives the other, in its source. */
static const char *given(const struct wdl_run *run)
{
    const struct wdl_coll_args *a = &run->args;
    return (const char *) a->src + (has_blocks(a) ? (size_t) (1 - run->team->rank) * a->bytes : 0);
}

/* Where its own copy of that goes; NULL: nowhere. */
static char *kept(const struct wdl_run *run)
{
    const struct wdl_coll_args *a = &run->args;
    char *to = (char *) a->dst + (size_t) run->team->rank * a->bytes;
    return a->kind == WDL_COLL_GATHER_ALL && to != a->src ? to : NULL;
}

static size_t room_of(const struct wdl_team *team)
{
    return team->params.staging_bytes / 2 / PART * PART;
}

/* Two ranks' that is too long otherwise; or that one gives and the other folds, who need not wait
 * until all of it is there (reduce of 64 KiB, far: 10.2 us staged whole and folded by halves, 8.7
 * so; 6.4 where nothing is staged). */
static int is_long(const struct wdl_run *run)
{
    enum { LEAST = 32 << 10 };
    const struct wdl_coll_args *a = &run->args;
    return run->team->size == 2 && !a->variable && room_of(run->team) > 0 &&
           (wdl_staging_is_long(run) || (a->kind == WDL_COLL_REDUCE && a->bytes > LEAST));
}

/* An element lies in one piece. */
int wdl_parts_would_fold(const struct wdl_run *run)
{
    return wdl_coll_reduces(run->args.kind) && is_long(run) &&
           PART % run->args.op.elem_bytes == 0;
}

/* Is it a collective whose data may, and is to? A root's to a reduction goes nowhere. To an
 * allreduce both would give all of it, or fetch half of the other's, and then half of the result:
 * ranks find out which takes less time (4 MiB, far: 1.02 ms in parts, 0.72 fetched, Xeon of model
 * 207). */
static int is_wanted(const struct wdl_run *run)
{
    const struct wdl_coll_args *a = &run->args;
    if (run != run->team->express || !is_long(run))
        return 0;
    if (!wdl_coll_reduces(a->kind))
        return 1;
    if (!wdl_parts_would_fold(run))
        return 0;
    switch (a->kind) {
    case WDL_COLL_ALLREDUCE:
        return wdl_rate_stages(run->team, wdl_rate_use(run), 1);
    case WDL_COLL_REDUCE:
        return run->team->rank != a->root;
    default: /* whose time nobody takes: what is folded as it comes is not only read */
        return (a->kind != WDL_COLL_SCAN || run->team->rank == 0) &&
               wdl_rate_prefers(run->team, wdl_rate_use(run), 1);
    }
}

int wdl_parts_begin(struct wdl_run *run, struct wdl_sheet *sheet)
{
    size_t room = room_of(run->team);
    uint64_t card;
    if (!is_wanted(run) || !wdl_staging_take(run, room, &card))
        return 0;
    *sheet = (struct wdl_sheet){.staged = card, .ring = room, .in_parts = run->args.bytes};
    return 1;
}

int wdl_parts_fill(struct wdl_run *run)
{
    int me = run->team->rank, other = 1 - me;
    size_t all = run->args.bytes;
    struct wdl_sheet *sheet = sheet_of(run, me);
    if (!run->staged || !sheet->ring || sheet->filled == all ||
        wdl_board_seen(run, other, WDL_BOARD_DONE))
        return WDL_OK;
    size_t done = sheet->filled, ring = sheet->ring, taken = 0;
    if (wdl_board_seen(run, other, WDL_BOARD_LAST)) /* pairs with the store in wdl_parts_take */
        taken = __atomic_load_n(&sheet_of(run, other)->taken, __ATOMIC_ACQUIRE);
    size_t upto = least(all, taken + ring), before = done;
    const char *from = given(run);
    char *keep = kept(run);
    uint64_t since_ns = wdl_rate_now(run->team);
    while (done < upto) {
        size_t n = least(least(PART, upto - done), ring - done % ring);
        wdl_bypass_copy(&run->team->bypass, run->staged + done % ring, from + done, n);
        if (keep)
            wdl_bypass_away(keep + done, from + done, n);
        done += n;
        /* pairs with the load in wdl_parts_take */
        __atomic_store_n(&sheet->filled, done, __ATOMIC_RELEASE);
    }
    run->team->coll->stats.copied_bytes += done - before;
    if (before) /* what is copied to two places takes twice as long */
        wdl_rate_took(run->team, wdl_rate_use(run), WDL_RATE_FILLED,
                      (keep ? 2 : 1) * (done - before),
                      wdl_rate_now(run->team) - since_ns);
    return done < all ? WDL_AGAIN : WDL_OK;
}

/* Do results go past the caches? Where each gives and takes so much these have enough to do, and
 * to write a line takes reading it first; by far more where the two share none. (1 MiB, AMD EPYC,
 * two ranks that share none: an exchange 414 us, so 277. Else no difference was to be seen.) */
static int goes_past(const struct wdl_run *run)
{
    enum { LEAST = 1 << 20 };
    const struct wdl_coll_args *a = &run->args;
    return a->bytes >= LEAST && run->team->bypass.past &&
           (a->kind == WDL_COLL_GATHER_ALL || a->kind == WDL_COLL_EXCHANGE);
}

int wdl_parts_look(struct wdl_run *run, int rank, size_t bytes, const char **there_out,
                   size_t *bytes_out)
{
    const struct wdl_sheet *sheet = sheet_of(run, rank);
    struct wdl_sheet *own = sheet_of(run, run->team->rank);
    size_t ring = sheet->ring, done = run->taken, filled;
    const char *there = wdl_staging_of(run, rank, sheet, ring);
    *bytes_out = 0;
    if (!there || ring == 0 || run->team->size != 2)
        return WDL_ERR_PROTO;
    if (sheet->in_parts != bytes) /* of a vector as long as ours it means other parts */
        return WDL_ERR_TRUNCATE;
    if (!wdl_board_seen(run, run->team->rank, WDL_BOARD_LAST)) {
        own->taken = 0;
        wdl_board_post(run, WDL_BOARD_LAST);
    }
    if (done == bytes) {
        run->taken = 0;
        return WDL_OK;
    }
    int looks = run->staged && own->ring && own->filled < run->args.bytes ? 1 : LOOKS;
    do {
        /* pairs with the store in wdl_parts_fill */
        filled = __atomic_load_n(&sheet->filled, __ATOMIC_ACQUIRE);
    } while (filled == done && --looks > 0);
    if (filled > bytes || filled < done || filled - done > ring)
        return WDL_ERR_PROTO;
    if (filled == done)
        return WDL_AGAIN;
    *there_out = there + done % ring;
    *bytes_out = least(least(filled - done, 4 * PART), ring - done % ring);
    return WDL_OK;
}

void wdl_parts_took(struct wdl_run *run, size_t bytes)
{
    run->team->coll->stats.copied_bytes += bytes;
    run->taken += bytes;
    __atomic_store_n(&sheet_of(run, run->team->rank)->taken, run->taken, __ATOMIC_RELEASE);
}

int wdl_parts_take(struct wdl_run *run, int rank, char *here, size_t bytes)
{
    const char *there;
    size_t n;
    for (;;) {
        int status = wdl_parts_look(run, rank, bytes, &there, &n);
        if (status != WDL_OK || n == 0)
            return status;
        uint64_t since_ns = n < WDL_RATE_LEAST ? 0 : wdl_rate_now(run->team);
        (goes_past(run) ? wdl_bypass_stores : wdl_copy)(here + run->taken, there, n);
        if (since_ns)
            wdl_rate_took(run->team, wdl_rate_use(run), WDL_RATE_READ, n,
                          wdl_rate_now(run->team) - since_ns);
        wdl_parts_took(run, n);
    }
}
