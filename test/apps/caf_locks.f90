! Part of Windlass. See COPYRIGHT in the top-level directory.
!
! A sum that is fetched, increased and stored again under a lock, and in a critical section, loses
! nothing; a lock that is held cannot be acquired.
program caf_locks
    use, intrinsic :: iso_fortran_env
    implicit none
    integer, parameter :: rounds = 40
    type(lock_type) :: lock_of[*]
    integer :: total[*], guarded[*], tries[*]
    integer :: me, images, i, k, value
    logical :: got

    me = this_image()
    images = num_images()
    total = 0
    guarded = 0
    tries = 0
    sync all

    do i = 1, rounds
        k = 1 + mod(me + i, images)
        lock(lock_of[k])
        value = total[k]
        total[k] = value + 1
        unlock(lock_of[k])
        critical
            value = guarded[1]
            guarded[1] = value + 1
        end critical
    end do
    sync all
    if (me == 1) then
        value = 0
        do k = 1, images
            value = value + total[k]
        end do
        if (value /= rounds * images) error stop 'sums under a lock were lost'
        if (guarded /= rounds * images) error stop 'sums in a critical section were lost'
    end if

    if (me == 1) then
        lock(lock_of[images])
        sync all
        sync all
        unlock(lock_of[images])
    else
        sync all
        lock(lock_of[images], acquired_lock=got)
        if (got) error stop 'a lock was acquired that another image holds'
        sync all
    end if
    sync all
    do
        lock(lock_of[images], acquired_lock=got)
        if (got) exit
    end do
    tries[images] = tries[images] + 1
    unlock(lock_of[images])
    sync all
    if (me == images .and. tries /= images) error stop 'an image did not acquire the lock'
    sync all
    if (me == 1) print '(a)', 'Test passed.'
end program caf_locks
