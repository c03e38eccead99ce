/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * permute in random worlds: results; what is no permutation. (test_gasnet_sync has whom it waits
 * for, test/cost/test_gasnet what it sends.)
 */
#include <string.h>
#include "mpid/coll/gasnet_ranks.h"
#include "support/must.h"
#include "support/suite.h"

enum { LONG = 20000 };

static struct call {
    int m, flags;
    size_t bytes, salt;
} call;

static uint32_t perm[UNITS_MAX];

static void permute_start(int i)
{
    const uint32_t *mine =
        call.flags & WDL_COLL_SINGLE ? perm : perm + (call.m ? first[i] : (size_t) i);
    handle[i] = wdl_gas_permuteM_nb(team[i], dst[i][0], call.m ? dst_list[i] : NULL, src[i][0],
                                    call.m ? src_list[i] : NULL, mine, call.bytes, call.flags);
}

static void permute(void)
{
    static const size_t bytes[] = {4, 300, LONG};
    call = (struct call){(int) draw(2), draw_flags(0), 0, draw(100)};
    gasnet_lists(call.m, call.flags);
    size_t units = call.m ? first[r.n] : (size_t) r.n;
    call.bytes = bytes[draw(3)];
    for (size_t u = 0; u < units; u++) {
        perm[u] = (uint32_t) u;
        memset(unit_memory(src, call.m, u), (int) (u * 3 + call.salt), call.bytes);
    }
    for (size_t u = units - 1; u > 0; u--) {
        size_t v = draw(u + 1);
        uint32_t swap = perm[u];
        perm[u] = perm[v];
        perm[v] = swap;
    }
    gasnet_all(permute_start);
    for (size_t u = 0; u < units; u++)
        for (size_t k = 0; k < call.bytes; k++)
            ck_assert_int_eq(unit_memory(dst, call.m, perm[u])[k], (char) (u * 3 + call.salt));
}

START_TEST(permutes_few)
{
    gasnet_few(permute);
}
END_TEST

START_TEST(permutes_many)
{
    gasnet_many(permute);
}
END_TEST

/* What is given to no unit, or to one that has its block, goes nowhere. All see that it is no
 * permutation; where none waits for all, who gets no block, once all have come. */
static void no_permutation_of(const uint32_t wrong[3], int all_see)
{
    memcpy(perm, wrong, 3 * sizeof(wrong[0]));
    for (int i = 0; i < 3; i++)
        permute_start(i);
    for (uint32_t i = 0; i < 3; i++) {
        int lacks = wrong[0] != i && wrong[1] != i && wrong[2] != i;
        enum wdl_gas_error error;
        for (int steps = 0; !wdl_gas_try_sync(handle[i], &error); steps++) {
            must_cmp(steps, <, 1000000);
            ranks_step(&r);
        }
        must_cmp(error, ==, all_see || lacks ? WDL_GAS_ERR_NODES : WDL_GAS_FINE);
    }
}

START_TEST(no_permutation)
{
    static const uint32_t wrong[][3] = {{0, 1, 1}, {0, 1, 3}, {2, 2, 2}, {1, 1, 0}, {1, 0, 1}};
    static const int my = WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_MYSYNC,
                     all = WDL_COLL_IN_ALLSYNC | WDL_COLL_OUT_MYSYNC;
    const int flags[] = {my | WDL_COLL_SINGLE, all | WDL_COLL_LOCAL, my | WDL_COLL_LOCAL,
                         WDL_COLL_IN_NOSYNC | WDL_COLL_OUT_NOSYNC | WDL_COLL_LOCAL};
    enum { WRONG = sizeof(wrong) / sizeof(wrong[0]) };
    for (uint64_t seed = 1; seed <= 3; seed++) /* on a node; by messages; on several nodes */
        for (int k = 0; k < WRONG * 4 * 3; k++) {
            struct wdl_sim_params sim = {.seed = seed, .ranks = 3, .am_bytes_max = 1024};
            static const size_t bytes[] = {8, 300, LONG};
            gasnet_open(&sim, 1);
            call = (struct call){.bytes = bytes[k % 3], .flags = flags[k / 3 % 4]};
            no_permutation_of(wrong[k / 12], k / 3 % 4 < 2);
            gasnet_close();
        }
}
END_TEST

/* More come to a node than it has units: it says so to all. Else as with few. */
static void no_permutation_of_many(int n, int all_to_one)
{
    enum wdl_gas_error error;
    for (int i = 0; i < n; i++)
        perm[i] = all_to_one ? 2 : i == 4 ? UNITS_MAX : (uint32_t) i;
    for (int i = 0; i < n; i++)
        permute_start(i);
    for (int i = 0; i < n; i++) {
        for (int steps = 0; !wdl_gas_try_sync(handle[i], &error); steps++) {
            must_cmp(steps, <, 1000000);
            ranks_step(&r);
        }
        must_cmp(error == WDL_GAS_FINE, ==, !all_to_one && i != 4);
        if (i == (all_to_one ? 2 : 4))
            must_cmp(error, ==, WDL_GAS_ERR_NODES);
    }
}

START_TEST(no_permutation_among_many)
{
    static const size_t bytes[] = {8, 300, LONG};
    const int flags = WDL_COLL_IN_NOSYNC | WDL_COLL_OUT_NOSYNC | WDL_COLL_LOCAL;
    for (uint64_t seed = 1; seed <= 6; seed++) /* on a node; by messages; on several nodes */
        for (int k = 0; k < 2 * 3; k++) {
            struct wdl_sim_params sim = {.seed = seed, .ranks = 17, .am_bytes_max = 1024};
            gasnet_open(&sim, 1);
            call = (struct call){.bytes = bytes[k % 3], .flags = flags};
            no_permutation_of_many(sim.ranks, k / 3);
            gasnet_close();
        }
}
END_TEST

/* Each gives to the next, and the last has not begun: the first waits, and asks whom it waits for;
 * that others give it nothing is no reason to fail. The others are through. */
START_TEST(who_may_not_come_is_asked_for_nothing)
{
    for (uint64_t seed = 1; seed <= 6; seed++) { /* on a node; by messages; on several nodes */
        int n = seed > 3 ? 18 : 5, late = n - 1;
        struct wdl_sim_params sim = {.seed = seed, .ranks = n, .ordered = 1, .am_bytes_max = 1024};
        enum wdl_gas_error error;
        gasnet_open(&sim, 1);
        call = (struct call){.bytes = 8,
                             .flags = WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_MYSYNC | WDL_COLL_LOCAL};
        for (int i = 0; i < n; i++)
            perm[i] = (uint32_t) ((i + 1) % n);
        for (int i = 0; i < late; i++)
            permute_start(i);
        for (int k = 0; k < 5000; k++)
            ranks_doubt(&r, ranks_step(&r));
        for (int i = 1; i < late; i++) {
            must(wdl_gas_try_sync(handle[i], &error));
            must_cmp(error, ==, WDL_GAS_FINE);
        }
        must(!wdl_gas_try_sync(handle[0], &error));
        permute_start(late);
        for (int i = 0; i < n; i += late) {
            while (!wdl_gas_try_sync(handle[i], &error))
                ranks_doubt(&r, ranks_step(&r));
            must_cmp(error, ==, WDL_GAS_FINE);
        }
        gasnet_close();
    }
}
END_TEST

WDL_SUITE("coll/gasnet_permute", permutes_few, permutes_many, no_permutation,
          no_permutation_among_many, who_may_not_come_is_asked_for_nothing)
