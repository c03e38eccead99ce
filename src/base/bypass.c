/* Part of Windlass. See COPYRIGHT in the top-level directory. Copies for another processor
 * (bypass.h). */
#include "base/bypass.h"
#include <string.h>
#include "base/copy.h"

#if defined(__SSE2__)
#include <emmintrin.h>

void wdl_bypass_stores(void *to, const void *from, size_t bytes)
{
    enum { LINE = WDL_COPY_LINE, WORD = sizeof(__m128i) };
    char *at = to;
    const char *of = from;
    size_t head = (LINE - (uintptr_t) to % LINE) % LINE;
    if (bytes < head + LINE) {
        memcpy(to, from, bytes);
        return;
    }
    memcpy(at, of, head);
    size_t done = head;
    for (; bytes - done >= LINE; done += LINE)
        for (size_t i = 0; i < LINE; i += WORD)
            _mm_stream_si128((__m128i *) (void *) (at + done + i),
                             _mm_loadu_si128((const __m128i *) (const void *) (of + done + i)));
    memcpy(at + done, of + done, bytes - done);
    _mm_sfence(); /* such stores are in no order with others */
}

void wdl_bypass_away(void *to, const void *from, size_t bytes)
{
    if (__builtin_cpu_is("amd"))
        wdl_bypass_stores(to, from, bytes);
    else
        wdl_copy(to, from, bytes);
}

#else

void wdl_bypass_away(void *to, const void *from, size_t bytes)
{
    wdl_copy(to, from, bytes);
}

void wdl_bypass_stores(void *to, const void *from, size_t bytes)
{
    wdl_copy(to, from, bytes);
}

#endif

void wdl_bypass_init(struct wdl_bypass *bypass, uint64_t (*now_ns)(void *ctx), void *ctx)
{
    *bypass = (struct wdl_bypass){
        .now_ns = now_ns, .ctx = ctx, .every = WDL_BYPASS_OFTEN, .untimed = WDL_BYPASS_CLOCK};
}

static int is_timed(const struct wdl_bypass *bypass)
{
    return bypass->trials > 0 || bypass->slow > 0 || bypass->untimed >= WDL_BYPASS_CLOCK;
}

static void choose(struct wdl_bypass *bypass)
{
    int past = bypass->past_ns != 0 && bypass->plain_ns > bypass->past_ns + WDL_BYPASS_GAIN_NS;
    uint32_t longer = bypass->every < WDL_BYPASS_SELDOM ? 2 * bypass->every : bypass->every;
    bypass->every = past == bypass->past ? longer : WDL_BYPASS_OFTEN;
    bypass->next = bypass->copies + bypass->every;
    bypass->past = (uint8_t) past;
    bypass->slow = 0;
}

/* A trial: of the way that the others do not go. The shortest counts: the process may have lost its
 * processor meanwhile, or the memory was new. */
static void tried(struct wdl_bypass *bypass, uint32_t ns)
{
    uint32_t *known = bypass->past ? &bypass->plain_ns : &bypass->past_ns;
    if (bypass->trials == WDL_BYPASS_TRIALS || ns < *known)
        *known = ns;
    if (--bypass->trials == 0)
        choose(bypass);
}

static void took(struct wdl_bypass *bypass, size_t bytes, uint64_t ns)
{
    uint64_t unit_ns = ns * WDL_BYPASS_UNIT / bytes;
    uint32_t now = unit_ns < UINT32_MAX ? (uint32_t) unit_ns : UINT32_MAX;
    now = now ? now : 1;
    if (bypass->trials > 0) {
        tried(bypass, now);
    } else if (bypass->past) {
        bypass->past_ns = now;
    } else {
        int slow = now > WDL_BYPASS_SLOW_NS;
        if (bypass->slow == 0 || !slow || now < bypass->plain_ns)
            bypass->plain_ns = now;
        bypass->slow = (uint8_t) (slow ? bypass->slow + 1 : 0);
    }
}

/* Nothing to gain by a trial past the caches unless copies have been slow; the other way round it
 * is time that tells. */
static void begin_trial(struct wdl_bypass *bypass)
{
    int due = (int32_t) (bypass->copies - bypass->next) >= 0;
    if (bypass->trials == 0 && due && (bypass->past || bypass->slow >= WDL_BYPASS_SLOW_ROW))
        bypass->trials = WDL_BYPASS_TRIALS;
    if (bypass->slow >= WDL_BYPASS_SLOW_ROW && bypass->trials == 0)
        bypass->slow = 0;
}

static inline uint32_t counted(size_t bytes)
{
    return (uint32_t) (bytes < WDL_BYPASS_UNIT ? bytes : WDL_BYPASS_UNIT);
}

/* Is there anything to find out, or to be done otherwise? */
static inline int is_settled(const struct wdl_bypass *bypass)
{
    return !bypass->past && !is_timed(bypass);
}

void wdl_bypass_copy(struct wdl_bypass *bypass, void *to, const void *from, size_t bytes)
{
    if (bytes < WDL_COPY_LONG) {
        wdl_copy(to, from, bytes);
        return;
    }
    if (__builtin_expect(is_settled(bypass), 1)) {
        bypass->copies++;
        bypass->untimed += counted(bytes);
        wdl_copy_over(to, from, bytes);
        return;
    }
    begin_trial(bypass);
    int timed = is_timed(bypass), past = bypass->trials > 0 ? !bypass->past : bypass->past;
    uint64_t since_ns = timed ? bypass->now_ns(bypass->ctx) : 0;
    if (past)
        wdl_bypass_stores(to, from, bytes);
    else
        wdl_copy_over(to, from, bytes);
    bypass->copies++;
    if (timed)
        took(bypass, bytes, bypass->now_ns(bypass->ctx) - since_ns);
    bypass->untimed = (timed ? 0 : bypass->untimed) + counted(bytes);
}
