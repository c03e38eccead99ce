/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The loops that combine elements, one per type and operator, each in two forms: with the
 * processor's atomic instructions, element by element, and plain, for memory nobody else is
 * updating. No state, no waiting.
 */
#ifndef WDL_MPID_RMA_KERNEL_H_INCLUDED
#define WDL_MPID_RMA_KERNEL_H_INCLUDED

#include <math.h>
#include "host/host.h"

/* Results as the loops make them: one NaN stands for all. */
static inline float wdl_one_nan_f32(float x)
{
    return isunordered(x, x) ? (float) NAN : x;
}

static inline double wdl_one_nan_f64(double x)
{
    return isunordered(x, x) ? (double) NAN : x;
}

struct wdl_kernel_call {
    const struct wdl_host *host;
    const struct wdl_element *element;
    enum wdl_rop op;
};

/* target[i] = target[i] op in[i] for n elements; out (may be NULL) gets the old values. target is
 * naturally aligned; in and out are packed, may be unaligned, and may be the same memory. */
typedef void (*wdl_kernel_fn) (const struct wdl_kernel_call * call, char *target, const char *in,
                               char *out, size_t n);

/* The same plainly for n elements that are so many bytes apart, without old values. */
typedef void (*wdl_kernel_rows_fn) (char *target, size_t stride, const char *in, size_t in_stride,
                                    size_t n);

struct wdl_kernel {
    wdl_kernel_fn atomic, plain;
    wdl_kernel_rows_fn rows;    /* NULL: there is none */
};

/* The loops for an element of 1, 2, 4 or 8 bytes (wdl_kernel_has); what only the host can compute
 * goes through its reduce function. in may be NULL for WDL_ROP_NO_OP. */
const struct wdl_kernel *wdl_kernel_find(const struct wdl_element *element, enum wdl_rop op);
/* The same for vectors no wider than these; and the widest of this processor. */
enum wdl_vectors { WDL_VECTORS_ANY, WDL_VECTORS_WIDE, WDL_VECTORS_WIDEST };
const struct wdl_kernel *wdl_kernel_of(const struct wdl_element *element, enum wdl_rop op,
                                       enum wdl_vectors vectors);
enum wdl_vectors wdl_kernel_vectors(void);
/* Its atomic loop alone. */
wdl_kernel_fn wdl_kernel_atomic(const struct wdl_element *element, enum wdl_rop op);
/* Its plain loop, if the basic type has one of its own for op; or NULL. */
wdl_kernel_fn wdl_kernel_typed(const struct wdl_element *element, enum wdl_rop op);
/* Is there an atomic instruction for elements of this kind, at addresses that are multiples of
 * their size? */
static inline int wdl_kernel_has(const struct wdl_element *element)
{
    const uint32_t widths = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8;
    return element->basic != WDL_BASIC_NONE && element->basic < WDL_BASIC_WIDE &&
           element->extent == element->packed_bytes && element->packed_bytes <= 8 &&
           (widths >> element->packed_bytes & 1);
}

/* If the element of `bytes` (1, 2, 4, 8) at target equals *compare it becomes *value; *result is
 * the old one. */
void wdl_kernel_compare_swap(size_t bytes, char *target, const void *compare, const void *value,
                             void *result);
/* The same plainly. */
void wdl_kernel_swap_plain(size_t bytes, char *target, const void *compare, const void *value,
                           void *result);

#endif
