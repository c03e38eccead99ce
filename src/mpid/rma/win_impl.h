/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What is inside the RMA module (seed 001): a window has a fixed array of slots, a slot a list of
 * target elements, a target element its operation elements, waiting and issued.
 *
 * Invariants (wdl_win_check looks at 1 to 3, wdl_target_release at 4):
 *  1. A target element is in exactly one slot, slot = rank % nslots, and in the window's list of
 *     targets.
 *  2. An operation element is in exactly one list, `waiting` or `issued`, of one target element.
 *  3. locked_targets counts the target elements that have a lock of the program's: all whose lock
 *     is CALLED to UNCHECKED, and those it is about to unlock, until they leave; locked_targets <=
 *     locks_held under PER_TARGET.
 *  4. A target element leaves the window only when it is clean (wdl_target_clean: no operation,
 *     nothing unflushed, no answer due) and its lock is IDLE.
 *  5. A window with something to send is in the module's list of active windows, or has its turn.
 */
#ifndef WDL_MPID_RMA_WIN_IMPL_H_INCLUDED
#define WDL_MPID_RMA_WIN_IMPL_H_INCLUDED

#include "base/assert.h"
#include "base/bypass.h"
#include "base/pool.h"
#include "mpid/rma/batch.h"
#include "mpid/rma/crowd.h"
#include "mpid/rma/direct.h"
#include "mpid/rma/domain.h"
#include "mpid/rma/epoch.h"
#include "mpid/rma/far.h"
#include "mpid/rma/grant.h"
#include "mpid/rma/kernel.h"
#include "mpid/rma/loan.h"
#include "mpid/rma/lock.h"
#include "mpid/rma/mailbox.h"
#include "mpid/rma/pull.h"
#include "mpid/rma/relay.h"
#include "mpid/rma/room.h"
#include "mpid/rma/seen.h"
#include "mpid/rma/stream.h"
#include "mpid/rma/trial.h"
#include "mpid/rma/types.h"
#include "mpid/rma/win.h"
#include "mpid/rma/wire.h"

/* How far the operations of a message have been served. */
struct wdl_pass {
    struct wdl_bounce *answer;          /* with what has been answered and fetched so far */
    size_t at, filled;                  /* bundle: bytes served, bytes of answers */
    size_t done;                        /* of the operation that is half done (accumulate.h) */
};

struct wdl_net_known {          /* what keys have said (net.h) */
    int asked;
    int lacks[WDL_NET_LACKS];   /* of the network's atomics; the others are 0 */
};

enum { WDL_RMA_BYPASSES = 16 };

struct wdl_rma {
    struct wdl_proc *proc;
    struct wdl_rma_params params;
    struct wdl_pool ops, targets;       /* global level */
    int ntargets;                       /* elements in use, of both levels */
    struct wdl_list wins;               /* all windows */
    struct wdl_list active;             /* those with something to send */
    /* targets whose lock was to go with the first operation, and windows whose lock_all was to go
     * with operations, and which may not be granted yet; how many of both */
    struct wdl_list called, called_all;
    int ncalled;
    struct wdl_list replies;            /* bounces filled, not yet taken by the network; in order */
    struct wdl_piece *pieces;           /* scratch of one accumulate */
    char *scratch;                      /* scratch of one mapped copy */
    struct wdl_last_loop {      /* of a bulk update the short way (mapped.c); basic 0: of none */
        int basic;
        enum wdl_rop op;
        wdl_kernel_fn plain;
    } last_loop;
    struct wdl_last_op {        /* that the host was asked for there, and has */
        uint32_t host_type, op; /* + 1 */
    } last_op;
    char *stage;                        /* what one get has read, WDL_RMA_STAGE bytes */
    size_t chunk_bytes;                 /* largest payload of a packet */
    struct wdl_resume {         /* the message that will be delivered again, half done */
        struct wdl_pass pass;
        uint64_t op, offset;
        uint32_t win, origin;
        int waiting;                    /* there is one */
    } resume;
    struct wdl_pool stashes;            /* bundles that wait for their lock */
    uint32_t next_type;
    struct wdl_batch batch[WDL_BATCHES];
    unsigned batched, next_batch;       /* of all windows; the next victim */
    struct wdl_win *mailed[WDL_MAIL_ALL];       /* windows with mailboxes, or NULL */
    int nmailed[2];             /* private ones, mapped ones */
    int aside;                  /* the program computes: wdl_rma_aside */
    struct wdl_win *bagged;     /* without one, whose bag (bag.h) holds something, or NULL */
    struct wdl_win *getting;    /* whose bag holds gets, or NULL; */
    struct wdl_piece got[WDL_BAG_MOVES];        /* where their results go */
    int streaming;              /* the process's ring (stream.h) is in use */
    /* handed over, or another way: in one piece, or not, or in one that both would copy but do not
     * (joint.h); by kind (but compare-and-swap) and length; the one to be told of next */
    struct wdl_trial trial[3][WDL_RMA_KINDS - 1][WDL_MAIL_SIZES], *timed;
    /* both copy, or one (joint.h): in one piece, blocks; gets, puts */
    struct wdl_trial mapped_trial[2][2][WDL_JOINT_SIZES];
    struct wdl_trial train_trial[WDL_TRAIN_KINDS][WDL_TRAIN_TRIALS]; /* by length */
    uint64_t began_ns;          /* the operation being decided about; 0: nobody wants to know */
    /* long copies for another process, by its rank modulo that: some are near, others far */
    struct wdl_bypass bypass[WDL_RMA_BYPASSES];
    /* ... and short ones of trains, puts, accumulates: through the caches, or past them */
    struct wdl_trial row_trial[WDL_RMA_BYPASSES][2];
    struct wdl_net_known net_known[2];  /* of lock words in attached memory, in the network's own */
};

