/* Part of Windlass. See COPYRIGHT in the top-level directory. Long copies (copy.h). */
#include "base/copy.h"

static void by_detour(char *to, const char *from, size_t bytes)
{
    struct wdl_copy_room room;
    for (size_t done = 0; done < bytes; done += WDL_COPY_ROOM) {
        size_t n = bytes - done < WDL_COPY_ROOM ? bytes - done : WDL_COPY_ROOM;
        char *at = wdl_copy_room(&room, to + done);
        memcpy(at, from + done, n);
        memcpy(to + done, at, n);
    }
}

static void by_pieces(char *to, const char *from, size_t bytes)
{
    for (size_t done = 0; done < bytes; done += WDL_COPY_PIECE) {
        size_t n = bytes - done < WDL_COPY_PIECE ? bytes - done : WDL_COPY_PIECE;
        memcpy(to + done, from + done, n);
    }
}

void wdl_copy_long(void *to, const void *from, size_t bytes)
{
    uintptr_t at = (uintptr_t) to, of = (uintptr_t) from;
    if ((at < of ? of - at : at - of) < bytes) /* they overlap */
        memmove(to, from, bytes);
    else if (wdl_copy_is_slow(to, from))
        by_detour(to, from, bytes);
    else
        by_pieces(to, from, bytes);
}
