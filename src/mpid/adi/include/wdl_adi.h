/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What the files of adi/ share: the process, peers, waiting, errors. Called with MPICH's global
 * lock held.
 */
#ifndef WDL_ADI_H_INCLUDED
#define WDL_ADI_H_INCLUDED

#include "mpiimpl.h"
#include "base/assert.h"
#include "base/relax.h"
#include "base/status.h"
#include "mpid/proc/proc.h"
#include "mpid/proc/spread.h"
#include "wdl_tag.h"

struct wdl_bell;
struct wdl_bell_look;

struct wdl_adi {
    struct wdl_proc *proc;      /* NULL before MPID_Init and after MPID_Finalize */
    char *cards;                /* what every peer published, in memory the node shares (init.c) */
    int card_bytes;             /* from one card to the next */
    int crowded;  /* the node has more processes than processors; its processes agree */
    int tuned;  /* the user has a file of MPICH's algorithms (MPI_T_finalize takes its name away) */
    int spin_polls;  /* polls of a wait before it begins to yield; 0 when oversubscribed */
    int alone;  /* nobody else wants this processor; oversubscribed: wanted it when last offered; */
    int in_vain;        /* so many of those that were timed on end */
    unsigned untimed;   /* offers, timed now and then */
    uint64_t nobody_ns; /* an offer of the processor that nobody takes is over sooner */
    int wanted; /* not oversubscribed: so many more offers at once, another program took one */
    int slices; /* ... and short slices are asked for */
    int attends;        /* ... and others know that this process waits (wdl_rma_attend) */
    int can_sleep;              /* the network can wake us up */
    struct wdl_host_ops host_ops;       /* wdl_adi_host_ops without what this system lacks */
    uint64_t polls;             /* the program's, of the network */
    uint64_t given;             /* so often it has offered its processor, */
    unsigned refused;           /* and, not waiting, on end, to nobody */
    unsigned offers;            /* of the processor, in waits by memory */
    struct wdl_spread_looks spread_looks;       /* who waits where (spread.c) */
    unsigned passes;    /* collectives begun meanwhile */
    int unlooked;       /* so many calls more may be over without a look at the network */
    uint64_t stream;            /* our ring's card in the arena (stream.c); 0: none */
    int stream_tried;
    int naps;                   /* threads of the program asleep in a wait */
    /* bell.h: those of the node's processes, by local rank, or NULL; what this one knows of them;
     * how long one may not poll, which waits elsewhere, before it is rung for */
    struct wdl_bell *bells;
    struct wdl_bell_look *bell_looks;
    uint64_t bell_after_ns;
    int bells_reach_all;        /* there are no other processes than those */
    struct wdl_adi_asynch *asynch;      /* the progress thread (asynch.c), or NULL */
    struct MPIR_Datatype *left_types;   /* to be freed outside of the network and the core */
    struct MPIR_Comm *left_comms;       /* (attributes.h) */
    int deleting;               /* attributes, by functions of the user's */
    int closing;                /* MPID_Finalize is past its barrier: peers may vanish */
    int lost;                   /* a peer was found to be gone */
};
extern struct wdl_adi wdl_adi;

/* host.c: zeroed memory for what is made once, to be given to MPL_free; NULL: none. */
void *wdl_adi_alloc(size_t bytes);
/* host.c: the host table; its ctx is &wdl_adi. init.c has the two entries below. */
extern const struct wdl_host_ops wdl_adi_host_ops;
/* Prepare for the host's heavy barriers, one's own and the others'; 0 where the system has none. */
int wdl_adi_heavy_barrier_init(void);
int wdl_adi_address_of(void *ctx, int peer, const void **addr_out, size_t * bytes_out);
/* The processes of this node wait for each other, asleep; from MPIDU_Init_shm_init on. What a
 * process has put in its block before (MPIDU_Init_shm_put), at most WDL_ADI_BLOCK bytes, can be got
 * behind it. */
int wdl_adi_meet(void);
enum { WDL_ADI_BLOCK = 48 };
/* Each of them tells all so much, and hears what each has said, itself too, in the order of their
 * local ranks. */
typedef void (*wdl_adi_hear_fn) (void *ctx, int i, const void *said);
int wdl_adi_tell(void *mine, size_t bytes, wdl_adi_hear_fn hear, void *ctx);
/* processors.c: how many processors the processes of this node have between them; all of them call
 * it, once they can meet. sharers: processes on this machine, with those that act as other
 * nodes. */
int wdl_adi_processors(long sharers, long *count_out);
/* The process id of a peer, as its own node knows it. */
int wdl_adi_pid(int peer);
/* Has a peer's user said something of algorithms (enum wdl_adi_choice of coll.h)? */
int wdl_adi_chooses(int peer);
void wdl_adi_peer_lost(void *ctx, int peer);

/* copy.c: between our memory and that of a peer on this node; may we? */
int wdl_adi_copy_one(int peer, int to_peer, void *near, void *far, size_t bytes);
int wdl_adi_peer_open(int peer);

