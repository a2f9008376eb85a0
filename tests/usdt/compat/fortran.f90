! SPDX-License-Identifier: BSD-2-Clause
!
! fortran.f90 - what our Fortran module promises on its own, where differential.py cannot compare:
! durations that are refused, nesting without a limit, threads. Its output is checked by builds.py:
! without stat and errmsg, an unmatched end is told on stderr and an inactive profiler is not.
program fortran
   use scope_profiler
   use, intrinsic :: iso_fortran_env, only: int64
   implicit none

   integer :: a, b, stat, i
   character(len=60) :: message
   type(sp_region_stats) :: stats

   a = sp_region("early")
   call sp_begin(a)
   call check(a == 0, "no handle before sp_init")
   call sp_init("compat", rank=3)
   a = sp_region("deep")
   call check(a == 1, "handles count from 1")
   do i = 1, 1000
      call sp_begin(a, stat)
      call check(stat == SP_OK, "nesting has no limit")
   end do
   call sp_get_region_stats(a, stats, stat, message)
   call check(stats%calls == 0, "open calls are not completed")
   call check(sp_num_calls(a) == 1000_int64, "open calls are entries")
   do i = 1, 1000
      call sp_end(a, stat)
      call check(stat == SP_OK, "every end has its begin")
   end do
   call sp_get_region_stats(a, stats, stat, message)
   call check(stat == SP_ERR_UNSUPPORTED .and. message /= "", "durations are refused")
   call check(stats%calls == 1000, "completed calls")
   call check(stats%total_ns == -1 .and. stats%min_ns == -1 .and. stats%max_ns == -1, "unknown is -1")
   call sp_get_region_stats(a, stats)
   call sp_get_region_stats(a, stats) ! told once in all

   b = sp_region("shared")
   !$omp parallel do
   do i = 1, 10000
      call sp_begin(b)
      call sp_begin_name("by name")
      call sp_end_name("by name")
      call sp_end(b)
   end do
   !$omp end parallel do
   call check(sp_num_calls(b) == 10000_int64, "counts of all threads")
   call check(sp_num_calls(sp_region("by name")) == 10000_int64, "counts by name")

   call sp_end(b) ! told on stderr
   call sp_end(-huge(0), stat)
   call check(stat == SP_ERR_INVALID_ARGUMENT, "no such handle")
   call sp_begin(b)
   call sp_finalize(stat, message)
   call check(stat == SP_ERR_OPEN_SCOPES, "a call is open")
   call sp_begin(b)
   call check(sp_num_calls(b) == 10001_int64, "readable after sp_finalize")
   write (*, "(a)") "fortran: done"

contains

   subroutine check(right, what)
      logical, intent(in) :: right
      character(len=*), intent(in) :: what

      if (.not. right) then
         write (*, "(2a)") "failed: ", what
         error stop 1
      end if
   end subroutine check

end program fortran
