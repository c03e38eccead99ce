/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Collectives against what they must give: every kind, blocking, nonblocking and persistent, in
 * place and not, with blocks of a word to many pages, types with gaps, operators that do not
 * commute, on the world, duplicates, halves and the world backwards. Sums of floating-point numbers
 * have the same bits on every rank and every time. Communicators come and go.
 */
#include "testing.h"

enum { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };
enum { SPOILT = -77, COUNT_MOST = 9000, COUNT_REDUCED = 40000 };

static MPI_Comm comm;
static int rank, size, form, stride;
static MPI_Datatype type;
static int64_t *from, *to;
static MPI_Aint room; /* words of each */

#define CALL(blocking, nonblocking, persistent)        \
    do {                                               \
        MPI_Request request;                           \
        if (form == BLOCKING) {                        \
            blocking;                                  \
        } else if (form == NONBLOCKING) {              \
            nonblocking;                               \
            MPI_Wait(&request, MPI_STATUS_IGNORE);     \
        } else {                                       \
            persistent;                                \
            MPI_Start(&request);                       \
            MPI_Wait(&request, MPI_STATUS_IGNORE);     \
            MPI_Request_free(&request);                \
        }                                              \
    } while (0)
/* the arguments between the name and the communicator */
#define FORM(Name, name, ...)                                                          \
    CALL(MPI_##Name(__VA_ARGS__, comm), MPI_I##name(__VA_ARGS__, comm, &request),      \
         MPI_##Name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &request))

/* Word i of what rank r has for rank q. */
static int64_t word(int r, int q, int i)
{
    return (int64_t) r * 1000003 + q * 10007 + i;
}

static void spoil(void)
{
    for (MPI_Aint i = 0; i < room; i++)
        from[i] = to[i] = SPOILT;
}

static void put(int64_t *buf, int at, int count, int r, int q)
{
    for (int i = 0; i < count; i++)
        buf[(MPI_Aint) (at + i) * stride] = word(r, q, i);
}

static void check(const int64_t *buf, int at, int count, int r, int q, const char *what)
{
    int wrong = 0;
    for (int i = 0; i < count && !wrong; i++)
        wrong = buf[(MPI_Aint) (at + i) * stride] != word(r, q, i);
    t_check(!wrong, "%s form %d, %d of %d, %d elements, stride %d: wrong block of %d", what, form,
            rank, size, count, stride, r);
    for (int i = 0; stride > 1 && i < count && !wrong; i++)
        wrong = buf[(MPI_Aint) (at + i) * stride + 1] != SPOILT;
    t_check(!wrong, "%s form %d: a gap is written to", what, form);
}

/* --- blocks of one size ----------------------------------------------------------------------- */

static void rooted(int count, int root)
{
    spoil();
    if (rank == root)
        put(to, 0, count, root, 0);
    FORM(Bcast, bcast, to, count, type, root);
    check(to, 0, count, root, 0, "bcast");
    for (int in_place = 0; in_place < 2; in_place++) {
        int mine = in_place && rank == root;
        spoil();
        put(mine ? to : from, mine ? rank * count : 0, count, rank, 0);
        FORM(Gather, gather, mine ? MPI_IN_PLACE : from, count, type, to, count, type, root);
        for (int r = 0; rank == root && r < size; r++)
            check(to, r * count, count, r, 0, "gather");
        spoil();
        for (int r = 0; rank == root && r < size; r++)
            put(from, r * count, count, root, r);
        FORM(Scatter, scatter, from, count, type, mine ? MPI_IN_PLACE : to, count, type, root);
        check(mine ? from : to, mine ? rank * count : 0, count, root, rank, "scatter");
    }
}

static void all_to_all(int count)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        spoil();
        put(in_place ? to : from, in_place ? rank * count : 0, count, rank, 0);
        FORM(Allgather, allgather, in_place ? MPI_IN_PLACE : from, count, type, to, count, type);
        for (int r = 0; r < size; r++)
            check(to, r * count, count, r, 0, "allgather");
        spoil();
        for (int r = 0; r < size; r++)
            put(in_place ? to : from, r * count, count, rank, r);
        FORM(Alltoall, alltoall, in_place ? MPI_IN_PLACE : from, count, type, to, count, type);
        for (int r = 0; r < size; r++)
            check(to, r * count, count, r, rank, "alltoall");
    }
}

