/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Boards: what a rank shows is seen by all in its own collective and in no other, its length with
 * it; slots do not overlap.
 */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/board.h"
#include "mpid/coll/ranks.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS = 5, WINDOW = 8, BOARD = 512 };

static struct ranks r;
static struct wdl_team *teams[RANKS];
static struct wdl_run run[RANKS];

/* Collective `number` of the team, from 1, as each rank runs it. */
static void begin(uint32_t number, enum wdl_coll_kind kind, size_t bytes)
{
    for (int i = 0; i < RANKS; i++) {
        run[i] = (struct wdl_run){.team = teams[i],
                                  .seq = teams[i]->params.first_seq + number,
                                  .stamp = (uint64_t) number + 1,
                                  .print = 77,
                                  .shown = bytes / 2,
                                  .args = {.kind = kind, .bytes = bytes}};
        wdl_board_open(&run[i]);
    }
}

static void open_all(int peeks)
{
    struct wdl_sim_params sim = {.seed = 3, .ranks = RANKS, .am_bytes_max = 1024};
    struct wdl_team_params params = {
        .id = 3, .window = WINDOW, .board_bytes = BOARD, .first_seq = UINT32_MAX - 3};
    struct wdl_coll_req reqs[RANKS] = {{0}};
    struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER, .flags = WDL_COLL_MPI};
    ranks_open(&r, &sim);
    ranks_team_nodes(&r, &params, RANKS, peeks, teams);
    for (int i = 0; i < RANKS; i++)
        ck_assert_int_eq(wdl_coll_start(teams[i], &barrier, &reqs[i]), WDL_OK);
    ranks_finish(&r, reqs, 1); /* the team is open */
}

static void close_all(void)
{
    ranks_drop(&r, teams);
    ranks_close(&r);
}

START_TEST(what_is_posted_is_seen_by_all_and_nowhere_else)
{
    open_all(0);
    begin(2, WDL_COLL_BROADCAST, 200);
    for (int place = 0; place < WDL_BOARD_PLACES; place++)
        for (int owner = 0; owner < RANKS; owner++) {
            for (int i = 0; i < RANKS; i++)
                must(!wdl_board_seen(&run[i], owner, (enum wdl_place_on_board) place));
            if (place == WDL_BOARD_DATA)
                memset(wdl_board_sheet(&run[owner], owner), 'a' + owner, BOARD);
            uint64_t stored = wdl_coll_stats(r.one[owner].proc)->stored;
            wdl_board_post(&run[owner], (enum wdl_place_on_board) place);
            must_cmp(wdl_coll_stats(r.one[owner].proc)->stored - stored, ==, 1);
            for (int i = 0; i < RANKS; i++) {
                must(wdl_board_seen(&run[i], owner, (enum wdl_place_on_board) place));
                must_cmp(wdl_board_length_at(&run[i], owner, (enum wdl_place_on_board) place), ==,
                         200);
            }
        }
    for (int owner = 0; owner < RANKS; owner++) /* places do not lie over the sheet */
        for (int k = 0; k < BOARD; k++)
            must_cmp(wdl_board_sheet(&run[0], owner)[k], ==, 'a' + owner);
    begin(3, WDL_COLL_BROADCAST, 200); /* the next slot, and this one the next time */
    for (int owner = 0; owner < RANKS; owner++)
        must(!wdl_board_seen(&run[0], owner, WDL_BOARD_DATA));
    begin(2 + WINDOW, WDL_COLL_BROADCAST, 200);
    for (int owner = 0; owner < RANKS; owner++)
        must(!wdl_board_seen(&run[0], owner, WDL_BOARD_DATA));
    close_all();
}
END_TEST

/* All slots of all ranks filled to their ends: each has its own, across the wrap of numbers. */
START_TEST(slots_do_not_overlap)
{
    open_all(0);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t number = 0; number < WINDOW; number++) {
            begin(number, WDL_COLL_ALLREDUCE, BOARD);
            for (int owner = 0; owner < RANKS; owner++)
                for (int k = 0; k < BOARD; k++) {
                    char *at = &wdl_board_sheet(&run[owner], owner)[k];
                    char value = (char) (number * RANKS + (uint32_t) owner + (uint32_t) k);
                    if (pass == 0)
                        *at = value;
                    must_cmp(*at, ==, value);
                }
        }
    close_all();
}
END_TEST

