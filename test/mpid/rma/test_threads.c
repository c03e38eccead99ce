/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * All that the processes of a node share for a window, with a thread as each process: lock words
 * and gate, barriers, posts, element locks, atomic updates, the list of a dynamic window's regions.
 * What one rank has stored plainly another loads plainly, once the window's synchronization says
 * that it may: beyond the values compared here, that is for the thread sanitizer to judge
 * (maint/check --setup tsan).
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include "host/testworld.h"
#include "mpid/rma/accumulate.h"
#include "mpid/rma/stream.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS = 4, ROUNDS = 300, DOUBLES = 2 * WDL_BULK_MIN,
    BULK = 200000                /* so long that it goes through a ring */
};

/* What a rank exposes. */
struct exposed {
    double sums[DOUBLES];
    struct test_double_int pair;        /* no instruction adds to it */
    long double wide;                   /* ... nor to this */
    uint64_t lock, guarded;             /* a lock of the program's own, by compare and swap */
    uint64_t slots[2][RANKS];
    char bulk[RANKS][BULK];
};

#define AT(member) ((int64_t) offsetof(struct exposed, member))

/* Called again and again, while other threads run, until it is done. */
#define INSIST(call)                                                                           \
    do {                                                                                       \
        int insist_status_;                                                                    \
        while ((insist_status_ = (call)) == WDL_AGAIN)                                         \
            sched_yield();                                                                     \
        must_cmp(insist_status_, ==, WDL_OK);                                                  \
    } while (0)

static void operate(struct test_rank *r, struct wdl_rma_args args)
{
    INSIST(wdl_rma_op(r->win, &args));
}

static uint64_t fetch(struct test_rank *r, int from, int64_t disp)
{
    uint64_t value;
    operate(r, test_get(from, disp, &value, sizeof(value)));
    return value;
}

static void store(struct test_rank *r, int to, int64_t disp, uint64_t value)
{
    operate(r, test_put(to, disp, &value, sizeof(value)));
}

static void increase(struct test_rank *r, int at, int64_t disp)
{
    store(r, at, disp, fetch(r, at, disp) + 1);
}

static struct exposed *own(const struct test_rank *r)
{
    return (struct exposed *) (void *) r->memory;
}

struct thread {
    pthread_t id;
    struct test_rank *r;
    void (*play)(struct test_rank *r);
};

static void *thread_play(void *arg)
{
    const struct thread *t = arg;
    t->play(t->r);
    return NULL;
}

/* The world's ranks, each in a thread. Not a message is sent: the network is nobody's to touch. */
static void play_all(struct test_world *w, void (*play)(struct test_rank *r))
{
    struct thread thread[RANKS];
    for (int i = 0; i < RANKS; i++) {
        thread[i] = (struct thread){.r = &w->rank[i], .play = play};
        ck_assert_int_eq(pthread_create(&thread[i].id, NULL, thread_play, &thread[i]), 0);
    }
    for (int i = 0; i < RANKS; i++)
        ck_assert_int_eq(pthread_join(thread[i].id, NULL), 0);
    ck_assert_int_eq(test_world_messages(w), 0);
}

static void run(int crowded, int no_place, void (*play)(struct test_rank *r))
{
    struct test_world w;
    struct test_world_params p = {.ranks = RANKS, .node = RANKS, .crowded = crowded,
                                  .no_place = no_place, .bytes = sizeof(struct exposed)};
    test_world_open(&w, &p);
    play_all(&w, play);
    test_world_close(&w);
}

/* --- active target ---------------------------------------------------------------------------- */

static void to_everybody(struct test_rank *r, int set, uint64_t value)
{
    for (int to = 0; to < RANKS; to++)
        store(r, to, AT(slots) + 8 * (set * RANKS + r->rank), value);
}

static void play_fence(struct test_rank *r)
{
    INSIST(wdl_win_fence(r->win, 0, &r->step));
    for (uint64_t i = 0; i < ROUNDS; i++) {
        to_everybody(r, i % 2, i);
        INSIST(wdl_win_fence(r->win, 0, &r->step));
        for (int from = 0; from < RANKS; from++)
            must_cmp(own(r)->slots[i % 2][from], ==, i);
    }
    INSIST(wdl_win_fence(r->win, WDL_MODE_NOSUCCEED, &r->step));
}

