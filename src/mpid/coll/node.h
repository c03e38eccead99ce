/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Collectives of ranks that share a node, through boards: every rank shows its data, or where it
 * is, and takes what it needs from the others; no rank passes anything on. One WATCH does it all,
 * so that what comes is used where it is.
 *
 * Little data lies on the board itself, more is staged (staging.h): who has shown it is done with
 * it. What finds no room there, and long blocks of which one rank alone wants each, stay in their
 * owner's memory and are fetched; their owner waits until all who fetch have said DONE.
 *
 * The program may give lengths that do not fit together. Boards say how long what they show is;
 * nothing is moved between two ranks that do not agree. Who sees it fails, and posts all that the
 * other may wait for, whose own length may make it wait for more.
 */
#ifndef WDL_MPID_COLL_NODE_H_INCLUDED
#define WDL_MPID_COLL_NODE_H_INCLUDED

#include "mpid/coll/algo.h"
#include "mpid/coll/board.h"
#include "mpid/coll/nodes.h"

/* The ranks that show each other their data, numbered from 0: all of the team, or those of the own
 * node (nodes.h). How many; which of them we are; which rank is the i-th. */
static inline int wdl_node_size(const struct wdl_run *run)
{
    return run->nodes ? run->nodes->size : run->team->size;
}

static inline int wdl_node_place(const struct wdl_run *run)
{
    return run->nodes ? run->nodes->place : run->team->rank;
}

static inline int wdl_node_rank(const struct wdl_run *run, int i)
{
    return run->nodes ? run->nodes->member[i] : i;
}

/* --- node.c --- */

/* Bytes a rank that shows something would have to put on its board; SIZE_MAX: it shows an address,
 * for not all ranks know how long the others' blocks are. The same on all ranks. */
size_t wdl_node_shown(const struct wdl_team *team, const struct wdl_coll_args *args);
/* What does a collective of this kind; NULL: none here. */
wdl_watch_fn wdl_node_watch(enum wdl_coll_kind kind);
/* The fence's barrier (proc/meet.h), on the boards: all of the team. */
int wdl_node_barrier(struct wdl_run *run, struct wdl_car_run *c);
/* IN_ALLSYNC and OUT_ALLSYNC, in front of a collective's own WATCH and behind it. */
int wdl_node_entry(struct wdl_run *run, struct wdl_car_run *c);
int wdl_node_exit(struct wdl_run *run, struct wdl_car_run *c);

/* Is this much shown on the board itself? */
static inline int wdl_node_on_board(const struct wdl_run *run)
{
    return run->shown <= run->team->params.board_bytes;
}

/* Show `bytes` at `data`: where they are many, staged (staging.h), or their address. */
int wdl_node_show(struct wdl_run *run, const void *data, size_t bytes);
/* ... of which nobody else wants [own, own_end); and where results go. */
struct wdl_node_data {
    const void *at;
    size_t bytes, own, own_end;
    void *dst;
    int left; /* where it is not staged, who wants it fetches it */
};
int wdl_node_show_data(struct wdl_run *run, const struct wdl_node_data *data);
/* ... the addresses of a source and of where the result goes. */
int wdl_node_show_places(struct wdl_run *run, const void *src, void *dst);
/* ... blocks that vary, for the others of the node, on a line or on the board behind the sheet.
 * 0: they fit neither, nothing happened. */
int wdl_node_show_blocks(struct wdl_run *run, const struct wdl_node_data *data);
/* The block for this rank in what another shows. */
struct wdl_sheet_block wdl_node_block(const struct wdl_run *run, int rank);
const struct wdl_sheet *wdl_node_sheet(const struct wdl_run *run, int rank);
/* Where the result of a rank that waits for it goes, for us to write to. NULL: it says another
 * place than we know, and the collective fails on all ranks: the WATCH asks again. */
char *wdl_node_goal(struct wdl_run *run, int rank);
/* Bytes [at, at + bytes) of what a rank shows; WDL_AGAIN: ask again. */
int wdl_node_take(struct wdl_run *run, int rank, size_t at, void *here, size_t bytes);

/* Every other rank, the next one first so that not all turn to one, once it has posted: `fn`,
 * which may be NULL and whose errors are noted; WDL_AGAIN from it: later. */
int wdl_node_each(struct wdl_run *run, struct wdl_car_run *c, enum wdl_place_on_board place,
                  int (*fn)(struct wdl_run *run, int rank));
int wdl_node_post(struct wdl_run *run, enum wdl_place_on_board place);
/* Who gives leaves, and its memory with it (LEAVES): what is too long for a board has been copied,
 * and a second WATCH, which touches none of the caller's memory, waits until it has been read. */
