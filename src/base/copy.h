/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Copies of 2 KiB and more, as a rule to memory that other processors use. The C library makes them
 * with the processor's string instruction. AMD's has weaknesses (measured on an EPYC with AVX-512):
 *
 *  1. Given a MiB and more at once it takes a fifth to a third longer (1 MiB: 20.2 us in pieces of
 *     half of that, 24.6 as one; 16 MiB: 0.78 and 1.03 ms).
 *  2. Where the two are not a multiple of 32 bytes apart it takes 7 to 13 percent longer (64 KiB:
 *     1.15 and 1.24 us, 1 MiB: 21.1 and 22.7 to 24.0), and so it is as a rule: what malloc gives
 *     for much lies 16 bytes behind the begin of a page.
 *  3. Where the destination lies 1 to 63 bytes behind the source, modulo the page, it takes up to
 *     27 times as long (8 bytes behind, 8 KiB 2.26 us, 64 KiB 18.7; 16 bytes behind, 64 KiB 1.2 to
 *     1.9); to memory that another processor holds it then passes on a fraction (33 instead of 72
 *     GB/s between processors that share a cache, 7.7 instead of 29 where they share none). Bytes
 *     that take a detour through a few KiB of the own cache go at 45 and 24.
 *
 * Vectors of 32 bytes, loaded from anywhere and stored aligned, have none of these: 64 KiB in 1.13
 * us, 1 MiB in 21.2 to 21.4, 8 KiB in 0.07 to 0.085 (by the library in 0.08 to 2.26), wherever they
 * lie. So they are used on such processors, for less than WDL_COPY_VECTORS.
 *
 * AMD's next generation (an EPYC, family 26) has them no more, and its instruction has lines to
 * write without what is in them. So it is used from WDL_COPY_ROOM bytes on, wherever they lie (8
 * KiB: 0.053 to 0.096 us, by vectors 0.075 to 0.103; 64 KiB 0.52 to 0.60, 0.52 to 0.66; 1 MiB 15.0
 * to 16.2, 17.9 to 18.5), and to memory that another processor has read from WDL_COPY_LONG on (two
 * processors by turns, 4 KiB, far from each other 0.77 us, by vectors 1.17 to 1.9; near 0.215,
 * 0.20; 64 KiB, far 4.1, 11.1 to 15.6; near 1.87, 2.6 to 3.0). Of case 3 something is left there
 * (64 KiB 0.49 and 0.65 us).
 *
 * What is longer fits in no cache together with where it comes from, and each line that is written
 * is read first. By stores past the caches it is not (64 MiB: 3.1 ms; by vectors 4.6 to 5.4, by the
 * library 4.8, by the instruction 3.1 as one and 4.7 in pieces; 32 MiB: 1.5, 2.0, 2.4, 1.7, 2.0).
 *
 * Intel's has none of them: on a Xeon with AVX-512 (Cascade Lake) such vectors take 2.5 us for 64
 * KiB, and 91 for 1 MiB, the string instruction 1.5 and 55, wherever they lie. There, and on others
 * of which nothing is known, the C library makes all copies, but that on Intel's it is early to use
 * vectors: from WDL_COPY_LONG to WDL_COPY_ROOM bytes the instruction takes 0.040 to 0.066 us, they
 * 0.045 to 0.105, but in case 3.
 */
#ifndef WDL_BASE_COPY_H_INCLUDED
#define WDL_BASE_COPY_H_INCLUDED

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    WDL_COPY_PIECE = 512 << 10,
    WDL_COPY_ROOM = 8 << 10,
    WDL_COPY_SHORT = 2 << 10, /* less the C library copies by vectors, too */
    WDL_COPY_LONG = 4 << 10, /* so much may be worth going past the caches (bypass.h) */
    WDL_COPY_VECTORS = 16 << 20,
    WDL_COPY_PAGE = 4 << 10,
    WDL_COPY_LINE = 64
};

/* Is it the slow case (3)? */
static inline int wdl_copy_is_slow(const void *to, const void *from)
{
    uintptr_t apart = ((uintptr_t) to - (uintptr_t) from) % WDL_COPY_PAGE;
    return apart - 1 < WDL_COPY_LINE - 1;
}

/* The next place in a ring, whose begin is a page's, for what is copied there and from there: in
 * the middle of a page, since what users have in one piece begins near a page's begin, as a rule;
 * so neither copy is the slow case. */
static inline uint64_t wdl_copy_place(uint64_t at)
{
    return at + (WDL_COPY_PAGE + WDL_COPY_PAGE / 2 - at % WDL_COPY_PAGE) % WDL_COPY_PAGE;
}

/* Have so many bytes at the one place none in common with those at the other? */
static inline int wdl_are_apart(const void *one, const void *other, size_t bytes)
{
    uintptr_t a = (uintptr_t) one, b = (uintptr_t) other;
    return a - b >= bytes && b - a >= bytes;
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

/* What memmove does. */
static inline void wdl_copy(void *to, const void *from, size_t bytes);
/* The same of WDL_COPY_SHORT bytes and more. */
void wdl_copy_long(void *to, const void *from, size_t bytes);
/* ... of WDL_COPY_LONG bytes and more, to memory that another processor has read. */
void wdl_copy_over(void *to, const void *from, size_t bytes);
/* The same as on AMD's processors, with such vectors, where this one has them, and without. */
void wdl_copy_by_vectors(void *to, const void *from, size_t bytes);
void wdl_copy_by_string(void *to, const void *from, size_t bytes);

/* The same of 16 to 64 bytes, without a call, which costs more than that; and of any others below
 * WDL_COPY_SHORT. All is loaded before anything is stored. */
static inline void wdl_copy_short(void *to, const void *from, size_t bytes)
{
    enum { VECTOR = 16, FEW = 4 * VECTOR };
    struct vector { char byte[VECTOR]; } first, second, third, last;
    const char *at = from, *from_end = at + bytes;
    char *to_end = (char *) to + bytes;
    if (bytes - VECTOR > FEW - VECTOR) {        /* fewer are beyond every end */
        memmove(to, from, bytes);
        return;
    }
    memcpy(&first, at, VECTOR);
    memcpy(&last, from_end - VECTOR, VECTOR);
    if (bytes > 2 * VECTOR) {
        memcpy(&second, at + VECTOR, VECTOR);
        memcpy(&third, from_end - 2 * VECTOR, VECTOR);
        memcpy((char *) to + VECTOR, &second, VECTOR);
        memcpy(to_end - 2 * VECTOR, &third, VECTOR);
    }
    memcpy(to, &first, VECTOR);
    memcpy(to_end - VECTOR, &last, VECTOR);
}

static inline void wdl_copy(void *to, const void *from, size_t bytes)
{
    if (__builtin_expect(bytes < WDL_COPY_SHORT, 1))
        memmove(to, from, bytes);
    else
        wdl_copy_long(to, from, bytes);
}

#endif
