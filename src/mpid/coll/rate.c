/* Part of Windlass. See COPYRIGHT in the top-level directory. The faster way of long data
 * (rate.h). */
#include "mpid/coll/rate.h"
#include "base/smooth.h"

/* The word: is anything known; is it faster staged, by use? */
enum { KNOWN = 1, STAGED = 2 };

uint64_t wdl_rate_now(const struct wdl_team *team)
{
    const struct wdl_host *host = &team->coll->proc->host;
    return host->ops->now_ns(host->ctx);
}

/* Tried now and then, what is filled is in nobody's cache, and is so sooner than if it were always
 * done: what is to be preferred takes a quarter less. */
static int is_faster(uint32_t ns, uint32_t than)
{
    return ns + ns / 3 < than;
}

/* What of it is known; who never fills knows only how it reads. */
static uint32_t word_of(const struct wdl_rate *rate)
{
    uint32_t fetched = rate->ns[WDL_RATE_FETCHED], read = rate->ns[WDL_RATE_READ];
    uint32_t filled = rate->ns[WDL_RATE_FILLED] ? rate->ns[WDL_RATE_FILLED] : read;
    uint32_t longer = filled > read ? filled : read;
    if (!fetched || !read)
        return 0;
    return KNOWN | (is_faster(longer, fetched) ? STAGED << WDL_RATE_FOR_ALL : 0u) |
           (is_faster(filled + read, fetched) ? STAGED << WDL_RATE_FOR_ONE : 0u);
}

/* What has not been gone of late is slow at first. */
static int is_warm(struct wdl_rate *rate, enum wdl_rate_way way)
{
    enum { COLD = 2 };
    if (way == WDL_RATE_FILLED)
        return 1;
    int more = rate->row < COLD ? rate->row + 1 : COLD;
    rate->row = rate->last == way ? more : 0;
    rate->last = way;
    return rate->row == COLD;
}

void wdl_rate_took(struct wdl_team *team, enum wdl_rate_way way, size_t bytes, uint64_t ns)
{
    enum { UNIT = 64 << 10, PARTS = 2 };
    struct wdl_rate *rate = &team->rate;
    if (bytes < WDL_RATE_LEAST || ns == 0 || !team->on_node || !is_warm(rate, way))
        return;
    rate->ns[way] = wdl_smoothed(rate->ns[way], ns * UNIT / bytes, PARTS);
    uint32_t word = word_of(rate);
    if (word == rate->said)
        return;
    rate->said = word;
    wdl_shm_say_rate(team, word);
}

/* Is the other way due? While nothing is known, always as soon again. */
static int tries_other(struct wdl_rate_turn *turn, int staged, int known)
{
    if (turn->every == 0 || turn->staged != staged) {
        turn->every = WDL_RATE_SOON;
        turn->next = turn->asked + turn->every;
        turn->staged = staged;
    }
    uint32_t tried = turn->asked++ - turn->next;
    if (tried >= WDL_RATE_FOUR)
        return 0;
    if (tried == WDL_RATE_FOUR - 1) {
        turn->every = known && turn->every < WDL_RATE_SELDOM ? 4 * turn->every : turn->every;
        turn->next = turn->asked + turn->every;
    }
    return 1;
}

int wdl_rate_stages(struct wdl_team *team, enum wdl_rate_use use, int otherwise)
{
    uint32_t word = wdl_shm_rate_of(team, (team->rank + 1) % team->size);
    int staged = word & KNOWN ? (word & STAGED << use) != 0 : otherwise;
    return tries_other(&team->rate.turn[use], staged, (word & KNOWN) != 0) ? !staged : staged;
}
