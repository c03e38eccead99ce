/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Misuse that can be seen, of every call of gasnet_coll.h: on all nodes the handle is done at once
 * with the error's name, and the team is as good as before. Sizes that overflow. What is not
 * aligned: elements of all sizes, out of their places by all there is, on all nodes, on one, and
 * where there are none.
 */
#include <string.h>
#include "mpid/coll/gasnet_calls.h"
#include "mpid/coll/gasnet_impl.h"
#include "support/must.h"
#include "support/suite.h"

enum { NODES = 3, UNKNOWN = 1 << 20 };
enum {
    FINE = WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_MYSYNC | WDL_COLL_LOCAL,
    IN = WDL_COLL_IN_MYSYNC,
    OUT = WDL_COLL_OUT_MYSYNC
};

static const struct misuse {
    int flags;
    enum wdl_gas_error error;
} misuses[] = {
    {FINE | UNKNOWN, WDL_GAS_ERR_FLAGS},
    {OUT | WDL_COLL_LOCAL, WDL_GAS_ERR_SYNC},
    {FINE | WDL_COLL_IN_NOSYNC, WDL_GAS_ERR_SYNC},
    {FINE | WDL_COLL_IN_ALLSYNC, WDL_GAS_ERR_SYNC},
    {IN | WDL_COLL_LOCAL, WDL_GAS_ERR_SYNC},
    {FINE | WDL_COLL_OUT_NOSYNC, WDL_GAS_ERR_SYNC},
    {FINE | WDL_COLL_OUT_ALLSYNC, WDL_GAS_ERR_SYNC},
    {IN | OUT, WDL_GAS_ERR_ADDRESSES},
    {FINE | WDL_COLL_SINGLE, WDL_GAS_ERR_ADDRESSES},
    {FINE | WDL_GAS_AGGREGATE | WDL_GAS_BLOCKING, WDL_GAS_ERR_AGGREGATE},
};

static void right(const struct call *call)
{
    with.flags = FINE;
    with.root = 0;
    with.skew = 0;
    with.nbytes = 8;
    gasnet_calls_prepare(call);
    gasnet_all(call->start);
}

/* As `with` has it. */
static void wrong(const struct call *call, enum wdl_gas_error wanted)
{
    gasnet_calls_prepare(call);
    for (int i = 0; i < r.n; i++) {
        enum wdl_gas_error error;
        call->start(i);
        must(wdl_gas_try_sync(handle[i], &error));
        if (error != wanted)
            ck_abort_msg("%s, flags %x: error %d, not %d", call->name, (unsigned) with.flags,
                         (int) error, (int) wanted);
        must(wdl_gas_try_sync(handle[i], &error)); /* it is dead now */
        must_cmp(error, ==, WDL_GAS_ERR_HANDLE);
        handle[i] = NULL;
    }
    right(call);
}

static void of_call(const struct call *call)
{
    for (size_t k = 0; k < sizeof(misuses) / sizeof(misuses[0]); k++) {
        with.flags = misuses[k].flags;
        wrong(call, misuses[k].error);
    }
    with.flags = FINE;
    if (call->shape == DOWN || call->shape == UP) {
        with.root = r.n;
        wrong(call, WDL_GAS_ERR_ROOT);
    }
}

static int computes(const struct call *call)
{
    return !strncmp(call->name, "reduce", 6) || !strncmp(call->name, "scan", 4) ||
           !strncmp(call->name, "sort", 4);
}

static void with_images(int m, void (*of)(const struct call *call))
{
    struct wdl_sim_params sim = {.seed = 2, .ranks = NODES, .ordered = 1, .am_bytes_max = 1024};
    gasnet_open(&sim, m ? 0 : 1);
    with.nbytes = 8;
    with.root = 0;
    for (int k = 0; k < gasnet_call_count; k++)
        if (gasnet_calls[k].m == m && gasnet_calls[k].shape != NOTHING)
            of(&gasnet_calls[k]);
    gasnet_close();
}

START_TEST(every_call_says_what_is_wrong)
{
    with_images(0, of_call);
    with_images(1, of_call);
}
END_TEST

/* Blocks of which one is, or all of a node's together are, beyond any memory; of many the bytes
 * together are few again, as words have no more bits. */