START_TEST(fences)
{
    for (int kind = 0; kind < 4; kind++)
        run(kind & 1, kind >> 1, play_fence);
}
END_TEST

static void play_post(struct test_rank *r)
{
    const int left = (r->rank + RANKS - 1) % RANKS, right = (r->rank + 1) % RANKS;
    const int others[2] = {left, right};
    for (uint64_t i = 0; i < ROUNDS; i++) {
        INSIST(wdl_win_post(r->win, others, 2, 0, &r->step));
        INSIST(wdl_win_start(r->win, others, 2, 0, &r->step));
        for (int k = 0; k < 2; k++)
            store(r, others[k], AT(slots) + 8 * r->rank, i);
        INSIST(wdl_win_complete(r->win, &r->step));
        INSIST(wdl_win_wait(r->win, &r->step));
        for (int k = 0; k < 2; k++)
            must_cmp(own(r)->slots[0][others[k]], ==, i);
    }
}

START_TEST(posts)
{
    run(0, 0, play_post);
    run(0, 1, play_post);
}
END_TEST

/* --- locks ------------------------------------------------------------------------------------ */

static void play_locks(struct test_rank *r)
{
    int second;                 /* lock's step */
    for (int i = 0; i < ROUNDS; i++) {
        int t = (r->rank + i) % RANKS;
        INSIST(wdl_win_lock(r->win, t, 1, 0, &r->step));
        increase(r, t, AT(guarded));
        second = 0;
        if (i % 5 == 0 && t + 1 < RANKS) {      /* ascending: nobody waits in a circle */
            INSIST(wdl_win_lock(r->win, t + 1, 1, 0, &second));
            increase(r, t + 1, AT(slots));
            INSIST(wdl_win_unlock(r->win, t + 1, &second));
        }
        INSIST(wdl_win_unlock(r->win, t, &r->step));
        INSIST(wdl_win_lock(r->win, 0, 0, 0, &r->step));
        must_cmp(fetch(r, 0, AT(guarded)), <=, RANKS * ROUNDS);
        INSIST(wdl_win_unlock(r->win, 0, &r->step));
        if (i % 3)
            continue;
        INSIST(wdl_win_lock_all(r->win, 0, &r->step));
        for (t = 0; t < RANKS; t++)
            must_cmp(fetch(r, t, AT(guarded)), <=, RANKS * ROUNDS);
        INSIST(wdl_win_unlock_all(r->win, &r->step));
    }
    INSIST(wdl_win_barrier(r->win, &r->step));
    must_cmp(own(r)->guarded, ==, ROUNDS);
}

START_TEST(locks)
{
    run(0, 0, play_locks);
    run(0, 1, play_locks);
}
END_TEST

/* --- atomic updates --------------------------------------------------------------------------- */

/* Through the short way where it is open. */
static uint64_t swap(struct test_rank *r, int at, uint64_t expected, uint64_t value)
{
    struct wdl_element word = test_element(TEST_U64);
    uint64_t old;
    if (wdl_win_swap_short(r->win, at, AT(lock), &word, &expected, &value, &old) != WDL_OK)
        operate(r, test_cas(at, AT(lock), TEST_U64, &expected, &value, &old));
    return old;
}

static void add(struct test_rank *r, int at, int n, const double *by, double *old)
{
    struct wdl_element el = test_element(TEST_F64);
    if ((n == 1 ? wdl_win_update_one(r->win, at, AT(sums), WDL_ROP_SUM, &el, by, old)
                : wdl_win_accumulate_short(r->win, at, AT(sums), (size_t) n, WDL_ROP_SUM, &el, by,
                                           old)) != WDL_OK)
        operate(r, test_acc(at, AT(sums), WDL_ROP_SUM, TEST_F64, n, by, old));
}

