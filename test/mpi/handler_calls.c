/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Error handlers that call MPI, of a window and of a communicator, while others need this process's
 * progress thread: each is called once for an error, what it calls works, and so does what comes
 * behind.
 */
#include "testing.h"

enum { ROUNDS = 3000, WORDS = 64 };

static int handled, turned;
static MPI_Win window;

/* Calls that take MPICH's lock, and may wait within it. */
static void calls(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length, flag;
    void *value;
    MPI_Win_get_name(window, name, &length);
    t_check(length == 6 && !strcmp(name, "window"), "the window's name is %s", name);
    MPI_Win_get_attr(window, MPI_WIN_BASE, &value, &flag);
    t_check(flag && value, "the window has no base");
    MPI_Sendrecv(&handled, 1, MPI_INT, 0, 0, &length, 1, MPI_INT, 0, 0, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
    t_check(length == handled, "%d was sent, %d received", handled, length);
    handled++;
}

static void of_window(MPI_Win *win, int *code, ...)
{
    (void) win, (void) code;
    calls();
}

static void of_comm(MPI_Comm *comm, int *code, ...)
{
    (void) comm, (void) code;
    calls();
}

/* The last window goes, or the first comes, within a call. */
static void frees(MPI_Comm *comm, int *code, ...)
{
    static long memory[WORDS];
    (void) comm, (void) code;
    if (window != MPI_WIN_NULL)
        MPI_Win_free(&window);
    else
        MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    turned++;
}

int main(int argc, char **argv)
{
    static long memory[WORDS];
    MPI_Errhandler win_handler, comm_handler, freer;
    t_begin(&argc, &argv);
    MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_set_name(window, "window");
    MPI_Win_create_errhandler(of_window, &win_handler);
    MPI_Win_set_errhandler(window, win_handler);
    MPI_Comm_create_errhandler(of_comm, &comm_handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, comm_handler);
    for (int i = 0; i < ROUNDS; i++) {
        long one = 1, old;
        int to = (t_rank + 1) % t_size;
        MPI_Win_lock(MPI_LOCK_SHARED, to, 0, window);
        MPI_Fetch_and_op(&one, &old, MPI_LONG, to, 0, MPI_SUM, window);
        MPI_Win_unlock(to, window);
        t_check(MPI_Win_unlock(to, window) != MPI_SUCCESS, "what is not locked is unlocked");
        if (i % 2)
            t_check(MPI_Send(&one, 1, MPI_LONG, t_size, 0, MPI_COMM_WORLD) != MPI_SUCCESS,
                    "rank %d exists", t_size);
    }
    t_check(handled == ROUNDS + ROUNDS / 2, "%d errors were handled", handled);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, t_rank, 0, window);
    t_check(memory[0] == ROUNDS, "the sum is %ld", memory[0]);
    MPI_Win_unlock(t_rank, window);
    MPI_Errhandler_free(&win_handler);
    MPI_Errhandler_free(&comm_handler);
    MPI_Comm_create_errhandler(frees, &freer);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, freer);
    for (int i = 0; i < 20; i++) {
        MPI_Send(&i, 1, MPI_INT, t_size, 0, MPI_COMM_WORLD);
        if (window != MPI_WIN_NULL) {
            long one = 1;
            MPI_Win_lock_all(0, window);
            MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, window);
            MPI_Win_unlock_all(window);
        }
    }
    t_check(turned == 20, "%d errors were handled", turned);
    MPI_Errhandler_free(&freer);
    MPI_Win_free(&window);
    return t_end();
}
