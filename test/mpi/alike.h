/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Memory that begins at the same address on all ranks, as SINGLE calls of gasnet_coll.h name it:
 * "the addresses agree across all nodes".
 */
#ifndef WDL_TEST_MPI_ALIKE_H_INCLUDED
#define WDL_TEST_MPI_ALIKE_H_INCLUDED

#include <sys/mman.h>
#include "testing.h"

/* Collective. Zeroed; given back by munmap. There must be a place that is free everywhere. */
static inline char *t_alike(size_t bytes)
{
    for (uintptr_t hint = (uintptr_t) 0x200000000000; hint < (uintptr_t) 0x280000000000;
         hint += (uintptr_t) 1 << 40) {
        char *place = (char *) hint;
        char *at = mmap(place, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        int fits = at == place, all = 0;
        MPI_Allreduce(&fits, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (all)
            return place;
        if (at != MAP_FAILED)
            munmap(at, bytes);
    }
    t_fault("no place that is free everywhere");
    MPI_Abort(MPI_COMM_WORLD, 1);
    return NULL;
}

#endif
