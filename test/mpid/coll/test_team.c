/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Teams: many collectives outstanding, memory, credit, what is asked wrongly, bytes from the wire.
 */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/coll_impl.h"
#include "mpid/coll/ranks.h"
#include "support/suite.h"

enum { OUTSTANDING = 65535, RANKS_MAX = 8, FIRST = 77 };

static struct ranks r;
static struct wdl_team *teams[RANKS_MAX];

static void open_world(int n, int ordered)
{
    struct wdl_sim_params sim = {.seed = 9, .ranks = n, .ordered = ordered, .am_bytes_max = 1024};
    struct wdl_team_params team = {.id = 3, .first_seq = FIRST};
    ranks_open(&r, &sim);
    ranks_team(&r, &team, teams);
}

static void close_world(void)
{
    ranks_drop(&r, teams);
    ranks_close(&r);
}

static struct wdl_coll_args broadcast(void *memory, size_t bytes)
{
    return (struct wdl_coll_args){.kind = WDL_COLL_BROADCAST,
                                  .flags = WDL_COLL_MPI,
                                  .src = memory,
                                  .dst = memory,
                                  .bytes = bytes};
}

static void outstanding(enum wdl_coll_kind kind, int n)
{
    struct wdl_coll_req *reqs = calloc((size_t) n * OUTSTANDING, sizeof(*reqs));
    uint32_t *memory = calloc((size_t) n * OUTSTANDING, 4);
    open_world(n, 1);
    /* one rank after the other, so that each but the last has all of them outstanding */
    for (int i = 0; i < n; i++)
        for (int k = 0; k < OUTSTANDING; k++) {
            uint32_t *word = &memory[(size_t) i * OUTSTANDING + (size_t) k];
            struct wdl_coll_args args = broadcast(word, 4);
            args.kind = kind;
            args.op = (struct wdl_coll_op){ranks_sum, NULL, 4, 1, NULL};
            *word = (uint32_t) (i == 0 ? k * 3 + 1 : kind == WDL_COLL_ALLREDUCE);
            struct wdl_coll_req *req = &reqs[(size_t) i * OUTSTANDING + (size_t) k];
            ck_assert_int_eq(wdl_coll_start(teams[i], &args, req), WDL_OK);
        }
    ck_assert_uint_eq(wdl_coll_stats(r.one[n - 1].proc)->live, OUTSTANDING);
    ranks_finish(&r, reqs, OUTSTANDING);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < OUTSTANDING; k++)
            ck_assert_uint_eq(memory[(size_t) i * OUTSTANDING + (size_t) k],
                              (uint32_t) (k * 3 + 1 + (kind == WDL_COLL_ALLREDUCE ? n - 1 : 0)));
    close_world();
    free(memory);
    free(reqs);
}

START_TEST(sixty_five_thousand_may_be_outstanding)
{
    outstanding(WDL_COLL_BROADCAST, 3);
    outstanding(WDL_COLL_ALLREDUCE, 4);
}
END_TEST

/* One-directional traffic pays 2(n - 1) flags of credit with every 23 collectives (3W/8 - 1). */
START_TEST(credit_is_cheap)
{
    enum { N = 2400 };
    for (int n = 2; n <= RANKS_MAX; n++) {
        struct wdl_coll_req *reqs = calloc((size_t) n * N, sizeof(*reqs));
        char *memory = calloc((size_t) n, 8);
        open_world(n, 0);
        for (int i = 0; i < n; i++)
            for (int k = 0; k < N; k++) {
                struct wdl_coll_args args = broadcast(memory + 8 * i, 8);
                struct wdl_coll_req *req = &reqs[i * N + k];
                ck_assert_int_eq(wdl_coll_start(teams[i], &args, req), WDL_OK);
            }
        ranks_finish(&r, reqs, N);
        for (int i = 0; i < n; i++) /* credit goes when all before it is finished */
            while (wdl_coll_stats(r.one[i].proc)->running > 0)
                ranks_step(&r);
        /* the first collective, which comes with the making of the team */
        uint64_t sent = ranks_stats(&r).sent - (uint64_t) (n * ranks_spread_steps(n));
        uint64_t credit = sent - (uint64_t) ((n - 1) * N);
        ck_assert_uint_ge(credit, (uint64_t) (2 * (n - 1) * (N / 23 - 1)));
        ck_assert_uint_le(credit, (uint64_t) (2 * (n - 1) * (N / 23)));
        close_world();
        free(memory);
        free(reqs);
    }
}
END_TEST

