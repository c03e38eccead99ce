/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * SINGLE never moves an address: in every call and mode, with data long and short, in and out of
 * segments, on a node, in domains of one, between nodes, no packet and nothing that ranks show each
 * other has an address in any rank's memory. With LOCAL some do, or this test would see none.
 */
#include <string.h>
#include "mpid/coll/coll_impl.h"
#include "mpid/coll/gasnet_calls.h"
#include "support/must.h"
#include "support/suite.h"
#include "support/worlds.h"

enum { SHORT = 8, LONG = 304, LONGER = 3000 }; /* LONGER than a board, or a packet */
enum { BEHIND = 64 }; /* the clients' memory begins so far behind what is attached */

static enum gasnet_place place;
static int scope, is_open; /* counting */
static long on_boards, in_packets;

/* --- what is looked at ------------------------------------------------------------------------ */

static int is_in(uint64_t value, const char *memory)
{
    uint64_t at = (uint64_t) (uintptr_t) memory;
    return value >= at && value < at + ROOM - BEHIND;
}

static int is_address(uint64_t value)
{
    if (value < 1 << 16)
        return 0;
    for (int i = 0; i < r.n; i++)
        for (int k = 0; k < IMAGES_MAX; k++)
            if (is_in(value, src[i][k]) || is_in(value, dst[i][k]))
                return 1;
    return 0;
}

/* None lies across words: between them a number of a collective may look like part of one. */
static long addresses(const void *bytes, size_t count)
{
    const char *at = bytes;
    long found = 0;
    for (size_t i = 0; i + sizeof(uint64_t) <= count; i += sizeof(uint32_t)) {
        uint64_t value;
        memcpy(&value, at + i, sizeof(value));
        found += is_address(value);
    }
    return found;
}

static void look_at_boards(const char *at, size_t bytes)
{
    on_boards += addresses(at, bytes);
}

/* --- a network that looks --- */

static struct wdl_nm_ops looking;

static int am(struct wdl_nm *nm, int peer, const void *hdr, size_t hdr_bytes,
              const struct wdl_nm_iov *iov, int niov, struct wdl_nm_comp *comp)
{
    in_packets += is_open * addresses(hdr, hdr_bytes);
    for (int i = 0; i < niov; i++)
        in_packets += is_open * addresses(iov[i].base, iov[i].bytes);
    return wdl_nm_sim_ops.am(nm, peer, hdr, hdr_bytes, iov, niov, comp);
}

static int put(struct wdl_nm *nm, int peer, const void *from, size_t bytes, uint64_t remote,
               struct wdl_nm_rkey *rkey, struct wdl_nm_comp *comp)
{
    in_packets += is_open * addresses(from, bytes);
    return wdl_nm_sim_ops.put(nm, peer, from, bytes, remote, rkey, comp);
}

/* --- worlds ----------------------------------------------------------------------------------- */

static void settle(void)
{
    for (int k = 0; k < 60 * r.n; k++)
        (void) ranks_step(&r);
}

static void move_memory(ptrdiff_t by)
{
    for (int i = 0; i < r.n; i++)
        for (int k = 0; k < IMAGES_MAX; k++) {
            src[i][k] += by;
            dst[i][k] += by;
        }
}

static void open_world(int n, size_t images_each)
{
    struct wdl_sim_params sim = {.seed = (uint64_t) n,
                                 .ranks = n,
                                 .ordered = 1,
                                 .am_bytes_max = 1024,
                                 .no_map = 1};
    gasnet_open_place(&sim, images_each, place);
    looking = wdl_nm_sim_ops;
    looking.am = am;
    looking.put = put;
    for (int i = 0; i < n; i++) {
        r.one[i].proc->nm->ops = &looking;
        for (int k = 0; k < IMAGES_MAX; k++)
            must_cmp(wdl_coll_attach(r.one[i].proc, dst[i][k], ROOM), ==, WDL_OK);
    }
    move_memory(BEHIND);
    settle();
    on_boards = in_packets = 0;
    is_open = 1;
}

static void close_world(void)
{
    is_open = 0;
    move_memory(-BEHIND);
    for (int i = 0; i < r.n; i++)
        for (int k = 0; k < IMAGES_MAX; k++)
            while (wdl_coll_detach(r.one[i].proc, dst[i][k], ROOM) == WDL_AGAIN)
                ranks_step(&r);
    gasnet_close();
}

/* Two of a call as one aggregate, too. */
static const struct call *call;
static int twice;

static void begin(int i)
{
    if (twice) {
        with.flags |= WDL_GAS_AGGREGATE;
        call->start(i);
        must(!handle[i]);
        with.flags &= ~WDL_GAS_AGGREGATE;
    }
    call->start(i);
}

/* Where LOCAL shows where a block is: on a node, one that finds room nowhere else. */
static int must_show(void)
{
    return scope == WDL_COLL_LOCAL && place == AT_ONE_NODE && gasnet_is_move(call) && !twice &&
           with.nbytes == LONGER && r.n > 1;
}

static void look(void)
{
    long before = on_boards;
    gasnet_all(begin);
    settle();
    gasnet_look(look_at_boards);
    if (scope == WDL_COLL_SINGLE && (on_boards || in_packets))
        ck_abort_msg("%s flags %x, %zu bytes, %d ranks, place %d, twice %d: %ld on boards, %ld in "
                     "packets",
                     call->name, (unsigned) with.flags, with.nbytes, r.n, (int) place, twice,
                     on_boards, in_packets);
    if (must_show())
        must_cmp(on_boards, >, before);
}

