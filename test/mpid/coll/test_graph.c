/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Building graphs: what depends on what, roles, pieces, whom a request waits for; memory that runs
 * out.
 */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/graphs.h"
#include "mpid/coll/nodes.h"
#include "support/must.h"
#include "support/suite.h"

static struct graphs g; /* for a team */
static struct wdl_build b;

static struct wdl_team *open_team(int n)
{
    graphs_open(&g, n, 0, 1);
    return &g.one[0].team;
}

static int depends(const struct wdl_graph *graph, int before, int after, int range)
{
    const struct wdl_car *car = &graph->cars[before];
    int count = 0;
    for (int k = 0; k < car->edge_count; k++) {
        const struct wdl_edge *edge = &graph->edges[car->edge + k];
        count += edge->car == after && (edge->kind == WDL_EDGE_RANGE) == range;
    }
    return count;
}

/* More CARs and dependencies than the first memory holds: each is in its place, and counted. */
START_TEST(dependencies_are_where_they_belong)
{
    enum { N = 200 };
    struct wdl_team *team = open_team(2);
    wdl_build_begin(&b, team, NULL);
    for (int i = 0; i < N; i++)
        must_cmp(wdl_build_copy(&b, wdl_tmp((size_t) i * 8), wdl_tmp(0), (size_t) i + 1), ==, i);
    for (int i = 0; i < N; i++)
        for (int j = 1; j <= 3 && i + j < N; j++) {
            if (j < 3)
                wdl_build_order(&b, i, i + j);
            else
                wdl_build_stream(&b, i, 1, i + j, 2, 3);
        }
    wdl_build_order(&b, WDL_CAR_NONE, 5); /* nothing */
    wdl_build_order(&b, 5, WDL_CAR_NONE);
    wdl_build_stream(&b, 0, 0, N - 1, 0, 0); /* no bytes: its completion */
    struct wdl_graph *graph = wdl_build_end(&b);
    must(graph);
    must_cmp(graph->ncars, ==, N);
    for (int i = 0; i < N; i++) {
        const struct wdl_car *car = &graph->cars[i];
        must_cmp(car->bytes, ==, i + 1);
        must_cmp(car->waits, ==, (i > 0) + (i > 1) + (i == N - 1));
        must_cmp(car->input_count, ==, i > 2);
        must_cmp(car->edge_count, ==, (N - 1 - i < 3 ? N - 1 - i : 3) + (i == 0));
        for (int j = 1; j <= 3 && i + j < N; j++)
            must_cmp(depends(graph, i, i + j, j == 3), ==, 1);
        if (i > 2) {
            const struct wdl_input *in = &graph->inputs[car->input];
            must(in->car == i - 3 && in->from == 1 && in->at == 2 && in->bytes == 3);
        }
    }
    must_cmp(depends(graph, 0, N - 1, 0), ==, 1);
    wdl_graph_free(team, graph);
    graphs_close(&g);
}
END_TEST

START_TEST(a_role_finds_its_recv)
{
    static const uint32_t roles[] = {7, 0, 3};
    struct wdl_team *team = open_team(4);
    wdl_build_begin(&b, team, NULL);
    for (int i = 0; i < 3; i++) {
        wdl_build_send(&b, 1 + i, 9, wdl_src(0), 4); /* a role there is none of ours */
        wdl_build_recv(&b, 1 + i, roles[i], wdl_dst(0), 4);
    }
    struct wdl_graph *graph = wdl_build_end(&b);
    must_cmp(graph->nroles, ==, 8);
    for (uint32_t role = 0; role < graph->nroles; role++)
        must_cmp(graph->car_of_role[role], ==,
                 role == 7 ? 1 : role == 0 ? 3 : role == 3 ? 5 : WDL_CAR_NONE);
    wdl_graph_free(team, graph);
    graphs_close(&g);
}
END_TEST

/* As few packets as there can be, nearly alike, and a bit for each in the receiver's map. */
START_TEST(pieces)
{
    struct wdl_team *team = open_team(2);
    for (size_t bytes = 0; bytes < 5 * GRAPHS_PACKET; bytes++) {
        wdl_build_begin(&b, team, NULL);
        wdl_build_recv(&b, 1, 0, wdl_dst(0), bytes);
        wdl_build_recv(&b, 1, 1, wdl_dst(0), 70 * GRAPHS_PACKET);
        struct wdl_graph *graph = wdl_build_end(&b);
        size_t piece = graph->cars[0].piece, least = (bytes + GRAPHS_PACKET - 1) / GRAPHS_PACKET;
        must(piece > 0 && piece <= GRAPHS_PACKET);
        must_cmp((bytes + piece - 1) / piece, ==, least);
        must_cmp(graph->cars[1].chunk_map, ==, bytes > GRAPHS_PACKET);
        must_cmp(graph->map_words, ==, 2 + (bytes > GRAPHS_PACKET));
        if (least > 1)
            must_cmp(piece - (bytes + least - 1) / least, <, 64);
        wdl_graph_free(team, graph);
    }
    graphs_close(&g);
}
END_TEST

static int nothing(struct wdl_run *run, int arg)
{
    (void) run;
    (void) arg;
    return WDL_OK;
}

/* OUT_NOSYNC: what writes here; else what touches the caller's memory; what uses its operator, and
 * what was said, in any case. */
