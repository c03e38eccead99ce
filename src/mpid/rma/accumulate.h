/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Accumulates on window memory, in pieces: which of a domain's ways (domain.h) each stretch takes.
 * The choice is a function of the element's type, its address and the stretch's length; all ways
 * respect each other, so every caller may choose for itself. No state, no waiting.
 */
#ifndef WDL_MPID_RMA_ACCUMULATE_H_INCLUDED
#define WDL_MPID_RMA_ACCUMULATE_H_INCLUDED

#include <stddef.h>
#include "base/copy.h"
#include "mpid/rma/domain.h"

#define WDL_BULK_MIN 8          /* elements: from here on they are worth closing their region, and
                                 * raising the mode for that (fewer: crowd.h) */

/* Several elements of one byte that are read or replaced are the bytes of something larger, a
 * structure given as MPI_BYTE, half of which nobody wants to see (MPI promises no more than whole
 * bytes). */
static inline int wdl_is_one_thing(const struct wdl_element *el, enum wdl_rop op, size_t n)
{
    return el->packed_bytes == 1 && n > 1 && (op == WDL_ROP_REPLACE || op == WDL_ROP_NO_OP);
}

/* Are n elements in a row updated in bulk? Many are, for that is faster, unless the user wants
 * fewer than that closed at a time (granularity, in bytes; 0: does not say). */
static inline int wdl_is_bulk(const struct wdl_element *el, enum wdl_rop op, size_t n,
                              uint64_t granularity)
{
    return (n >= WDL_BULK_MIN &&
            (granularity == 0 || granularity >= WDL_BULK_MIN * el->packed_bytes)) ||
        wdl_is_one_thing(el, op, n);
}

/* Is it where the host may compute with such elements? One is no more aligned than its length, nor
 * than any type of its is. */
static inline int wdl_is_laid_out(const struct wdl_element *el, const void *at)
{
    /* bits, for the compiler would divide */
    uintptr_t below = (el->extent & (~el->extent + 1)) - 1, most = _Alignof(max_align_t) - 1;
    return ((uintptr_t) at & below & most) == 0;
}

static inline int wdl_is_without_gaps(const struct wdl_element *el)
{
    return el->extent == el->packed_bytes;
}

/* Apply the packed elements `in` (NULL for WDL_ROP_NO_OP) to the memory `target[0..npieces)`, given
 * in stream order; the pieces' bytes sum to a multiple of el->packed_bytes. out (may be NULL)
 * receives the old values, packed. in and out may be unaligned; out may equal in. *done counts the
 * bytes that are done (of one long piece not from its begin on): 0 before the first call. WDL_OK,
 * or WDL_AGAIN: come back with the same arguments, *done included; from there it goes on. An error
 * of d->outside's: the piece at *done could not be reached, and nothing behind it has been done;
 * ERR_PROTO: what is at *done is no element, as a layout that another process tells of may have it.
 */
int wdl_accumulate(const struct wdl_domain *d, enum wdl_rop op, const struct wdl_element *el,
                   const struct wdl_piece *target, int npieces, const void *in, void *out,
                   size_t *done);

/* The same without old values for blocks evenly apart (wdl_rows_have), in memory that is mapped
 * here, their operands in as many blocks as long. */
int wdl_accumulate_rows(const struct wdl_domain *d, enum wdl_rop op, const struct wdl_element *el,
                        const struct wdl_rows *target, const struct wdl_rows *in, size_t *done);

/* Are these n elements as the host has them in arrays, `in` and `out` apart? (in: not for
 * WDL_ROP_NO_OP; out: may be NULL.) */
static inline int wdl_are_arrays(const struct wdl_element *el, enum wdl_rop op, const void *target,
                                 const void *in, const void *out, size_t n)
{
    int reads = op != WDL_ROP_NO_OP;
    return wdl_is_laid_out(el, target) && (!reads || wdl_is_laid_out(el, in)) &&
           (!out || (wdl_is_laid_out(el, out) &&
                     (!reads || wdl_are_apart(out, in, n * el->extent))));
}
/* Update such arrays, by the host, and nothing else. */
void wdl_array_update(const struct wdl_host *host, enum wdl_rop op, const struct wdl_element *el,
                      char *target, const void *in, void *out, size_t n);
/* The same as wdl_accumulate of such arrays, of elements that no instruction updates, in memory
 * that is mapped here. *done counts the bytes without those in gaps. */
int wdl_accumulate_array(const struct wdl_domain *d, enum wdl_rop op, const struct wdl_element *el,
                         char *target, const char *in, char *out, size_t n, size_t *done);

/* If the element at target equals *compare it becomes *value; *result is the old value. WDL_OK, or
 * WDL_AGAIN: nothing has changed. */
int wdl_compare_swap(const struct wdl_domain *d, const struct wdl_element *el, void *target,
                     const void *compare, const void *value, void *result);

#endif
