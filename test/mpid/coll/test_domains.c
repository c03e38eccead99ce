/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of coll/domains: any ranks on
 * any node, by brute force; nodes there are. */
#include "mpid/coll/domains.h"
#include "base/prng.h"
#include "support/suite.h"

enum { RANKS_MAX = 64, CASES = 3000 };

static struct wdl_domain_place places[RANKS_MAX];
static int domain[RANKS_MAX];

/* Parts in use; 0: it does not serve. */
static int serves(int n, int way)
{
    int parts = 0;
    for (int part = -1; part < RANKS_MAX; part++) {
        int here = 0;
        for (int i = 0; i < n; i++)
            here += places[i].part[way] == part;
        if (part < 0 && here > 0)
            return 0;
        parts += here > 0;
    }
    return parts > 1 && n >= 4 * parts ? parts : 0;
}

START_TEST(the_finest_that_serves)
{
    struct wdl_prng prng;
    int chosen[WDL_DOMAIN_WAYS] = {0}, none = 0;
    wdl_prng_init(&prng, 31);
    for (int c = 0; c < CASES; c++) {
        int n = 1 + (int) wdl_prng_below(&prng, RANKS_MAX), best = -1;
        for (int way = 0; way < WDL_DOMAIN_WAYS; way++) {
            int parts = 1 + (int) wdl_prng_below(&prng, 9);
            for (int i = 0; i < n; i++)
                places[i].part[way] = (int) wdl_prng_below(&prng, (uint64_t) parts);
            if (wdl_prng_chance(&prng, 250))
                places[wdl_prng_below(&prng, (uint64_t) n)].part[way] = -1;
            if (serves(n, way) > (best < 0 ? 0 : serves(n, best)))
                best = way;
        }
        wdl_domains_choose(places, n, domain);
        for (int i = 0; i < n; i++)
            ck_assert_int_eq(domain[i], best < 0 ? -1 : places[i].part[best]);
        if (best < 0)
            none++;
        else
            chosen[best]++;
    }
    for (int way = 0; way < WDL_DOMAIN_WAYS; way++)
        ck_assert_int_gt(chosen[way], CASES / 20);
    ck_assert_int_gt(none, CASES / 20);
}
END_TEST

/* Ranks bound to a core each, so many on each package, of so many parts with a cache and a memory
 * each; how many domains they have. */
static int domains_of(int ranks, int per_package, int caches, int memories)
{
    int most = 0;
    for (int i = 0; i < ranks; i++) {
        int package = i / per_package, core = i % per_package;
        places[i].part[WDL_DOMAIN_PACKAGE] = package;
        places[i].part[WDL_DOMAIN_CACHE] = package * caches + core * caches / per_package;
        places[i].part[WDL_DOMAIN_MEMORY] = package * memories + core * memories / per_package;
    }
    wdl_domains_choose(places, ranks, domain);
    for (int i = 0; i < ranks; i++)
        most = domain[i] > most ? domain[i] : most;
    return domain[0] < 0 ? 0 : most + 1;
}

START_TEST(nodes_there_are)
{
    ck_assert_int_eq(domains_of(8, 8, 1, 1), 0); /* one package, one cache */
    ck_assert_int_eq(domains_of(4, 2, 1, 1), 0); /* two packages, but few ranks */
    ck_assert_int_eq(domains_of(16, 8, 1, 1), 2);
    ck_assert_int_eq(domains_of(64, 32, 4, 1), 8); /* caches of eight */
    ck_assert_int_eq(domains_of(64, 32, 16, 2), 4); /* of two cores: too fine */
    places[0] = (struct wdl_domain_place){{-1, -1, -1}};
    wdl_domains_choose(places, 64, domain);
    for (int i = 0; i < 64; i++)
        ck_assert_int_eq(domain[i], -1);
}
END_TEST

START_TEST(cut_by_hand)
{
    for (int n = 1; n <= RANKS_MAX; n++)
        for (int parts = 1; parts <= n + 3; parts++) {
            int size[RANKS_MAX] = {0}, count = parts < n ? parts : n;
            wdl_domains_cut(n, parts, domain);
            for (int i = 0; i < n; i++) {
                ck_assert_int_ge(domain[i], i ? domain[i - 1] : 0);
                ck_assert_int_lt(domain[i], count);
                size[domain[i]]++;
            }
            for (int k = 0; k < count; k++)
                ck_assert(size[k] == n / count || size[k] == (n + count - 1) / count);
        }
}
END_TEST

WDL_SUITE("mpid/coll/domains", the_finest_that_serves, nodes_there_are, cut_by_hand)
