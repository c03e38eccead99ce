/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The interface of the RMA core to its caller (adi/ in libmpi, scripts in the tests). What is
 * behind it is in win_impl.h. Nothing here waits: a call that cannot finish returns WDL_AGAIN and
 * the caller makes progress (wdl_proc_progress) and calls it again with the same arguments, until
 * the result is something else. Ranks are ranks of the window. Any thread, one at a time.
 */
#ifndef WDL_MPID_RMA_WIN_H_INCLUDED
#define WDL_MPID_RMA_WIN_H_INCLUDED

#include "mpid/proc/proc.h"
#include "mpid/rma/control.h"
#include "mpid/rma/net.h"
#include "mpid/rma/quick.h"

struct wdl_loan;
struct wdl_stream;
struct wdl_win;

struct wdl_rma_params {         /* sizes set by the user; 0: default */
    int global_ops, global_targets;     /* pools shared by all windows: 4096, 1024 */
    int win_ops, win_targets, win_slots;        /* per window: 256, 64, 64 */
    int type_bytes_max;         /* longest flattened type accepted from the wire: 64 MiB */
    int short_bytes;            /* longest operation that may wait to be combined: 4096 */
    int stashes;                /* bundles kept at a target until their lock is free: 32 */
    int win_types;              /* derived types of targets, and of origins, per window: 32 */
    int pscw_tree;              /* larger groups of post and complete go by trees (relay.h): 32 */
};

/* Begin and end the module; at the end no window may be left. */
int wdl_rma_init(struct wdl_proc *proc, const struct wdl_rma_params *params);
void wdl_rma_fini(struct wdl_proc *proc);

/* When short operations to one target are combined in one message: where they follow one another,
 * never, always (ARCHITECTURE.md, The life of a lock, By message). */
enum wdl_combine { WDL_COMBINE_AUTO, WDL_COMBINE_NEVER, WDL_COMBINE_ALWAYS };

/* What the user promises of a window, or asks for: its info keys, the same on every rank. */
struct wdl_win_hints {
    int no_locks;               /* no passive target calls will come */
    int acc_unordered;          /* accumulate_ordering=none */
    /* A read by NO_OP meets no update: of the same place at the same time (accumulate_ops=same_op),
     * or none at all (which_accumulate_ops names no operator that changes anything). */
    int acc_same, acc_reads;
    /* mpi_accumulate_granularity: at most so many bytes are closed for others by one update, if
     * elements have an instruction; 0: as the window likes */
    uint64_t acc_granularity;
    enum wdl_combine combine;   /* windlass_aggregation */
    int no_done;                /* windlass_rma_done=false: a flush is a local one */
    /* windlass_nonoverlapping: operations of concurrent epochs never are about the same memory */
    int nonoverlapping;
    /* windlass_pipeline: bytes of a long operation that a packet takes at most; 0: as many as it
     * can */
    uint64_t piece_bytes;
};

enum wdl_win_flavor { WDL_WIN_CREATE, WDL_WIN_ALLOCATE, WDL_WIN_SHARED, WDL_WIN_DYNAMIC };

/* What this process knows of a rank's exposed memory. */
struct wdl_win_rank {
    uint64_t base;              /* in its own address space; needed where there is params.copy */
    uint64_t bytes;
    int64_t disp_unit;
};

/* Attached memory of a dynamic window. */
struct wdl_region {
    uint64_t base, bytes;
    struct wdl_loan *loan;      /* loan.h; the callee's */
    /* params.reach: where in its process it is said how to map it (0: it cannot be), and a number
     * that no other region of the process ever has */
    uint64_t offer, serial;
};

