/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Every call of gasnet_coll.h once, on the ranks of gasnet_ranks: what it does to whose memory, in
 * words of its definition alone, and how it is called. All blocks are `nbytes` long, but for the
 * elements of arrays.
 */
#ifndef WDL_TEST_MPID_COLL_GASNET_CALLS_H_INCLUDED
#define WDL_TEST_MPID_COLL_GASNET_CALLS_H_INCLUDED

#include "mpid/coll/gasnet_ranks.h"

enum shape { DOWN, UP, ALL, ALONG, ABOVE, NOTHING };

struct call {
    const char *name;
    enum shape shape; /* which node's data another's depend on: gasnet_gives */
    int scope; /* of LOCAL and SINGLE the only one it takes; 0: both */
    int m; /* units are images */
    void (*start)(int i); /* sets handle[i] */
};
extern const struct call gasnet_calls[];
extern const int gasnet_call_count;

/* What the calls are made with. */
extern struct gasnet_with {
    int flags, root;
    size_t nbytes;
    size_t skew; /* bytes by which whole arrays are out of their places */
} with;

/* Does what node `to` gets depend on what is in the memory of `from`, another one? */
int gasnet_gives(const struct call *call, int from, int to);
/* broadcast, scatter, gather, gather_all, exchange, and their M forms; of them those in which who
 * gives has a block for each. */
int gasnet_is_move(const struct call *call);
int gasnet_is_of_each(const struct call *call);
/* Lists as all calls want them; after gasnet_open, and when flags change. */
void gasnet_calls_prepare(const struct call *call);

#endif
