/* Part of Windlass. See COPYRIGHT in the top-level directory. Conformance: memory, put, get,
 * atomics, flush. Networks without them (caps->has_rma) have nothing to show. */
#include <stdlib.h>
#include <string.h>
#include "netmod/atomics.h"
#include "netmod/exposed.h"
#include "netmod/suites.h"

/* A put has arrived when a flush begun after it is done; a get brings what is there. */
START_TEST(puts_and_gets)
{
    struct exposed e;
    const size_t sizes[] = {1, 3, 8, 100, 4096, 65536, EXPOSED_BYTES};
    if (expose(&e, &nm_ways[_i], 2)) {
        unsigned char *mine = malloc(EXPOSED_BYTES), *back = malloc(EXPOSED_BYTES);
        for (unsigned s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            struct wdl_nm *nm = e.bed.rank[0].nm;
            struct bed_comp c;
            size_t offset = (EXPOSED_BYTES - sizes[s]) / 2;
            for (size_t i = 0; i < sizes[s]; i++)
                mine[i] = (unsigned char) (i * 13 + s + i / 255);
            exposed_put(&e, 0, 1, mine, sizes[s], offset);
            memset(back, 0, EXPOSED_BYTES);
            exposed_flush(&e, 0, s % 2 ? 1 : -1);
            ck_assert_mem_eq(e.memory[1] + offset, mine, sizes[s]);
            BED_DO(&e.bed, c,
                   nm->ops->get(nm, 1, back, sizes[s], exposed_at(&e, 1, offset), e.rkey[0][1],
                                &c.comp));
            ck_assert_mem_eq(back, mine, sizes[s]);
        }
        free(mine);
        free(back);
    }
    conceal(&e);
}
END_TEST

/* A flush of everybody is a flush of each. */
START_TEST(flush_of_all)
{
    enum { RANKS = 4 };
    struct exposed e;
    if (expose(&e, &nm_ways[_i], RANKS)) {
        unsigned char one[64];
        memset(one, 0x5a, sizeof(one));
        for (int k = 0; k < 10; k++)
            for (int to = 0; to < RANKS; to++)
                exposed_put(&e, 0, to, one, sizeof(one), (size_t) k * 64);
        exposed_flush(&e, 0, -1);
        for (int to = 0; to < RANKS; to++)
            for (int i = 0; i < 640; i++)
                ck_assert_uint_eq(e.memory[to][i], 0x5a);
    }
    conceal(&e);
}
END_TEST

static uint64_t word_of(const void *p, size_t size)
{
    uint64_t word = 0;
    memcpy(&word, p, size); /* little-endian machines only, as everything here */
    return word;
}

/* One atomic operation; 0 where the network refuses it for good. */
static int atomic(struct exposed *e, int from, int to, enum wdl_nm_atomic op, size_t size,
                  uint64_t value, uint64_t compare, void *fetched, size_t offset)
{
    struct wdl_nm *nm = e->bed.rank[from].nm;
    const struct wdl_nm_caps *caps = nm->ops->caps(nm);
    int native = (size == 4 ? caps->atomic32 : caps->atomic64) >> op & 1;
    struct bed_comp c = bed_comp();
    int status;
    BED_START(&e->bed, status,
              nm->ops->atomic(nm, to, op, size, value, compare, fetched, exposed_at(e, to, offset),
                              e->rkey[from][to], &c.comp));
    if (status == WDL_ERR_UNSUPPORTED) {
        ck_assert(!native);
        return 0;
    }
    if (status == WDL_PENDING) {
        BED_UNTIL(&e->bed, c.called);
        status = c.info.status;
    }
    ck_assert_int_eq(status, WDL_OK);
    return 1;
}

static int may_fetch(const struct exposed *e, enum wdl_nm_atomic op, size_t size)
{
    const struct wdl_nm_caps *caps = e->bed.rank[0].nm->ops->caps(e->bed.rank[0].nm);
    int native = (size == 4 ? caps->atomic32 : caps->atomic64) >> op & 1;
    return !native || (caps->fetches >> op & 1);
}

