/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The direct path (ARCHITECTURE.md, Direct): puts and gets, and some accumulates (atomic.c), that
 * the network does without the target's processor. They are counted, not queued: what has begun is
 * complete, here and there, when a flush of the network is.
 *
 * What the network must know of a rank's memory, its key, is fetched on first contact, and kept in
 * a table of the window whose size does not grow with the number of ranks: rank r's place is
 * r modulo its size. The target makes the key, and registers its memory, when it is first asked.
 * Until the key is there, and where there is none, operations go by message.
 *
 * A dynamic window's keys are of attached regions, several of a rank, and wherever there is a place
 * (loan.h). There is a second table for the lock words of windows that have them at the network
 * (net.h).
 *
 * Invariants:
 *  1. A key is closed only when nothing has begun with it that is not flushed.
 *  2. A key that was asked for has a target element with key_due, which is not clean: the answer
 *     comes before the epoch ends.
 */
#ifndef WDL_MPID_RMA_DIRECT_H_INCLUDED
#define WDL_MPID_RMA_DIRECT_H_INCLUDED

#include "netmod/netmod.h"

struct wdl_win;
struct wdl_target;
struct wdl_pkt;
struct wdl_rma_args;
struct wdl_win_rank;

struct wdl_key {                /* one place of the table */
    int rank;                   /* whose it is; meaningless when EMPTY */
    enum { WDL_KEY_EMPTY, WDL_KEY_ASKED, WDL_KEY_OPEN, WDL_KEY_USELESS, WDL_KEY_RECALLED } phase;
    int rivals;                 /* how often another key has wanted the place since it was used */
    struct wdl_nm_rkey *rkey;   /* OPEN, RECALLED */
    uint64_t base;              /* of displacement 0, in its process */
    int sizes;                  /* DATA: of elements the network may update there, 4 | 8 */
    int why;                    /* USELESS: the status */
    uint64_t guess;             /* WORDS: as the lock word was left (far.h) */
    /* dynamic windows */
    uint64_t from, bytes;       /* the region; ASKED: `from` is an address in it */
    uint64_t serial;            /* the target's number of the loan; 0: there is none */
    uint64_t after;             /* RECALLED: in use until a later flush is done */
    int spoiled;                /* ASKED: the answer is of no use */
    int refused;                /* USELESS: operations that have gone by message for that */
};

enum { WDL_KEY_RIVALS = 8 };    /* how often others may be turned away from a place */

/* What the keys are of: the windows' memory, the ranks' lock words. */
enum wdl_keys_of { WDL_KEYS_DATA, WDL_KEYS_WORDS, WDL_KEYS_KINDS };

struct wdl_keys {
    struct wdl_key *at;         /* the table; NULL: there is none */
    int count, useful, useless; /* places; keys got, ever */
    int last;                   /* dynamic windows: the place found last */
    /* this rank's own such memory, once it is registered; not that of dynamic windows */
    struct wdl_nm_mem *mem;
};

struct wdl_direct {             /* of a target element */
    int begun;                  /* there is something that no flush covers yet */
    int flushing;               /* comp is with the network */
    uint64_t begun_stamp, flushing_stamp;       /* of the oldest that is meant */
    int want;                   /* somebody waits for a flush */
    uint64_t flush, flushed;    /* the last that began, that is done: by number in the window */
    int key_due;                /* bit (1 << enum wdl_keys_of): the key was asked for, ... */
    uint64_t key_stamp[WDL_KEYS_KINDS]; /* ... by an operation with this stamp */
    /* atomics that no flush covers yet: of [lo, hi) of the target's memory; all of them this enum
     * wdl_nm_atomic, with nothing fetched, or -1 */
    int64_t lo, hi;
    int atomic;
    struct wdl_nm_comp comp;
};

/* --- direct.c --- */
/* WDL_OK: begun; WDL_AGAIN; ERR_UNSUPPORTED: go by message (nothing has been done); other errors.
 * t: the target's element where the epoch is passive. */
int wdl_direct_op(struct wdl_win *win, struct wdl_rma_args *args, struct wdl_target *t,
                  const struct wdl_win_rank *info);
/* May it begin? Before the lock is granted what fits in a packet goes behind the request, by
 * message (ERR_UNSUPPORTED); what is longer waits (WDL_AGAIN). */
int wdl_direct_lock_ready(struct wdl_target *t, const struct wdl_rma_args *args);
/* Something has begun that a flush is to cover. */
void wdl_direct_began(struct wdl_target *t);
/* Has t begun anything that is not known to be complete? */
int wdl_direct_busy(const struct wdl_target *t);
/* Is there something to be flushed now? */
int wdl_direct_has_work(const struct wdl_target *t);
/* Begin the flush that somebody waits for; 1 where something was done. */
int wdl_direct_progress(struct wdl_target *t);

/* --- keys.c --- */
/* The table for the window's memory, where there is to be one: WDL_OK or ERR_NOMEM. */
int wdl_keys_init(struct wdl_win *win);
int wdl_keys_make(struct wdl_win *win, enum wdl_keys_of of);
/* Close all keys and give the memory back to its process: nothing is in flight. */
void wdl_keys_drop(struct wdl_win *win, enum wdl_keys_of of);
/* The rank's open key; or NULL, and it has perhaps been asked for. Not of a dynamic window's
 * memory. */
struct wdl_key *wdl_key_get(struct wdl_target *t, enum wdl_keys_of of);
/* All keys that were got need the target's processor: no more are asked for. */
int wdl_keys_in_vain(const struct wdl_keys *keys);
/* Ask for it, into this place: the phase is ASKED, or nothing has changed. addr: of a dynamic
 * window's memory. */
void wdl_key_ask(struct wdl_target *t, struct wdl_key *key, enum wdl_keys_of of, uint64_t addr);
/* Open what has come: WDL_OK, WDL_AGAIN, or an error where it is of no use. */
int wdl_key_open(struct wdl_win *win, struct wdl_key *key, enum wdl_keys_of of, const char *bytes,
                 size_t n);
void wdl_key_close(struct wdl_win *win, struct wdl_key *key);
/* Close it; the place is free. */
void wdl_key_empty(struct wdl_win *win, struct wdl_key *key);
/* It was asked for, and there is none: why; else WDL_OK. */
int wdl_key_is_useless(const struct wdl_target *t, enum wdl_keys_of of);
/* The target's side: a KEY packet came; the origin's: its answer came. */
int wdl_key_asked(struct wdl_win *win, const struct wdl_pkt *pkt);
int wdl_key_answered(struct wdl_win *win, const struct wdl_pkt *pkt, const char *payload,
                     size_t bytes);

#endif
