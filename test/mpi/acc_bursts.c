/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Short accumulates of all ranks on all ranks' memory, many on end, their places in order, in
 * disorder, the same again and again, or one over another: nothing is lost or done twice, those of
 * one rank on one place are done in their order, whatever goes on in between.
 */
#include "testing.h"

enum { CELLS = 20000, OWN = 8, ROUNDS = 3, BURSTS = 1000, BURST_MAX = 250, EACH_MAX = 4 };

static struct t_win w;
static uint64_t draws;
static int64_t *added; /* by rank and cell: what we have added there */

static uint64_t draw(uint64_t below)
{
    return t_random((uint64_t) w.rank, draws++) % below;
}

static MPI_Aint place(int target, int cell)
{
    return w.at[target] + (MPI_Aint) cell * 8;
}

/* The cells behind the common ones, of which each rank has some to itself at every target. */
static int own_cell(int k)
{
    return CELLS + w.rank * OWN + k;
}

static void add(int target, int cell, int n)
{
    static int64_t value[2 * BURST_MAX][EACH_MAX];
    static int next; /* an operand may not change before a synchronization */
    int64_t *v = value[next = (next + 1) % (2 * BURST_MAX)];
    for (int i = 0; i < n; i++)
        added[target * CELLS + cell + i] += v[i] = cell + i + 1;
    MPI_Accumulate(v, n, MPI_INT64_T, target, place(target, cell), n, MPI_INT64_T, MPI_SUM, w.win);
}

static void burst(int target)
{
    int kind = (int) draw(4), each = 1 + (int) draw(EACH_MAX), n = 1 + (int) draw(BURST_MAX);
    int first = (int) draw(CELLS - BURST_MAX * EACH_MAX);
    for (int i = 0; i < n; i++) {
        int cell = kind == 0   ? first + i * each
                   : kind == 1 ? (int) draw(CELLS - EACH_MAX)
                   : kind == 2 ? first
                               : first + (int) draw(EACH_MAX * 2);
        add(target, cell, each);
        if (draw(100) == 0)
            add((target + 1) % w.size, cell, each);
        if (draw(200) == 0)
            MPI_Win_flush(target, w.win);
    }
}

/* Later ones of this rank on a place come later. */
static void in_order(int target)
{
    static int64_t value[ROUNDS][OWN];
    int64_t seen = -1;
    int k = (int) draw(OWN);
    for (int i = 0; i < ROUNDS; i++)
        for (int other = 0; other < OWN; other++) {
            value[i][other] = (int64_t) draw(1 << 30);
            MPI_Accumulate(&value[i][other], 1, MPI_INT64_T, target,
                           place(target, own_cell(other)), 1, MPI_INT64_T, MPI_REPLACE, w.win);
        }
    MPI_Get_accumulate(NULL, 0, MPI_INT64_T, &seen, 1, MPI_INT64_T, target,
                       place(target, own_cell(k)), 1, MPI_INT64_T, MPI_NO_OP, w.win);
    MPI_Win_flush(target, w.win);
    int64_t last = value[ROUNDS - 1][k];
    t_check(seen == last, "cell %d of rank %d: %lld instead of %lld", k, target, (long long) seen,
            (long long) last);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    w = t_win_make(MPI_COMM_WORLD, t_flavour_of(argc, argv),
                   (size_t) (CELLS + t_size * OWN) * 8, 1);
    added = calloc((size_t) (w.size * CELLS), sizeof *added);
    int64_t *sum = t_alloc(CELLS * sizeof *sum);
    MPI_Win_lock_all(0, w.win);
    for (int i = 0; i < BURSTS; i++) {
        int target = (int) draw((uint64_t) w.size);
        burst(target);
        if (draw(4) == 0)
            in_order(target);
        MPI_Win_flush_all(w.win);
    }
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
    free(added);
    t_win_free(&w);
    return t_end();
}