enum { WDL_STASH_BYTES = 1024 };        /* longer bundles are sent again when the lock is there */

struct wdl_stash {              /* a bundle at its target, while its lock request waits */
    struct wdl_pool_node node;
    struct wdl_pkt pkt;
    struct wdl_pass pass;
    size_t bytes;
    char payload[WDL_STASH_BYTES];
};

#define WDL_RMA_STAGE 65536
#define WDL_RMA_PIECES 4096  /* also the bytes of a mapped accumulate's step on a derived type */

/* Bytes of a packet's accumulate on a derived type: no element is in more than two pieces, and in
 * two only if it has a gap. */
static inline size_t wdl_rma_typed_bytes(const struct wdl_element *el)
{
    return (size_t) WDL_RMA_PIECES / (el->head > 0 ? 2 : 1) * el->packed_bytes;
}

struct wdl_op {
    struct wdl_pool_node node;          /* link: in target's waiting or issued list */
    struct wdl_win *win;
    struct wdl_target *target;
    struct wdl_rma_args args;
    size_t total, next, done;           /* bytes of the stream: all, sent, answered */
    uint32_t type;                      /* as in struct wdl_pkt */
    uint64_t stamp;                     /* the window's, when it was issued */
    uint64_t vouches;           /* of the oldest operation whose end its answer tells of */
    int moved;                  /* to the end, once (combine.c) */
    struct wdl_told *told;              /* or NULL: no derived type at the target */
    int sending;                        /* comp is with the network */
    int status;
    struct wdl_nm_comp comp;
};

struct wdl_word {                       /* a lock word being taken, and given back */
    uint32_t ticket;
    int at_gate;                        /* counted in the window's gate_users */
    enum { WDL_WORD_IN, WDL_WORD_LEAVING, WDL_WORD_OUT } leaving;
    int known;                          /* kind: as what we are inside */
    enum wdl_room_kind kind;
    int status;                         /* why it cannot be had */
    struct wdl_far far;                 /* of a word that is not in our memory */
};

#define WDL_WORD_DEBTS 8
struct wdl_word_debt {                  /* we have overtaken there who had drawn before this */
    int place;                          /* rank, or the window's size: the gate */
    uint32_t ticket;
};
struct wdl_word_debts {
    struct wdl_word_debt at[WDL_WORD_DEBTS];
    int n;
    /* further ones, at places of [first, last); at `first` all have to come in who have drawn
     * before this, 0: before we look there */
    int first, last;
    uint32_t ticket;
    struct wdl_far far;                 /* a look at a word that is not in our memory: */
    int looking, stale;                 /* 1 + its place, 0: none; we have overtaken there since */
};

/* Who has called a lock that may be asked for later. */
struct wdl_called {
    struct wdl_list link;               /* in the process's list, or alone */
    uint64_t by;                        /* the thread; 0: there is one */
};

struct wdl_target {
    struct wdl_pool_node node;          /* link: in its slot */
    struct wdl_list link;               /* in win->targets */
    struct wdl_list waiting, issued;    /* of struct wdl_op */
    struct wdl_win *win;
    int rank, mapped;
    struct wdl_lock lock;               /* origin side */
    int want_lock;                      /* take it now, not with the first operation */
    struct wdl_called called;           /* in rma->called; `by` holds while the lock is awaited */
    int in_turn;                        /* asked for: it overtakes nobody */
    struct wdl_word word;               /* locks by words */
    int evict;                          /* to be freed as soon as clean */
    int closing;                        /* its unlock has begun: it is not evicted */
    int dirty;                          /* operations sent since the last FLUSH */
    uint64_t dirty_stamp;               /* dirty: of the oldest of them */
    int want_flush, want_unlock;
    uint64_t want_stamp;                /* want_flush: of what is older than this */
    int want_complete, completed;       /* pscw.c: COMPLETE is to be sent; it has been */
    int push;                           /* nothing is held back (combine.c) */
    struct wdl_together {       /* of the first operations of `waiting` that fit in one message */
        struct wdl_list *last;          /* NULL: nothing is known */
        size_t there, back;
        int n, accumulates, requests;
        int ended;                      /* one behind them does not fit */
    } together;
    uint64_t held_ns;                   /* the first operation waits since then */
    int asked;                          /* flags of the bundle that asked for the lock */
    uint32_t flush_sent, flush_acked;
    uint32_t flush_mark;        /* those not acknowledged: up to this one, behind it; ... */
    uint64_t flush_stamp, flush_next_stamp;     /* ... of the oldest operation they ask about */
    struct wdl_direct direct;
    int acc_in_flight;                  /* unordered network: accumulates not yet acknowledged */
};

