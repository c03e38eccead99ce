/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The short way (quick.h) of what updates one word: an aligned element of eight bytes in mapped
 * memory, its sum or an exchange, by the processor's own instruction, between the announcement of
 * its region and the end of that (domain.h). Without a call, which would have its callers save
 * registers: it takes as long as the instruction does.
 */
#ifndef WDL_MPID_RMA_WORD_H_INCLUDED
#define WDL_MPID_RMA_WORD_H_INCLUDED

#include "mpid/rma/domain.h"
#include "mpid/rma/kernel.h"
#include "mpid/rma/quick.h"

enum { WDL_WORD_BYTES = 8 };

/* Is the element such a word, and has its sum an instruction, or nearly? */
static inline int wdl_word_is(const struct wdl_element *el)
{
    return el->packed_bytes == WDL_WORD_BYTES && wdl_kernel_has(el);
}

static inline int wdl_word_is_summed(const struct wdl_element *el)
{
    return el->basic == WDL_BASIC_I64 || el->basic == WDL_BASIC_U64 || el->basic == WDL_BASIC_F64;
}

/* *word_out: the word at displacement disp of that rank, its region announced, and counted as an
 * operation. 0: the full path is to decide. */
__attribute__((always_inline))
static inline int wdl_word_begin(struct wdl_win_quick *q, int rank, int64_t disp,
                                 uint64_t **word_out)
{
    int64_t at;
    if (!wdl_quick_within(q, rank, disp, WDL_WORD_BYTES, &at) || __builtin_expect(q->sole, 0))
        return 0;
    char *word = q->base + q->place[rank].offset + at;
    /* where its place in the rank's memory is aligned, too, it lies within one region */
    if ((((uintptr_t) word | (uint64_t) at) & (WDL_WORD_BYTES - 1)) != 0 ||
        !wdl_short_begin_free(q->own, q->own_bit, &q->node[rank], rank,
                              (int) ((uint64_t) at / WDL_REGION_BYTES % WDL_WIN_REGIONS)))
        return 0;
    q->ops++;
    *word_out = (uint64_t *) (void *) word;
    return 1;
}

static inline void wdl_word_end(struct wdl_win_quick *q)
{
    wdl_short_end(q->own);
}

/* Adds what is at `in`; returns what the word was. */
static inline uint64_t wdl_word_add(uint64_t *word, const struct wdl_element *el, const void *in)
{
    uint64_t old, new;
    double term, sum;
    if (el->basic != WDL_BASIC_F64) {
        memcpy(&new, in, sizeof(new));
        return __atomic_fetch_add(word, new, __ATOMIC_SEQ_CST);
    }
    old = __atomic_load_n(word, __ATOMIC_RELAXED);
    memcpy(&term, in, sizeof(term));
    do {
        memcpy(&sum, &old, sizeof(sum));
        sum = wdl_one_nan_f64(sum + term);
        memcpy(&new, &sum, sizeof(new));
    } while (!__atomic_compare_exchange_n(word, &old, new, 0, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED));
    return old;
}

/* If the word is what is at `compare` it becomes what is at `value`; returns what it was. */
static inline uint64_t wdl_word_swap(uint64_t *word, const void *compare, const void *value)
{
    uint64_t old, new;
    memcpy(&old, compare, sizeof(old));
    memcpy(&new, value, sizeof(new));
    __atomic_compare_exchange_n(word, &old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return old;
}

#endif
