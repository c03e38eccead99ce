/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Data movement with blocks of different sizes, in random worlds: results, and sizes that are
 * filled in.
 */
#include <string.h>
#include "mpid/coll/gasnet_ranks.h"
#include "support/must.h"
#include "support/suite.h"

static struct call {
    int flags, kind;
    size_t root, bytes;
} call;

static void drawn(void)
{
    call = (struct call){.flags = draw_flags(0)};
    call.root = draw(first[r.n]);
}

static size_t out_bytes[RANKS_MAX][RANKS_MAX], in_bytes[RANKS_MAX][RANKS_MAX];

static void vary_start(int i)
{
    const struct call *c = &call;
    if (c->kind == 0)
        handle[i] = wdl_gas_scatterv_nb(team[i], dst[i][0], c->root, src[i][0], NULL, out_bytes[0],
                                        c->flags);
    else if (c->kind == 1)
        handle[i] = wdl_gas_gatherv_nb(team[i], c->root, dst[i][0], NULL, src[i][0], out_bytes[0],
                                       c->flags);
    else if (c->kind == 2)
        handle[i] =
            wdl_gas_gather_allv_nb(team[i], dst[i][0], NULL, src[i][0], in_bytes[i], c->flags);
    else
        handle[i] = wdl_gas_exchangev_nb(team[i], dst[i][0], NULL, in_bytes[i], src[i][0], NULL,
                                         out_bytes[i], c->flags);
}

/* Block from i to j, in exchangev; else the one block of i, or for it. */
static size_t block(int i, int j)
{
    return call.kind == 3 ? out_bytes[i][j] : out_bytes[0][call.kind == 0 ? j : i];
}

static void vary(void)
{
    drawn();
    call.kind = (int) draw(4);
    for (int i = 0; i < r.n; i++)
        for (int j = 0; j < r.n; j++)
            out_bytes[i][j] = draw(3) ? draw(200) : 0;
    for (int i = 0; i < r.n; i++) {
        size_t sum = 0;
        for (int j = 0; j < r.n; j++) {
            int known = (call.flags & WDL_COLL_SINGLE) || (call.kind == 2 && i == j);
            in_bytes[i][j] = known ? block(j, i) : 777;
            if (call.kind == 0 || call.kind == 3) {
                memset(src[i][0] + sum, call.kind ? i * 3 + j : j, block(i, j));
                sum += block(i, j);
            }
        }
        if (call.kind == 1 || call.kind == 2)
            memset(src[i][0], i * 3, block(i, 0));
    }
    gasnet_all(vary_start);
    for (int i = 0; i < r.n; i++) {
        size_t sum = 0;
        int root = call.root >= first[i] && call.root < first[i + 1];
        for (int j = 0; j < r.n && (call.kind != 1 || root); j++) {
            if (call.kind == 0 && j > 0)
                break;
            int value = call.kind == 0 ? i : call.kind == 3 ? j * 3 + i : j * 3;
            for (size_t b = 0; b < block(j, i); b++)
                ck_assert_int_eq(dst[i][0][sum + b], (char) value);
            sum += block(j, i);
            if (call.kind >= 2)
                ck_assert_uint_eq(in_bytes[i][j], block(j, i));
        }
    }
}

START_TEST(sizes_that_vary_few)
{
    gasnet_few(vary);
}
END_TEST

START_TEST(sizes_that_vary_many)
{
    gasnet_many(vary);
}
END_TEST

static uint64_t settled(void)
{
    while (!wdl_sim_quiescent(r.sim))
        ranks_step(&r);
    for (int k = 0; k < 30 * r.n; k++)
        ranks_step(&r);
    return wdl_sim_counts(r.sim)->sent;
}

/* Messages of a call, of two without credit among them. */
static uint64_t messages(void (*start)(int i))
{
    enum { ROUNDS = 20 };
    uint64_t least = UINT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t before = settled();
        gasnet_all(start);
        uint64_t sent = settled() - before;
        least = sent < least ? sent : least;
    }
    return least;
}

