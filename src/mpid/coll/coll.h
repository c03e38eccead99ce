/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Collectives: teams and what they do together. A call fills one `struct wdl_coll_args`, starts it
 * with a request of its own, and looks at the request; wdl_proc_progress moves everything on.
 *
 * Invariants:
 *  1. All ranks of a team start the same collectives in the same order, with kind, root, sizes,
 *     operator and flags equal. Those who do not end with ERR_TRUNCATE, or without an error where
 *     they cannot see it, and write nothing out of their bounds (fail.h).
 *  2. Starting never waits and never fails for want of room in the window: what does not fit
 *     queues in its request.
 *  3. A request's memory, and what its args point to, stay the caller's but untouched until
 *     `done`.
 *  4. req->fn is called from wdl_proc_progress or wdl_coll_start; it may start collectives, but
 *     not make progress.
 *
 * One thread at a time; the caller serializes. Never called from a message handler. While an
 * operator runs others may call, and what they start, or wait for, goes on when it has returned. It
 * may itself wait for what is none of the collectives', and make progress.
 */
#ifndef WDL_MPID_COLL_COLL_H_INCLUDED
#define WDL_MPID_COLL_COLL_H_INCLUDED

#include "mpid/proc/proc.h"

struct wdl_build;
struct wdl_coll;
struct wdl_run;
struct wdl_team;

/* X(name): what a team can do. Blocks are numbered by rank. */
#define WDL_COLL_KINDS(X) \
    X(BARRIER)            \
    X(BROADCAST)          \
    X(SCATTER)            \
    X(GATHER)             \
    X(GATHER_ALL)         \
    X(EXCHANGE)           \
    X(REDUCE) X(ALLREDUCE) X(SCAN) X(REDUCE_SCATTER) X(CUSTOM)

enum wdl_coll_kind {
#define WDL_COLL_KIND_ENUM(name) WDL_COLL_##name,
    WDL_COLL_KINDS(WDL_COLL_KIND_ENUM)
#undef WDL_COLL_KIND_ENUM
        WDL_COLL_KIND_COUNT
};

static inline int wdl_coll_reduces(enum wdl_coll_kind kind)
{
    return kind >= WDL_COLL_REDUCE && kind < WDL_COLL_CUSTOM;
}

/* Has it a root? (CUSTOM: wdl_coll_args says.) */
static inline int wdl_coll_is_rooted(enum wdl_coll_kind kind)
{
    return kind == WDL_COLL_BROADCAST || kind == WDL_COLL_SCATTER || kind == WDL_COLL_GATHER ||
           kind == WDL_COLL_REDUCE;
}

enum wdl_coll_flag {
    WDL_COLL_IN_NOSYNC = 1, /* data may move as soon as anyone has started */
    WDL_COLL_IN_MYSYNC = 2, /* ... in or out of a rank's memory once that rank has started */
    WDL_COLL_IN_ALLSYNC = 4, /* ... once all have started */
    WDL_COLL_OUT_NOSYNC = 8, /* all data has moved when the last request is done */
    WDL_COLL_OUT_MYSYNC = 16, /* my request: all data to and from my memory has moved */
    WDL_COLL_OUT_ALLSYNC = 32, /* any request: all data of all ranks has moved */
    /* Addresses are known to all; every rank knows its own. Never are they exchanged by themselves,
     * and no message has one: a ready flag says a place in attached memory. On a node a rank's
     * board says where its long data is; but with SRC_GIVEN, DST_GIVEN only whose memory it is. */
    WDL_COLL_SINGLE = 64,
    WDL_COLL_LOCAL = 128,
    /* scan: without the own contribution; rank 0's destination is left alone */
    WDL_COLL_EXCLUSIVE = 256,
    /* the destinations of all ranks are attached: no detour through other memory */
    WDL_COLL_PLACED = 1 << 16,
    /* With IN_NOSYNC, of kinds that move blocks: every rank knows where all ranks' destinations
     * are (dst_of), sources (src_of), and they may be written, read, before their ranks have
     * started. Destinations are attached. */
    WDL_COLL_DST_KNOWN = 1 << 17,
    WDL_COLL_SRC_KNOWN = 1 << 18,
    /* reduce, scan, not OUT_ALLSYNC: who gives to others of its node does not wait for one that is
     * late: what is long is copied for it, or left where it is (OUT_NOSYNC), and who finds all
     * others there helps to fold it. (Else all fold parts of a long vector.) */
    WDL_COLL_LEAVES = 1 << 19,
    /* SINGLE: the arguments say where the sources, destinations, of all ranks are (src_of, dst_of;
     * an entry that is NULL is not known). In place of the express lane's LOCAL, too. */
    WDL_COLL_SRC_GIVEN = 1 << 20,
    WDL_COLL_DST_GIVEN = 1 << 21
};
#define WDL_COLL_IN (WDL_COLL_IN_NOSYNC | WDL_COLL_IN_MYSYNC | WDL_COLL_IN_ALLSYNC)
#define WDL_COLL_OUT (WDL_COLL_OUT_NOSYNC | WDL_COLL_OUT_MYSYNC | WDL_COLL_OUT_ALLSYNC)
/* Is one of the set chosen, and no more? */
static inline int wdl_coll_one_of(uint32_t flags, uint32_t set)
{
    uint32_t chosen = flags & set;
    return chosen && !(chosen & (chosen - 1));
}
/* What MPI's collectives promise. */
#define WDL_COLL_MPI (WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_MYSYNC | WDL_COLL_LOCAL)

