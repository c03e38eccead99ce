/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The memory a node's processes share for one window: an unnamed file in /dev/shm, so that nothing
 * is left there however the job ends. The node's first process makes it, the others open it through
 * /proc, and each claims the pages of its own part, where it is about to use them. A full /dev/shm
 * is an error of the call that asks for the memory, never a signal later.
 *
 * Layout: places (one a member), the table of all ranks (only where sizes or units differ among
 * nodes), control blocks, offers of private memory (only where it is to be shared), data.
 *
 * Memory of a freed window is kept for the communicator's next one: claiming pages is what costs
 * time.
 */
#include "rma.h"
#include "share.h"
#include "shm_file.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_WINDLASS_SPARE_MB
      category    : WINDLASS
      type        : int
      default     : 64
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        Megabytes of shared memory that a communicator keeps of a freed window for its next one. 0:
        none.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

enum { PAGE = 4096, FEW = 64 };

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

int wdl_adi_agree(MPIR_Comm * comm, int status, int *agreed_out)
{
    return wdl_adi_agree_all(comm, &status, agreed_out, 1);
}

int wdl_adi_agree_all(MPIR_Comm * comm, const int *own, int *agreed_out, int n)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    return MPIR_Allreduce(own, agreed_out, n, MPI_INT, MPI_MAX, comm, &errflag);
}

/* --- the layout ------------------------------------------------------------------------------- */

/* What a member asks for, told to all members. */
struct claim {
    uint64_t bytes;
    int64_t disp_unit, rank;
    uint64_t alignment;
    uint64_t spare_id, spare_bytes;     /* memory it has left over; 0: none */
    uint64_t wants;             /* of these: */
};
/* its own memory to be shared, gaps between ranks' memory, memory that is not shared */
enum { WANTS_SHARED = 1, WANTS_GAPS = 2, WANTS_LONE = 4 };

struct layout {
    size_t table, control, offer, data, end;   /* where each begins */
    size_t head;                /* what the first process claims, for all */
    size_t skew;                /* of each rank's data within its first page */
};

/* Data begins a quarter into a page. A large buffer of malloc begins close behind a page's
 * beginning, and a copy between two places that a processor takes for the same, which it does when
 * their last twelve bits are close, costs twice the time. And of blocks with gaps as long between
 * them, on both sides, the ones lie in the sets of a cache where the others have their gaps, or in
 * part: 512 blocks of 1 KiB in 19 us, by half a page in 25 (of 2 KiB in 20, and 15). */
enum { SKEW = PAGE / 4 };

static size_t largest_alignment(const struct claim *claim, int members)
{
    size_t largest = 1;
    for (int i = 0; i < members; i++)
        largest = MPL_MAX(largest, claim[i].alignment);
    return largest;
}

/* Where the next rank's data may begin, if `at` is free. Parts that are to lie one behind the other
 * do (MPI-4, 12.2.3), whatever alignment is wished for: the first one has it, and with it those
 * behind sizes that are multiples. */
static size_t next_place(const struct wdl_adi_making *m, const struct claim *claim, size_t at,
                         size_t skew)
{
    if (m->contiguous)
        return at;
    return round_up(at - skew, MPL_MAX(claim->alignment, PAGE)) + skew;
}

static struct layout layout_of(const struct wdl_adi_making *m, const struct claim *claim,
                               int members, int table_rows)
{
    size_t alignment = largest_alignment(claim, members);
    struct layout at = {.skew = alignment > SKEW ? 0 : SKEW };
    at.table = round_up((size_t) members * sizeof(struct wdl_win_place), 64);
    at.control = round_up(at.table + (size_t) table_rows * sizeof(struct wdl_win_rank), 64);
    at.offer = at.control + (size_t) members * sizeof(struct wdl_win_control);
    at.data = at.offer;
    if (m->share && !m->dynamic)
        at.data += (size_t) members * sizeof(struct wdl_share_offer);
    at.head = at.data;
    at.data = round_up(at.data, MPL_MAX(alignment, PAGE)) + at.skew;
    if (alignment <= PAGE)      /* else what follows may be long, and nobody has data there */
        at.head = at.data;
    at.end = at.data;
    for (int i = 0; m->data && i < members; i++)
        at.end = next_place(m, &claim[i], at.end, at.skew) + claim[i].bytes;
    at.end = round_up(at.end, PAGE);
    return at;
}

