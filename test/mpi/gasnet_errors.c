/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Misuse of gasnet_coll.h: each kind, on all nodes, calls the callback with its code, and the team
 * is as good as before; on one node, the others' calls end, too. What is said on stderr is not
 * looked at.
 */
#include <gasnet_coll.h>
#include "testing.h"

static int seen, calls;

static void on_error(void *arg, int code, const char *text)
{
    t_check(arg == &seen && text && strlen(text) > 10, "what the callback gets");
    seen = code;
    calls++;
}

static void add(void *results, size_t result_count, const void *left, size_t left_count,
                const void *right, size_t elem_size, int flags, int arg)
{
    int *r = results;
    const int *x = left, *y = right;
    (void) left_count;
    (void) elem_size;
    (void) flags;
    (void) arg;
    for (size_t i = 0; i < result_count; i++)
        r[i] = x[i] + y[i];
}

static gasnet_coll_fn_entry_t table[] = {{add, 0}}, strange[] = {{add, 0}, {add, 8}};

enum { FINE = GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC | GASNET_COLL_LOCAL, SOME = 16 };

static _Alignas(16) int a[64 * SOME], b[64 * SOME];
static gasnet_team_handle_t t = GASNET_TEAM_ALL;

/* The call, which gives a handle, must go wrong with this code when it is synchronized. */
#define wrong(code, call)                                                                   \
    do {                                                                                    \
        seen = calls = 0;                                                                   \
        gasnet_coll_wait_sync(call);                                                        \
        t_check(seen == (code) && calls == 1, "line %d: code %d, %d calls", __LINE__, seen, \
                calls);                                                                     \
    } while (0)

/* A call without a handle: it returns this, and calls the callback once, or never (code 0). */
#define refused(result, code, call)                                                            \
    do {                                                                                       \
        seen = calls = 0;                                                                      \
        t_check((call) == (result), "line %d: another result", __LINE__);                      \
        t_check(seen == (code) && calls == ((code) != 0), "line %d: code %d, %d calls",        \
                __LINE__, seen, calls);                                                        \
    } while (0)

static void works(void)
{
    a[0] = t_rank + 3;
    seen = 0;
    gasnet_coll_broadcast(t, b, (gasnet_image_t) t_size - 1, a, sizeof(int), FINE);
    t_check(seen == 0 && b[0] == t_size + 2, "the team does not work any more: %d", b[0]);
}

