# Part of Windlass. See COPYRIGHT in the top-level directory.
#
# The standalone tests. To add one: write test/<where the source is>/test_<name>.c with check(3) and
# name it, without .c, in unit_tests. It is linked with libwindlass.a and the support library below;
# `make check TESTS=test/base/test_status` runs it alone.

unit_tests =                            \
    test/base/test_bits                 \
    test/base/test_bypass               \
    test/base/test_copy                 \
    test/base/test_list                 \
    test/base/test_pool                 \
    test/cost/test_coll                 \
    test/cost/test_gasnet               \
    test/cost/test_gasnet_pools         \
    test/cost/test_memory               \
    test/cost/test_pools                \
    test/cost/test_pscw                 \
    test/cost/test_rma                  \
    test/base/test_prng                 \
    test/base/test_smooth               \
    test/base/test_status               \
    test/mpid/adi/test_asynch           \
    test/mpid/adi/test_bell             \
    test/mpid/adi/test_gate             \
    test/mpid/adi/test_muster           \
    test/mpid/adi/test_slice            \
    test/mpid/coll/test_ahead           \
    test/mpid/coll/test_allreduce       \
    test/mpid/coll/test_barrier         \
    test/mpid/coll/test_blockcyclic     \
    test/mpid/coll/test_blocktime       \
    test/mpid/coll/test_board           \
    test/mpid/coll/test_broadcast       \
    test/mpid/coll/test_cell            \
    test/mpid/coll/test_circulant       \
    test/mpid/coll/test_contact         \
    test/mpid/coll/test_cost            \
    test/mpid/coll/test_direct          \
    test/mpid/coll/test_domains         \
    test/mpid/coll/test_early           \
    test/mpid/coll/test_exchange        \
    test/mpid/coll/test_express         \
    test/mpid/coll/test_fail            \
    test/mpid/coll/test_flag            \
    test/mpid/coll/test_gasnet_alike    \
    test/mpid/coll/test_gasnet_bundle   \
    test/mpid/coll/test_gasnet_deal     \
    test/mpid/coll/test_gasnet_fold     \
    test/mpid/coll/test_gasnet_lanes    \
    test/mpid/coll/test_gasnet_misuse   \
    test/mpid/coll/test_gasnet_move     \
    test/mpid/coll/test_gasnet_op       \
    test/mpid/coll/test_gasnet_pair     \
    test/mpid/coll/test_gasnet_permute  \
    test/mpid/coll/test_gasnet_plain    \
    test/mpid/coll/test_gasnet_put      \
    test/mpid/coll/test_gasnet_single   \
    test/mpid/coll/test_gasnet_sort     \
    test/mpid/coll/test_gasnet_sync     \
    test/mpid/coll/test_gasnet_team     \
    test/mpid/coll/test_gasnet_unlike   \
    test/mpid/coll/test_gasnet_xfer     \
    test/mpid/coll/test_gather          \
    test/mpid/coll/test_gather_all      \
    test/mpid/coll/test_graph           \
    test/mpid/coll/test_least           \
    test/mpid/coll/test_lend            \
    test/mpid/coll/test_lengths         \
    test/mpid/coll/test_levels          \
    test/mpid/coll/test_model           \
    test/mpid/coll/test_node            \
    test/mpid/coll/test_node_fold       \
    test/mpid/coll/test_node_scan       \
    test/mpid/coll/test_nodes           \
    test/mpid/coll/test_parts           \
    test/mpid/coll/test_pattern         \
    test/mpid/coll/test_prefix          \
    test/mpid/coll/test_rate            \
    test/mpid/coll/test_reduce          \
    test/mpid/coll/test_reduce_scatter  \
    test/mpid/coll/test_run             \
    test/mpid/coll/test_scan            \
    test/mpid/coll/test_scatter         \
    test/mpid/coll/test_select          \
    test/mpid/coll/test_send            \
    test/mpid/coll/test_shm             \
    test/mpid/coll/test_simtime         \
    test/mpid/coll/test_sortplan        \
    test/mpid/coll/test_staging         \
    test/mpid/coll/test_store           \
    test/mpid/coll/test_sync            \
    test/mpid/coll/test_team            \
    test/mpid/coll/test_threads         \
    test/mpid/coll/test_tree            \
    test/mpid/coll/test_wins            \
    test/mpid/proc/test_meet            \
    test/mpid/proc/test_proc            \
    test/mpid/proc/test_spread          \
    test/mpid/rma/test_accumulate       \
    test/mpid/rma/test_array            \
    test/mpid/rma/test_atomic           \
    test/mpid/rma/test_bag              \
    test/mpid/rma/test_bag_moves        \
    test/mpid/rma/test_barrier          \
    test/mpid/rma/test_batch            \
    test/mpid/rma/test_borrow           \
    test/mpid/rma/test_bundle           \
    test/mpid/rma/test_combine          \
    test/mpid/rma/test_copy             \
    test/mpid/rma/test_copy_pieces      \
    test/mpid/rma/test_direct           \
    test/mpid/rma/test_crowd            \
    test/mpid/rma/test_domain           \
    test/mpid/rma/test_epoch            \
    test/mpid/rma/test_far              \
    test/mpid/rma/test_fence            \
    test/mpid/rma/test_flushes          \
    test/mpid/rma/test_grant            \
    test/mpid/rma/test_handle           \
    test/mpid/rma/test_stream           \
    test/mpid/rma/test_stream_blocks    \
    test/mpid/rma/test_issue            \
    test/mpid/rma/test_joint            \
    test/mpid/rma/test_kernel           \
    test/mpid/rma/test_keys             \
    test/mpid/rma/test_last             \
    test/mpid/rma/test_loan             \
    test/mpid/rma/test_lock             \
    test/mpid/rma/test_lock_all         \
    test/mpid/rma/test_mailbox          \
    test/mpid/rma/test_mailserve        \
    test/mpid/rma/test_mapped           \
    test/mpid/rma/test_net              \
    test/mpid/rma/test_op               \
    test/mpid/rma/test_op_issue         \
    test/mpid/rma/test_outside          \
    test/mpid/rma/test_passive          \
    test/mpid/rma/test_pscw             \
    test/mpid/rma/test_pull             \
    test/mpid/rma/test_region           \
    test/mpid/rma/test_relay            \
    test/mpid/rma/test_room             \
    test/mpid/rma/test_rows             \
    test/mpid/rma/test_seen             \
    test/mpid/rma/test_send             \
    test/mpid/rma/test_serve            \
    test/mpid/rma/test_sole             \
    test/mpid/rma/test_table            \
    test/mpid/rma/test_threads          \
    test/mpid/rma/test_train            \
    test/mpid/rma/test_trial            \
    test/mpid/rma/test_types            \
    test/mpid/rma/test_win              \
    test/mpid/rma/test_words

