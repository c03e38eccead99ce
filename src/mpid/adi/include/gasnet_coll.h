/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * GASNet's collectives, for programs and runtimes over MPI, as GASNet's notes on collectives have
 * them. Below, 002 is the newer revision of these notes, 000 the older one, for calls that only it
 * has; behind the number is the section.
 *
 * Usable between MPI_Init and MPI_Finalize, once gasnet_coll_init has been called on every process.
 * A node is a rank of MPI_COMM_WORLD (in a team that was split off: a rank of the team); it has one
 * or more images, which are numbered through in the order of nodes.
 *
 * Every call but the handles' is collective over its team: all nodes make the same calls in the
 * same order, with equal sizes, roots, functions and flags, and with addresses as SINGLE or LOCAL
 * says (002, "Single-valued" arguments).
 * Of a process's threads one at a time is in a call that is collective. Any may synchronize a
 * handle, whoever began it and whatever others do meanwhile, where MPI has been begun with
 * MPI_THREAD_MULTIPLE; but the same handle one at a time (002, Collectives and threads).
 * Memory that a call names is the call's until the handle has been synchronized, and so are lists
 * of addresses, sizes and nodes (002, Bulk vs. non-bulk data reuse, Metadata lifetime).
 */
#ifndef GASNET_COLL_H_INCLUDED
#define GASNET_COLL_H_INCLUDED

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GASNET_API __attribute__((visibility("default")))
#else
#define GASNET_API
#endif

typedef uint32_t gasnet_node_t;
typedef uint32_t gasnet_image_t;

typedef struct gasnet_coll_op *gasnet_coll_handle_t;
#define GASNET_COLL_INVALID_HANDLE ((gasnet_coll_handle_t) 0)

typedef struct gasnet_coll_team *gasnet_team_handle_t;
extern struct gasnet_coll_team gasnet_coll_team_all GASNET_API;
#define GASNET_TEAM_ALL (&gasnet_coll_team_all)

/* Flags: exactly one of each of the first three groups (002, Synchronization modes, current
 * proposal). */
#define GASNET_COLL_IN_NOSYNC 0x1  /* data may move as soon as any node has made the call */
#define GASNET_COLL_IN_MYSYNC 0x2  /* ... in or out of a node's memory, once it has */
#define GASNET_COLL_IN_ALLSYNC 0x4 /* ... once all have */
#define GASNET_COLL_OUT_NOSYNC 0x8 /* all data has moved when the last node has synchronized */
#define GASNET_COLL_OUT_MYSYNC 0x10  /* synchronized: all to and from this node's memory has */
#define GASNET_COLL_OUT_ALLSYNC 0x20 /* synchronized on any node: all of it has */
/* Addresses are those of all nodes, the same on all: nodes look for each other's memory by them.
 * Where they differ, ERR_MISMATCH on the nodes that see it; what the root alone uses may be
 * anything elsewhere, but where other nodes of the machine look for it. */
#define GASNET_COLL_SINGLE 0x40
#define GASNET_COLL_LOCAL 0x80 /* addresses are this node's own */
/* The others. */
#define GASNET_COLL_SCAN_EXCLUSIVE 0x100 /* prefixes without the element itself */
#define GASNET_COLL_SCAN_INCLUSIVE 0     /* with it */
/* One operation together with the calls on the same team that follow, up to and with the first one
 * without this flag, which gives the handle for all, or, a blocking one, waits for all. No handle
 * comes from the others, and the strongest of their synchronization flags are those of all.
 * Barriers, and calls on other teams, which may not have the same nodes, neither join it nor end
 * it; they may be in between, blocking ones too. */
#define GASNET_COLL_AGGREGATE 0x200
/* All destinations (sources) are in attached segments (002, Data segment); where this node's are
 * not, ERR_SEGMENT. With SINGLE, all nodes say so, or none. With SINGLE and IN_NOSYNC they are
 * written (read) at once, by what the call says of their addresses, also those of nodes that have
 * not called: an address without a list is right on every node. (Where it is not, data may be
 * elsewhere before anybody can see that.) */
