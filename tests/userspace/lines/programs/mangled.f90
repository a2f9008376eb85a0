! SPDX-License-Identifier: BSD-2-Clause
! Every way for a procedure to be in, or beside, a module.
module heat
  implicit none
  interface
    module subroutine s(x)
      real, intent(inout) :: x(:)
    end subroutine
    module function f(x) result(y)
      real, intent(in) :: x
      real :: y
    end function
  end interface
contains
  subroutine step(x)
    real, intent(inout) :: x(:)
    integer :: i
    !$omp parallel do
    do i = 1, size(x)
      x(i) = x(i) * 2
    end do
    call inner(x)
  contains
    subroutine inner(y)
      real, intent(inout) :: y(:)
      integer :: k
      !$omp parallel
      !$omp task
      y(1) = y(1) + 1
      !$omp end task
      !$omp end parallel
      do k = 1, size(y)
        y(k) = y(k) + size(x)
      end do
    end subroutine
  end subroutine
end module
submodule (heat) sub
  interface
    module subroutine deep(x)
      real, intent(inout) :: x(:)
    end subroutine
  end interface
contains
  module subroutine s(x)
    real, intent(inout) :: x(:)
    call private_one(x)
    call deep(x)
  end subroutine
  module procedure f
    y = x + 1
  end procedure
  subroutine private_one(x)
    real, intent(inout) :: x(:)
    x = x + 1
    print *, x(1)
  end subroutine
end submodule
submodule (heat:sub) grand
contains
  module subroutine deep(x)
    real, intent(inout) :: x(:)
    call gp(x)
  end subroutine
  subroutine gp(x)
    real, intent(inout) :: x(:)
    print *, x
  end subroutine
end submodule
subroutine plain(x)
  real, intent(inout) :: x(:)
  integer :: i
  !$omp parallel do
  do i = 1, size(x)
    x(i) = x(i) * 2
  end do
end subroutine
subroutine with_under(n)
  integer, intent(in) :: n
  print *, n
end subroutine
program main_prog
  use heat
  implicit none
  interface
    subroutine plain(x)
      real, intent(inout) :: x(:)
    end subroutine
  end interface
  real :: a(10)
  a = 1
  call step(a); call s(a); a(1) = f(a(2)); call plain(a); call with_under(3)
  call mine()
contains
  subroutine mine()
    print *, a
  end subroutine
end program
