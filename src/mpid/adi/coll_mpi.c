/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * MPI's collectives, blocking and nonblocking: on the engine (mpid/coll) where its tables say that
 * it wins, or MPICH does it wrongly or does not end; else by MPICH's algorithms. The choice looks
 * at nothing but what all ranks know alike: kind, bytes, members, operator.
 *
 * A rank that has no memory for its part ends the job, since the others wait for it.
 */
#include "coll.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_WINDLASS_COLL
      category    : WINDLASS
      type        : enum
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : |-
        Who carries out collectives.
        auto   - The engine of windlass where it is faster, else MPICH's algorithms
        mpich  - MPICH's algorithms
        engine - The engine of windlass, for everything it can

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

/* --- the choice ------------------------------------------------------------------------------- */

/* MPICH looks at all its outstanding schedules at every turn, so that many take as long as their
 * number squared. Who waits for which is not known to all alike; how many have been begun since the
 * communicator's last blocking collective is. Of what is long nobody has so many, and there the
 * engine may take several times as long. */
enum { SCHEDULES = 512, SCHEDULES_SHORT = 4 << 10 };

static int are_many(const struct wdl_adi_mpi *m, size_t bytes)
{
    return ++m->comm->dev.schedules > SCHEDULES && bytes <= SCHEDULES_SHORT;
}

/* Of blocking ones, those of which the device sees every call on every rank. */
static void note_blocking(const struct wdl_adi_mpi *m)
{
    if (m->kind == WDL_COLL_BARRIER || m->kind == WDL_COLL_BROADCAST ||
        m->kind == WDL_COLL_ALLREDUCE)
        m->comm->dev.schedules = 0;
}

/* Does MPICH 4.0.2 do it wrongly? Where elements with gaps are reduced and scattered by an operator
 * that does not commute, it takes them to lie closer than they do. Blocks of different sizes that
 * all get it cuts by each rank's own type; short ones, too, where the engine takes up to twice as
 * long with two ranks a node. */
static int fails(const struct wdl_adi_mpi *m)
{
    if (m->kind == WDL_COLL_GATHER_ALL)
        return m->variable;
    return m->kind == WDL_COLL_REDUCE_SCATTER && wdl_adi_op_gaps(m->recvtype) &&
        !MPIR_Op_is_commutative(m->op);
}

int wdl_adi_coll_can(const struct wdl_adi_mpi *m)
{
    return m->comm->comm_kind == MPIR_COMM_KIND__INTRACOMM && m->comm->local_size > 1 &&
        MPIR_CVAR_WINDLASS_COLL != MPIR_CVAR_WINDLASS_COLL_mpich &&
        (!wdl_coll_reduces(m->kind) || wdl_adi_op_element(m->recvtype) > 0);
}

static int takes(const struct wdl_adi_mpi *m, int is_blocking)
{
    if (!wdl_adi_coll_can(m))
        return 0;
    const struct wdl_coll_call call = {.kind = m->kind,.begun = !is_blocking,
        .variable = m->variable,.size = m->comm->local_size,
        .on_node = wdl_adi_comm_on_node(m->comm),
        .bytes = m->variable ? 0 : wdl_adi_call_bytes(m)
    };
    /* on a node others may give more, by mistake, and are told of it */
    if (call.bytes == 0 && m->kind != WDL_COLL_BARRIER && !m->variable && !call.on_node)
        return 0;
    return MPIR_CVAR_WINDLASS_COLL == MPIR_CVAR_WINDLASS_COLL_engine || fails(m) ||
        wdl_coll_wins(wdl_adi.proc, &call) || (!is_blocking && are_many(m, call.bytes));
}

/* --- blocking --------------------------------------------------------------------------------- */

int wdl_adi_coll_result(MPIR_Comm * comm, int status)
{
    if (status == WDL_ERR_NOMEM)
        MPID_Abort(comm, MPI_SUCCESS, 1, "no memory for a collective that others are in");
    return WDL_ADI_ERROR(status);
}

