/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Puts of up to 1 MiB, or accumulates of up to 8 KiB, in one piece that follow one another onto
 * private memory of one process of this node: a cell of its mailbox (mailbox.h) announces the
 * first, and the others go behind it through the origin's ring (stream.h), so that the target does
 * one while the origin copies in the next. Of two of such length that are handed over each in a
 * cell, or are a stream, the second waits until the first has been done; and so does the request of
 * a put, which here is complete when its data are in the ring.
 *
 *     none --op--> open --again--> open --close--> closed --target did all--> none
 *                  closed --withdrawn, or refused--> rest --by the system--> none
 *
 * Short ones of a train are written through the caches or past them, whichever was faster of whole
 * trains.
 *
 * In the ring is a car for each operation, or for each 64 KiB of one: a cache line, and the data
 * behind that; where the next one begins its length is 0 until it has come. (Shorter cars are more
 * lines that change hands, and more beginnings of copies: of 16 KiB they took a third longer where
 * the processors share no cache.) The target says in the ring's head how far it is: what it has not
 * begun when the cell is withdrawn the origin does itself, each in its turn.
 *
 * Invariants:
 *  1. A process has one ring: one train, or stream, at a time. A car lies in one piece: what does
 *     not fit in front of the ring's end begins at its begin (CAR_TURN). Puts go round and round,
 *     over what the target has done: one for which that is not yet room enough waits while the
 *     target goes on; where it does not the train is closed, as if it was at its end. Accumulates
 *     lie in one piece, and nothing is used twice: a rest of them needs the room beside it.
 *  2. Its operations are of one target and kind, accumulates of one element and operator. Each was
 *     in bounds, and the target's lock was there, when it came; neither a lock nor an epoch ends
 *     before it is over: it is what is under way in the mailbox.
 *  3. A target that gives the cell back has done whole cars only.
 */
#ifndef WDL_MPID_RMA_TRAIN_H_INCLUDED
#define WDL_MPID_RMA_TRAIN_H_INCLUDED

#include "mpid/rma/control.h"
#include "mpid/rma/win.h"

struct wdl_mail;
struct wdl_stream;
struct wdl_target;
struct wdl_trial;

enum { WDL_TRAIN_PUT = 1 << 20,         /* bytes of a put, at most */
    WDL_TRAIN_FOLD = WDL_MAIL_AREA,     /* of an accumulate */
    WDL_TRAIN_CAR = 1 << 16,            /* of either in one car */
    WDL_TRAIN_BYTES = 1 << 27,          /* of all puts, with their cars: at most */
    WDL_TRAIN_FOLD_BYTES = 1 << 18,     /* of the ring, for accumulates */
    WDL_TRAIN_COMPARED = 2048,          /* of longer ones: with the system's copy (trial.h) */
    WDL_TRAIN_TRIALS = 9,               /* their lengths, a power of two each */
    WDL_TRAIN_ROW = 8,                  /* so many tell which way short ones are faster */
    WDL_TRAIN_UNASKED = 128,            /* so many on end go the system's way on one answer; */
    WDL_TRAIN_REQUESTS = 16             /* of those with requests, or one way on trial */
};

/* Whose times are kept apart: those with requests may lie where the last one did. */
enum { WDL_TRAIN_PUTS, WDL_TRAIN_ACCS, WDL_TRAIN_RPUTS, WDL_TRAIN_KINDS };

struct wdl_car {                /* a cache line, in front of its data */
    uint64_t bytes;             /* 0: it has not come; CAR_END: nor will it; CAR_TURN: it is at the
                                 * ring's begin */
    int64_t disp;               /* the operation's, */
    uint64_t offset;            /* and its bytes in the cars before */
    char pad[40];
};

#define WDL_CAR_END UINT64_MAX
#define WDL_CAR_TURN (UINT64_MAX - 1)

struct wdl_train {
    struct wdl_stream *ring;    /* NULL: there is none */
    uint64_t begin, at;         /* places of the first car, of the next one */
    uint8_t closed, resting, singly;
    uint8_t row, past;          /* of short ones; which are written past the caches */
    uint8_t waits;              /* an operation waits for room: nobody who only looks closes it */
    uint32_t looks;             /* for room, since the target went on */
    uint32_t seen;              /* so far from begin the target was when there was no room else */
    uint64_t passed;            /* where it was when it was about to be withdrawn */
    uint64_t rest;              /* resting: the place of the first that has not been done */
    size_t done;                /* bytes that have, of that one on */
    struct wdl_win_control *control;
    struct wdl_win_rank info;
    struct wdl_trial *trial;
    uint64_t began_ns;          /* 0: nobody wants to know how long it takes */
    unsigned n, most;           /* operations: so many, at most */
};

/* Begin one where operations of such length follow one another: TAKEN; else it is to go another
 * way: SYSTEM: the system's, since that has been found to be faster (trial.h), of which
 * wdl_mail_not_handed is told. t: the target's element, or NULL. */
enum wdl_train_way { WDL_TRAIN_NONE, WDL_TRAIN_TAKEN, WDL_TRAIN_SYSTEM };
enum wdl_train_way wdl_train_op(struct wdl_win *win, const struct wdl_rma_args *args,
                                struct wdl_target *t, struct wdl_win_control *control,
                                const struct wdl_win_rank *info);
/* One that goes behind those that are there: WDL_OK: it has been taken, AGAIN: there will be room,
 * ERR_UNSUPPORTED: it goes another way. */
int wdl_train_again(struct wdl_win *win, const struct wdl_rma_args *args);
/* The same, of a put; has it been taken? */
int wdl_train_put(struct wdl_win *win, int rank, int64_t disp, const void *local, uint64_t bytes);
/* Is an operation to be one's first, by those before it? One has gone another way (any one: what
 * would be none is not counted). */
int wdl_train_wanted(const struct wdl_win *win, int rank, const struct wdl_win_control *control,
                     enum wdl_rma_kind kind, uint64_t bytes);
void wdl_train_count(struct wdl_win *win, int rank, enum wdl_rma_kind kind, uint64_t bytes);
/* No more come. */
void wdl_train_close(struct wdl_win *win);
/* Has the target gone on since this was asked last? It has then not been asked in vain. */
int wdl_train_goes_on(struct wdl_win *win);
/* The target has answered: 1: all is done, and it is over, 0: there is a rest, whatever it says. */
int wdl_train_answered(struct wdl_win *win);
/* The cell has been withdrawn: do the rest: WDL_OK, and it is over, or WDL_AGAIN. Failures are the
 * window's (wdl_win_fail). */
int wdl_train_rest(struct wdl_win *win);
/* The target's part, as far as it can be done: WDL_OK, WDL_AGAIN or an error. *done: bytes of an
 * operation that is half done; *moved: those done now. */
int wdl_train_serve(struct wdl_win *win, const struct wdl_mail *asked, size_t *done, int *moved);

#endif
