/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * GASNet's collectives: errors, handles, waiting.
 */
#include "gas.h"
#include "coll.h"

struct gasnet_coll_team gasnet_coll_team_all;

/* --- errors ----------------------------------------------------------------------------------- */

static const char *const error_name[] = {
#define ERROR_NAME(name, code, text) [code] = "GASNET_COLL_ERR_" #name ": " text,
    GASNET_COLL_ERRORS(ERROR_NAME)
#undef ERROR_NAME
};

#define ERROR_SAME(name, code, text) wdl_static_assert(WDL_GAS_ERR_##name == (code));
GASNET_COLL_ERRORS(ERROR_SAME)
#undef ERROR_SAME
wdl_static_assert(GASNET_COLL_IN_NOSYNC == WDL_COLL_IN_NOSYNC);
wdl_static_assert(GASNET_COLL_IN_ALLSYNC == WDL_COLL_IN_ALLSYNC);
wdl_static_assert(GASNET_COLL_OUT_NOSYNC == WDL_COLL_OUT_NOSYNC);
wdl_static_assert(GASNET_COLL_OUT_ALLSYNC == WDL_COLL_OUT_ALLSYNC);
wdl_static_assert(GASNET_COLL_SINGLE == WDL_COLL_SINGLE);
wdl_static_assert(GASNET_COLL_LOCAL == WDL_COLL_LOCAL);
wdl_static_assert(GASNET_COLL_SCAN_EXCLUSIVE == WDL_COLL_EXCLUSIVE);
wdl_static_assert(GASNET_COLL_AGGREGATE == WDL_GAS_AGGREGATE);
wdl_static_assert(GASNET_COLL_DST_IN_SEGMENT == WDL_GAS_DST_IN_SEGMENT);
wdl_static_assert(GASNET_COLL_SRC_IN_SEGMENT == WDL_GAS_SRC_IN_SEGMENT);
wdl_static_assert(GASNET_COLL_ELEMENTWISE == WDL_GAS_ELEMENTWISE);
wdl_static_assert(GASNET_COLL_UNALIGNED == WDL_GAS_UNALIGNED);
wdl_static_assert(GASNET_COLL_AMSAFE == WDL_GAS_AMSAFE);
wdl_static_assert(GASNET_COLL_NONCOMM == WDL_GAS_NONCOMM);
wdl_static_assert(GASNET_COLL_NONASSOC == WDL_GAS_NONASSOC);

const char *wdl_gas_error_text(int code)
{
    int known = code > 0 && code < WDL_GAS_ERROR_COUNT;
    return known ? error_name[code] : "unknown error";
}

void wdl_gas_wrong(const char *call, int code)
{
    fprintf(stderr, "windlass: rank %d: gasnet_coll_%s: %s\n", MPIR_Process.rank, call,
            wdl_gas_error_text(code));
}

void wdl_gas_punish(gasnet_coll_error_fn_t fn, void *arg, int code)
{
    if (fn) {
        fn(arg, code, wdl_gas_error_text(code));
        return;
    }
    if (!wdl_adi.proc)
        abort();
    MPID_Abort(MPIR_Process.comm_world, MPI_SUCCESS, 1, wdl_gas_error_text(code));
}

struct wdl_gas_team *wdl_gas_core(gasnet_team_handle_t team, const char *call)
{
    if (!wdl_adi.proc || !team || !team->core) {
        wdl_gas_wrong(call, GASNET_COLL_ERR_INIT);
        wdl_gas_punish(NULL, NULL, GASNET_COLL_ERR_INIT);
        abort();
    }
    return team->core;
}

/* --- handles ---------------------------------------------------------------------------------- */

/* What wdl_gas_client's two pointers are. A function's pointer goes through memory: C converts it
 * to no other. */
struct client {
    gasnet_coll_error_fn_t fn;
    void *arg;
};
wdl_static_assert(sizeof(struct client) == 2 * sizeof(void *));

static struct client client_of(wdl_gas_handle handle)
{
    struct client client = {0};
    void **room = wdl_gas_client(handle);
    if (room)
        memcpy(&client, room, sizeof client);
    return client;
}

static void client_set(wdl_gas_handle handle, gasnet_coll_error_fn_t fn, void *arg)
{
    struct client client = {fn, arg};
    void **room = wdl_gas_client(handle);
    if (room)
        memcpy(room, &client, sizeof client);
}

/* Is it done? *code_out: how it went, then. */
static int try_sync(gasnet_coll_handle_t handle, int *code_out)
{
    enum wdl_gas_error error;
    struct client client = client_of((wdl_gas_handle) handle);
    enum wdl_gas_error early = wdl_gas_early((wdl_gas_handle) handle);
    if (!wdl_gas_try_sync((wdl_gas_handle) handle, &error))
        return 0;
    if (error == WDL_GAS_ERR_HANDLE) /* it has no callback any more */
        client = (struct client){gasnet_coll_team_all.on_error, gasnet_coll_team_all.on_error_arg};
    if (error && !early)
        wdl_gas_wrong("sync", (int) error);
    *code_out = (int) error;
    if (error)
        wdl_gas_punish(client.fn, client.arg, (int) error);
    return 1;
}

