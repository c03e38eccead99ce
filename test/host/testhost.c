/* Part of Windlass. See COPYRIGHT in the top-level directory. The test host: memory, requests,
 * datatypes, the table. */
#include "host/testhost.h"
#include <stdlib.h>
#include <string.h>
#include "base/assert.h"

struct made_type {
    uint64_t magic;
    int64_t extent, size;
    int64_t nblocks;
    int32_t holds, ended;       /* it goes when it is ended and not held */
    struct test_block block[];
};

#define MADE_MAGIC 0x7e57da7a7e57da7au
enum { BLOCKS_MAX = 1 << 20 };

static const struct wdl_element elements[TEST_TYPE_COUNT] = {
    [TEST_I8] = {WDL_BASIC_I8, 0, {0}, TEST_I8, 1, 1},
    [TEST_U8] = {WDL_BASIC_U8, 0, {0}, TEST_U8, 1, 1},
    [TEST_I16] = {WDL_BASIC_I16, 0, {0}, TEST_I16, 2, 2},
    [TEST_U16] = {WDL_BASIC_U16, 0, {0}, TEST_U16, 2, 2},
    [TEST_I32] = {WDL_BASIC_I32, 0, {0}, TEST_I32, 4, 4},
    [TEST_U32] = {WDL_BASIC_U32, 0, {0}, TEST_U32, 4, 4},
    [TEST_I64] = {WDL_BASIC_I64, 0, {0}, TEST_I64, 8, 8},
    [TEST_U64] = {WDL_BASIC_U64, 0, {0}, TEST_U64, 8, 8},
    [TEST_F32] = {WDL_BASIC_F32, 0, {0}, TEST_F32, 4, 4},
    [TEST_F64] = {WDL_BASIC_F64, 0, {0}, TEST_F64, 8, 8},
    [TEST_LD] = {WDL_BASIC_WIDE, 0, {0}, TEST_LD, sizeof(long double), sizeof(long double)},
    [TEST_DOUBLE_INT] = {WDL_BASIC_WIDE, 0, {0}, TEST_DOUBLE_INT, 12,
                         sizeof(struct test_double_int)}
};

struct wdl_element test_element(enum test_type type)
{
    return elements[type];
}

enum { HEAD = 16 };             /* before each allocation: its size */

static void *host_alloc(void *ctx, size_t bytes)
{
    struct test_host *host = ctx;
    if (host->fail_after > 0 && --host->fail_after == 0) {
        host->fail_after = 1;
        return NULL;
    }
    char *memory = calloc(1, HEAD + bytes);
    if (!memory)
        return NULL;
    memcpy(memory, &bytes, sizeof(bytes));
    host->live++;
    host->allocations++;
    host->bytes += bytes;
    return memory + HEAD;
}

static void host_free(void *ctx, void *ptr)
{
    struct test_host *host = ctx;
    size_t bytes;
    if (!ptr)
        return;
    memcpy(&bytes, (char *) ptr - HEAD, sizeof(bytes));
    host->live--;
    host->bytes -= bytes;
    free((char *) ptr - HEAD);
}

static uint64_t host_now(void *ctx)
{
    return ((struct test_host *) ctx)->now_ns;
}

/* --- types --- */

static int is_predefined(wdl_type type)
{
    return type >= 1 && type < TEST_TYPE_COUNT;
}

struct view {                   /* a type, predefined or made */
    int64_t extent, size, nblocks;
    const struct test_block *block;
    struct test_block one;
};

static void view_of(wdl_type type, struct view *v)
{
    if (is_predefined(type)) {
        v->one = (struct test_block) { 0, elements[type].packed_bytes };
        v->extent = elements[type].extent;
        v->size = elements[type].packed_bytes;
        v->nblocks = 1;
        v->block = NULL;
        return;
    }
    const struct made_type *made = (const struct made_type *) (uintptr_t) type;
    wdl_assert(made->magic == MADE_MAGIC);
    v->extent = made->extent;
    v->size = made->size;
    v->nblocks = made->nblocks;
    v->block = made->block;
}

static const struct test_block *view_block(const struct view *v, int64_t i)
{
    return v->block ? &v->block[i] : &v->one;
}

