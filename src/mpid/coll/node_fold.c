/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Reductions of ranks that share a node (node.h). Folds go from the highest rank to the lowest,
 * each operand on the left of what is there: the same bits on every rank, right for operators that
 * do not commute.
 */
#include <string.h>
#include "mpid/coll/node.h"

enum { CHUNK = 32 << 10 }; /* of a fold: what comes stays in the cache until it is folded */

/* Elements that the i-th rank folds for all: nearly equal parts. */
static size_t part_at(const struct wdl_run *run, int i)
{
    size_t unit = run->args.op.elem_bytes, n = wdl_board_own_length(run) / unit;
    size_t before = (size_t) i;
    size_t size = (size_t) wdl_node_size(run->team), each_n = n / size, more = n % size;
    return unit * (each_n * before + (before < more ? before : more));
}

static size_t chunk_of(const struct wdl_coll_args *args)
{
    size_t unit = args->op.elem_bytes;
    return unit > CHUNK ? unit : CHUNK - CHUNK % unit;
}

/* to = what the node's ranks 0 .. hi show at [at, at + bytes), folded; all of them have posted.
 * `come` has room for as much, unless all is on boards. */
static int fold(struct wdl_run *run, int hi, size_t at, size_t bytes, char *to, char *come)
{
    const struct wdl_coll_op *op = &run->args.op;
    int status = wdl_node_take(run, wdl_node_rank(run->team, hi), at, to, bytes);
    for (int i = hi - 1; i >= 0 && status == WDL_OK; i--) {
        const char *left = come;
        int r = wdl_node_rank(run->team, i);
        if (wdl_node_on_board(run))
            left = wdl_board_sheet(run, r) + at;
        else if (r == run->team->rank)
            left = (const char *) run->args.src + at;
        else
            status = wdl_node_take(run, r, at, come, bytes);
        if (status == WDL_OK && bytes)
            op->fn(op->ctx, left, to, bytes / op->elem_bytes);
    }
    return status;
}

/* The same for any length, through two chunks of the run's own memory, into this process's or the
 * memory of rank `owner`. That may be a source: nobody else folds from there. */
static int fold_long(struct wdl_run *run, int hi, size_t at, size_t bytes, int owner, char *to)
{
    size_t chunk = chunk_of(&run->args);
    int status = WDL_OK;
    for (size_t done = 0; done < bytes && status == WDL_OK; done += chunk) {
        size_t n = bytes - done < chunk ? bytes - done : chunk;
        status = fold(run, hi, at + done, n, run->tmp, run->tmp + chunk);
        if (status == WDL_OK)
            status = wdl_board_give(run, owner, run->tmp, to + done, n);
    }
    return status;
}

/* Our part of everybody's data, to `to` at rank `owner`. */
static int fold_part(struct wdl_run *run, int owner, char *to)
{
    int place = wdl_node_place(run->team), hi = wdl_node_size(run->team) - 1;
    size_t at = part_at(run, place), end = part_at(run, place + 1);
    return fold_long(run, hi, at, end - at, owner, to + at);
}

static int fetch_part(struct wdl_run *run, int rank)
{
    size_t at = part_at(run, rank), end = part_at(run, rank + 1);
    return wdl_board_fetch(run, rank, wdl_node_sheet(run, rank)->dst + at,
                           (char *) run->args.dst + at, end - at);
}

/* All have posted, and nobody has begun to fold: who differs from another leaves, as that one
 * does. */
static int all_agree(struct wdl_run *run, struct wdl_car_run *c)
{
    int status = wdl_node_each(run, c, WDL_BOARD_DATA, wdl_node_agrees);
    return status == WDL_OK ? run->status : status;
}

/* In place is no matter: each part of a source is folded, and then overwritten, by one rank. */
int wdl_node_allreduce(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_coll_args *a = &run->args;
    WDL_NODE_STEP(c, 0, wdl_node_show(run, a->src, a->bytes));
    WDL_NODE_STEP(c, 1, all_agree(run, c));
    if (wdl_node_on_board(run)) /* little: everyone folds everything */
        return fold(run, run->team->size - 1, 0, a->bytes, a->dst, NULL);
    WDL_NODE_STEP(c, 2, wdl_node_note(run, fold_part(run, run->team->rank, a->dst)));
    WDL_NODE_STEP(c, 3, wdl_node_post(run, WDL_BOARD_DONE));
    WDL_NODE_STEP(c, 4, wdl_node_each(run, c, WDL_BOARD_DONE, fetch_part));
    WDL_NODE_STEP(c, 5, wdl_node_post(run, WDL_BOARD_LAST));
    return wdl_node_each(run, c, WDL_BOARD_LAST, NULL);
}

static int show_to_fold(struct wdl_run *run, int head, char *to)
{
    const struct wdl_coll_args *a = &run->args;
    size_t bytes = wdl_board_own_length(run);
    int answers = a->kind == WDL_COLL_ALLREDUCE || a->kind == WDL_COLL_REDUCE_SCATTER;
    if (!wdl_node_on_board(run))
        return wdl_node_show_places(run, a->src, to);
    if (run->team->rank != head || !answers)
        return wdl_node_show(run, a->src, bytes);
    /* what the head will post there is the result */
    memcpy(wdl_board_sheet(run, head), a->src, bytes);
    return WDL_OK;
}

