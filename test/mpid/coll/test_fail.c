/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Ranks that do not mean the same, case by case: who is told, who asks, what it costs where nobody
 * is mistaken. (All cases at random: fail_world.)
 */
#include <string.h>
#include "mpid/coll/fail.h"
#include "mpid/coll/ranks.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS = 4, ROOM = 8192, GUARD = 0x5a };

static struct ranks r;
static struct wdl_team *teams[RANKS];
static struct wdl_coll_req reqs[RANKS];
static char src[RANKS][ROOM], dst[RANKS][ROOM];

static void begin(int i, struct wdl_coll_args args)
{
    args.flags = WDL_COLL_MPI;
    args.src = src[i];
    args.dst = dst[i];
    reqs[i].done = 0;
    ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
}

static void all(struct wdl_coll_args args)
{
    for (int i = 0; i < RANKS; i++)
        begin(i, args);
    ranks_finish(&r, reqs, 1);
    for (int i = 0; i < RANKS; i++)
        must_cmp(reqs[i].status, ==, WDL_OK);
}

static void open_all(void)
{
    struct wdl_sim_params sim = {.seed = 3, .ranks = RANKS, .am_bytes_max = 1024};
    struct wdl_team_params params = {.id = 3};
    ranks_open(&r, &sim);
    ranks_team(&r, &params, teams);
    all((struct wdl_coll_args){.kind = WDL_COLL_BARRIER});
    for (int i = 0; i < RANKS; i++) {
        memset(src[i], 'a' + i, ROOM);
        memset(dst[i], GUARD, ROOM);
    }
}

static uint64_t asked(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < RANKS; i++)
        sum += wdl_coll_stats(r.one[i].proc)->asked;
    return sum;
}

static uint64_t failed(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < RANKS; i++)
        sum += wdl_coll_stats(r.one[i].proc)->failed;
    return sum;
}

/* Long enough for a first question and a second; the clock stands while `doubts` is 0. */
static void wait_for_all(int doubts)
{
    for (int turn = 0; turn < 3000; turn++) {
        int rank = ranks_step(&r);
        if (doubts && turn % 7 == 0)
            ranks_doubt(&r, rank);
    }
}

/* All have ended; what comes behind is right; nothing was written behind a rank's own bounds. */
static void end_well(const size_t *bounds)
{
    for (int i = 0; i < RANKS; i++) {
        must_cmp(reqs[i].done, ==, 1);
        must(reqs[i].status == WDL_OK || reqs[i].status == WDL_ERR_TRUNCATE);
        for (size_t k = bounds[i]; k < ROOM; k++)
            must_cmp(dst[i][k], ==, GUARD);
    }
    all((struct wdl_coll_args){.kind = WDL_COLL_BROADCAST, .root = 1, .bytes = 100});
    for (int i = 0; i < RANKS; i++)
        must(memcmp(dst[i], src[1], 100) == 0);
    for (int i = 0; i < RANKS; i++)
        r.one[i].proc->stats.malformed = 0; /* what came for who had ended */
    ranks_drop(&r, teams);
    ranks_close(&r);
}

/* Data says what its sender means: who gets it knows, without a question. */
START_TEST(another_length_is_seen_where_the_data_comes)
{
    static const size_t lengths[][2] = {{8, 16}, {16, 8}, {8, 3000}, {3000, 8}, {3000, 2000}};
    for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
        for (int odd = 1; odd < RANKS; odd++) {
            size_t bounds[RANKS];
            int doubts = lengths[l][0] > 1000 || lengths[l][1] > 1000; /* one waits for leave */
            open_all();
            for (int i = 0; i < RANKS; i++) {
                bounds[i] = lengths[l][i == odd];
                begin(i, (struct wdl_coll_args){.kind = WDL_COLL_BROADCAST, .bytes = bounds[i]});
            }
            wait_for_all(doubts);
            must_cmp(reqs[odd].status, ==, WDL_ERR_TRUNCATE);
            must_cmp(failed(), >, 0);
            if (!doubts)
                must_cmp(asked(), ==, 0);
            end_well(bounds);
        }
}
END_TEST