# What several tests use: the test host, the simulated worlds, the runner's main().
test_support_sources =                  \
    test/host/testhost.c                \
    test/host/testhost.h                \
    test/host/testworld.c               \
    test/host/testworld.h               \
    test/mpid/coll/gasnet_calls.c       \
    test/mpid/coll/gasnet_calls.h       \
    test/mpid/coll/gasnet_memory.c      \
    test/mpid/coll/gasnet_memory.h      \
    test/mpid/coll/gasnet_ranks.c       \
    test/mpid/coll/gasnet_ranks.h       \
    test/mpid/coll/graphs.c             \
    test/mpid/coll/graphs.h             \
    test/mpid/coll/greedy.h             \
    test/mpid/coll/least.c              \
    test/mpid/coll/least.h              \
    test/mpid/coll/onenode.c            \
    test/mpid/coll/onenode.h            \
    test/mpid/coll/ranks.c              \
    test/mpid/coll/ranks.h              \
    test/mpid/coll/simtime.c            \
    test/mpid/coll/simtime.h            \
    test/mpid/coll/walk.c               \
    test/mpid/rma/copybed.c             \
    test/mpid/rma/copybed.h             \
    test/support/must.h                 \
    test/support/suite.c                \
    test/support/suite.h                \
    test/support/worlds.c               \
    test/support/worlds.h

# Not programs of check(3), but run like them.
test_scripts =                          \
    test/maint/test_apps.py             \
    test/maint/test_bench.py            \
    test/maint/test_build.sh            \
    test/maint/test_check.py            \
    test/maint/test_get_mpich.sh        \
    test/maint/test_graft.sh            \
    test/maint/test_quickstart.sh       \
    test/maint/test_rdma.py             \
    test/maint/test_testlist.py         \
    test/maint/test_tidy.py             \
    test/maint/test_tune.py

# Every netmod passes one suite; beyond it, the simulated one has promises of its own.
conformance_sources =                   \
    test/netmod/bed.c                   \
    test/netmod/atomics.h               \
    test/netmod/bed.h                   \
    test/netmod/conformance.c           \
    test/netmod/conformance.h           \
    test/netmod/conformance_caps.c      \
    test/netmod/conformance_close.c     \
    test/netmod/conformance_rma.c       \
    test/netmod/conformance_tag.c       \
    test/netmod/exposed.c               \
    test/netmod/exposed.h               \
    test/netmod/suites.h
netmod_tests =                          \
    test/netmod/sim/test_sim            \
    test/netmod/sim/test_sim_loggp      \
    test/netmod/sim/test_sim_mem        \
    test/netmod/sim/test_sim_rma        \
    test/netmod/test_sim
