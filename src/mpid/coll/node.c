/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Showing and taking (node.h); barrier, broadcast, and the collectives that move blocks.
 */
#include <string.h>
#include "base/copy.h"
#include "mpid/coll/fail.h"
#include "mpid/coll/node.h"
#include "mpid/coll/ahead.h"
#include "mpid/coll/parts.h"
#include "mpid/coll/rate.h"
#include "mpid/coll/staging.h"
#include "mpid/proc/meet.h"

size_t wdl_node_shown(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    size_t size = (size_t) team->size, all = 0, end;
    switch (args->kind) {
    case WDL_COLL_BARRIER:
        return 0;
    case WDL_COLL_REDUCE_SCATTER:
        for (int r = 0; r < team->size; r++) {
            end = wdl_block_at(args, &args->src_blocks, r) +
                  wdl_block_bytes(args, &args->src_blocks, r);
            all = end > all ? end : all;
        }
        return all;
    case WDL_COLL_SCATTER:
    case WDL_COLL_EXCHANGE:
        return args->variable ? SIZE_MAX : args->bytes * size;
    default:
        return args->variable ? SIZE_MAX : args->bytes;
    }
}

int wdl_node_post(struct wdl_run *run, enum wdl_place_on_board place)
{
    wdl_board_post(run, place);
    return WDL_OK;
}

/* Show `bytes` at `data` on the board itself, ... */
static int show_data(struct wdl_run *run, const void *data, size_t bytes)
{
    if (run->team->showed == run->stamp) /* wdl_coll_at_once has */
        return WDL_OK;
    if (bytes)
        wdl_bypass_copy(&run->team->bypass, wdl_board_sheet(run, run->team->rank), data, bytes);
    run->team->coll->stats.copied_bytes += bytes;
    return wdl_node_post(run, WDL_BOARD_DATA);
}

static struct wdl_sheet *own_sheet(struct wdl_run *run)
{
    return (struct wdl_sheet *) (void *) wdl_board_sheet(run, run->team->rank);
}

/* ... or where it is, and where results go. */
static int show_place(struct wdl_run *run, const struct wdl_node_data *data,
                      const struct wdl_coll_blocks *blocks)
{
    struct wdl_sheet *s = own_sheet(run);
    *s = (struct wdl_sheet){.src = wdl_board_say(run, data->at),
                            .dst = wdl_board_say(run, data->dst),
                            .left = data->left};
    for (int i = 0; i < wdl_node_size(run) && blocks && blocks->at; i++) {
        int r = wdl_node_rank(run, i);
        s->block[i] = (struct wdl_sheet_block){blocks->at[r], blocks->bytes[r]};
    }
    return wdl_node_post(run, WDL_BOARD_DATA);
}

int wdl_node_show_places(struct wdl_run *run, const void *src, void *dst)
{
    return show_place(run, &(struct wdl_node_data){.at = src, .dst = dst}, NULL);
}

/* Of two ranks, long, for one, and not in parts: to be copied twice, through no cache, is no faster
 * (an iallgather of 4 MiB 1.8 ms, fetched 1.5). */
static int is_lone(const struct wdl_run *run)
{
    return run->team->size == 2 && run != run->team->express &&
           wdl_rate_use(run) >= WDL_RATE_LONG_FOR_ONE;
}

/* Is what a root gathers for it to get? Of several, each puts its block there, all at once; but
 * with OUT_NOSYNC they may do something else by now. */
static int is_fetched_by_root(const struct wdl_run *run)
{
    return run->team->size == 2 || (run->args.flags & WDL_COLL_OUT_NOSYNC);
}

/* What one of two gives to a reduce that both may fold: if the root has found that faster. Who
 * waits tries it, too. */
static int is_given(const struct wdl_run *run)
{
    if (run->team->rank == run->args.root)
        return 0;
    return run == run->team->express ? wdl_rate_stages(run->team, WDL_RATE_FOLDED, 0) :
                                       wdl_rate_prefers(run->team, WDL_RATE_FOLDED, 0);
}

enum { SHORT = 8 << 10 };

/* Of an exchange of several ranks each fetches from all the others, and the system looks up every
 * page (8 ranks on 2 processors, 64 KiB for each: fetched 190 us, staged 110). */
