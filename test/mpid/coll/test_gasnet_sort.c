/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Sort against qsort: elements of any size, any layouts in and out, duplicates, fewer elements than
 * ranks, in random worlds; stable. So what comes out does not depend on the number of ranks.
 */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/gasnet_ranks.h"
#include "support/must.h"
#include "support/suite.h"

enum { COUNT_MAX = 4 * UNITS_MAX, BYTES_MAX = 40 };
static const size_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 17, BYTES_MAX};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

/* What all ranks are told. */
static struct call {
    int m, flags;
    size_t n, bytes, keys; /* keys that there are */
    struct layout from, to;
} call;

/* Elements have their key in the first byte and their number behind it, as far as there is room;
 * they come as aligned as they were given. */
static int by_key(const void *a, const void *b)
{
    size_t align = call.bytes % 8 == 0 ? 8 : call.bytes % 4 == 0 ? 4 : 1;
    must(!r.aside);
    must_cmp((uintptr_t) a % align, ==, 0);
    must_cmp((uintptr_t) b % align, ==, 0);
    return (int) *(const unsigned char *) a - (int) *(const unsigned char *) b;
}

static void sort_start(int i)
{
    const struct call *c = &call;
    struct wdl_gas_array s = {src[i][0], c->from.blk, c->from.off};
    struct wdl_gas_array d = {dst[i][0], c->to.blk, c->to.off};
    handle[i] = wdl_gas_sortM_nb(team[i], c->m ? dst_list[i] : NULL, d, c->m ? src_list[i] : NULL,
                                 s, c->bytes, c->n, by_key, c->flags);
}

struct element {
    size_t g; /* its number: of two with one key, the lower one comes first */
    unsigned char data[BYTES_MAX];
};

static int by_key_and_number(const void *a, const void *b)
{
    const struct element *x = a, *y = b;
    if (x->data[0] != y->data[0])
        return x->data[0] < y->data[0] ? -1 : 1;
    return (x->g > y->g) - (x->g < y->g);
}

/* Sort what `call` says. */
static void sort(void)
{
    static struct element element[COUNT_MAX];
    for (size_t g = 0; g < call.n; g++) {
        struct element *e = &element[g];
        *e = (struct element){.g = g};
        for (size_t k = 0; k < call.bytes; k++)
            e->data[k] = (unsigned char) (k == 0 ? draw(call.keys) : g >> 8 * ((k - 1) % 2));
        memcpy(gasnet_element_of(src, call.m, &call.from, g, call.bytes), e->data, call.bytes);
        memset(gasnet_element_of(dst, call.m, &call.to, g, call.bytes), 0xee, call.bytes);
    }
    qsort(element, call.n, sizeof(element[0]), by_key_and_number);
    gasnet_lists(call.m, call.flags);
    gasnet_all(sort_start);
    for (size_t g = 0; g < call.n; g++)
        if (memcmp(gasnet_element_of(dst, call.m, &call.to, g, call.bytes), element[g].data,
                   call.bytes) != 0)
            ck_abort_msg("%zu elements of %zu bytes, %d ranks, block sizes %zu and %zu: number %zu",
                         call.n, call.bytes, r.n, call.from.blk, call.to.blk, g);
}

static void drawn(void)
{
    call = (struct call){.m = (int) draw(2), .flags = draw_flags(0)};
    size_t units = call.m ? first[r.n] : (size_t) r.n;
    call.n = 1 + draw(draw(2) ? units : 4 * units);
    call.bytes = sizes[draw(SIZES)];
    call.keys = 1 + draw(draw(2) ? 4 : 256);
    call.from = gasnet_layout(units);
    call.to = draw(2) ? gasnet_layout(units) : call.from;
    sort();
}

START_TEST(few_ranks)
{
    gasnet_few(drawn);
}
END_TEST

START_TEST(more_ranks_than_links)
{
    gasnet_many(drawn);
}
END_TEST

/* Blocks of one, of some, all that a unit has together, and everything on one unit, at an offset or
 * none; into each of these from each. */
enum { SHAPES = 7 };

static struct layout shape(int which, size_t units, size_t n)
{
    switch (which) {
    case 0:
        return (struct layout){1, 0, units};
    case 1:
        return (struct layout){1, units + 1, units};
    case 2:
        return (struct layout){2, 1, units};
    case 3:
        return (struct layout){3, 3 * units + 2, units};
    case 4:
        return (struct layout){(n + units - 1) / units, 0, units};
    case 5:
        return (struct layout){0, 0, units};
    default:
        return (struct layout){0, units - 1, units};
    }
}

START_TEST(every_layout_into_every_other)
{
    static const int ranks[] = {1, 2, 3, 5};
    for (int k = 0; k < 4; k++) {
        struct wdl_sim_params sim = {.seed = (uint64_t) k + 1,
                                     .ranks = ranks[k],
                                     .am_bytes_max = 1024};
        gasnet_open(&sim, 1);
        size_t p = (size_t) r.n, counts[] = {1, p > 2 ? p - 1 : p, 3 * p + 1};
        for (int from = 0, turn = 0; from < SHAPES; from++)
            for (int to = 0; to < SHAPES; to++)
                for (size_t s = 0; s < SIZES; s++, turn++) {
                    call = (struct call){.flags = WDL_COLL_MPI, .bytes = sizes[s]};
                    call.n = counts[turn % 3];
                    call.keys = turn % 2 ? 3 : 256;
                    call.from = shape(from, p, call.n);
                    call.to = shape(to, p, call.n);
                    sort();
                }
        gasnet_close();
    }
}
END_TEST

/* More elements than offers tell apart, of few keys and many. */
START_TEST(many_elements)
{
    for (int n = 1; n <= 6; n++) {
        struct wdl_sim_params sim = {.seed = (uint64_t) n, .ranks = n, .am_bytes_max = 1024};
        gasnet_open(&sim, 1);
        for (size_t s = 0; s < SIZES; s++) {
            call = (struct call){.flags = WDL_COLL_MPI, .n = COUNT_MAX - s, .bytes = sizes[s]};
            call.keys = s % 2 ? 11 : 256;
            call.from = shape((int) s % SHAPES, (size_t) n, call.n);
            call.to = shape((int) (s + (size_t) n) % SHAPES, (size_t) n, call.n);
            sort();
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
    call = (struct call){.flags = WDL_COLL_MPI, .n = 4};
    for (int i = 0; i < 2; i++)
        sort_start(i);
    for (int i = 0; i < 2; i++) {
        while (!wdl_gas_try_sync(handle[i], &error))
            ranks_step(&r);
        must_cmp(error, ==, WDL_GAS_ERR_SIZE);
    }
    gasnet_close();
}
END_TEST

WDL_SUITE("coll/gasnet_sort", few_ranks, more_ranks_than_links, every_layout_into_every_other,
          many_elements, what_can_not_be_sorted)