struct wdl_barrier {                    /* of all ranks, two may overlap */
    uint64_t sequence;
    int running, round, sent;           /* round: of looks, how many ranks have been seen */
    int seen, node_here;                /* levels: ranks of the node that have come; all have */
    int near;                           /* levels: this rank knows that all of its node have come */
    int queued;                         /* to begin when this one is over */
    int unread;  /* nothing in the own memory has changed, and nobody else's is read next */
    uint8_t arrived[2][32];             /* by parity of the sequence number, by round */
};

struct wdl_win {
    struct wdl_win_quick quick; /* first */
    struct wdl_proc *proc;
    struct wdl_rma *rma;
    struct wdl_win_params params;
    struct wdl_list link, active_link;  /* in rma->wins, rma->active */
    struct wdl_epoch epoch;             /* access and exposure states */
    struct wdl_list *slots;
    int nslots;
    struct wdl_list targets;    /* who has sent last is the last one (issue.c) */
    int ntargets, targets_high;
    int locked_targets, locks_held;
    /* locks by words (as stats.locks); within a node one of them needs no element: the held one */
    enum { WDL_WORDS_NONE, WDL_WORDS_NODE, WDL_WORDS_NETWORK, WDL_WORDS_MIXED } words;
    int held_unchecked;                 /* quick.held is NOCHECK */
    int held_wanted;                    /* the rank being locked that way; -1: none */
    struct wdl_word held_word;
    struct wdl_word_debts word_debts;
    uint32_t gate_ticket;               /* while waiting at the gate */
    int gate_users;           /* exclusive locks held or wanted, but those that are UNGATED */
    int gate_passes;          /* exclusive locks had at once through the gate, of late */
    uint32_t gate_seen;       /* lock_all: the gate's mode, and so many ranks have been looked at */
    int gate_looked;
    enum { WDL_GATE_OUT, WDL_GATE_IN, WDL_GATE_LEAVING } gate_in;       /* for them */
    struct wdl_far gate_far;            /* where it is not in our memory */
    struct wdl_net_offer *gate_offer;   /* rank 0's words at the network; NULL: there are none */
    struct wdl_nm_rkey *gate_rkey;      /* opened when it is needed first */
    uint64_t first_guess[2];            /* rank 0's lock word and the gate, as in struct wdl_key */
    uint32_t completed_seen;            /* of the own block's `completed`, ever */
    uint64_t fence_stamp;               /* of the last fence */
    uint64_t ops_at_fence;              /* operations there had been at the last fence */
    int noput, post_noput;              /* it, post, said that nobody changes the own memory */
    struct wdl_barrier barrier;
    /* access group of PSCW (sorted), and who of it has posted; early posts of others */
    int *start_group, start_n, start_room, complete_next;
    int start_due;                      /* of them, who has not posted yet */
    int start_shared;                   /* ... or not to this rank alone, or not said so */
    struct wdl_posted *start_posted;
    struct wdl_array posted;            /* struct wdl_posted */
    struct wdl_posted few_posted[WDL_POSTED_FEW];
    uint32_t posts_taken;               /* places of the own block, a bit each, to be given back */
    int posted_n;
    struct wdl_relay *telling;          /* by complete, as it is filled; NULL: there is none */
    /* exposure */
    int exposed_n, completed;
    uint32_t post_number;               /* of the last post by tree; never 0 */
    struct wdl_list relays;             /* relay.h */
    /* lock_all, window protocol: next rank to lock or unlock, answers due */
    int all_next, all_due, all_nocheck;
    struct wdl_called all_called;       /* in rma->called_all */
    uint64_t op_ns;                     /* when the last operation came; 0: a synchronization did */
    int hold;                           /* operations follow one another: combine them */
    int batched;                        /* batches of this window's, its bag if not empty, pulls */
    struct wdl_pulls pulls;
    struct wdl_mailbox mailbox;
    struct wdl_crowd crowd, wide_crowd; /* the latter of elements without an instruction */
    int debts;                          /* targets where we have overtaken (grant.h) */
    struct wdl_grant grant;             /* target side */
    struct wdl_seen seen;               /* dynamic windows: others' attached memory */
    struct wdl_near {           /* whose memory the system copied last */
        int rank;                       /* -1: nobody's */
        struct wdl_win_control *control;
        struct wdl_win_rank info;
    } near;
    struct wdl_keys keys[WDL_KEYS_KINDS];
    uint64_t flushes;                   /* of the network, begun */
    uint64_t stamp;                     /* of what is issued now; a flush begins the next one */
    int recalled;                       /* keys in that phase */
    struct wdl_lender lender;           /* dynamic windows whose memory the network may reach */
    int net_sizes;                      /* of elements the network updates, 4 | 8 (net.h) */
    struct wdl_list told, rtypes;       /* types.h: derived types of targets, of origins */
    int ntold;                          /* in our table */
    int rtypes_kept, rtypes_asked;      /* in theirs; of these, asked to leave */
    struct wdl_region *regions;
    int nregions, regions_room;
    int error;  /* first failure at a target since the last synchronization */
    struct wdl_pool ops, local_targets;
    struct wdl_win_stats stats;
};

