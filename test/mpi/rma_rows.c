/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Puts and accumulates of 8 bytes to 32 KiB by all ranks on all ranks' memory, many on end, and
 * some puts of up to 384 KB, which lie beside or over one another, now and then with something else
 * in between, or while the target computes: nothing is lost or done twice, and those of one rank on
 * one place are in order.
 */
#include "testing.h"

/* Cells that all add to; and, of each rank by itself at every target, those it puts to. */
enum { CELLS = 4096, OWN = 65536, EACH_MAX = 4000, ROWS = 400, ROW_MAX = 100, DENSE = 4096,
    LONG_MAX = 48000, LONG_ROW_MAX = 8 };

static struct t_win w;
static uint64_t draws;
static int64_t *added; /* by rank and cell: what we have added there */
static int64_t *mine;  /* by rank and cell: what we have put there last */
static int64_t value[ROW_MAX * EACH_MAX];      /* LONG_ROW_MAX * LONG_MAX are no more */

static int draw(int below)
{
    return (int) (t_random((uint64_t) w.rank, draws++) % (uint64_t) below);
}

static MPI_Aint place(int target, int cell)
{
    return w.at[target] + (MPI_Aint) cell * 8;
}

static void add(int target, int cell, int64_t *v, int n)
{
    for (int i = 0; i < n; i++)
        added[target * CELLS + cell + i] += v[i] = cell + i + 1;
    MPI_Accumulate(v, n, MPI_INT64_T, target, place(target, cell), n, MPI_INT64_T, MPI_SUM, w.win);
}

static void put(int target, int cell, int64_t *v, int n)
{
    for (int i = 0; i < n; i++)
        mine[target * OWN + cell + i] = v[i] = (int64_t) draws * 1000 + i;
    MPI_Aint at = place(target, CELLS + w.rank * OWN + cell);
    MPI_Request request;
    if (draw(3)) {
        MPI_Put(v, n, MPI_INT64_T, target, at, n, MPI_INT64_T, w.win);
        return;
    }
    MPI_Rput(v, n, MPI_INT64_T, target, at, n, MPI_INT64_T, w.win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    memset(v, 0xab, (size_t) n * sizeof(*v));
}

static void are_there(int target, int cell, int n)
{
    static int64_t seen[OWN];
    MPI_Get(seen, n, MPI_INT64_T, target, place(target, CELLS + w.rank * OWN + cell), n,
            MPI_INT64_T, w.win);
    MPI_Win_flush(target, w.win);
    for (int i = 0; i < n; i++)
        t_check(seen[i] == mine[target * OWN + cell + i], "cell %d of rank %d: %lld, not %lld",
                cell + i, target, (long long) seen[i],
                (long long) mine[target * OWN + cell + i]);
}

/* Its buffers are used again by the next one. */
static void row(int target)
{
    int puts = draw(2), n = 1 + draw(ROW_MAX), longest = draw(4) ? 256 : draw(2) ? 1024 : EACH_MAX;
    int next = (target + 1) % w.size;
    for (int i = 0; i < n; i++) {
        int each = draw(20) ? 33 + draw(longest - 33) : 1 + draw(longest);
        int cell = draw(DENSE - each), other = draw(100) ? target : next;
        (puts == (draw(100) > 0) ? put : add)(other, cell, value + i * EACH_MAX, each);
        if (draw(200) == 0)
            MPI_Win_flush_local(target, w.win);
        if (draw(200) == 0)
            are_there(target, cell, each);
    }
    MPI_Win_flush(target, w.win);
    MPI_Win_flush_local(next, w.win);
}

/* The same of long puts. */
static void long_row(int target)
{
    int n = 1 + draw(LONG_ROW_MAX), longest = draw(2) ? LONG_MAX : LONG_MAX / 4;
    for (int i = 0; i < n; i++) {
        int each = draw(10) ? EACH_MAX + draw(longest - EACH_MAX) : 1 + draw(EACH_MAX);
        put(target, draw(OWN - each), value + i * LONG_MAX, each);
    }
    MPI_Win_flush(target, w.win);
}

static void compute(double seconds)
{
    for (double until = MPI_Wtime() + seconds; MPI_Wtime() < until;)
        ;
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    w = t_win_make(MPI_COMM_WORLD, t_flavour_of(argc, argv), (size_t) (CELLS + t_size * OWN) * 8,
                   1);
    added = calloc((size_t) (w.size * CELLS), sizeof *added);
    mine = calloc((size_t) (w.size * OWN), sizeof *mine);
    int64_t *sum = t_alloc(CELLS * sizeof *sum);
    MPI_Win_lock_all(0, w.win);
    for (int i = 0; i < ROWS; i++) {
        int target = draw(w.size);
        (draw(8) ? row : long_row)(target);
        if (draw(10) == 0)
            are_there(target, 0, OWN);
        if (draw(40) == 0)
            compute(0.001);
    }
    MPI_Win_flush_all(w.win);
    for (int r = 0; r < w.size; r++)
        are_there(r, 0, OWN);
    MPI_Win_unlock_all(w.win);
    MPI_Barrier(w.comm);
    for (int r = 0; r < w.size; r++)
        MPI_Reduce(&added[r * CELLS], sum, CELLS, MPI_INT64_T, MPI_SUM, r, w.comm);
    MPI_Win_lock(MPI_LOCK_SHARED, w.rank, 0, w.win);
    for (int i = 0; i < CELLS; i++)
        t_check(((int64_t *) (void *) w.base)[i] == sum[i], "cell %d: %lld instead of %lld", i,
                (long long) ((int64_t *) (void *) w.base)[i], (long long) sum[i]);
    MPI_Win_unlock(w.rank, w.win);
    free(sum);
    free(mine);
    free(added);
    t_win_free(&w);
    return t_end();
}
