/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Flushes of several threads on one window, with a script as each thread: a flush waits for what
 * had been issued before it began, and for nothing else. One thread issues operations to the same
 * targets between any two steps of the others' flushes, on every path, so that the targets are
 * never clean: each flush ends all the same, in a bounded number of steps, and then what it is to
 * complete has been done.
 */
#include <string.h>
#include "mpid/rma/copybed.h"
#include "mpid/rma/win_impl.h"
#include "support/must.h"
#include "support/suite.h"

enum { FLUSHERS = 3, ROUNDS = 12,
    STEPS = 3000, NEAR_STEPS = 18,      /* of a flush, at most: three times the slowest's */
    LONG_WORDS = 400, ROW_WORDS = 100, STREAM_WORDS = 3000,
    /* words of a target's memory: a flusher's two numbers, its sum; the issuer's, the rest */
    SUMS = 16, ISSUED = 32, WORDS = ISSUED + 1 + STREAM_WORDS
};

/* What the other thread issues; the last two where a ring of shared memory is. */
enum mode { PUTS, GETS, UPDATES, FETCHES, LONGS, LONG_GETS, REQUESTS, MIXED, ROWS, STREAMS,
    MODES };

struct flusher {
    int next;                   /* operation to be issued; OWN_OPS: it flushes */
    int step, rank, local, steps;       /* of the flush */
    uint64_t round, sum, source;        /* what it issues, and how often it has */
    uint64_t back, known;       /* what came back; what should have, or 0 */
};

struct game {
    struct test_world *w;
    struct wdl_win *win;
    int64_t at[RANKS], unit;    /* displacement of a rank's first word */
    struct flusher flusher[FLUSHERS];
    int flushers;
    enum mode mode;
    struct wdl_rma_args held;   /* the issuer's operation, refused for now */
    int holds;
    uint64_t added[RANKS];
    struct test_request request;
    int requested;
    int most;                   /* steps that a flush may take */
};

static const uint64_t one = 1;

static int64_t place(const struct game *g, int rank, int word)
{
    return g->at[rank] + word * g->unit;
}

static uint64_t word_at(const struct game *g, int rank, int word)
{
    uint64_t value;
    memcpy(&value, g->w->rank[rank].memory + word * 8, sizeof(value));
    return value;
}

/* --- the thread that issues ------------------------------------------------------------------- */

static struct wdl_rma_args next_of(struct game *g, enum mode mode, int to)
{
    static uint64_t into[STREAM_WORDS], from[STREAM_WORDS];
    int64_t sum = place(g, to, ISSUED), rest = place(g, to, ISSUED + 1);
    size_t words = mode == STREAMS ? STREAM_WORDS : mode == ROWS ? ROW_WORDS : LONG_WORDS;
    struct wdl_rma_args put = test_put(to, rest, from, 8);
    switch (mode) {
        case PUTS:
            return put;
        case GETS:
            return test_get(to, rest, into, 8);
        case UPDATES:
            return test_acc(to, sum, WDL_ROP_SUM, TEST_U64, 1, &one, NULL);
        case FETCHES:
            return test_acc(to, sum, WDL_ROP_SUM, TEST_U64, 1, &one, into);
        case LONG_GETS:
            return test_get(to, rest, into, 8 * words);
        case REQUESTS:
            if (!g->requested || g->request.done) {
                g->request.done = 0;
                g->requested = 1;
                put.request = &g->request;
            }
            return put;
        default:
            return test_put(to, rest, from, 8 * words);
    }
}

/* Until nothing more is taken, or this is enough. */
static void issue(struct game *g)
{
    for (int left = 2; left > 0; left--) {
        if (!g->holds) {
            int to = wdl_prng_chance(&g->w->prng, 800) ? 1 : 2;
            enum mode any = (enum mode) wdl_prng_below(&g->w->prng, MIXED);
            g->held = next_of(g, g->mode == MIXED ? any : g->mode, to);
        }
        int status = wdl_rma_op(g->win, &g->held);
        g->holds = status == WDL_AGAIN;
        if (g->holds)
            return;
        must_cmp(status, ==, WDL_OK);
        g->added[g->held.target] += g->held.kind >= WDL_RMA_ACC;
    }
}

/* --- those that flush ------------------------------------------------------------------------- */

/* A number that grows and a sum to rank 1, and the last round's number back; a number to rank 2. */
enum { OWN_PUT, OWN_SUM, OWN_GET, OWN_OTHER, OWN_OPS };

