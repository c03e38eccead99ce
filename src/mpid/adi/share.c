/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Sharing private memory in place (share.h). The memory is divided into blocks of whole pages, each
 * with a count of its users, in a table sorted by address; a block is split where a user begins or
 * ends within it, so that a page goes back when its last user does.
 *
 * Pages that only a window's memory lies on are replaced while other threads run: they may read
 * there, but not write. An edge, a page with data of others too, is replaced while they are
 * stopped.
 *
 * Going back means private anonymous memory. Where threads cannot be stopped for an edge's sake, or
 * the caller's own stack is there, the page becomes a private mapping of the file instead, which
 * takes no copying; then it is made the process's own, and the file emptied.
 *
 * A child of fork() gets private memory: the edges as they were before the fork, all else as it is
 * at the child's first store to the page. Until then it reads the file, where a page that has gone
 * back stays as it was then: it is not taken away, and its place never used again.
 */
#include "wdl_adi.h"
#include "share.h"
#include "shm_file.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PAGE = WDL_SHARE_PAGE,
    BLOCKS_MAX = 1024,
    FILES_MAX = 256,
    CHUNK_BYTES = 16 << 20,     /* copied at a time: there are two of it meanwhile */
    CHUNKS_MAX = 64,            /* but no more of them, since each may be a mapping */
    ARENA_BYTES = 64 << 20      /* glibc's arenas of other threads begin at multiples */
};

struct block {
    char *base;
    size_t bytes;
    size_t offset;              /* in the file */
    int file;
    int users;
    int edge;                   /* one page, with data of others */
    int kept;                   /* children may read it in the file */
    char *snapshot;             /* of an edge, for children; not of the heap */
};

struct file {
    int fd;
    int blocks;                 /* 0: free entry */
};

/* Children read the table: its pages are nobody else's. */
static _Alignas(PAGE) union {
    struct {
        struct block block[BLOCKS_MAX];
        struct file file[FILES_MAX];
        int blocks;
        int hooked;             /* children are taken care of */
    };
    char pages[(sizeof(struct block) * BLOCKS_MAX + sizeof(struct file) * FILES_MAX + 8 + PAGE - 1)
               / PAGE * PAGE];
} table;

/* The table, and what goes on in files by it; forks happen in between. Not on the table's pages:
 * a child gives it back. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* --- one stretch of pages --------------------------------------------------------------------- */

static int copy_out(int fd, const char *from, size_t bytes, size_t offset)
{
    for (size_t done = 0; done < bytes;) {
        long n = syscall(SYS_pwrite64, fd, from + done, bytes - done, (off_t) (offset + done));
        if (n <= 0)
            return 0;
        done += (size_t) n;
    }
    return 1;
}

static int copy_in(int fd, char *to, size_t bytes, size_t offset)
{
    for (size_t done = 0; done < bytes;) {
        long n = syscall(SYS_pread64, fd, to + done, bytes - done, (off_t) (offset + done));
        if (n <= 0)
            return 0;
        done += (size_t) n;
    }
    return 1;
}

/* Without the C library: others may have hooked its mmap, and take notes in memory. */
static int map_over(char *at, size_t bytes, int flags, int fd, size_t offset)
{
    return syscall(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd,
                   (off_t) offset) != -1;
}

/* Once more through the C library: caches of registered memory forget these pages. */
static void tell_hooks(char *at, size_t bytes, int fd, size_t offset)
{
    (void) !mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd,
                 (off_t) offset);
}

/* May an arena of malloc, or a further heap of one, begin in the page? Its data is in use by
 * threads that malloc and free. Its first word points to the arena, which lies right behind the
 * head of its first heap; what malloc maps for a large block begins with zero. (Where the system
 * overcommits, an arena's mapping has been refused for its flags already.) */
static int may_be_arena(const char *at)
{
    uintptr_t arena = (uintptr_t) __atomic_load_n((char *const *) (const void *) at,
                                                  __ATOMIC_RELAXED) % ARENA_BYTES;
    return (uintptr_t) at % ARENA_BYTES == 0 && arena > 0 && arena < PAGE;
}

