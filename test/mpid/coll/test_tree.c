/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of coll/tree. The oracle walks whole trees rank by rank; for the optimal tree it is Karp's
 * greedy algorithm on a heap.
 */
#include "mpid/coll/tree.h"
#include <stdlib.h>
#include <string.h>
#include "base/prng.h"
#include "mpid/coll/greedy.h"
#include "support/must.h"
#include "support/suite.h"

#define RANKS_MAX 300

static const uint64_t nets[][2] = {     /* eel, gap: seed 002's networks, and odd ones */
    {7000, 6000}, {10000, 3500}, {190000, 24000}, {1000, 1000}, {1000, 1}, {1000, 3000}, {1, 1}
};

#define NETS ((int) (sizeof(nets) / sizeof(nets[0])))

static struct wdl_tree_shape shape_of(enum wdl_tree_kind kind, int arity, int ordered, int ranks,
                                      const uint64_t net[2])
{
    return (struct wdl_tree_shape) {.kind = kind,.ranks = ranks,.arity = arity,.ordered = ordered,
        .eel_ps = net[0],.gap_ps = net[1]
    };
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;
    return x < y ? -1 : x > y;
}

/* Everything a tree promises, seen from all ranks; arrivals_out[rank]. */
static void check_tree(const struct wdl_tree_shape *shape, int root, uint64_t * arrivals_out)
{
    static struct wdl_tree_node nodes[RANKS_MAX];
    static struct wdl_tree_child children[RANKS_MAX];
    static char arrived[RANKS_MAX];
    static int queue[RANKS_MAX];
    int p = shape->ranks, seen = 0;
    uint64_t latest = 0;
    for (int rank = 0; rank < p; rank++)
        wdl_tree_find(shape, root, rank, &nodes[rank]);
    memset(arrived, 0, sizeof(arrived));
    queue[seen++] = root;
    arrivals_out[root] = 0;
    arrived[root] = 1;
    must_cmp(nodes[root].parent, ==, -1);
    must_cmp(nodes[root].size, ==, p);
    for (int i = 0; i < seen; i++) {
        const struct wdl_tree_node *node = &nodes[queue[i]];
        int count = wdl_tree_children(shape, root, node, children, RANKS_MAX), held = 1;
        int lo = node->rank, hi = node->rank + 1;       /* what a reduction has: [lo, hi) */
        must_cmp(count, ==, node->children);
        for (int c = count - 1; c >= 0; c--) {
            const struct wdl_tree_node *child = &nodes[children[c].rank];
            must_cmp(child->rank, ==, children[c].rank);
            must_cmp(child->parent, ==, node->rank);
            must_cmp(child->link, ==, c);
            must_cmp(child->size, ==, children[c].size);
            must_cmp(child->first, ==, children[c].first);
            must_cmp(child->first, ==, child->rank);
            must(!arrived[child->rank]);
            arrived[child->rank] = 1;
            held += child->size;
            if (shape->ordered && child->first < node->rank) {
                must_cmp(child->first + child->size, ==, lo);
                lo = child->first;
            } else {
                must_cmp(child->first, ==, hi % p);
                hi += child->size;
            }
            uint64_t time = arrivals_out[node->rank] + shape->eel_ps + (uint64_t) c * shape->gap_ps;
            arrivals_out[child->rank] = time;
            latest = time > latest ? time : latest;
            queue[seen++] = child->rank;
        }
        must_cmp(held, ==, node->size);
        must_cmp(lo, ==, node->first);
        must(!shape->ordered || (lo >= 0 && hi <= p));
    }
    must_cmp(seen, ==, p);
    must_cmp(wdl_tree_time_ps(shape, root), ==, latest);
}

