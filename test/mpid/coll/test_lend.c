/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Memory that is lent: asked for once, called back when it goes, in whatever order messages come;
 * what there is not; what bytes from the wire must satisfy.
 */
#include "mpid/coll/lend.h"
#include <string.h>
#include "mpid/coll/ranks.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS = 2, BYTES = 5000 };

static struct ranks r;
static char memory[2 * BYTES];

static struct wdl_coll *coll_of(int i)
{
    return r.one[i].proc->coll;
}

static void settle(void)
{
    for (int k = 0; k < 200; k++)
        (void) ranks_step(&r);
}

static void open_world(struct wdl_sim_params sim)
{
    sim.seed = 11;
    sim.ranks = RANKS;
    sim.am_bytes_max = 1024;
    ranks_open(&r, &sim);
}

static void close_world(void)
{
    settle();
    ranks_close(&r);
}

static struct wdl_stretch wanted(size_t at, size_t bytes)
{
    return (struct wdl_stretch){(uint64_t) (uintptr_t) (memory + at), bytes};
}

/* Rank 0 looks for memory of rank 1's; the region, or -1 and what was answered. */
static int found, answer;

static int find_like(size_t at, size_t bytes, const char *like)
{
    struct wdl_stretch want = wanted(at, bytes);
    struct wdl_offer offer = {0};
    answer = wdl_lend_find(coll_of(0), 1, &want, like, &offer);
    if (answer == WDL_OK)
        must_cmp(wdl_key_find(coll_of(0), 1, (uint32_t) offer.region)->base + offer.at, ==,
                 want.address);
    return answer == WDL_OK ? (int) offer.region : -1;
}

static int find(size_t at, size_t bytes)
{
    return find_like(at, bytes, NULL);
}

/* Rank 1 has answered, too: what it says to no question is malformed. */
static void other_answers(void)
{
    settle();
    must_cmp(r.one[0].proc->stats.malformed, ==, 1);
    r.one[0].proc->stats.malformed = 0;
}

static uint64_t sent(void)
{
    return wdl_sim_counts(r.sim)->sent;
}

START_TEST(asked_for_once)
{
    open_world((struct wdl_sim_params){.no_map = 1});
    must_cmp(wdl_coll_attach(r.one[1].proc, memory, BYTES), ==, WDL_OK);
    uint64_t before = sent();
    must_cmp(find(0, 100), ==, -1);
    must_cmp(answer, ==, WDL_PENDING);
    must_cmp(find(200, 100), ==, -1); /* one question at a time */
    settle();
    must_cmp(sent() - before, ==, 2);
    found = find(0, BYTES);
    must_cmp(found, >, 0);
    must_cmp(find(BYTES - 1, 1), ==, found);
    must_cmp(sent() - before, ==, 2);
    must_cmp(find(1, BYTES), ==, -1); /* no region has all of that */
    settle();
    must_cmp(find(1, BYTES), ==, -1);
    must_cmp(answer, ==, WDL_PENDING); /* it may have come since */
    close_world();
}
END_TEST

enum { PIECE = 1000, PIECES = 4 };

/* Of several the one attached last comes first; each once, until it is the one. Those that are too
 * short never. */
START_TEST(one_region_after_the_other)
{
    open_world((struct wdl_sim_params){.no_map = 1});
    for (int k = 0; k < PIECES; k++)
        must_cmp(wdl_coll_attach(r.one[1].proc, memory + k * PIECE, k == 3 ? 10 : PIECE), ==,
                 WDL_OK);
    uint64_t before = sent();
    for (int k = 0; k < 3; k++) {
        must_cmp(find(100, 100), ==, -1);
        settle();
        must_cmp(sent() - before, ==, 2 * (k + 1));
        must_cmp(find((size_t) (2 - k) * PIECE, PIECE), >, 0);
    }
    must_cmp(find(4 * PIECE, 100), ==, -1); /* no region */
    settle();
    must_cmp(sent() - before, ==, 2 * 4);
    must_cmp(find(3 * PIECE, 10), ==, -1);
    settle();
    must_cmp(find(3 * PIECE, 10), >, 0);
    close_world();
}
END_TEST

