/* Part of Windlass. See COPYRIGHT in the top-level directory. Blocks evenly apart (rows.h). */
#include <string.h>
#include "base/assert.h"
#include "base/copy.h"
#include "mpid/rma/rows.h"

/* With the length known a block is a load and a store; four at a time, since the loop takes longer
 * than those (512 of 8 bytes: 0.22 us, so 0.13). */
#define COPY_EACH(name, type)                                                              \
    static void name(char *to, int64_t to_stride, const char *from, int64_t stride,        \
                     int64_t n)                                                            \
    {                                                                                      \
        for (; n >= 4; n -= 4, to += 4 * to_stride, from += 4 * stride) {                  \
            type a, b, c, d;                                                               \
            memcpy(&a, from, sizeof(type));                                                \
            memcpy(&b, from + stride, sizeof(type));                                       \
            memcpy(&c, from + 2 * stride, sizeof(type));                                   \
            memcpy(&d, from + 3 * stride, sizeof(type));                                   \
            memcpy(to, &a, sizeof(type));                                                  \
            memcpy(to + to_stride, &b, sizeof(type));                                      \
            memcpy(to + 2 * to_stride, &c, sizeof(type));                                  \
            memcpy(to + 3 * to_stride, &d, sizeof(type));                                  \
        }                                                                                  \
        for (; n > 0; n--, to += to_stride, from += stride)                                \
            memcpy(to, from, sizeof(type));                                                \
    }

struct two {
    uint64_t word[2];
};
COPY_EACH(copy_4, uint32_t)
COPY_EACH(copy_8, uint64_t)
COPY_EACH(copy_16, struct two)

/* Without a call each (512 of 64 bytes: 1.39 us, so 0.87; of 80 bytes it would be slower). */
static void copy_few(const struct wdl_rows *to, const struct wdl_rows *from)
{
    for (int64_t i = 0; i < (int64_t) from->count; i++)
        wdl_copy_short(to->base + i * to->stride, from->base + i * from->stride, from->bytes);
}

void wdl_rows_copy(const struct wdl_rows *to, const struct wdl_rows *from)
{
    int64_t n = (int64_t) from->count;
    wdl_assert(to->bytes == from->bytes && to->count == from->count);
    switch (from->bytes) {
        case 4:
            copy_4(to->base, to->stride, from->base, from->stride, n);
            break;
        case 8:
            copy_8(to->base, to->stride, from->base, from->stride, n);
            break;
        case 16:
            copy_16(to->base, to->stride, from->base, from->stride, n);
            break;
        default:
            if (from->bytes <= WDL_COPY_LINE) {
                copy_few(to, from);
                break;
            }
            for (int64_t i = 0; i < n; i++)
                wdl_copy(to->base + i * to->stride, from->base + i * from->stride, from->bytes);
    }
}

struct wdl_rows wdl_rows_part(const struct wdl_rows *rows, size_t at, size_t bytes)
{
    size_t row = at / rows->bytes, inside = at % rows->bytes, left = rows->bytes - inside;
    char *base = rows->base + (int64_t) row * rows->stride + inside;
    wdl_assert(bytes > 0 && row < rows->count);
    if (inside > 0 || bytes < left)
        return (struct wdl_rows){base, rows->stride, bytes < left ? bytes : left, 1};
    return (struct wdl_rows){base, rows->stride, rows->bytes, bytes / rows->bytes};
}

/* Between the blocks and a row. */
static inline void pass(const struct wdl_rows *rows, size_t at, char *row, size_t bytes,
                        int unpacks)
{
    for (size_t done = 0; done < bytes;) {
        struct wdl_rows part = wdl_rows_part(rows, at + done, bytes - done),
            packed = wdl_rows_packed(row + done, &part);
        wdl_rows_copy(unpacks ? &part : &packed, unpacks ? &packed : &part);
        done += part.bytes * part.count;
    }
}

/* The row may be memory that another processor holds, which gets a long piece faster than many
 * short ones (base/copy.h, base/bypass.h). */
void wdl_rows_pack(const struct wdl_rows *rows, size_t at, char *to, size_t bytes,
                   struct wdl_bypass *bypass)
{
    struct wdl_copy_room room;
    if (bytes < WDL_COPY_LONG) {
        pass(rows, at, to, bytes, 0);
        return;
    }
    for (size_t done = 0, n; done < bytes; done += n) {
        if (rows->bytes >= WDL_COPY_LONG) {
            struct wdl_rows part = wdl_rows_part(rows, at + done, bytes - done);
            n = part.bytes;
            wdl_bypass_copy(bypass, to + done, part.base, n);
        } else {
            char *row = wdl_copy_room(&room, to + done);
            n = bytes - done < WDL_COPY_ROOM ? bytes - done : WDL_COPY_ROOM;
            pass(rows, at + done, row, n, 0);
            wdl_bypass_copy(bypass, to + done, row, n);
        }
    }
}

void wdl_rows_unpack(const struct wdl_rows *rows, size_t at, char *from, size_t bytes)
{
    pass(rows, at, from, bytes, 1);
}

int wdl_rows_of(const struct wdl_host *host, const struct wdl_buf *buf, const void *addr,
                size_t bytes, struct wdl_rows *rows_out)
{
    return !buf->contig && host->ops->rows &&
           host->ops->rows(host->ctx, addr, buf->count, buf->type, rows_out) &&
           rows_out->bytes * rows_out->count == bytes;
}
