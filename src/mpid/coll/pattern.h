/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Patterns of rounds over P ranks, as pure arithmetic: whom a rank sends to and hears from in
 * round r, and which blocks, elements or ranks the message stands for. No memory, O(log P) per
 * call.
 *
 * Blocks are numbered by the rank they belong to; a run of blocks may wrap: block i of it is
 * (first + i) mod P. What `rank` sends in a round is what `to` says it receives; the tests hold
 * every pattern to that, and run it with real blocks, for every P up to 300.
 *
 * Pure functions: any thread may call them.
 */
#ifndef WDL_MPID_COLL_PATTERN_H_INCLUDED
#define WDL_MPID_COLL_PATTERN_H_INCLUDED

#include <stdint.h>

/* One message out, one in. */
struct wdl_pattern_step {
    int to, from;               /* ranks */
    int send_first, send_count; /* blocks that go to `to` */
    int recv_first, recv_count; /* blocks that come from `from` */
};

/* ceil(log_arity(ranks)): the rounds of a dissemination and of Bruck's exchange. */
int wdl_pattern_rounds(int ranks, int arity);
/* Halved, rounded up, so many times: round a circle in halves, what each has when so many rounds
 * are left. */
int wdl_pattern_halved(int ranks, int times);

/* Dissemination: with the blocks a gather-to-all (Bruck's). In round r everyone sends to
 * `arity` - 1 ranks below, ports 0 .. arity-2, arity^r apart. Before the round a rank holds the
 * min(arity^r, P) blocks that begin with its own; none of them is ever sent twice to one rank.
 * Returns 0 when this port has nothing to do in this round, with *step untouched. */
int wdl_pattern_disseminate(int ranks, int arity, int rank, int round, int port,
                            struct wdl_pattern_step *step_out);

/* Everyone hears of everyone, in the time of LogP: in step i a rank tells the rank hop[i] above it
 * what it has heard in its first after[i] steps, itself included. All ranks do the same at the
 * same time, so a rank has heard of a run of ranks that ends with its own, and each step adds to
 * it. With eel = gap: dissemination; the longer a message takes, the more of them are on their way
 * at a time. Found by a search among plans that wait for a message about to come, and those that
 * do not; the tests hold its time to 1.1 of what nothing can beat (test/mpid/coll/least.c). */
enum { WDL_PATTERN_SPREAD_MAX = 64 };
struct wdl_pattern_spread {
    int steps;
    int hop[WDL_PATTERN_SPREAD_MAX], after[WDL_PATTERN_SPREAD_MAX];
    uint64_t time_ps;
};
void wdl_pattern_spread(int ranks, uint64_t eel_ps, uint64_t gap_ps,
                        struct wdl_pattern_spread *spread_out);

/* Bruck's exchange (all to all). Slot d of a rank starts as its block for rank + d. In round r,
 * port j, the slots whose digit r to base `arity` is j + 1 go to the rank (j + 1) arity^r further,
 * into the same slots. At the end slot d holds what rank - d had for us. Returns the number of
 * slots, 0: nothing to do; the step's runs of blocks are not used, send_count = recv_count =
 * slots. */
int wdl_pattern_bruck(int ranks, int arity, int rank, int round, int port,
                      struct wdl_pattern_step *step_out);
/* Those slots are runs of neighbours: the i-th run's first slot, and how many there are; 0: no more
 * runs. */
int wdl_pattern_bruck_run(int ranks, int arity, int round, int port, int i, int *first_out);

/* Broadcast of n blocks from rank 0 in n - 1 + ceil(log2 P) rounds, the fewest there are if a rank
 * sends and receives one block a round (Traff, arXiv 2407.18004). Round i is of kind k = i mod
 * rounds: every rank sends to the one skip[k] above it, round the ring, a block it has by then, and
 * gets one from as far below. With one rank less there are as many rounds or, at a power of two,
 * one less. */
