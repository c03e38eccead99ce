/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What the benchmark programs share: rows, batches, output. Ordinary MPI, so that every peer
 * compiles the same source. Timing functions are called by all ranks of MPI_COMM_WORLD.
 *
 * 1. Operations are timed in batches, never singly: reading the clock costs as much as a put.
 *    The rows of a computing target are the exception, and say so.
 * 2. Rows are numbered in the order of the program text, whether they are wanted or not.
 * 3. A row's data are checked; where wrong bytes were moved, the program goes on but fails. Every
 *    operation moves something else than the one before, and the last, which is not timed, nothing
 *    that was there before: what a library does not move again is noticed.
 * 4. How long a hand-over between ranks 0 and 1 takes is measured right before the first and right
 *    behind the last batch of a row, by no MPI: probe.h. Not so in the rows of a computing target.
 * 5. Where every rank has a processor, how fast those of the ranks that operate compute is measured
 *    before and behind every batch: pace.h.
 *
 * Rank 0 prints lines of fields separated by tabs:
 *   >  number  name  bytes                      the row begins
 *   &  number  name  bytes                      it goes on, together with the others so marked
 *   ~  number  name  bytes                      it has no samples: another took all the time
 *   @  number  name  bytes  before  after       the hand-over, in microseconds, before and behind
 *                                               the samples that come next; -: nobody answered
 *   %  number  name  bytes  microseconds...     the slower pace around each of the samples that
 *                                               come next
 *   =  number  name  bytes  microseconds...     its samples, each an average over a batch
 *   !  number  name  bytes                      its data are wrong
 *   .                                           the program reached its end
 */
#ifndef WDL_BENCH_H_INCLUDED
#define WDL_BENCH_H_INCLUDED

#include <limits.h>
#include <mpi.h>
#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "meet.h"
#include "pace.h"
#include "probe.h"

enum { BATCHES = 7, SAMPLES_MAX = 1000 };

struct bench {
    int rank, size;
    struct meeting *meeting;    /* NULL: ranks wait for each other in MPI_Barrier */
    struct probe *probe;        /* NULL: hand-overs are not measured */
    int paced;                  /* how fast processors compute is measured */
    double batch_seconds;       /* what one batch should take */
    double row_seconds;         /* a row that took this long ends after the batch under way */
    regex_t rows;               /* which rows are wanted, by name/bytes */
    int chosen;                 /* rows is set */
    int first;                  /* rows before this number are left out */
    const char *skip;           /* numbers of rows to leave out, a comma behind each; or NULL */
    long least, most;           /* bytes; rows of fewer or more are left out */
    int per;                    /* operations counted for each call of what is timed */
    int number;                 /* of the row under way */
    const char *name;
    long bytes;
    int wrong;                  /* some row's data were */
};

/* n times the operation. */
typedef void (*bench_fn) (void *arg, long n);

static inline double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

static inline void bench_die(const char *what)
{
    fprintf(stderr, "benchmark: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 2);
    abort();
}

/* The word after `name` among the arguments, or NULL. */
static inline const char *bench_option(int argc, char **argv, const char *name)
{
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], name))
            return argv[i + 1];
    return NULL;
}

static inline int bench_flag(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], name))
            return 1;
    return 0;
}

/* --rows REGEX  --batch SECONDS  --row SECONDS  --first N  --skip N,N,...  --bytes LEAST-MOST */
static inline void bench_begin(struct bench *b, int argc, char **argv)
{
    const char *rows = bench_option(argc, argv, "--rows");
    const char *batch = bench_option(argc, argv, "--batch");
    const char *row = bench_option(argc, argv, "--row");
    const char *first = bench_option(argc, argv, "--first");
    const char *bytes = bench_option(argc, argv, "--bytes");
    MPI_Comm_rank(MPI_COMM_WORLD, &b->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &b->size);
    b->meeting = NULL;
    b->probe = probe_begin(b->rank, b->size);
    b->paced = b->probe && !probe_crowded(b->size);
    b->batch_seconds = batch ? atof(batch) : 0.01;
    b->row_seconds = row ? atof(row) : 1.0;
    b->first = first ? atoi(first) : 0;
    b->skip = bench_option(argc, argv, "--skip");
    b->least = 0;
    b->most = LONG_MAX;
    if (bytes && sscanf(bytes, "%ld-%ld", &b->least, &b->most) != 2)
        bench_die("--bytes wants LEAST-MOST");
    b->chosen = rows != NULL;
    b->number = -1;
    b->per = 1;
    b->wrong = 0;
    if (rows && regcomp(&b->rows, rows, REG_EXTENDED | REG_NOSUB))
        bench_die("--rows wants an extended regular expression");
}

