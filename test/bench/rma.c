/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * One-sided communication.
 *
 *   rma --window allocate|create|dynamic    every operation
 *   rma --window KIND --computing           those of rank 0 alone, while the target computes
 *   rma --creation                          creating and freeing windows of the four flavours
 *
 * --away SECONDS: how long the target computes (0.5). --turn N: which of the sizes that share that
 * time is first; another in every round. Rows: see bench.h.
 */
#include "rma.h"

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

/* One row: operations of `bytes` on memory from `offset` on. */
static void row_begin(struct job *j, long bytes, long offset)
{
    j->bytes = bytes;
    j->memory += offset;
    j->local += offset;
    j->result += offset;
    j->at += offset;
    if (j->op->sizes == VECTOR_SIZES) {
        int block = (int) (bytes / 8 / BLOCKS);
        MPI_Type_vector(BLOCKS, block, 2 * block, MPI_DOUBLE, &j->vector);
        MPI_Type_commit(&j->vector);
    }
}

static void row_check(struct job *j)
{
    bench_check(&j->bench, rma_is_wrong(j));
    if (j->op->sizes == VECTOR_SIZES)
        MPI_Type_free(&j->vector);
}

static void idle_rows(struct job *j)
{
    struct job row;
    long bytes;
    for (int i = 0; (bytes = rma_bytes(j->op, i)) >= 0; i++) {
        if (!bench_next(&j->bench, j->op->name, bytes))
            continue;
        row = *j;
        row_begin(&row, bytes, 0);
        rma_prepare(&row);
        idle_row(&row);
        last_operation(&row);
        row_check(&row);
        j->bench.wrong = row.bench.wrong;
    }
}

/* --- the target computes ----------------------------------------------------------------------
 * The sizes of an operation share one time in which the target computes, each on memory of its own,
 * and take turns; up to CACHED bytes and above apart, since the long ones leave nothing else in the
 * caches. */

enum { CACHED = 65536, GROUP_MAX = 5, PAGE = 4096, AWAY_SPACE = 2 * BENCH_BYTES_MAX };

#define BETWEEN 0.001           /* seconds from one operation to the next */

struct group {
    double seconds;             /* the target computes */
    int count;
    struct job rows[GROUP_MAX];
    int taken[GROUP_MAX];
    double us[GROUP_MAX][SAMPLES_MAX];
    double paces[GROUP_MAX][SAMPLES_MAX];
};

static void compute_until(double end)
{
    volatile unsigned x = 0;
    while (bench_now() < end)
        for (int i = 0; i < 2000; i++)
            x = x * 3 + 1;
}

/* The same; how fast the processor computed meanwhile, on the average (pace.h): what shares a core
 * shares its caches. 0: nobody asks. */
static double compute_paced(const struct bench *b, double end)
{
    double sum = 0;
    long takes = 0;
    if (!b->paced)
        compute_until(end);
    else
        for (; takes == 0 || bench_now() < end; takes++)
            sum += pace_take();
    return takes ? sum / (double) takes : 0;
}

/* Whose turn it is: up the sizes and down again, so that no short one comes right behind the
 * longest, which takes its place in the nearest cache. */
static int whose_turn(int step, int count)
{
    int k = step % (2 * count);
    return k < count ? k : 2 * count - 1 - k;
}

/* Each operation is timed on its own. Those that begin while the target is certainly away count, to
 * the end of the last, however long it takes. Between them rank 0 computes too: both cores are
 * busy, and a thread of the target's has to ask for a processor. */
static void sample_away(struct group *g)
{
    const struct bench *b = &g->rows[0].bench;
    const double begin = bench_now(), lead = g->seconds / 10;
    compute_until(begin + lead - BETWEEN);
    double pace = compute_paced(b, begin + lead);
    for (int step = g->rows[0].turn % g->count;; step++) {
        int k = whose_turn(step, g->count);
        double start = bench_now();
        if (start > begin + g->seconds - lead || g->taken[k] == SAMPLES_MAX)
            return;
        timed(&g->rows[k], 1);
        g->us[k][g->taken[k]] = (bench_now() - start) * 1e6;
        g->paces[k][g->taken[k]++] = pace_slower(pace, bench_pace(b));
        pace = compute_paced(b, bench_now() + BETWEEN);
    }
}

/* Every row's first operation: caches and connections. The target is in a barrier. What fails here
 * is the row's own fault. */
static void first_operation(struct job *j)
{
    rma_prepare(j);
    epoch_begin(j);
    if (j->bench.rank == 0)
        timed(j, 1);
    epoch_end(j);
}

/* Some operation waited until the target was back, or nearly. */
static int one_waited(const struct group *g)
{
    for (int k = 0; k < g->count; k++)
        for (int i = 0; i < g->taken[k]; i++)
            if (g->us[k][i] > g->seconds / 2 * 1e6)
                return 1;
    return 0;
}

