/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A collective call of MPI's in the words of the engine: who gives and gets what, from and to
 * contiguous memory.
 */
#include "attributes.h"
#include "coll.h"

static int in_place(const struct wdl_adi_mpi *m)
{
    return m->sendbuf == MPI_IN_PLACE;
}

static int is_root(const struct wdl_adi_mpi *m)
{
    return m->comm->rank == m->root;
}

size_t wdl_adi_call_bytes(const struct wdl_adi_mpi *m)
{
    int sends = (m->kind == WDL_COLL_GATHER && !is_root(m)) ||
        (m->kind == WDL_COLL_SCATTER && is_root(m));
    if (m->kind == WDL_COLL_BARRIER)
        return 0;
    if (m->kind == WDL_COLL_REDUCE_SCATTER)
        return wdl_adi_data_bytes(m->recvcount, m->recvtype) * (size_t) m->comm->local_size;
    return sends ? wdl_adi_data_bytes(m->sendcount, m->sendtype)
        : wdl_adi_data_bytes(m->recvcount, m->recvtype);
}

/* Of the two groups of an intercommunicator one is or has the root. */
static int between_groups(const struct wdl_adi_mpi *m)
{
    return m->comm->comm_kind == MPIR_COMM_KIND__INTERCOMM;
}

static int heads(const struct wdl_adi_mpi *m)
{
    return between_groups(m) ? m->root == MPI_ROOT : is_root(m);
}

static int follows(const struct wdl_adi_mpi *m)
{
    return between_groups(m) ? m->root >= 0 : 1;
}

int wdl_adi_call_sends(const struct wdl_adi_mpi *m)
{
    switch (m->kind) {
        case WDL_COLL_GATHER:
            return !in_place(m) && follows(m);
        case WDL_COLL_SCATTER:
            return heads(m);
        case WDL_COLL_GATHER_ALL:
        case WDL_COLL_EXCHANGE:
            return !in_place(m);
        default:
            return 0;
    }
}

int wdl_adi_call_receives(const struct wdl_adi_mpi *m)
{
    switch (m->kind) {
        case WDL_COLL_BARRIER:
            return 0;
        case WDL_COLL_GATHER:
            return heads(m);
        case WDL_COLL_SCATTER:
            return m->recvbuf != MPI_IN_PLACE && follows(m);
        case WDL_COLL_BROADCAST:
        case WDL_COLL_REDUCE:
            return heads(m) || follows(m);
        default:
            return 1;
    }
}

/* Of blocks of one length, which the engine is told once: is the own one another on the side it is
 * given on than where it goes? (Of those that vary the engine compares it.) */
static int sides_differ(const struct wdl_adi_mpi *m)
{
    return !m->variable && wdl_adi_call_sends(m) && wdl_adi_call_receives(m) &&
        wdl_adi_data_bytes(m->sendcount, m->sendtype) !=
        wdl_adi_data_bytes(m->recvcount, m->recvtype);
}

void wdl_adi_call_hold(const struct wdl_adi_mpi *m)
{
    if (wdl_adi_call_sends(m))
        MPIR_Datatype_add_ref_if_not_builtin(m->sendtype);
    if (wdl_adi_call_receives(m))
        MPIR_Datatype_add_ref_if_not_builtin(m->recvtype);
    if (m->op)
        MPIR_Op_add_ref_if_not_builtin(m->op);
}

void wdl_adi_call_drop(const struct wdl_adi_mpi *m)
{
    if (wdl_adi_call_sends(m))
        wdl_adi_type_drop(m->sendtype);
    if (wdl_adi_call_receives(m))
        wdl_adi_type_drop(m->recvtype);
    if (m->op)
        MPIR_Op_release_if_not_builtin(m->op);
}

/* --- one side: a block, or a block for each rank ---------------------------------------------- */

static int open_send(struct wdl_adi_call *call, const struct wdl_adi_mpi *m, int blocks)
{
    call->src.user = (void *) (uintptr_t) m->sendbuf;
    call->src.count = m->sendcount;
    call->src.type = m->sendtype;
    call->src.blocks = blocks;
    if (blocks > 1 && m->variable) {
        call->src.counts = m->sendcounts;
        call->src.displs = m->sdispls;
    }
    int status = wdl_adi_data_open(&call->src, WDL_ADI_FILL, &call->args.src_blocks);
    call->args.src = call->src.at;
    return status;
}

static void name_recv(struct wdl_adi_data *data, const struct wdl_adi_mpi *m, int blocks)
{
    data->user = m->recvbuf;
    data->count = m->recvcount;
    data->type = m->recvtype;
    data->blocks = blocks;
    if (blocks > 1 && m->variable) {
        data->counts = m->recvcounts;
        data->displs = m->rdispls;
    }
}

