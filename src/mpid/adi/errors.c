/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The one table from the core's statuses to MPI error classes. The texts are base/status.h's.
 */
#include "rma.h"

static const int class_of[WDL_STATUS_COUNT] = {
    [WDL_OK] = MPI_SUCCESS,
    [WDL_PENDING] = MPI_SUCCESS,
    [WDL_AGAIN] = MPI_ERR_INTERN, /* pressure is waited for, never reported */
    [WDL_ERR_NOMEM] = MPI_ERR_NO_MEM,
    [WDL_ERR_LIMIT] = MPI_ERR_NO_MEM,
    [WDL_ERR_ARG] = MPI_ERR_ARG,
    [WDL_ERR_RANK] = MPI_ERR_RANK,
    [WDL_ERR_DISP] = MPI_ERR_DISP,
    [WDL_ERR_RANGE] = MPI_ERR_RMA_RANGE,
    [WDL_ERR_SYNC] = MPI_ERR_RMA_SYNC,
    [WDL_ERR_OP] = MPI_ERR_OP,
    [WDL_ERR_TYPE] = MPI_ERR_TYPE,
    [WDL_ERR_LONG_TYPE] = MPI_ERR_TYPE,
    [WDL_ERR_ATTACH] = MPI_ERR_RMA_ATTACH,
    [WDL_ERR_SHARED] = MPI_ERR_RMA_SHARED,
    [WDL_ERR_TRUNCATE] = MPI_ERR_TRUNCATE,
    [WDL_ERR_CANCELED] = MPI_ERR_OTHER,
    [WDL_ERR_PEER] = MPIX_ERR_PROC_FAILED,
    [WDL_ERR_ATOMICS] = MPI_ERR_UNSUPPORTED_OPERATION,
    [WDL_ERR_PROTO] = MPI_ERR_INTERN,
    [WDL_ERR_UNSUPPORTED] = MPI_ERR_UNSUPPORTED_OPERATION,
    [WDL_ERR_OTHER] = MPI_ERR_OTHER,
};

/* Which setting helps. */
static const char *const help_of[WDL_STATUS_COUNT] = {
    [WDL_ERR_ATOMICS] = "MPIR_CVAR_WINDLASS_ATOMICS=0 does without them",
    [WDL_ERR_LONG_TYPE] = "MPIR_CVAR_WINDLASS_TYPE_BYTES_MAX lets it take more",
};

static int error_say(int status, const char *text, const char *fcname, int line)
{
    int errclass = MPI_ERR_INTERN;
    if (status >= 0 && status < WDL_STATUS_COUNT)
        errclass = class_of[status];
    if (errclass == MPI_SUCCESS)
        return MPI_SUCCESS;
    if (status == WDL_ERR_PEER)
        wdl_adi.lost = 1;
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, fcname, line, errclass,
                                "**wdl_status", "**wdl_status %s", text);
}

static int error_say_more(int status, const char *more, const char *fcname, int line)
{
    char text[256];
    snprintf(text, sizeof text, "%s: %s", wdl_status_text(status), more);
    return error_say(status, text, fcname, line);
}

int wdl_adi_error(int status, const char *fcname, int line)
{
    if (status >= 0 && status < WDL_STATUS_COUNT && help_of[status])
        return error_say_more(status, help_of[status], fcname, line);
    return error_say(status, wdl_status_text(status), fcname, line);
}

int wdl_adi_win_error(const MPIR_Win *win, int status, const char *fcname, int line)
{
    char more[192];
    if (status != WDL_ERR_SYNC)
        return wdl_adi_error(status, fcname, line);
    wdl_win_epoch_text(win->dev.wdl, more, sizeof more);
    return error_say_more(status, more, fcname, line);
}

int wdl_adi_range_error(const struct wdl_rma_args *args, const struct wdl_win_rank *there,
                        const char *fcname, int line)
{
    char text[256];
    snprintf(text, sizeof text,
             "%s: bytes %lld to %lld from displacement %lld, units of %lld, of rank %d, which has "
             "%llu bytes",
             wdl_status_text(WDL_ERR_RANGE), (long long) args->remote.lo,
             (long long) args->remote.hi, (long long) args->disp, (long long) there->disp_unit,
             args->target, (unsigned long long) there->bytes);
    return error_say(WDL_ERR_RANGE, text, fcname, line);
}
