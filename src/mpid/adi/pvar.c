/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Performance variables (MPI_T): what the core counts about a window, about the process, and about
 * its collectives, and the costs it chooses these by, how often a window has mapped others' memory,
 * and how often we have looked at the network. They are there however MPICH was configured: they
 * are read from what is kept anyway, and cost nothing. All are of unsigned long long and read-only.
 */
#include "mpid/coll/coll.h"
#include "rma.h"

struct pvar {
    const char *name, *text;
    MPIR_T_pvar_class_t class;
    size_t at;                  /* in the record */
    size_t bytes;               /* of the field there */
};

#define FIELD(record, field) offsetof(struct record, field), sizeof ((struct record *) 0)->field
#define COUNT MPI_T_PVAR_CLASS_COUNTER
#define HIGH MPI_T_PVAR_CLASS_HIGHWATERMARK

static const struct pvar of_window[] = {
    {"windlass_win_bytes",
     "Bytes of this process's memory that the window takes, its data and communicator aside.",
     MPI_T_PVAR_CLASS_LEVEL, FIELD(wdl_win_stats, bytes)},
    {"windlass_win_ops_mapped", "Operations done by load and store in the call.", COUNT,
     FIELD(wdl_win_stats, ops_mapped)},
    {"windlass_win_ops_copied",
     "Operations done by copies between processes, in the call or by the next synchronization.",
     COUNT, FIELD(wdl_win_stats, ops_copied)},
    {"windlass_win_ops_mailed", "Operations a rank of this node did for us, asked through memory.",
     COUNT, FIELD(wdl_win_stats, ops_mailed)},
    {"windlass_win_locks",
     "How the window's locks are taken: 0 by message to the target; by words in memory, 1 that the "
     "node's processes share, 2 that the network alone changes, 3 that both change.",
     MPI_T_PVAR_CLASS_LEVEL, FIELD(wdl_win_stats, locks)},
    {"windlass_win_ops_direct", "Puts, gets and updates left to the network.", COUNT,
     FIELD(wdl_win_stats, ops_direct)},
    {"windlass_win_ops_message", "Operations done by messages to the target.", COUNT,
     FIELD(wdl_win_stats, ops_message)},
    {"windlass_win_messages", "Messages this process has sent for the window, answers included.",
     COUNT, FIELD(wdl_win_stats, messages)},
    {"windlass_win_waits", "How often a call has waited for an operation or target element.", COUNT,
     FIELD(wdl_win_stats, pool_waits)},
    {"windlass_win_ops_high", "Most elements of the window's pool of operations in use at once.",
     HIGH, FIELD(wdl_win_stats, ops_high)},
    {"windlass_win_targets_high", "Most targets the window has had elements for at once.", HIGH,
     FIELD(wdl_win_stats, targets_high)},
};

static const struct pvar of_sharing[] = {
    {"windlass_win_views", "How often other processes' attached memory has been mapped here.",
     COUNT, FIELD(wdl_adi_shared, views_made)},
};

static const struct pvar of_process[] = {
    {"windlass_global_ops_high", "Most operation elements shared by all windows in use at once.",
     HIGH, FIELD(wdl_rma_stats, ops_high)},
    {"windlass_global_targets_high", "Most target elements shared by all windows in use at once.",
     HIGH, FIELD(wdl_rma_stats, targets_high)},
    {"windlass_stashes_high", "Most messages kept until their lock was free.", HIGH,
     FIELD(wdl_rma_stats, stashes_high)},
    {"windlass_messages", "Active messages this process has sent.", COUNT,
     FIELD(wdl_rma_stats, messages)},
};

static const struct pvar of_waiting[] = {
    {"windlass_polls", "How often this process has looked at the network.", COUNT,
     FIELD(wdl_adi, polls)},
    {"windlass_offers", "How often this process has offered its processor to others.", COUNT,
     FIELD(wdl_adi, given)},
};

static const struct pvar of_collectives[] = {
    {"windlass_coll_started", "Collectives that the engine has begun in this process.", COUNT,
     FIELD(wdl_coll_stats, started)},
    {"windlass_coll_memory", "Bytes that the pools of the collectives hold.",
     MPI_T_PVAR_CLASS_LEVEL, FIELD(wdl_coll_stats, memory)},
    {"windlass_coll_memory_high", "Most bytes of these pools in use, of runs and of all else.",
     HIGH, FIELD(wdl_coll_stats, memory_high)},
    {"windlass_coll_running_high", "Most collectives under way at once.", HIGH,
     FIELD(wdl_coll_stats, running_high)},
    {"windlass_coll_waits", "How often a collective has waited for another to end to have its run.",
     COUNT, FIELD(wdl_coll_stats, run_waits)},
    {"windlass_coll_early_high", "Most places of late ranks' partners kept at once.", HIGH,
     FIELD(wdl_coll_stats, early_high)},
    {"windlass_coll_early_unplaced",
     "Places for which there was no room: data that went by messages therefore.", COUNT,
     FIELD(wdl_coll_stats, early_unplaced)},
};

