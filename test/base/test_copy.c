/* Part of Windlass. See COPYRIGHT in the top-level directory. */
#include "base/copy.h"
#include <stdlib.h>
#include "support/suite.h"

enum { MOST = 3 * WDL_COPY_PIECE + 5, APART = 64 };

/* To every place, over itself and beside it, as many as asked for. */
START_TEST(what_memmove_does)
{
    static const size_t lengths[] = {0,
                                     1,
                                     63,
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
            for (size_t i = 0; i < room; i++)
                want[i] = memory[i] = (unsigned char) (i * 37 + i / 251);
            memmove(want + to[t], want + APART, lengths[k]);
            wdl_copy(memory + to[t], memory + APART, lengths[k]);
            ck_assert_mem_eq(memory, want, room);
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
            memset(to, 0xee, ROOM);
            memset(want, 0xee, ROOM);
            memcpy(want + apart, from + PAGE, bytes);
            wdl_copy(to + apart, from + PAGE, bytes);
            ck_assert_mem_eq(to, want, ROOM);
        }
    ck_assert_int_eq(slow, 3 * (WDL_COPY_LINE - 1));
    free(from);
    free(to);
    free(want);
}
END_TEST

WDL_SUITE("base/copy", what_memmove_does, wherever_it_lies_in_its_page)
