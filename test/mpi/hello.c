/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * hello [session|io|ends|reduces|shows]: starts, says so to its neighbour, and ends. With
 * `session`, from sessions alone; with `io`, every process writes its part of a file and reads its
 * neighbour's. Others say nothing to their neighbours: they end, or reduce, or make a window first.
 */
#include "testing.h"

static void greet(MPI_Comm comm)
{
    int rank, size, from = -1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &from, 1, MPI_INT,
                 (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE);
    t_check(from == (rank + size - 1) % size, "the neighbour says it is %d", from);
}

/* Two sessions that overlap, each with a communicator of its own. (MPICH 4.0.2 cannot begin again
 * once the last session has ended.) */
static int from_sessions(void)
{
    MPI_Session session[2];
    MPI_Comm comm[2];
    int rank, all, sets;
    for (int k = 0; k < 2; k++) {
        MPI_Group group;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session[k]);
        MPI_Session_get_num_psets(session[k], MPI_INFO_NULL, &sets);
        t_check(sets >= 2, "%d process sets", sets);
        MPI_Group_from_session_pset(session[k], "mpi://WORLD", &group);
        MPI_Comm_create_from_group(group, k ? "second" : "first", MPI_INFO_NULL,
                                   MPI_ERRORS_ARE_FATAL, &comm[k]);
        MPI_Group_free(&group);
        greet(comm[k]);
    }
    for (int k = 0; k < 2; k++) {
        greet(comm[1]);
        MPI_Comm_rank(comm[1], &rank);
        MPI_Allreduce(&t_faults, &all, 1, MPI_INT, MPI_SUM, comm[1]);
        if (k == 1)
            break;
        MPI_Comm_free(&comm[0]);
        MPI_Session_finalize(&session[0]);
    }
    if (rank == 0 && all == 0)
        printf(" No Errors\n");
    MPI_Comm_free(&comm[1]);
    MPI_Session_finalize(&session[1]);
    return all != 0;
}

static void files(void)
{
    enum { WORDS = 1000 };
    int out[WORDS], in[WORDS], next = (t_rank + 1) % t_size;
    MPI_File file;
    const char *name = "hello_io.tmp";
    for (int i = 0; i < WORDS; i++)
        out[i] = t_rank * WORDS + i;
    int code = MPI_File_open(MPI_COMM_WORLD, name,
                             MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                             MPI_INFO_NULL, &file);
    t_check(code == MPI_SUCCESS, "MPI_File_open: %s", t_text(code));
    if (code != MPI_SUCCESS)
        return;
    MPI_Offset part = (MPI_Offset) sizeof out;
    MPI_File_write_at_all(file, t_rank * part, out, WORDS, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at_all(file, next * part, in, WORDS, MPI_INT, MPI_STATUS_IGNORE);
    for (int i = 0; i < WORDS; i++)
        t_check(in[i] == next * WORDS + i, "word %d of rank %d's part is %d", i, next, in[i]);
    MPI_File_close(&file);
}

/* 1: done, in so far as it is done without a word. */
static int quiet(const char *what)
{
    int word;
    MPI_Win win;
    if (strcmp(what, "ends") == 0) {
        if (t_rank == 0)
            printf(" No Errors\n");
        MPI_Finalize();
    } else if (strcmp(what, "reduces") == 0) {
        (void) t_end();
    } else if (strcmp(what, "shows") == 0) {
        MPI_Win_create(&word, sizeof word, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_free(&win);
        (void) t_end();
    } else {
        return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "session") == 0)
        return from_sessions();
    t_begin(&argc, &argv);
    if (argc > 1 && quiet(argv[1]))
        return 0;
    greet(MPI_COMM_WORLD);
    if (argc > 1 && strcmp(argv[1], "io") == 0)
        files();
    return t_end();
}
