/* Part of Windlass. See COPYRIGHT in the top-level directory. Copies of any length (copy.h). */
#include "base/copy.h"
#include <stdint.h>

void wdl_copy_pieces(void *to, const void *from, size_t bytes)
{
    uintptr_t at = (uintptr_t) to, of = (uintptr_t) from;
    if ((at < of ? of - at : at - of) < bytes) { /* they overlap */
        memmove(to, from, bytes);
        return;
    }
    for (size_t done = 0; done < bytes; done += WDL_COPY_PIECE) {
        size_t n = bytes - done < WDL_COPY_PIECE ? bytes - done : WDL_COPY_PIECE;
        memcpy((char *) to + done, (const char *) from + done, n);
    }
}