/* Each waits for the other, and nothing crosses: who has waited long asks. */
START_TEST(another_root_is_found_by_asking)
{
    static const size_t none[RANKS] = {8, 8, 8, 8};
    open_all();
    for (int i = 0; i < RANKS; i++) /* nobody is its own root's root */
        begin(i, (struct wdl_coll_args){
                     .kind = WDL_COLL_BROADCAST, .root = (i + 1) % RANKS, .bytes = 8});
    wait_for_all(0);
    int ended = 0;
    for (int i = 0; i < RANKS; i++)
        ended += reqs[i].done;
    must_cmp(ended, <, RANKS);
    must_cmp(asked(), ==, 0);
    wait_for_all(1);
    must_cmp(asked(), >, 0);
    end_well(none);
}
END_TEST

START_TEST(another_operation)
{
    static const size_t room[RANKS] = {32, 32, 32, 32};
    open_all();
    for (int i = 0; i < RANKS; i++)
        begin(i, (struct wdl_coll_args){
                     .kind = i == 2 ? WDL_COLL_EXCHANGE : WDL_COLL_GATHER_ALL, .bytes = 8});
    wait_for_all(1);
    must_cmp(reqs[2].status, ==, WDL_ERR_TRUNCATE);
    end_well(room);
}
END_TEST

/* Who comes late is asked for, and is no mistake. */
START_TEST(who_is_late_is_not_mistaken)
{
    for (int late = 0; late < RANKS; late++) {
        open_all();
        struct wdl_coll_args args = {.kind = WDL_COLL_GATHER_ALL, .bytes = 600};
        for (int i = 0; i < RANKS; i++)
            if (i != late)
                begin(i, args);
        wait_for_all(1);
        must_cmp(asked(), >, 0);
        must_cmp(failed(), ==, 0);
        begin(late, args);
        ranks_finish(&r, reqs, 1);
        for (int i = 0; i < RANKS; i++) {
            must_cmp(reqs[i].status, ==, WDL_OK);
            for (int k = 0; k < RANKS; k++)
                must(memcmp(dst[i] + 600 * k, src[k], 600) == 0);
        }
        ranks_drop(&r, teams);
        ranks_close(&r);
    }
}
END_TEST

/* Questions cost nothing where all come in time: as many messages as without doubts. */
START_TEST(no_mistake_no_message)
{
    uint64_t sent[2];
    for (int doubts = 0; doubts < 2; doubts++) {
        open_all();
        uint64_t before = wdl_sim_counts(r.sim)->sent;
        for (int round = 0; round < 50; round++) {
            for (int i = 0; i < RANKS; i++) {
                begin(i, (struct wdl_coll_args){.kind = WDL_COLL_ALLREDUCE,
                                                .bytes = 8,
                                                .op = {.fn = ranks_sum,
                                                       .elem_bytes = 4,
                                                       .commutes = WDL_COLL_EXACT}});
                if (doubts)
                    ranks_doubt(&r, i);
            }
            ranks_finish(&r, reqs, 1);
        }
        sent[doubts] = wdl_sim_counts(r.sim)->sent - before;
        must_cmp(asked(), ==, 0);
        ranks_drop(&r, teams);
        ranks_close(&r);
    }
    must_cmp(sent[0], ==, sent[1]);
}
END_TEST

/* On a node all but the root of a broadcast wait for all. The root is far ahead and has ended its
 * team by then: it still says what it meant, so that they hear of it who wait for each other, too.
 */
START_TEST(whose_team_is_gone_says_what_it_meant)
{
    enum { BEHIND = 40 };
    static struct wdl_coll_req behind[BEHIND];
    struct wdl_sim_params sim = {.seed = 3, .ranks = RANKS, .am_bytes_max = 1024};
    struct wdl_team_params params = {.id = 3, .board_bytes = 256};
    struct wdl_coll_args args = {.kind = WDL_COLL_BROADCAST, .bytes = 8};
    ranks_open(&r, &sim);
    ranks_team_nodes(&r, &params, RANKS, 1, teams);
    all((struct wdl_coll_args){.kind = WDL_COLL_BARRIER});
    for (int i = RANKS - 1; i >= 0; i--) {
        args.src = src[i];
        args.dst = dst[i];
        args.flags = i ? WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_ALLSYNC | WDL_COLL_LOCAL : WDL_COLL_MPI;
        reqs[i].done = 0;
        must_cmp(wdl_coll_start(teams[i], &args, &reqs[i]), ==, WDL_OK);
    }
    for (int k = 0; k < BEHIND; k++)
        must_cmp(wdl_coll_start(teams[0], &args, &behind[k]), ==, WDL_OK);
    wait_for_all(0);
    must_cmp(reqs[0].done, ==, 1);
    must_cmp(behind[BEHIND - 1].done, ==, 1);
    must_cmp(wdl_team_destroy(teams[0]), ==, WDL_OK);
    wait_for_all(1);
    for (int i = 1; i < RANKS; i++) {
        must_cmp(reqs[i].done, ==, 1);
        must_cmp(reqs[i].status, ==, WDL_ERR_TRUNCATE);
        while (wdl_team_destroy(teams[i]) == WDL_AGAIN)
            ranks_step(&r);
    }
    ranks_close(&r);
}
END_TEST

