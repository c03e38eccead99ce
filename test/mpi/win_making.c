/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * How windows may be made, at the edges: units of displacements that no int holds; aligned memory
 * of ranks that want none; alignment that takes address space, but no memory.
 */
#define _GNU_SOURCE
#include "testing.h"
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* The next rank's window has so many bytes and this unit: what begins in its last unit is put and
 * found, and what would begin behind that is outside. */
static void use(MPI_Win win, MPI_Comm comm, char *base, const MPI_Aint *bytes, const MPI_Aint *unit,
                const char *what)
{
    int rank, size, value, *flag = NULL, there = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Aint last = (bytes[to] - 1) / unit[to], own = (bytes[rank] - 1) / unit[rank] * unit[rank];
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &flag, &there);
    t_check(there && *flag == (unit[rank] > INT_MAX ? INT_MAX : unit[rank]), "%s: attribute %d",
            what, there ? *flag : -1);
    for (int way = 0; way < 3; way++) {
        value = 1000 * (way + 1) + rank;
        MPI_Barrier(comm);
        if (way == 1)
            MPI_Win_fence(0, win);
        else
            MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
        t_expect(MPI_SUCCESS, MPI_Put(&value, 1, MPI_INT, to, last, 1, MPI_INT, win));
        t_expect(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_INT, to, last + 1, 1, MPI_INT, win));
        if (way == 1)
            MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        else
            MPI_Win_unlock(to, win);
        MPI_Barrier(comm);
        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
        memcpy(&value, base + own, sizeof value);
        MPI_Win_unlock(rank, win);
        t_check(value == 1000 * (way + 1) + from, "%s: %d instead of %d", what, value,
                1000 * (way + 1) + from);
    }
}

/* Memory that is there for the asking, as long as nobody touches it. */
static char *vast(MPI_Aint bytes)
{
    void *at = mmap(NULL, (size_t) bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    t_check(at != MAP_FAILED, "no %lld bytes of address space", (long long) bytes);
    return at == MAP_FAILED ? NULL : at;
}

/* Of all ranks the same, or each its own. */
static void units(MPI_Comm comm, int differ, int shared)
{
    const MPI_Aint large = (MPI_Aint) 1 << 32;
    MPI_Aint *unit, *bytes;
    MPI_Win win;
    char *base;
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    unit = t_alloc(sizeof *unit * (size_t) size);
    bytes = t_alloc(sizeof *bytes * (size_t) size);
    for (int r = 0; r < size; r++) {
        unit[r] = differ && r % 2 ? 4 : large + differ * r;
        bytes[r] = differ && r % 2 ? 400 : unit[r] + 8;
    }
    base = vast(bytes[rank]);
    MPI_Win_create_c(base, bytes[rank], unit[rank], MPI_INFO_NULL, comm, &win);
    use(win, comm, base, bytes, unit, "create");
    MPI_Win_free(&win);
    munmap(base, (size_t) bytes[rank]);
    for (int r = 0; r < size; r++)
        bytes[r] = 64;
    MPI_Win_allocate_c(bytes[rank], unit[rank], MPI_INFO_NULL, comm, &base, &win);
    use(win, comm, base, bytes, unit, "allocate");
    MPI_Win_free(&win);
    if (shared) {
        MPI_Win_allocate_shared_c(bytes[rank], unit[rank], MPI_INFO_NULL, comm, &base, &win);
        use(win, comm, base, bytes, unit, "allocate_shared");
        for (int r = 0; r < size; r++) {
            MPI_Aint got_bytes, got_unit;
            void *at;
            /* MPICH keeps it in an int */
            MPI_Win_shared_query_c(win, r, &got_bytes, &got_unit, &at);
            t_check(got_unit == (unit[r] > INT_MAX ? INT_MAX : unit[r]), "query: unit %lld of %d",
                    (long long) got_unit, r);
        }
        MPI_Win_free(&win);
    }
    free(unit);
    free(bytes);
}

static MPI_Info with_alignment(MPI_Aint alignment, int lone)
{
    MPI_Info info;
    char text[32];
    MPI_Info_create(&info);
    snprintf(text, sizeof text, "%lld", (long long) alignment);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", text);
    MPI_Info_set(info, "alloc_shm", lone ? "false" : "true");
    return info;
}

/* Only one rank has memory, or none has. */
static void nothing_aligned(MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (MPI_Aint alignment = 512; alignment <= 1 << 20; alignment *= 2)
        for (int way = 0; way < 4; way++) {
            int lone = way & 1, one = way & 2 ? size - 1 : size, code;
            MPI_Info info = with_alignment(alignment, lone);
            MPI_Aint bytes = rank == one ? 800 : 0;
            int value = 17 + rank;
            char *base = NULL;
            MPI_Win win = MPI_WIN_NULL;
            code = MPI_Win_allocate(bytes, 8, info, comm, &base, &win);
            MPI_Info_free(&info);
            t_check(code == MPI_SUCCESS, "alignment %ld, way %d: %s", (long) alignment, way,
                    t_text(code));
            if (code != MPI_SUCCESS)
                continue;
            t_check(bytes == 0 || (uintptr_t) base % (uintptr_t) alignment == 0, "%p, not of %ld",
                    (void *) base, (long) alignment);
            MPI_Win_fence(0, win);
            if (rank == 0 && one < size)
                MPI_Put(&value, 1, MPI_INT, one, 99, 1, MPI_INT, win);
            MPI_Win_fence(0, win);
            if (bytes > 0)
                memcpy(&value, base + 99 * 8, sizeof value);
            t_check(bytes == 0 || value == 17, "alignment %ld, way %d: %d", (long) alignment, way,
                    value);
            MPI_Win_free(&win);
        }
}

/* Bytes that the file takes which is mapped at `at`. Only who is privileged may look (0). */
static long long bytes_taken(const char *at)
{
    char line[512], path[128];
    struct stat st;
    long long bytes = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        if (sscanf(line, "%lx-%lx", &from, &to) != 2 || (uintptr_t) at < from ||
            (uintptr_t) at >= to)
            continue;
        snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx", from, to);
        bytes = stat(path, &st) == 0 ? (long long) st.st_blocks * 512 : 0;
    }
    if (maps)
        fclose(maps);
    return bytes;
}

/* Parts that are far apart take the pages that are used alone. */
static void far_apart(MPI_Comm comm)
{
    const MPI_Aint alignment = 64 << 20;
    MPI_Info info = with_alignment(alignment, 0);
    char *base;
    MPI_Win win;
    MPI_Win_allocate(8, 1, info, comm, &base, &win);
    MPI_Info_free(&info);
    long long taken = bytes_taken(base);
    t_check((uintptr_t) base % (uintptr_t) alignment == 0, "%p", (void *) base);
    t_check(taken < 4 << 20, "%lld bytes for 8", taken);
    MPI_Win_fence(0, win);
    MPI_Put("far away", 8, MPI_BYTE, 0, 0, 8, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    t_check(t_rank > 0 || memcmp(base, "far away", 8) == 0, "nothing was put");
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    MPI_Comm node;
    t_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    for (int differ = 0; differ < 2; differ++) {
        units(MPI_COMM_WORLD, differ, 0);
        units(node, differ, 1);
    }
    nothing_aligned(MPI_COMM_WORLD);
    far_apart(MPI_COMM_WORLD);
    MPI_Comm_free(&node);
    return t_end();
}