/* The partners are usually about to come: looks at their boards before the network's turn; where
 * they may need this processor, it is given to them. */
enum { LOOKS = 400, STEPS = 80 };

int wdl_adi_express_wait(struct wdl_run *lane, int *mpi_errno)
{
    int status = wdl_coll_express_look(lane);
    for (int n = wdl_adi_looks(LOOKS); n > 0 && status == WDL_AGAIN; n--) {
        wdl_relax();
        status = wdl_coll_express_look(lane);
    }
    if (status == WDL_AGAIN)
        WDL_ADI_WAIT_BY_MEMORY((status = wdl_coll_express_look(lane)) == WDL_AGAIN ? WDL_AGAIN
                               : WDL_OK, *mpi_errno);
    return status;
}

static int look(const struct wdl_coll_req *req)
{
    if (!req->done)
        (void) wdl_coll_progress(wdl_adi.proc);
    return req->done ? WDL_OK : WDL_AGAIN;
}

/* What comes from other nodes is the network's to tell of. */
static int wait_for(MPIR_Comm * comm, const struct wdl_coll_req *req, int *mpi_errno)
{
    if (!wdl_adi_comm_on_node(comm)) {
        WDL_ADI_WAIT(req->done ? WDL_OK : WDL_AGAIN, *mpi_errno);
        return req->status;
    }
    for (int steps = wdl_adi_looks(STEPS); !req->done && steps > 0; steps--) {
        wdl_relax();
        (void) wdl_coll_progress(wdl_adi.proc);
    }
    if (!req->done)
        WDL_ADI_WAIT_BY_MEMORY(look(req), *mpi_errno);
    return req->status;
}

static int run(const struct wdl_adi_mpi *m, struct wdl_team *team)
{
    int mpi_errno = MPI_SUCCESS;
    struct wdl_adi_call call;
    int status = wdl_adi_call_open(&call, m);
    struct wdl_run *lane = status == WDL_OK ? wdl_coll_express(team, &call.args) : NULL;
    if (lane) {
        status = wdl_adi_express_wait(lane, &mpi_errno);
    } else {
        if (status == WDL_OK)
            status = wdl_coll_start(team, &call.args, &call.req);
        if (status == WDL_OK)
            status = wait_for(m->comm, &call.req, &mpi_errno);
    }
    status = wdl_adi_call_close(&call, status);
    return mpi_errno ? mpi_errno : wdl_adi_coll_result(m->comm, status);
}

/* A short scan that nothing has to be kept of, in a team that has taken others. 0: it is none, or
 * the ranks below are late. */
static int scan_at_once(const struct wdl_adi_mpi *m, struct wdl_team *team, int waits,
                        int *mpi_errno)
{
    int status;
    struct wdl_adi_op ctx;
    struct wdl_coll_op op;
    struct wdl_coll_scan scan = {.src = m->sendbuf == MPI_IN_PLACE ? m->recvbuf : m->sendbuf,
        .dst = m->recvbuf,.exclusive = m->exclusive,
        .looks = waits ? wdl_adi_looks_at_once() : 1
    };
    if (m->recvcount > WDL_COLL_LINE_BYTES)
        return 0;
    scan.op = wdl_adi_op_known(m->op, m->recvtype);
    if (!scan.op)
        return 0;
    scan.bytes = (size_t) m->recvcount * scan.op->elem_bytes;
    status = wdl_coll_scan_at_once(team, &scan);
    *mpi_errno = MPI_SUCCESS;
    if (status == WDL_AGAIN && waits) {
        /* another thread's call may ask for another operator meanwhile */
        wdl_adi_op_make(m->op, m->recvtype, &ctx, &op);
        scan.op = &op;
        WDL_ADI_WAIT_BY_MEMORY((status = wdl_coll_scan_at_once(team, &scan)) == WDL_AGAIN ?
                               WDL_AGAIN : WDL_OK, *mpi_errno);
    }
    return *mpi_errno != MPI_SUCCESS || status == WDL_OK;
}

