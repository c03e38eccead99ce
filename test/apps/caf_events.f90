! Part of Windlass. See COPYRIGHT in the top-level directory.
!
! Values go around a ring, each announced by an event and taken back by another; a wait for several
! posts sees those of all images.
program caf_events
    use, intrinsic :: iso_fortran_env
    implicit none
    integer, parameter :: rounds = 50
    type(event_type) :: filled[*], taken[*], arrived[*]
    integer :: box[*]
    integer :: me, images, next, previous, i, posts

    me = this_image()
    images = num_images()
    next = 1 + mod(me, images)
    previous = 1 + mod(me + images - 2, images)
    box = -1
    sync all

    do i = 1, rounds
        if (i > 1) then
            event wait(taken)
        end if
        box[next] = 1000 * me + i
        event post(filled[next])
        event wait(filled)
        if (box /= 1000 * previous + i) error stop 'an event came before its value'
        event post(taken[previous])
    end do
    event wait(taken)
    call event_query(taken, posts)
    if (posts /= 0) error stop 'an event was posted that nobody posted'

    do i = 1, rounds
        event post(arrived[1])
    end do
    if (me == 1) then
        event wait(arrived, until_count=rounds * images)
        call event_query(arrived, posts)
        if (posts /= 0) error stop 'a wait for all posts left some'
    end if
    sync all
    if (me == 1) print '(a)', 'Test passed.'
end program caf_events
