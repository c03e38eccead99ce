/* Part of Windlass. See COPYRIGHT in the top-level directory. What an atomic operation leaves. */
#ifndef WDL_TEST_NETMOD_ATOMICS_H_INCLUDED
#define WDL_TEST_NETMOD_ATOMICS_H_INCLUDED

#include "netmod/netmod.h"

static inline uint64_t atomics_outcome(enum wdl_nm_atomic op, uint64_t old, uint64_t value,
                                       uint64_t compare)
{
    switch (op) {
    case WDL_NM_ADD:
        return old + value;
    case WDL_NM_AND:
        return old & value;
    case WDL_NM_OR:
        return old | value;
    case WDL_NM_XOR:
        return old ^ value;
    case WDL_NM_SWAP:
        return value;
    default:
        return old == compare ? value : old;
    }
}

#endif
