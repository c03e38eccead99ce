/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Windows on private memory whose pages are shared on request (info key windlass_share_pages;
 * share.h): the node's processes map one another's memory and load and store there.
 *
 * MPI_Win_create: every process maps all pages of the node's members one behind the other, its own
 * once more; a member's place is where its memory begins there, the same for all. It is done for
 * all ranks of the window or for none.
 *
 * Dynamic windows: what is attached is offered in the list of attached memory, and mapped by who
 * comes to need it. Memory that cannot be shared goes the ways it would go without the key. A
 * mapping, a view, stays while there are no more of them than its rank has regions: nobody is told
 * of a detach, and so the view longest unused is taken for that of a region that is gone.
 */
#include "rma.h"
#include "share.h"
#include <sys/mman.h>

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_WINDLASS_SHARE_PAGES
      category    : WINDLASS
      type        : boolean
      default     : false
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        Whether the memory of windows of MPI_Win_create, and memory attached to dynamic windows, is
        shared between the processes of a node while it belongs to the window, where the info key
        windlass_share_pages does not say.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

enum {
    HEADS_LOG = 8, HEADS = 1 << HEADS_LOG,      /* of the table of views */
    VIEWS_MAX = 4096            /* of a window: the system bounds a process's mappings */
};

struct wdl_adi_view {           /* another process's attached memory, mapped here */
    struct wdl_adi_view *next;  /* of the same head */
    char *base;
    size_t bytes;
    size_t skew;
    int rank;
    uint64_t serial;
    uint64_t used;              /* last */
};

struct wdl_adi_attached {       /* our own */
    struct wdl_share_offer offer;       /* others read it */
    struct wdl_adi_attached *next;
    void *memory;
    size_t bytes;
};

int wdl_adi_share_wanted(const MPIR_Win * win)
{
    const char *value = wdl_adi_info_value(win, "windlass_share_pages");
    if (win->create_flavor != MPI_WIN_FLAVOR_CREATE &&
        win->create_flavor != MPI_WIN_FLAVOR_DYNAMIC)
        return 0;
    return value ? strcmp(value, "true") == 0 : MPIR_CVAR_WINDLASS_SHARE_PAGES;
}

static char *reserve(size_t bytes)
{
    char *space = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return space == MAP_FAILED ? NULL : space;
}

/* --- created windows -------------------------------------------------------------------------- */

/* Everyone's pages, which all members have offered. */
static int pages_map(MPIR_Win * win)
{
    const struct wdl_adi_segment *segment = &win->dev.segment;
    struct wdl_adi_shared *shared = &win->dev.shared;
    size_t at = 0;
    int status = WDL_OK;
    shared->bytes = WDL_SHARE_PAGE;     /* there may be no memory at all */
    for (int i = 0; i < segment->members; i++)
        shared->bytes += segment->offer[i].bytes;
    shared->base = reserve(shared->bytes);
    if (!shared->base)
        return WDL_ERR_NOMEM;
    for (int i = 0; i < segment->members && status == WDL_OK; i++) {
        const struct wdl_share_offer *offer = &segment->offer[i];
        status = wdl_share_map(offer, shared->base + at);
        if (i == segment->index)
            segment->place[i].offset = at + offer->skew;
        at += offer->bytes;
    }
    return status;
}

static void pages_unmap(MPIR_Win * win)
{
    struct wdl_adi_shared *shared = &win->dev.shared;
    if (shared->base)
        munmap(shared->base, shared->bytes);
    shared->base = NULL;
}

/* In two steps: all must have offered before anyone maps, and mapped before it is true. */
static int create_share(struct wdl_adi_making *m, MPIR_Win * win)
{
    struct wdl_adi_segment *segment = win ? &win->dev.segment : NULL;
    struct wdl_share_offer *own = NULL;
    int status = m->status, agreed;
    if (status == WDL_OK) {
        own = &segment->offer[segment->index];
        wdl_share_acquire(m->base, (size_t) m->bytes, own);
        status = own->status;
    }
    int acquired = own && status == WDL_OK;
    int mpi_errno = wdl_adi_agree(m->comm, status, &agreed);
    if (mpi_errno == MPI_SUCCESS && agreed == WDL_OK)
        mpi_errno = wdl_adi_agree(m->comm, pages_map(win), &agreed);
    if (mpi_errno == MPI_SUCCESS && agreed == WDL_OK) {
        win->dev.shared.on = 1;
        return MPI_SUCCESS;
    }
    if (acquired) {
        pages_unmap(win);
        wdl_share_release(m->base, (size_t) m->bytes);
        segment->place[segment->index].offset = (uint64_t) (uintptr_t) m->base;
    }
    return mpi_errno;
}

