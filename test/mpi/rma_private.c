/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * rma_private [forbidden]: windows on memory that belongs to one process alone (MPI_Win_create,
 * dynamic windows), which the processes of a node read and write without the owner's help where the
 * system permits it. With `forbidden`, it does not: process_vm_readv() and process_vm_writev() are
 * refused, and everything works all the same.
 */
#define _GNU_SOURCE /* process_vm_readv */
#include "testing.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int next, previous;

/* Both calls fail with EPERM from here on, in this process and what it starts. */
static void forbid(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof program / sizeof program[0], .filter = program};
    char byte = 0, other = 0;
    struct iovec here = {&byte, 1}, there = {&other, 1};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0 ||
        process_vm_readv(getpid(), &here, 1, &there, 1, 0) != -1 || errno != EPERM) {
        printf("process_vm_readv cannot be forbidden\n");
        exit(1);
    }
}

static void lock(const struct t_win *w, int rank)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, w->win);
}

static void unlock(const struct t_win *w, int rank)
{
    MPI_Win_unlock(rank, w->win);
}

/* --- stretches -------------------------------------------------------------------------------- */

/* Of many lengths at odd places: what is put comes back, and the bytes beside it stay. */
static void stretches(enum t_flavour flavour)
{
    enum { ROOM = 8 << 20 };
    static const int lengths[] = {0, 1, 3, 8, 63, 4095, 4097, 65537, (1 << 20) + 1, (5 << 20) + 7};
    static unsigned char out[ROOM], in[ROOM];
    struct t_win w = t_win_make(MPI_COMM_WORLD, flavour, ROOM, 1);
    for (int i = 0; i < ROOM; i++)
        out[i] = (unsigned char) (i * 13 + t_rank);
    for (int k = 0; k < 30; k++) {
        int n = lengths[k % 10], at = (int) (t_random(1, (uint64_t) k) % (ROOM - (6u << 20))) + 1;
        lock(&w, next);
        MPI_Get(in, n + 2, MPI_BYTE, next, w.at[next] + at - 1, n + 2, MPI_BYTE, w.win);
        MPI_Win_flush(next, w.win);
        unsigned char before = in[0], behind = in[n + 1];
        MPI_Put(out + k, n, MPI_BYTE, next, w.at[next] + at, n, MPI_BYTE, w.win);
        MPI_Win_flush(next, w.win);
        memset(in, 0x5a, (size_t) n + 4);
        MPI_Get(in, n + 2, MPI_BYTE, next, w.at[next] + at - 1, n + 2, MPI_BYTE, w.win);
        unlock(&w, next);
        t_check(memcmp(in + 1, out + k, (size_t) n) == 0, "%s: %d bytes at %d are wrong",
                t_flavour_name[flavour], n, at);
        t_check(in[0] == before && in[n + 1] == behind && in[n + 2] == 0x5a,
                "%s: %d bytes at %d: neighbours have changed", t_flavour_name[flavour], n, at);
    }
    t_win_free(&w);
}

/* Single bytes from and to many places, more of them than one call of the system takes. */
static void crumbs(enum t_flavour flavour)
{
    enum { PIECES = 5000, ROOM = 8 * PIECES };
    static unsigned char out[ROOM], in[ROOM];
    struct t_win w = t_win_make(MPI_COMM_WORLD, flavour, ROOM, 1);
    MPI_Datatype threes, fives;
    MPI_Type_vector(PIECES, 1, 3, MPI_BYTE, &threes);
    MPI_Type_create_hvector(PIECES / 2, 2, 5, MPI_BYTE, &fives);
    MPI_Type_commit(&threes);
    MPI_Type_commit(&fives);
    for (int i = 0; i < ROOM; i++)
        out[i] = (unsigned char) (i * 31 + t_rank);
    lock(&w, next);
    MPI_Put(out, 1, threes, next, w.at[next], 1, fives, w.win);
    MPI_Win_flush(next, w.win);
    memset(in, 0x5a, sizeof in);
    MPI_Get(in, 1, threes, next, w.at[next], 1, fives, w.win);
    unlock(&w, next);
    for (int i = 0; i < ROOM; i++) {
        int used = i % 3 == 0 && i / 3 < PIECES;
        if (in[i] != (used ? out[i] : 0x5a)) {
            t_fault("%s: byte %d is %d, not %d", t_flavour_name[flavour], i, in[i], out[i]);
            break;
        }
    }
    MPI_Barrier(w.comm);
    lock(&w, t_rank);
    for (int i = 0; i < ROOM; i++) {
        int used = i % 5 < 2 && i / 5 < PIECES / 2, k = 3 * (i / 5 * 2 + i % 5);
        unsigned char want = used ? (unsigned char) (k * 31 + previous) : 0;
        if ((unsigned char) w.base[i] != want) {
            t_fault("%s: byte %d of the window is %d", t_flavour_name[flavour], i, w.base[i]);
            break;
        }
    }
    unlock(&w, t_rank);
    MPI_Type_free(&threes);
    MPI_Type_free(&fives);
    t_win_free(&w);
}

