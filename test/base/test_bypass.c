/* Part of Windlass. See COPYRIGHT in the top-level directory. */
#include "base/bypass.h"
#include <stdlib.h>
#include <string.h>
#include "base/copy.h"
#include "support/suite.h"

/* A clock by which a copy takes what is said of its way: it moves at the second of two looks. */
static struct clock {
    struct wdl_bypass bypass;
    uint64_t now, plain_ns, past_ns;
    size_t bytes;
    int looks;
} o;

static uint64_t look(void *ctx)
{
    struct clock *clock = ctx;
    if (clock->looks++ % 2 == 1) {
        int past = (clock->bypass.trials > 0) != clock->bypass.past;
        uint64_t unit_ns = past ? clock->past_ns : clock->plain_ns;
        clock->now += unit_ns * clock->bytes / WDL_BYPASS_UNIT;
    }
    return clock->now;
}

static char from[1 << 16], to[1 << 16];

static void begin(uint64_t plain_ns, uint64_t past_ns)
{
    memset(&o, 0, sizeof(o));
    o.plain_ns = plain_ns;
    o.past_ns = past_ns;
    wdl_bypass_init(&o.bypass, look, &o);
}

static void copy(int times, size_t bytes)
{
    o.bytes = bytes;
    while (times-- > 0)
        wdl_bypass_copy(&o.bypass, to, from, bytes);
}

enum { FAST = WDL_BYPASS_SLOW_NS / 4, SLOW = 3 * WDL_BYPASS_SLOW_NS, SOON = 64 };

/* Both ways, to every place in a line, of lengths about one and several: that and no more. */
START_TEST(what_memcpy_does)
{
    enum { LINE = WDL_COPY_LINE, MOST = 5 * LINE, ROOM = MOST + 2 * LINE };
    static char room[ROOM], want[ROOM];
    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (char) (i * 37 + i / 251);
    for (size_t at = 0; at < LINE; at++)
        for (size_t bytes = 0; bytes <= MOST; bytes++) {
            memset(room, 0xee, ROOM);
            memset(want, 0xee, ROOM);
            memcpy(want + at, from + bytes % 19, bytes);
            wdl_bypass_stores(room + at, from + bytes % 19, bytes);
            ck_assert_mem_eq(room, want, ROOM);
            memset(room, 0xee, ROOM);
            wdl_bypass_away(room + at, from + bytes % 19, bytes);
            ck_assert_mem_eq(room, want, ROOM);
        }
    begin(SLOW, FAST);
    for (size_t bytes = 1; bytes <= sizeof(from); bytes = 3 * bytes + 1) {
        memset(to, 0, sizeof(to));
        copy(SOON, bytes);
        ck_assert_mem_eq(to, from, bytes);
    }
}
END_TEST

/* Nothing is tried where nothing is slow; one in CLOCK bytes is timed, and of the longest one in so
 * many as if they were of UNIT bytes. */
START_TEST(as_ever_where_it_is_fast)
{
    enum { TIMES = 8192, MOST = WDL_BYPASS_UNIT };
    for (int bytes = WDL_COPY_LONG; bytes <= MOST; bytes *= 2) {
        begin(FAST, FAST / 2);
        copy(TIMES, (size_t) bytes);
        ck_assert_int_eq(o.bypass.past, 0);
        ck_assert_uint_eq(o.bypass.past_ns, 0);
        ck_assert_int_eq(o.looks, 2 * TIMES / (WDL_BYPASS_CLOCK / bytes));
    }
}
END_TEST

START_TEST(past_the_caches_where_it_is_slow)
{
    begin(SLOW, FAST);
    copy(SOON, 8192);
    ck_assert_int_eq(o.bypass.past, 1);
    copy(8192, 8192);
    ck_assert_int_eq(o.bypass.past, 1);
    ck_assert_uint_eq(o.bypass.every, WDL_BYPASS_SELDOM);
}
END_TEST

/* Slow either way, as where memory is new: as ever. */
START_TEST(not_for_little)
{
    begin(SLOW, SLOW - WDL_BYPASS_GAIN_NS / 2);
    copy(8192, 8192);
    ck_assert_int_eq(o.bypass.past, 0);
    ck_assert_uint_ne(o.bypass.past_ns, 0);
}
END_TEST

/* Once in a while, or twice: the process has lost its processor. */
START_TEST(not_for_one_that_is_slow)
{
    begin(FAST, FAST);
    for (int i = 0; i < 1000; i++) {
        o.plain_ns = i % 16 < 2 ? 100 * SLOW : FAST;
        copy(1, 8192);
    }
    ck_assert_uint_eq(o.bypass.past_ns, 0);
}
END_TEST

/* The processes are moved to others' processors: there, and back. */
START_TEST(as_the_machine_changes)
{
    begin(FAST, FAST);
    for (int i = 0; i < 4; i++) {
        o.plain_ns = i % 2 ? FAST : SLOW;
        copy(2 * WDL_BYPASS_SELDOM, 8192);
        ck_assert_int_eq(o.bypass.past, i % 2 == 0);
    }
}
END_TEST

/* Short ones have no way of their own, and no clock is looked at. */
START_TEST(not_what_is_short)
{
    begin(SLOW, FAST);
    copy(1000, WDL_COPY_LONG - 1);
    ck_assert_int_eq(o.looks, 0);
}
END_TEST

WDL_SUITE("base/bypass", what_memcpy_does, as_ever_where_it_is_fast,
          past_the_caches_where_it_is_slow, not_for_little, not_for_one_that_is_slow,
          as_the_machine_changes, not_what_is_short)
