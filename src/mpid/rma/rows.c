/* Part of Windlass. See COPYRIGHT in the top-level directory. Blocks evenly apart (rows.h). */
#include <string.h>
#include "base/assert.h"
#include "mpid/rma/rows.h"

/* With the length known a block is a load and a store. */
#define COPY(length)                                                                             \
    for (int64_t i = 0; i < n; i++)                                                              \
        memcpy(to->base + i * to->stride, from->base + i * from->stride, (length))

void wdl_rows_copy(const struct wdl_rows *to, const struct wdl_rows *from)
{
    int64_t n = (int64_t) from->count;
    wdl_assert(to->bytes == from->bytes && to->count == from->count);
    switch (from->bytes) {
        case 4:
            COPY(4);
            break;
        case 8:
            COPY(8);
            break;
        case 16:
            COPY(16);
            break;
        default:
            COPY(from->bytes);
    }
}

int wdl_rows_of(const struct wdl_host *host, const struct wdl_buf *buf, const void *addr,
                size_t bytes, struct wdl_rows *rows_out)
{
    return !buf->contig && host->ops->rows &&
           host->ops->rows(host->ctx, addr, buf->count, buf->type, rows_out) &&
           rows_out->bytes * rows_out->count == bytes;
}