/* How data flows: decides the entry and exit synchronization. From the root, to it, or from all to
 * all. */
enum wdl_flow { WDL_FLOW_ALL, WDL_FLOW_DOWN, WDL_FLOW_UP };

/* inout[i] = left[i] op inout[i] for count elements; `left` holds the operands of lower ranks. */
typedef void (*wdl_coll_reduce_fn)(void *ctx, const void *left, void *inout, size_t count);
/* result[i] = left[i] op right[i], the result in memory that is neither operand's. */
typedef void (*wdl_coll_apart_fn)(void *ctx, const void *left, const void *right, void *result,
                                  size_t count);

enum {
    WDL_COLL_COMMUTES = 1,
    WDL_COLL_EXACT = 2 /* ... and however they are grouped, the result has the same bits */
};

struct wdl_coll_op {
    wdl_coll_reduce_fn fn;
    void *ctx;
    size_t elem_bytes;
    int commutes; /* operands may change places: 0, or one of these; they may always be grouped */
    wdl_coll_apart_fn apart; /* ... where that saves a copy; or NULL */
};

/* Blocks of different sizes: rank r's has bytes[r] bytes, at[r] bytes from the buffer's start. */
struct wdl_coll_blocks {
    const size_t *bytes, *at; /* both NULL: all blocks are args->bytes, side by side */
};

/* The sum of what ranks must give alike, one address after the other, begins with 0. It tells
 * nobody what they are. */
static inline uint32_t wdl_alike_add(uint32_t sum, const void *at)
{
    uint64_t h = ((uint64_t) sum << 32 ^ (uint64_t) (uintptr_t) at) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29) * 0x9e3779b97f4a7c15u;
    return (uint32_t) (h >> 32);
}

/*              src          dst              bytes        src_blocks  dst_blocks
 * barrier      -            -                -            -           -
 * broadcast    root: bytes  others: bytes 1  the data     -           -
 * scatter      root: blocks bytes            own block    root        -
 * gather       bytes        root: blocks     own block    -           root
 * gather_all   bytes 2      blocks           own block    -           all
 * exchange     blocks       blocks           a block      all         all
 * reduce       bytes 2      root: bytes      the vector   -           -
 * allreduce    bytes 2      bytes            the vector   -           -
 * scan         bytes 2      bytes            the vector   -           -
 * red_scatter  blocks 2     own block        own block    all 3       -
 * custom       as `build` likes; bytes: any number, the same on all ranks
 *
 * 1: the root too, unless dst == src or NULL. 2: src may be dst (gather_all: the own block in it).
 * 3: the same list on all ranks. Otherwise memory does not overlap. The last two columns: which
 * ranks give block lists, if any.
 */
