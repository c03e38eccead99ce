/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Graphs in which each partner is served by itself: any number of blocks between two nodes, of
 * which only one knows how many; and nodes that do not agree how long they are. (test_gasnet_sync
 * has whom they wait for, test/cost/test_gasnet what they send, test_gasnet_put lists at random.)
 */
#include <string.h>
#include "mpid/coll/gasnet_ranks.h"
#include "support/must.h"
#include "support/suite.h"

enum { BLOCKS_MAX = 300, WORD = 8, SYNC = WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_MYSYNC };

/* Each goes to the next node, and to the one behind that with one block more. */
static size_t blocks, bytes[RANKS_MAX];
static int gets, flags;
static uint32_t nodes[RANKS_MAX][2 * BLOCKS_MAX + 1], partners[RANKS_MAX][2];
static void *here[RANKS_MAX][2 * BLOCKS_MAX + 1], *there[RANKS_MAX][2 * BLOCKS_MAX + 1];

static int host_of(int i, size_t k)
{
    return (i + (k < blocks ? 1 : 2)) % r.n;
}

static void start(int i)
{
    size_t count = 2 * blocks + 1;
    struct wdl_gas_put put = {.gets = gets, .many = 1, .nodes = nodes[i], .count = count};
    for (size_t k = 0; k < count; k++) {
        int host = host_of(i, k);
        nodes[i][k] = (uint32_t) host;
        here[i][k] = (gets ? dst : src)[i][0] + k * WORD;
        there[i][k] = (gets ? src : dst)[host][0] + k * WORD;
    }
    partners[i][0] = (uint32_t) ((i + r.n - 1) % r.n);
    partners[i][1] = (uint32_t) ((i + r.n - 2) % r.n);
    put.partners = partners[i];
    put.partner_count = 2;
    put.dst_list = gets ? here[i] : there[i];
    put.src_list = gets ? there[i] : here[i];
    put.nbytes = bytes[i];
    handle[i] = wdl_gas_put_nb(team[i], &put, flags);
}

static void any_number(void)
{
    static const size_t numbers[] = {1, 2, 4, 5, 6, 30, BLOCKS_MAX};
    if (r.n < 3)
        return;
    blocks = numbers[draw(sizeof(numbers) / sizeof(numbers[0]))];
    gets = (int) draw(2);
    flags = draw_flags(WDL_COLL_LOCAL);
    for (int i = 0; i < r.n; i++) {
        bytes[i] = WORD;
        for (size_t b = 0; b < (2 * blocks + 1) * WORD; b++)
            src[i][0][b] = (char) draw(256);
    }
    gasnet_all(start);
    for (int i = 0; i < r.n; i++)
        for (size_t k = 0; k < 2 * blocks + 1; k++)
            must(memcmp(here[i][k], there[i][k], WORD) == 0);
}

START_TEST(few_ranks)
{
    gasnet_few(any_number);
}
END_TEST

START_TEST(more_ranks_than_links)
{
    gasnet_many(any_number);
}
END_TEST

/* Whoever believes in another length: no put writes where it may not, and nobody waits for ever. */
START_TEST(lengths_that_do_not_fit)
{
    enum { N = 4, STEPS_MAX = 1000000 };
    for (uint64_t seed = 1; seed <= 4; seed++) /* by messages; on a node; on several */
        for (int k = 0; k < 8; k++) {
            struct wdl_sim_params sim = {
                .seed = seed, .ranks = N, .ordered = 1, .am_bytes_max = 1024};
            int seen = 0;
            gasnet_open(&sim, 1);
            gets = k & 1;
            flags = SYNC | WDL_COLL_LOCAL;
            blocks = k & 2 ? 1 : 30;
            for (int i = 0; i < N; i++)
                bytes[i] = i == 1 ? (k & 4 ? 2 * WORD : WORD / 2) : WORD;
            for (int i = 0; i < N; i++)
                start(i);
            for (int i = 0, steps = 0; i < N; i++) {
                enum wdl_gas_error error;
                for (; !wdl_gas_try_sync(handle[i], &error); steps++) {
                    must_cmp(steps, <, STEPS_MAX);
                    ranks_step(&r);
                }
                handle[i] = NULL;
                seen += error == WDL_GAS_ERR_MISMATCH;
            }
            must(seen > 0 || gets); /* who fetches within a node asks nobody */
            gasnet_close();
        }
}
END_TEST

WDL_SUITE("coll/gasnet_pair", few_ranks, more_ranks_than_links, lengths_that_do_not_fit)