/* watch.c: who names a process that dies. begin: after PMI is there; join: when the node's first
 * process has begun; quiet: what happens next is on purpose; end: when every process is past its
 * last message. */
void wdl_adi_watch_begin(void);
void wdl_adi_watch_join(void);
void wdl_adi_watch_quiet(void);
void wdl_adi_watch_end(void);

/* attributes.c: from now on that file says when attributes are deleted. */
void wdl_adi_attributes_init(void);

/* asynch.c: MPI_Finalize begins with the end of MPICH's locking; from here on the thread serves
 * nobody, if there is one. Called before anything that may touch the network then. */
void wdl_adi_asynch_stop(void);

/* asynch.c: a collective has begun that its call does not wait for; with the setting `on` the
 * thread serves it. */
void wdl_adi_asynch_begun(void);

/* Looks at shared memory before the network has its turn; or, where others may want the processor,
 * offers of it. */
enum { WDL_ADI_MEMORY_LOOKS = 20, WDL_ADI_MEMORY_OFFERS = 8 };
static inline int wdl_adi_memory_looks(void)
{
    return wdl_adi.alone ? WDL_ADI_MEMORY_LOOKS : 0;
}
/* The same: `many` where every process has a processor of its own. */
static inline int wdl_adi_looks(int many)
{
    return wdl_adi.spin_polls > 0 ? many : wdl_adi_memory_looks();
}

/* Looks for others who may be about to come, of a call that has another way if they do not: where
 * they want this processor they are not. (bcast of 8 bytes, root after root, 8 ranks on 2
 * processors: 6.5 us with 60 looks, 4.5 with 2.) */
enum { WDL_ADI_LOOKS_AT_ONCE = 60, WDL_ADI_LOOKS_CROWDED = 2 };
static inline int wdl_adi_looks_at_once(void)
{
    int looks = wdl_adi_looks(WDL_ADI_LOOKS_AT_ONCE);
    return looks > WDL_ADI_LOOKS_CROWDED ? looks : WDL_ADI_LOOKS_CROWDED;
}

/* progress.c: from now on, while the node has memory for it, who waits rings (bell.h); no more. */
void wdl_adi_bells_begin(void);
void wdl_adi_bells_end(void);

/* slice.c: ask for a slice of the processor of `us` microseconds for this thread, and those it
 * makes from now on, if it has a longer one; 0: no. Refused by old kernels: then it only waits
 * longer. */
void wdl_adi_slice_ask(int us);

/* spread.c: a process that waits among many looks whether it should wait on another processor, and
 * goes there; so does, if it is time, one that begins a collective, which it may not wait for, or
 * which may be of little; it is about to sleep. */
void wdl_adi_spread_look(void);
void wdl_adi_spread_pass(int computes);
void wdl_adi_spread_sleep(void);

/* progress.c: wait, with all progress there is to make, until *done, which a completion of the
 * network sets, or until a hook of MPICH fails (an MPI error code). */
int wdl_adi_wait(const int *done);
/* All progress there is to make now, as MPID_Progress_test, but the processor is kept. *events_out:
 * how much there was. */
int wdl_adi_look(int *events_out);
/* As MPID_Progress_test; wdl_adi.refused says how often on end nobody took the processor. */
int wdl_adi_look_and_offer(void);
/* At the end of a call that may have been over without a look at the network: now and then. */
int wdl_adi_look_at_last(void);
static inline int wdl_adi_look_around(void)
{
    return likely(--wdl_adi.unlooked > 0) ? MPI_SUCCESS : wdl_adi_look_at_last();
}
/* The processor, to whoever wants it; begin: learn how long that takes if nobody does. */
void wdl_adi_offer(void);
void wdl_adi_offer_begin(void);

/* win.c: begin and end of the RMA module; before its end windows that the program has left are
 * freed, which is said. MPI error codes. */
int wdl_adi_rma_init(struct wdl_proc *proc);
int wdl_adi_rma_fini(struct wdl_proc *proc);
int wdl_adi_wins_end(void);

/* coll.c: begin and end of the collectives' engine. Teams' numbers: those of communicators are
 * context ids, those of persistent collectives have more bits above that (coll_team.c), that of
 * gasnet.h's barriers is one no context id ends in (gasnet.c), GASNet's are from WDL_TEAM_GASNET
 * on. */
#define WDL_TEAM_GASNET 0x80000000u
int wdl_adi_coll_init(struct wdl_proc *proc);
/* All teams are destroyed. */
int wdl_adi_coll_fini(struct wdl_proc *proc);
/* gas_team.c: destroy GASNet's teams. */
int wdl_adi_gasnet_fini(void);

/* coll_team.c: the communicator is about to be freed; end all teams of freed communicators. */
void wdl_adi_team_drop(MPIR_Comm * comm);
int wdl_adi_teams_end(void);

/* coll_persist.c */
int wdl_adi_persist_coll_start(MPIR_Request * request);
void wdl_adi_persist_coll_free(MPIR_Request * request);

