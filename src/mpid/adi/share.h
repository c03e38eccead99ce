/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Private memory of this process that other processes may map (info key windlass_share_pages): its
 * pages become pages of an unnamed file, at the same address and with the same contents, and are
 * plain private memory again when nobody needs them. ARCHITECTURE.md says what is proven.
 *
 * Called with MPICH's global lock held.
 */
#ifndef WDL_ADI_SHARE_H_INCLUDED
#define WDL_ADI_SHARE_H_INCLUDED

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

enum { WDL_SHARE_PAGE = 4096 };

/* Stops the program's other threads for moments; free unless the program uses it. The threads of
 * this library must not block it. */
#define WDL_STOP_SIGNAL (SIGRTMAX - 5)

/* share_plain.c: is [from, from + bytes), whole pages, nothing but plain private anonymous memory
 * that may be replaced page by page, and no stack of the caller? No where that cannot be known. */
int wdl_share_is_plain(const char *from, size_t bytes);

/* share_stop.c: may the caller's frame, or what it calls, be within [from, from + bytes)? */
int wdl_share_runs_on(const char *from, size_t bytes);

/* From stop to resume no other thread of this process runs, or is in a system call, and neither
 * the caller nor another thread's signal handler has its frame within [from, from + bytes). 0 when
 * it cannot be done: then nothing has happened. In between nothing may be called that another
 * thread may be in the middle of: system calls alone. */
int wdl_share_stop(const char *from, size_t bytes);
void wdl_share_resume(void);

/* share.c */
enum { WDL_SHARE_PIECES = 16 };

/* What others need to map the pages that hold some memory; in memory they can read. */
struct wdl_share_offer {
    int32_t status;             /* WDL_OK, or why there is none */
    int32_t pid;
    int32_t pieces;
    uint32_t skew;              /* of the memory within its first page */
    uint64_t bytes;             /* of all pages */
    struct wdl_share_piece {
        int64_t fd;             /* in the process pid, */
        uint64_t inode, device; /* by which a reader knows that it has the right one */
        uint64_t offset, bytes;
    } piece[WDL_SHARE_PIECES];  /* in order of address */
};

/* Share the pages that hold the memory; offer->status says whether it was done. Not done, nothing
 * has changed. What is shared already is counted once more. */
void wdl_share_acquire(const void *memory, size_t bytes, struct wdl_share_offer *offer);
/* The pages nobody else has acquired are private again. The same arguments as of an acquire that
 * was done. */
void wdl_share_release(const void *memory, size_t bytes);
/* Map another process's (or our own) pages at `at`, offer->bytes of reserved address space. WDL_OK,
 * or a status: then what is there is of no use. */
int wdl_share_map(const struct wdl_share_offer *offer, char *at);

#endif
