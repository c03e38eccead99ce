/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * gasnet.h over MPI: segments are one window in a passive epoch from gasnet_attach to the end, a
 * put or get is a request of it, a put's remote completion a flush. The calls are MPI's own, in
 * their profiling names, so MPICH's lock is not held here, except for barriers and where a flush is
 * not to be waited for.
 */
#include "gas.h"
#include "gasnet.h"
#include "rma.h"
#include <sys/mman.h>
#include <unistd.h>

/* Teams of gasnet_coll.h are numbered upwards from WDL_TEAM_GASNET. */
enum { BARRIER_TEAM = 0x7ffffff0 };
enum { PLACES = 64 }; /* where segments may begin: tried one after the other */
static const uintptr_t place_first = (uintptr_t) 0x100000000000, place_step = (uintptr_t) 1 << 39;

enum { USES = 8 }; /* told apart by a handle: the low bits of an operation's address */

struct gasnet_op {
    MPI_Request request;
    unsigned uses; /* a handle remembers which use it is of */
    int is_live; /* not found done yet */
    int node; /* of a put: to be flushed; or -1 */
    int step; /* of that flush */
    struct gasnet_op *next;
};

static struct {
    int begun;
    int is_broken; /* gasnet_init has failed: not all nodes have the team, which so cannot end */
    int rank, size;
    uintptr_t local_max, global_max;
    MPI_Comm comm;
    MPI_Win win;
    char *base;
    uintptr_t reserved;
    gasnet_seginfo_t *segments; /* NULL: not attached */
    struct gasnet_coll_team all; /* for barriers */
    struct gasnet_op *free;
} self;

static const struct {
    int code;
    const char *name, *text;
} errors[] = {
    {GASNET_OK, "GASNET_OK", "no error"},
    {GASNET_ERR_NOT_INIT, "GASNET_ERR_NOT_INIT", "GASNet has not been initialized"},
    {GASNET_ERR_RESOURCE, "GASNET_ERR_RESOURCE", "memory or another resource cannot be had"},
    {GASNET_ERR_BAD_ARG, "GASNET_ERR_BAD_ARG", "an argument is wrong"},
    {GASNET_ERR_NOT_READY, "GASNET_ERR_NOT_READY", "not complete yet"},
    {GASNET_ERR_BARRIER_MISMATCH, "GASNET_ERR_BARRIER_MISMATCH",
     "nodes came to a barrier with different ids"},
};

static int error_index(int code)
{
    for (int i = 0; i < (int) (sizeof errors / sizeof errors[0]); i++)
        if (errors[i].code == code)
            return i;
    return -1;
}

const char *gasnet_ErrorName(int errval)
{
    int i = error_index(errval);
    return i < 0 ? "unknown" : errors[i].name;
}

const char *gasnet_ErrorDesc(int errval)
{
    int i = error_index(errval);
    return i < 0 ? "unknown error" : errors[i].text;
}

static void say(const char *call, const char *text)
{
    fprintf(stderr, "windlass: node %d: %s: %s\n", self.rank, call, text);
}

