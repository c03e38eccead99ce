/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * acc_arrays [FLAVOUR]: accumulates of one to some thousand elements that no instruction updates
 * (complex numbers, long double, pairs), from all ranks on the same elements of rank 0's window.
 *
 * Rank r gives in turn k what does not depend on the order: sums of small whole numbers, the
 * greatest number with the least index. Half of the turns bring what was there, which lies between
 * the first and the last. Bytes in the gaps of pairs stay as they are in the window and in results.
 */
#include "testing.h"
#include <complex.h>
#include <stddef.h>

enum { TURNS = 4, MOST = 3000, BYTES_MAX = 32, BEHIND = 64, THERE = 0x5a, BROUGHT = 0x77 };

/* Element i of the type, of numbers as small as this; the number, and the index of a pair. */
struct kind {
    const char *name;
    MPI_Datatype type;
    MPI_Op op;
    size_t bytes, index_at, number_bytes; /* index_at 0: no pair */
    void (*set)(void *at, int number);
    int (*get)(const void *at); /* -1: it is no such number */
};

/* clang-format off: one column of backslashes */
#define NUMBER(name, T, whole)                          \
    static void name##_set(void *at, int number)        \
    {                                                   \
        T x = (T) (number * (whole));                   \
        memcpy(at, &x, sizeof x);                       \
    }                                                   \
    static int name##_get(const void *at)               \
    {                                                   \
        T x;                                            \
        memcpy(&x, at, sizeof x);                       \
        for (int n = 0; n < 1000; n++)                  \
            if (x == (T) (n * (whole)))                 \
                return n;                               \
        return -1;                                      \
    }
/* clang-format on */

NUMBER(dc, double complex, 1 + 2 * I)
NUMBER(lc, long double complex, 1 + 2 * I)
NUMBER(fc, float complex, 1 + 2 * I)
NUMBER(ld, long double, 1)
NUMBER(d, double, 1)
NUMBER(l, long, 1)
NUMBER(s, short, 1)

struct d_pair {
    double number;
    int index;
};
struct l_pair {
    long number;
    int index;
};
struct s_pair {
    short number;
    int index;
};
struct ld_pair {
    long double number;
    int index;
};

#define ALONE(type, T, name)                                                    \
    {                                                                           \
        #type, type, MPI_SUM, sizeof(T), 0, sizeof(T), name##_set, name##_get   \
    }
#define PAIR(type, name, number)                                                     \
    {                                                                                \
        #type, type, MPI_MAXLOC, sizeof(struct name), offsetof(struct name, index),  \
            number, name##_number_set, name##_number_get                             \
    }
#define d_pair_number_set d_set
#define d_pair_number_get d_get
#define l_pair_number_set l_set
#define l_pair_number_get l_get
#define s_pair_number_set s_set
#define s_pair_number_get s_get
#define ld_pair_number_set ld_set
#define ld_pair_number_get ld_get

static struct t_win w;

static int given(int r, int k, int i)
{
    return (r * 5 + k * 3 + i) % 17 + 1;
}

static int index_of(int r, int k)
{
    return 1000 - r * 10 - k;
}

static void element_set(const struct kind *kind, char *at, int number, int index)
{
    kind->set(at, number);
    if (kind->index_at)
        memcpy(at + kind->index_at, &index, sizeof index);
}

static int index_get(const struct kind *kind, const char *at)
{
    int index;
    memcpy(&index, at + kind->index_at, sizeof index);
    return index;
}

/* What the numbers of all ranks' turns make of element i, and the index that goes with it. */
static int last_of(const struct kind *kind, int i, int *index)
{
    int all = 0;
    *index = 5000;
    for (int r = 0; r < w.size; r++)
        for (int k = 0; k < TURNS; k++) {
            int number = given(r, k, i);
            if (!kind->index_at)
                all += number;
            else if (number > all || (number == all && index_of(r, k) < *index)) {
                all = number;
                *index = index_of(r, k);
            }
        }
    return all;
}

static int gaps_are(const struct kind *kind, const char *at, int byte)
{
    size_t end = kind->index_at + sizeof(int);
    int wrong = 0;
    for (size_t i = kind->number_bytes; kind->index_at && i < kind->bytes; i++)
        wrong |= (i < kind->index_at || i >= end) && at[i] != byte;
    return !wrong;
}

