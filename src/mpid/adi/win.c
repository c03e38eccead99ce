/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Windows: creation in four flavours, freeing, queries. Creation is collective; what can fail on
 * one rank fails on all.
 */
#include "attributes.h"
#include "rma.h"
#include "mpid/coll/coll.h"

/* --- what the core asks of a window ----------------------------------------------------------- */

static int peer_of(void *ctx, int rank)
{
    return wdl_adi_peer(((MPIR_Win *) ctx)->comm_ptr, rank);
}

void wdl_adi_rank_info(void *ctx, int rank, struct wdl_win_rank *out)
{
    const MPIR_Win *win = ctx;
    const struct wdl_adi_segment *segment = &win->dev.segment;
    int member = segment->whole ? rank : -1;
    if (win->create_flavor == MPI_WIN_FLAVOR_DYNAMIC) {
        *out = (struct wdl_win_rank) {.bytes = UINT64_MAX,.disp_unit = 1 };
        return;
    }
    if (segment->table)
        *out = segment->table[rank];
    else if (!segment->whole)
        *out = (struct wdl_win_rank) {.bytes = (uint64_t) win->size,
            .disp_unit = win->dev.disp_unit };
    if (!segment->whole && !wdl_adi_is_provided(win))
        member = wdl_adi_segment_member(segment, rank);
    if (member >= 0)            /* private memory: its place is its address */
        *out = (struct wdl_win_rank) {.base = segment->place[member].offset,
            .bytes = segment->place[member].bytes,.disp_unit = segment->place[member].disp_unit };
}

static void *map(void *ctx, int rank, struct wdl_win_control **control_out)
{
    const MPIR_Win *win = ctx;
    const struct wdl_adi_segment *segment = &win->dev.segment;
    int member = wdl_adi_segment_member(segment, rank);
    *control_out = member < 0 ? NULL : &segment->control[member];
    if (member < 0)
        return NULL;
    if (wdl_adi_is_provided(win))
        return segment->base + segment->place[member].offset;
    if (member != segment->index)       /* created windows whose pages are shared: mapped, too */
        return win->dev.shared.base ? win->dev.shared.base + segment->place[member].offset : NULL;
    /* an empty or dynamic window has no address, but is reachable */
    return win->base ? win->base : (void *) segment->control;
}

/* --- creation --------------------------------------------------------------------------------- */

static void win_drop(MPIR_Win * win)
{
    int thread_err;
    win->dev.wdl = NULL;
    if (win->comm_ptr) {
        wdl_adi_share_free(win);
        wdl_adi_segment_free(win->comm_ptr, &win->dev.segment);
        MPIR_Comm_release_always(win->comm_ptr);
    }
    wdl_adi_info_free(win);
    MPID_Thread_mutex_destroy(&win->mutex, &thread_err);
    (void) thread_err;
    MPIR_Handle_obj_free(&MPIR_Win_mem, win);
}

/* What MPICH has but an int for: the attribute, and what MPI_Win_shared_query says, also by its
 * variant for large counts. */
static int unit_of(MPI_Aint disp_unit)
{
    return (int) MPL_MIN(disp_unit, INT_MAX);
}

/* The object; NULL when memory is short. */
static MPIR_Win *win_begin(const struct wdl_adi_making *m, int flavor, MPIR_Info * info)
{
    int thread_err;
    MPIR_Win *win = (MPIR_Win *) MPIR_Handle_obj_alloc(&MPIR_Win_mem);
    if (!win)
        return NULL;
    MPIR_Object_set_ref(win, 1);
    MPID_Thread_mutex_create(&win->mutex, &thread_err);
    (void) thread_err;
    win->errhandler = NULL;
    win->base = m->base;
    win->size = m->bytes;
    win->disp_unit = unit_of(m->disp_unit);
    win->attributes = NULL;
    win->comm_ptr = m->comm;
    MPIR_Object_add_ref_always(m->comm); /* a builtin one, too, stays as long as the window */
    win->name[0] = 0;
    win->create_flavor = flavor;
    win->model = MPI_WIN_UNIFIED;
    memset(&win->dev, 0, sizeof win->dev);
    win->dev.segment.fd = -1;
    win->dev.id = (uint32_t) m->id;
    win->dev.disp_unit = m->disp_unit;
    if (wdl_adi_info_set(win, info) == WDL_OK)
        return win;
    win_drop(win);
    return NULL;
}

