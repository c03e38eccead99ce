/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of base/pool. */
#include <string.h>
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

/* Memory is not touched before it is needed, and no reference of the wire's leads there. */
START_TEST(elements_never_in_use_are_as_the_memory_was)
{
    struct wdl_pool pool;
    struct element memory[COUNT], before[COUNT];
    memset(memory, 0xa5, sizeof(memory));
    memcpy(before, memory, sizeof(memory));
    wdl_pool_init(&pool, 1, memory, sizeof(memory[0]), COUNT);
    ck_assert_mem_eq(memory, before, sizeof(memory));
    struct element *a = wdl_pool_get(&pool), *b = wdl_pool_get(&pool);
    wdl_pool_put(a);
    ck_assert_ptr_eq(wdl_pool_get(&pool), a);
    for (int i = 0; i < COUNT; i++) {
        int used = &memory[i] == a || &memory[i] == b;
        ck_assert_int_eq(memcmp(&memory[i], &before[i], sizeof(memory[i])) != 0, used);
        if (!used)
            ck_assert_ptr_null(wdl_pool_find(&pool, (uint32_t) i, memory[i].node.generation));
    }
    ck_assert_int_eq(pool.high, 2);
    wdl_pool_put(a);
    wdl_pool_put(b);
    wdl_pool_fini(&pool);
}
END_TEST

WDL_SUITE("base/pool", dry_after_count_elements, a_reference_dies_with_its_element,
          elements_never_in_use_are_as_the_memory_was)
