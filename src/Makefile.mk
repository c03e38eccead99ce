# Part of Windlass. See COPYRIGHT in the top-level directory.
#
# The one list of sources. Both builds include it: the standalone one (../Makefile.am) and MPICH's
# (mpich.mk, beside this file). Paths are relative to this file through %D%. A source that is not
# named here is in neither build: lists are explicit, one file per line.

# Core: knows only the netmod table below it and the host table above it.
windlass_core_sources = \
    %D%/base/bypass.c \
    %D%/base/copy.c \
    %D%/base/pool.c \
    %D%/base/prng.c \
    %D%/base/status.c \
    %D%/mpid/coll/ahead.c \
    %D%/mpid/coll/allreduce.c \
    %D%/mpid/coll/barrier.c \
    %D%/mpid/coll/blockcyclic.c \
    %D%/mpid/coll/blocktime.c \
    %D%/mpid/coll/board.c \
    %D%/mpid/coll/broadcast.c \
    %D%/mpid/coll/cell.c \
    %D%/mpid/coll/circulant.c \
    %D%/mpid/coll/contact.c \
    %D%/mpid/coll/cost.c \
    %D%/mpid/coll/direct.c \
    %D%/mpid/coll/domains.c \
    %D%/mpid/coll/early.c \
    %D%/mpid/coll/exchange.c \
    %D%/mpid/coll/express.c \
    %D%/mpid/coll/fail.c \
    %D%/mpid/coll/flag.c \
    %D%/mpid/coll/gasnet_bundle.c \
    %D%/mpid/coll/gasnet_deal.c \
    %D%/mpid/coll/gasnet_fold.c \
    %D%/mpid/coll/gasnet_move.c \
    %D%/mpid/coll/gasnet_op.c \
    %D%/mpid/coll/gasnet_pair.c \
    %D%/mpid/coll/gasnet_permute.c \
    %D%/mpid/coll/gasnet_plain.c \
    %D%/mpid/coll/gasnet_put.c \
    %D%/mpid/coll/gasnet_sort.c \
    %D%/mpid/coll/gasnet_team.c \
    %D%/mpid/coll/gasnet_xfer.c \
    %D%/mpid/coll/gather.c \
    %D%/mpid/coll/gather_all.c \
    %D%/mpid/coll/graph.c \
    %D%/mpid/coll/lend.c \
    %D%/mpid/coll/levels.c \
    %D%/mpid/coll/levels_blocks.c \
    %D%/mpid/coll/levels_exchange.c \
    %D%/mpid/coll/levels_fold.c \
    %D%/mpid/coll/levels_gather.c \
    %D%/mpid/coll/model.c \
    %D%/mpid/coll/node.c \
    %D%/mpid/coll/node_fold.c \
    %D%/mpid/coll/node_scan.c \
    %D%/mpid/coll/nodes.c \
    %D%/mpid/coll/parts.c \
    %D%/mpid/coll/pattern.c \
    %D%/mpid/coll/prefix.c \
    %D%/mpid/coll/rate.c \
    %D%/mpid/coll/reduce.c \
    %D%/mpid/coll/reduce_scatter.c \
    %D%/mpid/coll/run.c \
    %D%/mpid/coll/scan.c \
    %D%/mpid/coll/scatter.c \
    %D%/mpid/coll/select.c \
    %D%/mpid/coll/send.c \
    %D%/mpid/coll/shm.c \
    %D%/mpid/coll/sortplan.c \
    %D%/mpid/coll/staging.c \
    %D%/mpid/coll/store.c \
    %D%/mpid/coll/sync.c \
    %D%/mpid/coll/team.c \
    %D%/mpid/coll/tree.c \
    %D%/mpid/coll/wins.c \
    %D%/mpid/proc/proc.c \
    %D%/mpid/proc/spread.c \
    %D%/mpid/rma/accumulate.c \
    %D%/mpid/rma/array.c \
    %D%/mpid/rma/atomic.c \
    %D%/mpid/rma/bag.c \
    %D%/mpid/rma/barrier.c \
    %D%/mpid/rma/batch.c \
    %D%/mpid/rma/borrow.c \
    %D%/mpid/rma/bundle.c \
    %D%/mpid/rma/combine.c \
    %D%/mpid/rma/copy.c \
    %D%/mpid/rma/direct.c \
    %D%/mpid/rma/domain.c \
    %D%/mpid/rma/epoch.c \
    %D%/mpid/rma/far.c \
    %D%/mpid/rma/fence.c \
    %D%/mpid/rma/grant.c \
    %D%/mpid/rma/handle.c \
    %D%/mpid/rma/issue.c \
    %D%/mpid/rma/joint.c \
    %D%/mpid/rma/kernel.c \
    %D%/mpid/rma/keys.c \
    %D%/mpid/rma/loan.c \
    %D%/mpid/rma/lock.c \
    %D%/mpid/rma/lock_all.c \
    %D%/mpid/rma/mailbox.c \
    %D%/mpid/rma/mailserve.c \
    %D%/mpid/rma/mapped.c \
    %D%/mpid/rma/net.c \
    %D%/mpid/rma/op.c \
    %D%/mpid/rma/op_issue.c \
    %D%/mpid/rma/outside.c \
    %D%/mpid/rma/passive.c \
    %D%/mpid/rma/pscw.c \
    %D%/mpid/rma/pull.c \
    %D%/mpid/rma/relay.c \
    %D%/mpid/rma/region.c \
    %D%/mpid/rma/room.c \
    %D%/mpid/rma/rows.c \
    %D%/mpid/rma/seen.c \
    %D%/mpid/rma/send.c \
    %D%/mpid/rma/serve.c \
    %D%/mpid/rma/sole.c \
    %D%/mpid/rma/stream.c \
    %D%/mpid/rma/table.c \
    %D%/mpid/rma/train.c \
    %D%/mpid/rma/trial.c \
    %D%/mpid/rma/types.c \
    %D%/mpid/rma/win.c \
    %D%/mpid/rma/words.c