static inline int wdl_node_leaves(const struct wdl_run *run)
{
    return (run->args.flags & WDL_COLL_LEAVES) && !wdl_node_on_board(run);
}
/* Memory for the copy, in run->apart; NULL: there is none, and who gives waits. */
char *wdl_node_copy_room(struct wdl_run *run);
void wdl_node_copy_free(struct wdl_run *run);
/* The same for a single rank. */
int wdl_node_one(struct wdl_run *run, int rank, enum wdl_place_on_board place,
                 int (*fn)(struct wdl_run *run, int rank));
/* A broadcast: all that a rank has shown; it has been taken. */
int wdl_node_take_all(struct wdl_run *run, int rank);
int wdl_node_fetched(struct wdl_run *run);

/* Something went wrong on this rank; the collective goes on, so that nobody waits for ever, and
 * tells in the end. WDL_OK. */
static inline int wdl_node_note(struct wdl_run *run, int status)
{
    if (status != WDL_OK)
        run->status = status;
    return WDL_OK;
}
/* Does a rank that has posted DATA mean as much as we do? WDL_OK or ERR_TRUNCATE. */
int wdl_node_agrees(struct wdl_run *run, int rank);

/* A watch is asked again and again: this part of it is done once. */
#define WDL_NODE_STEP(c, n, expr)   \
    if ((c)->step == (n)) {         \
        int step_status_ = (expr);  \
        if (step_status_ != WDL_OK) \
            return step_status_;    \
        (c)->step++;                \
    }

/* --- node_fold.c --- */

/* What the node's ranks have in src, folded in their order, to `to` at rank `head`. Little is
 * folded by the head alone, and is there when this has ended there; of much all fold parts, and it
 * is there when this has ended anywhere. */
int wdl_node_fold(struct wdl_run *run, struct wdl_car_run *c, int head, char *to);
int wdl_node_reduce(struct wdl_run *run, struct wdl_car_run *c);
/* The second WATCH of who gives to a reduce, and leaves. */
int wdl_node_reduce_left(struct wdl_run *run, struct wdl_car_run *c);
int wdl_node_allreduce(struct wdl_run *run, struct wdl_car_run *c);
int wdl_node_reduce_scatter(struct wdl_run *run, struct wdl_car_run *c);
/* All have posted, and nobody has begun to fold: who differs from another leaves, as that one
 * does. */
int wdl_node_all_agree(struct wdl_run *run, struct wdl_car_run *c);
/* Is it a reduce of two for which ranks find out what takes less time: each fetches the other's
 * operand for its part, or the root folds what it is given (parts.h)? */
int wdl_node_may_both_fold(const struct wdl_run *run);
/* Where the part begins that the i-th rank folds for all, in whole elements: nearly equal ones, but
 * of two ranks a root does two thirds. */
size_t wdl_node_part_at(const struct wdl_run *run, int i);
/* Copy what a rank shows at [at, at + bytes): all of it, at once; it has been staged as a whole. */
int wdl_node_look(struct wdl_run *run, int rank, size_t at, char *here, size_t bytes);
/* What ranks 0 .. hi show from `at` on, as much as the result is, folded to that, or apart from it:
 * in place, others may still want what it would overwrite. Then to run->apart until _apart_end. */
int wdl_node_fold_apart(struct wdl_run *run, int hi, size_t at);
/* Where such a result goes; NULL: no memory, which is noted. */
char *wdl_node_apart(struct wdl_run *run);
int wdl_node_apart_end(struct wdl_run *run);
/* Of a fold: what comes stays in the cache until it is folded. Whole elements. */
size_t wdl_node_chunk(const struct wdl_coll_args *args);
/* left op right, to `to`: right, or apart from both. */
void wdl_node_combine(const struct wdl_run *run, const char *left, const char *right, char *to,
                      size_t bytes);
/* The run's own memory a long fold needs. */
size_t wdl_node_fold_room(const struct wdl_coll_args *args);

/* --- node_scan.c --- */

int wdl_node_scan(struct wdl_run *run, struct wdl_car_run *c);
int wdl_node_scan_left(struct wdl_run *run, struct wdl_car_run *c);
/* The parts of a scan: what our ranks below and, unless it is exclusive, we ourselves give, folded
 * as by wdl_node_fold_apart. WDL_OK, with errors noted, or WDL_AGAIN. */
int wdl_node_prefix(struct wdl_run *run, struct wdl_car_run *c);
/* ... with `left` in front of it: on a board, or in memory of rank `owner` */
int wdl_node_put_before(struct wdl_run *run, int owner, const char *left);
/* All ranks above have posted. */
int wdl_node_above(struct wdl_run *run, struct wdl_car_run *c, enum wdl_place_on_board place);

#endif
