/* Part of Windlass. See COPYRIGHT in the top-level directory. One-sided synchronization: the core's
 * steps, waited for. */
#include "rma.h"

/* MPICH's numbers are the core's, shifted. */
wdl_static_assert(MPI_MODE_NOCHECK % WDL_MODE_NOCHECK == 0);
#define ASSERTIONS_SHIFT (MPI_MODE_NOCHECK / WDL_MODE_NOCHECK)
wdl_static_assert(MPI_MODE_NOSTORE == ASSERTIONS_SHIFT * WDL_MODE_NOSTORE);
wdl_static_assert(MPI_MODE_NOPUT == ASSERTIONS_SHIFT * WDL_MODE_NOPUT);
wdl_static_assert(MPI_MODE_NOPRECEDE == ASSERTIONS_SHIFT * WDL_MODE_NOPRECEDE);
wdl_static_assert(MPI_MODE_NOSUCCEED == ASSERTIONS_SHIFT * WDL_MODE_NOSUCCEED);

static inline int assertion_of(int assertion)
{
    const unsigned all = WDL_MODE_NOCHECK | WDL_MODE_NOSTORE | WDL_MODE_NOPUT | WDL_MODE_NOPRECEDE |
        WDL_MODE_NOSUCCEED;
    return (int) ((unsigned) assertion / ASSERTIONS_SHIFT & all);
}

/* A program may repeat an operation on memory it can reach until somebody else, whose message we
 * must let in, changes it. Every closing call therefore looks at the network, unless it has done so
 * while it waited: each time where the window has targets on other nodes, and now and then where it
 * has none. */
__attribute__((noinline))
static int look_now(MPIR_Win * win)
{
    enum { PATIENCE = 128, LOOKS_PER_OFFER = 2, DOUBLINGS = 2 };
    win->dev.calls = win->dev.segment.whole ? PATIENCE : 1;
    /* to give the processor away takes as long as tens of these calls, wanted or not */
    unsigned looks = LOOKS_PER_OFFER << MPL_MIN(wdl_adi.refused, DOUBLINGS);
    int events = 0, mpi_errno = ++win->dev.looks % looks ? wdl_adi_look(&events) :
        wdl_adi_look_and_offer();
    if (events > 0)             /* there may be more of it */
        win->dev.calls = 1;
    return mpi_errno;
}

static inline int look_around(MPIR_Win * win)
{
    return likely(--win->dev.calls > 0) ? MPI_SUCCESS : look_now(win);
}

int MPID_Win_fence(int assert, MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS, step = 0;
    WDL_WIN_WAIT(win, wdl_win_fence(win->dev.wdl, assertion_of(assert), &step), mpi_errno);
    return mpi_errno ? mpi_errno : look_around(win);
}

/* A group's members as ranks of the window; few of them without asking for memory. */
enum { FEW = 32 };
struct ranks {
    int *at, few[FEW];
};