static int pages_share(char *at, size_t bytes, int fd, size_t offset, int edge)
{
    if (wdl_shm_file_claim(fd, offset, bytes) != WDL_OK)
        return 0;
    if (edge && (may_be_arena(at) || !wdl_share_stop(at, bytes)))
        return 0;
    int copied = copy_out(fd, at, bytes, offset);
    int done = copied && map_over(at, bytes, MAP_SHARED, fd, offset);
    if (copied && !done)        /* should the system have taken the old pages away */
        (void) map_over(at, bytes, MAP_PRIVATE, fd, offset);
    if (edge)
        wdl_share_resume();
    if (done)
        tell_hooks(at, bytes, fd, offset);
    return done;
}

/* Private anonymous memory with the same contents; 0: could not be, and nothing has changed. */
static int pages_renew(char *at, size_t bytes, int fd, size_t offset, int edge)
{
    char *new = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int done = 0;
    if (new == MAP_FAILED)
        return 0;
    if (edge ? wdl_share_stop(at, bytes) : !wdl_share_runs_on(at, bytes)) {
        done = copy_in(fd, new, bytes, offset) &&
               syscall(SYS_mremap, new, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) != -1;
        if (edge)
            wdl_share_resume();
    }
    if (!done)
        munmap(new, bytes);
    return done;
}

/* A private mapping of the file, of which every page is this process's own. It may be made longer
 * by realloc(): there is no end of the file to be met. */
static int pages_split(char *at, size_t bytes, int fd, size_t offset)
{
    struct rlimit most;
    if (!map_over(at, bytes, MAP_PRIVATE, fd, offset))
        return 0;
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur == RLIM_INFINITY)
        (void) !ftruncate(fd, (off_t) 1 << 46);
    for (size_t i = 0; i < bytes; i += PAGE)
        __atomic_fetch_or(at + i, 0, __ATOMIC_RELAXED);
    return 1;
}

