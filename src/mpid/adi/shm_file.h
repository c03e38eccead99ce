/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Unnamed files in memory, which the processes of a node share: nothing is left of them however the
 * job ends. What cannot be had is a status of the call that asks for it, never a signal: neither
 * beyond the limit on the size of files (SIGXFSZ), nor later, where no page is left (SIGBUS).
 */
#ifndef WDL_MPID_ADI_SHM_FILE_H_INCLUDED
#define WDL_MPID_ADI_SHM_FILE_H_INCLUDED

#include <stddef.h>

/* May files of this process be so long? Its limit (ulimit -f) is for those in memory, too. */
int wdl_shm_file_may_have(size_t bytes);
/* One of so many bytes, none of them claimed: WDL_OK, ERR_LIMIT or ERR_NOMEM. `name` is for people.
 * *fd_out: the file; also with an error, if it is not -1. */
int wdl_shm_file_make(const char *name, size_t bytes, int *fd_out);
/* Claim pages of it: WDL_OK; ERR_NOMEM, and none are. */
int wdl_shm_file_claim(int fd, size_t from, size_t bytes);

#endif
