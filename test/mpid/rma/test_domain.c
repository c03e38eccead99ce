/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/domain: short updates
 * against closed regions, element locks. */
#include "mpid/rma/domain.h"
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/prng.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS = 4 };

/* A node of four ranks; the memory is rank 2's, seen by rank 1. */
struct node {
    struct wdl_win_control control[RANKS];
    struct wdl_host host;
    struct wdl_domain d;
    int barriers;               /* heavy ones there have been */
    uint32_t mode_then, closed_then;
};

static void heavy_barrier(void *ctx)
{
    struct node *n = ctx;
    n->barriers++;
    n->mode_then = n->control[2].bulk_mode;
    n->closed_then = n->control[2].bulk[3];
}

static const struct wdl_host_ops ops = {.heavy_barrier = heavy_barrier};

static void node_open(struct node *n)
{
    memset(n, 0, sizeof(*n));
    n->host = (struct wdl_host){&ops, n};
    n->d = (struct wdl_domain){.host = &n->host, .rank = 2, .control = &n->control[2],
                               .own = &n->control[1], .node = n->control, .node_count = RANKS};
}

static int short_of(struct node *n, int who, int region)
{
    return wdl_short_begin(&n->control[who], wdl_short_bit(who), &n->control[2], 2, region);
}

START_TEST(regions_count_from_the_base)
{
    struct wdl_domain d = {.base = (const char *) 0x12345678};
    for (int i = 0; i < 3 * WDL_WIN_REGIONS; i++)
        for (int edge = 0; edge < 2; edge++) {
            const char *at = d.base + (size_t) i * WDL_REGION_BYTES;
            int region = wdl_region_of(&d, edge ? at + WDL_REGION_BYTES - 1 : at);
            ck_assert_int_eq(region, i % WDL_WIN_REGIONS);
        }
}
END_TEST

/* Who has never met a bulk update pays for no barrier and looks at no region. */
START_TEST(a_short_update_announces_where_it_is)
{
    struct node n;
    uint32_t seen[RANKS * WDL_WIN_REGIONS];
    int nseen = 0;
    node_open(&n);
    for (int rank = 0; rank < RANKS; rank++)
        for (int region = 0; region < WDL_WIN_REGIONS; region++) {
            int status = wdl_short_begin(&n.control[1], 2, &n.control[2], rank, region);
            ck_assert_int_eq(status, WDL_OK);
            ck_assert_uint_ne(n.control[1].announced, 0);
            for (int i = 0; i < nseen; i++) /* no two places look the same */
                ck_assert_uint_ne(n.control[1].announced, seen[i]);
            seen[nseen++] = n.control[1].announced;
            wdl_short_end(&n.control[1]);
            ck_assert_uint_eq(n.control[1].announced, 0);
        }
    ck_assert_int_eq(n.barriers, 0);
}
END_TEST

START_TEST(the_first_bulk_update_raises_the_mode_once)
{
    struct node n;
    node_open(&n);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(wdl_bulk_begin(&n.d, 3), WDL_OK);
        ck_assert_int_eq(n.barriers, 1);
        ck_assert_uint_eq(n.control[2].bulk_mode, WDL_BULK_MODE);
        wdl_bulk_end(&n.d, 3);
    }
    /* when the barrier ran, whoever began after it could see both */
    ck_assert_uint_eq(n.mode_then, WDL_BULK_RAISING);
    ck_assert_uint_eq(n.closed_then, 1);
    for (int rank = 0; rank < RANKS; rank++) /* of that memory, not of all */
        ck_assert(rank == 2 || n.control[rank].bulk_mode == WDL_BULK_NEVER);
}
END_TEST

static int looks_until_lowered(struct node *n)
{
    for (int looks = 0; looks < 5000; looks++) {
        if (n->control[2].bulk_mode == WDL_BULK_NEVER)
            return looks;
        for (int i = 0; i < WDL_BULK_LOOK; i++) {
            must_cmp(short_of(n, 3, i % WDL_WIN_REGIONS), ==, WDL_OK);
            wdl_short_end(&n->control[3]);
        }
    }
    return -1;
}