/* Of data as the engine wants it, and little; 0: it is not, or nothing. */
static size_t plain_bytes(MPI_Aint count, MPI_Datatype type)
{
    if (count <= 0 || count > WDL_ADI_BOARD || !HANDLE_IS_BUILTIN(type))
        return 0;
    return (size_t) count * (size_t) MPIR_Datatype_get_basic_size(type);
}

static int is_plain_scatter(const struct wdl_adi_mpi *m, struct wdl_coll_short *call)
{
    int is_root = m->comm->rank == m->root, in_place = m->recvbuf == MPI_IN_PLACE;
    call->src = m->sendbuf;
    call->dst = in_place ? NULL : m->recvbuf;
    call->bytes = is_root ? plain_bytes(m->sendcount, m->sendtype) :
        plain_bytes(m->recvcount, m->recvtype);
    return call->bytes > 0 &&
        (!is_root || in_place || plain_bytes(m->recvcount, m->recvtype) == call->bytes);
}

static int is_plain_gather(const struct wdl_adi_mpi *m, struct wdl_coll_short *call)
{
    int is_root = m->comm->rank == m->root, in_place = m->sendbuf == MPI_IN_PLACE;
    call->dst = m->recvbuf;
    call->bytes = is_root ? plain_bytes(m->recvcount, m->recvtype) :
        plain_bytes(m->sendcount, m->sendtype);
    call->src = in_place ? (char *) m->recvbuf + (size_t) m->root * call->bytes : m->sendbuf;
    return call->bytes > 0 &&
        (!is_root || in_place || plain_bytes(m->sendcount, m->sendtype) == call->bytes);
}

/* Blocks that vary: a block as the engine wants it. Long ones are no board's. */
static int is_plain_block(MPI_Aint count, MPI_Datatype type, size_t *bytes_out)
{
    *bytes_out = plain_bytes(count, type);
    return *bytes_out > 0 || count == 0;
}

struct plain_lists {
    size_t at[WDL_NODE_RANKS_MAX], bytes[WDL_NODE_RANKS_MAX];
};

static int are_plain_blocks(const struct wdl_adi_mpi *m, const MPI_Aint * counts,
                            const MPI_Aint * displs, MPI_Datatype type,
                            struct plain_lists *lists, struct wdl_coll_blocks *blocks)
{
    if (!HANDLE_IS_BUILTIN(type) || m->comm->local_size > WDL_NODE_RANKS_MAX)
        return 0;
    MPI_Aint each = MPIR_Datatype_get_basic_size(type);
    for (int i = 0; i < m->comm->local_size; i++) {
        if (counts[i] < 0 || counts[i] > WDL_ADI_BOARD)
            return 0;
        lists->bytes[i] = (size_t) (counts[i] * each);
        lists->at[i] = displs ? (size_t) (displs[i] * each) : 0;
    }
    *blocks = (struct wdl_coll_blocks) {.bytes = lists->bytes,.at = lists->at };
    return 1;
}

/* A vector that is reduced and scattered: its blocks lie side by side. */
static int is_plain_vector(const struct wdl_adi_mpi *m, struct wdl_coll_short *call,
                           struct plain_lists blocks[1])
{
    size_t at = 0;
    call->op = wdl_adi_op_known(m->op, m->recvtype);
    if (!call->op || !are_plain_blocks(m, m->recvcounts, NULL, m->recvtype, blocks,
                                       &call->src_blocks))
        return 0;
    for (int i = 0; i < m->comm->local_size; i++) {
        blocks->at[i] = at;
        at += blocks->bytes[i];
    }
    call->src = m->sendbuf == MPI_IN_PLACE ? m->recvbuf : m->sendbuf;
    call->dst = m->recvbuf;
    call->bytes = blocks->bytes[m->comm->rank];
    return call->op->elem_bytes == (size_t) MPIR_Datatype_get_basic_size(m->recvtype);
}

