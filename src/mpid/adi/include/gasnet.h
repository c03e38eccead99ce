/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * As much of GASNet-1 as a client of its single-threaded mode needs that, besides collectives
 * (gasnet_coll.h), only starts up and moves bytes. Nodes are the ranks of MPI_COMM_WORLD; MPI may
 * be used beside it. There are no active messages: tables of handlers are empty.
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
 * the program ends. */
GASNET_API int gasnet_init(int *argc, char ***argv);
/* Collective. segsize: a multiple of the page size, at most the global limit. */
GASNET_API int gasnet_attach(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize,
                             uintptr_t minheapoffset);
/* 0: called on all nodes. Another code ends the job at once. */
GASNET_API void gasnet_exit(int exitcode);
GASNET_API gasnet_node_t gasnet_mynode(void);
GASNET_API gasnet_node_t gasnet_nodes(void);
GASNET_API int gasnet_getSegmentInfo(gasnet_seginfo_t *seginfo_table, int numentries);
GASNET_API uintptr_t gasnet_getMaxLocalSegmentSize(void);
GASNET_API uintptr_t gasnet_getMaxGlobalSegmentSize(void);
GASNET_API const char *gasnet_ErrorName(int errval);
GASNET_API const char *gasnet_ErrorDesc(int errval);

GASNET_API void gasnet_barrier_notify(int id, int flags);
GASNET_API int gasnet_barrier_wait(int id, int flags);
GASNET_API int gasnet_barrier_try(int id, int flags);
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
/* Try: GASNET_OK or GASNET_ERR_NOT_READY. Those of a list that are found done become invalid. */
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