START_TEST(without_bulk_updates_the_mode_is_lowered)
{
    struct node n;
    int before = 1;
    node_open(&n);
    for (int raise = 1; raise <= 7; raise++) {
        ck_assert_int_eq(wdl_bulk_begin(&n.d, 3), WDL_OK);
        ck_assert_int_eq(n.barriers, raise);
        ck_assert_uint_eq(n.control[2].bulk_mode, WDL_BULK_MODE);
        wdl_bulk_end(&n.d, 3);
        int looks = looks_until_lowered(&n);
        ck_assert_int_eq(looks, raise <= 5 ? 2 * before : 32);  /* each raise: twice as long */
        before = looks;
        for (int i = 0; i < WDL_WIN_REGIONS; i++)
            ck_assert_uint_eq(n.control[2].bulk[i], 0);
    }
    for (int i = 0; i < 100; i++) { /* with one between looks it stays */
        ck_assert_int_eq(wdl_bulk_begin(&n.d, i % WDL_WIN_REGIONS), WDL_OK);
        wdl_bulk_end(&n.d, i % WDL_WIN_REGIONS);
        wdl_bulk_look(&n.control[2]);
    }
    ck_assert_int_eq(n.barriers, 8);
    n.control[2].bulk_mode = WDL_BULK_ALWAYS;
    ck_assert_int_eq(looks_until_lowered(&n), -1);
}
END_TEST

/* The mode is raised by itself, too, but not while the region is somebody else's. */
START_TEST(raising_alone)
{
    struct node n;
    node_open(&n);
    n.control[2].bulk[3] = 1;
    wdl_bulk_raise(&n.d, 3);
    ck_assert_uint_eq(n.control[2].bulk_mode, WDL_BULK_NEVER);
    ck_assert_uint_eq(n.control[2].bulk[3], 1);
    ck_assert_int_eq(n.barriers, 0);
    wdl_bulk_raise(&n.d, 4);
    ck_assert_uint_eq(n.control[2].bulk_mode, WDL_BULK_MODE);
    ck_assert_uint_eq(n.control[2].bulk[4], 0);
    ck_assert_int_eq(n.barriers, 1);
}
END_TEST

/* Neither beside a bulk update, nor beside one that raises the mode. */
START_TEST(a_closed_region_keeps_the_mode)
{
    struct node n;
    node_open(&n);
    for (int region = 0; region < WDL_WIN_REGIONS; region++) {
        ck_assert_int_eq(wdl_bulk_begin(&n.d, region), WDL_OK);
        for (int i = 0; i < 50; i++)
            wdl_bulk_look(&n.control[2]);
        ck_assert_uint_eq(n.control[2].bulk_mode, WDL_BULK_MODE);
        for (int i = 0; i < WDL_WIN_REGIONS; i++)
            ck_assert_uint_eq(n.control[2].bulk[i], i == region);
        wdl_bulk_end(&n.d, region);
    }
    ck_assert_int_eq(n.barriers, 1);
    n.control[2].bulk_mode = WDL_BULK_RAISING;
    for (int i = 0; i < 50; i++)
        wdl_bulk_look(&n.control[2]);
    ck_assert_uint_eq(n.control[2].bulk_mode, WDL_BULK_RAISING);
}
END_TEST

START_TEST(a_closed_region_refuses_short_updates_and_bulk_ones)
{
    struct node n;
    node_open(&n);
    for (int closed = 0; closed < WDL_WIN_REGIONS; closed++) {
        struct wdl_domain other = n.d;
        other.own = &n.control[3];
        ck_assert_int_eq(wdl_bulk_begin(&n.d, closed), WDL_OK);
        for (int region = 0; region < WDL_WIN_REGIONS; region++) {
            int want = region == closed ? WDL_AGAIN : WDL_OK;
            ck_assert_int_eq(short_of(&n, 0, region), want);
            ck_assert_int_eq(n.control[0].announced != 0, want == WDL_OK);
            wdl_short_end(&n.control[0]);
            ck_assert_int_eq(wdl_bulk_begin(&other, region), want);
            if (want == WDL_OK)
                wdl_bulk_end(&other, region);
            ck_assert_uint_eq(n.control[2].bulk[region], want == WDL_AGAIN);
        }
        wdl_bulk_end(&n.d, closed);
        ck_assert_int_eq(short_of(&n, 0, closed), WDL_OK);
        wdl_short_end(&n.control[0]);
    }
    n.control[2].bulk_mode = WDL_BULK_RAISING; /* the barrier is under way */
    n.control[2].bulk[6] = 1;
    ck_assert_int_eq(short_of(&n, 0, 6), WDL_AGAIN);
    ck_assert_int_eq(n.barriers, 1);
}
END_TEST

