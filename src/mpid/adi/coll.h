/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What the files of MPI's collectives share: the team of a communicator, memory the node shares
 * for it, and MPI's buffers and operators in the engine's words.
 */
#ifndef WDL_ADI_COLL_H_INCLUDED
#define WDL_ADI_COLL_H_INCLUDED

#include "wdl_adi.h"
#include "mpid/coll/coll.h"
#include "mpid/rma/kernel.h"

/* --- coll_shm.c: the arena, memory the node's processes share from the start. Each gives away
 * blocks of its own part and can address all of everybody's. --- */

struct wdl_arena_block;         /* of the own part */
struct wdl_spread_place;        /* proc/spread.h */
struct wdl_bell;                /* bell.h */

/* Collective over the node. Without memory there is no arena, for all alike. */
int wdl_arena_open(void);
void wdl_arena_close(void);
/* A zeroed block that `users` processes will use, or NULL; *card_out says where it is. */
struct wdl_arena_block *wdl_arena_take(size_t bytes, int users, uint64_t *card_out);
/* Another for the same users, who leave it with that one. */
struct wdl_arena_block *wdl_arena_take_more(size_t bytes, struct wdl_arena_block *with,
                                            uint64_t *card_out);
/* The block a process of this node has put on its card; NULL for an empty card. */
char *wdl_arena_at(int peer, uint64_t card);
/* The same of a block of so many bytes that lives as long as the arena: the first time that the
 * process is asked for, all pages of it are mapped at once. */
char *wdl_arena_at_once(int peer, uint64_t card, size_t bytes);
/* Each of a block's users has done with it, its owner too: it has not written to its bytes
 * [from, to), where from <= to. */
void wdl_arena_leave(char *block, size_t from, size_t to);
/* May a card that another process has told us stand for so many bytes? */
int wdl_arena_holds(uint64_t card, size_t bytes);
/* Is there one? Can this node's processes also fetch from each other's private memory? */
int wdl_arena_is_open(void);
int wdl_arena_fetches(void);
/* Where the node's processes wait, by their local ranks; NULL: there is no memory for it. */
struct wdl_spread_place *wdl_arena_places(void);
/* ... and their bells (bell.h), or NULL */
struct wdl_bell *wdl_arena_bells(void);

/* --- domain.c --- */

/* Collective over the node. */
int wdl_domains_open(void);
void wdl_domains_close(void);
/* The domain of a process of this node; -1: it has none, as no other has. */
int wdl_domain_of(int peer);

/* --- coll_model.c --- */

/* Does this process's user say anything of algorithms? Goes on its card (wdl_adi_chooses). */
enum wdl_adi_choice { WDL_ADI_CHOOSES_NOT, WDL_ADI_CHOOSES, WDL_ADI_MEASURES };
int wdl_adi_coll_chosen(void);
/* Collective over all processes, when all else has begun and there are no teams. */
int wdl_adi_coll_model_init(struct wdl_proc *proc);

/* --- coll_measure.c: when messages can be waited for, and there are no communicators. Rank 0
 * measures, its partner serves, others do neither: an MPI error each. --- */

/* Who: the first rank of another node, where there is none the last; 0: rank 0 is alone. */
int wdl_adi_measure_partner(void);
/* Costs of the network; `across` is 0. What could not be measured may be any number, or none. */
int wdl_adi_measure(int partner, struct wdl_coll_model *model_out);
int wdl_adi_measure_serve(void);
/* Who is in another domain of rank 0's node: the first one; -1: nobody, or nobody knows, or this
 * rank is on another node. */
int wdl_adi_measure_far(void);
/* What a store from one to the other takes, in ns; 0: it could not be measured. Rank 0 throws, the
 * other one returns. */
int wdl_adi_measure_across(int far, double *across_out);
int wdl_adi_measure_return(void);

/* --- coll_share.c --- */

