/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Karp's greedy schedule on a heap: whoever can deliver first, sends. No tree reaches ranks sooner,
 * also if no rank may have more than a number of children.
 */
#ifndef WDL_TEST_MPID_COLL_GREEDY_H_INCLUDED
#define WDL_TEST_MPID_COLL_GREEDY_H_INCLUDED

#include <stdint.h>

#define GREEDY_RANKS_MAX 6000

struct greedy_next { /* a rank's next message */
    uint64_t at; /* it arrives */
    int sent; /* those before it */
};

/* A heap of n gets another element. */
static inline void greedy_push(struct greedy_next *heap, int n, struct greedy_next next)
{
    for (; n > 0 && next.at < heap[(n - 1) / 2].at; n = (n - 1) / 2)
        heap[n] = heap[(n - 1) / 2];
    heap[n] = next;
}

/* The first of n leaves it. */
static inline struct greedy_next greedy_pop(struct greedy_next *heap, int n)
{
    struct greedy_next first = heap[0], last = heap[--n];
    int at = 0;
    for (int below; (below = 2 * at + 1) < n; at = below) {
        if (below + 1 < n && heap[below + 1].at < heap[below].at)
            below++;
        if (last.at <= heap[below].at)
            break;
        heap[at] = heap[below];
    }
    heap[at] = last;
    return first;
}

/* When each of up to GREEDY_RANKS_MAX ranks is reached, in order; most: children of a rank, 0: any
 * number. */
static inline void greedy(int ranks, int most, uint64_t eel, uint64_t gap, uint64_t *arrivals)
{
    static struct greedy_next heap[GREEDY_RANKS_MAX + 1];
    int n = 0;
    arrivals[0] = 0;
    greedy_push(heap, n++, (struct greedy_next){eel, 0});
    for (int i = 1; i < ranks; i++) {
        struct greedy_next next = greedy_pop(heap, n--);
        arrivals[i] = next.at;
        greedy_push(heap, n++, (struct greedy_next){next.at + eel, 0});
        next.at += gap;
        if (++next.sent != most)
            greedy_push(heap, n++, next);
    }
}

#endif