/* A number no living window of this process has, the same on every rank: all create and free
 * windows of one communicator in the same order. */
static uint64_t next_id(MPIR_Comm * comm)
{
    uint32_t id;
    do {
        comm->dev.windows = comm->dev.windows % 0xffff + 1;
        id = (uint32_t) comm->context_id << 16 | comm->dev.windows;
    } while (wdl_win_find(wdl_adi.proc, id));
    return id;
}

static enum wdl_win_flavor flavor_of(const MPIR_Win * win)
{
    switch (win->create_flavor) {
        case MPI_WIN_FLAVOR_CREATE:
            return WDL_WIN_CREATE;
        case MPI_WIN_FLAVOR_ALLOCATE:
            return win->dev.segment.own ? WDL_WIN_CREATE : WDL_WIN_ALLOCATE;
        case MPI_WIN_FLAVOR_SHARED:
            return WDL_WIN_SHARED;
        default:
            return WDL_WIN_DYNAMIC;
    }
}

/* The peer who is the first rank of a node; asked by such ranks alone, who know each other. */
static int first_of(void *ctx, int node)
{
    return wdl_adi_peer(((MPIR_Win *) ctx)->comm_ptr->node_roots_comm, node);
}

/* How many nodes there are, where some have several ranks. 0: MPICH knows none, or each rank is
 * alone on its. */
static int nodes_of(const MPIR_Win * win)
{
    const MPIR_Comm *comm = win->comm_ptr;
    int nodes = 0;
    if (win->dev.segment.whole || !comm->internode_table ||
        comm->hierarchy_kind != MPIR_COMM_HIERARCHY_KIND__PARENT)
        return 0;
    for (int i = 0; i < comm->local_size; i++)
        nodes = MPL_MAX(nodes, comm->internode_table[i] + 1);
    return nodes < comm->local_size ? nodes : 0;
}

/* The core's window. */
static int core_create(MPIR_Win * win)
{
    int nodes = nodes_of(win);
    struct wdl_adi_segment *segment = &win->dev.segment;
    int permitted = wdl_adi_copy_permitted(win);
    int provided = wdl_adi_is_provided(win), dynamic = win->create_flavor == MPI_WIN_FLAVOR_DYNAMIC;
    int shared = win->dev.shared.on, mapped = provided || (shared && !dynamic);
    if (provided) /* the others' places may not be written yet */
        win->base = segment->base + segment->place[segment->index].offset;
    struct wdl_win_params params = {
        .id = win->dev.id,
        .rank = win->comm_ptr->rank,
        .size = win->comm_ptr->local_size,
        .flavor = flavor_of(win),
        .base = win->base,
        .bytes = (uint64_t) win->size,
        .disp_unit = win->dev.disp_unit,
        .ctx = win,
        .peer_of = peer_of,
        .rank_info = wdl_adi_rank_info,
        .map = map,
        .copy = !mapped && permitted ? wdl_adi_copy : NULL,
        .copy_mapped = mapped && permitted ? wdl_adi_copy : NULL,
        .attended = wdl_adi_asynch_wanted(win),
        .mail = !mapped,
        .stream = wdl_adi_stream,
        .direct = !segment->whole && MPIR_CVAR_WINDLASS_DIRECT,
        .atomics = MPIR_CVAR_WINDLASS_ATOMICS,
        .reach = shared && dynamic ? wdl_adi_share_reach : NULL,
        .mapped_any = (provided || shared) && segment->members > 1,
        .mem = segment->mem,
        .node = segment->control,
        .node_count = segment->members,
        .node_index = segment->index,
        .node_mem = segment->mem,
        .node_whole = segment->whole,
        .nodes = nodes,
        .node_number = nodes ? win->comm_ptr->internode_table[win->comm_ptr->rank] : 0,
        .first_of = first_of,
        .crowded = wdl_adi.spin_polls == 0,
        .place = mapped && segment->whole ? segment->place : NULL,
        .place_base = provided ? segment->base : win->dev.shared.base,
        .hints = wdl_adi_info_hints(win),
    };
    return wdl_win_create(wdl_adi.proc, &params, &win->dev.wdl);
}