/* --- a team whose id another one has by now --- */

/* The old team has ranks 0 to 2, on a node. Rank 1 has ended it, and is in a new one with rank 3:
 * in its first collective, which ranks have told cards in or not, in its third, or behind that; it
 * has ended that; and has made one more. */
enum { OLD = 3, NEW = 2 };
enum far { FIRST, THIRD, BEHIND, ENDED, ANOTHER, WAYS };
static struct wdl_team *fresh[NEW];
static struct wdl_coll_req newer[NEW];
static int new_ranks[NEW] = {1, 3};

static int new_peer(void *ctx, int rank)
{
    return ((const int *) ctx)[rank];
}

static void opened(void *ctx, const uint64_t *cards)
{
    const struct ranks *all = ctx;
    must_cmp(all->n, ==, RANKS);
    must_cmp(cards[0], ==, 64);
}

static void steps_until(const struct wdl_coll_req *req)
{
    for (int turn = 0; turn < 3000 && !req->done; turn++)
        ranks_step(&r);
    must_cmp(req->done, ==, 1);
    must_cmp(req->status, ==, WDL_OK);
}

static void end(struct wdl_team *team)
{
    int tries = 0;
    while (wdl_team_destroy(team) == WDL_AGAIN && tries++ < 3000)
        ranks_step(&r);
    must_cmp(tries, <, 3000);
}

static void old_make(int cards)
{
    struct wdl_sim_params sim = {.seed = 3, .ranks = RANKS, .am_bytes_max = 1024};
    struct wdl_team_params params = {.id = 3, .board_bytes = 256};
    struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER};
    ranks_open(&r, &sim);
    ranks_nodes(&r, &params, RANKS, 1);
    params.size = OLD;
    params.opened = cards ? opened : NULL;
    for (int i = 0; i < OLD; i++) {
        params.rank = i;
        params.card = 64 + (uint64_t) i;
        params.shm = &r.one[i].shm;
        must_cmp(wdl_team_create(r.one[i].proc, &params, &teams[i]), ==, WDL_OK);
    }
    for (int i = 0; i < OLD; i++)
        begin(i, barrier);
    for (int i = 0; i < OLD; i++)
        steps_until(&reqs[i]);
}

static void new_make(int i, int cards)
{
    struct wdl_team_params params = {.id = 3,
                                     .rank = i,
                                     .size = NEW,
                                     .peer_of = new_peer,
                                     .ctx = new_ranks,
                                     .opened = cards ? opened : NULL,
                                     .opened_ctx = &r,
                                     .card = 64};
    must_cmp(wdl_team_create(r.one[new_ranks[i]].proc, &params, &fresh[i]), ==, WDL_OK);
}

static void new_begin(int i)
{
    struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER, .flags = WDL_COLL_MPI};
    newer[i].done = 0;
    must_cmp(wdl_coll_start(fresh[i], &barrier, &newer[i]), ==, WDL_OK);
}

static void new_barriers(int count)
{
    for (; count > 0; count--) {
        for (int i = 0; i < NEW; i++)
            new_begin(i);
        for (int i = 0; i < NEW; i++)
            steps_until(&newer[i]);
    }
}

static void new_end(void)
{
    for (int i = 0; i < NEW; i++)
        end(fresh[i]);
}

