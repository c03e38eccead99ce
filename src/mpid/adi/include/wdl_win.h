/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The device's part of a window.
 */
#ifndef WDL_WIN_H_INCLUDED
#define WDL_WIN_H_INCLUDED

struct wdl_win;

struct wdl_adi_win {
    struct wdl_win *wdl;        /* the core's window */
};

#endif
