/* Part of Windlass. See COPYRIGHT in the top-level directory. Cache lines: those that go from one
 * processor to another, and those of functions. */
#ifndef WDL_BASE_LINE_H_INCLUDED
#define WDL_BASE_LINE_H_INCLUDED

/* Of a function that is called all the time, and is short: it begins a cache line. Else what lies
 * in front of it, which it has nothing to do with, decides on how many lines it lies and where its
 * branches are (measured: lock_all and unlock_all took 25 or 28 ns after a change elsewhere). */
#define wdl_line_begins __attribute__((aligned(64)))

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
