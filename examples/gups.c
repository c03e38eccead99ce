/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * gups [accumulate|fetch] [LOG2_WORDS] [UPDATES]: random access. A table of 64-bit words is spread
 * over the ranks; every rank exclusive-ors random words of it with MPI_Accumulate, or with
 * MPI_Fetch_and_op. The same updates once more, in another order, must leave the table as it was:
 * every word is checked, no lost update is allowed. Ordinary MPI-3.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

struct table {
    uint64_t *words;
    uint64_t words_per_rank, words_all;
    MPI_Win win;
};

static void update(const struct table *t, uint64_t random, int fetch)
{
    uint64_t old, at = random % t->words_all;
    int target = (int) (at / t->words_per_rank);
    MPI_Aint disp = (MPI_Aint) (at % t->words_per_rank);
    if (fetch) {
        MPI_Fetch_and_op(&random, &old, MPI_UINT64_T, target, disp, MPI_BXOR, t->win);
        MPI_Win_flush_local(target, t->win);
    } else {
        MPI_Accumulate(&random, 1, MPI_UINT64_T, target, disp, 1, MPI_UINT64_T, MPI_BXOR, t->win);
        MPI_Win_flush_local(target, t->win);
    }
}

static void run(const struct table *t, int rank, long updates, int fetch, int backwards)
{
    MPI_Win_lock_all(0, t->win);
    for (long i = 0; i < updates; i++) {
        long k = backwards ? updates - 1 - i : i;
        update(t, mix((uint64_t) rank << 40 | (uint64_t) k), fetch);
    }
    MPI_Win_unlock_all(t->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Is it a whole number from `least` to `most`? */
static int number(const char *text, long least, long most, long *out)
{
    char *end;
    *out = strtol(text, &end, 10);
    return end != text && !*end && *out >= least && *out <= most;
}

int main(int argc, char **argv)
{
    int rank, size, fetch;
    long updates = 20000, log2_words = 14;
    unsigned long long bad = 0, changed = 0;
    struct table t;
    double seconds;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    fetch = argc > 1 && strcmp(argv[1], "fetch") == 0;
    if (argc > 4 || (argc > 1 && !fetch && strcmp(argv[1], "accumulate") != 0) ||
        (argc > 2 && !number(argv[2], 0, 40, &log2_words)) ||
        (argc > 3 && !number(argv[3], 1, 1L << 40, &updates))) {
        if (rank == 0)
            fprintf(stderr, "usage: gups [accumulate|fetch] [LOG2_WORDS] [UPDATES]\n");
        MPI_Finalize();
        return 2;
    }
    t.words_per_rank = (uint64_t) 1 << log2_words;
    t.words_all = t.words_per_rank * (uint64_t) size;
    MPI_Win_allocate((MPI_Aint) (t.words_per_rank * sizeof(uint64_t)), sizeof(uint64_t),
                     MPI_INFO_NULL, MPI_COMM_WORLD, &t.words, &t.win);
    for (uint64_t i = 0; i < t.words_per_rank; i++)
        t.words[i] = t.words_per_rank * (uint64_t) rank + i;
    MPI_Barrier(MPI_COMM_WORLD);

    seconds = MPI_Wtime();
    run(&t, rank, updates, fetch, 0);
    seconds = MPI_Wtime() - seconds;
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, t.win);
    for (uint64_t i = 0; i < t.words_per_rank; i++)
        changed += t.words[i] != t.words_per_rank * (uint64_t) rank + i;
    MPI_Win_unlock(rank, t.win);
    MPI_Barrier(MPI_COMM_WORLD);
    run(&t, rank, updates, fetch, 1);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, t.win);
    for (uint64_t i = 0; i < t.words_per_rank; i++)
        bad += t.words[i] != t.words_per_rank * (uint64_t) rank + i;
    MPI_Win_unlock(rank, t.win);

    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &changed, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    int failed = bad != 0 || changed == 0;
    if (rank == 0)
        printf("gups %-10s %llu words, %d ranks: %.3f million updates a second, %s\n",
               fetch ? "fetch" : "accumulate", (unsigned long long) t.words_all, size,
               (double) updates * size / seconds * 1e-6,
               failed ? "WRONG: updates were lost" : "table verified");
    MPI_Win_free(&t.win);
    MPI_Finalize();
    return failed;
}
