# Part of Windlass. See COPYRIGHT in the top-level directory.
#
# The one list of sources. Both builds include it: the standalone one (../Makefile.am) and MPICH's
# (mpich.mk, beside this file). Paths are relative to this file through %D%. A source that is not
# named here is in neither build: lists are explicit, sorted, one file per line.

# Core: knows only the netmod table below it and the host table above it.
windlass_core_sources =                 \
    %D%/base/status.c

# Simulated network: standalone build only.
windlass_sim_sources =

# UCX: MPICH's build, and the standalone one where UCX is found.
windlass_ucx_sources =

# The device: the only sources that know MPICH; MPICH's build only.
windlass_adi_sources =

windlass_headers =                      \
    %D%/base/assert.h                   \
    %D%/base/list.h                     \
    %D%/base/status.h                   \
    %D%/host/host.h                     \
    %D%/mpid/proc/proc.h                \
    %D%/mpid/rma/win.h                  \
    %D%/netmod/netmod.h

# Headers that need MPICH's; src/mpid/adi/include is on MPICH's include path.
windlass_adi_headers =
