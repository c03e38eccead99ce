/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A few elements in a row, on mapped memory: by atomic instructions, which is a short update
 * (domain.h), or plainly with their region closed, a bulk one. To close it takes as long as one
 * such instruction does, so from two elements on that is faster; unless others update the same
 * memory, for the words that close then go from cache to cache, while each atomic instruction goes
 * to a line that is likely nobody else's.
 *
 * A process sees that others do when it closes a region of a rank's memory of which somebody else
 * has closed the last one, or has announced one, or cannot close it. It goes the other way then, so
 * often that the next try costs nothing to speak of, and twice as often each time in a row.
 *
 * Few elements raise the mode if what they would have saved pays for the kernel's barrier, which
 * takes the longer to say the more often somebody has been met, and outweighs what all other
 * operations would lose.
 *
 * Elements without an instruction lock all stripes, or their own alone, by the same rule.
 */
#ifndef WDL_MPID_RMA_CROWD_H_INCLUDED
#define WDL_MPID_RMA_CROWD_H_INCLUDED

#include "mpid/rma/domain.h"

/* elements: as many atomic instructions take less time than words that come from another cache */
enum { WDL_CROWD_FEW = 16 };

/* updates the other way before the next try, at first and at most; tries in a row that met nobody,
 * after which it begins at first again */
enum { WDL_CROWD_LEAST = 64, WDL_CROWD_MOST = 4096, WDL_CROWD_ALONE = 64 };
/* instructions that would have been saved; what it costs another operation, in such ones; of so
 * many updates one is looked at, and counts for all */
enum { WDL_CROWD_RAISE = 4096, WDL_CROWD_COST = 2, WDL_CROWD_SAMPLE = 16 };

struct wdl_crowd {              /* of a process, in a window; zeroed: it has met nobody */
    uint32_t left, span;        /* updates the other way from here on; from the begin on */
    uint32_t alone;             /* tries that met nobody, since one did */
    uint32_t few, saved;        /* such updates, and what they would have saved, */
    uint64_t ops;               /* since the process had had so many operations */
};

/* Does this update go the other way? Counts. */
static inline int wdl_crowd_is(struct wdl_crowd *crowd)
{
    if (__builtin_expect(crowd->left == 0, 1))
        return 0;
    crowd->left--;
    return 1;
}

/* Somebody else was there. */
static inline void wdl_crowd_met(struct wdl_crowd *crowd)
{
    uint32_t twice = 2 * crowd->span;
    crowd->span = twice == 0 ? WDL_CROWD_LEAST : twice < WDL_CROWD_MOST ? twice : WDL_CROWD_MOST;
    crowd->left = crowd->span;
    crowd->alone = 0;
}

/* Nobody was. */
static inline void wdl_crowd_met_nobody(struct wdl_crowd *crowd)
{
    if (__builtin_expect(crowd->span != 0, 0) && ++crowd->alone == WDL_CROWD_ALONE)
        crowd->span = 0;
}

/* This process, by its place on the node, has closed a region of control's. */
static inline void wdl_crowd_closed(struct wdl_crowd *crowd, struct wdl_win_control *control,
                                    int place)
{
    uint32_t me = (uint32_t) place + 1;
    uint32_t last = __atomic_load_n(&control->bulk_by, __ATOMIC_RELAXED);
    if (__builtin_expect(last == me, 1)) {
        wdl_crowd_met_nobody(crowd);
        return;
    }
    __atomic_store_n(&control->bulk_by, me, __ATOMIC_RELAXED);
    if (last != 0)
        wdl_crowd_met(crowd);
}

/* n elements are updated by as many instructions because the mode is not raised, as the process's
 * operation of this number in the window. Is it to be raised? If not, the next ones ask nobody. */
static inline int wdl_crowd_raises(struct wdl_crowd *crowd, size_t n, uint64_t ops)
{
    crowd->few += WDL_CROWD_SAMPLE;
    crowd->saved += WDL_CROWD_SAMPLE * ((uint32_t) n - 1);
    crowd->left = WDL_CROWD_SAMPLE - 1;
    if (crowd->saved < WDL_CROWD_RAISE * (1 + crowd->span / WDL_CROWD_LEAST))
        return 0;
    uint64_t all = ops - crowd->ops, others = all > crowd->few ? all - crowd->few : 0;
    int many = others * WDL_CROWD_COST <= crowd->saved;
    crowd->ops = ops;
    crowd->few = crowd->saved = 0;
    if (many)
        crowd->left = 0;
    return many;
}

#endif
