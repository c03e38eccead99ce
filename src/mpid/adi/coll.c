/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The collectives' engine in this process: its begin and end. Teams are made by whoever uses
 * them; their numbers must be the same on all ranks and differ from those of every other team a
 * rank is in, so each user has a range (wdl_adi.h).
 */
#include "wdl_adi.h"
#include "mpid/coll/coll.h"

int wdl_adi_coll_init(struct wdl_proc *proc)
{
    return WDL_ADI_ERROR(wdl_coll_init(proc));
}

int wdl_adi_coll_fini(struct wdl_proc *proc)
{
    if (proc->coll)
        wdl_coll_fini(proc);
    return MPI_SUCCESS;
}
