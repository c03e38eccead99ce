/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What no algorithm can beat, if all ranks must hear, perhaps through others, of all: a barrier, an
 * allreduce. LogP: a message that is sent at b is received at b + eel or later, and a rank sends,
 * and receives, one a gap.
 *
 * An optimal tree bounds it, since all must hear of each; but not every rank can head such a tree.
 * What a rank knows itself is best told at 0, gap, 2 gap .., what others tell it as it comes: at
 * eel, eel + gap .., and it has the same sends for both.
 */
#ifndef WDL_TEST_MPID_COLL_LEAST_H_INCLUDED
#define WDL_TEST_MPID_COLL_LEAST_H_INCLUDED

#include <stdint.h>

/* Nobody can know before this that all `ranks` have begun, if they begin at 0; in the unit of eel
 * and gap, of which the result is a multiple of the greatest common divisor. A lower bound: whether
 * it can be reached is open. Takes time and memory by how many of that divisor it is. */
uint64_t least_all(int ranks, uint64_t eel, uint64_t gap);

#endif
