/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Small questions of the environment.
 */
#include "wdl_adi.h"
#include "rma.h"
#include <stddef.h>
#include <unistd.h>

int MPID_Get_universe_size(int *universe_size)
{
    return MPIR_pmi_get_universe_size(universe_size);
}

int MPID_Get_processor_name(char *name, int namelen, int *resultlen)
{
    if (gethostname(name, namelen) != 0)
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                    MPI_ERR_OTHER, "**procnamefailed", 0);
    name[namelen - 1] = 0;      /* POSIX leaves a cut name open */
    if (resultlen)
        *resultlen = (int) strlen(name);
    return MPI_SUCCESS;
}

/* At a multiple of what mpi_minimum_memory_alignment says (MPI-4, 9.2). */
void *MPID_Alloc_mem(MPI_Aint size, MPIR_Info * info)
{
    size_t alignment = wdl_adi_info_alignment(info), bytes = (size_t) size + !size;
    if (alignment <= _Alignof(max_align_t))
        return MPL_malloc(bytes, MPL_MEM_USER);
    if (bytes > SIZE_MAX - alignment)
        return NULL;
    return MPL_aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1), MPL_MEM_USER);
}

int MPID_Free_mem(void *ptr)
{
    MPL_free(ptr);
    return MPI_SUCCESS;
}

/* Unsigned, so that crossing the middle of the address space is defined. */
MPI_Aint MPID_Aint_add(MPI_Aint base, MPI_Aint disp)
{
    return (MPI_Aint) ((uintptr_t) base + (uintptr_t) disp);
}

MPI_Aint MPID_Aint_diff(MPI_Aint addr1, MPI_Aint addr2)
{
    return (MPI_Aint) ((uintptr_t) addr1 - (uintptr_t) addr2);
}

int MPID_Op_commit_hook(MPIR_Op * op)
{
    (void) op;
    return MPI_SUCCESS;
}

int MPID_Op_free_hook(MPIR_Op * op)
{
    (void) op;
    return MPI_SUCCESS;
}
