/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Two ways to do the same, of which nobody knows beforehand which is faster on this machine: each
 * is tried now and then, and the rest goes the one that took less time.
 */
#ifndef WDL_MPID_RMA_TRIAL_H_INCLUDED
#define WDL_MPID_RMA_TRIAL_H_INCLUDED

#include <stdint.h>

enum { WDL_TRIAL_OFTEN = 32, WDL_TRIAL_SELDOM = 256, WDL_TRIAL_AT = 7 };

struct wdl_trial {              /* zeroed at its making */
    uint32_t asked;
    uint32_t ns[2];             /* what a way takes, by its last times; 0: it has not been gone */
};

/* The way to go, 0 or 1: the faster one, 0 where that is not known; and the other one at every 32nd
 * time, the first time soon, or at every 256th where it takes more than twice as long. */
int wdl_trial_way(struct wdl_trial *trial);
/* It took so long. */
void wdl_trial_took(struct wdl_trial *trial, int way, uint64_t ns);

#endif