#define GASNET_COLL_DST_IN_SEGMENT 0x400
#define GASNET_COLL_SRC_IN_SEGMENT 0x800
/* reduce, scan: no block-cyclic array; every node has a vector of elem_count elements, and they are
 * reduced element by element. Block sizes and offsets are 0. */
#define GASNET_COLL_ELEMENTWISE 0x1000
/* reduce, scan, sort: the elements' type needs less alignment than its size says, as an array of
 * characters does. All nodes say so, or none. */
#define GASNET_COLL_UNALIGNED 0x2000

/* results[i] = left_operands[i] op right_operands[i] for result_count elements; left_count is the
 * same. The three do not overlap. flags and arg are those of the function's entry and the call's.
 * It may put and get, and wait for that; what collectives it begins it must not wait for: they go
 * on when it has returned.
 * Functions, and sort's comparisons, are called in the program's own calls, of MPI too. So what is
 * begun with one and not waited for moves while the program computes as far as it can without. An
 * AMSAFE one may be called at any time, by another thread. */
typedef void (*gasnet_coll_reduce_fn_t)(void *results, size_t result_count,
                                        const void *left_operands, size_t left_count,
                                        const void *right_operands, size_t elem_size, int flags,
                                        int arg);
typedef struct {
    gasnet_coll_reduce_fn_t fnptr;
    unsigned int flags;
} gasnet_coll_fn_entry_t;
typedef size_t gasnet_coll_fn_handle_t; /* index in the table given to gasnet_coll_init */
#define GASNET_COLL_AMSAFE 1   /* may be called by another thread, while the program computes */
#define GASNET_COLL_NONCOMM 2  /* operands may be grouped but not change places */
#define GASNET_COLL_NONASSOC 4 /* one after the other from the left, nothing else */

/* X(name, code, text): what can be wrong. Code 0 is success. */
#define GASNET_COLL_ERRORS(X)                                                                     \
    X(FLAGS, 1, "unknown flag")                                                                   \
    X(SYNC, 2, "not exactly one IN and one OUT synchronization flag")                             \
    X(ADDRESSES, 3, "not exactly one of SINGLE and LOCAL")                                        \
    X(ROOT, 4, "root outside the team")                                                           \
    X(SIZE, 5, "a size of zero or beyond any memory, or sizes that do not fit together")          \
    X(ALIGNMENT, 6, "data of a computational collective is not aligned")                          \
    X(FUNCTION, 7, "no such function in the table given to gasnet_coll_init")                     \
    X(LAYOUT, 8, "impossible block size or offset of an array")                                   \
    X(AGGREGATE, 9, "AGGREGATE on a blocking call, or an aggregate has no last member")           \
    X(SEGMENT, 10, "memory said to be in a segment is outside of those attached")                 \
    X(HANDLE, 11, "handle is dead: it has been synchronized before")                              \
    X(NODES, 12, "a list of nodes or images is impossible")                                       \
    X(BARRIER, 13, "barrier calls out of order")                                                  \
    X(INIT, 14, "gasnet_coll_init missing, a second time, or with bad arguments; or a freed team") \
    X(NOMEM, 15, "out of memory")                                                                 \
    X(NETWORK, 16, "the network failed")                                                           \
    X(MISMATCH, 17, "nodes' calls do not match, or went wrong on another node")
enum {
#define GASNET_COLL_ERROR_ENUM(name, code, text) GASNET_COLL_ERR_##name = code,
    GASNET_COLL_ERRORS(GASNET_COLL_ERROR_ENUM)
#undef GASNET_COLL_ERROR_ENUM
};

/* A call that goes wrong says so on stderr. Its handle is done; when it is synchronized the
 * callback is called, the handle's own or the one its team had when the call was made. For a call
 * that gives no handle, as one with AGGREGATE, it is called in the call itself. Without a callback
 * the program is aborted. Behind a MISMATCH other calls on the team may end so, too. */