/* Stamps order operations and flushes of one window: a flush waits for what has an older stamp than
 * its own, and ends whatever other threads issue meanwhile. */
static inline int wdl_is_older(uint64_t stamp, uint64_t than)
{
    return stamp < than;
}

/* All that has been issued is older than this. */
static inline uint64_t wdl_win_next_stamp(const struct wdl_win *win)
{
    return win->stamp + 1;
}

/* The stamp of something that waits for what was there when it came, and for nothing that other
 * threads issue meanwhile: a new one at its first call. The step keeps the low half of it, never 0.
 * (The window's may be an older one meanwhile: of what is issued again, mailbox.c.) */
static inline uint64_t wdl_win_stamp_of(struct wdl_win *win, int *step)
{
    if (*step == 0) {
        win->stamp += (uint32_t) win->stamp == UINT32_MAX ? 2 : 1;
        *step = (int) (uint32_t) win->stamp;
    }
    return win->stamp + (uint64_t) (int64_t) (int32_t) ((uint32_t) *step - (uint32_t) win->stamp);
}

/* What is known of long copies for that rank. */
static inline struct wdl_bypass *wdl_bypass_for(const struct wdl_win *win, int rank)
{
    return &win->rma->bypass[(unsigned) rank % WDL_RMA_BYPASSES];
}

/* Bytes of the target's memory that an operation is about. */
static inline size_t wdl_args_bytes(const struct wdl_rma_args *args)
{
    return args->kind == WDL_RMA_CAS ? args->element.packed_bytes : args->remote.bytes;
}

/* A displacement's place, as a rank says its own (of a dynamic window base is 0, the unit 1). */
static inline uint64_t wdl_rank_place(const struct wdl_win_rank *info, int64_t disp)
{
    return info->base + (uint64_t) (disp * info->disp_unit);
}

/* Are all `bytes` at a displacement in a rank's memory? *at_out: where, from its base. */
static inline int wdl_rank_holds(const struct wdl_win_rank *info, int64_t disp, uint64_t bytes,
                                 uint64_t *at_out)
{
    return disp >= 0 &&
           !__builtin_mul_overflow((uint64_t) disp, (uint64_t) info->disp_unit, at_out) &&
           *at_out <= info->bytes && bytes <= info->bytes - *at_out;
}

/* --- table.c: target and operation elements --- */
/* Hold or drop an operation's derived types. */
void wdl_args_types(const struct wdl_rma_args *args, void (*fn) (void *ctx, wdl_type type),
                    void *ctx);
struct wdl_target *wdl_target_find(const struct wdl_win *win, int rank);
/* Find or make; NULL under pressure (a victim has then been chosen). */
struct wdl_target *wdl_target_get(struct wdl_win *win, int rank);
int wdl_target_clean(const struct wdl_target *t);
/* Is all that is older than this over, here (local), or there, too? */
int wdl_target_is_done(const struct wdl_target *t, uint64_t stamp, int local);
/* Does an operation wait to be sent that is older than this? */
int wdl_target_waits(const struct wdl_target *t, uint64_t stamp);
/* Is its lock there, if one is needed, and nothing on its way that must not be overtaken? t: the
 * element, or NULL where none was needed. */
int wdl_target_is_quiet(const struct wdl_win *win, const struct wdl_target *t, int rank);
void wdl_target_release(struct wdl_target *t);
/* The calling thread, 0: there is one. */
uint64_t wdl_win_caller(const struct wdl_win *win);
/* It leaves the process's list, if it is there. */
void wdl_uncall(struct wdl_rma *rma, struct wdl_called *called);
/* NULL under pressure. Its args, the name of its type and its completion are the caller's to fill:
 * what is filled is not erased before (seed 001, Operation Element). */
struct wdl_op *wdl_op_get(struct wdl_target *t);
/* Does the rank take operations of the active epoch: WDL_OK, or WDL_AGAIN: not yet. */
int wdl_target_exposed(struct wdl_win *win, int rank);
/* The operation is over: complete its request, give the element back. */
void wdl_op_finish(struct wdl_op *op, int status);
uint64_t wdl_op_ref(const struct wdl_op *op);
struct wdl_op *wdl_op_find(struct wdl_win *win, uint64_t ref);

