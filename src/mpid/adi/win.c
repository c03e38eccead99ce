/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Windows: creation in four flavours, freeing, queries. Creation is collective; what can fail on one rank fails on all.
 */
#include "rma.h"

/* --- what the core asks of a window ---------------------------------------------------------------------------- */

static int peer_of(void *ctx, int rank)
{
    return wdl_adi_peer(((MPIR_Win *) ctx)->comm_ptr, rank);
}

static void rank_info(void *ctx, int rank, struct wdl_win_rank *out)
{
    const MPIR_Win *win = ctx;
    if (win->create_flavor == MPI_WIN_FLAVOR_DYNAMIC)
        *out = (struct wdl_win_rank) {.bytes = UINT64_MAX,.disp_unit = 1 };
    else if (win->dev.segment.table)
        *out = win->dev.segment.table[rank];
    else
        *out = (struct wdl_win_rank) {.bytes = (uint64_t) win->size,.disp_unit = win->disp_unit };
}

static void *map(void *ctx, int rank, struct wdl_win_control **control_out)
{
    const MPIR_Win *win = ctx;
    const struct wdl_adi_segment *segment = &win->dev.segment;
    if (win->dev.own_control) { /* private memory */
        *control_out = win->dev.own_control;
        if (rank != win->comm_ptr->rank)
            return NULL;
        /* an empty or dynamic window has no address, but is reachable */
        return win->base ? win->base : (void *) win->dev.own_control;
    }
    int member = wdl_adi_segment_member(segment, rank);
    if (member < 0)
        return NULL;
    *control_out = (struct wdl_win_control *) (void *) segment->control + member;
    return segment->base + segment->part[member].offset;
}

/* --- creation -------------------------------------------------------------------------------------------------- */

static void win_drop(MPIR_Win * win)
{
    wdl_adi_segment_free(&win->dev.segment);
    MPL_free(win->dev.own_control);
    wdl_adi_info_free(win);
    if (win->comm_ptr)
        MPIR_Comm_free_impl(win->comm_ptr);
    int thread_err;
    MPID_Thread_mutex_destroy(&win->mutex, &thread_err);
    (void) thread_err;
    MPIR_Handle_obj_free(&MPIR_Win_mem, win);
}

static int win_begin(MPI_Aint size, int disp_unit, int flavor, MPIR_Info * info, MPIR_Comm * comm,
                     MPIR_Win ** win_out)
{
    int mpi_errno = MPI_SUCCESS, thread_err;
    MPIR_Win *win = (MPIR_Win *) MPIR_Handle_obj_alloc(&MPIR_Win_mem);
    MPIR_ERR_CHKANDJUMP1(!win, mpi_errno, MPI_ERR_OTHER, "**nomem", "**nomem %s", "MPIR_Win_mem");
    MPIR_Object_set_ref(win, 1);
    MPID_Thread_mutex_create(&win->mutex, &thread_err);
    win->errhandler = NULL;
    win->base = NULL;
    win->size = size;
    win->disp_unit = disp_unit;
    win->attributes = NULL;
    win->comm_ptr = NULL;
    win->name[0] = 0;
    win->create_flavor = flavor;
    win->model = MPI_WIN_UNIFIED;
    memset(&win->dev, 0, sizeof win->dev);
    mpi_errno = MPIR_Comm_dup_impl(comm, &win->comm_ptr);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = wdl_adi_info_set(win, info);
    if (mpi_errno) {
        win_drop(win);
        goto fn_fail;
    }
    *win_out = win;
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Do sizes or units differ among the ranks? */
static int ranks_differ(MPIR_Win * win, int *differ_out)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    int64_t mine[4] = { win->size, -(int64_t) win->size, win->disp_unit, -(int64_t) win->disp_unit };
    int64_t most[4];
    int mpi_errno = MPIR_Allreduce(mine, most, 4, MPI_INT64_T, MPI_MAX, win->comm_ptr, &errflag);
    *differ_out = most[0] != -most[1] || most[2] != -most[3];
    return mpi_errno;
}