static void die(const char *call, const char *text)
{
    say(call, text);
    if (self.begun)
        PMPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

int wdl_adi_gasnet_all(MPI_Comm comm, int yes)
{
    int all = 0;
    PMPI_Allreduce(&yes, &all, 1, MPI_INT, MPI_MIN, comm);
    return all;
}

/* --- begin and end ---------------------------------------------------------------------------- */

static int world_peer(void *ctx, int rank)
{
    (void) ctx;
    return rank;
}

static int team_make(void)
{
    struct wdl_gas_params params = {.team = {.id = BARRIER_TEAM,
                                             .rank = self.rank,
                                             .size = self.size,
                                             .window = 8,
                                             .peer_of = world_peer}};
    WDL_GAS_ENTER();
    int status = wdl_gas_init(wdl_adi.proc, &params, &self.all.core);
    WDL_GAS_LEAVE();
    return status == WDL_OK ? GASNET_OK : GASNET_ERR_RESOURCE;
}

static void segment_limits(void)
{
    uintptr_t bytes = (uintptr_t) sysconf(_SC_PHYS_PAGES) / 2 * (uintptr_t) sysconf(_SC_PAGESIZE);
    unsigned long long own, least;
    bytes /= (uintptr_t) MPIR_Process.local_size;
    if (bytes > place_step / 2)
        bytes = place_step / 2;
    own = bytes / GASNET_PAGESIZE * GASNET_PAGESIZE;
    least = own;
    PMPI_Allreduce(&own, &least, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, MPI_COMM_WORLD);
    self.local_max = (uintptr_t) own;
    self.global_max = (uintptr_t) least;
}

static void segments_drop(void)
{
    if (self.base)
        munmap(self.base, self.reserved);
    MPL_free(self.segments);
    self.base = NULL;
    self.segments = NULL;
    PMPI_Comm_free(&self.comm);
}

/* What was made goes, at the beginning of MPI_Finalize, which deletes this attribute. */
static int leave(MPI_Comm comm, int key, void *value, void *extra)
{
    int mpi_errno = MPI_SUCCESS;
    (void) comm;
    (void) key;
    (void) value;
    (void) extra;
    if (self.is_broken)
        die("gasnet_init", "it has failed, and so the job ends with an error");
    if (self.segments) {
        PMPI_Win_unlock_all(self.win);
        PMPI_Win_free(&self.win);
        WDL_GAS_ENTER();
        mpi_errno = wdl_adi_gasnet_segment_goes(self.base);
        WDL_GAS_LEAVE();
        segments_drop();
    }
    while (self.free) {
        struct gasnet_op *op = self.free;
        self.free = op->next;
        MPL_free(op);
    }
    WDL_GAS_ENTER();
    if (self.all.core)
        WDL_ADI_WAIT(wdl_gas_team_destroy(self.all.core), mpi_errno);
    self.all.core = NULL;
    WDL_GAS_LEAVE();
    self.begun = 0;
    return mpi_errno;
}

static int is_mpi_there(void)
{
    int begun = 0, ended = 0;
    PMPI_Initialized(&begun);
    PMPI_Finalized(&ended);
    return begun && !ended;
}

static void finalize(void)
{
    if (is_mpi_there())
        PMPI_Finalize();
}

/* Word of the end of MPI, and a team for barriers. */
static int begin(void)
{
    int key;
    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, leave, &key, NULL) != MPI_SUCCESS ||
        PMPI_Comm_set_attr(MPI_COMM_SELF, key, &self) != MPI_SUCCESS)
        return 0;
    PMPI_Comm_free_keyval(&key);
    return team_make() == GASNET_OK;
}

int gasnet_init(int *argc, char ***argv)
{
    int flag = 0;
    if (self.begun)
        return GASNET_ERR_BAD_ARG;
    PMPI_Initialized(&flag);
    if (!flag) {
        if (PMPI_Init(argc, argv) != MPI_SUCCESS)
            return GASNET_ERR_RESOURCE;
        atexit(finalize);
    }
    PMPI_Comm_rank(MPI_COMM_WORLD, &self.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &self.size);
    segment_limits();
    self.begun = 1;
    self.is_broken = !wdl_adi_gasnet_all(MPI_COMM_WORLD, begin());
    return self.is_broken ? GASNET_ERR_RESOURCE : GASNET_OK;
}

/* Memory at one address on all nodes: the first of a few places where all have room. */
static char *place_find(uintptr_t bytes)
{
    for (uintptr_t i = 0; i < PLACES; i++) {
        void *at = (void *) (place_first + i * place_step);
        void *got = mmap(at, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (wdl_adi_gasnet_all(self.comm, got == at))
            return got;
        if (got != MAP_FAILED)
            munmap(got, bytes);
    }
    return NULL;
}

/* The window over everybody's segment, and its addresses. */
static int segments_make(uintptr_t segsize)
{
    unsigned long long own = segsize, most = segsize;
    PMPI_Allreduce(&own, &most, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, self.comm);
    self.reserved = most ? (uintptr_t) most : GASNET_PAGESIZE;
    self.base = place_find(self.reserved);
    self.segments = wdl_adi_alloc((size_t) self.size * sizeof self.segments[0]);
    if (!wdl_adi_gasnet_all(self.comm, self.base && self.segments))
        return GASNET_ERR_RESOURCE;
    gasnet_seginfo_t mine = {segsize ? self.base : NULL, segsize};
    PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, self.segments, sizeof mine, MPI_BYTE, self.comm);
    if (PMPI_Win_create(self.base, (MPI_Aint) segsize, 1, MPI_INFO_NULL, self.comm, &self.win) !=
        MPI_SUCCESS)
        return GASNET_ERR_RESOURCE;
    PMPI_Win_lock_all(MPI_MODE_NOCHECK, self.win);
    return GASNET_OK;
}

