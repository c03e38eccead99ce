/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Collectives in which one rank gives another length than the others, among the ranks of a node:
 * who can see it gets MPI_ERR_TRUNCATE, nobody's memory is written to where it may not be, nobody
 * waits for ever, and the communicator is as good as before. Lengths on both sides of what fits a
 * board.
 *
 * coll_lengths nodes: among those of several nodes, on the engine: it may be that nobody sees it.
 * Lengths on both sides of what fits a cell, too.
 *
 * coll_lengths long: what goes in parts, too.
 */
#include "testing.h"

enum { LONG = 9000, IN_PARTS = 150000, SPOILT = -77, COUNTS = 4 };

static const int counts[COUNTS] = {1, 300, LONG, 0}, counts_nodes[COUNTS] = {1, 2, 40, LONG};
static const int counts_long[COUNTS] = {1, 300, LONG, IN_PARTS}, *list = counts;
static int longest = LONG;
static MPI_Comm comm;
static int rank, size, nodes;
static int64_t *from, *to;

/* Who is told: all; all but the root, or the one; the root; the one and those above it. */
enum told { ALL, RECEIVERS, ROOT, ABOVE };

static const struct kind {
    const char *name;
    int blocks; /* written, of so many words; 0: one at the root alone; -1: a block a rank there */
    enum told told;
    int of_nothing; /* of no words, too: in the others MPICH does without asking the device */
} kinds[] = {{"bcast", 1, RECEIVERS, 1}, {"scatter", 1, RECEIVERS, 0}, {"gather", -1, ROOT, 0},
             {"allgather", 2, ALL, 0},   {"alltoall", 2, ALL, 0},      {"reduce", 0, ROOT, 0},
             {"allreduce", 1, ALL, 1},   {"scan", 1, ABOVE, 0},        {"exscan", 1, ABOVE, 0},
             {"reduce_scatter", 1, ALL, 0}};

static int begin(int kind, int n, int root, MPI_Request *r)
{
    MPI_Datatype w = MPI_INT64_T;
    switch (kind) {
    case 0:
        return MPI_Ibcast(to, n, w, root, comm, r);
    case 1:
        return MPI_Iscatter(from, n, w, to, n, w, root, comm, r);
    case 2:
        return MPI_Igather(from, n, w, to, n, w, root, comm, r);
    case 3:
        return MPI_Iallgather(from, n, w, to, n, w, comm, r);
    case 4:
        return MPI_Ialltoall(from, n, w, to, n, w, comm, r);
    case 5:
        return MPI_Ireduce(from, to, n, w, MPI_SUM, root, comm, r);
    case 6:
        return MPI_Iallreduce(from, to, n, w, MPI_SUM, comm, r);
    case 7:
        return MPI_Iscan(from, to, n, w, MPI_SUM, comm, r);
    case 8:
        return MPI_Iexscan(from, to, n, w, MPI_SUM, comm, r);
    default:
        return MPI_Ireduce_scatter_block(from, to, n, w, MPI_SUM, comm, r);
    }
}

static int call(int kind, int n, int root)
{
    MPI_Datatype w = MPI_INT64_T;
    switch (kind) {
    case 0:
        return MPI_Bcast(to, n, w, root, comm);
    case 1:
        return MPI_Scatter(from, n, w, to, n, w, root, comm);
    case 2:
        return MPI_Gather(from, n, w, to, n, w, root, comm);
    case 3:
        return MPI_Allgather(from, n, w, to, n, w, comm);
    case 4:
        return MPI_Alltoall(from, n, w, to, n, w, comm);
    case 5:
        return MPI_Reduce(from, to, n, w, MPI_SUM, root, comm);
    case 6:
        return MPI_Allreduce(from, to, n, w, MPI_SUM, comm);
    case 7:
        return MPI_Scan(from, to, n, w, MPI_SUM, comm);
    case 8:
        return MPI_Exscan(from, to, n, w, MPI_SUM, comm);
    default:
        return MPI_Reduce_scatter_block(from, to, n, w, MPI_SUM, comm);
    }
}

static int is_told(enum told told, int one, int root)
{
    if (nodes)
        return 0;
    switch (told) {
    case RECEIVERS:
        return rank != root && (one == root || rank == one);
    case ROOT:
        return rank == root;
    case ABOVE:
        return rank > one || (rank == one && one > 0);
    default:
        return 1;
    }
}

static void differ(int kind, int most, int ones, int one, int root, int waits)
{
    const struct kind *k = &kinds[kind];
    int n = rank == one ? ones : most, error;
    MPI_Aint all = (MPI_Aint) size * longest, mine = n;
    if (k->blocks < 1)
        mine = rank == root ? (k->blocks < 0 ? (MPI_Aint) size * n : n) : 0;
    else if (k->blocks == 2)
        mine = (MPI_Aint) size * n;
    for (MPI_Aint i = 0; i < all; i++)
        to[i] = SPOILT, from[i] = i;
    if (waits) {
        MPI_Request request = MPI_REQUEST_NULL;
        error = begin(kind, n, root, &request);
        if (error == MPI_SUCCESS)
            error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        error = call(kind, n, root);
    }
    int class = t_class(error);
    const char *form = waits ? "i" : "";
    t_check(class == MPI_ERR_TRUNCATE || (class == MPI_SUCCESS && !is_told(k->told, one, root)),
            "%s%s of %d, rank %d of %d gives %d, root %d: class %d", form, k->name, most, one, size,
            ones, root, class);
    MPI_Aint spoilt = mine;
    while (spoilt < all && to[spoilt] == SPOILT)
        spoilt++;
    t_check(spoilt == all, "%s%s of %d, rank %d gives %d, root %d: word %ld of %ld is written to",
            form, k->name, most, one, ones, root, (long) spoilt, (long) mine);
    int64_t sum = 0, given = rank + 1;
    error = MPI_Allreduce(&given, &sum, 1, MPI_INT64_T, MPI_SUM, comm);
    t_check(error == MPI_SUCCESS && sum == (int64_t) size * (size + 1) / 2,
            "after %s%s the communicator gives %ld", form, k->name, (long) sum);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    nodes = argc > 1 && strcmp(argv[1], "nodes") == 0;
    if (nodes)
        list = counts_nodes;
    if (argc > 1 && strcmp(argv[1], "long") == 0) {
        list = counts_long;
        longest = IN_PARTS;
    }
    if (nodes)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    else
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, t_rank, MPI_INFO_NULL, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    from = malloc((size_t) size * (size_t) longest * sizeof *from);
    to = malloc((size_t) size * (size_t) longest * sizeof *to);
    for (int kind = 0; size > 1 && kind < (int) (sizeof kinds / sizeof kinds[0]); kind++)
        for (int i = 0; i < COUNTS * COUNTS; i++)
            for (int one = 0; i / COUNTS != i % COUNTS && one < size && one < 3; one++) {
                int most = list[i / COUNTS], ones = list[i % COUNTS];
                if (!kinds[kind].of_nothing && (most == 0 || ones == 0))
                    continue;
                differ(kind, most, ones, one, size - 1, i % 2);
                differ(kind, most, ones, one, one, 1 - i % 2);
            }
    free(from);
    free(to);
    MPI_Comm_free(&comm);
    return t_end();
}
