/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of adi/bell. */
#include "bell.h"
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/must.h"
#include "support/suite.h"

enum { RANKS = 4, ME = 1, AFTER = 1000 };
#define LONG_US 60000000

static int look(struct wdl_bell *bells, struct wdl_bell_look *looks, uint64_t now)
{
    return wdl_bells_look(bells, RANKS, ME, looks, now, AFTER);
}

/* Rank 0 polls, 2 does not, 3 does not doze; our own is not ours to ring. */
START_TEST(for_those_who_do_not_poll)
{
    struct wdl_bell bells[RANKS] = {{.dozes = 1}, {.dozes = 1}, {.dozes = 1}, {.dozes = 0}};
    struct wdl_bell_look looks[RANKS] = {{0}};
    uint64_t now = 50;
    ck_assert_int_eq(look(bells, looks, now), 0); /* nobody is known */
    for (; now < 50 + AFTER; now += 100) {
        ck_assert_int_eq(look(bells, looks, now), 0);
        bells[0].polls++;
    }
    ck_assert_int_eq(look(bells, looks, now), 1);
    ck_assert_uint_eq(bells[0].dozes, 1);
    ck_assert_uint_eq(bells[ME].dozes, 1);
    ck_assert_uint_eq(bells[2].dozes, 0);
    ck_assert_int_eq(look(bells, looks, now), 0); /* it is awake */
    bells[2].dozes = 1;
    ck_assert_int_eq(look(bells, looks, now), 1); /* and has not polled since */
    bells[2].dozes = 1;
    bells[2].polls++;
    ck_assert_int_eq(look(bells, looks, now), 0);
    bells[3].dozes = 1;
    ck_assert_int_eq(look(bells, looks, now), 0);
    ck_assert_int_eq(look(bells, looks, now + AFTER), 3);
}
END_TEST

struct sleeper {
    struct wdl_bell bell;
    int stop, rung;
};

static void *sleeper_main(void *arg)
{
    struct sleeper *s = arg;
    s->rung = wdl_bell_doze(&s->bell, LONG_US, &s->stop);
    return NULL;
}

static void until_it_dozes(const struct wdl_bell *bell)
{
    while (!__atomic_load_n(&bell->dozes, __ATOMIC_ACQUIRE))
        sched_yield();
}

START_TEST(a_ring_ends_it)
{
    for (int i = 0; i < 200; i++) {
        struct sleeper s = {.rung = -1};
        pthread_t thread;
        ck_assert_int_eq(pthread_create(&thread, NULL, sleeper_main, &s), 0);
        if (i % 2) { /* who ends it says so first, and may ring before it dozes */
            __atomic_store_n(&s.stop, 1, __ATOMIC_SEQ_CST);
        } else {
            until_it_dozes(&s.bell);
        }
        wdl_bell_ring(&s.bell);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        ck_assert(s.rung == 1 || i % 2);
        ck_assert_uint_eq(s.bell.dozes, 0);
    }
}
END_TEST

START_TEST(so_does_time)
{
    struct sleeper s = {.rung = -1};
    ck_assert_int_eq(wdl_bell_doze(&s.bell, 100, &s.stop), 0);
    ck_assert_uint_eq(s.bell.dozes, 0);
    s.stop = 1;
    ck_assert_int_eq(wdl_bell_doze(&s.bell, LONG_US, &s.stop), 0);
}
END_TEST

START_TEST(between_processes)
{
    struct sleeper *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                             -1, 0);
    int status;
    must(s != MAP_FAILED);
    pid_t child = fork();
    must_cmp(child, >=, 0);
    if (child == 0)
        _exit(wdl_bell_doze(&s->bell, LONG_US, &s->stop) ? 7 : 8);
    until_it_dozes(&s->bell);
    wdl_bell_ring(&s->bell);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 7);
    munmap(s, sizeof *s);
}
END_TEST

WDL_SUITE("adi/bell", for_those_who_do_not_poll, a_ring_ends_it, so_does_time, between_processes)