static int open_recv(struct wdl_adi_call *call, const struct wdl_adi_mpi *m, int blocks, int how)
{
    name_recv(&call->dst, m, blocks);
    int status = wdl_adi_data_open(&call->dst, how, &call->args.dst_blocks);
    call->args.dst = call->dst.at;
    call->stores = 1;
    return status;
}

/* Our own block among those we receive is what we give. */
static void own_block_given(struct wdl_adi_call *call, const struct wdl_adi_mpi *m)
{
    size_t at = (size_t) m->comm->rank * call->args.bytes;
    if (m->variable)
        at = call->args.dst_blocks.at[m->comm->rank];
    call->args.src = call->dst.at + at;
}

/* --- kinds ------------------------------------------------------------------------------------ */

static int open_broadcast(struct wdl_adi_call *call, const struct wdl_adi_mpi *m)
{
    int status = open_recv(call, m, 1, is_root(m) ? WDL_ADI_FILL : 0);
    call->args.src = call->args.dst;
    call->stores = !is_root(m);
    return status;
}

/* Blocks of all come here; ours is one of them. */
static int open_gathering(struct wdl_adi_call *call, const struct wdl_adi_mpi *m)
{
    int is_there = in_place(m) || call->differs;
    int status = open_recv(call, m, m->comm->local_size, is_there ? WDL_ADI_FILL : 0);
    if (status == WDL_OK && is_there)
        own_block_given(call, m);
    else if (status == WDL_OK)
        status = open_send(call, m, 1);
    if (!in_place(m) && m->variable)
        call->args.bytes = wdl_adi_data_bytes(m->sendcount, m->sendtype);
    else if (m->variable && call->args.dst_blocks.bytes)
        call->args.bytes = call->args.dst_blocks.bytes[m->comm->rank];
    return status;
}

static int open_gather(struct wdl_adi_call *call, const struct wdl_adi_mpi *m)
{
    return is_root(m) ? open_gathering(call, m) : open_send(call, m, 1);
}

static int open_scatter(struct wdl_adi_call *call, const struct wdl_adi_mpi *m)
{
    int rank = m->comm->rank;
    if (!is_root(m))
        return open_recv(call, m, 1, 0);
    int status = open_send(call, m, m->comm->local_size);
    if (status != WDL_OK)
        return status;
    size_t at = (size_t) rank * call->args.bytes;
    if (m->variable) {
        call->args.bytes = call->args.src_blocks.bytes[rank];
        at = call->args.src_blocks.at[rank];
    }
    if (m->recvbuf != MPI_IN_PLACE && !call->differs) {
        if (m->variable)        /* the program may think of another length than it gives */
            call->args.bytes = wdl_adi_data_bytes(m->recvcount, m->recvtype);
        return open_recv(call, m, 1, 0);
    }
    call->args.dst = call->src.at + at; /* it is there */
    return WDL_OK;
}

static int open_exchange(struct wdl_adi_call *call, const struct wdl_adi_mpi *m)
{
    int size = m->comm->local_size, status;
    if (call->differs) {
        status = open_recv(call, m, size, WDL_ADI_FILL);
        call->args.src = call->args.dst;
        return status;
    }
    if (!in_place(m)) {
        status = open_send(call, m, size);
    } else {
        name_recv(&call->src, m, size);
        status = wdl_adi_data_open(&call->src, WDL_ADI_FILL | WDL_ADI_APART,
                                   &call->args.src_blocks);
        call->args.src = call->src.at;
    }
    return status == WDL_OK ? open_recv(call, m, size, 0) : status;
}

static int are_alike(const MPI_Aint * counts, int n)
{
    for (int i = 1; i < n; i++)
        if (counts[i] != counts[0])
            return 0;
    return counts[0] > 0;
}

/* The blocks of the vector, side by side. All ranks see whether they vary. */
static int open_parts(struct wdl_adi_call *call, const struct wdl_adi_mpi *m)
{
    size_t n = (size_t) m->comm->local_size, at = 0;
    if (are_alike(m->recvcounts, m->comm->local_size)) {
        call->args.variable = 0;
        call->args.bytes = (size_t) m->recvcounts[0] * call->args.op.elem_bytes;
        return WDL_OK;
    }
    size_t *lists = MPL_malloc(2 * n * sizeof lists[0], MPL_MEM_COLL);
    if (!lists)
        return WDL_ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        lists[i] = (size_t) m->recvcounts[i] * call->args.op.elem_bytes;
        lists[n + i] = at;
        at += lists[i];
    }
    call->src.lists = lists;
    call->args.src_blocks = (struct wdl_coll_blocks) {.bytes = lists,.at = lists + n };
    call->args.bytes = lists[m->comm->rank];
    return WDL_OK;
}

