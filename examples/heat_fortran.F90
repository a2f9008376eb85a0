! SPDX-License-Identifier: BSD-2-Clause
!
! heat_fortran.F90 - heat spreading over a square plate: the twin of heat.c, as a tour of the two ways
! to put regions into Fortran.
!
!     ./heat_fortran [CELLS [STEPS]]
!     sudo sp-trace -- ./heat_fortran        # where does the time go?
!
! The arithmetic is that of heat.c, so the same size and steps give the same checksum, traced or not.
!
! 1. The macros of sp_region.F90.inc: a statement each, nothing to declare, and the recording knows
!    file and line. This include comes first, before any program unit.
! 2. The module scope_profiler, for programs that know it already, or want to ask how often a region
!    was entered: "step" below.
! Build: compile scope_profiler.c and scope_profiler.f90 along, with -ffree-line-length-none, since a
! macro becomes one line.
#include "usdt/sp_region.F90.inc"

program heat
   use, intrinsic :: iso_fortran_env, only: int64, real64, error_unit
   use scope_profiler, only: sp_init, sp_region, sp_begin, sp_end, sp_num_calls, sp_finalize
   implicit none

   real(real64), parameter :: rate = 0.2_real64 ! of heat flow between two cells, in a step
   integer, parameter :: residual_every = 10, checkpoint_every = 250

   ! The first index runs along a row: x from the hot left edge, 0, to the right one.
   real(real64), allocatable :: old(:, :), new(:, :)
   real(real64) :: largest
   integer :: cells, steps, step, step_region, status

   cells = argument(1, 1000, 40000)
   steps = argument(2, 3500, 20000000)
   call sp_init("heat")
   step_region = sp_region("step", __FILE__, __LINE__) ! looked up once, outside of the loop

   SP_REGION_BEGIN("setup")
   allocate (old(0:cells + 1, 0:cells + 1), new(0:cells + 1, 0:cells + 1), stat=status)
   if (status /= 0) then
      write (error_unit, "(a)") "heat_fortran: no memory for so many cells; use fewer"
      stop 1
   end if
   old = 0
   new = 0
   old(0, 1:cells) = 1
   new(0, 1:cells) = 1
   SP_REGION_END("setup")

   largest = 0
   do step = 1, steps
      call sp_begin(step_region)
      call stencil()
      if (mod(step, residual_every) == 0 .or. step == steps) call residual()
      call sp_end(step_region)
      if (mod(step, checkpoint_every) == 0) call write_checkpoint()
      call swap()
   end do
   call sp_finalize()

   if (sp_num_calls(step_region) /= steps) write (error_unit, "(a)") "heat_fortran: steps were miscounted"
   write (*, "(i0, a, i0, a, i0, a, es12.6, a, z16.16)") cells, " x ", cells, " cells, ", steps, &
      " steps: residual ", largest, ", checksum ", checksum()

contains

   ! Nearly all the time goes here, into the one long statement.
   subroutine stencil()
      integer :: i, j

      SP_REGION_BEGIN("stencil")
      do j = 1, cells
         do i = 1, cells
            new(i, j) = old(i, j) + rate*(((old(i - 1, j) + old(i + 1, j)) + &
                                           (old(i, j - 1) + old(i, j + 1))) - 4*old(i, j))
         end do
      end do
      SP_REGION_END("stencil")
   end subroutine stencil

   ! The largest change of any cell in the last step: how far the steady state is.
   subroutine residual()
      integer :: i, j

      SP_REGION_BEGIN("residual")
      largest = 0
      do j = 1, cells
         do i = 1, cells
            largest = max(largest, abs(new(i, j) - old(i, j)))
         end do
      end do
      SP_REGION_END("residual")
   end subroutine residual

   ! Into a file that vanishes when it is closed. The tags let a report gather regions of one kind.
   subroutine write_checkpoint()
      integer :: unit, failed

      SP_REGION_BEGIN_TAGGED("write checkpoint", "io,checkpoint")
      open (newunit=unit, status="scratch", form="unformatted", access="stream", iostat=failed)
      if (failed == 0) write (unit, iostat=failed) new(:, 1:cells)
      if (failed == 0) close (unit, iostat=failed)
      if (failed /= 0) write (error_unit, "(a)") "heat_fortran: cannot write a checkpoint; going on without"
      SP_REGION_END("write checkpoint")
   end subroutine write_checkpoint

   subroutine swap()
      real(real64), allocatable :: held(:, :)

      call move_alloc(old, held)
      call move_alloc(new, old)
      call move_alloc(held, new)
   end subroutine swap

   ! Of every bit of the plate.
   function checksum() result(sum)
      integer(int64) :: sum
      integer :: i, j

      sum = 0
      do j = 1, cells
         do i = 1, cells
            sum = ieor(ishftc(sum, 1), transfer(old(i, j), sum))
         end do
      end do
   end function checksum

   ! Argument number n, from 1 to most; by default otherwise.
   function argument(n, otherwise, most) result(value)
      integer, intent(in) :: n, otherwise, most
      integer :: value, failed
      character(len=32) :: text

      value = otherwise
      if (command_argument_count() < n) return
      call get_command_argument(n, text)
      read (text, *, iostat=failed) value
      if (failed == 0 .and. value >= 1 .and. value <= most) return
      write (error_unit, "(3a, i0)") "heat_fortran: '", trim(text), "' is not a number from 1 to ", most
      write (error_unit, "(a)") "usage: heat_fortran [CELLS [STEPS]]"
      stop 2
   end function argument

end program heat
