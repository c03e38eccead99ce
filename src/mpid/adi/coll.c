/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The collectives' engine in this process: its begin and end. Teams are made by whoever uses
 * them; their numbers must be the same on all ranks and differ from those of every other team a
 * rank is in, so each user has a range (wdl_adi.h).
 */
#include "coll.h"

/* Nothing here is ever refused for a test's sake: a rank alone cannot give up a collective. */
static void *host_alloc(void *ctx, size_t bytes)
{
    (void) ctx;
    return MPL_calloc(1, bytes, MPL_MEM_COLL);
}

static void host_free(void *ctx, void *ptr)
{
    (void) ctx;
    MPL_free(ptr);
}

static void site_set(struct wdl_proc *proc)
{
    const struct wdl_coll_site site = {.nodes = MPIR_Process.num_nodes,
        .board_bytes = wdl_arena_is_open()? WDL_ADI_BOARD : 0,
        .fetches = wdl_arena_fetches(),
        .domains = wdl_domain_of(MPIR_Process.rank) >= 0
    };
    wdl_coll_site_set(proc, &site);
}

int wdl_adi_coll_init(struct wdl_proc *proc)
{
    static const struct wdl_host_ops memory = {.alloc = host_alloc,.free = host_free };
    int status = wdl_coll_init(proc);
    if (status != WDL_OK)
        return WDL_ADI_ERROR(status);
    wdl_coll_host(proc, &(struct wdl_host) {.ops = &memory});
    wdl_adi.tuned = MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE[0] != 0;
    int mpi_errno = wdl_arena_open();
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = wdl_domains_open();
    if (mpi_errno == MPI_SUCCESS)
        site_set(proc);
    return mpi_errno;
}

int wdl_adi_coll_fini(struct wdl_proc *proc)
{
    int mpi_errno = wdl_adi_teams_end();
    if (mpi_errno)
        return mpi_errno;
    if (proc->coll)
        wdl_coll_fini(proc);
    wdl_arena_close();
    wdl_domains_close();
    return MPI_SUCCESS;
}
