/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/grant. */
#include "mpid/rma/grant.h"
#include <stdlib.h>
#include "support/suite.h"

static void *host_alloc(void *ctx, size_t bytes)
{
    int *left = ctx;
    return (*left)-- > 0 ? calloc(1, bytes) : NULL;
}

static void host_free(void *ctx, void *ptr)
{
    (void) ctx;
    free(ptr);
}

static const struct wdl_host_ops ops = {.alloc = host_alloc,.free = host_free };

static int announced(struct wdl_grant *grant)
{
    const struct wdl_grant_request *next = wdl_grant_next(grant);
    if (!next)
        return -1;
    int rank = next->rank;
    wdl_grant_announced(grant);
    wdl_grant_check(grant);
    return rank;
}

START_TEST(an_exclusive_request_is_not_overtaken)
{
    int left = 100;
    struct wdl_host host = { &ops, &left };
    struct wdl_grant grant;
    wdl_grant_init(&grant, &host);
    ck_assert_int_eq(wdl_grant_request(&grant, 0, 0, 0), WDL_OK);
    ck_assert_int_eq(wdl_grant_request(&grant, 1, 1, 0), WDL_OK);
    ck_assert_int_eq(wdl_grant_request(&grant, 2, 0, 0), WDL_OK);
    ck_assert_int_eq(wdl_grant_request(&grant, 3, 0, 0), WDL_OK);
    ck_assert_int_eq(announced(&grant), 0);
    ck_assert_int_eq(announced(&grant), -1);
    ck_assert_int_eq(wdl_grant_release(&grant), WDL_OK);
    ck_assert_int_eq(announced(&grant), 1);
    ck_assert_int_eq(announced(&grant), -1);
    ck_assert_int_eq(wdl_grant_release(&grant), WDL_OK);
    ck_assert_int_eq(announced(&grant), 2);
    ck_assert_int_eq(announced(&grant), 3);
    ck_assert_int_eq(wdl_grant_release(&grant), WDL_OK);
    ck_assert_int_eq(wdl_grant_release(&grant), WDL_OK);
    ck_assert_int_eq(wdl_grant_release(&grant), WDL_ERR_PROTO);
    wdl_grant_fini(&grant);
}
END_TEST

START_TEST(what_is_not_announced_cannot_be_released)
{
    int left = 100;
    struct wdl_host host = { &ops, &left };
    struct wdl_grant grant;
    wdl_grant_init(&grant, &host);
    ck_assert_int_eq(wdl_grant_request(&grant, 5, 1, 0), WDL_OK);
    ck_assert_int_eq(wdl_grant_release(&grant), WDL_ERR_PROTO);
    ck_assert_int_eq(announced(&grant), 5);
    ck_assert_int_eq(wdl_grant_release(&grant), WDL_OK);
    wdl_grant_fini(&grant);
}
END_TEST

START_TEST(memory_that_runs_out_is_an_error)
{
    int left = 1, n = 0;
    struct wdl_host host = { &ops, &left };
    struct wdl_grant grant;
    wdl_grant_init(&grant, &host);
    while (wdl_grant_request(&grant, n, 1, 0) == WDL_OK)
        n++;
    ck_assert_int_eq(n, 2 * WDL_GRANT_FEW);
    wdl_grant_check(&grant);
    wdl_grant_fini(&grant);
}
END_TEST

/* One holder or many readers, whatever comes; and everyone is served in the order of asking. */
START_TEST(random_requests)
{
    int left = 100, seed = 12345, served = 0, holders = 0, exclusive = 0;
    struct wdl_host host = { &ops, &left };
    struct wdl_grant grant;
    int wants[3000];
    wdl_grant_init(&grant, &host);
    for (int i = 0; i < 3000; i++) {
        seed = (int) ((1103515245u * (unsigned) seed + 12345u) & 0x7fffffff);
        wants[i] = seed >> 16 & 1;
        ck_assert_int_eq(wdl_grant_request(&grant, i, wants[i], 0), WDL_OK);
        for (int rank; (rank = announced(&grant)) >= 0; served++) {
            ck_assert_int_eq(rank, served);
            holders++;
            exclusive += wants[rank];
            ck_assert(exclusive == 0 || holders == 1);
        }
        if ((seed >> 8 & 3) != 0 && holders > 0) {
            ck_assert_int_eq(wdl_grant_release(&grant), WDL_OK);
            holders--;
            exclusive = 0;
        }
    }
    ck_assert_int_gt(served, 1000);
    wdl_grant_fini(&grant);
}
END_TEST