/* --- issue.c: ISSUE / CLEANUP / MAKE_RMA_PROGRESS for one target, one window, all windows --- */
int wdl_target_progress(struct wdl_target *t);
/* Elements are short: what waits to be combined goes. */
void wdl_rma_push(struct wdl_rma *rma);
int wdl_win_progress(struct wdl_win *win);
int wdl_rma_progress(void *rma);
void wdl_win_activate(struct wdl_win *win);
/* WDL_OK when everything to t (to all) is issued, and done locally (remotely when !local);
 * WDL_AGAIN else. _before: everything that is older than this. */
int wdl_target_drain(struct wdl_target *t, int local);
int wdl_target_drain_before(struct wdl_target *t, uint64_t stamp, int local);
int wdl_win_drain(struct wdl_win *win, int local);
int wdl_win_drain_before(struct wdl_win *win, uint64_t stamp, int local);
/* A message without an answer has gone, whose oldest operation has this stamp; a question whether
 * all is done. */
void wdl_target_dirtied(struct wdl_target *t, uint64_t stamp);
void wdl_target_asked(struct wdl_target *t);
/* Record a failure at a target; taken by the next synchronization. */
void wdl_win_fail(struct wdl_win *win, int status);
int wdl_win_take_error(struct wdl_win *win);

/* --- send.c: packets --- */
void wdl_pkt_init(struct wdl_pkt *pkt, const struct wdl_win *win, enum wdl_pkt_kind kind);
/* A packet without payload to a rank: WDL_OK, WDL_AGAIN or an error. */
int wdl_pkt_send(struct wdl_win *win, int rank, const struct wdl_pkt *pkt);
int wdl_pkt_send_peer(struct wdl_win *win, int peer, const struct wdl_pkt *pkt);
/* An answer in a bounce buffer that begins with its packet; never refused: queued until the network
 * takes it. */
void wdl_reply_send(struct wdl_win *win, int rank, struct wdl_bounce *bounce,
                    const struct wdl_pkt *pkt, size_t payload_bytes);
int wdl_replies_progress(struct wdl_rma *rma);

/* --- op_issue.c --- */
/* Send the next packet of an operation, or of what describes its type. WDL_OK: all of it is sent;
 * WDL_PENDING: it has more; WDL_AGAIN: none has gone. */
int wdl_op_issue(struct wdl_op *op);
/* Largest stretch of the operation's stream that one packet carries, and its target takes. */
size_t wdl_op_chunk(const struct wdl_op *op);
/* Answers */
int wdl_op_answer(struct wdl_op *op, const struct wdl_pkt *pkt, const char *payload, size_t bytes);

/* What a packet with `bytes` of an operation's stream says, and a short one's payload. */
void wdl_op_fill(const struct wdl_op *op, struct wdl_pkt *pkt, size_t bytes);
int wdl_op_reads(const struct wdl_op *op);
size_t wdl_op_payload_bytes(const struct wdl_op *op);
int wdl_op_payload(const struct wdl_op *op, char *to);

/* --- combine.c: short operations in one message; origin --- */
/* A new operation waits at t; a synchronization of t begins. */
void wdl_combine_op(struct wdl_target *t);
void wdl_combine_sync(struct wdl_target *t);
/* May what waits be held back, to travel with what comes? */
int wdl_combine_holds(struct wdl_target *t);
/* Does an operation's last packet wait for what is to close the epoch? */
int wdl_combine_holds_last(const struct wdl_op *op);
/* The first operation has left `waiting`. */
static inline void wdl_combine_left(struct wdl_target *t)
{
    t->together.last = NULL;
}
/* How many of the first operations go in one message. */
int wdl_combine_count(struct wdl_target *t);
/* Send them with these flags: WDL_OK (they are issued), WDL_AGAIN, or an error. */
int wdl_combine_send(struct wdl_target *t, int count, int flags);
/* A read at the end: its reply says that all is done. */
void wdl_combine_tail(struct wdl_target *t);
/* The target has granted the lock, but not kept the operations that came with the request. */
void wdl_combine_again(struct wdl_target *t);
/* What the packet with the first operations may say besides, if they are the last; it has gone. */
int wdl_closing_flags(const struct wdl_target *t, int count);
void wdl_closing_sent(struct wdl_target *t, int flags);

/* --- batch.c --- */
static inline int wdl_batches_run(struct wdl_win *win, int rank)
{
    return win->batched == 0 ? WDL_OK :
        wdl_batches_run_now(win, rank, wdl_win_next_stamp(win));
}

/* --- mailbox.c --- */
static inline int wdl_mailbox_under_way(const struct wdl_win *win)
{
    return win->mailbox.mail || win->mailbox.withdrawn;
}

/* The host's clock. */
static inline uint64_t wdl_win_now_ns(const struct wdl_win *win)
{
    const struct wdl_host *host = &win->proc->host;
    return host->ops->now_ns(host->ctx);
}

/* Of what follows one another: no more does before a synchronization. */
static inline void wdl_mailbox_rows_end(struct wdl_mailbox *box)
{
    if (box->run > 0) {
        box->follows = box->run > 1;
        box->run = 0;
    }
    if (box->row > 0) {
        box->row_follows = box->row > 1;
        box->row = 0;
        box->row_system = NULL;
    }
}

