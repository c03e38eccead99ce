#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# Where MPICH was built with a Fortran compiler its bindings work: use mpi, use mpi_f08, mpif.h; and MPI-IO.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
fail()
{
    echo "$*"
    failures=$((failures + 1))
}
if ! command -v gfortran > /dev/null; then
    echo 'there is no gfortran, which ./maint/quickstart installs'
    exit 1
fi
mpifort=$(dirname "$MPICC")/mpifort
[ -x "$mpifort" ] || { echo "there is no $mpifort"; exit 1; }

# program NAME USE HANDLES: sums ranks, then writes and reads a file.
program()
{
    cat > "$dir/$1.f90" << END
program $1
    $2
    implicit none
    $3
    integer :: rank, total, size, ierror, value, got
    integer(kind=MPI_OFFSET_KIND) :: at
    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    if (total /= size * (size - 1) / 2) call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
    call MPI_File_open(MPI_COMM_WORLD, '$1.tmp', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, fh, ierror)
    if (ierror /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 2, ierror)
    value = 100 + rank
    at = 4 * rank
    call MPI_File_write_at_all(fh, at, value, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    at = 4 * mod(rank + 1, size)
    call MPI_File_read_at_all(fh, at, got, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    if (got /= 100 + mod(rank + 1, size)) call MPI_Abort(MPI_COMM_WORLD, 3, ierror)
    call MPI_File_close(fh, ierror)
    if (rank == 0) print '(a)', 'all is well'
    call MPI_Finalize(ierror)
end program
END
    if ! "$mpifort" -o "$dir/$1" "$dir/$1.f90" > "$dir/out" 2>&1; then
        fail "$1 cannot be compiled: $(cat "$dir/out")"
    elif ! (cd "$dir" && timeout 60 "$MPIEXEC" -n 3 "./$1" > out 2>&1); then
        fail "$1 failed: $(cat "$dir/out")"
    elif [ "$(cat "$dir/out")" != 'all is well' ]; then
        fail "$1 says: $(cat "$dir/out")"
    fi
}
program with_mpi 'use mpi' 'integer :: fh'
program with_f08 'use mpi_f08' 'type(MPI_File) :: fh'
program with_header '' "include 'mpif.h'
    integer :: fh"
[ $failures -eq 0 ]
