/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * One-sided communication: rank 0 works on rank 1's window, whose process waits in a barrier (or
 * computes: --computing), and the synchronizations in which all ranks take part. What was moved is
 * checked at the end of each group of rows.
 *
 * --window allocate|create|dynamic   --rows REGEX   --batch SECONDS   --computing   --no-sizes
 */
#include <time.h>
#include "bench.h"

enum { SPACE = 4 << 20, DOUBLES = 8192, BLOCKS = 512, TARGET = 1 };

struct job {
    struct bench bench;
    MPI_Win win;
    char *memory, *local;       /* SPACE bytes exposed; SPACE bytes for origins */
    MPI_Aint at;                /* displacement of the target's memory */
    size_t bytes;
    int count, locktype, assertion;
    int64_t seen;               /* what compare_and_swap expects */
    MPI_Datatype vector;
    MPI_Group others;
};

/* --- operations under lock_all ---------------------------------------------------------------- */

static void put_flush(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        MPI_Put(j->local, (int) j->bytes, MPI_BYTE, TARGET, j->at, (int) j->bytes, MPI_BYTE,
                j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void get_flush(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        MPI_Get(j->local, (int) j->bytes, MPI_BYTE, TARGET, j->at, (int) j->bytes, MPI_BYTE,
                j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void accumulate_flush(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        MPI_Accumulate(j->local, j->count, MPI_DOUBLE, TARGET, j->at, j->count, MPI_DOUBLE, MPI_SUM,
                       j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void get_accumulate_flush(void *arg, long n)
{
    struct job *j = arg;
    double old;
    for (long i = 0; i < n; i++) {
        MPI_Get_accumulate(j->local, 1, MPI_DOUBLE, &old, 1, MPI_DOUBLE, TARGET, j->at, 1,
                           MPI_DOUBLE, MPI_SUM, j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void fetch_and_op_flush(void *arg, long n)
{
    struct job *j = arg;
    int64_t one = 1, old;
    for (long i = 0; i < n; i++) {
        MPI_Fetch_and_op(&one, &old, MPI_INT64_T, TARGET, j->at, MPI_SUM, j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void compare_and_swap_flush(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        int64_t next = j->seen + 1, old;
        MPI_Compare_and_swap(&next, &j->seen, &old, MPI_INT64_T, TARGET, j->at, j->win);
        MPI_Win_flush(TARGET, j->win);
        j->seen = old == j->seen ? next : old;  /* equal but for the first time */
    }
}

static void puts_flush(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        for (int k = 0; k < 64; k++)
            MPI_Put(j->local, 8, MPI_BYTE, TARGET, j->at + 8 * k, 8, MPI_BYTE, j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void accumulates_flush(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        for (int k = 0; k < 64; k++)
            MPI_Accumulate(j->local, 1, MPI_DOUBLE, TARGET, j->at + 8 * k, 1, MPI_DOUBLE, MPI_SUM,
                           j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void vector_put(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        MPI_Put(j->local, 1, j->vector, TARGET, j->at, 1, j->vector, j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void vector_get(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        MPI_Get(j->local, 1, j->vector, TARGET, j->at, 1, j->vector, j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void vector_accumulate(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        MPI_Accumulate(j->local, 1, j->vector, TARGET, j->at, 1, j->vector, MPI_SUM, j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void rput_wait(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        MPI_Request request;
        MPI_Rput(j->local, 8, MPI_BYTE, TARGET, j->at, 8, MPI_BYTE, j->win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* --- locks ------------------------------------------------------------------------------------ */

static void lock_put_unlock(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        MPI_Win_lock(j->locktype, TARGET, j->assertion, j->win);
        MPI_Put(j->local, 8, MPI_BYTE, TARGET, j->at, 8, MPI_BYTE, j->win);
        MPI_Win_unlock(TARGET, j->win);
    }
}

static void lock_all(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        MPI_Win_lock_all(0, j->win);
        MPI_Win_unlock_all(j->win);
    }
}

/* --- everybody -------------------------------------------------------------------------------- */

static void put_fence(void *arg, long n)
{
    struct job *j = arg;
    int to = (j->bench.rank + 1) % j->bench.size;
    for (long i = 0; i < n; i++) {
        MPI_Put(j->local, 8, MPI_BYTE, to, j->at, 8, MPI_BYTE, j->win);
        MPI_Win_fence(0, j->win);
    }
}

static void fence(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++)
        MPI_Win_fence(0, j->win);
}

static void pscw(void *arg, long n)
{
    struct job *j = arg;
    int to = (j->bench.rank + 1) % j->bench.size;
    for (long i = 0; i < n; i++) {
        MPI_Win_post(j->others, 0, j->win);
        MPI_Win_start(j->others, 0, j->win);
        MPI_Put(j->local, 8, MPI_BYTE, to, j->at, 8, MPI_BYTE, j->win);
        MPI_Win_complete(j->win);
        MPI_Win_wait(j->win);
    }
}

static void barrier(void *arg, long n)
{
    (void) arg;
    for (long i = 0; i < n; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

/* --- windows ---------------------------------------------------------------------------------- */

static void make_allocate(void *arg, long n)
{
    void *memory;
    MPI_Win win;
    (void) arg;
    for (long i = 0; i < n; i++) {
        MPI_Win_allocate(1 << 20, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        MPI_Win_free(&win);
    }
}

static void make_shared(void *arg, long n)
{
    void *memory;
    MPI_Win win;
    (void) arg;
    for (long i = 0; i < n; i++) {
        MPI_Win_allocate_shared(1 << 20, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        MPI_Win_free(&win);
    }
}

static void make_create(void *arg, long n)
{
    struct job *j = arg;
    MPI_Win win;
    for (long i = 0; i < n; i++) {
        MPI_Win_create(j->memory, 1 << 20, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_free(&win);
    }
}

static void make_dynamic(void *arg, long n)
{
    MPI_Win win;
    (void) arg;
    for (long i = 0; i < n; i++) {
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_free(&win);
    }
}

/* --- the target computes ---------------------------------------------------------------------- */

static void spin(double seconds)
{
    double until = MPI_Wtime() + seconds;
    for (volatile unsigned x = 0; MPI_Wtime() < until;)
        for (int i = 0; i < 20000; i++)
            x = x * 3 + 1;
}

/* Each operation on its own, spread over the time the target is away; the median and the 95th
 * percentile of what one took. */
static void computing(struct job *j, const char *name, bench_fn fn)
{
    enum { SAMPLES = 100 };
    double us[SAMPLES];
    if (!bench_wanted(&j->bench, name))
        return;
    MPI_Barrier(MPI_COMM_WORLD);
    if (j->bench.rank == TARGET)
        spin(0.5);
    if (j->bench.rank == 0) {
        struct timespec pause = {.tv_nsec = 2000000 };
        nanosleep(&(struct timespec) {.tv_nsec = 50000000 }, NULL);
        for (int i = 0; i < SAMPLES; i++) {
            double begin = MPI_Wtime();
            fn(j, 1);
            us[i] = (MPI_Wtime() - begin) * 1e6;
            nanosleep(&pause, NULL);
        }
        qsort(us, SAMPLES, sizeof us[0], by_value);
        printf("%s\t8\t%.5f\t%.5f\n", name, us[SAMPLES / 2], us[SAMPLES * 95 / 100]);
        fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* --- the run ---------------------------------------------------------------------------------- */

static void window_begin(struct job *j, const char *kind)
{
    MPI_Aint at = 0;
    if (!strcmp(kind, "allocate")) {
        MPI_Win_allocate(SPACE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &j->memory, &j->win);
    } else if (!strcmp(kind, "create")) {
        j->memory = malloc(SPACE);
        MPI_Win_create(j->memory, SPACE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &j->win);
    } else if (!strcmp(kind, "dynamic")) {
        j->memory = malloc(SPACE);
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &j->win);
        MPI_Win_attach(j->win, j->memory, SPACE);
        MPI_Get_address(j->memory, &at);
        MPI_Sendrecv(&at, 1, MPI_AINT, (j->bench.rank + j->bench.size - 1) % j->bench.size, 0,
                     &j->at, 1, MPI_AINT, (j->bench.rank + 1) % j->bench.size, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    } else {
        bench_die("--window wants allocate, create or dynamic");
    }
    memset(j->memory, 0, SPACE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A pattern put and got again must be the same. */
static void check(struct job *j)
{
    for (int i = 0; i < SPACE; i++)
        j->local[i] = (char) (i * 7 + i / 251);
    MPI_Win_lock_all(0, j->win);
    if (j->bench.rank == 0) {
        MPI_Put(j->local, SPACE, MPI_BYTE, TARGET, j->at, SPACE, MPI_BYTE, j->win);
        MPI_Win_flush(TARGET, j->win);
        memset(j->local, 0, SPACE);
        MPI_Get(j->local, SPACE, MPI_BYTE, TARGET, j->at, SPACE, MPI_BYTE, j->win);
        MPI_Win_flush(TARGET, j->win);
        for (int i = 0; i < SPACE; i++)
            if (j->local[i] != (char) (i * 7 + i / 251))
                bench_die("bytes were not moved");
        memset(j->local, 0, SPACE);
        MPI_Put(j->local, SPACE, MPI_BYTE, TARGET, j->at, SPACE, MPI_BYTE, j->win);
    }
    MPI_Win_unlock_all(j->win);
    memset(j->local, 0, SPACE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void passive_rows(struct job *j, int sizes)
{
    static const struct {
        const char *name;
        bench_fn fn;
        int count;
        long bytes;
    } rows[] = {{"accumulate_flush", accumulate_flush, 1, 8},
                {"accumulate_flush", accumulate_flush, 128, 1024},
                {"accumulate_flush", accumulate_flush, DOUBLES, 8 * DOUBLES},
                {"get_accumulate_flush", get_accumulate_flush, 1, 8},
                {"fetch_and_op_flush", fetch_and_op_flush, 1, 8},
                {"compare_and_swap_flush", compare_and_swap_flush, 1, 8},
                {"puts64_flush", puts_flush, 1, 8},
                {"accumulates64_flush", accumulates_flush, 1, 8},
                {"vector_put_flush", vector_put, 1, 8 * BLOCKS},
                {"vector_get_flush", vector_get, 1, 8 * BLOCKS},
                {"vector_accumulate_flush", vector_accumulate, 1, 8 * BLOCKS},
                {"rput_wait", rput_wait, 1, 8}};
    MPI_Win_lock_all(0, j->win);
    for (j->bytes = 8; j->bytes <= SPACE; j->bytes *= 8) {
        if (j->bytes > 8 && !sizes)
            break;
        bench_alone(&j->bench, "put_flush", (long) j->bytes, put_flush, j);
        bench_alone(&j->bench, "get_flush", (long) j->bytes, get_flush, j);
    }
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        j->count = rows[i].count;
        bench_alone(&j->bench, rows[i].name, rows[i].bytes, rows[i].fn, j);
    }
    MPI_Win_unlock_all(j->win);
}

static void lock_rows(struct job *j)
{
    static const struct {
        const char *name;
        int type, assertion;
    } rows[] = {{"lock_shared_put_unlock", MPI_LOCK_SHARED, 0},
                {"lock_exclusive_put_unlock", MPI_LOCK_EXCLUSIVE, 0},
                {"lock_nocheck_put_unlock", MPI_LOCK_SHARED, MPI_MODE_NOCHECK}};
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        j->locktype = rows[i].type;
        j->assertion = rows[i].assertion;
        bench_alone(&j->bench, rows[i].name, 8, lock_put_unlock, j);
    }
    bench_alone(&j->bench, "lock_all_unlock_all", 0, lock_all, j);
}

static void active_rows(struct job *j)
{
    MPI_Win_fence(0, j->win);
    bench_together(&j->bench, "put_fence", 8, put_fence, j);
    bench_together(&j->bench, "fence", 0, fence, j);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, j->win);
    bench_together(&j->bench, "pscw_put", 8, pscw, j);
    bench_together(&j->bench, "barrier", 0, barrier, j);
}

static void computing_rows(struct job *j)
{
    j->bytes = 8;
    j->count = 1;
    j->locktype = MPI_LOCK_EXCLUSIVE;
    MPI_Win_lock_all(0, j->win);
    computing(j, "computing_put_flush", put_flush);
    computing(j, "computing_get_flush", get_flush);
    computing(j, "computing_accumulate_flush", accumulate_flush);
    computing(j, "computing_fetch_and_op_flush", fetch_and_op_flush);
    computing(j, "computing_compare_and_swap_flush", compare_and_swap_flush);
    MPI_Win_unlock_all(j->win);
    computing(j, "computing_lock_put_unlock", lock_put_unlock);
}

int main(int argc, char **argv)
{
    struct job j = { 0 };
    const char *kind = bench_option(argc, argv, "--window");
    int away = 0, sizes = 1;
    MPI_Group all;
    MPI_Init(&argc, &argv);
    bench_begin(&j.bench, argc, argv);
    for (int i = 1; i < argc; i++) {
        away |= !strcmp(argv[i], "--computing");
        sizes &= strcmp(argv[i], "--no-sizes") != 0;
    }
    if (j.bench.size < 2)
        bench_die("at least two ranks are needed");
    j.local = calloc(1, SPACE);
    window_begin(&j, kind ? kind : "allocate");
    MPI_Type_vector(BLOCKS, 1, 2, MPI_DOUBLE, &j.vector);
    MPI_Type_commit(&j.vector);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    int neighbours[2] = {(j.bench.rank + 1) % j.bench.size,
                         (j.bench.rank + j.bench.size - 1) % j.bench.size};
    MPI_Group_incl(all, j.bench.size == 2 ? 1 : 2, neighbours, &j.others);
    check(&j);
    if (away) {
        computing_rows(&j);
    } else {
        passive_rows(&j, sizes);
        lock_rows(&j);
        active_rows(&j);
        bench_together(&j.bench, "win_allocate_free", 1 << 20, make_allocate, &j);
        bench_together(&j.bench, "win_allocate_shared_free", 1 << 20, make_shared, &j);
        bench_together(&j.bench, "win_create_free", 1 << 20, make_create, &j);
        bench_together(&j.bench, "win_create_dynamic_free", 0, make_dynamic, &j);
    }
    check(&j);
    MPI_Type_free(&j.vector);
    MPI_Group_free(&all);
    MPI_Group_free(&j.others);
    if (kind && !strcmp(kind, "dynamic"))
        MPI_Win_detach(j.win, j.memory);
    MPI_Win_free(&j.win);
    if (kind && strcmp(kind, "allocate"))
        free(j.memory);
    free(j.local);
    MPI_Finalize();
    return 0;
}
