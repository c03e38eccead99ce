/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * How many processors the processes of this node have between them: all those that any of them may
 * use, of which a container, a batch system or mpiexec may have left them few. Asked once, at the
 * start.
 */
#include "wdl_adi.h"
#include <sched.h>
#include <unistd.h>

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_WINDLASS_PROCESSORS
      category    : WINDLASS
      type        : int
      default     : 0
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        Number of processors that the processes of a node have between them: with more processes
        than that a waiting process gives its own to others. 0: as many as they may use by their
        affinity. A limit on processor time, as of a control group, is no limit on that number.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

/* What a process tells the others at a time: some of the processors that it may use. */
enum { SAID = 256 };
struct said {
    unsigned char may_use[SAID / 8];
};
wdl_static_assert(sizeof(struct said) <= WDL_ADI_BLOCK);

/* All, where the system does not say: there are more than fit. */
static void own(cpu_set_t * all)
{
    if (sched_getaffinity(0, sizeof *all, all) == 0)
        return;
    for (int p = 0; p < CPU_SETSIZE; p++)
        CPU_SET(p, all);
}

static void hear(void *ctx, int i, const void *one)
{
    struct said *any = ctx;
    const struct said *said = one;
    (void) i;
    for (size_t k = 0; k < sizeof any->may_use; k++)
        any->may_use[k] |= said->may_use[k];
}

/* Adds those from `first` on that any process of the node may use. */
static int exchange(const cpu_set_t * all, int first, int *count)
{
    struct said said = { {0} }, any = { {0} };
    for (int i = 0; i < SAID && first + i < CPU_SETSIZE; i++)
        if (CPU_ISSET(first + i, all))
            said.may_use[i / 8] |= (unsigned char) (1u << i % 8);
    int mpi_errno = wdl_adi_tell(&said, sizeof said, hear, &any);
    for (size_t k = 0; k < sizeof any; k++)
        *count += __builtin_popcount(any.may_use[k]);
    return mpi_errno;
}

/* sharers: processes that run on this machine; of those that act as another node's nothing is
 * known. */
int wdl_adi_processors(long sharers, long *count_out)
{
    long there = sysconf(_SC_NPROCESSORS_CONF), online = sysconf(_SC_NPROCESSORS_ONLN);
    int mpi_errno = MPI_SUCCESS, count = 0;
    cpu_set_t all;
    *count_out = online;
    if (sharers == MPIR_Process.local_size && sharers > 1) {
        CPU_ZERO(&all);
        own(&all);
        for (int first = 0; first < MPL_MIN(there, CPU_SETSIZE) && !mpi_errno; first += SAID)
            mpi_errno = exchange(&all, first, &count);
        *count_out = MPL_MIN(online, MPL_MAX(count, 1));
    }
    if (MPIR_CVAR_WINDLASS_PROCESSORS > 0)
        *count_out = MPIR_CVAR_WINDLASS_PROCESSORS;
    return mpi_errno;
}