/* win_shm.c: forget the memory kept for the communicator's next window. */
void wdl_adi_spare_drop(MPIR_Comm * comm);

/* The peer number of a rank of comm (of its remote group, if comm is an intercommunicator). */
static inline int wdl_adi_peer(const MPIR_Comm * comm, int rank)
{
    return wdl_rank_map_peer(&comm->dev.map, rank);
}

/* comm.c: what MPICH asks of a device about communicators. */
void wdl_adi_comm_init(void);

/* comm.c: are all ranks on this node? */
int wdl_adi_comm_on_node(MPIR_Comm * comm);
/* Another owner for a map, and one less. */
void wdl_rank_map_share(struct wdl_rank_map *map, const struct wdl_rank_map *source);
void wdl_rank_map_release(struct wdl_rank_map *map);

/* comm.c: the smallest map that says peers[0 .. size-1]; WDL_OK or WDL_ERR_NOMEM. */
int wdl_rank_map_build(struct wdl_rank_map *map, const int *peers, int size);

/* errors.c: an MPI error code of the class that fits the status; MPI_SUCCESS for WDL_OK. */
int wdl_adi_error(int status, const char *fcname, int line);
static inline int wdl_adi_code(int status, const char *fcname, int line)
{
    return likely(status == WDL_OK) ? MPI_SUCCESS : wdl_adi_error(status, fcname, line);
}

#define WDL_ADI_ERROR(status) wdl_adi_code((status), __func__, __LINE__)
/* Leave through fn_fail when status is an error. */
#define WDL_ADI_CHECK(status, mpi_errno)                                                       \
    do {                                                                                       \
        int wdl_check_ = (status);                                                             \
        if (unlikely(wdl_status_is_error(wdl_check_))) {                                       \
            (mpi_errno) = WDL_ADI_ERROR(wdl_check_);                                           \
            goto fn_fail;                                                                      \
        }                                                                                      \
    } while (0)

/* Call expr until it is something else than WDL_AGAIN, making progress in between; mpi_errno
 * becomes the MPI error code of its result. BY_MEMORY: what expr waits for may be a plain store of
 * another process, which is usually about to come: it looks several times before the network has
 * its turn, unless looking is DEAR. */
enum wdl_adi_memory { WDL_ADI_BY_NETWORK, WDL_ADI_BY_MEMORY_DEAR, WDL_ADI_BY_MEMORY };
#define WDL_ADI_WAIT(expr, mpi_errno)                                                          \
    WDL_ADI_WAIT_(expr, mpi_errno, WDL_ADI_BY_NETWORK, WDL_ADI_ERROR(wdl_status_))
#define WDL_ADI_WAIT_BY_MEMORY(expr, mpi_errno)                                                \
    WDL_ADI_WAIT_(expr, mpi_errno, WDL_ADI_BY_MEMORY, WDL_ADI_ERROR(wdl_status_))
/* code: the MPI error code of wdl_status_ */
#define WDL_ADI_WAIT_(expr, mpi_errno, memory, code)                                           \
    WDL_ADI_WAIT_ON_(expr, expr, mpi_errno, memory, code)
/* The same where expr has been called once, with this status. */
#define WDL_ADI_WAIT_ON_(status, expr, mpi_errno, memory, code)                                \
    do {                                                                                       \
        int wdl_status_ = (status);                                                            \
        if (wdl_status_ == WDL_AGAIN) {                                                        \
            MPID_Progress_state wdl_wait_;                                                     \
            MPID_Progress_start(&wdl_wait_);                                                   \
            wdl_wait_.by_memory = (memory) != WDL_ADI_BY_NETWORK;                              \
            for (int wdl_look_ = (memory) == WDL_ADI_BY_MEMORY ? wdl_adi_memory_looks() : 0;   \
                 wdl_look_ > 0 && wdl_status_ == WDL_AGAIN; wdl_look_--) {                     \
                wdl_relax();                                                               \
                wdl_status_ = (expr);                                                          \
            }                                                                                  \
            while (wdl_status_ == WDL_AGAIN) {                                                 \
                int wdl_offers_ = (memory) == WDL_ADI_BY_MEMORY && !wdl_adi.alone ?            \
                    WDL_ADI_MEMORY_OFFERS : 0;                                                 \
                for (; wdl_offers_ > 0 && wdl_status_ == WDL_AGAIN; wdl_offers_--) {           \
                    wdl_adi_offer();                                                           \
                    wdl_status_ = (expr);                                                      \
                }                                                                              \
                if (wdl_status_ != WDL_AGAIN)                                                  \
                    break;                                                                     \
                (mpi_errno) = MPID_Progress_wait(&wdl_wait_);                                  \
                if (mpi_errno)                                                                 \
                    break;                                                                     \
                wdl_status_ = (expr);                                                          \
            }                                                                                  \
            MPID_Progress_end(&wdl_wait_);                                                     \
            if (mpi_errno)                                                                     \
                break;                                                                         \
        }                                                                                      \
        (mpi_errno) = (code);                                                                  \
    } while (0)

#endif
