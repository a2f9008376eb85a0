! SPDX-License-Identifier: BSD-2-Clause
!
! module.F90 - regions through the Fortran module: by handle, by name, by the preprocessor's macros, in
! recursive procedures and in loops.
module work
	use, intrinsic :: iso_fortran_env, only: int64
	use scope_profiler
	implicit none
	integer :: outer_region = 0
contains
	recursive integer function fibonacci(n) result(f)
		integer, intent(in) :: n
		integer, save :: region = 0
		if (region == 0) region = sp_region('fibonacci', __FILE__, __LINE__)
		call sp_begin(region)
		if (n < 2) then
			f = n
		else
			f = fibonacci(n - 1) + fibonacci(n - 2)
		end if
		call sp_end(region)
	end function

	subroutine named(count)
		integer, intent(in) :: count
		integer :: i
		do i = 1, count
			call sp_begin_name('by name ä')
			call sp_end_name('by name ä')
		end do
	end subroutine
end module

program main
	use work
	implicit none
	integer :: i, f, region, status
	real(8) :: sum

	call sp_init('unused', 0)
	region = sp_region('loop   ')
	sum = 0
	do i = 1, 250
		call sp_begin(region)
		sum = sum + sqrt(real(i, 8))
		call sp_end(region)
	end do
	f = fibonacci(12)
	call named(40)
	call sp_begin_name('last')
	call sp_end_name('last')
	call sp_finalize(stat=status)
	print '(i0,1x,i0,1x,z16.16)', f, status, transfer(sum, 0_int64)
end program