struct wdl_coll_args {
    enum wdl_coll_kind kind;
    uint32_t flags; /* one of IN, one of OUT, one of SINGLE and LOCAL */
    int root;
    const void *src;
    void *dst;
    size_t bytes;
    /* DST_KNOWN, SRC_KNOWN, and what is GIVEN: addresses by rank; NULL: `dst`, `src`, is that of
     * every rank that has one. They stay until the collective is released (below). */
    void *const *dst_of;
    void *const *src_of;
    uint32_t alike; /* ranks that differ do not mean the same (wdl_alike_add); 0: nothing */
    int variable; /* block lists are in use (on every rank, or on none) */
    struct wdl_coll_blocks src_blocks, dst_blocks;
    struct wdl_coll_op op; /* reductions */
    /* Local work as a part of the collective: `before` fills src from the user's memory, `after`
     * takes dst apart into it; NULL: none. On every rank or none, but for ranks without src or
     * dst. With OUT_NOSYNC `before` may run when the request is done, if there is no `after`. */
    void (*before)(void *local);
    void (*after)(void *local);
    void *local;
    /* Called when nothing of the collective on this rank uses `local` any more, which may be after
     * the request is done; or NULL. Not if the start is refused. */
    void (*release)(void *local);
    /* CUSTOM: adds this rank's part of the graph (algo.h) */
    void (*build)(struct wdl_build *b);
    enum wdl_flow flow; /* CUSTOM */
    /* CUSTOM: a kind that does the same with these arguments, which is taken instead where the
     * ranks of a node can do it without messages; 0: there is none */
    enum wdl_coll_kind on_node;
    /* NULL: choose; else this row of select.c where it applies, or ERR_ARG */
    const char *algorithm;
    unsigned own; /* of enum wdl_coll_own: what waits while the program is aside */
    uint32_t call; /* the number of the call that it is a part of (`upcoming`); 0: it has none */
    /* It fails on all ranks: this one knows that it cannot take part. WRONG_SEQUENCE: in place of
     * any number of collectives; where others mean something else, their numbers are not ours from
     * here on, and the team is closed. */
    enum { WDL_COLL_RIGHT, WDL_COLL_WRONG, WDL_COLL_WRONG_SEQUENCE } wrong;
};

/* What only the program's own calls do (wdl_coll_aside). */
enum wdl_coll_own {
    WDL_COLL_OWN_WORK = 1, /* the operator, CALLs, WATCHes */
    WDL_COLL_OWN_END = 2 /* the request is done, and req->fn called */
};

struct wdl_coll_req {
    int done, status;
    void (*fn)(struct wdl_coll_req *req); /* may be NULL; the caller sets it */
    void *ctx; /* the caller's */
    struct wdl_list link; /* the engine's, with what follows, until done */
    struct wdl_coll_args args;
};

/* Costs of the network as the algorithms are chosen by; the same on all ranks. Times in ns. */
struct wdl_coll_model {
    /* end to end; between messages; per byte; per byte reduced */
    double latency, gap, byte, reduce;
    /* within a node: until what is stored in one domain is seen in another; 0: nobody has said */
    double across;
};

/* Where the engine is the faster way between nodes, for calls that have another one (wins.c). */
enum wdl_coll_form {
    WDL_COLL_WAITED,
    WDL_COLL_BEGUN, /* the caller does not wait: these rows count besides those of WAITED */
    WDL_COLL_VARIED, /* blocks of different sizes; likewise */
    WDL_COLL_VARIED_BEGUN,
    WDL_COLL_FORM_COUNT
};
enum { WDL_COLL_WINS_MAX = 4 }; /* of a kind and form */
struct wdl_coll_win {
    int a_node; /* so many ranks a node or more: of the team, on all nodes of the job; 0: no row */
    size_t least, most; /* bytes, as in wdl_coll_args; of blocks of different sizes: any */
};
struct wdl_coll_wins {
    struct wdl_coll_win of[WDL_COLL_KIND_COUNT][WDL_COLL_FORM_COUNT][WDL_COLL_WINS_MAX];
};

/* Where this process runs: the same on all ranks of its node, `nodes` on all. */
struct wdl_coll_site {
    int nodes; /* of the job */
    size_t board_bytes; /* of its teams; 0: the ranks of the node share no memory */
    int fetches; /* can they copy from each other's private memory? */
    int domains; /* does each keep to one? (domain_of of the team's parameters) */
};

/* A call that has another way. */
struct wdl_coll_call {
    enum wdl_coll_kind kind;
    int begun; /* its caller does not wait */
    int variable, size, on_node; /* size: ranks; on_node: all of them are on this one */
    size_t bytes; /* as in wdl_coll_args; variable: 0 */
};

/* Cells in memory that the ranks of a node share: a segment per rank, wdl_coll_shm_bytes() long,
 * 64-byte aligned. All of them are there, zeroed, before any rank makes the team, and are the
 * team's alone until it is destroyed everywhere. */
