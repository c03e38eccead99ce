/* Part of Windlass. See COPYRIGHT in the top-level directory. The target's queue of lock
 * requests. */
#include "mpid/rma/grant.h"
#include <string.h>
#include "base/assert.h"

void wdl_grant_init(struct wdl_grant *grant)
{
    memset(grant, 0, sizeof(*grant));
}

void wdl_grant_fini(struct wdl_grant *grant, const struct wdl_host *host)
{
    if (grant->queue)
        host->ops->free(host->ctx, grant->queue);
    grant->queue = NULL;
}

/* Grant from the front as far as the rules allow. */
static void grant_step(struct wdl_grant *grant)
{
    while (grant->granted < grant->length && !grant->exclusive) {
        const struct wdl_grant_request *next = &grant->queue[grant->granted];
        if (next->exclusive && grant->holders > 0)
            break;
        grant->exclusive = next->exclusive;
        grant->holders++;
        grant->granted++;
    }
    for (int i = grant->granted; i < grant->length && grant->holders > 0 && !grant->exclusive;
         i++) {
        struct wdl_grant_request join = grant->queue[i];
        if (!join.join || join.exclusive)
            continue;
        memmove(&grant->queue[grant->granted + 1], &grant->queue[grant->granted],
                (size_t) (i - grant->granted) * sizeof(join));
        grant->queue[grant->granted++] = join;
        grant->holders++;
    }
}

static int grant_grow(struct wdl_grant *grant, const struct wdl_host *host)
{
    int room = grant->room ? 2 * grant->room : 8;
    struct wdl_grant_request *queue = host->ops->alloc(host->ctx, (size_t) room * sizeof(*queue));
    if (!queue)
        return WDL_ERR_NOMEM;
    if (grant->queue) {
        memcpy(queue, grant->queue, (size_t) grant->length * sizeof(*queue));
        host->ops->free(host->ctx, grant->queue);
    }
    grant->queue = queue;
    grant->room = room;
    return WDL_OK;
}

int wdl_grant_request(struct wdl_grant *grant, const struct wdl_host *host, int rank, int exclusive,
                      int join)
{
    if (grant->length == grant->room) {
        int status = grant_grow(grant, host);
        if (status != WDL_OK)
            return status;
    }
    grant->queue[grant->length].rank = rank;
    grant->queue[grant->length].exclusive = exclusive;
    grant->queue[grant->length].join = join;
    grant->length++;
    grant_step(grant);
    return WDL_OK;
}

int wdl_grant_release(struct wdl_grant *grant)
{
    /* a granted request that is not announced yet cannot be released by its owner */
    if (grant->holders - grant->granted <= 0)
        return WDL_ERR_PROTO;
    grant->holders--;
    grant->exclusive = 0;
    grant_step(grant);
    return WDL_OK;
}

const struct wdl_grant_request *wdl_grant_next(const struct wdl_grant *grant)
{
    return grant->granted > 0 ? &grant->queue[0] : NULL;
}

void wdl_grant_announced(struct wdl_grant *grant)
{
    wdl_assert_cmp(grant->granted, >, 0);
    grant->granted--;
    grant->length--;
    memmove(grant->queue, grant->queue + 1, (size_t) grant->length * sizeof(grant->queue[0]));
}

void wdl_grant_check(const struct wdl_grant *grant)
{
    wdl_assert_cmp(grant->granted, <=, grant->length);
    wdl_assert_cmp(grant->granted, <=, grant->holders);
    wdl_assert_cmp(grant->length, <=, grant->room);
    if (grant->exclusive)
        wdl_assert_cmp(grant->holders, ==, 1);
}
