/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * How long collectives take in simulated time, on networks that LogGP describes: all ranks begin at
 * one instant, and what is counted ends when the last of them is done. Two ways, which agree to the
 * nanosecond: `engine` runs the engine on the simulated network; `walk` has the engine build every
 * rank's graph and steps through these alone, for as many ranks as nobody has memory to run.
 */
#ifndef WDL_TEST_MPID_COLL_SIMTIME_H_INCLUDED
#define WDL_TEST_MPID_COLL_SIMTIME_H_INCLUDED

#include "mpid/coll/coll.h"
#include "netmod/sim/sim.h"

/* Seed 002's: it gives the end-to-end latency (o + L + o) and the time between two sends in
 * microseconds. The processor's share o and the time per byte are chosen here: what such networks
 * had. */
struct simtime_network {
    const char *name;
    struct wdl_sim_loggp loggp;
};
enum { SIMTIME_NETWORKS = 3, SIMTIME_PACKET = 8192 };
extern const struct simtime_network simtime_networks[SIMTIME_NETWORKS];

struct wdl_coll_model simtime_model(const struct simtime_network *network);
/* Of a broadcast of so many bytes in one message each: nothing that informs all ranks can be
 * faster. In ns. */
uint64_t simtime_optimum(const struct simtime_network *network, int ranks, size_t bytes);
/* What nothing can beat in which all hear of all: a barrier (least.h). In ns. */
uint64_t simtime_least(const struct simtime_network *network, int ranks);

/* What is asked: the memory is found here. */
struct simtime_call {
    enum wdl_coll_kind kind;
    size_t bytes;
    int root;
    const char *algorithm; /* NULL: the engine chooses */
    int rounds; /* the operator rounds: all ranks must fold alike */
    int ordered; /* ... does not even commute */
    int node; /* the walk: so many consecutive ranks share a node, which takes no time; or 0 */
    int domains; /* ... which are domains of one node */
};
struct simtime_result {
    uint64_t ns, messages;
    uint64_t puts; /* of those: flags of the engine's that need no message */
};

struct simtime_result simtime_engine(const struct simtime_network *network, int ranks,
                                     const struct simtime_call *call);
/* Several calls, one after another, in one world. */
void simtime_engines(const struct simtime_network *network, int ranks,
                     const struct simtime_call *calls, int count, struct simtime_result *results);
/* 1, or 0: there is a message longer than a packet, or more than messages_max of them. */
int simtime_walk(const struct simtime_network *network, int ranks, const struct simtime_call *call,
                 uint64_t messages_max, struct simtime_result *result_out);

struct wdl_coll_args simtime_args(const struct simtime_call *call);

#endif
