/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Short operations handed over in memory a node shares: where a rank's memory is private and the
 * rank is in MPI, it does them itself, at the price of a cache line that goes there and back. The
 * origin posts one in a cell of the target's control block; the target takes it when it makes
 * progress, does what a message would have caused, and shows the result in the same cell. Where
 * nobody takes it soon the origin withdraws it and goes another way.
 *
 *     FREE, DONE --origin--> POSTED --target--> TAKEN --target--> DONE
 *                            POSTED --origin--> FREE         (withdrawn; a copy by both is over)
 *                            TAKEN  --target--> POSTED       (a stream that has to wait, not an
 *                                                             accumulate that has begun; a part of
 *                                                             a copy by both is done)
 *     FREE, DONE --origin--> LAST --target--> TAKEN, --origin--> FREE    (see below)
 *                            POSTED --origin--> LAST, TAKEN --origin--> TAKEN_LAST
 *                            TAKEN_LAST --target--> DONE, or LAST where TAKEN becomes POSTED
 *
 * A put that is all there is for the only target of MPI_Win_start waits, filled in, for
 * MPI_Win_complete, and says with its own hand-over that this is all (LAST, else like POSTED): the
 * target counts the completion when it has done it, and nobody waits for it in MPI_Win_complete.
 * If the target does not come by the time the window is used again, the origin copies and counts.
 * So it is with the last put of such an epoch if it is a stream whose bytes are in the ring by
 * then, but that it is handed over at once, and may have been taken.
 *
 * All steps out of POSTED and LAST, and of a stream's TAKEN, are atomic exchanges, so an operation
 * is done once. A cell has one origin at a time: where the node has no more ranks than there are
 * cells, each has its own; otherwise they take turns (FILLING), and give a cell back FREE.
 *
 * Invariants:
 *  1. A window has at most one operation under way in a mailbox; every other operation on the
 *     window, and every synchronization (a flush: where it was issued before) but the
 *     MPI_Win_complete that a LAST one is, first settles or withdraws it. So what follows one
 *     another stays in order.
 *  2. It goes only to a target with nothing else under way and whose lock, if one is needed, is
 *     held.
 *  3. Where processes outnumber processors, mail_open says whether a rank waits on a processor that
 *     nobody else wants (wdl_rma_attend): only then it is asked. It is a hint, and goes when the
 *     wait ends.
 *  4. What was withdrawn has not touched the target, or, a stream, is done again whole.
 */
#ifndef WDL_MPID_RMA_MAILBOX_H_INCLUDED
#define WDL_MPID_RMA_MAILBOX_H_INCLUDED

#include "mpid/rma/bag.h"
#include "mpid/rma/train.h"

struct wdl_rma;
struct wdl_stream;
struct wdl_target;

enum { WDL_MAIL_STREAM = WDL_RMA_KINDS, WDL_MAIL_FOLD, WDL_MAIL_BAG, WDL_MAIL_BAG_MOVES,
    WDL_MAIL_TRAIN, WDL_MAIL_TRAIN_FOLD, WDL_MAIL_JOINT, WDL_MAIL_PULL, WDL_MAIL_KINDS };

enum wdl_mail_state { WDL_MAIL_FREE, WDL_MAIL_FILLING, WDL_MAIL_POSTED, WDL_MAIL_TAKEN,
    WDL_MAIL_DONE, WDL_MAIL_LAST, WDL_MAIL_TAKEN_LAST };

enum { WDL_MAIL_WINDOWS = 4,    /* of a process that have mailboxes at a time; of each kind, */
    WDL_MAIL_ALL = 2 * WDL_MAIL_WINDOWS,        /* private, mapped: these */
    WDL_MAIL_LOOKS = 100,       /* after so many in vain an operation is withdrawn */
    WDL_MAIL_MISSED = 5,        /* after n in a row 2^n - 1 go another way, n at most this */
    WDL_MAIL_VISIT = 262144,    /* bytes: of those that long each is a visit */
    WDL_MAIL_RANKS = 8,         /* ranks' pasts, by rank % this */
    WDL_MAIL_RUN = 16,          /* on end: from then on one that does not come gets messages */
    WDL_MAIL_WAITS = 250        /* looks for a message's answer: it has not come at once */
};

/* What a target may not have come for. */
enum wdl_mail_use { WDL_MAIL_SHORTS, WDL_MAIL_STREAMS, WDL_MAIL_JOINTS, WDL_MAIL_PULLS,
    WDL_MAIL_USES };

