/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Scans of one node: prefixes in order, in place and not, with and without the own operand; who
 * waits for whom; how far ahead one may be.
 */
#include <string.h>
#include "mpid/coll/fail.h"
#include "mpid/coll/onenode.h"
#include "support/must.h"
#include "support/suite.h"

static const size_t lengths[] = {
    4,           112, 116, ONENODE_BOARD / 2 - 16, ONENODE_BOARD, ONENODE_BOARD + 4, ONENODE_LONG,
    ONENODE_ROOM};
static struct onenode o;

static void prefixes(uint32_t flags, size_t bytes, struct wdl_coll_op op)
{
    static char want[ONENODE_MAX][ONENODE_ROOM];
    onenode_fill(&o);
    for (int i = 0; i < o.r.n; i++) {
        char *const *from = o.kept;
        int last = flags & WDL_COLL_EXCLUSIVE ? i - 1 : i;
        if (last < 0)
            continue;
        memcpy(want[i], from[last], bytes);
        for (int k = last - 1; k >= 0; k--)
            op.fn(op.ctx, from[k], want[i], bytes / 4);
    }
    onenode_all(&o, &(struct wdl_coll_args){
                        .kind = WDL_COLL_SCAN, .flags = flags, .bytes = bytes, .op = op});
    for (int i = flags & WDL_COLL_EXCLUSIVE ? 1 : 0; i < o.r.n; i++)
        must(memcmp(o.dst[i], want[i], bytes) == 0);
}

START_TEST(every_rank_has_its_prefix)
{
    for (int way = 0; way < 3; way++)
        for (int n = 2; n <= ONENODE_MAX; n++) {
            onenode_open(&o, n, way > 0, way > 1 ? 65536 : 0);
            for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
                for (int k = 0; k < 16; k++) {
                    uint32_t flags =
                        (k & 2 ? WDL_COLL_EXCLUSIVE : 0) | (k & 8 ? WDL_COLL_LEAVES : 0);
                    o.in_place = k & 1;
                    if (way || lengths[l] <= ONENODE_BOARD)
                        prefixes(flags, lengths[l], k & 4 ? graphs_sum() : graphs_compose());
                }
            onenode_close(&o);
        }
}
END_TEST

static const struct wdl_coll_shm *shared;
static size_t peeked;
static int peeks;

static int counted(void *ctx, int rank, const void *there, void *here, size_t bytes)
{
    peeks++;
    peeked += bytes;
    return shared->peek(ctx, rank, there, here, bytes);
}

/* What one rank fetches does not grow with the ranks below it: their prefix, and once. Rank 1's
 * result without its own operand is rank 0's, and comes in one piece. */
START_TEST(one_prefix_is_fetched)
{
    for (int n = 2; n <= ONENODE_MAX; n++)
        for (int who = 0; who < n; who++)
            for (int k = 0; k < 4; k++) {
                onenode_open(&o, n, 1, 65536);
                o.in_place = k & 1;
                shared = o.teams[who]->params.shm;
                struct wdl_coll_shm counting = *shared;
                counting.peek = counted;
                o.teams[who]->params.shm = &counting;
                peeked = 0;
                peeks = 0;
                prefixes(k & 2 ? WDL_COLL_EXCLUSIVE : 0, ONENODE_ROOM, graphs_compose());
                must_cmp(peeked, ==, who ? ONENODE_ROOM : 0);
                if (n == 2 && who == 1 && k & 2) /* rank 0's operand */
                    must_cmp(peeks, ==, 1);
                o.teams[who]->params.shm = shared;
                onenode_close(&o);
            }
}
END_TEST

/* Ranks below a late one go on, those above wait; but of what is neither on a board nor staged, the
 * one below it has what the late one is to fetch, and waits, unless it leaves. */
static void late_ranks(uint32_t flags, size_t staging)
{
    enum { N = 6 };
    onenode_open(&o, N, 1, staging);
    for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
        for (int late = 0; late < N; late++) {
            struct wdl_coll_args args = {
                .kind = WDL_COLL_SCAN, .flags = flags, .bytes = lengths[l], .op = graphs_compose()};
            onenode_fill(&o);
            for (int i = 0; i < N; i++)
                if (i != late)
                    onenode_begin(&o, i, &args);
            o.reqs[late].done = 0;
            onenode_settle(&o);
            int fetched =
                lengths[l] > (staging ? staging / 2 : ONENODE_BOARD) && !(flags & WDL_COLL_LEAVES);
            for (int i = 0; i < N; i++)
                must_cmp(o.reqs[i].done, ==, i < late - fetched);
            onenode_begin(&o, late, &args);
            ranks_finish(&o.r, o.reqs, 1);
        }
    onenode_close(&o);
}

START_TEST(a_late_rank_delays_those_above)
{
    for (int leaves = 0; leaves < 2; leaves++)
        for (size_t staging = 0; staging <= 65536; staging += 65536)
            late_ranks(leaves ? WDL_COLL_LEAVES : 0, staging);
}
END_TEST

/* Somebody has said that it fails, while a rank has room for its prefix: that is given back
 * (onenode_close). */
START_TEST(what_fails_keeps_no_room)
{
    enum { N = 3, TURNS = 100 };
    struct wdl_coll_args args = {.kind = WDL_COLL_SCAN,
                                 .flags = WDL_COLL_EXCLUSIVE,
                                 .bytes = ONENODE_LONG,
                                 .op = graphs_compose()};
    onenode_open(&o, N, 1, 0);
    onenode_fill(&o);
    for (int i = 0; i < N - 1; i++)
        onenode_begin(&o, i, &args);
    onenode_settle(&o);
    struct wdl_run *run = wdl_container_of(o.teams[1]->running.next, struct wdl_run, link);
    must(run->apart != NULL);
    wdl_run_fail(run);
    onenode_begin(&o, N - 1, &args);
    for (int turn = 0; turn < TURNS; turn++) {
        onenode_settle(&o);
        ranks_doubt(&o.r, turn % N);
    }
    for (int i = 0; i < N; i++)
        must_cmp(o.reqs[i].done, ==, 1);
    must_cmp(o.reqs[1].status, ==, WDL_ERR_TRUNCATE);
    onenode_close(&o);
}
END_TEST

WDL_SUITE("coll/node_scan", every_rank_has_its_prefix, one_prefix_is_fetched,
          a_late_rank_delays_those_above, what_fails_keeps_no_room)
