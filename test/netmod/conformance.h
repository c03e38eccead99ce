/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What every netmod promises in netmod.h, as tests. A netmod's test program names the ways it is to
 * be opened and calls conformance_run; each test is run for each of them, several endpoints in one
 * process, polled in turn.
 */
#ifndef WDL_TEST_NETMOD_CONFORMANCE_H_INCLUDED
#define WDL_TEST_NETMOD_CONFORMANCE_H_INCLUDED

#include "netmod/netmod.h"
#include "support/suite.h"

struct wdl_sim_params;

enum nm_answer { NM_NO, NM_YES, NM_ANY };

/* What the capabilities of another rank's memory (rkey_caps) are to be. */
struct nm_expected {
    enum nm_answer alone; /* puts and gets do without the target */
    enum nm_answer own; /* they do on memory of mem_alloc */
    enum nm_answer native; /* every atomic does */
    enum nm_answer own_native; /* it does on memory of mem_alloc */
    enum wdl_nm_domain domain; /* of native atomics, where they are on memory of mem_attach */
};

struct nm_way {
    const char *name;
    const struct wdl_nm_ops *ops;
    const char *tls; /* UCX_TLS, or NULL */
    int ordered; /* what get_ordering is to answer */
    struct nm_expected expected;
    /* the simulated network's parameters (sim.h); seed 0: another network */
    uint64_t seed;
    int refuse_permille, pending_permille;
    uint64_t delay_ns;
    const struct wdl_sim_params *limits; /* what it lacks, or NULL: those above are filled in */
};

/* own: the netmod's own tests, NULL-terminated, each run once. Returns main()'s exit status. */
int conformance_run(const char *name, const struct nm_way *ways, int count,
                    const TTest *const *own);

#endif
