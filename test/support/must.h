/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * ck_assert for the innermost loops, of fewer instructions where it holds.
 */
#ifndef WDL_TEST_SUPPORT_MUST_H_INCLUDED
#define WDL_TEST_SUPPORT_MUST_H_INCLUDED

#include "support/suite.h"

#define must(x)                                                                                \
    do {                                                                                       \
        if (!(x))                                                                              \
            ck_abort_msg("does not hold: %s", #x);                                             \
    } while (0)

/* must_cmp(a, <, b): two integers, printing both. */
#define must_cmp(a, op, b)                                                                     \
    do {                                                                                       \
        long long must_a_ = (long long) (a), must_b_ = (long long) (b);                        \
        if (!(must_a_ op must_b_))                                                             \
            ck_abort_msg("does not hold: %s %s %s (%lld against %lld)", #a, #op, #b, must_a_,  \
                         must_b_);                                                             \
    } while (0)

#endif