static void play_updates(struct test_rank *r)
{
    double ones[DOUBLES], old[DOUBLES];
    const struct test_double_int pair = {.value = r->rank, .index = r->rank};
    char packed[12];            /* a pair without its gap */
    memcpy(packed, &pair.value, 8);
    memcpy(packed + 8, &pair.index, 4);
    for (int i = 0; i < DOUBLES; i++)
        ones[i] = 1;
    INSIST(wdl_win_lock_all(r->win, 0, &r->step));
    for (int i = 0; i < ROUNDS; i++) {
        int t = (r->rank + i) % RANKS;
        const uint64_t zero = 0;
        add(r, t, 1, ones, i % 2 ? old : NULL);
        add(r, t, DOUBLES, ones, i % 2 ? NULL : old);
        operate(r, test_acc(t, AT(pair), WDL_ROP_MAXLOC, TEST_DOUBLE_INT, 1, packed, NULL));
        while (swap(r, t, 0, 1) != 0)
            sched_yield();
        increase(r, t, AT(guarded));
        INSIST(wdl_win_flush(r->win, t, 0, &r->step));
        operate(r, test_acc(t, AT(lock), WDL_ROP_REPLACE, TEST_U64, 1, &zero, NULL));
    }
    INSIST(wdl_win_unlock_all(r->win, &r->step));
    INSIST(wdl_win_barrier(r->win, &r->step));
    must_cmp(own(r)->guarded, ==, ROUNDS);
    must_cmp(own(r)->pair.index, ==, RANKS - 1);
    for (int i = 0; i < DOUBLES; i++)
        must(own(r)->sums[i] == ROUNDS + (i ? 0 : ROUNDS));
}

START_TEST(updates)
{
    run(0, 0, play_updates);
    run(0, 1, play_updates);
}
END_TEST

/* --- updates of those who are alone, and of others -------------------------------------------- */

/* Once of everything there. */
static void add_all(struct test_rank *r, int at)
{
    double ones[DOUBLES], old;
    const long double one = 1;
    for (int i = 0; i < DOUBLES; i++)
        ones[i] = 1;
    add(r, at, 1, ones, &old);
    add(r, at, DOUBLES, ones, NULL);
    operate(r, test_acc(at, AT(wide), WDL_ROP_SUM, TEST_LD, 1, &one, NULL));
    for (uint64_t was = 0, found; (found = swap(r, at, was, was + 1)) != was;)
        was = found;
}

/* To the right, who has posted to us alone, or to both neighbours, who meet others of theirs: how
 * many come to each. */
static int add_by_post(struct test_rank *r, int alone)
{
    const int left = (r->rank + RANKS - 1) % RANKS, right = (r->rank + 1) % RANKS;
    const int origins[2] = {left, right}, targets[2] = {right, left};
    const int n = alone ? 1 : 2, times = alone ? 1 : 20;
    INSIST(wdl_win_barrier(r->win, &r->step));
    INSIST(wdl_win_post(r->win, origins, n, 0, &r->step));
    INSIST(wdl_win_start(r->win, targets, n, 0, &r->step));
    for (int i = 0; i < n * times; i++)
        add_all(r, targets[(i + r->rank / 2) % n]);
    INSIST(wdl_win_complete(r->win, &r->step));
    INSIST(wdl_win_wait(r->win, &r->step));
    INSIST(wdl_win_barrier(r->win, &r->step));
    return n * times;
}

/* Of five rounds three are a lock that excludes others. In what does not they are to meet. */
static int add_by_lock(struct test_rank *r, int i, int at)
{
    int exclusive = i % 5 < 3, all = i % 5 == 4, times = exclusive ? 1 : 20;
    if (all)
        INSIST(wdl_win_lock_all(r->win, 0, &r->step));
    else
        INSIST(wdl_win_lock(r->win, at, exclusive, 0, &r->step));
    for (int k = 0; k < times; k++)
        add_all(r, at);
    if (all)
        INSIST(wdl_win_unlock_all(r->win, &r->step));
    else
        INSIST(wdl_win_unlock(r->win, at, &r->step));
    return times;
}

static void play_alone(struct test_rank *r)
{
    int want = 0;
    for (int i = 0; i < ROUNDS; i++) {
        int at = i / 8 % RANKS;         /* everybody's at a time */
        if (i % 16 >= 14) {
            want += add_by_post(r, i % 16 == 14);
        } else {
            int times = add_by_lock(r, i, at);
            want += at == r->rank ? RANKS * times : 0;
        }
    }
    INSIST(wdl_win_barrier(r->win, &r->step));
    must(own(r)->wide == want);
    must_cmp(own(r)->lock, ==, (uint64_t) want);
    for (int i = 0; i < DOUBLES; i++)
        must(own(r)->sums[i] == (i ? want : 2 * want));
}

