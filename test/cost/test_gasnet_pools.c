/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What GASNet's collectives take of the host's memory, counted: nothing where there have been as
 * many at a time before, though their graphs are built anew for each call.
 */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/gasnet_ranks.h"
#include "support/must.h"
#include "support/suite.h"

enum {
    NODES = 4,
    MANY = 64,
    QUEUED = 65535,
    FLAGS = WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_MYSYNC | WDL_COLL_LOCAL,
    ELEMS = 50,
    BLOCK = 40
};

static wdl_gas_handle *handles; /* by node, then by call */
static uint32_t perm[UNITS_MAX], all_nodes[NODES];
static size_t lengths[NODES], come[NODES];
static int agreed[NODES];
static void *there[NODES], *here[NODES][NODES]; /* a block with each node */

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, 4);
}

/* Elements over the images, two by two. */
static struct wdl_gas_array array(void)
{
    return (struct wdl_gas_array){NULL, 2, 1};
}

static wdl_gas_handle broadcast(int i)
{
    return wdl_gas_broadcastM_nb(team[i], dst_list[i], 1, src[i][0], BLOCK, FLAGS);
}

static wdl_gas_handle scatter(int i)
{
    return wdl_gas_scatterM_nb(team[i], dst_list[i], 1, src[i][0], BLOCK, FLAGS);
}

static wdl_gas_handle gather(int i)
{
    return wdl_gas_gatherM_nb(team[i], 1, dst[i][0], src_list[i], BLOCK, FLAGS);
}

static wdl_gas_handle gather_all(int i)
{
    return wdl_gas_gather_allM_nb(team[i], dst_list[i], src_list[i], BLOCK, FLAGS);
}

static wdl_gas_handle exchange(int i)
{
    return wdl_gas_exchangeM_nb(team[i], dst_list[i], src_list[i], BLOCK, FLAGS);
}

static wdl_gas_handle gather_basic(int i)
{
    return wdl_gas_gather_nb(team[i], 1, dst[i][0], src[i][0], BLOCK, FLAGS);
}

static wdl_gas_handle reduce(int i)
{
    return wdl_gas_reduceM_nb(team[i], 0, dst[i][0], src_list[i], array(), 4, ELEMS, COMPOSE,
                              COMPOSE, FLAGS);
}

static wdl_gas_handle reduce_everywhere(int i)
{
    return wdl_gas_reduceM_nb(team[i], WDL_GAS_EVERYWHERE, dst[i][0], src_list[i], array(), 4,
                              ELEMS, SERIAL, SERIAL, FLAGS);
}

static wdl_gas_handle scan(int i)
{
    return wdl_gas_scanM_nb(team[i], dst_list[i], array(), src_list[i], array(), 4, ELEMS, SUM, SUM,
                            FLAGS);
}

static wdl_gas_handle sort(int i)
{
    return wdl_gas_sortM_nb(team[i], dst_list[i], array(), src_list[i], array(), 4, ELEMS, compare,
                            FLAGS);
}

static wdl_gas_handle permute(int i)
{
    return wdl_gas_permuteM_nb(team[i], NULL, dst_list[i], NULL, src_list[i], perm + first[i],
                               BLOCK, FLAGS);
}

static wdl_gas_handle exchangev(int i)
{
    return wdl_gas_exchangev_nb(team[i], dst[i][0], NULL, come, src[i][0], NULL, lengths, FLAGS);
}

static wdl_gas_handle gather_allv(int i)
{
    come[i] = BLOCK;
    return wdl_gas_gather_allv_nb(team[i], dst[i][0], NULL, src[i][0], come, FLAGS);
}

static wdl_gas_handle scatterv(int i)
{
    return wdl_gas_scatterv_nb(team[i], dst[i][0], 0, src[i][0], NULL, lengths, FLAGS);
}

static wdl_gas_handle put_or_get(int i, int gets)
{
    struct wdl_gas_put call = {.gets = gets,
                               .many = 1,
                               .nodes = all_nodes,
                               .dst_list = gets ? here[i] : there,
                               .src_list = gets ? there : here[i],
                               .count = NODES,
                               .partners = all_nodes,
                               .partner_count = NODES,
                               .nbytes = BLOCK};
    return wdl_gas_put_nb(team[i], &call, FLAGS);
}

static wdl_gas_handle put(int i)
{
    return put_or_get(i, 0);
}

static wdl_gas_handle get(int i)
{
    return put_or_get(i, 1);
}

static wdl_gas_handle barrier(int i)
{
    return wdl_gas_barrier_nb(team[i]);
}

static wdl_gas_handle agree(int i)
{
    return wdl_gas_agree_nb(team[i], WDL_GAS_NAMED, 5, &agreed[i]);
}

