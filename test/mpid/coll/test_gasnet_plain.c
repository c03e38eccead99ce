/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * GASNet's plain calls: every kind, mode and length, some nodes by their short way and some by an
 * operation; that it takes no message; what it is not for.
 */
#include <string.h>
#include "mpid/coll/gasnet_impl.h"
#include "mpid/coll/gasnet_ranks.h"
#include "support/must.h"
#include "support/suite.h"

enum { BOARD = 256, LONG = 5000, ROUNDS = 600, NOTHING = 12345 };

static const enum wdl_coll_kind kinds[] = {WDL_COLL_BROADCAST,  WDL_COLL_SCATTER,
                                           WDL_COLL_GATHER,     WDL_COLL_GATHER_ALL,
                                           WDL_COLL_EXCHANGE,   WDL_COLL_REDUCE,
                                           WDL_COLL_ALLREDUCE,  WDL_COLL_SCAN};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static struct wdl_gas_plain call; /* of all, but for their memory */
static struct wdl_gas_going going[RANKS_MAX];
static int root;

static struct wdl_gas_plain mine(int i)
{
    struct wdl_gas_plain own = call;
    own.src = src[i][0];
    own.dst = dst[i][0];
    return own;
}

static wdl_gas_handle begin(int i)
{
    struct wdl_gas_plain c = mine(i);
    struct wdl_gas_array s = {src[i][0], 0, 0}, d = {dst[i][0], 0, 0};
    size_t n = c.elem_bytes ? c.bytes / c.elem_bytes : 0;
    size_t image = c.kind == WDL_COLL_ALLREDUCE ? WDL_GAS_EVERYWHERE : c.image;
    switch (c.kind) {
    case WDL_COLL_BROADCAST:
        return wdl_gas_broadcast_nb(team[i], c.dst, image, c.src, c.bytes, c.flags);
    case WDL_COLL_SCATTER:
        return wdl_gas_scatter_nb(team[i], c.dst, image, c.src, c.bytes, c.flags);
    case WDL_COLL_GATHER:
        return wdl_gas_gather_nb(team[i], image, c.dst, c.src, c.bytes, c.flags);
    case WDL_COLL_GATHER_ALL:
        return wdl_gas_gather_all_nb(team[i], c.dst, c.src, c.bytes, c.flags);
    case WDL_COLL_EXCHANGE:
        return wdl_gas_exchange_nb(team[i], c.dst, c.src, c.bytes, c.flags);
    case WDL_COLL_SCAN:
        return wdl_gas_scanM_nb(team[i], NULL, d, NULL, s, 4, n, c.func, c.arg, c.flags);
    default:
        return wdl_gas_reduceM_nb(team[i], image, c.dst, NULL, s, 4, n, c.func, c.arg, c.flags);
    }
}

static uint32_t *word(char *memory[][IMAGES_MAX], int i, size_t k)
{
    return (uint32_t *) (void *) memory[i][0] + k;
}

/* Word k of what node i gets. */
static uint32_t wanted(int i, size_t k)
{
    size_t n = call.bytes / 4, block = k / n, in = k % n, own = (size_t) i * n;
    int to_root = call.kind == WDL_COLL_GATHER || call.kind == WDL_COLL_REDUCE;
    int each = call.kind == WDL_COLL_SCATTER || call.kind == WDL_COLL_EXCHANGE;
    int blocks = call.kind == WDL_COLL_EXCHANGE || call.kind == WDL_COLL_GATHER ||
                 call.kind == WDL_COLL_GATHER_ALL;
    if ((to_root && i != root) || (!blocks && block > 0))
        return NOTHING;
    if (!wdl_coll_reduces(call.kind))
        return *word(src, blocks ? (int) block : root, (each ? own : 0) + in);
    int some = call.flags & WDL_COLL_EXCLUSIVE ? i : i + 1;
    int last = call.kind == WDL_COLL_SCAN ? some : r.n;
    uint32_t sum = last ? *word(src, 0, in) : NOTHING;
    for (int other = 1; other < last; other++)
        sum = gasnet_apply((int) call.func, sum, *word(src, other, in));
    return sum;
}

static int is_over(int i)
{
    enum wdl_gas_error error = WDL_GAS_FINE;
    int over;
    if (handle[i]) {
        over = wdl_gas_try_sync(handle[i], &error);
    } else {
        int status = wdl_coll_express_look(going[i].lane);
        over = status != WDL_AGAIN;
        error = over ? wdl_gas_error_of(status) : WDL_GAS_FINE;
    }
    must_cmp(error, ==, WDL_GAS_FINE);
    return over;
}

static int plain, lanes, refused; /* of all ranks of all calls */

/* 0: it has begun; 1: it is over. */
static int come(int i)
{
    handle[i] = NULL;
    if (draw(3)) {
        struct wdl_gas_plain own = mine(i);
        int status = wdl_gas_plain(team[i], &own, 60, &going[i]);
        plain += status == WDL_OK;
        lanes += status == WDL_AGAIN;
        refused += status == WDL_ERR_OP;
        if (status != WDL_ERR_OP)
            return status == WDL_OK;
    }
    handle[i] = begin(i);
    return 0;
}

