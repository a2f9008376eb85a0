! SPDX-License-Identifier: BSD-2-Clause
!
! kinds.f90 - Fortran whose stacks are hard to unwind: module, internal and recursive procedures, array
! temporaries, matmul, and the run-time library's formatted output.
!
!     kinds SECONDS [KIND]
module work
  implicit none
  integer, parameter :: dp = kind(1.0d0)
  real(dp), volatile :: sink = 0
contains
  recursive function depth(n, x) result(y)
    integer, intent(in) :: n
    real(dp), intent(in) :: x
    real(dp) :: y, room(8)
    room = x
    if (n > 0) then
      y = depth(n - 1, x * 0.99_dp) + sum(room)
    else
      y = sin(x) + exp(-x)
    end if
  end function

  subroutine smooth(a)
    real(dp), intent(inout) :: a(:, :)
    integer :: i
    do i = 2, size(a, 2) - 1
      a(2:size(a, 1) - 1, i) = 0.25_dp * (a(1:size(a, 1) - 2, i) + a(3:size(a, 1), i) &
        + a(2:size(a, 1) - 1, i - 1) + a(2:size(a, 1) - 1, i + 1))
    end do
    sink = sink + total(a(::2, ::3))
  end subroutine

  function total(a) result(s)
    real(dp), intent(in) :: a(:, :)
    real(dp) :: s
    s = sum(a * a)
  end function

  function integrate(f, n) result(s)
    interface
      function f(x) result(y)
        import :: dp
        real(dp), intent(in) :: x
        real(dp) :: y
      end function
    end interface
    integer, intent(in) :: n
    real(dp) :: s
    integer :: i
    s = 0
    do i = 1, n
      s = s + f(real(i, dp) / n)
    end do
  end function

  function now() result(t)
    real(dp) :: t
    call cpu_time(t)
  end function

  subroutine internal(until, factor)
    real(dp), intent(in) :: until, factor
    do
      sink = sink + integrate(scaled, 1000)
      if (now() > until) exit
    end do
  contains
    ! Reaches its host's variable: gfortran hands a trampoline on the stack to integrate().
    function scaled(x) result(y)
      real(dp), intent(in) :: x
      real(dp) :: y
      y = factor * sqrt(x) + depth(3, x)
    end function
  end subroutine
end module

program kinds
  use work
  implicit none
  character(len=32) :: arg, only
  real(dp) :: seconds
  seconds = 0.3_dp
  only = ''
  if (command_argument_count() >= 1) then
    call get_command_argument(1, arg)
    read (arg, *) seconds
  end if
  if (command_argument_count() >= 2) call get_command_argument(2, only)
  if (only == '' .or. only == 'recursion') call recursion(now() + seconds)
  if (only == '' .or. only == 'arrays') call arrays(now() + seconds)
  if (only == '' .or. only == 'output') call output(now() + seconds)
  if (only == '' .or. only == 'internal') call internal(now() + seconds, 1.5_dp)
contains
  subroutine recursion(until)
    real(dp), intent(in) :: until
    integer :: i
    do
      do i = 1, 200
        sink = sink + depth(mod(i, 40), 1.0_dp * i)
      end do
      if (now() > until) exit
    end do
  end subroutine

  subroutine arrays(until)
    real(dp), intent(in) :: until
    real(dp), allocatable :: a(:, :), b(:, :)
    allocate (a(150, 150))
    a = 1
    do
      call smooth(a)
      b = matmul(a, transpose(a)) * 1e-3_dp
      sink = sink + maxval(b)
      if (now() > until) exit
    end do
  end subroutine

  subroutine output(until)
    real(dp), intent(in) :: until
    character(len=200) :: text
    integer :: i
    real(dp) :: x
    do
      do i = 1, 50
        write (text, '(i6, 2x, f12.5, es20.10, a)') i, i * 0.5_dp, exp(0.1_dp * i), 'text'
        read (text(7:20), *) x
        sink = sink + x
      end do
      if (now() > until) exit
    end do
  end subroutine
end program
