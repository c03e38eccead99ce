/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * rma_blocks [flavour]: long vectors, at the target, at the origin, at both, put to, got from and
 * accumulated in the next rank's memory while that waits in MPI, or computes. Every byte is looked
 * at, what lies between the blocks, too.
 */
#include "testing.h"

enum { ROOM = 1 << 19, BLOCKS = 512, ROUNDS = 6 };

/* So many doubles a block, so many from one to the next. */
static const int shapes[][2] = {{128, 160}, {512, 513}, {131, 260}, {16, 17}, {64, 64}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static struct t_win w;
static double mine[ROOM], results[ROOM];

/* What element i of a rank's memory, or of its buffer, is in a round: never 0. */
static double value(int rank, int round, int i)
{
    return rank * 3 + round * 7 + i % 1009 + 1;
}

static void fill(double *to, int rank, int round)
{
    for (int i = 0; i < ROOM; i++)
        to[i] = value(rank, round, i);
}

/* The n-th element of a layout: its place; -1 if place `at` is not of it, else which it is. */
static int place(const int *shape, int n)
{
    return n / shape[0] * shape[1] + n % shape[0];
}

static int which(const int *shape, int at)
{
    int block = at / shape[1], inside = at % shape[1];
    return block < BLOCKS && inside < shape[0] ? block * shape[0] + inside : -1;
}

enum kind { PUT, GET, ACC, GET_ACC, KINDS };

/* To the next rank; here: NULL: in one piece. */
static void operate(enum kind kind, const int *there, MPI_Datatype far, const int *here,
                    MPI_Datatype near)
{
    int to = (w.rank + 1) % w.size, n = here ? 1 : BLOCKS * there[0];
    MPI_Datatype type = here ? near : MPI_DOUBLE;
    switch (kind) {
    case PUT:
        MPI_Put(mine, n, type, to, w.at[to], 1, far, w.win);
        break;
    case GET:
        MPI_Get(mine, n, type, to, w.at[to], 1, far, w.win);
        break;
    case ACC:
        MPI_Accumulate(mine, n, type, to, w.at[to], 1, far, MPI_SUM, w.win);
        break;
    default:
        MPI_Get_accumulate(mine, n, type, results, n, type, to, w.at[to], 1, far, MPI_SUM, w.win);
        break;
    }
}

static void compute(void)
{
    volatile double sum = 0;
    for (int i = 0; i < 300000; i++)
        sum += i;
}

/* In a fence, where all wait; or under a lock, while the target waits, or computes first. */
static void epoch(int round, enum kind kind, const int *there, MPI_Datatype far, const int *here,
                  MPI_Datatype near)
{
    int to = (w.rank + 1) % w.size, fences = round % 3 == 0;
    if (fences)
        MPI_Win_fence(0, w.win);
    else
        MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w.win);
    operate(kind, there, far, here, near);
    if (round % 3 == 2 && w.rank % 2)
        compute();
    if (fences)
        MPI_Win_fence(0, w.win);
    else
        MPI_Win_unlock(to, w.win);
    MPI_Barrier(w.comm);
}

/* The previous rank's operation on our memory. */
static void check_memory(const char *what, int round, enum kind kind, const int *there,
                         const int *here)
{
    int from = (w.rank + w.size - 1) % w.size;
    const double *memory = (const double *) (const void *) w.base;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w.rank, 0, w.win);
    for (int i = 0; i < ROOM; i++) {
        int n = kind == GET ? -1 : which(there, i);
        double old = value(w.rank, round, i), sent = n < 0 ? 0 :
            value(from, round + 1, here ? place(here, n) : n);
        double wanted = n < 0 ? old : kind == PUT ? sent : old + sent;
        if (memory[i] != wanted) {
            t_fault("%s: element %d is %g, not %g", what, i, memory[i], wanted);
            break;
        }
    }
    MPI_Win_unlock(w.rank, w.win);
}

/* What the next rank's memory has brought here. */
static void check_buffer(const char *what, int round, enum kind kind, const int *there,
                         const int *here)
{
    int to = (w.rank + 1) % w.size, all = BLOCKS * there[0];
    const double *buffer = kind == GET ? mine : results;
    for (int i = 0; i < ROOM; i++) {
        int n = here ? which(here, i) : i < all ? i : -1;
        double wanted = n >= 0 ? value(to, round, place(there, n)) :
            kind == GET ? value(w.rank, round + 1, i) : -1;
        if (buffer[i] != wanted) {
            t_fault("%s: element %d here is %g, not %g", what, i, buffer[i], wanted);
            break;
        }
    }
}

static void one(int round, enum kind kind, int shape, int both)
{
    static const char *const names[] = {"put", "get", "accumulate", "get_accumulate"};
    char what[80];
    const int *there = shapes[shape], other[2] = {there[0], there[0] + 3};
    const int *here = both ? other : NULL;
    MPI_Datatype far, near;
    snprintf(what, sizeof what, "%s of %d elements a block, %s, round %d", names[kind], there[0],
             both ? "both sides" : "the target", round);
    MPI_Type_vector(BLOCKS, there[0], there[1], MPI_DOUBLE, &far);
    MPI_Type_commit(&far);
    MPI_Type_vector(BLOCKS, other[0], other[1], MPI_DOUBLE, &near);
    MPI_Type_commit(&near);
    fill(mine, w.rank, round + 1);
    for (int i = 0; i < ROOM; i++)
        results[i] = -1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w.rank, 0, w.win);
    fill((double *) (void *) w.base, w.rank, round);
    MPI_Win_unlock(w.rank, w.win);
    MPI_Barrier(w.comm);
    epoch(round, kind, there, far, here, near);
    check_memory(what, round, kind, there, here);
    if (kind == GET || kind == GET_ACC)
        check_buffer(what, round, kind, there, here);
    MPI_Type_free(&far);
    MPI_Type_free(&near);
    MPI_Barrier(w.comm);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    w = t_win_make(MPI_COMM_WORLD, t_flavour_of(argc, argv), ROOM * sizeof(double), 1);
    for (int round = 0; round < ROUNDS; round++)
        for (int shape = 0; shape < SHAPES; shape++)
            for (int kind = 0; kind < KINDS; kind++)
                one(round, (enum kind) kind, shape, (round / 3 + shape) % 2);
    t_win_free(&w);
    return t_end();
}
