/* Part of Windlass. See COPYRIGHT in the top-level directory. UCX conforms, over the transports
 * there are on every machine. */
#include "netmod/conformance.h"

int main(void)
{
    static const struct nm_way ways[] = {
        {.name = "all transports", .ops = &wdl_nm_ucx_ops, .ordered = 1},
        {.name = "posix,self", .ops = &wdl_nm_ucx_ops, .tls = "posix,self", .ordered = 1},
        {.name = "tcp,self", .ops = &wdl_nm_ucx_ops, .tls = "tcp,self", .ordered = 1},
    };
    return conformance_run("netmod/ucx", ways, sizeof(ways) / sizeof(ways[0]));
}