static size_t chunk_of(size_t bytes)
{
    size_t least = (bytes / CHUNKS_MAX + PAGE - 1) / PAGE * PAGE;
    return least > CHUNK_BYTES ? least : CHUNK_BYTES;
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* The first block that ends above `at`. */
static int block_at(const char *at)
{
    int lo = 0, hi = table.blocks;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (table.block[mid].base + table.block[mid].bytes > at)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static void block_insert(int i, const struct block *b)
{
    memmove(&table.block[i + 1], &table.block[i],
            (size_t) (table.blocks - i) * sizeof(table.block[0]));
    table.block[i] = *b;
    table.blocks++;
    table.file[b->file].blocks++;
}

static void block_remove(int i)
{
    struct block *b = &table.block[i];
    if (b->snapshot)
        munmap(b->snapshot, PAGE);
    table.blocks--;
    memmove(b, b + 1, (size_t) (table.blocks - i) * sizeof(*b));
}

/* No block reaches across `at` afterwards. An edge is one page: it is not split. */
static void block_split(const char *at)
{
    int i = block_at(at);
    if (i == table.blocks || table.block[i].base >= at)
        return;
    struct block *b = &table.block[i], rest = *b;
    size_t n = (size_t) (at - b->base);
    rest.base += n;
    rest.offset += n;
    rest.bytes -= n;
    b->bytes = n;
    block_insert(i + 1, &rest);
}

static int file_new(size_t bytes)
{
    int i = 0;
    while (i < FILES_MAX && table.file[i].blocks > 0)
        i++;
    if (i == FILES_MAX || !wdl_shm_file_may_have(bytes))
        return -1;
    int fd = memfd_create("windlass-pages", MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    if (ftruncate(fd, (off_t) bytes) != 0) {
        close(fd);
        return -1;
    }
    table.file[i] = (struct file) {.fd = fd };
    return i;
}

/* A block of the file is gone. */
static void file_leave(int i)
{
    struct file *f = &table.file[i];
    if (--f->blocks > 0)
        return;
    close(f->fd);
    f->fd = -1;
}

/* Block i's pages are private again; it leaves the table. They stay shared, and the block stays
 * for good, where the system has no memory left for anything else. */
static void block_return(int i)
{
    struct block *b = &table.block[i];
    int fd = table.file[b->file].fd, file = b->file, done = 1;
    size_t chunk = chunk_of(b->bytes);
    tell_hooks(b->base, b->bytes, fd, b->offset);
    for (size_t at = 0; at < b->bytes && done; at += chunk) {
        size_t n = b->bytes - at < chunk ? b->bytes - at : chunk;
        if (!pages_renew(b->base + at, n, fd, b->offset + at, b->edge))
            done = pages_split(b->base + at, n, fd, b->offset + at);
        /* whoever has the file still, has nothing, but children; and discarded pages are zero
         * again */
        if (done && !b->kept)
            (void) fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                             (off_t) (b->offset + at), (off_t) n);
    }
    if (!done)
        return;
    block_remove(i);
    file_leave(file);
}

/* Its page has data of others, too; 0: no memory. */
static int block_is_edge(struct block *b)
{
    if (b->edge)
        return 1;
    b->snapshot = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b->snapshot == MAP_FAILED)
        b->snapshot = NULL;
    b->edge = b->snapshot != NULL;
    return b->edge;
}

/* A new block for [at, at + bytes) in front of block i. */
static int block_new(int i, char *at, size_t bytes, int edge, int file, size_t offset)
{
    struct block b = {.base = at,.bytes = bytes,.offset = offset,.file = file };
    int fd = table.file[file].fd;
    size_t chunk = chunk_of(bytes), done = 0;
    if (table.blocks > BLOCKS_MAX - 8)
        return 0;
    if (edge && !block_is_edge(&b))
        return 0;
    while (done < bytes) {
        size_t n = bytes - done < chunk ? bytes - done : chunk;
        if (!pages_share(at + done, n, fd, offset + done, edge))
            break;
        done += n;
    }
    b.bytes = done;
    if (done > 0)
        block_insert(i, &b);
    else if (edge)
        munmap(b.snapshot, PAGE);
    return done == bytes;
}

/* --- ranges ----------------------------------------------------------------------------------- */

/* The pages of some memory. */
struct range {
    char *from, *to;            /* whole pages */
    int first_edge, last_edge;  /* the first, the last page holds data of others too */
};

static struct range range_of(const void *memory, size_t bytes)
{
    uintptr_t at = (uintptr_t) memory, end = at + bytes;
    uintptr_t from = at & ~(uintptr_t) (PAGE - 1);
    uintptr_t to = (end + PAGE - 1) & ~(uintptr_t) (PAGE - 1);
    return (struct range) {.from = (char *) from,.to = (char *) to,.first_edge = at != from,
                           .last_edge = end != to };
}

static int is_edge(const struct range *r, const char *at)
{
    return (at == r->from && r->first_edge) || (at == r->to - PAGE && r->last_edge);
}

/* Where the part that begins at `at` ends: an edge is by itself. */
static char *part_end(const struct range *r, char *at)
{
    if (is_edge(r, at))
        return at + PAGE;
    return r->last_edge ? r->to - PAGE : r->to;
}

/* All of the range's blocks up to `to`, which is the end of one, have one user less. */
static void range_release(const struct range *r, const char *to)
{
    for (int i = block_at(to) - 1; i >= 0 && table.block[i].base >= r->from; i--)
        if (--table.block[i].users == 0)
            block_return(i);
}

/* Is what has no block plain? */
static int gaps_are_plain(const struct range *r)
{
    char *at = r->from;
    for (int i = block_at(at); at < r->to; i++) {
        char *end = i < table.blocks && table.block[i].base < r->to ? table.block[i].base : r->to;
        if (end > at && !wdl_share_is_plain(at, (size_t) (end - at)))
            return 0;
        if (end == r->to)
            break;
        at = table.block[i].base + table.block[i].bytes;
    }
    return 1;
}

/* Blocks for all of [at, end), one part of the range; each has one user more. Returns up to where
 * it was done. */
static char *part_acquire(const struct range *r, char *at, char *end, int *file)
{
    block_split(at);
    block_split(end);
    int edge = is_edge(r, at);
    for (int i = block_at(at); at < end; i++) {
        char *next = i < table.blocks && table.block[i].base < end ? table.block[i].base : end;
        if (next > at) {
            if (*file < 0)
                *file = file_new((size_t) (r->to - r->from));
            if (*file < 0)
                return at;
            int all = block_new(i, at, (size_t) (next - at), edge, *file, (size_t) (at - r->from));
            if (!all) {         /* what there is of it is in use by us alone */
                if (i < table.blocks && table.block[i].base == at && table.block[i].users == 0)
                    block_return(i);
                return at;
            }
        }
        if (edge && !block_is_edge(&table.block[i])) {
            if (table.block[i].users == 0)
                block_return(i);
            return at;
        }
        table.block[i].users++;
        at = table.block[i].base + table.block[i].bytes;
    }
    return end;
}

static int offer_fill(const struct range *r, struct wdl_share_offer *offer)
{
    struct stat stat;
    offer->pieces = 0;
    for (int i = block_at(r->from); i < table.blocks && table.block[i].base < r->to; i++) {
        const struct block *b = &table.block[i];
        int fd = table.file[b->file].fd;
        struct wdl_share_piece *last = offer->pieces ? &offer->piece[offer->pieces - 1] : NULL;
        if (last && last->fd == fd && last->offset + last->bytes == b->offset) {
            last->bytes += b->bytes;
            continue;
        }
        if (offer->pieces == WDL_SHARE_PIECES || fstat(fd, &stat) != 0)
            return 0;
        offer->piece[offer->pieces++] = (struct wdl_share_piece) {
            .fd = fd,.inode = stat.st_ino,.device = stat.st_dev,.offset = b->offset,
            .bytes = b->bytes };
    }
    return 1;
}

/* --- children --------------------------------------------------------------------------------- */

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < table.blocks; i++) {
        struct block *b = &table.block[i];
        if (b->edge)
            memcpy(b->snapshot, b->base, PAGE);
        else
            b->kept = 1;
    }
}

