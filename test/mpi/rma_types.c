/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * rma_types [create|allocate|allocate_shared|dynamic]: derived types of 1.5 MiB on both sides of
 * put, get, accumulate, get_accumulate and their request-based forms. Every rank works on the
 * window of the next; every word and every hole is looked at.
 */
#include "types.h"

static struct t_type type[T_SHAPES];
static struct t_win w;
static char *origin, *result;

static char *base_of(const struct t_type *t, char *first)
{
    return first - t->low; /* the address MPI is given */
}

/* At a target, the address MPI is given is not before the window: a displacement is not
 * negative. */
static MPI_Aint window_disp(const struct t_type *t)
{
    return t->low < 0 ? -t->low : 0;
}

static char *mine(const struct t_type *t)
{
    return w.base + window_disp(t) + t->low;
}

static void mine_fill(const struct t_type *t, int32_t start, int32_t step)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w.rank, 0, w.win);
    t_type_fill(t, mine(t), start, step);
    MPI_Win_unlock(w.rank, w.win);
    MPI_Barrier(w.comm);
}

static void mine_check(const struct t_type *t, int32_t start, int32_t step, const char *what)
{
    MPI_Barrier(w.comm);
    MPI_Win_lock(MPI_LOCK_SHARED, w.rank, 0, w.win);
    t_type_check(t, mine(t), start, step, what);
    MPI_Win_unlock(w.rank, w.win);
    MPI_Barrier(w.comm);
}

static void run(const struct t_type *o, const struct t_type *t, int requests)
{
    int next = (w.rank + 1) % w.size, previous = (w.rank + w.size - 1) % w.size;
    MPI_Aint at = w.at[next] + window_disp(t);
    char *from = base_of(o, origin), *to = base_of(o, result);
    MPI_Request request;

    mine_fill(t, 5, 0);
    t_type_fill(o, origin, 1000 + w.rank, 3);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w.win);
    if (requests) {
        MPI_Rput(from, o->count, o->type, next, at, t->count, t->type, w.win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        memset(origin, 0x77, t_type_span(o)); /* may be used again at once */
    } else {
        MPI_Put(from, o->count, o->type, next, at, t->count, t->type, w.win);
    }
    MPI_Win_unlock(next, w.win);
    mine_check(t, 1000 + previous, 3, "put");

    mine_fill(t, 10 * w.rank, 1);
    memset(result, 0xff, t_type_span(o));
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w.win);
    if (requests) {
        MPI_Rget(to, o->count, o->type, next, at, t->count, t->type, w.win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        t_type_check(o, result, 10 * next, 1,
                     "rget"); /* the data is there when the request is complete */
    } else {
        MPI_Get(to, o->count, o->type, next, at, t->count, t->type, w.win);
    }
    MPI_Win_unlock(next, w.win);
    if (!requests)
        t_type_check(o, result, 10 * next, 1, "get");
    MPI_Barrier(w.comm); /* the next fill is not to come before another's get */

    mine_fill(t, 7, 2);
    t_type_fill(o, origin, 100 * w.rank, 1);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w.win);
    if (requests) {
        MPI_Raccumulate(from, o->count, o->type, next, at, t->count, t->type, MPI_SUM, w.win,
                        &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        memset(origin, 0x77, t_type_span(o));
    } else {
        MPI_Accumulate(from, o->count, o->type, next, at, t->count, t->type, MPI_SUM, w.win);
    }
    MPI_Win_unlock(next, w.win);
    mine_check(t, 7 + 100 * previous, 3, "accumulate");

    mine_fill(t, 3 + w.rank, 2);
    t_type_fill(o, origin, 100 * w.rank, 1);
    memset(result, 0xff, t_type_span(o));
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w.win);
    if (requests) {
        MPI_Rget_accumulate(from, o->count, o->type, to, o->count, o->type, next, at, t->count,
                            t->type, MPI_SUM, w.win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Get_accumulate(from, o->count, o->type, to, o->count, o->type, next, at, t->count,
                           t->type, MPI_SUM, w.win);
    }
    MPI_Win_unlock(next, w.win);
    t_type_check(o, result, 3 + next, 2, "get_accumulate, old values");
    mine_check(t, 3 + w.rank + 100 * previous, 3, "get_accumulate");
}

int main(int argc, char **argv)
{
    MPI_Aint span_max = 0, window_max = 0;
    t_begin(&argc, &argv);
    enum t_flavour flavour = t_flavour_of(argc, argv);
    for (int s = 0; s < T_SHAPES; s++) {
        type[s] = t_type_make((enum t_shape) s);
        MPI_Aint span = type[s].high - type[s].low, window = type[s].high + window_disp(&type[s]);
        span_max = span > span_max ? span : span_max;
        window_max = window > window_max ? window : window_max;
    }
    origin = t_alloc((size_t) span_max);
    result = t_alloc((size_t) span_max);
    w = t_win_make(MPI_COMM_WORLD, flavour, (size_t) window_max, 1);
    for (int s = 0; s < T_SHAPES; s++) {
        run(&type[s], &type[(s * 5 + 3) % T_SHAPES], s % 2);
        run(&type[s], &type[(s + 1) % T_SHAPES], !(s % 2));
    }
    t_win_free(&w);
    free(origin);
    free(result);
    for (int s = 0; s < T_SHAPES; s++)
        t_type_free(&type[s]);
    return t_end();
}