test_netmod_sim_test_sim_SOURCES = test/netmod/sim/test_sim.c test/netmod/bed.c test/netmod/bed.h
test_netmod_sim_test_sim_loggp_SOURCES = test/netmod/sim/test_sim_loggp.c
test_netmod_sim_test_sim_mem_SOURCES = test/netmod/sim/test_sim_mem.c test/netmod/bed.c test/netmod/bed.h
test_netmod_sim_test_sim_rma_SOURCES = test/netmod/sim/test_sim_rma.c test/netmod/bed.c test/netmod/bed.h
test_netmod_test_sim_SOURCES = test/netmod/test_sim.c $(conformance_sources)
if HAVE_UCX
network_tests = test/netmod/test_ucx test/netmod/test_ucx_threads
process_tests = test/netmod/test_ucx_processes
test_netmod_test_ucx_SOURCES = test/netmod/test_ucx.c $(conformance_sources)
endif

if HAVE_CHECK
check_LIBRARIES = test/libsupport.a
test_libsupport_a_SOURCES = $(test_support_sources)
world_tests = test/mpid/coll/fail_world test/mpid/coll/gasnet_world test/mpid/coll/world test/system/world
check_PROGRAMS = $(unit_tests) $(netmod_tests) $(network_tests) $(process_tests) $(world_tests)
test_mpid_coll_fail_world_SOURCES = test/mpid/coll/fail_world.c
test_mpid_coll_gasnet_world_SOURCES =   \
    test/mpid/coll/gasnet_kinds.c       \
    test/mpid/coll/gasnet_oracle.c      \
    test/mpid/coll/gasnet_world.c       \
    test/mpid/coll/gasnet_world.h       \
    test/mpid/coll/lies.h
test_mpid_coll_world_SOURCES = test/mpid/coll/lies.h test/mpid/coll/world.c test/mpid/coll/oracle.c test/mpid/coll/world.h
# Files of the device, with a stand-in for what they need of MPICH.
test_mpid_adi_test_asynch_SOURCES =     \
    src/mpid/adi/asynch.c               \
    src/mpid/adi/bell.c                 \
    src/mpid/adi/gate.c                 \
    src/mpid/adi/slice.c                \
    test/mpid/adi/standin/mpiimpl.h     \
    test/mpid/adi/test_asynch.c
standin_flags = $(AM_CPPFLAGS) -U_GNU_SOURCE -I$(srcdir)/test/mpid/adi/standin -I$(srcdir)/src/mpid/adi \
    -I$(srcdir)/src/mpid/adi/include
test_mpid_adi_test_asynch_CPPFLAGS = $(standin_flags)
test_mpid_adi_test_bell_SOURCES =       \
    src/mpid/adi/bell.c                 \
    test/mpid/adi/test_bell.c
test_mpid_adi_test_bell_CPPFLAGS = $(standin_flags)
test_mpid_adi_test_gate_SOURCES =       \
    src/mpid/adi/gate.c                 \
    test/mpid/adi/test_gate.c
test_mpid_adi_test_gate_CPPFLAGS = $(standin_flags)
test_mpid_adi_test_muster_SOURCES =     \
    src/mpid/adi/muster.c               \
    test/mpid/adi/test_muster.c
test_mpid_adi_test_muster_CPPFLAGS = $(standin_flags)
test_mpid_adi_test_slice_SOURCES =      \
    src/mpid/adi/slice.c                \
    test/mpid/adi/standin/mpiimpl.h     \
    test/mpid/adi/test_slice.c
test_mpid_adi_test_slice_CPPFLAGS = $(standin_flags)
test_system_world_SOURCES = test/system/fair.c test/system/run.c test/system/script.c test/system/world.c test/system/world.h
LDADD = test/libsupport.a libwindlass.a $(CHECK_LIBS) $(UCX_LIBS)
# Those with threads, for the thread sanitizer.
thread_tests = test/mpid/adi/test_asynch test/mpid/adi/test_bell test/mpid/adi/test_gate test/mpid/coll/test_threads test/mpid/proc/test_meet test/mpid/rma/test_accumulate test/mpid/rma/test_domain \
    test/mpid/rma/test_joint test/mpid/rma/test_kernel test/mpid/rma/test_room test/mpid/rma/test_threads \
    test/mpid/rma/test_words \
    $(network_tests)
# Long ones first, what runs beside them fills the cores; but over a real network many processes wait for one another,
# which takes four times as long where they share the cores with other tests.
library_tests = $(world_tests) $(unit_tests) $(netmod_tests) $(network_tests) $(process_tests)
TESTS = $(test_scripts) $(library_tests)
AM_TESTS_ENVIRONMENT = WDL_SRCDIR='$(abs_srcdir)'; export WDL_SRCDIR; $(WDL_TESTS_ENVIRONMENT)
else
check-local:
	@echo 'make check: missing:$(wdl_missing) (Debian: apt-get install$(wdl_missing)); then configure again' >&2; exit 1
endif
EXTRA_DIST += $(test_scripts) test/netmod/ucx.supp