/* NULL: nothing is. */
static const char *attach_wrong(int numentries, uintptr_t segsize)
{
    return numentries                  ? "handlers: there are no active messages"
           : segsize % GASNET_PAGESIZE ? "segsize is no multiple of GASNET_PAGESIZE"
           : segsize > self.global_max ? "segsize is beyond the limit of all nodes"
                                       : NULL;
}

int gasnet_attach(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize,
                  uintptr_t minheapoffset)
{
    (void) table;
    (void) minheapoffset; /* the heap is elsewhere */
    if (!self.begun)
        return GASNET_ERR_NOT_INIT;
    if (self.segments)
        return GASNET_ERR_BAD_ARG;
    const char *wrong = attach_wrong(numentries, segsize);
    if (wrong)
        say("gasnet_attach", wrong);
    if (!wdl_adi_gasnet_all(MPI_COMM_WORLD, !wrong)) /* before anybody waits for the others */
        return GASNET_ERR_BAD_ARG;
    PMPI_Comm_dup(MPI_COMM_WORLD, &self.comm);
    PMPI_Comm_set_errhandler(self.comm, MPI_ERRORS_RETURN); /* a window that cannot be had */
    int code = segments_make(segsize);
    if (code != GASNET_OK)
        segments_drop();
    return code;
}

void *wdl_adi_gasnet_segment(size_t *bytes_out)
{
    *bytes_out = self.segments ? self.segments[self.rank].size : 0;
    return self.segments ? self.base : NULL;
}

void gasnet_exit(int exitcode)
{
    if (exitcode && is_mpi_there())
        PMPI_Abort(MPI_COMM_WORLD, exitcode);
    finalize();
    exit(exitcode);
}

/* --- questions -------------------------------------------------------------------------------- */

char *gasnet_getenv(const char *name)
{
    return getenv(name);
}

gasnet_node_t gasnet_mynode(void)
{
    return (gasnet_node_t) self.rank;
}

gasnet_node_t gasnet_nodes(void)
{
    return (gasnet_node_t) self.size;
}

int gasnet_getSegmentInfo(gasnet_seginfo_t *seginfo_table, int numentries)
{
    if (!self.segments)
        return GASNET_ERR_NOT_INIT;
    if (numentries < self.size)
        return GASNET_ERR_BAD_ARG;
    memcpy(seginfo_table, self.segments, (size_t) self.size * sizeof self.segments[0]);
    return GASNET_OK;
}

uintptr_t gasnet_getMaxLocalSegmentSize(void)
{
    return self.local_max;
}

uintptr_t gasnet_getMaxGlobalSegmentSize(void)
{
    return self.global_max;
}

/* --- barriers --------------------------------------------------------------------------------- */

void gasnet_barrier_notify(int id, int flags)
{
    gasnet_coll_barrier_notify(&self.all, id, flags);
}

int gasnet_barrier_wait(int id, int flags)
{
    return gasnet_coll_barrier_wait(&self.all, id, flags);
}

int gasnet_barrier_try(int id, int flags)
{
    return gasnet_coll_barrier_try(&self.all, id, flags);
}

int gasnet_AMPoll(void)
{
    if (!self.begun)
        return GASNET_ERR_NOT_INIT;
    WDL_GAS_ENTER();
    int mpi_errno = MPID_Progress_test(NULL);
    WDL_GAS_LEAVE();
    return mpi_errno ? GASNET_ERR_RESOURCE : GASNET_OK;
}

/* --- puts and gets ---------------------------------------------------------------------------- */

