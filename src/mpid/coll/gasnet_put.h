/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * put and get with partner lists: what the calls (gasnet_put.c, and permute's,
 * gasnet_permute.c) hand to the graph (gasnet_pair.c).
 */
#ifndef WDL_MPID_COLL_GASNET_PUT_H_INCLUDED
#define WDL_MPID_COLL_GASNET_PUT_H_INCLUDED

#include "mpid/coll/gasnet_impl.h"

enum { WDL_PUT_LONG = 16384 }; /* bytes of a block to where two copies take less than a message */

struct wdl_put_pair;
struct wdl_put_seat;

/* For guests that nobody has asked for, among many: as many as can come. */
struct wdl_put_seats {
    struct wdl_put_seat *seat;
    int count, taken;
};

/* LOCAL permute: a put of blocks to units of the host's, which does not know who comes to it, but
 * how many blocks do. */
struct wdl_put_turn {
    size_t first, count; /* the own units */
    size_t got; /* ... that have their block */
    unsigned char *filled; /* by own unit: it has one, or will have it */
    int left; /* nodes that may still come */
    uint16_t mask; /* of few: to which nodes this one comes, a bit each ... */
    uint32_t *units; /* ... of many: to which units, in as many words as any node has units */
    size_t said_bytes; /* of either */
    size_t heard_at; /* what all have said, this node's first, in the run's memory */
    struct wdl_put_seats seats[2]; /* of many: for other nodes', and the own node's */
};

struct wdl_put {
    int gets, many; /* which of the four; 0 or 1 */
    const uint32_t *nodes; /* the other end of each block */
    size_t count;
    const uint32_t *partners; /* who comes here; NULL: all */
    size_t partner_count;
    uint32_t node; /* what `nodes` and the lists point to if not many */
    void *dst, *src;
    struct wdl_put_turn *turn; /* or NULL */
    uint64_t *to, *from; /* blocks to each node; whether any come from each */
    uint64_t *here, *there; /* addresses of the own blocks, node by node ... */
    struct wdl_put_pair *pairs; /* ... and what there is with each node */
};

/* gasnet_pair.c: the arguments of one graph, in which each partner is served by itself. Lists: of
 * the own and of the remote addresses (or units), as `nodes`. WDL_OK or ERR_NOMEM. */
int wdl_put_pairs(struct wdl_gas_op *op, void *const *here, void *const *there);
/* Can others come without having been asked for? They have cells, or say first that they come. */
enum wdl_put_coming { WDL_PUT_NOT, WDL_PUT_BY_CELLS, WDL_PUT_BY_FLAGS };
enum wdl_put_coming wdl_put_coming(const struct wdl_gas_team *team);
/* Of those who may come this one does not; all that do not have been named. Only from a CALL. */
void wdl_put_absent(struct wdl_run *run, int rank);
void wdl_put_known(struct wdl_run *run);

/* gasnet_permute.c: where the unit's block belongs, as it comes; NULL: it is none of ours, or has
 * one. */
char *wdl_put_turn_fill(struct wdl_gas_op *op, uint64_t unit);
/* The graph's part that knows when all have come. */
void wdl_put_turn_build(struct wdl_build *b);

#endif
