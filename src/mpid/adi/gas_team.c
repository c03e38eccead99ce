/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * GASNet's collectives: begin and end, teams, barriers.
 */
#include "gas.h"
#include "rma.h"
#include "coll.h"

/* Those freed last stay as they are: who still uses one hears so. */
enum { FREED_KEPT = 1000 };
static struct {
    struct gasnet_coll_team *first, **end;
    int count;
} freed = {NULL, &freed.first, 0};

static struct gasnet_coll_team *freed_pop(void)
{
    struct gasnet_coll_team *team = freed.first;
    freed.first = team->next;
    if (!freed.first)
        freed.end = &freed.first;
    freed.count--;
    return team;
}

static void freed_push(struct gasnet_coll_team *team)
{
    team->next = NULL;
    *freed.end = team;
    freed.end = &team->next;
    if (++freed.count > FREED_KEPT)
        MPL_free(freed_pop());
}

/* Say what is wrong and call the team's callback. */
static void refuse(gasnet_team_handle_t team, const char *call, int code)
{
    wdl_gas_wrong(call, code);
    wdl_gas_punish(team->on_error, team->on_error_arg, code);
}

static int world_peer(void *ctx, int rank)
{
    (void) ctx;
    return rank;
}

/* Memory within the node (coll_share.c). */
static int share_make(void *ctx, struct wdl_team_params *params, void **share_out)
{
    (void) ctx;
    *share_out = wdl_adi_share_make(params);
    return *share_out ? WDL_OK : WDL_ERR_NOMEM;
}

static void share_leave(void *ctx, void *share)
{
    (void) ctx;
    wdl_adi_share_leave(share, 0, 0);
}

static void share_drop(void *ctx, void *share)
{
    (void) ctx;
    wdl_adi_share_drop(share);
}

/* Of flags only those that functions have. */
static int are_functions(const gasnet_coll_fn_entry_t fns[], size_t fn_count)
{
    unsigned known = GASNET_COLL_AMSAFE | GASNET_COLL_NONCOMM | GASNET_COLL_NONASSOC, unknown = 0;
    for (size_t i = 0; i < fn_count && fns; i++)
        unknown |= fns[i].flags & ~known;
    return !unknown && (fns || !fn_count);
}

static int are_images(const gasnet_image_t images[])
{
    for (int i = 0; i < MPIR_Process.size && images; i++)
        if (images[i] == 0)
            return 0;
    return 1;
}

static int init(const gasnet_image_t images[], const gasnet_coll_fn_entry_t fns[], size_t fn_count)
{
    int size = MPIR_Process.size;
    size_t bytes;
    void *segment = wdl_adi_gasnet_segment(&bytes);
    size_t *counts = images ? wdl_adi_alloc((size_t) size * sizeof counts[0]) : NULL;
    struct wdl_gas_fn *fn = wdl_adi_alloc((fn_count + 1) * sizeof fn[0]);
    struct wdl_gas_params params = {.team = {.id = WDL_TEAM_GASNET,
                                             .rank = MPIR_Process.rank,
                                             .size = size,
                                             .peer_of = world_peer},
                                    .memory = {share_make, share_leave, share_drop, NULL},
                                    .images = counts,
                                    .fns = fn,
                                    .fn_count = fn_count};
    int status = (images && !counts) || !fn ? WDL_ERR_NOMEM : WDL_OK;
    for (int i = 0; i < size && counts; i++)
        counts[i] = images[i];
    for (size_t i = 0; i < fn_count && fn; i++) {
        fn[i].fn = fns[i].fnptr;
        fn[i].flags = fns[i].flags;
    }
    if (status == WDL_OK)
        status = wdl_gas_init(wdl_adi.proc, &params, &gasnet_coll_team_all.core);
    if (status == WDL_OK && segment)
        status = wdl_gas_segment(gasnet_coll_team_all.core, segment, bytes);
    MPL_free(counts);
    MPL_free(fn);
    return status;
}

void gasnet_coll_init(const gasnet_image_t images[], gasnet_image_t my_image,
                      gasnet_coll_fn_entry_t fn_tbl[], size_t fn_count, int init_flags)
{
    (void) my_image; /* one thread at a time makes all of a node's calls */
    int is_first = wdl_adi.proc && !gasnet_coll_team_all.core, code = GASNET_COLL_ERR_INIT;
    int right = is_first && !init_flags && are_functions(fn_tbl, fn_count) && are_images(images);
    if (is_first && !wdl_adi_gasnet_all(MPI_COMM_WORLD, right)) /* or others wait for the team */
        code = right ? GASNET_COLL_ERR_MISMATCH : GASNET_COLL_ERR_INIT;
    else if (right)
        code = 0;
    WDL_GAS_ENTER();
    if (!code && init(images, fn_tbl, fn_count) != WDL_OK)
        code = GASNET_COLL_ERR_NOMEM;
    if (code)
        refuse(&gasnet_coll_team_all, "init", code);
    WDL_GAS_LEAVE();
}