enum { WDL_PATTERN_CIRCULANT_MAX = 31 };
struct wdl_pattern_circulant {
    int rounds; /* ceil(log2 P) */
    int skip[WDL_PATTERN_CIRCULANT_MAX];
    int recv[WDL_PATTERN_CIRCULANT_MAX], send[WDL_PATTERN_CIRCULANT_MAX]; /* of the first rounds */
};
void wdl_pattern_circulant(int ranks, int rank, struct wdl_pattern_circulant *circulant_out);
/* Of n blocks, the one that round i, from 0 on, moves, of a rank whose first are `first` (recv or
 * send); -1: none. The root's receives and sends to the root are left out by who runs this. */
int wdl_pattern_circulant_block(const struct wdl_pattern_circulant *circulant, const int *first,
                                int n, int i);
/* Of one block, the most hops there are on a rank's way from 0. They may be fewer with more ranks,
 * and no way to a rank leads past a greater one: of how many ranks, P or more, the pattern is best
 * for one block, if a hop takes eel and the next message may follow after a gap. */
int wdl_pattern_circulant_hops(int ranks);
int wdl_pattern_circulant_size(int ranks, uint64_t eel_ps, uint64_t gap_ps);
/* When the first `ranks` of so many have one block, if they wait for no round: what is next goes a
 * gap behind what went before. */
uint64_t wdl_pattern_circulant_one(int ranks, int size, uint64_t eel_ps, uint64_t gap_ps);
/* The kind of round i of those that n blocks take. */
int wdl_pattern_circulant_kind(const struct wdl_pattern_circulant *circulant, int n, int i);

/* Ring, P-1 rounds: everyone starts with its own block and ends with all. */
struct wdl_pattern_step wdl_pattern_ring(int ranks, int rank, int round);

/* Exchange in pairs, P-1 rounds, each rank sent to by one in every round: round r sends the block
 * of rank + r + 1, gets what rank - r - 1 has for us; recv_first = from. */
struct wdl_pattern_step wdl_pattern_pairwise(int ranks, int rank, int round);

/* Doubling and halving work on the 2^rounds places of a group. Ranks beyond a power of two: the
 * first pairs of neighbours (2i, 2i + 1) stand at one place together. The upper one gives its data
 * to the lower one before the rounds, and gets the result from it after them. So a place stands
 * for one or two consecutive ranks, places are in the order of ranks, and operators need not
 * commute. */
struct wdl_pattern_group {
    int rounds;                 /* floor(log2(P)) */
    int place;                  /* 0 .. 2^rounds-1; -1: the lower neighbour works for us */
    int giver;                  /* the rank that gives to us before the rounds; -1 */
    int taker;                  /* the rank we give to, and hear from after the rounds; -1 */
};

struct wdl_pattern_group wdl_pattern_group_of(int ranks, int rank);
/* The rank that works for `place`; the ranks it stands for are this one up to, but without, that of
 * place + 1 (of place 2^rounds: P). */
int wdl_pattern_group_rank(int ranks, int place);

/* A round between two places. Ranges are of whatever is halved: elements, blocks. */
struct wdl_pattern_pair {
    int partner;                /* rank */
    int upper;                  /* ours is the right operand: partner's op ours */
    int64_t keep_first, keep_count;     /* ours after a halving round */
    int64_t give_first, give_count;     /* the partner's */
};

/* Doubling: round r joins neighbouring runs of 2^r places. `keep` is the run of ranks whose data
 * we hold before the round, `give` that of the partner: after the round both hold the two. `place`
 * must not be -1. */
struct wdl_pattern_pair wdl_pattern_double(int ranks, int place, int round);

/* Halving of `count` things: in each round the two keep half of what they had each, lower half for
 * the lower place, sending the other half; what comes is folded into what is kept. near: partners
 * are 1, 2, 4, .. places apart, so folds join neighbouring runs in order, and operators need not
 * commute; far: 2^(rounds-1), .., 2, 1 apart, operators must commute, and the parts at the end are
 * in the order of places. Backwards (round = rounds-1 .. 0, sending `keep`, receiving `give`) the
 * same rounds gather the parts to all. */
enum wdl_pattern_way { WDL_PATTERN_NEAR, WDL_PATTERN_FAR };
struct wdl_pattern_pair wdl_pattern_halve(int ranks, int place, int round, enum wdl_pattern_way way,
                                          int64_t count);

#endif