/* Others learn where our memory is by reading it. */
static int dynamic_share(struct wdl_adi_making *m, MPIR_Win * win)
{
    int agreed, alone = win && win->dev.segment.members == 1;
    int able = m->status == WDL_OK && (alone || wdl_adi_copy_permitted(win));
    int mpi_errno = wdl_adi_agree(m->comm, able ? WDL_OK : WDL_ERR_SHARED, &agreed);
    if (mpi_errno == MPI_SUCCESS && agreed == WDL_OK)
        win->dev.shared.on = 1;
    return mpi_errno;
}

int wdl_adi_share_window(struct wdl_adi_making *m, MPIR_Win * win)
{
    return m->dynamic ? dynamic_share(m, win) : create_share(m, win);
}

/* --- attached memory -------------------------------------------------------------------------- */

int wdl_adi_share_attach(MPIR_Win * win, void *base, MPI_Aint size)
{
    static uint64_t serial;
    struct wdl_adi_shared *shared = &win->dev.shared;
    struct wdl_region region = {.base = (uint64_t) (uintptr_t) base,.bytes = (uint64_t) size };
    struct wdl_adi_attached *a = wdl_adi_alloc(sizeof *a);
    if (!a)
        return WDL_ERR_NOMEM;
    a->memory = base;
    a->bytes = (size_t) size;
    wdl_share_acquire(base, a->bytes, &a->offer);
    if (a->offer.status == WDL_OK) {
        region.offer = (uint64_t) (uintptr_t) &a->offer;
        region.serial = ++serial;
    }
    int status = wdl_win_attach_region(win->dev.wdl, &region);
    if (status == WDL_OK) {
        a->next = shared->attached;
        shared->attached = a;
        return WDL_OK;
    }
    if (a->offer.status == WDL_OK)
        wdl_share_release(base, a->bytes);
    MPL_free(a);
    return status;
}

/* The list is without it. */
void wdl_adi_share_detached(MPIR_Win * win, const void *base)
{
    struct wdl_adi_attached **at = &win->dev.shared.attached, *a;
    while (*at && (*at)->memory != base)
        at = &(*at)->next;
    a = *at;
    if (!a)
        return;
    *at = a->next;
    if (a->offer.status == WDL_OK)
        wdl_share_release(a->memory, a->bytes);
    MPL_free(a);
}

static struct wdl_adi_view **head_of(const struct wdl_adi_shared *shared, int rank, uint64_t serial)
{
    uint64_t hash = (serial ^ (uint64_t) rank << 48) * 0x9e3779b97f4a7c15u;
    return &shared->views[hash >> (64 - HEADS_LOG)];
}

static struct wdl_adi_view *view_find(const struct wdl_adi_shared *shared, int rank,
                                      uint64_t serial)
{
    struct wdl_adi_view *view = *head_of(shared, rank, serial);
    while (view && (view->rank != rank || view->serial != serial))
        view = view->next;
    return view;
}

/* at: where it is linked. */
static void view_drop(struct wdl_adi_shared *shared, struct wdl_adi_view **at)
{
    struct wdl_adi_view *view = *at;
    *at = view->next;
    munmap(view->base, view->bytes);
    MPL_free(view);
    shared->nviews--;
}

/* Of the rank's views (of all for rank < 0), where they are more than `most`, those longest unused
 * go. */
static void views_trim(struct wdl_adi_shared *shared, int rank, uint64_t most)
{
    for (;;) {
        struct wdl_adi_view **oldest = NULL;
        uint64_t n = 0;
        for (int i = 0; i < HEADS; i++)
            for (struct wdl_adi_view ** at = &shared->views[i]; *at; at = &(*at)->next)
                if (rank < 0 || (*at)->rank == rank) {
                    if (!oldest || (*at)->used < (*oldest)->used)
                        oldest = at;
                    n++;
                }
        if (n <= most)
            return;
        view_drop(shared, oldest);
    }
}

