/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Reductions of ranks that share a node (node.h). Folds go from the highest rank to the lowest,
 * each operand on the left of what is there: the same bits on every rank, right for operators that
 * do not commute.
 */
#include "base/copy.h"
#include "mpid/coll/node.h"
#include "mpid/coll/parts.h"
#include "mpid/coll/rate.h"
#include "mpid/coll/staging.h"

enum {
    CHUNK = 32 << 10, /* fetched */
    CHUNK_OF_TWO = 64 << 10, /* ... where nobody waits for a part of it */
    ALONE_OF_TWO = 32 << 10, /* folded by one of two */
    PIECE = 8 << 10 /* read where it is staged */
};

/* Of two, of which one has the result? Where nothing is staged who has not fetches its part, and
 * puts the result there: two calls of the system where the other has one. (ireduce of 1 MiB: 304 us
 * with halves, 253 so.) */
static int is_uneven(const struct wdl_run *run)
{
    return run->args.kind == WDL_COLL_REDUCE && run->team->size == 2 && !run->nodes;
}

int wdl_node_may_both_fold(const struct wdl_run *run)
{
    return is_uneven(run) && !wdl_node_leaves(run) && run->args.bytes > ALONE_OF_TWO &&
           !wdl_staging_is_long(run);
}

size_t wdl_node_part_at(const struct wdl_run *run, int i)
{
    size_t unit = run->args.op.elem_bytes, n = wdl_board_own_length(run) / unit;
    if (i == 1 && is_uneven(run))
        return unit * (run->args.root == 0 ? n - n / 3 : n / 3);
    size_t before = (size_t) i;
    size_t size = (size_t) wdl_node_size(run), each_n = n / size, more = n % size;
    return unit * (each_n * before + (before < more ? before : more));
}

/* As many elements as there are in so many bytes, one at least. */
static size_t whole(const struct wdl_coll_args *args, size_t bytes)
{
    size_t unit = args->op.elem_bytes;
    return unit > bytes ? unit : bytes - bytes % unit;
}

size_t wdl_node_chunk(const struct wdl_coll_args *args)
{
    return whole(args, CHUNK);
}

/* What a rank shows at `at`, where it can be read in place; NULL: it must be fetched. */
static const char *in_place(const struct wdl_run *run, int rank, size_t at)
{
    const struct wdl_sheet *sheet = wdl_node_sheet(run, rank);
    if (wdl_node_on_board(run))
        return wdl_board_sheet(run, rank) + at;
    if (rank == run->team->rank)
        return (const char *) run->args.src + at;
    if (!sheet->staged)
        return NULL;
    size_t ring = sheet->ring; /* 0: all of it has a place */
    const char *staged = wdl_staging_of(run, rank, sheet, ring ? ring : wdl_board_own_length(run));
    return staged ? staged + (ring ? at % ring : at) : NULL;
}

int wdl_node_look(struct wdl_run *run, int rank, size_t at, char *here, size_t bytes)
{
    const struct wdl_sheet *sheet = wdl_node_sheet(run, rank);
    const char *there = in_place(run, rank, at);
    if (there && there != here && bytes > 0)
        wdl_copy(here, there, bytes);
    if (there || bytes == 0)
        return WDL_OK;
    return sheet->staged ? WDL_ERR_PROTO
                         : wdl_board_fetch_said(run, rank, sheet->src, at, here, bytes);
}

/* Room for as much as is folded at a time: for what has to be fetched (NULL: all is on boards), and
 * for sums that take turns with the result; or NULL. */
struct room {
    char *come, *turn;
};

/* to = what the node's ranks 0 .. hi show at [at, at + bytes), folded; all of them have posted. */
static int fold(struct wdl_run *run, int hi, size_t at, size_t bytes, char *to, struct room room)
{
    const struct wdl_coll_op *op = &run->args.op;
    int last = wdl_node_rank(run, hi), status = WDL_OK;
    const char *right = op->apart && (hi == 1 || (hi > 1 && room.turn)) ? in_place(run, last, at)
                                                                       : NULL;
    int apart = right && right != to;
    if (!apart)
        status = wdl_node_look(run, last, at, to, bytes);
    for (int i = hi - 1; i >= 0 && bytes > 0 && status == WDL_OK; i--) {
        int r = wdl_node_rank(run, i);
        const char *left = in_place(run, r, at);
        char *sum = apart && i % 2 ? room.turn : to;
        if (!left)
            status = wdl_node_look(run, r, at, room.come, bytes);
        if (status != WDL_OK)
            break;
        left = left ? left : room.come;
        if (apart)
            op->apart(op->ctx, left, right, sum, bytes / op->elem_bytes);
        else
            op->fn(op->ctx, left, sum, bytes / op->elem_bytes);
        right = sum;
    }
    return status;
}

