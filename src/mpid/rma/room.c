/* Part of Windlass. See COPYRIGHT in the top-level directory. Rooms: one compare-exchange in, one
 * subtraction out. */
#include "mpid/rma/room.h"

#define SERVED(word) ((uint32_t) ((word) >> 32 & 0xffff))
#define NEXT(word) ((uint32_t) ((word) >> 48))
#define DRAWN 0x10000u          /* marks a ticket that has been drawn */

static int has_place(uint64_t word, enum wdl_room_kind kind)
{
    if (kind == WDL_ROOM_SHARED)
        return wdl_room_holders(word, WDL_ROOM_OTHERS) == 0;
    if (wdl_room_holders(word, WDL_ROOM_SHARED) > 0)
        return 0;
    return kind == WDL_ROOM_OTHERS || wdl_room_holders(word, WDL_ROOM_OTHERS) == 0;
}

/* The field wraps around. */
static uint64_t with_served(uint64_t word, uint32_t served)
{
    return (word & ~((uint64_t) 0xffff << 32)) | (uint64_t) (served & 0xffff) << 32;
}

static inline enum wdl_room_move move_of(uint64_t now, enum wdl_room_kind kind, int join,
                                         uint32_t ticket, uint64_t *then)
{
    int drawn = ticket != 0;
    int turn = drawn ? SERVED(now) == (ticket & 0xffff) : SERVED(now) == NEXT(now) || join;
    if (turn && has_place(now, kind)) {
        *then = now + wdl_room_one_holder(kind);
        if (drawn)
            *then = with_served(*then, SERVED(now) + 1);
        return WDL_ROOM_GO;
    }
    *then = now + WDL_ROOM_ONE_TICKET;
    return drawn || join ? WDL_ROOM_WAIT : WDL_ROOM_DRAW;
}

int wdl_room_enter_in_turn(uint64_t *word, enum wdl_room_kind kind, int join, uint32_t *ticket)
{
    uint64_t now = __atomic_load_n(word, __ATOMIC_RELAXED), then;
    for (;;) {
        enum wdl_room_move move = move_of(now, kind, join, *ticket, &then);
        if (move == WDL_ROOM_WAIT)
            return WDL_AGAIN;
        /* pairs with the subtraction in wdl_room_leave */
        if (!__atomic_compare_exchange_n(word, &now, then, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            continue;
        int overtook = *ticket == 0 && SERVED(now) != NEXT(now);
        *ticket = move == WDL_ROOM_GO && !overtook ? 0 : wdl_room_drawn(now);
        return move == WDL_ROOM_GO ? WDL_OK : WDL_AGAIN;
    }
}

enum wdl_room_move wdl_room_move(uint64_t now, enum wdl_room_kind kind, int join, uint32_t ticket,
                                 uint64_t *then_out)
{
    return move_of(now, kind, join, ticket, then_out);
}

uint32_t wdl_room_drawn(uint64_t before)
{
    return DRAWN | NEXT(before);
}

int wdl_room_ahead(uint64_t now, uint32_t ticket)
{
    return (int) ((ticket - SERVED(now)) & 0xffff);
}

int wdl_room_owes(uint64_t now, uint32_t ticket)
{
    int ahead = wdl_room_ahead(now, ticket);
    return ahead > 0 && ahead <= wdl_room_ahead(now, NEXT(now));
}

uint64_t wdl_room_quiet(uint64_t now)
{
    return with_served(now & ~(uint64_t) 0xffffffff, NEXT(now));
}