struct wdl_coll_shm {
    /* The own rank's, too. NULL: another node, or there is none of that rank's: what it sends and
     * what it is sent goes by message. */
    void *(*segment)(void *ctx, int rank);
    void (*wake)(void *ctx, int rank); /* called behind each store; or NULL */
    /* Copy from, and to, the private memory of a rank of this node. WDL_OK or an error. NULL: that
     * cannot be done, on none of the ranks of a node. */
    int (*peek)(void *ctx, int rank, const void *there, void *here, size_t bytes);
    int (*poke)(void *ctx, int rank, const void *here, void *there, size_t bytes);
    /* More memory of the own rank's that its node can look at, 64-byte aligned, the team's alone
     * until it is destroyed everywhere: asked for once, for long data. A number by which others
     * find it, not 0; bytes in it have their place added to that. NULL: there is none. */
    void *(*staging)(void *ctx, size_t bytes, uint64_t *card_out);
    /* ... of another rank: so many bytes from there on; NULL: that is none of its. Both or none. */
    void *(*staging_of)(void *ctx, int rank, uint64_t card, size_t bytes);
    void *ctx;
    int crowded; /* the node has more processes than processors; the same on all its ranks */
};

struct wdl_team_params {
    /* The same on all ranks; not in use by another team any of them knows. Ranks that are not in
     * this one may still be in one that had it before. */
    uint32_t id;
    int rank, size;
    int (*peer_of)(void *ctx, int rank);
    void *ctx;
    /* collectives that run at a time, a power of two of at least 8; 0: 64 */
    int window;
    size_t cell_bytes; /* payload that may come before its receiver has started; 0: 256 */
    /* what a rank can show to all others of its node at a time; 0: 2048 */
    size_t board_bytes;
    /* what it can show of longer data at a time, a multiple of 128; 0: 1 MiB */
    size_t staging_bytes;
    /* ... and, if that is more than half of it, in memory of its own (of two ranks no operands); 0:
     * none */
    size_t staging_long_bytes;
    uint32_t first_seq; /* any; the same on all ranks */
    int poison; /* tests: overwrite cells once read */
    /* ranks that share one memory, as simulated ones do, have nothing at one address: what stands
     * for an address where all are compared; NULL: it itself */
    const void *(*stands_for)(void *ctx, const void *at);
    void *stands_for_ctx;
    struct wdl_coll_model model; /* all zero: the process's (wdl_coll_model_set), or a default */
    const struct wdl_coll_shm *shm; /* NULL: messages only; else as long as the team */
    /* Not NULL: the team's first collective tells every rank the cards of all, by rank; shm is
     * used from then on only, so that segments may be found by what is on the cards. */
    void (*opened)(void *ctx, const uint64_t *cards);
    /* Which node a rank is on: any number, the same on all ranks; -1: its memory is not shared with
     * its node, or there is no peek. Asked once the team is open; NULL: nobody knows. */
    int (*node_of)(void *ctx, int rank);
    /* Which part of its node a rank keeps to, of those within which processors are nearest to each
     * other: any number from 0 on, the same on all ranks; -1: it may be anywhere. Asked behind
     * node_of, where that says one node; NULL: nobody knows. */
    int (*domain_of)(void *ctx, int rank);
    void *opened_ctx;
    /* Not NULL: calls have numbers, from 1 on, and go to several teams, each on all ranks to the
     * same one. The number of the call that is the next to start a collective in this team, of
     * those there are or else of the one to come: who has waited long for a rank that is beyond
     * that call hears that it will not come (fail.h). */
    uint32_t (*upcoming)(void *ctx);
    void *upcoming_ctx;
    uint64_t card; /* less than 1 << WDL_CARD_BITS: above it the engine's own is sent along */
};
enum { WDL_CARD_BITS = 48 };

/* How much of what is made beforehand there may be at a time. Where it is used up nothing fails:
 * collectives wait for others to end, data goes by messages, strays stay in the network. */
struct wdl_coll_limits {
    size_t run_bytes; /* of runs of each size, beyond one of each graph; default: 128 KiB */
    int early_places; /* addresses that come early for roles without a cell; default: 256 */
    int strays; /* messages for teams not made here yet, not 0; default: 65,536 */
    /* of messages that come while an operator runs; what it waits for may be behind those that are
     * too many; default: 64 MiB */
    size_t late_bytes;
};