static void check_degrees(const struct wdl_tree_shape *shape, int root)
{
    for (int rank = 0; rank < shape->ranks; rank++) {
        struct wdl_tree_node node;
        wdl_tree_find(shape, root, rank, &node);
        if (shape->kind == WDL_TREE_OPTIMAL && shape->most)
            must_cmp(node.children, <=, shape->most);
        if (shape->kind == WDL_TREE_BINARY)
            must_cmp(node.children, <=, 2);
        if (shape->kind == WDL_TREE_FLAT && rank != root)
            must_cmp(node.parent, ==, root);
    }
}

START_TEST(all_trees_of_all_sizes)
{
    static const int arities[] = { 2, 3, 4, 8 };
    struct wdl_prng prng;
    uint64_t arrivals[RANKS_MAX];
    wdl_prng_init(&prng, 1);
    for (int p = 1; p <= RANKS_MAX; p++)
        for (int kind = WDL_TREE_KNOMIAL; kind < WDL_TREE_KIND_COUNT; kind++)
            for (int a = 0; a < (kind == WDL_TREE_KNOMIAL ? 4 : 1); a++)
                for (int ordered = 0; ordered < 2; ordered++) {
                    struct wdl_tree_shape shape =
                        shape_of(kind, arities[a], ordered, p, nets[p % NETS]);
                    check_tree(&shape, 0, arrivals);
                    int root = (int) wdl_prng_below(&prng, (uint64_t) p);
                    check_tree(&shape, root, arrivals);
                    if (p % 16 == 5)
                        check_degrees(&shape, root);
                }
}
END_TEST

START_TEST(all_roots)
{
    uint64_t arrivals[RANKS_MAX];
    for (int p = 1; p <= 35; p++)
        for (int kind = 0; kind < WDL_TREE_KIND_COUNT; kind++)
            for (int ordered = 0; ordered < 2; ordered++)
                for (int root = 0; root < p; root++) {
                    struct wdl_tree_shape shape = shape_of(kind, 3, ordered, p, nets[p % NETS]);
                    check_tree(&shape, root, arrivals);
                }
}
END_TEST

START_TEST(the_optimal_tree_is_the_greedy_one)
{
    static const int most[] = { 0, 9, 10, 15, 64 };
    uint64_t want[RANKS_MAX], arrivals[RANKS_MAX];
    for (int net = 0; net < NETS; net++)
        for (int p = 1; p <= RANKS_MAX; p += p < 70 ? 1 : 1 + (p + net) % 5)
            for (int m = 0; m < 5; m++) {
                struct wdl_tree_shape shape = wdl_tree_optimal(p, nets[net][0], nets[net][1]);
                shape.most = most[m];
                greedy(p, shape.most, nets[net][0], nets[net][1], want);
                check_tree(&shape, p / 3, arrivals);
                qsort(arrivals, (size_t) p, sizeof(*arrivals), by_value);
                ck_assert_mem_eq(arrivals, want, (size_t) p * sizeof(*want));
            }
}
END_TEST

/* As few children as can be: in a binomial tree a rank has as many. */
START_TEST(trees_of_few_children)
{
    uint64_t want[RANKS_MAX], arrivals[RANKS_MAX];
    for (int net = 0; net < NETS; net++)
        for (int p = 1, least = 0; p <= RANKS_MAX; p += p < 40 ? 1 : 1 + p / 6) {
            least += 1 << least < p;
            for (int most = least; most < least + 3; most++)
                for (int ordered = 0; ordered < 2; ordered++)
                    for (int root = 0; root < p; root += 1 + p / 4) {
                        struct wdl_tree_shape shape =
                            shape_of(WDL_TREE_OPTIMAL, 0, ordered, p, nets[net]);
                        shape.most = most;
                        check_tree(&shape, root, arrivals);
                        check_degrees(&shape, root);
                        greedy(p, most, nets[net][0], nets[net][1], want);
                        must(ordered || wdl_tree_time_ps(&shape, root) == want[p - 1]);
                    }
        }
}
END_TEST

