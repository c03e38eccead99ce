/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Communication-agent requests and the graphs they form (seed 003). A graph is a template: it
 * knows ranks, sizes and buffers by name, not addresses; a run (coll_impl.h) is one execution of
 * it. Graphs are built by a `struct wdl_build`.
 *
 * Invariants:
 *  1. A CAR's table (edges) names what depends on it; nobody searches for ready CARs.
 *  2. A completion edge lets its CAR begin when all of them have come; a range edge lets it go on
 *     as far as the producer's bytes reach, so that large data flows through a graph without being
 *     cut up in it.
 *  3. Every message a rank will be sent has exactly one RECV in that rank's graph: a finished run
 *     leaves nothing behind.
 *  4. A message too large for a cell is sent only to a RECV that is known to be armed.
 */
#ifndef WDL_MPID_COLL_CAR_H_INCLUDED
#define WDL_MPID_COLL_CAR_H_INCLUDED

#include <stddef.h>
#include <stdint.h>
#include "base/list.h"

struct wdl_run;
struct wdl_shm_cell;
struct wdl_span;
struct wdl_team;
struct wdl_coll_args;

/* X(name): SEND: bytes (perhaps none) to a role of a peer; RECV: the other side; COPY: b = a;
 * REDUCE: b = a op b; CALL: a function; WATCH: a function asked until it is done; JOIN:
 * nothing, a meeting point. How PUT, AM, tagged messages and WAIT are among these: README.md. */
#define WDL_CAR_KINDS(X) X(SEND) X(RECV) X(COPY) X(REDUCE) X(CALL) X(WATCH) X(JOIN)
enum wdl_car_kind {
#define WDL_CAR_KIND_ENUM(name) WDL_CAR_##name,
    WDL_CAR_KINDS(WDL_CAR_KIND_ENUM)
#undef WDL_CAR_KIND_ENUM
};

enum wdl_buf { WDL_BUF_NONE, WDL_BUF_SRC, WDL_BUF_DST, WDL_BUF_TMP, WDL_BUF_AT };

struct wdl_loc {
    enum wdl_buf buf;
    size_t at;
};

static inline struct wdl_loc wdl_src(size_t at)
{
    return (struct wdl_loc){WDL_BUF_SRC, at};
}

static inline struct wdl_loc wdl_dst(size_t at)
{
    return (struct wdl_loc){WDL_BUF_DST, at};
}

static inline struct wdl_loc wdl_tmp(size_t at)
{
    return (struct wdl_loc){WDL_BUF_TMP, at};
}

/* At an address: only of a graph that is used once. Whose memory it is its builder knows. */
static inline struct wdl_loc wdl_at(void *address)
{
    return (struct wdl_loc){WDL_BUF_AT, (size_t) (uintptr_t) address};
}

/* A CAR's own work. WDL_OK, or an error that becomes the request's. */
typedef int (*wdl_car_fn)(struct wdl_run *run, int arg);

/* A step of a WATCH: WDL_OK, WDL_AGAIN, or an error. What it keeps is in the CAR's run, all zero at
 * first. */
struct wdl_car_run;
typedef int (*wdl_watch_fn)(struct wdl_run *run, struct wdl_car_run *c);

static inline struct wdl_loc wdl_loc_at(struct wdl_loc loc, size_t at)
{
    return (struct wdl_loc){loc.buf, loc.at + at};
}

#define WDL_CAR_NONE (-1)
#define WDL_PEER_LATER (-1) /* a SEND's or RECV's: known during the run (wdl_car_peer) */

