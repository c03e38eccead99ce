/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The ranks of a team by node, or by domain of one: every rank finds the same, for any names; trees
 * and rounds among heads need no more roles than the team has.
 */
#include <string.h>
#include "base/prng.h"
#include "host/testhost.h"
#include "mpid/coll/greedy.h"
#include "mpid/coll/nodes.h"
#include "support/suite.h"

enum { RANKS_MAX = 40, MANY = 150 };

static int names[MANY];

static int node_of(void *ctx, int rank)
{
    (void) ctx;
    return names[rank];
}

static int one_node(void *ctx, int rank)
{
    (void) ctx;
    (void) rank;
    return 5;
}

static int same_node(int a, int b)
{
    return a == b || (names[a] >= 0 && names[a] == names[b]);
}

/* Whose the i-th place of the order is. */
static int node_of_place(const struct wdl_nodes *nodes, int i)
{
    int node = 0;
    while (nodes->first[node + 1] <= i)
        node++;
    return node;
}

/* By brute force: what `nodes`, of rank `me` of n, must be. */
static void check(const struct wdl_nodes *nodes, int n, int me)
{
    int count = 0, most = 0, members = 0, in_order = 1;
    for (int i = 0; i < n; i++) {
        int first = 0, size = 0;
        while (!same_node(first, i))
            first++;
        for (int k = 0; k < n; k++)
            size += same_node(i, k);
        for (int k = i + 2; k < n; k++)
            in_order &= !same_node(i, k) || same_node(i, k - 1);
        most = size > most ? size : most;
        if (first == i)
            ck_assert_int_eq(nodes->leader[count++], i);
        ck_assert_int_eq(nodes->leader[nodes->node_of[i]], first);
        ck_assert_int_eq(nodes->node_of[nodes->order[i]], node_of_place(nodes, i));
        ck_assert(i == 0 || node_of_place(nodes, i) > node_of_place(nodes, i - 1) ||
                  nodes->order[i] > nodes->order[i - 1]);
        if (!same_node(i, me))
            continue;
        ck_assert_int_eq(nodes->mine, nodes->node_of[i]);
        if (i == me)
            ck_assert_int_eq(nodes->place, members);
        ck_assert_int_eq(nodes->member[members++], i);
    }
    ck_assert_int_eq(nodes->size, members);
    ck_assert_int_eq(nodes->first[count], n);
    ck_assert_int_eq(nodes->span.size, count);
    ck_assert_int_eq(nodes->most, most);
    ck_assert_int_eq(nodes->in_order, in_order);
    ck_assert_int_gt(most, 1);
    ck_assert_int_gt(count, 1);
}

static int several_share(int n)
{
    int shared = 0, apart = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++) {
            shared |= same_node(i, k);
            apart |= !same_node(i, k);
        }
    return shared && apart;
}

START_TEST(all_ranks_find_the_same_nodes)
{
    struct wdl_prng prng;
    struct test_host host;
    test_host_init(&host);
    struct wdl_coll coll = {.host = host.host, .chunk_bytes = 1024};
    wdl_prng_init(&prng, 11);
    for (int round = 0; round < 3000; round++) {
        int n = 1 + (int) wdl_prng_below(&prng, RANKS_MAX), kinds = 1 + round % 9;
        for (int i = 0; i < n; i++) {
            names[i] = 1000 * (int) wdl_prng_below(&prng, (uint64_t) kinds);
            if (i > 0 && wdl_prng_chance(&prng, 700))
                names[i] = names[i - 1];
            if (round % 4 == 0 && wdl_prng_chance(&prng, 300))
                names[i] = -1;
        }
        struct wdl_team team = {.coll = &coll, .params = {.size = n, .node_of = node_of}};
        team.params.model = (struct wdl_coll_model){1500, 400, 0.1, 0.25, 0};
        wdl_team_shape(&team);
        team.rank = (int) wdl_prng_below(&prng, (uint64_t) n);
        ck_assert_int_eq(wdl_nodes_make(&team, &team.nodes), WDL_OK);
        ck_assert_int_eq(team.nodes != NULL, several_share(n));
        if (team.nodes)
            check(team.nodes, n, team.rank);
        host.host.ops->free(host.host.ctx, team.nodes);
    }
    ck_assert_int_eq(host.live, 0);
}
END_TEST