/* Who has attached as many asks for the right one, and no other is lent. */
START_TEST(the_region_that_was_attached_alike)
{
    static char own[PIECES][PIECE];
    for (int k = 0; k < PIECES; k++) {
        open_world((struct wdl_sim_params){.no_map = 1});
        for (int i = 0; i < PIECES; i++) {
            must_cmp(wdl_coll_attach(r.one[1].proc, memory + i * PIECE, PIECE), ==, WDL_OK);
            must_cmp(wdl_coll_attach(r.one[0].proc, own[i], PIECE), ==, WDL_OK);
        }
        uint64_t before = sent();
        must_cmp(find_like((size_t) k * PIECE, 100, own[k]), ==, -1);
        settle();
        must_cmp(find((size_t) k * PIECE, PIECE), >, 0);
        must_cmp(sent() - before, ==, 2);
        for (int i = 0; i < PIECES; i++) /* the others need not come back */
            must_cmp(wdl_coll_detach(r.one[1].proc, memory + i * PIECE, PIECE), ==,
                     i == k ? WDL_AGAIN : WDL_OK);
        while (wdl_coll_detach(r.one[1].proc, memory + k * PIECE, PIECE) == WDL_AGAIN)
            ranks_step(&r);
        close_world();
    }
}
END_TEST

START_TEST(a_network_that_only_sends_is_not_asked)
{
    open_world((struct wdl_sim_params){.no_rma = 1});
    must_cmp(wdl_coll_attach(r.one[1].proc, memory, BYTES), ==, WDL_OK);
    must_cmp(find(0, 100), ==, -1);
    must_cmp(answer, ==, WDL_ERR_UNSUPPORTED);
    must_cmp(sent(), ==, 0);
    close_world();
}
END_TEST

static void step_one(int i)
{
    for (int k = 0; k < 50; k++) {
        wdl_proc_progress(r.one[i].proc);
        wdl_sim_advance(r.sim, 1000);
    }
}

/* It does not go before it is back; what is there next is another one. */
START_TEST(a_region_goes_when_it_is_back)
{
    for (int ordered = 0; ordered < 2; ordered++) {
        open_world((struct wdl_sim_params){.ordered = ordered, .delay_ns_max = 3000});
        struct wdl_proc *owner = r.one[1].proc;
        must_cmp(wdl_coll_attach(owner, memory, BYTES), ==, WDL_OK);
        (void) find(0, BYTES);
        settle();
        found = find(0, BYTES);
        must_cmp(found, >, 0);
        for (int k = 0; k < 20; k++) { /* rank 0 does not look */
            must_cmp(wdl_coll_detach(owner, memory, BYTES), ==, WDL_AGAIN);
            step_one(1);
        }
        must_cmp(find(0, BYTES), ==, found);
        step_one(0);
        step_one(1);
        must_cmp(wdl_coll_detach(owner, memory, BYTES), ==, WDL_OK);
        must_cmp(wdl_coll_attach(owner, memory, BYTES), ==, WDL_OK);
        must_cmp(find(0, BYTES), ==, -1);
        settle();
        must_cmp(find(0, BYTES), >, found);
        while (wdl_coll_detach(owner, memory, BYTES) == WDL_AGAIN)
            ranks_step(&r);
        close_world();
    }
}
END_TEST

/* What is lent while it is being called back: nothing. Nor is an address asked for. */
START_TEST(a_region_that_goes_is_not_lent)
{
    open_world((struct wdl_sim_params){.delay_ns_max = 3000});
    must_cmp(wdl_coll_attach(r.one[1].proc, memory, BYTES), ==, WDL_OK);
    (void) find(0, BYTES);
    settle();
    must_cmp(wdl_coll_detach(r.one[1].proc, memory, BYTES), ==, WDL_AGAIN);
    struct wdl_coll_pkt pkt = {.what = WDL_PKT_BORROW, .offset = wanted(0, 0).address};
    uint64_t bytes = 100, before = sent();
    must_cmp(wdl_lend_asked(coll_of(1), 0, &pkt, &bytes, sizeof(bytes)), ==, WDL_ERR_PROTO);
    must_cmp(sent(), ==, before);
    must_cmp(find(1, BYTES), ==, -1); /* no region that it has would do */
    must_cmp(answer, ==, WDL_PENDING);
    settle();
    must_cmp(find(1, BYTES), ==, -1);
    settle();
    while (wdl_coll_detach(r.one[1].proc, memory, BYTES) == WDL_AGAIN)
        ranks_step(&r);
    close_world();
}
END_TEST