START_TEST(nothing_is_allocated_once_a_shape_is_known)
{
    struct wdl_coll_req reqs[4] = {{0}};
    char memory[4][4096];
    open_world(4, 1);
    memset(memory, 0, sizeof(memory));
    for (int k = 0; k < 300; k++) {
        for (int i = 0; i < 4; i++) {
            struct wdl_coll_args args = broadcast(memory[i], 4096);
            args.kind = k % 2 ? WDL_COLL_ALLREDUCE : WDL_COLL_BROADCAST;
            args.op = (struct wdl_coll_op){ranks_sum, NULL, 4, 1, NULL};
            ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
        }
        ranks_finish(&r, reqs, 1);
        for (int i = 0; i < 4; i++) {
            ck_assert_int_eq(reqs[i].status, WDL_OK);
            if (k == 150) /* from now on every allocation fails */
                r.one[i].host.fail_after = 1;
        }
    }
    for (int i = 0; i < 4; i++)
        r.one[i].host.fail_after = 0;
    close_world();
}
END_TEST

static size_t bytes_beside_pools(int rank)
{
    return r.one[rank].host.bytes - wdl_coll_stats(r.one[rank].proc)->memory;
}

static void more_than_pools_have(struct wdl_build *b)
{
    (void) wdl_build_tmp(b, 1 << 20);
    wdl_build_user(b, wdl_build_join(b));
}

START_TEST(memory_that_runs_out_is_an_error_and_leaks_nothing)
{
    struct wdl_sim_params sim = {.seed = 9, .ranks = 2, .ordered = 1};
    struct wdl_team *team;
    ranks_open(&r, &sim);
    size_t before = bytes_beside_pools(0);
    for (int k = 1;; k++) {
        struct wdl_team_params params = {.id = 3, .size = 1, .peer_of = NULL};
        r.one[0].host.fail_after = k;
        int status = wdl_team_create(r.one[0].proc, &params, &team);
        r.one[0].host.fail_after = 0;
        if (status == WDL_OK)
            break;
        ck_assert_int_eq(status, WDL_ERR_NOMEM);
        ck_assert_ptr_null(team);
        ck_assert_uint_eq(bytes_beside_pools(0), before);
        ck_assert_uint_eq(wdl_coll_stats(r.one[0].proc)->memory_used, 0);
    }
    struct wdl_coll_req req = {0};
    struct wdl_coll_args args = {.kind = WDL_COLL_CUSTOM,
                                 .flags = WDL_COLL_MPI,
                                 .build = more_than_pools_have};
    r.one[0].host.fail_after = 1;
    ck_assert_int_eq(wdl_coll_start(team, &args, &req), WDL_OK);
    ck_assert_int_eq(req.done, 1);
    ck_assert_int_eq(req.status, WDL_ERR_NOMEM);
    ck_assert_int_eq(wdl_coll_start(team, &args, &req), WDL_ERR_NOMEM);
    r.one[0].host.fail_after = 0;
    ck_assert_int_eq(wdl_team_destroy(team), WDL_OK);
    ranks_close(&r);
}
END_TEST

START_TEST(what_is_asked_wrongly_is_refused)
{
    struct wdl_coll_req req = {0};
    char word[8];
    struct wdl_coll_args good = broadcast(word, 8), args;
    open_world(2, 1);
    args = good;
    args.root = 2;
    ck_assert_int_eq(wdl_coll_start(teams[0], &args, &req), WDL_ERR_RANK);
    args.root = -1;
    ck_assert_int_eq(wdl_coll_start(teams[0], &args, &req), WDL_ERR_RANK);
    uint32_t wrong[] = {0,
                        WDL_COLL_IN_MYSYNC | WDL_COLL_LOCAL,
                        WDL_COLL_OUT_MYSYNC | WDL_COLL_LOCAL,
                        WDL_COLL_MPI | WDL_COLL_SINGLE,
                        WDL_COLL_MPI & ~(uint32_t) WDL_COLL_LOCAL,
                        WDL_COLL_MPI | WDL_COLL_IN_NOSYNC,
                        WDL_COLL_MPI | WDL_COLL_OUT_NOSYNC};
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        args = good;
        args.flags = wrong[i];
        ck_assert_int_eq(wdl_coll_start(teams[0], &args, &req), WDL_ERR_ARG);
    }
    args = good;
    args.kind = WDL_COLL_REDUCE;
    ck_assert_int_eq(wdl_coll_start(teams[0], &args, &req), WDL_ERR_OP);
    args.op = (struct wdl_coll_op){ranks_sum, NULL, 3, 1, NULL};
    ck_assert_int_eq(wdl_coll_start(teams[0], &args, &req), WDL_ERR_ARG);
    args = good;
    args.algorithm = "no such row";
    ck_assert_int_eq(wdl_coll_start(teams[0], &args, &req), WDL_ERR_ARG);
    args.kind = WDL_COLL_KIND_COUNT;
    ck_assert_int_eq(wdl_coll_start(teams[0], &args, &req), WDL_ERR_ARG);
    close_world();
}
END_TEST

/* Rank 1 sends rank 0 a packet of its own making, with the team's stamp where that belongs; rank 0
 * counts it as malformed, or does not. */
