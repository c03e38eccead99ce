/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Bells: how a process of the node wakes another's progress thread. That thread dozes while its
 * program polls (asynch.c), and does not see that the program has turned to something else. Who
 * waits for a one-sided operation sees it: the program's polls are counted beside the bell. It
 * rings for those who have not polled for a while, whether or not it is they it waits for.
 */
#ifndef WDL_ADI_BELL_H_INCLUDED
#define WDL_ADI_BELL_H_INCLUDED

#include <stdint.h>

/* Of a process: a cache line of its own in memory the node shares, from 0. */
struct wdl_bell {
    uint32_t dozes; /* 1: the thread sleeps until this is 0 */
    uint32_t polls; /* the program's, of the network: written by itself */
    uint32_t pad[14];
};

/* What who waits knows of another, from 0. */
struct wdl_bell_look {
    uint32_t polls;
    uint64_t since_ns; /* seen first then */
};

/* The thread: doze until somebody rings, but no longer than `us`, nor when *stop is set, by whoever
 * rings then. Has somebody rung? */
int wdl_bell_doze(struct wdl_bell *bell, long us, const int *stop);
void wdl_bell_ring(struct wdl_bell *bell);
/* Ring for each of `n` but `mine` that dozes, and whose program has not polled for so long. How
 * many. Who is asked for the first time has polled just now. */
int wdl_bells_look(struct wdl_bell *bells, int n, int mine, struct wdl_bell_look *looks,
                   uint64_t now_ns, uint64_t after_ns);

#endif