struct wdl_win_params {
    uint32_t id;                /* the same on every rank, unique among a process's live windows */
    int rank, size;
    enum wdl_win_flavor flavor;
    void *base;                 /* this rank's memory (NULL allowed when bytes == 0) */
    uint64_t bytes;
    int64_t disp_unit;
    void *ctx;                  /* for the callbacks */
    int (*peer_of) (void *ctx, int rank);       /* peer number of a rank */
    /* What is known of a rank; the window keeps no table of its own. Dynamic windows: bytes =
     * UINT64_MAX, base 0, disp_unit 1. */
    void (*rank_info) (void *ctx, int rank, struct wdl_win_rank * info_out);
    /* The rank's memory in this address space (own rank included), NULL when it is not reachable by
     * load/store; *control_out is that rank's control block, here (NULL: not on this node).
     * Constant while the window lives. */
    void *(*map) (void *ctx, int rank, struct wdl_win_control ** control_out);
    /* Move bytes between this process and a rank of this node whose memory is not mapped, without
     * its help; NULL: not possible. Pieces in stream order, of equal sums; they are used up. WDL_OK
     * or an error: ERR_RANGE where the rank has no such memory. */
    wdl_copy_fn *copy;
    /* The same for memory that is mapped, of which the target may copy a part (joint.h, pull.h);
     * NULL: it may not. Of copy and this one at most one is there. */
    wdl_copy_fn *copy_mapped;
    int attended;  /* the ranks serve messages while they compute (the same on every rank) */
    int mail;                   /* operations may be handed over to who waits (mailbox.h) */
    /* The ring through which the process of a rank of this node streams (stream.h): our own, *id
     * being set, or another's that has told us its id; NULL: there is none. Constant; with copy. */
    struct wdl_stream *(*stream) (void *ctx, int rank, uint64_t *id);
    /* Dynamic windows, on top of copy: a region of a rank of this node in this address space, or
     * NULL. Until the next call. */
    void *(*reach) (void *ctx, int rank, const struct wdl_region *region);
    /* the network may reach the ranks' memory by itself where it can (the same on every rank) */
    int direct;
    int atomics;                /* and change it, and lock words, by atomics of its own */
    struct wdl_nm_mem *mem;     /* network memory that base lies in; NULL: attached when needed */
    int mapped_any;             /* some other rank, on any process, is reachable by load/store */
    /* The control blocks of the ranks on this node, an array in shared memory, ascending by rank,
     * zeroed; which is our own. */
    struct wdl_win_control *node;
    int node_count, node_index;
    struct wdl_nm_mem *node_mem;        /* network memory they lie in; NULL: attached when needed */
    /* all ranks are on this node: they synchronize through the blocks, without messages */
    int node_whole;
    /* Several nodes of which one at least has several ranks: how many there are, this one's number,
     * and the peer who is the first of a node's ranks (asked by such ranks alone). The same on
     * every rank; 0: their barrier has no levels. */
    int nodes, node_number;
    int (*first_of) (void *ctx, int node);
    int crowded;  /* the node has more processes than processors (the same on every rank) */
    /* Where all ranks' memory is mapped here: by rank, its place from place_base. NULL otherwise.
     * Constant. */
    const struct wdl_win_place *place;
    char *place_base;
    struct wdl_win_hints hints;
};

/* Other hints, from now on; local. The ranks synchronize before one relies on them. */
void wdl_win_hints_set(struct wdl_win *win, const struct wdl_win_hints *hints);
/* Local part of creation and freeing; the caller synchronizes the ranks after create and before
 * free. free returns WDL_ERR_SYNC inside an epoch, WDL_AGAIN while something is in flight. */
int wdl_win_create(struct wdl_proc *proc, const struct wdl_win_params *params,
                   struct wdl_win **win_out);
int wdl_win_free(struct wdl_win *win);
/* Once it is created, before its first use: what this rank's network can do for the window; where
 * all ranks' wdl_net_asks, on each of them, when all have the window: what keys say of it (WDL_OK,
 * WDL_AGAIN; *offer as it was offered); and what all can, with rank 0's offer (net.h). Where nobody
 * calls these the network has no atomics. */
void wdl_win_net_offer(struct wdl_win *win, struct wdl_net_offer *offer_out);
int wdl_win_net_ask(struct wdl_win *win, struct wdl_net_offer *offer);
void wdl_win_net_begin(struct wdl_win *win, const int *lacks, const struct wdl_net_offer *first);
/* WDL_OK where free would not find an epoch open, else ERR_SYNC. */
int wdl_win_may_free(const struct wdl_win *win);
/* The window with this number, or NULL. */
struct wdl_win *wdl_win_find(struct wdl_proc *proc, uint32_t id);
/* The window made next after this one, or first (NULL), or NULL; and its params.ctx. */
struct wdl_win *wdl_win_after(struct wdl_proc *proc, const struct wdl_win *win);
void *wdl_win_ctx(const struct wdl_win *win);
/* Dynamic windows. attach: ERR_ATTACH on overlap. detach: WDL_AGAIN while others can still reach
 * the memory; ERR_ARG for a base in the middle of what is attached. A base where nothing is may be
 * one at which zero bytes were attached, which MPICH says to nobody: WDL_OK. */
