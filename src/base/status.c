/* Part of Windlass. See COPYRIGHT in the top-level directory. Names and texts of results. */
#include "base/status.h"

const char *wdl_status_text(int status)
{
    static const char *const text[] = {
#define WDL_STATUS_TEXT(name, text) text,
        WDL_STATUS_TABLE(WDL_STATUS_TEXT)
#undef WDL_STATUS_TEXT
    };
    if (status < 0 || status >= WDL_STATUS_COUNT)
        return "unknown status";
    return text[status];
}

const char *wdl_status_name(int status)
{
    static const char *const name[] = {
#define WDL_STATUS_NAME(name, text) #name,
        WDL_STATUS_TABLE(WDL_STATUS_NAME)
#undef WDL_STATUS_NAME
    };
    if (status < 0 || status >= WDL_STATUS_COUNT)
        return "UNKNOWN";
    return name[status];
}
