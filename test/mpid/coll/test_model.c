/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of coll/model, and of what
 * select.c does with it: costs as text, where the engine wins, algorithms by name. */
#include <math.h>
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
        struct wdl_coll_wins wins;
        char err[128] = "";
        int status = wdl_coll_model_read(good[i], &model, &wins, err, sizeof(err));
        ck_assert_msg(status == WDL_OK, "%s", err);
        ck_assert(model.latency == 1500 && model.gap == 400.5 && model.byte == 0.125 &&
                  model.reduce == 0);
        ck_assert(model.across == (i == 2 ? 250 : 0));
        ck_assert(memcmp(&wins, &wdl_coll_wins_measured, sizeof(wins)) == 0);
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
        {"wins scan 2 1 8\n", "not all there"},
        {"wins\n", "line 1: no such kind"},
        {"wins custom 2\n", "line 1: no such kind"},
        {"wins scans 2\n", "line 1: no such kind"},
        {"wins_late scan 2\n", "line 1: not `latency'"},
        {"wins scan\n", "line 1: not a kind, a number"},
        {"wins scan x\n", "line 1: not a kind, a number"},
        {"wins scan -1\n", "line 1: not a kind, a number"},
        {"wins scan 2.5\n", "line 1: not a kind, a number"},
        {"wins scan 2147483648\n", "line 1: not a kind, a number"},
        {"wins scan 2 9 8\n", "line 1: not a kind, a number"},
        {"wins scan 2 1 8 9\n", "line 1: not a kind, a number"},
        {"wins scan 2 1 1000000000000001\n", "line 1: not a kind, a number"},
        {"wins_varied gather 2 1\n", "line 1: not a kind and a number of ranks"},
        {"wins scan 2 1\nwins scan 2 2\nwins scan 2 3\nwins scan 2 4\nwins scan 2 5\n",
         "line 5: too many"},
    };
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct wdl_coll_model model = {1, 2, 3, 4, 0};
        struct wdl_coll_wins wins = {.of[WDL_COLL_SCAN][WDL_COLL_WAITED] = {{5, 6, 7}}}, was = wins;
        char err[128] = "";
        int status = wdl_coll_model_read(bad[i][0], &model, &wins, err, sizeof(err));
        ck_assert_int_eq(status, WDL_ERR_ARG);
        ck_assert_msg(strstr(err, bad[i][1]) != NULL, "%s: %s", bad[i][0], err);
        ck_assert(model.latency == 1 && model.gap == 2 && model.byte == 3 && model.reduce == 4);
        ck_assert(memcmp(&wins, &was, sizeof(wins)) == 0);
    }
}
END_TEST