int wdl_win_attach(struct wdl_win *win, void *base, uint64_t bytes);
int wdl_win_attach_region(struct wdl_win *win, const struct wdl_region *region);
int wdl_win_detach(struct wdl_win *win, const void *base);

/* A buffer of the local process or of the target, resolved by the caller. */
struct wdl_buf {
    void *addr;                 /* unused for the target */
    int64_t count;
    wdl_type type;
    size_t bytes;               /* of the packed stream, or of its beginning, which alone is used;
                                 * over INT64_MAX: more than there can be */
    int contig;                 /* one piece at addr + lo */
    int64_t lo, hi;             /* [lo, hi): bytes touched, from addr */
};

enum wdl_rma_kind { WDL_RMA_PUT, WDL_RMA_GET, WDL_RMA_ACC, WDL_RMA_GET_ACC, WDL_RMA_CAS,
    WDL_RMA_KINDS };

/* One operation. GET reads into `origin`; ACC and GET_ACC (fetch_and_op is GET_ACC of one element)
 * combine `origin` into the target, GET_ACC returns the old values in `result`; CAS stores origin
 * where compare matches, old value to result. */
struct wdl_rma_args {
    enum wdl_rma_kind kind;
    int target;                 /* rank */
    int64_t disp;               /* in the target's displacement units */
    struct wdl_buf origin, result, remote;      /* remote.addr is not used */
    const void *compare;
    enum wdl_rop op;
    struct wdl_element element; /* ACC, GET_ACC, CAS: the predefined type all of it is made of */
    int step;     /* 0 at the first call; the callee's until the result is not WDL_AGAIN */
    void *request;  /* completed through host->request_complete when done locally, or NULL */
    size_t done;  /* as step is: of a part that is done */
};

/* Begin an operation. WDL_OK: taken (or done; a request is completed either way); WDL_AGAIN: no
 * resource, nothing happened; errors: ERR_SYNC outside an epoch, ERR_RANK, ERR_RANGE, ERR_OP,
 * ERR_TRUNCATE where the data are longer than the buffer they go to. */
int wdl_rma_op(struct wdl_win *win, struct wdl_rma_args *args);
/* A put or a get in one piece on both sides, without a request, that needs no more than the last
 * one did, a copy by the system or a place where both are held: 1: done, or held, 0: nothing has
 * happened, wdl_rma_op is to be asked. */
int wdl_rma_again(struct wdl_win *win, enum wdl_rma_kind kind, int rank, int64_t disp, void *local,
                  uint64_t bytes);
/* The same of a put with a request: 1: that is complete, 0: nothing has happened. */
int wdl_rma_rput_again(struct wdl_win *win, int rank, int64_t disp, void *local, uint64_t bytes);

/* The short way of accumulates and compare-and-swaps (quick.h): `count` elements, contiguous on
 * both sides; out may be NULL. WDL_OK, or WDL_AGAIN: nothing has been done, take the full path. */
int wdl_win_accumulate_short(struct wdl_win *win, int rank, int64_t disp, size_t count,
                             enum wdl_rop op, const struct wdl_element *el, const void *in,
                             void *out);
/* The same of sums of 2 to WDL_DOUBLES_MAX doubles: apart, since they are the commonest, and take
 * an eighth less time so. */
enum { WDL_DOUBLES_MAX = 16 };
int wdl_win_sum_doubles(struct wdl_win *win, int rank, int64_t disp, size_t count, const void *in);
/* The same by REPLACE, and by NO_OP, which take a fifth less so. */
int wdl_win_replace(struct wdl_win *win, int rank, int64_t disp, size_t count,
                    const struct wdl_element *el, const void *in);
int wdl_win_read(struct wdl_win *win, int rank, int64_t disp, size_t count,
                 const struct wdl_element *el, void *out);
/* The same of elements that no instruction updates, laid out by extent on all sides. */
int wdl_win_accumulate_wide(struct wdl_win *win, int rank, int64_t disp, size_t count,
                            enum wdl_rop op, const struct wdl_element *el, const void *in,
                            void *out);
/* The same of one element. */
int wdl_win_update_one(struct wdl_win *win, int rank, int64_t disp, enum wdl_rop op,
                       const struct wdl_element *el, const void *in, void *out);
int wdl_win_swap_short(struct wdl_win *win, int rank, int64_t disp, const struct wdl_element *el,
                       const void *compare, const void *value, void *result);

