/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What each rank may leave here one of, and nobody else remembers: requests for a lock that wait,
 * posts before their start. A few have their place beforehand; beyond them the array grows with
 * what is in it, and shrinks with it, twice or half at a time. So memory is asked for seldom, and
 * given back as those who wait are served.
 *
 * Invariants: items == few => room == few_room; else room <= 4 * elements when they were last
 * trimmed (unless there was no memory for a smaller array).
 */
#ifndef WDL_MPID_RMA_ARRAY_H_INCLUDED
#define WDL_MPID_RMA_ARRAY_H_INCLUDED

#include "host/host.h"

struct wdl_array {
    void *items;
    int room;                   /* elements */
    int few_room;
    void *few;                  /* the caller's */
    size_t bytes;               /* of an element */
    const struct wdl_host *host;
};

/* `few` is room for few_room > 0 elements and stays the caller's; it and the host outlive the
 * array. */
void wdl_array_init(struct wdl_array *a, const struct wdl_host *host, void *few, int few_room,
                    size_t bytes);
void wdl_array_fini(struct wdl_array *a);
/* Room for one more than the `used` that are in it: WDL_OK, or ERR_NOMEM and nothing happened.
 * items may be elsewhere afterwards. */
int wdl_array_grow(struct wdl_array *a, int used);
/* Give back what `used` elements do not need; items may be elsewhere afterwards. */
void wdl_array_trim(struct wdl_array *a, int used);
/* Bytes asked of the host. */
size_t wdl_array_memory(const struct wdl_array *a);

#endif