static int stages_exchange(const struct wdl_run *run)
{
    int several = run->args.kind == WDL_COLL_EXCHANGE && run->team->size > 2;
    return !is_lone(run) && wdl_staging_could(run) &&
           wdl_rate_stages(run->team, wdl_rate_use(run), several);
}

/* A short copy takes less than a call of the system, and who gives need not wait. Of longer ones
 * ranks take the time (rate.h), and until they have it is as measured on one machine. Other
 * operands are best where they can be folded from. */
static int is_to_be_staged(const struct wdl_run *run)
{
    const struct wdl_coll_args *a = &run->args;
    if (is_lone(run))
        return 0;
    if (wdl_node_may_both_fold(run))
        return is_given(run);
    switch (a->kind) {
    case WDL_COLL_BROADCAST:
    case WDL_COLL_GATHER_ALL:
        return wdl_rate_stages(run->team, wdl_rate_use(run), 1);
    case WDL_COLL_SCATTER:
    case WDL_COLL_EXCHANGE:
        return a->bytes <= SHORT || stages_exchange(run);
    case WDL_COLL_GATHER:
        return is_fetched_by_root(run) &&
               (a->bytes <= SHORT || wdl_rate_stages(run->team, wdl_rate_use(run), 0));
    default:
        return wdl_coll_reduces(a->kind);
    }
}

/* Blocks that vary, and are short in the mean, or best staged: side by side, the next rank's first.
 */
static int stage_blocks(struct wdl_run *run)
{
    const struct wdl_coll_args *a = &run->args;
    int size = wdl_node_size(run), place = wdl_node_place(run);
    size_t all = wdl_board_for_others(run), at = 0;
    uint64_t card;
    int is_short = all <= (size_t) (size - 1) * SHORT;
    if ((!is_short && !stages_exchange(run)) || !wdl_staging_take(run, all, &card))
        return 0;
    struct wdl_sheet *sheet = own_sheet(run);
    *sheet = (struct wdl_sheet){.staged = card};
    sheet->block[place] = (struct wdl_sheet_block){0, 0};
    for (int k = 1; k < size; k++) {
        int i = (place + k) % size;
        size_t bytes = wdl_block_bytes(a, &a->src_blocks, wdl_node_rank(run, i));
        sheet->block[i] = (struct wdl_sheet_block){at, bytes};
        at += bytes;
    }
    (void) wdl_node_post(run, WDL_BOARD_DATA);
    at = 0;
    for (int k = 1; k < size; k++) {
        int r = wdl_node_rank(run, (place + k) % size);
        size_t bytes = wdl_block_bytes(a, &a->src_blocks, r);
        wdl_staging_fill_part(run, sheet, all, at,
                              (const char *) a->src + wdl_block_at(a, &a->src_blocks, r), bytes);
        at += bytes;
    }
    return 1;
}

/* ... or staged: is there room? */
static int show_staged(struct wdl_run *run, const struct wdl_node_data *data)
{
    struct wdl_sheet *sheet = own_sheet(run);
    int whole = wdl_coll_reduces(run->args.kind); /* nobody begins with a part */
    uint64_t card;
    if (run->nodes)
        return 0;
    if (run->shown == SIZE_MAX && (run->args.kind == WDL_COLL_SCATTER ||
                                   run->args.kind == WDL_COLL_EXCHANGE))
        return stage_blocks(run);
    if (!is_to_be_staged(run))
        return 0;
    if (wdl_parts_begin(run, sheet))
        return wdl_node_post(run, WDL_BOARD_DATA) == WDL_OK;
    if (!wdl_staging_take(run, data->bytes, &card))
        return 0;
    *sheet = (struct wdl_sheet){.src = wdl_board_say(run, data->at),
                                .dst = wdl_board_say(run, data->dst),
                                .staged = card};
    if (!whole)
        (void) wdl_node_post(run, WDL_BOARD_DATA);
    wdl_staging_fill(run, sheet, data->at, data->bytes, data->own, data->own_end);
    if (whole)
        (void) wdl_node_post(run, WDL_BOARD_DATA);
    return 1;
}

