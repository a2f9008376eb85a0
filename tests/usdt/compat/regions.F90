! SPDX-License-Identifier: BSD-2-Clause
!
! regions.F90 - the macros of sp_region.F90.inc, in every kind of place, within 132 columns: built
! without -ffree-line-length-none. With an argument it repeats the loop that often; prints how often
! each region was entered, for probes.py to compare with what bpftrace saw.
#define SP_REGION_FILE "regions.F90"
#include "sp_region.F90.inc"

module inner
   implicit none
contains
   recursive integer function fib(n) result(value)
      integer, intent(in) :: n

      SP_REGION_BEGIN("fib")
      value = n
      if (n > 1) value = fib(n - 1) + fib(n - 2)
      SP_REGION_END("fib")
   end function fib
end module inner

program regions
   use inner, only: fib
   implicit none
   integer :: i, n, total, workers
   character(len=16) :: text

   n = 10
   if (command_argument_count() > 0) then
      call get_command_argument(1, text)
      read (text, *) n
   end if
   total = 0
   SP_REGION_BEGIN_TAGGED("whole run", "all,top")
   !$omp parallel do reduction(+:total)
   do i = 1, n
      SP_REGION_BEGIN('it is "quoted", (i)')
      SP_REGION_BEGIN("it's")
      total = total + 1
      SP_REGION_END("it's")
      if (mod(i, 2) == 0) then
         SP_REGION_BEGIN("even")
         total = total + 1
         SP_REGION_END("even")
      end if
      SP_REGION_END('it is "quoted", (i)')
   end do
   !$omp end parallel do
   ! Right after a directive, whose block goes on after the region's end.
   workers = 0
   !$omp parallel
   SP_REGION_BEGIN("worker")
   !$omp critical
   SP_REGION_BEGIN("one by one")
   workers = workers + 1
   SP_REGION_END("one by one")
   !$omp end critical
   SP_REGION_END("worker")
   !$omp end parallel
   total = total + fib(5)
   SP_REGION_END("whole run")
   write (*, "(a, i0, a, i0)") "count whole run|", 1, "|", 1, &
      'count it is "quoted", (i)|', n, "|", n, "count it's|", n, "|", n, &
      "count even|", n/2, "|", n/2, "count fib|", 15, "|", 15, &
      "count worker|", workers, "|", workers, "count one by one|", workers, "|", workers
   if (total /= n + n/2 + 5) error stop 1
end program regions