/* Where member `index` has its data. */
static size_t data_of(const struct wdl_adi_making *m, const struct claim *claim,
                      const struct layout *layout, int index)
{
    size_t at = layout->data;
    for (int i = 0;; i++) {
        at = next_place(m, &claim[i], at, layout->skew);
        if (i == index)
            return at;
        at += claim[i].bytes;
    }
}

/* --- the file --------------------------------------------------------------------------------- */

/* What the node's first process tells the others. */
struct offer {
    int status, pid, fd;
};

/* `head` bytes are claimed here: the others write there as soon as they have the offer. */
static struct offer file_make(size_t bytes, size_t head)
{
    struct offer offer = {.pid = (int) getpid() };
    offer.status = wdl_shm_file_make("windlass-window", bytes, &offer.fd);
    if (offer.status == WDL_OK)
        offer.status = wdl_shm_file_claim(offer.fd, 0, head);
    return offer;
}

/* Address space for the segment, its base a multiple of alignment. */
static char *map_aligned(int fd, size_t bytes, size_t alignment)
{
    int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    if (alignment <= PAGE) {
        void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
        return base == MAP_FAILED ? NULL : base;
    }
    char *space = mmap(NULL, bytes + alignment, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED)
        return NULL;
    char *base = (char *) round_up((uintptr_t) space, alignment), *end = base + bytes;
    if (mmap(base, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0) == MAP_FAILED) {
        munmap(space, bytes + alignment);
        return NULL;
    }
    if (base > space)
        munmap(space, (size_t) (base - space));
    if (space + bytes + alignment > end)
        munmap(end, (size_t) (space + bytes + alignment - end));
    return base;
}

/* Open and map the offered file. */
static int file_open(struct wdl_adi_segment *segment, const struct offer *offer, size_t alignment)
{
    char path[64];
    int own = segment->index == 0;
    int fd = offer->fd;
    if (!own) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", offer->pid, offer->fd);
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0)
            return WDL_ERR_SHARED;
    }
    segment->fd = fd;
    segment->base = map_aligned(fd, segment->bytes, alignment);
    return segment->base ? WDL_OK : WDL_ERR_NOMEM;
}

void wdl_adi_segment_opened(struct wdl_adi_segment *segment)
{
    if (segment->fd >= 0)
        close(segment->fd);
    segment->fd = -1;
}

/* --- memory kept ------------------------------------------------------------------------------ */

struct spare {
    char *base;
    size_t bytes;
    uint64_t id;
};

static struct spare spare_take(MPIR_Comm * comm)
{
    struct spare spare = { 0 };
    if (comm->dev.spare) {
        spare = *(struct spare *) comm->dev.spare;
        MPL_free(comm->dev.spare);
        comm->dev.spare = NULL;
    }
    return spare;
}

static void spare_keep(MPIR_Comm * comm, struct spare spare)
{
    struct spare *kept = NULL;
    wdl_adi_spare_drop(comm);
    if (spare.bytes <= (size_t) MPIR_CVAR_WINDLASS_SPARE_MB << 20)
        kept = wdl_adi_alloc(sizeof *kept);
    if (kept)
        *kept = spare;
    else
        munmap(spare.base, spare.bytes);
    comm->dev.spare = kept;
}

void wdl_adi_spare_drop(MPIR_Comm * comm)
{
    struct spare spare = spare_take(comm);
    if (spare.base)
        munmap(spare.base, spare.bytes);
}