/* A team on one node that has made its nodes by their domains, if it has any. */
static struct wdl_team on_one_node(struct wdl_coll *coll, int n, int rank)
{
    struct wdl_team team = {.coll = coll, .params = {.size = n, .node_of = one_node}};
    team.params.domain_of = node_of;
    team.params.model = (struct wdl_coll_model){1500, 400, 0.1, 0.25, 0};
    wdl_team_shape(&team);
    team.rank = rank;
    return team;
}

/* Equal parts of at most WDL_NODE_RANKS_MAX, as names that say domain and part. */
static void names_part(int n)
{
    int part[MANY];
    for (int i = 0; i < n; i++) {
        int below = 0, all = 0;
        for (int k = 0; k < n; k++) {
            below += k < i && names[k] == names[i];
            all += names[k] == names[i];
        }
        int parts = (all + WDL_NODE_RANKS_MAX - 1) / WDL_NODE_RANKS_MAX;
        part[i] = names[i] * MANY + below * parts / all;
    }
    memcpy(names, part, sizeof(part));
}

START_TEST(the_domains_of_one_node)
{
    struct wdl_prng prng;
    struct test_host host;
    test_host_init(&host);
    struct wdl_coll coll = {.host = host.host, .chunk_bytes = 1024};
    wdl_prng_init(&prng, 12);
    for (int round = 0; round < 2000; round++) {
        int n = 1 + (int) wdl_prng_below(&prng, MANY), kinds = 1 + round % 7;
        for (int i = 0; i < n; i++)
            names[i] = round % 2 ? i * kinds / n : (int) wdl_prng_below(&prng, (uint64_t) kinds);
        int anywhere = round % 5 == 0, one = (int) wdl_prng_below(&prng, (uint64_t) n);
        int was = names[one];
        if (anywhere)
            names[one] = -1;
        struct wdl_team team = on_one_node(&coll, n, (int) wdl_prng_below(&prng, (uint64_t) n));
        ck_assert_int_eq(wdl_nodes_make(&team, &team.nodes), WDL_OK);
        names[one] = was;
        names_part(n);
        ck_assert_int_eq(team.nodes != NULL, n > 2 && !anywhere && several_share(n));
        if (team.nodes) {
            ck_assert_int_eq(team.nodes->domains, 1);
            ck_assert_int_le(team.nodes->most, WDL_NODE_RANKS_MAX);
            check(team.nodes, n, team.rank);
        }
        host.host.ops->free(host.host.ctx, team.nodes);
    }
    ck_assert_int_eq(host.live, 0);
}
END_TEST

/* Does a team of `per` ranks in each domain go by domains, though all could look at all? */
static int goes_by_domains(struct wdl_coll *coll, int domains, int per, double across)
{
    for (int i = 0; i < domains * per; i++)
        names[i] = i / per;
    struct wdl_team team = on_one_node(coll, domains * per, 0);
    team.params.model.across = across;
    team.on_node = 1;
    ck_assert_int_eq(wdl_nodes_make(&team, &team.nodes), WDL_OK);
    int goes = team.nodes != NULL;
    coll->host.ops->free(coll->host.ctx, team.nodes);
    return goes;
}

