/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of base/pool. */
#include "base/pool.h"
#include "support/suite.h"

struct element {
    struct wdl_pool_node node;
    int payload;
};

enum { COUNT = 5 };

START_TEST(dry_after_count_elements)
{
    struct wdl_pool pool;
    struct element memory[COUNT], *out[COUNT];
    wdl_pool_init(&pool, 1, memory, sizeof(memory[0]), COUNT);
    for (int i = 0; i < COUNT; i++) {
        out[i] = wdl_pool_get(&pool);
        ck_assert_ptr_nonnull(out[i]);
        for (int k = 0; k < i; k++)
            ck_assert_ptr_ne(out[i], out[k]);
        wdl_pool_check(&pool);
    }
    ck_assert_ptr_null(wdl_pool_get(&pool));
    ck_assert_int_eq(pool.high, COUNT);
    wdl_pool_put(out[2]);
    ck_assert_ptr_eq(wdl_pool_get(&pool), out[2]);
    for (int i = 0; i < COUNT; i++)
        wdl_pool_put(out[i]);
    wdl_pool_fini(&pool);
}
END_TEST

START_TEST(a_reference_dies_with_its_element)
{
    struct wdl_pool pool;
    struct element memory[COUNT];
    wdl_pool_init(&pool, 1, memory, sizeof(memory[0]), COUNT);
    struct element *e = wdl_pool_get(&pool);
    uint32_t index = e->node.index, generation = e->node.generation;
    ck_assert_ptr_eq(wdl_pool_find(&pool, index, generation), e);
    ck_assert_ptr_null(wdl_pool_find(&pool, index, generation + 2));
    ck_assert_ptr_null(wdl_pool_find(&pool, COUNT, generation));
    wdl_pool_put(e);
    ck_assert_ptr_null(wdl_pool_find(&pool, index, generation));
    ck_assert_ptr_null(wdl_pool_find(&pool, index, generation + 1));
    ck_assert_ptr_eq(wdl_pool_get(&pool), e);
    ck_assert_ptr_null(wdl_pool_find(&pool, index, generation));
    wdl_pool_put(e);
    wdl_pool_fini(&pool);
}
END_TEST

WDL_SUITE("base/pool", dry_after_count_elements, a_reference_dies_with_its_element)
