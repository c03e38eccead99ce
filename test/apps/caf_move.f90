! Part of Windlass. See COPYRIGHT in the top-level directory.
!
! Assignments to and from other images: scalars, whole arrays, sections with strides, of several
! kinds, derived types, allocatable components, and pairwise sync images between them.
program caf_move
    use, intrinsic :: iso_fortran_env
    implicit none
    integer, parameter :: n = 96, large = 300000
    type mixed
        integer :: number
        real(real64) :: weight
        character(len=5) :: name
    end type mixed
    type holder
        real(real64), allocatable :: data(:)
    end type holder
    integer :: grid(n, n)[*]
    real(real64), allocatable :: long(:)[:]
    type(mixed) :: record[*]
    type(holder) :: held[*]
    integer :: copy(n, n)
    integer, allocatable :: beside(:)
    integer :: me, images, next, previous, i, j

    me = this_image()
    images = num_images()
    next = 1 + mod(me, images)
    previous = 1 + mod(me + images - 2, images)
    beside = [next, previous]
    if (next == previous) beside = [next]
    allocate (long(large)[*])
    allocate (held%data(1 + 10 * me))
    held%data = real(me, real64)
    grid = 0
    long = 0
    sync all

    ! every third column, every second row, downwards
    copy = reshape([((me * 100000 + i * 100 + j, i=1, n), j=1, n)], [n, n])
    grid(n:2:-2, 1:n:3)[next] = copy(1:n - 1:2, 2:n:3)
    long(:)[next] = [(real(me, real64) + 1.0_real64 / i, i=1, large)]
    record[next] = mixed(me, 0.5_real64 * me, 'abcde')
    sync all
    copy = reshape([((previous * 100000 + i * 100 + j, i=1, n), j=1, n)], [n, n])
    if (any(grid(n:2:-2, 1:n:3) /= copy(1:n - 1:2, 2:n:3))) error stop 'a strided section is wrong'
    if (any(grid(1:n:2, :) /= 0)) error stop 'rows beside a section were touched'
    if (any(grid(:, 2:n:3) /= 0)) error stop 'columns beside a section were touched'
    if (any(long /= [(real(previous, real64) + 1.0_real64 / i, i=1, large)])) &
        error stop 'a long array is wrong'
    if (record%number /= previous .or. record%weight /= 0.5_real64 * previous .or. &
        record%name /= 'abcde') error stop 'a derived type is wrong'
    sync all

    copy = -1
    copy(:, :) = grid(:, :)[next]
    if (any(copy(n:2:-2, 1:n:3) /= reshape([((me * 100000 + i * 100 + j, i=1, n - 1, 2), &
        j=2, n, 3)], [n / 2, n / 3]))) error stop 'what was put is not what is got'
    if (any(long(1:large:1000)[next] /= [(real(me, real64) + 1.0_real64 / i, i=1, large, 1000)])) &
        error stop 'a section got is wrong'
    if (size(held[next]%data) /= 1 + 10 * next) error stop 'an allocatable component has another size'
    if (any(held[next]%data(:) /= real(next, real64))) error stop 'an allocatable component is wrong'

    sync all
    grid(1, 1) = 0
    sync all
    do i = 1, 50
        grid(1, 1)[next] = i
        sync images(beside)
        if (grid(1, 1) /= i) error stop 'sync images did not wait'
        sync images(beside)
    end do
    if (me == 1) print '(a)', 'Test passed.'
end program caf_move
