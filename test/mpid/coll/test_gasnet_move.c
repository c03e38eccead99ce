/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Data movement, with an address a node and (M) an address an image, in random worlds: every kind,
 * from every image, nodes of one and of several; what is asked wrongly.
 */
#include <string.h>
#include "mpid/coll/gasnet_ranks.h"
#include "support/must.h"
#include "support/suite.h"

enum { BROADCAST, SCATTER, GATHER, GATHER_ALL, EXCHANGE, KINDS };

static struct call {
    int m, flags, kind;
    size_t root, bytes, units; /* root: an image; units: nodes, or images */
    char salt;
} call;

static int root_node(void)
{
    int node = 0;
    while (first[node + 1] <= call.root)
        node++;
    return node;
}

static void start(int i)
{
    const struct call *c = &call;
    void *const *dl = dst_list[i], *const *sl = src_list[i];
    char *s = src[i][0], *d = dst[i][0];
    struct wdl_gas_team *t = team[i];
    size_t n = c->bytes, root = c->root;
    int f = c->flags;
    if (c->kind == BROADCAST)
        handle[i] = c->m ? wdl_gas_broadcastM_nb(t, dl, root, s, n, f)
                         : wdl_gas_broadcast_nb(t, d, root, s, n, f);
    else if (c->kind == SCATTER)
        handle[i] = c->m ? wdl_gas_scatterM_nb(t, dl, root, s, n, f)
                         : wdl_gas_scatter_nb(t, d, root, s, n, f);
    else if (c->kind == GATHER)
        handle[i] = c->m ? wdl_gas_gatherM_nb(t, root, d, sl, n, f)
                         : wdl_gas_gather_nb(t, root, d, s, n, f);
    else if (c->kind == GATHER_ALL)
        handle[i] = c->m ? wdl_gas_gather_allM_nb(t, dl, sl, n, f)
                         : wdl_gas_gather_all_nb(t, d, s, n, f);
    else
        handle[i] = c->m ? wdl_gas_exchangeM_nb(t, dl, sl, n, f)
                         : wdl_gas_exchange_nb(t, d, s, n, f);
}

/* What unit `from` has for unit `to`, in every byte; a broadcast's and a gather's is for all. */
static char value(size_t from, size_t to)
{
    int for_all = call.kind == BROADCAST || call.kind == GATHER || call.kind == GATHER_ALL;
    return (char) (call.salt + (char) (from * 5) + (for_all ? 0 : (char) (to * 3)));
}

/* At the k-th block of memory. */
static void put_value(char *memory, size_t k, size_t from, size_t to)
{
    memset(memory + k * call.bytes, value(from, to), call.bytes);
}

static void look(const char *memory, size_t k, size_t from, size_t to)
{
    for (size_t b = 0; b < call.bytes; b++)
        must_cmp(memory[k * call.bytes + b], ==, value(from, to));
}

static void fill(void)
{
    size_t n = call.units;
    char *of_root = src[root_node()][0];
    for (size_t u = 0; u < n; u++) {
        char *own = unit_memory(src, call.m, u);
        if (call.kind == GATHER || call.kind == GATHER_ALL)
            put_value(own, 0, u, 0);
        else if (call.kind == SCATTER)
            put_value(of_root, u, 0, u);
        else if (call.kind == EXCHANGE)
            for (size_t to = 0; to < n; to++)
                put_value(own, to, u, to);
    }
    if (call.kind == BROADCAST)
        put_value(of_root, 0, 0, 0);
}

static void results(void)
{
    size_t n = call.units;
    for (size_t u = 0; u < n; u++) {
        const char *own = unit_memory(dst, call.m, u);
        if (call.kind == BROADCAST || call.kind == SCATTER)
            look(own, 0, 0, u);
        else if (call.kind == GATHER)
            look(dst[root_node()][0], u, u, 0);
        else
            for (size_t from = 0; from < n; from++)
                look(own, from, from, u);
    }
}

static void move(void)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int m = 0; m < 2; m++) {
            call = (struct call){.m = m, .kind = kind, .flags = draw_flags(0)};
            call.units = m ? first[r.n] : (size_t) r.n;
            call.root = draw(first[r.n]);
            call.bytes = draw(3) ? 1 + draw(40) : 1 + draw(ROOM / UNITS_MAX);
            call.salt = (char) draw(100);
            gasnet_lists(m, call.flags);
            fill();
            gasnet_all(start);
            results();
        }
}

START_TEST(few_ranks)
{
    gasnet_few(move);
}
END_TEST

START_TEST(more_ranks_than_links)
{
    gasnet_many(move);
}
END_TEST

static void refused(enum wdl_gas_error wanted)
{
    enum wdl_gas_error error;
    struct wdl_sim_params sim = {.seed = 2, .ranks = 2, .am_bytes_max = 1024};
    gasnet_open(&sim, 1);
    for (int i = 0; i < 2; i++)
        start(i);
    for (int i = 0; i < 2; i++) {
        while (!wdl_gas_try_sync(handle[i], &error))
            ranks_step(&r);
        must_cmp(error, ==, wanted);
    }
    gasnet_close();
}

START_TEST(what_is_asked_wrongly)
{
    int sync = WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_MYSYNC;
    call = (struct call){.flags = sync | WDL_COLL_LOCAL, .bytes = 8};
    call.root = 2; /* there are two */
    for (call.kind = BROADCAST; call.kind <= GATHER; call.kind++)
        refused(WDL_GAS_ERR_ROOT);
    call.root = 0;
    call.bytes = 0;
    for (call.kind = BROADCAST; call.kind < KINDS; call.kind++)
        refused(WDL_GAS_ERR_SIZE);
    call.bytes = 8;
    for (call.kind = BROADCAST; call.kind < KINDS; call.kind++) {
        call.flags = sync;
        refused(WDL_GAS_ERR_ADDRESSES);
        call.flags = sync | WDL_COLL_LOCAL | WDL_COLL_SINGLE;
        refused(WDL_GAS_ERR_ADDRESSES);
        call.flags = WDL_COLL_LOCAL | WDL_COLL_IN_MYSYNC;
        refused(WDL_GAS_ERR_SYNC);
        call.flags = sync | WDL_COLL_LOCAL | 1 << 20;
        refused(WDL_GAS_ERR_FLAGS);
    }
}
END_TEST

WDL_SUITE("coll/gasnet_move", few_ranks, more_ranks_than_links, what_is_asked_wrongly)
