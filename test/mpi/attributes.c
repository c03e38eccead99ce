/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The user frees a type, or a communicator, that an operation still uses: the functions that delete
 * its attributes are called when the operation is over, each once, by the program's thread, one at
 * a time, and may call MPI. Where nothing uses it they are called at once.
 */
#include "testing.h"
#include <pthread.h>
#include <unistd.h>

enum { ROUNDS = 60, EACH = 10, BLOCKS = 400, WORDS = 3 * BLOCKS, MANY = 200000 };

static pthread_t program;
static int type_key, comm_key;
static int made, gone, deep;
static double data[EACH * WORDS + MANY], *memory;

static void calls(void)
{
    int flag, out = gone, in = -1;
    t_check(pthread_equal(pthread_self(), program), "called by another thread");
    t_check(deep == 0, "called within another call");
    deep++;
    gone++;
    for (int i = 0; i < 5; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    t_check(in == out, "%d was sent, %d received", out, in);
    deep--;
}

static int type_goes(MPI_Datatype type, int key, void *value, void *extra)
{
    int size;
    (void) extra;
    MPI_Type_size(type, &size);
    t_check(key == type_key && value == &made && size == BLOCKS * (int) sizeof(double),
            "a type of %d bytes", size);
    calls();
    return MPI_SUCCESS;
}

static int comm_goes(MPI_Comm comm, int key, void *value, void *extra)
{
    int size;
    (void) extra;
    MPI_Comm_size(comm, &size);
    t_check(key == comm_key && value == &made && size == t_size, "a communicator of %d", size);
    calls();
    return MPI_SUCCESS;
}

/* BLOCKS words, `apart`, with an attribute. */
static MPI_Datatype type_of(int apart)
{
    MPI_Datatype type;
    MPI_Type_vector(BLOCKS, 1, apart, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Type_set_attr(type, type_key, &made);
    made++;
    return type;
}

static void check_gone(const char *where)
{
    t_check(gone == made, "%s: %d of %d attributes have been deleted", where, gone, made);
    gone = made;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void at_once(void)
{
    MPI_Datatype type = type_of(2);
    MPI_Comm comm;
    MPI_Type_free(&type);
    t_check(gone == made, "a type: not at once");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_attr(comm, comm_key, &made);
    made++;
    MPI_Comm_free(&comm);
    t_check(gone == made, "a communicator: not at once");
    check_gone("at once");
}

/* Both sides of a message hold their types. */
static void messages(int from, int to)
{
    MPI_Request request;
    MPI_Datatype type;
    for (int i = 0; i < ROUNDS; i++) {
        type = type_of(3);
        if (t_rank == to) {
            MPI_Irecv(data, 1, type, from, 1, MPI_COMM_WORLD, &request);
            MPI_Type_free(&type);
            MPI_Send(NULL, 0, MPI_INT, from, 2, MPI_COMM_WORLD);
        } else if (t_rank == from) {
            MPI_Recv(NULL, 0, MPI_INT, to, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Issend(data, 1, type, to, 1, MPI_COMM_WORLD, &request);
            MPI_Type_free(&type);
        } else {
            MPI_Type_free(&type);
            continue;
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    check_gone("messages");
}

/* A request that nobody waits for holds its communicator. */
static void forgotten(int from, int to)
{
    MPI_Comm comm;
    MPI_Request request;
    for (int i = 0; i < EACH; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_attr(comm, comm_key, &made);
        made++;
        if (t_rank == from) {
            MPI_Isend(data, MANY, MPI_DOUBLE, to, 1, comm, &request);
            MPI_Request_free(&request);
        } else if (t_rank == to) {
            MPI_Irecv(data, MANY, MPI_DOUBLE, from, 1, comm, &request);
        }
        MPI_Comm_free(&comm);
        if (t_rank == to) {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Send(NULL, 0, MPI_INT, from, 2, MPI_COMM_WORLD);
        } else if (t_rank == from) {
            MPI_Recv(NULL, 0, MPI_INT, to, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    /* the receive may be over before the send is */
    for (int i = 0; i < 1000 && gone < made; i++) {
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        usleep(i < 10 ? 0 : 1000);
    }
    check_gone("requests that were freed");
}

static void collectives(void)
{
    MPI_Request request;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Datatype type = type_of(2);
        MPI_Ibcast(data, 1, type, i % t_size, MPI_COMM_WORLD, &request);
        MPI_Type_free(&type);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    check_gone("collectives");
}

/* Puts and gets with layouts on one side, or both. A target's layout is known to the window for
 * longer than an operation needs it. */
static void windows(int create, int both)
{
    MPI_Win win;
    int to = (t_rank + 1) % t_size;
    MPI_Aint bytes = EACH * WORDS * (MPI_Aint) sizeof(double);
    if (create) {
        memory = calloc((size_t) bytes, 1);
        MPI_Win_create(memory, bytes, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    } else {
        MPI_Win_allocate(bytes, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    }
    for (int i = 0; i < EACH * WORDS; i++)
        data[i] = i;
    MPI_Win_fence(0, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win);
        for (int k = 0; k < EACH; k++) {
            MPI_Datatype here = type_of(3), there = both ? type_of(2) : MPI_DOUBLE;
            int n = both ? 1 : BLOCKS;
            if (k % 4 < 3)
                MPI_Put(data + k, 1, here, to, WORDS * k, n, there, win);
            else
                MPI_Get(data + EACH * WORDS, 1, here, to, WORDS * k, n, there, win);
            MPI_Type_free(&here);
            if (both)
                MPI_Type_free(&there);
        }
        MPI_Win_unlock(to, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, t_rank, 0, win);
    for (int k = 0; k < EACH; k++)
        for (int i = 0; i < BLOCKS && k % 4 < 3; i++)
            t_check(memory[WORDS * k + i * (both ? 2 : 1)] == 3 * i + k, "put %d, word %d", k, i);
    MPI_Win_unlock(t_rank, win);
    if (!both)
        check_gone("windows");
    MPI_Win_free(&win);
    if (create)
        free(memory);
    MPI_Barrier(MPI_COMM_WORLD);
    check_gone("layouts of targets");
}

/* Rank 2's put waits for rank 1's lock, and is done while rank 2 computes. */
static void computing(void)
{
    MPI_Win win;
    if (t_size < 3)
        return;
    MPI_Win_allocate(WORDS * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &win);
    for (int i = 0; i < 3; i++) {
        MPI_Datatype type = type_of(3);
        if (t_rank == 1) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            MPI_Put(data, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win);
            MPI_Win_flush(0, win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (t_rank == 2) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            MPI_Put(data, 1, type, 0, 0, BLOCKS, MPI_DOUBLE, win);
        }
        MPI_Type_free(&type);
        int before = gone;
        usleep(t_rank == 1 ? 20000 : 100000);
        t_check(gone == before, "while the program computes");
        if (t_rank == 1 || t_rank == 2)
            MPI_Win_unlock(0, win);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&win);
    check_gone("while it computes");
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    program = pthread_self();
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, type_goes, &type_key, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, comm_goes, &comm_key, NULL);
    at_once();
    if (t_size > 1) {
        messages(0, t_size - 1);
        messages(t_size - 1, 0);
        forgotten(0, t_size - 1);
    }
    collectives();
    for (int create = 0; create < 2; create++)
        for (int both = 0; both < 2; both++)
            windows(create, both);
    computing();
    return t_end();
}
