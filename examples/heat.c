/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * heat [fence|pscw|lockall] [N] [STEPS]: a 2-D heat stencil on an N x N grid, rows divided among
 * the ranks. Neighbours put their boundary rows into each other's window; the argument chooses how
 * the halo exchange is synchronized. Rank 0 repeats the computation in a serial loop and compares
 * every bit. Ordinary MPI-3.
 */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum sync { FENCE, PSCW, LOCKALL };

struct part {  /* one rank's rows, and a halo row above and below, twice: old and new */
    int n, rows, first, up, down;
    double *old, *new;          /* both in the window */
    MPI_Win win;
    MPI_Group neighbours;
};

static double initial(int row, int column, int n)
{
    return row == 0 ? 100.0 : row == n - 1 ? 10.0 : (double) ((row * 31 + column * 17) % 23);
}

static int first_row(int n, int size, int rank)
{
    return (int) ((long long) n * rank / size);
}

static void step_row(const double *above, const double *row, const double *below, double *out,
                     int n)
{
    out[0] = row[0];
    out[n - 1] = row[n - 1];
    for (int j = 1; j < n - 1; j++)
        out[j] = row[j] + 0.2 * (above[j] + below[j] + row[j - 1] + row[j + 1] - 4.0 * row[j]);
}

/* Put my first and last row of `old` into the neighbours' halos. plane: 0 or 1, which half of the
 * window `old` is. */
static void put_halos(const struct part *p, int plane, int size)
{
    int n = p->n;
    if (p->up != MPI_PROC_NULL) {
        int rows_up = p->first - first_row(n, size, p->up);
        MPI_Put(p->old + n, n, MPI_DOUBLE, p->up,
                (MPI_Aint) plane * (rows_up + 2) * n + (MPI_Aint) (rows_up + 1) * n, n, MPI_DOUBLE,
                p->win);
    }
    if (p->down != MPI_PROC_NULL) {
        int rows_down = first_row(n, size, p->down + 1) - first_row(n, size, p->down);
        MPI_Put(p->old + (size_t) p->rows * n, n, MPI_DOUBLE, p->down,
                (MPI_Aint) plane * (rows_down + 2) * n, n, MPI_DOUBLE, p->win);
    }
}

static void exchange(const struct part *p, enum sync sync, int plane, int size)
{
    switch (sync) {
        case FENCE:
            MPI_Win_fence(0, p->win);
            put_halos(p, plane, size);
            MPI_Win_fence(0, p->win);
            break;
        case PSCW:
            MPI_Win_post(p->neighbours, 0, p->win);
            MPI_Win_start(p->neighbours, 0, p->win);
            put_halos(p, plane, size);
            MPI_Win_complete(p->win);
            MPI_Win_wait(p->win);
            break;
        case LOCKALL:
            put_halos(p, plane, size);
            MPI_Win_flush_all(p->win);
            MPI_Win_sync(p->win);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Win_sync(p->win);
            break;
    }
}

static void neighbours_make(struct part *p)
{
    int ranks[2], k = 0;
    MPI_Group world;
    if (p->up != MPI_PROC_NULL)
        ranks[k++] = p->up;
    if (p->down != MPI_PROC_NULL)
        ranks[k++] = p->down;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, k, ranks, &p->neighbours);
    MPI_Group_free(&world);
}

static double *serial(int n, long steps)
{
    double *a = malloc(sizeof(double) * n * n), *b = malloc(sizeof(double) * n * n);
    for (int i = 0; i < n * n; i++)
        a[i] = b[i] = initial(i / n, i % n, n);
    for (long s = 0; s < steps; s++) {
        double *t = a;
        for (int i = 1; i < n - 1; i++)
            step_row(a + (i - 1) * n, a + i * n, a + (i + 1) * n, b + i * n, n);
        a = b;
        b = t;
    }
    free(b);
    return a;
}

/* Is it a whole number from `least` to `most`? */
static int number(const char *text, long least, long most, long *out)
{
    char *end;
    *out = strtol(text, &end, 10);
    return end != text && !*end && *out >= least && *out <= most;
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "fence", "pscw", "lockall" };
    int sync = FENCE, rank, size, plane = 0, bad = 0;
    long n = 256, steps = 200;
    struct part p;
    double *base, seconds;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while (argc > 1 && sync < 3 && strcmp(argv[1], names[sync]) != 0)
        sync++;
    if (argc > 4 || sync == 3 || (argc > 2 && !number(argv[2], 1, 1 << 15, &n)) ||
        (argc > 3 && !number(argv[3], 1, INT_MAX, &steps)) || n < 2 * size) {
        if (rank == 0)
            fprintf(stderr, "usage: heat [fence|pscw|lockall] [N] [STEPS]: N rows, two a rank at "
                            "least\n");
        MPI_Finalize();
        return 2;
    }
    p.n = (int) n;
    p.first = first_row(p.n, size, rank);
    p.rows = first_row(p.n, size, rank + 1) - p.first;
    p.up = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    p.down = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    neighbours_make(&p);

    size_t half = (size_t) (p.rows + 2) * p.n;
    MPI_Win_allocate((MPI_Aint) (2 * half * sizeof(double)), sizeof(double), MPI_INFO_NULL,
                     MPI_COMM_WORLD, &base, &p.win);
    if (sync == LOCKALL)
        MPI_Win_lock_all(0, p.win);
    for (size_t i = 0; i < half; i++) {
        int row = p.first - 1 + (int) (i / p.n);
        base[i] = base[half + i] = initial(row, (int) (i % p.n), p.n);
    }
    MPI_Win_sync(p.win);
    MPI_Barrier(MPI_COMM_WORLD);

    seconds = MPI_Wtime();
    for (long s = 0; s < steps; s++, plane = 1 - plane) {
        p.old = base + plane * half;
        p.new = base + (1 - plane) * half;
        exchange(&p, (enum sync) sync, plane, size);
        for (int i = 1; i <= p.rows; i++) {
            double *out = p.new + (size_t) i * p.n, *row = p.old + (size_t) i * p.n;
            int global = p.first + i - 1;
            if (global == 0 || global == p.n - 1)
                memcpy(out, row, sizeof(double) * p.n);
            else
                step_row(row - p.n, row, row + p.n, out, p.n);
        }
        /* nobody puts into a halo that is still being read */
        if (sync == LOCKALL)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    seconds = MPI_Wtime() - seconds;
    if (sync == LOCKALL)
        MPI_Win_unlock_all(p.win);

    double *want = serial(p.n, steps);
    double *have = base + plane * half + p.n;
    bad = memcmp(have, want + (size_t) p.first * p.n, sizeof(double) * p.rows * p.n) != 0;
    free(want);
    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("heat %-7s %d x %d, %ld steps, %d ranks: %.2f us a step, %s\n", names[sync], p.n,
               p.n, steps, size, seconds / steps * 1e6,
               bad ? "WRONG: differs from the serial loop" : "equal to the serial loop to the bit");
    MPI_Group_free(&p.neighbours);
    MPI_Win_free(&p.win);
    MPI_Finalize();
    return bad != 0;
}