enum { WDL_ADI_BOARD = 8192 };  /* bytes a rank can show to its node's others at a time */
enum { WDL_ADI_STAGING_LONG = 8 << 20 };        /* twice what it can show of long data */

/* A team's memory within its node, of what is in params already: adds what the team needs to know
 * of it. NULL: out of memory. */
struct wdl_adi_share *wdl_adi_share_make(struct wdl_team_params *params);
/* The team is destroyed, and this rank has not written to the bytes [from, to) of a segment (0, 0:
 * who knows); the team has not been made. */
void wdl_adi_share_leave(struct wdl_adi_share *share, size_t from, size_t to);
void wdl_adi_share_drop(struct wdl_adi_share *share);

/* --- coll_team.c --- */

/* The team of an intracommunicator of two or more, made on first use by all its ranks alike. WDL_OK
 * or an error of our own. */
int wdl_adi_team(MPIR_Comm * comm, struct wdl_team **team_out);
struct wdl_team *wdl_adi_team_of(const struct wdl_adi_team *t);
/* The number of a persistent collective, which all ranks ask for in the same order; *id_out is 0
 * if so many live that there is none. An MPI error. Its team is made on its first start and left in
 * the end, when the number is given back. */
int wdl_adi_persistent_id(MPIR_Comm * comm, uint32_t * id_out);
void wdl_adi_persistent_done(MPIR_Comm * comm, uint32_t id);
int wdl_adi_persistent_team(MPIR_Comm * comm, uint32_t id, struct wdl_adi_team **t,
                            struct wdl_team **team_out);
void wdl_adi_team_leave(struct wdl_adi_team *t);

/* --- coll_ops.c --- */

struct wdl_adi_spread {         /* where elements with gaps lie as the user's operator wants them */
    void *memory;               /* or NULL: they have none */
    char *left, *inout;
    size_t most, packed;        /* elements at a time; bytes of each without its gaps */
};

struct wdl_adi_op {             /* an operator at work; the ctx of wdl_coll_op */
    MPI_Op op;
    MPI_Datatype type;
    MPIR_op_function *builtin;  /* or NULL: the user's */
    const struct wdl_element *element;
    wdl_kernel_fn kernel;       /* the same for `many` elements on; or NULL: none of ours */
    size_t many;
    struct wdl_adi_spread spread;
};

/* Bytes of an element in the engine; 0: there is nothing to reduce. */
size_t wdl_adi_op_element(MPI_Datatype type);
/* Are there gaps in or between its elements? */
int wdl_adi_op_gaps(MPI_Datatype type);
/* Are its elements packed for the engine? Then wdl_adi_op_spread must follow wdl_adi_op_make, and
 * who has called it frees spread.memory: WDL_OK or ERR_NOMEM. */
int wdl_adi_op_packs(MPI_Datatype type);
int wdl_adi_op_spread(struct wdl_adi_op *op);
void wdl_adi_op_make(MPI_Op op, MPI_Datatype type, struct wdl_adi_op *ctx,
                     struct wdl_coll_op *op_out);

/* What is built in, until the next call of either; NULL: it is not. */
const struct wdl_coll_op *wdl_adi_op_known(MPI_Op op, MPI_Datatype type);

/* A user's buffer as contiguous bytes, or contiguous blocks of them: in place, or packed into
 * memory of ours. */
struct wdl_adi_data {
    char *at;
    void *copy;                 /* memory of ours, or NULL */
    void *user;
    MPI_Aint count;             /* per block, where they are equal */
    const MPI_Aint *counts, *displs;
    MPI_Datatype type;
    int blocks;
    size_t *lists;              /* of blocks that vary: bytes, places; the caller's lists */
};
enum wdl_adi_data_how { WDL_ADI_FILL = 1, WDL_ADI_APART = 2 }; /* contents matter; never in place */
/* WDL_OK or ERR_NOMEM. counts NULL: `blocks` blocks of `count` elements side by side. */
int wdl_adi_data_open(struct wdl_adi_data *data, int how, struct wdl_coll_blocks *blocks_out);
/* `store`: it has been written to. */
void wdl_adi_data_close(struct wdl_adi_data *data, int store);