/* What a rank gives, and fits: broadcast, reduce, gather, and all blocks of a scatter. Others are
 * on boards, and a gather's root shows where it wants all. */
START_TEST(little_that_one_gives_is_on_a_line)
{
    static const enum wdl_coll_kind kinds[] = {WDL_COLL_BROADCAST,  WDL_COLL_REDUCE,
                                               WDL_COLL_GATHER,     WDL_COLL_SCATTER,
                                               WDL_COLL_GATHER_ALL, WDL_COLL_SCAN};
    open_all(0);
    for (uint32_t k = 0; k < 6; k++)
        for (size_t bytes = 16; bytes <= WDL_COLL_LINE_BYTES + 16; bytes += 16) {
            size_t most = kinds[k] == WDL_COLL_SCATTER ? WDL_COLL_LINE_BYTES / RANKS
                                                       : WDL_COLL_LINE_BYTES;
            begin(4 + 6 * (uint32_t) bytes + k, kinds[k], bytes);
            for (int owner = 0; owner < RANKS; owner++) {
                int is_root = owner == 0, lined = k < 4 && bytes <= most;
                lined &= kinds[k] == WDL_COLL_GATHER ? !is_root : 1;
                lined &= kinds[k] == WDL_COLL_SCATTER ? is_root : 1;
                must_cmp(wdl_board_is_lined(&run[owner], owner), ==, lined);
                must(!wdl_board_seen(&run[(owner + 1) % RANKS], owner, WDL_BOARD_DATA));
                memset(wdl_board_sheet(&run[owner], owner), 'a' + owner, bytes);
                wdl_board_post(&run[owner], WDL_BOARD_DATA);
                for (int i = 0; i < RANKS; i++) { /* readers find it by looking */
                    must(wdl_board_seen(&run[i], owner, WDL_BOARD_DATA));
                    must(wdl_board_has_come(&run[i], owner));
                    must_cmp(wdl_board_is_lined(&run[i], owner), ==, lined);
                    must_cmp(wdl_board_sheet(&run[i], owner)[bytes - 1], ==, 'a' + owner);
                }
            }
        }
    close_all();
}
END_TEST

/* As many lines as a rank may be ahead, and no two the same. */
START_TEST(lines_do_not_overlap)
{
    open_all(0);
    uint32_t numbers = (uint32_t) teams[0]->numbers;
    ck_assert_uint_gt(numbers, 4 * WINDOW);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t number = 2; number < 2 + numbers; number++) {
            begin(number, WDL_COLL_REDUCE, WDL_COLL_LINE_BYTES);
            for (int owner = 0; owner < RANKS; owner++)
                for (size_t k = 0; k < WDL_COLL_LINE_BYTES; k++) {
                    char *at = &wdl_board_sheet(&run[owner], owner)[k];
                    char value = (char) (number * RANKS + (uint32_t) owner + k);
                    if (pass == 0)
                        *at = value;
                    must_cmp(*at, ==, value);
                }
        }
    close_all();
}
END_TEST

/* Blocks for all others, and how long each is, where they fit a line; the own one is not there. */
START_TEST(blocks_are_packed)
{
    static size_t bytes[RANKS] = {9, 30, 0, 31, 37}, at[RANKS] = {0, 200, 300, 400, 500};
    char data[1000];
    open_all(0);
    for (size_t k = 0; k < sizeof(data); k++)
        data[k] = (char) k;
    for (int owner = 0; owner < RANKS; owner++) {
        begin(20 + (uint32_t) owner, WDL_COLL_EXCHANGE, 0);
        for (int i = 0; i < RANKS; i++) {
            run[i].args.variable = 1;
            run[i].args.src = data;
            run[i].args.src_blocks = (struct wdl_coll_blocks){bytes, at};
            wdl_board_open(&run[i]);
        }
        size_t others = 9 + 30 + 31 + 37 - bytes[owner];
        must_cmp(wdl_board_for_others(&run[owner]), ==, others);
        must_cmp(wdl_board_is_lined(&run[owner], owner), ==, others + RANKS <= 112);
        if (others + RANKS > 112)
            continue;
        wdl_board_pack(&run[owner]);
        wdl_board_post(&run[owner], WDL_BOARD_DATA);
        for (int i = 0; i < RANKS; i++) {
            struct wdl_sheet_block block = wdl_board_packed(&run[i], owner);
            must_cmp(block.bytes, ==, i == owner ? 0 : bytes[i]);
            must(memcmp(wdl_board_sheet(&run[i], owner) + block.at, data + at[i], block.bytes) ==
                 0);
        }
        memset(wdl_board_sheet(&run[owner], owner), 112, RANKS); /* not all of them fit */
        for (int i = 0; i < RANKS; i++)
            must_cmp(wdl_board_packed(&run[i], owner).bytes, ==, SIZE_MAX);
    }
    close_all();
}
END_TEST

