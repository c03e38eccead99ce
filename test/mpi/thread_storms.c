/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * thread_storms [create|allocate|dynamic]: MPI_THREAD_MULTIPLE. All threads of all ranks accumulate
 * at the same places of two windows in turns, in types of several sizes: sums are whole. They push
 * onto one list by compare-and-swap: each node is in it once.
 */
#include "testing.h"
#include <complex.h>
#include <pthread.h>

enum { THREADS = 3, ROUNDS = 90, WINDOWS = 2, KINDS = 5, KIND_BYTES = 16, LINKS = 20 };
/* Bytes of a window: sums, the list's head, and the nodes of each thread. */
enum { HEAD = KINDS * KIND_BYTES, NODES = HEAD + 8, BYTES = NODES + 8 * THREADS * LINKS };

static struct t_win window[WINDOWS];
static const MPI_Datatype type_of[KINDS] = {MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_LONG_DOUBLE,
                                            MPI_C_DOUBLE_COMPLEX};

union element {
    short s;
    int i;
    double d;
    long double l;
    double complex c;
};

static union element element_of(int kind, int value)
{
    union element e;
    memset(&e, 0, sizeof e);
    switch (kind) {
    case 0:
        e.s = (short) value;
        break;
    case 1:
        e.i = value;
        break;
    case 2:
        e.d = value;
        break;
    case 3:
        e.l = value;
        break;
    default:
        e.c = value;
    }
    return e;
}

static int value_of(int kind, const union element *e)
{
    switch (kind) {
    case 0:
        return e->s;
    case 1:
        return e->i;
    case 2:
        return (int) e->d;
    case 3:
        return (int) e->l;
    default:
        return (int) creal(e->c);
    }
}

/* Round k of every thread goes to this window, this rank and this kind. */
static void aim(int k, int *w, int *target, int *kind)
{
    *w = k % WINDOWS;
    *target = k / WINDOWS % t_size;
    *kind = k % KINDS;
}

static void sums(void)
{
    for (int k = 0; k < ROUNDS; k++) {
        int w, target, kind;
        aim(k, &w, &target, &kind);
        MPI_Win win = window[w].win;
        MPI_Datatype type = type_of[kind];
        MPI_Aint at = window[w].at[target] + kind * KIND_BYTES;
        union element one = element_of(kind, 1), old;
        if (k % 3 == 0)
            MPI_Accumulate(&one, 1, type, target, at, 1, type, MPI_SUM, win);
        else if (k % 3 == 1)
            MPI_Get_accumulate(&one, 1, type, &old, 1, type, target, at, 1, type, MPI_SUM, win);
        else
            MPI_Fetch_and_op(&one, &old, type, target, at, MPI_SUM, win);
        if (k % 7 == 6)
            MPI_Win_flush_all(win);
        else
            MPI_Win_flush(target, win);
    }
}

/* A node is a number: its place among all nodes, from 1. Its word holds the next one. */
static MPI_Aint node_at(long node)
{
    int rank = (int) ((node - 1) / (THREADS * LINKS));
    return window[0].at[rank] + NODES + 8 * ((node - 1) % (THREADS * LINKS));
}

static void push(long node)
{
    MPI_Win win = window[0].win;
    MPI_Aint head = window[0].at[0] + HEAD;
    long next = 0, found;
    for (;;) {
        MPI_Accumulate(&next, 1, MPI_LONG, t_rank, node_at(node), 1, MPI_LONG, MPI_REPLACE, win);
        MPI_Win_flush(t_rank, win);
        MPI_Compare_and_swap(&node, &next, &found, MPI_LONG, 0, head, win);
        MPI_Win_flush(0, win);
        if (found == next)
            return;
        next = found;
    }
}

static void *thread(void *arg)
{
    int me = (int) (intptr_t) arg;
    sums();
    for (int k = 0; k < LINKS; k++)
        push(1 + k + LINKS * (me + THREADS * (long) t_rank));
    return NULL;
}

static void sums_check(void)
{
    int want[WINDOWS][KINDS] = {{0}};
    for (int k = 0; k < ROUNDS; k++) {
        int w, target, kind;
        aim(k, &w, &target, &kind);
        if (target == t_rank)
            want[w][kind] += THREADS * t_size;
    }
    for (int w = 0; w < WINDOWS; w++)
        for (int kind = 0; kind < KINDS; kind++) {
            union element e;
            MPI_Win_lock(MPI_LOCK_SHARED, t_rank, 0, window[w].win);
            memcpy(&e, window[w].base + kind * KIND_BYTES, sizeof e);
            MPI_Win_unlock(t_rank, window[w].win);
            t_check(value_of(kind, &e) == want[w][kind], "window %d, type %d: %d instead of %d", w,
                    kind, value_of(kind, &e), want[w][kind]);
        }
}

static void list_check(void)
{
    int nodes = t_size * THREADS * LINKS, length = 0;
    char *seen = t_alloc((size_t) nodes + 1);
    long node;
    memset(seen, 0, (size_t) nodes + 1);
    MPI_Win_lock_all(0, window[0].win);
    MPI_Get(&node, 1, MPI_LONG, 0, window[0].at[0] + HEAD, 1, MPI_LONG, window[0].win);
    MPI_Win_flush(0, window[0].win);
    while (node > 0 && node <= nodes && !seen[node]) {
        int rank = (int) ((node - 1) / (THREADS * LINKS));
        MPI_Aint at = node_at(node);
        seen[node] = 1;
        length++;
        MPI_Get(&node, 1, MPI_LONG, rank, at, 1, MPI_LONG, window[0].win);
        MPI_Win_flush(rank, window[0].win);
    }
    MPI_Win_unlock_all(window[0].win);
    t_check(node == 0 && length == nodes, "the list has %d nodes instead of %d, and ends with %ld",
            length, nodes, node);
    free(seen);
}

int main(int argc, char **argv)
{
    pthread_t id[THREADS];
    t_begin_at(&argc, &argv, MPI_THREAD_MULTIPLE);
    enum t_flavour flavour = t_flavour_of(argc, argv);
    for (int w = 0; w < WINDOWS; w++) {
        window[w] = t_win_make(MPI_COMM_WORLD, flavour, BYTES, 1);
        MPI_Win_lock_all(0, window[w].win);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&id[i], NULL, thread, (void *) (intptr_t) i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(id[i], NULL);
    for (int w = 0; w < WINDOWS; w++)
        MPI_Win_unlock_all(window[w].win);
    MPI_Barrier(MPI_COMM_WORLD);
    sums_check();
    list_check();
    MPI_Barrier(MPI_COMM_WORLD);
    for (int w = 0; w < WINDOWS; w++)
        t_win_free(&window[w]);
    return t_end();
}
