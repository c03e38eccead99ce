/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The simulated network: every rank in one process, time is a number, the seed decides everything
 * that happens. A fabric joins the ranks; it is given to open() as params->fabric.
 *
 * Invariants:
 *  1. Nothing is delivered or completed outside poll() of the rank it belongs to.
 *  2. The same seed and the same calls give the same run.
 *  3. sent == delivered + in flight (+ dropped at close), for messages and for bytes.
 */
#ifndef WDL_NETMOD_SIM_SIM_H_INCLUDED
#define WDL_NETMOD_SIM_SIM_H_INCLUDED

#include "netmod/netmod.h"

struct wdl_sim;

struct wdl_sim_params {
    uint64_t seed;
    int ranks;
    int ordered;                /* messages between two ranks keep their order */
    uint64_t delay_ns_max;      /* each message and operation takes 0 .. delay_ns_max */
    int refuse_permille;        /* how often a starting entry answers WDL_AGAIN */
    int pending_permille;       /* how often am() borrows the payload and answers WDL_PENDING */
    size_t am_bytes_max;        /* 0: 4096; at least 1024 */
};

struct wdl_sim_counts {
    /* messages; deferred: answered AGAIN by on_am */
    uint64_t sent, delivered, dropped, deferred, refused;
    uint64_t bytes_sent, bytes_delivered, bytes_dropped;
    uint64_t puts, gets, atomics, flushes;
};

/* NULL when memory is short or the parameters are none. */
struct wdl_sim *wdl_sim_create(const struct wdl_sim_params *params);
/* All ranks have closed. */
void wdl_sim_destroy(struct wdl_sim *sim);
uint64_t wdl_sim_now(const struct wdl_sim *sim);
void wdl_sim_advance(struct wdl_sim *sim, uint64_t ns);
/* From now on nothing is refused (the network heals). */
void wdl_sim_heal(struct wdl_sim *sim);
const struct wdl_sim_counts *wdl_sim_counts(const struct wdl_sim *sim);
/* Nothing in flight, nothing to complete. */
int wdl_sim_quiescent(const struct wdl_sim *sim);
/* Assert invariant 3. */
void wdl_sim_check(const struct wdl_sim *sim);

#endif