/* How long they are together not all ranks know, so the sheet says where they are. */
int wdl_node_show_blocks(struct wdl_run *run, const struct wdl_node_data *data)
{
    const struct wdl_coll_args *a = &run->args;
    if (run->team->showed == run->stamp)
        return 1;
    if (wdl_board_is_lined(run, run->team->rank)) {
        wdl_board_pack(run);
        return wdl_node_post(run, WDL_BOARD_DATA) == WDL_OK;
    }
    int size = wdl_node_size(run), place = wdl_node_place(run);
    size_t at = sizeof(struct wdl_sheet) + (size_t) size * sizeof(struct wdl_sheet_block);
    size_t all = wdl_board_for_others(run);
    if (at + all > run->team->params.board_bytes)
        return 0;
    struct wdl_sheet *s = own_sheet(run);
    *s = (struct wdl_sheet){.shown = 1};
    for (int i = 0; i < size; i++) {
        int r = wdl_node_rank(run, i);
        size_t bytes = i == place ? 0 : wdl_block_bytes(a, &a->src_blocks, r);
        s->block[i] = (struct wdl_sheet_block){at, bytes};
        if (bytes)
            wdl_copy((char *) s + at, (const char *) data->at + wdl_block_at(a, &a->src_blocks, r),
                     bytes);
        at += bytes;
    }
    run->team->coll->stats.copied_bytes += all;
    (void) wdl_node_post(run, WDL_BOARD_DATA);
    return 1;
}

int wdl_node_show_data(struct wdl_run *run, const struct wdl_node_data *data)
{
    if (wdl_node_on_board(run))
        return show_data(run, data->at, data->bytes);
    if (run->shown == SIZE_MAX && wdl_node_show_blocks(run, data))
        return WDL_OK;
    return show_staged(run, data) ? WDL_OK : show_place(run, data, &run->args.src_blocks);
}

int wdl_node_show(struct wdl_run *run, const void *data, size_t bytes)
{
    return wdl_node_show_data(
        run, &(struct wdl_node_data){.at = data, .bytes = bytes, .dst = run->args.dst});
}

const struct wdl_sheet *wdl_node_sheet(const struct wdl_run *run, int rank)
{
    return (const struct wdl_sheet *) (const void *) wdl_board_sheet(run, rank);
}

char *wdl_node_goal(struct wdl_run *run, int rank)
{
    char *there = wdl_board_said(run, rank, wdl_node_sheet(run, rank)->dst);
    if (!there)
        wdl_run_fail(run);
    return there;
}

static int take_copy(const struct wdl_run *run, int rank, size_t at, void *here, size_t bytes)
{
    if (bytes)
        wdl_copy(here, wdl_board_sheet(run, rank) + at, bytes);
    run->team->coll->stats.copied_bytes += bytes;
    return WDL_OK;
}

/* ... behind a sheet, staged, or in memory. */
static int take_long(struct wdl_run *run, int rank, size_t at, void *here, size_t bytes)
{
    const struct wdl_sheet *sheet = wdl_node_sheet(run, rank);
    if (wdl_board_is_lined(run, rank) || sheet->shown)
        return take_copy(run, rank, at, here, bytes);
    if (sheet->ring)
        return wdl_parts_take(run, rank, here, bytes);
    return sheet->staged ? wdl_staging_read(run, rank, sheet, at, here, bytes)
                         : wdl_board_fetch_said(run, rank, sheet->src, at, here, bytes);
}

int wdl_node_take(struct wdl_run *run, int rank, size_t at, void *here, size_t bytes)
{
    return wdl_node_on_board(run) ? take_copy(run, rank, at, here, bytes)
                                  : take_long(run, rank, at, here, bytes);
}

/* Every other rank for whose place on the node `wanted`, or all. */
static int each(struct wdl_run *run, struct wdl_car_run *c, enum wdl_place_on_board place,
                int (*wanted)(struct wdl_run *run, int i),
                int (*fn)(struct wdl_run *run, int rank))
{
    int size = wdl_node_size(run);
    for (; c->next < size - 1; c->next++) {
        int i = wdl_node_place(run) + 1 + c->next;
        i = i < size ? i : i - size;
        int rank = wdl_node_rank(run, i);
        if (wanted && !wanted(run, i))
            continue;
        if (!wdl_board_seen(run, rank, place))
            return WDL_AGAIN;
        int status = fn ? fn(run, rank) : WDL_OK;
        if (status == WDL_AGAIN)
            return WDL_AGAIN;
        (void) wdl_node_note(run, status);
    }
    c->next = 0;
    return WDL_OK;
}

