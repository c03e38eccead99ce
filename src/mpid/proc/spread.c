/* Part of Windlass. See COPYRIGHT in the top-level directory. */
#include "mpid/proc/spread.h"

static int waits_of(const struct wdl_spread_place *places, int i)
{
    return __atomic_load_n(&places[i].waits, __ATOMIC_RELAXED);
}

void wdl_spread_show(struct wdl_spread_place *places, int mine, int here)
{
    if (waits_of(places, mine) != here + 1)
        __atomic_store_n(&places[mine].waits, here + 1, __ATOMIC_RELAXED);
}

void wdl_spread_hide(struct wdl_spread_place *places, int mine)
{
    __atomic_store_n(&places[mine].waits, 0, __ATOMIC_RELAXED);
}

int wdl_spread_to(const struct wdl_spread_place *places, int n, int mine, const uint64_t *may_use,
                  uint64_t turn)
{
    uint32_t count[WDL_SPREAD_PROCESSORS] = {0};
    int here = waits_of(places, mine), to = -1, before = 0;
    for (int i = 0; i < n; i++) {
        int waits = i == mine ? here : waits_of(places, i);
        if (waits < 1 || waits > WDL_SPREAD_PROCESSORS)
            continue;
        before += waits == here && i < mine;
        count[waits - 1]++;
    }
    if (here < 1 || here > WDL_SPREAD_PROCESSORS)
        return WDL_SPREAD_EVEN;
    for (int p = 0; p < WDL_SPREAD_PROCESSORS; p++)
        if (may_use[p / 64] >> p % 64 & 1 && (to < 0 || count[p] < count[to]))
            to = p;
    if (to < 0 || count[to] + 2 > count[here - 1])
        return WDL_SPREAD_EVEN;
    return (uint64_t) before == turn % count[here - 1] ? to : WDL_SPREAD_LATER;
}

int wdl_spread_is_due(struct wdl_spread_looks *looks, uint64_t now_ns)
{
    if (now_ns - looks->last_ns < WDL_SPREAD_LOOK_NS)
        return 0;
    looks->last_ns = now_ns;
    return 1;
}

int wdl_spread_goes(struct wdl_spread_looks *looks, int to)
{
    if (to == WDL_SPREAD_EVEN)
        looks->uneven = 0;
    else if (looks->uneven < WDL_SPREAD_LOOKS)
        looks->uneven++;
    if (to < 0 || looks->uneven < WDL_SPREAD_LOOKS)
        return 0;
    looks->uneven = 0;
    return 1;
}
