/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Scans of ranks that share a node (node.h): each rank makes its prefix from that of the rank below
 * and shows it to the rank above, so that it waits for nobody else, and may be several scans ahead
 * of those above. Where ranks outnumber processors each turn at one then serves several.
 *
 * Of little data the prefix is a line; who finds that of the rank below is done at once. Who does
 * not shows its operand on its board, too: those above need not wait for its turn. Longer ones
 * have their prefix on the board, if that has room for both, and else each folds what those below
 * show. Of much data the prefix is staged, comes in parts if there are but two whose callers wait
 * (parts.h), or, if it is longer than the staging memory takes, is fetched from its owner's memory:
 * straight to where the result goes, if operands may change places or the scan is exclusive. Then
 * it is the result, and the rank's own prefix is nobody's result and has memory of its own. Always
 * from the lowest rank up: the same bits.
 */
#include <string.h>
#include "base/copy.h"
#include "base/line.h"
#include "base/relax.h"
#include "mpid/coll/fail.h"
#include "mpid/coll/node.h"
#include "mpid/coll/parts.h"
#include "mpid/coll/staging.h"

static struct wdl_shm_line *line_of(const struct wdl_run *run, int rank)
{
    return wdl_shm_line_of(run->team, rank, run->stamp);
}

static int is_there(const struct wdl_shm_line *line, uint64_t stamp)
{
    /* pairs with the store in line_post */
    return __atomic_load_n(&line->stamp, __ATOMIC_ACQUIRE) == stamp;
}

/* What a line says beside its data. */
static uint64_t length_with(size_t bytes, uint32_t alike)
{
    wdl_static_assert((uint64_t) WDL_COLL_LINE_BYTES <= UINT32_MAX);
    return bytes | (uint64_t) alike << 32;
}

static int line_agrees(const struct wdl_run *run, int rank)
{
    return line_of(run, rank)->length == length_with(run->args.bytes, run->args.alike);
}

/* Has a rank shown anything for this scan? Where little is scanned, it may be a line alone. */
static int has_come(const struct wdl_run *run, int rank)
{
    return wdl_board_seen(run, rank, WDL_BOARD_DATA) ||
           (run->team->on_node && is_there(line_of(run, rank), run->stamp));
}

/* ... what it means, too? */
static int agrees(struct wdl_run *run, int rank)
{
    if (wdl_board_seen(run, rank, WDL_BOARD_DATA))
        return wdl_node_agrees(run, rank);
    return line_agrees(run, rank) ? WDL_OK : WDL_ERR_TRUNCATE;
}

/* Only ranks below have something for us, only ranks above take from us. */
static int below(struct wdl_run *run, struct wdl_car_run *c)
{
    for (; c->next < wdl_node_place(run); c->next++) {
        int rank = wdl_node_rank(run, c->next);
        if (!has_come(run, rank))
            return WDL_AGAIN;
        (void) wdl_node_note(run, agrees(run, rank));
    }
    c->next = 0;
    return WDL_OK;
}

int wdl_node_above(struct wdl_run *run, struct wdl_car_run *c, enum wdl_place_on_board place)
{
    int first = wdl_node_place(run) + 1;
    for (; first + c->next < wdl_node_size(run); c->next++)
        if (!wdl_board_seen(run, wdl_node_rank(run, first + c->next), place))
            return WDL_AGAIN;
    return WDL_OK;
}

int wdl_node_prefix(struct wdl_run *run, struct wdl_car_run *c)
{
    int hi = wdl_node_place(run) - ((run->args.flags & WDL_COLL_EXCLUSIVE) != 0);
    if (below(run, c) == WDL_AGAIN)
        return WDL_AGAIN;
    if (hi < 0 || run->status != WDL_OK)
        return WDL_OK;
    return wdl_node_note(run, wdl_node_fold_apart(run, hi, 0));
}

