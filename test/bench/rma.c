/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * One-sided communication.
 *
 *   rma --window allocate|create|dynamic    every operation
 *   rma --window KIND --computing           those of rank 0 alone, while the target computes
 *   rma --creation                          creating and freeing windows of the four flavours
 *
 * --one-size leaves the first of the sizes. Rows: see bench.h.
 */
#include "rma.h"

static const double away_seconds = 0.5, lead_seconds = 0.05;

static void timed(void *arg, long n)
{
    struct job *j = arg;
    j->op->run(j, n);
    j->total += n;
}

/* What must be open around the row's operations. */
static void epoch_begin(const struct job *j)
{
    if (j->op->how == ON_LOCK_ALL && j->bench.rank == 0)
        MPI_Win_lock_all(0, j->win);
    if (j->op->how == ON_FENCES)
        MPI_Win_fence(MPI_MODE_NOPRECEDE, j->win);
}

static void epoch_end(const struct job *j)
{
    if (j->op->how == ON_LOCK_ALL && j->bench.rank == 0)
        MPI_Win_unlock_all(j->win);
    if (j->op->how == ON_FENCES)
        MPI_Win_fence(MPI_MODE_NOSUCCEED, j->win);
}

/* All ranks operate, or rank 0 alone on a target that waits in a barrier. */
static void idle_row(struct job *j)
{
    epoch_begin(j);
    if (rma_is_active(j->op))
        bench_together(&j->bench, timed, j);
    else
        j->total = bench_alone(&j->bench, timed, j);
    epoch_end(j);
}

/* One operation more, of other data: it has to move all of them. */
static void last_operation(struct job *j)
{
    rma_renew(j);
    epoch_begin(j);
    if (rma_is_active(j->op) || j->bench.rank == 0)
        timed(j, 1);
    else
        j->total++;
    epoch_end(j);
}

/* --- the target computes ---------------------------------------------------------------------- */

static void compute_until(double end)
{
    volatile unsigned x = 0;
    while (bench_now() < end)
        for (int i = 0; i < 2000; i++)
            x = x * 3 + 1;
}

/* Each operation is timed on its own. Those that begin while the target is certainly away count, to
 * the end of the last, however long it takes. Between them rank 0 computes too: both cores are
 * busy, and a thread of the target's has to ask for a processor. */
static int sample_away(struct job *j, double *us)
{
    double begin = bench_now();
    int n = 0;
    compute_until(begin + lead_seconds);
    for (;;) {
        double start = bench_now();
        if (start > begin + away_seconds - lead_seconds || n == SAMPLES_MAX)
            return n;
        timed(j, 1);
        us[n++] = (bench_now() - start) * 1e6;
        compute_until(bench_now() + 0.001);
    }
}

static void computing_row(struct job *j)
{
    double us[SAMPLES_MAX];
    int n = 0;
    epoch_begin(j);
    if (j->bench.rank == 0)
        timed(j, 1);            /* connections and caches; the target is in the barrier */
    MPI_Barrier(MPI_COMM_WORLD);
    if (j->bench.rank == TARGET)
        compute_until(bench_now() + away_seconds);
    if (j->bench.rank == 0)
        n = sample_away(j, us);
    MPI_Barrier(MPI_COMM_WORLD);
    epoch_end(j);
    bench_row(&j->bench, us, n);
    MPI_Bcast(&j->total, 1, MPI_LONG, 0, MPI_COMM_WORLD);
}

/* --- creation --------------------------------------------------------------------------------- */

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
        MPI_Win_create(j->local, 1 << 20, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
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

static void creation_rows(struct job *j)
{
    static const struct {
        const char *name;
        long bytes;
        bench_fn fn;
    } rows[] = {{"win_allocate_free", 1 << 20, make_allocate},
                {"win_allocate_shared_free", 1 << 20, make_shared},
                {"win_create_free", 1 << 20, make_create},
                {"win_create_dynamic_free", 0, make_dynamic}};
    j->local = calloc(1, 1 << 20);
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (bench_next(&j->bench, rows[i].name, rows[i].bytes))
            bench_together(&j->bench, rows[i].fn, j);
    free(j->local);
}

/* --- the run ---------------------------------------------------------------------------------- */

static void row(struct job *j, long bytes, int computing)
{
    if (!bench_next(&j->bench, j->op->name, bytes))
        return;
    j->bytes = bytes;
    rma_prepare(j);
    if (computing)
        computing_row(j);
    else
        idle_row(j);
    last_operation(j);
    bench_check(&j->bench, rma_is_wrong(j));
}

static void rows(struct job *j, int sizes, int computing)
{
    for (j->op = rma_ops; j->op->name; j->op++) {
        if (computing && rma_is_active(j->op))
            continue;
        if (j->op->sizes == ONE_SIZE)
            row(j, j->op->bytes, computing);
        else
            for (int i = 0; i < sizes; i++)
                row(j, bench_sizes[i], computing);
    }
}

static void neighbours(struct job *j)
{
    MPI_Group all;
    j->left = (j->bench.rank + j->bench.size - 1) % j->bench.size;
    j->right = (j->bench.rank + 1) % j->bench.size;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &j->left, &j->from);
    MPI_Group_incl(all, 1, &j->right, &j->to);
    MPI_Group_free(&all);
}

static void all_rows(struct job *j, const char *kind, int sizes, int computing)
{
    neighbours(j);
    rma_window_begin(j, kind);
    MPI_Type_vector(BLOCKS, 1, 2, MPI_DOUBLE, &j->vector);
    MPI_Type_commit(&j->vector);
    rows(j, sizes, computing);
    MPI_Type_free(&j->vector);
    MPI_Group_free(&j->from);
    MPI_Group_free(&j->to);
    rma_window_end(j, kind);
}

int main(int argc, char **argv)
{
    struct job j = { 0 };
    const char *kind = bench_option(argc, argv, "--window");
    int status;
    MPI_Init(&argc, &argv);
    bench_begin(&j.bench, argc, argv);
    if (j.bench.size < 2)
        bench_die("at least two ranks are needed");
    if (bench_flag(argc, argv, "--creation"))
        creation_rows(&j);
    else
        all_rows(&j, kind ? kind : "allocate", bench_flag(argc, argv, "--one-size") ? 1 :
                 BENCH_SIZES, bench_flag(argc, argv, "--computing"));
    status = bench_end(&j.bench);
    MPI_Finalize();
    return status;
}
