/* Part of Windlass. See COPYRIGHT in the top-level directory. Every call of gasnet_coll.h. */
#include "mpid/coll/gasnet_calls.h"
#include <string.h>

struct gasnet_with with;
static size_t sizes[RANKS_MAX][RANKS_MAX], come[RANKS_MAX][RANKS_MAX];
static uint32_t perm[UNITS_MAX];
static int m;

static int next_of(int i)
{
    return (i + 1) % r.n;
}

static int last_of(int i)
{
    return (i + r.n - 1) % r.n;
}

/* An image of the root. */
static size_t image(void)
{
    return first[with.root];
}

static void barrier(int i)
{
    handle[i] = wdl_gas_barrier_nb(team[i]);
}

/* --- movement --- */

static void broadcast(int i)
{
    handle[i] = wdl_gas_broadcast_nb(team[i], dst[i][0], image(), src[with.root][0], with.nbytes,
                                     with.flags);
}

static void scatter(int i)
{
    handle[i] =
        wdl_gas_scatter_nb(team[i], dst[i][0], image(), src[with.root][0], with.nbytes, with.flags);
}

static void gather(int i)
{
    handle[i] =
        wdl_gas_gather_nb(team[i], image(), dst[with.root][0], src[i][0], with.nbytes, with.flags);
}

static void gather_all(int i)
{
    handle[i] = wdl_gas_gather_all_nb(team[i], dst[i][0], src[i][0], with.nbytes, with.flags);
}

static void exchange(int i)
{
    handle[i] = wdl_gas_exchange_nb(team[i], dst[i][0], src[i][0], with.nbytes, with.flags);
}

static void broadcastM(int i)
{
    handle[i] = wdl_gas_broadcastM_nb(team[i], dst_list[i], image(), src[with.root][0], with.nbytes,
                                      with.flags);
}

static void scatterM(int i)
{
    handle[i] = wdl_gas_scatterM_nb(team[i], dst_list[i], image(), src[with.root][0], with.nbytes,
                                    with.flags);
}

static void gatherM(int i)
{
    handle[i] = wdl_gas_gatherM_nb(team[i], image(), dst[with.root][0], src_list[i], with.nbytes,
                                   with.flags);
}

static void gather_allM(int i)
{
    handle[i] = wdl_gas_gather_allM_nb(team[i], dst_list[i], src_list[i], with.nbytes, with.flags);
}

static void exchangeM(int i)
{
    handle[i] = wdl_gas_exchangeM_nb(team[i], dst_list[i], src_list[i], with.nbytes, with.flags);
}

/* --- blocks of different sizes: scatterv, gatherv and gather_allv of one each, exchangev of one to
 * the next node alone --- */

static void scatterv(int i)
{
    handle[i] = wdl_gas_scatterv_nb(team[i], dst[i][0], image(), src[with.root][0], NULL, sizes[i],
                                    with.flags);
}

static void gatherv(int i)
{
    handle[i] = wdl_gas_gatherv_nb(team[i], image(), dst[with.root][0], NULL, src[i][0], sizes[i],
                                   with.flags);
}

static void gather_allv(int i)
{
    handle[i] = wdl_gas_gather_allv_nb(team[i], dst[i][0], NULL, src[i][0], sizes[i], with.flags);
}

static void exchangev(int i)
{
    memset(sizes[i], 0, sizeof(sizes[i]));
    memset(come[i], 0, sizeof(come[i]));
    sizes[i][next_of(i)] = with.nbytes;
    come[i][last_of(i)] = with.nbytes;
    handle[i] = wdl_gas_exchangev_nb(team[i], dst[i][0], NULL, come[i], src[i][0], NULL, sizes[i],
                                     with.flags);
}

/* --- to, and from, the next node --- */

static void put_start(int i, int gets, int many)
{
    static uint32_t partner[RANKS_MAX], node[RANKS_MAX];
    static void *to[RANKS_MAX], *from[RANKS_MAX];
    partner[i] = (uint32_t) last_of(i);
    node[i] = (uint32_t) next_of(i);
    to[i] = dst[gets ? i : next_of(i)][0];
    from[i] = src[gets ? next_of(i) : i][0];
    struct wdl_gas_put put = {.gets = gets,
                              .many = many,
                              .node = node[i],
                              .dst = to[i],
                              .src = from[i],
                              .nodes = &node[i],
                              .dst_list = &to[i],
                              .src_list = &from[i],
                              .count = 1,
                              .partners = &partner[i],
                              .partner_count = 1,
                              .nbytes = with.nbytes};
    handle[i] = wdl_gas_put_nb(team[i], &put, with.flags);
}

static void put(int i)
{
    put_start(i, 0, 0);
}

static void putM(int i)
{
    put_start(i, 0, 1);
}

static void get(int i)
{
    put_start(i, 1, 0);
}

static void getM(int i)
{
    put_start(i, 1, 1);
}

static void permute(int i)
{
    size_t at = with.flags & WDL_COLL_LOCAL ? m ? first[i] : (size_t) i : 0;
    handle[i] = wdl_gas_permuteM_nb(team[i], dst[i][0], m ? dst_list[i] : NULL, src[i][0],
                                    m ? src_list[i] : NULL, perm + at, with.nbytes, with.flags);
}

/* --- arrays: a vector a unit, or an element a unit --- */

