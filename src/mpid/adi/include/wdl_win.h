/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The device's part of a window.
 */
#ifndef WDL_WIN_H_INCLUDED
#define WDL_WIN_H_INCLUDED

struct wdl_win;
struct wdl_win_rank;
struct wdl_win_control;
struct wdl_adi_part;

/* One block of memory shared by the processes of a node (win_shm.c). */
struct wdl_adi_segment {
    char *base;                 /* NULL: none */
    size_t bytes;
    int members;                /* processes of this node in the window */
    const struct wdl_adi_part *part;    /* by node member, sorted by rank */
    const struct wdl_win_rank *table;   /* by rank of the window, where ranks differ; or NULL */
    char *control;              /* control blocks, by node member */
};

enum { WDL_INFO_KEYS_MAX = 16 };

struct wdl_adi_win {
    struct wdl_win *wdl;        /* the core's window */
    struct wdl_adi_segment segment;
    struct wdl_win_control *own_control;        /* private windows: this process's control block */
    unsigned calls;             /* closing calls, for an occasional look at the network */
    char *info[WDL_INFO_KEYS_MAX];      /* values set by the user, by key (win_info.c); NULL: default */
};

#endif