/* The end of creation: the status all have, and what the network's atomics do for the window. When
 * this ends everyone has the window and may be written to, or nobody has it. */
static int core_agree(MPIR_Win *win, const struct wdl_adi_making *m, int *agreed_out)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    int own[1 + WDL_NET_LACKS], all[1 + WDL_NET_LACKS], *lacks = all + 1;
    struct wdl_net_offer offer = {.bytes = 0};
    own[0] = m->status;
    if (m->status == WDL_OK)
        wdl_win_net_offer(win->dev.wdl, &offer);
    for (int i = 0; i < WDL_NET_LACKS; i++)
        own[1 + i] = m->status == WDL_OK ? offer.lacks[i] : 1;
    int mpi_errno = wdl_adi_agree_all(m->comm, own, all, 1 + WDL_NET_LACKS);
    *agreed_out = all[0];
    if (mpi_errno == MPI_SUCCESS && *agreed_out == WDL_OK && wdl_net_asks(lacks)) {
        WDL_ADI_WAIT(wdl_win_net_ask(win->dev.wdl, &offer), mpi_errno);
        if (mpi_errno == MPI_SUCCESS)
            mpi_errno = wdl_adi_agree_all(m->comm, offer.lacks, lacks, WDL_NET_LACKS);
    }
    if (mpi_errno == MPI_SUCCESS && wdl_net_has_words(lacks))
        mpi_errno = MPIR_Bcast(&offer, sizeof offer, MPI_BYTE, 0, m->comm, &errflag);
    if (mpi_errno == MPI_SUCCESS && *agreed_out == WDL_OK)
        wdl_win_net_begin(win->dev.wdl, lacks, &offer);
    return mpi_errno;
}

static int win_create(struct wdl_adi_making *m, int flavor, MPIR_Info * info, MPIR_Win ** win_out)
{
    int mpi_errno = MPI_SUCCESS, agreed;
    struct wdl_adi_segment segment = {.fd = -1 };
    if (m->comm->comm_kind == MPIR_COMM_KIND__INTERCOMM) {      /* bindings let it pass */
        MPIR_ERR_SET(mpi_errno, MPI_ERR_COMM, "**commnotintra");
        return mpi_errno;
    }
    m->id = next_id(m->comm);
    MPIR_Win *win = win_begin(m, flavor, info);
    m->status = win ? WDL_OK : WDL_ERR_NOMEM;
    if (win && m->data) {
        m->alignment = wdl_adi_info_bytes(win, "mpi_minimum_memory_alignment");
        m->lone = flavor == MPI_WIN_FLAVOR_ALLOCATE && wdl_adi_info_is(win, "alloc_shm", "false");
        m->contiguous = flavor == MPI_WIN_FLAVOR_SHARED &&
                        !wdl_adi_info_is(win, "alloc_shared_noncontig", "true");
    }
    m->dynamic = flavor == MPI_WIN_FLAVOR_DYNAMIC;
    m->share = win && wdl_adi_share_wanted(win);
    mpi_errno = wdl_adi_segment_create(m, &segment);
    MPIR_ERR_CHECK(mpi_errno);
    if (flavor == MPI_WIN_FLAVOR_SHARED && !segment.whole)
        m->status = WDL_ERR_SHARED;
    if (win) {
        win->dev.segment = segment;
        win->base = m->base;
    }
    if (m->share)
        mpi_errno = wdl_adi_share_window(m, win);
    MPIR_ERR_CHECK(mpi_errno);
    if (m->status == WDL_OK)
        m->status = core_create(win);
    mpi_errno = core_agree(win, m, &agreed);
    MPIR_ERR_CHECK(mpi_errno);
    if (agreed != WDL_OK && win && win->dev.wdl)
        wdl_win_free(win->dev.wdl);
    WDL_ADI_CHECK(agreed, mpi_errno);
    wdl_adi_segment_opened(&win->dev.segment);
    wdl_adi_asynch_hold(win);
    *win_out = win;
  fn_exit:
    return mpi_errno;
  fn_fail:
    if (win) {
        win->dev.segment = segment;
        win->dev.segment.id = 0;        /* half made: not to be kept */
        win_drop(win);
    } else {
        segment.id = 0;
        wdl_adi_segment_free(m->comm, &segment);
    }
    goto fn_exit;
}