int wdl_node_put_before(struct wdl_run *run, int owner, const char *left)
{
    const struct wdl_coll_op *op = &run->args.op;
    size_t chunk = wdl_node_chunk(&run->args), bytes = run->args.bytes;
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

/* --- on one node: one rank after the other ---------------------------------------------------- */

enum { FAILED = -1 }; /* of sheet->filled, here bytes of a prefix that are there */

static int is_exclusive(const struct wdl_run *run)
{
    return (run->args.flags & WDL_COLL_EXCLUSIVE) != 0;
}

static int is_highest(const struct wdl_run *run)
{
    return run->team->rank == run->team->size - 1;
}

/* Is our result the prefix of the rank below, and our operand nobody's? */
static int is_result_below(const struct wdl_run *run)
{
    return is_exclusive(run) && is_highest(run);
}

/* May the prefix of the rank below be fetched to where our result is to be: which it is, or to
 * which our operand may be put there? */
static int may_fetch_straight(const struct wdl_run *run)
{
    const struct wdl_coll_args *a = &run->args;
    if (is_result_below(run))
        return 1;
    return (a->op.commutes || is_exclusive(run)) && a->src != a->dst &&
           !(a->flags & WDL_COLL_LEAVES);
}

/* Is it no longer than one of the rings takes at a time? Copied twice it is there sooner than
 * fetched once, page by page, and the rank below need not wait for us. (8 ranks, 2 processors, 256
 * KiB: 173 to 186 us fetched, 107 to 140 staged; 1 MiB: 700 to 780, 440 to 530.) Of two, who do not
 * get ahead of each other so, what is long is fetched. */
static int is_for_staging(const struct wdl_run *run)
{
    const struct wdl_team_params *params = &run->team->params;
    size_t ring = run->team->size > 2 ? params->staging_long_bytes : 0;
    ring = ring > params->staging_bytes ? ring : params->staging_bytes;
    return run->args.bytes <= ring / 2;
}

/* Whether there was room in the staging memory says nothing of the order of operands. */
static int fetches_straight(const struct wdl_run *run)
{
    return run->team->rank > 0 && !is_for_staging(run) && may_fetch_straight(run);
}

/* Is a prefix that is not staged the lowest rank's operand, there from the begin? */
static int is_operand(const struct wdl_run *run, int rank)
{
    return rank == 0 && !wdl_node_leaves(run);
}

/* Where our prefix goes, for the rank above: it is staged, or our result, or it is apart. */
static char *own_prefix(const struct wdl_run *run)
{
    return run->staged ? run->staged : run->apart ? run->apart : run->args.dst;
}

static int show_prefix(struct wdl_run *run)
{
    const struct wdl_coll_args *a = &run->args;
    struct wdl_sheet *sheet = (struct wdl_sheet *) (void *) wdl_board_sheet(run, run->team->rank);
    uint64_t card = 0;
    if (wdl_parts_begin(run, sheet))
        return wdl_node_post(run, WDL_BOARD_DATA);
    int staged = !is_highest(run) && is_for_staging(run) &&
                 wdl_staging_take_for(run, a->bytes, run->team->rank + 1, &card);
    int apart = wdl_node_leaves(run) || (is_exclusive(run) && run->team->rank > 0);
    if (!is_highest(run) && !staged && apart && !wdl_node_copy_room(run) && is_exclusive(run))
        run->status = WDL_ERR_NOMEM;
    *sheet = (struct wdl_sheet){.src = wdl_board_say(run, a->src),
                                .dst = wdl_board_say(run, own_prefix(run)),
                                .staged = card};
    return wdl_node_post(run, WDL_BOARD_DATA);
}

/* Prefix and result from the prefix of the rank below, `left`; NULL: there is none. */
static void put_behind(struct wdl_run *run, const char *left, size_t at, size_t n)
{
    const struct wdl_coll_args *a = &run->args;
    int exclusive = is_exclusive(run);
    char *own = own_prefix(run) + at, *dst = (char *) a->dst + at, *staged = NULL;
    const char *src = (const char *) a->src + at;
    if (run->staged) { /* what is there is in the reader's cache */
        staged = own;
        own = exclusive ? run->tmp + wdl_node_chunk(a) : dst;
    }
    const char *result = exclusive ? left : own;
    if (!exclusive || !is_highest(run)) {
        if (left)
            wdl_node_combine(run, left, src, own, n);
        else if (own != src)
            wdl_copy(own, src, n);
        if (staged)
            wdl_bypass_copy(&run->team->bypass, staged, own, n);
    }
    if (result && result != dst)
        wdl_copy(dst, result, n);
}

static int fetch_below(struct wdl_run *run, size_t at, char *here, size_t n)
{
    int below = run->team->rank - 1;
    const struct wdl_sheet *sheet = wdl_node_sheet(run, below);
    struct wdl_said there = is_operand(run, below) ? sheet->src : sheet->dst;
    return wdl_board_fetch_said(run, below, there, at, here, n);
}

/* Bytes [at, at + n) of the prefix of the rank below: where they are staged, or fetched `here`. */
static int look_below(struct wdl_run *run, const char *staged, size_t at, char *here, size_t n,
                      const char **left)
{
    *left = staged ? staged + at : here;
    return staged ? WDL_OK : fetch_below(run, at, here, n);
}

/* How much of it is there? */
static size_t below_has(const struct wdl_run *run)
{
    int below = run->team->rank - 1;
    const struct wdl_sheet *sheet = below < 0 ? NULL : wdl_node_sheet(run, below);
    if (!sheet || (!sheet->staged && is_operand(run, below)))
        return run->args.bytes;
    return __atomic_load_n(&sheet->filled, __ATOMIC_ACQUIRE); /* pairs with the stores in follow */
}

/* Is the prefix that we read fetched; the lowest rank's, by the rank above? */
static int is_fetched(const struct wdl_run *run)
{
    int me = run->team->rank;
    return me > 0 ? !wdl_node_sheet(run, me - 1)->staged : !run->staged;
}

/* The rank below may have its memory back: once. */
static int have_read(struct wdl_run *run)
{
    return wdl_board_seen(run, run->team->rank, WDL_BOARD_DONE)
               ? WDL_OK
               : wdl_node_post(run, WDL_BOARD_DONE);
}

/* Our operand put to the prefix of the rank below. That rank may have staged it, and then has not
 * waited for us; else it need not wait until we have computed, too. */
static int put_to_prefix(struct wdl_run *run, const char *staged, size_t at, size_t n)
{
    const struct wdl_coll_args *a = &run->args;
    char *own = (char *) a->dst + at;
    int status = WDL_OK;
    if (staged)
        wdl_copy(own, staged + at, n);
    else
        status = fetch_below(run, at, own, n);
    if (status == WDL_OK && at + n == a->bytes)
        status = have_read(run);
    if (status == WDL_OK)
        a->op.fn(a->op.ctx, (const char *) a->src + at, own, n / a->op.elem_bytes);
    return status;
}

static int follow_part(struct wdl_run *run, size_t at, size_t n)
{
    const char *left = NULL, *staged = NULL;
    const struct wdl_sheet *sheet;
    int straight = fetches_straight(run), status = WDL_OK;
    size_t chunk = straight ? n : wdl_node_chunk(&run->args);
    if (run->team->rank > 0) {
        sheet = wdl_node_sheet(run, run->team->rank - 1);
        staged = sheet->staged
                     ? wdl_staging_of(run, run->team->rank - 1, sheet, run->args.bytes)
                     : NULL;
        if (sheet->staged && !staged)
            return WDL_ERR_PROTO;
    }
    if (straight && !is_exclusive(run))
        return put_to_prefix(run, staged, at, n);
    for (size_t i = 0, k; i < n && status == WDL_OK; i += k) {
        char *here = straight ? (char *) run->args.dst + at + i : run->tmp;
        k = n - i < chunk ? n - i : chunk;
        if (run->team->rank > 0)
            status = look_below(run, staged, at + i, here, k, &left);
        if (left && left == here && at + i + k == run->args.bytes && status == WDL_OK)
            status = have_read(run);
        if (status == WDL_OK)
            put_behind(run, left, at + i, k);
    }
    return status;
}

/* Part by part, as far as the rank below has come. Whoever fails tells the ranks above. */
static int follow(struct wdl_run *run)
{
    enum { LOOKS = 40, PARTS = 8 };
    int looks = LOOKS, status = run->status;
    struct wdl_sheet *own = (struct wdl_sheet *) (void *) wdl_board_sheet(run, run->team->rank);
    size_t all = run->args.bytes, part = wdl_node_chunk(&run->args);
    if (run->team->rank == 0 && is_exclusive(run) && is_operand(run, 0) && !run->staged)
        return WDL_OK;
    if (is_fetched(run)) /* which wants long parts */
        part = is_result_below(run) && below_has(run) == all ? all : part * PARTS;
    while (run->taken < all && status == WDL_OK) {
        size_t at = run->taken, n = all - at < part ? all - at : part, there = below_has(run);
        if (there < at + n && looks-- > 0)
            continue;
        if (there < at + n)
            return WDL_AGAIN;
        status = there == (size_t) FAILED ? WDL_ERR_TRUNCATE : follow_part(run, at, n);
        run->taken += n;
        /* pairs with the load in below_has */
        if (status == WDL_OK)
            __atomic_store_n(&own->filled, run->taken, __ATOMIC_RELEASE);
    }
    run->taken = 0;
    if (status != WDL_OK)
        __atomic_store_n(&own->filled, (size_t) FAILED, __ATOMIC_RELEASE);
    return wdl_node_note(run, status);
}

/* No memory goes back to its owner while the rank above reads it. One that means another length
 * does not, and may not say so. */
static int until_read(struct wdl_run *run)
{
    int above = run->team->rank + 1;
    if (is_highest(run) || run->staged)
        return WDL_OK;
    if (!has_come(run, above))
        return WDL_AGAIN;
    int status = agrees(run, above);
    if (status != WDL_OK)
        return wdl_node_note(run, status);
    return wdl_board_seen(run, above, WDL_BOARD_DONE) ? WDL_OK : WDL_AGAIN;
}

static int below_agrees(struct wdl_run *run)
{
    int below = run->team->rank - 1;
    if (below >= 0 && !has_come(run, below))
        return WDL_AGAIN;
    return below < 0 ? WDL_OK : wdl_node_note(run, agrees(run, below));
}

/* Of two the lower one's operand, which is the prefix, may come in parts. */
static int is_in_parts(const struct wdl_run *run)
{
    return run->team->size == 2 && wdl_parts_are_given(wdl_node_sheet(run, 0));
}

static int take_parts(struct wdl_run *run)
{
    const struct wdl_coll_args *a = &run->args;
    const char *there;
    size_t n;
    int status;
    if (is_exclusive(run))
        return wdl_parts_take(run, 0, a->dst, a->bytes);
    while ((status = wdl_parts_look(run, 0, a->bytes, &there, &n)) == WDL_OK && n > 0) {
        size_t at = run->taken;
        wdl_node_combine(run, there, (const char *) a->src + at, (char *) a->dst + at, n);
        wdl_parts_took(run, n);
    }
    return status;
}

static int keep_operand(struct wdl_run *run)
{
    const struct wdl_coll_args *a = &run->args;
    if (!is_exclusive(run) && a->dst != a->src)
        wdl_copy(a->dst, a->src, a->bytes);
    return WDL_OK;
}

static int scan_in_parts(struct wdl_run *run, struct wdl_car_run *c)
{
    if (run->team->rank == 0) {
        WDL_NODE_STEP(c, 2, wdl_parts_fill(run));
        WDL_NODE_STEP(c, 3, keep_operand(run));
        return WDL_OK;
    }
    if (c->step == 2 && run->status == WDL_OK) {
        int status = take_parts(run);
        if (status == WDL_AGAIN)
            return WDL_AGAIN;
        (void) wdl_node_note(run, status);
    }
    c->step = 3;
    return have_read(run);
}

static int scan_one_by_one(struct wdl_run *run, struct wdl_car_run *c)
{
    WDL_NODE_STEP(c, 0, show_prefix(run));
    WDL_NODE_STEP(c, 1, below_agrees(run));
    if (is_in_parts(run))
        return scan_in_parts(run, c);
    WDL_NODE_STEP(c, 2, follow(run));
    WDL_NODE_STEP(c, 3, have_read(run));
    if (wdl_node_leaves(run) && run->apart)
        return WDL_OK;
    WDL_NODE_STEP(c, 4, until_read(run));
    wdl_node_copy_free(run);
    return WDL_OK;
}

int wdl_node_scan_left(struct wdl_run *run, struct wdl_car_run *c)
{
    (void) c;
    if (run->apart && until_read(run) == WDL_AGAIN)
        return WDL_AGAIN;
    wdl_node_copy_free(run);
    return WDL_OK;
}

/* --- little --- */

/* So little that a prefix fits a line (shm.c). */
static int is_short(const struct wdl_run *run)
{
    return run->args.bytes > 0 && run->args.bytes <= WDL_COLL_LINE_BYTES;
}

static void line_post(struct wdl_team *team, uint64_t stamp, uint64_t length)
{
    const struct wdl_coll_shm *shm = team->params.shm;
    struct wdl_shm_line *line = wdl_shm_line_of(team, team->rank, stamp);
    line->length = length;
    /* pairs with the load in is_there */
    __atomic_store_n(&line->stamp, stamp, __ATOMIC_RELEASE);
    team->coll->stats.stored++;
    for (int r = 0; shm->wake && r < team->size; r++)
        if (r != team->rank)
            shm->wake(shm->ctx, r);
}

/* Has a rank shown its prefix? One that we mean, too; where. NULL: there is no room for one. */
static int prefix_seen(const struct wdl_run *run, int rank)
{
    return is_short(run) ? is_there(line_of(run, rank), run->stamp)
                         : wdl_board_seen(run, rank, WDL_BOARD_LAST);
}

static int prefix_agrees(const struct wdl_run *run, int rank)
{
    return is_short(run) ? line_agrees(run, rank)
                         : wdl_board_length_at(run, rank, WDL_BOARD_LAST) == run->args.bytes;
}

static char *prefix_of(const struct wdl_run *run, int rank)
{
    return is_short(run) ? line_of(run, rank)->data : wdl_board_second(run, rank);
}

static int prefix_post(struct wdl_run *run)
{
    if (is_short(run))
        line_post(run->team, run->stamp, length_with(run->args.bytes, run->args.alike));
    else if (run->team->rank < run->team->size - 1)
        wdl_board_post(run, WDL_BOARD_LAST);
    return WDL_OK;
}

/* The highest rank below whose prefix is there, if those between have shown their operands: the
 * lowest rank's operand is its prefix. -1: not yet. */
static int prefix_below(const struct wdl_run *run)
{
    int r = run->team->rank - 1;
    while (r > 0 && !prefix_seen(run, r)) {
        /* whose line has come since then may have no operand on the board; one that means another
         * length has not */
        if (is_short(run) ? !wdl_board_seen(run, r, WDL_BOARD_DATA) : !has_come(run, r))
            return -1;
        r--;
    }
    return r > 0 || has_come(run, 0) ? r : -1;
}

static int all_agree_from(struct wdl_run *run, int from)
{
    int same = from > 0 ? prefix_agrees(run, from) : agrees(run, 0) == WDL_OK;
    for (int r = from + 1; r < run->team->rank && same; r++)
        same = agrees(run, r) == WDL_OK;
    return same;
}

/* right = left op what rank r shows; returns it. */
static char *join(const struct wdl_run *run, const char *left, int r, char *right)
{
    const struct wdl_coll_op *op = &run->args.op;
    wdl_copy(right, wdl_board_sheet(run, r), run->args.bytes);
    op->fn(op->ctx, left, right, run->args.bytes / op->elem_bytes);
    return right;
}

/* From the left, so that the bits are the same however many prefixes were there. Our own goes to
 * where those above look for it. */
static void join_all(struct wdl_run *run, int from)
{
    const struct wdl_coll_args *a = &run->args;
    int me = run->team->rank;
    char *own = prefix_of(run, me), *dst = a->dst;
    const char *left = from > 0 || prefix_seen(run, 0) ? prefix_of(run, from)
                                                       : wdl_board_sheet(run, 0);
    for (int r = from + 1; r < me; r++)
        left = join(run, left, r, left == dst ? own : dst);
    if (left == own || (a->flags & WDL_COLL_EXCLUSIVE && left != dst)) {
        wdl_copy(dst, left, a->bytes);
        left = dst;
    }
    join(run, left, me, own);
    if (!(a->flags & WDL_COLL_EXCLUSIVE))
        wdl_copy(dst, own, a->bytes);
}

/* Each takes the prefix of the rank below, if that has come so far, and else of one further down
 * and what those between show: who runs one after the other reads one board, and who comes last
 * waits for nobody's turn. */
static int join_below(struct wdl_run *run)
{
    int me = run->team->rank, from;
    if (me == 0) {
        if (is_short(run))
            wdl_copy(prefix_of(run, me), run->args.src, run->args.bytes);
        if (!(run->args.flags & WDL_COLL_EXCLUSIVE) && run->args.dst != run->args.src)
            wdl_copy(run->args.dst, run->args.src, run->args.bytes);
        return is_short(run) ? prefix_post(run) : WDL_OK;
    }
    from = prefix_below(run);
    if (from < 0)
        return WDL_AGAIN;
    if (!all_agree_from(run, from))
        return wdl_node_note(run, WDL_ERR_TRUNCATE);
    join_all(run, from);
    return prefix_post(run);
}

static int scan_little(struct wdl_run *run, struct wdl_car_run *c)
{
    if (run->args.bytes > 0 && prefix_of(run, run->team->rank))
        WDL_NODE_STEP(c, 1, join_below(run));
    WDL_NODE_STEP(c, 1, wdl_node_prefix(run, c));
    /* one below may believe that we fetch from it */
    return run->status == WDL_OK ? WDL_OK : wdl_node_post(run, WDL_BOARD_DONE);
}

static int look_for(const struct wdl_shm_line *line, uint64_t stamp, int looks)
{
    while (!is_there(line, stamp)) {
        if (--looks <= 0)
            return 0;
        wdl_relax();
    }
    return 1;
}

/* Have what a scan to come writes to `own` and reads from `left` (NULL: there is none). */
static void lines_wanted(const struct wdl_shm_line *left, const struct wdl_shm_line *own,
                         size_t bytes)
{
    enum { LINE = 64 };
    size_t end = offsetof(struct wdl_shm_line, data) + bytes;
    for (size_t at = 0; at < end; at += LINE) {
        wdl_line_wanted((const char *) own + at);
        if (left)
            __builtin_prefetch((const char *) left + at);
    }
}

/* left op what we have, to our line; and our result. */
static void scan_line(const struct wdl_coll_scan *s, const struct wdl_shm_line *left,
                      struct wdl_shm_line *own)
{
    const struct wdl_shm_line *result = s->exclusive ? left : own;
    memcpy(own->data, s->src, s->bytes);
    if (left)
        s->op->fn(s->op->ctx, left->data, own->data, s->bytes / s->op->elem_bytes);
    if (result)
        memcpy(s->dst, result->data, s->bytes);
}

int wdl_coll_scan_at_once(struct wdl_team *team, const struct wdl_coll_scan *s)
{
    enum { AHEAD = 4 };         /* far processors: a line takes longer than a scan */
    uint64_t stamp = team->started + 1;
    struct wdl_shm_line *left = NULL, *next = NULL;
    if (!team->express || s->bytes > WDL_COLL_LINE_BYTES || s->bytes == 0 ||
        !wdl_team_is_quiet(team) || !wdl_list_empty(&team->dooms) ||
        team->coll->preferred[WDL_COLL_SCAN])
        return WDL_ERR_OP;
    if (!wdl_team_has_room(team, (uint32_t) team->numbers))
        return WDL_AGAIN;
    if (team->rank > 0) {
        left = wdl_shm_line_of(team, team->rank - 1, stamp);
        if (!look_for(left, stamp, s->looks)) /* who shows its operand needs a slot */
            return wdl_team_is_idle(team) ? WDL_ERR_OP : WDL_AGAIN;
        if (left->length != length_with(s->bytes, s->alike))
            return WDL_ERR_OP;
        next = wdl_shm_line_of(team, team->rank - 1, stamp + AHEAD);
    }
    lines_wanted(next, wdl_shm_line_of(team, team->rank, stamp + AHEAD), s->bytes);
    scan_line(s, left, wdl_shm_line_of(team, team->rank, stamp));
    line_post(team, stamp, length_with(s->bytes, s->alike));
    wdl_team_went_by(team, wdl_print_with(wdl_print_on_node(WDL_COLL_SCAN, 0, 0), s->alike));
    return WDL_OK;
}

int wdl_node_scan(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_coll_args *a = &run->args;
    if (!wdl_node_on_board(run))
        return scan_one_by_one(run, c);
    WDL_NODE_STEP(c, 0, wdl_node_show(run, a->src, a->bytes));
    return scan_little(run, c);
}
