/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * ck_assert for loops: check(3) tells the parent process of every assertion that it reaches, which
 * costs a system call; these tell of the one that fails.
 */
#ifndef WDL_TEST_SUPPORT_MUST_H_INCLUDED
#define WDL_TEST_SUPPORT_MUST_H_INCLUDED

#include <check.h>

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
