/* Part of Windlass. See COPYRIGHT in the top-level directory. Blocks of some sizes. */
#include "mpid/coll/store.h"
#include <string.h>
#include "base/assert.h"

enum {
    FIRST_SHIFT = 6, /* the smallest blocks have 64 bytes */
    SLAB = 1024 /* bytes of a slab that was not reserved, or one block */
};

struct head { /* in front of what the user has */
    union {
        struct wdl_list link; /* idle */
        int size;
    };
};
wdl_static_assert(sizeof(struct head) == 16);

struct slab {
    struct wdl_list link; /* store->slabs */
};
wdl_static_assert(sizeof(struct slab) == 16);

static size_t block_bytes(int size)
{
    return (size_t) (2 + size % 2) << (FIRST_SHIFT - 1 + size / 2);
}

/* -1: there are none as long. */
static int size_of(size_t bytes)
{
    int size = 0;
    if (bytes > block_bytes(WDL_STORE_SIZES - 1) - sizeof(struct head))
        return -1;
    while (block_bytes(size) - sizeof(struct head) < bytes)
        size++;
    return size;
}

static int is_large(int size)
{
    return block_bytes(size) > WDL_STORE_SMALL;
}

void wdl_store_init(struct wdl_store *store, const struct wdl_host *host)
{
    memset(store, 0, sizeof(*store));
    store->host = host;
    wdl_list_init(&store->slabs);
    for (int i = 0; i < WDL_STORE_SIZES; i++)
        wdl_list_init(&store->size[i].idle);
}

static void *host_alloc(struct wdl_store *store, size_t bytes)
{
    void *memory = store->host->ops->alloc(store->host->ctx, bytes);
    if (memory)
        store->held += bytes;
    return memory;
}

static void host_free(struct wdl_store *store, void *memory)
{
    store->host->ops->free(store->host->ctx, memory);
}

void wdl_store_fini(struct wdl_store *store)
{
    struct wdl_list *node;
    wdl_store_check(store);
    wdl_assert_cmp(store->used, ==, 0);
    for (int i = 0; i < WDL_STORE_SIZES; i++)
        while (is_large(i) && (node = wdl_list_pop(&store->size[i].idle)) != NULL)
            host_free(store, wdl_container_of(node, struct head, link));
    while ((node = wdl_list_pop(&store->slabs)) != NULL)
        host_free(store, wdl_container_of(node, struct slab, link));
}

/* Blocks not used yet, behind those there are; what is left of the last slab is idle now. */
static int slab_add(struct wdl_store *store, int size, int count)
{
    struct wdl_store_size *s = &store->size[size];
    size_t each = block_bytes(size);
    if ((size_t) count > (PTRDIFF_MAX - sizeof(struct slab)) / each)
        return WDL_ERR_NOMEM;
    struct slab *slab = host_alloc(store, sizeof(*slab) + (size_t) count * each);
    if (!slab)
        return WDL_ERR_NOMEM;
    for (; s->fresh_count > 0; s->fresh_count--, s->fresh += each)
        wdl_list_push(&s->idle, &((struct head *) (void *) s->fresh)->link);
    wdl_list_push(&store->slabs, &slab->link);
    s->fresh = (char *) (slab + 1);
    s->fresh_count = count;
    s->count += count;
    return WDL_OK;
}

int wdl_store_reserve(struct wdl_store *store, size_t bytes, int count)
{
    int size = size_of(bytes);
    wdl_assert(size >= 0 && !is_large(size));
    return store->size[size].count < count ? slab_add(store, size, count - store->size[size].count)
                                           : WDL_OK;
}

/* The block used last is the one still in cache. */
static void *take(struct wdl_store *store, int size)
{
    struct wdl_store_size *s = &store->size[size];
    struct wdl_list *node = wdl_list_pop(&s->idle);
    struct head *head = NULL;
    if (node) {
        head = wdl_container_of(node, struct head, link);
        store->large_idle -= is_large(size) ? block_bytes(size) : 0;
    } else if (s->fresh_count > 0) {
        head = (struct head *) (void *) s->fresh;
        s->fresh += block_bytes(size);
        s->fresh_count--;
    } else {
        return NULL;
    }
    s->used++;
    store->used += block_bytes(size);
    if (store->used > store->high)
        store->high = store->used;
    head->size = size;
    return head + 1;
}

void *wdl_store_get(struct wdl_store *store, size_t bytes)
{
    int size = size_of(bytes);
    return size < 0 ? NULL : take(store, size);
}

/* Small ones become twice as many, so that the host is asked a few times only, however many there
 * are to be, and not once more whenever there is one more of them than ever before. */
static int grow(struct wdl_store *store, int size)
{
    size_t each = block_bytes(size);
    int few = each < SLAB ? (int) (SLAB / each) : 1, count = store->size[size].count;
    if (!is_large(size))
        return slab_add(store, size, count > few ? count : few);
    struct head *head = host_alloc(store, each);
    if (!head)
        return WDL_ERR_NOMEM;
    store->size[size].count++;
    store->large_idle += each;
    wdl_list_push_front(&store->size[size].idle, &head->link);
    return WDL_OK;
}

void *wdl_store_make(struct wdl_store *store, size_t bytes)
{
    int size = size_of(bytes);
    if (size < 0)
        return NULL;
    void *block = take(store, size);
    return block || grow(store, size) != WDL_OK ? block : take(store, size);
}

void *wdl_store_zeroed(struct wdl_store *store, size_t bytes)
{
    void *block = wdl_store_make(store, bytes);
    return block ? memset(block, 0, bytes) : NULL;
}

void wdl_store_put(struct wdl_store *store, void *block)
{
    if (!block)
        return;
    struct head *head = (struct head *) block - 1;
    int size = head->size;
    wdl_assert(size >= 0 && size < WDL_STORE_SIZES);
    struct wdl_store_size *s = &store->size[size];
    size_t bytes = block_bytes(size);
    wdl_assert_cmp(s->used, >, 0);
    s->used--;
    store->used -= bytes;
    if (is_large(size) && store->large_idle + bytes > WDL_STORE_IDLE) {
        s->count--;
        store->held -= bytes;
        host_free(store, head);
        return;
    }
    store->large_idle += is_large(size) ? bytes : 0;
    wdl_list_push_front(&s->idle, &head->link);
}

size_t wdl_store_block_bytes(size_t bytes)
{
    int size = size_of(bytes);
    return size < 0 ? SIZE_MAX : block_bytes(size);
}

void wdl_store_check(const struct wdl_store *store)
{
    size_t used = 0, large_idle = 0;
    for (int i = 0; i < WDL_STORE_SIZES; i++) {
        const struct wdl_store_size *s = &store->size[i];
        struct wdl_list *node;
        int idle = 0;
        wdl_list_for (node, &s->idle)
            idle++;
        wdl_assert_cmp(s->used + idle + s->fresh_count, ==, s->count);
        used += (size_t) s->used * block_bytes(i);
        large_idle += is_large(i) ? (size_t) idle * block_bytes(i) : 0;
    }
    wdl_assert_cmp(used, ==, store->used);
    wdl_assert_cmp(large_idle, ==, store->large_idle);
    wdl_assert_cmp(store->large_idle, <=, WDL_STORE_IDLE);
    wdl_assert_cmp(store->used, <=, store->high);
}