/* --- blocks of different sizes ---------------------------------------------------------------- */

/* What rank r has for rank q: often nothing. */
static int much(int count, int r, int q)
{
    return (r + q) % 3 == 0 ? 0 : count * (1 + (r + 2 * q) % 4) / 4;
}

static void varying(int count, int root)
{
    int *n = malloc(4 * (size_t) size * sizeof *n), *at = n + size, *m = at + size, *bt = m + size;
    int own = much(count, rank, 0);
    for (int r = 0; r < size; r++) {
        n[r] = much(count, r, 0);
        at[r] = (size - 1 - r) * count; /* backwards, with gaps */
    }
    spoil();
    put(from, 0, own, rank, 0);
    FORM(Gatherv, gatherv, from, own, type, to, rank == root ? n : NULL, rank == root ? at : NULL,
         type, root);
    for (int r = 0; rank == root && r < size; r++)
        check(to, at[r], n[r], r, 0, "gatherv");
    spoil();
    for (int r = 0; rank == root && r < size; r++)
        put(from, at[r], n[r], root, r);
    FORM(Scatterv, scatterv, from, rank == root ? n : NULL, rank == root ? at : NULL, type, to, own,
         type, root);
    check(to, 0, own, root, rank, "scatterv");
    spoil();
    put(from, 0, own, rank, 0);
    FORM(Allgatherv, allgatherv, from, own, type, to, n, at, type);
    for (int r = 0; r < size; r++)
        check(to, at[r], n[r], r, 0, "allgatherv");
    spoil();
    for (int r = 0; r < size; r++) {
        n[r] = much(count, rank, r);
        m[r] = much(count, r, rank);
        bt[r] = r * count;
        put(from, at[r], n[r], rank, r);
    }
    FORM(Alltoallv, alltoallv, from, n, at, type, to, m, bt, type);
    for (int r = 0; r < size; r++)
        check(to, bt[r], m[r], r, rank, "alltoallv");
    free(n);
}

/* --- reductions ------------------------------------------------------------------------------- */

/* x -> a x + b, two words each: may be grouped, but not turned round. */
static void compose(void *left, void *inout, int *count, MPI_Datatype *pairs)
{
    const uint64_t *l = left;
    uint64_t *r = inout;
    (void) pairs;
    for (int i = 0; i < *count; i++) {
        r[2 * i + 1] += r[2 * i] * l[2 * i + 1];
        r[2 * i] *= l[2 * i];
    }
}

static void map_of(int64_t *buf, int count, int lo, int hi)
{
    for (int i = 0; i < count; i++) {
        uint64_t all[2] = {1, 0};
        for (int r = lo; r < hi; r++) {
            uint64_t one[2] = {(uint64_t) (2 * r + 3 + i), (uint64_t) (r * 7 + i + 1)};
            int n = 1;
            compose(all, one, &n, NULL);
            memcpy(all, one, sizeof all);
        }
        memcpy(buf + 2 * i, all, sizeof all);
    }
}

/* Elements [at, at + n) of `count`, at the start of what came. */
static void check_part(int count, int lo, int hi, int at, int n, const char *what)
{
    int64_t *wanted = malloc(2 * (size_t) count * sizeof *wanted);
    map_of(wanted, count, lo, hi);
    t_check(!memcmp(to, wanted + 2 * at, 2 * (size_t) n * sizeof *wanted),
            "%s form %d, %d of %d, %d elements: wrong", what, form, rank, size, count);
    free(wanted);
}

static void check_maps(int count, int lo, int hi, const char *what)
{
    check_part(count, lo, hi, 0, count, what);
}

