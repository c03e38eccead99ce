/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Atomic updates. The first part is a table of loops, one per type and operator, made by macros so that each is compiled
 * for its own type; the second the region locks for everything that has no atomic instruction.
 */
#include "mpid/rma/accumulate.h"
#include <string.h>
#include "base/assert.h"

enum { LOCK_TRIES = 1000, WIDE_BYTES_MAX = 64 };

/* One update of one aligned element: in and out are packed and may be unaligned. */
typedef void (*element_fn) (const struct wdl_host * host, const struct wdl_element * el,
                            enum wdl_rop op, char *target, const char *in, char *out);

/* old = *target; *target = expression of (old, in); out = old. A compare-exchange loop works on the bits. */
#define CAS_LOOP(name, type, bits, expression)                                                 \
static void name(const struct wdl_host *host, const struct wdl_element *el, enum wdl_rop rop,  \
                 char *target, const char *in_bytes, char *out)                                \
{                                                                                              \
    type old, in = 0, new;                                                                     \
    bits old_bits, new_bits, *at = (bits *) (void *) target;                                   \
    (void) host;                                                                               \
    (void) el;                                                                                 \
    (void) rop;                                                                                \
    if (in_bytes)                                                                              \
        memcpy(&in, in_bytes, sizeof(in));                                                     \
    old_bits = __atomic_load_n(at, __ATOMIC_SEQ_CST);                                          \
    do {                                                                                       \
        memcpy(&old, &old_bits, sizeof(old));                                                  \
        new = (type) (expression);                                                             \
        memcpy(&new_bits, &new, sizeof(new));                                                  \
    } while (!__atomic_compare_exchange_n(at, &old_bits, new_bits, 0, __ATOMIC_SEQ_CST,        \
                                          __ATOMIC_SEQ_CST));                                  \
    if (out)                                                                                   \
        memcpy(out, &old_bits, sizeof(old_bits));                                              \
}

/* The processor has an instruction for it. */
#define FETCH_OP(name, bits, builtin)                                                          \
static void name(const struct wdl_host *host, const struct wdl_element *el, enum wdl_rop rop,  \
                 char *target, const char *in_bytes, char *out)                                \
{                                                                                              \
    bits in, old;                                                                              \
    (void) host;                                                                               \
    (void) el;                                                                                 \
    (void) rop;                                                                                \
    memcpy(&in, in_bytes, sizeof(in));                                                         \
    old = builtin((bits *) (void *) target, in, __ATOMIC_SEQ_CST);                             \
    if (out)                                                                                   \
        memcpy(out, &old, sizeof(old));                                                        \
}

/* Reading is an update that changes nothing. */
#define LOAD_OP(name, bits)                                                                    \
static void name(const struct wdl_host *host, const struct wdl_element *el, enum wdl_rop rop,  \
                 char *target, const char *in_bytes, char *out)                                \
{                                                                                              \
    bits old = __atomic_load_n((bits *) (void *) target, __ATOMIC_SEQ_CST);                    \
    (void) host;                                                                               \
    (void) el;                                                                                 \
    (void) rop;                                                                                \
    (void) in_bytes;                                                                           \
    if (out)                                                                                   \
        memcpy(out, &old, sizeof(old));                                                        \
}

