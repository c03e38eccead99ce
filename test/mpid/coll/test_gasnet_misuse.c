/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Misuse that can be seen, of every call of gasnet_coll.h: on all nodes the handle is done at once
 * with the error's name, and the team is as good as before.
 */
#include <string.h>
#include "mpid/coll/gasnet_calls.h"
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
          what_computes_wants_its_elements_aligned, a_handle_dies_when_it_is_synchronized)