/* Whoever is in the region, whichever rank of the node: the region stays open. */
START_TEST(a_region_somebody_is_in_is_not_closed)
{
    for (int who = 0; who < RANKS; who++)
        for (int mode = WDL_BULK_NEVER; mode <= WDL_BULK_MODE; mode++) {
            struct node n;
            node_open(&n);
            n.d.own = &n.control[(who + 1) % RANKS];
            n.control[2].bulk_mode = (uint32_t) mode;
            ck_assert_int_eq(short_of(&n, who, 5), WDL_OK);
            ck_assert_int_eq(wdl_bulk_begin(&n.d, 5), WDL_AGAIN);
            ck_assert_uint_eq(n.control[2].bulk[5], 0);
            ck_assert_int_eq(wdl_bulk_begin(&n.d, 4), WDL_OK); /* the neighbour is quiet */
            wdl_bulk_end(&n.d, 4);
            wdl_short_end(&n.control[who]);
            ck_assert_int_eq(wdl_short_begin(&n.control[who], wdl_short_bit(who), &n.control[1], 1,
                                             5), WDL_OK);
            ck_assert_int_eq(wdl_bulk_begin(&n.d, 5), WDL_OK); /* the same of another rank */
            wdl_bulk_end(&n.d, 5);
            ck_assert_int_eq(n.barriers, mode != WDL_BULK_MODE);
        }
}
END_TEST

static int at_once(struct node *n, int region)
{
    uint64_t shorts;
    return wdl_bulk_begin_at_once(&n->control[2], n->control, n->d.node_count,
                                  (int) (n->d.own - n->d.node), 2, region, &shorts);
}

/* In one step, where the mode has been raised and nobody is in the region; else nothing has
 * changed. */
START_TEST(closing_at_once)
{
    struct node n;
    node_open(&n);
    for (uint32_t mode = WDL_BULK_NEVER; mode <= WDL_BULK_ALWAYS; mode++) {
        n.control[2].bulk_mode = mode;
        n.control[2].bulk_looks = 7;
        ck_assert_int_eq(at_once(&n, 5), mode >= WDL_BULK_MODE);
        ck_assert_uint_eq(n.control[2].bulk[5], mode >= WDL_BULK_MODE);
        ck_assert_uint_eq(n.control[2].bulk_looks, mode >= WDL_BULK_MODE ? 0 : 7);
        if (mode < WDL_BULK_MODE)
            continue;
        ck_assert_int_eq(at_once(&n, 5), 0);
        ck_assert_int_eq(short_of(&n, 0, 5), WDL_AGAIN);
        ck_assert_int_eq(wdl_bulk_begin(&n.d, 5), WDL_AGAIN);
        ck_assert_uint_eq(n.control[2].bulk[5], 1);
        wdl_bulk_end_at(&n.control[2], 5);
        for (int who = 0; who < RANKS; who++) {
            if (&n.control[who] == n.d.own) /* it announces none while it closes one */
                continue;
            ck_assert_int_eq(short_of(&n, who, 5), WDL_OK);
            ck_assert_int_eq(at_once(&n, 5), 0);
            ck_assert_uint_eq(n.control[2].bulk[5], 0);
            ck_assert_int_eq(at_once(&n, 4), 1);
            wdl_bulk_end_at(&n.control[2], 4);
            wdl_short_end(&n.control[who]);
        }
    }
    ck_assert_int_eq(n.barriers, 0);
    n.control[2].bulk_mode = WDL_BULK_NEVER;    /* there is nobody to whom it matters */
    n.d.node_count = 1;
    ck_assert_int_eq(at_once(&n, 5), 1);
}
END_TEST

