/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Random numbers that a seed decides: one generator per object, no shared state. Not for secrets.
 * splitmix64 spreads the seed; xoshiro256** draws.
 */
#ifndef WDL_BASE_PRNG_H_INCLUDED
#define WDL_BASE_PRNG_H_INCLUDED

#include <stdint.h>

struct wdl_prng {
    uint64_t s[4];              /* never all zero */
};

void wdl_prng_init(struct wdl_prng *prng, uint64_t seed);
uint64_t wdl_prng_next(struct wdl_prng *prng);
/* A number of 0 .. bound-1; bound > 0. */
uint64_t wdl_prng_below(struct wdl_prng *prng, uint64_t bound);
/* True `permille` times in a thousand. */
int wdl_prng_chance(struct wdl_prng *prng, int permille);

#endif