struct wdl_car {
    enum wdl_car_kind kind;
    int peer; /* SEND, RECV: team rank; WATCH: its own, as a and b */
    uint32_t role;
    struct wdl_loc a, b; /* SEND: a; RECV: b */
    size_t bytes;
    size_t piece; /* SEND, RECV: of these in a packet, but in the last */
    wdl_car_fn fn; /* CALL */
    wdl_watch_fn watch;
    /* CALL: its argument. CALL, WATCH, and messages at an address: whether they touch the user's
     * memory: bits 1 reads, 2 writes */
    int arg, touches;
    int user; /* the request waits for it */
    int waits; /* completion edges that lead here */
    int edge, edge_count; /* in graph->edges: what depends on this */
    int input, input_count; /* in graph->inputs: what bytes come from */
    struct wdl_shm_cell *shm; /* SEND, RECV within the node: the role's cell in slot 0 */
    size_t chunk_map; /* RECV of several chunks: first word of its map in the run */
    uint64_t *map; /* ... or the map */
    int late; /* SEND, RECV: what its bytes are is not known before the run */
    /* SEND that is a ready flag: the memory it is for; SEND of data: its ready flag's RECV and one,
     * or 0, and how far into that memory it goes */
    int offers;
    struct wdl_loc offered;
    size_t offered_bytes;
    int ready;
    /* SEND: it may go before its ready flag has come, to ahead_at in its receiver's destination;
     * RECV: what is sent so (ahead.h) */
    int ahead;
    size_t ahead_at;
    int asks; /* RECV: of a ready flag */
    int maybe; /* RECV: nothing may come; JOIN: a gate */
    size_t place_at;
};

struct wdl_edge {
    int car;
    enum wdl_edge_kind {
        WDL_EDGE_WHOLE, /* it waits until we are complete */
        WDL_EDGE_RANGE, /* it lists us among its inputs */
        WDL_EDGE_WAKE /* it waits for other things, too, and looks again when we are complete */
    } kind;
};

/* The consumer's bytes [at, at + bytes) come from the producer's [from, from + bytes). */
struct wdl_input {
    int car;
    size_t at, from, bytes;
};

/* What a graph depends on: equal shapes in one team have equal graphs. */
struct wdl_shape {
    uint32_t row, flags; /* of select.c; of the args */
    int32_t root, commutes;
    uint64_t bytes, elem_bytes;
    uint64_t lists; /* of blocks that vary: a sum of what is in graph->lists */
};

/* Finished here means begun everywhere; ..., and all before it finished everywhere. */
enum { WDL_SYNCS_NOT, WDL_SYNCS, WDL_SYNCS_ALL };

struct wdl_graph {
    struct wdl_list link; /* team->graphs, last used first */
    struct wdl_shape shape;
    size_t *lists; /* of blocks that vary: which there are, and the lists; or NULL */
    struct wdl_list idle; /* runs to use again */
    int running;
    int kept; /* in the cache: outlives its run */
    int syncs; /* one of these: carries credit (head of coll_impl.h) */
    const struct wdl_nodes *nodes; /* within each of which its WATCHes look; NULL: at all ranks */
    uint32_t print; /* what a rank means that runs it (fail.h) */
    int in_order; /* of SENDs that are ready at once, those it has first go first */
    int ncars, nusers;
    uint32_t nroles;
    struct wdl_car *cars;
    struct wdl_edge *edges;
    struct wdl_input *inputs;
    int32_t *car_of_role; /* nroles of them: the RECV, or WDL_CAR_NONE */
    size_t tmp_bytes, map_words;
};

/* Building. Every function may run out of memory: it then returns WDL_CAR_NONE, and wdl_build_end
 * says so; so does a message's that `far` leaves out. */

struct wdl_dep {
    int before, after;
    enum wdl_edge_kind kind;
    size_t at, from, bytes;
};

struct wdl_build {
    struct wdl_team *team;
    const struct wdl_coll_args *args;
    /* Between whom it is built: the team, or the heads of its nodes (nodes.h), numbered by node. */
    int rank, size, root;
    const struct wdl_span *span;
    int tree; /* of the span's: data go along it */
    const int *leader; /* NULL: the team; else the head of each node but the root's ... */
    int head; /* ... which is this one */
    int far; /* the ranks of the own node get and give nothing by messages */
    struct wdl_loc from, to; /* what they give; where the result goes */
    int status;
    /* all RECVs without prerequisites are armed before data moves: no ready flags */
    int armed;
    int in_order; /* the graph's */
    struct wdl_car *cars;
    struct wdl_dep *deps;
    int ncars, ndeps, cars_room, deps_room;
    size_t tmp_bytes;
};