/* Folded right there: it is ours, and no operand of ours, or the one that lies there first. */
static int is_free(const struct wdl_run *run, int hi, size_t at, size_t bytes, int owner,
                   const char *to)
{
    const char *src = (const char *) run->args.src + at;
    int first = wdl_node_rank(run, hi) == run->team->rank;
    return owner == run->team->rank &&
           (to + bytes <= src || src + bytes <= to || (to == src && first));
}

/* Where a result goes: to rank `owner`, if not NULL; and is shown to others, if not NULL. */
struct goal {
    int owner;
    char *to, *shown;
};

static int other_of(const struct wdl_run *run)
{
    return wdl_node_rank(run, (wdl_node_place(run) + 1) % wdl_node_size(run));
}

/* What is fetched comes in longer pieces than what is read in place. */
static size_t piece_of(const struct wdl_run *run)
{
    int staged = wdl_node_sheet(run, other_of(run))->staged != 0;
    return whole(&run->args, staged ? PIECE : is_uneven(run) ? CHUNK_OF_TWO : CHUNK);
}

/* The same for any length, by pieces: into this process's memory, or through our own into the
 * memory of another. That may be a source: nobody else folds from there. What is shown is copied
 * there, since its lines are in the readers' caches. */
static int fold_long(struct wdl_run *run, int hi, size_t at, size_t bytes, struct goal goal)
{
    size_t piece = piece_of(run);
    int has_turn = 3 * piece <= wdl_node_fold_room(&run->args);
    struct room room = {run->tmp + piece, has_turn ? run->tmp + 2 * piece : NULL};
    int status = WDL_OK, there = goal.to && is_free(run, hi, at, bytes, goal.owner, goal.to);
    for (size_t done = 0; done < bytes && status == WDL_OK; done += piece) {
        size_t n = bytes - done < piece ? bytes - done : piece;
        char *sum = there ? goal.to + done : run->tmp;
        status = fold(run, hi, at + done, n, sum, room);
        if (status == WDL_OK && goal.shown)
            wdl_bypass_copy(&run->team->bypass, goal.shown + done, sum, n);
        if (status == WDL_OK && goal.to && !there)
            status = wdl_board_give(run, goal.owner, sum, goal.to + done, n);
    }
    return status;
}

/* Our part of everybody's data, to where all of it goes. */
static int fold_part(struct wdl_run *run, struct goal goal)
{
    int place = wdl_node_place(run), hi = wdl_node_size(run) - 1;
    size_t at = wdl_node_part_at(run, place), end = wdl_node_part_at(run, place + 1);
    goal.to = goal.to ? goal.to + at : NULL;
    goal.shown = goal.shown ? goal.shown + at : NULL;
    return fold_long(run, hi, at, end - at, goal);
}

/* The vector, of which nobody else reads our part: it is ours for the result. */
static int show_vector(struct wdl_run *run, void *dst)
{
    int place = wdl_node_place(run);
    return wdl_node_show_data(run,
                              &(struct wdl_node_data){.at = run->args.src,
                                                      .bytes = wdl_board_own_length(run),
                                                      .own = wdl_node_part_at(run, place),
                                                      .own_end = wdl_node_part_at(run, place + 1),
                                                      .dst = dst});
}

/* To where others look for it, and to our result. */
static int fold_to_share(struct wdl_run *run)
{
    return fold_part(run, (struct goal){run->team->rank, run->args.dst, run->staged});
}

/* What a rank has folded where it is staged, to where we have said that results go. */
static int take_part(struct wdl_run *run, int rank)
{
    const struct wdl_sheet *sheet = wdl_node_sheet(run, rank);
    size_t at = wdl_node_part_at(run, rank), end = wdl_node_part_at(run, rank + 1);
    int me = run->team->rank;
    char *dst = wdl_board_said(run, me, wdl_node_sheet(run, me)->dst);
    return sheet->staged ? wdl_staging_read(run, rank, sheet, at, dst + at, end - at) : WDL_OK;
}

