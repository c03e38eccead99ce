/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * SINGLE: a node whose addresses are not the others' is the program's mistake. In every call and
 * mode, with data short and long, by messages, on a node, in domains of one, on nodes: all handles
 * end, with MISMATCH wherever anything of it could be wrong, nothing is written where its owner has
 * not said so, and the team is as good as before. What the root alone uses, and where blocks' sizes
 * may differ any address, for there may be no block, is refused only where it is relied on: it may
 * be anything elsewhere, NULL too. Addresses that agree are no mistake,
 * whichever way each node comes.
 */
#include <string.h>
#include "mpid/coll/gasnet_ranks.h"
#include "support/must.h"
#include "support/suite.h"
#include "support/worlds.h"

enum { SHORT = 8, LONG = 304, LONGER = 3000 }; /* LONGER than a board, or a packet */
enum { OTHER = IMAGES_MAX - 1 }; /* an image nobody has */
enum { N = 4, SHIFT = 28000, STEPS_MAX = 2000000, BLANK = 0xdd, STRAY = 0xee };
enum kind {
    BROADCAST,
    SCATTER,
    GATHER,
    GATHER_ALL,
    EXCHANGE,
    PERMUTE,
    REDUCE,
    REDUCE_ALL,
    SCAN,
    KINDS
};
/* Twice, or with a call from another root, as an aggregate. */
enum way { BEGUN, TWICE, MIXED, WAITED, WAYS };

static enum gasnet_place place;
static enum kind kind;
static enum way way;
static enum form { PLAIN, LISTED, VARY, FORMS } form; /* VARY: blocks whose sizes may differ */
static int flags, root, who; /* who: r.n, nobody */
static int root_only; /* what differs: what the root alone uses, or all else */
static int is_null;
static size_t nbytes;

/* --- the calls -------------------------------------------------------------------------------- */

static int is_fold(void)
{
    return kind >= REDUCE;
}

static int is_rooted(void)
{
    return kind <= GATHER || kind == REDUCE;
}

static int is_down(void)
{
    return kind == BROADCAST || kind == SCATTER;
}

static size_t skew(int i)
{
    return i == who && !root_only ? SHIFT : 0;
}

static char *of_all(char *memory[][IMAGES_MAX], int i)
{
    return memory[i][0] + skew(i);
}

static char *of_root(char *memory[][IMAGES_MAX], int i)
{
    if (!root_only || i != who)
        return of_all(memory, i);
    return is_null ? NULL : memory[i][0] + SHIFT;
}

static void *lists[2][RANKS_MAX][UNITS_MAX];

static void lists_fill(int i)
{
    for (int node = 0; node < r.n; node++)
        for (size_t k = 0; k < images[node]; k++) {
            lists[0][i][first[node] + k] = src[node][k] + skew(i);
            lists[1][i][first[node] + k] = dst[node][k] + skew(i);
        }
}

static wdl_gas_handle vary_begin(int i, int f)
{
    static size_t sizes[RANKS_MAX][RANKS_MAX], come[RANKS_MAX][RANKS_MAX];
    for (int k = 0; k < r.n; k++)
        sizes[i][k] = come[i][k] = nbytes;
    switch (kind) {
    case SCATTER:
        return wdl_gas_scatterv_nb(team[i], of_all(dst, i), first[root], of_root(src, i), NULL,
                                   sizes[i], f);
    case GATHER:
        return wdl_gas_gatherv_nb(team[i], first[root], of_root(dst, i), NULL, of_all(src, i),
                                  sizes[i], f);
    case GATHER_ALL:
        return wdl_gas_gather_allv_nb(team[i], of_all(dst, i), NULL, of_all(src, i), sizes[i], f);
    default:
        return wdl_gas_exchangev_nb(team[i], of_all(dst, i), NULL, come[i], of_all(src, i), NULL,
                                    sizes[i], f);
    }
}

static wdl_gas_handle fold_begin(int i, int f)
{
    int m = form == LISTED;
    struct wdl_gas_array from = {of_all(src, i), 0, 0}, to = {of_all(dst, i), 0, 0};
    void **src_list = m ? lists[0][i] : NULL, **dst_list = m ? lists[1][i] : NULL;
    size_t words = nbytes / 4;
    f |= WDL_GAS_ELEMENTWISE;
    if (kind == SCAN)
        return wdl_gas_scanM_nb(team[i], dst_list, to, src_list, from, 4, words, SUM, SUM, f);
    if (kind == REDUCE_ALL)
        return wdl_gas_reduceM_nb(team[i], WDL_GAS_EVERYWHERE, to.base, src_list, from, 4, words,
                                  SUM, SUM, f);
    return wdl_gas_reduceM_nb(team[i], first[root], of_root(dst, i), src_list, from, 4, words, SUM,
                              SUM, f);
}

