/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * SINGLE calls of gasnet_coll.h in which one node's addresses are not the others': each ends, with
 * ERR_MISMATCH on some node, or with the right data where nobody relies on them; nothing is written
 * but where its owner has said, and what follows is as ever. What is said on stderr is not looked
 * at.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <gasnet_coll.h>
#include "alike.h"
#include "misuse.h"

enum { KINDS = 9, MODES = 9, SHORT = 8, LONG = 40000, BLANK = 0x5a, STRAY = 0xee };
enum { BROADCAST, SCATTER, GATHER, GATHER_ALL, EXCHANGE, PERMUTE, REDUCE, REDUCE_ALL, SCAN };
enum what { ALL, OF_ROOT, NONE }; /* what differs: all addresses, or what the root alone uses */

static gasnet_team_handle_t t = GASNET_TEAM_ALL;
static size_t room;
static char *memory; /* the sources, a place beside them, the destinations, a place beside them */

static void add(void *results, size_t result_count, const void *left, size_t left_count,
                const void *right, size_t elem_size, int flags, int arg)
{
    int *r = results;
    const int *x = left, *y = right;
    (void) left_count, (void) elem_size, (void) flags, (void) arg;
    for (size_t i = 0; i < result_count; i++)
        r[i] = x[i] + y[i];
}

static gasnet_coll_fn_entry_t table[] = {{add, 0}};

static struct {
    int kind, flags, root, who, begun;
    enum what what;
    size_t bytes;
} c;

static int is_rooted(void)
{
    return c.kind <= GATHER || c.kind == REDUCE;
}

static int is_down(void)
{
    return c.kind == BROADCAST || c.kind == SCATTER;
}

static size_t skew(enum what what)
{
    return t_rank == c.who && c.what == what ? room : 0;
}

/* The root's alone, or all nodes'. */
static char *src(void)
{
    return memory + skew(is_down() && c.what == OF_ROOT ? OF_ROOT : ALL);
}

static char *dst(void)
{
    int of_root = is_rooted() && !is_down();
    return memory + 2 * room + skew(of_root && c.what == OF_ROOT ? OF_ROOT : ALL);
}

