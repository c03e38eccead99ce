/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * gasnet_said MISTAKE [callback]: all nodes make that mistake with gasnet_coll.h, or with gasnet.h,
 * then say that they go on (gasnet_said.sh looks at what comes of it).
 */
#include <gasnet.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(16) int a[256], b[256];

static void ignored(void *arg, int code, const char *text)
{
    (void) arg;
    (void) code;
    (void) text;
}

static int compare(const void *x, const void *y)
{
    return memcmp(x, y, sizeof(int));
}

/* A handle of a put to the next node that has been found done; `reused`: its operation is that of
 * another. */
static gasnet_handle_t dead(int reused)
{
    enum { NODES = 64 };
    gasnet_seginfo_t segments[NODES];
    gasnet_node_t next = (gasnet_mynode() + 1) % gasnet_nodes();
    gasnet_handle_t handle;
    (void) gasnet_getSegmentInfo(segments, NODES);
    handle = gasnet_put_nb_bulk(next, segments[next].addr, a, 4);
    gasnet_wait_syncnb(handle);
    if (reused)
        (void) gasnet_put_nb_bulk(next, segments[next].addr, a, 4);
    return handle;
}

static gasnet_team_handle_t made(void)
{
    return gasnet_coll_team_split(GASNET_TEAM_ALL, 0, gasnet_mynode(), 0);
}

/* One that has been freed; `after`: so many others have been made and freed since. */
static gasnet_team_handle_t freed(int after)
{
    gasnet_team_handle_t team = made();
    gasnet_coll_team_free(team);
    for (int i = 0; i < after; i++)
        gasnet_coll_team_free(made());
    (void) made();
    return team;
}

/* One node's gasnet_init finds no memory: all hear of it, and MPI cannot end well. */
static void lacking(void)
{
    int rank, index, count, level, first = 1;
    MPI_T_cvar_handle handle;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    MPI_T_cvar_get_index("MPIR_CVAR_WINDLASS_FAIL_ALLOCATION", &index);
    MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
    if (rank == 1)
        MPI_T_cvar_write(handle, &first);
    MPI_T_cvar_handle_free(&handle);
    if (gasnet_init(NULL, NULL) == GASNET_ERR_RESOURCE &&
        gasnet_init(NULL, NULL) == GASNET_ERR_BAD_ARG)
        MPI_Finalize();
}

static void make(const char *mistake)
{
    const int fine = GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC, local = GASNET_COLL_LOCAL;
    gasnet_team_handle_t t = GASNET_TEAM_ALL;
    if (strcmp(mistake, "flags") == 0)
        gasnet_coll_broadcast(t, b, 0, a, 4, fine | local | 0x100000);
    else if (strcmp(mistake, "sync") == 0)
        gasnet_coll_gather_all(t, b, a, 4, GASNET_COLL_IN_MYSYNC | local);
    else if (strcmp(mistake, "neither") == 0)
        gasnet_coll_exchange(t, b, a, 4, fine);
    else if (strcmp(mistake, "both") == 0)
        gasnet_coll_gather(t, 0, b, a, 4, fine | local | GASNET_COLL_SINGLE);
    else if (strcmp(mistake, "root") == 0)
        gasnet_coll_scatter(t, b, 1000, a, 4, fine | local);
    else if (strcmp(mistake, "unaligned") == 0)
        gasnet_coll_sort(t, b, 1, 0, (char *) a + 1, 1, 0, 4, 24, compare, fine | local);
    else if (strcmp(mistake, "aggregate") == 0)
        gasnet_coll_gather_all(t, b, a, 4, fine | local | GASNET_COLL_AGGREGATE);
    else if (strcmp(mistake, "handle") == 0) {
        gasnet_coll_handle_t handle = gasnet_coll_exchange_nb(t, b, a, 4, fine | local);
        gasnet_coll_wait_sync(handle);
        gasnet_coll_wait_sync(handle);
    } else if (strcmp(mistake, "wait_syncnb") == 0)
        gasnet_wait_syncnb(dead(0));
    else if (strcmp(mistake, "freed") == 0)
        gasnet_coll_broadcast(freed(0), b, 0, a, 4, fine | local);
    else if (strcmp(mistake, "freed_long_ago") == 0)
        gasnet_coll_barrier_notify(freed(100), 0, 0);
    else if (strcmp(mistake, "freed_twice") == 0)
        gasnet_coll_team_free(freed(0));
    else if (strcmp(mistake, "open") == 0) {
        t = made();
        (void) gasnet_coll_broadcast_nb(t, b, 0, a, 4, fine | local | GASNET_COLL_AGGREGATE);
        gasnet_coll_team_free(t);
    } else if (strcmp(mistake, "open_at_end") == 0) {
        (void) gasnet_coll_broadcast_nb(t, b, 0, a, 4, fine | local | GASNET_COLL_AGGREGATE);
    } else if (strcmp(mistake, "wait_reused") == 0)
        gasnet_wait_syncnb(dead(1));
    else if (strcmp(mistake, "try_syncnb") == 0)
        (void) gasnet_try_syncnb(dead(0));
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "exit") == 0)
        gasnet_exit(atoi(argv[2]));
    MPI_Init(&argc, &argv);
    if (argc > 1 && strcmp(argv[1], "lacking") == 0)
        lacking();
    gasnet_init(&argc, &argv);
    gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0);
    gasnet_coll_init(NULL, 0, NULL, 0, 0);
    if (argc > 2)
        gasnet_coll_team_on_error(GASNET_TEAM_ALL, ignored, NULL);
    if (argc > 1)
        make(argv[1]);
    printf("goes on\n");
    MPI_Finalize();
    return 0;
}