/* The status to end with. */
static inline int bench_end(struct bench *b)
{
    if (b->rank == 0)
        puts(".");
    fflush(stdout);
    if (b->chosen)
        regfree(&b->rows);
    meeting_end(b->meeting);
    probe_end(b->probe);
    return b->wrong ? 3 : 0;
}

static inline void bench_mark(const struct bench *b, const char *mark)
{
    if (b->rank == 0) {
        printf("%s\t%d\t%s\t%ld\n", mark, b->number, b->name, b->bytes);
        fflush(stdout);
    }
}

/* Begins the next row; false if it is not wanted. */
static inline int bench_next(struct bench *b, const char *name, long bytes)
{
    char text[100];
    b->number++;
    b->name = name;
    b->bytes = bytes;
    snprintf(text, sizeof text, "%s/%ld", name, bytes);
    if (b->number < b->first || bytes < b->least || bytes > b->most)
        return 0;
    if (b->chosen && regexec(&b->rows, text, 0, NULL, 0) != 0)
        return 0;
    for (const char *at = b->skip; at && *at; at = strchr(at, ',') + 1)
        if (atoi(at) == b->number)
            return 0;
    bench_mark(b, ">");
    return 1;
}

static inline void bench_values(const struct bench *b, const char *mark, const double *us, int n,
                                int per)
{
    if (b->rank != 0)
        return;
    printf("%s\t%d\t%s\t%ld", mark, b->number, b->name, b->bytes);
    for (int i = 0; i < n; i++)
        printf("\t%.5f", us[i] / per);
    putchar('\n');
    fflush(stdout);
}

static inline void bench_row(const struct bench *b, const double *us, int n)
{
    bench_values(b, "=", us, n, b->per);
}

/* Every rank says whether what it sees is wrong. */
static inline void bench_check(struct bench *b, int wrong)
{
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (wrong)
        bench_mark(b, "!");
    b->wrong |= wrong;
}

static inline double bench_time(bench_fn fn, void *arg, long n)
{
    double begin = bench_now();
    fn(arg, n);
    return bench_now() - begin;
}

/* From how long n operations took, how many make a batch; 0 if n were too few to tell. */
static inline long bench_count(const struct bench *b, long n, double took)
{
    double count = (double) n * b->batch_seconds / (took > 1e-9 ? took : 1e-9);
    if (took < b->batch_seconds / 4)
        return 0;
    return count < 1 ? 1 : (long) count;
}

/* All ranks wait for each other, outside what is timed. */
static inline void bench_meet(const struct bench *b)
{
    if (b->meeting)
        meeting_wait(b->meeting, b->size);
    else
        MPI_Barrier(MPI_COMM_WORLD);
}

/* All ranks: rank 0's value. */
static inline long bench_of_first(const struct bench *b, long value)
{
    if (b->meeting)
        return (long) meeting_say(b->meeting, b->rank, b->size, (double) value)[0];
    MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    return value;
}

