/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Processes of a node that start together wait for each other, asleep: they come tens of
 * milliseconds apart, and who looks on meanwhile takes the processor from those that are not there
 * yet (8 on 2 processors: more than half of their start).
 */
#ifndef WDL_MPID_ADI_MUSTER_H_INCLUDED
#define WDL_MPID_ADI_MUSTER_H_INCLUDED

#include <stdint.h>

struct wdl_muster {             /* in memory that all of them share; zeroed */
    uint32_t come, round;
};

/* Returns when all `n` processes have called it as often as this one has. What one of them has
 * written before is seen by all behind it. */
void wdl_muster_all(struct wdl_muster *muster, int n);

#endif
