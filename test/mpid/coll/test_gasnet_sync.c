/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * How weak the synchronization modes are: whom a late node delays, exactly, for every number of
 * nodes; messages of a mode.
 */
#include <string.h>
#include "mpid/coll/gasnet_ranks.h"
#include "support/suite.h"

enum { IN = WDL_COLL_IN_NOSYNC, OUT = WDL_COLL_OUT_NOSYNC, SHORT = 8, LONG = 300 };

static int flags, late;
static size_t nbytes;
static size_t sizes[RANKS_MAX][RANKS_MAX], come[RANKS_MAX][RANKS_MAX];
static uint32_t perm[RANKS_MAX];

static int next_of(int i)
{
    return (i + 1) % r.n;
}

static int last_of(int i)
{
    return (i + r.n - 1) % r.n;
}

/* --- calls: of each, which nodes give to which --- */

static void put_start(int i)
{
    uint32_t partner = (uint32_t) last_of(i);
    struct wdl_gas_put put = {.node = (uint32_t) next_of(i),
                              .dst = dst[next_of(i)][0],
                              .src = src[i][0],
                              .partners = &partner,
                              .partner_count = 1,
                              .nbytes = nbytes};
    handle[i] = wdl_gas_put_nb(team[i], &put, flags);
}

static void permute_start(int i)
{
    handle[i] = wdl_gas_permuteM_nb(team[i], dst[i][0], NULL, src[i][0], NULL, perm, nbytes, flags);
}

/* To the next node alone. */
static void exchangev_start(int i)
{
    sizes[i][next_of(i)] = nbytes;
    come[i][last_of(i)] = nbytes;
    handle[i] =
        wdl_gas_exchangev_nb(team[i], dst[i][0], NULL, come[i], src[i][0], NULL, sizes[i], flags);
}

/* An array of an element a node that is summed to where the next node is. */
static void scan_start(int i)
{
    struct wdl_gas_array s = {src[i][0], 1, 0}, d = {dst[i][0], 1, 1};
    handle[i] = wdl_gas_scanM_nb(team[i], NULL, d, NULL, s, 4, (size_t) r.n, SUM, SUM, flags);
}

static void scatterv_start(int i)
{
    for (int k = 0; k < r.n; k++)
        sizes[i][k] = nbytes;
    handle[i] = wdl_gas_scatterv_nb(team[i], dst[i][0], 0, src[i][0], NULL, sizes[i], flags);
}

static void gatherv_start(int i)
{
    for (int k = 0; k < r.n; k++)
        sizes[i][k] = nbytes;
    handle[i] = wdl_gas_gatherv_nb(team[i], 0, dst[i][0], NULL, src[i][0], sizes[i], flags);
}

static int to_next(int from, int to)
{
    return next_of(from) == to;
}

static int from_root(int from, int to)
{
    (void) to;
    return from == 0;
}

static int to_root(int from, int to)
{
    (void) from;
    return to == 0;
}

/* Prefixes come from below, and go to the next node. */
static int upwards(int from, int to)
{
    return to == 0 || from < to;
}

static const struct kind {
    const char *name;
    void (*start)(int i);
    int (*gives)(int from, int to);
    int scope; /* with which the call needs to hear nothing first */
    int exact; /* all that gives to a node must be there for it to end */
} kinds[] = {
    {"put", put_start, to_next, WDL_COLL_LOCAL, 1},
    {"permute", permute_start, to_next, WDL_COLL_SINGLE, 1},
    {"exchangev", exchangev_start, to_next, WDL_COLL_SINGLE, 1},
    {"scatterv", scatterv_start, from_root, WDL_COLL_LOCAL, 1},
    {"gatherv", gatherv_start, to_root, WDL_COLL_LOCAL, 1},
    {"scan", scan_start, upwards, WDL_COLL_LOCAL, 0},
};

/* --- */

static void settle(void)
{
    for (int k = 0; k < 60 * r.n; k++)
        ranks_step(&r);
}

static int is_done(int i)
{
    enum wdl_gas_error error;
    if (!handle[i] || !wdl_gas_try_sync(handle[i], &error))
        return 0;
    ck_assert_int_eq(error, WDL_GAS_FINE);
    handle[i] = NULL;
    return 1;
}

/* Node i: 1: must wait for the late one, which gives to it or has to be known to be through; 0:
 * must not; -1: may: a source is in use until it has gone where it goes, unless the exit does not
 * care; and who does not care may leave an entry that all have to come to. */
static int waits(const struct kind *kind, int i)
{
    if ((flags & WDL_COLL_OUT_ALLSYNC) || (kind->exact && kind->gives(late, i)))
        return 1;
    if ((flags & WDL_COLL_IN_ALLSYNC) || kind->gives(late, i))
        return -1;
    return (flags & WDL_COLL_OUT_MYSYNC) && kind->gives(i, late) ? -1 : 0;
}

static void delays(const struct kind *kind)
{
    memset(sizes, 0, sizeof(sizes));
    memset(come, 0, sizeof(come));
    for (int i = 0; i < r.n; i++)
        perm[i] = (uint32_t) next_of(i);
    for (int i = 0; i < r.n; i++)
        if (i != late)
            kind->start(i);
    settle();
    for (int i = 0; i < r.n; i++) {
        int done = i != late && is_done(i), must = waits(kind, i);
        if (i == late)
            continue;
        if (must >= 0)
            ck_assert_msg(done == !must, "%s of %zu bytes, flags %x: node %d of %d %s node %d",
                          kind->name, nbytes, (unsigned) flags, i, r.n,
                          done ? "does not wait for" : "waits for", late);
    }
    kind->start(late);
    for (int i = 0; i < r.n; i++)
        while (handle[i] && !is_done(i))
            ranks_step(&r);
    settle();
}

static void at_nodes(int n)
{
    struct wdl_sim_params sim = {
        .seed = (uint64_t) n, .ranks = n, .ordered = n & 1, .am_bytes_max = 1024};
    gasnet_open(&sim, 1);
    settle();
    for (int mode = 0; mode < 9; mode++)
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
            flags = IN << mode % 3 | OUT << mode / 3 | kinds[k].scope;
            late = (int) draw((size_t) n);
            nbytes = draw(2) ? SHORT : LONG;
            delays(&kinds[k]);
        }
    gasnet_close();
}

START_TEST(a_late_node_delays_its_partners_alone)
{
    for (int n = 2; n <= RANKS_MAX; n++)
        at_nodes(n);
}
END_TEST

WDL_SUITE("mpid/coll/gasnet_sync", a_late_node_delays_its_partners_alone)