static void endless(const struct call *call)
{
    static const size_t lengths[] = {0, WDL_GAS_BYTES_MOST + 1, (size_t) 1 << 61, (size_t) 1 << 62,
                                     (size_t) 1 << 63, SIZE_MAX / 2, SIZE_MAX / 3 + 1,
                                     SIZE_MAX / 6 + 1, (size_t) -8, SIZE_MAX};
    int varies = strchr(call->name, 'v') != NULL;
    for (size_t k = (size_t) varies; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
        with.flags = FINE;
        with.nbytes = lengths[k];
        if (!computes(call))
            wrong(call, WDL_GAS_ERR_SIZE);
    }
}

START_TEST(no_block_is_longer_than_any_memory)
{
    with_images(0, endless);
    with_images(1, endless);
}
END_TEST

static void skewed(const struct call *call)
{
    if (!computes(call))
        return;
    with.flags = FINE;
    for (with.skew = 1; with.skew < 4;) {
        size_t skew = with.skew;
        wrong(call, WDL_GAS_ERR_ALIGNMENT);
        with.skew = skew + 1;
    }
    with.skew = 0;
}

START_TEST(what_computes_wants_its_elements_aligned)
{
    with_images(0, skewed);
}
END_TEST

/* An array of one element a node, or all on one node; each node's ends are out of place by as much
 * as it is told. */
static struct arrays {
    enum { TO_ONE, TO_ALL, PREFIXES, SORTED, COMPUTING } what;
    size_t elem, blk, at; /* blk 0: all on node `at` */
    size_t src_skew[NODES], dst_skew[NODES];
    int flags;
} of;

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, of.elem);
}

static void array_start(int i)
{
    struct wdl_gas_array from = {src[i][0] + of.src_skew[i], of.blk, of.at};
    struct wdl_gas_array to = {dst[i][0] + of.dst_skew[i], of.blk, of.at};
    size_t where = of.what == TO_ALL ? WDL_GAS_EVERYWHERE : 1;
    if (of.what == SORTED)
        handle[i] =
            wdl_gas_sortM_nb(team[i], NULL, to, NULL, from, of.elem, NODES, by_bytes, of.flags);
    else if (of.what == PREFIXES)
        handle[i] =
            wdl_gas_scanM_nb(team[i], NULL, to, NULL, from, of.elem, NODES, BYTES, 0, of.flags);
    else
        handle[i] = wdl_gas_reduceM_nb(team[i], where, to.base, NULL, from, of.elem, NODES, BYTES,
                                       0, of.flags);
}

static void arrays_open(void)
{
    struct wdl_sim_params sim = {.seed = 2, .ranks = NODES, .ordered = 1, .am_bytes_max = 1024};
    gasnet_open(&sim, 1);
}

/* ALIGNMENT where it is bad; elsewhere the calls end, too, with MISMATCH if they have heard. So may
 * what follows, where some are ahead of others. */
static void arrays_end(const int *bad)
{
    int some = bad[0] || bad[1] || bad[2];
    for (int i = 0; i < NODES; i++)
        array_start(i);
    for (int i = 0; i < NODES; i++) {
        enum wdl_gas_error error, wanted = bad[i] ? WDL_GAS_ERR_ALIGNMENT : WDL_GAS_FINE;
        for (long steps = 0; !wdl_gas_try_sync(handle[i], &error); steps++) {
            must_cmp(steps, <, 10000000);
            ranks_doubt(&r, ranks_step(&r));
        }
        if (error != wanted && !(some && !bad[i] && error == WDL_GAS_ERR_MISMATCH))
            ck_abort_msg("call %d, %zu bytes, node %d out by %zu, %zu: error %d, not %d",
                         (int) of.what, of.elem, i, of.src_skew[i], of.dst_skew[i], (int) error,
                         (int) wanted);
        handle[i] = NULL;
    }
    if (!some || (bad[0] && bad[1] && bad[2]))
        return;
    for (int k = 0; k < 2000; k++)
        ranks_step(&r);
    for (int i = 0; i < NODES; i++)
        r.one[i].proc->stats.malformed = 0; /* what came for who had finished */
    gasnet_close();
    arrays_open();
}

/* Does the call write there? */
static int writes(int i)
{
    if (of.what == TO_ONE)
        return i == 1;
    return of.what == TO_ALL || of.blk || (size_t) i == of.at;
}