static void flags(void)
{
    int in = GASNET_COLL_IN_MYSYNC, out = GASNET_COLL_OUT_MYSYNC, local = GASNET_COLL_LOCAL;
    wrong(GASNET_COLL_ERR_FLAGS, gasnet_coll_broadcast_nb(t, b, 0, a, 4, FINE | 0x100000));
    for (unsigned bit = 14; bit < 32; bit++) {
        int unknown = (int) (1u << bit);
        wrong(GASNET_COLL_ERR_FLAGS, gasnet_coll_broadcast_nb(t, b, 0, a, 4, FINE | unknown));
        seen = calls = 0;
        gasnet_coll_gather_all(t, b, a, 4, FINE | unknown);
        t_check(seen == GASNET_COLL_ERR_FLAGS && calls == 1, "bit %u, blocking: %d", bit, seen);
        seen = calls = 0;
        gasnet_coll_handle_t none =
            gasnet_coll_broadcast_nb(t, b, 0, a, 4, FINE | unknown | GASNET_COLL_AGGREGATE);
        t_check(seen == GASNET_COLL_ERR_FLAGS && calls == 1 && !none, "bit %u: %d", bit, seen);
        gasnet_coll_wait_sync(gasnet_coll_broadcast_nb(t, b, 0, a, 4, FINE)); /* the last member */
        t_check(calls == 1, "bit %u, the rest of the aggregate: %d", bit, seen);
    }
    wrong(GASNET_COLL_ERR_FLAGS,
          gasnet_coll_exchange_nb(t, b, a, 4, FINE | GASNET_COLL_SCAN_EXCLUSIVE));
    wrong(GASNET_COLL_ERR_SYNC, gasnet_coll_broadcast_nb(t, b, 0, a, 4, out | local));
    wrong(GASNET_COLL_ERR_SYNC, gasnet_coll_scatter_nb(t, b, 0, a, 4, in | local));
    wrong(GASNET_COLL_ERR_SYNC,
          gasnet_coll_gather_all_nb(t, b, a, 4, FINE | GASNET_COLL_IN_NOSYNC));
    wrong(GASNET_COLL_ERR_ADDRESSES, gasnet_coll_gather_nb(t, 0, b, a, 4, in | out));
    wrong(GASNET_COLL_ERR_ADDRESSES,
          gasnet_coll_gather_nb(t, 0, b, a, 4, FINE | GASNET_COLL_SINGLE));
    wrong(GASNET_COLL_ERR_ADDRESSES,
          gasnet_coll_put_nb(t, 0, b, a, NULL, 0, 4, in | out | GASNET_COLL_SINGLE));
    seen = calls = 0;
    gasnet_coll_gather_all(t, b, a, 4, FINE | GASNET_COLL_AGGREGATE);
    t_check(seen == GASNET_COLL_ERR_AGGREGATE && calls == 1, "aggregate: %d", seen);
    works();
    a[0] = t_rank;
    seen = calls = 0;
    (void) gasnet_coll_broadcast_nb(t, b, 0, a, 4, FINE | GASNET_COLL_AGGREGATE);
    gasnet_coll_gather_all(t, b + 1, a, 4, FINE | GASNET_COLL_AGGREGATE); /* in the middle */
    t_check(seen == GASNET_COLL_ERR_AGGREGATE && calls == 1, "inside an aggregate: %d", seen);
    b[0] = -1;
    gasnet_coll_wait_sync(gasnet_coll_gather_all_nb(t, b + 1, a, 4, FINE));
    t_check(calls == 1 && b[0] == 0 && b[t_size] == t_size - 1, "what was in the aggregate");
    works();
    a[0] = t_rank;
    seen = calls = 0;
    b[0] = b[t_size] = -1;
    (void) gasnet_coll_broadcast_nb(t, b, 0, a, 4, FINE | GASNET_COLL_AGGREGATE);
    gasnet_coll_gather_all(t, b + 1, a, 4, FINE); /* the last one may be blocking */
    t_check(calls == 0 && b[0] == 0 && b[t_size] == t_size - 1, "its last one: %d", seen);
    works();
}

static int same(const void *x, const void *y)
{
    return memcmp(x, y, 8);
}