START_TEST(updates_of_one_alone)
{
    run(0, 0, play_alone);
    run(0, 1, play_alone);
}
END_TEST

/* --- dynamic windows -------------------------------------------------------------------------- */

/* The system copies: it takes no part in what threads agree on. */
__attribute__((no_sanitize_thread))
static int copy_by_system(void *ctx, int rank, int to_rank, struct wdl_piece *local, int nlocal,
                          struct wdl_piece *remote, int nremote)
{
    volatile char *there = remote->base;
    (void) ctx;
    (void) rank;
    must_cmp(nremote, ==, 1);
    for (int k = 0; k < nlocal; there += local[k].bytes, k++)
        for (size_t i = 0; i < local[k].bytes; i++) {
            volatile char *here = local[k].base + i;
            if (to_rank)
                there[i] = *here;
            else
                *here = there[i];
        }
    return WDL_OK;
}

static void rank_info(void *ctx, int rank, struct wdl_win_rank *out)
{
    (void) ctx;
    (void) rank;
    *out = (struct wdl_win_rank){.bytes = UINT64_MAX, .disp_unit = 1};
}

static int region_users;        /* ranks that use the region */

/* Rank 0's list of regions changes all the time around the one that the others use. */
static void play_regions(struct test_rank *r)
{
    struct exposed *there = own(&r->world->rank[0]);
    int64_t slot = (int64_t) (uintptr_t) &there->slots[0][r->rank];
    if (r->rank == 0) {
        for (int i = 0; __atomic_load_n(&region_users, __ATOMIC_RELAXED) > 0; i++) {
            char *base = (char *) there + i % 2 * 64;
            must_cmp(wdl_win_attach(r->win, base, 8), ==, WDL_OK);
            must_cmp(wdl_win_detach(r->win, base), ==, WDL_OK);
            sched_yield();
        }
        return;
    }
    INSIST(wdl_win_lock_all(r->win, 0, &r->step));
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t seen = i + 1;
        store(r, 0, slot, i);
        operate(r, test_get(0, slot, &seen, sizeof(seen)));
        INSIST(wdl_win_flush(r->win, 0, 0, &r->step));
        must_cmp(seen, ==, i);
    }
    INSIST(wdl_win_unlock_all(r->win, &r->step));
    __atomic_sub_fetch(&region_users, 1, __ATOMIC_RELAXED);
}

START_TEST(regions)
{
    struct test_world w;
    struct test_world_params p = {.ranks = RANKS, .node = RANKS, .own = 1, .dynamic = 1,
                                  .bytes = sizeof(struct exposed)};
    test_world_open(&w, &p);
    struct wdl_win *first[RANKS];
    for (int i = 0; i < RANKS; i++) {
        struct wdl_win_params params = test_win_params(&w.rank[i]);
        params.id = 3;
        params.rank_info = rank_info;
        params.copy = copy_by_system;
        first[i] = w.rank[i].win;
        ck_assert_int_eq(wdl_win_create(w.rank[i].proc, &params, &w.rank[i].win), WDL_OK);
    }
    struct exposed *there = own(&w.rank[0]);
    ck_assert_int_eq(wdl_win_attach(w.rank[0].win, there->slots, sizeof(there->slots)), WDL_OK);
    region_users = RANKS - 1;
    play_all(&w, play_regions);
    for (int i = 0; i < RANKS; i++) {
        TEST_DONE(&w, wdl_win_free(w.rank[i].win));
        w.rank[i].win = first[i];
    }
    test_world_close(&w);
}
END_TEST

/* --- mailboxes -------------------------------------------------------------------------------- */

static struct wdl_stream rings[RANKS];
static int mail_users;          /* ranks that still hand something over */
static int trains;              /* rows that went through a ring */

/* What this rank itself waits for comes when the others look at their mail. */
static int settled(struct test_rank *r, int status)
{
    wdl_mailbox_serve(r->win);
    return status;
}

static void hand(struct test_rank *r, struct wdl_rma_args args, int to)
{
    INSIST(settled(r, wdl_rma_op(r->win, &args)));
    INSIST(settled(r, wdl_win_flush(r->win, to, 0, &r->step)));
}

