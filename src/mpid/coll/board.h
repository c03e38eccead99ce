/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Boards: what a rank shows to all ranks of its node at once, in its own segment: one store and as
 * many loads as there are readers, where cells would take a store for each.
 *
 * Invariants:
 *  1. A board has PLACES per slot, each written once by its owner in a collective: DATA, with
 *     a sheet of data or of addresses, and the flags behind it. What is second (a prefix) is
 *     behind the sheet's data, and is there when LAST is.
 *  2. What one rank gives and needs no board's room is DATA on a line (shm.c), which it has more of
 *     than slots: little of rooted collectives, and little blocks that vary for all others, packed.
 *     Only its owner decides, by what it gives; readers look at both places.
 *  3. A slot's next collective begins when all ranks have finished this one (coll_impl.h), so a
 *     reader never meets anything but this collective's stamp or an older one.
 *  4. What lies in the private memory of its owner is read between the owner's DATA and the flag
 *     by which the reader says that it has read.
 */
#ifndef WDL_MPID_COLL_BOARD_H_INCLUDED
#define WDL_MPID_COLL_BOARD_H_INCLUDED

#include "mpid/coll/coll_impl.h"
#include "mpid/proc/meet.h"

enum wdl_place_on_board {
    WDL_BOARD_DATA,
    WDL_BOARD_DONE,
    WDL_BOARD_LAST,
    WDL_BOARD_IN, /* entry synchronization: a rank's flag; in two levels its head's, too */
    WDL_BOARD_OUT, /* exit synchronization, the same */
    WDL_BOARD_PLACES
};

/* What a sheet says of a place: its address, or whose it is, where all know that address, and a
 * digest by which they see whether they know the same. */
struct wdl_said {
    enum { WDL_SAID_AT, WDL_SAID_SRC, WDL_SAID_DST } which;
    uint32_t digest;
    uint64_t at;
};
/* Where a rank's data is, for others to fetch. */
enum { WDL_SHEET_CHUNKS = 32 };
struct wdl_sheet {
    struct wdl_said src, dst; /* wdl_board_say */
    uint64_t staged; /* the card of a copy of the data (staging.h); 0: there is none */
    size_t filled; /* leading bytes of it that are there */
    size_t ring; /* room in which they come by parts (parts.h); 0: each has a place of its own */
    size_t in_parts; /* ... so many in all */
    size_t taken; /* leading bytes of what another gives so that its owner has taken */
    int fresh; /* where no copy has been before */
    int shown; /* the blocks are behind the sheet, each `at` bytes from its beginning */
    int left; /* who wants it fetches it; its owner puts it nowhere */
    /* Of a fold that all may help with, on its root's: chunks that somebody has taken on, and by
     * whom each has been done, a rank and 1; others write here, too (node_fold.c). */
    uint32_t taken_on;
    uint8_t done_by[WDL_SHEET_CHUNKS];
    struct wdl_sheet_block {
        size_t at, bytes;
    } block[]; /* by place on the node, of one of them, if they vary */
};

/* A run whose arguments and number are known: where it finds all that follows. Its board in each
 * rank's segment is then at run->at.board, with DATA's stamp first. */
void wdl_board_open(struct wdl_run *run);

static inline int wdl_board_is_at(const struct wdl_run *run, int rank, size_t at)
{
    const void *word = run->team->node[rank] + at;
    /* pairs with the store in wdl_board_post */
    return __atomic_load_n(&((const struct wdl_meet_word *) word)->number, __ATOMIC_ACQUIRE) ==
           run->stamp;
}
/* Has another rank posted DATA: where we expect it, ... */
static inline int wdl_board_is_first(const struct wdl_run *run, int rank)
{
    return wdl_board_is_at(run, rank, run->at.first);
}
/* ... at all */
static inline int wdl_board_has_come(const struct wdl_run *run, int rank)
{
    return wdl_board_is_first(run, rank) || wdl_board_is_at(run, rank, run->at.second);
}
/* Where a rank's DATA is, or is to be. */
static inline struct wdl_meet_word *wdl_board_data(const struct wdl_run *run, int rank)
{
    size_t at = run->at.own;
    if (rank != run->team->rank)
        at = wdl_board_is_first(run, rank)                ? run->at.first
             : wdl_board_is_at(run, rank, run->at.second) ? run->at.second
                                                          : run->at.board;
    return (struct wdl_meet_word *) (void *) (run->team->node[rank] + at);
}

/* The sheet's memory; written by its owner before DATA is posted. */
enum { WDL_BOARD_STAMP = 16 }; /* behind stamp and length, aligned for any element */
static inline char *wdl_board_sheet(const struct wdl_run *run, int rank)
{
    return (char *) wdl_board_data(run, rank) + WDL_BOARD_STAMP;
}
void wdl_board_post(struct wdl_run *run, enum wdl_place_on_board place);
int wdl_board_seen(const struct wdl_run *run, int rank, enum wdl_place_on_board place);
/* Does what a rank shows, or we are to show, lie on a line? */
static inline int wdl_board_is_lined(const struct wdl_run *run, int rank)
{
    return (char *) wdl_board_data(run, rank) != run->team->node[rank] + run->at.board;
}
/* Bytes of all blocks that vary, but for the own one. */
size_t wdl_board_for_others(const struct wdl_run *run);
/* Blocks that vary, for all others, on our line; where the one for us is on that of a rank that has
 * posted: of SIZE_MAX bytes, if that is nonsense. */
void wdl_board_pack(struct wdl_run *run);
struct wdl_sheet_block wdl_board_packed(const struct wdl_run *run, int rank);
enum { WDL_BOARD_LENGTH_BITS = 40 };
/* What is above any length: who means something else reads none that there is. */
static inline uint64_t wdl_board_meant(const struct wdl_run *run)
{
    return (uint64_t) run->print << WDL_BOARD_LENGTH_BITS;
}
/* What a rank that has posted DATA says of its length: args.bytes; of all that is shown where
 * parts of it may vary; something else than any length, if it means another collective (fail.h). */
static inline size_t wdl_board_length(const struct wdl_run *run, int rank)
{
    return wdl_board_data(run, rank)->pad[0] ^ wdl_board_meant(run);
}
/* The same of a rank that has posted there. */
size_t wdl_board_length_at(const struct wdl_run *run, int rank, enum wdl_place_on_board place);
/* Room for something else as long as args.bytes, which is on the board, written by its owner before
 * LAST is posted: beside that, if it fits there. NULL: there is none. */
char *wdl_board_second(const struct wdl_run *run, int rank);
int wdl_board_means_the_same(const struct wdl_run *run, int rank, enum wdl_place_on_board place);
size_t wdl_board_own_length(const struct wdl_run *run);
/* Copy from and to the private memory of a rank that has posted. */
int wdl_board_fetch(const struct wdl_run *run, int rank, const void *there, void *here,
                    size_t bytes);
int wdl_board_give(const struct wdl_run *run, int rank, const void *here, void *there,
                   size_t bytes);
/* What the own sheet says of a place, and the place that another's says; NULL: none, or it is one
 * that we have not been told of, or have been told another of. */
struct wdl_said wdl_board_say(const struct wdl_run *run, const void *at);
char *wdl_board_said(const struct wdl_run *run, int rank, struct wdl_said said);
/* Bytes [at, at + bytes) from there; ERR_TRUNCATE: we do not know where. */
int wdl_board_fetch_said(const struct wdl_run *run, int rank, struct wdl_said said, size_t at,
                         void *here, size_t bytes);

#endif
