/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Reduce and scan of block-cyclic arrays in simulated worlds, against a loop: any layouts,
 * operators that do not commute or may not be grouped, elements to another layout.
 */
#include <string.h>
#include "mpid/coll/gasnet_ranks.h"
#include "support/suite.h"

/* What all ranks are told. */
static struct call {
    int m, flags, op, scan, everywhere;
    size_t n, root;
    struct layout from, to;
} call;

static void drawn(void)
{
    call = (struct call){.m = (int) draw(2), .flags = draw_flags(0)};
    size_t units = call.m ? first[r.n] : (size_t) r.n;
    call.root = draw(first[r.n]);
    call.n = 1 + draw(4 * units);
    call.from = gasnet_layout(units);
    call.to = draw(2) ? gasnet_layout(units) : call.from;
    gasnet_lists(call.m, call.flags);
}

static void fold_start(int i)
{
    const struct call *c = &call;
    struct wdl_gas_array s = {src[i][0], c->from.blk, c->from.off};
    struct wdl_gas_array d = {dst[i][0], c->to.blk, c->to.off};
    void *const *sl = c->m ? src_list[i] : NULL, *const *dl = c->m ? dst_list[i] : NULL;
    size_t image = c->everywhere ? WDL_GAS_EVERYWHERE : c->root, f = (size_t) c->op;
    handle[i] =
        c->scan ? wdl_gas_scanM_nb(team[i], dl, d, sl, s, 4, c->n, f, c->op, c->flags)
                : wdl_gas_reduceM_nb(team[i], image, d.base, sl, s, 4, c->n, f, c->op, c->flags);
}

static void fold(void)
{
    static uint32_t value[4 * UNITS_MAX + 1];
    drawn();
    call.scan = (int) draw(2);
    call.op = (int) draw(FNS);
    call.everywhere = (int) draw(2);
    int exclusive = call.scan && draw(2);
    call.flags |= exclusive ? WDL_COLL_EXCLUSIVE : 0;
    for (size_t g = 0; g < call.n; g++) {
        value[g] = (uint32_t) draw(1u << 30) * 4 + 1;
        *gasnet_element(src, call.m, &call.from, g) = value[g];
        *gasnet_element(dst, call.m, &call.to, g) = 12345;
    }
    gasnet_all(fold_start);
    uint32_t sum = 0;
    for (size_t g = 0; g < call.n; g++) {
        uint32_t next = g ? gasnet_apply(call.op, sum, value[g]) : value[g];
        if (call.scan)
            ck_assert_uint_eq(*gasnet_element(dst, call.m, &call.to, g),
                              !exclusive ? next : g ? sum : 12345);
        sum = next;
    }
    for (int i = 0; i < r.n && !call.scan; i++)
        if (call.everywhere || (call.root >= first[i] && call.root < first[i + 1]))
            ck_assert_uint_eq(*(uint32_t *) (void *) dst[i][0], sum);
}

START_TEST(few_ranks)
{
    gasnet_few(fold);
}
END_TEST

START_TEST(more_ranks_than_links)
{
    gasnet_many(fold);
}
END_TEST

WDL_SUITE("coll/gasnet_fold", few_ranks, more_ranks_than_links)
