/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Long puts between fences on memory of this node, left to their targets: at the next fence these
 * are in MPI, too, and copy them from the origin's memory, by the system. What a target copies is
 * in its processor's cache, where it is read next, and not in the origin's, from where each line
 * takes longer than from memory. (Two that put 64 KiB at each other and read them, sharing no
 * cache: 18.3 us, left 7.2. Who does not read them loses: 4.1 and 4.5, 5.4 and 13.3 where the
 * source has just been written.)
 *
 * So it depends on what the program does between its fences, and that is what is compared: the time
 * from the end of one epoch that had such puts to the end of the next one, with all that the
 * program did meanwhile, where puts are copied at once and where they are left (trial.h). It is
 * taken of two on end, since a program may do one thing behind every other fence. A node's ranks go
 * the same way: its first one, the judge, takes the time, and says in its control block before a
 * fence's barrier what holds behind it. Whether there are such puts it sees by its own; where it
 * has none the others tell it.
 *
 * The origin posts where a put's source is in a cell of the target's (mailbox.h). Where the target
 * does not come soon after the origin's own fence has begun, the origin withdraws the put, and
 * copies.
 *
 * Invariants:
 *  1. Of one target of a window one put at most is left. What else comes for that target on private
 *     memory withdraws it first, or waits where it has been begun.
 *  2. win->batched counts them, like what is held back (batch.h): where that is run these are over.
 *  3. It was in bounds when it came. What the target refuses is done from here, and fails so.
 */
#ifndef WDL_MPID_RMA_PULL_H_INCLUDED
#define WDL_MPID_RMA_PULL_H_INCLUDED

#include "mpid/rma/trial.h"
#include "mpid/rma/win.h"

struct wdl_mail;
struct wdl_win_control;
struct wdl_win_rank;

enum { WDL_PULLS = 4, WDL_PULL_SIZES = 8,
    WDL_PULL_EARLY = 40,        /* epochs: copies at once find their own fastest way first */
    WDL_PULL_SELDOM = 256,      /* epochs from one try of the slower way to the next, or more */
    WDL_PULL_TELLS = 4,         /* epochs without: then others tell */
    WDL_PULL_LEAST = 8192, WDL_PULL_MAPPED = 1 << 15, WDL_PULL_MOST = 1 << 21   /* bytes */
};

struct wdl_pull {
    struct wdl_mail *mail;      /* NULL: withdrawn, and to be copied from here */
    int rank, looks;
    const char *from;
    char *at;                   /* the target's memory, here; NULL: it is private */
    uint64_t there, bytes;      /* its place in the window; private memory's address */
    struct wdl_win_control *control;
    uint64_t stamp;             /* the window's, when it came */
};

/* What holds in an epoch (wdl_win_control.pull_way: way, and bits above it). */
struct wdl_pull_rule {
    uint8_t way, clock, tells;  /* time is to be taken; others tell the judge of their puts */
};

struct wdl_pulls {
    int n;
    uint8_t spoilt, pass;       /* withdrawn for others in a row; puts that go another way */
    uint8_t own;                /* 1 + the size of our longest put in this epoch; 0: none yet */
    uint32_t fences;            /* so many have ended */
    struct wdl_pull at[WDL_PULLS];
    /* The judge's. By size: what the trial is of begins behind so many epochs. */
    struct wdl_trial trial[WDL_PULL_SIZES];
    uint8_t early[WDL_PULL_SIZES];
    uint32_t then[WDL_PULL_SIZES];      /* what the faster way took when the other one was tried */
    struct wdl_pull_rule next, rule[2]; /* for the next epoch, by fences % 2 */
    uint8_t blind;                      /* epochs since a long put of its own, at most TELLS */
    /* of the last epoch that had such puts: its size, way and trial; how many on end had these, at
     * most 3; when the last two ended */
    uint8_t way_before;
    int size, alike;
    const struct wdl_trial *trial_before;
    uint64_t ended_ns[2];
};

/* Take a put on private memory: WDL_OK, or ERR_UNSUPPORTED: it is none for that, or not now. */
int wdl_pull_op(struct wdl_win *win, const struct wdl_rma_args *args,
                struct wdl_win_control *control, const struct wdl_win_rank *info);
/* The same on mapped memory (`at`, here), of WDL_PULL_MAPPED bytes or more: 1: it is taken. */
int wdl_pull_mapped(struct wdl_win *win, int rank, char *at, const void *from, uint64_t bytes);
/* Is a put in one piece on private memory to be left, and not to go as the one before it? */
int wdl_pull_takes(struct wdl_win *win, uint64_t bytes);
/* Something else for that target comes: WDL_OK, or WDL_AGAIN where what has been begun has to end
 * first. */
int wdl_pulls_admit(struct wdl_win *win, int rank);
/* Those of a rank, of all (rank < 0), that are older: WDL_OK: they are over, or WDL_AGAIN. Failures
 * are the window's. */
int wdl_pulls_run(struct wdl_win *win, int rank, uint64_t stamp);
/* Before a fence's barrier; at its end. */
void wdl_pulls_rule(struct wdl_win *win);
void wdl_pulls_end(struct wdl_win *win);
/* At the target, a copy of a cell: WDL_OK, or why not. */
int wdl_pull_serve(const struct wdl_win *win, const struct wdl_mail *asked);

#endif
