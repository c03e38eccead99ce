/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The arena: memory the node's processes share for collectives, an unnamed file as a window's
 * (win_shm.c), made once at the start: to make memory for a team is then no collective act. Every
 * process has a part of it and gives away blocks of its own; it claims a block's pages first, so
 * that a full /dev/shm shows here and not as a signal later.
 *
 * A block is free again when all who used it have left it: who has finished a collective may be
 * read from by ranks that have not. More memory for the same users may be bound to a block, and is
 * left with it.
 */
#include "coll.h"
#include "bell.h"
#include "shm_file.h"
#include "mpidu_init_shm.h"
#include "mpid/proc/spread.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* A block begins with a page, as most memory that is copied to it does, or just before that
 * (base/copy.h: what would be slow is a line behind). */
enum { LINE = 64, PAGE = 4096, HEAD = PAGE, PART = 128 << 20 };

#define BEHIND (sizeof(struct wdl_spread_place) + sizeof(struct wdl_bell)) /* a process */

struct wdl_arena_block {
    struct wdl_arena_block *next, *bound;       /* the one it is left with; or NULL */
    size_t at, bytes;
    int users;
};

static struct {
    char *base;                 /* NULL: no arena */
    int fd, parts, mine, fetches;
    int places; /* behind the parts there are places (proc/spread.h), then bells (bell.h) */
    size_t top;                 /* of the own part: claimed so far */
    char *met;                  /* a part each: asked for by wdl_arena_at_once */
    struct wdl_arena_block *blocks;
} arena;

/* In front of each block, in the shared memory. */
struct head {
    int left;                   /* how many of its users have left it */
    /* what none of them has written to; nothing, where from >= to, or to is beyond the block */
    uint64_t from, to;
};
wdl_static_assert(sizeof(struct head) <= HEAD);

/* What the node's first process tells the others, and each of them all. */
struct offer {
    int ok, pid, fd, fetches, places;
};
wdl_static_assert(sizeof(struct offer) <= WDL_ADI_BLOCK);

static struct offer file_make(size_t bytes, size_t places)
{
    struct offer offer = {.pid = (int) getpid() };
    offer.ok = wdl_shm_file_make("windlass-collectives", bytes + places, &offer.fd) == WDL_OK;
    offer.places = offer.ok && wdl_shm_file_claim(offer.fd, bytes, places) == WDL_OK;
    return offer;
}

static int file_open(const struct offer *offer)
{
    char path[64];
    if (!offer->ok || MPIR_Process.local_rank == 0)
        return offer->fd;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", offer->pid, offer->fd);
    return open(path, O_RDWR | O_CLOEXEC);
}

static int map_all(const struct offer *offer, size_t bytes)
{
    arena.fd = file_open(offer);
    if (!offer->ok || arena.fd < 0)
        return 0;
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, arena.fd, 0);
    arena.base = base == MAP_FAILED ? NULL : base;
    arena.met = MPL_calloc((size_t) arena.parts, 1, MPL_MEM_COLL);
    return arena.base && arena.met;
}

static void hear(void *all, int i, const void *said)
{
    const struct offer *offer = said;
    (void) i;
    *(int *) all &= offer->ok;
    arena.fetches &= offer->fetches;
}

/* Is it there for everybody? Can everybody fetch from the next one? */
static int agree(int mine, int *all_out)
{
    int next = MPIR_Process.node_local_map[(arena.mine + 1) % arena.parts];
    struct offer offer = {.ok = mine,.fetches = wdl_adi_peer_open(next) };
    *all_out = arena.fetches = 1;
    return wdl_adi_tell(&offer, sizeof offer, hear, all_out);
}