/* Has everyone the same memory left over, and is it large enough? */
static int spare_fits(const struct claim *claim, int members, size_t bytes)
{
    if (claim[0].spare_id == 0 || largest_alignment(claim, members) > PAGE)
        return 0;
    for (int i = 0; i < members; i++)
        if (claim[i].spare_id != claim[0].spare_id || claim[i].spare_bytes < bytes)
            return 0;
    return 1;
}

/* --- making it -------------------------------------------------------------------------------- */

/* Memory for n records that everyone will need together, nobody more than `most`; a few are on the
 * caller's stack. Where that may not be enough all must have it before anyone uses it. */
static int records(MPIR_Comm * comm, int n, int most, size_t bytes, void *few, void **out,
                   int *status)
{
    int agreed;
    *out = few;
    if (most <= FEW)
        return MPI_SUCCESS;
    if (n > FEW)
        *out = wdl_adi_alloc((size_t) n * bytes);
    int mpi_errno = wdl_adi_agree(comm, *out ? *status : WDL_ERR_NOMEM, &agreed);
    if (agreed != WDL_OK) {
        if (*out != few)
            MPL_free(*out);
        *out = NULL;
        *status = agreed;
    }
    return mpi_errno;
}

/* The table of all ranks, where they differ: gathered by everyone, kept once per node. */
static int fill_table(struct wdl_adi_making *m, struct wdl_win_rank *table)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    struct wdl_win_rank own = {.bytes = (uint64_t) m->bytes,.disp_unit = m->disp_unit };
    struct wdl_win_rank few[FEW], *all = NULL;
    int size = m->comm->local_size;
    mpi_errno = records(m->comm, size, size, sizeof own, few, (void **) &all, &m->status);
    MPIR_ERR_CHECK(mpi_errno);
    if (!all)
        goto fn_exit;
    mpi_errno =
        MPIR_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, m->comm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    if (table)
        memcpy(table, all, (size_t) size * sizeof own);
  fn_exit:
    if (all != few)
        MPL_free(all);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Do sizes or units differ among the ranks? A status that is bad anywhere becomes everyone's;
 * memory is shared where all want it, and each one's own where somebody wants it. */
static int ranks_differ(struct wdl_adi_making *m, int *differ_out)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    int64_t mine[7] = {m->bytes,  -(int64_t) m->bytes, m->disp_unit, -(int64_t) m->disp_unit,
                       m->status, !m->share, m->lone};
    int64_t most[7];
    int mpi_errno = MPIR_Allreduce(mine, most, 7, MPI_INT64_T, MPI_MAX, m->comm, &errflag);
    *differ_out = most[0] != -most[1] || most[2] != -most[3];
    m->status = (int) most[4];
    m->share = !most[5];
    m->lone = (int) most[6];
    return mpi_errno;
}

/* Claim the pages of our own data; where the segment will be kept also what is between it and the
 * next one's, or the end: the next window's data may lie there. */
static int data_claim(const struct wdl_adi_making *m, const struct claim *claim,
                      const struct layout *at, const struct wdl_adi_segment *segment)
{
    int next = segment->index + 1;
    size_t from = data_of(m, claim, at, segment->index), to = from + (size_t) m->bytes;
    if (segment->id)
        to = next < segment->members ? data_of(m, claim, at, next) : at->end;
    return wdl_shm_file_claim(segment->fd, from, to - from);
}

/* A window that is alone on its node, but not in the world, gets memory the network reaches best;
 * NULL: there is none. */
static char *network_memory(const struct wdl_adi_making *m, const struct claim *claim, size_t bytes,
                            struct wdl_adi_segment *segment)
{
    struct wdl_nm *nm = wdl_adi.proc->nm;
    void *base;
    if (segment->whole || !m->data || !MPIR_CVAR_WINDLASS_DIRECT ||
        largest_alignment(claim, 1) > PAGE ||
        nm->ops->mem_alloc(nm, bytes, &base, &segment->mem) != WDL_OK)
        return NULL;
    return base;
}

/* Everyone's claims are known: get the memory. Collective over the node as long as the first has
 * something to offer. */
