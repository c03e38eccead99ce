/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What the upper layer of MPICH calls: the device's functions, by the file they are in. Included
 * after all of MPICH's own structures. Arguments are MPI's, checked by the bindings unless a file
 * says otherwise.
 */
#ifndef MPIDPOST_H_INCLUDED
#define MPIDPOST_H_INCLUDED

#include "mpid_coll.h"

/* init.c */
int MPID_Init(int required, int *provided);
int MPID_InitCompleted(void);
int MPID_Finalize(void);
int MPID_Abort(MPIR_Comm * comm, int mpi_errno, int exit_code, const char *error_msg);

/* env.c */
int MPID_Get_universe_size(int *universe_size);
int MPID_Get_processor_name(char *name, int namelen, int *resultlen);
void *MPID_Alloc_mem(MPI_Aint size, MPIR_Info * info);
int MPID_Free_mem(void *ptr);
MPI_Aint MPID_Aint_add(MPI_Aint base, MPI_Aint disp);
MPI_Aint MPID_Aint_diff(MPI_Aint addr1, MPI_Aint addr2);
int MPID_Op_commit_hook(MPIR_Op * op);
int MPID_Op_free_hook(MPIR_Op * op);

/* comm.c, intercomm.c */
int MPID_Comm_commit_pre_hook(MPIR_Comm * comm);
int MPID_Comm_commit_post_hook(MPIR_Comm * comm);
int MPID_Comm_free_hook(MPIR_Comm * comm);
int MPID_Comm_set_hints(MPIR_Comm * comm, MPIR_Info * info);
int MPID_Comm_get_lpid(MPIR_Comm * comm, int rank, uint64_t * lpid_out, bool is_remote);
int MPID_Get_node_id(MPIR_Comm * comm, int rank, int *id_out);
int MPID_Comm_disconnect(MPIR_Comm * comm);
int MPID_Intercomm_exchange_map(MPIR_Comm * local_comm, int local_leader, MPIR_Comm * peer_comm,
                                int remote_leader, int *remote_size, uint64_t ** remote_lpids,
                                int *is_low_group);
int MPID_Create_intercomm_from_lpids(MPIR_Comm * newcomm, int size, const uint64_t lpids[]);

/* unsupported.c: failure mitigation, dynamic processes, partitioned communication */
int MPID_Comm_failure_ack(MPIR_Comm * comm);
int MPID_Comm_failure_get_acked(MPIR_Comm * comm, MPIR_Group ** group);
int MPID_Comm_get_all_failed_procs(MPIR_Comm * comm, MPIR_Group ** group, int tag);
int MPID_Comm_revoke(MPIR_Comm * comm, int is_remote);
int MPID_Comm_spawn_multiple(int count, char *commands[], char **argvs[], const int maxprocs[],
                             MPIR_Info * infos[], int root, MPIR_Comm * comm,
                             MPIR_Comm ** intercomm, int errcodes[]);
int MPID_Open_port(MPIR_Info * info, char *port_name);
int MPID_Close_port(const char *port_name);
int MPID_Comm_accept(const char *port_name, MPIR_Info * info, int root, MPIR_Comm * comm,
                     MPIR_Comm ** newcomm);
int MPID_Comm_connect(const char *port_name, MPIR_Info * info, int root, MPIR_Comm * comm,
                      MPIR_Comm ** newcomm);
int MPID_Psend_init(const void *buf, int partitions, MPI_Aint count, MPI_Datatype datatype,
                    int dest, int tag, MPIR_Comm * comm, MPIR_Info * info, MPIR_Request ** request);
int MPID_Precv_init(void *buf, int partitions, MPI_Aint count, MPI_Datatype datatype, int source,
                    int tag, MPIR_Comm * comm, MPIR_Info * info, MPIR_Request ** request);
int MPID_Pready_range(int low, int high, MPIR_Request * request);
int MPID_Pready_list(int length, int list[], MPIR_Request * request);
int MPID_Parrived(MPIR_Request * request, int partition, int *flag);

/* progress.c */
void MPID_Progress_start(MPID_Progress_state * state);
int MPID_Progress_wait(MPID_Progress_state * state);
void MPID_Progress_end(MPID_Progress_state * state);
int MPID_Progress_test(MPID_Progress_state * state);    /* state may be NULL */
int MPID_Progress_poke(void);

