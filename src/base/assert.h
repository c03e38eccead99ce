/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Assertions: statements about Windlass's own code. Never about bytes from the wire, never about
 * memory running out, never about what the user did: those have a status (base/status.h).
 *
 * wdl_assert(x)            x holds, else print it and abort
 * wdl_assert_cmp(a, <, b)  the same for two integers, printing both
 * wdl_static_assert(x)     at compile time: layouts and limits
 */
#ifndef WDL_BASE_ASSERT_H_INCLUDED
#define WDL_BASE_ASSERT_H_INCLUDED

#include <stdio.h>
#include <stdlib.h>

#define wdl_static_assert(x) _Static_assert(x, #x)

#define wdl_assert(x)                                                                          \
    do {                                                                                       \
        if (__builtin_expect(!(x), 0)) {                                                       \
            fprintf(stderr, "windlass: %s:%d: assertion failed: %s\n", __FILE__, __LINE__, #x); \
            abort();                                                                           \
        }                                                                                      \
    } while (0)

#define wdl_assert_cmp(a, op, b)                                                               \
    do {                                                                                       \
        long long wdl_a_ = (long long) (a), wdl_b_ = (long long) (b);                          \
        if (__builtin_expect(!(wdl_a_ op wdl_b_), 0)) {                                        \
            fprintf(stderr, "windlass: %s:%d: assertion failed: %s %s %s (%lld against %lld)\n", \
                    __FILE__, __LINE__, #a, #op, #b, wdl_a_, wdl_b_);                          \
            abort();                                                                           \
        }                                                                                      \
    } while (0)

#endif
