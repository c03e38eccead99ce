/* Part of Windlass. See COPYRIGHT in the top-level directory. Random numbers that a seed
 * decides. */
#include "base/prng.h"
#include "base/assert.h"

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t rotate(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

void wdl_prng_init(struct wdl_prng *prng, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        prng->s[i] = splitmix(&seed);
}

uint64_t wdl_prng_next(struct wdl_prng *prng)
{
    uint64_t *s = prng->s;
    uint64_t result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t wdl_prng_below(struct wdl_prng *prng, uint64_t bound)
{
    wdl_assert(bound > 0);
    return wdl_prng_next(prng) % bound; /* the bias does not matter at the bounds used here */
}

int wdl_prng_chance(struct wdl_prng *prng, int permille)
{
    return permille > 0 && (int) wdl_prng_below(prng, 1000) < permille;
}