static wdl_gas_handle begin(int i, int f)
{
    static uint32_t perm[UNITS_MAX];
    int m = form == LISTED;
    size_t units = m ? first[r.n] : (size_t) r.n;
    void *from = of_all(src, i), *to = of_all(dst, i), **from_list = lists[0][i],
         **to_list = lists[1][i];
    if (form == VARY)
        return vary_begin(i, f);
    lists_fill(i);
    for (size_t u = 0; u < units; u++)
        perm[u] = (uint32_t) ((u + 1) % units);
    switch (kind) {
    case BROADCAST:
        from = of_root(src, i);
        return m ? wdl_gas_broadcastM_nb(team[i], to_list, first[root], from, nbytes, f)
                 : wdl_gas_broadcast_nb(team[i], to, first[root], from, nbytes, f);
    case SCATTER:
        from = of_root(src, i);
        return m ? wdl_gas_scatterM_nb(team[i], to_list, first[root], from, nbytes, f)
                 : wdl_gas_scatter_nb(team[i], to, first[root], from, nbytes, f);
    case GATHER:
        to = of_root(dst, i);
        return m ? wdl_gas_gatherM_nb(team[i], first[root], to, from_list, nbytes, f)
                 : wdl_gas_gather_nb(team[i], first[root], to, from, nbytes, f);
    case GATHER_ALL:
        return m ? wdl_gas_gather_allM_nb(team[i], to_list, from_list, nbytes, f)
                 : wdl_gas_gather_all_nb(team[i], to, from, nbytes, f);
    case EXCHANGE:
        return m ? wdl_gas_exchangeM_nb(team[i], to_list, from_list, nbytes, f)
                 : wdl_gas_exchange_nb(team[i], to, from, nbytes, f);
    case PERMUTE:
        return m ? wdl_gas_permuteM_nb(team[i], NULL, to_list, NULL, from_list, perm, nbytes, f)
                 : wdl_gas_permuteM_nb(team[i], to, NULL, from, NULL, perm, nbytes, f);
    default:
        return fold_begin(i, f);
    }
}

static enum wdl_gas_error error[RANKS_MAX];

static void fails(const char *what, int i)
{
    ck_abort_msg("%s on rank %d: kind %d, form %d, way %d, flags %x, %zu bytes, place %d, images "
                 "%zu, who %d, root %d, of the root only %d: error %d",
                 what, i, (int) kind, (int) form, (int) way, (unsigned) flags, nbytes, (int) place,
                 images[0], who, root, root_only, (int) error[i]);
}

/* --- ways ------------------------------------------------------------------------------------- */

static struct wdl_gas_going going[RANKS_MAX];
static int is_over[RANKS_MAX];

/* As a blocking call begins; 0: not for this one. */
static int begin_plain(int i)
{
    static const enum wdl_coll_kind of[] = {
        WDL_COLL_BROADCAST, WDL_COLL_SCATTER,   WDL_COLL_GATHER, WDL_COLL_GATHER_ALL,
        WDL_COLL_EXCHANGE,  WDL_COLL_KIND_COUNT, WDL_COLL_REDUCE, WDL_COLL_ALLREDUCE,
        WDL_COLL_SCAN};
    if (way != WAITED || form != PLAIN || kind == PERMUTE || draw(3) == 0)
        return 0;
    struct wdl_gas_plain one = {.kind = of[kind],
                                .flags = flags | (is_fold() ? WDL_GAS_ELEMENTWISE : 0),
                                .image = first[root],
                                .src = is_down() ? of_root(src, i) : of_all(src, i),
                                .dst = is_rooted() && !is_down() ? of_root(dst, i) : of_all(dst, i),
                                .bytes = nbytes,
                                .elem_bytes = 4,
                                .func = SUM,
                                .arg = SUM};
    int status = wdl_gas_plain(team[i], &one, 2, &going[i]);
    is_over[i] = status == WDL_OK;
    return status == WDL_OK || status == WDL_AGAIN;
}

static void start(int i)
{
    is_over[i] = 0;
    error[i] = WDL_GAS_FINE;
    handle[i] = NULL;
    going[i].lane = NULL;
    if (begin_plain(i))
        return;
    if (way == TWICE)
        must(!begin(i, flags | WDL_GAS_AGGREGATE));
    if (way == MIXED) /* from another root, in memory of its own */
        must(!wdl_gas_broadcast_nb(team[i], dst[i][OTHER], first[(root + 1) % r.n], src[i][OTHER],
                                   SHORT, flags | WDL_GAS_AGGREGATE));
    handle[i] = begin(i, flags);
}