/* Before a synchronization of that rank, of all (rank < 0): what was handed over is done, what is
 * held is done. WDL_OK or WDL_AGAIN. _before: if it is older than this. */
static inline int wdl_win_settle_before(struct wdl_win *win, int rank, uint64_t stamp)
{
    struct wdl_mailbox *box = &win->mailbox;
    if (box->has)
        wdl_mailbox_serve(win);
    if (wdl_mailbox_under_way(win) && wdl_is_older(box->stamp, stamp) &&
        wdl_mailbox_settle(win) != WDL_OK)
        return WDL_AGAIN;
    wdl_mailbox_rows_end(box);
    return win->batched == 0 ? WDL_OK : wdl_batches_run_now(win, rank, stamp);
}

static inline int wdl_win_settle(struct wdl_win *win, int rank)
{
    return wdl_win_settle_before(win, rank, wdl_win_next_stamp(win));
}

/* --- mapped.c --- */
int wdl_mapped_op(struct wdl_win *win, struct wdl_rma_args *args, char *base,
                  struct wdl_win_control *control, int64_t disp_unit);
/* An accumulate or a compare-and-swap; at: the displacement's address, in the domain's terms. */
int wdl_update_op(struct wdl_win *win, struct wdl_rma_args *args, char *at,
                  const struct wdl_domain *domain);
/* The first `bytes` of one buffer's stream into another's, both in this address space. */
void wdl_mapped_copy(struct wdl_rma *rma, const struct wdl_buf *from, const void *from_addr,
                     const struct wdl_buf *to, void *to_addr, size_t bytes);

/* --- copy.c: put and get on unmapped memory of this node; WDL_OK, WDL_AGAIN, or an error;
 * ERR_UNSUPPORTED: nothing has been done, a message is cheaper --- */
/* The short way of one that goes as the last one did, to the same rank: has it been done? */
int wdl_copy_again(struct wdl_win *win, const struct wdl_rma_args *args);
/* Is a put or get not one for a message? */
int wdl_copy_takes(const struct wdl_win *win, const struct wdl_rma_args *args);
int wdl_copy_op(struct wdl_win *win, const struct wdl_rma_args *args,
                struct wdl_win_control *control, const struct wdl_win_rank *info);
/* May these bytes of the rank still be touched? WDL_OK, WDL_AGAIN, or ERR_RANGE. */
int wdl_copy_exposed(struct wdl_win *win, int rank, const struct wdl_win_control *control,
                     uint64_t from, uint64_t bytes);
/* Dynamic windows: is what the operation touches mapped here? *shift_out: from the rank's addresses
 * to ours. WDL_OK or WDL_AGAIN. */
int wdl_copy_reach(struct wdl_win *win, const struct wdl_rma_args *args,
                   const struct wdl_win_control *control, int *mapped_out, uintptr_t *shift_out);

/* --- outside.c: accumulates on unmapped memory of this node. WDL_OK, WDL_AGAIN, or an error;
 * ERR_UNSUPPORTED: nothing has been done --- */
/* As one stream onto these pieces of exposed memory, from its byte *done on (accumulate.h); on an
 * error *done is where the piece begins that cannot be reached. */
int wdl_outside_pieces(struct wdl_win *win, const struct wdl_rma_args *args,
                       struct wdl_win_control *control, const struct wdl_win_rank *info,
                       const struct wdl_piece *pieces, int npieces, const void *in, size_t *done);
int wdl_outside_op(struct wdl_win *win, struct wdl_rma_args *args, struct wdl_target *t,
                   struct wdl_win_control *control, const struct wdl_win_rank *info);

/* --- atomic.c: accumulates by the network; results as wdl_direct_op's, with which ERR_UNSUPPORTED
 *     may follow those under way --- */
int wdl_atomic_op(struct wdl_win *win, struct wdl_rma_args *args, struct wdl_target *t,
                  const struct wdl_win_rank *info);

/* --- handle.c --- */
int wdl_rma_handle(void *rma, int src, const void *data, size_t bytes);
/* --- region.c --- */
/* The attached region that holds the byte at addr, or NULL. */
struct wdl_region *wdl_win_region(const struct wdl_win *win, uint64_t addr);
/* Are the bytes [addr + lo, addr + hi) of this process exposed by the window? */
int wdl_win_exposes(const struct wdl_win *win, uint64_t addr, int64_t lo, int64_t hi);
/* Are the bytes of a layout's stream at addr, from `offset` on, in memory the window exposes? What
 * lies between them need not be: a type of a dynamic window may hold addresses far apart. */
int wdl_win_exposes_stream(struct wdl_win *win, uint64_t addr, int64_t count, wdl_type type,
                           uint64_t offset, uint64_t bytes);
/* --- serve.c: operations of others on this process's memory --- */
int wdl_serve_op(struct wdl_win *win, const struct wdl_pkt *pkt, const char *payload, size_t bytes);
/* One operation of a bundle: its answer, if any, goes to room. WDL_OK, WDL_AGAIN or ERR_PROTO. */
int wdl_serve_part(struct wdl_win *win, const struct wdl_pkt *pkt, const char *payload,
                   size_t bytes, char *room, size_t *used, size_t *done);
