/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of adi/muster, among
 * processes. */
#define _GNU_SOURCE
#include "muster.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/suite.h"

enum { PROCESSES = 5, ROUNDS = 300 };

static struct shared {
    struct wdl_muster muster;
    int at[PROCESSES];          /* rounds begun; plain: the muster orders it */
} *shared;

static void map(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
}

static void join(const pid_t *child, int n)
{
    for (int i = 0; i < n; i++) {
        int status;
        ck_assert_int_eq(waitpid(child[i], &status, 0), child[i]);
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    munmap(shared, sizeof *shared);
}

/* Nobody is in the next round before all have come to this one. */
static int rounds(int me)
{
    for (int k = 1; k <= ROUNDS; k++) {
        shared->at[me] = k;
        wdl_muster_all(&shared->muster, PROCESSES);
        for (int i = 0; i < PROCESSES; i++)
            if (shared->at[i] != k)
                return 1;
        wdl_muster_all(&shared->muster, PROCESSES);
    }
    return 0;
}

START_TEST(all_have_come)
{
    pid_t child[PROCESSES];
    map();
    for (int i = 0; i < PROCESSES; i++)
        if ((child[i] = fork()) == 0)
            _exit(rounds(i));
    join(child, PROCESSES);
}
END_TEST

/* Who waits sleeps: once, and not for a slice at a time. */
static int waits_asleep(void)
{
    enum { TIMES = 3 };
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    wdl_muster_all(&shared->muster, 2);
    getrusage(RUSAGE_SELF, &after);
    long slept = after.ru_nvcsw - before.ru_nvcsw;
    return slept < 1 || slept > TIMES;
}

START_TEST(who_waits_sleeps)
{
    pid_t child;
    map();
    if ((child = fork()) == 0)
        _exit(waits_asleep());
    usleep(100000);
    wdl_muster_all(&shared->muster, 2);
    join(&child, 1);
}
END_TEST

START_TEST(one_alone_waits_for_nobody)
{
    struct wdl_muster muster = {0};
    for (int k = 0; k < 3; k++)
        wdl_muster_all(&muster, 1);
    ck_assert_uint_eq(muster.round, 3);
}
END_TEST

WDL_SUITE("mpid/adi/muster", all_have_come, who_waits_sleeps, one_alone_waits_for_nobody)
