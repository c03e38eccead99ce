/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * MPI's collectives that the engine knows, as a table: X(Name, name, parameters, arguments, what
 * they are in the words of struct wdl_adi_mpi, the arguments out of an m of that struct). Blocking,
 * nonblocking and persistent forms are made from it (mpid_coll.h, coll_mpi.c, coll_persist.c).
 * And those it does not know, whose persistent forms are the device's, too.
 */
#ifndef WDL_COLL_CALLS_H_INCLUDED
#define WDL_COLL_CALLS_H_INCLUDED

#define WDL_COLL_LIST(...) __VA_ARGS__

/* one block or vector each way; blocks of the same size; of different sizes on one side, on both */
#define WDL_COLL_BLOCKS_P                                                                      \
    const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,             \
        MPI_Aint recvcount, MPI_Datatype recvtype,
#define WDL_COLL_BLOCKS_A sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
#define WDL_COLL_BLOCKS_M                                                                      \
    .sendbuf = sendbuf, .sendcount = sendcount, .sendtype = sendtype, .recvbuf = recvbuf,      \
    .recvcount = recvcount, .recvtype = recvtype
#define WDL_COLL_BLOCKS_K                                                                      \
    m->sendbuf, m->sendcount, m->sendtype, m->recvbuf, m->recvcount, m->recvtype,
#define WDL_COLL_INV_P                                                                         \
    const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,             \
        const MPI_Aint recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
#define WDL_COLL_INV_A sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
#define WDL_COLL_INV_M                                                                         \
    .variable = 1, .sendbuf = sendbuf, .sendcount = sendcount, .sendtype = sendtype,           \
    .recvbuf = recvbuf, .recvcounts = recvcounts, .rdispls = displs, .recvtype = recvtype
#define WDL_COLL_INV_K                                                                         \
    m->sendbuf, m->sendcount, m->sendtype, m->recvbuf, m->recvcounts, m->rdispls, m->recvtype,
#define WDL_COLL_VEC_P                                                                         \
    const void *sendbuf, const MPI_Aint sendcounts[], const MPI_Aint sdispls[],                \
        MPI_Datatype sendtype, void *recvbuf, const MPI_Aint recvcounts[],                     \
        const MPI_Aint rdispls[], MPI_Datatype recvtype,
#define WDL_COLL_VEC_A                                                                         \
    sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
#define WDL_COLL_VEC_M                                                                         \
    .variable = 1, .sendbuf = sendbuf, .sendcounts = sendcounts, .sdispls = sdispls,           \
    .sendtype = sendtype, .recvbuf = recvbuf, .recvcounts = recvcounts, .rdispls = rdispls,    \
    .recvtype = recvtype
#define WDL_COLL_VEC_K                                                                         \
    m->sendbuf, m->sendcounts, m->sdispls, m->sendtype, m->recvbuf, m->recvcounts, m->rdispls, \
        m->recvtype,
#define WDL_COLL_REDUCE_P                                                                      \
    const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
#define WDL_COLL_REDUCE_A sendbuf, recvbuf, count, datatype, op,
#define WDL_COLL_REDUCE_M                                                                      \
    .sendbuf = sendbuf, .recvbuf = recvbuf, .recvcount = count, .recvtype = datatype, .op = op

#define WDL_COLL_REDUCE_K m->sendbuf, m->recvbuf, m->recvcount, m->recvtype, m->op,

