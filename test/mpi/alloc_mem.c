/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * MPI_Alloc_mem gives memory at multiples of mpi_minimum_memory_alignment (MPI-4, 9.2), whatever
 * its size; values that are none are ignored, and more than there is is an error.
 */
#include "testing.h"

static void aligned(const char *value, uintptr_t alignment, MPI_Aint bytes)
{
    MPI_Info info;
    char *memory = NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", value);
    MPI_Alloc_mem(bytes, info, &memory);
    t_check(memory && (uintptr_t) memory % alignment == 0, "%ld bytes at multiples of %s: %p",
            (long) bytes, value, (void *) memory);
    if (memory)
        memset(memory, 1, (size_t) bytes);
    MPI_Free_mem(memory);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    static const char *const good[] = {"1", "16", "32", "64", "4096", "8192", "1048576"};
    static const char *const odd[] = {"0", "24", "-64", "64k", "much", "99999999999999999999"};
    MPI_Info info;
    void *memory;
    t_begin(&argc, &argv);
    for (int i = 0; i < (int) (sizeof good / sizeof good[0]); i++)
        for (MPI_Aint bytes = 1; bytes < 100000; bytes = bytes * 7 + 3)
            aligned(good[i], (uintptr_t) atol(good[i]), bytes);
    for (int i = 0; i < (int) (sizeof odd / sizeof odd[0]); i++)
        aligned(odd[i], 1, 100);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "4096");
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (MPI_Aint much = PTRDIFF_MAX; much > PTRDIFF_MAX - 9000; much -= 4000) {
        int class = t_class(MPI_Alloc_mem(much, info, &memory));
        t_check(class == MPI_ERR_NO_MEM, "%ld bytes: class %d", (long) much, class);
    }
    MPI_Info_free(&info);
    return t_end();
}
