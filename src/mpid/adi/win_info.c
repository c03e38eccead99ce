/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Info keys of windows: one table of keys with their defaults (MPI-4, 12.2.1 to 12.2.4), read,
 * checked and returned. Unknown keys and impossible values are ignored, as MPI asks; what says how
 * a window is to be made is heard when it is made alone, and returned as it was then.
 */
#include "rma.h"

enum kind { FLAG, ORDER, OPS, WHICH, BYTES, ALIGNMENT, PACE };

static const struct {
    const char *key;
    const char *standard;       /* NULL: not returned unless set */
    enum kind kind;
    int making;                 /* counts when the window is made alone */
} keys[] = {
    {"no_locks", "false", FLAG, 0},
    {"accumulate_ordering", "rar,raw,war,waw", ORDER, 0},
    {"accumulate_ops", "same_op_no_op", OPS, 0},
    {"same_size", "false", FLAG, 0},
    {"same_disp_unit", "false", FLAG, 0},
    {"alloc_shared_noncontig", "false", FLAG, 0},       /* MPICH returns what was said last */
    {"alloc_shm", "true", FLAG, 1},
    {"which_accumulate_ops", NULL, WHICH, 0},
    {"mpi_accumulate_granularity", NULL, BYTES, 0},
    {"mpi_minimum_memory_alignment", NULL, ALIGNMENT, 1},
    {"windlass_aggregation", NULL, PACE, 0},    /* MPIR_CVAR_WINDLASS_AGGREGATION */
    {"windlass_rma_done", "true", FLAG, 0},
    {"windlass_nonoverlapping", "false", FLAG, 0},
    {"windlass_pipeline", NULL, BYTES, 0},
    {"windlass_share_pages", NULL, FLAG, 1},
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

/* Is this a comma-separated list of these words, of one at least? */
static int is_list_of(const char *value, const char *const words[])
{
    for (;; value++) {
        size_t n = strcspn(value, ",");
        int known = 0;
        for (int i = 0; words[i]; i++)
            known |= strlen(words[i]) == n && strncmp(words[i], value, n) == 0;
        if (!known)
            return 0;
        value += n;
        if (*value == '\0')
            return 1;
    }
}

/* A number of bytes, in decimal digits alone, that memory can have. */
static int is_bytes(const char *value, uint64_t *bytes_out)
{
    errno = 0;
    *bytes_out = strtoull(value, NULL, 10);
    return *value && strspn(value, "0123456789") == strlen(value) && errno == 0 &&
           *bytes_out <= INT64_MAX;
}

static int is_possible(enum kind kind, const char *value)
{
    static const char *const orders[] = { "rar", "raw", "war", "waw", NULL };
    static const char *const ops[] = {
        "sum", "prod", "max", "min", "maxloc", "minloc", "land", "lor", "lxor", "band", "bor",
        "bxor", "replace", "no_op", "cswap", NULL
    };
    uint64_t bytes;
    switch (kind) {
        case FLAG:
            return strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
        case ORDER:
            return strcmp(value, "none") == 0 || is_list_of(value, orders);
        case OPS:
            return strcmp(value, "same_op") == 0 || strcmp(value, "same_op_no_op") == 0;
        case WHICH:
            return strcmp(value, "none") == 0 || is_list_of(value, ops);
        case BYTES:
            return is_bytes(value, &bytes);
        case ALIGNMENT:
            return is_bytes(value, &bytes) && bytes > 0 && (bytes & (bytes - 1)) == 0;
        default:
            return pace_of(value) >= 0;
    }
}

static int key_index(const char *key)
{
    for (int i = 0; i < (int) KEYS; i++)
        if (strcmp(keys[i].key, key) == 0)
            return i;
    return -1;
}

size_t wdl_adi_info_alignment(const MPIR_Info *info)
{
    static const char key[] = "mpi_minimum_memory_alignment";
    uint64_t bytes = 1;
    for (const MPIR_Info *entry = info ? info->next : NULL; entry; entry = entry->next)
        if (strcmp(entry->key, key) == 0 && is_possible(ALIGNMENT, entry->value))
            (void) is_bytes(entry->value, &bytes);
    return bytes;
}

int wdl_adi_info_set(MPIR_Win *win, MPIR_Info *info)
{
    for (MPIR_Info *entry = info ? info->next : NULL; entry; entry = entry->next) {
        int i = key_index(entry->key);
        if (i < 0 || (keys[i].making && win->dev.wdl) || !is_possible(keys[i].kind, entry->value))
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

/* which_accumulate_ops that change nothing. */
static int are_reads(const char *ops)
{
    static const char *const reads[] = { "no_op", NULL };
    return strcmp(ops, "none") == 0 || is_list_of(ops, reads);
}

uint64_t wdl_adi_info_bytes(const MPIR_Win *win, const char *key)
{
    uint64_t bytes = 0;
    const char *value = wdl_adi_info_value(win, key);
    return value && is_bytes(value, &bytes) ? bytes : 0;
}

struct wdl_win_hints wdl_adi_info_hints(const MPIR_Win *win)
{
    const char *ops = wdl_adi_info_value(win, "which_accumulate_ops");
    return (struct wdl_win_hints){
        .no_locks = wdl_adi_info_is(win, "no_locks", "true"),
        .acc_unordered = wdl_adi_info_is(win, "accumulate_ordering", "none"),
        .acc_same = wdl_adi_info_is(win, "accumulate_ops", "same_op"),
        .acc_reads = ops && are_reads(ops),
        .acc_granularity = wdl_adi_info_bytes(win, "mpi_accumulate_granularity"),
        .combine = (enum wdl_combine) pace_of(wdl_adi_info_value(win, "windlass_aggregation")),
        .nonoverlapping = wdl_adi_info_is(win, "windlass_nonoverlapping", "true"),
        .no_done = wdl_adi_info_is(win, "windlass_rma_done", "false"),
        .piece_bytes = wdl_adi_info_bytes(win, "windlass_pipeline"),
    };
}

int wdl_adi_info_is(const MPIR_Win * win, const char *key, const char *value)
{
    const char *now = wdl_adi_info_value(win, key);
    return now && strcmp(now, value) == 0;
}

size_t wdl_adi_info_memory(const MPIR_Win *win)
{
    size_t bytes = 0;
    for (int i = 0; i < (int) KEYS; i++)
        bytes += win->dev.info[i] ? strlen(win->dev.info[i]) + 1 : 0;
    return bytes;
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
    struct wdl_win_hints hints = wdl_adi_info_hints(win);
    /* no promise is relied on before all have given it, nor where one has taken it back */
    WDL_WIN_WAIT(win, wdl_win_barrier(win->dev.wdl, &step), mpi_errno);
    wdl_win_hints_set(win->dev.wdl, &hints);
    return mpi_errno ? mpi_errno : WDL_ADI_ERROR(status);
}

/* Whether memory is shared, whoever asked for it; nothing where that is no question. */
static const char *alloc_told(const MPIR_Win *win)
{
    if (win->create_flavor != MPI_WIN_FLAVOR_ALLOCATE)
        return NULL;
    return wdl_adi_is_provided(win) ? "true" : "false";
}

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
        if (strcmp(keys[i].key, "alloc_shm") == 0)
            value = alloc_told(win);
        if (value)
            mpi_errno = MPIR_Info_set_impl(*info, keys[i].key, value);
    }
    return mpi_errno;
}