/* The two ways of a trial. */
enum wdl_mail_way { WDL_MAIL_HANDED, WDL_MAIL_SYSTEM };
/* lengths, by powers of two, for which ways are compared; those on mapped memory (joint.h) */
enum { WDL_MAIL_SIZES = 20, WDL_JOINT_SIZES = 8 };

struct wdl_mailbox {
    int has;                    /* the window has one, mapped ones for joint.h and pull.h, ... */
    int on;                     /* ... and may use others' now, if it is private */
    struct wdl_mail *mail;      /* where our operation is; NULL: nowhere */
    struct wdl_rma_args args;   /* of that operation, or of one withdrawn and not begun again */
    int withdrawn, looks;
    int holds;                  /* it is filled in; complete posts it, or whoever looks first */
    struct wdl_win_control *tells;      /* it is a LAST one of this block's rank; or NULL */
    uint64_t stamp;             /* the window's, when that operation, a train's first one, came */
    struct wdl_bag bag;         /* bag.posted: what is under way is that */
    struct wdl_train train;     /* train.ring: what is under way is that */
    int joint;                  /* enum wdl_joint_end; ... */
    int joint_refused;          /* a target of the window's could not copy */
    struct wdl_mail *mapped;    /* where a copy on mapped memory is under way, in its call; or */
    uint64_t mapped_ns;         /* NULL; since when; 0: nobody wants to know */
    struct wdl_stream *stream;  /* it is a stream through this ring, or NULL: */
    struct wdl_rows here, results;      /* its memory (base NULL: none), its results' */
    uint64_t begin, seen;       /* its first place there; how far it was seen to be emptied */
    uint64_t began_ns;          /* 0: nobody wants to know */
    /* short operations since the last synchronization, at most RUN; before it: several */
    int run, follows;
    /* the same of those that a train takes, to one target on end: 0, 1 or 2, for several */
    int row, row_follows, row_rank;
    struct wdl_trial *row_system;       /* the one that has said so of this row; or NULL; and for */
    int row_system_left;                /* how many operations more */
    int row_clock;                      /* ... which are timed: the last one tells, */
    struct wdl_trial *row_timed;        /* this trial, when something is asked again; or NULL */
    uint64_t row_ns;
    unsigned unseen;    /* visits that were not shown */
    int waits;                  /* looks of a flush or unlock that waits for a message's answer */
    struct wdl_mail_past {
        uint8_t missed, pass;   /* withdrawn in a row; operations that go another way */
        uint32_t looks;         /* the target's, when it was last thought of */
    } past[WDL_MAIL_USES][WDL_MAIL_RANKS];
    size_t served[WDL_WIN_MAILS];       /* bytes, of operations half done here */
    uint8_t visits[WDL_WIN_MAILS];      /* seen here */
    /* of who has that cell: lines of its area that are asked for before it says anything, where
     * the target's answers begin and where operands do that have answers */
    struct wdl_mail_ahead {
        uint8_t lines, operands;
    } ahead[WDL_WIN_MAILS];
    uint8_t lasts[WDL_WIN_MAILS];       /* is what is there a LAST one? */
};

/* A window's own is opened, closed. */
void wdl_mailbox_open(struct wdl_win *win);
void wdl_mailbox_close(struct wdl_win *win);
/* Hand an operation over, with none under way: WDL_OK, or ERR_UNSUPPORTED: it is to go another way.
 * control: the target's; t: its element, or NULL. */
int wdl_mailbox_op(struct wdl_win *win, const struct wdl_rma_args *args, struct wdl_target *t,
                   struct wdl_win_control *control);
/* What goes through the ring is tried until it has been round: a ring that has not been used of
 * late is in no cache, and what it takes then says nothing. (Gets of 64 KiB, which take 2.7 us so,
 * took 5 to 7 in a run of four, and the system's copy 4.2.) */
void wdl_mail_trials_init(struct wdl_rma *rma);
/* Is an operation on a target that is there to be handed over, by what such ones took? If not, the
 * system copies it, and _not_handed is told when that is over (and with what status, which it
 * returns): it sees how long it took. */
int wdl_mail_is_faster(struct wdl_win *win, const struct wdl_rma_args *args);
int wdl_mail_not_handed(struct wdl_win *win, int status);
/* A short one, the first since the last synchronization where the one before had not several: has
 * that target not come of late, nor looked since, or does it want a processor? Then the system
 * copies it. */
int wdl_mail_is_in_vain(struct wdl_win *win, int rank, const struct wdl_win_control *control);
/* Is it not, whether or not the target is there? (A put or a get in one piece that is not short.)
 * Then the system copies it, and where rma->timed is set _not_handed is told. */
