/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Graphs of one algorithm on all ranks, carried out by car.h's rules alone: without the engine and
 * without a network, ranks, CARs and messages in any order, bytes as they come. What the algorithm
 * stands on beyond those rules shows as a wrong result, a rank that waits for ever, or an
 * assertion:
 *  1. every message has one RECV, which knows its sender and its length (invariant 3);
 *  2. one that no cell holds goes to an armed RECV (invariant 4);
 *  3. a ready flag says where what it lets come will go;
 *  4. memory that is the caller's is touched by ranks that have begun.
 */
#ifndef WDL_TEST_MPID_COLL_GRAPHS_H_INCLUDED
#define WDL_TEST_MPID_COLL_GRAPHS_H_INCLUDED

#include "base/prng.h"
#include "host/testhost.h"
#include "mpid/coll/algo.h"

enum { GRAPHS_CELL = 64, GRAPHS_PACKET = 512 };

struct graphs_message; /* on its way */

struct graphs {
    int n, in_place; /* in_place: the source is the destination, too */
    int tree; /* of the span's: what the graphs go along */
    int armed; /* all have begun, all RECVs are armed, before data moves */
    int late; /* begins when nothing else moves any more; -1: nobody */
    struct test_host host;
    struct wdl_prng prng;
    struct wdl_coll coll;
    struct graphs_rank {
        struct wdl_team team;
        struct wdl_graph *graph;
        struct wdl_run *run;
        struct graphs_car *cars;
        char *src, *dst;
        /* Where blocks vary, the caller's: args.bytes, and n each of src bytes, src at, dst
         * bytes, dst at. */
        size_t own, *lists[4];
        void *local; /* args.local, if it is one for each */
        int begun, users_left;
        int done_early; /* its caller would have gone on before the late rank began */
        /* Messages with data, and their bytes. */
        uint64_t sent, sent_bytes, flags, got_bytes;
    } *one;
    size_t room; /* of src and dst each */
    struct graphs_message *messages;
    size_t nmessages, messages_room;
};

/* n ranks, each with a source and a destination of `room` bytes: random ones, and poison. */
void graphs_open(struct graphs *g, int n, size_t room, uint64_t seed);
void graphs_close(struct graphs *g);
/* The graph of each rank, built by `build` for `args`, with its own memory and
 * lists; then all of them to their end. */
void graphs_run(struct graphs *g, void (*build)(struct wdl_build *b),
                const struct wdl_coll_args *args);
/* Where a rank's result is. */
char *graphs_result(const struct graphs *g, int rank);
/* All ranks together: messages with data, their bytes, messages without. */
uint64_t graphs_sent(const struct graphs *g);
uint64_t graphs_sent_bytes(const struct graphs *g);
uint64_t graphs_flags(const struct graphs *g);

/* Operators of 4-byte elements: one that may be grouped and turned round, one that may only be
 * grouped. */
struct wdl_coll_op graphs_sum(void);
struct wdl_coll_op graphs_compose(void);
/* The sources of ranks [first .. last] from byte `at` on, folded in order. */
void graphs_fold(const struct graphs *g, const struct wdl_coll_op *op, int first, int last,
                 size_t at, size_t bytes, char *out);

#endif
