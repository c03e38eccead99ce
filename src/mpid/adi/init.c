/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Beginning and end of the process.
 *
 * Every process publishes a card, its network address, through PMI; the cards are held once per
 * node, in memory its processes share. Connections are made on first use.
 *
 * The end: everything sent must have arrived before anyone closes, and a peer that waits inside PMI
 * makes no progress. So the network is flushed and then a barrier of messages, which everyone
 * spends polling, precedes PMI's barrier.
 */
#include "attributes.h"
#include "coll.h"
#include "mpidu_bc.h"
#include "mpidu_init_shm.h"
#include "muster.h"
#include "shm_file.h"
#include <fcntl.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_WINDLASS_BOUNCE_BUFFERS
      category    : WINDLASS
      type        : int
      default     : 0
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Number of buffers in which messages wait for the network, each of the network's largest
        message. 0: the device decides.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define ERROR_TEXT_MAX 512

struct wdl_adi wdl_adi;

/* In front of the address in a card; cards are all of one size. */
struct card_head {
    uint32_t bytes;
    int32_t pid;                /* of use to processes of its node */
    int32_t chooses;            /* its user says something of algorithms (coll_model.c) */
};

/* --- among the processes of a node ------------------------------------------------------------ */

/* At the end of the last one's block. */
wdl_static_assert(WDL_ADI_BLOCK + sizeof(struct wdl_muster) <= MPIDU_INIT_SHM_BLOCK_SIZE);

int wdl_adi_meet(void)
{
    void *block;
    if (MPIR_Process.local_size < 2)
        return MPI_SUCCESS;
    int mpi_errno = MPIDU_Init_shm_query(MPIR_Process.local_size - 1, &block);
    if (mpi_errno == MPI_SUCCESS)
        wdl_muster_all((void *) ((char *) block + WDL_ADI_BLOCK), MPIR_Process.local_size);
    return mpi_errno;
}

int wdl_adi_tell(void *mine, size_t bytes, wdl_adi_hear_fn hear, void *ctx)
{
    _Alignas(max_align_t) char said[WDL_ADI_BLOCK];
    MPIR_Assert(bytes <= sizeof said);
    int mpi_errno = MPIDU_Init_shm_put(mine, bytes);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = wdl_adi_meet();
    for (int i = 0; i < MPIR_Process.local_size && mpi_errno == MPI_SUCCESS; i++) {
        mpi_errno = MPIDU_Init_shm_get(i, bytes, said);
        if (mpi_errno == MPI_SUCCESS)
            hear(ctx, i, said);
    }
    return mpi_errno == MPI_SUCCESS ? wdl_adi_meet() : mpi_errno;
}

/* --- cards ------------------------------------------------------------------------------------ */