int wdl_node_each(struct wdl_run *run, struct wdl_car_run *c, enum wdl_place_on_board place,
                  int (*fn)(struct wdl_run *run, int rank))
{
    return each(run, c, place, NULL, fn);
}

int wdl_node_one(struct wdl_run *run, int rank, enum wdl_place_on_board place,
                 int (*fn)(struct wdl_run *run, int rank))
{
    if (!wdl_board_seen(run, rank, place))
        return WDL_AGAIN;
    int status = fn ? fn(run, rank) : WDL_OK;
    return status == WDL_AGAIN ? WDL_AGAIN : wdl_node_note(run, status);
}

int wdl_node_agrees(struct wdl_run *run, int rank)
{
    return wdl_board_length(run, rank) == wdl_board_own_length(run) ? WDL_OK : WDL_ERR_TRUNCATE;
}

/* Does the i-th rank give us a block? Who has none for us is not waited for. */
static int gives(struct wdl_run *run, int i)
{
    const struct wdl_coll_args *a = &run->args;
    return !a->variable || wdl_block_bytes(a, &a->dst_blocks, wdl_node_rank(run, i)) > 0;
}

/* Does it fetch one of ours? Our sheet says so: with OUT_NOSYNC the lists may be the caller's
 * again. */
static int takes(struct wdl_run *run, int i)
{
    return !run->args.variable || own_sheet(run)->block[i].bytes > 0;
}

/* What is fetched from my memory stays until all who fetch have said so. */
static int until_fetched(struct wdl_run *run, struct wdl_car_run *c)
{
    int free = wdl_node_on_board(run) || run->staged ||
               wdl_board_is_lined(run, run->team->rank) || own_sheet(run)->shown;
    return free ? WDL_OK : each(run, c, WDL_BOARD_DONE, takes, NULL);
}

/* The end of a WATCH: with OUT_NOSYNC another one (wdl_all_node) waits for that. */
static int end_given(struct wdl_run *run, struct wdl_car_run *c)
{
    return run->args.flags & WDL_COLL_OUT_NOSYNC ? WDL_OK : until_fetched(run, c);
}

int wdl_node_fetched(struct wdl_run *run)
{
    return wdl_node_on_board(run) && run->status == WDL_OK ? WDL_OK
                                                           : wdl_node_post(run, WDL_BOARD_DONE);
}

/* --- barrier, broadcast ----------------------------------------------------------------------- */

/* Where the boards of a slot begin: with the stamp of DATA. */
struct boards {
    char *const *node;
    size_t at;
};

static struct wdl_meet_word *words_of(const void *ctx, int rank)
{
    const struct boards *boards = ctx;
    return (struct wdl_meet_word *) (void *) (boards->node[rank] + boards->at);
}

int wdl_node_barrier(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_team *team = run->team;
    struct boards boards = {team->node, run->at.board};
    WDL_NODE_STEP(c, 0, wdl_node_post(run, WDL_BOARD_DATA));
    return wdl_meet_look(words_of, &boards, team->rank, team->size, run->stamp, &c->next)
               ? WDL_OK
               : WDL_AGAIN;
}

/* All look at all, once each; but what comes down from the root, who has, is late enough. */
int wdl_node_entry(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_coll_args *a = &run->args;
    int down = wdl_flow_of(a) == WDL_FLOW_DOWN;
    run->shown = wdl_node_shown(run->team, a);
    WDL_NODE_STEP(c, 0, wdl_node_post(run, WDL_BOARD_IN));
    return down && run->team->rank != a->root ? WDL_OK : each(run, c, WDL_BOARD_IN, NULL, NULL);
}

