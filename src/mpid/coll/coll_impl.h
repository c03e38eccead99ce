/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Inside the collectives: the module, teams, cells, runs.
 *
 * Sequence and credit. Every collective that starts takes the team's next number s. Slot s mod W
 * of the cells is its own while 0 <= s - done < W, where `done` counts the leading collectives
 * finished here:
 *  1. s starts when all ranks are known to have finished all before s - W + 1 (s < low + W).
 *  2. A collective that nobody can finish before all have begun it carries credit: it starts when
 *     all before s - 3W/8 are finished here, so whoever has finished it knows low >= s - 3W/8. No
 *     number travels.
 *  3. When 3W/8 have started since the last one that carries credit, an empty one is put between:
 *     up and down the tree, two messages a rank. It starts at once, but goes up when all before s
 *     are finished here, so whoever has finished it knows low >= s: it holds up nobody until the
 *     window is full.
 *     On a node none of this is needed: each rank says how many it has finished, in memory that
 *     all see (shm.c), and who finds the window full looks there for `low`.
 *     Short scans, and what one rank gives of little, use no slot, but a line each of N >= W, and
 *     may be as far ahead (node_scan.c, board.c).
 *  4. The team's first collective is empty too, or carries cards: it ends when all ranks have made
 *     the team, and nothing starts before. So every packet a rank gets has 0 <= seq - done < W, or
 *     is malformed.
 *  5. A collective that may start takes a run from a pool; where there is none, it waits in the
 *     queue for one to end. It cannot wait for ever: each graph has a run of its own, which is free
 *     where nothing of the team's is under way. Of all collectives of a team that have not ended
 *     everywhere take the first: whoever has not begun it has nothing of the team's under way, as a
 *     rank begins them in order, and has finished all before it. So it begins everywhere, and
 *     needs no other one to end.
 */
#ifndef WDL_MPID_COLL_COLL_IMPL_H_INCLUDED
#define WDL_MPID_COLL_COLL_IMPL_H_INCLUDED

#include "base/assert.h"
#include "base/bypass.h"
#include "base/pool.h"
#include "mpid/coll/blocktime.h"
#include "mpid/coll/car.h"
#include "mpid/coll/coll.h"
#include "mpid/coll/pattern.h"
#include "mpid/coll/store.h"
#include "mpid/coll/tree.h"
#include "mpid/coll/wire.h"

enum {
    WDL_CHILDREN_MAX = 64,
    WDL_COLL_BUCKETS = 64,
    WDL_COLL_SENDS = 64,
    WDL_COLL_FLAGS = 64,
    WDL_COLL_GRAPHS_MAX = 64,
    WDL_COLL_VARIED_MAX = 4, /* of them, of blocks that vary: as long as the team has ranks */
    WDL_EARLY_BUCKETS = 32,
    WDL_STAGINGS = 2,
    WDL_ENDED_TEAMS = 8,
    WDL_PAST_TEAMS = 64,
    WDL_ENDED_PRINTS = 128 /* as many as a rank may be ahead, but in teams with greater windows */
};

/* What arrives before its RECV is armed waits here: one message of at most cell_bytes, or a
 * flag. */
struct wdl_cell {
    uint32_t seq; /* whose it is: full when equal to the slot's collective */
    uint32_t bytes;
    int32_t src; /* peer */
    uint32_t what; /* of the packet; with its offset */
    uint64_t offset;
    uint64_t offered; /* OFFER: bytes */
    char data[];
};

/* Memory of the receiver, as its ready flag says: no address of its. */
struct wdl_offer {
    uint64_t at; /* in the region */
    uint64_t region; /* 0: by messages */
    uint64_t bytes;
};

enum wdl_direct_stage {
    WDL_DIRECT_IDLE,
    WDL_DIRECT_PUT, /* to be flushed */
    WDL_DIRECT_THERE, /* to be told of */
    WDL_DIRECT_BROKEN
};