static void arguments(void)
{
    gasnet_image_t perm[64] = {0}, images = gasnet_coll_team_images(t);
    gasnet_node_t twice[2] = {0, 0};
    void *list[1] = {b};
    char *odd = (char *) a + 1; /* a is aligned */
    wrong(GASNET_COLL_ERR_ROOT, gasnet_coll_broadcast_nb(t, b, images, a, 4, FINE));
    wrong(GASNET_COLL_ERR_ROOT, gasnet_coll_reduce_nb(t, images, b, a, 1, 0, 4, 1, 0, 0, FINE));
    wrong(GASNET_COLL_ERR_SIZE, gasnet_coll_exchange_nb(t, b, a, 0, FINE));
    wrong(GASNET_COLL_ERR_SIZE, gasnet_coll_reduce_nb(t, 0, b, a, 1, 0, 0, 1, 0, 0, FINE));
    wrong(GASNET_COLL_ERR_SIZE, gasnet_coll_scan_nb(t, b, 1, 0, a, 1, 0, 4, 0, 0, 0, FINE));
    size_t endless = SIZE_MAX / (size_t) t_size + (t_size > 1 ? 2 : 0); /* together: a few bytes */
    seen = calls = 0;
    gasnet_coll_gather_all(t, b, a, endless, FINE);
    gasnet_coll_exchange(t, b, a, endless, FINE);
    t_check(seen == GASNET_COLL_ERR_SIZE && calls == 2, "endless blocks: %d", seen);
    size_t one_each = (size_t) t_size;
    wrong(GASNET_COLL_ERR_ALIGNMENT,
          gasnet_coll_reduce_all_nb(t, b, odd, 1, 0, 4, one_each, 0, 0, FINE));
    wrong(GASNET_COLL_ERR_ALIGNMENT,
          gasnet_coll_reduce_all_nb(t, b, odd + 3, 1, 0, 8, one_each, 0, 0, FINE));
    gasnet_coll_sort(t, (char *) b + 1, 1, 0, odd, 1, 0, 8, 1, same, FINE | GASNET_COLL_UNALIGNED);
    gasnet_coll_reduce(t, 0, t_rank ? odd : (void *) b, t_rank ? odd : (void *) a, 0, 0, 4, 1, 0, 0,
                       FINE); /* all on node 0 */
    t_check(calls == 1, "what is aligned, need not be, or is nothing: %d", seen);
    wrong(GASNET_COLL_ERR_FUNCTION, gasnet_coll_reduce_all_nb(t, b, a, 1, 0, 4, 1, 1, 0, FINE));
    wrong(GASNET_COLL_ERR_FUNCTION, gasnet_coll_sort_nb(t, b, 1, 0, a, 1, 0, 4, 1, NULL, FINE));
    wrong(GASNET_COLL_ERR_LAYOUT,
          gasnet_coll_scan_nb(t, b, 0, (size_t) t_size, a, 1, 0, 4, 1, 0, 0, FINE));
    wrong(GASNET_COLL_ERR_LAYOUT,
          gasnet_coll_reduce_nb(t, 0, b, a, 2, 0, 4, 1, 0, 0, FINE | GASNET_COLL_ELEMENTWISE));
    if (t_size > 1) /* two nodes to node 0 */
        wrong(GASNET_COLL_ERR_NODES, gasnet_coll_permute_nb(t, b, a, perm, 4, FINE));
    wrong(GASNET_COLL_ERR_NODES,
          gasnet_coll_put_nb(t, (gasnet_node_t) t_size, b, a, NULL, 0, 4, FINE));
    wrong(GASNET_COLL_ERR_NODES, gasnet_coll_get_nb(t, b, 0, a, twice, 2, 4, FINE));
    wrong(GASNET_COLL_ERR_NODES,
          gasnet_coll_putM_nb(t, twice, list, list, 0, NULL, (size_t) t_size + 1, 4, FINE));
    works();
}

static void order(void)
{
    gasnet_coll_handle_t handle = gasnet_coll_gather_all_nb(t, b, a, 4, FINE);
    gasnet_coll_wait_sync(handle);
    wrong(GASNET_COLL_ERR_HANDLE, handle);
    seen = 0;
    t_check(gasnet_coll_barrier_wait(t, 0, 0) == GASNET_ERR_BAD_ARG &&
                seen == GASNET_COLL_ERR_BARRIER,
            "a wait without notify: %d", seen);
    gasnet_coll_barrier_notify(t, 0, 0);
    seen = 0;
    gasnet_coll_barrier_notify(t, 0, 0);
    t_check(seen == GASNET_COLL_ERR_BARRIER, "two notifies: %d", seen);
    t_check(gasnet_coll_barrier_wait(t, 0, 0) == GASNET_OK, "the first one's barrier");
    gasnet_coll_barrier_notify(t, 4, 0);
    refused(GASNET_ERR_BAD_ARG, GASNET_COLL_ERR_BARRIER, gasnet_coll_barrier(t, 5, 0));
    refused(GASNET_OK, 0, gasnet_coll_barrier_wait(t, 4, 0)); /* the one that had begun */
    refused(GASNET_ERR_BAD_ARG, GASNET_COLL_ERR_BARRIER, gasnet_coll_barrier_try(t, 4, 0));
    seen = 0;
    gasnet_coll_init(NULL, 0, table, 1, 0);
    t_check(seen == GASNET_COLL_ERR_INIT, "a second init: %d", seen);
    works();
}