static struct wdl_rma_args own_op(struct game *g, int i, int which)
{
    struct flusher *f = &g->flusher[i];
    int even = (int) (f->round % 2);
    switch (which) {
        case OWN_PUT:
            return test_put(1, place(g, 1, 2 * i + even), &f->source, 8);
        case OWN_SUM:
            return test_acc(1, place(g, 1, SUMS + i), WDL_ROP_SUM, TEST_U64, 1, &one, NULL);
        case OWN_GET:
            return test_get(1, place(g, 1, 2 * i + !even), &f->back, 8);
        default:
            return test_put(2, place(g, 2, 2 * i + even), &f->source, 8);
    }
}

static void check(struct game *g, int i)
{
    struct flusher *f = &g->flusher[i];
    int word = 2 * i + (int) (f->round % 2);
    if (f->known)
        must_cmp(f->back, ==, f->known);
    f->known = f->local ? 0 : f->round;
    if (!f->local) {
        must_cmp(word_at(g, 1, word), ==, f->round);
        must_cmp(word_at(g, 1, SUMS + i), ==, f->sum);
    }
    if (!f->local && f->rank < 0)
        must_cmp(word_at(g, 2, word), ==, f->round);
    f->source = ++f->round;     /* it is ours again */
    f->back = 0;
}

/* One step; 1 where a flush has ended. */
static int play(struct game *g, int i)
{
    struct flusher *f = &g->flusher[i];
    if (f->next < OWN_OPS) {
        int which = (f->next + (int) f->round) % OWN_OPS;
        struct wdl_rma_args args = own_op(g, i, which);
        int status = wdl_rma_op(g->win, &args);
        if (status == WDL_AGAIN)
            return 0;
        must_cmp(status, ==, WDL_OK);
        f->sum += which == OWN_SUM;
        f->steps = 0;
        if (++f->next < OWN_OPS || wdl_prng_chance(&g->w->prng, 500))
            return 0;
    }
    if (f->steps == 0) {
        f->rank = wdl_prng_chance(&g->w->prng, 500) ? 1 : -1;
        f->local = wdl_prng_chance(&g->w->prng, 300);
    }
    int status = wdl_win_flush(g->win, f->rank, f->local, &f->step);
    must_cmp(++f->steps, <=, g->most);
    if (status == WDL_AGAIN)
        return 0;
    must_cmp(status, ==, WDL_OK);
    must_cmp(f->step, ==, 0);
    check(g, i);
    f->next = 0;
    return 1;
}

/* Do all who flush do so now? */
static int all_flush(const struct game *g)
{
    int n = 0;
    for (int i = 0; i < g->flushers; i++)
        n += g->flusher[i].next == OWN_OPS;
    return n == g->flushers;
}

static void run(struct game *g)
{
    int left = ROUNDS * g->flushers;
    for (int i = 0; i < g->flushers; i++)
        g->flusher[i].round = g->flusher[i].source = 1;
    while (left > 0) {
        for (int i = 0; i < g->flushers; i++) {
            left -= play(g, i);
            issue(g);
        }
        if (wdl_prng_chance(&g->w->prng, 900))
            test_world_turn(g->w);
        /* whoever has operations to issue, too, is to find an element now and then */
        if (all_flush(g) || wdl_prng_chance(&g->w->prng, 500))
            issue(g);
    }
    if (g->holds)
        TEST_DONE(g->w, wdl_rma_op(g->win, &g->held));
    int step = 0;
    TEST_DONE(g->w, wdl_win_flush(g->win, -1, 0, &step));
    if (g->holds)
        g->added[g->held.target] += g->held.kind >= WDL_RMA_ACC;
    for (int to = 1; to < RANKS; to++)
        must_cmp(word_at(g, to, ISSUED), ==, g->added[to]);
    must(!g->requested || g->request.done);
}

/* --- by message, and by the network alone ----------------------------------------------------- */