/* ... or to its own result. */
static int fetch_part(struct wdl_run *run, int rank)
{
    const struct wdl_sheet *sheet = wdl_node_sheet(run, rank);
    size_t at = wdl_node_part_at(run, rank), end = wdl_node_part_at(run, rank + 1);
    char *dst = run->args.dst;
    return sheet->staged ? take_part(run, rank)
                         : wdl_board_fetch_said(run, rank, sheet->dst, at, dst + at, end - at);
}

int wdl_node_all_agree(struct wdl_run *run, struct wdl_car_run *c)
{
    int status = wdl_node_each(run, c, WDL_BOARD_DATA, wdl_node_agrees);
    return status == WDL_OK ? run->status : status;
}

/* Measured: does everyone fold everything sooner than the others' parts come back? An operand is
 * there when its owner has called. Two read no less of each other with parts; where processes take
 * turns at a processor, a part is there some turns later. */
static int all_fold_all(const struct wdl_run *run)
{
    enum { ALL = 64 << 10 };
    const struct wdl_team *team = run->team;
    return team->on_node && (team->size == 2 || team->params.shm->crowded) &&
           run->args.bytes <= ALL / (size_t) team->size;
}

static int allreduce_alone(struct wdl_run *run, struct wdl_car_run *c)
{
    WDL_NODE_STEP(c, 0, wdl_node_show(run, run->args.src, run->args.bytes));
    WDL_NODE_STEP(c, 1, wdl_node_all_agree(run, c));
    WDL_NODE_STEP(c, 2, wdl_node_note(run, wdl_node_fold_apart(run, run->team->size - 1, 0)));
    WDL_NODE_STEP(c, 3, wdl_node_post(run, WDL_BOARD_DONE));
    if (run->staged)
        return WDL_OK;
    WDL_NODE_STEP(c, 4, wdl_node_each(run, c, WDL_BOARD_DONE, NULL));
    return wdl_node_apart_end(run);
}

/* How much of that may be folded to where the result goes: what is there is to have been given. */
static size_t may_be_folded(const struct wdl_run *run, const char *to, size_t at, size_t bytes)
{
    const struct wdl_sheet *own = wdl_node_sheet(run, run->team->rank);
    if (to != run->args.src || !wdl_parts_are_given(own))
        return bytes;
    size_t given = own->filled > at ? own->filled - at : 0;
    return given < bytes ? given : bytes;
}

/* What the other gives in parts is folded where it is, as it comes. */
static int fold_as_it_comes(struct wdl_run *run, int head, char *to)
{
    const char *there;
    size_t n;
    int status;
    while ((status = wdl_parts_look(run, other_of(run), run->args.bytes, &there, &n)) == WDL_OK &&
           n > 0) {
        size_t at = run->taken;
        n = may_be_folded(run, to, at, n);
        if (n == 0)
            return WDL_AGAIN;
        status = fold_long(run, 1, at, n, (struct goal){head, to ? to + at : NULL, NULL});
        if (status != WDL_OK)
            return status;
        wdl_parts_took(run, n);
    }
    return status;
}

/* All that the way has taken, if it was to be timed. */
static int ends(struct wdl_run *run, enum wdl_rate_way way, int status)
{
    int to_all = run->args.kind == WDL_COLL_ALLREDUCE;
    if (status == WDL_OK && run->status == WDL_OK && run->since_ns)
        wdl_rate_took(run->team, to_all ? WDL_RATE_LONG_FOLDED : WDL_RATE_FOLDED, way,
                      run->args.bytes, wdl_rate_now(run->team) - run->since_ns);
    return status;
}

/* All that the other has, as it comes; or fetched, once ours has been given. */
static int fold_others(struct wdl_run *run, int filled)
{
    int me = run->team->rank;
    char *to = run->apart ? run->apart : run->args.dst;
    if (run->status != WDL_OK)
        return WDL_OK;
    if (wdl_parts_are_given(wdl_node_sheet(run, other_of(run))))
        return ends(run, WDL_RATE_READ, fold_as_it_comes(run, me, to));
    return filled == WDL_OK ? fold_long(run, 1, 0, run->args.bytes, (struct goal){me, to, NULL})
                            : WDL_AGAIN;
}

