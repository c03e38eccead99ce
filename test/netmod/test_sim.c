/* Part of Windlass. See COPYRIGHT in the top-level directory. The simulated network conforms, with
 * every capability switched on and off. */
#include "netmod/conformance.h"
#include "netmod/sim/sim.h"

#define SIM .ops = &wdl_nm_sim_ops
#define ALL                                                                                    \
    .expected = {.alone = NM_YES,                                                              \
                 .own = NM_YES,                                                                \
                 .native = NM_YES,                                                             \
                 .own_native = NM_YES,                                                         \
                 .domain = WDL_NM_DOMAIN_CPU}

int main(void)
{
    static const struct wdl_sim_params by_target = {.rma_needs_target = 1},
                                       software = {.atomics = WDL_SIM_ATOMICS_TARGET, .no_map = 1},
                                       nic = {.atomics = WDL_SIM_ATOMICS_NIC, .no_map = 1},
                                       narrow = {.ops_max = 1, .key_bytes = WDL_NM_KEY_BYTES_MAX},
                                       messages = {.no_rma = 1}, by_key = {.by_key = 1};
    static const struct nm_way ways[] = {
        {.name = "ordered", SIM, ALL, .ordered = 1, .seed = 1, .delay_ns = 5000},
        {.name = "ordered, slow to take",
         SIM,
         ALL,
         .ordered = 1,
         .seed = 2,
         .delay_ns = 5000,
         .refuse_permille = 300,
         .pending_permille = 500},
        {.name = "unordered", SIM, ALL, .seed = 3, .delay_ns = 5000},
        {.name = "unordered, slow to take",
         SIM,
         ALL,
         .seed = 4,
         .delay_ns = 20000,
         .refuse_permille = 300,
         .pending_permille = 1000},
        {.name = "at once", SIM, ALL, .ordered = 1, .seed = 5},
        {.name = "by the target",
         SIM,
         .ordered = 1,
         .seed = 6,
         .delay_ns = 3000,
         .refuse_permille = 100,
         .limits = &by_target,
         .expected = {.alone = NM_NO, .native = NM_NO}},
        {.name = "atomics by the target",
         SIM,
         .ordered = 1,
         .seed = 7,
         .delay_ns = 3000,
         .limits = &software,
         .expected = {.alone = NM_YES, .own = NM_YES, .native = NM_NO}},
        {.name = "atomics of a NIC",
         SIM,
         .seed = 8,
         .delay_ns = 3000,
         .limits = &nic,
         .expected = {.alone = NM_YES,
                      .own = NM_YES,
                      .native = NM_YES,
                      .own_native = NM_YES,
                      .domain = WDL_NM_DOMAIN_NIC}},
        {.name = "as keys tell", SIM, ALL, .seed = 11, .delay_ns = 3000, .limits = &by_key},
        {.name = "one at a time, long keys",
         SIM,
         ALL,
         .ordered = 1,
         .seed = 9,
         .delay_ns = 3000,
         .limits = &narrow},
        {.name = "messages only",
         SIM,
         .ordered = 1,
         .seed = 10,
         .delay_ns = 300,
         .limits = &messages},
    };
    static const TTest *const own[] = {0};
    return conformance_run("netmod/sim", ways, sizeof(ways) / sizeof(ways[0]), own);
}
