/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * rma_large create|allocate: more than 2^31 bytes, and elements, in one put, get, accumulate and
 * get_accumulate: as a count, and as a derived type that lies more than 2^31 bytes apart. Rank 1
 * has the window; either rank has one piece of memory of that size and no more.
 */
#include "testing.h"
#include <sys/mman.h>

#define BYTES (((MPI_Count) 1 << 31) + 4096 + 5)

enum { STEP = 4096 };

static unsigned char *memory;
static MPI_Win win;

static unsigned char value(MPI_Count at, int seed)
{
    return (unsigned char) (at / STEP * 7 + seed);
}

/* A byte of every page, and the last. */
static void fill(int seed)
{
    for (MPI_Count at = 0; at < BYTES; at += STEP)
        memory[at] = value(at, seed);
    memory[BYTES - 1] = (unsigned char) (200 + seed);
}

/* As after fill(seed), to which fill(added) was added; 0: nothing was. */
static void check(int seed, int added, const char *what)
{
    MPI_Count wrong = 0, first = -1;
    for (MPI_Count at = 0; at < BYTES - 1; at += STEP) {
        unsigned char more = added ? value(at, added) : 0;
        if (memory[at] != (unsigned char) (value(at, seed) + more) && wrong++ == 0)
            first = at;
    }
    int last = 200 + seed + (added ? 200 + added : 0);
    t_check(wrong == 0, "%s: %lld wrong, the first at %lld", what, (long long) wrong,
            (long long) first);
    t_check(memory[BYTES - 1] == (unsigned char) last, "%s: the last byte is %d",
            what, memory[BYTES - 1]);
}

/* Rank 0 adds what fill(2) says to rank 1's fill(1). */
static void accumulate(void)
{
    fill(t_rank == 0 ? 2 : 1);
    MPI_Win_fence(0, win);
    if (t_rank == 0)
        MPI_Accumulate_c(memory, BYTES, MPI_UINT8_T, 1, 0, BYTES, MPI_UINT8_T, MPI_SUM, win);
    MPI_Win_fence(0, win);
    if (t_rank == 1)
        check(1, 2, "accumulate");
}

/* And fetches the sum without a change: there is no memory for a second piece. */
static void fetch(void)
{
    MPI_Win_fence(0, win);
    if (t_rank == 0)
        MPI_Get_accumulate_c(NULL, 0, MPI_UINT8_T, memory, BYTES, MPI_UINT8_T, 1, 0, BYTES,
                             MPI_UINT8_T, MPI_NO_OP, win);
    MPI_Win_fence(0, win);
    check(1, 2, "get_accumulate");
}

static void put(void)
{
    if (t_rank == 0)
        fill(3);
    MPI_Win_fence(0, win);
    if (t_rank == 0)
        MPI_Put_c(memory, BYTES, MPI_BYTE, 1, 0, BYTES, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    if (t_rank == 1) {
        check(3, 0, "put");
        fill(4);
    }
    MPI_Win_fence(0, win);
}

static void get(void)
{
    if (t_rank == 0)
        MPI_Get_c(memory, BYTES, MPI_BYTE, 1, 0, BYTES, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    if (t_rank == 0)
        check(4, 0, "get");
}

/* Two bytes, the second far behind the first. */
static void apart(void)
{
    MPI_Datatype far;
    const MPI_Count lengths[] = {1, 1}, places[] = {0, BYTES - 1};
    MPI_Type_create_hindexed_c(2, lengths, places, MPI_UINT8_T, &far);
    MPI_Type_commit(&far);
    memory[0] = memory[BYTES - 1] = (unsigned char) (10 + t_rank);
    MPI_Win_fence(0, win);
    if (t_rank == 0)
        MPI_Accumulate(memory, 1, far, 1, 0, 1, far, MPI_SUM, win);
    MPI_Win_fence(0, win);
    if (t_rank == 0)
        MPI_Get(memory, 1, far, 1, 0, 1, far, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    t_check(memory[0] == 21 && memory[BYTES - 1] == 21, "far apart: %d and %d", memory[0],
            memory[BYTES - 1]);
    MPI_Type_free(&far);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    int allocate = t_flavour_of(argc, argv) == T_ALLOCATE;
    MPI_Aint bytes = t_rank == 1 ? (MPI_Aint) BYTES : 0;
    if (!allocate || t_rank == 0)
        memory = mmap(NULL, (size_t) BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0);
    if (memory == MAP_FAILED) {
        printf("no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    unsigned char *base;
    if (allocate)
        MPI_Win_allocate_c(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    else
        MPI_Win_create_c(memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (allocate && t_rank == 1)
        memory = base;
    accumulate();
    fetch();
    put();
    get();
    apart();
    MPI_Win_free(&win);
    if (!allocate || t_rank == 0)
        munmap(memory, (size_t) BYTES);
    return t_end();
}
