/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Inside GASNet's collectives: teams and operations. An operation is one collective of the outer
 * team, which starts at once, or a sequence of stages in a lane; a stage is any number of
 * collectives at a time. Lanes are taken in turn, so all ranks agree on an operation's; in a lane
 * the collectives of one operation come before those of the next, which begins its first stage when
 * the one ahead has begun its last. Who waits for a late rank between two stages holds up its lane
 * alone.
 */
#ifndef WDL_MPID_COLL_GASNET_IMPL_H_INCLUDED
#define WDL_MPID_COLL_GASNET_IMPL_H_INCLUDED

#include "base/assert.h"
#include "mpid/coll/gasnet_core.h"

enum {
    WDL_GAS_LANES = 4,
    WDL_GAS_LANE_WINDOW = 16 /* all lanes take as much memory as the outer team */
};

struct wdl_gas { /* of a process; the teams share it */
    struct wdl_proc *proc;
    struct wdl_gas_memory memory; /* no functions: there is none in common */
    struct wdl_gas_fn *fns;
    size_t fn_count;
    uint32_t next_id; /* of teams: nobody in any team of ours uses it or a greater one */
    int teams;
};

struct wdl_gas_engine { /* a team of the engine; NULL: not made */
    struct wdl_team *team;
    void *share; /* its memory in common with the node's ranks, if the process has any */
};

struct wdl_gas_lane {
    struct wdl_gas_engine engine;
    struct wdl_gas_team *team;
    struct wdl_list queue; /* operations that have not begun their last stage; the first one runs */
};

struct wdl_gas_team {
    struct wdl_gas *gas;
    struct wdl_gas_engine outer;
    struct wdl_gas_lane lanes[WDL_GAS_LANES];
    uint32_t calls; /* each one of a team of the engine, or an aggregate: they are numbered so */
    unsigned turn; /* operations and aggregates that have been given a lane */
    struct wdl_team_params params; /* of the outer one; the lanes' ids follow */
    int rank, size;
    size_t *first; /* node -> its first image; first[size]: all images */
    size_t each; /* images of every node, or 0: they differ */
    int *peers; /* node -> peer */
    char *segment; /* wdl_gas_segment; NULL: none */
    size_t segment_bytes;
    int attached; /* by this team, not by the one it was split from */
    struct wdl_list open; /* members of an aggregate not yet closed */
    struct wdl_list idle; /* operations to use again */
    struct wdl_list all; /* operations, by `known` */
    struct wdl_gas_op *nomem; /* what a call returns that finds no memory */
};

enum wdl_gas_state { WDL_GAS_IDLE, WDL_GAS_RUNNING, WDL_GAS_DONE };
enum {
    WDL_GAS_END = -1, /* there was no stage left */
    WDL_GAS_LAST = -2 /* the stage begun is the last, with nothing to do behind it */
};

struct wdl_gas_op {
    struct wdl_list known; /* team->all */
    struct wdl_list link; /* a lane's queue, team->open or idle, a list of members, or alone */
    struct wdl_gas_team *team;
    struct wdl_gas_lane *lane; /* of one in stages */
    unsigned uses; /* a handle remembers which use it is of */
    void *client[2];
    struct wdl_coll_req req;
    enum wdl_gas_state state;
    enum wdl_gas_error error;
    struct wdl_coll_args args; /* all operations: the flags; those of one collective: all of it */
    int stage, left; /* left: collectives of the stage not done */
    int ending; /* no stage is left to begin */
    int all_begun; /* ... or none that has a collective */
    /* Begins the stage `stage`: WDL_OK, an error, GAS_LAST or GAS_END. NULL: one collective */
    int (*next)(struct wdl_gas_op *op);
    struct wdl_list members; /* of an aggregate's last operation: what goes with it */
    struct wdl_gas_op *all; /* on a member: that last operation */
    void *memory; /* given back when the operation is */
    int holds; /* collectives that use the operation */
    /* what is left is the kinds' own: lists of addresses of the own images */
    void *const *dst;
    void *const *src;
    size_t nbytes;
    void *own; /* in `memory` */
    struct wdl_deal *deals[2]; /* of arrays (gasnet_deal.h) */
    int staged; /* known from the flags: a sequence of stages */
    int aggregated; /* a member of an aggregate that goes on */
    int vacant; /* stands for one that went wrong; nobody has its handle */
    int called; /* an aggregate's beginning: members whose roll is called, one a stage; `own` */
    int awaited; /* ... one stage more: until the lane's team was open */
    int color, key;
    enum wdl_gas_error wrong; /* of a split: nobody gets a team */
    struct wdl_gas_team **team_out;
    int *agreed_out;
    struct wdl_gas_op **bundled;
    int bundled_count;
};

