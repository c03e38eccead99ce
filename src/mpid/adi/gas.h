/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What the files behind gasnet_coll.h and gasnet.h share: teams as the client sees them, errors,
 * waiting. Called with MPICH's global lock held, which WDL_GAS_ENTER takes.
 */
#ifndef WDL_ADI_GAS_H_INCLUDED
#define WDL_ADI_GAS_H_INCLUDED

#include "wdl_adi.h"
#include "gasnet_coll.h"
#include "mpid/coll/gasnet_core.h"

struct gasnet_coll_team {
    struct wdl_gas_team *core; /* NULL: before gasnet_coll_init, and when freed */
    struct gasnet_coll_team *next; /* of those split off, or of those freed */
    gasnet_coll_error_fn_t on_error;
    void *on_error_arg;
    /* a barrier notified and not yet found done, as what, and what its ranks have agreed on */
    int notified, id, flags, agreed;
    wdl_gas_handle barrier;
};

#define WDL_GAS_ENTER() MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX)
#define WDL_GAS_LEAVE() MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX)

/* The team's core; before gasnet_coll_init, or if it has been freed, the program is aborted. */
struct wdl_gas_team *wdl_gas_core(gasnet_team_handle_t team, const char *call);
/* Say what is wrong; then the callback is called, or the program aborted. */
void wdl_gas_wrong(const char *call, int code);
void wdl_gas_punish(gasnet_coll_error_fn_t fn, void *arg, int code);
/* A call has begun: a misuse is said at once, and dealt with if nobody will synchronize. */
gasnet_coll_handle_t wdl_gas_begun(gasnet_team_handle_t team, const char *call, int flags,
                                   wdl_gas_handle handle);
/* Wait for it: 0, or its error's code. */
int wdl_gas_finish(gasnet_coll_handle_t handle);
/* A blocking call, if it needs no operation: 1, and it is over; 0: nothing happened. */
int wdl_gas_went(gasnet_team_handle_t team, const char *call, const struct wdl_gas_plain *plain);
const char *wdl_gas_error_text(int code);

/* Is it so on all nodes? Collective, called without MPICH's lock (gasnet.c). */
int wdl_adi_gasnet_all(MPI_Comm comm, int yes);
/* The segment of gasnet_attach; NULL: there is none (gasnet.c). */
void *wdl_adi_gasnet_segment(size_t *bytes_out);
/* That memory is about to go: nobody reads it or writes it. An MPI error. */
int wdl_adi_gasnet_segment_goes(void *base);

#endif
