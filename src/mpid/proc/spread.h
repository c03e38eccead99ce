/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Processes of a node that outnumber its processors, spread over them. Who waits gives its
 * processor away and does not sleep, so the kernel sees every processor busy and is in no hurry to
 * move anybody: with six of eight processes on one of two processors, every meeting takes six turns
 * instead of four. So each says where it is, when it waits or begins something, and looks now and
 * then whether it should go elsewhere.
 */
#ifndef WDL_MPID_PROC_SPREAD_H_INCLUDED
#define WDL_MPID_PROC_SPREAD_H_INCLUDED

#include <stdint.h>

enum { WDL_SPREAD_PROCESSORS = 1024 };

/* Where a process was when it looked last, written by itself: a cache line of its own, from 0. */
struct wdl_spread_place {
    int waits; /* this processor's number + 1; 0: it sleeps, or has not waited yet */
    int pad[15];
};

/* The place of process `mine`, which is on processor `here`. */
void wdl_spread_show(struct wdl_spread_place *places, int mine, int here);
/* It sleeps. */
void wdl_spread_hide(struct wdl_spread_place *places, int mine);

/* To which processor process `mine` of `n` should go, or that it should stay, since nothing is
 * uneven, or since it is another's turn to go. It goes from one with at least two more than there
 * are on the one it goes to, of those with their bit set in may_use, bit p % 64 of word p / 64,
 * WDL_SPREAD_PROCESSORS bits. One process at a time leaves a processor: whose turn it is, by a
 * number all have alike. If all do what they are told, and all get their turns, in the end no two
 * processors that all may use differ by more than one. */
enum { WDL_SPREAD_EVEN = -1, WDL_SPREAD_LATER = -2 };
int wdl_spread_to(const struct wdl_spread_place *places, int n, int mine, const uint64_t *may_use,
                  uint64_t turn);
/* The number of turns at a time: who never waits when a turn is its own lets it pass. */
enum { WDL_SPREAD_TURN_NS = 4000000 };
static inline uint64_t wdl_spread_turn(uint64_t now_ns)
{
    return now_ns / WDL_SPREAD_TURN_NS;
}

/* A process's own looks. Places are as old as the last wait of who was there, and the kernel moves
 * processes, too: what is uneven must be so at WDL_SPREAD_LOOKS looks on end, one in
 * WDL_SPREAD_LOOK_NS at most, or those that copy much between two waits are moved for nothing. */
struct wdl_spread_looks {
    uint64_t last_ns;
    int uneven; /* so many on end found that, WDL_SPREAD_LOOKS at most */
};
enum { WDL_SPREAD_LOOK_NS = 1000000, WDL_SPREAD_LOOKS = 5 };

/* Is it time for another? It is taken to be made then. */
int wdl_spread_is_due(struct wdl_spread_looks *looks, uint64_t now_ns);
/* Is it to go, after a look at which wdl_spread_to said `to`? */
int wdl_spread_goes(struct wdl_spread_looks *looks, int to);

#endif