typedef int (*piece_fn) (void *arg, char *at, size_t bytes);

/* Call fn for each piece of the stream [offset, offset + bytes) until it answers 0; returns the
 * bytes visited. */
static size_t walk(const void *addr, int64_t count, wdl_type type, size_t offset, size_t bytes,
                   piece_fn fn, void *arg)
{
    struct view v;
    size_t done = 0;
    view_of(type, &v);
    if (v.size == 0)
        return 0;
    int64_t e = (int64_t) (offset / (size_t) v.size);
    size_t skip = offset % (size_t) v.size;
    for (; e < count && done < bytes; e++) {
        for (int64_t i = 0; i < v.nblocks && done < bytes; i++) {
            const struct test_block *b = view_block(&v, i);
            if (skip >= (size_t) b->bytes) {
                skip -= (size_t) b->bytes;
                continue;
            }
            size_t n = (size_t) b->bytes - skip;
            if (n > bytes - done)
                n = bytes - done;
            char *at = (char *) (uintptr_t) addr + e * v.extent + b->offset + (int64_t) skip;
            skip = 0;
            if (!fn(arg, at, n))
                return done;
            done += n;
        }
    }
    return done;
}

static int copy_out(void *arg, char *at, size_t bytes)
{
    char **dst = arg;
    memcpy(*dst, at, bytes);
    *dst += bytes;
    return 1;
}

static int copy_in(void *arg, char *at, size_t bytes)
{
    const char **src = arg;
    memcpy(at, *src, bytes);
    *src += bytes;
    return 1;
}

static size_t host_pack(void *ctx, const void *addr, int64_t count, wdl_type type, size_t offset,
                        void *dst, size_t bytes)
{
    char *at = dst;
    (void) ctx;
    return walk(addr, count, type, offset, bytes, copy_out, &at);
}

static size_t host_unpack(void *ctx, void *addr, int64_t count, wdl_type type, size_t offset,
                          const void *src, size_t bytes)
{
    const char *at = src;
    (void) ctx;
    return walk(addr, count, type, offset, bytes, copy_in, &at);
}

struct collect {
    struct wdl_piece *pieces;
    int n, max;
};

static int collect_piece(void *arg, char *at, size_t bytes)
{
    struct collect *c = arg;
    if (c->n == c->max)
        return 0;
    c->pieces[c->n++] = (struct wdl_piece) { at, bytes };
    return 1;
}

static int host_pieces(void *ctx, const void *addr, int64_t count, wdl_type type, size_t offset,
                       size_t bytes, struct wdl_piece *pieces, int max)
{
    struct collect c = { pieces, 0, max };
    (void) ctx;
    size_t done = walk(addr, count, type, offset, bytes, collect_piece, &c);
    wdl_assert(done == bytes || c.n == max);    /* MPICH's engine bears no bytes behind the end */
    return c.n;
}

static int host_rows(void *ctx, const void *addr, int64_t count, wdl_type type,
                     struct wdl_rows *rows_out)
{
    enum { MAX = 4096 };
    struct wdl_piece piece[MAX];
    struct collect c = {piece, 0, MAX};
    (void) ctx;
    walk(addr, count, type, 0, SIZE_MAX, collect_piece, &c);
    if (c.n < 2 || c.n == MAX)
        return 0;
    *rows_out = (struct wdl_rows){piece[0].base, piece[1].base - piece[0].base, piece[0].bytes,
                                  (size_t) c.n};
    for (int i = 1; i < c.n; i++)
        if (piece[i].bytes != piece[0].bytes ||
            piece[i].base - piece[i - 1].base != rows_out->stride)
            return 0;
    return 1;
}

static size_t made_bytes(int64_t nblocks)
{
    return sizeof(struct made_type) + (size_t) nblocks * sizeof(struct test_block);
}

static size_t host_flat_bytes(void *ctx, wdl_type type)
{
    struct view v;
    (void) ctx;
    view_of(type, &v);
    return made_bytes(v.nblocks);
}

