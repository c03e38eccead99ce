/* Part of Windlass. See COPYRIGHT in the top-level directory. Epoch states: lookups in the tables of epoch.h. */
#include "mpid/rma/epoch.h"
#include "base/status.h"

struct row {
    int from, event, to;
};

static const struct row access_rows[] = {
#define ACCESS_ROW(from, event, to) {WDL_ACCESS_##from, WDL_ACCESS_ON_##event, WDL_ACCESS_##to},
    WDL_ACCESS_ROWS(ACCESS_ROW)
#undef ACCESS_ROW
};

static const struct row expose_rows[] = {
#define EXPOSE_ROW(from, event, to) {WDL_EXPOSE_##from, WDL_EXPOSE_ON_##event, WDL_EXPOSE_##to},
    WDL_EXPOSE_ROWS(EXPOSE_ROW)
#undef EXPOSE_ROW
};

#define ROWS(table) (int) (sizeof(table) / sizeof((table)[0]))

/* The state a row leads to, or -1. */
static int row_to(const struct row *rows, int n, int from, int event)
{
    for (int i = 0; i < n; i++)
        if (rows[i].from == from && rows[i].event == event)
            return rows[i].to;
    return -1;
}

void wdl_epoch_init(struct wdl_epoch *epoch)
{
    epoch->access_state = WDL_ACCESS_NONE;
    epoch->expose_state = WDL_EXPOSE_NONE;
}

int wdl_epoch_allows(const struct wdl_epoch *epoch, enum wdl_access_event event)
{
    return row_to(access_rows, ROWS(access_rows), epoch->access_state, event) >= 0;
}

int wdl_epoch_access(struct wdl_epoch *epoch, enum wdl_access_event event)
{
    int to = row_to(access_rows, ROWS(access_rows), epoch->access_state, event);
    if (to < 0)
        return WDL_ERR_SYNC;
    epoch->access_state = to;
    return WDL_OK;
}

int wdl_epoch_expose(struct wdl_epoch *epoch, enum wdl_expose_event event)
{
    int to = row_to(expose_rows, ROWS(expose_rows), epoch->expose_state, event);
    if (to < 0)
        return WDL_ERR_SYNC;
    epoch->expose_state = to;
    return WDL_OK;
}

const char *wdl_epoch_access_name(int state)
{
    static const char *const name[] = {
#define ACCESS_NAME(s) #s,
        WDL_ACCESS_STATES(ACCESS_NAME)
#undef ACCESS_NAME
    };
    return state >= 0 && state < WDL_ACCESS_STATE_COUNT ? name[state] : "?";
}
