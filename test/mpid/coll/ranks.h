/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Ranks with collectives on a simulated network: what the tests of mpid/coll stand on.
 */
#ifndef WDL_TEST_MPID_COLL_RANKS_H_INCLUDED
#define WDL_TEST_MPID_COLL_RANKS_H_INCLUDED

#include "base/prng.h"
#include "host/testhost.h"
#include "mpid/coll/coll.h"
#include "netmod/sim/sim.h"

struct ranks {
    int n;
    struct wdl_sim *sim;
    struct wdl_prng prng;
    struct ranks_one {
        struct test_host host;
        struct wdl_proc *proc;
        struct ranks *all; /* ranks_team_nodes */
        struct wdl_coll_shm shm;
        char *segment, *staging, *staging_long; /* in the order they are asked for */
        size_t staging_bytes, staging_long_bytes;
    } * one;
    int aside, steps; /* the program does not make the progress that is made; ranks_step */
    int node_ranks;
    int lacks; /* 1 + a rank that has no segment; 0: all have one */
    int domain_ranks; /* within a node; 0: nobody knows of domains */
};

void ranks_open(struct ranks *r, const struct wdl_sim_params *sim);
/* Asserts that nothing is left: no allocation, no message. */
void ranks_close(struct ranks *r);
/* What is made beforehand (struct wdl_coll_limits): 0 the default's, 1 no more than there must be,
 * 2 a little. Before the first team. */
void ranks_limit(struct ranks *r, int pools);
/* A team of all; window, cell_bytes and first_seq from params. */
void ranks_team(struct ranks *r, const struct wdl_team_params *params, struct wdl_team **teams);
/* Two levels wherever they apply, in all teams to come: of all kinds, or of scans alone, which is
 * enough for few ranks to go by domains. */
void ranks_prefer_levels(struct ranks *r, int all);
/* The same where the ranks of a node, `each` of them, share memory: if they `peek` all of it, else
 * segments alone; and what is staged, if params->staging_bytes say how much. */
void ranks_team_nodes(struct ranks *r, const struct wdl_team_params *params, int each, int peeks,
                      struct wdl_team **teams);
/* What that needs of a team of all, once; for each rank's, params->shm is its r->one[rank].shm. */
void ranks_nodes(struct ranks *r, struct wdl_team_params *params, int each, int peeks);
/* A rank has waited long. */
void ranks_doubt(struct ranks *r, int rank);
/* One random rank makes progress, every third time somebody in its program's place, and time
 * passes. Returns the rank. */
int ranks_step(struct ranks *r);
/* Progress on all, round after round, until reqs[0 .. count) of every rank (row-major) are done;
 * the rounds it took. */
int ranks_finish(struct ranks *r, struct wdl_coll_req *reqs, int count);
/* On a LogGP network: progress until nothing moves any more. Returns the time that the last of
 * reqs[0 .. n) took to be done; with reqs NULL 0. */
uint64_t ranks_timed(struct ranks *r, const struct wdl_coll_req *reqs);
/* Messages and puts of all ranks. */
uint64_t ranks_sent(const struct ranks *r);
/* What they have sent, put and asked, and bytes copied and placed: the sums. */
struct wdl_coll_stats ranks_stats(const struct ranks *r);
/* Messages a rank sends in a barrier, by the engine's default model: wdl_pattern_spread. */
int ranks_spread_steps(int n);
/* Destroy teams[0 .. n), making progress as long as they refuse. */
void ranks_drop(struct ranks *r, struct wdl_team **teams);

/* An operator that may be grouped but not turned round: maps x -> a x + b of 16-bit numbers, 4
 * bytes each. */
void ranks_compose(void *ctx, const void *left, void *inout, size_t count);
void ranks_sum(void *ctx, const void *left, void *inout, size_t count);

#endif