/* Assertions of MPI, section 12.5.5. */
enum { WDL_MODE_NOCHECK = 1, WDL_MODE_NOSTORE = 2, WDL_MODE_NOPUT = 4, WDL_MODE_NOPRECEDE = 8,
    WDL_MODE_NOSUCCEED = 16
};

/* Synchronization. `*step` is the caller's, 0 at the first call of each of these, and belongs to
 * the callee until the result is not WDL_AGAIN. */
int wdl_win_fence(struct wdl_win *win, int assertion, int *step);
/* group: ranks, copied. */
int wdl_win_post(struct wdl_win *win, const int *group, int n, int assertion, int *step);
int wdl_win_start(struct wdl_win *win, const int *group, int n, int assertion, int *step);
int wdl_win_complete(struct wdl_win *win, int *step);
int wdl_win_wait(struct wdl_win *win, int *step);       /* MPI_Win_test is one call of it */
int wdl_win_lock(struct wdl_win *win, int rank, int exclusive, int assertion, int *step);
int wdl_win_unlock(struct wdl_win *win, int rank, int *step);
/* The short way of one lock on a node, in one step where nobody is in the way: 1; 0: nothing has
 * changed, take the other. */
int wdl_win_lock_at_once(struct wdl_win *win, int rank, int exclusive, int nocheck);
/* ... back, if wdl_quick_holds: WDL_OK. */
int wdl_win_unlock_held(struct wdl_win *win);
int wdl_win_lock_all(struct wdl_win *win, int assertion, int *step);
int wdl_win_unlock_all(struct wdl_win *win, int *step);
/* rank < 0: all targets. local: local completion only. Only what had been issued before its first
 * call is waited for. */
int wdl_win_flush(struct wdl_win *win, int rank, int local, int *step);
int wdl_win_sync(struct wdl_win *win);
/* Everyone is here: for the caller's own collective acts on the window. */
int wdl_win_barrier(struct wdl_win *win, int *step);

/* Is the access epoch one of active targets (fence, start)? */
int wdl_win_is_active(const struct wdl_win *win);
/* For people: the epochs that are open, as an answer to ERR_SYNC. */
void wdl_win_epoch_text(const struct wdl_win *win, char *text, size_t bytes);

/* May a store of another process be what this one is to act on? Then a look at the network alone
 * does not see everything. (Copies for others on mapped memory wait till all is looked at.) */
int wdl_rma_by_memory(const struct wdl_proc *proc);
/* May something of this process's be under way that another must be there for? */
int wdl_rma_waits(const struct wdl_proc *proc);
/* Where processes outnumber processors: this one waits, and nobody else wants its processor, from
 * now on; or that is over. Meanwhile others may hand operations over to it. */
void wdl_rma_attend(const struct wdl_proc *proc, int attends);
/* The progress made from now on is not the program's, which computes; or it is again. What is done
 * meanwhile tells nobody that this process is there to be asked (mailbox.h). */
void wdl_rma_aside(const struct wdl_proc *proc, int aside);
/* Is an operation handed over to a rank of this node, which shows its end in memory? */
int wdl_win_is_handed(const struct wdl_win *win);
/* How many rests of the processor, of some 20 ns, to take before the next look whether it is done.
 * Who looks at once takes away the line in which the target is about to write that it is. */
int wdl_win_rests(const struct wdl_win *win);

/* Figures for tests and pvars. */
struct wdl_win_stats {
    uint64_t ops_mapped, ops_copied, ops_mailed, ops_direct, ops_message;
    uint64_t messages, pool_waits;
    int ops_high, targets_high;
    /* 0: by message; words: 1 in the node's memory, 2 of the network alone, 3 of both */
    int locks;
    /* of this process's memory: what the window was created with, and has grown by since; what a
     * synchronization under way takes for itself is not in it */
    size_t bytes;
};
struct wdl_rma_stats {          /* of the whole process */
    int ops_high, targets_high, stashes_high;   /* of the pools shared by all windows */
    uint64_t messages;                          /* sent by all modules */
};
void wdl_rma_stats_get(const struct wdl_proc *proc, struct wdl_rma_stats *out);
void wdl_win_stats_get(const struct wdl_win *win, struct wdl_win_stats *out);
/* Walk every structure and assert its invariants. */
void wdl_win_check(const struct wdl_win *win);

#endif