struct wdl_coll_stats {
    uint64_t stored; /* cells of the node's ranks written */
    /* bytes put in or fetched from their places; copied out of messages, in or out of cells and
     * boards */
    uint64_t placed_bytes, copied_bytes;
    uint64_t put; /* flags, of those sent: not by messages */
    uint64_t questions; /* where flags may be put */
    uint64_t sent, sent_bytes, started, finished, early, graphs_built, runs_made, live;
    uint64_t asked, failed; /* fail.c */
    /* collectives under way at once, at most; how often one has waited for a run to be free */
    uint64_t running, running_high, run_waits;
    uint64_t memory, memory_used, memory_high; /* bytes: of the pools; in use; and at most */
    uint64_t early_high, early_unplaced; /* addresses kept at once; for which there was no room */
};

int wdl_coll_init(struct wdl_proc *proc);
/* Memory comes from this host, and not from the process's, from now on. Before the first team. */
void wdl_coll_host(struct wdl_proc *proc, const struct wdl_host *host);
/* Other limits than the default's. Before the first team. */
void wdl_coll_limit(struct wdl_proc *proc, const struct wdl_coll_limits *limits);
/* Costs for the teams that do not say their own; the same on all ranks. Before the first team. */
void wdl_coll_model_set(struct wdl_proc *proc, const struct wdl_coll_model *model);
const struct wdl_coll_model *wdl_coll_model_get(const struct wdl_proc *proc);
/* Lines `latency N`, `gap N`, `byte N`, `reduce N`, and perhaps `across N`; and lines that each say
 * a struct wdl_coll_win of a kind and form (README.md, Which calls the engine carries out). WDL_OK,
 * or ERR_ARG and a text. */
int wdl_coll_model_read(const char *text, struct wdl_coll_model *model_out,
                        struct wdl_coll_wins *wins_out, char *err, size_t err_bytes);
/* The model in such lines. WDL_OK, or ERR_ARG and a text: a number that no network has, or no
 * room. */
int wdl_coll_model_write(const struct wdl_coll_model *model, char *text, size_t bytes, char *err,
                         size_t err_bytes);
/* What counts where nothing is set. */
extern const struct wdl_coll_wins wdl_coll_wins_measured;
/* They stay the caller's, as long as the process. The same on all ranks, at any time. */
void wdl_coll_wins_set(struct wdl_proc *proc, const struct wdl_coll_wins *wins);
void wdl_coll_site_set(struct wdl_proc *proc, const struct wdl_coll_site *site);
/* Is the engine faster than what else there is? All ranks of the call say the same. */
int wdl_coll_wins(const struct wdl_proc *proc, const struct wdl_coll_call *call);
/* Words `kind:row`, with commas between (broadcast:tree): the row for that kind wherever it
 * applies. The same on all ranks, before the first team. WDL_OK, or ERR_ARG and a text: nothing is
 * preferred that was not before. */
int wdl_coll_prefer(struct wdl_proc *proc, const char *text, char *err, size_t err_bytes);
/* All teams are destroyed. */
void wdl_coll_fini(struct wdl_proc *proc);
const struct wdl_coll_stats *wdl_coll_stats(struct wdl_proc *proc);

/* Memory of this process that others may write directly: what goes into it from any rank, and is
 * longer than one message, is not copied on its way. Regions may overlap. WDL_OK or ERR_NOMEM. */
int wdl_coll_attach(struct wdl_proc *proc, void *base, size_t bytes);
/* Of the regions attached so the last: nothing moves there any more, but into others that have the
 * same memory. WDL_AGAIN: make progress, and call again. */
int wdl_coll_detach(struct wdl_proc *proc, void *base, size_t bytes);

/* Bytes of one rank's segment (struct wdl_coll_shm) for these parameters. */
size_t wdl_coll_shm_bytes(struct wdl_proc *proc, const struct wdl_team_params *params);

/* A team: local. Collectives may be started at once; they move when all ranks have created it.
 * WDL_OK or ERR_NOMEM. */
int wdl_team_create(struct wdl_proc *proc, const struct wdl_team_params *params,
                    struct wdl_team **team_out);
/* WDL_AGAIN while something of the team's still moves on this rank. */
int wdl_team_destroy(struct wdl_team *team);
/* Of each segment that its node shares (wdl_coll_shm_bytes() long), what this rank has not written
 * to, and will not: the bytes [*from_out, *to_out). */
