/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Data that moves before its other end has called (IN_NOSYNC, SINGLE, segments), in real memory: an
 * attached segment at the same address everywhere, and windows, whose addresses go in lists. Each
 * node gives in its turn while the others are held back until it has synchronized its handle: an
 * implementation that waits for them hangs. Those who fetch do not wait for who gives. Two calls
 * that are one aggregate do as each of them does.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <gasnet_coll.h>
#include "alike.h"

enum { LONG = 300000, RANKS_MAX = 16 };
enum { NOSYNC = GASNET_COLL_IN_NOSYNC | GASNET_COLL_SINGLE, TAG = 7 };
enum call { BROADCAST, SCATTER, GATHER, GATHER_ALL, EXCHANGE, CALLS };

static const char *const names[] = {"broadcast", "scatter", "gather", "gather_all", "exchange"};
static const size_t sizes[] = {8, 3000, 70000, LONG};
static gasnet_team_handle_t t = GASNET_TEAM_ALL;
static unsigned stamp;

static struct memory { /* of all nodes: of a call, and of a second one behind it */
    char *src[RANKS_MAX], *dst[RANKS_MAX];
    int same; /* at one address on all */
} memory;

static char value(int node, int block)
{
    return (char) (stamp * 7 + (unsigned) node * 31 + (unsigned) block * 3 + 1);
}

static int is_of_each(enum call call)
{
    return call == SCATTER || call == EXCHANGE;
}

static void fill(enum call call, size_t bytes, int calls)
{
    memset(memory.dst[t_rank], 0, (size_t) (calls * t_size) * bytes);
    for (int k = 0; k < calls * t_size; k++)
        memset(memory.src[t_rank] + (size_t) k * bytes,
               value(t_rank, is_of_each(call) ? k : k / t_size), bytes);
}

/* The second call's blocks are numbered on. */
static int block_of(enum call call, int second)
{
    return is_of_each(call) ? second * t_size + t_rank : second;
}

static void check(enum call call, int root, size_t bytes, int flags, int second)
{
    if (call == GATHER && t_rank != root)
        return;
    for (int from = 0; from < t_size; from++) {
        int down = call == BROADCAST || call == SCATTER;
        const char *at = memory.dst[t_rank] + (size_t) (second * t_size) * bytes;
        char want = value(from, block_of(call, second));
        at += down ? 0 : (size_t) from * bytes;
        if (down && from != root)
            continue;
        for (size_t b = 0; b < bytes; b += bytes / 8 + 1)
            t_check(at[b] == want, "%s of %zu bytes, flags %x, from %d, byte %zu", names[call],
                    bytes, (unsigned) flags, from, b);
    }
}

static gasnet_coll_handle_t begin(enum call call, int root, size_t bytes, int flags, int lists,
                                  int second)
{
    static void *list[2][2][RANKS_MAX]; /* until the handle is done */
    void **dl = list[second][0], **sl = list[second][1], *d, *s;
    gasnet_image_t image = (gasnet_image_t) root;
    for (int i = 0; i < t_size; i++) {
        size_t at = (size_t) (second * t_size) * bytes;
        dl[i] = memory.dst[i] + at;
        sl[i] = memory.src[i] + at;
    }
    d = dl[t_rank];
    s = sl[t_rank];
    switch (call) {
    case BROADCAST:
        return lists ? gasnet_coll_broadcastM_nb(t, dl, image, sl[root], bytes, flags)
                     : gasnet_coll_broadcast_nb(t, d, image, sl[root], bytes, flags);
    case SCATTER:
        return lists ? gasnet_coll_scatterM_nb(t, dl, image, sl[root], bytes, flags)
                     : gasnet_coll_scatter_nb(t, d, image, sl[root], bytes, flags);
    case GATHER:
        return lists ? gasnet_coll_gatherM_nb(t, image, dl[root], sl, bytes, flags)
                     : gasnet_coll_gather_nb(t, image, dl[root], s, bytes, flags);
    case GATHER_ALL:
        return lists ? gasnet_coll_gather_allM_nb(t, dl, sl, bytes, flags)
                     : gasnet_coll_gather_all_nb(t, d, s, bytes, flags);
    default:
        return lists ? gasnet_coll_exchangeM_nb(t, dl, sl, bytes, flags)
                     : gasnet_coll_exchange_nb(t, d, s, bytes, flags);
    }
}

static void fence(void)
{
    gasnet_coll_barrier(t, 0, GASNET_BARRIERFLAG_ANONYMOUS);
}

