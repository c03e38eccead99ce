/* Part of Windlass. See COPYRIGHT in the top-level directory. Times taken again and again. */
#ifndef WDL_BASE_SMOOTH_H_INCLUDED
#define WDL_BASE_SMOOTH_H_INCLUDED

#include <stdint.h>

/* What something takes, known as `old` (0: not known), now that it has taken `ns`: nearer to that
 * by one of so many parts, but to no more than twice and no less than half of what was known: a
 * process that lost its processor meanwhile says little. Longer and shorter times count alike: what
 * is quick once in a while is not quick. Never 0. */
static inline uint32_t wdl_smoothed(uint32_t old, uint64_t ns, uint32_t parts)
{
    enum { MOST = UINT32_MAX / 4 };
    if (old != 0 && ns > 2 * (uint64_t) old)
        ns = 2 * (uint64_t) old;
    if (ns > MOST)
        ns = MOST;
    if (old != 0 && ns < old / 2)
        ns = old / 2;
    if (old != 0)
        ns = ((uint64_t) old * (parts - 1) + ns + parts / 2) / parts;
    return ns == 0 ? 1 : (uint32_t) ns;
}

#endif
