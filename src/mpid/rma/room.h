/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A room: one 64-bit word in shared memory that lets in processes of two kinds, never both kinds at
 * once, in the order in which they came. It is the lock word of a window's rank, where SHARED
 * holders meet and an ALONE one is alone; and the window's gate, where SHARED means lock_all and
 * OTHERS hold exclusive locks on single ranks.
 *
 *   bits  0..15  holders of SHARED kind   bits 32..47  ticket being served
 *   bits 16..31  holders of other kind    bits 48..63  next ticket
 *
 * A caller who cannot go in at once draws a ticket and comes back with it. Tickets are served in
 * order, so whoever has drawn one is overtaken by nobody who comes later, except by those who enter
 * with `join`: they hold a lock already, and making them wait behind someone who waits for that
 * very lock would be a deadlock. Fewer than 65,536 processes share a word.
 *
 * Nothing here waits: WDL_AGAIN means come back with the same ticket.
 */
#ifndef WDL_MPID_RMA_ROOM_H_INCLUDED
#define WDL_MPID_RMA_ROOM_H_INCLUDED

#include <stdint.h>
#include "base/status.h"

enum wdl_room_kind { WDL_ROOM_SHARED, WDL_ROOM_OTHERS, WDL_ROOM_ALONE };

/* Go in: WDL_OK or WDL_AGAIN. *ticket is the caller's, 0 at first, and 0 again when inside. */
int wdl_room_enter_in_turn(uint64_t *word, enum wdl_room_kind kind, int join, uint32_t *ticket);
static inline int wdl_room_enter(uint64_t *word, enum wdl_room_kind kind, int join,
                                 uint32_t *ticket)
{
    uint64_t now = __atomic_load_n(word, __ATOMIC_RELAXED);
    uint64_t holder = (uint64_t) 1 << (kind == WDL_ROOM_SHARED ? 0 : 16);
    /* nobody inside, nobody waiting: one step of those in turn */
    if ((uint32_t) now == 0 && now >> 48 == (now >> 32 & 0xffff) && *ticket == 0 &&
        /* pairs with the subtraction in wdl_room_leave */
        __atomic_compare_exchange_n(word, &now, now + holder, 0, __ATOMIC_SEQ_CST,
                                    __ATOMIC_RELAXED))
        return WDL_OK;
    return wdl_room_enter_in_turn(word, kind, join, ticket);
}
/* Go out. The caller is inside, as this kind. */
void wdl_room_leave(uint64_t *word, enum wdl_room_kind kind);
/* Of somebody inside: SHARED, or one of the other two (ALONE). */
enum wdl_room_kind wdl_room_kind_inside(const uint64_t *word);

#endif
