/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The door above: what the core needs from its host. In libmpi the host is MPICH
 * (src/mpid/adi/host.c); in the standalone library it is a small test host (test/host/). Every
 * function gets the host's own `ctx`. None of them waits; none calls back into the core.
 */
#ifndef WDL_HOST_HOST_H_INCLUDED
#define WDL_HOST_HOST_H_INCLUDED

#include <stddef.h>
#include <stdint.h>
#include "base/status.h"

/* A datatype of the host: MPI_Datatype in libmpi. A predefined type's number equals its element's
 * host_type. */
typedef uint64_t wdl_type;

/* Basic (predefined) element types as the core knows them. What has an atomic instruction of its
 * own width is named; everything else is WIDE: handled through host->reduce under region locks. */
enum wdl_basic {
    WDL_BASIC_NONE,             /* not made of one predefined type */
    WDL_BASIC_I8, WDL_BASIC_U8, WDL_BASIC_I16, WDL_BASIC_U16, WDL_BASIC_I32, WDL_BASIC_U32,
    WDL_BASIC_I64, WDL_BASIC_U64, WDL_BASIC_F32, WDL_BASIC_F64,
    /* 1, 2, 4 or 8 bytes with operators only the host knows (logical, 2-byte float, ...) */
    WDL_BASIC_BITS,
    WDL_BASIC_WIDE,             /* other sizes, complex, pairs */
    WDL_BASIC_COUNT
};

/* Reduction operators of accumulate calls. */
enum wdl_rop {
    WDL_ROP_SUM, WDL_ROP_PROD, WDL_ROP_MIN, WDL_ROP_MAX, WDL_ROP_LAND, WDL_ROP_LOR, WDL_ROP_LXOR,
    WDL_ROP_BAND, WDL_ROP_BOR, WDL_ROP_BXOR, WDL_ROP_MINLOC, WDL_ROP_MAXLOC, WDL_ROP_REPLACE,
    WDL_ROP_NO_OP, WDL_ROP_COUNT
};

/* The predefined element a datatype is made of. It travels in accumulate packets. */
struct wdl_element {
    uint8_t basic;              /* enum wdl_basic */
    uint8_t head;               /* bytes in front of a gap in its middle; 0: there is none */
    uint8_t pad[2];
    uint32_t host_type;  /* the host's name of the predefined type, the same on every process */
    uint32_t packed_bytes;      /* bytes in a packed stream (pair types have no gap there) */
    uint32_t extent;            /* bytes from one element to the next in memory */
};

/* One piece of contiguous memory. */
struct wdl_piece {
    char *base;
    size_t bytes;
};
/* Copies such pieces between this process and another of its node (mpid/rma/win.h, copy). */
typedef int wdl_copy_fn(void *ctx, int rank, int to_rank, struct wdl_piece *local, int nlocal,
                        struct wdl_piece *remote, int nremote);

/* Blocks of one length, evenly apart. */
struct wdl_rows {
    char *base;                 /* of the first */
    int64_t stride;             /* from one to the next */
    size_t bytes, count;        /* of a block; blocks */
};

struct wdl_host_ops {
    void *(*alloc) (void *ctx, size_t bytes);   /* zeroed; NULL when memory is short */
    void (*free) (void *ctx, void *ptr);
    uint64_t (*now_ns) (void *ctx);
    /* Every processor that runs a process of this node passes a full memory barrier before this
     * returns. NULL: the host cannot. */
    void (*heavy_barrier) (void *ctx);
    /* The calling thread's name, where the program may have several; NULL or 0: it has one. */
    uint64_t (*thread) (void *ctx);

    /* Copy between a buffer of `count` elements of `type` at `addr` and its packed stream, `bytes`
     * from `offset` on. Returns the bytes done (less than asked only at the stream's end). */
    size_t (*pack) (void *ctx, const void *addr, int64_t count, wdl_type type, size_t offset,
                    void *dst, size_t bytes);
    size_t (*unpack) (void *ctx, void *addr, int64_t count, wdl_type type, size_t offset,
                      const void *src, size_t bytes);
    /* The contiguous pieces of `bytes` of the buffer's packed stream from byte `offset` on, all of
     * which there are; at most `max` of them. Returns how many. */
    int (*pieces) (void *ctx, const void *addr, int64_t count, wdl_type type, size_t offset,
                   size_t bytes, struct wdl_piece * pieces, int max);

    /* Is the buffer's stream known to be such blocks? Then fills *rows_out. NULL: of none. */
    int (*rows) (void *ctx, const void *addr, int64_t count, wdl_type type,
                 struct wdl_rows * rows_out);

    /* A type in a form that can be sent: flat_bytes() long. unflatten checks the bytes: ERR_PROTO
     * when they are no type. type_free ends a type got from unflatten. type_hold / type_drop: keep
     * a local type while operations use it; the last drop calls nothing of the user's. */
    size_t (*flat_bytes) (void *ctx, wdl_type type);
    int (*flatten) (void *ctx, wdl_type type, void *dst, size_t bytes);
    int (*unflatten) (void *ctx, const void *src, size_t bytes, wdl_type * type_out);
    void (*type_free) (void *ctx, wdl_type type);
    void (*type_hold) (void *ctx, wdl_type type);
    void (*type_drop) (void *ctx, wdl_type type);
    /* Bounds of `count` elements: [*lo_out, *hi_out) in bytes from the address, and the stream's
     * length. ERR_PROTO if the arithmetic overflows. */
    int (*type_bounds) (void *ctx, wdl_type type, int64_t count, int64_t * lo_out, int64_t * hi_out,
                        size_t * stream_bytes_out);

    /* inout[i] = in[i] op inout[i] for `count` elements of a predefined type laid out by extent. */
    int (*reduce) (void *ctx, uint32_t host_type, enum wdl_rop op, const void *in, void *inout,
                   int64_t count);
    /* Is it a predefined type? host_type may come from the wire: answer 0 for nonsense. If it is,
     * fills *element_out. */
    int (*element) (void *ctx, uint32_t host_type, struct wdl_element * element_out);
    /* Is op defined on such a type? */
    int (*op_valid) (void *ctx, uint32_t host_type, enum wdl_rop op);

    /* A request-based operation has finished. */
    void (*request_complete) (void *ctx, void *request, int status);
    /* The address a peer has published at start-up (netmod.h, address_of). */
    int (*address_of) (void *ctx, int peer, const void **addr_out, size_t * bytes_out);
    /* A peer is gone: the host decides (libmpi: abort naming the rank). */
    void (*peer_lost) (void *ctx, int peer);
};

struct wdl_host {
    const struct wdl_host_ops *ops;
    void *ctx;
};

#endif
