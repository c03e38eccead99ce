/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * How long a broadcast in blocks on a circulant graph (pattern.h) takes where nobody waits for a
 * round, but for ready flags, a block and a port. Then ranks that have nothing to send in a round
 * are ahead of it, what they send meets at its receiver's port what belongs there, and who waits
 * for that loses a round: with some numbers of ranks and blocks, and not with others. No formula
 * tells which, so all messages are walked through.
 *
 * Times are in turns: what a block keeps a port busy. A ready flag does so for a gap, and takes a
 * gap and a wait to be with its receiver; a block, a turn and a wait. The walk is O(P^2 n); what it
 * has found is kept, and what is asked for is between these. Among more than
 * WDL_BLOCKTIME_RANKS_MAX ranks nobody asks.
 *
 * The walk is a pure function; what is kept belongs to one thread at a time.
 */
#ifndef WDL_MPID_COLL_BLOCKTIME_H_INCLUDED
#define WDL_MPID_COLL_BLOCKTIME_H_INCLUDED

#include <stdint.h>

enum {
    WDL_BLOCKTIME_RANKS_MAX = 64,
    WDL_BLOCKTIME_BLOCKS_MAX = 64,
    WDL_BLOCKTIME_TURN = 256, /* units of time */
    WDL_BLOCKTIME_NUMBERS = 12,
    WDL_BLOCKTIME_WAITS = 7,
    WDL_BLOCKTIME_GAPS = 3
};

/* All zero: nothing is known yet. */
struct wdl_blocktime {
    uint16_t units[WDL_BLOCKTIME_RANKS_MAX + 1][WDL_BLOCKTIME_NUMBERS][WDL_BLOCKTIME_WAITS]
                  [WDL_BLOCKTIME_GAPS];
    uint64_t walks; /* so far */
};

/* The numbers of blocks there may be, in their order: a few, so that more data never takes less
 * time. i < WDL_BLOCKTIME_NUMBERS. */
int wdl_blocktime_number(int i);
/* The i-th number of blocks; all in turns. */
double wdl_blocktime(struct wdl_blocktime *kept, int ranks, int i, double wait, double gap);
/* When all have the last of n blocks, in units. */
uint32_t wdl_blocktime_walk(int ranks, int n, int32_t wait, int32_t gap);

#endif