static inline size_t wdl_adi_data_bytes(MPI_Aint count, MPI_Datatype type)
{
    MPI_Aint size;
    MPIR_Datatype_get_size_macro(type, size);
    return (size_t) (size * count);
}

/* --- coll_call.c --- */

/* A call of MPI's. One side's counts and displacements where blocks vary; `root` as in MPI. */
struct wdl_adi_mpi {
    enum wdl_coll_kind kind;
    int root, variable, exclusive;
    const void *sendbuf;
    void *recvbuf;
    MPI_Aint sendcount, recvcount;
    MPI_Datatype sendtype, recvtype;
    const MPI_Aint *sendcounts, *sdispls, *recvcounts, *rdispls;
    const MPI_Datatype *sendtypes, *recvtypes;  /* where they vary, too */
    int neighbors;              /* among those of a topology */
    MPI_Op op;
    MPIR_Comm *comm;
};

/* The same in the engine's words, and what must live until it is done. Opening it sets what stands
 * between req and mpi. */
struct wdl_adi_call {
    struct wdl_coll_req req;
    struct wdl_coll_args args;
    struct wdl_adi_op op;
    struct wdl_adi_data src, dst;
    int stores;                 /* dst is written to */
    int differs;                /* it gives itself another length than it gets */
    struct wdl_adi_mpi mpi;     /* of a nonblocking call: what it holds */
    MPIR_Request *request;
};

/* Does this rank's side matter? What does not may hold anything. */
int wdl_adi_call_sends(const struct wdl_adi_mpi *m);
int wdl_adi_call_receives(const struct wdl_adi_mpi *m);
/* Other owners for, and fewer owners of, the call's types and operator. */
void wdl_adi_call_hold(const struct wdl_adi_mpi *m);
void wdl_adi_call_drop(const struct wdl_adi_mpi *m);
/* Bytes of the call's block or vector: the same on all ranks, unless blocks vary. */
size_t wdl_adi_call_bytes(const struct wdl_adi_mpi *m);
/* WDL_OK or ERR_NOMEM. Of an intracommunicator, without types that vary. */
int wdl_adi_call_open(struct wdl_adi_call *call, const struct wdl_adi_mpi *m);
/* It has ended with that status: with which the call does. */
int wdl_adi_call_close(struct wdl_adi_call *call, int status);

/* --- coll_mpi.c --- */

/* Can the engine do it at all, as fast as it may be? All ranks say the same. */
int wdl_adi_coll_can(const struct wdl_adi_mpi *m);
/* What is over in the call, in that team, if there is one: 1 and its result. 0: it must begin, as
 * the next there. */
int wdl_adi_coll_at_once(const struct wdl_adi_mpi *m, struct wdl_adi_team *t, int waits,
                         int *mpi_errno);
/* Begin what it can; an MPI error. */
int wdl_adi_coll_begin(const struct wdl_adi_mpi *m, struct wdl_team *team, MPIR_Request ** request);
/* Step it until it is over; its status. */
int wdl_adi_express_wait(struct wdl_run *lane, int *mpi_errno);
/* The error of a status; does not return for lack of memory. */
int wdl_adi_coll_result(MPIR_Comm * comm, int status);

/* --- coll_instead.c --- */

/* MPI_Ibcast between two groups. */
static inline int wdl_adi_is_bcast_between(const struct wdl_adi_mpi *m)
{
    return m->kind == WDL_COLL_BROADCAST && m->comm->comm_kind == MPIR_COMM_KIND__INTERCOMM;
}
int wdl_adi_bcast_between(const struct wdl_adi_mpi *m, MPIR_Request ** request);
/* The error of a count that is none. */
int wdl_adi_count_error(MPI_Aint count);

#endif
