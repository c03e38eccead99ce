/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * gasnet_attach where memory is lacking on one node: all hear of it, nothing is left, and another
 * attempt may go well. Every allocation of the device is refused once.
 */
#include <gasnet.h>
#include "testing.h"

enum { ALLOCATIONS_MAX = 100 };

/* The n-th allocation from now on; 0: none. */
static void refuse(int n)
{
    int index, count;
    MPI_T_cvar_handle handle;
    MPI_T_cvar_get_index("MPIR_CVAR_WINDLASS_FAIL_ALLOCATION", &index);
    MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
    MPI_T_cvar_write(handle, &n);
    MPI_T_cvar_handle_free(&handle);
}

/* Once it has gone well it cannot be called again: so each node's first allocations are refused in
 * turn, until there are no more. */
static void refused(void)
{
    int n = 1, code = GASNET_ERR_RESOURCE, refusals = 0;
    for (; n < ALLOCATIONS_MAX && code != GASNET_OK; n++)
        for (int who = 0; who < t_size && code != GASNET_OK; who++) {
            int least, most;
            refuse(t_rank == who ? n : 0);
            code = gasnet_attach(NULL, 0, 4 * GASNET_PAGESIZE, 0);
            refuse(0);
            MPI_Allreduce(&code, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
            MPI_Allreduce(&code, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
            t_check(least == most && (code == GASNET_OK || code == GASNET_ERR_RESOURCE),
                    "allocation %d of node %d: codes from %d to %d", n, who, least, most);
            refusals += code != GASNET_OK;
        }
    t_check(refusals >= t_size && n < ALLOCATIONS_MAX, "%d refusals", refusals);
}

int main(int argc, char **argv)
{
    int provided;
    t_begin(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Barrier(MPI_COMM_WORLD);
    t_check(gasnet_init(&argc, &argv) == GASNET_OK, "gasnet_init");
    refused();
    gasnet_seginfo_t segments[64];
    int word = 0, left = (t_rank + t_size - 1) % t_size;
    gasnet_node_t right = (gasnet_node_t) ((t_rank + 1) % t_size);
    t_check(gasnet_getSegmentInfo(segments, 64) == GASNET_OK, "no segments");
    gasnet_put(right, segments[right].addr, &t_rank, sizeof t_rank);
    gasnet_barrier_notify(1, 0);
    t_check(gasnet_barrier_wait(1, 0) == GASNET_OK, "a barrier");
    memcpy(&word, segments[t_rank].addr, sizeof word);
    t_check(word == left, "%d was put, not %d", word, left);
    MPI_T_finalize();
    return t_end();
}