static int host_flatten(void *ctx, wdl_type type, void *dst, size_t bytes)
{
    struct view v;
    char *at = dst;
    (void) ctx;
    view_of(type, &v);
    struct made_type head = { MADE_MAGIC, v.extent, v.size, v.nblocks, 0, 0 };
    wdl_assert_cmp(bytes, ==, made_bytes(v.nblocks));
    memcpy(at, &head, sizeof(head));
    for (int64_t i = 0; i < v.nblocks; i++)
        memcpy(at + sizeof(head) + (size_t) i * sizeof(struct test_block), view_block(&v, i),
               sizeof(struct test_block));
    return WDL_OK;
}

static int host_unflatten(void *ctx, const void *src, size_t bytes, wdl_type *type_out)
{
    struct test_host *host = ctx;
    struct made_type head;
    int64_t size = 0;
    if (bytes < sizeof(head))
        return WDL_ERR_PROTO;
    memcpy(&head, src, sizeof(head));
    if (head.magic != MADE_MAGIC || head.holds || head.ended || head.nblocks < 1 ||
        head.nblocks > BLOCKS_MAX || bytes != made_bytes(head.nblocks))
        return WDL_ERR_PROTO;
    struct made_type *made = malloc(bytes);
    if (!made)
        return WDL_ERR_NOMEM;
    memcpy(made, src, bytes);
    for (int64_t i = 0; i < made->nblocks; i++) {
        if (made->block[i].bytes < 0 || __builtin_add_overflow(size, made->block[i].bytes, &size)) {
            free(made);
            return WDL_ERR_PROTO;
        }
    }
    if (size != made->size) {
        free(made);
        return WDL_ERR_PROTO;
    }
    host->live++;
    *type_out = (wdl_type) (uintptr_t) made;
    return WDL_OK;
}

static void host_type_free(void *ctx, wdl_type type)
{
    test_type_end(ctx, type);
}

static void host_type_hold(void *ctx, wdl_type type)
{
    if (!is_predefined(type))
        ((struct made_type *) (uintptr_t) type)->holds++;
    ((struct test_host *) ctx)->holds++;
}

static void made_go(struct test_host *host, struct made_type *made)
{
    if (!made->ended || made->holds > 0)
        return;
    made->magic = 0;
    host->live--;
    free(made);
}

static void host_type_drop(void *ctx, wdl_type type)
{
    struct test_host *host = ctx;
    struct view v;
    view_of(type, &v);          /* still alive */
    host->holds--;
    if (is_predefined(type))
        return;
    struct made_type *made = (struct made_type *) (uintptr_t) type;
    wdl_assert_cmp(made->holds, >, 0);
    made->holds--;
    made_go(host, made);
}

static int host_type_bounds(void *ctx, wdl_type type, int64_t count, int64_t *lo_out,
                            int64_t *hi_out, size_t *stream_bytes_out)
{
    struct view v;
    int64_t lo = INT64_MAX, hi = INT64_MIN, last, stream;
    (void) ctx;
    view_of(type, &v);
    *lo_out = *hi_out = 0;
    *stream_bytes_out = 0;
    if (count < 0)
        return WDL_ERR_PROTO;
    if (count == 0)
        return WDL_OK;
    for (int64_t i = 0; i < v.nblocks; i++) {
        const struct test_block *b = view_block(&v, i);
        int64_t end;
        if (__builtin_add_overflow(b->offset, b->bytes, &end))
            return WDL_ERR_PROTO;
        lo = b->offset < lo ? b->offset : lo;
        hi = end > hi ? end : hi;
    }
    if (__builtin_mul_overflow(count - 1, v.extent, &last) ||
        __builtin_mul_overflow(count, v.size, &stream) ||
        __builtin_add_overflow(last < 0 ? lo : hi, last, last < 0 ? &lo : &hi))
        return WDL_ERR_PROTO;
    *lo_out = lo;
    *hi_out = hi;
    *stream_bytes_out = (size_t) stream;
    return WDL_OK;
}

static wdl_type made_new(struct test_host *host, enum test_type element, int count)
{
    struct made_type *made = calloc(1, made_bytes(count));
    (void) element;
    wdl_assert(made);
    made->magic = MADE_MAGIC;
    made->nblocks = count;
    host->live++;
    return (wdl_type) (uintptr_t) made;
}