/* A SEND that may go ahead (ahead.h): it has begun so, to its `offer`; it cannot. */
enum { WDL_AHEAD_BEGUN = 1, WDL_AHEAD_REFUSED };

enum wdl_car_state { WDL_CAR_WAITING, WDL_CAR_ARMED, WDL_CAR_COMPLETE };

struct wdl_car_run {
    struct wdl_list link; /* in coll->ready, stalled, polled or own_cars, or alone */
    struct wdl_run *run;
    enum wdl_car_state state;
    int waits; /* completion edges still to come */
    int flight; /* SEND: pieces the network still reads */
    /* leading bytes received, copied, reduced, or handed to the network */
    size_t done;
    size_t arrived; /* RECV: bytes in all */
    int step, next; /* WATCH: its own; SEND: whether it goes ahead */
    struct wdl_offer offer; /* RECV of a ready flag: what came with it; SEND ahead: its place */
    enum wdl_direct_stage stage; /* SEND to such memory: of the piece on its way */
    size_t piece;
};

struct wdl_run {
    struct wdl_list link; /* graph->idle, or team->running */
    int own; /* the graph's own; or the pool's */
    struct wdl_graph *graph;
    struct wdl_team *team;
    const struct wdl_nodes *nodes; /* the graph's */
    struct wdl_coll_req *req; /* NULL once done, and for the empty ones */
    struct wdl_coll_args args;
    int held; /* args are a request's */
    uint32_t seq, print;
    struct wdl_doom *doom; /* it has failed (fail.h); or NULL */
    uint64_t stamp; /* the same, counted from 1 and never wrapping: what shared cells hold */
    int status;
    int cars_left, users_left;
    uint64_t *maps;
    char *tmp;
    size_t shown; /* node.c: bytes for a board, or too many for it */
    /* Of each rank's segment: its board for this collective; where its data is, own and others', if
     * not at `first` then at `second` (board.h). */
    struct wdl_board_places {
        size_t board, own, first, second;
    } at;
    wdl_watch_fn watch; /* express.c */
    void *apart; /* a result that may not be where it belongs yet */
    char *staged; /* what this rank has staged (staging.h); or NULL */
    size_t taken; /* of what is being read from another's */
    uint64_t since_ns; /* it has been under way, for who takes the time (node_fold.c) */
    struct wdl_car_run cars[];
};

/* The trees of rooted collectives: the fastest for little data, which flags take, too; and those
 * that rows have their names from (select.c). */
enum {
    WDL_SPAN_OPTIMAL,
    WDL_SPAN_BINOMIAL,
    WDL_SPAN_KNOMIAL, /* of WDL_SPAN_ARITY */
    WDL_SPAN_BINARY,
    WDL_SPAN_FLAT,
    WDL_SPAN_TREES
};
enum { WDL_SPAN_ARITY = 4 };
/* Roots' children of all of them but the flat one, whatever the number of ranks. */
enum { WDL_SPAN_CHILDREN = WDL_CHILDREN_MAX + 31 + 16 * (WDL_SPAN_ARITY - 1) + 2 };

/* Shapes of trees and rounds among so many ranks, by the model (nodes.c). */
struct wdl_span {
    int size;
    struct wdl_span_tree {
        struct wdl_tree_shape shape;
        int children, first; /* the root's; where they begin in `child`, but of the flat one */
        int steps; /* hops and waits for siblings, on the way that has most; the optimal one's: 0 */
        uint64_t ps; /* its time */
    } tree[WDL_SPAN_TREES];
    struct wdl_span_child { /* in sending order */
        int size, steps; /* ranks and steps below */
        uint64_t ps; /* its tree's time */
    } child[WDL_SPAN_CHILDREN];
    struct wdl_pattern_spread spread; /* for flags of all to all */
    int one_size, one_rounds, one_hops; /* one block on a circulant graph, perhaps of more ranks */
    int circulant_hops; /* of several */
};

