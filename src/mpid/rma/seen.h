/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What an origin knows of the attached memory of other processes of its node: regions of dynamic
 * windows, as found in the lists of their processes. A list is sorted by address, and read in its
 * process by the system's copy; a region that is known costs no call of the system.
 *
 * How a list says that it changes (region.c writes, seen.c reads; all in the control block):
 *  1. `regions_version` is odd while it changes: what was read of it, of the marks, of its place
 *     and length, counts if the version was even before and is the same afterwards.
 *  2. Every detach is numbered. Before it ends its number is in `regions_gone`, and the address in
 *     `gone_base`, which holds the last WDL_WIN_GONE of them. A region seen when so many had been
 *     detached is attached as long as no later number has its address; who has missed numbers
 *     knows nothing any more. Attaching changes nothing about what is known.
 *  3. `regions_mark` holds the addresses where every 2^k-th region begins, k as small as there is
 *     room for: so much of a search needs no reading.
 * So an operation that begins after detach has returned, as the origin can know by messages or
 * synchronization, finds that the region has gone. One that races with it, which is the program's
 * mistake, may find it there; then the system's copy fails where the memory has gone, and the
 * target, which looks for itself, refuses.
 *
 * Invariants of the table:
 *  1. The entries are sorted by rank, then by address; no two have both the same.
 *  2. n <= room of the array <= WDL_SEEN_MOST, whatever the number of ranks or regions. Beyond that
 *     one takes the place of any other: where regions are used in turn the oldest is needed next.
 */
#ifndef WDL_MPID_RMA_SEEN_H_INCLUDED
#define WDL_MPID_RMA_SEEN_H_INCLUDED

#include <stdint.h>
#include "mpid/rma/array.h"
#include "mpid/rma/control.h"
#include "mpid/rma/win.h"

enum { WDL_SEEN_FEW = 8, WDL_SEEN_MOST = 1024 };

struct wdl_seen_region {
    int rank;
    uint64_t gone;              /* regions_gone when it was there */
    struct wdl_region region;
};

struct wdl_seen {
    struct wdl_array regions;   /* struct wdl_seen_region */
    int n, last;                /* entries; the one that was found last */
    uint32_t draw;              /* whose place is taken next */
    struct wdl_seen_region few[WDL_SEEN_FEW];
};

/* Regions from one mark to the next, of a list of so many. */
static inline uint64_t wdl_marks_step(uint64_t count)
{
    uint64_t step = 1;
    while (step < count / WDL_WIN_MARKS + (count % WDL_WIN_MARKS != 0))
        step *= 2;
    return step;
}

void wdl_seen_init(struct wdl_win *win);
void wdl_seen_fini(struct wdl_win *win);
/* The region of the rank's that holds the byte at addr, if it is known and still attached; else
 * NULL. Until the next call. */
const struct wdl_region *wdl_seen_find(struct wdl_win *win, int rank,
                                       const struct wdl_win_control *control, uint64_t addr);
/* Is [from, from + bytes) in the rank's attached memory? Neighbours that touch are one stretch.
 * WDL_OK, ERR_RANGE, or WDL_AGAIN where the list is changing. */
int wdl_seen_exposed(struct wdl_win *win, int rank, const struct wdl_win_control *control,
                     uint64_t from, uint64_t bytes);
/* The table's invariants. */
void wdl_seen_check(const struct wdl_win *win);

#endif