typedef void (*gasnet_coll_error_fn_t)(void *arg, int code, const char *text);
GASNET_API void gasnet_coll_team_on_error(gasnet_team_handle_t team, gasnet_coll_error_fn_t fn,
                                          void *arg);
GASNET_API void gasnet_coll_on_error(gasnet_coll_handle_t handle, gasnet_coll_error_fn_t fn,
                                     void *arg);

/* Collective over all processes, first and once. images[i] > 0: of node i, as many numbers as
 * there are nodes; NULL: one each. fn_tbl: fn_count functions, all nodes' in the same order. Both
 * are copied. my_image: no difference is made. init_flags: 0. The segment of gasnet_attach, if that
 * has been called (gasnet.h), is attached to the team of all. Errors: INIT; MISMATCH: its arguments
 * were bad on another node: nobody has a team then, and it may be called again; NOMEM. */
GASNET_API void gasnet_coll_init(const gasnet_image_t images[], gasnet_image_t my_image,
                                 gasnet_coll_fn_entry_t fn_tbl[], size_t fn_count, int init_flags);

/* This node's segment in the team, nbytes bytes, and in those split off later: what DST_IN_SEGMENT
 * and SRC_IN_SEGMENT say is inside of it, and memory to which data goes without copies; windows of
 * MPI_Win_allocate are such memory by themselves. Not collective. Nothing of the team's is going
 * on, and the memory stays until another is attached in its place (nbytes 0: none). Without one
 * nothing is checked. Errors: NOMEM. */
GASNET_API void gasnet_coll_segment_attach(gasnet_team_handle_t team, void *base, size_t nbytes);

/* As those of puts and gets (002, Synchronization calls; gasnet.h). Try: GASNET_OK when it is done,
 * and the handle dead; GASNET_ERR_NOT_READY. _some: at least one is; _all: all of them. Invalid
 * handles count as done, but for _some only where there is no other; those of a list that are found
 * done become invalid. */
GASNET_API int gasnet_coll_try_sync(gasnet_coll_handle_t handle);
GASNET_API int gasnet_coll_try_sync_some(gasnet_coll_handle_t *handles, size_t n);
GASNET_API int gasnet_coll_try_sync_all(gasnet_coll_handle_t *handles, size_t n);
GASNET_API void gasnet_coll_wait_sync(gasnet_coll_handle_t handle);
GASNET_API void gasnet_coll_wait_sync_some(gasnet_coll_handle_t *handles, size_t n);
GASNET_API void gasnet_coll_wait_sync_all(gasnet_coll_handle_t *handles, size_t n);

/* Each call has a blocking form and one, with _nb behind its name, that gives a handle. */
#define GASNET_COLL_CALL(name, ...)                                     \
    GASNET_API void gasnet_coll_##name(__VA_ARGS__);                    \
    GASNET_API gasnet_coll_handle_t gasnet_coll_##name##_nb(__VA_ARGS__);

/* --- moving blocks of nbytes bytes (002, current proposal) ---
 * broadcast: src to every dst. scatter: the i-th block of src to node i. gather: the other way.
 * gather_all: to all nodes. exchange: the j-th block of node i becomes the i-th of node j.
 * M: an address per image: of all of them (SINGLE), or of the own ones (LOCAL). */
GASNET_COLL_CALL(broadcast, gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage,
                 void *src, size_t nbytes, int flags)
GASNET_COLL_CALL(broadcastM, gasnet_team_handle_t team, void *const dstlist[],
                 gasnet_image_t srcimage, void *src, size_t nbytes, int flags)
GASNET_COLL_CALL(scatter, gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage, void *src,
                 size_t nbytes, int flags)
GASNET_COLL_CALL(scatterM, gasnet_team_handle_t team, void *const dstlist[],
                 gasnet_image_t srcimage, void *src, size_t nbytes, int flags)