/* Many short operations on two targets by turns, completed together. */
static void swarm(enum t_flavour flavour)
{
    enum { WORDS = 307, ROUNDS = 20 }; /* a prime: all its multiples are different places */
    static int64_t in[WORDS], out[WORDS];
    struct t_win w = t_win_make(MPI_COMM_WORLD, flavour, 8 * WORDS * (size_t) t_size, 1);
    MPI_Win_lock_all(0, w.win);
    for (int k = 0; k < ROUNDS; k++) {
        for (int step = 0; step < 2; step++) {
            for (int i = 0; i < WORDS; i++) {
                int t = i % 2 ? next : previous, slot = t_rank * WORDS + i * (k + 1) % WORDS;
                out[i] = k * 1000 + i;
                if (step == 0)
                    MPI_Put(&out[i], 8, MPI_BYTE, t, w.at[t] + 8 * slot, 8, MPI_BYTE, w.win);
                else
                    MPI_Get(&in[i], 8, MPI_BYTE, t, w.at[t] + 8 * slot, 8, MPI_BYTE, w.win);
            }
            if (k % 3 == 0 || step == 0)
                MPI_Win_flush_all(w.win);
            else if (k % 3 == 1)
                MPI_Win_flush_local_all(w.win);
            MPI_Win_unlock_all(w.win);
            MPI_Win_lock_all(0, w.win);
        }
        for (int i = 0; i < WORDS; i++)
            t_check(in[i] == k * 1000 + i, "%s, round %d: word %d is %lld", t_flavour_name[flavour],
                    k, i, (long long) in[i]);
    }
    MPI_Win_unlock_all(w.win);
    t_win_free(&w);
}

/* --- order ------------------------------------------------------------------------------------ */

/* One operation on *value at `at` of the next rank, completed. */
static void operate(const struct t_win *w, MPI_Aint at, int k, int64_t *value)
{
    int64_t a = k * 1001 + t_rank, compare = k % 2 ? *value : *value + 1, was = *value, seen = was;
    switch (t_random(3, (uint64_t) k) % 6) {
    case 0:
        MPI_Put(&a, 1, MPI_INT64_T, next, at, 1, MPI_INT64_T, w->win);
        *value = a;
        break;
    case 1:
        seen = -1;
        MPI_Get(&seen, 1, MPI_INT64_T, next, at, 1, MPI_INT64_T, w->win);
        break;
    case 2:
        MPI_Accumulate(&a, 1, MPI_INT64_T, next, at, 1, MPI_INT64_T, MPI_SUM, w->win);
        *value += a;
        break;
    case 3:
        seen = -1;
        MPI_Get_accumulate(&a, 1, MPI_INT64_T, &seen, 1, MPI_INT64_T, next, at, 1, MPI_INT64_T,
                           MPI_BXOR, w->win);
        *value ^= a;
        break;
    case 4:
        seen = -1;
        MPI_Fetch_and_op(&a, &seen, MPI_INT64_T, next, at, MPI_REPLACE, w->win);
        *value = a;
        break;
    default:
        seen = -1;
        MPI_Compare_and_swap(&a, &compare, &seen, MPI_INT64_T, next, at, w->win);
        *value = compare == was ? a : was;
        break;
    }
    MPI_Win_flush(next, w->win);
    t_check(seen == was, "%s, step %d: fetched %lld instead of %lld", t_flavour_name[w->flavour], k,
            (long long) seen, (long long) was);
}

/* Every kind of operation after every other on one location, a flush between: each sees what the
 * one before left. */
static void one_after_the_other(enum t_flavour flavour)
{
    struct t_win w = t_win_make(MPI_COMM_WORLD, flavour, 8 * (size_t) t_size, 1);
    MPI_Aint at = w.at[next] + 8 * t_rank;
    int64_t value = 0, seen = 0;
    lock(&w, next);
    for (int k = 0; k < 700; k++) {
        operate(&w, at, k, &value);
        if (k % 3)
            continue;
        MPI_Get(&seen, 1, MPI_INT64_T, next, at, 1, MPI_INT64_T, w.win);
        MPI_Win_flush(next, w.win);
        t_check(seen == value, "%s, step %d: %lld instead of %lld", t_flavour_name[flavour], k,
                (long long) seen, (long long) value);
    }
    unlock(&w, next);
    t_win_free(&w);
}

