/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The costs that Windlass chooses collectives by, in nanoseconds, as lines `= name value`. With
 * MPIR_CVAR_WINDLASS_COLL_MODEL=measure MPI_Init has just measured them (src/mpid/adi/
 * coll_measure.c); `across` is 0 where rank 0's node has one domain. And `= nodes value`: on so
 * many nodes the ranks are. maint/tune runs it.
 */
#include <mpi.h>
#include <stdio.h>

static double cost(MPI_T_pvar_session session, const char *name)
{
    unsigned long long ps = 0;
    int index, count;
    MPI_T_pvar_handle handle;
    if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_LEVEL, &index) == MPI_SUCCESS &&
        MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS)
        MPI_T_pvar_read(session, handle, &ps);
    return (double) ps / 1000;
}

static int nodes(void)
{
    MPI_Comm node;
    int rank, leads, all;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    leads = rank == 0;
    MPI_Allreduce(&leads, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_free(&node);
    return all;
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "latency", "gap", "byte", "reduce", "across" };
    MPI_T_pvar_session session;
    int rank, level, all;
    char name[64];
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    MPI_T_pvar_session_create(&session);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    all = nodes();
    for (int i = 0; i < 5 && rank == 0; i++) {
        snprintf(name, sizeof name, "windlass_coll_%s", names[i]);
        printf("= %s %.3f\n", names[i], cost(session, name));
    }
    if (rank == 0)
        printf("= nodes %d\n", all);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