START_TEST(whom_a_request_waits_for)
{
    struct wdl_team *team = open_team(2);
    for (int loose = 0; loose < 2; loose++) {
        struct wdl_coll_args args = {.flags = loose ? WDL_COLL_OUT_NOSYNC : WDL_COLL_OUT_MYSYNC};
        wdl_build_begin(&b, team, &args);
        int cars[] = {wdl_build_send(&b, 1, 0, wdl_src(0), 4),
                      wdl_build_send(&b, 1, 1, wdl_tmp(0), 4),
                      wdl_build_recv(&b, 1, 0, wdl_dst(0), 4),
                      wdl_build_recv(&b, 1, 1, wdl_tmp(0), 4),
                      wdl_build_copy(&b, wdl_tmp(0), wdl_src(0), 4),
                      wdl_build_reduce(&b, wdl_tmp(0), wdl_tmp(8), 4),
                      wdl_build_call(&b, nothing, 0, 1),
                      wdl_build_call(&b, nothing, 0, 2),
                      wdl_build_call(&b, nothing, 0, 0),
                      wdl_build_join(&b)};
        static const int wanted[] = {1, 0, 2, 0, 1, 3, 1, 2, 0, 3}; /* 1: unless loose; 2, 3 */
        wdl_build_user(&b, cars[9]);
        wdl_build_user(&b, WDL_CAR_NONE);
        struct wdl_graph *graph = wdl_build_end(&b);
        int users = 0;
        for (int i = 0; i < 10; i++) {
            must_cmp(graph->cars[i].user, ==, wanted[i] > loose);
            users += wanted[i] > loose;
        }
        must_cmp(graph->nusers, ==, users);
        wdl_graph_free(team, graph);
    }
    graphs_close(&g);
}
END_TEST

/* A block for oneself: never more than there is room for; another length is an error. */
START_TEST(an_own_block_of_another_length)
{
    struct wdl_team *team = open_team(2);
    for (int more = -4; more <= 4; more += 4) {
        wdl_build_begin(&b, team, NULL);
        wdl_build_own(&b, wdl_dst(0), 8, wdl_src(0), (size_t) (8 + more));
        struct wdl_graph *graph = wdl_build_end(&b);
        must_cmp(graph->ncars, ==, 1 + (more != 0));
        const struct wdl_car *copy = &graph->cars[graph->ncars - 1];
        must(copy->kind == WDL_CAR_COPY);
        must_cmp(copy->bytes, ==, more < 0 ? 4 : 8);
        if (more != 0) {
            must(graph->cars[0].kind == WDL_CAR_CALL && graph->cars[0].user);
            must_cmp(graph->cars[0].fn(NULL, 0), ==, WDL_ERR_TRUNCATE);
        }
        wdl_graph_free(team, graph);
    }
    graphs_close(&g);
}
END_TEST

/* Pieces of own memory begin at lines and do not overlap. */
START_TEST(room_in_own_memory)
{
    struct wdl_team *team = open_team(2);
    size_t end = 0;
    wdl_build_begin(&b, team, NULL);
    for (size_t bytes = 0; bytes < 300; bytes += 7) {
        size_t at = wdl_build_tmp(&b, bytes);
        must_cmp(at % 64, ==, 0);
        must_cmp(at, >=, end);
        end = at + bytes;
    }
    struct wdl_graph *graph = wdl_build_end(&b);
    must_cmp(graph->tmp_bytes, >=, end);
    wdl_graph_free(team, graph);
    graphs_close(&g);
}
END_TEST

/* Heads of nodes, numbered by node: peers are ranks of the team. */
START_TEST(heads_speak_for_nodes)
{
    static const int leader[] = {0, 3, 6};
    struct wdl_team *team = open_team(9);
    wdl_build_begin(&b, team, NULL);
    b.rank = 2;
    b.size = 3;
    b.leader = leader;
    b.root = 1;
    b.head = 5; /* of the root's node, instead of 3 */
    wdl_build_send(&b, 0, 0, wdl_src(0), 4);
    wdl_build_send(&b, 1, 0, wdl_src(0), 4);
    wdl_build_recv(&b, 1, 0, wdl_dst(0), 4);
    struct wdl_graph *graph = wdl_build_end(&b);
    must_cmp(graph->cars[0].peer, ==, 0);
    must_cmp(graph->cars[1].peer, ==, 5);
    must_cmp(graph->cars[2].peer, ==, 5);
    wdl_graph_free(team, graph);
    graphs_close(&g);
}
END_TEST

/* Whichever allocation fails: no graph, nothing kept. */
START_TEST(memory_that_runs_out)
{
    int failures = 0;
    for (int after = 1;; after++) {
        struct wdl_team *team = open_team(2);
        g.host.fail_after = after;
        wdl_build_begin(&b, team, NULL);
        for (int i = 0; i < 100; i++) {
            int copy = wdl_build_copy(&b, wdl_tmp(0), wdl_tmp(64), 4);
            wdl_build_order(&b, i ? copy - 1 : WDL_CAR_NONE, copy);
        }
        struct wdl_graph *graph = wdl_build_end(&b);
        g.host.fail_after = 0;
        if (graph) {
            must_cmp(graph->ncars, ==, 100);
            wdl_graph_free(team, graph);
            break;
        }
        must_cmp(g.coll.store.used, ==, 0);
        graphs_close(&g);
        failures++;
    }
    must_cmp(failures, >, 4);
    graphs_close(&g);
}
END_TEST

WDL_SUITE("coll/graph", dependencies_are_where_they_belong, a_role_finds_its_recv, pieces,
          whom_a_request_waits_for, an_own_block_of_another_length, room_in_own_memory,
          heads_speak_for_nodes, memory_that_runs_out)
