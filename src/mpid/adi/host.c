/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The host table of the core: what MPICH is to it.
 */
#include "wdl_adi.h"
#include <time.h>

static void *host_alloc(void *ctx, size_t bytes)
{
    (void) ctx;
    return MPL_calloc(1, bytes, MPL_MEM_OTHER);
}

static void host_free(void *ctx, void *ptr)
{
    (void) ctx;
    MPL_free(ptr);
}

static uint64_t host_now_ns(void *ctx)
{
    struct timespec now;
    (void) ctx;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

const struct wdl_host_ops wdl_adi_host_ops = {
    .alloc = host_alloc,
    .free = host_free,
    .now_ns = host_now_ns,
    .address_of = wdl_adi_address_of,
    .peer_lost = wdl_adi_peer_lost,
};