static void window_set(const struct kind *kind, int n, size_t skip)
{
    if (w.rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win);
        memset(w.base, THERE, skip + (size_t) n * kind->bytes + BEHIND);
        for (int i = 0; i < n; i++)
            element_set(kind, w.base + skip + (size_t) i * kind->bytes, 0, 5000);
        MPI_Win_unlock(0, w.win);
    }
    MPI_Barrier(w.comm);
}

static void window_check(const struct kind *kind, int n, size_t skip)
{
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win);
    for (int i = 0; w.rank == 0 && i < n; i++) {
        const char *at = w.base + skip + (size_t) i * kind->bytes;
        int index, want = last_of(kind, i, &index), got = kind->get(at);
        t_check(got == want, "%s, %d: element %d is %d, not %d", kind->name, n, i, got, want);
        t_check(!kind->index_at || index_get(kind, at) == index, "%s, %d: index %d is %d, not %d",
                kind->name, n, i, index_get(kind, at), index);
        t_check(gaps_are(kind, at, THERE), "%s, %d: the gap of element %d is written to",
                kind->name, n, i);
    }
    for (size_t i = 0; w.rank == 0 && i < BEHIND; i++)
        t_check(w.base[skip + (size_t) n * kind->bytes + i] == THERE, "%s, %d: written behind",
                kind->name, n);
    MPI_Win_unlock(0, w.win);
}

static void brought_check(const struct kind *kind, int n, const char *old)
{
    for (int i = 0; i < n; i++) {
        const char *at = old + (size_t) i * kind->bytes;
        int index, most = last_of(kind, i, &index), got = kind->get(at);
        t_check(got >= 0 && got <= most, "%s, %d: element %d was %d, of %d", kind->name, n, i, got,
                most);
        t_check(gaps_are(kind, at, BROUGHT), "%s, %d: the gap of result %d is written to",
                kind->name, n, i);
    }
}

/* skip: where the first element lies */
static void run(const struct kind *kind, int n, size_t skip)
{
    char *from = t_alloc((size_t) n * kind->bytes), *old = t_alloc((size_t) n * kind->bytes);
    MPI_Aint at = w.at[0] + (MPI_Aint) skip;
    window_set(kind, n, skip);
    MPI_Win_lock_all(0, w.win);
    for (int k = 0; k < TURNS; k++) {
        memset(from, 0x33, (size_t) n * kind->bytes);
        memset(old, BROUGHT, (size_t) n * kind->bytes);
        for (int i = 0; i < n; i++)
            element_set(kind, from + (size_t) i * kind->bytes, given(w.rank, k, i),
                        index_of(w.rank, k));
        if (k % 2) {
            MPI_Get_accumulate(from, n, kind->type, old, n, kind->type, 0, at, n, kind->type,
                               kind->op, w.win);
            MPI_Win_flush(0, w.win);
            brought_check(kind, n, old);
        } else {
            MPI_Accumulate(from, n, kind->type, 0, at, n, kind->type, kind->op, w.win);
            MPI_Win_flush(0, w.win);
        }
    }
    MPI_Win_unlock_all(w.win);
    MPI_Barrier(w.comm);
    window_check(kind, n, skip);
    free(from);
    free(old);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 2, 3, 5, 17, 64, 65, 130, 257, 700, MOST};
    t_begin(&argc, &argv);
    const struct kind kinds[] = {
        ALONE(MPI_C_DOUBLE_COMPLEX, double complex, dc),
        ALONE(MPI_C_LONG_DOUBLE_COMPLEX, long double complex, lc),
        ALONE(MPI_C_FLOAT_COMPLEX, float complex, fc),
        ALONE(MPI_LONG_DOUBLE, long double, ld),
        PAIR(MPI_DOUBLE_INT, d_pair, sizeof(double)),
        PAIR(MPI_LONG_INT, l_pair, sizeof(long)),
        PAIR(MPI_SHORT_INT, s_pair, sizeof(short)),
        PAIR(MPI_LONG_DOUBLE_INT, ld_pair, sizeof(long double)),
    };
    w = t_win_make(MPI_COMM_WORLD, t_flavour_of(argc, argv),
                   (size_t) MOST * BYTES_MAX + 3 * BEHIND, 1);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            run(&kinds[i], counts[c], c % 3 == 0 ? 0 : c % 3 == 1 ? kinds[i].bytes : BEHIND - 4);
    t_win_free(&w);
    return t_end();
}