static void look(int i)
{
    int status = going[i].lane ? wdl_coll_express_look(going[i].lane) : WDL_AGAIN;
    if (handle[i])
        is_over[i] = wdl_gas_try_sync(handle[i], &error[i]);
    else if (status != WDL_AGAIN) {
        is_over[i] = 1;
        error[i] = wdl_gas_error_of(status);
    }
}

static void run(void)
{
    int left = r.n;
    for (int k = 0, at = (int) draw((size_t) r.n); k < r.n; k++) {
        start((at + k) % r.n);
        for (size_t steps = draw(8); steps > 0; steps--)
            ranks_step(&r);
    }
    for (long steps = 0; left > 0; steps++) {
        if (steps == STEPS_MAX)
            fails("no end", 0);
        ranks_doubt(&r, ranks_step(&r));
        left = 0;
        for (int i = 0; i < r.n; i++) {
            if (!is_over[i])
                look(i);
            left += !is_over[i];
        }
    }
}

/* --- what is where ---------------------------------------------------------------------------- */

static void fill(void)
{
    for (int i = 0; i < r.n; i++)
        for (size_t k = 0; k < images[i]; k++) {
            size_t bytes = first[r.n] * nbytes;
            memset(src[i][k], STRAY, ROOM);
            memset(dst[i][k], BLANK, ROOM);
            memset(src[i][k] + skew(i), 1 + i, bytes);
        }
}

static int has_only(const char *at, size_t bytes, int value)
{
    for (size_t k = 0; k < bytes; k++)
        if ((unsigned char) at[k] != value)
            return 0;
    return 1;
}

/* Of no other memory than what its owner has said. */
static int is_untouched(int i)
{
    size_t bytes = first[r.n] * nbytes, end = skew(i) + bytes;
    for (size_t k = 0; k < images[i]; k++)
        if (!has_only(dst[i][k], skew(i), BLANK) ||
            !has_only(dst[i][k] + end, ROOM - end, BLANK) ||
            !has_only(src[i][k], skew(i), STRAY) || !has_only(src[i][k] + skew(i), bytes, 1 + i) ||
            !has_only(src[i][k] + end, ROOM - end, STRAY))
            return 0;
    return 1;
}

/* Does what `from` has go to rank `to`? */
static int goes(int from, int to)
{
    return is_down()                                 ? from == root
           : is_rooted()                              ? to == root
           : kind == SCAN                             ? from <= to
           : kind == PERMUTE && (form == PLAIN || images[0] == 1) ? to == (from + 1) % r.n
                                                      : 1;
}

/* All that should be there, with one image a node. */
static int is_right(int i)
{
    const char *to = dst[i][0] + skew(i);
    int sum = 0, right = 1;
    for (int from = 0; from < r.n; from++) {
        int side = kind == GATHER || kind == GATHER_ALL || kind == EXCHANGE;
        if (!goes(from, i))
            continue;
        sum += 1 + from;
        right &= is_fold() || has_only(to + (side ? (size_t) from * nbytes : 0), nbytes, 1 + from);
    }
    return right && (!is_fold() || sum == 0 || has_only(to, nbytes, sum));
}

/* --- what is wanted --------------------------------------------------------------------------- */

/* Data may move before its owner can have said where. */
static int is_ahead(void)
{
    return (flags & WDL_COLL_IN_NOSYNC) &&
           (flags & (WDL_GAS_DST_IN_SEGMENT | WDL_GAS_SRC_IN_SEGMENT));
}

/* It may be fetched so: who fetches compares nothing, and where nobody waits for anybody, nobody
 * does. */
static int is_fetched_ahead(void)
{
    return is_ahead() && (flags & WDL_GAS_SRC_IN_SEGMENT) &&
           (place == AT_ONE_NODE || place == AT_DOMAINS);
}

static void check(int wants_one)
{
    int seen = 0;
    for (int i = 0; i < r.n; i++) {
        seen += error[i] == WDL_GAS_ERR_MISMATCH;
        if (error[i] != WDL_GAS_FINE && error[i] != WDL_GAS_ERR_MISMATCH)
            fails("another error", i);
        if (who == r.n && error[i] != WDL_GAS_FINE)
            fails("an error", i);
        if (!(who < r.n && is_ahead()) && !is_untouched(i))
            fails("something is written that nobody named", i);
        if (error[i] == WDL_GAS_FINE && images[0] == 1 && !is_fetched_ahead() && !is_right(i))
            fails("wrong data, and no error,", i);
    }
    if (wants_one && seen == 0)
        fails("no error", who);
}

