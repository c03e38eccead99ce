/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of base/list. */
#include "base/list.h"
#include "support/suite.h"

struct item {
    int value;
    struct wdl_list link;
};

START_TEST(first_in_first_out)
{
    struct wdl_list head;
    struct item item[3];
    wdl_list_init(&head);
    ck_assert(wdl_list_empty(&head));
    ck_assert_ptr_null(wdl_list_pop(&head));
    for (int i = 0; i < 3; i++) {
        item[i].value = i;
        wdl_list_push(&head, &item[i].link);
    }
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(wdl_container_of(wdl_list_pop(&head), struct item, link)->value, i);
    ck_assert(wdl_list_empty(&head));
}
END_TEST

START_TEST(push_front_goes_first)
{
    struct wdl_list head, a, b;
    wdl_list_init(&head);
    wdl_list_push(&head, &a);
    wdl_list_push_front(&head, &b);
    ck_assert_ptr_eq(wdl_list_pop(&head), &b);
    ck_assert_ptr_eq(wdl_list_pop(&head), &a);
}
END_TEST

START_TEST(remove_inside_the_safe_loop)
{
    struct wdl_list head, nodes[4], *node, *after;
    int n = 0;
    wdl_list_init(&head);
    for (int i = 0; i < 4; i++)
        wdl_list_push(&head, &nodes[i]);
    wdl_list_for_safe(node, after, &head) {
        if (n++ % 2 == 0) {
            wdl_list_remove(node);
            ck_assert(wdl_list_empty(node));
        }
    }
    ck_assert_int_eq(n, 4);
    ck_assert_ptr_eq(wdl_list_pop(&head), &nodes[1]);
    ck_assert_ptr_eq(wdl_list_pop(&head), &nodes[3]);
    ck_assert(wdl_list_empty(&head));
}
END_TEST

WDL_SUITE("base/list", first_in_first_out, push_front_goes_first, remove_inside_the_safe_loop)
