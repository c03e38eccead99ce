/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of rma/far: a room that the network's atomics change, among others who use the processor.
 */
#include <string.h>
#include "host/testworld.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS = 5, TURNS = 200, CPU = 1, NIC = 2 };

/* A word in rank 0's memory, and how the others reach it. */
struct bed {
    struct test_world w;
    uint64_t *word, guess[RANKS];
    struct wdl_nm_mem *mem;
    struct wdl_far far[RANKS];
    struct wdl_far_word at[RANKS];
    uint32_t ticket[RANKS];
};

static void bed_open(struct bed *b, struct test_world_params p)
{
    char key[WDL_NM_KEY_BYTES_MAX];
    size_t bytes = sizeof(key);
    memset(b, 0, sizeof(*b));
    p.ranks = RANKS;
    test_world_open(&b->w, &p);
    struct wdl_nm *nm = b->w.rank[0].proc->nm;
    b->word = (uint64_t *) (void *) b->w.rank[0].memory;
    ck_assert_int_eq(nm->ops->mem_attach(nm, b->word, 8, &b->mem), WDL_OK);
    ck_assert_int_eq(nm->ops->mem_key(nm, b->mem, key, &bytes), WDL_OK);
    for (int i = 0; i < RANKS; i++) {
        nm = b->w.rank[i].proc->nm;
        b->at[i] = (struct wdl_far_word) {.nm = nm,.at = (uint64_t) (uintptr_t) b->word,
            .guess = &b->guess[i]};
        ck_assert_int_eq(nm->ops->rkey_open(nm, 0, key, bytes, &b->at[i].rkey), WDL_OK);
    }
}

static void bed_close(struct bed *b)
{
    ck_assert_uint_eq(*b->word & 0xffffffff, 0);
    for (int i = 0; i < RANKS; i++) {
        ck_assert(!wdl_far_busy(&b->far[i]));
        b->at[i].nm->ops->rkey_close(b->at[i].nm, b->at[i].rkey);
    }
    b->w.rank[0].proc->nm->ops->mem_detach(b->w.rank[0].proc->nm, b->mem);
    test_world_close(&b->w);
}

static int enter(struct bed *b, int i, enum wdl_room_kind kind, int join)
{
    return wdl_far_enter(&b->far[i], &b->at[i], kind, join, &b->ticket[i]);
}

static int leave(struct bed *b, int i, enum wdl_room_kind kind)
{
    return wdl_far_leave(&b->far[i], &b->at[i], kind);
}

static void leaves(struct bed *b, int i, enum wdl_room_kind kind)
{
    TEST_DONE(&b->w, leave(b, i, kind));
}

/* Turns until the network is done with it. */
static void let_it_come(struct bed *b, int i)
{
    for (int turns = 0; wdl_far_busy(&b->far[i]); turns++) {
        must_cmp(turns, <, TURNS);
        test_world_turn(&b->w);
    }
}

static int atomics(const struct bed *b)
{
    return (int) wdl_sim_counts(b->w.sim)->atomics;
}

START_TEST(a_quiet_room_is_entered_and_left_by_one_atomic_each)
{
    struct bed b;
    bed_open(&b, (struct test_world_params){.atomics = NIC});
    for (int i = 0; i < 10; i++) {
        enum wdl_room_kind kind = (enum wdl_room_kind) (i % 3);
        TEST_DONE(&b.w, enter(&b, 1, kind, 0));
        ck_assert_uint_eq(*b.word, wdl_room_one_holder(kind));
        leaves(&b, 1, kind);
        ck_assert_int_eq(atomics(&b), 2 * (i + 1));
    }
    bed_close(&b);
}
END_TEST

