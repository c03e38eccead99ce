/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of coll/wins: who carries out a
 * call that has another way. */
#include "mpid/coll/coll_impl.h"
#include "mpid/coll/ranks.h"
#include "support/suite.h"

enum { K = 1024, BOARD = 8192 };

static struct ranks r;

static void open_rank(void)
{
    struct wdl_sim_params sim = {.seed = 5, .ranks = 1, .ordered = 1, .am_bytes_max = 1024};
    ranks_open(&r, &sim);
}

/* Between so many nodes. */
static int wins(const struct wdl_coll_call *call, int nodes)
{
    struct wdl_coll_site site = {.nodes = nodes, .board_bytes = BOARD, .fetches = 1};
    wdl_coll_site_set(r.one[0].proc, &site);
    return wdl_coll_wins(r.one[0].proc, call);
}

/* What was measured of blocking calls: on two nodes with 2, 4 and 8 ranks the engine wins or not,
 * at either end of its lengths and beyond. */
START_TEST(blocking_calls_between_nodes_go_where_it_was_measured)
{
    static const struct {
        enum wdl_coll_kind kind;
        size_t bytes;
        int wins[3]; /* of 2, 4, 8 ranks */
    } facts[] = {
        {WDL_COLL_BARRIER, 0, {0, 0, 0}},
        {WDL_COLL_BROADCAST, 8, {0, 0, 0}},
        {WDL_COLL_BROADCAST, 64 * K, {0, 0, 0}},
        {WDL_COLL_REDUCE, 8 * K - 1, {0, 0, 0}},
        {WDL_COLL_REDUCE, 8 * K, {0, 1, 1}},
        {WDL_COLL_REDUCE, 16 * K - 1, {0, 1, 1}},
        {WDL_COLL_REDUCE, 16 * K, {1, 1, 1}},
        {WDL_COLL_REDUCE, 32 * K, {1, 1, 1}},
        {WDL_COLL_REDUCE, 128 * K, {1, 1, 1}},
        {WDL_COLL_REDUCE, 128 * K + 1, {1, 1, 1}},
        {WDL_COLL_REDUCE, 4096 * K, {1, 1, 1}},
        {WDL_COLL_ALLREDUCE, 8, {0, 1, 1}},
        {WDL_COLL_ALLREDUCE, 127, {0, 1, 1}},
        {WDL_COLL_ALLREDUCE, 128, {0, 1, 1}},
        {WDL_COLL_ALLREDUCE, 2 * K, {0, 1, 1}},
        {WDL_COLL_ALLREDUCE, 4 * K, {0, 1, 1}},
        {WDL_COLL_ALLREDUCE, 8 * K, {0, 1, 1}},
        {WDL_COLL_ALLREDUCE, 16 * K - 1, {0, 1, 1}},
        {WDL_COLL_ALLREDUCE, 16 * K, {1, 1, 1}},
        {WDL_COLL_ALLREDUCE, 32 * K, {1, 1, 1}},
        {WDL_COLL_ALLREDUCE, 128 * K, {1, 1, 1}},
        {WDL_COLL_ALLREDUCE, 128 * K + 1, {0, 0, 0}},
        {WDL_COLL_SCAN, 8, {1, 1, 1}},
        {WDL_COLL_SCAN, 128, {1, 1, 1}},
        {WDL_COLL_SCAN, 129, {1, 1, 1}},
        {WDL_COLL_SCAN, 256, {1, 1, 1}},
        {WDL_COLL_SCAN, 257, {0, 0, 0}},
        {WDL_COLL_SCAN, 16 * K - 1, {0, 0, 0}},
        {WDL_COLL_SCAN, 16 * K, {1, 1, 1}},
        {WDL_COLL_SCAN, 32 * K, {1, 1, 1}},
        {WDL_COLL_SCAN, 256 * K, {1, 1, 1}},
        {WDL_COLL_SCAN, 256 * K + 1, {1, 1, 1}},
        {WDL_COLL_SCAN, 4096 * K, {1, 1, 1}},
        {WDL_COLL_REDUCE_SCATTER, 8, {0, 1, 1}},
        {WDL_COLL_REDUCE_SCATTER, 512, {0, 1, 1}},
        {WDL_COLL_REDUCE_SCATTER, 513, {0, 0, 0}},
        {WDL_COLL_REDUCE_SCATTER, 64 * K, {1, 1, 1}},
        {WDL_COLL_REDUCE_SCATTER, 256 * K, {1, 1, 1}},
        {WDL_COLL_REDUCE_SCATTER, 256 * K + 1, {0, 0, 0}},
        {WDL_COLL_GATHER_ALL, 8, {0, 0, 1}},
        {WDL_COLL_GATHER_ALL, 512, {0, 0, 1}},
        {WDL_COLL_GATHER_ALL, 513, {0, 0, 0}},
        {WDL_COLL_GATHER, 8, {0, 0, 1}},
        {WDL_COLL_GATHER, 32 * K, {0, 0, 1}},
        {WDL_COLL_GATHER, 32 * K + 1, {0, 0, 0}},
        {WDL_COLL_SCATTER, 8, {0, 0, 0}},
        {WDL_COLL_SCATTER, 8 * K, {0, 0, 1}},
        {WDL_COLL_SCATTER, 32 * K, {0, 0, 1}},
        {WDL_COLL_SCATTER, 32 * K + 1, {0, 0, 0}},
        {WDL_COLL_EXCHANGE, 8, {0, 0, 0}},
        {WDL_COLL_EXCHANGE, 2 * K, {0, 0, 0}},
    };
    open_rank();
    for (unsigned i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        for (int k = 0; k < 3; k++) {
            struct wdl_coll_call call = {
                .kind = facts[i].kind, .size = 2 << k, .bytes = facts[i].bytes};
            ck_assert_msg(wins(&call, 2) == facts[i].wins[k], "%s of %zu bytes, %d ranks",
                          wdl_coll_kind_name(call.kind), call.bytes, call.size);
        }
    ranks_close(&r);
}
END_TEST

/* Of those that nobody waits for: where a node has more ranks than one, and where blocking ones
 * go. */
START_TEST(nonblocking_calls_between_nodes_go_where_it_was_measured)
{
    static const struct {
        enum wdl_coll_kind kind;
        size_t bytes;
        int wins[2]; /* of 2 and 4 ranks */
    } facts[] = {
        {WDL_COLL_SCAN, 1, {1, 1}},
        {WDL_COLL_SCAN, 4 * K, {0, 1}},
        {WDL_COLL_SCAN, 16 * K, {1, 1}},
        {WDL_COLL_SCAN, (size_t) K *K * K, {1, 1}},
        {WDL_COLL_REDUCE, 4 * K - 1, {0, 0}},
        {WDL_COLL_REDUCE, 4 * K, {0, 1}},
        {WDL_COLL_REDUCE, 8 * K, {0, 1}},
        {WDL_COLL_REDUCE, 16 * K, {1, 1}},
        {WDL_COLL_REDUCE, (size_t) K *K * K, {1, 1}},
        {WDL_COLL_REDUCE_SCATTER, 512, {0, 1}},
        {WDL_COLL_REDUCE_SCATTER, 64 * K - 1, {0, 0}},
        {WDL_COLL_REDUCE_SCATTER, 64 * K, {1, 1}},
        {WDL_COLL_REDUCE_SCATTER, (size_t) K *K * K, {0, 1}},
        {WDL_COLL_ALLREDUCE, 8, {0, 1}},
        {WDL_COLL_ALLREDUCE, 2 * K, {0, 1}},
        {WDL_COLL_BROADCAST, 8, {0, 0}},
        {WDL_COLL_BARRIER, 0, {0, 0}},
    };
    open_rank();
    for (unsigned i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        for (int k = 0; k < 2; k++) {
            struct wdl_coll_call call = {
                .kind = facts[i].kind, .begun = 1, .size = 2 << k, .bytes = facts[i].bytes};
            ck_assert_msg(wins(&call, 2) == facts[i].wins[k], "%s of %zu bytes, %d ranks",
                          wdl_coll_kind_name(call.kind), call.bytes, call.size);
        }
    ranks_close(&r);
}
END_TEST

/* Only who begins them and does not wait, where a node has more ranks than one. */
START_TEST(blocks_that_vary_between_nodes_go_where_it_was_measured)
{
    open_rank();
    for (int kind = 0; kind < WDL_COLL_CUSTOM; kind++)
        for (int begun = 0; begun < 2; begun++)
            for (int size = 2; size <= 4; size += 2) {
                struct wdl_coll_call call = {
                    .kind = kind, .begun = begun, .variable = 1, .size = size};
                int moves = kind >= WDL_COLL_SCATTER && kind <= WDL_COLL_EXCHANGE;
                ck_assert_int_eq(wins(&call, 2), begun && moves && size > 2);
            }
    ranks_close(&r);
}
END_TEST

/* A node has so many ranks or more only if the team has more than one less on all of the job's. */
START_TEST(ranks_a_node_are_those_of_all_nodes)
{
    open_rank();
    for (int nodes = 1; nodes <= 5; nodes++)
        for (int size = 2; size <= 32; size++) {
            struct wdl_coll_call call = {.kind = WDL_COLL_GATHER, .size = size, .bytes = 8};
            ck_assert_int_eq(wins(&call, nodes), (size + nodes - 1) / nodes >= 4);
        }
    ranks_close(&r);
}
END_TEST

/* What fits the boards, or can be fetched; of many ranks what fits and goes by domains. */
START_TEST(on_a_node_it_takes_what_its_ranks_can_look_at)
{
    static const enum wdl_coll_kind kinds[] = {WDL_COLL_BARRIER, WDL_COLL_ALLREDUCE,
                                               WDL_COLL_SCATTER, WDL_COLL_EXCHANGE};
    open_rank();
    for (int bits = 0; bits < 64; bits++) {
        int shares = bits & 1, fetches = bits >> 1 & 1, domains = bits >> 2 & 1;
        int variable = bits >> 3 & 1, kind = bits >> 4;
        struct wdl_coll_site site = {1, shares ? BOARD : 0, fetches, domains};
        wdl_coll_site_set(r.one[0].proc, &site);
        for (int size = 2; size <= 64; size *= 2)
            for (size_t bytes = 0; bytes <= 2 * BOARD; bytes += 16) {
                size_t shown = kind < 2 ? bytes : bytes * (size_t) size;
                int fits = !variable && shown <= BOARD;
                struct wdl_coll_call call = {.kind = kinds[kind],
                                             .variable = variable,
                                             .size = size,
                                             .on_node = 1,
                                             .bytes = bytes};
                int wanted = size <= 32 ? fits || fetches : fits && fetches && domains;
                ck_assert_int_eq(wdl_coll_wins(r.one[0].proc, &call), shares && wanted);
            }
    }
    ranks_close(&r);
}
END_TEST

START_TEST(what_is_set_counts)
{
    static struct wdl_coll_wins set = {
        .of[WDL_COLL_BARRIER][WDL_COLL_WAITED] = {{3, 0, 0}},
        .of[WDL_COLL_SCAN][WDL_COLL_WAITED] = {{1, 8, 8}, {2, 10, 10}, {3, 12, 12}, {4, 14, 14}}};
    open_rank();
    wdl_coll_wins_set(r.one[0].proc, &set);
    for (int size = 2; size <= 8; size++)
        for (size_t bytes = 0; bytes < 20; bytes++) {
            struct wdl_coll_call barrier = {.kind = WDL_COLL_BARRIER, .size = size};
            struct wdl_coll_call scan = {.kind = WDL_COLL_SCAN, .size = size, .bytes = bytes};
            struct wdl_coll_call reduce = {.kind = WDL_COLL_REDUCE, .size = size, .bytes = 8 * K};
            int row = (size + 1) / 2; /* the longest length that so many ranks a node have */
            ck_assert_int_eq(wins(&barrier, 2), size > 4);
            ck_assert_int_eq(wins(&scan, 2),
                             bytes >= 8 && bytes % 2 == 0 && (int) bytes <= 6 + 2 * row);
            ck_assert_int_eq(wins(&reduce, 2), 0);
        }
    ranks_close(&r);
}
END_TEST

START_TEST(a_kind_and_form_has_room_for_so_many_rows)
{
    struct wdl_coll_wins wins = {.of[WDL_COLL_SCAN][WDL_COLL_BEGUN] = {{0}}};
    struct wdl_coll_win win = {1, 2, 3};
    for (int i = 0; i <= WDL_COLL_WINS_MAX; i++) {
        int status = wdl_wins_add(&wins, WDL_COLL_SCAN, WDL_COLL_BEGUN, &win);
        ck_assert_int_eq(status, i < WDL_COLL_WINS_MAX ? WDL_OK : WDL_ERR_ARG);
    }
    ck_assert_int_eq(wins.of[WDL_COLL_SCAN][WDL_COLL_BEGUN][WDL_COLL_WINS_MAX - 1].least, 2);
    ck_assert_int_eq(wins.of[WDL_COLL_SCAN][WDL_COLL_VARIED][0].a_node, 0);
}
END_TEST

WDL_SUITE("mpid/coll/wins", blocking_calls_between_nodes_go_where_it_was_measured,
          nonblocking_calls_between_nodes_go_where_it_was_measured,
          blocks_that_vary_between_nodes_go_where_it_was_measured,
          ranks_a_node_are_those_of_all_nodes, on_a_node_it_takes_what_its_ranks_can_look_at,
          what_is_set_counts, a_kind_and_form_has_room_for_so_many_rows)