size_t wdl_serve_room(const struct wdl_pkt *pkt);       /* the longest answer */
int wdl_resume_take(struct wdl_resume *resume, const struct wdl_pkt *pkt,
                    struct wdl_pass *pass_out);
void wdl_resume_keep(struct wdl_resume *resume, const struct wdl_pkt *pkt,
                     const struct wdl_pass *pass);

/* --- bundle.c: bundles at the target --- */
int wdl_serve_bundle(struct wdl_win *win, const struct wdl_pkt *pkt, const char *payload,
                     size_t bytes);
/* The next lock to announce is one a kept bundle waited for: WDL_OK when it is served. */
int wdl_stash_serve(struct wdl_win *win);
void wdl_stashes_drop(struct wdl_win *win);
/* Has the lock of this process a holder who knows it? One holder leaves. */
int wdl_serve_is_held(const struct wdl_win *win);
void wdl_serve_unlock(struct wdl_win *win);
/* May a packet of operations, without a request for the lock, say that they close the epoch; and do
 * what it says, when they are done. */
int wdl_serve_may_close(const struct wdl_win *win, const struct wdl_pkt *pkt);
void wdl_serve_close(struct wdl_win *win, const struct wdl_pkt *pkt);

/* --- barrier.c --- */
/* nostore: the caller has stored nothing to its own memory since the last one; unread: as above. */
void wdl_barrier_begin(struct wdl_win *win, int nostore, int unread);
int wdl_barrier_progress(struct wdl_win *win);  /* WDL_OK when all that have begun are over */
/* WDL_OK when this rank's node has come to all that have begun; where nodes are not told apart,
 * when all ranks have. */
int wdl_barrier_near(struct wdl_win *win);
int wdl_barrier_arrive(struct wdl_win *win, uint64_t sequence, int64_t round);
/* --- pscw.c --- */
int wdl_pscw_posted(struct wdl_win *win, const struct wdl_posted *post);        /* one came */
/* POST and COMPLETE packets, with the ranks they are to be passed on to. */
int wdl_pscw_post_came(struct wdl_win *win, const struct wdl_pkt *pkt, const char *payload,
                       size_t bytes);
int wdl_pscw_complete_came(struct wdl_win *win, const struct wdl_pkt *pkt, const char *payload,
                           size_t bytes);
int wdl_pscw_in_access(const struct wdl_win *win);      /* between start and complete */
int wdl_pscw_completed(struct wdl_win *win, int64_t count);    /* so many have completed */
/* May one come? */
int wdl_pscw_may_complete(const struct wdl_win *win);
int wdl_pscw_may_access(struct wdl_win *win, int rank); /* WDL_OK, WDL_AGAIN, ERR_SYNC */
/* Has it posted to this rank, and said that to no other? */
int wdl_pscw_is_alone(const struct wdl_win *win, int rank);
/* Is it the only one of the access group, and does it hear of complete by a word? */
int wdl_pscw_is_only(const struct wdl_win *win, int rank);
/* --- sole.c --- */
/* May nobody else update that rank's memory, which is mapped, in this access epoch? */
int wdl_win_is_sole(const struct wdl_win *win, int rank);
/* --- words.c: windows whose locks are words. Each is called again, with the same *w, while it
 *     answers WDL_AGAIN, which those of WDL_WORDS_NODE never do to go out; an error is the
 *     network's. A rank whose word is not in our memory has an element. --- */
/* join: this process holds another lock of the window. */
int wdl_words_lock(struct wdl_win *win, int rank, int alone, int join, struct wdl_word *w);
int wdl_words_unlock(struct wdl_win *win, int rank, struct wdl_word *w);
int wdl_words_lock_all(struct wdl_win *win);
/* Do some still wait whom this process has overtaken? It holds no lock. */
static inline int wdl_words_have_debts(const struct wdl_win *win)
{
    return win->word_debts.n > 0 || win->word_debts.first < win->word_debts.last;
}
int wdl_words_owe(struct wdl_win *win);
/* Is the network looking at that rank's word for it? */
int wdl_words_look_at(const struct wdl_win *win, int rank);
int wdl_words_unlock_all(struct wdl_win *win);
/* What is known at a node's gate, in the low bits of its mode; above them, how often it has become
 * UNUSED again. UNUSED: exclusive locks need not pass; WANTED: somebody has called lock_all, and
 * somebody may be inside a room who has not passed; MINDED: nobody is. */
