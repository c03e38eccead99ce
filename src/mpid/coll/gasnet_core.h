/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * GASNet's collectives (seeds 000 and 002) on the engine: everything of gasnet_coll.h that does not
 * wait. Calls start an operation and give its handle; the blocking forms, and the names clients
 * use, are a thin layer above.
 *
 * A node is a rank of the team; it has images, numbered through in the order of nodes. In the M
 * forms a list names an address per image: SINGLE: of all images of the team; LOCAL: of the own
 * ones.
 *
 * Invariants:
 *  1. An operation that needs several collectives one after the other runs in one of a few teams
 *     of the engine behind the first one, lanes, which take such operations in turn, and there in
 *     the order of their calls: so all ranks agree on the order of everything.
 *  2. A handle lives until a try_sync finds it done; lists it was given stay untouched until then.
 *  3. A misuse that can be seen is told by a handle that is done at once with an error.
 *
 * One thread at a time; never from a message handler.
 */
#ifndef WDL_MPID_COLL_GASNET_CORE_H_INCLUDED
#define WDL_MPID_COLL_GASNET_CORE_H_INCLUDED

#include "mpid/coll/coll.h"

struct wdl_gas_op;
struct wdl_gas_team;
/* An operation and the count of its uses; NULL, all zero bits: invalid. */
typedef struct wdl_gas_handle *wdl_gas_handle;

/* Beside enum wdl_coll_flag. */
enum wdl_gas_flag {
    WDL_GAS_AGGREGATE = 1 << 9, /* one operation with the team's calls that follow; no handle */
    WDL_GAS_DST_IN_SEGMENT = 1 << 10,
    WDL_GAS_SRC_IN_SEGMENT = 1 << 11,
    WDL_GAS_ELEMENTWISE = 1 << 12, /* reduce, scan: vectors, element by element */
    WDL_GAS_UNALIGNED = 1 << 13, /* reduce, scan, sort: their type needs less than its size says */
    WDL_GAS_NONE = 1 << 29, /* unknown to all calls */
    WDL_GAS_BLOCKING = 1 << 30 /* the caller waits: AGGREGATE is an error. No client's. */
};

#define WDL_GAS_ERRORS(X)                                                                 \
    X(FLAGS)                                                                              \
    X(SYNC)                                                                               \
    X(ADDRESSES)                                                                          \
    X(ROOT)                                                                               \
    X(SIZE) X(ALIGNMENT) X(FUNCTION) X(LAYOUT) X(AGGREGATE) X(SEGMENT) X(HANDLE) X(NODES) \
        X(BARRIER) X(INIT) X(NOMEM) X(NETWORK) X(MISMATCH)
enum wdl_gas_error {
    WDL_GAS_FINE,
#define WDL_GAS_ERROR_ENUM(name) WDL_GAS_ERR_##name,
    WDL_GAS_ERRORS(WDL_GAS_ERROR_ENUM)
#undef WDL_GAS_ERROR_ENUM
        WDL_GAS_ERROR_COUNT
};

/* results[i] = left_operands[i] op right_operands[i]; the three do not overlap. */
typedef void (*wdl_gas_reduce_fn)(void *results, size_t result_count, const void *left_operands,
                                  size_t left_count, const void *right_operands, size_t elem_size,
                                  int flags, int arg);

/* AMSAFE: whoever makes progress may call it; else, as sort's comparisons, the program alone. */
enum wdl_gas_fn_flag { WDL_GAS_AMSAFE = 1, WDL_GAS_NONCOMM = 2, WDL_GAS_NONASSOC = 4 };

struct wdl_gas_fn {
    wdl_gas_reduce_fn fn;
    unsigned flags;
};

/* Memory in common with the node's ranks. Each team of the engine asks for its own, on all ranks
 * alike. */
struct wdl_gas_memory {
    /* Fill in what the parameters say of it, from `shm` and `board_bytes` to `card`; *share_out: by
     * what it is known here. WDL_OK or ERR_NOMEM. NULL: messages only. */
    int (*share)(void *ctx, struct wdl_team_params *params, void **share_out);
    /* The team is destroyed here; or it was not made, so that nobody else knows of it. */
    void (*leave)(void *ctx, void *share);
    void (*drop)(void *ctx, void *share);
    void *ctx;
};

/* Ids in a row, from a team's own on. */
enum { WDL_GAS_IDS = 5 };

struct wdl_gas_params {
    struct wdl_team_params team; /* of all, without memory in common */
    struct wdl_gas_memory memory;
    const size_t *images; /* of each node, > 0; NULL: one */
    const struct wdl_gas_fn *fns;
    size_t fn_count;
};