static int reads(int i)
{
    return of.blk || (size_t) i == of.at;
}

static void listed_start(int i)
{
    static void *from[NODES], *to[NODES];
    struct wdl_gas_array array = {NULL, 1, 0};
    from[i] = src[i][0] + of.src_skew[i];
    to[i] = dst[i][0] + of.dst_skew[i];
    handle[i] = wdl_gas_sortM_nb(team[i], &to[i], array, &from[i], array, of.elem, NODES, by_bytes,
                                 of.flags);
}

static void skews_of(size_t elem, size_t skew, int one)
{
    size_t low = elem & (~elem + 1), align = low < 8 ? low : 8;
    for (of.what = TO_ONE; of.what < COMPUTING; of.what++)
        for (int end = 0; end < 2; end++) {
            int bad[NODES];
            of.elem = elem;
            for (int i = 0; i < NODES; i++) {
                size_t here = one < 0 || one == i ? skew : 0;
                of.src_skew[i] = end ? 0 : here;
                of.dst_skew[i] = end ? here : 0;
                bad[i] = here % align != 0 && !(of.flags & WDL_GAS_UNALIGNED) &&
                         (end ? writes(i) : reads(i));
            }
            arrays_end(bad);
        }
}

static const size_t elems[] = {1, 2, 3, 4, 6, 8, 12, 16, 20, 24};

START_TEST(elements_are_aligned_for_their_size)
{
    arrays_open();
    for (size_t k = 0; k < sizeof(elems) / sizeof(elems[0]); k++)
        for (size_t skew = 0; skew < 16; skew++)
            for (of = (struct arrays){.flags = FINE}; of.blk < 2; of.blk++)
                skews_of(elems[k], skew, -1);
    gasnet_close();
}
END_TEST

START_TEST(what_is_sorted_from_lists_is_anywhere)
{
    arrays_open();
    for (size_t skew = 0; skew < 8; skew++) {
        of = (struct arrays){.elem = 8, .flags = FINE};
        for (int i = 0; i < NODES; i++)
            of.src_skew[i] = of.dst_skew[i] = skew;
        gasnet_all(listed_start);
    }
    gasnet_close();
}
END_TEST

START_TEST(or_need_not_be)
{
    arrays_open();
    for (size_t k = 0; k < sizeof(elems) / sizeof(elems[0]); k++)
        for (size_t skew = 0; skew < 16; skew++)
            for (of = (struct arrays){.flags = FINE | WDL_GAS_UNALIGNED}; of.blk < 2; of.blk++)
                skews_of(elems[k], skew, -1);
    gasnet_close();
}
END_TEST

/* A node alone is out of place: it is told, if it has any of the elements, and the others end. */
START_TEST(one_node_s_elements)
{
    arrays_open();
    for (int one = 0; one < NODES; one++)
        for (size_t skew = 1; skew < 8; skew += 3)
            for (size_t at = 0; at < NODES + 1; at++) {
                of = (struct arrays){.flags = FINE, .blk = at == NODES, .at = at % NODES};
                skews_of(8, skew, one);
            }
    gasnet_close();
}
END_TEST

static wdl_gas_handle old[RANKS_MAX];

static void dead(const struct call *call)
{
    with.flags = FINE;
    gasnet_calls_prepare(call);
    for (int i = 0; i < r.n; i++) {
        call->start(i);
        old[i] = handle[i];
    }
    gasnet_finish();
    for (int i = 0; i < r.n; i++) {
        enum wdl_gas_error error;
        must(wdl_gas_try_sync(old[i], &error));
        must_cmp(error, ==, WDL_GAS_ERR_HANDLE);
    }
}

START_TEST(a_handle_dies_when_it_is_synchronized)
{
    with_images(0, dead);
    with_images(1, dead);
}
END_TEST

WDL_SUITE("mpid/coll/gasnet_misuse", every_call_says_what_is_wrong,
          no_block_is_longer_than_any_memory,
          what_computes_wants_its_elements_aligned, elements_are_aligned_for_their_size,
          what_is_sorted_from_lists_is_anywhere, or_need_not_be, one_node_s_elements,
          a_handle_dies_when_it_is_synchronized)
