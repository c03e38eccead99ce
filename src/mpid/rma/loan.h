/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The direct path to dynamic windows (ARCHITECTURE.md, Direct): keys of attached regions, lent to
 * the ranks that ask. An origin that has no key of what it touches goes by message and asks for one
 * (KEY, with an address); the answer is the region that holds the address, and its key, registered
 * then. The origin keeps it in the window's table of keys until the target recalls it. From then on
 * puts and gets in the region are the network's, in this epoch and in others, and cost no message
 * and no look at a version.
 *
 * Why a key is never used on memory that is not its region's:
 *  1. A rank notes who has been given a key of a region, before the answer goes (`holders`).
 *  2. MPI_Win_detach takes the region out of the list first, so that no further key is given and
 *     messages find nothing; then it recalls the keys, and does not end before every holder has
 *     returned its own. Only then is the registration undone, and the memory the user's again.
 *  3. A holder that is asked begins nothing more with the key, and returns it when a flush of the
 *     network that began after that is done: all it has begun has happened, here and there.
 *  4. A key on its way to an origin may be overtaken by its recall. The origin has nothing to
 *     return, but one it has asked for: whichever it is, it is not used when it comes.
 * So memory that is attached again, at whatever address, finds no old key anywhere, without any
 * help of the program's synchronization; and an access that races with detach, which is the
 * program's mistake, happens before detach ends or goes by message and is MPI_ERR_RMA_RANGE.
 *
 * What it costs: detach of a region of which keys are held is not a local call; its holders need
 * not be in any call of RMA, but in MPI, or have the progress thread. Nobody waits the other way
 * round (a flush of the network needs no target), so two ranks may detach at a time.
 *
 * An origin that drops a key to make room does not say so: the target may recall what is not there,
 * and is told that it is returned.
 */
#ifndef WDL_MPID_RMA_LOAN_H_INCLUDED
#define WDL_MPID_RMA_LOAN_H_INCLUDED

#include <stddef.h>
#include "base/list.h"
#include "netmod/netmod.h"

struct wdl_key;
struct wdl_pkt;
struct wdl_region;
struct wdl_target;
struct wdl_win;

enum { WDL_LOAN_HOLDERS = 64 };         /* bits of struct wdl_loan's; at most so many ranks */

struct wdl_loan {               /* a region that keys have been given of */
    struct wdl_list link;       /* in loans or recalls */
    uint64_t base;              /* as it was attached */
    uint64_t serial;            /* no other loan of the window ever has it; not 0 */
    struct wdl_nm_mem *mem;
    uint64_t holders, told;     /* bit: place of struct wdl_lender; told to return it */
};

struct wdl_lender {             /* of a window: keys of this rank's memory that others may have */
    struct wdl_list loans, recalls;     /* of regions that are attached; that are being detached */
    int *holders, count;        /* ranks, -1: a free place */
    uint64_t serial;            /* of the last loan */
};

/* --- loan.c: the target --- */
/* WDL_OK or ERR_NOMEM. */
int wdl_lender_init(struct wdl_win *win);
/* Nobody uses a key any more. */
void wdl_lender_drop(struct wdl_win *win);
/* The answer to a KEY packet: what it says of the region at pkt->disp, and *bytes of its key at
 * `key`, 0: there is none to give. *bytes: in: room. */
void wdl_loan_give(struct wdl_win *win, const struct wdl_pkt *pkt, struct wdl_pkt *answer,
                   void *key, size_t *bytes);
/* The region has left the list. */
void wdl_loan_end(struct wdl_win *win, struct wdl_loan *loan);
/* A region that began at base and has left the list, while there are keys of it; or NULL. */
struct wdl_loan *wdl_loan_ending(const struct wdl_win *win, uint64_t base);
/* WDL_OK: no key of it is left, nor the loan; WDL_AGAIN. */
int wdl_loan_recall(struct wdl_win *win, struct wdl_loan *loan);
/* A RETURNED packet came. */
int wdl_loan_returned(struct wdl_win *win, const struct wdl_pkt *pkt);

/* --- borrow.c: the origin --- */
/* An open key of [addr, addr + bytes) of the rank's memory; or NULL, and it has perhaps been asked
 * for. */
struct wdl_key *wdl_borrow_get(struct wdl_target *t, uint64_t addr, uint64_t bytes);
/* The answer came. */
int wdl_borrow_answered(struct wdl_target *t, const struct wdl_pkt *pkt, const char *payload,
                        size_t bytes);
/* A RECALL came: WDL_OK; ERR_UNSUPPORTED: there is no such key here, say so; ERR_PROTO. */
int wdl_borrow_recalled(struct wdl_win *win, const struct wdl_pkt *pkt);
/* Return what has been recalled and is not in use; how many. */
int wdl_borrow_progress(struct wdl_win *win);

#endif
