/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * As much of GASNet-1 as a client of its single-threaded mode needs that, besides collectives
 * (gasnet_coll.h), only starts up and moves bytes: of GASNet-1's specification the job control and
 * job environment queries of the Core API, and of the Extended API blocking and explicit-handle
 * puts and gets, and barriers. Nodes are the ranks of MPI_COMM_WORLD; MPI may be used beside it.
 * There are no active messages: tables of handlers are empty. Sizes are in bytes.
 *
 * Calls that return int: GASNET_OK, or an error, with nothing done (but see gasnet_init). Others
 * end the job where they are called with a node that is not there or memory outside of its segment;
 * and so do those that synchronize, with a handle that has been found done before.
 */
#ifndef GASNET_H_INCLUDED
#define GASNET_H_INCLUDED

#include <gasnet_coll.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GASNET_VERSION 1
#define GASNET_MAXNODES 0x7fffffff
#define GASNET_ALIGNED_SEGMENTS 1 /* all begin at one address */
#define GASNET_PAGESIZE 4096
#define GASNET_BEGIN_FUNCTION()
#define GASNET_BLOCKUNTIL(condition) \
    do {                             \
        while (!(condition))         \
            gasnet_AMPoll();         \
    } while (0)

typedef struct {
    void *addr;
    uintptr_t size;
} gasnet_seginfo_t;
typedef uint8_t gasnet_handler_t;
typedef struct {
    gasnet_handler_t index;
    void (*fnptr)(void);
} gasnet_handlerentry_t;
typedef struct gasnet_op *gasnet_handle_t; /* all zero bits: invalid */
#define GASNET_INVALID_HANDLE ((gasnet_handle_t) 0)

/* Collective. MPI is begun if the program has not done so, and then ended by gasnet_exit or when
 * the program ends; where it cannot be begun it ends the job itself. argc, argv: as MPI_Init's.
 * ERR_BAD_ARG: a second time; ERR_RESOURCE: memory is lacking on some node. That is not undone: MPI
 * has been begun, but ends in no other way than the job, with an error. */
GASNET_API int gasnet_init(int *argc, char ***argv);
/* Collective, once, before gasnet_coll_init, to whose collectives this is their segment. segsize:
 * a multiple of GASNET_PAGESIZE, at most the global limit, not the same on all nodes; 0: none here.
 * minheapoffset: no difference is made. The memory is zeroed, and the library's until MPI ends.
 * ERR_NOT_INIT; ERR_BAD_ARG: a second time; or numentries is not 0, or segsize is wrong, on some
 * node, which says so on stderr; ERR_RESOURCE: no place is free on all nodes, or memory is lacking.
 * After an error, but that of a second time, it may be called again. */
GASNET_API int gasnet_attach(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize,
                             uintptr_t minheapoffset);
/* 0: called on all nodes. Another code ends the job at once. Before gasnet_init, where MPI has not
 * been begun, this process ends alone. */
GASNET_API void gasnet_exit(int exitcode);
/* From gasnet_init on; 0 before. */
GASNET_API gasnet_node_t gasnet_mynode(void);
GASNET_API gasnet_node_t gasnet_nodes(void);
/* The value of an environment variable of the job, as mpiexec hands it to its processes; NULL: it
 * is not set. At any time. */
GASNET_API char *gasnet_getenv(const char *name);
/* Of node i to seginfo_table[i], of all nodes; a segment of no bytes has address NULL. numentries:
 * how many there is room for. ERR_NOT_INIT: before gasnet_attach; ERR_BAD_ARG: less than nodes. */
GASNET_API int gasnet_getSegmentInfo(gasnet_seginfo_t *seginfo_table, int numentries);
/* This node's share of half its machine's memory, 256 GiB at most; the least of all nodes'. 0
 * before gasnet_init. */
GASNET_API uintptr_t gasnet_getMaxLocalSegmentSize(void);
GASNET_API uintptr_t gasnet_getMaxGlobalSegmentSize(void);
/* Of a code that is none: "unknown", "unknown error". */
GASNET_API const char *gasnet_ErrorName(int errval);
GASNET_API const char *gasnet_ErrorDesc(int errval);

/* As gasnet_coll_barrier_notify and its kin, of all nodes; where those would call a callback the
 * job ends. */
GASNET_API void gasnet_barrier_notify(int id, int flags);
GASNET_API int gasnet_barrier_wait(int id, int flags);
GASNET_API int gasnet_barrier_try(int id, int flags);
/* Progress, of collectives, too. ERR_NOT_INIT; ERR_RESOURCE: the network failed. */
GASNET_API int gasnet_AMPoll(void);

/* Between this node's memory and a segment. Blocking: complete on both sides. _nb: when the handle
 * has been synchronized; _bulk: until then the source of a put stays as it is. */
GASNET_API void gasnet_put(gasnet_node_t node, void *dest, void *src, size_t nbytes);
GASNET_API void gasnet_get(void *dest, gasnet_node_t node, void *src, size_t nbytes);
GASNET_API void gasnet_put_bulk(gasnet_node_t node, void *dest, void *src, size_t nbytes);
GASNET_API void gasnet_get_bulk(void *dest, gasnet_node_t node, void *src, size_t nbytes);
GASNET_API gasnet_handle_t gasnet_put_nb(gasnet_node_t node, void *dest, void *src, size_t nbytes);
GASNET_API gasnet_handle_t gasnet_get_nb(void *dest, gasnet_node_t node, void *src, size_t nbytes);
GASNET_API gasnet_handle_t gasnet_put_nb_bulk(gasnet_node_t node, void *dest, void *src,
                                              size_t nbytes);
GASNET_API gasnet_handle_t gasnet_get_nb_bulk(void *dest, gasnet_node_t node, void *src,
                                              size_t nbytes);
/* Try: GASNET_OK or GASNET_ERR_NOT_READY. Those of a list that are found done become invalid; those
 * that are invalid are done, but for _some only where there is no other. */
GASNET_API void gasnet_wait_syncnb(gasnet_handle_t handle);
GASNET_API int gasnet_try_syncnb(gasnet_handle_t handle);
GASNET_API void gasnet_wait_syncnb_all(gasnet_handle_t *handles, size_t n);
GASNET_API int gasnet_try_syncnb_all(gasnet_handle_t *handles, size_t n);
GASNET_API void gasnet_wait_syncnb_some(gasnet_handle_t *handles, size_t n);
GASNET_API int gasnet_try_syncnb_some(gasnet_handle_t *handles, size_t n);

#ifdef __cplusplus
}
#endif

#endif
