! Part of Windlass. See COPYRIGHT in the top-level directory.
!
! Tickets drawn by all images are unique, sums are whole, a flag set by one image is seen by another.
! Tickets are drawn by atomic_cas, since OpenCoarrays 2.10.1 brings no old value back from
! atomic_fetch_add; nor does it carry out atomic_or and atomic_xor.
program caf_atomics
    use, intrinsic :: iso_fortran_env
    implicit none
    integer, parameter :: draws = 60
    integer(atomic_int_kind) :: counter[*], place[*]
    logical(atomic_logical_kind) :: flag[*]
    integer, allocatable :: seen(:)[:]
    integer(atomic_int_kind) :: old, now
    logical(atomic_logical_kind) :: raised
    integer :: me, images, owner, i, mine

    me = this_image()
    images = num_images()
    owner = images
    allocate (seen(0:draws * images - 1)[*])
    seen = 0
    call atomic_define(counter, 0)
    call atomic_define(place, 0)
    call atomic_define(flag, .false.)
    sync all

    mine = 0
    do while (mine < draws)
        call atomic_ref(now, place[owner])
        call atomic_cas(place[owner], old, now, now + 1)
        if (old == now) then
            if (now < 0 .or. now >= draws * images) error stop 'a ticket is out of range'
            seen(now)[1] = seen(now)[1] + 1
            mine = mine + 1
        end if
    end do
    do i = 1, draws
        call atomic_add(counter[owner], i)
    end do
    sync all
    if (me == 1 .and. any(seen /= 1)) error stop 'a ticket was drawn twice, or never'
    call atomic_ref(now, counter[owner])
    if (now /= images * draws * (draws + 1) / 2) error stop 'sums were lost'

    if (me == images) call atomic_define(flag[1], .true.)
    if (me == 1) then
        raised = .false.
        do while (.not. raised)
            call atomic_ref(raised, flag)
        end do
    end if
    sync all
    if (me == 1) print '(a)', 'Test passed.'
end program caf_atomics
