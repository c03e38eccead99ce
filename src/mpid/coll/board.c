/* Part of Windlass. See COPYRIGHT in the top-level directory. Boards in shared memory (board.h). */
#include "mpid/coll/board.h"
#include <string.h>
#include "base/copy.h"
#include "mpid/coll/ahead.h"
#include "mpid/coll/rate.h"
#include "mpid/proc/meet.h"

enum { LENGTH_BITS = 40 };
enum { LINE = 64, STAMP = 16 }; /* data begins behind stamp and length, aligned for any element */

/* Of data, or of addresses. */
static size_t sheet_bytes(const struct wdl_team *team)
{
    size_t ranks = team->size < WDL_NODE_RANKS_MAX ? (size_t) team->size : WDL_NODE_RANKS_MAX;
    size_t most = sizeof(struct wdl_sheet) + ranks * sizeof(struct wdl_sheet_block);
    if (most < team->params.board_bytes)
        most = team->params.board_bytes;
    return (STAMP + most + LINE - 1) & ~(size_t) (LINE - 1);
}

size_t wdl_board_bytes(const struct wdl_team *team)
{
    return sheet_bytes(team) + (WDL_BOARD_PLACES - 1) * LINE;
}

size_t wdl_board_at(const struct wdl_run *run)
{
    const struct wdl_team *team = run->team;
    return (run->seq & ((uint32_t) team->window - 1)) * team->slot_bytes + team->board_at;
}

static char *board_of(const struct wdl_run *run, int rank)
{
    return run->team->node[rank] + wdl_board_at(run);
}

char *wdl_board_sheet(const struct wdl_run *run, int rank)
{
    return board_of(run, rank) + STAMP;
}

static struct wdl_meet_word *place_of(const struct wdl_run *run, int rank,
                                      enum wdl_place_on_board place)
{
    char *board = board_of(run, rank);
    if (place != WDL_BOARD_DATA)
        board += sheet_bytes(run->team) + (size_t) (place - 1) * LINE;
    return (struct wdl_meet_word *) (void *) board;
}

/* Above any length: who means something else reads none that there is. */
static uint64_t meant(const struct wdl_run *run)
{
    return (uint64_t) run->print << LENGTH_BITS;
}

void wdl_board_post(struct wdl_run *run, enum wdl_place_on_board place)
{
    const struct wdl_coll_shm *shm = run->team->params.shm;
    struct wdl_meet_word *at = place_of(run, run->team->rank, place);
    at->pad[0] = wdl_board_own_length(run) ^ meant(run);
    /* pairs with the load in wdl_board_seen: the sheet and the memory behind its addresses */
    wdl_meet_come(at, run->stamp);
    run->team->coll->stats.stored++;
    if (shm->wake)
        for (int r = 0; r < run->team->size; r++)
            if (r != run->team->rank && run->team->node[r])
                shm->wake(shm->ctx, r);
}

const uint64_t *wdl_board_stamp(const struct wdl_run *run, int rank, enum wdl_place_on_board place)
{
    return &place_of(run, rank, place)->number;
}

int wdl_board_seen(const struct wdl_run *run, int rank, enum wdl_place_on_board place)
{
    return __atomic_load_n(wdl_board_stamp(run, rank, place), __ATOMIC_ACQUIRE) == run->stamp;
}

size_t wdl_board_own_length(const struct wdl_run *run)
{
    int all = run->args.kind == WDL_COLL_GATHER_ALL && run->nodes; /* levels_gather.c */
    return all || run->args.kind == WDL_COLL_REDUCE_SCATTER ? run->shown : run->args.bytes;
}

size_t wdl_board_length_at(const struct wdl_run *run, int rank, enum wdl_place_on_board place)
{
    return place_of(run, rank, place)->pad[0] ^ meant(run);
}

size_t wdl_board_length(const struct wdl_run *run, int rank)
{
    return wdl_board_length_at(run, rank, WDL_BOARD_DATA);
}

