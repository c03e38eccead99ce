/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Floating-point numbers that are hard to tell apart, or to put in order: zeros with a sign, and
 * NaNs with bits of their own. Whatever they are, a reduction has the same bits on every rank and
 * every time, whether memory for long data is free or in use, and minima and maxima are those in
 * which -0 is less than +0, and a NaN beyond all others; of accumulates, too.
 */
#include "testing.h"
#include <float.h>
#include <math.h>

#ifdef __SIZEOF_FLOAT128__
__extension__ typedef __float128 real16;
#else
typedef long double real16;
#endif

/* --- numbers ---------------------------------------------------------------------------------- */

enum format { F32, F64, F_LONG, F128, FORMATS };
static const size_t format_bytes[FORMATS] = {sizeof(float), sizeof(double), sizeof(long double),
                                             sizeof(real16)};
/* what is not used of them may be anything */
static const size_t format_used[FORMATS] = {
    sizeof(float), sizeof(double), LDBL_MANT_DIG == 64 ? 10 : sizeof(long double), sizeof(real16)};

static void number_to(enum format format, char *at, double number)
{
    float f32 = (float) number;
    long double f_long = number;
    real16 f128 = number;
    const void *const from[FORMATS] = {&f32, &number, &f_long, &f128};
    memcpy(at, from[format], format_bytes[format]);
}

static double number_at(enum format format, const char *at)
{
    float f32;
    double f64;
    long double f_long;
    real16 f128;
    void *const to[FORMATS] = {&f32, &f64, &f_long, &f128};
    memcpy(to[format], at, format_bytes[format]);
    return format == F32   ? (double) f32
           : format == F64 ? f64
                           : (double) (format == F_LONG ? f_long : (long double) f128);
}

/* What rank r has; every float is exactly one of these. */
static double odd(int r, int i)
{
    static const double plain[] = {0.0, -0.0, 0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY};
    static const uint64_t nans[] = {0x7ff8000000000000, 0xfff8000000000000, 0xfffc000000000000,
                                    0x7ff8001000000000};
    uint64_t k = t_random((uint64_t) r, (uint64_t) i);
    double number;
    /* where few are NaNs the others matter, where none is one nothing but the zeros */
    memcpy(&number, &nans[k / 64 % 4], sizeof number);
    return k % 64 < (unsigned) (i % 3) * 8 ? number : plain[k / 64 % (i % 2 ? 4 : 8)];
}

static double least(double a, double b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    return a < b || (a == b && signbit(a)) ? a : b;
}

static double most(double a, double b)
{
    return -least(-a, -b);
}

/* --- elements --------------------------------------------------------------------------------- */

/* One number, two (complex), or one and an index: an int, or a number again. */
enum kind { REAL, COMPLEX, PAIR, NUMBERS };

struct type {
    MPI_Datatype type;
    enum format format;
    enum kind kind;
    const char *name;
    size_t extent;
};

#define TYPE(type, format, kind, name, c_type) {type, format, kind, name, sizeof(c_type)}
#define PAIR_OF(type, format, name, c_type)                                                    \
    {type, format, PAIR, name, sizeof(struct {c_type number; int index;})}

static const struct type types[] = {
    TYPE(MPI_FLOAT, F32, REAL, "float", float),
    TYPE(MPI_DOUBLE, F64, REAL, "double", double),
    TYPE(MPI_LONG_DOUBLE, F_LONG, REAL, "long double", long double),
    TYPE(MPI_REAL, F32, REAL, "REAL", float),
    TYPE(MPI_REAL16, F128, REAL, "REAL16", real16),
    TYPE(MPI_C_FLOAT_COMPLEX, F32, COMPLEX, "float complex", float[2]),
    TYPE(MPI_C_DOUBLE_COMPLEX, F64, COMPLEX, "double complex", double[2]),
    TYPE(MPI_C_LONG_DOUBLE_COMPLEX, F_LONG, COMPLEX, "long double complex", long double[2]),
    TYPE(MPI_DOUBLE_COMPLEX, F64, COMPLEX, "DOUBLE COMPLEX", double[2]),
    PAIR_OF(MPI_FLOAT_INT, F32, "float and int", float),
    PAIR_OF(MPI_DOUBLE_INT, F64, "double and int", double),
    PAIR_OF(MPI_LONG_DOUBLE_INT, F_LONG, "long double and int", long double),
    TYPE(MPI_2REAL, F32, NUMBERS, "two REAL", float[2]),
    TYPE(MPI_2DOUBLE_PRECISION, F64, NUMBERS, "two DOUBLE PRECISION", double[2])};
enum { TYPES = sizeof types / sizeof types[0] };

static const struct type *t;
static MPI_Op op;
static const char *op_name;

/* Where the second part of an element is. */
static size_t second(void)
{
    return format_bytes[t->format];
}