/* A row of puts, one behind the other. */
static void hand_row(struct test_rank *r, int to, int64_t slot, const char *mine)
{
    enum { PUTS = 4, EACH = BULK / PUTS };
    for (int k = 0; k < PUTS; k++) {
        struct wdl_rma_args put = test_put(to, slot + k * EACH, mine + k * EACH, EACH);
        INSIST(settled(r, wdl_rma_op(r->win, &put)));
    }
    if (r->win->mailbox.train.ring)
        __atomic_add_fetch(&trains, 1, __ATOMIC_RELAXED);
    INSIST(settled(r, wdl_win_flush(r->win, to, 0, &r->step)));
}

/* All to all, each with a processor of its own or not: what is not served in time is copied. */
static void play_mail(struct test_rank *r)
{
    char mine[BULK], there[BULK];
    uint64_t back;
    INSIST(wdl_win_lock_all(r->win, 0, &r->step));
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        int to = (r->rank + 1 + (int) i % (RANKS - 1)) % RANKS;
        int64_t slot = (int64_t) offsetof(struct exposed, slots) + 8 * r->rank;
        hand(r, test_put(to, slot, &i, 8), to);
        hand(r, test_get(to, slot, &back, 8), to);
        must_cmp(back, ==, i);
        if (i % 10)
            continue;
        slot = (int64_t) offsetof(struct exposed, bulk) + BULK * r->rank;
        memset(mine, (int) i, BULK);
        hand(r, test_put(to, slot, mine, BULK), to);
        hand(r, test_get(to, slot, there, BULK), to);
        must(memcmp(mine, there, BULK) == 0);
        memset(mine, (int) i + 1, BULK);
        hand_row(r, to, slot, mine);
        hand(r, test_get(to, slot, there, BULK), to);
        must(memcmp(mine, there, BULK) == 0);
    }
    __atomic_sub_fetch(&mail_users, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&mail_users, __ATOMIC_ACQUIRE) > 0) {
        wdl_proc_progress(r->proc);
        sched_yield();
    }
    INSIST(wdl_win_unlock_all(r->win, &r->step));
}

static void rank_memory(void *ctx, int rank, struct wdl_win_rank *out)
{
    const struct test_world *w = ((struct test_rank *) ctx)->world;
    *out = (struct wdl_win_rank){.base = (uint64_t) (uintptr_t) w->rank[rank].memory,
                                 .bytes = sizeof(struct exposed), .disp_unit = 1};
}

static struct wdl_stream *ring_of(void *ctx, int rank, uint64_t *id)
{
    (void) ctx;
    *id = 1;
    return &rings[rank];
}

START_TEST(mailboxes)
{
    struct test_world w;
    struct test_world_params p = {.ranks = RANKS, .node = RANKS, .own = 1,
                                  .bytes = sizeof(struct exposed)};
    struct wdl_win *first[RANKS];
    uint64_t mailed = 0, streamed = 0;
    test_world_open(&w, &p);
    for (int i = 0; i < RANKS; i++) {
        struct wdl_win_params params = test_win_params(&w.rank[i]);
        params.id = 3;
        params.rank_info = rank_memory;
        params.copy = copy_by_system;
        params.stream = ring_of;
        params.mail = 1;
        first[i] = w.rank[i].win;
        ck_assert_int_eq(wdl_win_create(w.rank[i].proc, &params, &w.rank[i].win), WDL_OK);
    }
    mail_users = RANKS;
    play_all(&w, play_mail);
    for (int i = 0; i < RANKS; i++) {
        struct wdl_win_stats stats;
        wdl_win_stats_get(w.rank[i].win, &stats);
        ck_assert_uint_eq(stats.ops_mailed + stats.ops_copied, 2 * ROUNDS + 7 * (ROUNDS / 10));
        mailed += stats.ops_mailed;
        streamed += rings[i].emptied > 0;
        TEST_DONE(&w, wdl_win_free(w.rank[i].win));
        w.rank[i].win = first[i];
    }
    ck_assert_uint_gt(mailed, 0);
    ck_assert_uint_gt(streamed, 0);
    ck_assert_int_gt(trains, 0);
    test_world_close(&w);
}
END_TEST

WDL_SUITE("rma/threads", fences, posts, locks, updates, updates_of_one_alone, regions, mailboxes)