static MPI_Aint place(const char *call, gasnet_node_t node, const void *at, size_t nbytes)
{
    const char *p = at;
    if (!self.segments)
        die(call, "gasnet_attach has not been called");
    if (node >= (gasnet_node_t) self.size)
        die(call, "there is no such node");
    const gasnet_seginfo_t *segment = &self.segments[node];
    const char *base = segment->addr;
    if (p < base || nbytes > segment->size || p > base + (segment->size - nbytes))
        die(call, "the remote memory is outside of the node's segment");
    return (MPI_Aint) (p - base);
}

static struct gasnet_op *op_get(int node)
{
    struct gasnet_op *op = self.free;
    if (op)
        self.free = op->next;
    else
        op = wdl_adi_alloc(sizeof *op);
    if (!op)
        die("gasnet_put_nb or gasnet_get_nb", "out of memory");
    op->uses++;
    op->is_live = 1;
    op->node = node;
    op->step = 0;
    return op;
}

static void op_free(struct gasnet_op *op)
{
    op->is_live = 0;
    op->next = self.free;
    self.free = op;
}

static gasnet_handle_t handle_of(struct gasnet_op *op)
{
    wdl_static_assert(_Alignof(struct gasnet_op) >= USES);
    return op ? (gasnet_handle_t) (void *) ((char *) op + op->uses % USES) : GASNET_INVALID_HANDLE;
}

static struct gasnet_op *op_of(const char *call, gasnet_handle_t handle)
{
    uintptr_t word = (uintptr_t) handle;
    struct gasnet_op *op = (struct gasnet_op *) (word & ~(uintptr_t) (USES - 1));
    if (!self.segments)
        die(call, "gasnet_attach has not been called");
    if (!op->is_live || op->uses % USES != word % USES)
        die(call, "the handle is dead: it has been synchronized before");
    return op;
}

enum { AT_ONCE = 1 << 30 }; /* bytes of one MPI call */

/* NULL: it is over. */
static struct gasnet_op *put(gasnet_node_t node, void *dest, void *src, size_t nbytes)
{
    MPI_Aint at = place("gasnet_put", node, dest, nbytes);
    if (node == (gasnet_node_t) self.rank) {
        memmove(dest, src, nbytes);
        return NULL;
    }
    char *from = src;
    for (; nbytes > AT_ONCE; nbytes -= AT_ONCE, from += AT_ONCE, at += AT_ONCE)
        PMPI_Put(from, AT_ONCE, MPI_BYTE, (int) node, at, AT_ONCE, MPI_BYTE, self.win);
    struct gasnet_op *op = op_get((int) node);
    PMPI_Rput(from, (int) nbytes, MPI_BYTE, (int) node, at, (int) nbytes, MPI_BYTE, self.win,
              &op->request);
    return op;
}

gasnet_handle_t gasnet_put_nb_bulk(gasnet_node_t node, void *dest, void *src, size_t nbytes)
{
    return handle_of(put(node, dest, src, nbytes));
}

gasnet_handle_t gasnet_get_nb_bulk(void *dest, gasnet_node_t node, void *src, size_t nbytes)
{
    MPI_Aint at = place("gasnet_get", node, src, nbytes);
    if (node == (gasnet_node_t) self.rank) {
        memmove(dest, src, nbytes);
        return GASNET_INVALID_HANDLE;
    }
    char *to = dest;
    for (; nbytes > AT_ONCE; nbytes -= AT_ONCE, to += AT_ONCE, at += AT_ONCE) {
        PMPI_Get(to, AT_ONCE, MPI_BYTE, (int) node, at, AT_ONCE, MPI_BYTE, self.win);
        PMPI_Win_flush((int) node, self.win);
    }
    struct gasnet_op *op = op_get(-1);
    PMPI_Rget(to, (int) nbytes, MPI_BYTE, (int) node, at, (int) nbytes, MPI_BYTE, self.win,
              &op->request);
    return handle_of(op);
}