gasnet_coll_handle_t wdl_gas_begun(gasnet_team_handle_t team, const char *call, int flags,
                                   wdl_gas_handle handle)
{
    enum wdl_gas_error error = wdl_gas_early(handle);
    client_set(handle, team->on_error, team->on_error_arg);
    wdl_adi_asynch_begun();
    if (error)
        wdl_gas_wrong(call, (int) error);
    if (error && (flags & GASNET_COLL_AGGREGATE)) {
        int code;
        (void) try_sync((gasnet_coll_handle_t) handle, &code);
        return GASNET_COLL_INVALID_HANDLE;
    }
    return (gasnet_coll_handle_t) handle;
}

static int look(gasnet_coll_handle_t handle, int *code_out)
{
    (void) wdl_coll_progress(wdl_adi.proc);
    return try_sync(handle, code_out) ? WDL_OK : WDL_AGAIN;
}

int wdl_gas_finish(gasnet_coll_handle_t handle)
{
    enum { LOOKS = 80 };
    int code = 0, mpi_errno = MPI_SUCCESS, status = try_sync(handle, &code) ? WDL_OK : WDL_AGAIN;
    /* neighbours are usually about to come: looks at their memory before the network's turn */
    for (int n = wdl_adi_looks(LOOKS); n > 0 && status == WDL_AGAIN; n--)
        status = look(handle, &code);
    if (status == WDL_AGAIN)
        WDL_ADI_WAIT_BY_MEMORY(look(handle, &code), mpi_errno);
    else
        mpi_errno = wdl_adi_look_around();
    if (mpi_errno)
        wdl_gas_punish(NULL, NULL, GASNET_COLL_ERR_NETWORK);
    return mpi_errno ? GASNET_COLL_ERR_NETWORK : code;
}

int wdl_gas_went(gasnet_team_handle_t team, const char *call, const struct wdl_gas_plain *plain)
{
    struct wdl_gas_going going;
    int mpi_errno = MPI_SUCCESS;
    int status = wdl_gas_plain(team->core, plain, wdl_adi_looks_at_once(), &going);
    if (status == WDL_ERR_OP)
        return 0;
    if (likely(status == WDL_OK))
        mpi_errno = wdl_adi_look_around();
    else
        status = wdl_adi_express_wait(going.lane, &mpi_errno);
    if (likely(status == WDL_OK && mpi_errno == MPI_SUCCESS))
        return 1;
    int code = mpi_errno ? GASNET_COLL_ERR_NETWORK : (int) wdl_gas_error_of(status);
    if (code) {
        wdl_gas_wrong(call, code);
        wdl_gas_punish(team->on_error, team->on_error_arg, code);
    }
    return 1;
}

void gasnet_coll_on_error(gasnet_coll_handle_t handle, gasnet_coll_error_fn_t fn, void *arg)
{
    WDL_GAS_ENTER();
    client_set((wdl_gas_handle) handle, fn, arg);
    WDL_GAS_LEAVE();
}

void gasnet_coll_team_on_error(gasnet_team_handle_t team, gasnet_coll_error_fn_t fn, void *arg)
{
    team->on_error = fn;
    team->on_error_arg = arg;
}

static int try_some(gasnet_coll_handle_t *handles, size_t n, int all)
{
    size_t live = 0, done = 0;
    int code;
    for (size_t i = 0; i < n; i++) {
        if (handles[i] == GASNET_COLL_INVALID_HANDLE)
            continue;
        live++;
        if (!try_sync(handles[i], &code))
            continue;
        handles[i] = GASNET_COLL_INVALID_HANDLE;
        done++;
    }
    return all ? done == live : done > 0 || live == 0;
}

/* GASNET_OK or GASNET_ERR_NOT_READY */
static int try_with_progress(gasnet_coll_handle_t *handles, size_t n, int all)
{
    WDL_GAS_ENTER();
    int done = try_some(handles, n, all);
    if (!done && wdl_adi.proc) {
        (void) MPID_Progress_test(NULL);
        done = try_some(handles, n, all);
    }
    WDL_GAS_LEAVE();
    return done ? GASNET_OK : GASNET_ERR_NOT_READY;
}

static void wait_some(gasnet_coll_handle_t *handles, size_t n, int all)
{
    int mpi_errno = MPI_SUCCESS;
    WDL_GAS_ENTER();
    WDL_ADI_WAIT(try_some(handles, n, all) ? WDL_OK : WDL_AGAIN, mpi_errno);
    if (mpi_errno)
        wdl_gas_punish(NULL, NULL, GASNET_COLL_ERR_NETWORK);
    WDL_GAS_LEAVE();
}

int gasnet_coll_try_sync(gasnet_coll_handle_t handle)
{
    return try_with_progress(&handle, 1, 1);
}

int gasnet_coll_try_sync_some(gasnet_coll_handle_t *handles, size_t n)
{
    return try_with_progress(handles, n, 0);
}

int gasnet_coll_try_sync_all(gasnet_coll_handle_t *handles, size_t n)
{
    return try_with_progress(handles, n, 1);
}

void gasnet_coll_wait_sync(gasnet_coll_handle_t handle)
{
    wait_some(&handle, 1, 1);
}

void gasnet_coll_wait_sync_some(gasnet_coll_handle_t *handles, size_t n)
{
    wait_some(handles, n, 0);
}

void gasnet_coll_wait_sync_all(gasnet_coll_handle_t *handles, size_t n)
{
    wait_some(handles, n, 1);
}
