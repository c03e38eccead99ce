/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Private memory of three ranks that have a processor each: rank 0 puts to rank 2, or gets from
 * it, a few words, which are held back, and then much to or from rank 1; both are there after the
 * flush. And an access epoch that ends with a long put is followed by one, to another rank, in
 * which nothing is done: each rank's wait ends.
 */
#include "testing.h"

enum { ROUNDS = 200, FEW = 3, LEAST = 32 << 10, MOST = 1 << 20, EPOCHS = 300 };

static char here[MOST], memory[MOST];
static long words[FEW];

static char byte_of(int round, long i)
{
    return (char) (i * 7 + i / 4096 + round);
}

static void fill(char *at, int round)
{
    for (long i = 0; i < MOST; i++)
        at[i] = byte_of(round, i);
}

static void check(const char *at, int round, long bytes, const char *what)
{
    for (long i = 0; i < bytes; i++)
        if (at[i] != byte_of(round, i)) {
            t_check(0, "%s of %ld bytes in round %d: byte %ld is %d, not %d", what, bytes, round, i,
                    at[i], byte_of(round, i));
            return;
        }
}

static void put_round(MPI_Win win, int round, int bytes)
{
    if (t_rank == 0) {
        fill(here, round);
        for (int i = 0; i < FEW; i++) {
            words[i] = round * 10 + i;
            MPI_Put(&words[i], 1, MPI_LONG, 2, i * (MPI_Aint) sizeof(long), 1, MPI_LONG, win);
        }
        MPI_Put(here, bytes, MPI_CHAR, 1, 0, bytes, MPI_CHAR, win);
        MPI_Win_flush_all(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    if (t_rank == 1)
        check(memory, round, bytes, "a put");
    for (int i = 0; i < FEW && t_rank == 2; i++)
        t_check(((long *) (void *) memory)[i] == round * 10 + i, "word %d in round %d", i, round);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void get_round(MPI_Win win, int round, int bytes)
{
    fill(memory, round + t_rank);
    memset(here, 0, sizeof here);
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0) {
        for (int i = 0; i < FEW; i++)
            MPI_Get(&words[i], 1, MPI_LONG, 2, i * (MPI_Aint) sizeof(long), 1, MPI_LONG, win);
        MPI_Get(here, bytes, MPI_CHAR, 1, 0, bytes, MPI_CHAR, win);
        MPI_Win_flush_all(win);
        check((char *) words, round + 2, sizeof words, "a few words");
        check(here, round + 1, bytes, "a get");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 has an epoch with each of the others, of which the second has no operation. */
static void epochs(MPI_Win win, MPI_Group world)
{
    for (int k = 0; k < EPOCHS; k++)
        for (int target = 1; target < 3; target++) {
            MPI_Group group;
            MPI_Group_incl(world, 1, t_rank == 0 ? &target : &(int){0}, &group);
            if (t_rank == target) {
                MPI_Win_post(group, 0, win);
                MPI_Win_wait(win);
            }
            if (t_rank == 0) {
                MPI_Win_start(group, 0, win);
                if (target == 1)
                    MPI_Put(here, LEAST, MPI_CHAR, 1, 0, LEAST, MPI_CHAR, win);
                MPI_Win_complete(win);
            }
            MPI_Group_free(&group);
        }
}

int main(int argc, char **argv)
{
    MPI_Win win;
    MPI_Group world;
    t_begin(&argc, &argv);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Win_create(memory, MOST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < ROUNDS; round++) {
        int bytes = LEAST << round % 6;
        (round % 4 < 2 ? put_round : get_round)(win, round, bytes);
    }
    MPI_Win_unlock_all(win);
    epochs(win, world);
    MPI_Win_free(&win);
    MPI_Group_free(&world);
    return t_end();
}
