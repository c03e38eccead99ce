/* Part of Windlass. See COPYRIGHT in the top-level directory. Files in memory (shm_file.h). */
#define _GNU_SOURCE
#include "shm_file.h"
#include "wdl_adi.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef O_TMPFILE
#error "O_TMPFILE is needed: define _GNU_SOURCE"
#endif

int wdl_shm_file_may_have(size_t bytes)
{
    struct rlimit most;
    return getrlimit(RLIMIT_FSIZE, &most) != 0 || bytes <= most.rlim_cur;
}

int wdl_shm_file_make(const char *name, size_t bytes, int *fd_out)
{
    *fd_out = -1;
    if (!wdl_shm_file_may_have(bytes))
        return WDL_ERR_LIMIT;
    *fd_out = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd_out < 0)            /* no such directory, or no unnamed files there */
        *fd_out = memfd_create(name, MFD_CLOEXEC);
    return *fd_out >= 0 && ftruncate(*fd_out, (off_t) bytes) == 0 ? WDL_OK : WDL_ERR_NOMEM;
}

/* A part at a time: Linux before 5.19 gives up when a signal comes, and what it has claimed in this
 * call goes. A program's timer would come again before much is done. */
int wdl_shm_file_claim(int fd, size_t from, size_t bytes)
{
    enum { PART = 16 << 20 };
    int code = 0;
    for (size_t done = 0; done < bytes && (code == 0 || code == EINTR);) {
        size_t n = MPL_MIN(bytes - done, PART);
        code = posix_fallocate(fd, (off_t) (from + done), (off_t) n);
        done += code == 0 ? n : 0;
    }
    if (code == 0)
        return WDL_OK;
    (void) fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t) from, (off_t) bytes);
    return WDL_ERR_NOMEM;
}
