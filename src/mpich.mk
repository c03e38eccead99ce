# Part of Windlass. See COPYRIGHT in the top-level directory.
#
# Windlass's part of MPICH's build. maint/graft adds the one line that includes this file to MPICH's
# src/mpid/Makefile.mk; subconfigure.m4 decides whether BUILD_WINDLASS holds.

include $(top_srcdir)/src/mpid/windlass/Makefile.mk

if BUILD_WINDLASS

AM_CPPFLAGS +=                                          \
    -I$(top_srcdir)/src/mpid/windlass/mpid/adi/include  \
    -I$(top_srcdir)/src/mpid/windlass

include_HEADERS += $(windlass_public_headers)
noinst_HEADERS += $(windlass_headers) $(windlass_adi_headers)

mpi_core_sources +=                     \
    $(windlass_core_sources)            \
    $(windlass_ucx_sources)             \
    $(windlass_adi_sources)

endif BUILD_WINDLASS