/* What is found for one team does for others of its size, which come and go. */
enum { WDL_SPANS_KEPT = 2 };
struct wdl_span_kept {
    double latency, gap;
    int links;
    struct wdl_span span; /* of size 0: none is kept here yet */
};

struct wdl_team {
    struct wdl_list link; /* coll->teams */
    struct wdl_list kick; /* coll->kicks while something may start */
    struct wdl_list wait; /* coll->waiting while others on the node are too far behind */
    struct wdl_list dry; /* coll->dry while it waits for a run */
    struct wdl_coll *coll;
    struct wdl_team_params params;
    int rank, size;
    int window, links; /* W; roles of one phase */
    int numbers; /* N; see the head of this file */
    struct wdl_span span; /* of all ranks */
    uint32_t next, done, low; /* next to start; see the head of this file */
    uint64_t started;
    uint32_t sync; /* the last to start that carries credit */
    int status; /* an error that no later collective survives */
    int open; /* the first collective is finished: all ranks have made the team */
    struct wdl_list queue; /* requests not started */
    struct wdl_list graphs, running;
    int ngraphs, nvaried; /* kept; of them, of blocks that vary */
    struct wdl_run **slots; /* by seq mod W: the run, or NULL */
    unsigned char *finished; /* by seq mod W */
    uint32_t *prints; /* by seq mod N: of the last to start */
    struct wdl_list dooms; /* what is known to fail, and has not begun */
    int failing; /* runs that have failed */
    char *cells;
    uint64_t *cards; /* of all ranks, until the team is open; or NULL */
    uint64_t stamp; /* which of those that ever had its id it is (fail.h); 0: cards are awaited */
    size_t cell_stride;
    uint32_t data_roles, cell_roles; /* roles with room for data; with a cell at all */
    char *early; /* early.c; or NULL */
    struct wdl_list early_places[WDL_EARLY_BUCKETS]; /* by role */
    char **node; /* all ranks' segments, by rank; or NULL */
    int on_node; /* all of them are there: the team is open, and on one node */
    /* the team is open, and on several nodes, or in several domains of one; or NULL (nodes.h) */
    struct wdl_nodes *nodes;
    struct wdl_run *express; /* express.c; or NULL */
    uint64_t showed; /* express.c: the stamp of what is on the own board already; 0: none */
    size_t board_at, slot_bytes, lines_at; /* of the segments */
    struct wdl_flags *flags; /* contact.h; or NULL: all flags are messages */
    struct wdl_bypass bypass; /* for what this rank shows to others */
    /* this rank's, once they have been wanted, for longer data last (staging.h) */
    struct wdl_staging *staging[WDL_STAGINGS];
    struct wdl_rate {
        uint32_t said; /* of all that follows to the others */
        struct wdl_rate_times {
            uint32_t ns[3]; /* 64 KiB take, by way; 0: not known */
            unsigned last; /* the way of what was read last, ... */
            int row; /* ... and of so many before it */
            uint32_t asked, next, every; /* so often; when the other way is tried; how far apart */
            int staged; /* the faster way then */
        } of[6]; /* by use */
    } rate; /* how fast long data comes within the node (rate.h) */
};

/* On a node: a line for each of the last N collectives. In a short scan what a rank has given the
 * ranks above, its prefix; of rooted collectives, and blocks that vary, what is so little that it
 * needs no board (board.c). */
struct wdl_shm_line {
    uint64_t stamp, length; /* as in a board (board.h) */
    char data[WDL_COLL_LINE_BYTES];
};
static inline struct wdl_shm_line *wdl_shm_line_of(const struct wdl_team *team, int rank,
                                                   uint64_t stamp)
{
    char *lines = team->node[rank] + team->lines_at;
    return (struct wdl_shm_line *) (void *) lines + (stamp & ((uint64_t) team->numbers - 1));
}

struct wdl_coll_send { /* a piece the network still reads */
    struct wdl_nm_comp comp;
    struct wdl_list link;
    struct wdl_car_run *car;
};

