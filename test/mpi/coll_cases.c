/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Collectives against what they must give: every kind, blocking, nonblocking and persistent, in
 * place and not, with blocks of a word to many pages, types with gaps, operators that do not
 * commute, on the world, duplicates, halves and the world backwards. Persistent ones are started
 * three times, each time with other data. Sums of floating-point numbers have the same bits on
 * every rank and every time. Communicators come and go.
 */
#include "testing.h"

enum { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };
enum { SPOILT = -77, COUNT_MOST = 9000, COUNT_REDUCED = 40000 };

static MPI_Comm comm;
static int rank, size, form, stride, turn;
static MPI_Datatype type;
static MPI_Request request;
static int64_t *from, *to;
static MPI_Aint room; /* words of each */

/* What follows is done once, or of a persistent operation: made, and started and checked three
 * times. What is checked before the first start is nothing. */
enum { MADE = -1, STARTS = 3 };
#define TURNS()                                                    \
    for (turn = form == PERSISTENT ? MADE : STARTS - 1; turn < STARTS; turn++)

#define CALL(blocking, nonblocking, persistent)        \
    do {                                               \
        if (form == BLOCKING) {                        \
            blocking;                                  \
        } else if (form == NONBLOCKING) {              \
            nonblocking;                               \
            MPI_Wait(&request, MPI_STATUS_IGNORE);     \
        } else if (turn == MADE) {                     \
            persistent;                                \
        } else {                                       \
            MPI_Start(&request);                       \
            MPI_Wait(&request, MPI_STATUS_IGNORE);     \
            if (turn == STARTS - 1)                    \
                MPI_Request_free(&request);            \
        }                                              \
    } while (0)
/* the arguments between the name and the communicator */
#define FORM(Name, name, ...)                                                          \
    CALL(MPI_##Name(__VA_ARGS__, comm), MPI_I##name(__VA_ARGS__, comm, &request),      \
         MPI_##Name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &request))

/* Word i of what rank r has for rank q. */
static int64_t word(int r, int q, int i)
{
    return (int64_t) r * 1000003 + q * 10007 + i + (int64_t) turn * 100000007;
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
    if (turn == MADE)
        return;
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
    TURNS() {
        spoil();
        if (rank == root)
            put(to, 0, count, root, 0);
        FORM(Bcast, bcast, to, count, type, root);
        check(to, 0, count, root, 0, "bcast");
    }
    for (int in_place = 0; in_place < 2; in_place++) {
        int mine = in_place && rank == root;
        TURNS() {
            spoil();
            put(mine ? to : from, mine ? rank * count : 0, count, rank, 0);
            FORM(Gather, gather, mine ? MPI_IN_PLACE : from, count, type, to, count, type, root);
            for (int r = 0; rank == root && r < size; r++)
                check(to, r * count, count, r, 0, "gather");
        }
        TURNS() {
            spoil();
            for (int r = 0; rank == root && r < size; r++)
                put(from, r * count, count, root, r);
            FORM(Scatter, scatter, from, count, type, mine ? MPI_IN_PLACE : to, count, type, root);
            check(mine ? from : to, mine ? rank * count : 0, count, root, rank, "scatter");
        }
    }
}

static void all_to_all(int count)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        TURNS() {
            spoil();
            put(in_place ? to : from, in_place ? rank * count : 0, count, rank, 0);
            FORM(Allgather, allgather, in_place ? MPI_IN_PLACE : from, count, type, to, count,
                 type);
            for (int r = 0; r < size; r++)
                check(to, r * count, count, r, 0, "allgather");
        }
        TURNS() {
            spoil();
            for (int r = 0; r < size; r++)
                put(in_place ? to : from, r * count, count, rank, r);
            FORM(Alltoall, alltoall, in_place ? MPI_IN_PLACE : from, count, type, to, count, type);
            for (int r = 0; r < size; r++)
                check(to, r * count, count, r, rank, "alltoall");
        }
    }
}

/* --- blocks of different sizes ---------------------------------------------------------------- */

/* What rank r has for rank q: often nothing, unless there is but one. */
static int much(int count, int r, int q)
{
    return (r + q) % 3 == 0 && size > 1 ? 0 : count * (1 + (r + 2 * q) % 4) / 4;
}