static int memory_get(struct wdl_adi_making *m, MPIR_Comm * node, const struct claim *claim,
                      const struct layout *at, struct spare *spare, struct wdl_adi_segment *segment)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    int members = segment->members;
    struct offer offer = { 0 };
    if (spare_fits(claim, members, at->end)) {
        segment->base = spare->base;
        segment->bytes = spare->bytes;
        segment->id = spare->id;
        spare->base = NULL;
        return MPI_SUCCESS;
    }
    segment->bytes = at->end;
    /* 0: has gaps, which nobody claims; not kept */
    segment->id = largest_alignment(claim, members) > PAGE ? 0 : m->id;
    if (members == 1) {
        segment->base = network_memory(m, claim, at->end, segment);
        if (!segment->base)
            segment->base = map_aligned(-1, at->end, largest_alignment(claim, members));
        m->status = segment->base ? WDL_OK : WDL_ERR_NOMEM;
        return MPI_SUCCESS;
    }
    if (segment->index == 0)
        offer = file_make(at->end, at->head);
    mpi_errno = MPIR_Bcast(&offer, sizeof offer, MPI_BYTE, 0, node, &errflag);
    if (mpi_errno)
        return mpi_errno;
    m->status = offer.status;
    if (offer.status == WDL_OK)
        m->status = file_open(segment, &offer, largest_alignment(claim, members));
    else if (segment->index == 0)
        segment->fd = offer.fd;
    if (m->status == WDL_OK && m->data)
        m->status = data_claim(m, claim, at, segment);
    return MPI_SUCCESS;
}

/* Our own records in the segment. */
static void fill_own(const struct wdl_adi_making *m, const struct claim *claim,
                     const struct layout *at, struct wdl_adi_segment *segment)
{
    struct wdl_win_place *own;
    segment->place = (struct wdl_win_place *) (void *) segment->base;
    segment->control = (struct wdl_win_control *) (void *) (segment->base + at->control);
    own = &segment->place[segment->index];
    own->rank = m->comm->rank;
    own->bytes = (uint64_t) m->bytes;
    own->disp_unit = m->disp_unit;
    own->offset = m->data ? data_of(m, claim, at, segment->index) : (uint64_t) (uintptr_t) m->base;
    memset(&segment->control[segment->index], 0, WDL_WIN_CONTROL_ZEROED);
    if (m->share && !m->dynamic)
        segment->offer = (struct wdl_share_offer *) (void *) (segment->base + at->offer);
}

static int claims_gather(struct wdl_adi_making *m, MPIR_Comm *node, const struct spare *spare,
                         struct claim *all)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    const MPI_Aint most = (MPI_Aint) 1 << 48; /* no machine has it; sums do not overflow */
    struct claim own = {.bytes = (uint64_t) MPL_MIN(m->bytes, most),
                        .disp_unit = m->disp_unit,
                        .rank = m->comm->rank,
                        .alignment = m->alignment,
                        .spare_id = spare->id,
                        .spare_bytes = spare->bytes,
                        .wants = (m->share ? WANTS_SHARED : 0) |
                                 (m->contiguous ? 0 : WANTS_GAPS) |
                                 (m->lone ? WANTS_LONE : 0)};
    int mpi_errno =
        MPIR_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, node, &errflag);
    for (int i = 0; i < node->local_size && mpi_errno == MPI_SUCCESS; i++) {
        m->share &= (all[i].wants & WANTS_SHARED) != 0;
        m->contiguous &= (all[i].wants & WANTS_GAPS) == 0;
        m->lone |= (all[i].wants & WANTS_LONE) != 0;
    }
    return mpi_errno;
}

