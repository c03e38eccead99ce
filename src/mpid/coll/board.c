/* Part of Windlass. See COPYRIGHT in the top-level directory. Boards in shared memory (board.h). */
#include "mpid/coll/board.h"
#include <string.h>
#include "base/copy.h"
#include "mpid/coll/ahead.h"
#include "mpid/coll/algo.h"
#include "mpid/coll/nodes.h"
#include "mpid/coll/rate.h"
#include "mpid/coll/staging.h"

enum { LINE = 64 };

/* Of data, or of addresses. */
static size_t sheet_bytes(const struct wdl_team *team)
{
    size_t ranks = team->size < WDL_NODE_RANKS_MAX ? (size_t) team->size : WDL_NODE_RANKS_MAX;
    size_t most = sizeof(struct wdl_sheet) + ranks * sizeof(struct wdl_sheet_block);
    if (most < team->params.board_bytes)
        most = team->params.board_bytes;
    return (WDL_BOARD_STAMP + most + LINE - 1) & ~(size_t) (LINE - 1);
}

size_t wdl_board_bytes(const struct wdl_team *team)
{
    return sheet_bytes(team) + (WDL_BOARD_PLACES - 1) * LINE;
}

/* --- where ------------------------------------------------------------------------------------ */

size_t wdl_board_for_others(const struct wdl_run *run)
{
    const struct wdl_nodes *nodes = run->nodes;
    size_t all = 0;
    for (int r = 0; r < run->team->size; r++)
        if (r != run->team->rank && (!nodes || nodes->node_of[r] == nodes->mine))
            all += wdl_block_bytes(&run->args, &run->args.src_blocks, r);
    return all;
}

/* A byte for the length of each block, and the blocks behind them. */
static size_t packed_bytes(const struct wdl_run *run)
{
    return (size_t) run->team->size + wdl_board_for_others(run);
}

/* What we give. (Of a gather's root the others want to know where it all goes.) */
static int fits_line(const struct wdl_run *run)
{
    const struct wdl_coll_args *a = &run->args;
    size_t most = run->team->params.board_bytes, bytes = a->bytes;
    int is_root = run->team->rank == a->root;
    if (most > WDL_COLL_LINE_BYTES)
        most = WDL_COLL_LINE_BYTES;
    switch (a->kind) {
    case WDL_COLL_GATHER:
        return !is_root && bytes <= most;
    case WDL_COLL_BROADCAST:
    case WDL_COLL_REDUCE:
        return bytes <= most;
    case WDL_COLL_SCATTER:
        return is_root &&
               (a->variable ? packed_bytes(run) : bytes * (size_t) run->team->size) <= most;
    case WDL_COLL_EXCHANGE:
        return a->variable && packed_bytes(run) <= most;
    default:
        return 0;
    }
}

/* Only where all of a team are seen, and go no other way (team.c), there are lines. A scan's are
 * prefixes, and a barrier looks at nothing but stamps. Of other kinds nothing is on one, but who
 * means something else may have left that there for us to see. */
void wdl_board_open(struct wdl_run *run)
{
    const struct wdl_team *team = run->team;
    enum wdl_coll_kind kind = run->args.kind;
    size_t board = (run->seq & ((uint32_t) team->window - 1)) * team->slot_bytes + team->board_at;
    size_t line = team->lines_at + (run->stamp & ((uint64_t) team->numbers - 1)) *
                                       sizeof(struct wdl_shm_line);
    run->at = (struct wdl_board_places){board, board, board, board};
    if (!team->on_node || team->nodes || kind == WDL_COLL_SCAN || kind == WDL_COLL_BARRIER)
        return;
    run->at.second = line;
    if (!wdl_coll_is_rooted(kind) && (kind != WDL_COLL_EXCHANGE || !run->args.variable))
        return;
    int fits = fits_line(run);
    if (fits)
        run->at.own = line;
    size_t given = run->args.bytes * (size_t) (kind == WDL_COLL_SCATTER ? team->size : 1);
    if (run->args.variable || fits || given <= WDL_COLL_LINE_BYTES) {
        run->at.first = line;
        run->at.second = board;
    }
}