/* Each rank gets a part: of the same size, and of none to all that is left. */
static void scattered(int count, int in_place, MPI_Datatype pair, MPI_Op op)
{
    int *parts = malloc((size_t) size * sizeof *parts), part = count / size, left = count, at = 0;
    void *own = in_place ? MPI_IN_PLACE : from;
    spoil();
    map_of(in_place ? to : from, part * size, rank, rank + 1);
    FORM(Reduce_scatter_block, reduce_scatter_block, own, to, part, pair, op);
    check_part(part * size, 0, size, part * rank, part, "reduce_scatter_block");
    for (int r = 0; r < size; r++) {
        parts[r] = r == size - 1 ? left : r % 3 == 1 ? 0 : left / 2;
        left -= parts[r];
        at += r < rank ? parts[r] : 0;
    }
    spoil();
    map_of(in_place ? to : from, count, rank, rank + 1);
    FORM(Reduce_scatter, reduce_scatter, own, to, parts, pair, op);
    check_part(count, 0, size, at, parts[rank], "reduce_scatter");
    free(parts);
}

static void reductions(int count, int root, MPI_Datatype pair, MPI_Op op)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        void *own = in_place ? MPI_IN_PLACE : from;
        spoil();
        map_of(in_place ? to : from, count, rank, rank + 1);
        FORM(Allreduce, allreduce, own, to, count, pair, op);
        check_maps(count, 0, size, "allreduce");
        spoil();
        map_of(in_place ? to : from, count, rank, rank + 1);
        FORM(Scan, scan, own, to, count, pair, op);
        check_maps(count, 0, rank + 1, "scan");
        spoil();
        map_of(in_place ? to : from, count, rank, rank + 1);
        FORM(Exscan, exscan, own, to, count, pair, op);
        if (rank > 0)
            check_maps(count, 0, rank, "exscan");
        spoil();
        int mine = in_place && rank == root;
        map_of(mine ? to : from, count, rank, rank + 1);
        FORM(Reduce, reduce, mine ? MPI_IN_PLACE : from, rank == root ? to : NULL, count, pair, op,
             root);
        if (rank == root)
            check_maps(count, 0, size, "reduce");
        scattered(count, in_place, pair, op);
    }
}

/* The bits of a sum. */
static void sums(int count)
{
    double *x = (double *) from, *sum = (double *) to, *first = malloc((size_t) count * 8);
    for (int i = 0; i < count; i++)
        x[i] = (1.0 + i) / (3 + rank) * (rank % 2 ? 1e10 : 1e-6);
    for (int k = 0; k < 3; k++) {
        FORM(Allreduce, allreduce, x, sum, count, MPI_DOUBLE, MPI_SUM);
        if (k == 0)
            memcpy(first, sum, (size_t) count * 8);
        t_check(!memcmp(first, sum, (size_t) count * 8), "another sum the next time");
    }
    MPI_Bcast(first, count, MPI_DOUBLE, size - 1, comm);
    t_check(!memcmp(first, sum, (size_t) count * 8), "another sum on another rank");
    free(first);
}

static double number(int i, int at_rank)
{
    return (i * 7 + at_rank * 13) % 101 / 3.0;
}

/* Where no double belongs, on some ranks. */
static void maxima(int count)
{
    double *x = (double *) from, most, is;
    char *odd = (char *) to + rank % 3;
    for (int i = 0; i < count; i++)
        x[i] = number(i, rank);
    FORM(Allreduce, allreduce, x, (void *) odd, count, MPI_DOUBLE, MPI_MAX);
    for (int i = 0; i < count; i++) {
        most = number(i, 0);
        for (int r = 1; r < size; r++)
            most = number(i, r) > most ? number(i, r) : most;
        memcpy(&is, odd + 8 * i, 8);
        t_check(is == most, "maximum %d of %d is %g, should be %g", i, count, is, most);
    }
}

