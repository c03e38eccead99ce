/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Who only gives to a collective is through before the others have begun, many times over, and may
 * use its memory for something else then: what it gave to each arrives. One root for many calls on
 * end, operations and lengths in any order, on both sides of what a line and a board take; ranks
 * that are late by turns.
 */
#include <unistd.h>
#include "testing.h"

enum { ROUNDS = 40, CALLS = 300, MOST = 1100 };

static double *from, *to;
static int counts[64], at[64];

static unsigned state = 12345;

/* The same on all ranks. */
static unsigned any(unsigned below)
{
    state = state * 1103515245u + 12345u;
    return (state >> 12) % below;
}

static double sent(int call, int by, int for_rank, int i)
{
    return call * 1000.0 + by * 100 + for_rank * 10 + i;
}

/* What this rank gives to operation `call`: a block, or one for each that lie `apart` apart. */
static void give(int call, int blocks, int n, int apart)
{
    for (int r = 0; r < blocks; r++)
        for (int i = 0; i < n; i++)
            from[r * apart + i] = sent(call, t_rank, r, i);
}

static int came(int call, int by, int for_rank, const double *here, int n)
{
    for (int i = 0; i < n; i++)
        if (here[i] != sent(call, by, for_rank, i))
            return 0;
    return 1;
}

static int sum_came(int call, int n)
{
    for (int i = 0; i < n; i++) {
        double want = 0;
        for (int r = 0; r < t_size; r++)
            want += sent(call, r, 0, i);
        if (to[i] != want)
            return 0;
    }
    return 1;
}

/* Lengths that vary with the rank. */
static int lengths(int n, int apart)
{
    for (int r = 0; r < t_size; r++) {
        counts[r] = n - r % 2 * (n > 1);
        at[r] = r * apart;
    }
    return counts[t_rank];
}

static int one(int call, int root)
{
    static const int few[] = {1, 2, 6, 14, 15, 40, 200, MOST};
    int n = few[any(any(4) ? 4 : 8)], apart = n + (int) any(2), mine;
    int is_root = t_rank == root, ok = 1;
    MPI_Comm c = MPI_COMM_WORLD;
    switch (any(6)) {
    case 0:
        give(call, 1, n, 0);
        MPI_Bcast(is_root ? from : to, n, MPI_DOUBLE, root, c);
        ok = is_root || came(call, root, 0, to, n);
        break;
    case 1:
        give(call, 1, n, 0);
        MPI_Reduce(from, to, n, MPI_DOUBLE, MPI_SUM, root, c);
        ok = !is_root || sum_came(call, n);
        break;
    case 2:
        give(call, 1, n, 0);
        MPI_Gather(from, n, MPI_DOUBLE, to, n, MPI_DOUBLE, root, c);
        for (int r = 0; r < t_size && is_root; r++)
            ok &= came(call, r, 0, to + r * n, n);
        break;
    case 3:
        give(call, t_size, n, n);
        MPI_Scatter(from, n, MPI_DOUBLE, to, n, MPI_DOUBLE, root, c);
        ok = came(call, root, t_rank, to, n);
        break;
    case 4:
        give(call, 1, n, 0);
        mine = lengths(n, apart);
        MPI_Gatherv(from, mine, MPI_DOUBLE, to, counts, at, MPI_DOUBLE, root, c);
        for (int r = 0; r < t_size && is_root; r++)
            ok &= came(call, r, 0, to + at[r], counts[r]);
        break;
    default:
        give(call, t_size, n, apart);
        mine = lengths(n, apart);
        MPI_Scatterv(from, counts, at, MPI_DOUBLE, to, mine, MPI_DOUBLE, root, c);
        ok = came(call, root, t_rank, to, mine);
    }
    memset(from, 0, (size_t) t_size * (MOST + 1) * sizeof *from); /* it is ours again */
    return ok;
}

int main(int argc, char **argv)
{
    int wrong = 0;
    t_begin(&argc, &argv);
    from = t_alloc((size_t) t_size * (MOST + 1) * sizeof *from);
    to = t_alloc((size_t) t_size * (MOST + 1) * sizeof *to);
    for (int round = 0; round < ROUNDS; round++) {
        int root = (int) any((unsigned) t_size), late = (int) any((unsigned) t_size);
        if (t_rank == late)
            usleep(2000);
        for (int call = 0; call < CALLS; call++)
            wrong += !one(round * CALLS + call, root);
    }
    t_check(wrong == 0, "%d calls brought something else", wrong);
    free(from);
    free(to);
    return t_end();
}