enum wdl_gate_mode { WDL_GATE_UNUSED, WDL_GATE_WANTED, WDL_GATE_MINDED, WDL_GATE_MODES = 4 };
enum { WDL_GATE_PASSES = 256 };
static inline int wdl_gate_is(const struct wdl_win_control *first, enum wdl_gate_mode mode)
{
    return __atomic_load_n(&first->gate_mode, __ATOMIC_SEQ_CST) % WDL_GATE_MODES == (uint32_t) mode;
}
/* Of WDL_WORDS_NODE: into the rank's room past the gate: 1, or 0, nothing has changed. */
static inline int wdl_words_in_ungated(struct wdl_win_control *node, int rank)
{
    if (!wdl_gate_is(&node[0], WDL_GATE_UNUSED) ||
        !wdl_room_enter_at_once(&node[rank].lock, WDL_ROOM_UNGATED))
        return 0;
    /* who calls lock_all changes it, and then looks for us; pairs with gate_mind */
    if (__builtin_expect(wdl_gate_is(&node[0], WDL_GATE_UNUSED), 1))
        return 1;
    wdl_room_leave(&node[rank].lock, WDL_ROOM_UNGATED);
    return 0;
}
/* Of WDL_WORDS_NODE: through the gate for lock_all, if its use is minded and nobody is in the way:
 * 1; 0, nothing has changed. */
static inline int wdl_words_all_in_at_once(struct wdl_win_control *first)
{
    if (!wdl_gate_is(first, WDL_GATE_MINDED) ||
        !wdl_room_enter_at_once(&first->gate, WDL_ROOM_SHARED))
        return 0;
    /* still? Who forgets it is inside, as we are from now on; pairs with wdl_words_forget */
    if (__builtin_expect(wdl_gate_is(first, WDL_GATE_MINDED), 1))
        return 1;
    wdl_room_leave(&first->gate, WDL_ROOM_SHARED);
    return 0;
}
static inline void wdl_words_all_out_on_node(struct wdl_win *win)
{
    wdl_room_leave(&win->params.node[0].gate, WDL_ROOM_SHARED);
}
/* Many exclusive locks have passed: from now on none needs to. The caller is inside the gate. */
void wdl_words_forget(struct wdl_win *win);
/* Those of a process that holds and wants no other lock, if nobody is in the way: 1, it is inside;
 * 0, nothing has changed. */
static inline int wdl_words_in_at_once(struct wdl_win *win, int rank, int alone)
{
    struct wdl_win_control *node = win->params.node;
    if (!alone)
        return wdl_room_enter_at_once(&node[rank].lock, WDL_ROOM_SHARED);
    wdl_assert_cmp(win->gate_users, ==, 0);
    if (wdl_words_in_ungated(node, rank))
        return 1;
    if (!wdl_room_enter_at_once(&node[0].gate, WDL_ROOM_OTHERS))
        return 0;
    if (!wdl_room_enter_at_once(&node[rank].lock, WDL_ROOM_ALONE)) {
        wdl_room_leave(&node[0].gate, WDL_ROOM_OTHERS);
        return 0;
    }
    win->gate_users = 1;
    win->gate_in = WDL_GATE_IN;
    if (__builtin_expect(++win->gate_passes >= WDL_GATE_PASSES, 0))
        wdl_words_forget(win);
    return 1;
}
/* Out of one; the gate is left with the last exclusive lock. */
static inline void wdl_words_out_on_node(struct wdl_win *win, int rank)
{
    struct wdl_win_control *node = win->params.node;
    enum wdl_room_kind kind = wdl_room_kind_inside(&node[rank].lock);
    wdl_room_leave(&node[rank].lock, kind);
    if (kind != WDL_ROOM_ALONE)
        return;
    wdl_assert_cmp(win->gate_users, >, 0);
    if (--win->gate_users == 0) {
        win->gate_in = WDL_GATE_OUT;
        wdl_room_leave(&node[0].gate, WDL_ROOM_OTHERS);
    }
}
/* --- net.c --- */
uint64_t *wdl_net_words(const struct wdl_win *win);     /* our own lock word; the gate behind it */
/* Is a key of lock words what all have agreed about? WDL_OK or ERR_ATOMICS. */
int wdl_net_key_holds(const struct wdl_win *win, struct wdl_nm_rkey *rkey);
/* Of the elements, 4 | 8, that such a network updates together with the processor. */
int wdl_net_sizes(const struct wdl_nm_caps *caps);
void wdl_net_drop(struct wdl_win *win);
/* --- win.c --- */
/* Recompute what the short way (quick.h) may do; after every change of the epoch or the held
 * lock. */
void wdl_win_quick_set(struct wdl_win *win);
/* Operations there have been, ever; have there been any since the last fence? */
uint64_t wdl_win_ops(const struct wdl_win *win);
int wdl_win_used(const struct wdl_win *win);
/* The domain of a rank whose memory is mapped at base; of this process's own memory. */
void wdl_win_domain(const struct wdl_win *win, int rank, const char *base,
                    struct wdl_win_control *control, struct wdl_domain *out);
void wdl_win_own_domain(const struct wdl_win *win, struct wdl_domain *out);

/* --- lock_all.c --- */
int wdl_lock_all_progress(struct wdl_win *win); /* window protocol: returns packets sent */
void wdl_lock_all_switch(struct wdl_win *win);
int wdl_lock_all_answer(struct wdl_win *win);   /* an answer to a window-protocol request */

#endif