/* Those that go together, and those that go in stages. */
static wdl_gas_handle aggregate(int i)
{
    int flags = FLAGS | WDL_GAS_AGGREGATE;
    for (int k = 0; k < 3; k++)
        (void) wdl_gas_scatter_nb(team[i], dst[i][0], 1, src[i][0], BLOCK, flags);
    (void) wdl_gas_permuteM_nb(team[i], NULL, dst_list[i], NULL, src_list[i], perm + first[i],
                               BLOCK, flags);
    return gather_all(i);
}

static const struct call {
    const char *name;
    wdl_gas_handle (*start)(int i);
} calls[] = {{"broadcast", broadcast},
             {"scatter", scatter},
             {"gather", gather},
             {"gather_all", gather_all},
             {"exchange", exchange},
             {"gather, basic", gather_basic},
             {"reduce", reduce},
             {"reduce everywhere", reduce_everywhere},
             {"scan", scan},
             {"sort", sort},
             {"permute", permute},
             {"exchangev", exchangev},
             {"gather_allv", gather_allv},
             {"scatterv", scatterv},
             {"put", put},
             {"get", get},
             {"barrier", barrier},
             {"agree", agree},
             {"aggregate", aggregate}};

static void progress(void)
{
    for (int i = 0; i < NODES; i++)
        wdl_proc_progress(r.one[i].proc);
    wdl_sim_advance(r.sim, 1);
}

/* One node is ahead of the others. */
static void together(const struct call *call, int count, int ahead)
{
    enum wdl_gas_error error;
    int left = NODES * count;
    for (int n = 0; n < NODES; n++) {
        int i = (n + ahead) % NODES;
        for (int k = 0; k < count; k++)
            handles[i * count + k] = call->start(i);
        for (int turn = 0; turn < 100 && n == 0; turn++)
            progress();
    }
    for (int turn = 0; left > 0; turn++) {
        if (turn == 100000)
            ck_abort_msg("%s: %d hang", call->name, left);
        progress();
        while (left > 0 && wdl_gas_try_sync(handles[left - 1], &error)) {
            must_cmp(error, ==, WDL_GAS_FINE);
            left--;
        }
    }
    for (int turn = 0; turn < 100; turn++) /* whose handles are done may not be over */
        progress();
}

static uint64_t allocations(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < NODES; i++)
        sum += r.one[i].host.allocations;
    return sum;
}

/* How many are under way at once differs from time to time, as many as can be on a node that waits
 * for the others, and the most of them may come late: but then there is nothing, as often as all
 * have been ahead. */
static void nothing_again(const struct call *call, int count, int times)
{
    for (int before = 0; before < times; before++)
        together(call, count, before % NODES);
    for (int again = 0, quiet = 0; quiet < times; again++) {
        uint64_t before = allocations();
        together(call, count, again % NODES);
        int more = (int) (allocations() - before);
        quiet = more ? 0 : quiet + 1;
        if (more && again >= 2 * times)
            ck_abort_msg("%s, %d at a time: %d allocations", call->name, count, more);
    }
}

/* By the seed: ranks share no node, one, or one in pairs. */
static void open_world(int where)
{
    static const uint64_t seeds[] = {4, 1, 3};
    struct wdl_sim_params sim = {
        .seed = seeds[where], .ranks = NODES, .ordered = 1, .rma_needs_target = 1};
    gasnet_open(&sim, 0);
    gasnet_lists(1, FLAGS);
    for (size_t u = 0; u < first[NODES]; u++)
        perm[u] = (uint32_t) ((u + 3) % first[NODES]);
    for (int i = 0; i < NODES; i++) {
        all_nodes[i] = (uint32_t) i;
        lengths[i] = come[i] = BLOCK;
        there[i] = dst[i][0];
        for (int k = 0; k < NODES; k++)
            here[i][k] = src[i][0] + k * BLOCK;
    }
    handles = calloc((size_t) NODES * QUEUED, sizeof(handles[0]));
}

static void close_world(void)
{
    gasnet_close();
    free(handles);
}

START_TEST(nothing_for_as_many_as_there_were)
{
    for (int where = 0; where < 3; where++) {
        open_world(where);
        for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++)
            nothing_again(&calls[c], MANY, 2 * NODES);
        close_world();
    }
}
END_TEST

START_TEST(nothing_for_what_is_queued)
{
    for (int where = 0; where < 3; where++) {
        open_world(where);
        nothing_again(&(struct call){"gather, basic", gather_basic}, QUEUED, 1);
        nothing_again(&(struct call){"reduce", reduce}, QUEUED / 64, 2 * NODES);
        close_world();
    }
}
END_TEST

WDL_SUITE("cost/gasnet_pools", nothing_for_as_many_as_there_were, nothing_for_what_is_queued)