/* Lines for a kind and form replace what was measured of that alone. */
START_TEST(where_the_engine_wins_is_read)
{
    static const char text[] = "latency 1500\ngap 400\nbyte 0.1\nreduce 0.2\n"
                               "wins allreduce 3 1 64 # short\nwins Allreduce 2 100\r\n"
                               "wins reduce 0\nwins_begun scan 5\n\twins barrier 2\n"
                               "wins_varied gather_all 6\nwins_varied_begun exchange 0";
    struct wdl_coll_wins wins, want = wdl_coll_wins_measured;
    struct wdl_coll_model model;
    char err[128] = "";
    memset(want.of[WDL_COLL_ALLREDUCE][WDL_COLL_WAITED], 0,
           sizeof(want.of[WDL_COLL_ALLREDUCE][WDL_COLL_WAITED]));
    want.of[WDL_COLL_ALLREDUCE][WDL_COLL_WAITED][0] = (struct wdl_coll_win){3, 1, 64};
    want.of[WDL_COLL_ALLREDUCE][WDL_COLL_WAITED][1] = (struct wdl_coll_win){2, 100, SIZE_MAX};
    memset(want.of[WDL_COLL_REDUCE][WDL_COLL_WAITED], 0,
           sizeof(want.of[WDL_COLL_REDUCE][WDL_COLL_WAITED]));
    want.of[WDL_COLL_REDUCE][WDL_COLL_WAITED][0] = (struct wdl_coll_win){0, 0, SIZE_MAX};
    want.of[WDL_COLL_SCAN][WDL_COLL_BEGUN][0] = (struct wdl_coll_win){5, 0, SIZE_MAX};
    want.of[WDL_COLL_BARRIER][WDL_COLL_WAITED][0] = (struct wdl_coll_win){2, 0, SIZE_MAX};
    want.of[WDL_COLL_GATHER_ALL][WDL_COLL_VARIED][0] = (struct wdl_coll_win){6, 0, SIZE_MAX};
    want.of[WDL_COLL_EXCHANGE][WDL_COLL_VARIED_BEGUN][0] = (struct wdl_coll_win){0, 0, SIZE_MAX};
    int status = wdl_coll_model_read(text, &model, &wins, err, sizeof(err));
    ck_assert_msg(status == WDL_OK, "%s", err);
    for (int kind = 0; kind < WDL_COLL_KIND_COUNT; kind++)
        for (int i = 0; i < WDL_COLL_FORM_COUNT * WDL_COLL_WINS_MAX; i++) {
            const struct wdl_coll_win *got = &wins.of[kind][0][0] + i;
            const struct wdl_coll_win *w = &want.of[kind][0][0] + i;
            ck_assert_msg(got->a_node == w->a_node && got->least == w->least &&
                              got->most == w->most,
                          "%s, row %d", wdl_coll_kind_name(kind), i);
        }
}
END_TEST

START_TEST(what_is_written_is_read_again)
{
    static const struct wdl_coll_model models[] = {{1500, 400.125, 0.1, 0.25, 0},
                                                   {0.001, 1e11, 0.001, 3, 250.5}};
    for (int i = 0; i < 2; i++) {
        struct wdl_coll_model got;
        struct wdl_coll_wins wins;
        char text[256], err[128] = "";
        const struct wdl_coll_model *want = &models[i];
        int status = wdl_coll_model_write(want, text, sizeof(text), err, sizeof(err));
        ck_assert_msg(status == WDL_OK, "%s", err);
        size_t bytes = strlen(text) + 1;
        status = wdl_coll_model_read(text, &got, &wins, err, sizeof(err));
        ck_assert_msg(status == WDL_OK, "%s", err);
        ck_assert(fabs(got.latency - want->latency) < 1e-6 && fabs(got.gap - want->gap) < 1e-4 &&
                  fabs(got.byte - want->byte) < 1e-6 && fabs(got.reduce - want->reduce) < 1e-6 &&
                  fabs(got.across - want->across) < 1e-6);
        ck_assert_int_eq(wdl_coll_model_write(want, text, bytes, err, sizeof(err)), WDL_OK);
        ck_assert_int_eq(wdl_coll_model_write(want, text, bytes - 1, err, sizeof(err)),
                         WDL_ERR_ARG);
    }
}
END_TEST

/* A measurement that went wrong. */
START_TEST(no_nonsense_is_written)
{
    static const double bad[] = {0, -1, 0.0001, 2e11, NAN, INFINITY, -INFINITY};
    static const char *const name[] = {"latency", "gap", "byte", "reduce", "across"};
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        for (int field = 0; field < 5; field++) {
            struct wdl_coll_model model = {1, 2, 3, 4, 5};
            double *at[] = {&model.latency, &model.gap, &model.byte, &model.reduce, &model.across};
            char text[256], err[128] = "";
            *at[field] = bad[i];
            int status = wdl_coll_model_write(&model, text, sizeof(text), err, sizeof(err));
            int is_unsaid = field == 4 && bad[i] == 0;
            ck_assert_int_eq(status, is_unsaid ? WDL_OK : WDL_ERR_ARG);
            ck_assert_msg(is_unsaid || strncmp(err, name[field], strlen(name[field])) == 0, "%s",
                          err);
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
          where_the_engine_wins_is_read, what_is_written_is_read_again, no_nonsense_is_written,
          teams_take_the_model_that_is_set, an_algorithm_is_preferred_where_it_applies)
