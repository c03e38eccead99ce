/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The name under which MPICH's common device libraries include everything.
 */
#ifndef MPIDIMPL_H_INCLUDED
#define MPIDIMPL_H_INCLUDED

#include "mpiimpl.h"

#endif
