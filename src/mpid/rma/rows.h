/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Blocks of one length evenly apart: what most vectors are. Copied without a look at their type.
 */
#ifndef WDL_MPID_RMA_ROWS_H_INCLUDED
#define WDL_MPID_RMA_ROWS_H_INCLUDED

#include "base/bypass.h"
#include "mpid/rma/kernel.h"
#include "mpid/rma/win.h"

/* As many bytes in a row, as blocks like these. */
static inline struct wdl_rows wdl_rows_packed(char *at, const struct wdl_rows *like)
{
    return (struct wdl_rows){at, (int64_t) like->bytes, like->bytes, like->count};
}

/* Can they be updated by wdl_accumulate_rows: of whole elements, aligned where an instruction
 * updates them, in ascending order, none over another? */
static inline int wdl_rows_have(const struct wdl_rows *rows, const struct wdl_element *el)
{
    if (!wdl_kernel_has(el))
        return rows->stride >= (int64_t) rows->bytes && rows->bytes % el->packed_bytes == 0;
    return rows->stride >= (int64_t) rows->bytes &&
           (((uintptr_t) rows->base | (uint64_t) rows->stride | rows->bytes) &
            (el->packed_bytes - 1)) == 0;
}

/* Is a layout at `addr`, all `bytes` of it, known to be such blocks? */
int wdl_rows_of(const struct wdl_host *host, const struct wdl_buf *buf, const void *addr,
                size_t bytes, struct wdl_rows *rows_out);
/* Blocks into as many others of their length, none over another. */
void wdl_rows_copy(const struct wdl_rows *to, const struct wdl_rows *from);
/* What the bytes [at, at + bytes) of the blocks, one behind the other, begin with: whole blocks, or
 * a part of one. */
struct wdl_rows wdl_rows_part(const struct wdl_rows *rows, size_t at, size_t bytes);
/* All those bytes into a row, which another process reads, and from there. */
void wdl_rows_pack(const struct wdl_rows *rows, size_t at, char *to, size_t bytes,
                   struct wdl_bypass *bypass);
void wdl_rows_unpack(const struct wdl_rows *rows, size_t at, char *from, size_t bytes);

#endif