/* What has moved ahead (ahead.h) nobody may have compared before. */
static int meant_the_same(struct wdl_run *run, int rank)
{
    return wdl_board_means_the_same(run, rank, WDL_BOARD_OUT) ? WDL_OK : WDL_ERR_TRUNCATE;
}

/* The same; but a root that has all there is knows that it is over. */
int wdl_node_exit(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_coll_args *a = &run->args;
    int up = wdl_flow_of(a) == WDL_FLOW_UP, is_root = run->team->rank == a->root;
    if (up && !is_root)
        return wdl_node_one(run, a->root, WDL_BOARD_OUT, meant_the_same);
    WDL_NODE_STEP(c, 0, wdl_node_post(run, WDL_BOARD_OUT));
    return up ? WDL_OK : each(run, c, WDL_BOARD_OUT, NULL, meant_the_same);
}

int wdl_node_take_all(struct wdl_run *run, int rank)
{
    int status = wdl_node_agrees(run, rank);
    return status == WDL_OK ? wdl_node_take(run, rank, 0, run->args.dst, run->args.bytes) : status;
}

/* What is long is not read into the caches to be overwritten there (AMD EPYC, iallgather, 2 ranks
 * near each other, 1 MiB: 368 us so, 300 past them; 4 MiB 1552, 1340). */
static void own_block(const void *from, void *to, size_t bytes)
{
    enum { LONG = 1 << 20 };
    if (bytes == 0 || !to || from == to)
        return;
    if (bytes < LONG)
        wdl_copy(to, from, bytes);
    else
        wdl_bypass_away(to, from, bytes);
}

