/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Persistent collectives: the arguments, kept for every start. The engine has all that it can do,
 * each on a team of its own. One process copies. The rest (intercommunicators, neighbours, types
 * that vary) begins a nonblocking collective of MPICH's at each start: a schedule of MPICH 4.0.2
 * that is begun again sends what was in the buffers when it was made, or uses what it has freed.
 *
 * Operations match in the order they were made in, whatever order their ranks start them in. Where
 * MPICH does them, that is by the tags each takes from its communicator when it is made.
 */
#include "attributes.h"
#include "coll.h"

enum { TAGS = 4 };              /* a collective of MPICH's takes one, or one for each part */

typedef int (*again_fn) (const struct wdl_adi_mpi * m, MPIR_Request ** request);

/* Lists are copies. */
struct kept {
    struct wdl_adi_mpi m;
    uint32_t id;                /* 0: MPICH's */
    struct wdl_adi_team *team;  /* made on the first start */
    again_fn again;
    int tag;
    int sendtypes, recvtypes;   /* held, where they vary */
    _Alignas(MPI_Aint) char lists[];
};

/* --- making one ------------------------------------------------------------------------------- */

/* Blocks, and lists of them, on the sending and the receiving side. */
static int partners(const struct wdl_adi_mpi *m, size_t *out, size_t *in)
{
    int sources, destinations, weighted, mpi_errno = MPI_SUCCESS;
    *out = *in = 0;
    if (!m->variable)
        return MPI_SUCCESS;
    if (m->neighbors) {
        mpi_errno = MPIR_Topo_canon_nhb_count(m->comm, &sources, &destinations, &weighted);
        *out = (size_t) destinations;
        *in = (size_t) sources;
    } else {
        *out = *in = (size_t) (m->kind == WDL_COLL_REDUCE_SCATTER ? m->comm->local_size :
                               m->comm->remote_size);
    }
    return mpi_errno;
}

/* *list, of n of these, if it is there: a copy, at *room. */
static void keep_aints(const MPI_Aint ** list, size_t n, char **room)
{
    if (!*list)
        return;
    *list = memcpy(*room, *list, n * sizeof **list);
    *room += n * sizeof **list;
}

static int keep_types(const MPI_Datatype ** list, size_t n, char **room)
{
    if (!*list)
        return 0;
    *list = memcpy(*room, *list, n * sizeof **list);
    *room += n * sizeof **list;
    for (size_t i = 0; i < n; i++)
        MPIR_Datatype_add_ref_if_not_builtin((*list)[i]);
    return (int) n;
}

/* What does not matter on this rank may point anywhere. */
static void keep_lists(struct kept *kept, size_t out, size_t in)
{
    struct wdl_adi_mpi *m = &kept->m;
    char *room = kept->lists;
    if (!wdl_adi_call_sends(m)) {
        m->sendcounts = m->sdispls = NULL;
        m->sendtypes = NULL;
    }
    if (!wdl_adi_call_receives(m)) {
        m->recvcounts = m->rdispls = NULL;
        m->recvtypes = NULL;
    }
    keep_aints(&m->sendcounts, out, &room);
    keep_aints(&m->sdispls, out, &room);
    keep_aints(&m->recvcounts, in, &room);
    keep_aints(&m->rdispls, in, &room);
    kept->sendtypes = keep_types(&m->sendtypes, out, &room);
    kept->recvtypes = keep_types(&m->recvtypes, in, &room);
    wdl_adi_call_hold(m);
}

/* Of those that the engine knows? */
static int is_known(const struct wdl_adi_mpi *m)
{
    return !m->neighbors && !m->recvtypes;
}

static int number(struct kept *kept)
{
    int mpi_errno = MPI_SUCCESS, more;
    kept->id = 0;
    if (is_known(&kept->m) && wdl_adi_coll_can(&kept->m))
        mpi_errno = wdl_adi_persistent_id(kept->m.comm, &kept->id);
    if (mpi_errno == MPI_SUCCESS && kept->id == 0)
        mpi_errno = MPIR_Sched_next_tag(kept->m.comm, &kept->tag);
    for (int i = 1; i < TAGS && mpi_errno == MPI_SUCCESS && kept->id == 0; i++)
        mpi_errno = MPIR_Sched_next_tag(kept->m.comm, &more);
    return mpi_errno;
}

/* A request that MPICH can free: it wants to find a schedule, and gets one of nothing. */
static int request_make(MPIR_Comm * comm, MPIR_Request ** request)
{
    MPIR_Sched_t nothing;
    MPIR_Request *req = MPIR_Request_create(MPIR_REQUEST_KIND__PREQUEST_COLL);
    if (!req || MPIR_Sched_create(&nothing, MPIR_SCHED_KIND_PERSISTENT) != MPI_SUCCESS)
        return wdl_adi_coll_result(comm, WDL_ERR_NOMEM);
    MPIR_Comm_add_ref(comm);
    req->comm = comm;
    req->u.persist_coll.sched_type = MPIR_SCHED_NORMAL;
    req->u.persist_coll.sched = nothing;
    req->u.persist_coll.real_request = NULL;
    MPIR_cc_set(req->cc_ptr, 0);
    *request = req;
    return MPI_SUCCESS;
}

static int keep(const struct wdl_adi_mpi *m, again_fn again, MPIR_Request ** request)
{
    size_t out, in;
    if (wdl_coll_reduces(m->kind) && !m->variable && m->recvcount < 0)
        return wdl_adi_count_error(m->recvcount);
    int mpi_errno = partners(m, &out, &in);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = request_make(m->comm, request);
    if (mpi_errno)
        return mpi_errno;
    size_t each = 2 * sizeof(MPI_Aint) + sizeof(MPI_Datatype);
    struct kept *kept = MPL_malloc(sizeof *kept + (out + in) * each, MPL_MEM_COLL);
    if (!kept)
        return wdl_adi_coll_result(m->comm, WDL_ERR_NOMEM);
    kept->m = *m;
    kept->team = NULL;
    kept->again = again;
    mpi_errno = number(kept);
    keep_lists(kept, out, in);
    (*request)->dev.coll = kept;
    return mpi_errno;
}