/* Memory of this process alone: from here on as if the user had brought it. */
static void own_get(struct wdl_adi_making *m, struct claim *claim, int members,
                    struct wdl_adi_segment *segment)
{
    size_t skew = m->alignment > SKEW ? 0 : SKEW;
    segment->own_bytes = MPL_MAX(round_up((size_t) m->bytes + skew, PAGE), PAGE);
    segment->own = (size_t) m->bytes > SIZE_MAX / 2 ? NULL :
        map_aligned(-1, segment->own_bytes, m->alignment);
    if (!segment->own)
        m->status = WDL_ERR_NOMEM;
    m->base = segment->own ? segment->own + skew : NULL;
    m->data = 0;
    for (int i = 0; i < members; i++)
        claim[i].alignment = 0;
}

int wdl_adi_segment_create(struct wdl_adi_making *m, struct wdl_adi_segment *segment)
{
    int mpi_errno = MPI_SUCCESS, differ = 0, size = m->comm->local_size;
    MPIR_Comm *node = m->comm;
    struct claim few[FEW], *claim = NULL;
    struct spare spare = { 0 };
    struct layout at;

    memset(segment, 0, sizeof *segment);
    segment->fd = -1;
    segment->whole = wdl_adi_comm_on_node(m->comm);
    if (!segment->whole) {
        mpi_errno = ranks_differ(m, &differ);
        MPIR_ERR_CHECK(mpi_errno);
        if (m->status != WDL_OK)
            goto fn_exit;
        mpi_errno =
            MPIR_Comm_split_type_impl(m->comm, MPI_COMM_TYPE_SHARED, m->comm->rank, NULL, &node);
        MPIR_ERR_CHECK(mpi_errno);
    } else {
        spare = spare_take(m->comm);
    }
    segment->members = node->local_size;
    segment->index = node->rank;
    mpi_errno = records(m->comm, segment->members, size, sizeof *claim, few, (void **) &claim,
                        &m->status);
    MPIR_ERR_CHECK(mpi_errno);
    if (!claim)
        goto fn_exit;
    mpi_errno = claims_gather(m, node, &spare, claim);
    MPIR_ERR_CHECK(mpi_errno);
    if (m->lone)
        own_get(m, claim, segment->members, segment);
    at = layout_of(m, claim, segment->members, differ ? size : 0);
    int status = m->status;
    mpi_errno = memory_get(m, node, claim, &at, &spare, segment);
    MPIR_ERR_CHECK(mpi_errno);
    if (m->status == WDL_OK && segment->base)
        fill_own(m, claim, &at, segment);
    if (differ) {
        struct wdl_win_rank *table = NULL;
        if (m->status == WDL_OK)
            table = (struct wdl_win_rank *) (void *) (segment->base + at.table);
        segment->table = table;
        mpi_errno = fill_table(m, segment->index == 0 ? table : NULL);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (status != WDL_OK)
        m->status = status;

  fn_exit:
    if (claim != few)
        MPL_free(claim);
    if (spare.base)
        spare_keep(m->comm, spare);
    if (node && node != m->comm)
        MPIR_Comm_free_impl(node);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void wdl_adi_segment_free(MPIR_Comm * comm, struct wdl_adi_segment *segment)
{
    struct spare spare = {.base = segment->base,.bytes = segment->bytes,.id = segment->id };
    wdl_adi_segment_opened(segment);
    if (segment->own)
        munmap(segment->own, segment->own_bytes);
    if (segment->mem)
        wdl_adi.proc->nm->ops->mem_detach(wdl_adi.proc->nm, segment->mem);
    else if (segment->base && segment->whole && segment->members > 1 && segment->id)
        spare_keep(comm, spare);
    else if (segment->base)
        munmap(segment->base, segment->bytes);
    memset(segment, 0, sizeof *segment);
    segment->fd = -1;
}

int wdl_adi_segment_member(const struct wdl_adi_segment *segment, int rank)
{
    int lo = 0, hi = segment->members - 1;
    if (rank < segment->members && segment->place[rank].rank == rank)
        return rank;            /* all on one node, as is usual */
    while (lo <= hi) {
        int mid = (lo + hi) / 2;
        if (segment->place[mid].rank == rank)
            return mid;
        if (segment->place[mid].rank < rank)
            lo = mid + 1;
        else
            hi = mid - 1;
    }
    return -1;
}
