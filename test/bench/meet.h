/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * How ranks of one machine wait for each other between what is timed, where there are more of them
 * than processors: asleep. Barriers of an MPI that spins take many time slices there, and a row has
 * dozens of them.
 *
 * 1. Who waits looks into MPI every millisecond: others may need its progress.
 * 2. A value of meeting n is read before meeting n + 1, and written over after that: two sets of
 *    slots go round.
 */
#ifndef WDL_BENCH_MEET_H_INCLUDED
#define WDL_BENCH_MEET_H_INCLUDED

#include <fcntl.h>
#include <linux/futex.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MEETING_RANKS_MAX = 64 };

struct meeting {                /* shared by all ranks */
    _Atomic unsigned number;    /* meetings so far */
    atomic_int here;
    double slots[2][MEETING_RANKS_MAX];
};

/* All ranks: memory that they share, all zero; NULL for all if one has none. */
static inline void *meeting_memory(int rank, size_t bytes)
{
    char path[] = "/dev/shm/windlass-bench-XXXXXX";
    void *at = MAP_FAILED;
    int all, file = rank == 0 ? mkstemp(path) : -1;
    if (file >= 0 && ftruncate(file, (off_t) bytes) != 0) {
        unlink(path);
        *path = 0;
    }
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank != 0)
        file = open(path, O_RDWR);
    if (file >= 0)
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    all = at != MAP_FAILED;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (file >= 0)
        close(file);
    if (rank == 0)
        unlink(path);
    if (!all && at != MAP_FAILED)
        munmap(at, bytes);
    return all ? at : NULL;
}

/* All ranks. NULL if there is none to be had: more than MEETING_RANKS_MAX ranks, no memory. */
static inline struct meeting *meeting_begin(int rank, int size)
{
    return size <= MEETING_RANKS_MAX ? meeting_memory(rank, sizeof(struct meeting)) : NULL;
}

static inline void meeting_end(struct meeting *m)
{
    if (m)
        munmap(m, sizeof *m);
}

/* All ranks, one after the other. */
static inline void meeting_wait(struct meeting *m, int size)
{
    const struct timespec millisecond = {.tv_nsec = 1000000 };
    unsigned number = atomic_load(&m->number);
    int ignored;
    if (atomic_fetch_add(&m->here, 1) == size - 1) {
        atomic_store(&m->here, 0);
        atomic_store(&m->number, number + 1);
        syscall(SYS_futex, &m->number, FUTEX_WAKE, size, NULL, NULL, 0);
        return;
    }
    while (atomic_load(&m->number) == number) {
        syscall(SYS_futex, &m->number, FUTEX_WAIT, number, &millisecond, NULL, 0);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &ignored, MPI_STATUS_IGNORE);
    }
}

/* All ranks: each says its value; the slots of all ranks, good until the next meeting. */
static inline const double *meeting_say(struct meeting *m, int rank, int size, double value)
{
    double *slots = m->slots[atomic_load(&m->number) % 2];
    slots[rank] = value;
    meeting_wait(m, size);
    return slots;
}

#endif