/* Other nodes of a barrier see a mismatch; of a split, that it went wrong. */
static void names(int is_wrong, int all_are)
{
    int unknown = is_wrong ? 0x40 : 0, result;
    int bad = is_wrong ? GASNET_ERR_BAD_ARG
              : all_are < 0 ? GASNET_OK
                            : GASNET_ERR_BARRIER_MISMATCH;
    int code = is_wrong ? GASNET_COLL_ERR_FLAGS : 0;
    refused(bad, code, gasnet_coll_barrier(t, 3, unknown));
    seen = calls = 0;
    gasnet_coll_barrier_notify(t, 3, unknown | GASNET_BARRIERFLAG_ANONYMOUS);
    result = gasnet_coll_barrier_wait(t, 3, GASNET_BARRIERFLAG_ANONYMOUS);
    t_check(result == bad && seen == code && calls == (code != 0), "notify: %d, %d", result, seen);
    /* the others' is a barrier like any where only its end is wrong */
    seen = calls = 0;
    gasnet_coll_barrier_notify(t, 3, 0);
    while ((result = gasnet_coll_barrier_try(t, 3, unknown)) == GASNET_ERR_NOT_READY)
        ;
    t_check(result == (is_wrong ? bad : GASNET_OK) && seen == code && calls == (code != 0),
            "try: %d, %d", result, seen);
    refused(GASNET_OK, 0, gasnet_coll_barrier(t, 3, 0));
    seen = calls = 0;
    gasnet_team_handle_t team = gasnet_coll_team_split(t, 0, (gasnet_node_t) t_rank, unknown);
    int split = is_wrong ? GASNET_COLL_ERR_FLAGS : all_are < 0 ? 0 : GASNET_COLL_ERR_MISMATCH;
    t_check(seen == split && calls == (split != 0), "split: %d", seen);
    t_check((team != NULL) == (split == 0), "a team all the same");
    if (team)
        gasnet_coll_team_free(team);
    works();
}

static void unknown_names(void)
{
    names(0, -1);
    names(1, 1);
    for (int i = 0; i < t_size; i++)
        names(t_rank == i, 0);
}

