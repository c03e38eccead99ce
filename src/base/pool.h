/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A fixed pool of equal elements. Nothing on a data path allocates: a pool's memory is there when
 * it is made, and get returns NULL when it is dry. Memory of elements that were never in use is not
 * touched, so that a pool costs as many pages as it once needed elements. Two levels (a window's
 * own pool, then the one of all windows; seed 001, Operation and Target Element Pools) are two
 * pools asked in turn: an element goes home to the pool it came from, so that no window can be
 * starved of its own elements.
 *
 * Invariants: in_use + free elements == high; high <= count; the elements below high, and no
 * others, have been in use; a freed element's generation has changed. The element's first member
 * is a `struct wdl_pool_node`.
 */
#ifndef WDL_BASE_POOL_H_INCLUDED
#define WDL_BASE_POOL_H_INCLUDED

#include <stddef.h>
#include <stdint.h>
#include "base/list.h"

struct wdl_pool;

struct wdl_pool_node {
    struct wdl_list link;       /* in the free list; the user's own while in use */
    struct wdl_pool *home;
    uint32_t index;             /* in its pool */
    uint32_t generation;        /* odd while in use */
};

struct wdl_pool {
    struct wdl_list free;
    char *memory;
    size_t element_bytes;
    int count, in_use, high;
    int id;                     /* the maker's own number for this pool */
};

/* `memory` holds count elements of element_bytes each, is the caller's, and outlives the pool. */
void wdl_pool_init(struct wdl_pool *pool, int id, void *memory, size_t element_bytes, int count);
/* Asserts that every element came home. */
void wdl_pool_fini(struct wdl_pool *pool);
/* An element, its content as it was left, or NULL. */
void *wdl_pool_get(struct wdl_pool *pool);
void wdl_pool_put(void *element);
/* The element in use with this index and generation, or NULL: the arguments may come from the
 * wire. */
void *wdl_pool_find(const struct wdl_pool *pool, uint32_t index, uint32_t generation);
void wdl_pool_check(const struct wdl_pool *pool);

#endif