/* The vector from every rank and what is left of it on this one, as the user has them. */
static int open_vectors(struct wdl_adi_call *call, const struct wdl_adi_mpi *m)
{
    MPI_Aint all = m->recvcount, own = m->recvcount;
    if (m->variable) {
        all = 0;
        own = m->recvcounts[m->comm->rank];
        for (int i = 0; i < m->comm->local_size; i++)
            all += m->recvcounts[i];
    } else if (m->kind == WDL_COLL_REDUCE_SCATTER) {
        all *= m->comm->local_size;
    }
    int status = wdl_adi_op_spread(&call->op);
    call->src = (struct wdl_adi_data) {
        .user = (void *) (uintptr_t) call->args.src,.count = all,.type = m->recvtype,.blocks = 1 };
    if (status == WDL_OK)
        status = wdl_adi_data_open(&call->src, WDL_ADI_FILL, &call->args.src_blocks);
    call->args.src = call->src.at;
    if (status != WDL_OK || (m->kind == WDL_COLL_REDUCE && !is_root(m)) ||
        (m->exclusive && m->comm->rank == 0))   /* nothing is left */
        return status;
    call->dst = (struct wdl_adi_data) {
        .user = m->recvbuf,.count = own,.type = m->recvtype,.blocks = 1 };
    call->stores = 1;
    status = wdl_adi_data_open(&call->dst, 0, &call->args.dst_blocks);
    call->args.dst = call->dst.at;
    return status;
}

static int open_reduction(struct wdl_adi_call *call, const struct wdl_adi_mpi *m)
{
    int status = WDL_OK;
    wdl_adi_op_make(m->op, m->recvtype, &call->op, &call->args.op);
    call->args.bytes = (size_t) m->recvcount * call->args.op.elem_bytes;
    call->args.src = in_place(m) ? m->recvbuf : m->sendbuf;
    call->args.dst = m->recvbuf;
    if (wdl_adi_op_packs(m->recvtype))
        status = open_vectors(call, m);
    return status == WDL_OK && m->variable ? open_parts(call, m) : status;
}

/* A rank whose own two sides differ in length takes part all the same, so that nobody waits for it,
 * and then says ERR_TRUNCATE. One side alone is used, as if its block were in place there: nothing
 * is read or written where it may not be. Where that is the side that the others deal with, the
 * root's, they are none the worse; else neither side can be right for all, and what this rank means
 * by the call is nobody else's, be all others as wrong: no data moves between them. */
static void mean_nothing(struct wdl_adi_call *call, const struct wdl_adi_mpi *m)
{
    if (!wdl_coll_is_rooted(m->kind))
        call->args.alike = wdl_alike_add(0, (const void *) ((uintptr_t) m->comm->rank + 1));
}

int wdl_adi_call_open(struct wdl_adi_call *call, const struct wdl_adi_mpi *m)
{
    memset(&call->args, 0, (size_t) ((char *) &call->mpi - (char *) &call->args));
    call->req.fn = NULL;
    call->args.kind = m->kind;
    call->args.flags = WDL_COLL_MPI | (m->exclusive ? WDL_COLL_EXCLUSIVE : 0);
    call->args.root = m->root;
    call->args.variable = m->variable;
    call->args.bytes = wdl_adi_call_bytes(m);
    call->differs = sides_differ(m);
    if (call->differs)
        mean_nothing(call, m);
    switch (m->kind) {
        case WDL_COLL_BARRIER:
            return WDL_OK;
        case WDL_COLL_BROADCAST:
            return open_broadcast(call, m);
        case WDL_COLL_GATHER:
            return open_gather(call, m);
        case WDL_COLL_SCATTER:
            return open_scatter(call, m);
        case WDL_COLL_GATHER_ALL:
            return open_gathering(call, m);
        case WDL_COLL_EXCHANGE:
            return open_exchange(call, m);
        default:
            return open_reduction(call, m);
    }
}

int wdl_adi_call_close(struct wdl_adi_call *call, int status)
{
    wdl_adi_data_close(&call->dst, call->stores);
    wdl_adi_data_close(&call->src, 0);
    MPL_free(call->op.spread.memory);
    return status == WDL_OK && call->differs ? WDL_ERR_TRUNCATE : status;
}
