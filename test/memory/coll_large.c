/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Collectives of more than 2^31 bytes: a broadcast, the blocks of all together, a sum. Each process
 * has one piece of memory of that size and no more.
 */
#include "../mpi/testing.h"
#include <sys/mman.h>

/* words; a multiple of the ranks, 2, and no multiple of a page */
enum { WORDS = (1 << 28) + 514, STEP = 512 };

static uint64_t *memory;

static uint64_t word(MPI_Count at, int seed)
{
    return (uint64_t) at * 2654435761u + (uint64_t) seed;
}

/* A word of every page, and the last of all; the others are 0, or what they have been. */
static void fill(MPI_Count from, MPI_Count to, int seed)
{
    for (MPI_Count at = from; at < to; at += STEP)
        memory[at] = word(at, seed);
    memory[to - 1] = word(to - 1, seed);
}

static void check(MPI_Count from, MPI_Count to, int seed, uint64_t times, const char *what)
{
    MPI_Count wrong = 0, first = -1;
    for (MPI_Count at = from; at < to; at += STEP)
        if (memory[at] != word(at, seed) * times && wrong++ == 0)
            first = at;
    t_check(wrong == 0, "%s: %lld words are wrong, the first at %lld", what, (long long) wrong,
            (long long) first);
    t_check(memory[to - 1] == word(to - 1, seed) * times, "%s: the last word", what);
}

int main(int argc, char **argv)
{
    MPI_Count half = WORDS / 2;
    size_t room = WORDS * sizeof *memory;
    t_begin(&argc, &argv);
    memory = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || t_size != 2) {
        printf("no memory, or not two ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (t_rank == 1)
        fill(0, WORDS, 1);
    MPI_Bcast_c(memory, WORDS, MPI_UINT64_T, 1, MPI_COMM_WORLD);
    check(0, WORDS, 1, 1, "broadcast");

    fill(t_rank * half, (t_rank + 1) * half, 2);
    MPI_Allgather_c(MPI_IN_PLACE, half, MPI_UINT64_T, memory, half, MPI_UINT64_T, MPI_COMM_WORLD);
    check(0, half, 2, 1, "allgather, below");
    check(half, 2 * half, 2, 1, "allgather, above");

    fill(0, WORDS, 3);
    MPI_Allreduce_c(MPI_IN_PLACE, memory, WORDS, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    check(0, WORDS, 3, 2, "sum");
    munmap(memory, room);
    return t_end();
}
