/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of coll/model, and of what
 * select.c does with it: costs as text, algorithms by name. */
#include <string.h>
#include "mpid/coll/coll_impl.h"
#include "mpid/coll/ranks.h"
#include "support/suite.h"

START_TEST(a_model_is_read)
{
    static const char *const good[] = {
        "latency 1500\ngap 400.5\nbyte 0.125\nreduce 0\n",
        "# a remark\n\n  reduce 0 # none\r\n\tbyte\t.125\nlatency 1500.0\ngap 400.5",
        "latency 1500\ngap 400.5\nacross 250\nbyte 0.125\nreduce 0\n",
    };
    for (int i = 0; i < 3; i++) {
        struct wdl_coll_model model;
        char err[128] = "";
        int status = wdl_coll_model_read(good[i], &model, err, sizeof(err));
        ck_assert_msg(status == WDL_OK, "%s", err);
        ck_assert(model.latency == 1500 && model.gap == 400.5 && model.byte == 0.125 &&
                  model.reduce == 0);
        ck_assert(model.across == (i == 2 ? 250 : 0));
    }
}
END_TEST

/* And then the model is what it was. */
START_TEST(what_is_wrong_is_said)
{
    static const char *const bad[][2] = {
        {"", "not all there"},
        {"latency 1\ngap 1\nbyte 1\n", "not all there"},
        {"latency 1\ngap 1\nbyte 1\nlatency 2\n", "line 4: said before"},
        {"across 1\nlatency 1\nacross 2\n", "line 3: said before"},
        {"latency 1\ngap 1\nbyte 1\nacross 1\n", "not all there"},
        {"latency 1\n\nspeed 1\n", "line 3: not"},
        {"latency\n", "line 1: not"},
        {"latency .\n", "line 1: not"},
        {"latency 1.2.3\n", "line 1: not"},
        {"latency -1\n", "line 1: not"},
        {"latency 1e3\n", "line 1: not"},
        {"latency nan\n", "line 1: not"},
        {"latency 1 ns\n", "line 1: not"},
        {"latency 111111111111111111111\n", "line 1: not"},
        {"latencygap 1\n", "line 1: not"},
        {"latency 0\ngap 1\nbyte 1\nreduce 1\n", "between"},
        {"latency 1\ngap 100000000001\nbyte 1\nreduce 1\n", "between"},
        {"latency 1\ngap 1\nbyte 1\nreduce 1\nacross 100000000001\n", "between"},
    };
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct wdl_coll_model model = {1, 2, 3, 4, 0};
        char err[128] = "";
        int status = wdl_coll_model_read(bad[i][0], &model, err, sizeof(err));
        ck_assert_int_eq(status, WDL_ERR_ARG);
        ck_assert_msg(strstr(err, bad[i][1]) != NULL, "%s: %s", bad[i][0], err);
        ck_assert(model.latency == 1 && model.gap == 2 && model.byte == 3 && model.reduce == 4);
    }
}
END_TEST

enum { N = 9 };

static struct ranks r;
static struct wdl_team *teams[N];

static void open_world(const struct wdl_coll_model *model, const char *preferred)
{
    struct wdl_sim_params sim = {.seed = 5, .ranks = N, .ordered = 1, .am_bytes_max = 1024};
    struct wdl_team_params params = {.id = 3};
    char err[64];
    ranks_open(&r, &sim);
    for (int i = 0; i < N; i++) {
        if (model)
            wdl_coll_model_set(r.one[i].proc, model);
        ck_assert_int_eq(wdl_coll_prefer(r.one[i].proc, preferred, err, sizeof(err)), WDL_OK);
    }
    ranks_team(&r, &params, teams);
}

static void close_world(void)
{
    ranks_drop(&r, teams);
    ranks_close(&r);
}

START_TEST(teams_take_the_model_that_is_set)
{
    static const struct wdl_coll_model slow = {100000, 1000, 0.1, 0.25, 0};
    open_world(NULL, "");
    ck_assert(teams[0]->params.model.latency == 1500);
    close_world();
    open_world(&slow, "");
    ck_assert(teams[0]->params.model.latency == 100000);
    ck_assert_int_eq(teams[0]->span.spread.steps, N - 1); /* everyone tells everyone */
    close_world();
}
END_TEST

static int row(enum wdl_coll_kind kind, size_t bytes, const char *algorithm)
{
    struct wdl_coll_args args = {.kind = kind,
                                 .flags = WDL_COLL_MPI,
                                 .bytes = bytes,
                                 .op = {ranks_sum, NULL, 4, 1, NULL},
                                 .algorithm = algorithm};
    int status;
    return wdl_select_row(teams[0], &args, &status);
}

START_TEST(an_algorithm_is_preferred_where_it_applies)
{
    char err[64];
    open_world(NULL, "");
    int chosen = row(WDL_COLL_ALLREDUCE, 8, NULL), scatter = row(WDL_COLL_SCATTER, 8, NULL);
    int halving = row(WDL_COLL_ALLREDUCE, 4000, "halving");
    int ring = row(WDL_COLL_BROADCAST, 4000, "scatter_ring");
    close_world();
    open_world(NULL, "allreduce:halving,BROADCAST:scatter_ring,SCATTER:node");
    ck_assert_int_eq(row(WDL_COLL_ALLREDUCE, 36, NULL), halving);
    ck_assert_int_eq(row(WDL_COLL_ALLREDUCE, 8, NULL), chosen); /* less than an element each */
    ck_assert_int_eq(row(WDL_COLL_BROADCAST, 9, NULL), ring);
    ck_assert_int_ne(row(WDL_COLL_BROADCAST, 9, "tree"), ring); /* a call's own wish is stronger */
    ck_assert_int_eq(row(WDL_COLL_SCATTER, 8, NULL), scatter); /* not on one node */
    /* nothing changes with what is wrong */
    static const char *const bad[] = {"broadcast:bruck",          "broadcast",
                                      "broadcast:tree,",          ":tree",
                                      "broadcast:tree,what:tree", "broadcast:tre"};
    for (int i = 0; i < 6; i++) {
        int status = wdl_coll_prefer(r.one[0].proc, bad[i], err, sizeof(err));
        ck_assert_int_eq(status == WDL_OK, i == 2); /* a comma at the end is none */
        ck_assert(i == 2 || strstr(err, "no such algorithm"));
        if (i == 2)
            ck_assert_int_eq(
                wdl_coll_prefer(r.one[0].proc, "broadcast:scatter_ring", err, sizeof(err)), WDL_OK);
        ck_assert_int_eq(row(WDL_COLL_BROADCAST, 9, NULL), ring);
    }
    close_world();
}
END_TEST

WDL_SUITE("mpid/coll/model", a_model_is_read, what_is_wrong_is_said,
          teams_take_the_model_that_is_set, an_algorithm_is_preferred_where_it_applies)
