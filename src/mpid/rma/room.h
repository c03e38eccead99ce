/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A room: one 64-bit word that lets in processes of two kinds, never both kinds at once, in the
 * order in which they came. It is the lock word of a window's rank, where SHARED holders meet and
 * an ALONE one is alone; and the window's gate, where SHARED means lock_all and OTHERS hold
 * exclusive locks on single ranks. In shared memory it is changed by the processor (below);
 * elsewhere by the network (far.h), by the same rules.
 *
 *   bits  0..15  holders of SHARED kind   bits 32..47  ticket being served
 *   bits 16..31  holders of other kind    bits 48..63  next ticket
 *
 * UNGATED is ALONE, and counts twice: who is inside a rank's room without having passed the gate
 * (words.c) is told from who has.
 *
 * A caller who cannot go in at once draws a ticket and comes back with it. Tickets are served in
 * order, so whoever has drawn one is overtaken by nobody who comes later, except by those who enter
 * with `join`: they hold a lock already, and making them wait behind someone who waits for that
 * very lock would be a deadlock. They get to know it, and owe it to those they have overtaken to
 * let them by before they take another lock without holding one (words.c; as in grant.h). Fewer
 * than 65,536 processes share a word.
 *
 * Nothing here waits: WDL_AGAIN means come back with the same ticket.
 */
#ifndef WDL_MPID_RMA_ROOM_H_INCLUDED
#define WDL_MPID_RMA_ROOM_H_INCLUDED

#include <stdint.h>
#include "base/assert.h"
#include "base/status.h"

enum wdl_room_kind { WDL_ROOM_SHARED, WDL_ROOM_OTHERS, WDL_ROOM_ALONE, WDL_ROOM_UNGATED };

/* What a holder has added to the word, and subtracts when it goes; how many there are. */
static inline uint64_t wdl_room_one_holder(enum wdl_room_kind kind)
{
    return (uint64_t) (kind == WDL_ROOM_UNGATED ? 2 : 1) << (kind == WDL_ROOM_SHARED ? 0 : 16);
}
static inline uint32_t wdl_room_holders(uint64_t word, enum wdl_room_kind kind)
{
    return (uint32_t) (word >> (kind == WDL_ROOM_SHARED ? 0 : 16) & 0xffff);
}

/* Go in: WDL_OK or WDL_AGAIN. *ticket is the caller's, 0 at first, and 0 again when inside: unless
 * others wait who have been overtaken; then it is the one after theirs (wdl_room_owes). */
int wdl_room_enter_in_turn(uint64_t *word, enum wdl_room_kind kind, int join, uint32_t *ticket);
/* The same in one step, without a ticket, where there is place and nobody waits: 1, it is inside;
 * 0, nothing has changed. */
static inline int wdl_room_enter_at_once(uint64_t *word, enum wdl_room_kind kind)
{
    const uint64_t keep_out = kind == WDL_ROOM_SHARED ? 0xffff0000 :
        kind == WDL_ROOM_OTHERS ? 0x0000ffff : 0xffffffff;
    uint64_t now = __atomic_load_n(word, __ATOMIC_RELAXED);
    return (now & keep_out) == 0 && now >> 48 == (now >> 32 & 0xffff) &&
           /* pairs with the subtraction in wdl_room_leave */
           __atomic_compare_exchange_n(word, &now, now + wdl_room_one_holder(kind), 0,
                                       __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}
static inline int wdl_room_enter(uint64_t *word, enum wdl_room_kind kind, int join,
                                 uint32_t *ticket)
{
    if (*ticket == 0 && wdl_room_enter_at_once(word, kind))
        return WDL_OK;
    return wdl_room_enter_in_turn(word, kind, join, ticket);
}
/* Go out. The caller is inside, as this kind. */
static inline void wdl_room_leave(uint64_t *word, enum wdl_room_kind kind)
{
    /* pairs with wdl_room_enter */
    uint64_t before = __atomic_fetch_sub(word, wdl_room_one_holder(kind), __ATOMIC_SEQ_CST);
    wdl_assert_cmp(wdl_room_holders(before, kind), >, 0);
    (void) before;
}
/* Of somebody inside a rank's room. */
static inline enum wdl_room_kind wdl_room_kind_inside(const uint64_t *word)
{
    uint64_t now = __atomic_load_n(word, __ATOMIC_RELAXED);
    return now & wdl_room_one_holder(WDL_ROOM_UNGATED) ? WDL_ROOM_UNGATED :
        now & wdl_room_one_holder(WDL_ROOM_ALONE) ? WDL_ROOM_ALONE : WDL_ROOM_SHARED;
}
/* Is somebody inside it who has not passed the gate? */
static inline int wdl_room_is_ungated(const uint64_t *word)
{
    /* pairs with the exchange of who went in, and with its subtraction */
    return (__atomic_load_n(word, __ATOMIC_SEQ_CST) & wdl_room_one_holder(WDL_ROOM_UNGATED)) != 0;
}

/* --- the rules, for whoever changes the word otherwise --- */

/* What somebody who finds the word as `now` may do: make it *then_out, if it has not changed since,
 * and be inside (GO) or have a ticket (DRAW); or WAIT. */
enum wdl_room_move { WDL_ROOM_WAIT, WDL_ROOM_DRAW, WDL_ROOM_GO };
enum wdl_room_move wdl_room_move(uint64_t now, enum wdl_room_kind kind, int join, uint32_t ticket,
                                 uint64_t *then_out);
/* A ticket may be drawn at any time: by adding ONE_TICKET to the word, which was `before`. */
#define WDL_ROOM_ONE_TICKET ((uint64_t) 1 << 48)
uint32_t wdl_room_drawn(uint64_t before);
/* In shared memory: the ticket. */
static inline uint32_t wdl_room_draw(uint64_t *word)
{
    return wdl_room_drawn(__atomic_fetch_add(word, WDL_ROOM_ONE_TICKET, __ATOMIC_SEQ_CST));
}
/* How many are to be served before this ticket. */
int wdl_room_ahead(uint64_t now, uint32_t ticket);
/* Do some wait whose tickets come before this one? (Others, if 65,536 have been served since.) */
int wdl_room_owes(uint64_t now, uint32_t ticket);
/* The word with nobody inside and nobody waiting. */
uint64_t wdl_room_quiet(uint64_t now);

#endif
