/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Intrusive doubly linked list with a head node. A node outside every list points to itself.
 */
#ifndef WDL_BASE_LIST_H_INCLUDED
#define WDL_BASE_LIST_H_INCLUDED

#include <stddef.h>

struct wdl_list {
    struct wdl_list *next, *prev;
};

#define wdl_container_of(ptr, type, member) ((type *) ((char *) (ptr) - offsetof(type, member)))

#define wdl_list_for(node, head) \
    for ((node) = (head)->next; (node) != (head); (node) = (node)->next)
/* the same where the body may take `node` out; `after` is a second node pointer */
#define wdl_list_for_safe(node, after, head)                                                   \
    for ((node) = (head)->next, (after) = (node)->next; (node) != (head);                      \
         (node) = (after), (after) = (node)->next)

static inline void wdl_list_init(struct wdl_list *node)
{
    node->next = node->prev = node;
}

static inline int wdl_list_empty(const struct wdl_list *head)
{
    return head->next == head;
}

static inline void wdl_list_push(struct wdl_list *head, struct wdl_list *node)
{
    node->prev = head->prev;
    node->next = head;
    head->prev->next = node;
    head->prev = node;
}

static inline void wdl_list_push_front(struct wdl_list *head, struct wdl_list *node)
{
    wdl_list_push(head->next, node);
}

static inline void wdl_list_remove(struct wdl_list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    wdl_list_init(node);
}

/* The first node taken out, or NULL. */
static inline struct wdl_list *wdl_list_pop(struct wdl_list *head)
{
    struct wdl_list *node = head->next;
    if (node == head)
        return NULL;
    wdl_list_remove(node);
    return node;
}

#endif