static int note_but_again(struct wdl_run *run, int status)
{
    return status == WDL_AGAIN ? WDL_AGAIN : wdl_node_note(run, status);
}

/* Of two, both give what they have in parts, or one that has no room shows where it is; and each
 * folds all of it. */
static int allreduce_parts(struct wdl_run *run, struct wdl_car_run *c)
{
    WDL_NODE_STEP(c, 2, wdl_node_apart(run) ? WDL_OK : wdl_node_note(run, WDL_ERR_NOMEM));
    int filled = wdl_parts_fill(run);
    WDL_NODE_STEP(c, 3, note_but_again(run, fold_others(run, filled)));
    WDL_NODE_STEP(c, 4, wdl_node_post(run, WDL_BOARD_DONE));
    WDL_NODE_STEP(c, 5, filled);
    if (run->staged)
        return WDL_OK;
    WDL_NODE_STEP(c, 6, wdl_node_each(run, c, WDL_BOARD_DONE, NULL));
    return wdl_node_apart_end(run);
}

static int somebody_gives_parts(const struct wdl_run *run)
{
    return run->team->size == 2 && (wdl_parts_are_given(wdl_node_sheet(run, 0)) ||
                                    wdl_parts_are_given(wdl_node_sheet(run, 1)));
}

/* All are there: two whose callers wait take the time from now on, where either way may do. */
static int all_agree_from_now(struct wdl_run *run, struct wdl_car_run *c)
{
    int status = wdl_node_all_agree(run, c);
    int tells = run == run->team->express && wdl_parts_would_fold(run);
    run->since_ns = status == WDL_OK && tells ? wdl_rate_now(run->team) : 0;
    return status;
}

/* In place is no matter: each part of a source is folded, and then overwritten, by one rank. */
int wdl_node_allreduce(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_coll_args *a = &run->args;
    if (!wdl_node_on_board(run) && all_fold_all(run))
        return allreduce_alone(run, c);
    WDL_NODE_STEP(c, 0, show_vector(run, a->dst));
    (void) wdl_parts_fill(run); /* as much as there is room for */
    WDL_NODE_STEP(c, 1, all_agree_from_now(run, c));
    if (wdl_node_on_board(run)) /* little: everyone folds everything */
        return fold(run, run->team->size - 1, 0, a->bytes, a->dst, (struct room){0});
    if (somebody_gives_parts(run))
        return allreduce_parts(run, c);
    WDL_NODE_STEP(c, 2, wdl_node_note(run, fold_to_share(run)));
    WDL_NODE_STEP(c, 3, wdl_node_post(run, WDL_BOARD_DONE));
    WDL_NODE_STEP(c, 4,
                  ends(run, WDL_RATE_FETCHED, wdl_node_each(run, c, WDL_BOARD_DONE, fetch_part)));
    WDL_NODE_STEP(c, 5, wdl_node_post(run, WDL_BOARD_LAST));
    return run->staged ? WDL_OK : wdl_node_each(run, c, WDL_BOARD_LAST, NULL);
}

/* Little enough that waiting for each other takes longer than folding all of it. */
static int folds_alone(const struct wdl_run *run)
{
    enum { ALONE = 128 << 10 };
    size_t size = (size_t) run->team->size;
    return run->args.kind == WDL_COLL_REDUCE && !run->nodes &&
           (wdl_node_leaves(run) || run->args.bytes <= (size == 2 ? ALONE_OF_TWO : ALONE / size));
}

/* Have all others shown what they have, and mean the same? */
static int are_all_there(struct wdl_run *run)
{
    int all = 1;
    for (int r = 0; r < run->team->size && all; r++)
        all = r == run->team->rank ||
              (wdl_board_seen(run, r, WDL_BOARD_DATA) && wdl_node_agrees(run, r) == WDL_OK);
    return all;
}

/* Who folds alone needs all that others have; nobody what it has itself, but those who help a root
 * that waits for them. */
static int show_long(struct wdl_run *run, int head, char *to)
{
    if (!folds_alone(run))
        return show_vector(run, to);
    int gives = run->team->rank != head || (wdl_node_leaves(run) && !are_all_there(run));
    return gives ? wdl_node_show(run, run->args.src, run->args.bytes)
                 : wdl_node_show_places(run, run->args.src, to);
}