void wdl_board_pack(struct wdl_run *run)
{
    const struct wdl_coll_args *a = &run->args;
    unsigned char *lengths = (unsigned char *) wdl_board_sheet(run, run->team->rank);
    char *to = (char *) lengths + run->team->size;
    wdl_static_assert((int) WDL_COLL_LINE_BYTES <= UINT8_MAX);
    for (int r = 0; r < run->team->size; r++) {
        size_t bytes = r == run->team->rank ? 0 : wdl_block_bytes(a, &a->src_blocks, r);
        lengths[r] = (unsigned char) bytes;
        if (bytes)
            wdl_copy(to, (const char *) a->src + wdl_block_at(a, &a->src_blocks, r), bytes);
        to += bytes;
    }
    run->team->coll->stats.copied_bytes += (size_t) (to - (char *) lengths - run->team->size);
}

struct wdl_sheet_block wdl_board_packed(const struct wdl_run *run, int rank)
{
    const unsigned char *lengths = (const unsigned char *) wdl_board_sheet(run, rank);
    size_t at = (size_t) run->team->size;
    for (int r = 0; r < run->team->rank; r++)
        at += lengths[r];
    size_t bytes = lengths[run->team->rank];
    if (at + bytes > WDL_COLL_LINE_BYTES) /* no line: they are something else */
        return (struct wdl_sheet_block){0, SIZE_MAX};
    return (struct wdl_sheet_block){at, bytes};
}

/* --- boards ----------------------------------------------------------------------------------- */

static struct wdl_meet_word *place_of(const struct wdl_run *run, int rank,
                                      enum wdl_place_on_board place)
{
    if (place == WDL_BOARD_DATA)
        return wdl_board_data(run, rank);
    return (struct wdl_meet_word *) (void *) (run->team->node[rank] + run->at.board +
                                              sheet_bytes(run->team) +
                                              (size_t) (place - 1) * LINE);
}

void wdl_board_post(struct wdl_run *run, enum wdl_place_on_board place)
{
    const struct wdl_coll_shm *shm = run->team->params.shm;
    struct wdl_meet_word *at = place_of(run, run->team->rank, place);
    at->pad[0] = wdl_board_own_length(run) ^ wdl_board_meant(run);
    /* pairs with the load in wdl_board_seen: the sheet and the memory behind its addresses */
    wdl_meet_come(at, run->stamp);
    run->team->coll->stats.stored++;
    if (shm->wake)
        for (int r = 0; r < run->team->size; r++)
            if (r != run->team->rank && run->team->node[r])
                shm->wake(shm->ctx, r);
}

int wdl_board_seen(const struct wdl_run *run, int rank, enum wdl_place_on_board place)
{
    return __atomic_load_n(&place_of(run, rank, place)->number, __ATOMIC_ACQUIRE) == run->stamp;
}

size_t wdl_board_own_length(const struct wdl_run *run)
{
    int all = run->args.kind == WDL_COLL_GATHER_ALL && run->nodes; /* levels_gather.c */
    return all || run->args.kind == WDL_COLL_REDUCE_SCATTER ? run->shown : run->args.bytes;
}

size_t wdl_board_length_at(const struct wdl_run *run, int rank, enum wdl_place_on_board place)
{
    return place_of(run, rank, place)->pad[0] ^ wdl_board_meant(run);
}

char *wdl_board_second(const struct wdl_run *run, int rank)
{
    size_t bytes = run->args.bytes;
    size_t first = (bytes + WDL_BOARD_STAMP - 1) & ~(size_t) (WDL_BOARD_STAMP - 1);
    return first + bytes <= run->team->params.board_bytes ? wdl_board_sheet(run, rank) + first
                                                          : NULL;
}

int wdl_board_means_the_same(const struct wdl_run *run, int rank, enum wdl_place_on_board place)
{
    return wdl_board_length_at(run, rank, place) >> WDL_BOARD_LENGTH_BITS == 0;
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
    /* of what is folded all is one time, which node_fold.c takes */
    enum wdl_rate_use use = bytes < WDL_RATE_LEAST ? WDL_RATE_USES : wdl_rate_use(run);
    if (use == WDL_RATE_USES || use == WDL_RATE_FOLDED || use == WDL_RATE_LONG_FOLDED ||
        !wdl_staging_could(run))
        return shm->peek(shm->ctx, rank, there, here, bytes);
    uint64_t since_ns = wdl_rate_now(run->team);
    int status = shm->peek(shm->ctx, rank, there, here, bytes);
    if (status == WDL_OK)
        wdl_rate_took(run->team, use, WDL_RATE_FETCHED, bytes,
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
