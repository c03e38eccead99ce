/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * finalize_strays early|receives|freed|sends|begun: what MPI_Finalize sends is nothing of the
 * program's.
 *
 *   early      Some ranks are at their end while others communicate, by receives and probes of
 *              anything (MPI-4, 11.2.2: only who is involved has to be there).
 *   receives   There are receives of anything that nobody completes, which is an error of the
 *              program's, and no reason to hang; or, freed, their requests are gone.
 *   sends      There are messages that nobody receives, while a long one is still under way.
 *   begun      Rank 0 has begun a collective that the others never call: the job ends with an error
 *              (finalize_begun.sh).
 */
#include "testing.h"
#include <unistd.h>

enum { LONG = 4 << 20, STRAYS = 64, APART_US = 300000, TAG = 99 };

static char data[LONG];

/* Rank 1 sends to rank 0 when all others have been at their end for a while. */
static void end_early(void)
{
    enum { MESSAGES = 12 };
    if (t_rank == 1)
        usleep(APART_US);
    for (int i = 0; i < MESSAGES; i++) {
        int wild = i % 2 ? MPI_ANY_TAG : i / 4, got = -1, count = -1;
        MPI_Status status = {0};
        if (t_rank == 1)
            MPI_Send(&i, 1, MPI_INT, 0, i / 4, MPI_COMM_WORLD);
        if (t_rank != 0)
            continue;
        if (i % 3 == 0)
            MPI_Probe(MPI_ANY_SOURCE, wild, MPI_COMM_WORLD, &status);
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, wild, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        t_check(got == i && count == 1 && status.MPI_SOURCE == 1 && status.MPI_TAG == i / 4,
                "%d: got %d, %d of them, from %d with tag %d", i, got, count, status.MPI_SOURCE,
                status.MPI_TAG);
    }
}

static void leave_receives(int freed)
{
    for (int tag = 0; tag < STRAYS; tag++) {
        MPI_Request request;
        MPI_Irecv(data, 1, MPI_CHAR, tag % 3 ? (t_rank + tag) % t_size : MPI_ANY_SOURCE,
                  tag % 2 ? tag : MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        if (freed)
            MPI_Request_free(&request);
    }
}

/* The receiver of the long message comes later than all others end. */
static void leave_messages(void)
{
    MPI_Request request;
    int last = t_size - 1;
    for (int tag = 0; tag < STRAYS; tag++)
        for (int to = 0; to < t_size; to++)
            if (to != t_rank)
                MPI_Send(data, 1, MPI_CHAR, to, tag, MPI_COMM_WORLD);
    if (t_rank == 0) {
        memset(data, 1, LONG);
        MPI_Isend(data, LONG, MPI_CHAR, last, TAG, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    } else if (t_rank == last) {
        usleep(APART_US);
        MPI_Recv(data, LONG, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        t_check(data[0] == 1 && data[LONG - 1] == 1, "what came is %d and %d", data[0],
                data[LONG - 1]);
    }
}

static void leave_begun(void)
{
    static MPI_Request request;
    if (t_rank == 0)
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "early") == 0)
        end_early();
    else if (strcmp(what, "sends") == 0)
        leave_messages();
    else if (strcmp(what, "begun") == 0)
        leave_begun();
    else
        leave_receives(strcmp(what, "freed") == 0);
    MPI_Finalize();             /* no call in which all would meet before */
    if (t_rank == 0)
        printf(" No Errors\n");
    return t_faults != 0;
}
