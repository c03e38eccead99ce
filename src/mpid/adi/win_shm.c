/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The memory a node's processes share for one window: an unnamed file in /dev/shm, so that nothing is left there however
 * the job ends. The node's first process makes it and claims every page of it; the others open it through /proc. A full
 * /dev/shm is an error of the call that asks for the memory, never a signal later.
 *
 * Layout: parts (one record a member), the table of all ranks (only where sizes or units differ), control blocks, data.
 */
#include "rma.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef O_TMPFILE
#error "O_TMPFILE is needed: define _GNU_SOURCE"
#endif

enum { PAGE = 4096 };

static size_t pages(size_t bytes)
{
    return (bytes + PAGE - 1) & ~(size_t) (PAGE - 1);
}

int wdl_adi_agree(MPIR_Comm * comm, int status, int *agreed_out)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    return MPIR_Allreduce(&status, agreed_out, 1, MPI_INT, MPI_MAX, comm, &errflag);
}

/* What the node's first process tells the others. */
struct offer {
    int status, pid, fd;
    size_t bytes;
};

static struct offer file_make(size_t bytes)
{
    struct offer offer = {.status = WDL_ERR_NOMEM,.pid = (int) getpid(),.fd = -1,.bytes = bytes };
    offer.fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (offer.fd >= 0 && ftruncate(offer.fd, (off_t) bytes) == 0 &&
        posix_fallocate(offer.fd, 0, (off_t) bytes) == 0)
        offer.status = WDL_OK;
    return offer;
}

static int file_map(const struct offer *offer, int own, char **base_out)
{
    char path[64];
    int fd = offer->fd;
    if (!own) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", offer->pid, offer->fd);
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0)
            return WDL_ERR_SHARED;
    }
    void *base = mmap(NULL, offer->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (!own)
        close(fd);
    if (base == MAP_FAILED)
        return WDL_ERR_NOMEM;
    *base_out = base;
    return WDL_OK;
}

/* Make or open the node's file; collective over the node. */
static int node_map(MPIR_Comm * node, size_t bytes, char **base_out, int *status_out)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    struct offer offer = { 0 };
    int first = node->rank == 0;
    if (first)
        offer = file_make(bytes);
    mpi_errno = MPIR_Bcast(&offer, sizeof offer, MPI_BYTE, 0, node, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    *status_out = offer.status == WDL_OK ? file_map(&offer, first, base_out) : offer.status;
    mpi_errno = MPIR_Barrier(node, &errflag);   /* everyone has it open before the first closes it */
    MPIR_ERR_CHECK(mpi_errno);
    if (first && offer.fd >= 0)
        close(offer.fd);
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Places of the members' data; returns the end. */
static size_t place(struct wdl_adi_part *part, int members, size_t from, int data, int contiguous)
{
    size_t at = from;
    for (int i = 0; i < members; i++) {
        part[i].offset = at;
        if (data)
            at += contiguous ? part[i].bytes : pages(part[i].bytes);
    }
    return pages(at);
}

/* The table of all ranks, where they differ: gathered by everyone, kept once per node. */
static int fill_table(MPIR_Win * win, const struct wdl_adi_part *own, struct wdl_win_rank *table, int writer)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    int size = win->comm_ptr->local_size;
    struct wdl_adi_part *all = MPL_malloc((size_t) size * sizeof *all, MPL_MEM_RMA);
    MPIR_ERR_CHKANDJUMP(!all, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    mpi_errno = MPIR_Allgather(own, sizeof *own, MPI_BYTE, all, sizeof *own, MPI_BYTE, win->comm_ptr,
                               &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    for (int i = 0; writer && i < size; i++)
        table[i] = (struct wdl_win_rank) {.bytes = all[i].bytes,.disp_unit = all[i].disp_unit };
  fn_exit:
    MPL_free(all);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int by_rank(const void *a, const void *b)
{
    return ((const struct wdl_adi_part *) a)->rank - ((const struct wdl_adi_part *) b)->rank;
}

int wdl_adi_segment_create(MPIR_Win * win, MPI_Aint bytes, int disp_unit, int data, int contiguous,
                           int differ)
{
    int mpi_errno = MPI_SUCCESS, status = WDL_OK, agreed;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    struct wdl_adi_segment *segment = &win->dev.segment;
    struct wdl_adi_part own = {.rank = win->comm_ptr->rank,.disp_unit = disp_unit,.bytes = (uint64_t) bytes };
    struct wdl_adi_part *part = NULL;
    MPIR_Comm *node = NULL;
    int size = win->comm_ptr->local_size;

    mpi_errno = MPIR_Comm_split_type_impl(win->comm_ptr, MPI_COMM_TYPE_SHARED, own.rank, NULL, &node);
    MPIR_ERR_CHECK(mpi_errno);
    int members = node->local_size;
    part = MPL_malloc((size_t) members * sizeof *part, MPL_MEM_RMA);
    MPIR_ERR_CHKANDJUMP(!part, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    mpi_errno = MPIR_Allgather(&own, sizeof own, MPI_BYTE, part, sizeof own, MPI_BYTE, node, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    qsort(part, (size_t) members, sizeof *part, by_rank);

    size_t table_at = pages((size_t) members * sizeof *part);
    size_t control_at = table_at + (differ ? pages((size_t) size * sizeof(struct wdl_win_rank)) : 0);
    size_t data_at = control_at + pages((size_t) members * sizeof(struct wdl_win_control));
    size_t end = place(part, members, data_at, data, contiguous);
    mpi_errno = node_map(node, end, &segment->base, &status);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = wdl_adi_agree(win->comm_ptr, status, &agreed);
    MPIR_ERR_CHECK(mpi_errno);
    segment->bytes = end;
    WDL_ADI_CHECK(agreed, mpi_errno);

    segment->members = members;
    segment->part = (const struct wdl_adi_part *) (void *) segment->base;
    segment->control = segment->base + control_at;
    if (node->rank == 0)
        memcpy(segment->base, part, (size_t) members * sizeof *part);
    if (differ) {
        segment->table = (const struct wdl_win_rank *) (void *) (segment->base + table_at);
        mpi_errno = fill_table(win, &own, (struct wdl_win_rank *) (void *) (segment->base + table_at),
                               node->rank == 0);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = MPIR_Barrier(node, &errflag);   /* what the first wrote is there for all */
    MPIR_ERR_CHECK(mpi_errno);
  fn_exit:
    MPL_free(part);
    if (node)
        MPIR_Comm_free_impl(node);
    return mpi_errno;
  fn_fail:
    wdl_adi_segment_free(segment);
    goto fn_exit;
}

void wdl_adi_segment_free(struct wdl_adi_segment *segment)
{
    if (segment->base)
        munmap(segment->base, segment->bytes);
    memset(segment, 0, sizeof *segment);
}

int wdl_adi_segment_member(const struct wdl_adi_segment *segment, int rank)
{
    int lo = 0, hi = segment->members - 1;
    if (rank < segment->members && segment->part[rank].rank == rank)
        return rank;            /* all on one node, as is usual */
    while (lo <= hi) {
        int mid = (lo + hi) / 2;
        if (segment->part[mid].rank == rank)
            return mid;
        if (segment->part[mid].rank < rank)
            lo = mid + 1;
        else
            hi = mid - 1;
    }
    return -1;
}