static void varying(int count, int root)
{
    int *n = malloc(4 * (size_t) size * sizeof *n), *at = n + size, *m = at + size, *bt = m + size;
    int own = much(count, rank, 0);
    for (int r = 0; r < size; r++) {
        n[r] = much(count, r, 0);
        at[r] = (size - 1 - r) * count + 1; /* backwards, with gaps */
    }
    TURNS() {
        spoil();
        put(from, 0, own, rank, 0);
        FORM(Gatherv, gatherv, from, own, type, to, rank == root ? n : NULL,
             rank == root ? at : NULL, type, root);
        for (int r = 0; rank == root && r < size; r++)
            check(to, at[r], n[r], r, 0, "gatherv");
    }
    TURNS() {
        spoil();
        for (int r = 0; rank == root && r < size; r++)
            put(from, at[r], n[r], root, r);
        FORM(Scatterv, scatterv, from, rank == root ? n : NULL, rank == root ? at : NULL, type, to,
             own, type, root);
        check(to, 0, own, root, rank, "scatterv");
    }
    TURNS() {
        spoil();
        put(from, 0, own, rank, 0);
        FORM(Allgatherv, allgatherv, from, own, type, to, n, at, type);
        for (int r = 0; r < size; r++)
            check(to, at[r], n[r], r, 0, "allgatherv");
    }
    for (int r = 0; r < size; r++) {
        n[r] = much(count, rank, r);
        m[r] = much(count, r, rank);
        bt[r] = r * count + 1;
    }
    TURNS() {
        spoil();
        for (int r = 0; r < size; r++)
            put(from, at[r], n[r], rank, r);
        FORM(Alltoallv, alltoallv, from, n, at, type, to, m, bt, type);
        for (int r = 0; r < size; r++)
            check(to, bt[r], m[r], r, rank, "alltoallv");
    }
    free(n);
}

/* What each two ranks give each other has a type of its own: so many words, with gaps. */
static void by_types(void)
{
    enum { WORDS = 5 };
    int *n = malloc(3 * (size_t) size * sizeof *n), *at = n + size, *words = at + size;
    MPI_Datatype *types = malloc((size_t) size * sizeof *types);
    stride = 2;
    room = (MPI_Aint) size * WORDS * stride + 2;
    for (int r = 0; r < size; r++) {
        n[r] = 1;
        at[r] = r * WORDS * stride * (int) sizeof *to;
        words[r] = 1 + (r + rank) * 2 % WORDS;
        MPI_Type_vector(words[r], 1, stride, MPI_INT64_T, &types[r]);
        MPI_Type_commit(&types[r]);
    }
    for (int in_place = 0; in_place < 2; in_place++) {
        TURNS() {
            spoil();
            for (int r = 0; r < size; r++)
                put(in_place ? to : from, r * WORDS, words[r], rank, r);
            FORM(Alltoallw, alltoallw, in_place ? MPI_IN_PLACE : from, n, at, types, to, n, at,
                 types);
            for (int r = 0; r < size; r++)
                check(to, r * WORDS, words[r], r, rank,
                      in_place ? "alltoallw in place" : "alltoallw");
        }
    }
    for (int r = 0; r < size; r++)
        MPI_Type_free(&types[r]);
    free(types);
    free(n);
}

/* Long blocks of different sizes whose type is another on every other rank, one word or three: the
 * same words. */
static void unlike(int words)
{
    int most = words + 6 * size, per = rank % 2 ? 3 : 1, *n = malloc(2 * (size_t) size * sizeof *n);
    int *at = n + size, wrong = 0, own = words + 6 * rank;
    int64_t *out = malloc((size_t) own * sizeof *out);
    int64_t *in = malloc((size_t) size * (size_t) most * sizeof *in);
    MPI_Datatype some;
    MPI_Type_contiguous(per, MPI_INT64_T, &some);
    MPI_Type_commit(&some);
    for (int r = 0; r < size; r++) {
        n[r] = (words + 6 * r) / per;
        at[r] = r * (most / per);
    }
    TURNS() {
        memset(in, 0, (size_t) size * (size_t) most * sizeof *in);
        for (int i = 0; i < own; i++)
            out[i] = word(rank, 0, i);
        FORM(Allgatherv, allgatherv, out, n[rank], some, in, n, at, some);
        for (int r = 0; r < size && turn != MADE; r++)
            for (int i = 0; i < words + 6 * r; i++)
                wrong += in[(size_t) r * (size_t) most + (size_t) i] != word(r, 0, i);
        t_check(!wrong, "allgatherv form %d of types that differ: %d wrong", form, wrong);
    }
    MPI_Type_free(&some);
    free(in);
    free(out);
    free(n);
}

/* --- reductions ------------------------------------------------------------------------------- */

/* x -> a x + b, two words each: may be grouped, but not turned round. */
static void then(uint64_t a, uint64_t b, uint64_t *inout_a, uint64_t *inout_b)
{
    *inout_b += *inout_a * b;
    *inout_a *= a;
}

/* How far apart the pairs are, and where in one its words: side by side, a gap behind, gaps around
 * and a start before the address. */
