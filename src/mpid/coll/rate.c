/* Part of Windlass. See COPYRIGHT in the top-level directory. The faster way of long data
 * (rate.h). */
#include "mpid/coll/rate.h"
#include "base/assert.h"
#include "base/smooth.h"
#include "mpid/coll/staging.h"

/* The word, two bits a use: is anything known; is it faster staged? */
enum { KNOWN = 1, STAGED = 2, BITS = 2 };

wdl_static_assert(sizeof(((struct wdl_rate *) 0)->of) / sizeof(struct wdl_rate_times) ==
                  WDL_RATE_USES);

uint64_t wdl_rate_now(const struct wdl_team *team)
{
    const struct wdl_host *host = &team->coll->proc->host;
    return host->ops->now_ns(host->ctx);
}

enum wdl_rate_use wdl_rate_use(const struct wdl_run *run)
{
    const struct wdl_coll_args *a = &run->args;
    int all = a->kind == WDL_COLL_BROADCAST ||
              (a->kind == WDL_COLL_GATHER_ALL && run->team->size > 2);
    if (wdl_staging_is_long(run) && a->kind == WDL_COLL_ALLREDUCE)
        return WDL_RATE_LONG_FOLDED;
    if (wdl_staging_is_long(run))
        return all ? WDL_RATE_LONG_FOR_ALL : WDL_RATE_LONG_FOR_ONE;
    if (a->kind == WDL_COLL_REDUCE && run->team->size == 2)
        return WDL_RATE_FOLDED;
    return all ? WDL_RATE_FOR_ALL : WDL_RATE_FOR_ONE;
}

/* Tried now and then, what is filled is in nobody's cache, and is so sooner than if it were always
 * done: what is to be preferred instead of fetching takes a quarter less. */
static int is_faster(uint32_t ns, uint32_t than)
{
    return ns + ns / 3 < than;
}

/* What of it is known; who never fills knows only how it reads. Of what is folded, all that the way
 * takes is one time: what fills is in it, and each way is seen as it is. */
static uint32_t bits_of(const struct wdl_rate_times *times, enum wdl_rate_use use, uint32_t before)
{
    uint32_t fetched = times->ns[WDL_RATE_FETCHED], read = times->ns[WDL_RATE_READ];
    uint32_t filled = times->ns[WDL_RATE_FILLED] ? times->ns[WDL_RATE_FILLED] : read;
    uint32_t longer = filled > read ? filled : read;
    int all = use == WDL_RATE_FOR_ALL || use == WDL_RATE_LONG_FOR_ALL || use == WDL_RATE_FOLDED;
    if (!fetched || !read)
        return 0;
    if (use == WDL_RATE_LONG_FOLDED)
        return KNOWN | (read < fetched ? STAGED : 0u);
    if (!all && before != KNOWN)        /* it was not found to be better fetched */
        return KNOWN | (filled + read < fetched ? STAGED : 0u);
    return KNOWN | (is_faster(all ? longer : filled + read, fetched) ? STAGED : 0u);
}

/* What has not been gone of late is slow at first. */
static int is_warm(struct wdl_rate_times *times, enum wdl_rate_way way)
{
    enum { COLD = 2 };
    if (way == WDL_RATE_FILLED)
        return 1;
    int more = times->row < COLD ? times->row + 1 : COLD;
    times->row = times->last == way ? more : 0;
    times->last = way;
    return times->row == COLD;
}

void wdl_rate_took(struct wdl_team *team, enum wdl_rate_use use, enum wdl_rate_way way,
                   size_t bytes, uint64_t ns)
{
    enum { UNIT = 64 << 10, PARTS = 2 };
    struct wdl_rate *rate = &team->rate;
    struct wdl_rate_times *times = &rate->of[use];
    if (bytes < WDL_RATE_LEAST || ns == 0 || !team->on_node || !is_warm(times, way))
        return;
    times->ns[way] = wdl_smoothed(times->ns[way], ns * UNIT / bytes, PARTS);
    uint32_t before = rate->said >> BITS * use & (KNOWN | STAGED);
    uint32_t word = bits_of(times, use, before) << BITS * use;
    word |= rate->said & ~((uint32_t) (KNOWN | STAGED) << BITS * use);
    if (word == rate->said)
        return;
    rate->said = word;
    wdl_shm_say_rate(team, word);
}

/* Is the other way due? While nothing is known, always as soon again. */
static int tries_other(struct wdl_rate_times *turn, int staged, int known, int is_long)
{
    uint32_t soon = is_long ? WDL_RATE_SOON_LONG : WDL_RATE_SOON;
    uint32_t seldom = is_long ? WDL_RATE_SELDOM_LONG : WDL_RATE_SELDOM;
    if (turn->every == 0 || turn->staged != staged) {
        turn->every = WDL_RATE_SOON;
        turn->next = turn->asked + soon;
        turn->staged = staged;
    }
    uint32_t tried = turn->asked++ - turn->next;
    uint32_t row = turn->every < WDL_RATE_RARE ? WDL_RATE_FOUR : WDL_RATE_ROW;
    if (tried >= row)
        return 0;
    if (tried == row - 1) {
        turn->every = known && turn->every < seldom ? 4 * turn->every : turn->every;
        turn->next = turn->asked + turn->every;
    }
    return 1;
}

/* What the rank behind us has found. */
static uint32_t heard(const struct wdl_team *team, enum wdl_rate_use use)
{
    return wdl_shm_rate_of(team, (team->rank + 1) % team->size) >> BITS * use;
}

int wdl_rate_prefers(const struct wdl_team *team, enum wdl_rate_use use, int otherwise)
{
    uint32_t bits = heard(team, use);
    return bits & KNOWN ? (bits & STAGED) != 0 : otherwise;
}

int wdl_rate_stages(struct wdl_team *team, enum wdl_rate_use use, int otherwise)
{
    int known = (heard(team, use) & KNOWN) != 0, staged = wdl_rate_prefers(team, use, otherwise);
    int is_long = use >= WDL_RATE_LONG_FOR_ALL;
    return tries_other(&team->rate.of[use], staged, known, is_long) ? !staged : staged;
}
