/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Two ways to do the same, of which nobody knows beforehand which is faster on this machine: each
 * is tried now and then, and the rest goes the one that took less time.
 */
#ifndef WDL_MPID_RMA_TRIAL_H_INCLUDED
#define WDL_MPID_RMA_TRIAL_H_INCLUDED

#include <stdint.h>

enum {
    WDL_TRIAL_AT = 7, WDL_TRIAL_RUN = 4,
    WDL_TRIAL_OFTEN = 32, WDL_TRIAL_SELDOM = 8192, WDL_TRIAL_SURE = 256,
    WDL_TRIAL_CLOCK = 8, WDL_TRIAL_CLOCK_SURE = 64, WDL_TRIAL_LONG_NS = 16384,
    WDL_TRIAL_WHILE_NS = 1 << 26, WDL_TRIAL_COST = 100
};

struct wdl_trial {              /* zeroed at its making */
    uint32_t asked, next, tried;        /* so often; the other way is next tried, was last */
    uint32_t every, least;      /* how far its tries are apart, at least; 0: OFTEN */
    uint32_t ns[2];             /* what a way takes, of late; 0: not gone yet */
    uint16_t runs[2];           /* how often on end a way is tried; 0: RUN */
    uint8_t best, clock;        /* clock: this time the caller is to say how long it takes */
};

/* The way to go, 0 or 1: the faster one, 0 where that is not known; and now and then the other,
 * four times on end (runs), since what has not been gone of late is slow at first: soon at first,
 * then at multiples of a distance that doubles from 32 (least, and four runs) to 8192 while it is
 * slower, or grows by four while it is slower by a third (it may take ten times as long); but of
 * what is long after WHILE_NS of the faster one, or what costs a hundredth of the time. At
 * multiples, since processes that do the same have asked as often: what one hands over is slow
 * while the other one copies, and neither would find out alone that both had better hand over.
 * (Where they have not, wdl_trial_prompt.) Time is taken (trial->clock) at the last of those, and
 * else at every 8th, or 64th once it has been the slower one for long: two looks at the clock and
 * the way to them are a third of what a short copy takes. What takes LONG_NS or more is timed every
 * time. Of the times before the first try the least counts. */
int wdl_trial_way(struct wdl_trial *trial);
/* The other way cannot be gone now: what is due is tried later. */
void wdl_trial_defer(struct wdl_trial *trial);
/* Another process has just gone the way that is the slower one here, and that may depend on what
 * both do: the rest of a try is due now, of which that was the first, unless the last one is less
 * than an eighth of their distance ago. (What takes LONG_NS is tried often enough: more would cost
 * more than can be gained.) */
void wdl_trial_prompt(struct wdl_trial *trial);
/* The way that would be the answer. */
int wdl_trial_next(const struct wdl_trial *trial);
/* Is time to be taken of the faster way? */
static inline int wdl_trial_is_timed(const struct wdl_trial *trial)
{
    uint32_t every = trial->every >= WDL_TRIAL_SURE ? WDL_TRIAL_CLOCK_SURE : WDL_TRIAL_CLOCK;
    uint32_t ns = trial->ns[trial->best];
    return trial->every == 0 || ns == 0 || ns >= WDL_TRIAL_LONG_NS || trial->asked % every == 0;
}

/* How often the other way is tried on end. */
static inline uint32_t wdl_trial_run(const struct wdl_trial *trial)
{
    uint32_t run = trial->runs[!trial->best];
    return run > WDL_TRIAL_RUN ? run : WDL_TRIAL_RUN;
}

/* Is it known that this way is the faster one, and is nothing to be tried or timed? Then this was
 * the question (wdl_trial_way). */
static inline int wdl_trial_is_settled(struct wdl_trial *trial, int way)
{
    if (trial->best != way || trial->asked - trial->next < wdl_trial_run(trial) ||
        wdl_trial_is_timed(trial))
        return 0;
    trial->asked++;
    return 1;
}

/* It took so long. */
void wdl_trial_took(struct wdl_trial *trial, int way, uint64_t ns);

#endif
