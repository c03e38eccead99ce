/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A lower bound for what all must hear of all. It ends at T. Let V(r, t) be the number of ways on
 * which what rank r knows at t comes to some rank by T, r itself included: 1, and for each message
 * that r sends at t or later, V of its receiver at its receipt.
 *
 *  1. V(r, t) <= N(T - t), N being what an optimal tree reaches: from T backwards, V obeys the
 *     recursion of such trees. V(r, t) does not grow with t.
 *  2. V(r, 0) >= P for each r: all hear of r.
 *  3. The sum of V(r, 0) over all r is P, and V(r, a) for each receipt of each r, at a: each
 *     message is counted by its sender on the left, by its receiver on the right. So, and by 2, the
 *     mean over all r of V(r, 0) + 1 + (the sum of V(r, a) over r's receipts) is at least 2 P, and
 *     for some r it is not less than the mean.
 *  4. That r's receipts are a gap apart, the first at eel or later; as V does not grow, its sum
 *     over them is at most that over eel, eel + gap, .. : `come` of them by T, n(b) by b. With r's
 *     sends at S, a gap apart, of which V(r, 0) counts all and V(r, a) those not before a:
 *
 *       2 P <= 2 + come + sum over b in S of N(T - b - eel) (1 + n(b))
 *
 * The greatest such sum, over all S, is found in one pass over time. If that is less than 2 P
 * nothing ends at T. Times are counted in the greatest common divisor of eel and gap: if all that
 * happens happens as soon as ports and messages let it, in the order it had, it is at sums of
 * these.
 */
#include "mpid/coll/least.h"
#include <stdlib.h>
#include "base/assert.h"
#include "mpid/coll/pattern.h"

static uint64_t divisor(uint64_t a, uint64_t b)
{
    return b ? divisor(b, a % b) : a;
}

/* N(t), if reach[] has it of all times before. */
static int64_t reach_at(const int64_t *reach, uint64_t t, uint64_t eel, uint64_t gap)
{
    return t < eel ? 1 : reach[t - eel] + (t < gap ? 1 : reach[t - gap]);
}

/* Messages that a rank can have received by t. */
static int64_t receipts(uint64_t t, uint64_t eel, uint64_t gap)
{
    return t < eel ? 0 : (int64_t) ((t - eel) / gap) + 1;
}

/* The right side of 4, for T = end >= eel; most[b]: the greatest sum over sends up to b. */
static int64_t twice(uint64_t end, uint64_t eel, uint64_t gap, const int64_t *reach, int64_t *most)
{
    for (uint64_t b = 0; b <= end - eel; b++) {
        most[b] = reach[end - eel - b] * (1 + receipts(b, eel, gap));
        most[b] += b < gap ? 0 : most[b - gap];
        if (b && most[b - 1] > most[b])
            most[b] = most[b - 1];
    }
    return 2 + receipts(end, eel, gap) + most[end - eel];
}

uint64_t least_all(int ranks, uint64_t eel, uint64_t gap)
{
    uint64_t unit = divisor(eel, gap), end = 0, room;
    int64_t *reach, *most;
    wdl_assert(ranks >= 1 && eel > 0 && gap > 0);
    if (ranks == 1)
        return 0;
    eel /= unit, gap /= unit;
    room = (uint64_t) wdl_pattern_rounds(ranks, 2) * (eel > gap ? eel : gap); /* dissemination */
    reach = malloc((room + 1) * sizeof(reach[0]));
    most = malloc((room + 1) * sizeof(most[0]));
    wdl_assert(reach && most);
    for (;; end++) {
        wdl_assert_cmp(end, <=, room);
        reach[end] = reach_at(reach, end, eel, gap);
        if (reach[end] >= ranks && twice(end, eel, gap, reach, most) >= 2 * (int64_t) ranks)
            break;
    }
    free(reach);
    free(most);
    return end * unit;
}