static void new_go(enum far far, int cards)
{
    for (int i = 0; i < NEW && far != FIRST; i++)
        new_make(i, cards);
    if (far == FIRST)
        new_make(0, cards);
    else
        new_barriers(far == THIRD ? 1 : 4);
    if (far == THIRD)
        new_begin(0);
    if (far >= ENDED)
        new_end();
    if (far == ANOTHER) {
        for (int i = 0; i < NEW; i++)
            new_make(i, cards);
        new_barriers(4);
    }
}

static void new_go_on(enum far far, int cards)
{
    if (far == FIRST)
        new_make(1, cards);
    if (far == THIRD) {
        new_begin(1);
        for (int i = 0; i < NEW; i++)
            steps_until(&newer[i]);
    }
    if (far == ENDED)
        return;
    new_barriers(2);
    new_end();
}

/* Nobody is mistaken, and nobody is told so. */
START_TEST(who_is_in_a_new_team_is_asked_about_the_old)
{
    static const enum wdl_coll_kind kinds[] = {WDL_COLL_GATHER, WDL_COLL_REDUCE};
    for (int way = 0; way < 2 * 2 * WAYS; way++) {
        enum far far = (enum far)(way / 4);
        int cards = way % 2;
        struct wdl_coll_args args = {
            .kind = kinds[way / 2 % 2],
            .bytes = 8,
            .op = {.fn = ranks_sum, .elem_bytes = 4, .commutes = WDL_COLL_EXACT}};
        old_make(cards);
        begin(0, args);
        begin(1, args);
        steps_until(&reqs[1]);
        end(teams[1]);
        new_go(far, cards);
        wait_for_all(1);
        must_cmp(asked(), >, 0);
        must_cmp(failed(), ==, 0);
        must_cmp(reqs[0].done, ==, 0);
        begin(2, args);
        steps_until(&reqs[0]);
        steps_until(&reqs[2]);
        new_go_on(far, cards);
        end(teams[0]);
        end(teams[2]);
        ranks_close(&r);
    }
}
END_TEST

/* Rank 1 gives to those who wait for all, as above. They ask, fail and tell it; and nobody hears of
 * it in the new one. */
START_TEST(a_mistake_in_the_old_team_is_none_in_the_new)
{
    enum { BEHIND_IT = 40 };
    static struct wdl_coll_req behind[BEHIND_IT];
    for (int way = 0; way < 2 * WAYS; way++) {
        enum far far = (enum far)(way / 2);
        int cards = way % 2;
        struct wdl_coll_args args = {.kind = WDL_COLL_BROADCAST,
                                     .flags = WDL_COLL_MPI,
                                     .root = 1,
                                     .src = src[1],
                                     .dst = dst[1],
                                     .bytes = 8};
        old_make(cards);
        begin(1, args);
        for (int k = 0; k < BEHIND_IT; k++)
            must_cmp(wdl_coll_start(teams[1], &args, &behind[k]), ==, WDL_OK);
        steps_until(&behind[BEHIND_IT - 1]);
        end(teams[1]);
        new_go(far, cards);
        args.flags = WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_ALLSYNC | WDL_COLL_LOCAL;
        for (int i = 0; i < OLD; i += 2) {
            args.src = src[i];
            args.dst = dst[i];
            reqs[i].done = 0;
            must_cmp(wdl_coll_start(teams[i], &args, &reqs[i]), ==, WDL_OK);
        }
        wait_for_all(1);
        must_cmp(asked(), >, 0);
        must_cmp(failed(), ==, 2);
        for (int i = 0; i < OLD; i += 2) {
            must_cmp(reqs[i].done, ==, 1);
            must_cmp(reqs[i].status, ==, WDL_ERR_TRUNCATE);
        }
        new_go_on(far, cards);
        end(teams[0]);
        end(teams[2]);
        ranks_close(&r);
    }
}
END_TEST

/* What is late, of a team of the same ranks, is not taken for the new one's; cards tell them
 * apart. */
