/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * dying RANK WAY WHERE: the process of this rank ends by KILL, SEGV, EXIT (with 3) or ABORT
 * (MPI_Abort with 4) while the job is busy with messages, in a window, in collectives, or
 * computing. Used by rank_dies.sh; it has no end of its own.
 */
#include "testing.h"
#include <signal.h>
#include <unistd.h>

static void end(const char *way)
{
    if (strcmp(way, "KILL") == 0)
        kill(getpid(), SIGKILL);
    else if (strcmp(way, "SEGV") == 0)
        raise(SIGSEGV);
    else if (strcmp(way, "EXIT") == 0)
        _exit(3);
    MPI_Abort(MPI_COMM_WORLD, 4);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    int mortal = atoi(argv[1]), value = 0, rounds = 200;
    const char *where = argv[3];
    struct t_win w = t_win_make(MPI_COMM_WORLD, T_ALLOCATE, 1 << 20, 1);
    int *sink = t_alloc(1 << 20);
    MPI_Win_lock_all(0, w.win);
    for (int i = 0;; i++) {
        if (i == rounds && t_rank == mortal)
            end(argv[2]);
        if (strcmp(where, "messages") == 0)
            MPI_Sendrecv(&i, 1, MPI_INT, (t_rank + 1) % t_size, 0, &value, 1, MPI_INT,
                         (t_rank + t_size - 1) % t_size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else if (strcmp(where, "window") == 0) {
            MPI_Put(sink, 1000, MPI_INT, (t_rank + 1) % t_size, 0, 1000, MPI_INT, w.win);
            MPI_Win_flush((t_rank + 1) % t_size, w.win);
        } else if (strcmp(where, "collectives") == 0)
            MPI_Allreduce(&i, &value, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        else
            usleep(100);
    }
}