/* FORGET overtakes the loan: that is sent back, and not used. */
START_TEST(called_back_before_it_has_come)
{
    struct {
        struct wdl_coll_pkt pkt;
        struct wdl_key_text text;
        char key[16];
    } lent = {{.what = WDL_PKT_LENT | 7 << WDL_PKT_BITS}, {BYTES}, "nonsense"};
    open_world((struct wdl_sim_params){.no_map = 1});
    struct wdl_coll *coll = coll_of(0);
    struct wdl_coll_pkt forget = {.what = WDL_PKT_FORGET | 7 << WDL_PKT_BITS, .offset = 1};
    lent.pkt.offset = wanted(0, 0).address;
    must_cmp(wdl_direct_forget(coll, 1, &forget), ==, WDL_ERR_PROTO); /* nobody asked */
    (void) find(0, BYTES);
    must_cmp(wdl_direct_forget(coll, 1, &forget), ==, WDL_OK);
    uint64_t before = sent();
    must_cmp(wdl_coll_handle(coll, 1, &lent, sizeof(lent)), ==, WDL_OK);
    must_cmp(sent() - before, ==, 1);
    must(!wdl_key_find(coll, 1, 7));
    must_cmp(find(0, BYTES), ==, -1);
    must_cmp(answer, ==, WDL_PENDING); /* anew */
    other_answers();
    r.one[1].proc->stats.malformed = 0; /* what it has not lent has come back */
    close_world();
}
END_TEST

/* A key that has been told is the same when it is lent, in any order. */
START_TEST(told_and_lent)
{
    struct {
        struct wdl_coll_pkt pkt;
        struct wdl_key_text text;
        char key[16];
    } key = {{.offset = wanted(0, 0).address}, {BYTES}, "nonsense"};
    for (int first = 0; first < 2; first++) {
        open_world((struct wdl_sim_params){.no_map = 1});
        struct wdl_coll *coll = coll_of(0);
        (void) find(0, BYTES);
        for (int k = 0; k < 2; k++) {
            int told = k == first;
            key.pkt.what = (uint32_t) (told ? WDL_PKT_KEY : WDL_PKT_LENT) | 7 << WDL_PKT_BITS;
            must_cmp(wdl_coll_handle(coll, 1, &key, sizeof(key)), ==, WDL_OK);
        }
        must_cmp(wdl_key_find(coll, 1, 7)->lent, ==, 1);
        key.pkt.what = WDL_PKT_LENT | 7 << WDL_PKT_BITS;
        must_cmp(wdl_coll_handle(coll, 1, &key, sizeof(key)), ==, WDL_ERR_PROTO);
        must_cmp(find(0, BYTES), ==, -1); /* it cannot be used */
        must_cmp(answer, ==, WDL_ERR_UNSUPPORTED);
        other_answers();
        close_world();
    }
}
END_TEST

START_TEST(packets_are_checked)
{
    uint64_t bytes = 100;
    open_world((struct wdl_sim_params){.no_map = 1});
    struct wdl_coll *coll = coll_of(0);
    struct wdl_coll_pkt pkt = {.what = WDL_PKT_BORROW};
    for (size_t n = 0; n < sizeof(bytes); n++)
        must_cmp(wdl_lend_asked(coll, 1, &pkt, &bytes, n), ==, WDL_ERR_PROTO);
    pkt.what = WDL_PKT_LENT | 3 << WDL_PKT_BITS;
    must_cmp(wdl_lend_answered(coll, 1, &pkt, &bytes, sizeof(bytes)), ==, WDL_ERR_PROTO);
    (void) find(0, BYTES);
    must_cmp(wdl_lend_answered(coll, 1, &pkt, &bytes, sizeof(bytes)), ==, WDL_ERR_PROTO);
    pkt.what = WDL_PKT_RETURN | 3 << WDL_PKT_BITS;
    must_cmp(wdl_lend_returned(coll, 1, &pkt), ==, WDL_ERR_PROTO);
    close_world();
}
END_TEST

WDL_SUITE("coll/lend", asked_for_once, one_region_after_the_other,
          the_region_that_was_attached_alike, a_network_that_only_sends_is_not_asked,
          a_region_goes_when_it_is_back, a_region_that_goes_is_not_lent,
          called_back_before_it_has_come, told_and_lent, packets_are_checked)
