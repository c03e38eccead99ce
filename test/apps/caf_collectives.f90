! Part of Windlass. See COPYRIGHT in the top-level directory.
!
! co_sum, co_min, co_max, co_broadcast and co_reduce, of scalars and of long arrays, to all images
! and to one; and within teams.
module folding
    implicit none
contains
    pure function smaller_of_squares(a, b) result(c)
        integer, value :: a, b
        integer :: c
        c = min(a * a, b * b)
        if (c == a * a) then
            c = a
        else
            c = b
        end if
    end function smaller_of_squares
end module folding

program caf_collectives
    use, intrinsic :: iso_fortran_env
    use folding
    implicit none
    integer, parameter :: n = 50000
    integer :: long(n), one, i, me, images
    real(real64) :: real_one
    character(len=12) :: text
    type(team_type) :: half

    me = this_image()
    images = num_images()

    do i = 1, 20
        one = me * i
        call co_sum(one)
        if (one /= i * images * (images + 1) / 2) error stop 'co_sum is wrong'
    end do
    long = [(me + i, i=1, n)]
    call co_sum(long, result_image=images)
    if (me == images) then
        if (any(long /= [(images * (images + 1) / 2 + images * i, i=1, n)])) &
            error stop 'co_sum of an array is wrong'
    end if
    real_one = -1.5_real64 * me
    call co_min(real_one)
    if (real_one /= -1.5_real64 * images) error stop 'co_min is wrong'
    long = [(mod(me * 7 + i, 13), i=1, n)]
    call co_max(long)
    if (any(long > 12) .or. (images >= 13 .and. any(long /= 12))) error stop 'co_max is wrong'
    text = 'nothing'
    if (me == images) text = 'from the end'
    call co_broadcast(text, source_image=images)
    if (text /= 'from the end') error stop 'co_broadcast is wrong'
    long = me
    call co_broadcast(long, source_image=1)
    if (any(long /= 1)) error stop 'co_broadcast of an array is wrong'
    one = me - images - 1
    call co_reduce(one, smaller_of_squares)
    if (one /= -1) error stop 'co_reduce is wrong'

    form team(1 + mod(me, 2), half)
    change team(half)
        one = 1
        call co_sum(one)
        if (one /= num_images()) error stop 'co_sum of a team is wrong'
    end team
    sync all
    if (me == 1) print '(a)', 'Test passed.'
end program caf_collectives
