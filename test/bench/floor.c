/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What the machine itself takes, without any MPI: the floors maint/bench prints beside rows. Two
 * processes share memory; each is pinned to a processor of its own. Lines are as bench.h has them.
 *
 *   memcpy     of so many bytes, from private to shared memory
 *   atomic     a locked add nobody contends for
 *   fence      a store and a full fence
 *   hand_over  a cache line from one processor to the other: half of there and back
 *   ucx_tags   a message by UCX's tags, of so many bytes: half of there and back (floor_ucx.c)
 */
#define _GNU_SOURCE
#include "floor.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCHES = 7 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

int floor_pin(const struct job *j, int nth)
{
    cpu_set_t one;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &j->may) && nth-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            return sched_setaffinity(0, sizeof one, &one) == 0;
        }
    }
    return 0;
}

static void copy(struct job *j, long n)
{
    for (long i = 0; i < n; i++) {
        memcpy(j->shared->bytes, j->private, (size_t) j->bytes);
        /* The compiler may not drop a copy because the next one overwrites it. */
        __asm__ volatile ("" : : "r" (j->shared->bytes), "r" (j->private) : "memory");
    }
}

static void add(struct job *j, long n)
{
    for (long i = 0; i < n; i++)
        atomic_fetch_add(&j->shared->counter, 1);
}

static void fence(struct job *j, long n)
{
    for (long i = 0; i < n; i++) {
        atomic_store_explicit(&j->shared->counter, i, memory_order_relaxed);
        atomic_thread_fence(memory_order_seq_cst);
    }
}

/* n times there and back. */
static void hand_over(struct job *j, long n)
{
    for (long i = 0; i < n; i++) {
        atomic_store_explicit(&j->shared->ping, ++j->turn, memory_order_release);
        while (atomic_load_explicit(&j->shared->pong, memory_order_acquire) != j->turn) {
        }
    }
}

static void answer(struct shared *shared)
{
    for (long turn = 1;; turn++) {
        while (atomic_load_explicit(&shared->ping, memory_order_acquire) != turn) {
        }
        atomic_store_explicit(&shared->pong, turn, memory_order_release);
    }
}

static double took(struct job *j, floor_fn fn, long n)
{
    double begin = now();
    fn(j, n);
    return now() - begin;
}

void floor_row(struct job *j, const char *name, floor_fn fn, double per)
{
    const double batch = 0.005;
    long n = 1;
    printf(">\t%d\t%s\t%ld\n", j->number, name, j->bytes);
    while (took(j, fn, n) < batch)
        n *= 2;
    printf("=\t%d\t%s\t%ld", j->number++, name, j->bytes);
    for (int i = 0; i < BATCHES; i++)
        printf("\t%.5f", took(j, fn, n) / (double) n / per * 1e6);
    putchar('\n');
    fflush(stdout);
}

static int hand_over_row(struct job *j)
{
    pid_t partner = fork();
    if (partner < 0)
        return 1;
    if (partner == 0) {
        if (floor_pin(j, 1))
            answer(j->shared);
        _exit(1);
    }
    floor_pin(j, 0);
    floor_row(j, "hand_over", hand_over, 2);
    kill(partner, SIGKILL);
    waitpid(partner, NULL, 0);
    return 0;
}

int main(void)
{
    struct job j = {.private = malloc(FLOOR_BYTES_MAX) };
    j.shared = mmap(NULL, sizeof *j.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                    0);
    if (j.shared == MAP_FAILED || !j.private)
        return 1;
    memset(j.private, 1, FLOOR_BYTES_MAX);
    memset(j.shared, 0, sizeof *j.shared);
    sched_getaffinity(0, sizeof j.may, &j.may);
    /* With one processor a line is handed over nowhere. */
    if (CPU_COUNT(&j.may) > 1 && (hand_over_row(&j) || floor_ucx_rows(&j)))
        return 1;
    j.bytes = 0;
    floor_row(&j, "atomic", add, 1);
    floor_row(&j, "fence", fence, 1);
    for (j.bytes = 8; j.bytes <= FLOOR_BYTES_MAX; j.bytes *= 2)
        floor_row(&j, "memcpy", copy, 1);
    puts(".");
    return 0;
}
