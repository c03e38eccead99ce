/* Part of Windlass. See COPYRIGHT in the top-level directory. */
#include "base/copy.h"
#include "support/suite.h"

enum { MOST = 300, PLACES = 17, ROOM = MOST + 2 * PLACES };

START_TEST(as_many_bytes_as_asked_for_from_anywhere_to_anywhere)
{
    unsigned char from[ROOM], to[ROOM], want[ROOM];
    for (int i = 0; i < ROOM; i++)
        from[i] = (unsigned char) (i * 37 + 1);
    for (size_t bytes = 0; bytes <= MOST; bytes++)
        for (size_t a = 0; a < PLACES; a += 3)
            for (size_t b = 0; b < PLACES; b += 5) {
                memset(to, 0xee, ROOM);
                memset(want, 0xee, ROOM);
                memcpy(want + b, from + a, bytes);
                wdl_copy_wide(to + b, from + a, bytes);
                ck_assert_mem_eq(to, want, ROOM);
            }
}
END_TEST

WDL_SUITE("base/copy", as_many_bytes_as_asked_for_from_anywhere_to_anywhere)