static void segment(void)
{
    int src = GASNET_COLL_SRC_IN_SEGMENT, dst = GASNET_COLL_DST_IN_SEGMENT;
    gasnet_coll_segment_attach(t, b, sizeof b);
    wrong(GASNET_COLL_ERR_SEGMENT, gasnet_coll_gather_all_nb(t, b, a, 4, FINE | src | dst));
    wrong(GASNET_COLL_ERR_SEGMENT, gasnet_coll_exchange_nb(t, a, b, 4, FINE | dst));
    wrong(GASNET_COLL_ERR_SEGMENT,
          gasnet_coll_scan_nb(t, b, 1, 0, a, 1, 0, 4, (size_t) t_size, 0, 0, FINE | src));
    size_t sizes[64], at[64] = {0};
    int single = GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC | GASNET_COLL_SINGLE;
    for (int i = 0; i < t_size; i++)
        sizes[i] = 4;
    at[t_size - 1] = sizeof b; /* behind the segment's end */
    wrong(GASNET_COLL_ERR_SEGMENT, gasnet_coll_scatterv_nb(t, a, 0, b, NULL, sizes, FINE | dst));
    wrong(GASNET_COLL_ERR_SEGMENT, gasnet_coll_gatherv_nb(t, 0, b, NULL, a, sizes, FINE | src));
    wrong(GASNET_COLL_ERR_SEGMENT, gasnet_coll_gather_allv_nb(t, b, at, b, sizes, single | dst));
    wrong(GASNET_COLL_ERR_SEGMENT, gasnet_coll_gather_allv_nb(t, b, NULL, a, sizes, single | src));
    wrong(GASNET_COLL_ERR_SEGMENT,
          gasnet_coll_exchangev_nb(t, b, NULL, sizes, b, at, sizes, single | src));
    size_t come[64];
    wrong(GASNET_COLL_ERR_SEGMENT, gasnet_coll_gather_allv_nb(t, b, NULL, a, sizes, FINE | src));
    wrong(GASNET_COLL_ERR_SEGMENT, gasnet_coll_gather_allv_nb(t, b, at, b, sizes, FINE | dst));
    wrong(GASNET_COLL_ERR_SEGMENT,
          gasnet_coll_exchangev_nb(t, b, NULL, come, b, at, sizes, FINE | src));
    wrong(GASNET_COLL_ERR_SEGMENT,
          gasnet_coll_exchangev_nb(t, b, at, come, b, NULL, sizes, FINE | dst));
    if (t_size == 1) {
        wrong(GASNET_COLL_ERR_SEGMENT, gasnet_coll_scatterv_nb(t, a, 0, b, at, sizes, FINE | src));
        wrong(GASNET_COLL_ERR_SEGMENT, gasnet_coll_gatherv_nb(t, 0, b, at, a, sizes, FINE | dst));
    }
    seen = 0;
    gasnet_coll_gather_allv(t, b, NULL, b + t_size, sizes, single | src | dst);
    gasnet_coll_gather_allv(t, b, NULL, b + t_size, sizes, FINE | src | dst);
    gasnet_coll_exchangev(t, b, NULL, come, b + t_size, NULL, sizes, FINE | src | dst);
    gasnet_coll_scatterv(t, b, 0, b + t_size, NULL, sizes, FINE | src | dst);
    gasnet_coll_exchange(t, b + t_size, b, 4, FINE | src | dst);
    gasnet_coll_gather_all(t, b, a, 4, FINE | dst);
    t_check(seen == 0, "what is inside: %d", seen);
    works();
}

static int order_of(const void *x, const void *y)
{
    return *(const int *) x - *(const int *) y;
}

static gasnet_coll_handle_t call(gasnet_team_handle_t team, int kind, int more)
{
    static gasnet_image_t perm[64];     /* until the handle is done */
    int how = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL | more;
    gasnet_node_t next = (gasnet_node_t) (t_rank + 1) % (gasnet_node_t) t_size;
    for (int i = 0; i < t_size; i++)
        perm[i] = (gasnet_image_t) (t_size - 1 - i);
    switch (kind) {
    case 0:
        return gasnet_coll_broadcast_nb(team, b, 0, a, 4, how);
    case 1:
        return gasnet_coll_gather_nb(team, 0, b, a, 4, how);
    case 2:
        return gasnet_coll_exchange_nb(team, b, a, 4, how);
    case 3:
        return gasnet_coll_reduce_all_nb(team, b, a, 1, 0, 4, 1, 0, 0, how);
    case 4:
        return gasnet_coll_put_nb(team, next, b, a, NULL, 0, 4, how);
    case 5:
        return gasnet_coll_permute_nb(team, b, a, perm + t_rank, 4, how);
    case 6: /* the first of two that belong together */
        (void) gasnet_coll_gather_nb(team, 0, b, a, 4, how | GASNET_COLL_AGGREGATE);
        return gasnet_coll_broadcast_nb(team, b, 0, a, 4, how & ~more);
    case 7: /* a blocking call in the middle */
        (void) gasnet_coll_gather_nb(team, 0, b, a, 4, (how & ~more) | GASNET_COLL_AGGREGATE);
        how = (how & ~more) | GASNET_COLL_AGGREGATE;
        if (more)
            gasnet_coll_gather_all(team, b, a, 4, how);
        else
            (void) gasnet_coll_gather_all_nb(team, b, a, 4, how);
        return gasnet_coll_broadcast_nb(team, b, 0, a, 4, how & ~GASNET_COLL_AGGREGATE);
    default:
        return gasnet_coll_sort_nb(team, b, 1, 0, a, 1, 0, 4, (size_t) t_size, order_of, how);
    }
}

