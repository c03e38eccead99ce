/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of adi/gate: the program and the thread are never inside at a time, whoever comes first,
 * and nobody waits for who is outside. The thread sanitizer judges the rest: what they change
 * inside is plain memory.
 */
#include "gate.h"
#include <errno.h>
#include <sched.h>
#include <time.h>
#include "support/must.h"
#include "support/suite.h"

static struct wdl_gate gate = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
    int inside; /* atomic: how many are */
    long sum; /* plain */
    int over; /* atomic */
    int came; /* atomic: how often the thread was inside */
} shared;

static void work(void)
{
    must_cmp(__atomic_add_fetch(&shared.inside, 1, __ATOMIC_RELAXED), ==, 1);
    shared.sum++;
    must_cmp(__atomic_sub_fetch(&shared.inside, 1, __ATOMIC_RELAXED), ==, 0);
}

static void nap(long ns)
{
    struct timespec time = {.tv_nsec = ns};
    nanosleep(&time, NULL);
}

/* Comes as often as it can, or rests in between. */
static void *server(void *arg)
{
    long *times = arg;
    for (; !__atomic_load_n(&shared.over, __ATOMIC_ACQUIRE); ++*times) {
        wdl_gate_come(&gate);
        work();
        if (*times % 16 == 0)
            nap(1000); /* inside */
        __atomic_fetch_add(&shared.came, 1, __ATOMIC_RELEASE);
        wdl_gate_go(&gate);
        if (*times % 3 == 0)
            nap(1000);
    }
    return NULL;
}

static pthread_t server_start(long *times)
{
    pthread_t thread;
    must(wdl_gate_works());
    *times = 0;
    __atomic_store_n(&shared.over, 0, __ATOMIC_RELEASE);
    must_cmp(pthread_create(&thread, NULL, server, times), ==, 0);
    return thread;
}

static void server_end(pthread_t thread)
{
    __atomic_store_n(&shared.over, 1, __ATOMIC_RELEASE);
    must_cmp(pthread_join(thread, NULL), ==, 0);
}

/* Until it has been inside so often: it is not kept out. */
static void wait_for(int came)
{
    while (__atomic_load_n(&shared.came, __ATOMIC_ACQUIRE) < came)
        sched_yield();
}

START_TEST(one_is_inside_at_a_time)
{
    long theirs, mine = 0;
    pthread_t thread = server_start(&theirs);
    for (; __atomic_load_n(&shared.came, __ATOMIC_ACQUIRE) < 3000; mine++) {
        wdl_gate_enter(&gate);
        work();
        if (mine % 5 == 0) {
            wdl_gate_yield(&gate);
            work();
        }
        wdl_gate_leave(&gate);
        for (int i = mine % 7 * 40; i > 0; i--)
            __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
    server_end(thread);
    must_cmp(shared.sum, ==, mine + (mine + 4) / 5 + theirs);
}
END_TEST

/* Who is outside, or sleeps there, keeps nobody out; who is inside does, however long. */
START_TEST(the_thread_waits_for_who_is_inside_alone)
{
    long theirs;
    pthread_t thread = server_start(&theirs);
    for (int i = 0; i < 100; i++) {
        int came = __atomic_load_n(&shared.came, __ATOMIC_ACQUIRE);
        wait_for(came + 2);
        wdl_gate_enter(&gate);
        came = __atomic_load_n(&shared.came, __ATOMIC_ACQUIRE);
        nap(100000);
        must_cmp(__atomic_load_n(&shared.came, __ATOMIC_ACQUIRE), ==, came);
        work();
        wdl_gate_leave(&gate);
    }
    server_end(thread);
}
END_TEST

/* Enter once more, or several times, as an error handler's calls do: that gives nothing away. */
static void again(int deep)
{
    wdl_gate_enter(&gate);
    work();
    if (deep > 0)
        again(deep - 1);
    if (deep % 2)
        wdl_gate_yield(&gate);
    work();
    wdl_gate_leave(&gate);
    work();
}

START_TEST(who_is_inside_may_enter_again)
{
    long theirs, mine = 0;
    pthread_t thread = server_start(&theirs);
    for (; __atomic_load_n(&shared.came, __ATOMIC_ACQUIRE) < 3000; mine++) {
        wdl_gate_enter(&gate);
        again((int) (mine % 3));
        if (mine % 64 == 0) {           /* the thread wants to come meanwhile */
            nap(100000);
            again(1);
        }
        work();
        wdl_gate_leave(&gate);
        must(gate.held == 0);
    }
    server_end(thread);
    must_cmp(gate.in, ==, 0);
    long calls = (mine + 2) / 3 * 1 + (mine + 1) / 3 * 2 + mine / 3 * 3 + (mine + 63) / 64 * 2;
    must_cmp(shared.sum, ==, mine + 3 * calls + theirs);
}
END_TEST

/* By the lock, while the thread waits once more: it does not wait for itself. */
START_TEST(who_has_the_lock_may_enter_again)
{
    struct timespec begin, now;
    long theirs;
    pthread_t thread = server_start(&theirs);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int locked = 0; locked < 100;) {
        wdl_gate_enter(&gate);
        int by_lock = gate.held > 0;
        while (by_lock && !__atomic_load_n(&gate.wanted, __ATOMIC_RELAXED))
            sched_yield();
        again(2);
        locked += by_lock;
        must(by_lock == (gate.held > 0));
        wdl_gate_leave(&gate);
        clock_gettime(CLOCK_MONOTONIC, &now);
        must_cmp(now.tv_sec - begin.tv_sec, <, 20);
    }
    server_end(thread);
}
END_TEST