static int refused(struct wdl_coll_pkt pkt, size_t bytes)
{
    char data[512] = "";
    if ((pkt.what & ((1u << WDL_PKT_BITS) - 1)) >= WDL_PKT_ASK)
        memcpy(data, &teams[0]->stamp, sizeof(teams[0]->stamp));
    uint64_t before = r.one[0].proc->stats.malformed;
    ck_assert_int_eq(
        wdl_am_send(r.one[1].proc, 0, WDL_AM_COLL, &pkt, sizeof(pkt), data, bytes, NULL), WDL_OK);
    for (int i = 0; i < 10; i++)
        wdl_proc_progress(r.one[0].proc);
    return r.one[0].proc->stats.malformed != before;
}

START_TEST(bytes_from_the_wire_are_checked)
{
    struct wdl_coll_req reqs[3] = {0};
    char word[3][8] = {"", "seven", ""};
    open_world(3, 1);
    struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER};
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(wdl_coll_start(teams[i], &barrier, &reqs[i]), WDL_OK);
    ranks_finish(&r, reqs, 1);
    uint32_t next = FIRST + 2, print;
    ck_assert(refused((struct wdl_coll_pkt){4, next, 0, 0, 0}, 7)); /* no cards for no team */
    ck_assert(refused((struct wdl_coll_pkt){3, next - 1, 0, 0, 0}, 8)); /* what is over */
    ck_assert(refused((struct wdl_coll_pkt){3, next + 64, 0, 0, 0}, 8));
    ck_assert(refused((struct wdl_coll_pkt){3, next, 1u << 31, 0, 0}, 0));
    ck_assert(refused((struct wdl_coll_pkt){3, next, 0, 0, 0}, 300)); /* longer than a cell */
    ck_assert(refused((struct wdl_coll_pkt){3, next, 0, 0, 8}, 8)); /* not whole */
    ck_assert(!refused((struct wdl_coll_pkt){3, next + 1, 0, 0, 0}, 8));
    ck_assert(refused((struct wdl_coll_pkt){3, next + 1, 0, 0, 0}, 8)); /* twice */
    /* rank 0 awaits its parent 1 at role 0: wrong lengths and places are refused, what is right
     * comes */
    struct wdl_coll_args args = broadcast(word[0], 8);
    args.root = 1;
    reqs[0].done = 0;
    ck_assert_int_eq(wdl_coll_start(teams[0], &args, &reqs[0]), WDL_OK);
    print = teams[0]->prints[next % (uint32_t) teams[0]->numbers] << WDL_PKT_BITS;
    ck_assert(refused((struct wdl_coll_pkt){3, next, 0, print, 0}, 7));
    ck_assert(refused((struct wdl_coll_pkt){3, next, 0, print, 1}, 8));
    ck_assert(refused((struct wdl_coll_pkt){3, next, 0, print, UINT64_MAX}, 8));
    ck_assert(refused((struct wdl_coll_pkt){3, next, 1, print, 0}, 8)); /* no such role here */
    ck_assert(refused((struct wdl_coll_pkt){3, next, 0, print | WDL_PKT_OFFER, 0}, 7));
    ck_assert(refused((struct wdl_coll_pkt){3, next, 2, print | WDL_PKT_FAIL, 0}, 16)); /* not 1 */
    ck_assert(refused((struct wdl_coll_pkt){3, next, 3, print | WDL_PKT_OUT, 0}, 16));
    ck_assert(refused((struct wdl_coll_pkt){3, next + 64, 1, print | WDL_PKT_OUT, 0}, 16));
    ck_assert(refused((struct wdl_coll_pkt){3, next, 1, print | WDL_PKT_OVER, 0}, 16));
    for (uint32_t what = WDL_PKT_ASK; what <= WDL_PKT_OUT; what++) /* no stamp and call */
        for (size_t bytes = 0; bytes <= 24; bytes += 8)
            if (bytes != 16)
                ck_assert(refused((struct wdl_coll_pkt){3, next, 1, print | what, 0}, bytes));
    ck_assert_int_eq(reqs[0].done, 0);
    for (int i = 1; i < 3; i++) {
        args.src = args.dst = word[i];
        ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
    }
    ranks_finish(&r, reqs, 1);
    ck_assert_str_eq(word[0], "seven");
    ck_assert_str_eq(word[2], "seven");
    r.one[0].proc->stats.malformed = 0;
    close_world();
}
END_TEST

WDL_SUITE("mpid/coll/team", sixty_five_thousand_may_be_outstanding, credit_is_cheap,
          nothing_is_allocated_once_a_shape_is_known,
          memory_that_runs_out_is_an_error_and_leaks_nothing, what_is_asked_wrongly_is_refused,
          bytes_from_the_wire_are_checked)
