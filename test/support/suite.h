/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The frame of a unit test program. A test file holds START_TEST bodies and ends with
 *
 *     WDL_SUITE("base/status", first_test, second_test)
 *
 * which defines main(). Every test runs in a process of its own, so a crash or an abort fails that
 * test alone; CK_FORK=no keeps all in one process for a debugger or valgrind.
 */
#ifndef WDL_TEST_SUPPORT_SUITE_H_INCLUDED
#define WDL_TEST_SUPPORT_SUITE_H_INCLUDED

#include <check.h>
#include <stddef.h>

/* check(3) writes to a file whenever an assertion holds: most of what a loop of them takes. Here a
 * test writes of each place in the source once: of one that crashes, check(3) then says which
 * place it came to last for the first time. */
#define _mark_point(file, line)                                                                \
    ({                                                                                         \
        static int wdl_told_;                                                                  \
        if (!__atomic_load_n(&wdl_told_, __ATOMIC_RELAXED)) {                                  \
            __atomic_store_n(&wdl_told_, 1, __ATOMIC_RELAXED);                                 \
            (_mark_point) (file, line);                                                        \
        }                                                                                      \
    })

/* Seconds a test may take before it counts as hung; CK_TIMEOUT_MULTIPLIER scales it. */
#define WDL_SUITE_TIMEOUT_S 120

/* Run `count` tests as one suite; returns main()'s exit status. */
int wdl_suite_run(const char *name, const TTest *const *tests, size_t count);

/* Does fn(arg) end in a failed assertion? It runs in a process of its own, unheard. */
int wdl_suite_aborts(void (*fn) (void *arg), void *arg);

#define WDL_SUITE(name, ...)                                                                   \
    int main(void)                                                                             \
    {                                                                                          \
        const TTest *const wdl_tests_[] = {__VA_ARGS__};                                       \
        return wdl_suite_run(name, wdl_tests_, sizeof(wdl_tests_) / sizeof(wdl_tests_[0]));    \
    }

#endif /* WDL_TEST_SUPPORT_SUITE_H_INCLUDED */