static int short_beside(struct wdl_win_control *control, int who, int rank)
{
    return wdl_short_begin(&control[who], wdl_short_bit(who), &control[rank], rank, 5);
}

enum { MANY = 70 };

static int beside_many(struct wdl_win_control *control, int me, int rank, int region)
{
    uint64_t shorts;
    return wdl_bulk_begin_at_once(&control[rank], control, MANY, me, rank, region, &shorts);
}

static int elsewhere(const struct wdl_win_control *control, const struct wdl_win_control *node,
                     int node_count, int place, uint32_t key)
{
    uint64_t shorts = wdl_shorts_of(control, node_count, place);
    return wdl_shorts_are_elsewhere(shorts, node, node_count, key);
}

/* Of more processes than a word has bits, too, each is seen that has ever announced a region of the
 * rank's, and noted once. */
START_TEST(closing_beside_many)
{
    enum { MINE = 68 };
    static struct wdl_win_control control[MANY];
    static const int at[] = {0, 3, 4, 5, 63, 64, 67, 68, 69};
    uint32_t key = wdl_region_key(MINE, 5);
    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        int me = at[i] == 4 ? 2 : 4; /* of one bit with MINE */
        memset(control, 0, sizeof(control));
        control[MINE].bulk_mode = WDL_BULK_MODE;
        for (int again = 0; again < 2; again++) {
            ck_assert_int_eq(short_beside(control, at[i], MINE), WDL_OK);
            ck_assert_int_eq(__builtin_popcountll(control[MINE].shorts), 1);
            ck_assert_int_eq(elsewhere(&control[MINE], control, MANY, me, key), 0);
            ck_assert_int_eq(beside_many(control, me, MINE, 5), 0);
            ck_assert_int_eq(beside_many(control, me, MINE, 4), 1);
            wdl_bulk_end_at(&control[MINE], 4);
            wdl_short_end(&control[at[i]]);
        }
        ck_assert_int_eq(beside_many(control, me, MINE, 5), 1);
    }
}
END_TEST

/* Who closes a region announces none, and is not looked at if its bit is its own. */
START_TEST(closing_looks_at_others)
{
    enum { FEW = 64, ME = 3, OTHER = 63, MINE = 0 };
    static struct wdl_win_control control[FEW];
    uint32_t key = wdl_region_key(MINE, 5);
    control[MINE].bulk_mode = WDL_BULK_MODE;
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(short_beside(control, i ? OTHER : ME, MINE), WDL_OK);
        ck_assert_int_eq(elsewhere(&control[MINE], control, FEW, ME, key), !i);
        ck_assert_int_eq(elsewhere(&control[MINE], control, FEW, OTHER, key), 0);
    }
}
END_TEST

/* Who has announced nothing of late is forgotten, and seen again when it announces; who is in
 * another region, or another rank's memory, is not. While a region is somebody's nobody is. */
START_TEST(closing_forgets_who_is_away)
{
    enum { ME = 3, AWAY = 5, HERE = 66, THERE = 40, MINE = 0 };
    static struct wdl_win_control control[MANY];
    uint64_t all = wdl_short_bit(AWAY) | wdl_short_bit(HERE) | wdl_short_bit(THERE);
    control[MINE].bulk_mode = WDL_BULK_MODE;
    ck_assert_int_eq(short_beside(control, AWAY, MINE), WDL_OK);
    wdl_short_end(&control[AWAY]);
    ck_assert_int_eq(short_beside(control, HERE, MINE), WDL_OK);
    ck_assert_int_eq(short_beside(control, THERE, MINE), WDL_OK);
    wdl_short_end(&control[THERE]);
    ck_assert_int_eq(short_beside(control, THERE, MINE + 1), WDL_OK);
    for (int busy = 1; busy >= 0; busy--) {
        control[MINE].bulk[7] = (uint32_t) busy;
        for (int k = 0; k < WDL_SHORTS_SEEN; k++) {
            must_cmp(control[MINE].shorts, ==, all);
            must(beside_many(control, ME, MINE, 4));
            wdl_bulk_end_at(&control[MINE], 4);
        }
        for (int region = 0; region < WDL_WIN_REGIONS; region++)
            ck_assert_uint_eq(control[MINE].bulk[region], region == 7 && busy);
    }
    ck_assert(control[MINE].shorts == (all & ~wdl_short_bit(AWAY)));
    ck_assert_int_eq(short_beside(control, AWAY, MINE), WDL_OK);
    ck_assert(control[MINE].shorts == all);
    ck_assert_int_eq(beside_many(control, ME, MINE, 5), 0);
    ck_assert_int_eq(control[MINE].bulk[5], 0);
}
END_TEST

