/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What every netmod promises in netmod.h, as tests. A netmod's test program names the ways it is to
 * be opened and calls conformance_run; each test is run for each of them, several endpoints in one
 * process, polled in turn.
 */
#ifndef WDL_TEST_NETMOD_CONFORMANCE_H_INCLUDED
#define WDL_TEST_NETMOD_CONFORMANCE_H_INCLUDED

#include "netmod/netmod.h"

struct nm_way {
    const char *name;
    const struct wdl_nm_ops *ops;
    const char *tls; /* UCX_TLS, or NULL */
    int ordered; /* what get_ordering is to answer */
    /* the simulated network's parameters (sim.h); seed 0: another network */
    uint64_t seed;
    int refuse_permille, pending_permille;
    uint64_t delay_ns;
};

/* Returns main()'s exit status. */
int conformance_run(const char *name, const struct nm_way *ways, int count);

#endif