static void all(void)
{
    int state[RANKS_MAX] = {0}, left = r.n; /* 0: not begun, 1: under way, 2: over */
    for (int i = 0; i < r.n; i++)
        for (size_t k = 0; k < call.bytes / 4 * (size_t) r.n; k++) {
            *word(src, i, k) = (uint32_t) draw(1u << 30) * 4 + 1;
            *word(dst, i, k) = NOTHING;
        }
    uint64_t sent = wdl_sim_counts(r.sim)->sent;
    while (left > 0) {
        int i = (int) draw((size_t) r.n), before = state[i];
        wdl_proc_progress(r.one[i].proc);
        if (before == 0)
            state[i] = come(i) ? 2 : 1;
        else if (before == 1 && is_over(i))
            state[i] = 2;
        left -= state[i] == 2 && before != 2;
    }
    must_cmp(wdl_sim_counts(r.sim)->sent, ==, sent);
    for (int i = 0; i < r.n; i++)
        for (size_t k = 0; k < call.bytes / 4 * (size_t) r.n; k++)
            must_cmp(*word(dst, i, k), ==, wanted(i, k));
}

static void drawn(void)
{
    static const size_t lengths[] = {4, 100, BOARD, BOARD + 4, LONG};
    call = (struct wdl_gas_plain){.kind = kinds[draw(KINDS)], .flags = draw_flags(0)};
    call.bytes = lengths[draw(5)];
    call.image = draw(first[r.n]);
    root = 0;
    while (first[root + 1] <= call.image)
        root++;
    if (wdl_coll_reduces(call.kind)) {
        call.elem_bytes = 4;
        call.func = draw(2) ? COMPOSE : SUM;
        call.arg = (int) call.func; /* as gasnet_ranks has it */
        call.flags |= WDL_GAS_ELEMENTWISE;
        call.flags |= call.kind == WDL_COLL_SCAN && draw(2) ? WDL_COLL_EXCLUSIVE : 0;
    }
}

static void open_node(uint64_t seed, int n)
{
    struct wdl_sim_params sim = {
        .seed = seed, .ranks = n, .ordered = seed % 2 != 0, .am_bytes_max = 1024};
    gasnet_open_nodes(&sim, seed % 3, RANKS_MAX);
    for (long k = 0; k < 2000 || !wdl_sim_quiescent(r.sim); k++)
        ranks_step(&r); /* the team is open */
}

START_TEST(nodes_come_by_either_way)
{
    for (int n = 2; n <= 5; n++) {
        open_node((uint64_t) n, n);
        for (int round = 0; round < ROUNDS; round++) {
            drawn();
            all();
        }
        gasnet_close();
    }
    must_cmp(plain, >, ROUNDS);
    must_cmp(lanes, >, ROUNDS);
    must_cmp(refused, >, ROUNDS); /* long folds, long ones with OUT_NOSYNC */
}
END_TEST

static int status_of(void)
{
    struct wdl_gas_plain own = mine(0);
    return wdl_gas_plain(team[0], &own, 60, &going[0]);
}

#define refuses(...)                         \
    do {                                     \
        call = good;                         \
        __VA_ARGS__;                         \
        must_cmp(status_of(), ==, WDL_ERR_OP); \
    } while (0)

/* Nothing has happened: all can make the right call. */
START_TEST(what_it_is_not_for)
{
    int my = WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_MYSYNC, flags = my | WDL_COLL_LOCAL;
    open_node(1, 3);
    struct wdl_gas_plain good = {.kind = WDL_COLL_BROADCAST, .flags = flags, .bytes = 8};
    root = 0;
    refuses(call.flags = my);
    refuses(call.flags = my | WDL_COLL_LOCAL | WDL_COLL_SINGLE);
    refuses(call.flags = WDL_COLL_IN_MYSYNC | WDL_COLL_LOCAL);
    refuses(call.flags |= WDL_COLL_IN_ALLSYNC);
    refuses(call.flags |= WDL_GAS_SRC_IN_SEGMENT);
    refuses(call.flags |= WDL_GAS_DST_IN_SEGMENT);
    refuses(call.flags |= WDL_GAS_AGGREGATE);
    refuses(call.flags |= WDL_GAS_ELEMENTWISE);
    refuses(call.flags |= WDL_COLL_EXCLUSIVE);
    refuses(call.flags |= 1 << 25);
    refuses(call.bytes = 0);
    refuses(call.image = first[r.n]);
    int no = WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_NOSYNC | WDL_COLL_LOCAL;
    refuses(call.bytes = LONG, call.flags = no);
    call = good;
    all();
    good = (struct wdl_gas_plain){.kind = WDL_COLL_REDUCE,
                                  .flags = flags | WDL_GAS_ELEMENTWISE,
                                  .bytes = 8,
                                  .elem_bytes = 4,
                                  .func = SUM,
                                  .arg = SUM};
    refuses(call.flags = flags);
    refuses(call.func = ALL_FNS);
    refuses(call.func = SERIAL);
    refuses(call.elem_bytes = 0);
    refuses(call.elem_bytes = call.bytes = sizeof(going[0].results) + 4);
    refuses(call.bytes = LONG);
    src[0][0]++; /* misaligned */
    refuses((void) 0);
    src[0][0]--;
    dst[0][0]++;
    refuses((void) 0);
    dst[0][0]--;
    call = good;
    all();
    gasnet_close();
}
END_TEST

/* A member of an aggregate begins with its last one: nothing goes past it. */
START_TEST(an_aggregate_is_open)
{
    int flags = WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_MYSYNC | WDL_COLL_LOCAL;
    open_node(1, 2);
    call = (struct wdl_gas_plain){.kind = WDL_COLL_GATHER_ALL, .flags = flags, .bytes = 8};
    call.flags |= WDL_GAS_AGGREGATE;
    for (int i = 0; i < r.n; i++)
        must(begin(i) == NULL);
    call.flags = flags;
    must_cmp(status_of(), ==, WDL_ERR_OP);
    for (int i = 0; i < r.n; i++)
        handle[i] = begin(i);
    gasnet_finish();
    gasnet_close();
}
END_TEST

WDL_SUITE("coll/gasnet_plain", nodes_come_by_either_way, what_it_is_not_for, an_aggregate_is_open)
