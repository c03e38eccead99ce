/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Cells in shared memory: which messages they take, each its own place, seen in its own collective
 * alone; what they say of lengths; how far ranks are.
 */
#include <string.h>
#include "mpid/coll/algo.h"
#include "mpid/coll/ranks.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS = 4, EACH = 2, WINDOW = 8, CELL = 96 };

static struct ranks r;
static struct wdl_team *teams[RANKS];

/* Ranks 0, 1 share memory, and 2, 3. */
static void open_all(void)
{
    struct wdl_sim_params sim = {.seed = 3, .ranks = RANKS, .am_bytes_max = 1024};
    struct wdl_team_params params = {.id = 3, .window = WINDOW, .cell_bytes = CELL};
    struct wdl_coll_req reqs[RANKS] = {{0}};
    struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER, .flags = WDL_COLL_MPI};
    ranks_open(&r, &sim);
    ranks_team_nodes(&r, &params, EACH, 0, teams);
    for (int i = 0; i < RANKS; i++)
        ck_assert_int_eq(wdl_coll_start(teams[i], &barrier, &reqs[i]), WDL_OK);
    ranks_finish(&r, reqs, 1);
}

static void close_all(void)
{
    ranks_drop(&r, teams);
    ranks_close(&r);
}

static struct wdl_car car_of(const struct wdl_team *team, enum wdl_car_kind kind, int peer,
                             uint32_t role, size_t bytes)
{
    struct wdl_car car = {.kind = kind, .peer = peer, .role = role, .bytes = bytes};
    car.shm = wdl_shm_cell_of(team, &car);
    return car;
}

START_TEST(what_a_cell_takes)
{
    open_all();
    const struct wdl_team *team = teams[0];
    uint32_t flag = team->data_roles, bare = team->cell_roles;
    must(car_of(team, WDL_CAR_SEND, 1, 0, CELL).shm != NULL);
    must(car_of(team, WDL_CAR_RECV, 1, 0, CELL).shm != NULL);
    must(car_of(team, WDL_CAR_SEND, 1, flag, 0).shm != NULL);
    must(car_of(team, WDL_CAR_SEND, 1, 0, CELL + 1).shm == NULL);
    must(car_of(team, WDL_CAR_SEND, 1, flag, 1).shm == NULL); /* no room for data */
    must(car_of(team, WDL_CAR_SEND, 1, bare, 0).shm == NULL); /* no cell */
    must(car_of(team, WDL_CAR_SEND, 2, 0, 4).shm == NULL); /* another node */
    must(car_of(team, WDL_CAR_COPY, 1, 0, 4).shm == NULL);
    close_all();
}
END_TEST

/* Every role of every slot, filled: the other side reads what was meant for it. */
START_TEST(cells_are_apart_and_of_one_collective)
{
    open_all();
    const struct wdl_team *from = teams[0], *to = teams[1];
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t number = 10; number < 10 + WINDOW; number++)
            for (uint32_t role = 0; role < from->cell_roles; role++) {
                struct wdl_run out = {.team = teams[0], .seq = number, .stamp = number + 1},
                               in = {.team = teams[1], .seq = number, .stamp = number + 1};
                size_t bytes = role < from->data_roles ? CELL : 0;
                struct wdl_car send = car_of(from, WDL_CAR_SEND, 1, role, bytes),
                               recv = car_of(to, WDL_CAR_RECV, 0, role, bytes);
                char data[CELL];
                memset(data, (int) (number * 31 + role), CELL);
                if (pass == 0) {
                    must(wdl_shm_load(&in, &recv) == NULL);
                    wdl_shm_store(&out, &send, data);
                }
                const char *come = wdl_shm_load(&in, &recv);
                must(come != NULL);
                must(memcmp(come, data, bytes) == 0);
                must(wdl_shm_fits(&in, &recv));
                in.stamp += WINDOW; /* the next of this slot */
                in.seq += WINDOW;
                must(wdl_shm_load(&in, &recv) == NULL);
            }
    close_all();
}
END_TEST

START_TEST(another_length_or_meaning_does_not_fit)
{
    open_all();
    struct wdl_run out = {.team = teams[0], .seq = 9, .stamp = 10, .print = 5}, in = out;
    char data[CELL] = "";
    in.team = teams[1];
    struct wdl_car send = car_of(teams[0], WDL_CAR_SEND, 1, 0, 8),
                   recv = car_of(teams[1], WDL_CAR_RECV, 0, 0, 8),
                   less = car_of(teams[1], WDL_CAR_RECV, 0, 0, 7);
    wdl_shm_store(&out, &send, data);
    must(wdl_shm_fits(&in, &recv));
    must(!wdl_shm_fits(&in, &less));
    in.print = 6;
    must(!wdl_shm_fits(&in, &recv));
    close_all();
}
END_TEST

