/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A barrier of processes that share memory: the fence's within a node, and the collectives'. The
 * caller gives every meeting a number, keeps how far it has come with it, and asks again until all
 * have come. Two ways:
 *   looks    Everyone shows in a word of its own how many meetings it has come to, and looks at the
 *            others' words: one store, one way, and who has come is not needed again. Meetings
 *            may overlap; a higher number stands for all the lower ones.
 *   rounds   Dissemination: in round r everyone tells the one 2^r above, in a word for each round.
 *            Among many it is the faster one, unless every round costs every process a turn at the
 *            processor. The next meeting begins when this one is over.
 * Words begin at 0 and are never reset; numbers begin at 1 and grow.
 *
 * Who has seen all come sees all that they did before they came.
 */
#ifndef WDL_MPID_PROC_MEET_H_INCLUDED
#define WDL_MPID_PROC_MEET_H_INCLUDED

#include <stdint.h>

enum {
    WDL_MEET_LOOKS_MAX = 32,    /* more than so many do not all look at each other */
    WDL_MEET_ROUNDS = 20        /* a node has fewer than 2^20 processes */
};

struct wdl_meet_word {          /* a cache line of its own */
    uint64_t number, pad[7];
};

/* Where a rank's words are, one for `looks`, or one a round; a constant where it is called, so that
 * nothing is called in fact. */
typedef struct wdl_meet_word *(*wdl_meet_words)(const void *ctx, int rank);

/* This rank has come: looks. Where meetings overlap, in the order of their numbers. */
static inline void wdl_meet_come(struct wdl_meet_word *own, uint64_t number)
{
    /* pairs with the loads in wdl_meet_look and wdl_meet_rounds */
    __atomic_store_n(&own->number, number, __ATOMIC_RELEASE);
}

/* Once this rank has come: have all the others? *seen of them had when it was asked last, 0
 * at first; the next rank is looked at first, so that not all turn to one. */
static inline __attribute__((always_inline)) int
wdl_meet_look(wdl_meet_words words, const void *ctx, int rank, int size, uint64_t number,
              int *seen)
{
    int n = *seen;
    for (; n < size - 1; n++) {
        int other = rank + 1 + n < size ? rank + 1 + n : rank + 1 + n - size;
        /* pairs with the store in wdl_meet_come */
        if (__atomic_load_n(&words(ctx, other)->number, __ATOMIC_ACQUIRE) < number)
            break;
    }
    *seen = n;
    return n >= size - 1;
}

/* Rounds: have all come? Begins with *round and *sent 0. */
static inline __attribute__((always_inline)) int
wdl_meet_rounds(wdl_meet_words words, const void *ctx, int rank, int size, uint64_t number,
                int *round, int *sent)
{
    while ((int64_t) 1 << *round < size) {
        int64_t to = (rank + ((int64_t) 1 << *round)) % size;
        if (!*sent)
            wdl_meet_come(words(ctx, (int) to) + *round, number);
        *sent = 1;
        /* pairs with the store in wdl_meet_come */
        if (__atomic_load_n(&words(ctx, rank)[*round].number, __ATOMIC_ACQUIRE) < number)
            return 0;
        *sent = 0;
        ++*round;
    }
    return 1;
}

#endif
