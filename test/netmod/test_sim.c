/* Part of Windlass. See COPYRIGHT in the top-level directory. The simulated network conforms. */
#include "netmod/conformance.h"

int main(void)
{
    static const struct nm_way ways[] = {
        {.name = "ordered", .ops = &wdl_nm_sim_ops, .ordered = 1, .seed = 1, .delay_ns = 5000},
        {.name = "ordered, slow to take",
         .ops = &wdl_nm_sim_ops,
         .ordered = 1,
         .seed = 2,
         .delay_ns = 5000,
         .refuse_permille = 300,
         .pending_permille = 500},
        {.name = "unordered", .ops = &wdl_nm_sim_ops, .seed = 3, .delay_ns = 5000},
        {.name = "unordered, slow to take",
         .ops = &wdl_nm_sim_ops,
         .seed = 4,
         .delay_ns = 20000,
         .refuse_permille = 300,
         .pending_permille = 1000},
        {.name = "at once", .ops = &wdl_nm_sim_ops, .ordered = 1, .seed = 5},
    };
    return conformance_run("netmod/sim", ways, sizeof(ways) / sizeof(ways[0]));
}
