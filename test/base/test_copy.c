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

WDL_SUITE("base/copy", what_memmove_does)