START_TEST(few_ranks_go_by_domains_where_that_is_faster)
{
    struct test_host host;
    test_host_init(&host);
    struct wdl_coll coll = {.host = host.host, .chunk_bytes = 1024};
    ck_assert(!goes_by_domains(&coll, 2, 2, 0));
    ck_assert(!goes_by_domains(&coll, 1, 32, 0));
    ck_assert(goes_by_domains(&coll, 2, 16, 0));
    ck_assert(goes_by_domains(&coll, 4, 8, 0));
    ck_assert(!goes_by_domains(&coll, 2, 5, 0));
    coll.preferred[WDL_COLL_SCAN] = "levels";
    ck_assert(goes_by_domains(&coll, 2, 2, 0));
    ck_assert_int_eq(host.live, 0);
}
END_TEST

START_TEST(heads_have_roles_enough)
{
    static const struct wdl_coll_model models[] = {
        {1000, 1000, 0, 0, 0}, {1500, 400, 0, 0, 0}, {10000, 100, 0, 0, 0}, {90000, 100, 0, 0, 0}};
    struct wdl_coll coll = {.chunk_bytes = 1024};
    for (int k = 0; k < 4; k++)
        for (int n = 3; n < 700; n += 1 + n / 20) {
            struct wdl_team team = {.coll = &coll, .params = {.size = n, .model = models[k]}};
            wdl_team_shape(&team);
            for (int count = 2; count < n; count += 1 + count / 20) {
                struct wdl_span span;
                wdl_span_make(&team, count, team.links, &span);
                ck_assert_int_eq(span.tree[WDL_SPAN_OPTIMAL].shape.ranks, count);
                ck_assert_int_le(span.tree[WDL_SPAN_OPTIMAL].children + 1, team.links);
                ck_assert_int_le(span.spread.steps, team.links);
            }
        }
}
END_TEST

/* What is found is kept, for those that ask for the same: the last ones. */
START_TEST(spans_are_kept)
{
    static const struct {
        double latency, gap;
        int size, links, found;
    } asked[] = {{1500, 400, 9, 0, 1}, {1500, 400, 9, 0, 1}, {1500, 400, 9, 5, 2},
                 {1500, 400, 9, 0, 2}, {1500, 400, 9, 5, 2}, {1500, 400, 8, 5, 3},
                 {1500, 400, 9, 5, 3}, {1500, 401, 8, 5, 4}, {1501, 400, 8, 5, 5},
                 {1500, 401, 8, 5, 5}, {1500, 400, 9, 0, 6}};
    static struct wdl_coll coll;
    memset(&coll, 0, sizeof(coll));
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        struct wdl_span span, same;
        memset(&span, 0, sizeof(span));
        memset(&same, 0, sizeof(same));
        wdl_span_shape(asked[i].latency, asked[i].gap, asked[i].size, asked[i].links, &same);
        wdl_span_find(&coll, asked[i].latency, asked[i].gap, asked[i].size, asked[i].links, &span);
        ck_assert_uint_eq(coll.spans_found, (uint64_t) asked[i].found);
        ck_assert_int_eq(span.size, asked[i].size);
        for (int k = 0; k < WDL_SPAN_TREES; k++) {
            ck_assert_uint_eq(span.tree[k].ps, same.tree[k].ps);
            ck_assert_int_eq(span.tree[k].children, same.tree[k].children);
        }
        ck_assert_int_eq(span.spread.steps, same.spread.steps);
        ck_assert_uint_eq(span.spread.time_ps, same.spread.time_ps);
        ck_assert_int_eq(span.one_size, same.one_size);
    }
}
END_TEST

/* Whatever the network, and as many ranks as there are: no tree is faster whose ranks have no more
 * children than they may. Of up to 65 the optimal one itself is such. */
