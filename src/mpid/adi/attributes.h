/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * When the user's functions that delete attributes are called. The end of an operation may drop the
 * last reference to a type or a communicator that the user has freed, and MPICH calls the functions
 * there: within the network's poll or the core, which what they call of MPI would enter once more,
 * or on the progress thread. Such an object is left, with one reference, until the program's thread
 * comes to the end of a wait or of a look at the network.
 *
 * Invariants:
 *  1. What is released within the poll, the core or a hook of MPICH's progress is released with
 *     wdl_adi_within above 0, and no such function is called there.
 *  2. What has been left is freed with wdl_adi_within 0, one after the other: not while such a
 *     function runs.
 */
#ifndef WDL_ADI_ATTRIBUTES_H_INCLUDED
#define WDL_ADI_ATTRIBUTES_H_INCLUDED

#include "wdl_adi.h"

/* A thread's own: there MPICH may leave its lock, and another thread's calls are outside. */
#define WDL_ADI_TLS __attribute__((tls_model("initial-exec")))
extern _Thread_local int wdl_adi_within WDL_ADI_TLS;

/* As MPIR_Datatype_release_if_not_builtin, from within. */
static inline void wdl_adi_type_drop(MPI_Datatype datatype)
{
    if (datatype == MPI_DATATYPE_NULL)
        return;
    wdl_adi_within++;
    MPIR_Datatype_release_if_not_builtin(datatype);
    wdl_adi_within--;
}

/* Free what has been left. */
void wdl_adi_free_left(void);
static inline void wdl_adi_outside(void)
{
    if (unlikely(wdl_adi.left_types || wdl_adi.left_comms))
        wdl_adi_free_left();
}

#endif