/* The lists are there while the call is. */
static int is_plain_varying(const struct wdl_adi_mpi *m, struct wdl_coll_short *call,
                            struct plain_lists from[1], struct plain_lists to[1])
{
    int rank = m->comm->rank, is_root = rank == m->root;
    int gives_list = m->kind == WDL_COLL_EXCHANGE || (m->kind == WDL_COLL_SCATTER && is_root);
    int gets_list = m->kind != WDL_COLL_SCATTER && (m->kind != WDL_COLL_GATHER || is_root);
    int in_place = m->kind == WDL_COLL_SCATTER ? is_root && m->recvbuf == MPI_IN_PLACE :
        m->sendbuf == MPI_IN_PLACE;     /* what matters on this rank */
    if (m->kind == WDL_COLL_REDUCE_SCATTER)
        return is_plain_vector(m, call, from);
    if (in_place && m->kind == WDL_COLL_EXCHANGE)
        return 0;
    call->src = m->sendbuf;
    call->dst = m->recvbuf;
    if (gives_list && !are_plain_blocks(m, m->sendcounts, m->sdispls, m->sendtype, from,
                                        &call->src_blocks))
        return 0;
    if (gets_list && !are_plain_blocks(m, m->recvcounts, m->rdispls, m->recvtype, to,
                                       &call->dst_blocks))
        return 0;
    if (m->kind == WDL_COLL_EXCHANGE) {
        call->bytes = to->bytes[rank];
        return 1;
    }
    if (in_place && m->kind == WDL_COLL_SCATTER) {
        call->dst = NULL;
        call->bytes = from->bytes[rank];
        return 1;
    }
    if (in_place) {
        call->src = (char *) m->recvbuf + to->at[rank];
        call->bytes = to->bytes[rank];
        return 1;
    }
    return m->kind == WDL_COLL_SCATTER ? is_plain_block(m->recvcount, m->recvtype, &call->bytes) :
        is_plain_block(m->sendcount, m->sendtype, &call->bytes);
}

/* A short one of other kinds than scans. 0: it is none, or ranks are late. */
static int is_plain(const struct wdl_adi_mpi *m, struct wdl_coll_short *call)
{
    if (m->kind == WDL_COLL_BARRIER)
        return 1;
    if (m->kind == WDL_COLL_SCATTER)
        return is_plain_scatter(m, call);
    if (m->kind == WDL_COLL_GATHER)
        return is_plain_gather(m, call);
    call->dst = m->recvbuf;
    call->src = m->sendbuf == MPI_IN_PLACE ? m->recvbuf : m->sendbuf;
    call->bytes = plain_bytes(m->recvcount, m->recvtype);
    if (call->bytes == 0)
        return 0;
    switch (m->kind) {
        case WDL_COLL_BROADCAST:
            call->src = m->recvbuf;
            return 1;
        case WDL_COLL_REDUCE:
        case WDL_COLL_ALLREDUCE:
        case WDL_COLL_REDUCE_SCATTER:
            call->op = wdl_adi_op_known(m->op, m->recvtype);
            return call->op && call->bytes == (size_t) m->recvcount * call->op->elem_bytes;
        case WDL_COLL_GATHER_ALL:
        case WDL_COLL_EXCHANGE:
            if (m->sendbuf != MPI_IN_PLACE)
                return plain_bytes(m->sendcount, m->sendtype) == call->bytes;
            if (m->kind == WDL_COLL_GATHER_ALL)
                call->src = (char *) m->recvbuf + (size_t) m->comm->rank * call->bytes;
            return 1;
        default:
            return 0;
    }
}