/* --- gasnet_op.c --- */

/* An operation to fill, its flags checked; `more`: those allowed that not all kinds have; staged:
 * it will be a sequence of stages. NULL: return *handle_out. */
struct wdl_gas_op *wdl_gas_op_new(struct wdl_gas_team *team, int flags, int more, int staged,
                                  wdl_gas_handle *handle_out);
/* Done at once, with this error. Its place among the team's collectives is taken all the same, by
 * an empty one: where other nodes' calls are right they end with ERR_MISMATCH. (A blocking call
 * that would begin an aggregate has none.) */
wdl_gas_handle wdl_gas_op_fail(struct wdl_gas_op *op, enum wdl_gas_error error);
wdl_gas_handle wdl_gas_handle_of(struct wdl_gas_op *op);
/* Room that is given back with the operation, zeroed; NULL: out of memory. */
void *wdl_gas_op_memory(struct wdl_gas_op *op, size_t bytes);
void wdl_gas_op_memory_free(struct wdl_gas_op *op);
/* Begin op->args, as it is. */
wdl_gas_handle wdl_gas_op_begin(struct wdl_gas_op *op);
/* ... alone or as a member of an aggregate. */
wdl_gas_handle wdl_gas_op_start(struct wdl_gas_op *op, int flags);
/* Begin an operation of several stages, likewise. */
wdl_gas_handle wdl_gas_op_stages(struct wdl_gas_op *op, int flags,
                                 int (*next)(struct wdl_gas_op *op));
/* The flags of a stage that is the first one or the last one, or both. */
uint32_t wdl_gas_stage_flags(const struct wdl_gas_op *op, int first, int last);
/* One collective as (part of) a stage, with op->req or another that is free. */
int wdl_gas_stage_start(struct wdl_gas_op *op, const struct wdl_coll_args *args,
                        struct wdl_coll_req *req);
/* ... which is all of the last stage: GAS_LAST, or an error. */
int wdl_gas_stage_last(struct wdl_gas_op *op, const struct wdl_coll_args *args);
/* The last stage is one collective, in which this node cannot take part: the operation ends with
 * this error, on the others with ERR_MISMATCH, or well. */
int wdl_gas_stage_fail(struct wdl_gas_op *op, enum wdl_gas_error error);
/* Dead: its memory goes when no collective uses it. */
void wdl_gas_op_free(struct wdl_gas_op *op);
struct wdl_gas_op *wdl_gas_op_alloc(struct wdl_gas_team *team);

/* Addresses by node that a call lists by image, as SINGLE calls do: of nodes with one image, or of
 * each node's first one. The client's list may be gone before the last one reads it. NULL: out of
 * memory. */
enum wdl_gas_which { WDL_GAS_ONE_IMAGE, WDL_GAS_FIRST_IMAGE };
void *const *wdl_gas_by_node(struct wdl_gas_op *op, void *const *list, enum wdl_gas_which which);
/* SINGLE: what the call says of all nodes' sources and destinations, in op->args and in these
 * lists (NULL: there is none), which are copied where they may be looked at, so that no node shows
 * where its own are. WDL_OK or ERR_NOMEM. */
int wdl_gas_give(struct wdl_gas_op *op, void *const *srclist, void *const *dstlist,
                 enum wdl_gas_which which, uint32_t given);

