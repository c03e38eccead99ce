/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * comm_reuse [seed]: communicators that come and go, each with none to 40 collectives in it, so
 * that one finds the memory another has left, used in part or whole; of all ranks or some of them,
 * up to three at a time, some freed while their last collective is under way. All ranks draw the
 * same numbers.
 */
#include "testing.h"

enum { ROUNDS = 600, MOST = 40, LIVE = 3, NUMBERS = 3000 };

struct live {
    MPI_Comm comm;              /* MPI_COMM_NULL on those that are not in it, and where none is */
    int rank, size;
    MPI_Request request;        /* of the collective it is freed behind */
    int64_t told[2];            /* what that one adds up */
};

static int64_t ours[NUMBERS], theirs[NUMBERS];

static int64_t number_of(int round, int rank, int i)
{
    return (int64_t) round * 1000003 + rank * 1009 + i;
}

static void one(const struct live *l, int round)
{
    int kind = (int) t_all_below(5), root = (int) t_all_below((uint64_t) t_size);
    int n = 1 + (int) t_all_below(t_all_below(8) ? 40 : NUMBERS);
    long wrong = 0;
    if (l->comm == MPI_COMM_NULL)
        return;
    root %= l->size;
    for (int i = 0; i < n; i++)
        ours[i] = number_of(round, l->rank, i);
    int64_t ranks = (int64_t) l->size * (l->size - 1) / 2;
    switch (kind) {
    case 0:
        MPI_Barrier(l->comm);
        return;
    case 1:
        MPI_Bcast(ours, n, MPI_INT64_T, root, l->comm);
        for (int i = 0; i < n; i++)
            wrong += ours[i] != number_of(round, root, i);
        break;
    case 2:
        MPI_Allreduce(ours, theirs, n, MPI_INT64_T, MPI_SUM, l->comm);
        for (int i = 0; i < n; i++)
            wrong += theirs[i] != l->size * number_of(round, 0, i) + 1009 * ranks;
        break;
    case 3:
        MPI_Scan(ours, theirs, n, MPI_INT64_T, MPI_MAX, l->comm);
        for (int i = 0; i < n; i++)
            wrong += theirs[i] != ours[i];
        break;
    default:
        n = NUMBERS / 16 < n ? NUMBERS / 16 : n;
        MPI_Allgather(ours, n, MPI_INT64_T, theirs, n, MPI_INT64_T, l->comm);
        for (int i = 0; i < n * l->size; i++)
            wrong += theirs[i] != number_of(round, i / n, i % n);
        break;
    }
    t_check(wrong == 0, "round %d, kind %d, %d of %d ranks, %d numbers: %ld wrong", round, kind,
            l->rank, l->size, n, wrong);
}

static void begin(struct live *l)
{
    int some = (int) t_all_below(3) == 0, most = 1 + (int) t_all_below((uint64_t) t_size);
    l->request = MPI_REQUEST_NULL;
    if (some)
        MPI_Comm_split(MPI_COMM_WORLD, t_rank < most ? 0 : MPI_UNDEFINED, t_rank, &l->comm);
    else
        MPI_Comm_dup(MPI_COMM_WORLD, &l->comm);
    if (l->comm == MPI_COMM_NULL)
        return;
    MPI_Comm_rank(l->comm, &l->rank);
    MPI_Comm_size(l->comm, &l->size);
}

static void end(struct live *l)
{
    int pending = t_all_below(2) != 0;
    if (l->comm == MPI_COMM_NULL)
        return;
    if (pending) {
        l->told[0] = l->rank;
        MPI_Iallreduce(&l->told[0], &l->told[1], 1, MPI_INT64_T, MPI_SUM, l->comm, &l->request);
    }
    MPI_Comm_free(&l->comm);
    MPI_Wait(&l->request, MPI_STATUS_IGNORE);
    t_check(!pending || l->told[1] == (int64_t) l->size * (l->size - 1) / 2,
            "freed behind a sum of %d ranks: %lld", l->size, (long long) l->told[1]);
}

int main(int argc, char **argv)
{
    static struct live live[LIVE];
    t_begin(&argc, &argv);
    t_seed = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    for (int i = 0; i < LIVE; i++)
        live[i].comm = MPI_COMM_NULL;
    for (int round = 0; round < ROUNDS; round++) {
        struct live *l = &live[t_all_below(LIVE)];
        end(l);
        begin(l);
        for (int n = (int) t_all_below(t_all_below(4) ? 6 : MOST + 1); n > 0; n--)
            one(&live[t_all_below(4) ? l - live : (long) t_all_below(LIVE)], round);
    }
    for (int i = 0; i < LIVE; i++)
        end(&live[i]);
    return t_end();
}
