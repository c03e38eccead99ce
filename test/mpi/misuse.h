/* Part of Windlass. See COPYRIGHT in the top-level directory. GASNet's collectives that go wrong:
 * the code that the callback got last. */
#ifndef WDL_TEST_MPI_MISUSE_H_INCLUDED
#define WDL_TEST_MPI_MISUSE_H_INCLUDED

#include <string.h>
#include "testing.h"

static int seen;

static void on_error(void *arg, int code, const char *text)
{
    (void) arg;
    t_check(text && strlen(text) > 10, "what the callback gets");
    seen = code;
}

#endif