struct wdl_flag_source { /* a flag that is put, while the network still reads it */
    struct wdl_nm_comp comp;
    struct wdl_list link;
    struct wdl_coll *coll;
    uint64_t words[WDL_FLAG_WORDS];
};

/* A flag or cards for a team not made here yet; or what has come while an operator runs. */
struct wdl_coll_stray {
    struct wdl_list link;
    struct wdl_coll_pkt pkt;
    int src;
    size_t bytes;
    char data[];
};

enum { WDL_FITTED_KEPT = 8 };

struct wdl_coll {
    struct wdl_proc *proc;
    struct wdl_host host; /* whose memory is used */
    struct wdl_coll_limits limits;
    struct wdl_store store, runs; /* store.h */
    struct wdl_pool early; /* early.c; its memory, once a team wants it */
    void *early_memory;
    struct wdl_list teams[WDL_COLL_BUCKETS]; /* by id */
    uint64_t made; /* teams, ever */
    struct wdl_list kicks, waiting, dry;
    /* CARs to step; SENDs the network refused; RECVs from memory that others write, WATCHes */
    struct wdl_list ready, stalled, polled;
    struct wdl_list questions, unlent; /* lend.c: on their way; SENDs that wait for an answer */
    struct wdl_list sends_free;
    struct wdl_coll_send sends[WDL_COLL_SENDS];
    struct wdl_list flags_free;
    struct wdl_flag_source flags[WDL_COLL_FLAGS];
    struct wdl_list slabs, shares; /* contact.c: memory for words; what of it is nobody's */
    struct wdl_list strays;
    int nstrays;
    /* Inside the engine: what starts now waits for the loop, and so does what comes. An operator of
     * the user's may be called there, which may make progress, or while the host lets other threads
     * in: they move nothing. */
    int busy;
    /* wdl_coll_aside; CARs, and requests, that wait for the program */
    int aside;
    struct wdl_list own_cars, own_ends;
    struct wdl_list late; /* cell.c: what has come meanwhile, in its order; bytes it takes */
    size_t late_bytes;
    size_t chunk_bytes; /* data of one packet */
    struct wdl_list regions, keys[WDL_COLL_BUCKETS]; /* direct.c; keys by peer */
    uint32_t region_id;
    int keys_useful, keys_useless; /* of those that flags were to be put by */
    struct wdl_coll_model model; /* for teams without one */
    const struct wdl_coll_wins *wins; /* wins.c */
    struct wdl_coll_site site;
    const char *preferred[WDL_COLL_KIND_COUNT]; /* rows' names, or NULL */
    /* cost.c: what it has found, for whom, and how often it had to */
    struct wdl_blocktime blocktime;
    struct wdl_fitted {
        double p, m, latency, gap, byte;
        int links;
        double ns;
    } fitted[WDL_FITTED_KEPT];
    uint64_t fitted_found;
    /* nodes.c: the last ones; the next to go; how often one had to be found */
    struct wdl_span_kept spans[WDL_SPANS_KEPT];
    unsigned next_span;
    uint64_t spans_found;
    /* fail.c: when to ask, how long after the last time, and what had been done then */
    uint64_t doubt_at, doubt_ns, doubt_seen;
    struct wdl_coll_stats stats;
    struct wdl_ended { /* what this rank meant in teams that are gone */
        uint64_t stamp;
        uint32_t next, print[WDL_ENDED_PRINTS]; /* by seq mod their number */
    } ended[WDL_ENDED_TEAMS];
    unsigned ended_count; /* ever */
    struct wdl_past { /* what it never began there, of more of them */
        uint64_t stamp;
        uint32_t next, rank;
    } past[WDL_PAST_TEAMS];
    unsigned past_count;
};

/* Counted as they begin and as they end (the seeds' hooks), for whoever serves what is live; may be
 * read without the caller's lock. */