/* Those that hold of a call's memory, whose addresses all know (test_gasnet_sync). */
static int segments(int k, size_t images_each)
{
    static const int in_segment[] = {0, WDL_GAS_DST_IN_SEGMENT,
                                     WDL_GAS_DST_IN_SEGMENT | WDL_GAS_SRC_IN_SEGMENT,
                                     WDL_GAS_SRC_IN_SEGMENT};
    int listed = call->m && images_each == 1, near = place == AT_ONE_NODE || place == AT_DOMAINS;
    int most = !gasnet_is_move(call) || scope == WDL_COLL_LOCAL ? 1
               : listed                                       ? (near ? 4 : 3)
               : call->shape == UP                            ? 2
                                                              : 1;
    return k < most ? in_segment[k] : -1;
}

static void modes(size_t images_each)
{
    static const size_t lengths[] = {SHORT, LONG, LONGER};
    static unsigned looked_at;
    for (int k = 0; k < 9; k++)
        for (int l = 0; l < 3; l++)
            for (int s = 0; s < 4; s++) {
                int in_segment = segments(s, images_each);
                if (in_segment < 0)
                    continue;
                with.flags = WDL_COLL_IN_NOSYNC << k / 3 | WDL_COLL_OUT_NOSYNC << k % 3 | scope |
                             in_segment;
                with.nbytes = lengths[l];
                with.root = (k + l) % r.n;
                if (!worlds_third(looked_at++))
                    continue;
                gasnet_calls_prepare(call);
                for (twice = 0; twice <= (call->shape != NOTHING); twice++)
                    look();
            }
}

/* Images: of each rank; 0: 1, 2, 3, 1, ... */
static void all_calls(enum gasnet_place where, int which)
{
    static const int sizes[] = {2, 5};
    place = where;
    scope = which;
    for (int k = 0; k < 2; k++)
        for (size_t images_each = 0; images_each < 3; images_each++) {
            open_world(sizes[k], images_each);
            for (int i = 0; i < gasnet_call_count; i++) {
                call = &gasnet_calls[i];
                if (!call->scope || call->scope == scope)
                    modes(images_each);
            }
            int near = place == AT_ONE_NODE || place == AT_DOMAINS || sizes[k] == 2;
            if (scope == WDL_COLL_LOCAL) /* put and get have some in packets */
                must(place != AT_MESSAGES && near ? on_boards > 0 : in_packets > 0);
            close_world();
        }
}

#define AT(PLACE, where)                        \
    START_TEST(single_moves_none_##where)       \
    {                                           \
        all_calls(PLACE, WDL_COLL_SINGLE);      \
    }                                           \
    END_TEST                                    \
                                                \
    START_TEST(local_moves_some_##where)        \
    {                                           \
        all_calls(PLACE, WDL_COLL_LOCAL);       \
    }                                           \
    END_TEST

AT(AT_MESSAGES, by_messages)
AT(AT_ONE_NODE, on_one_node)
AT(AT_DOMAINS, in_domains)
AT(AT_NODES, on_nodes)
AT(AT_LEVELS, in_levels)

/* --- calls that need no operation (gasnet_plain.c) -------------------------------------------- */

static void plain(enum wdl_coll_kind kind, int flags)
{
    static struct wdl_gas_going going[RANKS_MAX];
    int left = r.n, over[RANKS_MAX] = {0};
    for (int i = 0; i < r.n; i++) {
        struct wdl_gas_plain one = {.kind = kind,
                                    .flags = flags,
                                    .image = first[1],
                                    .src = src[i][0],
                                    .dst = dst[i][0],
                                    .bytes = LONGER};
        must_cmp(wdl_gas_plain(team[i], &one, 2, &going[i]), ==, WDL_AGAIN);
    }
    while (left > 0)
        for (int i = 0; i < r.n; i++)
            if (!over[i] && wdl_coll_express_look(going[i].lane) != WDL_AGAIN) {
                over[i] = 1;
                left--;
            }
}

/* Does it move what it should? Where the others' is is known by the own address alone. */
static void plain_kinds(int which)
{
    open_world(5, 1);
    for (enum wdl_coll_kind kind = WDL_COLL_BROADCAST; kind <= WDL_COLL_EXCHANGE; kind++) {
        for (int i = 0; i < r.n; i++) {
            memset(src[i][0], 1 + i, (size_t) r.n * LONGER);
            memset(dst[i][0], 0, (size_t) r.n * LONGER);
        }
        long before = on_boards;
        plain(kind, WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_MYSYNC | which);
        gasnet_look(look_at_boards);
        must_cmp(on_boards > before, ==, which == WDL_COLL_LOCAL);
        int down = kind == WDL_COLL_BROADCAST || kind == WDL_COLL_SCATTER;
        for (int i = 0; i < r.n; i++)
            for (int from = 0; from < r.n && (kind != WDL_COLL_GATHER || i == 1); from++)
                if (!down || from == 1)
                    must_cmp(dst[i][0][down ? 0 : from * LONGER], ==, 1 + from);
    }
    close_world();
}

START_TEST(nor_do_plain_calls)
{
    place = AT_ONE_NODE;
    plain_kinds(WDL_COLL_SINGLE);
}
END_TEST

START_TEST(plain_calls_show_what_is_local)
{
    place = AT_ONE_NODE;
    plain_kinds(WDL_COLL_LOCAL);
}
END_TEST

WDL_SUITE("coll/gasnet_single", single_moves_none_by_messages, local_moves_some_by_messages,
          single_moves_none_on_one_node, local_moves_some_on_one_node, single_moves_none_in_domains,
          local_moves_some_in_domains, single_moves_none_on_nodes, local_moves_some_on_nodes,
          single_moves_none_in_levels, local_moves_some_in_levels, nor_do_plain_calls,
          plain_calls_show_what_is_local)