/* The source may be written again when this returns. */
gasnet_handle_t gasnet_put_nb(gasnet_node_t node, void *dest, void *src, size_t nbytes)
{
    struct gasnet_op *op = put(node, dest, src, nbytes);
    if (op && nbytes > AT_ONCE)
        PMPI_Win_flush_local(op->node, self.win);
    if (op)
        PMPI_Wait(&op->request, MPI_STATUS_IGNORE);
    return handle_of(op);
}

gasnet_handle_t gasnet_get_nb(void *dest, gasnet_node_t node, void *src, size_t nbytes)
{
    return gasnet_get_nb_bulk(dest, node, src, nbytes);
}

/* One step of the flush of a put, which does not wait for those begun since its first step. */
static int flush_step(struct gasnet_op *op)
{
    MPIR_Win *win;
    WDL_GAS_ENTER();
    MPIR_Win_get_ptr(self.win, win);
    int status = wdl_win_flush(win->dev.wdl, op->node, 0, &op->step);
    int mpi_errno = status == WDL_AGAIN ? MPID_Progress_test(NULL) : MPI_SUCCESS;
    WDL_GAS_LEAVE();
    if (wdl_status_is_error(status) || mpi_errno)
        die("gasnet_try_syncnb",
            wdl_status_is_error(status) ? wdl_status_name(status) : "no progress");
    return status == WDL_OK;
}

void gasnet_wait_syncnb(gasnet_handle_t handle)
{
    if (!handle)
        return;
    struct gasnet_op *op = op_of("gasnet_wait_syncnb", handle);
    PMPI_Wait(&op->request, MPI_STATUS_IGNORE);
    if (op->node >= 0)
        PMPI_Win_flush(op->node, self.win);
    op_free(op);
}

int gasnet_try_syncnb(gasnet_handle_t handle)
{
    int done = 1;
    if (!handle)
        return GASNET_OK;
    struct gasnet_op *op = op_of("gasnet_try_syncnb", handle);
    PMPI_Test(&op->request, &done, MPI_STATUS_IGNORE);
    if (!done || (op->node >= 0 && !flush_step(op)))
        return GASNET_ERR_NOT_READY;
    op_free(op);
    return GASNET_OK;
}

void gasnet_put(gasnet_node_t node, void *dest, void *src, size_t nbytes)
{
    gasnet_wait_syncnb(gasnet_put_nb_bulk(node, dest, src, nbytes));
}

void gasnet_get(void *dest, gasnet_node_t node, void *src, size_t nbytes)
{
    gasnet_wait_syncnb(gasnet_get_nb_bulk(dest, node, src, nbytes));
}

void gasnet_put_bulk(gasnet_node_t node, void *dest, void *src, size_t nbytes)
{
    gasnet_put(node, dest, src, nbytes);
}

void gasnet_get_bulk(void *dest, gasnet_node_t node, void *src, size_t nbytes)
{
    gasnet_get(dest, node, src, nbytes);
}

static void try_list(gasnet_handle_t *handles, size_t n, size_t *live_out, size_t *done_out)
{
    *live_out = *done_out = 0;
    for (size_t i = 0; i < n; i++) {
        if (!handles[i])
            continue;
        ++*live_out;
        if (gasnet_try_syncnb(handles[i]) != GASNET_OK)
            continue;
        handles[i] = GASNET_INVALID_HANDLE;
        ++*done_out;
    }
}

int gasnet_try_syncnb_all(gasnet_handle_t *handles, size_t n)
{
    size_t live, done;
    try_list(handles, n, &live, &done);
    return done == live ? GASNET_OK : GASNET_ERR_NOT_READY;
}

int gasnet_try_syncnb_some(gasnet_handle_t *handles, size_t n)
{
    size_t live, done;
    try_list(handles, n, &live, &done);
    return done > 0 || live == 0 ? GASNET_OK : GASNET_ERR_NOT_READY;
}

void gasnet_wait_syncnb_all(gasnet_handle_t *handles, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        gasnet_wait_syncnb(handles[i]);
        handles[i] = GASNET_INVALID_HANDLE;
    }
}

void gasnet_wait_syncnb_some(gasnet_handle_t *handles, size_t n)
{
    while (gasnet_try_syncnb_some(handles, n) != GASNET_OK)
        ;
}
