/* Part of Windlass. See COPYRIGHT in the top-level directory. Arrays that grow and shrink with what
 * waits. */
#include "mpid/rma/array.h"
#include <string.h>
#include "base/assert.h"

void wdl_array_init(struct wdl_array *a, const struct wdl_host *host, void *few, int few_room,
                    size_t bytes)
{
    wdl_assert_cmp(few_room, >, 0);
    *a = (struct wdl_array) {.items = few,.room = few_room,.few_room = few_room,.few = few,
        .bytes = bytes,.host = host
    };
}

void wdl_array_fini(struct wdl_array *a)
{
    if (a->items != a->few)
        a->host->ops->free(a->host->ctx, a->items);
    a->items = a->few;
    a->room = a->few_room;
}

static int move(struct wdl_array *a, int used, int room)
{
    void *items = room <= a->few_room ? a->few
                                      : a->host->ops->alloc(a->host->ctx, (size_t) room * a->bytes);
    if (!items)
        return WDL_ERR_NOMEM;
    memcpy(items, a->items, (size_t) used * a->bytes);
    wdl_array_fini(a);
    a->items = items;
    if (items != a->few)
        a->room = room;
    return WDL_OK;
}

int wdl_array_grow(struct wdl_array *a, int used)
{
    wdl_assert_cmp(used, <=, a->room);
    return used < a->room ? WDL_OK : move(a, used, 2 * a->room);
}

void wdl_array_trim(struct wdl_array *a, int used)
{
    wdl_assert_cmp(used, <=, a->room);
    while (a->items != a->few && used <= a->room / 4 && move(a, used, a->room / 2) == WDL_OK) ;
}

size_t wdl_array_memory(const struct wdl_array *a)
{
    return a->items == a->few ? 0 : (size_t) a->room * a->bytes;
}