GASNET_COLL_CALL(gather, gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *src,
                 size_t nbytes, int flags)
GASNET_COLL_CALL(gatherM, gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst,
                 void *const srclist[], size_t nbytes, int flags)
GASNET_COLL_CALL(gather_all, gasnet_team_handle_t team, void *dst, void *src, size_t nbytes,
                 int flags)
GASNET_COLL_CALL(gather_allM, gasnet_team_handle_t team, void *const dstlist[],
                 void *const srclist[], size_t nbytes, int flags)
GASNET_COLL_CALL(exchange, gasnet_team_handle_t team, void *dst, void *src, size_t nbytes,
                 int flags)
GASNET_COLL_CALL(exchangeM, gasnet_team_handle_t team, void *const dstlist[], void *const srclist[],
                 size_t nbytes, int flags)

/* --- computing (002, Computational collectives) ---
 * An array of elem_count elements of elem_size bytes is dealt to the nodes (M: to the images) in
 * blocks of blksz elements, as UPC deals its arrays; the first element is `offset` elements behind
 * the beginning of the first unit's first block, whose address src is, on each unit. blksz 0: all
 * elements are on unit `offset`. func: a function of the table given to gasnet_coll_init.
 * reduce: the fold of all elements, in their order, to dst on the node of dstimage; reduce_all: to
 * dst on every node. scan: each element's prefix, to an array dealt in its own way; EXCLUSIVE: the
 * first element's is not written. src may be dst, if they are dealt alike.
 * Addresses are aligned as the elements' type needs it, which these calls, and sort, do not know.
 * So, but with UNALIGNED, they must be multiples of the greatest power of two that divides
 * elem_size, of 8 at most: what any type of that size may need, long double and other types of 16
 * bytes apart. Not looked at: the addresses of sortM's lists, those of units that have no element
 * of the array, and dst where no result goes. */
GASNET_COLL_CALL(reduce, gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *src,
                 size_t src_blksz, size_t src_offset, size_t elem_size, size_t elem_count,
                 gasnet_coll_fn_handle_t func, int func_arg, int flags)
GASNET_COLL_CALL(reduceM, gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst,
                 void *const srclist[], size_t src_blksz, size_t src_offset, size_t elem_size,
                 size_t elem_count, gasnet_coll_fn_handle_t func, int func_arg, int flags)
GASNET_COLL_CALL(reduce_all, gasnet_team_handle_t team, void *dst, void *src, size_t src_blksz,
                 size_t src_offset, size_t elem_size, size_t elem_count,
                 gasnet_coll_fn_handle_t func, int func_arg, int flags)
GASNET_COLL_CALL(reduce_allM, gasnet_team_handle_t team, void *dst, void *const srclist[],
                 size_t src_blksz, size_t src_offset, size_t elem_size, size_t elem_count,
                 gasnet_coll_fn_handle_t func, int func_arg, int flags)
GASNET_COLL_CALL(scan, gasnet_team_handle_t team, void *dst, size_t dst_blksz, size_t dst_offset,
                 void *src, size_t src_blksz, size_t src_offset, size_t elem_size,
                 size_t elem_count, gasnet_coll_fn_handle_t func, int func_arg, int flags)
GASNET_COLL_CALL(scanM, gasnet_team_handle_t team, void *const dstlist[], size_t dst_blksz,
                 size_t dst_offset, void *const srclist[], size_t src_blksz, size_t src_offset,
                 size_t elem_size, size_t elem_count, gasnet_coll_fn_handle_t func, int func_arg,
                 int flags)

/* Stable: equal elements keep their order. fn as qsort's. */
GASNET_COLL_CALL(sort, gasnet_team_handle_t team, void *dst, size_t dst_blksz, size_t dst_offset,
                 void *src, size_t src_blksz, size_t src_offset, size_t elem_size,
                 size_t elem_count, int (*fn)(const void *, const void *), int flags)
