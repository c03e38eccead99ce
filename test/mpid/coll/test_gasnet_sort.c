/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Sort: any layouts in and out, duplicates, fewer elements than ranks, in random worlds; stable;
 * elements of any size; the same for every number of ranks.
 */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/gasnet_ranks.h"
#include "support/must.h"
#include "support/suite.h"

/* What all ranks are told. */
static struct call {
    int m, flags;
    size_t n;
    struct layout from, to;
} call;

static void drawn(void)
{
    call = (struct call){.m = (int) draw(2), .flags = draw_flags(0)};
    size_t units = call.m ? first[r.n] : (size_t) r.n;
    call.n = 1 + draw(4 * units);
    call.from = gasnet_layout(units);
    call.to = draw(2) ? gasnet_layout(units) : call.from;
    gasnet_lists(call.m, call.flags);
}

static int by_high_bits(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *) a >> 12, y = *(const uint32_t *) b >> 12;
    return x < y ? -1 : x > y;
}

static void sort_start(int i)
{
    const struct call *c = &call;
    struct wdl_gas_array s = {src[i][0], c->from.blk, c->from.off};
    struct wdl_gas_array d = {dst[i][0], c->to.blk, c->to.off};
    handle[i] = wdl_gas_sortM_nb(team[i], c->m ? dst_list[i] : NULL, d, c->m ? src_list[i] : NULL,
                                 s, 4, c->n, by_high_bits, c->flags);
}

/* The low bits say where an element was: equal ones keep their order. */
static void sort(void)
{
    static uint32_t value[4 * UNITS_MAX + 1];
    drawn();
    size_t keys = 1 + draw(50);
    for (size_t g = 0; g < call.n; g++) {
        value[g] = (uint32_t) (draw(keys) << 12 | g);
        *gasnet_element(src, call.m, &call.from, g) = value[g];
    }
    for (size_t g = 1; g < call.n; g++)
        for (size_t k = g; k > 0 && value[k] < value[k - 1]; k--) {
            uint32_t swap = value[k];
            value[k] = value[k - 1];
            value[k - 1] = swap;
        }
    gasnet_all(sort_start);
    for (size_t g = 0; g < call.n; g++)
        ck_assert_uint_eq(*gasnet_element(dst, call.m, &call.to, g), value[g]);
}

START_TEST(few_ranks)
{
    gasnet_few(sort);
}
END_TEST

START_TEST(more_ranks_than_links)
{
    gasnet_many(sort);
}
END_TEST

/* Elements of `bytes` with a key in the first and a number behind it, all on one unit: in order of
 * keys, and of numbers where keys are equal; the same whatever their size and however many sort. */
static size_t size_now, count_now;

static int by_first_byte(const void *a, const void *b)
{
    return (int) *(const unsigned char *) a - (int) *(const unsigned char *) b;
}

static void odd_start(int i)
{
    struct wdl_gas_array s = {src[i][0], 0, 0}, d = {dst[i][0], 0, 0};
    handle[i] = wdl_gas_sortM_nb(team[i], NULL, d, NULL, s, size_now, count_now, by_first_byte,
                                 WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_MYSYNC | WDL_COLL_LOCAL);
}

START_TEST(elements_of_any_size)
{
    static const size_t sizes[] = {1, 2, 3, 5, 8, 17, 40};
    for (int n = 1; n <= 6; n++) {
        struct wdl_sim_params sim = {.seed = (uint64_t) n, .ranks = n, .am_bytes_max = 1024};
        gasnet_open(&sim, 1);
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
            for (count_now = 1; count_now <= 250; count_now = count_now * 3 + 1) {
                int per_key[256] = {0}, last = -1;
                size_now = sizes[s];
                for (size_t g = 0; g < count_now; g++) {
                    char *at = src[0][0] + g * size_now;
                    memset(at, (int) g, size_now);
                    at[0] = (char) (g * 37 % 11);
                    per_key[g * 37 % 11]++;
                }
                gasnet_all(odd_start);
                for (size_t g = 0, behind = 0; g < count_now; g++) {
                    const unsigned char *at = (unsigned char *) dst[0][0] + g * size_now;
                    must_cmp(at[0], >=, last);
                    behind = at[0] == last ? behind : 0;
                    must_cmp(per_key[at[0]]--, >, 0);
                    if (size_now > 1) {
                        must_cmp(at[1] * 37 % 11, ==, at[0]);
                        must(!behind || at[1] > behind - 1);
                        behind = at[1] + 1u;
                        for (size_t k = 2; k < size_now; k++)
                            must_cmp(at[k], ==, at[1]);
                    }
                    last = at[0];
                }
            }
        gasnet_close();
    }
}
END_TEST

START_TEST(what_can_not_be_sorted)
{
    struct wdl_sim_params sim = {.seed = 2, .ranks = 2, .am_bytes_max = 1024};
    enum wdl_gas_error error;
    gasnet_open(&sim, 1);
    size_now = 0;
    count_now = 4;
    for (int i = 0; i < 2; i++)
        odd_start(i);
    for (int i = 0; i < 2; i++) {
        while (!wdl_gas_try_sync(handle[i], &error))
            ranks_step(&r);
        must_cmp(error, ==, WDL_GAS_ERR_SIZE);
    }
    gasnet_close();
}
END_TEST

WDL_SUITE("coll/gasnet_sort", few_ranks, more_ranks_than_links, elements_of_any_size,
          what_can_not_be_sorted)