int MPID_Win_create(void *base, MPI_Aint size, MPI_Aint disp_unit, MPIR_Info * info,
                    MPIR_Comm * comm, MPIR_Win ** win)
{
    struct wdl_adi_making m = {.comm = comm,.bytes = size,.disp_unit = disp_unit,.base = base };
    return win_create(&m, MPI_WIN_FLAVOR_CREATE, info, win);
}

int MPID_Win_create_dynamic(MPIR_Info * info, MPIR_Comm * comm, MPIR_Win ** win)
{
    struct wdl_adi_making m = {.comm = comm,.disp_unit = 1 };
    return win_create(&m, MPI_WIN_FLAVOR_DYNAMIC, info, win);
}

static int win_provide(MPI_Aint size, MPI_Aint disp_unit, int flavor, MPIR_Info * info,
                       MPIR_Comm * comm, void **baseptr, MPIR_Win ** win)
{
    struct wdl_adi_making m = {.comm = comm,.bytes = size,.disp_unit = disp_unit,.data = 1 };
    int mpi_errno = win_create(&m, flavor, info, win);
    if (mpi_errno)
        return mpi_errno;
    *baseptr = (*win)->base;
    /* what collectives bring there is not copied on its way; where this fails, it is */
    if (flavor == MPI_WIN_FLAVOR_ALLOCATE)
        (void) wdl_coll_attach(wdl_adi.proc, (*win)->base, (size_t) size);
    return mpi_errno;
}

int MPID_Win_allocate(MPI_Aint size, MPI_Aint disp_unit, MPIR_Info * info, MPIR_Comm * comm,
                      void *baseptr, MPIR_Win ** win)
{
    return win_provide(size, disp_unit, MPI_WIN_FLAVOR_ALLOCATE, info, comm, (void **) baseptr,
                       win);
}

int MPID_Win_allocate_shared(MPI_Aint size, MPI_Aint disp_unit, MPIR_Info * info, MPIR_Comm * comm,
                             void **baseptr, MPIR_Win ** win)
{
    return win_provide(size, disp_unit, MPI_WIN_FLAVOR_SHARED, info, comm, baseptr, win);
}

/* --- freeing and queries ---------------------------------------------------------------------- */