static const struct shape {
    int width, a, b;
} shapes[] = {{2, 0, 1}, {3, 0, 1}, {4, -1, 1}};
static const struct shape *shape;

static MPI_Datatype shape_type(void)
{
    MPI_Datatype words, made;
    int displs[] = {shape->a, shape->b};
    MPI_Type_create_indexed_block(2, 1, displs, MPI_INT64_T, &words);
    MPI_Type_create_resized(words, 8 * shape->a, 8 * shape->width, &made);
    MPI_Type_commit(&made);
    MPI_Type_free(&words);
    return made;
}

static void compose(void *left, void *inout, int *count, MPI_Datatype *pairs)
{
    const uint64_t *l = left;
    uint64_t *r = inout;
    (void) pairs;
    for (int i = 0; i < *count; i++, l += shape->width, r += shape->width)
        then(l[shape->a], l[shape->b], &r[shape->a], &r[shape->b]);
}

/* Element i of what ranks [lo, hi) give in this turn. */
static void map_of(uint64_t pair[2], int i, int lo, int hi)
{
    pair[0] = 1;
    pair[1] = 0;
    for (int r = lo; r < hi; r++) {
        uint64_t a = pair[0], b = pair[1];
        pair[0] = (uint64_t) (2 * r + 3 + i);
        pair[1] = (uint64_t) (r * 7 + i + 1 + turn);
        then(a, b, &pair[0], &pair[1]);
    }
}

static void give(int64_t *buf, int count)
{
    for (int i = 0; i < count; i++, buf += shape->width) {
        uint64_t pair[2];
        map_of(pair, i, rank, rank + 1);
        memcpy(buf + shape->a, &pair[0], 8);
        memcpy(buf + shape->b, &pair[1], 8);
    }
}

/* Elements [at, at + n) of the result, at the start of what came; nothing is between. */
static void check_part(const int64_t *buf, int lo, int hi, int at, int n, const char *what)
{
    int wrong = 0, written = 0;
    if (turn == MADE)
        return;
    for (int i = 0; i < n; i++) {
        uint64_t pair[2];
        map_of(pair, at + i, lo, hi);
        wrong += memcmp(buf + shape->a, &pair[0], 8) || memcmp(buf + shape->b, &pair[1], 8);
        for (int k = shape->a; k < shape->a + shape->width; k++)
            written += k != shape->a && k != shape->b && buf[k] != SPOILT;
        buf += shape->width;
    }
    t_check(!wrong && !written, "%s form %d, %d of %d, %d elements of %d words: wrong %d, gaps %d",
            what, form, rank, size, n, shape->width, wrong, written);
}

/* Each rank gets a part: of the same size, and of none to all that is left. */
static void scattered(int count, int in_place, MPI_Datatype pair, MPI_Op op)
{
    int *parts = malloc((size_t) size * sizeof *parts), part = count / size, left = count, at = 0;
    int64_t *in = from + 1, *out = to + 1;
    void *own = in_place ? MPI_IN_PLACE : in;
    TURNS() {
        spoil();
        give(in_place ? out : in, part * size);
        FORM(Reduce_scatter_block, reduce_scatter_block, own, out, part, pair, op);
        check_part(out, 0, size, part * rank, part, "reduce_scatter_block");
    }
    for (int r = 0; r < size; r++) {
        parts[r] = r == size - 1 ? left : r % 3 == 1 ? 0 : left / 2;
        left -= parts[r];
        at += r < rank ? parts[r] : 0;
    }
    TURNS() {
        spoil();
        give(in_place ? out : in, count);
        FORM(Reduce_scatter, reduce_scatter, own, out, parts, pair, op);
        check_part(out, 0, size, at, parts[rank], "reduce_scatter");
    }
    free(parts);
}

static void reductions(int count, int root, MPI_Datatype pair, MPI_Op op)
{
    int64_t *in = from + 1, *out = to + 1;
    for (int in_place = 0; in_place < 2; in_place++) {
        int mine = in_place && rank == root;
        void *own = in_place ? MPI_IN_PLACE : in;
        TURNS() {
            spoil();
            give(in_place ? out : in, count);
            FORM(Allreduce, allreduce, own, out, count, pair, op);
            check_part(out, 0, size, 0, count, "allreduce");
        }
        TURNS() {
            spoil();
            give(in_place ? out : in, count);
            FORM(Scan, scan, own, out, count, pair, op);
            check_part(out, 0, rank + 1, 0, count, "scan");
        }
        TURNS() {
            spoil();
            give(in_place ? out : in, count);
            FORM(Exscan, exscan, own, out, count, pair, op);
            if (rank > 0)
                check_part(out, 0, rank, 0, count, "exscan");
        }
        TURNS() {
            spoil();
            give(mine ? out : in, count);
            FORM(Reduce, reduce, mine ? MPI_IN_PLACE : in, rank == root ? out : NULL, count, pair,
                 op, root);
            if (rank == root)
                check_part(out, 0, size, 0, count, "reduce");
        }
        scattered(count, in_place, pair, op);
    }
}

