/* Part of Windlass. See COPYRIGHT in the top-level directory. Fixed pools of equal elements. */
#include "base/pool.h"
#include "base/assert.h"

static struct wdl_pool_node *pool_node(const struct wdl_pool *pool, uint32_t index)
{
    return (struct wdl_pool_node *) (void *) (pool->memory + (size_t) index * pool->element_bytes);
}

void wdl_pool_init(struct wdl_pool *pool, int id, void *memory, size_t element_bytes, int count)
{
    wdl_assert_cmp(element_bytes, >=, sizeof(struct wdl_pool_node));
    wdl_list_init(&pool->free);
    pool->memory = memory;
    pool->element_bytes = element_bytes;
    pool->count = count;
    pool->in_use = pool->high = 0;
    pool->id = id;
}

void wdl_pool_fini(struct wdl_pool *pool)
{
    wdl_pool_check(pool);
    wdl_assert_cmp(pool->in_use, ==, 0);
}

/* One that was never in use, or NULL. */
static struct wdl_pool_node *pool_fresh(struct wdl_pool *pool)
{
    if (pool->high == pool->count)
        return NULL;
    struct wdl_pool_node *node = pool_node(pool, (uint32_t) pool->high);
    node->home = pool;
    node->index = (uint32_t) pool->high++;
    node->generation = 0;
    return node;
}

void *wdl_pool_get(struct wdl_pool *pool)
{
    struct wdl_list *link = wdl_list_pop(&pool->free);
    struct wdl_pool_node *node =
        link ? wdl_container_of(link, struct wdl_pool_node, link) : pool_fresh(pool);
    if (!node)
        return NULL;
    wdl_assert_cmp(node->generation & 1, ==, 0);
    node->generation++;
    pool->in_use++;
    return node;
}

void wdl_pool_put(void *element)
{
    struct wdl_pool_node *node = element;
    wdl_assert_cmp(node->generation & 1, ==, 1);
    node->generation++;
    node->home->in_use--;
    wdl_assert_cmp(node->home->in_use, >=, 0);
    /* front: the element used last is the one still in cache */
    wdl_list_push_front(&node->home->free, &node->link);
}

void *wdl_pool_find(const struct wdl_pool *pool, uint32_t index, uint32_t generation)
{
    if (index >= (uint32_t) pool->high)
        return NULL;
    struct wdl_pool_node *node = pool_node(pool, index);
    return (node->generation & 1) && node->generation == generation ? node : NULL;
}

void wdl_pool_check(const struct wdl_pool *pool)
{
    int idle = 0;
    struct wdl_list *link;
    wdl_list_for(link, &pool->free)
        idle++;
    wdl_assert_cmp(idle + pool->in_use, ==, pool->high);
    wdl_assert_cmp(pool->high, <=, pool->count);
}