/* SINGLE: all of a list, or without one an address, that every node uses itself, and so gives, or
 * that others rely on before they can know whether it does: nodes that differ do not mean the same
 * (args.alike). What the root alone uses is compared by who looks there (wdl_board_said). */
void wdl_gas_alike(struct wdl_gas_op *op, void *const *list, const void *at);

/* gasnet_bundle.c: the aggregate's members that make one collective begin as a part of head's
 * stage, together where they go the same way. */
int wdl_gas_bundles_start(struct wdl_gas_op *head, struct wdl_list *members);

/* gasnet_fold.c: a struct wdl_gas_apply as the engine's operator. */
void wdl_gas_apply(void *ctx, const void *left, void *inout, size_t elems);
void wdl_gas_apply_apart(void *ctx, const void *left, const void *right, void *result,
                         size_t elems);

/* gasnet_team.c: the node of an image, or -1. */
int wdl_gas_node_of(const struct wdl_gas_team *team, size_t image);

static inline const struct wdl_host *wdl_gas_host(const struct wdl_gas_team *team)
{
    return &team->gas->proc->host;
}

static inline size_t wdl_gas_images_of(const struct wdl_gas_team *team, int node)
{
    return team->first[node + 1] - team->first[node];
}

/* Elements of a type nobody has told us, which may want any power of two that divides its size; no
 * more than 8 is asked for, as complex numbers and structures of 16 bytes want no more. */
static inline int wdl_gas_misaligned(const void *at, size_t elem, int flags)
{
    size_t align = elem % 8 == 0 ? 8 : elem % 4 == 0 ? 4 : elem % 2 == 0 ? 2 : 1;
    return !(flags & WDL_GAS_UNALIGNED) && (uintptr_t) at % align != 0;
}

/* No node has so much memory; what sizes make together does not overflow as long as it is less. */
enum { WDL_GAS_BITS_MOST = 56 };
#define WDL_GAS_BYTES_MOST ((size_t) 1 << WDL_GAS_BITS_MOST)

/* As a rule without a division. */
static inline int wdl_gas_is_too_long(size_t blocks, size_t bytes)
{
    return (blocks | bytes) >> WDL_GAS_BITS_MOST / 2 && blocks &&
           bytes > WDL_GAS_BYTES_MOST / blocks;
}

/* Memory said to be in the segment must be, if there is one; no bytes are anywhere. */
static inline int wdl_gas_outside(const struct wdl_gas_team *team, const void *at, size_t bytes)
{
    const char *p = at;
    if (!team->segment || !bytes)
        return 0;
    return p < team->segment || bytes > team->segment_bytes ||
           p > team->segment + (team->segment_bytes - bytes);
}

/* What this node reads and writes must be where the flags say. */
static inline enum wdl_gas_error wdl_gas_segment_error(const struct wdl_gas_team *team, int flags,
                                                       const void *src, size_t src_bytes,
                                                       const void *dst, size_t dst_bytes)
{
    return ((flags & WDL_GAS_SRC_IN_SEGMENT) && wdl_gas_outside(team, src, src_bytes)) ||
                   ((flags & WDL_GAS_DST_IN_SEGMENT) && wdl_gas_outside(team, dst, dst_bytes))
               ? WDL_GAS_ERR_SEGMENT
               : WDL_GAS_FINE;
}

/* ... and the lists of its units, which may be NULL. */
static inline enum wdl_gas_error wdl_gas_lists_error(const struct wdl_gas_team *team, int flags,
                                                     size_t units, void *const *src,
                                                     size_t src_bytes, void *const *dst,
                                                     size_t dst_bytes)
{
    enum wdl_gas_error error = WDL_GAS_FINE;
    for (size_t i = 0; i < units && !error; i++)
        error = wdl_gas_segment_error(team, flags, src ? src[i] : NULL, src ? src_bytes : 0,
                                      dst ? dst[i] : NULL, dst ? dst_bytes : 0);
    return error;
}

#endif