static int short_at_once(const struct wdl_adi_mpi *m, struct wdl_team *team, int waits,
                         int *mpi_errno)
{
    struct wdl_adi_op ctx;
    struct wdl_coll_op op;
    struct plain_lists from, to;
    struct wdl_coll_short call = {.kind = m->kind,.root = m->root,.variable = m->variable,
        .looks = waits ? wdl_adi_looks_at_once() : 1
    };
    if (m->variable ? !is_plain_varying(m, &call, &from, &to) : !is_plain(m, &call))
        return 0;
    int status = wdl_coll_at_once(team, &call);
    *mpi_errno = MPI_SUCCESS;
    if (status == WDL_AGAIN && waits && wdl_coll_is_rooted(m->kind)) {
        if (call.op) {          /* another thread's call may ask for another operator meanwhile */
            wdl_adi_op_make(m->op, m->recvtype, &ctx, &op);
            call.op = &op;
        }
        WDL_ADI_WAIT_BY_MEMORY((status = wdl_coll_at_once(team, &call)) == WDL_AGAIN ?
                               WDL_AGAIN : WDL_OK, *mpi_errno);
    }
    return *mpi_errno != MPI_SUCCESS || status == WDL_OK;
}

int wdl_adi_coll_at_once(const struct wdl_adi_mpi *m, struct wdl_adi_team *t, int waits,
                         int *mpi_errno)
{
    if (!t || MPIR_CVAR_WINDLASS_COLL == MPIR_CVAR_WINDLASS_COLL_mpich)
        return 0;
    return m->kind == WDL_COLL_SCAN ? scan_at_once(m, wdl_adi_team_of(t), waits, mpi_errno) :
        short_at_once(m, wdl_adi_team_of(t), waits, mpi_errno);
}

/* --- nonblocking ------------------------------------------------------------------------------ */

static void finish(struct wdl_adi_call *call, int status)
{
    MPIR_Request *request = call->request;
    status = wdl_adi_call_close(call, status);
    wdl_adi_call_drop(&call->mpi);
    request->status.MPI_ERROR = wdl_adi_coll_result(request->comm, status);
    MPL_free(call);
    MPID_Request_complete(request);
}

static void done(struct wdl_coll_req *req)
{
    finish(wdl_container_of(req, struct wdl_adi_call, req), req->status);
}

int wdl_adi_coll_begin(const struct wdl_adi_mpi *m, struct wdl_team *team, MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS;
    struct wdl_adi_call *call = MPL_malloc(sizeof *call, MPL_MEM_COLL);
    if (!call)
        return wdl_adi_coll_result(m->comm, WDL_ERR_NOMEM);
    int status = wdl_adi_call_open(call, m);
    call->mpi = *m;
    wdl_adi_call_hold(m);
    MPIR_Request *req = MPIR_Request_create(MPIR_REQUEST_KIND__COLL);
    MPIR_ERR_CHKANDJUMP(!req, mpi_errno, MPI_ERR_OTHER, "**nomem");
    MPIR_Comm_add_ref(m->comm);
    req->comm = m->comm;
    MPIR_Request_add_ref(req);
    call->request = *request = req;
    call->req.fn = done;
    if (status == WDL_OK)
        status = wdl_coll_start(team, &call->args, &call->req);
    if (status != WDL_OK)
        finish(call, status);
    wdl_adi_asynch_begun();
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* 1: the engine takes the call, *mpi_errno is its result; *request, where request is not NULL, ends
 * with it. 0: nothing happened. */
static int try_it(const struct wdl_adi_mpi *m, MPIR_Request ** request, int *mpi_errno)
{
    struct wdl_team *team;
    if (wdl_adi.spin_polls == 0)
        wdl_adi_spread_pass(request != NULL);
    if (!request)
        note_blocking(m);
    if (wdl_adi_coll_at_once(m, m->comm->dev.team, !request, mpi_errno)) {
        if (request)
            *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__COLL);
        return 1;
    }
    if (!takes(m, !request))
        return 0;
    int status = wdl_adi_team(m->comm, &team);
    if (status != WDL_OK)
        *mpi_errno = wdl_adi_coll_result(m->comm, status);
    else
        *mpi_errno = request ? wdl_adi_coll_begin(m, team, request) : run(m, team);
    return 1;
}

