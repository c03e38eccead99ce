/* Part of Windlass. See COPYRIGHT in the top-level directory. */
#include "base/copy.h"
#include <stdlib.h>
#include "support/suite.h"

enum { MOST = 3 * WDL_COPY_PIECE + 5, APART = 64 };

static void copy(void *to, const void *from, size_t bytes)
{
    wdl_copy(to, from, bytes);
}

static void by_vectors(void *to, const void *from, size_t bytes)
{
    if (bytes < WDL_COPY_SHORT)
        memmove(to, from, bytes);
    else
        wdl_copy_by_vectors(to, from, bytes);
}

static void over(void *to, const void *from, size_t bytes)
{
    if (bytes < WDL_COPY_LONG)
        memmove(to, from, bytes);
    else
        wdl_copy_over(to, from, bytes);
}

/* This processor's ways, and those of others. */
static void (*const ways[])(void *to, const void *from, size_t bytes) = {copy, over, by_vectors,
                                                                         wdl_copy_by_string};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* To every place, over itself and beside it, as many as asked for. */
START_TEST(what_memmove_does)
{
    static const size_t lengths[] = {0,
                                     1,
                                     63,
                                     WDL_COPY_LONG,
                                     WDL_COPY_ROOM,
                                     WDL_COPY_PIECE - 1,
                                     WDL_COPY_PIECE,
                                     WDL_COPY_PIECE + 1,
                                     2 * WDL_COPY_PIECE,
                                     MOST};
    size_t room = 2 * MOST + 2 * APART;
    unsigned char *memory = malloc(room), *want = malloc(room);
    for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
        const size_t to[] = {0, APART - 1, APART, APART + 1, APART + MOST};
        for (size_t t = 0; t < sizeof(to) / sizeof(to[0]); t++) {
            for (int way = 0; way < WAYS; way++) {
                for (size_t i = 0; i < room; i++)
                    want[i] = memory[i] = (unsigned char) (i * 37 + i / 251);
                memmove(want + to[t], want + APART, lengths[k]);
                ways[way](memory + to[t], memory + APART, lengths[k]);
                ck_assert_mem_eq(memory, want, room);
            }
        }
    }
    free(memory);
    free(want);
}
END_TEST

/* Whichever way it goes, with lengths about its parts, to all places near where a page begins. */
START_TEST(wherever_it_lies_in_its_page)
{
    enum { PAGE = WDL_COPY_PAGE, BYTES = 5 * PAGE + 11, ROOM = BYTES + 3 * PAGE };
    unsigned char *from = aligned_alloc(PAGE, 8 * PAGE + PAGE), *to = aligned_alloc(PAGE, 9 * PAGE),
                  *want = malloc(ROOM);
    int slow = 0;
    for (size_t i = 0; i < ROOM; i++)
        from[i] = (unsigned char) (i * 37 + i / 251);
    for (size_t apart = PAGE - 70; apart < PAGE + 140; apart++)
        for (size_t bytes = PAGE - 1; bytes <= BYTES; bytes += 2 * PAGE + 4) {
            slow += wdl_copy_is_slow(to + apart, from + PAGE);
            memset(want, 0xee, ROOM);
            memcpy(want + apart, from + PAGE, bytes);
            for (int way = 0; way < WAYS; way++) {
                memset(to, 0xee, ROOM);
                ways[way](to + apart, from + PAGE, bytes);
                ck_assert_mem_eq(to, want, ROOM);
            }
        }
    ck_assert_int_eq(slow, 3 * (WDL_COPY_LINE - 1));
    free(from);
    free(to);
    free(want);
}
END_TEST

/* All lengths from where a copy is no longer left to the library alone, to all places in a line: so
 * many bytes, and none beside them. */
START_TEST(of_every_length)
{
    enum { LINE = WDL_COPY_LINE, MOST_OF = WDL_COPY_SHORT + 3 * LINE, ROOM = MOST_OF + 3 * LINE };
    unsigned char from[ROOM], to[ROOM], want[ROOM];
    for (size_t i = 0; i < ROOM; i++)
        from[i] = (unsigned char) (i * 37 + i / 251);
    for (size_t at = LINE; at < 2 * LINE; at++)
        for (size_t bytes = WDL_COPY_SHORT - 2; bytes <= MOST_OF; bytes++) {
            memset(want, 0xee, ROOM);
            memcpy(want + at, from + bytes % 19, bytes);
            for (int way = 0; way < WAYS; way++) {
                memset(to, 0xee, ROOM);
                ways[way](to + at, from + bytes % 19, bytes);
                ck_assert_mem_eq(to, want, ROOM);
            }
        }
}
END_TEST

/* Short ones, over themselves as well: every length, from every place to every other. */
START_TEST(short_ones)
{
    enum { LENGTHS = 140, PLACES = 80, ROOM = LENGTHS + PLACES };
    unsigned char memory[ROOM], want[ROOM];
    for (size_t bytes = 0; bytes < LENGTHS; bytes++)
        for (size_t to = 0; to < PLACES; to++)
            for (size_t from = 0; from < PLACES; from += 3) {
                for (size_t i = 0; i < ROOM; i++)
                    want[i] = memory[i] = (unsigned char) (i * 37 + i / 251);
                memmove(want + to, want + from, bytes);
                wdl_copy_short(memory + to, memory + from, bytes);
                ck_assert(memcmp(memory, want, ROOM) == 0);
            }
}
END_TEST

/* Too long for vectors, and of those what is slow without them. */
START_TEST(the_longest)
{
    size_t bytes = WDL_COPY_VECTORS + 3, room = bytes + 2 * WDL_COPY_PAGE;
    unsigned char *from = aligned_alloc(WDL_COPY_PAGE, room - room % WDL_COPY_PAGE),
                  *to = aligned_alloc(WDL_COPY_PAGE, room - room % WDL_COPY_PAGE);
    for (size_t i = 0; i < bytes; i++)
        from[i] = (unsigned char) (i * 37 + i / 251);
    for (size_t apart = 0; apart < 2; apart++) {
        ck_assert_int_eq(wdl_copy_is_slow(to + apart, from), apart > 0);
        for (int way = 0; way < WAYS; way++) {
            memset(to, 0xee, bytes + 2);
            ways[way](to + apart, from, bytes);
            ck_assert_mem_eq(to + apart, from, bytes);
            ck_assert_uint_eq(to[bytes + apart], 0xee);
        }
    }
    free(from);
    free(to);
}
END_TEST

/* Of a ring: the next one, as far from what begins a page, or 16 bytes behind, as can be. */
START_TEST(places_that_are_not_slow)
{
    for (uint64_t at = 0; at < 3 * WDL_COPY_PAGE; at += 24) {
        uint64_t place = wdl_copy_place(at);
        ck_assert(place >= at && place - at < WDL_COPY_PAGE);
        for (uintptr_t user = 0; user < 64; user += 16) {
            ck_assert(!wdl_copy_is_slow((void *) (uintptr_t) place, (void *) user));
            ck_assert(!wdl_copy_is_slow((void *) user, (void *) (uintptr_t) place));
        }
        ck_assert_uint_eq(wdl_copy_place(place), place);
    }
}
END_TEST

WDL_SUITE("base/copy", what_memmove_does, wherever_it_lies_in_its_page, of_every_length, short_ones,
          places_that_are_not_slow, the_longest)