int MPID_Win_free(MPIR_Win ** win_ptr)
{
    int mpi_errno = MPI_SUCCESS, step = 0;
    MPIR_Win *win = *win_ptr;
    mpi_errno = WDL_ADI_WIN_ERROR(win, wdl_win_may_free(win->dev.wdl));
    MPIR_ERR_CHECK(mpi_errno);
    /* nobody begins anything on the window after this */
    WDL_WIN_WAIT(win, wdl_win_barrier(win->dev.wdl, &step), mpi_errno);
    MPIR_ERR_CHECK(mpi_errno);
    if (win->create_flavor == MPI_WIN_FLAVOR_ALLOCATE)
        WDL_WIN_WAIT(win, wdl_coll_detach(wdl_adi.proc, win->base, (size_t) win->size), mpi_errno);
    MPIR_ERR_CHECK(mpi_errno);
    WDL_WIN_WAIT(win, wdl_win_free(win->dev.wdl), mpi_errno);
    MPIR_ERR_CHECK(mpi_errno);
    wdl_adi_asynch_release(win);
    win_drop(win);
    *win_ptr = NULL;
    wdl_adi_outside();          /* it knew types for longer than operations needed them */
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The window made next after this one, or first (NULL). */
static MPIR_Win *win_after(const MPIR_Win *win)
{
    struct wdl_win *next = wdl_win_after(wdl_adi.proc, win ? win->dev.wdl : NULL);
    return next ? wdl_win_ctx(next) : NULL;
}

/* It cannot be freed, since others may yet come. */
static void win_unended(const MPIR_Win *win)
{
    char text[256], epoch[160];
    wdl_win_epoch_text(win->dev.wdl, epoch, sizeof epoch);
    snprintf(text, sizeof text,
             "MPI_Finalize within an epoch of a window: the epoch is to be ended, and MPI_Win_free "
             "called, before it; %s",
             epoch);
    MPID_Abort(MPIR_Process.comm_world, MPI_SUCCESS, 1, text);
}

int wdl_adi_wins_end(void)
{
    int mpi_errno = MPI_SUCCESS, n = 0;
    for (MPIR_Win *win = win_after(NULL); win; win = win_after(win)) {
        n += win->comm_ptr->rank == 0;
        if (wdl_win_may_free(win->dev.wdl) != WDL_OK)
            win_unended(win);
    }
    if (n > 0)
        MPL_error_printf("windlass: MPI_Finalize frees %d window%s that the program has not freed: "
                         "MPI_Win_free is to be called before it\n",
                         n, n == 1 ? "" : "s");
    for (MPIR_Win *win; !mpi_errno && (win = win_after(NULL)) != NULL;)
        mpi_errno = MPID_Win_free(&win);
    return mpi_errno;
}

int MPID_Win_shared_query(MPIR_Win * win, int rank, MPI_Aint * size, int *disp_unit, void *baseptr)
{
    int mpi_errno = MPI_SUCCESS, member = -1;
    const struct wdl_adi_segment *segment = &win->dev.segment;
    if (rank == MPI_PROC_NULL) {        /* the lowest rank that has memory */
        for (member = 0; member < segment->members - 1 && segment->place[member].bytes == 0;
             member++)
            ;
    } else if (segment->members > 0) {
        member = wdl_adi_segment_member(segment, rank);
    }
    MPIR_ERR_CHKANDJUMP1(!wdl_adi_is_provided(win), mpi_errno, MPI_ERR_RMA_FLAVOR, "**winflavor",
                         "**winflavor %s", "MPI_WIN_FLAVOR_SHARED");
    if (member < 0)
        WDL_ADI_CHECK(WDL_ERR_SHARED, mpi_errno);
    *size = (MPI_Aint) segment->place[member].bytes;
    *disp_unit = unit_of(segment->place[member].disp_unit);
    *(void **) baseptr = *size > 0 ? segment->base + segment->place[member].offset : NULL;
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int expect_dynamic(const MPIR_Win *win)
{
    int mpi_errno = MPI_SUCCESS;
    if (win->create_flavor != MPI_WIN_FLAVOR_DYNAMIC)
        MPIR_ERR_SET1(mpi_errno, MPI_ERR_RMA_FLAVOR, "**winflavor", "**winflavor %s",
                      "MPI_WIN_FLAVOR_DYNAMIC");
    return mpi_errno;
}

int MPID_Win_attach(MPIR_Win * win, void *base, MPI_Aint size)
{
    int mpi_errno = expect_dynamic(win);
    if (mpi_errno)
        return mpi_errno;
    if (win->dev.shared.on)
        return WDL_ADI_ERROR(wdl_adi_share_attach(win, base, size));
    return WDL_ADI_ERROR(wdl_win_attach(win->dev.wdl, base, (uint64_t) size));
}

int MPID_Win_detach(MPIR_Win * win, const void *base)
{
    int mpi_errno = expect_dynamic(win);
    if (mpi_errno)
        return mpi_errno;
    WDL_ADI_WAIT(wdl_win_detach(win->dev.wdl, base), mpi_errno);
    if (mpi_errno == MPI_SUCCESS)
        wdl_adi_share_detached(win, base);
    return mpi_errno;
}

/* --- the module ------------------------------------------------------------------------------- */

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_WINDLASS_GLOBAL_OPS
      category    : WINDLASS
      type        : int
      default     : 4096
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        RMA operation elements shared by all windows.

    - name        : MPIR_CVAR_WINDLASS_GLOBAL_TARGETS
      category    : WINDLASS
      type        : int
      default     : 1024
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        RMA target elements shared by all windows.

    - name        : MPIR_CVAR_WINDLASS_WIN_OPS
      category    : WINDLASS
      type        : int
      default     : 256
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        RMA operation elements of each window.

    - name        : MPIR_CVAR_WINDLASS_WIN_TARGETS
      category    : WINDLASS
      type        : int
      default     : 64
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        RMA target elements of each window.

    - name        : MPIR_CVAR_WINDLASS_WIN_SLOTS
      category    : WINDLASS
      type        : int
      default     : 64
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Slots of each window's operation table.

    - name        : MPIR_CVAR_WINDLASS_DIRECT
      category    : WINDLASS
      type        : boolean
      default     : true
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Puts and gets are left to the network where it needs no help of the target's processor.
        Otherwise they go by message.

    - name        : MPIR_CVAR_WINDLASS_ATOMICS
      category    : WINDLASS
      type        : boolean
      default     : true
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        On windows that span nodes locks, and updates of a few integers, are left to the network's
        atomics where it has some of its own for all processes. Otherwise they go by message.

    - name        : MPIR_CVAR_WINDLASS_AGGREGATION
      category    : WINDLASS
      type        : string
      default     : "auto"
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        When short one-sided operations to one target travel in one message: auto (where they
        follow one another), eager (each is sent at once) or combine (they wait for more, or for
        the next synchronization). The first one under a lock of MPI_Win_lock travels with the
        lock's request, which goes with the next operation or synchronization. The info key
        windlass_aggregation says it for one window.

    - name        : MPIR_CVAR_WINDLASS_SHORT_BYTES
      category    : WINDLASS
      type        : int
      default     : 4096
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Longest one-sided operation that travels with others, or with its lock and unlock, in one
        message.

    - name        : MPIR_CVAR_WINDLASS_STASHES
      category    : WINDLASS
      type        : int
      default     : 32
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Messages with operations of at most 1 KiB that a process keeps until the lock they ask for
        is free; further ones are sent twice.

    - name        : MPIR_CVAR_WINDLASS_WIN_TYPES
      category    : WINDLASS
      type        : int
      default     : 32
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Derived target types a window remembers as known to its targets, and keeps of others; they
        are not described again.

    - name        : MPIR_CVAR_WINDLASS_TYPE_BYTES_MAX
      category    : WINDLASS
      type        : int
      default     : 67108864
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Longest description of a derived target type that a process accepts from another, in bytes.
        Operations with a longer one fail.

    - name        : MPIR_CVAR_WINDLASS_PSCW_TREE
      category    : WINDLASS
      type        : int
      default     : 32
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        MPI_Win_post and MPI_Win_complete tell each process of a group of at most that many by
        itself; larger groups are told along a tree, in which processes of the group pass it on,
        where a progress thread serves them while they compute.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

int wdl_adi_rma_init(struct wdl_proc *proc)
{
    struct wdl_rma_params params = {
        .global_ops = MPIR_CVAR_WINDLASS_GLOBAL_OPS,
        .global_targets = MPIR_CVAR_WINDLASS_GLOBAL_TARGETS,
        .win_ops = MPIR_CVAR_WINDLASS_WIN_OPS,
        .win_targets = MPIR_CVAR_WINDLASS_WIN_TARGETS,
        .win_slots = MPIR_CVAR_WINDLASS_WIN_SLOTS,
        .short_bytes = MPIR_CVAR_WINDLASS_SHORT_BYTES,
        .stashes = MPIR_CVAR_WINDLASS_STASHES,
        .win_types = MPIR_CVAR_WINDLASS_WIN_TYPES,
        .type_bytes_max = MPIR_CVAR_WINDLASS_TYPE_BYTES_MAX,
        .pscw_tree = MPIR_CVAR_WINDLASS_PSCW_TREE,
    };
    wdl_adi_elements_init();
    wdl_adi_ops_init();
    wdl_adi_pvars_init();
    return WDL_ADI_ERROR(wdl_rma_init(proc, &params));
}

int wdl_adi_rma_fini(struct wdl_proc *proc)
{
    wdl_adi_asynch_end();
    wdl_rma_fini(proc);
    return MPI_SUCCESS;
}
