/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Long copies to memory that other processors use. The C library makes them with the processor's
 * string instruction, which has two weaknesses (measured on an AMD EPYC with AVX-512):
 *
 *  1. Given a MiB and more at once it takes a fifth to a third longer (1 MiB: 20.2 us in pieces of
 *     half of that, 24.6 as one; 16 MiB: 0.78 and 1.03 ms).
 *  2. Where the destination lies 1 to 63 bytes behind the source, modulo the page, it passes on a
 *     fraction to memory that another processor holds (64 KiB: 33 instead of 72 GB/s between
 *     processors that share a cache, 7.7 instead of 29 where they share none). Bytes that take a
 *     detour through a few KiB of the own cache go at 45 and 24.
 */
#ifndef WDL_BASE_COPY_H_INCLUDED
#define WDL_BASE_COPY_H_INCLUDED

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    WDL_COPY_PIECE = 512 << 10,
    WDL_COPY_ROOM = 8 << 10,
    WDL_COPY_LONG = 4 << 10, /* less the C library copies in another way */
    WDL_COPY_PAGE = 4 << 10,
    WDL_COPY_LINE = 64
};

/* Is it the slow case (2)? */
static inline int wdl_copy_is_slow(const void *to, const void *from)
{
    uintptr_t apart = ((uintptr_t) to - (uintptr_t) from) % WDL_COPY_PAGE;
    return apart - 1 < WDL_COPY_LINE - 1;
}

/* A few KiB to gather bytes in before they are copied to such memory. */
struct wdl_copy_room {
    char memory[WDL_COPY_ROOM + WDL_COPY_PAGE];
};
/* So much of it that lies in its page as the destination does: WDL_COPY_ROOM bytes. */
static inline char *wdl_copy_room(struct wdl_copy_room *room, const void *to)
{
    return room->memory + ((uintptr_t) to - (uintptr_t) room->memory) % WDL_COPY_PAGE;
}

void wdl_copy_long(void *to, const void *from, size_t bytes);

/* What memmove does. */
static inline void wdl_copy(void *to, const void *from, size_t bytes)
{
    if (__builtin_expect(bytes < WDL_COPY_LONG, 1))
        memmove(to, from, bytes);
    else
        wdl_copy_long(to, from, bytes);
}

#endif