/* Who means something else, by kind or root, reads none of the lengths there are. */
START_TEST(lengths_say_what_is_meant)
{
    open_all(0);
    begin(4, WDL_COLL_GATHER_ALL, 40);
    for (int i = 0; i < RANKS; i++) {
        run[i].args.bytes = 40 + (size_t) i;
        run[i].print = i == 2 ? 78 : 77;
        wdl_board_post(&run[i], WDL_BOARD_DATA);
        must_cmp(wdl_board_own_length(&run[i]), ==, 40 + i);
    }
    for (int i = 0; i < RANKS; i++)
        for (int owner = 0; owner < RANKS; owner++) {
            int same = (i == 2) == (owner == 2);
            must_cmp(wdl_board_means_the_same(&run[i], owner, WDL_BOARD_DATA), ==, same);
            if (same)
                must_cmp(wdl_board_length(&run[i], owner), ==, 40 + owner);
            else
                must_cmp(wdl_board_length(&run[i], owner), >, (size_t) 1 << 40);
        }
    begin(5, WDL_COLL_REDUCE_SCATTER, 40); /* of all its parts */
    must_cmp(wdl_board_own_length(&run[0]), ==, 20);
    close_all();
}
END_TEST

START_TEST(a_second_thing_lies_behind_the_first)
{
    open_all(0);
    for (size_t bytes = 0; bytes <= BOARD; bytes++) {
        begin(3, WDL_COLL_SCAN, bytes);
        char *first = wdl_board_sheet(&run[1], 2), *second = wdl_board_second(&run[1], 2);
        size_t at = (bytes + 15) & ~(size_t) 15;
        must_cmp(second != NULL, ==, at + bytes <= BOARD);
        if (second) {
            must(second == first + at);
            must_cmp((uintptr_t) second % 16, ==, 0);
        }
    }
    close_all();
}
END_TEST

/* To and from another's memory, which is counted, and one's own. */
START_TEST(private_memory)
{
    char there[64], here[64];
    open_all(1);
    begin(3, WDL_COLL_GATHER, 64);
    for (int rank = 0; rank < RANKS; rank++) {
        uint64_t before = wdl_coll_stats(r.one[1].proc)->placed_bytes;
        memset(there, 'a' + rank, sizeof(there));
        must_cmp(wdl_board_fetch(&run[1], rank, there, here, 64), ==, WDL_OK);
        must(memcmp(there, here, 64) == 0);
        memset(here, 'A' + rank, sizeof(here));
        must_cmp(wdl_board_give(&run[1], rank, here, there, 60), ==, WDL_OK);
        must(memcmp(there, here, 60) == 0 && there[60] == 'a' + rank);
        must_cmp(wdl_board_fetch(&run[1], rank, NULL, NULL, 0), ==, WDL_OK);
        must_cmp(wdl_board_give(&run[1], rank, NULL, NULL, 0), ==, WDL_OK);
        must_cmp(wdl_coll_stats(r.one[1].proc)->placed_bytes - before, ==, rank == 1 ? 0 : 124);
    }
    close_all();
}
END_TEST

WDL_SUITE("coll/board", what_is_posted_is_seen_by_all_and_nowhere_else, slots_do_not_overlap,
          little_that_one_gives_is_on_a_line, lines_do_not_overlap, blocks_are_packed,
          lengths_say_what_is_meant, a_second_thing_lies_behind_the_first, private_memory)
