/* Part of Windlass. See COPYRIGHT in the top-level directory. MPI's operators in our words. */
#ifndef WDL_ADI_OP_H_INCLUDED
#define WDL_ADI_OP_H_INCLUDED

#include "wdl_adi.h"
#include "mpid/rma/kernel.h"

/* Has MPICH, too, take our functions on floating-point types; before the first operation. */
void wdl_adi_op_init(void);
/* inout = left op inout by a plain loop, wherever the two lie. */
void wdl_adi_op_loop(const struct wdl_element *element, wdl_kernel_fn kernel, const char *left,
                     char *inout, size_t count);
/* Does an operator have that type, by MPICH? */
int wdl_adi_op_valid(enum wdl_rop rop, MPI_Datatype type);
/* Where it does: host->reduce, wherever the two lie. */
int wdl_adi_op_reduce(void *ctx, uint32_t host_type, enum wdl_rop rop, const void *in, void *inout,
                      int64_t count);

/* The operator of a predefined handle, or ROP_COUNT. The last byte tells them apart. */
static inline enum wdl_rop wdl_adi_rop(MPI_Op op)
{
    static const uint8_t rops[16] = {
        /* one more than the operator, 0: none */
        [MPI_SUM & 15] = 1 + WDL_ROP_SUM,         [MPI_PROD & 15] = 1 + WDL_ROP_PROD,
        [MPI_MIN & 15] = 1 + WDL_ROP_MIN,         [MPI_MAX & 15] = 1 + WDL_ROP_MAX,
        [MPI_LAND & 15] = 1 + WDL_ROP_LAND,       [MPI_LOR & 15] = 1 + WDL_ROP_LOR,
        [MPI_LXOR & 15] = 1 + WDL_ROP_LXOR,       [MPI_BAND & 15] = 1 + WDL_ROP_BAND,
        [MPI_BOR & 15] = 1 + WDL_ROP_BOR,         [MPI_BXOR & 15] = 1 + WDL_ROP_BXOR,
        [MPI_MINLOC & 15] = 1 + WDL_ROP_MINLOC,   [MPI_MAXLOC & 15] = 1 + WDL_ROP_MAXLOC,
        [MPI_REPLACE & 15] = 1 + WDL_ROP_REPLACE, [MPI_NO_OP & 15] = 1 + WDL_ROP_NO_OP};
    return (op & ~15) == (MPI_SUM & ~15) && rops[op & 15] ? rops[op & 15] - 1 : WDL_ROP_COUNT;
}

#endif