static inline void wdl_coll_live_add(struct wdl_coll *coll, int by)
{
    __atomic_store_n(&coll->stats.live, coll->stats.live + (uint64_t) (int64_t) by,
                     __ATOMIC_RELAXED);
}

/* run.c */
/* Begin the graph as collective `seq`. WDL_OK; WDL_AGAIN: there is no run for it now; ERR_NOMEM,
 * when it is begun for the first time: there is none at all. */
int wdl_run_start(struct wdl_team *team, struct wdl_graph *graph, struct wdl_coll_req *req,
                  uint32_t seq);
/* Its first CAR has waited for this, too. */
void wdl_run_go(struct wdl_run *run);
/* Its collective is over. */
void wdl_req_end(struct wdl_coll *coll, struct wdl_coll_req *req, int status);
int wdl_coll_step(void *coll);
char *wdl_run_at(const struct wdl_run *run, struct wdl_loc loc);
/* A RECV's bytes are here. WDL_OK or ERR_PROTO. */
int wdl_run_deliver(struct wdl_run *run, int car, uint64_t offset, const void *data, size_t bytes);
/* ... or are in their place already. */
int wdl_run_placed(struct wdl_run *run, int car, uint64_t offset, uint64_t bytes);
/* A CAR has something to do; is complete: the run, and with it the CAR, may be gone then. */
void wdl_car_ready(struct wdl_car_run *c);
/* ... though it waits for something else. */
void wdl_car_wake(struct wdl_car_run *c);
void wdl_car_complete(struct wdl_car_run *c);
/* One that has failed: what of it the network does not use is over. Is nothing left? */
int wdl_run_drain(struct wdl_run *run);
/* ... and what has failed is over: the run may be gone then. */
void wdl_run_release(struct wdl_run *run);
/* How far it may go by what its inputs have. */
size_t wdl_car_limit(const struct wdl_car_run *c);
static inline const struct wdl_car *wdl_car_of(const struct wdl_car_run *c)
{
    return &c->run->graph->cars[c - c->run->cars];
}

/* send.c: one step of a SEND; WDL_AGAIN: the network refused */
int wdl_send_step(struct wdl_car_run *c);

/* cell.c */
int wdl_cells_make(struct wdl_team *team);
void wdl_cells_free(struct wdl_team *team);
/* On a circulant graph: a role each; backwards one for each step, fewer than blocks + P. */
enum { WDL_CIRCULANT_BLOCKS_MAX = WDL_BLOCKTIME_BLOCKS_MAX };
/* Roles without a cell that an algorithm may use: two kinds of data, their ready flags. */
static inline uint32_t wdl_roles_bare_max(const struct wdl_team *team)
{
    return 4 * (uint32_t) team->size + WDL_CIRCULANT_BLOCKS_MAX;
}
/* A RECV has been armed: take what its cell holds. 1: there was something. */
int wdl_cell_take(struct wdl_run *run, int car);
/* What has come for it otherwise, as a packet that has its role: WDL_OK, or it is as if nothing
 * had. */
int wdl_cell_give(struct wdl_run *run, int car, const struct wdl_coll_pkt *pkt, const void *data,
                  size_t bytes);
int wdl_coll_handle(void *coll, int src, const void *data, size_t bytes);
void wdl_coll_strays_give(struct wdl_team *team);
/* Handle what has come while an operator ran; how much. */
int wdl_coll_late_give(struct wdl_coll *coll);

/* shm.c */
struct wdl_shm_cell *wdl_shm_cell_of(const struct wdl_team *team, const struct wdl_car *car);
void wdl_shm_store(struct wdl_run *run, const struct wdl_car *car, const void *data);
/* The RECV's data, or NULL: not yet. Is it what is awaited? */
const void *wdl_shm_load(const struct wdl_run *run, const struct wdl_car *car);
int wdl_shm_fits(const struct wdl_run *run, const struct wdl_car *car);
/* Where the boards begin in a segment's slots, and the way from slot to slot. */
size_t wdl_shm_board_at(const struct wdl_team *team);
size_t wdl_shm_slot_bytes(const struct wdl_team *team);
/* ... and the lines. */
size_t wdl_shm_lines_at(const struct wdl_team *team);

