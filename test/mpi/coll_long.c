/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * coll_long [little|many]: long data, blocking and not, by several at a time: memory that a node's
 * ranks share is used again and again, and what does not find room there is fetched.
 *
 *   little  there is not plenty of that memory (shm_full.sh makes it so): it is left to others
 *   many    many communicators want it (the same, for this test's own /dev/shm): there is some left
 *           for the next one
 */
#include "testing.h"
#include <sys/statvfs.h>

enum { ROUNDS = 3, AT_A_TIME = 3, MOST = (4 << 20) + 24 };

static const int lengths[] = {600000, 1 << 20, 4 << 20, MOST};
static unsigned char *mine, *all[AT_A_TIME], *one[AT_A_TIME];

static unsigned char byte_of(int i, int owner, int seed)
{
    return (unsigned char) (i * 31 + i / 4096 + owner * 17 + seed * 7);
}

static void fill(unsigned char *at, int bytes, int owner, int seed)
{
    for (int i = 0; i < bytes; i++)
        at[i] = byte_of(i, owner, seed);
}

static int wrong(const unsigned char *at, int bytes, int first, int owner, int seed)
{
    int n = 0;
    for (int i = 0; i < bytes; i++)
        n += at[i] != byte_of(first + i, owner, seed);
    return n;
}

static void blocking(int bytes, int seed)
{
    int part = bytes / t_size, root = seed % t_size, n = 0;
    fill(one[0], bytes, t_rank, seed);
    MPI_Bcast(one[0], bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    t_check(!wrong(one[0], bytes, 0, root, seed), "bcast of %d bytes", bytes);
    fill(mine, bytes, t_rank, seed);
    MPI_Allgather(mine, bytes, MPI_BYTE, all[0], bytes, MPI_BYTE, MPI_COMM_WORLD);
    for (int i = 0; i < t_size; i++)
        n += wrong(all[0] + (size_t) i * (size_t) bytes, bytes, 0, i, seed);
    t_check(n == 0, "allgather of %d bytes: %d are wrong", bytes, n);
    MPI_Alltoall(mine, part, MPI_BYTE, one[0], part, MPI_BYTE, MPI_COMM_WORLD);
    for (int i = n = 0; i < t_size; i++)
        n += wrong(one[0] + i * part, part, t_rank * part, i, seed);
    t_check(n == 0, "alltoall of %d bytes: %d are wrong", part, n);
}

/* Each root's memory is its own again when its request is complete. */
static void together(int bytes, int seed)
{
    MPI_Request request[2 * AT_A_TIME];
    int n = 0;
    fill(mine, bytes, t_rank, seed);
    for (int k = 0; k < AT_A_TIME; k++) {
        int root = (seed + k) % t_size;
        fill(one[k], bytes, t_rank, seed + k);
        MPI_Ibcast(one[k], bytes, MPI_BYTE, root, MPI_COMM_WORLD, &request[2 * k]);
        MPI_Iallgather(mine, bytes, MPI_BYTE, all[k], bytes, MPI_BYTE, MPI_COMM_WORLD,
                       &request[2 * k + 1]);
    }
    MPI_Waitall(2 * AT_A_TIME, request, MPI_STATUSES_IGNORE);
    for (int k = 0; k < AT_A_TIME; k++) {
        n += wrong(one[k], bytes, 0, (seed + k) % t_size, seed + k);
        for (int i = 0; i < t_size; i++)
            n += wrong(all[k] + (size_t) i * (size_t) bytes, bytes, 0, i, seed);
    }
    t_check(n == 0, "%d together of %d bytes: %d are wrong", 2 * AT_A_TIME, bytes, n);
}

/* MiB of /dev/shm that nobody uses. */
static long unused(void)
{
    struct statvfs fs;
    t_check(statvfs("/dev/shm", &fs) == 0, "there is no /dev/shm");
    return (long) (fs.f_bavail * fs.f_frsize >> 20);
}

static void many(void)
{
    enum { COMMS = 40, BYTES = 1 << 20 };
    static MPI_Comm comm[COMMS + 1];
    long left = 0;
    for (int k = 0; k <= COMMS; k++) {
        int sum = 1;
        left = unused();
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[k]);
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm[k]);
        t_check(sum == t_size, "allreduce of communicator %d", k);
        if (k < COMMS)
            MPI_Allgather(mine, BYTES, MPI_BYTE, all[0], BYTES, MPI_BYTE, comm[k]);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    t_check(unused() < left, "the last communicator has no memory");
    for (int k = 0; k <= COMMS; k++)
        MPI_Comm_free(&comm[k]);
}

int main(int argc, char **argv)
{
    enum { FEW = 16 };
    t_begin(&argc, &argv);
    long before = unused();
    const char *what = argc > 1 ? argv[1] : "";
    mine = t_alloc(MOST);
    for (int k = 0; k < AT_A_TIME; k++) {
        one[k] = t_alloc(MOST);
        all[k] = t_alloc((size_t) t_size * MOST);
    }
    if (strcmp(what, "many") == 0)
        many();
    for (int round = 0; round < ROUNDS && *what != 'm'; round++)
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
            blocking(lengths[l], 10 * round + (int) l);
            together(lengths[l], 10 * round + (int) l);
        }
    if (strcmp(what, "little") == 0)
        t_check(before - unused() < FEW, "%ld MiB of little are taken", before - unused());
    free(mine);
    for (int k = 0; k < AT_A_TIME; k++) {
        free(one[k]);
        free(all[k]);
    }
    return t_end();
}