int wdl_arena_open(void)
{
    int mpi_errno = MPI_SUCCESS, all = 0;
    struct offer offer = { 0 };
    size_t bytes = (size_t) MPIR_Process.local_size * PART, places =
        (size_t) MPIR_Process.local_size * BEHIND;
    memset(&arena, 0, sizeof arena);
    arena.fd = -1;
    arena.parts = MPIR_Process.local_size;
    arena.mine = MPIR_Process.local_rank;
    if (arena.parts < 2)
        return MPI_SUCCESS;
    if (arena.mine == 0) {
        offer = file_make(bytes, places);
        mpi_errno = MPIDU_Init_shm_put(&offer, sizeof offer);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = wdl_adi_meet();
    MPIR_ERR_CHECK(mpi_errno);
    if (arena.mine != 0) {
        mpi_errno = MPIDU_Init_shm_get(0, sizeof offer, &offer);
        MPIR_ERR_CHECK(mpi_errno);
    }
    int mapped = map_all(&offer, bytes + places);
    arena.places = mapped && offer.places;
    mpi_errno = wdl_adi_meet(); /* everyone has read the offer */
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = agree(mapped, &all);
    MPIR_ERR_CHECK(mpi_errno);
    if (!all)
        wdl_arena_close();
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void wdl_arena_close(void)
{
    while (arena.blocks) {
        struct wdl_arena_block *block = arena.blocks;
        arena.blocks = block->next;
        MPL_free(block);
    }
    if (arena.base)
        munmap(arena.base, (size_t) arena.parts * (PART + BEHIND));
    if (arena.fd >= 0)
        close(arena.fd);
    MPL_free(arena.met);
    memset(&arena, 0, sizeof arena);
    arena.fd = -1;
}

int wdl_arena_holds(uint64_t card, size_t bytes)
{
    return card >= HEAD && card % LINE == 0 && bytes <= PART && card <= PART - bytes;
}

int wdl_arena_is_open(void)
{
    return arena.base != NULL;
}

struct wdl_spread_place *wdl_arena_places(void)
{
    return arena.base && arena.places ?
        (struct wdl_spread_place *) (void *) (arena.base + (size_t) arena.parts * PART) : NULL;
}

struct wdl_bell *wdl_arena_bells(void)
{
    struct wdl_spread_place *places = wdl_arena_places();
    return places ? (struct wdl_bell *) (void *) (places + arena.parts) : NULL;
}

int wdl_arena_fetches(void)
{
    return arena.fetches;
}

static char *own_at(size_t at)
{
    return arena.base + (size_t) arena.mine * PART + at;
}

static struct head *head_of(const struct wdl_arena_block *block)
{
    return (struct head *) (void *) own_at(block->at);
}

static int is_left(const struct wdl_arena_block *block)
{
    if (block->bound)
        block = block->bound;
    /* pairs with the addition in wdl_arena_leave: what its users did is over */
    return __atomic_load_n(&head_of(block)->left, __ATOMIC_ACQUIRE) >= block->users;
}

/* A block is taken again: those bound to it are free by themselves. */
static void unbind_all(const struct wdl_arena_block *block)
{
    for (struct wdl_arena_block *other = arena.blocks; other; other = other->next) {
        if (other->bound != block)
            continue;
        other->bound = NULL;
        other->users = 0;
    }
}

/* As it was at first: zero, but for what is so still. Of one that is left with another nobody says
 * what that is. */
static void clean(const struct wdl_arena_block *block)
{
    struct head *head = head_of(block);
    char *data = own_at(block->at + HEAD);
    size_t bytes = block->bytes - HEAD, from = bytes, to = bytes;
    if (head->from < head->to && head->to <= bytes) {
        from = head->from;
        to = head->to;
    }
    memset(data, 0, from);
    memset(data + to, 0, bytes - to);
    *head = (struct head) {.to = UINT64_MAX };
}

/* A block everybody has left; not much larger than wanted. */
static struct wdl_arena_block *block_reuse(size_t bytes)
{
    for (struct wdl_arena_block * block = arena.blocks; block; block = block->next) {
        if (block->bytes < bytes || block->bytes > 2 * bytes)
            continue;
        if (!is_left(block))
            continue;
        unbind_all(block);
        clean(block);
        block->bound = NULL;
        return block;
    }
    return NULL;
}

/* Have the own table of pages hold all of a block's at once, where the system can: a page that is
 * met by touching it takes many times as long (2 MiB: 0.3 ms so, 7.4 by touching, on a virtual
 * machine). They are claimed, so this takes no memory. */
static void map_now(char *at, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    char *page = at - (uintptr_t) at % PAGE;
    (void) madvise(page, (size_t) (at + bytes - page), MADV_POPULATE_WRITE);
#else
    (void) at;
    (void) bytes;
#endif
}

/* Much is taken of what there is plenty of, since others want some, too: in the first half of the
 * part, and of the file system. A file of memory alone knows no bounds, and says 0. */
static int is_plenty(size_t bytes)
{
    enum { MUCH = 4 << 20, TIMES = 2 };
    struct statvfs fs;
    if (bytes < MUCH)
        return 1;
    if (arena.top + bytes > PART / 2)
        return 0;
    if (fstatvfs(arena.fd, &fs) != 0 || fs.f_blocks == 0)
        return 1;
    return (uint64_t) fs.f_bavail * fs.f_frsize >= (uint64_t) TIMES * (size_t) arena.parts * bytes;
}

static struct wdl_arena_block *block_new(size_t bytes)
{
    size_t at = arena.top, file_at = (size_t) arena.mine * PART + at;
    if (bytes > PART - at || !is_plenty(bytes))
        return NULL;
    if (wdl_shm_file_claim(arena.fd, file_at, bytes) != WDL_OK)
        return NULL;
    struct wdl_arena_block *block = MPL_calloc(1, sizeof *block, MPL_MEM_COLL);
    if (!block)
        return NULL;
    block->at = at;
    block->bytes = bytes;
    block->next = arena.blocks;
    arena.blocks = block;
    arena.top += bytes;
    map_now(own_at(at), bytes);
    head_of(block)->to = UINT64_MAX;
    return block;
}

struct wdl_arena_block *wdl_arena_take(size_t bytes, int users, uint64_t *card_out)
{
    *card_out = 0;
    if (!arena.base)
        return NULL;
    bytes = (HEAD + bytes + PAGE - 1) / PAGE * PAGE;
    struct wdl_arena_block *block = block_reuse(bytes);
    if (!block)
        block = block_new(bytes);
    if (!block)
        return NULL;
    block->users = users;
    *card_out = block->at + HEAD;
    return block;
}

struct wdl_arena_block *wdl_arena_take_more(size_t bytes, struct wdl_arena_block *with,
                                            uint64_t *card_out)
{
    struct wdl_arena_block *block = wdl_arena_take(bytes, with->users, card_out);
    if (block)
        block->bound = with;
    return block;
}

/* Whose part is it? -1: there is no such process on this node, or no arena. */
static int part_of(int peer)
{
    for (int i = 0; arena.base && i < arena.parts; i++)
        if (MPIR_Process.node_local_map[i] == peer)
            return i;
    return -1;
}

char *wdl_arena_at(int peer, uint64_t card)
{
    int part = card == 0 ? -1 : part_of(peer);
    return part < 0 ? NULL : arena.base + (size_t) part * PART + card;
}

/* Some virtual machines map a page a second time, for themselves, when it is touched. Others may be
 * using it. */
static void touch(char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += PAGE)
        (void) __atomic_fetch_or((uint64_t *) (void *) (at + i), 0, __ATOMIC_RELAXED);
}

char *wdl_arena_at_once(int peer, uint64_t card, size_t bytes)
{
    int part = card == 0 ? -1 : part_of(peer);
    if (part < 0)
        return NULL;
    char *at = arena.base + (size_t) part * PART + card;
    if (!arena.met[part]) {
        map_now(at, bytes);
        touch(at, bytes);
    }
    arena.met[part] = 1;
    return at;
}

/* Others do this at the same time. */
static void bound_at(uint64_t *bound, uint64_t value, int above)
{
    uint64_t old = __atomic_load_n(bound, __ATOMIC_RELAXED);
    while ((above ? old > value : old < value) &&
           !__atomic_compare_exchange_n(bound, &old, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

void wdl_arena_leave(char *block, size_t from, size_t to)
{
    struct head *head = (struct head *) (void *) (block - HEAD);
    bound_at(&head->from, from, 0);
    bound_at(&head->to, to, 1);
    __atomic_fetch_add(&head->left, 1, __ATOMIC_RELEASE); /* pairs with the load in is_left */
}