char *wdl_board_second(const struct wdl_run *run, int rank)
{
    size_t bytes = run->args.bytes, first = (bytes + STAMP - 1) & ~(size_t) (STAMP - 1);
    return first + bytes <= run->team->params.board_bytes ? wdl_board_sheet(run, rank) + first
                                                          : NULL;
}

int wdl_board_means_the_same(const struct wdl_run *run, int rank, enum wdl_place_on_board place)
{
    return wdl_board_length_at(run, rank, place) >> LENGTH_BITS == 0;
}

int wdl_board_fetch(const struct wdl_run *run, int rank, const void *there, void *here,
                    size_t bytes)
{
    const struct wdl_coll_shm *shm = run->team->params.shm;
    if (bytes == 0)
        return WDL_OK;
    if (rank == run->team->rank) {
        wdl_copy(here, there, bytes);
        return WDL_OK;
    }
    run->team->coll->stats.placed_bytes += bytes;
    /* of what is FOLDED all is one time, which the root takes (node_fold.c) */
    if (bytes < WDL_RATE_LEAST || wdl_rate_use(run) == WDL_RATE_FOLDED)
        return shm->peek(shm->ctx, rank, there, here, bytes);
    uint64_t since_ns = wdl_rate_now(run->team);
    int status = shm->peek(shm->ctx, rank, there, here, bytes);
    if (status == WDL_OK)
        wdl_rate_took(run->team, wdl_rate_use(run), WDL_RATE_FETCHED, bytes,
                      wdl_rate_now(run->team) - since_ns);
    return status;
}

int wdl_board_give(const struct wdl_run *run, int rank, const void *here, void *there, size_t bytes)
{
    const struct wdl_coll_shm *shm = run->team->params.shm;
    if (bytes == 0)
        return WDL_OK;
    if (rank == run->team->rank) {
        wdl_copy(there, here, bytes);
        return WDL_OK;
    }
    run->team->coll->stats.placed_bytes += bytes;
    return shm->poke(shm->ctx, rank, here, there, bytes);
}

static uint32_t digest(const struct wdl_run *run, const void *at)
{
    return wdl_alike_add(0, wdl_stands_for(&run->team->params, at));
}

/* Memory of the engine's own, where blocks are packed, or heads have what they pass on, is nobody
 * else's to know. */
struct wdl_said wdl_board_say(const struct wdl_run *run, const void *at)
{
    const struct wdl_coll_args *a = &run->args;
    int me = run->team->rank;
    struct wdl_said said = {.digest = digest(run, at)};
    if (at && (a->flags & WDL_COLL_SRC_GIVEN) && at == wdl_ahead_src(a, me))
        said.which = WDL_SAID_SRC;
    else if (at && (a->flags & WDL_COLL_DST_GIVEN) && at == wdl_ahead_dst(a, me))
        said.which = WDL_SAID_DST;
    else
        said = (struct wdl_said){.at = (uint64_t) (uintptr_t) at};
    return said;
}

char *wdl_board_said(const struct wdl_run *run, int rank, struct wdl_said said)
{
    const struct wdl_coll_args *a = &run->args;
    const char *at = NULL;
    if (said.which == WDL_SAID_AT)
        return (char *) (uintptr_t) said.at;
    if (said.which == WDL_SAID_SRC && (a->flags & WDL_COLL_SRC_GIVEN))
        at = wdl_ahead_src(a, rank);
    else if (said.which == WDL_SAID_DST && (a->flags & WDL_COLL_DST_GIVEN))
        at = wdl_ahead_dst(a, rank);
    return digest(run, at) == said.digest ? (char *) (uintptr_t) at : NULL;
}

int wdl_board_fetch_said(const struct wdl_run *run, int rank, struct wdl_said said, size_t at,
                         void *here, size_t bytes)
{
    const char *there = wdl_board_said(run, rank, said);
    if (bytes == 0)
        return WDL_OK;
    return there ? wdl_board_fetch(run, rank, there + at, here, bytes) : WDL_ERR_TRUNCATE;
}
