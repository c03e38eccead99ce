[#] start of __file__
dnl Part of Windlass. See COPYRIGHT in the top-level directory.
dnl
dnl Windlass's part of MPICH's configure, found by MPICH's maint/gen_subcfg_m4. The standalone build
dnl does not use it.
dnl
dnl MPICH_SUBCFG_BEFORE=src/mpid/common/sched
dnl MPICH_SUBCFG_BEFORE=src/mpid/common/thread
dnl MPICH_SUBCFG_BEFORE=src/mpid/common/bc
dnl MPICH_SUBCFG_BEFORE=src/mpid/common/shm

dnl PREREQ runs before MPICH's own tests: what the rest of configure must know about the device.
AC_DEFUN([PAC_SUBCFG_PREREQ_]PAC_SUBCFG_AUTO_SUFFIX,[
AM_CONDITIONAL([BUILD_WINDLASS],[test "$device_name" = "windlass"])
AM_COND_IF([BUILD_WINDLASS],[
    AC_MSG_NOTICE([RUNNING PREREQ FOR THE WINDLASS DEVICE])

    AS_CASE(["$device_args"],
        [''],[windlass_netmod=ucx],
        [ucx],[windlass_netmod=ucx],
        [AC_MSG_ERROR([the windlass device has no netmod "$device_args"; the netmods there are: ucx (--with-device=windlass:ucx)])])

    # Parts of MPICH's common code the device stands on.
    build_mpid_common_sched=yes
    build_mpid_common_thread=yes
    build_mpid_common_bc=yes
    build_mpid_common_shm=yes

    # Unset, the level would silently become MPI_THREAD_SINGLE.
    MPID_MAX_THREAD_LEVEL=MPI_THREAD_MULTIPLE
    MPID_MAX_PROCESSOR_NAME=128
    MPID_MAX_ERROR_STRING=512

    # UCX is looked for here rather than in BODY so that its absence is known after seconds, not
    # minutes. Options: --with-ucx=DIR, --with-ucx-include=DIR, --with-ucx-lib=DIR.
    PAC_SET_HEADER_LIB_PATH([ucx])
    m4_pushdef([WDL_GET_UCX],[Install UCX 1.12 or newer (Debian: apt-get install libucx-dev), or say where it is with --with-ucx=DIR.])
    AS_CASE(["$with_ucx"],
        [''|yes],[],
        [no|embedded],[AC_MSG_ERROR([the windlass device needs an installed UCX; --with-ucx=$with_ucx cannot give it one. WDL_GET_UCX])],
        [AS_IF([test ! -f "$with_ucx/include/ucp/api/ucp.h"],
            [AC_MSG_ERROR([--with-ucx=$with_ucx: there is no $with_ucx/include/ucp/api/ucp.h. WDL_GET_UCX])])])
    PAC_CHECK_HEADER_LIB([ucp/api/ucp.h],[ucp],[ucp_init_version],
        [windlass_have_ucx=yes],[windlass_have_ucx=no],[-lucs])
    AS_IF([test "$windlass_have_ucx" = "no"],
        [AC_MSG_ERROR([the windlass device needs UCX and did not find it. WDL_GET_UCX])])
    AC_MSG_CHECKING([whether UCX is 1.12 or newer])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <ucp/api/ucp.h>]],
            [[#if UCP_API_VERSION < UCP_VERSION(1, 12)
#error too old
#endif]])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([the UCX that was found is too old for the windlass device. WDL_GET_UCX])])
    m4_popdef([WDL_GET_UCX])
])
])dnl end _PREREQ

dnl BODY runs among MPICH's tests: what the device needs from the machine.
AC_DEFUN([PAC_SUBCFG_BODY_]PAC_SUBCFG_AUTO_SUFFIX,[
AM_COND_IF([BUILD_WINDLASS],[
    AC_MSG_NOTICE([RUNNING CONFIGURE FOR THE WINDLASS DEVICE])

    PAC_LIBS_ADD([-lucp -lucs])

    # hydra starts every process in a session of its own, and Linux gives each session an equal
    # share of the processors (sched_autogroup): where processes outnumber processors, sched_yield
    # then gives nothing to the others, who are in other sessions, and who waits is given as much
    # time as who works. A process group of its own is all that hydra needs, to signal a process
    # with its children. These flags reach MPICH's subsystems alone, hydra among them (its
    # CPPFLAGS do not: MPL's replace them).
    USER_CFLAGS="$USER_CFLAGS -Dsetsid=setpgrp"
    export CFLAGS
])
])dnl end _BODY

[#] end of __file__
