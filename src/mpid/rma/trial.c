/* Part of Windlass. See COPYRIGHT in the top-level directory. The faster of two ways (trial.h). */
#include "mpid/rma/trial.h"

int wdl_trial_way(struct wdl_trial *trial)
{
    const uint32_t *ns = trial->ns;
    int best = ns[1] != 0 && ns[1] < ns[0];
    uint32_t every = ns[!best] / 2 > ns[best] ? WDL_TRIAL_SELDOM : WDL_TRIAL_OFTEN;
    return trial->asked++ % every == WDL_TRIAL_AT ? !best : best;
}

/* A process that lost its processor meanwhile says little of the way. */
void wdl_trial_took(struct wdl_trial *trial, int way, uint64_t ns)
{
    uint64_t old = trial->ns[way];
    if (old != 0 && ns > 2 * old)
        ns = 2 * old;
    if (ns > UINT32_MAX / 4)
        ns = UINT32_MAX / 4;
    ns = old == 0 ? ns : ns < old ? (old + ns) / 2 : (3 * old + ns) / 4;
    trial->ns[way] = ns == 0 ? 1 : (uint32_t) ns;
}
