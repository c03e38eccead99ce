/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Of the set-ups under the thread sanitizer: where a process has one, the library it uses is the
 * one whose device is compiled under it. Elsewhere there is nothing to be seen.
 */
#define _GNU_SOURCE
#include "testing.h"
#include <dlfcn.h>

int main(int argc, char **argv)
{
    Dl_info library = {.dli_fname = ""};
    t_begin(&argc, &argv);
    t_check(dladdr(dlsym(RTLD_DEFAULT, "MPI_Put"), &library), "MPI_Put is of no library");
    if (dlsym(RTLD_DEFAULT, "__tsan_init"))
        t_check(strstr(library.dli_fname, "/tsan/"), "the library is %s", library.dli_fname);
    return t_end();
}