void gasnet_coll_segment_attach(gasnet_team_handle_t team, void *base, size_t nbytes)
{
    WDL_GAS_ENTER();
    int mpi_errno = MPI_SUCCESS;
    struct wdl_gas_team *core = wdl_gas_core(team, "segment_attach");
    WDL_ADI_WAIT(wdl_gas_segment(core, nbytes ? base : NULL, nbytes), mpi_errno);
    if (mpi_errno)
        refuse(team, "segment_attach", GASNET_COLL_ERR_NOMEM);
    WDL_GAS_LEAVE();
}

int wdl_adi_gasnet_segment_goes(void *base)
{
    int mpi_errno = MPI_SUCCESS;
    struct wdl_gas_team *core = gasnet_coll_team_all.core;
    if (core && wdl_gas_segment_base(core) == base)
        WDL_ADI_WAIT(wdl_gas_segment(core, NULL, 0), mpi_errno);
    return mpi_errno;
}

static int team_close(gasnet_team_handle_t team)
{
    int mpi_errno = MPI_SUCCESS;
    if (team->core)
        WDL_ADI_WAIT(wdl_gas_team_destroy(team->core), mpi_errno);
    team->core = NULL;
    return mpi_errno;
}

/* An aggregate that goes with its team has done nothing. */
static int open_say(gasnet_team_handle_t team)
{
    int open = team->core && wdl_gas_has_open(team->core);
    if (open)
        wdl_gas_wrong("team_free", GASNET_COLL_ERR_AGGREGATE);
    return open;
}

int wdl_adi_gasnet_fini(void)
{
    int mpi_errno = MPI_SUCCESS;
    while (gasnet_coll_team_all.next) {
        struct gasnet_coll_team *team = gasnet_coll_team_all.next;
        gasnet_coll_team_all.next = team->next;
        open_say(team);
        int error = team_close(team);
        mpi_errno = mpi_errno ? mpi_errno : error;
        MPL_free(team);
    }
    while (freed.first)
        MPL_free(freed_pop());
    open_say(&gasnet_coll_team_all);
    int error = team_close(&gasnet_coll_team_all);
    return mpi_errno ? mpi_errno : error;
}

/* --- teams ------------------------------------------------------------------------------------ */

/* The core's order of ranks is that of int: from 2^31 on they would be first. */
static int ordered(gasnet_node_t relrank)
{
    return relrank < 0x80000000u ? (int) relrank - INT32_MAX - 1 : (int) (relrank - 0x80000000u);
}

gasnet_team_handle_t gasnet_coll_team_split(gasnet_team_handle_t team, gasnet_node_t color,
                                            gasnet_node_t relrank, int flags)
{
    WDL_GAS_ENTER();
    struct wdl_gas_team *core = wdl_gas_core(team, "team_split"), *core_made = NULL;
    struct gasnet_coll_team *made = wdl_adi_alloc(sizeof *made);
    enum wdl_gas_error wrong = flags   ? WDL_GAS_ERR_FLAGS
                               : !made ? WDL_GAS_ERR_NOMEM
                                       : WDL_GAS_FINE;
    int code = wdl_gas_finish(wdl_gas_begun(
        team, "team_split", 0,
        wdl_gas_team_split_nb(core, (int) color, ordered(relrank), wrong, &core_made)));
    if (made)
        *made = (struct gasnet_coll_team){.core = core_made,
                                          .next = gasnet_coll_team_all.next,
                                          .on_error = team->on_error,
                                          .on_error_arg = team->on_error_arg};
    if (made && code) {
        (void) team_close(made);
        MPL_free(made);
        made = NULL;
    } else if (made) {
        gasnet_coll_team_all.next = made;
    }
    WDL_GAS_LEAVE();
    return made;
}

void gasnet_coll_team_free(gasnet_team_handle_t team)
{
    WDL_GAS_ENTER();
    (void) wdl_gas_core(team, "team_free");
    struct gasnet_coll_team **at = &gasnet_coll_team_all.next;
    while (*at && *at != team)
        at = &(*at)->next;
    if (!*at) { /* TEAM_ALL lives as long as MPI */
        refuse(team, "team_free", GASNET_COLL_ERR_INIT);
    } else {
        *at = team->next;
        if (open_say(team))
            wdl_gas_punish(team->on_error, team->on_error_arg, GASNET_COLL_ERR_AGGREGATE);
        if (team_close(team))
            wdl_gas_punish(NULL, NULL, GASNET_COLL_ERR_NETWORK);
        freed_push(team);
    }
    WDL_GAS_LEAVE();
}

gasnet_node_t gasnet_coll_team_size(gasnet_team_handle_t team)
{
    return (gasnet_node_t) wdl_gas_team_size(wdl_gas_core(team, "team_size"));
}

gasnet_node_t gasnet_coll_team_rank(gasnet_team_handle_t team)
{
    return (gasnet_node_t) wdl_gas_team_rank(wdl_gas_core(team, "team_rank"));
}

gasnet_image_t gasnet_coll_team_images(gasnet_team_handle_t team)
{
    return (gasnet_image_t) wdl_gas_images(wdl_gas_core(team, "team_images"));
}

