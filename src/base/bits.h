/* Part of Windlass. See COPYRIGHT in the top-level directory. Sets of small numbers, a bit each. */
#ifndef WDL_BASE_BITS_H_INCLUDED
#define WDL_BASE_BITS_H_INCLUDED

#include <stddef.h>

/* What a set of numbers below n takes; it is empty if it is zeroed. */
static inline size_t wdl_bits_bytes(size_t n)
{
    return (n + 7) / 8;
}

/* Of these two: NULL is an empty set. */
static inline int wdl_bits_have(const unsigned char *set, unsigned i)
{
    return set && (set[i / 8] >> i % 8 & 1);
}

static inline void wdl_bits_drop(unsigned char *set, unsigned i)
{
    if (set)
        set[i / 8] &= (unsigned char) ~(1u << i % 8);
}

static inline void wdl_bits_add(unsigned char *set, unsigned i)
{
    set[i / 8] |= (unsigned char) (1u << i % 8);
}

#endif