static int show_to_fold(struct wdl_run *run, int head, char *to)
{
    const struct wdl_coll_args *a = &run->args;
    size_t bytes = wdl_board_own_length(run);
    int answers = a->kind == WDL_COLL_ALLREDUCE || a->kind == WDL_COLL_REDUCE_SCATTER;
    if (!wdl_node_on_board(run))
        return show_long(run, head, to);
    if (run->team->rank != head)
        return wdl_node_show(run, a->src, bytes);
    if (bytes > 0) /* for the head alone: it says nothing of others' caches (base/bypass.h) */
        wdl_copy(wdl_board_sheet(run, head), a->src, bytes);
    run->team->coll->stats.copied_bytes += bytes;
    return answers ? WDL_OK : wdl_node_post(run, WDL_BOARD_DATA); /* what it posts is the result */
}

/* The head folds all; the others are done with what they have staged. */
static int fold_alone(struct wdl_run *run, struct wdl_car_run *c, int head, char *to)
{
    if (run->team->rank != head) {
        if (run->staged)
            return WDL_OK;
        WDL_NODE_STEP(c, 1, wdl_node_one(run, head, WDL_BOARD_DATA, wdl_node_agrees));
        return run->status == WDL_OK ? wdl_node_one(run, head, WDL_BOARD_DONE, NULL) : WDL_OK;
    }
    int hi = wdl_node_size(run) - 1, status = wdl_node_all_agree(run, c);
    if (status == WDL_AGAIN)
        return WDL_AGAIN;
    if (status == WDL_OK)
        status = fold_long(run, hi, 0, run->args.bytes, (struct goal){head, to, NULL});
    (void) wdl_node_post(run, WDL_BOARD_DONE);
    return status;
}

/* --- who gives leaves, but helps if all are there --- */

/* The vector in chunks, which are taken on one at a time: by the root, and by who has given and
 * finds all others there. Who comes early is gone by then, and has waited for nobody. */
static size_t chunk_of(const struct wdl_run *run)
{
    enum { CHUNK_LEAST = 32 << 10 };
    size_t each = run->args.bytes / WDL_SHEET_CHUNKS + run->args.op.elem_bytes;
    return whole(&run->args, each > CHUNK_LEAST ? each : CHUNK_LEAST);
}

static struct wdl_sheet *root_sheet(const struct wdl_run *run)
{
    return (struct wdl_sheet *) (void *) wdl_board_sheet(run, run->args.root);
}

/* Fold what nobody has taken on: to the root's result, or to where we have given. */
static int share(struct wdl_run *run, char *to)
{
    struct wdl_sheet *sheet = root_sheet(run);
    size_t chunk = chunk_of(run), bytes = run->args.bytes, at;
    int me = run->team->rank, status = WDL_OK;
    for (;;) {
        uint32_t i = __atomic_fetch_add(&sheet->taken_on, 1, __ATOMIC_RELAXED);
        if ((at = i * chunk) >= bytes)
            return status;
        size_t n = bytes - at < chunk ? bytes - at : chunk;
        struct goal goal = {me, to ? to + at : NULL, to ? NULL : run->staged + at};
        int folded = fold_long(run, run->team->size - 1, at, n, goal);
        status = folded == WDL_OK ? status : folded;
        /* pairs with the load in take_shared; what has failed for us fails for the root, too */
        __atomic_store_n(&sheet->done_by[i], (uint8_t) (me + 1), __ATOMIC_RELEASE);
    }
}

static int help(struct wdl_run *run)
{
    if (!run->staged || run->args.bytes < 2 * chunk_of(run) || !are_all_there(run))
        return WDL_OK;
    struct wdl_store *store = &run->team->coll->store;
    char *none = run->tmp; /* so that many who give may be under way */
    run->tmp = wdl_store_make(store, wdl_node_fold_room(&run->args));
    if (run->tmp)
        (void) wdl_node_note(run, share(run, NULL));
    wdl_store_put(store, run->tmp);
    run->tmp = none;
    return WDL_OK;
}