/* One after the other, with which the team must be as good as before. */
static void one(void)
{
    int other = who;
    fill();
    run();
    check(root_only ? place == AT_ONE_NODE && is_down() && nbytes == LONGER &&
                          (way == BEGUN || way == WAITED)
                    : who < r.n && form != VARY &&
                          !(is_fetched_ahead() && (flags & WDL_COLL_OUT_NOSYNC)));
    who = r.n;
    fill();
    run();
    check(0);
    who = other;
}

/* --- worlds ----------------------------------------------------------------------------------- */

static void open_world(size_t images_each)
{
    static uint64_t seed;
    struct wdl_sim_params sim = {.seed = ++seed,
                                 .ranks = N,
                                 .ordered = 1,
                                 .pending_permille = 300,
                                 .am_bytes_max = 1024,
                                 .no_map = 1};
    gasnet_open_place(&sim, images_each, place);
    for (int i = 0; i < r.n; i++)
        for (size_t k = 0; k < images[i]; k++)
            must_cmp(wdl_coll_attach(r.one[i].proc, dst[i][k], ROOM), ==, WDL_OK);
}

static void close_world(void)
{
    for (int i = 0; i < r.n; i++)
        for (size_t k = 0; k < images[i]; k++)
            while (wdl_coll_detach(r.one[i].proc, dst[i][k], ROOM) == WDL_AGAIN)
                ranks_step(&r);
    gasnet_close();
}

static void modes(void (*of_mode)(void))
{
    static const size_t lengths[] = {SHORT, LONG, LONGER};
    static unsigned modes_seen;
    for (int k = 0; k < 9; k++)
        for (int l = 0; l < 3; l++)
            for (int w = BEGUN; w < WAYS; w++) {
                way = (enum way) w;
                flags = WDL_COLL_IN_NOSYNC << k / 3 | WDL_COLL_OUT_NOSYNC << k % 3 |
                        WDL_COLL_SINGLE;
                nbytes = lengths[l];
                root = (k + l) % r.n;
                int together = way == TWICE || way == MIXED;
                if ((way != WAITED || form == PLAIN) && !(together && is_fold()) &&
                    worlds_third(modes_seen++))
                    of_mode();
            }
}

static void in_place(enum gasnet_place where, void (*of_mode)(void))
{
    place = where;
    for (size_t images_each = 1; images_each < 3; images_each++) {
        open_world(images_each);
        for (int k = BROADCAST; k < KINDS; k++)
            for (int l = PLAIN; l < FORMS; l++) {
                kind = (enum kind) k;
                form = (enum form) l;
                if (form != VARY || (kind >= SCATTER && kind <= EXCHANGE))
                    modes(of_mode);
            }
        close_world();
    }
}

/* --- the tests -------------------------------------------------------------------------------- */

/* Into segments, too; and each node in turn, the root and others. */
static void differs(void)
{
    static int turn;
    static const int in_segment[] = {0, WDL_GAS_DST_IN_SEGMENT,
                                     WDL_GAS_DST_IN_SEGMENT | WDL_GAS_SRC_IN_SEGMENT};
    int plain = flags;
    root_only = is_null = 0;
    for (int k = 0; k < (way == BEGUN && kind <= EXCHANGE && form != VARY ? 3 : 1); k++) {
        flags = plain | in_segment[k];
        who = turn++ % r.n;
        one();
    }
}

static void differs_off_root(void)
{
    if (!is_rooted())
        return;
    root_only = 1;
    who = (root + 1) % r.n;
    for (is_null = 0; is_null < 2; is_null++) {
        one();
        for (int i = 0; i < r.n && (nbytes == SHORT || place == AT_MESSAGES); i++)
            if (error[i])
                fails("what is not used there is refused", i);
    }
    root_only = is_null = 0;
}

#define AT(PLACE, where)                            \
    START_TEST(addresses_that_differ_##where)       \
    {                                               \
        in_place(PLACE, differs);                   \
    }                                               \
    END_TEST                                        \
                                                    \
    START_TEST(what_the_root_alone_uses_##where)    \
    {                                               \
        in_place(PLACE, differs_off_root);          \
    }                                               \
    END_TEST

AT(AT_MESSAGES, by_messages)
AT(AT_ONE_NODE, on_one_node)
AT(AT_DOMAINS, in_domains)
AT(AT_NODES, on_nodes)
AT(AT_LEVELS, in_levels)

WDL_SUITE("coll/gasnet_alike", addresses_that_differ_by_messages,
          what_the_root_alone_uses_by_messages, addresses_that_differ_on_one_node,
          what_the_root_alone_uses_on_one_node, addresses_that_differ_in_domains,
          what_the_root_alone_uses_in_domains, addresses_that_differ_on_nodes,
          what_the_root_alone_uses_on_nodes, addresses_that_differ_in_levels,
          what_the_root_alone_uses_in_levels)