/* WDL_OK, ERR_ARG, ERR_NOMEM. If *team_out is filled on an error it is good for destroy only. */
int wdl_gas_init(struct wdl_proc *proc, const struct wdl_gas_params *params,
                 struct wdl_gas_team **team_out);
/* WDL_AGAIN while something moves. Handles not synchronized die with it. */
int wdl_gas_team_destroy(struct wdl_gas_team *team);
int wdl_gas_team_rank(const struct wdl_gas_team *team);
int wdl_gas_team_size(const struct wdl_gas_team *team);
/* A rank's number among all peers. */
int wdl_gas_team_peer(const struct wdl_gas_team *team, int rank);
/* Has an aggregate begun whose last member has not been called? */
int wdl_gas_has_open(const struct wdl_gas_team *team);
size_t wdl_gas_images(const struct wdl_gas_team *team);
/* This node's segment, in place of the one before: what IN_SEGMENT promises to be inside of (base
 * NULL: there is none, and nothing is checked; bytes 0: nothing is inside), and what data goes to
 * without copies. Nothing moves there. WDL_OK, ERR_NOMEM, or WDL_AGAIN: make progress and call
 * again. */
int wdl_gas_segment(struct wdl_gas_team *team, void *base, size_t bytes);
const void *wdl_gas_segment_base(const struct wdl_gas_team *team);

/* Collective: ranks with one color become a team, ordered by key, then by rank. *team_out is filled
 * when the handle is done; on an error it may be, and the team is good for destroy only. A process
 * takes part in one split at a time. `wrong`: this rank's call is, and so nobody gets a team: all
 * others hear of it, ERR_MISMATCH. */
wdl_gas_handle wdl_gas_team_split_nb(struct wdl_gas_team *team, int color, int key,
                                     enum wdl_gas_error wrong, struct wdl_gas_team **team_out);

/* 1: done, and the handle is dead; *error_out says how it went. */
int wdl_gas_try_sync(wdl_gas_handle handle, enum wdl_gas_error *error_out);
/* The client's: kept with the handle; NULL if it is dead or invalid. Room for two pointers. */
void **wdl_gas_client(wdl_gas_handle handle);
/* How a handle that may be done at once went: for what is told before it is synchronized. */
enum wdl_gas_error wdl_gas_early(wdl_gas_handle handle);

wdl_gas_handle wdl_gas_barrier_nb(struct wdl_gas_team *team);
/* A barrier that says whether the ids of all ranks that give one agree: *agreed_out. */
enum wdl_gas_given { WDL_GAS_ANONYMOUS, WDL_GAS_NAMED, WDL_GAS_MISMATCH };
wdl_gas_handle wdl_gas_agree_nb(struct wdl_gas_team *team, enum wdl_gas_given given, int id,
                                int *agreed_out);

/* --- gasnet_move.c --- */
wdl_gas_handle wdl_gas_broadcast_nb(struct wdl_gas_team *team, void *dst, size_t srcimage,
                                    const void *src, size_t nbytes, int flags);
wdl_gas_handle wdl_gas_scatter_nb(struct wdl_gas_team *team, void *dst, size_t srcimage,
                                  const void *src, size_t nbytes, int flags);
wdl_gas_handle wdl_gas_gather_nb(struct wdl_gas_team *team, size_t dstimage, void *dst,
                                 const void *src, size_t nbytes, int flags);
wdl_gas_handle wdl_gas_gather_all_nb(struct wdl_gas_team *team, void *dst, const void *src,
                                     size_t nbytes, int flags);
wdl_gas_handle wdl_gas_exchange_nb(struct wdl_gas_team *team, void *dst, const void *src,
                                   size_t nbytes, int flags);
wdl_gas_handle wdl_gas_broadcastM_nb(struct wdl_gas_team *team, void *const dstlist[],
                                     size_t srcimage, const void *src, size_t nbytes, int flags);
wdl_gas_handle wdl_gas_scatterM_nb(struct wdl_gas_team *team, void *const dstlist[],
                                   size_t srcimage, const void *src, size_t nbytes, int flags);
wdl_gas_handle wdl_gas_gatherM_nb(struct wdl_gas_team *team, size_t dstimage, void *dst,
                                  void *const srclist[], size_t nbytes, int flags);
wdl_gas_handle wdl_gas_gather_allM_nb(struct wdl_gas_team *team, void *const dstlist[],
                                      void *const srclist[], size_t nbytes, int flags);
wdl_gas_handle wdl_gas_exchangeM_nb(struct wdl_gas_team *team, void *const dstlist[],
                                    void *const srclist[], size_t nbytes, int flags);