/* The chunks of others, which are there or will be soon. */
static int take_shared(struct wdl_run *run, struct wdl_car_run *c, char *to)
{
    struct wdl_sheet *own = root_sheet(run);
    size_t chunk = chunk_of(run), bytes = run->args.bytes;
    for (; (size_t) c->next * chunk < bytes; c->next++) {
        size_t at = (size_t) c->next * chunk, n = bytes - at < chunk ? bytes - at : chunk;
        /* pairs with the store in share */
        int by = __atomic_load_n(&own->done_by[c->next], __ATOMIC_ACQUIRE);
        if (by == 0)
            return WDL_AGAIN;
        if (by - 1 == run->team->rank)
            continue;
        const struct wdl_sheet *sheet = by <= run->team->size ? wdl_node_sheet(run, by - 1) : NULL;
        const char *there = sheet ? wdl_staging_of(run, by - 1, sheet, bytes) : NULL;
        if (!there)
            return WDL_ERR_PROTO;
        wdl_copy(to + at, there + at, n);
    }
    return WDL_OK;
}

static int fold_shared(struct wdl_run *run, struct wdl_car_run *c, char *to)
{
    int status = c->step == 1 ? wdl_node_all_agree(run, c) : WDL_OK;
    if (status == WDL_OK) {
        WDL_NODE_STEP(c, 1, wdl_node_note(run, share(run, to)));
        status = take_shared(run, c, to);
    }
    if (status != WDL_AGAIN)
        (void) wdl_node_post(run, WDL_BOARD_DONE);
    return status;
}

/* Our part, to the head. WDL_AGAIN: where it is to go is not known, and all hear of that. */
static int fold_for(struct wdl_run *run, int head, char *to)
{
    if (run->team->rank == head)
        return fold_part(run, (struct goal){head, to, NULL});
    if (run->staged)
        return fold_part(run, (struct goal){head, NULL, run->staged});
    char *there = wdl_node_goal(run, head);
    return there ? fold_part(run, (struct goal){head, there, NULL}) : WDL_AGAIN;
}

/* Both are there: a root takes the time, if it tells anything, until it has its result. (What has
 * been staged whole is neither way.) */
static void begins(struct wdl_run *run)
{
    const struct wdl_sheet *sheet = wdl_node_sheet(run, other_of(run));
    int tells = run == run->team->express && run->team->rank == run->args.root &&
                wdl_node_may_both_fold(run) && (!sheet->staged || wdl_parts_are_given(sheet));
    run->since_ns = tells ? wdl_rate_now(run->team) : 0;
}

/* A root's whole result so. Who gives fills in no more when this has ended, however. */
static int fold_parts(struct wdl_run *run, struct wdl_car_run *c, int head, char *to)
{
    int status = c->step == 1 ? wdl_node_all_agree(run, c) : WDL_OK;
    if (status == WDL_OK && c->step == 1) {
        begins(run);
        c->step = 2;
    }
    if (status == WDL_OK)
        status = ends(run, WDL_RATE_READ, fold_as_it_comes(run, head, to));
    if (status != WDL_AGAIN)
        (void) wdl_node_post(run, WDL_BOARD_DONE);
    return status;
}

/* Of two the other may mean more than we do, and give it in parts: it waits to be told. */
static int all_agree_or_leave(struct wdl_run *run, struct wdl_car_run *c)
{
    int status = wdl_node_all_agree(run, c);
    if (status != WDL_OK && status != WDL_AGAIN && !run->nodes)
        (void) wdl_node_post(run, WDL_BOARD_DONE);
    return status;
}

/* Much: everyone folds a part; the head takes it from there, or it is put where the head wants
 * it. */