START_TEST(what_was_said_of_the_old_team_of_the_same_ranks)
{
    struct {
        struct wdl_coll_pkt pkt;
        uint64_t stamp, call;
    } late = {{.team = 3, .role = WDL_ROLE_NONE}, 0, 0};
    struct wdl_sim_params sim = {.seed = 3, .ranks = RANKS, .am_bytes_max = 1024};
    ranks_open(&r, &sim);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < NEW; i++)
            new_make(i, 1);
        new_barriers(2);
        new_begin(0);
        late.pkt.seq = fresh[0]->next - 1;
        for (uint32_t what = WDL_PKT_ASK; what <= WDL_PKT_OUT && k > 0; what++) {
            late.pkt.what = what | 0x123456u << WDL_PKT_BITS;
            late.pkt.role = what < WDL_PKT_FAIL ? WDL_ROLE_NONE : 1;
            must_cmp(wdl_am_send(r.one[3].proc, 1, WDL_AM_COLL, &late, sizeof(late), NULL, 0, NULL),
                     ==, WDL_OK);
        }
        wait_for_all(0);
        must_cmp(failed(), ==, 0);
        must_cmp(newer[0].done, ==, 0);
        late.stamp = fresh[0]->stamp;
        must_cmp(late.stamp, ==, fresh[1]->stamp);
        new_begin(1);
        for (int i = 0; i < NEW; i++)
            steps_until(&newer[i]);
        new_end();
    }
    ranks_close(&r);
}
END_TEST

/* What one means by a call, in a number: of what all ranks must know, and of nothing else. */
START_TEST(prints)
{
    struct wdl_coll_args args = {.kind = WDL_COLL_BROADCAST, .flags = WDL_COLL_MPI, .bytes = 8},
                         other = args;
    uint32_t print = wdl_print_of(3, &args, 0);
    must(print != 0 && print < 1u << WDL_PRINT_BITS);
    other.src = src[0];
    other.dst = dst[0];
    must_cmp(wdl_print_of(3, &other, 0), ==, print);
    must_cmp(wdl_print_of(4, &args, 0), !=, print);
    must_cmp(wdl_print_of(3, &args, 1), ==, print | 1);
    other.root = 1;
    must_cmp(wdl_print_of(3, &other, 0), !=, print);
    other.root = 0;
    other.bytes = 9;
    must_cmp(wdl_print_of(3, &other, 0), !=, print);
    other.variable = 1; /* then the two ends alone know lengths */
    print = wdl_print_of(3, &other, 0);
    other.bytes = 8;
    must_cmp(wdl_print_of(3, &other, 0), ==, print);
    args.kind = WDL_COLL_GATHER_ALL; /* nobody's root */
    print = wdl_print_of(3, &args, 0);
    args.root = 2;
    must_cmp(wdl_print_of(3, &args, 0), ==, print);
    must(wdl_print_of(3, NULL, 0) != 0);
    print = wdl_print_on_node(WDL_COLL_GATHER, 1, WDL_COLL_MPI);
    must_cmp(wdl_print_on_node(WDL_COLL_GATHER, 2, WDL_COLL_MPI), !=, print);
    must_cmp(wdl_print_on_node(WDL_COLL_REDUCE, 1, WDL_COLL_MPI), !=, print);
    must_cmp(wdl_print_on_node(WDL_COLL_GATHER, 1, 0), ==, print); /* who waits is the same */
    static const uint32_t waits[] = {WDL_COLL_IN_ALLSYNC, WDL_COLL_OUT_ALLSYNC, WDL_COLL_LEAVES,
                                     WDL_COLL_DST_KNOWN, WDL_COLL_SRC_KNOWN};
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
        for (size_t k = 0; k < i; k++)
            must(wdl_print_on_node(WDL_COLL_GATHER, 1, waits[i]) != print &&
                 wdl_print_on_node(WDL_COLL_GATHER, 1, waits[i]) !=
                     wdl_print_on_node(WDL_COLL_GATHER, 1, waits[k]));
    must_cmp(wdl_print_on_node(WDL_COLL_SCAN, 1, 0), ==, wdl_print_on_node(WDL_COLL_SCAN, 2, 0));
}
END_TEST

WDL_SUITE("coll/fail", another_length_is_seen_where_the_data_comes,
          another_root_is_found_by_asking, another_operation, who_is_late_is_not_mistaken,
          no_mistake_no_message, whose_team_is_gone_says_what_it_meant,
          who_is_in_a_new_team_is_asked_about_the_old, a_mistake_in_the_old_team_is_none_in_the_new,
          what_was_said_of_the_old_team_of_the_same_ranks, prints)