void wdl_build_begin(struct wdl_build *b, struct wdl_team *team, const struct wdl_coll_args *args);
/* Between all ranks of the team, with src and dst. */
void wdl_build_flat(struct wdl_build *b);
/* The graph, or NULL when memory is short. Ends the building either way. */
struct wdl_graph *wdl_build_end(struct wdl_build *b);
void wdl_graph_free(struct wdl_team *team, struct wdl_graph *graph);

int wdl_build_send(struct wdl_build *b, int peer, uint32_t role, struct wdl_loc a, size_t bytes);
int wdl_build_recv(struct wdl_build *b, int peer, uint32_t role, struct wdl_loc to, size_t bytes);
int wdl_build_copy(struct wdl_build *b, struct wdl_loc to, struct wdl_loc from, size_t bytes);
/* The block a rank has for itself: no more than it has room for; an error if it gives another
 * length than it wants. */
int wdl_build_own(struct wdl_build *b, struct wdl_loc to, size_t wanted, struct wdl_loc from,
                  size_t given);
int wdl_build_reduce(struct wdl_build *b, struct wdl_loc left, struct wdl_loc inout, size_t bytes);
int wdl_build_call(struct wdl_build *b, wdl_car_fn fn, int arg, int touches);
int wdl_build_watch(struct wdl_build *b, wdl_watch_fn watch, int touches);
int wdl_build_join(struct wdl_build *b);
/* Complete when it is given up (wdl_car_give_up). */
int wdl_build_gate(struct wdl_build *b);
/* `after` begins when `before` is complete; either may be WDL_CAR_NONE: nothing. */
void wdl_build_order(struct wdl_build *b, int before, int after);
/* `after`, which begins without it, looks again when `before` is complete. */
void wdl_build_wake(struct wdl_build *b, int before, int after);
/* after's bytes [at, at + bytes) come from before's [from, from + bytes). No bytes: as _order. */
void wdl_build_stream(struct wdl_build *b, int before, size_t from, int after, size_t at,
                      size_t bytes);
/* One side each of a message whose length another that comes tells (graph.c). */
int wdl_build_send_late(struct wdl_build *b, int peer, uint32_t role);
int wdl_build_recv_late(struct wdl_build *b, int peer, uint32_t role);
/* ... and the ready flag for one: of the memory of wdl_car_offer. */
int wdl_build_offer_late(struct wdl_build *b, int peer, uint32_t role);
/* A RECV of what may not be sent: if not, it is given up when that is known. */
int wdl_build_recv_maybe(struct wdl_build *b, int peer, uint32_t role, struct wdl_loc to,
                         size_t bytes);
/* Only from a CALL; the run stays. */
void wdl_car_give_up(struct wdl_run *run, int car);
/* It is of so many bytes, there; a RECV's map, of so many words, is zero and lives as long as the
 * run. Or there is none, as the other side knows. Before the CAR begins. */
size_t wdl_car_map_words(const struct wdl_team *team, size_t bytes);
void wdl_car_size(struct wdl_run *run, int car, void *at, size_t bytes, uint64_t *map);
void wdl_car_offer(struct wdl_run *run, int car, void *at, size_t bytes);
void wdl_car_drop(struct wdl_run *run, int car);
/* A SEND or a RECV built for WDL_PEER_LATER is that rank's, and its role so many higher (less than
 * ranks); a CALL's argument is the rank. Before the CAR begins. */
void wdl_car_peer(struct wdl_run *run, int car, int peer, uint32_t roles);
/* Of so many bytes, in a packet. */
size_t wdl_car_piece(const struct wdl_team *team, size_t bytes);
/* Room in the run's own memory, aligned for anything. */
size_t wdl_build_tmp(struct wdl_build *b, size_t bytes);
void wdl_build_user(struct wdl_build *b, int car);
/* What user memory a CAR touches: bits 1 reads, 2 writes. Its builder says so of what it cannot
 * show. */
void wdl_build_touches(struct wdl_build *b, int car, int touches);
int wdl_car_touches(const struct wdl_car *car);

#endif