/* Private memory: nobody else's block is looked at. */
START_TEST(memory_of_one_updater_asks_nobody)
{
    struct node n;
    node_open(&n);
    n.d.node_count = 1;
    ck_assert_int_eq(short_of(&n, 3, 5), WDL_OK);
    ck_assert_int_eq(wdl_bulk_begin(&n.d, 5), WDL_OK);
}
END_TEST

static void close_while_inside(void *arg)
{
    struct node *n = arg;
    wdl_bulk_begin(&n->d, 0);
}

static void enter_twice(void *arg)
{
    short_of(arg, 1, 0);
}

START_TEST(one_announcement_at_a_time)
{
    struct node n;
    node_open(&n);
    ck_assert(!wdl_suite_aborts(close_while_inside, &n));
    ck_assert(!wdl_suite_aborts(enter_twice, &n));
    ck_assert_int_eq(short_of(&n, 1, 7), WDL_OK);
    ck_assert(wdl_suite_aborts(close_while_inside, &n));
    ck_assert(wdl_suite_aborts(enter_twice, &n));
}
END_TEST

/* --- element locks ---------------------------------------------------------------------------- */

START_TEST(a_stripe_is_64_bytes_of_a_page)
{
    const char *base = (const char *) (uintptr_t) 0x100000;     /* a page; never read */
    for (size_t from = 0; from < 4096; from += 7)
        for (size_t bytes = 1; bytes < 4400; bytes += bytes < 140 ? 1 : 83) {
            uint64_t want = 0;
            for (size_t i = from / 64; i <= (from + bytes - 1) / 64; i++)
                want |= (uint64_t) 1 << i % 64;
            must(wdl_stripes_of(base + from, bytes) == want);
        }
    ck_assert(wdl_stripes_of(base, 1 << 20) == UINT64_MAX);
}
END_TEST

START_TEST(all_stripes_of_a_set_or_none)
{
    struct wdl_prng prng;
    int again = 0;
    wdl_prng_init(&prng, 3);
    for (int turn = 0; turn < 300; turn++) {
        struct wdl_win_control control = {0};
        uint64_t set = wdl_prng_next(&prng) & wdl_prng_next(&prng), held = 0;
        if (turn % 2)
            held = (uint64_t) 1 << wdl_prng_below(&prng, 64);
        if (turn % 4 == 1)
            set = held;
        control.stripes = held;
        int status = wdl_stripes_lock(&control, set);
        ck_assert_int_eq(status, set & held ? WDL_AGAIN : WDL_OK);
        again += status == WDL_AGAIN;
        ck_assert_uint_eq(control.stripes, held | (status == WDL_OK ? set : 0));
        if (status == WDL_OK)
            wdl_stripes_unlock(&control, set);
        ck_assert_uint_eq(control.stripes, held);
    }
    ck_assert_int_gt(again, 10);
}
END_TEST

/* --- several threads, as the processes of a node ---------------------------------------------- */

enum { ROUNDS = 1000000 };

struct storm {
    struct wdl_win_control control[RANKS];
    pthread_barrier_t start;    /* all at once */
    int next, shorts, bulks;    /* inside region 0 of rank 0's memory */
    long updates, striped, raises;
};

enum { REGISTER = 16, BARRIER = 8 };    /* MEMBARRIER_CMD_..., PRIVATE_EXPEDITED both */

static void membarrier(void *ctx)
{
    struct storm *s = ctx;
    __atomic_fetch_add(&s->raises, 1, __ATOMIC_RELAXED);
    must_cmp(syscall(SYS_membarrier, BARRIER, 0, 0), ==, 0);
}

