/* Part of Windlass. See COPYRIGHT in the top-level directory. Copies for another processor
 * (pass.h). */
#include "base/pass.h"
#include <string.h>
#include "base/copy.h"

#if defined(__SSE2__)
#include <emmintrin.h>

void wdl_pass_past(void *to, const void *from, size_t bytes)
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

#else

void wdl_pass_past(void *to, const void *from, size_t bytes)
{
    wdl_copy(to, from, bytes);
}

#endif

void wdl_pass_init(struct wdl_pass *pass, uint64_t (*now_ns)(void *ctx), void *ctx)
{
    *pass = (struct wdl_pass){.now_ns = now_ns, .ctx = ctx, .every = WDL_PASS_OFTEN};
}

static int is_timed(const struct wdl_pass *pass)
{
    return pass->trials > 0 || pass->slow > 0 || pass->copies % WDL_PASS_CLOCK == 0;
}

static void choose(struct wdl_pass *pass)
{
    int past = pass->past_ns != 0 && pass->plain_ns > pass->past_ns + WDL_PASS_GAIN_NS;
    uint32_t longer = pass->every < WDL_PASS_SELDOM ? 2 * pass->every : pass->every;
    pass->every = past == pass->past ? longer : WDL_PASS_OFTEN;
    pass->next = pass->copies + pass->every;
    pass->past = (uint8_t) past;
    pass->slow = 0;
}

/* A trial: of the way that the others do not go. The shortest counts: the process may have lost its
 * processor meanwhile, or the memory was new. */
static void tried(struct wdl_pass *pass, uint32_t ns)
{
    uint32_t *known = pass->past ? &pass->plain_ns : &pass->past_ns;
    if (pass->trials == WDL_PASS_TRIALS || ns < *known)
        *known = ns;
    if (--pass->trials == 0)
        choose(pass);
}

static void took(struct wdl_pass *pass, size_t bytes, uint64_t ns)
{
    uint64_t unit_ns = ns * WDL_PASS_UNIT / bytes;
    uint32_t now = unit_ns < UINT32_MAX ? (uint32_t) unit_ns : UINT32_MAX;
    now = now ? now : 1;
    if (pass->trials > 0) {
        tried(pass, now);
    } else if (pass->past) {
        pass->past_ns = now;
    } else {
        int slow = now > WDL_PASS_SLOW_NS;
        pass->plain_ns = pass->slow > 0 && slow && pass->plain_ns < now ? pass->plain_ns : now;
        pass->slow = (uint8_t) (slow ? pass->slow + 1 : 0);
    }
}

/* Nothing to gain by a trial past the caches unless copies have been slow; the other way round it
 * is time that tells. */
static void begin_trial(struct wdl_pass *pass)
{
    int due = (int32_t) (pass->copies - pass->next) >= 0;
    if (pass->trials == 0 && due && (pass->past || pass->slow >= WDL_PASS_SLOW_ROW))
        pass->trials = WDL_PASS_TRIALS;
    if (pass->slow >= WDL_PASS_SLOW_ROW && pass->trials == 0)
        pass->slow = 0;
}

void wdl_pass_on(struct wdl_pass *pass, void *to, const void *from, size_t bytes)
{
    if (bytes < WDL_COPY_LONG) {
        memcpy(to, from, bytes);
        return;
    }
    begin_trial(pass);
    int timed = is_timed(pass), past = pass->trials > 0 ? !pass->past : pass->past;
    uint64_t since_ns = timed ? pass->now_ns(pass->ctx) : 0;
    if (past)
        wdl_pass_past(to, from, bytes);
    else
        wdl_copy(to, from, bytes);
    pass->copies++;
    if (timed)
        took(pass, bytes, pass->now_ns(pass->ctx) - since_ns);
}
