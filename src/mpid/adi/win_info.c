/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Info keys of windows: one table of keys with their defaults (MPI-4, 12.2.1 to 12.2.4), read,
 * checked and returned. Unknown keys and impossible values are ignored, as MPI asks.
 */
#include "rma.h"

enum kind { FLAG, ORDER, OPS, WHICH, NUMBER, PACE };

static const struct {
    const char *key;
    const char *standard;       /* NULL: not returned unless set */
    enum kind kind;
} keys[] = {
    {"no_locks", "false", FLAG},
    {"accumulate_ordering", "rar,raw,war,waw", ORDER},
    {"accumulate_ops", "same_op_no_op", OPS},
    {"same_size", "false", FLAG},
    {"same_disp_unit", "false", FLAG},
    {"alloc_shared_noncontig", "false", FLAG},
    {"alloc_shm", "true", FLAG},
    {"which_accumulate_ops", NULL, WHICH},
    {"mpi_accumulate_granularity", NULL, NUMBER},
    {"mpi_minimum_memory_alignment", NULL, NUMBER},
    {"windlass_aggregation", NULL, PACE},       /* MPIR_CVAR_WINDLASS_AGGREGATION */
    {"windlass_share_pages", NULL, FLAG},
};

enum { KEYS = sizeof keys / sizeof keys[0] };
wdl_static_assert((int) KEYS <= (int) WDL_INFO_KEYS_MAX);

static const char *const paces[] = {
    [WDL_COMBINE_AUTO] = "auto",[WDL_COMBINE_NEVER] = "eager",[WDL_COMBINE_ALWAYS] = "combine"
};

/* The index of a pace, or -1. */
static int pace_of(const char *value)
{
    for (int i = 0; i < (int) (sizeof paces / sizeof paces[0]); i++)
        if (strcmp(paces[i], value) == 0)
            return i;
    return -1;
}

/* Does the comma-separated list consist of these words only? */
static int is_list_of(const char *value, const char *const words[])
{
    while (*value) {
        size_t n = strcspn(value, ",");
        int known = 0;
        for (int i = 0; words[i]; i++)
            known |= strlen(words[i]) == n && strncmp(words[i], value, n) == 0;
        if (!known)
            return 0;
        value += n;
        if (*value == ',')
            value++;
    }
    return 1;
}

static int is_possible(enum kind kind, const char *value)
{
    static const char *const orders[] = { "rar", "raw", "war", "waw", NULL };
    switch (kind) {
        case FLAG:
            return strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
        case ORDER:
            return strcmp(value, "none") == 0 || (*value && is_list_of(value, orders));
        case OPS:
            return strcmp(value, "same_op") == 0 || strcmp(value, "same_op_no_op") == 0;
        case NUMBER:
            return *value && strspn(value, "0123456789") == strlen(value);
        case PACE:
            return pace_of(value) >= 0;
        default:
            return 1;
    }
}

static int key_index(const char *key)
{
    for (int i = 0; i < (int) KEYS; i++)
        if (strcmp(keys[i].key, key) == 0)
            return i;
    return -1;
}

int wdl_adi_info_set(MPIR_Win * win, MPIR_Info * info)
{
    for (MPIR_Info * entry = info ? info->next : NULL; entry; entry = entry->next) {
        int i = key_index(entry->key);
        if (i < 0 || !is_possible(keys[i].kind, entry->value))
            continue;
        char *value = wdl_adi_alloc(strlen(entry->value) + 1);
        if (!value)
            return WDL_ERR_NOMEM;
        MPL_free(win->dev.info[i]);
        win->dev.info[i] = strcpy(value, entry->value);
    }
    return WDL_OK;
}

static const char *pace_standard(void)
{
    const char *value = MPIR_CVAR_WINDLASS_AGGREGATION;
    return value && pace_of(value) >= 0 ? value : paces[WDL_COMBINE_AUTO];
}

const char *wdl_adi_info_value(const MPIR_Win * win, const char *key)
{
    int i = key_index(key);
    wdl_assert_cmp(i, >=, 0);
    const char *standard = keys[i].kind == PACE ? pace_standard() : keys[i].standard;
    return win->dev.info[i] ? win->dev.info[i] : standard;
}

enum wdl_combine wdl_adi_info_combine(const MPIR_Win * win)
{
    return (enum wdl_combine) pace_of(wdl_adi_info_value(win, "windlass_aggregation"));
}

int wdl_adi_info_is(const MPIR_Win * win, const char *key, const char *value)
{
    const char *now = wdl_adi_info_value(win, key);
    return now && strcmp(now, value) == 0;
}

void wdl_adi_info_free(MPIR_Win * win)
{
    for (int i = 0; i < (int) KEYS; i++) {
        MPL_free(win->dev.info[i]);
        win->dev.info[i] = NULL;
    }
}

int MPID_Win_set_info(MPIR_Win * win, MPIR_Info * info)
{
    int mpi_errno, status = wdl_adi_info_set(win, info), step = 0;
    wdl_win_combine_set(win->dev.wdl, wdl_adi_info_combine(win));
    /* no hint is used before all gave it */
    WDL_WIN_WAIT(win, wdl_win_barrier(win->dev.wdl, &step), mpi_errno);
    return mpi_errno ? mpi_errno : WDL_ADI_ERROR(status);
}

/* Whether it was done; nothing for memory that is shared anyway. */
static const char *share_told(const MPIR_Win *win)
{
    if (win->create_flavor != MPI_WIN_FLAVOR_CREATE &&
        win->create_flavor != MPI_WIN_FLAVOR_DYNAMIC)
        return NULL;
    return wdl_adi_is_shared(win) ? "true" : "false";
}

int MPID_Win_get_info(MPIR_Win * win, MPIR_Info ** info)
{
    int mpi_errno = MPIR_Info_alloc(info);
    for (int i = 0; i < (int) KEYS && mpi_errno == MPI_SUCCESS; i++) {
        const char *value = wdl_adi_info_value(win, keys[i].key);
        if (strcmp(keys[i].key, "windlass_share_pages") == 0)   /* not what was asked for */
            value = share_told(win);
        if (value)
            mpi_errno = MPIR_Info_set_impl(*info, keys[i].key, value);
    }
    return mpi_errno;
}