static int broadcast(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_coll_args *a = &run->args;
    if (run->team->rank == a->root) {
        WDL_NODE_STEP(c, 0, wdl_node_show(run, a->src, a->bytes));
        WDL_NODE_STEP(c, 1, wdl_parts_fill(run));
        WDL_NODE_STEP(c, 2, (own_block(a->src, a->dst, a->bytes), WDL_OK));
        return end_given(run, c);
    }
    WDL_NODE_STEP(c, 0, wdl_node_one(run, a->root, WDL_BOARD_DATA, wdl_node_take_all));
    return wdl_node_fetched(run);
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* Blocks that are gathered go by their own lengths, which both sides know. */
static int is_short(const struct wdl_run *run, size_t bytes)
{
    return bytes <= run->team->params.board_bytes;
}

static int take_block(struct wdl_run *run, int rank)
{
    const struct wdl_coll_args *a = &run->args;
    size_t bytes = wdl_block_bytes(a, &a->dst_blocks, rank);
    char *here = (char *) a->dst + wdl_block_at(a, &a->dst_blocks, rank);
    if (wdl_board_length(run, rank) != bytes)
        return WDL_ERR_TRUNCATE;
    return is_short(run, bytes) ? take_copy(run, rank, 0, here, bytes)
                                : take_long(run, rank, 0, here, bytes);
}

static int keep_block(struct wdl_run *run, const void *from, size_t given)
{
    const struct wdl_coll_args *a = &run->args;
    int me = run->team->rank;
    if (wdl_block_bytes(a, &a->dst_blocks, me) != given)
        return wdl_node_note(run, WDL_ERR_TRUNCATE);
    own_block(from, (char *) a->dst + wdl_block_at(a, &a->dst_blocks, me), given);
    return WDL_OK;
}

static int show_block(struct wdl_run *run)
{
    const struct wdl_coll_args *a = &run->args;
    struct wdl_node_data data = {.at = a->src, .bytes = a->bytes, .dst = a->dst};
    data.left = a->kind == WDL_COLL_GATHER && is_fetched_by_root(run);
    if (is_short(run, a->bytes))
        return show_data(run, a->src, a->bytes);
    return show_staged(run, &data) ? WDL_OK : show_place(run, &data, NULL);
}

/* Is our data given in parts? */
static int in_parts(struct wdl_run *run)
{
    return run->staged && own_sheet(run)->ring != 0;
}

static int until_gathered(struct wdl_run *run, struct wdl_car_run *c)
{
    int free = is_short(run, run->args.bytes) || run->staged;
    return free ? WDL_OK : each(run, c, WDL_BOARD_DONE, NULL, NULL);
}

/* Where blocks vary, all say that they have fetched: they need not know who has a long one. */
static int gather_all(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_coll_args *a = &run->args;
    int is_long = !is_short(run, a->bytes);
    WDL_NODE_STEP(c, 0, show_block(run));
    WDL_NODE_STEP(c, 1, in_parts(run) ? WDL_OK : keep_block(run, a->src, a->bytes));
    int filled = wdl_parts_fill(run);
    WDL_NODE_STEP(c, 2, each(run, c, WDL_BOARD_DATA, gives, take_block));
    WDL_NODE_STEP(c, 3,
                  a->variable || is_long || run->status != WDL_OK
                      ? wdl_node_post(run, WDL_BOARD_DONE)
                      : WDL_OK);
    WDL_NODE_STEP(c, 4, filled);
    return a->flags & WDL_COLL_OUT_NOSYNC ? WDL_OK : until_gathered(run, c);
}

/* A block for the root, whose owner has posted DATA. Who gives a long one where we want a short
 * one, or less of it, waits to be told so. */
static int gather_one(struct wdl_run *run, int rank)
{
    const struct wdl_coll_args *a = &run->args;
    size_t bytes = wdl_block_bytes(a, &a->dst_blocks, rank);
    if (wdl_board_length(run, rank) != bytes) {
        if (!wdl_board_seen(run, run->team->rank, WDL_BOARD_DATA))
            (void) wdl_node_show_places(run, NULL, a->dst);
        return wdl_node_note(run, WDL_ERR_TRUNCATE);
    }
    const struct wdl_sheet *sheet = wdl_node_sheet(run, rank);
    if (!is_short(run, bytes) && !sheet->staged && !sheet->left)
        return wdl_board_seen(run, rank, WDL_BOARD_DONE) ? WDL_OK : WDL_AGAIN;
    int status = take_block(run, rank);
    return status == WDL_AGAIN ? WDL_AGAIN : wdl_node_note(run, status);
}

/* Short blocks are taken from the boards; a long one the root takes, or its owner puts it where the
 * root wants it: its sheet says so. */
static int gather_root(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_coll_args *a = &run->args;
    int size = wdl_node_size(run), place = wdl_node_place(run);
    WDL_NODE_STEP(c, 0,
                  a->variable || !is_short(run, a->bytes)
                      ? show_place(run, &(struct wdl_node_data){.dst = a->dst}, &a->dst_blocks)
                      : WDL_OK);
    WDL_NODE_STEP(c, 1, keep_block(run, a->src, a->bytes));
    for (; c->next < size - 1; c->next++) {
        int i = (place + 1 + c->next) % size, rank = wdl_node_rank(run, i);
        if (!gives(run, i))
            continue;
        if (!wdl_board_seen(run, rank, WDL_BOARD_DATA) || gather_one(run, rank) == WDL_AGAIN)
            return WDL_AGAIN;
    }
    int fetches = a->variable || !is_short(run, a->bytes) || run->status != WDL_OK;
    return fetches ? wdl_node_post(run, WDL_BOARD_DONE) : WDL_OK;
}

/* Where the root wants our block. */
static struct wdl_sheet_block place_at(const struct wdl_run *run, int root)
{
    const struct wdl_coll_args *a = &run->args;
    if (a->variable && wdl_board_means_the_same(run, root, WDL_BOARD_DATA))
        return wdl_node_sheet(run, root)->block[wdl_node_place(run)];
    return (struct wdl_sheet_block){(size_t) run->team->rank * a->bytes,
                                    wdl_board_length(run, root)};
}

static int give_block(struct wdl_run *run, int root)
{
    const struct wdl_coll_args *a = &run->args;
    struct wdl_sheet_block to = place_at(run, root);
    int status = to.bytes == a->bytes ? WDL_OK : WDL_ERR_TRUNCATE;
    if (status == WDL_OK && a->bytes) {
        char *there = wdl_node_goal(run, root);
        if (!there)
            return WDL_AGAIN;
        status = wdl_board_give(run, root, a->src, there + to.at, a->bytes);
    }
    (void) wdl_node_post(run, WDL_BOARD_DONE);
    return status;
}

/* The root fetches it, and means as much. */
static int leave_block(struct wdl_run *run, int root)
{
    if (place_at(run, root).bytes != run->args.bytes)
        return WDL_ERR_TRUNCATE;
    return wdl_board_seen(run, root, WDL_BOARD_DONE) ? WDL_OK : WDL_AGAIN;
}

static int gather(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_coll_args *a = &run->args;
    if (run->team->rank == a->root)
        return gather_root(run, c);
    WDL_NODE_STEP(c, 0, show_block(run)); /* of nothing, too: the root may believe otherwise */
    WDL_NODE_STEP(c, 1, wdl_parts_fill(run));
    if (is_short(run, a->bytes) || run->staged)
        return WDL_OK;
    return wdl_node_one(run, a->root, WDL_BOARD_DATA,
                        own_sheet(run)->left ? leave_block : give_block);
}

struct wdl_sheet_block wdl_node_block(const struct wdl_run *run, int rank)
{
    size_t me = (size_t) run->team->rank;
    if (run->args.variable && wdl_board_means_the_same(run, rank, WDL_BOARD_DATA))
        return wdl_board_is_lined(run, rank)
                   ? wdl_board_packed(run, rank)
                   : wdl_node_sheet(run, rank)->block[wdl_node_place(run)];
    return (struct wdl_sheet_block){me * run->args.bytes, wdl_board_length(run, rank)};
}

static int take_mine(struct wdl_run *run, int root)
{
    struct wdl_sheet_block block = wdl_node_block(run, root);
    return block.bytes == run->args.bytes
               ? wdl_node_take(run, root, block.at, run->args.dst, block.bytes)
               : WDL_ERR_TRUNCATE;
}

static int keep_scattered(struct wdl_run *run)
{
    const struct wdl_coll_args *a = &run->args;
    int me = run->team->rank;
    if (wdl_block_bytes(a, &a->src_blocks, me) != a->bytes)
        return wdl_node_note(run, WDL_ERR_TRUNCATE);
    own_block((const char *) a->src + wdl_block_at(a, &a->src_blocks, me), a->dst, a->bytes);
    return WDL_OK;
}

/* A block for every rank, of which the others have no use for mine. */
static int show_each(struct wdl_run *run)
{
    const struct wdl_coll_args *a = &run->args;
    size_t mine = (size_t) run->team->rank * a->bytes;
    struct wdl_node_data data = {.at = a->src,
                                 .bytes = a->bytes * (size_t) run->team->size,
                                 .own = mine,
                                 .own_end = mine + a->bytes,
                                 .dst = a->dst};
    return wdl_node_show_data(run, &data);
}

static int scatter(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_coll_args *a = &run->args;
    int me = run->team->rank;
    if (me == a->root) {
        WDL_NODE_STEP(c, 0, show_each(run));
        WDL_NODE_STEP(c, 1, wdl_parts_fill(run));
        WDL_NODE_STEP(c, 2, keep_scattered(run));
        return end_given(run, c);
    }
    if (a->variable && a->bytes == 0) /* the root may believe otherwise */
        return wdl_node_fetched(run);
    WDL_NODE_STEP(c, 0, wdl_node_one(run, a->root, WDL_BOARD_DATA, take_mine));
    return wdl_node_fetched(run);
}

static int take_from(struct wdl_run *run, int rank)
{
    const struct wdl_coll_args *a = &run->args;
    size_t bytes = wdl_block_bytes(a, &a->dst_blocks, rank);
    struct wdl_sheet_block block = wdl_node_block(run, rank);
    if (block.bytes != bytes)
        return WDL_ERR_TRUNCATE;
    return wdl_node_take(run, rank, block.at,
                         (char *) a->dst + wdl_block_at(a, &a->dst_blocks, rank), bytes);
}

static int exchange(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_coll_args *a = &run->args;
    int me = run->team->rank;
    WDL_NODE_STEP(c, 0, show_each(run));
    WDL_NODE_STEP(c, 1,
                  keep_block(run, (const char *) a->src + wdl_block_at(a, &a->src_blocks, me),
                             wdl_block_bytes(a, &a->src_blocks, me)));
    int filled = wdl_parts_fill(run);
    WDL_NODE_STEP(c, 2, each(run, c, WDL_BOARD_DATA, gives, take_from));
    WDL_NODE_STEP(c, 3, wdl_node_fetched(run));
    WDL_NODE_STEP(c, 4, filled);
    return end_given(run, c);
}

/* --- who leaves --- */

char *wdl_node_copy_room(struct wdl_run *run)
{
    run->apart = wdl_store_make(&run->team->coll->store, run->args.bytes);
    return run->apart;
}

void wdl_node_copy_free(struct wdl_run *run)
{
    wdl_store_put(&run->team->coll->store, run->apart);
    run->apart = NULL;
}

/* --- all kinds -------------------------------------------------------------------------------- */

wdl_watch_fn wdl_node_watch(enum wdl_coll_kind kind)
{
    static const wdl_watch_fn watches[WDL_COLL_KIND_COUNT] = {
        [WDL_COLL_BARRIER] = wdl_node_barrier, [WDL_COLL_BROADCAST] = broadcast,
        [WDL_COLL_SCATTER] = scatter,          [WDL_COLL_GATHER] = gather,
        [WDL_COLL_GATHER_ALL] = gather_all,    [WDL_COLL_EXCHANGE] = exchange,
        [WDL_COLL_REDUCE] = wdl_node_reduce,   [WDL_COLL_ALLREDUCE] = wdl_node_allreduce,
        [WDL_COLL_SCAN] = wdl_node_scan,       [WDL_COLL_REDUCE_SCATTER] = wdl_node_reduce_scatter,
    };
    return watches[kind];
}

static int watch_first(struct wdl_run *run, struct wdl_car_run *c)
{
    run->shown = wdl_node_shown(run->team, &run->args);
    if (wdl_ahead_way(run->team, &run->args) != WDL_AHEAD_NOT)
        return wdl_ahead_watch(run, c);
    return wdl_node_watch(run->args.kind)(run, c);
}

/* The second WATCH of who gives with OUT_NOSYNC, whose memory is others' until all are done. */
static int watch_given(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_coll_args *a = &run->args;
    if (a->kind == WDL_COLL_GATHER_ALL)
        return until_gathered(run, c);
    return a->kind == WDL_COLL_EXCHANGE || run->team->rank == a->root ? until_fetched(run, c)
                                                                      : WDL_OK;
}

/* Do others fetch blocks from their owners, which do not wait for that? */
static int gives_on(const struct wdl_build *b)
{
    const struct wdl_coll_args *args = b->args;
    int moves = args->kind >= WDL_COLL_BROADCAST && args->kind <= WDL_COLL_EXCHANGE;
    return moves && args->kind != WDL_COLL_GATHER && (args->flags & WDL_COLL_OUT_NOSYNC) &&
           wdl_ahead_way(b->team, args) == WDL_AHEAD_NOT &&
           wdl_node_shown(b->team, args) > b->team->params.board_bytes;
}

void wdl_all_node(struct wdl_build *b)
{
    const struct wdl_coll_args *args = b->args;
    int nothing = args->kind == WDL_COLL_BARRIER;
    int is_short = wdl_node_shown(b->team, args) <= b->team->params.board_bytes;
    int leaves = (args->flags & WDL_COLL_LEAVES) && !is_short;
    int to_root =
        args->kind == WDL_COLL_GATHER || (args->kind == WDL_COLL_REDUCE && (is_short || leaves));
    int gives = to_root && b->team->rank != args->root; /* and no more */
    if (wdl_coll_reduces(args->kind) && !is_short && !gives)
        (void) wdl_build_tmp(b, wdl_node_fold_room(args));
    int watch = wdl_build_watch(b, watch_first, nothing ? 0 : gives ? 1 : 3);
    if (nothing)
        wdl_build_user(b, watch);
    if (leaves && args->kind == WDL_COLL_SCAN)
        wdl_build_order(b, watch, wdl_build_watch(b, wdl_node_scan_left, 0));
    else if (leaves && gives)
        wdl_build_order(b, watch, wdl_build_watch(b, wdl_node_reduce_left, 0));
    else if (gives_on(b))
        wdl_build_order(b, watch, wdl_build_watch(b, watch_given, 1));
}
