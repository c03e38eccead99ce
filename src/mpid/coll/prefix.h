/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Prefix reduction and reduction of a block-cyclic array (blockcyclic.h) by an operator that may
 * be grouped but need not commute. Blocks are numbered through all rows, k = row * P + rank; S(k)
 * is the fold of block k, V_L(k) that of the L blocks before it. A rank holds both as vectors with
 * an entry a row.
 *
 * Prefix: V_0 is nothing; the bits of P-1 are read from the top:
 *
 *     bit 0:  L -> 2L      V'(k) = V(k - L) op V(k)                      from L blocks behind bit
 *     1:  L -> 2L + 1  V'(k) = (V(k-L-1) op S(k-L-1)) op V(k)        from L + 1 blocks behind
 *
 * After ceil(log2 P) rounds of one message each, all rows together, a rank has V_{P-1}: what lies
 * between its block of the row above and its block. The rest is local (wdl_prefix_finish).
 *
 * There is no neutral element: what no element has gone into is left out, and every rank knows
 * from the layout which entries those are.
 *
 * Invariants:
 *  1. In every vector the entries that exist are consecutive rows.
 *  2. The rows a rank sends in a round are those its partner expects.
 *
 * The caller moves the messages and owns all memory; nothing is kept. Any thread.
 */
#ifndef WDL_MPID_COLL_PREFIX_H_INCLUDED
#define WDL_MPID_COLL_PREFIX_H_INCLUDED

#include <stddef.h>
#include "mpid/coll/blockcyclic.h"

/* inout[i] = left[i] op inout[i] for `count` elements side by side. */
typedef void (*wdl_prefix_fold_fn)(void *ctx, const void *left, void *inout, size_t count);

struct wdl_prefix_op {
    wdl_prefix_fold_fn fn;
    void *ctx;
    size_t bytes;               /* of an element, > 0 */
};

struct wdl_prefix {
    struct wdl_cyclic layout;
    struct wdl_prefix_op op;
    int rank;
    int rounds;                 /* ceil(log2 P); 0 without elements */
    int64_t rows;               /* entries of a vector; row 0 has the first element */
    int64_t first, last;        /* blocks with elements, counted from row 0's rank 0; last < first:
                                 * none */
};

/* One message out and one in; no rows: no message. Rows are the sender's. */
struct wdl_prefix_round {
    int to, from;
    int64_t send_first, send_rows;
    int64_t recv_first, recv_rows;
};

void wdl_prefix_init(struct wdl_prefix *prefix, const struct wdl_cyclic *layout, int rank,
                     const struct wdl_prefix_op *op);

/* sums[row] = the fold of the rank's block in this row; `src` is where the rank has row 0 of the
 * whole array (place 0). */
void wdl_prefix_blocks(const struct wdl_prefix *prefix, const void *src, void *sums);

void wdl_prefix_round(const struct wdl_prefix *prefix, int round, struct wdl_prefix_round *out);
/* The message of the round: send_rows entries into `out`, from the V before the round, and S. */
void wdl_prefix_send(const struct wdl_prefix *prefix, int round, const void *before,
                     const void *sums, void *out);
/* Fold the round's message into V. The own message must be on its way, or elsewhere, already. A
 * round without message needs no call. */
void wdl_prefix_take(const struct wdl_prefix *prefix, int round, const void *in, void *before);

/* After the rounds: V becomes the fold of everything before the rank's block of each row. `carry`:
 * room for one element. */
void wdl_prefix_finish(const struct wdl_prefix *prefix, const void *sums, void *before,
                       void *carry);
/* The last pass over the elements: dst gets their prefixes, at the places src has them; they may
 * be the same. exclusive: without the element itself; the first element's is left as it is.
 * `carry`: room for one element. */
void wdl_prefix_scan(const struct wdl_prefix *prefix, int exclusive, const void *src,
                     const void *before, void *dst, void *carry);

/* Reduction. A vector of the folds of ranks [lo, mid) in each row, and one of [mid, hi): inout
 * becomes that of [lo, hi). With lo = p, mid = p + 1 `left` is p's own sums. */
void wdl_prefix_join(const struct wdl_prefix *prefix, int lo, int mid, int hi, const void *left,
                     void *inout);
/* The rows that exist in such a vector: [*first_out, *first_out + result). */
int64_t wdl_prefix_rows(const struct wdl_prefix *prefix, int lo, int hi, int64_t *first_out);
/* The fold of all rows of ranks [0, P) into `result`, one element. 0: there is no element at all,
 * and nothing is written. */
int wdl_prefix_fold_rows(const struct wdl_prefix *prefix, const void *sums, void *result);

#endif