/* However deep it is inside, by either way, all of it is outside then; who is outside may leave. */
START_TEST(all_calls_leave_at_once)
{
    long theirs;
    pthread_t thread = server_start(&theirs);
    for (int i = 0; i < 300; i++) {
        for (int deep = 0; deep <= i % 4; deep++)
            wdl_gate_enter(&gate);
        work();
        wdl_gate_quit(&gate);
        must(gate.held == 0);
        wait_for(__atomic_load_n(&shared.came, __ATOMIC_ACQUIRE) + 2);
    }
    server_end(thread);
    wdl_gate_leave(&gate);
    must(gate.held == 0 && gate.in == 0);
    wdl_gate_enter(&gate);
    work();
    wdl_gate_leave(&gate);
}
END_TEST

/* The thread in a user's function, around which MPICH leaves and enters: it stays inside. */
static void *by_the_programs_side(void *arg)
{
    wdl_gate_come(&gate);
    __atomic_store_n(&shared.came, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 200; i++) {
        work();
        wdl_gate_leave(&gate);
        work();
        nap(10000);
        wdl_gate_enter(&gate);
        wdl_gate_yield(&gate);
        wdl_gate_leave(&gate);
        wdl_gate_enter(&gate);
    }
    __atomic_store_n(&shared.over, 1, __ATOMIC_RELEASE);
    wdl_gate_go(&gate);
    return arg;
}

START_TEST(the_thread_stays_inside_for_a_users_function)
{
    pthread_t thread;
    shared.came = shared.over = 0;
    must(wdl_gate_works());
    must_cmp(pthread_create(&thread, NULL, by_the_programs_side, NULL), ==, 0);
    wait_for(1);
    wdl_gate_enter(&gate);
    must_cmp(__atomic_load_n(&shared.over, __ATOMIC_ACQUIRE), ==, 1);
    work();
    wdl_gate_leave(&gate);
    must_cmp(pthread_join(thread, NULL), ==, 0);
    must_cmp(shared.sum, ==, 401);
}
END_TEST

/* ... also where the program has just said that it is inside, and goes back on it. */
static void *over_a_retreat(void *arg)
{
    wdl_gate_come(&gate);
    __atomic_store_n(&gate.in, 1, __ATOMIC_RELEASE); /* the program's, too late */
    wdl_gate_leave(&gate);
    __atomic_store_n(&shared.came, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&shared.over, __ATOMIC_ACQUIRE))
        sched_yield();
    wdl_gate_enter(&gate);
    wdl_gate_go(&gate);
    return arg;
}

START_TEST(a_retreat_leaves_the_thread_inside)
{
    pthread_t thread;
    shared.came = shared.over = 0;
    must(wdl_gate_works());
    must_cmp(pthread_create(&thread, NULL, over_a_retreat, NULL), ==, 0);
    wait_for(1);
    wdl_gate_retreat(&gate);
    must_cmp(pthread_mutex_trylock(&gate.lock), ==, EBUSY);
    must_cmp(gate.in, ==, 0);
    __atomic_store_n(&shared.over, 1, __ATOMIC_RELEASE);
    must_cmp(pthread_join(thread, NULL), ==, 0);
    wdl_gate_enter(&gate);
    must_cmp(gate.held, ==, 0);
    wdl_gate_leave(&gate);
}
END_TEST

/* MPI_THREAD_SERIALIZED: the program's calls come from one of its threads, then from another. */
static void *caller(void *arg)
{
    for (int i = 0; i < 200; i++) {
        wdl_gate_enter(&gate);
        work();
        wdl_gate_leave(&gate);
    }
    return arg;
}

START_TEST(a_program_whose_threads_take_turns)
{
    long theirs;
    pthread_t thread = server_start(&theirs), one;
    for (int i = 0; i < 50; i++) {
        must_cmp(pthread_create(&one, NULL, caller, NULL), ==, 0);
        must_cmp(pthread_join(one, NULL), ==, 0);
    }
    server_end(thread);
    must_cmp(shared.sum, ==, 10000 + theirs);
}
END_TEST

WDL_SUITE("mpid/adi/gate", one_is_inside_at_a_time, the_thread_waits_for_who_is_inside_alone,
          who_is_inside_may_enter_again, who_has_the_lock_may_enter_again,
          all_calls_leave_at_once,
          the_thread_stays_inside_for_a_users_function, a_retreat_leaves_the_thread_inside,
          a_program_whose_threads_take_turns)