int wdl_node_fold(struct wdl_run *run, struct wdl_car_run *c, int head, char *to)
{
    int is_head = run->team->rank == head;
    WDL_NODE_STEP(c, 0, show_to_fold(run, head, to));
    if (wdl_node_on_board(run) && !is_head)
        return WDL_OK;
    if (!wdl_node_on_board(run) && folds_alone(run))
        return wdl_node_leaves(run) ? fold_shared(run, c, to) : fold_alone(run, c, head, to);
    if (!wdl_node_on_board(run) && run->team->size == 2) {
        int giver = is_head ? other_of(run) : run->team->rank;
        if (!wdl_board_seen(run, giver, WDL_BOARD_DATA))
            return WDL_AGAIN;
        if (wdl_parts_are_given(wdl_node_sheet(run, giver)))
            return is_head ? fold_parts(run, c, head, to) : wdl_parts_fill(run);
    }
    WDL_NODE_STEP(c, 1, all_agree_or_leave(run, c));
    if (wdl_node_on_board(run))
        return fold(run, wdl_node_size(run) - 1, 0, wdl_board_own_length(run), to,
                    (struct room){0});
    if (c->step == 2) {
        begins(run);
        int status = fold_for(run, head, to);
        if (status == WDL_AGAIN)
            return WDL_AGAIN;
        (void) wdl_node_note(run, status);
        c->step++;
    }
    WDL_NODE_STEP(c, 3, wdl_node_post(run, WDL_BOARD_DONE));
    if (!is_head && run->staged)
        return WDL_OK;
    return ends(run, WDL_RATE_FETCHED,
                wdl_node_each(run, c, WDL_BOARD_DONE, is_head ? take_part : NULL));
}

/* A copy of the operand, staged, or in memory that the root fetches it from. */
static int give_copy(struct wdl_run *run)
{
    const struct wdl_coll_args *a = &run->args;
    struct wdl_sheet *sheet = (struct wdl_sheet *) (void *) wdl_board_sheet(run, run->team->rank);
    uint64_t card;
    if (wdl_staging_take_for(run, a->bytes, a->root, &card)) {
        *sheet = (struct wdl_sheet){.staged = card};
        wdl_staging_fill(run, sheet, a->src, a->bytes, 0, 0);
        return wdl_node_post(run, WDL_BOARD_DATA);
    }
    int stays = (a->flags & WDL_COLL_OUT_NOSYNC) != 0; /* what it is in is left alone */
    const void *from = !stays && wdl_node_copy_room(run) ? run->apart : a->src;
    if (run->apart)
        wdl_copy(run->apart, a->src, a->bytes);
    run->team->coll->stats.copied_bytes += run->apart ? a->bytes : 0;
    return wdl_node_show_places(run, from, NULL);
}

static int until_folded(struct wdl_run *run, struct wdl_car_run *c, int step)
{
    int root = run->args.root;
    WDL_NODE_STEP(c, step, wdl_node_one(run, root, WDL_BOARD_DATA, wdl_node_agrees));
    return run->status == WDL_OK ? wdl_node_one(run, root, WDL_BOARD_DONE, NULL) : WDL_OK;
}

static int give(struct wdl_run *run, struct wdl_car_run *c)
{
    WDL_NODE_STEP(c, 0, give_copy(run));
    WDL_NODE_STEP(c, 1, help(run));
    return run->staged || run->apart ? WDL_OK : until_folded(run, c, 2);
}

int wdl_node_reduce_left(struct wdl_run *run, struct wdl_car_run *c)
{
    if (!run->apart)
        return WDL_OK;
    if (until_folded(run, c, 0) == WDL_AGAIN)
        return WDL_AGAIN;
    wdl_node_copy_free(run);
    return WDL_OK;
}

int wdl_node_reduce(struct wdl_run *run, struct wdl_car_run *c)
{
    int root = run->args.root; /* nobody else's destination is written to, whoever believes so */
    if (wdl_node_leaves(run) && run->team->rank != root)
        return give(run, c);
    return wdl_node_fold(run, c, root, run->team->rank == root ? run->args.dst : NULL);
}

char *wdl_node_apart(struct wdl_run *run)
{
    const struct wdl_coll_args *a = &run->args;
    if (a->src != a->dst || a->bytes == 0 || run->staged)
        return a->dst;
    run->apart = wdl_store_make(&run->team->coll->store, a->bytes);
    if (!run->apart) /* the others go on */
        run->status = WDL_ERR_NOMEM;
    return run->apart;
}

int wdl_node_fold_apart(struct wdl_run *run, int hi, size_t at)
{
    size_t bytes = run->args.bytes;
    if (wdl_node_on_board(run))
        return fold(run, hi, at, bytes, run->args.dst, (struct room){0});
    char *to = wdl_node_apart(run);
    struct goal goal = {run->team->rank, to, NULL};
    return to ? fold_long(run, hi, at, bytes, goal) : WDL_ERR_NOMEM;
}

int wdl_node_apart_end(struct wdl_run *run)
{
    if (run->apart)
        wdl_copy(run->args.dst, run->apart, run->args.bytes);
    wdl_store_put(&run->team->coll->store, run->apart);
    run->apart = NULL;
    return WDL_OK;
}