static const struct test_world_params kinds[] = {
    {.combine = WDL_COMBINE_NEVER}, {.combine = WDL_COMBINE_ALWAYS},
    {.combine = WDL_COMBINE_NEVER, .refuse_permille = 850},     /* something waits all the time */
    {.delay_ns_max = 3000, .refuse_permille = 500, .pending_permille = 500},
    {.delay_ns_max = 3000, .refuse_permille = 300, .bounce_count = 2,
     .rma = {.win_ops = 2, .global_ops = 1, .win_targets = 2, .global_targets = 1}},
    {.unordered = 1}, {.unordered = 1, .delay_ns_max = 5000, .refuse_permille = 200},
    {.unordered = 1, .delay_ns_max = 2000, .acc_unordered = 1,
     .rma = {.win_ops = 2, .global_ops = 1, .win_targets = 2, .global_targets = 1}},
    {.direct = 1, .delay_ns_max = 3000, .pending_permille = 500, .ops_max = 8},
    {.direct = 1, .unordered = 1, .delay_ns_max = 3000, .refuse_permille = 300},
    {.direct = 1, .atomics = 2, .delay_ns_max = 3000, .refuse_permille = 200},
    {.direct = 1, .atomics = 2, .unordered = 1, .delay_ns_max = 3000},
    {.direct = 1, .dynamic = 1, .delay_ns_max = 3000, .refuse_permille = 200}
};

static void by_network(const struct test_world_params *kind, enum mode mode, int flushers)
{
    struct test_world w;
    struct test_world_params p = *kind;
    p.ranks = RANKS;
    p.bytes = WORDS * 8;
    p.disp_unit = p.dynamic ? 1 : UNIT;
    p.seed = (uint64_t) (kind - kinds) * MODES + (uint64_t) mode + 1;
    test_world_open(&w, &p);
    struct game g = {.w = &w, .win = w.rank[0].win, .mode = mode, .flushers = flushers,
                     .most = STEPS, .unit = p.dynamic ? 8 : 1};
    for (int i = 0; i < RANKS && p.dynamic; i++) {
        g.at[i] = (int64_t) (uintptr_t) w.rank[i].memory;
        ck_assert_int_eq(wdl_win_attach(w.rank[i].win, w.rank[i].memory, p.bytes), WDL_OK);
    }
    TEST_DONE(&w, wdl_win_lock_all(g.win, 0, &w.rank[0].step));
    run(&g);
    TEST_DONE(&w, wdl_win_unlock_all(g.win, &w.rank[0].step));
    test_world_close(&w);
}

START_TEST(messages)
{
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        for (enum mode mode = 0; mode < ROWS; mode++)
            for (int flushers = 1; flushers <= FLUSHERS; flushers += FLUSHERS - 1)
                by_network(&kinds[k], mode, flushers);
}
END_TEST

/* --- within a node, on private memory --------------------------------------------------------- */

static const struct bed_kind node_kinds[] = {
    {.mail = 1}, {.mail = 1, .attended = 1, .combine = WDL_COMBINE_ALWAYS},
    {.mail = 1, .crowded = 1}, {.mail = 1, .dynamic = 1}, {.attended = 1}, {.crowded = 1}
};

static void on_node(const struct bed_kind *kind, enum mode mode, int flushers)
{
    static struct bed bed;
    bed_open_as(&bed, *kind);
    struct game g = {.w = &bed.w, .win = bed.win[0], .mode = mode, .flushers = flushers,
                     .most = NEAR_STEPS, .unit = kind->dynamic ? 8 : 1};
    for (int i = 0; i < RANKS && kind->dynamic; i++)
        g.at[i] = attach(&bed, i, 0, BYTES);
    run(&g);
    bed_end(&bed);
}

START_TEST(mailboxes)
{
    for (size_t k = 0; k < sizeof(node_kinds) / sizeof(node_kinds[0]); k++)
        for (enum mode mode = 0; mode < MODES; mode++)
            for (int flushers = 1; flushers <= FLUSHERS; flushers += FLUSHERS - 1)
                on_node(&node_kinds[k], mode, flushers);
}
END_TEST

/* --- one after the other ---------------------------------------------------------------------- */

/* A flush begins with each operation, while those before are under way: each ends in its turn. */
static void flush_each(const struct test_world_params *kind)
{
    enum { N = 60, TURNS = 100 };       /* a turn takes 500 ns */
    struct test_world w;
    struct test_world_params p = *kind;
    int step[N] = {0}, over[N] = {0};
    uint64_t value[N];
    p.ranks = 2;
    p.bytes = N * 8;
    test_world_open(&w, &p);
    struct test_rank *o = &w.rank[0];
    TEST_DONE(&w, wdl_win_lock_all(o->win, 0, &o->step));
    test_op(&w, 0, test_put(1, 0, "windlas", 8));
    TEST_DONE(&w, wdl_win_flush(o->win, 1, 0, &o->step));
    for (int turn = 0; turn < N + TURNS; turn++) {
        if (turn < N) {
            value[turn] = (uint64_t) turn + 1;
            test_op(&w, 0, test_put(1, turn * 8, &value[turn], 8));
        }
        for (int i = 0; i < N && i <= turn; i++) {
            int status = over[i] ? WDL_OK : wdl_win_flush(o->win, i % 2 ? 1 : -1, 0, &step[i]);
            must(status == WDL_OK || turn - i < TURNS / 2);
            over[i] = status == WDL_OK;
            uint64_t there;
            memcpy(&there, w.rank[1].memory + i * 8, 8);
            must(!over[i] || there == value[i]);
        }
        test_world_turn(&w);
    }
    TEST_DONE(&w, wdl_win_unlock_all(o->win, &o->step));
    test_world_close(&w);
}