/* Each swap meets a word that has changed meanwhile: after two of them a ticket is drawn. */
START_TEST(nobody_loses_the_race_for_ever)
{
    struct bed b;
    uint32_t other = 0;
    bed_open(&b, (struct test_world_params){.atomics = CPU});
    for (int swap = 0; swap < 2; swap++) {
        ck_assert_int_eq(enter(&b, 1, WDL_ROOM_SHARED, 0), WDL_AGAIN);
        ck_assert_int_eq(b.far[1].act, WDL_FAR_SWAP);
        ck_assert_int_eq(wdl_room_enter(b.word, WDL_ROOM_SHARED, 0, &other), WDL_OK);
        let_it_come(&b, 1);
    }
    ck_assert_int_eq(enter(&b, 1, WDL_ROOM_SHARED, 0), WDL_AGAIN);
    ck_assert_int_eq(b.far[1].act, WDL_FAR_DRAW);
    ck_assert_int_eq(wdl_room_enter(b.word, WDL_ROOM_SHARED, 0, &other), WDL_OK);
    let_it_come(&b, 1);
    ck_assert_int_eq(enter(&b, 1, WDL_ROOM_SHARED, 0), WDL_AGAIN);
    ck_assert_uint_ne(b.ticket[1], 0);
    ck_assert_int_eq(wdl_room_enter(b.word, WDL_ROOM_SHARED, 0, &other), WDL_AGAIN);
    TEST_DONE(&b.w, enter(&b, 1, WDL_ROOM_SHARED, 0));
    ck_assert_uint_eq(b.ticket[1], 0);
    ck_assert_int_eq(wdl_room_enter(b.word, WDL_ROOM_SHARED, 0, &other), WDL_OK);
    for (int i = 0; i < 4; i++)
        wdl_room_leave(b.word, WDL_ROOM_SHARED);
    leaves(&b, 1, WDL_ROOM_SHARED);
    bed_close(&b);
}
END_TEST

/* Tickets wrap around, drawn by additions, too; and what was guessed wrong is only a guess. */
START_TEST(tickets_wrap_around)
{
    struct bed b;
    bed_open(&b, (struct test_world_params){.atomics = NIC});
    for (uint64_t first = 0xfffd; first < 0x10002; first++) {
        uint64_t ticket = first & 0xffff;
        *b.word = ticket << 32 | ticket << 48;
        TEST_DONE(&b.w, enter(&b, 1, WDL_ROOM_ALONE, 0));
        for (int i = 2; i < 4; i++)
            while (!b.ticket[i]) {
                ck_assert_int_eq(enter(&b, i, WDL_ROOM_ALONE, 0), WDL_AGAIN);
                let_it_come(&b, i);
            }
        ck_assert_int_eq(wdl_room_ahead(*b.word, b.ticket[2]), 0);
        ck_assert_int_eq(wdl_room_ahead(*b.word, b.ticket[3]), 1);
        for (int i = 1; i < 4; i++) {
            if (i > 1)
                TEST_DONE(&b.w, enter(&b, i, WDL_ROOM_ALONE, 0));
            leaves(&b, i, WDL_ROOM_ALONE);
        }
        ticket = (first + 2) & 0xffff;
        ck_assert_uint_eq(*b.word, ticket << 32 | ticket << 48);
    }
    bed_close(&b);
}
END_TEST

/* The more are before it, the less often does one who waits look; but it looks. */
START_TEST(who_waits_looks_seldom)
{
    int looks[3], calls = 400;
    for (int before = 0; before < 3; before++) {
        struct bed b;
        uint32_t other[8] = {0};
        bed_open(&b, (struct test_world_params){.atomics = CPU});
        ck_assert_int_eq(wdl_room_enter(b.word, WDL_ROOM_ALONE, 0, &other[7]), WDL_OK);
        for (int i = 0; i < 3 * before; i++)
            ck_assert_int_eq(wdl_room_enter(b.word, WDL_ROOM_ALONE, 0, &other[i]), WDL_AGAIN);
        looks[before] = -atomics(&b);
        for (int i = 0; i < calls; i++) {
            ck_assert_int_eq(enter(&b, 1, WDL_ROOM_ALONE, 0), WDL_AGAIN);
            test_world_turn(&b.w);
        }
        looks[before] += atomics(&b);
        ck_assert_int_gt(looks[before], calls / 12);
        wdl_room_leave(b.word, WDL_ROOM_ALONE);
        for (int i = 0; i < 3 * before; i++) {
            ck_assert_int_eq(wdl_room_enter(b.word, WDL_ROOM_ALONE, 0, &other[i]), WDL_OK);
            wdl_room_leave(b.word, WDL_ROOM_ALONE);
        }
        TEST_DONE(&b.w, enter(&b, 1, WDL_ROOM_ALONE, 0));
        leaves(&b, 1, WDL_ROOM_ALONE);
        bed_close(&b);
    }
    ck_assert_int_gt(looks[0], 2 * looks[1]);
    ck_assert_int_gt(2 * looks[1], 3 * looks[2]);
}
END_TEST

