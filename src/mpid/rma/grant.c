/* Part of Windlass. See COPYRIGHT in the top-level directory. The target's queue of lock
 * requests. */
#include "mpid/rma/grant.h"
#include <string.h>
#include "base/assert.h"

void wdl_grant_init(struct wdl_grant *grant, const struct wdl_host *host)
{
    memset(grant, 0, sizeof(*grant));
    wdl_array_init(&grant->queue, host, grant->few, WDL_GRANT_FEW, sizeof(grant->few[0]));
    wdl_array_init(&grant->debt, host, grant->few_debts, WDL_GRANT_FEW,
                   sizeof(grant->few_debts[0]));
}

void wdl_grant_fini(struct wdl_grant *grant)
{
    wdl_array_fini(&grant->queue);
    wdl_array_fini(&grant->debt);
}

static struct wdl_grant_request *queue_of(const struct wdl_grant *grant)
{
    return grant->queue.items;
}

static struct wdl_grant_debt *debts_of(const struct wdl_grant *grant)
{
    return grant->debt.items;
}

/* The first of those that waited is granted in its turn. */
static void debts_pay(struct wdl_grant *grant)
{
    struct wdl_grant_debt *debt = debts_of(grant);
    for (int i = 0; i < grant->debts; i++)
        if (debt[i].ahead > 0)
            debt[i].ahead--;
}

/* Is it a new debt, and not more of one that its rank knows of? Those overtaken before are ahead of
 * what was asked for later. */
static int debt_add(struct wdl_grant *grant, int rank, int ahead)
{
    struct wdl_grant_debt *debt = debts_of(grant);
    for (int i = 0; i < grant->debts; i++)
        if (debt[i].rank == rank) {
            wdl_assert_cmp(ahead, >=, debt[i].ahead);
            debt[i].ahead = ahead;
            return 0;
        }
    wdl_assert_cmp(grant->debts, <, grant->debt.room);
    debt[grant->debts++] = (struct wdl_grant_debt) {.rank = rank,.ahead = ahead };
    return 1;
}

/* Grant the joining request at i before those ahead of it. */
static void grant_join(struct wdl_grant *grant, int i)
{
    struct wdl_grant_request *queue = queue_of(grant), join = queue[i];
    int ahead = i - grant->granted;
    join.overtook = ahead > 0 && debt_add(grant, join.rank, ahead);
    memmove(&queue[grant->granted + 1], &queue[grant->granted], (size_t) ahead * sizeof(join));
    queue[grant->granted++] = join;
    grant->holders++;
    grant->joins--;
}

/* Grant from the front as far as the rules allow. */
static void grant_step(struct wdl_grant *grant)
{
    while (grant->granted < grant->length && !grant->exclusive) {
        const struct wdl_grant_request *next = &queue_of(grant)[grant->granted];
        if (next->exclusive && grant->holders > 0)
            break;
        grant->exclusive = next->exclusive;
        grant->joins -= next->join;
        grant->holders++;
        grant->granted++;
        debts_pay(grant);
    }
    for (int i = grant->granted; i < grant->length && grant->holders > 0 && !grant->exclusive; i++)
        if (queue_of(grant)[i].join)
            grant_join(grant, i);
}

int wdl_grant_queue(struct wdl_grant *grant, const struct wdl_grant_request *request)
{
    int status = wdl_array_grow(&grant->queue, grant->length);
    /* a release must not need memory: every request that may overtake has room for its debt */
    if (status == WDL_OK && request->join)
        status = wdl_array_grow(&grant->debt, grant->debts + grant->joins);
    if (status != WDL_OK)
        return status;
    queue_of(grant)[grant->length++] = *request;
    grant->joins += request->join;
    grant_step(grant);
    return WDL_OK;
}

int wdl_grant_request(struct wdl_grant *grant, int rank, int exclusive, int join)
{
    struct wdl_grant_request request = {.rank = rank,.exclusive = exclusive,
        .join = join && !exclusive
    };
    return wdl_grant_queue(grant, &request);
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
    return grant->granted > 0 ? queue_of(grant) : NULL;
}

void wdl_grant_announced(struct wdl_grant *grant)
{
    struct wdl_grant_request *queue = queue_of(grant);
    wdl_assert_cmp(grant->granted, >, 0);
    grant->granted--;
    grant->length--;
    memmove(queue, queue + 1, (size_t) grant->length * sizeof(queue[0]));
    wdl_array_trim(&grant->queue, grant->length);
    wdl_array_trim(&grant->debt, grant->debts + grant->joins);
}

int wdl_grant_settled(const struct wdl_grant *grant)
{
    for (int i = 0; i < grant->debts; i++)
        if (debts_of(grant)[i].ahead == 0)
            return debts_of(grant)[i].rank;
    return -1;
}

void wdl_grant_told(struct wdl_grant *grant, int rank)
{
    struct wdl_grant_debt *debt = debts_of(grant);
    int i = 0;
    while (debt[i].rank != rank || debt[i].ahead > 0)
        wdl_assert_cmp(++i, <, grant->debts);
    debt[i] = debt[--grant->debts];
    wdl_array_trim(&grant->debt, grant->debts + grant->joins);
}

void wdl_grant_check(const struct wdl_grant *grant)
{
    wdl_assert_cmp(grant->granted, <=, grant->length);
    wdl_assert_cmp(grant->granted, <=, grant->holders);
    wdl_assert_cmp(grant->length, <=, grant->queue.room);
    if (grant->exclusive)
        wdl_assert_cmp(grant->holders, ==, 1);
    wdl_assert_cmp(grant->debts + grant->joins, <=, grant->debt.room);
    for (int i = 0; i < grant->debts; i++)
        wdl_assert_cmp(debts_of(grant)[i].ahead, <=, grant->length - grant->granted);
}