/* All ranks: the largest of their values, at rank 0. */
static inline double bench_largest(const struct bench *b, double value)
{
    double largest = value;
    if (!b->meeting) {
        MPI_Reduce(&value, &largest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        return largest;
    }
    const double *values = meeting_say(b->meeting, b->rank, b->size, value);
    for (int rank = 0; rank < b->size; rank++)
        largest = values[rank] > largest ? values[rank] : largest;
    return largest;
}

/* All ranks, right before and behind what is timed. Rank 0: microseconds of a hand-over, or -1. */
static inline double bench_hand_over(const struct bench *b)
{
    if (!b->probe)
        return -1;
    bench_meet(b);              /* who is not there yet may need the others' progress */
    return probe_take(b->probe, b->rank, b->size);
}

/* Who operates, around what is timed: how fast its processor computes, where that is measured. */
static inline double bench_pace(const struct bench *b)
{
    return b->paced ? pace_take() : 0;
}

static inline void bench_paces(const struct bench *b, const double *us, int n)
{
    if (b->paced)
        bench_values(b, "%", us, n, 1);
}

static inline void bench_hand_overs(const struct bench *b, const double us[2])
{
    if (b->rank != 0 || !b->probe)
        return;
    printf("@\t%d\t%s\t%ld", b->number, b->name, b->bytes);
    for (int i = 0; i < 2; i++)
        us[i] < 0 ? printf("\t-") : printf("\t%.5f", us[i]);
    putchar('\n');
}

/* Rank 0 operates while the others are in a barrier. All have met just before. The very first
 * operation may make memory, and does not say how many are a batch. Returns how many there were. */
static inline long bench_alone(const struct bench *b, bench_fn fn, void *arg)
{
    double us[BATCHES], paces[BATCHES], probes[2] = { bench_hand_over(b) }, begin = bench_now();
    long total = 0, n = 0;
    int batches = 0;
    if (b->rank == 0) {
        fn(arg, 1);
        total++;
        for (long tried = 1; !n; tried *= 4) {
            n = bench_count(b, tried, bench_time(fn, arg, tried));
            total += tried;
        }
        while (batches < BATCHES && (!batches || bench_now() - begin < b->row_seconds)) {
            double before = bench_pace(b);
            us[batches] = bench_time(fn, arg, n) / (double) n * 1e6;
            paces[batches++] = pace_slower(before, bench_pace(b));
            total += n;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    probes[1] = bench_hand_over(b);
    bench_hand_overs(b, probes);
    bench_paces(b, paces, batches);
    bench_row(b, us, batches);
    return bench_of_first(b, total);
}

/* All ranks operate together and the slowest counts. Returns how many operations there were. */
static inline long bench_together(const struct bench *b, bench_fn fn, void *arg)
{
    double us[BATCHES], paces[BATCHES], probes[2] = { bench_hand_over(b) }, begin = bench_now();
    long total = 0, n = 0;
    int batches = 0, go_on = 1;
    fn(arg, 1);
    total++;
    for (long tried = 1; !n; tried *= 4) {
        bench_meet(b);
        n = bench_count(b, tried, bench_time(fn, arg, tried));
        n = bench_of_first(b, n);
        total += tried;
    }
    while (go_on) {
        double took, pace = bench_pace(b);
        bench_meet(b);
        took = bench_time(fn, arg, n);
        pace = pace_slower(pace, bench_pace(b));
        us[batches] = bench_largest(b, took / (double) n * 1e6);
        paces[batches++] = bench_largest(b, pace);
        total += n;
        go_on = batches < BATCHES && bench_now() - begin < b->row_seconds;
        go_on = (int) bench_of_first(b, go_on);
    }
    probes[1] = bench_hand_over(b);
    bench_hand_overs(b, probes);
    bench_paces(b, paces, batches);
    bench_row(b, us, batches);
    return total;
}

/* Sizes of messages and transfers; 8, 1024 and 65536 bytes are 1, 128 and 8192 doubles. */
static const long bench_sizes[] = { 8, 64, 1024, 8192, 65536, 262144, 1048576, 4194304 };

enum { BENCH_SIZES = sizeof bench_sizes / sizeof bench_sizes[0], BENCH_BYTES_MAX = 4194304 };

/* Bytes that tell their place and `salt`, a number that says whose they are or when written. */
static inline void bench_fill(char *at, long bytes, unsigned salt)
{
    unsigned x = salt * 2654435761u + 1;
    for (long i = 0; i < bytes; i++) {
        x = x * 1664525u + 1013904223u;
        at[i] = (char) (x >> 24);
    }
}

/* From byte `from` on: the first may hold something else. */
static inline int bench_differs(const char *at, long from, long bytes, unsigned salt)
{
    unsigned x = salt * 2654435761u + 1;
    for (long i = 0; i < bytes; i++) {
        x = x * 1664525u + 1013904223u;
        if (i >= from && at[i] != (char) (x >> 24))
            return 1;
    }
    return 0;
}

/* The first eight bytes of operation `i`: all differ from those of the operation before, from zero,
 * and between the measured operations and the `last`. One store, in the timed region. */
static inline void bench_stamp(char *at, long i, int last)
{
    uint64_t byte = 0x80u | (last ? 0x40u : 0) | (unsigned) (i & 0x3f);
    uint64_t word = byte * 0x0101010101010101u;
    memcpy(at, &word, sizeof word);
}

static inline int bench_stamp_differs(const char *at, long i, int last)
{
    char wanted[8];
    bench_stamp(wanted, i, last);
    return memcmp(at, wanted, sizeof wanted) != 0;
}

#endif
