/* Part of Windlass. See COPYRIGHT in the top-level directory. Copying between processors. */
#ifndef WDL_BASE_COPY_H_INCLUDED
#define WDL_BASE_COPY_H_INCLUDED

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What memcpy does, sixty-four bytes at a time through registers: for memory that another processor
 * has just written or is about to read. The C library's copy of so many is the processor's string
 * instruction, which passes on half as many bytes a second between processors. */
static inline void wdl_copy_wide(void *to, const void *from, size_t bytes)
{
    typedef uint64_t word __attribute__((vector_size(16), aligned(1), may_alias));
    size_t done = 0;
    for (; bytes - done >= 64; done += 64) {
        const word *in = (const word *) (const void *) ((const char *) from + done);
        word *out = (word *) (void *) ((char *) to + done);
        word a = in[0], b = in[1], c = in[2], d = in[3];
        out[0] = a;
        out[1] = b;
        out[2] = c;
        out[3] = d;
    }
    if (done < bytes)
        memcpy((char *) to + done, (const char *) from + done, bytes - done);
}

/* Have the cache line at `at`, which another processor may hold, before it is written: stores
 * retire in order, and a processor holds back but some tens of them, so that who writes a line in
 * each call waits for each of them in turn (measured: a scan of 8 bytes 93 ns, 42 where the lines
 * are asked for two scans ahead). */
static inline void wdl_line_wanted(const void *at)
{
#if defined(__x86_64__) || defined(__i386__)
    /* what compilers make of __builtin_prefetch(at, 1) for every processor of this architecture
     * asks for a line to read; those without the instruction take it for none */
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *) at));
#else
    __builtin_prefetch(at, 1);
#endif
}

#endif
