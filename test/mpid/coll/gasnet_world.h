/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Simulated worlds of GASNet's collectives: every node makes the same calls, as fast as a depth
 * allows, on a network that delays, reorders and refuses.
 *
 * The oracle knows, byte by byte, when memory may be touched. Sources hold garbage and destinations
 * poison until the IN mode lets data move; results are looked at the moment the OUT mode says they
 * are there, and what is free again, lists of addresses too, is scribbled over at once. At the end
 * nobody has touched a scribble.
 */
#ifndef WDL_TEST_MPID_COLL_GASNET_WORLD_H_INCLUDED
#define WDL_TEST_MPID_COLL_GASNET_WORLD_H_INCLUDED

#include "mpid/coll/gasnet_memory.h"
#include "mpid/coll/lies.h"
#include "mpid/coll/ranks.h"

enum { POISON = 0xa5, GARBAGE = 0x5a, SCRIBBLE = 0xc3, GAP = 8, IMAGES_MAX = 3 };
enum { COMPOSE, SUM, SERIAL, FNS }; /* the table of functions */

struct world;

struct side { /* one node's part of one call */
    struct op *op;
    int node, done, loose; /* loose: scribbled over, nobody may touch it any more */
    /* its units' memory, one behind the other with gaps; what is there to be read, and what must
     * have been written */
    char *src, *dst, *give, *want;
    size_t src_bytes, dst_bytes;
    void **src_list, **dst_list, **here, **there;
    uint32_t *nodes, *partners;
    size_t *sizes, *come; /* blocks of different sizes: given, and got */
    size_t listed, partner_count;
    wdl_gas_handle handle;
};

struct deal {
    size_t blk, off;
};

struct op {
    struct world *w;
    const struct kind *kind;
    int index, flags, started, done;
    int together; /* one operation with the call that follows */
    int m, fn, root; /* units are images; the function; the node of `image` */
    int basic; /* put, get: one block each, without lists */
    size_t image, units, bytes, src_each, dst_each, n;
    struct deal from, to;
    uint32_t *perm;
    struct side *sides;
};

struct kind {
    const char *name;
    int moves; /* has memory */
    int lists; /* has an M form */
    int scope; /* of LOCAL and SINGLE, the only one it takes; 0: both */
    int more; /* a flag that is set at random */
    int most; /* nodes of a world in which it is called: what bounds it is said in gasnet_kinds.c */
    int rooted; /* what grows with their number is the root's alone: 1: sources, 2: destinations */
    int known; /* it moves blocks: IN_SEGMENT flags that hold for it without lists, and 1 */
    int sees; /* lies that must be seen: a bit each */
    void (*make)(struct op *op); /* give, want, lists */
    wdl_gas_handle (*start)(struct side *s, struct wdl_gas_team *team, int flags);
};
extern const struct kind kinds[];
extern const int kind_count;

enum { IN_TURN = -2 };

struct options {
    uint64_t seed;
    int ranks, ordered, refuse, delay, ops, depth, window, bytes, images, in, out;
    int kind; /* -1: any; IN_TURN: those that take the most nodes, this number or `most` */
    int most;
    int half; /* of those 1: the first, third ..., 2: the others; 0: all */
    int node; /* so many ranks share one; 0: messages alone */
    int attach; /* destinations; 1: the network puts; 2: memory is mapped; 3: neither can be */
    int pools; /* ranks_limit */
    int lie;
};

struct world {
    struct options options;
    struct ranks ranks;
    struct gasnet_memory memory;
    struct wdl_prng prng;
    size_t *images, *first;
    struct wdl_gas_team **teams;
    struct op *ops;
    int *at, *out; /* by node: next call, calls not yet done */
    char failure[256];
};

/* gasnet_kinds.c: the functions the world's operations are made with. */
extern const struct wdl_gas_fn world_fns[FNS];

/* gasnet_oracle.c */
size_t world_draw(struct world *w, size_t below);
int unit_node(const struct op *op, size_t unit);
/* Where a unit's memory is in its node's. */
size_t unit_at(const struct op *op, size_t unit, size_t each);
/* Memory of this size for each unit, and what is given at random. */
void areas_make(struct op *op, size_t src_each, size_t dst_each);
void op_free(struct op *op);
/* A node is about to call: memory is prepared and checked. The flags to call with. */
int op_starting(struct side *s);
void op_done(struct side *s, enum wdl_gas_error error);
void op_final(struct op *op);

#endif
