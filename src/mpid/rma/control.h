/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The control block: the words by which the processes of one node agree about one rank's exposed
 * memory. It lies in memory they share, zeroed at creation, beside the blocks of the node's other
 * ranks (or alone, where the window's memory is private). Each group of words has cache lines of
 * its own; the block should begin on one.
 *
 *   stripes     domain.c   element locks of types without atomic instruction
 *   lock, gate  room.c, far.c  the lock words (the gate is used on rank 0's block only)
 *   announced .. bulk  domain.c   short updates against bulk updates
 *   completed   pscw.c     complete
 *   posted      pscw.c     post
 *   regions, gone  region.c       what a dynamic window exposes (seen.h; read by seen.c)
 *   meeting     barrier.c         the fence's barrier
 *   looks       mailbox.c, mailserve.c  whether the rank looks at its mail
 *   pull_way, pull_asked  pull.c  whether long puts between fences are left to their targets
 *   mail, area  mailbox.c, stream.c operations handed over: cells that others write; own data
 */
#ifndef WDL_MPID_RMA_CONTROL_H_INCLUDED
#define WDL_MPID_RMA_CONTROL_H_INCLUDED

#include <stddef.h>
#include <stdint.h>
#include "base/assert.h"
#include "mpid/proc/meet.h"

#define WDL_WIN_STRIPES 64
#define WDL_WIN_REGIONS 8
#define WDL_WIN_POSTS 16
#define WDL_POSTED_ALONE 0x80000000u
#define WDL_WIN_GONE 32
#define WDL_WIN_MARKS 128
#define WDL_WIN_MAILS 8
#define WDL_MAIL_BYTES 32
#define WDL_MAIL_AREA 8192

struct wdl_mail_stream {        /* a long operation (stream.h) */
    uint64_t id;                /* of the ring */
    uint64_t begin, bytes;      /* place of the first byte; how many */
    int64_t stride;             /* of blocks at the target */
};

struct wdl_mail_rows {          /* blocks evenly apart at the target; the data are in the area */
    int64_t stride;
    uint32_t bytes, count;      /* of a block; blocks */
};

struct wdl_mail_joint {         /* a copy by both sides (joint.h) */
    uint64_t from, bytes;       /* the origin's address */
    uint64_t taken;             /* by both: parts */
    int32_t stride, from_stride;        /* of blocks, which are mail->bytes long: ours, its */
};

struct wdl_mail {               /* a cache line */
    uint32_t state;             /* enum wdl_mail_state */
    uint32_t origin, host_type;
    uint32_t bytes;             /* compare and swap: of the element; blocks: of one */
    uint8_t kind, rop;  /* enum wdl_rma_kind, wdl_rop; or _STREAM, _JOINT, _BAG_MOVES: put? */
    uint8_t status;
    uint8_t visits;             /* operations that went another way (wdl_mail_visit) */
    uint8_t is_rows;
    uint8_t gets;               /* WDL_MAIL_FOLD: are results wanted? */
    uint8_t pad[2];
    int64_t disp;               /* stream, joint: the address */
    union {
        char data[WDL_MAIL_BYTES];      /* what goes, then what comes back */
        struct wdl_mail_stream stream;
        struct wdl_mail_rows rows;
        struct wdl_mail_joint joint;
    };
};

/* What is zeroed at creation. */
#define WDL_WIN_CONTROL_ZEROED offsetof(struct wdl_win_control, area)

struct wdl_win_control {
    uint64_t stripes, stripes_pad[7];   /* a bit each */

    uint64_t lock, lock_pad[7];
    uint64_t gate;
    uint32_t gate_mode, gate_pad[13];   /* enum wdl_gate_mode */

    /* written by the block's own rank alone; fenced: short updates it paid a barrier for */
    uint32_t announced, fenced, announced_pad[14];
    uint32_t bulk_mode;         /* enum wdl_bulk_mode */
    uint32_t bulk[WDL_WIN_REGIONS];
    uint32_t bulk_looks, bulk_patience; /* since the last bulk update; before the mode is lowered */
    uint32_t shorts_seen;       /* how often bulk updates have looked at these: */
    uint64_t shorts;            /* who has announced a region of this rank's (domain.h) */
    uint32_t bulk_by, bulk_pad; /* who closed one last (crowd.h): its place on the node + 1 */

    uint32_t completed, completed_pad[15];      /* by how many origins, ever */
    /* rank + 1 of a target that has posted to this rank, and WDL_POSTED_ALONE if to it alone; 0:
     * free */
    uint32_t posted[WDL_WIN_POSTS];

    /* a dynamic window's attached memory (seen.h): a list in its process */
    uint64_t regions_version;   /* odd while it changes */
    uint64_t regions_at, regions_count;
    uint64_t regions_gone;      /* how often something has been detached, ever */
    uint64_t mail_open, regions_pad[3]; /* the rank looks at its mail */
    uint64_t gone_base[WDL_WIN_GONE];   /* by the detach's number */
    uint64_t regions_mark[WDL_WIN_MARKS];       /* where every so many-th region begins */

    struct wdl_meet_word meeting[WDL_MEET_ROUNDS];

    uint32_t looks, looks_pad[15];      /* the program's, at its mail: while it is in MPI */

    /* of the node's first rank: how long puts go in the epochs of even and of odd number, and in
     * which one somebody had any (pull.c) */
    uint32_t pull_way[2], pull_asked, pull_pad[13];

    struct wdl_mail mail[WDL_WIN_MAILS];
    /* the rank's own: data of its operation in a mailbox that are longer than a cell; not zeroed */
    struct wdl_mail_area {
        char head[128];         /* the target's */
        char data[WDL_MAIL_AREA];
    } area;
};

wdl_static_assert(offsetof(struct wdl_win_control, lock) % 64 == 0);
wdl_static_assert(offsetof(struct wdl_win_control, announced) % 64 == 0);
wdl_static_assert(offsetof(struct wdl_win_control, bulk_mode) % 64 == 0);
wdl_static_assert(offsetof(struct wdl_win_control, completed) % 64 == 0);
wdl_static_assert(offsetof(struct wdl_win_control, posted) % 64 == 0);
wdl_static_assert(offsetof(struct wdl_win_control, regions_version) % 64 == 0);
wdl_static_assert(offsetof(struct wdl_win_control, gone_base) % 64 == 0);
wdl_static_assert(offsetof(struct wdl_win_control, regions_mark) % 64 == 0);
wdl_static_assert(offsetof(struct wdl_win_control, meeting) % 64 == 0);
wdl_static_assert(offsetof(struct wdl_win_control, looks) % 64 == 0);
wdl_static_assert(offsetof(struct wdl_win_control, pull_way) % 64 == 0);
wdl_static_assert(offsetof(struct wdl_win_control, mail) % 64 == 0);
wdl_static_assert(sizeof(struct wdl_mail) == 64);
wdl_static_assert(offsetof(struct wdl_win_control, area) % 64 == 0);
wdl_static_assert(sizeof(struct wdl_win_control) % 64 == 0);
/* one bit each of a word; 64 stripes of 64 bytes are a page */
wdl_static_assert(WDL_WIN_STRIPES == 64);

#endif
