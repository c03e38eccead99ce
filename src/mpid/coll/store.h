/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Memory for what comes and goes with collectives: blocks of some sizes, which are used again and
 * again. A process has two: `runs`, which starting a collective takes from and never fills; and
 * `store`, for graphs and what else is made while something is built, told of early, or called with
 * arguments of its own (coll_impl.h).
 *
 * Invariants:
 *  1. get never asks the host for memory; make does where no block of the size is idle; reserve
 *     sees to it beforehand.
 *  2. A block is of the smallest size that holds what it was made for (two sizes an octave, so at
 *     most a third of it is unused), and no size takes from another.
 *  3. Blocks of up to WDL_STORE_SMALL bytes come out of slabs and stay here until the end. Longer
 *     ones are the host's each, and go back to it where WDL_STORE_IDLE bytes of them are idle.
 *     What nobody has used of a slab yet has not been touched either.
 *
 * One thread at a time, as the collectives.
 */
#ifndef WDL_MPID_COLL_STORE_H_INCLUDED
#define WDL_MPID_COLL_STORE_H_INCLUDED

#include <stddef.h>
#include <stdint.h>
#include "base/list.h"
#include "host/host.h"

enum {
    WDL_STORE_SMALL = 64 << 10,
    WDL_STORE_IDLE = 32 << 20,
    WDL_STORE_SIZES = 96 /* two an octave from 64 bytes on */
};

struct wdl_store_size {
    struct wdl_list idle;
    char *fresh; /* of the last slab: what has never been used ... */
    int fresh_count; /* ... so many blocks */
    int count; /* blocks in all; of them in use */
    int used;
};

struct wdl_store {
    const struct wdl_host *host;
    struct wdl_list slabs;
    struct wdl_store_size size[WDL_STORE_SIZES];
    size_t held, used, high; /* bytes from the host; in blocks in use, and the most there were */
    size_t large_idle; /* bytes of long blocks that are idle */
};

/* The host, which must outlive the store, may change until the first block is made. */
void wdl_store_init(struct wdl_store *store, const struct wdl_host *host);
/* Asserts that every block has come home. */
void wdl_store_fini(struct wdl_store *store);

/* At least so many blocks for `bytes`, in use and idle. WDL_OK or ERR_NOMEM: there are fewer. */
int wdl_store_reserve(struct wdl_store *store, size_t bytes, int count);
/* A block, aligned for anything, its content as it was left; NULL: none is idle. */
void *wdl_store_get(struct wdl_store *store, size_t bytes);
/* The same, from the host where none is; NULL: memory is short. */
void *wdl_store_make(struct wdl_store *store, size_t bytes);
/* ... with its `bytes` zero. */
void *wdl_store_zeroed(struct wdl_store *store, size_t bytes);
/* NULL is nothing. */
void wdl_store_put(struct wdl_store *store, void *block);

/* The bytes that a block for so many takes. */
size_t wdl_store_block_bytes(size_t bytes);
/* Asserts the invariants. */
void wdl_store_check(const struct wdl_store *store);

#endif