/* A counter kept by get and put under an exclusive lock loses nothing. */
static void counted(enum t_flavour flavour)
{
    enum { TURNS = 100 };
    struct t_win w = t_win_make(MPI_COMM_WORLD, flavour, 16, 1);
    for (int k = 0; k < TURNS; k++) {
        int64_t pair[2];
        lock(&w, 0);
        MPI_Get(pair, 2, MPI_INT64_T, 0, w.at[0], 2, MPI_INT64_T, w.win);
        MPI_Win_flush(0, w.win);
        t_check(pair[1] == 3 * pair[0], "%s: halves of a pair apart: %lld %lld",
                t_flavour_name[flavour], (long long) pair[0], (long long) pair[1]);
        pair[0] += 1;
        pair[1] += 3;
        MPI_Put(pair, 2, MPI_INT64_T, 0, w.at[0], 2, MPI_INT64_T, w.win);
        unlock(&w, 0);
    }
    MPI_Barrier(w.comm);
    lock(&w, 0);
    int64_t sum = 0;
    MPI_Get(&sum, 1, MPI_INT64_T, 0, w.at[0], 1, MPI_INT64_T, w.win);
    unlock(&w, 0);
    t_check(sum == (int64_t) TURNS * t_size, "%s: %lld turns instead of %d",
            t_flavour_name[flavour], (long long) sum, TURNS * t_size);
    t_win_free(&w);
}

/* The owner's own stores and loads between epochs of every kind. */
static void owner_sees(enum t_flavour flavour)
{
    struct t_win w = t_win_make(MPI_COMM_WORLD, flavour, 64, 1);
    volatile int *own = (volatile int *) (void *) w.base;
    MPI_Group all;
    MPI_Comm_group(w.comm, &all);
    for (int k = 1; k < 60; k++) {
        int value = 10 * k + t_rank, back = -1;
        if (k % 2) {
            MPI_Win_fence(0, w.win);
            own[1] = value;
            MPI_Win_fence(0, w.win);
        } else {
            own[1] = value;
            MPI_Win_post(all, 0, w.win);
            MPI_Win_start(all, 0, w.win);
        }
        MPI_Put(&value, 1, MPI_INT, next, w.at[next], 1, MPI_INT, w.win);
        MPI_Get(&back, 1, MPI_INT, next, w.at[next] + 4, 1, MPI_INT, w.win);
        if (k % 2) {
            MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
        } else {
            MPI_Win_complete(w.win);
            MPI_Win_wait(w.win);
        }
        t_check(back == 10 * k + next, "%s, epoch %d: the owner's store is %d",
                t_flavour_name[flavour], k, back);
        t_check(own[0] == 10 * k + previous, "%s, epoch %d: the owner sees %d",
                t_flavour_name[flavour], k, own[0]);
    }
    MPI_Group_free(&all);
    t_win_free(&w);
}

/* --- dynamic windows -------------------------------------------------------------------------- */

static MPI_Win dynamic;

static MPI_Aint address(const void *at)
{
    MPI_Aint a;
    MPI_Get_address(at, &a);
    return a;
}