/* On a node: how many leading collectives this rank has finished; and how many all have. */
void wdl_shm_say_finished(const struct wdl_team *team, uint32_t finished);
uint32_t wdl_shm_finished(const struct wdl_team *team);
/* The number up to which a rank has. */
uint32_t wdl_shm_finished_by(const struct wdl_team *team, int rank);
/* A word of this rank's for all; a rank's, 0 if it has said nothing (rate.h). */
void wdl_shm_say_rate(const struct wdl_team *team, uint32_t word);
uint32_t wdl_shm_rate_of(const struct wdl_team *team, int rank);

/* express.c: the team is open, on one node, and goes there without levels */
void wdl_express_make(struct wdl_team *team);

/* board.c: bytes of a board in a slot */
size_t wdl_board_bytes(const struct wdl_team *team);

/* team.c */
void wdl_team_shape(struct wdl_team *team);
void wdl_team_finished(struct wdl_run *run);
void wdl_team_start_queued(struct wdl_team *team);
void wdl_team_kick(struct wdl_team *team);
/* Done when the team, which is not open yet, is: from then on all ranks know the same of it
 * (on_node, nodes). It stands in the queue, and nothing is sent. WDL_OK, or what the team is closed
 * with. */
int wdl_team_await(struct wdl_team *team, struct wdl_coll_req *req);
/* Is nothing of it under way here, ... */
int wdl_team_is_quiet(const struct wdl_team *team);
/* ... and may the next collective start at once? */
int wdl_team_is_idle(struct wdl_team *team);
/* The next collective is over without having been under way: the team is quiet. */
static inline const void *wdl_stands_for(const struct wdl_team_params *params, const void *at)
{
    return params->stands_for && at ? params->stands_for(params->stands_for_ctx, at) : at;
}
void wdl_team_went_by(struct wdl_team *team, uint32_t print);
/* On a node: see what all have finished; has it become more? */
int wdl_team_look_low(struct wdl_team *team);
/* On one node: may the next begin here, where a rank is at most `all` ahead of the last? Who is so
 * far ahead goes on when it is half as far, for more than one at a time. */
int wdl_team_has_room(struct wdl_team *team, uint32_t all);
/* Are teams that had to wait for others on the node free to go on? How many. */
int wdl_teams_look(struct wdl_coll *coll);
/* The collective that tells all ranks all cards; nothing where there are none. */
struct wdl_coll_args wdl_team_cards_args(const struct wdl_team *team);

/* select.c */
/* The row for these arguments, or -1 with *status_out. */
int wdl_select_row(const struct wdl_team *team, const struct wdl_coll_args *args, int *status_out);
/* What is one thing on a node and another elsewhere becomes what it is; the team is open. */
void wdl_select_place(const struct wdl_team *team, struct wdl_coll_args *args);
int wdl_select_syncs(int row, const struct wdl_coll_args *args);
/* Of ranks that could all look at all boards: are two levels worth it, or asked for by name? */
int wdl_select_wants_levels(const struct wdl_team *team, const struct wdl_nodes *domains);
/* The graph for them, from the cache or new; NULL when memory is short. */
struct wdl_graph *wdl_select_graph(struct wdl_team *team, const struct wdl_coll_args *args,
                                   int row);
/* The empty collective: the team's first, and credit. */
struct wdl_graph *wdl_select_credit(struct wdl_team *team, int first);
/* A graph under way that nobody wants again: it goes with its run. */
void wdl_select_once(struct wdl_team *team, struct wdl_graph *graph);

/* wins.c: a row more; ERR_ARG: there is no room for it */
int wdl_wins_add(struct wdl_coll_wins *wins, enum wdl_coll_kind kind, enum wdl_coll_form form,
                 const struct wdl_coll_win *win);

#endif
