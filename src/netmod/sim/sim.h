/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The simulated network: every rank in one process, time is a number, the seed decides everything
 * that happens. A fabric joins the ranks; it is given to open() as params->fabric.
 *
 * Invariants:
 *  1. Nothing is delivered or completed outside poll() of the rank it belongs to.
 *  2. The same seed and the same calls give the same run.
 *  3. sent == delivered + in flight (+ dropped at close), for messages and for bytes.
 *  4. Who takes memory or a key away from under an operation is stopped by an assertion.
 */
#ifndef WDL_NETMOD_SIM_SIM_H_INCLUDED
#define WDL_NETMOD_SIM_SIM_H_INCLUDED

#include "netmod/netmod.h"

struct wdl_sim;

/* How atomics are done: natively, against the CPU's or against each other only (then each reads the
 * word and writes it some time later), or by the target's processor in its poll. */
enum wdl_sim_atomics { WDL_SIM_ATOMICS_CPU, WDL_SIM_ATOMICS_NIC, WDL_SIM_ATOMICS_TARGET };

/* Time as LogGP has it, in place of delays. A message of k bytes takes its sender's processor for
 * o, is at its receiver (k - 1) G + L later, takes that processor for o and is delivered then. A
 * rank begins to send, and to receive, max(o, g) + (k - 1) G after it last did. A send that cannot
 * begin is refused. A put is a message of its bytes, as if what is free were not among them, that
 * nobody is told of; gets and atomics take no time. */
struct wdl_sim_loggp {
    uint64_t o_ns, l_ns, g_ns, byte_ps;
    size_t free_bytes;          /* of a message are not among its k: headers */
};

/* Zero in all but seed and ranks: the most capable network, at once, unordered. */
struct wdl_sim_params {
    uint64_t seed;
    int ranks;
    int ordered;                /* messages between two ranks keep their order */
    uint64_t delay_ns_max;      /* each message and operation takes 0 .. delay_ns_max */
    struct wdl_sim_loggp loggp; /* with l_ns > 0: this is when messages move */
    int refuse_permille;        /* how often a starting entry answers WDL_AGAIN */
    int pending_permille;       /* how often am() borrows the payload and answers WDL_PENDING */
    size_t am_bytes_max;        /* 0: 4096; at least 1024 */
    int no_rma;                 /* has_rma is 0 */
    int rma_needs_target;       /* puts, gets and atomics wait for a poll of the target */
    enum wdl_sim_atomics atomics;
    /* bit (1 << enum wdl_nm_atomic): native ones that leave the word as it is, if they are asked
     * for what was there before; caps say so (UCX 1.13's AND and OR over shared memory) */
    uint32_t no_fetches;
    int by_key;                 /* caps() promises nothing of puts, gets and atomics, keys do */
    /* Atomics between two peers that are not like the others': of rank odd - 1 with rank odd_to - 1
     * (0: with everybody, itself included); odd 0: of nobody. With by_key. */
    int odd, odd_to;
    enum wdl_sim_atomics odd_atomics;
    int torn;                   /* a put of several words of 8 bytes arrives one by one, in any
                                 * order; of fewer bytes at once */
    int no_map;                 /* map() answers ERR_UNSUPPORTED */
    size_t key_bytes;           /* of a key; 0: the least */
    int attach_max;             /* regions a rank may have attached, then ERR_NOMEM; 0: no limit */
    int ops_max;                /* puts, gets, atomics, flushes of a rank in flight, then WDL_AGAIN;
                                 * 0: no limit */
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
/* When a poll of this rank has something to do, for all that is known; UINT64_MAX: never. */
uint64_t wdl_sim_next(const struct wdl_sim *sim, int rank);
/* From now on nothing is refused (the network heals). */
void wdl_sim_heal(struct wdl_sim *sim);
const struct wdl_sim_counts *wdl_sim_counts(const struct wdl_sim *sim);
/* Nothing in flight, nothing to complete. */
int wdl_sim_quiescent(const struct wdl_sim *sim);
/* Assert invariant 3. */
void wdl_sim_check(const struct wdl_sim *sim);

#endif