/* In picoseconds; the field is in nanoseconds. */
static const struct pvar of_model[] = {
    {"windlass_coll_latency",
     "What a message takes end to end by the costs that algorithms are chosen by, in picoseconds.",
     MPI_T_PVAR_CLASS_LEVEL, FIELD(wdl_coll_model, latency)},
    {"windlass_coll_gap", "What is between two messages by them, in picoseconds.",
     MPI_T_PVAR_CLASS_LEVEL, FIELD(wdl_coll_model, gap)},
    {"windlass_coll_byte", "What one byte more takes by them, in picoseconds.",
     MPI_T_PVAR_CLASS_LEVEL, FIELD(wdl_coll_model, byte)},
    {"windlass_coll_reduce", "What it takes by them to reduce a byte, in picoseconds.",
     MPI_T_PVAR_CLASS_LEVEL, FIELD(wdl_coll_model, reduce)},
    {"windlass_coll_across",
     "What a store takes from one domain of a node to another, in picoseconds; 0: not said.",
     MPI_T_PVAR_CLASS_LEVEL, FIELD(wdl_coll_model, across)},
};

static unsigned long long field(const struct pvar *pvar, const void *record)
{
    const char *at = (const char *) record + pvar->at;
    if (pvar->bytes == sizeof(unsigned))
        return *(const unsigned *) (const void *) at;
    wdl_assert_cmp(pvar->bytes, ==, sizeof(uint64_t));
    return *(const uint64_t *) (const void *) at;
}

/* `object` is the address of a window's handle. NULL: of none. */
static MPIR_Win *window_of(const void *object)
{
    MPIR_Win *win = NULL;
    if (object && HANDLE_GET_MPI_KIND(*(const MPI_Win *) object) == MPIR_WIN)
        MPIR_Win_get_ptr(*(const MPI_Win *) object, win);
    return win && win->dev.wdl ? win : NULL;
}

static void read_window(void *pvar, void *object, int count, void *value)
{
    struct wdl_win_stats stats;
    const MPIR_Win *win = window_of(object);
    (void) count;
    *(unsigned long long *) value = 0;
    if (!win)
        return;
    wdl_win_stats_get(win->dev.wdl, &stats);
    stats.bytes += sizeof *win + wdl_adi_info_memory(win) + wdl_adi_share_memory(win);
    *(unsigned long long *) value = field(pvar, &stats);
}

static void read_sharing(void *pvar, void *object, int count, void *value)
{
    const MPIR_Win *win = window_of(object);
    (void) count;
    *(unsigned long long *) value = win ? field(pvar, &win->dev.shared) : 0;
}

static void read_process(void *pvar, void *object, int count, void *value)
{
    struct wdl_rma_stats stats;
    (void) object;
    (void) count;
    *(unsigned long long *) value = 0;
    if (!wdl_adi.proc || !wdl_adi.proc->rma)
        return;
    wdl_rma_stats_get(wdl_adi.proc, &stats);
    *(unsigned long long *) value = field(pvar, &stats);
}

static void read_waiting(void *pvar, void *object, int count, void *value)
{
    (void) object;
    (void) count;
    *(unsigned long long *) value = field(pvar, &wdl_adi);
}

static void read_collectives(void *pvar, void *object, int count, void *value)
{
    (void) object;
    (void) count;
    *(unsigned long long *) value = 0;
    if (wdl_adi.proc && wdl_adi.proc->coll)
        *(unsigned long long *) value = field(pvar, wdl_coll_stats(wdl_adi.proc));
}

static void read_model(void *pvar, void *object, int count, void *value)
{
    const struct pvar *p = pvar;
    double ns = 0;
    (void) object;
    (void) count;
    if (wdl_adi.proc && wdl_adi.proc->coll)
        memcpy(&ns, (const char *) wdl_coll_model_get(wdl_adi.proc) + p->at, sizeof ns);
    *(unsigned long long *) value = (unsigned long long) (ns * 1000 + 0.5);
}

static void offer(const struct pvar *pvar, size_t n, int bind, MPIR_T_pvar_get_value_cb *read)
{
    for (size_t i = 0; i < n; i++)
        MPIR_T_PVAR_REGISTER_impl(pvar[i].class, MPI_UNSIGNED_LONG_LONG, pvar[i].name,
                                  (void *) (uintptr_t) &pvar[i], 1, MPI_T_ENUM_NULL,
                                  MPI_T_VERBOSITY_USER_BASIC, bind,
                                  MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS, read,
                                  NULL, "WINDLASS", pvar[i].text);
}

void wdl_adi_pvars_init(void)
{
    offer(of_window, sizeof of_window / sizeof of_window[0], MPI_T_BIND_MPI_WIN, read_window);
    offer(of_sharing, sizeof of_sharing / sizeof of_sharing[0], MPI_T_BIND_MPI_WIN, read_sharing);
    offer(of_process, sizeof of_process / sizeof of_process[0], MPI_T_BIND_NO_OBJECT,
          read_process);
    offer(of_waiting, sizeof of_waiting / sizeof of_waiting[0], MPI_T_BIND_NO_OBJECT,
          read_waiting);
    offer(of_collectives, sizeof of_collectives / sizeof of_collectives[0], MPI_T_BIND_NO_OBJECT,
          read_collectives);
    offer(of_model, sizeof of_model / sizeof of_model[0], MPI_T_BIND_NO_OBJECT, read_model);
}
