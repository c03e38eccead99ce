/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The parts of the conformance suite.
 */
#ifndef WDL_TEST_NETMOD_SUITES_H_INCLUDED
#define WDL_TEST_NETMOD_SUITES_H_INCLUDED

#include "netmod/conformance.h"
#include "support/suite.h"

extern const struct nm_way *nm_ways; /* of the program that runs; a test's _i is one of them */
/* NULL-terminated. */
const TTest *const *nm_rma_tests(void);
const TTest *const *nm_caps_tests(void);
const TTest *const *nm_close_tests(void);
const TTest *const *nm_tag_tests(void);

#endif