/* It sends, and is sent, messages: both sides must think so. */
START_TEST(a_rank_that_has_no_memory)
{
    static const enum wdl_coll_kind kinds[] = {WDL_COLL_BARRIER, WDL_COLL_ALLREDUCE,
                                               WDL_COLL_BROADCAST, WDL_COLL_EXCHANGE};
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    struct wdl_sim_params sim = {.seed = 3, .ranks = RANKS, .am_bytes_max = 1024};
    struct wdl_team_params params = {.id = 3, .window = WINDOW, .cell_bytes = CELL};
    struct wdl_coll_req reqs[RANKS];
    uint32_t in[RANKS][RANKS], out[RANKS][RANKS];
    for (int lacks = 0; lacks < RANKS; lacks++) {
        ranks_open(&r, &sim);
        r.lacks = lacks + 1;
        ranks_team_nodes(&r, &params, RANKS, 0, teams);
        for (int k = 0; k < 3 * KINDS; k++) {
            memset(reqs, 0, sizeof reqs);
            memset(out, 0, sizeof out);
            for (int i = 0; i < RANKS; i++) {
                for (int to = 0; to < RANKS; to++)
                    in[i][to] = (uint32_t) (1000 * k + 10 * i + to);
                struct wdl_coll_args args = {.kind = kinds[k % KINDS], .flags = WDL_COLL_MPI,
                                             .src = in[i], .dst = out[i], .bytes = sizeof in[i][0]};
                if (args.kind == WDL_COLL_ALLREDUCE)
                    args.op = (struct wdl_coll_op){
                        .fn = ranks_sum, .elem_bytes = sizeof in[i][0], .commutes = 1};
                if (args.kind == WDL_COLL_BARRIER)
                    args.bytes = 0;
                must_cmp(wdl_coll_start(teams[i], &args, &reqs[i]), ==, WDL_OK);
            }
            ranks_finish(&r, reqs, 1);
            for (int i = 0; i < RANKS; i++) {
                uint32_t all = RANKS * 1000 * (uint32_t) k + 10 * RANKS * (RANKS - 1) / 2;
                must_cmp(reqs[i].status, ==, WDL_OK);
                if (kinds[k % KINDS] == WDL_COLL_ALLREDUCE)
                    must_cmp(out[i][0], ==, all);
                else if (kinds[k % KINDS] == WDL_COLL_BROADCAST)
                    must_cmp(out[i][0], ==, in[0][0]);
                for (int from = 0; from < RANKS && kinds[k % KINDS] == WDL_COLL_EXCHANGE; from++)
                    must_cmp(out[i][from], ==, in[from][i]);
            }
        }
        for (int i = 0; i < RANKS; i++)
            for (int k = 0; k < RANKS; k++) {
                int has = i != k && i != lacks && k != lacks;
                if (i == k)
                    continue;
                must_cmp(car_of(teams[i], WDL_CAR_SEND, k, 0, 4).shm != NULL, ==, has);
                must_cmp(car_of(teams[i], WDL_CAR_RECV, k, 0, 4).shm != NULL, ==, has);
            }
        close_all();
    }
}
END_TEST

/* The least of all, where numbers wrap, too; and of one. */
START_TEST(how_far_ranks_are)
{
    struct wdl_sim_params sim = {.seed = 3, .ranks = 3, .am_bytes_max = 1024};
    struct wdl_team_params params = {.id = 3, .window = WINDOW, .first_seq = 100};
    ranks_open(&r, &sim);
    ranks_team_nodes(&r, &params, 3, 0, teams);
    struct wdl_coll_req reqs[RANKS] = {{0}};
    struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER, .flags = WDL_COLL_MPI};
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(wdl_coll_start(teams[i], &barrier, &reqs[i]), WDL_OK);
    ranks_finish(&r, reqs, 1);
    uint32_t done[3];
    for (int i = 0; i < 3; i++)
        done[i] = teams[i]->done;
    for (uint32_t base = 5; base; base = base == 5 ? UINT32_MAX - 1 : 0)
        for (int last = 0; last < 3; last++) {
            for (int i = 0; i < 3; i++) {
                teams[i]->done = 100 + base + (i == last ? 0 : 3);
                wdl_shm_say_finished(teams[i], base + (i == last ? 0 : 3));
            }
            for (int i = 0; i < 3; i++) {
                must_cmp(wdl_shm_finished(teams[i]), ==, base);
                for (int k = 0; k < 3; k++)
                    must_cmp(wdl_shm_finished_by(teams[i], k), ==, teams[k]->done);
            }
        }
    for (int i = 0; i < 3; i++) {
        teams[i]->done = done[i];
        wdl_shm_say_finished(teams[i], done[i] - 100);
    }
    close_all();
}
END_TEST

WDL_SUITE("coll/shm", what_a_cell_takes, cells_are_apart_and_of_one_collective,
          another_length_or_meaning_does_not_fit, a_rank_that_has_no_memory, how_far_ranks_are)