static int index_of(int r, int i)
{
    return (int) (t_random((uint64_t) r + 100, (uint64_t) i) % 1000);
}

static void fill(char *at, int count, int r)
{
    memset(at, 0, (size_t) count * t->extent);
    for (int i = 0; i < count; i++, at += t->extent) {
        int index = index_of(r, i);
        number_to(t->format, at, odd(r, i));
        if (t->kind == COMPLEX)
            number_to(t->format, at + second(), odd(r, i + 1));
        if (t->kind == NUMBERS)
            number_to(t->format, at + second(), index);
        if (t->kind == PAIR)
            memcpy(at + second(), &index, sizeof index);
    }
}

/* Bytes of elements that count differ at the first i; or `count`. */
static int differ(const char *a, const char *b, int count)
{
    size_t used = format_used[t->format];
    for (int i = 0; i < count; i++, a += t->extent, b += t->extent) {
        if (memcmp(a, b, used) != 0)
            return i;
        size_t rest = t->kind == REAL ? 0 : t->kind == PAIR ? sizeof(int) : used;
        if (memcmp(a + second(), b + second(), rest) != 0)
            return i;
    }
    return count;
}

/* Of ranks first to last, where we know it: element i is an extreme. */
static int is_right(const char *at, int i, int first, int last)
{
    int is_min = op == MPI_MIN || op == MPI_MINLOC, index = index_of(first, i), got;
    double want = odd(first, i);
    if (op == MPI_SUM || op == MPI_PROD)
        return 1;
    for (int r = first + 1; r <= last; r++) {
        double number = odd(r, i);
        int equal = isnan(want) ? isnan(number) : want == number;
        int beyond = isnan(number) ? !isnan(want) : is_min ? number < want : number > want;
        if (beyond || (equal && index_of(r, i) < index))
            index = index_of(r, i);
        want = is_min ? least(want, number) : most(want, number);
    }
    double number = number_at(t->format, at);
    if (isnan(want) ? !isnan(number) : number != want || signbit(number) != signbit(want))
        return 0;
    if (t->kind == NUMBERS)
        return number_at(t->format, at + second()) == index;
    memcpy(&got, at + second(), t->kind == PAIR ? sizeof got : 0);
    return t->kind != PAIR || got == index;
}

static void check(const char *at, int count, int from, int first, int last, const char *what)
{
    int i = 0;
    while (i < count && is_right(at + (size_t) i * t->extent, from + i, first, last))
        i++;
    t_check(i == count, "%s, %s of %d %s: element %d is %g", what, op_name, count, t->name, i,
            number_at(t->format, at + (size_t) i * t->extent));
}

/* --- calls ------------------------------------------------------------------------------------ */

enum { MOST = 40000, TIMES = 4, OTHERS = 12, OTHER_BYTES = 256 << 10 };

static char *mine, *got, *root, *all, *other[OTHERS];
static MPI_Request request[OTHERS];

/* Every other time the first ranks are ahead of the last, with much of what is not done. */
static void others_begin(int time)
{
    int token = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (time % 2 && t_rank > 0)
        MPI_Recv(&token, 1, MPI_INT, t_rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int k = 0; k < OTHERS; k++)
        request[k] = MPI_REQUEST_NULL;
    for (int k = 0; k < OTHERS && time % 2; k++)
        MPI_Ibcast(other[k], OTHER_BYTES, MPI_BYTE, 0, MPI_COMM_WORLD, &request[k]);
    if (time % 2 && t_rank + 1 < t_size)
        MPI_Send(&token, 1, MPI_INT, t_rank + 1, 0, MPI_COMM_WORLD);
}

static void others_end(void)
{
    MPI_Waitall(OTHERS, request, MPI_STATUSES_IGNORE);
}

/* As rank 0 has it. */
static void check_alike(int count, const char *what)
{
    memcpy(root, got, (size_t) count * t->extent);
    MPI_Bcast(root, count * (int) t->extent, MPI_BYTE, 0, MPI_COMM_WORLD);
    int i = differ(got, root, count);
    t_check(i == count, "%s, %s of %d %s: element %d is %g, and %g on rank 0", what, op_name,
            count, t->name, i, number_at(t->format, got + (size_t) i * t->extent),
            number_at(t->format, root + (size_t) i * t->extent));
}

/* The first time's result is kept in `first`. */
static void check_again(char *first, int count, int time, const char *what)
{
    if (time == 0)
        memcpy(first, got, (size_t) count * t->extent);
    int i = differ(got, first, count);
    t_check(i == count, "%s, %s of %d %s: element %d is %g, and was %g", what, op_name, count,
            t->name, i, number_at(t->format, got + (size_t) i * t->extent),
            number_at(t->format, first + (size_t) i * t->extent));
}

