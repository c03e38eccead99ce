/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/room. */
#include "mpid/rma/room.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include "base/status.h"
#include "support/suite.h"

START_TEST(kinds_exclude_each_other)
{
    uint64_t word = 0;
    uint32_t a = 0, b = 0, c = 0;
    ck_assert_int_eq(wdl_room_enter(&word, WDL_ROOM_SHARED, 0, &a), WDL_OK);
    ck_assert_int_eq(wdl_room_enter(&word, WDL_ROOM_SHARED, 0, &b), WDL_OK);
    ck_assert_int_eq(wdl_room_kind_inside(&word), WDL_ROOM_SHARED);
    ck_assert_int_eq(wdl_room_enter(&word, WDL_ROOM_ALONE, 0, &c), WDL_AGAIN);
    wdl_room_leave(&word, WDL_ROOM_SHARED);
    ck_assert_int_eq(wdl_room_enter(&word, WDL_ROOM_ALONE, 0, &c), WDL_AGAIN);
    wdl_room_leave(&word, WDL_ROOM_SHARED);
    ck_assert_int_eq(wdl_room_enter(&word, WDL_ROOM_ALONE, 0, &c), WDL_OK);
    ck_assert_int_eq(wdl_room_kind_inside(&word), WDL_ROOM_ALONE);
    ck_assert_int_eq(wdl_room_enter(&word, WDL_ROOM_ALONE, 0, &a), WDL_AGAIN);
    wdl_room_leave(&word, WDL_ROOM_ALONE);
    ck_assert_int_eq(wdl_room_enter(&word, WDL_ROOM_ALONE, 0, &a), WDL_OK);
}
END_TEST

START_TEST(others_meet)
{
    uint64_t word = 0;
    uint32_t a = 0, b = 0, c = 0;
    ck_assert_int_eq(wdl_room_enter(&word, WDL_ROOM_OTHERS, 0, &a), WDL_OK);
    ck_assert_int_eq(wdl_room_enter(&word, WDL_ROOM_OTHERS, 0, &b), WDL_OK);
    ck_assert_int_eq(wdl_room_enter(&word, WDL_ROOM_SHARED, 0, &c), WDL_AGAIN);
}
END_TEST

/* In one step there is the same room, for those who have no ticket, and none where somebody waits:
 * every word of few holders and tickets against the rules. */
START_TEST(at_once_by_the_same_rules)
{
    int entered[3] = {0, 0, 0};
    for (uint64_t i = 0; i < 3 * 3 * 3; i++)
        for (int kind = WDL_ROOM_SHARED; kind <= WDL_ROOM_ALONE; kind++) {
            uint64_t served = 0xffff, waiting = i / 9, next = (served + waiting) & 0xffff;
            uint64_t before = i % 3 | i / 3 % 3 << 16 | served << 32 | next << 48, then = 0;
            uint64_t word = before;
            int in = wdl_room_enter_at_once(&word, (enum wdl_room_kind) kind);
            int may = wdl_room_move(before, (enum wdl_room_kind) kind, 0, 0, &then) == WDL_ROOM_GO;
            ck_assert_int_eq(in, may);
            ck_assert_uint_eq(word, may ? then : before);
            entered[kind] += in;
        }
    ck_assert(entered[0] == 3 && entered[1] == 3 && entered[2] == 1);
}
END_TEST

/* First come, first served: a reader that comes after a waiting writer waits behind it; one that
 * holds a lock already does not. */
START_TEST(in_order)
{
    uint64_t word = 0;
    uint32_t reader = 0, writer = 0, late = 0, joins = 0;
    ck_assert_int_eq(wdl_room_enter(&word, WDL_ROOM_SHARED, 0, &reader), WDL_OK);
    ck_assert_int_eq(wdl_room_enter(&word, WDL_ROOM_ALONE, 0, &writer), WDL_AGAIN);
    ck_assert_int_eq(wdl_room_enter(&word, WDL_ROOM_SHARED, 0, &late), WDL_AGAIN);
    ck_assert_int_eq(wdl_room_enter(&word, WDL_ROOM_SHARED, 1, &joins), WDL_OK);
    wdl_room_leave(&word, WDL_ROOM_SHARED);
    wdl_room_leave(&word, WDL_ROOM_SHARED);
    ck_assert_int_eq(wdl_room_enter(&word, WDL_ROOM_SHARED, 0, &late), WDL_AGAIN);
    ck_assert_int_eq(wdl_room_enter(&word, WDL_ROOM_ALONE, 0, &writer), WDL_OK);
    wdl_room_leave(&word, WDL_ROOM_ALONE);
    ck_assert_int_eq(wdl_room_enter(&word, WDL_ROOM_SHARED, 0, &late), WDL_OK);
}
END_TEST

/* Tickets wrap around. */
START_TEST(many_tickets)
{
    uint64_t word = 0;
    uint32_t holder = 0, waiter = 0;
    ck_assert_int_eq(wdl_room_enter(&word, WDL_ROOM_ALONE, 0, &holder), WDL_OK);
    for (int i = 0; i < 200000; i++) {
        ck_assert_int_eq(wdl_room_enter(&word, WDL_ROOM_ALONE, 0, &waiter), WDL_AGAIN);
        ck_assert_int_ne((int) waiter, 0);
        wdl_room_leave(&word, WDL_ROOM_ALONE);
        ck_assert_int_eq(wdl_room_enter(&word, WDL_ROOM_ALONE, 0, &waiter), WDL_OK);
        ck_assert_int_eq((int) waiter, 0);
    }
}
END_TEST

enum { THREADS = 4, ROUNDS = 3000 };
static uint64_t storm_word;
static int inside[2];
static long counter;

static void *storm_thread(void *arg)
{
    int me = (int) (intptr_t) arg;
    for (int i = 0; i < ROUNDS; i++) {
        enum wdl_room_kind kind = (i + me) % 3 ? WDL_ROOM_SHARED : WDL_ROOM_ALONE;
        uint32_t ticket = 0;
        while (wdl_room_enter(&storm_word, kind, 0, &ticket) != WDL_OK)
            sched_yield();
        int *mine = &inside[kind == WDL_ROOM_ALONE];
        if (__atomic_add_fetch(mine, 1, __ATOMIC_SEQ_CST) > 1 && kind == WDL_ROOM_ALONE)
            abort();
        if (__atomic_load_n(&inside[kind != WDL_ROOM_ALONE], __ATOMIC_SEQ_CST) > 0)
            abort();
        if (kind == WDL_ROOM_ALONE)
            counter++; /* what the room protects */
        __atomic_sub_fetch(mine, 1, __ATOMIC_SEQ_CST);
        wdl_room_leave(&storm_word, kind);
    }
    return NULL;
}

START_TEST(storm)
{
    pthread_t thread[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, storm_thread, (void *) i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    ck_assert_int_eq(counter, THREADS * ROUNDS / 3);
    ck_assert_uint_eq(storm_word & 0xffffffff, 0);
}
END_TEST

WDL_SUITE("rma/room", kinds_exclude_each_other, others_meet, at_once_by_the_same_rules, in_order,
          many_tickets, storm)