GASNET_COLL_CALL(sortM, gasnet_team_handle_t team, void *const dstlist[], size_t dst_blksz,
                 size_t dst_offset, void *const srclist[], size_t src_blksz, size_t src_offset,
                 size_t elem_size, size_t elem_count, int (*fn)(const void *, const void *),
                 int flags)

/* --- moving blocks from place to place (put, get: 000, Generalized collectives proposal) ---
 * permute: the block of node (M: image) i goes to node perm[i]. SINGLE: perm has all of them;
 * LOCAL: it has the own ones'. */
GASNET_COLL_CALL(permute, gasnet_team_handle_t team, void *dst, void *src,
                 const gasnet_image_t perm[], size_t nbytes, int flags)
GASNET_COLL_CALL(permuteM, gasnet_team_handle_t team, void *const dstlist[], void *const srclist[],
                 const gasnet_image_t perm[], size_t nbytes, int flags)

/* put: src here to dst on node dstnode. get: src on node srcnode to dst here. M: listlen of them,
 * on the nodes of nodelist; none is right too. Always LOCAL, but an address on another node is
 * what it is there. partnerlist: each node whose blocks come here (get: are taken here), once;
 * NULL: all, with partnercount the number of nodes, or, with 0, none; else ERR_NODES. */
GASNET_COLL_CALL(put, gasnet_team_handle_t team, gasnet_node_t dstnode, void *dst, void *src,
                 const gasnet_node_t partnerlist[], size_t partnercount, size_t nbytes, int flags)
GASNET_COLL_CALL(get, gasnet_team_handle_t team, void *dst, gasnet_node_t srcnode, void *src,
                 const gasnet_node_t partnerlist[], size_t partnercount, size_t nbytes, int flags)
GASNET_COLL_CALL(putM, gasnet_team_handle_t team, const gasnet_node_t nodelist[],
                 void *const dstlist[], void *const srclist[], size_t listlen,
                 const gasnet_node_t partnerlist[], size_t partnercount, size_t nbytes, int flags)
GASNET_COLL_CALL(getM, gasnet_team_handle_t team, void *const dstlist[],
                 const gasnet_node_t nodelist[], void *const srclist[], size_t listlen,
                 const gasnet_node_t partnerlist[], size_t partnercount, size_t nbytes, int flags)

/* Blocks of different sizes, none at all too. nbytes[i] is of the block of node i; offsets: where
 * it begins, in bytes; NULL: one behind the other. scatterv, gatherv: the root needs all of nbytes,
 * others their own. gather_allv, exchangev: all of both (SINGLE), or only what the node itself
 * gives, and the sizes of the others' blocks are filled in (LOCAL). */
GASNET_COLL_CALL(scatterv, gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage,
                 void *src, const size_t src_offsets[], const size_t nbytes[], int flags)
GASNET_COLL_CALL(gatherv, gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst,
                 const size_t dst_offsets[], void *src, const size_t nbytes[], int flags)
GASNET_COLL_CALL(gather_allv, gasnet_team_handle_t team, void *dst, const size_t dst_offsets[],
                 void *src, size_t nbytes[], int flags)
GASNET_COLL_CALL(exchangev, gasnet_team_handle_t team, void *dst, const size_t dst_offsets[],
                 size_t dst_nbytes[], void *src, const size_t src_offsets[],
                 const size_t src_nbytes[], int flags)

/* What GASNet's first draft calls gasnet_all_*i: every call lists its blocks, and the nodes they
 * are on, of which some may have none. Here the images of the M forms are those of
 * gasnet_coll_init, at least one a node; where blocks are a call's own, they are moved so:
 *
 *   all_broadcasti    scatterv, all offsets 0: a node with blocks gets one
 *   all_scatteri      scatterv: of a node's size its blocks together; offsets from its rank
 *   all_gatheri       gatherv, likewise
 *   all_gather_alli   gather_allv, likewise
 *   all_exchangei     exchangev: between two nodes as many as the product of theirs
 *   any, SINGLE       putM: each block by the node that has it (broadcast, scatter: all by the
 *                     root) to the address where it belongs; 0 blocks are right; partnerlist: the
 *                     nodes that have any
 *   all_put, all_get, all_puti, all_geti    put, get, putM, getM
 *
 * In the v forms a node's blocks are one behind the other. */