#define WDL_COLL_CALLS(X)                                                                      \
    X(Barrier, barrier, (), (), (.kind = WDL_COLL_BARRIER), ())                                \
    X(Bcast, bcast, (void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,),          \
      (buffer, count, datatype, root,),                                                        \
      (.kind = WDL_COLL_BROADCAST, .recvbuf = buffer, .recvcount = count,                      \
       .recvtype = datatype, .root = root),                                                    \
      (m->recvbuf, m->recvcount, m->recvtype, m->root,))                                       \
    X(Gather, gather, (WDL_COLL_BLOCKS_P int root,), (WDL_COLL_BLOCKS_A root,),                \
      (.kind = WDL_COLL_GATHER, .root = root, WDL_COLL_BLOCKS_M), (WDL_COLL_BLOCKS_K m->root,))\
    X(Gatherv, gatherv, (WDL_COLL_INV_P int root,), (WDL_COLL_INV_A root,),                    \
      (.kind = WDL_COLL_GATHER, .root = root, WDL_COLL_INV_M), (WDL_COLL_INV_K m->root,))      \
    X(Scatter, scatter, (WDL_COLL_BLOCKS_P int root,), (WDL_COLL_BLOCKS_A root,),              \
      (.kind = WDL_COLL_SCATTER, .root = root, WDL_COLL_BLOCKS_M),                             \
      (WDL_COLL_BLOCKS_K m->root,))                                                            \
    X(Scatterv, scatterv,                                                                      \
      (const void *sendbuf, const MPI_Aint sendcounts[], const MPI_Aint displs[],              \
       MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,        \
       int root,),                                                                             \
      (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root,),            \
      (.kind = WDL_COLL_SCATTER, .root = root, .variable = 1, .sendbuf = sendbuf,              \
       .sendcounts = sendcounts, .sdispls = displs, .sendtype = sendtype, .recvbuf = recvbuf,  \
       .recvcount = recvcount, .recvtype = recvtype),                                          \
      (m->sendbuf, m->sendcounts, m->sdispls, m->sendtype, m->recvbuf, m->recvcount,           \
       m->recvtype, m->root,))                                                                 \
    X(Allgather, allgather, (WDL_COLL_BLOCKS_P), (WDL_COLL_BLOCKS_A),                          \
      (.kind = WDL_COLL_GATHER_ALL, WDL_COLL_BLOCKS_M), (WDL_COLL_BLOCKS_K))                   \
    X(Allgatherv, allgatherv, (WDL_COLL_INV_P), (WDL_COLL_INV_A),                              \
      (.kind = WDL_COLL_GATHER_ALL, WDL_COLL_INV_M), (WDL_COLL_INV_K))                         \
    X(Alltoall, alltoall, (WDL_COLL_BLOCKS_P), (WDL_COLL_BLOCKS_A),                            \
      (.kind = WDL_COLL_EXCHANGE, WDL_COLL_BLOCKS_M), (WDL_COLL_BLOCKS_K))                     \
    X(Alltoallv, alltoallv, (WDL_COLL_VEC_P), (WDL_COLL_VEC_A),                                \
      (.kind = WDL_COLL_EXCHANGE, WDL_COLL_VEC_M), (WDL_COLL_VEC_K))                           \
    X(Reduce, reduce, (WDL_COLL_REDUCE_P int root,), (WDL_COLL_REDUCE_A root,),                \
      (.kind = WDL_COLL_REDUCE, .root = root, WDL_COLL_REDUCE_M), (WDL_COLL_REDUCE_K m->root,))\
    X(Allreduce, allreduce, (WDL_COLL_REDUCE_P), (WDL_COLL_REDUCE_A),                          \
      (.kind = WDL_COLL_ALLREDUCE, WDL_COLL_REDUCE_M), (WDL_COLL_REDUCE_K))                    \
    X(Reduce_scatter, reduce_scatter,                                                          \
      (const void *sendbuf, void *recvbuf, const MPI_Aint recvcounts[], MPI_Datatype datatype, \
       MPI_Op op,),                                                                            \
      (sendbuf, recvbuf, recvcounts, datatype, op,),                                           \
      (.kind = WDL_COLL_REDUCE_SCATTER, .variable = 1, .sendbuf = sendbuf, .recvbuf = recvbuf, \
       .recvcounts = recvcounts, .recvtype = datatype, .op = op),                              \
      (m->sendbuf, m->recvbuf, m->recvcounts, m->recvtype, m->op,))                            \
    X(Reduce_scatter_block, reduce_scatter_block, (WDL_COLL_REDUCE_P), (WDL_COLL_REDUCE_A),    \
      (.kind = WDL_COLL_REDUCE_SCATTER, WDL_COLL_REDUCE_M), (WDL_COLL_REDUCE_K))               \
    X(Scan, scan, (WDL_COLL_REDUCE_P), (WDL_COLL_REDUCE_A),                                    \
      (.kind = WDL_COLL_SCAN, WDL_COLL_REDUCE_M), (WDL_COLL_REDUCE_K))                         \
    X(Exscan, exscan, (WDL_COLL_REDUCE_P), (WDL_COLL_REDUCE_A),                                \
      (.kind = WDL_COLL_SCAN, .exclusive = 1, WDL_COLL_REDUCE_M), (WDL_COLL_REDUCE_K))

/* a block, and a type, for each partner and from each */
#define WDL_COLL_WEC_P                                                                         \
    const void *sendbuf, const MPI_Aint sendcounts[], const MPI_Aint sdispls[],                \
        const MPI_Datatype sendtypes[], void *recvbuf, const MPI_Aint recvcounts[],            \
        const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
#define WDL_COLL_WEC_M                                                                         \
    .kind = WDL_COLL_EXCHANGE, .variable = 1, .sendbuf = sendbuf, .sendcounts = sendcounts,    \
    .sdispls = sdispls, .recvbuf = recvbuf, .recvcounts = recvcounts, .rdispls = rdispls,      \
    .sendtypes = sendtypes, .recvtypes = recvtypes, .sendtype = MPI_BYTE, .recvtype = MPI_BYTE
#define WDL_COLL_WEC_K                                                                         \
    m->sendbuf, m->sendcounts, m->sdispls, m->sendtypes, m->recvbuf, m->recvcounts,            \
        m->rdispls, m->recvtypes,

#define WDL_COLL_OTHERS(X)                                                                     \
    X(Alltoallw, alltoallw, (WDL_COLL_WEC_P), (), (WDL_COLL_WEC_M), (WDL_COLL_WEC_K))          \
    X(Neighbor_allgather, neighbor_allgather, (WDL_COLL_BLOCKS_P), (),                         \
      (.kind = WDL_COLL_GATHER_ALL, .neighbors = 1, WDL_COLL_BLOCKS_M), (WDL_COLL_BLOCKS_K))   \
    X(Neighbor_allgatherv, neighbor_allgatherv, (WDL_COLL_INV_P), (),                          \
      (.kind = WDL_COLL_GATHER_ALL, .neighbors = 1, WDL_COLL_INV_M), (WDL_COLL_INV_K))         \
    X(Neighbor_alltoall, neighbor_alltoall, (WDL_COLL_BLOCKS_P), (),                           \
      (.kind = WDL_COLL_EXCHANGE, .neighbors = 1, WDL_COLL_BLOCKS_M), (WDL_COLL_BLOCKS_K))     \
    X(Neighbor_alltoallv, neighbor_alltoallv, (WDL_COLL_VEC_P), (),                            \
      (.kind = WDL_COLL_EXCHANGE, .neighbors = 1, WDL_COLL_VEC_M), (WDL_COLL_VEC_K))           \
    X(Neighbor_alltoallw, neighbor_alltoallw, (WDL_COLL_WEC_P), (),                            \
      (.neighbors = 1, WDL_COLL_WEC_M), (WDL_COLL_WEC_K))

#endif