static void in_parent(void)
{
    pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
    for (int i = 0; i < table.blocks; i++) {
        const struct block *b = &table.block[i];
        if (map_over(b->base, b->bytes, MAP_PRIVATE, table.file[b->file].fd, b->offset) && b->edge)
            memcpy(b->base, b->snapshot, PAGE);
    }
    table.blocks = 0;
    pthread_mutex_unlock(&lock);
}

/* --- the interface ---------------------------------------------------------------------------- */

/* The pages are shared, and the offer says where; 0: neither. */
static int range_acquire(const struct range *r, struct wdl_share_offer *offer)
{
    char *at = r->from;
    int file = -1;
    if (r->to <= r->from || table.blocks > BLOCKS_MAX - 16 || !gaps_are_plain(r))
        return 0;
    while (at < r->to) {
        char *end = part_end(r, at), *done = part_acquire(r, at, end, &file);
        at = done;
        if (done < end)
            break;
    }
    if (at == r->to && offer_fill(r, offer))
        return 1;
    range_release(r, at);
    if (file >= 0 && table.file[file].blocks == 0 && table.file[file].fd >= 0) {
        close(table.file[file].fd); /* it has no block, and had none */
        table.file[file].fd = -1;
    }
    return 0;
}

void wdl_share_acquire(const void *memory, size_t bytes, struct wdl_share_offer *offer)
{
    struct range r = range_of(memory, bytes);
    memset(offer, 0, sizeof *offer);
    offer->pid = (int32_t) getpid();
    if (bytes == 0)
        return;
    offer->status = WDL_ERR_SHARED;
    offer->skew = (uint32_t) ((uintptr_t) memory % PAGE);
    offer->bytes = (uint64_t) (r.to - r.from);
    if (!table.hooked && pthread_atfork(before_fork, in_parent, in_child) != 0)
        return;
    table.hooked = 1;
    pthread_mutex_lock(&lock);
    if (range_acquire(&r, offer))
        offer->status = WDL_OK;
    pthread_mutex_unlock(&lock);
}

void wdl_share_release(const void *memory, size_t bytes)
{
    struct range r = range_of(memory, bytes);
    if (bytes == 0)
        return;
    pthread_mutex_lock(&lock);
    range_release(&r, r.to);
    pthread_mutex_unlock(&lock);
}

static int piece_map(int pid, const struct wdl_share_piece *piece, char *at)
{
    char path[64];
    struct stat stat;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, (int) piece->fd);
    int fd = open(path, O_RDWR | O_CLOEXEC), status = WDL_ERR_SHARED;
    if (fd < 0)
        return WDL_ERR_SHARED;
    if (fstat(fd, &stat) == 0 && stat.st_ino == piece->inode && stat.st_dev == piece->device &&
        mmap(at, piece->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
             (off_t) piece->offset) != MAP_FAILED)
        status = WDL_OK;
    close(fd);
    return status;
}

int wdl_share_map(const struct wdl_share_offer *offer, char *at)
{
    int status = offer->status;
    for (int i = 0; i < offer->pieces && status == WDL_OK; i++) {
        status = piece_map(offer->pid, &offer->piece[i], at);
        at += offer->piece[i].bytes;
    }
    return status;
}