static void away_group(struct group *g)
{
    struct job *j = &g->rows[0];
    for (int k = 0; k < g->count; k++)
        bench_mark(&g->rows[k].bench, "&");
    MPI_Barrier(MPI_COMM_WORLD);
    epoch_begin(j);
    for (int k = 0; k < g->count && j->bench.rank == 0; k++)
        timed(&g->rows[k], 1);  /* opens the epoch, where a library waits for that */
    MPI_Barrier(MPI_COMM_WORLD);
    if (j->bench.rank == TARGET)
        compute_until(bench_now() + g->seconds);
    if (j->bench.rank == 0)
        sample_away(g);
    MPI_Barrier(MPI_COMM_WORLD);
    epoch_end(j);
    for (int k = 0; k < g->count; k++) {
        if (!g->taken[k] && one_waited(g))
            bench_mark(&g->rows[k].bench, "~");
        bench_paces(&g->rows[k].bench, g->paces[k], g->taken[k]);
        bench_row(&g->rows[k].bench, g->us[k], g->taken[k]);
        MPI_Bcast(&g->rows[k].total, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        last_operation(&g->rows[k]);
    }
    for (int k = 0; k < g->count; k++) {
        row_check(&g->rows[k]);
        g->rows[0].bench.wrong |= g->rows[k].bench.wrong;
    }
}

/* The sizes from number `*i` on that are one group. */
static void away_rows(struct job *j, struct group *g, int *i)
{
    const int cached = rma_bytes(j->op, *i) <= CACHED;
    long bytes, offset = 0;
    memset(g->taken, 0, sizeof g->taken);
    g->count = 0;
    for (; (bytes = rma_bytes(j->op, *i)) >= 0 && (bytes <= CACHED) == cached; ++*i) {
        if (!bench_next(&j->bench, j->op->name, bytes))
            continue;
        if (g->count == GROUP_MAX || offset + rma_reach(j->op, bytes) > AWAY_SPACE)
            bench_die("too many sizes for one time of computing");
        g->rows[g->count] = *j;
        row_begin(&g->rows[g->count], bytes, offset);
        first_operation(&g->rows[g->count++]);
        offset += (rma_reach(j->op, bytes) + PAGE - 1) / PAGE * PAGE;
    }
    if (g->count) {
        away_group(g);
        j->bench.wrong = g->rows[0].bench.wrong;
    }
}

static void all_away_rows(struct job *j, double seconds)
{
    static struct group g;
    g.seconds = seconds;
    for (j->op = rma_ops; j->op->name; j->op++)
        for (int i = 0; !rma_is_active(j->op) && rma_bytes(j->op, i) >= 0;)
            away_rows(j, &g, &i);
}

/* --- creation --------------------------------------------------------------------------------- */

static void make_allocate(void *arg, long n)
{
    const struct job *j = arg;
    void *memory;
    MPI_Win win;
    for (long i = 0; i < n; i++) {
        MPI_Win_allocate(j->bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        MPI_Win_free(&win);
    }
}

static void make_shared(void *arg, long n)
{
    const struct job *j = arg;
    void *memory;
    MPI_Win win;
    for (long i = 0; i < n; i++) {
        MPI_Win_allocate_shared(j->bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        MPI_Win_free(&win);
    }
}

static void make_create(void *arg, long n)
{
    const struct job *j = arg;
    MPI_Win win;
    for (long i = 0; i < n; i++) {
        MPI_Win_create(j->local, j->bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
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
        bench_fn fn;
    } rows[] = {{"win_allocate_free", make_allocate}, {"win_allocate_shared_free", make_shared},
                {"win_create_free", make_create}};
    static const long sizes[] = {8, 65536, 1 << 20, BENCH_BYTES_MAX};
    j->local = calloc(1, BENCH_BYTES_MAX);
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (unsigned k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            j->bytes = sizes[k];
            if (bench_next(&j->bench, rows[i].name, j->bytes))
                bench_together(&j->bench, rows[i].fn, j);
        }
    if (bench_next(&j->bench, "win_create_dynamic_free", 0))
        bench_together(&j->bench, make_dynamic, j);
    free(j->local);
}

/* --- the run ---------------------------------------------------------------------------------- */

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

static void all_rows(struct job *j, const char *kind, double away)
{
    neighbours(j);
    rma_window_begin(j, kind, away > 0 ? AWAY_SPACE : BENCH_BYTES_MAX);
    if (away > 0)
        all_away_rows(j, away);
    else
        for (j->op = rma_ops; j->op->name; j->op++)
            idle_rows(j);
    MPI_Group_free(&j->from);
    MPI_Group_free(&j->to);
    rma_window_end(j, kind);
}

int main(int argc, char **argv)
{
    struct job j = { 0 };
    const char *kind = bench_option(argc, argv, "--window");
    const char *turn = bench_option(argc, argv, "--turn");
    const char *away = bench_option(argc, argv, "--away");
    int status;
    MPI_Init(&argc, &argv);
    bench_begin(&j.bench, argc, argv);
    j.turn = turn ? atoi(turn) : 0;
    if (j.bench.size > sysconf(_SC_NPROCESSORS_ONLN))
        j.bench.meeting = meeting_begin(j.bench.rank, j.bench.size);
    if (j.bench.size < 2)
        bench_die("at least two ranks are needed");
    if (bench_flag(argc, argv, "--creation"))
        creation_rows(&j);
    else
        all_rows(&j, kind ? kind : "allocate",
                 bench_flag(argc, argv, "--computing") ? away ? atof(away) : 0.5 : 0);
    status = bench_end(&j.bench);
    MPI_Finalize();
    return status;
}