/* A holder of another lock goes before those who wait, and draws no ticket. */
START_TEST(a_joiner_draws_no_ticket)
{
    struct bed b;
    uint32_t other = 0;
    bed_open(&b, (struct test_world_params){.atomics = CPU});
    TEST_DONE(&b.w, enter(&b, 1, WDL_ROOM_SHARED, 0));
    ck_assert_int_eq(wdl_room_enter(b.word, WDL_ROOM_ALONE, 0, &other), WDL_AGAIN);
    TEST_DONE(&b.w, enter(&b, 2, WDL_ROOM_SHARED, 1));
    for (int i = 0; i < TURNS; i++) {
        ck_assert_int_eq(enter(&b, 3, WDL_ROOM_ALONE, 1), WDL_AGAIN);
        test_world_turn(&b.w);
    }
    ck_assert_uint_eq(b.ticket[3], 0);
    leaves(&b, 1, WDL_ROOM_SHARED);
    leaves(&b, 2, WDL_ROOM_SHARED);
    TEST_DONE(&b.w, enter(&b, 3, WDL_ROOM_ALONE, 1));
    leaves(&b, 3, WDL_ROOM_ALONE);
    ck_assert_int_eq(wdl_room_enter(b.word, WDL_ROOM_ALONE, 0, &other), WDL_OK);
    wdl_room_leave(b.word, WDL_ROOM_ALONE);
    bed_close(&b);
}
END_TEST

START_TEST(a_look_sees_and_changes_nothing)
{
    struct bed b;
    bed_open(&b, (struct test_world_params){.atomics = NIC,.refuse_permille = 500});
    *b.word = 0x1234567800000000;
    TEST_DONE(&b.w, wdl_far_look(&b.far[1], &b.at[1]));
    ck_assert_uint_eq(b.far[1].seen, 0x1234567800000000);
    ck_assert_uint_eq(*b.word, 0x1234567800000000);
    ck_assert_int_eq(TEST_WAIT(&b.w, leave(&b, 1, WDL_ROOM_SHARED)), WDL_ERR_PROTO);
    *b.word = 0;
    bed_close(&b);
}
END_TEST

/* --- random visitors: in MIXED worlds the last two use the processor --- */

enum { VISITS = 300 };

struct visitor {
    enum wdl_room_kind kind;
    int asking, inside, leaving, left;
};

static int step(struct bed *b, int i, struct visitor *v, int here)
{
    if (v->inside || v->leaving) {
        v->inside = 0;
        v->leaving = 1;
        if (here)
            wdl_room_leave(b->word, v->kind);
        else if (leave(b, i, v->kind) != WDL_OK)
            return 0;
        *v = (struct visitor){.left = v->left - 1};
        return 1;
    }
    if (!v->asking)
        v->kind = wdl_prng_below(&b->w.prng, 2) ? WDL_ROOM_SHARED : WDL_ROOM_ALONE;
    v->asking = 1;
    v->inside = (here ? wdl_room_enter(b->word, v->kind, 0, &b->ticket[i]) :
                 enter(b, i, v->kind, 0)) == WDL_OK;
    return v->inside;
}

START_TEST(random_visitors)
{
    for (int world = 0; world < 8; world++) {
        struct bed b;
        struct visitor v[RANKS] = {{.left = 0}};
        int left = RANKS, idle = 0, mixed = world % 2;
        bed_open(&b, (struct test_world_params){.atomics = mixed ? CPU : NIC,
            .delay_ns_max = world / 2 % 2 * 3000,.refuse_permille = world / 4 * 200,
            .seed = (uint64_t) world});
        for (int i = 0; i < RANKS; i++)
            v[i].left = VISITS;
        while (left > 0) {
            int i = (int) wdl_prng_below(&b.w.prng, RANKS), shared = 0, alone = 0;
            test_world_turn(&b.w);
            if (v[i].left == 0)
                continue;
            idle = step(&b, i, &v[i], mixed && i >= RANKS - 2) ? 0 : idle + 1;
            must_cmp(idle, <, 2000);
            left -= v[i].left == 0;
            for (int k = 0; k < RANKS; k++) {
                shared += v[k].inside && v[k].kind == WDL_ROOM_SHARED;
                alone += v[k].inside && v[k].kind == WDL_ROOM_ALONE;
            }
            must_cmp(alone + (alone && shared), <=, 1);
        }
        bed_close(&b);
    }
}
END_TEST

WDL_SUITE("rma/far", a_quiet_room_is_entered_and_left_by_one_atomic_each,
          nobody_loses_the_race_for_ever, tickets_wrap_around, who_waits_looks_seldom,
          a_joiner_draws_no_ticket, a_look_sees_and_changes_nothing, random_visitors)