START_TEST(the_tree_is_the_fastest_with_so_few_children)
{
    static const double latencies[] = {300, 1000, 4000, 20000, 60000, 100000, 1000000};
    static const double gaps[] = {1, 20, 200, 400, 2000};
    static const int links[] = {0, 16, 17, 24, 33, 64, 65, 66};
    static uint64_t arrivals[GREEDY_RANKS_MAX];
    for (int l = 0; l < 7; l++)
        for (int g = 0; g < 5; g++)
            for (int k = 0; k < 8; k++)
                for (int n = 2; n <= GREEDY_RANKS_MAX; n += 1 + n / 9) {
                    struct wdl_span span;
                    wdl_span_shape(latencies[l], gaps[g], n, links[k], &span);
                    int some = links[k] > 0 && links[k] <= WDL_CHILDREN_MAX;
                    int most = some ? links[k] - 1 : WDL_CHILDREN_MAX;
                    const struct wdl_span_tree *tree = &span.tree[WDL_SPAN_OPTIMAL];
                    ck_assert_int_le(tree->children, most);
                    greedy(n, most, tree->shape.eel_ps, tree->shape.gap_ps, arrivals);
                    ck_assert_uint_eq(tree->ps, arrivals[n - 1]);
                }
}
END_TEST

/* The most children of a rank. */
static int most_children(const struct wdl_tree_shape *shape, int root)
{
    int most = 0;
    for (int r = 0; r < shape->ranks; r++) {
        struct wdl_tree_node node;
        wdl_tree_find(shape, root, r, &node);
        most = node.children > most ? node.children : most;
    }
    return most;
}

/* Hops and waits on the way from rank 0 that has the most. */
static int most_steps(const struct wdl_tree_shape *shape)
{
    int most = 0;
    for (int r = 1; r < shape->ranks; r++) {
        struct wdl_tree_node node;
        int steps = 0;
        for (int at = r; at; at = node.parent) {
            wdl_tree_find(shape, 0, at, &node);
            steps += node.link + 1;
        }
        most = steps > most ? steps : most;
    }
    return most;
}

START_TEST(trees_by_name)
{
    static const int arity[] = {0, 2, 4, 0, 0};
    struct wdl_coll coll = {.chunk_bytes = 1024};
    for (int n = 2; n < 1200; n += 1 + (n > 70) * n / 3) {
        struct wdl_team team = {
            .coll = &coll, .params = {.size = n, .model = {1500, 400, 0, 0, 0}}};
        wdl_team_shape(&team);
        for (int k = WDL_SPAN_BINOMIAL; k < WDL_SPAN_TREES; k++) {
            const struct wdl_span_tree *tree = &team.span.tree[k];
            struct wdl_tree_shape shape = tree->shape;
            int most = most_children(&shape, 0);
            ck_assert_int_eq(shape.ranks, n);
            ck_assert_int_eq(shape.arity, arity[k]);
            ck_assert_int_eq(tree->children, most);
            ck_assert_uint_eq(tree->ps, wdl_tree_time_ps(&shape, 0));
            ck_assert_int_eq(tree->steps, most_steps(&shape));
            ck_assert_int_eq(wdl_span_has_links(&team, k, 0),
                             most < team.links && most <= WDL_CHILDREN_MAX);
            for (int i = 0, size = 1; k != WDL_SPAN_FLAT && i < tree->children; i++) {
                const struct wdl_span_child *child = &team.span.child[tree->first + i];
                struct wdl_tree_shape below = shape;
                size += below.ranks = child->size;
                ck_assert(i < tree->children - 1 || size == n);
                ck_assert_uint_eq(child->ps, wdl_tree_time_ps(&below, 0));
                ck_assert_int_eq(child->steps, most_steps(&below));
            }
            shape.ordered = 1;
            for (int root = 0; root < n && wdl_span_has_links(&team, k, 1); root += 1 + n / 20)
                ck_assert_int_lt(most_children(&shape, root), team.links);
        }
        ck_assert_int_eq(wdl_span_has_links(&team, WDL_SPAN_FLAT, 1), n <= team.links);
    }
}
END_TEST

WDL_SUITE("mpid/coll/nodes", all_ranks_find_the_same_nodes, the_domains_of_one_node,
          few_ranks_go_by_domains_where_that_is_faster, heads_have_roles_enough, spans_are_kept,
          the_tree_is_the_fastest_with_so_few_children, trees_by_name)
