/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Going where fewer of the node's processes wait, where they outnumber its processors
 * (proc/spread.h). The kernel is asked by allowing the thread that processor alone for a moment;
 * then it may use all that it might use before. 8 ranks on 2 processors after one of them has been
 * busy alone, MPI_Win_fence: 13 to 33 us left to the kernel, for some tens of milliseconds, 5 to 10
 * where they are four and four. MPI_Alltoall of 256 KiB among them: 1.9 to 2.3 ms left to the
 * kernel, 2.4 to 3.7 where one look is enough, 1.7 to 2.0 after several (one program of five 3.4).
 * MPI_Iallreduce with 100 us of computing before its wait: 410 us where they are four and four, 520
 * and more else, for 100 to 200 ms left to the kernel, for 10 to 50 so (who goes takes turns). Who
 * comes last to every meeting never waits, nor do the ranks of a short MPI_Ibcast with computing
 * behind it: so whoever begins a collective looks, too.
 */
#define _GNU_SOURCE
#include "coll.h"
#include "mpid/proc/spread.h"
#include <sched.h>

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_WINDLASS_SPREAD
      category    : WINDLASS
      type        : boolean
      default     : true
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        With more processes on the node than processors: whether a waiting process moves to a
        processor, of those it may use, on which fewer of the node's processes wait. Which it may
        use does not change.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

void wdl_adi_spread_sleep(void)
{
    struct wdl_spread_place *places = wdl_arena_places();
    if (places)
        wdl_spread_hide(places, MPIR_Process.local_rank);
}

/* Those the calling thread may use; 0: no choice. */
static int choice_of(cpu_set_t * all, uint64_t * may_use)
{
    memset(may_use, 0, WDL_SPREAD_PROCESSORS / 8);
    if (sched_getaffinity(0, sizeof *all, all) || CPU_COUNT(all) < 2)
        return 0;
    for (int p = 0; p < MPL_MIN(WDL_SPREAD_PROCESSORS, CPU_SETSIZE); p++)
        if (CPU_ISSET(p, all))
            may_use[p / 64] |= 1ULL << p % 64;
    return 1;
}

void wdl_adi_spread_look(void)
{
    cpu_set_t all, one;
    uint64_t may_use[WDL_SPREAD_PROCESSORS / 64], now = wdl_adi.host_ops.now_ns(NULL);
    struct wdl_spread_place *places = MPIR_CVAR_WINDLASS_SPREAD ? wdl_arena_places() : NULL;
    int here = places ? sched_getcpu() : -1, mine = MPIR_Process.local_rank;
    if (here < 0)
        return;
    wdl_spread_show(places, mine, here);
    if (!wdl_spread_is_due(&wdl_adi.spread_looks, now))
        return;
    int to = choice_of(&all, may_use) ?
        wdl_spread_to(places, MPIR_Process.local_size, mine, may_use, wdl_spread_turn(now)) :
        WDL_SPREAD_EVEN;
    if (!wdl_spread_goes(&wdl_adi.spread_looks, to))
        return;
    CPU_ZERO(&one);
    CPU_SET(to, &one);
    if (sched_setaffinity(0, sizeof one, &one))
        return;
    (void) sched_setaffinity(0, sizeof all, &all);
    wdl_spread_show(places, mine, to);
}

/* Behind a blocking one comes a wait, as a rule, and it may take less time than a look at the
 * clock. */
void wdl_adi_spread_pass(int computes)
{
    enum { PASSES_PER_LOOK = 16 };
    if (!computes && ++wdl_adi.passes % PASSES_PER_LOOK != 0)
        return;
    if (wdl_adi.host_ops.now_ns(NULL) - wdl_adi.spread_looks.last_ns >= WDL_SPREAD_LOOK_NS)
        wdl_adi_spread_look();
}