gasnet_node_t gasnet_coll_team_rank2node(gasnet_team_handle_t team, gasnet_node_t rank)
{
    struct wdl_gas_team *core = wdl_gas_core(team, "team_rank2node");
    int inside = rank < (gasnet_node_t) wdl_gas_team_size(core);
    return inside ? (gasnet_node_t) wdl_gas_team_peer(core, (int) rank) : (gasnet_node_t) -1;
}

gasnet_node_t gasnet_coll_team_node2rank(gasnet_team_handle_t team, gasnet_node_t node)
{
    struct wdl_gas_team *core = wdl_gas_core(team, "team_node2rank");
    for (int rank = 0; rank < wdl_gas_team_size(core); rank++)
        if (wdl_gas_team_peer(core, rank) == (int) node)
            return (gasnet_node_t) rank;
    return (gasnet_node_t) -1;
}

/* --- barriers --------------------------------------------------------------------------------- */

static int has_unknown(int flags)
{
    return (flags & ~(GASNET_BARRIERFLAG_MISMATCH | GASNET_BARRIERFLAG_ANONYMOUS)) != 0;
}

/* 0: one that has been notified before is not over, and stays as it is. */
static int notify(gasnet_team_handle_t team, const char *call, int id, int flags)
{
    struct wdl_gas_team *core = wdl_gas_core(team, call);
    int differs = has_unknown(flags) || flags & GASNET_BARRIERFLAG_MISMATCH;
    enum wdl_gas_given given = differs                                ? WDL_GAS_MISMATCH
                               : flags & GASNET_BARRIERFLAG_ANONYMOUS ? WDL_GAS_ANONYMOUS
                                                                      : WDL_GAS_NAMED;
    if (team->notified) {
        refuse(team, call, GASNET_COLL_ERR_BARRIER);
        return 0;
    }
    team->notified = 1;
    team->id = id;
    team->flags = flags;
    team->agreed = 0;
    team->barrier =
        (wdl_gas_handle) wdl_gas_begun(team, call, 0,
                                       wdl_gas_agree_nb(core, given, id, &team->agreed));
    if (has_unknown(flags)) /* others wait for us all the same, and hear that it is not theirs */
        refuse(team, call, GASNET_COLL_ERR_FLAGS);
    return 1;
}

/* 0: no barrier has been notified. */
static int notified(gasnet_team_handle_t team, const char *call)
{
    (void) wdl_gas_core(team, call);
    if (!team->notified)
        refuse(team, call, GASNET_COLL_ERR_BARRIER);
    return team->notified;
}

/* Does it end as the one that has been notified? */
static int is_same(gasnet_team_handle_t team, int id, int flags)
{
    return flags == team->flags && (flags || id == team->id);
}

/* An unknown flag has been told if _notify had it. */
static int barrier_end(gasnet_team_handle_t team, const char *call, int id, int flags)
{
    int told = has_unknown(team->flags), unknown = has_unknown(flags);
    team->notified = 0;
    if (unknown && !told)
        refuse(team, call, GASNET_COLL_ERR_FLAGS);
    if (unknown || told)
        return GASNET_ERR_BAD_ARG;
    return team->agreed && is_same(team, id, flags) ? GASNET_OK : GASNET_ERR_BARRIER_MISMATCH;
}

static int barrier_finish(gasnet_team_handle_t team, const char *call, int id, int flags)
{
    (void) wdl_gas_finish((gasnet_coll_handle_t) team->barrier);
    return barrier_end(team, call, id, flags);
}

int gasnet_coll_barrier(gasnet_team_handle_t team, int id, int flags)
{
    int result = GASNET_ERR_BAD_ARG;
    WDL_GAS_ENTER();
    if (notify(team, "barrier", id, flags))
        result = barrier_finish(team, "barrier", id, flags);
    WDL_GAS_LEAVE();
    return result;
}

void gasnet_coll_barrier_notify(gasnet_team_handle_t team, int id, int flags)
{
    WDL_GAS_ENTER();
    (void) notify(team, "barrier_notify", id, flags);
    WDL_GAS_LEAVE();
}

int gasnet_coll_barrier_wait(gasnet_team_handle_t team, int id, int flags)
{
    int result = GASNET_ERR_BAD_ARG;
    WDL_GAS_ENTER();
    if (notified(team, "barrier_wait"))
        result = barrier_finish(team, "barrier_wait", id, flags);
    WDL_GAS_LEAVE();
    return result;
}

int gasnet_coll_barrier_try(gasnet_team_handle_t team, int id, int flags)
{
    WDL_GAS_ENTER();
    int begun = notified(team, "barrier_try");
    WDL_GAS_LEAVE();
    if (!begun)
        return GASNET_ERR_BAD_ARG;
    int result = gasnet_coll_try_sync((gasnet_coll_handle_t) team->barrier);
    if (result != GASNET_OK)
        return result;
    WDL_GAS_ENTER();
    result = barrier_end(team, "barrier_try", id, flags);
    WDL_GAS_LEAVE();
    return result;
}