START_TEST(each_flush_ends_in_its_turn)
{
    flush_each(&(struct test_world_params){.delay_ns_max = 3000});
    flush_each(&(struct test_world_params){.delay_ns_max = 3000, .refuse_permille = 400});
    flush_each(&(struct test_world_params){.unordered = 1, .delay_ns_max = 3000});
    flush_each(&(struct test_world_params){.direct = 1, .delay_ns_max = 3000});
    flush_each(&(struct test_world_params){.direct = 1, .delay_ns_max = 3000, .unordered = 1});
}
END_TEST

/* What follows a flush on the network does not make it forget what came before: a question that the
 * network refused may be answered with another operation, or asked with it. */
START_TEST(what_came_before_stays_so)
{
    static uint64_t into[2];
    for (int kind = 0; kind < 6; kind++) {
        struct test_world w;
        uint64_t value = 5, other = 6;
        test_world_open(&w, &(struct test_world_params){.ranks = 2, .unordered = kind / 3,
                                                        .combine = WDL_COMBINE_NEVER});
        struct test_rank *o = &w.rank[0];
        TEST_DONE(&w, wdl_win_lock_all(o->win, 0, &o->step));
        test_op(&w, 0, test_get(1, 0, into, 8));
        TEST_DONE(&w, wdl_win_flush(o->win, 1, 0, &o->step));
        test_op(&w, 0, test_put(1, 0, &value, 8));
        int step = (int) ++o->win->stamp;       /* a flush has begun, and sent nothing */
        test_op(&w, 0, kind % 3 == 0 ? test_get(1, 8, into, 8) : kind % 3 == 1 ?
                test_put(1, 8, &other, 8) :
                test_acc(1, 8, WDL_ROP_SUM, TEST_U64, 1, &other, &into[1]));
        ck_assert_int_eq(wdl_win_flush(o->win, 1, 0, &step), WDL_AGAIN);
        ck_assert_int_eq(w.rank[1].memory[0], 0);
        TEST_DONE(&w, wdl_win_flush(o->win, 1, 0, &step));
        ck_assert_int_eq(w.rank[1].memory[0], 5);
        TEST_DONE(&w, wdl_win_unlock_all(o->win, &o->step));
        test_world_close(&w);
    }
}
END_TEST

/* What was handed over before a flush, and withdrawn for the sake of another operation, is begun
 * again by another way: the flush waits for it all the same. */
START_TEST(what_is_withdrawn_was_issued_before)
{
    for (int way = 0; way < 4; way++) {
        struct bed bed;
        int step = 0;
        bed_open_as(&bed, (struct bed_kind){.mail = 1, .attended = 1,
                                            .combine = way & 1 ? WDL_COMBINE_NEVER : 0});
        struct wdl_mailbox *box = &bed.win[0]->mailbox;
        ck_assert_int_eq(operate(&bed, test_acc(1, 0, WDL_ROP_SUM, TEST_U64, 1, &one, NULL)),
                         WDL_OK);
        ck_assert_ptr_nonnull(box->mail);
        ck_assert_int_eq(wdl_win_flush(bed.win[0], 1, 0, &step), WDL_AGAIN);
        ck_assert_int_eq(put8(&bed, way & 2 ? 1 : 2, 5), way == 2 ? WDL_AGAIN : WDL_OK);
        ck_assert(!box->mail || box->bag.posted);
        ck_assert_uint_eq(bed_word(&bed, 1, 0), 0);
        TEST_DONE(&bed.w, wdl_win_flush(bed.win[0], 1, 0, &step));
        ck_assert_uint_eq(bed_word(&bed, 1, 0), 1);
        bed_end(&bed);
    }
}
END_TEST

WDL_SUITE("rma/flushes", messages, mailboxes, each_flush_ends_in_its_turn,
          what_came_before_stays_so, what_is_withdrawn_was_issued_before)
