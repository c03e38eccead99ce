/* Part of Windlass. See COPYRIGHT in the top-level directory. Conformance: operations without a
 * completion of their own, and closing in the middle of everything. */
#include <stdlib.h>
#include <string.h>
#include "netmod/exposed.h"
#include "netmod/suites.h"

enum { RANKS = 3, EACH = 40, SLOT = 700, LARGE = 300000 };

static unsigned char byte_of(int from, int to, int k)
{
    return (unsigned char) (1 + from + 3 * to + 9 * k);
}

/* Puts, gets and atomics begun without a completion are over when a flush is. */
START_TEST(counted_by_a_flush)
{
    struct exposed e;
    static unsigned char src[RANKS][RANKS][EACH][SLOT], back[RANKS][RANKS][SLOT];
    static uint64_t ticket[RANKS][RANKS];
    if (expose(&e, &nm_ways[_i], RANKS)) {
        int status;
        for (int k = 0; k < EACH; k++)
            for (int from = 0; from < RANKS; from++)
                for (int to = 0; to < RANKS; to++) {
                    struct wdl_nm *nm = e.bed.rank[from].nm;
                    size_t slot = (size_t) (from * EACH + k) * SLOT + 64;
                    memset(src[from][to][k], byte_of(from, to, k), SLOT);
                    BED_START(&e.bed, status,
                              nm->ops->put(nm, to, src[from][to][k], SLOT, exposed_at(&e, to, slot),
                                           e.rkey[from][to], NULL));
                    ck_assert(status == WDL_OK || status == WDL_PENDING);
                    BED_START(&e.bed, status,
                              nm->ops->atomic(nm, to, WDL_NM_ADD, 8, 1, 0, &ticket[from][to],
                                              exposed_at(&e, to, 0), e.rkey[from][to], NULL));
                    ck_assert(status == WDL_OK || status == WDL_PENDING);
                }
        for (int from = 0; from < RANKS; from++)
            exposed_flush(&e, from, -1);
        for (int from = 0; from < RANKS; from++)
            for (int to = 0; to < RANKS; to++) {
                struct wdl_nm *nm = e.bed.rank[from].nm;
                size_t last = (size_t) (from * EACH + EACH - 1) * SLOT + 64;
                for (int k = 0; k < EACH; k++)
                    ck_assert_mem_eq(e.memory[to] + (size_t) (from * EACH + k) * SLOT + 64,
                                     src[from][to][k], SLOT);
                ck_assert_uint_lt(ticket[from][to], RANKS * EACH);
                BED_START(&e.bed, status,
                          nm->ops->get(nm, to, back[from][to], SLOT, exposed_at(&e, to, last),
                                       e.rkey[from][to], NULL));
                ck_assert(status == WDL_OK || status == WDL_PENDING);
                exposed_flush(&e, from, to);
                ck_assert_mem_eq(back[from][to], src[from][to][EACH - 1], SLOT);
            }
        for (int to = 0; to < RANKS; to++) {
            uint64_t sum;
            memcpy(&sum, e.memory[to], sizeof(sum));
            ck_assert_uint_eq(sum, RANKS * EACH);
        }
    }
    conceal(&e);
}
END_TEST

/* A flush of a peer nothing was begun with is done, and makes no connection. */
START_TEST(flush_of_a_stranger)
{
    struct bed bed;
    struct bed_comp c = bed_comp();
    bed_open(&bed, &nm_ways[_i], 2);
    struct wdl_nm *nm = bed.rank[0].nm;
    ck_assert_int_eq(nm->ops->flush(nm, 1, &c.comp),
                     nm->ops->caps(nm)->has_rma ? WDL_OK : WDL_ERR_UNSUPPORTED);
    ck_assert_int_eq(bed.rank[0].asked[1], 0);
    bed_close(&bed);
}
END_TEST

/* The next operation is begun in the completion of the last. */
struct chain {
    struct bed_comp c;
    struct exposed *e;
    unsigned char bytes[256];
    int left, refused;
};