static const struct wdl_host_ops real_ops = {.heavy_barrier = membarrier};

static void storm_short(struct storm *s, const struct wdl_domain *d)
{
    while (wdl_domain_short_begin(d, 0) != WDL_OK)
        sched_yield();
    __atomic_fetch_add(&s->shorts, 1, __ATOMIC_RELAXED);
    must_cmp(__atomic_load_n(&s->bulks, __ATOMIC_RELAXED), ==, 0);
    __atomic_fetch_add(&s->updates, 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&s->shorts, 1, __ATOMIC_RELAXED);
    wdl_short_end(d->own);
}

static void storm_bulk(struct storm *s, const struct wdl_domain *d)
{
    uint64_t shorts;
    while (!wdl_bulk_begin_at_once(d->control, d->node, d->node_count,
                                   (int) (d->own - d->node), 0, 0, &shorts) &&
           wdl_bulk_begin(d, 0) != WDL_OK)
        sched_yield();
    must_cmp(__atomic_fetch_add(&s->bulks, 1, __ATOMIC_RELAXED), ==, 0);
    must_cmp(__atomic_load_n(&s->shorts, __ATOMIC_RELAXED), ==, 0);
    long before = __atomic_load_n(&s->updates, __ATOMIC_RELAXED);
    __atomic_store_n(&s->updates, before + 1, __ATOMIC_RELAXED); /* alone: it need not be atomic */
    __atomic_fetch_sub(&s->bulks, 1, __ATOMIC_RELAXED);
    if (before % 4 == 0) /* more often than it would be */
        wdl_shorts_forget(d->control, d->node, d->node_count, 0);
    wdl_bulk_end(d, 0);
}

static void *storm_thread(void *arg)
{
    struct storm *s = arg;
    struct wdl_host host = {&real_ops, s};
    int me = __atomic_fetch_add(&s->next, 1, __ATOMIC_SEQ_CST);
    struct wdl_domain d = {.host = &host, .control = &s->control[0], .own = &s->control[me],
                           .node = s->control, .node_count = RANKS};
    pthread_barrier_wait(&s->start);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t set = (uint64_t) 1 << (me + i) % 64 | 1 << 5;
        if (i % 8 == me)
            storm_bulk(s, &d);
        else
            storm_short(s, &d);
        if (i % 64 == 0) { /* the mode is lowered more often than it would be */
            __atomic_store_n(&d.control->bulk_patience, 1, __ATOMIC_RELAXED);
            wdl_bulk_look(d.control);
        }
        while (wdl_stripes_lock(&s->control[0], set) != WDL_OK)
            sched_yield();
        s->striped++;
        wdl_stripes_unlock(&s->control[0], set);
    }
    return NULL;
}

START_TEST(short_and_bulk_updates_never_meet)
{
    struct storm s = {.next = 0};
    pthread_t thread[RANKS];
    ck_assert_int_eq(pthread_barrier_init(&s.start, NULL, RANKS), 0);
    ck_assert_int_eq(syscall(SYS_membarrier, REGISTER, 0, 0), 0);
    for (int i = 0; i < RANKS; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, storm_thread, &s), 0);
    for (int i = 0; i < RANKS; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&s.start);
    ck_assert_int_eq(s.updates, RANKS * ROUNDS);
    ck_assert_int_eq(s.striped, RANKS * ROUNDS);
    ck_assert_int_gt(s.raises, 100);
}
END_TEST

WDL_SUITE("rma/domain", regions_count_from_the_base, a_short_update_announces_where_it_is,
          the_first_bulk_update_raises_the_mode_once, without_bulk_updates_the_mode_is_lowered,
          raising_alone,
          a_closed_region_keeps_the_mode, a_closed_region_refuses_short_updates_and_bulk_ones,
          a_region_somebody_is_in_is_not_closed, closing_at_once, closing_beside_many,
          closing_looks_at_others, closing_forgets_who_is_away, memory_of_one_updater_asks_nobody,
          one_announcement_at_a_time, a_stripe_is_64_bytes_of_a_page,
          all_stripes_of_a_set_or_none, short_and_bulk_updates_never_meet)