/* Who has heard the sizes of all knows that all have begun. */
START_TEST(what_all_say_first_is_the_entry)
{
    enum { N = 6 };
    struct wdl_sim_params sim = {.seed = 2, .ranks = N, .ordered = 1, .am_bytes_max = 1024};
    gasnet_open(&sim, 1);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++)
            out_bytes[i][j] = in_bytes[i][j] = 20;
    }
    for (int kind = 2; kind < 4; kind++) {
        uint64_t sent[2];
        for (int all = 0; all < 2; all++) {
            int in = all ? WDL_COLL_IN_ALLSYNC : WDL_COLL_IN_MYSYNC;
            call = (struct call){.kind = kind,
                                 .bytes = 20,
                                 .flags = in | WDL_COLL_OUT_MYSYNC | WDL_COLL_LOCAL};
            sent[all] = messages(vary_start);
        }
        must_cmp(sent[0], ==, sent[1]);
    }
    gasnet_close();
}
END_TEST

enum { LONG_ONES = 24000 };

/* A block for, or from, the other rank alone. */
static void some_sizes(int own, size_t sizes[2])
{
    sizes[own] = 0;
    sizes[1 - own] = LONG_ONES;
}

static int is_synced(int i)
{
    enum wdl_gas_error error = WDL_GAS_FINE;
    int is = wdl_gas_try_sync(handle[i], &error);
    must_cmp(error, ==, WDL_GAS_FINE);
    return is;
}

static void goes_on(int i)
{
    for (int k = 0; k < 100; k++)
        wdl_proc_progress(r.one[i].proc);
}

/* What is fetched from a rank's memory stays until it has been, also where that rank has been told
 * (OUT_NOSYNC) and its lists of sizes are its own again. */
static void lists_go(int exchanges)
{
    enum { FLAGS = WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_NOSYNC | WDL_COLL_SINGLE };
    struct wdl_sim_params sim = {.seed = 2, .ranks = 2, .ordered = 1, .am_bytes_max = 1024};
    size_t gives[2][2], gets[2][2];
    gasnet_open_place(&sim, 1, AT_ONE_NODE);
    (void) settled();
    for (int k = 0; k < 2; k++) {
        int i = 1 - k; /* rank 0 last: in an exchange it finds the other there */
        some_sizes(exchanges ? i : 0, gives[i]);
        some_sizes(i, gets[i]);
        memset(src[i][0], 'a' + i, LONG_ONES);
        if (exchanges)
            handle[i] = wdl_gas_exchangev_nb(team[i], dst[i][0], NULL, gets[i], src[i][0], NULL,
                                             gives[i], FLAGS);
        else if (i == 0)
            handle[i] = wdl_gas_scatterv_nb(team[i], dst[i][0], 0, src[i][0], NULL, gives[i],
                                            FLAGS);
        goes_on(i);
    }
    must(is_synced(0));
    memset(gives[0], 0, sizeof(gives[0])); /* the program's again */
    memset(gets[0], 0, sizeof(gets[0]));
    uint64_t running = wdl_coll_stats(r.one[0].proc)->running;
    must_cmp(running, >, 0);
    goes_on(0);
    must_cmp(wdl_coll_stats(r.one[0].proc)->running, ==, running);
    if (!exchanges)
        handle[1] = wdl_gas_scatterv_nb(team[1], dst[1][0], 0, src[1][0], NULL, gives[1], FLAGS);
    goes_on(1);
    must(is_synced(1));
    for (size_t b = 0; b < LONG_ONES; b++)
        must(dst[1][0][b] == 'a');
    goes_on(0);
    must_cmp(wdl_coll_stats(r.one[0].proc)->running, <, running);
    gasnet_close();
}

START_TEST(lists_of_sizes_go)
{
    lists_go(0);
    lists_go(1);
}
END_TEST

WDL_SUITE("coll/gasnet_xfer", sizes_that_vary_few, sizes_that_vary_many,
          what_all_say_first_is_the_entry, lists_of_sizes_go)