/* --- barriers and teams (as GASNet-1 has them: Barriers of its Extended API; team_split of its
 * collectives) --- */
#define GASNET_BARRIERFLAG_ANONYMOUS 1 /* the id does not matter */
#define GASNET_BARRIERFLAG_MISMATCH 2  /* a mismatch, whatever the ids are */
#define GASNET_OK 0
#define GASNET_ERR_NOT_INIT 10001
#define GASNET_ERR_RESOURCE 10002
#define GASNET_ERR_BAD_ARG 10003
#define GASNET_ERR_NOT_READY 10004
#define GASNET_ERR_BARRIER_MISMATCH 10005
/* GASNET_OK; GASNET_ERR_BARRIER_MISMATCH: two nodes gave different ids, or this one another id or
 * flag than to _notify; GASNET_ERR_BAD_ARG, of which the team's callback has been told:
 * GASNET_COLL_ERR_BARRIER: _try or _wait without _notify, or a barrier, or _notify, between that
 * and the end of its barrier, which goes on as if nothing had been called; GASNET_COLL_ERR_FLAGS:
 * an unknown flag; if it is _notify's, to others that is a mismatch. _try: GASNET_ERR_NOT_READY,
 * too. */
GASNET_API int gasnet_coll_barrier(gasnet_team_handle_t team, int id, int flags);
GASNET_API void gasnet_coll_barrier_notify(gasnet_team_handle_t team, int id, int flags);
GASNET_API int gasnet_coll_barrier_try(gasnet_team_handle_t team, int id, int flags);
GASNET_API int gasnet_coll_barrier_wait(gasnet_team_handle_t team, int id, int flags);

/* The nodes with the same color become a team, in the order of `relrank`, then of nodes; each
 * brings its images. The team's callback for errors is the parent's, its segment, too. flags: 0.
 * Blocking; in an open aggregate of the parent's its last member. NULL: it went wrong, and the
 * parent's callback has been called: FLAGS, NOMEM, or MISMATCH where it was wrong on another node;
 * so nobody has a team, unless it was memory for one that was lacking on some node alone. */
GASNET_API gasnet_team_handle_t gasnet_coll_team_split(gasnet_team_handle_t team,
                                                       gasnet_node_t color, gasnet_node_t relrank,
                                                       int flags);
/* Collective; all handles of the team have been synchronized, and no aggregate is open: one that is
 * does nothing (ERR_AGGREGATE; in a team that goes with MPI that is said on stderr, and no more).
 * GASNET_TEAM_ALL is not freed (ERR_INIT): it, and what has not been freed, goes with MPI.
 * A call with a team that has been freed, one of the last thousand, ends the job (ERR_INIT). */
GASNET_API void gasnet_coll_team_free(gasnet_team_handle_t team);
GASNET_API gasnet_node_t gasnet_coll_team_size(gasnet_team_handle_t team);
GASNET_API gasnet_node_t gasnet_coll_team_rank(gasnet_team_handle_t team);
GASNET_API gasnet_image_t gasnet_coll_team_images(gasnet_team_handle_t team);
/* Between a rank of the team and a node of GASNET_TEAM_ALL; (gasnet_node_t) -1: not in the team */
GASNET_API gasnet_node_t gasnet_coll_team_rank2node(gasnet_team_handle_t team, gasnet_node_t rank);
GASNET_API gasnet_node_t gasnet_coll_team_node2rank(gasnet_team_handle_t team, gasnet_node_t node);

#ifdef __cplusplus
}
#endif

#endif
