/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Data that moves ahead: who gives what to whom; that it is there, or has been fetched, before its
 * other end begins, on one node, on several and by messages, whatever the network can do; windows;
 * and ranks that do not agree. (Whom a late rank delays: test_gasnet_sync.)
 */
#include "mpid/coll/ahead.h"
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/ranks.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS = 6, BYTES = 3000, ROOM = RANKS * BYTES, WINDOW = 8, MANY = 3 * WINDOW };
enum { IN = WDL_COLL_IN_NOSYNC | WDL_COLL_SINGLE };
static const enum wdl_coll_kind kinds[] = {WDL_COLL_BROADCAST, WDL_COLL_SCATTER, WDL_COLL_GATHER,
                                           WDL_COLL_GATHER_ALL, WDL_COLL_EXCHANGE};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static struct ranks r;
static struct wdl_team *teams[RANKS];
static struct wdl_coll_req reqs[RANKS * MANY];
static char *src[RANKS], *dst[RANKS];

static void settle(void)
{
    for (int k = 0; k < 3000 * r.n; k++)
        (void) ranks_step(&r);
}

/* So many ranks on a node; 0: messages alone. */
static void open_world(struct wdl_sim_params sim, int each, int attached)
{
    struct wdl_team_params params = {.id = 3, .window = WINDOW, .cell_bytes = 64};
    sim.seed = 5;
    sim.ranks = RANKS;
    sim.am_bytes_max = 1024;
    sim.delay_ns_max = 2000;
    ranks_open(&r, &sim);
    if (each)
        ranks_team_nodes(&r, &params, each, 1, teams);
    else
        ranks_team(&r, &params, teams);
    for (int i = 0; i < RANKS; i++) {
        src[i] = malloc(ROOM);
        dst[i] = malloc(ROOM);
        if (attached)
            must_cmp(wdl_coll_attach(r.one[i].proc, dst[i], ROOM), ==, WDL_OK);
    }
    settle();
}

static void close_world(void)
{
    for (int i = 0; i < RANKS; i++)
        while (wdl_coll_detach(r.one[i].proc, dst[i], ROOM) == WDL_AGAIN)
            ranks_step(&r);
    ranks_drop(&r, teams);
    ranks_close(&r);
    for (int i = 0; i < RANKS; i++) {
        free(src[i]);
        free(dst[i]);
    }
}

static char value(int from, int to)
{
    return (char) (1 + from * RANKS + to);
}

static int is_of_each(enum wdl_coll_kind kind)
{
    return kind == WDL_COLL_SCATTER || kind == WDL_COLL_EXCHANGE;
}

static void fill(enum wdl_coll_kind kind, size_t bytes)
{
    for (int i = 0; i < RANKS; i++) {
        memset(dst[i], 0, ROOM);
        for (int k = 0; k < RANKS; k++)
            memset(src[i] + (size_t) k * bytes, value(i, is_of_each(kind) ? k : 0), bytes);
    }
}

static void begin(int i, const struct wdl_coll_args *args, int slot)
{
    struct wdl_coll_args mine = *args;
    int down = args->kind == WDL_COLL_BROADCAST || args->kind == WDL_COLL_SCATTER;
    int up = args->kind == WDL_COLL_GATHER;
    mine.src = down ? src[args->root] : src[i];
    mine.dst = up ? dst[args->root] : dst[i];
    mine.src_of = down ? NULL : (void *const *) src;
    mine.dst_of = up ? NULL : (void *const *) dst;
    reqs[slot].done = 0;
    must_cmp(wdl_coll_start(teams[i], &mine, &reqs[slot]), ==, WDL_OK);
}

/* What a rank has got from another one: all of it, or nothing. */
static int has(const struct wdl_coll_args *a, int to, int from)
{
    int side = a->kind != WDL_COLL_BROADCAST && a->kind != WDL_COLL_SCATTER;
    const char *at = dst[to] + (side ? (size_t) from * a->bytes : 0);
    char wanted = value(from, is_of_each(a->kind) ? to : 0);
    for (size_t k = 0; k < a->bytes; k++)
        must(at[k] == 0 || at[k] == wanted);
    must(at[0] == at[a->bytes - 1]);
    return at[0] != 0;
}

static int gives(const struct wdl_coll_args *a, int from, int to)
{
    switch (a->kind) {
    case WDL_COLL_BROADCAST:
    case WDL_COLL_SCATTER:
        return from == a->root;
    case WDL_COLL_GATHER:
        return to == a->root;
    default:
        return 1;
    }
}

START_TEST(parts)
{
    for (int k = 0; k < KINDS; k++)
        for (int from = 0; from < RANKS; from++)
            for (int to = 0; to < RANKS; to++) {
                struct wdl_coll_args a = {.kind = kinds[k], .root = 2, .bytes = BYTES};
                struct wdl_ahead_part part = wdl_ahead_part(&a, from, to);
                int down = k < 2, each = is_of_each(kinds[k]);
                must_cmp(wdl_ahead_gives(&a, from, to), ==, gives(&a, from, to));
                must_cmp(part.from, ==, each ? (size_t) to * BYTES : 0);
                must_cmp(part.to, ==, down ? 0 : (size_t) from * BYTES);
            }
}
END_TEST

