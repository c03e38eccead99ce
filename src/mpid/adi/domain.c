/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The domain of each process of this node (mpid/coll/domains.h): by what MPICH has found out about
 * the node (hwloc) and where each process is bound to when it starts, or as the user says. Made
 * once at the start, alike in all of them.
 */
#include "coll.h"
#include "mpir_hwtopo.h"
#include "mpid/coll/domains.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_WINDLASS_COLL_DOMAINS
      category    : WINDLASS
      type        : int
      default     : 0
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        Domains of each node: processes that are nearer to each other than to the node's others, who
        do collectives among themselves before one of each talks to the other domains. 0: those that
        share a cache, a memory, or a package, where all processes of the node are bound to one;
        else so many, of processes in the order of their ranks.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

static int *domains;            /* by local rank; NULL: nobody knows */

/* What a process tells the others. */
struct said {
    struct wdl_domain_place place;
    int domains;
};
wdl_static_assert(sizeof(struct said) <= WDL_ADI_BLOCK);

/* The object of that kind a process is bound within; -1: none. */
static int part_of(MPIR_hwtopo_type_e type)
{
    MPIR_hwtopo_gid_t gid = MPIR_hwtopo_get_obj_by_type(type);
    return gid == MPIR_HWTOPO_GID_ROOT ? -1 : MPIR_hwtopo_get_lid(gid);
}

struct heard {
    struct wdl_domain_place *places;
    int by_hand;                /* the first one's word */
};

static void hear(void *ctx, int i, const void *said)
{
    struct heard *heard = ctx;
    const struct said *one = said;
    heard->places[i] = one->place;
    heard->by_hand = i ? heard->by_hand : one->domains;
}

static int exchange(struct heard *heard)
{
    struct said said = {.domains = MPIR_CVAR_WINDLASS_COLL_DOMAINS };
    said.place.part[WDL_DOMAIN_CACHE] = part_of(MPIR_HWTOPO_TYPE__L3CACHE);
    said.place.part[WDL_DOMAIN_MEMORY] = part_of(MPIR_HWTOPO_TYPE__DDR);
    said.place.part[WDL_DOMAIN_PACKAGE] = part_of(MPIR_HWTOPO_TYPE__PACKAGE);
    return wdl_adi_tell(&said, sizeof said, hear, heard);
}

int wdl_domains_open(void)
{
    int n = MPIR_Process.local_size;
    struct heard heard = { 0 };
    if (n < 3)
        return MPI_SUCCESS;
    heard.places = MPL_malloc((size_t) n * sizeof *heard.places, MPL_MEM_COLL);
    domains = MPL_malloc((size_t) n * sizeof *domains, MPL_MEM_COLL);
    int mpi_errno = heard.places && domains ? exchange(&heard) : MPI_ERR_NO_MEM;
    if (mpi_errno == MPI_SUCCESS && heard.by_hand > 0)
        wdl_domains_cut(n, heard.by_hand, domains);
    else if (mpi_errno == MPI_SUCCESS)
        wdl_domains_choose(heard.places, n, domains);
    MPL_free(heard.places);
    return mpi_errno;
}

void wdl_domains_close(void)
{
    MPL_free(domains);
    domains = NULL;
}

int wdl_domain_of(int peer)
{
    for (int i = 0; domains && i < MPIR_Process.local_size; i++)
        if (MPIR_Process.node_local_map[i] == peer)
            return domains[i];
    return -1;
}