START_TEST(atomics)
{
    struct exposed e;
    if (expose(&e, &nm_ways[_i], 2)) {
        for (int k = 0; k < WDL_NM_ATOMIC_COUNT * 8; k++) {
            enum wdl_nm_atomic op = (enum wdl_nm_atomic)(k / 8);
            size_t size = k % 2 ? 4 : 8;
            int fetch = k / 2 % 2 || op == WDL_NM_CSWAP, hit = k / 4 % 2;
            fetch &= may_fetch(&e, op, size);
            uint64_t mask = size == 4 ? 0xffffffffu : ~(uint64_t) 0;
            uint64_t old = 0xf0f1f2f3f4f5f6f7u & mask, value = 0x123456789abcdef0u & mask, got = 0;
            uint64_t compare = hit ? old : 5;
            memcpy(e.memory[1] + 64, &old, sizeof(old));
            if (!atomic(&e, 0, 1, op, size, value, compare, fetch ? &got : NULL, 64))
                continue;
            exposed_flush(&e, 0, 1);
            if (fetch)
                ck_assert_uint_eq(word_of(&got, size), old);
            ck_assert_uint_eq(word_of(e.memory[1] + 64, size),
                              atomics_outcome(op, old, value, compare) & mask);
        }
    }
    conceal(&e);
}
END_TEST

/* Everyone draws tickets from one word: each comes out once. */
START_TEST(no_update_is_lost)
{
    enum { RANKS = 4, EACH = 50 };
    struct exposed e;
    if (expose(&e, &nm_ways[_i], RANKS)) {
        static uint64_t got[RANKS][EACH];
        static struct bed_comp c[RANKS][EACH];
        unsigned char seen[RANKS * EACH] = {0};
        int due = 0, supported = 1;
        for (int k = 0; k < EACH && supported; k++)
            for (int r = 0; r < RANKS && supported; r++) {
                struct wdl_nm *nm = e.bed.rank[r].nm;
                int status;
                c[r][k] = bed_comp();
                BED_START(&e.bed, status,
                          nm->ops->atomic(nm, 0, WDL_NM_ADD, 8, 1, 0, &got[r][k],
                                          exposed_at(&e, 0, 128), e.rkey[r][0],
                                          &c[r][k].comp));
                supported = status != WDL_ERR_UNSUPPORTED;
                due += status == WDL_PENDING;
            }
        while (due > 0) {
            bed_poll(&e.bed);
            due = 0;
            for (int i = 0; i < RANKS * EACH; i++)
                due += c[i / EACH][i % EACH].comp.handle != NULL && !c[i / EACH][i % EACH].called;
        }
        for (int i = 0; i < 2000; i++)
            bed_poll(&e.bed);
        for (int i = 0; i < RANKS * EACH && supported; i++) {
            ck_assert_uint_lt(got[i / EACH][i % EACH], RANKS * EACH);
            ck_assert_int_eq(seen[got[i / EACH][i % EACH]]++, 0);
        }
    }
    conceal(&e);
}
END_TEST

START_TEST(maps_or_says_no)
{
    struct exposed e;
    if (expose(&e, &nm_ways[_i], 2)) {
        void *here = NULL;
        struct wdl_nm *nm = e.bed.rank[0].nm;
        int status = nm->ops->map(nm, e.rkey[0][1], exposed_at(&e, 1, 4096), &here);
        ck_assert(status == WDL_OK || status == WDL_ERR_UNSUPPORTED);
        if (status == WDL_OK) {
            *(unsigned char *) here = 77;
            ck_assert_uint_eq(e.memory[1][4096], 77);
        }
    }
    conceal(&e);
}
END_TEST

const TTest *const *nm_rma_tests(void)
{
    static const TTest *tests[6];
    tests[0] = puts_and_gets;
    tests[1] = flush_of_all;
    tests[2] = atomics;
    tests[3] = no_update_is_lost;
    tests[4] = maps_or_says_no;
    return tests;
}
