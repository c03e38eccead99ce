/* Part of Windlass. See COPYRIGHT in the top-level directory. The faster of two ways (trial.h). */
#include "mpid/rma/trial.h"
#include "base/smooth.h"

/* Of a run of the other way: its tries so far; as many as it has, or more: there is none. */
static uint32_t tries(const struct wdl_trial *trial)
{
    return trial->asked - (trial->every ? trial->next : WDL_TRIAL_AT);
}

/* Behind what has been asked: the next multiple of a distance, which is a power of two. Processes
 * that do the same try at the same time so: what is handed over takes its time from what the other
 * one does. */
static uint32_t multiple(uint32_t asked, uint32_t every)
{
    return (asked | (every - 1)) + 1;
}

/* A power of two. */
static uint32_t least(const struct wdl_trial *trial)
{
    uint32_t every = trial->least ? trial->least : WDL_TRIAL_OFTEN;
    while (every < 4u * trial->runs[0] || every < 4u * trial->runs[1])
        every *= 2;
    return every;
}

int wdl_trial_next(const struct wdl_trial *trial)
{
    return tries(trial) < wdl_trial_run(trial) ? !trial->best : trial->best;
}

int wdl_trial_way(struct wdl_trial *trial)
{
    uint32_t tried = tries(trial), run = wdl_trial_run(trial);
    int other = tried < run, last = tried == run - 1;
    if (last) {
        trial->every = trial->every ? trial->every : least(trial);
        trial->next = multiple(trial->asked, trial->every);
        trial->tried = trial->asked;
    }
    trial->clock = last || (!other && wdl_trial_is_timed(trial));
    trial->asked++;
    return other ? !trial->best : trial->best;
}

void wdl_trial_defer(struct wdl_trial *trial)
{
    if (trial->every == 0)
        return;                 /* the first try keeps its time */
    if (tries(trial) < wdl_trial_run(trial))
        trial->next = multiple(trial->asked, least(trial));
    trial->asked++;
}

void wdl_trial_prompt(struct wdl_trial *trial)
{
    uint32_t run = wdl_trial_run(trial), eighth = trial->every / 8;
    uint32_t late = eighth > 2 * run ? eighth : 2 * run;
    if (trial->every > 0 && trial->ns[trial->best] < WDL_TRIAL_LONG_NS &&
        tries(trial) >= run && trial->asked - trial->tried >= late)
        trial->next = trial->asked - 1; /* the other one has done one of its own */
}

/* The distance that is never passed: what is long is tried sooner than so many times later, once in
 * a while, or when all others together have taken so much longer than a run costs. (A machine's
 * processors may be others the next moment.) */
static uint32_t limit(const struct wdl_trial *trial)
{
    const uint32_t *known = trial->ns;
    int best = trial->best;
    uint64_t ns = known[best] ? known[best] : 1;
    uint64_t more = known[!best] > ns ? known[!best] - ns : 0;
    uint64_t by_time = WDL_TRIAL_WHILE_NS / ns;
    uint64_t by_cost = WDL_TRIAL_COST * wdl_trial_run(trial) * more / ns;
    uint64_t most = by_time > by_cost ? by_time : by_cost;
    uint32_t power = WDL_TRIAL_OFTEN;
    while (power < WDL_TRIAL_SELDOM && 2 * (uint64_t) power <= most)
        power *= 2;
    return power;
}

/* The distance of the next try of the slower way: what is slower by much is not soon the faster
 * one, and each try costs more. */
static uint32_t after(const struct wdl_trial *trial)
{
    const uint32_t *known = trial->ns;
    int best = trial->best;
    uint32_t most = limit(trial);
    uint32_t every = trial->every * (known[!best] / 4 > known[best] / 3 ? 4 : 2);
    every = every < most ? every : most;
    return every > least(trial) ? every : least(trial);
}

void wdl_trial_took(struct wdl_trial *trial, int way, uint64_t ns)
{
    const uint32_t *known = trial->ns;
    int best = trial->best;
    if (trial->every > 0 || known[way] == 0)
        trial->ns[way] = wdl_smoothed(known[way], ns, 4);
    else if (ns < known[way])   /* of the first times some were cold ones */
        trial->ns[way] = ns > 0 ? (uint32_t) ns : 1;
    int worse = known[!best] != 0 && known[!best] < known[best] - known[best] / 16;
    if (worse) {
        /* than the other was some time ago: first that is looked at again */
        trial->every = least(trial);
        trial->next = way == best ? trial->asked : multiple(trial->asked, trial->every);
        trial->best = (uint8_t) (way == best ? best : !best);
    } else if (way != best) {
        trial->every = ns < known[best] ? least(trial) : after(trial);
        trial->next = multiple(trial->asked, trial->every);
    }
}
