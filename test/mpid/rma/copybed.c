/* Part of Windlass. See COPYRIGHT in the top-level directory. Three ranks with private memory
 * (copybed.h). */
#include "mpid/rma/copybed.h"
#include <string.h>
#include "support/must.h"
#include "support/suite.h"

struct bed_mover mover;
struct bed_view view;
struct wdl_stream bed_ring[RANKS];

static void *reach(void *ctx, int rank, const struct wdl_region *region)
{
    const struct test_world *w = ((struct test_rank *) ctx)->world;
    view.calls++;
    view.rank = rank;
    view.serial = region->serial;
    must_cmp(region->offer, !=, 0);
    return view.refuse ? NULL :
        view.memory + (region->base - (uint64_t) (uintptr_t) w->rank[rank].memory);
}

static void rank_info(void *ctx, int rank, struct wdl_win_rank *out)
{
    const struct test_world *w = ((struct test_rank *) ctx)->world;
    out->base = w->params.dynamic ? 0 : (uint64_t) (uintptr_t) w->rank[rank].memory;
    out->bytes = w->params.dynamic ? UINT64_MAX : w->params.bytes;
    out->disp_unit = w->params.dynamic ? 1 : UNIT;
}

static size_t sum(const struct wdl_piece *pieces, int n)
{
    size_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += pieces[i].bytes;
    return bytes;
}

static int move(void *ctx, int rank, int to_rank, struct wdl_piece *local, int nlocal,
                struct wdl_piece *remote, int nremote)
{
    struct wdl_piece *to = to_rank ? remote : local, *from = to_rank ? local : remote;
    must_cmp(rank, !=, ((struct test_rank *) ctx)->rank);
    must_cmp(sum(local, nlocal), ==, sum(remote, nremote));
    mover.pieces = nremote;
    mover.read += to_rank ? 0 : sum(remote, nremote);
    if (++mover.calls == mover.fail_at)
        return WDL_ERR_RANGE;
    if (mover.during)
        mover.during(mover.bed, mover.calls);
    if (mover.meanwhile)
        *mover.meanwhile += 2;
    mover.meanwhile = NULL;
    for (size_t left = sum(local, nlocal); left > 0;) {
        const struct wdl_piece *far = to_rank ? to : from;
        if (mover.broken >= far->base && mover.broken < far->base + far->bytes)
            return WDL_ERR_RANGE;
        size_t n = to->bytes < from->bytes ? to->bytes : from->bytes;
        memcpy(to->base, from->base, n);
        *to = (struct wdl_piece){to->base + n, to->bytes - n};
        *from = (struct wdl_piece){from->base + n, from->bytes - n};
        to += to->bytes == 0;
        from += from->bytes == 0;
        left -= n;
    }
    return WDL_OK;
}

static struct wdl_stream *stream(void *ctx, int rank, uint64_t *id)
{
    must_cmp(rank, <, RANKS);
    if (rank == ((struct test_rank *) ctx)->rank)
        *id = 1 + (uint64_t) rank;
    return *id == 1 + (uint64_t) rank ? &bed_ring[rank] : NULL;
}

void bed_open_as(struct bed *bed, struct bed_kind kind)
{
    struct test_world_params p = {.ranks = RANKS, .node = RANKS, .own = !kind.mapped,
                                  .dynamic = kind.dynamic, .disp_unit = UNIT,
                                  .bytes = kind.bytes ? kind.bytes : BYTES};
    memset(bed, 0, sizeof(*bed));
    memset(&mover, 0, sizeof(mover));
    memset(&view, 0, sizeof(view));
    memset(bed_ring, 0, sizeof(bed_ring));
    test_world_open(&bed->w, &p);
    for (int i = 0; i < RANKS; i++) {
        struct wdl_win_params params = test_win_params(&bed->w.rank[i]);
        params.id = 3;
        params.rank_info = rank_info;
        params.copy = kind.mapped ? NULL : move;
        params.copy_mapped = kind.mapped ? move : NULL;
        params.attended = kind.attended;
        params.mail = kind.mail;
        params.crowded = kind.crowded;
        params.stream = stream;
        params.hints.combine = kind.combine;
        if (kind.dynamic > 1) {
            params.reach = reach;
            params.mapped_any = 1;
        }
        ck_assert_int_eq(wdl_win_create(bed->w.rank[i].proc, &params, &bed->win[i]), WDL_OK);
    }
    ck_assert_int_eq(wdl_win_lock_all(bed->win[0], 0, &bed->step), WDL_OK);
}

void bed_open(struct bed *bed, int dynamic)
{
    bed_open_as(bed, (struct bed_kind){.dynamic = dynamic, .combine = WDL_COMBINE_NEVER});
}

void bed_end(struct bed *bed)
{
    TEST_DONE(&bed->w, wdl_win_unlock_all(bed->win[0], &bed->step));
    for (int i = 0; i < RANKS; i++)
        TEST_DONE(&bed->w, wdl_win_free(bed->win[i]));
    test_world_close(&bed->w);
}

void bed_close(struct bed *bed)
{
    struct wdl_win_stats stats;
    wdl_win_stats_get(bed->win[0], &stats);
    ck_assert_uint_eq(stats.messages, 0);
    ck_assert_int_eq(test_world_messages(&bed->w), 0);
    bed_end(bed);
}

struct wdl_win_stats bed_stats(const struct bed *bed)
{
    struct wdl_win_stats stats;
    wdl_win_stats_get(bed->win[0], &stats);
    return stats;
}

struct wdl_rma_args crooked(struct wdl_rma_args args)
{
    args.remote.lo += 4;
    args.remote.hi += 4;
    return args;
}

uint64_t bed_word(const struct bed *bed, int rank, int64_t disp)
{
    uint64_t value;
    memcpy(&value, bed->w.rank[rank].memory + disp * UNIT, sizeof(value));
    return value;
}

void bed_open_mail(struct bed *bed)
{
    bed_open_as(bed, (struct bed_kind){.mail = 1});
}

struct wdl_mail *bed_cell(struct bed *bed, int target)
{
    return &bed->w.control[target].mail[0];
}

int bed_flush(struct bed *bed, int rank)
{
    return wdl_win_flush(bed->win[0], rank, 0, &bed->step);
}

void bed_served(struct bed *bed, int target)
{
    must_cmp(wdl_mailbox_serve(bed->win[target]), ==, 1);
    must_cmp(wdl_mailbox_serve(bed->win[target]), ==, 0);
}

void bed_done_there(struct bed *bed, int target)
{
    must_cmp(bed_flush(bed, target), ==, WDL_AGAIN);
    bed_served(bed, target);
    must_cmp(bed_flush(bed, target), ==, WDL_OK);
}

int operate(struct bed *bed, struct wdl_rma_args args)
{
    return wdl_rma_op(bed->win[0], &args);
}

int put8(struct bed *bed, int target, int64_t disp)
{
    return operate(bed, test_put(target, disp, "windlas", 8));
}

int64_t attach(struct bed *bed, int rank, int offset, int bytes)
{
    char *at = bed->w.rank[rank].memory + offset;
    ck_assert_int_eq(wdl_win_attach(bed->win[rank], at, (uint64_t) bytes), WDL_OK);
    return (int64_t) (uintptr_t) at;
}