/* The bits of a sum. */
static void sums(int count)
{
    double *x = (double *) from, *sum = (double *) to, *first = malloc((size_t) count * 8);
    int known = 0;
    for (int i = 0; i < count; i++)
        x[i] = (1.0 + i) / (3 + rank) * (rank % 2 ? 1e10 : 1e-6);
    for (int k = 0; k < 3; k++)
        TURNS() {
            FORM(Allreduce, allreduce, x, sum, count, MPI_DOUBLE, MPI_SUM);
            if (turn == MADE)
                continue;
            if (!known++)
                memcpy(first, sum, (size_t) count * 8);
            t_check(!memcmp(first, sum, (size_t) count * 8), "another sum the next time");
        }
    MPI_Bcast(first, count, MPI_DOUBLE, size - 1, comm);
    t_check(!memcmp(first, sum, (size_t) count * 8), "another sum on another rank");
    free(first);
}

static double number(int i, int at_rank)
{
    return (i * 7 + at_rank * 13 + turn * 5) % 101 / 3.0;
}

/* Where no double belongs, on some ranks. */
static void maxima(int count)
{
    double *x = (double *) from, most, is;
    char *odd = (char *) to + rank % 3;
    TURNS() {
        for (int i = 0; i < count; i++)
            x[i] = number(i, rank);
        FORM(Allreduce, allreduce, x, (void *) odd, count, MPI_DOUBLE, MPI_MAX);
        for (int i = 0; i < count && turn != MADE; i++) {
            most = number(i, 0);
            for (int r = 1; r < size; r++)
                most = number(i, r) > most ? number(i, r) : most;
            memcpy(&is, odd + 8 * i, 8);
            t_check(is == most, "maximum %d of %d is %g, should be %g", i, count, is, most);
        }
    }
}

/* --- all of it -------------------------------------------------------------------------------- */

static void everything(MPI_Comm on, const int *counts, int ncounts)
{
    MPI_Datatype gap;
    MPI_Op op;
    comm = on;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Type_create_resized(MPI_INT64_T, 0, 16, &gap);
    MPI_Type_commit(&gap);
    MPI_Op_create(compose, 0, &op);
    for (int c = 0; c < ncounts; c++)
        for (form = BLOCKING; form < FORMS; form++) {
            int count = counts[c], root = (c + form) % size;
            TURNS() {
                CALL(MPI_Barrier(comm), MPI_Ibarrier(comm, &request),
                     MPI_Barrier_init(comm, MPI_INFO_NULL, &request));
            }
            for (stride = 1; stride <= 2 && count <= COUNT_MOST; stride++) {
                type = stride == 1 ? MPI_INT64_T : gap;
                room = (MPI_Aint) size * count * 2 + 2;
                rooted(count, root);
                all_to_all(count);
                varying(count, root);
            }
            room = (MPI_Aint) COUNT_REDUCED * 2 + 2;
            for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
                shape = &shapes[k];
                if (count <= COUNT_MOST || k == 0) {
                    MPI_Datatype pair = shape_type();
                    reductions(count, root, pair, op);
                    MPI_Type_free(&pair);
                }
            }
            sums(count);
            maxima(count);
        }
    for (form = BLOCKING; form < FORMS; form++) {
        by_types();
        unlike(12000);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&gap);
}

/* Many at a time, on several communicators, finished in another order than begun. */
static void outstanding(MPI_Comm a, MPI_Comm b)
{
    enum { MANY = 200 };
    static int64_t in[MANY], out[MANY];
    MPI_Request requests[MANY];
    int from_a, of_a, at_b;
    MPI_Comm_size(a, &of_a);
    MPI_Comm_rank(a, &from_a);
    MPI_Comm_rank(b, &at_b);
    for (int i = 0; i < MANY; i++) {
        MPI_Comm on = i % 3 ? a : b;
        in[i] = i + (i % 3 ? from_a : at_b);
        out[i] = i % 2 && in[i] == i ? i : -1;
        if (i % 2)
            MPI_Ibcast(&out[i], 1, MPI_INT64_T, 0, on, &requests[i]);
        else
            MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT64_T, MPI_SUM, on, &requests[i]);
    }
    for (int i = MANY - 1; i >= 0; i--)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
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