static int ranks_of(MPIR_Win * win, MPIR_Group * group, struct ranks *ranks)
{
    int mpi_errno = MPI_SUCCESS, few[FEW], *own = few;
    MPIR_Group *all = NULL;
    size_t n = (size_t) group->size;
    ranks->at = ranks->few;
    if (n > FEW) {
        own = MPL_malloc(n * sizeof *own, MPL_MEM_RMA);
        ranks->at = MPL_malloc(n * sizeof *ranks->at, MPL_MEM_RMA);
        MPIR_ERR_CHKANDJUMP(!own || !ranks->at, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    }
    for (size_t i = 0; i < n; i++)
        own[i] = (int) i;
    mpi_errno = MPIR_Comm_group_impl(win->comm_ptr, &all);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Group_translate_ranks_impl(group, (int) n, own, all, ranks->at);
    MPIR_ERR_CHECK(mpi_errno);
    for (size_t i = 0; i < n; i++)
        if (ranks->at[i] == MPI_UNDEFINED)
            WDL_ADI_CHECK(WDL_ERR_RANK, mpi_errno);
  fn_exit:
    if (all)
        MPIR_Group_free_impl(all);
    if (own != few)
        MPL_free(own);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void ranks_drop(struct ranks *ranks)
{
    if (ranks->at != ranks->few)
        MPL_free(ranks->at);
}

int MPID_Win_post(MPIR_Group * group, int assert, MPIR_Win * win)
{
    struct ranks ranks;
    int step = 0, mpi_errno = ranks_of(win, group, &ranks);
    if (mpi_errno == MPI_SUCCESS)
        WDL_WIN_WAIT(win, wdl_win_post(win->dev.wdl, ranks.at, group->size, assertion_of(assert),
                                       &step), mpi_errno);
    ranks_drop(&ranks);
    return mpi_errno;
}

int MPID_Win_start(MPIR_Group * group, int assert, MPIR_Win * win)
{
    struct ranks ranks;
    int step = 0, mpi_errno = ranks_of(win, group, &ranks);
    if (mpi_errno == MPI_SUCCESS)
        WDL_WIN_WAIT(win, wdl_win_start(win->dev.wdl, ranks.at, group->size, assertion_of(assert),
                                        &step), mpi_errno);
    ranks_drop(&ranks);
    return mpi_errno;
}

int MPID_Win_complete(MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS, step = 0;
    WDL_WIN_WAIT(win, wdl_win_complete(win->dev.wdl, &step), mpi_errno);
    return mpi_errno ? mpi_errno : look_around(win);
}

int MPID_Win_wait(MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS, step = 0;
    WDL_WIN_WAIT(win, wdl_win_wait(win->dev.wdl, &step), mpi_errno);
    return mpi_errno ? mpi_errno : look_around(win);
}

int MPID_Win_test(MPIR_Win * win, int *flag)
{
    int step = 0;
    int mpi_errno = MPID_Progress_test(NULL);
    int status = wdl_win_wait(win->dev.wdl, &step);
    *flag = status != WDL_AGAIN;
    if (*flag && mpi_errno == MPI_SUCCESS)
        mpi_errno = WDL_ADI_WIN_ERROR(win, status);
    return mpi_errno;
}

/* What takes longer than one step is apart, so that what does not saves no registers. */
__attribute__((noinline))
static int lock_on(MPIR_Win * win, int rank, int exclusive, int assertion)
{
    int mpi_errno = MPI_SUCCESS, step = 0;
    WDL_WIN_WAIT(win, wdl_win_lock(win->dev.wdl, rank, exclusive, assertion, &step), mpi_errno);
    return mpi_errno;
}

int MPID_Win_lock(int lock_type, int rank, int assert, MPIR_Win * win)
{
    int exclusive = lock_type == MPI_LOCK_EXCLUSIVE;
    if (likely(wdl_win_lock_at_once(win->dev.wdl, rank, exclusive, assert & MPI_MODE_NOCHECK)))
        return MPI_SUCCESS;
    return lock_on(win, rank, exclusive, assertion_of(assert));
}

static void let_it_be_done(MPIR_Win * win)
{
    for (int rests = wdl_win_rests(win->dev.wdl); rests > 0; rests--)
        wdl_relax();
}

__attribute__((noinline))
static int unlock_on(MPIR_Win * win, int rank)
{
    int mpi_errno = MPI_SUCCESS, step = 0;
    int first = wdl_win_unlock(win->dev.wdl, rank, &step);
    if (first == WDL_OK)
        return look_around(win);
    let_it_be_done(win);
    WDL_WIN_WAIT_ON_OPS(win, first, wdl_win_unlock(win->dev.wdl, rank, &step), mpi_errno);
    return mpi_errno;
}

__attribute__((noinline))
static int unlock_held_and_look(MPIR_Win * win)
{
    (void) wdl_win_unlock_held(win->dev.wdl);
    return look_now(win);
}

wdl_static_assert(WDL_OK == MPI_SUCCESS);
int MPID_Win_unlock(int rank, MPIR_Win * win)
{
    if (unlikely(!wdl_quick_holds(wdl_win_quick(win->dev.wdl), rank)))
        return unlock_on(win, rank);
    if (unlikely(--win->dev.calls <= 0))
        return unlock_held_and_look(win);
    return wdl_win_unlock_held(win->dev.wdl);
}

__attribute__((noinline))
static int lock_all_on(MPIR_Win * win, int assertion, int step, int first)
{
    int mpi_errno = MPI_SUCCESS;
    WDL_WIN_WAIT_ON(win, first, wdl_win_lock_all(win->dev.wdl, assertion, &step), mpi_errno);
    return mpi_errno;
}

int MPID_Win_lock_all(int assert, MPIR_Win * win)
{
    int step = 0, assertion = assertion_of(assert);
    int status = wdl_win_lock_all(win->dev.wdl, assertion, &step);
    return likely(status == WDL_OK) ? MPI_SUCCESS : lock_all_on(win, assertion, step, status);
}

__attribute__((noinline))
static int unlock_all_on(MPIR_Win * win, int step, int first)
{
    int mpi_errno = MPI_SUCCESS;
    WDL_WIN_WAIT_ON_OPS(win, first, wdl_win_unlock_all(win->dev.wdl, &step), mpi_errno);
    return mpi_errno;
}

int MPID_Win_unlock_all(MPIR_Win * win)
{
    int step = 0, status = wdl_win_unlock_all(win->dev.wdl, &step);
    return likely(status == WDL_OK) ? look_around(win) : unlock_all_on(win, step, status);
}

static int flush(MPIR_Win * win, int rank, int local)
{
    int mpi_errno = MPI_SUCCESS, step = 0;
    int first = wdl_win_flush(win->dev.wdl, rank, local, &step);
    if (first == WDL_OK)
        return look_around(win);
    let_it_be_done(win);
    WDL_WIN_WAIT_ON_OPS(win, first, wdl_win_flush(win->dev.wdl, rank, local, &step), mpi_errno);
    return mpi_errno;
}

int MPID_Win_flush(int rank, MPIR_Win * win)
{
    if (wdl_quick_flush(wdl_win_quick(win->dev.wdl), rank))
        return look_around(win);
    return flush(win, rank, 0);
}

int MPID_Win_flush_all(MPIR_Win * win)
{
    return flush(win, -1, 0);
}

int MPID_Win_flush_local(int rank, MPIR_Win * win)
{
    if (wdl_quick_flush(wdl_win_quick(win->dev.wdl), rank))
        return look_around(win);
    return flush(win, rank, 1);
}

int MPID_Win_flush_local_all(MPIR_Win * win)
{
    return flush(win, -1, 1);
}

int MPID_Win_sync(MPIR_Win * win)
{
    int mpi_errno = WDL_ADI_ERROR(wdl_win_sync(win->dev.wdl));
    /* a program that looks at memory in a loop of MPI_Win_sync must let its peers' messages in */
    return mpi_errno ? mpi_errno : MPID_Progress_test(NULL);
}
