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

static int one_node; /* where no message is needed */

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

/* --- vectors, element by element -------------------------------------------------------------- */

static void vector_start(int i)
{
    const struct call *c = &call;
    struct wdl_gas_array s = {src[i][0], 0, 0}, d = {dst[i][0], 0, 0};
    size_t image = c->everywhere ? WDL_GAS_EVERYWHERE : c->root, f = (size_t) c->op;
    handle[i] = c->scan ? wdl_gas_scanM_nb(team[i], NULL, d, NULL, s, 4, c->n, f, c->op, c->flags)
                        : wdl_gas_reduceM_nb(team[i], image, d.base, NULL, s, 4, c->n, f, c->op,
                                             c->flags);
}

static uint32_t *word(char *memory[][IMAGES_MAX], int i, size_t k)
{
    return (uint32_t *) (void *) memory[i][0] + k;
}

/* What rank i has to have: of all, or of those up to it, or below it. */
static uint32_t folded(int i, size_t k)
{
    int ranks = !call.scan ? r.n : call.flags & WDL_COLL_EXCLUSIVE ? i : i + 1;
    uint32_t sum = ranks ? *word(src, 0, k) : 12345;
    for (int other = 1; other < ranks; other++)
        sum = gasnet_apply(call.op, sum, *word(src, other, k));
    return sum;
}

static void vectors(void)
{
    call = (struct call){.op = (int) draw(FNS), .scan = (int) draw(2)};
    call.everywhere = (int) draw(2);
    call.flags = draw_flags(0) | WDL_GAS_ELEMENTWISE;
    call.flags |= call.scan && draw(2) ? WDL_COLL_EXCLUSIVE : 0;
    call.root = draw(first[r.n]);
    call.n = draw(2) ? 1 + draw(20) : 1 + draw(ROOM / 4);
    for (int i = 0; i < r.n; i++)
        for (size_t k = 0; k < call.n; k++) {
            *word(src, i, k) = (uint32_t) draw(1u << 30) * 4 + 1;
            *word(dst, i, k) = 12345;
        }
    uint64_t before = wdl_sim_counts(r.sim)->sent;
    gasnet_all(vector_start);
    int may_show = call.op != SERIAL;
    if (one_node && may_show)
        ck_assert_uint_eq(wdl_sim_counts(r.sim)->sent, before);
    for (int i = 0; i < r.n; i++)
        if (call.scan || call.everywhere || (call.root >= first[i] && call.root < first[i + 1]))
            for (size_t k = 0; k < call.n; k++)
                ck_assert_uint_eq(*word(dst, i, k), folded(i, k));
}

static void vector_worlds(int each)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct wdl_sim_params sim = {.seed = seed,
                                     .ranks = 1 + (int) seed % 6,
                                     .ordered = seed % 2 != 0,
                                     .delay_ns_max = seed % 3 * 2000,
                                     .am_bytes_max = 1024};
        gasnet_open_nodes(&sim, 1, each);
        for (long k = 0; k < 2000 || !wdl_sim_quiescent(r.sim); k++)
            ranks_step(&r); /* the team is open */
        one_node = each == RANKS_MAX && sim.ranks > 1;
        for (int k = 0; k < 12; k++)
            vectors();
        gasnet_close();
    }
}

START_TEST(vectors_of_nodes)
{
    vector_worlds(0);
    vector_worlds(2);
    vector_worlds(RANKS_MAX);
}
END_TEST

WDL_SUITE("coll/gasnet_fold", few_ranks, more_ranks_than_links, vectors_of_nodes)