wdl_type test_type_indexed(struct test_host *host, enum test_type element, int count,
                           const int *blocks, const int *displs)
{
    wdl_type type = made_new(host, element, count);
    struct made_type *made = (struct made_type *) (uintptr_t) type;
    int64_t extent = elements[element].extent;
    /* types with a gap inside their element stay one element per block */
    wdl_assert(extent == (int64_t) elements[element].packed_bytes);
    for (int i = 0; i < count; i++) {
        made->block[i] = (struct test_block) { displs[i] * extent, blocks[i] * extent };
        made->size += made->block[i].bytes;
        if (made->block[i].offset + made->block[i].bytes > made->extent)
            made->extent = made->block[i].offset + made->block[i].bytes;
    }
    return type;
}

wdl_type test_type_vector(struct test_host *host, enum test_type element, int count, int block,
                          int stride)
{
    enum { MAX = 4096 };
    int blocks[MAX], displs[MAX];
    wdl_assert_cmp(count, <=, MAX);
    for (int i = 0; i < count; i++) {
        blocks[i] = block;
        displs[i] = i * stride;
    }
    return test_type_indexed(host, element, count, blocks, displs);
}

void test_type_end(struct test_host *host, wdl_type type)
{
    struct made_type *made = (struct made_type *) (uintptr_t) type;
    wdl_assert(made->magic == MADE_MAGIC);
    wdl_assert(!made->ended);
    made->ended = 1;
    made_go(host, made);
}

/* --- reductions --- */

static int host_element(void *ctx, uint32_t host_type, struct wdl_element *element_out)
{
    (void) ctx;
    if (!is_predefined(host_type))
        return 0;
    *element_out = elements[host_type];
    return 1;
}

static int host_op_valid(void *ctx, uint32_t host_type, enum wdl_rop op)
{
    (void) ctx;
    wdl_assert_cmp(op, <, WDL_ROP_COUNT);
    if (!is_predefined(host_type))
        return 0;
    if (op == WDL_ROP_REPLACE || op == WDL_ROP_NO_OP)
        return 1;
    if (host_type == TEST_DOUBLE_INT)
        return op == WDL_ROP_MINLOC || op == WDL_ROP_MAXLOC;
    if (op <= WDL_ROP_MAX)
        return 1;
    return host_type <= TEST_U64 && op <= WDL_ROP_BXOR;
}

/* Arithmetic wraps: it is done in an unsigned type W as wide as T at least. */
#define REDUCE_ARITH(T, W)                                                                     \
    case WDL_ROP_SUM: b = (T) ((W) a + (W) b); break;                                          \
    case WDL_ROP_PROD: b = (T) ((W) a * (W) b); break;                                         \
    case WDL_ROP_MIN: b = a < b ? a : b; break;                                                \
    case WDL_ROP_MAX: b = a > b ? a : b; break;                                                \
    case WDL_ROP_REPLACE: b = a; break;
#define REDUCE_BITS(T)                                                                         \
    case WDL_ROP_LAND: b = (T) (a && b); break;                                                \
    case WDL_ROP_LOR: b = (T) (a || b); break;                                                 \
    case WDL_ROP_LXOR: b = (T) (!a != !b); break;                                              \
    case WDL_ROP_BAND: b = (T) (a & b); break;                                                 \
    case WDL_ROP_BOR: b = (T) (a | b); break;                                                  \
    case WDL_ROP_BXOR: b = (T) (a ^ b); break;
#define REDUCE(T, CASES)                                                                       \
    for (int64_t i = 0; i < count; i++) {                                                      \
        T a, b;                                                                                \
        memcpy(&a, (const char *) in + (size_t) i * sizeof(T), sizeof(T));                     \
        memcpy(&b, (char *) inout + (size_t) i * sizeof(T), sizeof(T));                        \
        switch (op) {                                                                          \
            CASES                                                                              \
            default: break;                                                                    \
        }                                                                                      \
        memcpy((char *) inout + (size_t) i * sizeof(T), &b, sizeof(T));                        \
    }                                                                                          \
    return WDL_OK

