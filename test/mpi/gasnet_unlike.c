/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Nodes that call the same collective of GASNet with different synchronization, or sort other
 * numbers of elements, or call something else altogether: that is a mistake, but each call ends,
 * well or with ERR_MISMATCH, whoever is through first; also where that one is in MPI_Finalize by
 * then. What is said on stderr is not looked at.
 */
#include <gasnet_coll.h>
#include "misuse.h"

enum { KINDS = 6, MODES = 9, SHORT = 8, LONG = 40000, MOST = 8 * LONG };

static double *a, *b;

static void add(void *results, size_t result_count, const void *left, size_t left_count,
                const void *right, size_t elem_size, int flags, int arg)
{
    double *r = results;
    const double *x = left, *y = right;
    (void) left_count, (void) elem_size, (void) flags, (void) arg;
    for (size_t i = 0; i < result_count; i++)
        r[i] = x[i] + y[i];
}

static gasnet_coll_fn_entry_t table[] = {{add, 0}};

static void call(gasnet_team_handle_t team, int kind, int mode, size_t bytes)
{
    int how = GASNET_COLL_IN_NOSYNC << mode / 3 | GASNET_COLL_OUT_NOSYNC << mode % 3 |
        GASNET_COLL_LOCAL;
    int folds = how | GASNET_COLL_ELEMENTWISE;
    seen = 0;
    switch (kind) {
    case 0:
        gasnet_coll_broadcast(team, b, 0, a, bytes, how);
        break;
    case 1:
        gasnet_coll_scatter(team, b, 0, a, bytes, how);
        break;
    case 2:
        gasnet_coll_gather(team, 0, b, a, bytes, how);
        break;
    case 3:
        gasnet_coll_exchange(team, b, a, bytes, how);
        break;
    case 4:
        gasnet_coll_reduce(team, 0, b, a, 0, 0, 8, bytes / 8, 0, 0, folds);
        break;
    default:
        gasnet_coll_scan(team, b, 0, 0, a, 0, 0, 8, bytes / 8, 0, 0, folds);
    }
    t_check(seen == 0 || seen == GASNET_COLL_ERR_MISMATCH, "kind %d, mode %d: code %d", kind, mode,
            seen);
}

/* Node `who` means something else, and then all mean the same in another team. */
static void unlike(int kind, int mode, int other, int who, size_t bytes)
{
    gasnet_team_handle_t all = GASNET_TEAM_ALL;
    gasnet_team_handle_t team = gasnet_coll_team_split(all, 0, (gasnet_node_t) t_rank, 0);
    call(team, kind, t_rank == who ? other : mode, bytes);
    gasnet_coll_team_free(team);
    a[0] = t_rank + 1;
    seen = 0;
    gasnet_coll_broadcast(all, b, (gasnet_image_t) t_size - 1, a, 8,
                          GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC | GASNET_COLL_LOCAL);
    t_check(seen == 0 && b[0] == t_size, "kind %d, modes %d, %d: %g behind it", kind, mode, other,
            b[0]);
}

static int ascending(const void *x, const void *y)
{
    double one = *(const double *) x, other = *(const double *) y;
    return (one > other) - (one < other);
}

enum { OF_TEAM, TO_ALL, SOME, SOME_SINGLE, SORTS, SORTS_MORE, BUNDLE, SPLIT };

static void make(gasnet_team_handle_t team, int what)
{
    enum { MINE = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC };
    int how = MINE | GASNET_COLL_LOCAL, single = MINE | GASNET_COLL_SINGLE;
    size_t sizes[64], elems = what == SORTS ? 12 : 130;
    gasnet_team_handle_t made;
    for (int i = 0; i < t_size; i++)
        sizes[i] = 8;
    seen = 0;
    switch (what) {
    case OF_TEAM:
        (void) gasnet_coll_barrier(team, 0, GASNET_BARRIERFLAG_ANONYMOUS);
        break;
    case SOME:
    case SOME_SINGLE:
        gasnet_coll_gather_allv(team, b, NULL, a, sizes, what == SOME ? how : single);
        break;
    case SORTS:
    case SORTS_MORE:
        gasnet_coll_sort(team, b, elems, 0, a, elems, 0, 8, elems * (size_t) t_size, ascending,
                         how);
        break;
    case SPLIT:
        made = gasnet_coll_team_split(team, 0, 0, 0);
        if (made)
            gasnet_coll_team_free(made);
        break;
    case BUNDLE:
        (void) gasnet_coll_gather_all_nb(team, b + LONG, a, 8, how | GASNET_COLL_AGGREGATE);
        /* fall through */
    default:
        gasnet_coll_gather_all(team, b, a, 8, how);
    }
    t_check(seen == 0 || seen == GASNET_COLL_ERR_MISMATCH, "call %d: code %d", what, seen);
}

/* Their calls do not meet, but perhaps with those behind: all end, and go on in another team. */
static void apart(int one, int others, int who)
{
    gasnet_team_handle_t all = GASNET_TEAM_ALL;
    gasnet_team_handle_t team = gasnet_coll_team_split(all, 0, (gasnet_node_t) t_rank, 0);
    make(team, t_rank == who ? one : others);
    make(team, TO_ALL);
    make(team, SOME);
    gasnet_coll_team_free(team);
    seen = 0;
    (void) gasnet_coll_barrier(all, 0, GASNET_BARRIERFLAG_ANONYMOUS);
    t_check(seen == 0, "calls %d and %d: code %d behind them", one, others, seen);
}

/* The last thing a process does before the rest of MPI_Finalize. */
static int at_the_end(MPI_Comm comm, int key, void *value, void *extra)
{
    (void) comm, (void) key, (void) value, (void) extra;
    call(GASNET_TEAM_ALL, 2, t_rank ? 4 : 5, SHORT);
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    static const size_t lengths[] = {SHORT, LONG};
    int key, out = 0;
    t_begin(&argc, &argv);
    if (!freopen("/dev/null", "w", stderr))
        t_fault("stderr");
    a = calloc(1, MOST);
    b = calloc(1, MOST);
    if (!a || !b)
        t_fault("no memory");
    gasnet_coll_init(NULL, 0, table, 1, 0);
    gasnet_coll_team_on_error(GASNET_TEAM_ALL, on_error, NULL);
    for (int kind = 0; kind < KINDS; kind++)
        for (int mode = kind % 2; mode < MODES; mode += 2)
            for (int k = 0; k < 2; k++, out++)
                unlike(kind, mode, (mode + 1 + out % (MODES - 1)) % MODES, k ? t_size - 1 : 0,
                       lengths[out / 2 % 2]);
    for (int who = 0; who < t_size; who += t_size > 1 ? t_size - 1 : 1) {
        apart(SOME, SOME_SINGLE, who);
        apart(TO_ALL, BUNDLE, who);
        apart(SPLIT, TO_ALL, who);
        apart(OF_TEAM, SORTS, who);
        apart(BUNDLE, SORTS, who);
        apart(SORTS_MORE, SORTS, who);
    }
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    return t_end();
}
