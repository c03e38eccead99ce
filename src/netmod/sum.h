/* Part of Windlass. See COPYRIGHT in the top-level directory. A sum over bytes (FNV-1a), by which
 * a netmod sees that what came is not what it made. Against accidents, not against malice. */
#ifndef WDL_NETMOD_SUM_H_INCLUDED
#define WDL_NETMOD_SUM_H_INCLUDED

#include <stddef.h>
#include <stdint.h>

static inline uint64_t wdl_nm_sum(uint64_t sum, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ p[i]) * 0x100000001b3u;
    return sum;
}

#define WDL_NM_SUM_BEGIN 0xcbf29ce484222325u

#endif