/* To the previous rank, which is the one that uses my memory; from the next one. */
static void tell(const MPI_Aint *mine, MPI_Aint *theirs, int n)
{
    MPI_Sendrecv(mine, n, MPI_AINT, previous, 5, theirs, n, MPI_AINT, next, 5, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* Is an access of n words refused? In its call or in the call that completes it. */
static int refused(MPI_Aint at, int n, int get)
{
    static int words[4096];
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, dynamic);
    int code = get ? MPI_Get(words, n, MPI_INT, next, at, n, MPI_INT, dynamic)
                   : MPI_Put(words, n, MPI_INT, next, at, n, MPI_INT, dynamic);
    int later = MPI_Win_unlock(next, dynamic);
    t_check((code == MPI_SUCCESS || t_class(code) == MPI_ERR_RMA_RANGE) &&
                (later == MPI_SUCCESS || t_class(later) == MPI_ERR_RMA_RANGE),
            "a refused access: %s", t_text(code ? code : later));
    return code != MPI_SUCCESS || later != MPI_SUCCESS;
}

/* The same memory comes and goes, also from under the list's feet: what is detached is refused,
 * though it was found a moment ago. */
static void comes_and_goes(void)
{
    enum { WORDS = 4096 };
    for (int k = 0; k < 20; k++) {
        int *memory = mmap(NULL, WORDS * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                           0);
        MPI_Aint mine = address(memory), theirs;
        t_expect(MPI_SUCCESS, MPI_Win_attach(dynamic, memory, WORDS * 4));
        tell(&mine, &theirs, 1);
        t_check(!refused(theirs, WORDS, 0) && !refused(theirs + 4 * (WORDS - 1), 1, 1),
                "round %d: attached memory is refused", k);
        t_check(refused(theirs - 4, 2, 1) && refused(theirs + 4 * (WORDS - 1), 2, 0),
                "round %d: more than what is attached", k);
        MPI_Barrier(MPI_COMM_WORLD);
        t_expect(MPI_SUCCESS, MPI_Win_detach(dynamic, memory));
        if (k % 2)
            munmap(memory, WORDS * 4);
        MPI_Barrier(MPI_COMM_WORLD);
        t_check(refused(theirs, 1, 0) && refused(theirs, 1, 1), "round %d: detached memory", k);
        MPI_Barrier(MPI_COMM_WORLD);
        if (k % 2 == 0) { /* a part of it again, in halves that touch */
            t_expect(MPI_SUCCESS, MPI_Win_attach(dynamic, memory + 20, 40));
            t_expect(MPI_SUCCESS, MPI_Win_attach(dynamic, memory + 10, 40));
            MPI_Barrier(MPI_COMM_WORLD);
            t_check(!refused(theirs + 40, 20, 0) && !refused(theirs + 76, 2, 1),
                    "round %d: halves that touch are refused", k);
            t_check(refused(theirs + 36, 2, 0) && refused(theirs + 116, 2, 1),
                    "round %d: beside the halves", k);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Win_detach(dynamic, memory + 10);
            MPI_Win_detach(dynamic, memory + 20);
            munmap(memory, WORDS * 4);
        }
    }
}

/* Hundreds of regions, attached in one order and detached in another; all of them used, one by one
 * and many in one operation whose type holds their addresses. */
static void many(void)
{
    enum { REGIONS = 700, WORDS = 5 };
    static int *memory[REGIONS];
    static MPI_Aint mine[REGIONS], theirs[REGIONS];
    static int out[REGIONS * WORDS], in[REGIONS * WORDS];
    MPI_Datatype type;
    for (int i = 0; i < REGIONS; i++) {
        memory[i] = t_alloc(WORDS * sizeof(int));
        mine[i] = address(memory[i]);
    }
    for (int i = 0; i < REGIONS; i++)
        t_expect(MPI_SUCCESS,
                 MPI_Win_attach(dynamic, memory[i * 333 % REGIONS], WORDS * sizeof(int)));
    tell(mine, theirs, REGIONS);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, dynamic);
    for (int i = 0; i < REGIONS; i++) {
        for (int k = 0; k < WORDS; k++)
            out[i * WORDS + k] = t_rank * 100000 + i * WORDS + k;
        MPI_Put(&out[i * WORDS], WORDS, MPI_INT, next, theirs[i], WORDS, MPI_INT, dynamic);
    }
    MPI_Win_unlock(next, dynamic);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < REGIONS * WORDS; i++)
        t_check(memory[i / WORDS][i % WORDS] == previous * 100000 + i, "region %d, word %d is %d",
                i / WORDS, i % WORDS, memory[i / WORDS][i % WORDS]);
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_Type_create_hindexed_block(REGIONS, WORDS, theirs, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, dynamic);
    t_expect(MPI_SUCCESS, MPI_Get(in, REGIONS * WORDS, MPI_INT, next, 0, 1, type, dynamic));
    t_expect(MPI_SUCCESS, MPI_Win_flush(next, dynamic));
    for (int i = 0; i < REGIONS * WORDS; i++)
        t_check(in[i] == out[i], "all regions in one get: word %d is %d", i, in[i]);
    t_expect(MPI_SUCCESS, MPI_Accumulate(out, REGIONS * WORDS, MPI_INT, next, 0, 1, type, MPI_SUM,
                                         dynamic));
    t_expect(MPI_SUCCESS, MPI_Win_flush(next, dynamic));
    t_expect(MPI_SUCCESS, MPI_Put(out, 1, MPI_INT, next, theirs[7], 1, MPI_INT, dynamic));
    t_expect(MPI_SUCCESS, MPI_Win_unlock(next, dynamic));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < REGIONS * WORDS; i++) {
        int want = previous * 100000 + i;
        want = i == 7 * WORDS ? previous * 100000 : 2 * want;
        t_check(memory[i / WORDS][i % WORDS] == want, "region %d, word %d is %d, not %d", i / WORDS,
                i % WORDS, memory[i / WORDS][i % WORDS], want);
    }
    MPI_Barrier(MPI_COMM_WORLD);

    /* one of them missing: the whole operation is refused */
    t_expect(MPI_SUCCESS, MPI_Win_detach(dynamic, memory[123]));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, dynamic);
    int code = MPI_Get(in, REGIONS * WORDS, MPI_INT, next, 0, 1, type, dynamic);
    int later = MPI_Win_unlock(next, dynamic);
    t_check(t_class(code) == MPI_ERR_RMA_RANGE || t_class(later) == MPI_ERR_RMA_RANGE,
            "a type with a place that is not attached: %s", t_text(code));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = REGIONS - 1; i >= 0; i--) {
        if (i * 79 % REGIONS != 123)
            t_expect(MPI_SUCCESS, MPI_Win_detach(dynamic, memory[i * 79 % REGIONS]));
        free(memory[i * 79 % REGIONS]);
    }
    MPI_Type_free(&type);
}

