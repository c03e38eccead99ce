/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Accumulates of one origin to one location are done in the order of the calls (MPI-4, 12.7.2),
 * whichever way each goes: one that the network's atomics do not know, and goes by message, and
 * behind it some that they do, with and without a request. Whatever the stack held before.
 */
#include "testing.h"

enum { ROUNDS = 300, PLACES = 4 };

/* What calls before have left where the next one's variables will be. */
__attribute__((noinline)) static void stack_fill(int value)
{
    int left[2048];
    for (int i = 0; i < 2048; i++)
        left[i] = value;
    __asm__ volatile("" :: "r"(left) : "memory");
}

/* place: 8 bytes whose value is `is`. */
static void round_of(MPI_Win win, int to, MPI_Aint at, int fill, int64_t is)
{
    static const int64_t one = 1, bit = 1024, minus = -1;
    int64_t got = -1, sum = -1, old = -1;
    MPI_Request req;
    stack_fill(fill);
    MPI_Fetch_and_op(&one, &got, MPI_INT64_T, to, at, MPI_PROD, win);
    stack_fill(fill);
    MPI_Raccumulate(&bit, 1, MPI_INT64_T, to, at, 1, MPI_INT64_T, MPI_BXOR, win, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    stack_fill(fill);
    MPI_Get_accumulate(&one, 1, MPI_INT64_T, &sum, 1, MPI_INT64_T, to, at, 1, MPI_INT64_T,
                       MPI_PROD, win);
    stack_fill(fill);
    MPI_Compare_and_swap(&minus, &one, &old, MPI_INT64_T, to, at, win);
    MPI_Win_flush(to, win);
    t_check(got == is, "fetched %ld before the update, not %ld", (long) got, (long) is);
    t_check(sum == (is ^ bit) && old == (is ^ bit), "%ld, %ld behind it, not %ld", (long) sum,
            (long) old, (long) (is ^ bit));
}

int main(int argc, char **argv)
{
    static const int fills[] = {0, 1, 0x80, -1};
    int64_t *memory;
    MPI_Win win;
    t_begin(&argc, &argv);
    MPI_Win_allocate(8 * PLACES, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 0, 8 * PLACES);
    MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < ROUNDS && t_rank < PLACES; i++)
        round_of(win, (t_rank + 1) % t_size, t_rank, fills[i % 4], i % 2 ? 1024 : 0);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    return t_end();
}