void wdl_node_combine(const struct wdl_run *run, const char *left, const char *right, char *to,
                      size_t bytes)
{
    const struct wdl_coll_op *op = &run->args.op;
    if (to != right && op->apart) {
        op->apart(op->ctx, left, right, to, bytes / op->elem_bytes);
        return;
    }
    if (to != right)
        wdl_copy(to, right, bytes);
    op->fn(op->ctx, left, to, bytes / op->elem_bytes);
}

/* --- of two, in parts: each gives what the other's part needs --- */

/* What we give is to be read before a result lies there. */
static int room_for_part(struct wdl_run *run)
{
    const struct wdl_coll_args *a = &run->args;
    if (a->src != a->dst)
        return WDL_OK;
    run->apart = wdl_store_make(&run->team->coll->store, a->bytes);
    return wdl_node_note(run, run->apart ? WDL_OK : WDL_ERR_NOMEM);
}

static int part_as_it_comes(struct wdl_run *run, size_t mine, char *to)
{
    const char *there;
    size_t n;
    int status, first = run->team->rank == 0;
    while ((status = wdl_parts_look(run, other_of(run), run->args.bytes, &there, &n)) == WDL_OK &&
           n > 0) {
        const char *own = (const char *) run->args.src + mine + run->taken;
        wdl_node_combine(run, first ? own : there, first ? there : own, to + run->taken, n);
        wdl_parts_took(run, n);
    }
    return status;
}

/* Who has had no room shows where it is, and its part is fetched. */
static int fold_part_of_two(struct wdl_run *run, size_t mine, int filled)
{
    int me = run->team->rank;
    char *to = run->apart ? run->apart : run->args.dst;
    if (run->status != WDL_OK)
        return WDL_OK;
    if (wdl_parts_are_given(wdl_node_sheet(run, other_of(run))))
        return part_as_it_comes(run, mine, to);
    return filled == WDL_OK
               ? fold_long(run, 1, mine, run->args.bytes, (struct goal){me, to, NULL})
               : WDL_AGAIN;
}

static int reduce_scatter_parts(struct wdl_run *run, struct wdl_car_run *c, size_t mine)
{
    WDL_NODE_STEP(c, 2, room_for_part(run));
    int filled = wdl_parts_fill(run);
    WDL_NODE_STEP(c, 3, note_but_again(run, fold_part_of_two(run, mine, filled)));
    WDL_NODE_STEP(c, 4, wdl_node_post(run, WDL_BOARD_DONE));
    WDL_NODE_STEP(c, 5, filled);
    if (!run->staged)
        WDL_NODE_STEP(c, 6, wdl_node_each(run, c, WDL_BOARD_DONE, NULL));
    return wdl_node_apart_end(run);
}

int wdl_node_reduce_scatter(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_coll_args *a = &run->args;
    size_t mine = wdl_block_at(a, &a->src_blocks, run->team->rank);
    struct wdl_node_data data = {
        .at = a->src, .bytes = run->shown, .own = mine, .own_end = mine + a->bytes, .dst = a->dst};
    WDL_NODE_STEP(c, 0, wdl_node_show_data(run, &data));
    if (!wdl_node_on_board(run))
        (void) wdl_parts_fill(run); /* as much as there is room for */
    WDL_NODE_STEP(c, 1, wdl_node_all_agree(run, c));
    if (!wdl_node_on_board(run) && somebody_gives_parts(run))
        return reduce_scatter_parts(run, c, mine);
    WDL_NODE_STEP(c, 2, wdl_node_note(run, wdl_node_fold_apart(run, run->team->size - 1, mine)));
    if (wdl_node_on_board(run))
        return WDL_OK;
    WDL_NODE_STEP(c, 3, wdl_node_post(run, WDL_BOARD_DONE));
    if (run->staged)
        return WDL_OK;
    WDL_NODE_STEP(c, 4, wdl_node_each(run, c, WDL_BOARD_DONE, NULL));
    return wdl_node_apart_end(run);
}

size_t wdl_node_fold_room(const struct wdl_coll_args *args)
{
    return 2 * whole(args, args->kind == WDL_COLL_REDUCE ? CHUNK_OF_TWO : CHUNK);
}