static void to_all(int count)
{
    for (int time = 0; time < TIMES; time++) {
        MPI_Request own;
        others_begin(time);
        if (time < 2)
            MPI_Allreduce(mine, got, count, t->type, op, MPI_COMM_WORLD);
        else
            MPI_Iallreduce(mine, got, count, t->type, op, MPI_COMM_WORLD, &own);
        if (time >= 2)
            MPI_Wait(&own, MPI_STATUS_IGNORE);
        others_end();
        check(got, count, 0, 0, t_size - 1, "allreduce");
        check_alike(count, "allreduce");
    }
}

static void to_root(int count)
{
    char *first = t_alloc((size_t) count * t->extent);
    for (int time = 0; time < TIMES; time++) {
        others_begin(time);
        MPI_Reduce(mine, got, count, t->type, op, t_size - 1, MPI_COMM_WORLD);
        others_end();
        if (t_rank == t_size - 1) {
            check(got, count, 0, 0, t_size - 1, "reduce");
            check_again(first, count, time, "reduce");
        }
    }
    free(first);
}

static void in_parts(int count)
{
    char *first = t_alloc((size_t) count * t->extent);
    int block = count / t_size;
    for (int time = 0; time < TIMES; time++) {
        others_begin(time);
        MPI_Reduce_scatter_block(mine, got, block, t->type, op, MPI_COMM_WORLD);
        others_end();
        check(got, block, t_rank * block, 0, t_size - 1, "reduce and scatter");
        check_again(first, block, time, "reduce and scatter");
    }
    free(first);
}

static void prefixes(int count)
{
    char *first = t_alloc((size_t) count * t->extent);
    for (int time = 0; time < TIMES; time++) {
        others_begin(time);
        MPI_Scan(mine, got, count, t->type, op, MPI_COMM_WORLD);
        others_end();
        if (t_rank > 0) /* rank 0's is its own */
            check(got, count, 0, 0, t_rank, "scan");
        check_again(first, count, time, "scan");
    }
    free(first);
}

/* Which of the two is which is no matter. */
static void local(int count)
{
    fill(got, count, 1);
    fill(root, count, 0);
    fill(all, count, 1);
    MPI_Reduce_local(root, got, count, t->type, op);
    MPI_Reduce_local(all, root, count, t->type, op);
    check(got, count, 0, 0, 1, "at once");
    int i = differ(got, root, count);
    t_check(i == count, "%s of two %d %s: element %d is %g one way, %g the other", op_name, count,
            t->name, i, number_at(t->format, got + (size_t) i * t->extent),
            number_at(t->format, root + (size_t) i * t->extent));
}

/* In what order they come is not known. */
static void accumulated(enum t_flavour flavour, int count)
{
    struct t_win w = t_win_make(MPI_COMM_WORLD, flavour, (size_t) count * t->extent, 1);
    if (w.rank == 0)
        fill(w.base, count, t_size);
    MPI_Win_fence(0, w.win);
    MPI_Accumulate(mine, count, t->type, 0, w.at[0], count, t->type, op, w.win);
    MPI_Win_fence(0, w.win);
    if (w.rank == 0)
        check(w.base, count, 0, 0, t_size, "accumulate");
    MPI_Win_fence(0, w.win);
    t_win_free(&w);
}

static void all_calls(int count)
{
    fill(mine, count, t_rank);
    local(count);
    to_all(count);
    to_root(count);
    in_parts(count);
    prefixes(count);
    if (count > 2000 || op == MPI_SUM || op == MPI_PROD)
        return;
    accumulated(T_ALLOCATE, count);
    accumulated(T_CREATE, count);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 7, 31, 32, 33, 1034, MOST};
    static const struct {
        MPI_Op op;
        const char *name;
    } ops[] = {{MPI_SUM, "SUM"},       {MPI_PROD, "PROD"},     {MPI_MIN, "MIN"},
               {MPI_MAX, "MAX"},       {MPI_MINLOC, "MINLOC"}, {MPI_MAXLOC, "MAXLOC"}};
    t_begin(&argc, &argv);
    mine = t_alloc(MOST * sizeof(long double[2]));
    got = t_alloc(MOST * sizeof(long double[2]));
    root = t_alloc(MOST * sizeof(long double[2]));
    all = t_alloc(MOST * sizeof(long double[2]));
    for (int k = 0; k < OTHERS; k++)
        other[k] = calloc(1, OTHER_BYTES);
    for (t = types; t < types + TYPES; t++)
        for (size_t o = 0; o < sizeof ops / sizeof ops[0] && t->type != MPI_DATATYPE_NULL; o++) {
            int is_pair = t->kind == PAIR || t->kind == NUMBERS;
            op = ops[o].op;
            op_name = ops[o].name;
            if (is_pair ? o < 4 : o >= (t->kind == COMPLEX ? 2 : 4))
                continue;
            for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
                all_calls(counts[c]);
        }
    free(mine);
    free(got);
    free(root);
    free(all);
    for (int k = 0; k < OTHERS; k++)
        free(other[k]);
    return t_end();
}