/* The lock is held shared, an exclusive and a shared request wait, a lock_all joins. */
START_TEST(who_overtakes_owes_until_the_others_are_granted)
{
    int left = 100;
    struct wdl_host host = { &ops, &left };
    struct wdl_grant grant;
    wdl_grant_init(&grant, &host);
    ck_assert_int_eq(wdl_grant_request(&grant, 0, 0, 1), WDL_OK);
    ck_assert(!wdl_grant_next(&grant)->overtook);
    ck_assert_int_eq(announced(&grant), 0);
    ck_assert_int_eq(wdl_grant_request(&grant, 1, 1, 0), WDL_OK);
    ck_assert_int_eq(wdl_grant_request(&grant, 2, 0, 0), WDL_OK);
    ck_assert_int_eq(announced(&grant), -1);
    ck_assert_int_eq(wdl_grant_request(&grant, 3, 0, 1), WDL_OK);
    ck_assert(wdl_grant_next(&grant)->overtook);
    ck_assert_int_eq(announced(&grant), 3);
    ck_assert_int_eq(wdl_grant_release(&grant), WDL_OK);
    ck_assert_int_eq(wdl_grant_release(&grant), WDL_OK);
    ck_assert_int_eq(announced(&grant), 1);
    ck_assert_int_eq(wdl_grant_settled(&grant), -1);    /* one of the two is granted */
    ck_assert_int_eq(wdl_grant_release(&grant), WDL_OK);
    ck_assert_int_eq(announced(&grant), 2);
    ck_assert_int_eq(wdl_grant_settled(&grant), 3);
    wdl_grant_told(&grant, 3);
    wdl_grant_check(&grant);
    ck_assert_int_eq(wdl_grant_settled(&grant), -1);
    ck_assert_int_eq(wdl_grant_release(&grant), WDL_OK);
    wdl_grant_fini(&grant);
}
END_TEST

/* Who joins again before it is settled has one debt still, of which it is told once. */
START_TEST(who_overtakes_again_owes_more_and_hears_once)
{
    int left = 100;
    struct wdl_host host = { &ops, &left };
    struct wdl_grant grant;
    wdl_grant_init(&grant, &host);
    ck_assert_int_eq(wdl_grant_request(&grant, 0, 0, 0), WDL_OK);
    ck_assert_int_eq(announced(&grant), 0);
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(wdl_grant_request(&grant, 1 + again, 1, 0), WDL_OK);
        ck_assert_int_eq(wdl_grant_request(&grant, 3, 0, 1), WDL_OK);
        ck_assert_int_eq(wdl_grant_next(&grant)->overtook, !again);
        ck_assert_int_eq(announced(&grant), 3);
        ck_assert_int_eq(wdl_grant_release(&grant), WDL_OK);
        ck_assert(wdl_grant_may_ask(&grant, 4));
    }
    for (int rank = 1; rank <= 2; rank++) {
        ck_assert_int_eq(wdl_grant_settled(&grant), -1);
        ck_assert_int_eq(wdl_grant_release(&grant), WDL_OK);
        ck_assert_int_eq(announced(&grant), rank);
    }
    ck_assert_int_eq(wdl_grant_settled(&grant), 3);
    wdl_grant_told(&grant, 3);
    ck_assert_int_eq(wdl_grant_settled(&grant), -1);
    ck_assert_int_eq(wdl_grant_release(&grant), WDL_OK);
    wdl_grant_check(&grant);
    wdl_grant_fini(&grant);
}
END_TEST