static enum wdl_win_flavor flavor_of(const MPIR_Win * win)
{
    switch (win->create_flavor) {
        case MPI_WIN_FLAVOR_CREATE:
            return WDL_WIN_CREATE;
        case MPI_WIN_FLAVOR_ALLOCATE:
            return WDL_WIN_ALLOCATE;
        case MPI_WIN_FLAVOR_SHARED:
            return WDL_WIN_SHARED;
        default:
            return WDL_WIN_DYNAMIC;
    }
}

/* The core's window, on all ranks or on none; then everyone may be written to. */
static int win_end(MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS, agreed;
    struct wdl_win_params params = {
        .id = win->comm_ptr->context_id,
        .rank = win->comm_ptr->rank,
        .size = win->comm_ptr->local_size,
        .flavor = flavor_of(win),
        .base = win->base,
        .bytes = (uint64_t) win->size,
        .disp_unit = win->disp_unit,
        .ctx = win,
        .peer_of = peer_of,
        .rank_info = rank_info,
        .map = map,
        .mapped_any = win->dev.segment.members > 0 && !win->dev.own_control,
        .no_locks = wdl_adi_info_is(win, "no_locks", "true"),
        .acc_unordered = wdl_adi_info_is(win, "accumulate_ordering", "none"),
    };
    int status = wdl_win_create(wdl_adi.proc, &params, &win->dev.wdl);
    mpi_errno = wdl_adi_agree(win->comm_ptr, status, &agreed);  /* everyone has the window when this ends */
    MPIR_ERR_CHECK(mpi_errno);
    if (agreed != WDL_OK && win->dev.wdl)
        wdl_win_free(win->dev.wdl);
    WDL_ADI_CHECK(agreed, mpi_errno);
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int control_make(MPIR_Win * win)
{
    win->dev.own_control = MPL_calloc(1, sizeof(struct wdl_win_control), MPL_MEM_RMA);
    return win->dev.own_control ? MPI_SUCCESS : WDL_ADI_ERROR(WDL_ERR_NOMEM);
}

/* Windows on memory the user has: created and dynamic ones. */
static int create_private(void *base, MPI_Aint size, int disp_unit, int flavor, MPIR_Info * info,
                          MPIR_Comm * comm, MPIR_Win ** win_out)
{
    int differ = 0;
    MPIR_Win *win = NULL;
    int mpi_errno = win_begin(size, disp_unit, flavor, info, comm, &win);
    MPIR_ERR_CHECK(mpi_errno);
    win->base = base;
    mpi_errno = control_make(win);
    MPIR_ERR_CHECK(mpi_errno);
    if (flavor == MPI_WIN_FLAVOR_CREATE) {
        mpi_errno = ranks_differ(win, &differ);
        MPIR_ERR_CHECK(mpi_errno);
        if (differ)
            mpi_errno = wdl_adi_segment_create(win, size, disp_unit, 0, 0, 1);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = win_end(win);
    MPIR_ERR_CHECK(mpi_errno);
    *win_out = win;
  fn_exit:
    return mpi_errno;
  fn_fail:
    if (win)
        win_drop(win);
    goto fn_exit;
}

/* Windows on memory we provide. */
static int create_provided(MPI_Aint size, int disp_unit, int flavor, MPIR_Info * info, MPIR_Comm * comm,
                           void **base_out, MPIR_Win ** win_out)
{
    int differ, contiguous;
    MPIR_Win *win = NULL;
    struct wdl_win_control *control;
    int mpi_errno = win_begin(size, disp_unit, flavor, info, comm, &win);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = ranks_differ(win, &differ);
    MPIR_ERR_CHECK(mpi_errno);
    contiguous = flavor == MPI_WIN_FLAVOR_SHARED && !wdl_adi_info_is(win, "alloc_shared_noncontig", "true");
    mpi_errno = wdl_adi_segment_create(win, size, disp_unit, 1, contiguous, differ);
    MPIR_ERR_CHECK(mpi_errno);
    if (flavor == MPI_WIN_FLAVOR_SHARED && win->dev.segment.members != win->comm_ptr->local_size)
        WDL_ADI_CHECK(WDL_ERR_SHARED, mpi_errno);
    win->base = map(win, win->comm_ptr->rank, &control);
    mpi_errno = win_end(win);
    MPIR_ERR_CHECK(mpi_errno);
    *base_out = win->base;
    *win_out = win;
  fn_exit:
    return mpi_errno;
  fn_fail:
    if (win)
        win_drop(win);
    goto fn_exit;
}

int MPID_Win_create(void *base, MPI_Aint size, int disp_unit, MPIR_Info * info, MPIR_Comm * comm,
                    MPIR_Win ** win)
{
    return create_private(base, size, disp_unit, MPI_WIN_FLAVOR_CREATE, info, comm, win);
}

int MPID_Win_create_dynamic(MPIR_Info * info, MPIR_Comm * comm, MPIR_Win ** win)
{
    return create_private(NULL, 0, 1, MPI_WIN_FLAVOR_DYNAMIC, info, comm, win);
}

int MPID_Win_allocate(MPI_Aint size, int disp_unit, MPIR_Info * info, MPIR_Comm * comm,
                      void *baseptr, MPIR_Win ** win)
{
    return create_provided(size, disp_unit, MPI_WIN_FLAVOR_ALLOCATE, info, comm, (void **) baseptr, win);
}

int MPID_Win_allocate_shared(MPI_Aint size, int disp_unit, MPIR_Info * info, MPIR_Comm * comm,
                             void **baseptr, MPIR_Win ** win)
{
    return create_provided(size, disp_unit, MPI_WIN_FLAVOR_SHARED, info, comm, baseptr, win);
}

/* --- freeing and queries --------------------------------------------------------------------------------------- */

int MPID_Win_free(MPIR_Win ** win_ptr)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    MPIR_Win *win = *win_ptr;
    WDL_ADI_CHECK(wdl_win_may_free(win->dev.wdl), mpi_errno);
    /* nobody begins anything on the window after this */
    mpi_errno = MPIR_Barrier(win->comm_ptr, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    WDL_ADI_WAIT(wdl_win_free(win->dev.wdl), mpi_errno);
    MPIR_ERR_CHECK(mpi_errno);
    win_drop(win);
    *win_ptr = NULL;
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Win_shared_query(MPIR_Win * win, int rank, MPI_Aint * size, int *disp_unit, void *baseptr)
{
    int mpi_errno = MPI_SUCCESS, member = -1;
    const struct wdl_adi_segment *segment = &win->dev.segment;
    if (rank == MPI_PROC_NULL) {        /* the lowest rank that has memory */
        for (member = 0; member < segment->members - 1 && segment->part[member].bytes == 0; member++);
    } else if (segment->members > 0) {
        member = wdl_adi_segment_member(segment, rank);
    }
    if (member < 0 || win->dev.own_control)
        WDL_ADI_CHECK(WDL_ERR_SHARED, mpi_errno);
    *size = (MPI_Aint) segment->part[member].bytes;
    *disp_unit = segment->part[member].disp_unit;
    *(void **) baseptr = segment->base + segment->part[member].offset;
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Win_attach(MPIR_Win * win, void *base, MPI_Aint size)
{
    return WDL_ADI_ERROR(wdl_win_attach(win->dev.wdl, base, (uint64_t) size));
}

int MPID_Win_detach(MPIR_Win * win, const void *base)
{
    return WDL_ADI_ERROR(wdl_win_detach(win->dev.wdl, base));
}

/* --- the module ------------------------------------------------------------------------------------------------ */

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
    };
    wdl_adi_elements_init();
    return WDL_ADI_ERROR(wdl_rma_init(proc, &params));
}

int wdl_adi_rma_fini(struct wdl_proc *proc)
{
    wdl_rma_fini(proc);
    return MPI_SUCCESS;
}