/* The same. Who meets the others in memory, call after call, waits for nothing by which the network
 * would have its turn. */
static int try(const struct wdl_adi_mpi *m, MPIR_Request ** request, int *mpi_errno)
{
    if (!try_it(m, request, mpi_errno))
        return 0;
    if (*mpi_errno == MPI_SUCCESS)
        *mpi_errno = wdl_adi_look_around();
    return 1;
}

/* --- the calls -------------------------------------------------------------------------------- */

/* MPICH 4.0.2 has allreduces of more than 8 bytes, and reduces of more than 2 KiB, of no fewer
 * elements than ranks take twice the rounds with parts of the vector, which pays from some tens of
 * KiB on. Unless the user has chosen an algorithm, these do not. 1: *mpi_errno is the call's
 * result. */
static int in_few_rounds(const struct wdl_adi_mpi *m, MPIR_Errflag_t * errflag, int *mpi_errno)
{
    enum { LESS_THAN = 16 << 10 };
    int reduces = m->kind == WDL_COLL_REDUCE &&
        MPIR_CVAR_REDUCE_INTRA_ALGORITHM == MPIR_CVAR_REDUCE_INTRA_ALGORITHM_auto;
    int to_all = m->kind == WDL_COLL_ALLREDUCE &&
        MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM == MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM_auto;
    if (!(reduces || to_all) || m->comm->comm_kind != MPIR_COMM_KIND__INTRACOMM ||
        wdl_adi_call_bytes(m) >= LESS_THAN || wdl_adi.tuned)
        return 0;
    *mpi_errno = to_all ?
        MPIR_Allreduce_intra_recursive_doubling(m->sendbuf, m->recvbuf, m->recvcount, m->recvtype,
                                                m->op, m->comm, errflag) :
        MPIR_Reduce_intra_binomial(m->sendbuf, m->recvbuf, m->recvcount, m->recvtype, m->op,
                                   m->root, m->comm, errflag);
    return 1;
}

/* MPICH 4.0.2 asks for no count of reductions whether it is one. Inlined: kinds are constants. */
static inline int is_wrong(const struct wdl_adi_mpi *m, int *mpi_errno)
{
    if (!wdl_coll_reduces(m->kind) || m->variable || likely(m->recvcount >= 0))
        return 0;
    *mpi_errno = wdl_adi_count_error(m->recvcount);
    return 1;
}

#define CALLS(Name, name, params, args, mpi, kept)                                             \
    int MPID_##Name(WDL_COLL_LIST params MPIR_Comm * comm, MPIR_Errflag_t * errflag)           \
    {                                                                                          \
        int mpi_errno;                                                                         \
        const struct wdl_adi_mpi m = { WDL_COLL_LIST mpi,.comm = comm };                       \
        if (is_wrong(&m, &mpi_errno) || try(&m, NULL, &mpi_errno) ||                           \
            in_few_rounds(&m, errflag, &mpi_errno))               \
            return mpi_errno;                                                                  \
        return MPIR_##Name##_impl(WDL_COLL_LIST args comm, errflag);                           \
    }                                                                                          \
    int MPID_I##name(WDL_COLL_LIST params MPIR_Comm * comm, MPIR_Request ** request)           \
    {                                                                                          \
        int mpi_errno;                                                                         \
        const struct wdl_adi_mpi m = { WDL_COLL_LIST mpi,.comm = comm };                       \
        if (is_wrong(&m, &mpi_errno) || try(&m, request, &mpi_errno))                          \
            return mpi_errno;                                                                  \
        if (wdl_adi_is_bcast_between(&m))                                                      \
            return wdl_adi_bcast_between(&m, request);                                         \
        return MPIR_I##name##_impl(WDL_COLL_LIST args comm, request);                          \
    }
WDL_COLL_CALLS(CALLS)
