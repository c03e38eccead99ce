/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Long copies to shared memory that another processor reads, and has read before: each line they
 * write has to be taken back from that processor's cache. Where the two share no cache that can
 * take ten times as long as all the rest, unless the lines are written past the caches (measured on
 * an AMD EPYC, 64 KiB, a hand-over of 0.24 us: to fill them 35 us, past the caches 1.4; to read
 * them 3.6 us either way). Where they share one, what was written past it takes longer to read
 * (1.9 us, 5.3 then). So it is done where filling is found to be slow.
 *
 * Invariants:
 *  1. Time is taken once in CLOCK bytes (of a long copy no more than UNIT count): two looks at the
 *     clock are half of what 8 KiB take. While it is slow it is taken of each. After SLOW_ROW slow
 *     ones on end a few go past the caches; so do all that follow if those took less by GAIN_NS.
 *  2. Then the other way is tried again, twice on end, at distances that double up to SELDOM.
 *  3. What is written either way may be told of by a store with release order.
 */
#ifndef WDL_BASE_BYPASS_H_INCLUDED
#define WDL_BASE_BYPASS_H_INCLUDED

#include <stddef.h>
#include <stdint.h>

enum {
    WDL_BYPASS_CLOCK = 512 << 10,
    WDL_BYPASS_SLOW_ROW = 3,
    WDL_BYPASS_TRIALS = 2,
    WDL_BYPASS_OFTEN = 32,
    WDL_BYPASS_SELDOM = 1024,
    WDL_BYPASS_UNIT = 64 << 10, /* times are of so many bytes */
    WDL_BYPASS_SLOW_NS = 12000,
    WDL_BYPASS_GAIN_NS = 10000
};

struct wdl_bypass {
    uint64_t (*now_ns)(void *ctx);
    void *ctx;
    uint32_t copies, next; /* so many; a trial begins at that one */
    uint32_t untimed; /* bytes since time was taken */
    uint32_t every; /* how far trials are apart */
    uint32_t plain_ns, past_ns; /* what a way takes, of late; 0: not known */
    uint8_t past; /* the way all go that are no trial */
    uint8_t slow, trials; /* slow ones on end; of a trial are left */
};

/* Nothing is known. The clock is the caller's, and stays his. */
void wdl_bypass_init(struct wdl_bypass *bypass, uint64_t (*now_ns)(void *ctx), void *ctx);
/* What memcpy does. */
void wdl_bypass_copy(struct wdl_bypass *bypass, void *to, const void *from, size_t bytes);
/* The same past the caches, where the processor has such stores. */
void wdl_bypass_stores(void *to, const void *from, size_t bytes);
/* Of what is long, and is not needed here soon: the same where lines are not to be read first only
 * to be overwritten. Intel's string instruction reads none, and takes a third of the time (Cascade
 * Lake, 1 MiB: 55 us, 190 past the caches); AMD's does. */
void wdl_bypass_away(void *to, const void *from, size_t bytes);

#endif