# Simulated network: standalone build only.
windlass_sim_sources = \
    %D%/netmod/sim/sim.c \
    %D%/netmod/sim/sim_loggp.c \
    %D%/netmod/sim/sim_mem.c \
    %D%/netmod/sim/sim_rma.c

# UCX: MPICH's build, and the standalone one where UCX is found.
windlass_ucx_sources =                  \
    %D%/netmod/ucx/ucx.c                \
    %D%/netmod/ucx/ucx_am.c             \
    %D%/netmod/ucx/ucx_info.c           \
    %D%/netmod/ucx/ucx_rma.c            \
    %D%/netmod/ucx/ucx_tag.c

# The device: the only sources that know MPICH; MPICH's build only.
windlass_adi_sources =                  \
    %D%/mpid/adi/coll.c                 \
    %D%/mpid/adi/coll_call.c            \
    %D%/mpid/adi/coll_instead.c         \
    %D%/mpid/adi/coll_measure.c         \
    %D%/mpid/adi/coll_model.c           \
    %D%/mpid/adi/coll_mpi.c             \
    %D%/mpid/adi/coll_ops.c             \
    %D%/mpid/adi/coll_persist.c         \
    %D%/mpid/adi/coll_share.c           \
    %D%/mpid/adi/coll_shm.c             \
    %D%/mpid/adi/coll_team.c            \
    %D%/mpid/adi/comm.c                 \
    %D%/mpid/adi/asynch.c               \
    %D%/mpid/adi/attributes.c           \
    %D%/mpid/adi/bell.c                 \
    %D%/mpid/adi/gate.c                 \
    %D%/mpid/adi/muster.c               \
    %D%/mpid/adi/slice.c                \
    %D%/mpid/adi/domain.c               \
    %D%/mpid/adi/spread.c               \
    %D%/mpid/adi/copy.c                 \
    %D%/mpid/adi/env.c                  \
    %D%/mpid/adi/errors.c               \
    %D%/mpid/adi/gas_calls.c            \
    %D%/mpid/adi/gas_sync.c             \
    %D%/mpid/adi/gas_team.c             \
    %D%/mpid/adi/gasnet.c               \
    %D%/mpid/adi/host.c                 \
    %D%/mpid/adi/init.c                 \
    %D%/mpid/adi/intercomm.c            \
    %D%/mpid/adi/op.c                   \
    %D%/mpid/adi/processors.c           \
    %D%/mpid/adi/progress.c             \
    %D%/mpid/adi/persist.c              \
    %D%/mpid/adi/probe.c                \
    %D%/mpid/adi/pvar.c                 \
    %D%/mpid/adi/recv.c                 \
    %D%/mpid/adi/send.c                 \
    %D%/mpid/adi/type.c                 \
    %D%/mpid/adi/request.c              \
    %D%/mpid/adi/rma.c                  \
    %D%/mpid/adi/rma_sync.c             \
    %D%/mpid/adi/share.c                \
    %D%/mpid/adi/share_plain.c          \
    %D%/mpid/adi/share_stop.c           \
    %D%/mpid/adi/shm_file.c             \
    %D%/mpid/adi/stream.c               \
    %D%/mpid/adi/unsupported.c          \
    %D%/mpid/adi/watch.c                \
    %D%/mpid/adi/win.c                  \
    %D%/mpid/adi/win_info.c             \
    %D%/mpid/adi/win_share.c            \
    %D%/mpid/adi/win_shm.c