void wdl_team_untouched(const struct wdl_team *team, size_t *from_out, size_t *to_out);
/* No collective begins in this team any more, they end with this error: others have other numbers,
 * or memory is short. Who asks for this rank's part hears it. */
void wdl_team_close(struct wdl_team *team, int status);
/* Asserts the invariants of the team and all that runs in it. */
void wdl_team_check(const struct wdl_team *team);

/* Steps all collectives of this process, as wdl_proc_progress does, without a look at the network:
 * for the wait for a store of a neighbour. Returns the number of things done. */
int wdl_coll_progress(struct wdl_proc *proc);
/* Until further notice it is not the program that makes progress, but somebody in its place while
 * it computes: what is the program's own (args->own) waits for its next call; all else goes on. */
void wdl_coll_aside(struct wdl_proc *proc, int aside);
/* Does anything here wait for a store of a neighbour? */
int wdl_coll_by_memory(struct wdl_proc *proc);
/* Collectives begun and not done, those of the express lane aside. Any thread may ask, at any time
 * between wdl_coll_init and wdl_coll_fini. */
uint64_t wdl_coll_live(const struct wdl_proc *proc);

/* For who has waited in vain for a while, now and then: where collectives of this process have not
 * moved for long, those they wait for are asked whether they mean the same. */
void wdl_coll_doubt(struct wdl_proc *proc);
/* Another number whenever something of a collective has moved, be it a part of its data. */
uint64_t wdl_coll_moved(const struct wdl_proc *proc);

/* WDL_OK: req is the engine's until req->done; or ERR_ARG, ERR_RANK, ERR_OP, or what the team was
 * closed with: nothing happened. */
int wdl_coll_start(struct wdl_team *team, const struct wdl_coll_args *args,
                   struct wdl_coll_req *req);

/* The express lane, for who waits for nothing else: what starts here has no request, and does not
 * move by itself. NULL: not this way, nothing happened: wdl_coll_start. Only among the ranks of a
 * node, when nothing else of the team's is under way, without local work, synchronized as MPI's
 * collectives are (WDL_COLL_MPI), or with ALLSYNC in place of MYSYNC; reductions of little, and
 * those of two ranks that are too long for staging (parts.h). Other ranks may come by
 * either way. */
struct wdl_run *wdl_coll_express(struct wdl_team *team, const struct wdl_coll_args *args);
/* What a rank may show while it is far ahead of the others (coll_impl.h): a short scan's operands,
 * what a root gives or gets from each. */
enum { WDL_COLL_LINE_BYTES = 112 };
enum { WDL_NODE_RANKS_MAX = 32 }; /* everyone looks at everyone's board */
/* A short scan on the same conditions, where the rank below has done its part: over when this has
 * returned WDL_OK. ERR_OP: not this way, nothing happened. WDL_AGAIN: ask again, others are too far
 * behind. */
struct wdl_coll_scan {
    const void *src;
    void *dst;
    size_t bytes;
    uint32_t alike;                 /* as in wdl_coll_args */
    int exclusive;
    int looks;                      /* for the rank below, who may be about to come; at least one */
    const struct wdl_coll_op *op;
};
int wdl_coll_scan_at_once(struct wdl_team *team, const struct wdl_coll_scan *scan);
/* One that fits the boards, likewise, where the ranks it needs have done their part: of all kinds
 * but SCAN. The own data may have been shown before the others' is
 * looked for: after ERR_OP the same arguments come by the express lane, or by a request, before any
 * others do. Blocks that vary need the site's `fetches`, without which all ranks go other ways. */
struct wdl_coll_short {
    enum wdl_coll_kind kind;
    int root;
    int looks;                      /* for each who may be about to come; at least one */
    const void *src;
    void *dst;                      /* a broadcast's data is both; a scatter's root's may be NULL */
    size_t bytes;                   /* of one block, or the own one, as in wdl_coll_args */
    uint32_t alike;                 /* likewise */
    const struct wdl_coll_op *op;   /* of a reduction */
    int variable;                   /* likewise; these are read until the call returns: */
    struct wdl_coll_blocks src_blocks, dst_blocks;
};
int wdl_coll_at_once(struct wdl_team *team, const struct wdl_coll_short *call);
/* WDL_AGAIN; else its status, and it is over. */
int wdl_coll_express_look(struct wdl_run *run);

const char *wdl_coll_kind_name(enum wdl_coll_kind kind);

#endif