static int reduce_pairs(enum wdl_rop op, const void *in, void *inout, int64_t count)
{
    const struct test_double_int *a = in;
    struct test_double_int *b = inout;
    for (int64_t i = 0; i < count; i++) {
        int better = op == WDL_ROP_MINLOC ? a[i].value < b[i].value : a[i].value > b[i].value;
        if (op == WDL_ROP_REPLACE || (op != WDL_ROP_NO_OP &&
            (better || (a[i].value == b[i].value && a[i].index < b[i].index)))) {
            b[i].value = a[i].value;
            b[i].index = a[i].index;
        }
    }
    return WDL_OK;
}

static int host_reduce(void *ctx, uint32_t host_type, enum wdl_rop op, const void *in, void *inout,
                       int64_t count)
{
    if (!host_op_valid(ctx, host_type, op))
        return WDL_ERR_OP;
    switch (host_type) {
        case TEST_I8:
            REDUCE(int8_t, REDUCE_ARITH(int8_t, unsigned) REDUCE_BITS(int8_t));
        case TEST_U8:
            REDUCE(uint8_t, REDUCE_ARITH(uint8_t, unsigned) REDUCE_BITS(uint8_t));
        case TEST_I16:
            REDUCE(int16_t, REDUCE_ARITH(int16_t, unsigned) REDUCE_BITS(int16_t));
        case TEST_U16:
            REDUCE(uint16_t, REDUCE_ARITH(uint16_t, unsigned) REDUCE_BITS(uint16_t));
        case TEST_I32:
            REDUCE(int32_t, REDUCE_ARITH(int32_t, uint32_t) REDUCE_BITS(int32_t));
        case TEST_U32:
            REDUCE(uint32_t, REDUCE_ARITH(uint32_t, uint32_t) REDUCE_BITS(uint32_t));
        case TEST_I64:
            REDUCE(int64_t, REDUCE_ARITH(int64_t, uint64_t) REDUCE_BITS(int64_t));
        case TEST_U64:
            REDUCE(uint64_t, REDUCE_ARITH(uint64_t, uint64_t) REDUCE_BITS(uint64_t));
        case TEST_F32:
            REDUCE(float, REDUCE_ARITH(float, float));
        case TEST_F64:
            REDUCE(double, REDUCE_ARITH(double, double));
        case TEST_LD:
            REDUCE(long double, REDUCE_ARITH(long double, long double));
        default:
            return reduce_pairs(op, in, inout, count);
    }
}

/* --- the rest --- */

static void host_request_complete(void *ctx, void *request, int status)
{
    struct test_host *host = ctx;
    struct test_request *r = request;
    wdl_assert(!r->done);
    r->done = 1;
    r->status = status;
    host->completed++;
    host->last_status = status;
}

static int host_address_of(void *ctx, int peer, const void **addr_out, size_t *bytes_out)
{
    struct test_host *host = ctx;
    *addr_out = host->address(host->address_ctx, peer, bytes_out);
    return *addr_out ? WDL_OK : WDL_ERR_PEER;
}

static void host_peer_lost(void *ctx, int peer)
{
    (void) peer;
    ((struct test_host *) ctx)->lost++;
}

static const struct wdl_host_ops host_ops = {.alloc = host_alloc,
                                             .free = host_free,
                                             .now_ns = host_now,
                                             .pack = host_pack,
                                             .unpack = host_unpack,
                                             .pieces = host_pieces,
                                             .rows = host_rows,
                                             .flat_bytes = host_flat_bytes,
                                             .flatten = host_flatten,
                                             .unflatten = host_unflatten,
                                             .type_free = host_type_free,
                                             .type_hold = host_type_hold,
                                             .type_drop = host_type_drop,
                                             .type_bounds = host_type_bounds,
                                             .reduce = host_reduce,
                                             .element = host_element,
                                             .op_valid = host_op_valid,
                                             .request_complete = host_request_complete,
                                             .address_of = host_address_of,
                                             .peer_lost = host_peer_lost};

void test_host_init(struct test_host *host)
{
    memset(host, 0, sizeof(*host));
    host->host.ops = &host_ops;
    host->host.ctx = host;
}