static int chain_begin(struct chain *chain)
{
    struct exposed *e = chain->e;
    struct wdl_nm *nm = e->bed.rank[0].nm;
    uint64_t remote = exposed_at(e, 1, 0);
    return chain->left % 2
               ? nm->ops->put(nm, 1, chain->bytes, 256, remote, e->rkey[0][1], &chain->c.comp)
               : nm->ops->get(nm, 1, chain->bytes, 256, remote, e->rkey[0][1], &chain->c.comp);
}

static void chain_go(struct chain *chain)
{
    int status = WDL_OK;
    while (chain->left > 0 && (status = chain_begin(chain)) == WDL_OK)
        chain->left--;
    ck_assert(!wdl_status_is_error(status));
    chain->refused = status == WDL_AGAIN;
}

static void chain_done(struct wdl_nm_comp *comp, const struct wdl_nm_info *info)
{
    struct chain *chain = (struct chain *) comp;
    ck_assert_int_eq(info->status, WDL_OK);
    chain->left--;
    chain_go(chain);
}

START_TEST(chains_in_completions)
{
    struct exposed e;
    if (expose(&e, &nm_ways[_i], 2)) {
        struct chain chain = {.c.comp.fn = chain_done, .e = &e, .left = 101};
        memset(chain.bytes, 0x77, sizeof(chain.bytes));
        memset(e.memory[1], 0x77, sizeof(chain.bytes));
        chain_go(&chain);
        while (chain.left > 0) {
            bed_poll(&e.bed);
            if (chain.refused)
                chain_go(&chain);
        }
        exposed_flush(&e, 0, 1);
        ck_assert_mem_eq(e.memory[1], chain.bytes, sizeof(chain.bytes));
    }
    conceal(&e);
}
END_TEST

/* Much of everything, on the way when the flush begins. */
struct much {
    struct bed_comp put[EACH], get[EACH], atomic[EACH], am[EACH];
    unsigned char sink[LARGE];
    uint64_t words[EACH];
};

static void begin(struct exposed *e, struct much *m, int from)
{
    static unsigned char source[LARGE];
    struct wdl_nm *nm = e->bed.rank[from].nm;
    struct wdl_nm_rkey *rkey = e->rkey[from][1];
    uint64_t at = exposed_at(e, 1, 0);
    for (int i = 0; i < EACH; i++) {
        size_t bytes = i % 2 ? LARGE : 8;
        struct wdl_nm_iov iov = {source, i % 2 ? 900 : 8};
        m->put[i] = m->get[i] = m->atomic[i] = m->am[i] = bed_comp();
        (void) nm->ops->put(nm, 1, source, bytes, at, rkey, i % 3 ? &m->put[i].comp : NULL);
        (void) nm->ops->get(nm, 1, m->sink, bytes, at, rkey, i % 3 ? &m->get[i].comp : NULL);
        (void) nm->ops->atomic(nm, 1, WDL_NM_ADD, 8, 1, 0, i % 2 ? &m->words[i] : NULL, at, rkey,
                               i % 3 ? &m->atomic[i].comp : NULL);
        (void) nm->ops->am(nm, 1, "0123456789abcdef", 16, &iov, 1, &m->am[i].comp);
    }
}

static int completions(const struct much *m)
{
    int n = 0;
    for (int i = 0; i < EACH; i++)
        n += m->put[i].called + m->get[i].called + m->atomic[i].called + m->am[i].called;
    return n;
}

/* close: messages not taken are dropped, memory and keys are released. */
START_TEST(closes_with_memory_and_messages)
{
    struct exposed e;
    static struct much m[2];
    if (!expose(&e, &nm_ways[_i], 2)) {
        conceal(&e);
        return;
    }
    e.bed.rank[1].refuse = 1 << 30;
    for (int i = 0; i < 2; i++)
        begin(&e, &m[i], i);
    for (int i = 0; i < 2; i++)
        exposed_flush(&e, i, -1);
    int before = completions(&m[0]) + completions(&m[1]);
    exposed_abandon(&e);
    ck_assert_int_eq(completions(&m[0]) + completions(&m[1]), before);
}
END_TEST

const TTest *const *nm_close_tests(void)
{
    static const TTest *tests[5];
    tests[0] = counted_by_a_flush;
    tests[1] = flush_of_a_stranger;
    tests[2] = chains_in_completions;
    tests[3] = closes_with_memory_and_messages;
    return tests;
}