/* An operator only the host knows, on bits of this width. */
#define HOST_OP(name, bits)                                                                    \
static void name(const struct wdl_host *host, const struct wdl_element *el, enum wdl_rop rop,  \
                 char *target, const char *in_bytes, char *out)                                \
{                                                                                              \
    bits in, old, new, *at = (bits *) (void *) target;                                         \
    memcpy(&in, in_bytes, sizeof(in));                                                         \
    old = __atomic_load_n(at, __ATOMIC_SEQ_CST);                                               \
    do {                                                                                       \
        new = old;                                                                             \
        host->ops->reduce(host->ctx, el->host_type, rop, &in, &new, 1);                        \
    } while (!__atomic_compare_exchange_n(at, &old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); \
    if (out)                                                                                   \
        memcpy(out, &old, sizeof(old));                                                        \
}

/* Integers wrap around in their unsigned form, so that no sum is undefined. */
#define INTEGER_OPS(suffix, type, bits)                                                        \
    FETCH_OP(sum_##suffix, bits, __atomic_fetch_add)                                           \
    FETCH_OP(band_##suffix, bits, __atomic_fetch_and)                                          \
    FETCH_OP(bor_##suffix, bits, __atomic_fetch_or)                                            \
    FETCH_OP(bxor_##suffix, bits, __atomic_fetch_xor)                                          \
    CAS_LOOP(prod_##suffix, type, bits, (bits) (1ull * (bits) old * (bits) in))                \
    CAS_LOOP(min_##suffix, type, bits, in < old ? in : old)                                    \
    CAS_LOOP(max_##suffix, type, bits, in > old ? in : old)                                    \
    CAS_LOOP(land_##suffix, type, bits, old && in)                                             \
    CAS_LOOP(lor_##suffix, type, bits, old || in)                                              \
    CAS_LOOP(lxor_##suffix, type, bits, !old != !in)
#define FLOAT_OPS(suffix, type, bits)                                                          \
    CAS_LOOP(sum_##suffix, type, bits, old + in)                                               \
    CAS_LOOP(prod_##suffix, type, bits, old * in)                                              \
    CAS_LOOP(min_##suffix, type, bits, in < old ? in : old)                                    \
    CAS_LOOP(max_##suffix, type, bits, in > old ? in : old)
#define WIDTH_OPS(suffix, bits)                                                                \
    FETCH_OP(swap_##suffix, bits, __atomic_exchange_n)                                         \
    LOAD_OP(load_##suffix, bits)                                                               \
    HOST_OP(host_##suffix, bits)

INTEGER_OPS(i8, int8_t, uint8_t)
INTEGER_OPS(u8, uint8_t, uint8_t)
INTEGER_OPS(i16, int16_t, uint16_t)
INTEGER_OPS(u16, uint16_t, uint16_t)
INTEGER_OPS(i32, int32_t, uint32_t)
INTEGER_OPS(u32, uint32_t, uint32_t)
INTEGER_OPS(i64, int64_t, uint64_t)
INTEGER_OPS(u64, uint64_t, uint64_t)
FLOAT_OPS(f32, float, uint32_t)
FLOAT_OPS(f64, double, uint64_t)
WIDTH_OPS(8, uint8_t)
WIDTH_OPS(16, uint16_t)
WIDTH_OPS(32, uint32_t)
WIDTH_OPS(64, uint64_t)

#define INTEGER_ROW(s)                                                                         \
    {[WDL_ROP_SUM] = sum_##s, [WDL_ROP_PROD] = prod_##s, [WDL_ROP_MIN] = min_##s,              \
     [WDL_ROP_MAX] = max_##s, [WDL_ROP_LAND] = land_##s, [WDL_ROP_LOR] = lor_##s,              \
     [WDL_ROP_LXOR] = lxor_##s, [WDL_ROP_BAND] = band_##s, [WDL_ROP_BOR] = bor_##s,            \
     [WDL_ROP_BXOR] = bxor_##s}
#define FLOAT_ROW(s)                                                                           \
    {[WDL_ROP_SUM] = sum_##s, [WDL_ROP_PROD] = prod_##s, [WDL_ROP_MIN] = min_##s,              \
     [WDL_ROP_MAX] = max_##s}

static const element_fn typed[WDL_BASIC_COUNT][WDL_ROP_COUNT] = {
    [WDL_BASIC_I8] = INTEGER_ROW(i8),
    [WDL_BASIC_U8] = INTEGER_ROW(u8),
    [WDL_BASIC_I16] = INTEGER_ROW(i16),
    [WDL_BASIC_U16] = INTEGER_ROW(u16),
    [WDL_BASIC_I32] = INTEGER_ROW(i32),
    [WDL_BASIC_U32] = INTEGER_ROW(u32),
    [WDL_BASIC_I64] = INTEGER_ROW(i64),
    [WDL_BASIC_U64] = INTEGER_ROW(u64),
    [WDL_BASIC_F32] = FLOAT_ROW(f32),
    [WDL_BASIC_F64] = FLOAT_ROW(f64),
};

/* by log2 of the width: exchange, load, the host's operator */
static const element_fn by_width[4][3] = {
    {swap_8, load_8, host_8},
    {swap_16, load_16, host_16},
    {swap_32, load_32, host_32},
    {swap_64, load_64, host_64},
};

static int width_index(size_t bytes)
{
    return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : -1;
}

static element_fn element_op(const struct wdl_element *el, enum wdl_rop op)
{
    int width = width_index(el->packed_bytes);
    if (op == WDL_ROP_REPLACE)
        return by_width[width][0];
    if (op == WDL_ROP_NO_OP)
        return by_width[width][1];
    return typed[el->basic][op] ? typed[el->basic][op] : by_width[width][2];
}

/* Domain 1 or 2 for this address: the same answer in every process, since mappings are page-aligned. */
static int has_instruction(const struct wdl_element *el, const void *target)
{
    return el->basic != WDL_BASIC_NONE && el->basic != WDL_BASIC_WIDE &&
        width_index(el->packed_bytes) >= 0 && el->extent == el->packed_bytes &&
        ((uintptr_t) target & (el->packed_bytes - 1)) == 0;
}

/* --- region locks --- */

/* Stripes are 64 bytes of address within a page, so that every mapping of the memory agrees. */
static uint64_t stripes_of(const char *from, size_t bytes)
{
    uintptr_t first = (uintptr_t) from >> 6, last = ((uintptr_t) from + bytes - 1) >> 6;
    uint64_t set = 0;
    if (last - first >= WDL_WIN_STRIPES - 1)
        return ~(uint64_t) 0;
    for (uintptr_t i = first; i <= last; i++)
        set |= (uint64_t) 1 << (i % WDL_WIN_STRIPES);
    return set;
}

wdl_static_assert(WDL_WIN_STRIPES == 64);       /* one bit each in a uint64_t, and 64 * 64 = 4096 = a page */

static void stripes_unlock(struct wdl_win_control *control, uint64_t set)
{
    for (int i = 0; i < WDL_WIN_STRIPES; i++)
        if (set >> i & 1)
            __atomic_store_n(&control->stripe[i], 0, __ATOMIC_RELEASE); /* pairs with the exchange in stripe_try */
}

static int stripe_try(uint32_t *stripe)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (__atomic_load_n(stripe, __ATOMIC_RELAXED) == 0 &&
            __atomic_exchange_n(stripe, 1, __ATOMIC_ACQUIRE) == 0)      /* pairs with the store in stripes_unlock */
            return 1;
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
    return 0;
}

/* All of them, in ascending order, or none. */
static int stripes_lock(struct wdl_win_control *control, uint64_t set)
{
    uint64_t held = 0;
    for (int i = 0; i < WDL_WIN_STRIPES; i++) {
        if (!(set >> i & 1))
            continue;
        if (!stripe_try(&control->stripe[i])) {
            stripes_unlock(control, held);
            return 0;
        }
        held |= (uint64_t) 1 << i;
    }
    return 1;
}

/* --- one element under region locks: gathered from its pieces, reduced, scattered --- */

struct cursor {                 /* a place in the pieces */
    const struct wdl_piece *piece;
    size_t used;                /* bytes of it that are behind us */
};

/* Copy one packed element between the pieces and `packed`, and advance; `image` receives or gives the element laid out as
 * in memory, where the gaps between its pieces are. */
static void element_gather(struct cursor *c, const struct wdl_element *el, char *packed, char *image)
{
    char *base = NULL;
    for (size_t done = 0; done < el->packed_bytes;) {
        size_t n = c->piece->bytes - c->used;
        char *at = c->piece->base + c->used;
        if (n > el->packed_bytes - done)
            n = el->packed_bytes - done;
        if (!base)
            base = at;
        memcpy(packed + done, at, n);
        memcpy(image + (at - base), at, n);
        done += n;
        c->used += n;
        if (c->used == c->piece->bytes) {
            c->piece++;
            c->used = 0;
        }
    }
}

static void element_scatter(struct cursor *c, const struct wdl_element *el, const char *image)
{
    char *base = NULL;
    for (size_t done = 0; done < el->packed_bytes;) {
        size_t n = c->piece->bytes - c->used;
        char *at = c->piece->base + c->used;
        if (n > el->packed_bytes - done)
            n = el->packed_bytes - done;
        if (!base)
            base = at;
        memcpy(at, image + (at - base), n);
        done += n;
        c->used += n;
        if (c->used == c->piece->bytes) {
            c->piece++;
            c->used = 0;
        }
    }
}

/* Lay a packed element out like the one at the cursor. */
static void element_spread(struct cursor c, const struct wdl_element *el, const char *packed, char *image)
{
    char *base = NULL;
    for (size_t done = 0; done < el->packed_bytes;) {
        size_t n = c.piece->bytes - c.used;
        char *at = c.piece->base + c.used;
        if (n > el->packed_bytes - done)
            n = el->packed_bytes - done;
        if (!base)
            base = at;
        memcpy(image + (at - base), packed + done, n);
        done += n;
        c.used += n;
        if (c.used == c.piece->bytes) {
            c.piece++;
            c.used = 0;
        }
    }
}

static void element_locked(const struct wdl_host *host, const struct wdl_element *el, enum wdl_rop op,
                           struct cursor *c, const char *in, char *out)
{
    _Alignas(16) char old[WIDE_BYTES_MAX], image[WIDE_BYTES_MAX] = { 0 }, operand[WIDE_BYTES_MAX] = { 0 };
    struct cursor start = *c;
    if (in)
        element_spread(start, el, in, operand);
    element_gather(c, el, old, image);
    if (op == WDL_ROP_REPLACE) {
        element_scatter(&start, el, operand);
    } else if (op != WDL_ROP_NO_OP) {
        host->ops->reduce(host->ctx, el->host_type, op, operand, image, 1);
        element_scatter(&start, el, image);
    }
    if (out)
        memcpy(out, old, el->packed_bytes);
}

static int accumulate_locked(const struct wdl_host *host, struct wdl_win_control *control,
                             enum wdl_rop op, const struct wdl_element *el,
                             const struct wdl_piece *target, int npieces, const char *in, char *out)
{
    struct cursor c = { target, 0 };
    uint64_t set = 0;
    size_t bytes = 0;
    for (int i = 0; i < npieces; i++) {
        set |= stripes_of(target[i].base, target[i].bytes);
        bytes += target[i].bytes;
    }
    if (!stripes_lock(control, set))
        return WDL_AGAIN;
    for (size_t done = 0; done + el->packed_bytes <= bytes; done += el->packed_bytes)
        element_locked(host, el, op, &c, in ? in + done : NULL, out ? out + done : NULL);
    stripes_unlock(control, set);
    return WDL_OK;
}

/* Every piece starts at an address, and holds whole elements, that the processor can update. */
static int all_have_instructions(const struct wdl_element *el, const struct wdl_piece *target, int npieces)
{
    for (int i = 0; i < npieces; i++)
        if (!has_instruction(el, target[i].base) || target[i].bytes % el->packed_bytes)
            return 0;
    return 1;
}

int wdl_accumulate(const struct wdl_host *host, struct wdl_win_control *control, enum wdl_rop op,
                   const struct wdl_element *el, const struct wdl_piece *target, int npieces,
                   const void *in, void *out)
{
    const char *from = in;
    char *to = out;
    wdl_assert_cmp(el->extent, <=, WIDE_BYTES_MAX);
    wdl_assert(in || op == WDL_ROP_NO_OP);
    if (!all_have_instructions(el, target, npieces))
        return accumulate_locked(host, control, op, el, target, npieces, in, out);
    element_fn fn = element_op(el, op);
    for (int i = 0; i < npieces; i++) {
        for (size_t at = 0; at < target[i].bytes; at += el->packed_bytes) {
            fn(host, el, op, target[i].base + at, from, to);
            if (from)
                from += el->packed_bytes;
            if (to)
                to += el->packed_bytes;
        }
    }
    return WDL_OK;
}

/* --- compare and swap --- */

#define COMPARE_SWAP(name, bits)                                                               \
static void name(char *target, const void *compare, const void *value, void *result)           \
{                                                                                              \
    bits expected, wanted;                                                                     \
    memcpy(&expected, compare, sizeof(expected));                                              \
    memcpy(&wanted, value, sizeof(wanted));                                                    \
    __atomic_compare_exchange_n((bits *) (void *) target, &expected, wanted, 0, __ATOMIC_SEQ_CST, \
                                __ATOMIC_SEQ_CST);                                             \
    memcpy(result, &expected, sizeof(expected));                                               \
}
COMPARE_SWAP(compare_swap_8, uint8_t)
COMPARE_SWAP(compare_swap_16, uint16_t)
COMPARE_SWAP(compare_swap_32, uint32_t)
COMPARE_SWAP(compare_swap_64, uint64_t)

int wdl_compare_swap(const struct wdl_host *host, struct wdl_win_control *control,
                     const struct wdl_element *el, void *target, const void *compare,
                     const void *value, void *result)
{
    static void (*const swap[4]) (char *, const void *, const void *, void *) = {
        compare_swap_8, compare_swap_16, compare_swap_32, compare_swap_64
    };
    (void) host;
    if (has_instruction(el, target)) {
        swap[width_index(el->packed_bytes)] (target, compare, value, result);
        return WDL_OK;
    }
    uint64_t set = stripes_of(target, el->packed_bytes);
    if (!stripes_lock(control, set))
        return WDL_AGAIN;
    int equal = memcmp(target, compare, el->packed_bytes) == 0;
    memcpy(result, target, el->packed_bytes);
    if (equal)
        memcpy(target, value, el->packed_bytes);
    stripes_unlock(control, set);
    return WDL_OK;
}
