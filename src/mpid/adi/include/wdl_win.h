/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The device's part of a window.
 */
#ifndef WDL_WIN_H_INCLUDED
#define WDL_WIN_H_INCLUDED

struct wdl_win;
struct wdl_win_rank;
struct wdl_win_place;
struct wdl_win_control;
struct wdl_share_offer;
struct wdl_adi_attached;
struct wdl_adi_view;

/* One block of memory shared by the processes of a node (win_shm.c). */
struct wdl_adi_segment {
    char *base;                 /* NULL: none */
    size_t bytes;               /* mapped; a window may need less of it */
    uint64_t id;                /* of the window it was made for */
    int members, index;         /* processes of this node in the window; which of them we are */
    int whole;                  /* they are all the window has */
    struct wdl_win_place *place;        /* by node member, sorted by rank */
    const struct wdl_win_rank *table;   /* by rank of the window, where ranks differ; or NULL */
    struct wdl_win_control *control;    /* by node member */
    struct wdl_share_offer *offer;      /* by node member, where pages are to be shared; or NULL */
    int fd;                     /* -1 once everyone has opened it */
    struct wdl_nm_mem *mem;     /* the network's own memory, with base in it; or NULL */
    char *own;                  /* data that is not here but this process's alone; or NULL */
    size_t own_bytes;
};

/* Private memory shared on request (win_share.c). */
struct wdl_adi_shared {
    int on;                     /* on every rank */
    char *base;                 /* a created window: the pages of all members */
    size_t bytes;
    struct wdl_adi_attached *attached;  /* a dynamic one: our own memory, */
    struct wdl_adi_view **views;        /* and others', as it is mapped here: a hash table */
    unsigned nviews;
    uint64_t views_made;        /* ever */
    uint64_t views_asked;       /* how often one was asked for: their time */
};

enum { WDL_INFO_KEYS_MAX = 16 };

struct wdl_adi_win {
    struct wdl_win *wdl;        /* the core's window */
    struct wdl_adi_segment segment;
    struct wdl_adi_shared shared;
    int64_t disp_unit;          /* MPIR_Win's is an int */
    uint32_t id;
    int is_served;              /* the progress thread works for it */
    int calls;                  /* closing calls to the next look at the network */
    unsigned looks;             /* of these, ever */
    char *info[WDL_INFO_KEYS_MAX];  /* values set by the user, by key (win_info.c); NULL: default */
};

#endif
