/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What the benchmark programs share: timing of batches, and rows of output. Ordinary MPI, so that
 * every peer compiles the same source. A row is one line: name, bytes, best and median microseconds
 * of one operation, separated by tabs.
 */
#ifndef WDL_BENCH_H_INCLUDED
#define WDL_BENCH_H_INCLUDED

#include <mpi.h>
#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 7 };

struct bench {
    int rank, size;
    double batch_seconds;       /* what one batch should take */
    regex_t rows;               /* which rows are wanted */
    int chosen;                 /* rows is set */
};

/* n times the operation. */
typedef void (*bench_fn) (void *arg, long n);

static inline int by_value(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static inline void bench_die(const char *what)
{
    fprintf(stderr, "benchmark: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline int bench_wanted(const struct bench *b, const char *name)
{
    return !b->chosen || regexec(&b->rows, name, 0, NULL, 0) == 0;
}

static inline void bench_row(const char *name, long bytes, double *us, int n)
{
    qsort(us, (size_t) n, sizeof *us, by_value);
    printf("%s\t%ld\t%.5f\t%.5f\n", name, bytes, us[0], us[n / 2]);
    fflush(stdout);
}

/* How many operations make a batch, measured on this process. */
static inline long bench_batch(const struct bench *b, bench_fn fn, void *arg)
{
    long n = 1;
    for (;;) {
        double begin = MPI_Wtime();
        fn(arg, n);
        double took = MPI_Wtime() - begin;
        if (took > b->batch_seconds / 4 || n > 100000000)
            return n * b->batch_seconds / (took > 1e-9 ? took : 1e-9) < 1 ? 1 :
                (long) (n * b->batch_seconds / (took > 1e-9 ? took : 1e-9));
        n *= 4;
    }
}

/* Rank 0 operates; the others are in a barrier meanwhile. */
static inline void bench_alone(const struct bench *b, const char *name, long bytes, bench_fn fn,
                               void *arg)
{
    double us[BATCHES];
    if (!bench_wanted(b, name))
        return;
    MPI_Barrier(MPI_COMM_WORLD);
    if (b->rank == 0) {
        long n = bench_batch(b, fn, arg);
        for (int i = 0; i < BATCHES; i++) {
            double begin = MPI_Wtime();
            fn(arg, n);
            us[i] = (MPI_Wtime() - begin) / (double) n * 1e6;
        }
        bench_row(name, bytes, us, BATCHES);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* All ranks operate together; the slowest counts. */
static inline void bench_together(const struct bench *b, const char *name, long bytes, bench_fn fn,
                                  void *arg)
{
    double us[BATCHES];
    long n = 1;
    if (!bench_wanted(b, name))
        return;
    for (;;) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        fn(arg, n);
        double took = MPI_Wtime() - begin;
        MPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (took > b->batch_seconds / 4 || n > 100000000) {
            double want = (double) n * b->batch_seconds / (took > 1e-9 ? took : 1e-9);
            n = want < 1 ? 1 : (long) want;
            break;
        }
        n *= 4;
    }
    for (int i = 0; i < BATCHES; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        fn(arg, n);
        double took = (MPI_Wtime() - begin) / (double) n * 1e6;
        MPI_Reduce(&took, &us[i], 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    }
    if (b->rank == 0)
        bench_row(name, bytes, us, BATCHES);
}

/* --rows REGEX --batch SECONDS; returns the value of another option, or NULL. */
static inline const char *bench_option(int argc, char **argv, const char *name)
{
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], name))
            return argv[i + 1];
    return NULL;
}

static inline void bench_begin(struct bench *b, int argc, char **argv)
{
    const char *rows = bench_option(argc, argv, "--rows"),
               *batch = bench_option(argc, argv, "--batch");
    MPI_Comm_rank(MPI_COMM_WORLD, &b->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &b->size);
    b->batch_seconds = batch ? atof(batch) : 0.02;
    b->chosen = rows != NULL;
    if (rows && regcomp(&b->rows, rows, REG_EXTENDED | REG_NOSUB))
        bench_die("--rows wants an extended regular expression");
}

#endif
