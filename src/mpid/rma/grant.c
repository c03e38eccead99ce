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
    if (grant->debt)
        host->ops->free(host->ctx, grant->debt);
    grant->queue = NULL;
    grant->debt = NULL;
}

/* The first of those that waited is granted in its turn. */
static void debts_pay(struct wdl_grant *grant)
{
    for (int i = 0; i < grant->debts; i++)
        if (grant->debt[i].ahead > 0)
            grant->debt[i].ahead--;
}

/* Is it a new debt, and not more of one that its rank knows of? Those overtaken before are ahead of
 * what was asked for later. */
static int debt_add(struct wdl_grant *grant, int rank, int ahead)
{
    for (int i = 0; i < grant->debts; i++)
        if (grant->debt[i].rank == rank) {
            wdl_assert_cmp(ahead, >=, grant->debt[i].ahead);
            grant->debt[i].ahead = ahead;
            return 0;
        }
    wdl_assert_cmp(grant->debts, <, grant->debts_room);
    grant->debt[grant->debts++] = (struct wdl_grant_debt) {.rank = rank,.ahead = ahead };
    return 1;
}

/* Grant the joining request at i before those ahead of it. */
static void grant_join(struct wdl_grant *grant, int i)
{
    struct wdl_grant_request join = grant->queue[i];
    int ahead = i - grant->granted;
    join.overtook = ahead > 0 && debt_add(grant, join.rank, ahead);
    memmove(&grant->queue[grant->granted + 1], &grant->queue[grant->granted],
            (size_t) ahead * sizeof(join));
    grant->queue[grant->granted++] = join;
    grant->holders++;
    grant->joins--;
}

/* Grant from the front as far as the rules allow. */
static void grant_step(struct wdl_grant *grant)
{
    while (grant->granted < grant->length && !grant->exclusive) {
        const struct wdl_grant_request *next = &grant->queue[grant->granted];
        if (next->exclusive && grant->holders > 0)
            break;
        grant->exclusive = next->exclusive;
        grant->joins -= next->join;
        grant->holders++;
        grant->granted++;
        debts_pay(grant);
    }
    for (int i = grant->granted; i < grant->length && grant->holders > 0 && !grant->exclusive; i++)
        if (grant->queue[i].join)
            grant_join(grant, i);
}

/* Room for twice as many elements; WDL_OK or ERR_NOMEM. */
static int array_grow(const struct wdl_host *host, void **array, int *room, size_t bytes)
{
    int more = *room ? 2 * *room : 8;
    void *copy = host->ops->alloc(host->ctx, (size_t) more * bytes);
    if (!copy)
        return WDL_ERR_NOMEM;
    if (*array) {
        memcpy(copy, *array, (size_t) *room * bytes);
        host->ops->free(host->ctx, *array);
    }
    *array = copy;
    *room = more;
    return WDL_OK;
}

static int queue_grow(struct wdl_grant *grant, const struct wdl_host *host)
{
    void *queue = grant->queue;
    int status = array_grow(host, &queue, &grant->room, sizeof(grant->queue[0]));
    grant->queue = queue;
    return status;
}

static int debts_grow(struct wdl_grant *grant, const struct wdl_host *host)
{
    void *debt = grant->debt;
    int status = array_grow(host, &debt, &grant->debts_room, sizeof(grant->debt[0]));
    grant->debt = debt;
    return status;
}

int wdl_grant_queue(struct wdl_grant *grant, const struct wdl_host *host,
                    const struct wdl_grant_request *request)
{
    int status = WDL_OK;
    if (grant->length == grant->room)
        status = queue_grow(grant, host);
    /* a release must not need memory: every request that may overtake has room for its debt */
    if (status == WDL_OK && request->join && grant->debts + grant->joins == grant->debts_room)
        status = debts_grow(grant, host);
    if (status != WDL_OK)
        return status;
    grant->queue[grant->length++] = *request;
    grant->joins += request->join;
    grant_step(grant);
    return WDL_OK;
}

int wdl_grant_request(struct wdl_grant *grant, const struct wdl_host *host, int rank, int exclusive,
                      int join)
{
    struct wdl_grant_request request = {.rank = rank,.exclusive = exclusive,
        .join = join && !exclusive
    };
    return wdl_grant_queue(grant, host, &request);
}

int wdl_grant_may_ask(const struct wdl_grant *grant, int ranks)
{
    return grant->length < ranks && grant->debts < ranks;
}

int wdl_grant_take(struct wdl_grant *grant, int exclusive)
{
    if (grant->length > 0 || grant->exclusive || (exclusive && grant->holders > 0))
        return 0;
    grant->exclusive = exclusive;
    grant->holders++;
    return 1;
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

int wdl_grant_settled(const struct wdl_grant *grant)
{
    for (int i = 0; i < grant->debts; i++)
        if (grant->debt[i].ahead == 0)
            return grant->debt[i].rank;
    return -1;
}

void wdl_grant_told(struct wdl_grant *grant, int rank)
{
    int i = 0;
    while (grant->debt[i].rank != rank || grant->debt[i].ahead > 0)
        wdl_assert_cmp(++i, <, grant->debts);
    grant->debt[i] = grant->debt[--grant->debts];
}

void wdl_grant_check(const struct wdl_grant *grant)
{
    wdl_assert_cmp(grant->granted, <=, grant->length);
    wdl_assert_cmp(grant->granted, <=, grant->holders);
    wdl_assert_cmp(grant->length, <=, grant->room);
    if (grant->exclusive)
        wdl_assert_cmp(grant->holders, ==, 1);
    wdl_assert_cmp(grant->debts + grant->joins, <=, grant->debts_room);
    for (int i = 0; i < grant->debts; i++)
        wdl_assert_cmp(grant->debt[i].ahead, <=, grant->length - grant->granted);
}