/* One more of the rank's views will be no more than it has regions. */
static void views_make_room(MPIR_Win * win, int rank)
{
    const struct wdl_adi_segment *segment = &win->dev.segment;
    struct wdl_adi_shared *shared = &win->dev.shared;
    int member = wdl_adi_segment_member(segment, rank);
    if (shared->nviews == 0)
        return;
    wdl_assert_cmp(member, >=, 0);
    uint64_t regions = __atomic_load_n(&segment->control[member].regions_count, __ATOMIC_RELAXED);
    views_trim(shared, rank, regions > 0 ? regions - 1 : 0);
    if (shared->nviews == VIEWS_MAX)
        views_trim(shared, -1, VIEWS_MAX - 1);
}

/* NULL: it cannot be mapped. */
static struct wdl_adi_view *view_make(MPIR_Win * win, int rank, const struct wdl_region *region)
{
    struct wdl_adi_shared *shared = &win->dev.shared;
    struct wdl_share_offer offer;
    struct wdl_piece here = {.base = (char *) &offer,.bytes = sizeof offer };
    struct wdl_piece there = {.base = (char *) (uintptr_t) region->offer,.bytes = sizeof offer };
    views_make_room(win, rank);
    if (wdl_adi_copy(win, rank, 0, &here, 1, &there, 1) != WDL_OK || offer.status != WDL_OK ||
        offer.pieces > WDL_SHARE_PIECES || offer.bytes == 0)
        return NULL;
    struct wdl_adi_view *view = wdl_adi_alloc(sizeof *view);
    if (!view)
        return NULL;
    view->base = reserve(offer.bytes);
    if (!view->base) {
        MPL_free(view);
        return NULL;
    }
    view->bytes = offer.bytes;
    view->skew = offer.skew;
    view->rank = rank;
    view->serial = region->serial;
    struct wdl_adi_view **head = head_of(shared, rank, view->serial);
    view->next = *head;
    *head = view;
    shared->nviews++;
    if (wdl_share_map(&offer, view->base) != WDL_OK) {
        view_drop(shared, head);
        return NULL;
    }
    shared->views_made++;
    return view;
}

void *wdl_adi_share_reach(void *ctx, int rank, const struct wdl_region *region)
{
    MPIR_Win *win = ctx;
    struct wdl_adi_shared *shared = &win->dev.shared;
    if (!shared->views)
        shared->views = wdl_adi_alloc(HEADS * sizeof *shared->views);
    if (!shared->views)
        return NULL;
    struct wdl_adi_view *view = view_find(shared, rank, region->serial);
    if (!view)
        view = view_make(win, rank, region);
    if (!view)
        return NULL;
    view->used = ++shared->views_asked;
    return view->base + view->skew;
}

/* --- both ------------------------------------------------------------------------------------- */

int wdl_adi_is_shared(const MPIR_Win * win)
{
    for (const struct wdl_adi_attached * a = win->dev.shared.attached; a; a = a->next)
        if (a->offer.status != WDL_OK)
            return 0;
    return win->dev.shared.on;
}

size_t wdl_adi_share_memory(const MPIR_Win *win)
{
    const struct wdl_adi_shared *shared = &win->dev.shared;
    size_t bytes = shared->views ? HEADS * sizeof *shared->views : 0;
    bytes += shared->nviews * sizeof **shared->views;
    for (const struct wdl_adi_attached *a = shared->attached; a; a = a->next)
        bytes += sizeof *a;
    return bytes;
}

void wdl_adi_share_free(MPIR_Win * win)
{
    struct wdl_adi_shared *shared = &win->dev.shared;
    pages_unmap(win);
    while (shared->attached)
        wdl_adi_share_detached(win, shared->attached->memory);
    for (int i = 0; shared->views && i < HEADS; i++)
        while (shared->views[i])
            view_drop(shared, &shared->views[i]);
    MPL_free(shared->views);
    if (shared->on && win->create_flavor == MPI_WIN_FLAVOR_CREATE)
        wdl_share_release(win->base, (size_t) win->size);
    memset(shared, 0, sizeof *shared);
}