/* --- all of it -------------------------------------------------------------------------------- */

static void everything(MPI_Comm on, const int *counts, int ncounts)
{
    MPI_Datatype gap, pair;
    MPI_Op op;
    comm = on;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Type_create_resized(MPI_INT64_T, 0, 16, &gap);
    MPI_Type_commit(&gap);
    MPI_Type_contiguous(2, MPI_INT64_T, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(compose, 0, &op);
    for (int c = 0; c < ncounts; c++)
        for (form = BLOCKING; form < FORMS; form++) {
            int count = counts[c], root = (c + form) % size;
            CALL(MPI_Barrier(comm), MPI_Ibarrier(comm, &request),
                 MPI_Barrier_init(comm, MPI_INFO_NULL, &request));
            room = (MPI_Aint) COUNT_REDUCED * 2 + 2;
            for (stride = 1; stride <= 2 && count <= COUNT_MOST; stride++) {
                type = stride == 1 ? MPI_INT64_T : gap;
                room = (MPI_Aint) size * count * 2 + 2;
                rooted(count, root);
                all_to_all(count);
                varying(count, root);
            }
            reductions(count, root, pair, op);
            sums(count);
            maxima(count);
        }
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
    MPI_Type_free(&gap);
}

/* Many at a time, on several communicators, finished in another order than begun. */
static void outstanding(MPI_Comm a, MPI_Comm b)
{
    enum { MANY = 200 };
    static int64_t in[MANY], out[MANY];
    MPI_Request request[MANY];
    int from_a, of_a, at_b;
    MPI_Comm_size(a, &of_a);
    MPI_Comm_rank(a, &from_a);
    MPI_Comm_rank(b, &at_b);
    for (int i = 0; i < MANY; i++) {
        MPI_Comm on = i % 3 ? a : b;
        in[i] = i + (i % 3 ? from_a : at_b);
        out[i] = i % 2 && in[i] == i ? i : -1;
        if (i % 2)
            MPI_Ibcast(&out[i], 1, MPI_INT64_T, 0, on, &request[i]);
        else
            MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT64_T, MPI_SUM, on, &request[i]);
    }
    for (int i = MANY - 1; i >= 0; i--)
        MPI_Wait(&request[i], MPI_STATUS_IGNORE);
    for (int i = 0; i < MANY; i++)
        t_check(out[i] == (i % 2 ? i : (int64_t) i * of_a + of_a * (of_a - 1) / 2),
                "collective %d of many gives %lld", i, (long long) out[i]);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 31, 300, COUNT_MOST, COUNT_REDUCED}, few[] = {2, 400};
    MPI_Comm dup, half, back;
    t_begin(&argc, &argv);
    room = (MPI_Aint) t_size * COUNT_MOST * 2 + 2;
    if (room < COUNT_REDUCED * 2 + 2)
        room = COUNT_REDUCED * 2 + 2;
    from = malloc((size_t) room * sizeof *from);
    to = malloc((size_t) room * sizeof *to);
    everything(MPI_COMM_WORLD, counts, 5);
    MPI_Comm_split(MPI_COMM_WORLD, t_rank % 2, t_rank, &half);
    everything(half, few, 2);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -t_rank, &back);
    everything(back, few, 2);
    outstanding(MPI_COMM_WORLD, back);
    for (int i = 0; i < 100; i++) {
        int64_t one = 1, sum = 0;
        MPI_Comm_dup(i % 2 ? back : MPI_COMM_WORLD, &dup);
        MPI_Allreduce(&one, &sum, 1, MPI_INT64_T, MPI_SUM, dup);
        t_check(sum == t_size, "a sum on duplicate %d is %lld", i, (long long) sum);
        MPI_Bcast(&sum, 1, MPI_INT64_T, i % t_size, dup); /* over for its root at once */
        MPI_Comm_free(&dup);
    }
    MPI_Comm_free(&half);
    MPI_Comm_free(&back);
    free(from);
    free(to);
    return t_end();
}