/* Much: everyone folds a part and puts it where the head wants it. */
int wdl_node_fold(struct wdl_run *run, struct wdl_car_run *c, int head, char *to)
{
    int is_head = run->team->rank == head;
    WDL_NODE_STEP(c, 0, show_to_fold(run, head, to));
    if (wdl_node_on_board(run) && !is_head)
        return WDL_OK;
    WDL_NODE_STEP(c, 1, all_agree(run, c));
    if (wdl_node_on_board(run))
        return fold(run, wdl_node_size(run->team) - 1, 0, wdl_board_own_length(run), to, NULL);
    char *there = is_head ? to : wdl_node_sheet(run, head)->dst;
    WDL_NODE_STEP(c, 2,
                  wdl_node_note(run, there ? fold_part(run, head, there) : WDL_ERR_TRUNCATE));
    WDL_NODE_STEP(c, 3, wdl_node_post(run, WDL_BOARD_DONE));
    return wdl_node_each(run, c, WDL_BOARD_DONE, NULL);
}

int wdl_node_reduce(struct wdl_run *run, struct wdl_car_run *c)
{
    int root = run->args.root; /* nobody else's destination is written to, whoever believes so */
    return wdl_node_fold(run, c, root, run->team->rank == root ? run->args.dst : NULL);
}

/* Only ranks below have something for us, only ranks above take from us. */
static int below(struct wdl_run *run, struct wdl_car_run *c)
{
    for (; c->next < wdl_node_place(run->team); c->next++) {
        int rank = wdl_node_rank(run->team, c->next);
        if (!wdl_board_seen(run, rank, WDL_BOARD_DATA))
            return WDL_AGAIN;
        (void) wdl_node_note(run, wdl_node_agrees(run, rank));
    }
    c->next = 0;
    return WDL_OK;
}

int wdl_node_above(struct wdl_run *run, struct wdl_car_run *c, enum wdl_place_on_board place)
{
    int first = wdl_node_place(run->team) + 1;
    for (; first + c->next < wdl_node_size(run->team); c->next++)
        if (!wdl_board_seen(run, wdl_node_rank(run->team, first + c->next), place))
            return WDL_AGAIN;
    return WDL_OK;
}

/* In place, others still want what the result would overwrite: it is kept apart until they have
 * it. */
static int fold_apart(struct wdl_run *run, int hi, size_t at)
{
    const struct wdl_coll_args *a = &run->args;
    const struct wdl_host *host = &run->team->coll->host;
    if (wdl_node_on_board(run))
        return fold(run, hi, at, a->bytes, a->dst, NULL);
    if (a->src == a->dst && a->bytes > 0) {
        run->apart = host->ops->alloc(host->ctx, a->bytes);
        if (!run->apart) { /* the others go on */
            run->status = WDL_ERR_NOMEM;
            return WDL_OK;
        }
    }
    return fold_long(run, hi, at, a->bytes, run->team->rank, run->apart ? run->apart : a->dst);
}

int wdl_node_apart_end(struct wdl_run *run)
{
    const struct wdl_host *host = &run->team->coll->host;
    if (run->apart)
        memcpy(run->args.dst, run->apart, run->args.bytes);
    host->ops->free(host->ctx, run->apart);
    run->apart = NULL;
    return WDL_OK;
}

int wdl_node_reduce_scatter(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_coll_args *a = &run->args;
    size_t mine = wdl_block_at(a, &a->src_blocks, run->team->rank);
    WDL_NODE_STEP(c, 0, wdl_node_show(run, a->src, run->shown));
    WDL_NODE_STEP(c, 1, all_agree(run, c));
    WDL_NODE_STEP(c, 2, wdl_node_note(run, fold_apart(run, run->team->size - 1, mine)));
    if (wdl_node_on_board(run))
        return WDL_OK;
    WDL_NODE_STEP(c, 3, wdl_node_post(run, WDL_BOARD_DONE));
    WDL_NODE_STEP(c, 4, wdl_node_each(run, c, WDL_BOARD_DONE, NULL));
    return wdl_node_apart_end(run);
}

int wdl_node_prefix(struct wdl_run *run, struct wdl_car_run *c)
{
    int hi = wdl_node_place(run->team) - ((run->args.flags & WDL_COLL_EXCLUSIVE) != 0);
    if (below(run, c) == WDL_AGAIN)
        return WDL_AGAIN;
    return hi < 0 || run->status != WDL_OK ? WDL_OK : wdl_node_note(run, fold_apart(run, hi, 0));
}

int wdl_node_put_before(struct wdl_run *run, int owner, const char *left)
{
    const struct wdl_coll_op *op = &run->args.op;
    size_t chunk = chunk_of(&run->args), bytes = run->args.bytes;
    int far = owner != run->team->rank && !wdl_node_on_board(run), status = WDL_OK;
    char *to = run->apart ? run->apart : run->args.dst;
    for (size_t done = 0; done < bytes && status == WDL_OK; done += chunk) {
        size_t n = bytes - done < chunk ? bytes - done : chunk;
        if (far)
            status = wdl_board_fetch(run, owner, left + done, run->tmp, n);
        if (status == WDL_OK)
            op->fn(op->ctx, far ? run->tmp : left + done, to + done, n / op->elem_bytes);
    }
    return status;
}

int wdl_node_scan(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_coll_args *a = &run->args;
    WDL_NODE_STEP(c, 0, wdl_node_show(run, a->src, a->bytes));
    WDL_NODE_STEP(c, 1, wdl_node_prefix(run, c));
    if (wdl_node_on_board(run)) /* one below may believe that we fetch from it */
        return run->status == WDL_OK ? WDL_OK : wdl_node_post(run, WDL_BOARD_DONE);
    WDL_NODE_STEP(c, 2, wdl_node_post(run, WDL_BOARD_DONE));
    WDL_NODE_STEP(c, 3, wdl_node_above(run, c, WDL_BOARD_DONE));
    return wdl_node_apart_end(run);
}

size_t wdl_node_fold_room(const struct wdl_coll_args *args)
{
    return 2 * chunk_of(args);
}