/* The table of seed 002 for P = 8, in its order: optimal, binomial, binary, flat. */
START_TEST(table_of_the_seed)
{
    static const uint64_t want[3][4] = {
        {21000, 21000, 26000, 43000}, {23500, 30000, 30000, 31000}, {334000, 570000, 570000, 334000}
    };
    for (int net = 0; net < 3; net++)
        for (int col = 0; col < 4; col++) {
            static const enum wdl_tree_kind kinds[] = {
                WDL_TREE_OPTIMAL, WDL_TREE_KNOMIAL, WDL_TREE_BINARY, WDL_TREE_FLAT
            };
            struct wdl_tree_shape shape = shape_of(kinds[col], 2, 0, 8, nets[net]);
            must_cmp(wdl_tree_time_ps(&shape, 3), ==, want[net][col]);
        }
}
END_TEST

/* A root in the middle of an ordered tree costs at most one message more. */
START_TEST(order_costs_a_message_at_most)
{
    for (int net = 0; net < NETS; net++)
        for (int p = 2; p <= RANKS_MAX; p += 1 + p / 20)
            for (int root = 0; root < p; root += 1 + p / 30)
                for (int most = 0; most < 20; most += 10) {
                    struct wdl_tree_shape free = wdl_tree_optimal(p, nets[net][0], nets[net][1]);
                    free.most = most;
                    struct wdl_tree_shape bound = free;
                    uint64_t message = nets[net][0] > nets[net][1] ? nets[net][0] : nets[net][1];
                    bound.ordered = 1;
                    uint64_t least = wdl_tree_time_ps(&free, root);
                    must_cmp(wdl_tree_time_ps(&bound, root), >=, least);
                    must_cmp(wdl_tree_time_ps(&bound, root), <=, least + message);
                }
}
END_TEST

START_TEST(large_trees)
{
    static const int sizes[] = { 4095, 4096, 65535, 65536, 1000003 };
    for (int i = 0; i < 5; i++)
        for (int net = 0; net < NETS; net++) {
            struct wdl_tree_shape best = wdl_tree_optimal(sizes[i], nets[net][0], nets[net][1]);
            uint64_t least = wdl_tree_time_ps(&best, 0);
            for (int kind = WDL_TREE_KNOMIAL; kind < WDL_TREE_KIND_COUNT; kind++) {
                struct wdl_tree_shape shape = shape_of(kind, 2, 0, sizes[i], nets[net]);
                must_cmp(wdl_tree_time_ps(&shape, 0), >=, least);
            }
            if (nets[net][1] > nets[net][0])
                continue;
            struct wdl_tree_node node;
            wdl_tree_find(&best, 17, 16, &node);        /* the last place */
            must_cmp(node.children, ==, 0);
            must_cmp(node.size, ==, 1);
        }
}
END_TEST

/* No tree is slower for fewer ranks: what the choice between trees stands on. */
START_TEST(times_never_fall_with_ranks)
{
    static const int most[] = { 0, 11, 12, 64 };
    static const int kinds[WDL_TREE_KIND_COUNT] = {[WDL_TREE_OPTIMAL] = 4,[WDL_TREE_KNOMIAL] = 7 };
    for (int net = 0; net < NETS; net++)
        for (int kind = 0; kind < WDL_TREE_KIND_COUNT; kind++)
            for (int i = 0; i < (kinds[kind] ? kinds[kind] : 1); i++) {
                uint64_t before = 0;
                for (int p = 1; p <= 1100; p++) {
                    struct wdl_tree_shape shape = shape_of(kind, 2 + i, 0, p, nets[net]);
                    shape.most = kind == WDL_TREE_OPTIMAL ? most[i] : 0;
                    uint64_t now = wdl_tree_time_ps(&shape, 0);
                    must_cmp(now, >=, before);
                    before = now;
                }
            }
}
END_TEST

WDL_SUITE("coll/tree", all_trees_of_all_sizes, all_roots, the_optimal_tree_is_the_greedy_one,
          trees_of_few_children, table_of_the_seed, order_costs_a_message_at_most, large_trees,
          times_never_fall_with_ranks)
