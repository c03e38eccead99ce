/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Data to attached segments and to windows of MPI_Win_allocate, short and long, one segment after
 * another: gasnet_coll.h brings what it must, whichever way it goes.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <gasnet_coll.h>
#include "alike.h"

enum { LONG = 300000 };

static const size_t sizes[] = {8, 3000, 70000, LONG};
static gasnet_team_handle_t t = GASNET_TEAM_ALL;
static char *from;
static unsigned stamp;

static char value(int node, int block)
{
    return (char) (stamp * 7 + (unsigned) node * 31 + (unsigned) block);
}

static void check(const char *call, const char *at, int blocks, size_t bytes, int exchange)
{
    for (int k = 0; k < blocks; k++)
        for (size_t b = 0; b < bytes; b += bytes / 8 + 1) {
            char want = value(blocks > 1 ? k : t_size - 1, exchange ? t_rank : 0);
            t_check(at[(size_t) k * bytes + b] == want, "%s of %zu bytes, block %d, byte %zu", call,
                    bytes, k, b);
        }
}

static void all_calls(char *to, size_t bytes, int flags)
{
    size_t all = (size_t) t_size * bytes;
    gasnet_image_t last = (gasnet_image_t) t_size - 1;
    stamp++;
    for (int k = 0; k < t_size; k++)
        memset(from + (size_t) k * bytes, value(t_rank, k), bytes);
    memset(to, 0, all);
    gasnet_coll_broadcast(t, to, last, from, bytes, flags);
    check("broadcast", to, 1, bytes, 0);
    memset(to, 0, all);
    gasnet_coll_gather(t, last, to, from, bytes, flags);
    if (t_rank == t_size - 1)
        check("gather", to, t_size, bytes, 0);
    memset(to, 0, all);
    gasnet_coll_gather_all(t, to, from, bytes, flags);
    check("gather_all", to, t_size, bytes, 0);
    memset(to, 0, all);
    gasnet_coll_exchange(t, to, from, bytes, flags);
    check("exchange", to, t_size, bytes, 1);
}

static void filled(const char *call, const char *at, size_t bytes, int node)
{
    for (size_t b = 0; b < bytes; b += bytes / 8 + 1)
        t_check(at[b] == value(node, 0), "%s of %zu bytes, byte %zu", call, bytes, b);
}

/* Each with the next one, whose memory it names. */
static void partners(char *to, size_t bytes, int flags)
{
    int any = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL;
    gasnet_node_t next = (gasnet_node_t) ((t_rank + 1) % t_size);
    gasnet_node_t last = (gasnet_node_t) ((t_rank + t_size - 1) % t_size);
    char *mine[2] = {to, from}, *(*theirs)[2] = malloc((size_t) t_size * sizeof(mine));
    if (!theirs)
        t_fault("memory");
    gasnet_coll_gather_all(t, theirs, mine, sizeof(mine), any);
    memset(to, 0, bytes);
    gasnet_coll_put(t, next, theirs[next][0], from, &last, 1, bytes, flags);
    filled("put", to, bytes, (int) last);
    memset(to, 0, bytes);
    gasnet_coll_get(t, to, next, theirs[next][1], &last, 1, bytes, flags);
    filled("get", to, bytes, (int) next);
    free(theirs);
}

/* Is it at the same address on all nodes, as SINGLE wants it? */
static void modes(char *to, int is_alike, int more)
{
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
        for (int in = GASNET_COLL_IN_MYSYNC; in <= GASNET_COLL_IN_ALLSYNC; in <<= 1)
            for (int out = GASNET_COLL_OUT_MYSYNC; out <= GASNET_COLL_OUT_ALLSYNC; out <<= 1) {
                if (is_alike)
                    all_calls(to, sizes[k], in | out | GASNET_COLL_SINGLE | more);
                all_calls(to, sizes[k], in | out | GASNET_COLL_LOCAL | more);
                partners(to, sizes[k], in | out | GASNET_COLL_LOCAL | more);
            }
}

int main(int argc, char **argv)
{
    int dst = GASNET_COLL_DST_IN_SEGMENT;
    MPI_Win win;
    char *window;
    t_begin(&argc, &argv);
    gasnet_coll_init(NULL, 0, NULL, 0, 0);
    size_t all = (size_t) t_size * LONG;
    char *one = t_alike(3 * all), *two = one + all;
    from = two + all;
    gasnet_coll_segment_attach(t, one, all);
    modes(one, 1, dst);
    gasnet_coll_segment_attach(t, two, all);
    modes(two, 1, dst);
    modes(one, 1, 0);
    MPI_Win_allocate((MPI_Aint) all, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
    modes(window, 0, 0);
    MPI_Win_free(&win);
    MPI_Win_allocate((MPI_Aint) all, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
    modes(window, 0, 0);
    MPI_Win_free(&win);
    gasnet_coll_segment_attach(t, NULL, 0);
    munmap(one, 3 * all);
    return t_end();
}