/* Who comes behind an exclusive holder overtakes when shared requests are granted again, and a
 * release needs no memory for that. */
START_TEST(waiting_joins_have_room_for_their_debts)
{
    int left = 100, n = 0;
    struct wdl_host host = { &ops, &left };
    struct wdl_grant grant;
    wdl_grant_init(&grant, &host);
    ck_assert_int_eq(wdl_grant_request(&grant, 0, 1, 0), WDL_OK);
    ck_assert_int_eq(announced(&grant), 0);
    ck_assert_int_eq(wdl_grant_request(&grant, 1, 0, 0), WDL_OK);
    ck_assert_int_eq(wdl_grant_request(&grant, 2, 1, 0), WDL_OK);
    for (int i = 3; i < 40; i++)
        ck_assert_int_eq(wdl_grant_request(&grant, i, 0, 1), WDL_OK);
    left = 0;
    ck_assert_int_eq(announced(&grant), -1);
    ck_assert_int_eq(wdl_grant_release(&grant), WDL_OK);
    for (int i = 1; i < 40; i++, n++)
        if (i != 2)
            ck_assert_int_eq(announced(&grant), i);
    ck_assert_int_eq(announced(&grant), -1);
    for (int i = 0; i < 38; i++)
        ck_assert_int_eq(wdl_grant_release(&grant), WDL_OK);
    ck_assert_int_eq(announced(&grant), 2);
    for (n = 0; wdl_grant_settled(&grant) >= 0; n++)
        wdl_grant_told(&grant, wdl_grant_settled(&grant));
    ck_assert_int_eq(n, 37);
    wdl_grant_fini(&grant);
}
END_TEST

/* Many who have overtaken one: the memory that says so goes as they are told that it is over. */
START_TEST(debts_take_memory_while_there_are_many)
{
    enum { MANY = 4 * WDL_GRANT_FEW };
    int left = 100;
    struct wdl_host host = { &ops, &left };
    struct wdl_grant grant;
    wdl_grant_init(&grant, &host);
    ck_assert_int_eq(wdl_grant_request(&grant, 0, 0, 0), WDL_OK);
    ck_assert_int_eq(announced(&grant), 0);
    ck_assert_int_eq(wdl_grant_request(&grant, 1, 1, 0), WDL_OK);
    for (int i = 0; i < MANY; i++) {
        ck_assert_int_eq(wdl_grant_request(&grant, 2 + i, 0, 1), WDL_OK);
        ck_assert_int_eq(announced(&grant), 2 + i);
        ck_assert_int_eq(wdl_array_memory(&grant.debt) > 0, grant.debts > WDL_GRANT_FEW);
    }
    ck_assert_uint_eq(wdl_array_memory(&grant.queue), 0);
    for (int i = 0; i <= MANY; i++)
        ck_assert_int_eq(wdl_grant_release(&grant), WDL_OK);
    ck_assert_int_eq(announced(&grant), 1);
    for (int debts = MANY; debts > 0; debts--) {
        ck_assert_int_eq(grant.debts, debts);
        ck_assert_uint_le(wdl_array_memory(&grant.debt),
                          4 * sizeof(struct wdl_grant_debt) * (size_t) debts);
        wdl_grant_told(&grant, wdl_grant_settled(&grant));
    }
    ck_assert_uint_eq(wdl_array_memory(&grant.debt), 0);
    wdl_grant_fini(&grant);
}
END_TEST

WDL_SUITE("rma/grant", who_overtakes_owes_until_the_others_are_granted,
          who_overtakes_again_owes_more_and_hears_once, waiting_joins_have_room_for_their_debts,
          an_exclusive_request_is_not_overtaken, what_is_not_announced_cannot_be_released,
          memory_that_runs_out_is_an_error, random_requests,
          debts_take_memory_while_there_are_many)