static struct wdl_gas_array array(char *base, size_t blk, size_t offset)
{
    return (struct wdl_gas_array){base + with.skew, blk, offset};
}

static size_t units(void)
{
    return m ? first[r.n] : (size_t) r.n;
}

static void reduce_to(int i, size_t unit, void *to)
{
    handle[i] =
        wdl_gas_reduceM_nb(team[i], unit, to, m ? src_list[i] : NULL, array(src[i][0], 0, 0), 4,
                           with.nbytes / 4, COMPOSE, COMPOSE, with.flags | WDL_GAS_ELEMENTWISE);
}

static void reduce(int i)
{
    reduce_to(i, image(), dst[with.root][0]);
}

static void reduce_all(int i)
{
    reduce_to(i, WDL_GAS_EVERYWHERE, dst[i][0]);
}

static void scan(int i)
{
    handle[i] = wdl_gas_scanM_nb(team[i], m ? dst_list[i] : NULL, array(dst[i][0], 0, 0),
                                 m ? src_list[i] : NULL, array(src[i][0], 0, 0), 4, with.nbytes / 4,
                                 COMPOSE, COMPOSE, with.flags | WDL_GAS_ELEMENTWISE);
}

/* To where the next node is: the result is dealt anew. */
static void scan_dealt(int i)
{
    handle[i] = wdl_gas_scanM_nb(team[i], NULL, array(dst[i][0], 1, 1), NULL,
                                 array(src[i][0], 1, 0), 4, (size_t) r.n, SUM, SUM, with.flags);
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
    return x < y ? -1 : x > y;
}

static void sort(int i)
{
    handle[i] = wdl_gas_sortM_nb(team[i], m ? dst_list[i] : NULL, array(dst[i][0], 1, 0),
                                 m ? src_list[i] : NULL, array(src[i][0], 1, 0), 4, units(),
                                 by_size, with.flags);
}

/* --- */

const struct call gasnet_calls[] = {
    {"barrier", NOTHING, 0, 0, barrier},
    {"broadcast", DOWN, 0, 0, broadcast},
    {"scatter", DOWN, 0, 0, scatter},
    {"gather", UP, 0, 0, gather},
    {"gather_all", ALL, 0, 0, gather_all},
    {"exchange", ALL, 0, 0, exchange},
    {"broadcastM", DOWN, 0, 1, broadcastM},
    {"scatterM", DOWN, 0, 1, scatterM},
    {"gatherM", UP, 0, 1, gatherM},
    {"gather_allM", ALL, 0, 1, gather_allM},
    {"exchangeM", ALL, 0, 1, exchangeM},
    {"scatterv", DOWN, 0, 0, scatterv},
    {"gatherv", UP, 0, 0, gatherv},
    {"gather_allv", ALL, 0, 0, gather_allv},
    {"exchangev", ALONG, 0, 0, exchangev},
    {"put", ALONG, WDL_COLL_LOCAL, 0, put},
    {"putM", ALONG, WDL_COLL_LOCAL, 0, putM},
    {"get", ALONG, WDL_COLL_LOCAL, 0, get},
    {"getM", ALONG, WDL_COLL_LOCAL, 0, getM},
    {"permute", ALONG, 0, 0, permute},
    {"permuteM", ALONG, 0, 1, permute},
    {"reduce", UP, 0, 0, reduce},
    {"reduceM", UP, 0, 1, reduce},
    {"reduce_all", ALL, 0, 0, reduce_all},
    {"reduce_allM", ALL, 0, 1, reduce_all},
    {"scan", ABOVE, 0, 0, scan},
    {"scanM", ABOVE, 0, 1, scan},
    {"scan_dealt", ABOVE, 0, 0, scan_dealt},
    {"sort", ALL, 0, 0, sort},
    {"sortM", ALL, 0, 1, sort},
};
const int gasnet_call_count = sizeof(gasnet_calls) / sizeof(gasnet_calls[0]);

int gasnet_gives(const struct call *call, int from, int to)
{
    int gets = call->start == get || call->start == getM;
    switch (call->shape) {
    case DOWN:
        return from == with.root;
    case UP:
        return to == with.root;
    case ALL:
        return 1;
    case ALONG:
        return gets ? next_of(to) == from : next_of(from) == to;
    case ABOVE: /* dealt: the last element's prefix is at node 0 */
        return from < to || (call->start == scan_dealt && to == 0);
    default:
        return 0;
    }
}

/* The five that move blocks of one size. */
int gasnet_is_move(const struct call *call)
{
    return call > &gasnet_calls[0] && call <= &gasnet_calls[10];
}

int gasnet_is_of_each(const struct call *call)
{
    return call->start == scatter || call->start == scatterM || call->start == exchange ||
           call->start == exchangeM;
}

/* A unit's block goes to the next node: to the unit that many behind it, if there are as many. */
static void perm_fill(void)
{
    size_t n = units();
    for (size_t u = 0; u < n; u++)
        perm[u] = (uint32_t) ((u + 1) % n);
}

void gasnet_calls_prepare(const struct call *call)
{
    m = call->m;
    gasnet_lists(m, with.flags);
    perm_fill();
    for (int i = 0; i < r.n; i++)
        for (int k = 0; k < r.n; k++)
            sizes[i][k] = call->start != gather_allv || (with.flags & WDL_COLL_SINGLE) || k == i
                              ? with.nbytes
                              : 0;
}
