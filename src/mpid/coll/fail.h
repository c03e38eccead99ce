/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Collectives whose ranks do not mean the same: other lengths, another operation, another root.
 * That is the program's mistake; nobody waits for ever for it, and nothing is written out of its
 * bounds. Inside the collectives.
 *
 * A piece of data says what its sender means (its print), and how much may be put somewhere is said
 * with the address: who gets what does not fit fails. Where two wait for each other, one for data,
 * one for leave to send it, nothing crosses: who has waited long asks those it waits for
 * (wdl_coll_doubt). Whoever knows the answer to be no fails.
 *
 * Who fails tells all ranks, FAIL, and so does each of them that has not finished the collective.
 * They leave the rest of it undone, and when the network reads and writes nothing for it here any
 * more, tell all: OUT. So does who is asked and has finished it. Who says that it has finished, or
 * is out, has flushed what flags it has put.
 *
 * A rank that has finished all of a team ends it, and may be in another one of that id, with ranks
 * that were not in the first, while others are still in that and ask. So these packets have the
 * team's stamp with them: a digest of its id, its ranks, and their cards, on which is how many
 * teams each of them had made. Who asks has opened its team, so all ranks have made it. If the one
 * of that id that is open here has another stamp, it is a later one: the other is gone here, and
 * all of it was finished. One that is not open here yet is meant, unless a team of that stamp has
 * ended here, or the sender is none of its ranks.
 *
 * Who is asked about a collective it has not begun may yet begin it. But where calls have numbers
 * (struct wdl_team_params, `upcoming`) the question has that of its call, and who is beyond that
 * closes the team, since it has gone to another one with it. Who has ended such a team says of what
 * it never began that it is out of it.
 *
 * Invariants:
 *  1. A collective that has failed ends on a rank when all others are out of it. Then nobody writes
 *     into that rank's memory any more; and all have begun it, so that it carries credit as any.
 *  2. No message is sent for this, and none waited for, where ranks mean the same and come in time.
 *  3. What is said of one team touches no other. (Without cards two of one id and the same ranks
 *     have one stamp: nothing may be under way of the one when the other is made.)
 *  4. Ranks that disagree about which collectives carry credit have no numbers in common: their
 *     team is closed (team->status), and what has begun behind that collective fails.
 */
#ifndef WDL_MPID_COLL_FAIL_H_INCLUDED
#define WDL_MPID_COLL_FAIL_H_INCLUDED

#include "mpid/coll/coll_impl.h"

/* A collective that has failed, or is known to before it begins here. */
struct wdl_doom {
    struct wdl_list link; /* team->dooms until it begins */
    uint32_t seq;
    int fail_told, out_told; /* ranks below have been told */
    int outs; /* ranks that are out of it */
    unsigned char out[]; /* a bit a rank */
};

/* What a rank means by a collective, in WDL_PRINT_BITS, without lengths that are not all ranks' to
 * know; args: NULL, it is an empty one. 0 is nothing. */
enum { WDL_PRINT_BITS = 24 };
uint32_t wdl_print_of(uint32_t row, const struct wdl_coll_args *args, int syncs);
/* On a node, where the boards say lengths. Of the flags those that say who waits for whom. */
static inline uint32_t wdl_print_on_node(enum wdl_coll_kind kind, int root, uint32_t flags)
{
    enum { IN_AT = 4, OUT_AT, LEAVES_AT, DST_AT, SRC_AT, ROOT_AT };
    uint32_t waits = (flags & WDL_COLL_IN_ALLSYNC ? 1u << IN_AT : 0) |
                     (flags & WDL_COLL_OUT_ALLSYNC ? 1u << OUT_AT : 0) |
                     (flags & WDL_COLL_LEAVES ? 1u << LEAVES_AT : 0) |
                     (flags & WDL_COLL_DST_KNOWN ? 1u << DST_AT : 0) |
                     (flags & WDL_COLL_SRC_KNOWN ? 1u << SRC_AT : 0);
    wdl_static_assert(WDL_COLL_KIND_COUNT < 1 << IN_AT);
    uint32_t from = wdl_coll_is_rooted(kind) ? (uint32_t) root << ROOT_AT : 0;
    return (((uint32_t) kind + 1) | waits | from) & ((1u << WDL_PRINT_BITS) - 1);
}

/* ... with what all ranks must give alike, of which nobody can tell what it was. The bit for credit
 * stays, and 0 is nothing. */
static inline uint32_t wdl_print_with(uint32_t print, uint32_t alike)
{
    enum { SHORTER = 32 - (WDL_PRINT_BITS - 1) };
    uint32_t with = print ^ alike >> SHORTER << 1;
    return print && !with ? 1u << (WDL_PRINT_BITS - 1) : with;
}

/* This rank's is not what others mean; or they say so. It ends later, with ERR_TRUNCATE. */
void wdl_run_fail(struct wdl_run *run);
/* It begins: is it known to fail? */
void wdl_run_look_up(struct wdl_run *run);
static inline void wdl_run_look_doomed(struct wdl_run *run)
{
    if (!wdl_list_empty(&run->team->dooms))
        wdl_run_look_up(run);
}
/* Move on what has failed in this team, if wdl_team_fails; how much was done. */
int wdl_team_fail_step(struct wdl_team *team);
static inline int wdl_team_fails(const struct wdl_team *team)
{
    return team->failing || (team->status != WDL_OK && !wdl_list_empty(&team->dooms));
}
void wdl_team_dooms_free(struct wdl_team *team);
/* The team is destroyed: its prints are kept, for others may yet ask. */
void wdl_team_ended(const struct wdl_team *team);

/* ASK, OVER, FAIL, OUT from `src`, with what is behind them; team: the one that has its id now, or
 * NULL. */
int wdl_fail_handle(struct wdl_coll *coll, struct wdl_team *team, int src,
                    const struct wdl_coll_pkt *pkt, const void *data, size_t bytes);

#endif