/* By where all are, lengths, and flags. */
START_TEST(ways)
{
    uint32_t known[] = {0, WDL_COLL_DST_KNOWN, WDL_COLL_SRC_KNOWN,
                        WDL_COLL_DST_KNOWN | WDL_COLL_SRC_KNOWN};
    static const struct {
        uint32_t out;
        size_t bytes;
        enum wdl_ahead_way way[4], broadcast;
    } rows[] = {
        {WDL_COLL_OUT_NOSYNC, 8, {0, 0, WDL_AHEAD_GET, WDL_AHEAD_GET}, WDL_AHEAD_GET},
        {WDL_COLL_OUT_MYSYNC, 8, {0, 0, 0, 0}, WDL_AHEAD_NOT},
        {WDL_COLL_OUT_NOSYNC, BYTES, {0, WDL_AHEAD_PUT, WDL_AHEAD_GET, WDL_AHEAD_GET},
         WDL_AHEAD_GET},
        {WDL_COLL_OUT_MYSYNC, BYTES, {0, WDL_AHEAD_PUT, WDL_AHEAD_GET, WDL_AHEAD_PUT},
         WDL_AHEAD_GET},
        {WDL_COLL_OUT_ALLSYNC, BYTES, {0, WDL_AHEAD_PUT, WDL_AHEAD_GET, WDL_AHEAD_PUT},
         WDL_AHEAD_GET},
    };
    open_world((struct wdl_sim_params){.no_map = 1}, RANKS, 0);
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
        for (int f = 0; f < 4; f++)
            for (int kind = 0; kind < KINDS; kind++) {
                struct wdl_coll_args a = {.kind = kinds[kind],
                                          .flags = IN | rows[k].out | known[f],
                                          .bytes = rows[k].bytes};
                int last = f == 3 && kinds[kind] == WDL_COLL_BROADCAST;
                must_cmp(wdl_ahead_way(teams[0], &a), ==,
                         last ? rows[k].broadcast : rows[k].way[f]);
                must_cmp(wdl_ahead_by_message(teams[0], &a), ==, 0);
                a.flags = (a.flags & ~(uint32_t) WDL_COLL_IN) | WDL_COLL_IN_MYSYNC;
                must_cmp(wdl_ahead_way(teams[0], &a), ==, WDL_AHEAD_NOT);
            }
    close_world();
}
END_TEST

/* --- what is where, and when ------------------------------------------------------------------ */

/* `late` begins last. Before it does, it has all that others put, and they what they fetch. */
static void late_one(const struct wdl_coll_args *a, int late, int puts, int fetches)
{
    fill(a->kind, a->bytes);
    for (int i = 0; i < RANKS; i++)
        if (i != late)
            begin(i, a, i);
    settle();
    for (int i = 0; i < RANKS; i++) {
        if (i != late && gives(a, i, late))
            must_cmp(has(a, late, i), ==, puts);
        if (i != late && gives(a, late, i))
            must_cmp(has(a, i, late), ==, fetches);
    }
    begin(late, a, late);
    for (int left = 1; left;) {
        left = 0;
        ranks_step(&r);
        for (int i = 0; i < RANKS; i++)
            left |= !reqs[i].done;
    }
    settle();
    for (int i = 0; i < RANKS; i++) {
        must_cmp(reqs[i].status, ==, WDL_OK);
        for (int k = 0; k < RANKS; k++)
            must_cmp(gives(a, k, i), ==, (gives(a, k, i) && has(a, i, k)));
    }
}

static void all_kinds(int known, int puts, int fetches, int longest)
{
    static const size_t lengths[] = {300, BYTES};
    for (int kind = 0; kind < KINDS; kind++)
        for (int out = WDL_COLL_OUT_NOSYNC; out <= WDL_COLL_OUT_ALLSYNC; out <<= 1)
            for (int l = longest; l < 2; l++)
                for (int late = 0; late < RANKS; late += 2) {
                    struct wdl_coll_args a = {.kind = kinds[kind],
                                              .flags = (uint32_t) (IN | out | known),
                                              .root = late % 4 ? 1 : late,
                                              .bytes = lengths[l]};
                    late_one(&a, late, puts, fetches);
                }
}

/* Where the network puts and where it maps, with its order and without. */
START_TEST(data_is_put_between_nodes)
{
    for (int k = 0; k < 12; k++) {
        open_world((struct wdl_sim_params){.ordered = k & 1, .no_map = k >> 1 & 1, .torn = 1},
                   k >> 2, 1);
        all_kinds(WDL_COLL_DST_KNOWN, 1, 0, k >> 2 == 2); /* on a node little is shown */
        close_world();
    }
}
END_TEST

