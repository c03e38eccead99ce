/* Part of Windlass. See COPYRIGHT in the top-level directory. Rooms: one compare-exchange in, one
 * subtraction out. */
#include "mpid/rma/room.h"
#include "base/assert.h"
#include "base/status.h"

#define HOLDERS(word, kind) ((word) >> ((kind) == WDL_ROOM_SHARED ? 0 : 16) & 0xffff)
#define ONE_HOLDER(kind) ((uint64_t) 1 << ((kind) == WDL_ROOM_SHARED ? 0 : 16))
#define SERVED(word) ((uint32_t) ((word) >> 32 & 0xffff))
#define NEXT(word) ((uint32_t) ((word) >> 48))
#define ONE_TICKET ((uint64_t) 1 << 48)
#define DRAWN 0x10000u          /* marks a ticket that has been drawn */

static int has_place(uint64_t word, enum wdl_room_kind kind)
{
    if (kind == WDL_ROOM_SHARED)
        return HOLDERS(word, WDL_ROOM_OTHERS) == 0;
    if (HOLDERS(word, WDL_ROOM_SHARED) > 0)
        return 0;
    return kind == WDL_ROOM_OTHERS || HOLDERS(word, WDL_ROOM_OTHERS) == 0;
}

/* The next ticket is served; the field wraps around. */
static uint64_t serve_next(uint64_t word)
{
    return (word & ~((uint64_t) 0xffff << 32)) | ((uint64_t) ((SERVED(word) + 1) & 0xffff) << 32);
}

int wdl_room_enter_in_turn(uint64_t *word, enum wdl_room_kind kind, int join, uint32_t *ticket)
{
    uint64_t now = __atomic_load_n(word, __ATOMIC_RELAXED), then;
    for (;;) {
        int drawn = *ticket != 0;
        int turn = drawn ? SERVED(now) == (*ticket & 0xffff) : SERVED(now) == NEXT(now) || join;
        if (turn && has_place(now, kind)) {
            then = now + ONE_HOLDER(kind);
            if (drawn)
                then = serve_next(then);
        } else if (drawn || join) {
            return WDL_AGAIN;
        } else {
            then = now + ONE_TICKET;
        }
        /* pairs with the subtraction in wdl_room_leave */
        if (!__atomic_compare_exchange_n(word, &now, then, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            continue;
        if (then - now == ONE_TICKET) {
            *ticket = DRAWN | NEXT(now);
            return WDL_AGAIN;
        }
        *ticket = 0;
        return WDL_OK;
    }
}

void wdl_room_leave(uint64_t *word, enum wdl_room_kind kind)
{
    /* pairs with wdl_room_enter */
    uint64_t before = __atomic_fetch_sub(word, ONE_HOLDER(kind), __ATOMIC_SEQ_CST);
    wdl_assert_cmp(HOLDERS(before, kind), >, 0);
}

enum wdl_room_kind wdl_room_kind_inside(const uint64_t *word)
{
    uint64_t now = __atomic_load_n(word, __ATOMIC_RELAXED);
    return HOLDERS(now, WDL_ROOM_OTHERS) > 0 ? WDL_ROOM_ALONE : WDL_ROOM_SHARED;
}