/* One node's call is wrong, the others' are not: all end, the others' well if they need nothing of
 * it, and so does whatever follows. */
static void on_one_node(void)
{
    enum { KINDS = 9, UNKNOWN = 1 << 20 };
    for (int kind = 0; kind < KINDS; kind++)
        for (int who = 0; who < 2; who++) {
            int is_wrong = t_rank == (who ? t_size - 1 : 0);
            gasnet_team_handle_t team = gasnet_coll_team_split(t, 0, (gasnet_node_t) t_rank, 0);
            seen = calls = 0;
            gasnet_coll_wait_sync(call(team, kind, is_wrong ? UNKNOWN : 0));
            if (is_wrong)
                t_check(seen == (kind == 7 ? GASNET_COLL_ERR_AGGREGATE : GASNET_COLL_ERR_FLAGS) ||
                            (kind >= 6 && seen == GASNET_COLL_ERR_MISMATCH),
                        "kind %d: code %d", kind, seen);
            else
                t_check(seen == 0 || seen == GASNET_COLL_ERR_MISMATCH, "kind %d: code %d", kind,
                        seen);
            for (int next = 2; next < 6; next++) {
                seen = 0;
                gasnet_coll_wait_sync(call(team, next, 0));
                t_check(seen == 0 || seen == GASNET_COLL_ERR_MISMATCH,
                        "after kind %d, %d: code %d", kind, next, seen);
            }
            gasnet_coll_team_free(team);
        }
    works();
}

/* On one node alone: that one hears what is wrong, the others that something is. */
static void init_on_one_node(void)
{
    gasnet_image_t none[64], one[64];
    for (int i = 0; i < t_size; i++)
        none[i] = one[i] = 1;
    none[t_size - 1] = 0;
    for (int who = 0; who < t_size; who++)
        for (int what = 0; what < 3; what++) {
            int is_wrong = t_rank == who, calls_before = calls;
            seen = 0;
            gasnet_coll_init(is_wrong && what == 0 ? none : one, 0,
                             is_wrong && what == 1 ? strange : table,
                             is_wrong && what == 1 ? 2 : 1, is_wrong && what == 2);
            t_check(seen == (is_wrong ? GASNET_COLL_ERR_INIT : GASNET_COLL_ERR_MISMATCH) &&
                        calls == calls_before + 1,
                    "init wrong on node %d: code %d", who, seen);
        }
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    if (!freopen("/dev/null", "w", stderr))
        t_fault("stderr");
    gasnet_coll_team_on_error(t, on_error, &seen);
    gasnet_coll_init(NULL, 0, table, 1, 1);
    gasnet_coll_init(NULL, 0, strange, 2, 0);
    t_check(seen == GASNET_COLL_ERR_INIT && calls == 2, "flags of init: %d", seen);
    init_on_one_node();
    gasnet_coll_init(NULL, 0, table, 1, 0);
    works();
    flags();
    arguments();
    order();
    unknown_names();
    segment();
    on_one_node();
    /* of one handle alone */
    gasnet_coll_team_on_error(t, NULL, NULL);
    seen = 0;
    gasnet_coll_handle_t handle = gasnet_coll_broadcast_nb(t, b, 0, a, 0, FINE);
    gasnet_coll_on_error(handle, on_error, &seen);
    gasnet_coll_wait_sync(handle);
    t_check(seen == GASNET_COLL_ERR_SIZE, "the handle's own callback: %d", seen);
    /* and of a call that others do not make at all */
    gasnet_coll_team_on_error(t, on_error, &seen);
    if (t_rank == 0)
        wrong(GASNET_COLL_ERR_FLAGS, call(t, 0, 1 << 20));
    return t_end();
}