/* --- its starts and end ----------------------------------------------------------------------- */

static int is_alone(const struct wdl_adi_mpi *m)
{
    return is_known(m) && m->comm->comm_kind == MPIR_COMM_KIND__INTRACOMM &&
        m->comm->local_size == 1;
}

/* Where the only block of a side is. */
static char *alone_at(const void *buf, const MPI_Aint * displs, MPI_Datatype type)
{
    MPI_Aint extent;
    MPIR_Datatype_get_extent_macro(type, extent);
    return (char *) (uintptr_t) buf + (displs ? displs[0] * extent : 0);
}

static int alone(const struct wdl_adi_mpi *m)
{
    MPI_Aint sends = m->sendcounts ? m->sendcounts[0] : m->sendcount;
    MPI_Aint receives = m->recvcounts ? m->recvcounts[0] : m->recvcount;
    if (m->kind == WDL_COLL_BARRIER || m->kind == WDL_COLL_BROADCAST || m->exclusive ||
        m->sendbuf == MPI_IN_PLACE || m->recvbuf == MPI_IN_PLACE)
        return MPI_SUCCESS;
    if (wdl_coll_reduces(m->kind))
        return MPIR_Localcopy(m->sendbuf, receives, m->recvtype, m->recvbuf, receives, m->recvtype);
    return MPIR_Localcopy(alone_at(m->sendbuf, m->sdispls, m->sendtype), sends, m->sendtype,
                          alone_at(m->recvbuf, m->rdispls, m->recvtype), receives, m->recvtype);
}

/* The tags of this operation, not those of its turn among the nonblocking ones. */
static int begin_again(struct kept *kept, MPIR_Request ** real)
{
    MPIR_Comm *comm = kept->m.comm;
    int next = comm->next_sched_tag;
    comm->next_sched_tag = kept->tag;
    int mpi_errno = is_alone(&kept->m) ? alone(&kept->m) :
        wdl_adi_is_bcast_between(&kept->m) ? wdl_adi_bcast_between(&kept->m, real) :
        kept->again(&kept->m, real);
    comm->next_sched_tag = next;
    if (mpi_errno == MPI_SUCCESS && !*real)     /* nothing to be done */
        *real = MPIR_Request_create_complete(MPIR_REQUEST_KIND__COLL);
    return mpi_errno;
}

static int begin(struct kept *kept, MPIR_Request ** real)
{
    struct wdl_team *team;
    int mpi_errno;
    if (kept->id == 0)
        return begin_again(kept, real);
    if (wdl_adi_coll_at_once(&kept->m, kept->team, 0, &mpi_errno)) {
        *real = MPIR_Request_create_complete(MPIR_REQUEST_KIND__COLL);
        return mpi_errno ? mpi_errno : wdl_adi_look_around();
    }
    int status = wdl_adi_persistent_team(kept->m.comm, kept->id, &kept->team, &team);
    return status == WDL_OK ? wdl_adi_coll_begin(&kept->m, team, real) :
        wdl_adi_coll_result(kept->m.comm, status);
}

int wdl_adi_persist_coll_start(MPIR_Request * request)
{
    MPIR_Request *real = NULL;
    int mpi_errno = begin(request->dev.coll, &real);
    if (mpi_errno)
        return mpi_errno;
    request->u.persist_coll.real_request = real;
    request->status.MPI_ERROR = MPI_SUCCESS;
    request->cc_ptr = &real->cc;
    return MPI_SUCCESS;
}

void wdl_adi_persist_coll_free(MPIR_Request * request)
{
    struct kept *kept = request->dev.coll;
    for (int i = 0; i < kept->sendtypes; i++)
        wdl_adi_type_drop(kept->m.sendtypes[i]);
    for (int i = 0; i < kept->recvtypes; i++)
        wdl_adi_type_drop(kept->m.recvtypes[i]);
    wdl_adi_call_drop(&kept->m);
    wdl_adi_team_leave(kept->team);
    if (kept->id)
        wdl_adi_persistent_done(request->comm, kept->id);
    MPL_free(kept);
    request->dev.coll = NULL;
}

/* --- the calls -------------------------------------------------------------------------------- */

#define CALL(again, Name, name, params, mpi, kept)                                             \
    static int again_##name(const struct wdl_adi_mpi *m, MPIR_Request ** request)              \
    {                                                                                          \
        return again(WDL_COLL_LIST kept m->comm, request);                                     \
    }                                                                                          \
    int MPID_##Name##_init(WDL_COLL_LIST params MPIR_Comm * comm, MPIR_Info * info,            \
                           MPIR_Request ** request)                                            \
    {                                                                                          \
        const struct wdl_adi_mpi m = { WDL_COLL_LIST mpi,.comm = comm };                       \
        (void) info;                                                                           \
        return keep(&m, again_##name, request);                                                \
    }
/* Where the engine does not: MPICH's. Of kinds that it does not know: what the device has. */
#define KNOWN(Name, name, params, args, mpi, kept)                                             \
    CALL(MPIR_I##name##_impl, Name, name, params, mpi, kept)
#define OTHER(Name, name, params, args, mpi, kept)                                             \
    CALL(MPID_I##name, Name, name, params, mpi, kept)
WDL_COLL_CALLS(KNOWN)
WDL_COLL_OTHERS(OTHER)