static int publish(struct wdl_proc *proc)
{
    int mpi_errno = MPI_SUCCESS;
    const void *address;
    size_t bytes;
    char card[MPID_MAX_BC_SIZE];
    struct card_head head;
    void *cards = NULL;
    int status = proc->nm->ops->address(proc->nm, &address, &bytes);
    WDL_ADI_CHECK(status, mpi_errno);

    int room = (int) (sizeof card - sizeof head);
    MPIR_ERR_CHKANDJUMP2(bytes > (size_t) room, mpi_errno, MPI_ERR_OTHER, "**wdl_card",
                         "**wdl_card %d %d", (int) bytes, room);
    head.bytes = (uint32_t) bytes;
    head.pid = (int32_t) getpid();
    head.chooses = wdl_adi_coll_chosen();
    memcpy(card, &head, sizeof head);
    memcpy(card + sizeof head, address, bytes);
    /* MPICH's own barriers look on: they begin when all are here */
    mpi_errno = wdl_adi_meet();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDU_bc_table_create(MPIR_Process.rank, MPIR_Process.size, MPIR_Process.node_map,
                                      card, (int) (sizeof head + bytes), FALSE, FALSE, &cards,
                                      &wdl_adi.card_bytes);
    MPIR_ERR_CHECK(mpi_errno);
    wdl_adi.cards = cards;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int wdl_adi_address_of(void *ctx, int peer, const void **addr_out, size_t * bytes_out)
{
    struct card_head head;
    (void) ctx;
    if (!wdl_adi.cards)
        return WDL_AGAIN;
    const char *card = wdl_adi.cards + (size_t) peer * (size_t) wdl_adi.card_bytes;
    memcpy(&head, card, sizeof head);
    if (head.bytes == 0 || head.bytes > (size_t) wdl_adi.card_bytes - sizeof head)
        return WDL_ERR_PEER;
    *addr_out = card + sizeof head;
    *bytes_out = head.bytes;
    return WDL_OK;
}

static struct card_head head_of(int peer)
{
    struct card_head head;
    memcpy(&head, wdl_adi.cards + (size_t) peer * (size_t) wdl_adi.card_bytes, sizeof head);
    return head;
}

int wdl_adi_pid(int peer)
{
    return head_of(peer).pid;
}

int wdl_adi_chooses(int peer)
{
    return head_of(peer).chooses;
}

void wdl_adi_peer_lost(void *ctx, int peer)
{
    char text[160];
    (void) ctx;
    if (wdl_adi.closing)
        return;
    wdl_adi.lost = 1;
    snprintf(text, sizeof text, "the process with rank %d in MPI_COMM_WORLD is gone, or cannot be "
             "reached by the transports there are (UCX_TLS)", peer);
    MPID_Abort(MPIR_Process.comm_world, MPI_SUCCESS, 1, text);
}

/* --- begin ------------------------------------------------------------------------------------ */

static int open_proc(void)
{
    int mpi_errno = MPI_SUCCESS;
    char text[ERROR_TEXT_MAX] = "";
    struct wdl_proc_params params = {
        .host = {.ops = &wdl_adi.host_ops,.ctx = &wdl_adi},
        .netmod = &wdl_nm_ucx_ops,
        .rank = MPIR_Process.rank,
        .peers = MPIR_Process.size,
        .local_peers = MPIR_Process.local_size,
        .bounce_count = MPIR_CVAR_WINDLASS_BOUNCE_BUFFERS,
    };
    int status = wdl_proc_create(&params, &wdl_adi.proc, text, sizeof text);
    MPIR_ERR_CHKANDJUMP1(status != WDL_OK, mpi_errno, MPI_ERR_OTHER, "**wdl_start",
                         "**wdl_start %s", text[0] ? text : wdl_status_text(status));
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* How patient waits are depends on the processors this process may use. */

static int plan_waiting(void)
{
    long processors, sharers = MPIR_Process.local_size;
    const char *ranks = getenv("MPI_LOCALNRANKS");
    if (ranks)                  /* hydra counts those of cliques that act as other nodes as well */
        sharers = MPL_MAX(sharers, strtol(ranks, NULL, 10));
    int mpi_errno = wdl_adi_processors(sharers, &processors);
    MPIR_ERR_CHECK(mpi_errno);
    wdl_adi.crowded = sharers > processors;
    wdl_adi.spin_polls = wdl_adi.crowded ? 0 : MPIR_CVAR_WINDLASS_SPIN_POLLS;
    wdl_adi.alone = wdl_adi.spin_polls > 0;
    wdl_adi_offer_begin();
    if (wdl_adi.spin_polls == 0)
        wdl_adi_slice_ask(MPIR_CVAR_WINDLASS_SLICE_US);
    wdl_adi.can_sleep = wdl_adi.proc->nm->ops->caps(wdl_adi.proc->nm)->has_wakeup;
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* What MPICH's start-up shares on a node (cards and a block a process) is written to without a
 * look at whether /dev/shm, and the limit on files, have room for it: it would end in a signal. So
 * that is seen first, by the process that will make it. */
static int shm_room(void)
{
    int mpi_errno = MPI_SUCCESS;
    enum { BLOCKS = 1 << 12 };
    off_t bytes = (off_t) MPIR_Process.size * MPID_MAX_BC_SIZE + BLOCKS +
                  (off_t) MPIR_Process.local_size * (off_t) sizeof(MPIDU_Init_shm_block_t);
    char text[ERROR_TEXT_MAX];
    if (MPIR_Process.local_size < 2 || MPIR_Process.local_rank != 0)
        return MPI_SUCCESS;
    int fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    int limited = !wdl_shm_file_may_have((size_t) bytes);
    int full = limited || (fd >= 0 && posix_fallocate(fd, 0, bytes) == ENOSPC);
    if (fd >= 0)
        close(fd);
    snprintf(text, sizeof text, "%s has no room for %lld bytes",
             limited ? "the limit on the size of files (ulimit -f)" : "/dev/shm",
             (long long) bytes);
    MPIR_ERR_CHKANDJUMP1(full, mpi_errno, MPI_ERR_NO_MEM, "**wdl_start", "**wdl_start %s", text);
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Init(int required, int *provided)
{
    int mpi_errno = MPI_SUCCESS;
    *provided = MPL_MIN(required, MPI_THREAD_MULTIPLE);

    mpi_errno = MPIR_pmi_init();
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Process.attrs.appnum = MPIR_Process.appnum;
    MPIR_Process.attrs.io = MPI_ANY_SOURCE;
    MPIR_Process.tag_bits = WDL_TAG_BITS;
    wdl_adi_comm_init();
    wdl_adi_attributes_init();

    wdl_adi_watch_begin();      /* early: what there is of ours it would get a copy of */
    wdl_adi.host_ops = wdl_adi_host_ops;
    if (!wdl_adi_heavy_barrier_init())
        wdl_adi.host_ops.heavy_barrier = NULL;
    (void) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);  /* copy.c */
    mpi_errno = open_proc();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = shm_room();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDU_Init_shm_init();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = plan_waiting();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = publish(wdl_adi.proc);
    MPIR_ERR_CHECK(mpi_errno);
    wdl_adi_watch_join();
    mpi_errno = wdl_adi_coll_init(wdl_adi.proc);
    MPIR_ERR_CHECK(mpi_errno);
    wdl_adi_bells_begin();
    mpi_errno = wdl_adi_rma_init(wdl_adi.proc);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = wdl_adi_coll_model_init(wdl_adi.proc);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_InitCompleted(void)
{
    /* the bindings complete a receive from MPI_PROC_NULL with this request and as it is */
    MPIR_Status_set_procnull(&MPIR_Request_create_complete(MPIR_REQUEST_KIND__RECV)->status);
    return MPI_SUCCESS;
}

/* --- end -------------------------------------------------------------------------------------- */

struct waited {                 /* one operation of the end, waited for */
    struct wdl_nm_comp comp;
    int done;
};

static void waited_done(struct wdl_nm_comp *comp, const struct wdl_nm_info *info)
{
    (void) info;
    wdl_container_of(comp, struct waited, comp)->done = 1;
}

static int wait_done(int status, const struct waited *waited)
{
    int mpi_errno = MPI_SUCCESS;
    if (status == WDL_PENDING)
        WDL_ADI_WAIT(waited->done ? WDL_OK : WDL_AGAIN, mpi_errno);
    return mpi_errno;
}

static int flush_all(struct wdl_nm *nm)
{
    struct waited flush = {.comp.fn = waited_done };
    int status;
    if (!nm->ops->caps(nm)->has_rma)
        return MPI_SUCCESS;
    while ((status = nm->ops->flush(nm, -1, &flush.comp)) == WDL_AGAIN)
        wdl_proc_progress(wdl_adi.proc);
    return wait_done(status, &flush);
}

/* One round of a dissemination barrier: tell `to`, hear from `from`. */
static int barrier_round(struct wdl_nm *nm, int round, int to, int from)
{
    const MPIR_Context_id_t context = WDL_TAG_CONTEXT_OWN;
    struct waited send = {.comp.fn = waited_done }, recv = {.comp.fn = waited_done };
    struct wdl_nm_buf nothing = { 0 };
    struct wdl_nm_info info;
    int send_status, recv_status;
    uint64_t mask = WDL_TAG_CONTEXT_MASK | WDL_TAG_RANK_MASK | WDL_TAG_MASK;

    while ((recv_status = nm->ops->tag_recv(nm, wdl_tag_make(context, from, round), mask,
                                            &nothing, &recv.comp, &info)) == WDL_AGAIN)
        wdl_proc_progress(wdl_adi.proc);
    while ((send_status = nm->ops->tag_send(nm, to, wdl_tag_make(context, MPIR_Process.rank, round),
                                            &nothing, 0, &send.comp)) == WDL_AGAIN)
        wdl_proc_progress(wdl_adi.proc);
    int mpi_errno = wait_done(send_status, &send);
    int mpi_errno2 = wait_done(recv_status, &recv);
    return mpi_errno ? mpi_errno : mpi_errno2;
}

/* MPI_Finalize's two barriers, by the first of their rounds. */
enum { FIRST_BARRIER = 0, LAST_BARRIER = 32 };

static int message_barrier(struct wdl_nm *nm, int round)
{
    int mpi_errno = MPI_SUCCESS;
    int size = MPIR_Process.size, rank = MPIR_Process.rank;
    for (int distance = 1; distance < size && !mpi_errno; distance *= 2)
        mpi_errno = barrier_round(nm, round++, (rank + distance) % size,
                                  (rank - distance + size) % size);
    return mpi_errno;
}

static void summary(struct wdl_nm *nm)
{
    char text[512];
    if (!MPIR_CVAR_DEBUG_SUMMARY || MPIR_Process.rank != 0)
        return;
    nm->ops->describe(nm, text, sizeof text);
    fprintf(stdout, "windlass: transports of rank 0: %s\n", text);
}

int MPID_Finalize(void)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = wdl_adi_wins_end();
    MPIR_ERR_CHECK(mpi_errno);
    /* who waits in a collective that others have called otherwise asks them what they meant */
    mpi_errno = message_barrier(wdl_adi.proc->nm, FIRST_BARRIER);
    MPIR_ERR_CHECK(mpi_errno);
    wdl_adi_outside();
    mpi_errno = wdl_adi_rma_fini(wdl_adi.proc);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = wdl_adi_gasnet_fini();
    MPIR_ERR_CHECK(mpi_errno);
    wdl_adi_bells_end();
    mpi_errno = wdl_adi_coll_fini(wdl_adi.proc);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = flush_all(wdl_adi.proc->nm);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = message_barrier(wdl_adi.proc->nm, LAST_BARRIER);
    MPIR_ERR_CHECK(mpi_errno);
    summary(wdl_adi.proc->nm);
    wdl_adi.closing = 1;
    mpi_errno = MPIR_pmi_barrier();
    MPIR_ERR_CHECK(mpi_errno);
    wdl_proc_destroy(wdl_adi.proc);
    mpi_errno = wdl_adi_meet();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDU_bc_table_destroy();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDU_Init_shm_finalize();
    MPIR_ERR_CHECK(mpi_errno);
    wdl_adi_watch_end();
    MPIR_pmi_finalize();
    memset(&wdl_adi, 0, sizeof wdl_adi);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* --- abort ------------------------------------------------------------------------------------ */

/* The process manager ends the job at once, and with it what it has not read from our pipes. So
 * it gets a moment to. */
static void last_words(void)
{
    static const int fds[] = { STDERR_FILENO, STDOUT_FILENO };
    for (int ms = 0; ms < 500; ms++) {
        int unread = 0, all = 0;
        for (unsigned i = 0; i < sizeof fds / sizeof fds[0]; i++)
            if (ioctl(fds[i], FIONREAD, &unread) == 0)
                all += unread;
        if (all == 0)
            return;
        usleep(1000);
    }
}

/* A process that is lost may be heard of here first. The watch of its node names it and has the
 * process manager end this one too; only if that does not happen there is something to say here. */
static void let_watch_speak(void)
{
    enum { PATIENCE_US = 500000 };
    if (wdl_adi.lost)
        usleep(PATIENCE_US);
}

/* May be called before MPID_Init (comm is NULL then) and from a callback. */
int MPID_Abort(MPIR_Comm * comm, int mpi_errno, int exit_code, const char *error_msg)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    let_watch_speak();
    if (mpi_errno != MPI_SUCCESS)
        MPIR_Err_get_string(mpi_errno, text, sizeof text, NULL);
    if (!error_msg)
        error_msg = "Internal error";
    MPL_error_printf("Abort(%d) on rank %d%s: %s%s%s\n", exit_code, MPIR_Process.rank,
                     comm == MPIR_Process.comm_world ? " of MPI_COMM_WORLD" : "", error_msg,
                     text[0] ? ": " : "", text);
    fflush(stderr);
    fflush(stdout);
    wdl_adi_watch_quiet();
    if (MPIR_CVAR_COREDUMP_ON_ABORT)
        abort();
    /* alone, and perhaps without a process manager, there is nobody to tell */
    if (MPIR_Process.size > 1) {
        last_words();
        MPIR_pmi_abort(exit_code, error_msg);
    }
    MPL_exit(exit_code);
    return MPI_ERR_INTERN;
}
