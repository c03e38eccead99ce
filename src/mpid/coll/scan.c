/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Scan, in order, for any operator that may be grouped: in round k each rank sends the fold of the
 * 2^k ranks up to itself to the rank 2^k above and puts what comes from 2^k below in front of its
 * own; ceil(log2 P) rounds.
 */
#include "mpid/coll/algo.h"

void wdl_scan_doubling(struct wdl_build *b)
{
    const struct wdl_coll_args *args = b->args;
    size_t m = args->bytes;
    b->in_order = 1;
    int exclusive = (args->flags & WDL_COLL_EXCLUSIVE) != 0;
    struct wdl_loc sum = wdl_tmp(wdl_build_tmp(b, m));
    int first = wdl_build_copy(b, sum, wdl_src(0), m), done = first, before = WDL_CAR_NONE;
    for (int k = 0; 1 << k < b->size; k++) {
        int up = b->rank + (1 << k), down = b->rank - (1 << k), send = WDL_CAR_NONE;
        if (up < b->size) {
            send = wdl_edge_send(b, WDL_PHASE_DATA, up, k, k, sum, m);
            wdl_build_order(b, done, send);
        }
        if (down < 0)
            continue;
        struct wdl_loc come = wdl_tmp(wdl_build_tmp(b, m));
        int recv = wdl_edge_recv(b, WDL_PHASE_DATA, down, k, k, come, m);
        if (exclusive) {
            int next = before == WDL_CAR_NONE ? wdl_build_copy(b, wdl_dst(0), come, m)
                                              : wdl_build_reduce(b, come, wdl_dst(0), m);
            wdl_build_order(b, recv, next);
            wdl_build_order(b, before == WDL_CAR_NONE ? first : before, next);
            before = next;
        }
        int reduce = wdl_build_reduce(b, come, sum, m);
        wdl_build_order(b, recv, reduce);
        wdl_build_order(b, done, reduce);
        wdl_build_order(b, send, reduce);
        done = reduce;
    }
    if (!exclusive)
        wdl_build_order(b, done, wdl_build_copy(b, wdl_dst(0), sum, m));
}