/* request.c; the hooks are declared in mpidpre.h */
int MPID_Request_complete(MPIR_Request * request);

/* send.c */
#define WDL_SEND_PARAMS const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag, \
    MPIR_Comm *comm, int context_offset, MPIR_Request **request
int MPID_Send(WDL_SEND_PARAMS);
int MPID_Ssend(WDL_SEND_PARAMS);
int MPID_Rsend(WDL_SEND_PARAMS);
int MPID_Isend(WDL_SEND_PARAMS);
int MPID_Issend(WDL_SEND_PARAMS);
int MPID_Irsend(WDL_SEND_PARAMS);
int MPID_Send_coll(WDL_SEND_PARAMS, MPIR_Errflag_t * errflag);
int MPID_Isend_coll(WDL_SEND_PARAMS, MPIR_Errflag_t * errflag);
int MPID_Cancel_send(MPIR_Request * request);

/* recv.c */
int MPID_Recv(void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
              MPIR_Comm * comm, int context_offset, MPI_Status * status, MPIR_Request ** request);
int MPID_Irecv(void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
               MPIR_Comm * comm, int context_offset, MPIR_Request ** request);
int MPID_Mrecv(void *buf, MPI_Aint count, MPI_Datatype datatype, MPIR_Request * message,
               MPI_Status * status, MPIR_Request ** request);
int MPID_Imrecv(void *buf, MPI_Aint count, MPI_Datatype datatype, MPIR_Request * message,
                MPIR_Request ** request);
int MPID_Cancel_recv(MPIR_Request * request);

/* probe.c */
int MPID_Probe(int rank, int tag, MPIR_Comm * comm, int context_offset, MPI_Status * status);
int MPID_Iprobe(int rank, int tag, MPIR_Comm * comm, int context_offset, int *flag,
                MPI_Status * status);
int MPID_Mprobe(int rank, int tag, MPIR_Comm * comm, int context_offset, MPIR_Request ** message,
                MPI_Status * status);
int MPID_Improbe(int rank, int tag, MPIR_Comm * comm, int context_offset, int *flag,
                 MPIR_Request ** message, MPI_Status * status);

/* persist.c */
int MPID_Send_init(WDL_SEND_PARAMS);
int MPID_Ssend_init(WDL_SEND_PARAMS);
int MPID_Rsend_init(WDL_SEND_PARAMS);
int MPID_Bsend_init(WDL_SEND_PARAMS);
int MPID_Recv_init(void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                   MPIR_Comm * comm, int context_offset, MPIR_Request ** request);
int MPID_Startall(int count, MPIR_Request * requests[]);
void wdl_adi_persist_free(MPIR_Request * request);

/* type.c */
int MPID_Type_commit_hook(MPIR_Datatype * type);
int MPID_Type_free_hook(MPIR_Datatype * type);

#include "mpidpost_rma.h"

/* Waiting and testing: the upper layer's loops, over our progress. */
#define MPID_Wait MPIR_Wait_impl
#define MPID_Waitall MPIR_Waitall_impl
int MPID_Waitany(int count, MPIR_Request * requests[], int *index_out, MPI_Status * status);
int MPID_Waitsome(int count, MPIR_Request * requests[], int *done_out, int indices[],
                  MPI_Status statuses[]);
#define MPID_Test MPIR_Test_impl
#define MPID_Testall MPIR_Testall_impl
#define MPID_Testany MPIR_Testany_impl
#define MPID_Testsome MPIR_Testsome_impl

#define MPID_Init_async_thread MPIR_Init_async_thread
#define MPID_Finalize_async_thread MPIR_Finalize_async_thread
#define MPID_Prequest_free_hook(request) wdl_adi_persist_free(request)
#define MPID_Part_request_free_hook(request) ((void) (request))

/* mpir_request.h has declared these two static inline. */
MPL_STATIC_INLINE_PREFIX int MPID_Comm_AS_enabled(MPIR_Comm * comm)
{
    return comm != NULL;        /* receives from any source are never disabled */
}

MPL_STATIC_INLINE_PREFIX int MPID_Request_is_anysource(MPIR_Request * request)
{
    return request == NULL;     /* matters for failure mitigation only, which we do not have */
}

#endif
