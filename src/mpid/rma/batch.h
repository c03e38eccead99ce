/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Short puts and gets on private memory of this node, and longer puts with a request, held back so
 * that one call of the system moves many (copy.c). A put's data are in the batch (so its request,
 * if it has one, is complete at once: MPI-4, 12.3.5, local completion), a get's result comes later:
 * both are over at the next synchronization of their target, which runs the batch, and at the
 * latest when progress is made. The operations of a batch are of one kind and one target; every
 * other operation on that target runs it first, so what follows one another stays in order.
 *
 * Invariants:
 *  1. Of one target of a window there is at most one batch.
 *  2. win->batched counts the window's batches that are not empty, and its bag (bag.h) if that is
 *     not; rma->batched is the sum of all windows'.
 *  3. What is held was in bounds, and its target's lock was there, when it came; neither a lock nor
 *     an epoch ends before it is run.
 */
#ifndef WDL_MPID_RMA_BATCH_H_INCLUDED
#define WDL_MPID_RMA_BATCH_H_INCLUDED

#include "host/host.h"

struct wdl_rma;
struct wdl_win;
struct wdl_rma_args;
struct wdl_win_control;

enum { WDL_BATCHES = 4, WDL_BATCH_OPS = 64, WDL_BATCH_SHORT = 256, WDL_BATCH_BYTES = 16384,
    WDL_BATCH_LONG = WDL_BATCH_BYTES / 2        /* with a request */
};

struct wdl_batch {
    struct wdl_win *win;        /* NULL: empty */
    int rank, put;
    int first, n;               /* operations [first, n) are to be done */
    size_t used;                /* of data */
    uint64_t gone;              /* dynamic windows: regions_gone when the first operation came */
    struct wdl_win_control *control;
    struct wdl_piece here[WDL_BATCH_OPS], there[WDL_BATCH_OPS];
    char data[WDL_BATCH_BYTES];
};

/* A piece at the end of a list of n, or of its last piece: how many there are then. */
int wdl_pieces_add(struct wdl_piece *pieces, int n, const struct wdl_piece *piece);
/* One more in that rank's batch, if that is of its kind and has room: has it been taken? local: the
 * user's. */
int wdl_batch_again(struct wdl_win *win, int rank, int put, uint64_t there, void *local,
                    size_t bytes);
/* Is it one that is held back? */
int wdl_batch_takes(const struct wdl_win *win, const struct wdl_rma_args *args);
/* Take a put or a get of what is at `at` in the target: WDL_OK, WDL_AGAIN, or ERR_UNSUPPORTED where
 * it is none that is held back. */
int wdl_batch_op(struct wdl_win *win, const struct wdl_rma_args *args,
                 struct wdl_win_control *control, uint64_t at);
/* Do what is held of one rank, of all (rank < 0): WDL_OK or WDL_AGAIN. Failures are the window's
 * (wdl_win_fail). A bag only if it is older than this stamp. (wdl_batches_run in win_impl.h asks
 * first whether there is any.) */
int wdl_batches_run_now(struct wdl_win *win, int rank, uint64_t stamp);
/* The same of all windows; how many batches were run. */
int wdl_batches_progress(struct wdl_rma *rma);

#endif
