/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Cross-memory attach: process_vm_readv(2) and process_vm_writev(2) between processes of a node. A
 * system may restrict them to descendants (Yama); a process that says so at its start is exempt.
 */
#include "rma.h"
#include <sys/uio.h>

wdl_static_assert(sizeof(struct wdl_piece) == sizeof(struct iovec));
wdl_static_assert(offsetof(struct wdl_piece, bytes) == offsetof(struct iovec, iov_len));

enum { IOV_AT_ONCE = 1024 };    /* the system's limit */

static ssize_t transfer(int pid, int to_rank, const struct iovec *local, int nlocal,
                        const struct iovec *remote, int nremote)
{
    nlocal = nlocal < IOV_AT_ONCE ? nlocal : IOV_AT_ONCE;
    nremote = nremote < IOV_AT_ONCE ? nremote : IOV_AT_ONCE;
    if (to_rank)
        return process_vm_writev(pid, local, (unsigned long) nlocal, remote,
                                 (unsigned long) nremote, 0);
    return process_vm_readv(pid, local, (unsigned long) nlocal, remote, (unsigned long) nremote, 0);
}

/* Step over what is done. */
static void advance(struct iovec *iov, int n, int *at, size_t done)
{
    while (*at < n && done >= iov[*at].iov_len) {
        done -= iov[*at].iov_len;
        ++*at;
    }
    if (*at < n && done > 0) {
        iov[*at].iov_base = (char *) iov[*at].iov_base + done;
        iov[*at].iov_len -= done;
    }
}

int wdl_adi_copy(void *ctx, int rank, int to_rank, struct wdl_piece *local, int nlocal,
                 struct wdl_piece *remote, int nremote)
{
    const MPIR_Win *win = ctx;
    struct iovec *near = (struct iovec *) (void *) local, *far = (struct iovec *) (void *) remote;
    int pid = wdl_adi_pid(wdl_adi_peer(win->comm_ptr, rank)), l = 0, r = 0;
    while (l < nlocal && r < nremote) {
        ssize_t done = transfer(pid, to_rank, near + l, nlocal - l, far + r, nremote - r);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return errno == EFAULT ? WDL_ERR_RANGE : WDL_ERR_PEER;
        if (nremote == 1 && (size_t) done == far->iov_len)
            return WDL_OK;      /* all of it at once */
        advance(near, nlocal, &l, (size_t) done);
        advance(far, nremote, &r, (size_t) done);
    }
    return WDL_OK;
}

int wdl_adi_copy_one(int peer, int to_peer, void *near, void *far, size_t bytes)
{
    struct iovec local = {.iov_base = near,.iov_len = bytes };
    struct iovec remote = {.iov_base = far,.iov_len = bytes };
    int pid = wdl_adi_pid(peer);
    while (local.iov_len > 0) {
        ssize_t done = transfer(pid, to_peer, &local, 1, &remote, 1);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return errno == EFAULT ? WDL_ERR_RANGE : WDL_ERR_PEER;
        local.iov_base = (char *) local.iov_base + done;
        remote.iov_base = (char *) remote.iov_base + done;
        local.iov_len -= (size_t) done;
        remote.iov_len -= (size_t) done;
    }
    return WDL_OK;
}

/* Nobody has memory at address 0: who may look is told so, who may not is told that. */
int wdl_adi_peer_open(int peer)
{
    char byte;
    struct iovec near = {.iov_base = &byte,.iov_len = 1 }, far = {.iov_base = NULL,.iov_len = 1 };
    return process_vm_readv(wdl_adi_pid(peer), &near, 1, &far, 1, 0) < 0 && errno == EFAULT;
}

int wdl_adi_copy_permitted(const MPIR_Win * win)
{
    const struct wdl_adi_segment *segment = &win->dev.segment;
    if (segment->members < 2)
        return 0;
    int rank = (int) segment->place[(segment->index + 1) % segment->members].rank;
    return wdl_adi_peer_open(wdl_adi_peer(win->comm_ptr, rank));
}