/* --- gasnet_fold.c: arrays dealt to the nodes, or (lists not NULL) images, in blocks --- */
struct wdl_gas_array {
    void *base; /* of this node's place 0 (blockcyclic.h); with a list: not used */
    size_t blk, offset; /* blk 0: all on unit `offset` */
};
#define WDL_GAS_EVERYWHERE ((size_t) -1)
/* The fold of the elements in their order, to dst on the node of dstimage, or EVERYWHERE. */
wdl_gas_handle wdl_gas_reduceM_nb(struct wdl_gas_team *team, size_t dstimage, void *dst,
                                  void *const srclist[], struct wdl_gas_array src, size_t elem_size,
                                  size_t elem_count, size_t func, int func_arg, int flags);
/* All prefixes; EXCLUSIVE: without the element itself, the first one's is left as it is. */
wdl_gas_handle wdl_gas_scanM_nb(struct wdl_gas_team *team, void *const dstlist[],
                                struct wdl_gas_array dst, void *const srclist[],
                                struct wdl_gas_array src, size_t elem_size, size_t elem_count,
                                size_t func, int func_arg, int flags);

/* --- gasnet_plain.c --- */

/* A broadcast, scatter, gather, gather_all, exchange, or, of vectors, reduce, allreduce or scan,
 * that its caller waits for; `bytes` of each block, or of the vector. */
struct wdl_gas_plain {
    enum wdl_coll_kind kind;
    int flags; /* the client's */
    size_t image; /* the root's, if there is one */
    void *dst;
    const void *src;
    size_t bytes;
    size_t elem_bytes, func; /* of a fold */
    int arg;
};
/* The client's function on elements of so many bytes, and room for results of so many, at least
 * one. */
struct wdl_gas_apply {
    const struct wdl_gas_fn *fn;
    int arg;
    size_t elem_bytes;
    char *room;
    size_t room_elems;
};
/* The caller's, untouched while the lane goes; nothing need be filled in. */
struct wdl_gas_going {
    struct wdl_run *lane;
    struct wdl_coll_op op;
    struct wdl_gas_apply client;
    _Alignas(64) char results[1024];
};
/* WDL_OK: it is over. WDL_AGAIN: it is when wdl_coll_express_look(going->lane) says so, with its
 * status. ERR_OP: not this way, nothing happened: the call's other form, with BLOCKING. `looks`: as
 * in struct wdl_coll_short. */
int wdl_gas_plain(struct wdl_gas_team *team, const struct wdl_gas_plain *call, int looks,
                  struct wdl_gas_going *going);
/* What a status of the engine is to the client. */
enum wdl_gas_error wdl_gas_error_of(int status);

/* --- gasnet_permute.c: M where there are lists --- */
wdl_gas_handle wdl_gas_permuteM_nb(struct wdl_gas_team *team, void *dst, void *const dstlist[],
                                   void *src, void *const srclist[], const uint32_t *perm,
                                   size_t nbytes, int flags);
/* --- gasnet_xfer.c: `at`: NULL or the places of blocks --- */
wdl_gas_handle wdl_gas_scatterv_nb(struct wdl_gas_team *team, void *dst, size_t srcimage,
                                   const void *src, const size_t *src_at, const size_t *nbytes,
                                   int flags);
wdl_gas_handle wdl_gas_gatherv_nb(struct wdl_gas_team *team, size_t dstimage, void *dst,
                                  const size_t *dst_at, const void *src, const size_t *nbytes,
                                  int flags);
/* LOCAL: the sizes of what comes are filled in. */
wdl_gas_handle wdl_gas_gather_allv_nb(struct wdl_gas_team *team, void *dst, const size_t *dst_at,
                                      const void *src, size_t *nbytes, int flags);
wdl_gas_handle wdl_gas_exchangev_nb(struct wdl_gas_team *team, void *dst, const size_t *dst_at,
                                    size_t *dst_bytes, const void *src, const size_t *src_at,
                                    const size_t *src_bytes, int flags);

/* --- gasnet_put.c --- */
struct wdl_gas_put {
    int gets; /* or puts */
    int many; /* lists of `count`, or one */
    uint32_t node;
    void *dst, *src;
    const uint32_t *nodes;
    void *const *dst_list, *const *src_list;
    size_t count;
    const uint32_t *partners; /* nodes whose blocks are here; NULL: all, if there are any */
    size_t partner_count;
    size_t nbytes;
};
wdl_gas_handle wdl_gas_put_nb(struct wdl_gas_team *team, const struct wdl_gas_put *call, int flags);

/* --- gasnet_sort.c --- */
wdl_gas_handle wdl_gas_sortM_nb(struct wdl_gas_team *team, void *const dstlist[],
                                struct wdl_gas_array dst, void *const srclist[],
                                struct wdl_gas_array src, size_t elem_size, size_t elem_count,
                                int (*fn)(const void *a, const void *b), int flags);

#endif