/* `alone` begins, and is done, before the others: they hear of it then. -1: all at once. */
static void moves(enum call call, int root, int alone, size_t bytes, int flags, int lists,
                  int calls)
{
    int none = 0;
    stamp++;
    fill(call, bytes, calls);
    fence();
    if (alone >= 0 && t_rank != alone)
        MPI_Recv(&none, 1, MPI_INT, alone, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int k = 0; k < calls - 1; k++)
        (void) begin(call, root, bytes, flags | GASNET_COLL_AGGREGATE, lists, k);
    gasnet_coll_wait_sync(begin(call, root, bytes, flags, lists, calls - 1));
    for (int i = 0; i < t_size && t_rank == alone; i++)
        if (i != alone)
            MPI_Send(&none, 1, MPI_INT, i, TAG, MPI_COMM_WORLD);
    if (flags & GASNET_COLL_OUT_NOSYNC)
        fence();
    for (int k = 0; k < calls; k++)
        check(call, root, bytes, flags, k);
    fence();
}

static void move(enum call call, int root, int alone, size_t bytes, int flags, int lists)
{
    moves(call, root, alone, bytes, flags, lists, 1);
    moves(call, root, alone, bytes, flags, lists, 2);
}

/* Who waits for nobody: a root that puts what it has for all, and who puts to a root; and with
 * OUT_NOSYNC whoever fetches. */
static void alone(size_t bytes, int lists, int fetches)
{
    int put = NOSYNC | GASNET_COLL_DST_IN_SEGMENT, get = NOSYNC | GASNET_COLL_SRC_IN_SEGMENT;
    int last = t_size - 1;
    for (int out = GASNET_COLL_OUT_NOSYNC; out <= GASNET_COLL_OUT_MYSYNC; out <<= 1) {
        move(BROADCAST, last, last, bytes, put | out, lists);
        move(SCATTER, 0, 0, bytes, put | out, lists);
        for (int i = 0; i < t_size - 1; i++)
            move(GATHER, last, i, bytes, put | out, lists);
    }
    for (int call = BROADCAST; call < CALLS && fetches; call++)
        for (int i = 0; i < t_size; i++)
            move((enum call) call, 0, i, bytes, get | GASNET_COLL_OUT_NOSYNC, lists);
}

/* one_node: who fetches need not wait. */
static void all_calls(int one_node)
{
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
        for (int lists = memory.same ? 0 : 1; lists < 2; lists++) {
            alone(sizes[k], lists, one_node);
            for (int call = BROADCAST; call < CALLS; call++)
                for (int out = GASNET_COLL_OUT_NOSYNC; out <= GASNET_COLL_OUT_ALLSYNC; out <<= 1)
                    for (int in = 1; in < 4; in++)
                        moves((enum call) call, t_size / 2, -1, sizes[k],
                              NOSYNC | out | (in & 1 ? GASNET_COLL_DST_IN_SEGMENT : 0) |
                                  (in & 2 ? GASNET_COLL_SRC_IN_SEGMENT : 0),
                              lists, in == 3 ? 2 : 1);
        }
}

static int is_one_node(void)
{
    MPI_Comm node;
    int size;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &size);
    MPI_Comm_free(&node);
    return size == t_size;
}

int main(int argc, char **argv)
{
    MPI_Win win;
    char *window;
    t_begin(&argc, &argv);
    if (t_size > RANKS_MAX)
        t_fault("more than %d ranks", RANKS_MAX);
    gasnet_coll_init(NULL, 0, NULL, 0, 0);
    int one_node = is_one_node();
    size_t all = (size_t) t_size * 2 * LONG;
    char *segment = t_alike(2 * all);
    gasnet_coll_segment_attach(t, segment, 2 * all);
    memory.same = 1;
    for (int i = 0; i < t_size; i++) {
        memory.src[i] = segment;
        memory.dst[i] = segment + all;
    }
    all_calls(one_node);
    gasnet_coll_segment_attach(t, NULL, 0);
    munmap(segment, 2 * all);
    memory.same = 0;
    for (int k = 0; k < 2; k++) { /* one window after another */
        char *here[2], *theirs[RANKS_MAX][2];
        MPI_Win_allocate((MPI_Aint) (2 * all), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
        here[0] = window;
        here[1] = window + all;
        MPI_Allgather(here, sizeof here, MPI_BYTE, theirs, sizeof here, MPI_BYTE, MPI_COMM_WORLD);
        for (int i = 0; i < t_size; i++) {
            memory.src[i] = theirs[i][0];
            memory.dst[i] = theirs[i][1];
        }
        all_calls(one_node);
        fence();
        MPI_Win_free(&win);
    }
    return t_end();
}
