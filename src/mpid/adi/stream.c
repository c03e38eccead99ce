/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The rings of rma/stream.h: a process has one, a block of its part of the arena (coll_shm.c), made
 * when it is first needed and kept. Its id is the block's card.
 */
#include "rma.h"
#include "coll.h"
#include "mpid/rma/stream.h"

static struct wdl_stream *own_stream(uint64_t *id)
{
    if (!wdl_adi.stream_tried) {
        wdl_adi.stream_tried = 1;
        (void) wdl_arena_take(sizeof(struct wdl_stream), 1, &wdl_adi.stream);
    }
    *id = wdl_adi.stream;
    return (struct wdl_stream *) (void *) wdl_arena_at_once(MPIR_Process.rank, *id,
                                                            sizeof(struct wdl_stream));
}

struct wdl_stream *wdl_adi_stream(void *ctx, int rank, uint64_t *id)
{
    const MPIR_Win *win = ctx;
    if (rank == win->comm_ptr->rank)
        return own_stream(id);
    if (!wdl_arena_holds(*id, sizeof(struct wdl_stream)))
        return NULL;
    return (struct wdl_stream *) (void *) wdl_arena_at_once(wdl_adi_peer(win->comm_ptr, rank), *id,
                                                            sizeof(struct wdl_stream));
}