#define CALL(name, ...)                                               \
    do {                                                              \
        if (c.begun)                                                  \
            gasnet_coll_wait_sync(gasnet_coll_##name##_nb(__VA_ARGS__)); \
        else                                                          \
            gasnet_coll_##name(__VA_ARGS__);                          \
    } while (0)

static void call(void)
{
    static gasnet_image_t perm[64];
    gasnet_image_t root = (gasnet_image_t) c.root;
    int folds = c.flags | GASNET_COLL_ELEMENTWISE;
    size_t n = c.bytes / sizeof(int);
    for (int i = 0; i < t_size; i++)
        perm[i] = (gasnet_image_t) ((i + 1) % t_size);
    seen = 0;
    switch (c.kind) {
    case BROADCAST:
        CALL(broadcast, t, dst(), root, src(), c.bytes, c.flags);
        break;
    case SCATTER:
        CALL(scatter, t, dst(), root, src(), c.bytes, c.flags);
        break;
    case GATHER:
        CALL(gather, t, root, dst(), src(), c.bytes, c.flags);
        break;
    case GATHER_ALL:
        CALL(gather_all, t, dst(), src(), c.bytes, c.flags);
        break;
    case EXCHANGE:
        CALL(exchange, t, dst(), src(), c.bytes, c.flags);
        break;
    case PERMUTE:
        CALL(permute, t, dst(), src(), perm, c.bytes, c.flags);
        break;
    case REDUCE:
        CALL(reduce, t, root, dst(), src(), 0, 0, sizeof(int), n, 0, 0, folds);
        break;
    case REDUCE_ALL:
        CALL(reduce_all, t, dst(), src(), 0, 0, sizeof(int), n, 0, 0, folds);
        break;
    default:
        CALL(scan, t, dst(), 0, 0, src(), 0, 0, sizeof(int), n, 0, 0, folds);
    }
}

static int has_only(const char *at, size_t bytes, int value)
{
    for (size_t k = 0; k < bytes; k++)
        if ((unsigned char) at[k] != value)
            return 0;
    return 1;
}

static int goes(int from, int to)
{
    return is_down()            ? from == c.root
           : is_rooted()        ? to == c.root
           : c.kind == SCAN     ? from <= to
           : c.kind == PERMUTE  ? to == (from + 1) % t_size
                                : 1;
}

/* Is all there that should be? */
static int is_right(void)
{
    int side = c.kind == GATHER || c.kind == GATHER_ALL || c.kind == EXCHANGE;
    int folds = c.kind >= REDUCE, sum = 0, right = 1;
    for (int from = 0; from < t_size; from++) {
        if (!goes(from, t_rank))
            continue;
        sum += 1 + from;
        const char *at = dst() + (side ? (size_t) from * c.bytes : 0);
        right &= folds || has_only(at, c.bytes, 1 + from);
    }
    return right && (!folds || sum == 0 || has_only(dst(), c.bytes, sum));
}

/* It may be put before its owner has called, who then hears of it. */
static int is_ahead(void)
{
    return (c.flags & GASNET_COLL_IN_NOSYNC) && (c.flags & GASNET_COLL_DST_IN_SEGMENT);
}

static void one(void)
{
    char *other = memory + 2 * room + (dst() == memory + 2 * room ? room : 0);
    int hears = 0, all = 0;
    memset(memory, STRAY, 2 * room);
    memset(memory + 2 * room, BLANK, 2 * room);
    memset(src(), 1 + t_rank, (size_t) t_size * c.bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    call();
    MPI_Barrier(MPI_COMM_WORLD);
    hears = seen == GASNET_COLL_ERR_MISMATCH;
    MPI_Allreduce(&hears, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    t_check(seen == 0 || (hears && c.who >= 0), "kind %d, flags %x, %zu bytes: code %d", c.kind,
            (unsigned) c.flags, c.bytes, seen);
    t_check(seen || is_right(), "kind %d, flags %x, %zu bytes, who %d, what %d: wrong, no error",
            c.kind, (unsigned) c.flags, c.bytes, c.who, (int) c.what);
    t_check(is_ahead() || has_only(other, room, BLANK),
            "kind %d, flags %x, %zu bytes, who %d, what %d: written elsewhere", c.kind,
            (unsigned) c.flags, c.bytes, c.who, (int) c.what);
    t_check(all > 0 || c.what != ALL || t_size == 1,
            "kind %d, flags %x, %zu bytes, who %d: nobody has heard", c.kind, (unsigned) c.flags,
            c.bytes, c.who);
    t_check(all == 0 || c.what != OF_ROOT || c.bytes > SHORT,
            "kind %d, flags %x, who %d: what is not used is refused", c.kind, (unsigned) c.flags,
            c.who);
}

/* And behind it the same without a mistake. */
static void differs(void)
{
    int who = c.who;
    enum what what = c.what;
    one();
    c.who = -1;
    c.what = NONE;
    one();
    c.who = who;
    c.what = what;
}

static void all_calls(void)
{
    int turn = 0;
    for (c.kind = 0; c.kind < KINDS; c.kind++)
        for (int mode = 0; mode < MODES; mode++)
            for (int k = 0; k < 4; k++) {
                c.flags = GASNET_COLL_IN_NOSYNC << mode / 3 | GASNET_COLL_OUT_NOSYNC << mode % 3 |
                    GASNET_COLL_SINGLE;
                c.bytes = k % 2 ? LONG : SHORT;
                c.begun = k / 2;
                c.root = turn % t_size;
                c.who = (turn++ / 2 + t_size - 1) % t_size;
                c.what = ALL;
                differs();
                c.flags |= c.kind <= EXCHANGE ? GASNET_COLL_DST_IN_SEGMENT : 0;
                differs();
                c.flags &= ~GASNET_COLL_DST_IN_SEGMENT;
                c.who = (c.root + 1) % t_size;
                c.what = OF_ROOT;
                if (is_rooted() && t_size > 1)
                    differs();
            }
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    gasnet_coll_init(NULL, 0, table, 1, 0);
    room = (size_t) t_size * LONG;
    memory = t_alike(4 * room);
    if (!freopen("/dev/null", "w", stderr))
        t_fault("stderr");
    gasnet_coll_team_on_error(t, on_error, NULL);
    gasnet_coll_segment_attach(t, memory, 4 * room);
    all_calls();
    gasnet_coll_segment_attach(t, NULL, 0);
    munmap(memory, 4 * room);
    return t_end();
}
