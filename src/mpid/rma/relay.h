/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Post and complete of large groups, along trees (seed 001, on PSCW: "consider algorithms (like
 * tree-based algorithm)"). Who has a group of more than rma->params.pscw_tree tells some of it, and
 * names to each the members it is to tell in turn: each time half of those left, so that n are told
 * in log2(n) steps and nobody sends more than log2(n) messages; n messages in all.
 *
 *   post      down the tree of the exposure group. Its answers come back the same way: a member
 *             whose part of the tree has completed says so to whom it heard the post from, in one
 *             REPORT, so that the target hears of log2(n) instead of n. Whose operations' packets
 *             say COMPLETE to the target themselves (combine.c) reports none of its own.
 *   complete  down the tree of those of the access group that posted otherwise, and where nothing
 *             is on its way that it must not overtake.
 *
 * Members pass on as they make progress, whatever their own epochs are; hence only where processes
 * serve messages while they compute (params.attended).
 *
 * A relay is what a member still has to pass on, down or up. It stands for one post of one rank, by
 * a number, since the reports of members that have told the target themselves may come after its
 * next post.
 */
#ifndef WDL_MPID_RMA_RELAY_H_INCLUDED
#define WDL_MPID_RMA_RELAY_H_INCLUDED

#include "base/list.h"
#include "mpid/rma/wire.h"

struct wdl_win;

struct wdl_posted {             /* a post that came */
    int rank;                   /* -1: none */
    int parent;                 /* who passed it on; the rank itself */
    int alone;                  /* it told this rank, and nobody else */
    uint32_t number;            /* of its post; 0: told by itself alone, and to be answered so */
};

enum { WDL_POSTED_FEW = 16 };   /* early posts that need no memory */

struct wdl_relay {
    struct wdl_list link;       /* in win->relays */
    struct wdl_posted post;     /* parent -1: this rank's own; COMPLETE: rank -1 */
    int n, flat;                /* ranks still to be told; each by this one */
    int children, reports;      /* told, and their reports */
    int own, count;             /* this rank has completed; completions to be told */
    int rank[];
};

/* How many members are told directly; with that many or fewer nobody passes anything on. 0: this
 * window has no trees. */
int wdl_relay_above(const struct wdl_win *win);
/* An empty relay for up to n ranks, or NULL: no memory. */
struct wdl_relay *wdl_relay_make(struct wdl_win *win, const struct wdl_posted *post, int n);
void wdl_relay_drop(struct wdl_win *win, struct wdl_relay *relay);
/* From now on it is sent; the callee's. */
void wdl_relay_begin(struct wdl_win *win, struct wdl_relay *relay);
/* The relay of a post that came with this packet's payload, not begun. WDL_OK (*out NULL where
 * nobody is named), WDL_AGAIN, or ERR_PROTO. */
int wdl_relay_read(struct wdl_win *win, const struct wdl_posted *post, const char *payload,
                   size_t bytes, struct wdl_relay **out);
/* This rank has completed what that post began; told: it has said so to the target itself. WDL_OK
 * or WDL_AGAIN. */
int wdl_relay_completed(struct wdl_win *win, const struct wdl_posted *post, int told);
/* A REPORT came. */
int wdl_relay_reported(struct wdl_win *win, const struct wdl_pkt *pkt);
int wdl_relays_progress(struct wdl_win *win);
int wdl_relays_have_work(const struct wdl_win *win);
void wdl_relays_drop(struct wdl_win *win);

#endif