/* The list changes all the time while others look in it: what stays attached is always found. */
static void changing(void)
{
    enum { OTHERS = 64, ROUNDS = 300 };
    int fixed[4] = {0, 0, 0, 0}, back[2] = {0, 0};
    static char other[OTHERS][64];
    MPI_Aint mine = address(fixed), theirs;
    MPI_Win_attach(dynamic, fixed, sizeof fixed);
    tell(&mine, &theirs, 1);
    MPI_Win_lock_all(0, dynamic);
    for (int k = 0; k < ROUNDS; k++) {
        int i = k % OTHERS, pair[2] = {k, -k};
        if (k / OTHERS % 2)
            t_expect(MPI_SUCCESS, MPI_Win_detach(dynamic, other[i]));
        else
            t_expect(MPI_SUCCESS, MPI_Win_attach(dynamic, other[i], 32));
        t_expect(MPI_SUCCESS, MPI_Put(pair, 2, MPI_INT, next, theirs + 4, 2, MPI_INT, dynamic));
        t_expect(MPI_SUCCESS, MPI_Win_flush(next, dynamic));
        t_expect(MPI_SUCCESS, MPI_Get(back, 2, MPI_INT, next, theirs + 4, 2, MPI_INT, dynamic));
        t_expect(MPI_SUCCESS, MPI_Win_flush(next, dynamic));
        t_check(back[0] == k && back[1] == -k, "while the list changes: %d %d", back[0], back[1]);
    }
    MPI_Win_unlock_all(dynamic);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_detach(dynamic, fixed);
    for (int i = 0; i < OTHERS; i++)
        (void) MPI_Win_detach(dynamic, other[i]); /* those that are still there */
}

/* The same memory in two windows. */
static void twice(void)
{
    int memory[8] = {0};
    MPI_Win win;
    MPI_Aint mine = address(memory), theirs;
    MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(dynamic, memory, sizeof memory);
    tell(&mine, &theirs, 1);
    for (int k = 0; k < 50; k++) {
        int value = 100 * k + t_rank, back = -1;
        MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
        MPI_Put(&value, 1, MPI_INT, next, 3, 1, MPI_INT, win);
        MPI_Win_unlock(next, win);
        MPI_Win_lock(MPI_LOCK_SHARED, next, 0, dynamic);
        MPI_Get(&back, 1, MPI_INT, next, theirs + 12, 1, MPI_INT, dynamic);
        MPI_Win_unlock(next, dynamic);
        t_check(back == value, "put by one window, %d by the other", back);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_detach(dynamic, memory);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "forbidden") == 0)
        forbid();
    t_begin(&argc, &argv);
    next = (t_rank + 1) % t_size;
    previous = (t_rank + t_size - 1) % t_size;
    for (int f = T_CREATE; f <= T_DYNAMIC; f += T_DYNAMIC - T_CREATE) {
        stretches((enum t_flavour) f);
        crumbs((enum t_flavour) f);
        swarm((enum t_flavour) f);
        one_after_the_other((enum t_flavour) f);
        counted((enum t_flavour) f);
        owner_sees((enum t_flavour) f);
    }
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
    MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN);
    comes_and_goes();
    many();
    changing();
    twice();
    MPI_Win_free(&dynamic);
    return t_end();
}