windlass_headers = \
    %D%/base/assert.h \
    %D%/base/bits.h \
    %D%/base/bypass.h \
    %D%/base/copy.h \
    %D%/base/line.h \
    %D%/base/list.h \
    %D%/base/pool.h \
    %D%/base/prng.h \
    %D%/base/relax.h \
    %D%/base/smooth.h \
    %D%/base/status.h \
    %D%/host/host.h \
    %D%/mpid/coll/ahead.h \
    %D%/mpid/coll/algo.h \
    %D%/mpid/coll/blockcyclic.h \
    %D%/mpid/coll/blocktime.h \
    %D%/mpid/coll/board.h \
    %D%/mpid/coll/car.h \
    %D%/mpid/coll/circulant.h \
    %D%/mpid/coll/coll.h \
    %D%/mpid/coll/coll_impl.h \
    %D%/mpid/coll/contact.h \
    %D%/mpid/coll/cost.h \
    %D%/mpid/coll/direct.h \
    %D%/mpid/coll/domains.h \
    %D%/mpid/coll/early.h \
    %D%/mpid/coll/fail.h \
    %D%/mpid/coll/flag.h \
    %D%/mpid/coll/gasnet_core.h \
    %D%/mpid/coll/gasnet_deal.h \
    %D%/mpid/coll/gasnet_impl.h \
    %D%/mpid/coll/gasnet_put.h \
    %D%/mpid/coll/gasnet_xfer.h \
    %D%/mpid/coll/lend.h \
    %D%/mpid/coll/levels.h \
    %D%/mpid/coll/node.h \
    %D%/mpid/coll/nodes.h \
    %D%/mpid/coll/parts.h \
    %D%/mpid/coll/pattern.h \
    %D%/mpid/coll/prefix.h \
    %D%/mpid/coll/rate.h \
    %D%/mpid/coll/sortplan.h \
    %D%/mpid/coll/staging.h \
    %D%/mpid/coll/store.h \
    %D%/mpid/coll/tree.h \
    %D%/mpid/coll/wire.h \
    %D%/mpid/proc/meet.h \
    %D%/mpid/proc/proc.h \
    %D%/mpid/proc/spread.h \
    %D%/mpid/rma/accumulate.h \
    %D%/mpid/rma/array.h \
    %D%/mpid/rma/control.h \
    %D%/mpid/rma/crowd.h \
    %D%/mpid/rma/bag.h \
    %D%/mpid/rma/batch.h \
    %D%/mpid/rma/direct.h \
    %D%/mpid/rma/types.h \
    %D%/mpid/rma/domain.h \
    %D%/mpid/rma/epoch.h \
    %D%/mpid/rma/far.h \
    %D%/mpid/rma/grant.h \
    %D%/mpid/rma/joint.h \
    %D%/mpid/rma/kernel.h \
    %D%/mpid/rma/loan.h \
    %D%/mpid/rma/lock.h \
    %D%/mpid/rma/mail.h \
    %D%/mpid/rma/mailbox.h \
    %D%/mpid/rma/net.h \
    %D%/mpid/rma/pull.h \
    %D%/mpid/rma/quick.h \
    %D%/mpid/rma/relay.h \
    %D%/mpid/rma/room.h \
    %D%/mpid/rma/rows.h \
    %D%/mpid/rma/seen.h \
    %D%/mpid/rma/stream.h \
    %D%/mpid/rma/train.h \
    %D%/mpid/rma/trial.h \
    %D%/mpid/rma/win.h \
    %D%/mpid/rma/win_impl.h \
    %D%/mpid/rma/wire.h \
    %D%/mpid/rma/word.h \
    %D%/netmod/netmod.h \
    %D%/netmod/sum.h \
    %D%/netmod/sim/sim.h \
    %D%/netmod/sim/sim_impl.h \
    %D%/netmod/ucx/ucx_impl.h

# Headers that need MPICH's; src/mpid/adi/include is on MPICH's include path.
windlass_adi_headers =                  \
    %D%/mpid/adi/attributes.h           \
    %D%/mpid/adi/coll.h                 \
    %D%/mpid/adi/bell.h                 \
    %D%/mpid/adi/gate.h                 \
    %D%/mpid/adi/muster.h               \
    %D%/mpid/adi/section.h              \
    %D%/mpid/adi/include/mpid_coll.h    \
    %D%/mpid/adi/include/mpid_sched.h   \
    %D%/mpid/adi/include/mpid_thread.h  \
    %D%/mpid/adi/include/mpidimpl.h     \
    %D%/mpid/adi/include/mpidpost.h     \
    %D%/mpid/adi/include/mpidpost_rma.h \
    %D%/mpid/adi/include/mpidpre.h      \
    %D%/mpid/adi/include/wdl_adi.h      \
    %D%/mpid/adi/include/wdl_coll_calls.h \
    %D%/mpid/adi/include/wdl_comm.h     \
    %D%/mpid/adi/include/wdl_request.h  \
    %D%/mpid/adi/include/wdl_tag.h      \
    %D%/mpid/adi/include/wdl_win.h      \
    %D%/mpid/adi/gas.h                  \
    %D%/mpid/adi/op.h                   \
    %D%/mpid/adi/pt2pt.h                \
    %D%/mpid/adi/rma.h                  \
    %D%/mpid/adi/share.h                \
    %D%/mpid/adi/shm_file.h

# Installed beside mpi.h.
windlass_public_headers =               \
    %D%/mpid/adi/include/gasnet.h       \
    %D%/mpid/adi/include/gasnet_coll.h