/* Without put, or memory for it, it comes when its place is said to be ready. */
START_TEST(where_nothing_can_be_put_it_waits)
{
    for (int k = 0; k < 4; k++) {
        open_world((struct wdl_sim_params){.ordered = k & 1, .no_rma = k >> 1}, 0, k >> 1);
        all_kinds(WDL_COLL_DST_KNOWN, 0, 0, 0);
        close_world();
    }
}
END_TEST

START_TEST(data_moves_on_a_node)
{
    static const enum wdl_coll_kind some[] = {WDL_COLL_GATHER, WDL_COLL_EXCHANGE};
    uint64_t before;
    open_world((struct wdl_sim_params){.no_rma = 1}, RANKS, 0);
    before = ranks_sent(&r);
    for (size_t kind = 0; kind < 2; kind++)
        for (int late = 0; late < RANKS; late++) {
            struct wdl_coll_args a = {.kind = some[kind], .root = 1, .bytes = BYTES};
            a.flags = IN | WDL_COLL_OUT_MYSYNC | WDL_COLL_DST_KNOWN;
            late_one(&a, late, 1, 0);
            a.flags = IN | WDL_COLL_OUT_MYSYNC | WDL_COLL_SRC_KNOWN;
            late_one(&a, late, 0, 1);
            a.flags = IN | WDL_COLL_OUT_NOSYNC | WDL_COLL_SRC_KNOWN | WDL_COLL_DST_KNOWN;
            late_one(&a, late, 0, 1);
            a.bytes = 8;
            late_one(&a, late, 0, 1);
        }
    must_cmp(ranks_sent(&r), ==, before);
    close_world();
}
END_TEST

/* --- windows, mistakes ------------------------------------------------------------------------ */

/* A root that goes ahead of all is done with no more than a window, and never too late. */
static void far_ahead(int each)
{
    struct wdl_coll_args a = {.kind = WDL_COLL_BROADCAST,
                              .flags = IN | WDL_COLL_OUT_NOSYNC | WDL_COLL_DST_KNOWN,
                              .bytes = BYTES};
    int done = 0;
    open_world((struct wdl_sim_params){.no_map = 1}, each, 1);
    late_one(&a, 1, 1, 0);
    fill(a.kind, a.bytes);
    for (int k = 0; k < MANY; k++)
        begin(0, &a, k);
    settle();
    for (int k = 0; k < MANY; k++)
        done += reqs[k].done;
    must_cmp(done, >, 1);
    must_cmp(done, <=, WINDOW);
    for (int i = 1; i < RANKS; i++)
        must_cmp(has(&a, i, 0), ==, 1);
    for (int i = 1; i < RANKS; i++)
        for (int k = 0; k < MANY; k++)
            begin(i, &a, i * MANY + k);
    for (int k = 0; k < RANKS * MANY; k++)
        while (!reqs[k].done)
            ranks_step(&r);
    close_world();
}

START_TEST(no_more_than_a_window_ahead)
{
    far_ahead(0);
    far_ahead(2);
    far_ahead(RANKS);
}
END_TEST

/* One believes in more: whoever can see it says so, and nobody waits for ever. */
static void one_differs(int known)
{
    for (int kind = 0; kind < KINDS; kind++) {
        int failed = 0;
        struct wdl_coll_args a = {.kind = kinds[kind],
                                  .flags = (uint32_t) (IN | WDL_COLL_OUT_MYSYNC | known),
                                  .root = 1};
        fill(a.kind, BYTES);
        for (int i = 0; i < RANKS; i++) {
            a.bytes = i == 1 ? BYTES - 4 : BYTES - 8;
            begin(i, &a, i);
        }
        for (int i = 0; i < RANKS; i++)
            for (int turn = 0; !reqs[i].done; turn++) {
                if (turn % 1000 == 999)
                    ranks_doubt(&r, turn / 1000 % RANKS);
                must_cmp(turn, <, 1000000);
                ranks_step(&r);
            }
        for (int i = 0; i < RANKS; i++)
            failed += reqs[i].status == WDL_ERR_TRUNCATE;
        must_cmp(failed, >, 0);
        settle();
    }
}

START_TEST(ranks_that_differ)
{
    static const int each[] = {0, 2, RANKS};
    for (int k = 0; k < 3; k++) {
        open_world((struct wdl_sim_params){.no_map = 1}, each[k], 1);
        one_differs(WDL_COLL_DST_KNOWN);
        close_world();
    }
    open_world((struct wdl_sim_params){.no_map = 1}, RANKS, 0);
    one_differs(WDL_COLL_SRC_KNOWN);
    close_world();
}
END_TEST

WDL_SUITE("coll/ahead", parts, ways, data_is_put_between_nodes, where_nothing_can_be_put_it_waits,
          data_moves_on_a_node, no_more_than_a_window_ahead, ranks_that_differ)