int wdl_mail_stands_back(struct wdl_win *win, const struct wdl_win_control *control,
                         enum wdl_rma_kind kind, uint64_t bytes);
/* Where it does not: has the target not come of late, nor looked since? The operation counts as one
 * that went past it. */
int wdl_mail_is_still_away(struct wdl_win *win, int rank, const struct wdl_win_control *control,
                           enum wdl_rma_kind kind, uint64_t bytes);
/* Has a target not come for that (a train is short), nor looked since? */
int wdl_mail_is_away_as_before(const struct wdl_win *win, int rank, enum wdl_mail_use use,
                               const struct wdl_win_control *control);
/* WDL_OK when nothing is under way; else WDL_AGAIN. Failures are the window's (wdl_win_fail).
 * (wdl_win_settle_before in win_impl.h asks first.) */
int wdl_mailbox_settle(struct wdl_win *win);
/* The same at once, where nobody has taken it, since another comes. */
int wdl_mailbox_clear(struct wdl_win *win, const struct wdl_rma_args *next);
/* Is what is under way one that nobody waits for as the last of an epoch with one target? A put
 * that is held, or one that is in the ring. Then it is said to be: the first is handed over by
 * this; of the second the target may have seen to it by now: 0. control: its block. */
int wdl_mailbox_may_be_last(const struct wdl_win *win);
int wdl_mailbox_last(struct wdl_win *win, struct wdl_win_control *control);
/* Serve the window's own: for calls that wait by looking at memory alone. How much was done. */
int wdl_mailbox_serve(struct wdl_win *win);
/* Has anything gone past this process since the last look (wdl_mail_visit)? */
int wdl_mailbox_visited(struct wdl_win *win);
/* Serve all windows' mailboxes and settle what is under way; how much was done. */
int wdl_mailboxes_progress(struct wdl_rma *rma);
/* Has any of this process's been handed over and not been given back? */
int wdl_mailboxes_wait(const struct wdl_rma *rma);

/* --- between mailbox.c, stream.c and bag.c --- */
/* A cell of the target's for us, or NULL; post what it has been filled with (NULL: a train that
 * nobody is asked to take: as if it had been withdrawn). */
struct wdl_mail *wdl_mail_get(const struct wdl_win *win, struct wdl_win_control *control);
void wdl_mail_post(struct wdl_win *win, struct wdl_mail *mail, const struct wdl_rma_args *args);
/* What has been posted, and goes on behind the call. */
void wdl_mail_under_way(struct wdl_win *win, struct wdl_mail *mail,
                        const struct wdl_rma_args *args);
/* At the target: the bytes [lo, hi) from a displacement on, if they are our memory, or NULL. */
char *wdl_mail_place(const struct wdl_win *win, int64_t disp, int64_t lo, int64_t hi);
/* May an operation go to that target now, ahead of nothing? t: its element, or NULL. */
int wdl_mail_is_clear(const struct wdl_win *win, const struct wdl_target *t, int rank);
/* The elements of an update, if no other process maps the memory. */
int wdl_mail_element(const struct wdl_win *win, uint32_t host_type, struct wdl_element *el_out);
/* Is the target to be asked? One that did not come is, when it has looked at its mail since, and
 * then the more seldom the more often it did not come. control: the target's; stream: bytes, 0: it
 * is none. */
int wdl_mail_expected(struct wdl_win *win, const struct wdl_rma_args *args,
                      const struct wdl_win_control *control, uint64_t stream);
/* The same for a use that is compared with no other; the target came; it did not. */
int wdl_mail_is_expected(struct wdl_win *win, int rank, enum wdl_mail_use use,
                         const struct wdl_win_control *control, uint64_t bytes);
void wdl_mail_came(struct wdl_win *win, int rank, enum wdl_mail_use use);
void wdl_mail_missed(struct wdl_win *win, int rank, enum wdl_mail_use use);
/* Has the target not come of late? Then what is short is a message with others only after RUN of
 * them: a message would have to wake somebody. */
int wdl_mail_is_away(const struct wdl_win *win, int rank);
/* A synchronization of that target waits for it (drained: no more); returns drained. */
int wdl_mail_waits(struct wdl_win *win, int rank, int drained);
/* An operation goes past the target's processor. A target that waits in MPI sees that it is not
 * forgotten, and does not go to sleep, where nobody could ask it for anything. */
void wdl_mail_visit(struct wdl_win *win, struct wdl_win_control *control);

#endif
